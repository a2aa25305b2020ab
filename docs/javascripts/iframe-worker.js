/* Search, for a site that is opened from disk.
 *
 * Browsers start no worker from a `file:` address, and the theme searches in one. Here the worker's
 * script runs in a hidden frame, with the few functions of a worker that it uses. The theme looks
 * for the name `IFrameWorker`. On a server this file does nothing.
 */
"use strict";

class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    const inside = this.frame.contentWindow;
    inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    // Messages that arrive before the script has run wait for it.
    this.ready = new Promise((resolve, reject) => {
      const script = inside.document.createElement("script");
      script.onload = resolve;
      script.onerror = () => reject(new Error(`Cannot load ${url}`));
      script.src = new URL(url, document.baseURI).href;
      inside.document.body.append(script);
    });
  }

  postMessage(data) {
    const inside = this.frame.contentWindow;
    this.ready.then(() => inside.dispatchEvent(new MessageEvent("message", { data })));
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") {
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
