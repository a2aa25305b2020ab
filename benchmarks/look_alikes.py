"""Does `diagnose` call classes alike only where they are? False alarms, and pairs found.

A classifier is drawn that confuses all pairs of classes equally, but for label shares and bias; or
one that confuses one pair more; or one whose classes differ in how hard they are, each with its
errors spread evenly. A test set is sampled from it, and diagnosed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from benchmarks.tables import markdown
from deconfuse import ConfusionMatrix, diagnose
from deconfuse.statistics.findings import EXPLAINED

Floats = NDArray[np.float64]

ACCURACY = 0.85
# Classes, samples per class on average, matrices.
SIZES = ((5, 100, 100), (10, 50, 100), (20, 100, 100), (50, 400, 30))
# Standard deviation of the logs of class sizes and of bias, and of the logits of the recalls.
SETTINGS = {
    "even": (0.0, 0.0),
    "skewed": (1.0, 0.0),
    "very skewed": (1.5, 0.0),
    "even, classes of unequal difficulty": (0.0, 1.0),
}
# How many times as alike as the others the planted pair is.
PLANTED = (1, 3, 10)


def run(quick: bool) -> list[dict[str, Any]]:
    """Return one row per setting and planted pair."""
    rows = []
    for n_classes, samples, runs in SIZES:
        n_runs = max(2, runs // 10) if quick else runs
        for setting in SETTINGS:
            for times in PLANTED:
                told = [_told(n_classes, samples, setting, times, seed) for seed in range(n_runs)]
                rows.append(
                    {
                        "n_classes": n_classes,
                        "samples": samples,
                        "setting": setting,
                        "times": times,
                        "runs": n_runs,
                        "found": float(np.mean([(0, 1) in pairs for pairs in told])),
                        "any": float(np.mean([not all(pairs.values()) for pairs in told])),
                        "explained": float(np.mean([any(pairs.values()) for pairs in told])),
                    }
                )
        print(f"{n_classes} classes", flush=True)
    return rows


def _told(
    n_classes: int, samples: int, setting: str, times: int, seed: int
) -> dict[tuple[object, ...], bool]:
    """Return the pairs that are called similar, and whether other errors explain them."""
    skew, difficulty = SETTINGS[setting]
    rng = np.random.default_rng([seed, n_classes, round(10 * skew), times])
    recalls = expit(logit(ACCURACY) + difficulty * rng.normal(size=n_classes))
    alike = np.repeat((1 - recalls)[:, None] / (n_classes - 1), n_classes, axis=1)
    np.fill_diagonal(alike, recalls)
    alike[0, 1] *= times
    alike[1, 0] *= times
    sizes, favours = np.exp(skew * rng.normal(size=(2, n_classes)))
    shares = alike * favours
    shares /= shares.sum(axis=1, keepdims=True)
    numbers = np.maximum(samples * sizes, 2).astype(int)
    counts = [rng.multinomial(n, row) for n, row in zip(numbers, shares, strict=True)]
    found = diagnose(ConfusionMatrix.from_counts(np.array(counts))).findings
    return {
        finding.classes: EXPLAINED in finding.sentence
        for finding in found
        if finding.kind == "look_alike"
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return one line per setting, in percent."""
    found = {(row["n_classes"], row["setting"], row["times"]): row["found"] for row in rows}
    head = ["classes", "samples per class", "labels and bias", "matrices", "false alarm, %",
            "with the note that other errors explain it, %", "finds a pair 3 times as similar, %",
            "10 times as similar, %"]  # fmt: skip
    lines = []
    for row in rows:
        if row["times"] == 1:
            pairs = [found[row["n_classes"], row["setting"], times] for times in PLANTED[1:]]
            shares = [row["any"], row["explained"], *pairs]
            lines.append(
                [row["n_classes"], f"{row['samples']:,}", row["setting"], row["runs"],
                 *(f"{100 * share:.0f}" for share in shares)]
            )  # fmt: skip
    return markdown(head, lines)
