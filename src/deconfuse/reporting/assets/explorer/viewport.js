// Which cells are seen: a square window on the matrix, zoomed where the pointer is.

import { clamp } from "./arrays.js";

/**
 * @typedef {object} Viewport
 * @property {number} x first visible column, in cells, may be a fraction
 * @property {number} y first visible row
 * @property {number} span visible cells a side
 */

/** Cells a side at the deepest zoom. */
export const CLOSEST = 3;

/** @param {number} n @returns {Viewport} */
export function whole(n) {
  return { x: 0, y: 0, span: n };
}

/** @param {Viewport} view @param {number} n @returns {Viewport} */
export function clampView(view, n) {
  const span = clamp(view.span, Math.min(CLOSEST, n), n);
  return { x: clamp(view.x, 0, n - span), y: clamp(view.y, 0, n - span), span };
}

/**
 * Zoom so that the cell under the pointer stays under it.
 * @param {Viewport} view @param {number} n
 * @param {{u: number, v: number}} pointer position in the window, 0 to 1
 * @param {number} factor below 1 zooms in
 */
export function zoomAt(view, n, pointer, factor) {
  const span = clamp(view.span * factor, Math.min(CLOSEST, n), n);
  return clampView({
      x: view.x + pointer.u * (view.span - span),
      y: view.y + pointer.v * (view.span - span),
      span,
    },
    n,
  );
}

/** @param {Viewport} view @param {number} n @param {number} dx in cells @param {number} dy */
export function panBy(view, n, dx, dy) {
  return clampView({ x: view.x + dx, y: view.y + dy, span: view.span }, n);
}

/**
 * Move as little as needed so that a cell is seen, with a little room around it.
 * @param {Viewport} view @param {number} n @param {number} row @param {number} col display positions
 */
export function reveal(view, n, row, col) {
  const room = Math.min(1, (view.span - 1) / 2);
  const along = (/** @type {number} */ start, /** @type {number} */ at) => {
    if (at < start + room) return at - room;
    if (at + 1 > start + view.span - room) return at + 1 + room - view.span;
    return start;
  };
  return clampView({ x: along(view.x, col), y: along(view.y, row), span: view.span }, n);
}

/**
 * Centre a cell, at most `span` cells around it.
 * @param {number} n @param {number} row @param {number} col @param {number} span
 */
export function centreOn(n, row, col, span) {
  const side = Math.min(span, n);
  return clampView({ x: col + 0.5 - side / 2, y: row + 0.5 - side / 2, span: side }, n);
}

/** First and one-past-last visible index. @param {number} start @param {number} span @param {number} n */
export function visible(start, span, n) {
  return { first: Math.max(0, Math.floor(start)), end: Math.min(n, Math.ceil(start + span - 1e-9)) };
}

/**
 * Every how many classes a label fits.
 * @param {number} cell pixels a class @param {number} needed pixels a label
 */
export function labelStep(cell, needed) {
  const step = Math.max(1, Math.ceil(needed / cell));
  const nice = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000];
  return nice.find((s) => s >= step) ?? step;
}

/** @param {Viewport} from @param {Viewport} to @param {number} t */
export function between(from, to, t) {
  const mix = (/** @type {number} */ a, /** @type {number} */ b) => a + t * (b - a);
  return { x: mix(from.x, to.x), y: mix(from.y, to.y), span: mix(from.span, to.span) };
}
