"""TensorBoard: a confusion matrix as figures, scalars and a table of its most confused classes.

Works with any writer that has the methods of ``torch.utils.tensorboard.SummaryWriter``, such as the
one inside Lightning's ``TensorBoardLogger`` (``logger.experiment``) or tensorboardX.
"""

from __future__ import annotations

from typing import Any

from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.integrations._figures import MAX_DRAWN_CLASSES, check_counts, draw
from deconfuse.normalization import Normalized
from deconfuse.statistics.separability import separability

__all__ = ["add_confusion_matrix"]


def add_confusion_matrix(
    writer: Any,
    tag: str,
    cm: ConfusionMatrix,
    *,
    step: int | None = None,
    epsilon: float | None = None,
) -> None:
    """Write a confusion matrix to TensorBoard.

    Parameters
    ----------
    writer : SummaryWriter
        Anything with ``add_figure``, ``add_scalar`` and ``add_text``.
    tag : str
        Prefix of everything that is written.
    cm : ConfusionMatrix
        The counts.
    step : int, optional
        The global step, such as the epoch.
    epsilon : float, optional
        For the bi-normalized figure and the score; see `deconfuse.normalize`.

    Notes
    -----
    Writes the figures ``<tag>/counts`` and ``<tag>/bi`` (up to 200 classes), the scalars
    ``<tag>/accuracy``, ``<tag>/balanced_accuracy`` and ``<tag>/separability``, and as text
    ``<tag>/look_alikes``: the ten largest cells off the diagonal of the bi-normalized matrix, with
    their counts, because an image carries no numbers.
    """
    needed = ("add_figure", "add_scalar", "add_text")
    missing = [name for name in needed if not hasattr(writer, name)]
    if missing:
        raise InputError(
            f"`writer` must write figures, scalars and text, but {type(writer).__name__} has no"
            f" {', '.join(missing)}.",
            hint="give a `SummaryWriter`, such as `logger.experiment` of Lightning.",
        )
    normalized = check_counts(cm).normalize("bi", epsilon)
    if cm.n_classes <= MAX_DRAWN_CLASSES:
        # Our figures belong to no pyplot state, so there is nothing for the writer to close.
        writer.add_figure(f"{tag}/counts", draw(cm), global_step=step, close=False)
        writer.add_figure(f"{tag}/bi", draw(normalized), global_step=step, close=False)
    writer.add_scalar(f"{tag}/accuracy", cm.accuracy, global_step=step)
    writer.add_scalar(f"{tag}/balanced_accuracy", cm.balanced_accuracy, global_step=step)
    writer.add_scalar(f"{tag}/separability", separability(normalized), global_step=step)
    writer.add_text(f"{tag}/look_alikes", _table(normalized), global_step=step)


def _table(normalized: Normalized) -> str:
    """Return the largest cells off the diagonal as Markdown, which TensorBoard shows as a table."""
    lines = ["| true | predicted | bi-normalized | count |", "|---|---|---|---|"]
    for cell in normalized.top(10):
        names = " | ".join(_escape(str(name)) for name in (cell.true, cell.pred))
        lines.append(f"| {names} | {cell.value:.4f} | {cell.count:g} |")
    return "\n".join(lines)


# Class names are text from data: whatever Markdown or HTML would take for markup is escaped.
_MARKUP = {ord(c): f"\\{c}" for c in r"\`*_{}[]()#+-.!|~"} | {
    ord("<"): "&lt;",
    ord(">"): "&gt;",
    ord("&"): "&amp;",
    ord("\n"): " ",
    ord("\r"): " ",
}


def _escape(text: str) -> str:
    return text.translate(_MARKUP)
