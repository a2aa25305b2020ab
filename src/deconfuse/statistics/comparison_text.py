"""What a comparison says: sentences for people, plain values for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from deconfuse.statistics.plain_values import plain_value

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.statistics.comparison import Comparison

__all__ = ["summary", "to_dict"]

_ROWS = 10
# From so many samples of a class without one error, more than a tenth of errors is unlikely: 3 / n.
_ENOUGH_WITHOUT_ERROR = 30


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """Return everything as JSON knows it; what is undefined is None."""
    values = {
        "labels": comparison.labels,
        "overlap": comparison.overlap,
        "overlap_interval": comparison.overlap_interval,
        "overlap_if_equal": comparison.overlap_if_equal,
        "p_value": comparison.p_value,
        "smallest_p_value": comparison.smallest_p_value,
        "can_tell": comparison.can_tell,
        "is_paired": comparison.is_paired,
        "level": comparison.level,
        "epsilon": comparison.first.epsilon,
        "difference": comparison.difference,
        "standard_errors": comparison.standard_errors,
        "p_values": comparison.p_values,
        "raw_p_values": comparison.raw_p_values,
        "top": [asdict(cell) for cell in comparison.top(_ROWS)],
    }
    return {name: plain_value(value) for name, value in values.items()}


def summary(comparison: Comparison) -> list[str]:
    """Return the verdict, the Overlap and how many cells differ, one sentence each."""
    low, high = comparison.overlap_interval
    alpha = 1 - comparison.level
    significant = int((comparison.p_values < alpha).sum())
    # The same predictions for the same samples need no test.
    is_same = comparison.is_paired and not comparison.difference.any()
    has_power = comparison.can_tell or is_same
    smallest = ""
    if comparison.p_value < alpha:
        verdict = "The two differ in which classes they confuse"
    elif has_power:
        verdict = "No difference in which classes they confuse is shown"
    elif all(_is_surely_right(n.source) for n in (comparison.first, comparison.second)):
        verdict = "Neither of the two confuses any classes, so there is nothing to compare"
    else:
        verdict = "Too few samples to tell whether the two differ in which classes they confuse"
        smallest = f"; with these margins it could not be below {comparison.smallest_p_value:.2g}"
    pairing = "paired samples" if comparison.is_paired else "independent samples"
    return [
        f"{verdict} (p = {comparison.p_value:.3g}{smallest}, {pairing}).",
        f"Overlap {comparison.overlap:.3f}; without noise {low:.3f} to {high:.3f}"
        f" ({comparison.level:.0%}); equal classifiers would show"
        f" {comparison.overlap_if_equal:.3f}.",
        f"{significant:,} of {comparison.difference.size:,} cells differ at {alpha:.2g}, corrected"
        " for their number (Holm).",
    ]


def _is_surely_right(cm: ConfusionMatrix) -> bool:
    """Return whether there are no errors, among samples enough that there could have been some."""
    if cm.total > cm.counts.diagonal().sum():
        return False
    # What one sample of a class weighs is known from its variance.
    spread = np.asarray(cm.variances.sum(axis=1), dtype=np.float64)
    labels = np.asarray(cm.label_counts, dtype=np.float64)
    samples = np.divide(labels**2, spread, out=np.zeros_like(spread), where=spread > 0)
    return bool((samples[labels > 0] >= _ENOUGH_WITHOUT_ERROR).all())
