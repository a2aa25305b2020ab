// A pane -> CSV and LaTeX text. Every export names its axes and what it sums to.

import { neverSeen } from "./explain.js";
import { isGeometric } from "./model.js";

/** @param {string} text */
function csvField(text) {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
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
 * The whole matrix as CSV: true classes on rows, predicted on columns.
 * @param {import("./panes.js").Pane} pane @param {import("./panes.js").Frame} frame
 */
export function toCsv(pane, frame) {
  const names = frame.order.map((u) => csvField(frame.units[u].label));
  // Counts can be read again by `deconfuse`; of ratios it is said which way they sum.
  const corner = csvField(pane.method === "counts" && pane.kind === "value" ? "true \\ predicted" :
    `true \\ predicted (${pane.name}: ${pane.sums})`);
  const lines = [
    [corner, ...names].join(",")
  ];
  frame.order.forEach((u, at) => {
    const cells = frame.order.map((v) => csvNumber(pane.values[u * frame.n + v], pane.method === "counts"));
    lines.push([names[at], ...cells].join(","));
  });
  return `${lines.join("\n")}\n`;
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
    return `${name} & ${cells.join(" & ")} \\\\`;
  });
  return [
    "% needs \\usepackage{booktabs}",
    "\\begin{table}",
    "\\centering",
    `\\caption{${latexText(title)}: ${latexText(pane.name)} (${latexText(pane.sums)}${counted ? "; counts in small type" : ""}${absent ? "; --: never seen" : ""}). True classes on rows, predicted classes on columns.}`,
    `\\begin{tabular}{l${"r".repeat(cols.length)}}`,
    "\\toprule",
    `true $\\backslash$ predicted & ${names(cols).join(" & ")} \\\\`,
    "\\midrule",
    ...body,
    "\\bottomrule",
    "\\end{tabular}",
    "\\end{table}",
    "",
  ].join("\n");
}
