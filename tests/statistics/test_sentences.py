"""Every sentence of a diagnosis is parsed back and compared with the counts that it speaks of."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from deconfuse import ConfusionMatrix, compare, diagnose, estimate_bi, load_example
from deconfuse.demo import make_demo
from deconfuse.statistics.comparison_text import headline
from deconfuse.statistics.diagnosis import Diagnosis
from deconfuse.statistics.findings import Finding

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


class Counts:
    """Everything a sentence can speak of, computed from the counts alone."""

    def __init__(self, cm: ConfusionMatrix) -> None:
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
        b = estimate_bi(self.counts[kept]).matrix
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

    def ratio(self, name: str) -> float:
        never_right = (np.diag(self.counts) == 0) & (self.labels >= 10) & (self.predictions > 0)
        kept = self.on_both_sides(np.flatnonzero(~never_right))
        part = self.counts[np.ix_(kept, kept)]
        shares = part / part.sum(axis=1, keepdims=True)
        return float(shares.sum(axis=0)[kept.tolist().index(self.at[name])])


def look_alike(found: Finding, seen: Counts, d: Diagnosis) -> bool:
    told = re.fullmatch(
        rf"{NAME} and {NAME} are similar: {NUMBER} of {NUMBER} {NAME} are predicted as {NAME} and"
        rf" {NUMBER} of {NUMBER} {NAME} as {NAME}; estimated similarity"
        rf" {INTERVAL}(, above 1: more often confused than recognized)?, where the median pair has"
        rf" {NUMBER}; rank (\d+) by the lower end of similarity(?: and|, (\d+)) by count\."
        r"( It is not shown to be more than their errors with other classes would explain\.)?",
        found.sentence,
    )
    assert told, found.sentence
    a, b, x, n, *names, y, m, b2, a2 = told.groups()[:10]
    value, low, high, above, typical, rank, raw, _ = told.groups()[10:]
    eta = seen.similarity(a, b)
    return (
        [*names, b2, a2] == [a, b, b, a]
        and number(x) == seen[a, b]
        and number(y) == seen[b, a]
        and number(n) == seen.labels[seen.at[a]]
        and number(m) == seen.labels[seen.at[b]]
        and near(value, eta)
        and number(low) <= number(value) <= number(high)
        and (above is None or number(low) >= 1)
        and near(typical, seen.median)
        and number(low) > 1.9 * number(typical)
        and int(raw or rank) == seen.rank(a, b)
    )


def bias(found: Finding, seen: Counts, d: Diagnosis) -> bool:
    told = re.fullmatch(
        rf"{NAME} is (over|under)-predicted( for its frequency)?: {NUMBER} predictions for {NUMBER}"
        rf" labels, (and|but) if all classes were equally frequent, it would be predicted"
        rf" (?:(at least|at most) {NUMBER} times as often as it occurs: )?{INTERVAL}"
        r"(?: times as often as it occurs)?\.",
        found.sentence,
    )
    assert told, found.sentence
    name, way, for_size, predictions, labels, joint, bound, end, value, low, high = told.groups()
    k = seen.at[name]
    ratio, over = seen.ratio(name), way == "over"
    plain = seen.predictions[k] > seen.labels[k] if over else seen.predictions[k] < seen.labels[k]
    return (
        number(predictions) == seen.predictions[k]
        and number(labels) == seen.labels[k]
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
    right = (number(x), number(y), int(rank)) == (seen[a, b], seen[b, a], seen.rank(a, b))
    other = re.match(
        rf"less similar than {NAME} and {NAME} \(rank (\d+): {NUMBER} and {NUMBER} confusions\):"
        rf" estimated similarity {INTERVAL} against {INTERVAL}",
        rest,
    )
    alone = re.match(
        rf"not unusually similar: estimated similarity {INTERVAL}, where .* {NUMBER}", rest
    )
    own = seen.similarity(a, b)
    if other:
        c, e, raw, u, v, value, low, high, value2, low2, high2 = other.groups()
        right &= (number(u), number(v), int(raw)) == (seen[c, e], seen[e, c], seen.rank(c, e))
        right &= near(value, own) and near(value2, seen.similarity(c, e))
        right &= number(high) <= number(low2) and int(raw) > int(rank)
        right &= number(low) <= number(value) <= number(high)
        right &= number(low2) <= number(value2) <= number(high2)
    else:
        assert alone, found.sentence
        right &= near(alone[1], own) and number(alone[2]) <= number(alone[1]) <= number(alone[3])
    why = re.search(rf"; {NAME} is (over-predicted|a frequent class|under-predicted)$", rest)
    if why:
        k = seen.at[why[1]]
        share = seen.labels[k] / seen.labels.sum() * len(seen.labels)
        right &= {
            "over-predicted": d.biases[k].verdict == "over",
            "under-predicted": d.biases[k].verdict == "under",
            "a frequent class": share > 1.5,
        }[why[2]]
    return bool(right)


def careful(found: Finding, seen: Counts, d: Diagnosis) -> bool:
    text = found.sentence
    for what in ("are", "is"):
        one_sided = re.fullmatch(
            rf"(.*) {what} (never a label, but predicted {NUMBER} times|never predicted, with"
            rf" {NUMBER} labels|neither a label nor predicted)\.",
            text,
        )
        if one_sided:
            names = [str(label) for label in found.classes]
            at = [seen.at[name] for name in names]
            labels, predictions = seen.labels[at].sum(), seen.predictions[at].sum()
            told = [number(one_sided[k]) if one_sided[k] else 0.0 for k in (3, 4)]
            return [predictions, labels] == told and enumerates(one_sided[1], names)
    pairs = re.fullmatch(r"It is uncertain how similar these pairs are: (.*)\.", text)
    if pairs:
        each = re.findall(
            rf"{NAME} and {NAME} \({NUMBER} of {NUMBER} and {NUMBER} of {NUMBER} confused\)",
            pairs[1],
        )
        assert each
        return all(
            [number(told) for told in (x, n, y, m)]
            == [seen[a, b], seen.labels[seen.at[a]], seen[b, a], seen.labels[seen.at[b]]]
            for a, b, x, n, y, m in each
        )
    never = re.fullmatch(rf"(.*) (?:is|are) never recognized: none of {NUMBER} labels\.", text)
    if never:
        at = [seen.at[str(label)] for label in found.classes]
        return (
            number(never[2]) == seen.labels[at].sum()
            and not np.diag(seen.counts)[at].any()
            and enumerates(never[1], [str(label) for label in found.classes])
        )
    return bool(
        re.search(
            r"on fewer than 10 effective samples|differ only in case|The classes are so uneven",
            text,
        )
    ) and all_named(found, text)


def enumerates(text: str, names: list[str]) -> bool:
    """Return whether a text names the first of some names, and counts the others."""
    more = re.search(r"and ([\d,]+) more class(?:es)?$", text)
    shown = re.findall(NAME, text)
    return shown == names[: len(shown)] and len(names) - len(shown) == (
        int(number(more[1])) if more else 0
    )


def all_named(found: Finding, text: str) -> bool:
    names = [str(label) for label in found.classes]
    shown = re.findall(NAME, text)
    more = re.search(r"and ([\d,]+) more class", text)
    return shown == names[: len(shown)] and len(names) - len(shown) == (
        int(number(more[1])) if more else 0
    )


def outcome(found: Finding, seen: Counts, d: Diagnosis) -> bool:
    percent = rf"{NUMBER} %"
    told = re.fullmatch(
        rf"(?:{NAME} is the answer for|The label is {NAME} in) {NUMBER} of {NUMBER}"
        rf" (samples|predictions)(?: of {NAME})?: {percent} \({percent} to {percent}\)"
        rf"(?:, for the other classes together {percent}|\. No difference between classes is shown)"
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
        (number(count), number(total)) == (n, m)
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
NAMED = "Among the samples for which a class was named, "


def is_true(found: Finding, seen: Counts, d: Diagnosis) -> bool:
    """Return whether a finding agrees with the counts, and says which samples they are of."""
    text = found.sentence
    is_of_all = found.kind == "outcome" or "differ only in case" in text
    if bool(seen.outcomes) != (text.startswith(NAMED) or (is_of_all and bool(seen.outcomes))):
        return False
    rest = text.removeprefix(NAMED)
    starts = {"in the": "In the", "it is": "It is", "the classes": "The classes"}
    for start, whole in starts.items():
        rest = whole + rest[len(start) :] if rest.startswith(start) else rest
    return CHECKS[found.kind](replace(found, sentence=rest), seen, d)


def headline_is_true(text: str, seen: Counts, d: Diagnosis) -> bool:
    totals = re.match(
        r"([\d,]+) class(?:es)?, (?:a class was named for )?([\d,]+)"
        rf" (?:samples?,|of {NUMBER} samples \({NUMBER}\); among these)"
        rf" accuracy {NUMBER}, balanced accuracy {NUMBER}\. ?(.*)$",
        text,
    )
    assert totals, text
    classes, samples, every, coverage, accuracy, balanced, rest = totals.groups()
    if seen.outcomes:
        answered, asked = seen.counts.sum(), seen.counts.sum() + seen.said.sum()
        assert number(every) == asked
        assert number(coverage) == pytest.approx(answered / asked, abs=0.0051)
        assert (coverage == "1.00") == (answered == asked)
    recall = (np.diag(seen.counts) / np.maximum(seen.labels, 1))[seen.labels > 0]
    right = (number(classes), number(samples)) == (len(seen.labels), seen.counts.sum())
    right &= number(accuracy) == pytest.approx(
        np.trace(seen.counts) / seen.counts.sum(), abs=0.0051
    )
    right &= number(balanced) == pytest.approx(recall.mean(), abs=0.0051)
    errors = seen.counts.sum() - np.trace(seen.counts)
    right &= (accuracy == "1.00") == (errors == 0) == ("No errors in" in rest)
    kinds = [found.kind for found in d.findings]
    for way in ("over", "under"):
        several = re.search(rf"([\d,]+) classes (?:would be )?{way}-predicted \(most", rest)
        one = re.search(rf"” (?:would be )?{way}-predicted \(", rest)
        told = int(number(several[1])) if several else int(one is not None)
        right &= told == kinds.count(f"{way}_predicted")
        for name, end in re.findall(
            rf"{NAME},? (?:(?:would be )?{way}-predicted \()?(?:at least |at most )?{NUMBER} times",
            rest,
        ):
            ratio = d.biases[seen.at[name]]
            right &= any(near(end, value) for value in (ratio.ratio, ratio.low, ratio.high))
    pairs = re.search(rf"{NAME} and {NAME} are similar(?:, and so (?:is|are) ([\d,]+) more)?", rest)
    right &= kinds.count("look_alike") == (1 + int(number(pairs[3] or "0")) if pairs else 0)
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
            (np.diag(seen.counts) == 0) & (seen.labels >= 10) & ~no_prediction,
        ),
    ):
        named = re.search(rf"{NAME}(?: and ([\d,]+) more class(?:es)?)? (?:is|are) {side}\.", rest)
        right &= absent.sum() == (1 + int(number(named[2] or "0")) if named else 0)
        right &= named is None or absent[seen.at[named[1]]]
    chance, reached = 1 / len(seen.labels), recall.mean()
    right &= "worse than guessing" not in rest or reached < chance
    right &= "better than guessing" not in rest or reached < chance + 0.5
    few = re.search(r"([\d,]+) class(?:es)? ha(?:s|ve) fewer than 10 labels", rest)
    if errors:
        right &= ((seen.labels > 0) & (seen.labels < 10)).sum() == (
            int(number(few[1])) if few else 0
        )
    return bool(right)


def false_sentences(cm: ConfusionMatrix) -> list[str]:
    """Return what a diagnosis says and the counts deny."""
    d = diagnose(cm)
    seen = Counts(cm)
    told = [f.sentence for f in d.findings if not is_true(f, seen, d)]
    return told if headline_is_true(d.headline, seen, d) else [*told, d.headline]


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
    if not draw(st.booleans()):
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


SIGNED = r"([+-][\d.]+)"
CHANGE = rf"{NUMBER} → {NUMBER}, difference {SIGNED} \({SIGNED} to {SIGNED}\), p ([=<]) {NUMBER}"


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(cm=matrices(), seed=st.integers(0, 10**6), worse=st.sampled_from([0.0, 0.001, 0.1]))
def test_no_headline_of_a_comparison_is_false(cm: ConfusionMatrix, seed: int, worse: float) -> None:
    rng = np.random.default_rng(seed)
    counts = np.asarray(cm.counts, dtype=float)
    lost = worse * counts.sum(axis=1, keepdims=True) / len(counts)
    shares = (counts + lost) / (counts + lost).sum()
    second = rng.multinomial(int(counts.sum()), shares.ravel()).reshape(counts.shape)
    pair = [ConfusionMatrix.from_counts(one, cm.labels) for one in (counts.astype(int), second)]
    found = compare(*pair, rng=0)
    told = re.fullmatch(
        rf"(.*): accuracy {CHANGE}; balanced accuracy {CHANGE}\.", headline(found), flags=re.DOTALL
    )
    assert told, headline(found)
    better, numbers = told[1], told.groups()[1:]
    signs = {}
    for k, (name, score) in enumerate(
        {"accuracy": "accuracy", "balanced accuracy": "balanced_accuracy"}.items()
    ):
        first, after, gap, low, high, _, p = numbers[7 * k : 7 * k + 7]
        values = [getattr(one, score) for one in pair]
        for text, value in zip((first, after), values, strict=True):
            assert number(text) == pytest.approx(value, abs=0.00051)
            assert (number(text) == 1) == (value == 1)
        assert float(gap) == pytest.approx(values[1] - values[0], abs=0.00051)
        assert float(low) <= float(gap) <= float(high)
        certain = getattr(found, score).p_value < 0.05
        assert number(p) <= 0.05 or not certain
        if certain:
            signs[name] = "better" if values[1] > values[0] else "worse"
            assert float(low) > 0 if signs[name] == "better" else float(high) < 0
    way = re.fullmatch(r"The second is (better|worse) than the first(?: in (.*))?", better)
    said = dict(re.findall(r"(better|worse) in ((?:balanced )?accuracy)", better))
    said = {name: word for word, name in said.items()}
    if way:
        said = dict.fromkeys([way[2]] if way[2] else ["accuracy", "balanced accuracy"], way[1])
    assert bool(said) == (better != "Neither is shown to be better")
    assert said == signs, headline(found)


REAL = {
    **{name: lambda name=name: load_example(name) for name in ("consonants", "land-cover")},
    **{name: lambda name=name: load_example(name) for name in ("deforestation",)},
    "two-digit-numbers": lambda: load_example("two-digit-numbers"),
    "demo": lambda: make_demo().cm,
}


@pytest.mark.parametrize("name", REAL)
def test_no_sentence_about_real_matrices_is_false(name: str) -> None:
    assert false_sentences(REAL[name]()) == []


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
        d.headline.replace(
            "4 classes would be over-predicted", "5 classes would be over-predicted"
        ),
        d.headline.replace("5 classes under-predicted", "4 classes under-predicted"),
        d.headline.replace("3 more pairs", "2 more pairs"),
        d.headline.replace("2.0 times", "3.0 times"),
    ):
        assert wrong != d.headline
        assert not headline_is_true(wrong, seen, d), wrong
