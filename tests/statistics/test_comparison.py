"""Comparison: calibrated under the null, right about planted differences, pairing that helps."""

from __future__ import annotations

import io
import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console
from scipy.optimize import minimize_scalar
from scipy.special import xlogy
from scipy.stats import binom, chi2, chi2_contingency

from deconfuse import (
    ConfusionMatrix,
    DeconfuseWarning,
    InputError,
    compare,
    estimate_bi,
    normalize,
    overlap,
)
from deconfuse.statistics.cells import Cells, adjust, holm
from deconfuse.statistics.deterioration import deteriorations
from deconfuse.statistics.margin_tests import bias_test, label_share_test
from deconfuse.statistics.resampling import overlap_interval
from deconfuse.statistics.score_differences import Scores, tango
from tests.statistics.simulated import draw_counts, error_rates

Floats = NDArray[np.float64]


def _shares(rates: Floats, rng: np.random.Generator) -> Floats:
    """Return the same similarity under other label shares and another prediction bias."""
    tilted = rates * np.exp(0.4 * rng.normal(size=len(rates)))
    tilted /= tilted.sum(axis=1, keepdims=True)
    prevalence = rng.dirichlet(np.full(len(rates), 5.0))
    return np.asarray(prevalence[:, None] * tilted)


def test_equal_matrices_do_not_differ() -> None:
    cm = ConfusionMatrix.from_counts([[90, 10, 3], [12, 80, 6], [1, 9, 60]])
    c = compare(cm, cm)
    assert c.overlap == pytest.approx(1.0)
    assert 0.9 < c.overlap_interval[0] < c.overlap_interval[1] == 1.0
    assert c.p_value == 1.0
    assert c.can_tell
    assert (c.raw_p_values > 0.99).all()
    np.testing.assert_array_equal(c.difference, np.zeros((3, 3)))


def test_margins_alone_do_not_count() -> None:
    counts = np.array([[900, 100, 30], [120, 800, 60], [10, 90, 600]])
    scaled = counts * np.array([[1], [3], [10]]) * np.array([5, 1, 2])
    c = compare(counts, scaled, epsilon=1e-6)
    assert c.overlap > 0.9999
    assert (c.p_values > 0.9).all()


def test_classes_are_matched_by_name() -> None:
    first = ConfusionMatrix.from_counts([[90, 10], [5, 60]], labels=["a", "b"])
    second = ConfusionMatrix.from_counts([[60, 5], [10, 90]], labels=["b", "a"])
    assert compare(first, second).overlap == pytest.approx(1.0)


def test_a_planted_difference_is_found_where_it_is() -> None:
    rng = np.random.default_rng(0)
    rates = np.full((6, 6), 0.02) + 0.88 * np.eye(6)
    changed = rates.copy()
    changed[2, 4], changed[2, 2] = 0.2, 0.72
    a = draw_counts(rates / 6, 4000, rng)
    b = draw_counts(changed / 6, 4000, rng)
    c = compare(a, b)
    assert c.p_value < 0.01
    best = {(cell.true, cell.pred) for cell in c.top(2)}
    assert best == {(2, 4), (2, 2)}
    assert c.p_values[2, 4] == 0.001
    assert c.raw_p_values[2, 4] < 1e-6
    assert (c.p_values[[0, 1, 3, 5]] > 0.05).all()
    truth = overlap(normalize(rates, "bi", 0.0), normalize(changed, "bi", 0.0))
    assert c.overlap_interval[0] <= truth <= c.overlap_interval[1]
    assert c.overlap < c.overlap_if_equal


def test_standard_errors_of_the_difference() -> None:
    rng = np.random.default_rng(1)
    shares = _shares(error_rates(4, rng, 0.6), rng)
    a, b = draw_counts(shares, 2000, rng), draw_counts(shares, 1500, rng)
    c = compare(a, b)
    expected = np.hypot(normalize(a, "bi").standard_errors(), normalize(b, "bi").standard_errors())
    np.testing.assert_allclose(c.standard_errors, expected, rtol=1e-6)


def test_order_does_not_matter_to_cells_however_surely_they_differ() -> None:
    a, b = [[900, 100], [100, 900]], [[550, 450], [450, 550]]
    there, back = compare(a, b).raw_p_values, compare(b, a).raw_p_values
    np.testing.assert_allclose(there, back, rtol=1e-9)
    assert (there > 0).all()
    assert (there < 1e-50).all()


def _two_models(
    rng: np.random.Generator, n_samples: int, agreement: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return labels and the predictions of two equally good models that mostly agree."""
    rates = error_rates(4, np.random.default_rng(0), 0.75)
    y = rng.integers(0, 4, n_samples)
    draws = [np.array([rng.choice(4, p=rates[label]) for label in y]) for _ in range(2)]
    same = rng.random(n_samples) < agreement
    return y, draws[0], np.where(same, draws[0], draws[1])


def test_pairing_takes_away_what_both_share() -> None:
    y, one, other = _two_models(np.random.default_rng(3), 3000, 0.9)
    a, b = (ConfusionMatrix.from_predictions(y, p) for p in (one, other))
    paired, unpaired = compare(a, b, paired=(y, one, other)), compare(a, b)
    assert paired.is_paired
    ratio = paired.standard_errors / unpaired.standard_errors
    assert (ratio < 0.6).all()
    assert paired.overlap_if_equal > unpaired.overlap_if_equal


def test_paired_errors_against_the_bootstrap() -> None:
    rng = np.random.default_rng(4)
    y, one, other = _two_models(rng, 1500, 0.6)
    a, b = (ConfusionMatrix.from_predictions(y, p) for p in (one, other))
    c = compare(a, b, paired=(y, one, other))
    draws = []
    for _ in range(400):
        kept = rng.integers(0, len(y), len(y))
        first, second = (
            np.asarray(ConfusionMatrix.from_predictions(y[kept], p[kept]).normalize("bi").matrix)
            for p in (one, other)
        )
        draws.append(first - second)
    ratio = np.std(draws, axis=0) / c.standard_errors
    # Where no sample was seen the bootstrap never sees one either.
    enough = (a.counts >= 5) & (b.counts >= 5)
    assert enough.sum() > 10
    assert np.abs(np.log(ratio[enough])).max() < 0.25


def test_a_model_paired_with_itself() -> None:
    y, one, _ = _two_models(np.random.default_rng(5), 500, 1.0)
    cm = ConfusionMatrix.from_predictions(y, one)
    c = compare(cm, cm, paired=(y, one, one))
    # All noise of the samples is shared; only the doubt about epsilon is left.
    enough = cm.counts >= 5
    assert (c.standard_errors < 0.3 * compare(cm, cm).standard_errors)[enough].all()
    assert (c.raw_p_values > 0.99).all()


def test_many_classes_to_first_order(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    shares = _shares(error_rates(60, rng), rng)
    a, b = draw_counts(shares, 30_000, rng), draw_counts(shares, 30_000, rng)
    exact = compare(a, b)
    assert exact.p_value > 0.02
    assert abs(exact.overlap - exact.overlap_if_equal) < 0.01
    monkeypatch.setattr("deconfuse.statistics.resampling._MAX_EXACT", 10)
    monkeypatch.setattr("deconfuse.statistics.resampling._KEPT_CELLS", 10)
    linear = compare(a, b)
    assert linear.overlap_if_equal == pytest.approx(exact.overlap_if_equal, abs=0.006)
    assert linear.overlap_interval == pytest.approx(exact.overlap_interval, abs=0.02)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([[1, 0], [0, 1]], [[0, 1], [1, 0]]),
        ([[2, 0], [0, 0]], [[0, 0], [0, 2]]),
        ([[1, 1], [0, 0]], [[0, 0], [1, 1]]),
        ([[1, 0], [1, 0]], [[0, 1], [0, 1]]),
    ],
)
def test_two_samples_each_cannot_tell_and_that_is_said(first, second) -> None:
    c = compare(first, second)
    assert c.p_value > 0.3
    assert not c.can_tell
    assert c.smallest_p_value > 0.05
    text = str(c)
    assert "prediction bias taken out: cannot be tested" in text
    assert "This says nothing about accuracy" in text
    assert "different (" not in text
    assert not (c.p_values <= 0.05).any()


@pytest.mark.parametrize("count", [30, 100_000])
def test_two_that_are_always_right_are_no_lack_of_samples(count: int) -> None:
    c = compare(np.diag([count] * 3), np.diag([2 * count] * 3))
    assert "neither of the two confuses any classes, so there is nothing to compare" in str(c)
    assert "cannot be tested" not in str(c)


@pytest.mark.parametrize("few", [np.diag([29, 500]), np.array([[500, 0], [1, 500]])])
def test_few_samples_without_errors_are_few(few: NDArray[np.int64]) -> None:
    assert "neither" not in str(compare(few, np.diag([500, 500])))
    assert "cannot be tested" in str(compare(np.diag([29, 500]), np.diag([500, 500])))


def test_few_heavy_samples_without_errors_are_few() -> None:
    heavy = ConfusionMatrix.from_counts(np.diag([250.0, 250]), variances=np.diag([12500.0, 12500]))
    assert "cannot be tested" in str(compare(heavy, heavy))


def test_the_interval_of_the_overlap_without_any_spread() -> None:
    none = np.zeros((2, 2))
    stack = np.zeros((5, 2, 2))
    assert overlap_interval(none, none, lambda: [stack], lambda: [stack], 0.95) == (1.0, 1.0)
    moved = np.array([[0.1, -0.1], [-0.1, 0.1]])
    low, high = overlap_interval(moved, none, lambda: [stack], lambda: [stack], 0.95)
    assert low == high == pytest.approx(0.9)


def test_what_is_undefined_is_null_in_json_and_a_dash_in_text() -> None:
    c = compare([[80, 20], [9, 91]], [[50, 50], [9, 91]])
    raw = c.raw_p_values.copy()
    raw[1, 1] = np.nan
    broken = replace(c, raw_p_values=raw, p_values=raw, overlap=float("nan"))
    data = json.loads(broken.to_json())
    assert data["raw_p_values"][1][1] is None
    assert data["overlap"] is None
    assert data["top"][-1]["p_value"] is None
    assert str(broken).splitlines()[-1].endswith(" –")
    assert "nan" not in str(broken).splitlines()[-1]


@pytest.mark.parametrize("width", [20, 60, 200])
def test_a_terminal_of_any_width_shows_whole_numbers(width: int) -> None:
    names = ["a class of a long name", "dog"]
    a, b = ([[80, 20], [9, 91]], [[50, 50], [9, 91]])
    c = compare(ConfusionMatrix.from_counts(a, names), ConfusionMatrix.from_counts(b, names))
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(c)
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= width
    words = " ".join(lines).replace(",", " ").split()
    for cell in c.top():
        assert f"{cell.first:.4f}" in words
        assert f"{cell.difference:+.4f}" in words
        assert f"{cell.p_value:.3g}" in words


def test_equal_input_gives_equal_output() -> None:
    a, b = [[30, 4], [6, 20]], [[25, 9], [2, 30]]
    assert compare(a, b).p_value == compare(a, b).p_value
    assert compare(a, b, rng=1).p_value == compare(a, b, rng=np.random.default_rng(1)).p_value


def test_weighted_counts_are_less_sure() -> None:
    a, b = np.array([[300, 40], [60, 200]]), np.array([[250, 90], [20, 300]])
    sure = compare(a, b)
    unsure = compare(
        ConfusionMatrix.from_counts(a.astype(float), variances=16.0 * a),
        ConfusionMatrix.from_counts(b.astype(float), variances=16.0 * b),
    )
    assert (unsure.standard_errors > 3 * sure.standard_errors).all()
    assert (unsure.raw_p_values > sure.raw_p_values).all()


def test_one_model_that_only_mends_the_other_differs_whatever_can_be_drawn() -> None:
    """Each class is taken only for the next one: no other tables have the same margins and sum."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, 6, 5_000)
    first = np.where(rng.random(5_000) < 0.8, true, (true + 1) % 6)
    second = np.where(rng.random(5_000) < 0.5, true, first)
    one, other = (ConfusionMatrix.from_predictions(true, pred) for pred in (first, second))
    for options in ({}, {"paired": (true, first, second)}):
        found = compare(one, other, **options)
        assert found.can_tell
        assert found.p_value < 1e-6
        assert "prediction bias taken out: different (p" in str(found)
    same = compare(one, one, paired=(true, first, first))
    assert same.p_value == 1.0


def test_corrections() -> None:
    p = np.array([0.01, 0.04, 0.03, np.nan])
    np.testing.assert_allclose(adjust(p, "holm")[:3], [0.03, 0.06, 0.06])
    np.testing.assert_allclose(adjust(p, "bh")[:3], [0.03, 0.04, 0.04])
    assert np.isnan(adjust(p, "bh")[3])
    np.testing.assert_array_equal(adjust(p, "none"), p)
    assert holm(np.array([0.9, 0.8])).max() <= 1
    assert adjust(np.array([np.nan]), "bh").size == 1
    with pytest.raises(InputError, match="`correction` must be one of"):
        adjust(p, "bonferroni")  # type: ignore[arg-type]


def test_it_shows_itself() -> None:
    labels = ["<b>x</b>", "[red]y[/]"]
    a = ConfusionMatrix.from_counts([[300, 40], [60, 200]], labels=labels)
    b = ConfusionMatrix.from_counts([[250, 90], [20, 300]], labels=labels)
    c = compare(a, b)
    assert "<b>x" not in c._repr_html_()
    assert "overlap by" in str(c)
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(c)
    assert "[red]y[/]" in console.export_text()
    data = json.loads(c.to_json())
    assert data == json.loads(json.dumps(c.to_dict(), allow_nan=False))
    assert data["can_tell"] is True
    assert data["smallest_p_value"] < 0.05
    assert data["labels"] == labels
    assert len(data["p_values"]) == 2
    assert "Comparison of 2 classes" in repr(c)
    with pytest.raises(InputError, match="`k` must be at least 1"):
        c.top(0)


COUNTS = ConfusionMatrix.from_counts([[5, 1], [1, 5]], labels=["a", "b"])


@pytest.mark.parametrize(
    ("second", "options", "message"),
    [
        (
            ConfusionMatrix.from_counts([[5, 1], [1, 5]], labels=["a", "c"]),
            {},
            "same classes, got 'b'",
        ),
        (COUNTS, {"epsilon": 0.0}, "`epsilon` must be positive to compare .* cell by cell, got 0"),
        (COUNTS, {"level": 2}, "`level` must be above 0"),
        (COUNTS, {"rng": -1}, "`rng` must be a numpy.random.Generator or a seed"),
        (ConfusionMatrix.from_counts([[0, 0], [0, 0]], labels=["a", "b"]), {}, "must have samples"),
        (COUNTS, {"paired": (["a"], ["a"])}, "`paired` must be the tuple"),
        (COUNTS, {"paired": (["a"], ["a"], ["a", "b"])}, "three columns of the same samples"),
        (COUNTS, {"paired": (["a"], ["a"], ["a"])}, "but the first matrix counts others"),
    ],
)
def test_bad_input(second, options, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare(COUNTS, second, **options)


def test_pairs_of_weighted_samples_are_refused() -> None:
    weighted = ConfusionMatrix.from_counts([[5.0, 1], [1, 5]], variances=[[9.0, 2], [2, 9]])
    with pytest.raises(InputError, match="needs unweighted samples"):
        compare(weighted, weighted, paired=([0], [0], [0]))


@pytest.mark.filterwarnings("ignore:`epsilon` of:deconfuse.DeconfuseWarning")
def test_the_scale_of_weights_is_no_difference() -> None:
    # No other table has these margins, so the surest cell is the overall test.
    true, pred = ["a", "b", "a", "c", "b"] * 20, ["a", "b", "b", "c", "b"] * 20
    light = ConfusionMatrix.from_predictions(true, pred, sample_weight=np.full(100, 0.01))
    plain = ConfusionMatrix.from_predictions(true, pred)
    for c in (compare(light, plain), compare(plain, light), compare(plain, plain, epsilon=9.0)):
        assert c.p_value == 1.0
        assert (c.p_values == 1.0).all()


def test_epsilon_heavier_than_samples_is_warned_of() -> None:
    counts = np.array([[40.0, 5.0], [9.0, 30.0]])
    light = ConfusionMatrix.from_counts(0.01 * counts, variances=0.0001 * counts)
    with pytest.warns(DeconfuseWarning, match="weighs 50 times a sample of the second matrix"):
        compare(counts, light)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(counts, light, epsilon=0.005)


@pytest.mark.filterwarnings("ignore:`epsilon` of:deconfuse.DeconfuseWarning")
@pytest.mark.parametrize(
    ("sizes", "weight", "epsilon"), [((100, 100), 0.01, None), ((100, 5000), 1.0, 5.0)]
)
def test_epsilon_worth_many_samples_raises_no_alarm(sizes, weight, epsilon, monkeypatch) -> None:
    monkeypatch.setattr("deconfuse.statistics.similarity_test._DRAWS", 199)
    rng = np.random.default_rng(0)
    shares = (np.full((3, 3), 0.1) + 0.7 * np.eye(3)) / 3
    alarms, found, runs = 0, 0, 30
    for _ in range(runs):
        one, same = (draw_counts(shares, size, rng) for size in sizes)
        other = draw_counts((np.full((3, 3), 0.25) + 0.25 * np.eye(3)) / 3, 300, rng)
        light = ConfusionMatrix.from_counts(weight * one, variances=weight**2 * one)
        alarms += bool((compare(light, same, epsilon=epsilon).p_values < 0.05).any())
        found += bool((compare(light, other, epsilon=epsilon).p_values < 0.05).any())
    assert alarms <= binom.ppf(0.999, runs, 0.05)
    assert found >= 0.8 * runs


@pytest.mark.parametrize(
    "counts", [[[5]], np.diag([300_000] * 3), [[10**10, 10**3], [10**4, 10**9]]]
)
def test_what_never_differs_has_numbers_throughout(counts: object) -> None:
    same = compare(counts, counts)
    assert same.p_value == 1.0
    assert same.p_values.tolist() == np.ones_like(same.p_values).tolist()
    assert "NaN" not in same.to_json()


def test_a_model_that_favours_a_class_is_worse_though_it_confuses_the_same() -> None:
    rng = np.random.default_rng(0)
    true = rng.choice(5, 3000, p=[0.4, 0.25, 0.15, 0.1, 0.1])
    scores = 2.2 * np.eye(5)[true] + rng.gumbel(size=(3000, 5))
    first, second = scores.argmax(axis=1), (scores + 4.0 * np.eye(5)[0]).argmax(axis=1)
    one, other = (ConfusionMatrix.from_predictions(true, pred) for pred in (first, second))
    for options in ({}, {"paired": (true, first, second)}):
        c = compare(one, other, **options)
        assert c.headline.startswith("The second is worse than the first: accuracy 0.68")
        assert c.bias_p_value < 1e-6
        assert c.p_value > 0.05
        assert c.is_worse(margin=0.02)
    assert compare(other, one).headline.startswith("The second is better than the first")


def _pairs_of_models(rng: np.random.Generator) -> tuple[ConfusionMatrix, ConfusionMatrix]:
    one = _shares(error_rates(4, rng), rng)
    other = _shares(error_rates(4, rng), rng)
    a, b = draw_counts(one, 300, rng), draw_counts(other, 500, rng)
    return ConfusionMatrix.from_counts(a), ConfusionMatrix.from_counts(b)


@pytest.mark.parametrize("seed", range(2))
def test_swapped_sides_negate_every_difference(seed: int) -> None:
    a, b = _pairs_of_models(np.random.default_rng(seed))
    there, back = compare(a, b), compare(b, a)
    np.testing.assert_array_equal(there.difference, -back.difference)
    np.testing.assert_allclose(there.recalls.difference, -back.recalls.difference)
    np.testing.assert_allclose(there.recalls.p_values, back.recalls.p_values, rtol=1e-9)
    assert there.label_shares_p_value == pytest.approx(back.label_shares_p_value)
    assert there.bias_p_value == pytest.approx(back.bias_p_value)
    for mine, theirs in (
        (there.accuracy, back.accuracy),
        (there.balanced_accuracy, back.balanced_accuracy),
    ):
        assert mine.difference == -theirs.difference
        assert (mine.low, mine.high) == pytest.approx((-theirs.high, -theirs.low))
        assert mine.p_value == pytest.approx(theirs.p_value)


def test_scores_against_references() -> None:
    a = ConfusionMatrix.from_counts([[56, 14], [0, 0]])
    b = ConfusionMatrix.from_counts([[48, 32], [0, 0]])
    # Newcombe (1998), Statistics in Medicine 17, p. 873, method 10: 56/70 against 48/80.
    found, recalls = compare(a, b).accuracy, compare(a, b).recalls
    assert found.difference == pytest.approx(-0.2)
    assert (found.low, found.high) == pytest.approx((-0.3339, -0.0524), abs=5e-5)
    assert (recalls.low[0], recalls.high[0]) == pytest.approx((found.low, found.high))
    y = np.repeat(["a", "b"], [60, 40])
    one = np.where(np.arange(100) < 80, y, "c")
    two = np.where(np.arange(100) % 3 == 0, "c", y)
    labels = ["a", "b", "c"]
    first, second = (ConfusionMatrix.from_predictions(y, p, labels=labels) for p in (one, two))
    paired = compare(first, second, paired=(y, one, two))
    b_only, c_only = ((one == y) & (two != y)).sum(), ((one != y) & (two == y)).sum()
    fewer = min(b_only, c_only)
    total = b_only + c_only
    exact = 2 * (binom.cdf(fewer, total, 0.5) - 0.5 * binom.pmf(fewer, total, 0.5))
    assert paired.accuracy.p_value == pytest.approx(exact)
    assert paired.label_shares_p_value == 1.0


def test_prediction_bias_is_tested_as_elsewhere() -> None:
    """With one true class the test is Pearson's, with (n - 1) / n."""
    one, other = np.array([30.0, 20, 10]), np.array([20.0, 40, 10])
    tables = [np.vstack([row, np.zeros((2, 3))]) for row in (one, other)]
    statistic = chi2_contingency(np.stack([one, other]), correction=False).statistic
    n = one.sum() + other.sum()
    assert bias_test(*tables) == pytest.approx(chi2.sf(statistic * (n - 1) / n, 2))


def test_label_shares_have_the_moments_of_a_permutation_test() -> None:
    rng = np.random.default_rng(0)
    first, second = np.array([12.0, 5, 2, 1, 0]), np.array([20.0, 20, 4, 0, 3])
    labels = np.repeat(np.arange(5), (first + second).astype(int))
    drawn = []
    for _ in range(4000):
        part = np.bincount(rng.permutation(labels)[:20], minlength=5).astype(float)
        drawn.append(label_share_test(part, first + second - part))
    seen = label_share_test(first, second)
    assert np.mean(np.array(drawn) <= seen + 1e-12) == pytest.approx(seen, abs=0.03)
    assert np.mean(np.array(drawn) <= 0.05) <= 0.065


def test_the_gate_wants_a_margin_that_is_a_share() -> None:
    c = compare([[80, 20], [9, 91]], [[50, 50], [9, 91]])
    assert c.is_worse()
    assert c.is_worse(margin=0.02)
    assert not c.is_worse(margin=0.4)
    assert not compare([[50, 50], [9, 91]], [[80, 20], [9, 91]]).is_worse()
    with pytest.raises(InputError, match="`margin` must be at least 0 and below 1"):
        c.is_worse(margin=2)


def test_the_gate_sees_the_pair_and_the_class_that_became_worse() -> None:
    before = np.array([[380, 10, 10], [10, 380, 10], [10, 10, 380]])
    after = np.array([[350, 40, 10], [40, 350, 10], [10, 10, 380]])
    c = compare(before, after)
    assert "“0” and “1” are confused more often: 0.025 → 0.100." in c.deteriorations()
    assert "Recall of “1” fell: 0.950 → 0.875." in c.deteriorations()
    assert not any("“2”" in sentence for sentence in c.deteriorations())
    y = np.repeat(np.arange(3), 400)
    one, two = (np.concatenate([np.repeat(range(3), row) for row in m]) for m in (before, after))
    assert compare(before, after, paired=(y, one, two)).is_worse()


@pytest.mark.slow
def test_equal_classifiers_pass_the_gate() -> None:
    alarms, runs = 0, 300
    for seed in range(runs):
        rng = np.random.default_rng([seed, 77])
        rates = error_rates(6, rng)
        # The same classifier on another mix of labels.
        mix = rng.dirichlet(np.ones(6))
        both = [draw_counts(m[:, None] * rates, 900, rng) for m in (np.full(6, 1 / 6), mix)]
        cells = [Cells(c.astype(float), c.astype(float), 1.0) for c in both]
        alarms += bool(deteriorations(tuple(range(6)), Scores(*cells), None, 0.0, 0.95, seed))
    assert alarms <= binom.ppf(0.999, runs, 0.05)


@pytest.mark.parametrize("n_classes", [3, 7, 20, 49])
def test_two_perfect_classifiers_do_not_differ(n_classes: int) -> None:
    # Means of ones may be above one by rounding.
    cm = ConfusionMatrix.from_counts(np.diag(np.arange(450, 450 + n_classes)))
    c = compare(cm, cm)
    for score in (c.accuracy, c.balanced_accuracy):
        assert 1 - 1e-15 < score.first == score.second <= 1
        assert (score.difference, score.p_value) == (0, 1)


def test_another_label_mix_does_not_decide_which_is_better() -> None:
    recalls = np.array([[0.9, 0.1], [0.5, 0.5]])
    worse = np.array([[0.85, 0.15], [0.57, 0.43]])
    first = ConfusionMatrix.from_counts(np.rint(np.array([[1000], [1000]]) * recalls).astype(int))
    second = ConfusionMatrix.from_counts(np.rint(np.array([[1900], [300]]) * worse).astype(int))
    c = compare(first, second)
    assert c.accuracy.difference > 0.05
    assert c.accuracy_at_equal_shares.difference < -0.04
    assert c.headline.startswith("The second is worse than the first: accuracy at the same label")
    assert "accuracy would be 0.700 → 0.640 with those of the first, 0.845 → 0.793" in c.headline
    # Better where one class is frequent, worse where the other one is: neither is better.
    other = compare([[900, 100], [200, 800]], [[3990, 10], [300, 700]])
    assert other.has_other_labels
    assert other.accuracy_at_equal_shares.p_value < 0.05
    assert other.headline.startswith("Neither is shown to be better: accuracy at the same label")


def test_more_refusals_are_worse_and_counted_for_the_gate() -> None:
    def answers(n_refused: int) -> ConfusionMatrix:
        counts = [[180 - n_refused, 20, n_refused], [20, 180 - n_refused, n_refused], [0, 0, 0]]
        return ConfusionMatrix.from_counts(counts, ["a", "b", "refused"]).treat_as_outcome(
            "refused"
        )

    c = compare(answers(0), answers(90))
    assert c.headline.startswith("The second is worse than the first")
    assert c.deteriorations()[0] == "Right answers of all samples fell: 0.900 → 0.450."
    assert compare(answers(30), answers(30)).deteriorations() == ()


def test_cells_are_listed_surest_first_then_by_size() -> None:
    rng = np.random.default_rng(4)
    shares = np.full((6, 6), 0.02) + 0.88 * np.eye(6)
    first, second = (
        ConfusionMatrix.from_counts(np.array([rng.multinomial(400, row) for row in shares]))
        for _ in range(2)
    )
    c = compare(first, second)
    cells = c.top(36)
    sure = [cell for cell in cells if cell.p_value < 0.05]
    rest = [abs(cell.difference) for cell in cells[len(sure) :]]
    assert cells[: len(sure)] == sorted(sure, key=lambda cell: cell.p_value)
    assert rest == sorted(rest, reverse=True)
    one, other = (estimate.matrix for estimate in c.estimates)
    for cell in cells:
        assert (cell.first, cell.second) == (one[cell.true, cell.pred], other[cell.true, cell.pred])


@pytest.mark.parametrize("sizes", [(500, 500, 3), (300, 300, 300, 2, 2), (1000, 300, 100, 30, 10)])
@pytest.mark.parametrize("is_paired", [False, True])
def test_a_few_samples_of_a_rare_class_name_no_winner(
    sizes: tuple[int, ...], is_paired: bool
) -> None:
    """Equal classifiers: a balanced accuracy surely differs in about one of twenty tests."""
    rng = np.random.default_rng(0)
    rates = 0.1 / (len(sizes) - 1) + (0.9 - 0.1 / (len(sizes) - 1)) * np.eye(len(sizes))
    named, runs = 0, 200
    for _ in range(runs):
        same = np.stack([rng.multinomial(0.8 * n, p) for n, p in zip(sizes, rates, strict=True)])
        cells, kept = [], same if is_paired else 0 * same
        for _ in range(2):
            rest = np.array(sizes) - kept.sum(axis=1)
            drawn = [rng.multinomial(n, p) for n, p in zip(rest, rates, strict=True)]
            counts = (kept + np.stack(drawn)).astype(float)
            cells.append(Cells(counts, counts, 1.0))
        agreed = np.minimum(cells[0].values, cells[1].values) if is_paired else None
        found = Scores(cells[0], cells[1], agreed).balanced_accuracy(0.95)
        named += found.p_value < 0.05
        assert (found.p_value < 0.05) == (not found.low <= 0 <= found.high)
    assert named <= binom.ppf(0.99, runs, 0.05)


def test_the_balanced_accuracy_of_very_many_samples_has_a_sharp_interval() -> None:
    good, bad = np.diag([10**9, 10**9]), np.array([[0, 10**9], [10**9, 0]])
    found = compare(good, bad).balanced_accuracy
    assert found.p_value < 1e-200
    assert found.high < -0.999999


def test_cells_are_compared_among_the_classes_of_both_and_the_others_are_named() -> None:
    names = ["cat", "dog", "fox"]
    first = ConfusionMatrix.from_counts([[80, 15, 5], [20, 75, 5], [5, 5, 90]], labels=names)
    second = ConfusionMatrix.from_counts([[95, 0, 5], [90, 0, 10], [5, 0, 95]], labels=names)
    found = compare(first, second)
    parts = [estimate_bi(cm.subset(["cat", "fox"])).matrix for cm in (first, second)]
    kept = np.ix_([0, 2], [0, 2])
    np.testing.assert_allclose(found.difference[kept], parts[1] - parts[0], atol=1e-12)
    assert np.isnan(found.difference[1]).all()
    assert np.isnan(found.difference[:, 1]).all()
    assert "0 of 4 bi-normalized cells differ" in str(found)
    assert "Bi-normalized cells leave out “dog”" in str(found)
    swapped = compare(second, first)
    np.testing.assert_allclose(swapped.difference, -found.difference)


def test_the_same_predictions_for_the_same_samples_are_said_to_be_the_same() -> None:
    true, said = ["a", "b"] * 50, ["a", "b", "b", "a"] * 25
    cm = ConfusionMatrix.from_predictions(true, said)
    found = compare(cm, cm, paired=(true, said, said))
    assert found.is_same
    expected = "Both predict the same for all 100 samples: accuracy 0.500, balanced accuracy 0.500."
    assert str(found).strip() == found.headline == expected
    assert not compare(cm, cm).is_same


@pytest.mark.parametrize(
    ("gained", "lost", "n"), [(2, 10, 50), (0, 5, 1000), (7, 7, 30), (0, 0, 20)]
)
def test_intervals_of_paired_proportions_hold_what_a_score_test_does_not_rule_out(
    gained: int, lost: int, n: int
) -> None:
    """The variance of Tango's test is that of the likeliest table with this difference."""
    low, high = tango(np.array([gained]), np.array([lost]), np.array([n]), 1.96)
    for end in (float(low[0]), float(high[0])):
        if abs(end) > 1 - 1e-9:
            continue

        def unlikely(down: float, end: float = end) -> float:
            up, rest = down + end, 1 - 2 * down - end
            if up < 0 or rest < 0:
                return np.inf
            return -float(xlogy(gained, up) + xlogy(lost, down) + xlogy(n - gained - lost, rest))

        bounds = (max(0.0, -end), (1 - end) / 2)
        down = minimize_scalar(
            unlikely, bounds=bounds, method="bounded", options={"xatol": 1e-12}
        ).x
        spread = np.sqrt(n * (2 * down + end - end**2))
        assert abs(gained - lost - n * end) / spread == pytest.approx(1.96, abs=2e-3)


def test_cells_of_other_classes_do_not_decide_on_those_of_both() -> None:
    names = list("abcd")
    counts = np.array([[800, 10, 10, 0], [8, 850, 7, 0], [5, 5, 900, 0], [0, 0, 400, 0]])
    other = counts.copy()
    other[3] = [400, 0, 0, 0]
    found = compare(*(ConfusionMatrix.from_counts(c, labels=names) for c in (counts, other)))
    assert (found.p_values[:3, :3] == 1).all()
    assert np.isnan(found.p_values[3]).all()
    assert found.p_value == 1
    constant = compare([[50, 0], [60, 0]], [[0, 50], [0, 60]])
    assert not constant.can_tell
    assert "no two classes are labels and predictions in both" in str(constant)


def test_refusals_do_not_change_the_label_shares() -> None:
    def answers(refused: int) -> ConfusionMatrix:
        said = ["refused"] * refused + ["a"] * (90 - refused // 2) + ["b"] * 10
        return ConfusionMatrix.from_predictions(
            ["a"] * 100 + ["b"] * 100,
            (said + ["a"] * 100)[:100] + ["b"] * 100,
            outcomes=["refused"],
        )

    found = compare(answers(5), answers(53))
    assert found.label_shares_p_value == 1
    assert not found.has_other_labels
    assert "recall where a class was named" in str(found).replace("Recall", "recall")
