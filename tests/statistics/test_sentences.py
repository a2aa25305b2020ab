"""Every sentence of a diagnosis is parsed back and compared with the counts that it speaks of."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from deconfuse import ConfusionMatrix, diagnose, estimate_bi, load_example
from deconfuse.demo import make_demo
from deconfuse.statistics.diagnosis import Diagnosis
from deconfuse.statistics.findings import Finding
from deconfuse.statistics.metrics import guessing
from deconfuse.statistics.reliability import Reliability
from deconfuse.statistics.similarity import LookAlike

NUMBER = r"([\d,.]+(?:×10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?|inf)"
NAME = r"“([^”]*)”"
INTERVAL = rf"{NUMBER} \({NUMBER} to {NUMBER}\)"
_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def number(text: str) -> float:
    mantissa, _, power = text.rstrip(".,").replace(",", "").partition("×10")
    return float(mantissa) * 10.0 ** int(power.translate(_DIGITS) or 0)


def near(text: str, value: float, rel: float = 0.051) -> bool:
    """Return whether a number that is told with two digits is this value."""
    return number(text) == pytest.approx(value, rel=rel, abs=1e-12)


def same(text: str, value: float) -> bool:
    """Return whether a count is this one: exactly, or in six digits where it is a weight."""
    rel = 1e-12 if float(value).is_integer() else 6e-3 if value >= 1e6 or value < 1e-4 else 6e-6
    return number(text) == pytest.approx(value, rel=rel)


class Counts:
    """Everything a sentence can speak of, computed from the counts alone."""

    def __init__(self, cm: ConfusionMatrix) -> None:
        self.cm = cm
        self.at = {str(label): k for k, label in enumerate(cm.labels)}
        self.counts = np.asarray(cm.counts, dtype=float)
        self.said = np.asarray(cm.outcome_counts, dtype=float)
        self.missed = np.asarray(cm.background_counts, dtype=float)
        self.outcomes = cm.outcomes
        self.labels, self.predictions = self.counts.sum(axis=1), self.counts.sum(axis=0)

    def __getitem__(self, cell: tuple[str, str]) -> float:
        return float(self.counts[self.at[cell[0]], self.at[cell[1]]])

    @cached_property
    def estimated(self) -> NDArray[np.float64]:
        """The similarities of all classes that are labels and predictions, NaN elsewhere."""
        kept = np.ix_(self.both_sides, self.both_sides)
        b = estimate_bi(self.part).matrix
        similarity = np.full_like(self.counts, np.nan)
        similarity[kept] = np.sqrt(b * b.T / np.outer(np.diag(b), np.diag(b)))
        return similarity

    def similarity(self, one: str, other: str) -> float:
        return float(self.estimated[self.at[one], self.at[other]])

    @property
    def median(self) -> float:
        kept = self.both_sides
        pairs = np.sort(self.estimated[np.ix_(kept, kept)][np.triu_indices(len(kept), 1)])
        return float(pairs[len(pairs) // 2])

    @property
    def part(self) -> ConfusionMatrix:
        """The classes that are labels and predictions."""
        return self.cm.subset([self.cm.labels[k] for k in self.both_sides])

    @property
    def n_errors(self) -> int:
        """Cells with errors."""
        return int(np.count_nonzero(self.counts) - np.count_nonzero(np.diag(self.counts)))

    @cached_property
    def every_pair(self) -> Diagnosis:
        """The diagnosis with all pairs, of classes that are labels and predictions."""
        return diagnose(self.cm, n_pairs=len(self.counts) ** 2)

    @cached_property
    def reliability(self) -> Reliability:
        """What is said of the classes that are labels and predictions alone."""
        epsilon = self.every_pair.epsilon
        return diagnose(self.part, epsilon=epsilon).reliability

    def may_be_similar(self, pair: LookAlike, d: Diagnosis) -> bool:
        """Return whether a pair may be as similar as the surest one, and can be told at all."""
        surest = d.look_alikes[:1]
        bar = surest[0].similarity if surest else 2 * d.typical_similarity
        verdicts = {bias.label: bias.verdict for bias in d.biases}
        is_known = "never right" not in (verdicts[pair.first], verdicts[pair.second])
        return pair.high > bar and pair.count + pair.reverse_count >= 3 and is_known

    @property
    def errors_of_a_pair(self) -> float:
        """Errors of the average pair, among classes that are labels and predictions."""
        part = self.counts[np.ix_(self.both_sides, self.both_sides)]
        return float((part.sum() - np.trace(part)) / math.comb(len(part), 2))

    def rank(self, one: str, other: str) -> int:
        """Return the rank by confusions, among classes that are labels and predictions."""
        both = self.both_sides
        together = np.triu(self.counts + self.counts.T, 1)[np.ix_(both, both)]
        return 1 + int((together > self[one, other] + self[other, one]).sum())

    @property
    def both_sides(self) -> NDArray[np.intp]:
        return self.on_both_sides(np.arange(len(self.counts)))

    def on_both_sides(self, kept: NDArray[np.intp]) -> NDArray[np.intp]:
        while True:
            part = self.counts[np.ix_(kept, kept)]
            inside = (part.sum(axis=0) > 0) & (part.sum(axis=1) > 0)
            if inside.all() or not inside.any():
                return kept
            kept = kept[inside]

    @property
    def never_right(self) -> NDArray[np.bool_]:
        """Which classes have ten effective labels, and predictions, and no hit."""
        return (np.diag(self.counts) == 0) & (self.effective_labels >= 10) & (self.predictions > 0)

    @property
    def effective_labels(self) -> NDArray[np.float64]:
        squares = np.asarray(self.cm.variances.sum(axis=1), dtype=float)
        return np.divide(self.labels**2, squares, out=np.zeros(len(squares)), where=squares > 0)

    @property
    def compared(self) -> NDArray[np.intp]:
        """The classes whose bias is told."""
        return self.on_both_sides(np.flatnonzero(~self.never_right))

    def ratio(self, name: str) -> float:
        kept = self.compared
        part = self.counts[np.ix_(kept, kept)]
        shares = part / part.sum(axis=1, keepdims=True)
        return float(shares.sum(axis=0)[kept.tolist().index(self.at[name])])


def look_alike(found: Finding, seen: Counts, d: Diagnosis) -> bool:
    told = re.fullmatch(
        rf"{NAME} and {NAME} are similar: {NUMBER} of {NUMBER} {NAME} are predicted as {NAME} and"
        rf" {NUMBER} of {NUMBER} {NAME} as {NAME}; estimated similarity"
        rf" {INTERVAL}(, above 1: more often confused than recognized)?, where the median pair has"
        rf" {NUMBER}; rank (\d+) by similarity \(its lower end\)(?: and|, (\d+)) by count\."
        r"( Other errors of the two classes may explain it\.)?",
        found.sentence,
    )
    assert told, found.sentence
    a, b, x, n, *names, y, m, b2, a2 = told.groups()[:10]
    value, low, high, above, typical, rank, raw, _ = told.groups()[10:]
    eta = seen.similarity(a, b)
    return (
        [*names, b2, a2] == [a, b, b, a]
        and same(x, seen[a, b])
        and same(y, seen[b, a])
        and same(n, seen.labels[seen.at[a]])
        and same(m, seen.labels[seen.at[b]])
        and near(value, eta)
        and number(low) <= number(value) <= number(high)
        and (above is None or number(low) >= 1)
        and near(typical, seen.median)
        and number(low) > 1.9 * number(typical)
        and int(raw or rank) == seen.rank(a, b)
    )


CONDITION = (
    r"if (?:all classes were equally frequent|the ([\d,]+) classes compared here were equally"
    r" frequent and the others left out)"
)


def is_condition(kept: str | None, seen: Counts) -> bool:
    """Return whether it is said of how many classes a bias is, where that is not all."""
    n_compared = len(seen.compared)
    if kept is None:
        return n_compared == len(seen.labels)
    return number(kept) == n_compared < len(seen.labels)


def bias(found: Finding, seen: Counts, d: Diagnosis) -> bool:
    told = re.fullmatch(
        rf"{NAME} is (over|under)-predicted(, which label shares hide)?: {NUMBER} predictions? for"
        rf" {NUMBER} labels?, (and|but) {CONDITION}, it would be predicted"
        rf" (?:(at least|at most) {NUMBER} times as often as it occurs: )?{INTERVAL}"
        r"(?: times as often as it occurs)?\.",
        found.sentence,
    )
    assert told, found.sentence
    name, way, for_size, predictions, labels, joint, kept, *rest = told.groups()
    bound, end, value, low, high = rest
    k = seen.at[name]
    ratio, over = seen.ratio(name), way == "over"
    plain = seen.predictions[k] > seen.labels[k] if over else seen.predictions[k] < seen.labels[k]
    return (
        same(predictions, seen.predictions[k])
        and same(labels, seen.labels[k])
        and is_condition(kept, seen)
        and near(value, ratio)
        and (ratio >= 1.1 if over else ratio <= 1 / 1.1)
        and (for_size is None) == (joint == "and") == bool(plain)
        and number(low) <= number(value) <= number(high)
        and (number(low) > 1 if over else number(high) < 1)
        and (bound is None or (bound == "at least") == over)
        and (bound is None or end == (low if over else high))
        and (bound is not None) == (d.biases[k].high > 3 * d.biases[k].low)
    )


def not_alike(found: Finding, seen: Counts, d: Diagnosis) -> bool:
    told = re.match(
        rf"{NAME} and {NAME} are often confused \(rank (\d+) by count: {NUMBER} and {NUMBER}"
        r" confusions\) but (.*)\.$",
        found.sentence,
    )
    assert told, found.sentence
    a, b, rank, x, y, rest = told.groups()
    right = same(x, seen[a, b]) and same(y, seen[b, a]) and int(rank) == seen.rank(a, b)
    right &= number(x) + number(y) > seen.errors_of_a_pair * (1 - 1e-3)
    other = re.match(
        rf"less similar than {NAME} and {NAME} \(rank (\d+): {NUMBER} and {NUMBER} confusions\):"
        rf" estimated similarity {INTERVAL} against {INTERVAL}",
        rest,
    )
    alone = re.match(
        rf"not unusually similar: estimated similarity {INTERVAL}, where the median pair has"
        rf" {NUMBER}",
        rest,
    )
    own = seen.similarity(a, b)
    if other:
        c, e, raw, u, v, value, low, high, value2, low2, high2 = other.groups()
        right &= same(u, seen[c, e]) and same(v, seen[e, c]) and int(raw) == seen.rank(c, e)
        right &= near(value, own) and near(value2, seen.similarity(c, e))
        right &= number(high) <= number(low2) and int(raw) > int(rank)
        right &= number(low) <= number(value) <= number(high)
        right &= number(low2) <= number(value2) <= number(high2)
    else:
        assert alone, found.sentence
        right &= near(alone[1], own) and number(alone[2]) <= number(alone[1]) <= number(alone[3])
        right &= near(alone[4], seen.median) and number(alone[3]) <= 2.1 * number(alone[4])
    reasons = rf"{NAME} is (over-predicted|a frequent class|under-predicted)"
    for name, reason in re.findall(rf"(?:; | and ){reasons}(?=$| and “)", rest):
        k = seen.at[name]
        share = seen.labels[k] / seen.labels.sum() * len(seen.labels)
        right &= {
            "over-predicted": d.biases[k].verdict == "over",
            "under-predicted": d.biases[k].verdict == "under",
            "a frequent class": share > 1.5,
        }[reason]
    return bool(right)


def careful(found: Finding, seen: Counts, d: Diagnosis) -> bool:
    text = found.sentence
    names = [str(label) for label in found.classes]
    at = [seen.at[name] for name in names]
    for pattern, is_true in CAUTIONS.items():
        told = re.fullmatch(pattern, text)
        if told:
            return is_true(told, at, seen, d) and (not names or enumerates(told[1], names))
    pytest.fail(f"A kind of sentence that no check knows: {text}")


def is_one_sided(told: re.Match[str], at: list[int], seen: Counts, d: Diagnosis) -> bool:
    labels, predictions = seen.labels[at], seen.predictions[at]
    if told[3]:
        return not labels.any() and predictions.all() and same(told[3], predictions.sum())
    if told[4]:
        return not predictions.any() and labels.all() and same(told[4], labels.sum())
    return not labels.any() and not predictions.any()


def is_never_right(told: re.Match[str], at: list[int], seen: Counts, d: Diagnosis) -> bool:
    return same(told[2], seen.labels[at].sum()) and not np.diag(seen.counts)[at].any()


def is_case(told: re.Match[str], at: list[int], seen: Counts, d: Diagnosis) -> bool:
    return len({str(d.labels[k]).strip().casefold() for k in at}) == 1


def has_few_samples(told: re.Match[str], at: list[int], seen: Counts, d: Diagnosis) -> bool:
    effective = [
        min(item.effective_samples, item.effective_predictions) for item in seen.reliability
    ]
    return seen.both_sides[np.round(effective, 6) < 10].tolist() == at


def is_uneven(told: re.Match[str], at: list[int], seen: Counts, d: Diagnosis) -> bool:
    effective = seen.reliability.effective_samples
    total = seen.part.total
    if seen.cm.is_weighted:
        total = total**2 / seen.part.variances.sum()
    return near(told[1], total, 0.0051) and near(told[2], effective) and effective < total / 10


def are_uncertain(told: re.Match[str], at: list[int], seen: Counts, d: Diagnosis) -> bool:
    each = re.findall(
        rf"{NAME} and {NAME} \({NUMBER} of {NUMBER} and {NUMBER} of {NUMBER} confused\)", told[1]
    )
    more = re.search(r" and ([\d,]+) more pairs?$", told[1])
    uncertain = [pair for pair in seen.every_pair.uncertain_pairs if seen.may_be_similar(pair, d)]
    return len(each) + (int(number(more[1])) if more else 0) == len(uncertain) and all(
        same(x, seen[a, b])
        and same(y, seen[b, a])
        and same(n, seen.labels[seen.at[a]])
        and same(m, seen.labels[seen.at[b]])
        and (a, b) in {(str(pair.first), str(pair.second)) for pair in uncertain}
        for a, b, x, n, y, m in each
    )


CAUTIONS: dict[str, Callable[[re.Match[str], list[int], Counts, Diagnosis], bool]] = {
    rf"(.*) (is|are) (?:never a label, but predicted {NUMBER} times?|never predicted, with"
    rf" {NUMBER} labels?|neither a label nor predicted)\.": is_one_sided,
    rf"(.*) (?:is|are) never recognized: none of {NUMBER} labels?\.": is_never_right,
    r"(.*) differ only in case or outer spaces\.": is_case,
    r"In the bi-normalized matrix (.*) rests? on fewer than 10 effective samples, as labels or as"
    r" predictions\.": has_few_samples,
    "Labels or predictions are so uneven that the bi-normalized matrix of"
    rf" {NUMBER}(?: effective)? samples"
    rf" rests on only"
    rf" {NUMBER} effective samples\.": is_uneven,
    r"How similar confused pairs are is uncertain: (.*)\.": are_uncertain,
}


def enumerates(text: str, names: list[str]) -> bool:
    """Return whether a text names the first of some names, and counts the others."""
    more = re.search(r"and ([\d,]+) more class(?:es)?$", text)
    if "confused)" in text:
        return True
    shown = re.findall(NAME, text)
    return shown == names[: len(shown)] and len(names) - len(shown) == (
        int(number(more[1])) if more else 0
    )


def outcome(found: Finding, seen: Counts, d: Diagnosis) -> bool:
    percent = rf"{NUMBER} %"
    told = re.fullmatch(
        rf"(?:{NAME} is the answer for|The label is {NAME} in) {NUMBER} of {NUMBER}"
        rf" (samples|predictions)(?: of {NAME})?: {percent} \({percent} to {percent}\)"
        rf"(?:, for the other classes together {percent}|\. No class is shown to get it more often)"
        r"\.",
        found.sentence,
    )
    assert told, found.sentence
    answer, label, count, total, what, name, value, low, high, others = told.groups()
    table, named = (seen.said, seen.labels) if answer else (seen.missed.T, seen.predictions)
    counts, totals = table[:, seen.outcomes.index(answer or label)], named + table.sum(axis=1)
    chosen = np.full(len(totals), name is None)
    if name is not None:
        chosen[seen.at[name]] = True
    n, m = counts[chosen].sum(), totals[chosen].sum()
    return bool(
        same(count, n)
        and same(total, m)
        and (what == "samples") == (answer is not None)
        and near(value, 100 * n / m)
        and (number(value) == 100) == (n == m)
        and number(low) <= number(value) <= number(high)
        and (others is None or near(others, 100 * counts[~chosen].sum() / totals[~chosen].sum()))
        and (others is None or number(low) < 100)
    )


CHECKS: dict[str, Callable[[Finding, Counts, Diagnosis], bool]] = {
    "look_alike": look_alike,
    "over_predicted": bias,
    "under_predicted": bias,
    "not_alike": not_alike,
    "careful": careful,
    "outcome": outcome,
}
NAMED = " Counted are the samples for which a class was named."


def is_true(found: Finding, seen: Counts, d: Diagnosis) -> bool:
    """Return whether a finding agrees with the counts, and says which samples they are of."""
    text = found.sentence
    is_of_all = found.kind == "outcome" or "differ only in case" in text
    if text.endswith(NAMED) != (bool(seen.outcomes) and not is_of_all):
        return False
    text = text.removesuffix(NAMED)
    ranks = re.search(
        r" Ranks are among the ([\d,]+) classes that are labels and predictions\.$", text
    )
    n_both = len(seen.both_sides)
    if found.kind in ("look_alike", "not_alike") and (ranks is None) != (
        n_both == len(seen.labels)
    ):
        return False
    if ranks:
        if number(ranks[1]) != n_both:
            return False
        text = text.removesuffix(ranks[0])
    return CHECKS[found.kind](replace(found, sentence=text), seen, d)


def biases_are_true(rest: str, seen: Counts, d: Diagnosis) -> bool:
    """Return whether a headline has the true numbers of over- and under-predicted classes."""
    right = True
    kinds = [found.kind for found in d.findings]
    supposed = re.search(CONDITION, rest, re.IGNORECASE)
    right &= supposed is None or "If both" in rest or is_condition(supposed[1], seen)
    who = rf"(?:([\d,]+) classes|{NAME})"
    total = re.search(rf"{who} would be (over|under)-(?: and {who} (under)-)?predicted\.", rest)
    totals = {total[3]: total[1] or "1", total[6]: total[4] or "1"} if total else {}
    for way in ("over", "under"):
        several = re.search(rf"([\d,]+) classes (?:would be )?{way}-predicted \(most", rest)
        one = re.search(rf"” (?:would be )?{way}-predicted \(", rest)
        told = int(number(several[1])) if several else int(one is not None)
        if total:
            told = int(number(totals.get(way, "0")))
        right &= told == kinds.count(f"{way}_predicted")
        for name, end in re.findall(
            rf"{NAME},? (?:(?:would be )?{way}-predicted \()?(?:at least |at most )?{NUMBER} times",
            rest,
        ):
            ratio = d.biases[seen.at[name]]
            right &= any(near(end, value) for value in (ratio.ratio, ratio.low, ratio.high))
    return right


def lowest_recall_is_true(rest: str, seen: Counts) -> bool:
    """Return whether the class that is recognized least is named, among those of ten labels."""
    enough = seen.effective_labels >= 10 - 1e-6
    hits = np.diag(seen.counts)
    told = re.search(
        rf"(Among samples with a class, )?{NAME} has the lowest recall"
        r"( of classes with 10 (?:effective )?labels or more)?:"
        rf" {NUMBER} of {NUMBER} (?:is|are) right, {NUMBER} (?:is|are) predicted as {NAME}\.",
        rest,
    )
    recall = np.divide(hits, seen.labels, out=np.ones(len(hits)), where=seen.labels > 0)
    lowest = enough & (recall <= recall[enough].min(initial=1.0) + 1e-9)
    several = re.search(
        rf"{NAME} and ([\d,]+) more class(?:es)? have the lowest recall[^:]*: {NUMBER}\.",
        rest,
    )
    if several:
        return bool(
            lowest[seen.at[several[1]]]
            and number(several[2]) == lowest.sum() - 1
            and number(several[3]) == pytest.approx(recall[lowest][0], abs=0.0051)
        )
    if told is None:
        return bool((hits == seen.labels)[enough].all() or (hits == 0)[enough].any())
    among, name, is_part, right, labels, wrong, other = told.groups()
    k = seen.at[name]
    errors = seen.counts[k] - np.diag(hits)[k]
    return bool(
        enough[k]
        and (among is None) == (not seen.outcomes)
        and lowest.sum() == 1
        and (is_part is None) == (enough | (seen.labels == 0)).all()
        and recall[k] <= recall[enough].min() + 1e-9
        and same(right, hits[k])
        and same(labels, seen.labels[k])
        and same(wrong, errors.max())
        and errors[seen.at[other]] == errors.max()
    )


DOUBT = " (other errors may explain it)"
SIMILAR = (
    rf"{NAME} and {NAME} are similar(?:{re.escape(DOUBT)})?"
    r"(?:, and so (?:is|are) ([\d,]+) more pairs?)?"
    r"( \(which other errors may explain\))?"
    r"(?: \(for ([\d,]+) of them other errors may explain it\))?"
)


def doubts_are_true(told: re.Match[str], d: Diagnosis) -> bool:
    alike = [found.sentence for found in d.findings if found.kind == "look_alike"]
    first, *others = ("may explain it." in sentence for sentence in alike)
    some = len(others) if told[4] else int(number(told[5] or "0"))
    return first == (DOUBT in told[0].split(", and so")[0]) and some == sum(others)


def guess_is_true(text: str, seen: Counts) -> bool:
    told = re.search(
        rf"The accuracy is (below|not shown to be above) {NUMBER}, that of guessing each class as"
        r" often(?:: check|\.)",
        text,
    )
    z = guessing(seen.cm)[1]
    if told is None:
        return z > 1.96
    by_chance = float(seen.labels @ seen.predictions / seen.labels.sum() ** 2)
    return (told[1] == "below") == (z < -1.96) and z <= 1.96 and near(told[2], by_chance)


def headline_is_true(text: str, seen: Counts, d: Diagnosis) -> bool:
    totals = re.match(
        rf"([\d,]+) class(?:es)?, (?:a class was named for |samples weighing )?{NUMBER}"
        rf"(?: samples?,|,| of {NUMBER} samples \({NUMBER}\); among these)"
        rf" accuracy {NUMBER}, balanced accuracy {NUMBER}\. ?(.*)$",
        text,
    )
    assert totals, text
    classes, samples, every, coverage, accuracy, balanced, rest = totals.groups()
    if seen.outcomes:
        answered, asked = seen.counts.sum(), seen.counts.sum() + seen.said.sum()
        assert same(every, asked)
        assert number(coverage) == pytest.approx(answered / asked, abs=0.0051)
        assert (coverage == "1.00") == (answered == asked)
    known = seen.labels > 0
    recall = np.diag(seen.counts)[known] / seen.labels[known]
    right = number(classes) == len(seen.labels) and same(samples, seen.counts.sum())
    right &= number(accuracy) == pytest.approx(
        np.trace(seen.counts) / seen.counts.sum(), abs=0.0051
    )
    right &= number(balanced) == pytest.approx(recall.mean(), abs=0.0051)
    errors = seen.n_errors
    right &= (accuracy == "1.00") == (errors == 0) == ("No errors in" in rest)
    kinds = [found.kind for found in d.findings]
    right &= lowest_recall_is_true(rest, seen)
    right &= biases_are_true(rest, seen, d)
    pairs = re.search(SIMILAR, rest)
    in_short = re.search(r"([\d,]+) pairs? of classes (?:is|are) similar\.", rest)
    told = 1 + int(number(pairs[3] or "0")) if pairs else 0
    right &= kinds.count("look_alike") == (int(number(in_short[1])) if in_short else told)
    right &= pairs is None or doubts_are_true(pairs, d)
    no_label, no_prediction = seen.labels == 0, seen.predictions == 0
    unanswered = no_label & (seen.said.sum(axis=1) > 0 if seen.outcomes else False)
    no_label = no_label & ~unanswered
    no_prediction = no_prediction & ~unanswered
    for side, absent in (
        ("never answered with a class", unanswered),
        ("never a label", no_label & ~no_prediction),
        ("never predicted", no_prediction & ~no_label),
        ("neither a label nor predicted", no_label & no_prediction),
        (
            "never recognized",
            seen.never_right,
        ),
    ):
        named = re.search(rf"{NAME}(?: and ([\d,]+) more class(?:es)?)? (?:is|are) {side}\.", rest)
        right &= absent.sum() == (1 + int(number(named[2] or "0")) if named else 0)
        right &= named is None or absent[seen.at[named[1]]]
    less = re.search(
        rf"{NAME} and {NAME}(?:, and ([\d,]+) more pairs?,)? are often confused, but less"
        r" similar\.",
        rest,
    )
    if (pairs or in_short) and errors:
        number_of = re.search(r"([\d,]+) pairs? (?:is|are) often confused, but less", rest)
        told = 1 + int(number(less[3] or "0")) if less else 0
        right &= kinds.count("not_alike") == (int(number(number_of[1])) if number_of else told)
    for told, kind in ((pairs, "look_alike"), (less, "not_alike")):
        first = next((found.classes for found in d.findings if found.kind == kind), ())
        right &= told is None or tuple(map(str, first)) == (told[1], told[2])
    right &= not errors or guess_is_true(rest, seen)
    if re.search("none is shown to be over- or under-predicted by a tenth", rest):
        right &= not {"look_alike", "over_predicted", "under_predicted"} & set(kinds)
    few = re.search(r"([\d,]+) class(?:es)? ha(?:s|ve) fewer than 10 (effective )?labels\.", rest)
    n_few = int(((seen.effective_labels > 0) & (seen.effective_labels < 10 - 1e-6)).sum())
    if errors:
        right &= n_few == (int(number(few[1])) if few else 0)
        right &= few is None or (few[2] is not None) == seen.cm.is_weighted
    return bool(right)


def false_sentences(cm: ConfusionMatrix) -> list[str]:
    """Return what a diagnosis says and the counts deny."""
    d = diagnose(cm)
    seen = Counts(cm)
    told = [f.sentence for f in d.findings if not is_true(f, seen, d)]
    return told if headline_is_true(d.headline, seen, d) else [*told, d.headline]


def weighted(counts: NDArray[np.int64], rng: np.random.Generator) -> ConfusionMatrix:
    """Return a matrix of at most 20,000 samples, each with a weight of its own."""
    size = min(counts.shape)
    counts = np.minimum(counts[:size, :size], 20_000 // size**2)
    counts[0, 0] += 1
    true, pred = np.nonzero(counts)
    n = counts[true, pred]
    return ConfusionMatrix.from_predictions(
        np.repeat(true, n),
        np.repeat(pred, n),
        labels=list(range(size)),
        sample_weight=rng.gamma(2.0, size=int(n.sum())) + 0.01,
    )


@st.composite
def matrices(draw: st.DrawFn) -> ConfusionMatrix:
    """Return counts of classifiers of any size, skew, bias, likeness and accuracy."""
    n_classes = draw(st.sampled_from([2, 3, 4, 5, 7, 10, 20, 50, 200]))
    samples = int(10 ** draw(st.floats(1.3, 6)))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    similarity = rng.gamma(draw(st.sampled_from([0.1, 0.5, 5])), size=(n_classes, n_classes))
    similarity = similarity + similarity.T
    np.fill_diagonal(similarity, 0)
    similarity *= draw(st.sampled_from([0.0, 0.01, 0.1, 1])) / max(similarity.mean(), 1e-9)
    np.fill_diagonal(similarity, n_classes)
    sizes, favours = np.exp(
        draw(st.sampled_from([0.0, 1.0, 2.0])) * rng.normal(size=(2, n_classes))
    )
    rates = similarity * favours
    shares = sizes[:, None] * rates / rates.sum(axis=1, keepdims=True)
    counts = rng.multinomial(samples, (shares / shares.sum()).ravel()).reshape(shares.shape)
    if draw(st.booleans()):
        counts[:, draw(st.integers(0, n_classes - 1))] = 0
    if counts.sum() == 0:
        counts[0, 0] = samples
    labels = [f"c{k}" for k in range(n_classes)]
    kind = draw(st.sampled_from(["plain", "outcomes", "weights", "perfect", "case"]))
    if kind == "weights":
        return weighted(counts[: draw(st.integers(2, 20)), : len(counts)], rng)
    if kind == "perfect":
        counts = np.diag(np.diag(counts))
        counts[0, 0] += 1
    if kind == "case":
        labels[-1] = labels[0].upper()
    if kind != "outcomes":
        return ConfusionMatrix.from_counts(counts, labels=labels)
    # Answers that are no class, and labels that are none.
    square = np.zeros((n_classes + 1, n_classes + 1), dtype=int)
    square[:-1, :-1] = counts
    how_many = draw(st.sampled_from([0.001, 0.3])) * counts.sum() / n_classes
    square[:-1, -1] = rng.poisson(how_many * rng.gamma(0.5, size=n_classes))
    square[-1, :-1] = rng.poisson(draw(st.sampled_from([0, 1])) * how_many, size=n_classes)
    return ConfusionMatrix.from_counts(square, labels=[*labels, "refused"]).treat_as_outcome(
        "refused"
    )


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(cm=matrices())
def test_no_sentence_is_false(cm: ConfusionMatrix) -> None:
    assert false_sentences(cm) == []


@pytest.mark.parametrize(
    "name", ["consonants", "land-cover", "deforestation", "two-digit-numbers", "demo"]
)
def test_no_sentence_about_real_matrices_is_false(name: str) -> None:
    assert false_sentences(make_demo().cm if name == "demo" else load_example(name)) == []


def test_false_sentences_are_found() -> None:
    """Change each number of each sentence: nearly always the check must notice."""
    cm = make_demo().cm
    d = diagnose(cm)
    seen = Counts(cm)
    for found in d.findings:
        for place in re.finditer(r"(?<![\w“])\d[\d,.]*(?<![.,])", found.sentence):
            if found.kind == "careful" or found.sentence[: place.start()].endswith(
                ("rank ", "to ")
            ):
                continue
            value = 3 * number(place[0]) + 7
            text = f"{found.sentence[: place.start()]}{value:g}{found.sentence[place.end() :]}"
            changed = replace(found, sentence=text)
            if ", and if" in text and "at " in text:
                continue
            assert not CHECKS[found.kind](changed, seen, d), text
    for wrong in (
        d.headline.replace("10 classes", "11 classes"),
        d.headline.replace("accuracy 0.65", "accuracy 0.75", 1),
        d.headline.replace("4 classes would be over-", "5 classes would be over-"),
        d.headline.replace("5 classes under-predicted", "4 classes under-predicted"),
        d.headline.replace("3 more pairs", "2 more pairs"),
    ):
        assert wrong != d.headline
        assert not headline_is_true(wrong, seen, d), wrong
