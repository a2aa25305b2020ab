"""A figure of a matrix for trackers, drawn without pyplot, so that no state is left in a loop.

Who imports this draws, so matplotlib is imported here and not at the first figure: in a training
loop that would be the time of a step.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from deconfuse.normalization import Normalized
from deconfuse.reporting.drawing import label_texts
from deconfuse.reporting.plots import ConfusionMatrixDisplay

__all__ = ["MAX_DRAWN_CLASSES", "draw"]

# Beyond this a static figure shows nothing that a reader could name.
MAX_DRAWN_CLASSES = 200


def draw(n: Normalized) -> Figure:
    """Return a figure of a normalized matrix, with its counts where they have room."""
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
