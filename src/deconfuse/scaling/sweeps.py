"""Plain sweeps with a free residual, which stop as soon as they would crawl."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from deconfuse.scaling.kernels import Kernel
from deconfuse.scaling.problem import FloatArray

__all__ = ["Sweeps", "sweep"]

# The rate of the first sweeps says nothing about the rate to come.
_SETTLING_SWEEPS = 3


@dataclass(frozen=True)
class Sweeps:
    """Where the sweeps ended."""

    residual: float
    count: int


def sweep(
    kernel: Kernel,
    rows: FloatArray,
    columns: FloatArray,
    tolerance: float,
    *,
    affordable: float,
    most: int | None = None,
) -> Sweeps:
    """Sweep while the sweeps left, at the rate seen, are fewer than ``affordable``.

    There are no more than ``most`` of them in all.

    The product that starts a sweep also gives the residual of the one before, so that a sweep costs
    two products where Algorithm 2 costs four. The factors are absorbed into the kernel at the end.
    """
    right = np.ones(columns.shape)
    row_sums = kernel.times(right)
    previous = math.inf
    log_tolerance = math.log(tolerance)
    count = 0
    while True:
        left = rows / row_sums
        right = columns / kernel.transposed_times(left)
        row_sums = kernel.times(right)
        count += 1
        gap = left * row_sums
        gap -= rows
        residual = float(np.abs(gap, out=gap).sum())
        # Column sums are exact up to rounding here, so half the tolerance leaves them room.
        if residual <= 0.5 * tolerance or not residual < math.inf or count == most:
            break
        if count >= _SETTLING_SWEEPS:
            if residual >= previous:
                break
            log_residual = math.log(residual)
            # Two residuals that differ in the last digit may have equal logarithms.
            rate = min(log_residual - math.log(previous), -1e-16)
            if (log_tolerance - log_residual) / rate > affordable:
                break
        previous = residual
    kernel.multiply(left, right)
    return Sweeps(residual, count)
