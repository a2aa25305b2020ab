r"""Read a table of counts (array, sparse array, data frame) as a square matrix with names.

Tables that are transposed, contain totals, or hold shares are refused: each would count wrongly
without a word. Only what a table says by its own names is believed, and numbers alone are refused
only where they are shares. The options ``transpose`` and ``drop`` say what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from deconfuse._checks import (
    CountMatrix,
    Label,
    as_count_matrix,
    class_names,
    from_torch,
    kind_of,
    show,
)
from deconfuse.classes import Classes
from deconfuse.counts import add_at, placed
from deconfuse.errors import InputError

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix

__all__ = [
    "CORNER",
    "TOTALS_HINT",
    "TableOptions",
    "align_counts",
    "by_position",
    "is_frame",
    "is_total",
    "kept_lines",
    "named_counts",
    "named_variances",
    "refuse_shares",
    "refuse_totals",
    "refuse_transposed",
    "scattered",
]

_Name = TypeVar("_Name")


@dataclass(frozen=True, slots=True)
class TableOptions:
    """How to read a table of counts that needs a word: see `named_counts` for what each means."""

    transpose: bool = False
    drop: tuple[object, ...] = ()
    labels: tuple[Label, ...] | None = None
    outcomes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        transpose: bool = False,
        drop: Iterable[object] = (),
        labels: Iterable[object] | None = None,
        outcomes: Iterable[str] | None = None,
    ) -> TableOptions:
        """Return the options, checked."""
        if isinstance(drop, str):
            raise InputError(
                f"`drop` must be a list of names, got the string {drop!r}.",
                hint=f"write drop=[{drop!r}].",
            )
        names = None if labels is None else class_names(labels)
        beside = () if outcomes is None else class_names(outcomes, name="outcomes")
        return cls(bool(transpose), tuple(drop), names, tuple(map(str, beside)))

    def applied(self, cm: ConfusionMatrix) -> ConfusionMatrix:
        """Return a matrix that was read with its names, transposed, without lines, reordered."""
        if self.transpose:
            cm = cm.T
        if self.drop:
            dropped = cm.classes.subset(self.drop, name="drop")
            cm = cm.subset([label for label in cm.labels if label not in dropped])
        return self.named(cm)

    def named(self, cm: ConfusionMatrix) -> ConfusionMatrix:
        """Return a matrix with its outcomes beside the square, and the classes asked for."""
        by_text = {str(label): label for label in cm.labels}
        for name in self.outcomes:
            if name not in cm.outcomes:
                cm = cm.treat_as_outcome(by_text.get(name, name))
        return cm if self.labels is None else cm.reindex(self.labels)


def is_frame(values: Any) -> bool:
    """Return whether a matrix is a data frame of any library, with class names of its own."""
    is_bare = isinstance(values, (np.ndarray, list, tuple)) or sp.issparse(values)
    return not is_bare and hasattr(values, "columns")


def named_counts(
    counts: Any,
    classes: Classes | None = None,
    *,
    transpose: bool = False,
    drop: Iterable[object] = (),
) -> tuple[CountMatrix, Classes]:
    """Return trusted counts and their classes; see `ConfusionMatrix.from_counts`.

    Examples
    --------
    >>> cells, classes = named_counts([[5, 1], [0, 4]], Classes.of(["cat", "dog"]), transpose=True)
    >>> cells.tolist(), classes.names
    ([[5, 0], [1, 4]], ('cat', 'dog'))
    """
    if is_frame(counts):
        rows, columns = _axes(counts, checked=not transpose)
        table = kept_lines(_cells(counts, columns), rows, columns, transpose=transpose, drop=drop)
        matrix, names = align_counts(*table, None if classes is None else classes.names)
        refuse_totals(matrix, names)
        return matrix, Classes.of(names) if classes is None else classes
    matrix = as_count_matrix(from_torch(counts))
    size = matrix.shape[0]
    if classes is None:
        classes = Classes(tuple(range(size)), "int")
    if len(classes) != size:
        raise InputError(
            f"`labels` must have one name per class, got {len(classes):,} names for"
            f" {size:,} classes.",
        )
    names = classes.names
    cells, kept, _ = kept_lines(matrix, names, names, transpose=transpose, drop=drop)
    if cells is matrix:
        return matrix, classes
    return as_count_matrix(cells), Classes.of(kept)


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
    places: list[npt.NDArray[Any]] = []
    for side, found, theirs in zip(("rows", "columns"), axes, own, strict=True):
        differing = set(found) ^ set(theirs)
        if differing or kind_of(found[0]) != kind_of(theirs[0]):
            strange = [name for name in (*found, *theirs) if name in differing]
            raise InputError(
                f"`variances` must have the {side} of `counts`, got {show(strange or found)} in one"
                " of them only.",
                hint="make both from the same samples and classes.",
            )
        places.append(np.array([place[name] for name in found]))
    return placed(_cells(variances, columns), places[0], places[1], len(names))


def scattered(rows: Any, columns: Any, values: Any, n_classes: int) -> CountMatrix:
    """Return the matrix of some cells, after a check that they lie in it, each once."""
    try:
        parts = [np.asarray(part) for part in (rows, columns, values)]
    except ValueError:
        # Lists of lists that differ in length.
        parts = [np.zeros(())]
    if parts[0].ndim != 1 or len({part.shape for part in parts}) != 1:
        raise InputError("Nonzero cells must be three lists of equal length.")
    if not len(parts[0]):
        parts = [part.astype(np.int64) for part in parts]
    places = parts[:2]
    if any(part.dtype.kind not in "iu" for part in places) or any(
        part.size and (part.min() < 0 or part.max() >= n_classes) for part in places
    ):
        raise InputError(f"Positions of cells must be whole numbers from 0 to {n_classes - 1}.")
    codes = np.sort(parts[0].astype(np.int64) * n_classes + parts[1].astype(np.int64))
    if (codes[1:] == codes[:-1]).any():
        raise InputError("Each cell must be given once, got some more than once.")
    if parts[2].dtype.kind not in "iuf":
        raise InputError(f"Values of cells must be numbers, got {show(parts[2][:1].tolist())}.")
    values = parts[2].astype(np.float64) if parts[2].dtype.kind == "f" else parts[2]
    return add_at(parts[0], parts[1], values, n_classes)


def _axes(frame: Any, *, checked: bool = False) -> tuple[list[object], list[object]]:
    """Return the names of the rows and of the columns of a data frame."""
    columns = list(getattr(frame, "column_names", frame.columns))
    if len(set(columns)) < len(columns):
        # Columns are taken by name below, which needs names that are distinct.
        class_names(columns, name="columns of counts")
    index = getattr(frame, "index", None)
    if _starts_with_names(frame, index, columns):
        if checked:
            refuse_transposed(columns[0])
        return _column(frame, columns[0]), columns[1:]
    if checked:
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
    return (
        kind_of(columns[0]) != kind_of(columns[1])
        or any(isinstance(name, str) for name in first)
        # Every file has the text of the names in its first line.
        or set(columns[1:]) == {str(name) for name in first}
    )


def _axis_names(
    rows: Sequence[object], columns: Sequence[object], known: tuple[Label, ...], what: str
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


def _cells(frame: Any, columns: list[object]) -> npt.NDArray[Any] | sp.csr_array:
    if (
        columns
        and hasattr(frame, "sparse")
        and all(hasattr(dtype, "fill_value") for dtype in frame.dtypes)
    ):
        # A sparse pandas frame: as dense cells, many classes would not fit in memory.
        return sp.csr_array(frame[columns].sparse.to_coo())
    parts = [_cell_column(frame, name) for name in columns]
    return np.stack(parts, axis=1) if parts else np.empty((len(frame), 0))


def align_counts(
    cells: npt.NDArray[Any] | sp.csr_array,
    rows: Sequence[object],
    columns: Sequence[object],
    wanted: tuple[Label, ...] | None,
) -> tuple[CountMatrix, tuple[Label, ...]]:
    """Return the square matrix of a table whose rows and columns are in any order, and its names.

    The classes are ``wanted``, which may add some, or else those of the rows.
    """
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
            hint="add the class to `labels`, or leave out its row and column with `drop=[...]`.",
        )
    predicted = set(column_names)
    lacking = [name for name in row_names if name not in predicted]
    if wanted is None and (outside or lacking):
        raise InputError(
            "Rows and columns of `counts` must name the same classes, got"
            f" {show(lacking) or 'none'} on rows only, {show(outside) or 'none'} on columns only.",
            hint=TOTALS_HINT
            if any(map(is_total, (*lacking, *outside)))
            else "give all classes as `labels=`; what a frame lacks then counts 0.",
        )
    at = [np.array([place[name] for name in axis]) for axis in (row_names, column_names)]
    return as_count_matrix(placed(cells, at[0], at[1], len(names))), names


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
    cells: Any,
    rows: Sequence[_Name],
    columns: Sequence[_Name],
    *,
    transpose: bool,
    drop: Iterable[object],
) -> tuple[Any, Sequence[_Name], Sequence[_Name]]:
    """Return a table without the rows and columns named in ``drop``, with true classes on rows.

    Names are compared as text: a file has no other. A name may be on one axis only.

    Examples
    --------
    >>> cells, rows, columns = kept_lines(
    ...     np.arange(6).reshape(2, 3), ["a", "b"], ["a", "All", "b"], transpose=True, drop=["All"]
    ... )
    >>> cells.tolist(), rows, columns
    ([[0, 3], [2, 5]], ['a', 'b'], ['a', 'b'])
    """
    if transpose:
        cells, rows, columns = cells.T, columns, rows
    unwanted = {str(name): name for name in drop}
    if not unwanted:
        return cells, rows, columns
    known = {str(name) for name in (*rows, *columns)}
    unknown = [name for text, name in unwanted.items() if text not in known]
    if unknown:
        raise InputError(
            f"`drop` must name rows or columns, got {show(unknown)}.",
            hint=f"the names are {show(dict.fromkeys((*rows, *columns)))}.",
        )
    at_rows, at_columns = (
        [k for k, name in enumerate(axis) if str(name) not in unwanted] for axis in (rows, columns)
    )
    kept_rows, kept_columns = [rows[k] for k in at_rows], [columns[k] for k in at_columns]
    return cells[at_rows][:, at_columns], kept_rows, kept_columns


def refuse_transposed(rows: object, columns: object = None) -> None:
    r"""Raise if the names of the axes say that predicted classes are on rows.

    The corner of a table is given alone: it names the rows, or both, as in ``predicted \ true``.
    Only names that say nothing else count: "Predictions of model A" may be a title.

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
        chosen = np.arange(len(names)) == position
        row, column = chosen @ counts, counts @ chosen
        # The sum over everything is twice the totals, which are counted with what they add up.
        sums = counts.sum(axis=0), counts.sum(axis=1)
        tolerance = 1e-3 if counts.dtype.kind == "f" else 1e-9
        if row.any() and all(
            np.allclose(whole, 2.0 * line, rtol=tolerance, atol=0)
            for line, whole in zip((row, column), sums, strict=True)
        ):
            raise InputError(
                f"Rows and columns must be classes, but those named {name!r} are the sums of the"
                " others.",
                hint=TOTALS_HINT,
            )


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
