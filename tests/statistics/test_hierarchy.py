"""Trees of classes: valid, invariant, and stable where those of raw counts are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cophenet, is_valid_linkage, linkage
from scipy.spatial.distance import squareform

from deconfuse import InputError, estimate_bi
from deconfuse.errors import UndefinedCellsWarning
from deconfuse.statistics import hierarchy

Floats = NDArray[np.float64]


def _nested(n_classes: int) -> Floats:
    """Return similarities of a known tree: pairs within fours within all."""
    twos, fours = np.arange(n_classes) // 2, np.arange(n_classes) // 4
    similarity = np.full((n_classes, n_classes), 0.02)
    similarity[fours[:, None] == fours] = 0.07
    similarity[twos[:, None] == twos] = 0.3
    np.fill_diagonal(similarity, 1.0)
    return similarity


def _draw(
    similarity: Floats,
    prevalence: Floats,
    bias: Floats,
    rng: np.random.Generator,
    size: int = 40_000,
) -> Floats:
    strengths = similarity * bias
    shares = prevalence[:, None] * strengths / strengths.sum(axis=1, keepdims=True)
    shares /= shares.sum()
    return rng.multinomial(size, shares.ravel()).reshape(similarity.shape).astype(float)


def _raw_tree(counts: Floats) -> Floats:
    together = counts + counts.T
    np.fill_diagonal(together, 0)
    return np.asarray(linkage(squareform(1 - together / together.max(), checks=False), "average"))


def test_the_tree_survives_imbalance_and_that_of_raw_counts_does_not() -> None:
    similarity = _nested(8)
    exact = -np.log(similarity)
    truth = cophenet(linkage(squareform(exact, checks=False), "average"))
    ours, raw = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        prevalence = rng.permutation(np.geomspace(1, 20, 8))
        bias = np.exp(0.7 * rng.normal(size=8))
        counts = _draw(similarity, prevalence, bias, rng)
        tree = hierarchy(counts)
        ours.append(np.corrcoef(cophenet(tree.linkage), truth)[0, 1])
        raw.append(np.corrcoef(cophenet(_raw_tree(counts)), truth)[0, 1])
        assert {frozenset(group) for group in tree.groups(4)} == {
            frozenset({k, k + 1}) for k in range(0, 8, 2)
        }
    assert min(ours) > 0.9
    assert np.mean(raw) < 0.75
    assert max(raw) < min(ours)


def test_with_few_samples_the_tree_is_closer_to_the_truth_than_that_of_raw_counts() -> None:
    similarity = _nested(16)
    truth = cophenet(linkage(squareform(-np.log(similarity), checks=False), "average"))
    found = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        prevalence = rng.permutation(np.geomspace(1, 30, 16))
        counts = _draw(similarity, prevalence, np.exp(0.5 * rng.normal(size=16)), rng, 16 * 50)
        trees = cophenet(hierarchy(counts).linkage), cophenet(_raw_tree(counts))
        found.append([np.corrcoef(tree, truth)[0, 1] for tree in trees])
    ours, raw = np.mean(found, axis=0)
    assert ours > raw + 0.1


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 9))
def test_with_many_samples_scaled_rows_and_columns_change_nothing(
    seed: int, n_classes: int
) -> None:
    rng = np.random.default_rng(seed)
    counts = 1e6 * (rng.integers(1, 50, (n_classes, n_classes)) + 60.0 * np.eye(n_classes))
    scaled = rng.uniform(1, 9, (n_classes, 1)) * counts * rng.uniform(1, 9, n_classes)
    first, second = hierarchy(counts), hierarchy(scaled)
    np.testing.assert_allclose(first.distances, second.distances, atol=1e-3)
    assert is_valid_linkage(first.linkage)
    assert sorted(first.order) == list(range(n_classes))
    assert set(first.ordered_labels) == set(range(n_classes))


def test_the_order_puts_similar_classes_side_by_side() -> None:
    rng = np.random.default_rng(0)
    mixed = rng.permutation(8)
    counts = (2000 * _nested(8)).round()[np.ix_(mixed, mixed)]
    order = mixed[hierarchy(counts).order]
    places = np.argsort(order)
    assert all(abs(places[k] - places[k + 1]) == 1 for k in range(0, 8, 2))
    assert {frozenset(order[:4]), frozenset(order[4:])} == {
        frozenset(range(4)),
        frozenset(range(4, 8)),
    }


def test_order_has_the_shortest_walk_that_the_tree_allows() -> None:
    counts = np.random.default_rng(3).integers(1, 50, (6, 6)) + 60 * np.eye(6, dtype=int)
    tree = hierarchy(counts)
    full = squareform(tree.distances)
    from scipy.cluster.hierarchy import leaves_list

    plain = leaves_list(tree.linkage)
    assert full[tree.order[:-1], tree.order[1:]].sum() <= full[plain[:-1], plain[1:]].sum() + 1e-12


@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_distances_are_those_of_the_estimated_matrix(n_classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.5, 4.0, (n_classes, n_classes))) + 5 * np.eye(n_classes)
    # One class more that has no estimate.
    counts = np.pad(counts, (0, 1))
    with pytest.warns(UndefinedCellsWarning):
        estimate = estimate_bi(counts)
    logs = np.log(estimate.matrix)
    apart = 0.5 * (np.add.outer(logs.diagonal(), logs.diagonal()) - logs - logs.T)
    expected = squareform(np.where(np.eye(n_classes + 1), 0.0, apart), checks=False)
    np.testing.assert_allclose(estimate.distances(), expected, atol=1e-12)
    largest = np.nanmax(np.maximum(expected, 0.0))
    nearest = np.where(np.isnan(expected), largest, np.maximum(expected, 0.0))
    np.testing.assert_allclose(hierarchy(estimate).distances, nearest, atol=1e-12)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="at least two classes, got one"):
        hierarchy([[4]])
    with pytest.raises(InputError, match="`n_groups` must be from 1 to 2, got 3"):
        hierarchy([[4, 1], [1, 4]]).groups(3)
    with pytest.raises(InputError, match=r"`n_groups` must be from 1 to 2, got 1\.5"):
        hierarchy([[4, 1], [1, 4]]).groups(1.5)
    with pytest.raises(InputError, match="A hierarchy needs samples"):
        hierarchy(np.zeros((3, 3), dtype=int))
