import assert from "node:assert/strict";
import { test } from "node:test";
import { ASSETS, STATE, encode, payloadOf } from "./fixture.mjs";

const color = await import(`${ASSETS}/color.js`);
const view = await import(`${ASSETS}/viewport.js`);
const { hit, layoutOf } = await import(`${ASSETS}/layout.js`);
const { defaultState, geometryOf, readHash, writeHash, Store } = await import(`${ASSETS}/state.js`);
const { isUnseen, paletteOf, rasterize, shadesOf } = await import(`${ASSETS}/raster.js`);
const { readStudy } = await import(`${ASSETS}/model.js`);
const { frameOf, paneOf, sumsOf } = await import(`${ASSETS}/panes.js`);
const { toCsv, toLatex, latexText } = await import(`${ASSETS}/exports.js`);
const { roleOf } = await import(`${ASSETS}/scatter.js`);
const { cellWords, spoken } = await import(`${ASSETS}/table.js`);
const { cellText, escapeXml, narrowText, toSvg, wrapped } = await import(`${ASSETS}/svg.js`);

test("ramps get darker in the light, lighter in the dark, evenly enough to read in grey", () => {
  for (const theme of ["light", "dark"]) {
    for (const name of ["diagonal", "off", "worse", "better"]) {
      const table = color.ramp(theme, name);
      const steps = Array.from({ length: 32 }, (_, k) => Math.cbrt(color.luminance(color.entryAt(table, k / 31))));
      const signs = steps.slice(1).map((value, k) => (theme === "light" ? steps[k] - value : value - steps[k]));
      assert.ok(signs.every((step) => step > -0.002), `${theme} ${name} turns back`);
      assert.ok(Math.abs(steps[31] - steps[0]) > 0.25, `${theme} ${name} has too little range`);
    }
  }
});

test("one huge cell does not flatten the others, and is said to be cut", () => {
  const values = [...Array.from({ length: 80 }, (_, k) => 1 + (k % 20)), 5000];
  const scale = color.scaleOf(values);
  assert.ok(scale.high < 100 && scale.max === 5000);
  assert.ok(color.place(scale, 20) > 0.3);
  assert.equal(color.place(scale, 5000), 1);
  const few = color.scaleOf([1, 2, 1000]);
  assert.ok(few.high <= 40);
  assert.deepEqual(color.scaleOf([]), { low: 0, high: 1, max: 0, log: false });
});

test("log scales reach decades down, zero stays below all", () => {
  const scale = color.scaleOf([0.001, 0.1, 100], { log: true });
  assert.equal(color.place(scale, 0), 0);
  assert.ok(color.place(scale, 0.01) > 0 && color.place(scale, 0.01) < color.place(scale, 0.1));
  assert.ok(color.ticksOf(scale).every((tick) => tick > 0));
  assert.ok(Number.isNaN(color.place(scale, NaN)));
  const nothing = color.scaleOf([], { log: true });
  assert.ok(nothing.low > 0 && color.ticksOf(nothing).length < 5, "a pane without errors has a scale too");
  assert.deepEqual(color.ticksOf({ low: 0, high: 1, max: 1, log: false }), [0, 0.25, 0.5, 0.75, 1]);
});

test("zoom keeps the cell under the pointer and never leaves the matrix", () => {
  const start = { x: 10, y: 20, span: 40 };
  for (const [u, v] of [[0, 0], [0.3, 0.8], [1, 1]]) {
    const next = view.zoomAt(start, 100, { u, v }, 0.5);
    assert.ok(Math.abs(next.x + u * next.span - (start.x + u * start.span)) < 1e-9);
    assert.ok(Math.abs(next.y + v * next.span - (start.y + v * start.span)) < 1e-9);
  }
  assert.deepEqual(view.zoomAt(start, 100, { u: 0.5, v: 0.5 }, 100), { x: 0, y: 0, span: 100 });
  assert.equal(view.zoomAt(start, 100, { u: 0, v: 0 }, 1e-9).span, view.CLOSEST);
  assert.deepEqual(view.panBy({ x: 0, y: 0, span: 10 }, 12, 99, -5), { x: 2, y: 0, span: 10 });
});

test("a cell out of sight is brought in, one in sight moves nothing", () => {
  const now = { x: 10, y: 10, span: 10 };
  assert.deepEqual(view.reveal(now, 100, 14, 15), now);
  assert.deepEqual(view.reveal(now, 100, 50, 15), { x: 10, y: 42, span: 10 });
  assert.deepEqual(view.centreOn(100, 0, 99, 20), { x: 80, y: 0, span: 20 });
  assert.deepEqual(view.whole(7), { x: 0, y: 0, span: 7 });
  assert.equal(view.labelStep(3, 12), 5);
});

test("every point of the canvas is a cell, a row, a column, the tree or nothing", () => {
  const layout = layoutOf({ width: 700, maxHeight: 600, n: 10, span: 10, widest: 60, tree: true });
  const at = (px, py) => hit(layout, view.whole(10), 10, px, py);
  assert.ok(layout.height <= 600 && layout.x + layout.side + layout.tree <= 700);
  assert.equal(at(layout.x + 1, layout.y + 1).part, "cell");
  assert.deepEqual([at(layout.x + layout.side - 1, layout.y + 1).row, at(layout.x + layout.side - 1, layout.y + 1).col], [0, 9]);
  assert.equal(at(layout.x - 10, layout.y + 5).part, "row");
  assert.equal(at(layout.x + 5, layout.y - 10).part, "col");
  assert.equal(at(layout.x + layout.side + 9, layout.y + 9).part, "tree");
  assert.equal(at(2, 2).part, "");
});

const STUDY = { n: 5, models: [1], similarityOrder: [] };
const LIMITS = { n: 5, nBranches: 4, methods: ["counts", "row", "col", "all", "bi"], models: 1 };

test("the link holds the state and nothing that is as usual", () => {
  const usual = defaultState(STUDY);
  assert.equal(writeHash(usual, usual), "");
  const state = { ...usual, method: "row", beside: "bi", order: "size", scale: "log", collapsed: [5, 7], selection: { kind: "cell", i: 1, j: 4 }, view: { x: 1, y: 0.5, span: 3.25 }, theme: "dark" };
  assert.deepEqual(readHash(`#${writeHash(state, usual)}`, usual, LIMITS), state);
  const row = { ...usual, selection: { kind: "row", i: 2, j: 2 } };
  assert.deepEqual(readHash(writeHash(row, usual), usual, LIMITS), row);
});

test("the link tells all classes from the part with which the page opens", () => {
  const opening = { x: 7, y: 7, span: 24 };
  const usual = { ...defaultState({ ...STUDY, n: 300 }), view: opening };
  const limits = { ...LIMITS, n: 300 };
  assert.equal(writeHash(usual, usual), "");
  assert.deepEqual(readHash("", usual, limits), usual);
  const all = { ...usual, view: null };
  assert.equal(writeHash(all, usual), "view=all");
  const selection = { kind: "cell", i: 1, j: 4 };
  for (const view of [opening, null, { x: 1, y: 2, span: 30.5 }]) {
    for (const more of [{}, { selection }, { order: "size" }, { collapsed: [301] }, { selection, order: "name", collapsed: [300] }]) {
      const state = { ...usual, ...more, view };
      assert.deepEqual(readHash(writeHash(state, usual), usual, limits), state);
    }
  }
  // A link made by hand: the cell it names is in sight.
  assert.equal(readHash("#cell=1.4", usual, limits).view, null);
  assert.deepEqual(readHash("#view=nonsense&method=row", usual, limits), { ...usual, method: "row" });
});

test("a link that makes no sense opens the page as usual", () => {
  const usual = defaultState(STUDY);
  for (const hash of ["#method=<img>", "#cell=9.9", "#cell=1", "#cell=a.b", "#groups=1", "#groups=99", "#view=1_2", "#view=1_2_-3", "#view=NaN_0_1", "#order=__proto__", "#%%%", "#model=1"]) {
    assert.deepEqual(readHash(hash, usual, LIMITS), usual, hash);
  }
});

test("from 60 classes on, similar ones stand together", () => {
  assert.equal(defaultState({ ...STUDY, n: 60 }).order, "similarity");
  assert.equal(defaultState({ ...STUDY, n: 59 }).order, "given");
});

test("there is geometry where there is a geometric matrix; points alone are none", () => {
  const models = [{ scalings: {} }];
  assert.equal(geometryOf({ models, geometry: null }), null);
  assert.equal(geometryOf({ models, geometry: { matrices: {} } }), null);
  assert.equal(geometryOf({ models, geometry: { matrices: { row: [], bi: [] } } }), "gcm-bi");
  assert.equal(geometryOf({ models, geometry: { matrices: { row: [] } } }), "gcm-row");
});

test("two stores share nothing", () => {
  const [a, b] = [new Store({ ...STATE }), new Store({ ...STATE })];
  let told = 0;
  b.listen(() => told++);
  a.set({ method: "row" });
  assert.equal(told, 0);
  assert.equal(b.state.method, "counts");
});

function shownOf(counts, labels, method = "counts", epsilon = 0) {
  const study = readStudy(payloadOf(counts, { labels, epsilon }));
  const frame = frameOf(study, new Map(), STATE);
  const pane = paneOf(study, frame, { method, model: "0", log: false });
  return { pane, frame, rows: frame.order, cols: frame.order, title: "test", limits: study.limits };
}

test("small cells share a pixel with the strongest of them; the diagonal stays whole", () => {
  const n = 64;
  const counts = Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => (i === j ? 10 : 0)));
  counts[5][40] = 7;
  counts[6][41] = 1;
  const { pane, frame } = shownOf(counts);
  const shades = shadesOf(pane, n);
  const palette = paletteOf("light", [255, 255, 255], [200, 200, 200]);
  const raster = rasterize(shades, palette, frame, view.whole(n), 16);
  assert.equal(raster.width, 16);
  assert.equal(raster.pixels[1 * 16 + 10], palette[shades[5 * n + 40]]);
  for (let k = 0; k < 16; k++) assert.equal(raster.pixels[k * 16 + k], palette[shades[0]]);
  const close = rasterize(shades, palette, frame, { x: 40, y: 5, span: 3 }, 300);
  assert.deepEqual([close.width, close.pixels[0]], [3, palette[shades[5 * n + 40]]]);
});

test("on a log scale only what was counted has a colour", () => {
  const study = readStudy(payloadOf([[90, 0], [1, 9]], { epsilon: 0.5 }));
  const pane = paneOf(study, frameOf(study, new Map(), STATE), { method: "bi", model: "0", log: true });
  const shades = shadesOf(pane, 2);
  assert.equal(shades[1], 0);
  assert.ok(shades[2] > 0);
  for (const scale of [{ low: 0.09, high: 0.9, max: 1, log: true }, { low: 1e-4, high: 1, max: 1, log: true }]) {
    const ticks = color.ticksOf(scale);
    assert.ok(ticks.length >= 2 && ticks.every((tick) => tick >= scale.low * 0.999 && tick <= scale.high * 1.001));
  }
});

test("a difference of many classes is scaled by the cells that either model counted", () => {
  const n = 40;
  const matrix = (off) => Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => (i === j ? 10 : j === (i + 1) % n ? off : 0)));
  const payload = payloadOf(matrix(1), { epsilon: 0.001 });
  // Another left diagonal, so that the cells without samples differ too, by next to nothing.
  const [second] = payloadOf(matrix(3), { epsilon: 0.001, left: Array(n).fill(1.5) }).models;
  payload.models.push({ ...second, name: "B" });
  const study = readStudy(payload);
  const pane = paneOf(study, frameOf(study, new Map(), STATE), { method: "bi", model: "difference", log: false });
  const largest = Math.max(...Array.from(pane.values, Math.abs));
  assert.ok(largest > 4.9);
  assert.equal(pane.off.max, largest);
  assert.ok(color.place(pane.off, Math.abs(pane.values[1])) < 1, "a change of 3.5 differs from one of 5");
  assert.ok(color.place(pane.off, Math.abs(pane.values[2])) < 0.01, "next to no change is pale");
});

test("a class that was never seen differs from zero", () => {
  const { pane } = shownOf([[5, 0], [0, 0]]);
  const shades = shadesOf(pane, 2);
  assert.ok(isUnseen(shades[2]) && isUnseen(shades[3]));
  assert.ok(!isUnseen(shades[1]));
});

test("CSV quotes what needs it and names its axes", () => {
  const { pane, frame } = shownOf([[90, 10], [5, 25]], ['say "hi"', "a,b\nc"]);
  assert.equal(toCsv(pane, frame), 'true \\ predicted,"say ""hi""","a,b\nc"\n"say ""hi""",90,10\n"a,b\nc",5,25\n');
  const ratios = shownOf([[90, 10], [5, 25]], ["a", "b"], "row");
  assert.match(toCsv(ratios.pane, ratios.frame), /^true \\ predicted \(row: each row sums to 1: where the samples of a true class go\),a,b\n/);
});

test("counts are written in full, however large, and weighted ones exactly", () => {
  const counts = [[123456789012345, 1], [0, 9007199254740991]];
  const whole = payloadOf(counts);
  whole.models[0].counts = encode([123456789012345, 1, 9007199254740991], "f8");
  const study = readStudy(whole);
  const frame = frameOf(study, new Map(), STATE);
  const pane = paneOf(study, frame, { method: "counts", model: "0", log: false });
  assert.match(toCsv(pane, frame), /\nc0,123456789012345,1\nc1,0,9007199254740991\n$/);
  assert.match(toLatex(pane, frame, [0, 1], [0, 1], "t"), /c0 & \\textbf\{123456789012345\} & 1 /);
  const ratios = paneOf(study, frame, { method: "row", model: "0", log: false });
  assert.match(toLatex(ratios, frame, [0, 1], [0, 1], "t"), /\{\\tiny 123456789012345\}/);
  whole.models[0].counts = encode([0.1 + 0.2, 1, 2.5], "f8");
  const weighted = readStudy(whole);
  const some = paneOf(weighted, frame, { method: "counts", model: "0", log: false });
  assert.match(toCsv(some, frame), /\nc0,0.30000000000000004,1\nc1,0,2.5\n$/);
  assert.match(toLatex(some, frame, [0, 1], [0, 1], "t"), /\{0.3\}/);
});

test("geometry says what its cells sum to", () => {
  assert.match(sumsOf("gcm-all", 6), /; all cells together sum to 1$/);
  for (const weighting of ["row", "col", "bi"]) assert.match(sumsOf(`gcm-${weighting}`, 6), /; all cells together sum to 6, the number of classes$/);
});

test("a group lights the points of all its members", () => {
  // Classes 0 and 1 are one group, class 2 stands alone.
  const points = { true: [0, 1, 0, 1, 2, 2, 0], pred: [0, 1, 1, 2, 0, 2, 2] };
  const roles = (selection) => points.true.map((_, k) => roleOf(points, [0, 0, 1], selection, k));
  assert.deepEqual(roles({ kind: "cell", i: 0, j: 1 }), [1, 1, 1, 3, 3, 2, 3]);
  assert.deepEqual(roles({ kind: "row", i: 0, j: 0 }), [1, 1, 1, 3, 3, 0, 3]);
  assert.deepEqual(roles(null), [0, 0, 0, 0, 0, 0, 0]);
  const alone = points.true.map((_, k) => roleOf(points, [0, 1, 2], { kind: "cell", i: 1, j: 2 }, k));
  assert.deepEqual(alone, [0, 1, 0, 3, 0, 2, 0]);
});

test("LaTeX shows names as they are and names its axes", () => {
  assert.equal(latexText("50% of_$x^2 & {a}\\#~"), "50\\% of\\_\\$x\\textasciicircum{}2 \\& \\{a\\}\\textbackslash{}\\#\\textasciitilde{}");
  assert.equal(latexText("<a>|b"), "\\textless{}a\\textgreater{}\\textbar{}b");
  const words = shownOf([[90, 10], [5, 25]], ["[UNK]", "*"]);
  const tokens = toLatex(words.pane, words.frame, words.rows, words.cols, "t");
  assert.match(tokens, /\\midrule\n\{\[\}UNK\] & .*\\\\\n\{\*\} & /);
  const { pane, frame, rows, cols } = shownOf([[90, 10], [5, 25]], ["a_1", "b"]);
  const table = toLatex(pane, frame, rows, cols, "t");
  assert.match(table, /True classes on rows, predicted classes on columns/);
  assert.match(table, /a\\_1 & \\textbf\{90\} & 10 \\\\/);
  const ratios = shownOf([[90, 10], [5, 25]], ["a", "b"], "row");
  const beside = toLatex(ratios.pane, ratios.frame, ratios.rows, ratios.cols, "t");
  assert.match(beside, /a & \\textbf\{0\.900\} \{\\tiny 90\} & 0\.100 \{\\tiny 10\} \\\\/);
  assert.match(beside, /each row sums to 1.*; counts in small type\)/);
});

test("numbers in cells keep their shape", () => {
  const ratio = { kind: "value", method: "bi" };
  const change = { kind: "difference", method: "bi" };
  assert.deepEqual([0.94, 0.00999, 0.0048, 1, 0.0001].map((v) => cellText(ratio, v)), ["0.94", "0.010", "0.005", "1.0", "<0.001"]);
  assert.deepEqual([0.94, 0.048, 0.001, 1].map((v) => narrowText(ratio, v)), ["0.94", "0.05", "", "1.00"]);
  assert.deepEqual([0.048, -0.2].map((v) => narrowText(change, v)), ["+0.05", "−0.20"]);
  assert.equal(narrowText({ kind: "value", method: "counts" }, 12345), "12k");
});

test("SVG holds names as text, whatever they are", () => {
  const shown = shownOf([[90, 10], [5, 25]], ["<script>alert(1)</script>", "\u0000&\"'"]);
  const drawing = toSvg(shown);
  assert.ok(!drawing.includes("<script"));
  assert.match(drawing, /predicted class/);
  assert.match(drawing, /true class/);
  assert.equal(escapeXml("\u0000<&\"'>"), "\ufffd&lt;&amp;&quot;&#39;&gt;");
});

test("a drawing shows the count beside each ratio, hatches what is weak, and says which way it sums", () => {
  const drawing = toSvg(shownOf([[90, 10, 0], [3, 25, 0], [0, 0, 40]], ["a", "b", "c"], "row"));
  assert.match(drawing, />0\.90<\/text>\n.*>90<\/text>/);
  assert.match(drawing, /each row sums to 1/);
  assert.equal(drawing.match(/url\(#weak\)/g).length, 1);
  assert.equal(drawing.match(/<circle/g).length, 4);
  for (const mark of ["small: number of samples", "hatched: few samples or none", "dot: nothing counted"]) assert.ok(drawing.includes(mark));
  assert.ok(!drawing.includes("never seen"));
  assert.ok(!drawing.includes('rotate(-90 7'), "short names lie flat");
  const counts = toSvg(shownOf([[90, 10], [5, 25]]));
  assert.ok(!counts.includes("url(#weak)") && !counts.includes("small: number"));
});

test("a class that was never seen is crossed out in drawings and a dash in tables, whatever epsilon made of it", () => {
  const counts = [[9, 1, 0], [2, 8, 0], [0, 0, 0]];
  const shown = shownOf(counts, ["a", "b", "c"], "bi", 0.5);
  assert.equal(shown.pane.values[8], 0.5);
  const drawing = toSvg(shown);
  assert.equal(drawing.match(/fill="url\(#unseen\)"/g).length, 3);
  assert.match(drawing, /crossed out: never seen/);
  // Two cells hold 9.5 and 8.5 on the diagonal; the third has neither a number nor a colour of it.
  assert.equal(drawing.match(/font-weight="600" text-anchor="middle"/g).length, 2);
  const table = toLatex(shown.pane, shown.frame, shown.rows, shown.cols, "t");
  assert.match(table, /^c & -- \{\\tiny 0\} & -- \{\\tiny 0\} & -- \{\\tiny 0\} \\\\$/m);
  assert.match(table, /; --: never seen\)/);
  assert.equal(cellWords(shown.pane, shown.frame, 2, 2), "never seen (0)");
  assert.match(spoken(shown.pane, shown.frame, { kind: "cell", i: 2, j: 2 }), /bi never seen$/);
  const plain = shownOf(counts, ["a", "b", "c"]);
  assert.match(toLatex(plain.pane, plain.frame, plain.rows, plain.cols, "t"), /^c & 0 & 0 & \\textbf\{0\} /m);
  const seen = shownOf([[9, 1], [2, 8]], ["a", "b"], "bi", 0.5);
  assert.ok(!toLatex(seen.pane, seen.frame, seen.rows, seen.cols, "t").includes("--"));
});

test("a difference says nothing of a class that either model never saw", () => {
  const payload = payloadOf([[9, 1], [0, 0]], { epsilon: 0.5 });
  payload.models.push({ ...payloadOf([[8, 2], [3, 7]], { epsilon: 0.5 }).models[0], name: "B" });
  for (const models of [payload.models, payload.models.toReversed()]) {
    const study = readStudy({ ...payload, models });
    const frame = frameOf(study, new Map(), STATE);
    const pane = paneOf(study, frame, { method: "bi", model: "difference", log: false });
    assert.deepEqual([...shadesOf(pane, 2)].map(isUnseen), [false, false, true, true]);
    assert.equal(toSvg({ pane, frame, rows: [0, 1], cols: [0, 1], title: "t" }).match(/"url\(#unseen\)"/g).length, 2);
  }
});

test("ticks stay inside their strip and apart", () => {
  for (const scale of [{ low: 0, high: 1, max: 1, log: false }, { low: 1e-7, high: 1, max: 1, log: true }, { low: 0, high: 123456789, max: 2e8, log: false }]) {
    const ticks = color.ticksInside(scale, 160, 6);
    assert.ok(ticks.length >= 2);
    let end = 0;
    for (const { text, x } of ticks) {
      assert.ok(x - 3 * text.length >= end - 1e-9 && x + 3 * text.length <= 160 + 1e-9);
      end = x + 3 * text.length;
    }
  }
});

test("long descriptions go on in the next line", () => {
  assert.deepEqual(wrapped("one a · two · three", 11, " · "), ["one a · two", "three"]);
  assert.deepEqual(wrapped("each row sums to 1", 9), ["each row", "sums to 1"]);
  assert.deepEqual(wrapped("abcdefghijkl m", 6), ["abcde…", "m"]);
});
