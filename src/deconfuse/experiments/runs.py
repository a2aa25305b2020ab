"""One run: draw its sets, train, and keep the arrays that its record is measured from.

Arrays (scores, embeddings and labels of the test set) are too large to publish and cost hours to
make, so they stay in the data folder; records are measured from them, and whatever is asked of a
run later can be measured without training.
"""

from __future__ import annotations

import io
import json
import platform
import time
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deconfuse import __version__
from deconfuse._files import write_bytes
from deconfuse.errors import DeconfuseWarning, InputError, warn
from deconfuse.experiments.config import PROTOCOL_VERSION, RunConfig
from deconfuse.experiments.datasets import Dataset
from deconfuse.experiments.tasks import Outcome, TrainFunction, draw_task

__all__ = [
    "RunArrays",
    "arrays_path",
    "read_arrays",
    "read_arrays_file",
    "train_run",
    "versions",
    "write_arrays",
]

#: What reading raises when a file is absent, empty, cut, changed or something else altogether.
_BROKEN = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True, slots=True, eq=False)
class RunArrays:
    """What a trained run says of its test set, and how it came about."""

    config: RunConfig
    classes: tuple[str, ...]
    scores: NDArray[np.float32]
    embeddings: NDArray[np.float32]
    labels: NDArray[np.int64]
    train_sizes: tuple[int, ...]
    history: tuple[float, ...]
    seconds: float
    versions: dict[str, str]

    @property
    def predictions(self) -> NDArray[np.int64]:
        """The class with the largest score."""
        predictions: NDArray[np.int64] = self.scores.argmax(axis=1)
        return predictions


def arrays_path(folder: Path, config: RunConfig) -> Path:
    """Return where the arrays of a run are kept."""
    return folder / config.dataset / f"{config.key}.npz"


def write_arrays(folder: Path, arrays: RunArrays) -> Path:
    """Write the arrays of a run, all of them or nothing."""
    path = arrays_path(folder, arrays.config)
    path.parent.mkdir(parents=True, exist_ok=True)
    story = {
        "config": arrays.config.to_json(),
        "classes": arrays.classes,
        "train_sizes": arrays.train_sizes,
        "history": arrays.history,
        "seconds": arrays.seconds,
        "versions": arrays.versions,
    }
    # In memory first: an archive that the disk stops in the middle of cannot be closed in peace.
    packed = io.BytesIO()
    np.savez(
        packed,
        story=np.array(json.dumps(story)),
        scores=arrays.scores,
        embeddings=arrays.embeddings,
        labels=arrays.labels.astype(np.int32),
    )
    write_bytes(path, packed.getvalue())
    return path


def read_arrays(folder: Path, config: RunConfig) -> RunArrays | None:
    """Return the arrays of a run, or None when there are none that can be used."""
    arrays = read_arrays_file(arrays_path(folder, config))
    return arrays if arrays is not None and arrays.config == config else None


def read_arrays_file(path: Path) -> RunArrays | None:
    """Return the arrays of a file, or None when it is absent, broken or of another version."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            story = json.loads(str(stored["story"]))
            if story["config"]["protocol"] != PROTOCOL_VERSION:
                return None
            arrays = RunArrays(
                config=RunConfig.from_json(story["config"]),
                classes=tuple(story["classes"]),
                scores=stored["scores"],
                embeddings=stored["embeddings"],
                labels=stored["labels"].astype(np.int64),
                train_sizes=tuple(story["train_sizes"]),
                history=tuple(story["history"]),
                seconds=story["seconds"],
                versions=story["versions"],
            )
    except _BROKEN:
        # A cache: what cannot be read is made again.
        return None
    n, n_classes = len(arrays.labels), len(arrays.classes)
    is_whole = arrays.scores.shape == (n, n_classes) and arrays.embeddings.shape[:1] == (n,)
    return arrays if is_whole else None


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
        Where arrays are kept; None keeps none. Where they cannot be written, that is warned of.

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
    seen = _described(outcome, n, n_classes)
    arrays = RunArrays(
        config=config,
        classes=task.classes,
        scores=np.asarray(seen.scores),
        embeddings=np.asarray(seen.embeddings),
        labels=task.test_labels,
        train_sizes=tuple(np.bincount(task.train_labels, minlength=n_classes).tolist()),
        history=seen.history,
        seconds=seconds,
        versions=versions(),
    )
    if folder is not None:
        _keep(folder, arrays)
    return arrays


def _keep(folder: Path, arrays: RunArrays) -> None:
    """Write the arrays, and go on without them where that fails: the record needs far less room."""
    try:
        write_arrays(folder, arrays)
    except (OSError, InputError) as error:
        warn(
            f"The arrays of {arrays.config.title} must be kept in {folder}, but could not be "
            f"written ({error}). The run's record is made all the same; only measuring it again "
            "will need training. Make room, or use --no-keep-arrays.",
            DeconfuseWarning,
        )


def _described(outcome: object, n: int, n_classes: int) -> Outcome:
    """Return what a training function said of the test set, as checked arrays."""
    if not isinstance(outcome, Outcome):
        raise InputError(
            f"The training function must return an Outcome, got {type(outcome).__name__}.",
            hint="return Outcome(scores=..., embeddings=...).",
        )
    scores = np.asarray(outcome.scores, dtype=np.float32)
    if scores.shape != (n, n_classes):
        raise InputError(
            f"The training function must return finite scores of shape ({n}, {n_classes}), "
            f"got shape {scores.shape}."
        )
    embeddings = np.asarray(outcome.embeddings, dtype=np.float32)
    if embeddings.ndim != 2 or len(embeddings) != n:
        raise InputError(
            f"The training function must return finite embeddings of shape ({n}, n_features), "
            f"got shape {embeddings.shape}."
        )
    for what, values in (("scores", scores), ("embeddings", embeddings)):
        places = np.argwhere(~np.isfinite(values))
        if len(places):
            sample, column = places[0].tolist()
            raise InputError(
                f"The training function must return finite {what} (in single precision), got "
                f"{len(places)} that are not; the first is {values[sample, column]} of test "
                f"sample {sample} in column {column}.",
                hint="for logarithms of probabilities that may be zero, put a small number under "
                "them: np.log(np.maximum(p, 1e-30)).",
            )
    history = tuple(float(value) for value in outcome.history)
    if not np.isfinite(history).all():
        raise InputError(
            f"The history of a training function must be finite numbers, got {history}."
        )
    return Outcome(scores, embeddings, history)
