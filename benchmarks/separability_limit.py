"""How small can the bias of the separability be? A regression that knows the answers, beside ours.

The settings are those of `benchmarks.estimate` with ten classes. Boosted trees learn what the true
separability is: from many test sets of the same classifiers, of which they see accuracy,
recalls, precisions, how errors spread, and our estimate with what it fitted. Nobody who has one
test set knows as much, so a bias that they are left with is hardly to be avoided.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_predict

from benchmarks.classifiers import FAMILIES, class_shares, error_rates
from benchmarks.estimate import ACCURACIES, SKEWS, bias_without_luck, estimate_and_truth, luck
from benchmarks.tables import markdown
from deconfuse.statistics import BiEstimate

Floats = NDArray[np.float64]
Row = dict[str, Any]

N_CLASSES, SAMPLES, SETS = 10, (5, 20, 100), 120


def run(quick: bool) -> list[Row]:
    """Return one row per number of samples and skew."""
    sets = SETS // 10 if quick else SETS
    return [_row(samples, skew, sets) for samples, skew in product(SAMPLES, SKEWS)]


def _row(samples: int, skew: int, n_sets: int) -> Row:
    rng = np.random.default_rng([samples, skew])
    features, truths, chance = [], [], []
    for family, accuracy in product(FAMILIES, ACCURACIES):
        for _ in range(n_sets):
            rates = error_rates(family, N_CLASSES, accuracy, rng)
            shares = class_shares(N_CLASSES, skew, rng)[:, None]
            expected = samples * N_CLASSES * shares * rates
            counts = rng.poisson(expected)
            estimate, known, truth = estimate_and_truth(counts, expected)
            features.append(_features(counts[known], estimate))
            truths.append(float(truth.diagonal().mean()))
            chance.append(luck(counts, expected))
    known_from, target = np.array(features), np.array(truths)
    trees = HistGradientBoostingRegressor(max_leaf_nodes=8, learning_rate=0.05, max_iter=150)
    folds = KFold(10, shuffle=True, random_state=0)
    learned = cross_val_predict(trees, known_from, target, cv=folds)
    row: Row = {"samples": samples, "skew": skew, "sets": n_sets}
    for name, values in (("ours", known_from[:, 0]), ("learned", learned)):
        gaps = values - target
        biases = [
            bias_without_luck(gaps[part : part + n_sets].tolist(), chance[part : part + n_sets])
            for part in range(0, len(gaps), n_sets)
        ]
        row[name] = {"error": round(float(np.sqrt(np.square(gaps).mean())), 5), "biases": biases}
    return row


def _features(counts: NDArray[np.int64], estimate: BiEstimate) -> list[float]:
    """Return what the trees see of a test set; our estimate is first."""
    hits, rows, columns = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
    errors = counts.sum() - hits.sum()
    recalls, precisions = hits / np.maximum(rows, 1), hits / np.maximum(columns, 1)
    mutual = np.minimum(counts, counts.T).sum() - hits.sum()
    cells = (counts > 0).sum() - (hits > 0).sum()
    return [
        float(np.nanmean(estimate.diagonal)),
        float(recalls.mean()),
        float(precisions.mean()),
        float(np.sqrt(recalls * precisions).mean()),
        float(recalls.std()),
        float(precisions.std()),
        float(hits.sum() / counts.sum()),
        float(np.log1p(errors)),
        float(mutual / (errors + 1)),
        float(cells / (errors + 1)),
        float(np.log(estimate.shrunk.spread.shape)),
        float(np.log(estimate.shrunk.concentration)),
        float(len(counts)),
    ]


def table(rows: list[Row]) -> str:
    """Return errors and biases of both."""
    head = ["samples per class", "skew"]
    for name in ("`estimate_bi`", "learned from the truth"):
        head += [f"error (RMSE), {name}", "largest bias of 12 settings", "above 0.01 beyond noise"]
    lines = []
    for row in rows:
        cells = [str(row["samples"]), str(row["skew"])]
        for name in ("ours", "learned"):
            bias, noise = np.abs(np.array(row[name]["biases"])).T
            above = int((bias > 0.01 + 2 * noise).sum())
            cells += [f"{row[name]['error']:.4f}", f"{bias.max():.3f}", str(above)]
        lines.append(cells)
    return markdown(head, lines)
