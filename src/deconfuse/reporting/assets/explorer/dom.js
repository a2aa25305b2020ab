// Building elements. Text from data only ever becomes text nodes.

import { shownName } from "./format.js";

/** @typedef {Node|string|number|null|undefined|false} Child */

/**
 * @param {Element} element @param {Record<string, any>} props @param {Child[]} children
 */
function finish(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false).map((
    child) => (child instanceof Node ? child : String(child))));
  return element;
}

/**
 * An HTML element.
 * @param {string} tag @param {Record<string, any>} props attributes; `onclick` and the like are listeners
 * @param {...Child} children
 * @returns {any}
 */
export function h(tag, props = {}, ...children) {
  return finish(document.createElement(tag), props, children);
}

/**
 * An SVG element.
 * @param {string} tag @param {Record<string, any>} props @param {...Child} children
 * @returns {any}
 */
export function s(tag, props = {}, ...children) {
  return finish(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

/** A class name as text that keeps its own direction. @param {string} name */
export function nameText(name) {
  return h("bdi", { class: "name", title: name.length > 28 ? name : undefined }, shownName(name));
}

/**
 * A button that opens a list below it, and closes it when the reader goes elsewhere.
 * @param {string} title @param {string} style @param {...Child} items
 */
export function menu(title, style, ...items) {
  const box = h("details", { class: `menu ${style}` }, h("summary", { class: "toggle" }, title), h("div", { class: "popup" }, ...items));
  box.addEventListener("focusout", (/** @type {FocusEvent} */ event) => {
    if (!box.contains(event.relatedTarget)) box.open = false;
  });
  box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || !box.open) return;
    box.open = false;
    box.querySelector("summary").focus();
    event.stopPropagation();
  });
  return box;
}

/**
 * Hand text or bytes to the reader as a file.
 * @param {string} filename @param {Blob} blob
 */
export function download(filename, blob) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: filename });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
