"""Bias of predictions: false alarms, coverage and power of the score test, also for few samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import binom, norm

from deconfuse import ConfusionMatrix, diagnose
from deconfuse.statistics.bias import _share_sums, class_biases
from deconfuse.statistics.share_sums import ShareSums

Floats = NDArray[np.float64]


def _rates(n_classes: int, accuracy: float) -> Floats:
    rates = np.full((n_classes, n_classes), (1 - accuracy) / (n_classes - 1))
    np.fill_diagonal(rates, accuracy)
    return rates


def _sums(counts: Floats | list[list[int]]) -> ShareSums:
    cm = ConfusionMatrix.from_counts(counts)
    return _share_sums(cm, np.arange(cm.n_classes))[0]


def test_two_samples_say_nothing_of_bias() -> None:
    assert [bias.verdict for bias in diagnose([[1, 1], [1, 0]]).biases] == ["unclear", "unclear"]


@pytest.mark.parametrize(
    ("sizes", "accuracy"),
    [
        ([3] * 2, 0.5),
        ([1000, 5], 0.6),
        ([500] + [6] * 19, 0.3),
        ([200] * 5 + [5] * 5, 0.5),
        ([1] * 10, 0.1),
    ],
    ids=["2x3", "1000+5", "500+19x6", "5x200+5x5", "10x1"],
)
def test_few_samples_raise_no_alarms_and_intervals_hold(sizes: list[int], accuracy: float) -> None:
    rng = np.random.default_rng(0)
    rates, runs, alarms, hits = _rates(len(sizes), accuracy), 150, 0, 0
    for _ in range(runs):
        counts = np.array([rng.multinomial(n, p) for n, p in zip(sizes, rates, strict=True)])
        biases = class_biases(ConfusionMatrix.from_counts(counts), 0.95)
        alarms += any(bias.verdict in ("over", "under") for bias in biases)
        # Of classes that are not labels and predictions both, nothing is claimed.
        hits += sum(not (bias.low > 1 or bias.high < 1) for bias in biases)
    assert alarms <= binom.ppf(0.999, runs, 0.05)
    assert hits >= 0.94 * runs * len(sizes)


def test_a_favoured_class_is_found_though_another_is_rare() -> None:
    rng = np.random.default_rng(0)
    rates = _rates(10, 0.8) * np.r_[2.5, np.ones(9)]
    rates /= rates.sum(axis=1, keepdims=True)
    found = 0
    for _ in range(50):
        sizes = [100] * 9 + [2]
        counts = np.array([rng.multinomial(n, p) for n, p in zip(sizes, rates, strict=True)])
        found += class_biases(ConfusionMatrix.from_counts(counts), 0.95)[0].verdict == "over"
    assert found >= 40


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_intervals_are_what_the_test_does_not_reject(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 8))
    sums = _sums(rng.poisson(rng.gamma(0.5, 10, (n_classes, n_classes))) + np.eye(n_classes))
    low, high = sums.interval(0.9)
    assert (low <= sums.sums + 1e-9).all()
    assert (high >= sums.sums - 1e-9).all()
    for ends in (low, high):
        inside = (ends > 0.01) & (ends < n_classes - 0.01)
        for column in np.flatnonzero(inside):
            assert sums.p_values(float(ends[column]))[column] == pytest.approx(0.1, abs=2e-3)


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")
def test_the_likeliest_shares_are_those_of_a_general_optimizer() -> None:
    hits, sizes = np.array([3.0, 0.0, 7.0]), np.array([10.0, 4.0, 20.0])

    def loss(p: Floats) -> float:
        return float(-(hits * np.log(p) + (sizes - hits) * np.log(1 - p)).sum())

    best = minimize(
        loss,
        np.full(3, 0.5),
        method="SLSQP",
        bounds=[(1e-6, 1 - 1e-6)] * 3,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1.5},
        options={"ftol": 1e-14, "maxiter": 500},
    ).x
    variance = float((best * (1 - best) / sizes).sum())
    slope = hits[0] / best[0] - (sizes - hits)[0] / (1 - best[0])
    # One column of a table, and what is missing to its rows.
    cells = sparse.coo_array(np.array([[3, 7], [0, 4], [7, 13]]))
    own = (sizes[cells.row],) * 2
    sums = ShareSums(cells.col.astype(np.intp), cells.data.astype(float), *own, np.sort(sizes), 2)
    assert sums._moments(np.array([slope, -slope]))[0] == pytest.approx(variance, rel=1e-4)
    assert sums.sums[0] - slope * variance == pytest.approx(1.5, rel=1e-4)
    assert sums.p_values(1.5)[0] == pytest.approx(sums.p_values(1.5)[1], rel=1e-4)


def _normal_tail(z: float) -> float:
    return float(norm.sf(z))


def test_two_classes_alike_in_size_are_a_test_of_two_shares() -> None:
    # 12 of 40 and 18 of 40 against the rest: without skewness exactly the test of Miettinen and
    # Nurminen (1985), with a pooled variance from one sample less.
    pooled = 34 / 80
    z = (22 - 12) / 40 / np.sqrt(pooled * (1 - pooled) * 2 / 40 * 80 / 79)
    expected = 2 * _normal_tail(float(z))
    assert _sums([[12, 28], [18, 22]]).p_values(1.0)[0] == pytest.approx(expected, rel=1e-5)


def test_scaled_weights_and_sparse_counts_change_nothing() -> None:
    counts = np.random.default_rng(2).poisson(3.0, (6, 6)).astype(float)
    plain = class_biases(ConfusionMatrix.from_counts(counts), 0.95)
    for cm in (
        ConfusionMatrix.from_counts(0.01 * counts, variances=0.0001 * counts),
        ConfusionMatrix.from_counts(sparse.csr_array(counts)),
    ):
        for one, other in zip(plain, class_biases(cm, 0.95), strict=True):
            assert (one.low, one.high, one.p_value) == pytest.approx(
                (other.low, other.high, other.p_value), rel=1e-4, nan_ok=True
            )
            assert one.verdict == other.verdict


def test_samples_of_one_class_alone_show_no_bias() -> None:
    biases = class_biases(ConfusionMatrix.from_counts([[80, 20], [0, 0]]), 0.95)
    assert [bias.verdict for bias in biases] == ["even", "never seen"]
    assert biases[0].p_value == biases[0].ratio == 1.0
