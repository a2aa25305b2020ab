// Where the parts of one matrix drawing lie: labels, margin bars, cells, tree. Pixels, no drawing.

import { clamp } from "./arrays.js";
import { visible } from "./viewport.js";

/**
 * @typedef {object} Layout
 * @property {number} width @property {number} height of the canvas
 * @property {number} x @property {number} y corner of the cells
 * @property {number} side of the square of cells
 * @property {number} bar thickness of the margin bars
 * @property {number} labelWidth of row labels @property {number} labelHeight of column labels
 * @property {boolean} upright column labels stand on end
 * @property {number} tree width of the dendrogram, 0 without one
 */

const AXIS = 18;
const GAP = 3;

/**
 * @param {object} room
 * @param {number} room.width @param {number} room.maxHeight of the canvas, unless it is narrow
 * @param {number} room.n units @param {number} room.span visible units
 * @param {number} room.widest label, in pixels
 * @param {boolean} room.tree
 * @returns {Layout}
 */
export function layoutOf({ width, maxHeight, n, span, widest, tree }) {
  const narrow = width < 520;
  const bar = narrow ? 22 : 34;
  const treeWidth = tree ? (narrow ? 28 : 72) : 0;
  // Marked names are bold: a tenth wider than measured.
  const room = 1.1 * widest + 8;
  const labelWidth = clamp(room, 20, narrow ? 76 : Math.min(150, width * 0.22));
  const x = AXIS + labelWidth + bar + GAP;
  const most = Math.max(80, width - x - treeWidth - 8);
  const fitting = (/** @type {number} */ top) => Math.min(most, Math.max(narrow ? most : 240, maxHeight - top - 6));
  const flat = AXIS + 18 + bar + GAP;
  const upright = room > fitting(flat) / Math.min(span, n);
  const labelHeight = upright ? clamp(room, 20, narrow ? 76 : 118) : 18;
  const y = AXIS + labelHeight + bar + GAP;
  const side = fitting(y);
  return {
    width,
    height: Math.ceil(y + side + 6),
    x,
    y,
    side,
    bar,
    labelWidth,
    labelHeight,
    upright,
    tree: treeWidth,
  };
}

/**
 * What lies at a point of the canvas.
 * @param {Layout} layout @param {import("./viewport.js").Viewport} view @param {number} n
 * @param {number} px @param {number} py
 * @returns {{part: "cell"|"row"|"col"|"tree"|"", row: number, col: number, u: number, v: number}}
 */
export function hit(layout, view, n, px, py) {
  const u = (px - layout.x) / layout.side;
  const v = (py - layout.y) / layout.side;
  const row = clamp(Math.floor(view.y + v * view.span), 0, n - 1);
  const col = clamp(Math.floor(view.x + u * view.span), 0, n - 1);
  const across = u >= 0 && u < 1;
  const down = v >= 0 && v < 1;
  let part = /** @type {"cell"|"row"|"col"|"tree"|""} */ ("");
  if (across && down) part = "cell";
  else if (down && u < 0) part = "row";
  else if (across && v < 0) part = "col";
  else if (down && layout.tree > 0 && u >= 1) part = "tree";
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
