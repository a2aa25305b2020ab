"""Test whether two tables differ beyond their margins, with one p-value from random draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from deconfuse.statistics.conditional import NullTables
from deconfuse.statistics.null_fit import LEAST_FREEDOM, NullFit

__all__ = ["OverallTest", "overall_test"]

FloatArray = NDArray[np.float64]

# A cell adds to the second statistic what it has above this: about what a cell in twenty has.
_UNUSUAL = 4.0
# Spread of a cell at most this small (in samples) is not what a difference is measured in.
_LEAST_VARIANCE = 0.25
# Sums in another order differ in the last digits; equal tables must stay equal.
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class OverallTest:
    """The result of the overall test.

    Attributes
    ----------
    p_value : float
    smallest : float
        The smallest p-value that tables with these margins and this sum could have had: with few
        samples it is large.
    cells : ndarray of shape (n_cells,)
        P-values of the cells, corrected for their number.
    away : ndarray of shape (n_cells,)
        How far each cell is from what was expected: about a chi-square of one degree.
    """

    p_value: float
    smallest: float
    cells: FloatArray
    away: FloatArray


def overall_test(tables: NullTables, fit: NullFit | None = None) -> OverallTest:
    """Test whether the first of some tables is like the others.

    Parameters
    ----------
    tables : NullTables
    fit : NullFit, optional
        What is expected of unpaired tables. Without it, as for `paired_tables`, whose spread is
        smaller, expectation and spread are read off the draws.

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

    The p-value of a cell is the share of tables whose largest deviance reaches its own (Westfall
    and Young, 1993): the chance of any false alarm is kept, and cells that cannot deviate much
    cost nothing.
    """
    if fit is None:
        centre = tables.draws.mean(axis=1)
        deviances = single = _squares(tables, centre)
    else:
        centre = fit.expected
        deviances = _deviances(tables, centre)
        # In units of the spread that the margins leave, large cells count as much as small ones.
        freedom = np.where(fit.freedom > LEAST_FREEDOM, fit.freedom, np.inf)
        single = deviances / freedom[:, None]
    is_hit = tables.cells % (tables.n_classes + 1) == 0
    hits = tables.draws[is_hit].sum(axis=0) - centre[is_hit].sum()
    statistics = np.stack(
        [
            deviances.sum(axis=0),
            np.maximum(deviances - _UNUSUAL, 0.0).sum(axis=0),
            single.max(axis=0, initial=0.0),
            np.abs(hits),
        ]
    )
    best = np.min([_upper_ranks(values) for values in statistics], axis=0)
    own = _upper_ranks(-best)
    largest = np.sort(np.round(statistics[2], _DIGITS))
    below = np.searchsorted(largest, np.round(single[:, 0], _DIGITS), side="left")
    cells = (len(largest) - below) / len(largest)
    return OverallTest(float(own[0]), float(own.min()), cells, single[:, 0])


def _upper_ranks(values: FloatArray) -> FloatArray:
    """Return for each value the share of all values that are at least as large."""
    rounded = np.round(values, _DIGITS)
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
