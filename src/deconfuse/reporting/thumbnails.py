"""Turn pictures of samples into small data URLs, within a budget of bytes."""

from __future__ import annotations

import base64
import io
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deconfuse.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["Thumbnails"]

_SIDE = 64
# Small pictures stay exact; larger ones are photographs, where JPEG is a tenth of the size.
_EXACT_SIDE = 32
# Pillow would hand other formats to other programs: PostScript to Ghostscript, for one.
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
# A picture of 50 kilobytes can claim gigabytes of pixels; a large camera has 50 million.
_MOST_PIXELS = 80_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Thumbnails:
    """Pictures not yet read, and how many bytes of them may be shown."""

    images: Any
    max_bytes: int
    darkest: float
    brightest: float

    @classmethod
    def of(cls, images: Any, max_bytes: int) -> Thumbnails:
        """Look at the pictures once: arrays of numbers need a common range of brightness."""
        if isinstance(images, np.ndarray) and images.dtype.kind in "biuf":
            if images.ndim not in (3, 4):
                raise InputError(
                    "`images` as one array must have the shape (n_samples, height, width) or "
                    f"(n_samples, height, width, channels), got {images.shape}."
                )
            if images.dtype != np.uint8 and images.size:
                return cls(images, max_bytes, float(np.nanmin(images)), float(np.nanmax(images)))
        return cls(images, max_bytes, 0.0, 255.0)

    def make(
        self, rows: NDArray[np.int64], order: list[int]
    ) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """Return for each listed sample the position of its picture or -1, and the pictures."""
        at = np.full(rows.size, -1, dtype=np.int64)
        urls: list[str] = []
        spent = 0
        for position in order:
            url = self._url(int(rows[position]))
            if spent + len(url) > self.max_bytes:
                break
            at[position] = len(urls)
            urls.append(url)
            spent += len(url)
        return at, tuple(urls)

    def _url(self, row: int) -> str:
        picture = self._open(self.images[row], row)
        exact = max(picture.size) <= _EXACT_SIDE
        picture = picture.convert("L" if picture.mode in ("1", "L", "I;16") else "RGB")
        picture.thumbnail((_SIDE, _SIDE))
        stream = io.BytesIO()
        if exact:
            picture.save(stream, "PNG", optimize=True)
        else:
            picture.save(stream, "JPEG", quality=80)
        kind = "png" if exact else "jpeg"
        return f"data:image/{kind};base64,{base64.b64encode(stream.getvalue()).decode('ascii')}"

    def _open(self, source: Any, row: int) -> Image:
        from PIL import Image

        if not isinstance(source, bytes | bytearray | memoryview | str | os.PathLike):
            return Image.fromarray(self._pixels(source, row))
        try:
            return _decode(source)
        # A decoder that is given damaged bytes may raise anything.
        except Exception as error:
            raise InputError(
                f"`images` must be readable pictures, but that of row {row} is not: {error}",
                hint=f"give {', '.join(_FORMATS)} as paths or bytes, or arrays of numbers.",
            ) from error

    def _pixels(self, source: Any, row: int) -> NDArray[np.uint8]:
        array = np.asarray(source)
        if array.ndim == 3 and array.shape[0] in (1, 3) and array.shape[-1] not in (1, 3, 4):
            array = np.moveaxis(array, 0, -1)
        if array.ndim == 3 and array.shape[-1] == 1:
            array = array[..., 0]
        shaped = array.ndim == 2 or (array.ndim == 3 and array.shape[-1] in (3, 4))
        if not shaped or array.dtype.kind not in "biuf" or 0 in array.shape:
            raise InputError(
                "`images` must be paths, bytes or arrays of height x width or height x width x "
                f"3 or 4, but that of row {row} is {type(source).__name__} of shape {array.shape}."
            )
        if array.dtype == np.uint8:
            return array
        if isinstance(self.images, np.ndarray) and self.images.dtype.kind in "biuf":
            low, high = self.darkest, self.brightest
        else:
            low, high = float(array.min(initial=0)), float(array.max(initial=1))
        reach = high - low if high > low else 1.0
        scaled = (array.astype(np.float64) - low) / reach
        return np.asarray(np.clip(255.0 * scaled + 0.5, 0, 255), dtype=np.uint8)


def _decode(source: bytes | bytearray | memoryview | str | os.PathLike[str]) -> Image:
    """Return the first frame of a picture, or raise whatever is wrong with it."""
    from PIL import Image

    if isinstance(source, str | os.PathLike):
        if not stat.S_ISREG(os.stat(source).st_mode):
            raise ValueError(f"{os.fspath(source)!r} is not a file")
        source = Path(source).read_bytes()
    picture = Image.open(io.BytesIO(bytes(source)), formats=_FORMATS)
    if picture.width * picture.height > _MOST_PIXELS:
        raise ValueError(
            f"{picture.width:,} x {picture.height:,} pixels are more than {_MOST_PIXELS:,}"
        )
    # Opening reads the header alone; a file that ends early is noticed here.
    picture.load()
    return picture
