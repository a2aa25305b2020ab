"""The scaled matrix as an operator: the same few products, dense or sparse plus rank one.

Solvers hold one of these as their state. It starts as the problem's matrix, absorbs every factor it
is multiplied by, and remembers their logarithms.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from deconfuse.scaling.problem import FloatArray, ScalingProblem

__all__ = ["DenseKernel", "Kernel", "SparseKernel", "make_kernel"]


class DenseKernel:
    """A dense matrix being scaled in place."""

    def __init__(self, problem: ScalingProblem) -> None:
        n_rows, n_columns = problem.shape
        self.log_left = np.zeros(n_rows)
        self.log_right = np.zeros(n_columns)
        if problem.spans_many_decades:
            self.log_left, self.log_right = _sweep_in_logs(problem)
            logs = problem.log_entries + self.log_left[:, None] + self.log_right
            self.matrix: FloatArray = np.exp(logs)
            self._owns_matrix = True
        else:
            self.matrix = problem.positive
            self._owns_matrix = False

    def times(self, vector: FloatArray) -> FloatArray:
        return self.matrix @ vector

    def transposed_times(self, vector: FloatArray) -> FloatArray:
        return vector @ self.matrix

    def squares_times(self, vector: FloatArray) -> FloatArray:
        """Return ``sum_j P_ij² vector_j`` for each row."""
        return np.einsum("ij,ij,j->i", self.matrix, self.matrix, vector)

    def multiply(self, left: FloatArray, right: FloatArray) -> None:
        """Absorb a row factor and a column factor."""
        if self._owns_matrix:
            self.matrix *= left[:, None]
        else:
            # The caller's array is never written to; the first product makes our own.
            self.matrix = left[:, None] * self.matrix
            self._owns_matrix = True
        self.matrix *= right
        self.log_left += np.log(left)
        self.log_right += np.log(right)


class SparseKernel:
    """Sparse counts plus ``epsilon_rows epsilon_columnsᵀ``, both being scaled in place."""

    def __init__(self, problem: ScalingProblem) -> None:
        n_rows, n_columns = problem.shape
        source = problem.matrix
        assert isinstance(source, sparse.csr_array)
        self.entry_rows = np.repeat(
            np.arange(n_rows, dtype=source.indices.dtype), np.diff(source.indptr)
        )
        self.log_left = np.zeros(n_rows)
        self.log_right = np.zeros(n_columns)
        self.epsilon_rows = np.full(n_rows, problem.epsilon)
        self.epsilon_columns = np.ones(n_columns)
        self.counts = sparse.csr_array(
            (source.data.copy(), source.indices, source.indptr), shape=source.shape
        )
        if problem.spans_many_decades:
            self._equilibrate(problem)

    def times(self, vector: FloatArray) -> FloatArray:
        product = self.counts @ vector
        product += self.epsilon_rows * _exact_dot(self.epsilon_columns, vector)
        return np.asarray(product)

    def transposed_times(self, vector: FloatArray) -> FloatArray:
        product = self.counts.T @ vector
        product += self.epsilon_columns * _exact_dot(self.epsilon_rows, vector)
        return np.asarray(product)

    def squares_times(self, vector: FloatArray) -> FloatArray:
        """Return ``sum_j P_ij² vector_j`` for each row, epsilon's part included."""
        squares = sparse.csr_array(
            (self.counts.data**2, self.counts.indices, self.counts.indptr), shape=self.counts.shape
        )
        mixed = self.counts @ (self.epsilon_columns * vector)
        pure = self.epsilon_rows * (self.epsilon_columns**2 @ vector)
        return np.asarray(squares @ vector + self.epsilon_rows * (2.0 * mixed + pure))

    def multiply(self, left: FloatArray, right: FloatArray) -> None:
        """Absorb a row factor and a column factor."""
        self.counts.data *= left[self.entry_rows]
        self.counts.data *= right[self.counts.indices]
        self.epsilon_rows *= left
        self.epsilon_columns *= right
        self.log_left += np.log(left)
        self.log_right += np.log(right)

    def _equilibrate(self, problem: ScalingProblem) -> None:
        """Bring the largest entry of every row, then column, to one, working in logarithms."""
        log_epsilon = np.log(problem.epsilon) if problem.epsilon else -np.inf
        with np.errstate(divide="ignore"):
            logs = np.log(self.counts.data)
        for _ in range(2):
            highest = np.full(self.log_left.shape, log_epsilon + self.log_right.max())
            np.maximum.at(highest, self.entry_rows, logs + self.log_right[self.counts.indices])
            self.log_left = -highest
            highest = np.full(self.log_right.shape, log_epsilon + self.log_left.max())
            np.maximum.at(highest, self.counts.indices, logs + self.log_left[self.entry_rows])
            self.log_right = -highest
        logs += self.log_left[self.entry_rows] + self.log_right[self.counts.indices]
        self.counts.data = np.exp(logs)
        self.epsilon_rows = np.exp(0.5 * log_epsilon + self.log_left)
        self.epsilon_columns = np.exp(0.5 * log_epsilon + self.log_right)


Kernel = DenseKernel | SparseKernel


def make_kernel(problem: ScalingProblem) -> Kernel:
    """Return the operator for one problem."""
    return SparseKernel(problem) if problem.is_sparse else DenseKernel(problem)


def _exact_dot(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product by pairwise summation.

    A plain dot product of a million terms is off by 1e-13, the same for every row, and so puts the
    same error into every margin.
    """
    return float(np.multiply(a, b).sum())


def _sweep_in_logs(problem: ScalingProblem) -> tuple[FloatArray, FloatArray]:
    """Return factors of two sweeps taken in logarithms, where entries span many decades."""
    from scipy.special import logsumexp

    logs = problem.log_entries
    log_right = np.zeros(problem.shape[1])
    log_left = np.zeros(problem.shape[0])
    for _ in range(2):
        log_left = np.log(problem.rows) - logsumexp(logs + log_right, axis=1)
        log_right = np.log(problem.columns) - logsumexp(logs + log_left[:, None], axis=0)
    return log_left, log_right
