"""Which biases become findings."""

from __future__ import annotations

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
