// The embeddings in two dimensions: the selected pair lit, the rest fog.

import { h } from "./dom.js";
import { count } from "./format.js";

/** @typedef {{kind: string, i: number, j: number}} Selection of units: classes, or groups of them */

/**
 * @param {{true: ArrayLike<number>, pred: ArrayLike<number>}} points
 * @param {ArrayLike<number>} unitOf unit of each class @param {Selection|null} selection
 * @param {number} k point
 * @returns {0|1|2|3} fog; true class; predicted class; a confusion of the two
 */
export function roleOf(points, unitOf, selection, k) {
  if (!selection) return 0;
  const t = unitOf[points.true[k]];
  const p = unitOf[points.pred[k]];
  const { i, j } = selection;
  if (selection.kind !== "cell" || i === j) return t === i && p === i ? 1 : t === i || p === i ? 3 : 0;
  if ((t === i && p === j) || (t === j && p === i)) return 3;
  if (t === i && p === i) return 1;
  if (t === j && p === j) return 2;
  return 0;
}

/**
 * @param {any} study @param {import("./panes.js").Frame} frame @param {Selection|null} selection
 * @param {Record<string, string>} ink
 * @returns {Node[]}
 */
export function scatterContent(study, frame, selection, ink) {
  const points = study.geometry?.points;
  if (!points) return [];
  const width = 292;
  const height = 220;
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const canvas = h("canvas", { width: Math.round(width * ratio), height: Math.round(height * ratio), class: "scatter",
    role: "img", "aria-label": "embeddings in two dimensions, selected classes marked" });
  canvas.style.aspectRatio = `${width} / ${height}`;
  const g = canvas.getContext("2d");
  g.scale(ratio, ratio);
  const colors = [ink.fog, ink.first, ink.second, ink.text];
  const tally = [0, 0, 0, 0];
  for (const role of [0, 1, 2, 3]) {
    g.fillStyle = colors[role];
    g.globalAlpha = role === 0 ? (selection ? 0.35 : 0.8) : 0.9;
    for (let k = 0; k < points.x.length; k++) {
      if (roleOf(points, frame.unitOf, selection, k) !== role) continue;
      tally[role]++;
      const x = 6 + ((width - 12) * points.x[k]) / 65535;
      const y = height - 6 - ((height - 12) * points.y[k]) / 65535;
      if (role === 3) cross(g, x, y);
      else {
        g.beginPath();
        g.arc(x, y, role === 0 ? 1.3 : 2.2, 0, 7);
        g.fill();
      }
    }
  }
  const shown = points.x.length < points.total ? `${count(points.x.length)} of ${count(points.total)} points` :
    `${count(points.total)} points`;
  return [h("h3", {}, "Embeddings", h("span", { class: "soft" }, ` first two components, ${shown}`)), canvas, ...key(
    frame, selection, tally)];
}

/** @param {CanvasRenderingContext2D} g @param {number} x @param {number} y */
function cross(g, x, y) {
  g.fillRect(x - 3, y - 0.8, 6, 1.6);
  g.fillRect(x - 0.8, y - 3, 1.6, 6);
}

/** @param {import("./panes.js").Frame} frame @param {Selection|null} selection @param {number[]} tally */
function key(frame, selection, tally) {
  if (!selection) return [h("p", { class: "soft" }, "Select a cell to light its two classes.")];
  const { i, j } = selection;
  const item = (/** @type {string} */ style, /** @type {string} */ text, /** @type {number} */ n) =>
    h("li", {}, h("span", { class: `mark ${style}`, "aria-hidden": "true" }), h("bdi", {}, text), h(
    "span", { class: "soft" }, ` ${count(n)}`));
  const pair = selection.kind === "cell" && i !== j;
  return [h("ul", { class: "key" },
    item("first", `${frame.units[i].label}, right`, tally[1]),
    pair && item("second", `${frame.units[j].label}, right`, tally[2]),
    item("mixed", pair ? "one taken for the other" : "in error", tally[3]))];
}
