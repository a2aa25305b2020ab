"""Why bi-normalization is not closest to the balanced matrix where it is not: runs and classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import deconfuse as dc
from deconfuse.experiments.analysis import METHODS, Sample, normalizations
from deconfuse.experiments.records import WEIGHTINGS, GridOverlaps, Record
from deconfuse.experiments.text import dataset_title, markdown_table, mean_and_interval

__all__ = ["Case", "find_cases", "geometry_section", "heterogeneity_section", "section"]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One imbalanced run beside its balanced model.

    Parameters
    ----------
    record : Record
        The imbalanced run.
    lead : float
        Overlap of bi with M1, minus that of the best other normalization.
    rival : str
        That other.
    ceiling : float
        Overlap of M1 with bi(M1): what bi could reach if it undid all imbalance of M2.
    excess : ndarray of shape (n_classes,)
        How much farther from M1 bi is than its rival, in the cells of each class.
    """

    record: Record
    lead: float
    rival: str
    ceiling: float
    excess: NDArray[np.float64]


def find_cases(records: Sequence[Record]) -> list[Case]:
    """Put every imbalanced run beside its balanced model."""
    balanced = {r.config.key: r for r in records if r.config.is_balanced}
    cases = []
    for record in records:
        model_1 = balanced.get(record.config.balanced.key)
        if record.config.sampling != "relative" or model_1 is None:
            continue
        epsilon = 1.0 / len(record.classes)
        truth = model_1.matrix / model_1.matrix.sum()
        estimates = normalizations(record.matrix, epsilon)
        overlaps = {name: dc.overlap(truth, matrix) for name, matrix in estimates.items()}
        rival = max((name for name in METHODS if name != "bi"), key=lambda name: overlaps[name])
        gaps = {
            name: np.abs(estimates[name] / estimates[name].sum() - truth) for name in ("bi", rival)
        }
        farther = gaps["bi"] - gaps[rival]
        # A class's cells are its row and its column; the diagonal cell counts once.
        excess = farther.sum(axis=1) + farther.sum(axis=0) - np.diag(farther)
        ceiling = dc.overlap(truth, normalizations(model_1.matrix, epsilon)["bi"])
        lead = overlaps["bi"] - overlaps[rival]
        cases.append(Case(record, lead, rival, ceiling, excess))
    return cases


def section(records: Sequence[Record]) -> str:
    """Return the text on where bi is not best and what those runs have in common."""
    cases = find_cases(records)
    if not cases:
        return ""
    rows = []
    for dataset in dict.fromkeys(case.record.config.dataset for case in cases):
        mine = [case for case in cases if case.record.config.dataset == dataset]
        lost = [case for case in mine if case.lead <= 0]
        won = [case for case in mine if case.lead > 0]
        rows.append(
            [
                dataset_title(dataset),
                f"{len(lost)} of {len(mine)}",
                _counts(Counter(f"{case.record.config.alpha:g}" for case in lost)),
                _counts(Counter(case.rival for case in lost)),
                _counts(Counter(str(case.record.config.seed) for case in lost), 4),
                _ceiling(lost) + " / " + _ceiling(won),
                _correlation(mine),
                _classes(lost),
            ]
        )
    head = [
        "dataset",
        "runs where bi is not best",
        "by α",
        "who is",
        "seeds with most",
        "ceiling there / elsewhere (%)",
        "correlation of lead and ceiling, over seeds",
        "classes that cost most (points)",
    ]
    return "\n\n".join(
        [
            "## Where bi is not best, and why",
            "One cause to look for: M1 comes from balanced sets, but model 1 may still "
            "over-predict some classes. The paper's networks do: they stop as soon as they reach "
            "60 % balanced accuracy, often after one epoch. M1 is then not doubly balanced "
            "itself, and bi-normalization, which removes exactly that, cannot reach it. The "
            "*ceiling* is the Overlap of M1 with bi(M1): what bi would reach with nothing left of "
            "M2's imbalance. Were this the cause, bi would lose on the seeds of a low ceiling, "
            "and the correlation of a seed's mean lead with its ceiling would be positive. Where "
            "its interval holds zero, it is not shown to be. Intervals are over seeds: the runs "
            "of a seed share one M1.",
            markdown_table(head, rows),
            "The cost of a class is how much farther from M1 bi is than the best other "
            "normalization, summed over its row and column and averaged over the runs where bi is "
            "not best.",
        ]
    )


def heterogeneity_section(records: Sequence[Record]) -> str:
    """Return the text on how uneven the sets of each level really are."""
    runs = [record for record in records if not record.config.is_balanced]
    if not runs:
        return ""
    groups: dict[tuple[str, str, float], list[Record]] = {}
    for record in runs:
        config = record.config
        key = (config.dataset, config.sampling, config.alpha or 0.0)
        groups.setdefault(key, []).append(record)
    alphas = sorted({alpha for _, _, alpha in groups}, reverse=True)
    rows = []
    for dataset, sampling in dict.fromkeys(key[:2] for key in groups):
        cells = []
        for alpha in alphas:
            mine = groups.get((dataset, sampling, alpha))
            cells.append("–" if mine is None else _unevenness(mine))
        rows.append([dataset_title(dataset), sampling, *cells])
    head = ["dataset", "reading", *(f"α = {alpha:g}" for alpha in alphas)]
    return "\n\n".join(
        [
            "## How uneven the levels are",
            "Three numbers of the training sets, means over seeds: how many classes count (the "
            "exponential of the entropy of the class shares); the largest class over the smallest; "
            "how many classes are near the floor, below a quarter of the largest. A fifth of each "
            "class is always kept. So where classes are of equal size to begin with, no ratio "
            "passes 5 by much, and from α = 1 down levels differ in how many classes sit at the "
            "floor together rather than in how far apart they are.",
            markdown_table(head, rows),
        ]
    )


def _unevenness(records: Sequence[Record]) -> str:
    sizes = np.array([record.train_sizes for record in records], dtype=float)
    shares = sizes / sizes.sum(axis=1, keepdims=True)
    count = np.exp(-(shares * np.log(shares)).sum(axis=1)).mean()
    ratio = (sizes.max(axis=1) / sizes.min(axis=1)).mean()
    floored = (sizes < sizes.max(axis=1, keepdims=True) / 4).sum(axis=1).mean()
    return f"{count:.1f}; {ratio:.1f}; {floored:.1f}"


def geometry_section(records: Sequence[Record]) -> str:
    """Return the text on how Experiment 2 depends on the components, and on the embeddings."""
    runs = [r for r in records if r.config.sampling == "relative" and r.coarser]
    if not runs:
        return ""
    rows = []
    for dataset in dict.fromkeys(record.config.dataset for record in runs):
        mine = [record for record in runs if record.config.dataset == dataset]
        for m in (*sorted(mine[0].coarser), mine[0].config.n_components):
            real = [_grid_overlaps(record, m) for record in mine]
            dealt = [record.shuffled[m] for record in mine if m in record.shuffled]
            for name, grids in (("the network's", real), ("shuffled", dealt)):
                # Shuffled points are there for all runs of a dataset or not at all.
                if len(grids) == len(mine):
                    title = [dataset_title(dataset), str(m), name]
                    rows.append([*title, *_geometry_cells(mine, grids)])
    head = [
        "dataset",
        "components m",
        "embeddings",
        "cells per point",
        "own Overlap",
        "lead over the best other (points)",
        "bi minus the other three (points)",
        "GCMs closest to their own",
    ]
    return "\n\n".join(
        [
            "## What Experiment 2 rests on",
            "A point that is alone in its cell adds its weight to exactly one cell of the GCM, its "
            "own, so a GCM of lonely points *is* the normalization, whatever the embedding looks "
            "like. With many cells per point some of the agreement is of that kind. *Shuffled* "
            "measures how much: the same predictions with the embeddings dealt out to the samples "
            "at random, so that all agreement left comes from the grid alone. What the embedding "
            "itself contributes is the difference of the two rows. Means over levels, intervals "
            "over seeds.",
            markdown_table(head, rows),
        ]
    )


def _geometry_cells(runs: Sequence[Record], grids: Sequence[GridOverlaps]) -> list[str]:
    tables = np.array([grid.overlaps for grid in grids])
    shares = [grid.n_cells / r.matrix.sum() for grid, r in zip(grids, runs, strict=True)]
    own = np.einsum("rii->ri", tables)
    others = np.where(np.eye(4, dtype=bool), -np.inf, tables).max(axis=2)
    lead = (own - others).mean(axis=1)
    weaker = own[:, _BI] - np.delete(own, _BI, axis=1).mean(axis=1)
    seeds = np.array([record.config.seed for record in runs])
    columns = ((own.mean(axis=1), ".1f"), (lead, "+.1f"), (weaker, "+.1f"))
    return [
        f"{np.mean(shares):.2f}",
        *(mean_and_interval(_by_seed(values, seeds), style=style) for values, style in columns),
        f"{100 * np.mean(own > others):.0f} %",
    ]


_BI = WEIGHTINGS.index("bi")
_FEWEST_FOR_CORRELATION = 5


def _grid_overlaps(record: Record, n_components: int) -> GridOverlaps:
    """Return the Overlap of each GCM (row) with each normalization (column)."""
    if n_components in record.coarser:
        return record.coarser[n_components]
    estimates = normalizations(record.matrix, record.epsilon)
    overlaps = [[dc.overlap(record.gcms[a], estimates[b]) for b in WEIGHTINGS] for a in WEIGHTINGS]
    return GridOverlaps(record.n_cells, np.array(overlaps))


def _by_seed(values: NDArray[np.float64], seeds: NDArray[np.int64]) -> Sample:
    """Average over the levels of each seed: runs of a seed share their initialization."""
    return Sample(np.array([values[seeds == seed].mean() for seed in np.unique(seeds)]))


def _counts(counter: Counter[str], most: int | None = None) -> str:
    return ", ".join(f"{name} ({times})" for name, times in counter.most_common(most)) or "–"


def _ceiling(cases: Sequence[Case]) -> str:
    if not cases:
        return "–"
    seeds = np.array([case.record.config.seed for case in cases])
    return mean_and_interval(_by_seed(np.array([case.ceiling for case in cases]), seeds))


def _correlation(cases: Sequence[Case]) -> str:
    """Return the correlation over seeds, with its bootstrap interval where there are enough."""
    seeds = np.array([case.record.config.seed for case in cases])
    columns = [[case.lead for case in cases], [case.ceiling for case in cases]]
    pairs = np.array([_by_seed(np.array(column), seeds).values for column in columns])
    if pairs.shape[1] < _FEWEST_FOR_CORRELATION or not np.ptp(pairs, axis=1).all():
        return "–"
    rng = np.random.default_rng(20_240_601)
    picks = rng.integers(pairs.shape[1], size=(2_000, pairs.shape[1]))
    # A resample of one seed alone has no correlation.
    drawn = [np.corrcoef(pairs[:, pick])[0, 1] for pick in picks if np.ptp(pairs[:, pick], 1).all()]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{np.corrcoef(pairs)[0, 1]:+.2f} [{low:+.2f}, {high:+.2f}]"


def _classes(cases: Sequence[Case]) -> str:
    if not cases:
        return "–"
    cost = 100 * np.mean([case.excess for case in cases], axis=0)
    worst = np.argsort(-cost)[:3]
    names = cases[0].record.classes
    return ", ".join(f"{names[place]} {cost[place]:+.1f}" for place in worst)
