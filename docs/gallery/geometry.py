"""Pictures of the geometry guide: hidden layer of a small network on scikit-learn's digits.

Run ``python docs/gallery/geometry.py [FOLDER]``; the pictures go to ``docs/images`` by default.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import deconfuse as dc
from deconfuse._files import atomic_write

IMAGES = Path(__file__).parents[1] / "images"


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
    # Stopping early is the point; scikit-learn would warn that it has not converged.
    for _ in range(60):
        network.partial_fit(scaled[kept], digits.target[kept], classes=np.arange(10))
    hidden = np.maximum(scaled[test] @ network.coefs_[0] + network.intercepts_[0], 0.0)
    return digits.images[test], hidden, digits.target[test], network.predict(scaled[test])


def save(figure: Any, folder: Path, name: str) -> None:
    """Write a figure, whole or not at all, with the same bytes for the same picture."""
    with atomic_write(folder / name) as stream:
        figure.savefig(stream, format="png", dpi=110, metadata={"Software": None})


def shared_samples_figure(
    images: np.ndarray, g: dc.GeometricConfusion, pair: tuple[int, int]
) -> Any:
    """Show the samples that make two classes overlap, with label and prediction."""
    import matplotlib.pyplot as plt

    assert g.binning is not None
    figure, axes = plt.subplots(2, 8, figsize=(10, 3.2), layout="constrained")
    samples = g.shared_samples(*pair, limit=axes.size)
    for ax in axes.ravel():
        ax.set_axis_off()
    for ax, sample in zip(axes.ravel(), samples, strict=False):
        ax.imshow(images[sample], cmap="gray_r")
        true, pred = g.labels[g.binning.true[sample]], g.labels[g.binning.pred[sample]]
        ax.set_title(f"true {true}, said {pred}", fontsize=8)
    figure.suptitle(f"Samples behind the overlap of label {pair[0]} and prediction {pair[1]}")
    return figure


def main(folder: Path = IMAGES) -> None:
    """Make all pictures of the guide's page on geometry."""
    mpl.use("agg")
    folder.mkdir(parents=True, exist_ok=True)
    images, hidden, y_true, y_pred = embedded_digits()
    gs = dc.geometric_confusions(hidden, y_true, y_pred)

    ax = dc.plot_clusters(hidden, y_true, y_pred, classes=[1, 6, 8])
    save(ax.figure, folder, "geometry-clusters.png")

    agreement = dc.geometry_agreement(gs)
    print(agreement)
    save(agreement.plot().figure, folder, "geometry-agreement.png")

    sensitivity = dc.geometry_sensitivity(hidden, y_true, y_pred)
    save(sensitivity.plot()[0].figure, folder, "geometry-sensitivity.png")

    alike = np.array(gs["bi"].matrix)
    np.fill_diagonal(alike, 0)
    true, pred = np.unravel_index(alike.argmax(), alike.shape)
    pair = int(true), int(pred)
    print(f"Most overlap: label {pair[0]} with prediction {pair[1]}")
    save(shared_samples_figure(images, gs["bi"], pair), folder, "geometry-samples.png")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
