"""The demo's data: real, skewed, unseen, and with the story it is there to tell."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from deconfuse.demo import DEMO_SEED, make_demo


@pytest.fixture(scope="module")
def demo():
    return make_demo()


def test_it_is_scikit_learns_digits(demo):
    digits = load_digits()
    known = {
        image.tobytes(): label for image, label in zip(digits.images, digits.target, strict=True)
    }
    assert [known[image.tobytes()] for image in demo.images] == demo.y_true.tolist()
    assert len({image.tobytes() for image in demo.images}) == len(demo.images)


def test_training_and_test_are_skewed_in_the_same_order(demo):
    assert (demo.trained.min(), demo.trained.max()) == (2, 40)
    tested = demo.cm.label_counts
    assert tested.min() < 70 < 180 < tested.max()
    by_size = np.argsort(demo.trained, kind="stable")
    assert (np.diff(tested[by_size][1:]) >= 0).all()


def test_the_same_seed_gives_the_same_demo(demo):
    again = make_demo(DEMO_SEED)
    np.testing.assert_array_equal(again.y_pred, demo.y_pred)
    assert again.cm == demo.cm
    assert make_demo(DEMO_SEED + 1).cm != demo.cm


def test_counts_and_likeness_disagree_and_a_balanced_model_sides_with_likeness(demo):
    def ranks(matrix):
        pairs = (matrix + matrix.T)[np.triu_indices(10, 1)]
        places = np.empty(45, int)
        places[np.argsort(-pairs, kind="stable")] = np.arange(1, 46)
        return places

    counts, bi = ranks(demo.cm.counts), ranks(demo.cm.normalize("bi").matrix)
    balanced = ranks(demo.balanced.normalize("bi").matrix)
    loud, alike = int(counts.argmin()), int(bi.argmin())
    assert bi[loud] > 6
    assert balanced[loud] > 6
    assert counts[alike] > 4
    assert balanced[alike] <= 3


def test_bi_shares_more_errors_with_the_balanced_model_than_any_other(demo):
    shared = {
        m: demo.agreement_of_errors(demo.cm.normalize(m).matrix) for m in ("row", "col", "bi")
    }
    shared["counts"] = demo.agreement_of_errors(demo.cm.counts)
    assert max(shared, key=shared.get) == "bi"
    assert shared["bi"] > shared["counts"] + 0.1
    assert demo.agreement_of_errors(demo.balanced.normalize("bi").matrix) == pytest.approx(1.0)
