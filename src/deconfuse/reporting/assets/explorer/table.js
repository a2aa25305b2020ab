// The matrix as a grid inside the canvas, for screen readers, and what is said of a cell.

import { h } from "./dom.js";
import { neverSeen } from "./explain.js";
import { count, plural, short } from "./format.js";
import { stripWords } from "./outcomes.js";

/** Rows and columns at most: beyond, the grid holds the part in view. */
export const TABLE_LIMIT = 30;

/** @param {string} id of the explorer @param {{i: number, j: number, strip?: number}} cell units */
export function cellId(id, { i, j, strip }) {
  return strip === undefined ? `${id}-${i}-${j}` : `${id}-${i}-strip-${strip}`;
}

/**
 * Rows of a grid, each with its cells.
 * @param {import("./panes.js").Pane} pane @param {import("./panes.js").Frame} frame
 * @param {number[]} rows units in view @param {number[]} cols
 * @param {{id: string, selection: {i: number, j: number, strip?: number}|null}} explorer
 * @returns {Element[]}
 */
export function gridRows(pane, frame, rows, cols, { id, selection }) {
  const c = cols.slice(0, TABLE_LIMIT);
  const named = (/** @type {string} */ role, /** @type {string} */ text) => h("span", { role }, text);
  const cell = (/** @type {{i: number, j: number, strip?: number}} */ at, /** @type {string} */ words) => h("span", {
    role: "gridcell",
    id: cellId(id, at),
    "aria-selected": String(selection?.i === at.i && selection?.j === at.j && selection?.strip === at.strip),
  }, words);
  const strips = pane.strips.map((strip, k) => ({ ...strip, k }));
  const answers = strips.filter((strip) => strip.side === "answer");
  const noClass = (/** @type {string} */ name) => `${name} (no class)`;
  const header = h("div", { role: "row" }, named("columnheader", "true \\ predicted"), ...c.map((v) => named("columnheader",
    frame.units[v].label)), ...answers.map(({ name }) => named("columnheader", noClass(name))));
  const body = rows.slice(0, TABLE_LIMIT).map((u) => h("div", { role: "row" }, named("rowheader", frame.units[u].label),
    ...c.map((v) => cell({ i: u, j: v }, cellWords(pane, frame, u, v))),
    ...answers.map((strip) => cell({ i: u, j: u, strip: strip.k }, stripWords(pane, strip, u)))));
  const below = strips.filter((strip) => strip.side === "background").map((strip) => h("div", { role: "row" }, named("rowheader",
    noClass(strip.name)), ...c.map((v) => cell({ i: v, j: v, strip: strip.k }, stripWords(pane, strip, v)))));
  return [header, ...body, ...below];
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

/** What a reader hears when a cell is selected. @param {import("./panes.js").Pane} pane @param {import("./panes.js").Frame} frame @param {{kind: string, i: number, j: number, strip?: number}} selection units */
export function spoken(pane, frame, selection) {
  const { units } = frame;
  const strip = selection.strip === undefined ? null : pane.strips[selection.strip];
  if (strip && selection.kind === "row")
  return `true ${units[selection.i].label}, answer ${strip.name}, no class: ${stripWords(pane, strip, selection.i)}`;
  if (strip) return `label ${strip.name}, no class, predicted ${units[selection.j].label}: ${stripWords(pane, strip, selection.j)}`;
  if (selection.kind === "row")
  return `true class ${units[selection.i].label}, ${plural(pane.labelCounts[selection.i], "sample")}`;
  if (selection.kind === "col")
  return `predicted class ${units[selection.j].label}, ${plural(pane.predictionCounts[selection.j], "prediction")}`;
  const at = selection.i * frame.n + selection.j;
  const value = neverSeen(pane, frame.n, selection.i, selection.j) ? "never seen" : short(pane.values[at]);
  const ratio = pane.method === "counts" && pane.kind === "value" ? "" : `, ${pane.name} ${value}`;
  return `true ${units[selection.i].label}, predicted ${units[selection.j].label}: ${plural(pane.counts[at], "sample")}${ratio}`;
}
