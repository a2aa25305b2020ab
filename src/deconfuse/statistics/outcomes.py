"""Measure how often each outcome (an answer that is no class) occurs, and compare classes.

Given that a class was named, what was named is the square of the confusion matrix alone, and
whether a class was named at all is one share per true class. So outcomes have rates of their own,
and change nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from deconfuse._checks import Label
from deconfuse._text import count_text, percent_text, quoted
from deconfuse.confusion import ConfusionMatrix
from deconfuse.statistics.cells import adjust
from deconfuse.statistics.findings import Finding
from deconfuse.statistics.metrics import wilson
from deconfuse.statistics.score_differences import ScoreDifference, share_difference

__all__ = [
    "OutcomeChange",
    "OutcomeRate",
    "OutcomeRates",
    "outcome_changes",
    "outcome_findings",
    "outcome_rates",
]

FloatArray = NDArray[np.float64]
# The rates of two matrices, and how many samples each stands for.
_TwoRates = tuple[tuple[float, float], tuple[float, float]]

# Draws of the test that all classes have one rate; its smallest p-value is one over this.
_DRAWS = 1_999
_SEED = 0


@dataclass(frozen=True, slots=True)
class OutcomeRate:
    """How often one outcome occurs in one class.

    Attributes
    ----------
    label : bool, int, str or date
        The true class; the predicted class where ``side`` is "background".
    outcome : str
    side : {"answer", "background"}
        "answer": the share of the samples of a true class that got this outcome instead of a
        class. "background": the share of the predictions of a class made where nothing was there.
    count, total : float
        Samples with the outcome, and samples of the class.
    rate, low, high : float
        The share with its interval; NaN for a class without samples.
    others : float
        The rate of all other classes together.
    p_value : float
        Of no difference from the other classes, corrected for the number of classes.
    """

    label: Label
    outcome: str
    side: str
    count: float
    total: float
    rate: float
    low: float
    high: float
    others: float
    p_value: float


@dataclass(frozen=True, slots=True)
class OutcomeRates(Sequence[OutcomeRate]):
    """The rates of all outcomes, per class.

    Attributes
    ----------
    rates : tuple of OutcomeRate
    coverage : float
        Share of the samples of a class for which a class was named.
    coverage_interval : (float, float)
    p_values : dict of (outcome, side) to float
        Of no difference in the rate between classes.
    unit : float
        Effective samples per unit of weight; 1 without weights.
    """

    rates: tuple[OutcomeRate, ...]
    coverage: float
    coverage_interval: tuple[float, float]
    p_values: dict[tuple[str, str], float]
    unit: float

    @overload
    def __getitem__(self, index: int) -> OutcomeRate: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[OutcomeRate, ...]: ...
    def __getitem__(self, index: int | slice) -> OutcomeRate | tuple[OutcomeRate, ...]:
        return self.rates[index]

    def __len__(self) -> int:
        return len(self.rates)


def outcome_rates(cm: ConfusionMatrix, level: float = 0.95) -> OutcomeRates:
    """Return how often each outcome occurs per class, with intervals and tests.

    Notes
    -----
    Without outcomes there are no rates, and the coverage is one. Intervals are Wilson's. A class is
    tested against all others by Fisher's exact test, corrected by Holm's method. Whether any
    classes differ is the chi-square statistic among tables with the same margins. Weighted counts
    enter as their effective numbers of samples.

    Examples
    --------
    >>> import deconfuse as dc
    >>> cm = dc.ConfusionMatrix.from_predictions(
    ...     ["a"] * 50 + ["b"] * 50, ["a"] * 50 + ["b"] * 26 + ["refused"] * 24,
    ...     outcomes=["refused"],
    ... )
    >>> rate = outcome_rates(cm)[1]
    >>> rate.label, rate.rate, rate.others, rate.p_value < 0.001
    ('b', 0.48, 0.0, True)
    """
    unit = _unit(cm)
    sides = _sides(cm)
    rates: list[OutcomeRate] = []
    p_values: dict[tuple[str, str], float] = {}
    for side, (counts, totals) in sides.items():
        for k, outcome in enumerate(cm.outcomes):
            if counts[:, k].any():
                rates += _rates_of(cm.labels, outcome, side, (counts[:, k], totals), level, unit)
                p_values[outcome, side] = _p_of_equal_rates(counts[:, k] * unit, totals * unit)
    total = float(sides["answer"][1].sum())
    answered = float(cm.label_counts.astype(np.float64).sum())
    coverage = answered / total if total else float("nan")
    interval = _interval(coverage, total * unit, level)
    return OutcomeRates(tuple(rates), coverage, interval, p_values, unit)


def _sides(cm: ConfusionMatrix) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return how many samples of each class have each outcome, and how many there are of each."""
    said = cm.outcome_counts.astype(np.float64)
    background = cm.background_counts.T.astype(np.float64)
    return {
        "answer": (said, cm.label_counts + said.sum(axis=1)),
        "background": (background, cm.prediction_counts + background.sum(axis=1)),
    }


def _interval(share: float, n: float, level: float) -> tuple[float, float]:
    low, high = wilson(np.array([share]), np.array([n]), float(ndtri(0.5 + level / 2)))
    return float(low[0]), float(high[0])


@dataclass(frozen=True, slots=True)
class OutcomeChange:
    """How often one outcome occurs in two matrices, with equal class shares on both sides.

    Attributes
    ----------
    outcome : str
    side : {"answer", "background"}
        As in `OutcomeRate`.
    first, second : float
        The rate in each matrix: the mean over the classes, weighted alike on both sides.
    difference, low, high : float
        Second minus first, with its interval.
    p_value : float
        Of no difference, corrected for the number of outcomes.
    """

    outcome: str
    side: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float


def outcome_changes(
    first: ConfusionMatrix, second: ConfusionMatrix, level: float = 0.95
) -> tuple[OutcomeChange, ...]:
    """Return how the rate of every outcome differs between two matrices of the same classes.

    Notes
    -----
    Rates are compared within each class and averaged with the weights of Mantel and Haenszel, so
    that a changed mix of classes alone changes nothing. Intervals are Newcombe's, for independent
    samples: of the same samples they are wider than they need to be. P-values are those at which
    the interval begins to hold zero, corrected by Holm's method.

    Examples
    --------
    >>> import deconfuse as dc
    >>> before, after = (
    ...     dc.ConfusionMatrix.from_predictions(
    ...         ["a"] * 100, ["a"] * (100 - n) + ["refused"] * n, outcomes=["refused"]
    ...     )
    ...     for n in (5, 30)
    ... )
    >>> (change,) = outcome_changes(before, after)
    >>> round(change.difference, 2), change.p_value < 0.001
    (0.25, True)
    """
    found = []
    for outcome in dict.fromkeys((*first.outcomes, *second.outcomes)):
        for side in ("answer", "background"):
            tables = [_outcome_table(cm, outcome, side) for cm in (first, second)]
            is_seen = any(counts.any() for counts, _ in tables)
            if is_seen and all(totals.any() for _, totals in tables):
                shares, samples = _at_equal_shares(tables)
                found.append((outcome, side, share_difference(shares, samples, level)))
    corrected = adjust(np.array([change.p_value for *_, change in found]), "holm")
    return tuple(
        OutcomeChange(
            outcome,
            side,
            *(change.first, change.second, change.difference, change.low, change.high),
            float(p_value),
        )
        for (outcome, side, change), p_value in zip(found, corrected, strict=True)
    )


def right_of_all(
    first: ConfusionMatrix, second: ConfusionMatrix, level: float, *, equal_shares: bool
) -> ScoreDifference:
    """Return how many of all samples are right, where an answer that is no class is not.

    With ``equal_shares``, classes are weighted alike on both sides, since the labels differ.

    Examples
    --------
    >>> import deconfuse as dc
    >>> counts = [[70, 30], [0, 0]], [[95, 5], [0, 0]]
    >>> before, after = (
    ...     dc.ConfusionMatrix.from_counts(c, ["a", "no"]).treat_as_outcome("no") for c in counts
    ... )
    >>> found = right_of_all(before, after, 0.95, equal_shares=False)
    >>> found.first, found.second, found.p_value < 0.001
    (0.7, 0.95, True)
    """
    tables = []
    for cm in (first, second):
        hits, totals = cm.counts.diagonal(), _sides(cm)["answer"][1]
        tables.append((hits * _unit(cm), totals * _unit(cm)))
    rates = _at_equal_shares(tables) if equal_shares else _of_all(tables)
    return share_difference(*rates, level)


def _outcome_table(cm: ConfusionMatrix, outcome: str, side: str) -> tuple[FloatArray, FloatArray]:
    """Return the samples of each class with the outcome, and all of each, as effective samples."""
    said, totals = _sides(cm)[side]
    counts = np.zeros(cm.n_classes)
    if outcome in cm.outcomes:
        counts = said[:, cm.outcomes.index(outcome)]
    return counts * _unit(cm), totals * _unit(cm)


def _at_equal_shares(tables: list[tuple[FloatArray, FloatArray]]) -> _TwoRates:
    """Return the mean rate of both sides, and how many samples each stands for."""
    (_, n), (_, m) = tables
    both = (n > 0) & (m > 0)
    if not both.any():
        return _of_all(tables)
    weights = np.divide(n * m, n + m, out=np.zeros_like(n), where=both)
    weights /= weights.sum()
    shares = [float((weights[both] * c[both] / t[both]).sum()) for c, t in tables]
    samples = [float(1 / (weights[both] ** 2 / t[both]).sum()) for _, t in tables]
    return (shares[0], shares[1]), (samples[0], samples[1])


def _of_all(tables: list[tuple[FloatArray, FloatArray]]) -> _TwoRates:
    """Return the rate of all samples of both sides, and how many these are."""
    (one, n), (other, m) = ((float(c.sum()), float(t.sum())) for c, t in tables)
    return (one / n, other / m), (n, m)


def _unit(cm: ConfusionMatrix) -> float:
    """Return the effective number of samples per unit of weight."""
    spread = float(cm.variances.sum())
    return float(cm.total) / spread if cm.is_weighted and spread > 0 else 1.0


def _rates_of(
    labels: Sequence[Label],
    outcome: str,
    side: str,
    table: tuple[FloatArray, FloatArray],
    level: float,
    unit: float,
) -> list[OutcomeRate]:
    counts, totals = table
    with np.errstate(invalid="ignore"):
        rates = counts / totals
        others = (counts.sum() - counts) / (totals.sum() - totals)
    low, high = wilson(rates, totals * unit, float(ndtri(0.5 + level / 2)))
    tested = counts * unit, totals * unit
    sums = tested[0].sum(), tested[1].sum()
    raw = [_p_against_others(c, n, *sums) for c, n in zip(*tested, strict=True)]
    columns = (counts, totals, rates, low, high, others, adjust(np.array(raw), "holm"))
    return [
        OutcomeRate(label, outcome, side, *(float(column[k]) for column in columns))
        for k, label in enumerate(labels)
    ]


def _p_against_others(count: float, total: float, all_counts: float, all_totals: float) -> float:
    from scipy.stats import fisher_exact

    table = [
        [round(count), round(total - count)],
        [round(all_counts - count), round(all_totals - total - all_counts + count)],
    ]
    return float(fisher_exact(table).pvalue) if total and total < all_totals else 1.0


def _p_of_equal_rates(counts: FloatArray, totals: FloatArray) -> float:
    """Return the p-value of one rate for all classes, exact given the margins, by draws."""
    sizes = np.rint(totals).astype(np.int64)
    n_outcome = int(np.rint(counts).sum())
    if (sizes > 0).sum() < 2 or not 0 < n_outcome < sizes.sum():
        return 1.0
    expected = sizes * (n_outcome / sizes.sum())

    def statistic(drawn: FloatArray) -> FloatArray:
        return ((drawn - expected)[..., sizes > 0] ** 2 / expected[sizes > 0]).sum(axis=-1)

    rng = np.random.default_rng(_SEED)
    draws = rng.multivariate_hypergeometric(sizes, n_outcome, size=_DRAWS, method="marginals")
    seen = statistic(np.rint(counts))
    return float((1 + (statistic(draws.astype(np.float64)) >= seen - 1e-9).sum()) / (1 + _DRAWS))


def outcome_findings(rates: OutcomeRates, level: float) -> tuple[Finding, ...]:
    """Return what is said of outcomes: classes in which one is more frequent, else its total."""
    found = []
    for (outcome, side), p_value in rates.p_values.items():
        chosen = [r for r in rates.rates if (r.outcome, r.side) == (outcome, side) and r.total > 0]
        frequent = [r for r in chosen if r.rate > r.others and r.p_value < 1 - level]
        if p_value < 1 - level and frequent:
            ordered = sorted(frequent, key=lambda rate: -rate.low)
            found += [_class_finding(rate) for rate in ordered]
        else:
            found.append(_total_finding(chosen, level, rates.unit))
    return tuple(sorted(found, key=lambda finding: not finding.classes))


def _class_finding(rate: OutcomeRate) -> Finding:
    sentence = (
        f"{_occurrence(rate, rate.count, rate.total)} of {quoted(rate.label)}:"
        f" {_percent(rate.rate, rate.low, rate.high)}, for the other classes together"
        f" {percent_text(rate.others)}."
    )
    if rate.side == "answer":
        advice = (
            "Look at these samples first. Accuracy, similarity and prediction bias are those of"
            " the samples for which a class was named."
        )
    else:
        advice = "Look at these predictions: nothing of a class was there. A threshold may help."
    cell = (rate.label, rate.outcome) if rate.side == "answer" else (rate.outcome, rate.label)
    return Finding("outcome", min(rate.rate, 1.0), sentence, advice, (rate.label,), (cell,))


def _total_finding(chosen: Sequence[OutcomeRate], level: float, unit: float) -> Finding:
    count, total = sum(rate.count for rate in chosen), sum(rate.total for rate in chosen)
    share = count / total
    sentence = (
        f"{_occurrence(chosen[0], count, total)}:"
        f" {_percent(share, *_interval(share, total * unit, level))}. No class is shown to get it"
        " more often."
    )
    return Finding("outcome", min(share, 1.0), sentence, "", ())


def _occurrence(rate: OutcomeRate, count: float, total: float) -> str:
    outcome, of = quoted(rate.outcome), f"{count_text(count)} of {count_text(total)}"
    if rate.side == "answer":
        return f"{outcome} is the answer for {of} samples"
    return f"The label is {outcome} in {of} predictions"


def _percent(share: float, low: float, high: float) -> str:
    return f"{percent_text(share)} ({percent_text(low)} to {percent_text(high)})"
