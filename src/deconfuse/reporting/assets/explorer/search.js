// The search field: names of shown classes, and of classes that wait in the "other" bucket.

import { h, nameText } from "./dom.js";
import { brief, count, plural } from "./format.js";
import { searchLabels } from "./order.js";

/**
 * @param {any} study
 * @param {{shown: (k: number) => void, hidden: (k: number) => void}} go
 * @param {string} id unique on the page
 */
export function searchField(study, go, id) {
  const directory = study.directory;
  // One list, so that a whole name in the bucket comes before parts of names that are shown.
  const names = directory ? [...study.labels, ...directory.labels] : study.labels;
  const list = h("ul", { class: "matches", role: "listbox", id: `${id}-matches`, hidden: true });
  const input = h("input", {
    type: "search",
    placeholder: "find a class",
    "aria-label": "find a class",
    autocomplete: "off",
    spellcheck: "false",
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": `${id}-matches`,
    "aria-autocomplete": "list",
  });
  /** @type {{label: string, size: number, act: () => void, note: string}[]} */
  let matches = [];
  let active = 0;
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (/** @type {number} */ k) => {
    if (!matches[k]) return;
    close();
    input.value = matches[k].label;
    matches[k].act();
  };
  const draw = () => {
    list.replaceChildren(...matches.map((match, k) => {
      const item = h("li", {
        role: "option",
        id: `${id}-match-${k}`,
        "aria-selected": String(k === active),
        onpointerdown: (/** @type {Event} */ event) => {
          event.preventDefault();
          choose(k);
        }
      }, nameText(match.label), h("span", { class: "soft" }, ` ${brief(match.size)} ${match.size === 1 ? "label" : "labels"}${match.note}`));
      return item;
    }));
    if (matches.length === 0) list.append(h("li", { class: "soft" }, "no class of this name"));
    list.hidden = input.value.trim() === "";
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (matches.length > 0) input.setAttribute("aria-activedescendant", `${id}-match-${active}`);
  };
  input.addEventListener("input", () => {
    matches = searchLabels(names, input.value, 8).map((k) => {
      const label = names[k];
      if (k < study.n) return { label, size: study.models[0].labelCounts[k], act: () => go.shown(k), note: "" };
      const at = k - study.n;
      return { label, size: directory.label_counts[at], act: () => go.hidden(at), note: " · in other" };
    });
    active = 0;
    draw();
  });
  input.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      active = (active + (event.key === "ArrowDown" ? 1 : -1) + matches.length) % Math.max(1, matches.length);
      draw();
      event.preventDefault();
    } else if (event.key === "Enter") choose(active);
    else if (event.key === "Escape") {
      close();
      input.value = "";
      input.blur();
    } else return;
    event.stopPropagation();
  });
  input.addEventListener("blur", close);
  return { element: h("div", { class: "search" }, input, list), input };
}

/** @param {any} directory @param {number} k */
export function hiddenClassSizes({ label_counts: labels, prediction_counts: predictions, right }, k) {
  return `${plural(labels[k], "label")}, ${plural(predictions[k], "prediction")}, ${count(right[k])} right`;
}

/**
 * A class of the bucket: what the page still knows of it.
 * @param {any} directory @param {number} k
 * @returns {Node[]}
 */
export function hiddenClassContent(directory, k) {
  const called = directory.called(k).map((/** @type {{name: string, count: number}} */ other) =>
    h("li", {}, nameText(other.name), h("span", { class: "soft" }, ` ${count(other.count)}`)));
  return [
    h("h2", {}, nameText(directory.labels[k])),
    h("p", {}, "Part of the “other” row and column of this page."),
    h("p", {}, hiddenClassSizes(directory, k)),
    h("h3", {}, "Most often called"), called.length > 0 ? h("ul", {}, ...called) : h("p", { class: "soft" },
      "nothing else"),
  ];
}
