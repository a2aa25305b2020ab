"""Do intervals hold for test sets that are stratified or weighted? A simulation study.

Classifiers are drawn, and test sets from them: at random, with a fixed number of each true class,
or with sample weights that depend on the class, on whether the answer is right, or on nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import markdown
from deconfuse import ConfusionMatrix, estimate_bi, normalize

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Weigh = Callable[[Ints, Ints, np.random.Generator], Floats]

N_CLASSES, SAMPLES, ACCURACY, SETS = 10, 100, 0.8, 200
FIXED = "a fixed number per class"
# What a sample weighs, by its true class, its prediction and chance; and that mean by cell.
WEIGHTS: dict[str, tuple[Weigh, Floats]] = {
    "drawn at random": (lambda y, p, rng: np.ones(len(y)), np.ones((N_CLASSES, N_CLASSES))),
    FIXED: (
        lambda y, p, rng: np.ones(len(y)),
        np.ones((N_CLASSES, N_CLASSES)),
    ),
    "weights 1 to 10 by class": (
        lambda y, p, rng: 1.0 + y,
        np.repeat(1.0 + np.arange(N_CLASSES)[:, None], N_CLASSES, axis=1),
    ),
    "errors weigh 4 times": (
        lambda y, p, rng: np.where(y == p, 1.0, 4.0),
        4.0 - 3.0 * np.eye(N_CLASSES),
    ),
    "hits weigh 4 times": (
        lambda y, p, rng: np.where(y == p, 4.0, 1.0),
        1.0 + 3.0 * np.eye(N_CLASSES),
    ),
    "exponential weights": (
        lambda y, p, rng: rng.exponential(size=len(y)),
        np.ones((N_CLASSES, N_CLASSES)),
    ),
    "lognormal weights, σ = 1.5": (
        lambda y, p, rng: np.exp(1.5 * rng.normal(size=len(y))),
        np.ones((N_CLASSES, N_CLASSES)),
    ),
}
# How the guide computes all normalization of a stratified test set.
SCALED = "row × share"
METHODS = ("row", "col", "all", SCALED, "bi", "estimate_bi")
BINS = ((1.0, 10.0), (10.0, np.inf))


def run(quick: bool) -> list[dict[str, Any]]:
    """Return one row per design and method: coverage by expected count, in percent."""
    n_sets = SETS // 10 if quick else SETS
    rows = []
    for design in WEIGHTS:
        tally = {method: np.zeros((len(BINS), 2)) for method in METHODS}
        for seed in range(n_sets):
            for method, counted in _covered(design, seed).items():
                tally[method] += counted
        rows += [
            {"design": design, "method": method, "sets": n_sets, "coverage": _percent(counted)}
            for method, counted in tally.items()
            if counted.any()
        ]
        print(design, flush=True)
    return rows


def _covered(design: str, seed: int) -> dict[str, Floats]:
    """Return, for each method and bin, the number of intervals and of those that held."""
    rng = np.random.default_rng([seed, *design.encode()])
    errors = rng.gamma(0.5, size=(N_CLASSES, N_CLASSES))
    np.fill_diagonal(errors, 0.0)
    rates = (1 - ACCURACY) * errors / errors.sum(axis=1, keepdims=True)
    np.fill_diagonal(rates, ACCURACY)
    y = np.repeat(np.arange(N_CLASSES), SAMPLES)
    if design != FIXED:
        y = rng.integers(0, N_CLASSES, len(y))
    drawn = rng.random(len(y))[:, None] > rates[y].cumsum(axis=1)
    predicted = np.minimum(drawn.sum(axis=1), N_CLASSES - 1)
    weigh, mean = WEIGHTS[design]
    cm = ConfusionMatrix.from_predictions(
        y, predicted, labels=list(range(N_CLASSES)), sample_weight=weigh(y, predicted, rng)
    )
    expected = SAMPLES * rates
    result = {}
    for method in METHODS:
        if method == SCALED and design != FIXED:
            continue
        name = {SCALED: "all", "estimate_bi": "bi"}.get(method, method)
        truth = np.asarray(normalize(expected * mean, name, epsilon=0.0).matrix)  # type: ignore[arg-type]
        low, high = _interval(cm, method)
        held = (low <= truth) & (truth <= high)
        places = [(start <= expected) & (expected < end) for start, end in BINS]
        result[method] = np.array([[place.sum(), held[place].sum()] for place in places])
    return result


def _interval(cm: ConfusionMatrix, method: str) -> tuple[Floats, Floats]:
    if method == "estimate_bi":
        estimate = estimate_bi(cm)
        return estimate.low, estimate.high
    if method == SCALED:
        low, high = cm.normalize("row").confidence_interval()
        share = np.asarray(cm.label_counts / cm.total)[:, None]
        return share * low, share * high
    return cm.normalize(method).confidence_interval()  # type: ignore[arg-type]


def _percent(counted: Floats) -> list[float]:
    return [round(float(100 * held / cells), 2) for cells, held in counted]


def table(rows: list[dict[str, Any]]) -> str:
    """Return one line per design, in percent: one to ten expected samples / ten and more."""
    by = {(row["design"], row["method"]): row["coverage"] for row in rows}
    lines = [[design, *(_cell(by.get((design, name))) for name in METHODS)] for design in WEIGHTS]
    return markdown(["test set", *METHODS], lines)


def _cell(coverage: list[float] | None) -> str:
    return " / ".join(f"{value:.1f}" for value in coverage) if coverage else "–"
