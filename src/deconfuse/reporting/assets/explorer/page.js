// The page: read the payload, mount the explorer, say so when something is wrong.

import { css } from "./css.js";
import { Explorer } from "./explorer.js";

const host = /** @type {any} */ (document.getElementById("deconfuse"));
const data = document.getElementById("payload");
if (host && data) {
  const fallback = [...host.childNodes];
  try {
    // Kept on the element, for whoever wants to drive the page from outside.
    host.explorer = new Explorer(host, JSON.parse(data.textContent ?? ""), { css, page: true });
    for (const node of fallback) node.remove();
  } catch (error) {
    // The static text stays readable; the reason goes below it.
    const note = document.createElement("p");
    note.textContent = `The interactive matrix could not start: ${error instanceof Error ? error.message : error}`;
    host.append(note);
    host.shadowRoot?.replaceChildren(document.createElement("slot"));
    throw error;
  }
}
