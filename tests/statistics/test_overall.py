"""The overall test of a comparison: exact by enumeration, uniform by simulation, and with power."""

from __future__ import annotations

from itertools import product
from math import lgamma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom, fisher_exact, hypergeom, kstest, norm

from deconfuse import ConfusionMatrix, compare, normalize, overlap
from deconfuse.statistics.conditional import (
    NullTables,
    Triples,
    paired_tables,
    unpaired_tables,
)
from deconfuse.statistics.null_fit import fit_null
from deconfuse.statistics.similarity_test import overall_test, similarity_test
from tests.statistics.simulated import draw_counts, error_rates

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def _drawn(one: Ints, other: Ints, n_draws: int, rng: np.random.Generator) -> NullTables:
    return unpaired_tables(one, other, fit_null(one, other).share, n_draws, rng)


def _dense(tables: NullTables) -> tuple[Ints, Ints]:
    """Return all first and all second tables."""
    both = []
    for part in (tables.draws, tables.total[:, None] - tables.draws):
        flat = np.zeros((part.shape[1], tables.n_classes**2), dtype=int)
        flat[:, tables.cells] = part.T
        both.append(flat.reshape(-1, tables.n_classes, tables.n_classes))
    return both[0], both[1]


def _shares(rates: Floats, rng: np.random.Generator, *, skewed: bool) -> Floats:
    """Return the same similarity under some label shares and some favours."""
    tilted = rates * np.exp((0.7 if skewed else 0.2) * rng.normal(size=len(rates)))
    tilted /= tilted.sum(axis=1, keepdims=True)
    even = np.full(len(rates), 1 / len(rates))
    prevalence = 0.8 * rng.dirichlet(np.ones(len(rates))) + 0.2 * even if skewed else even
    return np.asarray(prevalence[:, None] * tilted)


def _planted(rates: Floats, kind: str, rng: np.random.Generator) -> Floats:
    """Return another classifier: one pair more alike, all errors others, or better throughout."""
    other = rates.copy()
    if kind == "pair":
        for i, j in ((0, 1), (1, 0)):
            other[i, j] += 0.15
            other[i, i] -= 0.15
    elif kind == "errors":
        other = 0.5 * rates + 0.5 * error_rates(len(rates), rng)
    else:
        other *= 0.75
        np.fill_diagonal(other, 0)
        np.fill_diagonal(other, 1 - other.sum(axis=1))
    return other


@pytest.mark.parametrize(
    ("first", "second"),
    [([[4, 1, 2], [1, 3, 0], [0, 2, 3]], [[3, 2, 0], [0, 5, 1], [2, 1, 4]])],
)
def test_draws_follow_the_exact_distribution(first, second) -> None:
    one, total = np.array(first), np.array(first) + np.array(second)
    weights = {}
    for four in product(*(range(n + 1) for n in (total[:2, :2]).ravel())):
        table = np.zeros((3, 3), dtype=int)
        table[:2, :2] = np.reshape(four, (2, 2))
        table[:2, 2] = one.sum(axis=1)[:2] - table[:2, :2].sum(axis=1)
        table[2] = one.sum(axis=0) - table[:2].sum(axis=0)
        if (table < 0).any() or (table > total).any():
            continue
        ways = -sum(lgamma(n + 1) for n in [*table.ravel(), *(total - table).ravel()])
        weights[tuple(table.ravel())] = np.exp(ways)
    chances = np.array(list(weights.values())) / sum(weights.values())
    drawn = _drawn(one, np.array(second), 4000, np.random.default_rng(0))
    flat = np.zeros((4000, 9), dtype=int)
    flat[:, drawn.cells] = drawn.draws[:, 1:].T
    seen = dict.fromkeys(weights, 0)
    for table in flat:
        seen[tuple(table)] += 1
    shares = np.array(list(seen.values())) / 4000
    # Half the L1 distance of 4,000 true draws from their own distribution would be about this.
    noise = np.sqrt(chances * (1 - chances) / 4000).sum() * np.sqrt(2 / np.pi) / 2
    assert np.abs(shares - chances).sum() / 2 < 1.3 * noise


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 8))
def test_draws_keep_margins_and_sum(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.poisson(rng.gamma(0.5, 4, (2, n_classes, n_classes)))
    tables = _drawn(one, other, 5, rng)
    for first, second in zip(*_dense(tables), strict=True):
        np.testing.assert_array_equal(first + second, one + other)
        np.testing.assert_array_equal(first.sum(axis=0), one.sum(axis=0))
        np.testing.assert_array_equal(first.sum(axis=1), one.sum(axis=1))
        assert (first >= 0).all()
        assert (second >= 0).all()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_paired_draws_keep_margins_sum_and_agreement(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true, first, second = rng.integers(0, 4, (3, 80))
    tables = paired_tables(_triples(true, first, second, 4), 4, 5, rng)
    one, other = (
        ConfusionMatrix.from_predictions(true, p, labels=range(4)).counts for p in (first, second)
    )
    drawn = _dense(tables)
    agreed = ConfusionMatrix.from_predictions(
        true[first == second], first[first == second], labels=range(4)
    ).counts
    np.testing.assert_array_equal(drawn[0][0] + agreed, one)
    np.testing.assert_array_equal(drawn[1][0] + agreed, other)
    for table in drawn[0]:
        np.testing.assert_array_equal((table + agreed).sum(axis=0), one.sum(axis=0))
        np.testing.assert_array_equal((table + agreed).sum(axis=1), one.sum(axis=1))


def test_two_classes_against_the_exact_distribution() -> None:
    # With two classes the common odds ratio has one degree of freedom: the conditional law of one
    # cell is a product of two hypergeometric ones, tilted by nothing.
    first, second = np.array([[40, 8], [10, 30]]), np.array([[35, 14], [4, 45]])
    total = first + second
    rows, columns = first.sum(axis=1), first.sum(axis=0)
    values = np.arange(rows[0] + 1)
    chance = np.zeros(len(values))
    for value in values:
        cells = [value, rows[0] - value, columns[0] - value, rows[1] - columns[0] + value]
        if all(0 <= n <= most for n, most in zip(cells, total.ravel(), strict=True)):
            chance[value] = np.prod(
                [binom.pmf(n, most, 0.5) for n, most in zip(cells, total.ravel(), strict=True)]
            )
    chance /= chance.sum()
    middle = (values * chance).sum()
    exact = chance[np.abs(values - middle) >= abs(first[0, 0] - middle) - 1e-9].sum()
    c = compare(first, second)
    assert c.p_value == pytest.approx(exact, abs=0.06)


def test_paired_two_classes_are_fishers_test() -> None:
    # True class 0: 12 samples right by the first alone, 3 by the second alone; true class 1: 4, 9.
    triples = Triples(
        np.array([0, 0, 1, 1, 0, 1]),
        np.array([0, 1, 1, 0, 0, 1]),
        np.array([1, 0, 0, 1, 0, 1]),
        np.array([12, 3, 4, 9, 50, 50]),
    )
    tables = paired_tables(triples, 2, 20_000, np.random.default_rng(0))
    # First says 0 and second 1: 12 of 15 in class 0, 9 of 13 in class 1.
    law = hypergeom(28, 15, 21)
    drawn = tables.draws[0, 1:]
    assert drawn.mean() == pytest.approx(law.mean(), abs=0.05)
    assert drawn.var() == pytest.approx(law.var(), rel=0.05)
    p_value = overall_test(tables).p_value
    assert p_value == pytest.approx(fisher_exact([[12, 3], [9, 4]]).pvalue, abs=0.15)
    assert p_value > 0.3


def test_the_expected_table_meets_the_margins() -> None:
    rng = np.random.default_rng(2)
    shares = _shares(error_rates(7, rng), rng, skewed=True)
    one, other = draw_counts(shares, 900, rng), draw_counts(shares, 1800, rng)
    fit = fit_null(one, other)
    dense = np.zeros(49)
    dense[fit.cells] = fit.expected
    np.testing.assert_allclose(dense.reshape(7, 7).sum(axis=0), one.sum(axis=0), atol=0.05)
    np.testing.assert_allclose(dense.reshape(7, 7).sum(axis=1), one.sum(axis=1), atol=0.05)
    # The odds of being of the first table are a row's factor times a column's.
    rest = (one + other) - dense.reshape(7, 7)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(dense.reshape(7, 7) / rest)
    known = (one + other)[:2, :2] > 0
    assert known.all()
    assert odds[0, 0] + odds[1, 1] == pytest.approx(odds[0, 1] + odds[1, 0], abs=1e-6)


def test_a_table_unlike_all_draws_has_the_smallest_p_value() -> None:
    draws = np.array([[9, 5, 4, 5, 6, 4, 5, 5, 6, 4]])
    draws = np.concatenate([draws, 10 - draws, 10 - draws, draws])
    tables = NullTables(np.arange(4), np.full(4, 20), draws, 2)
    assert overall_test(tables).p_value == 0.1
    seen = np.array([[9, 11], [11, 9]])
    same = NullTables(np.arange(4), np.full(4, 20), np.repeat(seen.reshape(4, 1), 10, axis=1), 2)
    fit = fit_null(seen, 20 - seen)
    assert overall_test(same, fit).p_value == 1.0
    assert overall_test(same, fit).smallest == 1.0
    assert (overall_test(same, fit).cells == 1.0).all()


def test_very_large_counts_work() -> None:
    first = np.array([[4_000_000, 30_000], [20_000, 3_000_000]])
    assert compare(first, 2 * first).p_value > 0.5
    other = first + np.array([[0, 3000], [3000, 0]])
    assert compare(first, other).p_value < 0.01


def test_weights_enter_by_their_effective_number() -> None:
    rng = np.random.default_rng(0)
    shares = _shares(error_rates(4, rng), rng, skewed=False)
    p_values = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        both = [
            ConfusionMatrix.from_counts(25.0 * counts, variances=625.0 * counts)
            for counts in (draw_counts(shares, 600, rng), draw_counts(shares, 600, rng))
        ]
        p_values.append(compare(*both, epsilon=5.0).p_value)
    # Taken at face value these would be 15,000 samples each, and nearly always differ.
    assert np.mean(np.array(p_values) <= 0.05) <= 0.15
    assert kstest(p_values, "uniform").pvalue > 1e-3


def _triangular(n_classes: int, rng: np.random.Generator) -> Floats:
    """Return a classifier that takes classes for later ones only: no cycle of confusions."""
    rates = np.triu(rng.gamma(0.7, size=(n_classes, n_classes)), 1)
    rates *= 0.2 / np.maximum(rates.sum(axis=1, keepdims=True), 1e-9)
    np.fill_diagonal(rates, 1 - rates.sum(axis=1))
    return np.asarray(rates)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_classes", "sizes", "kind", "runs"),
    [
        (8, (500, 50_000), "triangular", 60),
        (10, (500, 5_000), "skewed", 30),
        (100, (20_000, 60_000), "skewed", 60),
        (100, (300_000, 300_000), "even", 60),
    ],
)
def test_equal_classifiers_raise_no_alarm_with_or_without_draws(
    n_classes, sizes, kind, runs
) -> None:
    alarms = np.zeros(4)
    for seed in range(runs):
        rng = np.random.default_rng([seed, n_classes])
        triangular = kind == "triangular"
        rates = (_triangular if triangular else error_rates)(n_classes, rng)
        one, other = (
            draw_counts(_shares(rates, rng, skewed=kind == "skewed"), size, rng) for size in sizes
        )
        exact = similarity_test(one.astype(float), other.astype(float), None, seed)
        fast = fit_null(one, other).test()
        alarms += [
            exact.p_value <= 0.05,
            (exact.corrected <= 0.05).any(),
            fast.p_value <= 0.05,
            (fast.corrected <= 0.05).any(),
        ]
    assert (alarms <= binom.ppf(0.999, runs, 0.05)).all()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), is_paired=st.booleans(), is_weighted=st.booleans())
def test_p_values_know_no_order_of_classes_or_sides(seed, is_paired, is_weighted) -> None:
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 4, 300)
    guesses = [np.where(rng.random(300) < 0.7, true, rng.integers(0, 4, 300)) for _ in range(2)]
    weight = None if is_paired or not is_weighted else rng.gamma(2, size=300)

    def counted(order, one, other):
        matrices = [
            ConfusionMatrix.from_predictions(true, p, labels=order, sample_weight=weight)
            for p in (one, other)
        ]
        return compare(*matrices, paired=(true, one, other) if is_paired else None)

    there = counted(range(4), *guesses)
    back = counted(range(4), *guesses[::-1])
    order = rng.permutation(4).tolist()
    moved = counted(order, *guesses)
    assert there.p_value == back.p_value == moved.p_value
    np.testing.assert_array_equal(there.p_values, back.p_values)
    np.testing.assert_array_equal(there.p_values[np.ix_(order, order)], moved.p_values)
    np.testing.assert_allclose(there.raw_p_values, back.raw_p_values, rtol=1e-9)
    np.testing.assert_allclose(there.difference[np.ix_(order, order)], moved.difference, atol=1e-8)
    assert there.accuracy.p_value == pytest.approx(moved.accuracy.p_value)


def test_a_ring_of_confusions_is_tested_without_draws() -> None:
    """Each class is taken for the next one only: the hits are all that is left to vary."""
    first, second = (
        np.diag([hits] * 6) + np.roll(np.diag([400 - hits] * 6), 1, axis=1) for hits in (320, 360)
    )
    fit = fit_null(first, second)
    odds = (320 * 40) / (360 * 80)
    error = np.sqrt((1 / 320 + 1 / 360 + 1 / 40 + 1 / 80) / 6)
    assert fit.freedom.sum() == pytest.approx(1.0, abs=1e-3)
    assert fit.test().p_value < 2 * norm.sf(0.8 * abs(np.log(odds)) / error) * 3
    assert fit_null(first, first).test().p_value == 1.0


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw less: the test stays exact, and runs are many."""
    monkeypatch.setattr("deconfuse.statistics.similarity_test._DRAWS", 199)


SETTINGS = [
    pytest.param(n_classes, size, runs, skewed, id=f"{n_classes}-{'skewed' if skewed else 'even'}")
    for n_classes, size, runs, skewed in (
        (5, 1500, 60, False),
        (5, 1500, 60, True),
        (10, 2000, 40, True),
        (60, 6000, 15, True),
    )
]


@pytest.mark.slow
@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize(("n_classes", "size", "runs", "skewed"), SETTINGS)
def test_p_values_are_uniform_under_the_null(n_classes, size, runs, skewed) -> None:
    overall, cells, alarms = [], [], 0
    for seed in range(runs):
        rng = np.random.default_rng([seed, n_classes])
        rates = error_rates(n_classes, rng)
        # Twice as many samples, other label shares and other favours on one side.
        one, other = (_shares(rates, rng, skewed=skewed) for _ in range(2))
        c = compare(draw_counts(one, size, rng), draw_counts(other, 2 * size, rng), rng=rng)
        overall.append(c.p_value)
        # One cell a run with enough samples: cells of one matrix are not independent.
        enough = np.argwhere((size * one >= 10) & (2 * size * other >= 10))
        i, j = rng.choice(enough)
        cells.append(c.raw_p_values[i, j])
        alarms += bool((c.p_values < 0.05).any())
    assert kstest(overall, "uniform").pvalue > 1e-3
    assert kstest(cells, "uniform").pvalue > 1e-3
    most = binom.ppf(0.999, runs, 0.05)
    assert np.sum(np.array(overall) <= 0.05) <= most
    assert alarms <= most


@pytest.mark.slow
@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("kind", ["pair", "errors", "better"])
@pytest.mark.parametrize(("n_classes", "size"), [(5, 4000), (60, 15_000)])
def test_planted_differences_are_found(n_classes: int, size: int, kind: str) -> None:
    runs = 10 if n_classes < 60 else 5
    found = 0
    for seed in range(runs):
        rng = np.random.default_rng([seed, n_classes])
        rates = error_rates(n_classes, rng)
        one = _shares(rates, rng, skewed=False)
        other = _shares(_planted(rates, kind, rng), rng, skewed=False)
        c = compare(draw_counts(one, size, rng), draw_counts(other, size, rng), rng=rng)
        found += c.p_value <= 0.05
    assert found >= 0.8 * runs


def _triples(true: Ints, first: Ints, second: Ints, n_classes: int) -> Triples:
    keys, counts = np.unique((true * n_classes + first) * n_classes + second, return_counts=True)
    return Triples(keys // n_classes**2, keys // n_classes % n_classes, keys % n_classes, counts)


def _paired(
    rates: tuple[Floats, Floats], agreement: float, rng: np.random.Generator
) -> tuple[Ints, Ints, Ints]:
    """Return labels and two models' predictions that share their noise on some samples.

    The largest of log-rates plus Gumbel noise is drawn with those rates.
    """
    n_classes, size = len(rates[0]), 2000
    true = rng.integers(0, n_classes, size)
    noise, other = rng.gumbel(size=(2, size, n_classes))
    shared = np.where((rng.random(size) < agreement)[:, None], noise, other)
    one, two = (
        (np.log(rate[true] + 1e-12) + part).argmax(axis=1)
        for rate, part in zip(rates, (noise, shared), strict=True)
    )
    return true, one, two


@pytest.mark.slow
@pytest.mark.parametrize("favours", [0.0, 0.5])
@pytest.mark.parametrize(("n_classes", "agreement"), [(4, 0.5), (4, 0.9), (10, 0.5), (30, 0.9)])
def test_paired_p_values_are_uniform_under_the_null(n_classes, agreement, favours) -> None:
    overall, runs = [], 200
    for seed in range(runs):
        rng = np.random.default_rng([seed, n_classes])
        rates = error_rates(n_classes, rng)
        tilted = rates * np.exp(favours * rng.normal(size=n_classes))
        sample = _paired((rates, tilted), agreement, rng)
        tables = paired_tables(_triples(*sample, n_classes), n_classes, 199, rng)
        overall.append(overall_test(tables).p_value)
    assert kstest(overall, "uniform", alternative="greater").pvalue > 1e-3
    assert np.sum(np.array(overall) <= 0.05) <= binom.ppf(0.999, runs, 0.05)
    if n_classes <= 10:
        assert kstest(overall, "uniform").pvalue > 1e-3
    else:
        # Some sixty disagreements over thirty classes: ties make p-values larger, never smaller.
        assert np.mean(np.array(overall) == 1.0) > 0.1


@pytest.mark.slow
@pytest.mark.usefixtures("few_draws")
def test_paired_cells_are_uniform_under_the_null() -> None:
    cells, alarms, runs = [], 0, 80
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        rates = error_rates(4, rng)
        true, one, other = _paired((rates, rates), 0.5, rng)
        a, b = (ConfusionMatrix.from_predictions(true, p, labels=range(4)) for p in (one, other))
        c = compare(a, b, paired=(true, one, other), rng=rng)
        i, j = rng.choice(np.argwhere((a.counts >= 15) & (b.counts >= 15)))
        cells.append(c.raw_p_values[i, j])
        alarms += bool((c.p_values < 0.05).any())
    assert kstest(cells, "uniform").pvalue > 1e-3
    assert alarms <= binom.ppf(0.999, runs, 0.05)


@pytest.mark.parametrize("kind", ["pair", "better"])
def test_pairing_finds_what_independent_samples_hide(kind: str) -> None:
    paired = alone = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rates = error_rates(5, rng)
        other = 0.6 * rates + 0.4 * _planted(rates, kind, rng)
        true, one, two = _paired((rates, other), 0.95, rng)
        a, b = (ConfusionMatrix.from_predictions(true, p, labels=range(5)) for p in (one, two))
        paired += compare(a, b, paired=(true, one, two)).p_value <= 0.05
        alone += compare(a, b).p_value <= 0.05
    assert paired >= 5
    assert paired > alone


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "size"), [(6, 2000), (10, 10_000)])
@pytest.mark.parametrize("kind", ["none", "pair", "errors", "better"])
def test_overlap_intervals_cover(
    n_classes: int, size: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_DRAWS", "_FEWEST_DRAWS"):
        monkeypatch.setattr(f"deconfuse.statistics.similarity_test.{name}", 99)
    monkeypatch.setattr("deconfuse.statistics.resampling._RESAMPLES", 99)
    hits, runs = 0, 30
    for seed in range(runs):
        rng = np.random.default_rng([seed, n_classes])
        rates = error_rates(n_classes, rng)
        changed = rates if kind == "none" else _planted(rates, kind, rng)
        one, two = (_shares(r, rng, skewed=bool(seed % 2)) for r in (rates, changed))
        truth = overlap(normalize(one, "bi", 0.0), normalize(two, "bi", 0.0))
        c = compare(draw_counts(one, size, rng), draw_counts(two, size, rng), rng=rng)
        low, high = c.overlap_interval
        assert low <= c.overlap <= high
        hits += low <= truth + 1e-9 and truth - 1e-9 <= high
    assert hits >= binom.ppf(0.005, runs, 0.95)
