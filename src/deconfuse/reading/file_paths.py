"""Paths, patterns and folders, as the caller gives them, to the files that are meant."""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from deconfuse._checks import show
from deconfuse.errors import InputError

__all__ = ["FileSet", "Paths", "expand_paths", "pattern_of"]

Paths: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
_DATA_SUFFIX = re.compile(
    r"\.(csv|tsv|tab|txt|parquet|pq|json|jsonl|ndjson|arrow|feather|ipc|arrows|npz)"
    r"(\.(gz|gzip|zst|zstd))?$",
    re.IGNORECASE,
)
_COMPRESSED = re.compile(r"\.(gz|gzip|zst|zstd)$", re.IGNORECASE)
# Folders in which a table notes which of its files are still part of it.
_TABLE_LOGS = {"_delta_log": "Delta Lake", ".hoodie": "Hudi"}


@dataclass(frozen=True, slots=True)
class FileSet:
    """The files to count, sorted as they were found.

    Attributes
    ----------
    paths : tuple of Path
        Regular files, each once.
    partitioned : bool
        Whether they lie in folders named ``column=value``, as Spark and Dask write partitions.
    """

    paths: tuple[Path, ...]
    partitioned: bool = False


def expand_paths(paths: Paths) -> FileSet:
    """Return the files that are meant.

    Parameters
    ----------
    paths : path, or iterable of paths
        Each a file, a folder (all the data files below it), or a pattern with ``*``, ``?``,
        ``[...]`` or ``**``. A file whose name has such characters is taken by its name first.

    Returns
    -------
    FileSet

    Raises
    ------
    InputError
        If a path does not exist, a pattern matches nothing, a folder holds no data files, or a file
        is named twice.

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
    elif hasattr(paths, "columns") or hasattr(paths, "read"):
        # A data frame can be iterated over too: it gives the names of its columns. An open file
        # gives its lines.
        raise _no_path(paths)
    asked = list(paths)
    if not asked:
        raise InputError("`path` must name at least one file, got none.")
    found: list[Path] = []
    partitioned = False
    for path in asked:
        if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
            raise _no_path(path)
        files = _expand(os.fspath(path))
        found += files.paths
        partitioned = partitioned or files.partitioned
    _refuse_repeated(found)
    return FileSet(tuple(found), partitioned)


def _no_path(given: object) -> InputError:
    message = f"`path` must be a path or several of them, got {type(given).__name__}."
    if hasattr(given, "read"):
        name = getattr(given, "name", None)
        example = f", {name!r}," if isinstance(name, str) else ""
        return InputError(
            f"{message[:-1]}, an open file.",
            hint=f"give its path{example} instead; what has none is written to a file first, or"
            " read into a data frame for ConfusionMatrix.from_frame.",
        )
    return InputError(message, hint="to count a data frame, use ConfusionMatrix.from_frame.")


def pattern_of(path: Path) -> str:
    """Return a pattern for DuckDB that matches this path alone, whatever characters it has."""
    return re.sub(r"([*?\[])", r"[\1]", os.path.abspath(path))


def _expand(text: str) -> FileSet:
    if _URL.match(text):
        raise InputError(
            f"`path` must be a local file, got {text!r}.",
            hint="download it first, or open it in an engine and use ConfusionMatrix.from_frame.",
        )
    if not text.strip():
        # It would mean the folder one is in, with all that is below it.
        raise InputError(
            f"`path` must name a file or a folder, got {text!r}.",
            hint="is a variable empty? The folder you are in is '.'.",
        )
    if text.startswith("~"):
        text = os.path.expanduser(text)
    path = Path(text)
    try:
        is_file = path.is_file()
    except OSError as error:
        # Such as a name that is too long for any file.
        raise InputError(f"File {show([text])} cannot be read: {error.strerror}.") from error
    if is_file:
        return FileSet((path,))
    if path.is_dir():
        return _folder(path)
    if path.exists():
        raise InputError(
            f"`path` must be a regular file or a folder, and {text!r} is neither.",
            hint="write what it delivers to a file first.",
        )
    if glob.has_magic(text):
        return _matches(text)
    raise InputError(f"File {text!r} must exist, and does not.", hint=_nearest(path))


def _matches(pattern: str) -> FileSet:
    # As with dots, a name with a leading underscore is meant only where the pattern has one: so
    # jobs mark what they are done with.
    takes_marks = os.path.basename(pattern).startswith("_")
    matches = [
        Path(match)
        for match in sorted(glob.glob(pattern, recursive=True))
        if takes_marks or not os.path.basename(match).startswith("_")
    ]
    files = [match for match in matches if match.is_file()]
    folders = [match for match in matches if not match.is_file()]
    if not matches:
        raise InputError(f"Pattern {pattern!r} must match at least one file, and matches none.")
    if files and folders and "**" not in pattern:
        raise InputError(
            f"Pattern {pattern!r} must match files or folders, and matches both, such as"
            f" {str(files[0])!r} and {str(folders[0])!r}.",
            hint="name the folder itself for all that is below it, or end the pattern as the files"
            " end, such as in '*.csv'.",
        )
    if files:
        steps = Path(pattern).parts
        fixed = next(at for at, step in enumerate(steps) if glob.has_magic(step))
        return FileSet(
            tuple(files),
            all(any("=" in step for step in file.parts[fixed:-1]) for file in files),
        )
    parts = [_folder(match) for match in folders]
    merged = tuple(file for part in parts for file in part.paths)
    named = all("=" in folder.name for folder in folders)
    return FileSet(merged, named or all(part.partitioned for part in parts))


def _folder(folder: Path) -> FileSet:
    files = sorted(_files_below(folder))
    named = [file for file in files if _DATA_SUFFIX.search(file.name)]
    chosen = named or files
    if not chosen:
        raise InputError(f"Folder {str(folder)!r} must hold data files, and has none.")
    partitioned = all("=" in file.relative_to(folder).parts[0] for file in chosen)
    return FileSet(tuple(chosen), partitioned)


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and of those inside it, also behind links."""
    seen: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True, onerror=_refuse_unreadable):
        real = os.path.realpath(place)
        if real in seen:
            raise InputError(
                f"Folder {str(folder)!r} must hold each file once, and comes to {place!r} again"
                " through a link.",
                hint="its rows would count twice; name the files, or remove the link.",
            )
        seen.add(real)
        for log, kind in _TABLE_LOGS.items():
            if log in folders:
                raise InputError(
                    f"Folder {place!r} must hold the files to count, and is a {kind} table, whose"
                    " files may be out of date.",
                    hint="open the table in an engine and use ConfusionMatrix.from_frame.",
                )
        # Names with a leading dot or underscore are marks and checksums of the job that wrote them.
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        for name in names:
            path = Path(place, name)
            if name.startswith((".", "_")):
                continue
            if path.is_file():
                yield path
            elif path.is_symlink() and not path.exists():
                raise InputError(
                    f"File {str(path)!r} must exist, and is a link to nothing.",
                    hint="its rows would be missing; mend or remove the link.",
                )


def _refuse_unreadable(error: OSError) -> None:
    raise InputError(f"Folder {error.filename!r} could not be opened: {error.strerror}.") from error


def _refuse_repeated(files: Sequence[Path]) -> None:
    """Raise if a file is there twice: named again, behind a link, or plain and compressed."""
    seen: dict[str, Path] = {}
    for file in files:
        for key in (os.path.realpath(file), _COMPRESSED.sub("", os.path.abspath(file))):
            if key in seen and seen[key] is not file:
                if os.path.abspath(seen[key]) == os.path.abspath(file):
                    what = f"{str(file)!r} more than once"
                else:
                    what = f"{str(seen[key])!r} and {str(file)!r}, which are the same"
                raise InputError(
                    f"Each file must be named once, got {what}.",
                    hint="its rows would count twice.",
                )
            seen[key] = file


def _nearest(path: Path) -> str | None:
    parent = path.parent
    if not parent.is_dir():
        return f"there is no folder {str(parent)!r} either." if parent != Path() else None
    alike = difflib.get_close_matches(path.name, os.listdir(parent), n=1)
    return f"did you mean {str(parent / alike[0])!r}?" if alike else None
