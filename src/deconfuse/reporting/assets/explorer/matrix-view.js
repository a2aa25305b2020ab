// One matrix on a canvas: sizes itself, draws, moves, and tells what the pointer does.

import { h } from "./dom.js";
import { hit, layoutOf } from "./layout.js";
import { FONT, cellSize, paintCells, paintDetails, paintLabels, paintMovingCells } from "./paint.js";
import { paintStrips } from "./paint-outcomes.js";
import { knotAt, paintBars, paintColumns, paintSelection, paintTree } from "./paint-around.js";
import { tellApart } from "./names.js";
import { imageOf, rasterize, shadesOf } from "./raster.js";
import { between, whole } from "./viewport.js";

const MORPH = 300;
// Played on request, counts become bi slowly enough to follow.
const SLOW = 900;
// Above this many classes cells cross-fade instead of travelling.
const TRAVEL_LIMIT = 80;

/**
 * @typedef {object} Handlers
 * @property {(at: ReturnType<typeof hit>) => void} select
 * @property {(at: ReturnType<typeof hit>|null, event: PointerEvent|null) => void} hover
 * @property {(pointer: {u: number, v: number}, factor: number) => void} zoom
 * @property {(dx: number, dy: number) => void} pan
 * @property {(branch: {id: number, collapsed: boolean}) => void} toggle
 */

/** A canvas with one matrix. */
export class MatrixView {
  /** @param {Handlers} handlers @param {string} [label] of a drawing that only illustrates; without it this is a grid */
  constructor(handlers, label) {
    this.handlers = handlers;
    const role = label ? { role: "img", "aria-label": label } : { role: "grid", tabindex: "0" };
    this.canvas = h("canvas", { ...role, class: "matrix" });
    this.buffer = document.createElement("canvas");
    /** @type {any} */
    this.scene = null;
    this.animation = 0;
    this.ratio = 1;
    this.#listen();
  }

  #listen() {
    const { canvas, handlers } = this;
    /** @type {Map<number, PointerEvent>} */
    const pointers = new Map();
    let moved = 0;
    const at = (/** @type {{clientX: number, clientY: number}} */ event) => {
      const box = canvas.getBoundingClientRect();
      return { px: event.clientX - box.left, py: event.clientY - box.top };
    };
    const target = (/** @type {{clientX: number, clientY: number}} */ event) => {
      const { px, py } = at(event);
      return hit(this.scene.layout, this.scene.view, this.scene.frame.n, px, py);
    };
    canvas.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
      if (!this.scene || event.button !== 0) return;
      pointers.set(event.pointerId, event);
      moved = 0;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
      if (!this.scene) return;
      const last = pointers.get(event.pointerId);
      if (!last) {
        const where = target(event);
        canvas.style.cursor = where.part ? (where.part === "tree" && !knotAt(this.scene, at(event).px,
          at(event).py) ? "" : "pointer") : "";
        handlers.hover(["cell", "row", "col", "strip"].includes(where.part) ? where : null, event);
        return;
      }
      const size = cellSize(this.scene);
      if (pointers.size === 2) {
        moved = Infinity;
        this.#pinch(pointers, event, target);
        // Two fingers also move the view, each its half of the way.
        handlers.pan((last.clientX - event.clientX) / size / 2, (last.clientY - event.clientY) / size / 2);
      } else if (event.pointerType !== "touch") {
        moved += Math.abs(event.clientX - last.clientX) + Math.abs(event.clientY - last.clientY);
        if (moved > 4) handlers.pan((last.clientX - event.clientX) / size, (last.clientY - event.clientY) /
          size);
      }
      pointers.set(event.pointerId, event);
    });
    canvas.addEventListener("pointerup", (/** @type {PointerEvent} */ event) => {
      const single = pointers.size === 1;
      pointers.delete(event.pointerId);
      if (!this.scene || !single || moved > 4) return;
      const { px, py } = at(event);
      const where = target(event);
      const knot = where.part === "tree" ? knotAt(this.scene, px, py) : null;
      if (knot) handlers.toggle(knot);
      else if (where.part && where.part !== "tree") handlers.select(where);
    });
    canvas.addEventListener("pointercancel", (/** @type {PointerEvent} */ event) =>
      pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => handlers.hover(null, null));
    canvas.addEventListener("dblclick", (/** @type {MouseEvent} */ event) => {
      const { u, v, part } = target(event);
      if (part === "cell") handlers.zoom({ u, v }, 0.5);
    });
    canvas.addEventListener("wheel", (/** @type {WheelEvent} */ event) => {
      if (!this.scene) return;
      const { u, v, part } = target(event);
      // A page must stay scrollable: the wheel zooms with Ctrl, or where a reader of many classes has gone to the matrix.
      const entered = canvas.matches(":focus") && this.scene.frame.n > 24;
      if (part !== "cell" || (!event.ctrlKey && !event.metaKey && !entered)) return;
      const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY / 240)));
      event.preventDefault();
      handlers.zoom({ u, v }, factor);
    }, { passive: false });
    // One finger scrolls the page, always; two are for the matrix.
    canvas.addEventListener("touchmove", (/** @type {TouchEvent} */ event) => {
      if (event.touches.length > 1) event.preventDefault();
    }, { passive: false });
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => this.draw());
  }

  /** @param {Map<number, PointerEvent>} pointers @param {PointerEvent} event @param {(e: PointerEvent) => any} target */
  #pinch(pointers, event, target) {
    const [a, b] = [...pointers.values()];
    const other = a.pointerId === event.pointerId ? b : a;
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const distance = (/** @type {PointerEvent} */ p) => Math.hypot(p.clientX - other.clientX,
      p.clientY - other.clientY);
    const { u, v } = target(event);
    if (distance(event) > 10) this.handlers.zoom({ u, v }, distance(before) / distance(event));
  }

  /**
   * Show a new scene, moving there from the old one.
   * @param {any} next a scene without layout and shades, plus `room` for the layout
   * @param {boolean|"slowly"} animate
   */
  show(next, animate) {
    const before = this.scene;
    const g = this.canvas.getContext("2d");
    g.font = `600 12px ${FONT}`;
    const view = next.view ?? whole(next.frame.n);
    const widest = next.room.widest ?? this.#widest(g, next.frame);
    const room = { ...next.room, widest, n: next.frame.n, span: view.span, strips: this.#strips(g, next) };
    const layout = this.#fitted(g, next.frame, room, layoutOf(room));
    this.scene = {
      ...next,
      view,
      layout,
      shades: shadesOf(next.pane, next.frame.n),
      places: next.frame.place,
      bars: { rows: next.pane.rows, cols: next.pane.cols },
    };
    this.#resize(layout);
    cancelAnimationFrame(this.animation);
    const changed = before && (before.pane !== next.pane || before.frame !== next.frame || viewDiffers(before.view,
      view));
    if (!animate || !changed || before.palette !== next.palette) {
      this.draw();
      return;
    }
    this.#animate(before, animate === "slowly" ? SLOW : MORPH);
  }

  // Names that are cut short leave room, which the cells should have.
  /** @param {CanvasRenderingContext2D} g @param {import("./panes.js").Frame} frame @param {Parameters<typeof layoutOf>[0]} room @param {import("./layout.js").Layout} layout */
  #fitted(g, frame, room, layout) {
    if (!layout.upright || frame.n > 200) return layout;
    g.font = `600 12px ${FONT}`;
    const most = (layout.labelHeight - 8) / Math.max(1, layout.font / 12);
    if (room.widest <= most + 0.5) return layout;
    const names = tellApart(frame.units.map((unit) => unit.label), (text) => g.measureText(text).width <= most);
    return layoutOf({ ...room, widestColumn: Math.max(...names.map((name) => g.measureText(name).width)) });
  }

  /** Outcomes to make room for; a small picture shows none. @param {CanvasRenderingContext2D} g @param {any} next */
  #strips(g, { pane, room }) {
    const strips = room.compact ? [] : pane.strips;
    const side = (/** @type {string} */ name) => strips.filter((/** @type {any} */ strip) => strip.side === name).length;
    const widths = strips.map((/** @type {any} */ strip) => g.measureText(strip.name.slice(0, 40)).width);
    return { answers: side("answer"), backgrounds: side("background"), widest: Math.max(0, ...widths) };
  }

  /** @param {CanvasRenderingContext2D} g @param {import("./panes.js").Frame} frame */
  #widest(g, frame) {
    let widest = 0;
    for (const [k, unit] of frame.units.entries()) {
      // The bucket, one long name among very many short ones, is cut instead.
      if (k !== frame.bucket) widest = Math.max(widest, g.measureText(unit.label.slice(0, 40)).width);
    }
    return widest;
  }

  /** @param {import("./layout.js").Layout} layout */
  #resize(layout) {
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    const width = Math.round(layout.width * ratio);
    const height = Math.round(layout.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.canvas.style.width = `${layout.width}px`;
      this.canvas.style.height = `${layout.height}px`;
    }
    this.ratio = ratio;
  }

  /** @param {any} before @param {number} duration */
  #animate(before, duration) {
    const after = this.scene;
    const sameUnits = before.frame.n === after.frame.n && before.frame.units.every((/** @type {any} */
      u, /** @type {number} */ k) => u.id === after.frame.units[k].id);
    const travels = sameUnits && before.frame.order.some((/** @type {number} */ u, /** @type {number} */ k) =>
      u !== after.frame.order[k]);
    const still = document.createElement("canvas");
    still.width = this.canvas.width;
    still.height = this.canvas.height;
    const old = { ...before, layout: after.layout, view: sameUnits ? after.view : before.view };
    this.#paint(still.getContext("2d"), old, false);
    const started = performance.now();
    const step = (/** @type {number} */ now) => {
      const t = Math.min(1, (now - started) / duration);
      const eased = t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2;
      if (t >= 1) {
        this.scene = after;
        this.draw();
        return;
      }
      const mix = (/** @type {ArrayLike<number>} */ a, /** @type {ArrayLike<number>} */ b) => Float64Array.from(
        b, (v, k) => a[k] + eased * (v - a[k]));
      const moving = { ...after };
      if (sameUnits) {
        moving.bars = { rows: mix(before.bars.rows, after.bars.rows), cols: mix(before.bars.cols,
          after.bars.cols) };
        moving.view = between(before.view, after.view, eased);
        if (travels && after.frame.n <= TRAVEL_LIMIT) moving.places = mix(before.places, after.places);
      }
      const g = this.canvas.getContext("2d");
      const onTheWay = moving.places !== after.places;
      this.#paint(g, moving, onTheWay);
      const stays = !onTheWay && !viewDiffers(before.view, after.view);
      if (stays) this.#crossFade(g, still, after.layout, 1 - eased);
      this.animation = requestAnimationFrame(step);
    };
    this.animation = requestAnimationFrame(step);
  }

  /** @param {CanvasRenderingContext2D} g @param {HTMLCanvasElement} still @param {import("./layout.js").Layout} layout @param {number} alpha */
  #crossFade(g, still, layout, alpha) {
    const { x, y, side } = layout;
    const r = this.ratio ?? 1;
    g.globalAlpha = alpha;
    g.drawImage(still, x * r, y * r, side * r, side * r, x, y, side, side);
    g.globalAlpha = 1;
  }

  /** Draw the scene as it stands. */
  draw() {
    if (this.scene) this.#paint(this.canvas.getContext("2d"), this.scene, false);
  }

  /** @param {CanvasRenderingContext2D} g @param {any} scene @param {boolean} moving */
  #paint(g, scene, moving) {
    const ratio = this.ratio ?? 1;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = scene.ink.paper;
    g.fillRect(0, 0, scene.layout.width, scene.layout.height);
    if (moving) paintMovingCells(g, scene);
    else {
      const raster = rasterize(scene.shades, scene.palette, scene.frame, scene.view, Math.max(1,
        Math.round(scene.layout.side * ratio)));
      paintCells(g, scene, this.#image(raster), raster);
      paintDetails(g, scene);
    }
    paintBars(g, scene);
    paintLabels(g, scene);
    paintColumns(g, scene);
    paintStrips(g, scene);
    if (scene.tree.length > 0) paintTree(g, scene);
    paintSelection(g, scene, this.canvas.matches(":focus-visible"));
  }

  /** @param {import("./raster.js").Raster} raster */
  #image(raster) {
    const { buffer } = this;
    buffer.width = raster.width;
    buffer.height = raster.height;
    const data = imageOf(raster);
    buffer.getContext("2d")?.putImageData(data, 0, 0);
    return buffer;
  }
}

/** @param {import("./viewport.js").Viewport} a @param {import("./viewport.js").Viewport} b */
function viewDiffers(a, b) {
  return a.x !== b.x || a.y !== b.y || a.span !== b.span;
}
