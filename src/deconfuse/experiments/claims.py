"""The paper's claims, each as numbers with intervals and a verdict that follows from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
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
Title = Callable[[str], str]


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

    ``number`` is that of the claim, with a letter where it is decided in another way; ``way`` says
    in which. ``short`` is the claim in a few words.
    """

    number: str
    title: str
    short: str
    measured: str
    evidence: tuple[Evidence, ...]
    way: str = ""

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


def paper_claims(scores: Scores, title: Title, control: Scores | None = None) -> list[Claim]:
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
    found = [
        bi_is_best(
            scores,
            title,
            ("balanced", "overlap"),
            ("1", "Bi-normalization recovers the balanced matrix best, at each dataset and level."),
        ),
        _gap_widens(scores, title),
        _recovery_diminishes(scores, title),
        bi_is_best(
            scores,
            title,
            ("balanced", "kl"),
            ("4", "Bi-normalization has the lowest KL divergence from the balanced matrix."),
        ),
        _own_is_closest(scores, title),
        _own_grows(scores, title),
        _bi_is_weaker(scores, title),
    ]
    more = [
        _recovery_diminishes(scores, title, control or Scores({})),
        _own_is_closest(scores, title, beyond="shuffled "),
        _own_grows(scores, title, "equal-points "),
        _bi_leads_less(scores, title),
        _bi_is_weaker(scores, title, "averaged "),
        _bi_leads_less(scores, title, "averaged "),
    ]
    found += [claim for claim in more if claim.evidence]
    return sorted(found, key=lambda claim: claim.number)


def bi_is_best(
    scores: Scores, title: Title, what: tuple[str, str], words: tuple[str, str]
) -> Claim:
    """Return the claim that bi comes closest to a target, by a metric, everywhere.

    ``what`` is (target, metric), ``words`` the number of the claim and its sentence.
    """
    target, metric = what
    number, sentence = words
    sign = -1 if metric == "kl" else 1
    unit = "KL divergence (× 100)" if metric == "kl" else f"{metric} (points)"
    named = {"balanced": "M1", "bi(balanced)": "bi(M1)"}.get(target, target)
    return Claim(
        number,
        sentence,
        sentence.split(",")[0].removesuffix("."),
        f"{unit} of bi minus that of the best other (named), with the target {named}",
        _by_level(
            scores,
            title,
            sign,
            lambda dataset, alpha: _lead(
                scores, Question(dataset, alpha, target, "bi", metric), sign
            ),
        ),
    )


def _gap_widens(scores: Scores, title: Title) -> Claim:
    def gap(dataset: str, alpha: float, other: str) -> BySeed:
        bi = Question(dataset, alpha, "balanced", "bi", "overlap")
        return _difference(scores.by_seed(bi), scores.by_seed(bi._replace(method=other)))

    return Claim(
        "2",
        "The gap between bi and the other normalizations widens with heterogeneity.",
        "Its lead widens with heterogeneity",
        f"growth of the gap in Overlap (points) {_a_step(scores)}",
        _by_growth(scores, title, (1, "bi over "), _OTHERS, gap),
    )


def _recovery_diminishes(scores: Scores, title: Title, control: Scores | None = None) -> Claim:
    def height(dataset: str, alpha: float, method: str) -> BySeed:
        question = Question(dataset, alpha, "balanced", method, "overlap")
        own = scores.by_seed(question)
        return own if control is None else _difference(own, control.by_seed(question))

    beyond = "" if control is None else ", minus that of balanced controls of equal size"
    return Claim(
        "3" if control is None else "3b",
        "Recovery of the balanced matrix diminishes with heterogeneity, whatever the method"
        + ("." if control is None else ", beyond what fewer samples do."),
        "Recovery diminishes with heterogeneity",
        f"growth of the Overlap with M1 (points) {_a_step(scores)}{beyond}",
        _by_growth(scores, title, (-1, ""), METHODS, height),
        "" if control is None else "beyond what fewer samples do",
    )


def _own_is_closest(scores: Scores, title: Title, beyond: str = "") -> Claim:
    def lead(dataset: str, alpha: float, own: str) -> tuple[BySeed, str]:
        found, best = _lead(scores, _exp2(dataset, alpha, own))
        if beyond:
            found = _difference(found, _lead(scores, _exp2(dataset, alpha, own, beyond))[0])
        return found, best

    evidence = tuple(
        Evidence(f"{title(dataset)}, GCM {own}", f"α = {alpha:g}", Sample.of(numbers), 1, best)
        for dataset in scores.datasets()
        for own in METHODS
        for alpha in scores.alphas(dataset)
        for numbers, best in [lead(dataset, alpha, own)]
        if numbers
    )
    measured = "Overlap (points) of the GCM with its own normalization minus that with the best "
    return Claim(
        "5b" if beyond else "5",
        "Each geometric confusion matrix is closest to its own normalization"
        + (", by more than with shuffled embeddings." if beyond else "."),
        "Each GCM is closest to its own normalization",
        measured + "other" + (", minus the same for shuffled embeddings" if beyond else " (named)"),
        evidence,
        "beyond shuffled embeddings" if beyond else "",
    )


def _own_grows(scores: Scores, title: Title, grid: str = "") -> Claim:
    def height(dataset: str, alpha: float, own: str) -> BySeed:
        return scores.by_seed(_exp2(dataset, alpha, own, grid))

    return Claim(
        "6b" if grid else "6",
        "The Overlap of a GCM (row, col, all) with its own normalization grows with heterogeneity"
        + (", at an equal number of points." if grid else "."),
        "A GCM's agreement grows with heterogeneity",
        f"growth of the Overlap (points) {_a_step(scores)}"
        + (", all levels of a seed cut to the fewest test points" if grid else ""),
        _by_growth(scores, title, (1, "GCM "), _OTHERS, height),
        "at an equal number of points" if grid else "",
    )


def _bi_is_weaker(scores: Scores, title: Title, grid: str = "") -> Claim:
    def own(dataset: str, alpha: float, method: str) -> BySeed:
        return scores.by_seed(_exp2(dataset, alpha, method, grid))

    return _weaker(
        ("7c", "lower Overlap, averaged grids") if grid else ("7", "read as lower Overlap"),
        "Overlap (points) of GCM bi with bi, minus the mean of the other three with their own",
        _bi_against_rest(scores, title, own),
    )


def _bi_leads_less(scores: Scores, title: Title, grid: str = "") -> Claim:
    def lead(dataset: str, alpha: float, method: str) -> BySeed:
        return _lead(scores, _exp2(dataset, alpha, method, grid))[0]

    return _weaker(
        ("7d", "smaller lead, averaged grids") if grid else ("7b", "read as a smaller lead"),
        "lead (points) of GCM bi (its Overlap with bi minus that with the best other), minus the "
        "mean lead of the other three",
        _bi_against_rest(scores, title, lead),
    )


def _weaker(words: tuple[str, str], measured: str, evidence: tuple[Evidence, ...]) -> Claim:
    number, way = words
    return Claim(
        number,
        "The correspondence of GCM and normalization is weaker for bi than for the others "
        f"({way}).",
        "The correspondence is weaker for bi",
        measured,
        evidence,
        way,
    )


def _lead(scores: Scores, question: Question, sign: int = 1) -> tuple[BySeed, str]:
    """Return own minus best other by seed, and who that is: the other with the smallest gap."""
    own = scores.by_seed(question)
    gaps = {
        method: gap
        for method in METHODS
        if method != question.method
        and (gap := _difference(own, scores.by_seed(question._replace(method=method))))
    }
    if not gaps:
        return {}, ""
    best = min(gaps, key=lambda method: sign * Sample.of(gaps[method]).mean)
    return gaps[best], best


def _bi_against_rest(
    scores: Scores, title: Title, value: Callable[[str, float, str], BySeed]
) -> tuple[Evidence, ...]:
    """Compare a number of bi with its mean over the others, seed by seed."""

    def gap(dataset: str, alpha: float) -> tuple[BySeed, str]:
        bi, *rest = (value(dataset, alpha, method) for method in METHODS)
        seeds = set(bi).intersection(*rest)
        return {s: bi[s] - float(np.mean([r[s] for r in rest])) for s in sorted(seeds)}, ""

    return _by_level(scores, title, -1, gap)


def _by_level(
    scores: Scores,
    title: Title,
    sign: int,
    value: Callable[[str, float], tuple[BySeed, str]],
) -> tuple[Evidence, ...]:
    """Return a cell for each dataset and level that has a number."""
    return tuple(
        Evidence(title(dataset), f"α = {alpha:g}", Sample.of(numbers), sign, note)
        for dataset in scores.datasets()
        for alpha in scores.alphas(dataset)
        for numbers, note in [value(dataset, alpha)]
        if numbers
    )


def _by_growth(
    scores: Scores,
    title: Title,
    what: tuple[int, str],
    methods: Iterable[str],
    value: Callable[[str, float, str], BySeed],
) -> tuple[Evidence, ...]:
    """Return a cell for each dataset and method: the slope over levels.

    ``what`` is the sign that is claimed and how columns begin. Near zero is half a point over the
    whole range of levels.
    """
    sign, words = what
    near = NEAR_ZERO / max(1, len(levels_of(scores)) - 1)
    evidence = []
    for dataset in scores.datasets():
        for method in methods:
            heights = {alpha: value(dataset, alpha, method) for alpha in scores.alphas(dataset)}
            sample = slope(scores, dataset, heights.__getitem__)
            if sample is not None:
                place = (title(dataset), f"{words}{method}")
                evidence.append(Evidence(*place, sample, sign, near=near))
    return tuple(evidence)


def _difference(one: BySeed, other: BySeed) -> BySeed:
    return {seed: one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())}


def _a_step(scores: Scores) -> str:
    levels = ", ".join(f"{alpha:g}" for alpha in levels_of(scores))
    return f"per step of α ({levels}), one line per seed"


def _exp2(dataset: str, alpha: float, method: str, grid: str = "") -> Question:
    return Question(dataset, alpha, f"{grid}gcm {method}", method, "overlap")
