r"""Newton's method with a direct solve, for dense matrices and stacks of them.

With the column factors eliminated by a column step, scaling is the minimization of the convex

.. math:: f(x) = \sum_j v_j \log \sum_i M_{ij} e^{x_i} - u \cdot x,

whose gradient is the gap of the row sums and whose Hessian, with P the matrix scaled so far, is
:math:`\mathrm{diag}(P 1) - P\,\mathrm{diag}(1/v)\,P^\top`: the Laplacian of a weighted graph on the
rows. Plain sweeps crawl where that graph has weak links, as for every accurate classifier; Newton
does not. Near relatives: Knight and Ruiz (2013), and semi-dual methods of optimal transport.

The third derivative of f along a direction is at most its spread (largest minus smallest component)
times the second, so a full step of spread 1 or less always descends and needs no line search.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from deconfuse.scaling.factors import Factors, FloatArray
from deconfuse.scaling.kernels import DenseKernel, Kernel, dot
from deconfuse.scaling.problem import ScalingProblem

__all__ = ["newton_direct", "newton_stack", "step_along"]

SAFE_SPREAD = 1.0
# exp of a step this long stays far from overflow.
LONGEST_STEP = 100.0
_SUFFICIENT_DECREASE = 1e-4
_STALL_STEPS = 6
_HALVINGS = 40
# Farthest that two neighbouring groups of rows are moved from each other in one step.
_WIDEST_GAP = 30.0
# The dual function is a sum of about the total of the targets, so changes below this share of it
# drown in rounding and prove nothing.
_NOISE = 1e-13
# Share of the first slope that may be left, either way, where the search ends.
_SLOPE_LEFT = 0.3


def newton_direct(
    kernel: DenseKernel, problem: ScalingProblem, goal: float, max_steps: int
) -> tuple[int, float]:
    """Scale a kernel whose columns already meet their targets.

    Returns the steps taken and the error of the row sums that is left.
    """
    rows, columns, weights = problem.rows, problem.columns, problem.row_weights
    roots = np.sqrt(columns)
    best, since_best, steps = np.inf, 0, 0
    while True:
        gradient = kernel.row_sums()
        gradient -= rows
        error = float(np.abs(gradient).dot(weights))
        since_best = 0 if error < 0.5 * best else since_best + 1
        best = min(error, best)
        if not goal < error < np.inf or since_best > 4 * _STALL_STEPS or steps == max_steps:
            return steps, error
        direction = _direction(kernel.matrix, gradient, roots, since_best > _STALL_STEPS)
        row_step, column_sums = step_along(kernel, direction, gradient, problem)
        kernel.multiply(row_step, columns / column_sums)
        steps += 1


def newton_stack(
    matrix: FloatArray, problem: ScalingProblem, goal: float, max_steps: int
) -> tuple[Factors, Factors, int]:
    """Scale a stack of matrices whose columns already meet their targets; it is written to.

    Returns the factors found, relative to the stack as given, and the steps taken. What stalls is
    left as it is.
    """
    rows = np.broadcast_to(problem.rows, matrix.shape[:2])
    columns = np.broadcast_to(problem.columns, matrix.shape[::2])
    weights = np.broadcast_to(problem.row_weights, matrix.shape[:2])
    left, right = np.ones(matrix.shape[:2]), np.ones(matrix.shape[::2])
    members = np.arange(len(matrix))
    best = np.full(len(matrix), np.inf)
    since_best = np.zeros(len(matrix), dtype=np.intp)
    steps = 0
    while True:
        gradient = matrix.sum(axis=-1) - rows[members]
        error = (np.abs(gradient) * weights[members]).sum(axis=-1)
        since_best[members] = np.where(error < 0.5 * best[members], 0, since_best[members] + 1)
        best[members] = np.minimum(error, best[members])
        going = (error > goal) & (error < np.inf) & (since_best[members] <= _STALL_STEPS)
        if steps == max_steps or not going.any():
            return Factors.of(left), Factors.of(right), steps
        if not going.all():
            members, matrix, gradient = members[going], matrix[going], gradient[going]
        u, v = rows[members], columns[members]
        direction = _directions(matrix, gradient, v)
        row_step, column_sums = _steps(matrix, direction, gradient, u, v)
        column_step = v / column_sums
        matrix *= row_step[..., None]
        matrix *= column_step[..., None, :]
        left[members] *= row_step
        right[members] *= column_step
        steps += 1


def step_along(
    kernel: Kernel, direction: FloatArray, gradient: FloatArray, problem: ScalingProblem
) -> tuple[FloatArray, FloatArray]:
    """Return the row factors of a step along a direction, and the column sums they lead to."""
    # The square of the spread is at most twice the sum of squares.
    if 2.0 * dot(direction, direction) <= SAFE_SPREAD**2:
        return _moved(kernel, direction)
    rows, columns = problem.rows, problem.columns
    spread = float(direction.max() - direction.min())
    if spread <= SAFE_SPREAD:
        return _moved(kernel, direction)
    if spread > _WIDEST_GAP:
        direction = _without_wide_gaps(direction)
        spread = float(direction.max() - direction.min())
    slope = dot(gradient, direction)
    length = min(1.0, LONGEST_STEP / max(spread, 1e-300))
    linear = dot(direction, rows)
    noise = _NOISE * float(rows.sum())
    for _ in range(60):
        left, column_sums = _moved(kernel, length * direction)
        growth = dot(np.log(column_sums / columns), columns) - length * linear
        if growth <= _SUFFICIENT_DECREASE * length * slope + noise:
            break
        length *= 0.5
    if length == 1.0:
        return left, column_sums

    def slope_at(lengths: FloatArray) -> FloatArray:
        nonlocal left, column_sums
        left, column_sums = _moved(kernel, lengths[0] * direction)
        row_sums = left * kernel.times(columns / column_sums)
        return np.array([dot(row_sums - rows, direction)])

    up_to_the_minimum(slope_at, np.array([length]), np.array([slope]))
    return left, column_sums


def _steps(
    matrix: FloatArray,
    direction: FloatArray,
    gradient: FloatArray,
    rows: FloatArray,
    columns: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return what `step_along` does, for each matrix of a stack along its own direction."""

    def move(length: FloatArray) -> tuple[FloatArray, FloatArray]:
        left = np.exp(length[:, None] * direction)
        return left, (left[:, None, :] @ matrix)[:, 0, :]

    if 2.0 * _dot(direction, direction).max() <= SAFE_SPREAD**2:
        return move(np.ones(len(matrix)))
    spread = direction.max(axis=-1) - direction.min(axis=-1)
    slope = _dot(gradient, direction)
    length = np.minimum(1.0, LONGEST_STEP / np.maximum(spread, 1e-300))
    linear = _dot(direction, rows)
    noise = _NOISE * rows.sum(axis=-1)
    for _ in range(60):
        left, column_sums = move(length)
        growth = (np.log(column_sums / columns) * columns).sum(axis=-1) - length * linear
        too_long = ~(growth <= _SUFFICIENT_DECREASE * length * slope + noise)
        if not too_long.any():
            break
        length = np.where(too_long, 0.5 * length, length)
    is_trusted = length == 1.0
    if is_trusted.all():
        return left, column_sums

    def slope_at(length: FloatArray) -> FloatArray:
        left, column_sums = move(length)
        row_sums = left * (matrix @ (columns / column_sums)[..., None])[..., 0]
        return _dot(row_sums - rows, direction)

    return move(np.where(is_trusted, length, up_to_the_minimum(slope_at, length, slope)))


def _without_wide_gaps(direction: FloatArray) -> FloatArray:
    """Return a direction in which rows move far from each other only in small parts.

    Two groups of rows between which there is next to no link may be sent thousands of units apart,
    and a step short enough for that is no step for all others. So the gaps between components in
    order of size are cut. The result descends too: the rows above any gap have only links to lower
    ones, so that by the Laplacian system their gradients add up to less than zero.
    """
    order = np.argsort(direction)
    gaps = np.diff(direction[order], prepend=direction[order[0]])
    # Inside a group that moves by 1e29, the components differ by their rounding.
    gaps[gaps < 1e-14 * gaps.sum()] = 0.0
    cut = np.empty_like(direction)
    cut[order] = np.cumsum(np.minimum(gaps, _WIDEST_GAP))
    return np.asarray(cut - cut.mean())


def _moved(kernel: Kernel, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return row factors given by their logarithms, and the column sums they lead to."""
    left = np.exp(logs)
    return left, kernel.transposed_times(left)


def up_to_the_minimum(
    slope_at: Callable[[FloatArray], FloatArray], longest: FloatArray, slope: FloatArray
) -> FloatArray:
    """Return lengths at which functions no longer fall steeply and do not rise steeply yet.

    Far from the solution the dual function of a scaling is nearly piecewise linear: a step that
    only has to end lower than it began may end far beyond the kink it should stop at, and the next
    one would come all the way back.

    ``slope_at`` gives the slope of each function at a length, and ``slope`` are the negative ones
    at zero. At the ``longest`` lengths the functions are still lower than at zero.

    Examples
    --------
    >>> up_to_the_minimum(lambda t: np.sign(t - 1.0), np.array([64.0]), np.array([-1.0]))
    array([1.])
    """
    low, high, length = np.zeros_like(longest), longest, longest
    for _ in range(_HALVINGS):
        now = slope_at(length)
        is_good = np.abs(now) <= -_SLOPE_LEFT * slope
        is_good |= (now <= 0.0) & (length == longest)
        if is_good.all():
            break
        high = np.where(now > 0.0, length, high)
        low = np.where(now > 0.0, low, length)
        length = np.where(is_good, length, 0.5 * (low + high))
    return length


def _direction(
    matrix: FloatArray, gradient: FloatArray, roots: FloatArray, is_stalled: bool
) -> FloatArray:
    """Solve the Laplacian system of one matrix for the Newton direction.

    ``roots`` are the square roots of the column targets. Where classes are few, every call costs
    more than it computes, and so there are no more than needed.
    """
    parts = matrix / roots
    links = parts.dot(parts.T)
    every = len(links) + 1
    links.reshape(-1)[::every] = 0.0
    if not is_stalled:
        degrees = np.add.reduce(links, axis=1)
        system = -links
        diagonal = system.reshape(-1)[::every]
        diagonal[...] = degrees
        # Constants are null vectors: the row of most links is held where it is.
        diagonal[degrees.argmax()] *= 2.0
        _, direction, info = lapack.dposv(system.T, -gradient, lower=1, overwrite_a=1)
        if info == 0 and gradient.dot(direction) < 0.0:
            return direction
    return _solve_without_subtraction(links, -gradient, matrix.sum(axis=-1))


def _directions(matrix: FloatArray, gradient: FloatArray, columns: FloatArray) -> FloatArray:
    """Solve the Laplacian system of each matrix of a stack for its Newton direction.

    Constants are the null vectors of a Laplacian L of diagonal d, so ``L + d dᵀ / sum(d)`` takes
    its place: the shift has the scale of each row, however small.
    """
    parts = matrix / np.sqrt(columns)[:, None, :]
    links = parts @ parts.swapaxes(-1, -2)
    size = links.shape[-1]
    on_diagonal = np.s_[:, :: size + 1]
    links.reshape(-1, size * size)[on_diagonal] = 0.0
    degrees = links.sum(axis=-1)
    system = degrees[:, :, None] * (degrees / degrees.sum(axis=-1, keepdims=True))[:, None, :]
    system -= links
    system.reshape(-1, size * size)[on_diagonal] += degrees
    try:
        direction = np.linalg.solve(system, -gradient[..., None])[..., 0]
        # False for a direction with NaN, too.
        if _dot(gradient, direction).max() < 0.0:
            return direction
    except np.linalg.LinAlgError:
        pass
    return _solve_without_subtraction(links, -gradient, matrix.sum(axis=-1))


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the inner product of the vectors of each matrix of a stack."""
    return np.asarray(np.einsum("ki,ki->k", a, b))


def _solve_without_subtraction(
    links: FloatArray, right_side: FloatArray, row_sums: FloatArray
) -> FloatArray:
    """Solve a Laplacian system by the elimination of Grassmann, Taksar and Heyman.

    Every pivot is a sum of non-negative links, never a difference, so that a link of 1e-30 between
    two blocks is resolved as well as one of 1. A row without any link left is the last of its
    block: blocks that share no column are scaled apart, each with a free constant, here zero.

    Gaps add up to zero but for rounding, and the row that comes first takes what is left. It is the
    one of the largest sum, in which rounding is nothing: it would be the whole gap of a small one.
    """
    order = np.argsort(-row_sums, axis=-1)
    links = np.take_along_axis(links, order[..., :, None], axis=-2)
    links = np.take_along_axis(links, order[..., None, :], axis=-1)
    right_side = np.take_along_axis(right_side, order, axis=-1)
    size = right_side.shape[-1]
    pivots = np.ones_like(right_side)
    for k in range(size - 1, 0, -1):
        row = links[..., k, :k]
        pivot = row.sum(axis=-1)
        pivot = np.where(pivot == 0.0, np.inf, pivot)
        share = row / pivot[..., None]
        links[..., :k, :k] += row[..., :, None] * share[..., None, :]
        right_side[..., :k] += share * right_side[..., k : k + 1]
        pivots[..., k] = pivot
    solution = np.zeros_like(right_side)
    for k in range(1, size):
        known = (links[..., k, :k] * solution[..., :k]).sum(axis=-1)
        solution[..., k] = (right_side[..., k] + known) / pivots[..., k]
    centred = np.empty_like(solution)
    np.put_along_axis(centred, order, solution - solution.mean(axis=-1, keepdims=True), axis=-1)
    return centred
