"""Principal components from streamed moments, against numpy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA

import deconfuse as dc
from deconfuse.geometry import projection as module
from deconfuse.geometry.projection import Moments, Projection, fit_projection

RNG = np.random.default_rng(0)


@given(
    seed=st.integers(0, 10_000),
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=5),
    shift=st.sampled_from([0.0, 1e6]),
)
def test_moments_of_parts_add_up_to_those_of_the_whole(
    seed: int, sizes: list[int], shift: float
) -> None:
    rng = np.random.default_rng(seed)
    blocks = [rng.normal(size=(size, 3)) + shift for size in sizes]
    total = Moments.total(Moments.of(block) for block in blocks)
    assert total is not None
    whole = np.concatenate(blocks)
    assert total.count == len(whole)
    np.testing.assert_allclose(total.mean, whole.mean(axis=0), rtol=1e-12, atol=1e-12)
    # Far from zero a sum of squares would have lost all digits; the merge keeps ten of them.
    expected = np.cov(whole.T, bias=True) if len(whole) > 1 else np.zeros((3, 3))
    np.testing.assert_allclose(total.covariance, expected, atol=1e-9)


@pytest.mark.parametrize(("n", "width", "m"), [(300, 20, 5), (40, 200, 8), (30, 30, 10)])
def test_equals_scikit_learn(n: int, width: int, m: int) -> None:
    rng = np.random.default_rng(n)
    points = rng.normal(size=(n, width)) * np.linspace(4, 1, width)
    reference = PCA(m, svd_solver="full").fit(points)
    projection = fit_projection(points, m)
    signs = np.sign((reference.components_ * projection.axes.T).sum(axis=1))
    np.testing.assert_allclose(
        projection.apply(points), reference.transform(points) * signs, atol=1e-9
    )
    # scikit-learn divides by n - 1.
    variance = reference.explained_variance_ * (n - 1) / n
    np.testing.assert_allclose(projection.explained_variance, variance, rtol=1e-9)
    np.testing.assert_allclose(
        projection.explained_variance_ratio, reference.explained_variance_ratio_, rtol=1e-9
    )
    assert projection.notes == ()


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).normal(size=(101, 4)) + 50
    whole = fit_projection(points, 2)
    monkeypatch.setattr(module, "_BLOCK_VALUES", 12)
    pieces = fit_projection(points, 2)
    np.testing.assert_allclose(pieces.axes, whole.axes, atol=1e-12)
    np.testing.assert_allclose(pieces.apply(points), whole.apply(points), atol=1e-11)


def test_signs_are_settled() -> None:
    points = np.random.default_rng(1).normal(size=(50, 3))
    for data in (points, -points, points[::-1]):
        axes = fit_projection(data, 3).axes
        assert (axes[np.abs(axes).argmax(axis=0), np.arange(3)] > 0).all()


@pytest.mark.parametrize(
    ("points", "asked", "kept", "reason"),
    [
        (RNG.normal(size=(20, 3)), 10, 3, "the embeddings have 3 dimensions"),
        (
            np.random.default_rng(0).normal(size=(5, 40)),
            10,
            4,
            "5 points span at most 4 directions",
        ),
        (np.outer(np.arange(30.0), [1, 2, 3, 0]), 3, 1, "the points do not vary along the others"),
        (np.ones((6, 3)), 2, 0, "all points are equal"),
        (np.ones((6, 9)), 2, 0, "all points are equal"),
    ],
)
def test_fewer_components_than_asked_for_are_said(
    points: np.ndarray, asked: int, kept: int, reason: str
) -> None:
    projection = fit_projection(points, asked)
    assert projection.n_components == kept
    expected = f"{kept} components are used where {asked} were asked for: {reason}."
    assert projection.notes == (expected,)


def test_values_too_large_for_a_variance() -> None:
    points = np.array([[1e200], [-1e200], [0.0]])
    with (
        np.errstate(over="ignore"),
        pytest.raises(dc.InputError, match="variance of the embeddings must be a finite number"),
    ):
        fit_projection(points, 1)


def test_a_projection_says_what_it_takes() -> None:
    projection = fit_projection(np.random.default_rng(0).normal(size=(9, 3)), 2)
    with pytest.raises(dc.InputError, match=r"takes points with 3 features, got .* \(4, 2\)"):
        projection.apply(np.zeros((4, 2)))


def test_a_projection_can_be_brought_along() -> None:
    rng = np.random.default_rng(5)
    embeddings, classes = rng.normal(size=(60, 4)), rng.integers(0, 2, (2, 60))
    given_axes = Projection(np.zeros(4), np.eye(4)[:, :2], np.ones(2), np.ones(2) / 4)
    one = dc.geometric_confusion(embeddings, *classes, projection=given_axes)
    other = dc.geometric_confusion(embeddings[:, :2], *classes, projection=None)
    np.testing.assert_array_equal(one.matrix, other.matrix)
    assert one.projection is given_axes
    assert other.projection is None
