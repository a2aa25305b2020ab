// Numbers and names -> short text, the same everywhere on the page.

const THIN = "\u202f";
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** The text for a value that does not exist. */
export const NOTHING = "–";

/** @param {string} digits an integer without sign */
function group(digits) {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** @param {number} exponent */
function superscript(exponent) {
  const digits = [...String(Math.abs(exponent))].map((d) => SUPERSCRIPTS[Number(d)]).join("");
  return (exponent < 0 ? "⁻" : "") + digits;
}

/** A share in at most four letters; only what is exactly 0 or 1 says so. @param {number} value */
export function share(value) {
  if (Number.isNaN(value)) return NOTHING;
  if (value === 0 || value === 1) return String(value);
  return value < 0.005 ? "<.01" : value >= 0.995 ? ">.99" : value.toFixed(2);
}

/**
 * Three significant digits, commas between thousands, powers of ten where they are shorter.
 * @param {number} value
 * @param {number} digits
 */
export function short(value, digits = 3) {
  if (value === undefined || value === null || Number.isNaN(value)) return NOTHING;
  if (value === 0) return "0";
  const sign = value < 0 ? "−" : "";
  const size = Math.abs(value);
  if (size === Infinity) return `${sign}∞`;
  if (size >= 1e15 || size < 1e-3) {
    let [mantissa, exponent] = size.toExponential(digits - 1).split("e");
    mantissa = mantissa.replace(/\.?0+$/, "");
    return `${sign}${mantissa}×10${superscript(Number(exponent))}`;
  }
  const rounded = Number(size.toPrecision(digits));
  if (rounded >= 10 ** (digits - 1)) return sign + group(String(Math.round(size)));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(rounded)));
  return sign + rounded.toFixed(decimals);
}

/**
 * A number as the findings write it: significant digits, and powers of ten for tiny ones alone.
 * @param {number} value @param {number} digits
 */
export function plain(value, digits = 2) {
  if (value === 0 || !Number.isFinite(value)) return short(value, digits);
  const rounded = Number(value.toPrecision(digits));
  if (Math.abs(rounded) < 1e-4) return short(value, digits);
  const decimals = digits - 1 - Math.floor(Math.log10(Math.abs(rounded)));
  return decimals <= 0 ? group(String(Math.round(value))) : rounded.toFixed(decimals);
}

/**
 * A ratio or similarity with its interval, in as many digits as tell the three apart, as the findings write it.
 * @param {number} value @param {number} low @param {number} high
 */
export function withInterval(value, low, high) {
  const numbers = [value, low, high];
  const distinct = new Set(numbers).size;
  const digits = [2, 3, 4].find((d) => new Set(numbers.map((x) => plain(x, d))).size === distinct) ?? 2;
  const [told, start, end] = numbers.map((x) => {
    let own = digits;
    // An end that is not 1 is never written as 1, which would be no difference.
    while (x !== 1 && Number(plain(x, own)) === 1 && own < 15) own += 1;
    return plain(x, own);
  });
  return `${told} (${start} to ${end})`;
}

/** A round number as short as it goes: 0.250 -> 0.25. @param {number} value */
export function tickText(value) {
  const text = short(value);
  return text.includes(".") && !text.includes("×") ? text.replace(/\.?0+$/, "") : text;
}

/**
 * A count: whole numbers in full, weighted ones with three digits.
 * @param {number} value
 */
export function count(value) {
  if (Number.isInteger(value)) return (value < 0 ? "−" : "") + group(String(Math.abs(value)));
  return short(value);
}

/**
 * A count that fits a narrow place: 1,234 -> 1.2k.
 * @param {number} value
 */
export function brief(value) {
  const size = Math.abs(value);
  const sign = value < 0 ? "−" : "";
  for (const [step, unit] of /** @type {[number, string][]} */ ([
      [1e9, "G"],
      [1e6, "M"],
      [1e3, "k"]
    ])) {
    if (size >= 0.9995 * step) {
      const scaled = size / step;
      return `${sign}${scaled < 9.95 ? scaled.toFixed(1) : Math.round(scaled)}${unit}`;
    }
  }
  return Number.isInteger(value) ? sign + size : short(value, 2);
}

/** @param {number} share between 0 and 1 */
export function percent(share) {
  if (Number.isNaN(share)) return NOTHING;
  if (share === 0) return `0${THIN}%`;
  const value = 100 * share;
  if (value < 0.01) return `<0.01${THIN}%`;
  return `${value >= 99.95 ? Math.round(value) : Number(value.toPrecision(value >= 10 ? 3 : 2))}${THIN}%`;
}

/** @param {number} factor */
export function times(factor) {
  return Number.isNaN(factor) ? NOTHING : `×${short(factor, factor >= 9.95 ? 3 : 2)}`;
}

/** @param {number} value @param {number} digits */
export function signed(value, digits = 3) {
  if (Number.isNaN(value)) return NOTHING;
  return (value > 0 ? "+" : "") + short(value, digits);
}

/** A class name as it is shown: one without a letter still needs something to point at. @param {string} name */
export function shownName(name) {
  return name.trim() === "" ? "(no name)" : name;
}

/**
 * "1 sample", "12 samples".
 * @param {number} value
 * @param {string} noun
 */
export function plural(value, noun) {
  return `${count(value)} ${noun}${value === 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;
}

/**
 * Cut a name to a number of visible characters, never inside an emoji.
 * @param {string} name
 * @param {number} length
 */
export function cut(name, length) {
  const letters = [...name];
  return letters.length <= length ? name : `${letters.slice(0, Math.max(1, length - 1)).join("")}…`;
}

/**
 * Keep right-to-left or control characters of a name from leaking into its neighbours.
 * @param {string} name
 */
export function isolate(name) {
  return `\u2068${name}\u2069`;
}
