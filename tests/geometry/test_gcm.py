"""The Geometric Confusion Matrix against the paper's formula, and what must hold of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deconfuse as dc
from deconfuse.geometry.gcm import WEIGHTINGS
from deconfuse.geometry.grid import grid_shifts
from tests.geometry.data import Samples, literal_gcm, make_samples, samples, weights_of


@given(data=samples, m=st.integers(1, 3), weighting=st.sampled_from(WEIGHTINGS))
def test_equals_the_formula_of_the_paper(data: Samples, m: int, weighting: str) -> None:
    m = min(m, data.embeddings.shape[1])
    g = dc.geometric_confusion(*data, weighting=weighting, n_components=m)  # type: ignore[arg-type]
    assert g.projection is not None
    points = g.projection.apply(data.embeddings)
    expected, volume, labels, predictions = literal_gcm(
        points, data.y_true, data.y_pred, weights_of(g, data.y_true, data.y_pred)
    )
    assert g.cell_volume == pytest.approx(volume, rel=1e-12)
    np.testing.assert_allclose(g.matrix, expected, rtol=1e-10, atol=1e-14 * volume)
    np.testing.assert_allclose(g.label_volumes, labels, rtol=1e-10)
    np.testing.assert_allclose(g.prediction_volumes, predictions, rtol=1e-10)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_equals_the_formula_where_a_cell_holds_many_classes(weighting: str) -> None:
    # 70 classes in one heap: cells with thousands of pairs take another path than small ones.
    rng = np.random.default_rng(3)
    embeddings, classes = rng.normal(size=(1200, 1)), rng.integers(0, 70, (2, 1200))
    data = Samples(embeddings, classes[0], classes[1])
    g = dc.geometric_confusion(*data, weighting=weighting, n_components=1, bin_factor=9)  # type: ignore[arg-type]
    assert g.binning is not None
    largest = g.binning.counts.label_table.sizes * g.binning.counts.prediction_table.sizes
    assert largest.max() > 2048
    assert g.projection is not None
    expected, *_ = literal_gcm(
        g.projection.apply(data.embeddings),
        data.y_true,
        data.y_pred,
        weights_of(g, data.y_true, data.y_pred),
        factor=9,
    )
    np.testing.assert_allclose(g.matrix, expected, rtol=1e-10)


@given(data=samples)
def test_all_four_equal_one_at_a_time(data: Samples) -> None:
    together = dc.geometric_confusions(*data, n_components=1, epsilon=0.25)
    assert list(together) == list(WEIGHTINGS)
    for weighting, g in together.items():
        alone = dc.geometric_confusion(
            *data,
            weighting=weighting,
            n_components=1,
            epsilon=0.25,  # type: ignore[arg-type]
        )
        assert g.weighting == alone.weighting == weighting
        np.testing.assert_array_equal(g.matrix, alone.matrix)
        assert g.normalized.epsilon == 0.25
    by_default = dc.geometric_confusions(*data, n_components=1)
    for weighting, g in by_default.items():
        expected = 1 / len(g.labels) if weighting == "bi" else 0.0
        assert g.normalized.epsilon == expected


@given(data=samples, m=st.integers(1, 3))
def test_lemma_2(data: Samples, m: int) -> None:
    """The volume of a cluster is r times the sum of its points' weights."""
    m = min(m, data.embeddings.shape[1])
    gs = dc.geometric_confusions(*data, n_components=m)
    n_classes = len(gs["bi"].labels)
    for g in gs.values():
        weights = weights_of(g, data.y_true, data.y_pred)
        for k in range(n_classes):
            of_label = g.cell_volume * weights[data.y_true == k].sum()
            of_prediction = g.cell_volume * weights[data.y_pred == k].sum()
            assert g.label_volumes[k] == pytest.approx(of_label, rel=1e-11)
            assert g.prediction_volumes[k] == pytest.approx(of_prediction, rel=1e-11)
    row, col, everything = gs["row"], gs["col"], gs["all"]
    np.testing.assert_allclose(row.label_volumes, row.cell_volume, rtol=1e-11)
    np.testing.assert_allclose(col.prediction_volumes, col.cell_volume, rtol=1e-11)
    assert everything.label_volumes.sum() == pytest.approx(everything.cell_volume, rel=1e-11)


def test_lemma_2_normalizes_both_clusters_under_bi_weights() -> None:
    data = make_samples(5, n_samples=4000, n_classes=3, spread=0.3)
    g = dc.geometric_confusion(*data, epsilon=0.0)
    np.testing.assert_allclose(g.label_volumes, g.cell_volume, rtol=1e-8)
    np.testing.assert_allclose(g.prediction_volumes, g.cell_volume, rtol=1e-8)


@given(data=samples)
def test_a_cell_of_its_own_for_each_point_gives_the_normalized_matrix(data: Samples) -> None:
    """With one point a cell, min(H_i, H_j) counts exactly the points of label i predicted j."""
    gs = dc.geometric_confusions(*data, n_components=1, epsilon=1e-6, bin_factor=1e-9)
    for g in gs.values():
        assert g.n_cells == len(data.y_true)
        counts = g.normalized.source.counts
        expected = g.normalized.left[:, None] * counts * g.normalized.right
        np.testing.assert_allclose(np.asarray(g.matrix) / g.cell_volume, expected, rtol=1e-10)


@given(data=samples)
def test_one_cell_for_all_points_gives_the_lower_volume(data: Samples) -> None:
    gs = dc.geometric_confusions(*data, n_components=1, bin_factor=1e6)
    for g in gs.values():
        assert g.n_cells == 1
        lower = np.minimum(g.label_volumes[:, None], g.prediction_volumes[None, :])
        np.testing.assert_allclose(g.matrix, lower, rtol=1e-12)


@given(data=samples)
def test_overlap_is_between_the_diagonal_counts_and_the_volumes(data: Samples) -> None:
    for g in dc.geometric_confusions(*data, n_components=1).values():
        matrix = np.asarray(g.matrix)
        shared = np.zeros_like(matrix)
        weights = g.cell_volume * weights_of(g, data.y_true, data.y_pred)
        np.add.at(shared, (data.y_true, data.y_pred), weights)
        slack = 1e-12 * g.cell_volume
        assert (matrix >= shared - slack).all()
        assert (matrix <= g.label_volumes[:, None] + slack).all()
        assert (matrix <= g.prediction_volumes[None, :] + slack).all()


@given(data=samples, seed=st.integers(0, 1000))
def test_order_of_samples_and_names_of_classes_do_not_matter(data: Samples, seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.y_true))
    n_classes = int(data.y_true.max()) + 1
    names = rng.permutation(n_classes)
    plain = dc.geometric_confusion(*data, projection=None, weighting="row")
    moved = dc.geometric_confusion(
        data.embeddings[order],
        names[data.y_true[order]],
        names[data.y_pred[order]],
        projection=None,
        weighting="row",
    )
    expected = np.asarray(moved.matrix)[np.ix_(names, names)]
    np.testing.assert_allclose(plain.matrix, expected, rtol=1e-9)


@given(data=samples)
def test_exchanging_labels_and_predictions_transposes(data: Samples) -> None:
    straight = dc.geometric_confusion(*data, weighting="row", n_components=1)
    swapped = dc.geometric_confusion(
        data.embeddings, data.y_pred, data.y_true, weighting="col", n_components=1
    )
    np.testing.assert_allclose(straight.matrix, np.asarray(swapped.matrix).T, rtol=1e-10)


def _turn(data: Samples, seed: int) -> Samples:
    width = data.embeddings.shape[1]
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(width, width)))
    return data._replace(embeddings=data.embeddings @ rotation + 7.0)


def test_a_turned_embedding_has_the_same_components_up_to_sign() -> None:
    data = make_samples(11, n_samples=500)
    turned = _turn(data, 0)
    plain, after = (dc.geometric_confusion(*item, n_components=3) for item in (data, turned))
    assert plain.projection is not None
    assert after.projection is not None
    first = plain.projection.apply(data.embeddings)
    second = after.projection.apply(turned.embeddings)
    np.testing.assert_allclose(np.abs(first), np.abs(second), atol=1e-9)
    assert plain.cell_volume == pytest.approx(after.cell_volume, rel=1e-9)
    np.testing.assert_allclose(plain.label_volumes, after.label_volumes, rtol=1e-9)


def test_averaging_over_shifts_makes_the_start_of_the_grid_matter_less() -> None:
    moved = {1: 0.0, 32: 0.0}
    for seed in range(6):
        data = make_samples(seed, n_samples=800)
        for n_shifts in moved:
            one, other = (
                dc.geometric_confusion(*item, n_components=4, n_shifts=n_shifts).matrix
                for item in (data, _turn(data, seed))
            )
            moved[n_shifts] += dc.l1_distance(one, other)
    assert 0.0 < moved[32] < 0.5 * moved[1]


@given(data=samples, n_shifts=st.integers(1, 4))
def test_shifts_average_the_formula_over_moved_grids(data: Samples, n_shifts: int) -> None:
    gs = dc.geometric_confusions(*data, projection=None, n_shifts=n_shifts)
    plain = dc.geometric_confusions(*data, projection=None)
    shifts = grid_shifts(n_shifts, gs["row"].grid.n_dimensions)
    for name, g in gs.items():
        weights = g.cell_volume * weights_of(g, data.y_true, data.y_pred)
        expected = np.zeros_like(g.matrix)
        for shares in shifts:
            grid = g.grid.shifted(shares) if shares.any() else g.grid
            cells, n_cells = grid.cells(np.asarray(data.embeddings, dtype=float))
            heights = np.zeros((2, len(g.labels), n_cells))
            np.add.at(heights[0], (data.y_true, cells), weights)
            np.add.at(heights[1], (data.y_pred, cells), weights)
            expected += np.minimum(heights[0][:, None], heights[1][None]).sum(axis=2) / n_shifts
        np.testing.assert_allclose(g.matrix, expected, rtol=1e-9, atol=1e-14 * g.cell_volume)
        # What belongs to the weights alone is the same for every grid.
        np.testing.assert_array_equal(g.label_volumes, plain[name].label_volumes)
        assert g.n_cells == plain[name].n_cells


def test_any_normalized_can_weigh() -> None:
    data = make_samples(1)
    cm = dc.ConfusionMatrix.from_predictions(data.y_true, data.y_pred)
    own = dc.geometric_confusion(*data, weighting=cm.normalize("bi", epsilon=0.01))
    np.testing.assert_array_equal(own.matrix, dc.geometric_confusion(*data, epsilon=0.01).matrix)
    # Weights from another test set, whose classes stand in another order.
    other = make_samples(2, n_samples=900)
    theirs = dc.ConfusionMatrix.from_predictions(other.y_true, other.y_pred, labels=[3, 1, 0, 2])
    g = dc.geometric_confusion(*data, weighting=theirs.normalize("row"), n_components=2)
    assert g.labels == (3, 1, 0, 2)
    weights = theirs.normalize("row").weights(data.y_true, data.y_pred)
    assert g.projection is not None
    expected, *_ = literal_gcm(
        g.projection.apply(data.embeddings), data.y_true, data.y_pred, np.asarray(weights)
    )
    order = [3, 1, 0, 2]
    np.testing.assert_allclose(g.matrix, expected[np.ix_(order, order)], rtol=1e-10)


def test_the_aliases_of_row_and_col() -> None:
    data = make_samples(1)
    assert dc.geometric_confusion(*data, weighting="true").weighting == "row"
    assert dc.geometric_confusion(*data, weighting="pred").weighting == "col"


def test_a_class_that_occurs_nowhere_has_no_volume() -> None:
    data = make_samples(4, n_classes=3)
    gs = dc.geometric_confusions(*data, labels=[0, 1, 2, 3])
    for g in gs.values():
        assert g.labels == (0, 1, 2, 3)
        assert g.label_volumes[3] == g.prediction_volumes[3] == 0
        assert not np.asarray(g.matrix)[3].any()


def test_names_of_classes_are_kept() -> None:
    data = make_samples(4, n_classes=2)
    names = np.array(["cat", "dog"])
    g = dc.geometric_confusion(data.embeddings, names[data.y_true], names[data.y_pred])
    assert g.labels == ("cat", "dog")
    assert repr(g) == f"<GeometricConfusion 'bi' of 2 classes, {g.n_cells} cells in 10 dimensions>"


def test_results_cannot_be_written_to() -> None:
    g = dc.geometric_confusion(*make_samples(4))
    for array in (g.matrix, g.label_volumes, g.grid.widths, g.normalized.left):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_inputs_are_left_alone() -> None:
    data = make_samples(4)
    before = data.embeddings.copy()
    dc.geometric_confusion(*data)
    np.testing.assert_array_equal(data.embeddings, before)
    assert data.embeddings.flags.writeable


def test_many_classes_stay_sparse() -> None:
    rng = np.random.default_rng(0)
    y_true = np.arange(2100)
    y_pred = np.where(rng.random(2100) < 0.8, y_true, rng.permutation(2100))
    embeddings = rng.normal(size=(2100, 2))
    g = dc.geometric_confusion(embeddings, y_true, y_pred, weighting="all", projection=None)
    assert g.normalized.source.is_sparse
    assert not isinstance(g.matrix, np.ndarray)
    cells, n_cells = g.grid.cells(embeddings)
    expected = np.zeros((2100, 2100))
    for cell in range(n_cells):
        inside = cells == cell
        # Each class is the label of one point, so all bars of a label are equally high.
        predicted, times = np.unique(y_pred[inside], return_counts=True)
        expected[np.ix_(y_true[inside], predicted)] += np.minimum(1, times) / 2100
    np.testing.assert_allclose(g.matrix.toarray() / g.cell_volume, expected, atol=1e-15)
