"""Do 95 % intervals hold the truth 95 % of the time? A simulation study.

A classifier is drawn, its exact normalized matrix is the truth; then test sets are sampled from it
and the intervals of every cell are checked against the truth, by the count that the cell may
expect.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import markdown
from deconfuse import normalize

Floats = NDArray[np.float64]

METHODS = ("row", "col", "all", "bi")
# Expected count from ... to.
BINS = ((10.0, np.inf), (5.0, 10.0), (2.0, 5.0), (1.0, 2.0), (0.5, 1.0), (0.1, 0.5), (0.0, 0.1))
# Classes, samples, test sets.
SIZES = ((10, 1_000, 300), (10, 10_000, 300), (30, 10_000, 100), (100, 50_000, 20))
ACCURACIES = (0.6, 0.9)


def run(quick: bool) -> list[dict[str, Any]]:
    """Return one row a setting, method and bin: how many intervals there were, how many held."""
    rows = []
    for n_classes, n_samples, n_sets in SIZES:
        for skewed in (False, True):
            tally = {method: np.zeros((len(BINS), 2)) for method in METHODS}
            for accuracy in ACCURACIES:
                rng = np.random.default_rng([n_classes, n_samples, skewed, round(100 * accuracy)])
                shares = _classifier(n_classes, accuracy, skewed, rng)
                for method, counted in _covered(
                    shares, n_samples, max(2, n_sets // 10) if quick else n_sets, rng
                ).items():
                    tally[method] += counted
            for method, counted in tally.items():
                for (low, high), (cells, held) in zip(BINS, counted, strict=True):
                    rows.append(
                        {
                            "n_classes": n_classes,
                            "n_samples": n_samples,
                            "skewed": skewed,
                            "method": method,
                            "expected_from": low,
                            "expected_to": high if np.isfinite(high) else None,
                            "intervals": int(cells),
                            "coverage": held / cells if cells else None,
                        }
                    )
            print(f"{n_classes} classes, {n_samples:,} samples, skewed {skewed}", flush=True)
    return rows


def _classifier(n_classes: int, accuracy: float, skewed: bool, rng: np.random.Generator) -> Floats:
    """Return the joint distribution of label and prediction of a made-up classifier."""
    errors = rng.gamma(0.5, size=(n_classes, n_classes))
    np.fill_diagonal(errors, 0)
    rates = (1 - accuracy) * errors / errors.sum(axis=1, keepdims=True)
    np.fill_diagonal(rates, accuracy)
    prevalence = np.full(n_classes, 1 / n_classes)
    if skewed:
        rates = rates * np.exp(0.7 * rng.normal(size=n_classes))
        rates /= rates.sum(axis=1, keepdims=True)
        prevalence = 0.8 * rng.dirichlet(np.ones(n_classes)) + 0.2 / n_classes
    return np.asarray(prevalence[:, None] * rates)


def _covered(
    shares: Floats, n_samples: int, n_sets: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return, for each method and bin, the number of intervals and of those that held."""
    expected = n_samples * shares
    truth = {
        method: np.asarray(normalize(expected, method, epsilon=0.0).matrix) for method in METHODS
    }
    held = {method: np.zeros_like(expected) for method in METHODS}
    for _ in range(n_sets):
        counts = _filled(rng.multinomial(n_samples, shares.ravel()).reshape(expected.shape))
        for method in METHODS:
            low, high = normalize(counts, method).confidence_interval(0.95)
            held[method] += (low <= truth[method]) & (truth[method] <= high)
    places = [(low <= expected) & (expected < high) for low, high in BINS]
    return {
        method: np.array([[place.sum() * n_sets, held[method][place].sum()] for place in places])
        for method in METHODS
    }


def _filled(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Refuse to go on with a class that was not drawn: its row would be undefined."""
    if (counts.sum(axis=0) == 0).any() or (counts.sum(axis=1) == 0).any():
        raise RuntimeError("a class is missing from a simulated test set: take more samples")
    return counts


def table(rows: list[dict[str, Any]]) -> str:
    """Return the coverage of bi by expected count, and of the others for ten and more."""
    names = [f"{low:g} to {high:g}" for low, high in BINS[1:]]
    head = ["classes", "samples", "labels and bias", "row", "col", "all", "**bi**"]
    head += [f"bi, {name}" for name in names]
    lines = []
    for key in dict.fromkeys((r["n_classes"], r["n_samples"], r["skewed"]) for r in rows):
        chosen = [r for r in rows if (r["n_classes"], r["n_samples"], r["skewed"]) == key]
        by = {(r["method"], r["expected_from"]): r["coverage"] for r in chosen}
        cells = [by[method, 10.0] for method in METHODS]
        cells += [by["bi", low] for low, _ in BINS[1:]]
        shown = ["–" if value is None else f"{100 * value:.1f}" for value in cells]
        lines.append([key[0], f"{key[1]:,}", "skewed" if key[2] else "balanced", *shown])
    return markdown(head, lines)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw coverage against expected count, one panel a method and kind of labels."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(8.5, 6.0), sharex=True, sharey=True)
    order = list(reversed(BINS))
    settings = list(dict.fromkeys((r["n_classes"], r["n_samples"]) for r in rows))
    colors = ("#9ecae1", "#4292c6", "#084594", "#d9730d")
    for axis, (skewed, method) in zip(
        axes.flat, product((False, True), ("row", "bi")), strict=True
    ):
        axis.axhspan(93, 97, color="#7a7a7a", alpha=0.15)
        for setting, color in zip(settings, colors, strict=True):
            by = {
                r["expected_from"]: np.nan if r["coverage"] is None else 100 * r["coverage"]
                for r in rows
                if (r["n_classes"], r["n_samples"], r["skewed"], r["method"])
                == (*setting, skewed, method)
            }
            axis.plot(
                range(len(order)),
                [by[low] for low, _ in order],
                "o-",
                ms=4,
                color=color,
                label=f"{setting[0]} classes, {setting[1]:,} samples",
            )
        axis.set_xticks(range(len(order)), [f"≥ {low:g}" for low, _ in order])
        axis.set_title(f"{method}-normalized, {'skewed' if skewed else 'even'} labels", fontsize=10)
    for axis in axes[1]:
        axis.set_xlabel("expected count of the cell")
    for axis in axes[:, 0]:
        axis.set_ylabel("intervals that hold the truth, %")
    axes[0, 1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
