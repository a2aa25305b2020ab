"""The paper's claims, each as numbers with intervals and a verdict that follows from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from deconfuse.experiments.analysis import METHODS, Question, Sample, Scores, levels_of, slope

__all__ = ["LEAST_SEEDS", "NEAR_ZERO", "Claim", "Evidence", "Support", "bi_is_best", "paper_claims"]

#: Fewer seeds than this give no verdict.
LEAST_SEEDS = 3

#: An interval that lies within half a point of zero is called near zero, on whichever side it is.
NEAR_ZERO = 0.005

_OTHERS = tuple(method for method in METHODS if method != "bi")

BySeed = Mapping[int, float]


class Support(Enum):
    """What one piece of evidence says of a claim."""

    YES = "holds"
    ZERO = "near zero"
    UNCLEAR = "unclear"
    NO = "the opposite"
    FEW = "too few seeds"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One cell of a claim's table: a number that must have the sign the claim says."""

    row: str
    column: str
    sample: Sample
    sign: int
    note: str = ""
    near: float = NEAR_ZERO

    @property
    def support(self) -> Support:
        """Where the interval over seeds lies: on the claimed side of zero, near zero, or else."""
        if self.sample.n < LEAST_SEEDS:
            return Support.FEW
        low, high = sorted(self.sign * bound for bound in self.sample.interval())
        if max(abs(low), abs(high)) <= self.near:
            return Support.ZERO
        if low > 0:
            return Support.YES
        return Support.NO if high < 0 else Support.UNCLEAR


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of the paper: what it says, what is measured for it, and what came out.

    ``number`` is that of the claim, with a letter where it is decided in another way;
    ``experiment`` is the paper's number of the experiment that it rests on; ``needs`` says what
    there must be for any evidence.
    """

    number: str
    title: str
    measured: str
    evidence: tuple[Evidence, ...]
    experiment: int = 1
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
        """``holds``, ``holds in part``, ``does not hold``, each with counts, or ``not decided``.

        A claim that holds in less than half of its cells does not hold.
        """
        if not self.evidence:
            return f"not decided (no {self.needs})"
        counts = Counter(item.support for item in self.evidence)
        decided = len(self.evidence) - counts[Support.FEW]
        if not decided:
            return f"not decided (fewer than {LEAST_SEEDS} seeds)"
        yes = counts[Support.YES]
        if yes == decided:
            return f"holds ({yes} of {decided} cells)"
        words = "holds in part" if 2 * yes >= decided else "does not hold"
        rest = ", ".join(
            f"{counts[support]} {support.value}"
            for support in (Support.ZERO, Support.UNCLEAR, Support.NO)
            if counts[support]
        )
        return f"{words} ({yes} of {decided} cells; {rest})"

    @property
    def basis(self) -> dict[str, tuple[int, int]]:
        """The fewest and the most seeds behind a cell, for each dataset."""
        seeds: dict[str, list[int]] = {}
        for item in self.evidence:
            seeds.setdefault(item.row.split(", GCM")[0], []).append(item.sample.n)
        return {row: (min(counts), max(counts)) for row, counts in seeds.items()}


def paper_claims(
    scores: Scores, title: Callable[[str], str], control: Scores | None = None
) -> list[Claim]:
    """Return every claim of the paper's experiments with its evidence.

    Parameters
    ----------
    scores : Scores
        Scores of all records; those of other grids make more ways to decide a claim.
    title : callable
        Turns a dataset's name into what tables call it.
    control : Scores, optional
        Scores of balanced runs of equal size, against which claim 3 is decided once more.
    """
    always = [
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
            number="4",
        ),
        _own_is_closest(scores, title),
        _own_grows(scores, title),
        _bi_is_weaker(scores, title),
    ]
    where_measured = [
        _recovery_diminishes(scores, title, control or Scores({})),
        _own_is_closest(scores, title, beyond="shuffled "),
        _own_grows(scores, title, "equal-points "),
        _bi_is_weaker(scores, title, "averaged "),
        _bi_leads_less(scores, title),
        _bi_leads_less(scores, title, "averaged "),
    ]
    found = [*always, *(claim for claim in where_measured if claim.evidence)]
    return sorted(found, key=lambda claim: claim.number)


def bi_is_best(
    scores: Scores,
    title: Callable[[str], str],
    what: tuple[str, str],
    sentence: str,
    number: str = "1",
) -> Claim:
    """Return the claim that bi comes closest to a target, by a metric, everywhere.

    Parameters
    ----------
    scores : Scores
        Scores of all records.
    title : callable
        Turns a dataset's name into what tables call it.
    what : (target, metric)
        How closeness is measured.
    sentence : str
        The claim in words.
    number : str
        The number of the claim.
    """
    target, metric = what
    sign = -1 if metric == "kl" else 1
    evidence = []
    for dataset in scores.datasets():
        for alpha in scores.alphas(dataset):
            lead, best = _lead(scores, Question(dataset, alpha, target, "bi", metric), sign)
            if lead:
                row, column = title(dataset), _level(alpha)
                evidence.append(Evidence(row, column, _sample(lead), sign, best))
    unit = "KL divergence (× 100)" if metric == "kl" else f"{metric} (points)"
    measured = f"{unit} of bi minus that of the best other (named), with the target "
    return Claim(number, sentence, measured + _target(target), tuple(evidence))


def _lead(scores: Scores, question: Question, sign: int = 1) -> tuple[BySeed, str]:
    """Return own minus best other by seed, and who that is: the other with the smallest gap."""
    own = scores.values.get(question, {})
    gaps = {
        method: gap
        for method in METHODS
        if method != question.method
        and (gap := _difference(own, scores.values.get(question._replace(method=method), {})))
    }
    if not gaps:
        return {}, ""
    best = min(gaps, key=lambda method: sign * _sample(gaps[method]).mean)
    return gaps[best], best


def _gap_widens(scores: Scores, title: Callable[[str], str]) -> Claim:
    evidence = []
    for dataset in scores.datasets():
        for other in _OTHERS:

            def gap(alpha: float, dataset: str = dataset, other: str = other) -> BySeed:
                one, two = (
                    scores.values.get(_exp1(dataset, alpha, method), {}) for method in ("bi", other)
                )
                return _difference(one, two)

            evidence += _growth(scores, (title(dataset), f"bi over {other}", 1), dataset, gap)
    return Claim(
        "2",
        "The gap between bi and the other normalizations widens with heterogeneity.",
        f"growth of the gap in Overlap (points) {_a_step(scores)}",
        tuple(evidence),
        needs="seed with several levels",
    )


def _recovery_diminishes(
    scores: Scores, title: Callable[[str], str], control: Scores | None = None
) -> Claim:
    evidence = []
    for dataset in scores.datasets():
        for method in METHODS:

            def height(alpha: float, dataset: str = dataset, method: str = method) -> BySeed:
                question = _exp1(dataset, alpha, method)
                own = scores.values.get(question, {})
                return (
                    own if control is None else _difference(own, control.values.get(question, {}))
                )

            evidence += _growth(scores, (title(dataset), method, -1), dataset, height)
    measured = f"growth of the Overlap with M1 (points) {_a_step(scores)}"
    if control is not None:
        measured += ", minus that of balanced controls of equal size"
    return Claim(
        "3" if control is None else "3b",
        "Recovery of the balanced matrix diminishes with heterogeneity, whatever the method"
        + ("." if control is None else ", beyond what fewer samples do."),
        measured,
        tuple(evidence),
        needs="seed with several levels",
    )


def _own_is_closest(scores: Scores, title: Callable[[str], str], beyond: str = "") -> Claim:
    evidence = []
    for dataset in scores.datasets():
        for own in METHODS:
            for alpha in scores.alphas(dataset):
                lead, best = _lead(scores, _exp2(dataset, alpha, own))
                if beyond:
                    lead = _difference(lead, _lead(scores, _exp2(dataset, alpha, own, beyond))[0])
                if lead:
                    row = f"{title(dataset)}, GCM {own}"
                    evidence.append(Evidence(row, _level(alpha), _sample(lead), 1, best))
    measured = "Overlap (points) of the GCM with its own normalization minus that with the best "
    return Claim(
        "5b" if beyond else "5",
        "Each geometric confusion matrix is closest to its own normalization"
        + (", by more than with shuffled embeddings." if beyond else "."),
        measured + "other" + (", minus the same for shuffled embeddings" if beyond else " (named)"),
        tuple(evidence),
        experiment=2,
        needs="imbalanced runs",
    )


def _own_grows(scores: Scores, title: Callable[[str], str], grid: str = "") -> Claim:
    evidence = []
    for dataset in scores.datasets():
        for own in _OTHERS:

            def height(alpha: float, dataset: str = dataset, own: str = own) -> BySeed:
                return scores.values.get(_exp2(dataset, alpha, own, grid), {})

            evidence += _growth(scores, (title(dataset), f"GCM {own}", 1), dataset, height)
    return Claim(
        "6b" if grid else "6",
        "The Overlap of a GCM (row, col, all) with its own normalization grows with heterogeneity"
        + (", at an equal number of points." if grid else "."),
        f"growth of the Overlap (points) {_a_step(scores)}"
        + (", all levels of a seed cut to the fewest test points" if grid else ""),
        tuple(evidence),
        experiment=2,
        needs="seed with several levels",
    )


def _bi_is_weaker(scores: Scores, title: Callable[[str], str], grid: str = "") -> Claim:
    def own(dataset: str, alpha: float, method: str) -> BySeed:
        return scores.values.get(_exp2(dataset, alpha, method, grid), {})

    return Claim(
        "7c" if grid else "7",
        "The correspondence of GCM and normalization is weaker for bi than for the others"
        + (" (lower Overlap, averaged grids)." if grid else " (read as: lower Overlap)."),
        "Overlap (points) of GCM bi with bi, minus the mean of the other three with their own",
        _bi_against_rest(scores, title, own),
        experiment=2,
        needs="imbalanced runs",
    )


def _bi_leads_less(scores: Scores, title: Callable[[str], str], grid: str = "") -> Claim:
    def lead(dataset: str, alpha: float, method: str) -> BySeed:
        return _lead(scores, _exp2(dataset, alpha, method, grid))[0]

    return Claim(
        "7d" if grid else "7b",
        "The correspondence of GCM and normalization is weaker for bi than for the others"
        + (" (smaller lead, averaged grids)." if grid else " (read as: smaller lead)."),
        "lead (points) of GCM bi (its Overlap with bi minus that with the best other), minus the "
        "mean lead of the other three",
        _bi_against_rest(scores, title, lead),
        experiment=2,
        needs="imbalanced runs",
    )


def _bi_against_rest(
    scores: Scores, title: Callable[[str], str], value: Callable[[str, float, str], BySeed]
) -> tuple[Evidence, ...]:
    """Compare a number of bi with its mean over the others, seed by seed."""
    evidence = []
    for dataset in scores.datasets():
        for alpha in scores.alphas(dataset):
            columns = [value(dataset, alpha, method) for method in METHODS]
            seeds = sorted(set.intersection(*(set(column) for column in columns)))
            if seeds:
                table = np.array([[column[seed] for seed in seeds] for column in columns])
                sample = Sample(table[0] - table[1:].mean(axis=0))
                evidence.append(Evidence(title(dataset), _level(alpha), sample, -1))
    return tuple(evidence)


def _growth(
    scores: Scores,
    place: tuple[str, str, int],
    dataset: str,
    value: Callable[[float], BySeed],
) -> list[Evidence]:
    """Return the evidence of a slope over levels; half a point is over the whole range of them."""
    row, column, sign = place
    sample = slope(scores, dataset, value)
    near = NEAR_ZERO / max(1, len(levels_of(scores)) - 1)
    return [] if sample is None else [Evidence(row, column, sample, sign, near=near)]


def _difference(one: BySeed, other: BySeed) -> BySeed:
    return {seed: one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())}


def _sample(values: BySeed) -> Sample:
    return Sample(np.array(list(values.values())))


def _a_step(scores: Scores) -> str:
    levels = ", ".join(f"{alpha:g}" for alpha in levels_of(scores))
    return f"per step of α ({levels}), one line per seed"


def _exp1(dataset: str, alpha: float, method: str) -> Question:
    return Question(dataset, alpha, "balanced", method, "overlap")


def _exp2(dataset: str, alpha: float, method: str, grid: str = "") -> Question:
    return Question(dataset, alpha, f"{grid}gcm {method}", method, "overlap")


def _level(alpha: float) -> str:
    return f"α = {alpha:g}"


def _target(target: str) -> str:
    return {"balanced": "M1", "bi(balanced)": "bi(M1)"}.get(target, target)
