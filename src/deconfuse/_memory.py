"""Measure how much memory this process may use, and refuse arrays that would not fit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import prod
from pathlib import Path, PurePosixPath

from deconfuse.errors import InputError

__all__ = ["memory_limit", "process_limits", "refuse_if_too_large"]


def refuse_if_too_large(shape: Sequence[int], what: str) -> None:
    """Raise `InputError` where a dense float64 array of this shape would not fit into memory."""
    needed = 8 * prod(int(size) for size in shape)
    if needed > memory_limit() // 2:
        size = "x".join(f"{n:,}" for n in shape)
        message = f"{what} would be dense, {size}, and take {_human_bytes(needed)} of memory."
        hint = "ask for single cells or rows (`cell`, `row`)."
        raise InputError(message, hint=hint)


def memory_limit() -> int:
    """Return the bytes that this process may use: those of the machine, or its container's."""
    return min(_limits(), default=8 * 2**30)


def _limits() -> Iterator[int]:
    with suppress(AttributeError, ValueError, OSError):
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    yield from process_limits()
    yield from _group_limits(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))


def process_limits() -> Iterator[int]:
    """Yield the bytes that this process may have, where someone limited it."""
    # Windows has no such limits.
    with suppress(ImportError, OSError):
        import resource

        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            soft, _ = resource.getrlimit(kind)
            if soft != resource.RLIM_INFINITY:
                yield soft


def _group_limits(groups: Path, root: Path) -> Iterator[int]:
    """Yield the limits of the control groups of this process, of their parents too (Linux)."""
    with suppress(OSError):
        for line in groups.read_text().splitlines():
            _, controllers, name = line.split(":", 2)
            if controllers not in ("", "memory"):
                continue
            # Version 2 has one hierarchy without a name, version 1 one folder per controller.
            base = root / controllers
            file = "memory.limit_in_bytes" if controllers else "memory.max"
            group = PurePosixPath(name.lstrip("/"))
            for folder in (group, *group.parents):
                # A group without a limit says "max".
                with suppress(OSError, ValueError):
                    yield int((base / folder / file).read_text())


def _human_bytes(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024 or unit == "PiB":
            return f"{size:.3g} {unit}"
        size /= 1024
    raise AssertionError
