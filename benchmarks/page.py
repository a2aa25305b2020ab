"""Time the page of a thousand classes in Chromium: first paint, switching, zooming, size.

    python -m benchmarks page

The ratio is the budget over what was measured, so above 1 the page keeps it.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import deconfuse as dc
from benchmarks.simulate import dense_classifier

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
PAINT, SWITCH, SIZE, WRITE = 2.0, 0.1, 5e6, 30.0

# From the click to the frame that shows it: each method at its best of several, then the slowest.
SWITCHING = """
async () => {
  const root = document.getElementById('deconfuse').shadowRoot;
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const best = {};
  for (let round = 0; round < 8; round++) {
    for (const method of ['counts', 'row', 'col', 'all', 'bi']) {
      const start = performance.now();
      root.querySelector(`[data-method=${method}]`).click();
      await frame();
      best[method] = Math.min(best[method] ?? Infinity, performance.now() - start);
    }
  }
  return Math.max(...Object.values(best));
}
"""
PAINTED = """
() => performance.getEntriesByName('first-contentful-paint')[0].startTime
"""


def run(*, quick: bool = False) -> list[dict[str, Any]]:
    """Return one row for each budget; none where there is no browser."""
    chromium = shutil.which("chromium")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        print("page: needs chromium and playwright, left out")
        return []
    from playwright.sync_api import sync_playwright

    n_classes, n_samples = (100, 10_000) if quick else (1_000, 50_000)
    counts = dense_classifier(n_classes, 0.7, n_samples, np.random.default_rng(0)).astype(int)
    cm = dc.ConfusionMatrix.from_counts(counts)
    true, pred = (np.repeat(k, counts[counts > 0]) for k in np.nonzero(counts))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        start = time.perf_counter()
        path = dc.report(cm, Path(folder) / "page.html", samples=dc.Samples(true, pred))
        written = time.perf_counter() - start
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        # Motion is a choice of 300 ms; what is timed is the work.
        context = browser.new_context(
            viewport={"width": 1440, "height": 900}, reduced_motion="reduce"
        )
        paints, ready = [], []
        for _ in range(3):
            page = context.new_page()
            start = time.perf_counter()
            page.goto(path.as_uri())
            page.wait_for_selector("canvas.matrix")
            ready.append(time.perf_counter() - start)
            paints.append(page.evaluate(PAINTED) / 1000)
        page.wait_for_timeout(1500)
        block = page.evaluate(SWITCHING) / 1000
        page.keyboard.press("0")
        whole = page.evaluate(SWITCHING) / 1000
        browser.close()
        size = path.stat().st_size
    case = f"{n_classes:,} classes, {n_samples:,} samples"
    rows = [
        (f"{case}: first paint", min(paints), PAINT),
        (f"{case}: matrix drawn", min(ready), PAINT),
        (f"{case}: switch, one block in view", block, SWITCH),
        (f"{case}: switch, all in view", whole, SWITCH),
        (f"{case}: writing the page", written, WRITE),
    ]
    note = f"page of {size / 1e6:.2f} MB, of {SIZE / 1e6:.0f} allowed"
    return [
        {
            "case": name,
            "peer": f"budget {budget:g} s",
            "seconds": t,
            "ratio": budget / t,
            "note": note,
        }
        for name, t, budget in rows
    ]
