// A pane -> pixels: one small integer a cell, then colours for the cells in view.

import { STEPS, entryAt, fadedColor, place, ramp } from "./color.js";
import { shadeOf } from "./svg.js";
import { visible } from "./viewport.js";

// Numbers of the colour tables laid end to end; a shade is STEPS * table + step.
const TABLES = /** @type {const} */ (["off", "diagonal", "worse", "better"]);
const UNSEEN = TABLES.length * STEPS;
const FADED = UNSEEN + 1;

// How much each shade stands out when several share a pixel.
const STRENGTH = Uint16Array.from({ length: 2 * FADED }, (_, shade) => (shade % FADED === UNSEEN ? 1 : ((shade %
  FADED) % STEPS) + 2));

/** @param {number} offset cells from the edge @param {number} scale @param {number} device */
function pixelOf(offset, scale, device) {
  return Math.min(device - 1, Math.max(0, Math.floor(offset * scale)));
}

/** Whether a shade is that of a cell nobody ever saw. @param {number} shade */
export function isUnseen(shade) {
  return shade === UNSEEN;
}

/** The step of a shade on its ramp, 0 to 255. @param {number} shade */
export function strengthOf(shade) {
  return (shade % FADED) % STEPS;
}

/** A pixel as a colour. @param {number} pixel @returns {import("./color.js").Color} */
export function colorOf(pixel) {
  return [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
}

/** Shades of panes already shaded. @type {WeakMap<import("./panes.js").Pane, Uint16Array>} */
const KNOWN = new WeakMap();

/**
 * Shades of all cells of a pane, by unit.
 * @param {import("./panes.js").Pane} pane @param {number} n
 * @returns {Uint16Array}
 */
export function shadesOf(pane, n) {
  const known = KNOWN.get(pane);
  if (known) return known;
  const shades = new Uint16Array(n * n);
  if (pane.kind === "difference") shadeDifference(pane, n, shades);
  else shadeValues(pane, n, shades);
  KNOWN.set(pane, shades);
  return shades;
}

/** @param {import("./panes.js").Pane} pane @param {number} n @param {Uint16Array} shades */
function shadeValues(pane, n, shades) {
  const { values, off } = pane;
  const top = STEPS - 1;
  const factor = top / off.high;
  for (let i = 0, k = 0; i < n; i++) {
    const empty = pane.unseen[i] === 1;
    for (let j = 0; j < n; j++, k++) {
      const value = values[k];
      if (pane.hidden?.[k]) shades[k] = 0;
      else if (empty || value !== value) shades[k] = UNSEEN;
      // On a log scale what was never counted would outshine what was counted.
      else if (off.log && pane.invented && pane.counts[k] === 0) shades[k] = i === j ? STEPS : 0;
      else if (i === j) shades[k] = STEPS + Math.round(place(pane.diagonal, value) * top);
      // The plain case by hand: a thousand classes have a million of these.
      else if (!off.log) shades[k] = value >= off.high ? top : value * factor + 0.5;
      else shades[k] = value > 0 ? Math.round(place(off, value) * top) : 0;
    }
  }
}

/** @param {import("./panes.js").Pane} pane @param {number} n @param {Uint16Array} shades */
function shadeDifference(pane, n, shades) {
  for (let k = 0; k < n * n; k++) {
    const value = pane.values[k];
    if (pane.hidden?.[k]) continue;
    if (value !== value || pane.unseen[Math.floor(k / n)]) {
      shades[k] = UNSEEN;
      continue;
    }
    const { name, t } = shadeOf(pane, value, k % (n + 1) === 0);
    shades[k] = TABLES.indexOf(name) * STEPS + Math.round(t * (STEPS - 1)) + (pane.faded?.[k] ? FADED : 0);
  }
}

/**
 * Colours of all shades as 32-bit pixels.
 * @param {"light"|"dark"} theme
 * @param {[number, number, number]} paper background @param {[number, number, number]} unseen
 * @returns {Uint32Array}
 */
export function paletteOf(theme, paper, unseen) {
  const palette = new Uint32Array(2 * FADED);
  const pixel = (/** @type {import("./color.js").Color} */ [r, g, b]) =>
    ((255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;
  TABLES.forEach((name, at) => {
    const table = ramp(theme, name);
    for (let k = 0; k < STEPS; k++) {
      const color = entryAt(table, k / (STEPS - 1));
      palette[at * STEPS + k] = pixel(color);
      palette[FADED + at * STEPS + k] = pixel(fadedColor(color, paper));
    }
  });
  palette[UNSEEN] = pixel(unseen);
  palette[FADED + UNSEEN] = palette[UNSEEN];
  return palette;
}

/**
 * @typedef {object} Raster
 * @property {Uint32Array} pixels row by row
 * @property {number} width @property {number} height
 * @property {number} x @property {number} y display cell of the first pixel
 * @property {number} cells display cells that the width covers
 */

/**
 * Pixels for the cells in view: one a cell, or the strongest cell a pixel where cells are smaller.
 * @param {Uint16Array} shades @param {Uint32Array} palette
 * @param {import("./panes.js").Frame} frame @param {import("./viewport.js").Viewport} view
 * @param {number} device pixels a side of the drawn square
 * @returns {Raster}
 */
export function rasterize(shades, palette, frame, view, device) {
  const { n, order } = frame;
  const rows = visible(view.y, view.span, n);
  const cols = visible(view.x, view.span, n);
  if (view.span <= device) { // every cell has a pixel of its own
    const width = cols.end - cols.first;
    const height = rows.end - rows.first;
    const pixels = new Uint32Array(width * height);
    for (let r = 0, k = 0; r < height; r++) {
      const row = order[rows.first + r] * n;
      for (let c = 0; c < width; c++, k++) pixels[k] = palette[shades[row + order[cols.first + c]]];
    }
    return { pixels, width, height, x: cols.first, y: rows.first, cells: width };
  }
  // A million cells pass here on every frame, so everything that can be is looked up.
  const scale = device / view.span;
  const width = cols.end - cols.first;
  const unit = Int32Array.from({ length: width }, (_, k) => order[cols.first + k]);
  const across = Int32Array.from({ length: width }, (_, k) => pixelOf(cols.first + k - view.x, scale, device));
  const strongest = new Uint16Array(device * device);
  const rank = new Uint16Array(device * device);
  for (let r = rows.first; r < rows.end; r++) {
    const line = pixelOf(r - view.y, scale, device) * device;
    const row = order[r] * n;
    for (let k = 0; k < width; k++) {
      const shade = shades[row + unit[k]];
      const strength = STRENGTH[shade];
      const at = line + across[k];
      if (strength > rank[at]) {
        rank[at] = strength;
        strongest[at] = shade;
      }
    }
  }
  // The diagonal stays whole; elsewhere the strongest cell speaks for its pixel.
  for (let r = Math.max(rows.first, cols.first); r < Math.min(rows.end, cols.end); r++) {
    strongest[pixelOf(r - view.y, scale, device) * device + pixelOf(r - view.x, scale, device)] = shades[order[r] *
      n + order[r]];
  }
  const pixels = new Uint32Array(device * device);
  for (let k = 0; k < pixels.length; k++) pixels[k] = palette[strongest[k]];
  return { pixels, width: device, height: device, x: view.x, y: view.y, cells: view.span };
}

/** The same for a canvas. @param {Raster} raster */
export function imageOf({ pixels, width, height }) {
  return new ImageData(new Uint8ClampedArray(/** @type {ArrayBuffer} */ (pixels.buffer)), width, height);
}
