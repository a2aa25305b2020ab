"""Luce's model: closed form, maximum likelihood, goodness of fit, its tie to bi-normalization."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize

from deconfuse import ConfusionMatrix, InputError, normalize, similarity_choice

Floats = NDArray[np.float64]


def _model(rng: np.random.Generator, n_classes: int) -> tuple[Floats, Floats, Floats]:
    """Return similarity, bias and the expected counts of an exact similarity-choice model."""
    similarity = np.exp(-2 * rng.random((n_classes, n_classes)) - 0.5)
    similarity = np.sqrt(similarity * similarity.T)
    np.fill_diagonal(similarity, 1.0)
    bias = rng.dirichlet(np.full(n_classes, 5.0))
    strengths = similarity * bias
    totals = rng.uniform(200, 5000, n_classes)
    return similarity, bias, totals[:, None] * strengths / strengths.sum(axis=1, keepdims=True)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 9))
def test_both_methods_recover_an_exact_model(seed: int, n_classes: int) -> None:
    similarity, bias, expected = _model(np.random.default_rng(seed), n_classes)
    for method in ("ml", "closed"):
        fit = similarity_choice(expected, method=method, epsilon=0.0)
        np.testing.assert_allclose(fit.similarity, similarity, rtol=1e-6)
        np.testing.assert_allclose(fit.bias, bias, rtol=1e-6)
        np.testing.assert_allclose(fit.fitted, expected, rtol=1e-6)
        assert fit.g_squared == pytest.approx(0, abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 7))
def test_odds_ratios_are_those_of_the_bi_normalized_matrix(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 200, (n_classes, n_classes))
    bi = np.asarray(normalize(counts, "bi").matrix)
    expected = np.sqrt(bi * bi.T / np.outer(bi.diagonal(), bi.diagonal()))
    np.testing.assert_allclose(
        similarity_choice(counts, method="closed").similarity, expected, rtol=1e-7
    )


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 7))
def test_balanced_is_the_bi_normalization_of_the_fit(seed: int, n_classes: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 100, (n_classes, n_classes))
    fit = similarity_choice(counts)
    balanced = fit.balanced
    np.testing.assert_allclose(balanced, balanced.T)
    np.testing.assert_allclose(balanced.sum(axis=0), 1, atol=1e-9)
    bi = np.asarray(normalize(fit.fitted, "bi", epsilon=0.0).matrix)
    np.testing.assert_allclose(balanced, bi, atol=1e-7)


def test_maximum_likelihood_against_a_general_optimizer() -> None:
    rng = np.random.default_rng(4)
    n_classes = 4
    counts = rng.integers(1, 60, (n_classes, n_classes)) + 100 * np.eye(n_classes, dtype=int)
    rows, columns = np.triu_indices(n_classes, 1)

    def loss(parameters: Floats) -> float:
        logs = np.zeros((n_classes, n_classes))
        logs[rows, columns] = logs[columns, rows] = parameters[: len(rows)]
        logs = logs + np.append(0.0, parameters[len(rows) :])
        logs = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
        return float(-(counts * logs).sum())

    best = minimize(
        loss, np.zeros(len(rows) + n_classes - 1), method="BFGS", options={"gtol": 1e-6}
    )
    fit = similarity_choice(counts, epsilon=0.0)
    np.testing.assert_allclose(
        np.log(fit.similarity[rows, columns]), best.x[: len(rows)], atol=1e-4
    )
    np.testing.assert_allclose(np.log(fit.bias / fit.bias[0])[1:], best.x[len(rows) :], atol=1e-4)
    # Likelihood equations of quasi-symmetry: margins and pair sums are met exactly.
    np.testing.assert_allclose(fit.fitted.sum(axis=0), counts.sum(axis=0), rtol=1e-8)
    np.testing.assert_allclose(fit.fitted.sum(axis=1), counts.sum(axis=1), rtol=1e-8)
    np.testing.assert_allclose(fit.fitted + fit.fitted.T, counts + counts.T, rtol=1e-12)


def test_goodness_of_fit_rejects_one_way_confusion() -> None:
    # A is taken for B, B for C, C for A, and never the other way: no bias explains a circle.
    counts = [[80, 20, 1], [1, 80, 20], [20, 1, 80]]
    fit = similarity_choice(counts)
    assert fit.dof == 1
    assert fit.p_value == 0.001
    assert fit.g_squared > 30


def test_scaled_weights_change_neither_fit_nor_test() -> None:
    counts = np.random.default_rng(1).integers(1, 50, (5, 5)).astype(float)
    plain = similarity_choice(ConfusionMatrix.from_counts(counts), epsilon=0.2)
    heavy = similarity_choice(
        ConfusionMatrix.from_counts(10 * counts, variances=100 * counts), epsilon=2.0
    )
    np.testing.assert_allclose(heavy.similarity, plain.similarity)
    assert heavy.x_squared == pytest.approx(plain.x_squared)
    assert heavy.p_value == plain.p_value


def test_the_p_value_depends_on_the_counts_and_the_seed_alone() -> None:
    counts = np.random.default_rng(3).integers(1, 9, (6, 6))
    first = similarity_choice(counts)
    assert first.p_value == similarity_choice(counts).p_value
    assert first.p_value == similarity_choice(counts, method="closed").p_value
    assert first.p_value == similarity_choice(counts, epsilon=1e-6).p_value
    seeded = [similarity_choice(counts, rng=rng).p_value for rng in (5, np.random.default_rng(5))]
    assert seeded[0] == seeded[1]
    assert seeded[0] == pytest.approx(first.p_value, abs=0.1)
    with pytest.raises(InputError, match="`rng` must be a numpy"):
        similarity_choice(counts, rng="seed")


def test_pairs_are_ranked() -> None:
    fit = similarity_choice([[80, 16, 4], [10, 80, 10], [4, 16, 80]])
    values = [value for _, _, value in fit.pairs()]
    assert values == sorted(values, reverse=True)
    assert len(fit.pairs(2)) == 2
    with pytest.raises(InputError, match="`k` must be at least 1"):
        fit.pairs(0)


@pytest.mark.parametrize(
    ("counts", "options", "message"),
    [
        ([[5, 1], [1, 5]], {"method": "mean"}, '`method` must be "ml" or "closed"'),
        ([[5]], {}, "at least two classes"),
        ([[5, 1], [1, 5]], {"epsilon": -1.0}, "`epsilon` must be a finite number"),
        ([[0, 1], [1, 5]], {"epsilon": 0.0}, "right at least once, but 0 never is"),
        ([[5, 0], [1, 5]], {"epsilon": 0.0, "method": "closed"}, "confused both ways, but 1 cells"),
        ([[5, 0], [1, 5]], {"epsilon": 0.0}, "linked by confusions both ways"),
        (np.zeros((3, 3)), {}, "Similarity needs samples"),
        (sparse.eye_array(5000, format="csr"), {}, "at most 4,096 classes, got 5,000"),
    ],
)
def test_bad_input(counts, options, message: str) -> None:
    with pytest.raises(InputError, match=message):
        similarity_choice(counts, **options)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        (5 * np.eye(3, dtype=int), "no classes were confused"),
        ([[5, 1], [2, 7]], "any counts fit"),
        ([[5, 1, 0], [2, 7, 3], [0, 1, 6]], "any counts fit"),
    ],
)
def test_a_missing_test_says_why(counts, reason: str) -> None:
    fit = similarity_choice(counts)
    assert fit.dof == 0
    assert np.isnan(fit.p_value)
    assert reason in (fit.why_no_test or "")
    assert reason in repr(fit)
    assert "nan" not in repr(fit)


def test_a_test_needs_no_excuse() -> None:
    fit = similarity_choice([[5, 1, 2], [2, 7, 3], [4, 1, 6]])
    assert fit.dof == 1
    assert fit.why_no_test is None
    assert "p = " in repr(fit)
    assert fit.n_confused_pairs == 3
