"""Pairs of classes: how similar they surely are, and which are more than evenly spread errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import betainc, gammainc, ndtri

from deconfuse._checks import Label
from deconfuse.confusion import ConfusionMatrix
from deconfuse.counts import dense
from deconfuse.scaling import scale
from deconfuse.statistics.cells import sample_unit
from deconfuse.statistics.estimate import BiEstimate
from deconfuse.statistics.luce import PairPosterior

__all__ = ["LookAlike", "PairTable", "StandingOut", "pair_table", "standing_out"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

# A pair whose similarity has a larger relative error than this is not ranked: about that of four
# confusions.
_LARGEST_ERROR = 0.5
# The trace is met to this share of the errors, which is far below their noise.
_TRACE_TOLERANCE, _MOST_FITS = 1e-4, 30
# A secant that is flatter than this says nothing.
_LEAST_BEND = 0.05
# And the shares of rows and columns to this.
_SHARE_TOLERANCE = 1e-9
# Errors that a class without any may still have with others.
_UNSEEN = 0.5
# Sweeps of the second fit, which end sooner where nothing changes any more.
_SWEEPS = 500


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

    It costs what these pairs cost, also of a sparse matrix.

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
    z = float(ndtri(0.5 + estimate.level / 2))
    low, high = _interval(pairs, z)
    is_certain = pairs.relative_variance <= _LARGEST_ERROR**2
    rank = np.empty(len(low), dtype=np.int64)
    for chosen in (is_certain, ~is_certain):
        order = np.argsort(-low[chosen], kind="stable")
        rank[np.flatnonzero(chosen)[order]] = np.arange(1, len(order) + 1)
    rows, columns = pairs.low, pairs.high
    counts = [pick_cells(estimate.source.counts, at) for at in ((rows, columns), (columns, rows))]
    total = counts[0] + counts[1]
    n_fewer_or_equal = np.searchsorted(np.sort(total), total, side="right")
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
        len(total) + 1 - n_fewer_or_equal,
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
    return dense(matrix[at[0], at[1]]).astype(np.float64, copy=False).ravel()


class StandingOut(NamedTuple):
    """Which pairs stand out, as boolean vectors.

    Attributes
    ----------
    from_all_pairs : ndarray of shape (n_pairs,)
        Confused more than if all pairs of classes were equally similar.
    from_own_errors : ndarray of shape (n_pairs,)
        Confused more than the errors of both classes with other classes explain. A class that is
        hard to recognize at all explains the first, and not this.
    """

    from_all_pairs: BoolArray
    from_own_errors: BoolArray


def standing_out(cm: ConfusionMatrix, pairs: NDArray[np.intp], level: float) -> StandingOut:
    r"""Return which pairs are confused more than errors spread evenly would explain.

    Parameters
    ----------
    cm : ConfusionMatrix
    pairs : ndarray of int of shape (n_pairs, 2)
        Positions of the classes.
    level : float
        One minus the chance of any false alarm, among all pairs of the matrix.

    Notes
    -----
    If all pairs were equally similar, every count would be a Poisson number of mean :math:`a_i b_j`
    beside the diagonal and :math:`K a_i b_i` on it: classes of any size and prediction bias, and
    one number for how well they are recognized. This is fitted by maximum likelihood, which is to
    meet the sums of rows and columns and the trace. The p-value of a pair is the probability of at
    least as many confusions in both directions together, times the number of all pairs; for a
    factor common to both directions no test has more power. In pairs that were found the counts
    are then replaced by their means, and the others are tested again.

    Then the diagonal is left free, which is quasi-independence: the errors of each class are spread
    evenly, of one class more and of another less. The errors of two classes with all others, and
    how these are spread without what was found, say how often the two would be confused; the
    number is then negative binomial, because the errors with others are a sample themselves.
    """
    unit = sample_unit(cm)
    counts = pick_cells(cm.counts, (pairs.ravel(), pairs[:, ::-1].ravel())).reshape(-1, 2) / unit
    rows, columns, hits = (
        np.asarray(sums, dtype=np.float64) / unit
        for sums in (cm.label_counts, cm.prediction_counts, cm.counts.diagonal())
    )
    limit = (1 - level) / max(cm.n_classes * (cm.n_classes - 1) / 2, 1)
    together = counts.sum(axis=1)
    found = np.zeros(len(pairs), dtype=bool)
    means = counts
    while True:
        # What was found in a pair is no sign of what is usual.
        usual = [side.copy() for side in (rows, columns)]
        for side, ends in zip(usual, (pairs, pairs[:, ::-1]), strict=True):
            np.subtract.at(side, ends, np.where(found[:, None], counts - means, 0.0))
        left, right = _even_rates(usual[0], usual[1], float(hits.sum()))
        means = left[pairs] * right[pairs[:, ::-1]]
        # The probability of a Poisson number of at least so many; fractions are in between.
        now = ~found & (together > 0) & (gammainc(together, means.sum(axis=1)) <= limit)
        if not now.any():
            break
        found |= now
    spread = _error_rates(*(np.maximum(side - hits, 0.0) + _UNSEEN for side in usual))
    others = (rows - hits)[pairs] - counts, (columns - hits)[pairs[:, ::-1]] - counts
    return StandingOut(found, _beyond(counts, others, spread, pairs) <= limit)


def _beyond(
    counts: FloatArray,
    others: tuple[FloatArray, FloatArray],
    spread: tuple[FloatArray, FloatArray],
    pairs: NDArray[np.intp],
) -> FloatArray:
    """Return the probability of so many confusions of two classes, from their other errors."""
    true, pred = (np.maximum(side, 0.0) + _UNSEEN for side in others)
    rest = np.prod([side.sum() - side[pairs].sum(axis=1) for side in spread], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = true * pred / rest[:, None]
        variance = (means**2 * (1 / true + 1 / pred)).sum(axis=1)
        mean = means.sum(axis=1)
        size = mean**2 / variance
        chance = betainc(counts.sum(axis=1), size, mean / (mean + size))
    # Without a third class there are no other errors.
    return np.where(np.isfinite(chance), chance, 1.0)


def _even_rates(
    rows: FloatArray, columns: FloatArray, trace: float
) -> tuple[FloatArray, FloatArray]:
    """Return the factors of the means beside the diagonal; NaN where nothing is known of a class.

    A matrix of ones with another number on its diagonal is scaled to the sums of rows and columns,
    for the number that gives the trace.
    """
    used = (rows > 0) & (columns > 0)
    total, size = float(rows[used].sum()), int(used.sum())
    factors = np.full((2, len(rows)), np.nan)
    errors = total - trace
    if size < 2 or not 0 < errors < total:
        return factors[0], factors[1]
    # A class on one side only has no diagonal; what it takes from the other side is shared out.
    shares = rows[used] / total, columns[used] / columns[used].sum()
    log_ratio, bend, before = max(float(np.log((size - 1) * trace / errors)), 0.0), 1.0, None
    for _ in range(_MOST_FITS):
        ratio = float(np.exp(log_ratio))
        diagonal = sparse.diags_array(np.full(size, ratio - 1.0)).tocsr()
        fit = scale(
            diagonal, rows=shares[0], columns=shares[1], epsilon=1.0, tolerance=_SHARE_TOLERANCE
        )
        # Never zero, which rounding may leave.
        least = np.finfo(np.float64).eps * total
        fitted = max(total - total * float(ratio * (fit.left * fit.right).sum()), least)
        if abs(fitted - errors) <= _TRACE_TOLERANCE * errors or ratio <= 1:
            break
        # By secants: the odds of a hit go nearly as the ratio does.
        gap = float(np.log(fitted / errors) + np.log((total - errors) / (total - fitted)))
        if before is not None and log_ratio != before[0]:
            if abs(gap - before[1]) <= _TRACE_TOLERANCE * abs(gap):
                # Sums of rows and columns may leave no choice.
                break
            bend = (before[1] - gap) / (log_ratio - before[0])
        before = log_ratio, gap
        log_ratio = max(log_ratio + gap / (bend if bend > _LEAST_BEND else 1.0), 0.0)
    factors[0, used], factors[1, used] = fit.left * total, fit.right
    return factors[0], factors[1]


def _error_rates(rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return factors whose products beside the diagonal have these sums of rows and columns."""
    left, right = np.zeros(len(rows)), columns / max(columns.sum(), 1.0)
    for _ in range(_SWEEPS):
        before = left
        left = _over(rows, right.sum() - right)
        right = _over(columns, left.sum() - left)
        if np.abs(left - before).max() <= _SHARE_TOLERANCE * left.max():
            break
    return left, right


def _over(sums: FloatArray, others: FloatArray) -> FloatArray:
    return np.divide(sums, others, out=np.zeros(len(sums)), where=(sums > 0) & (others > 0))
