// Drawing around the cells: margin bars, the tree of classes, selection, minimap.

import { clamp } from "./arrays.js";
import { inkOn } from "./color.js";
import { brief, share, short, times } from "./format.js";
import { COLUMN, COLUMNS, cornerFont } from "./layout.js";
import { FONT, cellSize, clipCells, left, top } from "./paint.js";
import { stripBox } from "./paint-outcomes.js";
import { rgbOf } from "./theme.js";

/** @typedef {import("./paint.js").Scene} Scene */

/**
 * Bars along one side, as pieces of whole pixels: equal shares are equal pixels, however many
 * classes share one.
 * @param {ArrayLike<number>} shares of the units @param {ArrayLike<number>} places of the units
 * @param {{start: number, span: number, side: number}} along what is seen, and its pixels
 * @returns {{from: number, wide: number, unit: number}[]}
 */
export function barPieces(shares, places, { start, span, side }) {
  const size = side / span;
  const gap = size >= 4 ? Math.min(2, Math.round(size * 0.2)) : 0;
  /** @type {ReturnType<typeof barPieces>} */
  const pieces = [];
  if (size >= 2) {
    for (let unit = 0; unit < shares.length; unit++) {
      const from = Math.max(0, Math.round((places[unit] - start) * size));
      const to = Math.min(side, Math.round((places[unit] - start + 1) * size));
      if (to - gap > from) pieces.push({ from, wide: to - gap - from, unit });
    }
    return pieces;
  }
  // Classes that share a pixel: the largest of them speaks for it.
  const largest = new Int32Array(Math.ceil(side)).fill(-1);
  for (let unit = 0; unit < shares.length; unit++) {
    const first = Math.floor((places[unit] - start) * size);
    const last = Math.max(first, Math.ceil((places[unit] - start + 1) * size) - 1);
    for (let pixel = Math.max(0, first); pixel <= Math.min(largest.length - 1, last); pixel++) {
      if (largest[pixel] < 0 || shares[unit] > shares[largest[pixel]]) largest[pixel] = unit;
    }
  }
  largest.forEach((unit, from) => unit >= 0 && pieces.push({ from, wide: 1, unit }));
  return pieces;
}

/** Share of each row and column as bars beside the cells. @param {CanvasRenderingContext2D} g @param {Scene} scene */
export function paintBars(g, scene) {
  const { layout, ink, pane, places, bars, view, selection } = scene;
  const reach = layout.bar - 4;
  const x = Math.round(layout.x);
  const y = Math.round(layout.y);
  const length = (/** @type {number} */ share) => Math.max(share > 0 ? 1 : 0, Math.round(reach * Math.min(1,
    share / pane.longest)));
  const draw = (/** @type {"rows"|"cols"} */ side, /** @type {(from: number, wide: number, far: number, near: number) => void} */ fill) => {
    const start = side === "rows" ? view.y : view.x;
    for (const { from, wide, unit } of barPieces(bars[side], places, { start, span: view.span, side: layout.side })) {
      const chosen = selection && ((side === "cols" && selection.kind === "col" && selection.j === unit)
        || (side === "rows" && selection.kind === "row" && selection.i === unit));
      g.fillStyle = chosen ? ink.first : ink.bar;
      fill(from, wide, 4 + length(bars[side][unit]), 4);
      if (!pane.reference) continue;
      g.fillStyle = ink.text;
      const at = 4 + length(pane.reference[side][unit]);
      fill(from, wide, at + 1.5, at);
    }
    // What each bar would be, were all the same.
    if (pane.method === "row" || pane.method === "col") {
      g.fillStyle = ink.text;
      const at = 4 + length(pane.even[side]);
      fill(0, layout.side, at + 0.5, at - 0.5);
    }
  };
  draw("rows", (from, wide, far, near) => g.fillRect(x - far, y + from, far - near, wide));
  draw("cols", (from, wide, far, near) => g.fillRect(x + from, y - far, wide, far - near));
  paintRatio(g, scene, length);
  paintBarNames(g, scene);
}

/** How many times the even share the selected bar has. @param {CanvasRenderingContext2D} g @param {Scene} scene @param {(share: number) => number} length */
function paintRatio(g, scene, length) {
  const { layout, pane, selection, bars, places, ink } = scene;
  if (pane.method !== "row" || pane.kind !== "value" || selection?.kind !== "col") return;
  const share = bars.cols[selection.j];
  const middle = left(scene, places[selection.j] + 0.5);
  if (middle < layout.x || middle > layout.x + layout.side) return;
  const points = clamp(layout.font, 11, 18);
  g.font = `600 ${points}px ${FONT}`;
  g.textAlign = "center";
  g.textBaseline = "middle";
  const drawn = times(share / pane.even.cols);
  // A class's bias leaves out classes that are never recognized; the bar has the rows of all.
  const bias = pane.metrics().bias[selection.j];
  const differs = drawn !== times(bias);
  const text = !differs ? drawn : `${Number.isNaN(bias) ? "" : `${times(bias)}, `}${drawn} with all rows`;
  if (differs && bias > 0) {
    const at = layout.y - 4 - length(bias * pane.even.cols);
    g.fillStyle = ink.text;
    g.fillRect(middle - Math.max(cellSize(scene), 6) / 2, at - 1, Math.max(cellSize(scene), 6), 2);
  }
  const wide = g.measureText(text).width + 6;
  const high = 1.2 * points;
  // In the bar where it is tall enough, else above it, but never over the names.
  const end = layout.y - 4 - length(share);
  const inside = length(share) > high && cellSize(scene) > wide;
  const y = inside ? end + high / 2 + 1 : Math.max(end - high / 2 - 1, layout.y - layout.bar + high / 2);
  const x = clamp(middle, layout.x + wide / 2, layout.x + layout.side - wide / 2);
  if (!inside) {
    g.fillStyle = ink.paper;
    g.fillRect(x - wide / 2, y - high / 2, wide, high);
  }
  g.fillStyle = inside ? inkOn(rgbOf(ink.first)) : ink.text;
  g.fillText(text, x, y);
}

/** What the bars are, in the corner between them. @param {CanvasRenderingContext2D} g @param {Scene} scene */
function paintBarNames(g, scene) {
  const { layout, pane, ink } = scene;
  const shares = pane.method === "counts" || pane.method === "all";
  const points = cornerFont(layout.font, layout.bar);
  g.fillStyle = ink.soft;
  g.font = `400 ${points}px ${FONT}`;
  g.textBaseline = "middle";
  g.textAlign = "right";
  const [long, small] = shares ? [["share of predictions →", "share of labels ↓"], ["predictions →", "labels ↓"]] : [
    ["column sums →", "row sums ↓"], ["sums →", "sums ↓"]
  ];
  const names = g.measureText(long[0]).width <= layout.x - 12 ? long : small;
  // Above the first row's name, below that of the axis.
  const y = layout.y - clamp(0.72 * layout.bar, 2.1 * points, layout.bar + 6 - 0.7 * points);
  names.forEach((name, k) => g.fillText(name, layout.x - 10, y + 1.2 * k * points));
}

/** Recall, precision, bias and size beside each row. @param {CanvasRenderingContext2D} g @param {Scene} scene */
export function paintColumns(g, scene) {
  const { layout, frame, ink, places, pane } = scene;
  if (layout.columns === 0) return;
  const size = cellSize(scene);
  const type = Math.min(layout.font, layout.columnWidth / COLUMN);
  const points = clamp(size * 0.5, 9.5, type);
  const edge = layout.edge + layout.tree + 3;
  const metrics = pane.metrics();
  const text = {
    recall: (/** @type {number} */ unit) => share(metrics.recall[unit]),
    precision: (/** @type {number} */ unit) => share(metrics.precision[unit]),
    bias: (/** @type {number} */ unit) => short(metrics.bias[unit], 2),
    n: (/** @type {number} */ unit) => brief(metrics.n[unit]),
  };
  g.textAlign = "right";
  g.textBaseline = "middle";
  COLUMNS.slice(0, layout.columns).forEach((name, k) => {
    const x = edge + (k + 1) * layout.columnWidth;
    g.fillStyle = ink.soft;
    g.font = `600 ${clamp(0.8 * type, 10, 16)}px ${FONT}`;
    g.fillText(name === "precision" ? "prec." : name, x, layout.y - 9);
    g.font = `400 ${points}px ${FONT}`;
    for (let unit = 0; unit < frame.n; unit++) {
      const y = top(scene, places[unit] + 0.5);
      if (y > layout.y && y < layout.y + layout.side) g.fillText(text[name](unit), x, y);
    }
  });
}

/** Joins of the tree that are seen. @param {Scene} scene */
function joinsOf(scene) {
  const { tree, view } = scene;
  const size = cellSize(scene);
  const inside = (/** @type {{at: number}} */ { at }) => at > view.y && at < view.y + view.span;
  return tree.filter((node) => (node.children.length === 0 ? inside(node) :
    // Joins closer than a pixel or two would only grey the margin.
    Math.abs(node.children[0].at - node.children[1].at) * size >= 2.5
    // Joins of classes out of sight would pass as lines from nowhere to nowhere.
      && node.children.some(inside)));
}

/** Where a join of the tree is drawn. @param {Scene} scene @param {{at: number, height: number}} node */
function knotOf(scene, node) {
  const { layout } = scene;
  return { x: layout.edge + 5 + (layout.tree - 10) * node.height, y: top(scene, node.at) };
}

/** Joins whose knot can be clicked. @param {Scene} scene */
function knotsOf(scene) {
  const { layout } = scene;
  return joinsOf(scene).map((node) => ({ node, ...knotOf(scene, node) })).filter(({ y }) => y > layout.y + 3
    && y < layout.y + layout.side - 3);
}

/** @param {CanvasRenderingContext2D} g @param {Scene} scene */
export function paintTree(g, scene) {
  const { layout, ink } = scene;
  if (layout.tree === 0) return;
  g.save();
  g.beginPath();
  g.rect(layout.edge + 1, layout.y, layout.tree, layout.side);
  g.clip();
  g.strokeStyle = ink.line;
  g.lineWidth = 1;
  g.beginPath();
  for (const node of joinsOf(scene)) {
    const knot = knotOf(scene, node);
    for (const child of node.children) {
      const { x, y } = knotOf(scene, child);
      g.moveTo(x, y);
      g.lineTo(knot.x, y);
      g.lineTo(knot.x, knot.y);
    }
  }
  g.stroke();
  for (const { node, x, y } of cellSize(scene) >= 9 ? knotsOf(scene) : []) {
    g.beginPath();
    g.arc(x, y, node.collapsed ? 4 : 2.6, 0, 7);
    g.fillStyle = node.collapsed ? ink.accent : ink.paper;
    g.strokeStyle = node.collapsed ? ink.accent : ink.soft;
    g.fill();
    g.stroke();
  }
  g.restore();
}

/**
 * The branch whose knot lies at a point of the canvas.
 * @param {Scene} scene @param {number} px @param {number} py
 * @returns {{id: number, collapsed: boolean}|null}
 */
export function knotAt(scene, px, py) {
  if (scene.layout.tree === 0) return null;
  let best = null;
  let nearest = 10;
  for (const { node, x, y } of knotsOf(scene)) {
    const distance = Math.hypot(px - x, py - y);
    if (distance < nearest) {
      nearest = distance;
      best = node;
    }
  }
  return best;
}

/** Bands and outline of what is selected or pointed at. @param {CanvasRenderingContext2D} g @param {Scene} scene @param {boolean} focused */
export function paintSelection(g, scene, focused) {
  const { selection, hover, ink, layout, places } = scene;
  const size = cellSize(scene);
  g.save();
  clipCells(g, scene);
  if (selection) {
    g.fillStyle = ink.band;
    if (selection.kind !== "col") {
      const y = top(scene, places[selection.i]);
      band(g, ink, layout.x, y, layout.side, size, selection.kind === "row");
    }
    if (selection.kind !== "row") {
      const x = left(scene, places[selection.j]);
      band(g, ink, x, layout.y, size, layout.side, selection.kind === "col");
    }
  }
  if (hover && hover.i >= 0 && hover.j >= 0) outline(g, left(scene, places[hover.j]), top(scene, places[hover.i]), size, ink.text, 1);
  for (const { i, j } of selection ? [] : scene.marks) {
    // A small cell needs its room for the number.
    const inset = size < 34 ? 0 : 1.5;
    const [x, y] = [left(scene, places[j]) + inset, top(scene, places[i]) + inset];
    outline(g, x, y, size - 2 * inset, ink.paper, inset > 0 ? 5 : 3.5);
    outline(g, x, y, size - 2 * inset, ink.text, inset > 0 ? 2.5 : 2);
  }
  g.restore();
  if (selection?.strip !== undefined && selection.strip < layout.answers + layout.backgrounds) {
    const { x, y, wide, high } = stripBox(scene, selection.strip, places[selection.kind === "row" ? selection.i : selection.j]);
    g.strokeStyle = focused ? ink.focus : ink.text;
    g.lineWidth = 2.5;
    if (inside(layout, x, y)) g.strokeRect(x, y, wide, high);
  }
  if (selection?.kind === "cell") {
    const x = left(scene, places[selection.j]);
    const y = top(scene, places[selection.i]);
    const inside = x > layout.x - size / 2 && y > layout.y - size / 2 && x < layout.x + layout.side - size / 2 && y <
      layout.y + layout.side - size / 2;
    if (!inside) return;
    outline(g, x, y, size, ink.paper, 5);
    outline(g, x, y, size, focused ? ink.focus : ink.text, 2.5);
  }
}

/** Whether a cell that begins here is not scrolled away. @param {import("./layout.js").Layout} layout @param {number} x @param {number} y */
function inside(layout, x, y) {
  return x > layout.x - 2 && y > layout.y - 2 && (y < layout.y + layout.side - 2 || x < layout.x + layout.side - 2);
}

/**
 * @param {CanvasRenderingContext2D} g @param {Record<string, string>} ink
 * @param {number} x @param {number} y @param {number} w @param {number} h @param {boolean} strong
 */
function band(g, ink, x, y, w, h, strong) {
  g.fillStyle = ink.band;
  g.fillRect(x, y, w, h);
  g.strokeStyle = ink.text;
  g.lineWidth = strong ? 2 : 0.75;
  g.strokeRect(x, y, w, h);
}

/** @param {CanvasRenderingContext2D} g @param {number} x @param {number} y @param {number} size @param {string} color @param {number} width */
function outline(g, x, y, size, color, width) {
  const grow = Math.max(0, 3 - size / 2);
  g.strokeStyle = color;
  g.lineWidth = width;
  g.strokeRect(x - grow, y - grow, size + 2 * grow, size + 2 * grow);
}

/**
 * The whole matrix small, with the seen part framed.
 * @param {CanvasRenderingContext2D} g @param {Scene} scene
 * @param {HTMLCanvasElement} image @param {number} side pixels
 */
export function paintMinimap(g, scene, image, side) {
  const { view, frame, ink } = scene;
  // Blend only what shrinks: a few large cells keep their edges.
  g.imageSmoothingEnabled = image.width > g.canvas.width;
  g.drawImage(image, 0, 0, side, side);
  const scale = side / frame.n;
  const extent = Math.max(5, view.span * scale);
  g.strokeStyle = ink.paper;
  g.lineWidth = 4;
  g.strokeRect(view.x * scale, view.y * scale, extent, extent);
  g.strokeStyle = ink.focus;
  g.lineWidth = 2;
  g.strokeRect(view.x * scale, view.y * scale, extent, extent);
}
