"""Consonants that people confuse in noise (Miller and Nicely 1955): similarity without habit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import dendrogram
from shared import run, save, write_table

import deconfuse as dc

# All pairs that are confused more than a hundred times.
PAIRS = ("gd", "pk", "tk", "tp")


def asymmetry(matrix: np.ndarray) -> float:
    """Return the share of errors that is not matched by errors the other way round."""
    errors = matrix - np.diag(np.diag(matrix))
    return float(np.abs(errors - errors.T).sum() / 2 / errors.sum())


def main(folder: Path) -> None:
    """Tabulate both directions of some pairs, and draw the consonants as a tree."""
    import matplotlib.pyplot as plt

    cm = dc.load_example("consonants")
    at = {name: position for position, name in enumerate(cm.labels)}
    by = {method: np.asarray(cm.normalize(method).matrix) for method in ("row", "bi")}
    favours = by["row"].sum(axis=0)
    rows = []
    for one, other in PAIRS:
        i, j = at[one], at[other]
        rows.append(
            [
                f"{one} heard as {other}, and back",
                f"{cm.counts[i, j]}, {cm.counts[j, i]}",
                *(f"{by[m][i, j]:.2f}, {by[m][j, i]:.2f}" for m in ("row", "bi")),
                f"{one} {favours[i]:.2f}, {other} {favours[j]:.2f}",
            ]
        )
    header = ["pair", "counts", "row-normalized", "bi-normalized", "answered, were all said once"]
    write_table(folder, "consonants.md", header, rows)
    write_table(
        folder,
        "consonants-asymmetry.md",
        ["normalization", "errors not matched the other way"],
        [
            [m, f"{100 * asymmetry(np.asarray(cm.normalize(m).matrix)):.1f} %"]
            for m in ("all", "row", "col", "bi")
        ],
    )

    tree = dc.statistics.hierarchy(cm)
    figure, axes = plt.subplots(
        1, 2, figsize=(12, 5.4), layout="constrained", width_ratios=(1.0, 1.15)
    )
    drawn = dendrogram(
        tree.linkage,
        ax=axes[0],
        orientation="left",
        labels=list(cm.labels),
        color_threshold=0,
        above_threshold_color="#1b6ca8",
        leaf_font_size=13,
    )
    axes[0].set(title="Consonants by similarity", xlabel="distance, − log similarity")
    axes[0].spines[["top", "left", "right"]].set_visible(False)
    # Leaves are drawn from below, rows from above.
    ordered = cm.reorder(drawn["ivl"][::-1])
    dc.ConfusionMatrixDisplay(ordered.normalize("bi")).plot(ax=axes[1], colorbar=False)
    axes[1].set(title="Bi-normalized, in the order of the tree", xlabel="heard", ylabel="said")
    save(figure, folder, "consonants.png")


if __name__ == "__main__":
    run(main)
