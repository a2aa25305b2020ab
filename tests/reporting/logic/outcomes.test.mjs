// Answers that are no class: strips beside the square, ways to them, and exports.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ASSETS, STATE, encode, payloadOf } from "./fixture.mjs";

const { escapeFormulas, toCsv, toLatex } = await import(`${ASSETS}/exports.js`);
const { branchesOf } = await import(`${ASSETS}/groups.js`);
const { moved } = await import(`${ASSETS}/keyboard.js`);
const { APART, hit, layoutOf } = await import(`${ASSETS}/layout.js`);
const { readStudy } = await import(`${ASSETS}/model.js`);
const { stripAt, stripText } = await import(`${ASSETS}/outcomes.js`);
const { frameOf, paneOf } = await import(`${ASSETS}/panes.js`);
const { defaultState, readHash, writeHash } = await import(`${ASSETS}/state.js`);
const { toSvg } = await import(`${ASSETS}/svg.js`);

const COUNTS = [[40, 5, 1], [4, 30, 2], [0, 3, 20]];

function part(outcome, side, counts) {
  const none = encode(counts.map(() => NaN), "f8");
  return { outcome, side, counts: encode(counts, "f8"), low: none, high: none, others: none };
}

function studyWith(outcomes, names, more = {}) {
  const payload = payloadOf(COUNTS, { more: { outcomes: names, ...more } });
  payload.models[0].outcomes = outcomes;
  return readStudy(payload);
}

const study = studyWith([part(1, "answer", [0, 24, 2]), part(0, "background", [3, 0, 25])], ["nothing", "refused"]);
const frame = frameOf(study, new Map(), STATE);
const paneIn = (method, of = study, own = frame) => paneOf(of, own, { method, model: "0", log: false });

test("a strip holds counts and shares of the row or of the column, and leaves the square as it is", () => {
  const { strips, values, labelCounts } = paneIn("row");
  assert.deepEqual(strips.map(({ side, name }) => `${side} ${name}`), ["answer refused", "background nothing"]);
  assert.deepEqual([...strips[0].totals], [46, 60, 25]);
  assert.deepEqual([...strips[0].shares], [0, 24 / 60, 2 / 25]);
  assert.deepEqual([...strips[1].shares], [3 / 47, 0, 25 / 48]);
  assert.deepEqual([...labelCounts], [46, 36, 23]);
  assert.ok(Math.abs(values[0] - 40 / 46) < 1e-12);
});

test("a cell of a strip says its share and its count; in counts the count alone", () => {
  const { strips } = paneIn("bi");
  assert.deepEqual(stripText(paneIn("bi"), strips[0], 1), ["40\u202f%", "24"]);
  assert.deepEqual(stripText(paneIn("counts"), strips[0], 1), ["24", ""]);
  assert.deepEqual(stripText(paneIn("bi"), strips[0], 0), ["0", ""]);
});

test("collapsed classes add their outcomes up", () => {
  const linkage = Float64Array.from([0, 1, 0.1, 2, 2, 3, 0.5, 3]);
  const collapsed = frameOf(study, branchesOf(linkage, 3), { ...STATE, collapsed: [3] });
  const [answers] = paneIn("row", study, collapsed).strips;
  assert.equal(answers.shares[collapsed.unitOf[0]], 24 / 106);
});

test("of two models a strip holds the change of the share; what one of them lacks is zero there", () => {
  const both = studyWith([part(0, "answer", [10, 0, 0])], ["refused"]);
  const before = payloadOf(COUNTS, { more: { outcomes: ["refused"] } });
  const after = payloadOf(COUNTS).models[0];
  after.name = "B";
  after.outcomes = [part(0, "answer", [10, 0, 0])];
  before.models.push(after);
  const two = readStudy(before);
  const change = paneOf(two, frameOf(two, new Map(), STATE), { method: "bi", model: "difference", log: false });
  assert.equal(change.strips[0].shares[0], 10 / 56);
  assert.deepEqual(stripText(change, change.strips[0], 0), ["+17.9\u202f%", ""]);
  assert.equal(both.strips.length, 1);
});

test("findings lead to their strip", () => {
  assert.equal(stripAt(study, [1, 3 + 1]), 0);
  assert.equal(stripAt(study, [3, 2]), 1);
});

test("arrow keys reach the outcomes beside and below the square, never the corner between", () => {
  const go = (selection, ...keys) => keys.reduce((at, key) => moved(at, `Arrow${key}`, frame, study.strips), selection);
  const corner = { kind: "cell", i: 2, j: 2 };
  const answer = { kind: "row", i: 2, j: 2, strip: 0 };
  const below = { kind: "col", i: 2, j: 2, strip: 1 };
  assert.deepEqual(go(corner, "Right"), answer);
  assert.deepEqual(go(answer, "Right"), answer);
  assert.deepEqual(go(answer, "Down"), answer);
  assert.deepEqual(go(answer, "Up", "Left"), { kind: "cell", i: 1, j: 2 });
  assert.deepEqual(go(corner, "Down"), below);
  assert.deepEqual(go(below, "Right"), below);
  assert.deepEqual(go(below, "Left", "Up"), { kind: "cell", i: 2, j: 1 });
});

test("the link holds a selected outcome, on its own side alone", () => {
  const defaults = defaultState(study);
  const limits = { n: 3, nBranches: 0, methods: ["bi"], models: 1, strips: ["answer", "background"] };
  for (const selection of [{ kind: "row", i: 1, j: 1, strip: 0 }, { kind: "col", i: 2, j: 2, strip: 1 }]) {
    assert.deepEqual(readHash(writeHash({ ...defaults, selection }, defaults), defaults, limits).selection, selection);
  }
  assert.deepEqual(readHash("row=1.1", defaults, limits).selection, { kind: "row", i: 1, j: 1 });
});

test("strips take their room from the square, and are found under the pointer", () => {
  const room = { width: 700, maxHeight: 600, n: 3, span: 3, widest: 20, tree: false };
  const bare = layoutOf(room);
  const layout = layoutOf({ ...room, strips: { answers: 2, backgrounds: 1, widest: 60 } });
  assert.ok(layout.side < bare.side && layout.height <= 600);
  assert.ok(layout.edge <= layout.width);
  const view = { x: 0, y: 0, span: 3 };
  const middle = layout.y + layout.side / 2;
  const beside = hit(layout, view, 3, layout.x + layout.side + APART + 1.5 * layout.answerWidth, middle);
  assert.deepEqual([beside.part, beside.strip, beside.row], ["strip", 1, 1]);
  const below = hit(layout, view, 3, layout.x + 1, layout.y + layout.side + APART + 2);
  assert.deepEqual([below.part, below.strip, below.col], ["strip", 2, 0]);
  const gap = hit(layout, view, 3, layout.x + layout.side + APART / 2, middle).part;
  assert.equal(gap, layout.columns > 0 ? "row" : "", "beside a row are its numbers");
});

test("CSV has outcomes last, as they are read again; LaTeX and SVG set them apart", () => {
  assert.equal(toCsv(paneIn("counts"), frame).split("\n")[0], "true \\ predicted [str; 2 outcomes],c0,c1,c2,refused,nothing");
  assert.equal(toCsv(paneIn("counts"), frame).split("\n")[2], "c1,4,30,2,24,0");
  assert.equal(toCsv(paneIn("counts"), frame).split("\n")[5], "nothing,3,0,25,0,0");
  assert.match(toCsv(paneIn("row"), frame), /^true \\ predicted \(row: .*; 2 outcomes\),/);
  const table = toLatex(paneIn("row"), frame, [0, 1], [0, 1], "t");
  assert.match(table, /\{lrr@\{\\qquad\}r\}/);
  assert.match(table, /c1 & .* & 40 \\% \{\\tiny 24\} \\\\/);
  assert.match(table, /\\midrule\nnothing & /);
  const drawing = toSvg({ pane: paneIn("row"), frame, rows: [0, 1, 2], cols: [0, 1, 2], title: "t" });
  for (const text of ["refused", "nothing", "40\u202f%", "no class"]) assert.ok(drawing.includes(text), text);
});

test("no spreadsheet runs a name of an exported CSV", () => {
  const begins = ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "\nx", "＝x"];
  for (const name of begins) assert.deepEqual(escapeFormulas([name, "cat"]), { escaped: true, names: [`'${name}`, "cat"] });
  assert.deepEqual(escapeFormulas(["=1", "'70s"]).names, ["'=1", "''70s"]);
  assert.deepEqual(escapeFormulas(["'70s", "cat", "-7", "0"]), { escaped: false, names: ["'70s", "cat", "-7", "0"] });
  const hostile = readStudy(payloadOf([[9, 1], [1, 9]], { labels: ["=HYPERLINK(0)", "b"] }));
  const own = frameOf(hostile, new Map(), STATE);
  assert.equal(toCsv(paneIn("counts", hostile, own), own), "true \\ predicted [str; escaped],'=HYPERLINK(0),b\n'=HYPERLINK(0),9,1\nb,1,9\n");
  assert.match(toCsv(paneIn("row", hostile, own), own), /; escaped\),'=HYPERLINK/);
});
