"""Does `Comparison.is_worse` fail for the right reasons? How often it does, in percent.

Test sets are drawn from two classifiers: equal ones, one and the same on another mix of labels, one
with a fifth more errors, or one that takes a pair of classes for each other three times as often.
The test sets are independent, or one and the same (paired): the second classifier then repeats nine
tenths of the predictions of the first one.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, poisson

from benchmarks.tables import markdown
from deconfuse.statistics.cells import Cells
from deconfuse.statistics.conditional import Triples
from deconfuse.statistics.deterioration import deteriorations
from deconfuse.statistics.score_differences import Scores

Floats = NDArray[np.float64]

# Classes, accuracy, samples per class.
SETTINGS = ((5, 0.8, 400), (10, 0.8, 400), (10, 0.9, 400), (10, 0.9, 50), (50, 0.8, 400))
# Without a pair that is confused more often.
KINDS = {
    "equal": "equal classifiers",
    "mix": "another mix of labels",
    "paired_equal": "equal classifiers, paired",
    "errors": "a fifth more errors",
    "paired_errors": "a fifth more errors, paired",
}
# The same, and which share of either class of the pair is taken for the other before.
PAIRS = (
    (5, 0.8, 400, 0.05),
    (10, 0.8, 400, 0.02),
    (10, 0.8, 400, 0.05),
    (10, 0.9, 400, 0.01),
    (10, 0.9, 400, 0.02),
    (10, 0.9, 400, 0.05),
    (50, 0.8, 400, 0.02),
    (50, 0.8, 400, 0.05),
)
RUNS, RUNS_OF_MANY = 1_000, 200
# The share of predictions that a paired classifier makes anew.
CHURN = 0.1


def run(quick: bool) -> list[dict[str, Any]]:
    """Return one row per setting, with the share of failures for each kind of change."""
    with ProcessPoolExecutor(max_workers=4) as pool:
        return list(pool.map(_row, (*SETTINGS, *PAIRS), repeat(quick)))


def _row(setting: tuple[Any, ...], quick: bool) -> dict[str, Any]:
    n_classes, accuracy, size, *pair = setting
    runs = (RUNS if n_classes < 50 else RUNS_OF_MANY) // (10 if quick else 1)
    row: dict[str, Any] = {
        "n_classes": n_classes,
        "accuracy": accuracy,
        "size": size,
        "runs": runs,
        **({"pair": pair[0]} if pair else {}),
    }
    for kind in ("pair", "paired_pair") if pair else tuple(KINDS):
        row[f"{kind}_failed"] = float(np.mean([_fails(row, kind, seed) for seed in range(runs)]))
    return row


def _fails(row: dict[str, Any], kind: str, seed: int) -> bool:
    n_classes, size = row["n_classes"], row["size"]
    rng = np.random.default_rng([seed, n_classes, size, sum(map(ord, kind))])
    before = _rates(n_classes, row["accuracy"], row.get("pair"), rng)
    after = _changed(before, kind)
    even = np.full(n_classes, 1 / n_classes)
    mix = rng.dirichlet(np.ones(n_classes)) if kind == "mix" else even
    y = [rng.choice(n_classes, n_classes * size, p=shares) for shares in (even, mix)]
    first = _said(before, y[0], rng)
    if kind.startswith("paired"):
        y[1] = y[0]
        second = _again(first, y[0], (before, after), rng)
    else:
        second = _said(after, y[1], rng)
    counts = [np.zeros((n_classes, n_classes)) for _ in range(2)]
    for table, true, said in zip(counts, y, (first, second), strict=True):
        np.add.at(table, (true, said), 1.0)
    cells = [Cells(table, table, 1.0) for table in counts]
    scores, triples = Scores(cells[0], cells[1]), None
    if kind.startswith("paired"):
        agreed = np.zeros((n_classes, n_classes))
        np.add.at(agreed, (y[0], first), (first == second).astype(float))
        triples = Triples(y[0], first, second, np.ones(len(first), dtype=np.int64))
        scores = Scores(cells[0], cells[1], agreed)
    return bool(deteriorations(range(n_classes), scores, triples, 0.0, 0.95, seed))


def _said(rates: Floats, y: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    ends = np.cumsum(rates, axis=1)
    ends[:, -1] = 1.0
    return np.asarray((rng.random(len(y))[:, None] > ends[y]).sum(axis=1))


def _again(
    first: NDArray[np.intp],
    y: NDArray[np.intp],
    rates: tuple[Floats, Floats],
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Return what a classifier with other rates says that mostly repeats the first one."""
    before, after = rates
    # What a hit is given up for; only hits are lost in all changes here.
    lost = np.maximum(after - before, 0.0)
    gone = lost.sum(axis=1) / before.diagonal()
    instead = lost / np.maximum(lost.sum(axis=1, keepdims=True), 1e-12)
    moved = np.where((first == y) & (rng.random(len(y)) < gone[y]), _said(instead, y, rng), first)
    return np.where(rng.random(len(y)) < CHURN, _said(after, y, rng), moved)


def _rates(n_classes: int, accuracy: float, pair: float | None, rng: np.random.Generator) -> Floats:
    """Return shares of predictions: uneven errors, or even ones but for the first two classes."""
    shape = (n_classes, n_classes)
    errors = np.ones(shape) if pair else rng.gamma(0.7, size=shape)
    np.fill_diagonal(errors, 0)
    rates = (1 - accuracy) * errors / errors.sum(axis=1, keepdims=True)
    if pair:
        rates[:2, 2:] = (1 - accuracy - pair) / (n_classes - 2)
        rates[0, 1] = rates[1, 0] = pair
    np.fill_diagonal(rates, accuracy)
    return np.asarray(rates)


def _changed(rates: Floats, kind: str) -> Floats:
    other = rates.copy()
    if kind.endswith("pair"):
        other[[0, 1], [1, 0]] *= 3
    elif kind.endswith("errors"):
        other *= 1.2
    np.fill_diagonal(other, 0)
    np.fill_diagonal(other, 1 - other.sum(axis=1))
    return other


def table(rows: list[dict[str, Any]]) -> str:
    """Return two tables in percent: without a pair that changed, and with one."""
    head = ["classes", "accuracy", "samples per class"]
    plain, pairs = [], []
    for row in rows:
        line = [row["n_classes"], f"{row['accuracy']:.1f}", row["size"]]
        if "pair" in row:
            power = bonferroni_power(row["n_classes"], row["pair"], row["size"])
            failed = (row["pair_failed"], row["paired_pair_failed"], power)
            line.append(f"{row['pair']:.0%} → {3 * row['pair']:.0%}")
            pairs.append([*line, *(f"{100 * share:.1f}" for share in failed)])
        else:
            plain.append([*line, *(f"{100 * row[f'{kind}_failed']:.1f}" for kind in KINDS)])
    of_pairs = ["the pair is confused in", "found", "found, paired",
                "exact tests of all pairs, Bonferroni"]  # fmt: skip
    tables = markdown([*head, *KINDS.values()], plain), markdown([*head, *of_pairs], pairs)
    return "\n\n".join(tables)


def bonferroni_power(n_classes: int, pair: float, size: int) -> float:
    """Return how often exact tests of all pairs, each at 5 % over their number, find the change.

    Given the confusions of both matrices together, those of the second are binomial.
    """
    n_pairs = n_classes * (n_classes - 1) // 2
    before = 2 * size * pair
    first, second = (np.arange(int(poisson.isf(1e-9, k * before)) + 1) for k in (1, 3))
    x, y = np.meshgrid(first, second, indexing="ij")
    chance = binom.sf(y, x + y, 0.5) + 0.5 * binom.pmf(y, x + y, 0.5)
    weights = np.outer(poisson.pmf(first, before), poisson.pmf(second, 3 * before))
    return float(weights[chance <= 0.05 / n_pairs].sum())
