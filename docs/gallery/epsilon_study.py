"""Which epsilon recovers the truth: a study on simulated classifiers.

A classifier is drawn: class shares, look-alikes, accuracy. Its exact bi-normalized matrix is the
truth. Then a finite test set is sampled, epsilon is added to its counts, and the bi-normalized
matrix is compared with the truth: by the Overlap of all cells, and of the errors alone.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
from shared import run, save, write_table

import deconfuse as dc

EPSILONS = (1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
# Classes, samples, how many classifiers are drawn.
SIZES = ((10, 1_000, 40), (10, 10_000, 40), (100, 50_000, 6))
ACCURACIES = (0.6, 0.9, 0.99)


def classifier(n_classes: int, accuracy: float, rng: np.random.Generator) -> np.ndarray:
    """Return the joint distribution of label and prediction of a made-up classifier."""
    shares = rng.dirichlet(np.full(n_classes, 2.0))
    # Look-alikes are mutual, and a few of them take most of the errors.
    alike = rng.gamma(0.3, size=(n_classes, n_classes))
    alike = alike + alike.T
    np.fill_diagonal(alike, 0.0)
    errors = alike / alike.sum(axis=1, keepdims=True)
    right = np.clip(accuracy + rng.normal(0.0, 0.5 * (1.0 - accuracy), n_classes), 0.05, 0.9995)
    rates = errors * (1.0 - right)[:, None] + np.diag(right)
    favoured = np.exp(rng.normal(0.0, 0.5, n_classes))
    rates = rates * favoured
    return shares[:, None] * rates / rates.sum(axis=1, keepdims=True)


def recovery(n_classes: int, n_samples: int, accuracy: float, draws: int) -> np.ndarray:
    """Return mean Overlap with the truth, for each epsilon and 1/C: all cells, errors alone."""
    rng = np.random.default_rng([n_classes, n_samples, round(1000 * accuracy)])
    errors = ~np.eye(n_classes, dtype=bool)
    epsilons = (*EPSILONS, 1.0 / n_classes)
    scores = np.zeros((draws, len(epsilons), 2))
    for draw in range(draws):
        joint = classifier(n_classes, accuracy, rng)
        # A floor that is far below one sample keeps the truth scalable.
        truth = dc.normalize(joint + 1e-12, "bi", epsilon=0.0).matrix
        counts = rng.multinomial(n_samples, joint.ravel()).reshape(joint.shape)
        for k, epsilon in enumerate(epsilons):
            values = dc.normalize(counts, "bi", epsilon=epsilon).matrix
            scores[draw, k] = (
                dc.overlap(values, truth),
                dc.overlap(np.where(errors, values, 0.0), np.where(errors, truth, 0.0)),
            )
    return scores.mean(axis=0)


def main(folder: Path) -> None:
    """Draw the curves and tabulate the default against the extremes."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        2, len(SIZES), figsize=(12, 6.4), sharex=True, sharey="row", layout="constrained"
    )
    colours = ["#1b6ca8", "#d1731d", "#3b7d4f"]
    rows = []
    for (column, size), accuracy in product(enumerate(SIZES), ACCURACIES):
        n_classes, n_samples, draws = size
        scores = recovery(n_classes, n_samples, accuracy, draws)
        curve, default = scores[:-1], scores[-1]
        colour = colours[ACCURACIES.index(accuracy)]
        for part in (0, 1):
            ax = axes[part, column]
            ax.semilogx(EPSILONS, curve[:, part], ".-", color=colour, label=f"accuracy {accuracy}")
            ax.plot(1.0 / n_classes, default[part], "o", ms=9, mfc="none", mec=colour)
        best = curve[:, 1].argmax()
        rows.append(
            [
                n_classes,
                f"{n_samples:,}",
                str(accuracy),
                *(f"{curve[EPSILONS.index(e), 1]:.2f}" for e in (1e-9, 1e-3, 1.0)),
                f"**{default[1]:.2f}**",
                f"{curve[best, 1]:.2f} at {EPSILONS[best]:g}",
                f"{default[0]:.3f}",
                f"{curve[:, 0].max():.3f}",
            ]
        )
    for column, (n_classes, n_samples, draws) in enumerate(SIZES):
        axes[0, column].set_title(f"{n_classes} classes, {n_samples:,} samples (n = {draws})")
        axes[0, column].axvline(1 / n_classes, color="0.8", zorder=0)
        axes[1, column].axvline(1 / n_classes, color="0.8", zorder=0)
        axes[1, column].set_xlabel("epsilon (grey line and circles: 1 / classes)")
    axes[0, 0].set_ylabel("Overlap with the truth, all cells")
    axes[1, 0].set_ylabel("Overlap with the truth, errors alone")
    axes[0, 0].legend(loc="lower left")
    save(figure, folder, "epsilon.png")
    header = [
        "classes",
        "samples",
        "accuracy",
        "errors at 1e-9",
        "at 1e-3",
        "at 1",
        "at 1/C (default)",
        "best",
        "all cells at 1/C",
        "best of all cells",
    ]
    write_table(folder, "epsilon.md", header, rows)


if __name__ == "__main__":
    run(main)
