"""Files of every format count the same, and what is not predictions is recognized."""

from __future__ import annotations

import csv
import datetime
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deconfuse import ConfusionMatrix
from deconfuse.errors import ColumnChoiceWarning
from tests.reading.files import DATED, FORMATS, write, zstd_bytes

DAYS = [datetime.date(2024, 2, 29), datetime.date(2024, 3, 1)]


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("names", [["cat", "dog"], [-7, 40], [False, True], ["ünï", 'a "b", c;\t']])
def test_every_format_counts_the_same(tmp_path: Path, suffix: str, names: list[Any]) -> None:
    rng = np.random.default_rng(1)
    true = [names[i] for i in rng.integers(0, 2, 50)]
    pred = [names[i] for i in rng.integers(0, 2, 50)]
    path = write(
        tmp_path, f"preds.{suffix}", {"id": list(range(50)), "label": true, "prediction": pred}
    )
    cm = ConfusionMatrix.from_file(path)
    assert cm == ConfusionMatrix.from_predictions(true, pred)
    assert {type(name) for name in cm.labels} == {type(names[0])}


@pytest.mark.parametrize("suffix", DATED)
def test_dates_stay_dates(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path, f"preds.{suffix}", {"label": DAYS, "prediction": DAYS})
    assert ConfusionMatrix.from_file(path).labels == tuple(DAYS)


@pytest.mark.parametrize("suffix", FORMATS)
def test_weights_and_their_squares(tmp_path: Path, suffix: str) -> None:
    columns = {"t": ["a", "a", "b"], "p": ["a", "a", "a"], "w": [0.5, 2.0, 3.0]}
    path = write(tmp_path, f"x.{suffix}", columns)
    cm = ConfusionMatrix.from_file(path, label="t", prediction="p", weight="w")
    assert cm.counts.tolist() == [[2.5, 0.0], [3.0, 0.0]]
    assert cm.variances.tolist() == [[4.25, 0.0], [9.0, 0.0]]


@pytest.mark.parametrize("suffix", FORMATS)
def test_scores(tmp_path: Path, suffix: str) -> None:
    columns = {"label": [1, 0, 1], "0": [0.9, 0.5, 0.2], "1": [0.1, 0.5, 0.8]}
    path = write(tmp_path, f"x.{suffix}", columns)
    cm = ConfusionMatrix.from_file(path, scores=["0", "1"])
    assert cm == ConfusionMatrix.from_predictions([1, 0, 1], [0, 0, 1])


@pytest.mark.parametrize("suffix", FORMATS)
def test_score_lists(tmp_path: Path, suffix: str) -> None:
    columns = {"label": ["b", "a", "c"], "p": [[0.9, 0.1, 0], [0.5, 0.5, 0], [0, 0, 0.25]]}
    path = write(tmp_path, f"x.{suffix}", columns)
    cm = ConfusionMatrix.from_file(path, scores={"p": ["a", "b", "c"]})
    assert cm == ConfusionMatrix.from_predictions(["b", "a", "c"], ["a", "a", "c"])


class TestWhichFiles:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """A folder as Spark leaves it, with shards in two levels."""
        (tmp_path / "sub").mkdir()
        for name, true in (("part-0.csv", ["a", "b"]), ("sub/part-1.csv", ["c"])):
            write(tmp_path, name, {"label": true, "prediction": ["a"] * len(true)})
        (tmp_path / "_SUCCESS").touch()
        (tmp_path / ".part-0.csv.crc").write_bytes(b"\x00crc")
        (tmp_path / "README.md").write_text("not data")
        return tmp_path

    def test_a_folder(self, folder: Path) -> None:
        cm = ConfusionMatrix.from_file(folder)
        assert cm == ConfusionMatrix.from_predictions(["a", "b", "c"], ["a", "a", "a"])

    def test_a_pattern(self, folder: Path) -> None:
        assert ConfusionMatrix.from_file(f"{folder}/**/*.csv").total == 3
        assert ConfusionMatrix.from_file(f"{folder}/part-?.csv").total == 2

    def test_several_paths(self, folder: Path) -> None:
        paths = [str(folder / "part-0.csv"), folder / "sub"]
        assert ConfusionMatrix.from_file(paths).total == 3

    def test_a_pattern_of_folders(self, folder: Path) -> None:
        assert ConfusionMatrix.from_file(f"{folder}/s?b").total == 1

    def test_names_with_pattern_characters_are_names_first(self, tmp_path: Path) -> None:
        for name in ("a[1].csv", "a1.csv", "x*.csv", "xy.csv"):
            write(tmp_path, name, {"label": [name], "prediction": [name]})
        for name in ("a[1].csv", "x*.csv"):
            assert ConfusionMatrix.from_file(tmp_path / name).labels == (name,)

    def test_partitioned_parquet_has_its_columns(self, tmp_path: Path) -> None:
        for label in ("cat", "dog"):
            part = tmp_path / f"label={label}"
            part.mkdir()
            write(part, "part-0.parquet", {"prediction": ["cat", label]})
        cm = ConfusionMatrix.from_file(tmp_path)
        assert cm == ConfusionMatrix.from_predictions(
            ["cat", "cat", "dog", "dog"], ["cat", "cat", "cat", "dog"]
        )

    @pytest.mark.parametrize("suffix", ["csv", "parquet", "csv.gz"])
    def test_patterns_of_partitions(self, tmp_path: Path, suffix: str) -> None:
        for label in ("cat", "a b"):
            part = tmp_path / "run=3" / f"label={label}"
            part.mkdir(parents=True)
            write(part, f"part-0.{suffix}", {"prediction": ["cat", label]})
        whole = ConfusionMatrix.from_predictions(
            ["cat", "cat", "a b", "a b"], ["cat", "cat", "cat", "a b"]
        )
        for path in (
            tmp_path,
            tmp_path / "run=3",
            f"{tmp_path}/*/label=*/*.{suffix}",
            f"{tmp_path}/run=3/label=*",
            f"{tmp_path}/**/*.{suffix}",
        ):
            assert ConfusionMatrix.from_file(path) == whole

    def test_marks_of_jobs_are_no_data(self, folder: Path) -> None:
        assert ConfusionMatrix.from_file(f"{folder}/[!Rs]*").total == 2
        (folder / "_preds.csv").write_text("label,prediction\na,b\n")
        assert ConfusionMatrix.from_file(f"{folder}/_pred*").total == 1

    def test_the_home_folder(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.setenv("USERPROFILE", str(folder))
        assert ConfusionMatrix.from_file("~/part-0.csv").total == 2
        assert ConfusionMatrix.from_file("~/*.csv").total == 2

    def test_links_are_followed(self, folder: Path, tmp_path_factory: Any) -> None:
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        write(elsewhere, "part-9.csv", {"label": ["a"] * 7, "prediction": ["a"] * 7})
        (folder / "linked").symlink_to(elsewhere)
        assert ConfusionMatrix.from_file(folder).total == 10

    @pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "arrows"])
    def test_columns_may_come_in_another_order(self, tmp_path: Path, suffix: str) -> None:
        write(tmp_path, f"a.{suffix}", {"label": ["a"], "x": ["z"], "prediction": ["b"]})
        write(tmp_path, f"b.{suffix}", {"prediction": ["b"], "label": ["a"]})
        assert ConfusionMatrix.from_file(tmp_path).counts.tolist() == [[0, 2], [0, 0]]

    def test_a_name_without_a_suffix_is_told_by_content(self, tmp_path: Path) -> None:
        for suffix, make in FORMATS.items():
            path = tmp_path / suffix.replace(".", "_")
            path.write_bytes(make({"label": ["a", "b"], "prediction": ["b", "b"]}))
            assert ConfusionMatrix.from_file(path).counts.tolist() == [[0, 1], [0, 1]]


class TestHostileNames:
    NAMES = ("it's; DROP TABLE x; --.csv", 'quo"te $1 ? %s.csv', "sp ace\n.csv", "ünï🐈.csv")

    @pytest.mark.parametrize("name", NAMES)
    def test_file_names(self, tmp_path: Path, name: str) -> None:
        write(tmp_path, name, {"label": ["a"], "prediction": ["b"]})
        assert ConfusionMatrix.from_file(tmp_path / name).total == 1

    @pytest.mark.parametrize("suffix", FORMATS)
    def test_column_names(self, tmp_path: Path, suffix: str) -> None:
        label, prediction = "'; DROP TABLE x; --", 'a "b" / ~1 $."c" ?'
        weight, score = "SELECT 1", "c0"
        columns = {"c1": ["x"], label: ["a"], prediction: ["b"], weight: [2], score: [1]}
        path = write(tmp_path, f"x.{suffix}", columns)
        cm = ConfusionMatrix.from_file(path, label=label, prediction=prediction, weight=weight)
        assert cm.labels == ("a", "b")
        assert cm.total == 2

    def test_parquet_columns_that_differ_in_case(self, tmp_path: Path) -> None:
        path = write(tmp_path, "x.parquet", {"label": ["a"], "Label": ["b"], "LABEL": ["c"]})
        cm = ConfusionMatrix.from_file(path, label="Label", prediction="LABEL")
        assert cm.labels == ("b", "c")

    def test_class_names_are_text(self, tmp_path: Path) -> None:
        names = [
            "'; DROP TABLE x; --",
            "<img src=x onerror=alert(1)>",
            "=cmd()",
            "a\nb",
            "\u202eabc",
        ]
        for suffix in FORMATS:
            path = write(tmp_path, f"x.{suffix}", {"label": names, "prediction": names})
            assert ConfusionMatrix.from_file(path).labels == tuple(sorted(names))


@pytest.mark.parametrize(
    ("true", "pred"),
    [
        ("y_true", "y_pred"),
        ("target", "pred"),
        ("gt", "prediction"),
        ("actual", "predicted"),
        ("Ground Truth", "Y-Pred"),
        ("label", "predicted"),
    ],
)
def test_usual_column_names_are_found_and_said(tmp_path: Path, true: str, pred: str) -> None:
    path = write(tmp_path, "x.csv", {"id": [1, 2], true: ["a", "b"], pred: ["a", "a"]})
    with pytest.warns(ColumnChoiceWarning) as caught:
        cm = ConfusionMatrix.from_file(path)
    assert cm.counts.tolist() == [[1, 0], [1, 0]]
    said = str(caught[0].message)
    assert f"`prediction` from column {pred!r}" in said or pred == "prediction"
    assert f"`label` from column {true!r}" in said or true == "label"


class TestTextTypes:
    def read(self, folder: Path, true: list[Any], pred: list[Any]) -> ConfusionMatrix:
        return ConfusionMatrix.from_file(
            write(folder, "x.csv", {"label": true, "prediction": pred})
        )

    def test_a_late_word_makes_all_of_them_words(self, tmp_path: Path) -> None:
        numbers = [str(i % 3) for i in range(50_000)]
        cm = self.read(tmp_path, numbers, [*numbers[:-1], "unknown"])
        assert cm.labels == ("0", "1", "2", "unknown")

    def test_codes_with_leading_zeros_stay_codes(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, ["007", "010"], ["007", "007"]).labels == ("007", "010")

    def test_bools_in_any_case(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, ["True", "false"], ["TRUE", "true"]).labels == (False, True)

    def test_what_only_looks_like_a_date_is_text(self, tmp_path: Path) -> None:
        days = ["2024-02-29", "2024-02-30"]
        assert self.read(tmp_path, days, days[::-1]).labels == tuple(days)

    @pytest.mark.parametrize(
        "data",
        [
            b"\xef\xbb\xbflabel,prediction\r\na,b\r\n",
            b"label;prediction\na;b",
            b"label|prediction\na|b\n",
            b'label,"two\nlines",prediction\na,x,b\n',
            b'"label", "x",prediction,\na,"1, 2",b,\n\n',
        ],
    )
    def test_dialects(self, tmp_path: Path, data: bytes) -> None:
        (tmp_path / "x.csv").write_bytes(data)
        assert ConfusionMatrix.from_file(tmp_path / "x.csv").labels == ("a", "b")

    @settings(
        max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
    )
    @given(
        names=st.lists(
            st.text(
                st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), max_size=8
            ),
            min_size=1,
            max_size=5,
        ),
        seed=st.integers(0, 2**16),
    )
    def test_any_text_comes_back(self, tmp_path: Path, names: list[str], seed: int) -> None:
        rng = np.random.default_rng(seed)
        words = [f"class {name}." for name in names]
        true, pred = ([words[i] for i in rng.integers(0, len(words), 9)] for _ in range(2))
        stream = io.StringIO(newline="")
        csv.writer(stream).writerows([("label", "prediction"), *zip(true, pred, strict=True)])
        (tmp_path / "x.csv").write_text(stream.getvalue(), encoding="utf-8", newline="")
        assert ConfusionMatrix.from_file(tmp_path / "x.csv") == ConfusionMatrix.from_predictions(
            true, pred
        )


class TestSavedMatrices:
    @pytest.mark.parametrize("name", ["m.csv", "m.json", "m.npz"])
    def test_weighted_and_sparse_ones_too(self, tmp_path: Path, name: str) -> None:
        many = np.arange(3000)
        for cm in (
            ConfusionMatrix.from_predictions(["a", "b"], ["b", "b"], sample_weight=[0.5, 3]),
            ConfusionMatrix.from_predictions(many, np.roll(many, 1)),
        ):
            cm.save(tmp_path / name)
            assert ConfusionMatrix.from_file(tmp_path / name) == cm

    @pytest.mark.parametrize(
        "text",
        [
            "true,cat,dog\ncat,5,1\ndog,2,9\n",
            ",dog,cat\ncat,1,5\ndog,9,2\n",
            "\tcat\tdog\ncat\t5\t1\ndog\t2\t9\n",
        ],
    )
    def test_matrices_of_others(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "m.csv").write_text(text)
        cm = ConfusionMatrix.from_file(tmp_path / "m.csv")
        assert cm.reorder(["cat", "dog"]).counts.tolist() == [[5, 1], [2, 9]]

    def test_a_pandas_matrix(self, tmp_path: Path) -> None:
        cm = ConfusionMatrix.from_counts(
            np.arange(900).reshape(30, 30), [f"c{i}" for i in range(30)]
        )
        cm.to_pandas().to_csv(tmp_path / "m.csv")
        assert ConfusionMatrix.from_file(tmp_path / "m.csv") == cm

    def test_predictions_are_no_matrix(self, tmp_path: Path) -> None:
        # Two rows, whose first column names the header's second column.
        path = write(tmp_path, "x.csv", {"label": ["prediction"], "prediction": [1]})
        with pytest.raises(ValueError, match="must be of one type"):
            ConfusionMatrix.from_file(path)


def test_a_table_of_pair_counts_is_weighted_by_its_counts(tmp_path: Path) -> None:
    path = write(tmp_path, "x.csv", {"label": ["a", "b"], "prediction": ["a", "a"], "n": [7, 2]})
    assert ConfusionMatrix.from_file(path, weight="n").counts.tolist() == [[7, 0], [2, 0]]


def test_zstd_of_several_frames(tmp_path: Path) -> None:
    frames = [b"label,prediction\n", b"a,b\n" * 1000, b"b,b\n"]
    skippable = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
    (tmp_path / "x.csv.zst").write_bytes(skippable + b"".join(map(zstd_bytes, frames)))
    assert ConfusionMatrix.from_file(tmp_path / "x.csv.zst").total == 1001


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "x.csv", {"label": ["a"], "prediction": ["b"]})
    ConfusionMatrix.from_file("x.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


def test_the_engine_reads_what_was_named_and_nothing_else(tmp_path: Path) -> None:
    import duckdb

    from deconfuse.reading.file_scans import connect
    from deconfuse.reading.files import inspect_file

    named = inspect_file(
        write(tmp_path, "a[1].csv", {"label": ["a"], "prediction": ["b"]}), tmp_path
    )
    other = write(tmp_path, "a1.csv", {"label": ["x"], "prediction": ["y"]})
    spill = tmp_path / "spill"
    spill.mkdir()
    with connect([named], spill) as connection:
        for sql in (
            f"SELECT * FROM read_csv('{other}')",
            f"COPY (SELECT 1) TO '{tmp_path}/written.csv'",
            "SET enable_external_access = true",
            "SET lock_configuration = false",
            "SET memory_limit = '1TB'",
            "LOAD httpfs",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(sql)
    assert not (tmp_path / "written.csv").exists()


def test_parquet_of_legacy_types(tmp_path: Path) -> None:
    table = pa.table(
        {"label": pa.array([1, 2], pa.uint8()), "prediction": pa.array([2, 2], pa.int64())}
    )
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet", use_dictionary=False)
    assert ConfusionMatrix.from_file(tmp_path / "x.parquet").labels == (1, 2)
