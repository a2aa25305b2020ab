"""Pairs of classes ranked by how similar they surely are, beside their rank by raw counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import norm, rankdata

from deconfuse._checks import Label
from deconfuse.confusion import ConfusionMatrix
from deconfuse.normalization import Normalized
from deconfuse.statistics.cells import sample_unit
from deconfuse.statistics.separability import separability

__all__ = [
    "LARGEST_LOG_ERROR",
    "LookAlike",
    "PairRanking",
    "PairTable",
    "TypicalSimilarity",
    "half_width",
    "pair_table",
    "pick_cells",
    "typical_similarity",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: A pair whose log-similarity has a larger standard error than this is not ranked: four cells of
#: one sample each would be above it, four of two samples below.
LARGEST_LOG_ERROR = 0.75


@dataclass(frozen=True, slots=True)
class LookAlike:
    """Two classes, how alike they are, and how sure that is.

    Attributes
    ----------
    first, second : class names
        In matrix order.
    similarity, low, high : float
        Similarity and its confidence interval. 0: never confused; 1: taken for each other as often
        as recognized; above 1: more often. The interval is that of one pair; among many pairs those
        listed first were also lucky, and their low ends are on average too high.
    rank : int
        By ``low``, from 1, among the pairs that can be ranked; for the others, among those. By the
        estimate itself, a pair of one and two confusions would lead among many classes by luck.
    raw_rank : int
        By the number of confusions in both directions, from 1.
    count, reverse_count : float
        First predicted as second, and second as first.
    at_smaller_epsilon, at_larger_epsilon : float
        Similarity with epsilon / 10 and with epsilon x 10.
    is_certain : bool
        Whether enough samples stand behind all four cells to rank the pair.
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
    at_smaller_epsilon: float
    at_larger_epsilon: float
    is_certain: bool
    tells_nothing: bool


class TypicalSimilarity(NamedTuple):
    """The similarity of a usual pair.

    Attributes
    ----------
    value : float
    is_median : bool
        Whether it is the median of all pairs. Where most pairs were never confused, the median
        would be epsilon alone; then it is what all pairs would have if the errors of the
        bi-normalized matrix were spread evenly over them.
    """

    value: float
    is_median: bool


@dataclass(frozen=True, slots=True, eq=False)
class PairTable:
    """Similarity of every pair of classes that was confused at least once, as columns."""

    rows: IntArray
    columns: IntArray
    counts: FloatArray
    reverse_counts: FloatArray
    log_similarity: FloatArray
    log_error: FloatArray
    log_at_smaller: FloatArray
    log_at_larger: FloatArray
    raw_rank: NDArray[np.int64]

    @property
    def is_certain(self) -> NDArray[np.bool_]:
        """Whether each pair has enough samples to be ranked."""
        return self.log_error <= LARGEST_LOG_ERROR


def pair_table(cm: ConfusionMatrix, epsilon: float) -> PairTable:
    r"""Return the similarity of every pair of classes that was confused at least once.

    Parameters
    ----------
    cm : ConfusionMatrix
        Dense or sparse: the cost is that of its nonzero cells.
    epsilon : float
        Added to every cell.

    Returns
    -------
    PairTable
        In matrix order.

    Notes
    -----
    The similarity of Luce's model in closed form, from the bi-normalized matrix
    :math:`B` or, because odds ratios do not change by scaling, from :math:`A = M + \varepsilon`
    itself:

    .. math:: \eta_{ij} = \sqrt{\frac{B_{ij} B_{ji}}{B_{ii} B_{jj}}}
       = \sqrt{\frac{A_{ij} A_{ji}}{A_{ii} A_{jj}}}, \qquad
       \mathrm{var}(\log \eta_{ij}) = \frac{1}{4} \sum_{c \in \{ij, ji, ii, jj\}} \frac{v_c}{A_c^2}.

    The geometric mean of both directions is what no bias can change: a class that is over-predicted
    makes one direction larger and the other smaller by the same factor. An arithmetic mean would
    follow the larger one.
    """
    n_classes = cm.n_classes
    cells = sparse.coo_array(cm.counts)
    off = (cells.row != cells.col) & (cells.data > 0)
    low, high = np.minimum(cells.row, cells.col)[off], np.maximum(cells.row, cells.col)[off]
    keys = np.unique(low.astype(np.int64) * n_classes + high)
    rows, columns = (keys // n_classes).astype(np.intp), (keys % n_classes).astype(np.intp)
    four = [(rows, columns), (columns, rows), (rows, rows), (columns, columns)]
    counts = [pick_cells(cm.counts, at) for at in four]
    variances = [pick_cells(cm.variances, at) for at in four]
    unit = sample_unit(cm)
    error = np.zeros(len(keys))
    for count, variance in zip(counts, variances, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            error += (variance + epsilon * unit) / (count + epsilon) ** 2
    error[np.isnan(error)] = np.inf
    together = counts[0] + counts[1]
    return PairTable(
        rows,
        columns,
        counts[0],
        counts[1],
        _log_similarity(counts, epsilon),
        np.sqrt(error) / 2,
        _log_similarity(counts, epsilon / 10),
        _log_similarity(counts, epsilon * 10),
        rankdata(-together, method="min").astype(np.int64),
    )


class PairRanking:
    """Pairs of classes in order of what is sure of their similarity, and in order of raw counts.

    Parameters
    ----------
    table : PairTable
        The pairs.
    labels : tuple
        Class names in matrix order.
    level : float
        Level of the intervals.
    """

    def __init__(self, table: PairTable, labels: tuple[Label, ...], level: float) -> None:
        self.table = table
        self.labels = labels
        self.level = level
        half = half_width(table.log_error, level)
        certain = table.is_certain
        with np.errstate(invalid="ignore", over="ignore"):
            # Without epsilon a cell without samples leaves everything open.
            ends = np.exp([table.log_similarity - half, table.log_similarity + half])
        self.low, self.high = np.where(np.isfinite(half), ends, [[0.0], [np.inf]])
        self._orders = {
            wanted: chosen[np.argsort(-self.low[chosen], kind="stable")]
            for wanted in (True, False)
            for chosen in [np.flatnonzero(certain == wanted)]
        }
        self._ranks = np.empty(len(certain), dtype=np.int64)
        for order in self._orders.values():
            self._ranks[order] = np.arange(1, len(order) + 1)

    @property
    def certain(self) -> IntArray:
        """Indices of the pairs with enough samples, surely most similar first."""
        return self._orders[True]

    @property
    def uncertain(self) -> IntArray:
        """Indices of the pairs with too few samples, by the low end of their intervals."""
        return self._orders[False]

    def most_confused(self, limit: int) -> tuple[LookAlike, ...]:
        """Return the pairs of the first ranks by counts, with ties."""
        first = np.flatnonzero(self.table.raw_rank <= limit)
        return self.at(first[np.argsort(self.table.raw_rank[first], kind="stable")])

    def at(self, indices: IntArray) -> tuple[LookAlike, ...]:
        """Return the pairs of some indices."""
        return tuple(self._pair(index) for index in indices)

    def _pair(self, index: int) -> LookAlike:
        table, is_certain = self.table, bool(self.table.is_certain[index])
        high = float(self.high[index])
        return LookAlike(
            first=self.labels[table.rows[index]],
            second=self.labels[table.columns[index]],
            similarity=float(np.exp(table.log_similarity[index])),
            low=float(self.low[index]),
            high=high,
            rank=int(self._ranks[index]),
            raw_rank=int(table.raw_rank[index]),
            count=float(table.counts[index]),
            reverse_count=float(table.reverse_counts[index]),
            at_smaller_epsilon=float(np.exp(table.log_at_smaller[index])),
            at_larger_epsilon=float(np.exp(table.log_at_larger[index])),
            is_certain=is_certain,
            tells_nothing=not is_certain and high > 1,
        )


def typical_similarity(table: PairTable, normalized: Normalized) -> TypicalSimilarity:
    """Return the similarity that other pairs are held against."""
    n_classes = normalized.n_classes
    n_pairs = n_classes * (n_classes - 1) // 2
    never = n_pairs - len(table.rows)
    if never < n_pairs / 2:
        median = float(np.exp(np.sort(table.log_similarity)[n_pairs // 2 - never]))
        if median > 0:
            return TypicalSimilarity(median, is_median=True)
    hits = separability(normalized)
    spread = (1 - hits) / max(n_classes - 1, 1) / hits if hits > 0 else 0.0
    return TypicalSimilarity(spread if spread > 0 else 1.0, is_median=False)


def half_width(log_error: FloatArray, level: float) -> FloatArray:
    """Return the half width of a score interval on the log scale.

    For a Poisson count m, whose log has the standard error 1 / sqrt(m), this is exactly the score
    interval; for small errors it is z times the error.
    """
    z = float(norm.ppf(0.5 + level / 2))
    return np.asarray(2 * np.arcsinh(z * log_error / 2))


def _log_similarity(counts: list[FloatArray], epsilon: float) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.log(count + epsilon) for count in counts]
        result = (logs[0] + logs[1] - logs[2] - logs[3]) / 2
    # Without epsilon 0 / 0 may arise: nothing is known of such a pair.
    return np.where(np.isnan(result), -np.inf, result)


def pick_cells(matrix: Any, at: tuple[IntArray, IntArray]) -> FloatArray:
    """Return some cells of a dense or sparse matrix, by rows and columns."""
    if len(at[0]) == 0:
        return np.zeros(0)
    picked = matrix[at[0], at[1]]
    dense = picked.toarray() if sparse.issparse(picked) else picked
    return np.asarray(dense, dtype=np.float64).ravel()
