"""The demo's data: real, skewed, unseen, and with the story it is there to tell."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from deconfuse import diagnose
from deconfuse.demo import DEMO_SEED, make_demo


@pytest.fixture(scope="module")
def demo():
    return make_demo()


def test_it_is_scikit_learns_digits(demo):
    digits = load_digits()
    np.testing.assert_array_equal(demo.images, digits.images)
    np.testing.assert_array_equal(demo.y_true, digits.target)


def test_training_is_skewed_and_every_digit_is_predicted(demo):
    assert (demo.trained.min(), demo.trained.max()) == (5, 40)
    ratios = np.diff(np.log(np.sort(demo.trained)))
    assert ratios.max() < 2.5 * ratios.min()
    assert (demo.cm.counts.diagonal() > 30).all()


def test_the_same_seed_gives_the_same_demo(demo):
    again = make_demo(DEMO_SEED)
    np.testing.assert_array_equal(again.y_pred, demo.y_pred)
    assert again.cm == demo.cm
    assert make_demo(DEMO_SEED + 1).cm != demo.cm


def ranks(matrix):
    pairs = (matrix + matrix.T)[np.triu_indices(10, 1)]
    places = np.empty(45, int)
    places[np.argsort(-pairs, kind="stable")] = np.arange(1, 46)
    return {pair: int(k) for pair, k in zip(combinations(range(10), 2), places, strict=True)}


def test_a_rare_pair_is_most_alike_though_counts_hide_it(demo):
    first = diagnose(demo.cm).look_alikes[0]
    pair = (first.first, first.second)
    assert first.raw_rank > 5
    assert ranks(demo.cm.counts)[pair] > 5
    assert ranks(demo.balanced.normalize("bi").matrix)[pair] <= 3
    assert demo.trained[list(pair)].max() <= 10


def test_pairs_that_counts_call_confused_are_surely_less_alike(demo):
    found = diagnose(demo.cm)
    first = found.look_alikes[0]
    apart = [finding.classes for finding in found.findings if finding.kind == "not_alike"]
    assert len(apart) >= 2
    balanced = ranks(demo.balanced.normalize("bi").matrix)
    by_classes = {(p.first, p.second): p for p in (*found.look_alikes, *found.uncertain_pairs)}
    for pair in apart:
        assert by_classes[pair].raw_rank <= 5 < first.raw_rank
        assert by_classes[pair].high < first.low
        assert balanced[pair] > 10


def test_bi_shares_more_errors_with_the_balanced_model_than_any_other(demo):
    shared = {
        m: demo.agreement_of_errors(demo.cm.normalize(m).matrix) for m in ("row", "col", "bi")
    }
    shared["counts"] = demo.agreement_of_errors(demo.cm.counts)
    assert max(shared, key=shared.get) == "bi"
    assert shared["bi"] > shared["counts"] + 0.1
    assert demo.agreement_of_errors(demo.balanced.normalize("bi").matrix) == pytest.approx(1.0)
