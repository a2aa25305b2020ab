r"""Fit two tables that differ by label shares and prediction bias alone; give residuals.

If two count tables have the same bi-normalized matrix, then a sample of cell :math:`(i, j)` is one
of the first table with odds :math:`a_i b_j`: a logistic regression with an effect of the row and
one of the column. What the fit leaves over, in units of its own spread, says where the two differ,
without epsilon and without a draw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import betainc, expit, ndtr

from deconfuse.statistics.cells import gamma_tail

__all__ = ["LEAST_FREEDOM", "NullFit", "SimilarityTest", "fit_null"]

FloatArray = NDArray[np.float64]
PlaceArray = NDArray[np.intp]

_RIDGE = 1e-3
_NEWTON_STEPS = 40
#: A cell that keeps less than this share of its spread is fixed by the margins.
LEAST_FREEDOM = 1e-3
_LEAST_VARIANCE = 1e-9
_LARGEST_PART = 0.9
# Hits with less spread than this (in samples squared) cannot differ.
_LEAST_HITS = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class NullFit:
    """Two tables, cell by cell where either has a sample, and what is expected of the first.

    Attributes
    ----------
    cells : ndarray of int of shape (n_cells,)
        Flat places of the cells.
    first, total : ndarray of shape (n_cells,)
        Counts of the first table and of both.
    share : ndarray of shape (n_cells,)
        Fitted share of the first table.
    freedom : ndarray of shape (n_cells,)
        Which part of a cell's spread the fit leaves: one minus its leverage.
    is_hit : ndarray of bool of shape (n_cells,)
    hit_variance : float
        Of the hits of the first table, given the margins.
    """

    cells: PlaceArray
    first: FloatArray
    total: FloatArray
    share: FloatArray
    freedom: FloatArray
    is_hit: NDArray[np.bool_]
    hit_variance: float

    @property
    def expected(self) -> FloatArray:
        """The most likely first table with these margins."""
        return self.total * self.share

    def test(self) -> SimilarityTest:
        r"""Return the test of every cell and of all of them.

        Notes
        -----
        A cell is tested by the binomial law of its residual (mid-p), with as many samples as the
        fit leaves it. All cells are tested by three statistics: the sum of Pearson's squares with
        Farrington's correction, against the gamma law of its moments; the smallest p-value of a
        cell, corrected for the cells that could have a small one (Tarone 1990); and the difference
        of the hits. Their p-values are combined by Cauchy's law (Liu and Xie 2020).
        """
        variance = self.total * self.share * (1 - self.share)
        residual = self.first - self.expected
        tested = (self.freedom > LEAST_FREEDOM) & (variance > _LEAST_VARIANCE) & (self.total >= 1)
        n = np.where(tested, self.total * self.freedom, 1.0)
        share = np.where(tested, self.share, 0.5)
        seen = np.clip(np.where(tested, share * n + residual, 0.5), 0.0, n)
        tails = np.minimum(_upper_tail(seen, n, share), _upper_tail(n - seen, n, 1 - share))
        p_values = np.where(tested, np.minimum(2 * tails, 1.0), 1.0)
        least = np.where(tested, np.minimum(share**n, (1 - share) ** n), 1.0)
        n_tests = _countable(least[tested])
        smallest = min(1.0, n_tests * float(least.min(initial=1.0)))
        parts = np.array(
            [
                self._sum_test(residual, variance),
                min(1.0, n_tests * float(p_values.min(initial=1.0))),
                self._hit_test(residual),
            ]
        )
        # A corrected p-value of one says that there is no sign of a difference, not the opposite of
        # a sign: unbounded, it would outweigh the two others.
        spread = np.tan((0.5 - np.clip(parts, 1e-15, _LARGEST_PART)) * np.pi).mean()
        overall = float(0.5 - np.arctan(spread) / np.pi) if (parts < 1).any() else 1.0
        return SimilarityTest(
            overall, min(smallest, overall), p_values, np.minimum(n_tests * p_values, 1.0)
        )

    def _sum_test(self, residual: FloatArray, variance: FloatArray) -> float:
        used = variance > _LEAST_VARIANCE
        skew = (1 - 2 * self.share[used]) * residual[used]
        squares = ((residual[used] ** 2 - skew) / variance[used]).sum()
        bound = 1 - 1 / np.maximum(self.total[used], 1.0)
        mean = float((1 - (1 - self.freedom[used]) * bound).sum())
        spread = float(2 * (bound * self.freedom[used] ** 2).sum())
        if spread <= 0.5 or mean <= 0:
            return 1.0
        return gamma_tail(squares, mean, spread)

    def _hit_test(self, residual: FloatArray) -> float:
        if self.hit_variance <= _LEAST_HITS:
            return 1.0
        away = abs(float(residual[self.is_hit].sum()))
        return float(2 * ndtr(-away / np.sqrt(self.hit_variance)))


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityTest:
    """Tests of two tables: of all cells together, and of each.

    Attributes
    ----------
    p_value : float
        Of no difference in any cell.
    smallest : float
        The smallest one that samples with these margins could have given.
    raw, corrected : ndarray of shape (n_cells,) or (n_classes, n_classes)
        P-values of the cells, each for itself and corrected for their number.
    """

    p_value: float
    smallest: float
    raw: FloatArray
    corrected: FloatArray


def fit_null(first: NDArray[np.int64], second: NDArray[np.int64]) -> NullFit:
    """Fit two square tables that differ by the factors of their rows and columns alone."""
    n_classes = len(first)
    cells = np.flatnonzero(first + second)
    mine = first.ravel()[cells].astype(np.float64)
    total = mine + second.ravel()[cells]
    rows, columns = cells // n_classes, cells % n_classes
    share = _shares(mine, total, rows, columns + n_classes, 2 * n_classes)
    weights = total * share * (1 - share)
    freedom, hit_variance = _leverage(weights, rows, columns, n_classes)
    return NullFit(cells, mine, total, share, freedom, rows == columns, hit_variance)


def _shares(
    first: FloatArray, total: FloatArray, rows: PlaceArray, columns: PlaceArray, size: int
) -> FloatArray:
    """Return the fitted share of the first table; a little ridge keeps effects finite."""

    def margins(values: FloatArray) -> FloatArray:
        by_row = np.bincount(rows, values, minlength=size)
        return np.asarray(by_row + np.bincount(columns, values, minlength=size))

    seen = margins(first)
    effects = np.zeros(size)
    for _ in range(_NEWTON_STEPS):
        share = expit(effects[rows] + effects[columns])
        weights = total * share * (1 - share)
        gradient = seen - margins(total * share) - _RIDGE * effects
        diagonal = margins(weights) + _RIDGE

        def times(vector: FloatArray, weights: FloatArray = weights) -> FloatArray:
            return margins(weights * (vector[rows] + vector[columns])) + _RIDGE * vector

        hessian = LinearOperator((size, size), matvec=times, dtype=np.float64)
        jacobi = LinearOperator(hessian.shape, matvec=lambda v, d=diagonal: v / d, dtype=np.float64)
        step, _ = cg(hessian, gradient, rtol=1e-6, maxiter=300, M=jacobi)
        largest = float(np.abs(step).max())
        effects += step * min(1.0, 4.0 / max(largest, 1e-300))
        if largest < 1e-7:
            break
    return np.asarray(expit(effects[rows] + effects[columns]))


def _leverage(
    weights: FloatArray, rows: PlaceArray, columns: PlaceArray, n_classes: int
) -> tuple[FloatArray, float]:
    """Return which part of each cell's spread the fit leaves, and the spread of the hits.

    With the blocks of the inverse of the fit's information, the rows eliminated.
    """
    table = np.zeros((n_classes, n_classes))
    table[rows, columns] = weights
    by_row, by_column = table.sum(axis=1) + _RIDGE, table.sum(axis=0) + _RIDGE
    relative = table / by_row[:, None]
    column_block = np.linalg.inv(np.diag(by_column) - table.T @ relative)
    cross = -relative @ column_block
    row_diagonal = 1 / by_row - (cross * relative).sum(axis=1)
    spread = row_diagonal[rows] + 2 * cross[rows, columns] + column_block.diagonal()[columns]
    freedom = np.clip(1 - weights * spread, 0.0, 1.0)
    hits = table.diagonal()
    fixed = (hits**2 / by_row).sum() - (hits @ cross) @ (relative.T @ hits)
    fixed += 2 * hits @ cross @ hits + hits @ column_block @ hits
    return freedom, float(hits.sum() - fixed)


def _upper_tail(seen: FloatArray, n: FloatArray, share: FloatArray) -> FloatArray:
    """Return how likely it is to have more than was seen, or as much, counted half."""
    tiny = np.finfo(float).tiny
    reached = np.where(seen > 0, betainc(np.maximum(seen, tiny), n - seen + 1, share), 1.0)
    passed = np.where(n > seen, betainc(seen + 1, np.maximum(n - seen, tiny), share), 0.0)
    return np.asarray((reached + passed) / 2)


def _countable(least: FloatArray) -> int:
    """Return for how many tests to correct: those whose p-value could be small enough."""
    ordered = np.sort(least)
    enough = ordered < 0.05 / np.arange(1, len(ordered) + 1)
    return max(1, int(np.argmin(enough)) if not enough.all() else len(ordered))
