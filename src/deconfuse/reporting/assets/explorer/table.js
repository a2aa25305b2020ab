// The matrix as a grid inside the canvas, for screen readers, and what is said of a cell.

import { h } from "./dom.js";
import { neverSeen } from "./explain.js";
import { count, plural, short } from "./format.js";

/** Rows and columns at most: beyond, the grid holds the part in view. */
export const TABLE_LIMIT = 30;

/** @param {string} id of the explorer @param {number} i @param {number} j units */
export function cellId(id, i, j) {
  return `${id}-${i}-${j}`;
}

/**
 * Rows of a grid, each with its cells.
 * @param {import("./panes.js").Pane} pane @param {import("./panes.js").Frame} frame
 * @param {number[]} rows units in view @param {number[]} cols
 * @param {{id: string, selection: {i: number, j: number}|null}} explorer
 * @returns {Element[]}
 */
export function gridRows(pane, frame, rows, cols, { id, selection }) {
  const c = cols.slice(0, TABLE_LIMIT);
  const header = h("div", { role: "row" }, h("span", { role: "columnheader" }, "true \\ predicted"), ...c.map((v) => h(
    "span", { role: "columnheader" }, frame.units[v].label)));
  return [header, ...rows.slice(0, TABLE_LIMIT).map((u) => h("div", { role: "row" },
    h("span", { role: "rowheader" }, frame.units[u].label), ...c.map((v) => h("span", {
      role: "gridcell",
      id: cellId(id, u, v),
      "aria-selected": String(selection?.i === u && selection?.j === v),
    }, cellWords(pane, frame, u, v)))))];
}

/** What a grid says of itself. @param {import("./panes.js").Pane} pane @param {import("./panes.js").Frame} frame @param {number} shown units a side */
export function gridLabel(pane, frame, shown) {
  const part = shown < frame.n || frame.n > TABLE_LIMIT ? `, ${count(Math.min(shown, TABLE_LIMIT))} of ${count(frame.n)} classes` : "";
  return `Confusion matrix, ${pane.name}: ${pane.sums}. True classes on rows, predicted classes on columns${part}. Use the arrow keys to move.`;
}

/** @param {import("./panes.js").Pane} pane @param {import("./panes.js").Frame} frame @param {number} i @param {number} j */
export function cellWords(pane, frame, i, j) {
  const at = i * frame.n + j;
  if (pane.method === "counts" && pane.kind === "value") return count(pane.values[at]);
  const value = neverSeen(pane, frame.n, i, j) ? "never seen" : short(pane.values[at]);
  return `${value} (${count(pane.counts[at])})`;
}

/** What a reader hears when a cell is selected. @param {import("./panes.js").Pane} pane @param {import("./panes.js").Frame} frame @param {{kind: string, i: number, j: number}} selection units */
export function spoken(pane, frame, selection) {
  const { units } = frame;
  if (selection.kind === "row")
  return `true class ${units[selection.i].label}, ${plural(pane.labelCounts[selection.i], "sample")}`;
  if (selection.kind === "col")
  return `predicted class ${units[selection.j].label}, ${plural(pane.predictionCounts[selection.j], "prediction")}`;
  const at = selection.i * frame.n + selection.j;
  const value = neverSeen(pane, frame.n, selection.i, selection.j) ? "never seen" : short(pane.values[at]);
  const ratio = pane.method === "counts" && pane.kind === "value" ? "" : `, ${pane.name} ${value}`;
  return `true ${units[selection.i].label}, predicted ${units[selection.j].label}: ${plural(pane.counts[at], "sample")}${ratio}`;
}
