"""Area-weighted error matrices against published tables and a simulated map."""

from __future__ import annotations

import numpy as np
import pytest

import deconfuse as dc
from tests.support import require

# Olofsson et al. (2014), Table 8 and section 5: rows are map classes there.
OLOFSSON_2014 = np.array([[66, 0, 5, 4], [0, 55, 8, 12], [1, 0, 153, 11], [2, 1, 9, 313]])
NAMES = ["deforestation", "forest gain", "stable forest", "stable non-forest"]
PIXELS = [200_000, 150_000, 3_200_000, 6_450_000]


@pytest.fixture
def published():
    return dc.ConfusionMatrix.from_counts(OLOFSSON_2014.T, labels=NAMES)


def test_reproduces_olofsson_2014(published):
    estimate = dc.area.map_accuracy(published, dict(zip(NAMES, PIXELS, strict=True)))
    assert estimate.users.round(2).tolist() == [0.88, 0.73, 0.93, 0.96]
    assert estimate.producers.round(2).tolist() == [0.75, 0.85, 0.93, 0.96]
    assert round(estimate.overall, 2) == 0.95
    half_widths = {
        name: np.subtract(*estimate.interval(name, scale="plain")[::-1]) / 2
        for name in ("users", "producers", "overall", "areas")
    }
    assert half_widths["users"].round(2).tolist() == [0.07, 0.10, 0.04, 0.02]
    # The paper prints 0.21, 0.23, 0.03 and 0.01; its own equation 7 gives these instead.
    assert half_widths["producers"].round(3).tolist() == [0.213, 0.254, 0.034, 0.018]
    assert half_widths["overall"].round(2) == 0.02
    # 235,086 pixels, plus or minus 68,418, from a standard error printed as 0.0035 of the map.
    assert estimate.areas[0] == pytest.approx(235_086, abs=1)
    assert round(estimate.areas_error[0] / sum(PIXELS), 4) == 0.0035
    assert half_widths["areas"][0] == pytest.approx(68_418, abs=10)


def test_reproduces_olofsson_2013():
    by_map_class = np.array([[97, 0, 3], [3, 279, 18], [2, 1, 97]])
    cm = dc.ConfusionMatrix.from_counts(by_map_class.T)
    estimate = dc.area.map_accuracy(cm, [22_353, 1_122_543, 610_228])
    assert estimate.proportions.T.round(3).tolist() == [
        [0.012, 0.0, 0.0],
        [0.006, 0.595, 0.038],
        [0.007, 0.003, 0.337],
    ]
    assert estimate.users.round(2).tolist() == [0.97, 0.93, 0.97]
    assert estimate.producers[:2].round(2).tolist() == [0.48, 0.99]
    assert round(estimate.overall, 2) == 0.94


def test_proportions_are_the_weighted_counts(published):
    estimate = dc.area.map_accuracy(published, PIXELS)
    weighted = dc.area.area_weighted(published, PIXELS)
    assert weighted.total == pytest.approx(published.total)
    np.testing.assert_allclose(weighted.normalize("all").matrix, estimate.proportions, atol=1e-15)
    np.testing.assert_allclose(
        weighted.prediction_counts / weighted.total, np.array(PIXELS) / sum(PIXELS)
    )
    assert weighted.is_weighted


def test_variances_are_sums_of_squared_weights(published):
    weighted = dc.area.area_weighted(published, PIXELS)
    seen = published.counts > 0
    weights = weighted.counts[seen] / published.counts[seen]
    np.testing.assert_allclose(weighted.variances[seen], weights**2 * published.counts[seen])


def test_areas_do_not_change_the_bi_normalized_matrix():
    cm = dc.ConfusionMatrix.from_counts(OLOFSSON_2014.T + 1)
    plain = cm.normalize("bi", 0.0).matrix
    weighted = dc.area.area_weighted(cm, PIXELS).normalize("bi", 0.0).matrix
    np.testing.assert_allclose(weighted, plain, atol=1e-9)


def test_estimates_and_errors_hold_in_repeated_sampling():
    rng = np.random.default_rng(5)
    # Share of each true class within each map class (columns), and mapped areas.
    truth = np.array([[0.8, 0.05, 0.1], [0.15, 0.9, 0.1], [0.05, 0.05, 0.8]])
    areas = np.array([10.0, 60.0, 30.0])
    joint = truth * areas / areas.sum()
    exact = np.diag(joint) / joint.sum(axis=1)
    sizes = [80, 150, 100]
    estimates = []
    for _ in range(400):
        columns = [rng.multinomial(n, truth[:, j]) for j, n in enumerate(sizes)]
        cm = dc.ConfusionMatrix.from_counts(np.transpose(columns))
        estimates.append(dc.area.map_accuracy(cm, areas))
    producers = np.array([e.producers for e in estimates])
    stated = np.mean([e.producers_error for e in estimates], axis=0)
    np.testing.assert_allclose(producers.mean(axis=0), exact, atol=0.01)
    np.testing.assert_allclose(producers.std(axis=0), stated, rtol=0.12)
    low, high = (np.array([e.interval("producers")[k] for e in estimates]) for k in (0, 1))
    coverage = ((low <= exact) & (exact <= high)).mean(axis=0)
    assert (coverage > 0.92).all()
    assert (low > 0).all()
    assert (high < 1).all()


def test_a_class_that_is_always_right_has_an_interval():
    estimate = dc.area.map_accuracy([[20, 0, 2], [0, 30, 3], [0, 0, 0]], [5, 3, 2])
    low, high = estimate.interval("users")
    # Wilson's score interval of 20 of 20, and of 0 of 5.
    reach = 1.959964**2
    assert (low[0], high[0]) == (pytest.approx(20 / (20 + reach)), 1.0)
    assert (low[2], high[2]) == (0.0, pytest.approx(reach / (5 + reach)))


def test_where_all_points_agree_the_truth_is_not_certain():
    estimate = dc.area.map_accuracy([[20, 0, 0], [0, 30, 1], [0, 2, 9]], [5, 3, 2])
    low, high = estimate.interval("areas")
    assert low[0] < estimate.areas[0] == 5 < high[0]
    assert estimate.interval("areas", scale="plain")[0][0] == 5
    low, high = estimate.interval("producers")
    assert low[0] < 0.95 < high[0] == estimate.producers[0] == 1
    # One map class all right and one all wrong: what is right has no spread either.
    mixed = dc.area.map_accuracy([[20, 10], [0, 0]], [5, 3])
    low, high = mixed.interval("overall")
    assert low.shape == high.shape == ()
    assert low < mixed.overall == 5 / 8 < high


def test_an_area_without_another_class_has_no_interval():
    alone = dc.area.map_accuracy([[20]], [5])
    assert np.isnan(alone.interval("areas")).all()
    assert str(alone).splitlines()[2].endswith("5.000")


def test_intervals_of_few_points_cover_the_truth():
    """A huge class with a few errors hides most of a rare one; few points hardly ever show it."""
    rng, points = np.random.default_rng(20), 20
    truth = np.array([[0.88, 0.01, 0.01], [0.08, 0.95, 0.02], [0.04, 0.04, 0.97]])
    areas = np.array([1.0, 10.0, 30.0])
    joint = truth * areas / areas.sum()
    exact = {"producers": joint.diagonal() / joint.sum(axis=1), "areas": 41 * joint.sum(axis=1)}
    held = {(name, scale): [] for name in exact for scale in ("logit", "plain")}
    for _ in range(300):
        columns = [rng.multinomial(points, truth[:, j]) for j in range(3)]
        estimate = dc.area.map_accuracy(np.transpose(columns), areas)
        for (name, scale), found in held.items():
            low, high = estimate.interval(name, scale=scale)
            found.append((low <= exact[name]) & (exact[name] <= high))
    for name in exact:
        assert (np.mean(held[name, "logit"], axis=0) > 0.85).all()
        assert np.mean(held[name, "logit"]) > 0.9
        assert np.mean(held[name, "logit"]) > np.mean(held[name, "plain"]) + 0.05


def test_a_table_is_not_a_list_of_areas(published):
    require("pandas")
    import pandas as pd

    with pytest.raises(dc.InputError, match=r"one number per class, got shape \(4, 1\)"):
        dc.area.map_accuracy(published, pd.DataFrame({"area": PIXELS}))


def test_areas_as_a_tensor(published):
    require("torch")
    import torch

    expected = dc.area.map_accuracy(published, PIXELS).areas
    areas = torch.tensor(PIXELS, dtype=torch.float32, requires_grad=True)
    np.testing.assert_allclose(dc.area.map_accuracy(published, areas).areas, expected)
    halves = torch.tensor([1.0, 2.0, 4.0, 8.0], dtype=torch.bfloat16)
    assert dc.area.map_accuracy(published, halves).total_area == 15


def test_shows_itself_with_intervals(published):
    estimate = dc.area.map_accuracy(published, PIXELS)
    head, names, first, *_ = str(estimate).splitlines()
    assert head == "overall accuracy 0.95 (0.92 to 0.96), 95 % intervals"
    assert names.split("  ")[0] == "map class"
    assert "0.88 (0.79 to 0.94)" in first
    assert "235,086 (" in first
    assert "nan" not in str(dc.area.map_accuracy([[20, 0], [0, 30]], [5, 3]))
    hostile = dc.ConfusionMatrix.from_counts([[9, 1], [1, 9]], labels=["\x1b[31mred", "b"])
    assert "\x1b" not in str(dc.area.map_accuracy(hostile, [1, 1]))


@pytest.mark.parametrize(("total", "decimals"), [(1, 3), (100, 1), (100_000, 0), (0.01, 5)])
def test_shows_areas_of_any_unit_with_as_many_digits_as_they_need(total, decimals):
    estimate = dc.area.map_accuracy([[500, 10], [5, 400]], [0.35 * total, 0.65 * total])
    area = total * (0.35 * 500 / 505 + 0.65 * 10 / 410)
    low, high = (end[0] for end in estimate.interval("areas"))
    numbers = [f"{value:,.{decimals}f}" for value in (area, low, high)]
    assert len(set(numbers)) == 3
    assert str(estimate).splitlines()[2].endswith("  {} ({} to {})".format(*numbers))


def test_a_series_is_taken_by_its_names(published):
    require("pandas")
    import pandas as pd

    areas = dict(zip(NAMES, PIXELS, strict=True))
    backwards = pd.Series(areas)[::-1]
    expected = dc.area.map_accuracy(published, areas)
    np.testing.assert_array_equal(dc.area.map_accuracy(published, backwards).areas, expected.areas)
    assert dc.area.area_weighted(published, backwards) == dc.area.area_weighted(published, areas)


def test_a_series_of_other_names_is_refused(published):
    require("pandas")
    import pandas as pd

    with pytest.raises(dc.InputError, match="got 'deforestation' missing and 'loss' unk") as caught:
        dc.area.map_accuracy(published, pd.Series(PIXELS, index=["loss", *NAMES[1:]]))
    assert "a list has the numbers in matrix order" in str(caught.value)
    with pytest.raises(dc.InputError, match="got 'deforestation', 'forest gain'"):
        dc.area.map_accuracy(published, pd.Series(PIXELS))
    with pytest.raises(dc.InputError, match="once, got 'forest gain' more than once"):
        dc.area.area_weighted(published, pd.Series([*PIXELS, 1], index=[*NAMES, NAMES[1]]))


def test_a_class_without_area_and_samples_is_undefined():
    cm = dc.ConfusionMatrix.from_counts([[5, 1, 0], [1, 5, 0], [0, 2, 0]])
    estimate = dc.area.map_accuracy(cm, [1, 1, 0])
    assert np.isnan(estimate.users[2])
    assert estimate.producers[2] == 0
    assert estimate.areas.sum() == pytest.approx(2)


@pytest.mark.parametrize(
    ("counts", "areas", "message"),
    [
        ([[5, 1], [1, 5]], [1, 2, 3], "one number per class, got shape"),
        ([[5, 1], [1, 5]], {0: 1.0, 7: 1.0}, "got 1 missing and 7 unknown"),
        ([[5, 1], [1, 5]], ["wide", "narrow"], "must be numbers, one per class, got"),
        ([[5, 1], [1, 5]], {0: 1.0, 1: None}, "finite, not negative and not all zero"),
        ([[5, 1], [1, 5]], [1, -2], "finite, not negative and not all zero"),
        ([[5, 1], [1, 5]], [0, 0], "finite, not negative and not all zero"),
        ([[5, 0], [1, 0]], [1, 1], "must have samples, got none of 1"),
        ([[5, 1], [1, 5]], [1, 0], "must have an area, got 0 for 1"),
        ([[5, 0], [1, 1]], [1, 1], "at least two samples, got one of 1"),
    ],
)
def test_bad_areas_are_refused(counts, areas, message):
    with pytest.raises(dc.InputError, match=message):
        dc.area.map_accuracy(dc.ConfusionMatrix.from_counts(counts), areas)


def test_weighted_counts_are_refused(published):
    with pytest.raises(dc.InputError, match="unweighted counts"):
        dc.area.map_accuracy(dc.area.area_weighted(published, PIXELS), PIXELS)


def test_very_many_classes_are_refused():
    labels = np.arange(3000)
    cm = dc.ConfusionMatrix.from_predictions(labels, labels)
    with pytest.raises(dc.InputError, match="at most 2,048 classes, got 3,000"):
        dc.area.area_weighted(cm, np.ones(3000))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("users", 1.0), {}, "`level` must be above 0 and below 1, got 1.0"),
        (("kappa",), {}, "`estimate` must be"),
        (("users",), {"scale": "log"}, "`scale` must be"),
    ],
)
def test_bad_intervals_are_refused(published, arguments, options, message):
    with pytest.raises(dc.InputError, match=message):
        dc.area.map_accuracy(published, PIXELS).interval(*arguments, **options)
