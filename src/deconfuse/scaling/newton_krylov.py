"""Newton's method without a matrix: every step is solved by conjugate gradients.

Needs only products with the scaled matrix, so a million classes cost what their non-zeros cost. The
function minimized and its Hessian are those of `deconfuse.scaling.newton`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deconfuse.scaling.factors import FloatArray
from deconfuse.scaling.kernels import Kernel
from deconfuse.scaling.newton import step_along
from deconfuse.scaling.problem import ScalingProblem

__all__ = ["KrylovRun", "newton_krylov"]

_STALL_STEPS = 25


@dataclass(frozen=True)
class KrylovRun:
    """Where the run ended: steps, the error left, and whether that needed too many products."""

    steps: int
    error: float
    gave_up: bool


def newton_krylov(
    kernel: Kernel,
    problem: ScalingProblem,
    goal: float,
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
    rows, columns, weights = problem.rows, problem.columns, problem.row_weights
    best = np.inf
    since_best = 0
    products = 0
    for steps in range(max_steps + 1):
        row_sums = kernel.times(np.ones(columns.shape))
        gradient = row_sums - rows
        error = float(np.abs(gradient) @ weights)
        if not error > goal:
            return KrylovRun(steps, error, gave_up=False)
        since_best = 0 if error < 0.5 * best else since_best + 1
        best = min(error, best)
        if since_best > _STALL_STEPS or steps == max_steps:
            return KrylovRun(steps, error, gave_up=True)
        # Solve each step only as well as its own accuracy deserves, and no better than asked for.
        forcing = max(0.5 * goal / error, min(0.1, np.sqrt(error)))
        budget = None if max_products is None else max_products - products
        right_side = _without_constants(-gradient, rows, blocks)
        direction, used, is_solved = _solve(
            kernel, row_sums, right_side, problem, forcing * error, budget
        )
        products += used
        if not is_solved and max_products is not None and products >= max_products:
            return KrylovRun(steps, error, gave_up=True)
        left, column_sums = step_along(kernel, direction, gradient, problem)
        kernel.multiply(left, columns / column_sums)
    raise AssertionError


def _solve(
    kernel: Kernel,
    row_sums: FloatArray,
    right_side: FloatArray,
    problem: ScalingProblem,
    goal: float,
    budget: int | None,
) -> tuple[FloatArray, int, bool]:
    """Run Jacobi-preconditioned conjugate gradients on the Hessian."""
    inverse = 1.0 / problem.columns
    diagonal = row_sums - kernel.squares_times(inverse)
    # Where nearly all mass of a row is one cell, the difference is rounding; keep it positive.
    diagonal = np.maximum(diagonal, 1e-13 * row_sums)
    remainder = right_side.copy()
    direction = np.zeros_like(right_side)
    search = remainder / diagonal
    energy = float(remainder @ search)
    # Fresh memory for every product of a million rows would cost as much as the product.
    image, scratch = np.empty_like(search), np.empty_like(search)
    most = 20 * right_side.size + 100 if budget is None else max(budget, 1)
    for used in range(1, most + 1):
        product = kernel.transposed_times(search)
        product *= inverse
        np.multiply(row_sums, search, out=image)
        image -= kernel.times(product)
        curvature = float(search @ image)
        if not curvature > 0.0:
            break
        step = energy / curvature
        direction += np.multiply(search, step, out=scratch)
        image *= step
        remainder -= image
        if float(np.abs(remainder, out=scratch) @ problem.row_weights) <= goal:
            return direction, used, True
        preconditioned = np.divide(remainder, diagonal, out=scratch)
        previous, energy = energy, float(remainder @ preconditioned)
        search *= energy / previous
        search += preconditioned
    if not direction.any():
        direction = right_side / diagonal
    return direction, used, False


def _without_constants(
    values: FloatArray, rows: FloatArray, blocks: NDArray[np.intp] | None
) -> FloatArray:
    """Make the sum over each block zero: no step can change what constants add up to.

    Each row gives in proportion to its target, so that small ones keep their digits.
    """
    if blocks is None:
        return values - rows * (values.sum() / rows.sum())
    share = np.bincount(blocks, values) / np.bincount(blocks, rows)
    return np.asarray(values - rows * share[blocks])
