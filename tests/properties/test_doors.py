"""One table through every door: sequences, frames, files and metrics agree, or refuse alike."""

from __future__ import annotations

import datetime
import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deconfuse as dc
from deconfuse.cli import main
from tests.reading.files import FORMATS
from tests.support import require

pytestmark = pytest.mark.filterwarnings("ignore::deconfuse.errors.DeconfuseWarning")

KINDS: dict[str, st.SearchStrategy[Any]] = {
    # All of 64 bits, and both ends more often than chance would.
    "ints": st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 10**18, 2**63 - 1]),
    "few ints": st.integers(0, 5),
    "whole floats": st.integers(-5, 5).map(float),
    # Beyond 2**53 a float stands for several whole numbers; text has all digits.
    "large floats": st.sampled_from([2.0**53, 2.0**53 + 2]),
    "fractions": st.sampled_from([0.5, 1.0, 2.0]),
    "bools": st.booleans(),
    "dates": st.dates(datetime.date(2020, 1, 1), datetime.date(2020, 1, 9)),
    "strings": st.text(alphabet="abAB 1.é", min_size=1, max_size=3),
}


@st.composite
def tables(draw: st.DrawFn, kinds: Sequence[str] = tuple(sorted(KINDS))) -> dict[str, list[Any]]:
    """Labels and predictions, of one kind mostly, with a missing value now and then."""
    names = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=2))
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
        for reason in ("missing", "one type", "fraction", "floats such as", "64 bits"):
            if reason in error.message:
                return reason
        raise


DOORS: dict[str, Any] = {
    "pandas": pd.DataFrame,
    "polars": lambda table: pl.DataFrame(table, strict=False),
    "pyarrow": pa.table,
    "duckdb": lambda table: duckdb.from_arrow(pa.table(table)),
    "ibis": lambda table: ibis.memtable(pa.table(table)),
}
# What a format can hold as it is: JSON has no dates, and CSV has text alone.
HELD = {
    "jsonl": sorted(set(KINDS) - {"dates"}),
    "json": sorted(set(KINDS) - {"dates"}),
    "parquet": sorted(KINDS),
    "arrow": sorted(KINDS),
    "csv": ["few ints", "ints", "whole floats"],
}


@pytest.mark.parametrize("door", sorted(DOORS))
@given(tables())
def test_every_door_gives_one_answer(door: str, table: dict[str, list[Any]]) -> None:
    lists = counted(lambda: dc.ConfusionMatrix.from_predictions(*table.values()))
    frame = counted(lambda: dc.ConfusionMatrix.from_frame(DOORS[door](table)))
    agree(lists, frame)


@pytest.mark.parametrize("suffix", sorted(HELD))
@given(st.data())
@settings(max_examples=40)
def test_every_file_gives_the_answer_of_lists(suffix: str, data: st.DataObject) -> None:
    table = data.draw(tables(HELD[suffix]))
    lists = counted(lambda: dc.ConfusionMatrix.from_predictions(*table.values()))
    is_float = all(v is None or isinstance(v, float) for column in table.values() for v in column)
    if suffix.startswith("json") or (is_float and suffix != "csv"):
        # Writers say NaN where a frame had no value: Python's json, and pyarrow of arrays.
        gap = data.draw(st.sampled_from([None, math.nan]))
        table = {name: [gap if v is None else v for v in column] for name, column in table.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"x.{suffix}")
        path.write_bytes(FORMATS[suffix](table))
        agree(lists, counted(lambda: dc.ConfusionMatrix.from_file(path)))


@pytest.mark.parametrize("suffix", ["jsonl", "json", "parquet", "arrow"])
def test_nan_in_a_file_is_missing(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(FORMATS[suffix]({"label": [1.0, math.nan, 2.0], "prediction": [1.0, 1, 2]}))
    with pytest.raises(dc.InputError, match="missing"):
        dc.ConfusionMatrix.from_file(path)


def agree(lists: Any, found: Any) -> None:
    """Fail unless both are one matrix, or both a refusal."""
    if isinstance(lists, str) or isinstance(found, str):
        # A table may be refused for two reasons; which is named first is not fixed.
        assert isinstance(lists, str)
        assert isinstance(found, str)
        return
    assert found == lists
    assert [type(name) for name in found.labels] == [type(name) for name in lists.labels]


CLASSES, OUTCOMES = ["a", "b", "c"], ["refused", "background"]
# What is asked for at every door, and what it makes of each answer.
OPTIONS: dict[str, Any] = {
    "labels": CLASSES,
    "outcomes": OUTCOMES,
    "other": "invalid",
    "missing": "no answer",
}
# A field of CSV is missing where it is empty.
ANSWERS = [*CLASSES, *OUTCOMES, "I'd say a.", " A", "", None]


@st.composite
def answered(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Labels, some of which are background, and answers, some of which name no class."""
    label = st.sampled_from([*CLASSES, "background"])
    row = st.tuples(label, st.sampled_from(ANSWERS))
    rows = [*draw(st.lists(row, max_size=20)), ("a", "a"), ("b", "b"), ("c", "b")]
    return {name: [row[k] for row in rows] for k, name in enumerate(["label", "prediction"])}


def by_hand(table: dict[str, list[Any]], *, is_csv: bool = False) -> dc.ConfusionMatrix:
    """Count answers with a dictionary, as the options say."""
    names = [*CLASSES, *OUTCOMES, "invalid", "no answer"]
    counts = [[0] * len(names) for _ in names]
    for true, answer in zip(*table.values(), strict=True):
        is_missing = answer is None or (is_csv and answer == "")
        said = "no answer" if is_missing else answer if answer in names[:5] else "invalid"
        counts[names.index(true)][names.index(said)] += 1
    cm = dc.ConfusionMatrix.from_counts(counts, names)
    for name in names[3:]:
        cm = cm.treat_as_outcome(name)
    assert cm.n_samples == len(table["label"])
    return cm


@given(answered())
def test_sequences_and_frames_agree_on_outcomes(table: dict[str, list[Any]]) -> None:
    expected = by_hand(table)
    assert dc.ConfusionMatrix.from_predictions(*table.values(), **OPTIONS) == expected
    for make in DOORS.values():
        assert dc.ConfusionMatrix.from_frame(make(table), **OPTIONS) == expected


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "parquet", "arrow", "tsv.gz"])
@given(answered())
@settings(max_examples=10)
def test_files_agree_on_outcomes(suffix: str, table: dict[str, list[Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"x.{suffix}")
        path.write_bytes(FORMATS[suffix](table))
        found = dc.ConfusionMatrix.from_file(path, **OPTIONS)
    assert found == by_hand(table, is_csv=suffix.startswith(("csv", "tsv")))


@given(answered())
@settings(max_examples=10)
def test_metrics_agree_on_outcomes(table: dict[str, list[Any]]) -> None:
    require("torch", "torchmetrics")
    import torch

    from deconfuse.integrations.evaluate import Deconfuse
    from deconfuse.integrations.torch import NormalizedConfusionMatrix

    expected = by_hand(table)
    module = Deconfuse(**OPTIONS)
    for true, pred in zip(*table.values(), strict=True):
        module.add(prediction=pred, reference=true)
    result = module.compute()
    assert result["outcome_counts"] == expected.outcome_counts.tolist()
    assert result["background_counts"] == expected.background_counts.tolist()
    assert (result["counts"], result["n_samples"]) == (
        expected.counts.tolist(),
        len(table["label"]),
    )
    # Tensors hold numbers: of outcomes those behind the classes, of prose one beyond all names.
    metric = NormalizedConfusionMatrix(3, method=None, **OPTIONS)
    code = {name: place for place, name in enumerate([*CLASSES, *metric.outcomes])}
    code |= {None: code["no answer"]}
    true, pred = (torch.tensor([code.get(v, 99) for v in column]) for column in table.values())
    metric.update(pred, true)
    assert metric.to_confusion_matrix() == expected


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_the_command_line_agrees_on_outcomes(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(true, answer) for true in [*CLASSES, "background"] for answer in ANSWERS]
    table = {name: [row[k] for row in rows] for k, name in enumerate(["label", "prediction"])}
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(FORMATS[suffix](table))
    options = [
        part
        for name, value in OPTIONS.items()
        for part in (f"--{name}", value if isinstance(value, str) else ",".join(value))
    ]
    with pytest.raises(SystemExit) as ended:
        main(["diagnose", str(path), *options, "--json"])
    assert ended.value.code == 0
    found = json.loads(capsys.readouterr().out)
    expected = by_hand(table, is_csv=suffix == "csv")
    assert found["counts"] == expected.counts.tolist()
    assert found["outcomes"]["names"] == list(expected.outcomes)
    sides = {"answer": expected.outcome_counts, "background": expected.background_counts.T}
    rates = {(r["label"], r["outcome"], r["side"]): r["count"] for r in found["outcomes"]["rates"]}
    for side, counts in sides.items():
        for label, row in zip(CLASSES, counts.tolist(), strict=True):
            told = [rates.get((label, outcome, side), 0) for outcome in expected.outcomes]
            assert told == row
