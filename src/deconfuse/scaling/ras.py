"""The RAS method, Algorithm 2 of the paper, step for step: only the two diagonals move."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from deconfuse.scaling.problem import FloatArray, ScalingProblem

__all__ = ["ras"]


def ras(
    problem: ScalingProblem, tolerance: float, max_steps: int
) -> tuple[FloatArray, FloatArray, int]:
    """Alternate the row and the column diagonal until both margins are met.

    Returns
    -------
    log_left, log_right : ndarray
        Logarithms of the two diagonals.
    steps : int
        The paper's :math:`t`, two for each sweep.
    """
    u, v = problem.rows, problem.columns
    right = np.ones(problem.shape[:-2] + problem.shape[-1:])
    steps = 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        while True:
            left = u / _row_sums(problem, right)
            steps += 1
            if steps >= max_steps:
                return np.log(left), np.log(right), steps
            right = v / _column_sums(problem, left)
            steps += 1
            gap = np.abs(left * _row_sums(problem, right) - u).sum(axis=-1)
            gap = gap + np.abs(right * _column_sums(problem, left) - v).sum(axis=-1)
            if np.all(gap <= tolerance) or steps >= max_steps or np.any(np.isnan(gap)):
                return np.log(left), np.log(right), steps


def _row_sums(problem: ScalingProblem, right: FloatArray) -> FloatArray:
    """Return ``(M + epsilon) right``; epsilon stays a rank-one part of a sparse matrix."""
    if isinstance(problem.matrix, sparse.csr_array):
        return np.asarray(problem.matrix @ right + problem.epsilon * right.sum())
    return np.asarray((problem.positive @ right[..., None])[..., 0])


def _column_sums(problem: ScalingProblem, left: FloatArray) -> FloatArray:
    """Return ``(M + epsilon)ᵀ left``."""
    if isinstance(problem.matrix, sparse.csr_array):
        return np.asarray(problem.matrix.T @ left + problem.epsilon * left.sum())
    return np.asarray((left[..., None, :] @ problem.positive)[..., 0, :])
