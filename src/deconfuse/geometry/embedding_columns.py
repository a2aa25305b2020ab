"""Read an embedding from a frame: many columns of numbers, or one column of lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from deconfuse._checks import show
from deconfuse.errors import InputError
from deconfuse.reading.column_names import ColumnChoice, find_column
from deconfuse.reading.engine_tables import collect

__all__ = ["Embedding", "EmbeddingColumns", "choose_embedding", "read_columns", "spread_columns"]

Embedding: TypeAlias = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class EmbeddingColumns:
    """Where the embedding is: ``columns`` as the frame spells them, one if it holds lists."""

    columns: tuple[str, ...]
    is_list: bool


def choose_embedding(
    schema: nw.Schema, embedding: Embedding, roles: ColumnChoice
) -> EmbeddingColumns:
    """Return the columns of the embedding, all there, all numbers, none with another part to play.

    Raises
    ------
    InputError
        If a column is missing, named twice, used as label or prediction, or does not hold numbers.
    """
    names = [embedding] if isinstance(embedding, str) else list(embedding)
    if not names:
        raise InputError(
            "`embedding` must name at least one column, got none.",
            hint="name the column of lists, or the columns of numbers.",
        )
    columns = tuple(find_column(list(schema), name, role="embedding") for name in names)
    if len(set(columns)) < len(columns):
        repeated = sorted({name for name in columns if columns.count(name) > 1})
        raise InputError(f"`embedding` must name each column once, got {show(repeated)} again.")
    for role in (roles.label, roles.prediction):
        if role in columns:
            raise InputError(
                f"`embedding` must not use the columns of classes, got {role!r}.",
                hint="a label among the features would separate the classes by itself.",
            )
    is_list = len(columns) == 1 and not schema[columns[0]].is_numeric()
    if not is_list:
        strange = [name for name in columns if not schema[name].is_numeric()]
        if strange:
            raise InputError(
                f"Columns of the embedding must hold numbers, got {schema[strange[0]]} in"
                f" {strange[0]!r}.",
                hint="give one column of lists, or only columns of numbers.",
            )
    return EmbeddingColumns(columns, is_list)


def read_columns(table: nw.DataFrame[Any], chosen: EmbeddingColumns) -> npt.NDArray[np.generic]:
    """Return the embedding of a frame in memory as an array, missing values as NaN."""
    if chosen.is_list:
        return _stack_lists(table[chosen.columns[0]])
    columns = []
    for name in chosen.columns:
        values = table[name].to_numpy()
        # Types with missing values become objects; as floats they have NaN instead.
        columns.append(values if values.dtype != object else _as_floats(table[name]))
    return np.stack(columns, axis=1)


def _as_floats(series: nw.Series[Any]) -> npt.NDArray[np.generic]:
    values = [np.nan if value is None else value for value in series.to_list()]
    return np.array(values, dtype=np.float64)


def _stack_lists(series: nw.Series[Any]) -> npt.NDArray[np.generic]:
    missing = int(series.is_null().sum())
    if missing:
        raise _missing_lists(series.name, missing)
    rows = series.to_list()
    if isinstance(rows[0], str) or not hasattr(rows[0], "__len__"):
        raise _not_lists(series.name, series.dtype)
    lengths = [len(row) for row in rows]
    if min(lengths) != max(lengths):
        raise _ragged_lists(series.name, min(lengths), max(lengths))
    return np.array([np.asarray(row) for row in rows])


def spread_columns(
    frame: nw.LazyFrame[Any], chosen: EmbeddingColumns, keep: Sequence[nw.Expr]
) -> tuple[nw.LazyFrame[Any], list[str]]:
    """Return the columns ``keep`` and the embedding as columns of floats, with their new names."""
    if not chosen.is_list:
        items = [nw.col(column).cast(nw.Float64()) for column in chosen.columns]
        return _named(frame, items, keep)
    column = chosen.columns[0]
    frame = _readable_lists(frame, column)
    width = _common_length(frame, column)
    items = [nw.col(column).list.get(item).cast(nw.Float64()) for item in range(width)]
    return _named(frame, items, keep)


def _named(
    frame: nw.LazyFrame[Any], items: Sequence[nw.Expr], keep: Sequence[nw.Expr]
) -> tuple[nw.LazyFrame[Any], list[str]]:
    # Names of ours from here on, so that no name of the caller's can clash.
    names = [f"x{index}" for index in range(len(items))]
    renamed = [item.alias(name) for item, name in zip(items, names, strict=True)]
    return frame.select(*keep, *renamed), names


def _common_length(frame: nw.LazyFrame[Any], column: str) -> int:
    """Return the one length that all lists must have."""
    absent = frame.select(nw.col(column).is_null().cast(nw.Int64()).alias("missing"))
    missing = int(collect(absent.select(nw.col("missing").sum()))["missing"].to_list()[0])
    if missing:
        raise _missing_lists(column, missing)
    lengths = frame.select(nw.col(column).list.len().cast(nw.Int64()).alias("length"))
    ends = (nw.col("length").min().alias("low"), nw.col("length").max().alias("high"))
    found = collect(lengths.select(*ends))
    low, high = found["low"].to_list()[0], found["high"].to_list()[0]
    if low != high:
        raise _ragged_lists(column, int(low), int(high))
    if not low:
        raise InputError(f"Lists in {column!r} must hold numbers, got empty lists.")
    return int(low)


def _readable_lists(frame: nw.LazyFrame[Any], column: str) -> nw.LazyFrame[Any]:
    """Return the frame with a column that narwhals can read as lists."""
    dtype = frame.collect_schema()[column]
    if isinstance(dtype, nw.List):
        return frame
    if isinstance(dtype, nw.Array):
        return frame.with_columns(nw.col(column).cast(nw.List(nw.Float64())))
    raise _not_lists(column, dtype)


def _not_lists(column: str, dtype: Any) -> InputError:
    return InputError(
        f"`embedding` must be a column of lists of numbers, got {dtype} in {column!r}.",
        hint="in Spark, make arrays of vectors with vector_to_array; in Dask, read lists with"
        ' dtype_backend="pyarrow".',
    )


def _missing_lists(column: str, missing: int) -> InputError:
    return InputError(
        f"Column {column!r} must have a list in every row, got {missing:,} without one.",
        hint="leave these rows out.",
    )


def _ragged_lists(column: str, low: int, high: int) -> InputError:
    return InputError(
        f"Lists in {column!r} must be of one length, got {low:,} to {high:,} numbers.",
        hint="embeddings of one layer have one width.",
    )
