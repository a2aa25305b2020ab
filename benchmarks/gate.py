"""Does `Comparison.is_worse` fail for the right reasons? How often it does, in percent.

``python -m benchmarks gate``           to benchmarks/measured and docs/generated
``python -m benchmarks gate --quick``   a tenth of it, to the terminal only

Test sets are drawn from two classifiers: equal ones; one and the same on another mix of labels; one
that takes a pair of classes for each other three times as often; one with a fifth more errors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, poisson

from deconfuse._files import write_text
from deconfuse.statistics.cells import Cells
from deconfuse.statistics.comparison_text import deteriorations
from deconfuse.statistics.score_differences import Scores

Floats = NDArray[np.float64]

ROOT = Path(__file__).parent.parent
# Classes, accuracy, samples per class.
SETTINGS = ((5, 0.8, 400), (10, 0.8, 400), (10, 0.9, 400), (10, 0.9, 50), (50, 0.8, 400))
KINDS = {
    "equal": "equal classifiers",
    "mix": "another mix of labels",
    "top_pair": "most confused pair × 3",
    "even_pair": "a pair × 3, errors even",
    "errors": "a fifth more errors",
}
RUNS = 400


def run(quick: bool) -> list[dict[str, Any]]:
    """Return one row per setting, with the share of failures for each kind of change."""
    runs = RUNS // 10 if quick else RUNS
    rows = []
    for n_classes, accuracy, size in SETTINGS:
        row: dict[str, Any] = {
            "n_classes": n_classes,
            "accuracy": accuracy,
            "size": size,
            "runs": runs,
        }
        for kind in KINDS:
            failed = [_fails(n_classes, accuracy, size, kind, seed) for seed in range(runs)]
            row[kind] = float(np.mean(failed))
        rows.append(row)
    return rows


def _fails(n_classes: int, accuracy: float, size: int, kind: str, seed: int) -> bool:
    rng = np.random.default_rng([seed, n_classes, size, list(KINDS).index(kind)])
    rates = _rates(n_classes, accuracy, kind, rng)
    even = np.full(n_classes, 1 / n_classes)
    mix = rng.dirichlet(np.ones(n_classes)) if kind == "mix" else even
    both = [
        rng.multinomial(n_classes * size, (shares[:, None] * r).ravel()).reshape(r.shape)
        for shares, r in ((even, rates), (mix, _changed(rates, kind)))
    ]
    cells = [Cells(counts.astype(float), counts.astype(float), 1.0) for counts in both]
    return bool(deteriorations(tuple(range(n_classes)), Scores(cells[0], cells[1]), 0.0))


def _rates(n_classes: int, accuracy: float, kind: str, rng: np.random.Generator) -> Floats:
    shape = (n_classes, n_classes)
    errors = np.ones(shape) if kind == "even_pair" else rng.gamma(0.7, size=shape)
    np.fill_diagonal(errors, 0)
    rates = (1 - accuracy) * errors / errors.sum(axis=1, keepdims=True)
    np.fill_diagonal(rates, accuracy)
    return np.asarray(rates)


def _changed(rates: Floats, kind: str) -> Floats:
    other = rates.copy()
    if kind in ("top_pair", "even_pair"):
        confused = np.triu(rates + rates.T, 1)
        low, high = np.unravel_index(int(confused.argmax()), rates.shape)
        for i, j in ((low, high), (high, low)):
            more = min(2 * rates[i, j], rates[i, i])
            other[i, j] += more
            other[i, i] -= more
    elif kind == "errors":
        other *= 1.2
        np.fill_diagonal(other, 0)
        np.fill_diagonal(other, 1 - other.sum(axis=1))
    return other


def table(rows: list[dict[str, Any]]) -> str:
    """Return one line per setting, in percent."""
    head = [
        f"| classes | accuracy | samples per class | {' | '.join(KINDS.values())}"
        " | the best test of even pairs alone |",
        "|" + "---|" * (4 + len(KINDS)),
    ]
    lines = [
        f"| {row['n_classes']} | {row['accuracy']:.1f} | {row['size']} | "
        + " | ".join(f"{100 * row[kind]:.1f}" for kind in KINDS)
        + f" | {100 * best_power(row['n_classes'], row['accuracy'], row['size']):.1f} |"
        for row in rows
    ]
    return "\n".join([*head, *lines])


def best_power(n_classes: int, accuracy: float, size: int) -> float:
    """Return how often a pair that is confused 3 times as often can be found among even errors.

    Given the confusions of both matrices together, those of the second are binomial, and no
    unbiased test has more power than theirs. All pairs together may raise 5 % of false alarms.
    """
    n_pairs = n_classes * (n_classes - 1) // 2
    before = 2 * size * (1 - accuracy) / (n_classes - 1)
    first, second = (np.arange(int(poisson.isf(1e-9, k * before)) + 1) for k in (1, 3))
    x, y = np.meshgrid(first, second, indexing="ij")
    chance = binom.sf(y, x + y, 0.5) + 0.5 * binom.pmf(y, x + y, 0.5)
    weights = np.outer(poisson.pmf(first, before), poisson.pmf(second, 3 * before))
    return float(weights[chance <= 0.05 / n_pairs].sum())


def publish(rows: list[dict[str, Any]]) -> None:
    """Write the table that the guide includes."""
    write_text(ROOT / "docs" / "generated" / "gate.md", table(rows) + "\n")
