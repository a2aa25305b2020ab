"""From records to the published results: the text with its verdicts, the tables, the figures."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from deconfuse._files import write_bytes
from deconfuse.errors import InputError
from deconfuse.experiments import extensions
from deconfuse.experiments.analysis import (
    Question,
    complete_seeds,
    datasets_of,
    score_records,
    to_rows,
)
from deconfuse.experiments.claims import LEAST_SEEDS, Claim, paper_claims
from deconfuse.experiments.config import DATASETS, PAPER_MODEL
from deconfuse.experiments.data_files import dataset_title
from deconfuse.experiments.figures import CAPTIONS, NEEDS_ARRAYS, SHOWN, draw_all, pictures
from deconfuse.experiments.grids import grid_section, read_grids, score_grids
from deconfuse.experiments.human import (
    Comparison,
    people_section,
    people_verdict,
    read_comparison,
)
from deconfuse.experiments.other_findings import other_findings, summary_lines
from deconfuse.experiments.records import Record, read_records
from deconfuse.experiments.text import (
    MARKS,
    claim_table,
    claims_csv,
    csv_text,
    markdown_table,
)

__all__ = ["GRIDS", "HUMAN", "read_summary", "write_results"]

#: Where, beside the records, measurements are that need more than records.
GRIDS, HUMAN = "grids", "human.json"

_TEXT, _CAME_OUT = "REPRODUCTION.md", "## What came out"


def write_results(
    folder: str | os.PathLike[str],
    records_folder: str | os.PathLike[str],
    cache: str | os.PathLike[str] | None = None,
) -> list[Path]:
    """Write text, tables and figures from the records, each file whole or not at all.

    Parameters
    ----------
    folder : path
        Where ``REPRODUCTION.md``, ``tables/`` and ``figures/`` go. What ``deconfuse reproduce
        --grids`` and ``--human`` left there is reported too.
    records_folder : path
        Where the records are, each study (model, setting) in a folder of its own.
    cache : path, optional
        Where the arrays of runs are. The figure of clusters needs embeddings, which records do
        not hold; without them the one that is there stays.

    Returns
    -------
    list of Path
        What was written.
    """
    folder = Path(folder)
    records = read_records(Path(records_folder))
    if not any(record.config.sampling == "relative" for record in records):
        raise InputError(
            f"There must be records of runs in {records_folder}, but there are none.",
            hint="run `deconfuse reproduce` first.",
        )
    grids, people = read_grids(folder / GRIDS), read_comparison(folder / HUMAN)
    scores = score_records(records, extra=extensions.other_estimates).joined(score_grids(grids))
    control = score_records(records, sampling="equal-size")
    claims = paper_claims(scores, control)
    figures = draw_all(scores, records, None if cache is None else Path(cache))
    for name in CAPTIONS.keys() - figures.keys() - {NEEDS_ARRAYS}:
        # A figure of other records must not stay beside this text.
        (folder / "figures" / name).unlink(missing_ok=True)
    shown = [name for name in CAPTIONS if name in figures or (folder / "figures" / name).exists()]
    epsilons, components = extensions.epsilon_rows(records), extensions.geometry_rows(records)
    parts = [
        *_opening(records, claims, people),
        *_claim_sections(claims, shown),
        "## What the paper says beside its experiments",
        *other_findings(records),
        grid_section(grids),
        people_section(people),
        *extensions.past_the_paper(records, scores, epsilons, components),
        *pictures(shown, "past"),
        _TABLES,
    ]
    text = "\n\n".join(part for part in parts if part) + "\n"
    text = text.replace("{shown}", _shown_among(claims))
    contents: dict[Path, bytes] = {}
    for name, figure in figures.items():
        stream = io.BytesIO()
        # Without the library's version in the file, equal records give equal bytes.
        figure.savefig(stream, format="png", dpi=130, metadata={"Software": None})
        contents[folder / "figures" / name] = stream.getvalue()
    head = [*Question._fields, *_PARTS, "n"]
    tables = {
        "claims.csv": claims_csv([*claims, *extensions.stricter_claims(scores)]),
        "scores.csv": csv_text(head, to_rows(scores)),
        "controls.csv": csv_text(head, to_rows(control)),
        "runs.csv": csv_text(_RUN_COLUMNS, _run_rows(records)),
        "components.csv": csv_text(_COMPONENTS, components),
        "epsilon.csv": csv_text(["dataset", "alpha", "metric", "epsilon", *_PARTS], epsilons),
    }
    for name, table in tables.items():
        contents[folder / "tables" / name] = table.encode()
    contents[folder / _TEXT] = text.encode()
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content)
    return list(contents)


_TABLES = (
    "## Tables\n\n"
    "`tables/claims.csv` has every cell of every claim; `scores.csv` every Overlap and divergence; "
    "`controls.csv` those of balanced controls of equal size; `runs.csv` sizes, epochs and "
    "accuracies by level; `epsilon.csv` bi under other ε; `components.csv` Experiment 2 with 2, 3, "
    "5 and 10 components."
)


_PARTS = ("mean", "low", "high")
_COMPONENTS = (
    *("dataset", "components", "embeddings", "cells per point"),
    *(f"{name} {part}" for name in ("own", "lead", "bi minus others") for part in _PARTS),
    *("closest", "n"),
)


def _opening(records: Sequence[Record], claims: Sequence[Claim], people: Comparison) -> list[str]:
    """Return what comes before the claims: results in short, runs, decisions, limits."""
    parts = [
        "# What became of the paper's claims",
        "`deconfuse reproduce --only-report` writes this page, its tables and its figures from "
        f"`records/`, `{GRIDS}/` and `{HUMAN}`; captions say where a figure is made of something "
        "else.",
        _CAME_OUT,
        _summary(records, claims, people),
        "## What was run",
        _describe_runs(records),
    ]
    if _is_paper(records):
        notes = (
            files("deconfuse.experiments").joinpath("paper_notes.md").read_text("utf-8").rstrip()
        )
        for name, fact in _facts(records).items():
            notes = notes.replace(f"{{{name}}}", fact)
        parts.append(notes)
    return parts


def _facts(records: Sequence[Record]) -> dict[str, str]:
    """Return what the notes on the paper say of the records, by the name of its place there."""
    controls = {r.config for r in records if r.config.sampling == "equal-size"}
    names = [dataset_title(name) for name in DATASETS if name in {c.dataset for c in controls}]
    levels = sorted({c.alpha for c in controls if c.alpha is not None}, reverse=True)
    there = f"for {' and '.join(names)} at α = {', '.join(f'{a:g}' for a in levels)}"
    seeds = {name: len(complete_seeds(mine, name)) for name, mine in datasets_of(records).items()}
    most = max(seeds.values())
    fewer = [f"{n} of {dataset_title(name)}" for name, n in seeds.items() if n < most]
    return {
        "seeds": f"{most}, but {' and '.join(fewer)}" if fewer else str(most),
        "controls": there if controls else "for no dataset",
    }


def _claim_sections(claims: Sequence[Claim], shown: Sequence[str]) -> list[str]:
    marks = ", ".join(f"{mark} {support.value}" for support, mark in MARKS.items())
    parts = [
        "## The claims",
        "Cells have means over seeds and 95 % intervals of Student's t, paired by seed, in points "
        f"(hundredths of Overlap). Marks: {marks}. *Near zero*: the interval lies within half a "
        "point of zero, for growth over the whole range of levels. A claim *holds* when it does in "
        f"every cell with {LEAST_SEEDS} seeds or more, *in part* in half of them or more.",
    ]
    for claim in claims:
        verdict = f"**{claim.verdict[0].upper()}{claim.verdict[1:]}.** Measured: {claim.measured}."
        parts += [
            f"### {claim.number}. {claim.title}",
            f"{verdict} {claim.beside}".rstrip(),
            claim_table(claim),
            *pictures(shown, claim.number),
        ]
    return [*parts, "### What a matrix and a GCM are made of", *pictures(shown, "")]


def _shown_among(claims: Sequence[Claim]) -> str:
    """Say how typical the run is that is shown as an instance: its lead among all seeds."""
    title = dataset_title(SHOWN.dataset)
    cell = claims[0].cell(title, f"α = {SHOWN.alpha:g}")
    if cell is None:
        return ""
    own, *others = cell.sample.values.tolist()
    rank = 1 + sum(other > own for other in others)
    return f"By the lead of bi over {cell.note} it is number {rank} of {cell.sample.n} seeds."


def _summary(records: Sequence[Record], claims: Sequence[Claim], people: Comparison) -> str:
    """Say in ten lines what came out; lines without evidence are left out."""
    lines = []
    for number in dict.fromkeys(claim.number[0] for claim in claims):
        mine = [claim for claim in claims if claim.number[0] == number]
        verdicts = "; ".join(
            (f"{claim.way}: " if claim.way else "") + f"**{claim.verdict}**" for claim in mine
        )
        lines.append(f"{number}. {mine[0].short}: {verdicts}.")
    lines += summary_lines(records)
    if people:
        lines.append(f"10. People as an outside judge: {people_verdict(people)}")
    return "\n".join(lines)


def read_summary(folder: Path) -> str:
    """Return the lines of the text that say what came out."""
    text = (folder / _TEXT).read_text(encoding="utf-8")
    return text.split(f"{_CAME_OUT}\n\n")[1].split("\n\n")[0]


def _is_paper(records: Iterable[Record]) -> bool:
    """Return whether all records are runs of the paper's networks on its datasets."""
    return all(
        record.config.model == PAPER_MODEL and record.config.dataset in DATASETS
        for record in records
    )


def _describe_runs(records: Sequence[Record]) -> str:
    """Return what there is: runs of each kind, how training ended, and what they were made with."""
    rows = []
    for dataset, mine in datasets_of(records).items():
        kinds = [
            sum(record.config.sampling == sampling for record in mine)
            for sampling in ("balanced", "relative", "budget", "equal-size")
        ]
        seeds = len(complete_seeds(mine, dataset))
        seconds = [record.seconds for record in mine]
        times = [f"{np.mean(seconds) / 60:.1f}", f"{sum(seconds) / 3600:.1f}"]
        rows.append([dataset_title(dataset), str(seeds), *map(str, kinds), *times])
    head = ["", "seeds", "M1", "M2", "M2, budget", "controls", "minutes per run", "hours"]
    parts = [markdown_table(head, rows)]
    if _is_paper(records):
        training = records[0].config.training
        parts.append(
            f"Training is the paper's: SGD, batch {training.batch_size}, learning rate "
            f"{training.learning_rate:g}, momentum {training.momentum:g}, weight decay "
            f"{training.weight_decay:g}, at most {training.max_epochs} epochs, until "
            f"{100 * training.stop_at:.0f} % balanced test accuracy is *reached*. Means over runs:"
        )
    ends = [row for row in _run_rows(records) if row[1] == "balanced" or row[2] in ("10", "0.1")]
    cells = [
        [
            f"{dataset_title(str(row[0]))}, " + (f"α = {row[2]}" if row[2] else "balanced"),
            *(f"{row[column]:,.{digits}f}" for column, digits in _RUN_DIGITS.items()),
        ]
        for row in ends
        if row[1] in ("balanced", "relative")
    ]
    parts.append(markdown_table(["", *(_RUN_COLUMNS[column] for column in _RUN_DIGITS)], cells))
    versions = sorted({_made_with(record) for record in records})
    parts.append(f"Made with {'; '.join(versions)}. Each record names its versions and machine.")
    return "\n\n".join(parts)


def _made_with(record: Record) -> str:
    # What a classifier of a user's own is made with, only its user knows.
    names = ("torch", "numpy", "python") if record.config.model == PAPER_MODEL else ("numpy",)
    versions = record.versions
    machine = " with ".join(versions[name] for name in ("machine", "device") if name in versions)
    threads = versions.get("threads", "?")
    made = ", ".join(f"{name} {versions.get(name, '?')}" for name in names)
    return f"{made} on {machine or '?'}, {threads} thread per run"


_RUN_COLUMNS = (
    *("dataset", "sampling", "alpha", "runs", "training samples", "test samples"),
    *("classes that count", "largest over smallest", "classes below a quarter of the largest"),
    *("epochs", "balanced accuracy (%)", "reached (%)"),
)

#: Columns of the table of runs that the text shows, and their decimals.
_RUN_DIGITS = {4: 0, 5: 0, 9: 1, 10: 1, 11: 0}


def _run_rows(records: Sequence[Record]) -> list[list[Any]]:
    groups: dict[tuple[str, str, float], list[Record]] = {}
    for record in records:
        config = record.config
        key = (config.dataset, config.sampling, config.alpha or np.inf)
        groups.setdefault(key, []).append(record)
    rows = []
    for (dataset, sampling, alpha), mine in groups.items():
        train = np.array([record.train_sizes for record in mine], dtype=float)
        test = np.array([record.test_sizes for record in mine], dtype=float)
        shares = train / train.sum(axis=1, keepdims=True)
        top = train.max(axis=1, keepdims=True)
        accuracies = [record.balanced_accuracy for record in mine]
        stop = np.array([record.config.training.stop_at for record in mine])
        numbers = (
            train.sum(axis=1).mean(),
            test.sum(axis=1).mean(),
            np.exp(-(shares * np.log(shares)).sum(axis=1)).mean(),
            (top[:, 0] / train.min(axis=1)).mean(),
            (train < top / 4).sum(axis=1).mean(),
            np.mean([record.epochs for record in mine]),
            100 * np.mean(accuracies),
            100 * np.mean(accuracies >= stop),
        )
        level = "" if np.isinf(alpha) else f"{alpha:g}"
        rows.append([dataset, sampling, level, len(mine), *map(float, numbers)])
    return rows
