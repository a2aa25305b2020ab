// The notebook: the same explorer as an anywidget, with the selected cell sent back to Python.

import { css } from "./css.js";
import { Explorer } from "./explorer.js";

/** @param {{model: any, el: HTMLElement}} context */
export function render({ model, el }) {
  const host = document.createElement("div");
  el.append(host);
  /** @type {Explorer|null} */
  let explorer = null;
  const show = () => {
    explorer?.destroy();
    explorer = new Explorer(host, JSON.parse(model.get("payload")), {
      css,
      start: model.get("start") ?? "",
      onselect: (selection) => {
        model.set("selection", selection ?? {});
        model.save_changes();
      },
    });
  };
  model.on("change:payload", show);
  show();
  return () => {
    model.off("change:payload", show);
    explorer?.destroy();
  };
}
