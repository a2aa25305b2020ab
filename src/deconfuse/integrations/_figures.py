"""What trackers log of a matrix: scores, and a figure drawn without pyplot.

No state is left behind in a training loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.normalization import Normalized
from deconfuse.reporting.study import Study
from deconfuse.statistics.estimate import EstimatedScore
from deconfuse.statistics.metrics import plain_scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MAX_DRAWN_CLASSES", "draw", "scores_of", "study_of"]

# Beyond this a static figure shows nothing that a reader could name.
MAX_DRAWN_CLASSES = 200


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


def draw(n: Normalized) -> Figure:
    """Return a figure of a normalized matrix, with its counts where they have room."""
    from matplotlib.figure import Figure

    from deconfuse import ConfusionMatrixDisplay
    from deconfuse.reporting.drawing import label_texts

    # All in inches, and given: matplotlib's search for a layout takes longer than the drawing.
    side = min(12.0, max(3.5, 2.0 + 0.35 * n.n_classes))
    names = 0.083 * max(len(text) for text in label_texts(n.labels))
    outcomes = 0.5 * len(n.source.outcomes) + 0.8 * bool(n.source.outcomes)
    left, below, right, above = names + 0.8, names + outcomes + 0.7, outcomes + 1.0, 0.8
    width, height = left + side + right, below + side + above
    figure = Figure(figsize=(width, height))
    ax = figure.add_axes((left / width, below / height, side / width, side / height))
    ConfusionMatrixDisplay(n).plot(ax=ax)
    return figure
