"""A modern matrix of many classes, and what its raw counts hide.

The numbers 00 to 99 are written with two images of scikit-learn's digits side by side, and read
by linear discriminant analysis. In training some numbers are a hundred times rarer than others; in
testing other numbers are rare. A second model, trained and tested on even numbers, is the truth.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from shared import run, save, write_table
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split

import deconfuse as dc

N_TRAIN, N_TEST = 8_000, 20_000


def numbers(
    digits: np.ndarray, shares: np.ndarray, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return positions of pairs of images, and the numbers that they show."""
    wanted = rng.choice(100, size, p=shares)
    places = [np.flatnonzero(digits == digit) for digit in range(10)]
    pairs = np.array([[rng.choice(places[n // 10]), rng.choice(places[n % 10])] for n in wanted])
    return pairs, wanted


def read_numbers(seed: int = 0, *, even: bool = False) -> dc.ConfusionMatrix:
    """Train and test; return the counts, with numbers written as "00" to "99"."""
    rng = np.random.default_rng(seed)
    images, digits = load_digits(return_X_y=True)
    train, test = train_test_split(
        np.arange(len(digits)), test_size=0.5, stratify=digits, random_state=seed
    )
    # Zipf's law, for training and testing each with its own order of the numbers.
    shares = rng.permuted(np.tile(1.0 / np.arange(1, 101), (2, 1)), axis=1)
    if even:
        shares[:] = 1.0
    shares /= shares.sum(axis=1, keepdims=True)

    def sample(of: np.ndarray, shares: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        pairs, wanted = numbers(digits[of], shares, size, rng)
        pixels = images[of][pairs].reshape(size, -1)
        return pixels + rng.normal(0.0, 4.0, pixels.shape), wanted

    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)
    model.fit(*sample(train, shares[0], N_TRAIN))
    pixels, wanted = sample(test, shares[1], N_TEST)
    names = np.array([f"{number:02d}" for number in range(100)])
    return dc.ConfusionMatrix.from_predictions(
        names[wanted], names[model.predict(pixels)], labels=names
    )


def main(folder: Path) -> None:
    """Make the matrix, its picture, and the ranking of errors by each normalization."""
    import matplotlib.pyplot as plt

    cm = read_numbers()
    data = folder.parent / "src" / "deconfuse" / "data"
    cm.save((data if data.exists() else folder) / "two-digit-numbers.csv")
    truth = np.asarray(read_numbers(even=True).normalize("bi").matrix)
    errors = ~np.eye(100, dtype=bool)
    true_errors = np.where(errors, truth, 0.0)
    often_true, often_said = _ten_largest(cm.label_counts), _ten_largest(cm.prediction_counts)
    rows = []
    for method in ("all", "row", "col", "bi"):
        values = np.where(errors, cm.normalize(method).matrix, 0.0)
        true, said = np.unravel_index(np.argsort(-values, axis=None)[:100], values.shape)
        first = zip(true[:3], said[:3], strict=True)
        top = ", ".join(f"{cm.labels[i]} as {cm.labels[j]}" for i, j in first)
        rows.append(
            [
                method,
                top,
                np.isin(true, often_true).sum(),
                np.isin(said, often_said).sum(),
                dc.overlap(values, true_errors),
            ]
        )
    header = [
        "ranked by",
        "three largest errors",
        "of 100: true number is one of the ten most frequent",
        "of 100: said number is one of the ten most said",
        "Overlap of errors with the even case",
    ]
    write_table(folder, "two-digit-numbers.md", header, rows)

    figure, axes = plt.subplots(1, 2, figsize=(12, 5.6), layout="constrained")
    for ax, matrix, title in (
        (axes[0], cm, "Counts"),
        (axes[1], cm.normalize("bi"), "Bi-normalized"),
    ):
        dc.ConfusionMatrixDisplay(matrix).plot(ax=ax, include_values=False, colorbar=False)
        ax.set_title(title)
        ticks = np.arange(0, 100, 10)
        ax.set_xticks(ticks, [cm.labels[k] for k in ticks], rotation=0, fontsize=9)
        ax.set_yticks(ticks, [cm.labels[k] for k in ticks], fontsize=9)
        ax.set(xlabel="Predicted label", ylabel="True label")
    save(figure, folder, "two-digit-numbers.png")


def _ten_largest(counts: np.ndarray) -> np.ndarray:
    return np.argsort(-counts)[:10]


if __name__ == "__main__":
    run(main)
