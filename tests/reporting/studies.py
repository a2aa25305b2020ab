"""Predictions for the tests of the page: simulated classifiers with look-alikes and biases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import deconfuse as dc
from deconfuse.reporting import page_payload
from deconfuse.reporting.payload import ReportPayload

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "<!--",
    "\"'`${alert(3)}",
    "&lt;b&gt;",
    "👩‍🚀 emoji 🇺🇳",
    "שלום עולם",
    "\u202eright to left\u202c",
    "x" * 200,
    "line\nbreak\ttab",
    "",
    "=HYPERLINK(0)",
]

CLOTHES = [
    "T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Boot",
]  # fmt: skip


def read_numbers(
    n_places: int, n_samples: int, seed: int = 0
) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    """Return numbers of several handwritten digits, and how a classifier reads them.

    Real confusions for ten, a hundred or a thousand classes: each digit is an image of
    scikit-learn's digits, read by a model that saw few nines, eights and threes.
    """
    rng = np.random.default_rng(seed)
    images, digits = load_digits(return_X_y=True)
    images = images + rng.normal(0.0, 4.0, images.shape)
    train = rng.random(digits.size) < 0.5
    seen = np.array([1.0, 1.0, 1.0, 0.2, 1.0, 1.0, 0.6, 1.0, 0.2, 0.1])[digits]
    kept = train & (rng.random(digits.size) < seen)
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)
    read = model.fit(images[kept], digits[kept]).predict(images[~train])
    chosen = rng.integers(0, read.size, (n_samples, n_places))
    powers = 10 ** np.arange(n_places)
    true, pred = digits[~train][chosen] @ powers, read[chosen] @ powers
    names = np.array([f"{number:0{n_places}d}" for number in range(10**n_places)])
    return names[true], names[pred]


def predictions(
    n_classes: int, n_samples: int, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return labels and predictions: classes in clusters, uneven sizes, an uneven classifier."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_classes, 6))
    features += (
        2 * rng.normal(size=(n_classes, 6))[rng.integers(0, max(2, n_classes // 3), n_classes)]
    )
    distances = ((features[:, None] - features) ** 2).sum(axis=2)
    similarity = np.exp(-distances / 4)
    np.fill_diagonal(similarity, 2.5)
    chances = similarity * np.exp(0.6 * rng.normal(size=n_classes))
    chances /= chances.sum(axis=1, keepdims=True)
    sizes = np.exp(0.8 * rng.normal(size=n_classes))
    true = rng.choice(n_classes, n_samples, p=sizes / sizes.sum())
    drawn = (np.cumsum(chances, axis=1)[true] < rng.random(n_samples)[:, None]).sum(axis=1)
    return true, np.minimum(drawn, n_classes - 1)


def matrix(
    n_classes: int, n_samples: int, seed: int = 0, names: list[str] | None = None
) -> dc.ConfusionMatrix:
    """Return the confusion matrix of such predictions."""
    true, pred = predictions(n_classes, n_samples, seed)
    labels = names or [f"class {k}" for k in range(n_classes)]
    counts = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(counts, (true, pred), 1)
    return dc.ConfusionMatrix.from_counts(counts, labels=labels)


def summarize(matrices: object, *, title: str, **parts: object) -> ReportPayload:
    """Return the payload of a study of matrices with their samples, embeddings and so on."""
    return page_payload.summarize(dc.Study(matrices, **parts), title)  # type: ignore[arg-type]
