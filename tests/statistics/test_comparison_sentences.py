"""Every sentence of a comparison is parsed back and compared with the counts that it speaks of."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from deconfuse import Comparison, ConfusionMatrix, compare, diagnose
from deconfuse.reporting.document import diagnosis_document
from deconfuse.statistics.comparison_text import change_findings, headline, summary
from tests.statistics.test_sentences import NAME, NUMBER, matrices, near, number, same

SIGNED = r"([+-][\d.]+(?:e-\d+)?)"
CHANGE = rf"{NUMBER} → {NUMBER}, difference {SIGNED} \({SIGNED} to {SIGNED}\), p ([=<]) {NUMBER}"
P = r"\(p ([=<]) ([\d.e-]+)\)"

# Draws can give a p-value of 0.05 itself; in floating point it is below this.
ALPHA = 1 - 0.95


def told_p(sign: str, text: str, value: float) -> bool:
    if sign == "<":
        return value < 0.001
    return value >= 0.001 and float(text) == pytest.approx(value, rel=0.051)


def points(text: str, value: float) -> bool:
    return number(text) == pytest.approx(value, abs=0.00051) and (number(text) == 1) == (
        abs(value - 1) < 1e-12
    )


def recall(cm: ConfusionMatrix) -> NDArray[np.float64]:
    counts = np.asarray(cm.counts, dtype=float)
    with np.errstate(invalid="ignore"):
        return np.asarray(counts.diagonal() / counts.sum(axis=1))


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    """Return a comparison with a second matrix that is equal, worse, or has other outcomes."""
    cm = draw(matrices())
    if cm.is_weighted:
        return compare(cm, cm, rng=0)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    counts = np.asarray(cm.counts, dtype=float)
    lost = draw(st.sampled_from([0.0, 0.001, 0.1])) * counts.sum(axis=1, keepdims=True)
    shares = counts + lost / len(counts)
    if draw(st.booleans()):
        shares = shares * rng.gamma(1.0, size=(len(counts), 1)) + 1e-12
    second = rng.multinomial(int(counts.sum()), (shares / shares.sum()).ravel())
    square = np.zeros((len(counts) + 1, len(counts) + 1), dtype=int)
    square[:-1, :-1] = second.reshape(counts.shape)
    other = ConfusionMatrix.from_counts(square[:-1, :-1], cm.labels)
    if cm.outcomes:
        rate = draw(st.sampled_from([0.5, 1.0, 3.0]))
        square[:-1, -1] = rng.poisson(rate * np.asarray(cm.outcome_counts)[:, 0])
        square[-1, :-1] = rng.poisson(rate * np.asarray(cm.background_counts)[0])
        names = [*cm.labels, cm.outcomes[0]]
        other = ConfusionMatrix.from_counts(square, names).treat_as_outcome(cm.outcomes[0])
    return compare(cm, other, rng=0)


def weighted_recalls(found: Comparison, *, with_outcomes: bool) -> list[float]:
    """Return the recalls of both at equal label shares, of all samples or of those with a class."""
    sides = [n.source for n in (found.first, found.second)]
    hits = [np.diag(np.asarray(cm.counts, dtype=float)) for cm in sides]
    totals = [np.asarray(cm.counts, dtype=float).sum(axis=1) for cm in sides]
    if with_outcomes:
        totals = [n + cm.outcome_counts.sum(axis=1) for n, cm in zip(totals, sides, strict=True)]
    known = (totals[0] > 0) & (totals[1] > 0)
    n, m = (total[known] for total in totals)
    shares = n * m / (n + m)
    return [
        float(shares @ (h[known] / t[known]) / shares.sum())
        for h, t in zip(hits, totals, strict=True)
    ]


def differ_in_labels(found: Comparison) -> bool:
    one, other = (np.asarray(n.source.label_counts) > 0 for n in (found.first, found.second))
    return bool((one & other).any()) and found.label_shares_p_value < ALPHA


def headline_scores(found: Comparison) -> dict[str, tuple[list[float], float]]:
    """Return what a headline tells of, the values of both, and the p-value of their difference."""
    sides = [n.source for n in (found.first, found.second)]
    equal = differ_in_labels(found)
    at = " at the same label shares" * equal
    accuracies = [cm.accuracy for cm in sides]
    accuracy, score = (
        (weighted_recalls(found, with_outcomes=False), found.accuracy_at_equal_shares)
        if equal
        else (accuracies, found.accuracy)
    )
    known = [np.asarray(cm.label_counts) > 0 for cm in sides]
    shared = known[0] & known[1]
    n_shared = int(shared.sum())
    of = ""
    if n_shared < (known[0] | known[1]).sum():
        of = f" of the {n_shared} {'class' if n_shared == 1 else 'classes'} that both have"
    at_of = f"{at}{of}" if equal else ""
    balanced = {}
    if n_shared:
        means = [float(recall(cm)[shared].mean()) for cm in sides]
        balanced = {f"balanced accuracy{{}}{of}": (means, found.balanced_accuracy.p_value)}
    if not any(cm.outcomes for cm in sides):
        return {f"accuracy{at_of}": (accuracy, score.p_value)} | {
            name.format(""): value for name, value in balanced.items()
        }
    whole = weighted_recalls(found, with_outcomes=True)
    if not equal:
        asked = [np.sum(cm.counts) + np.sum(cm.outcome_counts) for cm in sides]
        whole = [np.trace(cm.counts) / n for cm, n in zip(sides, asked, strict=True)]
    assert found.right_of_all is not None
    named = " where a class was named"
    return {
        f"right answers of all samples{at}": (whole, found.right_of_all.p_value),
        f"accuracy{named}{at_of}": (accuracy, score.p_value),
    } | {name.format(named): value for name, value in balanced.items()}


def accuracies_by_shares(found: Comparison) -> list[list[float]]:
    """Return the accuracy of both at the label shares of the first, and of the second."""
    sides = [np.asarray(n.source.counts, dtype=float) for n in (found.first, found.second)]
    totals = [counts.sum(axis=1) for counts in sides]
    known = (totals[0] > 0) & (totals[1] > 0)
    recalls = [np.diag(c)[known] / n[known] for c, n in zip(sides, totals, strict=True)]
    return [[n[known] @ recall / n[known].sum() for recall in recalls] for n in totals]


def depends_on_shares(found: Comparison) -> bool:
    at_first, at_second = accuracies_by_shares(found)
    return (
        differ_in_labels(found) and (at_first[1] - at_first[0]) * (at_second[1] - at_second[0]) < 0
    )


def check_headline(found: Comparison, text: str) -> None:
    scores = headline_scores(found)
    parts = "; ".join(f"{name} {CHANGE}" for name in scores)
    told = re.fullmatch(
        rf"(.*?): {parts}\.(?: The label shares differ: accuracy(?: of the [\d,]+ class(?:es)? that"
        rf" both have)? would be {NUMBER} → {NUMBER} with those of the first,"
        rf" {NUMBER} → {NUMBER} with those of the second\."
        rf"(?: Of all samples, {NUMBER} → {NUMBER} are right\.)?)?",
        text,
    )
    assert told, text
    signs = {}
    for k, (name, (values, p_value)) in enumerate(scores.items()):
        first, second, gap, low, high, sign, p = told.groups()[1 + 7 * k : 8 + 7 * k]
        assert points(first, values[0])
        assert points(second, values[1])
        assert float(gap) == pytest.approx(values[1] - values[0], abs=0.00051)
        assert float(low) <= float(gap) <= float(high)
        assert told_p(sign, p, p_value)
        if p_value < ALPHA and ("balanced" in name or not depends_on_shares(found)):
            signs[name] = "better" if values[1] > values[0] else "worse"
            assert float(low) >= 0 or float(high) <= 0
    way = re.fullmatch(r"The second is (better|worse) than the first(?: in (.*))?", told[1])
    if not signs:
        assert told[1] == "Neither is shown to be better"
    elif len(set(signs.values())) == 1:
        assert way, text
        assert {way[1]} == set(signs.values())
        assert way[2] == (next(iter(signs)) if len(signs) == 1 else None)
    else:
        words = " and ".join(f"{word} in {name}" for name, word in signs.items())
        assert told[1] == f"The second is {words} than the first"
    counted = told.groups()[-6:]
    sides = [n.source for n in (found.first, found.second)]
    lacks = np.not_equal(*(np.asarray(cm.label_counts) > 0 for cm in sides)).any()
    assert (counted[0] is not None) == differ_in_labels(found)
    assert (counted[4] is not None) == (differ_in_labels(found) and lacks)
    values = [*np.ravel(accuracies_by_shares(found)), *(cm.accuracy for cm in sides)]
    for share, value in zip(counted, values, strict=True):
        assert share is None or points(share, value)


def check_recalls(found: Comparison, text: str) -> None:
    before, after = (recall(n.source) for n in (found.first, found.second))
    differs = np.nan_to_num(found.recalls.p_values, nan=1.0) < ALPHA
    if not differs.any():
        where = " where a class was named" if found.right_of_all is not None else ""
        assert text == f"No class has a recall{where} that surely differs (at 0.05, corrected)."
        return
    told = re.fullmatch(
        r"Recall(?: where a class was named)? surely (?:fell in ([\d,]+) \((.*?)\))?"
        r"(?: and )?(?:rose in ([\d,]+) \((.*?)\))?"
        r" of ([\d,]+) class(?:es)? \(at 0.05, corrected\)\.",
        text,
    )
    assert told, text
    assert number(told[5]) == (~np.isnan(before + after)).sum()
    at = {str(label): k for k, label in enumerate(found.labels)}
    for total, names, is_it in (
        (told[1], told[2], differs & (after < before)),
        (told[3], told[4], differs & (after > before)),
    ):
        assert number(total or "0") == is_it.sum()
        each = re.findall(rf"{NAME} {NUMBER} → {NUMBER}", names or "")
        for name, first, second in each:
            assert is_it[at[name]]
            assert points(first, before[at[name]])
            assert points(second, after[at[name]])
        more = re.search(r", and ([\d,]+) more$", names or "")
        assert len(each) + (number(more[1]) if more else 0) == is_it.sum()


def check_rest(found: Comparison, lines: list[str]) -> None:
    labels = [np.asarray(n.source.label_counts) for n in (found.first, found.second)]
    assert lines[0].startswith("What changed underneath (counted as independent samples")
    assert ("pair them" in lines[0]) == np.array_equal(labels[0], labels[1])
    tests = {
        "label shares": found.label_shares_p_value,
        "prediction bias, which classes are predicted too often or too rarely": found.bias_p_value,
        "similarity, which classes are confused with label shares and prediction bias taken out": (
            found.p_value
        ),
    }
    for line, (what, p_value) in zip(lines[1:4], tests.items(), strict=True):
        told = re.fullmatch(rf"- {what}: (different|no difference shown) {P}\.", line)
        if told is None:
            assert what.startswith("similarity")
            check_untestable(found, line)
            continue
        assert (told[1] == "different") == (p_value < ALPHA)
        assert told_p(told[2], told[3], p_value)
    overlap = next(k for k, line in enumerate(lines) if " overlap by " in line)
    check_cells(found, lines[overlap + 1 :])
    outcomes = lines[4:overlap]
    assert len(outcomes) == len(found.outcomes)
    for line, change in zip(outcomes, found.outcomes, strict=True):
        told = re.fullmatch(
            rf"- (answers that are|predictions whose label is) {NAME}: (rose|fell|no difference"
            rf" shown), {NUMBER} % → {NUMBER} %, difference {SIGNED} points \({SIGNED} to"
            rf" {SIGNED}\), p ([=<]) ([\d.e-]+)\.",
            line,
        )
        assert told, line
        assert (told[1] == "answers that are") == (change.side == "answer")
        certain = change.p_value < ALPHA
        word = ("rose" if change.difference > 0 else "fell") if certain else "no difference shown"
        assert told[3] == word
        assert near(told[4], 100 * change.first)
        assert near(told[5], 100 * change.second)
        for text, value in zip(
            told.groups()[5:8], (change.difference, change.low, change.high), strict=True
        ):
            assert float(text) == pytest.approx(100 * value, rel=0.051, abs=1e-9)
        assert told_p(told[9], told[10], change.p_value)
    told = re.fullmatch(
        rf"The bi-normalized counts \(bi \+ ε\) overlap by {NUMBER}, where two equal classifiers"
        rf" with as many samples would show about {NUMBER}\. Without sampling noise they overlap by"
        rf" {NUMBER} to {NUMBER} \(95%\), and equal ones by 1\."
        r"(?: That range is cautious; the test of similarity is sharper\.)?",
        lines[overlap],
    )
    assert told, lines[overlap]
    values = (found.overlap, found.overlap_if_equal, *found.overlap_interval)
    is_odd = found.p_value < ALPHA and found.overlap_interval[1] == 1
    assert ("is sharper" in lines[overlap]) == is_odd
    assert all(points(text, value) for text, value in zip(told.groups(), values, strict=True))


def check_cells(found: Comparison, lines: list[str]) -> None:
    sides = [np.asarray(n.source.counts) for n in (found.first, found.second)]
    both = np.arange(len(found.labels))
    while len(both):
        part = [counts[np.ix_(both, both)] for counts in sides]
        kept = np.all([c.any(axis=k) for c in part for k in (0, 1)], axis=0)
        if kept.all():
            break
        both = both[kept]
    absent = len(found.labels) - len(both)
    if found.can_tell or found.p_value < ALPHA:
        told = re.fullmatch(
            r"([\d,]+) of ([\d,]+) bi-normalized cells differ at 0.05, corrected for their"
            r" number\.",
            lines[0],
        )
        assert told, lines[0]
        known = ~np.isnan(found.difference)
        assert number(told[1]) == ((found.p_values < ALPHA) & known).sum()
        assert number(told[2]) == known.sum() == (len(found.labels) - absent) ** 2
        lines = lines[1:]
    assert len(lines) == (absent > 0)
    if absent:
        more = re.search(r"and ([\d,]+) more class(?:es)?, never a label", lines[0])
        named = len(re.findall(NAME, lines[0])) + (number(more[1]) if more else 0)
        assert lines[0].startswith("Bi-normalized cells leave out “")
        assert named == absent


def check_untestable(found: Comparison, line: str) -> None:
    assert not found.can_tell
    if line.endswith("neither of the two confuses any classes, so there is nothing to compare."):
        for n in (found.first, found.second):
            assert np.count_nonzero(n.source.counts) == np.count_nonzero(np.diag(n.source.counts))
        return
    if "because no two classes are labels and predictions in both. This says" in line:
        assert (~np.isnan(found.difference.diagonal())).sum() < 2
        return
    told = re.search(r"no difference could have a p-value below ([\d.e-]+)\. This says", line)
    assert told, line
    assert near(told[1], found.smallest_p_value)


def check_deteriorations(found: Comparison) -> None:
    sides = [np.asarray(n.source.counts, dtype=float) for n in (found.first, found.second)]
    with np.errstate(invalid="ignore"):
        shares = [counts / counts.sum(axis=1, keepdims=True) for counts in sides]
    at = {str(label): k for k, label in enumerate(found.labels)}
    fell = found.recalls.differs(found.level) & (found.recalls.difference < 0)
    named = re.findall(rf"Recall of {NAME} fell", "\n".join(found.deteriorations()))
    assert named == [str(found.labels[k]) for k in np.flatnonzero(fell)]
    for text in found.deteriorations():
        told = re.fullmatch(rf"(.*): {NUMBER} → {NUMBER}\.", text)
        assert told, text
        one = re.fullmatch(rf"Recall of {NAME} fell", told[1])
        pair = re.fullmatch(rf"{NAME} and {NAME} are confused more often", told[1])
        if told[1] == "Right answers of all samples fell":
            assert found.right_of_all is not None
            values = [found.right_of_all.first, found.right_of_all.second]
        elif one:
            values = [share[at[one[1]], at[one[1]]] for share in shares]
        elif pair:
            i, j = at[pair[1]], at[pair[2]]
            values = [(share[i, j] + share[j, i]) / 2 for share in shares]
        else:
            known = np.all([counts.sum(axis=1) > 0 for counts in sides], axis=0)
            n = [counts.sum(axis=1)[known] for counts in sides]
            equal = n[0] * n[1] / (n[0] + n[1]) / (n[0] * n[1] / (n[0] + n[1])).sum()
            weights = {
                "Accuracy at the same label shares fell": equal,
                "Balanced accuracy fell": np.full(known.sum(), 1 / known.sum()),
                "Balanced accuracy of the shared classes fell": np.full(
                    known.sum(), 1 / known.sum()
                ),
            }[told[1]]
            values = [weights @ share.diagonal()[known] for share in shares]
        assert values[1] > values[0] if pair else values[1] < values[0]
        for part, value in zip((told[2], told[3]), values, strict=True):
            assert points(part, value), (text, value)


def check_changes(found: Comparison) -> None:
    """Check what the page says of single cells."""
    at = {str(label): k for k, label in enumerate(found.labels)}
    for finding in change_findings(found):
        told = re.fullmatch(
            rf"{NAME} (?:told apart|taken for {NAME}): {NUMBER} → {NUMBER} \({NUMBER} → {NUMBER}"
            rf" samples; corrected p (?:below 10⁻¹⁵|{NUMBER})\)\.",
            finding.sentence,
        )
        assert told, finding.sentence
        i = at[told[1]]
        j = at[told[2]] if told[2] else i
        for text, estimate in zip((told[3], told[4]), found.estimates, strict=True):
            assert near(text, estimate.matrix[i, j], rel=0.0051)
        for text, n in zip((told[5], told[6]), (found.first, found.second), strict=True):
            assert same(text, float(n.source.counts[i, j]))
        assert found.p_values[i, j] < ALPHA
        assert told[7] is None or near(told[7], found.p_values[i, j])


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(found=comparisons())
def test_no_sentence_of_a_comparison_is_false(found: Comparison) -> None:
    lines = summary(found)
    assert lines[0] == headline(found) == found.headline
    check_headline(found, lines[0])
    check_recalls(found, lines[1])
    check_rest(found, lines[2:])
    check_deteriorations(found)
    check_changes(found)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(cm=matrices())
def test_what_is_left_out_of_a_list_is_counted(cm: ConfusionMatrix) -> None:
    d = diagnose(cm)
    text = diagnosis_document(d).to_text()
    told = sum(int(number(more)) for more in re.findall(r"^  and ([\d,]+) more$", text, re.M))
    shown = len(re.findall(r"^  - ", text, re.M))
    assert shown + told == len(d.findings)
