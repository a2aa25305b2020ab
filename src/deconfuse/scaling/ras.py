"""The RAS method, Algorithm 2 of the paper, step for step: only the two diagonals move."""

from __future__ import annotations

import numpy as np

from deconfuse.scaling.factors import Factors
from deconfuse.scaling.problem import ScalingProblem

__all__ = ["ras"]


def ras(problem: ScalingProblem, tolerance: float, max_steps: int) -> tuple[Factors, Factors, int]:
    """Alternate the row and the column diagonal until both margins are met.

    As in the paper, ``max_steps`` is tested after a whole sweep too.

    Returns
    -------
    left, right : Factors
        The two diagonals.
    steps : int
        The paper's :math:`t`, two for each sweep.
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
