// Small drawings of the inspector: values on one axis, the waterfall of parts, the idea in one picture.

import { colorAt, ramp, ticksInside } from "./color.js";
import { h, s } from "./dom.js";
import { hasCounts } from "./exports.js";
import { count, isolate, short, times } from "./format.js";
import { legendsOf } from "./svg.js";

/**
 * Values with their intervals as dots on one axis, one row a normalization.
 * @param {{name: string, value: number, interval: [number, number]|null, note: string, strong: boolean}[]} rows
 * @param {string} title
 */
export function dotChart(rows, title) {
  const width = 92;
  const reach = Math.max(...rows.map((row) => Math.max(row.value || 0, row.interval?.[1] ?? 0)), 1e-12);
  const x = (/** @type {number} */ value) => 5 + (width - 10) * Math.min(1, value / reach);
  return h(
    "table", { class: "dots" },
    h("caption", { class: "hidden" }, `${title} of each normalization`),
    h("tbody", {}, ...rows.map((row) => {
      const bar = s("svg", { width, height: 16, viewBox: `0 0 ${width} 16`, "aria-hidden": "true" });
      bar.append(s("line", { x1: 5, x2: width - 5, y1: 8, y2: 8, class: "rule" }));
      if (row.interval) bar.append(s("line", { x1: x(row.interval[0]), x2: x(row.interval[1]), y1: 8, y2: 8,
        class: "span" }));
      if (row.value === row.value) bar.append(s("circle", { cx: x(row.value), cy: 8, r: 4, class: row.strong ?
          "dot strong" : "dot" }));
      const range = row.interval ? `${short(row.interval[0], 2)} to ${short(row.interval[1], 2)}` : row.note;
      return h("tr", { class: row.strong ? "strong" : "" },
        h("th", { scope: "row" }, row.name), h("td", {}, bar), h("td", { class: "number" }, short(row.value)),
        h("td", { class: "number soft" }, range));
    })),
  );
}

/**
 * From an even share to the observed count, on a log axis.
 * @param {ReturnType<typeof import("./explain.js").waterfallOf>} fall
 */
export function waterfallChart(fall) {
  const width = 112;
  const levels = [fall.start, fall.end, ...fall.steps.map((step) => step.to)].map(Math.log);
  const low = Math.min(...levels);
  const high = Math.max(...levels, low + 1e-9);
  const x = (/** @type {number} */ value) => 4 + ((width - 8) * (Math.log(value) - low)) / (high - low);
  const said = { similarity: "similarity", label: "label factor", prediction: "prediction factor" };
  const row = (/** @type {string} */ name, /** @type {any} */ mark, /** @type {string} */ value) => {
    const bar = s("svg", { width, height: 16, viewBox: `0 0 ${width} 16`, preserveAspectRatio: "none", "aria-hidden": "true" });
    bar.append(...mark);
    return h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, bar), h("td", { class: "number" }, value));
  };
  const end = (/** @type {number} */ at) => [s("line", { x1: x(at), x2: x(at), y1: 1, y2: 15, class: "level" })];
  const step = (/** @type {any} */ part) => [
    s("line", { x1: x(part.from), x2: x(part.from), y1: -2, y2: 4, class: "rule" }),
    s("rect", { x: Math.min(x(part.from), x(part.to)), width: Math.max(1.5, Math.abs(x(part.to) - x(part.from))),
      y: 4, height: 8, class: `part ${part.name} ${part.factor < 1 ? "down" : "up"}` }),
    s("line", { x1: x(part.to), x2: x(part.to), y1: 4, y2: 18, class: "rule" }),
  ];
  return h(
    "table", { class: "fall" },
    h("tbody", {},
      row("typical error", end(fall.start), short(fall.start)),
      ...fall.steps.map((part) => row(said[part.name], step(part), times(part.factor))),
      row("counted", end(fall.end), count(Number(fall.end.toPrecision(6))))),
  );
}

/** Pixels of a legend's ramp. */
const RAMP = 120;

/**
 * The two legends of a pane.
 * @param {import("./panes.js").Pane} pane @param {"light"|"dark"} theme
 */
export function legendOf(pane, theme) {
  const legends = legendsOf(pane, isolate);
  const swatch = (/** @type {string} */ style, /** @type {string} */ text) => h(
    "span", { class: `swatch ${style}`, "aria-hidden": "true" }, text);
  const marks = h("div", { class: "scale marks soft" },
    hasCounts(pane) && h("span", {}, swatch("hatch", ""), "few samples or none"),
    pane.faded && h("span", {}, swatch("pale", ""), "pale: may be chance"),
    h("span", {}, swatch("", "·"), "nothing counted"),
    pane.strips.length > 0 && h("span", {}, swatch("apart", ""), "no class: share of its row or column"),
    pane.unseen.includes(1) && h("span", {}, swatch("crossed", "×"), "never seen"),
    ...new Set(legends.map(({ over }) => over)));
  return h("div", { class: "legend" }, ...legends.map(({ name, scale, title }) => {
    const table = ramp(theme, name);
    const strip = s("svg", { viewBox: `0 0 ${RAMP} 24`, width: RAMP, height: 24, "aria-hidden": "true" });
    for (let k = 0; k < 40; k++) {
      const piece = s("rect", { x: k * RAMP / 40, y: 0, width: RAMP / 40 + 0.3, height: 10, "shape-rendering": "crispEdges" });
      piece.style.fill = colorAt(table, k / 39);
      strip.append(piece);
    }
    for (const { text, x } of ticksInside(scale, RAMP, 6)) {
      strip.append(s("text", { x, y: 21, class: "tiny", "text-anchor": "middle" }, text));
    }
    return h("div", { class: "scale" }, h("span", { class: "soft" }, title), strip);
  }), marks);
}
