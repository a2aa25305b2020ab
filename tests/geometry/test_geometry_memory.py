"""Geometric Confusion Matrices of a table larger than the memory that its engine may have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import deconfuse as dc
from tests.geometry.data import make_samples

ROWS, WIDTH, SHARDS = 400_000, 24, 6

IN_THE_ENGINE = """
import json, sys
import duckdb
import deconfuse as dc
folder, limit, width = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
connection = duckdb.connect()
connection.execute(f"SET memory_limit = '{limit}B'")
connection.execute("SET enable_progress_bar = false")
connection.execute("SET threads = 1")
connection.execute("SET preserve_insertion_order = false")
connection.execute("SET temp_directory = ?", [folder + "/spill"])
gs = dc.geometry.geometric_confusions_from_frame(
    connection.read_parquet(folder + "/*.parquet"),
    embedding=[f"e{k}" for k in range(width)],
    n_components=3,
)
# getrusage would count the memory of the process that started this one.
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
peak = int(status["VmHWM"].split()[0]) * 1024
print(json.dumps({"peak": peak, "matrices": {name: g.matrix.tolist() for name, g in gs.items()}}))
"""


def test_a_table_larger_than_the_limit_is_never_held(tmp_path: Path) -> None:
    data = make_samples(5, n_samples=ROWS, n_classes=8, width=WIDTH, spread=1.0)
    columns = {f"e{k}": data.embeddings[:, k] for k in range(WIDTH)}
    table = pa.table(columns | {"label": data.y_true, "prediction": data.y_pred})
    first = tmp_path / "part-0.parquet"
    pyarrow.parquet.write_table(table, first, compression="none", row_group_size=1 << 15)
    for shard in range(1, SHARDS):
        os.link(first, tmp_path / f"part-{shard}.parquet")
    size = table.nbytes * SHARDS
    limit = size // 4

    command = [sys.executable, "-c", IN_THE_ENGINE, str(tmp_path), str(limit), str(WIDTH)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # Beside the engine's memory there is only what Python and its libraries take.
    assert found["peak"] < limit + 350 * 2**20 < size

    repeated = [np.concatenate([part] * SHARDS) for part in data]
    expected = dc.geometric_confusions(*repeated, n_components=3)
    for name, g in expected.items():
        np.testing.assert_allclose(found["matrices"][name], g.matrix, rtol=1e-6)
