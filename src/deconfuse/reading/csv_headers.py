"""The first record of a delimited file: the names of its columns, and what separates them."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from deconfuse.errors import InputError
from deconfuse.reading.file_formats import DataFile

__all__ = ["Header", "read_header"]

_DELIMITERS = (",", "\t", ";", "|")


@dataclass(frozen=True, slots=True)
class Header:
    """Column names of a delimited file, and its delimiter."""

    names: tuple[str, ...]
    delimiter: str


def read_header(file: DataFile) -> Header:
    """Return the header of a delimited file."""
    # The head may end inside a character, so only its first record must be decoded.
    text = file.head.decode("utf-8-sig", errors="replace")
    if text.startswith(("\n", "\r")):
        raise InputError(
            f"File {str(file.path)!r} must begin with the names of its columns, and begins with an"
            " empty line.",
            hint="delete the lines before the header.",
        )
    first_line = text.split("\n", 1)[0].split("\r", 1)[0]
    counts = {mark: _outside_quotes(first_line, mark) for mark in _DELIMITERS}
    delimiter = max(_DELIMITERS, key=lambda mark: counts[mark])
    claims_tabs = file.path.name.lower().removesuffix(".gz").removesuffix(".zst")
    if claims_tabs.endswith((".tsv", ".tab")) and counts["\t"] < counts[delimiter]:
        raise InputError(
            f"File {str(file.path)!r} is not what its name says: its columns are separated by"
            f" {delimiter!r}, not by tabs.",
            hint="rename it, or check how it was written.",
        )
    header = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    if any("\ufffd" in name for name in header):
        raise _not_utf8(file)
    return Header(tuple(header), delimiter)


def _outside_quotes(line: str, mark: str) -> int:
    return sum(part.count(mark) for part in line.split('"')[::2])


def _not_utf8(file: DataFile) -> InputError:
    return InputError(
        f"File {str(file.path)!r} must be UTF-8 text, and is not.", hint="save it as UTF-8."
    )
