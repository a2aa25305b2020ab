"""Pictures of geometry: what is drawn, from which numbers, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import deconfuse as dc
from tests.geometry.data import make_samples

DATA = make_samples(21, n_samples=300, n_classes=3, spread=1.2)


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    mpl.use("agg")
    yield
    plt.close("all")


@pytest.mark.parametrize("kind", ["true", "pred"])
def test_clusters_are_drawn_from_their_points(kind: str) -> None:
    members = DATA.y_true if kind == "true" else DATA.y_pred
    ax = dc.geometry.plot_clusters(*DATA, classes=[2, 0], kind=kind)  # type: ignore[arg-type]
    ax.figure.canvas.draw()
    clouds = [item for item in ax.collections if type(item).__name__ == "Path3DCollection"]
    assert [cloud.get_label().strip() for cloud in clouds] == ["2", "0"]
    assert [len(cloud.get_offsets()) for cloud in clouds] == [
        (members == 2).sum(),
        (members == 0).sum(),
    ]
    (bars,) = [item for item in ax.collections if type(item).__name__ == "Poly3DCollection"]
    weighting = "row" if kind == "true" else "col"
    g = dc.geometric_confusion(*DATA, n_components=2, weighting=weighting)  # type: ignore[arg-type]
    assert g.binning is not None
    cells = sum(len(np.unique(g.binning.cells[members == k])) for k in (2, 0))
    assert len(bars.get_facecolor()) == 6 * cells
    assert "n = 303" in ax.get_title()


def test_clusters_on_given_axes() -> None:
    ax = plt.figure().add_subplot(projection="3d")
    assert dc.geometry.plot_clusters(*DATA, ax=ax) is ax


def test_refused_clusters() -> None:
    with pytest.raises(dc.InputError, match='`kind` must be "true" or "pred", got \'both\''):
        dc.geometry.plot_clusters(*DATA, kind="both")  # type: ignore[arg-type]
    with pytest.raises(dc.InputError, match="must name one to 8 clusters to draw, got 0"):
        dc.geometry.plot_clusters(*DATA, classes=[])
    many = make_samples(1, n_classes=12)
    with pytest.raises(dc.InputError, match="must name one to 8 clusters to draw, got 12"):
        dc.geometry.plot_clusters(*many)
    with pytest.raises(dc.InputError, match="5"):
        dc.geometry.plot_clusters(*DATA, classes=[5])
    with (
        pytest.warns(dc.errors.GeometryWarning),
        pytest.raises(dc.InputError, match="must spread over two dimensions to be drawn"),
    ):
        dc.geometry.plot_clusters(DATA.embeddings[:, :1], DATA.y_true, DATA.y_pred)


def test_agreement_shows_its_numbers_and_the_best_of_each_row() -> None:
    agreement = dc.geometry.geometry_agreement(dc.geometric_confusions(*DATA))
    ax = agreement.plot()
    texts = [float(text.get_text()) for text in ax.texts]
    np.testing.assert_allclose(texts, agreement.overlap.ravel(), atol=6e-4)
    frames = [patch.get_xy() for patch in ax.patches]
    best = agreement.overlap.argmax(axis=1)
    assert [(round(x + 0.47), round(y + 0.47)) for x, y in frames] == list(
        zip(best, range(4), strict=True)
    )
    assert ax.get_ylabel() == "weights of the histograms"
    assert agreement.plot(ax=ax) is ax


def test_sensitivity_draws_a_line_a_number_of_components() -> None:
    study = dc.geometry.geometry_sensitivity(*DATA, bin_factors=[2, 3.5], components=[2, 4, 6])
    axes = study.plot("row")
    lines = [
        line for line in axes[0].lines if len(line.get_xdata()) == 2 and line.get_label() in "246"
    ]
    assert [line.get_label() for line in lines] == ["2", "4", "6"]
    np.testing.assert_allclose(lines[1].get_ydata(), study.agreement[0, :, 1])
    hollow = [
        (cloud.get_facecolor()[:, :3] == 1).all(axis=1).tolist() for cloud in axes[0].collections
    ]
    np.testing.assert_array_equal(hollow, ~study.is_closest[0].T)
    with pytest.raises(dc.InputError, match=r"`weighting` must be one of .* got 'none'"):
        study.plot(weighting="none")
