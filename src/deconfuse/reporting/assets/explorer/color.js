// Values -> colours: even steps in OKLCH, oranges on the diagonal, blues off it, robust to one huge cell.

import { clamp, quantile } from "./arrays.js";
import { tickText } from "./format.js";

/** Steps of a colour ramp. */
export const STEPS = 256;

// Start and end of each ramp: lightness, chroma, hue. Lightness falls (or rises, in the dark) evenly,
// so a ramp also reads in grey.
const RAMPS = {
  light: {
    diagonal: { from: [0.972, 0.012, 80], to: [0.56, 0.17, 48] },
    off: { from: [0.972, 0.007, 250], to: [0.4, 0.15, 262] },
    worse: { from: [0.972, 0.004, 320], to: [0.45, 0.17, 320] },
    better: { from: [0.972, 0.004, 155], to: [0.45, 0.12, 155] },
  },
  dark: {
    diagonal: { from: [0.235, 0.012, 60], to: [0.84, 0.15, 72] },
    off: { from: [0.235, 0.014, 255], to: [0.86, 0.11, 235] },
    worse: { from: [0.235, 0.006, 320], to: [0.78, 0.17, 320] },
    better: { from: [0.235, 0.006, 155], to: [0.84, 0.15, 155] },
  },
};

/** @param {number} channel linear light */
function gamma(channel) {
  const c = clamp(channel, 0, 1);
  return 255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055);
}

/**
 * @param {number} lightness @param {number} chroma @param {number} hue in degrees
 * @returns {[number, number, number]} sRGB, 0 to 255
 */
export function oklch(lightness, chroma, hue) {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/**
 * A table of STEPS colours, three bytes each.
 * @param {"light"|"dark"} theme @param {"diagonal"|"off"|"worse"|"better"} name
 */
export function ramp(theme, name) {
  const { from, to } = RAMPS[theme][name];
  const table = new Uint8ClampedArray(3 * STEPS);
  for (let k = 0; k < STEPS; k++) {
    const t = k / (STEPS - 1);
    const lightness = from[0] + t * (to[0] - from[0]);
    // Chroma rises early, so that small values already have their hue.
    const chroma = from[1] + t ** 0.7 * (to[1] - from[1]);
    table.set(oklch(lightness, chroma, from[2] + t * (to[2] - from[2])), 3 * k);
  }
  return table;
}

/** @param {Uint8ClampedArray} table @param {number} t between 0 and 1 */
export function colorAt(table, t) {
  return cssOf(entryAt(table, t));
}

/** @typedef {[number, number, number]} Color red, green and blue, 0 to 255 */

/** Relative luminance as WCAG defines it. @param {Color} color */
export function luminance([r, g, b]) {
  const linear = (/** @type {number} */ c) =>
    c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4;
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** Contrast of two colours, 1 to 21. @param {Color} a @param {Color} b */
export function contrast(a, b) {
  const [dark, light] = [luminance(a), luminance(b)].toSorted((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

/** Black or white, whichever is read better on a colour: 4.58 to 1 at the least. @param {Color} color */
export function inkOn(color) {
  return contrast(color, [0, 0, 0]) >= contrast(color, [255, 255, 255]) ? "#000000" : "#ffffff";
}

/** One entry of a table. @param {Uint8ClampedArray} table @param {number} t between 0 and 1 @returns {Color} */
export function entryAt(table, t) {
  const k = 3 * Math.round(clamp(t, 0, 1) * (STEPS - 1));
  return [table[k], table[k + 1], table[k + 2]];
}

/** A colour as it is drawn where a difference may be chance: mostly paper. @param {Color} color @param {Color} paper @returns {Color} */
export function fadedColor(color, paper) {
  const fade = (/** @type {number} */ k) => Math.round(0.22 * color[k] + 0.78 * paper[k]);
  return [fade(0), fade(1), fade(2)];
}

/** @param {Color} color */
export function cssOf([r, g, b]) {
  return `rgb(${r},${g},${b})`;
}

/**
 * @typedef {object} Scale
 * @property {number} low the value drawn palest; 0 for linear scales
 * @property {number} high the value drawn strongest
 * @property {number} max the largest value, above `high` when a few huge cells are cut
 * @property {boolean} log
 */

// How far above the 95th percentile a scale may reach before the rest is drawn as "more than".
const REACH = 3;
const DECADES = 4;

/**
 * A scale for some cells that one huge cell cannot flatten.
 * @param {ArrayLike<number>} values
 * @param {{log?: boolean, robust?: boolean}} options
 * @returns {Scale}
 */
export function scaleOf(values, { log = false, robust = true } = {}) {
  const positive = Float64Array.from(values).filter((v) => v > 0).sort();
  if (positive.length === 0) return { low: log ? 0.1 : 0, high: 1, max: 0, log };
  const max = positive[positive.length - 1];
  const limit = robust && positive.length > 4 ? REACH * quantile(positive, 0.95) : max;
  // Below eight cells the percentile is the huge cell itself: compare with the second largest.
  const second = positive.length > 1 ? positive[positive.length - 2] : max;
  const high = log ? max : Math.min(max, limit, robust ? 20 * second : max);
  // A log scale spans one decade at least, so that nearly equal values look nearly equal.
  const low = log ? Math.min(high / 10, Math.max(positive[0], high / 10 ** DECADES)) : 0;
  return { low, high, max, log };
}

/**
 * The same scale, reaching at least so far: errors that are all small should all look small.
 * @param {Scale} scale @param {number} floor
 * @returns {Scale}
 */
export function reaching(scale, floor) {
  return scale.max > 0 && scale.high < floor ? { ...scale, high: floor } : scale;
}

/**
 * Where a value lies on a scale: 0 palest, 1 strongest, NaN where there is no value.
 * @param {Scale} scale @param {number} value
 */
export function place(scale, value) {
  if (value !== value) return NaN;
  if (value <= 0) return 0;
  const { low, high, log } = scale;
  if (!log) return value >= high ? 1 : value / high;
  // The smallest value shown keeps a tint, so that it differs from zero.
  return value >= high ? 1 : clamp(0.08 + 0.92 * (Math.log(value / low) / Math.log(high / low)), 0.04, 1);
}

/**
 * Values for the ticks of a legend, lowest first.
 * @param {Scale} scale @param {number} wanted
 */
export function ticksOf(scale, wanted = 4) {
  const { low, high, log } = scale;
  if (log) {
    const ticks = [];
    // Powers of ten, and on a short scale also their double and their half.
    const steps = high / low > 100 ? [1] : [1, 2, 5];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
      ticks.push(...steps.map((step) => step * 10 ** power).filter((tick) => tick >= low * 0.9999 && tick <= high *
        1.0001));
    }
    return ticks;
  }
  const raw = high / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((s) => s * power).find((s) => s >= raw * 0.99) ?? raw;
  const ticks = [];
  for (let v = 0; v <= high * 1.0001; v += step) ticks.push(v);
  return ticks;
}

/**
 * Ticks as text, inside a strip of so many pixels and apart from one another.
 * @param {Scale} scale @param {number} length @param {number} letter width of one
 * @returns {{text: string, x: number}[]} x: the middle of the text
 */
export function ticksInside(scale, length, letter) {
  const found = [];
  let end = -Infinity;
  for (const tick of ticksOf(scale)) {
    const text = tickText(tick);
    const wide = letter * text.length;
    // At the ends of the strip a number stays inside.
    const from = Math.max(0, Math.min(length - wide, length * place(scale, tick) - wide / 2));
    if (from < end + 5) continue;
    end = from + wide;
    found.push({ text, x: from + wide / 2 });
  }
  return found;
}
