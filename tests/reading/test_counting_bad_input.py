"""What counting refuses, each case with its own message."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deconfuse import ConfusionMatrix, InputError
from deconfuse.reading.label_columns import CHUNK
from tests.support import refused, require

count = ConfusionMatrix.from_predictions


def test_lengths_that_differ() -> None:
    refused(
        r"`y_true` and `y_pred` must describe the same samples, got 1,000 and 998 values",
        "filter applied to only one",
        lambda: count([1] * 1000, [1] * 998),
    )


def test_nothing_to_count() -> None:
    for empty in ([], np.array([], dtype=int), ()):
        refused(
            "at least one sample, got none", "empty shard", lambda empty=empty: count(empty, [])
        )


@pytest.mark.parametrize(
    "values", [[1, None, 3, None], ["a", None, "b", float("nan")], [1.0, np.nan, 2.0, np.nan]]
)
@pytest.mark.parametrize("as_objects", [False, True])
def test_missing_labels_are_counted_over_the_whole_column(values: Any, as_objects: bool) -> None:
    column = values * CHUNK
    if as_objects:
        column = np.array(column, dtype=object)
    refused(
        rf"`y_true` must have no missing values, got {2 * CHUNK:,} among"
        rf" {4 * CHUNK:,} \(first at position 1\)",
        "drop these samples",
        lambda: count(column, [1] * (4 * CHUNK)),
    )


def test_missing_predictions_in_a_late_piece() -> None:
    column = [1] * CHUNK + [None]
    refused(
        rf"`y_pred` must have no missing values, got 1 among .*position {CHUNK:,}",
        "as an outcome: missing=",
        lambda: count([1] * (CHUNK + 1), column),
    )


def missing_in_libraries() -> dict[str, Any]:
    return {
        "pandas float": pd.Series([1, None]),
        "pandas Int64": pd.Series([1, None], dtype="Int64"),
        "pandas str": pd.Series(["a", None]),
        "pandas objects": pd.Series(["a", pd.NA], dtype=object),
        "pandas category": pd.Series(["a", None], dtype="category"),
        "pandas dates": pd.Series([pd.Timestamp("2024-01-01"), pd.NaT]),
        "polars int": pl.Series([1, None]),
        "polars str": pl.Series(["a", None]),
        "polars category": pl.Series(["a", None], dtype=pl.Categorical),
        "polars dates": pl.Series([datetime.date(2024, 1, 1), None]),
        "polars NaN": pl.Series([1.0, float("nan")]),
        "pyarrow int": pa.array([1, None]),
        "pyarrow str": pa.array(["a", None]),
        "pyarrow dictionary": pa.array(["a", None]).dictionary_encode(),
        "pyarrow dictionary with a null": pa.DictionaryArray.from_arrays(
            pa.array([0, 1]), pa.array(["a", None])
        ),
        "numpy dates": np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"),
        "masked": np.ma.masked_array([1, 2], mask=[False, True]),
    }


def test_missing_labels_of_every_library() -> None:
    for name, values in missing_in_libraries().items():
        with pytest.raises(InputError, match="missing values, got 1 among 2") as caught:
            count(values, values)
        assert "position 1" in str(caught.value), name


FINE_TIMES = np.array(["2020-01-01T00:00:00.000000001", "2020-01-01"], "M8[ns]")
# Beyond the years of Python's dates.
FAR_TIMES = np.array(["20000-01-01"], "M8[s]")
NO_CLASS = "must be int, str, bool or date, got "
NO_COLUMN = "`y_true` must be a one-dimensional sequence, got"
SEVERAL = "`y_true` must be one-dimensional, got several values for each sample"
A_DICTIONARY = "`y_true` must be one-dimensional, got a dictionary for each sample"


@pytest.mark.parametrize(
    ("values", "message", "hint"),
    [
        ([np.inf], "`y_true` must be finite, got inf", "integers"),
        ([0.2, 0.9], r"must be class labels, got the fraction 0\.2", r"argmax.*`scores > 0\.5`"),
        (np.array([0.2, 0.9], np.float32), r"got the fraction 0\.2", r"argmax.*`scores > 0\.5`"),
        ([1e20], r"must fit in 64 bits with a sign \(53 as floats\), got 1e\+20", "strings"),
        ([2**64], "`y_true` must fit in 64 bits .*got 18446744073", "identifiers"),
        (np.array([2**64 - 1], np.uint64), "`y_true` must fit in 64 bits", "identifiers"),
        (FINE_TIMES, f"{NO_CLASS}.*000000001", "integers"),
        ([pd.Timestamp(FINE_TIMES[0])], f"{NO_CLASS}.*000000001", "integers"),
        (FAR_TIMES, f"{NO_CLASS}.*20000-01-01", "integers"),
        (np.array([b"a"]), f"{NO_CLASS}.S1", "decode"),
        (np.zeros(2, "complex128"), NO_CLASS, "name classes by"),
        (np.zeros(2, "timedelta64[s]"), NO_CLASS, "name classes by"),
        (np.zeros(2, "V4"), NO_CLASS, "name classes by"),
        ([Decimal("1.5")], NO_CLASS, "name classes by"),
        ([b"bytes"], NO_CLASS, "name classes by"),
        ([datetime.datetime(2024, 1, 1, 12)], NO_CLASS, "name classes by"),
        ([object()], NO_CLASS, "name classes by"),
        ([(1, 2)], SEVERAL, r"the first, `\[guesses\[0\] for guesses in output\]`;"),
        ([{"a"}, {"a", "b"}], SEVERAL, "count one matrix per label"),
        ([{"label": "a"}], A_DICTIONARY, r"`\[guess\['label'\] for guess in output\]`"),
        ([{"labels": ["a", "b"]}], A_DICTIONARY, r"`\[guess\['labels'\]\[0\] for"),
        ([[{"label": "a", "score": 1}]], "got a list of dict", r"\['score'\]\)\['label'\] for"),
        ([[0.1, 0.9], [0.8, 0.2]], SEVERAL, "argmax"),
        (pl.Series([{"a": 1}, {"a": 2}]), SEVERAL, "argmax"),
        (pl.Series([[1], [2]]), SEVERAL, "argmax"),
        (np.eye(3), r"one-dimensional, got shape \(3, 3\)", r"argmax.*first, `guesses\[:, 0\]`;"),
        (pd.DataFrame({"y": [1], "z": [1]}), r"one-dimensional, got shape \(1, 2\)", "argmax"),
        (np.ones((3, 1), int), r"one-dimensional, got shape \(3, 1\)", r"\.ravel\(\)"),
        (np.array(3), r"one-dimensional, got shape \(\)", "argmax"),
        ("abc", NO_COLUMN, "from_frame"),
        ({1: 2}, NO_COLUMN, "from_frame"),
        (iter([1, 2]), NO_COLUMN, "from_frame"),
        (None, NO_COLUMN, "from_frame"),
    ],
)
def test_what_is_no_column_of_classes(values: Any, message: str, hint: str) -> None:
    refused(message, hint, lambda: count(values, values))


def test_integers_of_128_bits_too_large() -> None:
    if not hasattr(pl, "Int128"):
        pytest.skip("needs a Polars with integers of 128 bits")
    huge = pl.Series([2**100, 1], dtype=pl.Int128)
    refused("`y_true` must fit in 64 bits .*got 12676506", "strings", lambda: count(huge, huge))


def test_a_mapping_is_no_list_of_classes() -> None:
    refused(
        "`labels` must be a sequence of class names, got a dict",
        "cm.rename",
        lambda: ConfusionMatrix.from_predictions([0, 1], [0, 1], labels={0: "cat", 1: "dog"}),
    )


def test_tensors_of_scores() -> None:
    require("torch")
    import torch

    refused(r"got shape \(2, 3\)", "argmax", lambda: count([0, 1], torch.ones(2, 3)))


@pytest.mark.parametrize(
    ("true", "pred", "kinds", "hint"),
    [
        ([0, 1], ["cat", "dog"], r"int \(as 0\) and str", "map the numbers to names"),
        (["0", "1"], [0, 1], r"str \(as '0'\) and int", "map the numbers to names"),
        ([True, False], [1, 0], r"bool \(as .*\) and int", "convert both to bool"),
        (np.array([1.0, 0.0]), [True, False], r"int \(as .*\) and bool", "both to int"),
        (
            [datetime.date(2024, 1, 1)],
            ["2024-01-01"],
            r"date \(as .*\) and str",
            "the type of the other",
        ),
    ],
)
def test_labels_and_predictions_of_two_types(true: Any, pred: Any, kinds: str, hint: str) -> None:
    refused(
        f"`y_true` and `y_pred` must be of one type, got {kinds}", hint, lambda: count(true, pred)
    )


@pytest.mark.parametrize("values", [[1, "a"], [True, 2], ["a", datetime.date(2024, 1, 1)]])
def test_one_column_of_two_types(values: Any) -> None:
    refused(
        "`y_true` must be of one type, got ",
        "all values to strings",
        lambda: count(values, values),
    )
    late = [values[0]] * CHUNK + [values[1]]
    refused(
        "`y_true` must be of one type, got ", "all values to strings", lambda: count(late, late)
    )


def test_a_value_outside_of_labels_is_named() -> None:
    refused(
        "Every value of `y_true` must be one of `labels`, got 'emu'",
        "add the class to `labels`",
        lambda: count(["cat", "emu"], ["cow", "cat"], labels=["cat", "dog"]),
    )
    refused("got 3", "add the class", lambda: count([1, 3], [1, 1], labels=[1, 2]))


@pytest.mark.parametrize("kind", [set, frozenset])
def test_labels_without_an_order(kind: Any) -> None:
    refused(
        f"`labels` must have an order, got a {kind.__name__}, which has none",
        r"sorted\(labels\)",
        lambda: count(["a"], ["a"], labels=kind(["a", "b"])),
    )
    # A dict has an order: that of its making.
    assert count(["a"], ["a"], labels={"b": 1, "a": 2}.keys()).labels == ("b", "a")


def test_labels_of_another_type() -> None:
    refused(
        r"`labels` must be of the type of the values, got str \('0', '1'\) for int \(0, 1\)",
        r"as they are in the data; `rename`",
        lambda: count([0, 1], [1, 1], labels=["0", "1"]),
    )
    refused(
        "got bool .* for int",
        r"as they are in the data; `rename`",
        lambda: count([0, 1], [1, 1], labels=[False, True]),
    )


def test_duplicate_labels() -> None:
    refused(
        "`labels` must be distinct, got 'a' more than once",
        "merge_classes",
        lambda: count(["a"], ["a"], labels=["a", "b", "a"]),
    )


def test_labels_that_are_no_list_of_names() -> None:
    refused(
        "`labels` must be a sequence of class names, got 'ab'",
        "in a list",
        lambda: count(["a"], ["b"], labels="ab"),
    )
    refused(
        "`labels` must be a sequence of class names, got 3",
        "in a list",
        lambda: count([1], [1], labels=3),
    )
    refused("`labels` must name at least one class", None, lambda: count([1], [1], labels=[]))
    refused(
        "`labels` must be of one type, got int and str: 1, 'a'",
        "all names to strings",
        lambda: count([1], [1], labels=[1, "a"]),
    )
    refused(
        "`labels` must have no missing values, got None",
        "drop",
        lambda: count([1], [1], labels=[1, None]),
    )

    refused(
        "`labels` must have no missing values, got <NA>",
        "drop",
        lambda: count(["a"], ["a"], labels=["a", pd.NA]),
    )
    refused(
        "Values of `labels` must be int, str, bool or date, got 0.5",
        "integers",
        lambda: count([1], [1], labels=[0.5]),
    )


@pytest.mark.parametrize(
    ("weights", "message", "hint"),
    [
        (
            [1.0, -2.0, 1.0],
            r"non-negative and below 2\*\*63, got -2.0 at position 1",
            "weight 0",
        ),
        ([1, 1, -3], r"non-negative and below 2\*\*63, got -3 at position 2", "weight 0"),
        (
            [1.0, np.nan, 1.0],
            "numbers without missing values, got",
            "give them weight 0",
        ),
        ([1.0, None, 1.0], "numbers without missing values, got", "give them weight 0"),
        (
            [1.0, 1.0, np.inf],
            "`sample_weight` must be finite, .* got inf at position 2",
            "weight 0",
        ),
        (["a", "b", "c"], "`sample_weight` must be numbers .*, got 'a' at position 0", "drop"),
        ([1.0, object(), 1.0], "`sample_weight` must be numbers", "drop"),
        ([1.0, 2.0], "must have one weight per sample, got 2 weights for 3 samples", "filter"),
        (np.ones((3, 2)), r"`sample_weight` must be one-dimensional, got shape \(3, 2\)", "argmax"),
        ([2**62, 2**62, 2**62], r"`sample_weight` must add up to less than 2\*\*63", "floats"),
        (
            np.array([1, 2**63, 1], dtype=np.uint64),
            r"below 2\*\*63, got 9223372036854775808 at position 1",
            "weight 0",
        ),
        ([[1], [2], [1, 1]], r"must be numbers .*, got \[1\] at position 0", "drop"),
        ([1, 10**400, 1], "`sample_weight` must be finite, got a number beyond all floats", None),
        ([1e308, 1e308, 1e308], "must have squares with a finite sum", "divide all"),
    ],
)
def test_weights(weights: Any, message: str, hint: str | None) -> None:
    refused(message, hint, lambda: count([0, 1, 1], [0, 1, 0], sample_weight=weights))


def test_index_of_names_what_it_does_not_know() -> None:
    cm = ConfusionMatrix.from_counts(np.eye(2), labels=["cat", "dog"])
    refused(
        "must be classes of the matrix, got 'emu'",
        "the classes are 'cat', 'dog'",
        lambda: cm.index_of(["cat", "emu"]),
    )
    refused(r"must be classes of the matrix, got 0, 1", r"\(str\)", lambda: cm.index_of([0, 1]))
    flags = ConfusionMatrix.from_counts(np.eye(2), labels=[False, True])
    refused(r"got 0, 1", r"\(bool\)", lambda: flags.index_of([0, 1]))
    numbers = ConfusionMatrix.from_counts(np.eye(2))
    refused(r"got True, False", r"\(int\)", lambda: numbers.index_of([True, False]))
