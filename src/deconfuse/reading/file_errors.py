"""What DuckDB says about a file that it cannot read, in the words of the caller."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from deconfuse._checks import show
from deconfuse.errors import InputError
from deconfuse.reading.file_formats import DataFile

__all__ = ["TWICE", "explain_failure"]

# Said by a query of ours, before the name of the key.
TWICE = "an object has this key twice: "

# A few seconds of looking for the place of an error, no more.
_SEARCHED_LINES = 1_000_000

_LINE = re.compile(r"CSV Error on Line: (\d+)")
_COLUMNS = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_OUT_OF_RANGE = re.compile(r"with value (-?\d+) can't be cast because .* type INT64")
_NAMED_FILE = re.compile(r'(?:file = |file "|GZIP stream: )([^"\n]+)')


def explain_failure(message: str, files: Sequence[DataFile]) -> InputError:
    """Return the error for a message of DuckDB on these files."""
    file = _named_file(message, files)
    where = f"One of {show([str(file.path) for file in files], 3)}"
    if file is not None:
        where = f"File {str(file.path)!r}"
    if TWICE in message:
        return InputError(
            f"{where} must have a key once in every object, got {message.split(TWICE, 1)[1]!r}"
            " twice in one.",
            hint="which of the two values is meant? Write it again with one.",
        )
    if "Malformed JSON" in message:
        return _json(message, where, file)
    for sign, explain in _EXPLANATIONS:
        if sign.search(message):
            return explain(message, where)
    first_line = message.strip().split("\n", 1)[0]
    return InputError(f"{where} could not be read: {first_line}")


def _named_file(message: str, files: Sequence[DataFile]) -> DataFile | None:
    if len(files) == 1:
        return files[0]
    named = _NAMED_FILE.search(message)
    for file in files:
        if named and Path(named[1].strip()).name == file.path.name:
            return file
    return None


def _line(message: str) -> str:
    line = _LINE.search(message)
    return f" in line {int(line[1]):,}" if line else ""


def _ragged(message: str, where: str) -> InputError:
    columns = _COLUMNS.search(message)
    expected, found = columns.groups() if columns else ("equally many", "others")
    return InputError(
        f"{where} must have {expected} values in every row, got {found}{_line(message)}.",
        hint="quote values that hold the delimiter; a short last line means that it is truncated.",
    )


def _quote(message: str, where: str) -> InputError:
    return InputError(
        f"{where} must close every quoted value, and has an open quote{_line(message)}.",
        hint='double the quotes inside a quoted value ("").',
    )


def _encoding(message: str, where: str) -> InputError:
    return InputError(
        f"{where} must be UTF-8 text, and is not{_line(message)}.", hint="save it as UTF-8."
    )


def _irregular(message: str, where: str) -> InputError:
    return InputError(
        f"{where} must be regular CSV, and is not{_line(message)}: ends of lines are mixed, or a"
        " quote stands inside a value.",
        hint="end all lines with LF or all with CRLF, and quote whole values.",
    )


def _unsupported(_: str, where: str) -> InputError:
    return InputError(
        f"{where} must have columns of types that DuckDB reads, and has another, such as float16.",
        hint="write it as Parquet, or without that column.",
    )


def _truncated(_: str, where: str) -> InputError:
    return InputError(
        f"{where} must be complete, and is truncated or damaged.", hint="copy or write it again."
    )


def _json(message: str, where: str, file: DataFile | None) -> InputError:
    # DuckDB counts the lines of JSON differently from version to version.
    reason = message.rsplit(":", 1)[1].split("\n", 1)[0].strip(" .")
    if "byte order mark" in reason:
        return InputError(
            f"{where} must be JSON lines without a byte order mark, and begins with one.",
            hint="save it as UTF-8 without a byte order mark (BOM).",
        )
    line = _malformed_line(file) if file else None
    place = f" in line {line:,}" if line else ""
    return InputError(
        f"{where} must be JSON lines, one object a line, and is malformed{place}: {reason}.",
        hint="a cut last line means that it is truncated.",
    )


def _malformed_line(file: DataFile) -> int | None:
    """Return the number of the first line that is no JSON, if it is among the first ones."""
    if file.compression == "zstd" or file.head.lstrip().startswith(b"["):
        return None
    with gzip.open(file.path) if file.compression == "gzip" else file.path.open("rb") as stream:
        for number, line in enumerate(islice(stream, _SEARCHED_LINES), start=1):
            try:
                if line.strip():
                    json.loads(line)
            except ValueError:
                return number
    return None


def _too_large(message: str, where: str) -> InputError:
    value = _OUT_OF_RANGE.search(message)
    return InputError(
        f"{where} must name classes by whole numbers that fit in 64 bits"
        f"{f', got {value[1]}' if value else ''}.",
        hint="turn identifiers into strings.",
    )


def _memory(_: str, where: str) -> InputError:
    return InputError(
        f"{where} has more distinct (label, prediction) pairs than fit in memory.",
        hint="check that the columns hold classes, not identifiers.",
    )


_EXPLANATIONS: tuple[tuple[re.Pattern[str], Callable[[str, str], InputError]], ...] = (
    (re.compile(r"unterminated quote", re.IGNORECASE), _quote),
    (re.compile(r"unicode|utf-?8", re.IGNORECASE), _encoding),
    (_COLUMNS, _ragged),
    (re.compile(r"reached an invalid state"), _irregular),
    (re.compile(r"Unsupported Internal Arrow Type"), _unsupported),
    (re.compile(r"Out of Memory", re.IGNORECASE), _memory),
    (_OUT_OF_RANGE, _too_large),
    (
        re.compile(
            r"GZIP|magic bytes|decompress|Snappy|ZSTD|footer|Expected to be able to read"
            r"|not enough data|TProtocol|out of buffer",
            re.IGNORECASE,
        ),
        _truncated,
    ),
)
