// A pane -> an SVG drawing with labels, margins and legends; also the shape of the picture for PNG.

import { colorAt, cssOf, entryAt, fadedColor, inkOn, place, ramp, ticksInside } from "./color.js";
import { TRUST, neverSeen, trustOf } from "./explain.js";
import { hasCounts } from "./exports.js";
import { brief, count, cut, short, signed } from "./format.js";
import { tellApart } from "./names.js";
import { stripText } from "./outcomes.js";

// Paler cells are too pale to be read as a value.
const PALE = 0.1;
// Width of a letter, on the wide side, in units of the font's size: whoever opens the drawing has
// fonts of their own.
const LETTER = 0.62;
const BOLD_LETTER = 0.72;
// A legend's strip of colours, and the room between two legends.
const STRIP = 160;
const APART = 30;
// Answers that are no class stand apart from the square.
const APART_STRIPS = 14;
const STRIP_WIDTH = 46;
const STRIP_HEIGHT = 30;

/** Characters that markup would take for its own. @param {string} text */
export function escapeXml(text) {
  const named = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  // Control characters cannot stand in XML at all, not even escaped.
  return text
    .replace(/[&<>"']/g, (c) => named[ /** @type {keyof typeof named} */ (c)])
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}

/** @param {import("./panes.js").Pane} pane @param {number} value */
export function cellText(pane, value) {
  if (pane.kind === "difference") return pane.method === "counts" ? (value > 0 ? "+" : "") + count(value) : signed(
    value, Math.abs(value) < 0.01 ? 1 : 2);
  if (pane.method === "counts") return count(value);
  return value > 0 && value < 0.001 ? "<0.001" : short(value, value < 0.0095 ? 1 : 2);
}

/**
 * The same where there is little room: a brief count, or two decimals.
 * @param {import("./panes.js").Pane} pane @param {number} value
 */
export function narrowText(pane, value) {
  if (pane.method === "counts") return brief(value);
  const size = Math.abs(value).toFixed(2);
  if (size === "0.00") return "";
  return (value < 0 ? "−" : pane.kind === "difference" ? "+" : "") + size;
}

/**
 * The ramp and the place on it of one cell.
 * @param {import("./panes.js").Pane} pane @param {number} value @param {boolean} onDiagonal
 * @returns {{name: "diagonal"|"off"|"worse"|"better", t: number}}
 */
export function shadeOf(pane, value, onDiagonal) {
  const scale = onDiagonal ? pane.diagonal : pane.off;
  // Fewer hits are worse, and so are more errors.
  if (pane.kind === "difference") return { name: value < 0 === onDiagonal ? "worse" : "better", t: place(scale, Math.abs(value)) };
  return { name: onDiagonal ? "diagonal" : "off", t: place(scale, value) };
}

/**
 * Text in lines of at most so many characters.
 * @param {string} text @param {number} most @param {string} between where a line may end
 * @returns {string[]}
 */
export function wrapped(text, most, between = " ") {
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(between)) {
    const last = lines.length - 1;
    if (last >= 0 && lines[last].length + between.length + word.length <= most) lines[last] += between + word;
    else lines.push(cut(word, most));
  }
  return lines;
}

/**
 * @param {object} picture
 * @param {import("./panes.js").Pane} picture.pane
 * @param {import("./panes.js").Frame} picture.frame
 * @param {number[]} picture.rows units shown, top to bottom
 * @param {number[]} picture.cols
 * @param {string} picture.title
 * @param {{few_samples: number}} [picture.limits] below which cells are hatched
 * @param {string} [picture.image] the cells as a data URL, where there are too many to draw one by one
 * @returns {string}
 */
export function toSvg({ pane, frame, rows, cols, title, limits, image }) {
  const fitting = 720 / Math.max(rows.length, cols.length);
  const cell = image ? fitting : Math.max(4, Math.min(44, Math.floor(fitting)));
  // Where not every name has room, every second or third has, and so on.
  const step = Math.max(1, Math.ceil(10 / cell));
  const label = Math.min(170, 12 + 6.4 * Math.max(...rows.map((u) => Math.min(26, frame.units[u].label.length))));
  // Names stand upright only where they do not fit side by side.
  const widest = 6.4 * Math.max(...cols.map((u) => Math.min(26, frame.units[u].label.length)));
  const flat = widest <= cell * step - 4;
  // Upright or beside a row a name has the same room; flat ones have that of their column.
  const named = (/** @type {number[]} */ units) => tellApart(units.map((u) => frame.units[u].label), (text) =>
    [...text].length <= 26);
  const [rowNames, colNames] = [named(rows), named(cols)];
  const bar = 34;
  const left = 26 + label + bar;
  const keys = legendsOf(pane);
  const answers = pane.strips.filter((strip) => strip.side === "answer");
  const backgrounds = pane.strips.filter((strip) => strip.side === "background");
  const beside = answers.length > 0 ? APART_STRIPS + answers.length * STRIP_WIDTH : 0;
  const width = Math.ceil(Math.max(left + cols.length * cell + beside + 24, left + keys[0].width + APART + keys[1].width + 20));
  const letters = (/** @type {number} */ room, /** @type {number} */ letter) => Math.floor(room / letter);
  const heading = wrapped(cut(title, 200), letters(width - 40, 16 * BOLD_LETTER));
  const lines = wrapped(`${pane.name}: ${pane.sums}`, letters(width - 40, 11 * LETTER));
  const head = 28 + 20 * (heading.length - 1);
  const axis = head + 24 + 15 * lines.length;
  const outcomeNames = answers.map((strip) => cut(strip.name, 26));
  const standing = outcomeNames.some((name) => 6.4 * name.length > STRIP_WIDTH - 4) ? 12 + 6.4 * Math.max(...outcomeNames.map((name) =>
    name.length)) : 0;
  const top = axis + 4 + Math.max(flat ? 16 : label, standing) + bar;
  const absent = rows.some((u) => cols.some((v) => neverSeen(pane, frame.n, u, v)));
  const marks = wrapped([
    hasCounts(pane) && cell >= 36 && !image && "small: number of samples",
    hasCounts(pane) && limits && cell >= 9 && !image && "hatched: few samples or none",
    pane.faded && "pale: may be chance",
    cell >= 15 && !image && "dot: nothing counted",
    pane.strips.length > 0 && "grey bars: answers that are no class, share of the row or column",
    absent && `${cell >= 9 && !image ? "crossed out" : "grey"}: never seen`,
  ].filter(Boolean).join(" · "), letters(width - left - 20, 10 * LETTER), " · ");
  const down = backgrounds.length > 0 ? APART_STRIPS + backgrounds.length * STRIP_HEIGHT : 0;
  const height = top + rows.length * cell + down + 92 + 14 * marks.length;
  const tables = { diagonal: ramp("light", "diagonal"), off: ramp("light", "off"), worse: ramp("light", "worse"),
    better: ramp("light", "better") };
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="11">`,
    `<title>${escapeXml(title)}: ${escapeXml(pane.name)}</title>`,
    '<defs><pattern id="weak" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V6" stroke="#14161a" stroke-opacity="0.4"/></pattern><pattern id="unseen" viewBox="0 0 10 10" width="1" height="1"><path d="M1 1L9 9M9 1L1 9" stroke="#b4b9c2" stroke-width="0.4"/></pattern></defs>',
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...heading.map((line, k) =>
      `<text x="20" y="${28 + 20 * k}" font-size="16" font-weight="600">${escapeXml(line)}</text>`),
    ...lines.map((line, k) => `<text x="20" y="${head + 18 + 15 * k}" fill="#555">${escapeXml(line)}</text>`),
    `<text x="${left}" y="${axis}" fill="#555" font-weight="600">predicted class →</text>`,
    `<text x="16" y="${top}" fill="#555" font-weight="600" text-anchor="end" transform="rotate(-90 16 ${top})">← true class</text>`,
  ];
  const size = Math.min(11, cell * step - 1);
  const thick = Math.max(0.5, cell - 2);
  rows.forEach((u, r) => {
    const y = top + r * cell;
    const length = (bar - 4) * Math.min(1, pane.rows[u] / pane.longest);
    out.push(
      `<rect x="${(left - 3 - length).toFixed(1)}" y="${y + 1}" width="${length.toFixed(1)}" height="${thick}" fill="#b8bcc4"/>`
      );
    if (r % step === 0) out.push(
      `<text x="${left - bar - 4}" y="${y + cell / 2}" font-size="${size}" text-anchor="end" dominant-baseline="central">${escapeXml(rowNames[r])}</text>`
      );
  });
  cols.forEach((v, c) => {
    const x = left + c * cell;
    const length = (bar - 4) * Math.min(1, pane.cols[v] / pane.longest);
    out.push(
      `<rect x="${x + 1}" y="${(top - 3 - length).toFixed(1)}" width="${thick}" height="${length.toFixed(1)}" fill="#b8bcc4"/>`
      );
    if (c % step !== 0) return;
    if (flat) out.push(
      `<text x="${x + cell / 2}" y="${top - bar - 6}" font-size="${size}" text-anchor="middle">${escapeXml(colNames[c])}</text>`
      );
    else out.push(
      `<text x="${x + cell / 2}" y="${top - bar - 4}" font-size="${size}" dominant-baseline="central" transform="rotate(-90 ${x + cell / 2} ${top - bar - 4})">${escapeXml(colNames[c])}</text>`
      );
  });
  if (image) out.push(
    `<image x="${left}" y="${top}" width="${cols.length * cell}" height="${rows.length * cell}" href="${escapeXml(image)}" preserveAspectRatio="none" style="image-rendering:pixelated"/>`
    );
  else rows.forEach((u, r) => cols.forEach((v, c) => {
    const value = pane.values[u * frame.n + v];
    const x = left + c * cell;
    const y = top + r * cell;
    if (pane.hidden?.[u * frame.n + v]) {
      out.push(`<rect x="${x}" y="${y}" width="${cell - 0.5}" height="${cell - 0.5}" fill="${colorAt(tables.off, 0)}"/>`);
      return;
    }
    if (neverSeen(pane, frame.n, u, v)) {
      for (const fill of cell >= 9 ? ["#eceef1", "url(#unseen)"] : ["#e2e3e7"]) out.push(
        `<rect x="${x}" y="${y}" width="${cell - 0.5}" height="${cell - 0.5}" fill="${fill}"/>`);
      return;
    }
    const invented = pane.off.log && pane.invented && pane.counts[u * frame.n + v] === 0;
    const { name, t } = shadeOf(pane, invented ? 0 : value, u === v);
    const own = entryAt(tables[name], t);
    const color = pane.faded?.[u * frame.n + v] ? fadedColor(own, [255, 255, 255]) : own;
    out.push(`<rect x="${x}" y="${y}" width="${cell - 0.5}" height="${cell - 0.5}" fill="${cssOf(color)}"/>`);
    const at = u * frame.n + v;
    // What is estimated where nothing was counted is a colour to see, not a number to read.
    const nothing = pane.counts[at] === 0 && (pane.kind === "value" || t < PALE);
    const weak = limits && cell >= 9 && t >= PALE && trustOf(pane, frame.n, u, v, limits) !== TRUST.FINE;
    if (weak) out.push(`<rect x="${x}" y="${y}" width="${cell - 0.5}" height="${cell - 0.5}" fill="url(#weak)"/>`);
    if (nothing && cell >= 15) out.push(`<circle cx="${x + cell / 2}" cy="${y + cell / 2}" r="1.4" fill="${weak ? inkOn(color) : "#8f96a3"}"/>`);
    if (cell < 30 || nothing) return;
    const ink = inkOn(color);
    const [long, narrow] = [cellText(pane, value), narrowText(pane, value)];
    const fits = long.length * 10.5 * (u === v ? BOLD_LETTER : LETTER) <= cell - 2;
    const text = fits && pane.kind === "value" ? long : narrow;
    const two = hasCounts(pane) && cell >= 36;
    // Nothing but its own colour behind a number.
    if (weak) out.push(
      `<rect x="${x + 5}" y="${y + cell / 2 - (two ? 13 : 7)}" width="${cell - 10}" height="${two ? 27 : 14}" fill="${cssOf(color)}"/>`);
    const line = (/** @type {string} */ said, /** @type {number} */ down, /** @type {string} */ look) => out.push(
      `<text x="${x + cell / 2}" y="${y + cell / 2 + down}" fill="${ink}" ${look} text-anchor="middle" dominant-baseline="central">${escapeXml(said)}</text>`
      );
    line(text, two ? -6 : 0, `font-size="10.5"${u === v ? ' font-weight="600"' : ""}`);
    if (two) line(brief(pane.counts[at]), 8, 'font-size="9"');
  }));
  const edge = { x: left + cols.length * cell + APART_STRIPS, y: top + rows.length * cell + APART_STRIPS };
  answers.forEach((strip, k) => {
    const x = edge.x + k * STRIP_WIDTH;
    const turn = standing > 0 ? ` transform="rotate(-90 ${x + STRIP_WIDTH / 2} ${top - bar - 4})" dominant-baseline="central"` :
      ' text-anchor="middle"';
    out.push(`<text x="${x + STRIP_WIDTH / 2}" y="${top - bar - (standing > 0 ? 4 : 6)}"${turn}>${escapeXml(outcomeNames[k])}</text>`);
    rows.forEach((u, r) => out.push(...stripCell(pane, strip, u, { x, y: top + r * cell, wide: STRIP_WIDTH, high: cell })));
  });
  backgrounds.forEach((strip, k) => {
    const y = edge.y + k * STRIP_HEIGHT;
    out.push(`<text x="${left - bar - 4}" y="${y + STRIP_HEIGHT / 2}" text-anchor="end" dominant-baseline="central">${escapeXml(cut(
      strip.name, 26))}</text>`);
    cols.forEach((v, c) => out.push(...stripCell(pane, strip, v, { x: left + c * cell, y, wide: cell, high: STRIP_HEIGHT })));
  });
  const below = top + rows.length * cell + down + 26;
  out.push(...drawnLegend(keys[0], tables, left, below), ...drawnLegend(keys[1], tables, left + keys[0].width + APART,
    below), ...marks.map((line, k) =>
    `<text x="${left}" y="${below + 62 + 14 * k}" font-size="10" fill="#555">${escapeXml(line)}</text>`), "</svg>", "");
  return out.join("\n");
}

/**
 * A share that is no cell of the square: a grey bar and its number.
 * @param {import("./panes.js").Pane} pane @param {import("./outcomes.js").Strip} strip @param {number} unit
 * @param {{x: number, y: number, wide: number, high: number}} box
 */
function stripCell(pane, strip, unit, { x, y, wide, high }) {
  const share = Math.min(1, Math.abs(strip.shares[unit]) || 0);
  const bar = (/** @type {number} */ length, /** @type {string} */ fill) =>
    `<rect x="${x}" y="${y}" width="${length.toFixed(1)}" height="${Math.max(0.5, high - 1)}" fill="${fill}"/>`;
  const out = [bar(wide - 1, "#eceef1"), bar((wide - 1) * share, "#c3c8d1")];
  if (high < 13 || wide < 26) return out;
  const [main, note] = stripText(pane, strip, unit);
  const two = note !== "" && high >= 26;
  const line = (/** @type {string} */ text, /** @type {number} */ down, /** @type {number} */ size) => out.push(
    `<text x="${x + wide / 2}" y="${y + high / 2 + down}" font-size="${size}" text-anchor="middle" dominant-baseline="central">${escapeXml(text)}</text>`);
  line(main, two ? -6 : 0, 10);
  if (two) line(note, 6, 9);
  return out;
}

/**
 * @typedef {object} Legend
 * @property {"diagonal"|"off"|"worse"|"better"} name
 * @property {import("./color.js").Scale} scale
 * @property {string} title @property {string} over what the strongest colour stands for, where it is cut
 * @property {number} width
 */

/**
 * The two legends of a pane, and how wide they are.
 * @param {import("./panes.js").Pane} pane @param {(name: string) => string} written how a name stands in a sentence
 * @returns {Legend[]}
 */
export function legendsOf(pane, written = (name) => name) {
  const other = written(cut(pane.names[pane.model], 20));
  const said = { diagonal: "diagonal", off: "off the diagonal, own scale", worse: `worse in ${other}`, better: `better in ${other}` };
  const kinds = /** @type {(keyof typeof said)[]} */ (pane.kind === "difference" ? ["worse", "better"] : ["diagonal", "off"]);
  return kinds.map((name) => {
    const scale = name === "diagonal" ? pane.diagonal : pane.off;
    const title = said[name] + (scale.log ? ", log" : "");
    const over = scale.max > scale.high * 1.0001 ?
      `up to ${short(scale.max)} drawn as ${short(scale.high, 2)}` : "";
    const width = Math.ceil(Math.max(STRIP, 11 * LETTER * title.length, 10 * LETTER * over.length));
    return { name, scale, title, over, width };
  });
}

/** @param {Legend} legend @param {Record<string, Uint8ClampedArray>} tables @param {number} x @param {number} y */
function drawnLegend({ name, scale, title, over }, tables, x, y) {
  const steps = 32;
  const step = STRIP / steps;
  const out = [`<text x="${x}" y="${y}" fill="#555">${escapeXml(title)}</text>`];
  for (let k = 0; k < steps; k++) out.push(
    `<rect x="${x + k * step}" y="${y + 6}" width="${step + 0.3}" height="9" fill="${colorAt(tables[name], k / (steps - 1))}"/>`);
  for (const tick of ticksInside(scale, STRIP, 10 * LETTER)) out.push(
    `<text x="${(x + tick.x).toFixed(1)}" y="${y + 28}" font-size="10" fill="#555" text-anchor="middle">${tick.text}</text>`);
  if (over) out.push(`<text x="${x}" y="${y + 42}" font-size="10" fill="#555">${over}</text>`);
  return out;
}
