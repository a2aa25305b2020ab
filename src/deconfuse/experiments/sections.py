"""What records say beside the claims, as Markdown: each section words one question's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import deconfuse as dc
from deconfuse.experiments import findings
from deconfuse.experiments.analysis import METHODS, complete_seeds
from deconfuse.experiments.config import DATASETS, PAPER_MODEL
from deconfuse.experiments.grids import GridRecord, grid_summary
from deconfuse.experiments.human import MATRICES, Comparison, difference
from deconfuse.experiments.records import Record
from deconfuse.experiments.text import (
    csv_text,
    dataset_title,
    markdown_table,
    mean_and_interval,
    section,
)

__all__ = [
    "datasets_of",
    "describe_runs",
    "is_paper",
    "measured_sections",
    "people_verdict",
    "runs_csv",
]


def is_paper(records: Iterable[Record]) -> bool:
    """Return whether all records are runs of the paper's networks on its datasets."""
    return all(
        record.config.model == PAPER_MODEL and record.config.dataset in DATASETS
        for record in records
    )


def datasets_of(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the records of each dataset, in their order."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.config.dataset, []).append(record)
    return found


def describe_runs(records: Sequence[Record]) -> str:
    """Return what there is: runs of each kind, how training ended, and what they were made with."""
    rows = []
    for dataset, mine in datasets_of(records).items():
        kinds = [
            sum(record.config.sampling == sampling for record in mine)
            for sampling in ("balanced", "relative", "budget", "equal-size")
        ]
        seeds = len(complete_seeds(mine, dataset))
        hours = sum(record.seconds for record in mine) / 3600
        rows.append([dataset_title(dataset), str(seeds), *map(str, kinds), f"{hours:.1f}"])
    head = ["", "seeds", "M1", "M2", "M2, budget", "controls", "training, hours"]
    parts = [markdown_table(head, rows)]
    if is_paper(records):
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
            *(f"{row[column]:,.{digits}f}" for column, digits in _SHOWN.items()),
        ]
        for row in ends
        if row[1] in ("balanced", "relative")
    ]
    parts.append(markdown_table(["", *(_RUN_COLUMNS[column] for column in _SHOWN)], cells))
    versions = sorted({_made_with(record) for record in records})
    parts.append(f"Made with {'; '.join(versions)}. Each record names its versions and machine.")
    return "\n\n".join(parts)


def _made_with(record: Record) -> str:
    # What a classifier of a user's own is made with, only its user knows.
    names = ("torch", "numpy", "python") if record.config.model == PAPER_MODEL else ("numpy",)
    versions = record.versions
    device = versions.get("device", versions.get("machine", "?"))
    threads = versions.get("threads", "?")
    made = ", ".join(f"{name} {versions.get(name, '?')}" for name in names)
    return f"{made} on {device}, {threads} thread per run"


_RUN_COLUMNS = (
    *("dataset", "sampling", "alpha", "runs", "training samples", "test samples"),
    *("classes that count", "largest over smallest", "classes below a quarter of the largest"),
    *("epochs", "balanced accuracy (%)", "reached (%)"),
)

#: Columns of the table of runs that the text shows, and their decimals.
_SHOWN = {4: 0, 5: 0, 9: 1, 10: 1, 11: 0}


def runs_csv(records: Sequence[Record]) -> str:
    """Return sizes, unevenness, epochs and accuracy of each dataset and level, as CSV."""
    return csv_text(_RUN_COLUMNS, _run_rows(records))


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


def measured_sections(
    records: Sequence[Record], grids: Sequence[GridRecord], people: Comparison
) -> list[str]:
    """Return the sections on what the paper says and its experiments do not measure."""
    parts = [
        _persistence(records),
        _ceiling(records),
        _stripes(records),
        _reliability(records),
        _algebra(records),
        _grids(grids),
        _people(people),
    ]
    return ["## What the paper says beside its experiments", *(part for part in parts if part)]


def _persistence(records: Sequence[Record]) -> str:
    rows = []
    for dataset, mine in datasets_of(records).items():
        for name, off in (("whole", False), ("off-diagonal", True)):
            found = findings.persistence(mine, off_diagonal=off)
            if found:
                cells = [mean_and_interval(found[method]) for method in METHODS]
                rows.append([f"{dataset_title(dataset)}, {name}", *cells])
    return section(
        "Similarity persists, bias varies",
        "Two runs of one seed with different draws of labels: Overlap (%) of their normalized "
        "matrices, mean over pairs of levels. What persists is similarity, so the normalization "
        "that shows it best has the highest number. No balanced model is involved.",
        ["", *METHODS],
        rows,
    )


def _ceiling(records: Sequence[Record]) -> str:
    rows = []
    alphas = sorted({r.config.alpha for r in records if r.config.alpha is not None}, reverse=True)
    for dataset, mine in datasets_of(records).items():
        found = findings.noise_ceiling(mine)
        if "balanced" in found:
            levels = [mean_and_interval(found.get(f"{a:g}"), style="+.1f") for a in alphas]
            rows.append(
                [
                    dataset_title(dataset),
                    mean_and_interval(found["balanced"]),
                    *levels,
                    mean_and_interval(found.get("other seed"), style="+.1f"),
                ]
            )
    return section(
        "The noise of the seed",
        "How close to M1 comes bi of a *balanced* model of another seed (%)? No method can be "
        "expected to do better. Then bi(M2) minus this ceiling, in points. Last, what a shared "
        "initialization does: bi(M2) of the mildest level against M1 of its own seed, minus "
        "against those of other seeds.",
        ["", "ceiling", *(f"α = {alpha:g}" for alpha in alphas), "shared start"],
        rows,
    )


def _stripes(records: Sequence[Record]) -> str:
    rows = []
    names = ("M1", *METHODS)
    for dataset, mine in datasets_of(records).items():
        found = findings.stripes(mine)
        for direction in ("horizontal", "vertical"):
            cells = [mean_and_interval(found.get((name, direction))) for name in names]
            if set(cells) != {"–"}:
                rows.append([f"{dataset_title(dataset)}, {direction}", *cells])
    return section(
        "Stripes",
        "The paper sees stripes in its Figure 4. Measured: half the L1 distance of the row sums "
        "(horizontal) or column sums (vertical) of the errors from even ones, in points, for "
        "α ≤ 0.3. bi has the same in both directions by construction.",
        ["", *names],
        rows,
    )


def _reliability(records: Sequence[Record]) -> str:
    rows = []
    for dataset, mine in datasets_of(records).items():
        found = findings.reliability(mine)
        alphas = sorted({alpha for _, alpha in found}, reverse=True)
        for alpha in (alphas[0], alphas[-1]) if len(alphas) > 1 else alphas:
            cells = [mean_and_interval(found[name, alpha], 1.0) for name in ("test", "predicted")]
            cells += [mean_and_interval(found[name, alpha]) for name in ("row", "col", "bi")]
            rows.append([f"{dataset_title(dataset)}, α = {alpha:g}", *cells])
    return section(
        "Reliability falls with heterogeneity",
        "How many classes count among labels and among predictions (the exponential of the "
        "entropy of their shares), and the effective sample size of each normalization's weights "
        "as a share of the samples (%).",
        ["", "labels", "predictions", "row", "col", "bi"],
        rows,
    )


def _algebra(records: Sequence[Record]) -> str:
    lines = []
    rates = {
        dataset: found
        for dataset, mine in datasets_of(records).items()
        if (found := findings.convergence_rates(mine)) is not None
    }
    if rates:
        cells = "; ".join(
            f"{dataset_title(name)} {mean_and_interval(rate, 1.0, '.4f')}"
            for name, rate in rates.items()
        )
        lines.append(
            "- **IPF converges linearly**: its residual falls by σ₂² of bi(M) per sweep. Rate seen "
            f"over σ₂²: {cells}."
        )
    gap = max((_diagonal_gap(record) for record in records), default=0.0)
    lines.append(
        "- **Row, col and bi agree on diagonal matrices**: on the diagonals of all records they "
        f"differ by {gap:.0e} at most."
    )
    rows = []
    for dataset, mine in datasets_of(records).items():
        found_invariance = findings.invariance(mine)
        if found_invariance:
            names = ("noise", *METHODS)
            cells_ = [mean_and_interval(found_invariance[name]) for name in names]
            rows.append([dataset_title(dataset), *cells_])
    lines.append(
        "- **One model, two test sets**: the test set of M1 split in two with different label "
        "distributions, Overlap (%) of the two normalized matrices. *noise*: two even halves."
    )
    table = markdown_table(["", "noise", *METHODS], rows) if rows else ""
    return "\n\n".join(["### Algebra, seen in the records", "\n".join(lines), table]).rstrip()


def _diagonal_gap(record: Record) -> float:
    diagonal = np.diag(np.maximum(np.diag(record.matrix), 1))
    row, col, bi = (dc.normalize(diagonal, m, epsilon=0.0).matrix for m in ("row", "col", "bi"))
    return float(max(np.abs(row - col).max(), np.abs(row - bi).max()))


def _grids(grids: Sequence[GridRecord]) -> str:
    rows = []
    for dataset in dict.fromkeys(grid.config.dataset for grid in grids):
        mine = [grid for grid in grids if grid.config.dataset == dataset]
        found = grid_summary(mine)
        names = ("one", "averaged", "pure", "agreement")
        cells = [mean_and_interval(found[name]) for name in names]
        rows.append([dataset_title(dataset), str(found["pure"].n), *cells])
    return section(
        "The grid",
        "Turning an embedding changes nothing but the signs of its principal components, and with "
        "them where the grid starts. *Moved*: 1 − Overlap (%) of a GCM with that of the same "
        "embedding turned, for one grid and for the mean of 32 (`n_shifts=32`). *Pure*: points (%) "
        "in cells with one label and one prediction, where GCM and normalization agree by "
        "construction. Embeddings are not in the records; where they come from training again, "
        "*again* is the Overlap (%) of the new confusion matrix with the record's.",
        ["", "seeds", "moved, one grid", "moved, averaged", "pure", "again"],
        rows,
    )


def _people(found: Comparison) -> str:
    if not found:
        return ""
    levels = [level for level in found["bi"] if level != "balanced"]
    levels.sort(key=float, reverse=True)
    rows = []
    for level in ["balanced", *levels]:
        if level not in found["bi"]:
            continue
        means = [f"{np.mean(list(found[name][level].values())):.3f}" for name in MATRICES]
        gaps = [
            mean_and_interval(difference(found, "bi", other, level), 1.0, "+.3f")
            for other in MATRICES[1:]
        ]
        name = level if level == "balanced" else f"α = {level}"
        rows.append([name, str(len(found["bi"][level])), *means, *gaps])
    return section(
        "An outside judge: people",
        "CIFAR-10H has the answers of people for CIFAR-10's test images. Spearman's correlation of "
        "the 90 off-diagonal cells of a network's matrix with those of people, and differences "
        "paired by seed. " + people_verdict(found),
        ["", "n", *MATRICES, "bi − row", "bi − raw"],
        rows,
    )


def people_verdict(found: Comparison) -> str:
    """Say whether bi keeps the likeness that people see, level by level."""
    levels = [level for level in found["bi"] if level != "balanced"]
    wins = {
        other: sum(difference(found, "bi", other, level).interval()[0] > 0 for level in levels)
        for other in MATRICES[1:]
    }
    return (
        f"With uneven classes bi ranks confusions more as people do than row in {wins['row']} of "
        f"{len(levels)} levels, and than raw counts in {wins['raw']} of {len(levels)} (intervals "
        "above zero)."
    )
