"""Algorithms 1 and 2 of the paper, step for step: iterative proportional fitting and RAS.

Kept as the references that the faster solvers are measured against.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from deconfuse.scaling.factors import Factors, FloatArray
from deconfuse.scaling.problem import ScalingProblem

__all__ = ["ipf", "ras"]


def ipf(problem: ScalingProblem, tolerance: float, max_steps: int) -> tuple[Factors, Factors, int]:
    r"""Scale rows and columns in turn until both margins are met, or ``max_steps`` is reached.

    Both are tested after a whole sweep, as in the paper: ``max_steps=3`` ends at :math:`t = 4`.

    Returns
    -------
    left, right : Factors
        The factors gathered on the way; Algorithm 1 itself keeps only the matrix.
    steps : int
        The paper's :math:`t`, two for each sweep.
    """
    q = _SparseTable(problem) if problem.is_sparse else _DenseTable(problem)
    u, v = problem.rows, problem.columns
    left, right = Factors.of(np.ones(problem.shape[0])), Factors.of(np.ones(problem.shape[1]))
    steps = 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        while True:
            row_step = u / q.row_sums()
            q.multiply_rows(row_step)
            column_step = v / q.column_sums()
            q.multiply_columns(column_step)
            left, right = left.times(row_step), right.times(column_step)
            steps += 2
            row_gap, column_gap = np.abs(q.row_sums() - u), np.abs(q.column_sums() - v)
            error = row_gap @ problem.row_weights + column_gap @ problem.column_weights
            if not error > tolerance or steps >= max_steps:
                return left, right, steps


def ras(problem: ScalingProblem, tolerance: float, max_steps: int) -> tuple[Factors, Factors, int]:
    """Alternate the row and the column diagonal, and leave the matrix, until both margins are met.

    As in the paper, ``max_steps`` is tested after a whole sweep too. Returns what `ipf` does.
    """
    u, v = problem.rows, problem.columns
    matrix, epsilon = problem.matrix, problem.rank_one
    right = np.ones(problem.shape[1])
    steps = 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        while True:
            left = u / (matrix @ right + epsilon * right.sum())
            column_sums = matrix.T @ left + epsilon * left.sum()
            right = v / column_sums
            steps += 2
            row_gap = np.abs(left * (matrix @ right + epsilon * right.sum()) - u)
            column_gap = np.abs(right * column_sums - v)
            error = row_gap @ problem.row_weights + column_gap @ problem.column_weights
            if not error > tolerance or steps >= max_steps:
                return Factors.of(left), Factors.of(right), steps


class _DenseTable:
    """The matrix Q of Algorithm 1."""

    def __init__(self, problem: ScalingProblem) -> None:
        self.q = np.array(problem.matrix)

    def row_sums(self) -> FloatArray:
        return np.asarray(self.q.sum(axis=1))

    def column_sums(self) -> FloatArray:
        return np.asarray(self.q.sum(axis=0))

    def multiply_rows(self, factor: FloatArray) -> None:
        self.q *= factor[:, None]

    def multiply_columns(self, factor: FloatArray) -> None:
        self.q *= factor


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
