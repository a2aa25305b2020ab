// What reaches the explorer from outside: size, keys, theme, printing, the address bar.

import { readHash } from "./state.js";

const TYPED = "input, select, textarea, summary";

/**
 * Listen to everything outside the element.
 * @param {import("./explorer.js").Explorer} explorer
 * @param {(event: KeyboardEvent, explorer: any) => boolean} handleKey
 * @returns {() => void} lets go of all of it
 */
export function watch(explorer, handleKey) {
  const { options, root, stagePanes } = explorer;
  let size = "";
  const resized = () => {
    const now = `${stagePanes.clientWidth} ${options.page ? window.innerHeight : 0}`;
    if (now === size) return;
    size = now;
    if (!explorer.themed) explorer.applyTheme();
    explorer.render(false);
  };
  const observer = new ResizeObserver(resized);
  observer.observe(stagePanes);

  /** @type {[EventTarget, string, (event: any) => void][]} */
  const listeners = [];
  const listen = (/** @type {EventTarget} */ target, /** @type {string} */ name, /** @type {(event: any) => void} */
    act) => {
    target.addEventListener(name, act);
    listeners.push([target, name, act]);
  };

  if (options.page) listen(window, "resize", resized);

  // Only with the focus inside: a page around this one keeps its own keys.
  listen(root, "keydown", (/** @type {KeyboardEvent} */ event) => {
    const inside = /** @type {Element} */ (event.composedPath()[0]);
    const pressing = inside?.matches?.("button") && ["Enter", " "].includes(event.key);
    if (pressing || inside?.matches?.(TYPED) || inside?.closest?.("dialog[open]")) return;
    if (event.key.startsWith("Arrow") && !inside?.matches?.("canvas")) return;
    if (handleKey(event, explorer)) event.preventDefault();
  });

  const retheme = () => {
    explorer.applyTheme();
    explorer.render(false);
  };
  const printing = (/** @type {boolean} */ now) => () => {
    explorer.printing = now;
    retheme();
  };
  listen(matchMedia("(prefers-color-scheme: dark)"), "change", retheme);
  const themes = new MutationObserver(retheme);
  if (!options.page) themes.observe(document.body, { attributeFilter: ["data-jp-theme-light", "data-vscode-theme-kind"] });
  listen(window, "beforeprint", printing(true));
  listen(window, "afterprint", printing(false));
  if (options.page) {
    const sent = () => {
      if (location.hash.slice(1) === explorer.hash) return;
      explorer.travelling = true;
      explorer.store.set(readHash(location.hash, explorer.defaults, explorer.limits()));
      explorer.travelling = false;
    };
    listen(window, "hashchange", sent);
    listen(window, "popstate", sent);
  }
  return () => {
    observer.disconnect();
    themes.disconnect();
    for (const [target, name, act] of listeners) target.removeEventListener(name, act);
  };
}
