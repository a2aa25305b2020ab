"""Simulated classifiers: confusion matrices with known accuracy, similarity and imbalance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def label_pairs(
    n_classes: int, n_samples: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return labels and the predictions of a classifier that is right four times out of five."""
    true = rng.integers(0, n_classes, n_samples)
    pred = np.where(rng.random(n_samples) < 0.8, true, rng.integers(0, n_classes, n_samples))
    return true, pred


def dense_classifier(
    n_classes: int, accuracy: float, n_samples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the counts of a classifier with uneven labels and uneven look-alikes."""
    prevalence = rng.dirichlet(np.ones(n_classes))
    confusion = rng.dirichlet(np.full(n_classes - 1, 0.3), size=n_classes) * (1.0 - accuracy)
    joint = np.full((n_classes, n_classes), accuracy)
    joint[~np.eye(n_classes, dtype=bool)] = confusion.ravel()
    joint *= prevalence[:, None]
    counts = rng.multinomial(n_samples, joint.ravel() / joint.sum())
    return counts.reshape(n_classes, n_classes).astype(np.float64)


def sparse_classifier(
    n_classes: int, accuracy: float, n_samples: int, rng: np.random.Generator
) -> sparse.csr_array:
    """Return sparse counts of many classes with heavy-tailed sizes and a few look-alikes each."""
    size = rng.pareto(1.5, n_classes) + 0.1
    y_true = rng.choice(n_classes, n_samples, p=size / size.sum())
    is_wrong = rng.random(n_samples) > accuracy
    distance = rng.integers(1, 6, n_samples) * rng.choice([1, 97, 997], n_samples)
    y_pred = np.where(is_wrong, (y_true + distance) % n_classes, y_true)
    pairs = (np.ones(n_samples), (y_true, y_pred))
    counts = sparse.csr_array(sparse.coo_array(pairs, shape=(n_classes, n_classes)))
    counts.sum_duplicates()
    return counts
