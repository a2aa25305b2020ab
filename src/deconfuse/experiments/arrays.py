"""The arrays of trained runs: scores, embeddings and labels of the test set, kept on disk.

They are too large to publish and cost hours to make, so they stay in the data folder; records
are measured from them, and whatever is asked of a run later can be measured without training.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deconfuse._files import write_bytes
from deconfuse.experiments.config import PROTOCOL_VERSION, RunConfig

__all__ = ["RunArrays", "arrays_path", "read_arrays", "read_arrays_file", "write_arrays"]

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
