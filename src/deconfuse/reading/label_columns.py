"""Turn a column of class labels into integer codes, piece by piece.

Small integers are their own codes. Everything else (strings, dates, other integers, missing
values) gets the code of a `Vocabulary` that grows as values are met. Nothing is copied as a whole,
and other libraries are recognized only if they are loaded already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, KeysView, ValuesView
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deconfuse._checks import Label, as_label, from_torch, is_from, is_missing, show
from deconfuse.errors import InputError
from deconfuse.reading.tally import distinct_integers
from deconfuse.reading.words import WordTable

__all__ = [
    "CHUNK",
    "ONE_CLASS_HINT",
    "Coded",
    "Column",
    "LabelColumn",
    "Vocabulary",
    "open_column",
    "open_labels",
    "open_weights",
    "read_series",
]

# Long enough to hide the cost of a call, short enough for its buffers to stay in cache.
CHUNK = 1 << 16

# Integers of an array are their own codes where all are below this bound.
_OWN_CODES = 1 << 22
# The bits of an infinite float64.
_INFINITY = 0x7FF0_0000_0000_0000
_ONE_MATRIX_PER_LABEL = "of several labels per sample (multi-label) count one matrix per label"
ONE_CLASS_HINT = (
    "store one class per sample: of ranked guesses (top-k) the first, of scores the class with the"
    f" highest; {_ONE_MATRIX_PER_LABEL}."
)
_NAMES_HINT = "name classes by integers or by strings."


class Coded(NamedTuple):
    """A piece of a column as positions among some values; -1 is missing."""

    codes: npt.NDArray[Any]
    values: list[Any]


class _Codes(dict[Any, int]):
    """Codes of one type of value; looking up a new value gives it the next code of all types."""

    def __init__(self, values: list[Label | None]) -> None:
        super().__init__()
        self._values = values

    def __missing__(self, value: Any) -> int:
        code = self[value] = len(self._values)
        self._values.append(value)
        return code


class Vocabulary:
    """Codes of values in the order they are met. True is not 1: each type has codes of its own."""

    def __init__(self) -> None:
        self.values: list[Label | None] = []
        self._tables: dict[type, _Codes] = {}

    def table(self, of: type) -> _Codes:
        """Return the codes of the values of one type."""
        if of not in self._tables:
            self._tables[of] = _Codes(self.values)
        return self._tables[of]

    def codes(self, values: Iterable[Label | None]) -> npt.NDArray[np.int64]:
        """Return the codes of values of any types."""
        return np.array([self.table(type(v))[v] for v in values], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Column:
    """A one-dimensional sequence of any library.

    Attributes
    ----------
    size : int
    read : callable
        Returns the values from start to stop: an array, a list, or coded by their own library.
    array : ndarray or None
        All values, where they are an array already.
    """

    size: int
    read: Callable[[int, int], Any]
    array: npt.NDArray[Any] | None = None

    @classmethod
    def of(cls, values: npt.NDArray[Any] | list[Any] | Coded) -> Column:
        """Take values that were read already."""
        if isinstance(values, Coded):
            codes, names = values
            return cls(len(codes), lambda start, stop: Coded(codes[start:stop], names))
        array = values if isinstance(values, np.ndarray) else None
        return cls(len(values), lambda start, stop: values[start:stop], array)


@dataclass(slots=True)
class LabelColumn:
    """A column of class labels.

    Attributes
    ----------
    name : str
        What error messages call it.
    column : Column
    n_missing, first_missing : int
        Missing values in the pieces read so far, and the position of the first.
    """

    name: str
    column: Column
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    # The type of the values where they are their own codes.
    own: type[bool] | type[int] | None = None
    own_bound: int = 0
    words: WordTable | None = None
    dictionary: list[Any] | None = None
    dictionary_codes: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    n_missing: int = 0
    first_missing: int = -1

    @property
    def size(self) -> int:
        """Number of values."""
        return self.column.size

    def use_values_as_codes(self) -> None:
        """Look whether the values can be their own codes: an array of integers, all small."""
        values = self.column.array
        if values is None or values.dtype.kind not in "biu" or not values.dtype.isnative:
            return
        # Read as unsigned, negative numbers are huge: the highest tells about the lowest.
        highest = int(values.view(f"u{values.dtype.itemsize}").max(initial=0))
        if highest < _OWN_CODES:
            self.own, self.own_bound = bool if values.dtype == np.bool_ else int, highest + 1

    def codes(self, start: int, stop: int) -> tuple[npt.NDArray[Any], int]:
        """Return one code per value, from 0 on, and a number that is above all codes."""
        piece = self.column.read(start, stop)
        if self.own is not None:
            # As an index, bools would choose and not count.
            return piece.view(np.uint8) if self.own is bool else piece, self.own_bound
        codes = self._encode(piece)
        missing = self.vocabulary.table(type(None)).get(None)
        if missing is not None:
            where = np.flatnonzero(codes == missing)
            if len(where) and self.first_missing < 0:
                self.first_missing = start + int(where[0])
            self.n_missing += len(where)
        return codes, len(self.vocabulary.values)

    def labels(self, codes: npt.NDArray[Any]) -> list[Label | None]:
        """Return the values that codes stand for."""
        if self.own is not None:
            return list(codes.astype(self.own).tolist())
        return [self.vocabulary.values[code] for code in codes.tolist()]

    def _encode(self, piece: Any) -> npt.NDArray[Any]:
        if isinstance(piece, Coded):
            return self._encode_coded(piece)
        if isinstance(piece, list):
            return self._encode_list(piece)
        if piece.ndim != 1:
            raise _not_one_value(self.name, piece)
        if not piece.dtype.isnative:
            piece = piece.astype(piece.dtype.newbyteorder("="))
        kind = piece.dtype.kind
        if kind in "iu":
            return self._encode_integers(piece)
        if kind == "b":
            return self.vocabulary.codes([False, True])[piece.view(np.uint8)]
        if kind == "f":
            return self._encode_floats(piece)
        if kind == "U":
            return self._encode_words(piece)
        if kind == "M":
            distinct, codes = np.unique(piece, return_inverse=True)
            return self._encode(Coded(codes, list(distinct)))
        if kind in "OT":
            return self._encode_list(piece.tolist())
        hint = _NAMES_HINT
        if kind == "S":
            hint = 'these are bytes; decode them: `np.char.decode(values, "utf-8")`.'
        raise InputError(
            f"Values of {self.name} must be int, str, bool or date, got {piece.dtype}.", hint=hint
        )

    def _encode_coded(self, piece: Coded) -> npt.NDArray[Any]:
        if piece.values is not self.dictionary:
            self.dictionary = piece.values
            self.dictionary_codes = np.full(len(piece.values) + 1, -1, np.int64)
        # A dictionary may hold more than its column: only what is used gets a code.
        table = self.dictionary_codes
        used = np.zeros(len(table), np.bool_)
        used[piece.codes] = True
        new = np.flatnonzero(used & (table < 0)).tolist()
        values = [piece.values[k] if k < len(piece.values) else None for k in new]
        table[new] = self.vocabulary.codes(self._as_labels(values))
        return np.asarray(table[piece.codes])

    def _encode_integers(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if values.dtype == np.uint64 and values.max() > np.iinfo(np.int64).max:
            raise self._too_large(values.max())
        distinct, codes = distinct_integers(values)
        return self.vocabulary.codes(distinct.tolist())[codes]

    def _encode_floats(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Whole floats are integers: a column of 1.0 and 2.0 is how tables store 1 and 2."""
        distinct, codes = np.unique(values, return_inverse=True)
        return self._encode(Coded(codes, distinct.tolist()))

    def _encode_words(self, words: npt.NDArray[np.str_]) -> npt.NDArray[Any]:
        """Encode fixed-width strings without making a Python string of each."""
        width = words.dtype.itemsize // 4
        if not width:
            return self._encode_list(words.tolist())
        if self.words is None or self.words.width != width:
            self.words = WordTable(width, self.vocabulary.codes)
        return self.words.encode(words)

    def _encode_list(self, values: list[Any]) -> npt.NDArray[Any]:
        types = set(map(type, values))
        if len(types) == 1 and types <= {str, int, bool}:
            (only,) = types
            table = self.vocabulary.table(only)
            codes = np.fromiter(map(table.__getitem__, values), np.int64, len(values))
            if only is int:
                self._check_width(table)
            return codes
        return self.vocabulary.codes(self._as_labels(values))

    def _as_labels(self, values: Iterable[Any]) -> list[Label | None]:
        return [None if is_missing(value) else self._as_label(value) for value in values]

    def _as_label(self, value: Any) -> Label:
        if isinstance(value, (list, tuple, dict, set, frozenset, np.ndarray)):
            raise _not_one_value(self.name, value)
        if isinstance(value, (float, np.floating)):
            self._check_whole(float(value))
        label = as_label(value, what=self.name)
        if type(label) is int:
            self._check_width((label,))
        return label

    def _check_whole(self, value: float) -> None:
        if not np.isfinite(value):
            raise InputError(
                f"Values of {self.name} must be finite, got {value}.", hint=_NAMES_HINT
            )
        if not value.is_integer():
            raise InputError(
                f"Values of {self.name} must be class labels, got the fraction {value}.",
                hint="if these are scores, take the class of the highest: `scores.argmax(axis=1)`"
                " or, for two classes, `scores > 0.5`.",
            )
        if abs(value) > 2.0**53:
            raise self._too_large(value)

    def _check_width(self, values: Iterable[int]) -> None:
        for value in values:
            if not -(2**63) <= value < 2**63:
                raise self._too_large(value)

    def _too_large(self, value: object) -> InputError:
        return InputError(
            f"Integers in {self.name} must fit in 64 bits with a sign (53 as floats), got {value}.",
            hint="convert identifiers to strings.",
        )


def open_labels(values: object, *, name: str) -> LabelColumn:
    """Open a column of labels that a caller gave, without copying it."""
    return LabelColumn(f"`{name}`", open_column(values, name=f"`{name}`"))


def open_column(values: Any, *, name: str) -> Column:
    """Open a sequence that a caller gave, without copying it."""
    values = _unwrapped(values)
    shape = getattr(values, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        raise _not_one_dimensional(name, tuple(int(size) for size in shape))
    if isinstance(values, np.ndarray):
        return Column.of(values)
    if isinstance(values, (list, tuple, range)):
        return Column(len(values), lambda start, stop: list(values[start:stop]))
    if is_from(values, "torch", "Tensor"):
        return Column.of(from_torch(values))
    if isinstance(values, (str, bytes, dict, set, frozenset)) or not hasattr(values, "__len__"):
        raise InputError(
            f"{name} must be a one-dimensional sequence, got {type(values).__name__}.",
            hint="give a list, an array or a series; for a table use `from_frame`.",
        )
    series = _as_series(values)
    if series is not None:
        if series.dtype.is_integer() and not _has_missing(series):
            return Column.of(read_series(series))
        return Column(len(series), lambda start, stop: read_series(series[start:stop]))
    array = np.asarray(values)
    if array.ndim != 1:
        raise _not_one_dimensional(name, array.shape)
    return Column.of(array)


def _has_missing(series: Any) -> bool:
    dtype = getattr(series.to_native(), "dtype", None)
    # NumPy's integers are never missing; to look for it would take as long as to count them.
    is_whole = isinstance(dtype, np.dtype) and dtype.kind in "biu"
    return not is_whole and bool(series.null_count())


def _unwrapped(values: Any) -> Any:
    """Return a plain container for dict views, masked arrays and arrays of other libraries."""
    if isinstance(values, (KeysView, ValuesView)):
        return list(values)
    if isinstance(values, np.ma.MaskedArray):
        if not np.ma.is_masked(values):
            return values.data
        objects = np.array(values.data, dtype=object)
        objects[np.ma.getmaskarray(values)] = None
        return objects
    if is_from(values, "pandas", "Index") or is_from(
        values, "pandas.api.extensions", "ExtensionArray"
    ):
        return sys.modules["pandas"].Series(values)
    if is_from(values, "pyarrow", "Array"):
        return sys.modules["pyarrow"].chunked_array([values])
    return values


def _as_series(values: object) -> Any | None:
    """Return a narwhals series, or None for what narwhals does not know."""
    import narwhals as nw

    series = nw.from_native(values, series_only=True, pass_through=True)
    return series if isinstance(series, nw.Series) else None


def read_series(series: Any) -> npt.NDArray[Any] | list[Any] | Coded:
    """Return a piece of a narwhals series as an array, a list, or coded by its own library."""
    import narwhals as nw

    native = series.to_native()
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        implementation = series.implementation
        if implementation.is_pandas_like() and native.dtype != object:
            codes, values = native.factorize()
            return Coded(np.asarray(codes), values.tolist())
        if implementation.is_pyarrow():
            return _coded_by_pyarrow(native)
        if implementation.is_polars():
            return _coded_by_polars(series.cast(nw.String).to_native())
    if series.dtype.is_decimal() or series.dtype in (nw.Int128, nw.UInt128):
        # DuckDB returns integers of 128 bits as decimals; NumPy has neither type.
        return [None if value is None else _exact(value) for value in series.to_list()]
    if series.dtype == nw.Datetime:
        if series.dtype.time_zone is not None:
            # NumPy has no time zones: it would show the clock of UTC instead of the column's own.
            series = series.dt.replace_time_zone(None)
        # Python's datetime ends at microseconds; NumPy's keeps nanoseconds and NaT.
        return np.asarray(series.to_numpy())
    if series.dtype != nw.Object and _has_missing(series):
        return list(series.to_list())
    return np.asarray(series.to_numpy())


def _exact(value: Any) -> int | float:
    return int(value) if value == int(value) else float(value)


def _coded_by_pyarrow(chunked: Any) -> Coded:
    array = chunked.combine_chunks()
    if hasattr(array, "chunks"):  # Before PyArrow 17 an empty or split array stays chunked.
        array = sys.modules["pyarrow"].concat_arrays(array.chunks)
    if not hasattr(array, "dictionary"):
        array = array.dictionary_encode()
    codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return Coded(codes, array.dictionary.to_pylist())


def _coded_by_polars(series: Any) -> Coded:
    values = series.drop_nulls().unique()
    codes = series.replace_strict(values, list(range(len(values))), default=-1)
    return Coded(codes.to_numpy(), values.to_list())


def _not_one_dimensional(name: str, shape: tuple[int, ...]) -> InputError:
    """Return the error for scores and tables where a column was expected."""
    hint = (
        "give one class per sample: of scores the highest, `scores.argmax(axis=1)`; of ranked"
        f" guesses (top-k) the first, `guesses[:, 0]`; {_ONE_MATRIX_PER_LABEL}."
    )
    if len(shape) == 2 and shape[1] == 1:
        hint = "flatten it with `.ravel()`, or select the column."
    return InputError(
        f"{name[0].upper()}{name[1:]} must be one-dimensional, got shape {shape}.", hint=hint
    )


def _not_one_value(name: str, value: object) -> InputError:
    """Return the error for a column that has a list or a dictionary for each sample."""
    given = "several values"
    if isinstance(value, dict):
        # As pipelines for classification give it, and for zero-shot classification.
        name_of = "['labels'][0]" if "labels" in value else "['label']"
        given = "a dictionary"
        hint = f"give the names alone: `[guess{name_of} for guess in output]`."
    elif isinstance(value, (list, tuple)) and value and isinstance(value[0], dict):
        given = "a list of dictionaries"
        hint = (
            "give the name with the highest score: `[max(guesses, key=lambda guess:"
            " guess['score'])['label'] for guesses in output]`."
        )
    else:
        hint = (
            "give one class per sample: of ranked guesses (top-k) the first, `[guesses[0] for"
            " guesses in output]`; of scores the highest, `np.argmax(scores, axis=1)`;"
            f" {_ONE_MATRIX_PER_LABEL}."
        )
    return InputError(
        f"{name[0].upper()}{name[1:]} must be one-dimensional, got {given} for each sample.",
        hint=hint,
    )


@dataclass(frozen=True, slots=True)
class WeightColumn:
    """Sample weights; ``is_ready`` if all can be used as they are, without a copy."""

    name: str
    column: Column

    @property
    def is_ready(self) -> bool:
        array = self.column.array
        return array is not None and array.dtype in (np.float64, np.int64)

    def read(self, start: int, stop: int) -> tuple[npt.NDArray[Any], Callable[[], None]]:
        """Return the numbers from start to stop as int64 or float64, and what validates them.

        That takes as long as to read them, and can be done while they are added up.
        """
        array = _weight_numbers(self.column.read(start, stop), start, self.name)
        with np.errstate(over="ignore"):
            kind = np.float64 if array.dtype.kind == "f" else np.int64
            weights = array.astype(kind, copy=False)
        return weights, partial(_validate_weights, array, weights, start, self.name)


def open_weights(values: object, size: int, *, name: str) -> WeightColumn:
    """Open a column of sample weights, which must be as many as there are samples."""
    column = open_column(values, name=f"`{name}`")
    if column.size != size:
        raise InputError(
            f"`{name}` must have one weight per sample, got {column.size:,} weights for {size:,}"
            " samples.",
            hint="check for a filter applied to only one of them.",
        )
    return WeightColumn(name, column)


def _weight_numbers(piece: Any, start: int, name: str) -> npt.NDArray[Any]:
    if isinstance(piece, Coded):
        table = np.array([*piece.values, None], dtype=object)
        piece = table[piece.codes].tolist()
    array = piece if isinstance(piece, np.ndarray) else np.array(piece, dtype=object)
    if array.ndim != 1:
        raise _not_one_value(f"`{name}`", array)
    if array.dtype.kind == "O":
        array = _numbers(array.tolist(), start, name)
    if array.dtype.kind not in "biuf":
        raise InputError(f"`{name}` must be numbers, got {array.dtype}.")
    return array


def _validate_weights(
    given: npt.NDArray[Any], weights: npt.NDArray[Any], start: int, name: str
) -> None:
    # Read as unsigned, negative numbers, infinity and NaN are above all others: one look is enough.
    limit = _INFINITY if weights.dtype.kind == "f" else 2**63
    if int(weights.view(np.uint64).max(initial=0)) < limit:
        return
    is_right = (given >= 0) & np.isfinite(weights) & (weights >= 0)
    if not is_right.all():
        where = int(is_right.argmin())
        raise InputError(
            f"`{name}` must be finite, non-negative and below 2**63, got {given[where]} at"
            f" position {start + where:,}.",
            hint="a sample of weight 0 counts for nothing.",
        )


def _numbers(values: list[Any], start: int, name: str) -> npt.NDArray[Any]:
    """Return objects as int64 where all are integers that fit, else as float64."""
    for position, value in enumerate(values):
        is_number = isinstance(value, (int, float, np.number)) and not is_missing(value)
        if not is_number:
            raise InputError(
                f"`{name}` must be numbers without missing values, got {show([value])} at position"
                f" {start + position:,}.",
                hint="drop these samples, or give them weight 0.",
            )
    if all(isinstance(value, (int, np.integer)) and abs(int(value)) < 2**63 for value in values):
        return np.array(values, dtype=np.int64)
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        raise InputError(f"`{name}` must be finite, got a number beyond all floats.") from None
