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
    assert "can cost plain accuracy" in over.advice


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
