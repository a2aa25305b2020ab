"""Saving and loading: exact round trips, and clear refusals of what is no saved matrix."""

from __future__ import annotations

import csv
import datetime
import io
import json
import os
import tempfile
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from deconfuse import ConfusionMatrix, InputError

FORMATS = ["json", "csv", "npz"]
WEIRD = [
    *('a,"b"', "new\nline", "\r", "\r\n", "😀", "שלום عليكم", "x" * 200, "", " spaces "),
    *(
        "007",
        "1e5",
        "=1+1",
        "null",
        "NaN",
        "\x00",
        "<img src=x onerror=alert(1)>",
        "'",
        "\\",
        "\ufeff",
    ),
]


def matrices() -> dict[str, ConfusionMatrix]:
    rng = np.random.default_rng(0)
    size = len(WEIRD)
    true, pred = rng.integers(0, 3000, (2, 9000))
    return {
        "strings": ConfusionMatrix.from_counts(rng.integers(0, 9, (size, size)), WEIRD),
        "weighted": ConfusionMatrix.from_counts(
            rng.random((size, size)), WEIRD, variances=rng.random((size, size)) * 1e-30
        ),
        "ints": ConfusionMatrix.from_counts([[1, 2], [3, 2**62]], [-3, 10**25]),
        "digits as strings": ConfusionMatrix.from_counts([[1, 2], [3, 4]], ["1", "2"]),
        "bools": ConfusionMatrix.from_counts([[1, 2], [3, 4]], [True, False]),
        "dates": ConfusionMatrix.from_counts(
            np.eye(2), [datetime.date(2024, 2, 29), datetime.date(1, 1, 1)]
        ),
        "whole floats": ConfusionMatrix.from_counts([[1.0, 2.0], [3.0, 1e300]]),
        "tiny floats": ConfusionMatrix.from_counts([[0.1, 1 / 3], [5e-324, 0.0]]),
        # Longer than what Python's csv module reads by default.
        "long names": ConfusionMatrix.from_counts([[1, 2], [3, 4]], ["x" * 200_000, "y" * 131_073]),
        "one class": ConfusionMatrix.from_counts([[0]], ["only"]),
        "sparse": ConfusionMatrix.from_predictions(true, pred),
        "sparse strings": ConfusionMatrix.from_counts(
            sp.csr_array(([1, 5], ([0, 2000], [2001, 2000])), shape=(2500, 2500)),
            [f'class "{k}",\n' for k in range(2500)][::-1],
        ),
        "sparse weighted": ConfusionMatrix.from_predictions(
            true, pred, labels=range(3100, -1, -1), sample_weight=rng.random(9000)
        ),
        "outcomes": ConfusionMatrix.from_counts(rng.integers(0, 9, (size, size)), WEIRD)
        .treat_as_outcome(WEIRD[3])
        .treat_as_outcome(WEIRD[1]),
        "one outcome, weighted": ConfusionMatrix.from_counts(
            rng.random((3, 3)), [7, 8, 9], variances=rng.random((3, 3))
        ).treat_as_outcome(8),
        "sparse, outcomes": ConfusionMatrix.from_predictions(
            [*true, "background"], [*pred, "=refused"], outcomes=["=refused", "background"]
        ),
    }


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", list(matrices()))
def test_round_trips_are_exact(tmp_path: Path, name: str, format: str) -> None:
    cm = matrices()[name]
    path = tmp_path / f"matrix.{format}"
    cm.save(path)
    loaded = ConfusionMatrix.load(path)
    assert loaded == cm
    assert loaded.labels == cm.labels
    assert [type(label) for label in loaded.labels] == [type(label) for label in cm.labels]
    assert loaded.counts.dtype == cm.counts.dtype
    assert (loaded.is_sparse, loaded.is_weighted) == (cm.is_sparse, cm.is_weighted)


@pytest.mark.parametrize("format", FORMATS)
def test_the_format_can_be_said(tmp_path: Path, format: Any) -> None:
    cm = matrices()["strings"]
    path = tmp_path / "matrix.of.mine"
    cm.save(str(path), format=format)
    assert ConfusionMatrix.load(str(path), format=format) == cm


def test_suffixes_may_be_in_capitals(tmp_path: Path) -> None:
    cm = matrices()["ints"]
    cm.save(tmp_path / "MATRIX.JSON")
    assert ConfusionMatrix.load(tmp_path / "MATRIX.JSON") == cm


@pytest.mark.parametrize("format", FORMATS)
def test_equal_matrices_make_equal_files(tmp_path: Path, format: str) -> None:
    for name in ("one", "two"):
        matrices()["weighted"].save(tmp_path / f"{name}.{format}")
    assert (tmp_path / f"one.{format}").read_bytes() == (tmp_path / f"two.{format}").read_bytes()


def test_names_with_broken_unicode_are_kept_where_they_can_be(tmp_path: Path) -> None:
    cm = ConfusionMatrix.from_counts(np.eye(2), ["\ud800", "b"])
    for format in ("json", "npz"):
        cm.save(tmp_path / f"m.{format}")
        assert ConfusionMatrix.load(tmp_path / f"m.{format}") == cm
    with pytest.raises(InputError, match=r"valid Unicode.*ud800(.|\n)*Hint: save as JSON or NPZ"):
        cm.save(tmp_path / "m.csv")
    assert not (tmp_path / "m.csv").exists()


def test_csv_opens_as_a_table_with_named_axes(tmp_path: Path) -> None:
    cm = ConfusionMatrix.from_counts([[5, 1], [0, 4]], ["cat", "dog"])
    cm.save(tmp_path / "m.csv")
    assert (tmp_path / "m.csv").read_text().splitlines() == [
        '"true \\ predicted [str]","cat","dog"',
        '"cat",5,1',
        '"dog",0,4',
    ]
    frame = pd.read_csv(tmp_path / "m.csv", index_col=0)
    assert ConfusionMatrix.from_counts(frame) == cm


@pytest.mark.parametrize(
    "corner",
    [
        "", "true", "anything", "true \\ predicted", "Actual / Predicted", "Land cover map", "hats",
        "Predicted -> / Actual v", "columns: predicted; rows: actual", "prediction (columns)",
    ],
)  # fmt: skip
def test_csv_tables_of_other_tools_are_read(tmp_path: Path, corner: str) -> None:
    path = tmp_path / "m.csv"
    # Rows in another order than columns, byte order mark, a trailing empty line.
    path.write_text(f"\ufeff{corner},cat,dog\ndog,0,4\ncat,5,1.0\n\n", encoding="utf-8")
    expected = ConfusionMatrix.from_counts([[5, 1], [0, 4]], ["cat", "dog"])
    assert ConfusionMatrix.load(path) == expected
    path.write_text(f"{corner},0,1\n0,5,1\n1,0,4\n")
    assert ConfusionMatrix.load(path).labels == (0, 1)
    path.write_text(f"{corner},00,01\n00,5,1\n01,0,4\n")
    assert ConfusionMatrix.load(path).labels == ("00", "01")


@pytest.mark.parametrize(
    "corner", ["predicted", "y_pred", "Prediction", "predicted \\ true", "Pred vs actual", "y_hat"]
)
def test_csv_with_predictions_on_rows_is_refused(tmp_path: Path, corner: str) -> None:
    path = tmp_path / "m.csv"
    path.write_text(f"{corner},cat,dog\ncat,5,1\ndog,0,4\n")
    refused(path, "Rows must be true classes", repr(corner), "say `transpose=True`")


@pytest.mark.parametrize("corner", ["(row: each row sums to 1)", "(change: of ratios)"])
def test_csv_of_no_counts_is_refused(tmp_path: Path, corner: str) -> None:
    path = tmp_path / "m.csv"
    path.write_text(f"true \\ predicted {corner},cat,dog\ncat,0.75,0.25\ndog,0,1\n")
    refused(path, f"It must hold counts, got what was made from them {corner}", "give the counts")


def refused(path: Path, *messages: str) -> None:
    with pytest.raises(InputError) as caught:
        ConfusionMatrix.load(path)
    for message in messages:
        assert message in str(caught.value)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ["strings", "weighted", "sparse"])
def test_files_cut_short_anywhere_are_refused(tmp_path: Path, name: str, format: str) -> None:
    path = tmp_path / f"matrix.{format}"
    matrices()[name].save(path)
    data = path.read_bytes()
    for keep in np.linspace(0, len(data) - 3, 15).astype(int):
        path.write_bytes(data[:keep])
        refused(path, str(path), "Hint:")


@pytest.mark.parametrize("format", FORMATS)
def test_tables_cut_short_between_lines_are_refused(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"matrix.{format}"
    for name in ("dates", "weighted", "sparse"):
        matrices()[name].save(path)
        lines = path.read_bytes().splitlines(keepends=True)
        for keep in np.linspace(0, len(lines) - 1, 12).astype(int):
            path.write_bytes(b"".join(lines[:keep]))
            refused(path, str(path))


@pytest.mark.parametrize("format", FORMATS)
def test_garbage_is_refused(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"matrix.{format}"
    for data in (b"", b"\x00\xff\xfe garbage", b"[1, 2]", b"PK\x03\x04 not a zip", b"\x93NUMPY"):
        path.write_bytes(data)
        refused(path, f"must hold a confusion matrix as {format}", "Hint:")


def test_flipped_bytes_in_npz_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "matrix.npz"
    matrices()["weighted"].save(path)
    data = bytearray(path.read_bytes())
    # The middle of the file lies in compressed cells, which the archive guards by a checksum.
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    refused(path, "cannot be read as NPZ")


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    path = tmp_path / "matrix.npz"

    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    np.savez(path, header=np.array([Trap()], dtype=object), counts=np.eye(2))
    refused(path, "cannot be read as NPZ", "allow_pickle")
    assert not (tmp_path / "sprung").exists()


def test_other_archives_and_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "matrix.npz"
    np.savez(path, counts=np.eye(2))
    refused(path, "It must have a header of class names")
    with path.open("wb") as stream:
        np.save(stream, np.eye(2))
    refused(path, "cannot be read as NPZ")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "hello")
    refused(path, "It must have a header of class names")
    header = json.dumps(json_document())
    np.savez(path, header=np.frombuffer(header.encode(), dtype=np.uint8))
    refused(path, "It must have counts")


def json_document() -> dict[str, Any]:
    return {
        "type": "deconfuse confusion matrix",
        "version": 1,
        "label_type": "str",
        "labels": ["cat", "dog"],
        "counts": [[1, 2], [3, 4]],
    }


def sparse_cells(**changes: Any) -> dict[str, Any]:
    return {"rows": [0, 1], "columns": [0, 1], "values": [1, 2]} | changes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"type": "something else"}, 'It must say "type": "deconfuse confusion matrix"'),
        ({"version": 2}, "It must be of version 1, got 2"),
        ({"version": None}, "It must be of version 1, got None"),
        ({"labels": None}, "list of class names"),
        ({"labels": []}, "list of class names"),
        ({"labels": ["cat", 1]}, "`labels` must be of type 'str', got 'cat', 1"),
        ({"labels": ["cat", "cat"]}, "`labels` must be distinct"),
        ({"labels": ["cat"]}, "counts of 1 classes and outcomes, got 2"),
        ({"label_type": "int"}, "`labels` must be of type 'int'"),
        ({"label_type": "date"}, "`labels` must be dates"),
        ({"label_type": "float"}, "`labels` must be of type 'float'"),
        ({"counts": None}, "It must have `counts`"),
        ({"counts": [[1, 2]]}, "`counts` must be square"),
        ({"counts": [[1, -2], [3, 4]]}, "`counts` must not be negative"),
        ({"counts": [[1, "2"], [3, 4]]}, "`counts` must be numbers"),
        ({"variances": [[1]]}, "`variances` must have the shape of `counts`"),
        (
            {"counts": sparse_cells(rows=[0, 2])},
            "Positions of cells must be whole numbers from 0 to 1",
        ),
        ({"counts": sparse_cells(rows=[0, -1])}, "Positions of cells must be whole numbers"),
        ({"counts": sparse_cells(rows=[0.5, 1])}, "Positions of cells must be whole numbers"),
        ({"counts": sparse_cells(rows=[1, 1], columns=[0, 0])}, "Each cell must be given once"),
        ({"counts": sparse_cells(rows=[0])}, "three lists of equal length"),
        ({"counts": sparse_cells(rows=[[0], [1]])}, "three lists of equal length"),
        ({"counts": sparse_cells(rows=[[0], 1])}, "three lists of equal length"),
        ({"counts": sparse_cells(rows=None)}, "three lists of equal length"),
        ({"counts": sparse_cells(values=["1", "2"])}, "Values of cells must be numbers"),
        ({"counts": sparse_cells(values=[2**70, 1])}, "Values of cells must be numbers"),
    ],
)
def test_json_that_is_no_matrix(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = tmp_path / "matrix.json"
    path.write_text(json.dumps(json_document()))
    assert ConfusionMatrix.load(path).total == 10
    path.write_text(json.dumps(json_document() | changes))
    refused(path, str(path), message, "Hint:")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\n", "first row of class names"),
        (",a,b\na,1,2\nb,3\n", "Every line must have 3 fields, got 2 in line 3"),
        (",a,b\na,1,2\n", "must name the same classes, got none on rows only, 'b' on columns"),
        (",a\n", "It must be square, got 0 rows of 1"),
        (",a\na,1\nb,2\nc,3\n", "It must be square, got more than 1 rows"),
        (",a,b\na,1,2\nc,3,4\n", "must name the same classes, got 'c'"),
        (",a,a\na,1,2\nb,3,4\n", "`columns of counts` must be distinct, got 'a'"),
        (",a,b\na,1,2\na,3,4\n", "`rows of counts` must be distinct, got 'a'"),
        (",a,b\na,1,x\nb,3,4\n", "Counts must be numbers, got 'x'"),
        (",a,b\na,1,\nb,3,4\n", "Counts must be numbers, got ''"),
        (",a,b\na,1,nan\nb,3,4\n", "`counts` must have no missing values"),
        (",a,b\na,1,-2\nb,3,4\n", "`counts` must not be negative"),
        ('"unclosed\n', "cannot be read as CSV"),
        (",a\na,1\n\n,a\na,1\n", "It must end after its last table"),
        ("variance true \\ predicted [str],a\na,1\n", "counts, then the variances"),
        (",a\na," + "9" * 5000 + "\n", "Counts must be numbers"),
        (f",a\na,{2**63}\n", "Whole counts must be below 2**63"),
        ("," + "9" * 5000 + "\n" + "9" * 5000 + ",1\n", "short enough to be numbers"),
        ("true \\ predicted [int],a\na,1\n", "must be of type int, got 'a'"),
        ("true \\ predicted [bool],yes\nyes,1\n", "must be of type bool, got 'yes'"),
        ("true \\ predicted [date],2024-02-30\n2024-02-30,1\n", "must be of type date"),
        ("true [int; 1 pairs],predicted,number\n1,1,5\n", "columns must be true, predicted, count"),
        (
            "true [int; 1 pairs],predicted,count\n1,1\n",
            "Every line must have 3 fields, got 2 in line 2",
        ),
        ("true [int; 1 pairs],predicted,count\n1,2,5\n", "a line with itself, got none for '2'"),
        ("true [int; 2 pairs],predicted,count\n1,1,5\n1,1,6\n", "Each cell must be given once"),
        ("true [int; 1 pairs],predicted,count\n1,1,-5\n", "`counts` must not be negative"),
        ("true [int; 2 pairs],predicted,count\n1,1,5\n", "It must have 2 pairs, got 1"),
        ("true \\ predicted [str],a\na,1", "ends in the middle"),
        ("true \\ predicted [str; weighted],a\na,1\n", "It must have a second table"),
    ],
)
def test_csv_that_is_no_matrix(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "matrix.csv"
    path.write_text(text)
    refused(path, str(path), message, "Hint:")


def test_csv_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "matrix.csv"
    path.write_bytes(",café\ncafé,1\n".encode("latin-1"))
    refused(path, "It must be text in UTF-8")


def test_unknown_formats(tmp_path: Path) -> None:
    cm = matrices()["ints"]
    for name in ("matrix.xlsx", "matrix"):
        with pytest.raises(InputError, match="must be one of json, csv, npz, got"):
            cm.save(tmp_path / name)
        with pytest.raises(InputError, match="must be one of json, csv, npz, got"):
            ConfusionMatrix.load(tmp_path / name)
    with pytest.raises(InputError, match="from_file reads compressed matrices"):
        ConfusionMatrix.load(tmp_path / "matrix.json.gz")
    with pytest.raises(InputError, match="got 'pickle'"):
        cm.save(tmp_path / "matrix.json", format="pickle")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    refused(tmp_path / "absent.json", "absent.json", "No such file")
    (tmp_path / "folder.json").mkdir()
    refused(tmp_path / "folder.json", "not a regular file")
    os.mkfifo(tmp_path / "pipe.json")
    refused(tmp_path / "pipe.json", "not a regular file")
    refused(Path("a\0b.json"), "null byte")


def test_formulas_are_text_in_a_spreadsheet_and_come_back(tmp_path: Path) -> None:
    names = ["=cmd|' /C calc'!A0", "@SUM(A1)", "+1", "-1", "'=", "'", "plain", "\t=1", "\r=2"]
    for size in (len(names), 3000):
        labels = [*names, *(f"={k}" for k in range(len(names), size))]
        cm = ConfusionMatrix.from_counts(sp.eye_array(size, dtype=int), labels)
        cm.save(tmp_path / "m.csv")
        with (tmp_path / "m.csv").open(newline="", encoding="utf-8") as stream:
            cells = [cell for row in csv.reader(stream) for cell in row]
        assert not any(cell.startswith(("=", "@", "+", "-", "\t", "\r")) for cell in cells)
        assert ConfusionMatrix.load(tmp_path / "m.csv") == cm
        assert ConfusionMatrix.from_file(tmp_path / "m.csv") == cm


def test_an_outcome_written_as_a_class_is_refused_in_csv_only(tmp_path: Path) -> None:
    cm = ConfusionMatrix.from_predictions([1, 2], [1, "2"], outcomes=["2"])
    with pytest.raises(InputError, match="must be written differently in CSV, got '2'"):
        cm.save(tmp_path / "m.csv")
    cm.save(tmp_path / "m.json")
    assert ConfusionMatrix.load(tmp_path / "m.json") == cm


@pytest.mark.parametrize("tag", ["int; 3 outcomes", "int; 99999999 outcomes"])
def test_a_corner_must_leave_a_class(tmp_path: Path, tag: str) -> None:
    path = tmp_path / "m.csv"
    path.write_text(f"true \\ predicted [{tag}],1,2,x\n1,1,2,3\n2,1,2,3\nx,1,2,0\n")
    refused(path, "at least one class beside its outcomes")


def test_arrays_of_an_archive_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deconfuse.reading.matrix_files._ALWAYS_UNPACKED", 1 << 20)
    cm = ConfusionMatrix.from_counts([[1, 2], [3, 4]])
    path = tmp_path / "m.npz"
    cm.save(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("unknown.npy", bytes(1 << 25))
    tracemalloc.start()
    assert ConfusionMatrix.load(path) == cm
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()
    # A shape that nobody could hold, and an array that unpacks to far more than its archive.
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<i8", "fortran_order": False, "shape": (10**7, 10**7)}
    )
    for data, reason in ((stream.getvalue(), ""), (bytes(1 << 26), "counts.npy unpacks to more")):
        cm.save(path)
        with zipfile.ZipFile(path) as archive:
            header = archive.read("header.npy")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("header.npy", header)
            archive.writestr("counts.npy", data)
        refused(path, "cannot be read as NPZ", reason)


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    cm = ConfusionMatrix.from_counts([[1, 0], [0, 1]])
    (tmp_path / "plain").write_text("a file")
    (tmp_path / "folder.json").mkdir()
    for place, message in (
        ("nodir/x.json", r"nodir/x\.json' cannot be written: folder .*nodir' does not exist"),
        ("plain/x.json", r"plain/x\.json' cannot be written: folder .*plain' does not exist"),
        ("folder.json", r"folder\.json' cannot be written: it is a folder"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            cm.save(tmp_path / place)
        assert ".part" not in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.json", "plain"]


def test_a_folder_without_permission() -> None:
    cm = ConfusionMatrix.from_counts([[1, 0], [0, 1]])
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        user = os.geteuid()
        if user == 0:
            # Root may write everywhere, so be nobody for a moment.
            os.seteuid(65534)
        try:
            with pytest.raises(InputError, match="cannot be written: Permission denied"):
                cm.save(Path(folder, "x.json"))
        finally:
            os.seteuid(user)


def test_names_as_long_as_a_file_may_have(tmp_path: Path) -> None:
    cm = ConfusionMatrix.from_counts([[1, 0], [0, 1]])
    path = tmp_path / ("x" * 250 + ".json")
    cm.save(path)
    assert ConfusionMatrix.load(path) == cm


def test_a_failed_write_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "matrix.json"
    matrices()["ints"].save(path)
    before = path.read_bytes()

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        matrices()["strings"].save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
