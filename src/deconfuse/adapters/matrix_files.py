"""Whether files hold matrices instead of predictions; if so, the one that they add up to."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path

from deconfuse._named_counts import is_total
from deconfuse.adapters.column_names import names_predictions
from deconfuse.adapters.csv_headers import Header, read_header
from deconfuse.adapters.file_formats import HEAD_SIZE, DataFile
from deconfuse.adapters.zstd_lines import read_zstd
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.storage import parse_matrix

__all__ = ["load_matrices"]

_JSON_MARK = b'"deconfuse confusion matrix"'
# Probabilities that were written with three digits add up to one within this.
_SUM_TOLERANCE = 0.02


def load_matrices(
    files: Sequence[DataFile], *, label: str, prediction: str
) -> ConfusionMatrix | None:
    """Return the sum of the matrices that files hold, or None if they hold something else.

    A matrix in CSV, saved by deconfuse or by others, names the same classes in its header and in
    its first column, and has numbers elsewhere. A table that has the columns asked for is never
    taken for a matrix.

    Raises
    ------
    InputError
        If some files hold matrices and others do not, if a matrix is damaged or there twice, or if
        a table can be a matrix or scores.
    """
    found = [_holds_matrix(file, label=label, prediction=prediction) for file in files]
    if not any(found):
        return None
    if not all(found):
        raise InputError(
            "Files must all hold saved matrices or all predictions, got a matrix in"
            f" {str(files[found.index(True)].path)!r} and none in"
            f" {str(files[found.index(False)].path)!r}.",
            hint="read each kind for itself and merge the matrices with `+`.",
        )
    _refuse_copies(files)
    total = _load(files[0])
    for file in files[1:]:
        try:
            total = total + _load(file)
        except InputError as error:
            message = f"Matrices must merge, and {str(file.path)!r} does not. {error.message}"
            raise InputError(message, hint=error.hint) from error
    return total


def _holds_matrix(file: DataFile, *, label: str, prediction: str) -> bool:
    if file.format == "npz":
        return True
    if file.format == "json":
        return _JSON_MARK in file.head[:100]
    if file.format != "csv":
        return False
    header = read_header(file)
    if names_predictions(header.names, label=label, prediction=prediction):
        return False
    return _is_saved(header.names) or _is_table(file, header)


def _is_saved(header: tuple[str, ...]) -> bool:
    return header[0].startswith("true \\ predicted") or (
        header[0].startswith("true [") and header[1:3] == ("predicted", "count")
    )


def _is_table(file: DataFile, header: Header) -> bool:
    names = header.names[1:]
    text = file.head.decode("utf-8-sig", errors="replace")
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=header.delimiter))[1:]
    is_whole = len(file.head) < HEAD_SIZE
    # The last row of a longer file may be cut.
    rows = [row for row in rows if row] if is_whole else rows[:-1]
    if not rows or any(len(row) != len(header.names) for row in rows):
        return False
    named = [row[0] for row in rows]
    # Totals on one side only: no square matrix, but nothing else either.
    known = {*names, *(name for name in named[-1:] if is_total(name))}
    missing = len(names) - len(named)
    fits = missing == 0 or (abs(missing) == 1 and is_total((names if missing > 0 else named)[-1]))
    if (is_whole and not fits) or not known.issuperset(named) or len(set(named)) < len(named):
        return False
    cells = [[_number(cell) for cell in row[1:]] for row in rows]
    if any(cell is None for row in cells for cell in row):
        return False
    _refuse_scores(file, header, [[cell for cell in row if cell is not None] for row in cells])
    return True


def _refuse_scores(file: DataFile, header: Header, cells: list[list[float]]) -> None:
    """Raise if the rows can be probabilities, or scores below zero.

    Whole numbers are counts: where they are scores too, as 0 and 1, both readings count the same.
    """
    is_probability = (
        any(not cell.is_integer() for row in cells for cell in row)
        and all(0 <= cell <= 1 for row in cells for cell in row)
        and all(abs(sum(row) - 1) <= _SUM_TOLERANCE for row in cells)
    )
    is_below_zero = any(cell < 0 for row in cells for cell in row)
    if not is_probability and not is_below_zero:
        return
    what = "numbers below zero" if is_below_zero else "shares that add up to one in each row"
    names = ", ".join(repr(name) for name in header.names[1:3])
    more = ", ..." if len(header.names) > 3 else ""
    raise InputError(
        f"File {str(file.path)!r} must hold counts or predictions, and holds {what}: scores, or a"
        " matrix that was normalized.",
        hint=f"for scores, say scores=[{names}{more}]; of a normalized matrix, give the counts"
        " that it was made from.",
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _refuse_copies(files: Sequence[DataFile]) -> None:
    """Raise if two files are named as one matrix in two formats."""
    seen: dict[Path, Path] = {}
    for file in files:
        stem = file.path.parent / file.path.name.split(".", 1)[0]
        if stem in seen and seen[stem].suffixes != file.path.suffixes:
            raise InputError(
                f"Each matrix must be given once, got {str(seen[stem])!r} and {str(file.path)!r},"
                " which look like one in two formats.",
                hint="name those to add up, as a pattern such as '*.json' does.",
            )
        seen[stem] = file.path


def _load(file: DataFile) -> ConfusionMatrix:
    name = str(file.path)
    data = _content(file)
    if file.format == "npz":
        return parse_matrix(data, "npz", name=name)
    if file.format == "json":
        return parse_matrix(data, "json", name=name)
    return parse_matrix(_with_commas(data, read_header(file).delimiter), "csv", name=name)


def _with_commas(data: bytes, delimiter: str) -> bytes:
    if delimiter == ",":
        return data
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # What is no text is said by who reads it.
        return data
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    return stream.getvalue().encode()


def _content(file: DataFile) -> bytes:
    if file.compression == "zstd":
        return read_zstd(file.path)
    data = file.path.read_bytes()
    if file.compression == "none":
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"File {str(file.path)!r} must be complete, and is truncated or damaged: {error}.",
            hint="copy or write it again.",
        ) from error
