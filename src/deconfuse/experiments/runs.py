"""One run: draw its sets, train, and keep the arrays that its record is measured from."""

from __future__ import annotations

import platform
import time
from pathlib import Path

import numpy as np

from deconfuse import __version__
from deconfuse.errors import InputError
from deconfuse.experiments.arrays import RunArrays, read_arrays, write_arrays
from deconfuse.experiments.config import RunConfig
from deconfuse.experiments.datasets import Dataset
from deconfuse.experiments.tasks import TrainFunction, draw_task

__all__ = ["train_run", "versions"]


def versions() -> dict[str, str]:
    """Return the versions that a result may depend on."""
    found = {
        "deconfuse": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
    }
    try:
        import torch
    except ImportError:
        return found
    # Sums are split over threads and vector lanes, so the last bits depend on both.
    return {
        **found,
        "torch": str(torch.__version__),
        "device": "cuda" if torch.cuda.is_available() else torch.backends.cpu.get_cpu_capability(),
        "threads": str(torch.get_num_threads()),
    }


def train_run(
    train: TrainFunction, dataset: Dataset, config: RunConfig, folder: Path | None
) -> RunArrays:
    """Train one run, or take its arrays from ``folder`` when they are there.

    Parameters
    ----------
    train : callable
        Takes a :class:`~deconfuse.experiments.tasks.Task`, returns an
        :class:`~deconfuse.experiments.tasks.Outcome`.
    dataset : Dataset
        Whole sets to draw from.
    config : RunConfig
        Which run.
    folder : Path or None
        Where arrays are kept; None keeps none.

    Returns
    -------
    RunArrays
        The test set as the trained classifier sees it.
    """
    if folder is not None and (kept := read_arrays(folder, config)) is not None:
        return kept
    task = draw_task(dataset, config)
    start = time.perf_counter()
    outcome = train(task)
    seconds = time.perf_counter() - start
    n, n_classes = len(task.test_labels), task.n_classes
    scores = np.asarray(outcome.scores, dtype=np.float32)
    embeddings = np.asarray(outcome.embeddings, dtype=np.float32)
    if scores.shape != (n, n_classes) or not np.isfinite(scores).all():
        raise InputError(
            f"The training function must return finite scores of shape ({n}, {n_classes}), "
            f"got shape {scores.shape}."
        )
    if embeddings.ndim != 2 or len(embeddings) != n or not np.isfinite(embeddings).all():
        raise InputError(
            f"The training function must return finite embeddings of shape ({n}, n_features), "
            f"got shape {embeddings.shape}."
        )
    arrays = RunArrays(
        config=config,
        classes=task.classes,
        scores=scores,
        embeddings=embeddings,
        labels=task.test_labels,
        train_sizes=tuple(np.bincount(task.train_labels, minlength=n_classes).tolist()),
        history=outcome.history,
        seconds=seconds,
        versions=versions(),
    )
    if folder is not None:
        write_arrays(folder, arrays)
    return arrays
