r"""Test and bound sums of independent shares, one share per row, by the score method.

A column sum of a row-normalized matrix is :math:`S = \sum_i x_i / n_i` with independent binomial
:math:`x_i`. If its mean were :math:`\theta = \sum_i p_i`, the likeliest :math:`p` would solve

.. math:: \frac{x_i}{p_i} - \frac{n_i - x_i}{1 - p_i} = \lambda

with one :math:`\lambda` for all rows. Then :math:`S - \theta = \lambda V` with
:math:`V = \sum_i p_i (1 - p_i) / n_i`, so the score statistic is :math:`z = \lambda \sqrt V`:
everything is a function of one number a column. The variance is that under the hypothesis, so it
does not vanish where only zeros were seen. It is enlarged by what fitting the shares takes from it
(for two rows of equal size as by Miettinen and Nurminen, "Comparative analysis of two rates",
Statistics in Medicine 4, 1985). The skewness of :math:`S` is taken into account as by Laud,
"Equal-tailed confidence intervals for comparison of rates", Pharmaceutical Statistics 16, 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

__all__ = ["ShareSums"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
PlaceArray = NDArray[np.intp]

_STEPS = 100
# Columns that are found are left out when less than this share of them is still open.
_FEWER = 0.8
_TOLERANCE = 1e-6
_LONGEST_STEP, _LONGEST_WAY = 3.0, 300.0
# Three moments do not say more of a distribution than this.
_MOST_SKEWED = 2.0
# On the short side the correction is followed as far as a Poisson number has room, to zero.
_ROOM = float(3 * (1 - np.sqrt(1 / 3)))


@dataclass(frozen=True, eq=False)
class ShareSums:
    """Sums over all rows of the shares of each column.

    Attributes
    ----------
    columns : ndarray of int of shape (n_cells,)
        Where cells with samples are.
    hits, sizes : ndarray of shape (n_cells,)
        Their samples, and those of their row, in effective numbers.
    row_sizes : ndarray of shape (n_cells,)
        What the size of a cell in their row would be if it had no samples.
    rows : ndarray of shape (n_rows,)
        Samples of every row, ascending.
    n_columns : int
    """

    columns: NDArray[np.intp]
    hits: FloatArray
    sizes: FloatArray
    row_sizes: FloatArray
    rows: FloatArray
    n_columns: int

    @property
    def sums(self) -> FloatArray:
        """The sums seen."""
        return self._by_column(self.hits / self.sizes)

    def p_values(self, theta: float) -> FloatArray:
        """Return two-sided p-values of means of the sums that are all ``theta``."""
        away = self.sums - theta
        sign = np.where(away < 0, -1.0, 1.0)
        differs = np.abs(away) > 1e-12
        goal = np.log(np.where(differs, np.abs(away), 1.0))

        def gap(part: ShareSums, chosen: PlaceArray, size: FloatArray) -> FloatArray:
            plain, _, _ = part._moments(sign[chosen] * size)
            return np.where(differs[chosen], np.log(size) + _log(plain) - goal[chosen], 0.0)

        size = self._root(gap, goal - _log(self._usual_variances), sign < 0)
        plain, variance, third = self._moments(sign * size)
        score = size * plain / np.sqrt(np.maximum(variance, 1e-300))
        deviate = _normal_deviate(score, sign * _skew(variance, third))
        return np.where(differs, np.minimum(2 * ndtr(-deviate), 1.0), 1.0)

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the means of the sums that are not rejected, from the lowest to the highest."""
        z = float(ndtri(0.5 + level / 2))
        sums = self.sums
        low, high = (sums - self._distance(sign, z) for sign in (1.0, -1.0))
        return np.maximum(low, 0.0), np.minimum(high, len(self.rows))

    def _distance(self, sign: float, z: float) -> FloatArray:
        """Return how far above the lowest mean the sums are, or below the highest for sign -1."""
        # A column without samples has no lower end, one with all samples no higher end.
        has_end = self.sums > 0 if sign > 0 else self.sums < len(self.rows) - 1e-12

        def gap(part: ShareSums, chosen: PlaceArray, size: FloatArray) -> FloatArray:
            plain, variance, third = part._moments(sign * size)
            goal = _skewed_deviate(z, sign * _skew(variance, third))
            reached = np.log(size) + _log(plain) - _log(variance) / 2 - np.log(goal)
            return np.where(has_end[chosen], reached, 0.0)

        upward = np.full(self.n_columns, sign < 0)
        slope = sign * self._root(gap, np.log(z) - _log(self._usual_variances) / 2, upward)
        return np.where(has_end, slope * self._moments(slope)[0], 0.0)

    def _root(
        self,
        gap: Callable[[ShareSums, PlaceArray, FloatArray], FloatArray],
        start: FloatArray,
        upward: BoolArray,
    ) -> FloatArray:
        """Return the size of slope where an increasing function, one for each column, is zero.

        By secants in a bracket, from the logarithms of sizes ``start`` on. Columns whose root is
        found cost nothing more.

        Functions of ``upward`` slopes bend at the size of the smallest row: above it, rows without
        samples count. Roots up there are looked for by the logarithm of the size minus that row's.
        """
        part, columns = self, np.arange(self.n_columns)
        least = np.zeros(self.n_columns)
        if upward.any():
            smallest = np.full(self.n_columns, self.rows[0])
            least[upward & (gap(self, columns, smallest) < 0)] = self.rows[0]
        sizes = np.exp(np.clip(start, -_LONGEST_WAY, _LONGEST_WAY))
        root = np.log(np.maximum(sizes - least, least / 100))
        at, value = root, gap(part, columns, least + np.exp(root))
        # Just above that bend functions hardly move.
        flattest = np.where(least > 0, 1e-9, 0.05)
        # A bracket far wider than needed, but finite.
        low, high = np.full_like(at, -_LONGEST_WAY), np.full_like(at, _LONGEST_WAY)
        slope, before = np.ones_like(at), np.full_like(at, np.inf)
        for _ in range(_STEPS):
            low, high = np.where(value < 0, at, low), np.where(value >= 0, at, high)
            step = np.clip(-value / slope, -_LONGEST_STEP, _LONGEST_STEP)
            is_open = np.minimum(np.abs(step), high - low) >= _TOLERANCE
            root[columns] = at
            if not is_open.any():
                break
            if np.count_nonzero(is_open) < _FEWER * len(columns):
                part, columns = part._only(is_open), columns[is_open]
                state = at, value, low, high, slope, step, before
                at, value, low, high, slope, step, before = (each[is_open] for each in state)
            moved = at + step
            # Where the function bends, secants come from one side and hardly get closer.
            is_slow = (2 * np.abs(value) > before) & (high - low < _LONGEST_STEP)
            np.copyto(moved, (low + high) / 2, where=(moved < low) | (moved > high) | is_slow)
            before = np.abs(value)
            fresh = gap(part, columns, least[columns] + np.exp(moved))
            with np.errstate(divide="ignore", invalid="ignore"):
                secant = (fresh - value) / (moved - at)
            slope = np.where(np.isfinite(secant) & (secant > flattest[columns]), secant, slope)
            at, value = moved, fresh
        return least + np.exp(root)

    def _only(self, chosen: BoolArray) -> ShareSums:
        """Return the same for some columns."""
        kept = chosen[self.columns]
        return ShareSums(
            columns=(np.cumsum(chosen) - 1)[self.columns[kept]],
            hits=self.hits[kept],
            sizes=self.sizes[kept],
            row_sizes=self.row_sizes[kept],
            rows=self.rows,
            n_columns=int(chosen.sum()),
        )

    @property
    def _usual_variances(self) -> FloatArray:
        """Variances at the shares seen, good enough to start from."""
        share = self.hits / self.sizes
        variance = self._by_column(share * (1 - share) / self.sizes)
        return np.where(variance > 0, variance, 0.25 / self.rows[0])

    def _moments(self, slope: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return V, the variance and the third moment of all sums, for one slope a column.

        The variance is V as it would be without the bias of shares that are fitted to few samples.
        """
        share = _likeliest_shares(self.hits, self.sizes, slope[self.columns])
        plain = share * (1 - share) / self.sizes
        variance = self._unbiased(self.sizes) * plain
        parts = [plain, variance, variance * (1 - 2 * share) / self.sizes]
        upward = np.maximum(-slope, 0.0)
        if not (upward > self.rows[0]).any():
            return _three(self._by_column(part) for part in parts)
        # Rows without a sample in a column are likeliest to have a share there if they are small.
        not_zero = self._zero_moments(upward[self.columns])
        rest = self._all_zero_moments(upward)
        return _three(
            self._by_column(part - minus) + plus
            for part, minus, plus in zip(parts, not_zero, rest, strict=True)
        )

    def _unbiased(self, sizes: FloatArray) -> FloatArray:
        """Return by how much variances of fitted shares are too small, on average.

        With n samples p (1 - p) is too small by n / (n - 1), and one number of all is given.
        """
        return 1 / np.maximum(1 - (1 - 1 / len(self.rows)) / sizes, 0.5)

    def _zero_moments(self, upward: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the moments that cells with samples would have without: shares 1 - n / upward."""
        with np.errstate(divide="ignore"):
            share = np.maximum(1 - self.row_sizes / upward, 0.0)
        plain = share * (1 - share) / self.row_sizes
        variance = self._unbiased(self.row_sizes) * plain
        return plain, variance, variance * (1 - 2 * share) / self.row_sizes

    def _all_zero_moments(self, upward: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return moments of columns without any sample: sums over rows smaller than a bound."""
        n_smaller = np.searchsorted(self.rows, upward)
        once, size, *sums = self._sums_of_smaller[:, n_smaller]
        bound = np.where(n_smaller > 0, upward, 1.0)
        return (
            (once - size / bound) / bound,
            (sums[0] - sums[1] / bound) / bound,
            3 * sums[0] / bound**2 - 2 * sums[1] / bound**3 - sums[2] / bound,
        )

    @cached_property
    def _sums_of_smaller(self) -> FloatArray:
        """Sums over the first rows, for each number of them."""
        rows, factor = self.rows, self._unbiased(self.rows)
        summed = np.array([rows**0, rows, factor, factor * rows, factor / rows])
        return np.pad(np.cumsum(summed, axis=1), ((0, 0), (1, 0)))

    def _by_column(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.columns, values, minlength=self.n_columns))


def _likeliest_shares(hits: FloatArray, sizes: FloatArray, slope: FloatArray) -> FloatArray:
    """Return p of x / p - (n - x) / (1 - p) = slope, for x > 0."""
    middle = sizes + slope
    root = np.sqrt(np.maximum(middle**2 - 4 * slope * hits, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Two forms of the same root of a quadratic, each without a difference of like numbers.
        return np.asarray(
            np.where(middle > 0, 2 * hits / (middle + root), (middle - root) / (2 * slope))
        )


def _three(parts: Iterable[FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
    plain, variance, third = parts
    return np.maximum(plain, 0.0), np.maximum(variance, 0.0), third


def _skew(variance: FloatArray, third: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        skew = np.nan_to_num(third / variance**1.5)
    return np.clip(skew, -_MOST_SKEWED, _MOST_SKEWED)


def _skewed_deviate(z: float, skew: FloatArray) -> FloatArray:
    """Return which deviate of a skewed sum is as rare as ``z`` of a normal one (Cornish, Fisher).

    For negative skew, that is on the short side, only as far as the formula increases.
    """
    room = _ROOM / np.maximum(-skew, 1e-300)
    followed = np.minimum(z, room)
    return np.maximum(followed + skew * (followed**2 - 1) / 6 + (z - followed), z / 4)


def _normal_deviate(z: FloatArray, skew: FloatArray) -> FloatArray:
    """Return the inverse of `_skewed_deviate`."""
    room = _ROOM / np.maximum(-skew, 1e-300)
    last = room + skew * (np.minimum(room, 1e100) ** 2 - 1) / 6
    small = np.abs(skew) < 1e-6
    safe = np.where(small, 1.0, skew)
    followed = np.minimum(z, np.where(skew < -1e-6, last, np.inf))
    inside = np.sqrt(np.maximum(1 + 2 * safe / 3 * (followed + safe / 6), 0.0))
    return np.where(small, z, (inside - 1) * 3 / safe + (z - followed))


def _log(values: FloatArray) -> FloatArray:
    return np.log(np.maximum(values, 1e-300))
