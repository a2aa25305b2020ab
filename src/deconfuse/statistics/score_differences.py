"""Is the second of two matrices better or worse? Accuracy, balanced accuracy, recalls and pairs.

All differences are the second minus the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betainc
from scipy.stats import binom, hypergeom, norm

from deconfuse.statistics.cells import Cells, holm
from deconfuse.statistics.metrics import effective_samples, mixed_samples, wilson

__all__ = ["RecallDifferences", "ScoreDifference", "Scores", "share_difference"]

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
    p_values : ndarray of shape (n_classes,)
        Of no difference, corrected for the number of classes by Holm's method. Exact: Fisher's
        test, or McNemar's for paired samples, both as mid-p.
    """

    first: FloatArray
    second: FloatArray
    difference: FloatArray
    p_values: FloatArray

    def __post_init__(self) -> None:
        for array in (self.first, self.second, self.difference, self.p_values):
            array.flags.writeable = False


@dataclass(frozen=True, slots=True, eq=False)
class _Proportions:
    """Proportions of both matrices, the samples behind them, and how far they move together."""

    values: tuple[FloatArray, FloatArray]
    samples: tuple[FloatArray, FloatArray]
    correlation: FloatArray

    def limits(self, z: float) -> tuple[FloatArray, FloatArray]:
        """Return the interval of second minus first (Newcombe 1998, hybrid score)."""
        (first, second), rho = self.values, self.correlation
        ends = [wilson(v, n, z) for v, n in zip(self.values, self.samples, strict=True)]
        down, up = second - ends[1][0], ends[1][1] - second
        first_down, first_up = first - ends[0][0], ends[0][1] - first
        lower = np.sqrt(np.maximum(down**2 - 2 * rho * down * first_up + first_up**2, 0))
        upper = np.sqrt(np.maximum(up**2 - 2 * rho * up * first_down + first_down**2, 0))
        difference = second - first
        return difference - lower, difference + upper

    def p_value(self) -> float:
        """Return the p-value at which the interval of the only proportion begins to hold zero."""
        difference = float((self.values[1] - self.values[0])[0])

        def gap(z: float) -> float:
            return float(self.limits(z)[0 if difference > 0 else 1][0]) * np.sign(difference)

        if gap(_NEAREST) <= 0:
            return 1.0
        far = _FARTHEST if gap(_FARTHEST) >= 0 else brentq(gap, _NEAREST, _FARTHEST)
        return float(2 * norm.sf(far))


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
        """Return the accuracy of both: McNemar's mid-p where paired, else from the interval."""
        n = [np.array([cells.values.sum()]) for cells in self._both]
        values = [
            cells.values.diagonal().sum() / total
            for cells, total in zip(self._both, n, strict=True)
        ]
        samples = [
            effective_samples(total, np.array([cells.variances.sum()]))
            for cells, total in zip(self._both, n, strict=True)
        ]
        together = np.zeros(1)
        if self.agreed is not None:
            together = self.agreed.diagonal().sum() / n[0] - values[0] * values[1]
        correlation = _correlation(together, *(v * (1 - v) for v in values))
        result = _difference(_Proportions(_pair(values), _pair(samples), correlation), level)
        if self.agreed is None:
            return result
        p_value = mcnemar(*(only.sum() for only in self._only_right()))
        return ScoreDifference(
            result.first, result.second, result.difference, result.low, result.high, float(p_value)
        )

    def balanced_accuracy(self, level: float) -> ScoreDifference:
        """Return the balanced accuracy of both, over the classes with samples in each."""
        return _difference(self._mixed(None), level)

    def recalls(self) -> RecallDifferences:
        """Return the recall of every class, with a test each."""
        first, second = (_rates(cells).diagonal().copy() for cells in self._both)
        p_values = self._recall_tests()
        known = ~np.isnan(p_values)
        p_values[known] = holm(p_values[known])
        return RecallDifferences(first, second, second - first, p_values)

    def fallen_scores(self, margin: float, alpha: float) -> dict[str, tuple[float, float]]:
        """Return, before and after, the scores that surely fell by more than the margin."""
        z = float(norm.isf(alpha))
        n = [self._samples(cells) for cells in self._both]
        # The weights of Mantel and Haenszel: a class that one side hardly has says little.
        shared = np.divide(n[0] * n[1], n[0] + n[1], out=np.zeros_like(n[0]), where=n[0] > 0)
        mixed = {
            "Accuracy at equal label shares": self._mixed(shared),
            "Balanced accuracy": self._mixed(None),
        }
        return {
            name: (float(score.values[0][0]), float(score.values[1][0]))
            for name, score in mixed.items()
            if score.limits(z)[1][0] < -margin
        }

    def fallen_recalls(self, margin: float, alpha: float) -> dict[int, tuple[float, float]]:
        """Return the classes whose recall surely fell by more than the margin: before and after."""
        rates = [_rates(cells).diagonal() for cells in self._both]
        known = np.flatnonzero(~np.isnan(rates[0] + rates[1]))
        n = [self._samples(cells)[known] for cells in self._both]
        values = [rate[known] for rate in rates]
        together = np.zeros(len(known))
        if self.agreed is not None:
            together = self.agreed.diagonal()[known] / n[0] - values[0] * values[1]
        correlation = _correlation(together, *(v * (1 - v) for v in values))
        high = _Proportions(_pair(values), _pair(n), correlation).limits(
            float(norm.isf(alpha / max(len(known), 1)))
        )[1]
        # The exact test holds for few samples, where the interval is only nearly right.
        is_certain = self._recall_tests()[known] / 2 <= alpha / max(len(known), 1)
        return {
            int(known[k]): (float(values[0][k]), float(values[1][k]))
            for k in np.flatnonzero(is_certain & (high < -margin))
        }

    def risen_pairs(
        self, margin: float, alpha: float
    ) -> dict[tuple[int, int], tuple[float, float]]:
        """Return the pairs of classes that are surely confused more often: before and after.

        What rises is the mean of two shares: of the samples of one class taken for the other, and
        the reverse. So it does not depend on the label shares.
        """
        low, high = _confused_pairs(self.first.values, self.second.values, alpha)
        sides = []
        for cells in self._both:
            rates, n = _rates(cells), self._samples(cells)
            shares = np.stack([rates[low, high], rates[high, low]], axis=-1)
            sides.append((shares, np.stack([n[low], n[high]], axis=-1)))
        known = ~np.isnan(sides[0][0] + sides[1][0]).any(axis=-1)
        sides = [(shares[known], n[known]) for shares, n in sides]
        half = np.full(2, 0.5)
        values = [shares.mean(axis=-1) for shares, _ in sides]
        samples = [mixed_samples(shares, n, half) for shares, n in sides]
        correlation = np.zeros(len(values[0]))
        if self.agreed is not None:
            (one, n), (other, _) = sides
            both = np.stack([self.agreed[low, high], self.agreed[high, low]], axis=-1)[known]
            correlation = _correlation(
                ((both / n - one * other) / n).sum(axis=-1),
                *((share * (1 - share) / n).sum(axis=-1) for share in (one, other)),
            )
        proportions = _Proportions(_pair(values), _pair(samples), correlation)
        each = alpha / max(len(low), 1)
        is_certain = proportions.limits(float(norm.isf(each)))[0] > margin
        if self.agreed is None:
            # The exact test holds for few samples, where the interval is only nearly right.
            is_certain &= _more_tests(*sides) <= each
        low, high = low[known], high[known]
        return {
            (int(low[k]), int(high[k])): (float(values[0][k]), float(values[1][k]))
            for k in np.flatnonzero(is_certain)
        }

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
            result[known] = mcnemar(*self._only_right())[known]
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

    def _mixed(self, weights: FloatArray | None) -> _Proportions:
        """Return the mean recall of both; with weights, over the classes that both have."""
        rates = [_rates(cells).diagonal() for cells in self._both]
        n = [self._samples(cells) for cells in self._both]
        known = [~np.isnan(rate) for rate in rates]
        if weights is not None:
            known = [known[0] & known[1]] * 2
        if not all(part.any() for part in known):
            nothing = np.full(1, np.nan)
            return _Proportions((nothing, nothing), (nothing, nothing), np.zeros(1))
        shares = []
        for part in known:
            raw = np.where(part, 1.0 if weights is None else weights, 0.0)
            shares.append(raw / raw.sum())
        values, samples = [], []
        for rate, size, part, share in zip(rates, n, known, shares, strict=True):
            # From the errors: without any, rounding must not make it more than one.
            values.append(np.clip([1.0 - (1.0 - rate[part]) @ share[part]], 0.0, 1.0))
            samples.append(mixed_samples(rate[part], size[part], share[part])[None])
        correlation = np.zeros(1)
        if self.agreed is not None:
            part, share = known[0], shares[0][known[0]]
            one, other, size = rates[0][part], rates[1][part], n[0][part]
            together = self.agreed.diagonal()[part] / size - one * other
            correlation = _correlation(
                *(
                    np.array([(share**2 * x / size).sum()])
                    for x in (together, one * (1 - one), other * (1 - other))
                )
            )
        return _Proportions(_pair(values), _pair(samples), correlation)


def mcnemar(first_only: FloatArray, second_only: FloatArray) -> FloatArray:
    """Return McNemar's exact test as a two-sided mid-p.

    Examples
    --------
    >>> round(float(mcnemar(np.array(10), np.array(2))), 4)
    0.0225
    """
    fewer, total = np.minimum(first_only, second_only), first_only + second_only
    tail = binom.cdf(fewer, total, 0.5) - 0.5 * binom.pmf(fewer, total, 0.5)
    return np.asarray(np.where(first_only == second_only, 1.0, np.minimum(2 * tail, 1.0)))


def fisher(
    first_hits: FloatArray, second_hits: FloatArray, first_n: FloatArray, second_n: FloatArray
) -> FloatArray:
    """Return Fisher's exact test of equal shares as a two-sided mid-p: twice the smaller tail."""
    tails = []
    for mine, of, rest in ((first_hits, first_n, second_n), (second_hits, second_n, first_n)):
        law = hypergeom(of + rest, first_hits + second_hits, of)
        tails.append(law.sf(mine) + 0.5 * law.pmf(mine))
    return np.asarray(np.minimum(2 * np.minimum(*tails), 1.0))


def _confused_pairs(
    first: FloatArray, second: FloatArray, alpha: float
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs of classes with so many confusions that a rise could be certain.

    Of k confusions in both matrices together, all are in the second with probability e**k, if e is
    its share of the samples. A pair for which this is not small needs no correction (Tarone 1990).
    """
    low, high = np.triu_indices(len(first), 1)
    both = first + second
    confused = (both + both.T)[low, high]
    n = [counts.sum(axis=1)[low] + counts.sum(axis=1)[high] for counts in (both, second)]
    share = np.divide(n[1], n[0], out=np.ones_like(n[0]), where=n[0] > 0)
    surprise = np.where(confused > 0, -confused * np.log(np.maximum(share, 1e-300)), 0.0)
    ordered = np.sort(surprise)[::-1]
    enough = ordered >= np.log(np.arange(1, len(ordered) + 1) / alpha)
    n_pairs = int(np.argmin(enough)) if not enough.all() else len(ordered)
    kept = np.argsort(-surprise, kind="stable")[:n_pairs]
    return low[kept], high[kept]


def _more_tests(
    first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """Return mid-p values of no rise of both shares of each pair, for shares and samples.

    Given the confusions of both matrices, those of the second are binomial with its share of the
    samples. Where this share differs between the two directions, their mean makes the spread a
    little too large, so the test stays valid.
    """
    confused = [(shares * n).sum(axis=-1) for shares, n in (first, second)]
    total = (first[0] * first[1] + second[0] * second[1]).sum(axis=-1)
    exposure = second[1] / (first[1] + second[1])
    expected = ((first[0] * first[1] + second[0] * second[1]) * exposure).sum(axis=-1)
    share = np.divide(expected, total, out=np.full_like(total, 0.5), where=total > 0)
    more = betainc(np.maximum(confused[1], 1e-300), confused[0] + 1, share)
    still_more = betainc(confused[1] + 1, np.maximum(confused[0], 1e-300), share)
    return np.asarray(
        (np.where(confused[1] > 0, more, 1.0) + np.where(confused[0] > 0, still_more, 0.0)) / 2
    )


def _rates(cells: Cells) -> FloatArray:
    """Return the share of each prediction in every true class; NaN for classes without samples."""
    n = cells.values.sum(axis=1, keepdims=True)
    return np.divide(cells.values, n, out=np.full_like(cells.values, np.nan), where=n > 0)


def _correlation(together: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the correlation for a covariance and two variances; 0 without spread."""
    spread = np.sqrt(first * second)
    return np.divide(together, spread, out=np.zeros_like(spread), where=spread > 0)


def share_difference(
    shares: tuple[float, float], samples: tuple[float, float], level: float
) -> ScoreDifference:
    """Return how two independent shares of so many samples each differ, second minus first.

    Examples
    --------
    >>> found = share_difference((0.1, 0.3), (100, 100), 0.95)
    >>> round(found.difference, 3), found.low > 0, found.p_value < 0.001
    (0.2, True, True)
    """
    values, sizes = (_pair([np.array([v]) for v in both]) for both in (shares, samples))
    return _difference(_Proportions(values, sizes, np.zeros(1)), level)


def _difference(proportions: _Proportions, level: float) -> ScoreDifference:
    first, second = (float(values[0]) for values in proportions.values)
    low, high = proportions.limits(float(norm.ppf(0.5 + level / 2)))
    p_value = proportions.p_value() if np.isfinite(second - first) else float("nan")
    return ScoreDifference(first, second, second - first, float(low[0]), float(high[0]), p_value)


def _pair(both: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    return both[0], both[1]
