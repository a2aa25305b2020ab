// Drawing the strips beside the square: bars of shares in one grey, never a colour of the square.

import { APART, FLOOR, stripFont } from "./layout.js";
import { stripText } from "./outcomes.js";
import { FONT, cellSize, drawnText, left, top } from "./paint.js";

/** @typedef {import("./paint.js").Scene} Scene */

/** Where a cell of a strip lies. @param {Scene} scene @param {number} at strip @param {number} place of its unit */
export function stripBox(scene, at, place) {
  const { layout } = scene;
  const size = cellSize(scene);
  if (at < layout.answers) {
    return { x: layout.x + layout.side + APART + at * layout.answerWidth, y: top(scene, place), wide: layout.answerWidth, high: size };
  }
  return { x: left(scene, place), y: layout.y + layout.side + APART + (at - layout.answers) * layout.backgroundHeight, wide: size,
    high: layout.backgroundHeight };
}

/** @param {CanvasRenderingContext2D} g @param {Scene} scene */
export function paintStrips(g, scene) {
  const { layout, pane, places, ink, selection, hover } = scene;
  const shown = layout.answers + layout.backgrounds;
  pane.strips.slice(0, shown).forEach((strip, at) => {
    const answers = strip.side === "answer";
    g.save();
    g.beginPath();
    if (answers) g.rect(0, layout.y, layout.width, layout.side);
    else g.rect(layout.x, 0, layout.side, layout.height);
    g.clip();
    for (let unit = 0; unit < strip.counts.length; unit++) {
      const box = stripBox(scene, at, places[unit]);
      const [from, reach, room] = answers ? [box.y, box.high, layout.y + layout.side] : [box.x, box.wide, layout.x + layout.side];
      if (from + reach <= (answers ? layout.y : layout.x) || from >= room) continue;
      paintStripCell(g, scene, strip, unit, box);
    }
    g.restore();
    const marked = [selection, hover].some((one) => one?.strip === at);
    paintStripName(g, scene, strip, stripBox(scene, at, answers ? scene.view.y : scene.view.x), marked);
  });
  if (shown === 0) return;
  g.fillStyle = ink.line;
  if (layout.answers > 0) g.fillRect(layout.x + layout.side + APART / 2, layout.y - layout.bar, 1, layout.side + layout.bar);
  if (layout.backgrounds > 0) g.fillRect(layout.x - layout.bar, layout.y + layout.side + APART / 2, layout.side + layout.bar, 1);
}

/**
 * @param {CanvasRenderingContext2D} g @param {Scene} scene @param {import("./outcomes.js").Strip} strip
 * @param {number} unit @param {ReturnType<typeof stripBox>} box
 */
function paintStripCell(g, scene, strip, unit, { x, y, wide, high }) {
  const { ink, pane, layout } = scene;
  const gap = Math.min(wide, high) >= 7 ? 1 : 0;
  g.fillStyle = ink.unseen;
  g.fillRect(x + gap, y + gap, wide - 2 * gap, high - 2 * gap);
  const share = Math.min(1, Math.abs(strip.shares[unit]));
  if (share > 0) {
    g.fillStyle = ink.fog;
    g.fillRect(x + gap, y + gap, Math.max(1, (wide - 2 * gap) * share), high - 2 * gap);
  }
  if (high < FLOOR || wide < 24) return;
  const [said, below] = stripText(pane, strip, unit);
  const points = Math.max(9.5, Math.min(layout.font, 0.42 * high, 15));
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.fillStyle = ink.text;
  g.font = `400 ${points}px ${FONT}`;
  const two = below !== "" && high >= 2.4 * points;
  const main = [said, said.replace(/\d+\.\d+/, (number) => String(Math.round(Number(number))))].find((text) => g.measureText(text).width <= wide - 2);
  if (main) g.fillText(main, x + wide / 2, y + high / 2 - (two ? 0.55 * points : 0));
  if (!two) return;
  g.font = `400 ${Math.max(9.5, 0.8 * points)}px ${FONT}`;
  g.fillText(below, x + wide / 2, y + high / 2 + 0.6 * points);
}

/**
 * @param {CanvasRenderingContext2D} g @param {Scene} scene @param {import("./outcomes.js").Strip} strip
 * @param {ReturnType<typeof stripBox>} box of its first cell @param {boolean} marked
 */
function paintStripName(g, scene, strip, box, marked) {
  const { layout, ink } = scene;
  g.fillStyle = marked ? ink.text : ink.soft;
  const points = stripFont(layout.font);
  g.font = `${marked ? 600 : 400} ${points}px ${FONT}`;
  g.textBaseline = "middle";
  if (strip.side === "background") {
    g.textAlign = "right";
    g.fillText(drawnText(g, strip.name, layout.labelWidth), layout.x - layout.bar - 7, box.y + box.high / 2);
    return;
  }
  const base = layout.y - layout.bar - 7;
  const flat = g.measureText(strip.name).width <= box.wide - 4;
  g.textAlign = flat ? "center" : "left";
  g.save();
  g.translate(box.x + box.wide / 2, flat ? base - 0.35 * points : base);
  if (!flat) g.rotate(-Math.PI / 2);
  g.fillText(flat ? strip.name : drawnText(g, strip.name, layout.labelHeight - 4), 0, 0);
  g.restore();
}
