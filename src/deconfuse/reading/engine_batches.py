"""Do what narwhals leaves to each engine: open Arrow data, collect results, read batches."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, Literal
from weakref import WeakKeyDictionary

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import NarwhalsError

from deconfuse.errors import InputError, MissingExtraError

__all__ = ["as_block", "as_frame", "batches", "can_stream", "collect"]

FloatArray = npt.NDArray[np.float64]

_BATCH_ROWS = 50_000
_BACKENDS: tuple[Literal["pyarrow", "polars", "pandas"], ...] = ("pyarrow", "polars", "pandas")


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


def batches(frame: nw.LazyFrame[Any]) -> Iterator[nw.DataFrame[Any]]:
    """Yield the rows of a frame in bounded batches, in any order."""
    native = frame.to_native()
    if frame.implementation.is_polars():
        for part in native.collect_batches(chunk_size=_BATCH_ROWS, maintain_order=False):
            yield nw.from_native(part, eager_only=True)
        return
    import pyarrow as pa

    # The method changed its name twice; the newest that is there does not warn.
    names = ("to_arrow_reader", "fetch_arrow_reader", "fetch_record_batch")
    read = next(filter(None, (getattr(native, name, None) for name in names)))
    for batch in read(_BATCH_ROWS):
        yield nw.from_native(pa.Table.from_batches([batch]), eager_only=True)


def as_block(batch: nw.DataFrame[Any]) -> FloatArray:
    """Return columns of floats as one array of shape (n_rows, n_columns), missing values as NaN."""
    # Columns become rows of one block, and the block is turned: no strided copying.
    return np.stack([column.to_numpy() for column in batch.iter_columns()], dtype=np.float64).T
