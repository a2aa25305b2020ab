"""Values that a file wrote as text to the class names they stand for.

A CSV file has no types, and a type guessed from its first rows can be wrong in its last. So
values are counted as the text they are, and the type is read from all distinct values at once.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from deconfuse._checks import show
from deconfuse._columns import Vocabulary
from deconfuse.errors import InputError
from deconfuse.reading.pairs import FLOAT_HINT

__all__ = ["from_json", "from_text"]

_Kind: TypeAlias = Literal["int", "float", "bool", "date", "str"]

# Only the one usual spelling of a number is a number: "007" and "+7" are names.
_INT = re.compile(r"0|-?[1-9][0-9]{0,17}")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NOT_A_NUMBER = frozenset({"nan", "NaN", "NAN", "<NA>", "NA", "N/A", "null", "NULL", "None"})


def from_text(
    true: Sequence[str], pred: Sequence[str], columns: tuple[str, str]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the values of two text columns as ints, bools, dates or strings, both alike.

    Parameters
    ----------
    true, pred : sequence of str
        Values of the two columns, none missing.
    columns : tuple of str
        Their names, for the errors.

    Returns
    -------
    true, pred : ndarray

    Raises
    ------
    InputError
        If a column holds floats, or numbers with words for missing ones among them, or if the
        columns are of two types and have no value in common.

    Examples
    --------
    >>> from_text(["7", "8"], ["8", "8"], ("label", "prediction"))
    (array([7, 8]), array([8, 8]))
    """
    true_words, pred_words = Vocabulary(), Vocabulary()
    true_codes, pred_codes = true_words.codes(true), pred_words.codes(pred)
    distinct = [list(true_words), list(pred_words)]
    kinds = [_kind(values, column) for values, column in zip(distinct, columns, strict=True)]
    if kinds[0] != kinds[1]:
        if not set(distinct[0]) & set(distinct[1]):
            raise InputError(
                f"Labels and predictions must be of one type, got {kinds[0]} in {columns[0]!r} (as"
                f" {distinct[0][0]!r}) and {kinds[1]} in {columns[1]!r} (as {distinct[1][0]!r}).",
                hint="map one column to the names of the other.",
            )
        # Some values are names in one column only, such as "unknown" among digits.
        kinds = ["str", "str"]
    return _convert(distinct[0], kinds[0])[true_codes], _convert(distinct[1], kinds[1])[pred_codes]


def from_json(values: Sequence[str], column: str) -> npt.NDArray[Any]:
    """Return the values of JSON texts, with the types that JSON has.

    Examples
    --------
    >>> from_json(['"cat"', '"dog"'], "label").tolist()
    ['cat', 'dog']
    """
    words = Vocabulary()
    codes = words.codes(values)
    read = [json.loads(word) for word in words]
    nested = [value for value in read if isinstance(value, (list, dict))]
    if nested:
        raise InputError(
            f"Column {column!r} must hold class names, got {show(nested, 1)}.",
            hint="write one object for each sample, not one for all; for scores, use `scores`.",
        )
    fits = all(type(value) is int and -(2**63) <= value < 2**63 for value in read)
    return (np.array(read, dtype=np.int64) if fits else _objects(read))[codes]


def _kind(values: Sequence[str], column: str) -> _Kind:
    """Return the narrowest kind that all values have."""
    numbers = [value for value in values if _FLOAT.fullmatch(value)]
    unknown = [value for value in values if value in _NOT_A_NUMBER]
    if numbers and unknown and len(numbers) + len(unknown) == len(values):
        raise InputError(
            f"Column {column!r} must have no missing values, got {show(unknown)} among numbers.",
            hint="drop these rows, or give the missing class a number of its own.",
        )
    if all(_INT.fullmatch(value) for value in values):
        return "int"
    # Floats have a point or an exponent; a column such as "007", "010" holds names.
    floats = [value for value in numbers if not value.lstrip("+-").isdigit()]
    if len(numbers) == len(values) and floats:
        raise InputError(
            f"Column {column!r} must hold class names (int, str, bool or date), got floats such as"
            f" {min(floats)}.",
            hint=FLOAT_HINT,
        )
    if all(value in _BOOLS for value in values):
        return "bool"
    if all(_DATE.fullmatch(value) and _is_date(value) for value in values):
        return "date"
    return "str"


def _is_date(value: str) -> bool:
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _convert(values: Sequence[str], kind: _Kind) -> npt.NDArray[Any]:
    if kind == "int":
        return np.array([int(value) for value in values], dtype=np.int64)
    if kind == "bool":
        return np.array([_BOOLS[value] for value in values], dtype=np.bool_)
    if kind == "date":
        return _objects([datetime.date.fromisoformat(value) for value in values])
    return _objects(values)


def _objects(values: Sequence[Any]) -> npt.NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
