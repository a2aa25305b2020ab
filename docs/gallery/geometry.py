"""Geometry on the hidden layer of a small network, trained on scikit-learn's digits.

Clusters and their histograms, agreement with the normalizations, what the grid does to it, and the
samples behind one overlap.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from shared import run, save, write_table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import deconfuse as dc


def embedded_digits(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Train a small network on digits; return test images, hidden layer, labels, predictions.

    Labels and predictions are skewed in different ways, so that the four normalizations differ,
    and the network is stopped early, so that it has something to confuse.
    """
    digits = load_digits()
    train, test = train_test_split(
        np.arange(len(digits.target)), test_size=0.6, random_state=seed, stratify=digits.target
    )
    rng = np.random.default_rng(seed)
    # Odd digits are rare in training: predictions lean towards the even ones.
    kept = train[(digits.target[train] % 2 == 0) | (rng.random(len(train)) < 0.3)]
    # Small digits are rare in testing: labels lean towards the large ones.
    test = test[(digits.target[test] >= 5) | (rng.random(len(test)) < 0.35)]
    network = MLPClassifier((32,), learning_rate_init=2e-3, random_state=seed)
    scaled = digits.data / 16.0
    for _ in range(60):
        network.partial_fit(scaled[kept], digits.target[kept], classes=np.arange(10))
    hidden = np.maximum(scaled[test] @ network.coefs_[0] + network.intercepts_[0], 0.0)
    return digits.images[test], hidden, digits.target[test], network.predict(scaled[test])


def main(folder: Path) -> None:
    """Make all pictures and tables of the guide's page on geometry."""
    images, hidden, y_true, y_pred = embedded_digits()
    gs = dc.geometric_confusions(hidden, y_true, y_pred)

    ax = dc.geometry.plot_clusters(hidden, y_true, y_pred, classes=[1, 6, 8])
    save(ax.figure, folder, "geometry-clusters.png")

    agreement = dc.geometry.geometry_agreement(gs)
    save(agreement.plot().figure, folder, "geometry-agreement.png")
    rows = []
    for number, name in enumerate(agreement.weightings):
        overlaps = [f"{value:.3f}" for value in agreement.overlap[number]]
        overlaps[number] = f"**{overlaps[number]}**"
        off = agreement.off_diagonal[number, number]
        rows.append([f"GCM, {name}", *overlaps, off])
    header = ["", *agreement.normalizations, "its own, errors alone"]
    write_table(folder, "geometry-agreement.md", header, rows)

    study = dc.geometry.geometry_sensitivity(hidden, y_true, y_pred, rng=0)
    save(study.plot()[0].figure, folder, "geometry-sensitivity.png")
    which, factor = study.weightings.index("bi"), study.bin_factors.index(3.5)
    write_table(
        folder,
        "geometry-grid.md",
        ["components", "points in a cell", "Overlap with bi", "the same, shuffled", "bi closest"],
        [
            [
                count,
                f"{study.n_samples / study.n_cells[factor, column]:.1f}",
                study.agreement[which, factor, column],
                study.shuffled[which, factor, column],
                "yes" if study.is_closest[which, factor, column] else "no",
            ]
            for column, count in enumerate(study.components)
        ],
    )

    pair = most_overlap(gs["bi"])
    save(shared_samples(images, gs["bi"], pair), folder, "geometry-samples.png")


def most_overlap(g: dc.GeometricConfusion) -> tuple[int, int]:
    """Return the label and the prediction that overlap most, off the diagonal."""
    alike = np.array(g.matrix)
    np.fill_diagonal(alike, 0)
    true, pred = np.unravel_index(alike.argmax(), alike.shape)
    return int(true), int(pred)


def shared_samples(images: np.ndarray, g: dc.GeometricConfusion, pair: tuple[int, int]) -> Any:
    """Show the samples that make two classes overlap, with label and prediction."""
    import matplotlib.pyplot as plt

    assert g.binning is not None
    samples = g.shared_samples(*pair, limit=16)
    figure, axes = plt.subplots(
        -(-len(samples) // 8), 8, figsize=(10, 3.2), layout="constrained", squeeze=False
    )
    for ax in axes.ravel():
        ax.set_axis_off()
    for ax, sample in zip(axes.ravel(), samples, strict=False):
        ax.imshow(images[sample], cmap="gray_r")
        true, pred = g.labels[g.binning.true[sample]], g.labels[g.binning.pred[sample]]
        ax.set_title(f"true {true}, said {pred}", fontsize=8)
    figure.suptitle(f"Samples behind the overlap of label {pair[0]} and prediction {pair[1]}")
    return figure


if __name__ == "__main__":
    run(main)
