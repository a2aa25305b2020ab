"""The memory that a process may use, its container's limit included."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deconfuse._memory import _group_limits, memory_limit


@pytest.mark.parametrize(
    ("lines", "file", "value"),
    [
        ("0::/app/worker\n", "app/memory.max", "1000"),
        ("0::/app/worker\n", "memory.max", "1000"),
        ("5:cpu:/x\n4:memory:/docker/1\n0::/\n", "memory/docker/1/memory.limit_in_bytes", "1000"),
    ],
)
def test_the_limit_of_a_group_or_of_its_parent_holds(
    tmp_path: Path, lines: str, file: str, value: str
) -> None:
    (tmp_path / "groups").write_text(lines)
    (tmp_path / "fs" / file).parent.mkdir(parents=True)
    (tmp_path / "fs" / file).write_text(value)
    assert list(_group_limits(tmp_path / "groups", tmp_path / "fs")) == [1000]


def test_a_group_without_a_limit_and_a_system_without_groups_have_none(tmp_path: Path) -> None:
    (tmp_path / "groups").write_text("0::/\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert list(_group_limits(tmp_path / "groups", tmp_path)) == []
    assert list(_group_limits(tmp_path / "absent", tmp_path)) == []
    assert memory_limit() > 0


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_the_limit_of_a_process_is_obeyed() -> None:
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "import deconfuse as dc, numpy as np, scipy.sparse as sp\n"
        "n = dc.normalize(sp.eye_array(15_000, format='csr'), 'bi')\n"
        "try:\n    n.matrix\nexcept dc.InputError as error:\n    print(error.message)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert "15,000x15,000, and take 1.68 GiB of memory" in run.stdout
