// Payload -> a study: classes, and for each model its counts and cell values, computed on demand.

import { decodeArray, indexOfSorted, marginsOf } from "./arrays.js";
import { Estimate } from "./estimate.js";
import { readOutcomes, stripKinds } from "./outcomes.js";

/** The version of the payload that this explorer reads. */
export const SCHEMA_VERSION = 2;

/** Normalizations in the order of the buttons and of the keys 1 to 5. */
export const METHODS = ["counts", "row", "col", "all", "bi"];

/** What each view adds up to, said wherever it is shown. */
export const SUMS = {
  counts: "number of samples",
  row: "each row sums to 1: where the samples of a true class go",
  col: "each column sums to 1: what a prediction is made of",
  all: "all cells together sum to 1",
  bi: "every row and every column sums to 1: label and prediction shares taken out; estimated",
  "bi-epsilon": "the definition of bi: counts plus epsilon, every row and every column sums to 1",
};

/** Whether a method comes from the embeddings. @param {string} method */
export function isGeometric(method) {
  return method.startsWith("gcm-");
}

/**
 * @typedef {object} Scaling
 * @property {number} epsilon
 * @property {Float64Array} left
 * @property {Float64Array} right
 * @property {string} status
 * @property {number|null} residual
 */

/** One confusion matrix: sparse counts, the diagonals, and dense cell values made when asked for. */
export class Model {
  /** @param {any} raw @param {number} n @param {number} bucket index of the "other" class or -1 */
  constructor(raw, n, bucket) {
    this.name = raw.name;
    this.n = n;
    this.total = raw.total;
    this.samples = raw.n_samples;
    this.outcomes = readOutcomes(raw.outcomes);
    this.weighted = raw.weighted;
    this.scores = raw.scores;
    this.bucket = bucket;
    this.cells = decodeArray(raw.cells);
    this.counts = Float64Array.from(decodeArray(raw.counts));
    this.labelCounts = new Float64Array(n);
    this.predictionCounts = new Float64Array(n);
    for (let k = 0; k < this.cells.length; k++) {
      this.labelCounts[Math.floor(this.cells[k] / n)] += this.counts[k];
      this.predictionCounts[this.cells[k] % n] += this.counts[k];
    }
    /** @type {Record<string, Scaling>} */
    this.scalings = {};
    for (const [method, scaling] of Object.entries(raw.scalings)) {
      this.scalings[method] = {
        ...scaling,
        left: decodeArray(scaling.left),
        right: decodeArray(scaling.right),
      };
    }
    this.estimate = raw.estimate ? new Estimate(raw.estimate) : null;
    this.bucketValues = raw.bucket_values;
    this.intervals = raw.intervals;
    this.attribution = raw.attribution && {
      label: decodeArray(raw.attribution.label),
      prediction: decodeArray(raw.attribution.prediction),
      base: raw.attribution.base,
    };
    const { classes } = raw;
    this.classes = {
      ...classes,
      bias: decodeArray(classes.bias),
      biasLow: decodeArray(classes.bias_low),
      biasHigh: decodeArray(classes.bias_high),
    };
    /** @type {Map<string, Float64Array|Float32Array>} */
    this.cache = new Map();
  }

  /** @param {number} i @param {number} j */
  count(i, j) {
    const k = indexOfSorted(this.cells, i * this.n + j);
    return k < 0 ? 0 : this.counts[k];
  }

  /** @param {string} method @param {number} i @param {number} j */
  value(method, i, j) {
    return this.dense(method)[i * this.n + j];
  }

  /** The importance weight of the samples of one cell. @param {string} method @param {number} i @param {number} j */
  weight(method, i, j) {
    const scaling = this.scalings[method];
    return scaling ? scaling.left[i] * scaling.right[j] : 1;
  }

  /** @param {string} method */
  epsilon(method) {
    return this.scalings[method]?.epsilon ?? 0;
  }

  /**
   * All cells of one normalization, row by row.
   * @param {string} method
   * @returns {Float32Array | Float64Array}
   */
  dense(method) {
    const known = this.cache.get(method);
    if (known) return known;
    const values = method === "counts" ? this.#denseCounts() : method === "expected" ? this.#expected() : this.#scaled(method);
    this.cache.set(method, values);
    return values;
  }

  #denseCounts() {
    const values = new Float64Array(this.n * this.n);
    for (let k = 0; k < this.cells.length; k++) values[this.cells[k]] = this.counts[k];
    return values;
  }

  /** Whether cells without samples hold more than nothing: epsilon, or an estimate. @param {string} method */
  invents(method) {
    return this.epsilon(method) > 0 || (method === "bi" && this.estimate !== null);
  }

  // Counts as they are where a class has no estimate, and in the bucket.
  /** @returns {Float64Array} */
  #expected() {
    const { n, estimate } = this;
    const counts = this.dense("counts");
    const values = Float64Array.from(counts);
    if (!estimate) return values;
    for (let i = 0; i < n; i++) {
      if (!estimate.knows(i)) continue;
      values[i * n + i] = estimate.hits[i];
      for (let j = i + 1; j < n; j++) {
        if (!estimate.knows(j)) continue;
        const pair = estimate.pair(i, j, counts[i * n + j], counts[j * n + i]);
        values[i * n + j] = pair.there;
        values[j * n + i] = pair.back;
      }
    }
    return values;
  }

  /** @param {string} method @returns {Float64Array} */
  #scaled(method) {
    const { epsilon, left, right } = this.scalings[method];
    const { n } = this;
    if (method === "bi" && this.estimate) {
      const values = Float64Array.from(this.dense("expected"), (value, k) => left[Math.floor(k / n)] * value * right[k % n]);
      if (this.bucket >= 0) this.#fillBucket(values, method);
      return values;
    }
    const values = new Float64Array(n * n);
    for (let i = 0, k = 0; i < n; i++) {
      const invented = left[i] * epsilon;
      for (let j = 0; j < n; j++, k++) values[k] = invented * right[j];
    }
    for (let k = 0; k < this.cells.length; k++) {
      const cell = this.cells[k];
      values[cell] += left[Math.floor(cell / n)] * this.counts[k] * right[cell % n];
    }
    if (this.bucket >= 0) this.#fillBucket(values, method);
    return values;
  }

  // The bucket pools classes with diagonals of their own, so its cells come ready from Python.
  /** @param {Float64Array} values @param {string} method */
  #fillBucket(values, method) {
    const { n, bucket } = this;
    const row = decodeArray(this.bucketValues[method].row);
    const col = decodeArray(this.bucketValues[method].col);
    for (let k = 0; k < n; k++) {
      values[k * n + bucket] = col[k];
      values[bucket * n + k] = row[k];
    }
  }

  /**
   * The interval of one cell, or null where the page carries none.
   * @param {string} method @param {number} i @param {number} j
   * @returns {[number, number]|null}
   */
  interval(method, i, j) {
    const table = this.intervals?.[method];
    if (!table) return null;
    table.lows ??= decodeArray(table.low);
    table.highs ??= decodeArray(table.high);
    this.intervals.at ??= decodeArray(this.intervals.cells);
    const k = indexOfSorted(this.intervals.at, i * this.n + j);
    return k < 0 || Number.isNaN(table.highs[k]) ? null : [table.lows[k], table.highs[k]];
  }

  /** @param {string} method */
  margins(method) {
    return marginsOf(this.dense(method), this.n);
  }
}

/** A geometric confusion matrix, dressed as a method of a model. @param {any} geometry @param {number} n */
function readGeometry(geometry, n) {
  if (!geometry) return null;
  /** @type {Record<string, Float64Array>} */
  const matrices = {};
  for (const [weighting, encoded] of Object.entries(geometry.matrices)) {
    matrices[weighting] = Float64Array.from(decodeArray(encoded));
    if (matrices[weighting].length !== n * n) throw new Error("a geometric matrix has another size");
  }
  const points = geometry.points && {
    x: decodeArray(geometry.points.x),
    y: decodeArray(geometry.points.y),
    true: decodeArray(geometry.points.true),
    pred: decodeArray(geometry.points.pred),
    total: geometry.points.total,
  };
  return { ...geometry, matrices, points };
}

/** Classes that wait in the bucket: their sizes, and what each is called. @param {any} directory */
function readDirectory(directory) {
  if (!directory) return null;
  const offsets = decodeArray(directory.called_offsets);
  const at = decodeArray(directory.called_at);
  const counts = decodeArray(directory.called_counts);
  return {
    labels: directory.labels,
    total: directory.total,
    label_counts: decodeArray(directory.label_counts),
    prediction_counts: decodeArray(directory.prediction_counts),
    right: decodeArray(directory.right),
    scalings: directory.scalings,
    estimate: directory.estimate,
    /** @param {number} k shown classes first, then these */
    called: (k) => Array.from(at.subarray(offsets[k], offsets[k + 1]), (other, m) => ({ at: other, count: counts[offsets[k] + m] })),
  };
}

/** @param {any} comparison */
function readComparison(comparison) {
  if (!comparison) return null;
  return {
    ...comparison,
    at: decodeArray(comparison.cells),
    pValues: decodeArray(comparison.p_values),
    difference: comparison.difference && decodeArray(comparison.difference),
  };
}

/**
 * @param {any} payload
 */
export function readStudy(payload) {
  if (payload.schema_version !== SCHEMA_VERSION) {
    throw new Error(
      `this explorer reads payloads of version ${SCHEMA_VERSION}, this one has ${payload.schema_version}`,
    );
  }
  const n = payload.labels.length;
  const bucket = payload.bucket ? n - 1 : -1;
  const models = payload.models.map((/** @type {any} */ raw) => new Model(raw, n, bucket));
  const geometry = readGeometry(payload.geometry, n);
  if (geometry) {
    for (const [weighting, values] of Object.entries(geometry.matrices)) {
      models[0].cache.set(`gcm-${weighting}`, values);
    }
  }
  return {
    ...payload,
    n,
    bucketIndex: bucket,
    models,
    strips: stripKinds(models, payload.outcomes),
    geometry,
    // By model, null where a model comes without.
    samples: models.map((/** @type {Model} */ model, /** @type {number} */ k) => (k === 0 ? payload.samples :
      payload.other_samples[model.name]) ?? null),
    comparison: readComparison(payload.comparison),
    directory: readDirectory(payload.directory),
    similarityOrder: payload.similarity_order ? decodeArray(payload.similarity_order) : null,
    linkage: payload.linkage ? decodeArray(payload.linkage) : null,
  };
}
