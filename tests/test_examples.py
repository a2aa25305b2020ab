"""The example matrices: that they are what their sources print."""

from __future__ import annotations

import numpy as np
import pytest

import deconfuse as dc


def test_consonants_have_the_printed_row_totals():
    cm = dc.load_example("consonants")
    assert cm.total == 2000
    assert cm.label_counts.tolist() == [316, 296, 384, 320, 376, 308]


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
