"""What the paper says of its algorithms and of its normalizations, in its own form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import deconfuse as dc
from deconfuse.scaling import Solver
from tests.properties.strategies import Array, diagonals, positive_matrices

references = pytest.mark.parametrize("solver", ["ipf", "ras"])


@references
@pytest.mark.parametrize(("limit", "steps"), [(1, 2), (2, 2), (3, 4), (4, 4), (9, 10)])
def test_algorithms_test_their_limit_after_a_whole_sweep(
    solver: Solver, limit: int, steps: int
) -> None:
    """Algorithms 1 and 2: T = 3 ends at t = 4, where the columns are met."""
    matrix = np.array([[5.0, 1.0, 2.0], [0.3, 4.0, 1.0], [2.0, 0.1, 7.0]])
    s = dc.scale(matrix, solver=solver, max_iterations=limit, throw=False)
    assert s.iterations == steps
    np.testing.assert_allclose(s.matrix.sum(axis=0), 1.0, rtol=1e-14)
    assert np.abs(s.matrix.sum(axis=1) - 1.0).max() > 1e-9


@given(matrix=positive_matrices(decades=2.0))
def test_lemma_1(matrix: Array) -> None:
    """Each normalization is the scaling of the matrix to its own margins."""
    for method in ("row", "col", "all"):
        normalized = dc.normalize(matrix, method).matrix
        rows, columns = normalized.sum(axis=1), normalized.sum(axis=0)
        # "row" has rows of one and "col" columns of one; what Lemma 1 asks for is the other side.
        np.testing.assert_allclose(rows if method == "row" else 1.0, 1.0)
        np.testing.assert_allclose(columns if method == "col" else 1.0, 1.0)
        fitted = dc.scale(matrix, rows, columns).matrix
        np.testing.assert_allclose(fitted, normalized, rtol=1e-7, atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(3, 6))
def test_ipf_converges_linearly_at_the_rate_of_the_second_singular_value(
    seed: int, size: int
) -> None:
    """The residual of each sweep tends to sigma_2 squared times that of the sweep before."""
    rng = np.random.default_rng(seed)
    limit = dc.scale(rng.gamma(2.0, 1.0, (size, size)) + size * np.eye(size)).matrix
    _, singular_values, directions = np.linalg.svd(limit)
    second = singular_values[1] ** 2
    assume(second > 0.01)
    # Near the limit, a step along the second singular direction leaves the others at rest.
    matrix = limit * np.exp(1e-4 * directions[1])
    before, after = (
        dc.scale(matrix, solver="ipf", max_iterations=2 * sweeps, tolerance=1e-15, throw=False)
        for sweeps in (1, 2)
    )
    assert after.residual / before.residual == pytest.approx(second, rel=0.01)


@given(size=st.integers(2, 6), data=st.data())
def test_row_col_and_bi_agree_on_diagonal_matrices(size: int, data: st.DataObject) -> None:
    matrix = np.diag(data.draw(diagonals(size)))
    for method in ("row", "col", "bi"):
        np.testing.assert_allclose(
            dc.normalize(matrix, method, epsilon=0.0).matrix, np.eye(size), rtol=1e-14
        )
