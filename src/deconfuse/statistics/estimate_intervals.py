r"""Bi-normalize shrunk counts, with an interval for each cell.

The delta method: with independent noise in the counts, `Sensitivity` gives the variance of each
cell. It has two parts: the cell's own count, and the factors of its row and column. An interval for
a cell of few samples is right only where the first part is that of the count which was seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg
from scipy.stats import norm

from deconfuse.scaling.problem import bistochastic
from deconfuse.scaling.solve import solve
from deconfuse.statistics.luce import ShrunkCounts
from deconfuse.statistics.sensitivity import Sensitivity
from deconfuse.statistics.uncertainty import score_interval

__all__ = ["Balanced", "balance"]

FloatArray = NDArray[np.float64]

# Up to this number of classes the shrunk counts are scaled as a dense matrix.
_DENSE_CLASSES = 1024
# Shrinkage makes the factors of rows and columns, and the diagonal, less variable than the delta
# method says. This share of the variance gives intervals their coverage in
# `python -m benchmarks estimate`.
_SHARE = 0.85
# It also errs in the same direction for many classes: as if their hits were correlated this much.
_CORRELATION = 0.02


@dataclass(frozen=True, eq=False)
class Balanced:
    """A bi-normalized matrix ``left[i] * right[j] * (1 + excess[i, j])`` and its noise.

    Attributes
    ----------
    left, right : ndarray of shape (n_classes,)
    shrunk : ShrunkCounts
        What was bi-normalized; its ``excess`` is the one above.
    counts : csr_array of shape (n_classes, n_classes)
        The effective samples that were seen.
    uneven : csr_array of shape (n_classes, n_classes)
        By how much more than its effective samples a cell varies, relative to them.
    """

    left: FloatArray
    right: FloatArray
    shrunk: ShrunkCounts
    counts: sparse.csr_array
    uneven: sparse.csr_array

    @cached_property
    def matrix(self) -> FloatArray:
        """All cells, dense."""
        excess = self.shrunk.excess.toarray()
        return np.asarray((1.0 + excess) * self.left[:, None] * self.right)

    @property
    def diagonal(self) -> FloatArray:
        """The cells of correct predictions."""
        return np.asarray((1.0 + self.shrunk.excess.diagonal()) * self.left * self.right)

    def row(self, position: int) -> FloatArray:
        """Return the cells of one row."""
        excess = self.shrunk.excess[[position], :].toarray()[0]
        return np.asarray((1.0 + excess) * self.left[position] * self.right)

    def intervals(
        self, level: float, cells: Any = (slice(None), slice(None))
    ) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the intervals of all cells, or of those at an index."""
        matrix = self.matrix
        if len(matrix) == 1:
            # There is no other class to be taken for.
            return matrix[cells].copy(), matrix[cells].copy()
        factors = np.outer(self.left / self.shrunk.rows, self.right / self.shrunk.columns)
        noise = factors * (1.0 + self.uneven.toarray())
        sensitivity = Sensitivity.of(matrix)
        variances = sensitivity.variances(noise * matrix)
        seen = self.counts.toarray() * factors
        own = noise[cells] * sensitivity.own_effects[cells] ** 2
        low, high = _error_interval(
            matrix[cells], seen[cells], noise[cells], (own, variances[cells]), level
        )
        errors = 0.5 * (seen.sum(axis=0) + seen.sum(axis=1)) - seen.diagonal()
        hits = np.eye(len(matrix), dtype=bool)[cells]
        for end, diagonal in zip(
            (low, high),
            _hit_interval(matrix.diagonal(), errors, variances.diagonal(), level),
            strict=True,
        ):
            end[hits] = np.diag(diagonal)[cells][hits]
        return low, high

    def interval(self, i: int, j: int, level: float) -> tuple[float, float]:
        """Return the ends of the interval of one cell, at the cost of one sparse linear solve."""
        if len(self.left) == 1:
            return (float(self.diagonal[0]),) * 2
        left, right = self.left / self.shrunk.rows, self.right / self.shrunk.columns
        value, factor = float(self.row(i)[j]), float(left[i] * right[j])
        noise = factor * (1.0 + float(self.uneven[i, j]))
        unit = np.eye(1, len(left), i)[0], np.eye(1, len(left), j)[0]
        a, b = self._balancing(*unit)
        moved = float(a[i] + b[j])
        variance = noise * value * (1 - 2 * value * moved) + value**2 * self._spread(a, b)
        cell, variances = np.array([value]), np.array([max(variance, 0.0)])
        if i == j:
            row = float(self.counts[[i], :].toarray()[0] @ right) * left[i]
            column = float(self.counts[:, [j]].toarray()[:, 0] @ left) * right[j]
            errors = 0.5 * (row + column) - float(self.counts[i, j]) * factor
            low, high = _hit_interval(cell, np.array([errors]), variances, level)
        else:
            seen, own = float(self.counts[i, j]) * factor, noise * (1 - value * moved) ** 2
            low, high = _error_interval(
                cell, np.array([seen]), np.array([noise]), (np.array([own]), variances), level
            )
        return float(low[0]), float(high[0])

    def separability(self, level: float) -> tuple[float, float, float]:
        """Return the mean of the diagonal and its interval."""
        value = float(np.mean(self.diagonal))
        if len(self.left) == 1:
            return value, value, value
        variance = self._separability_variance() * (1.0 + _CORRELATION * len(self.left))
        low, high = score_interval(np.array([value]), np.array([variance]), np.ones(1), level)
        return value, float(low[0]), float(high[0])

    def _separability_variance(self) -> float:
        """Return the variance of the mean of the diagonal.

        Noise in cell (k, l) moves the sum of the diagonal by (k = l) - a_k - b_l times itself,
        where (a, b) solves the balancing equations of `Sensitivity` for the diagonal twice.
        """
        a, b = self._balancing(self.diagonal, self.diagonal)
        own = self.left**2 / self.shrunk.rows * self.right**2 / self.shrunk.columns
        own *= 1.0 + sparse.csr_array(self._noise_excess()).diagonal()
        total = self._spread(a, b) + float((own * (1 - 2 * (a + b))).sum())
        return max(total, 0.0) / len(self.left) ** 2

    def _balancing(self, rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve the balancing equations of `Sensitivity`: (a + B b, B^T a + b) is what is given."""
        size = len(rows)
        laplacian = LinearOperator(
            (size, size), matvec=lambda v: v - self.times(self.transposed_times(v)), dtype=float
        )
        a, _ = cg(laplacian, rows - self.times(columns), rtol=1e-8, atol=1e-13 * size)
        return a, columns - self.transposed_times(a)

    def _spread(self, a: FloatArray, b: FloatArray) -> float:
        """Return the variance of the sum over all cells of noise times (a_k + b_l).

        The variance of a cell's noise is x_k y_l (1 + excess): a product, and what is listed.
        """
        x = self.left**2 / self.shrunk.rows
        y = self.right**2 / self.shrunk.columns
        total = (a**2 @ x) * y.sum() + 2 * (a @ x) * (b @ y) + x.sum() * (b**2 @ y)
        listed = self._noise_excess()
        rows, columns = listed.row, listed.col
        moved = (a[rows] + b[columns]) ** 2
        return float(total + (x[rows] * y[columns] * listed.data * moved).sum())

    def _noise_excess(self) -> sparse.coo_array:
        excess, uneven = self.shrunk.excess, self.uneven
        return sparse.coo_array(excess + uneven + excess.multiply(uneven))

    def times(self, vector: FloatArray) -> FloatArray:
        """Return the matrix times a vector."""
        scaled = self.right * vector
        return np.asarray(self.left * (self.shrunk.excess @ scaled + scaled.sum()))

    def transposed_times(self, vector: FloatArray) -> FloatArray:
        """Return the transposed matrix times a vector."""
        scaled = self.left * vector
        return np.asarray(self.right * (self.shrunk.excess.T @ scaled + scaled.sum()))


def _error_interval(
    cells: FloatArray,
    seen: FloatArray,
    noise: FloatArray,
    variances: tuple[FloatArray, FloatArray],
    level: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the intervals of cells of errors: Wilson's around what was seen.

    ``noise`` is the variance of a cell's own count for a cell of one, and ``variances`` what that
    makes of the cell, and those of the cells together with the factors of row and column.
    """
    own, together = variances
    z = float(norm.ppf(0.5 + level / 2))
    factor_variances = _SHARE * np.maximum(together - own * cells, 0.0) / cells**2
    # As in Wilson's interval, the variance is that at the middle of the interval.
    middle = np.minimum(seen + z**2 / 2 * noise, np.clip(seen, 0.5, 1 - 1e-9))
    samples = (1 - middle) / (own + factor_variances * middle)
    return _around(np.minimum(seen, 1.0), samples, cells, level)


def _hit_interval(
    cells: FloatArray, errors: FloatArray, variances: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the intervals of cells of hits, halfway between them and one minus errors seen."""
    samples = cells * (1 - cells) / np.maximum(_SHARE * variances, 1e-30)
    seen = np.minimum(0.5 * (cells + 1.0 - np.minimum(errors, 1.0)), 1.0)
    return _around(seen, samples, cells, level)


def _around(
    seen: FloatArray, samples: FloatArray, cells: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    low, high = score_interval(seen, seen * (1 - seen) / samples, samples, level)
    return np.minimum(low, cells), np.maximum(high, cells)


def balance(shrunk: ShrunkCounts, counts: sparse.csr_array, uneven: sparse.csr_array) -> Balanced:
    """Bi-normalize shrunk counts exactly; a matrix of many classes stays sparse plus rank one."""
    # Not by `scale`, which refuses the negative excess of pairs below the average.
    is_small = len(shrunk.rows) <= _DENSE_CLASSES
    scaling = solve(bistochastic(shrunk.excess.toarray() if is_small else shrunk.excess, 1.0))
    scaling.raise_if_failed()
    return Balanced(scaling.left, scaling.right, shrunk, counts, uneven)
