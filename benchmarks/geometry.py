"""Geometric Confusion Matrices: against the formula read literally, and in an engine.

A ratio is the peer's time over ours. The formula costs cells times classes squared; ours follows
the points. Where the formula would take very long, it is timed on some cells and scaled up,
and the row says so. Memory is the peak of a process of its own, with its data.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import deconfuse as dc

OURS = "deconfuse"
WIDTH = 64
COMPONENTS = 10


class Samples(NamedTuple):
    """Embedded samples, with labels and predictions."""

    embeddings: np.ndarray
    y_true: np.ndarray
    y_pred: np.ndarray


def make_samples(n_samples: int, n_classes: int, seed: int = 0, block: int = 0) -> Samples:
    """Draw overlapping clusters; the nearest centre is the prediction.

    Blocks of one seed share their centres, so that a large set can be made in parts.
    """
    centres = 0.3 * np.random.default_rng(seed).standard_normal((n_classes, WIDTH), np.float32)
    rng = np.random.default_rng([seed, block])
    y_true = rng.integers(0, n_classes, n_samples)
    embeddings = centres[y_true]
    embeddings += rng.standard_normal(embeddings.shape, np.float32)
    y_pred = np.empty(n_samples, dtype=np.int64)
    half_norms = (centres**2).sum(axis=1) / 2
    for start in range(0, n_samples, 20_000):
        rows = slice(start, start + 20_000)
        y_pred[rows] = (embeddings[rows] @ centres.T - half_norms).argmax(axis=1)
    return Samples(embeddings, y_true, y_pred)


def literal_formula(samples: Samples, n_classes: int, share: float = 1.0) -> float:
    """Return the seconds that the paper's formula takes for all four weightings, in plain numpy.

    Projection and grid are ours. Histograms are dense, cells by classes; the minimum of each pair
    of classes is taken cell by cell, in blocks. With ``share`` below one only so many of the
    cells are visited, and their time is scaled up.
    """
    start = time.perf_counter()
    g = dc.geometric_confusion(*samples, n_components=COMPONENTS)
    binning = g.binning
    assert binning is not None
    common = time.perf_counter() - start
    visited = max(1, round(share * g.n_cells))
    building = minima = 0.0
    for method in ("row", "col", "all", "bi"):
        start = time.perf_counter()
        weights = dc.normalize(g.normalized.source, method).weights(samples.y_true, samples.y_pred)
        labels, predictions = (
            np.bincount(
                binning.cells * n_classes + classes, weights, minlength=g.n_cells * n_classes
            ).reshape(g.n_cells, n_classes)
            for classes in (binning.true, binning.pred)
        )
        building += time.perf_counter() - start
        start = time.perf_counter()
        matrix = np.zeros((n_classes, n_classes))
        # Blocks that fit the cache: the fastest of those tried.
        step = max(1, 200_000 // n_classes**2)
        for cell in range(0, visited, step):
            rows = slice(cell, min(cell + step, visited))
            heights = np.minimum(labels[rows, :, None], predictions[rows, None, :])
            matrix += heights.sum(axis=0)
        minima += time.perf_counter() - start
        if method == "bi" and share == 1.0:
            np.testing.assert_allclose(matrix * g.cell_volume, g.matrix, rtol=1e-9)
    return common + building + minima * g.n_cells / visited


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return one row a case and peer: seconds, and the ratio of the peer to ours."""
    results = _against_formula(50_000 if quick else 1_000_000, 100, share=1.0)
    for n_classes in (10, 100, 1000):
        n_samples = 20_000 if quick else 200_000
        results += _against_formula(n_samples, n_classes, share=2_000 / n_samples)
    for factor in (1, 2, 4):
        results += _alone(factor * (20_000 if quick else 250_000), 100)
    with tempfile.TemporaryDirectory() as folder:
        results += _in_engine(Path(folder), 200_000 if quick else 10_000_000)
    return results


def _case(n_samples: int, n_classes: int) -> str:
    return f"{n_samples:,} points of {WIDTH} dimensions, {n_classes:,} classes"


def _best(samples: Samples, rounds: int) -> tuple[float, dc.GeometricConfusion]:
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        gs = dc.geometric_confusions(*samples, n_components=COMPONENTS)
        best = min(best, time.perf_counter() - start)
    return best, gs["bi"]


def _against_formula(n_samples: int, n_classes: int, share: float) -> list[dict[str, Any]]:
    samples = make_samples(n_samples, n_classes)
    seconds, g = _best(samples, rounds=3)
    peer = literal_formula(samples, n_classes, share)
    note = "" if share == 1.0 else f"timed on {share:.1%} of the cells"
    case = _case(n_samples, n_classes)
    peak = _in_process("memory", f"{n_samples}", f"{n_classes}")["peak"]
    return [
        {"case": case, "peer": OURS, "seconds": seconds, "ratio": 1.0,
         "note": f"{g.n_cells:,} cells, {_pairs(g):,} minima; peak {peak:.2f} GiB"},
        {"case": case, "peer": "formula in numpy", "seconds": peer, "ratio": peer / seconds,
         "note": note},
    ]  # fmt: skip


def _alone(n_samples: int, n_classes: int) -> list[dict[str, Any]]:
    seconds, g = _best(make_samples(n_samples, n_classes), rounds=3)
    note = f"{g.n_cells:,} cells; {1e6 * seconds / n_samples:.2f} µs a point"
    case = f"growth: {_case(n_samples, n_classes)}"
    return [{"case": case, "peer": OURS, "seconds": seconds, "ratio": 1.0, "note": note}]


def _pairs(g: dc.GeometricConfusion) -> int:
    assert g.binning is not None
    return g.binning.counts.n_pairs


def _in_engine(folder: Path, n_samples: int) -> list[dict[str, Any]]:
    """Time DuckDB under a memory limit below the size of the data, and the same in memory."""
    path = folder / "points.parquet"
    data = _write_points(path, n_samples)
    # Below some 400 MB DuckDB has no room to work; at full size the limit is what the data are not.
    limit = max(0.4 * data, 4e8)
    engine = _in_process("engine", str(path), f"{limit:.0f}")
    memory = _in_process("frame", str(path))
    np.testing.assert_allclose(engine["matrix"], memory["matrix"], rtol=1e-6, atol=1e-12)
    case = f"{_case(n_samples, 100)}, Parquet"
    gib = 2**30
    return [
        {"case": case, "peer": OURS, "seconds": engine["seconds"], "ratio": 1.0,
         "note": f"in DuckDB, limited to {limit / gib:.2f} GiB; {data / gib:.2f} GiB of numbers; "
                 f"peak {engine['peak']:.2f} GiB"},
        {"case": case, "peer": "the same in memory", "seconds": memory["seconds"],
         "ratio": memory["seconds"] / engine["seconds"],
         "note": f"reading included; peak {memory['peak']:.2f} GiB"},
    ]  # fmt: skip


def _write_points(path: Path, n_samples: int) -> int:
    """Write a table of points block by block; return the bytes of its numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer, written, block = None, 0, 250_000
    for number, start in enumerate(range(0, n_samples, block)):
        size = min(block, n_samples - start)
        samples = make_samples(size, 100, block=number)
        columns = {f"e{k}": samples.embeddings[:, k] for k in range(WIDTH)}
        table = pa.table(columns | {"label": samples.y_true, "prediction": samples.y_pred})
        writer = writer or pq.ParquetWriter(path, table.schema, compression="none")
        writer.write_table(table)
        written += table.nbytes
    assert writer is not None
    writer.close()
    return written


def _in_process(*arguments: str) -> dict[str, Any]:
    """Run a part of this module in a process of its own, so that its peak memory is its own."""
    command = [sys.executable, "-m", "benchmarks.geometry", *arguments]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _part(kind: str, *arguments: str) -> dict[str, Any]:
    columns = [f"e{k}" for k in range(WIDTH)]
    if kind == "memory":
        samples = make_samples(*map(int, arguments))
        start = time.perf_counter()
        gs = dc.geometric_confusions(*samples, n_components=COMPONENTS)
    elif kind == "frame":
        import pyarrow.parquet as pq

        start = time.perf_counter()
        table = pq.read_table(arguments[0])
        gs = dc.geometry.geometric_confusions_from_frame(table, embedding=columns)
    else:
        import duckdb

        path, limit = arguments
        connection = duckdb.connect()
        connection.execute(f"SET memory_limit = '{int(limit)}B'")
        connection.execute("SET temp_directory = ?", [f"{path}.spill"])
        connection.execute("SET preserve_insertion_order = false")
        connection.execute("SET enable_progress_bar = false")
        start = time.perf_counter()
        relation = connection.read_parquet(path)
        gs = dc.geometry.geometric_confusions_from_frame(relation, embedding=columns)
    seconds = time.perf_counter() - start
    matrix = np.asarray(gs["bi"].matrix) / gs["bi"].cell_volume
    return {"seconds": seconds, "peak": _peak_memory(), "matrix": matrix.tolist()}


def _peak_memory() -> float:
    """Return the peak memory of this process in GiB."""
    status = Path("/proc/self/status")
    if status.exists():
        # getrusage would also count the process that started this one.
        line = next(row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
        return int(line.split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**30


if __name__ == "__main__":
    print(json.dumps(_part(*sys.argv[1:])))
