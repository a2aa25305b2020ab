"""The record of a run: everything that tables, figures and verdicts are computed from.

One JSON file a run, named by the configuration's hash, complete or absent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deconfuse._files import write_text
from deconfuse.errors import InputError
from deconfuse.experiments.config import DATASETS, RunConfig
from deconfuse.experiments.record_fields import SCHEMA_VERSION, RecordFields

__all__ = [
    "SCHEMA_VERSION",
    "WEIGHTINGS",
    "GridOverlaps",
    "Record",
    "read_record",
    "read_records",
    "record_path",
    "write_record",
]

#: The order of weightings and normalizations in a record.
WEIGHTINGS: tuple[Literal["row", "col", "all", "bi"], ...] = ("row", "col", "all", "bi")


@dataclass(frozen=True, slots=True, eq=False)
class GridOverlaps:
    """Experiment 2 on another grid, or on the same grid with points dealt out at random.

    ``overlaps[i, j]`` is the Overlap of the geometric confusion matrix of weighting ``i`` with
    normalization ``j``, both in the order of :data:`WEIGHTINGS`.
    """

    n_cells: int
    overlaps: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """What one run measured.

    Parameters
    ----------
    config : RunConfig
        The run.
    classes : tuple of str
        Class names, in matrix order.
    matrix : ndarray of shape (n_classes, n_classes)
        Counts on the run's own test set, true classes on rows (M1 or M2 of the paper).
    rebalanced : ndarray of shape (n_classes, n_classes) or None
        Counts on the same test set after the prediction bias was taken out by
        :class:`deconfuse.Rebalancer`, fitted on one half and used on the other, both ways. None
        where it could not be fitted.
    gcms : dict of str to ndarray
        The four geometric confusion matrices, divided by the cell volume.
    epsilon : float
        What was added to every count for the weights of the four matrices.
    cell_volume : float
        The volume of a cell of the grid.
    n_cells : int
        How many cells hold points.
    coarser : dict of int to GridOverlaps
        The same comparison with fewer components, where more points share a cell.
    shuffled : dict of int to GridOverlaps
        The comparison after the embeddings were dealt out to the samples at random, by number of
        components: what agrees then owes nothing to the embedding. Empty in records made before
        this was measured.
    train_sizes : tuple of int
        Samples of each class in the training set.
    history : tuple of float
        Balanced test accuracy after each epoch.
    seconds : float
        How long training took.
    versions : dict of str to str
        What the run was made with.
    """

    config: RunConfig
    classes: tuple[str, ...]
    matrix: NDArray[np.int64]
    rebalanced: NDArray[np.int64] | None
    gcms: dict[str, NDArray[np.float64]]
    epsilon: float
    cell_volume: float
    n_cells: int
    coarser: dict[int, GridOverlaps]
    shuffled: dict[int, GridOverlaps]
    train_sizes: tuple[int, ...]
    history: tuple[float, ...]
    seconds: float
    versions: dict[str, str]

    @property
    def epochs(self) -> int:
        """How many epochs were trained."""
        return len(self.history)

    @property
    def accuracy(self) -> float:
        """The share of test samples predicted right."""
        return float(np.trace(self.matrix) / self.matrix.sum())

    @property
    def balanced_accuracy(self) -> float:
        """The mean over classes of the share of their test samples predicted right."""
        return float(np.mean(np.diag(self.matrix) / self.matrix.sum(axis=1)))

    @property
    def test_sizes(self) -> tuple[int, ...]:
        """Samples of each class in the test set."""
        return tuple(self.matrix.sum(axis=1).tolist())

    def to_json(self) -> str:
        """Return the record as JSON, one field a line."""
        fields = {
            "schema": SCHEMA_VERSION,
            "config": self.config.to_json(),
            "versions": self.versions,
            "classes": list(self.classes),
            "train_sizes": list(self.train_sizes),
            "test_sizes": list(self.test_sizes),
            "epochs": self.epochs,
            "history": [_short(value) for value in self.history],
            "accuracy": _short(self.accuracy),
            "balanced_accuracy": _short(self.balanced_accuracy),
            "matrix": self.matrix.tolist(),
            "rebalanced": None if self.rebalanced is None else self.rebalanced.tolist(),
            "gcms": {
                name: [[_short(cell) for cell in row] for row in gcm.tolist()]
                for name, gcm in self.gcms.items()
            },
            "epsilon": self.epsilon,
            "cell_volume": _short(self.cell_volume),
            "n_cells": self.n_cells,
            "coarser": _overlaps_to_json(self.coarser),
            "shuffled": _overlaps_to_json(self.shuffled),
            "seconds": round(self.seconds, 2),
        }
        lines = (
            f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'), allow_nan=False)}"
            for name, value in fields.items()
        )
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str, name: str) -> Record:
        """Read a record and check every field; ``name`` is what errors call it.

        Raises
        ------
        InputError
            When a field is missing, cannot be, or contradicts another one.
        """
        fields = RecordFields.parse(text, name)
        try:
            config = RunConfig.from_json(fields.take("config"))
        except (KeyError, TypeError, ValueError) as error:
            fields.refuse(
                f"must be a complete record, but a field is missing or wrong: config ({error})."
            )
        classes = fields.names("classes")
        n = len(classes)
        has_rebalanced = fields.take("rebalanced") is not None
        record = cls(
            config=config,
            classes=classes,
            matrix=fields.counts("matrix", n),
            rebalanced=fields.counts("rebalanced", n) if has_rebalanced else None,
            gcms={key: fields.density("gcms", key, n_classes=n) for key in WEIGHTINGS},
            epsilon=fields.number("epsilon"),
            cell_volume=fields.number("cell_volume", is_open=True),
            n_cells=fields.whole("n_cells", at_least=1),
            coarser=_overlaps_from_json(fields, "coarser"),
            shuffled=_overlaps_from_json(fields, "shuffled"),
            train_sizes=fields.sizes("train_sizes", n),
            history=fields.numbers("history"),
            seconds=fields.number("seconds"),
            versions=fields.texts("versions"),
        )
        fields.confirm("test_sizes", list(record.test_sizes))
        fields.confirm("epochs", record.epochs)
        fields.confirm("accuracy", record.accuracy)
        fields.confirm("balanced_accuracy", record.balanced_accuracy)
        if record.rebalanced is not None:
            fields.confirm("test_sizes", record.rebalanced.sum(axis=1).tolist())
        return record


def record_path(folder: Path, config: RunConfig) -> Path:
    """Return where the record of a run is."""
    return folder / config.dataset / f"{config.key}.json"


def write_record(folder: Path, record: Record) -> Path:
    """Write a record, all of it or nothing."""
    path = record_path(folder, record.config)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, record.to_json())
    return path


def read_record(path: str | os.PathLike[str]) -> Record:
    """Read one record.

    Parameters
    ----------
    path : path
        As a sweep left it: named by the run, in a folder named by the dataset.

    Returns
    -------
    Record

    Raises
    ------
    InputError
        When it is not a record, of another version, or not the one that its name says.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path} must be a record that can be read, but it cannot ({error.strerror}).",
            hint="records are files named by their run, in a folder named by the dataset.",
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} must be a record in JSON, but it is not text ({error}).",
            hint="delete it; the sweep makes it again.",
        ) from error
    record = Record.from_json(text, str(path))
    place = path.absolute()
    if place != record_path(place.parents[1], record.config):
        raise InputError(
            f"{path} must hold the run that it is named after, got the run {record.config.key} "
            f"({record.config.title}) of {record.config.dataset}.",
            hint="delete it; a run must not be counted twice.",
        )
    return record


def read_records(
    folder: str | os.PathLike[str], configs: Iterable[RunConfig] | None = None
) -> list[Record]:
    """Read the records of a folder, ordered by dataset (the paper's order), seed and level.

    Parameters
    ----------
    folder : path
        Where records are.
    configs : iterable of RunConfig, optional
        Only these; by default every record there is.

    Returns
    -------
    list of Record

    Raises
    ------
    InputError
        When the folder is not there, or a file in it is not a record.
    """
    folder = Path(folder)
    if configs is None and not folder.is_dir():
        raise InputError(
            f"There must be a folder of records at {folder}, but there is none.",
            hint="run `deconfuse reproduce` first.",
        )
    if configs is None:
        paths = sorted(folder.glob("*/*.json"))
    else:
        paths = [path for c in configs if (path := record_path(folder, c)).exists()]
    records = [read_record(path) for path in paths]
    places = {name: place for place, name in enumerate(DATASETS)}
    return sorted(
        records,
        key=lambda record: (
            places.get(record.config.dataset, len(places)),
            record.config.dataset,
            record.config.seed,
            -(record.config.alpha or np.inf),
        ),
    )


def _overlaps_to_json(grids: dict[int, GridOverlaps]) -> dict[str, Any]:
    return {
        str(m): {
            "n_cells": grid.n_cells,
            "overlaps": [[_short(cell) for cell in row] for row in grid.overlaps.tolist()],
        }
        for m, grid in grids.items()
    }


def _overlaps_from_json(fields: RecordFields, key: str) -> dict[int, GridOverlaps]:
    # Absent in the first records, which were made before it was measured.
    grids = fields.values.get(key, {}) if key == "shuffled" else fields.take(key)
    if not isinstance(grids, dict) or not all(m.isdecimal() for m in grids):
        fields.refuse(f"must have grids by number of components in {key}.")
    return {
        int(m): GridOverlaps(
            fields.whole(key, m, "n_cells", at_least=1),
            fields.overlaps(key, m, "overlaps", n=len(WEIGHTINGS)),
        )
        for m in grids
    }


def _short(value: float) -> float:
    # Seven digits are what single-precision activations carry, and a third of the space.
    return float(f"{value:.7g}")
