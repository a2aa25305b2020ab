"""What the tests of the command line share: how to run it, and files to run it on."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from deconfuse.cli import main

HOSTILE = ["[bold]car[/bold]", "\x1b[31mred", "$x$", "<img src=x>", "a|b", "50 %_#", "bird, left"]


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run the program in an empty folder; the code is what the shell would see."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    # Typer's own boxes follow the width of the terminal; tests read whole lines.
    monkeypatch.setenv("COLUMNS", "300")

    def run_command(*args: str, stdin: bytes | None = None) -> Ran:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        written = capsys.readouterr()
        return Ran(int(ended.value.code or 0), written.out, written.err)

    return run_command


@pytest.fixture
def predictions(tmp_path) -> Path:
    """A table of 600 predictions of three classes, two of which are alike."""
    rng = np.random.default_rng(0)
    names = np.array(["bus", "cat", "dog"])
    true = rng.choice(3, 600, p=[0.6, 0.2, 0.2])
    chances = np.array([[0.96, 0.02, 0.02], [0.04, 0.7, 0.26], [0.04, 0.22, 0.74]])
    pred = np.array([rng.choice(3, p=chances[k]) for k in true])
    rows = [f"{names[t]},{names[p]}" for t, p in zip(true, pred, strict=True)]
    path = tmp_path / "predictions.csv"
    path.write_text("\n".join(["label,prediction", *rows]) + "\n")
    return path


@pytest.fixture
def hostile(tmp_path) -> Path:
    """A matrix whose class names would do harm if they were taken for more than text."""
    import deconfuse as dc

    counts = np.full((len(HOSTILE), len(HOSTILE)), 3) + 40 * np.eye(len(HOSTILE), dtype=int)
    path = tmp_path / "hostile.json"
    dc.ConfusionMatrix.from_counts(counts, HOSTILE).save(path)
    return path
