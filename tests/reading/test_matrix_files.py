"""Files that hold matrices: recognized, merged, told from scores, and freed of no totals."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deconfuse import ConfusionMatrix, InputError
from tests.reading.files import write, zstd_bytes

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


def refused(path: object, message: str) -> str:
    with pytest.raises(InputError, match=message) as caught:
        ConfusionMatrix.from_file(path)
    return str(caught.value)


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
    error = refused(tmp_path, r"Each matrix must be given once, got .*m\.csv' and .*m\.json'")
    assert "as a pattern such as" in error


def test_a_damaged_compressed_matrix(tmp_path: Path) -> None:
    path = saved(FIRST, tmp_path, "m.csv.gz")
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    refused(path, "must be complete, and is truncated")


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


NUMBERS = "write numbers with a point and without marks for thousands"
SPELLING = "write each class in one way"
MARGINS = "leave out sums, shares and accuracies"


@pytest.mark.parametrize(
    ("text", "reason", "hint"),
    [
        ('map,a,b\na,"1,250",2\nb,1,40\n', r"cell '1,250' \(row 'a', column 'a'\) is no", NUMBERS),
        ("map;a;b\na;50;2\nb;1;40,5\n", r"cell '40,5' \(row 'b', column 'b'\) is no n", NUMBERS),
        ("map,a,b\na,50,\nb,1,40\n", r"cell '' \(row 'a', column 'b'\) is no number", NUMBERS),
        ("map,a,b\na,50,2\nb,-,40\n", r"cell '-' \(row 'b', column 'a'\) is no number", NUMBERS),
        ("map,a,b\na,50,5,2\nb,1,40\n", "line 2 has 4 fields where the first has 3", NUMBERS),
        ("a,b\na,50,2\nb,1,40\n", "its first line has one field less", "an empty field"),
        ("map, a, b\na, 50, 2\nb, 1, 40\n", "'a', 'b' on rows only, ' a', ' b' on", SPELLING),
        ("map,a,b\nA,50,2\nB,1,40\n", "'A', 'B' on rows only, 'a', 'b' on columns", SPELLING),
        (
            "map,a,b,row sum\na,50,2,52\nb,1,40,41\ncolumn sum,51,42,93\n",
            "names 'column sum' on rows only, 'row sum' on columns only",
            MARGINS,
        ),
        ("map,a,b,recall\na,50,2,96%\nb,1,40,98%\n", "none on rows only, 'recall' on", MARGINS),
        ("map,a,b,c\na,50,2,1\nb,1,40,2\n", "none on rows only, 'c' on col", "each class has"),
        ("50,2\n1,40\n", "it has 2 lines of 2 numbers and no class names", "names in a first line"),
    ],
)
def test_what_keeps_a_table_from_being_a_matrix_is_said(tmp_path, text, reason, hint) -> None:
    path = tmp_path / "m.csv"
    path.write_text(text)
    error = refused(path, f"m.csv' looks like a matrix, but .*{reason}")
    assert hint in error
    # Who names columns means a table of predictions.
    with pytest.raises(InputError, match="`label` must be a column, got 'y'"):
        ConfusionMatrix.from_file(path, label="y")


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
    refused(path, "`label` must be a column, got 'label'")


def test_a_nearly_matrix_of_many_classes_is_told_by_its_beginning(tmp_path: Path) -> None:
    names = [f"class {number}" for number in range(400)]
    frame = pd.DataFrame(np.full((400, 400), "1,000"), index=names, columns=names)
    frame.to_csv(tmp_path / "m.csv")
    refused(tmp_path / "m.csv", r"cell '1,000' \(row 'class 0', column 'class 0'\) is no number")


class TestScoresOrMatrix:
    def read(self, folder: Path, text: str, **options: list[str]) -> ConfusionMatrix:
        path = folder / "x.csv"
        path.write_text(text)
        return ConfusionMatrix.from_file(path, **options)

    @pytest.mark.parametrize("cells", ["0.9,0.1 0.3,0.7", "0.333,0.667 1,0", "1e-3,0.999 0,1.0"])
    def test_as_many_rows_of_probabilities_as_classes(self, tmp_path: Path, cells: str) -> None:
        first, second = cells.split()
        text = f"label,cat,dog\ncat,{first}\ndog,{second}\n"
        with pytest.raises(InputError, match="shares that add up to one in each row: sc") as caught:
            self.read(tmp_path, text)
        assert "say scores=['cat', 'dog']" in str(caught.value)
        assert self.read(tmp_path, text, scores=["cat", "dog"]).total == 2

    @pytest.mark.parametrize(
        ("cells", "where"),
        [("0.9,0.6 0.1,0.4", "in each column"), ("0.5,0.125 0.125,0.25", "in all")],
    )
    def test_a_matrix_that_others_normalized(self, tmp_path: Path, cells: str, where: str) -> None:
        first, second = cells.split()
        with pytest.raises(InputError, match=f"shares that add up to one {where}: ") as caught:
            self.read(tmp_path, f",cat,dog\ncat,{first}\ndog,{second}\n")
        assert "give the counts that it was made from" in str(caught.value)

    def test_scores_below_zero(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="holds numbers below zero: scores, or a matrix"):
            self.read(tmp_path, "label,cat,dog,owl\ncat,3,-1,2\ndog,0,1,1\nowl,0,0,2\n")

    def test_rows_that_repeat_a_class_are_no_matrix(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="`prediction` must be a column") as caught:
            self.read(tmp_path, "label,cat,dog\ncat,0.9,0.1\ncat,0.2,0.8\n")
        assert "or the columns of scores with `scores`" in str(caught.value)

    def test_weighted_counts_are_a_matrix(self, tmp_path: Path) -> None:
        cm = self.read(tmp_path, "label,cat,dog\ncat,2.5,1\ndog,0.5,0.5\n")
        assert cm.counts.tolist() == [[2.5, 1.0], [0.5, 0.5]]

    def test_of_zeros_and_ones_both_readings_are_the_same(self, tmp_path: Path) -> None:
        text = "label,cat,dog\ncat,1,0\ndog,0,1\n"
        assert self.read(tmp_path, text) == self.read(tmp_path, text, scores=["cat", "dog"])


class TestTotals:
    TRUE = pd.Series(["cat", "dog", "dog", "owl", "cat"], name="label")
    PRED = pd.Series(["cat", "dog", "cat", "owl", "dog"], name="prediction")

    def crosstab(self, name: str = "All", numbers: bool = False) -> pd.DataFrame:
        true, pred = self.TRUE, self.PRED
        if numbers:
            codes = {"cat": 1, "dog": 2, "owl": 3}
            true, pred = true.map(codes), pred.map(codes)
        return pd.crosstab(true, pred, margins=True, margins_name=name)

    @pytest.mark.parametrize("name", ["All", "total", "TOTALS", "Sum", "Grand Total", "Σ"])
    def test_a_table_with_totals(self, tmp_path: Path, name: str) -> None:
        table = self.crosstab(name)
        with pytest.raises(InputError, match=f"those named '{name}' are the sums of the others"):
            ConfusionMatrix.from_counts(table)
        table.to_csv(tmp_path / "m.csv")
        for read in (ConfusionMatrix.from_file, ConfusionMatrix.load):
            with pytest.raises(InputError, match=f"'{name}' are the sums") as caught:
                read(tmp_path / "m.csv")
            assert "leave out the totals" in str(caught.value)

    def test_totals_beside_classes_that_are_numbers(self, tmp_path: Path) -> None:
        table = self.crosstab(numbers=True)
        with pytest.raises(InputError, match="'All' among others of another type") as caught:
            ConfusionMatrix.from_counts(table)
        assert "margins=True" in str(caught.value)
        table.to_csv(tmp_path / "m.csv")
        refused(tmp_path / "m.csv", "'All' are the sums of the others")

    def test_totals_on_one_side(self, tmp_path: Path) -> None:
        for table in (self.crosstab().iloc[:-1], self.crosstab().iloc[:, :-1]):
            with pytest.raises(InputError, match="'All'") as caught:
                ConfusionMatrix.from_counts(table)
            assert "leave out the totals" in str(caught.value)
            table.to_csv(tmp_path / "m.csv")
            error = refused(tmp_path / "m.csv", "must be square, got [34] rows of [34]")
            assert "leave out the totals" in error

    def test_totals_by_label(self) -> None:
        counts = self.crosstab().to_numpy()
        with pytest.raises(InputError, match="'total' are the sums"):
            ConfusionMatrix.from_counts(counts, ["cat", "dog", "owl", "total"])

    def test_a_class_of_that_name_that_is_no_sum(self, tmp_path: Path) -> None:
        cm = ConfusionMatrix.from_counts([[4, 1, 0], [1, 4, 0], [1, 1, 9]], ["a", "b", "all"])
        cm.to_pandas().to_csv(tmp_path / "m.csv")
        assert ConfusionMatrix.from_file(tmp_path / "m.csv") == cm

    def test_without_totals_the_table_is_read(self, tmp_path: Path) -> None:
        self.crosstab().iloc[:-1, :-1].to_csv(tmp_path / "m.csv")
        cm = ConfusionMatrix.from_file(tmp_path / "m.csv")
        assert cm == ConfusionMatrix.from_predictions(self.TRUE, self.PRED)

    def test_what_deconfuse_saved_is_never_doubted(self, tmp_path: Path) -> None:
        # Counted by someone who really has a class of that name.
        cm = ConfusionMatrix(np.array([[1, 1], [1, 1]]), ("a", "all"))
        cm.save(tmp_path / "m.csv")
        assert ConfusionMatrix.from_file(tmp_path / "m.csv") == cm
