"""Data frames of any engine to a confusion matrix, counted where they are.

The engine groups by (label, prediction) and returns the distinct pairs with their counts; the
null checks and the sums of weights are read from the same result. The frame itself never leaves
its engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import DuplicateError, NarwhalsError

from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reading.column_names import ColumnChoice, choose_columns
from deconfuse.reading.engine_tables import as_frame, collect
from deconfuse.reading.pairs import (
    FLOAT_HINT,
    MAX_PAIRS,
    CodedValues,
    PairTable,
    WeightSums,
    build_matrix,
    refuse_empty,
    refuse_missing,
    refuse_too_many_pairs,
)
from deconfuse.reading.score_columns import (
    ScoreColumns,
    Scores,
    add_position,
    name_positions,
    read_scores,
    refuse_unknown_scores,
)

__all__ = ["count_frame"]

_ENGINES = "pandas, Polars, PyArrow, DuckDB, Dask, PySpark or Ibis"

# The columns of the grouped frame; the caller's names are only ever read.
_TRUE, _PRED, _WEIGHT, _ROWS = "true", "pred", "weight", "rows"


def count_frame(
    frame: Any,
    *,
    label: str = "label",
    prediction: str = "prediction",
    weight: str | None = None,
    scores: Scores | None = None,
) -> ConfusionMatrix:
    """Count two columns of a data frame inside its own engine.

    Parameters
    ----------
    frame : data frame
        Of pandas, Polars (eager or lazy), PyArrow (a table, record batch, reader or dataset),
        DuckDB (a relation), Dask, PySpark or Ibis.
    label, prediction : str
        Columns of class names: int, string, bool, date or categorical. Where a default name is
        absent, the usual ones are looked for ("y_true", "target", "y_pred", "pred" and so on),
        and a ``ColumnChoiceWarning`` says which were taken.
    weight : str, optional
        Column of sample weights, finite and non-negative.
    scores : str, sequence of str, or mapping, optional
        Take the class with the highest score as the prediction, instead of a column: the name of a
        column of lists, the columns named by their classes, or a mapping of columns to classes.

    Returns
    -------
    ConfusionMatrix
        With the classes sorted. Their names have the type they have in the frame.

    Raises
    ------
    InputError
        If a column is missing, holds missing values, floats or identifiers, if labels and
        predictions are of different types, or if no label is the class of a score.

    Warns
    -----
    DeconfuseWarning
        If no label occurs among the predictions, as with "cat" and "Cat".

    Notes
    -----
    Only distinct pairs leave the engine, and at most 25 million of them. Lazy frames are not
    collected; Polars runs them on its streaming engine.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"label": ["cat", "dog", "dog"], "prediction": ["cat", "cat", "dog"]})
    >>> count_frame(frame).counts
    array([[1, 0],
           [1, 1]])
    """
    table = _open(frame)
    asked = None if scores is None else read_scores(scores, table.names)
    columns = choose_columns(
        table.names, label=label, prediction=None if asked else prediction, weight=weight
    )
    for column in (columns.label, columns.prediction):
        if column is not None:
            _check_dtype(table.dtype(column), column)
    if columns.weight is not None:
        _check_weight_dtype(table.dtype(columns.weight), columns.weight)
    if asked is not None:
        return _count_scores(table, columns, asked)
    chosen = table.frame.select(*_roles(table, columns))
    return build_matrix(_group(chosen, columns), columns)


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
    try:
        if hasattr(frame, "sparkSession"):
            # Spark reads dots and backticks in a name as syntax, so columns go by position.
            names = list(frame.columns)
            ours = [f"c{position}" for position in range(len(names))]
            lazy = nw.from_native(frame.toDF(*ours)).lazy()
            return _Table(lazy, names, dict(zip(names, ours, strict=True)), frame)
        lazy = nw.from_native(frame).lazy()
        names = list(lazy.collect_schema())
        if lazy.implementation.is_duckdb() and any(_SYNTAX & set(name) for name in names):
            # So does DuckDB before 2.0, with dots and quotes.
            ours = [f"c{position}" for position in range(len(names))]
            quoted = ['"' + name.replace('"', '""') + '"' for name in names]
            pairs = zip(quoted, ours, strict=True)
            lazy = nw.from_native(frame.project(", ".join(f"{a} AS {b}" for a, b in pairs))).lazy()
            return _Table(lazy, names, dict(zip(names, ours, strict=True)), frame)
        return _Table(lazy, names, {name: name for name in names}, frame)
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
    if dtype.is_float() or dtype.is_decimal():
        raise InputError(
            f"Column {column!r} must hold class names (int, str, bool or date), got {dtype}.",
            hint=FLOAT_HINT,
        )
    if dtype.is_nested() or isinstance(dtype, (nw.Binary, nw.Time, nw.Duration)):
        raise InputError(
            f"Column {column!r} must hold class names (int, str, bool or date), got {dtype}.",
            hint="for scores, use `scores`." if dtype.is_nested() else None,
        )


def _check_weight_dtype(dtype: Any, column: str) -> None:
    if not dtype.is_numeric():
        raise InputError(f"Weights must be numbers, got {dtype} in column {column!r}.")


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


def _count_scores(source: _Table, columns: ColumnChoice, scores: ScoreColumns) -> ConfusionMatrix:
    chosen, n_scores = add_position(
        source.frame, scores, spelled=source.spelled, keep=_roles(source, columns), name=_PRED
    )
    table = _group(chosen, columns, scores=scores)
    classes = scores.class_list(n_scores, table.true)
    return build_matrix(name_positions(table, classes), columns, classes=classes)


def _group(
    chosen: nw.LazyFrame[Any], columns: ColumnChoice, scores: ScoreColumns | None = None
) -> PairTable:
    """Let the engine group, take the distinct pairs out, and refuse missing values."""
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
        # pandas finds out about lists in object columns only when it hashes them.
        if "unhashable" not in str(error):
            raise
        raise InputError(
            f"Labels and predictions must be int, str, bool or date, got values that cannot be"
            f" compared: {error}.",
            hint="for scores, use `scores`.",
        ) from error
    refuse_too_many_pairs(len(grouped))
    rows = grouped[_ROWS].to_numpy().astype(np.int64)
    total = int(rows.sum())
    refuse_empty(total)
    missing = {
        column: int(rows[grouped[key].is_null().to_numpy()].sum())
        for column, key in ((columns.label, _TRUE), (columns.prediction, _PRED))
        if column is not None
    }
    refuse_missing(missing, total)
    if scores is not None:
        refuse_unknown_scores(int(rows[grouped[_PRED].is_null().to_numpy()].sum()), total, scores)
    weights = None
    if columns.weight is not None:
        weights = WeightSums(
            _floats(grouped["sum"]),
            _floats(grouped["squares"]),
            grouped["present"].to_numpy().astype(np.int64),
            _floats(grouped["lowest"]),
        )
    return PairTable(_values(grouped[_TRUE]), _values(grouped[_PRED]), rows, weights)


def _limited(grouped: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    # In Spark a limit moves all groups through one task, and the driver has a limit of its own.
    if grouped.implementation.is_spark_like():
        return grouped
    return grouped.head(MAX_PAIRS + 1)


def _floats(series: nw.Series[Any]) -> npt.NDArray[np.float64]:
    return np.asarray(series.cast(nw.Float64()).to_numpy(), dtype=np.float64)


def _values(series: nw.Series[Any]) -> npt.NDArray[Any] | CodedValues:
    """Return values as integers or bools where they are such, strings coded, else objects."""
    if isinstance(series.dtype, (nw.Int128, nw.UInt128)):
        return _objects(series.to_list())
    if series.dtype.is_decimal():
        # So DuckDB hands out whole numbers of 128 bits; other decimals were refused before.
        return _objects([None if value is None else int(value) for value in series.to_list()])
    if series.dtype.is_integer() or series.dtype == nw.Boolean:
        return np.asarray(series.to_numpy())
    if series.dtype == nw.String:
        # The library that holds the result tells a million strings apart faster than Python.
        if series.implementation.is_pandas_like():
            positions, names = series.to_native().factorize()
            return CodedValues(_objects(list(names)), positions)
        distinct = series.unique().to_list()
        codes = series.replace_strict(distinct, list(range(len(distinct))), return_dtype=nw.Int64())
        return CodedValues(_objects(distinct), codes.to_numpy())
    items = series.to_list()
    if isinstance(series.dtype, nw.Datetime) and series.dtype.time_unit == "ns":
        # Python's datetime ends at microseconds, where two instants would become one.
        exact = series.dt.replace_time_zone(None).to_numpy()
        items = [None if item is None else value for item, value in zip(items, exact, strict=True)]
    return _objects(items)


def _objects(items: list[Any]) -> npt.NDArray[Any]:
    values = np.empty(len(items), dtype=object)
    values[:] = items
    return values
