// One cell or class -> the facts a reader needs: parts, company, and how far to trust it.

import { count } from "./format.js";
import { isGeometric } from "./model.js";

/** Why a cell should be read with care. */
export const TRUST = {
  FINE: "",
  UNSEEN: "unseen",
  NONE: "none",
  FEW: "few",
  THIN: "thin",
};

/**
 * Whether a value says nothing: the true class has no sample, or the value does not exist.
 * @param {import("./panes.js").Pane} pane @param {number} n @param {number} i @param {number} j units
 */
export function neverSeen(pane, n, i, j) {
  return pane.unseen[i] === 1 || Number.isNaN(pane.values[i * n + j]);
}

/**
 * @param {import("./panes.js").Pane} pane @param {number} n @param {number} i @param {number} j units
 * @param {{few_samples: number}} limits
 */
export function trustOf(pane, n, i, j, limits) {
  if (neverSeen(pane, n, i, j)) return TRUST.UNSEEN;
  if (pane.method === "counts" || isGeometric(pane.method) || pane.kind === "difference") return TRUST.FINE;
  const counted = pane.counts[i * n + j];
  if (counted === 0) return pane.invented ? TRUST.NONE : TRUST.FINE;
  if (counted < limits.few_samples) return TRUST.FEW;
  return pane.poor.rows[i] || pane.poor.cols[j] ? TRUST.THIN : TRUST.FINE;
}

/**
 * Sentences for the inspector.
 * @param {string} trust
 * @param {{count: number, epsilon: number, labels: number, reasons: [string, string]}} facts reasons of the true and the predicted class
 * @param {{true: string, pred: string}} names
 * @param {(value: number) => string} number text of a value that is no count
 */
export function trustSentence(trust, facts, names, number) {
  if (trust === TRUST.UNSEEN) {
    return facts.labels === 0 ?
      `There is no sample of ${names.true}: this row says nothing.` :
      `${names.pred} is never predicted: this value does not exist.`;
  }
  if (trust === TRUST.NONE) {
    return facts.epsilon > 0 ?
      `No sample was counted here: the value comes from epsilon alone (${number(facts.epsilon)} added to every cell).` :
      "No sample was counted here: the value is an estimate, from what other classes show.";
  }
  if (trust === TRUST.FEW) return `Only ${count(facts.count)} counted here: too few samples to say more.`;
  if (trust === TRUST.THIN) {
    const [own, other] = facts.reasons;
    return own ? `Read the row of ${names.true} with care: ${own}.` :
      `Read the column of ${names.pred} with care: ${other}.`;
  }
  return "";
}

/**
 * What stands over and under the values of a cell: with many classes the page carries the intervals
 * of the cells where something was counted, and with very many none.
 * @param {any} model @param {boolean} known whether this cell has intervals
 */
export function valueWords(model, known) {
  if (known) return { title: "Value and 95 % interval", note: "" };
  if (!model.intervals) return { title: "Value", note: "Intervals are not computed above 1,000 classes." };
  return { title: "Value", note: "With this many classes the page has intervals of the larger counts only." };
}

/**
 * How alike two classes are, whichever way they are confused, with its interval: what the findings
 * speak of.
 * @param {any} model @param {number} i @param {number} j classes @param {number} z normal quantile
 * @returns {{value: number, low: number, high: number}|null}
 */
export function similarityOf(model, i, j, z) {
  return model.estimate?.similarity(i, j, [model.count(i, j), model.count(j, i)], z) ?? null;
}

/**
 * Split of an observed count: even share × similarity × labels × predictions, exactly.
 * @param {any} model @param {number} i @param {number} j classes
 * @returns {{base: number, similarity: number, label: number, prediction: number, observed: number}|null}
 */
export function partsOf(model, i, j) {
  if (!model.attribution) return null;
  const { label, prediction, base } = model.attribution;
  const observed = model.count(i, j);
  const parts = { base, label: label[i], prediction: prediction[j] };
  const similarity = observed / (base * parts.label * parts.prediction);
  if (![similarity, parts.label, parts.prediction].every((v) => Number.isFinite(v) && v > 0)) return null;
  return { ...parts, similarity, observed };
}

/**
 * The same as bars of a waterfall on a log axis, ending at the observed count.
 * @param {NonNullable<ReturnType<typeof partsOf>>} parts
 */
export function waterfallOf(parts) {
  let level = parts.base;
  const steps = [];
  for (const name of /** @type {const} */ (["similarity", "label", "prediction"])) {
    const next = level * parts[name];
    steps.push({ name, factor: parts[name], from: level, to: next });
    level = next;
  }
  return { start: parts.base, steps, end: parts.observed };
}

/**
 * What one class is mixed with, most first.
 * @param {ArrayLike<number>} values @param {ArrayLike<number>} counts
 * @param {number} n @param {number} k unit @param {"row"|"col"} side @param {number} limit
 */
export function companyOf(values, counts, n, k, side, limit) {
  const company = [];
  for (let other = 0; other < n; other++) {
    if (other === k) continue;
    const at = side === "row" ? k * n + other : other * n + k;
    if (counts[at] > 0 && values[at] > 0) company.push({ unit: other, value: values[at], count: counts[at] });
  }
  return company.sort((a, b) => b.value - a.value || a.unit - b.unit).slice(0, limit);
}

/**
 * Over- or under-prediction of a class, as diagnosed.
 * @param {any} model @param {number} k class
 */
export function biasOf(model, k) {
  const { bias, biasLow, biasHigh, verdicts } = model.classes;
  const words = { over: "over-predicted", under: "under-predicted",
  even: "predicted as often as it should be", "never seen": "never a label", "never answered": "never answered with a class", "never predicted": "never predicted",
    "never right": "never recognized" };
  return {
    ratio: bias[k],
    interval: /** @type {[number, number]} */ ([biasLow[k], biasHigh[k]]),
    word: words[ /** @type {keyof typeof words} */ (verdicts[k])] ?? "",
  };
}
