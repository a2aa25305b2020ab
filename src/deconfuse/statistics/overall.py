"""One p-value for two whole tables, from tables that are as likely if they differ by margins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit, xlogy

from deconfuse.statistics.conditional import NullTables

__all__ = ["OverallTest", "overall_test"]

FloatArray = NDArray[np.float64]

# A cell adds to the second statistic what it has above this: about what a cell in twenty has.
_UNUSUAL = 4.0
_RIDGE = 1e-3
_NEWTON_STEPS = 40
# Spread of a cell at most this small (in samples) is not what a difference is measured in.
_LEAST_VARIANCE = 0.25


@dataclass(frozen=True, slots=True)
class OverallTest:
    """The result of the overall test.

    Attributes
    ----------
    p_value : float
    smallest : float
        The smallest p-value that tables with these margins and this sum could have had: with few
        samples it is large.
    """

    p_value: float
    smallest: float


def overall_test(tables: NullTables, *, is_paired: bool) -> OverallTest:
    """Test whether the first of some tables is like the others.

    Parameters
    ----------
    tables : NullTables
    is_paired : bool
        Whether they come from `paired_tables`, which have a smaller spread.

    Returns
    -------
    OverallTest

    Notes
    -----
    Differences come in several shapes, and no statistic is sharp against all. Four are used: the
    sum of the deviances of all cells (many small differences), the sum of what is above 4 (some),
    the largest (one), and the difference of the hits (one model is better throughout). Each is
    turned into its rank among all tables; the best of the four ranks is the statistic, and its own
    rank the p-value. All tables are treated alike, so it is uniform up to ties.
    """
    # The spread of paired tables is not binomial: it is read off the draws, which are independent.
    centre = tables.draws.mean(axis=1) if is_paired else _expected(tables)
    deviances = _squares(tables, centre) if is_paired else _deviances(tables, centre)
    is_hit = tables.cells % (tables.n_classes + 1) == 0
    hits = tables.draws[is_hit].sum(axis=0) - centre[is_hit].sum()
    statistics = np.stack(
        [
            deviances.sum(axis=0),
            np.maximum(deviances - _UNUSUAL, 0.0).sum(axis=0),
            deviances.max(axis=0, initial=0.0),
            np.abs(hits),
        ]
    )
    best = np.min([_upper_ranks(values) for values in statistics], axis=0)
    own = _upper_ranks(-best)
    return OverallTest(float(own[0]), float(own.min()))


def _upper_ranks(values: FloatArray) -> FloatArray:
    """Return for each value the share of all values that are at least as large."""
    # Sums in another order differ in the last digits; equal tables must stay equal.
    rounded = np.round(values, 9)
    ordered = np.sort(rounded)
    below = np.searchsorted(ordered, rounded, side="left")
    return np.asarray((len(values) - below) / len(values))


def _deviances(tables: NullTables, expected: FloatArray) -> FloatArray:
    """Return the deviance of every cell of every table from its expectation.

    Less heavy-tailed than Pearson's squares: one sample where a hundredth was expected does not
    outweigh everything else.
    """
    first, both = tables.draws.astype(np.float64), tables.total[:, None].astype(np.float64)
    mean = np.clip(expected[:, None], 1e-9, both - 1e-9)
    second = both - first
    return np.asarray(2 * (xlogy(first, first / mean) + xlogy(second, second / (both - mean))))


def _squares(tables: NullTables, centre: FloatArray) -> FloatArray:
    """Return squared distances from the centre, in units of the spread over all tables."""
    away = tables.draws - centre[:, None]
    spread = (away**2).mean(axis=1, keepdims=True)
    return np.asarray(away**2 / (spread + _LEAST_VARIANCE))


def _expected(tables: NullTables) -> FloatArray:
    """Return the most likely first table of all that differ from the second by margins alone.

    A logistic regression of "is of the first table" with an effect of the row and one of the
    column. It depends on the margins and the sum only, which all draws share. A little ridge keeps
    effects finite where a margin is zero.
    """
    n_classes, total = tables.n_classes, tables.total.astype(np.float64)
    rows, columns = tables.cells // n_classes, tables.cells % n_classes + n_classes
    seen = _margins(tables.draws[:, 0].astype(np.float64), rows, columns, n_classes)
    effects = np.zeros(2 * n_classes)
    for _ in range(_NEWTON_STEPS):
        share = expit(effects[rows] + effects[columns])
        weights = total * share * (1 - share)
        gradient = seen - _margins(total * share, rows, columns, n_classes) - _RIDGE * effects
        diagonal = _margins(weights, rows, columns, n_classes) + _RIDGE

        def times(vector: FloatArray, weights: FloatArray = weights) -> FloatArray:
            moved = weights * (vector[rows] + vector[columns])
            return _margins(moved, rows, columns, n_classes) + _RIDGE * vector

        hessian = LinearOperator((2 * n_classes,) * 2, matvec=times, dtype=np.float64)
        jacobi = LinearOperator(hessian.shape, matvec=lambda v, d=diagonal: v / d, dtype=np.float64)
        step, _ = cg(hessian, gradient, rtol=1e-6, maxiter=300, M=jacobi)
        largest = float(np.abs(step).max())
        effects += step * min(1.0, 4.0 / max(largest, 1e-300))
        if largest < 1e-7:
            break
    return np.asarray(total * expit(effects[rows] + effects[columns]))


def _margins(
    values: FloatArray, rows: NDArray[np.intp], columns: NDArray[np.intp], n_classes: int
) -> FloatArray:
    """Return row sums, then column sums."""
    size = 2 * n_classes
    return np.asarray(
        np.bincount(rows, values, minlength=size) + np.bincount(columns, values, minlength=size)
    )
