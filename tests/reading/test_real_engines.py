"""What only real engines can show: other processes, and the files that clusters write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from deconfuse import ConfusionMatrix, MissingExtraError
from deconfuse.reading import engine_batches
from tests.engines import IGNORE_PANDAS_VERSION, duckdb_connection


@pytest.mark.dask
def test_dask_counts_in_its_worker_processes(dask_client: Any) -> None:
    import dask.dataframe as dd

    workers = set(dask_client.run(os.getpid).values())
    assert len(workers) == 2
    assert os.getpid() not in workers

    def add_process(part: pd.DataFrame) -> pd.DataFrame:
        return part.assign(prediction=os.getpid())

    plain = pd.DataFrame({"label": np.arange(4000)})
    frame = dd.from_pandas(plain, npartitions=8)
    meta = plain.assign(prediction=1).iloc[:0]
    frame = frame.map_partitions(add_process, meta=meta)
    frame = frame.assign(label=frame["prediction"])
    # The classes are the processes in which the rows were made and grouped.
    cm = ConfusionMatrix.from_frame(frame)
    assert set(cm.labels) <= workers
    assert cm.total == 4000


@pytest.mark.dask
def test_dask_reads_parquet_on_its_workers(dask_client: Any, tmp_path: Path) -> None:
    import dask.dataframe as dd

    rng = np.random.default_rng(7)
    true, pred = rng.integers(0, 12, (2, 6000))
    for shard in range(6):
        rows = slice(shard * 1000, (shard + 1) * 1000)
        table = pa.table({"label": true[rows], "prediction": pred[rows]})
        pyarrow.parquet.write_table(table, tmp_path / f"part-{shard}.parquet")
    cm = ConfusionMatrix.from_frame(dd.read_parquet(tmp_path))
    assert cm == ConfusionMatrix.from_predictions(true, pred)


@pytest.mark.spark
@pytest.mark.filterwarnings(IGNORE_PANDAS_VERSION)
def test_spark_frames_and_the_files_spark_writes_count_alike(spark: Any, tmp_path: Path) -> None:
    frame = spark.range(30_000).selectExpr(
        "concat('class ', id % 7) AS label",
        "concat('class ', id % 5) AS prediction",
        "id % 3 AS fold",
        "CAST((id % 4) / 4 AS DOUBLE) AS weight",
    )
    from_frame = ConfusionMatrix.from_frame(frame, weight="weight")
    assert from_frame.total == pytest.approx(30_000 * 0.375)
    for kind in ("parquet", "json", "csv"):
        folder = tmp_path / kind
        writer = frame.repartition(3).write
        if kind == "csv":
            writer = writer.option("header", True)
        if kind == "parquet":
            writer = writer.partitionBy("fold")
        getattr(writer, kind)(str(folder))
        assert (folder / "_SUCCESS").exists()
        assert ConfusionMatrix.from_file(folder, weight="weight") == from_frame


@pytest.mark.spark
@pytest.mark.filterwarnings(IGNORE_PANDAS_VERSION)
def test_spark_columns_of_one_name_are_refused(spark: Any) -> None:
    frame = spark.sql("SELECT 1 AS label, 2 AS label, 1 AS prediction")
    with pytest.raises(ValueError, match="`label` must be one column, and 2 are named 'label'"):
        ConfusionMatrix.from_frame(frame)


@pytest.mark.spark
@pytest.mark.filterwarnings(IGNORE_PANDAS_VERSION)
def test_spark_vectors_are_refused_with_a_way_out(spark: Any) -> None:
    from pyspark.ml.functions import array_to_vector

    frame = spark.sql("SELECT 1 AS label, array(0.1D, 0.9D) AS p")
    assert ConfusionMatrix.from_frame(frame, scores="p").total == 1
    with pytest.raises(ValueError, match="vector_to_array"):
        ConfusionMatrix.from_frame(frame.withColumn("p", array_to_vector("p")), scores="p")


def test_lazy_scans_of_files(tmp_path: Path) -> None:
    table = pa.table({"label": ["a", "b", "b"], "prediction": ["b", "b", "b"]})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    expected = ConfusionMatrix.from_file(tmp_path)
    assert ConfusionMatrix.from_frame(pl.scan_parquet(tmp_path / "*.parquet")) == expected
    relation = duckdb_connection().read_parquet(str(tmp_path / "x.parquet"))
    assert ConfusionMatrix.from_frame(relation) == expected


@pytest.mark.parametrize("present", ["pyarrow", "polars", "pandas", None])
def test_a_duckdb_relation_needs_one_library_for_its_result(
    monkeypatch: pytest.MonkeyPatch, present: str | None
) -> None:
    monkeypatch.setattr(engine_batches, "find_spec", lambda name: name == present or None)
    relation = duckdb_connection().sql("SELECT 'a' AS label, 'b' AS prediction")
    if present is None:
        with pytest.raises(MissingExtraError, match=r"needs pyarrow.*\n.*deconfuse\[arrow\]"):
            ConfusionMatrix.from_frame(relation)
    else:
        assert ConfusionMatrix.from_frame(relation).labels == ("a", "b")
