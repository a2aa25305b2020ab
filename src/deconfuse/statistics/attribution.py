"""Every count as similarity part x label part x prediction part, against a uniform matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse._checks import Label
from deconfuse._memory import refuse_if_too_large
from deconfuse.errors import InputError
from deconfuse.normalization import Normalized
from deconfuse.statistics.cells import check_at_least_one

__all__ = ["Attribution", "CellAttribution", "attribute"]

FloatArray = NDArray[np.float64]
Cause = Literal["similarity", "label", "prediction"]


@dataclass(frozen=True, slots=True)
class CellAttribution:
    """Why one cell holds more or less than a uniform matrix would, in natural logs.

    Attributes
    ----------
    true, pred : class names
    count : float
        Samples in the cell.
    observed : float
        Log of (count + epsilon) over the mean cell; ``similarity + label + prediction``.
    similarity, label, prediction : float
        The three parts. Above zero: makes the cell larger.
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
        """The part that makes the cell large more than the others do."""
        parts: dict[Cause, float] = {
            "similarity": self.similarity,
            "label": self.label,
            "prediction": self.prediction,
        }
        return max(parts, key=lambda name: parts[name])


@dataclass(frozen=True, eq=False)
class Attribution:
    r"""The parts of all cells, in logs.

    Attributes
    ----------
    normalized : Normalized
        The bi-normalization behind it.
    label : ndarray of shape (n_classes,)
        Part of the true class: large for a frequent one.
    prediction : ndarray of shape (n_classes,)
        Part of the predicted class: large for an over-predicted one.
    uniform : float
        Log of the mean cell, (total + epsilon in all cells) / n_classes^2.

    Notes
    -----
    With :math:`M + \varepsilon = (D^l)^{-1} B (D^r)^{-1}`, :math:`N` the sum of its cells and
    :math:`C` classes,

    .. math:: \log \frac{M_{ij} + \varepsilon}{N / C^2}
       = \underbrace{\log (C B_{ij})}_{\text{similarity}} + \underbrace{a - \log
       D^l_i}_{\text{label}} + \underbrace{b - \log D^r_j}_{\text{prediction}}, \qquad a + b = \log
       (C / N).

    The sum is exact. Similarity is zero where the bi-normalized cell is :math:`1 / C`, as if the
    classifier guessed. The data fix all differences between classes of the label parts, all of the
    prediction parts, and the sum :math:`a + b`; how it is divided is a convention. Here both parts
    have the same mean, so that transposing the matrix swaps them.
    """

    normalized: Normalized
    label: FloatArray
    prediction: FloatArray
    uniform: float

    @cached_property
    def similarity(self) -> FloatArray:
        """Similarity part of every cell, for matrices small enough to be dense."""
        return np.asarray(self.observed - self.label[:, None] - self.prediction)

    @cached_property
    def observed(self) -> FloatArray:
        """Log of every cell plus epsilon over the mean cell, for matrices small enough."""
        source = self.normalized.source
        refuse_if_too_large((source.n_classes, source.n_classes), "The attribution")
        counts = source.counts if isinstance(source.counts, np.ndarray) else source.counts.toarray()
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(counts + self.normalized.epsilon) - self.uniform)

    def cell(self, true: Any, pred: Any) -> CellAttribution:
        """Return the parts of one cell by the names of its classes."""
        i, j = (int(index) for index in self.normalized.source.index_of([true, pred]))
        return self._cell(i, j, float(self.normalized.source.counts[i, j]))

    def top(self, k: int = 10) -> list[CellAttribution]:
        """Return the ``k`` error cells with most samples, largest first."""
        check_at_least_one(k, "k")
        cells = sparse.coo_array(self.normalized.source.counts)
        errors = np.flatnonzero((cells.row != cells.col) & (cells.data > 0))
        order = errors[np.argsort(-cells.data[errors], kind="stable")[:k]]
        return [
            self._cell(int(cells.row[o]), int(cells.col[o]), float(cells.data[o])) for o in order
        ]

    def _cell(self, i: int, j: int, count: float) -> CellAttribution:
        labels = self.normalized.labels
        with np.errstate(divide="ignore"):
            observed = float(np.log(count + self.normalized.epsilon)) - self.uniform
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


def attribute(normalized: Normalized) -> Attribution:
    """Return the attribution behind a bi-normalization."""
    scaling = normalized.scaling
    if normalized.method != "bi" or scaling is None:
        raise InputError(
            f'Attribution needs a "bi" normalization, got {normalized.method!r}.',
            hint='cm.normalize("bi")',
        )
    n_classes = normalized.n_classes
    total = float(normalized.source.total) + normalized.epsilon * n_classes**2
    label, prediction = -scaling.log_left, -scaling.log_right
    rest = np.log(n_classes / total) + label.mean() + prediction.mean()
    return Attribution(
        normalized,
        label - label.mean() + rest / 2,
        prediction - prediction.mean() + rest / 2,
        float(np.log(total / n_classes**2)),
    )
