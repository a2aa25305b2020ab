import assert from "node:assert/strict";
import { test } from "node:test";
import { ASSETS, STATE, encode, payloadOf } from "./fixture.mjs";

const { readStudy } = await import(`${ASSETS}/model.js`);
const { frameOf, paneOf, pValueOf } = await import(`${ASSETS}/panes.js`);
const { partsOf, trustOf, trustSentence, valueWords, waterfallOf, companyOf, biasOf } = await import(`${ASSETS}/explain.js`);

//          predicted
//          c0  c1  c2
// true c0  90  10   0
//      c1   5  25   0
//      c2   0   0   0     never seen
const COUNTS = [[90, 10, 0], [5, 25, 0], [0, 0, 0]];

const close = (a, b, tolerance = 1e-12) => assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);

test("cells are left (count + epsilon) right", () => {
  const left = [0.5, 2, 1];
  const right = [0.1, 0.2, 3];
  const [model] = readStudy(payloadOf(COUNTS, { left, right, epsilon: 0.25 })).models;
  for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) close(model.value("bi", i, j), left[i] * (COUNTS[i][j] + 0.25) * right[j]);
  close(model.value("row", 0, 1), 0.1);
  close(model.value("col", 0, 0), 90 / 95);
  assert.equal(model.count(1, 0), 5);
  assert.equal(model.count(2, 2), 0);
  assert.equal(model.weight("bi", 1, 2), 6);
  assert.ok(Number.isNaN(model.value("row", 2, 0)), "an empty row has no values");
});

test("another schema version is refused, by name", () => {
  assert.throws(() => readStudy({ ...payloadOf(COUNTS), schema_version: 99 }), /version 2, this one has 99/);
});

test("intervals are there for the cells listed, and absent where the page has none", () => {
  const payload = payloadOf(COUNTS);
  payload.models[0].intervals = { cells: encode([0, 6], "u4"), row: { low: encode([0.5, NaN], "f4"), high: encode([0.75, NaN], "f4") } };
  const [model] = readStudy(payload).models;
  assert.deepEqual(model.interval("row", 0, 0), [0.5, 0.75]);
  assert.equal(model.interval("row", 2, 0), null, "a value that does not exist has no interval");
  assert.equal(model.interval("row", 0, 1), null);
  assert.equal(model.interval("row", 0, 2), null);
  assert.equal(model.interval("bi", 0, 0), null);
});

test("the bucket's cells come from the payload", () => {
  const payload = payloadOf(COUNTS, { more: { bucket: { n_classes: 7 } } });
  const values = { row: encode([0.1, 0.2, 0.7], "f8"), col: encode([0.3, 0.4, 0.7], "f8") };
  payload.models[0].bucket_values = { row: values, col: values, all: values, bi: values };
  const [model] = readStudy(payload).models;
  assert.deepEqual([model.value("bi", 2, 0), model.value("bi", 1, 2), model.value("bi", 2, 2)], [0.1, 0.4, 0.7]);
});

test("panes know sums, margins and scales", () => {
  const study = readStudy(payloadOf(COUNTS));
  const frame = frameOf(study, new Map(), STATE);
  const pane = paneOf(study, frame, { method: "counts", model: "0", log: false });
  assert.deepEqual([...pane.rows].map((v) => Number(v.toFixed(4))), [0.7692, 0.2308, 0]);
  assert.equal(pane.off.max, 10);
  assert.equal(pane.diagonal.max, 90);
  assert.match(paneOf(study, frame, { method: "row", model: "0", log: false }).sums, /each row sums to 1/);
});

test("two models give a difference, with p-values where tests exist", () => {
  const payload = payloadOf(COUNTS);
  payload.models.push({ ...payloadOf([[80, 20, 0], [5, 25, 0], [0, 0, 0]]).models[0], name: "B" });
  payload.comparison = { cells: encode([0, 1], "u4"), p_values: encode([0.01, 0.5], "f4"), level: 0.05, overlap: 0.9, overlap_interval: null };
  const study = readStudy(payload);
  const frame = frameOf(study, new Map(), STATE);
  const pane = paneOf(study, frame, { method: "bi", model: "difference", log: false });
  assert.equal(pane.kind, "difference");
  assert.equal(pane.values[1], 10);
  assert.deepEqual([...pane.faded.slice(0, 3)], [0, 1, 1]);
  close(pValueOf(study, 0, 1), 0.5, 1e-6);
  assert.ok(Number.isNaN(pValueOf(study, 2, 2)));
  assert.equal(paneOf(study, frame, { method: "row", model: "difference", log: false }).faded, null);
});

test("geometry is that of the first model, whichever is chosen", () => {
  const payload = payloadOf(COUNTS);
  payload.models.push({ ...payloadOf([[80, 20, 0], [5, 25, 0], [0, 0, 0]]).models[0], name: "B" });
  const matrix = [1, 0.5, 0, 0.5, 1, 0, 0, 0, 0];
  payload.geometry = { matrices: { bi: encode(matrix, "f4") }, agreement: {}, points: null };
  const study = readStudy(payload);
  const frame = frameOf(study, new Map(), STATE);
  for (const model of ["0", "1", "difference"]) {
    const pane = paneOf(study, frame, { method: "gcm-bi", model, log: false });
    assert.deepEqual([pane.kind, pane.model, pane.name], ["value", 0, "geometry, bi · A"]);
    assert.deepEqual([...pane.values], matrix);
    assert.equal(pane.counts[1], 10);
  }
  const shown = (model) => paneOf(study, frame, { method: "row", model, log: false }).model;
  assert.deepEqual(["0", "1", "difference"].map(shown), [0, 1, 1]);
});

test("cells are trusted for what they rest on", () => {
  const study = readStudy(payloadOf([[90, 10, 0], [3, 45, 0], [0, 0, 0]], { epsilon: 0.3, grades: ["good", "poor", "good"] }));
  const frame = frameOf(study, new Map(), STATE);
  const pane = paneOf(study, frame, { method: "bi", model: "0", log: false });
  const limits = { few_samples: 5 };
  assert.equal(trustOf(pane, 3, 0, 0, limits), "");
  assert.equal(trustOf(pane, 3, 1, 0, limits), "few");
  assert.equal(trustOf(pane, 3, 0, 2, limits), "none");
  assert.equal(trustOf(pane, 3, 2, 0, limits), "unseen");
  assert.equal(trustOf(pane, 3, 1, 1, limits), "thin");
  const counts = paneOf(study, frame, { method: "counts", model: "0", log: false });
  assert.equal(trustOf(counts, 3, 1, 0, limits), "", "a count is what it is");
  const facts = { count: 3, epsilon: 0.3, labels: 48, reasons: ["only 7 effective samples", ""] };
  const names = { true: "a", pred: "b" };
  assert.match(trustSentence("few", facts, names, (v) => v.toFixed(2)), /Only 3 counted/);
  assert.match(trustSentence("few", { ...facts, count: 2.5 }, names, String), /Only 2.50 counted/);
  assert.match(trustSentence("none", facts, names, String), /epsilon alone \(0.3/);
  assert.match(trustSentence("none", { ...facts, epsilon: 0 }, names, String), /is an estimate/);
  assert.match(trustSentence("thin", facts, names, String), /row of a with care: only 7 effective/);
  assert.match(trustSentence("thin", { ...facts, reasons: ["", "20% of it is epsilon"] }, names, String), /column of b with care: 20%/);
  assert.match(trustSentence("unseen", { ...facts, labels: 0 }, names, String), /no sample of a/);
  assert.equal(trustSentence("", facts, names, String), "");
});

test("rows and columns of few samples are hatched where a method divides by them", () => {
  const study = readStudy(payloadOf([[90, 0, 6], [0, 7, 0], [0, 0, 3]], { grades: ["poor", "good", "good"] }));
  const frame = frameOf(study, new Map(), STATE);
  const trusted = (method, i, j) => trustOf(paneOf(study, frame, { method, model: "0", log: false }), 3, i, j, study.limits);
  assert.equal(trusted("bi", 0, 0), "", "what epsilon would do says nothing without epsilon");
  assert.deepEqual(["row", "col", "all", "bi"].map((method) => trusted(method, 0, 2)), ["", "thin", "", "thin"]);
  assert.deepEqual(["row", "col", "all", "bi"].map((method) => trusted(method, 1, 1)), ["thin", "thin", "", "thin"]);
});

test("the waterfall ends at the observed count", () => {
  const payload = payloadOf(COUNTS, { epsilon: 0.5 });
  payload.models[0].attribution = { base: 13, label: encode([2, 0.5, 1], "f8"), prediction: encode([1.5, 0.7, 1], "f8") };
  const [model] = readStudy(payload).models;
  const parts = partsOf(model, 0, 1);
  close(parts.base * parts.similarity * parts.label * parts.prediction, 10);
  const fall = waterfallOf(parts);
  assert.equal(fall.start, 13);
  close(fall.steps[2].to, 10);
  fall.steps.slice(1).forEach((step, k) => assert.equal(step.from, fall.steps[k].to));
  payload.models[0].attribution = null;
  assert.equal(partsOf(readStudy(payload).models[0], 0, 1), null);
});

test("company is sorted, counted, and never the class itself", () => {
  const values = [0.5, 0.2, 0.3, 0, 1, 0, 0, 0, 1];
  const counts = [5, 2, 3, 0, 9, 0, 0, 0, 9];
  assert.deepEqual(companyOf(values, counts, 3, 0, "row", 5).map((c) => c.unit), [2, 1]);
  assert.deepEqual(companyOf(values, counts, 3, 1, "col", 5), [{ unit: 0, value: 0.2, count: 2 }]);
});

test("bias is what the diagnosis says, in words", () => {
  const payload = payloadOf(COUNTS);
  Object.assign(payload.models[0].classes, { bias: encode([2.5, 1, NaN], "f4"), verdicts: ["over", "even", "never seen"] });
  const [model] = readStudy(payload).models;
  assert.deepEqual([biasOf(model, 0).word, biasOf(model, 0).ratio], ["over-predicted", 2.5]);
  assert.equal(biasOf(model, 2).word, "never a label");
});

test("a page without intervals promises none and says why", () => {
  const model = readStudy(payloadOf([[9, 1], [2, 8]])).models[0];
  assert.equal(model.intervals, null);
  assert.deepEqual(valueWords(model, false), { title: "Value", note: "Intervals are not computed above 1,000 classes." });
  assert.deepEqual(valueWords({ intervals: {} }, true), { title: "Value and 95 % interval", note: "" });
  const empty = valueWords({ intervals: {} }, false);
  assert.equal(empty.title, "Value");
  assert.match(empty.note, /intervals of the larger counts only/);
});
