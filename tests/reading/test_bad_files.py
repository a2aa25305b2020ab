"""Files that cannot be counted: each a clear error, and nothing half-counted."""

from __future__ import annotations

import gzip
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deconfuse import ConfusionMatrix, DeconfuseWarning, MissingExtraError
from tests.reading.files import FORMATS, csv_bytes, refused, write, zstd_bytes

GOOD: dict[str, list[Any]] = {"label": ["a", "b", "b"], "prediction": ["a", "a", "b"]}


@contextmanager
def as_nobody() -> Iterator[None]:
    """Be a user without rights for a moment: root may read everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


class TestPaths:
    def test_a_file_that_does_not_exist(self, tmp_path: Path) -> None:
        write(tmp_path, "preds.csv", GOOD)
        refused(tmp_path / "pred.csv", r"pred\.csv' does not exist")

    @pytest.mark.parametrize("target", ["gone.csv", "link.csv"])
    def test_a_link_that_leads_nowhere(self, tmp_path: Path, target: str) -> None:
        (tmp_path / "link.csv").symlink_to(target)
        refused(tmp_path / "link.csv", "does not exist")

    def test_a_pattern_that_matches_nothing(self, tmp_path: Path) -> None:
        refused(f"{tmp_path}/*.parquet", r"\*\.parquet' matches no file")

    def test_a_folder_without_data(self, tmp_path: Path) -> None:
        (tmp_path / "_SUCCESS").touch()
        refused(tmp_path, "holds no data files")

    def test_a_file_named_twice(self, tmp_path: Path) -> None:
        path = write(tmp_path, "x.csv", GOOD)
        error = refused([path, f"{tmp_path}/*.csv"], r"must be given once, got .*x\.csv")
        assert "count twice" in error

    def test_a_file_by_two_names(self, tmp_path: Path) -> None:
        path = write(tmp_path, "x.csv", GOOD)
        (tmp_path / "y.csv").symlink_to(path)
        refused(tmp_path, r"x\.csv' and .*y\.csv', which look the same")

    def test_a_file_and_its_compressed_copy(self, tmp_path: Path) -> None:
        write(tmp_path, "x.csv", GOOD)
        write(tmp_path, "x.csv.gz", GOOD)
        refused(tmp_path, r"x\.csv' and .*x\.csv\.gz', which look the same")

    def test_a_folder_that_holds_itself(self, tmp_path: Path) -> None:
        write(tmp_path, "x.csv", GOOD)
        (tmp_path / "again").symlink_to(tmp_path)
        refused(tmp_path, r"must hold each file once, but a link leads to .*again' again")

    def test_a_link_to_nothing(self, tmp_path: Path) -> None:
        write(tmp_path, "x.csv", GOOD)
        (tmp_path / "y.csv").symlink_to(tmp_path / "gone.csv")
        refused(tmp_path, r"y\.csv' could not be read: it is not a regular file")

    def test_a_pattern_of_files_and_folders(self, tmp_path: Path) -> None:
        write(tmp_path, "x.csv", GOOD)
        (tmp_path / "old").mkdir()
        write(tmp_path / "old", "y.csv", GOOD)
        error = refused(f"{tmp_path}/*", r"must match only files or only folders, got both")
        assert "name the folder itself" in error

    def test_names_that_no_file_can_have(self) -> None:
        assert len(refused("x" * 3000 + ".csv", "cannot be read: File name too long")) < 200
        refused("a\0b.csv", "cannot be read|does not exist")

    def test_no_path_at_all(self) -> None:
        refused([], "must name at least one file, got none")

    @pytest.mark.parametrize("url", ["https://example.org/x.csv", "s3://bucket/x.parquet"])
    def test_addresses(self, url: str) -> None:
        refused(url, "does not exist")

    @pytest.mark.parametrize("path", [3, None, b"x.csv", [3], [None], [b"x.csv"]])
    def test_something_else_than_a_path(self, path: object) -> None:
        assert "from_frame" in refused(path, "must be a path or several of them, got (int|No|byt)")

    def test_a_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        refused(tmp_path / "pipe", "it is not a regular file")

    def test_a_file_without_permission(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = write(Path(folder), "x.csv", GOOD)
            path.chmod(0)
            Path(folder).chmod(0o755)
            with as_nobody():
                refused(path, "could not be read: Permission denied")

    def test_a_folder_without_permission(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            write(Path(folder), "x.csv", GOOD)
            closed = Path(folder, "closed")
            closed.mkdir(mode=0)
            try:
                with as_nobody():
                    refused(folder, "closed' could not be opened: Permission denied")
            finally:
                closed.chmod(0o755)

    def test_two_formats_at_once(self, tmp_path: Path) -> None:
        write(tmp_path, "a.csv", GOOD)
        write(tmp_path, "b.parquet", GOOD)
        error = refused(tmp_path, "must be of one format, got csv and parquet")
        assert "merge the matrices with `+`" in error


class TestContent:
    @pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.jsonl", "x.arrow", "x", "x.csv.gz"])
    def test_an_empty_file(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).touch()
        refused(tmp_path / name, "is empty; it must hold predictions")

    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("x.csv", b" \n\n"),
            ("x.csv.gz", gzip.compress(b"", mtime=0)),
            ("x.csv.zst", zstd_bytes(b"\n")),
        ],
    )
    def test_a_file_of_nothing(self, tmp_path: Path, name: str, data: bytes) -> None:
        (tmp_path / name).write_bytes(data)
        refused(tmp_path / name, "is empty; it must hold predictions")

    @pytest.mark.parametrize("suffix", [name for name in FORMATS if "json" not in name])
    def test_no_rows(self, tmp_path: Path, suffix: str) -> None:
        path = write(tmp_path, f"x.{suffix}", {"label": [], "prediction": []})
        # Arrow gives a column without values the type null.
        refused(path, r"at least one sample, got none|must hold class names")

    @pytest.mark.parametrize("actual", ["csv", "parquet", "jsonl", "arrow", "csv.gz", "csv.zst"])
    def test_the_content_says_the_format_and_not_the_name(
        self, tmp_path: Path, actual: str
    ) -> None:
        expected = ConfusionMatrix.from_file(write(tmp_path, f"right.{actual}", GOOD))
        (tmp_path / "x.tsv.gz").write_bytes(FORMATS[actual](GOOD))
        assert ConfusionMatrix.from_file(tmp_path / "x.tsv.gz") == expected

    @pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows", "csv.gz", "csv.zst", "jsonl"])
    @pytest.mark.parametrize("kept", [0.3, 0.9, -1])
    def test_a_truncated_file(self, tmp_path: Path, suffix: str, kept: float) -> None:
        # Random names, so that the compressed file has many bytes to lose.
        names = [f"{value:x}" for value in np.random.default_rng(0).integers(2**40, 2**41, 900)]
        data = FORMATS[suffix]({"label": names, "prediction": names})
        cut = len(data) - 1 if kept == -1 else int(len(data) * kept)
        # Between two lines, nothing tells a cut from an end.
        cut -= 5 if suffix == "jsonl" else 0
        path = tmp_path / f"x.{suffix}"
        path.write_bytes(data[:cut])
        refused(path, "truncated|cut short")

    @pytest.mark.parametrize("position", [-1, -5, -8])
    def test_a_gzip_file_with_a_wrong_checksum_or_length(
        self, tmp_path: Path, position: int
    ) -> None:
        # Longer than the head, which is looked at before.
        data = bytearray(gzip.compress(b"label,prediction\n" + b"a,b\n" * 300_000))
        data[position] ^= 1
        (tmp_path / "x.csv.gz").write_bytes(data)
        write(tmp_path, "good.csv.gz", GOOD)
        refused(tmp_path, r"x\.csv\.gz'.*truncated or damaged")

    def test_gzip_data_that_differ_and_still_decompress(self, tmp_path: Path) -> None:
        # Stored, not deflated: one flipped bit is another class.
        text = csv_bytes({"label": ["a"] * 400_000, "prediction": ["b"] * 400_000})
        data = bytearray(gzip.compress(text, compresslevel=0))
        data[data.rindex(b"a,b")] ^= 2
        (tmp_path / "x.csv.gz").write_bytes(data)
        refused(tmp_path / "x.csv.gz", "CRC check failed")

    def test_other_encodings(self, tmp_path: Path) -> None:
        path = tmp_path / "x.csv"
        path.write_bytes("label,prediction\nchâteau,b\n".encode("latin-1"))
        refused(path, r"could not be read: .*Line: 2.*(unicode|utf-8)")


class TestRows:
    def lines(self, folder: Path, text: str, name: str = "x.csv") -> Path:
        path = folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def test_classes_named_like_the_columns(self, tmp_path: Path) -> None:
        path = self.lines(tmp_path, "label,prediction\nlabel,prediction\nprediction,label\n")
        error = refused(path, "that repeat the header")
        assert "list all classes in `labels`" in error
        classes = ["label", "prediction"]
        cm = ConfusionMatrix.from_file(path, labels=classes)
        assert cm == ConfusionMatrix.from_predictions(classes, classes[::-1])

    @pytest.mark.parametrize("start", ["\n\n", "\r\n", "\ufeff\n"])
    def test_empty_lines_before_the_header(self, tmp_path: Path, start: str) -> None:
        path = self.lines(tmp_path, f"{start}label,prediction\na,b\n")
        refused(path, "must begin with the names of its columns, got an empty line")

    def test_headers_among_the_rows(self, tmp_path: Path) -> None:
        text = "id,label,prediction\n1,3,4\n2,4,4\n"
        path = self.lines(tmp_path, text * 3)
        error = refused(path, r"got 2 that repeat the header \('label', 'prediction'\)")
        assert "give the files themselves" in error

    def test_json_that_is_no_rows(self, tmp_path: Path) -> None:
        for text in ("[]", "[1, 2]", "[{}]"):
            path = self.lines(tmp_path, text, "x.json")
            refused(path, "must hold JSON objects, one for each sample, and has none with a key")
        path = self.lines(tmp_path, '{"label": ["a", "b"], "prediction": ["a", "a"]}', "x.json")
        refused(path, "'label' must hold one class per sample, got")

    @pytest.mark.parametrize("key", ["label", "prediction", "w", "it's", "50%_!", "\\u00fc"])
    def test_a_key_twice_in_an_object(self, tmp_path: Path, key: str) -> None:
        good = '{"label": "a", "prediction": "b", "w": 1, "it\'s": 1, "50%_!": 1, "ü": 1}\n'
        twice = good[:-2] + f', "{key}": 2}}\n'
        path = self.lines(tmp_path, good * 3000 + twice + good, "x.jsonl")
        weight = key.replace("\\u00fc", "ü") if key not in ("label", "prediction") else "w"
        named = weight if weight != "w" else key
        message = re.escape(f"A key must be once in every object, got {named!r} twice")
        refused(path, message, weight=weight)

    def test_a_key_twice_that_is_not_read(self, tmp_path: Path) -> None:
        path = self.lines(tmp_path, '{"x": 1, "label": "a", "prediction": "b", "x": 2}\n', "x.json")
        assert ConfusionMatrix.from_file(path).total == 1


class TestColumns:
    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "arrow"])
    def test_a_missing_column(self, tmp_path: Path, suffix: str) -> None:
        path = write(tmp_path, f"x.{suffix}", {"id": [1], "prediction": ["a"]})
        refused(path, r"`label` must be named, .*\. The columns are: 'id', 'prediction'")
        refused(path, "got 'Prediction'", prediction="Prediction", label="id")

    def test_two_columns_that_fit(self, tmp_path: Path) -> None:
        path = write(tmp_path, "x.csv", {"target": ["a"], "gt": ["a"], "pred": ["a"]})
        error = refused(
            path, "`label` must be one column, and several could be meant: 'target', 'gt'"
        )
        assert "label='target'" in error

    def test_two_columns_of_one_name(self, tmp_path: Path) -> None:
        (tmp_path / "x.csv").write_text("label,label,prediction\na,b,c\n")
        refused(tmp_path / "x.csv", "`label` must be one column, and 2 are named 'label'")

    @pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "arrow"])
    def test_a_file_that_lacks_the_column_of_the_others(self, tmp_path: Path, suffix: str) -> None:
        write(tmp_path, f"a.{suffix}", GOOD)
        write(tmp_path, f"b.{suffix}", {"other": ["a"], "prediction": ["a"]})
        # A JSON object without a key has a missing value there.
        refused(
            tmp_path,
            "'label' must have no missing values, got 1 among"
            if suffix == "jsonl"
            else rf"got 'label'\. .*b\.{suffix}'",
        )

    @pytest.mark.parametrize("suffix", ["parquet", "arrows"])
    def test_types_that_differ_between_files(self, tmp_path: Path, suffix: str) -> None:
        write(tmp_path, f"a.{suffix}", {"label": ["1"], "prediction": ["1"]})
        write(tmp_path, f"b.{suffix}", {"label": [1], "prediction": [1]})
        refused(tmp_path, r"must have one type in all files, got str in .*a\..* and int in .*b\.")

    @pytest.mark.parametrize("suffix", FORMATS)
    def test_missing_values(self, tmp_path: Path, suffix: str) -> None:
        columns = {"label": ["a", None, None], "prediction": ["a", "b", None]}
        path = write(tmp_path, f"x.{suffix}", columns)
        refused(path, r"'label' must have no missing values, got 2 among 3")

    @pytest.mark.parametrize("word", ["nan", "NA", "NULL", "None"])
    def test_words_for_missing_values_among_numbers(self, tmp_path: Path, word: str) -> None:
        path = write(tmp_path, "x.csv", {"label": [1, word], "prediction": [1, 1]})
        refused(path, f"must have no missing values, got '{word}' among numbers")

    def test_such_words_among_names_are_names(self, tmp_path: Path) -> None:
        path = write(tmp_path, "x.csv", {"label": ["None", "cat"], "prediction": ["cat", "cat"]})
        assert ConfusionMatrix.from_file(path).labels == ("None", "cat")

    @pytest.mark.parametrize("suffix", FORMATS)
    def test_names_that_differ_in_spaces_around_them(self, tmp_path: Path, suffix: str) -> None:
        columns = {"label": ["cat", "dog ", "owl"], "prediction": ["cat", "dog", "\towl"]}
        path = write(tmp_path, f"x.{suffix}", columns)
        with pytest.warns(DeconfuseWarning, match=r"case or outer spaces: '\\towl' and 'owl'"):
            assert ConfusionMatrix.from_file(path).n_classes == 5

    @pytest.mark.parametrize("suffix", FORMATS)
    def test_floats(self, tmp_path: Path, suffix: str) -> None:
        path = write(tmp_path, f"x.{suffix}", {"label": [1.0, 2.5], "prediction": [1.0, 2.0]})
        refused(path, r"must be class labels, got the fraction|got decimal|hold class names")

    @pytest.mark.parametrize("suffix", FORMATS)
    def test_mixed_types(self, tmp_path: Path, suffix: str) -> None:
        path = write(tmp_path, f"x.{suffix}", {"label": [1, 2], "prediction": ["cat", "dog"]})
        error = refused(path, r"must be of one type, got int \(as .*\) and str \(as '(cat|dog)'\)")
        assert "Hint: map the numbers to names" in error

    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([1.0, None, 2.0], "got 1 missing or unreadable in 'w'"),
            ([1.0, -2.0, 2.0], "must not be negative, got -2 in 'w'"),
            (["1", "x", "3"], "got 1 missing or unreadable in 'w'|'w' must hold numbers"),
        ],
    )
    def test_weights(self, tmp_path: Path, suffix: str, weights: list[Any], message: str) -> None:
        path = write(tmp_path, f"x.{suffix}", {**GOOD, "w": weights})
        refused(path, message, weight="w")

    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "arrow"])
    def test_scores(self, tmp_path: Path, suffix: str) -> None:
        lists = {"label": [0, 1], "p": [[0.1, 0.9], [0.5]]}
        path = write(tmp_path, f"x.{suffix}", lists)
        refused(path, "lists of one length, got lengths from 1 to 2 in 'p'", scores="p")
        numbers = {"label": ["a", "b"], "a": [0.1, None], "b": [0.5, 0.5]}
        path = write(tmp_path, f"x.{suffix}", numbers)
        refused(path, "missing or NaN scores in 1 of 2 rows of 'a', 'b'", scores=["a", "b"])
        refused(path, "`scores` must be a column, got 'c'", scores=["a", "c"])
        refused(path, "must be a column of lists, or the columns of the classes", scores=[])
        refused(path, "must name each column once", scores=["a", "a"])

    @pytest.mark.parametrize("suffix", ["csv", "jsonl"])
    def test_numbers_where_lists_should_be(self, tmp_path: Path, suffix: str) -> None:
        path = write(tmp_path, f"x.{suffix}", {"label": ["a", "b"], "a": [0.1, 0.9]})
        refused(path, "must be a column of lists of numbers, got none in 'a'", scores="a")

    def test_texts_as_scores(self, tmp_path: Path) -> None:
        path = write(tmp_path, "x.parquet", {"label": [0], "p": ["high"]})
        refused(path, "must be a column of lists of numbers, got VARCHAR in 'p'", scores="p")


def test_a_saved_matrix_that_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text('"true \\ predicted [str]","a","b"\n"a",1,2\n')
    refused(
        path,
        r"m\.csv' must hold a confusion matrix as csv\. .* must name the same classes, got 'b'",
    )


def test_arrow_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "x.arrow", GOOD)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.dataset", None)
    with pytest.raises(MissingExtraError, match=r"needs pyarrow.*\n.*deconfuse\[arrow\]"):
        ConfusionMatrix.from_file(path)


def test_a_matrix_in_zstd_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ConfusionMatrix.from_counts([[1, 0], [0, 1]]).save(tmp_path / "m.csv")
    path = tmp_path / "m.csv.zst"
    path.write_bytes(zstd_bytes((tmp_path / "m.csv").read_bytes()))
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"zstd needs pyarrow.*\n.*deconfuse\[arrow\]"):
        ConfusionMatrix.from_file(path)


def test_more_pairs_than_may_leave_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The module that the others import it from comes last: they may be imported only now.
    for module in ("frames", "queries", "pairs"):
        monkeypatch.setattr(f"deconfuse.reading.{module}.MAX_PAIRS", 10)
    path = tmp_path / "x.csv"
    path.write_bytes(csv_bytes({"label": list(range(11)), "prediction": list(range(11))}))
    error = refused(path, "at most 10 distinct .* pairs, got more. A column looks like an identif")
    assert "merge the matrices with `+`" in error
