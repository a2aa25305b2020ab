"""From a pair of classes to the cells and samples behind their overlap."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given

import deconfuse as dc
from tests.geometry.data import Samples, make_samples, samples


@given(data=samples)
def test_shared_cells_add_up_to_the_overlap(data: Samples) -> None:
    for g in dc.geometric_confusions(*data, n_components=1).values():
        for i in g.labels[:3]:
            for j in g.labels[:3]:
                cells = g.shared_cells(i, j)
                heights = [min(cell.label_height, cell.prediction_height) for cell in cells]
                overlap = g.cell_volume * sum(heights)
                assert overlap == pytest.approx(g.matrix[i, j], rel=1e-11)
                assert heights == sorted(heights, reverse=True)
                if cells:
                    assert sum(cell.share for cell in cells) == pytest.approx(1)


@given(data=samples)
def test_shared_samples_are_those_of_the_pair_in_the_shared_cells(data: Samples) -> None:
    g = dc.geometric_confusion(*data, n_components=1)
    assert g.binning is not None
    ranks = {cell.cell: rank for rank, cell in enumerate(g.shared_cells(0, 1))}
    found = g.shared_samples(0, 1)
    member = (data.y_true == 0) | (data.y_pred == 1)
    shared = np.isin(g.binning.cells, list(ranks))
    assert sorted(found.tolist()) == np.flatnonzero(member & shared).tolist()
    for one, next_one in itertools.pairwise(found):
        keys = []
        for sample in (one, next_one):
            confused = data.y_true[sample] == 0 and data.y_pred[sample] == 1
            keys.append((ranks[g.binning.cells[sample]], not confused, sample))
        assert keys[0] < keys[1]
    counts = {cell.cell: cell.n_samples for cell in g.shared_cells(0, 1)}
    assert sum(counts.values()) == len(found)
    assert g.shared_samples(0, 1, limit=2).tolist() == found[:2].tolist()


def test_samples_of_a_planted_overlap_come_first() -> None:
    rng = np.random.default_rng(0)
    # Two clean clusters, and a knot of ten samples where the classes are mixed up.
    embeddings = np.concatenate([rng.normal(0, 0.1, (50, 2)), rng.normal(9, 0.1, (50, 2)),
                                 rng.normal([0, 9], 0.01, (10, 2))])  # fmt: skip
    y_true = np.repeat(["left", "right", "left"], [50, 50, 10])
    y_pred = np.repeat(["left", "right", "right"], [50, 50, 10])
    g = dc.geometric_confusion(embeddings, y_true, y_pred, n_components=2)
    assert sorted(g.shared_samples("left", "right").tolist()) == list(range(100, 110))


def test_an_unknown_class_is_named() -> None:
    g = dc.geometric_confusion(*make_samples(0))
    with pytest.raises(dc.InputError, match=r"Values of `pred` must be classes.*got 9"):
        g.shared_samples(0, 9)


def test_clusters_that_never_meet_share_nothing() -> None:
    g = dc.geometric_confusion(
        [[0.0], [0.1], [9.0], [9.1]], [0, 0, 1, 1], [0, 0, 1, 1], projection=None, bin_factor=0.5
    )
    assert g.shared_samples(0, 1).tolist() == []
    assert g.shared_cells(0, 1) == []
