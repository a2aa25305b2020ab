"""The paper's propositions, one test each, for all four normalizations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deconfuse as dc
from deconfuse.normalization import Method
from tests.properties.registry import NORMALIZATIONS, missing_methods
from tests.properties.strategies import Array, count_matrices, diagonals, positive_matrices

methods = pytest.mark.parametrize("method", NORMALIZATIONS)


def values(matrix: Array, method: Method) -> Array:
    return np.asarray(dc.normalize(matrix, method, epsilon=0.0).matrix)


def divergence(p: Array, m: Array) -> float:
    """The objective that Definition 1 minimizes; matrices need not have total one."""
    return float(np.sum(p * np.log(p / m)))


def test_every_method_is_registered() -> None:
    assert not missing_methods()


@methods
@given(matrix=positive_matrices())
def test_margins_are_what_the_name_says(method: Method, matrix: Array) -> None:
    result = values(matrix, method)
    if method in ("row", "bi"):
        np.testing.assert_allclose(result.sum(axis=1), 1.0, atol=1e-9)
    if method in ("col", "bi"):
        np.testing.assert_allclose(result.sum(axis=0), 1.0, atol=1e-9)
    if method == "all":
        np.testing.assert_allclose(result.sum(), 1.0, atol=1e-12)


@methods
@given(matrix=positive_matrices())
def test_idempotence(method: Method, matrix: Array) -> None:
    once = values(matrix, method)
    np.testing.assert_allclose(values(once, method), once, rtol=1e-7, atol=1e-12)


@methods
@given(matrix=positive_matrices(), data=st.data())
def test_class_distribution_invariance(method: Method, matrix: Array, data: st.DataObject) -> None:
    size = matrix.shape[0]
    properties = NORMALIZATIONS[method]
    a = data.draw(diagonals(size)) if properties.ignores_row_scale else np.ones(size)
    b = data.draw(diagonals(size)) if properties.ignores_column_scale else np.ones(size)
    scaled = a[:, None] * matrix * b
    np.testing.assert_allclose(
        values(scaled, method), values(matrix, method), rtol=1e-6, atol=1e-10
    )


@methods
@given(matrix=positive_matrices(), data=st.data())
def test_information_preservation(method: Method, matrix: Array, data: st.DataObject) -> None:
    """No matrix with the same margins is closer to the counts in KL divergence (Lemma 1)."""
    best = values(matrix, method)
    size = matrix.shape[0]
    rows = data.draw(st.lists(st.integers(0, size - 1), min_size=2, max_size=2, unique=True))
    columns = data.draw(st.lists(st.integers(0, size - 1), min_size=2, max_size=2, unique=True))
    share = data.draw(st.floats(-0.9, 0.9))
    # Moving mass around a 2 x 2 cycle keeps every margin.
    cycle = np.zeros_like(best)
    cycle[np.ix_(rows, columns)] = [[1.0, -1.0], [-1.0, 1.0]]
    gaining = cycle * share > 0
    losing = cycle * share < 0
    if not gaining.any():
        return
    room = best[losing].min()
    other = best + cycle * share * room
    assert divergence(other, matrix) >= divergence(best, matrix) - 1e-9 * np.abs(best).sum()


@methods
@given(matrix=positive_matrices(), seed=st.integers(0, 2**32 - 1))
def test_relabelling_permutes(method: Method, matrix: Array, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(matrix.shape[0])
    np.testing.assert_allclose(
        values(matrix[order][:, order], method),
        values(matrix, method)[order][:, order],
        rtol=1e-7,
        atol=1e-12,
    )


@methods
@given(matrix=positive_matrices())
def test_transposing_swaps_true_and_predicted(method: Method, matrix: Array) -> None:
    other = NORMALIZATIONS[method].transposed
    np.testing.assert_allclose(
        values(matrix.T, other).T, values(matrix, method), rtol=1e-7, atol=1e-12
    )


@methods
@given(matrix=positive_matrices(), factor=st.floats(1e-3, 1e3))
def test_counting_every_sample_twice_changes_nothing(
    method: Method, matrix: Array, factor: float
) -> None:
    np.testing.assert_allclose(
        values(factor * matrix, method), values(matrix, method), rtol=1e-7, atol=1e-12
    )


@methods
@given(counts=count_matrices())
def test_the_factors_make_the_matrix(method: Method, counts: Array) -> None:
    n = dc.normalize(counts, method, epsilon=0.25)
    rebuilt = n.left[:, None] * (counts + n.epsilon) * n.right
    np.testing.assert_allclose(rebuilt, n.matrix, rtol=1e-12)


@methods
@given(counts=count_matrices(), seed=st.integers(0, 2**32 - 1))
def test_weighted_sum_of_samples_is_the_matrix_up_to_epsilon(
    method: Method, counts: Array, seed: int
) -> None:
    size = counts.shape[0]
    pairs = np.repeat(np.arange(size * size), counts.ravel())
    y_true, y_pred = np.divmod(np.random.default_rng(seed).permutation(pairs), size)
    n = dc.normalize(counts, method, epsilon=0.5)
    total, weights = np.zeros((size, size)), n.weights(y_true, y_pred)
    np.add.at(total, (y_true, y_pred), weights)
    epsilon_part = n.left[:, None] * n.epsilon * n.right
    np.testing.assert_allclose(total + epsilon_part, n.matrix, rtol=1e-9, atol=1e-12)
    # Kish's effective sample size, of which the paper speaks for row.
    effective = weights.sum() ** 2 / (weights**2).sum() if len(weights) else 0.0
    assert n.effective_samples == pytest.approx(effective)


@given(matrix=positive_matrices())
def test_identities_between_normalizations(matrix: Array) -> None:
    bi = values(matrix, "bi")
    for other in ("row", "col", "all"):
        np.testing.assert_allclose(values(values(matrix, other), "bi"), bi, rtol=1e-6, atol=1e-10)
    for other in ("row", "col"):
        np.testing.assert_allclose(values(bi, other), bi, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(values(bi, "all") * len(bi), bi, rtol=1e-7, atol=1e-10)


def test_a_wrong_method_would_fail() -> None:
    """The invariance test can fail: row normalization is not invariant to column scale."""
    matrix = np.array([[3.0, 1.0], [1.0, 2.0]])
    scaled = matrix * [1.0, 10.0]
    assert not np.allclose(values(scaled, "row"), values(matrix, "row"), atol=0.1)
