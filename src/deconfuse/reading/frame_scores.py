"""The position of the highest score in every row of a frame, found by its engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from deconfuse._checks import is_missing
from deconfuse.errors import InputError
from deconfuse.reading.score_columns import ScoreColumns

__all__ = ["add_position"]


def add_position(
    frame: nw.LazyFrame[Any],
    scores: ScoreColumns,
    *,
    spelled: Mapping[str, str],
    keep: Sequence[nw.Expr],
    name: str,
) -> tuple[nw.LazyFrame[Any], int]:
    """Return the columns ``keep`` with the position of the highest score, and how many scores.

    ``spelled`` says how the engine spells each column. The position is missing where a score is
    missing or NaN, or a list is of another length.
    """
    columns = [spelled[column] for column in scores.columns]
    if not scores.is_list:
        for column, given in zip(columns, scores.columns, strict=True):
            _check_numbers(frame.collect_schema()[column], given)
        named = [nw.col(column).cast(nw.Float64()) for column in columns]
        if scores.threshold is not None:
            named.append(nw.lit(scores.threshold))
        return _with_position(frame, named, keep, name), len(named)
    column = columns[0]
    frame = _lists_as_arrow(frame, column, said=scores.described)
    n_scores = _first_length(frame, column, said=scores.described)
    # Lists of another length become missing here: reading past their end is an error in Polars.
    lists = nw.when(nw.col(column).list.len() == n_scores).then(nw.col(column)).alias(column)
    items = [nw.col(column).list.get(item).cast(nw.Float64()) for item in range(n_scores)]
    return _with_position(frame.with_columns(lists), items, keep, name), n_scores


def _check_numbers(dtype: Any, column: str) -> None:
    if not dtype.is_numeric():
        raise InputError(
            f"Scores must be numbers, got {dtype} in column {column!r}.",
            hint="cast the column to floats.",
        )


def _with_position(
    frame: nw.LazyFrame[Any], scores: Sequence[nw.Expr], keep: Sequence[nw.Expr], name: str
) -> nw.LazyFrame[Any]:
    # Step by step, each a column of its own: Dask cannot align them inside one expression.
    columns = [f"score_{item}" for item in range(len(scores))]
    values = [nw.col(column) for column in columns]
    frame = frame.select(*keep, *(s.alias(to) for s, to in zip(scores, columns, strict=True)))
    kept = [column for column in frame.collect_schema().names() if column not in columns]
    frame = frame.with_columns(
        nw.max_horizontal(*values).alias("best"),
        nw.any_horizontal(*(v.is_null() | v.is_nan() for v in values), ignore_nulls=False).alias(
            "unknown"
        ),
    )
    hits = [nw.when(v == nw.col("best")).then(nw.lit(item)) for item, v in enumerate(values)]
    frame = frame.with_columns(*(hit.alias(to) for hit, to in zip(hits, columns, strict=True)))
    frame = frame.with_columns(nw.min_horizontal(*values).alias("position"))
    known = nw.when(~nw.col("unknown")).then(nw.col("position")).alias(name)
    return frame.select(*kept, known)


def _first_length(frame: nw.LazyFrame[Any], column: str, *, said: str) -> int:
    present = frame.select(nw.col(column)).filter(~nw.col(column).is_null())
    lengths = present.select(nw.col(column).list.len().alias("n")).head(1).collect()
    if lengths.is_empty() or not int(lengths["n"].to_list()[0]):
        raise InputError(f"`scores` must be lists with one score per class, got none in {said}.")
    return int(lengths["n"].to_list()[0])


def _lists_as_arrow(frame: nw.LazyFrame[Any], column: str, *, said: str) -> nw.LazyFrame[Any]:
    """Return the frame with a column that narwhals can read as lists."""
    dtype = frame.collect_schema()[column]
    if isinstance(dtype, (nw.List, nw.Array)) and not _inner(dtype).is_numeric():
        raise InputError(
            f"`scores` must be lists of numbers, got {dtype} in {said}.",
            hint="cast what the lists hold to floats.",
        )
    if isinstance(dtype, nw.List):
        return frame
    if isinstance(dtype, nw.Array):
        return frame.with_columns(nw.col(column).cast(nw.List(nw.Float64())))
    native = frame.to_native()
    if dtype == nw.Object and hasattr(native, "assign"):
        import pandas as pd
        import pyarrow as pa

        lists = pd.ArrowDtype(pa.list_(pa.float64()))
        if hasattr(native, "map_partitions"):
            typed = native[column].map_partitions(_to_lists, lists, meta=(column, lists))
        else:
            typed = _to_lists(native[column], lists)
        return nw.from_native(native.assign(**{column: typed})).lazy()
    raise InputError(
        f"`scores` must be a column of lists of numbers, got {dtype} in {said}.",
        hint="give one column per class as a list of names; of Spark's vectors, make arrays with"
        " pyspark.ml.functions.vector_to_array.",
    )


def _inner(dtype: Any) -> Any:
    inner = dtype.inner
    return inner() if isinstance(inner, type) else inner


def _to_lists(values: Any, dtype: Any) -> Any:
    try:
        rows = [None if is_missing(row) else np.asarray(row, float) for row in values]
        return type(values)(rows, index=values.index, name=values.name, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"`scores` must be lists of numbers, got something else in {values.name!r}: {error}.",
            hint="look at the rows whose value is no list, or a list of texts or of lists.",
        ) from error
