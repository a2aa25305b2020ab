"""What every solver must obey: margins met, agreement, sparse as dense, a stack as its members."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

import deconfuse as dc
from deconfuse.scaling import ScalingStatus, Solver
from tests.properties.registry import SOLVERS, missing_solvers
from tests.properties.strategies import Array, count_matrices, diagonals, positive_matrices

solvers = pytest.mark.parametrize("solver", SOLVERS)


def residual(matrix: Array, rows: Array, columns: Array) -> float:
    return float(np.abs(matrix.sum(1) - rows).sum() + np.abs(matrix.sum(0) - columns).sum())


def test_every_solver_is_registered() -> None:
    assert not missing_solvers()


@solvers
@given(matrix=positive_matrices(square=False, decades=1.0), data=st.data())
def test_any_positive_margins_are_met(solver: Solver, matrix: Array, data: st.DataObject) -> None:
    rows = data.draw(diagonals(matrix.shape[0], decades=1.0))
    columns = data.draw(diagonals(matrix.shape[1], decades=1.0))
    columns = columns * (rows.sum() / columns.sum())
    s = dc.scale(matrix, rows, columns, solver=solver)
    assert s.status is ScalingStatus.CONVERGED
    np.testing.assert_allclose(
        s.residual, residual(s.matrix, rows, columns), atol=1e-14 * rows.sum()
    )
    assert residual(s.matrix, rows, columns) <= 1e-10 * rows.sum()
    np.testing.assert_allclose(s.matrix.sum(axis=1), rows, rtol=1e-9)
    np.testing.assert_allclose(s.matrix.sum(axis=0), columns, rtol=1e-9)
    np.testing.assert_allclose(s.left[:, None] * matrix * s.right, s.matrix, rtol=1e-12)


@given(matrix=positive_matrices(square=False, decades=1.0))
def test_solvers_agree(matrix: Array) -> None:
    reference = dc.scale(matrix, solver="ipf").matrix
    for solver in SOLVERS:
        np.testing.assert_allclose(dc.scale(matrix, solver=solver).matrix, reference, atol=1e-8)


@given(matrix=positive_matrices(decades=9.0))
def test_auto_converges_on_every_positive_matrix(matrix: Array) -> None:
    s = dc.scale(matrix)
    assert s.residual <= 1e-10


@given(matrix=positive_matrices(square=False, decades=6.0), data=st.data())
def test_auto_meets_margins_of_nine_decades(matrix: Array, data: st.DataObject) -> None:
    rows = data.draw(diagonals(matrix.shape[0], decades=4.5))
    columns = data.draw(diagonals(matrix.shape[1], decades=4.5))
    rows, columns = rows / rows.sum(), columns / columns.sum()
    for given_as in (np.asarray, sparse.csr_array):
        s = dc.scale(given_as(matrix), rows, columns)
        assert s.residual <= 1e-10


@given(parts=st.lists(positive_matrices(decades=2.0, largest=4), min_size=2, max_size=3))
def test_blocks_that_share_no_column_are_scaled_apart(parts: list[Array]) -> None:
    size = sum(map(len, parts))
    order = np.random.default_rng(size).permutation(size)
    blocks = sparse.block_diag(parts, format="csr").toarray()[:, order]
    apart = sparse.block_diag([dc.scale(part).matrix for part in parts]).toarray()[:, order]
    for matrix in (blocks, sparse.csr_array(blocks)):
        s = dc.scale(matrix)
        assert s.status is ScalingStatus.CONVERGED
        scaled = s.matrix.toarray() if sparse.issparse(s.matrix) else s.matrix
        np.testing.assert_allclose(scaled, apart, atol=1e-8)


@given(counts=count_matrices(), data=st.data())
def test_margins_of_a_table_with_the_same_zeros_are_met(
    counts: NDArray[np.int64], data: st.DataObject
) -> None:
    cells = data.draw(diagonals(counts.size, decades=4.0)).reshape(counts.shape)
    table = np.where(counts > 0, cells, 0.0)
    seen_rows, seen_columns = table.any(axis=1), table.any(axis=0)
    matrix, table = (m[np.ix_(seen_rows, seen_columns)] for m in (counts, table))
    table /= table.sum()
    s = dc.scale(matrix, table.sum(axis=1), table.sum(axis=0))
    assert s.status is ScalingStatus.CONVERGED


@given(matrix=positive_matrices(square=False))
def test_transposing_the_problem_transposes_the_answer(matrix: Array) -> None:
    rows = np.ones(matrix.shape[0])
    columns = np.full(matrix.shape[1], matrix.shape[0] / matrix.shape[1])
    there = dc.scale(matrix, rows, columns).matrix
    back = dc.scale(matrix.T, columns, rows).matrix.T
    np.testing.assert_allclose(there, back, rtol=1e-6, atol=1e-10)


@solvers
@given(counts=count_matrices(), epsilon=st.sampled_from([0.1, 1.0]))
def test_sparse_equals_dense(solver: Solver, counts: Array, epsilon: float) -> None:
    dense = dc.scale(counts, epsilon=epsilon, solver=solver)
    scarce = dc.scale(sparse.csr_array(counts), epsilon=epsilon, solver=solver)
    np.testing.assert_allclose(scarce.matrix, dense.matrix, atol=1e-9)


@given(counts=count_matrices())
def test_zeros_give_the_same_verdict_sparse_and_dense(counts: Array) -> None:
    dense = dc.scale(counts, throw=False)
    scarce = dc.scale(sparse.csr_array(counts), throw=False)
    assert dense.status is scarce.status
    np.testing.assert_array_equal(dense.vanishing, scarce.vanishing)
    np.testing.assert_array_equal(dense.blocking_rows, scarce.blocking_rows)
    if dense.status is ScalingStatus.CONVERGED:
        np.testing.assert_allclose(scarce.matrix.toarray(), dense.matrix, atol=1e-8)
        assert ((counts == 0) == (dense.matrix == 0)).all()


@given(counts=count_matrices(largest=5))
def test_the_verdict_on_zeros_is_what_sweeps_do(counts: Array) -> None:
    """A convex program knows nothing of matchings, and must find the same cells to vanish."""
    from scipy.optimize import linprog

    s = dc.scale(counts, throw=False)
    size = counts.shape[0]
    cells = np.argwhere(counts > 0)
    constraints = np.zeros((2 * size, len(cells)))
    for k, (i, j) in enumerate(cells):
        constraints[i, k] = constraints[size + j, k] = 1.0
    targets = np.ones(2 * size)
    highest = [
        linprog(-np.eye(len(cells))[k], A_eq=constraints, b_eq=targets, bounds=(0, 1))
        for k in range(len(cells))
    ]
    is_feasible = highest[0].status == 0
    assert (s.status is ScalingStatus.INFEASIBLE) == (not is_feasible)
    if is_feasible:
        vanishing = {tuple(cells[k]) for k, answer in enumerate(highest) if -answer.fun < 1e-7}
        assert {tuple(cell) for cell in s.vanishing} == vanishing


@given(seed=st.integers(0, 2**32 - 1), epsilon=st.sampled_from([1e-3, 0.1]))
def test_a_stack_equals_its_members(seed: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    stack = rng.poisson(rng.gamma(0.5, 20, (6, 5, 5)) + 20 * np.eye(5)).astype(float)
    together = dc.scale(stack, epsilon=epsilon)
    for k, member in enumerate(stack):
        alone = dc.scale(member, epsilon=epsilon)
        np.testing.assert_allclose(together.matrix[k], alone.matrix, atol=1e-9)
        np.testing.assert_allclose(together.left[k], alone.left, rtol=1e-6)


@given(matrix=positive_matrices())
def test_the_callers_arrays_stay_as_they_were(matrix: Array) -> None:
    before = matrix.copy()
    margins = np.full(len(matrix), 2.0)
    for solver in SOLVERS:
        dc.scale(matrix, margins, margins, solver=solver, throw=False, max_iterations=10)
    np.testing.assert_array_equal(matrix, before)
    np.testing.assert_array_equal(margins, 2.0)
