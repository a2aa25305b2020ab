// Counts -> the numbers every classifier is asked for, as scikit-learn defines them.

import { marginsOf } from "./arrays.js";

/**
 * Recall, precision, F1, bias and size of each class.
 * @param {ArrayLike<number>} counts row by row @param {number} n
 * @param {{rows: Float64Array, cols: Float64Array}} [sums] of rows and columns, where there are more cells than these
 * @returns {{n: Float64Array, predictions: Float64Array, right: Float64Array, recall: Float64Array, precision: Float64Array, f1: Float64Array, bias: Float64Array}}
 *   NaN where there is nothing to divide by
 */
export function classMetrics(counts, n, sums) {
  const own = marginsOf(counts, n);
  const { rows: labels, cols: predictions } = sums ?? own;
  const right = Float64Array.from(labels, (_, k) => counts[k * n + k]);
  const bias = new Float64Array(n);
  // A sum over all rows needs all rows whole.
  const whole = labels.every((sum, k) => sum <= own.rows[k] * (1 + 1e-12));
  for (let i = 0, k = 0; i < n; i++) {
    for (let j = 0; j < n; j++, k++) if (labels[i] > 0) bias[j] += whole ? counts[k] / labels[i] : NaN;
  }
  return {
    n: labels,
    predictions,
    right,
    recall: right.map((value, k) => value / labels[k]),
    precision: right.map((value, k) => value / predictions[k]),
    f1: right.map((value, k) => (2 * value) / (labels[k] + predictions[k])),
    bias: bias.map((value, k) => (labels[k] > 0 ? value : NaN)),
  };
}
