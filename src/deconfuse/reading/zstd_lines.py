"""Text of zstd files, which the standard library cannot decompress."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deconfuse.errors import InputError, MissingExtraError
from deconfuse.reading.file_formats import HEAD_SIZE
from deconfuse.reading.file_paths import pattern_of

if TYPE_CHECKING:
    import duckdb

__all__ = ["read_zstd", "zstd_head"]

# More lines than a dense matrix has; bytes of a line of text, and of JSON in one line.
_HEAD_LINES = 2_100
_USUAL_LINE, _LONGEST_LINE = 2_000_000, 1 << 28


def zstd_head(connection: duckdb.DuckDBPyConnection, path: Path) -> bytes:
    """Return the first lines of a zstd file, with plain line ends, through DuckDB."""
    head = _lines(connection, path, limit=_HEAD_LINES, longest=_USUAL_LINE)
    if not head.strip():
        # Lines that are longer are skipped.
        head = _lines(connection, path, limit=1, longest=_LONGEST_LINE)
    return head[:HEAD_SIZE]


def read_zstd(path: Path) -> bytes:
    """Return all that a zstd file holds: a matrix, which fits in memory."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError.of(
            "pyarrow", extra="arrow", feature="Reading a matrix compressed with zstd"
        ) from error
    try:
        with pa.input_stream(str(path), compression="zstd") as stream:
            return bytes(stream.read())
    except OSError as error:
        raise InputError(
            f"File {str(path)!r} must be complete, and is truncated or damaged: {error}.",
            hint="copy or write it again.",
        ) from error


def _lines(connection: duckdb.DuckDBPyConnection, path: Path, *, limit: int, longest: int) -> bytes:
    import duckdb

    # \x01 separates nothing in text, so every line is one value, whatever ends it.
    query = (
        "SELECT line FROM read_csv(?, auto_detect=false, header=false, delim=?, quote='',"
        " escape='', columns={'line': 'VARCHAR'}, compression='zstd', null_padding=true,"
        " max_line_size=?, strict_mode=false, ignore_errors=true) LIMIT ?"
    )
    try:
        rows = connection.execute(query, [[pattern_of(path)], "\x01", longest, limit]).fetchall()
    except duckdb.Error as error:
        raise InputError(
            f"File {str(path)!r} must be complete, and is truncated or damaged: it cannot be"
            " decompressed as zstd text.",
            hint="copy or write it again.",
        ) from error
    return "\n".join(line or "" for (line,) in rows).encode()
