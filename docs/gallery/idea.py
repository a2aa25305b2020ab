"""The idea in one picture: a skewed classifier's matrix, four normalizations, and the truth.

Digits with noise are read by linear discriminant analysis. Model and test set of the *skewed* case
have very uneven classes, drawn independently; those of the *even* case have even ones. The
question is which normalization of the skewed matrix shows what the even one shows.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from shared import run, save, write_table
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split

import deconfuse as dc

NOISE = 6.0
COPIES = 8
SEEDS = 30
METHODS = ("all", "row", "col", "bi")


def matrices(seed: int) -> tuple[dc.ConfusionMatrix, dc.ConfusionMatrix]:
    """Return the confusion matrices of the skewed and of the even case."""
    rng = np.random.default_rng(seed)
    images, digits = load_digits(return_X_y=True)
    train, test = train_test_split(
        np.arange(len(digits)), test_size=0.5, stratify=digits, random_state=seed
    )
    seen, seen_digits = _noisy(images[train], rng), np.tile(digits[train], COPIES)
    unseen, unseen_digits = _noisy(images[test], rng), np.tile(digits[test], COPIES)

    def count(trained_on: np.ndarray, tested_on: np.ndarray) -> dc.ConfusionMatrix:
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)
        model.fit(seen[trained_on], seen_digits[trained_on])
        return dc.ConfusionMatrix.from_predictions(
            unseen_digits[tested_on], model.predict(unseen[tested_on]), labels=range(10)
        )

    everything = np.ones(len(seen_digits), bool), np.ones(len(unseen_digits), bool)
    skewed = _skewed(seen_digits, rng), _skewed(unseen_digits, rng)
    return count(*skewed), count(*everything)


def _noisy(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    copies = np.tile(images, (COPIES, 1))
    return copies + rng.normal(0.0, NOISE, copies.shape)


def _skewed(digits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    share = rng.dirichlet(np.ones(10))
    return rng.random(len(digits)) < (0.1 + 0.9 * share / share.max())[digits]


def off_diagonal_overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Return the Overlap of the errors alone, which the diagonal otherwise hides."""
    errors = ~np.eye(len(a), dtype=bool)
    return dc.overlap(np.where(errors, a, 0.0), np.where(errors, b, 0.0))


def main(folder: Path) -> None:
    """Draw one case, and tabulate all."""
    scores = {method: [] for method in METHODS}
    for seed in range(SEEDS):
        skewed, even = matrices(seed)
        truth = even.normalize("bi").matrix
        for method in METHODS:
            values = skewed.normalize(method).matrix
            scores[method].append((dc.overlap(values, truth), off_diagonal_overlap(values, truth)))
    rows = []
    for method in METHODS:
        means = np.mean(scores[method], axis=0)
        errors = np.std(scores[method], axis=0, ddof=1) / np.sqrt(SEEDS)
        both = zip(means, 1.96 * errors, strict=True)
        rows.append([method, *(f"{mean:.3f} ± {width:.3f}" for mean, width in both)])
    header = ["normalization", "Overlap with the even case", "Overlap of the errors alone"]
    write_table(folder, "idea.md", header, rows)
    _draw(folder, {method: np.array(scores[method])[:, 1] for method in METHODS})


def _draw(folder: Path, errors_shared: dict[str, np.ndarray]) -> None:
    import matplotlib.pyplot as plt

    skewed, even = matrices(seed=1)
    panels = {
        "Counts of the skewed case": skewed,
        "Row-normalized": skewed.normalize("row"),
        "Column-normalized": skewed.normalize("col"),
        "Bi-normalized": skewed.normalize("bi"),
        "The even case, bi-normalized": even.normalize("bi"),
    }
    figure, axes = plt.subplots(2, 3, figsize=(13, 7.4), layout="constrained")
    for ax, (title, matrix) in zip(axes.flat, panels.items(), strict=False):
        dc.ConfusionMatrixDisplay(matrix).plot(ax=ax, include_values=False)
        ax.set_title(title, fontsize=11)
    ax = axes[1, 2]
    ax.boxplot(
        list(errors_shared.values()),
        tick_labels=list(errors_shared),
        widths=0.6,
        medianprops={"color": "#c2541b"},
    )
    ax.set_title(f"Errors shared with the even case\n({SEEDS} random cases)", fontsize=11)
    ax.set_ylabel("Overlap of the errors")
    save(figure, folder, "idea.png")


if __name__ == "__main__":
    run(main)
