"""A Parquet set several times larger than the memory that a process may have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import pytest

MIB = 1 << 20
LIMIT = 1024 * MIB
ROWS = 800_000

COUNT_WITHIN_A_LIMIT = """
import json, resource, sys
folder, limit, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
if how == "whole":
    import pyarrow.parquet
    print(pyarrow.parquet.read_table(folder).num_rows)
else:
    from deconfuse import ConfusionMatrix
    cm = ConfusionMatrix.from_file(folder)
    # getrusage would count the memory of the process that started this one.
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    peak = int(status["VmHWM"].split()[0]) * 1024
    print(json.dumps({"total": cm.total, "diagonal": int(cm.counts.trace()), "peak": peak}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a Parquet set of 4 GiB: one file of plain long strings, under many names."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(11)
    names = pa.array([f"class {number:04} " + "x" * 50 for number in range(1000)])
    true = rng.integers(0, 1000, ROWS)
    pred = np.where(rng.random(ROWS) < 0.75, true, rng.integers(0, 1000, ROWS))
    columns = {"label": names.take(pa.array(true)), "prediction": names.take(pa.array(pred))}
    first = folder / "part-00.parquet"
    pyarrow.parquet.write_table(
        pa.table(columns), first, use_dictionary=False, compression="none", row_group_size=1 << 17
    )
    for shard in range(1, -(-4 * LIMIT // first.stat().st_size)):
        os.link(first, folder / f"part-{shard:02}.parquet")
    return folder


def run(folder: Path, how: str) -> subprocess.CompletedProcess[str]:
    # The limit is on addresses. Threads and arenas reserve many that they never use.
    env = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    command = [sys.executable, "-c", COUNT_WITHIN_A_LIMIT, str(folder), str(LIMIT), how]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def test_a_set_four_times_the_limit_is_counted_within_it(folder: Path) -> None:
    files = sorted(folder.iterdir())
    assert sum(file.stat().st_size for file in files) >= 4 * LIMIT
    done = run(folder, "count")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    first = pyarrow.parquet.read_table(files[0])
    hits = pyarrow.compute.sum(pyarrow.compute.equal(first["label"], first["prediction"])).as_py()
    assert result["total"] == ROWS * len(files)
    assert result["diagonal"] == hits * len(files)
    assert result["peak"] < LIMIT


def test_the_limit_is_real(folder: Path) -> None:
    done = run(folder, "whole")
    assert done.returncode != 0
    assert done.stdout == ""
