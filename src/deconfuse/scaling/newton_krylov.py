"""Newton's method without a matrix: every step is solved by conjugate gradients.

Needs only products with the scaled matrix, so a million classes cost what their non-zeros cost. The
function minimized and its Hessian are those of `deconfuse.scaling.newton`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deconfuse.scaling.kernels import Kernel
from deconfuse.scaling.line_search import up_to_the_minimum
from deconfuse.scaling.problem import FloatArray

__all__ = ["KrylovRun", "newton_krylov"]

_LONGEST_STEP = 100.0
_SUFFICIENT_DECREASE = 1e-4
_STALL_STEPS = 25


@dataclass(frozen=True)
class KrylovRun:
    """Where the run ended: steps, the gap left, and whether that needed too many products."""

    steps: int
    gap: float
    gave_up: bool


def newton_krylov(
    kernel: Kernel,
    rows: FloatArray,
    columns: FloatArray,
    tolerance: float,
    *,
    max_steps: int,
    max_products: int | None = None,
    blocks: NDArray[np.intp] | None = None,
) -> KrylovRun:
    """Scale a kernel whose columns already meet their targets.

    ``max_products`` bounds the conjugate-gradient iterations of all steps together; a caller that
    has a direct solver at hand gives the number that a direct solve would cost. ``blocks`` numbers
    the block of each row, where there are several that share no column.
    """
    best_gap = np.inf
    since_best = 0
    products = 0
    for steps in range(max_steps + 1):
        row_sums = kernel.times(np.ones(columns.shape))
        gradient = row_sums - rows
        gap = float(np.abs(gradient).sum())
        if not gap > tolerance:
            return KrylovRun(steps, gap, gave_up=False)
        since_best = 0 if gap < 0.5 * best_gap else since_best + 1
        best_gap = min(gap, best_gap)
        if since_best > _STALL_STEPS or steps == max_steps:
            return KrylovRun(steps, gap, gave_up=True)
        # Solve each step only as well as its own accuracy deserves, and no better than asked for.
        forcing = max(0.1 * tolerance / gap, min(0.1, np.sqrt(gap / rows.sum())))
        budget = None if max_products is None else max_products - products
        right_side = _without_constants(-gradient, blocks)
        direction, used, is_solved = _solve(kernel, row_sums, right_side, columns, forcing, budget)
        products += used
        if not is_solved and max_products is not None and products >= max_products:
            return KrylovRun(steps, gap, gave_up=True)
        left, column_sums = _step(kernel, direction, gradient, rows, columns)
        kernel.multiply(left, columns / column_sums)
    raise AssertionError


def _solve(
    kernel: Kernel,
    row_sums: FloatArray,
    right_side: FloatArray,
    columns: FloatArray,
    forcing: float,
    budget: int | None,
) -> tuple[FloatArray, int, bool]:
    """Run Jacobi-preconditioned conjugate gradients on the Hessian."""
    weights = 1.0 / columns
    diagonal = row_sums - kernel.squares_times(weights)
    # Where nearly all mass of a row is one cell, the difference is rounding; keep it positive.
    diagonal = np.maximum(diagonal, 1e-13 * row_sums)
    remainder = right_side.copy()
    goal = forcing * float(np.abs(right_side).sum())
    direction = np.zeros_like(right_side)
    preconditioned = remainder / diagonal
    search = preconditioned.copy()
    energy = float(remainder @ preconditioned)
    most = 20 * right_side.size + 100 if budget is None else max(budget, 1)
    for used in range(1, most + 1):
        image = row_sums * search
        image -= kernel.times(kernel.transposed_times(search) * weights)
        curvature = float(search @ image)
        if not curvature > 0.0:
            break
        step = energy / curvature
        direction += step * search
        remainder -= step * image
        if float(np.abs(remainder).sum()) <= goal:
            return direction, used, True
        preconditioned = remainder / diagonal
        previous, energy = energy, float(remainder @ preconditioned)
        search *= energy / previous
        search += preconditioned
    if not direction.any():
        direction = right_side / diagonal
    return direction, used, False


def _without_constants(values: FloatArray, blocks: NDArray[np.intp] | None) -> FloatArray:
    """Take the mean of each block away: no step can change what constants add up to."""
    if blocks is None:
        return values - values.mean()
    sums = np.asarray(np.bincount(blocks, values), dtype=np.float64)
    means: FloatArray = sums / np.bincount(blocks)
    return values - means[blocks]


def _step(
    kernel: Kernel,
    direction: FloatArray,
    gradient: FloatArray,
    rows: FloatArray,
    columns: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Backtrack on the dual function; return the row factor and the column sums it leads to."""
    slope = float(gradient @ direction)
    spread = float(np.ptp(direction))
    length = min(1.0, _LONGEST_STEP / max(spread, 1e-300))
    linear = float(direction @ rows)
    noise = 1e-13 * float(rows.sum())
    for _ in range(60):
        left = np.exp(length * direction)
        column_sums = kernel.transposed_times(left)
        growth = float(np.log(column_sums / columns) @ columns) - length * linear
        if growth <= _SUFFICIENT_DECREASE * length * slope + noise:
            break
        length *= 0.5
    if length == 1.0:
        return left, column_sums

    def slope_at(lengths: FloatArray) -> FloatArray:
        nonlocal left, column_sums
        left = np.exp(lengths[0] * direction)
        column_sums = kernel.transposed_times(left)
        row_sums = left * kernel.times(columns / column_sums)
        return np.array([float((row_sums - rows) @ direction)])

    up_to_the_minimum(slope_at, np.array([length]), np.array([slope]))
    return left, column_sums
