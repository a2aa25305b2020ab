"""A pair stands out when its confusions are more than the luck of the luckiest pair."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import poisson

from deconfuse import ConfusionMatrix, diagnose
from deconfuse.statistics.standing_out import surely_uneven

FloatArray = NDArray[np.float64]


def even_matrix(n_classes: int, accuracy: float) -> FloatArray:
    """Return a bi-normalized matrix whose pairs are all equally alike."""
    matrix = np.full((n_classes, n_classes), (1 - accuracy) / (n_classes - 1))
    np.fill_diagonal(matrix, accuracy)
    return matrix


def drawn(matrix: FloatArray, samples: int, skew: float, seed: int) -> ConfusionMatrix:
    """Return counts of classes of any size and favour, with the similarities of the matrix."""
    rng = np.random.default_rng(seed)
    sizes, favours = np.exp(skew * rng.normal(size=(2, len(matrix))))
    shares = matrix * favours
    shares /= shares.sum(axis=1, keepdims=True)
    numbers = np.maximum(samples * sizes, 2).astype(int)
    rows = [rng.multinomial(n, row) for n, row in zip(numbers, shares, strict=True)]
    return ConfusionMatrix.from_counts(np.array(rows))


def told(cm: ConfusionMatrix) -> list[tuple[object, ...]]:
    return [found.classes for found in diagnose(cm).findings if found.kind == "look_alike"]


@pytest.mark.parametrize(
    ("n_classes", "samples", "skew"),
    [(5, 100, 0.0), (10, 50, 0.0), (20, 100, 0.0), (10, 50, 1.0), (20, 1000, 1.5), (50, 400, 1.0)],
)
def test_errors_by_chance_are_rarely_called_alike(n_classes: int, samples: int, skew: float):
    alarms = sum(
        bool(told(drawn(even_matrix(n_classes, 0.9), samples, skew, seed))) for seed in range(60)
    )
    # Of 60 runs at 5 %, eight or more happen once in a hundred times.
    assert alarms <= 7


@pytest.mark.parametrize("skew", [0.0, 1.0])
def test_a_pair_that_is_alike_is_found_among_many(skew: float):
    matrix = even_matrix(30, 0.85)
    matrix[3, 7] = matrix[7, 3] = 0.2
    cm = drawn(matrix, 150, skew, seed=1)
    assert told(cm) == [(3, 7)]


def test_a_pair_is_not_hidden_by_one_that_is_more_alike():
    """The level that is called even is that of the pairs which are not found yet."""
    counts = np.full((4, 4), 20)
    np.fill_diagonal(counts, 1000)
    counts[0, 1] = counts[1, 0] = 900
    counts[2, 3] = counts[3, 2] = 130
    normalized = ConfusionMatrix.from_counts(counts).normalize("bi")
    assert surely_uneven(normalized, [(0, 1), (2, 3), (0, 2)], 0.95).tolist() == [True, True, False]
    # By itself, and in the order of the pairs given.
    assert surely_uneven(normalized, [(2, 3)], 0.95).tolist() == [False]
    assert surely_uneven(normalized, [(2, 3), (0, 1)], 0.95).tolist() == [True, True]
    assert surely_uneven(normalized, [], 0.95).tolist() == []


def fitted_by_proportions(counts: FloatArray) -> FloatArray:
    """Return the means of equally similar pairs, by meeting rows, columns and trace in turn."""
    means = np.ones_like(counts)
    hits = np.eye(len(counts), dtype=bool)
    for _ in range(5_000):
        means *= (counts.sum(axis=1) / means.sum(axis=1))[:, None]
        means *= counts.sum(axis=0) / means.sum(axis=0)
        means[hits] *= np.trace(counts) / np.trace(means)
        means[~hits] *= counts[~hits].sum() / means[~hits].sum()
    return means


def test_the_test_is_that_of_two_poisson_numbers():
    counts = np.array([[50.0, 9, 2], [8, 90, 3], [2, 1, 30]])
    normalized = ConfusionMatrix.from_counts(counts.astype(int)).normalize("bi")
    fitted = fitted_by_proportions(counts)
    means = fitted[0, 1], fitted[1, 0]
    x, y = np.meshgrid(np.arange(200), np.arange(200), indexing="ij")
    reached = (x + 1 / 3) * (y + 1 / 3) >= (9 + 1 / 3) * (8 + 1 / 3) - 1e-9
    chance = (poisson.pmf(x, means[0]) * poisson.pmf(y, means[1]))[reached].sum()
    for level, expected in ((1 - 3 * chance * 1.01, True), (1 - 3 * chance * 0.99, False)):
        assert surely_uneven(normalized, [(0, 1)], level).tolist() == [expected]


def test_weights_of_any_scale_and_sparse_counts_say_the_same():
    counts = drawn(even_matrix(12, 0.8), 300, 0.5, seed=3).counts
    places = list(pairwise(range(12)))
    for level in (0.2, 0.8, 0.95):
        plain, weighted, kept_sparse = (
            surely_uneven(cm.normalize("bi", epsilon=epsilon), places, level).tolist()
            for cm, epsilon in (
                (ConfusionMatrix.from_counts(counts), 0.1),
                (ConfusionMatrix.from_counts(counts * 0.01, variances=counts * 1e-4), 0.001),
                (ConfusionMatrix(sp.csr_array(counts), range(12)), 0.1),
            )
        )
        assert plain == weighted == kept_sparse


def test_classes_that_are_never_seen_or_never_predicted_are_no_trouble():
    counts = np.array([[50, 9, 0, 0], [8, 60, 0, 0], [3, 2, 0, 0], [0, 0, 0, 0]])
    normalized = ConfusionMatrix.from_counts(counts).normalize("bi")
    places = [(0, 1), (0, 2), (1, 3)]
    assert surely_uneven(normalized, places, 0.95).tolist() == [False, False, False]
    flawless = ConfusionMatrix.from_counts(np.diag([4, 5, 6])).normalize("bi")
    assert surely_uneven(flawless, [(0, 1)], 0.95).tolist() == [False]


@pytest.mark.parametrize("many", [10**6, 10**12])
def test_very_many_confusions_are_no_trouble(many: int):
    counts = np.full((3, 3), many)
    np.fill_diagonal(counts, 100 * many)
    counts[0, 1] = counts[1, 0] = 3 * many
    normalized = ConfusionMatrix.from_counts(counts).normalize("bi")
    assert surely_uneven(normalized, [(0, 1), (1, 2)], 0.95).tolist() == [True, False]
