"""Shards whose columns differ in type: widened where nothing is lost, refused where not."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deconfuse as dc


def shards(folder: Path, suffix: str, *tables: dict[str, pa.Array]) -> Path:
    for number, columns in enumerate(tables):
        path = folder / f"part-{number}.{suffix}"
        if suffix == "parquet":
            pa.parquet.write_table(pa.table(columns), path)
        else:
            pa.feather.write_feather(pa.table(columns), path, compression="uncompressed")
    return folder


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("narrow", "wide"),
    [("int32", "int64"), ("int64", "int8"), ("uint8", "int8"), ("int64", "uint64")],
)
def test_whole_numbers_of_several_widths_are_one_kind(
    tmp_path: Path, suffix: str, narrow: str, wide: str
) -> None:
    lowest = -5 if not wide.startswith("u") and not narrow.startswith("u") else 0
    folder = shards(
        tmp_path, suffix,
        {"label": pa.array([lowest, 100], narrow), "prediction": pa.array([100, 100], narrow)},
        {"label": pa.array([lowest, 127], wide), "prediction": pa.array([127, 127], wide)},
    )  # fmt: skip
    cm = dc.ConfusionMatrix.from_file(folder)
    assert cm.labels == (lowest, 100, 127)
    assert cm.counts.tolist() == [[0, 1, 1], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_values_that_only_the_wider_type_holds(tmp_path: Path, suffix: str) -> None:
    large = [2**53 + 1, -(2**63)]
    folder = shards(
        tmp_path, suffix,
        {"label": pa.array([1, 2], "int8"), "prediction": pa.array([1, 2], "uint64")},
        {"label": pa.array(large, "int64"), "prediction": pa.array(large, "int64")},
    )  # fmt: skip
    assert dc.ConfusionMatrix.from_file(folder).labels == (-(2**63), 1, 2, 2**53 + 1)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_numbers_beyond_64_bits_are_refused(tmp_path: Path, suffix: str) -> None:
    folder = shards(
        tmp_path, suffix,
        {"label": pa.array([1], "int64"), "prediction": pa.array([1], "int64")},
        {"label": pa.array([2**63 + 5], "uint64"), "prediction": pa.array([1], "uint64")},
    )  # fmt: skip
    with pytest.raises(dc.InputError, match=r"64 bits with a sign, got 9223372036854775813"):
        dc.ConfusionMatrix.from_file(folder)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_the_file_with_floats_is_named(tmp_path: Path, suffix: str) -> None:
    folder = shards(
        tmp_path, suffix,
        {"label": pa.array([1]), "prediction": pa.array([1])},
        {"label": pa.array([1.5]), "prediction": pa.array([1])},
    )  # fmt: skip
    with pytest.raises(dc.InputError, match=r"'label' must hold class names.*part-1\."):
        dc.ConfusionMatrix.from_file(folder)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_shards_without_rows_have_any_type(tmp_path: Path, suffix: str) -> None:
    # So pandas writes what a filter left of a table of strings: columns of no type.
    nothing = {"label": pa.array([], pa.null()), "prediction": pa.array([], pa.null())}
    some = {"label": pa.array(["a", "b"]), "prediction": pa.array(["b", "b"])}
    folder = shards(tmp_path, suffix, nothing, some, nothing)
    assert dc.ConfusionMatrix.from_file(folder).counts.tolist() == [[0, 1], [0, 1]]
    unknown = {"label": pa.array([None], pa.null()), "prediction": pa.array(["a"])}
    shards(tmp_path, suffix, unknown, some)
    with pytest.raises(dc.InputError, match=r"'label' must have no missing values, got 1 among 3"):
        dc.ConfusionMatrix.from_file(folder)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_fractions_after_whole_weights_are_not_cut(tmp_path: Path, suffix: str) -> None:
    names = {"label": ["a", "b"], "prediction": ["a", "a"]}
    folder = shards(
        tmp_path, suffix, {**names, "w": pa.array([1, 2])}, {**names, "w": pa.array([0.5, 0.25])}
    )
    cm = dc.ConfusionMatrix.from_file(folder, weight="w")
    assert cm.counts.tolist() == [[1.5, 0], [2.25, 0]]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_fractions_after_whole_scores_are_not_cut(tmp_path: Path, suffix: str) -> None:
    first = {"label": ["a", "b"], "a": pa.array([1, 0]), "b": pa.array([0, 1])}
    later = {"label": ["a", "b"], "a": pa.array([0.3, 0.6]), "b": pa.array([0.7, 0.4])}
    folder = shards(tmp_path, suffix, first, later)
    cm = dc.ConfusionMatrix.from_file(folder, scores=["a", "b"])
    assert cm.counts.tolist() == [[1, 1], [1, 1]]


def test_numbers_before_text(tmp_path: Path) -> None:
    folder = shards(
        tmp_path, "arrow",
        {"label": pa.array([1, 2]), "prediction": pa.array([1, 1])},
        {"label": pa.array(["1", "2"]), "prediction": pa.array(["1", "1"])},
    )  # fmt: skip
    with pytest.raises(dc.InputError, match="'label' must have one type in all files"):
        dc.ConfusionMatrix.from_file(folder)


WIDTHS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
COLUMN = st.tuples(st.sampled_from(WIDTHS), st.lists(st.integers(0, 9), min_size=4, max_size=4))


@settings(max_examples=25, deadline=None)
@given(
    suffix=st.sampled_from(["parquet", "arrow"]),
    parts=st.lists(st.tuples(COLUMN, COLUMN, st.booleans()), min_size=1, max_size=4),
)
def test_shards_of_any_widths_and_orders_count_as_their_union(
    suffix: str, parts: list[Any]
) -> None:
    tables = []
    for (true_type, true), (pred_type, pred), is_turned in parts:
        columns = {"label": pa.array(true, true_type), "prediction": pa.array(pred, pred_type)}
        tables.append(dict(reversed(columns.items())) if is_turned else columns)
    with tempfile.TemporaryDirectory() as folder:
        cm = dc.ConfusionMatrix.from_file(shards(Path(folder), suffix, *tables))
    true, pred = ([value for part in parts for value in part[side][1]] for side in (0, 1))
    assert cm == dc.ConfusionMatrix.from_predictions(true, pred)


def test_text_that_writes_a_number_in_two_ways_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("label,prediction\n1,1.0\n2,2.0\nx,x\n")
    with pytest.warns(dc.DeconfuseWarning, match="how a number is written: '1' and '1.0'; '2'"):
        assert dc.ConfusionMatrix.from_file(path).n_classes == 5


@pytest.mark.parametrize("options", [{"transpose": True}, {"drop": ["a"]}])
def test_predictions_take_no_options_of_a_matrix(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "x.csv"
    path.write_text("label,prediction\na,a\nb,a\n")
    with pytest.raises(dc.InputError, match="must be of a matrix of counts, got predictions"):
        dc.ConfusionMatrix.from_file(path, **options)


def test_a_matrix_takes_no_threshold(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(",a,b\na,5,1\nb,2,7\n")
    with pytest.raises(dc.InputError, match="`threshold` must be of a table of predictions"):
        dc.ConfusionMatrix.from_file(path, threshold=0.5)
