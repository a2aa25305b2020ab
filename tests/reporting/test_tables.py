"""Normalized matrices as CSV, JSON, Markdown and LaTeX, for every type of class name."""

from __future__ import annotations

import csv
import datetime
import io
import json

import numpy as np
import pytest

import deconfuse as dc
from deconfuse.reporting.tables import SUMS, write_table

LABELS = {
    "str": ["cat", 'do"g, big'],
    "int": [7, 3],
    "bool": [False, True],
    "date": [datetime.date(2024, 1, 2), datetime.date(2025, 3, 4)],
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("method", ["row", "col", "all", "bi"])
def test_csv_has_names_and_all_digits_and_is_not_taken_for_counts(kind, method, tmp_path):
    cm = dc.ConfusionMatrix.from_counts([[7, 3], [1, 5]], LABELS[kind])
    n = cm.normalize(method)
    path = tmp_path / "m.csv"
    path.write_text(write_table(n, "csv"))
    head, *rows = csv.reader(path.read_text().splitlines())
    assert head == [f"true \\ predicted ({method}: {SUMS[method]})", *map(str, cm.labels)]
    assert [row[0] for row in rows] == head[1:]
    np.testing.assert_array_equal(np.array([row[1:] for row in rows], dtype=float), n.matrix)
    for read in (dc.ConfusionMatrix.load, dc.ConfusionMatrix.from_file):
        with pytest.raises(
            dc.InputError, match=f"must hold counts, got .* \\({method}: "
        ) as caught:
            read(path)
        assert "give the counts or the predictions" in str(caught.value)


def test_no_spreadsheet_runs_a_class_name_of_a_normalized_matrix():
    names = [
        "=cmd|' /C calc'!A0",
        "@SUM(A1)",
        "+1",
        "-1",
        "\t=1",
        "\r=2",
        "\n=3",
        "＝4",
        "'",
        "plain",
    ]
    cm = dc.ConfusionMatrix.from_counts(np.eye(len(names), dtype=int), names)
    head, *rows = csv.reader(io.StringIO(write_table(cm.normalize("row"), "csv"), newline=""))
    assert head[0] == "true \\ predicted (row: each row sums to 1; escaped)"
    assert [name.removeprefix("'") for name in head[1:]] == names
    assert [row[0] for row in rows] == head[1:]
    assert all(name.startswith("'") for name in head[1:-1])


@pytest.mark.parametrize("kind", LABELS)
def test_json_says_how_it_was_made(kind):
    cm = dc.ConfusionMatrix.from_counts([[7, 3], [1, 5]], LABELS[kind])
    for method in ("row", "col", "all", "bi"):
        document = json.loads(write_table(cm.normalize(method), "json"))
        left, right = np.array(document["left"]), np.array(document["right"])
        rebuilt = left[:, None] * (np.array(document["counts"]) + document["epsilon"]) * right
        np.testing.assert_allclose(document["matrix"], rebuilt)
        assert document["labels"] == [
            str(name) if kind == "date" else name for name in LABELS[kind]
        ]
        assert (document["status"] == "converged") == (method == "bi")
        assert document["total"] == 16


@pytest.mark.parametrize("method", ["row", "col", "all", "bi"])
@pytest.mark.parametrize("format", ["markdown", "latex"])
def test_tables_for_people_name_axes_and_sums(method, format):
    text = write_table(dc.normalize([[7, 3], [1, 5]], method), format)
    assert f"{method}-normalized" in text
    assert "sum" in text
    assert "true classes on rows, predicted classes on columns" in text
    assert "from 16 samples;" in text
    weighted = dc.ConfusionMatrix.from_predictions([0, 1], [0, 1], sample_weight=[1e6, 2.0])
    assert "from samples weighing 1,000,002;" in write_table(weighted.normalize(method), format)


def test_sparse_matrices_are_written_whole():
    cm = dc.ConfusionMatrix.from_predictions(np.arange(2_100), np.arange(2_100))
    assert cm.is_sparse
    text = write_table(cm.normalize("row"), "csv")
    assert text.count("\n") == 2_101
    assert text.splitlines()[1].startswith("0,1.0,0.0,")
