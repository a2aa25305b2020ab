"""Whether files hold matrices instead of predictions; if so, the one that they add up to."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path

from deconfuse._checks import show
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reading.column_names import (
    DEFAULT_LABEL,
    DEFAULT_PREDICTION,
    names_predictions,
)
from deconfuse.reading.csv_headers import read_header
from deconfuse.reading.file_formats import DataFile
from deconfuse.reading.matrix_tables import explain_table, is_table
from deconfuse.reading.zstd_lines import read_zstd
from deconfuse.storage import parse_matrix

__all__ = ["MatrixColumnsError", "load_matrices", "refuse_columns"]

_JSON_MARK = b'"deconfuse confusion matrix"'


class MatrixColumnsError(InputError):
    """Columns were named for a file that holds a matrix."""


def refuse_columns(*, label: str, prediction: str, weight: str | None) -> None:
    """Raise if columns are asked for by name of a matrix, which has none."""
    asked = {
        "label": None if label == DEFAULT_LABEL else label,
        "prediction": None if prediction == DEFAULT_PREDICTION else prediction,
        "weight": weight,
    }
    named = {role: name for role, name in asked.items() if name is not None}
    if named:
        roles = " and ".join(f"`{role}`" for role in named)
        raise MatrixColumnsError(
            f"{roles} must be of a table of predictions, but the file holds a matrix, which has no"
            f" column {show(named.values())}.",
            hint=f"leave out {roles}, or give the table that the matrix was counted from.",
        )


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
    if _is_saved(header.names) or is_table(file, header):
        return True
    if (label, prediction) == (DEFAULT_LABEL, DEFAULT_PREDICTION):
        # Without columns to count it is an error; the reason may be that a matrix is not one.
        explain_table(file, header)
    return False


def _is_saved(header: tuple[str, ...]) -> bool:
    return header[0].startswith("true \\ predicted") or (
        header[0].startswith("true [") and header[1:3] == ("predicted", "count")
    )


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
