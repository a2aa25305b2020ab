"""Run pages and notebooks of the guide, and write what their code prints to where they show it.

Tables between marks are replaced by those of docs/generated.

python -m tests.docs.refresh docs/guide/reading.md docs/notebooks/first-steps.ipynb [...]
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.docs.pages import blocks_of, with_tables

GENERATED = Path(__file__).parents[2] / "docs" / "generated"
DATA = GENERATED.with_name("data")


def refreshed(path: Path) -> str:
    """Return the page with the outputs that its code prints now."""
    page = with_tables(path.read_text(encoding="utf-8"), GENERATED)
    namespace: dict[str, object] = {"__name__": "page"}
    for block in blocks_of(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * block.line + block.code, str(path), "exec"), namespace)
        if block.output is not None:
            before = f"```python\n{block.code}```\n\n```text\n"
            page = page.replace(
                f"{before}{block.output}```", f"{before}{printed.getvalue().rstrip()}\n```"
            )
    return page


def refreshed_notebook(path: Path) -> str:
    """Return the notebook as it is after running in a fresh kernel, without who ran it and when."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3", record_timing=False).execute()
    return nbformat.writes(notebook) + "\n"


def main() -> None:
    """Refresh what was named."""
    import matplotlib

    matplotlib.use("agg")
    home = Path.cwd()
    for name in sys.argv[1:]:
        path = (home / name).resolve()
        with tempfile.TemporaryDirectory() as folder:
            # The files that pages offer for download.
            shutil.copytree(DATA, folder, dirs_exist_ok=True)
            os.chdir(folder)
            page = refreshed_notebook(path) if path.suffix == ".ipynb" else refreshed(path)
            os.chdir(home)
        path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
