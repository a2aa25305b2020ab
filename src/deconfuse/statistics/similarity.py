"""Pairs of classes ranked by how similar they surely are, beside their rank by raw counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import norm, rankdata

from deconfuse._checks import Label
from deconfuse.statistics.estimate import BiEstimate
from deconfuse.statistics.luce import PairPosterior

__all__ = ["LookAlike", "PairTable", "pair_table", "pick_cells"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# A pair whose similarity has a larger relative error than this is not ranked: about that of four
# confusions.
_LARGEST_ERROR = 0.5


@dataclass(frozen=True, slots=True)
class LookAlike:
    """Two classes, how similar they are, and how certain that is.

    Attributes
    ----------
    first, second : class names
        In matrix order.
    similarity, low, high : float
        The estimated similarity and its interval. 0: never confused; 1: taken for each other as
        often as recognized; above 1: more often.
    rank : int
        By ``low``, from 1, among the pairs that can be ranked; for the others, among those. By the
        estimate itself, a pair of one and two confusions would lead among many classes by luck.
    raw_rank : int
        By the number of confusions in both directions, from 1.
    count, reverse_count : float
        First predicted as second, and second as first: counts, not estimates.
    is_certain : bool
        Whether enough samples stand behind the pair to rank it.
    tells_nothing : bool
        Whether it cannot be ranked and its interval even reaches beyond one, so that texts say "too
        few samples to tell" in place of numbers.
    """

    first: Label
    second: Label
    similarity: float
    low: float
    high: float
    rank: int
    raw_rank: int
    count: float
    reverse_count: float
    is_certain: bool
    tells_nothing: bool


@dataclass(frozen=True, slots=True, eq=False)
class PairTable:
    """Every pair of classes that was confused at least once, as columns in matrix order.

    Attributes
    ----------
    labels : tuple
        Class names in matrix order.
    rows, columns : ndarray of int
        Positions of the two classes.
    counts, reverse_counts : ndarray
        How often the first was taken for the second, and the reverse.
    similarity, low, high : ndarray
        Estimates with their intervals.
    is_certain : ndarray of bool
        Whether a pair has enough samples to be ranked.
    rank, raw_rank : ndarray of int
        By ``low`` (separately for pairs that are certain and for others), and by counts.
    """

    labels: tuple[Label, ...]
    rows: IntArray
    columns: IntArray
    counts: FloatArray
    reverse_counts: FloatArray
    similarity: FloatArray
    low: FloatArray
    high: FloatArray
    is_certain: NDArray[np.bool_]
    rank: NDArray[np.int64]
    raw_rank: NDArray[np.int64]

    @property
    def certain(self) -> IntArray:
        """Indices of the pairs with enough samples, surely most similar first."""
        return self._ranked(self.is_certain)

    @property
    def uncertain(self) -> IntArray:
        """Indices of the pairs with too few samples, by the low end of their intervals."""
        return self._ranked(~self.is_certain)

    def most_confused(self, limit: int) -> tuple[LookAlike, ...]:
        """Return the pairs of the first ranks by counts, with ties."""
        first = np.flatnonzero(self.raw_rank <= limit)
        return self.at(first[np.argsort(self.raw_rank[first], kind="stable")])

    def at(self, indices: IntArray) -> tuple[LookAlike, ...]:
        """Return the pairs of some indices."""
        return tuple(self._pair(index) for index in indices)

    def _ranked(self, chosen: NDArray[np.bool_]) -> IntArray:
        places = np.flatnonzero(chosen)
        return np.asarray(places[np.argsort(self.rank[places])])

    def _pair(self, index: int) -> LookAlike:
        is_certain, high = bool(self.is_certain[index]), float(self.high[index])
        return LookAlike(
            first=self.labels[self.rows[index]],
            second=self.labels[self.columns[index]],
            similarity=float(self.similarity[index]),
            low=float(self.low[index]),
            high=high,
            rank=int(self.rank[index]),
            raw_rank=int(self.raw_rank[index]),
            count=float(self.counts[index]),
            reverse_count=float(self.reverse_counts[index]),
            is_certain=is_certain,
            tells_nothing=not is_certain and high > 1,
        )


def pair_table(estimate: BiEstimate) -> PairTable:
    r"""Return the similarity of every pair of classes that was confused at least once.

    Parameters
    ----------
    estimate : BiEstimate
        Of a dense or sparse matrix: the cost is that of the pairs that were confused.

    Returns
    -------
    PairTable

    Notes
    -----
    The similarity of Luce's model in closed form, from the estimated bi-normalized matrix
    :math:`B` or, because odds ratios do not change by scaling, from the estimated counts :math:`A`:

    .. math:: \eta_{ij} = \sqrt{\frac{B_{ij} B_{ji}}{B_{ii} B_{jj}}}
       = \sqrt{\frac{A_{ij} A_{ji}}{A_{ii} A_{jj}}}.

    The geometric mean of both directions is what no bias can change: a class that is over-predicted
    makes one direction larger and the other smaller by the same factor. The interval is that of the
    posterior, a gamma distribution, of a single pair. A pair may lead by luck; what it has by luck
    is shrunk, so intervals hold for the first pairs as for all others. Its upper end is that of the
    counts alone where this is higher: a pair that is more similar than all others is not ruled out.
    """
    pairs = estimate.confused_pairs
    z = float(norm.ppf(0.5 + estimate.level / 2))
    low, high = _interval(pairs, z)
    is_certain = pairs.relative_variance <= _LARGEST_ERROR**2
    rank = np.empty(len(low), dtype=np.int64)
    for chosen in (is_certain, ~is_certain):
        rank[chosen] = rankdata(-low[chosen], method="ordinal")
    rows, columns = pairs.low, pairs.high
    counts = [pick_cells(estimate.source.counts, at) for at in ((rows, columns), (columns, rows))]
    return PairTable(
        estimate.labels,
        rows,
        columns,
        counts[0],
        counts[1],
        pairs.similarity,
        low,
        high,
        is_certain,
        rank,
        rankdata(-(counts[0] + counts[1]), method="min").astype(np.int64),
    )


def _interval(pairs: PairPosterior, z: float) -> tuple[FloatArray, FloatArray]:
    low = _gamma_quantile(pairs.similarity, pairs.relative_variance, -z)
    high = _gamma_quantile(pairs.similarity, pairs.relative_variance, z)
    alone = _gamma_quantile(pairs.similarity_alone, pairs.relative_variance_alone, z)
    return low, np.maximum(high, alone)


def _gamma_quantile(mean: FloatArray, relative_variance: FloatArray, z: float) -> FloatArray:
    """Return the quantile of gamma distributions at a normal quantile (Wilson and Hilferty).

    Their formula bends back where the variance is very large; there it stays as it was.
    """
    error = np.minimum(np.sqrt(relative_variance), 1.5 * abs(z))
    root = 1 - error**2 / 9 + z * error / 3
    return np.asarray(mean * np.maximum(root, 0.0) ** 3)


def pick_cells(matrix: Any, at: tuple[IntArray, IntArray]) -> FloatArray:
    """Return some cells of a dense or sparse matrix, by rows and columns."""
    if len(at[0]) == 0:
        return np.zeros(0)
    picked = matrix[at[0], at[1]]
    dense = picked.toarray() if sparse.issparse(picked) else picked
    return np.asarray(dense, dtype=np.float64).ravel()
