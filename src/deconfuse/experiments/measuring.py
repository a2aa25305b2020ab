"""From a run's arrays to its record: count, and overlap the clusters of the embeddings."""

from __future__ import annotations

import warnings

import deconfuse as dc
from deconfuse.experiments.arrays import RunArrays
from deconfuse.experiments.records import Record

__all__ = ["measure"]


def measure(arrays: RunArrays) -> Record:
    """Measure a trained run.

    Counting matrix, projection, grid and the four geometric confusion matrices all come from the
    same points: the run's test set. All four weightings take the same epsilon, one over the
    number of classes, because a network may never predict a rare class.
    """
    classes = range(len(arrays.classes))
    epsilon = 1.0 / len(arrays.classes)
    cm = dc.ConfusionMatrix.from_predictions(arrays.labels, arrays.predictions, labels=classes)
    with warnings.catch_warnings():
        # Units that are off for all points give fewer components; that is no surprise here.
        warnings.simplefilter("ignore", dc.DeconfuseWarning)
        gcms = dc.geometric_confusions(
            arrays.embeddings,
            arrays.labels,
            arrays.predictions,
            n_components=arrays.config.n_components,
            epsilon=epsilon,
            labels=classes,
        )
    volume = gcms["bi"].cell_volume
    return Record(
        config=arrays.config,
        classes=arrays.classes,
        matrix=cm.counts,
        gcms={name: gcm.matrix / volume for name, gcm in gcms.items()},
        epsilon=epsilon,
        cell_volume=volume,
        n_cells=gcms["bi"].n_cells,
        train_sizes=arrays.train_sizes,
        history=arrays.history,
        seconds=arrays.seconds,
        versions=arrays.versions,
    )
