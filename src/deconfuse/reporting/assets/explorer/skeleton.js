// The parts of the page that do not change: who this is about, and the line at the bottom.

import { h, nameText } from "./dom.js";
import { count, isolate, plural, short } from "./format.js";

/** @param {any} study @param {Element} search @param {Element} icons */
export function headerOf(study, search, icons) {
  const [first, second] = study.models;
  const sizes = second ?
    `${count(first.total)} samples in ${isolate(first.name)}, ${count(second.total)} in ${isolate(second.name)}` :
    plural(first.total, "sample");
  const classes = study.bucket ?
    `${count(study.n - 1)} of ${count(study.n - 1 + study.bucket.n_classes)} classes` :
    plural(study.n, "class");
  const identity = h(
    "div", { class: "identity" },
    h("h1", {}, nameText(study.title)),
    h("p", { class: "soft" }, `${classes} · ${sizes}`),
    h("p", { class: "soft" }, "true on rows, predicted on columns"),
  );
  const corner = h("div", { class: "corner" }, search, icons);
  return h("header", {}, identity, h("p", { class: "headline" }, study.headline), corner);
}

/** @param {any} study @param {Element} exports @param {Element} said */
export function footerOf(study, exports, said) {
  const { bi } = study.models[0].scalings;
  const facts = [
    `epsilon ${short(bi.epsilon)}`,
    bi.residual !== null && `residual ${short(bi.residual, 1)}`,
    bi.status !== "converged" && `bi: ${bi.status}`,
    study.generator,
  ];
  return h("footer", {}, exports, h("span", { class: "soft" }, facts.filter(Boolean).join(" · ")), said);
}
