// The parts of the page that do not change: who this is about, and the line at the bottom.

import { h, nameText } from "./dom.js";
import { count, isolate, percent, plural, short } from "./format.js";

/** The numbers every classifier is asked for. @param {import("./model.js").Model} model */
function scoresText({ scores, outcomes }) {
  const { accuracy, balanced_accuracy: balanced, macro_f1: f1, kappa, coverage } = scores;
  // Accuracy is that of the samples for which a class was named: how many these are stands beside it.
  const named = outcomes.size > 0 ? `coverage ${percent(coverage)}, ` : "";
  return `${named}accuracy ${short(accuracy)}, balanced ${short(balanced)}, macro F1 ${short(f1)}${kappa === null ? "" : `, kappa ${short(kappa)}`}`;
}

/** @param {import("./model.js").Model} model */
function samplesText({ total, samples, outcomes }) {
  return outcomes.size > 0 ? `${count(total)} of ${plural(samples, "sample")} with classes` : plural(total, "sample");
}

/** A sentence in which names of another direction stay where they are. @param {string} sentence */
function withIsolatedNames(sentence) {
  return sentence.replace(/“[^”]*”/gu, isolate);
}

/** A headline without its first sentence, where that tells the sizes that stand below it. @param {string} headline */
export function findingsOf(headline) {
  return headline.replace(/^[\d,]+ class(?:es)?, [^“]*?\d\. (?=\D)/, "");
}

/** @param {any} study @param {Element} search @param {Element} icons */
export function headerOf(study, search, icons) {
  const classes = study.bucket ?
    `${count(study.n - 1)} of ${count(study.n - 1 + study.bucket.n_classes)} classes` :
    plural(study.n, "class");
  const models = study.models.map((/** @type {any} */ model) => h("span", { class: "model" }, study.models.length > 1 && h(
    "b", {}, nameText(model.name)), h("span", {}, samplesText(model)), h("span", { class: "metrics" }, scoresText(model))));
  const headline = findingsOf(study.headline);
  return h("header", {}, h("div", { class: "corner" }, search, icons),
    h("p", { class: `headline ${headline.length > 320 ? "longest" : headline.length > 160 ? "long" : ""}` }, withIsolatedNames(headline)),
    h("div", { class: "identity soft" }, h("h1", {}, nameText(study.title)), h("span", {}, classes), ...models, models.length === 1
      && h("span", {}, "true on rows, predicted on columns")),
  );
}

/** @param {any} study */
export function footerOf(study) {
  const { scalings } = study.models[0];
  const bi = scalings["bi-epsilon"] ?? scalings.bi;
  const facts = [
    `bi + ε: epsilon ${short(bi.epsilon)}`,
    bi.residual !== null && `residual ${short(bi.residual, 1)}`,
    bi.status !== "converged" && bi.status,
    study.generator,
  ];
  return h("footer", { class: "soft" }, facts.filter(Boolean).join(" · "));
}
