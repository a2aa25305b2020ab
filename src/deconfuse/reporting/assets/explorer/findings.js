// The left-hand panel: what was found, in plain sentences, each a link to its cells.

import { h } from "./dom.js";
import { short } from "./format.js";

const TITLES = {
  change: "What changed",
  look_alike: "Look alike",
  over_predicted: "Over-predicted",
  under_predicted: "Under-predicted",
  not_alike: "Confused, but not alike",
  careful: "Careful",
  geometry: "Geometry",
};

// Findings of a kind that stand there at once; the rest is one click away.
const SHOWN = 3;

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
      k === 0));
    const list = h("ul", {}, ...items.slice(0, SHOWN));
    nodes.push(h("h2", { class: `kind ${kind}` }, title), list);
    if (items.length > SHOWN) nodes.push(moreButton(list, items.slice(SHOWN)));
  }
  if (nodes.length === 0) nodes.push(h("h2", {}, "Findings"), h("p", { class: "soft" }, "Nothing stands out."));
  if (study.geometry) nodes.push(...agreement(study));
  return nodes;
}

/** The advice of the first finding stands there; that of others comes when they are followed. */
/** @param {any} finding @param {(finding: any) => void} follow @param {boolean} open */
function findingItem(finding, follow, open) {
  const target = finding.cells.length > 0 || finding.classes.length > 0;
  const advice = finding.advice ? h("p", { class: "advice", hidden: !open }, ...withCode(finding.advice)) : null;
  const go = () => {
    if (advice) advice.hidden = false;
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

/** @param {Element} list @param {Element[]} items */
function moreButton(list, items) {
  const button = h("button", {
    class: "link",
    onclick: () => {
      list.append(...items);
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
