"""Shards whose columns differ in type are refused, never cast to the first."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

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
def test_whole_weights_before_fractions(tmp_path: Path, suffix: str) -> None:
    names = {"label": ["a", "b"], "prediction": ["a", "a"]}
    folder = shards(
        tmp_path, suffix, {**names, "w": pa.array([1, 2])}, {**names, "w": pa.array([0.4, 0.6])}
    )
    with pytest.raises(dc.InputError, match="'w' must have one type in all files"):
        dc.ConfusionMatrix.from_file(folder, weight="w")
    assert dc.ConfusionMatrix.from_file(folder).total == 4


def test_whole_scores_before_fractions(tmp_path: Path) -> None:
    first = {"label": ["a", "b"], "a": pa.array([1, 0]), "b": pa.array([0, 1])}
    later = {"label": ["a", "b"], "a": pa.array([0.3, 0.4]), "b": pa.array([0.7, 0.6])}
    folder = shards(tmp_path, "parquet", first, later)
    with pytest.raises(dc.InputError, match="must have one type in all files"):
        dc.ConfusionMatrix.from_file(folder, scores=["a", "b"])


def test_numbers_before_text(tmp_path: Path) -> None:
    folder = shards(
        tmp_path, "arrow",
        {"label": pa.array([1, 2]), "prediction": pa.array([1, 1])},
        {"label": pa.array(["1", "2"]), "prediction": pa.array(["1", "1"])},
    )  # fmt: skip
    with pytest.raises(dc.InputError, match="'label' must have one type in all files"):
        dc.ConfusionMatrix.from_file(folder)
