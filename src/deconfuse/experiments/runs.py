"""One run: draw its sets, train, keep the arrays, and measure its record from them.

Arrays (scores, embeddings and labels of the test set) are too large to publish and cost hours to
make, so they stay in the data folder; records are measured from them, and whatever is asked of a
run later can be measured without training.
"""

from __future__ import annotations

import io
import json
import platform
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import deconfuse as dc
from deconfuse._files import write_bytes
from deconfuse.errors import DeconfuseWarning, InputError, warn
from deconfuse.experiments.config import RunConfig, random_state
from deconfuse.experiments.datasets import Dataset
from deconfuse.experiments.records import WEIGHTINGS, GridOverlaps, Record
from deconfuse.experiments.tasks import Outcome, TrainFunction, draw_task

__all__ = [
    "RunArrays",
    "arrays_path",
    "measure",
    "overlap_clusters",
    "overlap_table",
    "read_arrays",
    "train_run",
    "write_arrays",
]


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


#: What is kept of a run beside its arrays, and how it is read from JSON.
_STORY: dict[str, Callable[[Any], Any]] = {
    "classes": tuple,
    "train_sizes": tuple,
    "history": tuple,
    "seconds": float,
    "versions": dict,
}


def arrays_path(folder: Path, config: RunConfig) -> Path:
    """Return where the arrays of a run are kept."""
    return folder / config.dataset / f"{config.key}.npz"


def write_arrays(folder: Path, arrays: RunArrays) -> Path:
    """Write the arrays of a run, all of them or nothing."""
    path = arrays_path(folder, arrays.config)
    path.parent.mkdir(parents=True, exist_ok=True)
    story = {name: getattr(arrays, name) for name in _STORY} | {"config": arrays.config.to_json()}
    # In memory first: closing an archive fails again where the disk was full.
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
    """Return the arrays of a run, or None where there are none that can be used."""
    try:
        with (
            arrays_path(folder, config).open("rb") as stream,
            np.load(stream, allow_pickle=False) as stored,
        ):
            story = json.loads(str(stored["story"]))
            arrays = RunArrays(
                config=RunConfig.from_json(story["config"]),
                scores=stored["scores"],
                embeddings=stored["embeddings"],
                labels=stored["labels"].astype(np.int64),
                **{name: read(story[name]) for name, read in _STORY.items()},
            )
    except Exception:  # noqa: BLE001
        # A cache: what cannot be read, for whatever reason, is made again.
        return None
    n, n_classes = len(arrays.labels), len(arrays.classes)
    is_whole = arrays.scores.shape == (n, n_classes) and arrays.embeddings.shape[:1] == (n,)
    is_this = story["config"] == config.to_json() and is_whole
    return arrays if is_this else None


def _versions() -> dict[str, str]:
    """Return the versions that a result may depend on."""
    found = {
        "deconfuse": dc.__version__,
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
    """Train one run, or take its arrays from ``folder`` where they are kept; None keeps none."""
    if folder is not None and (kept := read_arrays(folder, config)) is not None:
        return kept
    task = draw_task(dataset, config)
    start = time.perf_counter()
    outcome = train(task)
    seconds = time.perf_counter() - start
    if not isinstance(outcome, Outcome):
        raise InputError(
            f"The training function must return an Outcome, got {type(outcome).__name__}.",
            hint="return Outcome(scores=..., embeddings=...).",
        )
    history = tuple(float(value) for value in outcome.history)
    if not np.isfinite(history).all():
        raise InputError(
            f"The history of a training function must be finite numbers, got {history}."
        )
    n, n_classes = len(task.test_labels), task.n_classes
    arrays = RunArrays(
        config=config,
        classes=task.classes,
        scores=_checked("scores", outcome.scores, (n, n_classes)),
        embeddings=_checked("embeddings", outcome.embeddings, (n, None)),
        labels=task.test_labels,
        train_sizes=tuple(np.bincount(task.train_labels, minlength=n_classes).tolist()),
        history=history,
        seconds=seconds,
        versions=_versions(),
    )
    if folder is not None:
        _keep(folder, arrays)
    return arrays


def _checked(what: str, values: ArrayLike, shape: tuple[int, int | None]) -> NDArray[np.float32]:
    """Return what a training function says of the test set, as a finite matrix."""
    array = np.asarray(values, dtype=np.float32)
    n, width = shape
    if array.ndim != 2 or len(array) != n or width not in (None, array.shape[1]):
        raise InputError(
            f"The training function must return finite {what} of shape "
            f"({n}, {width or 'n_features'}), got shape {array.shape}."
        )
    n_wrong = int((~np.isfinite(array)).sum())
    if n_wrong:
        raise InputError(
            f"The training function must return finite {what} (in single precision), got "
            f"{n_wrong} that are not.",
            hint="for logarithms of probabilities that may be zero, put a small number under "
            "them: np.log(np.maximum(p, 1e-30)).",
        )
    return array


def _keep(folder: Path, arrays: RunArrays) -> None:
    """Write the arrays, and go on without them where that fails: the record needs far less room."""
    try:
        write_arrays(folder, arrays)
    except (OSError, InputError) as error:
        warn(
            f"The arrays of {arrays.config.title} must be kept in {folder}, but could not be "
            f"written ({error}). The run's record is made all the same; only measuring its grids "
            "will need training again. Free some space, or use --no-keep-arrays.",
            DeconfuseWarning,
        )


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
    gcms = overlap_clusters(arrays, finest)
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
        coarser={m: _overlaps(arrays, m) for m in COARSER},
        shuffled={m: _overlaps(shuffled, m) for m in (*COARSER, finest)},
        train_sizes=arrays.train_sizes,
        history=arrays.history,
        seconds=arrays.seconds,
        versions=arrays.versions,
    )


def _count(arrays: RunArrays, predictions: NDArray[np.int64]) -> dc.ConfusionMatrix:
    classes = range(len(arrays.classes))
    return dc.ConfusionMatrix.from_predictions(arrays.labels, predictions, labels=classes)


def overlap_clusters(
    arrays: RunArrays, n_components: int, n_shifts: int = 1
) -> dict[str, dc.GeometricConfusion]:
    """Return the four geometric confusion matrices of a run.

    All four weightings take the same epsilon, one over the number of classes, because a network
    may never predict a rare class.
    """
    n_classes = len(arrays.classes)
    with warnings.catch_warnings():
        # Units that are off for all points give fewer components, which is expected here.
        warnings.simplefilter("ignore", dc.DeconfuseWarning)
        return dc.geometric_confusions(
            arrays.embeddings,
            arrays.labels,
            arrays.predictions,
            n_components=n_components,
            epsilon=1.0 / n_classes,
            labels=range(n_classes),
            n_shifts=n_shifts,
        )


def _overlaps(arrays: RunArrays, n_components: int) -> GridOverlaps:
    gcms = overlap_clusters(arrays, n_components)
    return GridOverlaps(gcms["bi"].n_cells, overlap_table(gcms))


def overlap_table(gcms: Mapping[str, dc.GeometricConfusion]) -> NDArray[np.float64]:
    """Return the Overlap of each GCM (row) with each normalization (column)."""
    return np.array(
        [[dc.overlap(gcms[a].matrix, gcms[b].normalized) for b in WEIGHTINGS] for a in WEIGHTINGS]
    )


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
