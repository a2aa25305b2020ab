"""The example matrices: that they are what their sources print."""

from __future__ import annotations

import numpy as np
import pytest

import deconfuse as dc


def test_consonants_agree_with_what_the_paper_says_of_its_tables():
    cm = dc.load_example("consonants")
    assert cm.total == 4000
    # Four listeners answered every syllable.
    assert not (cm.label_counts % 4).any()
    voiced = set("bdgvðzʒmn")
    voicing = cm.merge_classes(
        {
            "voiced": [c for c in cm.labels if c in voiced],
            "voiceless": [c for c in cm.labels if c not in voiced],
        }
    )
    place = cm.merge_classes(
        {"front": list("pbfvm"), "middle": list("tdθsðzn"), "back": list("kgʃʒ")}
    )
    assert _bits(voicing) == pytest.approx(0.797, abs=0.0015)
    assert _bits(place) == pytest.approx(0.249, abs=0.0015)


def _bits(cm: dc.ConfusionMatrix) -> float:
    """Return the information that answers carry about what was said."""
    joint = cm.counts / cm.total
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    seen = joint > 0
    return float((joint[seen] * np.log2(joint[seen] / expected[seen])).sum())


def test_stops_have_the_printed_row_totals():
    assert dc.load_example("stops").label_counts.tolist() == [316, 296, 384, 320, 376, 308]


def test_land_cover_has_the_printed_accuracies():
    cm = dc.load_example("land-cover")
    # Rows are reference classes here, so a row's share is the producer's accuracy.
    producers = np.diag(cm.normalize("row").matrix)
    users = np.diag(cm.normalize("col").matrix)
    assert (100 * producers).round().tolist() == [87, 79, 74, 64]
    assert (100 * users).round().tolist() == [57, 81, 74, 87]


def test_numbers_are_names():
    cm = dc.load_example("two-digit-numbers")
    assert cm.labels[:2] == ("00", "01")
    assert cm.n_classes == 100
    assert cm.total == 20_000


def test_an_unknown_name_is_refused():
    with pytest.raises(dc.InputError, match="`name` must be one of 'consonants'"):
        dc.load_example("iris")  # type: ignore[arg-type]
