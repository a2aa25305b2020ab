"""A training and a test set with their labels, checked once; the paper's from a data folder.

Each file of the paper's datasets is checked before it is used.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from deconfuse.errors import InputError, MissingExtraError
from deconfuse.experiments import formats
from deconfuse.experiments.catalogue import DataFile, DatasetSpec, dataset_spec
from deconfuse.experiments.config import check_name

__all__ = [
    "BROKEN_PACKING",
    "DATA_VARIABLE",
    "PACKINGS",
    "Dataset",
    "FileReport",
    "check_file",
    "data_folder",
    "inspect_dataset",
    "load_dataset",
    "unpack_checked",
]

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
            inputs = _as_array(getattr(self, f"{part}_inputs"), f"{part}_inputs")
            labels = _as_array(getattr(self, f"{part}_labels"), f"{part}_labels")
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


def _as_array(values: object, what: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"`{what}` must be an array with one row per sample, but conversion failed ({error})."
        ) from error
    if array.ndim == 0:
        raise InputError(
            f"`{what}` must be an array with one row per sample, got {type(values).__name__}.",
            hint="make a sparse matrix dense with .toarray().",
        )
    return array


def _class_names(values: Iterable[object]) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"`classes` must be a sequence of names, got {values!r:.100}.")
    names = list(values)
    for name in names:
        if not isinstance(name, str | int | float | np.number | np.bool_):
            raise InputError(f"`classes` must be names (text or numbers), got {name!r:.100}.")
    # Those of NumPy print alike but cannot be written to a record.
    classes = tuple(str(name) for name in names)
    if len(classes) < 2:
        raise InputError(f"`classes` must name at least two classes, got {len(classes)}.")
    twice = [name for name in dict.fromkeys(classes) if classes.count(name) > 1]
    if twice:
        raise InputError(
            f"`classes` must be distinct names, got {twice[0]!r} {classes.count(twice[0])} times."
        )
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


#: The environment variable that names the data folder.
DATA_VARIABLE = "DECONFUSE_DATA"

#: How a file may be packed, as the end of its name, and how to unpack it.
_UNPACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
}
PACKINGS = tuple(_UNPACKERS)

#: What unpacking raises when the bytes are not what they should be.
BROKEN_PACKING = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the data folder: the one given, else ``$DECONFUSE_DATA``, else the user's cache."""
    if folder is not None:
        return Path(folder).expanduser()
    named = os.environ.get(DATA_VARIABLE)
    if named:
        return Path(named).expanduser()
    try:
        from platformdirs import user_cache_path
    except ImportError as error:
        raise MissingExtraError.of(
            "platformdirs", extra="experiments", feature="The default data folder"
        ) from error
    return user_cache_path("deconfuse", appauthor=False) / "data"


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


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file of a dataset in the data folder: its content, or what is wrong with it."""

    file: DataFile
    content: bytes = b""
    problem: str = ""

    @property
    def is_missing(self) -> bool:
        """Whether there is no file at all."""
        return self.problem == f"{self.file.name} is missing."


def inspect_dataset(folder: Path, spec: DatasetSpec) -> list[FileReport]:
    """Read every file of the first release that is there whole, else of the one that was meant."""
    found = []
    for release in spec.releases:
        found.append([check_file(folder, spec, file) for file in release])
        if not any(report.problem for report in found[-1]):
            return found[-1]
    # Of several incomplete releases, the one with something there.
    return max(found, key=lambda reports: sum(not report.is_missing for report in reports))


def check_file(folder: Path, spec: DatasetSpec, file: DataFile) -> FileReport:
    """Read one file of a dataset wherever the data folder has it right, plain or packed."""
    problem = f"{file.name} is missing."
    for place in dict.fromkeys((spec.name, f"{spec.name}/{spec.folder}", spec.folder)):
        for packing in PACKINGS:
            path = folder / place / (file.name + packing)
            if path.is_file():
                try:
                    content = unpack_checked(path.read_bytes(), packing, file, str(path))
                    return FileReport(file, content)
                except InputError as error:
                    problem = error.message
    return FileReport(file, problem=problem)


def unpack_checked(content: bytes, packing: str, file: DataFile, name: str) -> bytes:
    """Return the plain content of a file whose checksum is right; ``name`` is for errors."""
    try:
        plain = _UNPACKERS[packing](content)
    except BROKEN_PACKING as error:
        raise InputError(
            f"{name} must be a complete packed file, but it cannot be unpacked ({error})."
        ) from error
    digest = hashlib.sha256(plain).hexdigest()
    if digest != file.sha256:
        raise InputError(
            f"{name} must have {file.size} bytes with the sha256 {file.sha256}, "
            f"got {len(plain)} bytes with {digest}."
        )
    return plain


def _assemble(spec: DatasetSpec, contents: dict[str, bytes]) -> Dataset:
    if "train-images-idx3-ubyte" in contents:
        arrays = {name: formats.read_idx(content, name) for name, content in contents.items()}
        parts = [
            (
                arrays[f"{part}-images-idx3-ubyte"][..., None],
                arrays[f"{part}-labels-idx1-ubyte"].astype(np.int64),
            )
            for part in ("train", "t10k")
        ]
    elif "train_X.bin" in contents:
        parts = [
            (
                formats.read_stl_images(contents[f"{part}_X.bin"], f"{part}_X.bin"),
                formats.read_stl_labels(contents[f"{part}_y.bin"], f"{part}_y.bin"),
            )
            for part in ("train", "test")
        ]
    else:
        records = [formats.read_labelled_records(c, name) for name, c in contents.items()]
        images = np.concatenate([pair[0] for pair in records[:-1]])
        labels = np.concatenate([pair[1] for pair in records[:-1]])
        parts = [(images, labels), records[-1]]
    (train_inputs, train_labels), (test_inputs, test_labels) = parts
    return Dataset(
        spec.name,
        train_inputs,
        train_labels,
        test_inputs,
        test_labels,
        spec.classes,
        transform=spec.transform,
    )
