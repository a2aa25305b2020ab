"""Is the second of two matrices better or worse? Accuracy, balanced accuracy, recalls and pairs.

All differences are the second minus the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtr

from deconfuse._checks import freeze
from deconfuse.statistics.cells import Cells, holm, row_units
from deconfuse.statistics.metrics import MeanShares, effective_samples

__all__ = ["Proportions", "RecallDifferences", "ScoreDifference", "Scores", "share_difference"]

FloatArray = NDArray[np.float64]

# Standard deviations below which a difference is rounding, and beyond which a p-value is zero.
_NEAREST, _FARTHEST = 1e-6, 37.0


@dataclass(frozen=True, slots=True)
class ScoreDifference:
    """One score of both matrices, and their difference.

    Attributes
    ----------
    first, second : float
        The score of each matrix.
    difference : float
        Second minus first.
    low, high : float
        Confidence interval of the difference.
    p_value : float
        Of no difference, two-sided.
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, slots=True, eq=False)
class RecallDifferences:
    """The recall of every class in both matrices; NaN for a class without samples.

    Attributes
    ----------
    first, second, difference : ndarray of shape (n_classes,)
        The difference is the second minus the first.
    low, high : ndarray of shape (n_classes,)
        Confidence interval of each difference by itself (Newcombe 1998; of paired samples Tango
        1998), which holds zero wherever the exact test of it alone does not rule it out.
    p_values : ndarray of shape (n_classes,)
        Of no difference, corrected for the number of classes by Holm's method. Exact: Fisher's
        test, or McNemar's for paired samples.
    """

    first: FloatArray
    second: FloatArray
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    p_values: FloatArray

    def __post_init__(self) -> None:
        freeze(self)

    def differs(self, level: float) -> NDArray[np.bool_]:
        """Return which recalls surely differ: in one sentence of `compare`, and for its gate."""
        return np.nan_to_num(self.p_values, nan=1.0) < 1 - level


@dataclass(frozen=True, slots=True, eq=False)
class Proportions:
    """Proportions of both matrices, or means of some, and how far they move together.

    Attributes
    ----------
    sides : tuple of two MeanShares
    correlation : ndarray of shape (n_means,)
    moved : ndarray of shape (n_means, n_strata), optional
        Of paired samples, how many are counted on one side only.
    """

    sides: tuple[MeanShares, MeanShares]
    correlation: FloatArray
    moved: FloatArray | None = None

    @property
    def values(self) -> tuple[FloatArray, FloatArray]:
        """The proportions of the first matrix, and of the second."""
        return self.sides[0].value, self.sides[1].value

    def limits(self, z: float) -> tuple[FloatArray, FloatArray]:
        """Return the interval of second minus first.

        Of single paired proportions that of Tango (1998), which goes with McNemar's test; of others
        Newcombe's hybrid score interval (1998).
        """
        if self.moved is not None and self.moved.shape[-1] == 1:
            n = self.sides[0].n[:, 0]
            gained = (self.moved[:, 0] + n * (self.values[1] - self.values[0])) / 2
            return tango(gained, self.moved[:, 0] - gained, n, z)
        (first, second), rho = self.values, self.correlation
        ends = [side.limits(z) for side in self.sides]
        down, up = second - ends[1][0], ends[1][1] - second
        first_down, first_up = first - ends[0][0], ends[0][1] - first
        lower = np.sqrt(np.maximum(down**2 - 2 * rho * down * first_up + first_up**2, 0))
        upper = np.sqrt(np.maximum(up**2 - 2 * rho * up * first_down + first_down**2, 0))
        difference = second - first
        return difference - lower, difference + upper

    def p_value(self) -> float:
        """Return the p-value of no difference of the only proportion: the larger of two.

        At the one the interval begins to hold zero; the other is that of equal proportions. Three
        samples of a class, all right before and none after, may be the whole difference of a mean:
        that this is little evidence only the second knows.
        """
        difference = float((self.values[1] - self.values[0])[0])

        def gap(z: float) -> float:
            return float(self.limits(z)[0 if difference > 0 else 1][0]) * np.sign(difference)

        from scipy.optimize import brentq

        if gap(_NEAREST) <= 0:
            return 1.0
        far = _FARTHEST if gap(_FARTHEST) >= 0 else brentq(gap, _NEAREST, _FARTHEST)
        return max(float(2 * ndtr(-far)), self._equality(difference))

    def _equality(self, difference: float) -> float:
        """Return the p-value of a difference if all proportions are equal on both sides.

        Of a single paired proportion McNemar's mid-p. Else the variance is that of both sides
        together, or of the samples that moved; the quantile is Student's, since few samples may be
        most of it (Welch, Satterthwaite).
        """
        one, other = self.sides
        n, m, weights = one.n[0], other.n[0], one.weights[0]
        if self.moved is not None and len(n) == 1:
            gained = np.rint((self.moved[0] + n * difference) / 2)
            return float(mcnemar(self.moved[0] - gained, gained)[0])
        if self.moved is None:
            share = (one.shares[0] * n + other.shares[0] * m) / (n + m)
            freedom = np.maximum(n + m - 1, 0.5)
            variances = weights**2 * share * (1 - share) * (n + m) ** 2 / (n * m) / freedom
        else:
            freedom = self.moved[0]
            variances = weights**2 * freedom / n**2
        some = variances > 0
        if not some.any():
            return 1.0
        spread = variances[some].sum()
        degrees = spread**2 / (variances[some] ** 2 / freedom[some]).sum()
        return float(2 * stdtr(degrees, -abs(difference) / np.sqrt(spread)))


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Both matrices as scores see them.

    Attributes
    ----------
    first, second : Cells
        Without epsilon.
    agreed : ndarray of shape (n_classes, n_classes), optional
        How many samples both models predicted alike, by true class and prediction, where the
        matrices are of the same samples.
    """

    first: Cells
    second: Cells
    agreed: FloatArray | None = None

    def accuracy(self, level: float) -> ScoreDifference:
        """Return the accuracy of both."""
        values, samples = [], []
        for cells in self._both:
            total = np.array([cells.values.sum()])
            # From the errors: without any, rounding must not make it more or less than one.
            errors = (cells.values * ~np.eye(len(cells.values), dtype=bool)).sum()
            values.append(1 - errors / total)
            samples.append(effective_samples(total, np.array([cells.variances.sum()])))
        if self.agreed is None:
            return share_difference(values, samples, level)
        together = self.agreed.diagonal().sum() / self.first.values.sum() - values[0] * values[1]
        correlation = _correlation(together, *(v * (1 - v) for v in values))
        moved = np.array([[sum(float(only.sum()) for only in self._only_right())]])
        return _difference(Proportions(_singles(values, samples), correlation, moved), level)

    @property
    def shared(self) -> NDArray[np.intp]:
        """The classes with samples on both sides."""
        return np.flatnonzero(np.all([n.sum(axis=1) > 0 for n in self.samples], axis=0))

    @property
    def lacks_classes(self) -> bool:
        """Whether some class has samples on one side only."""
        known = np.any([n.sum(axis=1) > 0 for n in self.samples], axis=0)
        return len(self.shared) < int(known.sum())

    @property
    def equal_shares(self) -> FloatArray:
        """Label shares that are fair to both sides, for the shared classes.

        The weights of Mantel and Haenszel: a class that one side hardly has says little.
        """
        first, second = (samples.sum(axis=1)[self.shared] for samples in self.samples)
        weights: FloatArray = first * second / (first + second)
        return weights / weights.sum()

    def accuracy_by_shares(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the accuracy of both at the label shares of the first, and of the second.

        Of the classes with samples on both sides.
        """
        recalls = [_rates(cells).diagonal()[self.shared] for cells in self._both]
        found = []
        for cells in self._both:
            labels = cells.values.sum(axis=1)[self.shared]
            values = [float(labels @ recall / max(labels.sum(), 1e-300)) for recall in recalls]
            found.append((values[0], values[1]))
        return found[0], found[1]

    def accuracy_at_equal_shares(self, level: float) -> ScoreDifference:
        """Return the recalls of both, weighted by the same label shares; NaN without any."""
        return self._mean_recall(self.equal_shares, level)

    def balanced_accuracy(self, level: float) -> ScoreDifference:
        """Return the balanced accuracy of both, over the classes with samples on both sides.

        A mean over other classes would be another score. NaN without any such class.
        """
        return self._mean_recall(np.full(len(self.shared), 1 / max(len(self.shared), 1)), level)

    def _mean_recall(self, weights: FloatArray, level: float) -> ScoreDifference:
        """Return a weighted mean of the recalls of the shared classes."""
        if not len(self.shared):
            return ScoreDifference(*[float("nan")] * 6)
        places = self.shared[None, :]
        return _difference(self.combined(places, places, weights[None, :]), level)

    @property
    def recall_shares(self) -> Proportions:
        """The recalls of the shared classes, one by one."""
        places = self.shared[:, None]
        return self.combined(places, places, np.ones(places.shape))

    def recalls(self, level: float) -> RecallDifferences:
        """Return the recall of every class, with an interval and a test each."""
        first, second = (_rates(cells).diagonal().copy() for cells in self._both)
        low, high = np.full((2, len(first)), np.nan)
        low[self.shared], high[self.shared] = self.recall_shares.limits(
            float(ndtri(0.5 + level / 2))
        )
        p_values = self._recall_tests()
        # What the exact test does not rule out, the interval holds.
        is_open = p_values >= 1 - level
        low[is_open], high[is_open] = np.minimum(low[is_open], 0), np.maximum(high[is_open], 0)
        known = ~np.isnan(p_values)
        p_values[known] = holm(p_values[known])
        return RecallDifferences(first, second, second - first, low, high, p_values)

    @property
    def is_same(self) -> bool:
        """Whether both predict the same for every sample, where the samples are paired."""
        return self.agreed is not None and all(
            np.array_equal(cells.values, self.agreed) for cells in self._both
        )

    @property
    def samples(self) -> tuple[FloatArray, FloatArray]:
        """Effective numbers of samples of both, cell by cell."""
        first, second = (cells.values / row_units(cells) for cells in self._both)
        return first, second

    def combined(
        self, rows: NDArray[np.intp], columns: NDArray[np.intp], weights: FloatArray
    ) -> Proportions:
        """Return weighted means of shares of true classes, in both matrices.

        All of shape (n_means, n_shares): each share is that of the samples of a row which are in
        this column; the weights of a mean sum to one.
        """
        shares = [_rates(cells)[rows, columns] for cells in self._both]
        n = [self._samples(cells)[rows] for cells in self._both]
        correlation, moved = np.zeros(len(rows)), None
        if self.agreed is not None:
            one, other = shares
            moved = (self.first.values + self.second.values - 2 * self.agreed)[rows, columns]
            together = self.agreed[rows, columns] / n[0] - one * other
            correlation = _correlation(
                *(
                    (weights**2 * x / n[0]).sum(axis=-1)
                    for x in (together, one * (1 - one), other * (1 - other))
                )
            )
        first, second = (MeanShares(s, m, weights) for s, m in zip(shares, n, strict=True))
        return Proportions((first, second), correlation, moved)

    @property
    def _both(self) -> tuple[Cells, Cells]:
        return self.first, self.second

    @staticmethod
    def _samples(cells: Cells) -> FloatArray:
        return effective_samples(cells.values.sum(axis=1), cells.variances.sum(axis=1))

    def _recall_tests(self) -> FloatArray:
        """Return two-sided p-values of equal recalls, each class by itself."""
        first, second = (_rates(cells).diagonal() for cells in self._both)
        known = ~np.isnan(first + second)
        result = np.full(len(first), np.nan)
        if self.agreed is not None:
            result[known] = mcnemar(*self._only_right(), mid_p=False)[known]
            return result
        n = [np.rint(self._samples(cells)[known]) for cells in self._both]
        hits = [np.rint(r[known] * m) for r, m in zip((first, second), n, strict=True)]
        result[known] = fisher(*hits, *n)
        return result

    def _only_right(self) -> tuple[FloatArray, FloatArray]:
        """Return the samples of each class that only the first model, only the second got right."""
        assert self.agreed is not None
        both = self.agreed.diagonal()
        return self.first.values.diagonal() - both, self.second.values.diagonal() - both


def tango(
    gained: FloatArray, lost: FloatArray, n: FloatArray, z: float
) -> tuple[FloatArray, FloatArray]:
    """Return Tango's score interval (1998) of the change of a proportion of paired samples.

    Of the ``n`` samples some are counted after and not before (gained), others the reverse (lost).

    Examples
    --------
    >>> low, high = tango(np.array([2.0]), np.array([10.0]), np.array([50.0]), 1.959964)
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (-0.301, -0.028)
    """
    change = (gained - lost) / n

    def is_inside(delta: FloatArray) -> NDArray[np.bool_]:
        b = -gained - lost + (2 * n - gained + lost) * delta
        root = np.sqrt(np.maximum(b**2 + 8 * n * lost * delta * (1 - delta), 0.0))
        variance = n * ((root - b) / (2 * n) + delta * (1 - delta))
        away = np.abs(gained - lost - n * delta)
        return np.asarray(away <= z * np.sqrt(np.maximum(variance, 0.0)))

    ends = []
    for side in (-1.0, 1.0):
        inside, outside = change, np.full_like(change, side)
        for _ in range(60):
            middle = (inside + outside) / 2
            is_in = is_inside(middle)
            inside, outside = np.where(is_in, middle, inside), np.where(is_in, outside, middle)
        ends.append(inside)
    return ends[0], ends[1]


def mcnemar(first_only: FloatArray, second_only: FloatArray, *, mid_p: bool = True) -> FloatArray:
    """Return McNemar's exact test, two-sided, by default as a mid-p.

    Examples
    --------
    >>> round(float(mcnemar(np.array(10), np.array(2))), 4)
    0.0225
    """
    from scipy.stats import binom

    fewer, total = np.minimum(first_only, second_only), first_only + second_only
    tail = binom.cdf(fewer, total, 0.5)
    if mid_p:
        tail = tail - 0.5 * binom.pmf(fewer, total, 0.5)
    return np.asarray(np.where(first_only == second_only, 1.0, np.minimum(2 * tail, 1.0)))


def fisher(
    first_hits: FloatArray, second_hits: FloatArray, first_n: FloatArray, second_n: FloatArray
) -> FloatArray:
    """Return Fisher's exact test of equal shares, two-sided: twice the smaller tail.

    Not as a mid-p: among many classes the smallest counts, and there a mid-p is up to twice too
    small.
    """
    from scipy.stats import hypergeom

    tails = []
    for mine, of, rest in ((first_hits, first_n, second_n), (second_hits, second_n, first_n)):
        law = hypergeom(of + rest, first_hits + second_hits, of)
        tails.append(law.sf(mine - 1))
    return np.asarray(np.minimum(2 * np.minimum(*tails), 1.0))


def _rates(cells: Cells) -> FloatArray:
    """Return the share of each prediction in every true class; NaN for classes without samples."""
    n = cells.values.sum(axis=1, keepdims=True)
    return np.divide(cells.values, n, out=np.full_like(cells.values, np.nan), where=n > 0)


def _correlation(together: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the correlation for a covariance and two variances; 0 without spread."""
    spread = np.sqrt(first * second)
    return np.divide(together, spread, out=np.zeros_like(spread), where=spread > 0)


def share_difference(
    shares: Sequence[ArrayLike], samples: Sequence[ArrayLike], level: float
) -> ScoreDifference:
    """Return how two independent shares of so many samples each differ, second minus first.

    Examples
    --------
    >>> found = share_difference((0.1, 0.3), (100, 100), 0.95)
    >>> round(found.difference, 3), found.low > 0, found.p_value < 0.001
    (0.2, True, True)
    """
    return _difference(Proportions(_singles(shares, samples), np.zeros(1)), level)


def _difference(proportions: Proportions, level: float) -> ScoreDifference:
    first, second = (float(values[0]) for values in proportions.values)
    if not np.isfinite(second - first):
        return ScoreDifference(first, second, *[float("nan")] * 4)
    low, high = (float(end[0]) for end in proportions.limits(float(ndtri(0.5 + level / 2))))
    p_value = proportions.p_value()
    if not low <= 0 <= high and p_value >= 1 - level:
        # What the test does not rule out, the interval holds.
        low, high = min(low, 0.0), max(high, 0.0)
    return ScoreDifference(first, second, second - first, low, high, p_value)


def _singles(
    shares: Sequence[ArrayLike], samples: Sequence[ArrayLike]
) -> tuple[MeanShares, MeanShares]:
    """Return one share of each side, seen in so many samples."""
    one = np.ones((1, 1))
    first, second = (
        MeanShares(one * np.asarray(share), one * np.asarray(n), one)
        for share, n in zip(shares, samples, strict=True)
    )
    return first, second
