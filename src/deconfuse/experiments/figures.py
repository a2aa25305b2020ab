"""The paper's figures, drawn from records: effects, curves over heterogeneity, one instance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

import deconfuse as dc
from deconfuse.experiments.analysis import METHODS, Question, Sample, Scores, normalizations
from deconfuse.experiments.config import RunConfig
from deconfuse.experiments.data_files import dataset_title
from deconfuse.experiments.records import Record
from deconfuse.experiments.runs import RunArrays, read_arrays

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CAPTIONS", "NEEDS_ARRAYS", "SHOWN", "draw_all", "pictures"]

#: One colour and marker per method; distinct for the colour-blind (Okabe and Ito).
_STYLES = {
    "bi": ("#D55E00", "o"),
    "row": ("#0072B2", "s"),
    "col": ("#009E73", "^"),
    "all": ("#CC79A7", "D"),
    "similarity-choice": ("#000000", "v"),
    "rebalanced": ("#E69F00", "P"),
}
_ORANGES, _BLUES = "Oranges", "Blues"

#: The run that is shown as an instance, the paper's choice.
SHOWN = RunConfig("fashion-mnist", 0, 0.3)

# Records do not hold embeddings.
NEEDS_ARRAYS = "clusters.png"

_SAME = "Colours as in the first figure of curves."
_COLOURS = "bi is orange, row blue, col green, all pink; the paper's are red, blue, orange, green."

#: Every figure: the claim whose section shows it (or none), and its caption.
CAPTIONS = {
    "effects.png": (
        "",
        "The paper's Figure 1 with its own shades, of another blue: (d) is the sum of (a) to (c). "
        "The last panel, not in the paper, multiplies them. Drawn from constants.",
    ),
    "clusters.png": (
        "",
        "The paper's Figure 2, of real embeddings (Fashion-MNIST, seed 0, α = 0.3, not in the "
        "records): Pullover, Coat and Shirt on two components, labels left and predictions right, "
        "with their histograms. A GCM is what left and right share.",
    ),
    "overlap.png": (
        "1",
        "The paper's Figure 3: Overlap with M1, GCM row and GCM bi; means and 95 % t intervals "
        f"over seeds, one scale per row. Colours differ: here {_COLOURS}",
    ),
    "instance.png": (
        "3",
        "The paper's Figure 4: Fashion-MNIST, seed 0, α = 0.3; shares of each matrix in percent, "
        "diagonal in orange, the rest in blue, one scale for all. {shown}",
    ),
    "kl.png": ("4", f"The appendix's curves: KL divergence from M1; lower is closer. {_SAME}"),
    "overlap-other-targets.png": (
        "5",
        f"The appendix's curves: the targets GCM all and GCM col. {_SAME}",
    ),
    "shuffled.png": (
        "5b",
        "Not in the paper: Experiment 2 with the network's embeddings (full lines) and with "
        "embeddings shuffled among the samples (dotted); means over seeds.",
    ),
    "off-diagonal.png": (
        "past",
        "Not in the paper: the same for errors alone, with M1 and bi(M1).",
    ),
    "other-methods.png": (
        "past",
        "Not in the paper: Luce's similarity-choice model (black) and the rebalanced classifier "
        "(yellow) beside bi and row.",
    ),
}

_CURVES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "overlap.png": (
        ("balanced", "overlap", "Overlap with M1 (%)"),
        ("gcm row", "overlap", "Overlap with GCM row (%)"),
        ("gcm bi", "overlap", "Overlap with GCM bi (%)"),
    ),
    "overlap-other-targets.png": (
        ("gcm all", "overlap", "Overlap with GCM all (%)"),
        ("gcm col", "overlap", "Overlap with GCM col (%)"),
    ),
    "kl.png": (("balanced", "kl", "KL divergence (× 100)"),),
    "off-diagonal.png": (
        ("balanced", "off-diagonal overlap", "off-diagonal\nOverlap with M1 (%)"),
        ("bi(balanced)", "off-diagonal overlap", "off-diagonal\nOverlap with bi(M1) (%)"),
    ),
    "other-methods.png": (
        ("balanced", "overlap", "Overlap with M1 (%)"),
        ("bi(balanced)", "off-diagonal overlap", "off-diagonal\nOverlap with bi(M1) (%)"),
    ),
}


def draw_all(scores: Scores, records: Sequence[Record], cache: Path | None) -> dict[str, Figure]:
    """Draw every figure that there are records for, by the name of its file.

    The figure of clusters needs embeddings, which records do not hold but ``cache`` may.
    """
    figures = {"effects.png": _draw_effects()}
    there = {question.target for question in scores.questions()}
    for name, targets in _CURVES.items():
        # Without balanced models there is no Experiment 1 to show.
        shown = [row for row in targets if row[0] in there]
        beside = ("bi", "row", "similarity-choice", "rebalanced")
        methods = beside if name == "other-methods.png" else METHODS
        if shown:
            figures[name] = _draw_curves(scores, shown, methods)
    if "shuffled gcm bi" in there:
        figures["shuffled.png"] = _draw_shuffled(scores)
    by_config = {record.config: record for record in records}
    if SHOWN in by_config and SHOWN.balanced in by_config:
        figures["instance.png"] = _draw_instance(by_config[SHOWN.balanced], by_config[SHOWN])
    if cache is not None and (arrays := read_arrays(cache, SHOWN)) is not None:
        figures[NEEDS_ARRAYS] = _draw_clusters(arrays)
    return figures


def pictures(shown: Sequence[str], place: str) -> list[str]:
    """Return the figures that belong to a claim, in Markdown."""
    return [
        f"![{name.removesuffix('.png')}](figures/{name})\n\n*{caption}*"
        for name, (where, caption) in CAPTIONS.items()
        if where == place and name in shown
    ]


def _draw_effects() -> Figure:
    """Draw Figure 1: what test set, predictions and similarity each do to a matrix.

    The first four matrices are the paper's, shades and all: (d) is the sum of the others. The last
    is their product, which is how bi-normalization sees a matrix: similarity times the sizes of
    the true classes times the bias of the predicted ones, scaled to the same darkest cell.
    """
    similarity = np.array([[48.0, 3, 3], [3, 33, 18], [3, 18, 33]])
    labels, biases = np.array([18.0, 33, 3]), np.array([18.0, 3, 33])
    uniform = np.ones(3)
    test_set, predictions = np.outer(labels, uniform), np.outer(uniform, biases)
    total = test_set + predictions + similarity
    product = labels[:, None] * similarity * biases
    panels = (
        ("(a) test set:\nB frequent, C rare", test_set),
        ("(b) predictions:\nC over-, B under-predicted", predictions),
        ("(c) class similarity:\nB and C look alike", similarity),
        ("(d) all three,\nthe paper's: a sum", total),
        ("all three as factors,\nas normalizing needs", product * total.max() / product.max()),
    )
    figure, axes = _grid(1, len(panels), (11.2, 2.9))
    top = max(matrix.max() for _, matrix in panels)
    for axis, (title, matrix) in zip(axes[0], panels, strict=True):
        image = axis.imshow(matrix, cmap=_BLUES, vmin=0.0, vmax=top)
        axis.set_title(title, fontsize=8.5)
        axis.set_xticks(range(3), list("ABC"))
        axis.set_yticks(range(3), list("ABC"))
        axis.set_xlabel("predicted")
    axes[0, 0].set_ylabel("true")
    figure.colorbar(image, ax=axes[0].tolist(), shrink=0.75, label="shade")
    return figure


def _draw_curves(
    scores: Scores,
    targets: Sequence[tuple[str, str, str]],
    methods: Sequence[str] = METHODS,
) -> Figure:
    """Draw means over seeds against heterogeneity, with Student's t intervals.

    Each target (its name, a metric, the label of its axis) has a row of panels with one scale.
    """
    datasets = scores.datasets()
    figure, axes = _grid(
        len(targets), len(datasets), (2.6 * len(datasets) + 0.8, 2.4 * len(targets)), "row"
    )
    for row, (target, metric, words) in enumerate(targets):
        for axis, dataset in zip(axes[row], datasets, strict=True):
            counts = _draw_panel(axis, scores, (dataset, target, metric), methods)
            if row == 0:
                seeds = " to ".join(str(n) for n in sorted({min(counts), max(counts)}))
                axis.set_title(f"{dataset_title(dataset)} (n = {seeds})", fontsize=9)
        axes[row, 0].set_ylabel(words, fontsize=9)
    _finish(figure, axes, len(methods))
    return figure


def _draw_shuffled(scores: Scores) -> Figure:
    """Draw what is left of Experiment 2 when embeddings are shuffled among the samples.

    One row of panels has the Overlap of each GCM with its own normalization, the other its lead
    over the best other one; full lines are the network's embeddings, broken ones shuffled.
    """
    datasets = scores.datasets()
    figure, axes = _grid(2, len(datasets), (2.6 * len(datasets) + 0.8, 5.0), "row")
    for column, dataset in enumerate(datasets):
        alphas = scores.alphas(dataset)
        axes[0, column].set_title(dataset_title(dataset), fontsize=9)
        for prefix, style in (("", "-"), ("shuffled ", ":")):
            for method in METHODS:
                where = (dataset, f"{prefix}gcm {method}", "overlap")
                table = np.array([_means(scores, where, other) for other in METHODS])
                own = table[METHODS.index(method)]
                rest = np.delete(table, METHODS.index(method), axis=0).max(axis=0)
                for axis, line in zip(axes[:, column], (own, own - rest), strict=True):
                    label = f"GCM {method}{', shuffled' if prefix else ''}"
                    color, marker = _STYLES[method]
                    axis.plot(line, style, color=color, marker=marker, markersize=3.5, label=label)
                    _tidy(axis, alphas)
    axes[0, 0].set_ylabel("Overlap with its own\nnormalization (%)", fontsize=9)
    axes[1, 0].set_ylabel("lead over the best other\n(points)", fontsize=9)
    _finish(figure, axes, 4)
    return figure


def _finish(figure: Figure, axes: NDArray[np.object_], n_columns: int) -> None:
    for axis in axes[-1]:
        axis.set_xlabel("α  (more heterogeneous →)", fontsize=8)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, names, loc="outside lower center", ncols=n_columns, frameon=False, fontsize=9
    )


def _tidy(axis: Axes, alphas: Sequence[float]) -> None:
    axis.set_xticks(range(len(alphas)), [f"{alpha:g}" for alpha in alphas])
    axis.grid(axis="y", linewidth=0.4, alpha=0.5)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)


def _samples(scores: Scores, where: tuple[str, str, str], method: str) -> list[Sample | None]:
    """Return the scores of each level of a dataset, with a target and by a metric."""
    dataset, target, metric = where
    return [
        scores.sample(Question(dataset, alpha, target, method, metric))
        for alpha in scores.alphas(dataset)
    ]


def _means(scores: Scores, where: tuple[str, str, str], method: str) -> list[float]:
    samples = _samples(scores, where, method)
    return [np.nan if sample is None else 100 * sample.mean for sample in samples]


def _draw_panel(
    axis: Axes, scores: Scores, where: tuple[str, str, str], methods: Sequence[str]
) -> list[int]:
    counts = []
    for place, method in enumerate(methods):
        samples = _samples(scores, where, method)
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
        color, marker = _STYLES[method]
        axis.errorbar(
            places,
            means,
            yerr=spread,
            color=color,
            marker=marker,
            markersize=4,
            linewidth=1.4,
            capsize=2,
            label=method,
        )
        counts += [sample.n for _, sample in there]
    _tidy(axis, scores.alphas(where[0]))
    return counts or [0]


def _draw_instance(balanced: Record, record: Record) -> Figure:
    """Draw Figure 4: one balanced matrix, and the four normalizations of an imbalanced one."""
    truth = balanced.matrix / balanced.matrix.sum()
    matrices: dict[str, NDArray[np.float64]] = {"balanced (M1)": truth}
    estimates = normalizations(record.matrix, record.epsilon)
    for name in METHODS:
        shares = estimates[name] / estimates[name].sum()
        matrices[f"{name}(M2)\nOverlap {100 * dc.overlap(truth, shares):.1f} %"] = shares
    figure, axes = _grid(1, len(matrices), (14.2, 3.7))
    diagonal = np.eye(len(truth), dtype=bool)
    tops = [max(m[part].max() for m in matrices.values()) for part in (~diagonal, diagonal)]
    for axis, (words, matrix) in zip(axes[0], matrices.items(), strict=True):
        images = [
            axis.imshow(np.ma.masked_array(100 * matrix, hidden), cmap=cmap, vmin=0, vmax=100 * top)
            for hidden, cmap, top in zip(
                (diagonal, ~diagonal), (_BLUES, _ORANGES), tops, strict=True
            )
        ]
        axis.set_title(words, fontsize=10)
        axis.set_xticks(range(len(truth)), record.classes, rotation=90, fontsize=7)
        axis.set_yticks([])
        axis.set_xlabel("predicted", fontsize=8)
    axes[0, 0].set_yticks(range(len(truth)), record.classes, fontsize=7)
    axes[0, 0].set_ylabel("true", fontsize=8)
    for image, words in zip(images, ("off-diagonal (%)", "diagonal (%)"), strict=True):
        bar = figure.colorbar(image, ax=axes[0].tolist(), shrink=0.62, pad=0.01)
        bar.set_label(words, fontsize=8)
        bar.ax.tick_params(labelsize=7)
    return figure


def _draw_clusters(arrays: RunArrays, classes: Sequence[int] = (2, 4, 6)) -> Figure:
    """Draw Figure 2 of a run's embeddings: clusters of labels and of predictions, with histograms.

    The two kinds of clusters have the same classes and one grid, so that what they share, which is
    what a geometric confusion matrix measures, can be seen.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 5.4), layout="constrained")
    names = np.array(arrays.classes)
    chosen: dict[Literal["true", "pred"], NDArray[np.int64]] = {
        "true": arrays.labels,
        "pred": arrays.predictions,
    }
    for place, (kind, members) in enumerate(chosen.items(), 1):
        axis = figure.add_subplot(1, 2, place, projection="3d")
        dc.geometry.plot_clusters(
            arrays.embeddings,
            names[arrays.labels],
            names[arrays.predictions],
            classes=[arrays.classes[k] for k in classes],
            kind=kind,
            ax=axis,
        )
        drawn = int(np.isin(members, classes).sum())
        what = "Label" if kind == "true" else "Prediction"
        axis.set_title(f"{what} clusters ({drawn:,} of {len(members):,} points drawn)", fontsize=10)
    return figure


def _grid(
    rows: int,
    columns: int,
    size: tuple[float, float],
    sharey: Literal["none", "row"] = "none",
) -> tuple[Figure, NDArray[np.object_]]:
    # A bare figure, not pyplot's: nothing to close, no backend to choose.
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, sharey=sharey)
