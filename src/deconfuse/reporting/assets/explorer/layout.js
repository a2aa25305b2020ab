// Where the parts of one matrix drawing lie: labels, margin bars, cells, tree. Pixels, no drawing.

import { clamp } from "./arrays.js";
import { visible } from "./viewport.js";

/**
 * @typedef {object} Layout
 * @property {number} width @property {number} height of the canvas
 * @property {number} x @property {number} y corner of the cells
 * @property {number} side of the square of cells
 * @property {number} bar thickness of the margin bars
 * @property {number} font of the class names
 * @property {number} labelWidth of row labels @property {number} labelHeight of column labels
 * @property {boolean} upright column labels stand on end
 * @property {number} tree width of the dendrogram, 0 without one
 * @property {number} columns of numbers beside the rows, as many as there is room for
 * @property {number} columnWidth of each
 * @property {number} answers strips of outcomes beside the rows @property {number} answerWidth of each
 * @property {number} backgrounds strips below the columns @property {number} backgroundHeight of each
 * @property {number} edge where the cells and the answers beside them end
 */

const AXIS = 18;
const GAP = 3;
// The names of the bars stand in the corner between them: so many letters of their size.
const CORNER = 9.8;
/** Room between the square of the classes and what is no class. */
export const APART = 14;
/** A cell lower than this has no number. */
export const FLOOR = 13;
/** Width of a column of numbers beside the rows, in times of its type. */
export const COLUMN = 2.75;
/** Smallest type of these numbers. */
const SMALL = 12;
// Names that are cut to this can still be told apart, and a tree of this width can still be read.
const SHORT_NAME = 76;
const SLIM_TREE = 28;
/** Numbers that may stand beside a row. */
export const COLUMNS = /** @type {const} */ (["recall", "precision", "bias", "n"]);

/** Size of the type of class names beside cells of so many pixels. @param {number} size */
export function fontOf(size) {
  return clamp(size * 0.8, 9.5, clamp(size * 0.2, 12, 26));
}

/** Size of the type of outcomes: their strips stay narrow. @param {number} font of the class names */
export function stripFont(font) {
  return Math.min(font, 15);
}

/** Size of the type in the corner: two lines of it fit beside the bars. @param {number} font of the class names @param {number} bar */
export function cornerFont(font, bar) {
  return clamp(Math.min(0.8 * font, bar / 2.1), 10, 16);
}

/**
 * @param {object} room
 * @param {number} room.width @param {number} room.maxHeight of the canvas, unless it is narrow
 * @param {number} room.n units @param {number} room.span visible units
 * @param {number} room.widest label at 12 pixels and bold, as marked ones are, in pixels
 * @param {number} [room.widestColumn] the same of the columns, where those are cut
 * @param {boolean} room.tree
 * @param {number} [room.least] pixels that the square of cells keeps where the numbers beside the rows take width from it
 * @param {boolean} [room.compact] a small picture: no numbers beside the rows
 * @param {{answers: number, backgrounds: number, widest: number}} [room.strips] outcomes beside and below, and their widest name
 * @returns {Layout}
 */
export function layoutOf(room) {
  const first = laidOut(room, 12);
  const font = fontOf(first.side / Math.min(room.span, room.n));
  if (font <= 12 || room.compact) return { ...first, font: Math.min(font, 12) };
  // Of a long name smaller letters show more.
  const whole = (12 * (roomBeside(room).names - 8)) / room.widest;
  return laidOut(room, clamp(whole, 12, font));
}

/** What the square of cells keeps: outcomes are part of the picture. @param {number} least @param {number} beside pixels of outcomes */
function cellsLeft(least, beside) {
  return Math.max(0.7 * least, least - beside);
}

/**
 * Most pixels that the names of rows and the tree may take: as many as leave room for the numbers beside the rows.
 * @param {Parameters<typeof layoutOf>[0]} room
 */
function roomBeside({ width, maxHeight, tree, least = 0.78 * maxHeight, compact, strips = NO_STRIPS }) {
  const narrow = width < 520;
  const bar = compact || narrow ? 22 : clamp(maxHeight * 0.055, 26, 60);
  const beside = strips.answers > 0 ? APART + strips.answers * 3.8 * 12 : 0;
  const spare = narrow || compact ? Infinity :
    width - AXIS - bar - GAP - 8 - beside - cellsLeft(least, beside) - COLUMNS.length * COLUMN * SMALL;
  const treeMost = narrow ? SLIM_TREE : clamp(width * 0.09, 48, 72);
  const branches = tree && !compact ? clamp(spare - SHORT_NAME, SLIM_TREE, treeMost) : 0;
  const names = narrow ? SHORT_NAME : clamp(spare - branches, SHORT_NAME, Math.min(325, width * 0.22));
  return { bar, tree: branches, names };
}

const NO_STRIPS = { answers: 0, backgrounds: 0, widest: 0 };

/** @param {Parameters<typeof layoutOf>[0]} given @param {number} font @returns {Layout} */
function laidOut(given, font) {
  const { width, maxHeight, n, span, widest, widestColumn = widest, least = 0.78 * maxHeight, compact, strips = NO_STRIPS } = given;
  const narrow = width < 520;
  const { bar, tree, names } = roomBeside(given);
  const grown = font / 12;
  const wide = (/** @type {number} */ measured) => measured * grown + 8;
  const room = wide(widest);
  const outcome = (strips.widest * stripFont(font)) / 12 + 8;
  const labelWidth = clamp(strips.backgrounds > 0 ? Math.max(room, outcome) : room, 20, names);
  const x = Math.max(AXIS + labelWidth + bar + GAP, CORNER * cornerFont(font, bar));
  // On a phone a column of outcomes is as wide as one of cells.
  const answerWidth = narrow ? clamp((width - x - tree - 8 - APART) / (Math.min(span, n) + strips.answers), 14, 40) : 3.8 * clamp(font, 12, 18);
  const backgroundHeight = 2.7 * clamp(font, 11, 16);
  const beside = strips.answers > 0 ? APART + strips.answers * answerWidth : 0;
  const below = strips.backgrounds > 0 ? APART + strips.backgrounds * backgroundHeight : 0;
  const most = Math.max(80, width - x - tree - 8 - beside);
  const cells = cellsLeft(least, beside);
  const readable = !compact && !narrow;
  // Small enough that all of them fit, where that can be read.
  const columnWidth = COLUMN * clamp(Math.min(font, (most - cells) / COLUMN / COLUMNS.length), SMALL, 18);
  // As many columns as leave the cells their size.
  const columnsBeside = (/** @type {number} */ side) => clamp(Math.floor((most - side + 0.5) / columnWidth), 0, readable ? COLUMNS.length : 0);
  const fitting = (/** @type {number} */ top) => {
    const high = Math.max(narrow ? most : 240, maxHeight - top - below - 6);
    const kept = columnsBeside(Math.min(most, high, cells));
    return Math.min(most - kept * columnWidth, high);
  };
  const flat = 18 * grown + bar + GAP + 2;
  const upright = room > fitting(flat) / Math.min(span, n);
  const standing = (/** @type {number} */ needed) => clamp(needed, 36, narrow ? SHORT_NAME : clamp(maxHeight * 0.14, SHORT_NAME, 118 * grown));
  const labelHeight = Math.max(upright ? standing(wide(widestColumn)) : 18 * grown,
    strips.answers > 0 && outcome > answerWidth ? standing(outcome) : 0);
  const y = Math.ceil(labelHeight + bar + GAP + 2);
  const side = fitting(y);
  return {
    width,
    height: Math.ceil(y + side + below + 6),
    x,
    y,
    side,
    bar,
    font,
    labelWidth: Math.max(labelWidth, x - AXIS - bar - GAP),
    labelHeight,
    upright,
    tree,
    columns: side / Math.min(span, n) >= 12 ? columnsBeside(side) : 0,
    columnWidth,
    answers: strips.answers,
    answerWidth,
    backgrounds: strips.backgrounds,
    backgroundHeight,
    edge: x + side + beside,
  };
}

/**
 * What lies at a point of the canvas.
 * @param {Layout} layout @param {import("./viewport.js").Viewport} view @param {number} n
 * @param {number} px @param {number} py
 * @returns {{part: "cell"|"row"|"col"|"strip"|"tree"|"", row: number, col: number, u: number, v: number, strip?: number}}
 *   `strip` of outcomes, where that is the part
 */
export function hit(layout, view, n, px, py) {
  const u = (px - layout.x) / layout.side;
  const v = (py - layout.y) / layout.side;
  const row = clamp(Math.floor(view.y + v * view.span), 0, n - 1);
  const col = clamp(Math.floor(view.x + u * view.span), 0, n - 1);
  const across = u >= 0 && u < 1;
  const down = v >= 0 && v < 1;
  const beside = Math.floor((px - layout.x - layout.side - APART) / layout.answerWidth);
  const below = Math.floor((py - layout.y - layout.side - APART) / layout.backgroundHeight);
  if (down && beside >= 0 && beside < layout.answers) return { part: "strip", row, col, u, v, strip: beside };
  if (across && below >= 0 && below < layout.backgrounds) return { part: "strip", row, col, u, v, strip: layout.answers + below };
  let part = /** @type {"cell"|"row"|"col"|"tree"|""} */ ("");
  if (across && down) part = "cell";
  else if (down && u < 0) part = "row";
  else if (across && v < 0) part = "col";
  else if (down && layout.tree > 0 && px >= layout.edge && px < layout.edge + layout.tree) part = "tree";
  else if (down && u >= 1 && layout.columns > 0) part = "row";
  return { part, row, col, u, v };
}

/**
 * Lines of the dendrogram in display units: heights between 0 (leaves) and 1 (root).
 * @param {Map<number, import("./groups.js").Branch>} branches
 * @param {number} nClasses @param {import("./panes.js").Frame} frame
 * @returns {{id: number, at: number, height: number, collapsed: boolean, children: {at: number, height: number}[]}[]}
 */
export function treeLines(branches, nClasses, frame) {
  const root = nClasses + branches.size - 1;
  const top = branches.get(root)?.height ?? 0;
  const groups = new Map(frame.units.map((unit, u) => [unit.id, u]));
  /** @type {ReturnType<typeof treeLines>} */
  const lines = [];
  /** @type {Map<number, {at: number, height: number}>} */
  const nodes = new Map();
  const leaf = (/** @type {number} */ id) => {
    const unit = groups.get(id);
    return unit === undefined ? undefined : { at: frame.place[unit] + 0.5, height: 0 };
  };
  // Branches come in the order of their joins, children first: no recursion on deep trees.
  for (const branch of branches.values()) {
    const collapsed = leaf(branch.id);
    if (collapsed) {
      nodes.set(branch.id, collapsed);
      lines.push({ id: branch.id, ...collapsed, collapsed: true, children: [] });
      continue;
    }
    const children = [branch.left, branch.right].map((id) => nodes.get(id) ?? leaf(id));
    if (children.some((child) => child === undefined)) continue;
    const both = /** @type {{at: number, height: number}[]} */ (children);
    const node = {
      at: (both[0].at + both[1].at) / 2,
      height: top > 0 ? Math.max(both[0].height, both[1].height, branch.height / top) : 1,
    };
    nodes.set(branch.id, node);
    lines.push({ id: branch.id, ...node, collapsed: false, children: both });
  }
  return lines;
}

/** Display positions seen along one axis. @param {number} start @param {number} span @param {number} n */
export function seen(start, span, n) {
  const { first, end } = visible(start, span, n);
  return Array.from({ length: end - first }, (_, k) => first + k);
}
