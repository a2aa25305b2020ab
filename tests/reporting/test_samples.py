"""Pictures from data are hostile: few formats, no bombs, no devices, one kind of error."""

from __future__ import annotations

import io
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import deconfuse as dc
from deconfuse.reporting.samples import Thumbnails

FORMATS = ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"]


def encoded(format: str) -> bytes:
    stream = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (24, 24, 3), dtype=np.uint8)
    Image.fromarray(noise).save(stream, format)
    return stream.getvalue()


def show(source: object) -> str:
    _, urls = Thumbnails.of([source], 10**6).make(np.arange(1), [0])
    return urls[0]


@pytest.mark.parametrize("format", FORMATS)
def test_the_usual_formats_are_read(format: str) -> None:
    assert show(encoded(format)).startswith("data:image/png")


@pytest.mark.parametrize("format", ["EPS", "PDF", "ICO", "TGA", "PPM"])
def test_other_formats_reach_no_decoder(format: str) -> None:
    """PostScript above all, which Pillow would give to Ghostscript to run."""
    with pytest.raises(dc.InputError, match="must be readable pictures, but that of row 0 is not"):
        show(encoded(format))


def png_of(width: int, height: int) -> bytes:
    """A PNG that claims a size and has hardly any data."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(1000))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("side", [9_000, 20_000, 2_000_000_000])
def test_bombs_are_refused_before_they_are_decoded(side: int) -> None:
    with pytest.raises(dc.InputError, match=r"pixels|readable pictures"):
        show(png_of(side, side))


@pytest.mark.skipif(os.name == "nt", reason="pipes and devices of POSIX")
def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    for path in (tmp_path / "pipe.png", "/dev/zero", tmp_path):
        with pytest.raises(dc.InputError, match="is not a file"):
            show(path)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("format", FORMATS)
def test_damaged_pictures_are_shown_or_refused_and_nothing_else(format: str) -> None:
    whole = encoded(format)
    rng = np.random.default_rng(1)
    for _ in range(150):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole), rng.integers(1, 6)):
            damaged[place] = rng.integers(256)
        if rng.random() < 0.3:
            damaged = damaged[: rng.integers(len(whole))]
        try:
            show(bytes(damaged))
        except dc.InputError as error:
            assert "row 0" in str(error)  # noqa: PT017
