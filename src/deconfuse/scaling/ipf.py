"""Iterative proportional fitting, Algorithm 1 of the paper, step for step.

Kept as the reference that the faster solvers are measured against.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from deconfuse.scaling.problem import FloatArray, ScalingProblem

__all__ = ["ipf"]


def ipf(
    problem: ScalingProblem, tolerance: float, max_steps: int
) -> tuple[FloatArray, FloatArray, int]:
    r"""Scale rows and columns in turn until both margins are met.

    Returns
    -------
    log_left, log_right : ndarray
        Logarithms of the factors gathered on the way; Algorithm 1 itself keeps only the matrix.
    steps : int
        The paper's :math:`t`, two for each sweep.
    """
    q = _SparseTable(problem) if problem.is_sparse else _DenseTable(problem)
    u, v = problem.rows, problem.columns
    log_left = np.zeros(problem.shape[:-1])
    log_right = np.zeros(problem.shape[:-2] + problem.shape[-1:])
    steps = 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        while True:
            row_step = u / q.row_sums()
            q.multiply_rows(row_step)
            log_left += np.log(row_step)
            steps += 1
            if steps >= max_steps:
                return log_left, log_right, steps
            column_step = v / q.column_sums()
            q.multiply_columns(column_step)
            log_right += np.log(column_step)
            steps += 1
            gap = np.abs(q.row_sums() - u).sum(axis=-1)
            gap = gap + np.abs(q.column_sums() - v).sum(axis=-1)
            if np.all(gap <= tolerance) or steps >= max_steps or np.any(np.isnan(gap)):
                return log_left, log_right, steps


class _DenseTable:
    """The matrix Q of Algorithm 1."""

    def __init__(self, problem: ScalingProblem) -> None:
        self.q = problem.positive.copy()

    def row_sums(self) -> FloatArray:
        return np.asarray(self.q.sum(axis=-1))

    def column_sums(self) -> FloatArray:
        return np.asarray(self.q.sum(axis=-2))

    def multiply_rows(self, factor: FloatArray) -> None:
        self.q *= factor[..., None]

    def multiply_columns(self, factor: FloatArray) -> None:
        self.q *= factor[..., None, :]


class _SparseTable:
    """The same Q as sparse counts plus a rank-one part, so that epsilon is never written out."""

    def __init__(self, problem: ScalingProblem) -> None:
        self.counts = sparse.csr_array(problem.matrix, copy=True)
        self.entry_rows = np.repeat(np.arange(problem.shape[0]), np.diff(self.counts.indptr))
        self.epsilon_rows = np.full(problem.shape[0], problem.epsilon)
        self.epsilon_columns = np.ones(problem.shape[1])

    def row_sums(self) -> FloatArray:
        sums = np.asarray(self.counts.sum(axis=1)).ravel()
        return sums + self.epsilon_rows * self.epsilon_columns.sum()

    def column_sums(self) -> FloatArray:
        sums = np.asarray(self.counts.sum(axis=0)).ravel()
        return sums + self.epsilon_columns * self.epsilon_rows.sum()

    def multiply_rows(self, factor: FloatArray) -> None:
        self.counts.data *= factor[self.entry_rows]
        self.epsilon_rows *= factor

    def multiply_columns(self, factor: FloatArray) -> None:
        self.counts.data *= factor[self.counts.indices]
        self.epsilon_columns *= factor
