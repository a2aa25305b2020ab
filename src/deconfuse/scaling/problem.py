"""The question of a scaling: a matrix, what is added to its cells, and the margins asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse._memory import refuse_if_too_large

__all__ = ["FloatArray", "Matrix", "ScalingProblem", "drop_cells"]

FloatArray = NDArray[np.float64]
Matrix: TypeAlias = FloatArray | sparse.csr_array

# exp of a sum of two log factors and a log entry stays in range while each is below this.
_LOG_RANGE = 230.0


@dataclass(frozen=True, eq=False)
class ScalingProblem:
    """A non-negative matrix (or a stack of them), epsilon, and the margins to reach.

    Attributes
    ----------
    matrix : ndarray of shape (..., n_rows, n_columns) or csr_array
        Entries without epsilon.
    epsilon : float
        Added to every cell; never written into a sparse matrix.
    rows, columns : ndarray
        Target margins, of equal total; for a stack with targets of their own, one row a matrix.
    tolerance : float
        Largest residual accepted, at least what rounding allows.
    """

    matrix: Matrix
    epsilon: float
    rows: FloatArray
    columns: FloatArray
    tolerance: float

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.matrix.shape)

    @property
    def is_sparse(self) -> bool:
        return bool(sparse.issparse(self.matrix))

    @cached_property
    def positive(self) -> FloatArray:
        """The dense matrix with epsilon in it."""
        assert isinstance(self.matrix, np.ndarray)
        return self.matrix + self.epsilon if self.epsilon else self.matrix

    @cached_property
    def smallest_and_largest(self) -> tuple[float, float]:
        """Smallest and largest entry with epsilon, zeros that stay zeros included."""
        if isinstance(self.matrix, np.ndarray):
            return float(self.positive.min()), float(self.positive.max())
        stored = self.matrix.data
        low = float(stored.min()) if stored.size == np.prod(self.shape) else 0.0
        return low + self.epsilon, float(stored.max(initial=0.0)) + self.epsilon

    @cached_property
    def log_entries(self) -> FloatArray:
        """Logarithms of the dense entries, minus infinity at zeros."""
        with np.errstate(divide="ignore"):
            return np.log(self.positive)

    @property
    def spans_many_decades(self) -> bool:
        """Whether products of factors and entries could leave the floating-point range."""
        low, high = self.smallest_and_largest
        if low == 0.0:
            is_dense = isinstance(self.matrix, np.ndarray)
            stored = self.positive if is_dense else np.asarray(self.matrix.data)
            low = float(np.min(stored, where=stored > 0, initial=high))
        return bool(high > 1e100 or low < 1e-100)

    def members(self) -> Iterator[ScalingProblem]:
        """Yield the question of each matrix of a stack."""
        assert isinstance(self.matrix, np.ndarray)
        count = self.shape[0]
        rows = np.broadcast_to(self.rows, (count, self.shape[1]))
        columns = np.broadcast_to(self.columns, (count, self.shape[2]))
        for matrix, u, v in zip(self.matrix, rows, columns, strict=True):
            yield ScalingProblem(matrix, self.epsilon, u, v, self.tolerance)

    def transposed(self) -> ScalingProblem:
        """Return the same question with rows and columns swapped."""
        matrix = self.matrix
        flipped: Matrix
        if isinstance(matrix, np.ndarray):
            flipped = np.swapaxes(matrix, -1, -2)
        else:
            flipped = sparse.csr_array(matrix.T)
        return ScalingProblem(flipped, self.epsilon, self.columns, self.rows, self.tolerance)

    def scaled_matrix(self, log_left: FloatArray, log_right: FloatArray) -> Matrix:
        """Return ``exp(log_left) (matrix + epsilon) exp(log_right)``."""
        if isinstance(self.matrix, np.ndarray):
            return _scale_dense(self, log_left, log_right)
        coo = self.matrix.tocoo()
        with np.errstate(divide="ignore"):
            logs = np.log(coo.data) + log_left[coo.row] + log_right[coo.col]
        if self.epsilon == 0.0:
            result = sparse.csr_array((np.exp(logs), (coo.row, coo.col)), shape=self.shape)
            result.sort_indices()
            return result
        refuse_if_too_large(self.shape, "The scaled matrix")
        dense = np.exp(np.log(self.epsilon) + log_left[:, None] + log_right)
        np.add.at(dense, (coo.row, coo.col), np.exp(logs))
        return dense

    def margins(self, log_left: FloatArray, log_right: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return row and column sums of the scaled matrix, without building a large one."""
        if isinstance(self.matrix, np.ndarray):
            scaled = _scale_dense(self, log_left, log_right)
            return scaled.sum(axis=-1), scaled.sum(axis=-2)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            left, right = np.exp(log_left), np.exp(log_right)
            row_sums = left * (self.matrix @ right + self.epsilon * right.sum())
            column_sums = right * (self.matrix.T @ left + self.epsilon * left.sum())
            if np.isfinite(row_sums).all() and np.isfinite(column_sums).all():
                return row_sums, column_sums
            # The factors alone overflow although their products with the entries do not.
            rows = np.repeat(np.arange(self.shape[0]), np.diff(self.matrix.indptr))
            columns = self.matrix.indices
            cells = np.exp(np.log(self.matrix.data) + log_left[rows] + log_right[columns])
            row_sums = np.bincount(rows, cells, self.shape[0]).astype(np.float64)
            column_sums = np.bincount(columns, cells, self.shape[1]).astype(np.float64)
            if self.epsilon:
                log_epsilon = np.log(self.epsilon)
                row_sums += np.exp(log_left + log_epsilon + _log_sum(log_right))
                column_sums += np.exp(log_right + log_epsilon + _log_sum(log_left))
        return row_sums, column_sums

    def residuals(self, log_left: FloatArray, log_right: FloatArray) -> FloatArray:
        """Return the L1 distance of both margins to their targets, added, for each matrix."""
        row_sums, column_sums = self.margins(log_left, log_right)
        gap = np.abs(row_sums - self.rows).sum(axis=-1)
        gap = gap + np.abs(column_sums - self.columns).sum(axis=-1)
        return np.atleast_1d(np.asarray(gap, dtype=np.float64))


def drop_cells(matrix: sparse.csr_array, cells: NDArray[np.intp]) -> sparse.csr_array:
    """Return a sparse matrix without the given (row, column) cells."""
    ones = np.ones(len(cells))
    gone = sparse.csr_array((ones, (cells[:, 0], cells[:, 1])), shape=matrix.shape)
    kept = sparse.csr_array(matrix - matrix.multiply(gone))
    kept.eliminate_zeros()
    return kept


def _scale_dense(
    problem: ScalingProblem, log_left: FloatArray, log_right: FloatArray
) -> FloatArray:
    largest = max(np.abs(log_left).max(initial=0.0), np.abs(log_right).max(initial=0.0))
    if largest < _LOG_RANGE and not problem.spans_many_decades:
        scaled: FloatArray = np.exp(log_left)[..., None] * problem.positive
        scaled *= np.exp(log_right)[..., None, :]
        return scaled
    with np.errstate(over="ignore"):
        return np.exp(problem.log_entries + log_left[..., None] + log_right[..., None, :])


def _log_sum(logs: FloatArray) -> float:
    highest = float(logs.max())
    return highest + float(np.log(np.exp(logs - highest).sum()))
