// The search field: names of shown classes, and of classes that wait in the "other" bucket.

import { h, nameText } from "./dom.js";
import { brief } from "./format.js";
import { searchLabels } from "./order.js";

/**
 * @param {any} study
 * @param {(k: number) => void} go to a class: those shown first, then those in the bucket
 * @param {string} id unique on the page
 */
export function searchField(study, go, id) {
  const directory = study.directory;
  // One list, so that a whole name in the bucket comes before parts of names that are shown.
  const names = directory ? [...study.labels.slice(0, -1), ...directory.labels] : study.labels;
  const shown = directory ? study.n - 1 : study.n;
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
      const size = k < shown ? study.models[0].labelCounts[k] : directory.label_counts[k - shown];
      return { label, size, act: () => go(k), note: k < shown ? "" : " · in other" };
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
