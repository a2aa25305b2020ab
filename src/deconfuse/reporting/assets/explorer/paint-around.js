// Drawing around the cells: margin bars, the tree of classes, selection, minimap.

import { FONT, cellSize, clipCells, left, top } from "./paint.js";

/** @typedef {import("./paint.js").Scene} Scene */

/** Share of each row and column as bars beside the cells. @param {CanvasRenderingContext2D} g @param {Scene} scene */
export function paintBars(g, scene) {
  const { layout, frame, ink, pane, places, bars } = scene;
  const size = cellSize(scene);
  const thick = Math.max(0.6, size - Math.min(2, size * 0.25));
  const reach = layout.bar - 4;
  const length = (/** @type {number} */ share) => Math.max(share > 0 ? 1 : 0, reach * Math.min(1,
    share / pane.longest));
  for (let unit = 0; unit < frame.n; unit++) {
    const y = top(scene, places[unit]);
    const x = left(scene, places[unit]);
    const offset = (size - thick) / 2;
    if (y + size / 2 > layout.y && y + size / 2 < layout.y + layout.side) {
      const long = length(bars.rows[unit]);
      g.fillStyle = ink.bar;
      g.fillRect(layout.x - 4 - long, y + offset, long, thick);
      if (pane.reference) tick(g, ink.text, layout.x - 4 - length(pane.reference.rows[unit]), y + offset, 1.5, thick);
    }
    if (x + size / 2 > layout.x && x + size / 2 < layout.x + layout.side) {
      const long = length(bars.cols[unit]);
      g.fillStyle = ink.bar;
      g.fillRect(x + offset, layout.y - 4 - long, thick, long);
      if (pane.reference) tick(g, ink.text, x + offset, layout.y - 4 - length(pane.reference.cols[unit]), thick, 1.5);
    }
  }
  paintBarNames(g, scene);
}

/** @param {CanvasRenderingContext2D} g @param {string} color @param {number} x @param {number} y @param {number} w @param {number} h */
function tick(g, color, x, y, w, h) {
  g.fillStyle = color;
  g.fillRect(x, y, w, h);
}

/** @param {CanvasRenderingContext2D} g @param {Scene} scene */
function paintBarNames(g, scene) {
  const { layout, pane, ink } = scene;
  if (layout.labelWidth < 56) return;
  const shares = pane.method === "counts" || pane.method === "all";
  g.fillStyle = ink.soft;
  g.font = `400 10.5px ${FONT}`;
  g.textBaseline = "middle";
  g.textAlign = "right";
  const x = layout.x - 8;
  const y = layout.y - 4;
  g.fillText(shares ? "share of predictions →" : "column sums →", x, y - 19);
  g.fillText(shares ? "share of labels ↓" : "row sums ↓", x, y - 6);
}

/** @param {CanvasRenderingContext2D} g @param {Scene} scene */
export function paintTree(g, scene) {
  const { layout, tree, ink } = scene;
  if (layout.tree === 0) return;
  const x0 = layout.x + layout.side + 5;
  const reach = layout.tree - 10;
  const x = (/** @type {number} */ height) => x0 + reach * height;
  g.save();
  g.beginPath();
  g.rect(x0 - 4, layout.y, layout.tree, layout.side);
  g.clip();
  g.strokeStyle = ink.line;
  g.lineWidth = 1;
  g.beginPath();
  const size = cellSize(scene);
  for (const node of tree) {
    const at = x(node.height);
    // Joins closer than a pixel or two would only grey the margin.
    if (node.children.length > 0 && Math.abs(node.children[0].at - node.children[1].at) * size < 2.5) continue;
    // Joins of classes out of sight would pass as lines from nowhere to nowhere.
    if (!node.children.some((child) => child.at > scene.view.y && child.at < scene.view.y + scene.view.span))
  continue;
    for (const child of node.children) {
      const y = top(scene, child.at);
      g.moveTo(x(child.height), y);
      g.lineTo(at, y);
      g.lineTo(at, top(scene, node.at));
    }
  }
  g.stroke();
  if (size >= 9) {
    for (const node of tree) {
      g.beginPath();
      g.arc(x(node.height), top(scene, node.at), node.collapsed ? 4 : 2.6, 0, 7);
      g.fillStyle = node.collapsed ? ink.accent : ink.paper;
      g.strokeStyle = node.collapsed ? ink.accent : ink.soft;
      g.fill();
      g.stroke();
    }
  }
  g.restore();
}

/**
 * The branch whose knot lies at a point of the canvas.
 * @param {Scene} scene @param {number} px @param {number} py
 * @returns {{id: number, collapsed: boolean}|null}
 */
export function knotAt(scene, px, py) {
  const { layout, tree } = scene;
  if (layout.tree === 0) return null;
  let best = null;
  let nearest = 10;
  for (const node of tree) {
    const x = layout.x + layout.side + 5 + (layout.tree - 10) * node.height;
    const distance = Math.hypot(px - x, py - top(scene, node.at));
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
  if (hover) outline(g, left(scene, places[hover.j]), top(scene, places[hover.i]), size, ink.text, 1);
  g.restore();
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
