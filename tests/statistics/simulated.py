"""Simulated classifiers that the statistics are tested on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def error_rates(n_classes: int, rng: np.random.Generator, accuracy: float = 0.8) -> Floats:
    """Return the rates of predictions of each true class, errors spread unevenly."""
    errors = rng.gamma(0.7, size=(n_classes, n_classes))
    np.fill_diagonal(errors, 0)
    rates = (1 - accuracy) * errors / errors.sum(axis=1, keepdims=True)
    np.fill_diagonal(rates, accuracy)
    return np.asarray(rates)


def draw_counts(shares: Floats, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the counts of some samples of a classifier."""
    return rng.multinomial(size, shares.ravel()).reshape(shares.shape)
