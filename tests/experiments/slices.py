"""Small generated datasets in the real formats, and a catalogue that knows their checksums.

Workers of a sweep import this module too, so it stands alone.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deconfuse.experiments.config import RunConfig
from deconfuse.experiments.data_files import CATALOGUE, DataFile, DatasetSpec

N_CLASSES = 10
TRAIN, TEST = 24, 12


def make_images(
    side: int, channels: int, per_class: int, seed: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Draw images that a network can learn: a bright square whose place is the class, and noise."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(N_CLASSES), per_class))
    images = rng.integers(0, 90, size=(len(labels), side, side, channels))
    step = side // 4
    for image, label in zip(images, labels, strict=True):
        row, column = divmod(int(label), 4)
        image[row * step : (row + 1) * step, column * step : (column + 1) * step] += 160
    return images.astype(np.uint8), labels


def write_idx(values: NDArray[np.uint8]) -> bytes:
    """Return the IDX file of an array of unsigned bytes."""
    head = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">u4").tobytes()
    return head + values.tobytes()


def write_labelled_records(images: NDArray[np.uint8], labels: NDArray[np.int64]) -> bytes:
    """Return records of a label byte and a planar image, as CIFAR-10's batches."""
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    return np.concatenate([labels.astype(np.uint8)[:, None], planes], axis=1).tobytes()


def write_slice(folder: Path, name: str) -> None:
    """Write a small dataset into a data folder, in the files of the real one."""
    target = folder / name
    target.mkdir(parents=True, exist_ok=True)
    if name in ("mnist", "fashion-mnist"):
        for part, per_class, seed in (("train", TRAIN, 0), ("t10k", TEST, 1)):
            images, labels = make_images(28, 1, per_class, seed)
            pictures = write_idx(images[..., 0])
            (target / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(pictures, mtime=0))
            plain = write_idx(labels.astype(np.uint8))
            (target / f"{part}-labels-idx1-ubyte").write_bytes(plain)
    elif name == "cifar10":
        images, labels = make_images(32, 3, TRAIN + 6, 2)
        for batch, rows in enumerate(np.array_split(np.arange(len(labels)), 5), 1):
            content = write_labelled_records(images[rows], labels[rows])
            (target / f"data_batch_{batch}.bin").write_bytes(content)
        images, labels = make_images(32, 3, TEST, 3)
        (target / "test_batch.bin").write_bytes(write_labelled_records(images, labels))
    else:
        for part, per_class, seed in (("train", 6, 4), ("test", 4, 5)):
            images, labels = make_images(96, 3, per_class, seed)
            # Planes one after the other, each column by column.
            (target / f"{part}_X.bin").write_bytes(images.transpose(0, 3, 2, 1).tobytes())
            (target / f"{part}_y.bin").write_bytes((labels + 1).astype(np.uint8).tobytes())


def slice_spec(folder: Path, name: str) -> DatasetSpec:
    """Return the specification of the slice that is in a data folder."""
    files = []
    for file in CATALOGUE[name].releases[0]:
        plain = folder / name / file.name
        packed = plain.with_name(plain.name + ".gz")
        content = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
        files.append(DataFile(file.name, len(content), hashlib.sha256(content).hexdigest()))
    return replace(CATALOGUE[name], releases=(tuple(files),))


def run_slice(config: RunConfig, data: Path, cache: Path | None) -> str:
    """Do one run on a slice, and note in the data folder that it was trained."""
    import torch

    from deconfuse.experiments.sweep import run_one

    torch.set_num_threads(1)
    CATALOGUE[config.dataset] = slice_spec(data, config.dataset)
    text = run_one(config, data, cache)
    with (data / "trained.txt").open("a") as stream:
        stream.write(f"{config.key}\n")
    return text


def run_slowly(config: RunConfig, data: Path, cache: Path | None) -> str:
    """Do one run and take a while, so that there is time to be killed in."""
    time.sleep(0.7)
    return run_slice(config, data, cache)


def run_and_die_once(config: RunConfig, data: Path, cache: Path | None) -> str:
    """End the worker's process in the middle of the first run, as a lack of memory would."""
    marker = data / "died.txt"
    if not marker.exists():
        marker.write_text("once")
        os._exit(9)
    return run_slice(config, data, cache)


def run_and_die(config: RunConfig, data: Path, cache: Path | None) -> str:
    """End the worker's process in every run."""
    os._exit(9)


def run_and_fail(config: RunConfig, data: Path, cache: Path | None) -> str:
    """Fail as a bug would."""
    raise ZeroDivisionError("a bug")


def run_without_weights(config: RunConfig, data: Path, cache: Path | None) -> str:
    """Fail as a training function that looks for a file in vain."""
    raise FileNotFoundError(2, "No such file or directory", "weights.pt")


def run_and_fail_or_sleep(config: RunConfig, data: Path, cache: Path | None) -> str:
    """Fail in the balanced run once another run is under way; take an hour in any other."""
    marker = data / "sleeping.txt"
    if config.is_balanced:
        while not marker.exists():
            time.sleep(0.05)
        raise ZeroDivisionError("a bug")
    marker.write_text("sleeping")
    time.sleep(3600)
    return ""
