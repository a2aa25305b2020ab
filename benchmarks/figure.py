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


def draw(path: Path) -> None:
    """Measure the two curves and write the picture."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    _curves(left, scaling.accuracy_curve(), lambda accuracy: 1.0 - accuracy)
    left.set(xlabel="error rate of the classifier", xscale="log", yscale="log", ylabel="seconds")
    left.invert_xaxis()
    left.set_title("10 classes: the better the classifier, the slower the sweeps")
    _curves(right, scaling.size_curve(), float)
    right.set(xlabel="number of classes", xscale="log", yscale="log", ylabel="seconds")
    right.set_title("accuracy 0.95, default epsilon")
    for axes in (left, right):
        axes.grid(alpha=0.3, which="major")
        axes.title.set_fontsize(10)
    left.legend(frameon=False, fontsize=8)
    figure.suptitle(
        "Bi-normalization to a residual of 1e-10 (open circles: stopped before it)", fontsize=11
    )
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _curves(axes: Axes, rows: list[dict[str, Any]], place: Any) -> None:
    names: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        name = "deconfuse (auto)" if row["peer"].startswith("auto") else row["peer"]
        names.setdefault(name, []).append(row)
    for name, points in names.items():
        x = [place(point["x"]) for point in points]
        y = [point["seconds"] for point in points]
        axes.plot(x, y, label=name, color=COLOURS[name], lw=2.5 if "deconfuse" in name else 1.2)
        for where, height, point in zip(x, y, points, strict=True):
            is_open = point["residual"] > 2 * scaling.TOLERANCE
            axes.plot(
                where, height, "o", ms=5, color=COLOURS[name], mfc="white" if is_open else None
            )


if __name__ == "__main__":
    draw(Path(__file__).parent.parent / "docs" / "images" / "benchmarks.png")
