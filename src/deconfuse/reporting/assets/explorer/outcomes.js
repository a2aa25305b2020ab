// Answers that are no class: one strip of counts and shares beside the square per outcome and side.

import { decodeArray } from "./arrays.js";
import { brief, count, percent, plural } from "./format.js";

/**
 * @typedef {object} Strip one outcome along the units
 * @property {"answer"|"background"} side whether it was answered instead of a class, or was the label
 * @property {number} outcome position among the outcomes of the study
 * @property {string} name
 * @property {Float64Array} counts
 * @property {Float64Array} totals samples of each true class, or predictions of each class
 * @property {Float64Array} shares counts / totals; of a difference, the second share minus the first
 */

/** The outcomes of one model by side and position. @param {any[]} raw */
export function readOutcomes(raw) {
  return new Map(raw.map((part) => [`${part.side} ${part.outcome}`, {
    side: part.side,
    outcome: part.outcome,
    counts: decodeArray(part.counts),
    low: decodeArray(part.low),
    high: decodeArray(part.high),
    others: decodeArray(part.others),
  }]));
}

/** The strips that any model has: answers first, then labels. @param {any[]} models @param {string[]} names */
export function stripKinds(models, names) {
  return /** @type {const} */ (["answer", "background"]).flatMap((side) => names.flatMap((name, outcome) =>
    models.some((model) => model.outcomes.has(`${side} ${outcome}`)) ? [{ side, outcome, name }] : []));
}

/** The strip that a finding speaks of. @param {any} study @param {number[]} cell outcomes counted after the classes */
export function stripAt(study, [i, j]) {
  const [side, outcome] = j >= study.n ? ["answer", j - study.n] : ["background", i - study.n];
  return study.strips.findIndex((/** @type {any} */ strip) => strip.side === side && strip.outcome === outcome);
}

/**
 * @param {any} study @param {any} model @param {import("./panes.js").Frame} frame
 * @param {{rows: ArrayLike<number>, cols: ArrayLike<number>}} sums of the square
 * @returns {Strip[]}
 */
export function stripsOf(study, model, frame, sums) {
  const strips = study.strips.map((/** @type {any} */ { side, outcome, name }) => {
    const own = model.outcomes.get(`${side} ${outcome}`)?.counts;
    const counts = Float64Array.from(frame.units, (unit) => (own ? unit.members.reduce((sum, k) => sum + own[k], 0) : 0));
    return { side, outcome, name, counts };
  });
  const totals = { answer: Float64Array.from(sums.rows), background: Float64Array.from(sums.cols) };
  for (const { side, counts } of strips) counts.forEach((/** @type {number} */ value, /** @type {number} */ unit) => (totals[/** @type {Strip["side"]} */ (side)][unit] += value));
  return strips.map((/** @type {any} */ strip) => {
    const own = totals[/** @type {Strip["side"]} */ (strip.side)];
    return { ...strip, totals: own, shares: strip.counts.map((/** @type {number} */ value, /** @type {number} */ unit) => value / own[unit]) };
  });
}

/** The strips of a difference. @param {Strip[]} strips @param {Strip[]} before */
export function stripChanges(strips, before) {
  return strips.map((strip, k) => ({ ...strip, shares: strip.shares.map((share, unit) => share - before[k].shares[unit]) }));
}

/** What stands in a cell of a strip, and below it. @param {import("./panes.js").Pane} pane @param {Strip} strip @param {number} unit @returns {[string, string]} */
export function stripText(pane, strip, unit) {
  const share = strip.shares[unit];
  if (pane.kind === "difference") return [`${share > 0 ? "+" : share < 0 ? "−" : ""}${percent(Math.abs(share))}`, ""];
  if (strip.counts[unit] === 0) return [strip.totals[unit] > 0 ? "0" : "–", ""];
  return pane.method === "counts" ? [brief(strip.counts[unit]), ""] : [percent(share), brief(strip.counts[unit])];
}

/** The same in words. @param {import("./panes.js").Pane} pane @param {Strip} strip @param {number} unit */
export function stripWords(pane, strip, unit) {
  const of = plural(strip.totals[unit], strip.side === "answer" ? "sample" : "prediction");
  const share = stripText({ ...pane, method: "row" }, strip, unit)[0];
  return `${count(strip.counts[unit])} of ${of}, ${share}${pane.kind === "difference" ? " of difference" : ""}`;
}
