// A pane -> CSV and LaTeX text. Every export names its axes and what it sums to.

import { neverSeen } from "./explain.js";
import { isGeometric } from "./model.js";
import { stripText } from "./outcomes.js";

// What a spreadsheet runs as a formula begins so; a number does it no harm.
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const WHOLE = /^(0|-?[1-9][0-9]*)$/;

/** @param {string} text */
function csvField(text) {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Names that no spreadsheet runs, as `deconfuse` writes and reads them: where one begins like a
 * formula, it stands behind an apostrophe, and so does every name that begins with one.
 * @param {string[]} names
 */
export function escapeFormulas(names) {
  const runs = (/** @type {string} */ name) => FORMULA.test(name) && !WHOLE.test(name);
  const escaped = names.some(runs);
  return { escaped, names: names.map((name) => (escaped && (runs(name) || name.startsWith("'")) ? `'${name}` : name)) };
}

/** A count as it is, however large; a ratio with more digits than it is worth. @param {number} value @param {boolean} whole */
function numberText(value, whole) {
  return String(whole ? value : Number(value.toPrecision(12)));
}

/** @param {number} value @param {boolean} whole */
function csvNumber(value, whole) {
  return value !== value ? "" : numberText(value, whole);
}

/**
 * What stands in the corner: of counts, what `deconfuse` needs to read them again; of ratios, which way they sum.
 * @param {import("./panes.js").Pane} pane @param {string[]} labels @param {boolean} escaped @param {number} outcomes
 */
function cornerText(pane, labels, escaped, outcomes) {
  const apart = outcomes > 0 && `${outcomes} outcome${outcomes > 1 ? "s" : ""}`;
  const notes = [escaped && "escaped", apart].filter(Boolean);
  if (pane.method !== "counts" || pane.kind !== "value") {
    return `true \\ predicted (${[`${pane.name}: ${pane.sums}`, ...notes].join("; ")})`;
  }
  const kind = labels.every((name) => WHOLE.test(name)) ? "int" : "str";
  return notes.length > 0 ? `true \\ predicted [${[kind, ...notes].join("; ")}]` : "true \\ predicted";
}

/**
 * The whole matrix as CSV: true classes on rows, predicted on columns; outcomes are the last of both.
 * @param {import("./panes.js").Pane} pane @param {import("./panes.js").Frame} frame
 */
export function toCsv(pane, frame) {
  const labels = frame.order.map((u) => frame.units[u].label);
  const outcomes = [...new Set(pane.strips.map((strip) => strip.name))];
  const { names, escaped } = escapeFormulas([...labels, ...outcomes]);
  const whole = pane.method === "counts";
  /** @param {"answer"|"background"} side @param {string} name @param {number} unit */
  const beside = (side, name, unit) => {
    const strip = pane.strips.find((one) => one.side === side && one.name === name);
    return strip ? csvNumber((whole && pane.kind === "value" ? strip.counts : strip.shares)[unit], whole) : "0";
  };
  const rows = frame.order.map((u) => [...frame.order.map((v) => csvNumber(pane.values[u * frame.n + v], whole)),
    ...outcomes.map((name) => beside("answer", name, u))]);
  const below = outcomes.map((name) => [...frame.order.map((v) => beside("background", name, v)), ...outcomes.map(() => "0")]);
  const lines = [[cornerText(pane, labels, escaped, outcomes.length), ...names].map(csvField),
    ...[...rows, ...below].map((cells, at) => [csvField(names[at]), ...cells])];
  return `${lines.map((line) => line.join(",")).join("\n")}\n`;
}

const LATEX = {
  "\\": "\\textbackslash{}",
  "{": "\\{",
  "}": "\\}",
  $: "\\$",
  "&": "\\&",
  "#": "\\#",
  _: "\\_",
  "%": "\\%",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "<": "\\textless{}",
  ">": "\\textgreater{}",
  "|": "\\textbar{}",
  // After the end of a row these would be an argument of it.
  "[": "{[}",
  "*": "{*}",
};

/** @param {string} text */
export function latexText(text) {
  return text.replace(/[\\{}$&#_%~^<>|[*]/g, (c) => LATEX[ /** @type {keyof typeof LATEX} */ (c)]).replace(/\s+/g, " ");
}

/** @param {number} value @param {boolean} whole */
function latexNumber(value, whole) {
  if (whole) return numberText(value, Number.isInteger(value));
  return value !== 0 && Math.abs(value) < 5e-4 ?
    `$${value.toExponential(1).replace(/e(.*)/, (_, e) => `\\cdot10^{${Number(e)}}`)}$` : value.toFixed(3);
}

/** Whether each value has a count of its own to stand beside it. @param {import("./panes.js").Pane} pane */
export function hasCounts(pane) {
  return pane.kind === "value" && pane.method !== "counts" && !isGeometric(pane.method);
}

/**
 * The shown block as a LaTeX table (booktabs).
 * @param {import("./panes.js").Pane} pane @param {import("./panes.js").Frame} frame
 * @param {number[]} rows units shown @param {number[]} cols @param {string} title
 */
export function toLatex(pane, frame, rows, cols, title) {
  const names = (/** @type {number[]} */ list) => list.map((u) => latexText(frame.units[u].label));
  const whole = pane.method === "counts";
  const counted = hasCounts(pane);
  let absent = false;
  const answers = pane.strips.filter((strip) => strip.side === "answer");
  const below = pane.strips.filter((strip) => strip.side === "background");
  const share = (/** @type {import("./outcomes.js").Strip} */ strip, /** @type {number} */ unit) => {
    const [main, note] = stripText(pane, strip, unit).map(latexText);
    return note ? `${main} {\\tiny ${note}}` : main;
  };
  const body = names(rows).map((name, k) => {
    const cells = cols.map((v) => {
      const at = rows[k] * frame.n + v;
      // A count of nothing is a number; a ratio of nothing would pass for a result.
      const none = !whole && neverSeen(pane, frame.n, rows[k], v);
      absent ||= none;
      const text = none ? "--" : latexNumber(pane.values[at], whole);
      const own = rows[k] === v && !none ? `\\textbf{${text}}` : text;
      return counted ? `${own} {\\tiny ${latexNumber(pane.counts[at], true)}}` : own;
    });
    return `${[name, ...cells, ...answers.map((strip) => share(strip, rows[k]))].join(" & ")} \\\\`;
  });
  const apart = pane.strips.length > 0 ? " Set apart: answers that are no class, with their shares." : "";
  const blank = answers.map(() => "");
  const last = below.map((strip) => `${[latexText(strip.name), ...cols.map((v) => share(strip, v)), ...blank].join(" & ")} \\\\`);
  return [
    "% needs \\usepackage{booktabs}",
    "\\begin{table}",
    "\\centering",
    `\\caption{${latexText(title)}: ${latexText(pane.name)} (${latexText(pane.sums)}${counted ? "; counts in small type" : ""}${absent ? "; --: never seen" : ""}). True classes on rows, predicted classes on columns.${apart}}`,
    `\\begin{tabular}{l${"r".repeat(cols.length)}${answers.length > 0 ? `@{\\qquad}${"r".repeat(answers.length)}` : ""}}`,
    "\\toprule",
    `${["true $\\backslash$ predicted", ...names(cols), ...answers.map((strip) => latexText(strip.name))].join(" & ")} \\\\`,
    "\\midrule",
    ...body,
    ...(last.length > 0 ? ["\\midrule", ...last] : []),
    "\\bottomrule",
    "\\end{tabular}",
    "\\end{table}",
    "",
  ].join("\n");
}
