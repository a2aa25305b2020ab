"""The notebooks run from top to bottom in a fresh kernel, and print what they were saved with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import require

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))
NEEDS = {"training-loop": ("torch", "torchmetrics")}


def test_there_are_three():
    assert len(NOTEBOOKS) == 3


@pytest.mark.slow
# Jupyter's own libraries warn about themselves in the process that drives the kernel.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    require("nbclient", "nbformat", "ipykernel", *NEEDS.get(path.stem, ()))
    import nbformat
    from nbclient import NotebookClient

    # A backend set for tests would keep figures out of the outputs.
    monkeypatch.delenv("MPLBACKEND", raising=False)
    saved = nbformat.read(path, as_version=4)
    fresh = nbformat.read(path, as_version=4)
    client = NotebookClient(
        fresh, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    for before, after in zip(saved.cells, fresh.cells, strict=True):
        if before.cell_type != "code":
            continue
        assert _kinds(after) == _kinds(before), before.source
        if path.stem not in NEEDS:
            assert _text(after) == _text(before), before.source


def _kinds(cell) -> list[str]:
    """Return what kind of outputs there are; several prints may arrive as one or as many."""
    kinds = ["image" if "image/png" in o.get("data", {}) else "text" for o in cell.outputs]
    return sorted(set(kinds))


def _text(cell) -> str:
    return "".join(output.get("text", "") for output in cell.outputs)
