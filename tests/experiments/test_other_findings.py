"""What the paper says beside its experiments, where the answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from making import make_record

import deconfuse as dc
from deconfuse.experiments import other_findings as findings
from deconfuse.experiments.config import ALPHAS, RunConfig
from deconfuse.experiments.records import Record


@pytest.fixture(scope="module")
def records() -> list[Record]:
    """Return runs whose matrices are one similarity, scaled by row and by column."""
    rng = np.random.default_rng(0)
    similarity = np.array([[50, 9, 4, 2], [6, 40, 3, 8], [5, 2, 60, 7], [1, 8, 6, 55]])
    template = make_record(RunConfig("mine", 0, 1.0))
    found = []
    for seed in range(3):
        for alpha in (None, *ALPHAS):
            config = RunConfig("mine", seed, alpha, "balanced" if alpha is None else "relative")
            rows, columns = rng.integers(1, 9, size=(2, 4))
            scaled = similarity * np.outer(rows, columns)
            matrix = 1000 * (similarity if alpha is None else scaled)
            found.append(replace(template, config=config, matrix=matrix, epsilon=1e-9))
    return found


def test_bi_persists_where_only_bias_varies(records: list[Record]) -> None:
    for off_diagonal in (False, True):
        found = findings.persistence(records, off_diagonal=off_diagonal)
        np.testing.assert_allclose(found["bi"].values, 1.0, atol=1e-8)
        assert all(found[method].mean < 0.95 for method in ("row", "col", "all"))


def test_the_ceiling_is_what_nothing_but_the_seed_leaves(records: list[Record]) -> None:
    found = findings.noise_ceiling(records)
    truth = records[0]
    bi = dc.normalize(truth.matrix, "bi", epsilon=1e-9)
    np.testing.assert_allclose(found["balanced"].values, dc.overlap(truth.matrix, bi))
    for name in ("10", "0.1", "other seed"):
        np.testing.assert_allclose(found[name].values, 0.0, atol=1e-8)


def test_stripes_are_those_of_the_errors(records: list[Record]) -> None:
    found = findings.stripes(records)
    np.testing.assert_allclose(found["bi", "horizontal"].values, found["bi", "vertical"].values)
    one = replace(records[0], matrix=np.array([[9, 1, 1], [0, 9, 0], [0, 0, 9]]))
    striped = findings.stripes([one])
    assert striped["M1", "horizontal"].mean == pytest.approx(2 / 3)
    assert striped["M1", "vertical"].mean == pytest.approx(1 / 3)


def test_reliability_counts_classes(records: list[Record]) -> None:
    even = [replace(r, matrix=np.full((4, 4), 5)) for r in records]
    found = findings.reliability(even)
    assert found["test", 10.0].mean == pytest.approx(4.0)
    assert found["bi", 0.1].mean == pytest.approx(1.0)
    np.testing.assert_allclose(found["bi", -1.0].values, 0.0, atol=1e-12)
    uneven = findings.reliability(records)
    assert uneven["test", 10.0].mean < 4.0
    fall = uneven["row", 10.0].values - uneven["row", 0.1].values
    np.testing.assert_allclose(uneven["row", -1.0].values, fall)


def test_lines_of_the_summary_say_what_was_measured(records: list[Record]) -> None:
    persists, noise = findings.summary_lines(records)
    assert "bi changes least in 1 of 1 datasets" in persists
    assert "Overlap 100.0 % against" in persists
    assert noise.endswith("points at α = 10, +0.0 at α = 0.1.") or "-0.0 at α = 0.1" in noise


def test_ipf_converges_at_the_square_of_the_second_singular_value(records: list[Record]) -> None:
    rate = findings.convergence_rates(records)
    assert rate is not None
    np.testing.assert_allclose(rate.values, 1.0, atol=0.03)


def test_one_model_on_two_test_sets(records: list[Record]) -> None:
    found = findings.invariance(records)
    for method in ("row", "bi"):
        assert found[method].mean == pytest.approx(found["noise"].mean, abs=0.01)
    for method in ("col", "all"):
        assert found[method].mean < found["noise"].mean - 0.05
