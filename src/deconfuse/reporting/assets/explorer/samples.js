// The samples behind a cell: row numbers or ids, and thumbnails where the page carries them.

import { decodeArray, indexOfSorted } from "./arrays.js";
import { h } from "./dom.js";
import { count } from "./format.js";

/**
 * Samples of one class cell, as the payload carries them.
 * @param {any} samples @param {number} cell index
 * @returns {{id: string, image: string|null}[]}
 */
export function samplesOf(samples, cell) {
  samples.at ??= decodeArray(samples.cells);
  samples.starts ??= decodeArray(samples.offsets);
  samples.numbers ??= samples.rows ? decodeArray(samples.rows) : null;
  samples.pictured ??= samples.image_at ? decodeArray(samples.image_at) : null;
  const k = indexOfSorted(samples.at, cell);
  if (k < 0) return [];
  const found = [];
  for (let at = samples.starts[k]; at < samples.starts[k + 1]; at++) {
    const picture = samples.pictured ? samples.pictured[at] : -1;
    const id = samples.ids ? samples.ids[at] : String(samples.numbers[at]);
    found.push({ id, image: picture >= 0 ? samples.images[picture] : null });
  }
  return found;
}

/** @param {{id: string, image: string|null}} sample @param {string} noun */
function sampleItem(sample, noun) {
  const title = `${noun} ${sample.id}`;
  if (!sample.image) return h("li", { class: "sample text" }, h("bdi", { title }, sample.id));
  return h("li", { class: "sample" }, h("img", { src: sample.image, alt: title, title, loading: "lazy",
    decoding: "async" }));
}

/** @param {any} study @param {{id: string, image: string|null}[]} found @param {string} title @param {number} total */
function sampleList(study, found, title, total) {
  if (found.length === 0) return [];
  const noun = study.samples.noun;
  const some = total > found.length ? `${count(found.length)} of ${count(total)}` : count(found.length);
  return [
    h("h4", {}, title, h("span", { class: "soft" }, ` ${some}`)),
    h("ul", { class: found.some((sample) => sample.image) ? "samples pictures" : "samples" }, ...found.map((
      sample) => sampleItem(sample, noun))),
  ];
}

/**
 * Samples of a cell, of the reverse cell, and some of each class that were right, to compare.
 * @param {any} study @param {import("./panes.js").Pane} pane the samples are those of the first model
 * @param {number[]} rows classes @param {number[]} cols
 * @returns {Node[]}
 */
export function samplesSection(study, pane, rows, cols) {
  if (!study.samples || (pane.kind === "value" && pane.model > 0)) return [];
  const [model, other] = study.models;
  const { n } = study;
  const gather = (/** @type {number[]} */ a, /** @type {number[]} */ b) => {
    const found = a.flatMap((i) => b.flatMap((j) => samplesOf(study.samples, i * n + j)));
    let total = 0;
    for (const i of a)
      for (const j of b) total += model.count(i, j);
    return { found: found.slice(0, 48), total: model.weighted ? found.length : total };
  };
  const here = gather(rows, cols);
  const same = rows.length === cols.length && rows.every((k, at) => k === cols[at]);
  const lists = sampleList(study, here.found, "here", here.total);
  if (!same) {
    const back = gather(cols, rows);
    lists.push(...sampleList(study, back.found, "the other way", back.total));
    const [i, j] = [rows[0], cols[0]];
    for (const k of [i, j]) {
      const right = gather([k], [k]);
      lists.push(...sampleList(study, right.found.slice(0, 6), `right: ${study.labels[k]}`, right.total));
    }
  }
  if (lists.length === 0) return [h("h3", {}, "Samples"), h("p", { class: "soft" },
    "no sample of this cell is in the page")];
  return [h("h3", {}, "Samples", h("span", { class: "soft" }, ` by ${study.samples.noun}${other ? ` in ${model.name}` : ""}`)), ...lists];
}
