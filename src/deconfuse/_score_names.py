"""What the names of the columns of scores say: which class is where, and whether they are the same.

A table without names, or with the numbers that pandas gives by itself, says nothing.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deconfuse._checks import show
from deconfuse.errors import DeconfuseWarning, InputError

__all__ = ["check_same_names", "classes_by_name", "column_names", "plain", "refuse_other_order"]


def column_names(scores: Any) -> list[Any] | None:
    """Return the names of the columns of a frame, or None where there are none but numbers."""
    columns = getattr(scores, "column_names", getattr(scores, "columns", None))
    if columns is None or not np.iterable(columns):
        return None
    names = list(columns)
    return None if names == list(range(len(names))) else names


def classes_by_name(seen: NDArray[Any], names: Sequence[Any]) -> NDArray[Any] | None:
    """Return the class of each column by its name, or None where columns are named otherwise.

    Files know numbers as text, so names are compared as it.
    """
    texts = [str(name) for name in names]
    known = {_text(value): value for value in plain(seen)}
    if _is_run(names) and set(texts) != set(known):
        # What pandas numbers by itself looks like this too, after a column was cut off.
        if not set(known) < set(texts):
            return None
        raise InputError(
            f"Columns of `scores` numbered {show(names)} may be classes or only numbers, where `y`"
            f" has the classes {show(plain(seen))}.",
            hint="say which class each column is, in their order: `Rebalancer(classes=[...])`.",
        )
    there = set(texts)
    lacking = [value for text, value in known.items() if text not in there]
    if len(lacking) == len(known):
        return None
    hint = "name each column by its class, or say `Rebalancer(classes=[...])`."
    if lacking or len(there) < len(texts):
        got = f"none named {show(lacking)}" if lacking else "one name twice"
        raise InputError(
            f"Columns of `scores` that are named by classes must name every class of `y` once, got"
            f" {got}: the columns are {show(names)}.",
            hint=hint,
        )
    absent = [text for text in texts if text not in known]
    if seen.dtype.kind in "iu" and all(re.fullmatch(r"-?\d+", text) for text in absent):
        return np.array([int(text) for text in texts])
    if absent and seen.dtype.kind != "U":
        raise InputError(
            "Columns of `scores` must be classes of one type, got"
            f" {show(absent)} beside {show(plain(seen), 3)}.",
            hint=hint,
        )
    return np.array([known.get(text, text) for text in texts])


def _is_run(names: Sequence[Any]) -> bool:
    """Return whether names are whole numbers that follow each other."""
    if not all(isinstance(name, (int, np.integer)) for name in names):
        return False
    return [int(name) for name in names] == list(range(int(names[0]), int(names[0]) + len(names)))


def refuse_other_order(classes: NDArray[Any], names: Sequence[Any] | None, what: str) -> None:
    """Raise if columns are named by the classes, with a prefix perhaps, in another order."""
    texts = [_text(value) for value in plain(classes)]
    positions = {text: position for position, text in enumerate(texts)}
    found = []
    for name in map(str, names or ()):
        ends = (name[match.end() :] for match in re.finditer(r"^|[\W_]+", name))
        found.append(next((positions[end] for end in ends if end in positions), -1))
    if sorted(found) == list(range(len(texts))) and found != sorted(found):
        raise InputError(
            f"Columns of `scores` must be in the order of the classes, got {show(names or ())}"
            f" where {what} are {show(plain(classes))}.",
            hint="say which class each column is, in their order: `Rebalancer(classes=[...])`.",
        )


def check_same_names(names: Sequence[Any] | None, fitted: Sequence[Any] | None, who: str) -> None:
    """Raise, or warn where one side has none, if columns are not those of `fit`.

    The words are scikit-learn's, which its users look for.
    """
    if names == fitted:
        return
    if names is None or fitted is None:
        said, how = ("X has", "without") if names else ("X does not have valid", "with")
        warnings.warn(
            f"{said} feature names, but {who} was fitted {how} feature names: columns are taken in"
            " their order.",
            DeconfuseWarning,
            stacklevel=4,
        )
        return
    raise InputError(
        "`scores` must have the columns of `fit`. The feature names should match those that were"
        f" passed during fit, in the same order: {show(fitted)}, got {show(names)}.",
        hint="bring the columns in that order, as `scores[names]` does.",
    )


def _text(value: Any) -> str:
    # Classes that are whole numbers stand as floats in many tables.
    return str(int(value)) if isinstance(value, float) else str(value)


def plain(values: Any) -> list[Any]:
    """Return class names as Python scalars."""
    return [value.item() if isinstance(value, np.generic) else value for value in values]
