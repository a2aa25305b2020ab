"""Past the paper: the same protocol with other measures, epsilons, sampling rules and methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import deconfuse as dc
from deconfuse.experiments.analysis import (
    METHODS,
    Matrix,
    Question,
    Sample,
    Scores,
    normalizations,
    score_records,
)
from deconfuse.experiments.claims import bi_is_best, paper_claims
from deconfuse.experiments.records import Record
from deconfuse.experiments.text import (
    claim_table,
    dataset_title,
    markdown_table,
    mean_and_interval,
)

__all__ = ["EPSILONS", "OTHER_METHODS", "other_estimates", "sections"]

#: What is added to every count, from next to nothing to one sample a cell.
EPSILONS = (1e-9, 1e-3, 1e-2, 1e-1, 1.0)


#: What is put beside the four normalizations.
OTHER_METHODS = ("similarity-choice", "rebalanced", "bi(rebalanced)")


def sections(records: Sequence[Record], scores: Scores) -> list[str]:
    """Return the text of everything past the paper that the records allow.

    ``scores`` must have been made with :func:`other_estimates` as its ``extra``.
    """
    parts = [
        "## Past the paper",
        _stricter_targets(scores),
        _other_methods(records, scores),
        _epsilon(records),
        _other_sampling(records),
    ]
    return [part for part in parts if part]


def _stricter_targets(scores: Scores) -> str:
    questions = (
        (
            ("bi(balanced)", "overlap"),
            "Bi-normalization is closest to bi(M1), the balanced matrix without its own bias.",
        ),
        (
            ("balanced", "off-diagonal overlap"),
            "Bi-normalization is closest to the off-diagonal part of M1.",
        ),
        (
            ("bi(balanced)", "off-diagonal overlap"),
            "Bi-normalization is closest to the off-diagonal part of bi(M1).",
        ),
    )
    parts = [
        "### Errors alone, and a balanced matrix without bias",
        "When a classifier is accurate, most of the Overlap is the diagonal. Here the diagonal is "
        "taken out, and M1 is also compared after its own prediction bias is taken out. A run "
        "without errors has nothing left then, and is left out.",
    ]
    for what, sentence in questions:
        claim = bi_is_best(scores, dataset_title, what, sentence)
        parts += [f"**{sentence}**", claim_table(claim)]
    return "\n\n".join(parts)


def _epsilon(records: Sequence[Record]) -> str:
    tables = {epsilon: score_records(records, epsilon=epsilon) for epsilon in EPSILONS}
    first = next(iter(tables.values()))
    rows = []
    for dataset in first.datasets():
        for alpha in first.alphas(dataset):
            for metric in ("overlap", "off-diagonal overlap"):
                question = Question(dataset, alpha, "balanced", "bi", metric)
                samples = [table.sample(question) for table in tables.values()]
                if samples[0] is not None:
                    cells = [mean_and_interval(sample) for sample in samples]
                    rows.append([f"{dataset_title(dataset)}, α = {alpha:g}", metric, *cells])
    if not rows:
        return ""
    head = ["", "measure (%)", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)]
    return "\n\n".join(
        [
            "### Epsilon varied",
            "Agreement of bi(M2) with M1 when ε is added to every cell of M2; by default it is one "
            "over the number of classes, 0.1 for ten.",
            markdown_table(head, rows),
        ]
    )


def _other_sampling(records: Sequence[Record]) -> str:
    other = score_records(records, sampling="budget")
    if not other.questions():
        return ""
    seeds = {(r.config.dataset, r.config.seed) for r in records if r.config.sampling == "budget"}
    same = [r for r in records if (r.config.dataset, r.config.seed) in seeds]
    relative = score_records(same)
    rows = []
    for dataset in other.datasets():
        for alpha in other.alphas(dataset):
            question = Question(dataset, alpha, "balanced", "bi", "overlap")
            for name, scores in (("relative", relative), ("budget", other)):
                samples = [scores.sample(question._replace(method=method)) for method in METHODS]
                if samples[0] is not None:
                    cells = [mean_and_interval(sample) for sample in samples]
                    title = f"{dataset_title(dataset)}, α = {alpha:g}"
                    rows.append([title, name, str(samples[0].n), *cells])
    verdicts = [
        [claim.title, claim.verdict, now.verdict]
        for claim, now in zip(
            paper_claims(relative, dataset_title), paper_claims(other, dataset_title), strict=True
        )
    ]
    return "\n\n".join(
        [
            "### The other reading of the sampling rule",
            "The paper keeps a fifth of each class and allocates the remaining samples by a "
            "Dirichlet draw. *relative* (used everywhere else): a class keeps its share relative "
            "to the most likely class. *budget*: the remaining four fifths of all samples are "
            "dealt out by the draw, and a class takes no more than it has. Same seeds, same draws; "
            "Overlap with M1 in %.",
            markdown_table(["", "reading", "n", *METHODS], rows),
            "The paper's claims under either reading, from these seeds alone:",
            markdown_table(["claim of the paper", "relative", "budget"], verdicts),
        ]
    )


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


def _other_methods(records: Sequence[Record], scores: Scores) -> str:
    methods = ("bi", "row", *OTHER_METHODS)
    rows = []
    for dataset in scores.datasets():
        for alpha in scores.alphas(dataset):
            for target, metric, name in (
                ("balanced", "overlap", "M1"),
                ("balanced", "off-diagonal overlap", "M1, off-diagonal"),
                ("bi(balanced)", "off-diagonal overlap", "bi(M1), off-diagonal"),
            ):
                question = Question(dataset, alpha, target, "bi", metric)
                samples = [scores.sample(question._replace(method=method)) for method in methods]
                if samples[0] is not None:
                    cells = [mean_and_interval(sample) for sample in samples]
                    title = f"{dataset_title(dataset)}, α = {alpha:g}"
                    rows.append([title, name, str(samples[0].n), *cells])
    if not rows:
        return ""
    return "\n\n".join(
        [
            "### Beside the four normalizations",
            "*similarity-choice*: Luce's model fitted to M2, for equal labels and no bias (it is "
            "symmetric, which confusions need not be). *rebalanced*: row-normalized after "
            "`Rebalancer` took the prediction bias out of the classifier, fitted on one half of "
            "the test set and used on the other. Overlap in %.",
            markdown_table(["", "target", "n", *methods], rows),
            _accuracy_gains(records),
        ]
    )


def _accuracy_gains(records: Sequence[Record]) -> str:
    gains: dict[tuple[str, float], list[float]] = {}
    for record in records:
        config = record.config
        if config.sampling == "relative" and config.alpha and record.rebalanced is not None:
            recalls = np.diag(record.rebalanced) / record.rebalanced.sum(axis=1)
            gain = float(recalls.mean()) - record.balanced_accuracy
            gains.setdefault((config.dataset, config.alpha), []).append(gain)
    rows = [
        [
            f"{dataset_title(dataset)}, α = {alpha:g}",
            str(len(values)),
            mean_and_interval(Sample(np.array(values)), style="+.1f"),
        ]
        for (dataset, alpha), values in gains.items()
    ]
    table = markdown_table(["", "n", "gain (points)"], rows)
    return f"Balanced accuracy gained by rebalancing, on halves not used to fit it:\n\n{table}"
