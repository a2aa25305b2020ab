// The matrix as a table behind the canvas, for screen readers and for reading aloud.

import { h } from "./dom.js";
import { neverSeen } from "./explain.js";
import { count, short } from "./format.js";

/** Rows and columns at most: beyond, the table holds the part in view. */
export const TABLE_LIMIT = 30;

/**
 * @param {import("./panes.js").Pane} pane @param {import("./panes.js").Frame} frame
 * @param {number[]} rows units in view @param {number[]} cols
 */
export function tableOf(pane, frame, rows, cols) {
  const r = rows.slice(0, TABLE_LIMIT);
  const c = cols.slice(0, TABLE_LIMIT);
  const part = r.length < frame.n || c.length < frame.n ?
    ` Part of it: ${r.length} of ${frame.n} true classes, ${c.length} of ${frame.n} predicted classes.` : "";
  return h(
    "table", {},
    h("caption", {},
      `Confusion matrix, ${pane.name}: ${pane.sums}. True classes on rows, predicted classes on columns.${part}`),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "true \\ predicted"), ...c.map((u) => h(
    "th", { scope: "col" }, frame.units[u].label)))),
    h("tbody", {}, ...r.map((u) => h("tr", {}, h("th", { scope: "row" }, frame.units[u].label), ...c.map((v) => h(
      "td", {}, cellWords(pane, frame, u, v)))))),
  );
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
  return `true class ${units[selection.i].label}, ${count(pane.labelCounts[selection.i])} samples`;
  if (selection.kind === "col")
  return `predicted class ${units[selection.j].label}, ${count(pane.predictionCounts[selection.j])} predictions`;
  const at = selection.i * frame.n + selection.j;
  const value = neverSeen(pane, frame.n, selection.i, selection.j) ? "never seen" : short(pane.values[at]);
  const ratio = pane.method === "counts" && pane.kind === "value" ? "" : `, ${pane.name} ${value}`;
  return `true ${units[selection.i].label}, predicted ${units[selection.j].label}: ${count(pane.counts[at])} samples${ratio}`;
}
