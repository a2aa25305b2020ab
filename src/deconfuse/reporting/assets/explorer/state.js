// What the reader has chosen: defaults, the link in the address bar, and telling who listens.

import { METHODS, isGeometric } from "./model.js";
import { ORDERS } from "./order.js";

/** Samples that a cell may be asked to have. */
export const LEAST = ["0", "2", "5", "10", "20", "50", "100"];

/**
 * @typedef {object} State
 * @property {string} method shown matrix
 * @property {string} beside second matrix beside it, or ""
 * @property {string} model number of the model, "difference" of the first two, or "difference-2" and so on
 * @property {string} order
 * @property {string} scale "linear" or "log"
 * @property {string} diagonal "shown" or "hidden"
 * @property {string} least samples of a cell that is drawn
 * @property {number[]} collapsed branch ids
 * @property {{kind: "cell"|"row"|"col", i: number, j: number, strip?: number}|null} selection class indices; with a strip, an
 *   answer that is no class in the row, or such a label in the column
 * @property {import("./viewport.js").Viewport|null} view null: all classes
 * @property {string} theme "auto", "light" or "dark"
 * @property {number|null} near class of very many that is shown with its nearest, as the directory counts
 */

/**
 * The state a study opens with.
 * @param {{n: number, models: unknown[], similarityOrder: unknown}} study
 * @returns {State}
 */
export function defaultState(study) {
  return {
    method: "bi",
    beside: "",
    // Of several the last is diagnosed, and the sentence on top is about it.
    model: study.models.length === 2 ? "difference" : String(study.models.length - 1),
    order: study.n >= 60 && study.similarityOrder ? "similarity" : "given",
    scale: "linear",
    diagonal: "shown",
    least: "0",
    collapsed: [],
    selection: null,
    view: null,
    theme: "auto",
    near: null,
  };
}

/**
 * What is seen where a link does not say it: as the page opens, and once classes stand elsewhere or
 * one of them is selected, all of them.
 * @param {State} state @param {State} defaults
 */
function usualView(state, defaults) {
  const moved = state.near !== null || state.selection || state.collapsed.length > 0 || state.order !== defaults.order;
  return moved ? null : defaults.view;
}

/** @param {State["view"]} view */
function viewText(view) {
  return view ? [view.x, view.y, view.span].map((v) => Number(v.toFixed(2))).join("_") : "all";
}

/**
 * The parts of a state that differ from the defaults, as a URL hash without "#".
 * @param {State} state @param {State} defaults
 */
export function writeHash(state, defaults) {
  const parts = new URLSearchParams();
  for (const key of /** @type {const} */ (["method", "beside", "model", "order", "scale", "diagonal", "least", "theme"])) {
    if (state[key] !== defaults[key]) parts.set(key, state[key]);
  }
  if (state.collapsed.length > 0) parts.set("groups", state.collapsed.join("."));
  const { selection, view } = state;
  if (state.near !== null) parts.set("near", String(state.near));
  const further = selection?.kind === "cell" ? selection.j : selection?.strip;
  if (selection) parts.set(selection.kind, [selection.i, further].filter((k) => k !== undefined).join("."));
  const said = viewText(view);
  if (said !== viewText(usualView(state, defaults))) parts.set("view", said);
  return parts.toString();
}

/**
 * Read a hash; whatever makes no sense for this study is left at its default.
 * @param {string} hash with or without "#"
 * @param {State} defaults
 * @param {{n: number, nBranches: number, methods: string[], models: number, strips?: string[], nearby?: (k: number) => number}} limits
 *   `strips`: the side of each strip of outcomes;
 *   `nearby`: how many classes stand beside one of very many, 0 where there is no such class
 * @returns {State}
 */
export function readHash(hash, defaults, limits) {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { ...defaults };
  const pick = (/** @type {string} */ key, /** @type {string[]} */ allowed, /** @type {string} */ otherwise) => {
    const value = parts.get(key);
    return value !== null && allowed.includes(value) ? value : otherwise;
  };
  const methods = limits.methods;
  state.method = pick("method", methods, defaults.method);
  state.beside = pick("beside", ["", ...methods], defaults.beside);
  state.order = pick("order", ORDERS, defaults.order);
  state.scale = pick("scale", ["linear", "log"], defaults.scale);
  state.diagonal = pick("diagonal", ["shown", "hidden"], defaults.diagonal);
  state.least = pick("least", LEAST, defaults.least);
  state.theme = pick("theme", ["auto", "light", "dark"], defaults.theme);
  state.model = pick("model", modelChoices(limits.models), defaults.model);
  const near = Number(parts.get("near") ?? NaN);
  const beside = Number.isInteger(near) && near >= 0 ? limits.nearby?.(near) ?? 0 : 0;
  if (beside > 0) state.near = near;
  const n = beside || limits.n;
  const inside = (/** @type {number} */ k) => Number.isInteger(k) && k >= 0 && k < n;
  for (const kind of /** @type {const} */ (["cell", "row", "col"])) {
    const [i, j] = (parts.get(kind) ?? "").split(".").map((text) => (text === "" ? NaN : Number(text)));
    if (kind === "cell" ? !inside(i) || !inside(j) : !inside(i)) continue;
    state.selection = { kind, i, j: kind === "cell" ? j : i };
    const side = kind === "row" ? "answer" : "background";
    if (kind !== "cell" && state.near === null && limits.strips?.[j] === side) state.selection.strip = j;
  }
  const groups = (parts.get("groups") ?? "").split(".").filter((text) => text !== "").map(Number);
  if (groups.every((id) => Number.isInteger(id) && id >= limits.n && id < limits.n + limits.nBranches)) {
    state.collapsed = groups;
  }
  const said = parts.get("view") ?? "";
  const view = said.split("_").map(Number);
  state.view = said === "all" ? null : usualView(state, defaults);
  if (view.length === 3 && view.every(Number.isFinite) && view[2] > 0) {
    state.view = { x: view[0], y: view[1], span: view[2] };
  }
  return state;
}

/** What a reader can choose among so many models: each, and the difference of each to the first. @param {number} count */
export function modelChoices(count) {
  const each = Array.from({ length: count }, (_, k) => String(k));
  return [...each, ...each.slice(1).map((k) => (k === "1" ? "difference" : `difference-${k}`))];
}

/** The methods a study can show. @param {{geometry: {matrices: object}|null, models: any[]}} study */
export function methodsOf(study) {
  const geometric = study.geometry ? Object.keys(study.geometry.matrices).map((w) => `gcm-${w}`) : [];
  return [...METHODS, ...("bi-epsilon" in study.models[0].scalings ? ["bi-epsilon"] : []), ...geometric];
}

/**
 * What "geometry" shows first, null where a study has no geometric matrix: embeddings of many
 * classes have points alone.
 * @param {{geometry: {matrices: object}|null, models: any[]}} study
 */
export function geometryOf(study) {
  const geometric = methodsOf(study).filter(isGeometric);
  return geometric.find((method) => method === "gcm-bi") ?? geometric[0] ?? null;
}

/** The state of one explorer and its listeners; nothing is shared between two on a page. */
export class Store {
  /** @param {State} state */
  constructor(state) {
    this.state = state;
    /** @type {((state: State, before: State) => void)[]} */
    this.listeners = [];
  }

  /** @param {Partial<State>} change */
  set(change) {
    const before = this.state;
    this.state = { ...before, ...change };
    for (const listener of this.listeners) listener(this.state, before);
  }

  /** @param {(state: State, before: State) => void} listener */
  listen(listener) {
    this.listeners.push(listener);
  }
}
