"""Which biases become findings."""

from __future__ import annotations

import re

import pytest

import deconfuse as dc


def test_a_certain_but_slight_bias_is_in_the_table_and_not_among_the_findings() -> None:
    cm = dc.ConfusionMatrix.from_counts(
        [[800_000, 200_000], [230_000, 770_000]], labels=["cat", "dog"]
    )
    d = dc.diagnose(cm)
    assert [bias.verdict for bias in d.biases] == ["over", "under"]
    assert 1.0 < d.biases[0].ratio < 1.1
    assert not [finding for finding in d.findings if "predicted" in finding.kind]


def test_a_strong_bias_is_a_finding() -> None:
    cm = dc.ConfusionMatrix.from_counts([[8_000, 200], [3_000, 7_000]], labels=["cat", "dog"])
    kinds = [finding.kind for finding in dc.diagnose(cm).findings]
    assert "over_predicted" in kinds
    assert "under_predicted" in kinds


def test_a_narrow_interval_is_told_with_the_digits_that_it_needs() -> None:
    found = dc.diagnose([[60_000, 0], [30_000, 30_000]])
    (over,) = (finding for finding in found.findings if finding.kind == "over_predicted")
    told = re.search(r"(\S+) \((\S+) to (\S+)\) times", over.sentence)
    assert told is not None
    assert told.group(2) != told.group(3)
    bias = found.biases[0]
    expected = (bias.ratio, bias.low, bias.high)
    assert [float(text) for text in told.groups()] == pytest.approx(expected, rel=1e-2)
