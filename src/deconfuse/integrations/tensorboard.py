"""TensorBoard: a confusion matrix as scalars, a figure and what was found in it.

Works with any writer that has the methods of ``torch.utils.tensorboard.SummaryWriter``, such as the
one inside Lightning's ``TensorBoardLogger`` (``logger.experiment``) or tensorboardX.
"""

from __future__ import annotations

from typing import Any

from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.integrations._figures import MAX_DRAWN_CLASSES, draw
from deconfuse.integrations._logged import scores_of, study_of
from deconfuse.reporting.document import diagnosis_document

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
        Of bi-normalization; see `deconfuse.normalize`.

    Notes
    -----
    Writes the figure ``<tag>/bi`` (up to 200 classes; the definition, ``cm.normalize("bi")``), the
    scalars ``<tag>/accuracy``, ``<tag>/balanced_accuracy``, ``<tag>/macro_f1`` and
    ``<tag>/kappa``, the estimate ``<tag>/separability`` with the ends of its interval, ``_low`` and
    ``_high``, and the text ``<tag>/findings``: what `deconfuse.diagnose` says, with its tables.
    """
    needed = ("add_figure", "add_scalar", "add_text")
    missing = [name for name in needed if not hasattr(writer, name)]
    if missing:
        raise InputError(
            f"`writer` must write figures, scalars and text, but {type(writer).__name__} has no"
            f" {', '.join(missing)}.",
            hint="give a `SummaryWriter`, such as `logger.experiment` of Lightning.",
        )
    study = study_of(cm, epsilon)
    if study.first.n_classes <= MAX_DRAWN_CLASSES:
        # Our figures belong to no pyplot state, so there is nothing for the writer to close.
        writer.add_figure(f"{tag}/bi", draw(study.bi()), global_step=step, close=False)
    for name, value in scores_of(study.first, study.diagnosis().separability).items():
        writer.add_scalar(f"{tag}/{name}", value, global_step=step)
    found = diagnosis_document(study.diagnosis())
    writer.add_text(f"{tag}/findings", found.to_markdown(), global_step=step)
