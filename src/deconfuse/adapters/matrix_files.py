"""Whether a file holds a saved matrix instead of predictions; if so, the matrix."""

from __future__ import annotations

import csv
import io
import json

from deconfuse.adapters.column_names import names_predictions
from deconfuse.adapters.file_formats import DataFile
from deconfuse.adapters.file_scans import read_header
from deconfuse.confusion import ConfusionMatrix

__all__ = ["load_matrix"]

# A head of this size may have been cut.
_WHOLE = 1 << 20


def load_matrix(file: DataFile, *, label: str, prediction: str) -> ConfusionMatrix | None:
    """Return the matrix that a file holds, or None if it holds something else.

    A matrix in CSV names the same classes in its header and in its first column. A table that has
    the columns asked for is never taken for a matrix.
    """
    if file.format == "npz":
        return ConfusionMatrix.load(file.path)
    if file.compression != "none":
        return None
    if file.format == "json" and _is_matrix_json(file):
        return ConfusionMatrix.load(file.path)
    if file.format == "csv" and _is_matrix_csv(file, label=label, prediction=prediction):
        return ConfusionMatrix.load(file.path)
    return None


def _is_matrix_json(file: DataFile) -> bool:
    # Tables are JSON lines or arrays; a saved matrix is one object that holds lists.
    first = file.head.split(b"\n", 1)[0]
    try:
        record = json.loads(file.head if len(file.head) < _WHOLE else first)
    except ValueError:
        return False
    return isinstance(record, dict) and {"labels", "counts"} <= set(record)


def _is_matrix_csv(file: DataFile, *, label: str, prediction: str) -> bool:
    header, delimiter = read_header(file)
    names = header[1:]
    if not names or names_predictions(header, label=label, prediction=prediction):
        return False
    text = file.head.decode("utf-8-sig", errors="replace")
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))[1:]
    is_whole = len(file.head) < _WHOLE
    # The last row of a longer file may be cut.
    rows = [row for row in rows if row] if is_whole else rows[:-1]
    if not rows or (is_whole and len(rows) != len(names)):
        return False
    known = set(names)
    return all(len(row) == len(header) and row[0] in known for row in rows) and all(
        _is_number(cell) for row in rows for cell in row[1:]
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
