// The estimated bi-normalized matrix, from counts and a few numbers per class: as statistics/luce.py.

import { decodeArray } from "./arrays.js";

// Lanczos' approximation, for arguments above zero.
const LANCZOS = [676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905, -0.13857109526572012,
  9.9843695780195716e-6, 1.5056327351493116e-7];

/** The log of the gamma function. @param {number} x above zero @returns {number} */
export function logGamma(x) {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  const t = x + 6.5;
  const sum = LANCZOS.reduce((all, part, k) => all + part / (x + k), 0.99999999999980993);
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/** The expected confusions of pairs of classes. */
export class Estimate {
  /** @param {any} raw */
  constructor(raw) {
    const { shape, wide, wide_share: share, similar_share: similar, similar_times: times } = raw;
    this.raw = raw;
    this.rows = decodeArray(raw.rows);
    this.columns = decodeArray(raw.columns);
    this.unit = decodeArray(raw.unit);
    // What is expected of each class's correct predictions.
    this.hits = decodeArray(raw.hits);
    // The parts of the mixture; a pair that is wide is never shrunk by less than an ordinary one.
    this.parts = [
      { prior: (1 - similar) * (1 - share), times: 1, shape, shrunkBy: shape },
      { prior: (1 - similar) * share, times: 1, shape: wide, shrunkBy: Math.min(wide, shape) },
      { prior: similar, times, shape: wide, shrunkBy: wide },
    ].map((part) => ({ ...part, fixed: Math.log(part.prior) - logGamma(part.shape) }));
  }

  /** Whether a class has an estimate. @param {number} k */
  knows(k) {
    return !Number.isNaN(this.rows[k]);
  }

  /**
   * The posterior mean of a pair's total, and the shape that stands behind it.
   * @param {number} total in samples @param {number} mean that is expected
   */
  #total(total, mean) {
    const logs = this.parts.map(({ times, shape, fixed }) => fixed + logGamma(total + shape)
      + total * Math.log(times / (shape + times * mean)) - shape * Math.log1p(times * mean / shape));
    const most = Math.max(...logs);
    const odds = logs.map((log) => Math.exp(log - most));
    const sum = odds.reduce((all, one) => all + one);
    let [value, shape] = [0, 0];
    this.parts.forEach(({ times, shrunkBy }, k) => {
      value += odds[k] / sum * times * mean * (total + shrunkBy) / (times * mean + shrunkBy);
      shape += odds[k] / sum * shrunkBy;
    });
    return { value, shape };
  }

  /**
   * What two classes are expected to have, in both directions, and how far their similarity is known.
   * @param {number} i @param {number} j @param {number} there count from i to j @param {number} back
   */
  pair(i, j, there, back) {
    const { background, concentration, least } = this.raw;
    const [x, y] = [there / this.unit[i], back / this.unit[j]];
    const [forward, reverse] = [this.rows[i] * this.columns[j] / this.unit[i], this.rows[j] * this.columns[i] / this.unit[j]];
    const mean = forward + reverse;
    const seen = x + y;
    if (seen === 0 && Math.max(forward, reverse) < least) return { there: this.unit[i] * forward, back: this.unit[j] * reverse, split: null };
    const total = this.#total(seen, mean / background);
    const a = x + concentration * forward / mean;
    const b = y + concentration * reverse / mean;
    return { there: this.unit[i] * total.value * a / (a + b), back: this.unit[j] * total.value * b / (a + b),
      split: { a, b, seen, value: total.value, shape: total.shape } };
  }

  /**
   * The similarity of two classes with its interval; null where there is none.
   * @param {number} i @param {number} j @param {[number, number]} counts there and back
   * @param {number} z normal quantile
   */
  similarity(i, j, [there, back], z) {
    if (!this.knows(i) || !this.knows(j)) return null;
    const { split } = this.pair(i, j, there, back);
    if (!split) return null;
    const { a, b, seen } = split;
    const hits = [i, j].map((k) => this.hits[k] / this.unit[k]);
    const scale = Math.sqrt(a * b) / (a + b) / Math.sqrt(hits[0] * hits[1]);
    const others = (a - b) ** 2 / (4 * a * b * (a + b + 1)) + 0.25 * (1 / hits[0] + 1 / hits[1]);
    const value = scale * split.value;
    const spread = 1 / (seen + split.shape) + others;
    return { value, low: quantile(value, spread, -z), high: Math.max(quantile(value, spread, z),
      quantile(scale * (seen + 1), 1 / (seen + 1) + others, z)) };
  }
}

/** Of a gamma distribution (Wilson and Hilferty). @param {number} mean @param {number} variance relative @param {number} z */
function quantile(mean, variance, z) {
  const error = Math.min(Math.sqrt(variance), 1.5 * Math.abs(z));
  return mean * Math.max(1 - error ** 2 / 9 + z * error / 3, 0) ** 3;
}
