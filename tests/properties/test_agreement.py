"""Overlap, L1 and KL: bounds, symmetry and the identity between the first two."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import deconfuse as dc
from tests.properties.strategies import Array, count_matrices


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Array, Array]:
    a = draw(count_matrices())
    seed = draw(st.integers(0, 2**32 - 1))
    b = np.random.default_rng(seed).integers(0, 30, a.shape)
    b[0, 0] += 1
    return a, b


@given(pairs())
def test_overlap_is_one_minus_half_the_l1_distance(pair: tuple[Array, Array]) -> None:
    a, b = pair
    assert dc.overlap(a, b) == pytest.approx(1 - dc.l1_distance(a, b) / 2)
    assert 0.0 <= dc.overlap(a, b) <= 1.0


@given(pairs(), st.floats(1e-3, 1e3))
def test_overlap_is_symmetric_and_ignores_totals(pair: tuple[Array, Array], factor: float) -> None:
    a, b = pair
    assert dc.overlap(a, b) == pytest.approx(dc.overlap(b, a))
    assert dc.overlap(factor * a, b) == pytest.approx(dc.overlap(a, b))
    assert dc.overlap(a, factor * a) == pytest.approx(1.0)


@given(pairs())
def test_sparse_matrices_agree_as_dense_ones_do(pair: tuple[Array, Array]) -> None:
    a, b = pair
    thin = sparse.csr_array(a), sparse.csr_array(b)
    for measure in (dc.overlap, dc.l1_distance, dc.kl_divergence):
        assert measure(*thin) == pytest.approx(measure(a, b))
        assert measure(thin[0], b) == pytest.approx(measure(a, b))


@given(pairs())
def test_kl_is_never_negative_and_bounds_the_distance(pair: tuple[Array, Array]) -> None:
    a, b = pair
    divergence = dc.kl_divergence(a, b + 0.5)
    assert divergence >= 0.0
    assert dc.kl_divergence(a, a) == 0.0
    # Pinsker's inequality.
    assert dc.l1_distance(a, b + 0.5) <= np.sqrt(2 * divergence) + 1e-9


@pytest.mark.parametrize(
    ("measure", "names"),
    [(dc.overlap, ("a", "b")), (dc.l1_distance, ("a", "b")), (dc.kl_divergence, ("p", "q"))],
)
def test_classes_that_differ_are_named_on_both_sides(measure, names: tuple[str, str]) -> None:
    one, other = (
        dc.ConfusionMatrix.from_counts(np.eye(3, dtype=int), labels)
        for labels in (["cat", "dog", "emu"], ["cat", "fox", "gnu"])
    )
    message = f"got 'dog', 'emu' only in `{names[0]}` and 'fox', 'gnu' only in `{names[1]}`"
    with pytest.raises(dc.InputError, match=message):
        measure(one, other)


@pytest.mark.parametrize(
    "together",
    [dc.overlap, dc.compare, lambda a, b: a + b, lambda a, b: dc.Study({"one": a, "other": b})],
    ids=["overlap", "compare", "add", "study"],
)
def test_false_and_true_are_not_the_classes_zero_and_one(together) -> None:
    counts = [[50, 10], [3, 40]]
    bools = dc.ConfusionMatrix.from_counts(counts, [False, True])
    numbers = dc.ConfusionMatrix.from_counts(counts, [0, 1])
    with pytest.raises(dc.InputError, match=r"classes.* got"):
        together(bools, numbers)
