"""`scale`: check the question, look at the zeros, pick a solver, measure the answer."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from deconfuse._checks import is_whole_number
from deconfuse.errors import InputError
from deconfuse.scaling.arguments import make_problem
from deconfuse.scaling.ipf import ipf
from deconfuse.scaling.kernels import DenseKernel, Kernel, make_kernel
from deconfuse.scaling.newton import newton_direct
from deconfuse.scaling.newton_krylov import newton_krylov
from deconfuse.scaling.problem import FloatArray, ScalingProblem, drop_cells
from deconfuse.scaling.ras import ras
from deconfuse.scaling.solution import Scaling, ScalingStatus
from deconfuse.scaling.support import Support, find_support, row_blocks
from deconfuse.scaling.sweeps import sweep

__all__ = ["Solver", "scale"]

Solver = Literal["auto", "newton", "ipf", "ras"]

_DEFAULT_HALF_STEPS = 200_000
_DEFAULT_NEWTON_STEPS = 500
# Below this size a direct solve costs less than the overhead of conjugate gradients.
_DIRECT_SIZE = 200
# Larger dense systems than this are solved by conjugate gradients alone.
_LARGEST_DIRECT_SIZE = 6000
_WARM_UP_SWEEPS = 3
# Where Newton stalls, as many sweeps as this before it is tried again.
_SWEEPS_BETWEEN = 200


def scale(
    matrix: ArrayLike | sparse.sparray | sparse.spmatrix,
    rows: ArrayLike | None = None,
    columns: ArrayLike | None = None,
    *,
    solver: Solver = "auto",
    epsilon: float = 0.0,
    tolerance: float = 1e-10,
    max_iterations: int | None = None,
    throw: bool = True,
) -> Scaling:
    r"""Scale the rows and columns of a non-negative matrix so that its margins meet their targets.

    Finds positive factors such that ``left[i] * (matrix[i, j] + epsilon) * right[j]`` has the row
    sums ``rows`` and the column sums ``columns``. The result is the closest matrix with these
    margins in Kullback-Leibler divergence.

    Parameters
    ----------
    matrix : array-like of shape (n_rows, n_columns) or (n_matrices, n_rows, n_columns), or sparse
        Non-negative entries. A stack is scaled all at once. It is never written to.
    rows, columns : array-like, optional
        Positive target margins of equal total. Rows default to ones; columns share the total. For
        a stack, either is shared by all matrices or has one row of targets a matrix.
    solver : {"auto", "newton", "ipf", "ras"}
        ``"ipf"`` and ``"ras"`` are Algorithms 1 and 2 of the paper; ``"newton"`` is second order;
        ``"auto"`` picks what is fastest for the problem and reports it in ``Scaling.solver``.
    epsilon : float
        Added to every cell. It stays a rank-one part of a sparse matrix.
    tolerance : float
        Largest residual, the L1 distance of both margins to their targets, added. Where the total
        of the margins is so large that rounding alone exceeds it, 16 units of rounding of the total
        are allowed instead; ``Scaling.problem.tolerance`` is what was used.
    max_iterations : int, optional
        Half steps of ``"ipf"`` and ``"ras"`` (default 200,000), sweeps and Newton steps otherwise
        (by default 500 Newton steps after as many sweeps as pay, and again where they stall).
    throw : bool
        Raise `NotScalableError`, with the result in ``.solution``, unless the result converged.

    Returns
    -------
    Scaling

    Raises
    ------
    InputError
        When an argument cannot be used.
    NotScalableError
        When the margins are not met and ``throw`` is true.

    Notes
    -----
    With ``epsilon=0`` the zeros decide, before any iteration, whether the margins can be met
    exactly (total support), only in the limit, or not at all. In the limit-only case ``"auto"`` and
    ``"newton"`` return the limit itself: the factors hold on the cells that stay, and ``vanishing``
    lists the others. ``"ipf"`` and ``"ras"`` crawl towards it with ``throw=False``; with ``throw``
    the error is raised at once and has the limit attached.

    References
    ----------
    .. [1] Erbani et al., "On the Normalization of Confusion Matrices", 2025, Algorithms 1 and 2.
    .. [2] Knight and Ruiz, "A fast algorithm for matrix balancing", IMA J. Numer. Anal., 2013.

    Examples
    --------
    >>> import deconfuse as dc
    >>> s = dc.scale([[90, 10], [5, 5]], rows=[1, 1], columns=[1, 1])
    >>> s.matrix.round(3)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    >>> s = dc.scale([[5, 1], [0, 5]], throw=False)
    >>> s.status.name, s.vanishing.tolist()
    ('LIMIT_ONLY', [[0, 1]])
    """
    if solver not in get_args(Solver):
        names = ", ".join(f'"{name}"' for name in get_args(Solver))
        raise InputError(f"`solver` must be one of {names}, got {solver!r}.")
    if max_iterations is not None and (not is_whole_number(max_iterations) or max_iterations < 1):
        raise InputError(
            f"`max_iterations` must be a whole number of at least 1, got {max_iterations!r}."
        )
    problem = make_problem(matrix, rows, columns, epsilon, tolerance)
    if len(problem.shape) == 3:
        solution = _scale_stack(problem, solver, max_iterations, throw)
    else:
        solution = _scale_one(problem, solver, max_iterations, throw)
    if throw:
        solution.raise_if_failed()
    return solution


def _scale_one(problem: ScalingProblem, solver: Solver, most: int | None, throw: bool) -> Scaling:
    support = _look_at_zeros(problem)
    if support is not None and not support.is_feasible:
        return _infeasible(problem, support, solver)
    is_reference = solver in ("ipf", "ras")
    if support is None or support.is_total or (is_reference and not throw):
        log_left, log_right, iterations, name = _run(problem, solver, most)
    else:
        if is_reference:
            # It will raise whatever the iterations give: attach the limit rather than crawl to it.
            solver, most = "auto", None
        kept = _without(problem, support)
        log_left, log_right, iterations, name = _run(kept, solver, most)
        # The residual of the limit is that of the kept cells, which is what `matrix` shows.
        residuals = kept.residuals(log_left, log_right)
        status = _status(float(residuals[0]), problem.tolerance, log_left, log_right)
        if status is ScalingStatus.CONVERGED:
            return Scaling(
                problem, log_left, log_right, iterations, name,
                (ScalingStatus.LIMIT_ONLY,), residuals, vanishing=support.vanishing,
            )  # fmt: skip
        # Targets that differ by next to nothing: a cell may carry too little for the flow to see.
        support = None
        log_left, log_right, iterations, name = _run(problem, solver, most)
    with np.errstate(over="ignore", invalid="ignore"):
        residuals = problem.residuals(log_left, log_right)
    vanishing = support.vanishing if support is not None else np.empty((0, 2), dtype=np.intp)
    status = _status(float(residuals[0]), problem.tolerance, log_left, log_right)
    if vanishing.size:
        # Algorithms 1 and 2 only approach the limit, so a small residual proves nothing here.
        status = ScalingStatus.LIMIT_ONLY
    return Scaling(
        problem, log_left, log_right, iterations, name, (status,), residuals, vanishing=vanishing
    )


def _scale_stack(problem: ScalingProblem, solver: Solver, most: int | None, throw: bool) -> Scaling:
    low, _ = problem.smallest_and_largest
    size = problem.shape[-2]
    if solver in ("ipf", "ras") or low == 0.0 or size > _DIRECT_SIZE or problem.spans_many_decades:
        return _scale_each(problem, solver, most, throw)
    base = problem.positive
    sweeps = min(_WARM_UP_SWEEPS, most or _WARM_UP_SWEEPS)
    left = problem.rows / base.sum(axis=-1)
    for _ in range(sweeps - 1):
        right = problem.columns / (left[:, None, :] @ base)[:, 0, :]
        left = problem.rows / (base @ right[:, :, None])[:, :, 0]
    scaled = left[:, :, None] * base
    right = problem.columns / scaled.sum(axis=1)
    scaled *= right[:, None, :]
    log_left, log_right, steps, _ = newton_direct(
        scaled,
        problem.rows,
        problem.columns,
        0.5 * problem.tolerance,
        _DEFAULT_NEWTON_STEPS if most is None else most - sweeps,
    )
    log_left += np.log(left)
    log_right += np.log(right)
    _balance(log_left, log_right)
    residuals = problem.residuals(log_left, log_right)
    if most is None:
        # What is too hard for one Newton of all together is given the time it needs.
        members = list(problem.members())
        for k in np.flatnonzero(~(residuals <= problem.tolerance)):
            log_left[k], log_right[k], alone, _ = _run(members[k], solver, None)
            residuals[k] = members[k].residuals(log_left[k], log_right[k])[0]
            steps = max(steps, alone)
    statuses = tuple(
        _status(float(residual), problem.tolerance, x, y)
        for residual, x, y in zip(residuals, log_left, log_right, strict=True)
    )
    return Scaling(problem, log_left, log_right, steps + sweeps, "newton", statuses, residuals)


def _scale_each(problem: ScalingProblem, solver: Solver, most: int | None, throw: bool) -> Scaling:
    """Scale the matrices of a stack one by one, where nothing is gained by doing it at once."""
    parts = [_scale_one(member, solver, most, throw) for member in problem.members()]
    vanishing = [
        np.column_stack([np.full(len(part.vanishing), k), part.vanishing])
        for k, part in enumerate(parts)
    ]
    blocked = next((p for p in parts if p.status is ScalingStatus.INFEASIBLE), parts[0])
    return Scaling(
        problem,
        np.stack([part.log_left for part in parts]),
        np.stack([part.log_right for part in parts]),
        max(part.iterations for part in parts),
        max((part.solver for part in parts), key=[part.solver for part in parts].count),
        tuple(part.status for part in parts),
        np.concatenate([part.residuals for part in parts]),
        vanishing=np.concatenate(vanishing),
        blocking_rows=blocked.blocking_rows,
        blocking_columns=blocked.blocking_columns,
        has_empty_lines=blocked.has_empty_lines,
    )


def _run(
    problem: ScalingProblem, solver: Solver, most: int | None
) -> tuple[FloatArray, FloatArray, int, str]:
    if solver in ("ipf", "ras"):
        algorithm = ipf if solver == "ipf" else ras
        # The residual is measured anew on the result; rounding must not put it past the tolerance.
        goal = problem.tolerance * (1.0 - 1e-3)
        return *algorithm(problem, goal, most or _DEFAULT_HALF_STEPS), solver
    # The Hessian has the size of the rows, so let these be the shorter side.
    if problem.shape[0] > problem.shape[1]:
        log_right, log_left, iterations, name = _run(problem.transposed(), solver, most)
        return log_left, log_right, iterations, name
    kernel = make_kernel(problem)
    size = problem.shape[0]
    goal = 0.5 * problem.tolerance
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        affordable = _affordable_sweeps(size) if solver == "auto" else float(_WARM_UP_SWEEPS)
        swept = sweep(
            kernel,
            problem.rows,
            problem.columns,
            problem.tolerance,
            affordable=affordable,
            most=most,
        )
        iterations, name = swept.count, "ras"
        if swept.residual > goal:
            left = None if most is None else most - swept.count
            steps, name = _newton_and_sweeps(kernel, problem, goal, left)
            iterations += steps
        elif solver == "newton":
            name = "newton"
    _balance(kernel.log_left, kernel.log_right)
    return kernel.log_left, kernel.log_right, iterations, name


def _newton_and_sweeps(
    kernel: Kernel, problem: ScalingProblem, goal: float, most: int | None
) -> tuple[int, str]:
    """Run Newton; where it stalls, let sweeps bring it to where it does not, while that helps."""
    rows, columns = problem.rows, problem.columns
    last_gap = np.inf
    count = 0
    while True:
        steps, gap, name = _newton(
            kernel, problem, goal, _DEFAULT_NEWTON_STEPS if most is None else most - count
        )
        count += steps
        if not goal < gap < 0.5 * last_gap or count == most:
            return count, name
        last_gap = gap
        swept = sweep(
            kernel, rows, columns, problem.tolerance,
            affordable=np.inf,
            most=_SWEEPS_BETWEEN if most is None else min(_SWEEPS_BETWEEN, most - count),
        )  # fmt: skip
        count += swept.count
        if not swept.residual > goal or count == most:
            return count, name


def _newton(
    kernel: Kernel, problem: ScalingProblem, goal: float, most: int
) -> tuple[int, float, str]:
    """Run Newton by conjugate gradients, by a direct solve, or by the second after the first.

    Returns the steps taken, the gap of the row sums that is left, and what ran.
    """
    size = problem.shape[0]
    rows, columns = problem.rows, problem.columns
    is_direct = isinstance(kernel, DenseKernel) and size <= _LARGEST_DIRECT_SIZE
    steps = 0
    if not is_direct or size > _DIRECT_SIZE:
        # A direct solve costs about as much as this many products; beyond them it is cheaper.
        budget = max(20, size // 12) if is_direct else None
        run = newton_krylov(
            kernel, rows, columns, goal,
            max_steps=most, max_products=budget, blocks=_blocks(problem),
        )  # fmt: skip
        steps = run.steps
        if not (run.gave_up and is_direct):
            return steps, run.gap, "newton-cg"
    assert isinstance(kernel, DenseKernel)
    log_left, log_right, direct_steps, gap = newton_direct(
        kernel.matrix[None], rows, columns, goal, most - steps
    )
    kernel.log_left += log_left[0]
    kernel.log_right += log_right[0]
    return steps + direct_steps, gap, "newton"


def _blocks(problem: ScalingProblem) -> NDArray[np.intp] | None:
    low, _ = problem.smallest_and_largest
    return None if low > 0.0 else row_blocks(problem.matrix)


def _affordable_sweeps(size: int) -> float:
    """Return how many sweeps cost as much as finishing by Newton (see benchmarks/scaling.py)."""
    if size <= 50:
        return 25.0
    return 45.0 if size <= _DIRECT_SIZE else 20.0


def _look_at_zeros(problem: ScalingProblem) -> Support | None:
    low, _ = problem.smallest_and_largest
    if low > 0.0:
        return None
    return find_support(problem.matrix, problem.rows, problem.columns)


def _without(problem: ScalingProblem, support: Support) -> ScalingProblem:
    """Return the problem without the cells that vanish in the limit."""
    kept = problem.matrix.copy()
    cells = support.vanishing
    if isinstance(kept, np.ndarray):
        kept[cells[:, 0], cells[:, 1]] = 0.0
    else:
        kept = drop_cells(kept, cells)
    return ScalingProblem(kept, 0.0, problem.rows, problem.columns, problem.tolerance)


def _infeasible(problem: ScalingProblem, support: Support, solver: Solver) -> Scaling:
    log_left = np.zeros(problem.shape[0])
    log_right = np.zeros(problem.shape[1])
    return Scaling(
        problem, log_left, log_right, 0, solver, (ScalingStatus.INFEASIBLE,),
        problem.residuals(log_left, log_right),
        blocking_rows=support.blocking_rows, blocking_columns=support.blocking_columns,
        has_empty_lines=support.has_empty_lines,
    )  # fmt: skip


def _status(
    residual: float, tolerance: float, log_left: FloatArray, log_right: FloatArray
) -> ScalingStatus:
    """Judge a result by what was measured."""
    if residual <= tolerance:
        return ScalingStatus.CONVERGED
    is_finite = np.isfinite(log_left).all() and np.isfinite(log_right).all()
    if not is_finite or not np.isfinite(residual):
        return ScalingStatus.NOT_FINITE
    return ScalingStatus.MAX_ITERATIONS


def _balance(log_left: FloatArray, log_right: FloatArray) -> None:
    """Share the free constant evenly between the two sides, so that both stay in range."""
    shift = 0.5 * (log_left.mean(axis=-1, keepdims=True) - log_right.mean(axis=-1, keepdims=True))
    log_left -= shift
    log_right += shift
