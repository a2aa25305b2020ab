// One class among very many -> a small study of it and the classes nearest to it.

import { decodeArray } from "./arrays.js";
import { Estimate } from "./estimate.js";
import { similarityOf } from "./explain.js";
import { Model } from "./model.js";

/** Classes of such a study. */
export const NEAREST = 24;

// Classes are numbered as the directory does: those shown first, without the bucket, then those of the directory.

/** @typedef {Map<number, number>[]} Links of each class to others, with their counts */

/** What every class is called, and what is called it. @param {any} study @returns {{out: Links, into: Links}} */
function linksOf(study) {
  if (study.links) return study.links;
  const { directory, n } = study;
  const shown = n - 1;
  const total = shown + directory.labels.length;
  const out = Array.from({ length: total }, () => new Map());
  const into = Array.from({ length: total }, () => new Map());
  const add = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ count) => {
    out[from].set(to, count);
    into[to].set(from, count);
  };
  const [model] = study.models;
  for (let k = 0; k < model.cells.length; k++) {
    const [i, j] = [Math.floor(model.cells[k] / n), model.cells[k] % n];
    if (i < shown && j < shown && i !== j) add(i, j, model.counts[k]);
  }
  for (let from = 0; from < total; from++) {
    for (const { at, count } of directory.called(from)) add(from, at, count);
  }
  study.links = { out, into };
  return study.links;
}

/**
 * A class and those nearest to it: the ones it is confused with, surely most alike first, then those
 * that these are confused with.
 * @param {any} study with a directory @param {number} k class
 * @returns {number[]} k first
 */
export function nearestTo(study, k) {
  const { out, into } = linksOf(study);
  const found = [k];
  const seen = new Set(found);
  const count = counterOf(study);
  const model = { count, estimate: new Estimate(estimateOf(study, null)) };
  for (let at = 0; at < found.length && found.length < NEAREST; at++) {
    const around = [...new Set([...out[found[at]].keys(), ...into[found[at]].keys()])].filter((other) => !seen.has(other));
    const sure = new Map(around.map((other) => {
      const alike = similarityOf(model, found[at], other, study.limits.quantile);
      return [other, alike ? alike.low : 0];
    }));
    around.sort((a, b) => Number(sure.get(b)) - Number(sure.get(a)) || a - b);
    for (const other of around.slice(0, NEAREST - found.length)) {
      found.push(other);
      seen.add(other);
    }
  }
  return found;
}

/**
 * Numbers of some classes: of the shown ones from the model, of the others from the directory.
 * @param {any} study @param {ArrayLike<number>} own @param {any} hidden @param {number[]|null} classes null: all
 */
function pick(study, own, hidden, classes) {
  const shown = study.n - 1;
  const rest = decodeArray(hidden);
  const take = (/** @type {number} */ k) => (k < shown ? own[k] : rest[k - shown]);
  return classes ? Float64Array.from(classes, take) : Float64Array.from({ length: shown + rest.length }, (_, k) => take(k));
}

/** What an estimate of some classes needs. @param {any} study @param {number[]|null} classes null: all */
function estimateOf(study, classes) {
  const { estimate } = study.models[0];
  const parts = Object.entries(study.directory.estimate).map(([name, hidden]) => [name, pick(study, estimate[name], hidden, classes)]);
  return { ...estimate.raw, ...Object.fromEntries(parts) };
}

/** @param {any} study @returns {(i: number, j: number) => number} */
function counterOf(study) {
  const { out } = linksOf(study);
  const shown = study.n - 1;
  return (i, j) => (i !== j ? out[i].get(j) ?? 0 : i < shown ? study.models[0].count(i, i) : study.directory.right[i - shown]);
}

/** @param {any} study @param {number} k class as the directory counts @returns {string} */
export function nameOf(study, k) {
  return k < study.n - 1 ? study.labels[k] : study.directory.labels[k - study.n + 1];
}

/**
 * A study of some classes alone, with the sums and the normalizations of the whole.
 * @param {any} study with a directory @param {number[]} classes
 */
export function studyOf(study, classes) {
  const { directory } = study;
  const [whole] = study.models;
  const n = classes.length;
  const count = counterOf(study);
  /** @type {number[]} */
  const cells = [];
  /** @type {number[]} */
  const counts = [];
  classes.forEach((i, row) => classes.forEach((j, col) => {
    const value = count(i, j);
    if (value > 0) {
      cells.push(row * n + col);
      counts.push(value);
    }
  }));
  const labels = pick(study, whole.labelCounts, directory.label_counts, classes);
  const predictions = pick(study, whole.predictionCounts, directory.prediction_counts, classes);
  const ones = new Float64Array(n).fill(1);
  const scaling = (/** @type {Float64Array} */ left, /** @type {Float64Array} */ right, epsilon = 0) => ({ epsilon, left, right,
    status: "converged", residual: /** @type {number|null} */ (null) });
  const balanced = Object.entries(directory.scalings).map(([method, { left, right }]) => {
    const own = whole.scalings[method];
    return [method, scaling(pick(study, own.left, left, classes), pick(study, own.right, right, classes), own.epsilon)];
  });
  const nothing = new Float64Array(n).fill(NaN);
  const model = new Model({
    name: whole.name, total: whole.total, n_samples: whole.samples, outcomes: [], weighted: whole.weighted, scores: whole.scores,
    cells: Uint32Array.from(cells), counts: Float64Array.from(counts),
    scalings: {
      row: scaling(labels.map((sum) => 1 / sum), ones), col: scaling(ones, predictions.map((sum) => 1 / sum)),
      all: scaling(ones.map(() => 1 / whole.total), ones),
      ...Object.fromEntries(balanced),
    },
    estimate: estimateOf(study, classes),
    intervals: null, attribution: null, bucket_values: null,
    classes: { bias: nothing, bias_low: nothing, bias_high: nothing, verdicts: classes.map(() => ""), grades: classes.map(() => "good"),
      reasons: classes.map(() => ""), condition: "" },
  }, n, -1);
  model.labelCounts = labels;
  model.predictionCounts = predictions;
  return { ...study, n, labels: classes.map((k) => nameOf(study, k)), bucket: null, bucketIndex: -1, directory: null, models: [model],
    strips: [], findings: [], groups: [], similarityOrder: null, linkage: null, samples: [null], geometry: null, comparison: null, short: undefined };
}
