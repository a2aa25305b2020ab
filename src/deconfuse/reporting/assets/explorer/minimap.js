// The whole matrix, small, with a frame around the part in view.

import { h } from "./dom.js";
import { paintMinimap } from "./paint-around.js";
import { imageOf, rasterize } from "./raster.js";
import { whole } from "./viewport.js";

const SIDE = 48;

/** A small canvas that also moves the view. */
export class Minimap {
  /** @param {(x: number, y: number) => void} jump centre of the view, 0 to 1 */
  constructor(jump) {
    this.canvas = h("canvas", { class: "minimap", "aria-hidden": "true", hidden: true });
    this.picture = document.createElement("canvas");
    /** @type {Uint16Array|null} */
    this.shades = null;
    const go = (/** @type {PointerEvent} */ event) => {
      const box = this.canvas.getBoundingClientRect();
      jump((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    };
    this.canvas.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
      this.canvas.setPointerCapture(event.pointerId);
      go(event);
    });
    this.canvas.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
      if (this.canvas.hasPointerCapture(event.pointerId)) go(event);
    });
  }

  /** @param {any} scene @param {boolean} needed */
  show(scene, needed) {
    this.canvas.hidden = !needed || !scene;
    if (this.canvas.hidden) return;
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    const side = Math.round(SIDE * ratio);
    if (this.shades !== scene.shades || this.frame !== scene.frame || this.palette !== scene.palette
      || this.side !== side) {
      this.shades = scene.shades;
      this.frame = scene.frame;
      this.palette = scene.palette;
      this.side = side;
      const raster = rasterize(scene.shades, scene.palette, scene.frame, whole(scene.frame.n), side);
      this.picture.width = raster.width;
      this.picture.height = raster.height;
      this.picture.getContext("2d")?.putImageData(imageOf(raster), 0, 0);
      this.canvas.width = side;
      this.canvas.height = side;
    }
    const g = this.canvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintMinimap(g, scene, this.picture, SIDE);
  }
}
