"""A training and a test set with their labels, checked once; the paper's from a data folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from deconfuse.errors import InputError
from deconfuse.experiments.config import check_name
from deconfuse.experiments.data_files import (
    DATA_VARIABLE,
    DatasetSpec,
    data_folder,
    dataset_spec,
    inspect_dataset,
)

__all__ = [
    "Dataset",
    "area_average",
    "load_dataset",
    "read_labelled_records",
    "read_stl_images",
]

Bytes = NDArray[np.uint8]

#: ``none``: handed on as they are. ``standardize``: images in bytes, scaled to [0, 1] and
#: standardized for each channel by the run's own training set. ``rotate``: turned by quarters
#: drawn once for each image of a seed, then standardized.
Transform = Literal["none", "standardize", "rotate"]


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Inputs and labels of a training and a test set.

    Parameters
    ----------
    name : str
        What records, folders and figures call it; a plain name.
    train_inputs, test_inputs : array-like of shape (n, ...)
        One row per sample; images are ``(n, height, width, channels)``. Data frames and lists
        become arrays.
    train_labels, test_labels : array-like of shape (n,)
        Classes as whole numbers from 0.
    classes : sequence of str
        The classes' names, in the order of their numbers; numbers become text.
    transform : {"none", "standardize", "rotate"}
        What each run does to the inputs before it trains. ``"none"`` hands them on as they are.
        The other two are for images in bytes; :func:`load_dataset` sets them. Use
        ``dataclasses.replace(dataset, transform="none")`` to have the paper's images as they are.

    Examples
    --------
    >>> inputs, labels = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    >>> Dataset("mine", inputs, labels, inputs, labels, ("no", "yes")).n_classes
    2
    """

    name: str
    train_inputs: NDArray[Any]
    train_labels: NDArray[np.int64]
    test_inputs: NDArray[Any]
    test_labels: NDArray[np.int64]
    classes: tuple[str, ...]
    transform: Transform = field(default="none", kw_only=True)

    def __post_init__(self) -> None:
        check_name(self.name, "name")
        object.__setattr__(self, "classes", _class_names(self.classes))
        if self.transform not in get_args(Transform):
            options = ", ".join(get_args(Transform))
            raise InputError(f"`transform` must be one of {options}, got {self.transform!r}.")
        for part in ("train", "test"):
            inputs = np.asarray(getattr(self, f"{part}_inputs"))
            labels = np.asarray(getattr(self, f"{part}_labels"))
            if len(inputs) != len(labels):
                raise InputError(
                    f"`{part}_inputs` and `{part}_labels` must describe the same samples, "
                    f"got {len(inputs)} and {len(labels)}."
                )
            if self.transform != "none":
                _check_images(inputs, f"{part}_inputs")
            object.__setattr__(self, f"{part}_inputs", inputs)
            object.__setattr__(
                self, f"{part}_labels", _class_numbers(labels, f"{part}_labels", self.n_classes)
            )

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)


def _check_images(inputs: NDArray[Any], what: str) -> None:
    """Raise unless inputs are images that the paper's transformations can be done to."""
    if inputs.dtype != np.uint8 or inputs.ndim != 4:
        raise InputError(
            f"`{what}` must be images in bytes of shape (n, height, width, channels) to be "
            f"standardized, got {inputs.dtype} of shape {inputs.shape}.",
            hint='give uint8 images, or prepare the inputs yourself and use transform="none".',
        )


def _class_names(values: Iterable[object]) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"`classes` must be a sequence of names, got {values!r:.100}.")
    # Numbers of NumPy print alike but cannot be written to a record.
    classes = tuple(str(name) for name in values)
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise InputError(f"`classes` must be two or more distinct names, got {classes!r:.100}.")
    return classes


def _class_numbers(labels: NDArray[Any], what: str, n_classes: int) -> NDArray[np.int64]:
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise InputError(
            f"`{what}` must be one whole number per sample, got {labels.dtype} "
            f"of shape {labels.shape}.",
            hint="number the classes from 0, in the order of `classes`.",
        )
    found = np.unique(labels)
    if not np.array_equal(found, np.arange(n_classes)):
        raise InputError(
            f"`{what}` must have every class from 0 to {n_classes - 1} and "
            f"no other, got {found[:20].tolist()}."
        )
    return labels.astype(np.int64, copy=False)


def load_dataset(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load one of the paper's datasets from the data folder.

    Parameters
    ----------
    name : str
        One of ``mnist``, ``fashion-mnist``, ``cifar10``, ``stl10``.
    folder : path, optional
        The data folder; see :func:`data_folder`.

    Returns
    -------
    Dataset
        Images as unsigned bytes, ``(n, height, width, channels)``. Its ``transform`` makes every
        run standardize the images (the paper does not say how it scales them), and turn those of
        MNIST and Fashion-MNIST (as the paper does).

    Raises
    ------
    InputError
        When a file is missing, or is not byte for byte the canonical one.
    """
    return _load(name, data_folder(folder).absolute())


@lru_cache(maxsize=4)
def _load(name: str, folder: Path) -> Dataset:
    spec = dataset_spec(name)
    reports = inspect_dataset(folder, spec)
    problems = [report.problem for report in reports if report.problem]
    if problems:
        raise InputError(
            f"{spec.title} must be in the data folder {folder}, but: {' '.join(problems)}",
            hint=f"delete what is wrong and run `deconfuse data prepare --dataset {name}`, or name "
            f"another folder with --data or {DATA_VARIABLE}.",
        )
    return _assemble(spec, {report.file.name: report.content for report in reports})


def _assemble(spec: DatasetSpec, contents: dict[str, bytes]) -> Dataset:
    """Read files whose checksums are right, so that they need no other check."""
    parts: list[tuple[Bytes, NDArray[Any]]]
    if "train-images-idx3-ubyte" in contents:
        arrays = {name: _read_idx(content) for name, content in contents.items()}
        parts = [
            (arrays[f"{part}-images-idx3-ubyte"][..., None], arrays[f"{part}-labels-idx1-ubyte"])
            for part in ("train", "t10k")
        ]
    elif "train_X.bin" in contents:
        # Labels of STL-10 count from 1.
        parts = [
            (
                read_stl_images(contents[f"{part}_X.bin"]),
                np.frombuffer(contents[f"{part}_y.bin"], np.uint8) - 1,
            )
            for part in ("train", "test")
        ]
    else:
        *batches, last = (read_labelled_records(content) for content in contents.values())
        images, labels = (np.concatenate(arrays) for arrays in zip(*batches, strict=True))
        parts = [(images, labels), last]
    train, test = parts
    return Dataset(spec.name, *train, *test, spec.classes, transform=spec.transform)


def _read_idx(content: bytes) -> Bytes:
    """Read an IDX file of unsigned bytes, as MNIST and Fashion-MNIST use."""
    n_dimensions = content[3]
    shape = np.frombuffer(content, dtype=">u4", count=n_dimensions, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_dimensions).reshape(shape)


def read_labelled_records(content: bytes) -> tuple[Bytes, Bytes]:
    """Read records of one label byte and a planar 32 x 32 RGB image, as CIFAR-10's batches."""
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, 1 + 3 * 32 * 32)
    planes = records[:, 1:].reshape(-1, 3, 32, 32)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), records[:, 0]


def read_stl_images(content: bytes) -> Bytes:
    """Read STL-10's 96 x 96 images (planes stored column by column) and average them to 32 x 32."""
    planes = np.frombuffer(content, dtype=np.uint8).reshape(-1, 3, 96, 96)
    return area_average(planes.transpose(0, 3, 2, 1), 3)


def area_average(images: Bytes, factor: int) -> Bytes:
    """Shrink images by the exact mean over squares, rounded to the nearest byte."""
    n, height, width, channels = images.shape
    area = factor * factor
    small = np.empty((n, height // factor, width // factor, channels), dtype=np.uint8)
    # In chunks, because the sums need four bytes for each of the file's one.
    for start in range(0, n, 500):
        part = images[start : start + 500].astype(np.uint32)
        squares = part.reshape(len(part), *small.shape[1:2], factor, small.shape[2], factor, -1)
        small[start : start + 500] = (squares.sum(axis=(2, 4)) + area // 2) // area
    return small
