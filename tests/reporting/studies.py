"""Predictions for the tests of the page: simulated classifiers with look-alikes and biases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import deconfuse as dc

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
