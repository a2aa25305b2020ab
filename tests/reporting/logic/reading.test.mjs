// What a reader relies on: metrics, names that differ, ink that can be read, lines to scan, bars that do not lie.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ASSETS, STATE, encode, payloadOf } from "./fixture.mjs";

const color = await import(`${ASSETS}/color.js`);
const { classMetrics } = await import(`${ASSETS}/metrics.js`);
const { tellApart } = await import(`${ASSETS}/names.js`);
const { barPieces } = await import(`${ASSETS}/paint-around.js`);
const { findingsByKind, lineOf } = await import(`${ASSETS}/findings.js`);
const { layoutOf } = await import(`${ASSETS}/layout.js`);
const { orderOf } = await import(`${ASSETS}/order.js`);
const { readStudy } = await import(`${ASSETS}/model.js`);
const { frameOf, modelOf, paneOf } = await import(`${ASSETS}/panes.js`);
const { shadesOf } = await import(`${ASSETS}/raster.js`);
const { storyMarks, storyPairs } = await import(`${ASSETS}/story.js`);
const { shadeOf, toSvg } = await import(`${ASSETS}/svg.js`);
const { findingsOf } = await import(`${ASSETS}/skeleton.js`);
const { fileName } = await import(`${ASSETS}/export-menu.js`);
const { modelChoices } = await import(`${ASSETS}/state.js`);

const close = (a, b, tolerance = 1e-12) => assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);

test("every number can be read on every step of every ramp, in both themes, faded or not", () => {
  const papers = { light: [255, 255, 255], dark: [21, 23, 28] };
  const inks = { "#000000": [0, 0, 0], "#ffffff": [255, 255, 255] };
  for (const theme of ["light", "dark"]) {
    for (const name of ["diagonal", "off", "worse", "better"]) {
      const table = color.ramp(theme, name);
      for (let k = 0; k < color.STEPS; k++) {
        const own = color.entryAt(table, k / (color.STEPS - 1));
        for (const shade of [own, color.fadedColor(own, papers[theme])]) {
          assert.ok(color.contrast(shade, inks[color.inkOn(shade)]) >= 4.5, `${theme} ${name} ${k}`);
        }
      }
    }
  }
});

test("a drawing's numbers can be read on the colour of their cells", () => {
  const counts = Array.from({ length: 8 }, (_, i) => Array.from({ length: 8 }, (_, j) => (i === j ? 10 + 12 * i : (i * 8 + j) % 50)));
  const study = readStudy(payloadOf(counts));
  const frame = frameOf(study, new Map(), STATE);
  for (const method of ["counts", "row"]) {
    const pane = paneOf(study, frame, { method, model: "0", log: false });
    const drawing = toSvg({ pane, frame, rows: frame.order, cols: frame.order, title: "t", limits: study.limits });
    assert.ok(!drawing.includes("fill-opacity="), "no ink is thinned");
    let under = null;
    let checked = 0;
    for (const line of drawing.split("\n")) {
      const cell = /^<rect .* fill="rgb\((\d+),(\d+),(\d+)\)"\/>$/.exec(line);
      if (cell) under = cell.slice(1).map(Number);
      const ink = /^<text .*fill="(#000000|#ffffff)".*dominant-baseline="central">/.exec(line);
      if (!ink) continue;
      checked++;
      assert.ok(color.contrast(under, ink[1] === "#000000" ? [0, 0, 0] : [255, 255, 255]) >= 4.5);
    }
    assert.ok(checked > 60);
  }
});

test("a drawing's numbers stay inside their cells", () => {
  for (const n of [10, 20, 24]) {
    const counts = Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => (i === j ? 20_000 : 10 + ((i * n + j) % 50))));
    const study = readStudy(payloadOf(counts));
    const frame = frameOf(study, new Map(), STATE);
    for (const method of ["counts", "row"]) {
      const pane = paneOf(study, frame, { method, model: "0", log: false });
      const drawing = toSvg({ pane, frame, rows: frame.order, cols: frame.order, title: "t", limits: study.limits });
      const cell = Math.min(44, Math.floor(720 / n));
      const written = [...drawing.matchAll(/font-size="10.5"[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text.replace("&lt;", "<"));
      assert.ok(written.length >= n);
      assert.ok(written.every((text) => 6.5 * text.length <= cell), `${n} ${method}: ${written.slice(0, 3)}`);
    }
  }
});

test("metrics are those of scikit-learn's definitions", () => {
  //            predicted a  b  c
  const counts = [8, 2, 0, 1, 4, 0, 0, 0, 0];
  const metrics = classMetrics(counts, 3);
  assert.deepEqual([...metrics.recall], [0.8, 0.8, NaN]);
  close(metrics.precision[0], 8 / 9);
  close(metrics.bias[0], 0.8 + 0.2);
  assert.ok(Number.isNaN(metrics.f1[2]) && Number.isNaN(metrics.bias[2]));
});

test("classes can be ordered by errors, recall and bias; those unknown come last", () => {
  const counts = [9, 1, 0, 0, 4, 6, 0, 0, 5, 0, 5, 0, 0, 0, 0, 0];
  const classes = { labels: ["a", "b", "c", "d"], sizes: [10, 10, 10, 0], similarity: null, last: -1, metrics: () => classMetrics(counts, 4) };
  assert.deepEqual(orderOf("errors", classes), [2, 1, 0, 3]);
  assert.deepEqual(orderOf("recall", classes), [2, 1, 0, 3]);
  assert.deepEqual(orderOf("bias", classes), [0, 1, 2, 3]);
});

test("names that are cut can be told apart, and stay inside their room", () => {
  const fits = (most) => (text) => [...text].length <= most;
  const long = [
    "Type 2 diabetes mellitus without complications", "Type 2 diabetes mellitus with unspecified complications",
    "Type 2 diabetes mellitus with kidney disease", "Essential hypertension with heart failure",
    "Essential hypertension without heart failure", "Acute infection, first encounter", "Acute infection, first", "Asthma",
  ];
  for (const most of [4, 6, 8, 12, 20, 40, 80]) {
    const drawn = tellApart(long, fits(most));
    assert.equal(new Set(drawn).size, long.length, `${most}: ${drawn}`);
    assert.ok(drawn.every(fits(most)), `${most}: ${drawn}`);
    if (most === 80) assert.deepEqual(drawn, long);
  }
  assert.deepEqual(tellApart(["cat", "dog"], fits(8)), ["cat", "dog"]);
  assert.deepEqual(tellApart(["n000001", "n000002", "n000003"], fits(4)), ["…1", "…2", "…3"]);
  const many = Array.from({ length: 60 }, (_, k) => `a long name of an animal, number ${k}`);
  assert.equal(new Set(tellApart(many, fits(6))).size, 60);
  const kinds = ["other complications", "chronic kidney disease", "diabetic foot"];
  const ends = ["in partial remission", "in full remission", "without complication"];
  const crossed = kinds.flatMap((kind) => ends.map((end) => `Type 2 diabetes mellitus with ${kind} ${end}`));
  for (const most of [6, 9, 14, 25, 40]) {
    const drawn = tellApart(crossed, fits(most));
    assert.equal(new Set(drawn).size, crossed.length, `${most}: ${drawn}`);
    assert.ok(drawn.every(fits(most)), `${most}: ${drawn}`);
    // Both the kind and the end are there to be read, not a number in their place.
    if (most > 9) drawn.forEach((text, k) => assert.match(text, RegExp(`${"ocd"[Math.floor(k / 3)]}.*[ …](in )?${["p", "f", "w"][k % 3]}`)));
  }
  assert.deepEqual(tellApart(["golden crab 1", "golden crab 10", "giant fox"], fits(9)), ["golden…1", "golden…10", "giant fox"]);
  assert.deepEqual(tellApart(["same", "same"], fits(3)), ["sa…", "sa…"], "equal names stay equal");
});

test("equal sums are equal pixels, whatever the number of classes", () => {
  for (const n of [10, 97, 400, 1000, 1733]) {
    const shares = new Float64Array(n).fill(1 / n);
    const places = Int32Array.from({ length: n }, (_, k) => k);
    const pieces = barPieces(shares, places, { start: 0, span: n, side: 613 });
    const covered = new Float64Array(613);
    for (const { from, wide, unit } of pieces) {
      assert.ok(Number.isInteger(from) && Number.isInteger(wide), "whole pixels");
      for (let pixel = from; pixel < from + wide; pixel++) covered[pixel] = shares[unit];
    }
    if (n >= 400) assert.ok(covered.every((share) => share === 1 / n), `${n}: a wave`);
  }
  const spike = barPieces([0, 9, 0, 0], [0, 1, 2, 3], { start: 0, span: 4, side: 2 });
  assert.equal(spike[0].unit, 1, "the largest class of a pixel speaks for it");
});

const FINDINGS = [
  { kind: "look_alike", severity: 1, sentence: "a and b look alike.", advice: "look", cells: [[0, 1], [1, 0]], classes: [0, 1], ranks: [1, 7] },
  { kind: "over_predicted", severity: 1, sentence: "a is over-predicted.", advice: "", cells: [], classes: [0], ranks: null },
  { kind: "careful", severity: 1, sentence: "Few samples.", advice: "", cells: [], classes: [], ranks: null },
];

test("findings are lines of names and numbers; every class with a bias has one, in words or not", () => {
  const payload = payloadOf([[80, 20, 0], [10, 90, 0], [0, 0, 50]], { labels: ["a", "b", "c"], more: { findings: FINDINGS } });
  Object.assign(payload.models[0].classes, { bias: encode([2, 1, 1.5], "f4"), verdicts: ["over", "even", "over"] });
  const study = readStudy(payload);
  study.models[0].estimate = { similarity: () => ({ value: 0.1667, low: 0.1, high: 0.2 }) };
  const line = lineOf(study, FINDINGS[0]);
  assert.deepEqual([line.names, line.between, line.n], [["a", "b"], "↔", "30"]);
  assert.equal(line.value, "0.17");
  assert.deepEqual([lineOf(study, FINDINGS[1]).value, lineOf(study, FINDINGS[1]).n], ["×2.0", "100"]);
  assert.equal(lineOf(study, FINDINGS[2]), null);
  const kinds = findingsByKind(study);
  assert.deepEqual([...kinds.keys()], ["look_alike", "over_predicted", "careful"]);
  assert.deepEqual(kinds.get("over_predicted").map((finding) => finding.classes[0]), [0, 2]);
  assert.deepEqual(storyPairs(study), [FINDINGS[0]]);
  const frame = frameOf(study, new Map(), STATE);
  assert.deepEqual(storyMarks(study, frame), [{ i: 0, j: 1 }, { i: 1, j: 0 }]);
});

test("of a ratio with a wide interval a line tells the end that is sure", () => {
  const payload = payloadOf([[80, 20], [10, 90]]);
  Object.assign(payload.models[0].classes, {
    bias: encode([4, 0.25], "f4"), bias_low: encode([2, 0.1], "f4"), bias_high: encode([8, 0.5], "f4"), verdicts: ["over", "under"],
  });
  const told = () => [...findingsByKind(readStudy(payload)).values()].map(([finding]) => lineOf(readStudy(payload), finding).value);
  assert.deepEqual(told(), ["≥ ×2.0", "≤ ×0.50"]);
  payload.limits.wide_ratio = 6;
  assert.deepEqual(told(), ["×4.0", "×0.25"]);
});

test("names of a line are read even where a thousand classes cannot all differ in so few letters", () => {
  const n = 200;
  const labels = Array.from({ length: n }, (_, k) => `${k % 2 ? "golden" : "silver"} retriever ${k}`);
  const counts = Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => Number(i === j)));
  const study = readStudy(payloadOf(counts, { labels }));
  const finding = { kind: "look_alike", cells: [[0, 1]], classes: [0, 1] };
  assert.deepEqual(lineOf(study, finding).names, ["silver…0", "golden…1"]);
  assert.deepEqual(lineOf(study, { ...finding, cells: [[0, 2]], classes: [0, 2] }).names, ["silver…0", "silver…2"]);
});

test("worse has one colour, on the diagonal and off it", () => {
  const pane = { kind: "difference", diagonal: { low: 0, high: 1, max: 1 }, off: { low: 0, high: 1, max: 1 } };
  assert.equal(shadeOf(pane, -0.5, true).name, "worse");
  assert.equal(shadeOf(pane, 0.5, false).name, "worse");
  assert.equal(shadeOf(pane, 0.5, true).name, "better");
  assert.equal(shadeOf(pane, -0.5, false).name, "better");
});

test("a reader may hide the diagonal and cells of few samples", () => {
  const study = readStudy(payloadOf([[90, 10, 1], [5, 25, 0], [2, 0, 7]]));
  const frame = frameOf(study, new Map(), STATE);
  const spec = { method: "counts", model: "0", log: false };
  assert.equal(paneOf(study, frame, spec).hidden, null);
  const pane = paneOf(study, frame, { ...spec, least: 5, diagonal: "hidden" });
  assert.deepEqual([...pane.hidden], [1, 0, 1, 0, 1, 1, 1, 1, 1]);
  const shades = shadesOf(pane, 3);
  assert.ok(shades[0] === 0 && shades[2] === 0 && shades[1] > 0);
  assert.ok(!toSvg({ pane, frame, rows: frame.order, cols: frame.order, title: "t" }).includes('font-weight="600">90'));
});

test("a bar of row over the even one is the bias", () => {
  const counts = [[90, 10, 0], [40, 60, 0], [30, 0, 70]];
  const study = readStudy(payloadOf(counts));
  const pane = paneOf(study, frameOf(study, new Map(), STATE), { method: "row", model: "0", log: false });
  const { bias } = pane.metrics();
  for (let k = 0; k < 3; k++) close(pane.cols[k] / pane.even.cols, bias[k]);
  assert.ok(Math.max(...pane.cols) <= pane.longest, "no bar is cut");
});

test("the cells fill the height, and leave the numbers beside them what is left", () => {
  for (const [width, maxHeight, window] of [[625, 520, 720], [700, 570, 768], [780, 700, 900], [1150, 880, 1080], [2900, 1950, 2160]]) {
    for (const n of [10, 24]) {
      const layout = layoutOf({ width, maxHeight, n, span: n, widest: 84, tree: false });
      assert.ok(layout.side >= 0.55 * window, `${width} × ${window}, ${n}: ${layout.side}`);
      assert.ok(layout.x + layout.side + layout.columns * layout.columnWidth <= width);
      assert.ok(layout.height <= maxHeight + 1);
    }
  }
});

test("any number of models can be picked, each against the first", () => {
  assert.deepEqual(modelChoices(1), ["0"]);
  assert.deepEqual(modelChoices(3), ["0", "1", "2", "difference", "difference-2"]);
  assert.deepEqual(["0", "2", "difference", "difference-2"].map((model) => modelOf("bi", model)), [0, 2, 1, 2]);
  assert.equal(modelOf("gcm-bi", "2"), 0);
});

test("the headline on the page begins with what was found: the sizes stand below it", () => {
  assert.equal(findingsOf("10 classes, 1,797 samples, accuracy 0.65, balanced accuracy 0.65. “3” and “9” are similar."), "“3” and “9” are similar.");
  assert.equal(findingsOf("4 classes, 130 samples, accuracy 1.00, balanced accuracy 1.00. No errors in 130 samples."), "No errors in 130 samples.");
  assert.equal(findingsOf("“a” is better than “b”. 3 cells differ."), "“a” is better than “b”. 3 cells differ.");
});

test("files of one page have different names, however long its title is", () => {
  const title = "a".repeat(90);
  assert.notEqual(fileName(title, "bi", "csv"), fileName(title, "counts", "csv"));
  assert.equal(fileName("", "", "csv"), "confusion-matrix.csv");
});
