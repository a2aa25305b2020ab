"""Rate how far a bi-normalized matrix can be trusted: samples per class, epsilon's share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse._checks import Label
from deconfuse._memory import refuse_if_too_large
from deconfuse._text import significant
from deconfuse.normalization import Normalized
from deconfuse.statistics.cells import sample_unit
from deconfuse.statistics.metrics import effective_samples

__all__ = ["FEW_LABELS", "FEW_SAMPLES", "CellFlags", "ClassReliability", "Grade", "Reliability"]

FloatArray = NDArray[np.float64]
Grade = Literal["good", "fair", "poor"]

#: A cell with fewer effective samples than this is marked.
FEW_SAMPLES = 5
#: A class with fewer effective samples than this is poor ...
FEW_LABELS = 10
# ... fair below this number ...
_FAIR_SAMPLES = 50
# ... and both above these shares of its row that epsilon invented, or that move with epsilon.
_SHARES = (0.05, 0.2)
# A cell is unstable when it changes by more than this factor between epsilon / 10 and x 10.
_UNSTABLE_FACTOR = 2.0


@dataclass(frozen=True, slots=True)
class ClassReliability:
    """What stands behind the row and the column of one class.

    Attributes
    ----------
    label : class name
    samples : float
        How often it is the true class.
    predictions : float
        How often it is predicted.
    effective_samples : float
        Kish's effective sample size of its true samples under the importance weights of the
        bi-normalization: (sum of weights)^2 / sum of squared weights.
    effective_predictions : float
        The same for the samples predicted as this class.
    empty_cells : int
        Cells of its row that no sample fell into, so that only epsilon is there.
    epsilon_share : float
        The share of its row and column of the bi-normalized matrix that epsilon invented, the
        larger of both.
    epsilon_shift : float
        The share of its row that moves between epsilon / 10 and epsilon x 10.
    grade : {"good", "fair", "poor"}
    reasons : tuple of str
        Why it is not good.
    """

    label: Label
    samples: float
    predictions: float
    effective_samples: float
    effective_predictions: float
    empty_cells: int
    epsilon_share: float
    epsilon_shift: float
    grade: Grade
    reasons: tuple[str, ...]


class CellFlags(NamedTuple):
    """Warnings for every cell, as boolean matrices."""

    few_samples: NDArray[np.bool_]
    only_epsilon: NDArray[np.bool_]
    unstable: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Reliability:
    """Reliability of every class of a bi-normalization, and of the matrix as a whole.

    Behaves as a sequence of `ClassReliability` in matrix order. All of it costs as much as the
    nonzero cells; the bi-normalizations with other epsilons are computed when they are asked for.

    Attributes
    ----------
    normalized : Normalized
        The bi-normalization.
    """

    normalized: Normalized

    def __iter__(self) -> Iterator[ClassReliability]:
        return iter(self.classes)

    def __len__(self) -> int:
        return self.normalized.n_classes

    def __getitem__(self, index: int) -> ClassReliability:
        return self.classes[index]

    @property
    def total(self) -> float:
        """Sum of counts."""
        return float(self.normalized.source.total)

    @cached_property
    def effective_samples(self) -> float:
        """Effective sample size of all samples under the importance weights."""
        return self.normalized.effective_samples

    @property
    def empty_cells(self) -> int:
        """Error cells without a sample."""
        cells = self.normalized.source._square.entries
        return len(self) * (len(self) - 1) - int((cells.row != cells.col).sum())

    @cached_property
    def at_smaller_epsilon(self) -> Normalized:
        """The bi-normalization with a tenth of epsilon."""
        return self._with_epsilon(self.normalized.epsilon / 10)

    @cached_property
    def at_larger_epsilon(self) -> Normalized:
        """The bi-normalization with ten times epsilon."""
        return self._with_epsilon(self.normalized.epsilon * 10)

    def _with_epsilon(self, epsilon: float) -> Normalized:
        return self.normalized.source.normalize("bi", epsilon=epsilon, throw=False)

    @cached_property
    def effective_sizes(self) -> tuple[FloatArray, FloatArray]:
        """Effective sample sizes of the true samples, and of the predictions, of each class."""
        counts = self.normalized.source._square
        cells = counts.entries
        weights = _weights(self.normalized, cells)
        weighted = weights * cells.data
        noise = weights**2 * counts.entry_variances
        rows, columns = (
            effective_samples(_sums(at, weighted, len(self)), _sums(at, noise, len(self)))
            for at in (cells.row, cells.col)
        )
        return rows, columns

    @cached_property
    def classes(self) -> tuple[ClassReliability, ...]:
        """What stands behind each class."""
        return self.at(np.arange(len(self)))

    def at(self, positions: NDArray[np.intp]) -> tuple[ClassReliability, ...]:
        """Return what stands behind some classes."""
        labels = self.normalized.labels
        names = [labels[position] for position in positions.tolist()]
        # Plain numbers all at once: taken one by one they are most of the time of many classes.
        lists: list[list[Any]] = [column[positions].tolist() for column in self._columns]
        sizes = map(min, lists[2], lists[3])
        grades = zip(*map(_grade, sizes, lists[5], lists[6]), strict=True)
        return tuple(ClassReliability(*row) for row in zip(names, *lists, *grades, strict=True))

    @cached_property
    def _columns(self) -> tuple[NDArray[Any], ...]:
        """The numbers of `ClassReliability`, in their order, of all classes."""
        source, epsilon = self.normalized.source, self.normalized.epsilon
        left, right = self.normalized.left, self.normalized.right
        cells = source._square.entries
        return (
            source.label_counts.astype(np.float64),
            source.prediction_counts.astype(np.float64),
            *self.effective_sizes,
            len(self) - np.bincount(cells.row, minlength=len(self)),
            np.clip(epsilon * np.maximum(left * right.sum(), right * left.sum()), 0.0, 1.0),
            _row_shift(cells, self.at_smaller_epsilon, self.at_larger_epsilon),
        )

    @cached_property
    def cells(self) -> CellFlags:
        """Warnings for every cell, for matrices small enough to be dense."""
        source = self.normalized.source
        refuse_if_too_large((source.n_classes, source.n_classes), "The warnings of all cells")
        counts = source.dense()
        smaller = _log_weights(self.at_smaller_epsilon)
        larger = _log_weights(self.at_larger_epsilon)
        epsilon = self.normalized.epsilon
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.log(counts + 10 * epsilon) + larger[0][:, None] + larger[1]
            change -= np.log(counts + epsilon / 10) + smaller[0][:, None] + smaller[1]
        empty = np.asarray(counts == 0)
        unstable = empty | (np.abs(change) > np.log(_UNSTABLE_FACTOR))
        few = np.asarray(counts / sample_unit(source) < FEW_SAMPLES)
        return CellFlags(few, empty, np.asarray(unstable & (epsilon > 0)))


def _grade(size: float, share: float, shift: float) -> tuple[Grade, tuple[str, ...]]:
    """Return the grade of a class by its effective samples and what epsilon does to it, and why."""
    reasons = []
    if size < _FAIR_SAMPLES:
        reasons.append(f"counts for {significant(size)} samples")
    if share > _SHARES[0]:
        reasons.append(f"{share:.0%} of it comes from epsilon, not from samples")
    if shift > _SHARES[0]:
        reasons.append(f"{shift:.0%} of it depends on the choice of epsilon")
    if size < FEW_LABELS or max(share, shift) > _SHARES[1]:
        return "poor", tuple(reasons)
    return "fair" if reasons else "good", tuple(reasons)


def _row_shift(cells: sparse.coo_array, smaller: Normalized, larger: Normalized) -> FloatArray:
    """Return half the L1 distance of each row between two epsilons.

    All cells of a row without samples count as one: what epsilon gives to them together.
    """
    n_classes = smaller.n_classes
    values = [_weights(n, cells) * (cells.data + n.epsilon) for n in (smaller, larger)]
    seen = [_sums(cells.row, value, n_classes) for value in values]
    moved = _sums(cells.row, np.abs(values[0] - values[1]), n_classes)
    unseen = np.abs((1.0 - seen[0]) - (1.0 - seen[1]))
    return np.clip((moved + unseen) / 2, 0.0, 1.0)


def _weights(normalized: Normalized, cells: sparse.coo_array) -> FloatArray:
    log_left, log_right = _log_weights(normalized)
    return np.asarray(np.exp(np.minimum(log_left[cells.row] + log_right[cells.col], 300.0)))


def _log_weights(normalized: Normalized) -> tuple[FloatArray, FloatArray]:
    scaling = normalized.scaling
    assert scaling is not None, "a bi-normalization has a scaling"
    return scaling.log_left, scaling.log_right


def _sums(groups: NDArray[np.intp], values: FloatArray, n_groups: int) -> FloatArray:
    return np.asarray(np.bincount(groups, values, minlength=n_groups), dtype=np.float64)
