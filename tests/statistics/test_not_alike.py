"""Pairs that raw counts put first and that are not alike: said when sure, and only then."""

from __future__ import annotations

import numpy as np
import pytest

from deconfuse import diagnose
from deconfuse.statistics.diagnosis import Diagnosis
from deconfuse.statistics.findings import Finding


def found(counts: object) -> tuple[Diagnosis, list[Finding]]:
    d = diagnose(counts)
    return d, [finding for finding in d.findings if finding.kind == "not_alike"]


def planted(scale: int) -> np.ndarray:
    """Classes 2 and 3 are rare and alike; 1 is taken for 0, which is said too readily."""
    rates = np.full((5, 5), 0.02) + 0.90 * np.eye(5)
    rates[1] = [0.40, 0.54, 0.02, 0.02, 0.02]
    rates[0, 1] = 0.002
    rates[2, 3] = rates[3, 2] = 0.3
    sizes = np.array([1000, 1000, 120, 120, 1000]) * scale
    return np.rint(sizes[:, None] * rates).astype(int)


def test_a_confused_pair_is_told_apart_from_a_rarer_one_that_is_alike() -> None:
    d, apart = found(planted(1))
    assert apart[0].classes == (0, 1)
    assert apart[0].cells == ((1, 0),)
    assert (
        "rank 1 by count: 2 and 400 confusions) but less similar than “2” and “3”"
        in apart[0].sentence
    )
    assert apart[0].sentence.endswith("; “1” is a frequent class and “0” is over-predicted.")
    assert apart[0].advice.startswith("Do not relabel or merge these two for their count")
    alike = d.look_alikes[0]
    pair = next(p for p in (*d.look_alikes, *d.uncertain_pairs) if (p.first, p.second) == (0, 1))
    assert (alike.first, alike.second) == (2, 3)
    assert pair.high < alike.low
    assert pair.raw_rank < alike.raw_rank


def test_it_is_not_said_of_few_samples() -> None:
    _, apart = found(planted(1) // 20)
    assert apart == []


@pytest.mark.parametrize("seed", range(6))
def test_it_is_never_said_of_a_pair_that_stands_out_itself_nor_without_support(seed: int) -> None:
    rng = np.random.default_rng(seed)
    means = rng.gamma(0.4, 12, (7, 7)) + np.diag(rng.gamma(2, 80, 7))
    d, apart = found(rng.poisson(means))
    alike = {finding.classes for finding in d.findings if finding.kind == "look_alike"}
    pairs = {(p.first, p.second): p for p in (*d.look_alikes, *d.uncertain_pairs)}
    assert alike.isdisjoint(finding.classes for finding in apart)
    for finding in apart:
        pair = pairs[finding.classes]
        assert pair.raw_rank <= 5
        surer = [
            p for c, p in pairs.items()
            if c in alike and p.low > pair.high and p.raw_rank > pair.raw_rank
        ]  # fmt: skip
        assert surer or "not unusually similar" in finding.sentence


def test_a_greedy_class_is_told_without_any_look_alike() -> None:
    # Everything is equally alike; class 0 is said four times too readily and is frequent.
    strengths = np.array([4.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    similarity = np.full((6, 6), 0.05) + 0.95 * np.eye(6)
    rows = similarity * strengths
    rows /= rows.sum(axis=1, keepdims=True)
    counts = np.rint(40_000 * rows).astype(int)
    d, apart = found(counts)
    assert not [f for f in d.findings if f.kind == "look_alike"]
    assert apart
    assert all(0 in finding.classes for finding in apart)
    assert "but not unusually similar: estimated similarity 0.05" in apart[0].sentence


def test_an_even_matrix_has_nothing_to_tell_apart() -> None:
    counts = np.full((6, 6), 50) + 950 * np.eye(6, dtype=int)
    assert found(counts)[1] == []


def test_a_frequent_class_is_named_as_the_reason() -> None:
    rates = np.full((6, 6), 0.004) + 0.976 * np.eye(6)
    for i, j in ((2, 3), (3, 4), (4, 5), (2, 5)):
        rates[i, j] = rates[j, i] = 0.15
    counts = (np.array([20_000, 20_000, 150, 150, 150, 150])[:, None] * rates).astype(int)
    _, apart = found(counts)
    assert apart[0].classes == (0, 1)
    assert apart[0].sentence.endswith("is a frequent class.")


def test_a_rarely_predicted_class_is_named_as_the_reason() -> None:
    # Class 1 goes to all others alike, so that none of these is said much too readily.
    rates = np.full((12, 12), 0.01) + 0.88 * np.eye(12)
    rates[1] = 0.05
    rates[1, 1] = 0.45
    rates[:, 1] = np.where(np.arange(12) == 1, 0.45, 0.0015)
    rates[2, 3] = rates[3, 2] = 0.3
    sizes = np.full(12, 2000)
    sizes[2:4] = 150
    _, apart = found(np.rint(sizes[:, None] * rates).astype(int))
    assert apart
    assert all(1 in finding.classes for finding in apart)
    assert all(finding.sentence.endswith("“1” is under-predicted.") for finding in apart)


def test_where_no_reason_is_sure_none_is_given() -> None:
    rates = np.full((12, 12), 0.01) + 0.88 * np.eye(12)
    rates[2, 3] = rates[3, 2] = 0.3
    sizes = np.full(12, 2000)
    sizes[2:4] = 50
    _, apart = found(np.rint(sizes[:, None] * rates).astype(int))
    assert apart
    assert all(finding.sentence.endswith(").") for finding in apart)
    assert all("look at the similar pairs first" in f.advice for f in apart)
