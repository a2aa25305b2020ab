"""Which biases become findings."""

from __future__ import annotations

import re

import numpy as np
import pytest

import deconfuse as dc


def test_a_certain_but_slight_bias_is_called_even_everywhere() -> None:
    cm = dc.ConfusionMatrix.from_counts(
        [[800_000, 200_000], [230_000, 770_000]], labels=["cat", "dog"]
    )
    d = dc.diagnose(cm)
    assert [bias.verdict for bias in d.biases] == ["even", "even"]
    assert d.biases[0].p_value < 1e-9
    assert 1.0 < d.biases[0].ratio < 1.1
    assert not [finding for finding in d.findings if "predicted" in finding.kind]
    assert d.headline.endswith("none is shown to be over- or under-predicted by a tenth.")


def test_what_counts_seem_to_deny_is_said_with_its_condition() -> None:
    """A frequent class loses more samples to a rare one than it takes, though it is favoured."""
    rates = np.array([[0.98, 0.02, 0.0], [0.30, 0.70, 0.0], [0.25, 0.05, 0.70]])
    counts = np.rint(np.array([20_000, 500, 500])[:, None] * rates).astype(int)
    d = dc.diagnose(dc.ConfusionMatrix.from_counts(counts, labels=["big", "b", "c"]))
    (over,) = (f for f in d.findings if f.kind == "over_predicted")
    bias = d.biases[0]
    assert bias.predictions < bias.labels
    assert over.sentence.startswith(
        "“big” is over-predicted, which label shares hide: 19,875 predictions for 20,000 labels,"
        " but if all classes were equally frequent, it would be predicted 1.53 ("
    )
    assert "If all classes were equally frequent, “big” would be over-predicted (" in d.headline
    assert over.advice.startswith("The more frequent a class is, the more it tends to be over-")


def _advice(y: np.ndarray, scores: np.ndarray) -> set[str]:
    """Return the advice on biases of a classifier that says the class with the largest score."""
    labels = range(scores.shape[1])
    cm = dc.ConfusionMatrix.from_predictions(y, scores.argmax(axis=1), labels=labels)
    return {f.advice for f in dc.diagnose(cm).findings if f.kind.endswith("_predicted")}


@pytest.mark.parametrize("n_classes", [2, 6])
def test_the_best_classifier_of_uneven_classes_is_not_to_be_repaired(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    shares = np.geomspace(1, 20, n_classes) / np.geomspace(1, 20, n_classes).sum()
    y = rng.choice(n_classes, 20_000, p=shares)
    likelihoods = 1.5 * (np.eye(n_classes)[y] * 1.5 + rng.normal(size=(len(y), n_classes)))
    (advice,) = _advice(y, likelihoods + np.log(shares))
    begins = (
        "The more frequent class is over-predicted"
        if n_classes == 2
        else "The more frequent a class is, the more it tends to be over-predicted"
    )
    assert advice == (
        f"{begins} here, as by a classifier with the highest plain accuracy under uneven classes."
        " Such a classifier needs no repair where classes are as uneven in use. If errors in"
        " rare classes matter as much, calibrated probabilities can be divided by the training"
        " shares of their classes; that is for balanced accuracy, and usually costs plain accuracy."
    )
    # Its scores without the prior, with a favour for the rarest class, which is a bias.
    (advice,) = _advice(y, likelihoods + 2 * np.eye(n_classes)[0])
    assert advice == (
        "If the classifier gives scores, try a `Rebalancer` on validation data, and keep it only if"
        " balanced accuracy rises on other data; plain accuracy may fall."
    )


def test_a_bias_among_nearly_even_classes_may_be_repaired() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [1_150, 1_000, 1_000])
    scores = np.eye(3)[y] + 0.7 * rng.normal(size=(len(y), 3))
    (advice,) = _advice(y, scores + 0.5 * np.eye(3)[0])
    assert "try a `Rebalancer`" in advice


def test_a_wide_interval_gives_its_sure_end() -> None:
    counts = np.array([[200, 2, 0], [4, 200, 0], [9, 4, 1]])
    d = dc.diagnose(counts)
    (under,) = (f for f in d.findings if f.kind == "under_predicted")
    bias = d.biases[2]
    assert bias.high > 3 * bias.low
    told = re.search(r"predicted at most (\S+) times as often as it occurs: \S+ \(", under.sentence)
    assert told is not None
    assert float(told[1]) == pytest.approx(bias.high, rel=0.05)
    assert f"“2” under-predicted (at most {told[1]} times)." in d.headline
