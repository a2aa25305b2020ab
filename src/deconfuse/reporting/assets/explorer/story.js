// What bi-normalization does, told with the reader's own counts: before, after, and the ranks of a pair.

import { h, nameText } from "./dom.js";
import { namesOf } from "./findings.js";
import { isolate } from "./format.js";

// Letters of a name, which may take a line of its own.
const NAME = 22;

/**
 * The pairs that the story is about: the one most similar, and one that only seems to be.
 * @param {any} study
 * @returns {any[]} findings that have ranks
 */
export function storyPairs(study) {
  if (study.models.length > 1) return [];
  return ["look_alike", "not_alike"].flatMap((kind) => study.findings.filter((/** @type {any} */ finding) =>
    finding.kind === kind && finding.ranks && finding.cells.length > 0
      && (kind === "look_alike" || finding.ranks[0] > finding.ranks[1])).slice(0, 1));
}

/**
 * Cells to outline while nothing is selected: both ways of the pair that is most similar.
 * @param {any} study @param {import("./panes.js").Frame} frame
 * @returns {{i: number, j: number}[]} units
 */
export function storyMarks(study, frame) {
  const [pair] = storyPairs(study).filter((finding) => finding.kind === "look_alike");
  if (!pair) return [];
  const [i, j] = pair.classes.map((/** @type {number} */ k) => frame.unitOf[k]);
  return i === j ? [] : [{ i, j }, { i: j, j: i }];
}

/**
 * @param {any} study
 * @param {{canvas: Element, play: () => void, playing: boolean, motion: boolean, follow: (finding: any) => void}} stage
 *   the counts as a small drawing, and what moves the large one
 * @returns {Node[]}
 */
export function storyContent(study, { canvas, play, playing, motion, follow }) {
  const pairs = storyPairs(study);
  const label = playing ? "show bi again" : motion ? "▶ play: counts become bi" : "show counts";
  return [
    h("h2", {}, "Before: the counts"),
    canvas,
    h("div", { class: "story" },
      h("button", { class: "toggle", "data-control": "play", "aria-pressed": String(playing), onclick: play }, label)),
    pairs.length > 0 && h("table", { class: "ranks" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "pair"), h("th", { scope: "col" },
        "by counts → by similarity"))),
      h("tbody", {}, ...pairs.map((finding) => {
        const [alike, counts] = finding.ranks;
        const [one, other] = namesOf(study, finding.classes, NAME);
        return h("tr", {}, h("th", { scope: "row" }, h("button", { class: "link", onclick: () => follow(finding) },
          nameText(one), " and ", nameText(other))), h("td", {}, h("b", {}, `rank ${counts} → ${alike}`),
          h("span", { class: "soft" }, finding.kind === "look_alike" ? " similar" : " less similar")));
      }))),
    h("p", {}, "Counts mix how similar two classes are, how frequent a class is, and how readily the model says it. ",
      h("b", {}, "bi-normalized"),
      " divides the last two out: every row and every column sums to 1.",
      pairs.length > 0 && " What still stands out is a pair of similar classes."),
  ].filter((node) => node instanceof Node);
}

/**
 * How to read a page of several models.
 * @param {any} study @param {(comparison: any) => Node} overlap
 * @returns {Node[]}
 */
export function comparingContent(study, overlap) {
  const [first, second] = study.models;
  return [
    h("h2", {}, "How to read this"),
    h("p", {}, study.models.length === 2 ?
      `The difference is ${isolate(second.name)} minus ${isolate(first.name)}. ` :
      `A difference is a model minus ${isolate(first.name)}. `,
      "Purple is worse: fewer hits on the diagonal, more errors off it. Green is better. Pale cells may be chance."),
    ...(study.comparison?.changes ?? []).map((/** @type {string} */ sentence) => h("p", { class: "change" }, sentence.replace(/^- /, "• "))),
    study.comparison && overlap(study.comparison),
    h("p", {}, h("b", {}, "bi-normalized"),
      " divides out how frequent a class is and how readily the model says it: every row and every column sums to 1."),
  ].filter((node) => node instanceof Node);
}
