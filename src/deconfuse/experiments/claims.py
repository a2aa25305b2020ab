"""The paper's claims, each as numbers with intervals and a verdict that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from deconfuse.experiments.analysis import METHODS, Question, Sample, Scores, levels_of, slope

__all__ = ["LEAST_SEEDS", "Claim", "Evidence", "Support", "bi_is_best", "paper_claims"]

#: Fewer seeds than this give no verdict.
LEAST_SEEDS = 3

_OTHERS = tuple(method for method in METHODS if method != "bi")


class Support(Enum):
    """What one piece of evidence says of a claim, and how tables mark it."""

    YES = "holds"
    UNCLEAR = "unclear"
    NO = "fails"
    FEW = "too few seeds"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One cell of a claim's table: a number that must have the sign the claim says."""

    row: str
    column: str
    sample: Sample
    sign: int
    note: str = ""

    @property
    def support(self) -> Support:
        """Whether the interval over seeds is on the claimed side of zero."""
        if self.sample.n < LEAST_SEEDS:
            return Support.FEW
        low, high = sorted(self.sign * bound for bound in self.sample.interval())
        if low > 0:
            return Support.YES
        return Support.NO if high < 0 else Support.UNCLEAR


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of the paper: what it says, what is measured for it, and what came out.

    ``experiment`` is the paper's number of the experiment that it rests on; ``scale`` turns the
    numbers into the unit that tables show; ``needs`` says what there must be for any evidence.
    """

    title: str
    measured: str
    evidence: tuple[Evidence, ...]
    experiment: int = 1
    scale: float = 100.0
    needs: str = "runs of both models"

    @property
    def rows(self) -> list[str]:
        """The rows of the table."""
        return list(dict.fromkeys(item.row for item in self.evidence))

    @property
    def columns(self) -> list[str]:
        """The columns of the table."""
        return list(dict.fromkeys(item.column for item in self.evidence))

    def cell(self, row: str, column: str) -> Evidence | None:
        """Return one cell of the table, or None where there is no run."""
        found = (item for item in self.evidence if (item.row, item.column) == (row, column))
        return next(found, None)

    @property
    def verdict(self) -> str:
        """``holds``, ``holds in part (where)``, ``does not hold (where)`` or ``not decided``.

        A claim that holds in less than half of its cells does not hold.
        """
        decided = [item for item in self.evidence if item.support is not Support.FEW]
        if not self.evidence:
            return f"not decided (no {self.needs})"
        if not decided:
            return "not decided (fewer than three seeds)"
        yes = [item for item in decided if item.support is Support.YES]
        if len(yes) == len(decided):
            return "holds"
        words = "holds in part" if 2 * len(yes) >= len(decided) else "does not hold"
        return f"{words} ({_where(yes, decided)})"

    @property
    def basis(self) -> dict[str, tuple[int, int]]:
        """The fewest and the most seeds behind a cell, for each dataset."""
        seeds: dict[str, list[int]] = {}
        for item in self.evidence:
            seeds.setdefault(item.row.split(", GCM")[0], []).append(item.sample.n)
        return {row: (min(counts), max(counts)) for row, counts in seeds.items()}


def _where(yes: Sequence[Evidence], decided: Sequence[Evidence]) -> str:
    """Say shortly where a claim holds and where it does not."""
    parts = [f"in {len(yes)} of {len(decided)} cells"]
    for support, words in ((Support.NO, "the opposite in"), (Support.UNCLEAR, "unclear in")):
        rows: dict[str, list[str]] = {}
        for item in decided:
            if item.support is support:
                rows.setdefault(item.row, []).append(item.column)
        if rows:
            places = "; ".join(f"{row}: {', '.join(columns)}" for row, columns in rows.items())
            parts.append(f"{words} {places}")
    return "; ".join(parts)


def paper_claims(scores: Scores, title: Callable[[str], str]) -> list[Claim]:
    """Return every claim of the paper's experiments with its evidence.

    Parameters
    ----------
    scores : Scores
        Scores of all records.
    title : callable
        Turns a dataset's name into what tables call it.
    """
    return [
        bi_is_best(
            scores,
            title,
            ("balanced", "overlap"),
            "Bi-normalization recovers the balanced matrix best, at each dataset and level.",
        ),
        _gap_widens(scores, title),
        _recovery_diminishes(scores, title),
        bi_is_best(
            scores,
            title,
            ("balanced", "kl"),
            "Bi-normalization has the lowest KL divergence from the balanced matrix.",
        ),
        _own_is_closest(scores, title),
        _own_grows(scores, title),
        _bi_is_weaker(scores, title),
    ]


def bi_is_best(
    scores: Scores, title: Callable[[str], str], what: tuple[str, str], sentence: str
) -> Claim:
    """Return the claim that bi comes closest to a target; ``what`` is (target, metric)."""
    target, metric = what
    sign = -1 if metric == "kl" else 1
    evidence = []
    for dataset in scores.datasets():
        for alpha in scores.alphas(dataset):
            item = _against_best(scores, Question(dataset, alpha, target, "bi", metric), sign)
            if item is not None:
                sample, best = item
                evidence.append(Evidence(title(dataset), _level(alpha), sample, sign, best))
    unit = "KL divergence (× 100)" if metric == "kl" else f"{metric} (points)"
    measured = (
        f"{unit} of bi minus that of the best of row, col and all (named), with the target "
        f"{_target(target)}; paired by seed"
    )
    return Claim(sentence, measured, tuple(evidence))


def _against_best(scores: Scores, question: Question, sign: int) -> tuple[Sample, str] | None:
    """Return own minus best other, and who that is: the other with the smallest lead behind."""
    rivals = [method for method in METHODS if method != question.method]
    leads = {
        method: sample
        for method in rivals
        if (sample := scores.difference(question, question._replace(method=method))) is not None
    }
    if not leads:
        return None
    best = min(leads, key=lambda method: sign * leads[method].mean)
    return leads[best], best


def _gap_widens(scores: Scores, title: Callable[[str], str]) -> Claim:
    evidence = []
    for dataset in scores.datasets():
        for other in _OTHERS:

            def gap(alpha: float, dataset: str = dataset, other: str = other) -> dict[int, float]:
                one = scores.values.get(_exp1(dataset, alpha, "bi"), {})
                two = scores.values.get(_exp1(dataset, alpha, other), {})
                return {seed: one[seed] - two[seed] for seed in one.keys() & two.keys()}

            if (sample := slope(scores, dataset, gap)) is not None:
                evidence.append(Evidence(title(dataset), f"bi over {other}", sample, 1))
    return Claim(
        "The gap between bi and the other normalizations widens with heterogeneity.",
        f"growth of the gap in Overlap (points) {_a_step(scores)}",
        tuple(evidence),
        needs="seed with several levels",
    )


def _recovery_diminishes(scores: Scores, title: Callable[[str], str]) -> Claim:
    evidence = []
    for dataset in scores.datasets():
        for method in METHODS:

            def height(
                alpha: float, dataset: str = dataset, method: str = method
            ) -> dict[int, float]:
                return dict(scores.values.get(_exp1(dataset, alpha, method), {}))

            if (sample := slope(scores, dataset, height)) is not None:
                evidence.append(Evidence(title(dataset), method, sample, -1))
    return Claim(
        "Recovery of the balanced matrix diminishes with heterogeneity, whatever the method.",
        f"growth of the Overlap (points) {_a_step(scores)}",
        tuple(evidence),
        needs="seed with several levels",
    )


def _own_is_closest(scores: Scores, title: Callable[[str], str]) -> Claim:
    evidence = []
    for dataset in scores.datasets():
        for own in METHODS:
            for alpha in scores.alphas(dataset):
                item = _against_best(scores, _exp2(dataset, alpha, own), 1)
                if item is not None:
                    row = f"{title(dataset)}, GCM {own}"
                    evidence.append(Evidence(row, _level(alpha), item[0], 1, item[1]))
    return Claim(
        "Each geometric confusion matrix is closest to its own normalization.",
        "Overlap (points) of the GCM with its own normalization minus that with the best other "
        "(named); paired by seed",
        tuple(evidence),
        experiment=2,
        needs="imbalanced runs",
    )


def _own_grows(scores: Scores, title: Callable[[str], str]) -> Claim:
    evidence = []
    for dataset in scores.datasets():
        for own in _OTHERS:

            def height(alpha: float, dataset: str = dataset, own: str = own) -> dict[int, float]:
                return dict(scores.values.get(_exp2(dataset, alpha, own), {}))

            if (sample := slope(scores, dataset, height)) is not None:
                evidence.append(Evidence(title(dataset), f"GCM {own}", sample, 1))
    return Claim(
        "The Overlap of a GCM (row, col, all) with its own normalization grows with heterogeneity.",
        f"growth of the Overlap (points) {_a_step(scores)}",
        tuple(evidence),
        experiment=2,
        needs="seed with several levels",
    )


def _bi_is_weaker(scores: Scores, title: Callable[[str], str]) -> Claim:
    evidence = []
    for dataset in scores.datasets():
        for alpha in scores.alphas(dataset):
            own = [scores.values.get(_exp2(dataset, alpha, method), {}) for method in METHODS]
            seeds = sorted(set.intersection(*(set(values) for values in own)))
            if seeds:
                table = np.array([[values[seed] for seed in seeds] for values in own])
                sample = Sample(table[0] - table[1:].mean(axis=0))
                evidence.append(Evidence(title(dataset), _level(alpha), sample, -1))
    return Claim(
        "The correspondence of GCM and normalization is weaker for bi than for the others.",
        "Overlap (points) of GCM bi with bi, minus the mean of the other three with their own; "
        "paired by seed",
        tuple(evidence),
        experiment=2,
        needs="imbalanced runs",
    )


def _a_step(scores: Scores) -> str:
    levels = ", ".join(f"{alpha:g}" for alpha in levels_of(scores))
    return f"for each step of heterogeneity (α = {levels}); one line fitted a seed"


def _exp1(dataset: str, alpha: float, method: str) -> Question:
    return Question(dataset, alpha, "balanced", method, "overlap")


def _exp2(dataset: str, alpha: float, method: str) -> Question:
    return Question(dataset, alpha, f"gcm {method}", method, "overlap")


def _level(alpha: float) -> str:
    return f"α = {alpha:g}"


def _target(target: str) -> str:
    return {"balanced": "M1", "bi(balanced)": "bi(M1)"}.get(target, target)
