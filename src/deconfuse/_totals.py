"""Rows and columns of sums among the classes of a table: told by their names and by their numbers.

A row and a column that add up all others count every sample again, so they are refused. What is
named like a sum is one where it is the sum of the others. Under any other name, as "Summe" or 99,
it is one where this can be no accident: both its row and its column are sums, two other classes
or more have samples, and so many numbers agree that chance is out of the question. Numbers without
names are refused only with three other classes or more that are all seen and predicted, and the
sums last. Whoever gives numbers with ``labels=`` has named the classes, and only names like
"total" are doubted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deconfuse._checks import CountMatrix, Label
from deconfuse.errors import InputError

__all__ = [
    "TOTALS_HINT",
    "is_total",
    "refuse_hidden_totals",
    "refuse_last_totals",
    "refuse_totals",
    "sums_at",
]

TOTALS_HINT = "leave out the totals; pandas.crosstab adds them with margins=True."
_CLASS_HINT = (
    f"{TOTALS_HINT} If this is a class, give numbers and names apart:"
    " `ConfusionMatrix.from_counts(numbers, labels=[...])`."
)
# How people and pandas call a row or column of sums, in lower case and without marks.
_TOTALS = frozenset(
    "all total totals sum sums subtotal subtotals margin margins Σ ∑ grand_total"
    " summe gesamt gesamtsumme insgesamt totale totaux somme suma totaal".lower().split()
)
# A row of numbers is a sum by chance in one of this many tables, at most: where the column is one
# too, and where it is not.
_CHANCE = 100.0
_CHANCE_ALONE = 1_000.0


def is_total(name: object) -> bool:
    """Return whether a name is one that people give to sums.

    Examples
    --------
    >>> is_total("Grand Total:"), is_total("totally")
    (True, False)
    """
    return (
        isinstance(name, str)
        and "_".join(re.split(r"[\s_:.]+", name.lower())).strip("_") in _TOTALS
    )


def refuse_totals(counts: CountMatrix, names: Sequence[Label]) -> None:
    """Raise if what is named like a sum, on rows and columns, is the sum of all other classes."""
    totals = [position for position, name in enumerate(names) if is_total(name)]
    if len(totals) != 1 or len(names) < 2:
        return
    if all(_is_sum(counts, axis, totals[0]) for axis in (0, 1)):
        raise _refusal(f"those named {names[totals[0]]!r} are", TOTALS_HINT)


def refuse_hidden_totals(
    cells: CountMatrix, rows: Sequence[Label], columns: Sequence[Label]
) -> None:
    """Raise if a row and a column are sums of the others, whatever they are called.

    Parameters
    ----------
    cells : ndarray or sparse array of shape (n_rows, n_columns)
        A table as it was given, not yet in the order of its classes.
    rows, columns : sequence
        The names of both axes. A sum may be called one way on rows and another on columns.
    """
    row, column = sums_at(cells, 0), sums_at(cells, 1)
    if row is not None and column is not None:
        under, beside = rows[row], columns[column]
        if under == beside or (under not in columns and beside not in rows):
            named = f"{under!r}"
            if under != beside:
                named += f" on rows and {beside!r} on columns"
            raise _refusal(f"those named {named} are", _CLASS_HINT)
        return
    for axis, side, names, others in ((0, "row", rows, columns), (1, "column", columns, rows)):
        # On one side alone, a class would have to be as frequent there as all others together.
        position = sums_at(cells, axis, chance=_CHANCE_ALONE)
        if position is not None and names[position] not in others:
            raise InputError(
                f"Rows and columns must be classes, but the {side} named {names[position]!r} holds"
                " the sums of the others.",
                hint=f"{TOTALS_HINT} If this is a class, give it a row and a column, of zeros where"
                " nothing is known.",
            )


def refuse_last_totals(counts: CountMatrix) -> None:
    """Raise if the last row and column of numbers without names are sums of the others."""
    size = counts.shape[0]
    if size < 4 or not _is_whole(counts):
        return
    margins = counts.sum(axis=0), counts.sum(axis=1)
    if all(margin.all() for margin in margins) and sums_at(counts, 0) == size - 1 == sums_at(
        counts, 1
    ):
        raise _refusal("the last ones are", _CLASS_HINT)


def sums_at(cells: CountMatrix, axis: int, *, chance: float = _CHANCE) -> int | None:
    """Return which row (axis 0) or column (axis 1) is the sum of the others, beyond chance.

    Examples
    --------
    >>> sums_at(np.array([[50, 3], [4, 60], [54, 63]]), axis=0)
    2
    >>> sums_at(np.array([[1, 0], [0, 1], [1, 1]]), axis=0) is None
    True
    """
    if cells.shape[axis] < 3:
        return None
    sizes = np.asarray(cells.sum(axis=1 - axis))
    # The sum of the others is the largest, if it is there.
    position = int(sizes.argmax())
    if np.count_nonzero(sizes) < 3 or not _is_sum(cells, axis, position, exactly=True):
        return None
    part = _line(cells, axis, position)
    # How many values each sum could have had. Fractions go by steps too, as means of five folds do.
    values = np.asarray(cells if isinstance(cells, np.ndarray) else cells.data)
    step = max(1.0, 1 / float(values[values > 0].min()))
    ways = math.prod(1 + min(value * step, 1e4) for value in part[part > 0].tolist()[:60])
    return position if np.count_nonzero(part) > 1 and ways >= chance else None


def _is_whole(counts: CountMatrix) -> bool:
    values = counts if isinstance(counts, np.ndarray) else counts.data
    return counts.dtype.kind != "f" or np.array_equal(values, np.floor(values))


def _line(cells: CountMatrix, axis: int, position: int) -> npt.NDArray[Any]:
    chosen = np.zeros(cells.shape[axis])
    chosen[position] = 1.0
    return np.asarray(chosen @ cells if axis == 0 else cells @ chosen)


def _is_sum(cells: CountMatrix, axis: int, position: int, *, exactly: bool = False) -> bool:
    """Return whether a row or column is the sum of the others, nearly where it was rounded."""
    part = _line(cells, axis, position)
    is_rounded = cells.dtype.kind == "f" and not exactly
    # The sum over everything is twice the totals, which are counted with what they add up.
    whole = np.asarray(cells.sum(axis=axis))
    return bool(part.any()) and np.allclose(
        whole, 2 * part, rtol=1e-3 if is_rounded else 1e-9, atol=0
    )


def _refusal(what: str, hint: str) -> InputError:
    return InputError(
        f"Rows and columns must be classes, but {what} the sums of the others.", hint=hint
    )
