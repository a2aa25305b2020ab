// The controls above the matrix, and the help they share with the keyboard.

import { h } from "./dom.js";
import { METHODS, SUMS, isGeometric } from "./model.js";
import { ORDERS } from "./order.js";
import { modelOf } from "./panes.js";
import { geometryOf, methodsOf } from "./state.js";

/**
 * @param {any} study @param {import("./state.js").Store} store
 * @param {{groups: (most: number) => void, cut: (most: number) => string, help: () => void, theme: () => void, fit: () => void, model: (model: string) => void}} act
 */
export function toolbar(study, store, act) {
  const methods = methodsOf(study);
  const geometric = methods.filter(isGeometric);
  const geometry = geometryOf(study);
  const buttons = METHODS.map((method, k) => h("button", {
    class: "choice",
    "data-method": method,
    title: `${SUMS[/** @type {keyof typeof SUMS} */ (method)]} (key ${k + 1})`,
    onclick: () => store.set({ method }),
  }, method));
  if (geometry) {
    buttons.push(h("button", { class: "choice", "data-method": "gcm",
      title: "geometric confusion matrix, from the embeddings (key 6)",
      onclick: () => store.set({ method: geometry }) }, "geometry"));
  }
  const option = (/** @type {string} */ value, /** @type {string} */ text) => h("option", { value }, text);
  const select = (/** @type {string} */ label, /** @type {string} */ name, /** @type {Element[]} */
    options, /** @type {(value: string) => void} */ change) => {
    const box = h("select", { "aria-label": label, "data-control": name, onchange: (/** @type {any} */ event) =>
        change(event.target.value) }, ...options);
    return { box, field: h("label", { class: "field" }, h("span", { class: "soft" }, label), box) };
  };
  const beside = select("beside", "beside", [option("", "nothing"), ...methods.map((m) => option(m, m.replace("gcm-",
    "geometry ")))], (value) => store.set({ beside: value }));
  const orders = ORDERS.filter((order) => order !== "similarity" || study.similarityOrder);
  const order = select("order", "order", orders.map((o) => option(o, o)), (value) => store.set({ order: value,
    view: null }));
  const sizes = study.linkage ? [2, 3, 5, 10, 20, 50, 100].filter((most) => most < study.n) : [];
  const cuts = new Map(sizes.map((most) => [act.cut(most), String(most)]));
  const groups = study.linkage ? select("groups", "groups", [option("0", "none"), ...sizes.map((most) => option(
    String(most), `up to ${most}`)), option("-1", "own")], (value) => act.groups(Number(value))) : null;
  const weighting = geometric.length > 1 ? select("weighting", "weighting", geometric.map((m) => option(m, m.slice(
    4))), (value) => store.set({ method: value })) : null;
  const log = h("button", { class: "toggle", "data-control": "log", "aria-pressed": "false",
    title: "logarithmic colours (key l)", onclick: () => store.set({ scale: store.state.scale === "log" ?
        "linear" : "log" }) }, "log");
  const fit = h("button", { class: "toggle", "data-control": "fit", title: "show all classes (key 0)",
    onclick: act.fit }, "show all");
  const theme = h("button", { class: "toggle icon", "data-control": "theme",
  title: "light or dark", "aria-label": "light or dark", onclick: act.theme }, "◐");
  const help = h("button", { class: "toggle icon", "data-control": "help",
  title: "keys and reading (key ?)", "aria-label": "help", onclick: act.help }, "?");
  const models = study.models.length > 1 ? h("div", { class: "choices models", role: "group", "aria-label": "model" },
    ...[
      ["0", study.models[0].name],
      ["1", study.models[1].name],
      ["difference", "difference"]
    ].map(([value, text]) =>
      h("button", { class: "choice", "data-model": value, onclick: () => act.model(value) }, h("bdi", {},
        text)))) : null;
  const element = h("div", { class: "toolbar", role: "toolbar", "aria-label": "view" },
    h("div", { class: "choices", role: "group", "aria-label": "normalization" }, ...buttons),
    models, h("div", { class: "fields" }, weighting?.field, beside.field, order.field, groups?.field, log));
  const corner = h("div", { class: "icons" }, theme, help);
  const update = (/** @type {import("./state.js").State} */ state) => {
    for (const button of buttons) {
      const own = button.dataset.method;
      button.setAttribute("aria-pressed", String(own === state.method || (own === "gcm" && isGeometric(state.method))));
    }
    const model = isGeometric(state.method) ? String(modelOf(state.method, state.model)) : state.model;
    models?.querySelectorAll("button").forEach((/** @type {any} */ button) => button.setAttribute("aria-pressed",
      String(button.dataset.model === model)));
    beside.box.value = state.beside;
    order.box.value = state.order;
    if (weighting) {
      weighting.field.hidden = !isGeometric(state.method);
      if (!weighting.field.hidden) weighting.box.value = state.method;
    }
    if (groups) {
      const known = state.collapsed.length === 0 ? "0" : cuts.get(state.collapsed.join()) ?? "-1";
      groups.box.value = known;
      groups.box.options[groups.box.options.length - 1].hidden = known !== "-1";
    }
    log.setAttribute("aria-pressed", String(state.scale === "log"));
    fit.hidden = state.view === null;
  };
  return { element, corner, fit, update };
}

/** @param {any} study @param {() => void} close */
export function helpDialog(study, close) {
  const keys = [
    ["← ↑ → ↓", "move the selected cell"],
    ["1 … 5", "counts, row, col, all, bi"],
    geometryOf(study) && ["6", "geometry"],
    ["/", "find a class"],
    ["o", "next order"],
    ["l", "linear or log colours"],
    ["+ −  0", "zoom in, out, show all"],
    ["r", "the reverse cell"],
    ["Enter", "zoom to the selected cell"],
    ["Esc", "back: close, deselect, show all"],
    ["?", "this help"],
  ].filter(Boolean);
  const dialog = h("dialog", { class: "help", "aria-label": "help", onclose: close },
    h("form", { method: "dialog" }, h("button", { class: "toggle icon close", "aria-label": "close help" }, "×")),
    h("h2", {}, "Keys"),
    h("dl", {}, ...keys.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
    h("h2", {}, "Reading"),
    h("dl", {}, ...METHODS.flatMap((method) => [h("dt", {}, h("b", {}, method)), h("dd", {},
    SUMS[ /** @type {keyof typeof SUMS} */ (method)])])),
    h("p", {},
      "True classes are on rows, predicted classes on columns. Diagonal cells are orange, all others blue, each with its own scale."
      ),
    h("p", {}, "The diagonal of bi says how well classes are told apart. It is not accuracy."),
    h("p", {},
      "Hatched cells rest on few samples or on epsilon. A dot is a cell where nothing was counted; a crossed-out cell belongs to a class without samples."
      ),
    h("p", { class: "soft" },
      "Drag to pan, wheel or pinch to zoom (with Ctrl up to 24 classes). Click a knot of the tree to collapse or open a group."
      ),
  );
  return dialog;
}
