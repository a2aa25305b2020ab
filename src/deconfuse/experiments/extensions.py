"""Past the paper: stricter targets, other methods, other epsilons, the other sampling rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

import deconfuse as dc
from deconfuse.experiments.analysis import (
    METHODS,
    METRICS,
    Collected,
    Matrix,
    Question,
    Sample,
    Scores,
    datasets_of,
    difference,
    normalizations,
    score_records,
)
from deconfuse.experiments.claims import Claim, Support, bi_is_best, paper_claims
from deconfuse.experiments.data_files import dataset_title
from deconfuse.experiments.records import WEIGHTINGS, GridOverlaps, Record

__all__ = [
    "EPSILONS",
    "epsilon_rows",
    "geometry_rows",
    "other_estimates",
    "past_the_paper",
    "stricter_claims",
]

#: What is added to every count, from next to nothing to one sample per cell.
EPSILONS = (1e-9, 1e-3, 1e-2, 1e-1, 1.0)

_BI = WEIGHTINGS.index("bi")

#: Rows of a table to be written as CSV.
Rows = Sequence[Sequence[object]]

#: Where rows of :func:`geometry_rows` have bi minus the others: mean, low, high.
_WEAKER = slice(10, 13)


def stricter_claims(scores: Scores) -> list[Claim]:
    """Return claim 1 for stricter targets: errors alone, and M1 without its own bias."""
    questions = (
        ("1x", ("bi(balanced)", "overlap"), "bi(M1), the balanced matrix without its own bias"),
        ("1y", ("balanced", "off-diagonal overlap"), "the errors of M1 alone"),
        ("1z", ("bi(balanced)", "off-diagonal overlap"), "the errors of bi(M1) alone"),
    )
    return [
        bi_is_best(scores, what, (number, f"Bi-normalization is closest to {words}."))
        for number, what, words in questions
    ]


def past_the_paper(
    records: Sequence[Record], scores: Scores, epsilons: Rows, components: Rows
) -> list[str]:
    """Return the sections past the paper.

    ``scores`` have those of :func:`other_estimates`, ``epsilons`` are of :func:`epsilon_rows` and
    ``components`` of :func:`geometry_rows`.
    """
    lines = [f"- {claim.title} **{claim.verdict}**." for claim in stricter_claims(scores)]
    lines += [
        _other_methods(scores),
        _accuracy_gains(records),
        _epsilon(epsilons),
        _components(components),
        _other_reading(records),
        _where_bi_loses(records, scores),
    ]
    return ["## Past the paper", "\n".join(line for line in lines if line)]


def other_estimates(record: Record) -> Mapping[str, Matrix]:
    """Return estimates of the balanced matrix that are not normalizations of M2.

    ``similarity-choice`` is what Luce's model, fitted to M2, expects for equal labels and no bias.
    ``rebalanced`` is the row-normalized matrix after :class:`deconfuse.Rebalancer` took the
    prediction bias out of the classifier itself, and ``bi(rebalanced)`` its bi-normalization.
    """
    estimates = {
        "similarity-choice": dc.similarity_choice(record.matrix, epsilon=record.epsilon).balanced
    }
    if record.rebalanced is not None:
        after = normalizations(record.rebalanced, record.epsilon)
        estimates |= {"rebalanced": after["row"], "bi(rebalanced)": after["bi"]}
    return estimates


def _other_methods(scores: Scores) -> str:
    words = []
    for method in ("similarity-choice", "rebalanced"):
        gaps = []
        for dataset in scores.datasets():
            for alpha in scores.alphas(dataset):
                bi = Question(dataset, alpha, "balanced", "bi", "overlap")
                other = scores.by_seed(bi._replace(method=method))
                if gap := difference(other, scores.by_seed(bi)):
                    gaps.append(100 * Sample.of(gap).mean)
        if gaps:
            words.append(f"{method} {min(gaps):+.1f} to {max(gaps):+.1f} points")
    if not words:
        return ""
    return (
        "- Beside bi (cells differ from it in Overlap with M1 by): Luce's model fitted to M2, "
        f"{words[0]}; " + "; ".join(f"the classifier {word}" for word in words[1:]) + "."
    )


def _accuracy_gains(records: Sequence[Record]) -> str:
    cells = []
    for dataset, mine in datasets_of(records).items():
        gains = []
        for record in mine:
            if record.config.sampling == "relative" and record.rebalanced is not None:
                recalls = np.diag(record.rebalanced) / record.rebalanced.sum(axis=1)
                gains.append(float(recalls.mean()) - record.balanced_accuracy)
        if gains:
            cells.append(f"{dataset_title(dataset)} {100 * np.mean(gains):+.1f}")
    if not cells:
        return ""
    return (
        "- Balanced accuracy gained by `Rebalancer`, fitted on one half of the test set and used "
        f"on the other, in points: {', '.join(cells)}."
    )


def epsilon_rows(records: Sequence[Record]) -> list[list[object]]:
    """Return the mean agreement of bi(M2) with M1 by dataset, level, metric and epsilon."""
    balanced = {r.config: r for r in records if r.config.is_balanced}
    found = Collected[tuple[str, float, str, float]]()
    for record in records:
        config, truth = record.config, balanced.get(record.config.balanced)
        if config.sampling != "relative" or truth is None:
            continue
        for epsilon in EPSILONS:
            bi = dc.normalize(record.matrix, "bi", epsilon=epsilon).matrix
            for metric in ("overlap", "off-diagonal overlap"):
                score = METRICS[metric](truth.matrix.astype(np.float64), bi)
                if not np.isnan(score):
                    key = (config.dataset, config.alpha or 0.0, metric, epsilon)
                    found.add(key, config.seed, score)
    return [[*key, sample.mean, *sample.interval()] for key, sample in found.samples().items()]


def _epsilon(rows: Rows) -> str:
    table = {
        (row[0], row[1], row[3]): float(row[4])  # type: ignore[arg-type]
        for row in rows
        if row[2] == "overlap"
    }
    cells = {key[:2] for key in table}
    if not cells:
        return ""

    def change(one: float, other: float) -> float:
        return 100 * max(abs(table[*cell, one] - table[*cell, other]) for cell in cells)

    return (
        f"- ε between 1e-9 and 0.1 moves no cell of bi's Overlap with M1 by more than "
        f"{change(1e-9, 0.1):.1f} points; ε = 1 moves one by {change(0.1, 1.0):.1f}."
    )


def _components(rows: Rows) -> str:
    most = max((int(row[1]) for row in rows), default=0)  # type: ignore[call-overload]
    words = []
    for is_most in (False, True):
        mine = [row for row in rows if row[2] == "network" and (row[1] == most) == is_most]
        if not mine:
            return ""
        gaps = np.array([row[_WEAKER] for row in mine], dtype=float)
        numbers = ", ".join(str(m) for m in dict.fromkeys(row[1] for row in mine))
        words.append(
            f"{np.sum(gaps[:, 2] < 0)} of {len(mine)} with {numbers} components "
            f"({100 * gaps[:, 0].min():+.1f} to {100 * gaps[:, 0].max():+.1f} points)"
        )
    return (
        "- Claim 7, read as lower Overlap, hangs on the grid. Cases (dataset and number of "
        "components, mean of all levels) where GCM bi agrees less with bi than the others do with "
        f"their own, interval below zero: {'; '.join(words)}."
    )


def _other_reading(records: Sequence[Record]) -> str:
    other = score_records(records, sampling="budget")
    if not other.questions():
        return ""
    seeds = {(r.config.dataset, r.config.seed) for r in records if r.config.sampling == "budget"}
    counts = Counter(dataset_title(dataset) for dataset, _ in sorted(seeds))
    where = " and ".join(f"{n} of {name}" for name, n in counts.items())
    same = [r for r in records if (r.config.dataset, r.config.seed) in seeds]
    found = []
    for scores in (score_records(same), other):
        supports = [item.support for claim in paper_claims(scores) for item in claim.evidence]
        yes, no = (supports.count(support) for support in (Support.YES, Support.NO))
        found.append(f"{yes} of {len(supports)} cells hold and {no} say the opposite")
    return (
        "- The other reading of the sampling rule (*budget*: the draw divides the remaining four "
        "fifths of all samples, and a class takes no more than it has), on the same seeds "
        f"({where}): over all claims {found[1]}; under the reading used here, {found[0]}."
    )


def _where_bi_loses(records: Sequence[Record], scores: Scores) -> str:
    words = []
    for dataset, mine in datasets_of(records).items():
        truths = {r.config.seed: r for r in mine if r.config.is_balanced}
        ceilings = {
            seed: dc.overlap(r.matrix, normalizations(r.matrix, r.epsilon)["bi"])
            for seed, r in truths.items()
        }
        leads = Collected[str]()
        for alpha in scores.alphas(dataset):
            bi, *rest = (
                scores.by_seed(Question(dataset, alpha, "balanced", method, "overlap"))
                for method in METHODS
            )
            for seed, own in bi.items():
                leads.add("bi", seed, own - max(other[seed] for other in rest))
        cases = [lead for found in leads["bi"].values() for lead in found]
        if cases:
            lost = sum(lead <= 0 for lead in cases)
            reached = np.array([ceilings[seed] for seed in sorted(leads["bi"])])
            r = _correlation(leads.samples()["bi"].values, reached)
            words.append(f"{dataset_title(dataset)} {lost} of {len(cases)} runs{r}")
    if not words:
        return ""
    return (
        f"- Where bi is not best: {'; '.join(words)}. One cause is that model 1 over-predicts some "
        "classes itself, so that bi cannot reach M1: r is the correlation over seeds of bi's lead "
        "with the Overlap of M1 and bi(M1), with Fisher's interval."
    )


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> str:
    """Return the correlation over seeds with Fisher's interval, where there are ten seeds."""
    if len(one) < 10 or not (np.ptp(one) and np.ptp(other)):
        return ""
    r = float(np.corrcoef(one, other)[0, 1])
    half = 1.96 / np.sqrt(len(one) - 3)
    low, high = np.tanh(np.arctanh(r) + np.array([-half, half]))
    return f" (r = {r:+.2f} [{low:+.2f}, {high:+.2f}])"


def geometry_rows(records: Sequence[Record]) -> list[list[object]]:
    """Return Experiment 2 by number of components, for the network's and shuffled embeddings."""
    rows: list[list[object]] = []
    for dataset, mine in datasets_of(records).items():
        runs = [record for record in mine if record.config.sampling == "relative"]
        kinds = {
            "network": [(run, _network_grids(run)) for run in runs],
            "shuffled": [(run, run.shuffled) for run in runs],
        }
        for m in sorted({m for run in runs for m in run.shuffled}):
            for name, pairs in kinds.items():
                found = [(run, grids[m]) for run, grids in pairs if m in grids]
                tables = np.array([grid.overlaps for _, grid in found])
                shares = [grid.n_cells / run.matrix.sum() for run, grid in found]
                seeds = np.array([run.config.seed for run, _ in found])
                rows.append([dataset, m, name, *_geometry_numbers(tables, shares, seeds)])
    return rows


def _network_grids(run: Record) -> dict[int, GridOverlaps]:
    estimates = normalizations(run.matrix, run.epsilon)
    overlaps = [[dc.overlap(run.gcms[a], estimates[b]) for b in WEIGHTINGS] for a in WEIGHTINGS]
    return {**run.coarser, run.config.n_components: GridOverlaps(run.n_cells, np.array(overlaps))}


def _geometry_numbers(
    table: Matrix, shares: Sequence[float], seeds: NDArray[np.int64]
) -> list[object]:
    own = np.einsum("rii->ri", table)
    others = np.where(np.eye(len(WEIGHTINGS), dtype=bool), -np.inf, table).max(axis=2)
    weaker = own[:, _BI] - np.delete(own, _BI, axis=1).mean(axis=1)
    numbers: list[object] = [float(np.mean(shares))]
    for values in (own.mean(axis=1), (own - others).mean(axis=1), weaker):
        sample = Sample(np.array([values[seeds == seed].mean() for seed in np.unique(seeds)]))
        numbers += [sample.mean, *sample.interval()]
    return [*numbers, float(np.mean(own > others)), len(np.unique(seeds))]
