r"""Refuse tables of counts that are transposed, contain totals, or hold shares.

Each would count wrongly without a word. Only what a table says by its own names is believed, and
numbers alone are refused only where they are shares. The options ``transpose`` and ``drop`` say
what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deconfuse._checks import CountMatrix, Label, show
from deconfuse.errors import InputError

__all__ = [
    "CORNER",
    "TOTALS_HINT",
    "is_total",
    "kept_lines",
    "refuse_shares",
    "refuse_totals",
    "refuse_transposed",
]

# What stands where the names of rows and columns meet in a table with names.
CORNER = "true \\ predicted"

TOTALS_HINT = (
    "leave them out with `drop=[...]` (`--drop` on the command line). If this is a class, give"
    " numbers and names apart: `ConfusionMatrix.from_counts(numbers, labels=[...])`."
)
_TRUE = {"true", "actual", "truth", "ground truth", "reference", "target", "y true"}
_PREDICTED = {
    "predicted",
    "prediction",
    "predictions",
    "pred",
    "classified",
    "map",
    "y pred",
    "y hat",
}
_BETWEEN = re.compile(r"[\\/|,;:]|\bvs\b\.?", re.IGNORECASE)
# Shares that were rounded to three digits add up to 1 or 100 within this, relatively.
_SHARE_TOLERANCE = 0.02


def is_total(name: object) -> bool:
    """Return whether a row or column has a name that people give to sums.

    Examples
    --------
    >>> is_total("All"), is_total("totally")
    (True, False)
    """
    return isinstance(name, str) and name.strip().lower() in ("total", "all", "sum")


def kept_lines(
    rows: Sequence[object], columns: Sequence[object], drop: Iterable[object]
) -> tuple[list[int], list[int]]:
    """Return which rows and columns stay when those named in ``drop`` are left out.

    Names are compared as text: a file has no other. A name may be on one axis only.

    Examples
    --------
    >>> kept_lines(["a", "b"], ["a", "All", "b"], ["All"])
    ([0, 1], [0, 2])
    """
    unwanted = {str(name): name for name in drop}
    known = {str(name) for name in (*rows, *columns)}
    unknown = [name for text, name in unwanted.items() if text not in known]
    if unknown:
        raise InputError(
            f"`drop` must name rows or columns, got {show(unknown)}.",
            hint=f"the names are {show(dict.fromkeys((*rows, *columns)))}.",
        )
    kept_rows, kept_columns = (
        [position for position, name in enumerate(axis) if str(name) not in unwanted]
        for axis in (rows, columns)
    )
    return kept_rows, kept_columns


def refuse_transposed(rows: object, columns: object = None) -> None:
    r"""Raise if the names of the axes say that predicted classes are on rows.

    Parameters
    ----------
    rows, columns : object
        The names of both axes. The corner of a table is given alone: it names the rows, or both,
        as in ``predicted \ true``. Only names that say nothing else count: "Predictions of model
        A" may be a title.

    Examples
    --------
    >>> refuse_transposed("y_true", "y_pred")
    >>> refuse_transposed("Predictions of model A")
    >>> refuse_transposed("Predicted / Actual")
    Traceback (most recent call last):
    ...
    deconfuse.errors.InputError: Rows must be true classes and columns predicted ones, got ...
    """
    said: tuple[object, object] = (rows, columns)
    if columns is None and isinstance(rows, str):
        parts = _BETWEEN.split(rows)
        if len(parts) > 2 or _role(parts[0]) is None:
            return
        said = (parts[0], parts[1] if len(parts) == 2 else None)
    on_rows, on_columns = map(_role, said)
    if (on_rows == "predicted" and on_columns != "predicted") or (
        on_columns == "true" and on_rows != "true"
    ):
        named = " and ".join(
            f"{name!r} as the name of {axis}"
            for name, axis in ((rows, "rows"), (columns, "columns"))
            if name is not None
        )
        raise InputError(
            f"Rows must be true classes and columns predicted ones, got {named}.",
            hint="if predictions are on rows, say `transpose=True` (`--transpose` on the command"
            " line); if only the names are wrong, rename the axes.",
        )


def _role(name: object) -> str | None:
    """Return what an axis holds, where its name says this and nothing else."""
    if not isinstance(name, str):
        return None
    words = " ".join(re.split(r"[\s_-]+", name.strip().lower()))
    plain = re.sub(r" (class|classes|label|labels)$", "", words)
    if plain in _PREDICTED:
        return "predicted"
    return "true" if plain in _TRUE else None


def refuse_totals(counts: CountMatrix, names: Sequence[Label]) -> None:
    """Raise if the row and the column called total, all or sum are the sums of the others."""
    for position, name in enumerate(names):
        if not is_total(name) or len(names) < 2:
            continue
        lines = _lines(counts, position)
        # The sum over everything is twice the totals, which are counted with what they add up.
        sums = [np.asarray(counts.sum(axis=axis)).ravel() for axis in (0, 1)]
        tolerance = 1e-3 if counts.dtype.kind == "f" else 1e-9
        if lines[0].any() and all(
            np.allclose(whole, 2.0 * line, rtol=tolerance, atol=0)
            for line, whole in zip(lines, sums, strict=True)
        ):
            raise InputError(
                f"Rows and columns must be classes, but those named {name!r} are the sums of the"
                " others.",
                hint=TOTALS_HINT,
            )


def _lines(counts: CountMatrix, position: int) -> list[npt.NDArray[Any]]:
    """Return one row and one column."""
    chosen = np.zeros(counts.shape[0])
    chosen[position] = 1.0
    return [np.asarray(chosen @ counts), np.asarray(counts @ chosen)]


def refuse_shares(counts: CountMatrix) -> None:
    """Raise if cells are fractions whose rows, columns or total sum to 1 or to 100.

    Such a table is a normalized matrix or holds percentages: counts cannot be got back from it.
    Whole numbers are counts, even where each class has a hundred samples.

    Examples
    --------
    >>> refuse_shares(np.array([[100, 0], [50, 50]]))
    >>> refuse_shares(np.array([[0.9, 0.1], [0.2, 0.8]]))
    Traceback (most recent call last):
    ...
    deconfuse.errors.InputError: Cells must be counts, got fractions that sum to 1 in each row.
    Hint: ...
    """
    values = counts if isinstance(counts, np.ndarray) else counts.data
    if values.dtype.kind != "f" or np.array_equal(values, np.floor(values)):
        return
    sums = {
        "in each row": counts.sum(axis=1),
        "in each column": counts.sum(axis=0),
        "in all": counts.sum(),
    }
    for where, found in sums.items():
        for whole in (1, 100):
            if np.allclose(found, whole, rtol=_SHARE_TOLERANCE, atol=0):
                raise InputError(
                    f"Cells must be counts, got fractions that sum to {whole} {where}.",
                    hint="give the counts that they were made from; with the samples of each true"
                    " class, `ConfusionMatrix.from_shares(matrix, row_totals=[...])`."
                    " Sums of sample weights come with their `variances=`. Scores of samples in a"
                    " file are counted with `scores=[...]`.",
                )
