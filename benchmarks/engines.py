"""Counting in the engine against the engine's own group-by, and against pandas + scikit-learn.

A ratio is the peer's time over ours. Against an engine's own group-by, 1 is the best there can be.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl

from deconfuse import ConfusionMatrix

N_CLASSES = 1_000
OURS = "deconfuse"

Action = Callable[[], Any]


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return one row a case and peer: seconds, and the ratio of the peer to ours."""
    rows = 2_000_000 if quick else 50_000_000
    in_memory = 500_000 if quick else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        results = _parquet(Path(folder), rows)
    results += _frames(in_memory, "integers", as_text=False)
    results += _frames(in_memory, "strings", as_text=True)
    return results


def write_predictions(path: Path, rows: int, *, seed: float = 0.5) -> None:
    """Write a Parquet file of labels and predictions of 1,000 classes, 70 % of them right."""
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SELECT setseed(?)", [seed])
    connection.execute(
        f"""
        COPY (
            SELECT label, CASE WHEN random() < 0.7 THEN label
                               ELSE CAST(floor(random() * {N_CLASSES}) AS INTEGER) END AS prediction
            FROM (SELECT CAST(floor(random() * {N_CLASSES}) AS INTEGER) AS label FROM range({rows}))
        ) TO '{path}' (FORMAT parquet)
        """
    )


def _parquet(folder: Path, rows: int) -> list[dict[str, Any]]:
    path = folder / "predictions.parquet"
    write_predictions(path, rows)
    case = f"Parquet, {rows:,} rows, {N_CLASSES:,} classes"

    def plain_sql() -> Any:
        connection = duckdb.connect()
        connection.execute("SET enable_progress_bar = false")
        query = "SELECT label, prediction, count(*) FROM read_parquet(?) GROUP BY ALL"
        return connection.execute(query, [str(path)]).fetchnumpy()

    def pandas_and_sklearn() -> Any:
        from sklearn.metrics import confusion_matrix

        frame = pd.read_parquet(path)
        return confusion_matrix(frame["label"], frame["prediction"])

    ours = lambda: ConfusionMatrix.from_file(path)  # noqa: E731
    assert (ours().counts == pandas_and_sklearn()).all()
    times = _interleaved({OURS: ours, "plain DuckDB SQL": plain_sql}, rounds=7)
    # One more of these would take longer than all the others together.
    times |= _interleaved({"pandas + scikit-learn": pandas_and_sklearn}, rounds=1)
    return _rows(case, times)


def _frames(rows: int, what: str, *, as_text: bool) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    true = rng.integers(0, N_CLASSES, rows)
    pred = np.where(rng.random(rows) < 0.7, true, rng.integers(0, N_CLASSES, rows))
    names = np.array([f"class {number}" for number in range(N_CLASSES)])
    columns = {"label": true, "prediction": pred}
    if as_text:
        columns = {name: names[codes] for name, codes in columns.items()}
    polars = pl.DataFrame(columns)
    pandas = polars.to_pandas()
    keys = ["label", "prediction"]
    groupings: dict[str, tuple[Any, Action]] = {
        "pandas": (pandas, lambda: pandas.groupby(keys, sort=False).size()),
        "Polars": (polars, lambda: polars.group_by(keys).len()),
    }
    results = []
    for engine, (frame, group) in groupings.items():
        ours: Action = lambda frame=frame: ConfusionMatrix.from_frame(frame)  # noqa: E731
        times = _interleaved({OURS: ours, f"{engine} group-by": group}, rounds=7)
        results += _rows(f"{engine}, {rows:,} rows of {what}, {N_CLASSES:,} classes", times)
    return results


def _interleaved(actions: dict[str, Action], *, rounds: int) -> dict[str, float]:
    """Return the shortest time of each action; taking turns, they meet the same disturbances."""
    times = {name: float("inf") for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def _rows(case: str, times: dict[str, float]) -> list[dict[str, Any]]:
    return [
        {"case": case, "peer": name, "seconds": seconds, "ratio": seconds / times[OURS]}
        for name, seconds in times.items()
    ]
