// The explorer: one study in one element. Wires state, drawing and panels; shares nothing with others.

import { legendOf } from "./charts.js";
import { h, nameText } from "./dom.js";
import { exportMenu } from "./export-menu.js";
import { findingsContent } from "./findings.js";
import { isolate, plural, short, times } from "./format.js";
import { branchesOf, cutTree, givenBranches } from "./groups.js";
import { inspectorContent, overlapLine } from "./inspector.js";
import { handleKey } from "./keyboard.js";
import { seen, treeLines } from "./layout.js";
import { MatrixView } from "./matrix-view.js";
import { Minimap } from "./minimap.js";
import { METHODS, isGeometric, readStudy } from "./model.js";
import { nameOf, nearestTo, studyOf } from "./nearest.js";
import { mostConfusedBlock } from "./order.js";
import { stripAt, stripWords } from "./outcomes.js";
import { frameOf, modelOf, paneOf } from "./panes.js";
import { paletteOf, shadesOf } from "./raster.js";
import { scatterContent } from "./scatter.js";
import { searchField } from "./search.js";
import { footerOf, headerOf } from "./skeleton.js";
import { Store, defaultState, methodsOf, readHash, writeHash } from "./state.js";
import { comparingContent, storyContent, storyMarks, storyPairs } from "./story.js";
import { cellId, cellWords, gridLabel, gridRows, spoken } from "./table.js";
import { inksOf, motionAllowed, rgbOf, themeOf } from "./theme.js";
import { helpDialog, toolbar } from "./toolbar.js";
import { centreOn, clampView, panBy, reveal, whole, zoomAt } from "./viewport.js";
import { watch } from "./watch.js";

const MANY = 60;
const BLOCK = 24;
// Of the height of the window, what the cells keep where other things take room.
const LEAST = 0.57;
const SHEET = { width: 490, height: 490 };
// What a change of the study undoes.
const WHOLE = { near: /** @type {number|null} */ (null), selection: /** @type {null} */ (null), collapsed: /** @type {number[]} */ ([]),
  view: /** @type {null} */ (null), order: "given" };
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
  /** Whether the address has led here, and so must not be written again. */
  travelling = false;
  /** Whether the counts stand where bi will be. */
  playing = false;
  /** Whether the reader is on the way, and comes back to where the way began. */
  stepping = false;

  /**
   * @param {HTMLElement} host
   * @param {any} payload
   * @param {{css: string, page?: boolean, start?: string, onselect?: (selection: any) => void}} options
   */
  constructor(host, payload, options) {
    this.options = options;
    /** All that the page holds; what is shown of it is the study. */
    this.full = readStudy(payload);
    this.study = this.full;
    /** Branches of the tree of similarity. */
    this.tree = this.study.linkage ? branchesOf(this.study.linkage, this.study.n) : new Map();
    this.given = givenBranches(this.study.groups, this.study.n + this.tree.size);
    /** Everything that can be collapsed. */
    this.branches = new Map([...this.tree, ...this.given]);
    this.defaults = { ...defaultState(this.study), view: this.#openingView() };
    const start = options.page ? location.hash : (options.start ?? "");
    const state = readHash(start, this.defaults, this.limits());
    this.study = this.#studied(state);
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
    this.#remember(state, false);
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
    return { n: this.full.n, nBranches: this.branches.size, methods: methodsOf(this.full),
      strips: this.full.strips.map((/** @type {any} */ strip) => strip.side),
      models: this.full.models.length, nearby: (/** @type {number} */ k) => this.#nearby(k).length };
  }

  /** A class of very many and those nearest to it. @param {number} k */
  #nearby(k) {
    const { directory, n } = this.full;
    return directory && k < n - 1 + directory.labels.length ? nearestTo(this.full, k) : [];
  }

  /** What is studied: everything, or one class with its nearest. @param {State} state */
  #studied({ near }) {
    return near === null ? this.full : studyOf(this.full, this.#nearby(near));
  }

  // Where a page without a link begins: many classes at the most confused ones, few with all.
  #openingView() {
    const { study } = this;
    if (study.n < MANY) return null;
    const { order } = frameOf(study, this.branches, defaultState(study));
    // The bucket, always last, mixes with everything: no place to begin.
    const places = study.bucketIndex < 0 ? order : order.slice(0, -1);
    // What rests on a few samples may be luck, and is no place to begin either.
    const model = study.models.at(-1);
    const counts = model.dense("counts");
    const certain = model.dense("bi").map((/** @type {number} */ value, /** @type {number} */ k) => (counts[k]
      >= study.limits.few_samples ? value : 0));
    // The pair of the headline is what the picture proves.
    const [pair] = storyPairs(study);
    const start = mostConfusedBlock(certain, places, BLOCK, study.n, pair?.classes);
    return clampView({ x: start, y: start, span: BLOCK }, study.n);
  }

  /** @param {HTMLElement} host */
  #build(host) {
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(this.options.css);
    root.adoptedStyleSheets = [sheet];
    const id = `dc${made++}`;
    const study = this.full;
    const handlers = {
      select: (/** @type {any} */ at) => this.#pick(at),
      hover: (/** @type {any} */ at, /** @type {PointerEvent|null} */ event) => this.#pointed(at, event),
      zoom: (/** @type {any} */ pointer, /** @type {number} */ factor) => this.zoom(pointer, factor),
      pan: (/** @type {number} */ dx, /** @type {number} */ dy) => this.#pan(dx, dy),
      toggle: (/** @type {any} */ branch) => this.#toggle(branch),
    };
    this.views = [new MatrixView(handlers), new MatrixView(handlers, "Second confusion matrix, beside the first")];
    this.before = new MatrixView(handlers, "The counts, before bi-normalization");
    this.search = searchField(this.full, (k) => {
      if (this.full.directory) this.store.set({ ...WHOLE, near: k, selection: { kind: "row", i: 0, j: 0 } });
      else this.focusOn({ kind: "row", i: k, j: k });
    }, id);
    this.said = h("span", { class: "said", role: "status" });
    this.bar = toolbar(study, this.store, {
      groups: (choice) => this.#cut(choice),
      cut: (choice) => this.#collapsed(choice).join(),
      help: () => this.showHelp(),
      theme: () => this.#switchTheme(),
      fit: () => this.showAll(),
      model: (model) => this.#choose(model),
      exports: exportMenu(() => this.shown(), this.options.page ? () => location.href : null, (text) => this.say(text)),
      said: this.said,
    });
    this.captions = [h("figcaption", { class: "caption" }), h("figcaption", { class: "caption" })];
    this.legends = [h("div", { class: "legends" }), h("div", { class: "legends" })];
    this.feet = this.legends.map((legend) => h("div", { class: "foot" }, legend));
    this.figures = this.views.map((view, k) => h("figure", { class: "pane" }, this.captions[k], view.canvas, this.feet[k]));
    this.minimap = new Minimap((x, y) => this.#jump(x, y));
    this.feet[0].append(h("div", { class: "overview" }, this.bar.fit, this.minimap.canvas));
    this.tip = h("div", { class: "tip", hidden: true });
    this.live = h("p", { class: "hidden", "aria-live": "polite" });
    this.stagePanes = h("div", { class: "panes" }, ...this.figures);
    this.stage = h("section", { class: "stage", "aria-label": "matrix" }, this.stagePanes, this.tip, this.live);
    this.inspector = h("aside", { class: "inspector", "aria-label": "inspector" });
    this.findings = h("nav", { class: "findings", "aria-label": "findings" }, ...findingsContent(study, (finding) =>
      this.#follow(finding)));
    this.help = helpDialog(study, () => this.views[0].canvas.focus());
    this.body = h("div", { class: "body" }, this.findings, this.inspector, this.stage);
    this.root = h("div", { class: `explorer${this.options.page ? " page" : ""}`, id },
      headerOf(study, this.search.element, this.bar.corner), this.bar.element, this.body, footerOf(study), this.help);
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
    if (state.near !== before.near) this.study = this.#studied(state);
    if (state.collapsed !== before.collapsed || state.near !== before.near) {
      this.frame = frameOf(this.study, this.branches, state);
      this.panes.clear();
    } else if (state.order !== before.order || state.model !== before.model) {
      this.frame = frameOf(this.study, this.branches, state, this.frame);
    }
    this.playing = false;
    if (state.theme !== before.theme) this.applyTheme();
    const differs = (/** @type {(keyof State)[]} */ keys) => keys.some((key) => state[key] !== before[key]);
    const moves = differs(["method", "model", "order", "collapsed", "scale", "beside", "near"]);
    this.render((moves || this.glide === true) && motionAllowed());
    // A step that Back should retrace; walking with the arrow keys and panning are none.
    this.#remember(state, !this.stepping && (moves || differs(["selection", "diagonal", "least"])));
    if (state.selection !== before.selection) this.options.onselect?.(state.selection);
  }

  /** @param {string} method @param {string} model */
  pane(method, model) {
    const { scale, least, diagonal } = this.store.state;
    const key = `${method} ${model} ${scale} ${least} ${diagonal}`;
    const known = this.panes.get(key);
    if (known) return known;
    const pane = paneOf(this.study, this.frame, { method, model, log: scale === "log", least: Number(least), diagonal });
    this.panes.set(key, pane);
    return pane;
  }

  get view() {
    return this.store.state.view ? clampView(this.store.state.view, this.frame.n) : whole(this.frame.n);
  }

  /** Draw everything for the state as it is. @param {boolean|"slowly"} animate */
  render(animate) {
    const { state } = this.store;
    const { selection } = state;
    // Two large matrices need the width of a panel: theirs comes above the findings.
    this.body.classList.toggle("stacked", state.beside !== "");
    // A sheet has a width of its own, which the window does not know.
    const width = this.printing ? SHEET.width : this.stagePanes.clientWidth;
    const main = this.pane(this.playing ? "counts" : state.method, state.model);
    const second = state.beside ? this.pane(state.beside, state.model) : null;
    const paneWidth = second && width >= 640 ? Math.floor((width - 20) / 2) : width;
    const tree = state.order === "similarity" && this.tree.size > 0;
    const unitSelection = selection && { ...selection, i: this.frame.unitOf[selection.i], j: this.frame.unitOf[selection.j] };
    const scene = {
      frame: this.frame,
      view: this.view,
      palette: this.palette,
      ink: this.ink,
      tree: tree ? treeLines(this.tree, this.study.n, this.frame) : [],
      selection: unitSelection,
      marks: storyMarks(this.study, this.frame),
      hover: this.hover,
      limits: this.study.limits,
    };
    this.figures[1].hidden = !second;
    // Before comes before after.
    this.figures[1].classList.toggle("first", state.beside === "counts");
    if (selection) this.root.dataset.selected = selection.kind;
    else delete this.root.dataset.selected;
    [main, second].forEach((pane, k) => {
      if (!pane || width === 0) return;
      const alone = this.study.n === 1 ? ", never confused with another class" : " and its nearest of all classes";
      const near = state.near === null ? "" : ` · ${isolate(nameOf(this.full, state.near))}${alone}`;
      this.captions[k].replaceChildren(h("b", {}, pane.name, near), ` ${pane.sums}`);
      this.figures[k].style.width = `${paneWidth}px`;
      this.legends[k].replaceChildren(legendOf(pane, this.theme ?? "light"));
      const least = this.options.page && !this.printing ? LEAST * window.innerHeight : undefined;
      this.views[k].show({ ...scene, pane, room: { width: paneWidth, maxHeight: this.#roomFor(k), tree, least } }, animate);
      const { edge, tree: branches, columns, columnWidth } = this.views[k].scene.layout;
      // On a wide screen the small map stays beside its matrix.
      this.feet[k].style.maxWidth = `${Math.max(900, edge + branches + columns * columnWidth)}px`;
    });
    // Of more than two models the header tells of those that are shown.
    const told = [modelOf(state.method, state.model), state.model.startsWith("difference") ? 0 : -1];
    const { models } = this.study;
    [...this.root.querySelectorAll("header .model")].forEach((element, k) => (element.hidden = models.length > 2 && !told.includes(k)));
    this.minimap.show(this.views[0].scene, this.view.span < this.frame.n);
    this.bar.update(state);
    this.#panels(main, unitSelection, scene);
  }

  // The whole matrix with its legend should be seen without scrolling, where the window allows.
  /** @param {number} k pane */
  #roomFor(k) {
    if (this.printing) return SHEET.height;
    if (!this.options.page) return 560;
    const top = this.body.getBoundingClientRect().top + window.scrollY;
    const around = this.captions[k].offsetHeight + this.feet[k].offsetHeight + 6;
    return Math.max(300, window.innerHeight - top - around);
  }

  /** @param {import("./panes.js").Pane} pane @param {any} unitSelection @param {any} scene */
  #panels(pane, unitSelection, scene) {
    const { state } = this.store;
    // Panels follow what they show, not the window: panning must stay light.
    const key =
      `${state.near} ${state.method} ${state.beside} ${state.model} ${state.scale} ${this.theme} ${state.collapsed} ${this.playing} ${JSON.stringify(state.selection)}`;
    if (key !== this.panelKey) {
      this.panelKey = key;
      this.inspector.replaceChildren(...this.#inspected(pane), ...scatterContent(this.study, this.frame, unitSelection,
        this.ink));
      this.inspector.scrollTop = 0;
      if (unitSelection && this.options.page && getComputedStyle(this.inspector).bottom === "0px") this.#uncover(unitSelection);
      this.live.textContent = unitSelection ? spoken(pane, this.frame, unitSelection) : "";
    }
    if (!state.selection && !state.beside && this.study.models.length === 1 && this.inspector.clientWidth > 0) {
      this.before.show({ ...scene, pane: this.pane("counts", "0"), room: { width: this.inspector.clientWidth, maxHeight: 300,
        tree: false, compact: true } }, false);
    }
    clearTimeout(this.gridTimer);
    this.gridTimer = setTimeout(() => this.#tellGrid(pane, unitSelection), 120);
  }

  /** Scroll until the sheet at the lower edge of a phone leaves the selected row in view. @param {any} selection units */
  #uncover(selection) {
    const { layout } = this.views[0].scene;
    const row = selection.kind === "col" ? 0 : this.frame.place[selection.i] + 1 - this.view.y;
    const below = this.views[0].canvas.getBoundingClientRect().top + layout.y + row / this.view.span * layout.side;
    const hidden = below - (window.innerHeight - this.inspector.offsetHeight);
    if (row >= 0 && row <= this.view.span && hidden > 0) window.scrollBy({ top: hidden + 8 });
  }

  /** @param {import("./panes.js").Pane} pane @returns {Node[]} */
  #inspected(pane) {
    const { study, frame } = this;
    const { state } = this.store;
    if (state.selection) {
      const context = { study, frame, pane, state, given: this.given, toggle: (/** @type {any} */ branch) => this.#toggle(branch),
        select: (/** @type {any} */ selection) => this.select(selection) };
      return [h("button", { class: "toggle icon close", "aria-label": "close", onclick: () => this.store.set({ selection: null }) },
        "×"), ...inspectorContent(context, state.selection)];
    }
    if (study.models.length > 1) return comparingContent(study, overlapLine);
    // Beside one another the large ones tell it.
    if (state.beside) return [];
    return storyContent(study, { canvas: this.before.canvas, play: () => this.play(), playing: this.playing,
      motion: motionAllowed(), follow: (finding) => this.#follow(finding) });
  }

  // The canvas holds the cells in view as a grid, for those who do not see it.
  /** @param {import("./panes.js").Pane} pane @param {any} selection units */
  #tellGrid(pane, selection) {
    const { canvas } = this.views[0];
    const { rows, cols } = this.shown();
    const cell = selection?.kind === "cell" || selection?.strip !== undefined ? selection : null;
    canvas.setAttribute("aria-label", gridLabel(pane, this.frame, rows.length));
    canvas.replaceChildren(...gridRows(pane, this.frame, rows, cols, { id: this.root.id, selection: cell }));
    const active = cell && cellId(this.root.id, cell);
    // A cell out of view is not in the grid.
    if (active && canvas.querySelector(`#${active}`)) canvas.setAttribute("aria-activedescendant", active);
    else canvas.removeAttribute("aria-activedescendant");
  }

  /** Show the counts where bi is; then, where things may move, let them become bi. */
  play() {
    clearTimeout(this.playTimer);
    this.playing = !this.playing;
    this.render(false);
    if (!this.playing || !motionAllowed()) return;
    this.playTimer = setTimeout(() => {
      if (!this.playing) return;
      this.playing = false;
      this.render("slowly");
    }, 900);
  }

  /** @param {State} state @param {boolean} step whether Back should come back to the one before */
  #remember(state, step) {
    if (!this.options.page) return;
    const hash = writeHash(state, this.defaults);
    if (hash === this.hash) return;
    this.hash = hash;
    clearTimeout(this.hashTimer);
    // Written late, an address that was followed would overwrite the next.
    if (location.hash.slice(1) === hash) return;
    const write = (/** @type {"pushState"|"replaceState"} */ how) => {
      try {
        history[how](null, "", `#${hash}`);
      } catch {
        // Inside a frame that has no address of its own there is nothing to write.
      }
    };
    if (step && !this.travelling) write("pushState");
    else this.hashTimer = setTimeout(() => write("replaceState"), 150);
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
    const below = at.part === "strip" && this.study.strips[at.strip].side === "background";
    if (at.part === "strip") {
      this.store.set({ selection: below ? { kind: "col", i: j, j, strip: at.strip } : { kind: "row", i, j: i, strip: at.strip } });
    } else if (at.part === "row") this.store.set({ selection: { kind: "row", i, j: i } });
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

  /** Select the next cell, on the way to another. @param {NonNullable<State["selection"]>} selection */
  step(selection) {
    this.stepping = true;
    this.select(selection);
    this.stepping = false;
  }

  /** Select, and come close where there are many classes. @param {NonNullable<State["selection"]>} selection @param {Partial<State>} [also] */
  focusOn(selection, also = {}) {
    const { frame } = this;
    const row = frame.place[frame.unitOf[selection.i]];
    const col = frame.place[frame.unitOf[selection.j]];
    const view = frame.n > 40 ? centreOn(frame.n, row, col, Math.min(24, this.view.span)) : this.store.state.view &&
      reveal(this.view, frame.n, row, col);
    this.glide = true;
    this.store.set({ ...also, selection, view });
    this.glide = false;
  }

  /** All classes, from wherever the reader has gone. */
  showAll() {
    this.store.set(this.store.state.near === null ? { view: null } : { ...WHOLE, order: this.defaults.order, view: this.defaults.view });
  }

  /** @param {any} finding */
  #follow(finding) {
    if (this.store.state.near !== null) this.showAll();
    const [cell] = finding.cells;
    const [k] = finding.classes;
    if (finding.kind === "outcome" && cell) {
      this.focusOn({ kind: cell[1] >= this.full.n ? "row" : "col", i: k, j: k, strip: stripAt(this.full, cell) },
        { model: String(this.study.models.length - 1) });
      return;
    }
    const biased = ["over_predicted", "under_predicted"].includes(finding.kind);
    // A bias shows in row, where the column sums are its ratios; in bi it has been divided out.
    const method = biased ? "row" : finding.kind === "careful" ? this.store.state.method : "bi";
    // Of several models the last is diagnosed.
    const also = biased ? { method, model: String(this.study.models.length - 1) } : { method };
    if (cell) this.focusOn({ kind: "cell", i: cell[0], j: cell[1] }, also);
    else this.focusOn({ kind: biased ? "col" : "row", i: k, j: k }, also);
    const away = this.stage.getBoundingClientRect().bottom < 80 || this.root.clientWidth < 780;
    if (away) this.stage.scrollIntoView({ block: "start", behavior: motionAllowed() ? "smooth" : "auto" });
  }

  /** @param {any} at @param {PointerEvent|null} event */
  #pointed(at, event) {
    const before = this.hover;
    const { order, units } = this.frame;
    const beside = at && (at.part === "row" || (at.part === "strip" && this.study.strips[at.strip].side === "answer"));
    const below = at && !beside && at.part !== "cell";
    this.hover = at && { i: below ? -1 : order[at.row], j: beside ? -1 : order[at.col], strip: at.strip };
    if (before?.i !== this.hover?.i || before?.j !== this.hover?.j || before?.strip !== this.hover?.strip) {
      for (const view of [...this.views, this.before]) {
        if (!view.scene) continue;
        view.scene.hover = this.hover;
        view.draw();
      }
    }
    this.tip.hidden = !this.hover;
    if (!this.hover || !event) return;
    const { i, j, strip } = this.hover;
    const pane = this.pane(this.store.state.method, this.store.state.model);
    if (strip !== undefined) {
      const names = [nameText(units[Math.max(i, j)].label), h("i", {}, pane.strips[strip].name)];
      this.tip.replaceChildren(...(j < 0 ? [names[0], " → ", names[1]] : [names[1], " → ", names[0]]), h("br"), h("b", {},
        stripWords(pane, pane.strips[strip], Math.max(i, j))));
    } else if (j < 0) {
      const { recall, precision, bias } = pane.metrics();
      this.tip.replaceChildren("true ", nameText(units[i].label), h("br"), plural(pane.labelCounts[i], "sample"), h("br"),
        `recall ${short(recall[i], 2)}, precision ${short(precision[i], 2)}, bias ${times(bias[i])}`);
    }
    else if (i < 0) this.tip.replaceChildren("predicted ", nameText(units[j].label), h("br"), plural(pane.predictionCounts[j],
      "prediction"));
    else this.tip.replaceChildren(nameText(units[i].label), " → ", nameText(units[j].label), h("br"),
      h("b", {}, pane.method === "counts" && pane.kind === "value" ? "" : `${pane.method} `, cellWords(pane,
        this.frame, i, j)), pane.method === "counts" ? " samples" : "");
    const box = this.stage.getBoundingClientRect();
    const x = event.clientX - box.left;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, box.width - 210))}px`;
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

  /** Branches that a choice of groups collapses. @param {string} choice "0" for none, "given", or the most classes of a group */
  #collapsed(choice) {
    if (choice === "given") return [...this.given.keys()];
    return choice === "0" ? [] : cutTree(this.tree, Number(choice));
  }

  /** @param {string} choice */
  #cut(choice) {
    const { order } = this.store.state;
    this.store.set({ collapsed: this.#collapsed(choice), order: Number(choice) > 0 ? "similarity" : order, view: null });
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
