// Keys -> changes of the state.

import { METHODS } from "./model.js";
import { ORDERS } from "./order.js";
import { geometryOf } from "./state.js";

/**
 * @param {KeyboardEvent} event
 * @param {import("./explorer.js").Explorer} explorer
 * @returns {boolean} whether the key meant something
 */
export function handleKey(event, explorer) {
  const { store, study, frame } = explorer;
  const { state } = store;
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const { key } = event;
  const geometric = geometryOf(study);
  if (key >= "1" && key <= "5") store.set({ method: METHODS[Number(key) - 1] });
  else if (key === "6" && geometric) store.set({ method: geometric });
  else if (key === "/") explorer.search.input.focus();
  else if (key === "?") explorer.showHelp();
  else if (key === "l") store.set({ scale: state.scale === "log" ? "linear" : "log" });
  else if (key === "o") {
    const orders = ORDERS.filter((order) => order !== "similarity" || study.similarityOrder);
    store.set({ order: orders[(orders.indexOf(state.order) + 1) % orders.length], view: null });
  } else if (key === "+" || key === "=") explorer.zoom({ u: 0.5, v: 0.5 }, 0.7);
  else if (key === "-") explorer.zoom({ u: 0.5, v: 0.5 }, 1 / 0.7);
  else if (key === "0") explorer.showAll();
  else if (key === "r" && state.selection?.kind === "cell") {
    explorer.select({ kind: "cell", i: state.selection.j, j: state.selection.i });
  } else if (key === "Enter" && state.selection) explorer.focusOn(state.selection);
  else if (key === "Escape") {
    if (state.selection) store.set({ selection: null });
    else explorer.showAll();
  } else if (key.startsWith("Arrow")) explorer.step(moved(state.selection, key, frame, study.strips));
  else return false;
  return true;
}

/**
 * The selection one step further; from nothing to the first cell.
 * @param {import("./state.js").State["selection"]} selection @param {string} key
 * @param {import("./panes.js").Frame} frame @param {{side: string}[]} [strips] of outcomes, beside the last column and below the last row
 * @returns {NonNullable<import("./state.js").State["selection"]>}
 */
export function moved(selection, key, frame, strips = []) {
  const first = (/** @type {number} */ at) => frame.units[frame.order[at]].members[0];
  if (!selection) return { kind: "cell", i: first(0), j: first(0) };
  const step = key === "ArrowDown" || key === "ArrowRight" ? 1 : -1;
  const answers = strips.filter(({ side }) => side === "answer").length;
  const limit = (/** @type {number} */ at, beyond = 0) => Math.max(0, Math.min(frame.n - 1 + beyond, at));
  let row = frame.place[frame.unitOf[selection.i]];
  let col = frame.place[frame.unitOf[selection.j]];
  const vertical = key === "ArrowDown" || key === "ArrowUp";
  if (selection.kind === "cell" || selection.strip !== undefined) {
    if (selection.strip !== undefined && selection.kind === "row") col = frame.n + selection.strip;
    if (selection.strip !== undefined && selection.kind === "col") row = frame.n + selection.strip - answers;
    // Beside and below the square stand the outcomes; in the corner between them there is nothing.
    if (vertical) row = limit(row + step, col < frame.n ? strips.length - answers : 0);
    else col = limit(col + step, row < frame.n ? answers : 0);
    if (col >= frame.n) return { kind: "row", i: first(row), j: first(row), strip: col - frame.n };
    if (row >= frame.n) return { kind: "col", i: first(col), j: first(col), strip: row - frame.n + answers };
    return { kind: "cell", i: first(row), j: first(col) };
  }
  if (selection.kind === "row" && vertical) row = col = limit(row + step);
  else if (selection.kind === "col" && !vertical) row = col = limit(col + step);
  else return { kind: "cell", i: first(row), j: first(col) };
  return { kind: selection.kind, i: first(row), j: first(col) };
}
