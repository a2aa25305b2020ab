"""Write files so that they are complete or absent."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from deconfuse.errors import InputError

__all__ = ["atomic_write", "write_bytes", "write_text"]


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file next to ``path`` and move it there once everything is written.

    A crash, a full disk or an error in the block leaves ``path`` as it was. A file that is
    overwritten keeps its permissions, and a symbolic link keeps pointing at its file.

    Raises
    ------
    InputError
        If no file can be written at ``path``: the folder does not exist or is read-only, or there
        is a folder, a device or a pipe.
    OSError
        If writing fails, as on a full disk; the error names ``path``.
    """
    try:
        # Replacing a link would leave the file that it points at as it was.
        target = os.path.realpath(path)
        handle, part = _open_part(target, _permissions(target))
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"File {str(path)!r} cannot be written: {reason}.") from error
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, target)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(part)
        if isinstance(error, OSError) and error.filename in (None, part):
            error.filename, error.filename2 = str(path), None
        raise


def _permissions(target: str) -> int | None:
    """Return the permissions of the file that will be overwritten, or None if there is none."""
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise InputError(
            f"File {target!r} cannot be written: folder {folder!r} does not exist.",
            hint="make the folder first.",
        )
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a device, a pipe or a socket"
        raise InputError(
            f"File {target!r} cannot be written: it is {kind}.",
            hint="give the name of a file.",
        )
    return stat.S_IMODE(mode)


def _open_part(target: str, permissions: int | None) -> tuple[int, str]:
    """Create a file next to another, under a name of our own, with the given permissions."""
    part = os.path.join(os.path.dirname(target), f".deconfuse-{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    # The system takes the umask off the mode of a new file, so nobody has to ask for it.
    handle = os.open(part, flags, 0o666 if permissions is None else 0o600)
    if permissions is not None:
        os.chmod(part, permissions)
    return handle, part


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
