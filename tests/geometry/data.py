"""Points to test with, and the paper's formula read literally."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

import deconfuse as dc

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class Samples(NamedTuple):
    """Embedded samples of a classifier that is right more often than not."""

    embeddings: FloatArray
    y_true: IntArray
    y_pred: IntArray


def make_samples(
    seed: int, n_samples: int = 200, n_classes: int = 4, width: int = 12, spread: float = 2.0
) -> Samples:
    """Draw clusters; the nearest centre, seen through noise, is the prediction."""
    rng = np.random.default_rng(seed)
    centres = spread * rng.normal(size=(n_classes, width))
    # Every class is seen and predicted at least once, so that all weights are defined.
    y_true = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_samples)])
    embeddings = centres[y_true] + rng.normal(size=(len(y_true), width))
    noisy = embeddings + 0.8 * rng.normal(size=embeddings.shape)
    y_pred = ((noisy[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    y_pred[:n_classes] = np.arange(n_classes)
    return Samples(embeddings, y_true, y_pred)


def literal_gcm(
    points: FloatArray, y_true: IntArray, y_pred: IntArray, weights: FloatArray, factor: float = 3.5
) -> tuple[FloatArray, float, FloatArray, FloatArray]:
    """Evaluate the paper's formulas one point, one cell and one pair of classes at a time.

    Returns the matrix, the cell volume, and the volumes of label and prediction clusters.
    """
    n, m = points.shape
    n_classes = int(max(y_true.max(), y_pred.max())) + 1
    widths = [factor * points[:, k].std() * n ** (-1 / (2 + m)) for k in range(m)]
    low, high = points.min(axis=0), points.max(axis=0)
    cells: dict[tuple[int, ...], list[int]] = {}
    for row in range(n):
        position = []
        for k in range(m):
            last = max(int(np.ceil((high[k] - low[k]) / widths[k])) - 1, 0)
            position.append(min(int((points[row, k] - low[k]) // widths[k]), last))
        cells.setdefault(tuple(position), []).append(row)
    r = float(np.prod(widths))
    matrix = np.zeros((n_classes, n_classes))
    label_volumes, prediction_volumes = np.zeros(n_classes), np.zeros(n_classes)
    for rows in cells.values():
        for i in range(n_classes):
            label_height = sum(weights[row] for row in rows if y_true[row] == i)
            label_volumes[i] += r * label_height
            prediction_volumes[i] += r * sum(weights[row] for row in rows if y_pred[row] == i)
            for j in range(n_classes):
                prediction_height = sum(weights[row] for row in rows if y_pred[row] == j)
                matrix[i, j] += r * min(label_height, prediction_height)
    return matrix, r, label_volumes, prediction_volumes


def weights_of(g: dc.GeometricConfusion, y_true: IntArray, y_pred: IntArray) -> FloatArray:
    """Return the weight of each sample under the normalization behind a result."""
    return np.asarray(g.normalized.weights(y_true, y_pred))


samples = st.builds(
    make_samples,
    seed=st.integers(0, 2**32 - 1),
    n_samples=st.integers(2, 120),
    n_classes=st.integers(2, 7),
    width=st.integers(1, 6),
    spread=st.sampled_from([0.0, 0.5, 2.0]),
)
