// The right-hand panel: everything about the selected cell or class, with its company.

import { dotChart, ideaPicture, waterfallChart } from "./charts.js";
import { h, nameText } from "./dom.js";
import { biasOf, companyOf, partsOf, similarityOf, trustOf, trustSentence, valueWords, waterfallOf } from "./explain.js";
import { count, isolate, percent, plain, plural, short, signed, times } from "./format.js";
import { METHODS, isGeometric } from "./model.js";
import { pValueOf } from "./panes.js";
import { samplesSection } from "./samples.js";

/**
 * @typedef {object} Context
 * @property {any} study
 * @property {import("./panes.js").Frame} frame
 * @property {import("./panes.js").Pane} pane the main pane
 * @property {import("./state.js").State} state
 * @property {"light"|"dark"} theme
 * @property {(selection: any) => void} select
 */

/** The model whose numbers are shown. @param {Context} context */
export function shownModel({ study, pane }) {
  return study.models[pane.model];
}

/** @param {Context} context @returns {Node[]} */
export function inspectorContent(context) {
  const { state, frame } = context;
  if (!state.selection) return introduction(context);
  const { kind, i, j } = state.selection;
  const unit = frame.unitOf[i];
  const other = frame.unitOf[j];
  if (kind === "cell") return cellContent(context, unit, other);
  return classContent(context, kind === "row" ? unit : other, kind);
}

/** @param {Context} context */
function introduction({ theme, study }) {
  const twoModels = study.models.length > 1;
  return [
    h("h2", {}, "How to read this"),
    h("p", {},
      "Counts mix three things: how alike two classes are, how often a class occurs, and how often the model says it."
      ),
    ideaPicture(theme),
    h("p", {}, h("b", {}, "bi-normalized"),
      " divides the last two out: every row and every column then sums to 1. What still stands out off the diagonal is a pair that looks alike."
      ),
    twoModels && h("p", {},
      `Green cells are more in ${isolate(study.models[1].name)}, purple less than in ${isolate(study.models[0].name)}; pale ones may be chance.`
      ),
    study.comparison && overlapLine(study.comparison),
    h("p", { class: "soft" },
      "Hatched: rests on few samples or on epsilon. A dot: nothing counted. Crossed out: the class has no samples."
      ),
    h("p", { class: "soft" }, "Click a cell, a row or a column. Press ", h("kbd", {}, "?"), " for the keys."),
  ].filter((node) => node instanceof Node);
}

/** @param {{overlap: number, overlap_interval: [number, number]|null}} comparison */
function overlapLine({ overlap, overlap_interval: ends }) {
  const range = ends ? ` (${short(ends[0])} to ${short(ends[1])} without noise)` : "";
  return h("p", {}, "Overlap of the two ", h("b", {}, short(overlap)), range, ", where 1 is the same.");
}

/** @param {import("./groups.js").Unit} unit @param {any} study */
function members(unit, study) {
  if (unit.members.length === 1) return null;
  const names = unit.members.map((k) => study.labels[k]);
  return h("details", { class: "members" }, h("summary", {}, `group of ${unit.members.length} classes`), h("p", {},
    ...names.flatMap((name, k) => [k ? ", " : "", nameText(name)])));
}

/** @param {Context} context @param {number} i @param {number} j units */
function cellContent(context, i, j) {
  const { study, frame, pane, state } = context;
  const { n, units } = frame;
  const model = shownModel(context);
  const single = n === study.n;
  const at = i * n + j;
  const counted = pane.counts[at];
  const labels = pane.labelCounts[i];
  const predictions = pane.predictionCounts[j];
  const rows = METHODS.slice(1).map((method) => {
    const value = single ? model.value(method, i, j) : NaN;
    const interval = single ? model.interval(method, i, j) : null;
    return { name: method, value, interval, note: Number.isNaN(value) ? "never seen" : "", strong: method ===
        state.method };
  }).filter(() => single);
  const words = valueWords(model, rows.some((row) => row.interval !== null));
  const trust = trustOf(pane, n, i, j, study.limits);
  const names = { true: isolate(units[i].label), pred: isolate(units[j].label) };
  const reason = (/** @type {number} */ unit) => (pane.poor[unit] ? model.classes.reasons[units[unit].members[0]] :
    "");
  const warning = trustSentence(trust, { count: counted, epsilon: pane.epsilon, labels: pane.unseen[i] ? 0 : labels, reasons: [reason(i), reason(
      j)] }, names, short);
  return [
    h("h2", {}, h("span", { class: "soft" }, "true "), nameText(units[i].label), h("br"), h(
    "span", { class: "soft" }, "predicted "), nameText(units[j].label)),
    h("p", { class: "lead" }, h("b", { class: "number" }, count(counted)),
      ` ${counted === 1 ? "sample" : "samples"}`,
      h("span", { class: "soft" }, ` of ${count(labels)} true, ${count(predictions)} predicted${study.models.length > 1 ? `, in ${isolate(model.name)}` : ""}`)),
    warning && h("p", { class: "warning" }, warning),
    members(units[i], study), i !== j && members(units[j], study),
    rows.length > 0 && h("h3", {}, words.title),
    rows.length > 0 && dotChart(rows, words.title),
    rows.length > 0 && words.note && h("p", { class: "soft" }, words.note),
    ...differenceLines(context, i, j),
    single && ["row", "col", "all", "bi"].includes(state.method) && h("p", { class: "soft" },
      `Each of these samples weighs ${short(model.weight(state.method, i, j))} in ${state.method}.`),
    ...partsSection(model, i, j, single && i !== j),
    ...geometryLine(context, i, j),
    i !== j && reverseLine(context, i, j),
    single && i !== j && similarityLine(study, model, i, j),
    ...samplesSection(study, pane, single ? [i] : units[i].members, single ? [j] : units[j].members),
  ].filter((node) => node instanceof Node);
}

/** @param {any} model @param {number} i @param {number} j @param {boolean} shown */
function partsSection(model, i, j, shown) {
  const parts = shown ? partsOf(model, i, j) : null;
  if (!parts) return [];
  const epsilon = model.epsilon("bi");
  const ends = epsilon > 0 ? `The last bar is the count plus epsilon, ${short(epsilon)}.` : "";
  return [h("h3", {}, "Why this many"), waterfallChart(waterfallOf(parts)), ends && h("p", { class: "soft" }, ends)];
}

/** @param {Context} context @param {number} i @param {number} j */
function differenceLines({ study, frame, pane }, i, j) {
  if (study.models.length < 2 || frame.n !== study.n) return [];
  // Only the first model has embeddings: beside geometry the two are compared by what is closest to it.
  const geometric = isGeometric(pane.method);
  const [a, b] = study.models.map((/** @type {any} */ model) => model.value(geometric ? "bi" : pane.method, i, j));
  const p = pValueOf(study, i, j);
  const size = p < 1e-15 ? "below 10⁻¹⁵" : plain(p);
  const verdict = Number.isNaN(p) ? "" : p < study.comparison.level ? `, significant (corrected p ${size})` :
    `, may be chance (corrected p ${size})`;
  return [
    h("h3", {}, "Two models", geometric && h("span", { class: "soft" }, " in bi")),
    h("p", {}, nameText(study.models[0].name), ` ${short(a)} `, h("span", { class: "soft" },
        `(${count(study.models[0].count(i, j))})`), " → ", nameText(study.models[1].name), ` ${short(b)} `,
      h("span", { class: "soft" }, `(${count(study.models[1].count(i, j))})`), `: ${signed(b - a)}`, geometric || pane.method === "bi" ? verdict :
      ""),
  ];
}

/** @param {Context} context @param {number} i @param {number} j */
function geometryLine({ study, frame }, i, j) {
  if (!study.geometry || frame.n !== study.n) return [];
  const values = Object.entries(study.geometry.matrices).map(([weighting, matrix]) =>
    `${weighting} ${short(matrix[i * study.n + j], 2)}`);
  return [h("p", {}, h("span", { class: "soft" }, "shared space of the embeddings: "), values.join(" · "))];
}

/** @param {Context} context @param {number} i @param {number} j */
function reverseLine(context, i, j) {
  const { frame, pane, select } = context;
  const at = j * frame.n + i;
  return h("p", { class: "reverse" },
    h("span", { class: "soft" }, "The other way: "),
    h("button", { class: "link", onclick: () => select({ kind: "cell", i: frame.units[j].members[0], j: frame.units[
            i].members[0] }) },
      nameText(frame.units[j].label), " → ", nameText(frame.units[i].label)),
    `: ${plural(pane.counts[at], "sample")}`, pane.method === "counts" ? "" :
    `, ${pane.name} ${short(pane.values[at])}`);
}

/** @param {any} study @param {any} model @param {number} i @param {number} j classes */
function similarityLine(study, model, i, j) {
  if (i === study.bucketIndex || j === study.bucketIndex) return null;
  const pair = similarityOf(model, i, j, study.limits.quantile);
  if (!pair) return null;
  const range = Number.isNaN(pair.low) ? "" : ` (${plain(pair.low)} to ${plain(pair.high)})`;
  return h("p", { class: "alike" }, h("span", { class: "soft" }, "How alike the two are, both ways: "), h("b", {}, plain(
    pair.value)), h("span", { class: "soft" }, `${range}, where 1 is not told apart.`));
}

/** @param {any} model @param {number} k class */
function biasLine(model, k) {
  const { ratio, interval, word } = biasOf(model, k);
  if (!word) return null;
  const range = Number.isNaN(ratio) ? "" :
    ` ${times(ratio)} (${short(interval[0], 2)} to ${short(interval[1], 2)}), if all classes were equally frequent`;
  return h("p", {}, h("b", {}, word), h("span", { class: "soft" }, range));
}

/** @param {Context} context @param {number} k unit @param {"row"|"col"} kind */
function classContent(context, k, kind) {
  const { study, frame, pane, select } = context;
  const { units, n } = frame;
  const labels = pane.labelCounts[k];
  const predictions = pane.predictionCounts[k];
  const right = pane.counts[k * n + k];
  let total = 0;
  for (const value of pane.labelCounts) total += value;
  const model = shownModel(context);
  const single = units[k].members.length === 1;
  const own = units[k].members[0];
  const values = pane.kind === "difference" ? pane.counts : pane.values;
  const list = (/** @type {"row"|"col"} */ side, /** @type {string} */ title) => {
    const company = companyOf(values, pane.counts, n, k, side, 6);
    if (company.length === 0) return [h("h3", {}, title), h("p", { class: "soft" }, "none counted")];
    const most = company[0].value;
    return [h("h3", {}, title), h("ul", { class: "company" }, ...company.map(({ unit, value, count: c }) => {
      const fill = h("span", { class: "fill" });
      fill.style.width = `${(100 * value) / most}%`;
      const go = () => select({ kind: "cell", i: units[side === "row" ? k : unit].members[0], j: units[
          side === "row" ? unit : k].members[0] });
      return h("li", {}, h("button", { class: "plain", onclick: go }, fill, nameText(units[unit].label), h(
        "span", { class: "number" }, pane.method === "counts" || pane.kind === "difference" ? "" :
        short(value, 2), h("span", { class: "soft" }, ` ${count(c)}`))));
    }))];
  };
  return [
    h("h2", {}, h("span", { class: "soft" }, kind === "row" ? "true " : "predicted "), nameText(units[k].label)),
    members(units[k], study),
    h("table", { class: "facts" }, h("tbody", {},
      h("tr", {}, h("th", {}, "labels"), h("td", { class: "number" }, count(labels)), h(
      "td", { class: "number soft" }, percent(labels / total))),
      h("tr", {}, h("th", {}, "predictions"), h("td", { class: "number" }, count(predictions)), h(
      "td", { class: "number soft" }, percent(predictions / total))),
      h("tr", {}, h("th", {}, "right"), h("td", { class: "number" }, count(right)), h(
      "td", { class: "number soft" }, labels > 0 ? `${percent(right / labels)} of labels` : "–")))),
    single && biasLine(model, own),
    single && model.classes.reasons[own] && h("p", { class: "warning" },
      `Read with care: ${model.classes.reasons[own]}.`),
    ...list("row", `Samples of it are called (${pane.kind === "difference" ? "counts" : pane.name})`),
    ...list("col", `What is called so (${pane.kind === "difference" ? "counts" : pane.name})`),
    ...samplesSection(study, pane, units[k].members, units[k].members),
  ].filter((node) => node instanceof Node);
}
