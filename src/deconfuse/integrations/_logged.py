"""What trackers log of a matrix: a study of it, and scores."""

from __future__ import annotations

from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reporting.study import Study
from deconfuse.statistics.estimate import EstimatedScore
from deconfuse.statistics.metrics import plain_scores

__all__ = ["scores_of", "study_of"]


def study_of(cm: object, epsilon: float | None) -> Study:
    """Return the study of what was given to a tracker, if it is a confusion matrix."""
    if not isinstance(cm, ConfusionMatrix):
        raise InputError(
            f"`cm` must be a ConfusionMatrix, got {type(cm).__name__}.",
            hint="make one with `ConfusionMatrix.from_predictions` or `from_counts`; a normalized"
            " matrix has its counts in `.source`.",
        )
    return Study(cm, epsilon=epsilon)


def scores_of(cm: ConfusionMatrix, separability: EstimatedScore) -> dict[str, float]:
    """Return the numbers to plot over time; separability is an estimate, so with its interval."""
    return {
        **plain_scores(cm),
        "separability": separability.value,
        "separability_low": separability.low,
        "separability_high": separability.high,
    }
