"""The explorer's pure logic, under node's own test runner."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support import require

FOLDER = Path(__file__).parent / "logic"


def test_the_logic_passes_under_node() -> None:
    require(programs=("node",))
    files = sorted(str(path) for path in FOLDER.glob("*.test.mjs"))
    assert len(files) == 4
    run = subprocess.run(["node", "--test", *files], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "# fail 0" in run.stdout
    assert "# skipped 0" in run.stdout
