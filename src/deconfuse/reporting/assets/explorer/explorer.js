// The explorer: one study in one element. Wires state, drawing and panels; shares nothing with others.

import { legendOf } from "./charts.js";
import { h, nameText } from "./dom.js";
import { exportMenu } from "./export-menu.js";
import { findingsContent } from "./findings.js";
import { isolate } from "./format.js";
import { branchesOf, cutTree } from "./groups.js";
import { inspectorContent } from "./inspector.js";
import { handleKey } from "./keyboard.js";
import { seen, treeLines } from "./layout.js";
import { MatrixView } from "./matrix-view.js";
import { Minimap } from "./minimap.js";
import { METHODS, isGeometric, readStudy } from "./model.js";
import { mostConfusedBlock } from "./order.js";
import { frameOf, paneOf } from "./panes.js";
import { paletteOf, shadesOf } from "./raster.js";
import { scatterContent } from "./scatter.js";
import { hiddenClassContent, searchField } from "./search.js";
import { footerOf, headerOf } from "./skeleton.js";
import { Store, defaultState, methodsOf, readHash, writeHash } from "./state.js";
import { cellWords, spoken, tableOf } from "./table.js";
import { inksOf, motionAllowed, rgbOf, themeOf } from "./theme.js";
import { helpDialog, toolbar } from "./toolbar.js";
import { centreOn, clampView, panBy, reveal, whole, zoomAt } from "./viewport.js";
import { watch } from "./watch.js";

const MANY = 60;
const BLOCK = 24;
const SHEET = { width: 490, height: 490 };
let made = 0;

/** @typedef {import("./state.js").State} State */

/** Everything one matrix, or one pair of them, needs on a page. */
export class Explorer {
  /** Whether this is drawn for paper. */
  printing = false;
  /** What the panels show, so that they are not built again for nothing. */
  panelKey = "";
  /** The state as the address bar holds it. @type {string|null} */
  hash = null;

  /**
   * @param {HTMLElement} host
   * @param {any} payload
   * @param {{css: string, page?: boolean, start?: string, onselect?: (selection: any) => void}} options
   */
  constructor(host, payload, options) {
    this.options = options;
    this.study = readStudy(payload);
    this.branches = this.study.linkage ? branchesOf(this.study.linkage, this.study.n) : new Map();
    this.defaults = { ...defaultState(this.study), view: this.#openingView() };
    const start = options.page ? location.hash : (options.start ?? "");
    const state = readHash(start, this.defaults, this.limits());
    this.store = new Store(state);
    /** @type {Map<string, import("./panes.js").Pane>} */
    this.panes = new Map();
    this.frame = frameOf(this.study, this.branches, state);
    this.hover = null;
    this.#build(host);
    this.store.listen((now, before) => this.#changed(now, before));
    this.applyTheme();
    /** Let go of everything outside the element. */
    this.destroy = watch(this, handleKey);
    this.render(false);
    if (this.study.n >= 200) this.#prepare([...METHODS]);
  }

  // With many classes a first look at a normalization takes a while: look ahead when idle.
  /** @param {string[]} methods */
  #prepare(methods) {
    const next = methods.pop();
    if (!next) return;
    const soon = window.requestIdleCallback ?? ((/** @type {() => void} */ act) => setTimeout(act, 60));
    soon(() => {
      const { model } = this.store.state;
      shadesOf(this.pane(next, model), this.frame.n);
      this.#prepare(methods);
    });
  }

  limits() {
    return { n: this.study.n, nBranches: this.branches.size, methods: methodsOf(this.study),
      models: this.study.models.length };
  }

  // Where a page without a link begins: many classes at the most confused ones, few with all.
  #openingView() {
    const { study } = this;
    if (study.n < MANY) return null;
    const { order } = frameOf(study, this.branches, defaultState(study));
    // The bucket, always last, mixes with everything: no place to begin.
    const places = study.bucketIndex < 0 ? order : order.slice(0, -1);
    const start = mostConfusedBlock(study.models[0].dense("bi"), places, BLOCK, study.n);
    return clampView({ x: start, y: start, span: BLOCK }, study.n);
  }

  /** @param {HTMLElement} host */
  #build(host) {
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(this.options.css);
    root.adoptedStyleSheets = [sheet];
    const id = `dc${made++}`;
    const { study } = this;
    const handlers = {
      select: (/** @type {any} */ at) => this.#pick(at),
      hover: (/** @type {any} */ at, /** @type {PointerEvent|null} */ event) => this.#pointed(at, event),
      zoom: (/** @type {any} */ pointer, /** @type {number} */ factor) => this.zoom(pointer, factor),
      pan: (/** @type {number} */ dx, /** @type {number} */ dy) => this.#pan(dx, dy),
      toggle: (/** @type {any} */ branch) => this.#toggle(branch),
    };
    const axes = "True classes on rows, predicted classes on columns. Use the arrow keys to move.";
    this.views = [new MatrixView(handlers, `Confusion matrix. ${axes}`), new MatrixView(handlers,
      `Second matrix. ${axes}`)];
    this.search = searchField(study, {
      shown: (k) => this.focusOn({ kind: "row", i: k, j: k }),
      hidden: (k) => this.inspector.replaceChildren(...hiddenClassContent(study.directory, k)),
    }, id);
    this.bar = toolbar(study, this.store, {
      groups: (most) => this.#cut(most),
      cut: (most) => cutTree(this.branches, most).join(),
      help: () => this.showHelp(),
      theme: () => this.#switchTheme(),
      fit: () => this.store.set({ view: null }),
      model: (model) => this.#choose(model),
    });
    this.captions = [h("p", { class: "caption" }), h("p", { class: "caption" })];
    this.legends = [h("div", { class: "legends" }), h("div", { class: "legends" })];
    this.figures = this.views.map((view, k) => h("figure", { class: "pane" }, this.captions[k], view.canvas, h(
      "div", { class: "foot" }, this.legends[k])));
    this.minimap = new Minimap((x, y) => this.#jump(x, y));
    this.figures[0].lastChild.append(h("div", { class: "overview" }, this.bar.fit, this.minimap.canvas));
    this.tip = h("div", { class: "tip", hidden: true });
    this.live = h("p", { class: "hidden", "aria-live": "polite" });
    this.tableBox = h("div", { class: "hidden" });
    this.said = h("span", { class: "said", role: "status" });
    this.stagePanes = h("div", { class: "panes" }, ...this.figures);
    this.stage = h("section", { class: "stage", "aria-label": "matrix" }, this.bar.element, this.stagePanes,
      this.tip, this.live, this.tableBox);
    this.inspector = h("aside", { class: "inspector", "aria-label": "inspector" });
    this.findings = h("nav", { class: "findings", "aria-label": "findings" }, ...findingsContent(study, (finding) =>
      this.#follow(finding)));
    this.help = helpDialog(study, () => this.views[0].canvas.focus());
    this.root = h("div", { class: `explorer${this.options.page ? " page" : ""}`, id },
      headerOf(study, this.search.element, this.bar.corner), h("div", { class: "body" }, this.findings,
        this.stage, this.inspector),
      footerOf(study, exportMenu(() => this.shown(), this.options.page ? () => location.href : null, (text) =>
        this.say(text)), this.said), this.help);
    root.replaceChildren(this.root);
  }

  applyTheme() {
    this.theme = this.printing ? "light" : themeOf(this.store.state.theme);
    this.root.dataset.theme = this.theme;
    if (this.options.page) document.documentElement.dataset.theme = this.theme;
    this.ink = inksOf(this.root);
    // Outside a document there are no colours yet: a notebook attaches the element later.
    this.themed = this.root.isConnected;
    this.panelKey = "";
    this.palette = paletteOf(this.theme, rgbOf(this.ink.paper), rgbOf(this.ink.unseen));
  }

  #switchTheme() {
    this.store.set({ theme: this.theme === "dark" ? "light" : "dark" });
  }

  /** @param {State} state @param {State} before */
  #changed(state, before) {
    if (state.collapsed !== before.collapsed) {
      this.frame = frameOf(this.study, this.branches, state);
      this.panes.clear();
    } else if (state.order !== before.order) this.frame = frameOf(this.study, this.branches, state, this.frame);
    if (state.theme !== before.theme) this.applyTheme();
    const moves = ["method", "model", "order", "collapsed", "scale", "beside"].some((key) =>
    state[ /** @type {keyof State} */ (key)] !== before[ /** @type {keyof State} */ (key)]);
    this.render((moves || this.glide === true) && motionAllowed());
    if (state.selection !== before.selection) this.options.onselect?.(state.selection);
  }

  /** @param {string} method @param {string} model */
  pane(method, model) {
    const { scale } = this.store.state;
    const key = `${method} ${model} ${scale}`;
    const known = this.panes.get(key);
    if (known) return known;
    const pane = paneOf(this.study, this.frame, { method, model, log: scale === "log" });
    this.panes.set(key, pane);
    return pane;
  }

  get view() {
    return this.store.state.view ? clampView(this.store.state.view, this.frame.n) : whole(this.frame.n);
  }

  /** Draw everything for the state as it is. @param {boolean} animate */
  render(animate) {
    const { state } = this.store;
    const { selection } = state;
    // A sheet has a width of its own, which the window does not know.
    const width = this.printing ? SHEET.width : this.stagePanes.clientWidth;
    const main = this.pane(state.method, state.model);
    const second = state.beside ? this.pane(state.beside, state.model) : null;
    const sideBySide = second && width >= 640;
    const paneWidth = sideBySide ? Math.floor((width - 20) / 2) : width;
    const high = this.printing ? SHEET.height : this.options.page ? this.#roomBelow() : 560;
    const tree = state.order === "similarity" && this.branches.size > 0;
    const lines = tree ? treeLines(this.branches, this.study.n, this.frame) : [];
    const unitSelection = selection && { kind: selection.kind, i: this.frame.unitOf[selection.i],
      j: this.frame.unitOf[selection.j] };
    this.figures[1].hidden = !second;
    if (selection) this.root.dataset.selected = selection.kind;
    else delete this.root.dataset.selected;
    [main, second].forEach((pane, k) => {
      if (!pane || width === 0) return;
      this.captions[k].replaceChildren(h("b", {}, pane.name), ` ${pane.sums}`);
      this.figures[k].style.width = `${paneWidth}px`;
      this.legends[k].replaceChildren(legendOf(pane, this.theme ?? "light"));
      this.views[k].show({
        pane,
        frame: this.frame,
        view: this.view,
        palette: this.palette,
        ink: this.ink,
        tree: lines,
        selection: unitSelection,
        hover: this.hover,
        limits: this.study.limits,
        room: { width: paneWidth, maxHeight: Math.max(420, high), tree },
      }, animate);
    });
    this.minimap.show(this.views[0].scene, this.view.span < this.frame.n);
    this.bar.update(state);
    this.#panels(main, unitSelection);
    this.#remember(state);
  }

  // The whole matrix with its legend should be seen without scrolling, where the window allows.
  #roomBelow() {
    const top = this.stagePanes.getBoundingClientRect().top + window.scrollY;
    return window.innerHeight - top - 136;
  }

  /** @param {import("./panes.js").Pane} pane @param {any} unitSelection */
  #panels(pane, unitSelection) {
    const { state } = this.store;
    // Panels follow what they show, not the window: panning must stay light.
    const key =
      `${state.method} ${state.model} ${state.scale} ${this.theme} ${state.collapsed} ${JSON.stringify(state.selection)}`;
    if (key !== this.panelKey) {
      this.panelKey = key;
      const context = { study: this.study, frame: this.frame, pane, state, theme: this.theme ?? "light",
      select: (/** @type {any} */ selection) => this.select(selection) };
      this.inspector.replaceChildren(...inspectorContent(context), ...scatterContent(this.study, this.frame,
        unitSelection, this.ink));
      this.inspector.scrollTop = 0;
      this.live.textContent = unitSelection ? spoken(pane, this.frame, unitSelection) : "";
    }
    clearTimeout(this.tableTimer);
    this.tableTimer = setTimeout(() => {
      const { rows, cols } = this.shown();
      this.tableBox.replaceChildren(tableOf(pane, this.frame, rows, cols));
    }, 120);
  }

  /** @param {State} state */
  #remember(state) {
    if (!this.options.page) return;
    const hash = writeHash(state, this.defaults);
    if (hash === this.hash) return;
    this.hash = hash;
    clearTimeout(this.hashTimer);
    // Written late, an address that was followed would overwrite the next.
    if (location.hash.slice(1) === hash) return;
    this.hashTimer = setTimeout(() => history.replaceState(null, "", `#${hash}`), 150);
  }

  /** What an export would hold. */
  shown() {
    const { view, frame } = this;
    const rows = seen(view.y, view.span, frame.n).map((at) => frame.order[at]);
    const cols = seen(view.x, view.span, frame.n).map((at) => frame.order[at]);
    return { pane: this.pane(this.store.state.method, this.store.state.model), frame, rows, cols,
      title: this.study.title, limits: this.study.limits };
  }

  /** @param {any} at a hit */
  #pick(at) {
    const i = this.frame.units[this.frame.order[at.row]].members[0];
    const j = this.frame.units[this.frame.order[at.col]].members[0];
    if (at.part === "row") this.store.set({ selection: { kind: "row", i, j: i } });
    else if (at.part === "col") this.store.set({ selection: { kind: "col", i: j, j } });
    else this.store.set({ selection: { kind: "cell", i, j } });
  }

  /** Select, and bring into view. @param {NonNullable<State["selection"]>} selection */
  select(selection) {
    const row = this.frame.place[this.frame.unitOf[selection.i]];
    const col = this.frame.place[this.frame.unitOf[selection.j]];
    const view = this.store.state.view && reveal(this.view, this.frame.n, row, col);
    this.store.set({ selection, view });
  }

  /** Select, and come close where there are many classes. @param {NonNullable<State["selection"]>} selection */
  focusOn(selection) {
    const { frame } = this;
    const row = frame.place[frame.unitOf[selection.i]];
    const col = frame.place[frame.unitOf[selection.j]];
    const view = frame.n > 40 ? centreOn(frame.n, row, col, Math.min(24, this.view.span)) : this.store.state.view &&
      reveal(this.view, frame.n, row, col);
    this.glide = true;
    this.store.set({ selection, view });
    this.glide = false;
  }

  /** @param {any} finding */
  #follow(finding) {
    const [cell] = finding.cells;
    const [k] = finding.classes;
    const biased = ["over_predicted", "under_predicted"].includes(finding.kind);
    if (cell) this.focusOn({ kind: "cell", i: cell[0], j: cell[1] });
    else this.focusOn({ kind: biased ? "col" : "row", i: k, j: k });
    const away = this.stage.getBoundingClientRect().top < -40 || this.root.clientWidth < 900;
    if (away) this.stage.scrollIntoView({ block: "start", behavior: motionAllowed() ? "smooth" : "auto" });
  }

  /** @param {any} at @param {PointerEvent|null} event */
  #pointed(at, event) {
    const before = this.hover;
    this.hover = at && { i: this.frame.order[at.row], j: this.frame.order[at.col] };
    if (before?.i !== this.hover?.i || before?.j !== this.hover?.j) {
      for (const view of this.views) {
        if (!view.scene) continue;
        view.scene.hover = this.hover;
        view.draw();
      }
    }
    this.tip.hidden = !this.hover;
    if (!this.hover || !event) return;
    const { i, j } = this.hover;
    const pane = this.pane(this.store.state.method, this.store.state.model);
    const { units } = this.frame;
    this.tip.replaceChildren(nameText(units[i].label), " → ", nameText(units[j].label), h("br"),
      h("b", {}, pane.method === "counts" && pane.kind === "value" ? "" : `${pane.method} `, cellWords(pane,
        this.frame, i, j)), pane.method === "counts" ? " samples" : "");
    const box = this.stage.getBoundingClientRect();
    const x = event.clientX - box.left;
    this.tip.style.left = `${Math.min(x + 14, box.width - 210)}px`;
    this.tip.style.top = `${event.clientY - box.top + 18}px`;
  }

  /** @param {{u: number, v: number}} pointer @param {number} factor */
  zoom(pointer, factor) {
    const view = zoomAt(this.view, this.frame.n, pointer, factor);
    this.store.set({ view: view.span >= this.frame.n ? null : view });
  }

  /** @param {number} dx @param {number} dy */
  #pan(dx, dy) {
    if (this.store.state.view) this.store.set({ view: panBy(this.view, this.frame.n, dx, dy) });
  }

  /** @param {number} x @param {number} y centre, 0 to 1 */
  #jump(x, y) {
    const { n } = this.frame;
    this.store.set({ view: clampView({ x: x * n - this.view.span / 2, y: y * n - this.view.span / 2,
      span: this.view.span }, n) });
  }

  /** @param {string} model */
  #choose(model) {
    this.store.set({ model });
    const [first] = this.study.models;
    if (isGeometric(this.store.state.method) && model !== "0") this.say(
      `geometry is that of ${isolate(first.name)}: the other model has no embeddings here`);
  }

  /** @param {{id: number, collapsed: boolean}} branch */
  #toggle(branch) {
    const { collapsed } = this.store.state;
    const next = branch.collapsed ? collapsed.filter((id) => id !== branch.id) : [...collapsed, branch.id];
    this.store.set({ collapsed: next, view: null });
  }

  /** @param {number} most classes of a group, 0 for no groups */
  #cut(most) {
    if (most < 0) return;
    const collapsed = most === 0 ? [] : cutTree(this.branches, most);
    this.store.set({ collapsed, order: most === 0 ? this.store.state.order : "similarity", view: null });
  }

  showHelp() {
    if (!this.help.open) this.help.showModal();
  }

  /** @param {string} text */
  say(text) {
    this.said.textContent = text;
    clearTimeout(this.saidTimer);
    this.saidTimer = setTimeout(() => (this.said.textContent = ""), 2500);
  }
}
