"""From files in a data folder to a dataset in memory; each file is checked before it is used."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import zlib
from functools import lru_cache
from pathlib import Path

import numpy as np

from deconfuse.errors import InputError, MissingExtraError
from deconfuse.experiments import formats
from deconfuse.experiments.catalogue import DataFile, DatasetSpec, dataset_spec
from deconfuse.experiments.sets import Dataset

__all__ = [
    "DATA_VARIABLE",
    "PACKINGS",
    "Dataset",
    "data_folder",
    "find_file",
    "load_dataset",
    "read_checked",
]

#: The environment variable that names the data folder.
DATA_VARIABLE = "DECONFUSE_DATA"

#: How a file may be packed, as the end of its name.
PACKINGS = ("", ".gz", ".xz")


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
    wrong: InputError | None = None
    for release in spec.releases:
        paths = [find_file(folder, spec, file) for file in release]
        if all(path is not None for path in paths):
            try:
                contents = {
                    file.name: read_checked(path, file)
                    for file, path in zip(release, paths, strict=True)
                    if path is not None
                }
            except InputError as error:
                # Another release of the same images may be there whole.
                wrong = wrong or error
                continue
            return _assemble(spec, contents)
    if wrong is not None:
        raise wrong
    missing = [file.name for file in spec.releases[0] if find_file(folder, spec, file) is None]
    raise InputError(
        f"{spec.title} must be in the data folder {folder}, but {', '.join(missing)} is not there.",
        hint=f"run `deconfuse data prepare {name}`, or name another folder with --data or "
        f"{DATA_VARIABLE}.",
    )


def find_file(folder: Path, spec: DatasetSpec, file: DataFile) -> Path | None:
    """Return where a file of a dataset is, plain or packed, or None."""
    for place in dict.fromkeys((spec.name, f"{spec.name}/{spec.folder}", spec.folder)):
        for packing in PACKINGS:
            path = folder / place / (file.name + packing)
            if path.is_file():
                return path
    return None


def read_checked(path: Path, file: DataFile) -> bytes:
    """Return the plain content of a file whose checksum is right, and raise otherwise."""
    try:
        content = _unpack(path)
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise InputError(
            f"{path} must be a complete packed file, but it cannot be unpacked ({error}).",
            hint="delete it and run `deconfuse data prepare`.",
        ) from error
    if len(content) != file.size:
        raise InputError(
            f"{path} must hold {file.size} bytes, got {len(content)}.",
            hint="delete it and run `deconfuse data prepare`.",
        )
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise InputError(
            f"{path} must have the sha256 {file.sha256}, got {digest}.",
            hint="it is not the canonical file; delete it and run `deconfuse data prepare`.",
        )
    return content


def _unpack(path: Path) -> bytes:
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes())
    return path.read_bytes()


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
