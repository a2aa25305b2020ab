"""Compute each cell's value with epsilon and its variance; check shared arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaincc

from deconfuse._checks import is_finite_number, is_whole_number
from deconfuse.classes import Classes
from deconfuse.confusion import ConfusionMatrix
from deconfuse.counts import dense
from deconfuse.errors import InputError

__all__ = [
    "MAX_DENSE_CLASSES",
    "Cells",
    "Correction",
    "adjust",
    "as_confusion",
    "as_generator",
    "cells_of",
    "check_at_least_one",
    "check_level",
    "check_some_samples",
    "gamma_tail",
    "holm",
    "part_of",
    "round_fairly",
    "row_units",
    "sample_unit",
    "steady_variances",
    "two_sided",
    "whole_samples",
]

FloatArray = NDArray[np.float64]
Correction = Literal["holm", "bh", "none"]

#: Above this number of classes no statistic builds a dense matrix of all cells.
MAX_DENSE_CLASSES = 4096
# Samples of usual weight that are added to what a cell says of its weights. With three, intervals
# cover the truth where weights vary and where they differ between hits and errors
# (`python -m benchmarks designs`).
_USUAL_SAMPLES = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    r"""Every cell's value and variance, dense.

    Attributes
    ----------
    values : ndarray of shape (n_classes, n_classes)
        Counts plus epsilon.
    variances : ndarray of shape (n_classes, n_classes)
        Of the values.
    unit : float
        What one effective sample weighs; 1 for unweighted counts.

    Notes
    -----
    For a Poisson count :math:`m` and the prior density :math:`\lambda^{\varepsilon - 1}` of its
    mean, the posterior is a gamma distribution with mean and variance :math:`m + \varepsilon`. So
    epsilon enters the variance as it enters the value: a cell without samples is not exact.
    For weighted samples the variance of a count is the sum of the squared weights, steadied by
    those of its row.
    """

    values: FloatArray
    variances: FloatArray
    unit: float


def cells_of(cm: ConfusionMatrix, epsilon: float, *, what: str) -> Cells:
    """Return the cells of a matrix that is small enough to be dense."""
    if cm.n_classes > MAX_DENSE_CLASSES:
        raise InputError(
            f"{what} must have at most {MAX_DENSE_CLASSES:,} classes, got {cm.n_classes:,}.",
            hint="merge classes with `merge_classes`, or look at the top cells alone.",
        )
    unit = sample_unit(cm)
    values = _dense(cm.counts) + epsilon
    variances = values if not cm.is_weighted else _dense(steady_variances(cm)) + epsilon * unit
    return Cells(values, variances, unit)


def steady_variances(cm: ConfusionMatrix) -> sparse.csr_array:
    """Return the variances of counts, such that a few samples of a cell do not decide alone.

    The sum of squared weights of a handful of samples is mostly too small where weights vary within
    a cell: the rare heavy ones are missing. So each cell gets so many samples more that weigh what
    an effective sample of its row does. The sum of a row stays.
    """
    entries = cm._square.entries
    if not cm.is_weighted:
        return sparse.csr_array(entries, dtype=np.float64)
    rows, values, n_classes = entries.row, entries.data.astype(np.float64), cm.n_classes
    squares = cm._square.entry_variances.astype(np.float64)
    sums, noise = (np.bincount(rows, each, n_classes) for each in (values, squares))
    unit = np.divide(noise, sums, out=np.ones(n_classes), where=sums > 0)[rows]
    steady = (squares / unit + _USUAL_SAMPLES * unit) / (values / unit + _USUAL_SAMPLES)
    steady *= values
    together = np.bincount(rows, steady, n_classes)
    steady *= np.divide(noise, together, out=np.ones(n_classes), where=together > 0)[rows]
    return sparse.csr_array((steady, (rows, entries.col)), shape=entries.shape)


def sample_unit(cm: ConfusionMatrix) -> float:
    """Return what one effective sample weighs: sum of squared weights over sum of weights."""
    if not cm.is_weighted:
        return 1.0
    total = float(cm.counts.sum())
    return float(cm.variances.sum()) / total if total > 0 else 1.0


def two_sided(cm: ConfusionMatrix) -> NDArray[np.intp]:
    """Return the positions of the classes that are labels and predictions of each other.

    A class on one side only ("refused", "background", a class that the model never learned) has no
    hits, so its similarity and its bi-normalized diagonal would be made of epsilon alone, and bias
    would be read into what the other classes lose to it. Where no class is on both sides, these are
    all classes.
    """
    cells = cm._square.entries
    rows, columns = (at[cells.data > 0] for at in (cells.row, cells.col))
    inside, before = np.ones(cm.n_classes, dtype=bool), 0
    while inside.sum() != before:
        before = inside.sum()
        both = inside[rows] & inside[columns]
        for at in (rows[both], columns[both]):
            inside &= np.bincount(at, minlength=cm.n_classes) > 0
    return np.flatnonzero(inside) if inside.any() else np.arange(cm.n_classes)


def part_of(cm: ConfusionMatrix, positions: NDArray[np.intp]) -> ConfusionMatrix:
    """Return the counts between some classes."""
    if len(positions) == cm.n_classes:
        return cm
    names = cm.classes.names
    return cm.subset(Classes(tuple(names[k] for k in positions.tolist()), cm.classes.kind))


def row_units(cells: Cells) -> FloatArray:
    """Return what one effective sample of each true class weighs, a column; without epsilon."""
    values = cells.values.sum(axis=1, keepdims=True)
    variances = cells.variances.sum(axis=1, keepdims=True)
    unit = np.full_like(values, cells.unit)
    return np.divide(variances, values, out=unit, where=values > 0)


def whole_samples(cells: Cells, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return whole numbers of effective samples; fractions are rounded at random, fairly."""
    return round_fairly(cells.values / row_units(cells), rng)


def round_fairly(samples: FloatArray, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return whole numbers whose means are the numbers given; whole numbers stay as they are."""
    nearest = np.rint(samples)
    is_whole = np.abs(samples - nearest) < 1e-6
    rounded = np.floor(samples + rng.random(samples.shape))
    return np.asarray(np.where(is_whole, nearest, rounded).astype(np.int64))


def as_confusion(matrix: Any) -> ConfusionMatrix:
    """Return a confusion matrix, from one or from bare counts."""
    return matrix if isinstance(matrix, ConfusionMatrix) else ConfusionMatrix.from_counts(matrix)


def as_generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Return where randomness comes from: what was given, or a generator of that seed."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    if not is_whole_number(rng) or rng < 0:
        raise InputError(
            "`rng` must be a numpy.random.Generator or a seed, a whole number of at least 0, got"
            f" {rng!r}.",
            hint="np.random.default_rng(0), or just 0.",
        )
    return np.random.default_rng(int(rng))


def check_at_least_one(value: int, name: str) -> int:
    """Return how many are asked for, a whole number."""
    if not is_whole_number(value) or value < 1:
        raise InputError(f"`{name}` must be at least 1, and a whole number, got {value!r}.")
    return int(value)


def check_some_samples(cm: ConfusionMatrix, what: str) -> None:
    """Refuse a matrix without samples."""
    if cm.total == 0:
        raise InputError(
            f"{what} needs samples, but all counts are zero.", hint="count some predictions first."
        )


def check_level(level: float) -> float:
    """Return the level of an interval, a share between 0 and 1."""
    if not is_finite_number(level) or not 0 < level < 1:
        raise InputError(
            f"`level` must be above 0 and below 1, got {level!r}.", hint="95 % is 0.95."
        )
    return float(level)


def _dense(matrix: Any) -> FloatArray:
    return dense(matrix).astype(np.float64, copy=False)


def adjust(p_values: FloatArray, correction: Correction) -> FloatArray:
    """Return p-values of any shape, corrected together; NaN stays NaN and does not count.

    Examples
    --------
    >>> adjust(np.array([0.01, 0.04, 0.03]), "holm")
    array([0.03, 0.06, 0.06])
    """
    if correction not in get_args(Correction):
        names = ", ".join(f'"{name}"' for name in get_args(Correction))
        raise InputError(f"`correction` must be one of {names}, got {correction!r}.")
    result = p_values.astype(np.float64)
    known = ~np.isnan(result)
    if correction == "holm":
        result[known] = holm(result[known])
    elif correction == "bh":
        # Here and elsewhere only where needed: it takes longer to import than all else together.
        from scipy.stats import false_discovery_control

        result[known] = false_discovery_control(result[known])
    return result


def holm(p_values: FloatArray) -> FloatArray:
    """Return Holm's p-values: the chance of any false alarm is kept.

    Holm, "A simple sequentially rejective multiple test procedure", 1979.
    """
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    stepped = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    result = np.empty_like(stepped)
    result[order] = stepped
    return np.asarray(result)


def gamma_tail(seen: float, mean: float, variance: float) -> float:
    """Return the p-value of a sum of squares by the gamma law with its mean and variance."""
    return float(gammaincc(mean**2 / variance, max(seen, 0.0) * mean / variance))
