"""Writing files so that they are complete or absent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from deconfuse.errors import InputError

__all__ = ["atomic_write", "write_bytes", "write_text"]


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file beside ``path`` and move it there only when everything was written.

    A crash, a full disk or an error in the block leaves ``path`` as it was.

    Raises
    ------
    InputError
        If no file can be at ``path``: its folder does not exist or cannot be written to, or it is
        a folder itself.
    """
    target = Path(path)
    handle, name = _open_beside(target)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp makes files private; a written report should have the usual permissions.
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _open_beside(target: Path) -> tuple[int, str]:
    """Open a file in the folder of another; errors name that one, which the caller knows."""
    folder = target.parent
    if not folder.is_dir():
        raise InputError(
            f"File {str(target)!r} must be in a folder that exists, and {str(folder)!r} is none.",
            hint="make the folder first.",
        )
    if target.is_dir():
        raise InputError(
            f"File {str(target)!r} must be a file to write, and is a folder.",
            hint="add the name of the file.",
        )
    try:
        # The name is of ours alone: with the caller's in it, it could be too long.
        return tempfile.mkstemp(prefix=".deconfuse-", suffix=".part", dir=folder)
    except PermissionError as error:
        raise InputError(
            f"File {str(target)!r} must be in a folder that can be written to, and"
            f" {str(folder)!r} cannot."
        ) from error


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes to ``path``, all of them or none."""
    with atomic_write(path) as stream:
        stream.write(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text to ``path``, all of it or none.

    Raises
    ------
    InputError
        If the text holds half a surrogate pair, as names of files that are not UTF-8 do.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        around = text[max(0, error.start - 20) : error.end + 10]
        raise InputError(
            f"Text must be Unicode that can be written, got {text[error.start : error.end]!r} in"
            f" {around!r}.",
            hint="rename the class, or decode its name with errors='replace'.",
        ) from error
    write_bytes(path, data)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
