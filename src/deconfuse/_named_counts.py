"""A matrix of counts from elsewhere (array, sparse array, data frame) with its class names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from deconfuse._checks import CountMatrix, Label, as_count_matrix, class_names, kind_of, show
from deconfuse._sources import from_torch
from deconfuse._tally import assemble
from deconfuse.errors import InputError

__all__ = [
    "CORNER",
    "TOTALS_HINT",
    "by_position",
    "is_frame",
    "is_total",
    "named_counts",
    "named_variances",
    "refuse_totals",
    "refuse_transposed",
    "scattered",
]

# What stands where the names of rows and columns meet in a table with names.
CORNER = "true \\ predicted"

TOTALS_HINT = "leave out the totals; pandas.crosstab adds them with margins=True."
# How people and pandas call a row or column of sums, in lower case.
_TOTALS = frozenset(
    "all total totals sum sums subtotal subtotals margin margins Σ ∑ grand_total".lower().split()
)
# What tells the axis itself, so that the order of the words does not.
_SAYS_WHERE = re.compile(r"row|col|across|down|->|[→↓⇒]", re.IGNORECASE)
# Words that say what an axis holds.
_AXIS_WORDS = re.compile(
    r"(?<![a-z])(?:(y_?true|true|(?:ground[ _]?)?truth|actuals?|reference|target)"
    r"|y_?pred|y_?hat|pred(?:s|ict(?:ed|ions?)?)?)(?![a-z])",
    re.IGNORECASE,
)


def is_frame(values: Any) -> bool:
    """Return whether a matrix is a data frame of any library, with class names of its own."""
    is_bare = isinstance(values, (np.ndarray, list, tuple)) or sp.issparse(values)
    return not is_bare and hasattr(values, "columns")


def named_counts(
    counts: Any, labels: Iterable[object] | None
) -> tuple[CountMatrix, tuple[Label, ...]]:
    """Return trusted counts and their class names.

    The names of a data frame are those of its rows and columns, aligned by name. ``labels`` then
    chooses the order and may add classes that the frame lacks; for a bare matrix ``labels`` are
    the names, 0, 1, 2 and so on by default.
    """
    wanted = None if labels is None else class_names(labels)
    if is_frame(counts):
        rows, columns = _axes(counts)
        return _aligned(_cells(counts, columns), rows, columns, wanted)
    matrix = as_count_matrix(from_torch(counts))
    if wanted is None:
        return matrix, tuple(range(matrix.shape[0]))
    if len(wanted) != matrix.shape[0]:
        raise InputError(
            f"`labels` must have one name per class, got {len(wanted):,} names for"
            f" {matrix.shape[0]:,} classes.",
        )
    refuse_totals(matrix, wanted)
    return matrix, wanted


def by_position(given: Any, names: tuple[Label, ...]) -> Any:
    """Return the cells alone of a frame whose axes have only the numbers that pandas gives.

    Where axes have names, or the classes are these numbers, the frame stays as it is.
    """
    axes: tuple[Any, Any] = (getattr(given, "index", None), getattr(given, "columns", None))
    is_numbered = all(
        type(axis).__name__ == "RangeIndex" and axis.name is None and len(axis) == len(names)
        for axis in axes
    )
    if not is_numbered or set(names) == set(range(len(names))):
        return given
    return given.to_numpy()


def named_variances(variances: Any, counts: Any, names: tuple[Label, ...]) -> Any:
    """Return variances in the order of ``names``, which are those of ``counts`` as given.

    A data frame is aligned by its names. A bare matrix has none, so it can belong to a data frame
    only where that is in this order already.
    """
    own = _axis_names(*_axes(counts), names, "counts") if is_frame(counts) else (names, names)
    if not is_frame(variances):
        if any(axis != names for axis in own):
            raise InputError(
                "`variances` must name its classes where those of `counts` are put in another"
                " order, got a matrix without names.",
                hint="give it as a DataFrame with the rows and columns of `counts`.",
            )
        return from_torch(variances)
    rows, columns = _axes(variances)
    axes = _axis_names(rows, columns, names, "variances")
    place = {name: position for position, name in enumerate(names)}
    places: list[list[int]] = []
    for side, found, theirs in zip(("rows", "columns"), axes, own, strict=True):
        differing = set(found) ^ set(theirs)
        if differing or kind_of(found[0]) != kind_of(theirs[0]):
            strange = [name for name in (*found, *theirs) if name in differing]
            raise InputError(
                f"`variances` must have the {side} of `counts`, got {show(strange or found)} in one"
                " of them only.",
                hint="make both from the same samples and classes.",
            )
        places.append([place[name] for name in found])
    return _placed(_cells(variances, columns), places[0], places[1], len(names))


def is_total(name: object) -> bool:
    """Return whether a name is one that people give to sums.

    Examples
    --------
    >>> is_total("Grand Total"), is_total("totally")
    (True, False)
    """
    return isinstance(name, str) and "_".join(name.lower().split()) in _TOTALS


def refuse_totals(counts: CountMatrix, names: tuple[Label, ...]) -> None:
    """Raise if what is named like a sum, on rows and columns, is the sum of all other classes."""
    totals = [position for position, name in enumerate(names) if is_total(name)]
    if len(totals) != 1 or len(names) < 2:
        return
    (last,) = totals
    chosen = np.zeros(len(names))
    chosen[last] = 1.0
    for whole, part in (
        (counts.sum(axis=0), chosen @ counts),
        (counts.sum(axis=1), counts @ chosen),
    ):
        # The sum over everything is twice the totals, which are counted with what they add up.
        if not np.allclose(whole, 2 * part, rtol=1e-9, atol=0) or not part.any():
            return
    raise InputError(
        f"Rows and columns must be classes, but those named {names[last]!r} are the sums of the"
        " others.",
        hint=TOTALS_HINT,
    )


def refuse_transposed(rows: object, columns: object = None) -> None:
    r"""Raise if the names of the axes say that predicted classes are on rows.

    What stands in the corner of a table names its rows, or both, as in ``predicted \ true``.

    Examples
    --------
    >>> refuse_transposed("y_true", "y_pred")
    >>> refuse_transposed("true \\ predicted")
    """
    if columns is None and isinstance(rows, str) and _SAYS_WHERE.search(rows):
        # "columns: predicted" or an arrow tells more than the order of the words.
        return
    on_rows, on_columns = _axis_kinds(rows), _axis_kinds(columns)
    first, second = on_rows[:1], on_columns[:1] or on_rows[1:2]
    if first != ["predicted"] and second != ["true"]:
        return
    if first == second or first == ["true"] or second == ["predicted"]:
        return
    named = ((axis, name) for axis, name in (("rows", rows), ("columns", columns)) if name)
    raise InputError(
        "Rows must be true classes and columns predicted ones, got"
        f" {' and '.join(f'{name!r} as the name of {axis}' for axis, name in named)}.",
        hint="transpose the table (`.T` in pandas); if only the names are wrong, rename the axes.",
    )


def _axis_kinds(name: object) -> list[str]:
    """Return what the name of an axis speaks of, in its order."""
    found = _AXIS_WORDS.finditer(name) if isinstance(name, str) else ()
    return list(dict.fromkeys("true" if match.group(1) else "predicted" for match in found))


def scattered(rows: Any, columns: Any, values: Any, n_classes: int) -> CountMatrix:
    """Return the matrix of some cells, after a check that they lie in it, each once."""
    try:
        parts = [np.asarray(part) for part in (rows, columns, values)]
    except ValueError:
        raise InputError("Nonzero cells must be plain lists.") from None
    if any(part.ndim != 1 for part in parts) or len({len(part) for part in parts}) != 1:
        raise InputError("Nonzero cells must be three lists of equal length.")
    if not len(parts[0]):
        parts = [part.astype(np.int64) for part in parts]
    places = parts[:2]
    if any(part.dtype.kind not in "iu" for part in places) or any(
        part.size and (part.min() < 0 or part.max() >= n_classes) for part in places
    ):
        raise InputError(f"Positions of cells must be whole numbers from 0 to {n_classes - 1}.")
    codes = parts[0].astype(np.int64) * n_classes + parts[1].astype(np.int64)
    if len(np.unique(codes)) < len(codes):
        raise InputError("Each cell must be given once, got some more than once.")
    if parts[2].dtype.kind not in "iuf":
        raise InputError(f"Values of cells must be numbers, got {show(parts[2][:1].tolist())}.")
    return assemble(parts[0], parts[1], parts[2], n_classes)


def _axes(frame: Any) -> tuple[list[object], list[object]]:
    """Return the names of the rows and of the columns of a data frame."""
    columns = list(getattr(frame, "column_names", frame.columns))
    if len(set(columns)) < len(columns):
        # Columns are taken by name below, which needs names that are distinct.
        class_names(columns, name="columns of counts")
    index = getattr(frame, "index", None)
    if _starts_with_names(frame, index, columns):
        refuse_transposed(columns[0])
        return _column(frame, columns[0]), columns[1:]
    refuse_transposed(*(getattr(axis, "name", None) for axis in (index, frame.columns)))
    return columns if index is None else list(index), columns


def _starts_with_names(frame: Any, index: Any, columns: list[object]) -> bool:
    """Return whether the first column holds the row names, as a file with names is read."""
    if columns and isinstance(columns[0], str) and columns[0] == CORNER:
        return True
    if len(columns) != len(frame) + 1 or len(columns) < 2:
        return False
    if index is None:
        return True
    # An index that was set has the names of the rows; the first column is then a class.
    if type(index).__name__ != "RangeIndex" or index.name is not None:
        return False
    first = _column(frame, columns[0])
    is_class = kind_of(columns[0]) == kind_of(columns[1])
    return (
        not is_class
        or any(isinstance(name, str) for name in first)
        or _is_text_of(columns[1:], first)
    )


def _is_text_of(columns: Iterable[object], names: Iterable[object]) -> bool:
    """Return whether columns are the text of names, as every file has them in its first line."""
    return set(columns) == {str(name) for name in names}


def _axis_names(
    rows: list[object], columns: list[object], known: tuple[Label, ...], what: str
) -> tuple[tuple[Label, ...], tuple[Label, ...]]:
    """Return the classes of both axes of a frame.

    A file has text in its first line, whatever the classes are: 1 and 2 come back as "1" and "2"
    on columns, and as numbers on rows, where pandas tells types apart. Such columns are read as the
    rows are.
    """
    row_names = class_names(rows, name=f"rows of {what}")
    column_names = class_names(columns, name=f"columns of {what}")
    if kind_of(row_names[0]) == "str" or kind_of(column_names[0]) != "str":
        return row_names, column_names
    by_text = {str(name): name for name in (*known, *row_names)}
    is_numbering = row_names == tuple(range(len(row_names)))
    # Rows that only were counted say nothing of their order, so columns must be in it already.
    in_order = [str(name) for name in row_names] == list(column_names)
    if all(name in by_text for name in column_names) and (in_order or not is_numbering):
        column_names = tuple(by_text[str(name)] for name in column_names)
    return row_names, column_names


def _column(frame: Any, name: object) -> list[object]:
    values = frame[name]
    return list(values.to_pylist() if hasattr(values, "to_pylist") else values.to_list())


def _cell_column(frame: Any, name: object) -> npt.NDArray[Any]:
    values = frame[name]
    # NumPy has no such type; Python's ints hold them all.
    is_wide = str(getattr(values, "dtype", "")) in ("Int128", "UInt128")
    return np.array(_column(frame, name)) if is_wide else np.asarray(values)


def _cells(frame: Any, columns: list[object]) -> npt.NDArray[Any] | sp.coo_array:
    if (
        columns
        and hasattr(frame, "sparse")
        and all(hasattr(dtype, "fill_value") for dtype in frame.dtypes)
    ):
        # A sparse pandas frame: as dense cells, many classes would not fit in memory.
        return sp.coo_array(frame[columns].sparse.to_coo())
    parts = [_cell_column(frame, name) for name in columns]
    return np.stack(parts, axis=1) if parts else np.empty((len(frame), 0))


def _aligned(
    cells: npt.NDArray[Any] | sp.coo_array,
    rows: list[object],
    columns: list[object],
    wanted: tuple[Label, ...] | None,
) -> tuple[CountMatrix, tuple[Label, ...]]:
    totals = [name for name in (*rows, *columns) if is_total(name)]
    if totals and not all(isinstance(name, str) for name in (*rows, *columns)):
        raise InputError(
            f"Rows and columns of `counts` must be classes, got {totals[0]!r} among others of"
            " another type.",
            hint=TOTALS_HINT,
        )
    row_names, column_names = _axis_names(rows, columns, wanted or (), "counts")
    if kind_of(row_names[0]) != kind_of(column_names[0]):
        raise InputError(
            "Rows and columns of `counts` must name classes by one type, got"
            f" {kind_of(row_names[0])} ({show(row_names, 3)}) and {kind_of(column_names[0])}"
            f" ({show(column_names, 3)}).",
            hint="set the index of the frame to the class names, in the type of its columns.",
        )
    names = wanted or row_names
    place = {name: position for position, name in enumerate(names)}
    outside = [name for name in dict.fromkeys(row_names + column_names) if name not in place]
    if wanted is not None and (outside or kind_of(wanted[0]) != kind_of(row_names[0])):
        raise InputError(
            "Every row and column of `counts` must be one of `labels`, got"
            f" {show(outside or row_names)}.",
            hint="add the class to `labels`, or drop its row and column.",
        )
    predicted = set(column_names)
    lacking = [name for name in row_names if name not in predicted]
    if wanted is None and (outside or lacking):
        raise InputError(
            "Rows and columns of `counts` must name the same classes, got"
            f" {show(lacking) or 'none'} on rows only, {show(outside) or 'none'} on columns only.",
            hint=TOTALS_HINT
            if totals
            else "give all classes as `labels=`; what a frame lacks then counts 0.",
        )
    rows_at, columns_at = ([place[name] for name in axis] for axis in (row_names, column_names))
    matrix = as_count_matrix(_placed(cells, rows_at, columns_at, len(names)))
    refuse_totals(matrix, names)
    return matrix, names


def _placed(
    cells: npt.NDArray[Any] | sp.coo_array, rows: list[int], columns: list[int], n_classes: int
) -> CountMatrix:
    """Return the square matrix with the cells of a frame at their places."""
    if not isinstance(cells, np.ndarray):
        places = np.array(rows)[cells.row], np.array(columns)[cells.col]
        return assemble(*places, cells.data, n_classes)
    square = np.zeros((n_classes, n_classes), dtype=cells.dtype)
    square[np.ix_(rows, columns)] = cells
    return square
