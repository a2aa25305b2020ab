"""Counting label pairs, from every kind of column that people have."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import confusion_matrix

from deconfuse import ConfusionMatrix, DeconfuseWarning, InputError
from deconfuse.reading.label_columns import CHUNK
from tests.support import require

TRUE = {
    "int": [3, 1, 2, 2, 7, 1],
    "str": ["cat", "dog", "emu", "emu", "fox 🦊", "dog"],
    "bool": [True, False, True, True, False, False],
    "date": [datetime.date(2024, 1, day) for day in (1, 5, 3, 3, 9, 5)],
}
PRED = {
    "int": [3, 2, 2, 1, 3, 1],
    "str": ["cat", "emu", "emu", "dog", "cat", "dog"],
    "bool": [True, True, False, True, False, True],
    "date": [datetime.date(2024, 1, day) for day in (1, 3, 3, 5, 1, 5)],
}


def pandas_categorical(values: list[Any]) -> Any:
    # The categories are given backwards: the order of classes must not follow them.
    return pd.Categorical(values, categories=sorted(set(values), reverse=True))


CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "numpy objects": lambda values: np.array(values, dtype=object),
    "list of numpy scalars": lambda values: list(np.array(values)),
    "pandas": pd.Series,
    "pandas objects": lambda values: pd.Series(values, dtype=object),
    "pandas with another index": lambda values: pd.Series(values, index=range(5, 11)),
    "pandas categorical": pandas_categorical,
    "pandas categorical series": lambda values: pd.Series(pandas_categorical(values)),
    "pandas index": pd.Index,
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow pieces": lambda values: pa.chunked_array([values[:2], values[2:]]),
}


def by_hand(kind: str) -> tuple[tuple[Any, ...], np.ndarray]:
    names = sorted({*TRUE[kind], *PRED[kind]})
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    for true, pred in zip(TRUE[kind], PRED[kind], strict=True):
        counts[names.index(true), names.index(pred)] += 1
    return tuple(names), counts


@pytest.mark.parametrize("kind", list(TRUE))
@pytest.mark.parametrize("container", list(CONTAINERS))
def test_every_container_of_every_kind_is_counted(container: str, kind: str) -> None:
    make = CONTAINERS[container]
    cm = ConfusionMatrix.from_predictions(make(TRUE[kind]), make(PRED[kind]))
    names, counts = by_hand(kind)
    assert cm.labels == names
    assert [type(name) for name in cm.labels] == [type(name) for name in names]
    assert cm.counts.dtype == np.int64
    np.testing.assert_array_equal(cm.counts, counts)


@pytest.mark.parametrize("container", [name for name in CONTAINERS if "categ" not in name])
def test_weights_come_from_every_container(container: str) -> None:
    weights = CONTAINERS[container]([0.5, 1.0, 2.0, 0.0, 0.25, 4.0])
    cm = ConfusionMatrix.from_predictions(TRUE["int"], PRED["int"], sample_weight=weights)
    expected = confusion_matrix(
        TRUE["int"], PRED["int"], sample_weight=[0.5, 1.0, 2.0, 0.0, 0.25, 4.0]
    )
    np.testing.assert_array_equal(cm.counts, expected)


@pytest.mark.parametrize(
    "dtype",
    ["int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", ">i4", ">i8", ">u8", ">f4"],
)
def test_integers_of_every_width_are_counted(dtype: str) -> None:
    true, pred = np.array([120, 3, 120], dtype=dtype), np.array([3, 3, 120], dtype=dtype)
    cm = ConfusionMatrix.from_predictions(true, pred)
    assert cm.labels == (3, 120)
    np.testing.assert_array_equal(cm.counts, [[1, 0], [1, 1]])


@pytest.mark.parametrize("values", [[-5, 2, 10**12], [-(2**63), 0, 2**63 - 1], [-3, -2, -1]])
def test_integers_may_be_anywhere_in_64_bits(values: list[int]) -> None:
    rng = np.random.default_rng(0)
    true, pred = rng.integers(0, 3, (2, 200))
    cm = ConfusionMatrix.from_predictions(np.array(values)[true], np.array(values)[pred])
    assert cm.labels == tuple(values)
    np.testing.assert_array_equal(cm.counts, confusion_matrix(true, pred))


def test_tensors_are_counted() -> None:
    require("torch")
    import torch

    true, pred = torch.tensor(TRUE["int"], dtype=torch.int16), torch.tensor(PRED["int"])
    cm = ConfusionMatrix.from_predictions(true, pred)
    assert cm == ConfusionMatrix.from_predictions(TRUE["int"], PRED["int"])
    flags = torch.tensor(TRUE["bool"])
    assert ConfusionMatrix.from_predictions(flags, PRED["bool"]).labels == (False, True)
    weights = torch.ones(6, dtype=torch.bfloat16, requires_grad=True)
    assert ConfusionMatrix.from_predictions(true, pred, sample_weight=weights) == cm


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="needs numpy 2")
def test_string_dtypes_are_counted() -> None:
    true, pred = np.array(TRUE["str"]), np.array(PRED["str"])
    expected = ConfusionMatrix.from_predictions(TRUE["str"], PRED["str"])
    if hasattr(np.dtypes, "StringDType"):  # since numpy 2
        string = np.dtypes.StringDType()
        one, other = true.astype(string), pred.astype(string)
        assert ConfusionMatrix.from_predictions(one, other) == expected
    # The two columns may be of different widths and byte orders.
    assert ConfusionMatrix.from_predictions(true.astype(">U30"), pred) == expected


@pytest.mark.parametrize(
    "dtype", ["Int64", "boolean", "string[pyarrow]", "string[python]", "int64[pyarrow]", "Float64"]
)
def test_nullable_pandas_dtypes_are_counted(dtype: str) -> None:
    kind = {"b": "bool", "s": "str"}.get(dtype[0], "int")
    true, pred = pd.Series(TRUE[kind], dtype=dtype), pd.Series(PRED[kind], dtype=dtype)
    expected = ConfusionMatrix.from_predictions(TRUE[kind], PRED[kind])
    assert ConfusionMatrix.from_predictions(true, pred) == expected


@pytest.mark.parametrize("kind", ["int", "str"])
def test_polars_and_arrow_categories_are_counted(kind: str) -> None:
    expected = ConfusionMatrix.from_predictions(TRUE[kind], PRED[kind])
    coded = pa.array(TRUE[kind]).dictionary_encode()
    assert ConfusionMatrix.from_predictions(coded, PRED[kind]) == expected
    if kind == "str":
        names = pl.Enum(sorted({*TRUE[kind], *PRED[kind]}, reverse=True))
        for dtype in (pl.Categorical, names):
            true, pred = (pl.Series(side, dtype=dtype) for side in (TRUE[kind], PRED[kind]))
            assert ConfusionMatrix.from_predictions(true, pred) == expected


def test_whole_floats_are_integers() -> None:
    cm = ConfusionMatrix.from_predictions([1.0, 2.0, 2.0], np.array([1, 2, 1]))
    assert cm.labels == (1, 2)
    assert all(type(name) is int for name in cm.labels)


def test_midnights_are_dates() -> None:
    days = np.array(["2024-05-01", "2024-05-02"], dtype="datetime64[ns]")
    cm = ConfusionMatrix.from_predictions(days, days.astype("datetime64[D]"))
    assert cm.labels == (datetime.date(2024, 5, 1), datetime.date(2024, 5, 2))


def in_tokyo(library: str, *times: datetime.datetime) -> Any:
    local = [time.replace(tzinfo=ZoneInfo("Asia/Tokyo")) for time in times]
    if library == "list":
        return local
    if library == "pandas":
        return pd.Series(list(times)).dt.tz_localize("Asia/Tokyo")
    if library == "polars":
        return pl.Series(list(times)).dt.replace_time_zone("Asia/Tokyo")

    return pa.array(local, pa.timestamp("us", "Asia/Tokyo"))


@pytest.mark.parametrize("library", ["list", "pandas", "polars", "pyarrow"])
def test_midnights_are_those_of_the_time_zone(library: str) -> None:
    days = in_tokyo(library, datetime.datetime(2020, 1, 2), datetime.datetime(2020, 7, 3))
    cm = ConfusionMatrix.from_predictions(days, days)
    assert cm.labels == (datetime.date(2020, 1, 2), datetime.date(2020, 7, 3))
    # In UTC this is midnight; on the column's own clock it is nine o'clock.
    times = in_tokyo(library, datetime.datetime(2020, 1, 2, 9))
    with pytest.raises(InputError, match=r"`y_true` must be int, str, bool or date, got .*9[:,]"):
        ConfusionMatrix.from_predictions(times, times)


def test_whole_numbers_of_128_bits_are_counted() -> None:
    known = [getattr(pl, name) for name in ("Int128", "UInt128") if hasattr(pl, name)]
    if not known:
        pytest.skip("needs a Polars with integers of 128 bits")
    for dtype in known:
        column = pl.Series([3, 1, 3], dtype=dtype)
        cm = ConfusionMatrix.from_predictions(column, [3, 3, 3], sample_weight=column)
        assert cm.labels == (1, 3)
        np.testing.assert_array_equal(cm.counts, [[0, 1], [0, 6]])


@pytest.mark.parametrize("unused", ["z", None])
def test_values_of_a_dictionary_that_are_not_in_use_do_not_count(unused: str | None) -> None:
    words = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2]), pa.array(["a", unused, "b"]))
    cm = ConfusionMatrix.from_predictions(words, words)
    assert cm == ConfusionMatrix.from_predictions(["b", "a", "b"], ["b", "a", "b"])
    np.testing.assert_array_equal(cm.index_of(words), [1, 0, 1])


def test_strided_and_read_only_arrays_are_counted_and_left_alone() -> None:
    table = np.array([TRUE["int"], PRED["int"]]).T
    table.flags.writeable = False
    before = table.copy()
    cm = ConfusionMatrix.from_predictions(table[:, 0], table[:, 1])
    assert cm == ConfusionMatrix.from_predictions(TRUE["int"], PRED["int"])
    np.testing.assert_array_equal(table, before)


def test_values_and_keys_of_a_dict_are_counted() -> None:
    by_id = {"a": "cat", "b": "dog"}
    cm = ConfusionMatrix.from_predictions(
        by_id.values(), dict.fromkeys(["cat", "dog"]).keys(), sample_weight={1: 2, 2: 3}.values()
    )
    assert cm == ConfusionMatrix.from_predictions(
        ["cat", "dog"], ["cat", "dog"], sample_weight=[2, 3]
    )
    with pytest.raises(InputError, match="must be one-dimensional, got"):
        ConfusionMatrix.from_predictions([list(pair) for pair in by_id.items()], ["cat", "dog"])


def test_masked_arrays_without_masked_values_are_counted() -> None:
    true = np.ma.masked_array([1, 2, 2], mask=[0, 0, 0])
    assert ConfusionMatrix.from_predictions(true, [1, 2, 1]).total == 3


@pytest.mark.parametrize("kind", list(TRUE))
def test_labels_fix_the_order_and_add_unseen_classes(kind: str) -> None:
    unseen = {"int": [99, -4], "str": ["zebra"], "bool": [], "date": [datetime.date(2000, 1, 1)]}
    names = [*unseen[kind], *sorted({*TRUE[kind], *PRED[kind]}, reverse=True)]
    cm = ConfusionMatrix.from_predictions(TRUE[kind], PRED[kind], labels=names)
    assert cm.labels == tuple(names)
    codes = {name: code for code, name in enumerate(names)}
    expected = confusion_matrix(
        [codes[name] for name in TRUE[kind]],
        [codes[name] for name in PRED[kind]],
        labels=range(len(names)),
    )
    np.testing.assert_array_equal(cm.counts, expected)


def test_labels_come_as_arrays_and_categories() -> None:
    names = np.array(["dog", "cat", "emu", "fox 🦊"])
    cm = ConfusionMatrix.from_predictions(TRUE["str"], PRED["str"], labels=names)
    assert cm.labels == ("dog", "cat", "emu", "fox 🦊")
    assert all(type(name) is str for name in cm.labels)


def test_integer_weights_stay_integers() -> None:
    cm = ConfusionMatrix.from_predictions([0, 0, 1], [0, 0, 0], sample_weight=[2, 3, 5])
    assert cm.counts.dtype == np.int64
    np.testing.assert_array_equal(cm.counts, [[5, 0], [5, 0]])
    np.testing.assert_array_equal(cm.variances, [[13, 0], [25, 0]])


def test_integer_weights_of_other_types_stay_integers() -> None:
    expected = ConfusionMatrix.from_predictions([0, 0, 1], [0, 0, 0], sample_weight=[2, 3, 2])
    for weights in (
        np.array([2, 3, 2], dtype=object),
        np.array([2, 3, 2], dtype=np.uint64),
        pd.Series([2, 3, 2], dtype="category"),
    ):
        cm = ConfusionMatrix.from_predictions([0, 0, 1], [0, 0, 0], sample_weight=weights)
        assert cm == expected
        assert cm.counts.dtype == np.int64


def test_variances_are_the_counts_without_weights() -> None:
    cm = ConfusionMatrix.from_predictions([0, 0, 1], [0, 0, 0])
    assert cm.variances is cm.counts
    same = ConfusionMatrix.from_predictions([0, 0, 1], [0, 0, 0], sample_weight=np.ones(3))
    assert not same.is_weighted
    assert same == cm


# Classes that come in order are counted where they are; others are moved.
@pytest.mark.parametrize("labels", [[0, 1, 2], ["a", "b", "c"], [0, 5, 1]])
@pytest.mark.parametrize("weights", [[1.0, 0.0, 2.0], [0.0, 1.0, 2.0], [1, 2, 0], [0, 0, 3]])
# With more samples than cells, zeros are looked for only if a class may have nothing else.
@pytest.mark.parametrize("times", [1, 100])
def test_classes_of_weight_zero_keep_their_place(
    labels: list[Any], weights: list[float], times: int
) -> None:
    column = labels * times
    cm = ConfusionMatrix.from_predictions(column, column, sample_weight=weights * times)
    assert cm.labels == tuple(sorted(labels))
    expected = np.diag([weights[labels.index(label)] for label in cm.labels])
    np.testing.assert_array_equal(cm.counts, expected * times)
    np.testing.assert_array_equal(cm.variances, expected**2 * times)


def test_pairs_of_weight_zero_among_many_change_nothing() -> None:
    true, pred = [0, 1, 2] * 100, [0, 1, 2] * 100
    cm = ConfusionMatrix.from_predictions(true, pred, sample_weight=[1.5] * 300)
    more = ConfusionMatrix.from_predictions(
        [*true, 0], [*pred, 2], sample_weight=[*[1.5] * 300, 0.0]
    )
    assert more == cm


def test_weights_may_turn_from_integers_to_floats() -> None:
    n_samples = CHUNK + 10
    weights: list[float] = [1] * CHUNK + [0.5] * 10
    ones = [1] * n_samples
    cm = ConfusionMatrix.from_predictions(ones, ones, sample_weight=weights)
    assert cm.total == CHUNK + 5


@pytest.mark.parametrize("is_weighted", [False, True])
def test_values_at_the_ends_of_64_bits_are_counted(is_weighted: bool) -> None:
    values = np.full(CHUNK + 5, -(2**63) + 10)
    values[:100] += np.arange(100)
    values[CHUNK:] = -(2**63)
    for column in (values, -1 - values):
        weights = np.full(len(column), 2) if is_weighted else None
        cm = ConfusionMatrix.from_predictions(column, column, sample_weight=weights)
        names, times = np.unique(column, return_counts=True)
        assert cm.labels == tuple(names.tolist())
        np.testing.assert_array_equal(cm.counts, np.diag(times * (1 + is_weighted)))


def test_index_of_finds_positions_of_every_kind() -> None:
    for values in TRUE.values():
        names = sorted(set(values), reverse=True)
        cm = ConfusionMatrix.from_counts(np.eye(len(names)), labels=names)
        expected = [names.index(value) for value in values]
        for make in CONTAINERS.values():
            np.testing.assert_array_equal(cm.index_of(make(values)), expected)


def test_index_of_works_over_many_pieces_and_wide_ranges() -> None:
    names = [5, -(10**15), 10**15, 0]
    cm = ConfusionMatrix.from_counts(np.eye(4), labels=names)
    codes = np.random.default_rng(2).integers(0, 4, 3 * CHUNK + 1)
    np.testing.assert_array_equal(cm.index_of(np.array(names)[codes]), codes)
    words = ConfusionMatrix.from_counts(np.eye(4), labels=["d", "c", "b", "a"])
    # New words turn up in later pieces.
    codes = np.sort(codes)
    np.testing.assert_array_equal(words.index_of(np.array(["d", "c", "b", "a"])[codes]), codes)


def test_half_precision_labels_are_counted() -> None:
    half = np.array([1, 2, 2048], dtype=np.float16)
    cm = ConfusionMatrix.from_predictions(half, half)
    assert cm.labels == (1, 2, 2048)


@pytest.mark.parametrize("answer", ["N/A", "n/a", "N/a", " n/A "])
def test_an_outcome_in_any_spelling_with_normalize_text(answer: str) -> None:
    cm = ConfusionMatrix.from_predictions(
        ["a", "b", "a"], ["a", "b", answer], outcomes=["N/A"], normalize_text=True
    )
    assert cm.outcomes == ("N/A",)
    assert cm.outcome_counts.tolist() == [[1], [0]]


def test_changed_spellings_are_counted_whatever_samples_weigh() -> None:
    with pytest.warns(DeconfuseWarning, match="changed 2 spellings, such as 'A ' to 'a'"):
        ConfusionMatrix.from_predictions(
            ["A ", "b", "A "], ["a", "B", "a"], labels=["a", "b"], sample_weight=[0.2, 0.3, 0.4],
            normalize_text=True,
        )  # fmt: skip
