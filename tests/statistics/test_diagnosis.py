"""Diagnosis: planted truth, exact attribution, honest doubts, and how it shows itself."""

from __future__ import annotations

import datetime
import io
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rich.console import Console
from scipy import sparse
from scipy.cluster.hierarchy import is_valid_linkage

from deconfuse import ConfusionMatrix, InputError, compare, diagnose, estimate_bi, normalize
from deconfuse._text import interval_text
from deconfuse.statistics.diagnosis import Diagnosis
from deconfuse.statistics.similarity import pair_table

Floats = NDArray[np.float64]


def _planted(rng: np.random.Generator) -> tuple[ConfusionMatrix, tuple[int, int]]:
    """Return the matrix of a classifier with a rare look-alike pair, hidden by imbalance."""
    n_classes, pair = 12, (3, 8)
    similarity = np.exp(rng.uniform(np.log(0.05), np.log(0.08), (n_classes, n_classes)))
    similarity = np.sqrt(similarity * similarity.T)
    similarity[pair] = similarity[pair[::-1]] = 0.3
    np.fill_diagonal(similarity, 1.0)
    prevalence, bias = np.ones(n_classes), np.ones(n_classes)
    # As after training on such data: the frequent class is predicted far too readily.
    prevalence[0], bias[0] = 60.0, 15.0
    prevalence[list(pair)], bias[list(pair)] = 0.5, 0.3
    strengths = similarity * bias
    rates = strengths / strengths.sum(axis=1, keepdims=True)
    shares = (prevalence / prevalence.sum())[:, None] * rates
    counts = rng.multinomial(60_000, shares.ravel()).reshape(n_classes, n_classes)
    return ConfusionMatrix.from_counts(counts), pair


@pytest.mark.parametrize("seed", range(4))
def test_a_hidden_look_alike_pair_is_found_by_similarity_alone(seed: int) -> None:
    cm, pair = _planted(np.random.default_rng(seed))
    diagnosis = diagnose(cm)
    first = diagnosis.look_alikes[0]
    assert (first.first, first.second) == pair
    assert first.raw_rank > 5
    for method in ("row", "col", "all"):
        matrix = np.asarray(cm.normalize(method).matrix)
        together = np.triu(matrix + matrix.T, 1)
        best = np.unravel_index(together.argmax(), together.shape)
        assert tuple(int(k) for k in best) != pair, method
    assert diagnosis.findings[0].kind == "look_alike"
    assert diagnosis.findings[0].classes == pair
    under = {f.classes[0] for f in diagnosis.findings if f.kind == "under_predicted"}
    assert set(pair) <= under


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 7))
def test_the_three_parts_add_up_exactly(seed: int, n_classes: int) -> None:
    counts = np.random.default_rng(seed).poisson(6, (n_classes, n_classes)) + 1
    d = diagnose(counts)
    a = d.attribution
    np.testing.assert_allclose(a.base + a.observed, np.log(counts), atol=1e-12)
    np.testing.assert_allclose(
        a.similarity + a.label[:, None] + a.prediction, a.observed, atol=1e-12
    )
    error = d.typical_similarity / (1 + (n_classes - 1) * d.typical_similarity)
    weights = d.estimate.factors
    expected = np.log(weights.left[:, None] * counts * weights.right / error)
    np.testing.assert_allclose(a.similarity, expected, atol=1e-8)
    assert a.label.mean() == pytest.approx(0, abs=1e-9)
    assert a.prediction.mean() == pytest.approx(0, abs=1e-9)
    cell = a.cell(0, 1)
    assert cell.similarity + cell.label + cell.prediction == pytest.approx(cell.observed)
    assert cell.count == counts[0, 1]
    transposed = diagnose(counts.T).attribution
    # The prior of a bias knows labels from predictions.
    np.testing.assert_allclose(transposed.label, a.prediction, atol=0.3)


def test_classes_that_are_equally_similar_have_no_similarity_factor() -> None:
    rates = np.full((6, 6), 0.02) + 0.88 * np.eye(6)
    counts = 1e4 * np.array([1, 2, 3, 4, 5, 6])[:, None] * rates * np.array([3, 1, 1, 1, 1, 2])
    a = diagnose(counts.round().astype(int)).attribution
    np.testing.assert_allclose(a.similarity[~np.eye(6, dtype=bool)], 0, atol=1e-3)


def test_attribution_names_the_cause() -> None:
    # Class 0 is frequent, class 1 is over-predicted, classes 2 and 3 look alike.
    similarity = np.full((4, 4), 0.05) + 0.95 * np.eye(4)
    similarity[2, 3] = similarity[3, 2] = 0.6
    expected = np.array([50, 1, 1, 1])[:, None] * similarity * np.array([1, 6, 1, 1]) * 1000
    a = diagnose(expected.round().astype(int)).attribution
    assert a.cell(2, 3).cause == "similarity"
    assert a.cell(0, 2).cause == "label"
    assert a.cell(3, 1).cause == "prediction"
    assert [cell.count for cell in a.top(3)] == sorted(
        (expected - np.diag(expected.diagonal())).ravel().round(), reverse=True
    )[:3]
    with pytest.raises(InputError, match="`k` must be at least 1"):
        a.top(0)


def test_biases_do_not_mistake_imbalance_for_bias() -> None:
    # Symmetric similarity, no response bias, but class 0 is ten times as frequent.
    rates = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    even = diagnose((np.array([10_000, 1000, 1000])[:, None] * rates).astype(int))
    assert [bias.verdict for bias in even.biases] == ["even"] * 3
    assert even.biases[1].prediction_share > 1.5 * even.biases[1].label_share
    tilted = rates * np.array([1.0, 2.0, 1.0])
    tilted /= tilted.sum(axis=1, keepdims=True)
    skewed = diagnose((np.array([10_000, 1000, 1000])[:, None] * tilted).astype(int))
    assert [bias.verdict for bias in skewed.biases] == ["under", "over", "under"]
    np.testing.assert_allclose(
        [bias.ratio for bias in skewed.biases], tilted.sum(axis=0), rtol=3e-3
    )


def test_never_predicted_and_never_seen_classes_are_said() -> None:
    d = diagnose([[40, 0, 5], [30, 0, 3], [0, 0, 0]])
    assert [bias.verdict for bias in d.biases] == ["even", "never predicted", "never seen"]
    assert np.isnan([d.biases[1].ratio, d.biases[2].ratio]).all()
    assert d.look_alikes == d.uncertain_pairs == ()
    sentences = [f.sentence for f in d.findings]
    assert "“1” is never predicted, with 33 labels." in sentences
    assert "“2” is never a label, but predicted 8 times." in sentences
    assert "“2” is never a label. “1” is never predicted." in d.headline


def test_an_answer_that_is_no_class_changes_nothing_else() -> None:
    counts = np.full((4, 4), 10) + 180 * np.eye(4, dtype=int)
    counts[2] //= 2
    names = ["a", "b", "c", "d"]
    plain = diagnose(ConfusionMatrix.from_counts(counts, labels=names))
    refusing = np.zeros((5, 5), dtype=int)
    refusing[:4, :4] = counts
    refusing[2, 4] = 120
    d = diagnose(
        ConfusionMatrix.from_counts(refusing, labels=[*names, "refused"]), epsilon=plain.epsilon
    )
    assert [f.sentence for f in d.findings] == [
        "“refused” is never a label, but predicted 120 times."
    ]
    assert "`outcomes=`" in d.findings[0].advice
    assert d.look_alikes == plain.look_alikes
    for one, other in zip(d.biases[:4], plain.biases, strict=True):
        assert (one.ratio, one.low, one.p_value) == (other.ratio, other.low, other.p_value)


def test_names_that_differ_in_case_or_outer_spaces_are_said_once() -> None:
    counts = np.full((3, 3), 5) + 90 * np.eye(3, dtype=int)
    d = diagnose(ConfusionMatrix.from_counts(counts, labels=["Billing", "billing ", "other"]))
    assert [f.sentence for f in d.findings] == [
        "“Billing” and “billing ” differ only in case or outer spaces."
    ]
    assert d.findings[0].classes == ("Billing", "billing ")


def test_a_perfect_classifier_has_no_errors_and_that_is_said() -> None:
    d = diagnose(np.diag([60, 60, 10]))
    assert d.headline == (
        "3 classes, 130 samples, accuracy 1.00, balanced accuracy 1.00. No errors in 130 samples."
    )
    nearly = np.diag([60_000, 60_000])
    nearly[0, 1] = 1
    assert "accuracy 0.99999, balanced accuracy 0.99999." in diagnose(nearly).headline


def test_reliability_counts_effective_samples() -> None:
    counts = np.array([[90, 10], [4, 6]])
    cm = ConfusionMatrix.from_counts(counts)
    d = diagnose(cm)
    n = cm.normalize("bi")
    weights = np.outer(n.left, n.right)
    sizes = (weights * counts).sum(axis=1) ** 2 / (weights**2 * counts).sum(axis=1)
    np.testing.assert_allclose([r.effective_samples for r in d.reliability], sizes)
    whole = (weights * counts).sum() ** 2 / (weights**2 * counts).sum()
    assert d.reliability.effective_samples == pytest.approx(whole)
    invented = d.epsilon * weights.sum(axis=1)
    assert d.reliability[1].epsilon_share >= invented[1] - 1e-12
    assert d.reliability[1].grade == "poor"
    assert any("counts for" in reason for reason in d.reliability[1].reasons)
    assert len(d.reliability) == 2


def test_weighted_counts_are_worth_fewer_samples() -> None:
    counts = np.array([[90.0, 10.0], [20.0, 80.0]])
    plain = diagnose(ConfusionMatrix.from_counts(counts))
    heavy = diagnose(ConfusionMatrix.from_counts(counts, variances=4 * counts))
    ratio = plain.reliability.effective_samples / heavy.reliability.effective_samples
    assert ratio == pytest.approx(4.0)
    assert heavy.look_alikes[0].high > 1.3 * plain.look_alikes[0].high
    heavier = diagnose(ConfusionMatrix.from_counts(counts, variances=40 * counts))
    assert heavier.look_alikes == ()
    assert not heavier.uncertain_pairs[0].is_certain
    assert heavy.biases[0].high > plain.biases[0].high


def test_cells_that_rest_on_epsilon_are_flagged() -> None:
    counts = np.array([[50, 0, 2], [7, 60, 0], [1, 30, 200]])
    cells = diagnose(counts).reliability.cells
    np.testing.assert_array_equal(cells.only_epsilon, counts == 0)
    np.testing.assert_array_equal(cells.few_samples, counts < 5)
    assert cells.unstable[counts == 0].all()
    assert not cells.unstable[1, 1]


def test_stability_under_epsilon_is_measured() -> None:
    pair = diagnose([[100, 20, 0], [15, 100, 0], [9, 0, 100]])
    shifts = [r.epsilon_shift for r in pair.reliability]
    direct = [
        np.asarray(normalize(pair.source.counts, "bi", epsilon=e).matrix) for e in (1 / 30, 10 / 3)
    ]
    most = np.abs(direct[0] - direct[1]).sum(axis=1) / 2
    assert (np.array(shifts) <= most + 1e-9).all()
    assert (np.array(shifts) >= 0.7 * most).all()


def test_similarity_intervals_cover() -> None:
    rng = np.random.default_rng(1)
    similarity = np.full((4, 4), 0.15) + 0.85 * np.eye(4)
    strengths = similarity * np.array([1.0, 3.0, 0.5, 1.0])
    shares = np.array([4, 1, 2, 1])[:, None] * strengths / strengths.sum(axis=1, keepdims=True) / 8
    hits = total = 0
    for draw in rng.multinomial(1500, shares.ravel(), size=150).reshape(-1, 4, 4):
        pairs = pair_table(estimate_bi(draw))
        hits += ((pairs.low <= 0.15) & (pairs.high >= 0.15))[pairs.is_certain].sum()
        total += pairs.is_certain.sum()
    assert total > 800
    assert 0.93 <= hits / total <= 0.97


def test_order_of_findings_and_pairs() -> None:
    cm, _ = _planted(np.random.default_rng(3))
    d = diagnose(cm, n_pairs=7)
    assert len(d.look_alikes) == 7
    assert [pair.rank for pair in d.look_alikes] == list(range(1, 8))
    ends = [pair.low for pair in d.look_alikes]
    assert ends == sorted(ends, reverse=True)
    kinds = [f.kind for f in d.findings]
    order = ["look_alike", "over_predicted", "under_predicted", "not_alike", "careful"]
    assert kinds == sorted(kinds, key=order.index)
    assert all(f.advice and 0 <= f.severity <= 1 for f in d.findings)
    assert is_valid_linkage(d.hierarchy)
    assert sorted(d.order) == list(range(12))


def test_a_lucky_pair_of_a_few_confusions_does_not_lead() -> None:
    # Fifty classes of four samples; two of them got one and two confusions. Two classes of four
    # hundred samples are confused a hundred times each way.
    counts = np.diag([400, 400, *[4] * 48])
    counts[0, 1], counts[1, 0] = 100, 110
    counts[30, 31], counts[31, 30] = 1, 2
    d = diagnose(counts)
    pairs = {(pair.first, pair.second): pair for pair in (*d.look_alikes, *d.uncertain_pairs)}
    lucky, sure = pairs[30, 31], pairs[0, 1]
    assert lucky.similarity > sure.similarity
    assert lucky.low < sure.low
    assert d.look_alikes[0] == sure
    assert (sure.rank, sure.count, sure.reverse_count) == (1, 100, 110)
    first = next(f for f in d.findings if f.kind == "look_alike")
    assert first.classes == (0, 1)
    assert "100 of 500 “0” are predicted as “1” and 110 of 510 “1” as “0”" in first.sentence
    assert interval_text(sure.similarity, sure.low, sure.high) in first.sentence


def test_lucky_pairs_of_many_classes_stay_behind_a_real_one() -> None:
    # A hundred classes of thirty samples with the same small similarity everywhere but in one pair.
    firsts = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        similarity = np.full((100, 100), 0.003)
        similarity[4, 9] = similarity[9, 4] = 0.12
        np.fill_diagonal(similarity, 1.0)
        rates = similarity / similarity.sum(axis=1, keepdims=True)
        d = diagnose(np.array([rng.multinomial(60, row) for row in rates]))
        firsts += bool(d.look_alikes) and (d.look_alikes[0].first, d.look_alikes[0].second) == (
            4,
            9,
        )
    assert firsts >= 9


def test_similarities_that_tell_nothing_are_not_given_as_numbers() -> None:
    d = diagnose([[1, 2, 0], [2, 1, 0], [0, 0, 60]])
    pair = d.uncertain_pairs[0]
    assert (pair.first, pair.second) == (0, 1)
    assert pair.high > 1
    assert pair.tells_nothing
    sentence = next(f.sentence for f in d.findings if f.classes == (0, 1))
    assert (
        sentence == "How similar confused pairs are is uncertain: “0” and “1” (2 of 3"
        " and 2 of 3 confused)."
    )
    vague = diagnose([[400, 0, 3], [0, 300, 0], [0, 0, 600]])
    other = vague.uncertain_pairs[0]
    assert not other.tells_nothing
    assert "“0” and “2” (3 of 403 and 0 of 600 confused)" in " ".join(
        f.sentence for f in vague.findings
    )


def test_many_classes_stay_sparse() -> None:
    rng = np.random.default_rng(0)
    n_classes = 5_000
    true = rng.integers(0, n_classes, 75_000)
    wrong = rng.random(75_000) < 0.1
    pred = np.where(wrong, (true + 1) % n_classes, true)
    # Two classes that are taken for each other all the time.
    true[:400], pred[:400] = 7, np.where(rng.random(400) < 0.4, 11, 7)
    true[400:800], pred[400:800] = 11, np.where(rng.random(400) < 0.4, 7, 11)
    d = diagnose(ConfusionMatrix.from_predictions(true, pred))
    assert d.source.is_sparse
    assert (d.look_alikes[0].first, d.look_alikes[0].second) == (7, 11)
    with pytest.raises(InputError, match="A hierarchy must have at most 4,096 classes"):
        _ = d.hierarchy
    data = json.loads(d.to_json())
    assert data["hierarchy"] is data["counts"] is data["reliability"]["cells"] is None


@pytest.mark.parametrize("seed", range(3))
def test_a_sparse_matrix_has_the_diagnosis_of_a_dense_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    pair = [rng.poisson(0.1, (40, 40)) + np.diag(rng.poisson(9.0, 40)) for _ in range(2)]
    pair[0][3, 4] = 12

    def results() -> tuple[bool, str, str]:
        first, second = (ConfusionMatrix.from_counts(sparse.csr_array(counts)) for counts in pair)
        return first.is_sparse, str(diagnose(first)), str(compare(first, second))

    was_sparse, *dense = results()
    monkeypatch.setattr("deconfuse.counts._ALWAYS_DENSE", 0)
    is_sparse, *found = results()
    assert (was_sparse, is_sparse) == (False, True)
    assert found == dense


HOSTILE = ['<img src=x onerror="alert(1)">', "[bold red]x[/]", "a\x1b[31m\n", "&amp;'\"", "x" * 200]


def test_names_are_text_everywhere() -> None:
    counts = np.full((5, 5), 8) + 40 * np.eye(5, dtype=int)
    counts[:, 0] += 30
    d = diagnose(ConfusionMatrix.from_counts(counts, labels=HOSTILE))
    html = d._repr_html_()
    assert "<img" not in html
    assert "&lt;img" in html
    text = str(d)
    assert "\x1b" not in text
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(d)
    shown = console.export_text()
    assert "[bold red]x[/]" in shown
    assert max(len(line) for line in text.splitlines()) < 400


def test_advice_is_said_once_and_sentences_stay_indented() -> None:
    cm, _ = _planted(np.random.default_rng(3))
    d = diagnose(cm)
    under = [f for f in d.findings if f.kind == "under_predicted"]
    assert len({f.advice for f in under}) == 1 < len(under)
    console = Console(width=70, record=True, file=io.StringIO())
    console.print(d)
    printed = console.export_text()
    for shown in (str(d), d._repr_html_(), " ".join(printed.split())):
        assert shown.count("Such a classifier needs no repair") == 1
    section = printed.split("Under-predicted\n")[1].split("\n\n")[0]
    assert all(line.startswith(("  •", "  →", "    ", "  and ")) for line in section.splitlines())
    assert any(line.startswith("    ") for line in section.splitlines())


def test_the_headline_of_weighted_samples_says_what_they_weigh() -> None:
    y, p = ["a", "b"] * 50, ["a", "b"] * 49 + ["b", "a"]
    for weight, told in ((1e6, "100,000,000"), (0.015, "1.5")):
        cm = ConfusionMatrix.from_predictions(y, p, sample_weight=np.full(100, weight))
        assert diagnose(cm).headline.startswith(f"2 classes, samples weighing {told}, ")
    assert diagnose([[49, 1], [1, 49]]).headline.startswith(
        "2 classes, 100 samples, accuracy 0.98, "
    )


def test_the_headline_tells_long_names_apart_and_leads_with_what_is_certain() -> None:
    names = [f"Type 2 diabetes mellitus with {kind} in {end} remission" for kind in
             ("other complications", "kidney disease") for end in ("partial", "full")]  # fmt: skip
    counts = np.diag([900, 800, 700, 600])
    counts[0, 1] = counts[1, 0] = 150
    counts[2, 3] = counts[3, 2] = 9
    said = diagnose(ConfusionMatrix.from_counts(counts, labels=names)).headline
    quotes = [part.split("”")[0] for part in said.split("“")[1:]]
    for quote in quotes:
        pattern = ".*".join(map(re.escape, quote.split("…")))
        assert sum(re.fullmatch(pattern, name) is not None for name in names) == 1, quote
    # A class of three labels that is never predicted may be chance; a pair of 300 errors is not.
    counts = np.pad(counts, (0, 1))
    counts[4, 0] = 3
    cm = ConfusionMatrix.from_counts(counts, labels=["a", "b", "c", "d", "rare"])
    said = diagnose(cm).headline
    assert said.index("“a” and “b” are similar") < said.index("“rare” is never predicted.")
    counts[4, 0] = 300
    said = diagnose(ConfusionMatrix.from_counts(counts, labels=cm.labels)).headline
    assert "balanced accuracy 0.73. “rare” is never predicted." in said


ENDS = ("similarity", "low", "high")


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(3, 8))
def test_relabelling_and_transposing_change_no_similarity(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(1, 60, (n_classes, n_classes))) + 200 * np.eye(n_classes) + 1
    order = rng.permutation(n_classes)
    plain, moved, turned = (
        diagnose(ConfusionMatrix.from_counts(matrix.astype(int), labels=labels))
        for matrix, labels in (
            (counts, range(n_classes)),
            (counts[np.ix_(order, order)], order.tolist()),
            (counts.T, range(n_classes)),
        )
    )

    def pairs(d: Diagnosis) -> dict[tuple[object, ...], float]:
        return {
            (*sorted((p.first, p.second)), n): getattr(p, n) for p in d.look_alikes for n in ENDS
        }

    assert pairs(moved) == pytest.approx(pairs(plain), rel=1e-6)
    # The prior of a bias knows labels from predictions.
    assert pairs(turned) == pytest.approx(pairs(plain), rel=0.02)
    ratios = {bias.label: (bias.ratio, bias.verdict) for bias in moved.biases}
    for bias in plain.biases:
        assert ratios[bias.label] == (pytest.approx(bias.ratio), bias.verdict)
    found = [
        sorted((f.kind, sorted(f.classes)) for f in d.findings if f.kind != "careful")
        for d in (plain, moved)
    ]
    assert found[0] == found[1]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 7))
def test_with_many_samples_scaled_rows_and_columns_change_no_similarity(
    seed: int, n_classes: int
) -> None:
    rng = np.random.default_rng(seed)
    counts = 1e6 * (rng.poisson(50, (n_classes, n_classes)) + 1.0)
    factors = rng.integers(1, 9, (2, n_classes))
    scaled = factors[0][:, None] * counts * factors[1]
    one, other = (diagnose(matrix) for matrix in (counts, scaled))
    np.testing.assert_allclose(one.attribution.similarity, other.attribution.similarity, atol=1e-3)
    assert other.typical_similarity == pytest.approx(one.typical_similarity, rel=1e-3)


def test_json_form() -> None:
    days = [datetime.date(2026, 1, day) for day in (1, 2, 3)]
    d = diagnose(ConfusionMatrix.from_counts([[5, 1, 0], [2, 6, 0], [0, 0, 0]], labels=days))
    data = json.loads(d.to_json(indent=2))
    assert data == json.loads(json.dumps(d.to_dict(), allow_nan=False))
    keys = (
        "labels total counts epsilon level headline accuracy balanced_accuracy macro_f1 kappa"
        " per_class separability estimate findings look_alikes uncertain_pairs n_look_alikes"
        " n_uncertain_pairs typical_similarity biases attribution reliability outcomes hierarchy"
        " order"
    )
    assert list(data) == keys.split()
    assert data["labels"][0] == "2026-01-01"
    assert data["counts"] == [[5, 1, 0], [2, 6, 0], [0, 0, 0]]
    np.testing.assert_array_equal(
        data["reliability"]["cells"]["only_epsilon"], d.source.counts == 0
    )
    # What is there gives the parts of every cell.
    parts = data["attribution"]
    labels, predictions = (np.array(parts[name], dtype=float) for name in ("label", "prediction"))
    similarity = np.log(np.array(data["counts"])[:2, :2]) - parts["base"]
    similarity -= labels[:2, None] + predictions[:2]
    np.testing.assert_allclose(similarity, d.attribution.similarity[:2, :2])
    # A class without samples has no estimate.
    assert np.isnan(labels[2])
    assert data["estimate"]["matrix"][2] == [None] * 3
    assert set(data["separability"]) == {"value", "low", "high"}
    assert data["biases"][2]["ratio"] is None
    assert len(data["reliability"]["classes"]) == 3
    assert len(data["hierarchy"]) == 2
    assert {"kind", "severity", "sentence", "advice", "classes", "cells"} == set(
        data["findings"][0]
    )
    parts = data["attribution"]["cells"][0]
    assert parts["observed"] == pytest.approx(
        parts["similarity"] + parts["label"] + parts["prediction"]
    )


@pytest.mark.parametrize("counts", [[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[2, 0], [0, 0]], [[5]]])
def test_two_samples_are_not_enough_and_that_is_said(counts) -> None:
    d = diagnose(counts)
    assert all(f.kind == "careful" for f in d.findings)
    assert any("fewer than 10 effective samples" in f.sentence for f in d.findings)
    assert "class" in repr(d)
    json.dumps(d.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("counts", "options", "message"),
    [
        ([[0, 0], [0, 0]], {}, "A diagnosis needs samples"),
        ([[5, 1], [1, 5]], {"level": 95}, "`level` must be above 0 and below 1"),
        ([[5, 1], [1, 5]], {"n_pairs": 0}, "`n_pairs` must be at least 1, and a whole number"),
        ([[5, 1], [1, 5]], {"n_pairs": 1.5}, "`n_pairs` must be at least 1, and a whole number"),
        ([[5, 1], [1, 5]], {"epsilon": -0.1}, "`epsilon` must be a finite number"),
    ],
)
def test_bad_input(counts, options, message: str) -> None:
    with pytest.raises(InputError, match=message):
        diagnose(counts, **options)
