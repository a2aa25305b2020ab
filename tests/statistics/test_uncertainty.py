"""Standard errors and intervals: closed forms, a brute-force reference, the bootstrap, coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import binomtest

from deconfuse import ConfusionMatrix, InputError, normalize
from deconfuse.errors import DeconfuseWarning, UndefinedCellsWarning
from deconfuse.statistics import sensitivity
from deconfuse.statistics.cells import steady_variances
from deconfuse.statistics.estimate import estimate_quietly
from deconfuse.statistics.sensitivity import Sensitivity

Floats = NDArray[np.float64]
METHODS = ("row", "col", "all", "bi")


def _counts(seed: int, n_classes: int, low: int = 1, high: int = 60) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    return rng.integers(low, high, (n_classes, n_classes)) + 80 * np.eye(n_classes, dtype=int)


def test_row_errors_are_the_binomial_ones() -> None:
    counts = _counts(0, 4)
    share = counts / counts.sum(axis=1, keepdims=True)
    expected = np.sqrt(share * (1 - share) / counts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(normalize(counts, "row").standard_errors(), expected)
    np.testing.assert_allclose(normalize(counts.T, "col").standard_errors(), expected.T)
    share = counts / counts.sum()
    np.testing.assert_allclose(
        normalize(counts, "all").standard_errors(), np.sqrt(share * (1 - share) / counts.sum())
    )


@pytest.mark.parametrize("hits", [0, 1, 7, 29, 30])
def test_row_intervals_are_wilsons(hits: int) -> None:
    low, high = normalize([[hits, 30 - hits], [5, 5]], "row").confidence_interval(0.9)
    wilson = binomtest(hits, 30).proportion_ci(0.9, method="wilson")
    assert low[0, 0] == pytest.approx(wilson.low, abs=1e-12)
    assert high[0, 0] == pytest.approx(wilson.high, abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 6))
def test_bi_errors_equal_a_brute_force_jacobian(seed: int, n_classes: int) -> None:
    counts = _counts(seed, n_classes).astype(float)
    n = normalize(counts, "bi", epsilon=0.1)
    step = 1e-5
    variance = np.zeros((n_classes, n_classes))
    for i in range(n_classes):
        for j in range(n_classes):
            moved = [counts.copy(), counts.copy()]
            moved[0][i, j] += step
            moved[1][i, j] -= step
            up, down = (np.asarray(normalize(m, "bi", epsilon=0.1).matrix) for m in moved)
            variance += ((up - down) / (2 * step)) ** 2 * (counts[i, j] + 0.1)
    np.testing.assert_allclose(n.standard_errors(), np.sqrt(variance), rtol=2e-4)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 6))
def test_linear_change_is_the_derivative(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    counts = _counts(seed, n_classes).astype(float)
    n = normalize(counts, "bi", epsilon=0.0)
    matrix = np.asarray(n.matrix)
    shift = 1e-5 * rng.normal(size=counts.shape)
    change = Sensitivity(matrix).change(np.outer(n.left, n.right) * shift)
    moved = np.asarray(normalize(counts + shift, "bi", epsilon=0.0).matrix)
    np.testing.assert_allclose(change, moved - matrix, atol=1e-3 * np.abs(change).max())
    np.testing.assert_allclose(change.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_errors_agree_with_the_bootstrap(method) -> None:
    n = normalize(_counts(3, 5, low=20), method)
    ratio = n.bootstrap(4000, rng=1).std(axis=0) / n.standard_errors()
    assert np.abs(np.log(ratio)).max() < 0.1


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 6), method=st.sampled_from(METHODS))
def test_intervals_hold_the_value_and_stay_in_range(seed, n_classes, method) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.0, (n_classes, n_classes)) + np.eye(n_classes, dtype=int)
    n = normalize(counts, method)
    matrix = np.asarray(n.matrix)
    errors = n.standard_errors()
    assert (errors > 0).all()
    wide, narrow = n.confidence_interval(0.99), n.confidence_interval(0.5)
    assert (wide[0] >= 0).all()
    assert (wide[1] <= 1).all()
    assert (wide[0] <= narrow[0]).all()
    assert (narrow[1] <= wide[1]).all()
    assert (narrow[0] <= matrix).all()
    assert (matrix <= narrow[1] + 1e-12).all()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 6))
def test_transposing_swaps_true_and_predicted(seed: int, n_classes: int) -> None:
    counts = _counts(seed, n_classes, low=0)
    for method, other in (("bi", "bi"), ("row", "col"), ("all", "all")):
        np.testing.assert_allclose(
            normalize(counts, method).standard_errors(),
            normalize(counts.T, other).standard_errors().T,
            rtol=1e-6,
        )


def test_cells_without_samples_are_uncertain() -> None:
    counts = np.array([[50, 0], [5, 45]])
    for method in METHODS:
        n = normalize(counts, method)
        low, high = n.confidence_interval()
        assert n.standard_errors()[0, 1] > 0
        assert low[0, 1] == 0.0
        # Nothing seen in fifty: up to about four in fifty would not be surprising.
        assert 2 / 100 < high[0, 1] < 0.3


def test_bi_with_epsilon_zero_and_zero_cells() -> None:
    counts = np.array([[50, 0, 0], [0, 45, 5], [0, 10, 40]])
    n = normalize(counts, "bi", epsilon=0.0)
    low, high = n.confidence_interval()
    assert low[0, 0] == pytest.approx(binomtest(50, 50).proportion_ci(method="wilson").low)
    assert high[0, 0] == 1.0
    assert low[0, 1] == 0.0
    assert high[0, 1] == pytest.approx(0.08, abs=0.03)
    assert (n.standard_errors() > 0).all()
    # Two parts that are never confused: the lower one is as if it stood alone.
    alone = normalize(counts[1:, 1:], "bi", epsilon=0.0)
    np.testing.assert_allclose(n.standard_errors()[1:, 1:], alone.standard_errors(), rtol=1e-9)


def test_undefined_cells_have_undefined_errors() -> None:
    with pytest.warns(UndefinedCellsWarning):
        n = normalize([[5, 1], [0, 0]], "row")
    assert np.isnan(n.standard_errors()[1]).all()
    low, high = n.confidence_interval()
    assert np.isnan(low[1]).all()
    assert np.isnan(high[1]).all()
    assert not np.isnan(low[0]).any()


@pytest.mark.parametrize("method", METHODS)
def test_equal_weights_are_fewer_samples(method) -> None:
    counts = _counts(2, 4).astype(float)
    plain = normalize(counts, method, epsilon=0.25)
    heavy = ConfusionMatrix.from_counts(4 * counts, variances=16 * counts).normalize(
        method, epsilon=1.0
    )
    np.testing.assert_allclose(heavy.standard_errors(), plain.standard_errors(), rtol=1e-9)
    claimed = ConfusionMatrix.from_counts(4 * counts).normalize(method, epsilon=1.0)
    np.testing.assert_allclose(heavy.standard_errors(), 2 * claimed.standard_errors(), rtol=1e-9)
    draws = heavy.bootstrap(3000, rng=0)
    assert np.abs(np.log(draws.std(axis=0) / heavy.standard_errors())).max() < 0.1


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 6))
def test_variances_are_steadied_within_a_row(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    y, predicted = rng.integers(0, n_classes, (2, 300))
    plain = ConfusionMatrix.from_predictions(y, predicted, labels=list(range(n_classes)))
    weighed = ConfusionMatrix.from_predictions(
        y, predicted, labels=list(range(n_classes)), sample_weight=1.0 + y
    )
    # Weights that are equal within a row are known, however few samples there are.
    for cm in (plain, weighed):
        np.testing.assert_allclose(steady_variances(cm).toarray(), cm.variances)
    uneven = ConfusionMatrix.from_predictions(
        y, predicted, labels=list(range(n_classes)), sample_weight=rng.exponential(size=300)
    )
    steady = steady_variances(uneven).toarray()
    np.testing.assert_allclose(steady.sum(axis=1), np.asarray(uneven.variances).sum(axis=1))
    unit = steady.sum(axis=1, keepdims=True) / uneven.counts.sum(axis=1, keepdims=True)
    some = np.asarray(uneven.counts) > 0
    raw, smooth = (
        np.std((v / unit)[some] / uneven.counts[some]) for v in (uneven.variances, steady)
    )
    assert smooth <= raw


def test_intervals_of_a_few_samples_of_varying_weight_hold() -> None:
    """The sum of squares of two or three weights is mostly too small."""
    held = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], 100)
        predicted = np.where(rng.random(200) < 0.03, 1 - y, y)
        weights = np.exp(1.5 * rng.normal(size=200))
        cm = ConfusionMatrix.from_predictions(y, predicted, labels=[0, 1], sample_weight=weights)
        low, high = cm.normalize("row").confidence_interval()
        held += [low[0, 1] <= 0.03 <= high[0, 1], low[1, 0] <= 0.03 <= high[1, 0]]
    assert 0.93 <= np.mean(held) <= 0.985


def test_all_intervals_of_a_stratified_set_are_those_of_rows_times_shares() -> None:
    rates = np.array([[0.9, 0.08, 0.02], [0.1, 0.85, 0.05], [0.0, 0.03, 0.97]])
    sizes = np.array([50, 200, 400])
    truth = sizes[:, None] * rates / sizes.sum()
    held, plain = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        counts = np.array([rng.multinomial(n, row) for n, row in zip(sizes, rates, strict=True)])
        row, every = normalize(counts, "row"), normalize(counts, "all")
        share = counts.sum(axis=1, keepdims=True) / counts.sum()
        ends = [share * end for end in row.confidence_interval()]
        held.append(((ends[0] <= truth) & (truth <= ends[1])).diagonal())
        wide = every.confidence_interval()
        plain.append(((wide[0] <= truth) & (truth <= wide[1])).diagonal())
        assert (share * row.standard_errors() <= every.standard_errors() + 1e-12).all()
    assert 0.92 <= np.mean(held) <= 0.98
    assert np.mean(plain) > 0.99


def test_unequal_weights_against_simulation() -> None:
    rng = np.random.default_rng(0)
    rates = np.array([[0.35, 0.1], [0.15, 0.4]])
    estimates, errors = [], []
    for _ in range(600):
        cells = rng.choice(4, 400, p=rates.ravel())
        weights = rng.exponential(size=400)
        cm = ConfusionMatrix.from_predictions(
            cells // 2, cells % 2, labels=[0, 1], sample_weight=weights
        )
        n = cm.normalize("bi")
        estimates.append(n.matrix)
        errors.append(n.standard_errors())
    ratio = np.std(estimates, axis=0) / np.mean(errors, axis=0)
    np.testing.assert_allclose(ratio, 1.0, atol=0.1)


def test_five_hundred_classes() -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.05, (500, 500)) + np.diag(rng.integers(20, 200, 500))
    n = normalize(counts, "bi")
    errors = n.standard_errors()
    assert errors.shape == (500, 500)
    assert np.isfinite(errors).all()
    # A small part of it by simulation: the diagonal's typical error.
    draws = n.bootstrap(60, rng=0)
    ratio = np.median(draws.std(axis=0).diagonal() / errors.diagonal())
    assert 0.85 < ratio < 1.15


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    accuracy=st.sampled_from([0.2, 0.9, 1 - 1e-6]),
    epsilon=st.sampled_from([None, 1e-4]),
    public=st.booleans(),
)
def test_products_of_a_few_cells_give_the_same_errors(seed, accuracy, epsilon, public) -> None:
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 40, 400)
    pred = np.where(rng.random(400) < accuracy, true, rng.integers(0, 40, 400))
    n = ConfusionMatrix.from_predictions(true, pred, labels=range(40)).normalize("bi", epsilon)
    errors, estimate = n.standard_errors(), estimate_quietly(n.source, 0.95)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sensitivity, "_MANY_CLASSES", 2)
        patch.setattr(sensitivity, "_FEW", 0.5)
        patch.setattr(sensitivity, "_BLOCK", 16)
        if public:
            # Nothing private of SciPy is needed.
            patch.setattr(sensitivity, "csr_matvecs", None)
        np.testing.assert_allclose(n.standard_errors(), errors, rtol=1e-6)
        ends = estimate_quietly(n.source, 0.95)
        np.testing.assert_allclose(ends.low, estimate.low, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(1 - ends.high, 1 - estimate.high, rtol=1e-6, atol=1e-12)
        # Some cells have what they have among all.
        rows, columns = rng.integers(0, 40, (2, 60))
        rows[:20] = columns[:20]
        for some, every in zip(
            ends.intervals_at(rows, columns), (ends.low, ends.high), strict=True
        ):
            np.testing.assert_allclose(some, every[rows, columns], rtol=1e-9, atol=1e-15)


def test_accurate_classifiers_keep_their_digits() -> None:
    counts = np.diag([10**6, 10**7, 10**6]) + np.array([[0, 3, 2], [4, 0, 6], [1, 5, 0]])
    n = normalize(counts, "bi", epsilon=1e-3)
    off = ~np.eye(3, dtype=bool)
    relative = n.standard_errors()[off] / np.asarray(n.matrix)[off]
    np.testing.assert_allclose(relative, 1 / np.sqrt(counts[off]), rtol=0.25)


@pytest.mark.parametrize("hits", [10, 10**3, 10**5, 10**7, 10**9])
def test_errors_of_two_classes_have_their_closed_form(hits: int) -> None:
    # The logit of the diagonal is half the logarithm of the odds ratio.
    counts = np.array([[hits, 3.0], [2.0, 7.0 * hits]])
    root = np.sqrt(np.prod(counts.diagonal()) / (counts[0, 1] * counts[1, 0]))
    expected = root / (1 + root) ** 2 / 2 * np.sqrt((1 / counts).sum())
    errors = normalize(counts, "bi", epsilon=0.0).standard_errors()
    np.testing.assert_allclose(errors, np.full((2, 2), expected), rtol=1e-5)


def test_bootstrap_is_reproducible_and_normalized() -> None:
    n = normalize(_counts(1, 3), "bi")
    draws = n.bootstrap(20, rng=7)
    np.testing.assert_array_equal(draws, n.bootstrap(20, rng=np.random.default_rng(7)))
    np.testing.assert_allclose(draws.sum(axis=1), 1, atol=1e-8)
    np.testing.assert_allclose(draws.sum(axis=2), 1, atol=1e-8)


def test_resamples_without_a_normalization_are_said() -> None:
    n = normalize([[3, 1], [1, 1]], "bi", epsilon=0.0)
    with pytest.warns(DeconfuseWarning, match="resamples have no bi-normalization with epsilon 0"):
        draws = n.bootstrap(200, rng=0)
    lost = np.isnan(draws).any(axis=(1, 2))
    assert 0 < lost.sum() < 200
    assert np.isnan(draws[lost]).all()


def test_bad_input() -> None:
    n = normalize([[5, 1], [1, 5]], "bi")
    with pytest.raises(InputError, match="`level` must be above 0 and below 1, got 95"):
        n.confidence_interval(95)
    with pytest.raises(InputError, match="`n_resamples` must be a whole number of at least 1"):
        n.bootstrap(0)
    limit = normalize([[5, 1], [0, 5]], "bi", epsilon=0.0, throw=False)
    with pytest.raises(InputError, match="converged, got status LIMIT_ONLY"):
        limit.standard_errors()
    many = ConfusionMatrix.from_counts(sparse.eye_array(5000, dtype=int, format="csr"))
    with pytest.raises(InputError, match="at most 4,096 classes, got 5,000"):
        many.normalize("bi").standard_errors()
    with pytest.raises(InputError, match="must have samples to be resampled"):
        normalize(np.zeros((2, 2)), "bi", epsilon=0.5).bootstrap(5)


def _classifier(n_classes: int, accuracy: float, skewed: bool, rng: np.random.Generator) -> Floats:
    errors = rng.gamma(0.5, size=(n_classes, n_classes))
    np.fill_diagonal(errors, 0)
    rates = (1 - accuracy) * errors / errors.sum(axis=1, keepdims=True)
    np.fill_diagonal(rates, accuracy)
    prevalence = np.full(n_classes, 1 / n_classes)
    if skewed:
        rates = rates * np.exp(0.7 * rng.normal(size=n_classes))
        rates /= rates.sum(axis=1, keepdims=True)
        prevalence = 0.8 * rng.dirichlet(np.ones(n_classes)) + 0.2 / n_classes
    return np.asarray(prevalence[:, None] * rates)


@pytest.mark.slow
@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize(("n_classes", "n_samples", "runs"), [(10, 3000, 200), (100, 50_000, 25)])
def test_intervals_cover_as_they_say(n_classes, n_samples, runs, skewed) -> None:
    rng = np.random.default_rng(n_classes)
    shares = _classifier(n_classes, 0.8, skewed, rng)
    expected = n_samples * shares
    for method in METHODS:
        truth = np.asarray(normalize(expected, method, epsilon=0.0).matrix)
        hits = np.zeros_like(truth)
        for _ in range(runs):
            draw = rng.multinomial(n_samples, shares.ravel()).reshape(truth.shape)
            low, high = normalize(draw, method).confidence_interval()
            hits += (low <= truth) & (truth <= high)
        covered = hits[expected >= 10].mean() / runs
        assert 0.93 <= covered <= 0.97, (method, covered)
