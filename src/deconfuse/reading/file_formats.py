"""What a file holds, told by its content and by its name; the two must agree."""

from __future__ import annotations

import gzip
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from deconfuse.errors import InputError
from deconfuse.reading.zstd_frames import is_complete_zstd

__all__ = ["HEAD_SIZE", "Compression", "DataFile", "Format", "inspect_file"]

Format: TypeAlias = Literal["csv", "json", "parquet", "arrow", "arrow-stream", "npz"]
Compression: TypeAlias = Literal["none", "gzip", "zstd"]
ReadHead: TypeAlias = Callable[[Path], bytes]

HEAD_SIZE = 1 << 20

_FORMATS_BY_SUFFIX: dict[str, tuple[Format, ...]] = {
    ".csv": ("csv",),
    ".tsv": ("csv",),
    ".tab": ("csv",),
    ".parquet": ("parquet",),
    ".pq": ("parquet",),
    ".json": ("json",),
    ".jsonl": ("json",),
    ".ndjson": ("json",),
    ".arrow": ("arrow", "arrow-stream"),
    ".feather": ("arrow", "arrow-stream"),
    ".ipc": ("arrow", "arrow-stream"),
    ".arrows": ("arrow", "arrow-stream"),
    ".npz": ("npz",),
}
_COMPRESSION_BY_SUFFIX: dict[str, Compression] = {
    ".gz": "gzip",
    ".gzip": "gzip",
    ".zst": "zstd",
    ".zstd": "zstd",
}
_NAMES = {
    "csv": "CSV or other delimited text",
    "json": "JSON",
    "parquet": "Parquet",
    "arrow": "an Arrow IPC file",
    "arrow-stream": "an Arrow IPC stream",
    "npz": "a NumPy archive",
    "none": "not compressed",
    "gzip": "gzip",
    "zstd": "zstd",
}
_SHEET_HINT = (
    "save the sheet as CSV; in Python, read it with `pandas.read_excel` and give the frame to"
    " ConfusionMatrix.from_frame, or from_counts if it is a matrix (with index_col=0)."
)
# Found by their first bytes, and not read: (bytes, what it is, what to do).
_UNREADABLE = (
    (b"\x1f\x8b", "gzip inside gzip", "decompress it once."),
    (b"BZh", "a bzip2 file", "decompress it, or compress it with gzip or zstd."),
    (b"\xfd7zXZ\x00", "an xz file", "decompress it, or compress it with gzip or zstd."),
    (b"FEA1", "a Feather file of version 1", "write it again as Arrow IPC (Feather version 2)."),
    (b"PARE", "an encrypted Parquet file", "decrypt it first."),
    (b"\xff\xfe", "UTF-16 text", "save it as UTF-8."),
    (b"\xfe\xff", "UTF-16 text", "save it as UTF-8."),
    (b"SQLite format 3\x00", "an SQLite database", "write the table to CSV or Parquet."),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "write the table to CSV or Parquet."),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "a workbook (.xls) or other old Office file",
        _SHEET_HINT,
    ),
    (b"%PDF", "a PDF document", "write the table to CSV or Parquet."),
)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file, what it holds, and its first bytes after decompression."""

    path: Path
    format: Format
    compression: Compression
    head: bytes


def inspect_file(path: Path, read_zstd_head: ReadHead) -> DataFile:
    """Return what a file holds, or raise if content and name disagree, or it is cut short.

    Parameters
    ----------
    path : Path
        A regular file.
    read_zstd_head : callable
        Decompresses the first lines of a zstd file, which the standard library cannot.

    Returns
    -------
    DataFile

    Raises
    ------
    InputError
        If the file is empty, truncated, unreadable, or not what its name says.
    """
    try:
        with path.open("rb") as stream:
            raw = stream.read(HEAD_SIZE)
    except OSError as error:
        raise InputError(f"File {str(path)!r} could not be opened: {error.strerror}.") from error
    if not raw:
        raise _empty(path)
    compression = _compression_of(raw)
    outer, inner = _suffixes(path)
    if outer != compression and not (outer == "none" and inner is None):
        _refuse_name(path, _NAMES[compression])
    head = raw
    if compression == "gzip":
        head = _gzip_head(path)
    elif compression == "zstd":
        if not is_complete_zstd(path):
            raise _truncated(path, "its last zstd frame is not complete")
        head = read_zstd_head(path)
    if not head.strip():
        raise _empty(path)
    found = _format_of(path, head)
    if inner is not None and found not in _FORMATS_BY_SUFFIX[inner]:
        _refuse_name(path, _NAMES[found])
    if found not in ("csv", "json") and compression != "none":
        raise InputError(
            f"File {str(path)!r} must not be {compression} around {_NAMES[found]}.",
            hint="decompress it: this format compresses inside.",
        )
    _refuse_cut(path, found)
    return DataFile(path, found, compression, head)


def _empty(path: Path) -> InputError:
    return InputError(
        f"File {str(path)!r} must hold predictions, and is empty.",
        hint="write it again; if there was nothing to write, leave it out.",
    )


def _compression_of(raw: bytes) -> Compression:
    if raw.startswith(b"\x1f\x8b"):
        return "gzip"
    # A zstd file may begin with a skippable frame, as parallel compressors write.
    if raw.startswith(b"\x28\xb5\x2f\xfd") or (
        raw[1:4] == b"\x2a\x4d\x18" and raw[:1] >= b"\x50" and raw[:1] <= b"\x5f"
    ):
        return "zstd"
    return "none"


def _suffixes(path: Path) -> tuple[Compression, str | None]:
    """Return the compression and the format suffix that the name claims."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    outer: Compression = "none"
    if suffixes and suffixes[-1] in _COMPRESSION_BY_SUFFIX:
        outer = _COMPRESSION_BY_SUFFIX[suffixes.pop()]
    inner = suffixes[-1] if suffixes and suffixes[-1] in _FORMATS_BY_SUFFIX else None
    return outer, inner


def _gzip_head(path: Path) -> bytes:
    try:
        with gzip.open(path, "rb") as stream:
            return stream.read(HEAD_SIZE)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _truncated(path, "its gzip data end early or are damaged") from error


def _format_of(path: Path, head: bytes) -> Format:
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "arrow"
    if head.startswith(b"\xff\xff\xff\xff"):
        return "arrow-stream"
    if head.startswith(b"PK\x03\x04"):
        # Its first member is named behind 30 bytes: numpy's archives hold arrays.
        if path.suffix.lower() == ".npz" or b".npy" in head[30:90]:
            return "npz"
        book = _workbook(path)
        _refuse_content(path, book or "a zip archive", _SHEET_HINT if book else "unpack it.")
    if head[8:12] == b"DUCK" and b"\x00" in head[12:20]:
        _refuse_content(
            path,
            "a DuckDB database",
            "open it with `con = duckdb.connect(path)`, and give the table to"
            ' `ConfusionMatrix.from_frame(con.table("..."))`; or write the table to Parquet.',
        )
    for magic, what, hint in _UNREADABLE:
        if head.startswith(magic):
            _refuse_content(path, what, hint)
    if len(head) > 3 and not (any(head[1:200:2]) and any(head[0:200:2])):
        _refuse_content(path, "UTF-16 text", "save it as UTF-8.")
    if b"\x00" in head[:4096]:
        _refuse_content(path, "binary data of an unknown kind", None)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"<"):
        _refuse_content(path, "HTML or XML", "check whether a download returned an error page.")
    return "json" if text.startswith((b"{", b"[")) else "csv"


def _workbook(path: Path) -> str | None:
    """Return what to call a zip archive that a spreadsheet program wrote."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            mime = archive.read("mimetype") if "mimetype" in names else b""
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, zlib.error):
        # Damaged or packed in a way of its own: an archive, no more is known.
        return None
    if any(name.startswith("xl/") for name in names):
        return "an Excel workbook"
    return "an OpenDocument spreadsheet" if mime.endswith(b"opendocument.spreadsheet") else None


def _refuse_cut(path: Path, found: Format) -> None:
    """Raise if a format with a mark at its end does not have it."""
    marks: dict[Format, bytes] = {
        "parquet": b"PAR1",
        "arrow": b"ARROW1",
        # A stream may end without this mark, but then nobody can tell whether it is complete.
        "arrow-stream": b"\xff\xff\xff\xff\x00\x00\x00\x00",
    }
    mark = marks.get(found)
    if mark is None:
        return
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - len(mark)))
        # Even without rows, there is a footer or a schema before the last mark.
        if size < 3 * len(mark) or stream.read() != mark:
            raise _truncated(path, f"it begins as {_NAMES[found]} but lacks the end of one")


def _truncated(path: Path, why: str) -> InputError:
    return InputError(
        f"File {str(path)!r} must be complete, and is truncated: {why}.",
        hint="copy or write it again.",
    )


def _refuse_name(path: Path, what: str) -> None:
    raise InputError(
        f"File {str(path)!r} is not what its name says: its content is {what}.",
        hint="rename it, or check how it was written.",
    )


def _refuse_content(path: Path, what: str, hint: str | None) -> None:
    raise InputError(
        f"File {str(path)!r} must be CSV, TSV, Parquet, JSON lines or Arrow IPC, and is {what}.",
        hint=hint,
    )
