import assert from "node:assert/strict";
import { test } from "node:test";
import { ASSETS, STATE, encode, payloadOf } from "./fixture.mjs";

const { mostConfusedBlock, orderOf, searchLabels } = await import(`${ASSETS}/order.js`);
const { balance, branchesOf, cutTree, givenBranches, normalizeUnits, sumUnits, unitsOf } = await import(`${ASSETS}/groups.js`);
const { readStudy } = await import(`${ASSETS}/model.js`);
const { frameOf, paneOf } = await import(`${ASSETS}/panes.js`);
const { treeLines } = await import(`${ASSETS}/layout.js`);
const { moved } = await import(`${ASSETS}/keyboard.js`);

const classes = { labels: ["b10", "b9", "a"], sizes: [1, 5, 3], similarity: [2, 0, 1], last: -1 };

test("classes are ordered as asked, the bucket stays last", () => {
  assert.deepEqual(orderOf("given", classes), [0, 1, 2]);
  assert.deepEqual(orderOf("name", classes), [2, 1, 0]);
  assert.deepEqual(orderOf("size", classes), [1, 2, 0]);
  assert.deepEqual(orderOf("similarity", classes), [2, 0, 1]);
  assert.deepEqual(orderOf("size", { ...classes, last: 1 }), [2, 0, 1]);
});

test("the most confused block is found, as by trying all", () => {
  const n = 30;
  let seed = 7;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const values = Float64Array.from({ length: n * n }, random);
  const order = Array.from({ length: n }, (_, k) => k).sort(() => random() - 0.5);
  const mass = (start) => {
    let sum = 0;
    for (let a = start; a < start + 6; a++) for (let b = start; b < start + 6; b++) if (a !== b) sum += values[order[a] * n + order[b]];
    return sum;
  };
  const best = Math.max(...Array.from({ length: n - 5 }, (_, s) => mass(s)));
  assert.ok(Math.abs(mass(mostConfusedBlock(values, order, 6)) - best) < 1e-9);
  assert.equal(mostConfusedBlock([0, 1, 1, 0], [0, 1], 6), 0);
});

test("the most confused block is found beside a bucket that is not looked at", () => {
  // Classes 2 and 3 are alike; the last one, a bucket, is confused with all.
  const values = [[9, 1, 0, 0, 8], [1, 9, 0, 0, 8], [0, 0, 9, 5, 8], [0, 0, 5, 9, 8], [8, 8, 8, 8, 9]].flat();
  assert.equal(mostConfusedBlock(values, [0, 1, 2, 3], 2, 5), 2);
  assert.equal(mostConfusedBlock(values, [3, 2, 0, 1], 2, 5), 0);
  assert.equal(mostConfusedBlock(values, [3, 2, 0, 1], 2, 5, [0, 1]), 2, "what the headline tells is shown");
  assert.equal(mostConfusedBlock(values, [3, 2, 0, 1], 2, 5, [3, 1]), 0, "unless that is too far apart");
});

test("search finds whole names, beginnings, words, then the rest", () => {
  const labels = ["overcoat", "red coat", "coat", "coating", "bag", "<img>"];
  assert.deepEqual(searchLabels(labels, "COAT ").map((k) => labels[k]), ["coat", "coating", "red coat", "overcoat"]);
  assert.deepEqual(searchLabels(labels, "<img"), [5]);
  assert.deepEqual(searchLabels(labels, "  "), []);
});

// Tree of four leaves: (0,1) at 1, (2,3) at 2, all at 5.
const LINKAGE = [0, 1, 1, 2, 2, 3, 2, 2, 4, 5, 5, 4];

test("branches know their members, cuts give groups", () => {
  const branches = branchesOf(LINKAGE, 4);
  assert.deepEqual(branches.get(6).members, [0, 1, 2, 3]);
  assert.deepEqual(cutTree(branches, 1), []);
  assert.deepEqual(cutTree(branches, 2), [4, 5]);
  assert.deepEqual(cutTree(branches, 3), [4, 5]);
  assert.deepEqual(cutTree(branches, 4), [6]);
});

test("a chain is cut into groups of the size asked for, not into all and some", () => {
  // Leaves join one after the other: (0,1) (2 3) (4,5), then all in a row.
  const chain = [0, 1, 1, 2, 2, 3, 1, 2, 4, 5, 1, 2, 6, 7, 5, 4, 9, 8, 6, 6];
  const branches = branchesOf(chain, 6);
  assert.deepEqual(cutTree(branches, 2), [6, 7, 8]);
  assert.deepEqual(cutTree(branches, 5), [8, 9]);
  const groups = cutTree(branches, 3).map((id) => branches.get(id).members.length);
  assert.ok(groups.every((size) => size <= 3));
});

test("a bucket stays outside the tree, and no branch takes its number", () => {
  const branches = branchesOf(LINKAGE, 5);
  assert.deepEqual([...branches.keys()], [5, 6, 7]);
  assert.deepEqual([branches.get(7).left, branches.get(7).right], [5, 6]);
  assert.deepEqual(cutTree(branches, 2), [5, 6]);
  assert.deepEqual(unitsOf(["a", "b", "c", "d", "other"], branches, [5, 6], [1, 1, 1, 1, 1]).map((u) => u.members), [[0, 1], [2, 3], [4]]);
});

test("units hold every class once, a collapsed branch swallows those inside", () => {
  const branches = branchesOf(LINKAGE, 4);
  const units = unitsOf(["a", "b", "c", "d"], branches, [4], [1, 9, 1, 1]);
  assert.deepEqual(units.map((u) => u.members), [[0, 1], [2], [3]]);
  assert.equal(units[0].label, "a, b");
  assert.equal(unitsOf(["a", "b", "c", "d"], branches, [6], [1, 9, 1, 3])[0].label, "b, d and 2 more");
  const given = givenBranches([{ name: "letters", classes: [0, 3] }], 7);
  assert.deepEqual(unitsOf(["a", "b", "c", "d"], new Map([...branches, ...given]), [7], [1, 1, 1, 1]).map((u) => u.label), ["letters", "b", "c"]);
  assert.equal(unitsOf(["a", "b", "c", "d"], branches, [4, 6], [1, 1, 1, 1]).length, 1);
});

test("collapsing sums the counts and normalizes anew", () => {
  const counts = [[8, 2, 0, 0], [1, 9, 0, 0], [0, 0, 5, 5], [0, 1, 4, 5]];
  const study = readStudy(payloadOf(counts, { epsilon: 0.25, more: { linkage: encode(LINKAGE, "f8"), similarity_order: encode([3, 2, 0, 1], "u4") } }));
  const branches = branchesOf(study.linkage, 4);
  const frame = frameOf(study, branches, { ...STATE, collapsed: [4], order: "similarity" });
  assert.deepEqual(frame.order.map((u) => frame.units[u].members), [[3], [2], [0, 1]]);
  const pane = paneOf(study, frame, { method: "counts", model: "0", log: false });
  assert.deepEqual([...pane.values], [20, 0, 0, 0, 5, 5, 1, 4, 5]);
  const row = paneOf(study, frame, { method: "row", model: "0", log: false });
  assert.deepEqual([...row.values.slice(6)], [0.1, 0.4, 0.5]);
  const bi = paneOf(study, frame, { method: "bi", model: "0", log: false });
  for (let i = 0; i < 3; i++) {
    assert.ok(Math.abs(bi.values[3 * i] + bi.values[3 * i + 1] + bi.values[3 * i + 2] - 1) < 1e-9);
    assert.ok(Math.abs(bi.values[i] + bi.values[3 + i] + bi.values[6 + i] - 1) < 1e-9);
  }
  const lines = treeLines(branches, 4, frame);
  assert.deepEqual(lines.filter((node) => node.collapsed).map((node) => node.id), [4]);
  assert.ok(lines.every((node) => node.height >= 0 && node.height <= 1));
});

test("balancing a 2 x 2 matrix gives the closed form", () => {
  const [a, b, c, d] = [90, 10, 5, 5];
  const x = 1 / (1 + Math.sqrt((b * c) / (a * d)));
  assert.ok(Math.abs(balance(Float64Array.from([a, b, c, d]), 2)[0] - x) < 1e-9);
});

test("balancing converges where sweeps crawl: well separated classes, tiny epsilon", () => {
  const n = 12;
  const masses = Float64Array.from({ length: n * n }, (_, k) => (Math.floor(k / n) === k % n ? 1000 * (1 + (k % 5)) : 1e-4 * (1 + ((k * 7) % 11))));
  const scaled = balance(masses, n);
  for (let i = 0; i < n; i++) {
    let row = 0;
    let col = 0;
    for (let j = 0; j < n; j++) {
      row += scaled[i * n + j];
      col += scaled[j * n + i];
    }
    assert.ok(Math.abs(row - 1) < 1e-8 && Math.abs(col - 1) < 1e-8);
  }
});

test("NaN cells add nothing to a group", () => {
  assert.deepEqual([...sumUnits([NaN, 1, 2, 3], 2, [{ id: 2, members: [0, 1], label: "" }])], [6]);
  const units = [{ id: 0, members: [0], label: "" }, { id: 1, members: [1], label: "" }];
  assert.deepEqual([...normalizeUnits("all", Float64Array.from([1, 1, 1, 1]), units, 0)], [0.25, 0.25, 0.25, 0.25]);
  assert.ok(Number.isNaN(normalizeUnits("row", Float64Array.from([0, 0, 1, 1]), units, 0)[0]));
});

test("arrow keys follow the display order and stop at the edges", () => {
  const frame = frameOf(readStudy(payloadOf([[1, 0, 0], [0, 5, 0], [0, 0, 3]])), new Map(), { ...STATE, order: "size" });
  assert.deepEqual(moved(null, "ArrowDown", frame), { kind: "cell", i: 1, j: 1 });
  assert.deepEqual(moved({ kind: "cell", i: 1, j: 1 }, "ArrowDown", frame), { kind: "cell", i: 2, j: 1 });
  assert.deepEqual(moved({ kind: "cell", i: 0, j: 1 }, "ArrowDown", frame), { kind: "cell", i: 0, j: 1 });
  assert.deepEqual(moved({ kind: "row", i: 1, j: 1 }, "ArrowDown", frame), { kind: "row", i: 2, j: 2 });
  assert.deepEqual(moved({ kind: "row", i: 1, j: 1 }, "ArrowRight", frame), { kind: "cell", i: 1, j: 1 });
});
