"""The same calls of two revisions in turns: of an older commit, and of this work tree.

    python -m benchmarks then_and_now

Each call is timed in processes of its own, with the sources of one revision before all others. The
ratio is the time of then over that of now, so above 1 a call became faster.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
# The commit that the goals of speed were set against.
THEN = "c02596e"
ROUNDS = 2

_SETUP = """
import sys, tempfile, time, warnings
from pathlib import Path
import numpy as np
import deconfuse as dc
from benchmarks.simulate import dense_classifier, label_pairs, sparse_classifier

assert Path(dc.__file__).is_relative_to(sys.argv[1]), dc.__file__
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
of = dc.ConfusionMatrix.from_counts

def pairs(n_classes, n):
    return label_pairs(n_classes, n, rng)

def near(n_classes, n):
    true = rng.integers(0, n_classes, n)
    wrong = (true + rng.integers(0, 20, n)) % n_classes
    return true, np.where(rng.random(n) < 0.8, true, wrong)

def counts(n_classes, samples=50):
    return dense_classifier(n_classes, 0.7, samples * n_classes, rng).astype(int)

def many(n_classes):
    return sparse_classifier(n_classes, 0.8, 5 * n_classes, rng).astype(int)

folder = tempfile.TemporaryDirectory()
page = Path(folder.name) / "page.html"
"""
_TIMED = """
best, spent = float("inf"), 0.0
for turn in range(30):
    start = time.perf_counter()
    act()
    seconds = time.perf_counter() - start
    # The first call pays for imports and caches, unless it is all that there is time for.
    if turn or seconds > 10:
        best, spent = min(best, seconds), spent + seconds
    if spent > 1:
        break
print(best)
"""
_COUNT = (
    "act = lambda: dc.ConfusionMatrix.from_predictions(true, pred, sample_weight=weights).counts"
)
CALLS = {
    "10,000,000 integers, 10 classes": f"true, pred = pairs(10, 10**7); weights = None; {_COUNT}",
    "10,000,000 integers, 1,000 classes": (
        f"true, pred = pairs(1000, 10**7); weights = None; {_COUNT}"
    ),
    "10,000,000 weighted integers, 1,000 classes": (
        f"true, pred = pairs(1000, 10**7); weights = rng.random(10**7); {_COUNT}"
    ),
    "10,000,000 integers, 100,000 classes": (
        f"true, pred = near(10**5, 10**7); weights = None; {_COUNT}"
    ),
    "2,000,000 strings in lists, 100 classes": (
        "true, pred = ([f'c{k}' for k in part.tolist()] for part in pairs(100, 2 * 10**6));"
        f" weights = None; {_COUNT}"
    ),
    "pandas, 10,000,000 rows of integers, 1,000 classes": (
        "import pandas as pd; true, pred = pairs(1000, 10**7);"
        " frame = pd.DataFrame({'label': true, 'prediction': pred});"
        " act = lambda: dc.ConfusionMatrix.from_frame(frame)"
    ),
    "two matrices of 1,000,000 classes added": (
        "one, two = of(many(10**6)), of(many(10**6)); act = lambda: one + two"
    ),
    "bi-normalize 10 classes": "cm = of(counts(10)); act = lambda: cm.normalize('bi')",
    "bi-normalize 100 classes": "cm = of(counts(100)); act = lambda: cm.normalize('bi')",
    "bi-normalize 1,000 classes": "cm = of(counts(1000)); act = lambda: cm.normalize('bi')",
    "bi-normalize 1,000 classes, no cell is zero": (
        "cm = of(counts(1000) + 0.01); act = lambda: cm.normalize('bi', epsilon=0)"
    ),
    "bi-normalize 1,000,000 classes": "cm = of(many(10**6)); act = lambda: cm.normalize('bi')",
    "diagnose 10 classes": "table = counts(10); act = lambda: dc.diagnose(of(table))",
    "diagnose 1,000 classes": "table = counts(1000); act = lambda: dc.diagnose(of(table))",
    "compare 100 classes": (
        "one, two = counts(100, 300), counts(100, 300); act = lambda: dc.compare(of(one), of(two))"
    ),
    "compare 1,000 classes": (
        "one, two = counts(1000, 200), counts(1000, 200);"
        " act = lambda: dc.compare(of(one), of(two))"
    ),
    "intervals of 1,000 classes": "act = of(counts(1000)).normalize('bi').confidence_interval",
    "page of 1,000 classes": "table = counts(1000); act = lambda: dc.report(of(table), page)",
    "page of 50,000 classes": "table = many(50_000); act = lambda: dc.report(of(table), page)",
    "geometry of 200,000 points, 100 classes": (
        "true, pred = pairs(100, 200_000); points = rng.normal(size=(200_000, 64))"
        " + 3 * np.eye(64)[true % 64]; act = lambda: dc.geometric_confusions(points, true, pred)"
    ),
    "figure of 10 classes": (
        "import matplotlib; matplotlib.use('agg'); table = of(counts(10));"
        " act = lambda: dc.ConfusionMatrixDisplay(table.normalize('bi')).plot()"
        ".figure_.savefig(page.with_suffix('.png'))"
    ),
}


def run(*, quick: bool = False) -> list[dict[str, Any]]:
    """Return one row per call and revision; none without the history of this repository."""
    with tempfile.TemporaryDirectory() as folder:
        sources = subprocess.run(
            ["git", "-C", str(ROOT), "archive", THEN, "src"], capture_output=True, check=False
        )
        if sources.returncode:
            print(f"then_and_now: needs the commit {THEN}, left out")
            return []
        subprocess.run(["tar", "-x", "-C", folder], input=sources.stdout, check=True)
        revisions = {"now": ROOT / "src", THEN: Path(folder, "src")}
        rows = []
        for case, code in list(CALLS.items())[: 3 if quick else None]:
            best = dict.fromkeys(revisions, float("inf"))
            for _ in range(1 if quick else ROUNDS):
                for name, where in revisions.items():
                    best[name] = min(best[name], _seconds(code, where))
            rows += [
                {"case": case, "peer": name, "seconds": seconds, "ratio": seconds / best["now"]}
                for name, seconds in best.items()
            ]
    return rows


def _seconds(code: str, sources: Path) -> float:
    path = os.pathsep.join([str(sources), str(ROOT)])
    run = subprocess.run(
        [sys.executable, "-c", f"{_SETUP}\n{code}\n{_TIMED}", str(sources)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    if run.returncode:
        raise RuntimeError(run.stderr)
    return float(run.stdout.splitlines()[-1])
