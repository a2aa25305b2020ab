import assert from "node:assert/strict";
import { test } from "node:test";
import { ASSETS, encode } from "./fixture.mjs";

const { decodeArray, indexOfSorted, quantile } = await import(`${ASSETS}/arrays.js`);
const format = await import(`${ASSETS}/format.js`);

test("arrays survive the way to the browser", () => {
  for (const [dtype, values] of [["u2", [0, 65535]], ["u4", [0, 4294967295]], ["i4", [-1, 7]], ["f8", [NaN, 1e-300, Infinity]]]) {
    assert.deepEqual([...decodeArray(encode(values, dtype))], values);
  }
  assert.throws(() => decodeArray({ dtype: "x9", data: "" }), /unknown array type x9/);
});

test("quantiles interpolate and searches find", () => {
  assert.equal(quantile([1, 2, 3, 4], 0.5), 2.5);
  assert.ok(Number.isNaN(quantile([], 0.5)));
  assert.equal(indexOfSorted([2, 5, 9], 9), 2);
  assert.equal(indexOfSorted([2, 5, 9], 4), -1);
});

test("numbers are short and keep three digits", () => {
  const cases = [[0, "0"], [NaN, "–"], [0.12345, "0.123"], [0.5, "0.500"], [12.345, "12.3"], [123.4, "123"], [9999, "9,999"],
    [48210, "48,210"], [1234567, "1,234,567"], [0.00001234, "1.23×10⁻⁵"], [0.0002, "2×10⁻⁴"], [0.001, "0.00100"], [-0.25, "−0.250"], [0.99996, "1.00"], [3e-15, "3×10⁻¹⁵"], [Infinity, "∞"]];
  for (const [value, text] of cases) assert.equal(format.short(value), text, String(value));
});

test("counts stay whole, weighted counts do not", () => {
  assert.equal(format.count(48210), "48,210");
  assert.equal(format.count(2.5), "2.50");
  assert.equal(format.brief(999), "999");
  assert.equal(format.brief(1234), "1.2k");
  assert.equal(format.brief(999_700), "1.0M");
  assert.equal(format.brief(2_000_000), "2.0M");
});

test("zero, almost zero and nothing look different", () => {
  assert.equal(format.percent(0), "0\u202f%");
  assert.equal(format.percent(0.00001), "<0.01\u202f%");
  assert.equal(format.percent(NaN), format.NOTHING);
  assert.equal(format.percent(0.1234), "12.3\u202f%");
  assert.equal(format.percent(1), "100\u202f%");
});

test("ticks are as short as they go", () => {
  for (const [value, text] of [[0, "0"], [0.25, "0.25"], [0.5, "0.5"], [1, "1"], [200, "200"], [0.05, "0.05"], [1e-6, "1×10⁻⁶"]]) {
    assert.equal(format.tickText(value), text);
  }
});

test("words agree with their number", () => {
  assert.equal(format.plural(1, "sample"), "1 sample");
  assert.equal(format.plural(2, "class"), "2 classes");
  assert.equal(format.plural(12000, "label"), "12,000 labels");
});

test("names are cut between letters, never inside an emoji", () => {
  assert.equal(format.cut("👩‍🚀👩‍🚀", 100), "👩‍🚀👩‍🚀");
  assert.equal(format.cut("🚀🚀🚀🚀", 3), "🚀🚀…");
  assert.equal([...format.isolate("אב")].length, 4);
});

test("numbers of the findings keep their zeros, as in the sentences", () => {
  const written = [2, 0.05, 0.0999, 15.7, 0.00012, 4.3e-6, 0].map((value) => format.plain(value));
  assert.deepEqual(written, ["2.0", "0.050", "0.10", "16", "0.00012", "4.3×10⁻⁶", "0"]);
});
