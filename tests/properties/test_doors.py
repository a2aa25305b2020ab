"""One table through every door: sequences and frames of every engine agree, or refuse alike."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deconfuse as dc

pytestmark = pytest.mark.filterwarnings("ignore::deconfuse.errors.DeconfuseWarning")

KINDS: dict[str, st.SearchStrategy[Any]] = {
    "ints": st.integers(-(2**62), 2**62),
    "few ints": st.integers(0, 5),
    "whole floats": st.integers(-5, 5).map(float),
    "fractions": st.sampled_from([0.5, 1.0, 2.0]),
    "bools": st.booleans(),
    "dates": st.dates(datetime.date(2020, 1, 1), datetime.date(2020, 1, 9)),
    "strings": st.text(alphabet="abAB 1.é", min_size=1, max_size=3),
}


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Labels and predictions, of one kind mostly, with a missing value now and then."""
    names = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=2))
    one, other = KINDS[names[0]], KINDS[names[-1]]
    size = draw(st.integers(1, 12))
    gap = st.booleans() if draw(st.integers(0, 4)) == 0 else st.just(False)

    def column(kind: st.SearchStrategy[Any]) -> list[Any]:
        pool = draw(st.lists(kind, min_size=1, max_size=4))
        return [None if draw(gap) else draw(st.sampled_from(pool)) for _ in range(size)]

    return {"label": column(one), "prediction": column(other)}


def counted(act: Any) -> Any:
    """Return the matrix, or what kind of refusal there was."""
    try:
        return act()
    except dc.InputError as error:
        for reason in ("missing", "one type", "fraction", "64 bits"):
            if reason in error.message:
                return reason
        raise


DOORS: dict[str, Any] = {
    "pandas": pd.DataFrame,
    "polars": lambda table: pl.DataFrame(table, strict=False),
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("door", sorted(DOORS))
@given(tables())
def test_every_door_gives_one_answer(door: str, table: dict[str, list[Any]]) -> None:
    lists = counted(lambda: dc.ConfusionMatrix.from_predictions(*table.values()))
    frame = counted(lambda: dc.ConfusionMatrix.from_frame(DOORS[door](table)))
    if isinstance(lists, str) or isinstance(frame, str):
        # A table may be refused for two reasons; which is named first is not fixed.
        assert isinstance(lists, str)
        assert isinstance(frame, str)
        return
    assert frame == lists
    assert [type(name) for name in frame.labels] == [type(name) for name in lists.labels]


def test_whole_floats_are_integers_at_every_door() -> None:
    table = {"label": [1.0, 2.0, 2.0], "prediction": [1.0, 1.0, 2.0]}
    expected = dc.ConfusionMatrix.from_predictions([1, 2, 2], [1, 1, 2])
    assert not math.isnan(expected.total)
    assert dc.ConfusionMatrix.from_predictions(*table.values()) == expected
    for make in DOORS.values():
        assert dc.ConfusionMatrix.from_frame(make(table)) == expected
