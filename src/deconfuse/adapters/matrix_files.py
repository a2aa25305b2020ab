"""Whether a file holds a matrix instead of predictions; if so, the matrix."""

from __future__ import annotations

import csv
import gzip
import io

from deconfuse import _csv_matrix
from deconfuse.adapters.column_names import names_predictions
from deconfuse.adapters.file_formats import HEAD_SIZE, DataFile
from deconfuse.adapters.file_scans import Header, read_header
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError

__all__ = ["load_matrix"]

_JSON_MARK = b'"deconfuse confusion matrix"'


def load_matrix(file: DataFile, *, label: str, prediction: str) -> ConfusionMatrix | None:
    """Return the matrix that a file holds, or None if it holds something else.

    A matrix in CSV, saved by deconfuse or by others, names the same classes in its header and in
    its first column, and has numbers elsewhere. A table that has the columns asked for is never
    taken for a matrix.
    """
    if file.format == "npz":
        return ConfusionMatrix.load(file.path)
    if file.format == "json" and _JSON_MARK in file.head[:100] and file.compression == "none":
        return ConfusionMatrix.load(file.path)
    if file.format == "csv" and file.compression != "zstd":
        header = read_header(file)
        if names_predictions(header.names, label=label, prediction=prediction):
            return None
        if _is_saved(header.names) or _is_table(file, header):
            return _read_csv(file, header.delimiter)
    return None


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
    if not rows or (is_whole and len(rows) != len(names)):
        return False
    known = set(names)
    return all(len(row) == len(header.names) and row[0] in known for row in rows) and all(
        _is_number(cell) for row in rows for cell in row[1:]
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_csv(file: DataFile, delimiter: str) -> ConfusionMatrix:
    data = file.path.read_bytes()
    if file.compression == "gzip":
        data = gzip.decompress(data)
    try:
        if delimiter != ",":
            rows = csv.reader(
                io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=delimiter
            )
            stream = io.StringIO(newline="")
            csv.writer(stream).writerows(rows)
            data = stream.getvalue().encode()
        return _csv_matrix.from_csv(data)
    except InputError as error:
        message = f"File {str(file.path)!r} must hold a confusion matrix. {error.message}"
        raise InputError(message, hint=error.hint) from error
