"""Time the page of a thousand classes in Chromium, and what writing pages costs.

    python -m benchmarks page

In Chromium: first paint, switching, zooming, size. The ratio is the budget over what was measured,
so above 1 the page keeps it. Of writing: intervals and pages in times of one bi-normalization of a
matrix that is nowhere zero, since intervals need all of its cells. Of these counts, most of which
are zero, one bi-normalization takes a fraction of that.
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
from benchmarks.simulate import dense_classifier, sparse_classifier
from benchmarks.timing import best_time

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
PAINT, SWITCH, SIZE, WRITE = 2.0, 0.1, 5e6, 30.0
_TURNS = 6

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
    """Return one row for each budget; those of the browser only where there is one."""
    return _in_browser(quick) + _writing(quick)


def _writing(quick: bool) -> list[dict[str, Any]]:
    """Return what intervals of all cells and pages take, of a matrix that is counted already."""
    n_classes, n_many = (100, 2_000) if quick else (1_000, 50_000)
    counts = dense_classifier(n_classes, 0.7, 50 * n_classes, np.random.default_rng(0)).astype(int)
    many = sparse_classifier(n_many, 0.8, 20 * n_many, np.random.default_rng(0)).astype(int)
    bi = dc.normalize(dc.ConfusionMatrix.from_counts(counts))
    filled = counts + bi.epsilon
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        acts = {
            f"{n_classes:,} classes, no cell is zero: one bi-normalization": (
                lambda: _fresh(filled).normalize("bi", epsilon=0)
            ),
            f"{n_classes:,} classes: one bi-normalization": lambda: _fresh(counts).normalize("bi"),
            f"{n_classes:,} classes: intervals of all cells": bi.confidence_interval,
            f"{n_classes:,} classes: writing a page": lambda: dc.report(_fresh(counts), path),
            f"{n_many:,} classes: writing a page": lambda: dc.report(_fresh(many), path),
        }
        best = dict.fromkeys(acts, float("inf"))
        # In turns, so that a busy moment of the machine hits them alike.
        for _ in range(1 if quick else _TURNS):
            for case, act in acts.items():
                best[case] = min(best[case], best_time(act, at_least=0.4, most=10)[0])
    rows = [{"case": case, "peer": "deconfuse", "seconds": best[case]} for case in acts]
    unit = rows[0]["seconds"]
    for row in rows:
        row["ratio"] = row["seconds"] / unit
        row["note"] = f"{row['ratio']:.1f} normalizations of {n_classes:,} classes"
    return rows


def _fresh(counts: Any) -> dc.ConfusionMatrix:
    """Return a matrix of which nothing was computed yet."""
    return dc.ConfusionMatrix.from_counts(counts)


def _in_browser(quick: bool) -> list[dict[str, Any]]:
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
