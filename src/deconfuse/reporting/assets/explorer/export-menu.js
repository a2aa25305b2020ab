// The export buttons: CSV, PNG, SVG, LaTeX of what is shown, and the link to it.

import { download, h, menu } from "./dom.js";
import { toCsv, toLatex } from "./exports.js";
import { imageOf, paletteOf, rasterize, shadesOf } from "./raster.js";
import { toSvg } from "./svg.js";

// Beyond this many cells a drawing holds them as one picture.
const VECTOR_CELLS = 22_500;
// No paper takes a table of more columns.
const TABLE_CLASSES = 60;

/** @param {string} title @param {string} name @param {string} extension */
export function fileName(title, name, extension) {
  const plain = (/** @type {string} */ text, /** @type {number} */ most) => text.normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, "-")
    .slice(0, most).replace(/^-+|-+$/g, "");
  // Cut the title, not the method: two exports of one page must differ.
  return `${[plain(title, 60), plain(name, 40)].filter(Boolean).join("-") || "confusion-matrix"}.${extension}`;
}

/**
 * @typedef {object} Shown
 * @property {import("./panes.js").Pane} pane @property {import("./panes.js").Frame} frame
 * @property {number[]} rows units in view @property {number[]} cols
 * @property {string} title
 * @property {{few_samples: number}} limits
 */

/** @param {Shown} shown */
function svgText(shown) {
  if (shown.rows.length * shown.cols.length <= VECTOR_CELLS) return toSvg(shown);
  const { frame, pane } = shown;
  const view = { x: frame.place[shown.cols[0]], y: frame.place[shown.rows[0]], span: Math.max(shown.rows.length,
    shown.cols.length) };
  const raster = rasterize(shadesOf(pane, frame.n), paletteOf("light", [255, 255, 255], [226, 227, 231]), frame, view,
    1440);
  const canvas = document.createElement("canvas");
  canvas.width = raster.width;
  canvas.height = raster.height;
  canvas.getContext("2d")?.putImageData(imageOf(raster), 0, 0);
  return toSvg({ ...shown, image: canvas.toDataURL("image/png") });
}

/** @param {string} svg @returns {Promise<Blob>} */
async function pngOf(svg) {
  const picture = new Image();
  // A data URL, not a blob: the page's policy allows pictures from data alone.
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * picture.naturalWidth;
  canvas.height = 2 * picture.naturalHeight;
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture could not be made"))),
      "image/png");
  });
}

/**
 * @param {() => Shown} shown what the reader sees now
 * @param {(() => string)|null} link null where there is no address to share
 * @param {(message: string) => void} say
 */
export function exportMenu(shown, link, say) {
  const save = (/** @type {string} */ extension, /** @type {(now: Shown) => Blob|Promise<Blob>} */ make) =>
async () => {
      const now = shown();
      download(fileName(now.title, now.pane.name, extension), await make(now));
      say(`${extension.toUpperCase()} saved`);
    };
  const text = (/** @type {string} */ content, /** @type {string} */ type) => new Blob([
  content], { type: `${type};charset=utf-8` });
  const button = (/** @type {string} */ name, /** @type {string} */ title, /** @type {() => void} */ act) =>
    h("button", { class: "plain", "data-export": name, title, onclick: act }, name);
  return menu("export", "exports",
    button("CSV", "all cells of the shown matrix", save("csv", (now) => text(toCsv(now.pane, now.frame),
      "text/csv"))),
    button("PNG", "a picture of the cells in view", save("png", (now) => pngOf(svgText(now)))),
    button("SVG", "a drawing of the cells in view", save("svg", (now) => text(svgText(now), "image/svg+xml"))),
    button("LaTeX", "a table of the cells in view", () => {
      if (shown().cols.length > TABLE_CLASSES) say(`zoom in first: a table takes up to ${TABLE_CLASSES} classes`);
      else save("tex", (now) => text(toLatex(now.pane, now.frame, now.rows, now.cols, now.title), "text/x-tex"))();
    }),
    link && button("link", "copy the address of this view", async () => {
      const address = link();
      if (!/^(https?|file):/.test(address)) {
        say("this page is embedded and has no address of its own");
        return;
      }
      try {
        await navigator.clipboard.writeText(address);
        say("link copied");
      } catch {
        say("the address bar holds the link");
      }
    }));
}
