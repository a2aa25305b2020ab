// Payloads for the tests of the explorer's logic, small enough to check by hand.

export const ASSETS = "../../../src/deconfuse/reporting/assets/explorer";

const TYPES = { u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };

export function encode(values, dtype) {
  const array = TYPES[dtype].from(values);
  return { dtype, data: Buffer.from(array.buffer).toString("base64") };
}

/** A payload of a dense matrix; `bi` diagonals default to ones. */
export function payloadOf(counts, { labels, left, right, epsilon = 0, grades, more = {} } = {}) {
  const n = counts.length;
  const cells = [];
  const values = [];
  counts.forEach((row, i) => row.forEach((value, j) => {
    if (value > 0) {
      cells.push(i * n + j);
      values.push(value);
    }
  }));
  const rows = counts.map((row) => row.reduce((a, b) => a + b, 0));
  const cols = counts[0].map((_, j) => counts.reduce((sum, row) => sum + row[j], 0));
  const total = rows.reduce((a, b) => a + b, 0);
  const ones = Array(n).fill(1);
  const bias = cols.map((_, j) => counts.reduce((sum, row, i) => sum + (rows[i] ? row[j] / rows[i] : 0), 0));
  const scaling = (l, r, e = 0) => ({ epsilon: e, left: encode(l, "f8"), right: encode(r, "f8"), status: "converged", residual: 0 });
  return {
    schema_version: 2,
    generator: "test",
    title: "test",
    headline: "A test.",
    labels: labels ?? counts.map((_, k) => `c${k}`),
    outcomes: [],
    limits: { few_samples: 5, few_labels: 10, level: 0.95, quantile: 1.959964, wide_ratio: 3 },
    models: [{
      name: "A", total, n_samples: total, outcomes: [], weighted: false, cells: encode(cells, "u4"), counts: encode(values, "u4"),
      scalings: {
        row: scaling(rows.map((v) => (v ? 1 / v : NaN)), ones), col: scaling(ones, cols.map((v) => (v ? 1 / v : NaN))),
        all: scaling(Array(n).fill(1 / total), ones), bi: scaling(left ?? ones, right ?? ones, epsilon),
      },
      intervals: null, attribution: null, bucket_values: null, headline: "", scores: { accuracy: 1, balanced_accuracy: 1, macro_f1: 1 },
      classes: {
        bias: encode(bias, "f8"), bias_low: encode(ones, "f4"), bias_high: encode(ones, "f4"), verdicts: Array(n).fill("even"),
        grades: grades ?? Array(n).fill("good"), reasons: Array(n).fill(""),
        condition: "if all classes were equally frequent",
      },
    }],
    findings: [], similarity_order: null, linkage: null, bucket: null, directory: null, samples: null,
    geometry: null, comparison: null, groups: [], other_samples: {},
    kinds: [["look_alike", "Look alike"], ["over_predicted", "Over"], ["under_predicted", "Under"], ["careful", "Careful"]].map(([name, title]) => ({ name, title })),
    ...more,
  };
}

export const STATE = {
  method: "counts", beside: "", model: "0", order: "given", scale: "linear", collapsed: [], selection: null, view: null, theme: "auto", diagonal: "shown", least: "0", near: null,
};
