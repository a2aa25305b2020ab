"""The checksums of gzip files, which DuckDB does not compare, verified while it counts."""

from __future__ import annotations

import gzip
import threading
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from deconfuse.errors import InputError

__all__ = ["verified_gzip"]

_PIECE = 1 << 20


@contextmanager
def verified_gzip(paths: Sequence[Path]) -> Iterator[None]:
    """Verify gzip files on a thread of their own while the block runs.

    Decompressing lets other threads run, and an engine reads such a file on one core, so on two
    cores this takes little time of its own. The block's results are good only if no error comes.

    Raises
    ------
    InputError
        After the block, if a file is damaged.
    """
    if not paths:
        yield
        return
    stop = threading.Event()
    with ThreadPoolExecutor(max_workers=1) as pool:
        work = pool.submit(_first_damaged, paths, stop)
        try:
            yield
        except BaseException:
            stop.set()
            raise
        damaged = work.result()
    if damaged is not None:
        raise InputError(
            f"File {str(damaged)!r} must be complete, and is truncated or damaged: what it"
            " decompresses to does not match its gzip checksum.",
            hint="copy or write it again.",
        )


def _first_damaged(paths: Sequence[Path], stop: threading.Event) -> Path | None:
    for path in paths:
        try:
            with gzip.open(path, "rb") as stream:
                while not stop.is_set() and stream.read(_PIECE):
                    pass
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return path
    return None
