"""Raw arguments to trusted values: class names, counts, and the errors when they cannot be."""

from __future__ import annotations

import datetime
import numbers
from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from deconfuse.errors import InputError

__all__ = [
    "CountMatrix",
    "Label",
    "LabelKind",
    "as_count_matrix",
    "as_label",
    "class_names",
    "is_finite_number",
    "is_whole_number",
    "kind_of",
    "refuse_masked",
    "show",
]

Label: TypeAlias = bool | int | str | datetime.date
LabelKind: TypeAlias = Literal["bool", "int", "str", "date"]
CountMatrix: TypeAlias = npt.NDArray[Any] | sp.csr_array

_INT64_MAX = int(np.iinfo(np.int64).max)


def show(values: Iterable[object], limit: int = 5) -> str:
    """Write up to ``limit`` values for an error message, and how many more there are."""
    items = list(values)
    text = ", ".join(_short(item) for item in items[:limit])
    return text if len(items) <= limit else f"{text} and {len(items) - limit:,} more"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def is_finite_number(value: object) -> bool:
    """Return whether a value is a number that is neither infinite nor NaN."""
    return isinstance(value, (int, float, np.integer, np.floating)) and bool(np.isfinite(value))


def is_whole_number(value: object) -> bool:
    """Return whether a value is an integer."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def kind_of(value: object) -> LabelKind | None:
    """Return the kind of a class name, or None if it cannot be one."""
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, (int, np.integer)):
        return "int"
    if isinstance(value, str):
        return "str"
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return "date"
    return None


def as_label(value: object, *, name: str) -> Label:
    """Return a class name as a plain Python int, str, bool or date.

    Whole floats become ints and midnights become dates: both are how tables store them.
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime.datetime) and value == value and value.time() == datetime.time():
        return value.date()
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    if isinstance(value, (float, np.floating)) and np.isfinite(value) and float(value).is_integer():
        return int(value)
    if value is None or value != value:
        raise InputError(
            f"`{name}` must have no missing values, got {value!r}.",
            hint="drop these samples, or give the missing class a name of its own.",
        )
    raise InputError(
        f"Values of `{name}` must be int, str, bool or date, got {_short(value)}"
        f" ({type(value).__name__}).",
        hint="name classes by whole numbers or by strings.",
    )


def class_names(values: Iterable[object], *, name: str = "labels") -> tuple[Label, ...]:
    """Return class names as a tuple of distinct Python scalars of one kind."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(
            f"`{name}` must be a sequence of class names, got {_short(values)}.",
            hint='put the names in a list, as in ["cat", "dog"].',
        )
    if getattr(values, "ndim", 1) != 1:
        raise InputError(
            f"`{name}` must be one-dimensional, got {getattr(values, 'ndim', 0)} axes."
        )
    names = tuple(as_label(value, name=name) for value in values)
    if not names:
        raise InputError(f"`{name}` must name at least one class, got none.")
    kinds = {kind_of(value) for value in names}
    if len(kinds) > 1:
        raise InputError(
            f"`{name}` must be of one type, got {' and '.join(sorted(map(str, kinds)))}:"
            f" {show(names)}.",
            hint="turn all names into strings, or all into whole numbers.",
        )
    if len(set(names)) < len(names):
        repeated = [value for value, times in Counter(names).items() if times > 1]
        raise InputError(
            f"`{name}` must be distinct, got {show(repeated)} more than once.",
            hint="to join several classes into one, use `merge_classes`.",
        )
    return names


def refuse_masked(values: object, *, name: str) -> None:
    """Refuse masked cells, alone or in a list of arrays: NumPy forgets a mask without a word."""
    masked = _count_masked(values)
    if masked:
        raise InputError(
            f"`{name}` must have no missing values, got {masked:,} masked.",
            hint="fill them, as in `values.filled(0)`; a pair that never occurs has count 0.",
        )


def _count_masked(values: object) -> int:
    if isinstance(values, np.ma.MaskedArray):
        return int(np.ma.getmaskarray(values).sum())
    if isinstance(values, (list, tuple)):
        return sum(map(_count_masked, values))
    return 0


def as_count_matrix(counts: object, *, name: str = "counts") -> CountMatrix:
    """Return counts as a new square int64 or float64 array, or a canonical csr_array."""
    if sp.issparse(counts):
        matrix = sp.csr_array(counts, copy=True)
        matrix.sum_duplicates()
        matrix.data = _cell_values(matrix.data, name=name)
        matrix.eliminate_zeros()
        matrix.sort_indices()
        shape, values = matrix.shape, matrix.data
        result: CountMatrix = matrix
    else:
        dense = _cell_values(counts, name=name)
        shape, values, result = dense.shape, dense, dense
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(
            f"`{name}` must be square, with true classes on rows and predicted classes on columns,"
            f" got shape {tuple(int(size) for size in shape)}.",
            hint="give every class a row and a column, also one never seen or never predicted.",
        )
    if shape[0] == 0:
        raise InputError(f"`{name}` must have at least one class, got an empty matrix.")
    _check_total(values, name=name)
    return result


def _cell_values(values: object, *, name: str) -> npt.NDArray[Any]:
    refuse_masked(values, name=name)
    try:
        array = np.array(values)
    except ValueError as error:
        raise InputError(
            f"`{name}` must be a matrix with rows of equal length, got rows that differ.",
        ) from error
    if array.dtype.kind == "O":
        array = _from_objects(array, name=name)
    if array.dtype.kind not in "biuf":
        raise InputError(f"`{name}` must be numbers, got {array.dtype}.")
    if array.dtype.kind == "f":
        missing = int(np.isnan(array).sum())
        if missing:
            raise InputError(
                f"`{name}` must have no missing values, got {missing:,} NaN.",
                hint="a pair that never occurs has count 0.",
            )
        infinite = int(np.isinf(array).sum())
        if infinite:
            raise InputError(f"`{name}` must be finite, got {infinite:,} infinite.")
    if array.size and array.dtype.kind in "if" and array.min() < 0:
        raise InputError(
            f"`{name}` must not be negative, got {array.min()!s} as the lowest of"
            f" {int((array < 0).sum()):,} negative values.",
            hint="counts are numbers of samples; differences of matrices are not counts.",
        )
    if array.dtype.kind == "u" and array.size and int(array.max()) > _INT64_MAX:
        raise InputError(_too_large(name), hint="give the counts as floats.")
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64, copy=False)


def _from_objects(array: npt.NDArray[Any], *, name: str) -> npt.NDArray[Any]:
    values = array.ravel().tolist()
    missing = sum(1 for value in values if value is None or value is not value or value != value)
    if missing:
        raise InputError(
            f"`{name}` must have no missing values, got {missing:,} None or NaN.",
            hint="a pair that never occurs has count 0.",
        )
    strange = [value for value in values if not isinstance(value, (numbers.Real, np.bool_))]
    if strange:
        raise InputError(f"`{name}` must be numbers, got {show(strange)}.")
    if all(isinstance(value, (int, np.integer)) for value in values):
        if any(abs(int(value)) > _INT64_MAX for value in values):
            raise InputError(_too_large(name), hint="give the counts as floats.")
        return array.astype(np.int64)
    return array.astype(np.float64)


def _check_total(values: npt.NDArray[Any], *, name: str) -> None:
    """Refuse counts whose sum would wrap around or be infinite."""
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            total = values.sum()
        if not np.isfinite(total):
            raise InputError(f"`{name}` must have a finite total, got {total}.")
        return
    # The float sum is far closer than this margin; where it is near the limit, add exactly.
    is_near = values.sum(dtype=np.float64) > _INT64_MAX * (1 - 1e-6)
    if is_near and sum(values.ravel().tolist()) > _INT64_MAX:
        raise InputError(_too_large(name), hint="give the counts as floats.")


def _too_large(name: str) -> str:
    return f"`{name}` must add up to at most 2**63 - 1, got more (integer overflow)."
