// Orders of the classes: as given, by name, size, similarity, errors, recall, bias; and where the confusion is.

/** The orders a reader can choose. */
export const ORDERS = ["given", "name", "size", "similarity", "errors", "recall", "bias"];

const COLLATOR = new Intl.Collator("en", { numeric: true });

/**
 * Class indices in display order.
 * @param {string} kind one of ORDERS
 * @param {{labels: string[], sizes: ArrayLike<number>, similarity: ArrayLike<number>|null, last: number, metrics: () => ReturnType<typeof import("./metrics.js").classMetrics>}} classes
 *   `last` is a class that stays at the end (the "other" bucket), or -1
 * @returns {number[]}
 */
export function orderOf(kind, classes) {
  const { labels, sizes, similarity, last } = classes;
  const given = labels.map((_, k) => k);
  let order = given;
  if (kind === "name") order = given.toSorted((a, b) => COLLATOR.compare(labels[a], labels[b]) || a - b);
  else if (kind === "size") order = given.toSorted((a, b) => sizes[b] - sizes[a] || a - b);
  else if (kind === "similarity" && similarity) order = Array.from(similarity);
  else if (kind === "errors" || kind === "recall" || kind === "bias") {
    const { n, right, recall, bias } = classes.metrics();
    const rank = { errors: n.map((labels, k) => right[k] - labels), recall, bias: bias.map((ratio) => -ratio) }[kind];
    // Classes of which nothing is known come last.
    const key = (/** @type {number} */ k) => (rank[k] === rank[k] ? rank[k] : Infinity);
    order = given.toSorted((a, b) => key(a) - key(b) || a - b);
  }
  return last < 0 ? order : [...order.filter((k) => k !== last), last];
}

/**
 * Start of the window along the diagonal that holds the most confusion.
 * @param {ArrayLike<number>} values cells, row by row
 * @param {number[]} order of the places to look at; the matrix may have more
 * @param {number} size of the window
 * @param {number} stride cells in a row
 * @param {number[]} [inside] classes that the window shows, if they stand close enough
 */
export function mostConfusedBlock(values, order, size, stride = order.length, inside = []) {
  const n = order.length;
  const width = Math.min(size, n);
  const places = inside.map((k) => order.indexOf(k));
  const first = Math.max(0, ...places.map((place) => place - width + 1));
  const last = Math.min(n - width, ...places.filter((place) => place >= 0));
  const allowed = (/** @type {number} */ start) => first > last || (start >= first && start <= last);
  // Moving the window by one adds and removes one cross of cells: O(n * size) instead of O(n * size^2).
  const off = (/** @type {number} */ a, /** @type {number} */ b) => {
    const value = values[order[a] * stride + order[b]];
    return a === b || value !== value ? 0 : value;
  };
  let mass = 0;
  for (let a = 0; a < width; a++)
    for (let b = 0; b < width; b++) mass += off(a, b);
  let best = allowed(0) ? mass : -1;
  let start = 0;
  for (let s = 1; s + width <= n; s++) {
    const gone = s - 1;
    const come = s + width - 1;
    for (let k = s; k < come; k++) mass += off(come, k) + off(k, come) - off(gone, k) - off(k, gone);
    if (allowed(s) && mass > best + 1e-12) {
      best = mass;
      start = s;
    }
  }
  return start;
}

/**
 * Classes whose name holds the words, best matches first.
 * @param {string[]} labels @param {string} words @param {number} limit
 * @returns {number[]}
 */
export function searchLabels(labels, words, limit = 8) {
  const wanted = words.trim().toLocaleLowerCase();
  if (!wanted) return [];
  /** @type {{k: number, rank: number}[]} */
  const found = [];
  for (let k = 0; k < labels.length; k++) {
    const name = labels[k].toLocaleLowerCase();
    const at = name.indexOf(wanted);
    if (at < 0) continue;
    const rank = name === wanted ? 0 : at === 0 ? 1 : /\W/.test(name[at - 1]) ? 2 : 3;
    found.push({ k, rank });
  }
  found.sort((a, b) => a.rank - b.rank || labels[a.k].length - labels[b.k].length || a.k - b.k);
  return found.slice(0, limit).map((hit) => hit.k);
}
