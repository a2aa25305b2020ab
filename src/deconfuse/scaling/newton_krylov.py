"""Newton's method without a matrix: every step is solved by conjugate gradients.

Needs only products with the scaled matrix, so a million classes cost what their non-zeros cost. The
function minimized and its Hessian are those of `deconfuse.scaling.newton`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from deconfuse.scaling.factors import FloatArray
from deconfuse.scaling.kernels import Kernel, dot, parts_in_cache
from deconfuse.scaling.newton import step_along
from deconfuse.scaling.problem import ScalingProblem

__all__ = ["newton_krylov"]

_STALL_STEPS = 25


def newton_krylov(
    kernel: Kernel,
    problem: ScalingProblem,
    goal: float,
    *,
    max_steps: int,
    max_products: int | None = None,
    blocks: NDArray[np.intp] | None = None,
) -> tuple[int, float, bool]:
    """Scale a kernel whose columns already meet their targets.

    ``max_products`` bounds the conjugate-gradient iterations of all steps together; a caller that
    has a direct solver at hand gives the number that a direct solve would cost. ``blocks`` numbers
    the block of each row, where there are several that share no column.

    Returns the steps taken, the error of the row sums that is left, and whether it gave up.
    """
    rows, columns, weights = problem.rows, problem.columns, problem.row_weights
    inverse = 1.0 / columns
    best = np.inf
    since_best = 0
    products = 0
    for steps in range(max_steps + 1):
        row_sums = kernel.row_sums()
        gradient = row_sums - rows
        error = dot(np.abs(gradient), weights)
        if not error > goal:
            return steps, error, False
        since_best = 0 if error < 0.5 * best else since_best + 1
        best = min(error, best)
        if since_best > _STALL_STEPS or steps == max_steps:
            return steps, error, True
        # Solve each step only as well as its own accuracy deserves, and no better than asked for.
        forcing = max(0.5 * goal / error, min(0.1, np.sqrt(error)))
        budget = None if max_products is None else max_products - products
        right_side = _without_constants(-gradient, rows, blocks)
        operator = row_sums, kernel.gram(inverse), _jacobi(kernel, row_sums, inverse)
        direction, used, is_solved = _solve(operator, right_side, weights, forcing * error, budget)
        products += used
        if not is_solved and max_products is not None and products >= max_products:
            return steps, error, True
        left, column_sums = step_along(kernel, direction, gradient, problem)
        kernel.multiply(left, columns / column_sums)
    raise AssertionError


def _jacobi(kernel: Kernel, row_sums: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return one over the diagonal of the Hessian."""
    diagonal = row_sums - kernel.squares_times(inverse)
    # Where nearly all mass of a row is one cell, the difference is rounding; keep it positive.
    return np.asarray(1.0 / np.maximum(diagonal, 1e-13 * row_sums))


def _solve(
    operator: tuple[FloatArray, Callable[[FloatArray], FloatArray], FloatArray],
    right_side: FloatArray,
    weights: FloatArray,
    goal: float,
    budget: int | None,
) -> tuple[FloatArray, int, bool]:
    """Run preconditioned conjugate gradients on the Hessian.

    The operator is what the Hessian consists of, ``diag(row_sums) - gram``, and the preconditioner.
    """
    row_sums, gram, preconditioner = operator
    remainder = right_side.copy()
    direction = np.zeros_like(right_side)
    search = remainder * preconditioner
    energy = dot(remainder, search)
    parts = parts_in_cache(len(search))
    most = 20 * right_side.size + 100 if budget is None else max(budget, 1)
    for used in range(1, most + 1):
        image = gram(search)
        curvature = 0.0
        for part in parts:
            image[part] = row_sums[part] * search[part] - image[part]
            curvature += float(search[part] @ image[part])
        if not curvature > 0.0:
            break
        step = energy / curvature
        previous, energy, error = energy, 0.0, 0.0
        for part in parts:
            direction[part] += step * search[part]
            left_over = remainder[part]
            left_over -= step * image[part]
            error += float(np.abs(left_over) @ weights[part])
            energy += float(left_over @ (left_over * preconditioner[part]))
        if error <= goal:
            return direction, used, True
        growth = energy / previous
        for part in parts:
            search[part] = growth * search[part] + remainder[part] * preconditioner[part]
    if not direction.any():
        direction = right_side * preconditioner
    return direction, used, False


def _without_constants(
    values: FloatArray, rows: FloatArray, blocks: NDArray[np.intp] | None
) -> FloatArray:
    """Make the sum over each block zero: no step can change what constants add up to.

    May be done in place.

    Each row gives in proportion to its target, so that small ones keep their digits.
    """
    if blocks is None:
        values -= rows * (values.sum() / rows.sum())
        return values
    share = np.bincount(blocks, values) / np.bincount(blocks, rows)
    return np.asarray(values - rows * share[blocks])
