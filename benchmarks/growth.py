"""How time and memory grow: counting against samples and classes, scaling against classes.

A billion samples are counted from Parquet files of 8 GB by a process that may have 1 GiB.

``python -m benchmarks growth`` measures and puts the table into docs/generated. Exponents are
fitted over the last three sizes, where the fixed cost of a call no longer shows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import deconfuse as dc
from benchmarks.simulate import sparse_classifier

ROOT = Path(__file__).parent.parent
SAMPLES = [10**3, 10**4, 10**5, 10**6, 10**7, 10**8]
CLASSES = [10, 10**2, 10**3, 10**4, 10**5, 10**6]
SAMPLES_PER_CLASS = 20
SHARD = 10**7
SHARDS = [1, 10, 100]

COUNT_WITHIN_A_LIMIT = """
import json, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
from deconfuse import ConfusionMatrix
start = time.perf_counter()
cm = ConfusionMatrix.from_file(sys.argv[1])
seconds = time.perf_counter() - start
# getrusage would count the memory of the process that started this one.
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
peak = int(status["VmHWM"].split()[0]) * 1024
print(json.dumps({"size": cm.total, "seconds": seconds, "peak": peak}))
"""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return one row per work and size: seconds, and the peak of memory beyond the input."""
    most = -2 if quick else None
    rows = [_row("count samples, 1,000 classes", n, _counting(1_000, n)) for n in SAMPLES[:most]]
    few = 100_000 if quick else 10_000_000
    rows += [
        _row(f"count {few:,} samples over classes", n, _counting(n, few)) for n in CLASSES[:most]
    ]
    rows += [_row("bi-normalize classes", n, _scaling(n)) for n in CLASSES[:most]]
    return rows + list(_counting_files(SHARD // 100 if quick else SHARD))


def table(rows: list[dict[str, Any]]) -> str:
    """Return one line per size, and the exponents in the last line of each work."""
    lines = ["| work | size | time | peak memory | grows as |", "|---|---:|---:|---:|---|"]
    for row in rows:
        of = [other for other in rows if other["case"] == row["case"]]
        powers = ""
        if row is of[-1]:
            powers = f"time size^{_exponent(of, 'seconds'):.1f},"
            powers += f" memory size^{_exponent(of, 'peak'):.1f}"
        seconds = row["seconds"]
        shown = f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"
        memory = f"{row['peak'] / 2**20:,.3g} MiB"
        lines.append(f"| {row['case']} | {row['size']:,} | {shown} | {memory} | {powers} |")
    return "\n".join(lines)


def publish(rows: list[dict[str, Any]]) -> None:
    """Write the table that the guide includes."""
    threads = os.environ.get("OMP_NUM_THREADS", str(os.cpu_count()))
    note = f"Written by `python -m benchmarks growth` on one machine of {os.cpu_count()} cores,"
    note += f" {threads} of them in use, with a load average of {os.getloadavg()[1]:.0f}."
    (ROOT / "docs" / "generated" / "growth.md").write_text(f"{table(rows)}\n\n{note}\n")


def _counting(n_classes: int, n_samples: int) -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    true = rng.integers(0, n_classes, n_samples, dtype=np.int32)
    wrong = (true + rng.integers(0, 20, n_samples, dtype=np.int32)) % n_classes
    pred = np.where(rng.random(n_samples, dtype=np.float32) < 0.8, true, wrong)
    return lambda: dc.ConfusionMatrix.from_predictions(true, pred)


def _counting_files(shard: int) -> Iterator[dict[str, Any]]:
    """Count Parquet files of 1,000 classes in a process of limited memory; its whole peak."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # The limit is on addresses. Threads and arenas reserve many that they never use.
    env = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(prefix="deconfuse-growth-") as folder:
        for number in range(SHARDS[-1]):
            true = rng.integers(0, 1_000, shard, dtype=np.int32)
            wrong = (true + rng.integers(0, 20, shard, dtype=np.int32)) % 1_000
            pred = np.where(rng.random(shard, dtype=np.float32) < 0.8, true, wrong)
            table = pa.table({"label": true, "prediction": pred})
            path = Path(folder, f"part-{number:03}.parquet")
            pq.write_table(table, path, use_dictionary=False, compression="none")
            if number + 1 not in SHARDS:
                continue
            command = [sys.executable, "-c", COUNT_WITHIN_A_LIMIT, folder]
            run = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
            case = "count rows of Parquet in a process of 1 GiB, 1,000 classes"
            yield {"case": case, **json.loads(run.stdout)}


def _scaling(n_classes: int) -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    counts = sparse_classifier(n_classes, 0.8, SAMPLES_PER_CLASS * n_classes, rng)
    cm = dc.ConfusionMatrix.from_counts(counts)
    return lambda: cm.normalize("bi")


def _row(case: str, size: int, act: Callable[[], Any]) -> dict[str, Any]:
    seconds = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        act()
        seconds = min(seconds, time.perf_counter() - start)
    tracemalloc.start()
    act()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"case": case, "size": size, "seconds": seconds, "peak": peak}


def _exponent(rows: list[dict[str, Any]], what: str) -> float:
    sizes, values = (np.log([row[name] for row in rows[-3:]]) for name in ("size", what))
    # Plus zero, so that nothing is written as minus zero.
    return round(float(np.polyfit(sizes, values, 1)[0]), 1) + 0.0
