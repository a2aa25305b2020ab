"""Plain sweeps with a free residual, which stop as soon as they would crawl."""

from __future__ import annotations

import math

import numpy as np

from deconfuse.scaling.kernels import Kernel, dot
from deconfuse.scaling.problem import ScalingProblem

__all__ = ["sweep"]

# The rate of the first sweeps says nothing about the rate to come.
_SETTLING_SWEEPS = 3


def sweep(
    kernel: Kernel,
    problem: ScalingProblem,
    goal: float,
    *,
    affordable: float,
    most: int | None = None,
) -> tuple[int, float]:
    """Sweep while the sweeps left, at the rate seen, are fewer than ``affordable``.

    There are no more than ``most`` of them in all. Returns how many there were and the error of the
    row sums that is left.

    The product that starts a sweep also gives the error of the one before, so that a sweep costs
    two products where Algorithm 2 costs four. The kernel remembers the factors at the end; its
    matrix is multiplied by them only where there is more to do.
    """
    rows, columns, weights = problem.rows, problem.columns, problem.row_weights
    row_sums = kernel.row_sums()
    previous = math.inf
    log_goal = math.log(goal)
    count = 0
    while True:
        left = rows / row_sums
        right = columns / kernel.transposed_times(left)
        row_sums = kernel.times(right)
        count += 1
        gap = left * row_sums
        gap -= rows
        error = dot(np.abs(gap, out=gap), weights)
        if error <= goal or not error < math.inf or count == most:
            break
        if count >= _SETTLING_SWEEPS:
            if error >= previous:
                break
            log_error = math.log(error)
            # Two errors that differ in the last digit may have equal logarithms.
            rate = min(log_error - math.log(previous), -1e-16)
            if (log_goal - log_error) / rate > affordable:
                break
        previous = error
    if error <= goal:
        kernel.remember(left, right)
    else:
        kernel.multiply(left, right)
    return count, error
