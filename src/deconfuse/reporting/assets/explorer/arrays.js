// Encoded numbers of the payload -> typed arrays, and small helpers over them.

/** @typedef {{dtype: "u2"|"u4"|"i4"|"f4"|"f8", data: string}} EncodedArray */

const VIEWS = {
  u2: Uint16Array,
  u4: Uint32Array,
  i4: Int32Array,
  f4: Float32Array,
  f8: Float64Array,
};

/**
 * Turn base64 little-endian bytes into a typed array; one that was made here stays as it is.
 * @param {EncodedArray|Float64Array|Uint32Array} encoded
 */
export function decodeArray(encoded) {
  if (ArrayBuffer.isView(encoded)) return /** @type {Float64Array} */ (encoded);
  const View = VIEWS[encoded.dtype];
  if (!View) throw new Error(`unknown array type ${encoded.dtype}`);
  const text = atob(encoded.data);
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
  return new View(bytes.buffer);
}

/**
 * Quantile of values by linear interpolation; NaN when there are none.
 * @param {ArrayLike<number>} sorted ascending
 * @param {number} q between 0 and 1
 */
export function quantile(sorted, q) {
  if (sorted.length === 0) return NaN;
  const at = q * (sorted.length - 1);
  const below = Math.floor(at);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

/**
 * Position of a value in an ascending array, or -1.
 * @param {ArrayLike<number>} sorted
 * @param {number} value
 */
export function indexOfSorted(sorted, value) {
  let low = 0;
  let high = sorted.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] === value) return middle;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** @param {number} value @param {number} low @param {number} high */
export function clamp(value, low, high) {
  return Math.max(low, Math.min(high, value));
}

/**
 * Row sums and column sums of a square matrix; NaN cells count as nothing.
 * @param {ArrayLike<number>} values row by row
 * @param {number} n
 */
export function marginsOf(values, n) {
  const rows = new Float64Array(n);
  const cols = new Float64Array(n);
  for (let i = 0, k = 0; i < n; i++) {
    for (let j = 0; j < n; j++, k++) {
      const value = values[k];
      if (value === value) {
        rows[i] += value;
        cols[j] += value;
      }
    }
  }
  return { rows, cols };
}
