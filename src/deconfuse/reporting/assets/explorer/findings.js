// The left-hand panel: what was found, a line each; a click opens the sentence and shows the cells.

import { h, nameText } from "./dom.js";
import { similarityOf } from "./explain.js";
import { count, cut, isolate, percent, plain, short, shownName, times } from "./format.js";
import { lettersOf, tellApart } from "./names.js";
import { stripAt } from "./outcomes.js";

// Letters of a name: two of a pair share a line.
const PAIR = 9;
const ALONE = 18;

// Lines of a kind that stand there at once, and on paper; the rest is one click away.
const SHOWN = 5;
const PRINTED = 40;

/**
 * @typedef {object} Line a finding as it is scanned
 * @property {string[]} names of its classes @property {string} between them
 * @property {string} value @property {number} share of the longest bar, 0 to 1, or NaN without a bar
 * @property {string} n samples behind it @property {string} tone "better", "worse" or ""
 * @property {boolean} [tall] the names need lines of their own
 */

// What the two numbers of a line are, and how the lines of a kind are ordered.
const HEADS = {
  look_alike: ["surest first", "similarity", "errors"],
  not_alike: ["most errors first", "similarity", "errors"],
  over_predicted: ["surest first", "predicted", "labels"],
  under_predicted: ["surest first", "predicted", "labels"],
  outcome: ["", "share", "samples"],
};

// Names of more classes than this cannot all differ in so few letters: those of a line do.
const ALL_APART = 60;

/**
 * Names of classes short enough for a line, and still different from others.
 * @param {any} study @param {number[]} classes @param {number} most letters of a name
 */
export function namesOf(study, classes, most = classes.length > 1 ? PAIR : ALONE) {
  // An ellipsis is as wide as two letters.
  const fits = (/** @type {string} */ text) => [...text].length + text.split("…").length - 1 <= most;
  if (study.n > ALL_APART) {
    study.letters ??= lettersOf(study.labels.filter((/** @type {string} */ _, /** @type {number} */ k) => k !== study.bucketIndex));
    return tellApart(classes.map((k) => study.labels[k]), fits, study.letters);
  }
  study.short ??= {};
  study.short[most] ??= tellApart(study.labels, fits);
  return classes.map((k) => study.short[most][k]);
}

/**
 * A class's bias as a line tells it: where the interval is wide, the end of it that is sure.
 * @param {any} model @param {number} k class @param {number} wide high end over low end
 */
function sureRatio({ classes }, k, wide) {
  if (!(classes.biasHigh[k] > wide * classes.biasLow[k])) return { mark: "", ratio: classes.bias[k] };
  return classes.verdicts[k] === "over" ? { mark: "≥ ", ratio: classes.biasLow[k] } : { mark: "≤ ", ratio: classes.biasHigh[k] };
}

/**
 * A finding in names and numbers; null where it is only a sentence.
 * @param {any} study @param {any} finding
 * @returns {Line|null}
 */
export function lineOf(study, finding) {
  const model = study.models.at(-1);
  const [cell] = finding.cells;
  if (finding.kind === "change" && cell) {
    const [i, j] = cell;
    const [before, after] = study.models.map((/** @type {any} */ m) => m.value("bi", i, j));
    return { names: namesOf(study, i === j ? [i] : [i, j]), between: "→", value: `${before.toFixed(2)} → ${after.toFixed(2)}`,
      share: NaN, n: "", tone: after > before === (i === j) ? "better" : "worse" };
  }
  if (finding.kind === "outcome" && cell) {
    const [k] = finding.classes;
    const { side, outcome, name } = study.strips[stripAt(study, cell)];
    const { counts } = model.outcomes.get(`${side} ${outcome}`);
    const others = [...model.outcomes.values()].reduce((sum, part) => sum + (part.side === side ? part.counts[k] : 0), 0);
    const share = counts[k] / (others + (side === "answer" ? model.labelCounts : model.predictionCounts)[k]);
    const names = [namesOf(study, [k, k])[0], cut(name, PAIR + 2)];
    return { names: side === "answer" ? names : names.reverse(), between: "→", value: percent(share), share, n: count(counts[k]), tone: "" };
  }
  if (finding.kind.endsWith("_predicted")) {
    const [k] = finding.classes;
    const { mark, ratio } = sureRatio(model, k, study.limits.wide_ratio);
    return { names: namesOf(study, [k]), between: "", value: mark + times(ratio), share: Math.min(1, Math.abs(Math.log(ratio)) / Math.log(4)),
      n: count(model.labelCounts[k]), tone: "" };
  }
  if (cell && cell[0] !== cell[1] && finding.classes.length === 2) {
    const [i, j] = finding.classes;
    const alike = similarityOf(model, i, j, study.limits.quantile);
    const names = namesOf(study, [i, j]);
    // Where so few letters cannot tell names apart, each has a line.
    const tall = names.some((name, k) => name.includes("·") && name !== study.labels[finding.classes[k]]);
    return { names: tall ? namesOf(study, [i, j], ALONE) : names, tall, between: "↔", value: alike ? plain(alike.value) : "", share: alike ? Math.min(1,
      alike.value) : NaN, n: count(model.count(i, j) + model.count(j, i)), tone: "" };
  }
  return null;
}

/**
 * All findings of the page by kind: those that come with a sentence, then the classes whose bias is
 * as certain but was not put in words.
 * @param {any} study
 * @returns {Map<string, any[]>}
 */
export function findingsByKind(study) {
  /** @type {Map<string, any[]>} */
  const kinds = new Map();
  for (const { name } of study.kinds) kinds.set(name, []);
  for (const finding of study.findings) kinds.set(finding.kind, [...(kinds.get(finding.kind) ?? []), finding]);
  const { classes } = study.models.at(-1);
  for (const verdict of ["over", "under"]) {
    const found = /** @type {any[]} */ (kinds.get(`${verdict}_predicted`));
    const told = new Set(found.map((finding) => finding.classes[0]));
    const rest = classes.verdicts.flatMap((/** @type {string} */ own, /** @type {number} */ k) => (own === verdict
      && !told.has(k) ? [k] : []));
    // As those with a sentence: by the end of the interval that is nearer to 1.
    const [sure, sign] = verdict === "over" ? [classes.biasLow, -1] : [classes.biasHigh, 1];
    rest.sort((/** @type {number} */ a, /** @type {number} */ b) => sign * (sure[a] - sure[b]) || a - b);
    const untold = { kind: `${verdict}_predicted`, cells: /** @type {number[][]} */ ([]), sentence: "", advice: "" };
    found.push(...rest.map((/** @type {number} */ k) => ({ ...untold, classes: [k] })));
  }
  for (const [kind, found] of kinds) if (found.length === 0) kinds.delete(kind);
  return kinds;
}

/**
 * @param {any} study
 * @param {(finding: any) => void} follow
 * @returns {Node[]}
 */
export function findingsContent(study, follow) {
  /** @type {Node[]} */
  const nodes = [];
  for (const [kind, found] of findingsByKind(study)) {
    const title = study.kinds.find((/** @type {any} */ known) => known.name === kind)?.title ?? kind.replaceAll("_", " ");
    // Of several models the last is diagnosed; what changed is about two.
    const whose = study.models.length > 1 && kind !== "change" ? ` in ${isolate(study.models.at(-1).name)}` : "";
    nodes.push(h("h2", { class: `kind ${kind}` }, title, h("span", { class: "soft name" }, `${whose} ${count(found.length)}`)),
      ...headOf(study, kind, found), ...listOf(study, found, follow));
  }
  if (nodes.length === 0) nodes.push(h("h2", {}, "Findings"), h("p", { class: "soft" }, "Nothing stands out."));
  if (study.geometry) nodes.push(...agreement(study));
  return nodes;
}

/** @param {any} study @param {string} kind @param {any[]} found */
function headOf(study, kind, found) {
  const head = HEADS[ /** @type {keyof typeof HEADS} */ (kind)];
  if (!head || !found.some((finding) => lineOf(study, finding))) return [];
  return [h("p", { class: "heads soft" }, ...head.map((text) => h("span", {
    title: text === "similarity" && "√(both error cells ÷ both diagonal cells), of bi" }, text)))];
}

/** @param {any} study @param {any[]} found @param {(finding: any) => void} follow */
function listOf(study, found, follow) {
  const list = h("ul", {}, ...found.slice(0, SHOWN).map((finding) => findingItem(study, finding, follow)));
  if (found.length <= SHOWN) return [list];
  // Hundreds of lines are made when they are asked for; paper has those that come with a sentence.
  const later = found.slice(SHOWN, PRINTED).filter((finding) => finding.sentence).map((finding) => findingItem(study, finding, follow));
  const left = found.length - SHOWN - later.length;
  if (left > 0) later.push(h("li", {}, `${count(left)} more on the page`));
  for (const item of later) item.classList.add("later");
  list.append(...later);
  const more = h("button", {
    class: "link more",
    onclick: () => {
      list.replaceChildren(...found.map((finding) => findingItem(study, finding, follow)));
      more.remove();
    },
  }, `${count(found.length - SHOWN)} more`);
  return [list, more];
}

/** @param {any} study @param {any} finding @param {(finding: any) => void} follow */
function findingItem(study, finding, follow) {
  const target = finding.cells.length > 0 || finding.classes.length > 0;
  const line = lineOf(study, finding);
  const detail = h("div", { class: "detail", hidden: true }, h("p", {}, finding.sentence), finding.advice && h(
    "p", { class: "advice" }, ...withCode(finding.advice)));
  const button = h("button", {
    class: `finding${line ? "" : " words"}${line?.tall ? " tall" : ""}`,
    title: line ? finding.classes.map((/** @type {number} */ k) => isolate(shownName(study.labels[k]))).join(` ${line.between} `) : undefined,
    "aria-expanded": finding.sentence ? "false" : undefined,
    onclick: () => {
      detail.hidden = !detail.hidden || !finding.sentence;
      if (finding.sentence) button.setAttribute("aria-expanded", String(!detail.hidden));
      if (target && !detail.hidden) follow(finding);
      else if (target && !finding.sentence) follow(finding);
    },
  }, ...(line ? lineParts(line) : [h("span", { class: "name" }, finding.sentence)]));
  return h("li", {}, button, detail);
}

/** @param {Line} line */
function lineParts({ names, between, value, share, n, tone }) {
  const bar = h("span", { class: "fill" });
  bar.style.width = `${Number.isNaN(share) ? 0 : 100 * share}%`;
  return [
    bar,
    h("span", { class: "pair" }, ...names.flatMap((name, k) => [k > 0 && h("span", { class: "soft" }, ` ${between} `), nameText(name)])),
    h("span", { class: `number ${tone}` }, value),
    n && h("span", { class: "number soft" }, n),
  ];
}

/** Names in backticks as code. @param {string} text */
function withCode(text) {
  return text.split("`").map((part, k) => (k % 2 === 1 ? h("code", {}, part) : part));
}

/** How close each normalization is to each geometric matrix. @param {any} study */
function agreement(study) {
  const { agreement: table } = study.geometry;
  const methods = Object.keys(Object.values(table)[0] ?? {});
  if (methods.length === 0) return [];
  return [
    h("h2", { class: "kind geometry" }, "Geometry and matrix"),
    h("p", { class: "soft" },
      "Overlap of each geometric matrix (rows) with each normalization (columns): 1 is the same."),
    h("table", { class: "agreement" },
      h("thead", {}, h("tr", {}, h("td", {}, ""), ...methods.map((m) => h("th", { scope: "col" }, m)))),
      h("tbody", {}, ...Object.entries(table).map(([weighting, row]) => {
        const best = Math.max(.../** @type {number[]} */ (Object.values(row)));
        return h("tr", {}, h("th", { scope: "row" }, weighting), ...methods.map((m) => h(
        "td", { class: `number${row[m] === best ? " best" : ""}` }, short(row[m], 2))));
      }))),
  ];
}
