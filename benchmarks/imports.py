"""Time `import deconfuse` against `import scipy.sparse, sklearn.base`, each in fresh processes."""

from __future__ import annotations

import statistics
import subprocess
import sys
from typing import Any

CODES = {
    "deconfuse": "import deconfuse",
    # What a user gets with the first count: the package and the modules behind it.
    "deconfuse in use": "import deconfuse; deconfuse.ConfusionMatrix; deconfuse.normalize",
    "reference": "import scipy.sparse, sklearn.base",
}


def seconds_of(code: str) -> float:
    """Return how long a fresh interpreter takes for these imports, without starting up."""
    script = f"import time; start = time.perf_counter(); {code}; print(time.perf_counter() - start)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(run.stdout)


def measure(rounds: int) -> dict[str, float]:
    """Return the median seconds of each import; the three take turns, so that load hits all."""
    seconds: dict[str, list[float]] = {name: [] for name in CODES}
    for code in CODES.values():
        seconds_of(code)
    for _ in range(rounds):
        for name, code in CODES.items():
            seconds[name].append(seconds_of(code))
    return {name: statistics.median(values) for name, values in seconds.items()}


def run(*, quick: bool = False) -> list[dict[str, Any]]:
    """Return rows for the table of all benchmarks; the ratio is the reference's time over ours."""
    medians = measure(3 if quick else 9)
    reference = medians["reference"]
    rows = []
    for case in ("deconfuse", "deconfuse in use"):
        ours = medians[case]
        rows += [
            {"case": f"import {case}", "peer": "deconfuse", "seconds": ours, "ratio": 1.0},
            {
                "case": f"import {case}",
                "peer": "scipy.sparse and sklearn.base",
                "seconds": reference,
                "ratio": reference / ours,
            },
        ]
    return rows
