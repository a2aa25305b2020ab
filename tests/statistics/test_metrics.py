"""Metrics equal scikit-learn's, and their intervals cover the truth."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm, t
from sklearn import metrics as sk

from deconfuse import ConfusionMatrix, InputError, diagnose
from deconfuse.statistics.metrics import (
    MeanShares,
    estimate_balanced_accuracy,
    guessing,
    per_class,
)

samples = st.integers(2, 6).flatmap(
    lambda size: st.lists(
        st.tuples(st.integers(0, size - 1), st.integers(0, size - 1), st.floats(0.01, 100)),
        min_size=1,
        max_size=40,
    )
)


@given(samples, st.booleans())
def test_equal_to_scikit_learn(rows, is_weighted):
    true, pred, weights = (np.array(column) for column in zip(*rows, strict=True))
    weight = weights if is_weighted else None
    cm = ConfusionMatrix.from_predictions(true, pred, sample_weight=weight)
    options = {"sample_weight": weight}
    with warnings.catch_warnings():
        # scikit-learn warns about classes without samples and about undefined kappas.
        warnings.simplefilter("ignore")
        assert cm.accuracy == pytest.approx(sk.accuracy_score(true, pred, **options), abs=1e-9)
        expected = sk.balanced_accuracy_score(true, pred, **options)
        assert cm.balanced_accuracy == pytest.approx(expected, abs=1e-9)
        expected = sk.f1_score(true, pred, average="macro", zero_division=0, **options)
        assert cm.macro_f1 == pytest.approx(expected, abs=1e-9)
        expected = sk.cohen_kappa_score(true, pred, **options)
        if cm.n_classes > 1 and np.isfinite(expected):
            assert cm.kappa == pytest.approx(expected, abs=1e-9)
        found = cm.per_class()
        expected = sk.precision_recall_fscore_support(
            true, pred, labels=cm.labels, zero_division=np.nan, **options
        )
    for mine, theirs in zip(
        (found.precision.value, found.recall.value, found.f1.value, found.n), expected, strict=True
    ):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)


def test_sparse_matrices_have_the_same_metrics() -> None:
    rng = np.random.default_rng(0)
    true, pred = rng.integers(0, 3000, (2, 5000))
    pred = np.where(rng.random(5000) < 0.7, true, pred)
    cm = ConfusionMatrix.from_predictions(true, pred)
    assert cm.is_sparse
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert cm.balanced_accuracy == pytest.approx(sk.balanced_accuracy_score(true, pred))
    assert cm.macro_f1 == pytest.approx(sk.f1_score(true, pred, average="macro", zero_division=0))
    np.testing.assert_array_equal(cm.per_class().n, cm.label_counts)
    many = sp.diags_array([np.ones(100_000)], offsets=[0]).tocsr()
    assert ConfusionMatrix.from_counts(many).per_class().recall.value.min() == 1


def test_intervals_are_wilsons() -> None:
    cm = ConfusionMatrix.from_counts([[45, 5, 0], [3, 17, 0], [1, 0, 9]])
    found = per_class(cm, level=0.9)
    for k, (hits, n) in enumerate(((45, 50), (17, 20), (9, 10))):
        expected = binomtest(hits, n).proportion_ci(0.9, method="wilson")
        assert (found.recall.low[k], found.recall.high[k]) == pytest.approx(tuple(expected))
    # F1 of class 2: 9 hits, and one sample more that has it as its label.
    low, high = binomtest(9, 10).proportion_ci(0.9, method="wilson")
    assert found.f1.low[2] == pytest.approx(2 * low / (1 + low))
    assert found.f1.high[2] == pytest.approx(2 * high / (1 + high))


def test_weights_widen_intervals_by_their_effective_number() -> None:
    plain = ConfusionMatrix.from_counts([[45, 5], [3, 17]])
    heavy = ConfusionMatrix.from_counts(plain.counts * 8.0, variances=plain.counts * 64.0)
    np.testing.assert_allclose(heavy.per_class().recall.low, plain.per_class().recall.low)
    light = ConfusionMatrix.from_counts(plain.counts * 1.0, variances=plain.counts * 4.0)
    assert (light.per_class().f1.low < plain.per_class().f1.low).all()
    low = estimate_balanced_accuracy(plain).low
    assert estimate_balanced_accuracy(heavy).low == pytest.approx(low)
    assert estimate_balanced_accuracy(light).low < low


def test_what_is_undefined_is_nan() -> None:
    cm = ConfusionMatrix.from_counts([[5, 1, 0], [0, 0, 0], [2, 0, 0]], labels=["a", "b", "c"])
    found = cm.per_class()
    assert np.isnan([found.recall.value[1], found.recall.low[1], found.precision.value[2]]).all()
    assert cm.balanced_accuracy == pytest.approx(5 / 12)
    empty = ConfusionMatrix.from_counts([[0, 0], [0, 0]])
    values = [empty.accuracy, empty.balanced_accuracy, empty.macro_f1, empty.kappa]
    assert np.isnan(values).all()
    assert np.isnan(estimate_balanced_accuracy(empty).low)
    assert np.isnan(ConfusionMatrix.from_counts([[3]]).kappa)


def test_as_a_table() -> None:
    cm = ConfusionMatrix.from_counts([[5, 1], [2, 4]], labels=["a", "b"])
    table = cm.per_class().to_pandas()
    assert table.loc["a", "recall"] == pytest.approx(5 / 6)
    assert table.loc["b", "n_predicted"] == 5
    record = cm.per_class().records()[0]
    assert record["label"] == "a"
    assert record["recall_low"] < record["recall"] < record["recall_high"]


def test_the_level_is_checked() -> None:
    with pytest.raises(InputError, match="`level` must be above 0 and below 1"):
        ConfusionMatrix.from_counts([[5, 1], [2, 4]]).per_class(level=95)


@pytest.mark.parametrize("recall", [0.6, 0.9, 0.99])
@pytest.mark.parametrize(("n_classes", "size"), [(3, 20), (10, 100), (50, 10)])
def test_the_interval_of_the_balanced_accuracy_covers(n_classes, size, recall) -> None:
    rng = np.random.default_rng([n_classes, size])
    runs, covered = 200, 0
    for _ in range(runs):
        recalls = np.clip(recall + 0.05 * rng.normal(size=n_classes), 0.05, 0.995)
        n = np.maximum(rng.poisson(size * rng.gamma(4, 0.25, n_classes)), 2)
        hits = rng.binomial(n, recalls)
        counts = np.diag(hits)
        counts[np.arange(n_classes), (np.arange(n_classes) + 1) % n_classes] += n - hits
        found = estimate_balanced_accuracy(ConfusionMatrix.from_counts(counts))
        covered += found.low <= recalls.mean() <= found.high
    assert covered / runs >= 0.92


@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 5))
@settings(max_examples=15, deadline=None)
def test_guessing_has_the_mean_and_the_spread_of_shuffled_predictions(seed, n_classes) -> None:
    rng = np.random.default_rng(seed)
    true, said = rng.integers(0, n_classes, 60), rng.integers(0, n_classes, 60)
    labels = range(n_classes)
    hits = [np.sum(true == rng.permutation(said)) for _ in range(2_000)]
    seen = ConfusionMatrix.from_predictions(true, said, labels=labels)
    chance, z = guessing(seen)
    assert chance == pytest.approx(np.mean(hits) / 60, abs=0.01)
    away = float(np.sum(true == said)) - 60 * chance
    expected = np.sign(away) * max(abs(away) - 0.5, 0.0) / np.std(hits)
    assert z == pytest.approx(expected, rel=0.1, abs=0.05)


def test_a_class_of_one_sample_makes_nobody_a_guesser() -> None:
    for counts in ([[48, 2, 0], [1, 49, 0], [1, 0, 0]], [[900, 100], [0, 2]]):
        assert guessing(ConfusionMatrix.from_counts(counts))[1] > 1.96
        assert "guessing" not in diagnose(counts).headline
    assert "not shown to be above 0.50, that of guessing" in diagnose([[30, 30], [29, 31]]).headline
    assert "is below 0.50, that of guessing" in diagnose([[3, 30], [29, 2]]).headline


def test_weighted_predictions_of_one_class_are_guesses() -> None:
    cm = ConfusionMatrix.from_counts(
        [[63.51880558, 0.0], [1.04222186, 0.0]], variances=[[169.49981065, 0.0], [1.0862264, 0.0]]
    )
    assert guessing(cm) == (pytest.approx(cm.accuracy), 0.0)


@pytest.mark.parametrize("n_samples", [2, 5, 50])
def test_the_quantile_of_a_mean_of_few_samples_is_students(n_samples):
    # Two classes of equal spread have as many degrees of freedom as samples. Around one half,
    # Wilson's interval tells the quantile that it was made with.
    even = np.full((1, 2), 0.5)
    scores = MeanShares(even, np.full((1, 2), float(n_samples)), even)
    low, high = scores.limits(norm.ppf(0.975))
    width = high - low
    quantile = np.sqrt(width**2 * scores.samples / (1 - width**2))
    assert quantile == pytest.approx(t.ppf(0.975, 2 * n_samples))
