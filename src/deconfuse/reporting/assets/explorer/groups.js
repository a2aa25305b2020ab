// The tree of classes: leaves and branches, collapsing branches into one class, cutting into groups.

import { cut } from "./format.js";

/**
 * @typedef {object} Branch
 * @property {number} id class index below n, branch index from n on
 * @property {number} left @property {number} right
 * @property {number} height
 * @property {number[]} members class indices
 * @property {string} [name] of a group that the report was given
 */

/**
 * Branches of a linkage matrix (rows: left, right, height, size), keyed by node id.
 * @param {ArrayLike<number>} linkage
 * @param {number} n number of classes; a bucket is a class without a place in the tree
 * @returns {Map<number, Branch>}
 */
export function branchesOf(linkage, n) {
  /** @type {Map<number, Branch>} */
  const branches = new Map();
  const leaves = linkage.length / 4 + 1;
  const node = (/** @type {number} */ id) => (id < leaves ? id : id - leaves + n);
  const members = (/** @type {number} */ id) => (id < n ? [id] : branches.get(id)?.members ?? []);
  for (let row = 0; row * 4 + 3 < linkage.length; row++) {
    const left = node(linkage[row * 4]);
    const right = node(linkage[row * 4 + 1]);
    branches.set(n + row, {
      id: n + row,
      left,
      right,
      height: linkage[row * 4 + 2],
      members: [...members(left), ...members(right)],
    });
  }
  return branches;
}

/**
 * Groups that the report was given, as branches that belong to no tree.
 * @param {{name: string, classes: number[]}[]} groups @param {number} first id
 * @returns {Map<number, Branch>}
 */
export function givenBranches(groups, first) {
  return new Map(groups.map(({ name, classes }, k) => [first + k, { id: first + k, left: -1, right: -1, height: 0,
    members: classes, name }]));
}

/**
 * Branches to collapse so that no group has more than `most` classes: the largest branches of at
 * most that size. A number of groups would be no such choice: the last joins of a tree unite what
 * has little in common, and leave one group of nearly all classes beside a few small ones.
 * @param {Map<number, Branch>} branches @param {number} most
 * @returns {number[]}
 */
export function cutTree(branches, most) {
  const inside = new Set();
  for (const branch of branches.values()) {
    if (branch.members.length > most) continue;
    // Children come before their parents, which take their place.
    inside.delete(branch.left);
    inside.delete(branch.right);
    inside.add(branch.id);
  }
  return [...inside].toSorted((a, b) => a - b);
}

/**
 * @typedef {object} Unit one row and column of the view: a class, or a collapsed group of them
 * @property {number} id class index, or branch id of a group
 * @property {number[]} members
 * @property {string} label
 */

/**
 * Units of the view: each class for itself, each collapsed branch as one.
 * @param {string[]} labels
 * @param {Map<number, Branch>} branches
 * @param {number[]} collapsed branch ids; a branch inside a collapsed one has no effect
 * @param {ArrayLike<number>} sizes
 * @returns {Unit[]}
 */
export function unitsOf(labels, branches, collapsed, sizes) {
  const owner = new Int32Array(labels.length).fill(-1);
  const byReach = collapsed
    .map((id) => branches.get(id))
    .filter((branch) => branch !== undefined)
    .toSorted((a, b) => b.members.length - a.members.length);
  for (const branch of byReach) {
    for (const leaf of branch.members)
      if (owner[leaf] < 0) owner[leaf] = branch.id;
  }
  /** @type {Unit[]} */
  const units = [];
  const seen = new Set();
  for (let k = 0; k < labels.length; k++) {
    const id = owner[k] < 0 ? k : owner[k];
    if (seen.has(id)) continue;
    seen.add(id);
    const members = id < labels.length ? [id] : (branches.get(id)?.members ?? []);
    units.push({ id, members, label: branches.get(id)?.name ?? unitLabel(labels, members, sizes) });
  }
  return units;
}

/** The largest classes of a group by name: both of two. @param {string[]} labels @param {number[]} members @param {ArrayLike<number>} sizes */
function unitLabel(labels, members, sizes) {
  if (members.length === 1) return labels[members[0]];
  const largest = members.toSorted((a, b) => sizes[b] - sizes[a] || a - b).slice(0, 2).toSorted((a, b) => a - b);
  const names = largest.map((k) => cut(labels[k], 40)).join(", ");
  return members.length === 2 ? names : `${names} and ${members.length - 2} more`;
}

/**
 * Sum a matrix of classes into a matrix of units.
 * @param {ArrayLike<number>} values @param {number} n @param {Unit[]} units
 */
export function sumUnits(values, n, units) {
  const of = new Int32Array(n);
  units.forEach((unit, u) => unit.members.forEach((k) => (of [k] = u)));
  const size = units.length;
  const sums = new Float64Array(size * size);
  for (let i = 0, k = 0; i < n; i++) {
    const row = of [i] * size;
    for (let j = 0; j < n; j++, k++)
      if (values[k] === values[k]) sums[row + of [j]] += values[k];
  }
  return sums;
}

/**
 * One normalization of a matrix of units: groups are classes of their own, normalized anew.
 * @param {string} method
 * @param {Float64Array} counts of units @param {Unit[]} units
 * @param {number} epsilon what was added to each class cell; a group cell holds one per pair of members
 */
export function normalizeUnits(method, counts, units, epsilon) {
  const n = units.length;
  const masses = Float64Array.from(counts);
  for (let i = 0, k = 0; i < n; i++) {
    for (let j = 0; j < n; j++, k++) {
      masses[k] += epsilon * units[i].members.length * units[j].members.length;
    }
  }
  if (method === "counts") return counts;
  if (method === "bi") return balance(masses, n);
  const rows = new Float64Array(n);
  const cols = new Float64Array(n);
  let total = 0;
  for (let i = 0, k = 0; i < n; i++) {
    for (let j = 0; j < n; j++, k++) {
      rows[i] += masses[k];
      cols[j] += masses[k];
      total += masses[k];
    }
  }
  for (let i = 0, k = 0; i < n; i++) {
    for (let j = 0; j < n; j++, k++) {
      const by = method === "row" ? rows[i] : method === "col" ? cols[j] : total;
      masses[k] = by > 0 ? masses[k] / by : NaN;
    }
  }
  return masses;
}

/**
 * Scale a positive matrix until every row and column sums to 1: a few sweeps, then Newton steps on
 * the row factors (sweeps alone crawl where classes are told apart well).
 * @param {Float64Array} masses @param {number} n
 */
export function balance(masses, n) {
  const left = new Float64Array(n).fill(1);
  const right = new Float64Array(n);
  const rows = new Float64Array(n);
  const settle = () => {
    right.fill(0);
    for (let i = 0, k = 0; i < n; i++)
      for (let j = 0; j < n; j++, k++) right[j] += left[i] * masses[k];
    for (let j = 0; j < n; j++) right[j] = 1 / right[j];
    rows.fill(0);
    let gap = 0;
    for (let i = 0, k = 0; i < n; i++) {
      for (let j = 0; j < n; j++, k++) rows[i] += left[i] * masses[k] * right[j];
      gap += Math.abs(rows[i] - 1);
    }
    return gap;
  };
  let gap = settle();
  const direct = n <= 150;
  for (let step = 0; step < (direct ? 60 : 500) && gap > 1e-10; step++) {
    if (direct && step >= 8) {
      const move = newtonStep(masses, left, right, rows, n);
      const before = Float64Array.from(left);
      for (let size = 1; size > 1e-3; size /= 2) {
        for (let i = 0; i < n; i++) left[i] = before[i] * Math.exp(size * move[i]);
        const reached = settle();
        if (reached < gap || size <= 2e-3) {
          gap = reached;
          break;
        }
      }
    } else {
      for (let i = 0; i < n; i++) left[i] /= rows[i];
      gap = settle();
    }
  }
  const scaled = new Float64Array(n * n);
  for (let i = 0, k = 0; i < n; i++) {
    for (let j = 0; j < n; j++, k++) scaled[k] = left[i] * masses[k] * right[j];
  }
  return scaled;
}

// Solve (diag(rows) - P Pᵀ + 11ᵀ/n) move = 1 - rows; the last term fixes the free constant.
/**
 * @param {Float64Array} masses @param {Float64Array} left @param {Float64Array} right
 * @param {Float64Array} rows @param {number} n
 */
function newtonStep(masses, left, right, rows, n) {
  const p = new Float64Array(n * n);
  for (let i = 0, k = 0; i < n; i++)
    for (let j = 0; j < n; j++, k++) p[k] = left[i] * masses[k] * right[j];
  const h = new Float64Array(n * n);
  for (let a = 0; a < n; a++) {
    for (let b = 0; b <= a; b++) {
      let dot = 0;
      for (let j = 0; j < n; j++) dot += p[a * n + j] * p[b * n + j];
      h[a * n + b] = (a === b ? rows[a] : 0) - dot + 1 / n;
    }
  }
  const x = Float64Array.from(rows, (sum) => 1 - sum);
  for (let a = 0; a < n; a++) {
    for (let b = 0; b <= a; b++) {
      let sum = h[a * n + b];
      for (let k = 0; k < b; k++) sum -= h[a * n + k] * h[b * n + k];
      h[a * n + b] = a === b ? Math.sqrt(Math.max(sum, 1e-14)) : sum / h[b * n + b];
    }
  }
  for (let a = 0; a < n; a++) {
    for (let k = 0; k < a; k++) x[a] -= h[a * n + k] * x[k];
    x[a] /= h[a * n + a];
  }
  for (let a = n - 1; a >= 0; a--) {
    for (let k = a + 1; k < n; k++) x[a] -= h[k * n + a] * x[k];
    x[a] /= h[a * n + a];
  }
  return x;
}
