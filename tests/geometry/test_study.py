"""Agreement with the normalizations, and sensitivity to bin width and components."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import deconfuse as dc
from deconfuse.geometry.gcm import WEIGHTINGS
from tests.geometry.data import make_samples

DATA = make_samples(21, n_samples=600, n_classes=5, spread=1.2)


def test_agreement_is_the_overlap_of_each_pair() -> None:
    gs = dc.geometric_confusions(*DATA)
    agreement = dc.geometry.geometry_agreement(gs)
    assert agreement.weightings == agreement.normalizations == WEIGHTINGS
    off = 1 - np.eye(5)
    for (i, one), (j, other) in itertools.product(enumerate(WEIGHTINGS), repeat=2):
        geometric, normalized = np.asarray(gs[one].matrix), np.asarray(gs[other].normalized.matrix)
        assert agreement.overlap[i, j] == pytest.approx(dc.overlap(geometric, normalized))
        expected = dc.overlap(geometric * off, normalized * off)
        assert agreement.off_diagonal[i, j] == pytest.approx(expected)
    best = agreement.overlap.argmax(axis=1)
    assert agreement.closest == {name: WEIGHTINGS[k] for name, k in zip(WEIGHTINGS, best)}  # noqa: B905


def test_agreement_as_a_table() -> None:
    agreement = dc.geometry.geometry_agreement(dc.geometric_confusions(*DATA))
    lines = str(agreement).splitlines()
    assert lines[0].split() == ["Overlap", "row", "col", "all", "bi"]
    assert lines[1].split()[:2] == ["GCM", "row"]
    assert float(lines[1].split()[2]) == pytest.approx(agreement.overlap[0, 0], abs=5e-4)
    table = agreement.to_pandas()
    assert table.loc["col", "bi"] == agreement.overlap[1, 3]


def test_classes_without_a_normalization_are_left_out_and_named() -> None:
    gs = dc.geometric_confusions(*DATA, labels=[0, 1, 2, 3, 4, 77])
    agreement = dc.geometry.geometry_agreement(gs)
    assert agreement.left_out == (77,)
    assert str(agreement).endswith("Left out, never seen or never predicted: 77.")
    # The bi weights differ a little: epsilon fills the empty class too. The others do not.
    plain = dc.geometry.geometry_agreement(dc.geometric_confusions(*DATA))
    np.testing.assert_allclose(agreement.overlap[:3, :3], plain.overlap[:3, :3])


def test_nothing_off_the_diagonal_is_not_a_number() -> None:
    embeddings = (
        np.concatenate([np.zeros((5, 1)), np.ones((5, 1))]) + np.linspace(0, 0.1, 10)[:, None]
    )
    classes = np.repeat([0, 1], 5)
    gs = dc.geometric_confusions(embeddings, classes, classes, projection=None, bin_factor=1)
    agreement = dc.geometry.geometry_agreement({"row": gs["row"], "all": gs["all"]})
    assert np.isnan(agreement.off_diagonal).all()
    np.testing.assert_allclose(agreement.overlap, 1.0)


def test_refused_comparisons() -> None:
    with pytest.raises(dc.InputError, match="at least one Geometric Confusion Matrix"):
        dc.geometry.geometry_agreement({})
    gs = dc.geometric_confusions(np.random.default_rng(0).normal(size=(6, 2)), [0, 1] * 3, [0] * 6,
                                 n_components=2)  # fmt: skip
    with pytest.raises(dc.InputError, match=r"must be both seen and predicted .* got 1"):
        dc.geometry.geometry_agreement(gs)


def test_sensitivity_repeats_the_single_results() -> None:
    study = dc.geometry.geometry_sensitivity(*DATA, bin_factors=[1, 3.5, 8], components=[2, 5, 10])
    assert study.bin_factors == (1.0, 3.5, 8.0)
    assert study.components == (2, 5, 10)
    assert study.reference == (3.5, 10)
    assert study.n_samples == len(DATA.y_true)
    reference = dc.geometric_confusions(*DATA)
    for (f, factor), (c, count) in itertools.product(
        enumerate(study.bin_factors), enumerate(study.components)
    ):
        gs = dc.geometric_confusions(*DATA, n_components=count, bin_factor=factor)
        agreement = dc.geometry.geometry_agreement(gs)
        assert study.n_cells[f, c] == gs["bi"].n_cells
        for w, name in enumerate(WEIGHTINGS):
            assert study.agreement[w, f, c] == pytest.approx(agreement.overlap[w, w])
            assert study.off_diagonal[w, f, c] == pytest.approx(agreement.off_diagonal[w, w])
            assert study.is_closest[w, f, c] == (agreement.closest[name] == name)
            near = dc.overlap(gs[name].matrix, reference[name].matrix)
            assert study.to_reference[w, f, c] == pytest.approx(near)


def test_the_grid_alone_is_shown_by_shuffling() -> None:
    settings = {"bin_factors": [1e-3, 3.5, 100], "components": [3]}
    study = dc.geometry.geometry_sensitivity(*DATA, **settings, epsilon=1e-9, rng=7)  # type: ignore[arg-type]
    # A cell a point: equal to the normalized matrix, whatever the embedding says.
    np.testing.assert_allclose(study.agreement[:, 0, 0], 1.0, atol=1e-6)
    np.testing.assert_allclose(study.shuffled[:, 0, 0], 1.0, atol=1e-6)
    # One cell for all: the embedding is not used at all.
    np.testing.assert_allclose(study.shuffled[:, 2, 0], study.agreement[:, 2, 0])
    assert (study.shuffled[:, 1, 0] < study.agreement[:, 1, 0]).all()
    order = np.random.default_rng(7).permutation(len(DATA.y_true))
    moved = dc.geometric_confusions(
        DATA.embeddings, DATA.y_true[order], DATA.y_pred[order], n_components=3, epsilon=1e-9
    )
    expected = np.diag(dc.geometry.geometry_agreement(moved).overlap)
    np.testing.assert_allclose(study.shuffled[:, 1, 0], expected)


def test_sensitivity_leaves_out_components_that_are_not_there() -> None:
    study = dc.geometry.geometry_sensitivity(DATA.embeddings[:, :4], DATA.y_true, DATA.y_pred)
    assert study.components == (2, 3)
    assert study.reference == (3.5, 3)
    flat = dc.geometry.geometry_sensitivity(DATA.embeddings[:, :1], DATA.y_true, DATA.y_pred)
    assert flat.components == (1,)


def test_refused_studies() -> None:
    with pytest.raises(dc.InputError, match="`bin_factors` and `components` must name at least"):
        dc.geometry.geometry_sensitivity(*DATA, components=[])
    with pytest.raises(dc.InputError, match="`bin_factor` must be a positive number, got -1"):
        dc.geometry.geometry_sensitivity(*DATA, bin_factors=[-1])
