"""Split every count into a typical error and factors for similarity, label and prediction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from deconfuse._checks import Label, freeze, read_only
from deconfuse._memory import refuse_if_too_large
from deconfuse.confusion import ConfusionMatrix
from deconfuse.statistics.cells import check_at_least_one
from deconfuse.statistics.estimate import BiEstimate

__all__ = ["Attribution", "CellAttribution", "attribute"]

FloatArray = NDArray[np.float64]
Cause = Literal["similarity", "label", "prediction"]


@dataclass(frozen=True, slots=True)
class CellAttribution:
    """Why one cell holds more or less than a typical error does, in natural logs.

    Attributes
    ----------
    true, pred : class names
    count : float
        Samples in the cell.
    observed : float
        Log of the count over the typical error; ``similarity + label + prediction``.
    similarity, label, prediction : float
        Logs of the three factors. Above zero: makes the cell larger.
    """

    true: Label
    pred: Label
    count: float
    observed: float
    similarity: float
    label: float
    prediction: float

    @property
    def cause(self) -> Cause:
        """The factor that makes the cell large more than the others do."""
        cause: Cause = max(get_args(Cause), key=lambda name: float(getattr(self, name)))
        return cause


@dataclass(frozen=True, eq=False)
class Attribution:
    r"""The factors of all cells, in natural logs.

    Attributes
    ----------
    source : ConfusionMatrix
        The counts.
    label : ndarray of shape (n_classes,)
        Of the true class: above zero for one that has more samples, and more errors, than the
        others. It is no share of labels. NaN for a class without an estimate.
    prediction : ndarray of shape (n_classes,)
        Of the predicted class: above zero for one that is predicted too readily.
    base : float
        Log of the typical error: the count that two classes with average factors and typical
        similarity would have.

    Notes
    -----
    `estimate_bi` makes estimated counts :math:`A` into :math:`B = D^l A D^r`. With its factors,
    each count :math:`M_{ij}` that was seen is

    .. math:: \log M_{ij} = \underbrace{a + b + \log t}_{\text{base}} +
       \underbrace{\log (D^l_i M_{ij} D^r_j / t)}_{\text{similarity}} + \underbrace{- \log D^l_i -
       a}_{\text{label}} + \underbrace{- \log D^r_j - b}_{\text{prediction}},

    where :math:`a` and :math:`b` make the label parts and the prediction parts zero on average, and
    :math:`t = \eta / (1 + (C - 1) \eta)` is the error cell of a bi-normalized matrix of :math:`C`
    classes whose pairs all have the similarity :math:`\eta` of the median pair. The sum is exact.
    So the similarity factor of a pair is above one where the pair is more similar than a typical
    one. A cell without samples has a factor of zero, whose log is minus infinity.
    """

    source: ConfusionMatrix
    label: FloatArray
    prediction: FloatArray
    base: float

    def __post_init__(self) -> None:
        freeze(self)

    @cached_property
    def similarity(self) -> FloatArray:
        """Similarity factor of every cell, for matrices small enough to be dense."""
        return read_only(self.observed - self.label[:, None] - self.prediction)

    @cached_property
    def observed(self) -> FloatArray:
        """Log of every count over the typical error, for matrices small enough."""
        source = self.source
        refuse_if_too_large((source.n_classes, source.n_classes), "The attribution")
        counts = source.dense()
        with np.errstate(divide="ignore"):
            return read_only(np.log(counts) - self.base)

    def cell(self, true: Any, pred: Any) -> CellAttribution:
        """Return the factors of one cell by the names of its classes."""
        i, j = self.source.index_of([true, pred]).tolist()
        return self._cell(i, j, float(self.source.counts[i, j]))

    def top(self, k: int = 10) -> list[CellAttribution]:
        """Return the ``k`` error cells with most samples, largest first."""
        check_at_least_one(k, "k")
        cells = self.source._square.entries
        errors = np.flatnonzero((cells.row != cells.col) & (cells.data > 0))
        order = errors[np.argsort(-cells.data[errors], kind="stable")[:k]]
        return [
            self._cell(int(cells.row[o]), int(cells.col[o]), float(cells.data[o])) for o in order
        ]

    def _cell(self, i: int, j: int, count: float) -> CellAttribution:
        labels = self.source.labels
        with np.errstate(divide="ignore"):
            observed = float(np.log(count)) - self.base
        label, prediction = float(self.label[i]), float(self.prediction[j])
        return CellAttribution(
            true=labels[i],
            pred=labels[j],
            count=count,
            observed=observed,
            similarity=observed - label - prediction,
            label=label,
            prediction=prediction,
        )


def attribute(estimate: BiEstimate) -> Attribution:
    """Return the attribution of the counts behind an estimate."""
    factors, similarity = estimate.factors, estimate.shrunk.similarity
    error = similarity / (1 + (len(estimate.shrunk.rows) - 1) * similarity)
    label, prediction = -np.log(factors.left), -np.log(factors.right)
    means = float(np.nanmean(label)), float(np.nanmean(prediction))
    return Attribution(
        estimate.source, label - means[0], prediction - means[1], float(np.log(error)) + sum(means)
    )
