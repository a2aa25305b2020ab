"""Is a balanced accuracy as sure as it says, also with classes of a few samples? In percent.

Recalls of the classes are drawn from a beta distribution. Two equal classifiers are tested for a
difference, on independent test sets and on one and the same (paired: the second one repeats nine
tenths of the predictions); the intervals are asked for the balanced accuracy itself, and for its
difference from a classifier with other recalls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import markdown
from deconfuse import ConfusionMatrix
from deconfuse.statistics.cells import Cells
from deconfuse.statistics.metrics import estimate_balanced_accuracy
from deconfuse.statistics.score_differences import Scores

Floats = NDArray[np.float64]

SIZES = {
    "2 × 500, 1 × 1": (500, 500, 1),
    "2 × 500, 1 × 3": (500, 500, 3),
    "5 × 300, 3 × 2": (300,) * 5 + (2,) * 3,
    "1,000, 300, 100, 30, 10": (1000, 300, 100, 30, 10),
    "5 × 200": (200,) * 5,
    "50 × 20": (20,) * 50,
    "100 × 5": (5,) * 100,
}
ACCURACIES = (0.6, 0.9, 0.98)
KINDS = ("alarm", "paired_alarm", "covers", "covers_difference")
RUNS = 1_000
REPEATED = 0.9


def run(quick: bool) -> list[dict[str, Any]]:
    """Return one row per sizes of classes and accuracy."""
    runs = RUNS // (10 if quick else 1)
    return [
        _row(name, sizes, accuracy, runs)
        for name, sizes in SIZES.items()
        for accuracy in ACCURACIES
    ]


def _row(name: str, sizes: tuple[int, ...], accuracy: float, runs: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    n = np.array(sizes)
    found = np.array([_once(n, accuracy, rng) for _ in range(runs)])
    shares = dict(zip(KINDS, found.mean(axis=0).tolist(), strict=True))
    return {"sizes": name, "accuracy": accuracy, "runs": runs, **shares}


def _once(n: NDArray[Any], accuracy: float, rng: np.random.Generator) -> list[bool]:
    recalls, others = (
        rng.beta(10 * mean, 10 * (1 - mean), len(n)) for mean in (accuracy, 0.9 * accuracy)
    )
    first, second, other = (rng.binomial(n, shares) for shares in (recalls, recalls, others))
    kept = rng.binomial(first, REPEATED), rng.binomial(n - first, REPEATED)
    again = kept[0] + rng.binomial(n - kept[0] - kept[1], recalls)
    # Hits of both: those repeated, and those made anew by chance.
    both = np.minimum(kept[0] + rng.binomial(first - kept[0], recalls), np.minimum(first, again))
    paired = Scores(_cells(first, n), _cells(again, n), np.diag(both.astype(float)))
    truth = float(recalls.mean())
    single = estimate_balanced_accuracy(ConfusionMatrix.from_counts(_table(first, n)))
    changed = Scores(_cells(first, n), _cells(other, n)).balanced_accuracy(0.95)
    return [
        Scores(_cells(first, n), _cells(second, n)).balanced_accuracy(0.95).p_value < 0.05,
        paired.balanced_accuracy(0.95).p_value < 0.05,
        single.low <= truth <= single.high,
        changed.low <= float(others.mean()) - truth <= changed.high,
    ]


def _cells(hits: NDArray[Any], n: NDArray[Any]) -> Cells:
    table = _table(hits, n)
    return Cells(table, table, 1.0)


def _table(hits: NDArray[Any], n: NDArray[Any]) -> Floats:
    """Return counts in which every error is the next class."""
    return np.diag(hits).astype(float) + np.roll(np.diag(n - hits), 1, axis=1)


def table(rows: list[dict[str, Any]]) -> str:
    """Return the table in percent."""
    head = ["samples of the classes", "accuracy", "equal ones called different, %",
            "the same, paired, %", "interval holds, %",
            "interval of a difference holds, %"]  # fmt: skip
    lines = [
        [row["sizes"], row["accuracy"], *(f"{100 * row[kind]:.1f}" for kind in KINDS)]
        for row in rows
    ]
    return markdown(head, lines)
