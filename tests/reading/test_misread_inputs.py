"""What would be counted as something else: other names of classes, no path, workbooks, titles."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from deconfuse import ConfusionMatrix, InputError
from deconfuse.cli import main
from deconfuse.errors import DeconfuseWarning
from tests.reading.files import refused, write

SCORED = {
    "label": ["cat", "dog"] * 5,
    "p_cat": [0.9, 0.2] * 5,
    "p_dog": [0.1, 0.8] * 5,
}


class TestScoresOfOtherNames:
    @pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
    def test_columns_with_a_prefix(self, tmp_path: Path, suffix: str) -> None:
        path = write(tmp_path, f"s.{suffix}", SCORED)
        mapping = {"p_cat": "cat", "p_dog": "dog"}
        message = "Scores must belong to the classes of the labels, got scores of 'p_cat', 'p_dog'"
        error = refused(path, message, scores=["p_cat", "p_dog"])
        assert "scores={'p_cat': 'cat', ...}" in error
        assert "`--scores p_cat=cat,...` on the command line" in error
        with pytest.raises(InputError, match=message):
            ConfusionMatrix.from_frame(pd.DataFrame(SCORED), scores=["p_cat", "p_dog"])
        for cm in (
            ConfusionMatrix.from_file(path, scores=mapping),
            ConfusionMatrix.from_frame(pd.DataFrame(SCORED), scores=mapping),
        ):
            assert cm.labels == ("cat", "dog")
            assert cm.counts.tolist() == [[5, 0], [0, 5]]

    def test_labels_that_are_numbers(self, tmp_path: Path) -> None:
        columns = {"label": [0, 1], "p_0": [0.9, 0.2], "p_1": [0.1, 0.8]}
        path = write(tmp_path, "s.parquet", columns)
        error = refused(path, "'p_0', 'p_1' where labels are 0, 1", scores=["p_0", "p_1"])
        assert "scores={'p_0': 0, ...}" in error

    def test_a_column_of_lists(self) -> None:
        frame = pd.DataFrame({"label": [10, 20], "p": [[0.9, 0.1], [0.2, 0.8]]})
        with pytest.raises(InputError, match="got scores of 0, 1 where labels are 10, 20") as error:
            ConfusionMatrix.from_frame(frame, scores="p")
        assert "scores={'p': [...]}" in str(error.value)
        assert ConfusionMatrix.from_frame(frame, scores={"p": [10, 20]}).labels == (10, 20)

    def test_one_class_in_common_is_enough(self) -> None:
        frame = pd.DataFrame({"label": ["cat", "emu"], "cat": [0.9, 0.2], "dog": [0.1, 0.8]})
        cm = ConfusionMatrix.from_frame(frame, scores=["cat", "dog"])
        assert cm.labels == ("cat", "dog", "emu")

    @pytest.mark.parametrize(
        "options",
        [["--scores", "p_cat=cat,p_dog=dog"], ["--scores", "p_cat=cat", "--scores", "p_dog=dog"]],
    )
    def test_classes_on_the_command_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
    ) -> None:
        path = write(tmp_path, "s.csv", SCORED)
        with pytest.raises(SystemExit) as ended:
            main(["normalize", str(path), "--method", "all", *options])
        assert not ended.value.code
        written = capsys.readouterr()
        assert "10 samples of 2 classes" in written.err
        assert ".50" in written.out

    def test_classes_on_the_command_line_that_are_numbers(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        columns = {"label": [7, 8], "a": [0.9, 0.2], "b": [0.1, 0.8]}
        path = write(tmp_path, "s.csv", columns)
        with pytest.raises(SystemExit) as ended:
            main(["normalize", str(path), "--method", "all", "--scores", "a=7,b=8"])
        assert not ended.value.code
        assert "2 samples of 2 classes" in capsys.readouterr().err

    @pytest.mark.parametrize("names", [("False", "True"), ("2020-01-01", "2020-01-02")])
    def test_truths_and_dates_as_text(self, tmp_path: Path, names: tuple[str, str]) -> None:
        path = tmp_path / "s.csv"
        path.write_text(f"label,p0,p1\n{names[0]},.9,.1\n{names[1]},.2,.8\n", encoding="utf-8")
        error = refused(path, "Scores must belong to the classes", scores=["p0", "p1"])
        assert f"--scores p0={names[0]},..." in error
        cm = ConfusionMatrix.from_file(path, scores=dict(zip(("p0", "p1"), names, strict=True)))
        assert cm.counts.tolist() == [[1, 0], [0, 1]]
        assert [str(name) for name in cm.labels] == list(names)
        assert not isinstance(cm.labels[0], str)

    def test_a_column_twice_on_the_command_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = write(tmp_path, "s.csv", SCORED)
        with pytest.raises(SystemExit) as ended:
            main(["normalize", str(path), "--scores", "p_cat=cat,p_cat=dog"])
        assert ended.value.code == 2
        assert "must name each column once, got 'p_cat' twice" in capsys.readouterr().err


class TestNoClassInCommon:
    def test_two_spellings(self, tmp_path: Path) -> None:
        message = r"No label occurs among the predictions|Classes differ only in case"
        path = write(tmp_path, "p.csv", {"label": ["cat"] * 2, "prediction": ["Cat"] * 2})
        frame = pd.DataFrame({"label": ["cat"] * 2, "prediction": ["Cat"] * 2})
        for act in (
            lambda: ConfusionMatrix.from_predictions(["cat"] * 50, ["Cat"] * 50),
            lambda: ConfusionMatrix.from_file(path),
            lambda: ConfusionMatrix.from_frame(frame),
        ):
            with pytest.warns(DeconfuseWarning, match=message) as caught:
                assert act().n_classes == 2
            # The line to look at is the caller's.
            assert [warning.filename for warning in caught] == [__file__]

    def test_other_classes(self) -> None:
        with pytest.warns(DeconfuseWarning, match="are 1, 2, predictions are 3. Are both of the"):
            ConfusionMatrix.from_predictions([1, 2] * 10, [3] * 20)

    def test_the_command_line_says_it(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "200")
        path = write(tmp_path, "p.csv", {"label": ["cat"] * 2, "prediction": ["Cat"] * 2})
        with pytest.raises(SystemExit) as ended:
            main(["normalize", str(path), "--method", "all"])
        assert not ended.value.code
        assert "differ only in case or outer spaces" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("true", "pred", "options"),
        [
            (["a"] * 5, ["b"] * 5, {}),
            ([-1], [1], {}),
            ([True], [False], {}),
            (["a"] * 50, ["b"] * 49 + ["a"], {}),
            (["a", "b"] * 50, ["b", "c"] * 50, {}),
            (["cat"] * 50, ["Cat"] * 50, {"labels": ["cat", "Cat"]}),
        ],
    )
    def test_no_warning(self, true: list[Any], pred: list[Any], options: dict[str, Any]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cm = ConfusionMatrix.from_predictions(true, pred, **options)
            # Nor when shards are merged, or nothing was counted.
            assert (cm + cm).total == 2 * cm.total
            assert ConfusionMatrix.from_counts([[0, 5], [0, 0]], ["a", "A"]).total == 5

    def test_streaming_in_small_batches(self) -> None:
        pairs = [(0, 1), (1, 2), (2, 3), (3, 0)] * 10
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            shards = [ConfusionMatrix.from_predictions([t], [p]) for t, p in pairs]
            assert sum(shards[1:], shards[0]).total == 40


class TestNoPath:
    @pytest.mark.parametrize("path", ["", " ", [""]])
    def test_an_empty_path(self, path: object) -> None:
        assert "is a variable empty?" in refused(path, "must name a file or a folder, got '")

    def test_an_empty_path_on_the_command_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write(tmp_path, "p.csv", {"label": ["a", "b"], "prediction": ["a", "b"]})
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SystemExit) as ended:
            main(["normalize", ""])
        assert ended.value.code == 2
        written = capsys.readouterr()
        assert "must name a file or a folder" in written.err
        assert written.out == ""


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.csv", "label,prediction\na,b\n".encode("utf-16")),
        ("x.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)),
        ("x", b"SQLite format 3\x00abc"),
        ("x.zip", b"PK\x03\x04" + bytes(50)),
    ],
)
def test_content_of_other_programs(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    refused(tmp_path / name, "must be CSV, TSV, JSON lines, .*, got bytes of another format")


def test_a_long_file_with_an_empty_line(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    lines = "".join(f"r{number},{number},{number}\n" for number in range(100_000))
    path.write_text(f"id,x,y\nr,1,2\n\n{lines}", encoding="utf-8")
    refused(path, "`label` must be named")
