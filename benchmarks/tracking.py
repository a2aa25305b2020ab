"""Time logging one matrix to MLflow and to TensorBoard, in fresh processes.

The trackers and their libraries are imported before; what our import and the first call add is
ours. All are medians: the best would leave out the calls in which garbage is collected.
The ratio of a call is the budget over what was measured, so above 1 it is kept.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parent.parent
BUDGET = 0.5
CLASSES = (10, 100)
CALLS = 4
ROUNDS = 5

_SETUP = """
import json, sys, time
from pathlib import Path
import numpy as np
import deconfuse as dc
from benchmarks.simulate import dense_classifier

n_classes, n_calls = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
counts = dense_classifier(n_classes, 0.8, 100 * n_classes, rng).astype(int)
cm = dc.ConfusionMatrix.from_counts(counts)
"""
_TIMED = """
seconds = [imported]
for step in range(n_calls):
    start = time.perf_counter()
    log(step)
    seconds.append(time.perf_counter() - start)
print(json.dumps(seconds))
"""
_CODES = {
    "mlflow": """
import mlflow
start = time.perf_counter()
from deconfuse.integrations.mlflow import log_confusion_matrix
imported = time.perf_counter() - start

mlflow.set_tracking_uri(Path("runs").absolute().as_uri())
mlflow.start_run()
log = lambda step: log_confusion_matrix(cm, step=step)
""",
    "tensorboard": """
from torch.utils.tensorboard import SummaryWriter
start = time.perf_counter()
from deconfuse.integrations.tensorboard import add_confusion_matrix
imported = time.perf_counter() - start

writer = SummaryWriter("runs")
log = lambda step: add_confusion_matrix(writer, "test", cm, step=step)
""",
}
_NAMES = {"mlflow": "MLflow", "tensorboard": "TensorBoard"}


def run(*, quick: bool = False) -> list[dict[str, Any]]:
    """Return rows for first calls, later ones and our import, of each tracker that is there."""
    rows = []
    for module, code in _CODES.items():
        if importlib.util.find_spec(module) is None:
            print(f"tracking: needs {module}, left out")
            continue
        imports = []
        for n_classes in CLASSES[:1] if quick else CLASSES:
            runs = [_seconds(code, n_classes) for _ in range(1 if quick else ROUNDS)]
            case = f"{_NAMES[module]}, {n_classes} classes"
            imports += [imported for imported, *_ in runs]
            rows.append(_row(f"{case}: first call", median(first for _, first, *_ in runs)))
            later = median(seconds for _, _, *calls in runs for seconds in calls)
            rows.append(_row(f"{case}: later calls", later))
        case = f"{_NAMES[module]}: importing ours"
        rows.append({"case": case, "peer": "deconfuse", "seconds": median(imports), "ratio": 1.0})
    return rows


def _seconds(code: str, n_classes: int) -> list[float]:
    """Return what our import and each call take in a fresh process, with files of its own."""
    settings = {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    # MLflow asks to be told that runs may be kept in a folder.
    settings["MLFLOW_ALLOW_FILE_STORE"] = "true"
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-c", _SETUP + code + _TIMED, str(n_classes), str(CALLS)]
        run = subprocess.run(
            words, capture_output=True, text=True, check=True, env=os.environ | settings, cwd=folder
        )
    seconds: list[float] = json.loads(run.stdout.splitlines()[-1])
    return seconds


def _row(case: str, seconds: float) -> dict[str, Any]:
    peer = f"budget {BUDGET:g} s"
    return {
        "case": case,
        "peer": peer,
        "seconds": seconds,
        "ratio": BUDGET / seconds,
        "note": "median",
    }
