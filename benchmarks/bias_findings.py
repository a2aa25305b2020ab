"""Does `diagnose` call classes over- or under-predicted only where they are? A simulation study.

Classifiers are those of `benchmarks.estimate`, bi-normalized: if all classes were equally frequent,
each would be predicted as often as it occurs. Or one class is favoured, and the ratios are known.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.classifiers import FAMILIES, class_shares, error_rates
from benchmarks.tables import markdown
from deconfuse import ConfusionMatrix, normalize
from deconfuse.statistics.bias import class_biases

Floats = NDArray[np.float64]

ACCURACY = 0.85
# Classes, samples per class on average, matrices of each family.
SIZES = ((5, 100, 50), (10, 100, 50), (30, 100, 30), (10, 1_000, 50))
SKEWS = (1, 10, 100)
# By how much the first class is favoured.
FAVOURS = (1.0, 1.5, 3.0)


def run(quick: bool) -> list[dict[str, Any]]:
    """Return one row per size, skew and favour."""
    rows = []
    for (n_classes, samples, sets), skew, favour in product(SIZES, SKEWS, FAVOURS):
        n_sets = max(2, sets // 10) if quick else sets
        told = [
            _told(n_classes, samples, skew, (family, favour, seed))
            for family in FAMILIES
            for seed in range(n_sets)
        ]
        alarms, found, held, intervals = np.array(told).T
        rows.append(
            {
                "n_classes": n_classes,
                "samples": samples,
                "skew": skew,
                "favour": favour,
                "runs": len(told),
                "alarms": round(float(alarms.mean()), 4),
                "found": round(float(found.mean()), 4),
                "covered": round(float(held.sum() / intervals.sum()), 4),
            }
        )
    return rows


def _told(
    n_classes: int, samples: int, skew: int, case: tuple[str, float, int]
) -> tuple[bool, bool, int, int]:
    """Return false alarms, whether the favoured class is found, and intervals that hold."""
    family, favour, seed = case
    rng = np.random.default_rng([seed, n_classes, samples, skew, FAMILIES.index(family)])
    rates = error_rates(family, n_classes, ACCURACY, rng)
    rates = np.array(normalize(rates, "bi", epsilon=0.0).matrix)
    rates[:, 0] *= favour
    rates /= rates.sum(axis=1, keepdims=True)
    truth = rates.sum(axis=0)
    sizes = samples * n_classes * class_shares(n_classes, skew, rng)
    counts = rng.poisson(sizes[:, None] * rates)
    biases = class_biases(ConfusionMatrix.from_counts(counts), 0.95)
    # A favoured class leaves less to all others, which are then under-predicted in truth.
    wrong = any(
        (bias.verdict == "over" and ratio < 1.0 + 1e-9)
        or (bias.verdict == "under" and ratio > 1.0 - 1e-9)
        for bias, ratio in zip(biases, truth, strict=True)
    )
    known = [(bias, ratio) for bias, ratio in zip(biases, truth, strict=True) if bias.ratio > 0]
    held = sum(bias.low <= ratio <= bias.high for bias, ratio in known)
    return wrong, biases[0].verdict == "over", held, len(known)


def table(rows: list[dict[str, Any]]) -> str:
    """Return one line per size and skew, in percent."""
    found = {
        (row["n_classes"], row["samples"], row["skew"], row["favour"]): row["found"] for row in rows
    }
    head = ["classes", "samples per class", "skew", "matrices", "any false alarm, %",
            "intervals that hold, %", "finds a class favoured 1.5 times, %",
            "3 times, %"]  # fmt: skip
    lines = []
    for row in rows:
        if row["favour"] == 1.0:
            key = (row["n_classes"], row["samples"], row["skew"])
            lines.append(
                [key[0], f"{key[1]:,}", key[2], row["runs"],
                 f"{100 * row['alarms']:.1f}", f"{100 * row['covered']:.1f}",
                 *(f"{100 * found[*key, favour]:.0f}" for favour in FAVOURS[1:])]
            )  # fmt: skip
    return markdown(head, lines)
