"""Count the label and prediction columns of a data frame, in its own engine where possible.

The engine groups by (label, prediction) and returns the distinct pairs with their counts; the
null checks and the sums of weights are read from the same result. The frame itself never leaves
its engine, unless it lies in memory as arrays that NumPy counts faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import DuplicateError, NarwhalsError

from deconfuse._checks import is_missing
from deconfuse.classes import ClassOptions
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reading.column_names import (
    ColumnChoice,
    Columns,
    ScoreColumns,
    choose_columns,
    read_scores,
    refuse_unknown_scores,
)
from deconfuse.reading.engine_batches import as_frame, collect
from deconfuse.reading.label_columns import ONE_CLASS_HINT, Column, LabelColumn, read_series
from deconfuse.reading.pairs import (
    MAX_PAIRS,
    CodedColumn,
    PairSums,
    matrix_of,
    refuse_too_many_pairs,
    validate_weights,
)
from deconfuse.reading.sequences import count_columns
from deconfuse.reading.tally import on_threads

__all__ = ["count_frame"]

_ENGINES = "pandas, Polars, PyArrow, DuckDB, Dask, PySpark or Ibis"

# The columns of the grouped frame; the caller's names are only ever read.
_TRUE, _PRED, _WEIGHT, _ROWS = "true", "pred", "weight", "rows"


def count_frame(
    frame: Any,
    columns: Columns,
    options: ClassOptions = ClassOptions(),  # noqa: B008 - frozen
) -> ConfusionMatrix:
    """Count two columns of a data frame inside its own engine; see `ConfusionMatrix.from_frame`."""
    table = _open(frame)
    scores = read_scores(columns.scores, table.names, columns.threshold)
    chosen = choose_columns(table.names, columns)
    for column in (chosen.label, chosen.prediction):
        if column is not None:
            _check_dtype(table.dtype(column), column)
    if chosen.weight is not None and not table.dtype(chosen.weight).is_numeric():
        raise InputError(
            f"Weights must be numbers, got {table.dtype(chosen.weight)} in column"
            f" {chosen.weight!r}."
        )
    if scores is not None:
        return _count_scores(table, chosen, scores, options)
    pairs = _count_arrays(table, chosen)
    if pairs is None:
        pairs = _group(table.frame.select(*_roles(table, chosen)), chosen)
    return matrix_of(pairs, options)


@dataclass(frozen=True, slots=True)
class _Table:
    """A lazy frame, and how its engine spells the names of its columns."""

    frame: nw.LazyFrame[Any]
    names: list[str]
    spelled: dict[str, str]
    # What it was made from, whose connection must stay open.
    source: Any

    def dtype(self, name: str) -> Any:
        return self.frame.collect_schema()[self.spelled[name]]

    def column(self, name: str) -> nw.Expr:
        return nw.col(self.spelled[name])


_SYNTAX = frozenset(".'\"")


def _open(frame: Any) -> _Table:
    frame = as_frame(frame)
    is_spark = hasattr(frame, "sparkSession")
    try:
        lazy = nw.from_native(frame).lazy()
        names = list(frame.columns if is_spark else lazy.collect_schema())
        spelled = [f"c{position}" for position in range(len(names))]
        if is_spark:
            # Spark reads dots and backticks in a name as syntax, so columns go by position.
            lazy = nw.from_native(frame.toDF(*spelled)).lazy()
        elif lazy.implementation.is_duckdb() and any(_SYNTAX & set(name) for name in names):
            # So does DuckDB before 2.0, with dots and quotes.
            quoted = ['"' + name.replace('"', '""') + '"' for name in names]
            renamed = [f"{name} AS {ours}" for name, ours in zip(quoted, spelled, strict=True)]
            lazy = nw.from_native(frame.project(", ".join(renamed))).lazy()
        else:
            spelled = names
        return _Table(lazy, names, dict(zip(names, spelled, strict=True)), frame)
    except DuplicateError as error:
        raise InputError(f"`frame` must have distinct column names. {error}") from error
    except (NarwhalsError, FileNotFoundError) as error:
        # A lazy frame looks at its files only now.
        raise InputError(f"The frame could not be read: {error}") from error
    except TypeError as error:
        raise InputError(
            f"`frame` must be a data frame of {_ENGINES}, got {type(frame).__name__}.",
            hint="to count two sequences, use ConfusionMatrix.from_predictions; a file,"
            " ConfusionMatrix.from_file.",
        ) from error


def _check_dtype(dtype: Any, column: str) -> None:
    if dtype.is_nested() or isinstance(dtype, (nw.Binary, nw.Time, nw.Duration)):
        raise InputError(
            f"Column {column!r} must hold one class per sample (int, str, bool or date), got"
            f" {dtype}.",
            hint=ONE_CLASS_HINT if dtype.is_nested() else None,
        )


def _roles(table: _Table, columns: ColumnChoice) -> list[nw.Expr]:
    """Return the columns to count by under names of ours, so that no name can clash."""
    roles = [_groupable(table, columns.label).alias(_TRUE)]
    if columns.prediction is not None:
        roles.append(_groupable(table, columns.prediction).alias(_PRED))
    if columns.weight is not None:
        roles.append(table.column(columns.weight).cast(nw.Float64()).alias(_WEIGHT))
    return roles


def _groupable(table: _Table, name: str) -> nw.Expr:
    column = table.column(name)
    if table.frame.implementation.is_pyarrow():
        # PyArrow groups by strings, and not by views of them.
        native = table.frame.to_native().schema.field(table.spelled[name])
        if str(native.type) == "string_view":
            return column.cast(nw.String())
    return column


def _count_scores(
    source: _Table, columns: ColumnChoice, scores: ScoreColumns, options: ClassOptions
) -> ConfusionMatrix:
    chosen, n_scores = _add_position(
        source.frame, scores, spelled=source.spelled, keep=_roles(source, columns), name=_PRED
    )
    pairs = _group(chosen, columns, scores=scores)
    return matrix_of(*scores.resolve(pairs, n_scores, options))


def _count_arrays(table: _Table, columns: ColumnChoice) -> PairSums | None:
    """Count without the engine where columns are arrays of integers, or of text in pandas."""
    frame = nw.from_native(table.source, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or columns.weight is not None:
        return None

    def opened(name: str | None) -> LabelColumn | None:
        assert name is not None
        series = frame[table.spelled[name]]
        is_text = series.implementation.is_pandas() and series.dtype in (nw.String, nw.Categorical)
        values = read_series(series) if is_text or series.dtype.is_integer() else []
        return (
            None if isinstance(values, list) else LabelColumn(f"column {name!r}", Column.of(values))
        )

    true, pred = on_threads(opened, (columns.label, columns.prediction), size=len(frame))
    return None if true is None or pred is None else count_columns(true, pred)


def _group(
    chosen: nw.LazyFrame[Any], columns: ColumnChoice, scores: ScoreColumns | None = None
) -> PairSums:
    """Let the engine group, and take the distinct pairs out."""
    sums = [nw.len().alias(_ROWS)]
    if columns.weight is not None:
        # The square is a column of its own: engines aggregate plain columns fastest.
        chosen = chosen.with_columns((nw.col(_WEIGHT) * nw.col(_WEIGHT)).alias("square"))
        sums += [
            nw.col(_WEIGHT).sum().alias("sum"),
            nw.col("square").sum().alias("squares"),
            nw.col(_WEIGHT).count().alias("present"),
            nw.col(_WEIGHT).min().alias("lowest"),
        ]
    try:
        grouped = collect(_limited(chosen.group_by(_TRUE, _PRED).agg(*sums)))
    except TypeError as error:
        # pandas and Dask find out about lists in object columns only when they hash them.
        raise InputError(
            f"The frame could not be grouped by its classes: {error}.", hint=ONE_CLASS_HINT
        ) from error
    refuse_too_many_pairs(len(grouped))
    rows = grouped[_ROWS].to_numpy().astype(np.int64)
    if scores is not None:
        missing = int(rows[grouped[_PRED].is_null().to_numpy()].sum())
        refuse_unknown_scores(missing, int(rows.sum()), scores)
    true = _column(grouped[_TRUE], f"column {columns.label!r}", rows)
    pred = _column(grouped[_PRED], f"column {columns.prediction!r}", rows)
    weights = None
    if columns.weight is not None:
        n_missing = int((rows - grouped["present"].to_numpy().astype(np.int64)).sum())
        found = [_floats(grouped[name]) for name in ("lowest", "sum", "squares")]
        weights = validate_weights(columns.weight, n_missing, *found)
    return PairSums.of(true, pred, rows, weights)


def _column(series: nw.Series[Any], name: str, rows: npt.NDArray[np.int64]) -> CodedColumn:
    """Return the values of a grouped column, and how many samples have none."""
    return CodedColumn.of(LabelColumn(name, Column.of(read_series(series))), rows)


def _limited(grouped: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    # In Spark a limit moves all groups through one task, and the driver has a limit of its own.
    if grouped.implementation.is_spark_like():
        return grouped
    return grouped.head(MAX_PAIRS + 1)


def _floats(series: nw.Series[Any]) -> npt.NDArray[np.float64]:
    return np.asarray(series.cast(nw.Float64()).to_numpy(), dtype=np.float64)


def _add_position(
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
