"""What records say beside the claims, as Markdown: each section words one question's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

import deconfuse as dc
from deconfuse.experiments import findings
from deconfuse.experiments.analysis import (
    METHODS,
    METRICS,
    Matrix,
    Question,
    Sample,
    Scores,
    normalizations,
    score_records,
)
from deconfuse.experiments.claims import Claim, Support, bi_is_best, paper_claims
from deconfuse.experiments.config import DATASETS, PAPER_MODEL
from deconfuse.experiments.grids import GridRecord, grid_summary
from deconfuse.experiments.human import MATRICES, Comparison, difference
from deconfuse.experiments.records import WEIGHTINGS, Record
from deconfuse.experiments.text import (
    csv_text,
    dataset_title,
    markdown_table,
    mean_and_interval,
)

__all__ = [
    "EPSILONS",
    "describe_runs",
    "epsilon_rows",
    "geometry_rows",
    "is_paper",
    "measured_sections",
    "other_estimates",
    "past_the_paper",
    "runs_csv",
    "stricter_claims",
]

#: What is added to every count, from next to nothing to one sample per cell.
EPSILONS = (1e-9, 1e-3, 1e-2, 1e-1, 1.0)

_BI = WEIGHTINGS.index("bi")


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


# What was run


def describe_runs(records: Sequence[Record]) -> str:
    """Return a table of what there is: runs of each kind, time, and what they were made with."""
    rows = []
    for dataset, mine in datasets_of(records).items():
        kinds = [
            sum(record.config.sampling == sampling for record in mine)
            for sampling in ("balanced", "relative", "budget", "equal-size")
        ]
        seeds = len({r.config.seed for r in mine if r.config.sampling == "relative"})
        hours = sum(record.seconds for record in mine) / 3600
        rows.append([dataset_title(dataset), str(seeds), *map(str, kinds), f"{hours:.1f}"])
    head = ["", "seeds", "M1", "M2", "M2, budget", "controls", "training, hours"]
    versions = sorted({_made_with(record) for record in records})
    return markdown_table(head, rows) + f"\n\nMade with {'; '.join(versions)}."


def _made_with(record: Record) -> str:
    # What a classifier of a user's own is made with, only its user knows.
    names = ("torch", "numpy", "python") if record.config.model == PAPER_MODEL else ("numpy",)
    versions = record.versions
    device = versions.get("device", versions.get("machine", "?"))
    threads = versions.get("threads", "?")
    made = ", ".join(f"{name} {versions.get(name, '?')}" for name in names)
    return f"{made} on {device}, {threads} thread per run"


def runs_csv(records: Sequence[Record]) -> str:
    """Return sizes, unevenness, epochs and accuracy of each dataset and level, as CSV."""
    groups: dict[tuple[str, str, float], list[Record]] = {}
    for record in records:
        config = record.config
        key = (config.dataset, config.sampling, config.alpha or np.inf)
        groups.setdefault(key, []).append(record)
    rows: list[list[object]] = []
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
    head = [
        *("dataset", "sampling", "alpha", "runs", "training samples", "test samples"),
        *("classes that count", "largest over smallest", "classes below a quarter of the largest"),
        *("epochs", "balanced accuracy (%)", "runs that reached the stopping accuracy (%)"),
    ]
    return csv_text(head, rows)


# What the paper says beside its experiments


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
    return _section(
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
    return _section(
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
    return _section(
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
    return _section(
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
        cells = [mean_and_interval(found[name]) for name in ("one", "averaged", "pure")]
        same = sum(grid.agreement >= 1 - 1e-9 for grid in mine)
        rows.append(
            [dataset_title(dataset), str(found["pure"].n), *cells, f"{same} of {len(mine)}"]
        )
    return _section(
        "The grid",
        "Turning an embedding changes nothing but the signs of its principal components, and with "
        "them where the grid starts. *Moved*: 1 − Overlap (%) of a GCM with that of the same "
        "embedding turned, for one grid and for the mean of 32 (`n_shifts=32`). *Pure*: points (%) "
        "in cells with one label and one prediction, where GCM and normalization agree by "
        "construction. *Same run*: arrays come from training again; so many have the very matrix "
        "of their record.",
        ["", "seeds", "moved, one grid", "moved, averaged", "pure", "same run"],
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
    return _section(
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


# Past the paper


def stricter_claims(scores: Scores) -> list[Claim]:
    """Return claim 1 for stricter targets: errors alone, and M1 without its own bias."""
    questions = (
        ("1x", ("bi(balanced)", "overlap"), "bi(M1), the balanced matrix without its own bias"),
        ("1y", ("balanced", "off-diagonal overlap"), "the errors of M1 alone"),
        ("1z", ("bi(balanced)", "off-diagonal overlap"), "the errors of bi(M1) alone"),
    )
    return [
        bi_is_best(scores, dataset_title, what, f"Bi-normalization is closest to {words}.", number)
        for number, what, words in questions
    ]


def past_the_paper(
    records: Sequence[Record], scores: Scores, epsilons: Sequence[Sequence[object]]
) -> list[str]:
    """Return the sections past the paper.

    ``scores`` have those of :func:`other_estimates`, ``epsilons`` are of :func:`epsilon_rows`.
    """
    lines = [f"- {claim.title} **{claim.verdict}**." for claim in stricter_claims(scores)]
    lines += [
        _other_methods(scores),
        _accuracy_gains(records),
        _epsilon(epsilons),
        _other_reading(records),
        _where_bi_loses(records),
    ]
    return ["## Past the paper", "\n".join(line for line in lines if line)]


def other_estimates(record: Record) -> Mapping[str, Matrix]:
    """Return estimates of the balanced matrix that are not normalizations of M2.

    ``similarity-choice`` is what Luce's model, fitted to M2, expects for equal labels and no bias.
    ``rebalanced`` is the row-normalized matrix after :class:`deconfuse.Rebalancer` took the
    prediction bias out of the classifier itself, and ``bi(rebalanced)`` its bi-normalization.
    """
    estimates = {"similarity-choice": dc.similarity_choice(record.matrix).balanced}
    if record.rebalanced is not None:
        after = normalizations(record.rebalanced, 1.0 / len(record.classes))
        estimates |= {"rebalanced": after["row"], "bi(rebalanced)": after["bi"]}
    return estimates


def _other_methods(scores: Scores) -> str:
    words = []
    for method in ("similarity-choice", "rebalanced"):
        gaps = []
        for dataset in scores.datasets():
            for alpha in scores.alphas(dataset):
                bi = Question(dataset, alpha, "balanced", "bi", "overlap")
                sample = scores.difference(bi._replace(method=method), bi)
                if sample is not None:
                    gaps.append(100 * sample.mean)
        if gaps:
            words.append(f"{method} {min(gaps):+.1f} to {max(gaps):+.1f} points")
    if not words:
        return ""
    return (
        "- Beside bi (cells differ from it in Overlap with M1 by): Luce's model fitted to M2, "
        f"{words[0]}; " + "; ".join(f"the classifier {word}" for word in words[1:]) + "."
    )


def _accuracy_gains(records: Sequence[Record]) -> str:
    gains = []
    for record in records:
        if record.config.sampling == "relative" and record.rebalanced is not None:
            recalls = np.diag(record.rebalanced) / record.rebalanced.sum(axis=1)
            gains.append((record.config.dataset, float(recalls.mean()) - record.balanced_accuracy))
    if not gains:
        return ""
    names = dict.fromkeys(name for name, _ in gains)
    cells = [
        f"{dataset_title(name)} {100 * np.mean([g for d, g in gains if d == name]):+.1f}"
        for name in names
    ]
    return (
        "- Balanced accuracy gained by `Rebalancer`, fitted on one half of the test set and used "
        f"on the other, in points: {', '.join(cells)}."
    )


def epsilon_rows(records: Sequence[Record]) -> list[list[object]]:
    """Return the mean agreement of bi(M2) with M1 by dataset, level, metric and epsilon."""
    balanced = {r.config: r for r in records if r.config.is_balanced}
    found: dict[tuple[str, float, str, float], list[float]] = {}
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
                    found.setdefault(key, []).append(score)
    samples = {key: Sample(np.array(values)) for key, values in found.items()}
    return [[*key, sample.mean, *sample.interval()] for key, sample in samples.items()]


def _epsilon(rows: Sequence[Sequence[object]]) -> str:
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


def _other_reading(records: Sequence[Record]) -> str:
    other = score_records(records, sampling="budget")
    if not other.questions():
        return ""
    seeds = {(r.config.dataset, r.config.seed) for r in records if r.config.sampling == "budget"}
    same = [r for r in records if (r.config.dataset, r.config.seed) in seeds]
    found = []
    for scores in (score_records(same), other):
        supports = [
            item.support for claim in paper_claims(scores, dataset_title) for item in claim.evidence
        ]
        counts = [supports.count(support) for support in (Support.YES, Support.NO)]
        found.append(f"{counts[0]} of {len(supports)} cells hold and {counts[1]} say the opposite")
    return (
        "- The other reading of the sampling rule (*budget*: the four fifths that are not kept "
        "anyway are dealt out by the draw, and a class takes no more than it has), on the same "
        f"{len(seeds)} seeds: over all claims {found[1]}; under the reading used here, {found[0]}."
    )


def _where_bi_loses(records: Sequence[Record]) -> str:
    words = []
    for dataset, mine in datasets_of(records).items():
        truths = {r.config: r for r in mine if r.config.is_balanced}
        cases = []
        for record in mine:
            truth = truths.get(record.config.balanced)
            if record.config.sampling != "relative" or truth is None:
                continue
            estimates = normalizations(record.matrix, record.epsilon)
            overlaps = {name: dc.overlap(truth.matrix, m) for name, m in estimates.items()}
            lead = overlaps["bi"] - max(v for name, v in overlaps.items() if name != "bi")
            ceiling = dc.overlap(truth.matrix, normalizations(truth.matrix, truth.epsilon)["bi"])
            cases.append((record.config.seed, lead, ceiling))
        if cases:
            lost = sum(lead <= 0 for _, lead, _ in cases)
            words.append(
                f"{dataset_title(dataset)} {lost} of {len(cases)} runs{_correlation(cases)}"
            )
    if not words:
        return ""
    return (
        f"- Where bi is not best: {'; '.join(words)}. One cause is that model 1 over-predicts some "
        "classes itself, so that bi cannot reach M1: r is the correlation over seeds of bi's lead "
        "with the Overlap of M1 and bi(M1), with Fisher's interval."
    )


def _correlation(cases: Sequence[tuple[int, float, float]]) -> str:
    """Return the correlation over seeds with Fisher's interval, where there are ten seeds."""
    seeds = sorted({seed for seed, _, _ in cases})
    means = np.array(
        [np.mean([case[1:] for case in cases if case[0] == seed], axis=0) for seed in seeds]
    )
    if len(seeds) < 10 or not np.ptp(means, axis=0).all():
        return ""
    r = float(np.corrcoef(means.T)[0, 1])
    half = 1.96 / np.sqrt(len(seeds) - 3)
    low, high = np.tanh(np.arctanh(r) + np.array([-half, half]))
    return f" (r = {r:+.2f} [{low:+.2f}, {high:+.2f}])"


def geometry_rows(records: Sequence[Record]) -> list[list[object]]:
    """Return Experiment 2 by number of components, for the network's and shuffled embeddings."""
    rows: list[list[object]] = []
    for dataset, mine in datasets_of(records).items():
        runs = [record for record in mine if record.config.sampling == "relative"]
        for m in sorted({m for run in runs for m in run.shuffled}):
            for name in ("network", "shuffled"):
                tables, shares, seeds = [], [], []
                for run in runs:
                    grid = run.shuffled.get(m) if name == "shuffled" else run.coarser.get(m)
                    if grid is not None:
                        tables.append(grid.overlaps)
                        shares.append(grid.n_cells / run.matrix.sum())
                    elif name == "network" and m == run.config.n_components:
                        estimates = normalizations(run.matrix, run.epsilon)
                        tables.append(
                            np.array(
                                [
                                    [dc.overlap(run.gcms[a], estimates[b]) for b in WEIGHTINGS]
                                    for a in WEIGHTINGS
                                ]
                            )
                        )
                        shares.append(run.n_cells / run.matrix.sum())
                    else:
                        continue
                    seeds.append(run.config.seed)
                if tables:
                    rows.append([dataset, m, name, *_geometry_numbers(tables, shares, seeds)])
    return rows


def _geometry_numbers(
    tables: Sequence[Matrix], shares: Sequence[float], seeds: Sequence[int]
) -> list[object]:
    table = np.array(tables)
    own = np.einsum("rii->ri", table)
    others = np.where(np.eye(len(WEIGHTINGS), dtype=bool), -np.inf, table).max(axis=2)
    columns = (own.mean(axis=1), (own - others).mean(axis=1))
    weaker = own[:, _BI] - np.delete(own, _BI, axis=1).mean(axis=1)
    numbers: list[object] = [float(np.mean(shares))]
    for values in (*columns, weaker):
        places = np.array(seeds)
        sample = Sample(np.array([values[places == seed].mean() for seed in np.unique(places)]))
        numbers += [sample.mean, *sample.interval()]
    return [*numbers, float(np.mean(own > others)), len(set(seeds))]


def _section(title: str, words: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a section with one table, or nothing where there are no rows."""
    return f"### {title}\n\n{words}\n\n{markdown_table(head, rows)}" if rows else ""
