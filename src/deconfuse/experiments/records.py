"""The record of a run: everything that tables, figures and verdicts are computed from.

There is one JSON file per run, named by the hash of its configuration, complete or absent. Records
are published, copied and edited by hand, so each is validated when it is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deconfuse._files import write_text
from deconfuse.errors import InputError
from deconfuse.experiments.config import DATASETS, PROTOCOL_VERSION, RunConfig

__all__ = [
    "WEIGHTINGS",
    "GridOverlaps",
    "Record",
    "read_record",
    "read_records",
    "record_path",
    "write_record",
]

#: Raised whenever the meaning of a field changes.
SCHEMA_VERSION = 1

#: The order of weightings and normalizations in a record.
WEIGHTINGS: tuple[Literal["row", "col", "all", "bi"], ...] = ("row", "col", "all", "bi")

_AGAIN = "delete it; the sweep makes it again."


@dataclass(frozen=True, slots=True, eq=False)
class GridOverlaps:
    """Experiment 2 on another grid, or on the same grid with shuffled points.

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
        Counts on the same test set after :class:`deconfuse.Rebalancer`, fitted on one half and
        used on the other, both ways, removed the prediction bias. None where it cannot be fitted.
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
        The comparison after the embeddings were shuffled among the samples, by number of
        components: what agrees then owes nothing to the embedding.
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
        # An exact sum, so that every machine writes the same digits.
        recalls = np.diag(self.matrix) / self.matrix.sum(axis=1)
        return fsum(recalls) / len(recalls)

    @property
    def test_sizes(self) -> tuple[int, ...]:
        """Samples of each class in the test set."""
        return tuple(self.matrix.sum(axis=1).tolist())

    def to_json(self) -> str:
        """Return the record as JSON, one field per line."""
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
            "gcms": {name: _short_table(gcm) for name, gcm in self.gcms.items()},
            "epsilon": self.epsilon,
            "cell_volume": _short(self.cell_volume),
            "n_cells": self.n_cells,
            "coarser": _grids_to_json(self.coarser),
            "shuffled": _grids_to_json(self.shuffled),
            "seconds": round(self.seconds, 2),
        }
        lines = (
            f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'), allow_nan=False)}"
            for name, value in fields.items()
        )
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str, name: str) -> Record:
        """Read a record and validate it; ``name`` is what errors call it.

        Every field must be as the record that was read would write it. So a field that is missing,
        of another type, unknown, or in contradiction to others is found by one comparison.

        Raises
        ------
        InputError
            When it is not a record of this version, incomplete, impossible or contradictory.
        """
        try:
            values = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InputError(
                f"{name} must be a record in JSON, but it cannot be read ({error}).", hint=_AGAIN
            ) from error
        _check_versions(values, name)
        try:
            # A matrix without samples has no accuracy, which JSON refuses.
            with np.errstate(divide="ignore", invalid="ignore"):
                record = cls._of(values)
                again = json.loads(record.to_json())
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise InputError(
                f"{name} must be a complete record, but a field is missing or wrong "
                f"({type(error).__name__}: {error!s:.200}).",
                hint=_AGAIN,
            ) from error
        for key in {**again, **values}:
            if values.get(key) != again.get(key):
                raise InputError(
                    f"{name} must agree with itself, but {key} is {values.get(key)!r:.100} where "
                    f"its other fields give {again.get(key)!r:.100}.",
                    hint=_AGAIN,
                )
        if impossible := record._impossible_fields():
            raise InputError(
                f"{name} must hold possible values, but not all of {', '.join(impossible)} are.",
                hint=_AGAIN,
            )
        return record

    @classmethod
    def _of(cls, values: dict[str, Any]) -> Record:
        rebalanced = values["rebalanced"]
        return cls(
            config=RunConfig.from_json(values["config"]),
            classes=tuple(str(name) for name in values["classes"]),
            matrix=np.array(values["matrix"]).astype(np.int64),
            rebalanced=None if rebalanced is None else np.array(rebalanced).astype(np.int64),
            gcms={name: np.array(values["gcms"][name], dtype=float) for name in WEIGHTINGS},
            epsilon=float(values["epsilon"]),
            cell_volume=float(values["cell_volume"]),
            n_cells=int(values["n_cells"]),
            coarser=_grids_from_json(values["coarser"]),
            shuffled=_grids_from_json(values["shuffled"]),
            train_sizes=tuple(int(size) for size in values["train_sizes"]),
            history=tuple(float(value) for value in values["history"]),
            seconds=float(values["seconds"]),
            versions={name: str(version) for name, version in values["versions"].items()},
        )

    def _impossible_fields(self) -> list[str]:
        """Return the fields whose values can be written but cannot be."""
        n, sizes = len(self.classes), self.matrix.sum(axis=1)
        after, grids = self.rebalanced, (*self.coarser.values(), *self.shuffled.values())
        is_possible = {
            "classes": len(set(self.classes)) == n,
            "matrix": _is_table(self.matrix, n) and sizes.all(),
            "rebalanced": after is None
            or (_is_table(after, n) and np.array_equal(after.sum(axis=1), sizes)),
            "gcms": all(_is_table(gcm, n) and gcm.any() for gcm in self.gcms.values()),
            # Numbers are written with seven digits.
            "coarser and shuffled": all(
                grid.n_cells > 0 and _is_table(grid.overlaps, 4) and grid.overlaps.max() < 1 + 1e-6
                for grid in grids
            ),
            "train_sizes": len(self.train_sizes) == n and min(self.train_sizes) >= 0,
            "epsilon and seconds": min(self.epsilon, self.seconds) >= 0,
            "cell_volume and n_cells": min(self.cell_volume, self.n_cells) > 0,
        }
        return [name for name, possible in is_possible.items() if not possible]


def _is_table(values: NDArray[Any], n: int) -> bool:
    return values.shape == (n, n) and bool((values >= 0).all())


def _check_versions(values: Any, name: str) -> None:
    """Raise unless a record has this version of the schema and of the protocol."""
    fields = values if isinstance(values, dict) else {}
    config = fields.get("config")
    protocol = config.get("protocol") if isinstance(config, dict) else None
    found = fields.get("schema"), protocol
    if found != (SCHEMA_VERSION, PROTOCOL_VERSION):
        raise InputError(
            f"{name} must be a record of version {SCHEMA_VERSION} and of version "
            f"{PROTOCOL_VERSION} of the protocol, got versions {found[0]!r} and {found[1]!r}.",
            hint="read it with the release that wrote it; results of two versions must not be "
            "mixed.",
        )


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
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} must be a record that can be read, but it cannot ({error}).",
            hint="records are files named by their run, in a folder named by the dataset.",
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


def _grids_to_json(grids: dict[int, GridOverlaps]) -> dict[str, Any]:
    return {
        str(m): {"n_cells": grid.n_cells, "overlaps": _short_table(grid.overlaps)}
        for m, grid in grids.items()
    }


def _grids_from_json(values: dict[str, Any]) -> dict[int, GridOverlaps]:
    return {
        int(m): GridOverlaps(int(grid["n_cells"]), np.array(grid["overlaps"], dtype=float))
        for m, grid in values.items()
    }


def _short_table(table: NDArray[np.float64]) -> list[list[float]]:
    return [[_short(cell) for cell in row] for row in table.tolist()]


def _short(value: float) -> float:
    # Seven digits are what single-precision activations carry, and a third of the space.
    return float(f"{value:.7g}")
