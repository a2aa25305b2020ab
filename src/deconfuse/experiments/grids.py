"""How much Experiment 2 rests on the grid: measured from the arrays that runs leave behind.

Records hold the geometric confusion matrices of one grid. What another grid, fewer points or a
turned embedding would have given needs the embeddings, which stay in the data folder; what is
measured of them is kept in one JSON line per run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import deconfuse as dc
from deconfuse._files import write_text
from deconfuse.errors import InputError
from deconfuse.experiments.analysis import (
    Collected,
    Matrix,
    Question,
    Sample,
    Scores,
    complete_seeds,
    grid_answers,
)
from deconfuse.experiments.config import DATASETS, RunConfig, random_state
from deconfuse.experiments.data_files import dataset_title
from deconfuse.experiments.records import WEIGHTINGS, Record
from deconfuse.experiments.runs import RunArrays, overlap_clusters, overlap_table, read_arrays
from deconfuse.experiments.text import mean_and_interval, section

__all__ = [
    "N_SHIFTS",
    "GridRecord",
    "grid_section",
    "measure_grids",
    "read_grids",
    "score_grids",
    "write_grids",
]

#: How many grids are averaged over.
N_SHIFTS = 32

#: How many random subsets stand for a run with fewer points.
_SUBSETS = 4


@dataclass(frozen=True, slots=True, eq=False)
class GridRecord:
    """What the grid alone changes in one run.

    Parameters
    ----------
    config : RunConfig
        The run.
    agreement : float
        Overlap of the confusion matrix of the arrays with that of the record: 1 where training
        again gave the very same run.
    pure : float
        The share of points in cells with one label and one prediction.
    moved : dict of str to tuple of float
        Overlap of each GCM (in the order of ``WEIGHTINGS``) with the one of the same embedding
        turned at random, for ``"one"`` grid and ``"averaged"`` ones.
    overlaps : dict of str to ndarray
        Overlap of each GCM (row) with each normalization (column): ``"averaged"`` over grids, and
        ``"equal-points"``, cut to as many points as the smallest level of the seed has.
    """

    config: RunConfig
    agreement: float
    pure: float
    moved: Mapping[str, tuple[float, ...]]
    overlaps: Mapping[str, Matrix]

    def to_json(self) -> str:
        """Return the record as one line of JSON."""
        fields = {
            "config": self.config.to_json(),
            "agreement": round(self.agreement, 6),
            "pure": round(self.pure, 6),
            "moved": {name: [round(v, 6) for v in values] for name, values in self.moved.items()},
            "overlaps": {name: table.round(6).tolist() for name, table in self.overlaps.items()},
        }
        return json.dumps(fields, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> GridRecord:
        """Read a line that :meth:`to_json` wrote."""
        fields = json.loads(line)
        return cls(
            RunConfig.from_json(fields["config"]),
            float(fields["agreement"]),
            float(fields["pure"]),
            {name: tuple(values) for name, values in fields["moved"].items()},
            {name: np.array(table, dtype=float) for name, table in fields["overlaps"].items()},
        )


def measure_grids(
    records: Iterable[Record], cache: Path, known: Iterable[GridRecord] = ()
) -> list[GridRecord]:
    """Measure every imbalanced run that has a record and arrays, seed by seed.

    A seed counts only with all of its levels: an equal number of points means nothing otherwise.
    Runs that are known are not measured again.
    """
    there = {grid.config: grid for grid in known}
    runs = [record for record in records if record.config.sampling == "relative"]
    found = []
    for dataset in dict.fromkeys(run.config.dataset for run in runs):
        for seed in complete_seeds(runs, dataset):
            mine = [r for r in runs if (r.config.dataset, r.config.seed) == (dataset, seed)]
            if all(run.config in there for run in mine):
                found += [there[run.config] for run in mine]
                continue
            kept = [item for run in mine if (item := read_arrays(cache, run.config)) is not None]
            if len(kept) == len(mine):
                fewest = min(len(item.labels) for item in kept)
                found += [_measure(item, run, fewest) for item, run in zip(kept, mine, strict=True)]
    return found


def _measure(arrays: RunArrays, record: Record, fewest: int) -> GridRecord:
    rng = random_state(arrays.config, "grids")
    width = arrays.embeddings.shape[1]
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    both = (arrays, replace(arrays, embeddings=arrays.embeddings @ turn))
    n_components = arrays.config.n_components
    one, other = (overlap_clusters(item, n_components) for item in both)
    averaged, turned = (overlap_clusters(item, n_components, N_SHIFTS) for item in both)
    subsets = [rng.choice(len(arrays.labels), fewest, replace=False) for _ in range(_SUBSETS)]
    fewer = [
        overlap_table(overlap_clusters(_cut(arrays, subset), n_components)) for subset in subsets
    ]
    return GridRecord(
        arrays.config,
        dc.overlap(one["all"].normalized.source.counts, record.matrix),
        _pure_share(one["all"], arrays),
        {"one": _agreement(one, other), "averaged": _agreement(averaged, turned)},
        {"averaged": overlap_table(averaged), "equal-points": np.mean(fewer, axis=0)},
    )


def _cut(arrays: RunArrays, points: NDArray[np.int64]) -> RunArrays:
    return replace(
        arrays,
        embeddings=arrays.embeddings[points],
        labels=arrays.labels[points],
        scores=arrays.scores[points],
    )


def _agreement(
    one: Mapping[str, dc.GeometricConfusion], other: Mapping[str, dc.GeometricConfusion]
) -> tuple[float, ...]:
    return tuple(dc.overlap(one[name].matrix, other[name].matrix) for name in WEIGHTINGS)


def _pure_share(gcm: dc.GeometricConfusion, arrays: RunArrays) -> float:
    """Return the share of points in cells where label and prediction are the same for all."""
    assert gcm.binning is not None, "the points are in memory"
    cells = gcm.binning.cells
    pairs = arrays.labels * len(arrays.classes) + arrays.predictions
    kinds = np.unique(np.stack([cells, pairs]), axis=1)
    n_kinds = np.bincount(kinds[0], minlength=gcm.n_cells)
    return float(np.mean(n_kinds[cells] == 1))


def write_grids(folder: Path, grids: Sequence[GridRecord]) -> None:
    """Write one file per dataset, one line per run."""
    folder.mkdir(parents=True, exist_ok=True)
    for dataset in dict.fromkeys(grid.config.dataset for grid in grids):
        lines = [grid.to_json() for grid in grids if grid.config.dataset == dataset]
        write_text(folder / f"{dataset}.jsonl", "\n".join(lines) + "\n")


def read_grids(folder: str | os.PathLike[str]) -> list[GridRecord]:
    """Read what :func:`write_grids` wrote; nothing where there is nothing."""
    found = []
    order = {name: place for place, name in enumerate(DATASETS)}
    paths = Path(folder).glob("*.jsonl")
    for path in sorted(paths, key=lambda path: (order.get(path.stem, len(order)), path.stem)):
        try:
            found += [GridRecord.from_json(line) for line in path.read_text().splitlines()]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{path} must be measurements of grids, but a line cannot be read ({error}).",
                hint="delete it, and measure again with `deconfuse reproduce --grids`.",
            ) from error
    return found


def score_grids(grids: Iterable[GridRecord]) -> Scores:
    """Return the Overlaps of other grids as scores, with targets such as ``"averaged gcm bi"``."""
    values: dict[Question, dict[int, float]] = {}
    for grid in grids:
        config = grid.config
        for kind, table in grid.overlaps.items():
            for target, method, metric, score in grid_answers(kind, table):
                question = Question(config.dataset, config.alpha or 0.0, target, method, metric)
                values.setdefault(question, {})[config.seed] = score
    return Scores(values)


def grid_summary(grids: Sequence[GridRecord]) -> dict[str, Sample]:
    """Return, by seed: how far the GCMs move when the embedding turns, and the share of pure cells.

    Keys are ``"one"``, ``"averaged"`` (1 minus the Overlap, mean of the four), ``"pure"`` and
    ``"agreement"`` (of the confusion matrix with that of the record).
    """
    found = Collected[str]()
    for grid in grids:
        numbers = {name: 1.0 - float(np.mean(values)) for name, values in grid.moved.items()}
        numbers |= {"pure": grid.pure, "agreement": grid.agreement}
        for name, number in numbers.items():
            found.add(name, grid.config.seed, number)
    return found.samples()


def grid_section(grids: Sequence[GridRecord]) -> str:
    """Return the section on how much rests on the grid."""
    rows = []
    for dataset in dict.fromkeys(grid.config.dataset for grid in grids):
        mine = [grid for grid in grids if grid.config.dataset == dataset]
        found = grid_summary(mine)
        cells = [mean_and_interval(found[name]) for name in ("one", "averaged", "pure")]
        lowest = min(grid.agreement for grid in mine)
        # Arrays that the records themselves left behind say nothing of training again.
        trained_again = lowest < 1
        again = [mean_and_interval(found["agreement"]), f"{100 * lowest:.1f}"]
        cells += again if trained_again else ["–", "–"]
        rows.append([dataset_title(dataset), str(found["pure"].n), *cells])
    return section(
        "The grid",
        "Turning an embedding changes nothing but the signs of its principal components, and with "
        "them where the grid starts. *Moved*: 1 − Overlap (%) of a GCM with that of the same "
        f"embedding turned, for one grid and for the mean of {N_SHIFTS} (`n_shifts={N_SHIFTS}`). "
        "*Pure*: points (%) in cells with one label and one prediction, where GCM and "
        "normalization agree by construction. Embeddings are not in the records; where they come "
        "from training again on another CPU model, *again* is the Overlap (%) of the new confusion "
        "matrix with the record's.",
        ["", "seeds", "moved, one grid", "moved, averaged", "pure", "again", "again, lowest run"],
        rows,
    )
