// State -> what is drawn: the units in their order, and for each pane its values, scales and margins.

import { indexOfSorted, marginsOf } from "./arrays.js";
import { reaching, scaleOf } from "./color.js";
import { normalizeUnits, sumUnits, unitsOf } from "./groups.js";
import { classMetrics } from "./metrics.js";
import { SUMS, isGeometric } from "./model.js";
import { orderOf } from "./order.js";
import { stripChanges, stripsOf } from "./outcomes.js";

/**
 * @typedef {object} Frame the classes as they stand on the axes
 * @property {import("./groups.js").Unit[]} units
 * @property {number} n
 * @property {number[]} order unit at each place
 * @property {Int32Array} place of each unit
 * @property {Int32Array} unitOf unit of each class
 * @property {number} bucket unit that stands for all classes not shown, -1 without
 */

/**
 * @param {any} study @param {Map<number, any>} branches @param {import("./state.js").State} state
 * @param {Frame} [before] with the same groups: only the order is new
 * @returns {Frame}
 */
export function frameOf(study, branches, state, before) {
  const model = study.models[modelOf(state.method, state.model)];
  const sizes = study.models[0].labelCounts;
  const units = before?.units ?? unitsOf(study.labels, branches, state.collapsed, sizes);
  const unitOf = new Int32Array(study.n);
  units.forEach((unit, u) => unit.members.forEach((k) => (unitOf[k] = u)));
  const sum = (/** @type {number[]} */ members) => members.reduce((total, k) => total + sizes[k], 0);
  const similarity = study.similarityOrder && [...new Set(Array.from(study.similarityOrder, (k) => unitOf[k]))];
  const bucket = study.bucketIndex < 0 ? -1 : unitOf[study.bucketIndex];
  const order = orderOf(state.order, {
    labels: units.map((unit) => unit.label),
    sizes: units.map((unit) => sum(unit.members)),
    similarity,
    last: bucket,
    metrics: () => metricsOf(model, units, valuesOf(model, "counts", { units, n: units.length })),
  });
  const place = new Int32Array(units.length);
  order.forEach((u, at) => (place[u] = at));
  return { units, n: units.length, order, place, unitOf, bucket };
}

/**
 * Metrics of the units. The bias of a class is the one that findings tell, which leaves out classes that are never recognized.
 * @param {any} model @param {import("./groups.js").Unit[]} units @param {ArrayLike<number>} counts
 * @param {{rows: Float64Array, cols: Float64Array}} [sums] of rows and columns, where there are more cells than these
 */
function metricsOf(model, units, counts, sums) {
  const metrics = classMetrics(counts, units.length, sums);
  units.forEach(({ members }, u) => {
    if (members.length === 1) metrics.bias[u] = model.classes.bias[members[0]];
  });
  return metrics;
}

/**
 * @typedef {object} Pane
 * @property {"value"|"difference"} kind
 * @property {string} method
 * @property {number} model whose counts these are; of a difference the second
 * @property {string} name of the method, and of the model when there are two
 * @property {string[]} names of the models
 * @property {string} sums what rows and columns add up to
 * @property {ArrayLike<number>} values by unit, row by row
 * @property {ArrayLike<number>} counts
 * @property {import("./color.js").Scale} diagonal
 * @property {import("./color.js").Scale} off
 * @property {Float64Array} rows share of each row
 * @property {Float64Array} cols
 * @property {{rows: Float64Array, cols: Float64Array}|null} reference shares of the other model
 * @property {number} longest share that fills a margin bar
 * @property {Uint8Array|null} faded 1 where a difference is not significant
 * @property {Float64Array} labelCounts
 * @property {Float64Array} predictionCounts
 * @property {number} epsilon of a single class cell
 * @property {boolean} invented whether cells without samples hold epsilon or an estimate
 * @property {Uint8Array} unseen 1 for true classes without a sample, of either model in a difference
 * @property {{rows: Uint8Array, cols: Uint8Array}} poor 1 for rows and columns that rest on few samples
 * @property {Uint8Array|null} hidden 1 for cells that the reader has filtered out
 * @property {{rows: number, cols: number}} even share of each row and column, were all the same
 * @property {() => ReturnType<typeof classMetrics>} metrics of the units
 * @property {import("./outcomes.js").Strip[]} strips answers that are no class: beside the rows, then below the columns
 */

/**
 * The model that a pane shows; of a difference the one that is compared with the first. Embeddings,
 * and so the geometric matrices, are those of the first.
 * @param {string} method @param {string} model
 */
export function modelOf(method, model) {
  if (isGeometric(method)) return 0;
  return Number(model.replace(/^difference-?/, "") || (model === "difference" ? 1 : 0));
}

/** @param {string} method */
export function methodName(method) {
  if (method === "bi-epsilon") return "bi + ε";
  return isGeometric(method) ? `geometry, ${method.slice(4)}` : method;
}

/** What rows and columns add up to. @param {string} method @param {number} n number of classes */
export function sumsOf(method, n) {
  if (!isGeometric(method)) return SUMS[ /** @type {keyof typeof SUMS} */ (method)];
  // Volumes have the unit of the embeddings: each matrix comes with the total of its normalization.
  const total = method === "gcm-all" ? "1" : `${n}, the number of classes`;
  return `how much space of the embeddings a true class shares with a predicted class; all cells together sum to ${total}`;
}

/** @param {any} model @param {string} method @param {{n: number, units: import("./groups.js").Unit[]}} frame */
function valuesOf(model, method, frame) {
  if (frame.n === model.n) return model.dense(method);
  if (isGeometric(method)) return sumUnits(model.dense(method), model.n, frame.units);
  const masses = sumUnits(model.dense(method === "bi" ? "expected" : "counts"), model.n, frame.units);
  return normalizeUnits(method === "bi-epsilon" ? "bi" : method, masses, frame.units, model.epsilon(method));
}

/** @param {Float64Array} sums */
function shares(sums) {
  let total = 0;
  for (const sum of sums) total += sum;
  return total > 0 ? sums.map((sum) => sum / total) : sums;
}

/**
 * What scales and bars need, in one pass: the diagonal, the cells off it where something was
 * counted, their largest, and the margins.
 * @param {ArrayLike<number>} values @param {ArrayLike<number>|null} counts null: take all @param {number} n
 * @param {{least?: number, bucket?: number}} [leave] cells off the diagonal with fewer samples, and those of the bucket: it pools
 *   so many classes that it would set the scale
 */
function survey(values, counts, n, { least = 0, bucket = -1 } = {}) {
  const diagonal = new Float64Array(n);
  const off = [];
  const rows = new Float64Array(n);
  const cols = new Float64Array(n);
  let largest = 0;
  for (let i = 0, k = 0; i < n; i++) {
    let sum = 0;
    for (let j = 0; j < n; j++, k++) {
      const value = values[k];
      if (value !== value) continue;
      sum += value;
      cols[j] += value;
      if (i === j) diagonal[i] = value;
      else {
        if (counts && counts[k] < least) continue;
        if (value > largest) largest = value;
        if (value > 0 && (!counts || counts[k] > 0) && i !== bucket && j !== bucket) off.push(value);
      }
    }
    rows[i] = sum;
  }
  return { diagonal, off, rows, cols, largest };
}

// Off the diagonal a cell has its full colour from here on, where a quarter of everything is spread
// evenly over the errors; with few classes the largest of tiny errors would have it otherwise.
const ERRORS = 0.25;

/** Share of everything that such a cell holds. @param {number} n */
function evenError(n) {
  return n > 1 ? ERRORS / (n * (n - 1)) : 0;
}

/** Margins of the counts, the same for every normalization of a frame. @type {WeakMap<Frame, Map<string, any>>} */
const MARGINS = new WeakMap();

/** @param {Frame} frame @param {any} model @param {ArrayLike<number>} counts */
function countMargins(frame, model, counts) {
  if (frame.n === model.n) return { rows: model.labelCounts, cols: model.predictionCounts };
  const known = MARGINS.get(frame) ?? new Map();
  MARGINS.set(frame, known);
  if (!known.has(model.name)) known.set(model.name, marginsOf(counts, frame.n));
  return known.get(model.name);
}

/**
 * Rows and columns that rest on few samples: with epsilon those that Python grades poor, else those of few labels or
 * predictions, as far as the method divides by these.
 * @param {any} study @param {any} model @param {Frame} frame @param {string} method @param {{rows: Float64Array, cols: Float64Array}} sums
 */
function poorUnits(study, model, frame, method, sums) {
  if (model.epsilon(method) > 0) {
    const poor = Uint8Array.from(frame.units, (unit) => Number(unit.members.every((k) => model.classes.grades[k] === "poor")));
    return { rows: poor, cols: poor };
  }
  const few = (/** @type {Float64Array} */ own, /** @type {string[]} */ methods) => Uint8Array.from(own, (sum) => Number(methods.includes(method)
    && sum < study.limits.few_labels));
  return { rows: few(sums.rows, ["row", "bi"]), cols: few(sums.cols, ["col", "bi"]) };
}

/**
 * @param {any} study @param {Frame} frame
 * @param {{method: string, model: string, log: boolean, least?: number, diagonal?: string}} spec
 *   cells of fewer than `least` samples are not drawn, nor is a "hidden" diagonal
 * @returns {Pane}
 */
export function paneOf(study, frame, spec) {
  const { method, log } = spec;
  const difference = spec.model.startsWith("difference") && !isGeometric(method);
  const at = modelOf(method, spec.model);
  const model = study.models[at];
  const { n } = frame;
  const own = valuesOf(model, method, frame);
  const counts = method === "counts" ? own : valuesOf(model, "counts", frame);
  const raw = countMargins(frame, model, counts);
  const hidden = hiddenCells(counts, n, spec);
  const { bucket } = frame;
  const found = survey(own, isGeometric(method) ? null : counts, n, { least: spec.least, bucket });
  // The bucket holds most samples of very many classes, and would leave the bars of all others flat.
  const alone = (/** @type {Float64Array} */ sums) => shares(sums).filter((_, unit) => unit !== bucket);
  const longest = Math.max(...[raw.rows, raw.cols, found.rows, found.cols].map((sums) => alone(sums).reduce((most, share) =>
    Math.max(most, share), 0)));
  const seen = raw.rows.reduce((/** @type {number} */ sum, /** @type {number} */ labels) => sum + Number(labels > 0), 0);
  /** @type {ReturnType<typeof classMetrics>|null} */
  let metrics = null;
  const two = study.models.length > 1 ? ` · ${model.name}` : "";
  const strips = isGeometric(method) ? [] : stripsOf(study, model, frame, raw);
  const common = {
    method,
    model: at,
    names: study.models.map((/** @type {any} */ m) => m.name),
    counts,
    rows: shares(found.rows),
    cols: shares(found.cols),
    labelCounts: raw.rows,
    predictionCounts: raw.cols,
    longest,
    hidden,
    strips,
    even: { rows: 1 / n, cols: method === "row" ? 1 / seen : 1 / n },
    metrics: () => (metrics ??= metricsOf(model, frame.units, counts, raw)),
    epsilon: model.epsilon(method),
    invented: model.invents(method),
    unseen: Uint8Array.from(raw.rows, (labels) => Number(labels === 0)),
    poor: poorUnits(study, model, frame, method, raw),
  };
  if (!difference) {
    const off = reaching(scaleOf(found.off, { log }), found.rows.reduce((sum, row) => sum + row, 0) * evenError(n));
    off.max = found.largest;
    return {
      ...common,
      kind: "value",
      name: methodName(method) + two,
      sums: sumsOf(method, study.n),
      values: own,
      diagonal: scaleOf(found.diagonal, { log, robust: method === "counts" }),
      off,
      reference: null,
      faded: null,
    };
  }
  const other = valuesOf(study.models[0], method, frame);
  // Of other classes, the same cell is another number: then the difference is that of the shared ones.
  const shared = method === "bi" && at === 1 && n === study.n && study.comparison?.difference;
  const values = Float64Array.from(shared || own.map((/** @type {number} */ value, /** @type {number} */ k) => value - other[k]));
  // Cells that neither model counted hold what was not counted; being most, they would set the scale.
  const otherCounts = method === "counts" ? other : valuesOf(study.models[0], "counts", frame);
  const either = Float64Array.from(counts, (value, k) => value + otherCounts[k]);
  const sizes = survey(values.map(Math.abs), either, n, { bucket });
  const scale = scaleOf([...sizes.diagonal, ...sizes.off], { log });
  scale.max = Math.max(scale.max, sizes.largest);
  const before = marginsOf(other, n);
  const otherSums = countMargins(frame, study.models[0], otherCounts);
  return {
    ...common,
    kind: "difference",
    name: `${methodName(method)} · ${model.name} − ${study.models[0].name}`,
    sums: `difference of two matrices; ${sumsOf(method, study.n)}`,
    values,
    diagonal: scale,
    off: scale,
    unseen: common.unseen.map((mark, u) => mark || Number(otherSums.rows[u] === 0)),
    strips: stripChanges(strips, stripsOf(study, study.models[0], frame, otherSums)),
    reference: { rows: shares(before.rows), cols: shares(before.cols) },
    hidden: hiddenCells(either, n, spec),
    faded: at === 1 ? fadedCells(study, frame, method, values) : null,
  };
}

/**
 * Cells that are not drawn: of too few samples, and the diagonal where the reader wants none of it.
 * @param {ArrayLike<number>} counts @param {number} n @param {{least?: number, diagonal?: string}} spec
 */
function hiddenCells(counts, n, { least = 0, diagonal = "shown" }) {
  if (least === 0 && diagonal === "shown") return null;
  return Uint8Array.from(counts, (value, k) => Number(k % (n + 1) === 0 ? diagonal === "hidden" : value < least));
}

// Tests exist for the bi-normalized cells of single classes; elsewhere nothing is faded.
/** @param {any} study @param {Frame} frame @param {string} method @param {Float64Array} values */
function fadedCells(study, frame, method, values) {
  if (method !== "bi" || !study.comparison || frame.n !== study.n) return null;
  const { at, pValues, level } = study.comparison;
  const faded = new Uint8Array(values.length).fill(1);
  for (let k = 0; k < at.length; k++)
    if (pValues[k] < level) faded[at[k]] = 0;
  return faded;
}

/** Corrected p-value of a class cell, or NaN. @param {any} study @param {number} i @param {number} j */
export function pValueOf(study, i, j) {
  if (!study.comparison) return NaN;
  const k = indexOfSorted(study.comparison.at, i * study.n + j);
  return k < 0 ? NaN : study.comparison.pValues[k];
}
