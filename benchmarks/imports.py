"""Time imports and the command line, each in fresh processes.

`import deconfuse` against `import scipy.sparse, sklearn.base`; commands against the imports of all
modules that they load, and of those of others alone, which is the least that they could take.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CODES = {
    "deconfuse": "import deconfuse",
    # What a user gets with the first count: the package and the modules behind it.
    "deconfuse in use": "import deconfuse; deconfuse.ConfusionMatrix; deconfuse.normalize",
    "reference": "import scipy.sparse, sklearn.base",
}
_TIMED = "import time; start = time.perf_counter(); {code}; print(time.perf_counter() - start)"
_RUN = "from deconfuse.cli import main; main({words})"
# The modules that a command loads, in this order.
_MODULES = """
import contextlib, json, sys
with contextlib.redirect_stdout(sys.stderr), contextlib.suppress(SystemExit):
    {run}
print(json.dumps(list(sys.modules)))
"""
# Some modules are known under a name that cannot be imported.
_IMPORTS = """
import contextlib
for name in {names}:
    with contextlib.suppress(ImportError):
        __import__(name)
"""
_ROWS = 1_000


def run(*, quick: bool = False) -> list[dict[str, Any]]:
    """Return rows for the table of all benchmarks; the ratio is the reference's time over ours."""
    rounds = 3 if quick else 9
    best = _best({name: _TIMED.format(code=code) for name, code in CODES.items()}, rounds)
    rows = []
    for case in ("deconfuse", "deconfuse in use"):
        peers = {"scipy.sparse and sklearn.base": best["reference"]}
        rows += _rows(f"import {case}", best[case], peers)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "predictions.csv")
        _write_predictions(table)
        commands = {
            "deconfuse --help": ["--help"],
            f"deconfuse diagnose, {_ROWS:,} rows": ["diagnose", str(table)],
        }
        for case, words in commands.items():
            ours = _RUN.format(words=words)
            every = json.loads(_output(_MODULES.format(run=ours)))
            imports = {
                "its imports, alone": every,
                "its imports of others, alone": [
                    name for name in every if name.partition(".")[0] != "deconfuse"
                ],
            }
            codes = {peer: _IMPORTS.format(names=names) for peer, names in imports.items()}
            best = _best({"ours": ours, **codes}, rounds)
            rows += _rows(case, best.pop("ours"), best)
    return rows


def _rows(case: str, ours: float, peers: dict[str, float]) -> list[dict[str, Any]]:
    return [
        {"case": case, "peer": peer, "seconds": seconds, "ratio": seconds / ours}
        for peer, seconds in {"deconfuse": ours, **peers}.items()
    ]


def _best(codes: dict[str, str], rounds: int) -> dict[str, float]:
    """Return the best seconds of each code; they take turns, so that load hits all.

    Of a code that prints how long it took, that; else of the process with its start and end.
    """
    seconds = dict.fromkeys(codes, float("inf"))
    # The first round only fills caches.
    for k in range(rounds + 1):
        for name, code in codes.items():
            start = time.perf_counter()
            printed = _output(code)
            taken = time.perf_counter() - start
            if code.startswith("import time"):
                taken = float(printed)
            if k > 0:
                seconds[name] = min(seconds[name], taken)
    return seconds


def _output(code: str) -> str:
    """Return what a fresh interpreter prints; like an installed package, ours has byte code."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return run.stdout


def _write_predictions(path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["label", "prediction"])
        writer.writerows((f"c{k % 7}", f"c{k * k % 7 if k % 3 else k % 7}") for k in range(_ROWS))
