"""Does `compare` keep its promises? Rejections without a difference and with one, and coverage.

Two classifiers are drawn: equal up to label shares and favours, or with a planted difference. Test
sets are sampled from both and compared; the exact Overlap is the truth for its interval.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import markdown
from deconfuse import compare, normalize, overlap

Floats = NDArray[np.float64]

# Classes, samples of each side, comparisons.
SIZES = ((5, 1_500, 40), (10, 2_000, 30), (60, 15_000, 6))
_MORE_EQUAL = 5
KINDS = {
    "equal": "none",
    "pair": "one pair more alike",
    "errors": "a third of the errors elsewhere",
    "better": "a fifth fewer errors",
}


def run(quick: bool) -> list[dict[str, Any]]:
    """Return one row a setting and kind of difference."""
    rows = []
    for n_classes, n_samples, runs in SIZES:
        n_runs = max(2, runs // 10) if quick else runs
        for skewed in (False, True):
            for kind in KINDS:
                # How often equal classifiers are called different is a small share: more of them.
                seeds = range(_MORE_EQUAL * n_runs if kind == "equal" else n_runs)
                outcomes = [_compared(n_classes, n_samples, skewed, kind, seed) for seed in seeds]
                means = {
                    name: float(np.mean([outcome[name] for outcome in outcomes]))
                    for name in outcomes[0]
                }
                rows.append(
                    {
                        "n_classes": n_classes,
                        "n_samples": n_samples,
                        "skewed": skewed,
                        "kind": kind,
                        "runs": len(seeds),
                        **means,
                    }
                )
            print(f"{n_classes} classes, skewed {skewed}", flush=True)
    return rows


def _compared(
    n_classes: int, n_samples: int, skewed: bool, kind: str, seed: int
) -> dict[str, float]:
    rng = np.random.default_rng([seed, n_classes, skewed, list(KINDS).index(kind)])
    rates = _rates(n_classes, rng)
    shares = [_shares(r, skewed, rng) for r in (rates, _changed(rates, kind, rng))]
    truth = overlap(*(normalize(s, "bi", epsilon=0.0) for s in shares))
    counts = [rng.multinomial(n_samples, s.ravel()).reshape(s.shape) for s in shares]
    c = compare(counts[0], counts[1], rng=rng)
    low, high = c.overlap_interval
    return {
        "rejected": c.p_value <= 0.05,
        "any_cell": bool((c.p_values < 0.05).any()),
        "covered": low <= truth + 1e-9 and truth - 1e-9 <= high,
        "width": high - low,
        "truth": truth,
        "seen": c.overlap,
        "if_equal": c.overlap_if_equal,
    }


def _rates(n_classes: int, rng: np.random.Generator) -> Floats:
    errors = rng.gamma(0.7, size=(n_classes, n_classes))
    np.fill_diagonal(errors, 0)
    rates = 0.2 * errors / errors.sum(axis=1, keepdims=True)
    np.fill_diagonal(rates, 0.8)
    return np.asarray(rates)


def _shares(rates: Floats, skewed: bool, rng: np.random.Generator) -> Floats:
    """Return the joint distribution with some favours and label shares."""
    n_classes = len(rates)
    tilted = rates * np.exp((0.7 if skewed else 0.2) * rng.normal(size=n_classes))
    tilted /= tilted.sum(axis=1, keepdims=True)
    prevalence = np.full(n_classes, 1 / n_classes)
    if skewed:
        prevalence = 0.8 * rng.dirichlet(np.ones(n_classes)) + 0.2 / n_classes
    return np.asarray(prevalence[:, None] * tilted)


def _changed(rates: Floats, kind: str, rng: np.random.Generator) -> Floats:
    other = rates.copy()
    if kind == "pair":
        for i, j in ((0, 1), (1, 0)):
            other[i, j] += 0.1
            other[i, i] -= 0.1
    elif kind == "errors":
        other = 2 / 3 * rates + 1 / 3 * _rates(len(rates), rng)
    elif kind == "better":
        other *= 0.8
        np.fill_diagonal(other, 0)
        np.fill_diagonal(other, 1 - other.sum(axis=1))
    return other


def table(rows: list[dict[str, Any]]) -> str:
    """Return one line a setting and kind, in percent."""
    head = ["classes", "samples each", "labels and favours", "difference planted", "comparisons",
            "p ≤ 0.05, %", "any cell certain, %", "Overlap true, seen, if equal",
            "95 % interval holds, %", "its width"]  # fmt: skip
    lines = [
        [
            row["n_classes"],
            f"{row['n_samples']:,}",
            "skewed" if row["skewed"] else "even",
            KINDS[row["kind"]],
            row["runs"],
            *(f"{100 * row[name]:.0f}" for name in ("rejected", "any_cell")),
            ", ".join(f"{row[name]:.3f}" for name in ("truth", "seen", "if_equal")),
            f"{100 * row['covered']:.0f}",
            f"{row['width']:.3f}",
        ]
        for row in rows
    ]
    return markdown(head, lines)
