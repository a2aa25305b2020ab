r"""Bi-normalize shrunk counts, with an interval for each cell.

The delta method: with independent noise in the counts, `Sensitivity` gives the variance of each
cell. What is known from other pairs has less noise than counts have: a shrunk count keeps a part of
it (`ShrunkCounts.kept`). All pairs of a class err together where its difficulty does, and all pairs
where the average similarity does.

On the diagonal and in its mean that is the variance, but for two factors that give it its coverage.
In an error cell it is that of the factors of row and column; the cell's own part is that of the
count which was seen, because one pair may be unlike all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import betaincinv, ndtri

from deconfuse.scaling.problem import bistochastic
from deconfuse.scaling.solve import solve
from deconfuse.statistics.luce import ShrunkCounts
from deconfuse.statistics.sensitivity import Chosen, FewCells, Sensitivity
from deconfuse.statistics.uncertainty import score_interval

__all__ = ["Balanced", "balance"]

FloatArray = NDArray[np.float64]

# Where classes differ in another way than the model says, shrinkage errs in the same direction for
# many of them: as if their hits were correlated this much. It gives the separability its coverage
# with 10, 30 and 100 classes in `python -m benchmarks estimate`.
_CORRELATION = 0.02
# The difficulty of a class is known less well than its own confusions say, as those of its partners
# are not known either: so many times the variance gives the diagonal its coverage there.
_DIFFICULTY_VARIANCE = 1.1


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
        cells = self.shrunk.excess.toarray()
        cells += 1.0
        cells *= self.left[:, None]
        cells *= self.right
        return cells

    @property
    def diagonal(self) -> FloatArray:
        """The cells of correct predictions."""
        return np.asarray((1.0 + self.shrunk.excess.diagonal()) * self.left * self.right)

    def row(self, position: int) -> FloatArray:
        """Return the cells of one row."""
        excess = self.shrunk.excess[[position], :].toarray()[0]
        return np.asarray((1.0 + excess) * self.left[position] * self.right)

    def intervals(self, level: float, cells: Chosen) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the intervals of cells."""
        matrix = self.matrix
        values = cells.of(matrix)
        if len(matrix) == 1:
            # There is no other class to be taken for.
            return values.copy(), values.copy()
        x, y = self._products
        # In place, as in `Sensitivity`: fresh memory would take as long as the numbers.
        shrunk_noise = self._noise.toarray()
        shrunk_noise += self.shrunk.unlisted_kept
        shrunk_noise *= x[:, None]
        shrunk_noise *= y
        few = FewCells.if_faster(self.shrunk.excess, self.left, self.right)
        sensitivity = Sensitivity(matrix, few)
        variances = sensitivity.variances(shrunk_noise, cells)
        moved = cells.outer(np.add, *self._level_moves)
        moved *= values
        variances += np.multiply(moved, self.shrunk.level_variance * moved, out=moved)
        at, classes = cells.diagonal
        hit_variances = variances[at] + self._class_noise[classes]
        effects = np.square(sensitivity.effects(cells), out=moved)
        variances -= effects * cells.of(shrunk_noise)
        left, right = self.left / self.shrunk.rows, self.right / self.shrunk.columns
        noise = cells.outer(np.multiply, left, right)
        seen = cells.of_sparse(self.counts) * noise
        if self.uneven.nnz:
            noise *= 1.0 + cells.of_sparse(self.uneven)
        low, high = _error_interval(values, seen, noise, (effects * noise, variances), level)
        low[at], high[at] = _beta_interval(matrix.diagonal()[classes], hit_variances, level)
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
        x, y = self._products
        shrunk_noise = x[i] * y[j] * (self.shrunk.unlisted_kept + float(self._noise[i, j]))
        variance = shrunk_noise * (1 - 2 * value * moved) + value**2 * self._spread(a, b)
        dx, dy = self._level_moves
        variance += self.shrunk.level_variance * (value * (dx[i] + dy[j])) ** 2
        cell, variances = np.array([value]), np.array([max(variance, 0.0)])
        if i == j:
            low, high = _beta_interval(cell, variances + self._class_noise[i], level)
        else:
            seen, effect = float(self.counts[i, j]) * factor, (1 - value * moved) ** 2
            parts = np.array([effect * noise]), variances - effect * shrunk_noise
            low, high = _error_interval(cell, np.array([seen]), np.array([noise]), parts, level)
        return float(low[0]), float(high[0])

    def separability(self, level: float) -> tuple[float, float, float]:
        """Return the mean of the diagonal and its interval."""
        value = float(np.mean(self.diagonal))
        if len(self.left) == 1:
            return value, value, value
        variance = self._separability_variance() * (1.0 + _CORRELATION * len(self.left))
        low, high = _beta_interval(np.array([value]), np.array([variance]), level)
        return value, float(low[0]), float(high[0])

    def _separability_variance(self) -> float:
        """Return the variance of the mean of the diagonal.

        Noise in cell (k, l) moves the sum of the diagonal by (k = l) - a_k - b_l times itself,
        where (a, b) solves the balancing equations of `Sensitivity` for the diagonal twice.
        """
        a, b = self._balancing(self.diagonal, self.diagonal)
        x, y = self._products
        own = x * y * (self.shrunk.unlisted_kept + self._noise.diagonal())
        total = self._spread(a, b) + float((own * (1 - 2 * (a + b))).sum())
        dx, dy = self._level_moves
        total += self.shrunk.level_variance * float(self.diagonal @ (dx + dy)) ** 2
        total += float(self._class_noise.sum())
        return max(total, 0.0) / len(self.left) ** 2

    @property
    def _products(self) -> tuple[FloatArray, FloatArray]:
        """Factors of row and column of the variance of a cell that has what is expected of it."""
        return self.left**2 / self.shrunk.rows, self.right**2 / self.shrunk.columns

    @cached_property
    def _kept_pairs(self) -> sparse.csr_array:
        """What is kept of the noise of listed pairs, less what is kept of all others."""
        model = self.shrunk
        kept = model.excess.copy()
        kept.data = (1.0 + kept.data) * model.kept.data
        kept.setdiag(0.0)
        kept.data -= model.unlisted_kept
        return kept

    @cached_property
    def _kept_sums(self) -> tuple[FloatArray, FloatArray]:
        """Sums of rows and columns of error cells times what is kept of their noise."""
        kept, unlisted = self._kept_pairs, self.shrunk.unlisted_kept
        rows = self.left * (kept @ self.right + unlisted * self.right.sum())
        columns = self.right * (kept.T @ self.left + unlisted * self.left.sum())
        return np.asarray(rows), np.asarray(columns)

    @property
    def _class_noise(self) -> FloatArray:
        """The variance of hits because the difficulty of a class is not known exactly.

        It changes all errors of a class together, as far as they are not known from their counts.
        """
        rows, columns = self._kept_sums
        lost = (1.0 - self.diagonal) - 0.5 * (rows + columns)
        return np.asarray(
            _DIFFICULTY_VARIANCE * self.shrunk.class_variance * (self.diagonal * lost) ** 2
        )

    @cached_property
    def _noise(self) -> sparse.csr_array:
        """Variances of the diagonal and of listed pairs over `_products`, less that of all others.

        Noise of hits moves what the pairs of the class are shrunk towards by as much, and
        bi-normalization takes out what all cells of a class share. So only the part of the pairs
        that is their own is moved by hits.
        """
        noise = self._kept_pairs.copy()
        unlisted = self.shrunk.unlisted_kept
        rows, columns = self._kept_sums
        errors = np.maximum(1.0 - self.diagonal, np.finfo(np.float64).tiny)
        own = np.minimum(0.5 * (rows + columns) / errors, 1.0)
        hits = (1.0 + self.shrunk.excess.diagonal()) * own**2
        noise.setdiag(hits - unlisted)
        if self.uneven.nnz:
            noise = sparse.csr_array(noise + noise.multiply(self.uneven) + unlisted * self.uneven)
        return noise

    @cached_property
    def _level_moves(self) -> tuple[FloatArray, FloatArray]:
        """By how much rows and columns are scaled when the average similarity grows."""
        rows, columns = ((1.0 - self.diagonal) - kept for kept in self._kept_sums)
        a, b = self._balancing(rows, columns)
        return -a, -b

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

        The variance of a cell's noise is x_k y_l (unlisted + noise): a product, and what is listed.
        """
        x, y = self._products
        total = (a**2 @ x) * y.sum() + 2 * (a @ x) * (b @ y) + x.sum() * (b**2 @ y)
        listed = sparse.coo_array(self._noise)
        rows, columns = listed.row, listed.col
        moved = (a[rows] + b[columns]) ** 2
        own = (x[rows] * y[columns] * listed.data * moved).sum()
        return float(self.shrunk.unlisted_kept * total + own)

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
    makes of the cell, and what the factors of row and column make of it.
    """
    own, others = variances
    z = float(ndtri(0.5 + level / 2))
    factor_variances = np.maximum(others, 0.0) / cells**2
    # As in Wilson's interval, the variance is that at the middle of the interval.
    middle = np.minimum(seen + z**2 / 2 * noise, np.clip(seen, 0.5, 1 - 1e-9))
    samples = (1 - middle) / (own + factor_variances * middle)
    centre = np.minimum(seen, 1.0)
    low, high = score_interval(centre, centre * (1 - centre) / samples, samples, level)
    return np.minimum(low, cells), np.maximum(high, cells)


def _beta_interval(
    means: FloatArray, variances: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the intervals of beta distributions with these means and variances."""
    spread = means * (1.0 - means)
    # Of more samples than this, SciPy's inverse is not a number for some.
    total = np.clip(spread / np.maximum(variances, 1e-300) - 1.0, 1e-3, 1e12)
    hits, errors = (np.maximum(part * total, 1e-300) for part in (means, 1.0 - means))
    low, high = (betaincinv(hits, errors, 0.5 + sign * level / 2) for sign in (-1, 1))
    return np.minimum(low, means), np.maximum(high, means)


def balance(shrunk: ShrunkCounts, counts: sparse.csr_array, uneven: sparse.csr_array) -> Balanced:
    """Bi-normalize shrunk counts exactly; a matrix of many classes stays sparse plus rank one."""
    # Not by `scale`, which refuses the negative excess of pairs below the average.
    scaling = solve(bistochastic(shrunk.excess, 1.0))
    scaling.raise_if_failed()
    return Balanced(scaling.left, scaling.right, shrunk, counts, uneven)
