// The left-hand panel: what was found, in plain sentences, each a link to its cells.

import { h } from "./dom.js";
import { isolate, short } from "./format.js";

const TITLES = {
  change: "What changed",
  look_alike: "Similar",
  not_alike: "Confused, yet less similar",
  outcome: "Answers that are no class",
  over_predicted: "Over-predicted",
  under_predicted: "Under-predicted",
  careful: "Careful",
  geometry: "Geometry",
};

// Findings of a kind that stand there at once; the rest is one click away, and on paper.
const SHOWN = 2;

/**
 * @param {any} study
 * @param {(finding: any) => void} follow
 * @returns {Node[]}
 */
export function findingsContent(study, follow) {
  /** @type {Node[]} */
  const nodes = [];
  const kinds = [...new Set([...Object.keys(TITLES), ...study.findings.map((/** @type {any} */ f) => f.kind)])];
  for (const kind of kinds) {
    const found = study.findings.filter((/** @type {any} */ f) => f.kind === kind);
    if (found.length === 0) continue;
    const title = TITLES[ /** @type {keyof typeof TITLES} */ (kind)] ?? kind.replaceAll("_", " ");
    const items = found.map((/** @type {any} */ finding, /** @type {number} */ k) => findingItem(finding, follow,
      k === 0 ? "" : finding.advice === found[0].advice ? "later again" : "later"));
    const rest = items.slice(SHOWN);
    for (const item of rest) item.classList.add("later");
    // Of two models the second is diagnosed; what changed is about both.
    const whose = study.models.length > 1 && kind !== "change" ? ` in ${isolate(study.models[1].name)}` : "";
    nodes.push(h("h2", { class: `kind ${kind}` }, title, h("span", { class: "soft name" }, whose)), h("ul", {}, ...
      items));
    if (rest.length > 0) nodes.push(moreButton(rest));
  }
  if (nodes.length === 0) nodes.push(h("h2", {}, "Findings"), h("p", { class: "soft" }, "Nothing stands out."));
  if (study.geometry) nodes.push(...agreement(study));
  return nodes;
}

/** The advice of the first finding stands there; that of others comes when they are followed. */
/** @param {any} finding @param {(finding: any) => void} follow @param {string} style of the advice */
function findingItem(finding, follow, style) {
  const target = finding.cells.length > 0 || finding.classes.length > 0;
  const advice = finding.advice ? h("p", { class: `advice ${style}` }, ...withCode(finding.advice)) : null;
  const go = () => {
    advice?.classList.remove("later");
    follow(finding);
  };
  const link = target ? h("button", { class: "finding", onclick: go }, finding.sentence) : h(
  "p", { class: "finding" }, finding.sentence);
  return h("li", {}, link, advice);
}

/** Names in backticks as code. @param {string} text */
function withCode(text) {
  return text.split("`").map((part, k) => (k % 2 === 1 ? h("code", {}, part) : part));
}

/** @param {Element[]} items */
function moreButton(items) {
  const button = h("button", {
    class: "link",
    onclick: () => {
      for (const item of items) item.classList.remove("later");
      button.remove();
    }
  }, `${items.length} more`);
  return button;
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
      h("thead", {}, h("tr", {}, h("th", {}, ""), ...methods.map((m) => h("th", { scope: "col" }, m)))),
      h("tbody", {}, ...Object.entries(table).map(([weighting, row]) => {
        const best = Math.max(.../** @type {number[]} */ (Object.values(row)));
        return h("tr", {}, h("th", { scope: "row" }, weighting), ...methods.map((m) => h(
        "td", { class: `number${row[m] === best ? " best" : ""}` }, short(row[m], 2))));
      }))),
  ];
}
