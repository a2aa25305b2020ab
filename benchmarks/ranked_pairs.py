"""Do intervals of similarities hold for the pairs that lead the list? A simulation study.

A pair leads a list because it is similar, or because it was confused more often than it usually
is. So intervals that hold for any pair need not hold for the first. Classifiers are those of
`benchmarks.estimate`, whose similarities are known.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.classifiers import FAMILIES, class_shares, error_rates
from benchmarks.tables import markdown
from deconfuse import ConfusionMatrix, diagnose

# Classes, and how many classifiers and test sets are drawn per setting.
SIZES = {10: 12, 30: 5, 100: 2}
SAMPLES, ACCURACIES, SKEWS = (20, 100, 500), (0.6, 0.9, 0.99), (1, 100)
# How many pairs from the first rank on.
RANKS = (1, 10, 50)


def run(quick: bool) -> list[dict[str, Any]]:
    """Return one row per setting: for so many ranks, pairs and intervals too high or too low."""
    rows = []
    for n_classes, sets in SIZES.items():
        n_sets = 1 if quick else sets
        for samples, family, accuracy, skew in product(SAMPLES, FAMILIES, ACCURACIES, SKEWS):
            seed = [n_classes, samples, FAMILIES.index(family), round(1000 * accuracy), skew]
            rng = np.random.default_rng(seed)
            tally = np.zeros((len(RANKS), 3), dtype=int)
            for _ in range(n_sets):
                rates = error_rates(family, n_classes, accuracy, rng)
                shares = class_shares(n_classes, skew, rng)[:, None]
                tally += _missed(samples * n_classes * shares * rates, rng)
            rows.append(
                {
                    "n_classes": n_classes,
                    "samples": samples,
                    "family": family,
                    "accuracy": accuracy,
                    "skew": skew,
                    "missed": dict(zip(map(str, RANKS), tally.tolist(), strict=True)),
                }
            )
        print(f"{n_classes} classes", flush=True)
    return rows


def _missed(expected: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return, for each number of ranks, pairs, intervals above the truth, and below it."""
    cm = ConfusionMatrix.from_counts(rng.poisson(expected))
    pairs = diagnose(cm, n_pairs=max(RANKS)).look_alikes
    hits = expected.diagonal()
    truth = np.sqrt(expected * expected.T / np.outer(hits, hits))
    tally = np.zeros((len(RANKS), 3), dtype=int)
    for pair in pairs:
        similarity = truth[cm.labels.index(pair.first), cm.labels.index(pair.second)]
        found = [1, pair.low > similarity, similarity > pair.high]
        tally[[pair.rank <= rank for rank in RANKS]] += np.array(found, dtype=int)
    return tally


def table(rows: list[dict[str, Any]]) -> str:
    """Return coverage in percent, by what the settings differ in."""
    names = ["the first", *(f"the first {rank}" for rank in RANKS[1:])]
    head = [""]
    for name in names:
        head += [f"pairs, {name}", "covered, %", "low end too high, %"]
    groups: list[tuple[str, str | None, Any]] = [("**all**", None, None)]
    groups += [(f"likeness: {family}", "family", family) for family in FAMILIES]
    groups += [(f"{n} classes", "n_classes", n) for n in SIZES]
    groups += [(f"{n} samples per class", "samples", n) for n in SAMPLES]
    groups += [(f"accuracy {value:g}", "accuracy", value) for value in ACCURACIES]
    lines = []
    for title, name, value in groups:
        chosen = [row for row in rows if name is None or row[name] == value]
        cells = []
        for rank in RANKS:
            pairs, high, low = np.sum([row["missed"][str(rank)] for row in chosen], axis=0)
            cells += [
                f"{pairs:,}",
                f"{100 * (1 - (high + low) / pairs):.1f}",
                f"{100 * high / pairs:.1f}",
            ]
        lines.append([title, *cells])
    return markdown(head, lines)
