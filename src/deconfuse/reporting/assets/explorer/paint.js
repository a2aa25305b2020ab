// Drawing one matrix on a canvas: cells, numbers, hatches, labels, margin bars, tree, selection.

import { TRUST, trustOf } from "./explain.js";
import { brief, cut, shownName } from "./format.js";
import { seen } from "./layout.js";
import { isUnseen } from "./raster.js";
import { cellText, narrowText } from "./svg.js";
import { labelStep } from "./viewport.js";

// Shades below this are too pale to be read as a value: an empty cell there is just empty.
const VISIBLE = 26;

export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

/**
 * @typedef {object} Scene everything one drawing needs
 * @property {import("./panes.js").Pane} pane
 * @property {import("./panes.js").Frame} frame
 * @property {import("./layout.js").Layout} layout
 * @property {import("./viewport.js").Viewport} view
 * @property {Uint16Array} shades
 * @property {Uint32Array} palette
 * @property {Record<string, string>} ink colours of text, lines and paper
 * @property {ArrayLike<number>} places position of each unit, fractions while moving
 * @property {{rows: ArrayLike<number>, cols: ArrayLike<number>}} bars
 * @property {{kind: string, i: number, j: number}|null} selection units
 * @property {{i: number, j: number}|null} hover units
 * @property {{few_samples: number}} limits
 * @property {ReturnType<typeof import("./layout.js").treeLines>} tree
 */

/** Pixels of one cell. @param {Scene} scene */
export function cellSize(scene) {
  return scene.layout.side / scene.view.span;
}

/** @param {Scene} scene @param {number} place */
export function left(scene, place) {
  return scene.layout.x + (place - scene.view.x) * cellSize(scene);
}

/** @param {Scene} scene @param {number} place */
export function top(scene, place) {
  return scene.layout.y + (place - scene.view.y) * cellSize(scene);
}

/** @param {CanvasRenderingContext2D} g @param {Scene} scene */
export function clipCells(g, scene) {
  const { x, y, side } = scene.layout;
  g.beginPath();
  g.rect(x, y, side, side);
  g.clip();
}

/**
 * @param {CanvasRenderingContext2D} g @param {Scene} scene
 * @param {CanvasImageSource} image @param {import("./raster.js").Raster} raster
 */
export function paintCells(g, scene, image, raster) {
  const size = cellSize(scene);
  g.save();
  clipCells(g, scene);
  g.imageSmoothingEnabled = false;
  const across = raster.cells * size;
  const down = (raster.height / raster.width) * across;
  g.drawImage(image, left(scene, raster.x), top(scene, raster.y), across, down);
  if (size >= 7) paintGaps(g, scene);
  g.restore();
}

/** Cells while they travel to new places. @param {CanvasRenderingContext2D} g @param {Scene} scene */
export function paintMovingCells(g, scene) {
  const { frame, shades, palette, places } = scene;
  const size = cellSize(scene);
  g.save();
  clipCells(g, scene);
  for (let i = 0; i < frame.n; i++) {
    const y = top(scene, places[i]);
    for (let j = 0; j < frame.n; j++) {
      const pixel = palette[shades[i * frame.n + j]];
      g.fillStyle = `rgb(${pixel & 255},${(pixel >> 8) & 255},${(pixel >> 16) & 255})`;
      g.fillRect(left(scene, places[j]), y, size - 0.5, size - 0.5);
    }
  }
  g.restore();
}

/** @param {CanvasRenderingContext2D} g @param {Scene} scene */
function paintGaps(g, scene) {
  const { layout, view, ink, frame } = scene;
  g.fillStyle = ink.paper;
  for (const at of seen(view.x, view.span, frame.n)) g.fillRect(Math.round(left(scene, at)) - 0.5, layout.y, 1,
    layout.side);
  for (const at of seen(view.y, view.span, frame.n)) g.fillRect(layout.x, Math.round(top(scene, at)) - 0.5,
    layout.side, 1);
}

/** Hatches, zeros and numbers, where cells are large enough. @param {CanvasRenderingContext2D} g @param {Scene} scene */
export function paintDetails(g, scene) {
  const { frame, view } = scene;
  const size = cellSize(scene);
  if (size < 5) return;
  g.save();
  clipCells(g, scene);
  g.textAlign = "center";
  g.textBaseline = "middle";
  for (const row of seen(view.y, view.span, frame.n)) {
    for (const col of seen(view.x, view.span, frame.n)) {
      const i = frame.order[row];
      const j = frame.order[col];
      paintDetail(g, scene, i, j, left(scene, col), top(scene, row), size);
    }
  }
  g.restore();
}

/**
 * @param {CanvasRenderingContext2D} g @param {Scene} scene
 * @param {number} i @param {number} j @param {number} x @param {number} y @param {number} size
 */
function paintDetail(g, scene, i, j, x, y, size) {
  const { pane, frame, ink, limits, shades, palette } = scene;
  const at = i * frame.n + j;
  const value = pane.values[at];
  const shade = shades[at];
  if (isUnseen(shade)) {
    hatch(g, x, y, size, ink.faint, -1);
    return;
  }
  const pixel = palette[shade];
  const light = 0.3 * (pixel & 255) + 0.59 * ((pixel >> 8) & 255) + 0.11 * ((pixel >> 16) & 255);
  const color = light > 140 ? ink.onLight : ink.onDark;
  const strength = (shade % 1025) % 256;
  const trust = trustOf(pane, frame.n, i, j, limits);
  if (trust !== TRUST.FINE && strength >= VISIBLE) hatch(g, x, y, size, color, 1);
  if (size < 15) return;
  const nothing = pane.counts[at] === 0 && strength < VISIBLE;
  if (nothing) {
    g.fillStyle = ink.faint;
    g.beginPath();
    g.arc(x + size / 2, y + size / 2, Math.min(1.6, size / 16), 0, 7);
    g.fill();
    return;
  }
  if (size < 25) return;
  g.fillStyle = color;
  g.globalAlpha = pane.faded?.[at] ? 0.6 : 1;
  const two = size >= 36 && pane.method !== "counts" && pane.kind === "value";
  const roomy = size >= (pane.method === "counts" ? 52 : pane.kind === "difference" ? 60 : 42);
  const main = roomy ? cellText(pane, value) : narrowText(pane, value) || (two ? "<.01" : "");
  const most = size >= 42 ? 12 : size >= 29 ? 10.5 : 9.5;
  g.font = `${i === j ? 600 : 400} ${most}px ${FONT}`;
  if (g.measureText(main).width > size - 3) g.font = `${i === j ? 600 : 400} ${Math.min(most, 10)}px ${FONT}`;
  const fits = g.measureText(main).width <= size - 2;
  const tight = size < 42;
  if (fits) g.fillText(main, x + size / 2, y + size / 2 - (two ? (tight ? 5 : 6) : 0));
  if (fits && two) {
    g.globalAlpha = 0.72;
    g.font = `400 ${tight ? 9.5 : 10}px ${FONT}`;
    g.fillText(brief(pane.counts[at]), x + size / 2, y + size / 2 + (tight ? 7 : 9));
  }
  g.globalAlpha = 1;
}

/**
 * @param {CanvasRenderingContext2D} g @param {number} x @param {number} y @param {number} size
 * @param {string} color @param {1|-1} slope
 */
function hatch(g, x, y, size, color, slope) {
  g.save();
  g.beginPath();
  g.rect(x + 0.5, y + 0.5, size - 1, size - 1);
  g.clip();
  g.strokeStyle = color;
  g.globalAlpha = 0.34;
  g.lineWidth = 1;
  g.beginPath();
  const gap = Math.max(4, Math.min(7, size / 5));
  for (let d = -size; d < size; d += gap) {
    if (slope > 0) {
      g.moveTo(x + d, y + size);
      g.lineTo(x + d + size, y);
    } else {
      g.moveTo(x + d, y);
      g.lineTo(x + d + size, y + size);
    }
  }
  g.stroke();
  g.restore();
}

/** Class names along both axes, as many as fit, and the names of the axes. @param {CanvasRenderingContext2D} g @param {Scene} scene */
export function paintLabels(g, scene) {
  const { layout, view, frame, ink, places, selection, hover } = scene;
  const size = cellSize(scene);
  const step = labelStep(size, 12);
  const marked = new Set();
  if (selection) marked.add(`r${selection.kind === "col" ? -1 : selection.i}`).add(
    `c${selection.kind === "row" ? -1 : selection.j}`);
  if (hover) marked.add(`r${hover.i}`).add(`c${hover.j}`);
  const fontSize = Math.min(12.5, Math.max(9.5, size * 0.8));
  g.textBaseline = "middle";
  for (let unit = 0; unit < frame.n; unit++) {
    const place = places[unit];
    const name = frame.units[unit].label;
    const y = top(scene, place + 0.5);
    const x = left(scene, place + 0.5);
    const onRow = marked.has(`r${unit}`);
    const onCol = marked.has(`c${unit}`);
    const turn = Math.round(place) % step === 0;
    if ((turn || onRow) && y > layout.y && y < layout.y + layout.side) {
      g.font = `${onRow ? 600 : 400} ${fontSize}px ${FONT}`;
      g.textAlign = "right";
      // A marked name that has no slot of its own covers its neighbours.
      if (!turn) erase(g, ink.paper, layout.x - layout.bar - 6 - layout.labelWidth, y - 7, layout.labelWidth + 2, 14);
      else if (!onRow && crowded(marked, "r", frame, place, step)) continue;
      g.fillStyle = onRow ? ink.text : ink.soft;
      g.fillText(fit(g, name, layout.labelWidth), layout.x - layout.bar - 7, y);
    }
    if ((turn || onCol) && x > layout.x && x < layout.x + layout.side) {
      g.font = `${onCol ? 600 : 400} ${fontSize}px ${FONT}`;
      const base = layout.y - layout.bar - 7;
      if (!turn) erase(g, ink.paper, x - 7, base - layout.labelHeight, 14, layout.labelHeight + 2);
      else if (!onCol && crowded(marked, "c", frame, place, step)) continue;
      g.fillStyle = onCol ? ink.text : ink.soft;
      if (layout.upright) {
        g.save();
        g.translate(x, base);
        g.rotate(-Math.PI / 2);
        g.textAlign = "left";
        g.fillText(fit(g, name, layout.labelHeight), 0, 0);
        g.restore();
      } else {
        g.textAlign = "center";
        g.fillText(fit(g, name, size - 4), x, base - 5);
      }
    }
  }
  paintAxisNames(g, scene);
}

/**
 * Whether a marked name a few places away needs the room of this one.
 * @param {Set<string>} marked @param {string} side @param {import("./panes.js").Frame} frame
 * @param {number} place @param {number} step
 */
function crowded(marked, side, frame, place, step) {
  if (step === 1) return false;
  for (const mark of marked) {
    if (!mark.startsWith(side)) continue;
    const unit = Number(mark.slice(1));
    if (unit >= 0 && unit < frame.n && Math.abs(frame.place[unit] - place) < step) return true;
  }
  return false;
}

/** @param {CanvasRenderingContext2D} g @param {string} color @param {number} x @param {number} y @param {number} w @param {number} h */
function erase(g, color, x, y, w, h) {
  g.fillStyle = color;
  g.fillRect(x, y, w, h);
}

/** Cut a name to a width. @param {CanvasRenderingContext2D} g @param {string} name @param {number} width */
export function fit(g, name, width) {
  const plain = shownName(name).replace(/\s+/g, " ");
  if (plain.length < 400 && g.measureText(plain).width <= width) return plain;
  let low = 1;
  let high = Math.min(200, [...plain].length);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (g.measureText(cut(plain, middle)).width <= width) low = middle;
    else high = middle - 1;
  }
  return cut(plain, low);
}

/** @param {CanvasRenderingContext2D} g @param {Scene} scene */
function paintAxisNames(g, scene) {
  const { layout, ink } = scene;
  g.fillStyle = ink.soft;
  g.font = `600 11.5px ${FONT}`;
  g.textAlign = "left";
  g.fillText("predicted class →", layout.x, 8);
  g.save();
  g.translate(8, layout.y);
  g.rotate(-Math.PI / 2);
  g.textAlign = "right";
  g.fillText("← true class", 0, 0);
  g.restore();
}
