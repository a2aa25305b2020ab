"""A confusion matrix as CSV text: a table with names, or one line a pair for many classes.

A table has the class names in its first row and first column; the corner names the axes and the
type of the names, as in ``true \\ predicted [int]``. Variances of weighted counts follow in a
second table after an empty line. A sparse matrix has one line for each class with itself, which
fixes the order of the classes, then one for each other pair. The corner also tells whether a
second table or how many pairs must follow, so that a file cut short is not taken for a whole one.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from deconfuse._axis_words import refuse_transposed
from deconfuse._checks import CountMatrix, Label, LabelKind, class_names, kind_of, show
from deconfuse._named_counts import CORNER, scattered
from deconfuse._totals import TOTALS_HINT, is_total, refuse_hidden_totals, refuse_totals
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError

__all__ = ["from_csv", "to_csv"]

_FIELD_LIMIT_LOCK = threading.Lock()
_VARIANCES = "variance"
_CORNER_PATTERN = re.compile(
    r"(?:(variance) )?true \\ predicted(?: \[(int|str|bool|date)(; weighted)?\])?"
)
# As a normalized matrix is written: what it is and which way it sums.
_SHARES_PATTERN = re.compile(r"true \\ predicted \((.*)\)", re.DOTALL)
_PAIRS_PATTERN = re.compile(r"true \[(int|str|bool|date); (\d+) pairs\]")


def to_csv(cm: ConfusionMatrix) -> bytes:
    """Return the matrix as CSV in UTF-8."""
    stream = io.StringIO(newline="")
    # Quotes around all text keep names apart from numbers, whatever is in them.
    writer = csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    writer.writerows(_pair_rows(cm) if cm.is_sparse else _table_rows(cm))
    try:
        return stream.getvalue().encode()
    except UnicodeEncodeError as error:
        raise InputError(
            "Class names must be valid Unicode to be written as CSV, got"
            f" {error.object[error.start]!r} in one.",
            hint="save as JSON or NPZ, which can hold it.",
        ) from None


def _written(name: Label) -> str | int:
    # A bool is an int to the csv module, which writes it as text; the tag tells how to read it.
    return name if isinstance(name, str) or type(name) is int else str(name)


def _table_rows(cm: ConfusionMatrix) -> Iterator[list[Any]]:
    corner = f"{CORNER} [{kind_of(cm.labels[0])}{'; weighted' if cm.is_weighted else ''}]"
    names = [_written(name) for name in cm.labels]
    yield [corner, *names]
    yield from ([name, *row.tolist()] for name, row in zip(names, cm.counts, strict=True))
    if cm.is_weighted:
        yield []
        yield [f"{_VARIANCES} {corner}", *names]
        yield from ([name, *row.tolist()] for name, row in zip(names, cm.variances, strict=True))


def _pair_rows(cm: ConfusionMatrix) -> Iterator[list[Any]]:
    names = [_written(name) for name in cm.labels]
    parts = [cm.counts, cm.variances] if cm.is_weighted else [cm.counts]
    # Variances of vanishing weights can round to zero: the pairs are those of either matrix.
    cells = sp.coo_array(sum((part != 0).astype(np.int8) for part in parts))
    n_pairs = len(names) + int((cells.row != cells.col).sum())
    weights = [_VARIANCES] if cm.is_weighted else []
    yield [f"true [{kind_of(cm.labels[0])}; {n_pairs} pairs]", "predicted", "count", *weights]
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


def from_csv(data: bytes) -> ConfusionMatrix:
    """Return the matrix that CSV text holds."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"It must be text in UTF-8: {error}.") from None
    rows = _rows(text)
    while rows and not rows[-1]:
        rows.pop()
    if not rows or not rows[0]:
        raise InputError("It must have a first row of class names, got nothing.")
    shares = _SHARES_PATTERN.fullmatch(rows[0][0])
    if shares is not None:
        raise InputError(
            f"It must hold counts, got what was made from them ({shares.group(1)}).",
            hint="give the counts or the predictions that it was made from.",
        )
    pairs = _PAIRS_PATTERN.fullmatch(rows[0][0])
    table = _CORNER_PATTERN.fullmatch(rows[0][0])
    is_ours = pairs is not None or (table is not None and table.group(2) is not None)
    if is_ours and not text.endswith("\n"):
        raise InputError("Its last line must be complete, but the text ends in the middle of it.")
    if pairs is None:
        return _from_table(rows, is_weighted=table is not None and table.group(3) is not None)
    if len(rows) - 1 != int(pairs.group(2)):
        raise InputError(f"It must have {pairs.group(2)} pairs, got {len(rows) - 1}.")
    return _from_pairs(rows, _kind(pairs.group(1)))


def _rows(text: str) -> list[list[str]]:
    """Return the lines of CSV text, split into fields of any length."""
    # The longest field allowed is one setting for the whole process: it is put back as it was.
    with _FIELD_LIMIT_LOCK:
        limit = csv.field_size_limit()
        csv.field_size_limit(max(limit, len(text)))
        try:
            return list(csv.reader(io.StringIO(text, newline=""), strict=True))
        except csv.Error as error:
            raise InputError(f"It cannot be read as CSV: {error}.") from None
        finally:
            csv.field_size_limit(limit)


def _from_table(rows: list[list[str]], *, is_weighted: bool) -> ConfusionMatrix:
    breaks = [position for position, row in enumerate(rows) if not row]
    if len(breaks) > 1:
        raise InputError(f"It must be one table or two, got {len(breaks) + 1}.")
    first, second = (rows[: breaks[0]], rows[breaks[0] + 1 :]) if breaks else (rows, None)
    counts, names = _table(first, expected=None)
    if second is None:
        if is_weighted:
            raise InputError("It must have a second table, of the variances of its counts.")
        return ConfusionMatrix(counts, names)
    variances, same_names = _table(second, expected=_VARIANCES)
    if same_names != names:
        raise InputError("Its two tables must name the same classes.")
    return ConfusionMatrix(counts, names, variances)


def _table(rows: list[list[str]], *, expected: str | None) -> tuple[Any, tuple[Label, ...]]:
    """Return the cells and names of a table, its rows in the order of its columns."""
    corner, *columns = rows[0]
    refuse_transposed(corner)
    match = _CORNER_PATTERN.fullmatch(corner)
    kind = match.group(2) if match else None
    if (match.group(1) if match else None) != expected:
        raise InputError("Its tables must be the counts, then the variances.")
    ragged = [position for position, row in enumerate(rows, 1) if len(row) != len(rows[0])]
    if ragged:
        raise InputError(
            f"Every line must have {len(rows[0]):,} fields, got {len(rows[ragged[0] - 1]):,}"
            f" in line {ragged[0]:,}.",
        )
    named = [row[0] for row in rows[1:]]
    if len(named) != len(columns):
        has_totals = kind is None and any(map(is_total, (*named, *columns)))
        raise InputError(
            f"It must be square, got {len(named):,} rows of {len(columns):,}.",
            hint=TOTALS_HINT if has_totals else None,
        )
    is_foreign = kind is None
    if kind is None:
        kind = "int" if all(re.fullmatch(r"0|-?[1-9]\d*", name) for name in columns) else "str"
    names = class_names(_parsed(columns, _kind(kind)), name="columns")
    row_names = class_names(_parsed(named, _kind(kind)), name="rows")
    known = set(names)
    if known != set(row_names):
        strange = [name for name in row_names if name not in known]
        raise InputError(f"Rows and columns must name the same classes, got {show(strange)}.")
    place = {name: position for position, name in enumerate(row_names)}
    cells = [[_number(cell) for cell in rows[1 + place[name]][1:]] for name in names]
    if is_foreign:
        refuse_totals(np.array(cells), names)
        refuse_hidden_totals(np.array(cells), names, names)
    return cells, names


def _from_pairs(rows: list[list[str]], kind: LabelKind) -> ConfusionMatrix:
    head = rows[0][1:]
    if head not in (["predicted", "count"], ["predicted", "count", _VARIANCES]):
        raise InputError(f"Its columns must be true, predicted, count, got {show(head)}.")
    for line, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise InputError(
                f"Every line must have {len(rows[0])} fields, got {len(row)} in line {line:,}."
            )
    true = _parsed((row[0] for row in rows[1:]), kind)
    pred = _parsed((row[1] for row in rows[1:]), kind)
    names = class_names(dict.fromkeys(true), name="labels")
    place = {name: position for position, name in enumerate(names)}
    strange = [name for name in pred if name not in place]
    if strange:
        raise InputError(f"Every class must have a line with itself, got none for {show(strange)}.")
    if len(set(zip(true, pred, strict=True))) < len(true):
        raise InputError("Every pair must have one line, got some twice.")
    at = [[place[name] for name in side] for side in (true, pred)]

    def matrix(column: int) -> CountMatrix:
        values = [_number(row[column]) for row in rows[1:]]
        return scattered(at[0], at[1], values, len(names))

    return ConfusionMatrix(matrix(2), names, matrix(3) if len(rows[0]) == 4 else None)


def _kind(text: str) -> LabelKind:
    kinds: dict[str, LabelKind] = {"int": "int", "str": "str", "bool": "bool", "date": "date"}
    return kinds[text]


def _parsed(names: Iterable[str], kind: LabelKind) -> list[Label]:
    parse: dict[LabelKind, Any] = {
        "int": int,
        "str": str,
        "bool": {"True": True, "False": False}.__getitem__,
        "date": datetime.date.fromisoformat,
    }
    result: list[Label] = []
    for name in names:
        try:
            result.append(parse[kind](name))
        except (ValueError, KeyError):
            raise InputError(f"Class names must be of type {kind}, got {name!r}.") from None
    return result


def _number(cell: str) -> int | float:
    try:
        return int(cell) if re.fullmatch(r"\d+", cell) else float(cell)
    except ValueError:
        raise InputError(f"Counts must be numbers, got {cell!r}.") from None
