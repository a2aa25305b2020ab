// The samples behind a cell: row numbers or ids, with the texts and thumbnails that the page carries.

import { decodeArray, indexOfSorted } from "./arrays.js";
import { h, nameText } from "./dom.js";
import { count, short } from "./format.js";

/** @typedef {{id: string, image: string|null, text: string, score: number}} Sample score: NaN without one */

/**
 * Samples of one class cell, as the payload carries them.
 * @param {any} samples @param {number} cell index
 * @returns {Sample[]}
 */
export function samplesOf(samples, cell) {
  samples.at ??= decodeArray(samples.cells);
  samples.starts ??= decodeArray(samples.offsets);
  samples.numbers ??= samples.rows ? decodeArray(samples.rows) : null;
  samples.pictured ??= samples.image_at ? decodeArray(samples.image_at) : null;
  samples.scored ??= samples.scores ? decodeArray(samples.scores) : null;
  const k = indexOfSorted(samples.at, cell);
  if (k < 0) return [];
  const found = [];
  for (let at = samples.starts[k]; at < samples.starts[k + 1]; at++) {
    const picture = samples.pictured ? samples.pictured[at] : -1;
    found.push({
      id: samples.ids ? samples.ids[at] : String(samples.numbers[at]),
      image: picture >= 0 ? samples.images[picture] : null,
      text: samples.texts?.[at] ?? "",
      score: samples.scored ? samples.scored[at] : NaN,
    });
  }
  return found;
}

/** What a sample is called, and how confident the model was. @param {Sample} sample @param {string} noun */
function titleOf({ id, score }, noun) {
  return `${noun} ${id}${Number.isNaN(score) ? "" : `, score ${short(score)}`}`;
}

/**
 * Show a picture large, with the ones before and after it a key away.
 * @param {HTMLElement} opener a thumbnail's button @param {Sample[]} pictures @param {number} at @param {string} noun
 */
function enlarge(opener, pictures, at, noun) {
  const image = h("img", {});
  const caption = h("p", { "aria-live": "polite" });
  const show = (/** @type {number} */ to) => {
    at = (to + pictures.length) % pictures.length;
    const title = titleOf(pictures[at], noun);
    image.src = pictures[at].image;
    image.alt = title;
    caption.replaceChildren(h("bdi", {}, title), h("span", { class: "soft" }, ` ${at + 1} of ${pictures.length}`));
  };
  const step = (/** @type {number} */ by, /** @type {string} */ sign, /** @type {string} */ name) =>
    h("button", { type: "button", class: "toggle icon", "aria-label": name, onclick: () => show(at + by) }, sign);
  const dialog = h("dialog", { class: "enlarged", "aria-label": "picture", onclose: () => dialog.remove() },
    h("form", { method: "dialog" }, h("button", { class: "toggle icon close", "aria-label": "close picture" }, "×")),
    image, h("div", { class: "steps" }, step(-1, "‹", "previous picture"), caption, step(1, "›", "next picture")));
  dialog.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") show(at + (event.key === "ArrowLeft" ? -1 : 1));
  });
  show(at);
  opener.closest(".explorer")?.append(dialog);
  dialog.showModal();
}

/** @param {Sample[]} found @param {number} at @param {string} noun */
function sampleItem(found, at, noun) {
  const { id, image, text } = found[at];
  const title = titleOf(found[at], noun);
  if (image) {
    const pictures = found.filter((sample) => sample.image);
    const button = h("button", { type: "button", title: `${title}: show it larger`,
      onclick: () => enlarge(button, pictures, pictures.indexOf(found[at]), noun) },
    h("img", { src: image, alt: title, loading: "lazy", decoding: "async" }));
    return h("li", { class: "sample" }, button);
  }
  if (text) return h("li", { class: "sample words" }, h("bdi", {}, text), h("span", { class: "soft" }, ` ${title}`));
  return h("li", { class: "sample text" }, h("bdi", { title }, id));
}

/** @param {Sample[]} found @param {string} noun @param {Node|string} title @param {number} total */
function sampleList(found, noun, title, total) {
  if (found.length === 0) return [];
  const some = total > found.length ? `${count(found.length)} of ${count(total)}` : count(found.length);
  const style = found.some((sample) => sample.image) ? " pictures" : found.some((sample) => sample.text) ? " texts" : "";
  return [
    h("h4", {}, title, h("span", { class: "soft" }, ` ${some}`)),
    h("ul", { class: `samples${style}` }, ...found.map((_, at) => sampleItem(found, at, noun))),
  ];
}

/**
 * Samples of a cell, of the reverse cell, and some of each class that were right, to compare; of a
 * difference those of both models.
 * @param {any} study @param {import("./panes.js").Pane} pane
 * @param {number[]} rows classes @param {number[]} cols
 * @returns {Node[]}
 */
export function samplesSection(study, pane, rows, cols) {
  const shown = pane.kind === "difference" ? [0, pane.model] : [pane.model];
  return shown.flatMap((at) => modelSamples(study, at, rows, cols));
}

/** Samples with an outcome on one side. @param {any} model @param {number} n @param {number} i @param {number} j */
function outcomeCount(model, n, i, j) {
  return j >= n ? model.outcomes.get(`answer ${j - n}`)?.counts[i] ?? 0 : model.outcomes.get(`background ${i - n}`)?.counts[j] ?? 0;
}

/** @param {any} study @param {number} at model @param {number[]} rows @param {number[]} cols @returns {Node[]} */
function modelSamples(study, at, rows, cols) {
  const samples = study.samples[at];
  if (!samples) return [];
  const model = study.models[at];
  const { n } = study;
  // Outcomes follow the classes.
  const side = n + study.outcomes.length;
  const gather = (/** @type {number[]} */ a, /** @type {number[]} */ b) => {
    const found = a.flatMap((i) => b.flatMap((j) => samplesOf(samples, i * side + j)));
    let total = 0;
    for (const i of a)
      for (const j of b) total += i < n && j < n ? model.count(i, j) : outcomeCount(model, n, i, j);
    return { found: found.slice(0, 48), total: model.weighted ? found.length : total };
  };
  const list = (/** @type {number[]} */ a, /** @type {number[]} */ b, /** @type {Node|string} */ title, most = 48) => {
    const { found, total } = gather(a, b);
    return sampleList(found.slice(0, most), samples.noun, title, total);
  };
  const lists = list(rows, cols, "here");
  const same = rows.length === cols.length && rows.every((k, place) => k === cols[place]);
  if (!same && [...rows, ...cols].every((k) => k < n)) {
    lists.push(...list(cols, rows, "the other way"));
    for (const k of [rows[0], cols[0]]) lists.push(...list([k], [k], h("span", {}, "right: ", nameText(study.labels[k])), 6));
  }
  const whose = study.models.length > 1 ? ` in ${model.name}` : "";
  const order = samples.scores ? ", most confident first" : "";
  return [h("h3", {}, "Samples", h("span", { class: "soft" }, ` by ${samples.noun}${whose}${order}`)),
    ...(lists.length > 0 ? lists : [h("p", { class: "soft" }, "no sample of this cell is in the page")])];
}
