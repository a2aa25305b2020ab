"""Answers that are no class: counted beside the square, with rates of their own."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deconfuse as dc
from deconfuse.statistics.outcomes import outcome_changes, outcome_rates

CLASSES = ["a", "b", "c"]
OUTCOMES = ["refused", "background"]


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[str], list[Any]]:
    """Labels and answers, some of which name no class."""
    label = st.sampled_from([*CLASSES, "background"])
    answer = st.sampled_from([*CLASSES, *OUTCOMES, "prose", None])
    rows = draw(st.lists(st.tuples(label, answer), min_size=1, max_size=60))
    rows += [(name, name) for name in CLASSES]
    return [row[0] for row in rows], [row[1] for row in rows]


def count(true: list[str], pred: list[Any]) -> dc.ConfusionMatrix:
    return dc.ConfusionMatrix.from_predictions(
        true, pred, labels=CLASSES, outcomes=OUTCOMES, other="invalid", missing="nothing said"
    )


@given(samples())
def test_every_sample_is_counted_once(data: tuple[list[str], list[Any]]) -> None:
    true, pred = data
    cm = count(true, pred)
    assert cm.outcomes == (*OUTCOMES, "invalid", "nothing said")
    assert cm.n_samples == len(true)
    said = {None: "nothing said", "prose": "invalid"}
    for i, label in enumerate(CLASSES):
        answers = [said.get(p, p) for t, p in zip(true, pred, strict=True) if t == label]
        assert cm.counts[i].tolist() == [answers.count(name) for name in CLASSES]
        assert cm.outcome_counts[i].tolist() == [answers.count(name) for name in cm.outcomes]
        labels = [t for t, p in zip(true, pred, strict=True) if said.get(p, p) == label]
        found = cm.background_counts[:, i].tolist()
        assert found == [labels.count(name) for name in cm.outcomes]


@given(samples(), st.data())
def test_outcomes_are_kept_by_merging_coarsening_and_copying(
    data: tuple[list[str], list[Any]], choice: st.DataObject
) -> None:
    true, pred = data
    cut = choice.draw(st.integers(0, len(true)))
    cm = count(true, pred)
    halves = [
        count(true[part], pred[part])
        for part in (slice(0, cut), slice(cut, None))
        if len(true[part])
    ]
    assert sum(halves) == cm
    assert pickle.loads(pickle.dumps(cm)) == cm
    assert cm == cm.T.T
    coarse = cm.merge_classes({"ab": ["a", "b"]})
    assert coarse.n_samples == cm.n_samples
    np.testing.assert_array_equal(coarse.outcome_counts[0], cm.outcome_counts[:2].sum(axis=0))
    shuffled = cm.reindex(["c", "new", "a", "b"])
    np.testing.assert_array_equal(shuffled.outcome_counts[[2, 3, 0]], cm.outcome_counts)
    assert shuffled.reindex(CLASSES) == cm


@settings(max_examples=25)
@given(samples())
def test_outcomes_change_no_number_of_the_square(data: tuple[list[str], list[Any]]) -> None:
    cm = count(*data)
    bare = dc.ConfusionMatrix.from_counts(cm.counts, CLASSES)
    np.testing.assert_allclose(
        cm.normalize("bi").matrix, bare.normalize("bi").matrix, atol=1e-12, rtol=0
    )
    np.testing.assert_allclose(
        cm.normalize("bi").standard_errors(), bare.normalize("bi").standard_errors(), atol=1e-12
    )
    mine, theirs = dc.diagnose(cm), dc.diagnose(bare)
    assert mine.look_alikes == theirs.look_alikes
    assert mine.biases == theirs.biases
    assert cm.accuracy == bare.accuracy


def test_a_class_can_be_treated_as_an_outcome_afterwards() -> None:
    true = ["a", "a", "b", "background", "background"]
    pred = ["a", "background", "b", "a", "background"]
    late = dc.ConfusionMatrix.from_predictions(true, pred).treat_as_outcome("background")
    assert late == dc.ConfusionMatrix.from_predictions(true, pred, outcomes=["background"])
    assert late.n_samples == 5


def test_a_label_outside_the_classes_stays_an_error() -> None:
    with pytest.raises(dc.InputError, match="`y_true` must be one of `labels`, got 'prose'"):
        count(["prose"], ["a"])
    with pytest.raises(dc.InputError, match="`y_true` must have no missing values"):
        count([None], ["a"])  # type: ignore[list-item]


def test_numbers_as_classes_may_have_words_as_outcomes() -> None:
    cm = dc.ConfusionMatrix.from_predictions([0, 1, 1], [0, "refused", 1], outcomes=["refused"])
    assert cm.labels == (0, 1)
    assert cm.outcome_counts.tolist() == [[0], [1]]


def test_rates_differ_between_classes_or_not() -> None:
    true = ["a"] * 1000 + ["b"] * 1000 + ["c"] * 1000
    pred = true[:2500] + ["refused"] * 500
    rates = outcome_rates(dc.ConfusionMatrix.from_predictions(true, pred, outcomes=["refused"]))
    assert [rate.rate for rate in rates] == [0.0, 0.0, 0.5]
    assert rates[2].low == pytest.approx(0.469, abs=1e-3)
    assert rates[2].p_value < 1e-10
    assert rates.p_values["refused", "answer"] == pytest.approx(1 / 2000)
    assert rates.coverage == pytest.approx(2500 / 3000)


def test_equal_rates_are_called_different_at_most_as_often_as_allowed() -> None:
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(200):
        true = rng.integers(0, 5, 300)
        pred = [str(t) if rng.random() > 0.08 else "refused" for t in true]
        cm = dc.ConfusionMatrix.from_predictions(list(map(str, true)), pred, outcomes=["refused"])
        alarms += outcome_rates(cm).p_values["refused", "answer"] < 0.05
    # 200 trials at 5 %: 18 or more have a chance of 1 %.
    assert alarms < 18


def test_a_classifier_without_bias_that_refuses_one_class_gets_one_finding() -> None:
    rng = np.random.default_rng(0)
    true = np.repeat(CLASSES, 1000)
    others = np.array([rng.choice([c for c in CLASSES if c != t]) for t in true])
    pred = np.where(rng.random(3000) < 0.85, true, others).astype(object)
    pred[(true == "c") & (rng.random(3000) < 0.5)] = "refused"
    found = dc.diagnose(dc.ConfusionMatrix.from_predictions(true, pred, outcomes=["refused"]))
    assert [finding.kind for finding in found.findings] == ["outcome"]
    count = int((pred == "refused").sum())
    assert (
        f"“refused” is the answer for {count} of 1,000 samples of “c”" in found.findings[0].sentence
    )
    assert "for the other classes together 0 %" in found.findings[0].sentence
    assert "3 classes, a class was named for" in found.headline


def test_the_background_of_a_detector_is_named_once_and_biases_nobody() -> None:
    rng = np.random.default_rng(3)
    counts = rng.poisson(2, (9, 9)) + np.diag(rng.integers(100, 900, 9))
    counts[8], counts[:, 8] = rng.integers(20, 400, 9), rng.integers(20, 200, 9)
    counts[8, 8] = 0
    cm = dc.ConfusionMatrix.from_counts(counts, [*"abcdefgh", "background"])
    d = dc.diagnose(cm)
    assert {found.kind for found in d.findings} == {"careful"}
    (finding,) = (found for found in d.findings if "background" in found.classes)
    assert finding.sentence.startswith("“background” is never recognized: none of ")
    assert "`cm.treat_as_outcome(name)`" in finding.advice
    assert "“background” is never recognized." in d.headline
    assert "predicted (" not in d.headline
    # Biases of the others are what they are once it is an outcome.
    assert d.biases[8].verdict == "never right"
    others = dc.diagnose(cm.treat_as_outcome("background")).biases
    for mine, theirs in zip(d.biases[:8], others, strict=True):
        for name in ("ratio", "low", "high", "p_value", "verdict"):
            assert getattr(mine, name) == getattr(theirs, name)


def test_refusals_of_all_classes_alike_are_one_finding() -> None:
    rng = np.random.default_rng(1)
    true = np.repeat(CLASSES, 500)
    pred = np.where(rng.random(1500) < 0.08, "refused", true)
    found = dc.diagnose(dc.ConfusionMatrix.from_predictions(true, pred, outcomes=["refused"]))
    outcomes = [finding for finding in found.findings if finding.kind == "outcome"]
    assert len(outcomes) == 1
    assert "No class is shown to get it more often" in outcomes[0].sentence


def test_weights_scale_certainty_and_not_what_is_said() -> None:
    true, pred = ["a"] * 40 + ["b"] * 40, ["a"] * 40 + ["b"] * 30 + ["refused"] * 10
    plain = dc.ConfusionMatrix.from_predictions(true, pred, outcomes=["refused"])
    heavy = dc.ConfusionMatrix.from_predictions(
        true, pred, outcomes=["refused"], sample_weight=[3.0] * 80
    )
    one, other = outcome_rates(plain)[1], outcome_rates(heavy)[1]
    assert (other.count, other.total) == (30.0, 120.0)
    assert (other.rate, other.low, other.p_value) == pytest.approx((one.rate, one.low, one.p_value))


def refusing(rates: list[float], sizes: list[int], rng: np.random.Generator) -> dc.ConfusionMatrix:
    """Return a matrix of right answers, of which a share per class is refused."""
    true = np.repeat(list("abc"), sizes)
    refused = rng.random(len(true)) < np.repeat(rates, sizes)
    return dc.ConfusionMatrix.from_predictions(
        true, np.where(refused, "refused", true), labels=list("abc"), outcomes=["refused"]
    )


def test_a_comparison_says_which_rates_changed() -> None:
    rng = np.random.default_rng(0)
    before = refusing([0.02, 0.02, 0.02], [200, 100, 50], rng)
    after = refusing([0.02, 0.3, 0.3], [200, 100, 50], rng)
    c = dc.compare(before, after)
    (change,) = c.outcomes
    rates = [float(cm.outcome_counts.sum() / cm.n_samples) for cm in (before, after)]
    assert [change.first, change.second] == pytest.approx(rates)
    assert change.difference == pytest.approx(rates[1] - rates[0])
    assert change.low > 0.05
    assert change.p_value < 0.001
    assert c.to_dict()["outcomes"][0]["difference"] == change.difference
    assert "answers that are “refused”: rose, " in str(c)
    (back,) = dc.compare(after, before).outcomes
    assert (back.difference, back.low, back.high) == pytest.approx(
        (-change.difference, -change.high, -change.low)
    )
    assert back.p_value == pytest.approx(change.p_value)
    # What is beside the square changes nothing in it.
    square = [dc.ConfusionMatrix.from_counts(cm.counts, cm.labels) for cm in (before, after)]
    assert dc.compare(*square).outcomes == ()
    assert dc.compare(*square).p_value == c.p_value


@pytest.mark.parametrize("sizes", [[60, 60, 60], [10, 30, 140]])
def test_equal_rates_and_another_mix_of_labels_are_seldom_called_a_change(sizes: list[int]) -> None:
    rng = np.random.default_rng(1)
    rates = [0.05, 0.1, 0.5]
    pairs = ((refusing(rates, [90, 60, 30], rng), refusing(rates, sizes, rng)) for _ in range(200))
    alarms = sum(outcome_changes(*pair)[0].p_value < 0.05 for pair in pairs)
    assert alarms <= 18
