r"""Newton's method with a direct solve, for dense matrices and stacks of them.

With the column factors eliminated by a column step, scaling is the minimization of the convex

.. math:: f(x) = \sum_j v_j \log \sum_i M_{ij} e^{x_i} - u \cdot x,

whose gradient is the gap of the row sums and whose Hessian, with P the matrix scaled so far, is
:math:`\mathrm{diag}(P 1) - P\,\mathrm{diag}(1/v)\,P^\top`: the Laplacian of a weighted graph on the
rows. Plain sweeps crawl where that graph has weak links, as for every accurate classifier; Newton
does not. Near relatives: Knight and Ruiz (2013), and semi-dual methods of optimal transport.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from deconfuse.scaling.line_search import up_to_the_minimum
from deconfuse.scaling.problem import FloatArray

__all__ = ["newton_direct"]

_SUFFICIENT_DECREASE = 1e-4
# exp of a step this long stays far from overflow.
_LONGEST_STEP = 100.0
_STALL_STEPS = 6


def newton_direct(
    matrix: FloatArray, rows: FloatArray, columns: FloatArray, tolerance: float, max_steps: int
) -> tuple[FloatArray, FloatArray, int, float]:
    """Scale a stack of matrices whose columns already meet their targets.

    Parameters
    ----------
    matrix : ndarray of shape (n_matrices, n_rows, n_columns)
        Scaled so far, and written to.
    rows, columns : ndarray
        Target margins, shared by all matrices or one row a matrix.
    tolerance : float
        Largest L1 gap of the row sums.
    max_steps : int
        Newton steps at most.

    Returns
    -------
    log_left, log_right : ndarray
        Logarithms of the factors found, relative to ``matrix`` as given.
    steps : int
        Newton steps taken.
    gap : float
        Largest L1 gap of the row sums that was left when the last matrix ended.
    """
    log_left = np.zeros(matrix.shape[:2])
    log_right = np.zeros((matrix.shape[0], matrix.shape[2]))
    members = np.arange(matrix.shape[0])
    active = matrix
    best_gap = np.full(members.size, np.inf)
    since_best = np.zeros(members.size, dtype=np.intp)
    steps = 0
    while True:
        gradient = active.sum(axis=-1) - rows
        gap = np.abs(gradient).sum(axis=-1)
        since_best = np.where(gap < 0.5 * best_gap, 0, since_best + 1)
        best_gap = np.minimum(gap, best_gap)
        going = gap > tolerance
        going &= np.isfinite(gap)
        going &= since_best <= 4 * _STALL_STEPS
        if steps == max_steps or not going.any():
            break
        if not going.all():
            members, active = members[going], active[going]
            gradient, gap = gradient[going], gap[going]
            best_gap, since_best = best_gap[going], since_best[going]
            if rows.ndim == 2:
                rows, columns = rows[going], columns[going]
        direction = _newton_direction(
            active, gradient, columns, bool((since_best > _STALL_STEPS).any())
        )
        length = _step_length(active, direction, gradient, rows, columns)
        change = length[:, None] * direction
        active *= np.exp(change)[:, :, None]
        column_step = columns / active.sum(axis=1)
        active *= column_step[:, None, :]
        log_left[members] += change
        log_right[members] += np.log(column_step)
        steps += 1
    return log_left, log_right, steps, float(gap.max())


def _step_length(
    matrix: FloatArray,
    direction: FloatArray,
    gradient: FloatArray,
    rows: FloatArray,
    columns: FloatArray,
) -> FloatArray:
    """Return a step length for each matrix of a stack by backtracking on the dual function."""
    slope = (gradient * direction).sum(axis=-1)
    spread = np.ptp(direction, axis=-1)
    length = np.minimum(1.0, _LONGEST_STEP / np.maximum(spread, 1e-300))
    linear = (direction * rows).sum(axis=-1)
    # f is a sum of about this size, so smaller changes drown in rounding and prove nothing.
    noise = 1e-13 * rows.sum(axis=-1)
    for _ in range(60):
        moved = np.exp(length[:, None] * direction)[:, None, :] @ matrix
        growth = (np.log(moved[:, 0, :] / columns) * columns).sum(axis=-1) - length * linear
        too_long = ~(growth <= _SUFFICIENT_DECREASE * length * slope + noise)
        if not too_long.any():
            break
        length = np.where(too_long, 0.5 * length, length)
    is_trusted = length == 1.0
    if is_trusted.all():
        return length

    def slope_at(length: FloatArray) -> FloatArray:
        left = np.exp(length[:, None] * direction)
        right = columns / (left[:, None, :] @ matrix)[:, 0, :]
        row_sums = left * (matrix @ right[:, :, None])[:, :, 0]
        slopes: FloatArray = ((row_sums - rows) * direction).sum(axis=-1)
        return slopes

    return np.where(is_trusted, length, up_to_the_minimum(slope_at, length, slope))


def _newton_direction(
    matrix: FloatArray, gradient: FloatArray, columns: FloatArray, is_stalled: bool
) -> FloatArray:
    """Solve the Laplacian system for the Newton direction, which sums to zero."""
    roots = matrix / np.sqrt(columns)[..., None, :]
    links = roots @ roots.swapaxes(-1, -2)
    size = links.shape[-1]
    diagonal = np.arange(size)
    links[:, diagonal, diagonal] = 0.0
    if not is_stalled:
        direction = _solve_shifted(links, -gradient)
        if np.isfinite(direction).all() and ((gradient * direction).sum(axis=-1) < 0).all():
            return direction
    return _solve_without_subtraction(links, -gradient)


def _solve_shifted(links: FloatArray, right_side: FloatArray) -> FloatArray:
    """Solve ``(L + shift 11ᵀ) x = b`` for the Laplacian L of ``links``; 1 is its null vector."""
    degrees = links.sum(axis=-1)
    size = links.shape[-1]
    shift = degrees.mean(axis=-1) / size
    system = shift[:, None, None] - links
    diagonal = np.arange(size)
    system[:, diagonal, diagonal] += degrees
    if links.shape[0] == 1:
        _, solution, info = lapack.dposv(system[0], right_side[0], lower=1, overwrite_a=1)
        answer: FloatArray = solution[None, :] if info == 0 else np.full_like(right_side, np.nan)
        return answer
    try:
        return np.linalg.solve(system, right_side[..., None])[..., 0]
    except np.linalg.LinAlgError:
        return np.full_like(right_side, np.nan)


def _solve_without_subtraction(links: FloatArray, right_side: FloatArray) -> FloatArray:
    """Solve a Laplacian system by the elimination of Grassmann, Taksar and Heyman.

    Every pivot is a sum of non-negative links, never a difference, so that a link of 1e-30 between
    two blocks is resolved as well as one of 1. A row without any link left is the last of its
    block: blocks that share no column are scaled apart, each with a free constant, here zero.
    """
    links = links.copy()
    right_side = right_side.copy()
    n_matrices, size = right_side.shape
    pivots = np.ones((n_matrices, size))
    for k in range(size - 1, 0, -1):
        row = links[:, k, :k]
        pivot = row.sum(axis=-1)
        pivot[pivot == 0.0] = np.inf
        share = row / pivot[:, None]
        links[:, :k, :k] += row[:, :, None] * share[:, None, :]
        right_side[:, :k] += share * right_side[:, k : k + 1]
        pivots[:, k] = pivot
    solution = np.zeros_like(right_side)
    for k in range(1, size):
        known = (links[:, k, :k] * solution[:, :k]).sum(axis=-1)
        solution[:, k] = (right_side[:, k] + known) / pivots[:, k]
    centred: FloatArray = solution - solution.mean(axis=-1, keepdims=True)
    return centred
