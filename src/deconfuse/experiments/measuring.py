"""From a run's arrays to its record: count, and overlap the clusters of the embeddings."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import deconfuse as dc
from deconfuse.experiments.config import random_state
from deconfuse.experiments.records import WEIGHTINGS, GridOverlaps, Record
from deconfuse.experiments.runs import RunArrays

__all__ = ["COARSER", "measure", "overlap_clusters"]

#: Fewer components than the paper's ten, to see how far the result rests on points alone in a cell.
COARSER = (2, 3, 5)


def measure(arrays: RunArrays) -> Record:
    """Measure a trained run.

    Counting matrix, projection, grid and the four geometric confusion matrices all come from the
    same points: the run's test set.
    """
    epsilon = 1.0 / len(arrays.classes)
    cm = _count(arrays, arrays.predictions)
    finest = arrays.config.n_components
    gcms = _clusters(arrays, finest)
    order = random_state(arrays.config, "shuffled").permutation(len(arrays.labels))
    shuffled = replace(arrays, embeddings=arrays.embeddings[order])
    volume = gcms["bi"].cell_volume
    return Record(
        config=arrays.config,
        classes=arrays.classes,
        matrix=cm.counts,
        rebalanced=_rebalance(arrays),
        gcms={name: gcm.matrix / volume for name, gcm in gcms.items()},
        epsilon=epsilon,
        cell_volume=volume,
        n_cells=gcms["bi"].n_cells,
        coarser={m: _overlaps(arrays, cm, m, epsilon) for m in COARSER},
        shuffled={m: _overlaps(shuffled, cm, m, epsilon) for m in (*COARSER, finest)},
        train_sizes=arrays.train_sizes,
        history=arrays.history,
        seconds=arrays.seconds,
        versions=arrays.versions,
    )


def _count(arrays: RunArrays, predictions: NDArray[np.int64]) -> dc.ConfusionMatrix:
    classes = range(len(arrays.classes))
    return dc.ConfusionMatrix.from_predictions(arrays.labels, predictions, labels=classes)


def overlap_clusters(
    points: tuple[NDArray[np.floating], NDArray[np.int64], NDArray[np.int64]],
    n_classes: int,
    n_components: int,
    n_shifts: int = 1,
) -> dict[str, dc.GeometricConfusion]:
    """Return the four geometric confusion matrices of embeddings, labels and predictions.

    All four weightings take the same epsilon, one over the number of classes, because a network
    may never predict a rare class.
    """
    embeddings, labels, predictions = points
    with warnings.catch_warnings():
        # Units that are off for all points give fewer components; that is no surprise here.
        warnings.simplefilter("ignore", dc.DeconfuseWarning)
        return dc.geometric_confusions(
            embeddings,
            labels,
            predictions,
            n_components=n_components,
            epsilon=1.0 / n_classes,
            labels=range(n_classes),
            n_shifts=n_shifts,
        )


def _clusters(arrays: RunArrays, n_components: int) -> dict[str, dc.GeometricConfusion]:
    points = (arrays.embeddings, arrays.labels, arrays.predictions)
    return overlap_clusters(points, len(arrays.classes), n_components)


def _overlaps(
    arrays: RunArrays, cm: dc.ConfusionMatrix, n_components: int, epsilon: float
) -> GridOverlaps:
    gcms = _clusters(arrays, n_components)
    normalized = [dc.normalize(cm, name, epsilon=epsilon) for name in WEIGHTINGS]
    overlaps = [[dc.overlap(gcms[name].matrix, n) for n in normalized] for name in WEIGHTINGS]
    return GridOverlaps(gcms["bi"].n_cells, np.array(overlaps))


def _rebalance(arrays: RunArrays) -> NDArray[np.int64] | None:
    """Count again after taking prediction bias out, each half by the offsets of the other."""
    halves = _halves(arrays)
    predictions = np.empty_like(arrays.labels)
    with warnings.catch_warnings():
        # A class with a sample or two may be missing in a half; it then keeps the mean offset.
        warnings.simplefilter("ignore", dc.DeconfuseWarning)
        for fitted, used in ((halves, ~halves), (~halves, halves)):
            rebalancer = dc.Rebalancer(classes=range(len(arrays.classes)))
            try:
                rebalancer.fit(arrays.scores[fitted], arrays.labels[fitted])
            except dc.InputError:
                # Scores that tell nothing apart, say all equal, have no bias to take out.
                return None
            predictions[used] = rebalancer.predict(arrays.scores[used])
    counts: NDArray[np.int64] = _count(arrays, predictions).counts
    return counts


def _halves(arrays: RunArrays) -> NDArray[np.bool_]:
    """Put every other sample of each class in the first half, in random order."""
    rng = random_state(arrays.config, "halves")
    first = np.zeros(len(arrays.labels), dtype=bool)
    for label in range(len(arrays.classes)):
        first[rng.permutation(np.flatnonzero(arrays.labels == label))[::2]] = True
    return first
