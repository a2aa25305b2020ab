"""Two models on one test set, and one model on two: what differs, and whether it is chance.

Digits with noise. The *favouring* model is the even one with its predictions shifted towards some
digits: all its rates differ, its similarities do not. The *blind* model does not see the lower
half of the image: its similarities differ.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from shared import run, save, write_table
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

import deconfuse as dc

COPIES = 10
FAVOURS = np.linspace(-1.5, 1.5, 10)


def predictions(seed: int = 0) -> dict[str, np.ndarray]:
    """Return labels, and predictions of the three models, on the same test images."""
    rng = np.random.default_rng(seed)
    images, digits = load_digits(return_X_y=True)
    train, test = train_test_split(
        np.arange(len(digits)), test_size=0.5, stratify=digits, random_state=seed
    )

    def noisy(which: np.ndarray) -> np.ndarray:
        copies = np.tile(images[which], (COPIES, 1))
        return copies + rng.normal(0.0, 6.0, copies.shape)

    seen, unseen = noisy(train), noisy(test)
    y_train, y_test = np.tile(digits[train], COPIES), np.tile(digits[test], COPIES)
    even = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1).fit(seen, y_train)
    blind = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1).fit(seen[:, :40], y_train)
    scores = even.predict_log_proba(unseen)
    return {
        "label": y_test,
        "even": scores.argmax(axis=1),
        "favouring": (scores + FAVOURS).argmax(axis=1),
        "blind": blind.predict(unseen[:, :40]),
    }


def main(folder: Path) -> None:
    """Compare the even model with the two others."""
    import matplotlib.pyplot as plt

    said = predictions()
    label = said.pop("label")
    matrices = {
        name: dc.ConfusionMatrix.from_predictions(label, values, labels=range(10))
        for name, values in said.items()
    }
    rows = []
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    for ax, name in zip(axes, ("favouring", "blind"), strict=True):
        result = dc.compare(
            matrices["even"], matrices[name], paired=(label, said["even"], said[name])
        )
        row_overlap = dc.overlap(matrices["even"].normalize("row"), matrices[name].normalize("row"))
        low, high = result.overlap_interval
        rows.append(
            [
                f"even and {name}",
                f"{balanced_accuracy_score(label, said['even']):.2f},"
                f" {balanced_accuracy_score(label, said[name]):.2f}",
                f"{row_overlap:.3f}",
                f"{result.overlap:.3f} ({low:.3f} to {high:.3f})",
                int((result.p_values < 0.05).sum()),
            ]
        )
        limit = 0.12
        # Fewer hits are worse, and so are more errors: as on the page, purple is worse.
        better = np.where(np.eye(10, dtype=bool), result.difference, -result.difference)
        image = ax.imshow(better, cmap="PRGn", vmin=-limit, vmax=limit)
        for i, j in np.argwhere(result.p_values < 0.05):
            dark = abs(result.difference[i, j]) > 0.07
            ax.text(j, i, "•", ha="center", va="center", size=13, color="w" if dark else "k")
        ax.set(
            title=f"{name} − even",
            xlabel="Predicted label",
            ylabel="True label",
            xticks=range(10),
            yticks=range(10),
        )
    figure.colorbar(
        image, ax=axes, label="bi-normalized cells: purple worse, green better", extend="both"
    )
    figure.suptitle("Dots: certain differences (5 % for all cells together)")
    save(figure, folder, "comparing.png")
    header = [
        "models",
        "balanced accuracy",
        "Overlap of rows",
        "Overlap of bi (95 %)",
        "cells that surely differ, of 100",
    ]
    write_table(folder, "comparing.md", header, rows)


if __name__ == "__main__":
    run(main)
