"""The picture of the README: where sweeps crawl, and what counting costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from benchmarks import scaling

COLOURS = {
    "deconfuse (auto)": "#d95f02",
    "ras": "#7570b3",
    "ipf": "#1b9e77",
    "POT sinkhorn": "#386cb0",
    "sinkhorn_knopp": "#a6761d",
    "ipfn": "#666666",
}


Rows = list[dict[str, Any]]


def measure_curves() -> dict[str, Rows]:
    """Return time and residual of bi-normalization by accuracy and by number of classes."""
    return {"accuracy": scaling.accuracy_curve(), "classes": scaling.size_curve()}


def draw(path: Path, curves: dict[str, Rows], counting: Rows) -> None:
    """Write the picture of what was measured."""
    figure, axes = plt.subplots(2, 2, figsize=(10, 7.5), layout="constrained")
    by_accuracy, by_size = curves["accuracy"], curves["classes"]
    _curves(axes[0, 0], by_accuracy, _error_rate, "seconds")
    axes[0, 0].set_title("Bi-normalizing 10 classes: better classifiers are harder for sweeps")
    axes[0, 0].legend(frameon=False, fontsize=8)
    _curves(axes[0, 1], by_accuracy, _error_rate, "residual")
    axes[0, 1].axhline(scaling.TOLERANCE, color="black", lw=0.8, ls=":")
    axes[0, 1].set_title("Residual reached within 20,000 sweeps (dotted: asked for)")
    for cell in axes[0]:
        cell.set_xlabel("error rate of the classifier")
        cell.invert_xaxis()
    _curves(axes[1, 0], by_size, float, "seconds")
    axes[1, 0].set_xlabel("number of classes")
    axes[1, 0].set_title("Bi-normalizing at accuracy 0.95, default epsilon")
    _bars(axes[1, 1], counting)
    for cell in axes.ravel():
        cell.grid(alpha=0.3, which="major")
        cell.title.set_fontsize(10)
    figure.suptitle("Open circles: stopped before the residual was reached", fontsize=9)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _error_rate(accuracy: float) -> float:
    return 1.0 - accuracy


def _bars(axes: Axes, rows: Rows) -> None:
    """Draw the times of the largest integer case, slowest on top."""
    case = rows[0]["case"]
    chosen = sorted((row for row in rows if row["case"] == case), key=lambda row: row["seconds"])
    colours = ["#d95f02" if row["peer"] == "deconfuse" else "#9aa5b1" for row in chosen]
    bars = axes.barh(
        [row["peer"] for row in chosen], [row["seconds"] for row in chosen], color=colours
    )
    axes.bar_label(bars, [f"{row['seconds']:.2g} s" for row in chosen], padding=3, fontsize=8)
    axes.set(xscale="log", xlabel="seconds", title=f"Counting {case}")
    axes.margins(x=0.15)


def _curves(axes: Axes, rows: Rows, place: Any, height: str) -> None:
    names: dict[str, Rows] = {}
    for row in rows:
        name = "deconfuse (auto)" if row["peer"].startswith("auto") else row["peer"]
        names.setdefault(name, []).append(row)
    for name, points in names.items():
        x = [place(point["x"]) for point in points]
        y = [point[height] for point in points]
        axes.plot(x, y, label=name, color=COLOURS[name], lw=2.5 if "deconfuse" in name else 1.2)
        for where, level, point in zip(x, y, points, strict=True):
            fill = "white" if point["residual"] > 2 * scaling.TOLERANCE else None
            axes.plot(where, level, "o", ms=5, color=COLOURS[name], mfc=fill)
    axes.set(xscale="log", yscale="log", ylabel=height)
