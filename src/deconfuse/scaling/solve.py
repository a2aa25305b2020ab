"""`scale`: check the question, look at the zeros, pick a solver, measure the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from deconfuse._checks import is_whole_number
from deconfuse.errors import InputError
from deconfuse.scaling.factors import Factors, balanced, drop_cells
from deconfuse.scaling.ipf_ras import ipf, ras
from deconfuse.scaling.kernels import DenseKernel, Kernel, SparseKernel
from deconfuse.scaling.newton import newton_direct, newton_stack
from deconfuse.scaling.newton_krylov import newton_krylov
from deconfuse.scaling.problem import DEFAULT_TOLERANCE, ScalingProblem, make_problem
from deconfuse.scaling.solution import Scaling, ScalingStatus
from deconfuse.scaling.support import Support, find_support, row_blocks
from deconfuse.scaling.sweeps import sweep

__all__ = ["Solver", "scale", "solve"]

Solver = Literal["auto", "newton", "ipf", "ras"]
_SOLVERS = get_args(Solver)
# What a solver found: the two diagonals, its iterations and its name.
_Found: TypeAlias = tuple[Factors, Factors, int, str]

_DEFAULT_HALF_STEPS = 200_000
_DEFAULT_NEWTON_STEPS = 500
# Rounding alone makes errors of this size.
_SMALLEST_GOAL = 4.0 * float(np.finfo(np.float64).eps)
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
    tolerance: float = DEFAULT_TOLERANCE,
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
        a stack, either is shared by all matrices or has one row of targets per matrix.
    solver : {"auto", "newton", "ipf", "ras"}
        ``"ipf"`` and ``"ras"`` are Algorithms 1 and 2 of the paper; ``"newton"`` is second order;
        ``"auto"`` picks what is fastest for the problem and reports it in ``Scaling.solver``.
    epsilon : float
        Added to every cell. It stays a rank-one part of a sparse matrix.
    tolerance : float
        Largest residual (the L1 distance of both margins to their targets, added) as a share of
        the total. Where targets differ, errors also count relative to each target: of n rows, one
        of a small target is as accurate as the others. At least 16 units of rounding.
    max_iterations : int, optional
        Half steps of ``"ipf"`` and ``"ras"`` (default 200,000; tested after each sweep of two, as
        in the paper), sweeps and Newton steps otherwise (by default 500 Newton steps after as many
        sweeps as pay, and again where they stall).
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
    if solver not in _SOLVERS:
        names = ", ".join(f'"{name}"' for name in _SOLVERS)
        raise InputError(f"`solver` must be one of {names}, got {solver!r}.")
    if max_iterations is not None and (not is_whole_number(max_iterations) or max_iterations < 1):
        raise InputError(
            f"`max_iterations` must be a whole number of at least 1, got {max_iterations!r}."
        )
    problem = make_problem(matrix, rows, columns, epsilon, tolerance)
    solution = solve(problem, solver, max_iterations, throw=throw)
    if throw:
        solution.raise_if_failed()
    return solution


def solve(
    problem: ScalingProblem,
    solver: Solver = "auto",
    max_iterations: int | None = None,
    *,
    throw: bool = False,
) -> Scaling:
    """Return the scaling of a trusted problem; ``throw`` says that only a converged one is used."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if len(problem.shape) == 3:
            return _solve_stack(problem, solver, max_iterations, throw)
        return _solve_one(problem, solver, max_iterations, throw)


def _solve_one(problem: ScalingProblem, solver: Solver, most: int | None, throw: bool) -> Scaling:
    support = (
        find_support(problem.matrix, problem.rows, problem.columns) if problem.has_zeros else None
    )
    if support is not None and not support.is_feasible:
        return _infeasible(problem, support, solver)
    is_reference = solver in ("ipf", "ras")
    if support is None or support.is_total or (is_reference and not throw):
        found = _run(problem, solver, most)
    else:
        # With `throw`, a reference raises whatever it gives: attach the limit, do not crawl to it.
        kept = _without(problem, support)
        found = _run(kept, *(("auto", None) if is_reference else (solver, most)))
        # The residual of the limit is that of the kept cells, which is what `matrix` shows.
        limit = _judged(kept, found)
        if limit.converged:
            return Scaling(
                problem, *found, (ScalingStatus.LIMIT_ONLY,), limit.residuals, limit.errors,
                vanishing=support.vanishing,
            )  # fmt: skip
        # Targets that differ by next to nothing: a cell may carry too little for the flow to see.
        support = None
        found = _run(problem, solver, most)
    judged = _judged(problem, found)
    if support is None or support.is_total:
        return judged
    # Algorithms 1 and 2 only approach the limit, so a small residual proves nothing here.
    return Scaling(
        problem, *found, (ScalingStatus.LIMIT_ONLY,), judged.residuals, judged.errors,
        vanishing=support.vanishing,
    )  # fmt: skip


def _judged(problem: ScalingProblem, found: _Found) -> Scaling:
    """Measure what a solver found, and set the status from that alone."""
    residuals, errors = problem.measure(found[0], found[1])
    statuses = tuple(
        ScalingStatus.CONVERGED
        if error <= problem.tolerance
        else ScalingStatus.MAX_ITERATIONS
        if error < np.inf
        else ScalingStatus.NOT_FINITE
        for error in errors.tolist()
    )
    return Scaling(problem, *found, statuses, residuals, errors)


def _solve_stack(problem: ScalingProblem, solver: Solver, most: int | None, throw: bool) -> Scaling:
    base = problem.matrix
    assert isinstance(base, np.ndarray)
    is_small = problem.shape[-2] <= _DIRECT_SIZE and not problem.spans_many_decades
    if solver in ("ipf", "ras") or problem.has_zeros or not is_small:
        return _solve_each(problem, solver, most, throw)
    sweeps = min(_WARM_UP_SWEEPS, most or _WARM_UP_SWEEPS)
    left = problem.rows / base.sum(axis=-1)
    for _ in range(sweeps - 1):
        right = problem.columns / (left[:, None, :] @ base)[:, 0, :]
        left = problem.rows / (base @ right[:, :, None])[:, :, 0]
    scaled = left[:, :, None] * base
    right = problem.columns / scaled.sum(axis=1)
    scaled *= right[:, None, :]
    row_factors, column_factors, steps = newton_stack(
        scaled, problem, _goal(problem),
        _DEFAULT_NEWTON_STEPS if most is None else most - sweeps,
    )  # fmt: skip
    row_factors, column_factors = balanced(row_factors.times(left), column_factors.times(right))
    judged = _judged(problem, (row_factors, column_factors, steps + sweeps, "newton"))
    failed = [k for k, s in enumerate(judged.statuses) if s is not ScalingStatus.CONVERGED]
    if not failed or most is not None:
        return judged
    # What is too hard for one Newton of all together is given the time that it needs.
    members = list(problem.members())
    for k in failed:
        x, y, alone, _ = _run(members[k], solver, None)
        for whole, part in ((row_factors, x), (column_factors, y)):
            whole.fraction[k], whole.exponent[k] = part.fraction, part.exponent
        steps = max(steps, alone)
    found = (row_factors[:], column_factors[:], steps + sweeps, "newton")
    return _judged(problem, found)


def _solve_each(problem: ScalingProblem, solver: Solver, most: int | None, throw: bool) -> Scaling:
    """Scale the matrices of a stack one by one, where nothing is gained by doing it at once."""
    parts = [_solve_one(member, solver, most, throw) for member in problem.members()]
    vanishing = [
        np.column_stack([np.full(len(part.vanishing), k), part.vanishing])
        for k, part in enumerate(parts)
    ]
    blocked = next((p for p in parts if p.status is ScalingStatus.INFEASIBLE), parts[0])
    return Scaling(
        problem,
        Factors.stack([part.left_factors for part in parts]),
        Factors.stack([part.right_factors for part in parts]),
        max(part.iterations for part in parts),
        max((part.solver for part in parts), key=[part.solver for part in parts].count),
        tuple(part.status for part in parts),
        np.concatenate([part.residuals for part in parts]),
        np.concatenate([part.errors for part in parts]),
        vanishing=np.concatenate(vanishing),
        blocking_rows=blocked.blocking_rows,
        blocking_columns=blocked.blocking_columns,
        has_empty_lines=blocked.has_empty_lines,
    )


def _run(problem: ScalingProblem, solver: Solver, most: int | None) -> _Found:
    if solver in ("ipf", "ras"):
        algorithm = ipf if solver == "ipf" else ras
        return *algorithm(problem, _goal(problem), most or _DEFAULT_HALF_STEPS), solver
    if problem.is_sparse and max(problem.shape) <= _DIRECT_SIZE:
        problem = problem.dense()
    # The Hessian has the size of the rows, so let these be the shorter side.
    if problem.shape[0] > problem.shape[1]:
        right, left, iterations, name = _run(problem.transposed(), solver, most)
        return left, right, iterations, name
    kernel = SparseKernel(problem) if problem.is_sparse else DenseKernel(problem)
    goal = _goal(problem)
    affordable = _affordable_sweeps(problem.shape[0]) if solver == "auto" else _WARM_UP_SWEEPS
    iterations, error = sweep(kernel, problem, goal, affordable=affordable, most=most)
    name = "ras" if solver == "auto" else "newton"
    if error > goal:
        left_over = None if most is None else most - iterations
        steps, name = _newton_and_sweeps(kernel, problem, goal, left_over)
        iterations += steps
    return *balanced(*kernel.factors()), iterations, name


def _newton_and_sweeps(
    kernel: Kernel, problem: ScalingProblem, goal: float, most: int | None
) -> tuple[int, str]:
    """Run Newton; where it stalls, let sweeps bring it to where it does not, while that helps."""
    last_error = np.inf
    count = 0
    while True:
        steps, error, name = _newton(
            kernel, problem, goal, _DEFAULT_NEWTON_STEPS if most is None else most - count
        )
        count += steps
        if not goal < error < 0.5 * last_error or count == most:
            return count, name
        last_error = error
        sweeps, error = sweep(
            kernel, problem, goal,
            affordable=np.inf,
            most=_SWEEPS_BETWEEN if most is None else min(_SWEEPS_BETWEEN, most - count),
        )  # fmt: skip
        count += sweeps
        if not error > goal or count == most:
            return count, name


def _newton(
    kernel: Kernel, problem: ScalingProblem, goal: float, most: int
) -> tuple[int, float, str]:
    """Run Newton by conjugate gradients, by a direct solve, or by the second after the first.

    Returns the steps taken, the error of the row sums that is left, and what ran.
    """
    size = problem.shape[0]
    is_direct = isinstance(kernel, DenseKernel) and size <= _LARGEST_DIRECT_SIZE
    steps = 0
    if not is_direct or size > _DIRECT_SIZE:
        # A direct solve costs about as much as this many products; beyond them it is cheaper.
        budget = max(20, size // 12) if is_direct else None
        steps, error, gave_up = newton_krylov(
            kernel, problem, goal,
            max_steps=most, max_products=budget,
            blocks=row_blocks(problem.matrix) if problem.has_zeros else None,
        )  # fmt: skip
        if not (gave_up and is_direct):
            return steps, error, "newton-cg"
    assert isinstance(kernel, DenseKernel)
    direct_steps, error = newton_direct(kernel, problem, goal, most - steps)
    return steps + direct_steps, error, "newton"


def _goal(problem: ScalingProblem) -> float:
    """Return the error at which a solver stops.

    Half the tolerance leaves room for rounding. Of few classes, where steps cost next to nothing,
    the sum of all errors meets the tolerance, not only their mean.
    """
    size = min(problem.shape[-2:])
    goal = problem.tolerance / size if size <= _DIRECT_SIZE else problem.tolerance
    return max(0.5 * goal, _SMALLEST_GOAL)


def _affordable_sweeps(size: int) -> float:
    """Return how many sweeps cost as much as finishing by Newton (see benchmarks/scaling.py)."""
    if size <= 50:
        return 25.0
    return 45.0 if size <= _DIRECT_SIZE else 20.0


def _without(problem: ScalingProblem, support: Support) -> ScalingProblem:
    """Return the problem without the cells that vanish in the limit."""
    cells = support.vanishing
    if isinstance(problem.matrix, np.ndarray):
        kept = problem.matrix.copy()
        kept[tuple(cells.T)] = 0.0
        return replace(problem, matrix=kept)
    return replace(problem, matrix=drop_cells(problem.matrix, cells))


def _infeasible(problem: ScalingProblem, support: Support, solver: Solver) -> Scaling:
    left, right = (Factors.of(np.ones(size)) for size in problem.shape)
    return Scaling(
        problem, left, right, 0, solver, (ScalingStatus.INFEASIBLE,),
        *problem.measure(left, right),
        blocking_rows=support.blocking_rows, blocking_columns=support.blocking_columns,
        has_empty_lines=support.has_empty_lines,
    )  # fmt: skip
