// Names that do not fit -> shorter ones that can still be told apart.

import { cut, shownName } from "./format.js";

/** A name on one line. @param {string} name */
export function lineOf(name) {
  return shownName(name).replace(/\s+/g, " ");
}

/**
 * The longest cut of a name that fits.
 * @param {string} name @param {(text: string) => boolean} fits
 */
export function fitted(name, fits) {
  const letters = [...name];
  if (letters.length < 400 && fits(name)) return name;
  let low = 1;
  let high = Math.min(200, letters.length);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (fits(cut(name, middle))) low = middle;
    else high = middle - 1;
  }
  return cut(name, low);
}

/** Letters that all names begin with. @param {string[][]} names */
function commonPrefix(names) {
  const [first, ...rest] = names;
  let length = 0;
  while (length < first.length && rest.every((name) => name[length] === first[length])) length++;
  return length;
}

/**
 * The names as they are drawn: cut where they do not fit, and where that would make two the same,
 * without what these have in common at the beginning.
 * @param {string[]} names @param {(text: string) => boolean} fits
 * @returns {string[]} all different where the names are
 */
export function tellApart(names, fits) {
  const lines = names.map(lineOf);
  const drawn = lines.map((line) => fitted(line, fits));
  const start = lines.map(() => 0);
  for (let round = 0; round < 8; round++) {
    const alike = clashes(drawn, lines);
    if (alike.length === 0) return drawn;
    for (const group of alike) {
      const letters = group.map((k) => [...lines[k]].slice(start[k]));
      const shared = commonPrefix(letters);
      group.forEach((k, at) => {
        // Begin at the word that differs, or where that leaves nothing, at the last one.
        const spaced = letters[at].slice(0, Math.min(shared, letters[at].length - 1)).lastIndexOf(" ");
        const word = spaced + 1 > 0 && shared - spaced < 12 ? spaced + 1 : Math.min(shared, letters[at].length - 1);
        start[k] += Math.max(word, round > 2 ? shared : 0);
        const rest = letters[at].slice(Math.max(word, round > 2 ? shared : 0)).join("");
        drawn[k] = fitted(start[k] > 0 ? `…${rest}` : rest, fits);
      });
    }
  }
  // Still the same, as one is the beginning of the other: the place among them tells them apart.
  for (const group of clashes(drawn, lines)) {
    group.forEach((k, at) => {
      const mark = `·${at + 1}`;
      drawn[k] = fitted(drawn[k], (text) => fits(text + mark)) + mark;
    });
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
