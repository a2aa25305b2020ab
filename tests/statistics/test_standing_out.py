"""A pair stands out when its confusions are more than the luck of the luckiest pair."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import poisson

from deconfuse import ConfusionMatrix, diagnose, load_example
from deconfuse.statistics.similarity import _even_rates, standing_out

FloatArray = NDArray[np.float64]


def uneven(cm: ConfusionMatrix, pairs: list[tuple[int, int]], level: float = 0.95) -> list[bool]:
    places = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return standing_out(cm, places, level).from_all_pairs.tolist()


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
    [(20, 100, 0.0), (10, 50, 1.0), (20, 1000, 1.5), (50, 400, 1.0)],
)
def test_errors_by_chance_are_rarely_called_alike(n_classes: int, samples: int, skew: float):
    alarms = sum(
        bool(told(drawn(even_matrix(n_classes, 0.9), samples, skew, seed))) for seed in range(40)
    )
    # Of 40 runs at 5 %, seven or more happen once in a hundred times.
    assert alarms <= 6


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
    cm = ConfusionMatrix.from_counts(counts)
    assert uneven(cm, [(0, 1), (2, 3), (0, 2)]) == [True, True, False]
    # By itself, and in the order of the pairs given.
    assert uneven(cm, [(2, 3)]) == [False]
    assert uneven(cm, [(2, 3), (0, 1)]) == [True, True]
    assert uneven(cm, []) == []


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


def test_the_test_is_that_of_a_poisson_number():
    counts = np.array([[50.0, 9, 2], [8, 90, 3], [2, 1, 30]])
    fitted = fitted_by_proportions(counts)
    chance = poisson.sf(9 + 8 - 1, fitted[0, 1] + fitted[1, 0])
    for level, expected in ((1 - 3 * chance * 1.01, True), (1 - 3 * chance * 0.99, False)):
        assert uneven(ConfusionMatrix.from_counts(counts.astype(int)), [(0, 1)], level) == [
            expected
        ]


def test_weights_of_any_scale_and_sparse_counts_say_the_same():
    counts = drawn(even_matrix(12, 0.8), 300, 0.5, seed=3).counts
    places = np.array(list(pairwise(range(12))))
    for level in (0.2, 0.8, 0.95):
        plain, weighted, kept_sparse = (
            [found.tolist() for found in standing_out(cm, places, level)]
            for cm in (
                ConfusionMatrix.from_counts(counts),
                ConfusionMatrix.from_counts(counts * 0.01, variances=counts * 1e-4),
                ConfusionMatrix(sp.csr_array(counts), range(12)),
            )
        )
        assert plain == weighted == kept_sparse


def test_classes_that_are_never_seen_or_never_predicted_are_no_trouble():
    cm = ConfusionMatrix.from_counts([[50, 9, 0, 0], [8, 60, 0, 0], [3, 2, 0, 0], [0, 0, 0, 0]])
    assert uneven(cm, [(0, 1), (0, 2), (1, 3)]) == [False, False, False]
    assert uneven(ConfusionMatrix.from_counts(np.diag([4, 5, 6])), [(0, 1)]) == [False]


@pytest.mark.parametrize("many", [10**6, 10**12])
def test_very_many_confusions_are_no_trouble(many: int):
    counts = np.full((3, 3), many)
    np.fill_diagonal(counts, 100 * many)
    counts[0, 1] = counts[1, 0] = 3 * many
    assert uneven(ConfusionMatrix.from_counts(counts), [(0, 1), (1, 2)]) == [True, False]


def hard_classes(n_classes: int, seed: int) -> FloatArray:
    """Return a classifier of unequal recalls that spreads the errors of each class evenly."""
    rng = np.random.default_rng(seed)
    recall = 1 / (1 + np.exp(-np.log(0.85 / 0.15) - rng.normal(size=n_classes)))
    rates = np.repeat((1 - recall)[:, None] / (n_classes - 1), n_classes, axis=1)
    np.fill_diagonal(rates, recall)
    return rates


def test_hard_classes_explain_their_pairs_and_that_is_said():
    alarms, explained = 0, 0
    for seed in range(40):
        found = diagnose(drawn(hard_classes(10, seed), 1000, 0.0, seed)).findings
        similar = [finding.sentence for finding in found if finding.kind == "look_alike"]
        note = "Other errors of the two classes may explain it."
        alarms += any(not sentence.endswith(note) for sentence in similar)
        explained += any(sentence.endswith(note) for sentence in similar)
    # Of 40 runs at 5 %, seven or more happen once in a hundred times.
    assert alarms <= 6
    assert explained >= 20


def test_a_pair_of_hard_classes_is_still_found():
    matrix = hard_classes(10, 1)
    matrix[3, 7] = matrix[7, 3] = 0.3
    cm = drawn(matrix, 1000, 0.0, seed=1)
    found = [f for f in diagnose(cm).findings if f.kind == "look_alike"]
    assert found[0].classes == (3, 7)
    assert "Other errors" not in found[0].sentence


def test_without_other_errors_these_explain_nothing():
    counts = np.diag([500] * 6)
    counts[0, 1], counts[1, 0] = 40, 30
    cm = ConfusionMatrix.from_counts(counts)
    assert standing_out(cm, np.array([[0, 1]]), 0.95) == ([True], [True])
    # The same pair beside classes that both are taken for as often.
    counts[:2, 2:] = counts[2:, :2] = 35
    hard = standing_out(ConfusionMatrix.from_counts(counts), np.array([[0, 1]]), 0.95)
    assert not hard.from_own_errors[0]


@pytest.mark.parametrize("name", ["two-digit-numbers", "consonants"])
def test_even_errors_have_the_sums_and_the_trace_that_were_seen(name: str) -> None:
    counts = np.asarray(load_example(name).dense(), dtype=np.float64)
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    left, right = _even_rates(rows, columns, float(counts.trace()))
    means = np.outer(left, right)
    np.fill_diagonal(means, 0.0)
    assert means.sum() == pytest.approx(counts.sum() - counts.trace(), rel=2e-4)
    # What is left of a row is its own: the same number of times what the others have.
    own = (rows - means.sum(axis=1)) / (left * right)
    np.testing.assert_allclose(own, own[0], rtol=1e-3)
