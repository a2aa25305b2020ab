// Drawing one matrix on a canvas: cells, numbers, hatches, labels, margin bars, tree, selection.

import { clamp } from "./arrays.js";
import { cssOf, inkOn } from "./color.js";
import { TRUST, trustOf } from "./explain.js";
import { brief, count } from "./format.js";
import { cornerFont, seen } from "./layout.js";
import { fitted, lineOf, tellApart } from "./names.js";
import { colorOf, isUnseen, strengthOf } from "./raster.js";
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
 * @property {{kind: string, i: number, j: number, strip?: number}|null} selection units
 * @property {{i: number, j: number}[]} marks units of cells that a sentence beside the drawing speaks of
 * @property {{i: number, j: number, strip?: number}|null} hover units
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
  if (pane.hidden?.[at]) return;
  if (isUnseen(shade)) {
    crossOut(g, x, y, size, ink.faint);
    return;
  }
  const color = colorOf(palette[shade]);
  const on = inkOn(color);
  const strength = strengthOf(shade);
  const trust = trustOf(pane, frame.n, i, j, limits);
  const hatched = trust !== TRUST.FINE && strength >= VISIBLE;
  if (hatched) hatch(g, x, y, size, on);
  if (size < 15) return;
  // What is estimated where nothing was counted is a colour to see, not a number to read.
  if (pane.counts[at] === 0 && (pane.kind === "value" || strength < VISIBLE)) {
    g.fillStyle = hatched ? on : ink.faint;
    g.beginPath();
    g.arc(x + size / 2, y + size / 2, Math.min(1.6, size / 16), 0, 7);
    g.fill();
    return;
  }
  if (size < 25) return;
  const two = size >= 36 && pane.method !== "counts" && pane.kind === "value";
  const main = cellText(pane, value);
  const most = size >= 42 ? clamp(size * 0.22, 12, 30) : size >= 29 ? 10.5 : 9.5;
  const font = (/** @type {number} */ points) => `${i === j ? 600 : 400} ${points}px ${FONT}`;
  const written = [main, narrowText(pane, value)].flatMap((text) => [most, Math.min(most, 10)].map((points) =>
    ({ text, points }))).find(({ text, points }) => {
    g.font = font(points);
    return text !== "" && g.measureText(text).width <= size - 2;
  });
  if (!written) return;
  const small = Math.max(9.5, 0.8 * written.points);
  const middle = y + size / 2 - (two ? 0.55 * small : 0);
  if (hatched) {
    // Nothing but its own colour behind a number.
    const wide = g.measureText(written.text).width + 4;
    g.fillStyle = cssOf(color);
    g.fillRect(x + (size - wide) / 2, middle - 0.6 * written.points, wide, 1.2 * written.points + (two ? 1.2 * small : 0));
  }
  g.fillStyle = on;
  g.fillText(written.text, x + size / 2, middle);
  if (!two) return;
  g.font = `400 ${small}px ${FONT}`;
  const whole = count(pane.counts[at]);
  g.fillText(g.measureText(whole).width <= size - 8 ? whole : brief(pane.counts[at]), x + size / 2, middle + 0.55 * (written.points + small) + 1);
}

/**
 * Few samples: slanted lines.
 * @param {CanvasRenderingContext2D} g @param {number} x @param {number} y @param {number} size @param {string} color
 */
function hatch(g, x, y, size, color) {
  g.save();
  g.beginPath();
  g.rect(x + 0.5, y + 0.5, size - 1, size - 1);
  g.clip();
  g.strokeStyle = color;
  g.globalAlpha = 0.34;
  g.lineWidth = 1;
  g.beginPath();
  const gap = Math.max(4, Math.min(9, size / 5));
  for (let d = -size; d < size; d += gap) {
    g.moveTo(x + d, y + size);
    g.lineTo(x + d + size, y);
  }
  g.stroke();
  g.restore();
}

/**
 * Never seen: a cross from corner to corner.
 * @param {CanvasRenderingContext2D} g @param {number} x @param {number} y @param {number} size @param {string} color
 */
function crossOut(g, x, y, size, color) {
  const inset = Math.min(6, size / 5);
  g.strokeStyle = color;
  g.lineWidth = 1;
  g.beginPath();
  g.moveTo(x + inset, y + inset);
  g.lineTo(x + size - inset, y + size - inset);
  g.moveTo(x + size - inset, y + inset);
  g.lineTo(x + inset, y + size - inset);
  g.stroke();
}

/** Names already fitted, by how much room they had. @type {WeakMap<import("./panes.js").Frame, Map<string, string[]>>} */
const FITTED = new WeakMap();

/**
 * The names of some units as they are drawn, each different.
 * @param {CanvasRenderingContext2D} g with its font set @param {Scene} scene @param {number[]} units @param {number} width
 * @returns {string[]}
 */
export function drawnNames(g, scene, units, width) {
  const { frame } = scene;
  const known = FITTED.get(frame) ?? new Map();
  FITTED.set(frame, known);
  const key = `${g.font} ${Math.round(width)} ${units.join()}`;
  const names = known.get(key) ?? tellApart(units.map((unit) => frame.units[unit].label), (text) =>
    g.measureText(text).width <= width);
  if (known.size > 40) known.clear();
  known.set(key, names);
  return names;
}

/** One name cut to its room. @param {CanvasRenderingContext2D} g with its font set @param {string} name @param {number} width */
export function drawnText(g, name, width) {
  return fitted(lineOf(name), (text) => g.measureText(text).width <= width);
}

/** Class names along both axes, as many as fit, and the names of the axes. @param {CanvasRenderingContext2D} g @param {Scene} scene */
export function paintLabels(g, scene) {
  const { layout, view, frame, ink, places, selection, hover } = scene;
  const size = cellSize(scene);
  const { font } = layout;
  const step = labelStep(size, Math.max(12, font));
  const marked = new Set();
  if (selection) marked.add(`r${selection.kind === "col" ? -1 : selection.i}`).add(
    `c${selection.kind === "row" ? -1 : selection.j}`);
  if (hover) marked.add(`r${hover.i}`).add(`c${hover.j}`);
  g.textBaseline = "middle";
  const along = (/** @type {"r"|"c"} */ side, /** @type {number} */ start, /** @type {number} */ width,
    /** @type {(name: string, place: number, bold: boolean, turn: boolean) => void} */ write) => {
    const shown = seen(start, view.span, frame.n).map((at) => frame.order[at]).filter((unit) => {
      const bold = marked.has(`${side}${unit}`);
      const turn = frame.place[unit] % step === 0;
      const middle = places[unit] + 0.5;
      return (bold || (turn && !crowded(marked, side, frame, places[unit], step))) && middle > start
        && middle < start + view.span;
    });
    // Fitted as if all were bold, so that marking one changes no other.
    g.font = `600 ${font}px ${FONT}`;
    const names = drawnNames(g, scene, shown, width);
    shown.forEach((unit, k) => {
      const bold = marked.has(`${side}${unit}`);
      g.font = `${bold ? 600 : 400} ${font}px ${FONT}`;
      write(names[k], places[unit] + 0.5, bold, frame.place[unit] % step === 0);
    });
  };
  along("r", view.y, layout.labelWidth, (name, place, bold, turn) => {
    const y = top(scene, place);
    // A marked name that has no slot of its own covers its neighbours.
    if (!turn) erase(g, ink.paper, layout.x - layout.bar - 6 - layout.labelWidth, y - 7, layout.labelWidth + 2, 14);
    g.textAlign = "right";
    g.fillStyle = bold ? ink.text : ink.soft;
    g.fillText(name, layout.x - layout.bar - 7, y);
  });
  along("c", view.x, layout.upright ? layout.labelHeight - 4 : size - 4, (name, place, bold, turn) => {
    const x = left(scene, place);
    const base = layout.y - layout.bar - 7;
    if (!turn) erase(g, ink.paper, x - 7, base - layout.labelHeight, 14, layout.labelHeight + 2);
    g.fillStyle = bold ? ink.text : ink.soft;
    g.textAlign = layout.upright ? "left" : "center";
    g.save();
    g.translate(x, layout.upright ? base : base - 0.35 * font);
    if (layout.upright) g.rotate(-Math.PI / 2);
    g.fillText(name, 0, 0);
    g.restore();
  });
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

/** Names of the axes: in the corner, above the names of the bars, and beside the rows. @param {CanvasRenderingContext2D} g @param {Scene} scene */
function paintAxisNames(g, scene) {
  const { layout, ink } = scene;
  const points = cornerFont(layout.font, layout.bar);
  g.fillStyle = ink.soft;
  g.font = `600 ${points}px ${FONT}`;
  g.textAlign = "right";
  const roomy = g.measureText("predicted class →").width <= layout.x - 12;
  g.fillText(roomy ? "predicted class →" : "predicted →", layout.x - 10, layout.y - layout.bar - 6 - 0.5 * points);
  g.save();
  g.translate(9, layout.y);
  g.rotate(-Math.PI / 2);
  g.fillText("← true class", 0, 0);
  g.restore();
}
