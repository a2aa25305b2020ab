// The right-hand panel: everything about the selected cell or class, with its company.

import { dotChart, waterfallChart } from "./charts.js";
import { h, nameText } from "./dom.js";
import { biasOf, companyOf, partsOf, similarityOf, trustOf, trustSentence, valueWords, waterfallOf } from "./explain.js";
import { count, isolate, percent, plain, plural, short, signed, withInterval } from "./format.js";
import { isGeometric } from "./model.js";
import { stripText } from "./outcomes.js";
import { methodName, pValueOf } from "./panes.js";
import { samplesSection } from "./samples.js";
import { methodsOf } from "./state.js";

/**
 * @typedef {object} Context
 * @property {any} study
 * @property {import("./panes.js").Frame} frame
 * @property {import("./panes.js").Pane} pane the main pane
 * @property {import("./state.js").State} state
 * @property {(selection: any) => void} select
 * @property {Map<number, import("./groups.js").Branch>} given groups that the report was given
 * @property {(branch: {id: number, collapsed: boolean}) => void} toggle collapse or open a group
 */

/** The model whose numbers are shown. @param {Context} context */
export function shownModel({ study, pane }) {
  return study.models[pane.model];
}

/** What is known of a selection. @param {Context} context @param {NonNullable<import("./state.js").State["selection"]>} selection @returns {Node[]} */
export function inspectorContent(context, { kind, i, j, strip }) {
  const { frame } = context;
  const unit = frame.unitOf[i];
  const other = frame.unitOf[j];
  const chosen = strip === undefined ? undefined : context.pane.strips[strip];
  if (chosen) return outcomeContent(context, chosen, unit);
  if (kind === "cell") return cellContent(context, unit, other);
  return classContent(context, kind === "row" ? unit : other, kind);
}

/** @param {{overlap: number, overlap_interval: [number, number]|null}} comparison */
export function overlapLine({ overlap, overlap_interval: ends }) {
  const range = ends ? ` (${short(ends[0])} to ${short(ends[1])} without noise)` : "";
  return h("p", {}, "Overlap of the two ", h("b", {}, short(overlap)), range, ", where 1 is the same.");
}

/** The classes of a group with a way to open it, or the group of a class with a way to collapse it. @param {Context} context @param {import("./groups.js").Unit} unit */
function members({ study, given, toggle }, unit) {
  const act = (/** @type {number} */ id, /** @type {boolean} */ collapsed, /** @type {string} */ text) => h("button", {
    class: "link", "data-control": "group", onclick: () => toggle({ id, collapsed }) }, text);
  if (unit.members.length === 1 && unit.id < study.n) {
    const own = [...given.values()].find((branch) => branch.members.includes(unit.id));
    return own ? h("p", { class: "soft" }, "of ", nameText(own.name ?? ""), " ", act(own.id, false, "collapse")) : null;
  }
  const names = unit.members.map((k) => study.labels[k]);
  return h("details", { class: "members" }, h("summary", {}, `group of ${plural(unit.members.length, "class")}`), h("p", {},
    ...names.flatMap((name, k) => [k ? ", " : "", nameText(name)])), act(unit.id, true, "open this group"));
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
  const rows = methodsOf(study).filter((method) => method !== "counts" && !isGeometric(method)).map((method) => {
    const value = single ? model.value(method, i, j) : NaN;
    const interval = single ? model.interval(method, i, j) : null;
    return { name: methodName(method), value, interval, note: Number.isNaN(value) ? "never seen" : "", strong: method ===
        state.method };
  }).filter(() => single);
  const words = valueWords(model, rows.some((row) => row.interval !== null));
  const trust = trustOf(pane, n, i, j, study.limits);
  const names = { true: isolate(units[i].label), pred: isolate(units[j].label) };
  const warning = trustSentence(trust, { count: counted, epsilon: pane.epsilon, labels: pane.unseen[i] ? 0 : labels, reasons: [rowReason(pane, model, i, units), columnReason(pane,
      model, j, units)] }, names, short);
  return [
    h("h2", {}, h("span", { class: "soft" }, "true "), nameText(units[i].label), h("br"), h(
    "span", { class: "soft" }, "predicted "), nameText(units[j].label)),
    h("p", { class: "lead" }, h("b", { class: "number" }, count(counted)),
      ` ${counted === 1 ? "sample" : "samples"}`,
      h("span", { class: "soft" }, ` of ${count(labels)} true, ${count(predictions)} predicted${study.models.length > 1 ? `, in ${isolate(model.name)}` : ""}`)),
    warning && h("p", { class: "warning" }, warning),
    members(context, units[i]), i !== j && members(context, units[j]),
    rows.length > 0 && h("h3", {}, words.title),
    rows.length > 0 && dotChart(rows, words.title),
    rows.length > 0 && words.note && h("p", { class: "soft" }, words.note),
    ...differenceLines(context, i, j),
    single && ["row", "col", "all", "bi-epsilon"].includes(state.method) && h("p", { class: "soft" },
      `Each of these samples weighs ${short(model.weight(state.method, i, j))} in ${methodName(state.method)}.`),
    ...partsSection(model, i, j, single && i !== j),
    ...geometryLine(context, i, j),
    i !== j && reverseLine(context, i, j),
    single && i !== j && similarityLine(study, model, i, j),
    ...samplesSection(study, pane, single ? [i] : units[i].members, single ? [j] : units[j].members),
  ].filter((node) => node instanceof Node);
}

/**
 * Why a row is to be read with care; what epsilon does is said where it is added.
 * @param {import("./panes.js").Pane} pane @param {any} model @param {number} unit @param {import("./groups.js").Unit[]} units
 */
function rowReason(pane, model, unit, units) {
  if (!pane.poor.rows[unit]) return "";
  return pane.epsilon > 0 ? model.classes.reasons[units[unit].members[0]] : `it has ${plural(pane.labelCounts[unit], "label")}`;
}

/**
 * The same of a column.
 * @param {import("./panes.js").Pane} pane @param {any} model @param {number} unit @param {import("./groups.js").Unit[]} units
 */
function columnReason(pane, model, unit, units) {
  if (!pane.poor.cols[unit]) return "";
  return pane.epsilon > 0 ? model.classes.reasons[units[unit].members[0]] : `it has ${plural(pane.predictionCounts[unit], "prediction")}`;
}

/** @param {any} model @param {number} i @param {number} j @param {boolean} shown */
function partsSection(model, i, j, shown) {
  const parts = shown ? partsOf(model, i, j) : null;
  if (!parts) return [];
  return [h("h3", {}, "Why this many"), waterfallChart(waterfallOf(parts))];
}

/** @param {Context} context @param {number} i @param {number} j */
function differenceLines({ study, frame, pane }, i, j) {
  if (study.models.length < 2 || frame.n !== study.n) return [];
  // Only the first model has embeddings: beside geometry the two are compared by what is closest to it.
  const geometric = isGeometric(pane.method);
  const compared = [study.models[0], study.models[pane.model || 1]];
  const [a, b] = compared.map((/** @type {any} */ model) => model.value(geometric ? "bi" : pane.method, i, j));
  const bi = geometric || pane.method === "bi";
  const tested = compared[1] === study.models[1];
  // Where one model has an estimate of more classes, the difference is that of the classes of both.
  const shared = bi && tested && study.comparison?.difference;
  const change = shared ? shared[i * study.n + j] : b - a;
  const told = Number.isNaN(change) ? "no difference, as one of them never has a class or never predicts it" :
    `${signed(change)}${shared ? " among the classes of both" : ""}`;
  const p = tested && !Number.isNaN(change) ? pValueOf(study, i, j) : NaN;
  const size = p < 1e-15 ? "below 10⁻¹⁵" : plain(p);
  const verdict = Number.isNaN(p) ? "" : p < study.comparison.level ? `, significant (corrected p ${size})` :
    `, may be chance (corrected p ${size})`;
  return [
    h("h3", {}, "Two models", geometric && h("span", { class: "soft" }, " in bi")),
    h("p", {}, nameText(compared[0].name), ` ${short(a)} `, h("span", { class: "soft" },
        `(${count(compared[0].count(i, j))})`), " → ", nameText(compared[1].name), ` ${short(b)} `,
      h("span", { class: "soft" }, `(${count(compared[1].count(i, j))})`), `: ${told}`, bi ? verdict : ""),
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
  const told = Number.isNaN(pair.low) ? plain(pair.value) : withInterval(pair.value, pair.low, pair.high);
  const [value, range] = told.split(/(?= \()/);
  return h("p", { class: "alike" }, h("span", { class: "soft" }, "How alike the two are, both ways: "), h("b", {}, value),
    h("span", { class: "soft" }, `${range ?? ""}, where 1 is not told apart${pair.high > 1 || pair.value > 1 ?
    " and more is mistaken more often than recognized" : ""}.`));
}

/** @param {any} model @param {number} k class */
function biasLine(model, k) {
  const { ratio, interval, word } = biasOf(model, k);
  if (!word) return null;
  const range = Number.isNaN(ratio) ? "" : ` ×${withInterval(ratio, ...interval)}, ${model.classes.condition}`;
  return h("p", {}, h("b", {}, word), h("span", { class: "soft" }, range));
}

/** A share with its interval, and that of all other classes. @param {any} model @param {import("./outcomes.js").Strip} strip @param {number} k class */
function shareLines(model, strip, k) {
  const own = model.outcomes.get(`${strip.side} ${strip.outcome}`);
  if (!own || Number.isNaN(own.low[k])) return [];
  return [h("p", {}, h("b", {}, percent(strip.counts[k] / strip.totals[k])), h("span", { class: "soft" },
    ` (${percent(own.low[k])} to ${percent(own.high[k])}); all other classes together ${percent(own.others[k])}`))];
}

/** What is known of an answer that is no class. @param {Context} context @param {import("./outcomes.js").Strip} strip @param {number} unit */
function outcomeContent(context, strip, unit) {
  const { study, frame, pane } = context;
  const { label, members: classes } = frame.units[unit];
  const model = shownModel(context);
  const answer = strip.side === "answer";
  const at = study.n + strip.outcome;
  const of = plural(strip.totals[unit], answer ? "sample" : "prediction");
  const whose = study.models.length > 1 ? `, in ${isolate(model.name)}` : "";
  const names = [h("span", { class: "soft" }, answer ? "true " : "predicted "), nameText(label)];
  const outcome = [h("span", { class: "soft" }, answer ? "answer " : "label "), nameText(strip.name)];
  return [
    h("h2", {}, ...(answer ? names : outcome), h("br"), ...(answer ? outcome : names)),
    h("p", { class: "lead" }, h("b", { class: "number" }, count(strip.counts[unit])), h("span", { class: "soft" }, ` of ${of}${whose}`)),
    ...(classes.length === 1 ? shareLines(model, { ...strip }, unit) : []),
    pane.kind === "difference" && h("p", {}, `Difference of the shares: ${stripText(pane, strip, unit)[0]}`),
    h("p", { class: "soft" }, answer ? "This answer names no class. It is counted beside the matrix and changes no cell of it." :
      "Nothing of a class was there. Such predictions are counted beside the matrix and change no cell of it."),
    ...samplesSection(study, pane, answer ? classes : [at], answer ? [at] : classes),
  ].filter((node) => node instanceof Node);
}

/** The outcomes of a class, each a way to its samples. @param {Context} context @param {number} unit @param {"row"|"col"} kind */
function outcomeList({ pane, frame, select }, unit, kind) {
  const own = pane.strips.map((strip, k) => ({ ...strip, k })).filter(({ side }) => side === (kind === "row" ? "answer" : "background"));
  if (own.length === 0) return [];
  const [k] = frame.units[unit].members;
  return [h("h3", {}, kind === "row" ? "Answers that are no class" : "Predicted where nothing was there"), h("ul", { class: "company" },
    ...own.map((strip) => h("li", {}, h("button", { class: "plain", onclick: () => select({ kind, i: k, j: k, strip: strip.k }) },
      nameText(strip.name), h("span", { class: "number" }, stripText({ ...pane, method: "row" }, strip, unit)[0],
        h("span", { class: "soft" }, ` ${count(strip.counts[unit])}`))))))];
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
  const care = rowReason(pane, model, k, units) || columnReason(pane, model, k, units);
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
    members(context, units[k]),
    h("table", { class: "facts" }, h("tbody", {},
      h("tr", {}, h("th", {}, "labels"), h("td", { class: "number" }, count(labels)), h(
      "td", { class: "number soft" }, percent(labels / total))),
      h("tr", {}, h("th", {}, "predictions"), h("td", { class: "number" }, count(predictions)), h(
      "td", { class: "number soft" }, percent(predictions / total))),
      h("tr", {}, h("th", {}, "right"), h("td", { class: "number" }, count(right)), h(
      "td", { class: "number soft" }, labels > 0 ? `${percent(right / labels)} of labels` : "–")))),
    single && biasLine(model, own),
    single && care && h("p", { class: "warning" }, `Read with care: ${care}.`),
    ...outcomeList(context, k, kind),
    ...list("row", `Samples of it are called (${pane.kind === "difference" ? "counts" : pane.name})`),
    ...list("col", `What is called so (${pane.kind === "difference" ? "counts" : pane.name})`),
    ...samplesSection(study, pane, units[k].members, units[k].members),
  ].filter((node) => node instanceof Node);
}
