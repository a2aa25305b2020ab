"""The paper's figures, drawn from records: effects, curves over heterogeneity, one instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deconfuse.experiments.analysis import METHODS, Question, Scores, normalizations
from deconfuse.experiments.arrays import RunArrays
from deconfuse.experiments.records import Record
from deconfuse.experiments.text import dataset_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "draw_clusters",
    "draw_curves",
    "draw_effects",
    "draw_instance",
    "draw_matrix",
]

#: One colour and marker a method; apart for the colour-blind (Okabe and Ito).
COLOURS = {
    "bi": "#D55E00",
    "row": "#0072B2",
    "col": "#009E73",
    "all": "#CC79A7",
    "similarity-choice": "#000000",
    "rebalanced": "#E69F00",
}
_MARKERS = {
    "bi": "o",
    "row": "s",
    "col": "^",
    "all": "D",
    "similarity-choice": "v",
    "rebalanced": "P",
}
_ORANGES, _BLUES = "Oranges", "Blues"


def draw_effects() -> Figure:
    """Draw Figure 1: what test set, predictions and similarity each do to a matrix.

    The first three matrices have one cause each; the last is their product, scaled to the same
    total: counts are similarity times the sizes of the true classes times the bias of the
    predicted ones.
    """
    uniform = np.ones(3)
    labels, biases = np.array([1.0, 1.8, 0.2]), np.array([1.0, 0.2, 1.8])
    similarity = np.array([[1.0, 0.08, 0.08], [0.08, 0.7, 0.38], [0.08, 0.38, 0.7]])
    panels = (
        ("Test set: B frequent, C rare", np.outer(labels, uniform)),
        ("Predictions: C over-, B under-predicted", np.outer(uniform, biases)),
        ("Class similarity: B and C look alike", similarity),
        ("All three at once", labels[:, None] * similarity * biases),
    )
    figure, axes = _grid(1, 4, (9.6, 2.9))
    for axis, (title, matrix) in zip(axes[0], panels, strict=True):
        axis.imshow(matrix / matrix.sum(), cmap=_BLUES, vmin=0.0, vmax=0.32)
        axis.set_title(title, fontsize=8.5)
        axis.set_xticks(range(3), list("ABC"))
        axis.set_yticks(range(3), list("ABC"))
        axis.set_xlabel("predicted")
    axes[0, 0].set_ylabel("true")
    return figure


def draw_curves(
    scores: Scores,
    targets: Sequence[tuple[str, str, str]],
    title: Callable[[str], str],
    methods: Sequence[str] = METHODS,
) -> Figure:
    """Draw means over seeds against heterogeneity, with bootstrap intervals.

    Parameters
    ----------
    scores : Scores
        What to draw.
    targets : sequence of (target, metric, words)
        One row of panels each; ``words`` is the label of its axis.
    title : callable
        Turns a dataset's name into the title of its column.
    methods : sequence of str
        The curves.
    """
    datasets = scores.datasets()
    figure, axes = _grid(
        len(targets), len(datasets), (2.6 * len(datasets) + 0.8, 2.5 * len(targets))
    )
    for row, (target, metric, words) in enumerate(targets):
        for axis, dataset in zip(axes[row], datasets, strict=True):
            counts = _draw_panel(axis, scores, (dataset, target, metric), methods)
            seeds = (
                f"n = {min(counts)}"
                if min(counts) == max(counts)
                else (f"n = {min(counts)} to {max(counts)}")
            )
            axis.set_title(f"{title(dataset)} ({seeds})", fontsize=9)
        axes[row, 0].set_ylabel(words, fontsize=9)
    for axis in axes[-1]:
        axis.set_xlabel("α  (more heterogeneous →)", fontsize=8)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(methods), frameon=False)
    return figure


def _draw_panel(
    axis: Axes, scores: Scores, where: tuple[str, str, str], methods: Sequence[str]
) -> list[int]:
    dataset, target, metric = where
    alphas = scores.alphas(dataset)
    counts = [0]
    for place, method in enumerate(methods):
        samples = [scores.sample(Question(dataset, a, target, method, metric)) for a in alphas]
        there = [(x, sample) for x, sample in enumerate(samples) if sample is not None]
        if not there:
            continue
        # Beside each other, so that no interval hides another.
        shift = 0.07 * (place - (len(methods) - 1) / 2)
        places = np.array([x + shift for x, _ in there])
        means = np.array([100 * sample.mean for _, sample in there])
        bounds = np.array([sample.interval() for _, sample in there]) * 100
        # A single seed has no interval; its point is drawn bare.
        spread = np.nan_to_num(np.abs(bounds.T - means))
        axis.errorbar(
            places,
            means,
            yerr=spread,
            color=COLOURS[method],
            marker=_MARKERS[method],
            markersize=4,
            linewidth=1.4,
            capsize=2,
            label=method,
        )
        counts = [*(c for c in counts if c), *(sample.n for _, sample in there)]
    axis.set_xticks(range(len(alphas)), [f"{alpha:g}" for alpha in alphas])
    axis.grid(axis="y", linewidth=0.4, alpha=0.5)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)
    return counts


def draw_instance(balanced: Record, record: Record) -> Figure:
    """Draw Figure 4: one balanced matrix, and the four normalizations of an imbalanced one."""
    epsilon = 1.0 / len(record.classes)
    matrices: dict[str, NDArray[np.float64]] = {"balanced (M1)": balanced.matrix.astype(np.float64)}
    estimates = normalizations(record.matrix, epsilon)
    matrices |= {f"{name}(M2)": estimates[name] for name in METHODS}
    figure, axes = _grid(1, len(matrices), (13.2, 3.9))
    for axis, (name, matrix) in zip(axes[0], matrices.items(), strict=True):
        draw_matrix(axis, matrix / matrix.sum(), record.classes)
        axis.set_title(name, fontsize=10)
        axis.set_xlabel("predicted", fontsize=8)
        axis.set_yticklabels([])
    axes[0, 0].set_yticklabels(record.classes, fontsize=7)
    axes[0, 0].set_ylabel("true", fontsize=8)
    config = record.config
    figure.suptitle(
        f"{dataset_title(config.dataset)}, seed {config.seed}, α = {config.alpha:g}: shares of"
        " each matrix, diagonal in orange, off-diagonal in blue (n = 1 run)",
        fontsize=9,
    )
    return figure


def draw_clusters(arrays: RunArrays, classes: Sequence[int] = (1, 5, 8)) -> Figure:
    """Draw Figure 2 of a run's embeddings: some clusters, and their histograms beneath."""
    from matplotlib.figure import Figure

    import deconfuse as dc

    figure = Figure(figsize=(6.4, 5.6), layout="constrained")
    axis = figure.add_subplot(projection="3d")
    names = np.array(arrays.classes)
    dc.plot_clusters(
        arrays.embeddings,
        names[arrays.labels],
        names[arrays.predictions],
        classes=[arrays.classes[place] for place in classes],
        ax=axis,
    )
    return figure


def draw_matrix(axis: Axes, matrix: NDArray[np.float64], classes: Sequence[str]) -> None:
    """Draw one matrix with its diagonal in orange and the rest in blue, each on its own scale."""
    diagonal = np.eye(len(matrix), dtype=bool)
    # The scales are those of an even matrix, so that panels beside each other can be compared.
    even = 1.0 / len(matrix)
    axis.imshow(np.ma.masked_array(matrix, diagonal), cmap=_BLUES, vmin=0, vmax=0.4 * even)
    axis.imshow(np.ma.masked_array(matrix, ~diagonal), cmap=_ORANGES, vmin=0, vmax=1.2 * even)
    axis.set_xticks(range(len(classes)), classes, rotation=90, fontsize=7)
    axis.set_yticks(range(len(classes)), classes, fontsize=7)
    axis.tick_params(length=0)


def _grid(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, NDArray[np.object_]]:
    # A bare figure, not pyplot's: nothing to close, no backend to choose.
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)
