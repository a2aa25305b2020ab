"""Records and arrays made up for tests."""

from __future__ import annotations

import numpy as np

from deconfuse.experiments.config import RunConfig
from deconfuse.experiments.records import Record
from deconfuse.experiments.runs import RunArrays, measure


def make_arrays(config: RunConfig, n_classes: int = 4, n: int = 400) -> RunArrays:
    """Return the arrays of a classifier that is right most of the time."""
    level = 99 if config.alpha is None else round(10 * config.alpha)
    rng = np.random.default_rng([config.seed, level])
    labels = rng.choice(n_classes, p=[0.4, 0.3, 0.2, 0.1], size=n)
    labels[:n_classes] = np.arange(n_classes)
    scores = rng.normal(size=(n, n_classes)).astype(np.float32)
    scores[np.arange(n), labels] += 1.5
    embeddings = np.maximum(scores @ rng.normal(size=(n_classes, 12)), 0).astype(np.float32)
    return RunArrays(
        config=config,
        classes=tuple("abcd"[:n_classes]),
        scores=scores,
        embeddings=embeddings,
        labels=labels,
        train_sizes=(100,) * n_classes,
        history=(0.5, 0.65),
        seconds=1.25,
        versions={"deconfuse": "0", "torch": "2", "device": "test"},
    )


def make_record(config: RunConfig) -> Record:
    """Return the record of such a classifier."""
    return measure(make_arrays(config))
