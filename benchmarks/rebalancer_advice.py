"""Is a `Rebalancer` advised where there is nothing to repair? A simulation study.

Posteriors are exact: those of normal distributions, or drawn from a Dirichlet distribution. The
class with the largest one has the highest plain accuracy, and under uneven classes it favours the
frequent ones. That is no fault. Random offsets, added to the log posteriors, are one.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import markdown
from deconfuse import ConfusionMatrix, diagnose

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POSTERIORS = ("normal", "Dirichlet")
SKEWS = (1.0, 1.4, 3.0, 10.0, 100.0)
CLASSES = (3, 5, 10, 20, 30)
SAMPLES = (500, 2_000, 20_000)
CASES = 400
# How large random offsets are (standard deviation), and whether the prior is taken out before.
CLASSIFIERS = {
    "best": (0.0, False),
    "0.5": (0.5, False),
    "1": (1.0, False),
    "0.5, even": (0.5, True),
    "1, even": (1.0, True),
}


def run(quick: bool) -> list[dict[str, Any]]:
    """Return one row per kind of posterior and skew: how often a bias is found, and the advice."""
    rows = []
    for posterior, skew in product(POSTERIORS, SKEWS):
        cases = CASES // 20 if quick else CASES
        told = np.array([_told(posterior, skew, seed) for seed in range(cases)])
        row: dict[str, Any] = {"posterior": posterior, "skew": skew, "cases": cases}
        for name, (found, advised) in zip(CLASSIFIERS, told.mean(axis=0).tolist(), strict=True):
            row[name] = {"found": round(found, 4), "advised": round(advised, 4)}
        rows.append(row)
        print(row, flush=True)
    return rows


def _told(posterior: str, skew: float, seed: int) -> list[tuple[bool, bool]]:
    """Return of each classifier whether a bias is found, and whether a Rebalancer is advised."""
    rng = np.random.default_rng([seed, POSTERIORS.index(posterior), round(10 * skew)])
    n_classes, n = int(rng.choice(CLASSES)), int(rng.choice(SAMPLES))
    prior = np.log(_shares(n_classes, skew, rng))
    draw = _normal if posterior == "normal" else _dirichlet
    y, likelihoods = draw(np.exp(prior), n, rng)
    offsets = rng.normal(size=n_classes)
    told = []
    for size, is_even in CLASSIFIERS.values():
        scores = likelihoods + (0.0 if is_even else prior) + size * offsets
        cm = ConfusionMatrix.from_predictions(y, scores.argmax(axis=1), labels=range(n_classes))
        biased = [f for f in diagnose(cm).findings if f.kind.endswith("_predicted")]
        told.append((bool(biased), any("Rebalancer" in f.advice for f in biased)))
    return told


def _shares(n_classes: int, skew: float, rng: np.random.Generator) -> Floats:
    """Return label shares, geometric or after Zipf, the largest ``skew`` times the smallest."""
    steps = np.arange(n_classes) / (n_classes - 1)
    if rng.random() < 0.5:
        steps = np.log1p(np.arange(n_classes)) / np.log(n_classes)
    shares = rng.permutation(skew**-steps)
    return np.asarray(shares / shares.sum())


def _normal(shares: Floats, n: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Return classes and log-likelihoods of normal distributions in one to eight dimensions."""
    n_classes, dimensions = len(shares), int(rng.integers(1, 9))
    # As far apart, whatever their number.
    spread = rng.uniform(0.5, 2.0) * n_classes ** (1 / dimensions)
    centres = spread * rng.normal(size=(n_classes, dimensions))
    y = rng.choice(n_classes, n, p=shares)
    x = centres[y] + rng.normal(size=(n, dimensions))
    return y, np.asarray(x @ centres.T - (centres**2).sum(axis=1) / 2)


def _dirichlet(shares: Floats, n: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Return classes and log-likelihoods whose posteriors have a Dirichlet distribution."""
    posteriors = rng.dirichlet(np.exp(rng.uniform(-2.0, 1.0)) * shares, size=n)
    y = (posteriors.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return y, np.asarray(np.log(np.maximum(posteriors, 1e-300)) - np.log(shares))


def table(rows: list[dict[str, Any]]) -> str:
    """Return one line per kind of posterior and skew: advised, of those with a bias, in percent."""
    head = ["posteriors", "skew", "test sets", "highest plain accuracy", "offsets of 0.5",
            "offsets of 1", "of 0.5, for even classes", "of 1, for even classes"]  # fmt: skip
    lines = [
        [row["posterior"], f"{row['skew']:g}", row["cases"],
         *(f"{100 * row[name]['advised']:.1f} of {100 * row[name]['found']:.0f}"
           for name in CLASSIFIERS)]
        for row in rows
    ]  # fmt: skip
    return markdown(head, lines)
