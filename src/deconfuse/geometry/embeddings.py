"""Validate embeddings, given as an array or as columns of a frame, and the options of the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from deconfuse._checks import is_finite_number, is_whole_number, show
from deconfuse.errors import InputError
from deconfuse.geometry.projection import row_blocks
from deconfuse.reading.column_names import ColumnChoice, find_column
from deconfuse.reading.engine_batches import collect

__all__ = [
    "Embedding",
    "EmbeddingColumns",
    "check_bin_factor",
    "check_embeddings",
    "check_positive",
    "choose_embedding",
    "read_columns",
    "spread_columns",
]


def check_embeddings(embeddings: object, n_samples: int | None = None) -> npt.NDArray[np.generic]:
    """Return embeddings as a finite two-dimensional array of real numbers.

    Anything that numpy can read is taken, and torch tensors on any device. The type of the numbers
    stays (a float16 array is not blown up here); they are computed with in float64.
    """
    array = _as_array(embeddings)
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    if array.dtype.kind not in "fiu":
        message = f"`embeddings` must be real numbers, got an array of {array.dtype}."
        raise InputError(message, hint=_type_hint(embeddings))
    if array.ndim != 2:
        message = (
            "`embeddings` must have two dimensions, one row a sample and one column a feature, "
            f"got shape {array.shape}."
        )
        hint = (
            "use embeddings.reshape(-1, 1) for a single feature."
            if array.ndim == 1
            else "flatten each sample: embeddings.reshape(len(embeddings), -1)."
        )
        raise InputError(message, hint=hint)
    if n_samples is not None and len(array) != n_samples:
        message = (
            "`embeddings` must have one row a sample, "
            f"got {len(array)} rows for {n_samples} labels."
        )
        raise InputError(message, hint="check for a filter applied to only one of them.")
    if len(array) < 2:
        message = f"`embeddings` must hold at least two points, got {len(array)}."
        raise InputError(message, hint="overlap is a property of many points: pass a test set.")
    if array.shape[1] == 0:
        message = "`embeddings` must have at least one feature, got none."
        raise InputError(message, hint="check the layer that the embeddings were taken from.")
    _check_finite(array)
    return array


def check_positive(value: Any, name: str, hint: str) -> int:
    """Return a value that must be a positive integer."""
    if not is_whole_number(value) or value < 1:
        raise InputError(f"`{name}` must be a positive integer, got {value!r}.", hint=hint)
    return int(value)


def check_bin_factor(bin_factor: Any) -> float:
    """Return the factor of the bin width, a positive finite number."""
    if isinstance(bin_factor, bool) or not is_finite_number(bin_factor) or bin_factor <= 0:
        message = f"`bin_factor` must be a positive number, got {bin_factor!r}."
        raise InputError(message, hint="the paper uses 3.5.")
    return float(bin_factor)


def _as_array(embeddings: object) -> npt.NDArray[np.generic]:
    detach = getattr(embeddings, "detach", None)
    if callable(detach):
        return _tensor_to_array(detach())
    if isinstance(embeddings, np.ma.MaskedArray) and np.ma.is_masked(embeddings):
        masked = int(np.ma.getmaskarray(embeddings).any(axis=-1).sum())
        message = f"`embeddings` must not be masked, got masked values in {masked} rows."
        raise InputError(message, hint="leave these samples out of all three arguments.")
    try:
        return np.asarray(embeddings)
    except (ValueError, TypeError) as error:
        message = f"`embeddings` must be a rectangular array, got {type(embeddings).__name__}."
        raise InputError(message, hint=f"numpy says: {error}") from error


def _tensor_to_array(tensor: object) -> npt.NDArray[np.generic]:
    # Duck typing instead of an import: torch must not be loaded by those who do not use it.
    host = tensor.cpu()  # type: ignore[attr-defined]
    if str(host.dtype) == "torch.bfloat16":
        host = host.float()
    return np.asarray(host.numpy())


def _type_hint(embeddings: object) -> str:
    if hasattr(embeddings, "toarray"):
        return "make it dense first: embeddings.toarray()."
    return "pass numbers: embeddings.astype(float)."


def _check_finite(array: npt.NDArray[np.generic]) -> None:
    if array.dtype.kind != "f":
        return
    bad, first = 0, -1
    for rows, block in row_blocks(array):
        # A sum is finite only where all terms are; the slower look is for the rare other case.
        if np.isfinite(block.sum()):
            continue
        wrong = np.flatnonzero(~np.isfinite(block).all(axis=1))
        if len(wrong) and first < 0:
            first = rows.start + int(wrong[0])
        bad += len(wrong)
    if bad:
        message = (
            f"`embeddings` must be finite, got NaN or infinity in {bad} of {len(array)} rows, "
            f"first in row {first}."
        )
        raise InputError(message, hint="look at these samples, or leave them out everywhere.")


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
