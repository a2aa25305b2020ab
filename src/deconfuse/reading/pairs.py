"""Distinct (label, prediction) pairs, as an engine returns them, to a confusion matrix.

Engines group and add up; this module decides whether what came back can be a confusion matrix.
It sees one row per distinct pair, never the samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deconfuse._checks import Label, as_label, kind_of, show
from deconfuse._columns import Vocabulary
from deconfuse._strangers import warn_of_strangers
from deconfuse._tally import assemble
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reading.column_names import ColumnChoice

__all__ = [
    "FLOAT_HINT",
    "MAX_PAIRS",
    "CodedValues",
    "PairTable",
    "WeightSums",
    "build_matrix",
    "refuse_empty",
    "refuse_missing",
    "refuse_spaced",
    "refuse_too_many_pairs",
]

# More distinct pairs than this never leave an engine: about a gigabyte of integers. A million
# classes with five pairs each stay well below it.
MAX_PAIRS = 25_000_000

# An identifier is told from a class by three signs together: see _refuse_identifiers.
_ID_VALUES = 1_000
_ID_ROWS_PER_VALUE = 2.0
_ID_SHARED = 0.1
_MANY_VALUES = 10_000
_MANY_SHARED = 0.01

FLOAT_HINT = (
    "cast the column to whole numbers or to strings; in pandas, whole numbers with missing"
    " values turn into floats."
)


@dataclass(frozen=True, slots=True)
class WeightSums:
    """What an engine added up over the weights of each pair.

    Attributes
    ----------
    sums, squares : ndarray of float
        Sum of the weights and of their squares.
    present : ndarray of int
        How many rows have a weight at all.
    lowest : ndarray of float
        The smallest weight, NaN where there is none.
    """

    sums: npt.NDArray[np.float64]
    squares: npt.NDArray[np.float64]
    present: npt.NDArray[np.int64]
    lowest: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CodedValues:
    """Values as positions among their distinct ones, where an engine can tell them apart."""

    distinct: npt.NDArray[Any]
    codes: npt.NDArray[Any]

    @property
    def dtype(self) -> np.dtype[Any]:
        """What the values are."""
        return self.distinct.dtype


@dataclass(frozen=True, slots=True)
class PairTable:
    """One row per distinct pair of values, none of them missing.

    Attributes
    ----------
    true, pred : ndarray or CodedValues
        Values as the engine gave them: integers, bools, or objects.
    rows : ndarray of int
        How many rows of the table have this pair.
    weights : WeightSums or None
        None where every row weighs one.
    """

    true: npt.NDArray[Any] | CodedValues
    pred: npt.NDArray[Any] | CodedValues
    rows: npt.NDArray[np.int64]
    weights: WeightSums | None = None


def build_matrix(
    table: PairTable, columns: ColumnChoice, *, classes: tuple[Label, ...] = ()
) -> ConfusionMatrix:
    """Return the confusion matrix of distinct pairs, with the classes sorted.

    Parameters
    ----------
    table : PairTable
        The pairs, each at least once.
    columns : ColumnChoice
        Where they came from, for the errors.
    classes : tuple, optional
        Classes that are known to exist, whether they occur or not.

    Returns
    -------
    ConfusionMatrix

    Raises
    ------
    InputError
        If values cannot be class names, are of two types, or look like identifiers, or if weights
        are missing, negative or not finite.

    Warns
    -----
    DeconfuseWarning
        If no class is in both columns.
    """
    rows = int(table.rows.sum())
    refuse_empty(rows)
    true = _encode(table.true, column=columns.label)
    pred = _encode(table.pred, column=columns.prediction or "the scores")
    _refuse_two_kinds(true, pred)
    _refuse_identifiers(true, pred, rows)
    if columns.prediction is not None:
        _refuse_identifiers(pred, true, rows)
    counts, squares = _cell_sums(table, columns.weight)
    labels = tuple(sorted({*true.names, *pred.names, *classes}))
    refuse_spaced(labels)
    place = {name: position for position, name in enumerate(labels)}
    true_at, pred_at = true.positions(place), pred.positions(place)
    matrix = assemble(true_at, pred_at, counts, len(labels))
    if columns.prediction is not None:
        # Said at the line that called `from_frame` or `from_file`.
        warn_of_strangers(matrix, labels, rows)
    if squares is None:
        return ConfusionMatrix(matrix, labels)
    return ConfusionMatrix(matrix, labels, assemble(true_at, pred_at, squares, len(labels)))


def name_positions(table: PairTable, classes: tuple[Label, ...]) -> PairTable:
    """Return the pairs with the position of the highest score replaced by its class."""
    names = np.empty(len(classes), dtype=object)
    names[:] = classes
    positions = np.asarray(table.pred, dtype=np.intp)
    return PairTable(table.true, CodedValues(names, positions), table.rows, table.weights)


def refuse_empty(rows: int) -> None:
    """Raise if there is nothing to count."""
    if rows == 0:
        raise InputError(
            "The table must have at least one row, got none.",
            hint="check the filter or the job that should have written the predictions.",
        )


def refuse_missing(missing: Mapping[str, int], rows: int) -> None:
    """Raise if values are missing, saying how many and in which column."""
    found = {column: count for column, count in missing.items() if count}
    if not found:
        return
    parts = " and ".join(f"{count:,} in {column!r}" for column, count in found.items())
    raise InputError(
        f"Labels and predictions must have no missing values, got {parts} (of {rows:,} rows).",
        hint="drop these rows, or give the missing class a name of its own.",
    )


def refuse_spaced(names: Iterable[Label]) -> None:
    """Raise if two class names differ only in the spaces around them."""
    spellings: dict[str, list[str]] = {}
    for name in names:
        if isinstance(name, str):
            spellings.setdefault(name.strip(), []).append(name)
    double = [" and ".join(map(repr, found)) for found in spellings.values() if len(found) > 1]
    if double:
        more = f" and {len(double) - 3:,} more such" if len(double) > 3 else ""
        raise InputError(
            "Class names must differ in more than the spaces around them, got"
            f" {'; '.join(double[:3])}{more}.",
            hint="strip the values, as `frame[column].str.strip()` does in pandas; if these are"
            " different classes, use ConfusionMatrix.from_predictions, which takes any labels.",
        )


def refuse_too_many_pairs(pairs: int) -> None:
    """Raise if an engine had more distinct pairs than are taken out of it."""
    if pairs > MAX_PAIRS:
        raise InputError(
            f"A table must have at most {MAX_PAIRS:,} distinct (label, prediction) pairs,"
            " got more. A column looks like an identifier, not like a class.",
            hint="name the column of classes; if these are classes, count shards of the table and"
            " merge the matrices with `+`.",
        )


@dataclass(frozen=True, slots=True)
class _Encoded:
    """The class names of a column, and the position of each value among them."""

    column: str
    names: list[Label]
    codes: npt.NDArray[Any]

    def positions(self, place: Mapping[Label, int]) -> npt.NDArray[np.intp]:
        """Return the position of each value in an order of all classes."""
        return np.array([place[name] for name in self.names], dtype=np.intp)[self.codes]


def _encode(values: npt.NDArray[Any] | CodedValues, *, column: str) -> _Encoded:
    if isinstance(values, CodedValues):
        distinct_values = _encode(values.distinct, column=column)
        return _Encoded(column, distinct_values.names, distinct_values.codes[values.codes])
    if values.dtype.kind == "b":
        distinct, codes = _distinct_integers(values.astype(np.int64))
        return _Encoded(column, [bool(value) for value in distinct], codes)
    if values.dtype.kind in "iu":
        distinct, codes = _distinct_integers(values)
        _refuse_too_large(distinct.tolist(), column)
        return _Encoded(column, distinct.tolist(), codes)
    items = values.tolist()
    types = set(map(type, items))
    if any(issubclass(found, (float, np.floating)) for found in types):
        fraction = next(item for item in items if isinstance(item, (float, np.floating)))
        raise InputError(
            f"Column {column!r} must hold class names (int, str, bool or date), got floats such"
            f" as {float(fraction)!r}.",
            hint=FLOAT_HINT,
        )
    # True == 1 as a key, so types are told apart before values are.
    examples = [
        as_label(next(i for i in items if type(i) is found), what=f"Column {column!r}")
        for found in types
    ]
    kinds = sorted({str(kind_of(example)) for example in examples})
    if len(kinds) > 1:
        raise InputError(
            f"Column {column!r} must hold values of one type, got {' and '.join(kinds)}:"
            f" {show(examples)}.",
            hint="turn all of them into strings.",
        )
    vocabulary = Vocabulary()
    codes = vocabulary.codes(items)
    names = [as_label(value, what=f"Column {column!r}") for value in vocabulary]
    if kinds == ["int"]:
        _refuse_too_large(names, column)
    return _Encoded(column, names, codes)


def _refuse_too_large(names: Iterable[Any], column: str) -> None:
    large = [name for name in names if not -(2**63) <= name < 2**63]
    if large:
        raise InputError(
            f"Whole numbers in column {column!r} must fit in 64 bits, got {large[0]}.",
            hint="turn identifiers into strings.",
        )


def _distinct_integers(
    values: npt.NDArray[Any],
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return distinct integers and the position of each value among them."""
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values) or high > np.iinfo(np.int64).max:
        return np.unique(values, return_inverse=True)
    # A table over a narrow range is many times faster than sorting.
    offsets = (values - values.dtype.type(low)).astype(np.intp)
    seen = np.zeros(high - low + 1, dtype=np.bool_)
    seen[offsets] = True
    return np.flatnonzero(seen) + low, (np.cumsum(seen) - 1)[offsets]


def _refuse_two_kinds(true: _Encoded, pred: _Encoded) -> None:
    kinds = kind_of(true.names[0]), kind_of(pred.names[0])
    if kinds[0] != kinds[1]:
        raise InputError(
            f"Labels and predictions must be of one type, got {kinds[0]} in {true.column!r} (as"
            f" {true.names[0]!r}) and {kinds[1]} in {pred.column!r} (as {pred.names[0]!r}).",
            hint="map one column to the names of the other, or cast both to strings.",
        )


def _refuse_identifiers(column: _Encoded, other: _Encoded, rows: int) -> None:
    """Raise if a column holds identifiers of samples where classes should be.

    A classifier of 100,000 classes with one sample each is legitimate, but its labels and its
    predictions name the same classes. An identifier has a value of its own in nearly every row
    and hardly a value in common with the other column. With very many values, sharing none
    is sign enough: identifiers of users or videos occur in more than one row.
    """
    names = column.names
    if len(names) <= _ID_VALUES:
        return
    shared = len(set(names).intersection(other.names)) / len(names)
    is_rare = rows / len(names) < _ID_ROWS_PER_VALUE and shared < _ID_SHARED
    if is_rare or (len(names) > _MANY_VALUES and shared < _MANY_SHARED):
        raise InputError(
            f"Column {column.column!r} must hold classes, but looks like an identifier:"
            f" {len(names):,} distinct values in {rows:,} rows (such as {show(names[:2])}), hardly"
            " any of them in the other column.",
            hint="name the column of classes; if these are classes, use"
            " ConfusionMatrix.from_predictions, which takes any labels.",
        )


def _cell_sums(
    table: PairTable, weight: str | None
) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    weights = table.weights
    if weights is None:
        return table.rows, None
    missing = int(table.rows.sum() - weights.present.sum())
    if missing:
        raise InputError(
            f"Weights must be numbers, got {missing:,} missing or unreadable in {weight!r}"
            f" (of {int(table.rows.sum()):,} rows).",
            hint="fill them, with 0 for rows that should not count.",
        )
    lowest = float(np.nanmin(weights.lowest)) if not np.isnan(weights.lowest).all() else 0.0
    if lowest < 0:
        raise InputError(
            f"Weights must not be negative, got {lowest:g} in {weight!r}.",
        )
    if not (np.isfinite(weights.sums).all() and np.isfinite(weights.squares).all()):
        raise InputError(
            f"Weights and their squares must be finite, got NaN, infinite or too large values in"
            f" {weight!r}.",
        )
    return weights.sums, weights.squares
