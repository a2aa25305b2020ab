// Names that do not fit -> shorter ones that can still be told apart.

import { cut, shownName } from "./format.js";

// A piece of a name begins with its word, unless that begins further back than so many letters.
const WORD = 12;

/** A name on one line. @param {string} name */
export function lineOf(name) {
  return shownName(name).replace(/\s+/g, " ");
}

/** The largest number up to a limit that is small enough; at least 1. @param {number} limit @param {(value: number) => boolean} fits */
function largest(limit, fits) {
  let [low, high] = [1, Math.max(1, limit)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * The longest cut of a name that fits.
 * @param {string} name @param {(text: string) => boolean} fits
 */
export function fitted(name, fits) {
  const letters = [...name];
  if (letters.length < 400 && fits(name)) return name;
  return cut(name, largest(Math.min(200, letters.length), (length) => fits(cut(name, length))));
}

/** How many letters two names have in common at the beginning. @param {string[]} one @param {string[]} other */
function shared(one, other) {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}

/**
 * A name without what others say as well: so many letters from every place where one of the others turns off.
 * @param {string[]} letters @param {number[]} turns places, ascending @param {boolean} words begin at the word
 * @param {number[]} each letters of a piece
 */
function pieces(letters, turns, words, each) {
  let text = "";
  let end = 0;
  turns.forEach((turn, k) => {
    // The letter at the turn is what tells the names apart; a space needs the one behind it.
    const telling = Math.min(letters.length - 1, letters[turn] === " " ? turn + 1 : turn);
    if (telling < end) return;
    const word = letters.slice(0, turn).lastIndexOf(" ") + 1;
    const start = Math.max(end, words && turn - word < WORD ? word : telling);
    const stop = Math.min(letters.length, Math.max(telling + 1, start + each[k]));
    // An ellipsis takes the room of two letters.
    text = start - end > 2 || (end === 0 && start > 0) ? `${text.trimEnd()}…` : text + letters.slice(end, start).join("");
    text += letters.slice(start, stop).join("");
    end = stop;
  });
  return end < letters.length ? `${text.trimEnd()}…` : text;
}

/**
 * @param {string[]} letters of a name that does not fit @param {string[][]} among others
 * @param {(text: string) => boolean} fits
 */
function abridged(letters, among, fits) {
  const places = among.map((other) => shared(letters, other)).filter((place, k) => place < Math.max(letters.length, among[k].length));
  let turns = [...new Set(places)].sort((a, b) => a - b);
  for (const words of [true, false]) {
    const drawn = (/** @type {number[]} */ each) => pieces(letters, turns, words, each);
    const even = (/** @type {number} */ length) => turns.map(() => length);
    // Of what several names share, the later turns say more about this one.
    while (!words && turns.length > 1 && !fits(drawn(even(1)))) turns = turns.slice(1);
    if (turns.length === 0 || !fits(drawn(even(1)))) continue;
    const each = even(largest(letters.length, (length) => fits(drawn(even(length)))));
    // What is left over.
    turns.forEach((_, k) => {
      const least = each[k];
      each[k] += largest(letters.length, (more) => fits(drawn(each.with(k, least + more - 1)))) - 1;
    });
    return drawn(each);
  }
  return fitted(letters.join(""), fits);
}

/**
 * How many letters all names have in common at the end, whole words only: "…0, old" and "…10, old" share ", old".
 * @param {string[][]} among
 */
function sharedEnd(among) {
  const [first, ...others] = among.map((letters) => letters.toReversed());
  if (others.length === 0) return 0;
  let length = Math.min(...others.map((other) => shared(first, other)));
  while (length > 0 && /[\p{L}\p{N}]/u.test(first[length - 1])) length--;
  return length;
}

/** The letters of each name. @param {string[]} names */
export function lettersOf(names) {
  return [...new Set(names.map(lineOf))].map((line) => [...line]);
}

/** @param {string} text with an ellipsis at its end */
function closed(text) {
  return text.endsWith("…") ? text : `${text}…`;
}

/**
 * The names as they are drawn: those that do not fit as the parts in which they differ from others.
 * @param {string[]} names @param {(text: string) => boolean} fits
 * @param {string[][]} [among] letters of all that these are told from, where that is more
 * @returns {string[]} all different where the names are
 */
export function tellApart(names, fits, among = lettersOf(names)) {
  const lines = names.map(lineOf);
  // What all names end with tells nothing.
  const end = sharedEnd(among);
  const without = (/** @type {string[]} */ letters) => letters.slice(0, letters.length - end);
  const parts = end > 0 ? among.map(without) : among;
  const short = (/** @type {string} */ line) => end === 0 ? abridged([...line], among, fits) :
    closed(abridged(without([...line]), parts, (text) => fits(closed(text))));
  const drawn = lines.map((line) => (line.length < 400 && fits(line) ? line : short(line)));
  // Still the same where there is next to no room: the place among all tells them apart.
  for (const k of clashes(drawn, lines).flat()) {
    const mark = `·${k + 1}`;
    drawn[k] = fitted(lines[k], (text) => fits(text + mark)) + mark;
  }
  return drawn;
}

/** Groups of different names that are drawn alike. @param {string[]} drawn @param {string[]} lines */
function clashes(drawn, lines) {
  /** @type {Map<string, number[]>} */
  const found = new Map();
  drawn.forEach((text, k) => {
    if (text !== lines[k] || found.has(text)) found.set(text, [...(found.get(text) ?? []), k]);
  });
  drawn.forEach((text, k) => {
    const group = found.get(text);
    if (text === lines[k] && group && !group.includes(k)) group.push(k);
  });
  return [...found.values()].filter((group) => new Set(group.map((k) => lines[k])).size > 1);
}
