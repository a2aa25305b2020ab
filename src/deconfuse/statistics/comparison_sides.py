"""The two sides of a comparison: over the same classes, with epsilon that a test can bear."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from deconfuse._checks import show
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import DeconfuseWarning, InputError
from deconfuse.normalization import Normalized
from deconfuse.statistics.cells import cells_of, sample_unit
from deconfuse.statistics.resampling import Side

__all__ = ["aligned", "dense", "fair_epsilon", "fair_sides", "side_of", "warn_if_drowned"]

FloatArray = NDArray[np.float64]


def aligned(
    first: ConfusionMatrix, second: ConfusionMatrix
) -> tuple[ConfusionMatrix, ConfusionMatrix]:
    """Return both with the classes of the first, in its order."""
    if first.labels == second.labels:
        return first, second
    missing = [label for label in first.labels if label not in set(second.labels)]
    extra = [label for label in second.labels if label not in set(first.labels)]
    if missing or extra:
        raise InputError(
            "Compared matrices must have the same classes, got"
            f" {show(missing) or 'none'} only in the first and {show(extra) or 'none'} only in the"
            " second.",
            hint="count both with the same `labels`, or join classes with `merge_classes`.",
        )
    return first, second.reorder(first.labels)


def side_of(normalized: Normalized, epsilon: float) -> Side:
    """Return a matrix as tests take it: its cells with epsilon and without, and normalized."""
    cells, plain = (
        cells_of(normalized.source, e, what="Compared matrices") for e in (epsilon, 0.0)
    )
    if normalized.source.total == 0:
        raise InputError("Compared matrices must have samples, but one has none.")
    return Side(cells, plain, dense(normalized), epsilon)


def fair_sides(both: tuple[ConfusionMatrix, ConfusionMatrix], epsilon: float) -> list[Side]:
    """Return both sides with no more epsilon than a test can bear.

    Epsilon pulls a matrix of few samples, or of light ones, to an even one. Where it is worth many
    samples, this pull is not noise, and it would be taken for a difference of the classifiers.
    """
    added = [min(epsilon, fair_epsilon(cm)) for cm in both]
    return [side_of(cm.normalize("bi", epsilon=e), e) for cm, e in zip(both, added, strict=True)]


def fair_epsilon(cm: ConfusionMatrix) -> float:
    """Return epsilon that adds one effective sample to each row."""
    return sample_unit(cm) / cm.n_classes


def warn_if_drowned(sides: list[Side]) -> None:
    """Say it where cells are epsilon more than samples."""
    for which, side in zip(("first", "second"), sides, strict=True):
        if side.epsilon > side.plain.unit:
            warnings.warn(
                f"`epsilon` of {side.epsilon:.3g} weighs {side.epsilon / side.plain.unit:.3g} times"
                f" a sample of the {which} matrix, so what is shown of it is more epsilon than"
                " samples. P-values are computed with less. Scale the weights to a mean of one, or"
                " give a smaller `epsilon`.",
                DeconfuseWarning,
                stacklevel=3,
            )


def dense(normalized: Normalized) -> FloatArray:
    """Return the cells of a normalized matrix as one array."""
    matrix = normalized.matrix
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())
