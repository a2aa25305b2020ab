"""How long `compare` takes, beside bi-normalizing the two matrices it compares.

Seconds are of the processor. The text needs standard errors and the interval of the Overlap too.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.tables import markdown
from deconfuse import ConfusionMatrix, compare

# Classes and samples of each matrix.
SIZES = ((10, 2_000), (50, 10_000), (100, 30_000), (100, 300_000), (1_000, 200_000))
RUNS = 3


def run(quick: bool) -> list[dict[str, Any]]:
    """Return one row per size."""
    return [_measured(*size) for size in (SIZES[:-1] if quick else SIZES)]


def _measured(n_classes: int, n_samples: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    errors = rng.gamma(0.7, size=(n_classes, n_classes))
    np.fill_diagonal(errors, 0)
    shares = 0.2 * errors / errors.sum(axis=1, keepdims=True)
    np.fill_diagonal(shares, 0.8)
    both = [
        ConfusionMatrix.from_counts(
            rng.multinomial(n_samples, shares.ravel() / n_classes).reshape(shares.shape)
        )
        for _ in range(2)
    ]
    seconds: dict[str, list[float]] = {"normalize": [], "compare": [], "with_text": []}
    for _ in range(RUNS):
        start = time.process_time()
        for cm in both:
            cm.normalize("bi")
        middle = time.process_time()
        found = compare(*both)
        end = time.process_time()
        str(found)
        seconds["normalize"].append(middle - start)
        seconds["compare"].append(end - middle)
        seconds["with_text"].append(time.process_time() - middle)
    best = {name: min(values) for name, values in seconds.items()}
    filled = int(((both[0].counts + both[1].counts) > 0).sum())
    return {"n_classes": n_classes, "n_samples": n_samples, "filled": filled, **best}


def table(rows: list[dict[str, Any]]) -> str:
    """Return one line per size."""
    head = ["classes", "samples each", "cells with samples", "`compare`, s", "with its text, s",
            "times two normalizations"]  # fmt: skip
    lines = [
        [
            *(f"{row[name]:,}" for name in ("n_classes", "n_samples", "filled")),
            *(f"{row[name]:.2f}" for name in ("compare", "with_text")),
            f"{row['compare'] / row['normalize']:.0f}",
        ]
        for row in rows
    ]
    return markdown(head, lines)
