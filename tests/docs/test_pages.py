"""What the guide and the README say to run does run, and prints what the page says it prints."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import shutil
from pathlib import Path

import pytest

from deconfuse.cli import main
from tests.docs.pages import blocks_of, commands_of
from tests.support import require

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if "generated" not in path.parts and blocks_of(path.read_text(encoding="utf-8"))
)
NEEDS = {
    "ecosystem": ("torch", "torchmetrics", "lightning", "mlflow", "tensorboard"),
    "large-scale": ("polars", "pyarrow"),
    "relatives": ("ot",),
}


# Libraries that pages bring in may warn about themselves; the numbers are what is checked here.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::UserWarning:lightning.*")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_the_page_runs_and_prints_what_it_shows(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import matplotlib

    matplotlib.use("agg")
    require(*NEEDS.get(path.stem, ()))
    # The files that pages offer for download.
    shutil.copytree(DOCS / "data", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    # What a page sets in the environment ends with it, and nothing is set that it does not set.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "")
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE")
    namespace: dict[str, object] = {"__name__": "page"}
    for block in blocks_of(path.read_text(encoding="utf-8")):
        printed = io.StringIO()
        code = compile("\n" * block.line + block.code, str(path), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        if block.output is not None:
            assert _words(printed.getvalue()) == _words(block.output), f"{path}:{block.line}"
    _close_figures()
    for arguments in commands_of(path.read_text(encoding="utf-8")):
        _run(arguments)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_commands_that_are_not_run_have_options_that_exist(path: Path):
    for arguments in commands_of(path.read_text(encoding="utf-8"), ("console",)):
        options = [word for word in arguments if word.startswith("--")]
        names = itertools.takewhile(lambda word: not word.startswith("-"), arguments)
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown), pytest.raises(SystemExit):
            main([*names, "--help"])
        assert not [option for option in options if option not in shown.getvalue()], arguments


def test_what_the_readme_shows_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With names and files of the reader's own, which the README cannot bring."""
    require("polars")
    import numpy as np
    import polars as pl

    page = (ROOT / "README.md").read_text(encoding="utf-8")
    rng = np.random.default_rng(0)
    y_true = rng.integers(0, 3, 400)
    scores = rng.normal(size=(400, 3)) + 2 * np.eye(3)[y_true]
    reader = {"y_true": y_true, "y_pred": scores.argmax(axis=1), "scores": scores}
    monkeypatch.chdir(tmp_path)
    table = pl.DataFrame({"label": reader["y_true"], "prediction": reader["y_pred"]})
    table.write_parquet("predictions.parquet")
    for name in ("predictions.csv", "model_a.csv", "model_b.csv"):
        table.write_csv(name)
    (block,) = blocks_of(page)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(block.code, "README.md", "exec"), reader | {"new_scores": scores})
    assert (tmp_path / "report.html").exists()
    commands = commands_of(page)
    assert len(commands) > 3
    for arguments in commands:
        _run(arguments)


def _run(arguments: list[str]) -> None:
    """Run the program as the shell would; what it prints is the business of its own tests."""
    with contextlib.redirect_stdout(io.StringIO()), pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code in (0, None), arguments


def _close_figures() -> None:
    import matplotlib.pyplot as plt

    plt.close("all")


def _words(text: str) -> list[str]:
    return re.split(r"\s+", text.strip())


def test_blocks_are_found_with_their_outputs():
    printing = "```python\nprint(1)\n```\n\n```text\n1\n```\n\n"
    page = f"{printing}```py\nnot run\n```\n```python\nx = 2\n```\n"
    first, second = blocks_of(page)
    assert (first.code, first.output) == ("print(1)\n", "1\n")
    assert (second.code, second.output, second.line) == ("x = 2\n", None, 12)


def test_commands_are_found_without_their_comments():
    page = (
        "```bash\npip install x\ndeconfuse report 'a b.csv'  # why\n```\n\n```py\ndeconfuse\n```\n"
    )
    assert commands_of(page) == [["report", "a b.csv"]]
