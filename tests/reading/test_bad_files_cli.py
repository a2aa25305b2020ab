"""The same bad files from the command line: a non-zero exit, one clear error, no result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deconfuse.cli import main
from tests.reading.files import FORMATS, write

IDS = {"label": list(range(100, 3100)), "prediction": [i % 9 for i in range(3000)]}


def _text(text: str) -> Callable[[Path], Any]:
    return lambda path: path.write_text(text)


def _bytes(
    suffix: str, columns: dict[str, list[Any]], cut: int | None = None
) -> Callable[..., Any]:
    return lambda path: path.write_bytes(FORMATS[suffix](columns)[:cut])


GOOD = {"label": ["a", "b"], "prediction": ["b", "b"]}
CASES: dict[str, tuple[str, Callable[[Path], Any] | None, str]] = {
    "missing column": ("x.csv", _text("label,guess\na,b\n"), "The columns are: 'label', 'guess'"),
    "nulls": (
        "x.csv",
        _text("label,prediction\na,\n,b\n"),
        "Column 'label' must have no missing values, got 1 among 2",
    ),
    "no such file": ("x.csv", None, "does not exist"),
    "no match": ("*.parquet", None, "matches no file"),
    "empty": ("x.parquet", _text(""), "is empty"),
    "truncated": ("x.parquet", _bytes("parquet", GOOD, -20), "is cut short must be written again"),
    "ragged": ("x.csv", _text("label,prediction\na,b\na,b,c\n"), "on Line: 3"),
    "floats": (
        "x.csv",
        _text("label,prediction\n1.5,1\n2.5,1\n"),
        "got decimal numbers such as 1.5",
    ),
    "mixed types": ("x.csv", _text("label,prediction\n1,cat\n2,dog\n"), "must be of one type"),
    "two that fit": ("x.csv", _text("gt,target,pred\na,a,a\n"), "several could be meant"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_ends_with_its_error_and_leaves_nothing(
    case: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name, make, message = CASES[case]
    if make is not None:
        make(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SystemExit) as ended:
        main(["report", str(tmp_path / name)])
    written = capsys.readouterr()
    assert ended.value.code == 2
    assert message in " ".join(written.err.split())
    assert "Traceback" not in written.err
    assert written.out == ""
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["it's; DROP TABLE x; --.csv", 'quo"te & sp ace.csv'])
def test_names_with_quotes_and_sql_are_names(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    label = 'the "label"; DROP TABLE x'
    write(tmp_path, name, {label: ["a", "b"], "prediction": ["b", "b"]})
    with pytest.raises(SystemExit) as ended:
        main(["normalize", str(tmp_path / name), "--method", "all", "--label", label])
    assert not ended.value.code
    assert ".50" in capsys.readouterr().out
