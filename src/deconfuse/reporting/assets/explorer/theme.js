// Light or dark: the reader's choice, else the notebook's, else the system's; and the inks of each.

/** @param {string} choice "auto", "light" or "dark" @returns {"light"|"dark"} */
export function themeOf(choice) {
  if (choice === "light" || choice === "dark") return choice;
  const body = document.body;
  // Notebooks have themes of their own, which the system's preference does not tell.
  if (body?.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false" ? "dark" : "light";
  if (body?.dataset.vscodeThemeKind) return body.dataset.vscodeThemeKind.includes("dark") ? "dark" : "light";
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

const INKS = ["paper", "text", "soft", "faint", "line", "bar", "band", "focus", "accent", "fog", "first", "second", "unseen"];

/** Colours of the drawing, read from the style sheet. @param {Element} root @returns {Record<string, string>} */
export function inksOf(root) {
  const style = getComputedStyle(root);
  return Object.fromEntries(INKS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** @param {string} hex like #a0b1c2 @returns {[number, number, number]} */
export function rgbOf(hex) {
  const value = Number.parseInt(hex.replace("#", ""), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** Whether things may move. */
export function motionAllowed() {
  return !matchMedia("(prefers-reduced-motion: reduce)").matches;
}
