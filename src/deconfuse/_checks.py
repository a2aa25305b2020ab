"""Validate arguments: class names, counts, and the errors where they cannot be used."""

from __future__ import annotations

import datetime
import math
import numbers
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from decimal import Decimal
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from deconfuse.errors import InputError, MissingExtraError

__all__ = [
    "CountMatrix",
    "Label",
    "LabelKind",
    "as_count_matrix",
    "as_label",
    "as_numbers",
    "class_names",
    "freeze",
    "from_torch",
    "is_finite_number",
    "is_from",
    "is_missing",
    "is_whole_number",
    "kind_of",
    "needs_pandas",
    "per_class",
    "read_only",
    "refuse_masked",
    "show",
    "summed",
]

Label: TypeAlias = bool | int | str | datetime.date
LabelKind: TypeAlias = Literal["bool", "int", "str", "date"]
CountMatrix: TypeAlias = npt.NDArray[Any] | sp.csr_array

_Scalar = TypeVar("_Scalar", bound=np.generic)
_INT64_MAX = int(np.iinfo(np.int64).max)
# By name, so that pandas is not imported to find out.
_MISSING_TYPES = {"NoneType", "NAType", "NaTType"}


def show(values: Iterable[object], limit: int = 5) -> str:
    """Write up to ``limit`` values for an error message, and how many more there are."""
    items = list(values)
    text = ", ".join(_short(item) for item in items[:limit])
    return text if len(items) <= limit else f"{text} and {len(items) - limit:,} more"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@contextmanager
def needs_pandas() -> Iterator[None]:
    """Say how to install pandas if importing it fails in the block."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(
            "`to_pandas` needs pandas, which is not installed.", hint="pip install pandas"
        ) from error


def is_finite_number(value: object) -> bool:
    """Return whether a value is a number that is neither infinite nor NaN."""
    if not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # An int beyond all floats.
        return False


def is_whole_number(value: object) -> bool:
    """Return whether a value is an integer."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_missing(value: object) -> bool:
    """Return whether a value stands for a missing one: None, NaN, NaT or pandas' NA."""
    if type(value).__name__ in _MISSING_TYPES:
        return True
    # Only of these types: comparing others may give no plain yes or no.
    is_number = isinstance(value, (float, np.floating, np.datetime64, Decimal))
    return is_number and value != value  # noqa: PLR0124 - NaN and NaT of all four


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


def as_label(value: object, *, what: str) -> Label:
    """Return a class name as a plain Python int, str, bool or date; ``what`` names its source.

    Whole floats become ints and midnights become dates: both are how tables store them.
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, str):
        return str.__str__(value)
    if is_missing(value):
        raise InputError(
            f"{what} must have no missing values, got {value!r}.",
            hint="drop these samples, or give the missing class a name of its own.",
        )
    if isinstance(value, (datetime.datetime, np.datetime64)):
        return _as_date(value, what=what)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    if isinstance(value, (float, np.floating)) and np.isfinite(value) and float(value).is_integer():
        return int(value)
    raise _no_label(value, what=what)


def _as_date(value: datetime.datetime | np.datetime64, *, what: str) -> datetime.date:
    """Return the date of a midnight, local where the value has a time zone."""
    # What Python's datetime cannot hold would be cut off below without a word.
    rest = bool(getattr(value, "nanosecond", 0))
    time: Any = value
    if isinstance(value, np.datetime64):
        time = value.astype("datetime64[us]")
        rest, time = bool(time != value), time.item()
    # Years beyond those of Python's datetime are plain numbers here.
    if rest or not isinstance(time, datetime.datetime) or time.time() != datetime.time():
        raise _no_label(value, what=what)
    return time.date()


def _no_label(value: object, *, what: str) -> InputError:
    return InputError(
        f"Values of {what} must be int, str, bool or date, got {_short(value)}"
        f" ({type(value).__name__}).",
        hint="name classes by integers or by strings.",
    )


def class_names(values: Iterable[object], *, name: str = "labels") -> tuple[Label, ...]:
    """Return class names as a tuple of distinct Python scalars of one kind."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(
            f"`{name}` must be a sequence of class names, got {_short(values)}.",
            hint='put the names in a list, as in ["cat", "dog"].',
        )
    if isinstance(values, Mapping):
        raise InputError(
            f"`{name}` must be a sequence of class names, got a {type(values).__name__}.",
            hint="to give classes other names, count first and then use `cm.rename`.",
        )
    if isinstance(values, (set, frozenset)):
        raise InputError(
            f"`{name}` must have an order, got a {type(values).__name__}, which has none.",
            hint=f"choose one, as in `sorted({name})`." if name.isidentifier() else None,
        )
    names = tuple(as_label(value, what=f"`{name}`") for value in values)
    if not names:
        raise InputError(f"`{name}` must name at least one class, got none.")
    kinds = {kind_of(value) for value in names}
    if len(kinds) > 1:
        raise InputError(
            f"`{name}` must be of one type, got {' and '.join(sorted(map(str, kinds)))}:"
            f" {show(names)}.",
            hint="convert all names to strings, or all to integers.",
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


def as_count_matrix(counts: Any, *, name: str = "counts") -> CountMatrix:
    """Return counts as a new square int64 or float64 array, or a canonical csr_array."""
    result: CountMatrix
    if sp.issparse(counts):
        _check_square(counts.shape, name=name)
        matrix = summed(counts, _wide_type(counts, name=name))
        matrix.data = _cell_values(matrix.data, name=name)
        matrix.eliminate_zeros()
        values, result = matrix.data, matrix
    else:
        values = result = _cell_values(counts, name=name)
        _check_square(values.shape, name=name)
    _check_total(values, name=name)
    return result


def summed(matrix: Any, dtype: npt.DTypeLike) -> sp.csr_array:
    """Return a sparse array as a new canonical one of a type, in which repeated cells add up.

    Examples
    --------
    >>> twice = sp.coo_array((np.array([200, 100], np.uint8), ([0, 0], [0, 0])), shape=(1, 1))
    >>> summed(twice, np.int64).toarray()
    array([[300]])
    """
    # The type comes first: in their own, many small numbers in one cell would wrap around.
    result = sp.csr_array(matrix.astype(dtype))
    result.sum_duplicates()
    return result


def _wide_type(matrix: Any, *, name: str) -> npt.DTypeLike:
    """Return the type in which repeated cells can be added up."""
    kind = matrix.dtype.kind
    if kind not in "biu":
        return np.float64 if kind == "f" else matrix.dtype
    entries = sp.coo_array(matrix).data
    if np.abs(entries, dtype=np.float64).sum() > _INT64_MAX * (1 - 1e-6) and (
        sum(map(abs, entries.tolist())) > _INT64_MAX
    ):
        raise InputError(_too_large(name), hint="give the counts as floats.")
    return np.int64


def _check_square(shape: tuple[int, ...], *, name: str) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(
            f"`{name}` must be square, with true classes on rows and predicted classes on columns,"
            f" got shape {tuple(int(size) for size in shape)}.",
            hint="give every class a row and a column, also one never seen or never predicted.",
        )
    if shape[0] == 0:
        raise InputError(f"`{name}` must have at least one class, got an empty matrix.")


def as_numbers(values: object, *, name: str) -> npt.NDArray[Any]:
    """Return values as a new array of bool, int, uint or float, in C order."""
    refuse_masked(values, name=name)
    try:
        array = np.array(values, order="C")
    except ValueError as error:
        raise InputError(
            f"`{name}` must be a matrix with rows of equal length, got rows that differ.",
        ) from error
    if array.dtype.kind == "O":
        array = _from_objects(array, name=name)
    if array.dtype.kind not in "biuf":
        raise InputError(f"`{name}` must be numbers, got {array.dtype}.")
    return array


def _cell_values(values: object, *, name: str) -> npt.NDArray[Any]:
    array = as_numbers(values, name=name)
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
    missing = sum(map(is_missing, values))
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


def is_from(values: object, module: str, name: str) -> bool:
    """Return whether values are of a type of another library, without importing it."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(values, getattr(loaded, name))


def from_torch(values: Any) -> Any:
    """Return a torch tensor as an array, from any device; anything else unchanged."""
    if not is_from(values, "torch", "Tensor"):
        return values
    tensor = values.detach()
    if tensor.layout is not sys.modules["torch"].strided:
        tensor = tensor.to_dense()
    if tensor.dtype.is_floating_point:
        # NumPy does not know all of torch's floats.
        tensor = tensor.double()
    return np.asarray(tensor.cpu().numpy())


def per_class(labels: Sequence[Label], values: Any, name: str) -> npt.NDArray[np.float64]:
    """Return one number per class in matrix order, from a mapping, a named series or a list."""
    if is_from(values, "pandas", "Series"):
        # It has names: taken by position, a number could become another class's.
        repeated = values.index[values.index.duplicated()].tolist()
        if repeated:
            raise InputError(
                f"`{name}` must name each class once, got {show(repeated)} more than once.",
                hint=f"sum them first, as `{name}.groupby(level=0).sum()` does.",
            )
        values = values.to_dict()
    values = from_torch(values)
    if isinstance(values, Mapping):
        missing = [label for label in labels if label not in values]
        unknown = [label for label in values if label not in labels]
        if missing or unknown:
            raise InputError(
                f"`{name}` must name each class of the matrix once, got"
                f" {show(missing) or 'none'} missing and {show(unknown) or 'none'} unknown.",
                hint="a list has the numbers in matrix order, without names.",
            )
        values = [values[label] for label in labels]
    try:
        result = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"`{name}` must be numbers, one per class, got {values!r:.80}.",
            hint='a mapping such as {"forest": 1200, "water": 300}, or a list in matrix order.',
        ) from None
    if result.shape != (len(labels),):
        raise InputError(
            f"`{name}` must have one number per class, got shape {result.shape} for"
            f" {len(labels)} classes."
        )
    return result


def read_only(array: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
    """Return an array that nobody can write to any more."""
    array.flags.writeable = False
    return array


def freeze(result: Any) -> None:
    """Make the arrays of a dataclass read-only."""
    for field in fields(result):
        value = getattr(result, field.name)
        if isinstance(value, np.ndarray):
            read_only(value)
