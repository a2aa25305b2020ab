"""Trees of classes when the test set changes: by similarity they stay, by raw counts they do not.

Six consonants are counted again as if some had been said far more often than others and some
answers were favoured: rows and columns of the counts are multiplied by random factors, and as many
samples are drawn from the result. Each tree is compared with the tree of the same kind before.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import cophenet, dendrogram, linkage
from scipy.spatial.distance import squareform
from shared import run, save, write_table

import deconfuse as dc

DRAWS = 50
# Largest over smallest class, in the labels; answers are favoured by up to the root of it.
IMBALANCES = (1, 3, 10, 30)


def raw_tree(counts: np.ndarray) -> np.ndarray:
    """Return average linkage of what is confused how often, in both directions together."""
    together = counts + counts.T.astype(float)
    np.fill_diagonal(together, 0.0)
    return linkage(squareform(1 - together / together.max(), checks=False), "average")


def row_tree(counts: np.ndarray) -> np.ndarray:
    """Return the same of the row-normalized counts."""
    return raw_tree(counts / counts.sum(axis=1, keepdims=True))


def our_tree(counts: np.ndarray) -> np.ndarray:
    """Return the tree by similarity."""
    return dc.statistics.hierarchy(counts).linkage


KINDS = {"similarity": our_tree, "row-normalized": row_tree, "raw counts": raw_tree}


def changed(counts: np.ndarray, imbalance: float, rng: np.random.Generator) -> np.ndarray:
    """Return counts of another test set with other class shares and other favours."""
    n_classes = len(counts)
    shares = rng.permutation(np.geomspace(1, imbalance, n_classes))
    favours = rng.permutation(np.geomspace(1, np.sqrt(imbalance), n_classes))
    rates = counts * favours
    cells = shares[:, None] * rates / rates.sum(axis=1, keepdims=True)
    return rng.multinomial(counts.sum(), (cells / cells.sum()).ravel()).reshape(counts.shape)


def main(folder: Path) -> None:
    """Tabulate how well trees agree with those before, and draw one example."""
    import matplotlib.pyplot as plt

    cm = dc.load_example("consonants")
    before = {name: cophenet(tree(cm.counts)) for name, tree in KINDS.items()}
    rows = []
    for imbalance in IMBALANCES:
        rng = np.random.default_rng(imbalance)
        agreement: dict[str, list[float]] = {name: [] for name in KINDS}
        for _ in range(DRAWS):
            counts = changed(cm.counts, imbalance, rng)
            for name, tree in KINDS.items():
                agreement[name].append(np.corrcoef(cophenet(tree(counts)), before[name])[0, 1])
        spans = (np.quantile(values, [0.05, 0.5, 0.95]) for values in agreement.values())
        rows.append(
            [
                f"1 : {imbalance}",
                *(f"{mid:.2f} ({low:.2f} to {high:.2f})" for low, mid, high in spans),
            ]
        )
    write_table(folder, "trees.md", ["smallest : largest class", *KINDS], rows)

    after = changed(cm.counts, 30, np.random.default_rng(1))
    figure, axes = plt.subplots(2, 2, figsize=(11, 6), layout="constrained")
    for line, name in zip(axes, ("similarity", "raw counts"), strict=True):
        for axis, counts, when in ((line[0], cm.counts, "as counted"), (line[1], after, "1 : 30")):
            dendrogram(
                KINDS[name](counts),
                ax=axis,
                labels=list(cm.labels),
                color_threshold=0,
                above_threshold_color="#1b6ca8",
            )
            axis.set_title(f"by {name}, {when}")
            axis.spines[["top", "right", "bottom"]].set_visible(False)
    save(figure, folder, "trees.png")


if __name__ == "__main__":
    run(main)
