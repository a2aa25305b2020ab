"""What is kept of each class, and how images are turned."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deconfuse import InputError
from deconfuse.experiments.config import Sampling
from deconfuse.experiments.tasks import (
    dirichlet_sizes,
    keep_samples,
    rotate_quarters,
)

SIZES = st.lists(st.integers(1, 5000), min_size=2, max_size=20).map(np.array)


@given(SIZES, st.sampled_from([10.0, 3.0, 1.0, 0.3, 0.1]), st.integers(0, 2**32), st.booleans())
def test_a_fifth_at_least_and_all_at_most(
    sizes: np.ndarray, alpha: float, seed: int, is_budget: bool
) -> None:
    sampling: Sampling = "budget" if is_budget else "relative"
    kept = dirichlet_sizes(sizes, alpha, np.random.default_rng(seed), sampling)
    assert np.all(kept >= np.floor(0.2 * sizes + 0.5))
    assert np.all(kept <= sizes)
    share = np.random.default_rng(seed).dirichlet(np.full(len(sizes), alpha))
    # The rules of the protocol, written out.
    if is_budget:
        exact = 0.2 * sizes + np.minimum(0.8 * sizes, 0.8 * share * sizes.sum())
    else:
        assert kept[share.argmax()] == sizes[share.argmax()]
        exact = 0.2 * sizes + 0.8 * sizes * share / share.max()
    assert np.all(np.abs(kept - exact) <= 0.5 + 1e-9)


def test_smaller_alpha_is_more_heterogeneous() -> None:
    sizes = np.full(10, 1000)
    spreads = [
        np.mean(
            [
                dirichlet_sizes(sizes, a, np.random.default_rng(s), "relative").mean()
                for s in range(200)
            ]
        )
        for a in (10.0, 3.0, 1.0, 0.3, 0.1)
    ]
    assert spreads == sorted(spreads, reverse=True)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(0, 2**32))
def test_kept_samples_are_distinct_ordered_and_as_many_as_asked(
    labels: list[int], seed: int
) -> None:
    values = np.array([*labels, *range(5)])
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, np.bincount(values, minlength=5) + 1)
    kept = keep_samples(values, sizes, rng)
    assert np.all(np.diff(kept) > 0)
    assert np.bincount(values[kept], minlength=5).tolist() == sizes.tolist()


def test_each_image_turns_by_its_own_quarters() -> None:
    images = np.random.default_rng(0).integers(0, 256, size=(8, 5, 5, 3), dtype=np.uint8)
    quarters = np.array([0, 1, 2, 3, 3, 2, 1, 0])
    turned = rotate_quarters(images, quarters)
    for image, quarter, result in zip(images, quarters, turned, strict=True):
        for channel in range(3):
            assert np.array_equal(np.rot90(image[:, :, channel], quarter), result[:, :, channel])
    assert np.array_equal(rotate_quarters(turned, (4 - quarters) % 4), images)


def test_only_square_images_turn() -> None:
    with pytest.raises(InputError, match=r"must be square to be turned, got shape \(4, 5, 1\)"):
        rotate_quarters(np.zeros((1, 4, 5, 1)), np.zeros(1, dtype=np.int64))


@given(st.integers(0, 10_000), st.sampled_from([10.0, 1.0, 0.1]))
def test_controls_are_balanced_and_as_large_as_the_uneven_sets(seed: int, alpha: float) -> None:
    sizes = np.array([600, 540, 700, 580])
    uneven, control = (
        dirichlet_sizes(sizes, alpha, np.random.default_rng(seed), sampling)
        for sampling in ("relative", "equal-size")
    )
    assert len(set(control.tolist())) == 1
    if uneven.sum() <= 4 * sizes.min():
        assert uneven.sum() - 4 < control.sum() <= uneven.sum()
    else:
        assert control[0] == sizes.min()
