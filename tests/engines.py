"""The engines that frames are tested on, each made from the same Arrow table."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.support import require

Constructor = Callable[..., Any]

IGNORE_PANDAS_VERSION = "ignore:PySpark does not yet fully support pandas:FutureWarning"

ENGINES = [
    "pandas",
    "pandas-arrow",
    "polars",
    "polars-lazy",
    "pyarrow",
    "duckdb",
    "ibis",
    pytest.param("dask", marks=pytest.mark.dask),
    pytest.param(
        "pyspark", marks=[pytest.mark.spark, pytest.mark.filterwarnings(IGNORE_PANDAS_VERSION)]
    ),
]


def as_table(columns: dict[str, Any]) -> pa.Table:
    """Return columns as an Arrow table; a column may bring its own Arrow type."""
    return pa.table(columns)


def make_constructor(engine: str, request: pytest.FixtureRequest) -> Constructor:
    """Return a function that makes a frame of this engine from columns."""
    if engine == "dask":
        # On threads of this process; tests that need worker processes take `dask_client`.
        require("dask")
        return _dask
    if engine == "pyspark":
        return _spark(request.getfixturevalue("spark"))
    if engine == "ibis":
        require("ibis")
    return _LOCAL[engine]


def _pandas(columns: dict[str, Any]) -> pd.DataFrame:
    frame = as_table(columns).to_pandas()
    # to_pandas turns integers with nulls into floats; people who keep them use Int64.
    for name, column in zip(frame.columns, as_table(columns).columns, strict=True):
        if pa.types.is_integer(column.type) and column.null_count:
            frame[name] = pd.array(column.to_pylist(), dtype="Int64")
    return frame


def _pandas_arrow(columns: dict[str, Any]) -> pd.DataFrame:
    return as_table(columns).to_pandas(types_mapper=pd.ArrowDtype)


def _polars(columns: dict[str, Any]) -> pl.DataFrame:
    return pl.from_arrow(as_table(columns))


def _polars_lazy(columns: dict[str, Any]) -> pl.LazyFrame:
    return _polars(columns).lazy()


# A relation of DuckDB before 2.0 does not keep its connection open.
_open: list[duckdb.DuckDBPyConnection] = []


def duckdb_connection() -> duckdb.DuckDBPyConnection:
    """Return a connection of its own that outlives the relations made with it."""
    _open.append(duckdb.connect())
    return _open[-1]


def _duckdb(columns: dict[str, Any]) -> duckdb.DuckDBPyRelation:
    return duckdb_connection().from_arrow(as_table(columns))


def _ibis(columns: dict[str, Any]) -> Any:
    import ibis

    return ibis.memtable(as_table(columns))


def _dask(columns: dict[str, Any]) -> Any:
    import dask.dataframe as dd

    # Dask reads plain object columns as text, so the types come from Arrow; its hashing of
    # categories knows those of pandas only.
    frame = _pandas_arrow(columns)
    for name, column in zip(frame.columns, as_table(columns).columns, strict=True):
        if pa.types.is_dictionary(column.type):
            frame[name] = pd.Categorical(column.to_pylist())
    return dd.from_pandas(frame, npartitions=2)


def _spark(session: Any) -> Constructor:
    def construct(columns: dict[str, Any]) -> Any:
        return session.createDataFrame(as_table(columns)).repartition(2)

    return construct


_LOCAL: dict[str, Constructor] = {
    "pandas": _pandas,
    "pandas-arrow": _pandas_arrow,
    "polars": _polars,
    "polars-lazy": _polars_lazy,
    "pyarrow": as_table,
    "duckdb": _duckdb,
    "ibis": _ibis,
}


@contextmanager
def dask_cluster() -> Iterator[Any]:
    """Start a real cluster: a scheduler and two worker processes."""
    require("dask", "distributed")
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def spark_session() -> Iterator[Any]:
    """Start a real local Spark with two executor threads."""
    require("pyspark", programs=("java",))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local[2]")
            .appName("deconfuse tests")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.memory", "1g")
            .config("spark.pyspark.python", sys.executable)
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()
