"""Files made to mislead or to exhaust: an error, never a wrong number, a crash or a full memory."""

from __future__ import annotations

import gzip
import os
import signal
import struct
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from deconfuse import ConfusionMatrix, InputError
from deconfuse.reading.column_names import Columns
from deconfuse.reading.prediction_table import PredictionTable, count_file, open_table
from tests.reading.files import arrow_bytes, arrow_stream_bytes, refused, write, zstd_bytes


class TestArrow:
    @pytest.mark.parametrize("end", [100, 4016, 2_000_000_000, -1])
    @pytest.mark.parametrize("make", [arrow_bytes, arrow_stream_bytes])
    def test_offsets_outside_of_the_buffer(self, tmp_path: Path, make: Any, end: int) -> None:
        names = ["aaaa", "bbbb", "cccc", "dddd"]
        data = bytearray(make({"label": names, "prediction": names}))
        at = data.find(struct.pack("<5i", 0, 4, 8, 12, 16))
        data[at : at + 20] = struct.pack("<5i", 0, 4, 8, 12, end)
        path = tmp_path / "x.arrow"
        path.write_bytes(data)
        refused(path, "could not be read: ")

    def test_only_what_is_read_is_validated(self, tmp_path: Path) -> None:
        names = ["aaaa", "bbbb"]
        data = bytearray(arrow_bytes({"label": names, "prediction": names, "x": ["y", "zz"]}))
        at = data.find(struct.pack("<3i", 0, 1, 3))
        data[at : at + 12] = struct.pack("<3i", 0, 1, 2_000_000)
        path = tmp_path / "x.arrow"
        path.write_bytes(data)
        assert count_file(path).total == 2
        refused(path, "could not be read: ", label="x")


class TestPartitions:
    @pytest.mark.parametrize("folder", ["c0=x", "C1=x", "c_0=x"])
    def test_folders_named_like_our_columns(self, tmp_path: Path, folder: str) -> None:
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, "a.csv", {"label": ["cat", "dog"], "prediction": ["cat", "cat"]})
        assert count_file(tmp_path).labels == ("cat", "dog")

    @pytest.mark.parametrize("folder", ["label=zzz", "Label=zzz"])
    @pytest.mark.parametrize("suffix", ["csv", "parquet", "csv.gz"])
    def test_a_folder_never_replaces_a_column(
        self, tmp_path: Path, folder: str, suffix: str
    ) -> None:
        (tmp_path / folder).mkdir()
        columns = {"label": ["cat", "dog"], "prediction": ["cat", "cat"]}
        write(tmp_path / folder, f"a.{suffix}", columns)
        refused(tmp_path, "from a file or from its folder, got '[lL]abel' from both")
        assert count_file(f"{tmp_path}/{folder}/*").labels == ("cat", "dog")


class TestNumbers:
    @pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows"])
    def test_whole_floats_are_ints(self, tmp_path: Path, suffix: str) -> None:
        path = write(tmp_path, f"x.{suffix}", {"label": [1.0, 2.0, -0.0], "prediction": [1, 2, 0]})
        cm = count_file(path)
        assert cm == ConfusionMatrix.from_predictions([1, 2, 0], [1, 2, 0])
        write(tmp_path, f"y.{suffix}", {"label": [2**53 + 1], "prediction": [2.0]})
        assert count_file(tmp_path).labels == (0, 1, 2, 2**53 + 1)

    @pytest.mark.parametrize("value", [float("nan"), None])
    def test_nan_is_missing(self, tmp_path: Path, value: float | None) -> None:
        path = write(tmp_path, "x.parquet", {"label": [1.0, value], "prediction": [1, 2]})
        refused(path, "'label' must have no missing values, got 1 among 2")

    def test_fractions_and_infinities(self, tmp_path: Path) -> None:
        # Beyond 2**53 a float stands for several whole numbers.
        for value in (0.5, float("inf"), 1e30, 2.0**53 + 2):
            path = write(tmp_path, "x.parquet", {"label": [1.0, value], "prediction": [1, 2]})
            refused(path, r"'label' must hold class names .* up to 2\*\*53\), got floats such as")

    def test_names_that_look_like_floats(self, tmp_path: Path) -> None:
        versions = ["3.8", "3.9", "3.10"]
        path = write(tmp_path, "x.csv", {"label": versions, "prediction": versions[::-1]})
        with pytest.raises(InputError, match="decimal numbers such as"):
            count_file(path)
        cm = ConfusionMatrix.from_file(path, labels=versions)
        assert cm == ConfusionMatrix.from_predictions(versions, versions[::-1], labels=versions)
        refused(path, "must be one of `labels`, got '3.9'", labels=["3.8", "3.10"])

    def test_numbers_of_many_digits_and_deep_nesting(self, tmp_path: Path) -> None:
        path = tmp_path / "x.jsonl"
        for value in ("9" * 5000, "[" * 100_000 + "]" * 100_000, '"' + "x" * 200_000 + '"'):
            path.write_text(f'{{"label": {value}, "prediction": 1}}\n')
            refused(path, "must|could not be read")
            path.write_text(f'{{"type": "deconfuse confusion matrix", "labels": {value}}}')
            refused(path, "must hold a confusion matrix as json")

    def test_fields_longer_than_the_limit_of_python(self, tmp_path: Path) -> None:
        path = tmp_path / "x.csv"
        path.write_text(f"{'x' * 200_000},label,prediction\n1,a,a\n")
        assert count_file(path).total == 1
        path.write_text(f"id,x,y\n{'x' * 200_000},1,2\n")
        refused(path, "`label` must be named")


class TestEnds:
    @pytest.mark.parametrize("mib", [3, 33])
    def test_a_last_record_is_never_dropped(self, tmp_path: Path, mib: int) -> None:
        path = tmp_path / "x.csv"
        path.write_bytes(b"label,prediction\na,a\nb,b\n" + b"x" * (mib << 20) + b",b\n")
        refused(path, "is damaged at its end: the last line must have at most")

    @pytest.mark.parametrize("size", [1, 5000, 40 << 20])
    def test_a_tail_of_zeros(self, tmp_path: Path, size: int) -> None:
        path = tmp_path / "x.csv"
        path.write_bytes(b"label,prediction\n" + b"a,b\n" * 5000 + bytes(size))
        refused(path, "is damaged at its end: .* no NUL byte")

    @pytest.mark.parametrize("end", ["", "\n", "\n\n"])
    def test_any_usual_end(self, tmp_path: Path, end: str) -> None:
        path = tmp_path / "x.csv"
        path.write_bytes(f"label,prediction\na,a\nb,b{end}".encode())
        assert count_file(path).total == 2


class TestBombs:
    @pytest.mark.parametrize("suffix", ["csv.gz", "csv.zst"])
    def test_unpacking_is_bounded(self, tmp_path: Path, suffix: str) -> None:
        text = b"label,prediction\n" + b"a,a\n" * 1_000_000
        pack = gzip.compress if suffix == "csv.gz" else zstd_bytes
        path = tmp_path / f"x.{suffix}"
        path.write_bytes(pack(text))
        error = refused(path, "must unpack to at most 1,000,000 bytes", max_decompressed=10**6)
        assert "raise `max_decompressed`" in error
        assert count_file(path).total == 1_000_000

    def test_a_matrix_with_a_long_empty_tail(self, tmp_path: Path) -> None:
        # In a process of its own, whose memory is bounded.
        path = tmp_path / "m.csv.gz"
        path.write_bytes(gzip.compress(b",a,b\na,1,2\nb,3,4\n" + b"\n" * (16 << 20)))
        program = (
            "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30));"
            "from deconfuse import ConfusionMatrix as CM; print(CM.from_file(sys.argv[1]).total)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "10"


@pytest.mark.skipif(
    int(duckdb.__version__.split(".")[0]) < 2, reason="DuckDB before 2.0 tells it in another way"
)
def test_a_key_press_ends_counting(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = pa.array(rng.integers(0, 10**9, 3_000_000))
    pyarrow.parquet.write_table(
        pa.table({"label": values, "prediction": values}), tmp_path / "x.parquet"
    )
    for copy in range(60):
        os.link(tmp_path / "x.parquet", tmp_path / f"x{copy}.parquet")
    program = (
        "import sys; from deconfuse import ConfusionMatrix\n"
        "import deconfuse.reading.prediction_table as t; fetch = t.PredictionTable._fetch\n"
        "def said(*a, **k): print('counting', flush=True); return fetch(*a, **k)\n"
        "t.PredictionTable._fetch = said\n"
        "try: ConfusionMatrix.from_file(sys.argv[1])\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "counting\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted\n"


def test_a_file_is_opened_once_whatever_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(
        tmp_path, "x.csv", {"id": [7, 8], "gt": ["a", "b"], "pred": ["a", "a"], "other": ["b", "a"]}
    )
    inspected, connected = [], []
    from deconfuse.reading import prediction_table as module

    inspect, connect = module.inspect_file, module.connect
    monkeypatch.setattr(
        module, "inspect_file", lambda *given: inspected.append(given) or inspect(*given)
    )
    monkeypatch.setattr(
        module, "connect", lambda *given: connected.append(given) or connect(*given)
    )
    opened = open_table(path)
    assert isinstance(opened, PredictionTable)
    with opened, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert opened.columns == ("id", "gt", "pred", "other")
        assert opened.count().counts.tolist() == [[1, 0], [1, 0]]
        assert opened.rows(id="id", text="other").ids == ["7", "8"]
        assert opened.rows(text="other").texts == ["b", "a"]
        assert opened.models("other", Columns("gt", "pred")).second.tolist() == ["b", "a"]
        assert opened.count(Columns(weight="id")).total == 15
    assert [str(warning.message)[:30] for warning in caught] == ["Read `label` from column 'gt' "]
    assert (len(inspected), len(connected)) == (1, 1)
    assert not any(name.startswith("deconfuse-") for name in os.listdir(tmp_path))
