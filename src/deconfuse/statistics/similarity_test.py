"""Do two classifiers confuse the same classes, apart from label shares and prediction bias?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from deconfuse.statistics.cells import round_fairly
from deconfuse.statistics.conditional import Triples, paired_tables, unpaired_tables
from deconfuse.statistics.null_fit import fit_null
from deconfuse.statistics.overall import overall_test

__all__ = ["SimilarityTest", "similarity_test"]

FloatArray = NDArray[np.float64]

# Draws of the exact test, fewer where cells are many, so that it takes a fraction of a second.
_DRAWS, _FEWEST_DRAWS, _DRAWN_CELLS = 999, 199, 600_000
# Independent tables of more cells are tested without draws: their chain would take seconds.
_MOST_DRAWN = 3_000
_ALPHA = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityTest:
    """The result of the test.

    Attributes
    ----------
    p_value : float
        Of no difference in any cell.
    smallest : float
        The smallest one that samples with these margins could have given.
    raw, corrected : ndarray of shape (n_classes, n_classes)
        P-values of the cells, each for itself and corrected for their number.
    """

    p_value: float
    smallest: float
    raw: FloatArray
    corrected: FloatArray


def similarity_test(
    first: FloatArray, second: FloatArray, triples: Triples | None, seed: int
) -> SimilarityTest:
    """Test the similarity behind two tables.

    Parameters
    ----------
    first, second : ndarray of shape (n_classes, n_classes)
        Effective numbers of samples.
    triples : Triples, optional
        The samples behind both tables, if they are the same.
    seed : int

    Returns
    -------
    SimilarityTest

    Notes
    -----
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
    result = SimilarityTest(
        fast.p_value,
        fast.smallest,
        _spread(fast.raw, fit.cells, n_classes),
        _spread(fast.corrected, fit.cells, n_classes),
    )
    if triples is not None:
        n_draws = _fitting(int(triples.counts[triples.first != triples.second].size))
        tables = paired_tables(triples, n_classes, n_draws, rng)
        exact = overall_test(tables)
        raw = chi2.sf(exact.away, 1)
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
