"""The estimate against a slow direct one, its properties, and its coverage of the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import betabinom, nbinom, norm

import deconfuse as dc
from deconfuse.errors import UndefinedCellsWarning
from deconfuse.statistics import luce
from deconfuse.statistics.estimate import EstimatedScore, estimate_quietly
from tests.statistics.simulated import draw_counts, error_rates

Floats = NDArray[np.float64]


def slow_biases(counts: Floats) -> tuple[Floats, Floats]:
    """Return the bias of each class and its variance, by general optimizers."""
    n = len(counts)
    size = np.log(counts.diagonal() + 0.4) - np.log(counts.diagonal() + 0.4).mean()
    total = (counts + counts.T) * (1 - np.eye(n))
    precision = 0.5

    def loss(parameters: Floats) -> float:
        bias, kappa = parameters[:n], parameters[n]
        prior = 0.5 * precision * ((bias + kappa * size) ** 2).sum() + 0.5 * (kappa - 0.5) ** 2
        return float(prior + (counts * np.log1p(np.exp(bias[:, None] - bias))).sum())

    slope = minimize(lambda kappa: loss(np.append(-kappa * size, kappa)), [0.5]).x[0]
    share = 1 / (1 + np.exp(slope * (size - size[:, None])))
    more = ((counts - total * share) * (1 - np.eye(n))).sum(axis=0)
    known = (total * share * (1 - share)).sum(axis=0)
    spreads = np.sqrt([known, known + known**2 / (0.5 + np.pi / 4)])
    without, with_others = norm.logpdf(more, 0.0, spreads)
    odds = np.exp((without - with_others).sum() - np.log(spreads[1] / spreads[0]).sum() / n)
    precision = 0.5 * float(np.clip(odds, 1.0, 128.0))
    bias = minimize(loss, np.append(-0.5 * size, 0.5), options={"gtol": 1e-8}).x[:n]
    share = 1 / (1 + np.exp(bias[:, None] - bias))
    return bias, 1 / ((total * share * (1 - share)).sum(axis=0) + precision)


def slow_difficulty(
    difficulty: Floats, seen: Floats, expected: Floats, shape: float, weights: Floats
) -> Floats:
    """Return the next difficulty of each class, by plain sums over all spreads of difficulties."""
    n = len(difficulty)
    known, own = np.zeros(n), np.zeros(n)
    for i in range(n):
        for j in range(n):
            if i != j:
                part = weights[i, j] / (1 + expected[i, j] / shape)
                known[i] += part * expected[i, j]
                own[i] += part * (seen[i, j] - expected[i, j])
    own = difficulty + own / known
    chances, means = [], []
    for spread in np.arange(1, 11) / 10:
        deviations = np.sqrt(spread**2 + 1 / known)
        centre = np.average(own, weights=deviations**-2)
        log_chance = norm.logpdf(own, centre, deviations).sum()
        chances.append(log_chance - 0.5 * np.log((deviations**-2).sum()))
        means.append(spread**2 / deviations**2 * (own - centre))
    mean = np.average(means, axis=0, weights=np.exp(np.array(chances) - max(chances)))
    return np.asarray(difficulty + 0.6 * (mean - difficulty))


def slow_estimate(counts: Floats) -> Floats:
    """Return the estimate by general optimizers, probability functions and plain sweeps."""
    n = len(counts)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    bias, variances = slow_biases(counts)
    hits = (counts.diagonal() + 0.4) * np.exp(0.08 * variances)
    share = {(i, j): 1 / (1 + np.exp(bias[i] - bias[j])) for i, j in pairs}
    even = np.sqrt(np.outer(hits, hits)) * 2 * np.cosh((bias[:, None] - bias) / 2)
    seen = {(i, j): counts[i, j] + counts[j, i] for i, j in pairs}

    def shape_loss(log_shape: Floats) -> float:
        k = float(np.exp(log_shape[0]))
        loss = 0.5 * ((log_shape[0] - np.log(0.7)) / 1.5) ** 2
        for pair in pairs:
            chance = nbinom.logpmf(seen[pair], k, k / (k + level * base[pair]))
            loss -= (1 - similar[pair]) * chance
        return float(loss)

    def parts(pair: tuple[int, int]) -> list[tuple[float, float]]:
        """Return the weight and the shrunk total of each part of the mixture."""
        usual, far = level * base[pair], max(0.3, level) * base[pair]
        mixture = (
            (0.95 * (1 - share_similar), usual, k, k),
            (0.05 * (1 - share_similar), usual, 0.5, min(0.5, k)),
            (share_similar, far, 0.5, 0.5),
        )
        return [
            (
                weight * nbinom.pmf(seen[pair], shape, shape / (shape + mean)),
                mean * (seen[pair] + shrunk_by) / (mean + shrunk_by),
            )
            for weight, mean, shape, shrunk_by in mixture
        ]

    def share_loss(log_concentration: Floats) -> float:
        q = float(np.exp(log_concentration[0]))
        loss = 0.5 * ((log_concentration[0] - 3.0) / 2.0) ** 2
        for i, j in pairs:
            a, b = q * share[i, j], q * (1 - share[i, j])
            loss -= betabinom.logpmf(counts[i, j], counts[i, j] + counts[j, i], a, b)
        return float(loss)

    similar, share_similar = dict.fromkeys(pairs, 0.0), 0.002 / len(pairs)
    difficulty, level, k = np.zeros(n), 1.0, 0.7
    for n_steps in (0, 3, 3):
        ordinary = np.ones((n, n))
        for i, j in pairs:
            ordinary[i, j] = ordinary[j, i] = 1 - similar[i, j]
        for _ in range(n_steps):
            expected = level * even * np.exp(difficulty[:, None] + difficulty)
            difficulty = slow_difficulty(difficulty, counts + counts.T, expected, k, ordinary)
        base = {(i, j): even[i, j] * np.exp(difficulty[i] + difficulty[j]) for i, j in pairs}
        errors = sum((1 - similar[pair]) * seen[pair] for pair in pairs)
        level = max(errors, 0.5) / sum((1 - similar[pair]) * base[pair] for pair in pairs)
        k = float(np.exp(minimize(shape_loss, [0.0], method="Nelder-Mead").x[0]))
        for _ in range(5):
            used = share_similar
            weights = {pair: [weight for weight, _ in parts(pair)] for pair in pairs}
            similar = {
                pair: weights[pair][2] / sum(weights[pair]) if seen[pair] else 0.0 for pair in pairs
            }
            share_similar = (sum(similar.values()) + 0.002) / (len(pairs) + 1)
    share_similar = used
    q = float(np.exp(minimize(share_loss, [3.0], method="Nelder-Mead").x[0]))
    shrunk = np.diag(hits)
    for i, j in pairs:
        chances, totals = zip(*parts((i, j)), strict=True)
        total = np.average(totals, weights=chances)
        there = (counts[i, j] + q * share[i, j]) / (seen[i, j] + q)
        shrunk[i, j], shrunk[j, i] = total * there, total * (1 - there)
    for _ in range(5_000):
        shrunk /= shrunk.sum(axis=1, keepdims=True)
        shrunk /= shrunk.sum(axis=0)
    return shrunk


@pytest.mark.parametrize("seed", range(3))
def test_the_estimate_is_that_of_a_slow_direct_implementation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = error_rates(5, rng) * np.exp(rng.normal(size=(5, 1)))
    counts = draw_counts(shares / shares.sum(), 400, rng).astype(float)
    counts[1, 3] += 30 * seed
    np.testing.assert_allclose(dc.estimate_bi(counts).matrix, slow_estimate(counts), atol=2e-4)


def test_it_is_so_where_class_size_explains_the_biases() -> None:
    expected = (0.05 + np.diag(np.full(5, 0.75))) * np.array([[800], [400], [200], [200], [100]])
    counts = np.random.default_rng(0).poisson(expected).astype(float)
    np.testing.assert_allclose(dc.estimate_bi(counts).matrix, slow_estimate(counts), atol=2e-4)


@st.composite
def tables(draw: st.DrawFn) -> NDArray[np.int64]:
    n = draw(st.integers(2, 6))
    cells = st.lists(st.integers(0, 60), min_size=n * n, max_size=n * n)
    counts = np.array(draw(cells)).reshape(n, n)
    # Every class is a label, and predicted.
    return counts + np.eye(n, dtype=np.int64)


@given(tables())
@settings(max_examples=60, deadline=None)
def test_margins_are_one_and_intervals_contain_the_estimate(counts: NDArray[np.int64]) -> None:
    estimate = dc.estimate_bi(counts)
    np.testing.assert_allclose(estimate.matrix.sum(axis=0), 1.0, atol=1e-8)
    np.testing.assert_allclose(estimate.matrix.sum(axis=1), 1.0, atol=1e-8)
    assert (estimate.low >= 0).all()
    assert (estimate.high <= 1).all()
    assert (estimate.low <= estimate.matrix).all()
    assert (estimate.matrix <= estimate.high).all()
    score = estimate.separability
    assert score.low <= score.value <= score.high
    assert score.value == pytest.approx(estimate.matrix.diagonal().mean())


@given(tables(), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_relabelling_permutes(counts: NDArray[np.int64], random: object) -> None:
    order = np.array(random.sample(range(len(counts)), len(counts)))  # type: ignore[attr-defined]
    moved = dc.estimate_bi(counts[np.ix_(order, order)])
    estimate = dc.estimate_bi(counts)
    np.testing.assert_allclose(moved.matrix, estimate.matrix[np.ix_(order, order)], atol=2e-4)
    np.testing.assert_allclose(moved.high, estimate.high[np.ix_(order, order)], atol=2e-3)


def test_label_shares_matter_less_than_they_do_to_a_constant_epsilon() -> None:
    rates = error_rates(8, np.random.default_rng(1), accuracy=0.9)
    many = 200.0 * rates
    fewer = many * np.geomspace(0.02, 1.0, 8)[:, None]
    ours = np.abs(dc.estimate_bi(many).matrix - dc.estimate_bi(fewer).matrix)
    both = [np.asarray(dc.normalize(part, "bi", epsilon=1 / 8).matrix) for part in (many, fewer)]
    assert ours.max() < 0.5 * np.abs(both[0] - both[1]).max()


def test_more_samples_bring_it_to_the_bi_normalization_of_the_counts() -> None:
    rates = error_rates(7, np.random.default_rng(2))
    exact = np.asarray(dc.normalize(rates, "bi", epsilon=0.0).matrix)
    sizes = (150, 15_000, 1_500_000)
    gaps = [np.abs(dc.estimate_bi(n * rates).matrix - exact).max() for n in sizes]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-4


def test_weights_constant_in_a_class_change_nothing() -> None:
    counts = draw_counts(
        error_rates(5, np.random.default_rng(3)) / 5, 400, np.random.default_rng(3)
    )
    weights = np.array([0.5, 1.0, 2.0, 4.0, 8.0])[:, None]
    weighted = dc.ConfusionMatrix.from_counts(counts * weights, variances=counts * weights**2)
    estimate, plain = dc.estimate_bi(weighted), dc.estimate_bi(counts)
    np.testing.assert_allclose(estimate.matrix, plain.matrix, atol=1e-8)
    np.testing.assert_allclose(estimate.high, plain.high, atol=1e-8)


def test_weights_that_vary_widen_the_intervals() -> None:
    rng = np.random.default_rng(5)
    true, pred = rng.integers(3, size=300), rng.integers(3, size=300)
    pred = np.where(rng.random(300) < 0.7, true, pred)
    uneven = rng.exponential(size=300)
    plain = dc.estimate_bi(dc.ConfusionMatrix.from_predictions(true, pred))
    weighted = dc.estimate_bi(dc.ConfusionMatrix.from_predictions(true, pred, sample_weight=uneven))
    assert (weighted.high - weighted.low).mean() > 1.2 * (plain.high - plain.low).mean()
    assert weighted.separability.high - weighted.separability.low > (
        plain.separability.high - plain.separability.low
    )


def test_classes_without_samples_are_nan_and_named() -> None:
    # No sample is a "c", and all samples of "e" were taken for it.
    counts = [[9, 1, 2, 0, 0], [2, 8, 0, 0, 0], [0] * 5, [1, 0, 0, 9, 0], [0, 0, 3, 0, 0]]
    with pytest.warns(dc.errors.UndefinedCellsWarning, match="never a label, or.*'c', 'e'"):
        estimate = dc.estimate_bi(dc.ConfusionMatrix.from_counts(counts, labels=list("abcde")))
    known = [0, 1, 3]
    alone = dc.estimate_bi(np.array(counts)[np.ix_(known, known)])
    for part, rest in ((estimate.matrix, alone.matrix), (estimate.low, alone.low)):
        assert np.isnan(part[2]).all()
        assert np.isnan(part[:, 2]).all()
        np.testing.assert_array_equal(part[np.ix_(known, known)], rest)
    assert estimate.separability == alone.separability
    assert np.isnan(estimate.row("c")).all()
    assert np.isnan(estimate.cell("a", "c").value)
    np.testing.assert_array_equal(estimate.diagonal, estimate.matrix.diagonal())
    # Some cells have the intervals that they have among all.
    rows, columns = np.array([0, 4, 3, 2, 1, 0]), np.array([0, 4, 1, 0, 1, 3])
    for some, every in zip(
        estimate.intervals_at(rows, columns), (estimate.low, estimate.high), strict=True
    ):
        np.testing.assert_array_equal(some, every[rows, columns])


def test_a_label_that_is_never_predicted_has_no_estimate_and_changes_no_other() -> None:
    counts = np.array([[30, 3, 0], [2, 40, 0], [9, 4, 0]])
    with pytest.warns(UndefinedCellsWarning, match="never predicted, have no estimate.*: 2"):
        estimate = dc.estimate_bi(counts)
    alone = dc.estimate_bi(counts[:2, :2])
    np.testing.assert_array_equal(estimate.matrix[:2, :2], alone.matrix)
    assert np.isnan(estimate.matrix[2]).all()
    assert np.isnan(estimate.diagonal[2])
    # It is never told from the others, so leaving it unpredicted is no way to a better score.
    assert estimate.separability.value == pytest.approx(2 / 3 * alone.separability.value)


def test_bad_input() -> None:
    with pytest.raises(dc.InputError, match="An estimate needs samples"):
        dc.estimate_bi([[0, 0], [0, 0]])
    with pytest.raises(dc.InputError, match="`level` must be above 0 and below 1"):
        dc.estimate_bi([[5, 1], [1, 5]], level=95)


def test_one_class_is_told_apart_from_none() -> None:
    estimate = dc.estimate_bi([[4]])
    assert estimate.matrix == estimate.low == estimate.high == 1.0
    assert estimate.separability == EstimatedScore(1.0, 1.0, 1.0)
    with pytest.warns(UndefinedCellsWarning, match="are NaN: 1"):
        assert dc.estimate_bi([[3, 2], [0, 0]]).diagonal[0] == 1.0


@pytest.mark.parametrize("n_samples", [5, 50, 500])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_a_constant_classifier_tells_nothing_apart(n_classes: int, n_samples: int) -> None:
    counts = np.zeros((n_classes, n_classes), dtype=int)
    counts[:, 0] = n_samples
    with pytest.warns(UndefinedCellsWarning, match="never predicted"):
        assert dc.estimate_bi(counts).separability.value == pytest.approx(1 / n_classes)


def test_one_class_that_is_always_taken_for_another_tells_little() -> None:
    score = dc.estimate_bi([[0, 5], [0, 0]]).separability
    assert score.low < 0.5 < score.high


def test_higher_levels_have_wider_intervals() -> None:
    counts = [[40, 3, 1], [2, 30, 0], [0, 5, 50]]
    narrow, wide = (dc.estimate_bi(counts, level=level) for level in (0.8, 0.99))
    assert (narrow.high < wide.high).all()
    assert (narrow.low >= wide.low).all()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(1, 8), weighted=st.booleans())
def test_the_interval_of_one_cell_is_that_of_all(seed: int, n_classes: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    y, predicted = rng.integers(0, n_classes, (2, 60))
    weights = rng.exponential(size=60) if weighted else None
    cm = dc.ConfusionMatrix.from_predictions(y, predicted, sample_weight=weights)
    estimate = estimate_quietly(cm, 0.9)
    for i, j in zip(*rng.integers(0, cm.n_classes, (2, 6)), strict=True):
        cell = estimate.cell(cm.labels[i], cm.labels[j])
        np.testing.assert_allclose(
            [cell.value, cell.low, cell.high],
            [estimate.matrix[i, j], estimate.low[i, j], estimate.high[i, j]],
            rtol=1e-5,
            atol=1e-9,
        )


def test_a_cell_of_many_classes_has_an_interval() -> None:
    n_classes = 20_000
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, 200_000)
    # Classes are confused within groups of ten.
    predicted = np.where(rng.random(len(y)) < 0.1, y // 10 * 10 + rng.integers(0, 10, len(y)), y)
    cm = dc.ConfusionMatrix.from_predictions(y, predicted)
    estimate = dc.estimate_bi(cm)
    true, pred = next((t, p) for t, p in zip(y, predicted, strict=True) if t != p)
    hit, error = estimate.cell(true, true), estimate.cell(true, pred)
    assert 0.4 < hit.low < hit.value < hit.high < 1
    assert 0 < error.low <= error.value < error.high < 0.7
    with pytest.raises(dc.InputError, match="at most 4,096 classes"):
        _ = estimate.low


def test_cells_rows_and_table_agree() -> None:
    cm = dc.ConfusionMatrix.from_counts([[40, 3], [2, 30]], labels=["cat", "dog"])
    estimate = dc.estimate_bi(cm)
    cell = estimate.cell("cat", "dog")
    assert (cell.true, cell.pred, cell.count) == ("cat", "dog", 3.0)
    assert cell.value == pytest.approx(estimate.matrix[0, 1])
    np.testing.assert_allclose(estimate.row("dog"), estimate.matrix[1])
    frame = estimate.to_pandas().set_index(["true", "predicted"])
    assert frame.loc[("dog", "cat"), "count"] == 2
    assert frame.loc[("dog", "cat"), "estimate"] == pytest.approx(estimate.matrix[1, 0])
    assert list(frame.columns) == ["count", "estimate", "low", "high"]
    with pytest.raises(ValueError, match="read-only"):
        estimate.matrix[0, 0] = 1.0


def test_many_classes_give_the_same_as_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists only the confused pairs."""
    rng = np.random.default_rng(6)
    shares = error_rates(60, rng, accuracy=0.9)
    counts = draw_counts(shares / 60, 3_000, rng)
    dense = dc.estimate_bi(counts)
    monkeypatch.setattr(luce, "_ALL_PAIRS", 10)
    factored = dc.estimate_bi(counts)
    # Pairs that were not confused and hardly expected keep the average, within 0.05 samples.
    np.testing.assert_allclose(factored.matrix, dense.matrix, atol=0.004)
    np.testing.assert_allclose(factored.matrix.sum(axis=0), 1.0, atol=1e-8)
    np.testing.assert_allclose(factored.row(3), factored.matrix[3])
    assert factored.separability.high == pytest.approx(dense.separability.high, abs=0.004)


def test_a_hundred_thousand_classes_need_no_dense_matrix() -> None:
    n = 100_000
    rng = np.random.default_rng(7)
    true = rng.integers(n, size=400_000)
    pred = np.where(rng.random(400_000) < 0.8, true, (true + rng.integers(1, 4, 400_000)) % n)
    true, pred = np.append(true, np.arange(n)), np.append(pred, np.arange(n))
    cm = dc.ConfusionMatrix.from_counts(
        sparse.coo_array((np.ones(len(true)), (true, pred)), shape=(n, n)).tocsr()
    )
    estimate = dc.estimate_bi(cm)
    np.testing.assert_allclose(estimate.row(5).sum(), 1.0, atol=1e-8)
    assert estimate.separability.value == pytest.approx(estimate.diagonal.mean())
    assert 0.8 < estimate.separability.value < 0.9
    with pytest.raises(dc.InputError, match="estimated matrix would be dense"):
        estimate.matrix  # noqa: B018
    with pytest.raises(dc.InputError, match="at most 4,096 classes, got 100,000"):
        estimate.low  # noqa: B018


def test_it_is_closer_to_the_truth_and_covers_it() -> None:
    """A small part of ``python -m benchmarks estimate``."""
    rng = np.random.default_rng(8)
    held, gaps, scores = [], [], []
    for _ in range(60):
        rates = error_rates(10, rng, accuracy=0.95)
        truth = np.asarray(dc.normalize(rates, "bi", epsilon=0.0).matrix)
        counts = draw_counts(rates / 10, 1_000, rng)
        estimate = dc.estimate_bi(counts)
        held.append((estimate.low <= truth) & (truth <= estimate.high))
        scores.append(estimate.separability.value - truth.diagonal().mean())
        recipe = np.asarray(dc.normalize(counts, "bi", epsilon=0.1).matrix)
        gaps.append([np.square(one - truth).mean() for one in (estimate.matrix, recipe)])
    diagonal = np.mean([table.diagonal() for table in held])
    off_diagonal = np.mean([table[~np.eye(10, dtype=bool)] for table in held])
    assert 0.93 < diagonal < 0.98
    assert off_diagonal > 0.93
    ours, recipes = np.mean(gaps, axis=0)
    assert ours < 0.7 * recipes
    assert abs(np.mean(scores)) < 0.01


def test_the_score_is_covered_where_all_pairs_are_alike_and_few_classes_have_most_samples() -> None:
    """What small classes are taken for hangs on the slope of bias over class size."""
    rng = np.random.default_rng(0)
    shares = np.arange(1, 31) ** -1.5
    rates = np.full((30, 30), 0.2 / 29) + np.diag(np.full(30, 0.8 - 0.2 / 29))
    expected = 3_000 * (shares / shares.sum())[:, None] * rates
    scores = [
        estimate_quietly(dc.ConfusionMatrix.from_counts(rng.poisson(expected)), 0.95)
        for _ in range(30)
    ]
    held = [one.separability.low <= 0.8 <= one.separability.high for one in scores]
    assert np.mean(held) > 0.85
    assert abs(np.mean([one.separability.value for one in scores]) - 0.8) < 0.01


def test_with_many_samples_intervals_are_those_of_the_counts() -> None:
    counts = np.round(1e6 * error_rates(6, np.random.default_rng(4), accuracy=0.9))
    estimate, normalized = dc.estimate_bi(counts), dc.normalize(counts, "bi", epsilon=0.0)
    for ours, theirs in zip(
        (estimate.low, estimate.high), normalized.confidence_interval(), strict=True
    ):
        np.testing.assert_allclose(ours - estimate.matrix, theirs - normalized.matrix, rtol=0.03)


def test_what_other_classes_show_narrows_the_interval_of_a_class() -> None:
    """Where all pairs are alike, a class of few samples is known by the others."""
    expected = np.full((20, 20), 20.0) + np.diag(np.full(20, 2_000.0))
    expected[0] /= 50
    counts = np.random.default_rng(0).poisson(expected)
    assert counts[0].sum() - counts[0, 0] > 3
    estimate, normalized = dc.estimate_bi(counts), dc.normalize(counts, "bi", epsilon=0.01)
    low, high = normalized.confidence_interval()
    assert estimate.high[0, 0] - estimate.low[0, 0] < 0.6 * (high[0, 0] - low[0, 0])


@pytest.mark.parametrize("spread", [0.25, 0.5])
def test_classes_may_differ_in_difficulty(spread: float) -> None:
    """A class that is easier or harder than the others is not ruled out by them."""
    rng = np.random.default_rng(0)
    held = []
    for _ in range(10):
        difficulty = np.exp(spread * rng.normal(size=200))
        expected = 0.05 * np.outer(difficulty, difficulty)
        np.fill_diagonal(expected, 90.0)
        estimate = dc.estimate_bi(rng.poisson(expected))
        truth = np.asarray(dc.normalize(expected, "bi", epsilon=0.0).matrix).diagonal()
        held.append((estimate.low.diagonal() <= truth) & (truth <= estimate.high.diagonal()))
    assert 0.92 < np.mean(held) < 0.97
    even = np.full((200, 200), 0.05) + np.diag(np.full(200, 90.0))
    assert dc.estimate_bi(rng.poisson(even)).shrunk.class_variance.max() < 0.01


@pytest.mark.filterwarnings("error", "ignore::deconfuse.errors.UndefinedCellsWarning")
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_classes=st.integers(2, 15),
    kind=st.sampled_from(["triangular", "wild", "few", "diagonal", "huge"]),
    power=st.integers(0, 6),
)
def test_no_counts_are_too_odd(seed: int, n_classes: int, kind: str, power: int) -> None:
    """Sums are one, intervals hold the estimate, and names of classes do not matter."""
    rng = np.random.default_rng(seed)
    shape = (n_classes, n_classes)
    counts = {
        "triangular": np.triu(rng.integers(0, 100, shape)),
        "wild": rng.poisson(np.exp(rng.normal(0, 4, shape))),
        "few": rng.integers(0, 3, shape),
        "diagonal": np.diag(rng.integers(1, 10**6, n_classes)) + np.eye(n_classes, k=1),
        "huge": rng.integers(0, 10**9, shape),
    }[kind] * 10.0**power
    if not counts.sum():
        return
    order = rng.permutation(n_classes)
    estimate, moved = (
        estimate_quietly(dc.ConfusionMatrix.from_counts(one), 0.95)
        for one in (counts, counts[order][:, order])
    )
    known = ~np.isnan(estimate.diagonal)
    if not known.any():
        return
    matrix, low, high = (
        part[np.ix_(known, known)] for part in (estimate.matrix, estimate.low, estimate.high)
    )
    for axis in (0, 1):
        np.testing.assert_allclose(matrix.sum(axis=axis), 1.0, atol=1e-8)
    assert (low >= 0).all()
    assert (low <= matrix + 1e-9).all()
    assert (high <= 1 + 1e-9).all()
    assert (high >= matrix - 1e-9).all()
    score = estimate.separability
    assert 0 <= score.low <= score.value <= score.high <= 1 + 1e-9
    np.testing.assert_allclose(moved.matrix, estimate.matrix[order][:, order], atol=2e-4)


def test_difficulties_are_those_that_counts_were_drawn_with() -> None:
    """With many samples; so pairs of difficult classes are not called similar."""
    rng = np.random.default_rng(0)
    difficulty = np.exp(0.5 * rng.normal(size=30))
    expected = 5.0 * np.outer(difficulty, difficulty)
    np.fill_diagonal(expected, 5_000.0)
    shrunk = dc.estimate_bi(rng.poisson(expected)).shrunk
    found = np.sqrt(shrunk.rows * shrunk.columns / shrunk.hits)
    np.testing.assert_allclose(np.log(found / difficulty).std(), 0.0, atol=0.1)
    assert shrunk.similarity == pytest.approx(
        np.median(np.outer(difficulty, difficulty)[np.triu_indices(30, 1)]) / 1_000, rel=0.05
    )


def test_pairs_of_difficult_classes_are_listed() -> None:
    """So Python and the page, which asks for the same limit, shrink each of them by itself."""
    rng = np.random.default_rng(0)
    difficulty = np.exp(0.6 * rng.normal(size=700))
    expected = 0.02 * np.outer(difficulty, difficulty)
    np.fill_diagonal(expected, 60.0)
    shrunk = dc.estimate_bi(rng.poisson(expected)).shrunk
    often = np.outer(shrunk.rows, shrunk.columns)
    listed = shrunk.excess.toarray() != 0
    assert (listed | (np.maximum(often, often.T) < shrunk.least)).all()


def test_similar_pairs_do_not_make_their_classes_difficult() -> None:
    """So few and so rare that one gamma distribution would explain them by a tiny shape."""
    rng = np.random.default_rng(1)
    expected = np.full((1_000, 1_000), 0.002) + np.diag(np.full(1_000, 18.0))
    first, second = np.arange(0, 40, 2), np.arange(1, 40, 2)
    expected[first, second] = expected[second, first] = 4.0
    estimate = dc.estimate_bi(rng.poisson(expected))
    assert estimate.shrunk.spread.shape > 1
    truth = 2 * 4.0 / (18.0 + 4.0 + 2.0)
    found = [estimate.row(i)[j] + estimate.row(j)[i] for i, j in zip(first, second, strict=True)]
    assert np.mean(found) == pytest.approx(truth, rel=0.1)


def test_a_group_of_classes_is_pooled_without_a_matrix() -> None:
    counts = draw_counts(
        error_rates(6, np.random.default_rng(5)) / 6, 300, np.random.default_rng(5)
    )
    estimate = dc.estimate_bi(counts)
    inside = np.array([True, False, True, True, False, False])
    into, source, within = estimate.pooled(inside)
    np.testing.assert_allclose(into, estimate.matrix[:, inside].sum(axis=1))
    np.testing.assert_allclose(source, estimate.matrix[inside].sum(axis=0))
    assert within == pytest.approx(estimate.matrix[np.ix_(inside, inside)].sum() / 3)


def test_a_pair_unlike_all_others_is_hardly_shrunk() -> None:
    counts = np.full((12, 12), 6) + np.diag(np.full(12, 94))
    counts[3, 8] = counts[8, 3] = 40
    estimate = dc.estimate_bi(counts)
    b = estimate.matrix
    similarity = b[3, 8] / np.sqrt(b[3, 3] * b[8, 8])
    assert similarity == pytest.approx(0.4, rel=0.05)


@pytest.mark.parametrize("n_classes", [50, 2_000])
def test_a_few_similar_pairs_among_many_that_are_not(n_classes: int) -> None:
    rng = np.random.default_rng(5)
    true = rng.integers(0, n_classes, 40 * n_classes)
    pred = np.where(rng.random(true.size) < 0.9, true, rng.integers(0, n_classes, true.size))
    twins = (true < 20) & (rng.random(true.size) < 0.5)
    cm = dc.ConfusionMatrix.from_predictions(true, np.where(twins, true ^ 1, pred))
    estimate = dc.estimate_bi(cm)
    assert np.mean([estimate.row(k)[k ^ 1] for k in range(20)]) == pytest.approx(0.49, abs=0.04)
    assert np.mean([estimate.row(k)[k] for k in range(20)]) == pytest.approx(0.44, abs=0.04)
