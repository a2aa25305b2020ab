"""Draw clusters and their histograms, agreement and sensitivity with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from deconfuse._checks import show
from deconfuse.errors import InputError
from deconfuse.geometry.compare import GeometryAgreement, GeometrySensitivity
from deconfuse.geometry.embeddings import check_embeddings
from deconfuse.geometry.gcm import geometric_confusion
from deconfuse.geometry.projection import FloatArray
from deconfuse.geometry.result import GeometricConfusion

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from mpl_toolkits.mplot3d import Axes3D  # type: ignore[import-untyped]

__all__ = ["plot_clusters", "plot_geometry_agreement", "plot_geometry_sensitivity"]

# Okabe and Ito's colours, told apart by all kinds of colour vision.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8B6914", "#000000")


def plot_clusters(
    embeddings: object,
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    kind: Literal["true", "pred"] = "true",
    ax: Axes3D | None = None,
) -> Axes3D:
    """Draw class clusters in two dimensions and, beneath them, their histograms.

    The points and their classes are given as to `geometric_confusion`.

    Parameters
    ----------
    classes : sequence, optional
        The clusters to draw, at most eight; all by default.
    kind : {"true", "pred"}
        Clusters of labels or of predictions.
    ax : mpl_toolkits.mplot3d.Axes3D, optional
        Where to draw; a new figure by default.

    Returns
    -------
    mpl_toolkits.mplot3d.Axes3D
        With the points on a plane above and one bar a cell and class below. Projection and grid
        come from all points, as for a Geometric Confusion Matrix with two components; heights
        are weighted so that each cluster has the same volume.

    Raises
    ------
    InputError
        If there are more than eight classes to draw, or one is unknown.

    Examples
    --------
    >>> import deconfuse as dc
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["left", "right"], 50)
    >>> points = rng.normal(size=(100, 3)) + 2.0 * (y == "right")[:, None]
    >>> ax = dc.geometry.plot_clusters(points, y, y)
    >>> ax.get_title()
    'Label clusters and their histograms (n = 100)'
    """
    import matplotlib.pyplot as plt

    if kind not in ("true", "pred"):
        message = f'`kind` must be "true" or "pred", got {kind!r}.'
        raise InputError(message, hint='"true" draws the clusters of labels.')
    g = geometric_confusion(
        embeddings, y_true, y_pred, weighting="row" if kind == "true" else "col", n_components=2
    )
    chosen = _chosen_classes(g, classes)
    if g.grid.n_dimensions < 2:
        message = "The points must spread over two dimensions to be drawn, got fewer."
        raise InputError(message, hint="a histogram of one coordinate is enough here.")
    if ax is None:
        # matplotlib's own types do not know what a 3d subplot is.
        ax = plt.figure(figsize=(7.5, 6.5), layout="constrained").add_subplot(projection="3d")
    assert g.projection is not None, "`geometric_confusion` projects by default"
    points = g.projection.apply(check_embeddings(embeddings))
    top = _draw_bars(ax, g, points, chosen)
    _draw_points(ax, g, points, chosen, 1.55 * top)
    explained = g.projection.explained_variance_ratio
    ax.set_xlabel(f"component 1 ({explained[0]:.0%} of variance)")
    ax.set_ylabel(f"component 2 ({explained[1]:.0%})")
    ax.set_zlim(0, 1.6 * top)
    ax.set_zticks([])
    ax.set_zlabel("histograms              points")
    name = "Label" if kind == "true" else "Prediction"
    ax.set_title(f"{name} clusters and their histograms (n = {len(points):,})")
    title = "true class" if kind == "true" else "predicted class"
    ax.legend(loc="upper left", title=title, markerscale=3)
    ax.view_init(elev=24, azim=-58)
    ax.set_box_aspect((1, 1, 0.85), zoom=0.98)
    return ax


def _chosen_classes(g: GeometricConfusion, classes: Sequence[Any] | None) -> list[int]:
    if classes is None:
        chosen = list(range(len(g.labels)))
    else:
        chosen = [int(k) for k in g.normalized.source.index_of(list(classes))]
    if not 1 <= len(chosen) <= len(_COLOURS):
        message = (
            f"`classes` must name one to {len(_COLOURS)} clusters to draw, got {len(chosen)}: "
            f"{show(g.labels[k] for k in chosen)}."
        )
        raise InputError(message, hint="name the classes of interest, say two that are confused.")
    return chosen


def _draw_bars(ax: Any, g: GeometricConfusion, points: FloatArray, chosen: list[int]) -> float:
    """Draw all histograms in one call, so that nearer bars hide farther ones; return the top."""
    assert g.binning is not None, "the points are in memory"
    counts, grid = g.binning.counts, g.grid
    table = counts.label_table if g.weighting == "row" else counts.prediction_table
    samples = counts.count.astype(np.float64)
    # One weight for all points of a cluster, so that all clusters have the same volume.
    heights = table.heights(samples) / np.maximum(table.totals(samples), 1.0)[table.group]
    corners = np.empty((counts.n_cells, 2))
    for k, position in enumerate(grid.positions(points)):
        corners[g.binning.cells, k] = grid.origin[k] + grid.widths[k] * position
    strip = grid.widths[0] / len(chosen)
    rows = [np.flatnonzero(table.group == index) for index in chosen]
    place = np.repeat(np.arange(len(chosen)), [len(part) for part in rows])
    bars = np.concatenate(rows)
    x, y = corners[table.cell[bars]].T
    ax.bar3d(
        x + place * strip,
        y,
        np.zeros(len(bars)),
        0.94 * strip,
        0.94 * grid.widths[1],
        heights[bars],
        color=[_COLOURS[k] for k in place],
        edgecolor="white",
        linewidth=0.2,
    )
    return float(heights[bars].max())


def _draw_points(
    ax: Any, g: GeometricConfusion, points: FloatArray, chosen: list[int], height: float
) -> None:
    """Draw the points on a plane above the bars, with the grid that they are counted in."""
    assert g.binning is not None, "the points are in memory"
    low, high = points.min(axis=0), points.max(axis=0)
    for k in (0, 1):
        for edge in g.grid.origin[k] + g.grid.widths[k] * np.arange(g.grid.bins[k] + 1):
            ends = np.array([low, high])
            ends[:, k] = edge
            ax.plot(*ends.T, height, color="0.85", linewidth=0.6)
    members = g.binning.true if g.weighting == "row" else g.binning.pred
    size = float(np.clip(8000 / len(points), 2.0, 16.0))
    for colour, index in zip(_COLOURS, chosen, strict=False):
        mine = points[members == index]
        ax.scatter(
            mine[:, 0],
            mine[:, 1],
            height,
            s=size,
            color=colour,
            depthshade=False,
            linewidths=0,
            # A name that starts with an underscore must not vanish from the legend.
            label=f" {g.labels[index]}",
        )


def plot_geometry_agreement(agreement: GeometryAgreement, *, ax: Axes | None = None) -> Axes:
    """Draw what `GeometryAgreement.plot` promises."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    if ax is None:
        _, ax = plt.subplots(figsize=(5.2, 4.4), layout="constrained")
    values = np.asarray(agreement.overlap)
    low = float(values.min())
    image = ax.imshow(values, cmap="Blues", vmin=max(0.0, low - 0.1), vmax=1.0)
    middle = (image.norm.vmin + 1.0) / 2  # type: ignore[operator]
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            colour = "white" if value > middle else "black"
            ax.text(column, row, f"{value:.3f}", ha="center", va="center", color=colour)
        best = int(line.argmax())
        frame = Rectangle(
            (best - 0.47, row - 0.47), 0.94, 0.94, fill=False, edgecolor=_COLOURS[1], linewidth=2
        )
        ax.add_patch(frame)
    ax.set_xticks(range(len(agreement.normalizations)), agreement.normalizations)
    ax.set_yticks(range(len(agreement.weightings)), agreement.weightings)
    ax.set_xlabel("normalization of the counts")
    ax.set_ylabel("weights of the histograms")
    ax.set_title("Overlap of Geometric Confusion Matrix\nand normalized matrix", fontsize="medium")
    ax.figure.colorbar(image, ax=ax, label="Overlap", shrink=0.85)
    return ax


def plot_geometry_sensitivity(
    sensitivity: GeometrySensitivity,
    *,
    weighting: str = "bi",
    axes: Sequence[Axes] | None = None,
) -> Sequence[Axes]:
    """Draw what `GeometrySensitivity.plot` promises."""
    import matplotlib.pyplot as plt

    if weighting not in sensitivity.weightings:
        message = f"`weighting` must be one of {show(sensitivity.weightings)}, got {weighting!r}."
        raise InputError(message, hint="each has a picture of its own.")
    if axes is None:
        _, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    which = sensitivity.weightings.index(weighting)
    density = sensitivity.n_samples / sensitivity.n_cells
    panels = (
        (sensitivity.agreement[which], f"Overlap with {weighting}-normalized counts"),
        (sensitivity.to_reference[which], "Overlap with the setting of reference"),
        (density, "points in an occupied cell"),
    )
    shades = plt.get_cmap("viridis")(np.linspace(0.05, 0.85, len(sensitivity.components)))
    for column, chance in enumerate(sensitivity.shuffled[which].T):
        label = "shuffled" if column == len(sensitivity.components) - 1 else None
        axes[0].plot(
            sensitivity.bin_factors, chance, color=shades[column], linestyle="--", label=label
        )
    for panel, (values, name) in zip(axes, panels, strict=True):
        for column, count in enumerate(sensitivity.components):
            panel.plot(
                sensitivity.bin_factors, values[:, column], color=shades[column], label=f"{count}"
            )
            filled = sensitivity.is_closest[which][:, column]
            faces = [shades[column] if full else "white" for full in filled]
            panel.scatter(
                sensitivity.bin_factors,
                values[:, column],
                c=faces,
                edgecolors=[shades[column]],
                zorder=3,
            )
        factor, components = sensitivity.reference
        panel.axvline(factor, color="0.6", linestyle=":", zorder=0)
        panel.set_xlabel("bin factor")
        panel.set_ylabel(name)
    axes[2].set_yscale("log")
    axes[0].legend(title="components", fontsize="small", ncols=2)
    axes[0].set_title("hollow: another normalization is closer", fontsize="medium")
    axes[1].set_title(f"reference: factor {factor:g}, {components} components", fontsize="medium")
    axes[2].set_title(f"n = {sensitivity.n_samples:,}", fontsize="medium")
    return axes
