"""Find the files that a path means, detect their formats, and decompress them if needed."""

from __future__ import annotations

import csv
import glob
import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

from deconfuse._checks import show
from deconfuse.errors import InputError, MissingExtraError
from deconfuse.reading.csv_matrix import long_fields

__all__ = [
    "HEAD_SIZE",
    "DataFile",
    "Format",
    "Header",
    "Paths",
    "expand_paths",
    "inspect_file",
    "pyarrow",
]

Format: TypeAlias = Literal["csv", "json", "parquet", "arrow", "npz"]

HEAD_SIZE = 1 << 20
_PIECE = 1 << 20
# DuckDB's longest line. It drops a last one that is many times longer without a word.
_LONGEST_LINE = 2_000_000
# A small file may unpack to a gibibyte, a large one to a hundred times its size.
_ALWAYS_UNPACKED = 1 << 30
_MOST_TIMES = 100

_SUFFIXES = {
    *(".csv", ".tsv", ".tab", ".parquet", ".pq", ".json", ".jsonl", ".ndjson"),
    *(".arrow", ".feather", ".ipc", ".arrows", ".npz"),
}
_COMPRESSIONS = (".gz", ".gzip", ".zst", ".zstd")
_DELIMITERS = (",", "\t", ";", "|")
_STREAM_START, _STREAM_END = b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\x00\x00\x00\x00"
# How a matrix begins that we saved as CSV.
_SAVED = (b'"true \\ predicted [', b'"true [')
_AGAIN = "copy or write it again."


@dataclass(frozen=True, slots=True)
class Header:
    """Column names of a delimited file, and its delimiter."""

    names: tuple[str, ...]
    delimiter: str


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file as the caller named it, and ``plain``, what is read: itself, or what it unpacked to.

    ``head`` is its first MiB, unpacked; only CSV has a ``header``.
    """

    path: Path
    plain: Path
    format: Format
    head: bytes
    header: Header | None = None


def _stem_and_suffix(path: Path) -> tuple[str, str | None]:
    """Return the name without the suffixes that we know, and that of its format.

    Examples
    --------
    >>> _stem_and_suffix(Path("a.b.csv.gz"))
    ('a.b', '.csv')
    >>> _stem_and_suffix(Path("notes.md"))
    ('notes.md', None)
    """
    plain = Path(path.name)
    if plain.suffix.lower() in _COMPRESSIONS:
        plain = Path(plain.stem)
    is_known = plain.suffix.lower() in _SUFFIXES
    return (plain.stem, plain.suffix.lower()) if is_known else (plain.name, None)


def inspect_file(path: Path, spill: Path, max_decompressed: int | None = None) -> DataFile:
    """Return what a file holds, after unpacking it into a folder where it is compressed.

    It may unpack to ``max_decompressed`` bytes, by default 1 GiB, or a hundred times its size where
    that is more.
    """
    try:
        if not path.is_file():
            raise OSError(None, "it is not a regular file")
        with ExitStack() as opened:
            stream = opened.enter_context(path.open("rb"))
            plain, compression = path, _compression_of(stream)
            if compression is not None:
                plain = _unpacked(path, compression, spill, max_decompressed)
                stream = opened.enter_context(plain.open("rb"))
            stream.seek(0)
            head = stream.read(HEAD_SIZE)
            if not head.strip():
                raise InputError(
                    f"File {str(path)!r} is empty; it must hold predictions or a matrix.",
                    hint="write it again; if there was nothing to write, leave it out.",
                )
            found = _format_of(path, head)
            if found == "csv" and not head.startswith(_SAVED):
                _refuse_endless(path, stream)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"File {str(path)!r} could not be read: {reason}.") from error
    if found == "csv":
        return DataFile(path, plain, found, head, _header_of(path, head))
    if head.startswith(_STREAM_START):
        plain = _as_arrow_file(path, plain, spill)
    return DataFile(path, plain, found, head)


def pyarrow(feature: str) -> Any:
    """Return PyArrow, with what is needed of it, or say how to install it."""
    try:
        import pyarrow
        import pyarrow.dataset
        import pyarrow.ipc
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", extra="arrow", feature=feature) from error
    return pyarrow


def _compression_of(stream: BinaryIO) -> str | None:
    start = stream.read(4)
    if start.startswith(b"\x1f\x8b"):
        return "gzip"
    # A zstd file may begin with a skippable frame, as parallel compressors write.
    is_skippable = start[1:] == b"\x2a\x4d\x18" and start[:1] in bytes(range(0x50, 0x60))
    return "zstd" if start == b"\x28\xb5\x2f\xfd" or is_skippable else None


def _format_of(path: Path, head: bytes) -> Format:
    """Return the format that the first bytes show, whatever the file is called."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", _STREAM_START)):
        return "arrow"
    if head.startswith(b"PK\x03\x04") and b".npy" in head[30:90]:
        return "npz"
    if head.startswith(_SAVED):
        # Class names may have any character.
        return "csv"
    if b"\x00" in head[:4096]:
        raise InputError(
            f"File {str(path)!r} must be CSV, TSV, JSON lines, Parquet, Arrow IPC or NPZ, got"
            " bytes of another format.",
            hint="write the table as CSV (in UTF-8) or Parquet.",
        )
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return "json" if text.startswith((b"{", b"[")) else "csv"


def _unpacked(path: Path, compression: str, spill: Path, limit: int | None) -> Path:
    """Decompress a file, which verifies its checksum and that it is complete."""
    most = max(_ALWAYS_UNPACKED, _MOST_TIMES * path.stat().st_size) if limit is None else limit
    # Folders named column=value are columns, wherever they are.
    partition = (step for step in path.absolute().parts[:-1] if "=" in step)
    folder = Path(tempfile.mkdtemp(dir=spill)).joinpath(*partition)
    folder.mkdir(parents=True, exist_ok=True)
    plain = folder / "data"
    size = 0
    try:
        with plain.open("wb") as target, _decompressing(path, compression) as source:
            while piece := source.read(_PIECE):
                size += len(piece)
                if size > most:
                    raise InputError(
                        f"File {str(path)!r} must unpack to at most {most:,} bytes, got more.",
                        hint="if it is really that large, raise `max_decompressed`.",
                    )
                target.write(piece)
    except (EOFError, zlib.error, OSError) as error:
        raise InputError(
            f"File {str(path)!r} is truncated or damaged: {error}.",
            hint=_AGAIN,
        ) from error
    return plain


@contextmanager
def _decompressing(path: Path, compression: str) -> Iterator[Any]:
    if compression == "gzip":
        with gzip.open(path, "rb") as stream:
            yield stream
        return
    arrow = pyarrow("Reading files compressed with zstd")
    with arrow.input_stream(str(path), compression="zstd") as stream:
        yield stream


def _refuse_endless(path: Path, stream: BinaryIO) -> None:
    """Raise if text ends in a line that is too long to be one, or in NUL bytes.

    DuckDB drops such a record without a word. Files end so after a crash of the machine.
    """
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - _LONGEST_LINE - 2))
    tail = stream.read()
    if b"\x00" in tail or (size > _LONGEST_LINE and not any(mark in tail[:-1] for mark in b"\n\r")):
        raise InputError(
            f"File {str(path)!r} is damaged at its end: the last line must have at most"
            f" {_LONGEST_LINE:,} bytes and no NUL byte.",
            hint=_AGAIN,
        )


def _header_of(path: Path, head: bytes) -> Header:
    # The head may end inside a character, so only its first record must be decoded.
    text = head.decode("utf-8-sig", errors="replace")
    if text.startswith(("\n", "\r")):
        raise InputError(
            f"File {str(path)!r} must begin with the names of its columns, got an empty line.",
            hint="delete the lines before the header.",
        )
    first_line = text.split("\n", 1)[0].split("\r", 1)[0]
    counts = {
        mark: sum(part.count(mark) for part in first_line.split('"')[::2]) for mark in _DELIMITERS
    }
    delimiter = max(_DELIMITERS, key=lambda mark: counts[mark])
    try:
        with long_fields(len(text)):
            names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f"File {str(path)!r} could not be read as CSV: {error}.") from error
    return Header(tuple(names), delimiter)


def _as_arrow_file(path: Path, plain: Path, spill: Path) -> Path:
    """Write an Arrow stream as a file, which can be read more than once."""
    arrow = pyarrow("Reading Arrow IPC files")
    with plain.open("rb") as stream:
        stream.seek(-min(stream.seek(0, os.SEEK_END), len(_STREAM_END)), os.SEEK_END)
        if stream.read() != _STREAM_END:
            # Without its mark at the end, nobody can tell whether a stream is complete.
            raise InputError(
                f"File {str(path)!r} is truncated: it begins as an Arrow stream and lacks the end"
                " of one.",
                hint=_AGAIN,
            )
    handle, name = tempfile.mkstemp(dir=spill)
    os.close(handle)
    try:
        with (
            arrow.memory_map(str(plain)) as source,
            arrow.ipc.open_stream(source) as reader,
            arrow.ipc.new_file(name, reader.schema) as writer,
        ):
            for batch in reader:
                batch.validate(full=True)
                writer.write_batch(batch)
    except (OSError, ValueError, TypeError, KeyError, NotImplementedError) as error:
        raise InputError(
            f"File {str(path)!r} could not be read: {str(error).strip().splitlines()[0]}",
            hint=_AGAIN,
        ) from error
    return Path(name)


Paths: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True)
class _FileSet:
    """The files to count, sorted as they were found, each once.

    Partitioned are those in folders named ``column=value``, as Spark and Dask write them.
    """

    paths: tuple[Path, ...]
    partitioned: bool = False


def expand_paths(paths: Paths) -> _FileSet:
    """Return the files that paths mean: files, folders (all data files below), or patterns.

    A file whose name has ``*``, ``?`` or ``[...]`` is taken by its name first. No file may be there
    twice: named again, behind a link, or in two formats.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a.csv", "b.csv", "_SUCCESS"):
    ...         pathlib.Path(folder, name).touch()
    ...     [path.name for path in expand_paths(folder).paths]
    ['a.csv', 'b.csv']
    """
    if isinstance(paths, (str, bytes, os.PathLike)) or not isinstance(paths, Iterable):
        paths = [paths]
    found: list[_FileSet] = []
    for path in paths:
        if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
            raise InputError(
                f"`path` must be a path or several of them, got {type(path).__name__}.",
                hint="to count a data frame, use ConfusionMatrix.from_frame; of an open file, give"
                " the path.",
            )
        found.append(_expand(os.fspath(path)))
    if not found:
        raise InputError("`path` must name at least one file, got none.")
    files = tuple(file for part in found for file in part.paths)
    _refuse_repeated(files)
    return _FileSet(files, any(part.partitioned for part in found))


def _expand(text: str) -> _FileSet:
    if not text.strip():
        # It would mean the folder one is in, with all that is below it.
        raise InputError(
            f"`path` must name a file or a folder, got {text!r}.",
            hint="is a variable empty? The folder you are in is '.'.",
        )
    path = Path(os.path.expanduser(text))
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, ValueError) as error:
        # Such as a name that is too long for any file.
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"File {show([text])} cannot be read: {reason}.") from error
    if is_folder:
        return _folder(path)
    if exists:
        return _FileSet((path,))
    if glob.has_magic(text):
        return _matches(str(path))
    raise InputError(f"File {text!r} does not exist.")


def _matches(pattern: str) -> _FileSet:
    # As with dots, a name with a leading underscore is meant only where the pattern has one: so
    # jobs mark what they are done with.
    takes_marks = os.path.basename(pattern).startswith("_")
    matches = [
        Path(match)
        for match in sorted(glob.glob(pattern, recursive=True))
        if takes_marks or not os.path.basename(match).startswith("_")
    ]
    folders = [match for match in matches if match.is_dir()]
    files = [match for match in matches if not match.is_dir()]
    if not matches:
        raise InputError(f"Pattern {pattern!r} matches no file.")
    if files and folders and "**" not in pattern:
        raise InputError(
            f"Pattern {pattern!r} must match only files or only folders, got both, such as"
            f" {str(files[0])!r} and {str(folders[0])!r}.",
            hint="name the folder itself for all that is below it, or end the pattern as the files"
            " end, such as in '*.csv'.",
        )
    if files:
        steps = Path(pattern).parts
        fixed = next(at for at, step in enumerate(steps) if glob.has_magic(step))
        within = (file.parts[fixed:-1] for file in files)
        return _FileSet(tuple(files), all(any("=" in step for step in steps) for steps in within))
    parts = [_folder(match) for match in folders]
    merged = tuple(file for part in parts for file in part.paths)
    named = all("=" in folder.name for folder in folders)
    return _FileSet(merged, named or all(part.partitioned for part in parts))


def _folder(folder: Path) -> _FileSet:
    files = sorted(_files_below(folder))
    chosen = [file for file in files if _stem_and_suffix(file)[1] is not None] or files
    if not chosen:
        raise InputError(f"Folder {str(folder)!r} holds no data files.")
    partitioned = all("=" in file.relative_to(folder).parts[0] for file in chosen)
    return _FileSet(tuple(chosen), partitioned)


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and of those inside it, also behind links."""
    seen: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True, onerror=_refuse_unreadable):
        real = os.path.realpath(place)
        if real in seen:
            raise InputError(
                f"Folder {str(folder)!r} must hold each file once, but a link leads to {place!r}"
                " again.",
                hint="its rows would count twice; name the files, or remove the link.",
            )
        seen.add(real)
        # Names with a leading dot or underscore are marks and checksums of the job that wrote them.
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        yield from (Path(place, name) for name in names if not name.startswith((".", "_")))


def _refuse_unreadable(error: OSError) -> None:
    raise InputError(f"Folder {error.filename!r} could not be opened: {error.strerror}.") from error


def _refuse_repeated(files: Sequence[Path]) -> None:
    """Raise if a file is there twice: named again, behind a link, or in two formats."""
    seen: dict[object, Path] = {}
    for file in files:
        stem = os.path.join(os.path.abspath(file.parent), _stem_and_suffix(file)[0])
        # A name without a suffix that we know is no copy of one with it.
        keys = [os.path.realpath(file), stem if _stem_and_suffix(file)[1] else ""]
        for key in filter(None, keys):
            if key in seen and seen[key] is not file:
                raise InputError(
                    f"Each file must be given once, got {str(seen[key])!r} and {str(file)!r}, which"
                    " look the same.",
                    hint="its rows would count twice; name one of them, or use a pattern such as"
                    " '*.csv'.",
                )
            seen[key] = file
