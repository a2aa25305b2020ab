// The controls above the matrix, and the help they share with the keyboard.

import { h } from "./dom.js";
import { METHODS, SUMS, isGeometric } from "./model.js";
import { ORDERS } from "./order.js";
import { modelOf } from "./panes.js";
import { tellApart } from "./names.js";
import { LEAST, geometryOf, methodsOf, modelChoices } from "./state.js";

// Names of two models where the row of controls is narrow.
const MODEL_LETTERS = 11;

/** A name as it is shown with room and without. @param {string} whole @param {string} brief */
function named(whole, brief) {
  return whole === brief ? [h("bdi", {}, whole)] : [h("bdi", { class: "whole" }, whole), h("bdi", { class: "brief" }, brief)];
}

/**
 * @param {any} study @param {import("./state.js").Store} store
 * @param {{groups: (choice: string) => void, cut: (choice: string) => string, help: () => void, theme: () => void, fit: () => void, model: (model: string) => void, exports: Element, said: Element}} act
 */
export function toolbar(study, store, act) {
  const methods = methodsOf(study);
  const geometric = methods.filter(isGeometric);
  const geometry = geometryOf(study);
  const choice = (/** @type {string} */ name, /** @type {string} */ title, /** @type {string} */ text, method = name) =>
    h("button", { class: "choice", "data-method": name, title, onclick: () => store.set({ method }) }, text);
  const buttons = METHODS.map((method, k) => choice(method, `${SUMS[/** @type {keyof typeof SUMS} */ (method)]} (key ${k + 1})`, method));
  if (methods.includes("bi-epsilon")) buttons.push(choice("bi-epsilon", SUMS["bi-epsilon"], "bi + ε"));
  if (geometry) buttons.push(choice("gcm", "geometric confusion matrix, from the embeddings (key 6)", "geometry", geometry));
  const option = (/** @type {string} */ value, /** @type {string} */ text) => h("option", { value }, text);
  const select = (/** @type {string} */ label, /** @type {string} */ name, /** @type {Element[]} */
    options, /** @type {(value: string) => void} */ change) => {
    const box = h("select", { "aria-label": label, "data-control": name, onchange: (/** @type {any} */ event) =>
        change(event.target.value) }, ...options);
    return { box, field: h("label", { class: "field" }, h("span", { class: "soft" }, label), box) };
  };
  const beside = select("beside", "beside", [option("", "nothing"), ...methods.map((m) => option(m, m === "bi-epsilon" ? "bi + ε" : m.replace("gcm-",
    "geometry ")))], (value) => store.set({ beside: value }));
  const orders = ORDERS.filter((order) => order !== "similarity" || study.similarityOrder);
  const order = select("order", "order", orders.map((o) => option(o, o)), (value) => store.set({ order: value,
    view: null }));
  const sizes = study.linkage ? ["2", "3", "5", "10", "20", "50", "100"].filter((most) => Number(most) < study.n) : [];
  const ways = [...(study.groups.length > 0 ? ["given"] : []), ...sizes];
  const cuts = new Map(ways.map((way) => [act.cut(way), way]));
  const groups = ways.length > 0 ? select("groups", "groups", [option("0", "none"), ...ways.map((way) => option(
    way, way === "given" ? "as given" : `up to ${way}`)), option("own", "own")], act.groups) : null;
  const weighting = geometric.length > 1 ? select("weighting", "weighting", geometric.map((m) => option(m, m.slice(
    4))), (value) => store.set({ method: value })) : null;
  const toggle = (/** @type {string} */ name, /** @type {string} */ title, /** @type {string} */ text, /** @type {() => void} */ act) =>
    h("button", { class: text.length === 1 ? "toggle icon" : "toggle", "data-control": name, title, onclick: act,
      "aria-label": text.length === 1 ? title : undefined }, text);
  const log = toggle("log", "logarithmic colours (key l)", "log", () => store.set({ scale: store.state.scale === "log" ? "linear" : "log" }));
  const diagonal = toggle("diagonal", "hide the diagonal", "errors only", () =>
    store.set({ diagonal: store.state.diagonal === "hidden" ? "shown" : "hidden" }));
  const least = select("at least", "least", LEAST.map((n) => option(n, n === "0" ? "any count" : `${n} samples`)), (value) =>
    store.set({ least: value }));
  const fit = toggle("fit", "show all classes (key 0)", "show all", act.fit);
  const theme = toggle("theme", "light or dark", "◐", act.theme);
  const help = toggle("help", "keys and reading (key ?)", "?", act.help);
  const called = (/** @type {string} */ choice) => choice.startsWith("difference") ?
    (study.models.length === 2 ? "difference" : `${study.models[modelOf("bi", choice)].name} − ${study.models[0].name}`) :
    study.models[Number(choice)].name;
  const choices = study.models.length > 1 ? modelChoices(study.models.length) : [];
  const brief = tellApart(study.models.map((/** @type {any} */ model) => model.name), (text) => text.length <= MODEL_LETTERS);
  // Three buttons for two models; more of them are picked from a list.
  const models = choices.length === 3 ? h("div", { class: "choices models", role: "group", "aria-label": "model" },
    ...choices.map((value) => h("button", { class: "choice", "data-model": value, title: called(value), onclick: () => act.model(value) },
      ...named(called(value), brief[Number(value)] ?? called(value))))) : null;
  const picker = choices.length > 3 ? select("model", "model", choices.map((value) => option(value, called(value))), act.model) : null;
  const element = h("div", { class: "toolbar", role: "group", "aria-label": "view" },
    h("div", { class: "choices", role: "group", "aria-label": "normalization" }, ...buttons),
    models, h("div", { class: "fields" }, picker?.field, weighting?.field, order.field, groups?.field, beside.field, least.field,
      diagonal, log), act.exports, act.said);
  const corner = h("div", { class: "icons" }, theme, help);
  const update = (/** @type {import("./state.js").State} */ state) => {
    for (const button of buttons) {
      const own = button.dataset.method;
      button.setAttribute("aria-pressed", String(own === state.method || (own === "gcm" && isGeometric(state.method))));
    }
    const model = isGeometric(state.method) ? String(modelOf(state.method, state.model)) : state.model;
    models?.querySelectorAll("button").forEach((/** @type {any} */ button) => button.setAttribute("aria-pressed",
      String(button.dataset.model === model)));
    if (picker) picker.box.value = model;
    beside.box.value = state.beside;
    least.box.value = state.least;
    order.box.value = state.order;
    if (weighting) {
      weighting.field.hidden = !isGeometric(state.method);
      if (!weighting.field.hidden) weighting.box.value = state.method;
    }
    if (groups) {
      groups.field.hidden = state.near !== null;
      const known = state.collapsed.length === 0 ? "0" : cuts.get(state.collapsed.join()) ?? "own";
      groups.box.value = known;
      groups.box.options[groups.box.options.length - 1].hidden = known !== "own";
    }
    log.setAttribute("aria-pressed", String(state.scale === "log"));
    diagonal.setAttribute("aria-pressed", String(state.diagonal === "hidden"));
    fit.hidden = state.view === null && state.near === null;
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
      "bi is an estimate: what many more samples would show. bi + ε is its definition: counts plus epsilon, bi-normalized. Hatched cells rest on few samples or none. A dot is a cell where nothing was counted; a crossed-out cell belongs to a class without samples. Beside each row: recall, precision, bias (how many times as often as it should be the class is predicted, were all equally frequent), and n."
      ),
    h("p", { class: "soft" },
      "Drag to pan; pinch, or turn the wheel with Ctrl, to zoom. Keys act while the focus is on the matrix or its controls. Click a knot of the tree to collapse or open a group."
      ),
  );
  return dialog;
}
