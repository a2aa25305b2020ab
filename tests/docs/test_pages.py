"""Every block of Python in the guide runs, and prints what the page says it prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from tests.docs.pages import blocks_of
from tests.support import require

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if "generated" not in path.parts and blocks_of(path.read_text(encoding="utf-8"))
)
NEEDS = {
    "ecosystem": ("torch", "torchmetrics", "mlflow", "tensorboard"),
    "large-scale": ("polars", "pyarrow"),
    "relatives": ("ot",),
}


# Libraries that pages bring in may warn about themselves; the numbers are what is checked here.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_the_page_runs_and_prints_what_it_shows(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import matplotlib

    matplotlib.use("agg")
    require(*NEEDS.get(path.stem, ()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    namespace: dict[str, object] = {"__name__": "page"}
    for block in blocks_of(path.read_text(encoding="utf-8")):
        printed = io.StringIO()
        code = compile("\n" * block.line + block.code, str(path), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        if block.output is not None:
            assert _words(printed.getvalue()) == _words(block.output), f"{path}:{block.line}"
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
