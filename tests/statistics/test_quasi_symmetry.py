"""The test of symmetric similarity: exact by enumeration, uniform by simulation, and with power."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom, kstest

from deconfuse import similarity_choice
from deconfuse.statistics import quasi_symmetry
from deconfuse.statistics.conditional import Chain
from deconfuse.statistics.quasi_symmetry import symmetry_p_value

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def _counts(rates: Floats, size: int, rng: np.random.Generator) -> Ints:
    return np.array([rng.multinomial(size, row) for row in rates])


def _rates(n_classes: int, rng: np.random.Generator, favour: float = 0.0) -> Floats:
    rates = np.full((n_classes, n_classes), 0.2 / (n_classes - 1))
    np.fill_diagonal(rates, 0.8)
    rates *= np.exp(favour * rng.normal(size=n_classes))
    return np.asarray(rates / rates.sum(axis=1, keepdims=True))


def _one_way(rates: Floats, size: float) -> Floats:
    """Return rates of a classifier that takes each class for the next two more than the reverse."""
    n_classes = len(rates)
    ahead = (np.arange(n_classes) - np.arange(n_classes)[:, None]) % n_classes
    tilted = rates * np.where((ahead == 1) | (ahead == 2), 1 + size, 1.0)
    tilted *= np.where(ahead >= n_classes - 2, 1 - size, 1.0)
    return np.asarray(tilted / tilted.sum(axis=1, keepdims=True))


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw less: the test stays exact, and runs are many."""
    monkeypatch.setattr(quasi_symmetry, "_DRAWS", 99)
    monkeypatch.setattr(quasi_symmetry, "_SWEEPS", 40)


def test_three_classes_against_all_tables() -> None:
    counts = np.array([[9, 5, 2], [1, 9, 4], [3, 2, 9]])
    low, high = np.array([0, 0, 1]), np.array([1, 2, 2])
    total = (counts + counts.T)[low, high]
    share = quasi_symmetry._shares(quasi_symmetry._free_pairs(counts))
    seen = counts[low, high]

    def deviance(forward: Ints) -> float:
        both = np.r_[forward, total - forward]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = both * np.log(both / np.r_[total * share, total * (1 - share)])
        return float(np.nansum(logs))

    chances, values = [], []
    for forward in product(*(range(n + 1) for n in total)):
        moved = np.array(forward) - seen
        # Samples go round the circle 0, 1, 2: what 0-1 gains, 1-2 gains and 0-2 loses.
        if moved[0] == moved[2] == -moved[1]:
            chances.append(np.prod([comb(n, k) for n, k in zip(total, forward, strict=True)]))
            values.append(deviance(np.array(forward)))
    exact = np.sum(chances, where=np.array(values) >= deviance(seen) - 1e-9) / np.sum(chances)
    assert 0.05 < exact < 0.95
    assert symmetry_p_value(counts, np.random.default_rng(0)) == pytest.approx(exact, abs=0.05)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(3, 12), density=st.floats(0.1, 1.0))
def test_draws_keep_what_is_sufficient(seed: int, n_classes: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(2.0, (n_classes, n_classes)) * (rng.random((n_classes,) * 2) < density)
    pairs = quasi_symmetry._free_pairs(counts)
    if not len(pairs.low):
        return
    share = quasi_symmetry._shares(pairs)
    chain = Chain(np.append(pairs.total, 0), np.append(share, 0.5), rng)
    steps = list(quasi_symmetry._steps(pairs, chain, 5, rng))
    for step in steps:
        used = step.cells[step.signs != 0]
        assert len(np.unique(used)) == len(used)
        assert (used < len(pairs.low)).all()

    def given_and_missed(forward: Ints) -> Ints:
        wins = np.zeros((len(pairs.parts), forward.shape[1]), dtype=np.int64)
        np.add.at(wins, pairs.high, forward)
        np.add.at(wins, pairs.low, pairs.total[:, None] - forward)
        return wins

    expected = given_and_missed(pairs.forward[:, None])
    for draws in chain.draws(np.append(pairs.forward, 0), steps, 3):
        assert (draws[:-1] >= 0).all()
        assert (draws[:-1] <= pairs.total[:, None]).all()
        assert (draws[-1] == 0).all()
        np.testing.assert_array_equal(given_and_missed(draws[:-1]), np.tile(expected, 3))


def test_the_biases_are_the_likeliest() -> None:
    counts = _counts(_rates(8, np.random.default_rng(0), 0.5), 200, np.random.default_rng(1))
    pairs = quasi_symmetry._free_pairs(counts)
    fitted = similarity_choice(counts, epsilon=0.0).fitted
    expected = fitted[pairs.low, pairs.high] / (fitted + fitted.T)[pairs.low, pairs.high]
    np.testing.assert_allclose(quasi_symmetry._shares(pairs), expected, atol=1e-6)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize(
    ("n_classes", "size", "favour", "runs"),
    [(20, 20, 0.0, 60), (10, 100, 0.7, 100), (4, 15, 0.7, 200)],
)
def test_p_values_are_uniform_when_bias_is_all(n_classes, size, favour, runs) -> None:
    rng = np.random.default_rng(5)
    p_values = np.array(
        [
            symmetry_p_value(_counts(_rates(n_classes, rng, favour), size, rng), rng)
            for _ in range(runs)
        ]
    )
    assert np.sum(p_values <= 0.05) <= binom.ppf(0.999, runs, 0.05)
    assert kstest(p_values, "uniform", alternative="greater").pvalue > 1e-3
    if n_classes * size >= 400:
        # Fewer samples have ties, which make p-values larger, never smaller.
        assert kstest(p_values, "uniform").pvalue > 1e-3


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize(("n_classes", "size"), [(20, 100), (6, 60)])
def test_one_way_confusion_is_found(n_classes: int, size: int) -> None:
    rng = np.random.default_rng(5)
    found, runs = 0, 20
    for _ in range(runs):
        rates = _one_way(_rates(n_classes, rng, 0.3), 0.9)
        found += symmetry_p_value(_counts(rates, size, rng), rng) <= 0.05
    assert found >= 0.7 * runs


def test_one_ring_of_confusions_is_found() -> None:
    # Each class is taken for the next one, rarely for the one before: no triangle at all.
    counts = 50 * np.eye(7, dtype=np.int64)
    for i in range(7):
        counts[i, (i + 1) % 7], counts[(i + 1) % 7, i] = 9, 2
    assert symmetry_p_value(counts, np.random.default_rng(0)) <= 0.01
    # As often both ways, whatever the numbers: nothing is one-way.
    assert symmetry_p_value(counts + counts.T, np.random.default_rng(0)) > 0.5


def test_where_nothing_could_have_been_otherwise_the_p_value_is_one() -> None:
    # A ladder: each class is taken for all later ones, never the other way.
    assert symmetry_p_value(np.triu(np.full((5, 5), 7)), np.random.default_rng(0)) == 1.0


@pytest.mark.parametrize("favour", [0.0, 0.5])
def test_very_many_pairs_are_approximated(favour: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quasi_symmetry, "_MAX_PAIRS", 0)
    rng = np.random.default_rng(2)
    runs = 150
    p_values = np.array(
        [symmetry_p_value(_counts(_rates(25, rng, favour), 150, rng), rng) for _ in range(runs)]
    )
    assert kstest(p_values, "uniform").pvalue > 1e-3
    assert np.sum(p_values <= 0.05) <= binom.ppf(0.999, runs, 0.05)
    planted = _counts(_one_way(_rates(25, rng, favour), 0.8), 500, rng)
    assert symmetry_p_value(planted, rng) < 1e-3
    once = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert symmetry_p_value(once, rng) == 1.0


@pytest.mark.parametrize("n_classes", [3, 4, 5, 33, 40])
def test_one_way_round_a_circle_of_any_length_is_found(n_classes: int) -> None:
    once = np.eye(n_classes, dtype=np.int64)
    counts = 90 * once + 30 * np.roll(once, 1, axis=1)
    assert similarity_choice(counts).p_value == 0.001


@pytest.mark.parametrize("size", [2, 3, 8])
def test_two_groups_confused_only_across_are_tested(size: int) -> None:
    rng = np.random.default_rng(size)
    counts = 90 * np.eye(2 * size, dtype=np.int64)
    ways = rng.random((size, size)) < 0.5
    ways[0, 0], ways[0, 1], ways[1, 0], ways[1, 1] = True, False, False, True
    counts[:size, size:] = np.where(ways, 30, 3)
    counts[size:, :size] = np.where(ways, 3, 30).T
    assert similarity_choice(counts).p_value == 0.001


def test_where_no_step_is_possible_the_law_for_many_samples_decides() -> None:
    # Errors only to the next nine classes of a large ring: no short circle can be moved round.
    n_classes = 100
    counts = 100 * np.eye(n_classes, dtype=np.int64)
    for k in range(1, 10):
        counts += 5 * np.roll(np.eye(n_classes, dtype=np.int64), k, axis=1)
    assert similarity_choice(counts).p_value < 0.01
