"""Files that hold matrices: recognized, merged, told from scores, and freed of no totals."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deconfuse import ConfusionMatrix, InputError
from tests.reading.files import refused, write, zstd_bytes

FIRST = ConfusionMatrix.from_predictions(["a", "b", "b"], ["a", "b", "a"])
SECOND = ConfusionMatrix.from_predictions(["b", "c"], ["c", "c"], sample_weight=[0.5, 2.0])

PACKED: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "zst": zstd_bytes}


def saved(cm: ConfusionMatrix, folder: Path, name: str) -> Path:
    """Save a matrix, compressed where the name says so."""
    plain, _, packing = name.partition(".csv.") if ".csv." in name else name.partition(".json.")
    path = folder / name
    if not packing:
        cm.save(path)
        return path
    inner = folder / f"{plain}.{'csv' if '.csv.' in name else 'json'}"
    cm.save(inner)
    path.write_bytes(PACKED[packing](inner.read_bytes()))
    inner.unlink()
    return path


@pytest.mark.parametrize("name", ["m.csv.gz", "m.csv.zst", "m.json.gz", "m.json.zst"])
def test_compressed_matrices_are_recognized(tmp_path: Path, name: str) -> None:
    names = [f"Class, {number}\nof 'many'" for number in range(150)]
    many = ConfusionMatrix.from_counts(np.arange(150**2).reshape(150, 150), names)
    sparse = ConfusionMatrix.from_predictions(np.arange(3000), np.roll(np.arange(3000), 1))
    for cm in (FIRST, SECOND, many, sparse):
        assert ConfusionMatrix.from_file(saved(cm, tmp_path, name)) == cm


@pytest.mark.parametrize("name", ["m.csv", "m.json", "m.npz", "m.csv.gz", "m.json.zst"])
def test_matrices_are_told_by_their_content(tmp_path: Path, name: str) -> None:
    path = saved(SECOND, tmp_path, name).rename(tmp_path / "stdin")
    assert ConfusionMatrix.from_file(path) == SECOND


def test_a_compressed_matrix_in_one_long_line(tmp_path: Path) -> None:
    cm = ConfusionMatrix.from_counts(np.arange(700**2).reshape(700, 700) + 10**7)
    assert ConfusionMatrix.from_file(saved(cm, tmp_path, "m.json.zst")) == cm


def test_compressed_matrices_of_others(tmp_path: Path) -> None:
    frame = pd.DataFrame(np.arange(150**2).reshape(150, 150)).rename_axis("true")
    frame.to_csv(tmp_path / "m.csv.gz")
    (tmp_path / "m.tsv.zst").write_bytes(zstd_bytes(frame.to_csv(sep="\t").encode()))
    for name in ("m.csv.gz", "m.tsv.zst"):
        assert ConfusionMatrix.from_file(tmp_path / name).total == frame.to_numpy().sum()


def test_several_matrices_are_merged(tmp_path: Path) -> None:
    for number, name in enumerate(["csv", "json", "npz", "csv.gz", "json.zst"]):
        saved(FIRST if number else SECOND, tmp_path, f"m{number}.{name}")
    whole = SECOND + FIRST + FIRST + FIRST + FIRST
    for path in (tmp_path, f"{tmp_path}/m*", sorted(tmp_path.iterdir())):
        assert ConfusionMatrix.from_file(path) == whole


def test_matrices_and_predictions_do_not_mix(tmp_path: Path) -> None:
    saved(FIRST, tmp_path, "m.csv")
    write(tmp_path, "preds.csv", {"label": ["a"], "prediction": ["b"]})
    error = refused(tmp_path, r"got a matrix in .*m\.csv' and none in .*preds\.csv'")
    assert "merge the matrices with `+`" in error


def test_matrices_of_other_names_do_not_merge(tmp_path: Path) -> None:
    saved(FIRST, tmp_path, "a.npz")
    saved(ConfusionMatrix.from_predictions([1, 2], [2, 2]), tmp_path, "b.npz")
    refused(tmp_path, r"must merge, and .*b\.npz' does not\. Merged matrices must name classes by")


def test_one_matrix_in_two_formats_does_not_count_twice(tmp_path: Path) -> None:
    saved(FIRST, tmp_path, "m.csv")
    saved(FIRST, tmp_path, "m.json")
    error = refused(tmp_path, r"Each file must be given once, got .*m\.csv' and .*m\.json'")
    assert "a pattern such as" in error


def test_a_damaged_compressed_matrix(tmp_path: Path) -> None:
    path = saved(FIRST, tmp_path, "m.csv.gz")
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    refused(path, "is truncated or damaged")


def test_a_matrix_in_damaged_zstd(tmp_path: Path) -> None:
    path = tmp_path / "m.csv.zst"
    names = [f"{number:x}" for number in np.random.default_rng(0).integers(2**40, 2**41, 90)]
    ConfusionMatrix.from_counts(np.arange(8100).reshape(90, 90), names).save(tmp_path / "m.csv")
    data = bytearray(zstd_bytes((tmp_path / "m.csv").read_bytes()))
    for position in range(1200, 1300):
        data[position] ^= 255
    path.write_bytes(data)
    refused(path, "truncated or damaged|could not be decompressed|must hold")


def test_a_matrix_has_no_scores(tmp_path: Path) -> None:
    path = saved(FIRST, tmp_path, "m.npz")
    with pytest.raises(InputError, match=r"m\.npz' is a saved matrix, which has no scores"):
        ConfusionMatrix.from_file(path, scores=["a", "b"])


@pytest.mark.parametrize("name", ["m.csv", "m.json", "m.npz"])
@pytest.mark.parametrize(
    ("options", "roles", "columns"),
    [
        ({"weight": "w"}, "`weight`", "'w'"),
        ({"label": "y"}, "`label`", "'y'"),
        ({"label": "y", "prediction": "p"}, "`label` and `prediction`", "'y', 'p'"),
    ],
)
def test_a_matrix_has_no_columns(tmp_path: Path, name, options, roles, columns) -> None:
    path = saved(FIRST, tmp_path, name)
    message = f"{roles} must be of .* but the file holds a matrix, which has no column {columns}"
    with pytest.raises(InputError, match=message) as caught:
        ConfusionMatrix.from_file(path, **options)
    assert f"leave out {roles}" in str(caught.value)
    assert ConfusionMatrix.from_file(path, label="label", prediction="prediction") == FIRST


@pytest.mark.parametrize(
    "text",
    [
        "map,a,b\nx,50,2\ny,1,40\n",
        "name,a,b\na,1,2\na,2,3\nb,3,4\n",
        "50,2\n1,40\n3,4\n",
        "id,age\nannie,3\n",
    ],
)
def test_tables_of_something_else_are_not_taken_for_a_matrix(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.csv"
    path.write_text(text)
    refused(path, "`label` must be named, since no column")


class TestScoresOrMatrix:
    def read(self, folder: Path, text: str, **options: list[str]) -> ConfusionMatrix:
        path = folder / "x.csv"
        path.write_text(text)
        return ConfusionMatrix.from_file(path, **options)

    @pytest.mark.parametrize("cells", ["0.9,0.1 0.3,0.7", "0.333,0.667 1,0", "90.5,9.5 33.3,66.7"])
    def test_as_many_rows_of_shares_as_classes(self, tmp_path: Path, cells: str) -> None:
        first, second = cells.split()
        text = f"label,cat,dog\ncat,{first}\ndog,{second}\n"
        with pytest.raises(InputError, match=r"sum to (1|100) in each row") as caught:
            self.read(tmp_path, text)
        assert "scores=[...]" in str(caught.value)
        assert "from_shares" in str(caught.value)
        assert self.read(tmp_path, text, scores=["cat", "dog"]).total == 2

    @pytest.mark.parametrize(
        ("cells", "where"),
        [("0.9,0.6 0.1,0.4", "in each column"), ("0.5,0.125 0.125,0.25", "in all")],
    )
    def test_a_matrix_that_others_normalized(self, tmp_path: Path, cells: str, where: str) -> None:
        first, second = cells.split()
        with pytest.raises(InputError, match=f"fractions that sum to 1 {where}"):
            self.read(tmp_path, f",cat,dog\ncat,{first}\ndog,{second}\n")

    def test_whole_numbers_are_counts(self, tmp_path: Path) -> None:
        cm = self.read(tmp_path, ",cat,dog\ncat,90,10\ndog,0,100\n")
        assert cm.counts.tolist() == [[90, 10], [0, 100]]

    def test_rows_that_repeat_a_class_are_no_matrix(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="`prediction` must be named") as caught:
            self.read(tmp_path, "label,cat,dog\ncat,0.9,0.1\ncat,0.2,0.8\n")
        assert "or the columns of scores with `scores`" in str(caught.value)

    def test_weighted_counts_are_a_matrix(self, tmp_path: Path) -> None:
        cm = self.read(tmp_path, "label,cat,dog\ncat,2.5,1\ndog,0.5,0.5\n")
        assert cm.counts.tolist() == [[2.5, 1.0], [0.5, 0.5]]

    def test_of_zeros_and_ones_both_readings_are_the_same(self, tmp_path: Path) -> None:
        text = "label,cat,dog\ncat,1,0\ndog,0,1\n"
        assert self.read(tmp_path, text) == self.read(tmp_path, text, scores=["cat", "dog"])


@pytest.mark.parametrize("names", [["label", "prediction"], ["y_true", "y_pred"], ["true", "pred"]])
def test_classes_that_are_called_like_columns(tmp_path: Path, names: list[str]) -> None:
    cm = ConfusionMatrix.from_counts([[50, 3], [4, 60]], names)
    for name in ("m.csv", "m.json", "m.npz", "m.csv.gz"):
        assert ConfusionMatrix.from_file(saved(cm, tmp_path, name)) == cm
    cm.to_pandas().to_csv(tmp_path / "foreign.csv")
    assert ConfusionMatrix.from_file(tmp_path / "foreign.csv") == cm
