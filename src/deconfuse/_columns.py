"""Columns of class labels, from any library, read piece by piece as integers.

Whole numbers are read as they are. Everything else (strings, dates, categories) becomes codes of a
`Vocabulary` that the columns of one matrix share. No piece of work is as long as the column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deconfuse._checks import LabelKind, as_label, is_missing, kind_of, show
from deconfuse._sources import Coded, not_one_dimensional, open_source
from deconfuse.errors import InputError
from deconfuse.reading.words import WordTable

__all__ = ["CHUNK", "LabelColumn", "Vocabulary", "WeightColumn", "open_labels", "open_weights"]

# Long enough to hide the cost of a call, short enough for its buffers to stay in cache.
CHUNK = 1 << 16

_INT64_MAX = np.uint64(np.iinfo(np.int64).max)
_SCORES_HINT = "if these are scores, take the class of the highest: `scores.argmax(axis=1)`."


class Vocabulary(dict[Any, int]):
    """Codes of values in the order they are met; looking up a new value gives it a code."""

    def __init__(self) -> None:
        super().__init__()
        self._tables: dict[int, WordTable] = {}

    def __missing__(self, value: Any) -> int:
        code = self[value] = len(self)
        return code

    def codes(self, values: Sequence[Any]) -> npt.NDArray[np.int64]:
        """Return the codes of values."""
        return np.fromiter(map(self.__getitem__, values), np.int64, len(values))

    def word_codes(self, values: npt.NDArray[np.str_]) -> npt.NDArray[np.int64]:
        """Return the codes of an array of fixed-width strings."""
        width = values.dtype.itemsize // 4
        if not width:
            return self.codes(values.tolist())
        table = self._tables.get(width)
        if table is None:
            table = self._tables[width] = WordTable(width, self.codes)
        return table.encode(values)


class _MissingValuesError(Exception):
    """A piece of a column holds missing values; the column counts them all for the message."""


@dataclass(slots=True)
class _Column:
    """One argument: its name for messages, its length, and how to read a piece of it."""

    name: str
    size: int
    read: Callable[[int, int], Any]

    def _missing(self) -> InputError:
        first, missing = -1, 0
        for start in range(0, self.size, CHUNK):
            mask = _missing_mask(self.read(start, min(start + CHUNK, self.size)))
            if first < 0 and mask.any():
                first = start + int(mask.argmax())
            missing += int(mask.sum())
        return InputError(
            f"`{self.name}` must have no missing values, got {missing:,} None or NaN among"
            f" {self.size:,} (first at position {first:,}).",
            hint="drop these samples, or give the missing class a name of its own."
            if isinstance(self, LabelColumn)
            else "drop these samples, or give them weight 0.",
        )


@dataclass(slots=True)
class LabelColumn(_Column):
    """A column of class labels; ``kind`` is known once a piece was read."""

    kind: LabelKind | None = None

    def chunk(self, start: int, vocabulary: Vocabulary) -> npt.NDArray[Any]:
        """Return the integers that stand for the values from ``start`` on."""
        values = self.read(start, min(start + CHUNK, self.size))
        try:
            kind, codes = _encode(values, vocabulary, self.name)
        except _MissingValuesError:
            raise self._missing() from None
        if self.kind is None:
            self.kind = kind
        elif self.kind != kind:
            raise _mixed(self.name, {self.kind, kind})
        return codes


@dataclass(slots=True)
class WeightColumn(_Column):
    """A column of sample weights."""

    def chunk(self, start: int) -> npt.NDArray[Any]:
        """Return the weights from ``start`` on, as int64 or float64."""
        values = self.read(start, min(start + CHUNK, self.size))
        if isinstance(values, Coded):
            if _missing_mask(values).any():
                raise self._missing()
            values = np.asarray(values.values)[values.codes]
        try:
            array = np.asarray(values)
        except ValueError:
            raise not_one_dimensional(self.name, None, hint=None) from None
        if array.dtype.kind == "O":
            if _missing_mask(array).any():
                raise self._missing()
            array = _from_objects(array, self.name)
        if array.dtype.kind not in "biuf":
            raise InputError(
                f"`{self.name}` must be numbers, got {show(array[:1].tolist())} ({array.dtype}).",
            )
        if array.ndim != 1:
            raise not_one_dimensional(self.name, (self.size, *array.shape[1:]), hint=None)
        if array.dtype.kind == "f":
            if np.isnan(array).any():
                raise self._missing()
            if np.isinf(array).any():
                raise InputError(
                    f"`{self.name}` must be finite, got {array[np.isinf(array)][0]} at position"
                    f" {start + int(np.isinf(array).argmax()):,}.",
                )
        if array.dtype.kind in "if" and (array < 0).any():
            where = int((array < 0).argmax())
            raise InputError(
                f"`{self.name}` must not be negative, got {array[where]} at position"
                f" {start + where:,}.",
                hint="a sample of weight 0 counts for nothing.",
            )
        if array.dtype == np.uint64 and (array > _INT64_MAX).any():
            where = int((array > _INT64_MAX).argmax())
            raise InputError(
                f"Whole numbers in `{self.name}` must be at most 2**63 - 1, got {array[where]} at"
                f" position {start + where:,}.",
                hint="give the weights as floats.",
            )
        return array.astype(np.float64 if array.dtype.kind == "f" else np.int64, copy=False)


def open_labels(values: object, *, name: str) -> LabelColumn:
    """Return a column of labels over what the caller gave, without copying it."""
    size, read = open_source(values, name=name, hint=_SCORES_HINT)
    return LabelColumn(name, size, read)


def open_weights(values: object, *, name: str) -> WeightColumn:
    """Return a column of weights over what the caller gave, without copying it."""
    size, read = open_source(values, name=name, hint=None)
    return WeightColumn(name, size, read)


def _from_objects(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return objects as whole numbers where all are, else as floats, else as text."""
    if all(isinstance(value, (int, np.integer)) for value in array.ravel().tolist()):
        # Beyond 64 bits they stay objects, and become floats.
        array = np.array(array.tolist())
    if array.dtype.kind != "O":
        return array
    try:
        return array.astype(np.float64)
    except OverflowError:
        raise InputError(f"`{name}` must be finite, got a number beyond all floats.") from None
    except (TypeError, ValueError):
        return np.array(list(map(str, array)))


def _encode(values: Any, vocabulary: Vocabulary, name: str) -> tuple[LabelKind, npt.NDArray[Any]]:
    """Return the kind of a piece of a column, and its whole numbers or its codes."""
    if isinstance(values, Coded):
        return _encode_coded(values, vocabulary, name)
    if isinstance(values, list):
        return _encode_list(values, vocabulary, name)
    if values.ndim != 1:
        raise not_one_dimensional(name, None, hint=_SCORES_HINT)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    match values.dtype.kind:
        case "i":
            return "int", values
        case "b":
            return "bool", values.view(np.uint8)
        case "u":
            return "int", _int64(values, name)
        case "f":
            return "int", _whole(values, name)
        case "U":
            return "str", vocabulary.word_codes(values)
        case "O" | "T":
            return _encode_list(values.tolist(), vocabulary, name)
        case "M":
            if np.isnat(values).any():
                raise _MissingValuesError
            distinct, codes = np.unique(values, return_inverse=True)
            return _encode_coded(Coded(codes, list(distinct)), vocabulary, name)
        case "S":
            raise InputError(
                f"`{name}` must hold text, not bytes, got {show(values[:1].tolist())}.",
                hint='decode it: `np.char.decode(values, "utf-8")`.',
            )
    raise InputError(
        f"`{name}` must be of int, str, bool or date, got {values.dtype}.",
        hint="name classes by whole numbers or by strings.",
    )


def _encode_coded(
    piece: Coded, vocabulary: Vocabulary, name: str
) -> tuple[LabelKind, npt.NDArray[Any]]:
    if (piece.codes < 0).any() or any(map(is_missing, piece.values)):
        raise _MissingValuesError
    kind, table = _encode_list(piece.values, vocabulary, name)
    return kind, table[piece.codes]


def _encode_list(
    values: list[Any], vocabulary: Vocabulary, name: str
) -> tuple[LabelKind, npt.NDArray[Any]]:
    types = set(map(type, values))
    if types == {str}:
        return "str", vocabulary.codes(values)
    if types == {int} or types == {bool}:
        return _integers(values, "bool" if types == {bool} else "int", name)
    if any(issubclass(one, (list, tuple, np.ndarray)) for one in types):
        raise not_one_dimensional(name, None, hint=_SCORES_HINT)
    # Rarer types: what they stand for is decided value by value.
    if any(map(is_missing, values)):
        raise _MissingValuesError
    if any(issubclass(one, (float, np.floating)) for one in types):
        floats = [value for value in values if isinstance(value, (float, np.floating))]
        _whole(np.array(floats, dtype=np.float64), name)
    labels = [as_label(value, what=f"`{name}`") for value in values]
    kinds = {kind for kind in map(kind_of, labels) if kind is not None}
    if len(kinds) != 1:
        raise _mixed(name, kinds)
    (kind,) = kinds
    if kind in ("int", "bool"):
        return _integers(labels, kind, name)
    return kind, vocabulary.codes(labels)


def _integers(values: list[Any], kind: LabelKind, name: str) -> tuple[LabelKind, npt.NDArray[Any]]:
    try:
        return kind, np.array(values, dtype=np.int64)
    except OverflowError:
        raise _too_large(name, max(values, key=abs)) from None


def _int64(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if values.dtype == np.uint64 and values.size and values.max() > np.iinfo(np.int64).max:
        raise _too_large(name, values.max())
    return values if values.dtype.itemsize < 8 else values.view(np.int64)


def _whole(values: npt.NDArray[Any], name: str) -> npt.NDArray[np.int64]:
    """Return whole floats as integers: a column of 1.0 and 2.0 is how tables store 1 and 2."""
    if np.isnan(values).any():
        raise _MissingValuesError
    if np.isinf(values).any():
        raise InputError(
            f"`{name}` must be finite, got {values[np.isinf(values)][0]}.",
            hint="name classes by whole numbers or by strings.",
        )
    broken = values != np.floor(values)
    if broken.any():
        raise InputError(
            f"`{name}` must hold class labels, got the fraction {values[broken][0]}.",
            hint=f"{_SCORES_HINT[:-1]} or, for two classes, `scores > 0.5`.",
        )
    # As a Python float: the bound itself is beyond the range of float16.
    if float(np.abs(values).max(initial=0)) > 2.0**53:
        raise _too_large(name, values[np.abs(values).argmax()])
    return values.astype(np.int64)


def _too_large(name: str, value: object) -> InputError:
    return InputError(
        f"Whole numbers in `{name}` must fit in 64 bits (53 as floats), got {value}.",
        hint="turn identifiers into strings.",
    )


def _mixed(name: str, kinds: Iterable[str]) -> InputError:
    return InputError(
        f"`{name}` must be of one type, got {' and '.join(sorted(kinds))}.",
        hint="turn all values into strings, or all into whole numbers.",
    )


def _missing_mask(values: Any) -> npt.NDArray[np.bool_]:
    if isinstance(values, Coded):
        missing = np.fromiter(map(is_missing, values.values), np.bool_, len(values.values))
        # A code of -1 wraps around to the value appended here.
        return np.append(missing, True)[values.codes]
    if isinstance(values, np.ndarray) and values.dtype.kind in "fM":
        return np.isnan(values) if values.dtype.kind == "f" else np.isnat(values)
    items = values.tolist() if isinstance(values, np.ndarray) else values
    return np.fromiter(map(is_missing, items), np.bool_, len(items))
