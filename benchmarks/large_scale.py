"""What the guide's page on large tables measures: Spark, shards, merging, streaming.

Run ``python -m benchmarks.large_scale`` (a few minutes; Spark needs Java), or with ``--quick``. It
prints the table that the guide shows, and with ``--write`` puts it into docs/generated.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines import N_CLASSES, write_predictions
from deconfuse import ConfusionMatrix

OUTPUT = Path(__file__).parent.parent / "docs" / "generated" / "large-scale.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--write", action="store_true", help=f"write {OUTPUT.name} for the guide")
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            *_spark(Path(folder), 20_000_000 // scale),
            *_shards(Path(folder), 1_000_000 // scale),
        ]
    rows += [_merging(), _streaming(5_000 // scale)]
    page = _page(rows)
    print(page)
    if options.write:
        OUTPUT.parent.mkdir(exist_ok=True)
        OUTPUT.write_text(page)


def _page(rows: list[tuple[str, str, str]]) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "pyspark", "numpy"))
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {packages}"
    lines = ["| what | time | rate |", "|---|---:|---:|", *(f"| {' | '.join(r)} |" for r in rows)]
    note = "Written by `python -m benchmarks.large_scale --write` on one machine: "
    # Other work slows everything down alike; readers must know how much there was.
    load = f"Load average while it ran: {os.getloadavg()[1]:.0f}."
    return "\n".join([*lines, "", f"{note}{machine}. {load}", ""])


def _timed(action: Any, *, rounds: int = 3) -> tuple[float, Any]:
    best, result = float("inf"), None
    for _ in range(rounds):
        start = time.perf_counter()
        result = action()
        best = min(best, time.perf_counter() - start)
    return best, result


@contextmanager
def _session() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        builder = builder.config("spark.sql.shuffle.partitions", "4")
        session = builder.config("spark.driver.memory", "3g").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        try:
            yield session
        finally:
            session.stop()


def _spark(folder: Path, rows: int) -> Iterator[tuple[str, str, str]]:
    path = folder / "spark.parquet"
    write_predictions(path, rows)
    with _session() as session:
        frame = session.read.parquet(str(path))
        own = seconds = float("inf")
        # The first round is for Java to warm up. A grouping made once would keep its shuffle files.
        for _ in range(3):
            group = lambda: frame.groupBy("label", "prediction").count().toArrow()  # noqa: E731
            own = min(own, _timed(group, rounds=1)[0])
            taken, cm = _timed(lambda: ConfusionMatrix.from_frame(frame), rounds=1)
            seconds = min(seconds, taken)
    assert cm.total == rows
    case = f"{rows:,} rows of Parquet, {N_CLASSES:,} classes"
    yield f"Spark, `from_frame`: {case}", f"{seconds:.1f} s", f"{rows / seconds / 1e6:.2g} M rows/s"
    yield (
        "Spark's own `groupBy().count()` of the same",
        f"{own:.1f} s",
        f"{own / seconds:.2f} of ours",
    )


def _shards(folder: Path, rows: int, shards: int = 20) -> Iterator[tuple[str, str, str]]:
    """Count shards one by one and merge them; the same as all of them at once."""
    paths = [folder / f"shard-{number:02}.parquet" for number in range(shards)]
    for number, path in enumerate(paths):
        write_predictions(path, rows, seed=number / shards)

    def merged() -> ConfusionMatrix:
        total = ConfusionMatrix.from_file(paths[0])
        for path in paths[1:]:
            total = total + ConfusionMatrix.from_file(path)
        return total

    one_by_one, cm = _timed(merged, rounds=2)
    at_once, whole = _timed(lambda: ConfusionMatrix.from_file(paths), rounds=2)
    assert cm == whole
    case = f"{shards} Parquet shards of {rows:,} rows"
    for how, seconds in (("one by one, merged with `+`", one_by_one), ("at once", at_once)):
        rate = f"{rows * shards / seconds / 1e6:.2g} M rows/s"
        yield f"DuckDB, `from_file`: {case}, {how}", f"{seconds:.1f} s", rate


def _merging() -> tuple[str, str, str]:
    rng = np.random.default_rng(0)
    shards = [
        ConfusionMatrix.from_counts(rng.integers(0, 50, (N_CLASSES, N_CLASSES))) for _ in range(20)
    ]
    seconds, _ = _timed(lambda: sum(shards))
    each = seconds / len(shards)
    return (
        f"`+` of two matrices of {N_CLASSES:,} classes",
        f"{1e3 * each:.1f} ms",
        f"{1 / each:.0f} merges/s",
    )


def _streaming(batches: int, size: int = 256) -> tuple[str, str, str]:
    rng = np.random.default_rng(0)
    true = rng.integers(0, 100, (batches, size))
    pred = np.where(rng.random(true.shape) < 0.8, true, rng.integers(0, 100, true.shape))
    labels = range(100)

    def stream() -> ConfusionMatrix:
        cm = ConfusionMatrix.from_counts(np.zeros((100, 100), dtype=int))
        for batch in range(batches):
            cm = cm + ConfusionMatrix.from_predictions(true[batch], pred[batch], labels=labels)
        return cm

    seconds, cm = _timed(stream, rounds=1)
    assert cm.total == batches * size
    each = seconds / batches
    case = f"streaming: `cm + from_predictions(batch)`, {batches:,} batches of {size}, 100 classes"
    return case, f"{1e6 * each:.0f} µs a batch", f"{size / each / 1e6:.1f} M rows/s"


if __name__ == "__main__":
    main()
