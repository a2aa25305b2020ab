"""The explorer's pure logic under node: its own tests, and its numbers beside Python's."""

from __future__ import annotations

import json
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import deconfuse as dc
from deconfuse.errors import UndefinedCellsWarning
from deconfuse.reporting import drawing
from deconfuse.reporting.payload import to_json
from deconfuse.statistics.estimate import estimate_quietly
from tests.reporting.studies import summarize
from tests.support import require

FOLDER = Path(__file__).parent / "logic"


def test_the_logic_passes_under_node() -> None:
    require(programs=("node",))
    files = sorted(str(path) for path in FOLDER.glob("*.test.mjs"))
    assert len(files) == 6
    run = subprocess.run(["node", "--test", *files], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "# fail 0" in run.stdout
    assert "# skipped 0" in run.stdout


def test_figures_have_the_colours_of_the_page() -> None:
    require(programs=("node",))
    script = "Promise.all([import(process.argv[1])]).then(([c]) => console.log(JSON.stringify("
    script += "['diagonal', 'off'].map((name) => [...c.ramp('light', name)]))));"
    colours = Path(drawing.__file__).parent / "assets" / "explorer" / "color.js"
    run = subprocess.run(
        ["node", "-e", script, colours.as_uri()], capture_output=True, text=True, check=True
    )
    for name, table in zip(("Oranges", "Blues"), json.loads(run.stdout), strict=True):
        page = np.reshape(table, (-1, 3))
        knots = drawing._RAMPS[name].split()
        shown = page[np.rint(np.linspace(0, len(page) - 1, len(knots))).astype(int)]
        assert knots == [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in shown.tolist()]


def random_matrices() -> list[dc.ConfusionMatrix]:
    """Return matrices of 1 to 40 classes: full, nearly empty, with classes never seen, weighted."""
    rng = np.random.default_rng(17)
    matrices = []
    for k in range(60):
        n = int(rng.integers(1, 41))
        counts: NDArray[Any] = rng.poisson(rng.gamma(0.3, rng.choice([1.0, 30.0]), (n, n)))
        counts += np.diag(rng.poisson(rng.choice([0.5, 200.0]), n))
        counts[rng.random(n) < 0.1] = 0
        counts[0, 0] += 1
        if k % 4 == 0:
            counts = counts * rng.gamma(1.0, 1.0, (n, n))
        matrices.append(dc.ConfusionMatrix.from_counts(counts))
    return matrices


@pytest.fixture(scope="module")
def answers() -> list[tuple[dc.ConfusionMatrix, dict[str, Any]]]:
    require(programs=("node",))
    matrices = random_matrices()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        payloads = ",".join(to_json(summarize(cm, title="")) for cm in matrices)
    run = subprocess.run(
        ["node", str(FOLDER / "cells.mjs")],
        input=f"[{payloads}]",
        capture_output=True,
        text=True,
        check=True,
    )
    return list(zip(matrices, json.loads(run.stdout), strict=True))


@pytest.mark.parametrize("method", ["counts", "row", "col", "all", "bi-epsilon"])
def test_cells_of_the_page_are_those_of_python(
    answers: list[tuple[dc.ConfusionMatrix, dict[str, Any]]], method: Any
) -> None:
    for cm, answer in answers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedCellsWarning)
            name = method.removesuffix("-epsilon")
            expected = cm.counts if method == "counts" else cm.normalize(name, throw=False).matrix
        cells = np.array(answer["cells"][method], dtype=float).reshape(np.shape(expected))
        np.testing.assert_allclose(cells, expected, rtol=1e-9, atol=1e-15)


def test_the_page_estimates_as_python_does(
    answers: list[tuple[dc.ConfusionMatrix, dict[str, Any]]],
) -> None:
    for cm, answer in answers:
        expected = estimate_quietly(cm, 0.95).matrix
        cells = np.array(answer["cells"]["bi"], dtype=float).reshape(np.shape(expected))
        np.testing.assert_allclose(cells, expected, rtol=1e-7, atol=1e-12)


def test_metrics_of_the_page_are_those_of_scikit_learn(
    answers: list[tuple[dc.ConfusionMatrix, dict[str, Any]]],
) -> None:
    from sklearn.metrics import (
        accuracy_score,
        balanced_accuracy_score,
        f1_score,
        precision_recall_fscore_support,
    )

    for cm, answer in answers:
        counts = np.asarray(cm.counts)
        true, pred = (indices.ravel() for indices in np.indices(counts.shape))
        weight = counts.ravel()
        kept = weight > 0
        sample = {"y_true": true[kept], "y_pred": pred[kept], "sample_weight": weight[kept]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            overall = (
                accuracy_score(**sample),
                balanced_accuracy_score(**sample),
                f1_score(**sample, average="macro", zero_division=0.0),
            )
            columns = precision_recall_fscore_support(
                **sample, labels=range(len(counts)), zero_division=np.nan
            )
        given = [answer["scores"][k] for k in ("accuracy", "balanced_accuracy", "macro_f1")]
        np.testing.assert_allclose(given, overall, rtol=1e-9)
        for name, expected in zip(("precision", "recall", "f1", "n"), columns, strict=True):
            given = np.array(answer["classes"][name], dtype=float)
            np.testing.assert_allclose(given, expected, rtol=1e-9, err_msg=name)
