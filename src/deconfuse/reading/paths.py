"""Expand paths, patterns and folders into a list of files."""

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
from deconfuse.reading.files import suffixes_of

__all__ = ["FileSet", "Paths", "expand_paths"]

Paths: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")


@dataclass(frozen=True, slots=True)
class FileSet:
    """The files to count, sorted as they were found.

    Attributes
    ----------
    paths : tuple of Path
        Each once.
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
        is there twice: named again, behind a link, or in two formats.

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
        # A data frame gives the names of its columns, an open file its lines.
        raise _not_a_path(paths)
    found: list[FileSet] = []
    for path in paths:
        if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
            raise _not_a_path(path)
        found.append(_expand(os.fspath(path)))
    if not found:
        raise InputError("`path` must name at least one file, got none.")
    files = tuple(file for part in found for file in part.paths)
    _refuse_repeated(files)
    return FileSet(files, any(part.partitioned for part in found))


def _not_a_path(given: object) -> InputError:
    return InputError(
        f"`path` must be a path or several of them, got {type(given).__name__}.",
        hint="to count a data frame, use ConfusionMatrix.from_frame; of an open file, give the"
        " path.",
    )


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
    path = Path(os.path.expanduser(text))
    try:
        if path.is_dir():
            return _folder(path)
        exists, is_link = path.exists(), path.is_symlink()
    except (OSError, ValueError) as error:
        # Such as a name that is too long for any file.
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"File {show([text])} cannot be read: {reason}.") from error
    if exists:
        return FileSet((path,))
    if glob.has_magic(text):
        return _matches(str(path))
    if is_link:
        raise InputError(f"File {text!r} is a link to a file that does not exist.")
    near = difflib.get_close_matches(path.name, _names_in(path.parent), n=1)
    raise InputError(
        f"File {text!r} does not exist.",
        hint=f"did you mean {str(path.parent / near[0])!r}?" if near else None,
    )


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except (OSError, ValueError):
        return []


def _matches(pattern: str) -> FileSet:
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
        return FileSet(tuple(files), all(any("=" in step for step in steps) for steps in within))
    parts = [_folder(match) for match in folders]
    merged = tuple(file for part in parts for file in part.paths)
    named = all("=" in folder.name for folder in folders)
    return FileSet(merged, named or all(part.partitioned for part in parts))


def _folder(folder: Path) -> FileSet:
    files = sorted(_files_below(folder))
    chosen = [file for file in files if suffixes_of(file)[1] is not None] or files
    if not chosen:
        raise InputError(f"Folder {str(folder)!r} holds no data files.")
    partitioned = all("=" in file.relative_to(folder).parts[0] for file in chosen)
    return FileSet(tuple(chosen), partitioned)


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
        stem = os.path.join(os.path.abspath(file.parent), suffixes_of(file)[0])
        # A name without a suffix that we know is no copy of one with it.
        keys = [os.path.realpath(file), stem if suffixes_of(file)[1] else ""]
        for key in filter(None, keys):
            if key in seen and seen[key] is not file:
                raise InputError(
                    f"Each file must be given once, got {str(seen[key])!r} and {str(file)!r}, which"
                    " look the same.",
                    hint="its rows would count twice; name one of them, or use a pattern such as"
                    " '*.csv'.",
                )
            seen[key] = file
