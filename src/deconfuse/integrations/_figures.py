"""Figures for trackers, drawn without pyplot: no state is left behind in a training loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.normalization import Normalized

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MAX_DRAWN_CLASSES", "check_counts", "draw"]

# Beyond this a static figure shows nothing that a reader could name.
MAX_DRAWN_CLASSES = 200


def check_counts(cm: object) -> ConfusionMatrix:
    """Return what was given to a tracker, if it is a confusion matrix."""
    if not isinstance(cm, ConfusionMatrix):
        raise InputError(
            f"`cm` must be a ConfusionMatrix, got {type(cm).__name__}.",
            hint="make one with `ConfusionMatrix.from_predictions` or `from_counts`; a normalized"
            " matrix has its counts in `.source`.",
        )
    return cm


def draw(matrix: ConfusionMatrix | Normalized) -> Figure:
    """Return a figure of the counts or of a normalization."""
    from matplotlib.figure import Figure

    from deconfuse import ConfusionMatrixDisplay

    side = min(14.0, max(5.0, 2.5 + 0.35 * matrix.n_classes))
    figure = Figure(figsize=(side + 0.8, side), layout="constrained")
    ConfusionMatrixDisplay(matrix).plot(ax=figure.subplots())
    return figure
