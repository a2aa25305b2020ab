"""Read the bytes of the canonical files as arrays of images and labels.

Every reader takes whole, plain content and returns images as ``(n, height, width, channels)``
unsigned bytes and labels counted from 0. A content that is short, long or of another format is an
error that says so.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deconfuse.errors import InputError

__all__ = [
    "area_average",
    "read_idx",
    "read_labelled_records",
    "read_stl_images",
    "read_stl_labels",
    "write_idx",
    "write_labelled_records",
]

Bytes = NDArray[np.uint8]

_STL_SIDE = 96
_RECORD_SIDE = 32


def read_idx(content: bytes, name: str) -> Bytes:
    """Read an IDX file of unsigned bytes, as MNIST and Fashion-MNIST use.

    Examples
    --------
    >>> read_idx(write_idx(np.array([[1, 2], [3, 4]], dtype=np.uint8)), "example")
    array([[1, 2],
           [3, 4]], dtype=uint8)
    """
    if len(content) < 4 or content[:3] != b"\x00\x00\x08":
        raise InputError(
            f"{name} must be an IDX file of unsigned bytes, but it starts with {content[:4]!r}."
        )
    n_dimensions = content[3]
    start = 4 + 4 * n_dimensions
    shape = tuple(int(size) for size in np.frombuffer(content[4:start], dtype=">u4"))
    expected = start + int(np.prod(shape, dtype=np.int64))
    if len(shape) != n_dimensions or len(content) != expected:
        raise InputError(
            f"{name} must have {expected} bytes for its shape {shape}, got {len(content)}."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def write_idx(values: Bytes) -> bytes:
    """Return the IDX file of an array of unsigned bytes."""
    head = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">u4").tobytes()
    return head + np.ascontiguousarray(values).tobytes()


def read_labelled_records(content: bytes, name: str) -> tuple[Bytes, NDArray[np.int64]]:
    """Read records of one label byte and a planar 32 x 32 RGB image, as CIFAR-10's batches."""
    length = 1 + 3 * _RECORD_SIDE**2
    if not content or len(content) % length:
        raise InputError(
            f"{name} must be records of {length} bytes (a label, then a 32 x 32 RGB image), "
            f"got {len(content)} bytes."
        )
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, length)
    planes = records[:, 1:].reshape(-1, 3, _RECORD_SIDE, _RECORD_SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), records[:, 0].astype(np.int64)


def write_labelled_records(images: Bytes, labels: NDArray[np.int64]) -> bytes:
    """Return the records that :func:`read_labelled_records` reads."""
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    return np.concatenate([labels.astype(np.uint8)[:, None], planes], axis=1).tobytes()


def read_stl_images(content: bytes, name: str) -> Bytes:
    """Read STL-10's 96 x 96 images (planes stored column by column) and average them to 32 x 32."""
    length = 3 * _STL_SIDE**2
    if not content or len(content) % length:
        raise InputError(
            f"{name} must be 96 x 96 RGB images of {length} bytes each, got {len(content)} bytes."
        )
    planes = np.frombuffer(content, dtype=np.uint8).reshape(-1, 3, _STL_SIDE, _STL_SIDE)
    return area_average(planes.transpose(0, 3, 2, 1), 3)


def read_stl_labels(content: bytes, name: str) -> NDArray[np.int64]:
    """Read STL-10's labels, which count from 1, as labels that count from 0."""
    labels = np.frombuffer(content, dtype=np.uint8).astype(np.int64) - 1
    if labels.size == 0 or labels.min() < 0 or labels.max() > 9:
        raise InputError(f"{name} must hold labels from 1 to 10, one byte each.")
    return labels


def area_average(images: Bytes, factor: int) -> Bytes:
    """Shrink images by the exact mean over squares, rounded to the nearest byte.

    Examples
    --------
    >>> area_average(np.arange(9, dtype=np.uint8).reshape(1, 3, 3, 1), 3).ravel()
    array([4], dtype=uint8)
    """
    n, height, width, channels = images.shape
    area = factor * factor
    small = np.empty((n, height // factor, width // factor, channels), dtype=np.uint8)
    # In chunks, because the sums need four bytes for each of the file's one.
    for start in range(0, n, 500):
        part = images[start : start + 500].astype(np.uint32)
        squares = part.reshape(len(part), *small.shape[1:2], factor, small.shape[2], factor, -1)
        small[start : start + 500] = (squares.sum(axis=(2, 4)) + area // 2) // area
    return small
