"""Save a confusion matrix as JSON, CSV or NPZ, and load it without loss and without pickle.

Every format keeps the class names with their type, the counts (whole or not) and, where samples
had weights, the variances. A matrix that is sparse in memory is written as its nonzero cells.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from deconfuse._checks import CountMatrix, Label, kind_of, show
from deconfuse._files import write_bytes
from deconfuse.classes import Classes, ClassOptions
from deconfuse.confusion import ConfusionMatrix
from deconfuse.counts import Counts
from deconfuse.errors import InputError
from deconfuse.reading import csv_matrix
from deconfuse.reading.column_names import Columns
from deconfuse.reading.count_tables import CORNER, TableOptions, is_total, scattered
from deconfuse.reading.csv_matrix import is_saved
from deconfuse.reading.files import HEAD_SIZE, DataFile, Header

__all__ = [
    "FileFormat",
    "load_matrices",
    "read_matrix",
    "refuse_columns",
    "write_matrix",
]

_JSON_MARK = b'"deconfuse confusion matrix"'
# Text of a compressed matrix is read into memory as a whole.
_MOST_BYTES = 1 << 28


def refuse_columns(columns: Columns, classes: ClassOptions) -> None:
    """Raise if a matrix is asked for what only a table of predictions has."""
    asked = [
        *columns.named,
        *(["where"] if columns.where else []),
        *(["threshold"] if columns.threshold is not None else []),
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
    known = {name for name in header.names[1:] if not is_total(name)}
    text = file.head.decode("utf-8-sig", errors="replace")
    is_whole = len(file.head) < HEAD_SIZE
    if not is_whole:
        # The last line may be cut.
        text = text.rpartition("\n")[0]
    named: set[str] = set()
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=header.delimiter)
        for row in islice(filter(None, lines), 1, None):
            name, *cells = row
            is_class = name in known and name not in named
            if len(row) != len(header.names) or not (is_class or is_total(name)):
                return False
            if not all(math.isfinite(float(cell)) for cell in cells):
                return False
            named |= {name} & known
    except (csv.Error, ValueError):
        return False
    return len(known) > 1 and (named == known if is_whole else bool(named))


def _load(file: DataFile, options: TableOptions) -> ConfusionMatrix:
    if file.plain.stat().st_size > _MOST_BYTES and file.plain != file.path:
        raise InputError(
            f"A compressed matrix must unpack to at most {_MOST_BYTES:,} bytes, got more in"
            f" {str(file.path)!r}.",
            hint="decompress it first.",
        )
    return _parse(
        file.plain.read_bytes(),
        cast(FileFormat, file.format),
        name=str(file.path),
        delimiter="," if file.header is None else file.header.delimiter,
        options=options,
    )


FileFormat: TypeAlias = Literal["json", "csv", "npz"]

_MARK = "deconfuse confusion matrix"
_VERSION = 1
_PARTS = [
    f"{name}{part}"
    for name in ("counts", "variances")
    for part in ("", "_rows", "_columns", "_values")
]
# Bytes of an array that a small archive may unpack to; a larger one may be 1,000 times its size.
_ALWAYS_UNPACKED = 1 << 28
# What zipfile, zlib and numpy raise on files that are cut short, garbled or something else.
_NPZ_ERRORS = (
    *(ValueError, TypeError, KeyError, EOFError, OSError, RuntimeError, NotImplementedError),
    *(zipfile.BadZipFile, zlib.error, SyntaxError, OverflowError, MemoryError),
)
_HINT = "the file is damaged or was not written by `save`; write it again."


def write_matrix(
    cm: ConfusionMatrix, path: str | os.PathLike[str], *, format: FileFormat | None = None
) -> None:
    """Write a matrix to ``path``; see `ConfusionMatrix.save`."""
    match _format_of(path, format):
        case "json":
            data = _to_json(cm)
        case "csv":
            data = csv_matrix.to_csv(cm)
        case "npz":
            data = _to_npz(cm)
    write_bytes(path, data)


def read_matrix(
    path: str | os.PathLike[str],
    *,
    format: FileFormat | None = None,
    transpose: bool = False,
    drop: Iterable[object] = (),
    labels: Iterable[object] | None = None,
) -> ConfusionMatrix:
    """Read a matrix from ``path``; see `ConfusionMatrix.load`.

    ``transpose``, ``drop`` and ``labels`` are those of `named_counts`.
    """
    options = TableOptions.of(transpose=transpose, drop=drop, labels=labels)
    chosen = _format_of(path, format)
    file = Path(path)
    try:
        if file.exists() and not file.is_file():
            raise OSError(None, "it is not a regular file")
        data = file.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"`path` must be a file to read, got {os.fspath(path)!r}: {reason}."
        ) from error
    return _parse(data, chosen, name=os.fspath(path), options=options)


def _parse(
    data: bytes,
    format: FileFormat,
    *,
    name: str,
    delimiter: str = ",",
    options: TableOptions = TableOptions(),  # noqa: B008 - frozen
) -> ConfusionMatrix:
    """Return the matrix that the bytes of a file hold; ``name`` is what errors call it."""
    try:
        match format:
            case "json":
                return options.applied(_from_json(data))
            case "csv":
                return csv_matrix.from_csv(data, delimiter=delimiter, options=options)
            case "npz":
                return options.applied(_from_npz(data))
    except InputError as error:
        message = f"{name!r} must hold a confusion matrix as {format}. {error.message}"
        raise InputError(message, hint=error.hint or _HINT) from error


def _format_of(path: str | os.PathLike[str], format: str | None) -> FileFormat:
    chosen = Path(path).suffix.removeprefix(".").lower() if format is None else format
    if chosen not in get_args(FileFormat):
        raise InputError(
            f"The format of a file must be one of json, csv, npz, got {chosen!r} for"
            f" {os.fspath(path)!r}.",
            hint='end the name in one of them, or say `format="json"`; ConfusionMatrix.from_file'
            " reads compressed matrices.",
        )
    return cast(FileFormat, chosen)


def _header(cm: ConfusionMatrix) -> dict[str, Any]:
    kind = kind_of(cm.labels[0])
    names = [str(name) for name in cm.labels] if kind == "date" else list(cm.labels)
    header = {"type": _MARK, "version": _VERSION, "label_type": kind, "labels": names}
    # Counts are then over the classes and these.
    return header | ({"outcomes": list(cm.outcomes)} if cm.outcomes else {})


def _outcomes(header: dict[str, Any]) -> tuple[str, ...]:
    names = header.get("outcomes", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError("`outcomes` must be a list of names.")
    return tuple(names)


def _made(names: tuple[Label, ...], header: dict[str, Any], counts: Counts) -> ConfusionMatrix:
    """Return the matrix of a header and its counts."""
    outcomes = _outcomes(header)
    size = len(names) + len(outcomes)
    if counts.n_classes != size:
        raise InputError(
            f"It must have counts of {size:,} classes and outcomes, got {counts.n_classes:,}."
        )
    return ConfusionMatrix._of(Classes.of(names), counts, outcomes)


def _names(header: Any) -> tuple[Label, ...]:
    """Return the class names that a header holds, in the type that it tells."""
    if not isinstance(header, dict) or header.get("type") != _MARK:
        raise InputError(f'It must say "type": "{_MARK}".')
    if header.get("version") != _VERSION:
        raise InputError(
            f"It must be of version {_VERSION}, got {header.get('version')!r}.",
            hint="read it with the release of deconfuse that wrote it.",
        )
    names, kind = header.get("labels"), header.get("label_type")
    if not isinstance(names, list) or not names:
        raise InputError("It must have a list of class names as `labels`.")
    if kind == "date":
        try:
            return tuple(datetime.date.fromisoformat(name) for name in names)
        except (TypeError, ValueError):
            raise InputError(f"`labels` must be dates, got {show(names)}.") from None
    if any(kind_of(name) != kind for name in names):
        raise InputError(f"`labels` must be of type {kind!r}, got {show(names)}.")
    return tuple(names)


def _to_json(cm: ConfusionMatrix) -> bytes:
    whole = cm._cells
    document = _header(cm) | {"counts": _listed(whole.cells)}
    if whole.is_weighted:
        document["variances"] = _listed(whole.variances)
    return (json.dumps(document, allow_nan=False) + "\n").encode("ascii")


def _listed(matrix: CountMatrix) -> Any:
    """Return rows of cells, or for a sparse matrix its nonzero cells."""
    if isinstance(matrix, np.ndarray):
        return matrix.tolist()
    cells = sp.coo_array(matrix)
    return {
        "rows": cells.row.tolist(),
        "columns": cells.col.tolist(),
        "values": cells.data.tolist(),
    }


def _from_json(data: bytes) -> ConfusionMatrix:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        # Also a number of more digits than Python reads.
        raise InputError(f"It cannot be read as JSON: {error}.") from None
    names = _names(document)
    size = len(names) + len(_outcomes(document))
    counts = _unlisted(document.get("counts"), size)
    variances = document.get("variances")
    spread = None if variances is None else _unlisted(variances, size)
    return _made(names, document, Counts.of(counts, spread))


def _unlisted(cells: Any, n_classes: int) -> Any:
    if isinstance(cells, list):
        return cells
    if not isinstance(cells, dict):
        raise InputError("It must have `counts`, as rows of cells or as its nonzero cells.")
    return scattered(cells.get("rows"), cells.get("columns"), cells.get("values"), n_classes)


def _to_npz(cm: ConfusionMatrix) -> bytes:
    header = json.dumps(_header(cm)).encode("ascii")
    arrays = {"header": np.frombuffer(header, dtype=np.uint8)}
    whole = cm._cells
    arrays |= _packed("counts", whole.cells)
    if whole.is_weighted:
        arrays |= _packed("variances", whole.variances)
    stream = io.BytesIO()
    np.savez_compressed(stream, **cast(dict[str, Any], arrays))
    return stream.getvalue()


def _packed(name: str, matrix: CountMatrix) -> dict[str, npt.NDArray[Any]]:
    if isinstance(matrix, np.ndarray):
        return {name: matrix}
    cells = sp.coo_array(matrix)
    return {f"{name}_rows": cells.row, f"{name}_columns": cells.col, f"{name}_values": cells.data}


def _from_npz(data: bytes) -> ConfusionMatrix:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = set(archive.namelist())
            arrays = {
                name: _array(archive, f"{name}.npy", max(_ALWAYS_UNPACKED, 1000 * len(data)))
                for name in ("header", *_PARTS)
                if f"{name}.npy" in found
            }
    except _NPZ_ERRORS as error:
        reason = error.message if isinstance(error, InputError) else str(error)
        raise InputError(f"It cannot be read as NPZ: {reason}.") from None
    try:
        header = json.loads(arrays["header"].tobytes())
    except (KeyError, ValueError, RecursionError):
        raise InputError("It must have a header of class names.") from None
    names = _names(header)
    size = len(names) + len(_outcomes(header))
    counts = _unpacked("counts", arrays, size)
    if counts is None:
        raise InputError("It must have counts.")
    return _made(names, header, Counts.of(counts, _unpacked("variances", arrays, size)))


def _array(archive: zipfile.ZipFile, name: str, limit: int) -> npt.NDArray[Any]:
    """Return an array of an archive, after a check of how large it is."""
    if archive.getinfo(name).file_size > limit:
        raise InputError(f"{name} unpacks to more than {limit:,} bytes")
    return np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)


def _unpacked(name: str, arrays: dict[str, npt.NDArray[Any]], n_classes: int) -> CountMatrix | None:
    if f"{name}_values" not in arrays:
        return arrays.get(name)
    rows, columns = arrays.get(f"{name}_rows"), arrays.get(f"{name}_columns")
    return scattered(rows, columns, arrays[f"{name}_values"], n_classes)
