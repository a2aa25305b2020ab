"""Reading the canonical files: right bytes give right arrays, wrong ones are named, never used."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest
import slices
from tests.support import require

from deconfuse import InputError, MissingExtraError
from deconfuse.experiments import Dataset, load_dataset
from deconfuse.experiments.config import DATASETS
from deconfuse.experiments.data_files import CATALOGUE, DATA_VARIABLE, data_folder, dataset_spec
from deconfuse.experiments.datasets import area_average, read_labelled_records, read_stl_images


@pytest.mark.parametrize("name", DATASETS)
def test_load(name: str, data: Path) -> None:
    dataset = load_dataset(name, data)
    side, channels = (28, 1) if "mnist" in name else (32, 3)
    assert dataset.train_inputs.shape[1:] == (side, side, channels)
    assert dataset.train_inputs.dtype == np.uint8
    assert dataset.classes == CATALOGUE[name].classes
    # The square that tells the class apart is where it was drawn, so axes and planes are right.
    step = side // 4
    for image, label in zip(dataset.test_inputs, dataset.test_labels, strict=True):
        row, column = divmod(int(label), 4)
        square = image[row * step : (row + 1) * step, column * step : (column + 1) * step]
        assert square.min() >= 150


def test_colours_and_order_of_records() -> None:
    images, labels = slices.make_images(32, 3, 2, 7)
    content = slices.write_labelled_records(images, labels)
    # By the description of the format: a label, then 1024 red, 1024 green, 1024 blue, row by row.
    assert content[0] == labels[0]
    assert content[1 + 1024 + 32 + 5] == images[0, 1, 5, 1]
    back, back_labels = read_labelled_records(content)
    assert np.array_equal(back, images)
    assert np.array_equal(back_labels, labels)


def test_stl_planes_are_column_by_column_and_averaged_exactly() -> None:
    rng = np.random.default_rng(0)
    content = rng.integers(0, 256, size=2 * 3 * 96 * 96, dtype=np.uint8)
    small = read_stl_images(content.tobytes())
    planes = content.reshape(2, 3, 96, 96).astype(int)
    for image, channel, row, column in ((0, 0, 0, 0), (1, 2, 31, 5), (0, 1, 7, 30)):
        # In the file, the first index of a plane is the column.
        square = planes[image, channel, 3 * column : 3 * column + 3, 3 * row : 3 * row + 3]
        assert small[image, row, column, channel] == (square.sum() + 4) // 9


def test_area_average_rounds_to_nearest() -> None:
    images = np.random.default_rng(1).integers(0, 256, size=(501, 6, 6, 3), dtype=np.uint8)
    squares = images.reshape(501, 2, 3, 2, 3, 3).astype(float).mean(axis=(2, 4))
    assert np.abs(area_average(images, 3) - squares).max() <= 0.5


def test_missing_files_are_named_with_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"train-images-idx3-ubyte is missing\. train-labels"
    ) as error:
        load_dataset("mnist", tmp_path)
    assert "deconfuse data prepare --dataset mnist" in str(error.value)


def test_corrupted_file_is_named_and_not_used(data: Path) -> None:
    path = data / "cifar10" / "data_batch_3.bin"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(
        InputError, match=r"data_batch_3\.bin must have 184380 bytes with the sha256"
    ):
        load_dataset("cifar10", data)


def test_packed_and_plain_are_the_same(data: Path) -> None:
    packed = load_dataset("fashion-mnist", data)
    path = data / "fashion-mnist" / "t10k-images-idx3-ubyte.gz"
    path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
    path.unlink()
    plain = load_dataset("fashion-mnist", data)
    assert np.array_equal(packed.test_inputs, plain.test_inputs)


def test_already_averaged_release_is_the_same(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib
    import lzma
    from dataclasses import replace

    from deconfuse.experiments import datasets
    from deconfuse.experiments.data_files import DataFile

    whole = load_dataset("stl10", data)
    files = []
    for part, inputs, labels in (
        ("train", whole.train_inputs, whole.train_labels),
        ("test", whole.test_inputs, whole.test_labels),
    ):
        content = slices.write_labelled_records(inputs, labels)
        name = f"stl10_32_{part}.bin"
        files.append(DataFile(name, len(content), hashlib.sha256(content).hexdigest()))
        (data / "stl10" / f"{name}.xz").write_bytes(lzma.compress(content))
    for path in (data / "stl10").glob("*_[Xy].bin"):
        path.unlink()
    spec = CATALOGUE["stl10"]
    monkeypatch.setitem(CATALOGUE, "stl10", replace(spec, releases=(*spec.releases, tuple(files))))
    datasets._load.cache_clear()
    # What is left of another release is no reason not to use the one that is whole.
    for name in ("train_X.bin", "train_y.bin", "test_X.bin", "test_y.bin"):
        (data / "stl10" / name).write_bytes(b"junk")
    again = load_dataset("stl10", data)
    assert np.array_equal(again.train_inputs, whole.train_inputs)
    assert np.array_equal(again.test_labels, whole.test_labels)


def test_unknown_dataset() -> None:
    with pytest.raises(InputError, match="must be one of mnist, fashion-mnist, cifar10, stl10"):
        dataset_spec("imagenet")


def test_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "named"))
    assert data_folder(tmp_path / "given") == tmp_path / "given"
    assert data_folder() == tmp_path / "named"
    monkeypatch.delenv(DATA_VARIABLE)
    assert data_folder().parts[-2:] == ("deconfuse", "data")


def test_default_folder_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    with pytest.raises(MissingExtraError, match="The default data folder needs platformdirs"):
        data_folder()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(
            ({"name": name}, "`name` must be a plain name of at most 100 bytes")
            for name in ("../digits", "back\\slash", ".", "", "two\nlines", "é" * 51, 7)
        ),
        ({"classes": "ab"}, "`classes` must be a sequence of names, got 'ab'"),
        ({"classes": ("a", "a")}, "`classes` must be two or more distinct names, got"),
        ({"classes": ("a",)}, "`classes` must be two or more distinct names, got"),
        (
            {"test_labels": ["a", "b", "a", "b"]},
            "`test_labels` must be one whole number per sample",
        ),
        ({"test_labels": np.array([0, 2**62, 0, 1])}, "`test_labels` must have every class"),
        ({"transform": "turn"}, "`transform` must be one of none, standardize, rotate, got 'turn'"),
        ({"transform": "rotate"}, r"`train_inputs` must be images in bytes .* float64 of shape"),
        ({"train_labels": [0, 1, 1]}, "`train_inputs` and `train_labels` must describe the same"),
        ({"train_labels": [0, 0, 0, 0]}, "must have every class from 0 to 1 and no other"),
        ({"train_labels": [0, 1, -1, 1]}, "must have every class from 0 to 1 and no other"),
    ],
)
def test_bad_parts_of_a_dataset(changes: dict[str, object], message: str) -> None:
    inputs, labels = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    good = {"name": "mine", "train_inputs": inputs, "train_labels": labels}
    good |= {"test_inputs": inputs, "test_labels": labels, "classes": ("a", "b")}
    with pytest.raises(InputError, match=message):
        Dataset(**{**good, **changes})  # type: ignore[arg-type]


def test_lists_frames_and_numbers_become_arrays_and_names() -> None:
    require("pandas")
    import pandas as pd

    frame, series = (
        pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]}),
        pd.Series([1, 0], index=[7, 8]),
    )
    data = Dataset("mine", frame, series, [[1], [2]], [0, 1], list(np.arange(2)))  # type: ignore[arg-type]
    assert data.train_inputs.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert data.train_labels.tolist() == [1, 0]
    assert data.test_labels.dtype == np.int64
    assert data.classes == ("0", "1")
    assert {type(name) for name in data.classes} == {str}
