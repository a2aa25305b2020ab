"""The paper's claims, each as numbers with intervals and a verdict that follows from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from deconfuse.experiments.analysis import (
    METHODS,
    Question,
    Sample,
    Scores,
    difference,
    levels_of,
    slope,
)
from deconfuse.experiments.data_files import dataset_title

__all__ = ["LEAST_SEEDS", "Claim", "Evidence", "Support", "bi_is_best", "paper_claims"]

#: Fewer seeds than this give no verdict.
LEAST_SEEDS = 3

#: An interval that lies within half a point of zero is called near zero, on whichever side it is.
_NEAR_ZERO = 0.005

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
    near: float = _NEAR_ZERO

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
    in which. ``short`` is the claim in a few words, ``beside`` a sentence on what else there is.
    """

    number: str
    title: str
    short: str
    measured: str
    evidence: tuple[Evidence, ...]
    way: str = ""
    beside: str = ""

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
        return _verdict(self.evidence)


def _verdict(evidence: Sequence[Evidence]) -> str:
    counts = Counter(item.support for item in evidence)
    decided = len(evidence) - counts[Support.FEW]
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


def paper_claims(scores: Scores, control: Scores | None = None) -> list[Claim]:
    """Return every claim of the paper's experiments with its evidence.

    Parameters
    ----------
    scores : Scores
        Scores of all records; those of other grids make more ways to decide a claim.
    control : Scores, optional
        Scores of balanced runs of equal size, against which claim 3 is decided once more.
    """
    best = "Bi-normalization recovers the balanced matrix best, at each dataset and level."
    lowest = "Bi-normalization has the lowest KL divergence from the balanced matrix."
    found = [
        bi_is_best(scores, ("balanced", "overlap"), ("1", best)),
        _gap_widens(scores),
        _recovery_diminishes(scores),
        bi_is_best(scores, ("balanced", "kl"), ("4", lowest)),
        _own_is_closest(scores),
        _own_grows(scores),
        _bi_is_weaker(scores, "7", "read as lower Overlap"),
    ]
    more = [
        _recovery_diminishes(scores, control or Scores({})),
        _own_is_closest(scores, "shuffled "),
        _own_grows(scores, "equal-points "),
        _bi_is_weaker(scores, "7b", "read as a smaller lead"),
        _bi_is_weaker(scores, "7c", "lower Overlap, averaged grids"),
        _bi_is_weaker(scores, "7d", "smaller lead, averaged grids"),
    ]
    found += [claim for claim in more if claim.evidence]
    return sorted(found, key=lambda claim: claim.number)


def bi_is_best(scores: Scores, what: tuple[str, str], words: tuple[str, str]) -> Claim:
    """Return the claim that bi comes closest to a target, by a metric, everywhere.

    ``what`` is (target, metric), ``words`` the number of the claim and its sentence.
    """
    target, metric = what
    number, sentence = words
    sign = -1 if metric == "kl" else 1
    unit = "KL divergence (× 100)" if metric == "kl" else f"{metric} (points)".capitalize()
    named = {"balanced": "M1", "bi(balanced)": "bi(M1)"}.get(target, target)

    def lead(dataset: str, alpha: float, _: str) -> tuple[BySeed, str]:
        return _lead(scores, Question(dataset, alpha, target, "bi", metric), sign)

    return Claim(
        number,
        sentence,
        sentence.split(",")[0].removesuffix("."),
        f"{unit} of bi minus that of the best other (named), with the target {named}",
        _by_level(scores, sign, lead),
    )


def _gap_widens(scores: Scores) -> Claim:
    def gap(dataset: str, alpha: float, other: str) -> BySeed:
        bi = Question(dataset, alpha, "balanced", "bi", "overlap")
        return difference(scores.by_seed(bi), scores.by_seed(bi._replace(method=other)))

    return Claim(
        "2",
        "The gap between bi and the other normalizations widens with heterogeneity.",
        "Its lead widens with heterogeneity",
        f"growth of the gap in Overlap (points) {_a_step(scores)}",
        _by_growth(scores, (1, "bi over "), _OTHERS, gap),
    )


def _recovery_diminishes(scores: Scores, control: Scores | None = None) -> Claim:
    sentence = "Recovery of the balanced matrix diminishes with heterogeneity, whatever the method"
    measured = f"growth of the Overlap with M1 (points) {_a_step(scores)}"
    short = "Recovery diminishes with heterogeneity"

    def recovery(runs: Scores, dataset: str, alpha: float, method: str) -> BySeed:
        return runs.by_seed(Question(dataset, alpha, "balanced", method, "overlap"))

    def growth(value: Callable[[str, float, str], BySeed]) -> tuple[Evidence, ...]:
        return _by_growth(scores, (-1, ""), METHODS, value)

    if control is None:
        cells = growth(lambda *place: recovery(scores, *place))
        return Claim("3", f"{sentence}.", short, measured, cells)
    alone = growth(lambda *place: recovery(control, *place))
    way = "beyond what fewer samples do"
    return Claim(
        "3b",
        f"{sentence}, {way}.",
        short,
        f"{measured}, minus that of balanced controls of equal size",
        growth(lambda *place: difference(recovery(scores, *place), recovery(control, *place))),
        way,
        f"What fewer samples do, by the controls alone: {_means(alone)}.",
    )


def _own_is_closest(scores: Scores, beyond: str = "") -> Claim:
    def alone(dataset: str, alpha: float, own: str) -> tuple[BySeed, str]:
        return _lead(scores, _exp2(dataset, alpha, own, beyond))

    def lead(dataset: str, alpha: float, own: str) -> tuple[BySeed, str]:
        found, best = _lead(scores, _exp2(dataset, alpha, own))
        if beyond:
            found = difference(found, alone(dataset, alpha, own)[0])
        return found, best

    shuffled = _by_level(scores, 1, alone, METHODS) if beyond else ()

    measured = "Overlap (points) of the GCM with its own normalization minus that with the best "
    return Claim(
        "5b" if beyond else "5",
        "Each geometric confusion matrix is closest to its own normalization"
        + (", by more than with shuffled embeddings." if beyond else "."),
        "Each GCM is closest to its own normalization",
        measured + "other" + (", minus the same for shuffled embeddings" if beyond else " (named)"),
        _by_level(scores, 1, lead, METHODS),
        "beyond shuffled embeddings" if beyond else "",
        f"By shuffled embeddings alone, claim 5 {_verdict(shuffled)}." if shuffled else "",
    )


def _own_grows(scores: Scores, grid: str = "") -> Claim:
    def growth(kind: str) -> tuple[Evidence, ...]:
        def height(dataset: str, alpha: float, own: str) -> BySeed:
            seeds = scores.by_seed(_exp2(dataset, alpha, own, grid))
            found = scores.by_seed(_exp2(dataset, alpha, own, kind))
            return {seed: found[seed] for seed in found if seed in seeds}

        return _by_growth(scores, (1, "GCM "), _OTHERS, height)

    other = growth("" if grid else "shuffled ")
    beside = "With all points and the same seeds" if grid else "With shuffled embeddings"
    return Claim(
        "6b" if grid else "6",
        "The Overlap of a GCM (row, col, all) with its own normalization grows with heterogeneity"
        + (", at an equal number of points." if grid else "."),
        "A GCM's agreement grows with heterogeneity",
        f"growth of the Overlap (points) {_a_step(scores)}"
        + (", all levels of a seed cut to the fewest test points" if grid else ""),
        growth(grid),
        "at an equal number of points" if grid else "",
        f"{beside}: {_means(other)}." if other else "",
    )


def _bi_is_weaker(scores: Scores, number: str, way: str) -> Claim:
    grid = "averaged " if "averaged" in way else ""
    if "lead" in way:
        measured = (
            "lead (points) of GCM bi (its Overlap with bi minus that with the best other), minus "
            "the mean lead of the other three"
        )
    else:
        measured = (
            "Overlap (points) of GCM bi with bi, minus the mean of the other three with their own"
        )

    def gap(kind: str, dataset: str, alpha: float) -> BySeed:
        questions = [_exp2(dataset, alpha, method, kind) for method in METHODS]
        bi, *rest = (
            _lead(scores, question)[0] if "lead" in way else scores.by_seed(question)
            for question in questions
        )
        seeds = set(bi).intersection(*rest)
        return {s: bi[s] - float(np.mean([r[s] for r in rest])) for s in sorted(seeds)}

    def one_grid(dataset: str, alpha: float, _: str) -> tuple[BySeed, str]:
        found, seeds = gap("", dataset, alpha), gap(grid, dataset, alpha)
        return {seed: found[seed] for seed in found if seed in seeds}, ""

    same = _by_level(scores, -1, one_grid) if grid else ()
    return Claim(
        number,
        "The correspondence of GCM and normalization is weaker for bi than for the others "
        f"({way}).",
        "The correspondence is weaker for bi",
        measured,
        _by_level(scores, -1, lambda dataset, alpha, _: (gap(grid, dataset, alpha), "")),
        way,
        f"With the paper's one grid and the same seeds it {_verdict(same)}." if same else "",
    )


def _lead(scores: Scores, question: Question, sign: int = 1) -> tuple[BySeed, str]:
    """Return own minus best other by seed, and who that is: the other with the smallest gap."""
    own = scores.by_seed(question)
    gaps = {
        method: gap
        for method in METHODS
        if method != question.method
        and (gap := difference(own, scores.by_seed(question._replace(method=method))))
    }
    if not gaps:
        return {}, ""
    best = min(gaps, key=lambda method: sign * Sample.of(gaps[method]).mean)
    return gaps[best], best


def _by_level(
    scores: Scores,
    sign: int,
    value: Callable[[str, float, str], tuple[BySeed, str]],
    gcms: Iterable[str] = ("",),
) -> tuple[Evidence, ...]:
    """Return a cell for each dataset (and GCM) and level that has a number."""
    return tuple(
        Evidence(
            dataset_title(dataset) + (f", GCM {gcm}" if gcm else ""),
            f"α = {alpha:g}",
            Sample.of(numbers),
            sign,
            note,
        )
        for dataset in scores.datasets()
        for gcm in gcms
        for alpha in scores.alphas(dataset)
        for numbers, note in [value(dataset, alpha, gcm)]
        if numbers
    )


def _by_growth(
    scores: Scores,
    what: tuple[int, str],
    methods: Iterable[str],
    value: Callable[[str, float, str], BySeed],
) -> tuple[Evidence, ...]:
    """Return a cell for each dataset and method: the slope over levels.

    ``what`` is the sign that is claimed and how columns begin. Near zero is half a point over the
    whole range of levels.
    """
    sign, words = what
    near = _NEAR_ZERO / max(1, len(levels_of(scores)) - 1)
    evidence = []
    for dataset in scores.datasets():
        for method in methods:
            heights = {alpha: value(dataset, alpha, method) for alpha in scores.alphas(dataset)}
            sample = slope(scores, dataset, heights.__getitem__)
            if sample is not None:
                place = (dataset_title(dataset), f"{words}{method}")
                evidence.append(Evidence(*place, sample, sign, near=near))
    return tuple(evidence)


def _means(evidence: Iterable[Evidence]) -> str:
    """Return the means of cells in points, row by row."""
    rows: dict[str, list[str]] = {}
    for item in evidence:
        rows.setdefault(item.row, []).append(f"{item.column} {100 * item.sample.mean:+.1f}")
    return "; ".join(f"{row} {', '.join(cells)}" for row, cells in rows.items())


def _a_step(scores: Scores) -> str:
    levels = ", ".join(f"{alpha:g}" for alpha in levels_of(scores))
    return f"per step of α ({levels}), one line per seed"


def _exp2(dataset: str, alpha: float, method: str, grid: str = "") -> Question:
    return Question(dataset, alpha, f"{grid}gcm {method}", method, "overlap")
