"""Scaling against other people's solvers, closed forms and published tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize
from sklearn.metrics import confusion_matrix

import deconfuse as dc
from tests.support import require


@given(
    a=st.floats(0.01, 100), b=st.floats(0.01, 100), c=st.floats(0.01, 100), d=st.floats(0.01, 100)
)
def test_two_classes_have_a_closed_form(a: float, b: float, c: float, d: float) -> None:
    expected = np.sqrt(a * d) / (np.sqrt(a * d) + np.sqrt(b * c))
    result = dc.normalize([[a, b], [c, d]], "bi", epsilon=0.0).matrix
    np.testing.assert_allclose(
        result, [[expected, 1 - expected], [1 - expected, expected]], atol=1e-10
    )


def test_a_convex_optimizer_finds_the_same_minimizer() -> None:
    rng = np.random.default_rng(3)
    matrix = rng.gamma(0.7, 3.0, (4, 4)) + 0.05
    rows, columns = np.array([1.0, 2.0, 0.5, 1.5]), np.array([1.2, 1.3, 1.0, 1.5])
    constraints = np.zeros((8, 16))
    for i in range(4):
        constraints[i, 4 * i : 4 * i + 4] = 1.0
        constraints[4 + i, i::4] = 1.0
    start = np.outer(rows, columns).ravel() / rows.sum()
    found = minimize(
        lambda p: float(np.sum(p * np.log(p / matrix.ravel()) - p)),
        start,
        jac=lambda p: np.log(p / matrix.ravel()),
        bounds=[(1e-9, None)] * 16,
        # The last margin follows from the others; a redundant constraint misleads the optimizer.
        constraints=LinearConstraint(constraints[:7], *[np.concatenate([rows, columns])[:7]] * 2),
        hess=lambda p: np.diag(1.0 / p),
        method="trust-constr",
        options={"gtol": 1e-10, "xtol": 1e-12, "maxiter": 3000},
    )
    ours = dc.scale(matrix, rows, columns).matrix
    np.testing.assert_allclose(ours, found.x.reshape(4, 4), atol=1e-5)


@pytest.mark.parametrize("solver", ["sinkhorn", "sinkhorn_log"])
def test_optimal_transport_gives_the_same_plan(solver: str) -> None:
    require("ot")
    import ot

    rng = np.random.default_rng(5)
    matrix = rng.gamma(1.0, 2.0, (6, 6)) + 0.1
    plan = ot.sinkhorn(
        np.ones(6), np.ones(6), -np.log(matrix), 1.0, method=solver, stopThr=1e-13, numItermax=10**5
    )
    np.testing.assert_allclose(dc.scale(matrix).matrix, plan, atol=1e-9)


def test_standard_normalizations_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(7)
    y_true = rng.integers(0, 5, 400)
    y_pred = np.where(rng.random(400) < 0.6, y_true, rng.integers(0, 5, 400))
    cm = dc.ConfusionMatrix.from_predictions(y_true, y_pred)
    for name in ("true", "pred", "all"):
        expected = confusion_matrix(y_true, y_pred, normalize=name)
        np.testing.assert_allclose(cm.normalize(name).matrix, expected, rtol=1e-14)


def test_congaltons_normalized_error_matrix() -> None:
    """Congalton 1991, "A review of assessing the accuracy of classifications", by Margfit.

    Deciduous, conifer, agriculture, shrub. The counts are as printed; the normalized values are
    quoted from memory of the paper, not from its page. Half a sample in each cell gives them to
    four units of their last digit.
    """
    counts = [[65, 4, 22, 24], [6, 81, 5, 8], [0, 11, 85, 19], [4, 7, 3, 90]]
    published = [
        [0.7537, 0.0261, 0.1300, 0.0909],
        [0.1226, 0.7735, 0.0521, 0.0517],
        [0.0090, 0.1042, 0.7731, 0.1133],
        [0.1147, 0.0962, 0.0448, 0.7440],
    ]
    result = dc.normalize(counts, "bi", epsilon=0.5)
    np.testing.assert_allclose(result.matrix, published, atol=5e-4)


def test_the_census_table_of_bishop_fienberg_and_holland() -> None:
    """Marital status by age, last year's table raked to this year's margins.

    Bishop, Fienberg and Holland 1975, *Discrete Multivariate Analysis*; table and margins as in the
    example "Iterative Proportional Fitting" of the SAS/IML User's Guide. Its adjusted table is
    quoted from memory, not from the page.
    """
    table = [
        [1306, 83, 0], [619, 765, 3], [263, 1194, 9], [173, 1372, 28],
        [171, 1393, 51], [159, 1372, 81], [208, 1350, 108], [1116, 4100, 2329],
    ]  # fmt: skip
    ages = [1412, 1402, 1450, 1541, 1681, 1532, 1662, 7644]
    status = [3988, 11702, 2634]
    published = [
        [1325.27, 86.73, 0.00], [615.56, 783.39, 3.05], [253.94, 1187.18, 8.88],
        [165.13, 1348.55, 27.32], [173.41, 1454.71, 52.87], [147.21, 1308.12, 76.67],
        [202.33, 1352.28, 107.40], [1105.16, 4181.04, 2357.81],
    ]  # fmt: skip
    for solver in ("auto", "newton", "ipf", "ras"):
        scaling = dc.scale(table, ages, status, solver=solver, tolerance=1e-6)
        np.testing.assert_allclose(scaling.matrix, published, atol=0.006)


def test_the_sample_table_of_deming_and_stephan() -> None:
    """Persons at school by state and age, New England, a sample of the census of 1930.

    Deming and Stephan 1940, "On a least squares adjustment of a sampled frequency table when the
    expected marginal totals are known". Quoted from memory, not from the page, with the printed
    totals, which the cells add up to; the adjusted table was not at hand. What the paper proves of
    its method stands instead: a table is left as it is by its own totals, and moved to others each
    cell is multiplied by one factor of its row and one of its column.
    """
    sample = np.array(
        [
            [3623, 781, 557, 313], [1570, 395, 251, 155], [1553, 419, 264, 116],
            [10538, 2455, 1706, 1160], [1681, 353, 171, 154], [3882, 857, 544, 339],
        ]
    )  # fmt: skip
    states = np.array([5274, 2371, 2352, 15859, 2359, 5622])
    ages = np.array([22847, 5260, 3493, 2237])
    assert sample.sum(axis=1).tolist() == states.tolist()
    assert sample.sum(axis=0).tolist() == ages.tolist()
    assert sample.sum() == 33837
    rng = np.random.default_rng(0)
    expected = np.outer(states * rng.uniform(0.98, 1.02, 6), ages * rng.uniform(0.98, 1.02, 4))
    expected *= 33837 / expected.sum()
    other = expected.sum(axis=1), expected.sum(axis=0)
    for solver in ("auto", "newton", "ipf", "ras"):
        same = dc.scale(sample, states, ages, solver=solver)
        np.testing.assert_allclose(same.matrix, sample, rtol=1e-12)
        moved = np.asarray(dc.scale(sample, *other, solver=solver, tolerance=1e-10).matrix)
        np.testing.assert_allclose(moved.sum(axis=1), other[0], rtol=1e-9)
        np.testing.assert_allclose(moved.sum(axis=0), other[1], rtol=1e-9)
        factors = np.log(moved / sample)
        of_rows_and_columns = factors[:1] + factors[:, :1] - factors[0, 0]
        np.testing.assert_allclose(factors, of_rows_and_columns, atol=1e-9)


def test_steps_are_counted_as_in_algorithm_one() -> None:
    """A table with proportional rows is fitted by one sweep: two half steps."""
    table = np.outer([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    for solver in ("ipf", "ras"):
        assert dc.scale(table, solver=solver).iterations == 2


def test_ipf_and_ras_walk_the_same_path() -> None:
    matrix = np.array([[5.0, 1.0, 2.0], [0.3, 4.0, 1.0], [2.0, 0.1, 7.0]])
    for steps in (2, 4, 10):
        fit = [
            dc.scale(matrix, solver=solver, max_iterations=steps, throw=False)
            for solver in ("ipf", "ras")
        ]
        assert fit[0].iterations == fit[1].iterations == steps
        np.testing.assert_allclose(fit[0].matrix, fit[1].matrix, rtol=1e-12)
        by_hand = matrix.copy()
        for _ in range(steps // 2):
            by_hand /= by_hand.sum(axis=1, keepdims=True)
            by_hand /= by_hand.sum(axis=0, keepdims=True)
        np.testing.assert_allclose(fit[0].matrix, by_hand, rtol=1e-12)
