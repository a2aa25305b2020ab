"""Do two classifiers confuse the same classes, apart from label shares and prediction bias?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, xlogy

from deconfuse.statistics.cells import round_fairly
from deconfuse.statistics.conditional import NullTables, Triples, paired_tables, unpaired_tables
from deconfuse.statistics.null_fit import LEAST_FREEDOM, NullFit, SimilarityTest, fit_null

__all__ = ["OverallTest", "SimilarityTest", "overall_test", "similarity_test"]

FloatArray = NDArray[np.float64]

# Draws of the exact test, fewer where cells are many, so that it takes a fraction of a second.
_DRAWS, _FEWEST_DRAWS, _DRAWN_CELLS = 999, 199, 600_000
# Independent tables of more cells are tested without draws: their chain would take seconds.
_MOST_DRAWN = 3_000
_ALPHA = 0.05
# A cell adds to the second statistic what it has above this: about what a cell in twenty has.
_UNUSUAL = 4.0
# Spread of a cell at most this small (in samples) is not what a difference is measured in.
_LEAST_VARIANCE = 0.25
# Sums in another order differ in the last digits; equal tables must stay equal.
_DIGITS = 9


def similarity_test(
    first: FloatArray, second: FloatArray, triples: Triples | None, seed: int
) -> SimilarityTest:
    """Test the similarity behind two square tables of effective numbers of samples.

    ``triples`` are the samples behind both tables, if they are the same.

    Up to 3,000 cells with samples, and for paired samples, the test is exact: the tables are
    ranked among draws. Above, and where the margins leave no other table to draw, it is that of
    `deconfuse.statistics.null_fit`. Draws are made in an order of classes and tables that depends
    on the numbers alone, so swapped tables and reordered classes have the same p-values.
    """
    order, is_swapped = _canonical_order(first, second)
    place = np.argsort(order)
    first, second = (table[np.ix_(order, order)] for table in (first, second))
    if triples is not None:
        triples = replace(
            triples,
            true=place[triples.true],
            first=place[triples.first],
            second=place[triples.second],
        )
    if is_swapped:
        first, second = second, first
        triples = triples and replace(triples, first=triples.second, second=triples.first)
    found = _tested(first, second, triples, np.random.default_rng(seed))
    back = np.ix_(place, place)
    return replace(found, raw=found.raw[back], corrected=found.corrected[back])


def _tested(
    first: FloatArray, second: FloatArray, triples: Triples | None, rng: np.random.Generator
) -> SimilarityTest:
    """Test two tables in the order given."""
    one, other = (round_fairly(table, rng) for table in (first, second))
    n_classes = len(one)
    fit = fit_null(one, other)
    fast = fit.test()
    result = replace(
        fast,
        raw=_spread(fast.raw, fit.cells, n_classes),
        corrected=_spread(fast.corrected, fit.cells, n_classes),
    )
    if triples is not None:
        n_draws = _fitting(int(triples.counts[triples.first != triples.second].size))
        tables = paired_tables(triples, n_classes, n_draws, rng)
        exact = overall_test(tables)
        raw = chdtrc(1, exact.away)
    elif len(fit.cells) <= _MOST_DRAWN:
        tables = unpaired_tables(one, other, fit.share, _fitting(len(fit.cells)), rng)
        exact = overall_test(tables, fit)
        raw = fast.raw
    else:
        return result
    if exact.smallest >= _ALPHA and fast.p_value < _ALPHA:
        # Classes that are each taken only for the next leave no other table to draw.
        return result
    return SimilarityTest(
        exact.p_value,
        exact.smallest,
        _spread(raw, tables.cells, n_classes),
        _spread(exact.cells, tables.cells, n_classes),
    )


def _canonical_order(first: FloatArray, second: FloatArray) -> tuple[NDArray[np.intp], bool]:
    """Return an order of the classes, and whether to swap the tables, from the numbers alone."""
    both, apart = first + second, np.abs(first - second)
    keys = [
        part
        for table in (apart, both)
        for part in ((table**2).sum(axis=0), (table**2).sum(axis=1), table.diagonal())
    ]
    order = np.lexsort(np.round(keys, 6))
    one, other = (table[np.ix_(order, order)].ravel() for table in (first, second))
    differs = np.flatnonzero(one != other)
    return order, bool(differs.size and one[differs[0]] > other[differs[0]])


def _spread(values: FloatArray, cells: NDArray[np.intp], n_classes: int) -> FloatArray:
    """Return p-values as a matrix, one where no sample is."""
    flat = np.ones(n_classes**2)
    flat[cells] = values
    return flat.reshape(n_classes, n_classes)


def _fitting(n_cells: int) -> int:
    return int(np.clip(_DRAWN_CELLS // max(n_cells, 1), _FEWEST_DRAWS, _DRAWS))


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

    ``fit`` says what is expected of unpaired tables. Without it, as for `paired_tables`, whose
    spread is smaller, expectation and spread are read off the draws.

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
