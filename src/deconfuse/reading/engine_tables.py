"""What narwhals leaves to each engine: small tables, kept results, batches and samples.

Everything here takes and returns narwhals frames. Class names travel as values (JSON text, rows,
Arrow), never as part of a query.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Literal
from weakref import WeakKeyDictionary

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import NarwhalsError

from deconfuse.errors import InputError, MissingExtraError

__all__ = ["as_frame", "batches", "can_stream", "collect", "kept", "sampled", "small_table"]

FloatArray = npt.NDArray[np.float64]

_BATCH_ROWS = 50_000
_BACKENDS: tuple[Literal["pyarrow", "polars", "pandas"], ...] = ("pyarrow", "polars", "pandas")


def small_table(like: nw.LazyFrame[Any], columns: Mapping[str, Sequence[Any]]) -> nw.LazyFrame[Any]:
    """Return a table of a few rows that lives where another frame lives.

    Values are str, int or float; other class names come as text and are cast by the caller.
    """
    native = like.to_native()
    engine = like.implementation
    if engine.is_duckdb():
        return nw.from_native(_duckdb_table(native, columns)).lazy()
    if engine.is_dask():
        import dask.dataframe as dd
        import pandas as pd

        rows = pd.DataFrame(dict(columns))
        return nw.from_native(dd.from_pandas(rows, npartitions=1)).lazy()  # type: ignore[no-untyped-call]
    if engine.is_pyspark():
        values = list(zip(*columns.values(), strict=True))
        return nw.from_native(native.sparkSession.createDataFrame(values, list(columns))).lazy()
    if engine.is_ibis():
        import ibis
        import pyarrow as pa

        return nw.from_native(ibis.memtable(pa.table(dict(columns)))).lazy()
    if engine.is_polars():
        return nw.from_dict(dict(columns), backend="polars").lazy()
    raise InputError(
        f"`frame` must be of pandas, Polars, PyArrow, DuckDB, Dask, PySpark or Ibis, got {engine}.",
        hint="write it to Parquet and open that with DuckDB.",
    )


def _duckdb_table(native: Any, columns: Mapping[str, Sequence[Any]]) -> Any:
    from duckdb import ConstantExpression, FunctionExpression

    # The caller's relation knows its connection and keeps it to itself: ask it for one row, and
    # unfold the values there. JSON is read in one go, where long constant lists take minutes.
    row = native.query("deconfuse_points", "SELECT 1 AS deconfuse_one")
    unfolded = []
    for name, values in columns.items():
        kind = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE"}[type(values[0])]
        text = ConstantExpression(json.dumps(list(values)))
        shape = ConstantExpression(json.dumps([kind]))
        items = FunctionExpression("from_json", text, shape)
        unfolded.append(FunctionExpression("unnest", items).alias(name))
    return row.select(*unfolded)


@contextmanager
def kept(frame: nw.LazyFrame[Any]) -> Iterator[nw.LazyFrame[Any]]:
    """Let the engine compute a frame once and keep it, under its own memory limits, for a while.

    Ibis computes it again each time: what lies behind it may allow reading only.
    """
    native = frame.to_native()
    engine = frame.implementation
    if engine.is_duckdb():
        name = f"deconfuse_{uuid.uuid4().hex}"
        native.query("deconfuse_points", f"CREATE TEMP TABLE {name} AS FROM deconfuse_points")
        try:
            yield nw.from_native(native.query("deconfuse_points", f"FROM {name}")).lazy()
        finally:
            native.query("deconfuse_points", f"DROP TABLE {name}")
            # DuckDB before 2.0 leaves the name of such a query behind as a view.
            native.query("deconfuse_points", "DROP VIEW IF EXISTS deconfuse_points")
    elif engine.is_pyspark():
        cached = native.persist()
        try:
            yield nw.from_native(cached).lazy()
        finally:
            cached.unpersist()
    elif engine.is_dask():
        yield nw.from_native(native.persist()).lazy()
    elif engine.is_polars():
        yield frame.collect(engine="streaming").lazy()
    else:
        yield frame


# A relation of DuckDB before 2.0 does not keep its connection open.
_CONNECTIONS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def as_frame(frame: Any) -> Any:
    """Return what PyArrow has besides tables in a form that can be grouped, without loading it."""
    if type(frame).__module__.partition(".")[0] != "pyarrow":
        return frame
    import pyarrow as pa

    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        # Chunks may have dictionaries of their own, as files that were read one by one.
        return frame.unify_dictionaries()
    if isinstance(frame, pa.RecordBatchReader) or hasattr(frame, "to_batches"):
        import duckdb

        connection = duckdb.connect()
        relation = connection.from_arrow(frame)
        _CONNECTIONS[relation] = connection
        return relation
    return frame


def collect(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Take a small result out of its engine."""
    engine = frame.implementation
    failures = _failures(frame)
    try:
        if engine.is_polars() and _polars_can_stream():
            return frame.collect(engine="streaming")
        if engine.is_duckdb():
            for package in _BACKENDS:
                if find_spec(package) is not None:
                    return frame.collect(backend=package)
            raise MissingExtraError.of("pyarrow", extra="arrow", feature="Reading from DuckDB")
        return frame.collect()
    except failures as error:
        raise InputError(f"The frame could not be read: {error}") from error


def _failures(frame: nw.LazyFrame[Any]) -> tuple[type[Exception], ...]:
    """Return what an engine of this process raises on data that it cannot read."""
    if frame.implementation.is_duckdb():
        import duckdb

        return NarwhalsError, duckdb.Error
    if frame.implementation.is_pyarrow():
        import pyarrow as pa

        return NarwhalsError, pa.ArrowException
    return (NarwhalsError,)


def _polars_can_stream() -> bool:
    import polars

    major, minor = polars.__version__.split(".")[:2]
    return (int(major), int(minor)) >= (1, 23)


def can_stream(frame: nw.LazyFrame[Any]) -> bool:
    """Return whether the engine runs in this process and can hand over batches as they come."""
    engine = frame.implementation
    if engine.is_polars():
        return hasattr(frame.to_native(), "collect_batches")
    return engine.is_duckdb() and find_spec("pyarrow") is not None


def batches(frame: nw.LazyFrame[Any]) -> Iterator[FloatArray]:
    """Yield the rows of a frame of float columns in bounded batches, missing values as NaN."""
    native = frame.to_native()
    if frame.implementation.is_polars():
        for part in native.collect_batches(chunk_size=_BATCH_ROWS, maintain_order=False):
            yield np.asarray(part.to_numpy(), dtype=np.float64)
        return
    # The method changed its name twice; the newest that is there does not warn.
    names = ("to_arrow_reader", "fetch_arrow_reader", "fetch_record_batch")
    read = next(filter(None, (getattr(native, name, None) for name in names)))
    for batch in read(_BATCH_ROWS):
        # Columns become rows of one block, and the block is turned: no strided copying.
        columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        yield np.stack(columns).astype(np.float64, copy=False).T


def sampled(
    frame: nw.LazyFrame[Any], n_rows: int, total: int, rng: np.random.Generator
) -> nw.LazyFrame[Any]:
    """Return about ``n_rows`` of ``total`` rows, drawn at random by the engine."""
    if n_rows >= total:
        return frame
    native = frame.to_native()
    engine = frame.implementation
    seed = int(rng.integers(2**31))
    if engine.is_duckdb():
        query = (
            f"FROM deconfuse_points USING SAMPLE reservoir({n_rows:d} ROWS) REPEATABLE ({seed:d})"
        )
        return nw.from_native(native.query("deconfuse_points", query)).lazy()
    share = n_rows / total
    if engine.is_pyspark():
        return nw.from_native(native.sample(fraction=share, seed=seed)).lazy()
    if engine.is_dask():
        return nw.from_native(native.sample(frac=share, random_state=seed)).lazy()
    if engine.is_ibis():
        return nw.from_native(native.sample(share, seed=seed)).lazy()
    import polars as pl

    # Polars has no lazy sample: a hash of the row's number is as good as chance.
    chance = pl.int_range(pl.len()).hash(seed=seed) / 2.0**64
    return nw.from_native(native.filter(chance < share)).lazy()
