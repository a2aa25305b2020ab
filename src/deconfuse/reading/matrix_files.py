"""Detect files that hold matrices instead of predictions, and add these matrices up."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import cast

from deconfuse._checks import show
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reading.class_options import ClassOptions
from deconfuse.reading.column_names import Columns
from deconfuse.reading.count_checks import CORNER, is_total
from deconfuse.reading.csv_matrix import is_saved
from deconfuse.reading.files import HEAD_SIZE, DataFile, Header
from deconfuse.reading.matrices import TableOptions
from deconfuse.reading.storage import FileFormat, parse_matrix

__all__ = ["load_matrices", "refuse_columns"]

_JSON_MARK = b'"deconfuse confusion matrix"'
# Text of a compressed matrix is read into memory as a whole.
_MOST_BYTES = 1 << 28


def refuse_columns(columns: Columns, classes: ClassOptions) -> None:
    """Raise if a matrix is asked for what only a table of predictions has."""
    asked = [
        *columns.named,
        *(["where"] if columns.where else []),
        *(role for role in ("other", "missing") if getattr(classes, role) is not None),
        *(["normalize_text"] if classes.normalize_text else []),
    ]
    if asked:
        roles = " and ".join(f"`{role}`" for role in asked)
        named = [*columns.named.values(), *columns.where]
        columns_text = f", which has no column {show(named)}" if named else ""
        raise InputError(
            f"{roles} must be of a table of predictions, but the file holds a matrix"
            f"{columns_text}.",
            hint=f"leave out {roles}, or give the table that the matrix was counted from.",
        )


def load_matrices(
    files: Sequence[DataFile], options: TableOptions, *, is_scored: bool
) -> ConfusionMatrix | None:
    """Return the sum of the matrices that files hold, or None if they hold something else.

    Where ``is_scored``, a table of names and numbers is one of scores.

    Raises
    ------
    InputError
        If some files hold matrices and others do not, or if a matrix is damaged or there twice.
    """
    found = [_holds_matrix(file, is_scored=is_scored) for file in files]
    if not any(found):
        return None
    if not all(found):
        raise InputError(
            "Files must all hold saved matrices or all predictions, got a matrix in"
            f" {str(files[found.index(True)].path)!r} and none in"
            f" {str(files[found.index(False)].path)!r}.",
            hint="read each kind for itself and merge the matrices with `+`.",
        )
    if is_scored:
        raise InputError(
            f"File {str(files[0].path)!r} is a saved matrix, which has no scores.",
            hint="leave out `scores`.",
        )
    total = _load(files[0], options)
    for file in files[1:]:
        try:
            total = total + _load(file, options)
        except InputError as error:
            message = f"Matrices must merge, and {str(file.path)!r} does not. {error.message}"
            raise InputError(message, hint=error.hint) from error
    return total


def _holds_matrix(file: DataFile, *, is_scored: bool) -> bool:
    """Return whether a file holds a matrix: one that was saved, or a table with names.

    What deconfuse saved is told by its own mark, before columns are looked for: classes may be
    called "label" and "prediction".
    """
    if file.format == "npz":
        return True
    if file.format == "json":
        return _JSON_MARK in file.head[:100]
    if file.header is None:
        return False
    # A normalized matrix of ours is none of counts, and refused as such where it is read.
    is_ours = is_saved(file.header.names[0]) or file.header.names[0].startswith(CORNER)
    return is_ours or (not is_scored and _is_table(file, file.header))


def _is_table(file: DataFile, header: Header) -> bool:
    """Return whether a table names the same classes on rows and columns, with numbers elsewhere.

    Lines that are called total, all or sum may be on one side only. Of a long file, only the
    beginning is looked at.
    """
    is_whole = len(file.head) < HEAD_SIZE
    text = file.head.decode("utf-8-sig", errors="replace")
    columns = [name for name in header.names[1:] if not is_total(name)]
    if len(columns) < 2:
        return False
    named: set[str] = set()
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=header.delimiter)
        next(lines)
        known, width = {*columns}, len(header.names)
        before: list[str] = []
        for row in lines:
            # The last row of a longer file may be cut, so each is looked at when the next comes.
            if before and not _fits(before, width, known, named):
                return False
            before = row
    except csv.Error:
        return False
    if is_whole and before and not _fits(before, width, known, named):
        return False
    return named == known if is_whole else bool(named)


def _fits(row: list[str], width: int, known: set[str], named: set[str]) -> bool:
    """Return whether a row can be one of a matrix, and note its name."""
    name = row[0]
    if len(row) != width or name in named or not (name in known or is_total(name)):
        return False
    if name in known:
        named.add(name)
    try:
        return all(math.isfinite(float(cell)) for cell in row[1:])
    except ValueError:
        return False


def _load(file: DataFile, options: TableOptions) -> ConfusionMatrix:
    if file.plain.stat().st_size > _MOST_BYTES and file.plain != file.path:
        raise InputError(
            f"A compressed matrix must unpack to at most {_MOST_BYTES:,} bytes, got more in"
            f" {str(file.path)!r}.",
            hint="decompress it first.",
        )
    return parse_matrix(
        file.plain.read_bytes(),
        cast(FileFormat, file.format),
        name=str(file.path),
        delimiter="," if file.header is None else file.header.delimiter,
        options=options,
    )
