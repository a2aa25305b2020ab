"""Hard matrices, zeros, statuses and bad input of `scale`."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import deconfuse as dc
from deconfuse.scaling import ScalingStatus, kernels
from tests.support import require

Array = NDArray[np.float64]


def classifier(n_classes: int, accuracy: float, n_samples: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    confusion = rng.dirichlet(np.full(n_classes - 1, 0.3), size=n_classes) * (1 - accuracy)
    joint = np.full((n_classes, n_classes), accuracy)
    joint[~np.eye(n_classes, dtype=bool)] = confusion.ravel()
    joint *= rng.dirichlet(np.ones(n_classes))[:, None]
    return rng.multinomial(n_samples, joint.ravel()).reshape(n_classes, -1).astype(float)


def blocks(sizes: list[tuple[int, int]], link: float, seed: int = 0) -> Array:
    """A block matrix with weak links everywhere else, its rows and columns shuffled."""
    rng = np.random.default_rng(seed)
    size = sum(rows for rows, _ in sizes)
    matrix = np.full((size, size), link)
    i = j = 0
    for rows, columns in sizes:
        matrix[i : i + rows, j : j + columns] += rng.uniform(0.5, 1.5, (rows, columns))
        i, j = i + rows, j + columns
    return matrix[rng.permutation(size)][:, rng.permutation(size)]


HARD = {
    "accurate": (classifier(10, 0.9999, 10_000), 1e-6),
    "accurate, many classes": (classifier(100, 0.97, 50_000), 1e-9),
    "counts from 1 to 1e9": (10 ** np.random.default_rng(1).uniform(0, 9, (20, 20)), 0.0),
    "square blocks": (blocks([(5, 5), (5, 5)], 1e-12), 0.0),
    "blocks that must exchange mass": (blocks([(4, 6), (6, 4)], 1e-12), 0.0),
    "three uneven blocks": (blocks([(3, 5), (5, 4), (4, 3)], 1e-30), 0.0),
    "hardly linked blocks": (blocks([(3, 5), (5, 4), (4, 3)], 1e-100), 0.0),
    "almost triangular": (np.triu(np.ones((30, 30))) + 1e-20, 0.0),
    "large, by conjugate gradients": (classifier(400, 0.9, 100_000), 1e-3),
    "large and accurate": (classifier(400, 0.99, 100_000), 1e-6),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_matrices_reach_the_tolerance(name: str) -> None:
    matrix, epsilon = HARD[name]
    s = dc.scale(matrix, epsilon=epsilon)
    measured = np.abs(s.matrix.sum(0) - 1).sum() + np.abs(s.matrix.sum(1) - 1).sum()
    assert measured <= 1e-10 * len(matrix)
    assert s.residual == pytest.approx(measured, abs=1e-15 * len(matrix))


@pytest.mark.parametrize("size", [10, 100])
def test_factors_may_spread_over_three_hundred_decades(size: int) -> None:
    rng = np.random.default_rng(4)
    kernel = rng.uniform(0.1, 1.0, (size, size))
    rows, columns = (10 ** rng.uniform(-150, 150, size) for _ in range(2))
    s = dc.scale(rows[:, None] * kernel * columns)
    assert s.residual <= 1e-10
    np.testing.assert_allclose(s.matrix, dc.scale(kernel).matrix, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [300, 3000])
def test_a_sparse_matrix_is_scaled_without_writing_epsilon_out(n_classes: int) -> None:
    rng = np.random.default_rng(6)
    y_true = rng.integers(0, n_classes, 20_000)
    shift = rng.integers(1, 4, 20_000) * (rng.random(20_000) < 0.1)
    pairs = (np.ones(20_000), (y_true, (y_true + shift) % n_classes))
    counts = sparse.csr_array(sparse.coo_array(pairs, shape=(n_classes, n_classes)))
    s = dc.scale(counts, epsilon=1e-5)
    assert s.converged
    assert s.problem.matrix.nnz == counts.nnz
    np.testing.assert_allclose(s.matrix.sum(axis=0), 1.0, atol=1e-9)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("filled", [0.01, 0.7])
def test_the_form_that_is_scaled_sooner_gives_the_same(convert: object, filled: float) -> None:
    rng = np.random.default_rng(3)
    counts = np.diag(rng.integers(1, 30, 600)) + (rng.random((600, 600)) < filled)
    scaled = dc.scale(convert(counts), epsilon=0.01)  # type: ignore[operator]
    assert scaled.problem.is_sparse == (filled == 0.01)
    np.testing.assert_allclose(scaled.matrix, dc.scale(counts + 0.01).matrix, rtol=1e-6)


def test_factors_that_leave_the_range_go_into_the_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    # Longer than what is worked on at once, too.
    size = 20_000
    rng = np.random.default_rng(7)
    true = np.concatenate([np.arange(size), rng.integers(0, size, 4 * size)])
    pred = (true + rng.integers(0, 4, true.size) * (np.arange(true.size) >= size)) % size
    counts = sparse.csr_array(
        sparse.coo_array((np.ones(true.size), (true, pred)), shape=(size, size))
    )
    kept = dc.scale(counts, epsilon=1e-6, solver="newton")
    assert kept.converged
    monkeypatch.setattr(kernels, "_LARGEST_FACTOR", 1.0)
    absorbed = dc.scale(counts, epsilon=1e-6, solver="newton")
    assert absorbed.converged
    np.testing.assert_allclose(absorbed.left, kept.left, rtol=1e-7)
    np.testing.assert_allclose(absorbed.right, kept.right, rtol=1e-7)


def test_a_wide_sparse_matrix_is_scaled_in_logarithms() -> None:
    rng = np.random.default_rng(8)
    kernel = rng.uniform(0.1, 1.0, (40, 40))
    rows, columns = (10 ** rng.uniform(-120, 120, 40) for _ in range(2))
    s = dc.scale(sparse.csr_array(rows[:, None] * kernel * columns))
    np.testing.assert_allclose(s.matrix.toarray(), dc.scale(kernel).matrix, rtol=1e-8)


def test_epsilon_zero_and_total_support() -> None:
    s = dc.scale([[2.0, 0.0], [0.0, 5.0]])
    assert s.status is ScalingStatus.CONVERGED
    np.testing.assert_allclose(s.matrix, np.eye(2))


def test_only_in_the_limit_names_the_cells_and_gives_the_limit() -> None:
    s = dc.scale([[5.0, 1.0], [0.0, 5.0]], throw=False)
    assert s.status is ScalingStatus.LIMIT_ONLY
    assert s.vanishing.tolist() == [[0, 1]]
    np.testing.assert_allclose(s.matrix, np.eye(2))
    with pytest.raises(dc.NotScalableError, match=r"only in the limit.*\(0, 1\)") as caught:
        dc.scale([[5.0, 1.0], [0.0, 5.0]])
    assert caught.value.solution.vanishing.tolist() == [[0, 1]]


def test_sweeps_that_crawl_to_a_limit_are_not_called_converged() -> None:
    """The change between two steps is tiny here while the margins are still off by 5e-5."""
    s = dc.scale([[5.0, 1.0], [0.0, 5.0]], solver="ipf", max_iterations=20_000, throw=False)
    assert s.status is ScalingStatus.LIMIT_ONLY
    assert 1e-5 < s.residual < 1e-3


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_an_empty_row_or_column_is_named(convert: object) -> None:
    matrix = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [4.0, 5.0, 6.0]])
    for flipped, words in ((matrix, "Empty rows: 1"), (matrix.T, "Empty columns: 1")):
        s = dc.scale(convert(flipped), throw=False)  # type: ignore[operator]
        assert s.status is ScalingStatus.INFEASIBLE
        assert words in s.explain()


def test_empty_rows_and_columns_are_both_named() -> None:
    s = dc.scale([[1.0, 0.0], [0.0, 0.0]], throw=False)
    assert "Empty rows: 1. Empty columns: 1." in s.explain()
    stack = dc.scale([[[1.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]]], throw=False)
    assert "stack concerned: 1. Empty rows: 1." in stack.explain()


def test_a_confusion_matrix_is_scaled_by_its_counts() -> None:
    cm = dc.ConfusionMatrix.from_counts([[9, 1], [3, 7]], labels=["cat", "dog"])
    np.testing.assert_array_equal(dc.scale(cm).matrix, dc.scale(cm.counts).matrix)


def test_totals_that_differ_by_rounding_are_made_equal() -> None:
    s = dc.scale([[1.0, 2.0], [3.0, 4.0]], rows=[1.0, 1.0], columns=[1.0, 1.0 + 1e-9])
    assert s.converged


def test_no_support_names_the_rows_and_columns_that_block() -> None:
    matrix = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    s = dc.scale(matrix, throw=False)
    assert s.status is ScalingStatus.INFEASIBLE
    assert s.blocking_rows.tolist() == [0, 1]
    assert s.blocking_columns.tolist() == [0]
    assert "Rows 0, 1 have entries only in columns 0" in s.explain()


def test_general_margins_with_zeros() -> None:
    matrix = [[1.0, 1.0], [0.0, 1.0]]
    fits = dc.scale(matrix, rows=[2.0, 1.0], columns=[1.0, 2.0])
    assert fits.converged
    limit = dc.scale(matrix, rows=[1.0, 2.0], columns=[1.0, 2.0], throw=False)
    assert limit.status is ScalingStatus.LIMIT_ONLY
    assert limit.vanishing.tolist() == [[0, 1]]
    never = dc.scale(matrix, rows=[1.0, 2.0], columns=[2.0, 1.0], throw=False)
    assert never.status is ScalingStatus.INFEASIBLE


@pytest.mark.parametrize("is_sparse", [False, True])
def test_general_margins_of_many_classes_are_decided_by_a_flow(is_sparse: bool) -> None:
    """A linear program would take minutes for either."""
    rng = np.random.default_rng(0)
    size = 10_000 if is_sparse else 800
    if is_sparse:
        matrix = sparse.random_array(
            (size, size), density=10 / size, random_state=rng, format="csr"
        )
        matrix = sparse.csr_array(matrix + sparse.eye_array(size))
    else:
        matrix = rng.gamma(1.0, 1.0, (size, size))
        matrix[3, 4] = 0.0
    table = matrix * 1.0
    values = table.data if is_sparse else table
    values *= rng.gamma(0.5, 1.0, values.shape) + 1e-3
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    assert dc.scale(matrix, rows, columns).converged
    # One row that asks for more than its columns hold.
    rows[7] += 1.01 * columns.sum()
    columns *= rows.sum() / columns.sum()
    s = dc.scale(matrix, rows, columns, throw=False)
    assert s.status is (ScalingStatus.INFEASIBLE if is_sparse else ScalingStatus.CONVERGED)
    assert (7 in s.blocking_rows) is is_sparse


def test_a_large_limit_only_matrix_is_decided_at_sparse_cost() -> None:
    size = 20_000
    upper = sparse.csr_array(sparse.diags_array([np.ones(size), np.ones(size - 1)], offsets=[0, 1]))
    s = dc.scale(upper, throw=False)
    assert s.status is ScalingStatus.LIMIT_ONLY
    assert len(s.vanishing) == size - 1
    assert (s.matrix != sparse.eye_array(size)).nnz == 0


def test_running_out_of_iterations_is_said_and_can_be_returned() -> None:
    matrix = classifier(10, 0.999, 10_000) + 1e-3
    with pytest.raises(dc.NotScalableError, match="iterations ended"):
        dc.scale(matrix, solver="ras", max_iterations=10)
    s = dc.scale(matrix, solver="ras", max_iterations=10, throw=False)
    assert s.status is ScalingStatus.MAX_ITERATIONS
    assert not s.converged
    assert s.residual > 1e-10


def test_leaving_the_floating_point_range_is_said() -> None:
    rng = np.random.default_rng(2)
    matrix = rng.uniform(0.5, 1, (5, 5)) * 10.0 ** rng.uniform(-300, 300, 5)[:, None]
    matrix = matrix * 10.0 ** np.array([5, -5, 5, -5, 0])
    with np.errstate(all="ignore"):
        s = dc.scale(np.clip(matrix, 1e-307, 1e307), solver="ras", throw=False)
    assert s.status in (ScalingStatus.NOT_FINITE, ScalingStatus.CONVERGED)
    assert s.converged == (s.residual <= s.problem.tolerance)


def test_a_stack_reports_each_matrix() -> None:
    stack = np.array([[[5.0, 1.0], [0.0, 5.0]], [[1.0, 2.0], [3.0, 4.0]]])
    s = dc.scale(stack, throw=False)
    assert s.statuses == (ScalingStatus.LIMIT_ONLY, ScalingStatus.CONVERGED)
    assert s.status is ScalingStatus.LIMIT_ONLY
    assert "stack concerned: 0" in s.explain()
    assert s.vanishing.tolist() == [[0, 0, 1]]
    np.testing.assert_allclose(s.matrix[0], np.eye(2))


@pytest.mark.parametrize("solver", ["auto", "newton", "ipf", "ras"])
def test_matrices_of_a_stack_may_have_margins_of_their_own(solver: str) -> None:
    rng = np.random.default_rng(3)
    stack = rng.uniform(0.1, 1.0, (6, 4, 3))
    rows = rng.uniform(0.5, 2.0, (6, 4))
    columns = rng.dirichlet(np.ones(3), 6) * rows.sum(axis=1, keepdims=True)
    s = dc.scale(stack, rows, columns, solver=solver)
    for k in range(6):
        alone = dc.scale(stack[k], rows[k], columns[k], solver=solver)
        np.testing.assert_allclose(s.matrix[k], alone.matrix, atol=1e-9)
    shared = dc.scale(stack, rows, solver=solver)
    np.testing.assert_allclose(shared.matrix.sum(axis=1), np.tile(rows.sum(axis=1)[:, None] / 3, 3))
    # A margin that all share is repeated beside one that differs.
    mixed = dc.scale(stack, rows / rows.sum(axis=1, keepdims=True), [0.2, 0.3, 0.5], solver=solver)
    np.testing.assert_allclose(mixed.matrix.sum(axis=1), np.tile([0.2, 0.3, 0.5], (6, 1)))


@pytest.mark.parametrize("solver", ["auto", "newton", "ipf", "ras"])
@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
def test_iterations_end_at_their_limit(solver: str, most: int) -> None:
    matrix = classifier(10, 0.999, 10_000) + 1e-3
    for subject in (matrix, np.stack([matrix, matrix.T])):
        s = dc.scale(subject, solver=solver, max_iterations=most, throw=False)
        # The paper's algorithms test their limit after a whole sweep of two half steps.
        assert s.iterations == (most + most % 2 if solver in ("ipf", "ras") else most)
        assert s.status is ScalingStatus.MAX_ITERATIONS


@pytest.mark.parametrize("solver", ["ipf", "ras"])
def test_a_limit_that_will_be_refused_is_not_crawled_to(solver: str) -> None:
    with pytest.raises(dc.NotScalableError, match="only in the limit") as caught:
        dc.scale([[5.0, 1.0], [0.0, 5.0]], solver=solver)
    np.testing.assert_allclose(caught.value.solution.matrix, np.eye(2))
    assert caught.value.solution.iterations < 100


def test_auto_says_what_it_picked() -> None:
    assert dc.scale(np.ones((4, 4)) + np.eye(4)).solver == "ras"
    assert dc.scale(classifier(10, 0.99, 10_000), epsilon=1e-3).solver == "newton"
    assert dc.scale(classifier(400, 0.9, 100_000), epsilon=1e-3).solver == "newton-cg"


def test_results_are_read_only() -> None:
    s = dc.scale([[1.0, 2.0], [3.0, 4.0]])
    thin = dc.scale(sparse.csr_array(GOOD)).matrix.data
    for array in (s.left, s.right, s.matrix, s.log_left, s.residuals, s.errors, thin):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7.0


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_a_result_outlives_the_array_it_came_from(convert: object) -> None:
    matrix = convert([[9.0, 1.0], [2.0, 8.0]])  # type: ignore[operator]
    s = dc.scale(matrix)
    matrix[0, 0] = 1000.0
    assert abs(s.matrix.sum(axis=1) - 1).max() < 1e-9


def test_a_narrow_type_does_not_wrap() -> None:
    y = np.repeat([0, 1], [300, 10])
    pairs = sparse.coo_array((np.ones(310, dtype=np.uint8), (y, y)), shape=(2, 2))
    assert dc.scale(pairs).problem.matrix.diagonal().tolist() == [300.0, 10.0]


def test_a_column_named_counts_is_a_column() -> None:
    require("pandas")
    import pandas as pd

    frame = pd.DataFrame([[5, 1], [2, 6]], columns=["counts", "x"])
    assert dc.scale(frame).converged


def test_tensors_that_carry_gradients_are_scaled() -> None:
    require("torch")
    import torch

    tensor = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert dc.scale(tensor).converged
    assert dc.scale(tensor.to(torch.bfloat16)).converged


def test_newton_that_stalls_is_helped_by_sweeps() -> None:
    matrix = np.diag([109.0, 960.0, 901.0]) + 1e-9
    rows, columns = [0.013, 0.002, 0.988], [0.887, 0.003, 0.113]
    assert dc.scale(matrix, rows, columns).residual <= 1e-10
    both = dc.scale(np.stack([matrix, matrix.T]), [rows, columns], [columns, rows])
    assert both.residual <= 1e-10


def test_groups_of_rows_without_a_link_to_speak_of_hold_nobody_up() -> None:
    # Targets over nine decades. Rows 1, 5 and 6 are linked to the others by a cell that has to
    # carry 1e-7: Newton sends them thousands of units away, and all others wait for them.
    matrix = np.zeros((7, 7))
    cells = {
        (0, 4): 0.1336, (1, 1): 1.5597, (1, 2): 57.471, (2, 1): 185.0, (2, 4): 149.6,
        (3, 3): 0.013639, (3, 4): 2.648, (4, 4): 0.0050473, (4, 5): 0.29772,
        (5, 0): 0.04038, (5, 6): 0.59893, (6, 0): 0.34142, (6, 2): 260.33,
    }  # fmt: skip
    for cell, entry in cells.items():
        matrix[cell] = entry
    rows = np.array([
        14399823.694366455, 0.0089569091796875, 3.4580841064453125, 1475.7953186035156,
        34262.738021850586, 28059.652328491211, 53007.928070068359,
    ])  # fmt: skip
    columns = np.array([
        27978.246185302734, 0.0035858154296875, 52990.504821777344, 1475.795166015625,
        14399827.266174316, 34262.621154785156, 98.838058471679688,
    ])  # fmt: skip
    s = dc.scale(matrix, rows, columns)
    assert s.iterations < 50
    np.testing.assert_allclose(s.matrix.sum(axis=1), rows, rtol=1e-9)
    np.testing.assert_allclose(s.matrix.sum(axis=0), columns, rtol=1e-9)


def test_rare_targets_are_told_from_impossible_ones() -> None:
    matrix = np.array([[1e9, 1e3, 0.0], [2e3, 1e6, 1.0], [0.0, 1.0, 3.0]])
    s = dc.scale(matrix, matrix.sum(axis=1), matrix.sum(axis=0))
    np.testing.assert_allclose(s.matrix, matrix, rtol=1e-9)
    lower = [[1.0, 0.0], [1.0, 1.0]]
    for difference, status in ((1e-7, "INFEASIBLE"), (-1e-7, "CONVERGED"), (-1e-10, "CONVERGED")):
        s = dc.scale(lower, [1, 1], [1 - difference, 1 + difference], throw=False)
        assert s.status.name == status


def test_residuals_with_equal_logarithms() -> None:
    logs = [
        [58, -137, -90, 28], [-123, 15, 39, -94], [126, -120, 46, 96], [-21, 119, -55, -50],
        [89, 106, 85, -146], [-134, 118, -10, -104], [76, 36, 69, 9],
    ]  # fmt: skip
    assert dc.scale(10.0 ** np.array(logs)).converged


@pytest.mark.parametrize("total", [1e-300, 1e-11, 1e-9, 1.0, 3e8, 1e12, 1e15, 1e300])
@pytest.mark.parametrize("solver", ["auto", "newton", "ipf", "ras"])
def test_the_tolerance_is_relative_to_the_total(solver: str, total: float) -> None:
    s = dc.scale([[90, 10], [5, 5]], [total] * 2, [total] * 2, solver=solver)
    np.testing.assert_allclose(s.matrix / total, [[0.75, 0.25], [0.25, 0.75]], rtol=1e-9)
    assert s.residual <= 2e-10 * total


@pytest.mark.parametrize("solver", ["auto", "newton", "ipf", "ras"])
def test_a_small_target_is_met_relative_to_itself(solver: str) -> None:
    matrix = np.random.default_rng(0).gamma(1.0, 1.0, (4, 4)) + 0.1
    rows = np.array([1.0, 1e-13, 1e-20, 0.3])
    columns = np.array([1e-16, 0.5, 0.8 - 1e-13, 1e-13])
    columns *= rows.sum() / columns.sum()
    s = dc.scale(matrix, rows, columns, solver=solver)
    np.testing.assert_allclose(s.matrix.sum(axis=1), rows, rtol=1e-9)
    np.testing.assert_allclose(s.matrix.sum(axis=0), columns, rtol=1e-9)


def test_large_totals_of_small_weights_converge_in_every_order() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        matrix = (rng.poisson(20, (5, 5)) + 1) * 1e-6
        rows, columns = rng.dirichlet(np.ones(5)) * 1e12, rng.dirichlet(np.ones(5)) * 1e12
        order = rng.permutation(5)
        for tolerance in (1e-10, 1e-15):
            for m, u, v in (
                (matrix, rows, columns),
                (matrix.T, columns, rows),
                (matrix[order], rows[order], columns),
                (matrix * 3e5, rows, columns),
                (sparse.csr_array(matrix), rows, columns),
            ):
                assert dc.scale(m, u, v, tolerance=tolerance).converged


def test_factors_keep_their_digits_where_their_logarithms_are_large() -> None:
    matrix = np.array([[4.0, 1.0], [2.0, 3.0]]) * 1e-30
    s = dc.scale(matrix, [1e20, 2e20], [1.5e20, 1.5e20], tolerance=1e-15)
    product = s.left[:, None] * matrix * s.right
    np.testing.assert_allclose(product.sum(axis=1), [1e20, 2e20], rtol=4e-15)
    np.testing.assert_allclose(product, s.matrix, rtol=1e-15)


GOOD = [[1.0, 2.0], [3.0, 4.0]]
BAD_INPUT = {
    "negative": (([[1.0, -1.0], [1.0, 1.0]],), {}, "must not hold negative cells, got 1"),
    "not finite": (([[1.0, np.nan], [1.0, np.inf]],), {}, "finite numbers, got 2 NaN or infinite"),
    "text": (([["a", "b"]],), {}, "`matrix` must be numbers, got <U1"),
    "complex": (([[1.0, 2j], [3.0, 4.0]],), {}, "must be numbers, got complex"),
    "complex and sparse": ((sparse.csr_array([[1j]]),), {}, "must be numbers, got complex"),
    "ragged": (([[1.0, 2.0], [3.0]],), {}, "rows of equal length, got rows that differ"),
    "masked": ((np.ma.masked_equal([[1, 2], [3, 4]], 2),), {}, "no missing values, got 1 masked"),
    "masked margin": ((GOOD, np.ma.masked_equal([1.0, 2.0], 2.0)), {}, "`rows` must have no missi"),
    "one axis": (([1.0, 2.0],), {}, r"two axes.*got shape \(2,\)"),
    "no cells": ((np.empty((0, 0)),), {}, "at least one row"),
    "all zero": ((np.zeros((2, 2)),), {}, "must have a positive cell"),
    "one of a stack all zero": ((np.stack([GOOD, np.zeros((2, 2))]),), {}, "zero in 1 of 2, at 1"),
    "margins of a stack": (
        (np.stack([GOOD, GOOD]), np.ones((3, 2))),
        {},
        r"or 2 rows of them.*got shape \(3, 2\)",
    ),
    "margins of a stack not positive": (
        (np.stack([GOOD, GOOD]), [[1.0, 1.0], [1.0, 0.0]]),
        {},
        r"got 0 at index \(1, 1\)",
    ),
    "totals of a stack differ": (
        (np.stack([GOOD, GOOD]), [[1.0, 1.0], [1.0, 2.0]], [1.0, 1.0]),
        {},
        "matrix 1 of the stack",
    ),
    "margin not positive": ((GOOD, [1.0, 0.0], [0.5, 0.5]), {}, "`rows` must be positive.*index 1"),
    "margin length": ((GOOD, [1.0, 1.0, 1.0], None), {}, r"each of the 2 rows, got shape \(3,\)"),
    "margin text": ((GOOD, None, ["a", "b"]), {}, "`columns` must be numbers"),
    "totals differ": ((GOOD, [1.0, 1.0], [1.0, 2.0]), {}, "equal totals.*got 2 and 3"),
    "epsilon": ((GOOD,), {"epsilon": -1.0}, "`epsilon` must be a finite number of at least 0"),
    "tolerance": ((GOOD,), {"tolerance": 0.0}, "`tolerance` must be a positive number"),
    "solver": ((GOOD,), {"solver": "magic"}, '`solver` must be one of "auto"'),
    "iterations half": ((GOOD,), {"max_iterations": 2.5}, "`max_iterations` must be a whole"),
    "epsilon none": ((GOOD,), {"epsilon": None}, "`epsilon` must be a finite number"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_refused_with_its_reason(name: str) -> None:
    arguments, options, words = BAD_INPUT[name]
    with pytest.raises(dc.InputError, match=words):
        dc.scale(*arguments, **options)  # type: ignore[arg-type]


def test_one_margin_alone_sets_the_total_of_the_other() -> None:
    s = dc.scale([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], columns=[1.0, 2.0, 3.0])
    np.testing.assert_allclose(s.matrix.sum(axis=1), 3.0)
