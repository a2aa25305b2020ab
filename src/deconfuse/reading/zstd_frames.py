"""Whether a zstd file is complete, from the sizes its blocks declare, without decompressing it.

DuckDB reads a truncated zstd file up to the cut and says nothing, so the end is checked here. The
layout is that of RFC 8878, section 3.1.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

__all__ = ["is_complete_zstd"]

_FRAME = 0xFD2FB528
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_RLE_BLOCK, _RESERVED_BLOCK = 1, 3


def is_complete_zstd(path: Path) -> bool:
    """Return whether the file is a sequence of complete frames, at least one."""
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        while stream.tell() < size:
            if not _skip_frame(stream) or stream.tell() > size:
                return False
    return size > 0


def _skip_frame(stream: BinaryIO) -> bool:
    """Move past one frame; False if its headers are cut or are none."""
    magic = _number(stream, 4)
    if magic in _SKIPPABLE:
        length = _number(stream, 4)
        if length is None:
            return False
        stream.seek(length, os.SEEK_CUR)
        return True
    descriptor = _number(stream, 1)
    if magic != _FRAME or descriptor is None:
        return False
    single_segment = bool(descriptor & 0x20)
    content_size = (1 if single_segment else 0, 2, 4, 8)[descriptor >> 6]
    dictionary_id = (0, 1, 2, 4)[descriptor & 0x03]
    window = 0 if single_segment else 1
    stream.seek(window + dictionary_id + content_size, os.SEEK_CUR)
    last = False
    while not last:
        block = _number(stream, 3)
        if block is None or (block >> 1) & 0x03 == _RESERVED_BLOCK:
            return False
        last = bool(block & 1)
        # A run-length block declares how often its one byte repeats.
        stream.seek(1 if (block >> 1) & 0x03 == _RLE_BLOCK else block >> 3, os.SEEK_CUR)
    stream.seek(4 if descriptor & 0x04 else 0, os.SEEK_CUR)
    return True


def _number(stream: BinaryIO, size: int) -> int | None:
    raw = stream.read(size)
    return int.from_bytes(raw, "little") if len(raw) == size else None
