"""Whether a CSV table is a matrix of counts; where it nearly is, what is wrong with it.

A table that is no matrix is one of predictions. One that names the same classes on rows and columns
cannot be meant as such, so what keeps it from being a matrix is said here.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from deconfuse._checks import show
from deconfuse._totals import is_total
from deconfuse.errors import InputError
from deconfuse.reading.csv_headers import Header, read_header
from deconfuse.reading.file_formats import HEAD_SIZE, DataFile

__all__ = ["explain_table", "is_table"]

# Probabilities that were written with three digits add up to one within this.
_SUM_TOLERANCE = 0.02
# Rows and columns beside the classes that a table may have, as totals and accuracies.
_MOST_MARGINS = 3
# Lines of titles and comments that may stand above a table.
_MOST_TITLES = 9
_MARGINS_HINT = "each class has a row and a column; leave out sums, shares and accuracies."


def is_table(file: DataFile, header: Header) -> bool:
    """Return whether a CSV file holds a matrix with its names.

    Raises
    ------
    InputError
        If its cells are scores, or a matrix that was normalized.
    """
    names = header.names[1:]
    rows = _rows(file, header)
    if not rows or any(len(row) != len(header.names) for row in rows):
        return False
    named = [row[0] for row in rows]
    # Totals on one side only: no square matrix, but nothing else either.
    known = {*names, *(name for name in named[-1:] if is_total(name))}
    missing = len(names) - len(named)
    fits = missing == 0 or (abs(missing) == 1 and is_total((names if missing > 0 else named)[-1]))
    if (_is_whole(file) and not fits) or not known.issuperset(named):
        return False
    if len(set(named)) < len(named):
        return False
    cells = [[_number(cell) for cell in row[1:]] for row in rows]
    if any(cell is None for row in cells for cell in row):
        return False
    _refuse_scores(file, header, [[cell for cell in row if cell is not None] for row in cells])
    return True


def explain_table(file: DataFile, header: Header) -> None:
    """Raise if a CSV file that holds no matrix looks like one, and say what is wrong.

    For files that have no columns of labels and predictions, which are an error in any case.
    """
    rows, is_whole = _rows(file, header), _is_whole(file)
    found = (
        _bare(header, rows, is_whole=is_whole)
        or _nearly(header, rows, is_whole=is_whole)
        or _prefixed(header, rows, is_whole=is_whole)
        or _titled(file)
    )
    if found is not None:
        reason, hint = found
        raise InputError(f"File {str(file.path)!r} looks like a matrix, but {reason}.", hint=hint)


def _is_whole(file: DataFile) -> bool:
    return len(file.head) < HEAD_SIZE


def _titled(file: DataFile) -> tuple[str, str] | None:
    """Say that lines stand above the class names."""
    lines = file.head.splitlines(keepends=True)
    for above in range(1, min(_MOST_TITLES, len(lines) - 2) + 1):
        if not lines[above].strip():
            continue
        # Only the beginning of a long file is here, and its last line may be cut.
        kept = lines[above:] if _is_whole(file) else lines[above:-1]
        table = replace(file, head=b"".join(kept))
        try:
            header = read_header(table)
        except InputError:
            return None
        rows = _rows(table, header)
        is_square = all(len(row) == len(header.names) for row in rows)
        if is_square and _alike(
            [row[0] for row in rows], header.names[1:], is_whole=_is_whole(file)
        ):
            first = lines[0].decode("utf-8-sig", errors="replace").strip()
            said = "a comment" if first.startswith("#") else "a title"
            return (
                f"it begins with {said}, {show([first])}, where the class names should be",
                f"delete what stands above the class names, which are in line {above + 1}.",
            )
    return None


def _rows(file: DataFile, header: Header) -> list[list[str]]:
    text = file.head.decode("utf-8-sig", errors="replace")
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=header.delimiter))[1:]
    # The last row of a longer file may be cut.
    return [row for row in (rows if _is_whole(file) else rows[:-1]) if row]


def _bare(header: Header, rows: list[list[str]], *, is_whole: bool) -> tuple[str, str] | None:
    """Say that a square of numbers has no names."""
    table = [list(header.names), *rows]
    if len(table) < 2 or any(_number(cell) is None for row in table for cell in row):
        return None
    n_columns = len(header.names)
    if not is_whole or len(table) != n_columns or any(len(row) != n_columns for row in rows):
        return None
    return (
        f"it has {n_columns} lines of {n_columns} numbers and no class names",
        "put the names in a first line and a first column; in Python,"
        " `ConfusionMatrix.from_counts(numbers, labels=[...])`. Predictions need a header.",
    )


def _nearly(header: Header, rows: list[list[str]], *, is_whole: bool) -> tuple[str, str] | None:
    """Say what keeps a table with the same names on rows and columns from being a matrix."""
    named = [row[0] for row in rows]
    if _alike(named, header.names, is_whole=is_whole) and all(
        len(row) == len(header.names) + 1 for row in rows
    ):
        return (
            "its first line has one field less than the others",
            "begin that line with an empty field, above the names of the rows.",
        )
    columns = header.names[1:]
    if not _alike(named, columns, is_whole=is_whole):
        return None
    written = "write numbers with a point and without marks for thousands; 0 where nothing is."
    for line, row in enumerate(rows, 2):
        if len(row) != len(header.names):
            return (
                f"line {line} has {len(row)} fields where the first has {len(header.names)}",
                f"{written} Names with commas stand in quotes.",
            )
    on_rows = [name for name in named if name not in columns]
    # What follows the beginning of a long file is not known.
    on_columns = [name for name in columns if name not in named] if is_whole else []
    if on_rows or on_columns:
        hint = _MARGINS_HINT
        if {*map(_plain, on_rows)} & {*map(_plain, columns)}:
            hint = (
                "write each class in one way, with the same case, without spaces around, and whole"
                " numbers without a point (1, not 1.0)."
            )
        return (
            f"it names {show(on_rows) or 'none'} on rows only, {show(on_columns) or 'none'} on"
            " columns only",
            hint,
        )
    for row in rows:
        for column, cell in zip(columns, row[1:], strict=True):
            if _number(cell) is None:
                return (
                    f"its cell {cell!r} (row {row[0]!r}, column {column!r}) is no number",
                    written,
                )
    return None


def _prefixed(header: Header, rows: list[list[str]], *, is_whole: bool) -> tuple[str, str] | None:
    """Say that rows or columns have more to their names than the classes, as in C_1, C_2."""
    named, columns = [row[0] for row in rows], header.names[1:]
    starts = _start(named), _start(columns)
    bare = [
        [name[len(start) :] for name in names]
        for names, start in zip((named, columns), starts, strict=True)
    ]
    if not any(starts) or any(len(row) != len(header.names) for row in rows):
        return None
    same = {*map(_plain, bare[0])} == {*map(_plain, bare[1])}
    if not same or len(bare[0]) != len(bare[1]) or not is_whole:
        return None
    return (
        f"it names {show(named, 3)} on rows and {show(columns, 3)} on columns",
        "name each class in one way on both, without"
        f" {' and '.join(repr(start) for start in starts if start)}.",
    )


def _start(names: Sequence[str]) -> str:
    """Return what all names begin with, a word and a mark, or letters before numbers."""
    ends = (min(names), max(names)) if len(names) > 1 else ("", "")
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(*ends, strict=False))
    start = "".join(letter for letter, _ in shared)
    word = re.match(r".*[\W_]", start, re.DOTALL)
    if word:
        return word.group()
    letters = re.match(r"[^\W\d_]+", start)
    is_numbered = letters and all(name[letters.end() :].isdecimal() for name in names)
    return letters.group() if letters and is_numbered else ""


def _alike(named: Sequence[str], columns: Sequence[str], *, is_whole: bool) -> bool:
    """Return whether rows and columns name the same classes, but for writing and margins."""
    rows, heads = [_plain(name) for name in named], {_plain(name) for name in columns}
    if len(set(rows)) < len(rows):
        return False
    both = heads.intersection(rows)
    beside = len(rows) - len(both) <= _MOST_MARGINS
    return len(both) >= 2 and beside and (not is_whole or len(heads - both) <= _MOST_MARGINS)


def _plain(name: str) -> str:
    plain = " ".join(re.split(r"[\s_]+", name.strip().casefold()))
    return re.sub(r"^(-?\d+)\.0+$", r"\1", plain)


def _refuse_scores(file: DataFile, header: Header, cells: list[list[float]]) -> None:
    """Raise if the rows can be probabilities, or scores below zero, or cells are shares.

    Whole numbers are counts: where they are scores too, as 0 and 1, both readings count the same.
    """
    is_below_zero = any(cell < 0 for row in cells for cell in row)
    what = "numbers below zero" if is_below_zero else _shares(cells, is_whole=_is_whole(file))
    if what is None:
        return
    names = ", ".join(repr(name) for name in header.names[1:3])
    more = ", ..." if len(header.names) > 3 else ""
    raise InputError(
        f"File {str(file.path)!r} must hold counts or predictions, and holds {what}: scores, or a"
        " matrix that was normalized.",
        hint=f"for scores, say scores=[{names}{more}]; of a normalized matrix, give the counts"
        " that it was made from.",
    )


def _shares(cells: list[list[float]], *, is_whole: bool) -> str | None:
    """Return what adds up to one, if cells are shares of it."""
    if all(cell.is_integer() for row in cells for cell in row) or not all(
        0 <= cell <= 1 for row in cells for cell in row
    ):
        return None
    sums = {"in each row": [sum(row) for row in cells]}
    if is_whole:
        sums["in each column"] = [sum(column) for column in zip(*cells, strict=True)]
        sums["in all"] = [sum(map(sum, cells))]
    for where, totals in sums.items():
        if all(abs(total - 1) <= _SUM_TOLERANCE for total in totals):
            return f"shares that add up to one {where}"
    return None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
