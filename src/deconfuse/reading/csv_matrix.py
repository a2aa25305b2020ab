r"""Write a confusion matrix as CSV text and read it back: a table, or one line per pair.

A table has the class names in its first row and first column; the corner names the axes and the
type of the names, as in ``true \ predicted [int]``. Variances of weighted counts follow in a
second table after an empty line. A sparse matrix has one line for each class with itself, which
fixes the order of the classes, then one for each other pair. The corner also tells whether a
second table or how many pairs must follow, so that a file cut short is not taken for a whole one.

Outcomes are the last rows and columns; the corner says how many there are, as in
``true \ predicted [str; 2 outcomes]``.

Where a spreadsheet would run a name as a formula, the corner says "escaped", and the apostrophes
that `deconfuse._text.escape_formulas` writes are removed again when the file is read.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from deconfuse._checks import CountMatrix, Label, class_names, kind_of, show
from deconfuse._text import escape_formulas
from deconfuse.classes import Classes
from deconfuse.confusion import ConfusionMatrix
from deconfuse.counts import Counts
from deconfuse.errors import InputError
from deconfuse.reading.count_tables import (
    CORNER,
    TableOptions,
    align_counts,
    kept_lines,
    refuse_shares,
    refuse_totals,
    refuse_transposed,
    scattered,
)

__all__ = ["from_csv", "is_saved", "long_fields", "to_csv"]

_FIELD_LIMIT_LOCK = threading.Lock()
_VARIANCES = "variance"
_KINDS = (
    r"\[(?P<kind>int|str|bool|date)(?P<escaped>; escaped)?"
    r"(; (?P<outcomes>[1-9][0-9]{0,8}) outcomes?)?"
)
_TABLE = re.compile(
    rf"(?P<variance>variance )?true \\ predicted {_KINDS}(?P<weighted>; weighted)?\]"
)
_PAIRS = re.compile(rf"true {_KINDS}; (?P<pairs>[0-9]{{1,15}}) pairs\]")
# As a normalized matrix is written: what it is and which way it sums.
_SHARES = re.compile(r"true \\ predicted \((.*)\)", re.DOTALL)
_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)(\.0+)?")


def to_csv(cm: ConfusionMatrix) -> bytes:
    """Return the matrix as CSV in UTF-8."""
    texts = [str(name) for name in (*cm.labels, *cm.outcomes)]
    if len(set(texts)) < len(texts):
        # Such as the class 1 and the outcome "1", which are one text in a file of text.
        raise InputError(
            f"Classes and outcomes must be written differently in CSV, got {show(cm.outcomes)}.",
            hint="save as JSON or NPZ, which have types.",
        )
    stream = io.StringIO(newline="")
    # Quotes around all text keep names apart from numbers, whatever is in them.
    writer = csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    names = [name if type(name) is int else str(name) for name in (*cm.labels, *cm.outcomes)]
    names, is_escaped = escape_formulas(names)
    tag = f"{kind_of(cm.labels[0])}{'; escaped' * is_escaped}"
    if cm.outcomes:
        tag += f"; {len(cm.outcomes)} outcome{'s' * (len(cm.outcomes) > 1)}"
    rows = _pair_rows if cm._cells.is_sparse else _table_rows
    writer.writerows(rows(cm._cells, names, tag))
    try:
        return stream.getvalue().encode()
    except UnicodeEncodeError as error:
        raise InputError(
            "Class names must be valid Unicode to be written as CSV, got"
            f" {error.object[error.start]!r} in one.",
            hint="save as JSON or NPZ, which can hold it.",
        ) from None


def _table_rows(counts: Counts, names: list[Any], tag: str) -> Iterator[list[Any]]:
    corner = f"{CORNER} [{tag}{'; weighted' * counts.is_weighted}]"
    yield [corner, *names]
    yield from ([name, *row.tolist()] for name, row in zip(names, counts.cells, strict=True))
    if counts.is_weighted:
        yield []
        yield [f"{_VARIANCES} {corner}", *names]
        for name, row in zip(names, counts.variances, strict=True):
            yield [name, *row.tolist()]


def _pair_rows(counts: Counts, names: list[Any], tag: str) -> Iterator[list[Any]]:
    parts = [counts.cells, counts.variances] if counts.is_weighted else [counts.cells]
    # Variances of vanishing weights can round to zero: the pairs are those of either matrix.
    cells = sp.coo_array(sum((part != 0).astype(np.int8) for part in parts))
    n_pairs = len(names) + int((cells.row != cells.col).sum())
    weights = [_VARIANCES] if counts.is_weighted else []
    yield [f"true [{tag}; {n_pairs} pairs]", "predicted", "count", *weights]
    diagonals = [part.diagonal().tolist() for part in parts]
    for position, name in enumerate(names):
        yield [name, name, *(diagonal[position] for diagonal in diagonals)]
    if cells.nnz == 0:
        # scipy answers a selection of no cells with a sparse array instead of an empty one.
        return
    values = [np.asarray(part[cells.row, cells.col]).ravel().tolist() for part in parts]
    for true, pred, *numbers in zip(cells.row.tolist(), cells.col.tolist(), *values, strict=True):
        if true != pred:
            yield [names[true], names[pred], *numbers]


def is_saved(corner: str) -> bool:
    """Return whether the first field of a CSV file is one that `to_csv` writes."""
    return bool(_TABLE.fullmatch(corner) or _PAIRS.fullmatch(corner))


def from_csv(
    data: bytes,
    *,
    delimiter: str = ",",
    options: TableOptions = TableOptions(),  # noqa: B008 - frozen
) -> ConfusionMatrix:
    """Return the matrix that CSV text holds, written by `to_csv` or by another program."""
    # A reader of bytes: decoded as a whole, a long file would take several times its size.
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    with long_fields(len(data)):
        rows = csv.reader(text, delimiter=delimiter, strict=True)
        try:
            return _from_rows(rows, options, is_complete=data.endswith(b"\n"))
        except UnicodeDecodeError as error:
            raise InputError(f"It must be text in UTF-8: {error}.") from None
        except csv.Error as error:
            raise InputError(f"It cannot be read as CSV: {error}.") from None


@contextmanager
def long_fields(length: int) -> Iterator[None]:
    """Allow fields as long as the text: the limit is one setting of the process, put back after."""
    with _FIELD_LIMIT_LOCK:
        limit = csv.field_size_limit()
        csv.field_size_limit(max(limit, length))
        try:
            yield
        finally:
            csv.field_size_limit(limit)


def _from_rows(
    rows: Iterator[list[str]], options: TableOptions, *, is_complete: bool
) -> ConfusionMatrix:
    header = next(rows, [])
    if not header:
        raise InputError("It must have a first row of class names, got nothing.")
    shares = _SHARES.fullmatch(header[0])
    if shares is not None:
        raise InputError(
            f"It must hold counts, got what was made from them ({shares.group(1)}).",
            hint="give the counts or the predictions that it was made from.",
        )
    pairs, table = _PAIRS.fullmatch(header[0]), _TABLE.fullmatch(header[0])
    if (pairs or table) and not is_complete:
        raise InputError("Its last line must be complete, but the text ends in the middle of it.")
    if pairs is not None:
        return options.applied(_from_pairs(header, rows, pairs))
    first = _table(header, rows)
    if table is None:
        _refuse_more(rows)
        return _foreign(header[0], first, options)
    if table["variance"]:
        raise InputError("Its tables must be the counts, then the variances.")
    counts, names = _own(first)
    variances = None
    if table["weighted"]:
        header = next(rows, [])
        after = _TABLE.fullmatch(header[0]) if header else None
        if after is None or not after["variance"]:
            raise InputError("It must have a second table, of the variances of its counts.")
        variances, same_names = _own(_table(header, rows))
        if same_names != names:
            raise InputError("Its two tables must name the same classes.")
    _refuse_more(rows)
    return options.applied(_named(names, table, Counts.of(counts, variances)))


@dataclass(frozen=True, slots=True)
class _Table:
    """The names of rows and columns of a table as text, and its cells."""

    rows: list[str]
    columns: list[str]
    cells: npt.NDArray[Any]


def _table(header: list[str], rows: Iterator[list[str]]) -> _Table:
    """Read a table up to an empty line or the end."""
    columns = header[1:]
    named: list[str] = []
    cells: list[npt.NDArray[Any]] = []
    for line, row in enumerate(rows, 2):
        if not row:
            break
        if len(row) != len(header):
            raise InputError(
                f"Every line must have {len(header):,} fields, got {len(row):,} in line {line:,}."
            )
        if len(named) > len(columns):
            # Not square, even without the totals below it; the rest may be long.
            raise InputError(f"It must be square, got more than {len(columns):,} rows.")
        named.append(row[0])
        cells.append(np.array([_number(cell) for cell in row[1:]]))
    if not cells or not columns:
        raise InputError(f"It must be square, got {len(named):,} rows of {len(columns):,}.")
    return _Table(named, columns, np.stack(cells))


def _own(table: _Table) -> tuple[CountMatrix, list[str]]:
    """Return the cells and names of a table of ours, in the order of its columns."""
    rows, columns = table.rows, table.columns
    if set(rows) != set(columns):
        strange = [name for name in (*rows, *columns) if (name in rows) != (name in columns)]
        raise InputError(f"Rows and columns must name the same classes, got {show(strange)}.")
    cells, _ = align_counts(table.cells, rows, columns, tuple(columns))
    return cells, columns


def _named(names: Sequence[str], corner: re.Match[str], counts: Counts) -> ConfusionMatrix:
    """Return the matrix of counts over classes and then outcomes, whose names are still text."""
    size = len(names) - int(corner["outcomes"] or 0)
    if size < 1:
        raise InputError("It must have at least one class beside its outcomes.")
    written = [name.removeprefix("'") for name in names] if corner["escaped"] else list(names)
    classes = Classes.of(_parsed(written[:size], corner["kind"]))
    return ConfusionMatrix._of(classes, counts, tuple(written[size:]))


def _refuse_more(rows: Iterable[list[str]]) -> None:
    if any(rows):
        raise InputError("It must end after its last table, got more lines.")


def _foreign(corner: str, table: _Table, options: TableOptions) -> ConfusionMatrix:
    """Return the matrix of a table of another program."""
    if not options.transpose:
        refuse_transposed(corner)
    cells, rows, columns = kept_lines(
        table.cells, table.rows, table.columns, transpose=options.transpose, drop=options.drop
    )
    is_text = options.labels is not None and isinstance(options.labels[0], str)
    is_whole = not is_text and all(_WHOLE.fullmatch(name) for name in (*rows, *columns))
    row_names, column_names = (
        [_int(name.split(".")[0]) if is_whole else name for name in axis]
        for axis in (rows, columns)
    )
    wanted = None if options.labels is None else (*options.labels, *options.outcomes)
    if wanted is None and set(row_names) == set(column_names):
        wanted = class_names(column_names, name="columns")
    matrix, names = align_counts(cells, row_names, column_names, wanted)
    refuse_totals(matrix, names)
    refuse_shares(matrix)
    return options.named(ConfusionMatrix._of(Classes.of(names), Counts.trusted(matrix)))


def _from_pairs(
    header: list[str], rows: Iterator[list[str]], corner: re.Match[str]
) -> ConfusionMatrix:
    if header[1:] not in (["predicted", "count"], ["predicted", "count", _VARIANCES]):
        raise InputError(f"Its columns must be true, predicted, count, got {show(header[1:])}.")
    expected = int(corner["pairs"])
    lines = [row for row in islice(rows, expected + 1) if row]
    for line, row in enumerate(lines, 2):
        if len(row) != len(header):
            raise InputError(
                f"Every line must have {len(header)} fields, got {len(row)} in line {line:,}."
            )
    if len(lines) != expected:
        raise InputError(f"It must have {expected} pairs, got {len(lines)} or more.")
    _refuse_more(rows)
    true, pred = ([row[side] for row in lines] for side in (0, 1))
    names = list(dict.fromkeys(true))
    place = {name: position for position, name in enumerate(names)}
    strange = [name for name in pred if name not in place]
    if strange:
        raise InputError(f"Every class must have a line with itself, got none for {show(strange)}.")
    at = [[place[name] for name in side] for side in (true, pred)]

    def matrix(column: int) -> CountMatrix:
        return scattered(at[0], at[1], [_number(row[column]) for row in lines], len(names))

    return _named(names, corner, Counts.of(matrix(2), matrix(3) if len(header) == 4 else None))


def _parsed(names: Sequence[str], kind: str) -> list[Label]:
    """Return names in the type that the corner says."""
    parse: dict[str, Any] = {
        "int": _int,
        "str": str,
        "bool": {"True": True, "False": False}.__getitem__,
        "date": datetime.date.fromisoformat,
    }
    result: list[Label] = []
    for name in names:
        try:
            result.append(parse[kind](name))
        except (ValueError, KeyError):
            raise InputError(f"Class names must be of type {kind}, got {show([name])}.") from None
    return result


def _int(name: str) -> int:
    try:
        return int(name)
    except ValueError:
        raise InputError(
            f"Class names must be short enough to be numbers, got {show([name])}."
        ) from None


def _number(cell: str) -> int | float:
    try:
        value = int(cell) if cell.isascii() and cell.isdigit() else float(cell)
    except ValueError:
        raise InputError(f"Counts must be numbers, got {show([cell])}.") from None
    if isinstance(value, int) and value >= 2**63:
        raise InputError(
            f"Whole counts must be below 2**63, got {show([cell])}.",
            hint="write larger ones as floats, such as 1e20.",
        )
    return value
