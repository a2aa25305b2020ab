"""Notebooks: static HTML always, the live explorer where it can run."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import deconfuse as dc
from deconfuse.reporting import display
from deconfuse.reporting.display import matrix_text, mimebundle
from deconfuse.reporting.tables import write_table
from tests.reporting.studies import HOSTILE, matrix, summarize
from tests.support import require


def cells(html: str) -> list[list[str]]:
    """Parse the table strictly: what is not well formed raises."""
    root = ET.fromstring(html.replace("<br>", "<br/>"))
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


def test_a_matrix_shows_its_counts_and_axes() -> None:
    cm = dc.ConfusionMatrix.from_counts([[90, 10], [5, 1234]], labels=["cat", "dog"])
    html = cm._repr_html_()
    assert "true classes on rows, predicted classes on columns" in html
    assert cells(html) == [
        ["true \\ predicted", "cat", "dog"],
        ["cat", "90", "10"],
        ["dog", "5", "1,234"],
    ]


def test_a_normalized_matrix_shows_ratios_with_their_counts() -> None:
    n = dc.ConfusionMatrix.from_counts([[90, 10], [5, 5]]).normalize("row")
    assert cells(n._repr_html_())[1] == ["0", "0.90090", "0.10010"]
    assert "each row sums to 1" in n._repr_html_()


@pytest.mark.filterwarnings("ignore::deconfuse.errors.UndefinedCellsWarning")
def test_a_class_never_seen_says_so() -> None:
    n = dc.ConfusionMatrix.from_counts([[9, 1], [0, 0]]).normalize("row")
    assert "never seen" in n._repr_html_()


def test_many_classes_show_the_most_confused() -> None:
    cm = matrix(40, 5_000)
    rows = cells(cm._repr_html_())
    top = cm.normalize("bi").top(15)
    assert rows[0] == ["true", "predicted", "bi", "count"]
    assert [row[:2] for row in rows[1:]] == [[cell.true, cell.pred] for cell in top]


def test_an_empty_matrix_shows_itself() -> None:
    for size in (3, 40):
        assert (
            "0 samples" in dc.ConfusionMatrix.from_counts(np.zeros((size, size), int))._repr_html_()
        )


def test_many_classes_without_an_error_have_no_empty_list_of_errors() -> None:
    right = dc.ConfusionMatrix.from_counts(np.eye(200, dtype=int))
    assert str(right).endswith("200 classes do not fit here, and there are no errors.")
    html = right._repr_html_()
    assert "<p>No errors.</p>" in html
    assert "largest errors" not in html


def test_names_are_text() -> None:
    cm = matrix(len(HOSTILE), 3_000, names=HOSTILE)
    for shown in (cm, cm.normalize("bi"), dc.diagnose(cm)):
        html = shown._repr_html_()
        assert "<img" not in html
        assert "<script" not in html
        assert "&lt;" in html


def test_outside_a_kernel_there_is_no_widget() -> None:
    cm = matrix(4, 500)
    assert set(mimebundle(cm, "x")) == {"text/plain", "text/html"}


def test_in_a_kernel_everything_shows_itself_live() -> None:
    require("anywidget", "nbclient", "ipykernel")
    import nbformat
    from nbclient import NotebookClient

    program = (
        "import deconfuse as dc\n"
        "cm = dc.ConfusionMatrix.from_counts([[90, 10, 3], [5, 25, 1], [2, 2, 40]])\n"
    )
    shown = ["cm", "cm.normalize('row')", "dc.diagnose(cm, epsilon=5.0)"]
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(program + name) for name in shown]
    NotebookClient(notebook, timeout=120).execute()
    for cell in notebook.cells:
        [output] = [out for out in cell.outputs if out.output_type == "execute_result"]
        assert "application/vnd.jupyter.widget-view+json" in output.data
        assert "<table" in output.data["text/html"] or "<li" in output.data["text/html"]
    states = notebook.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    payloads = [
        json.loads(s["state"]["payload"]) for s in states.values() if "payload" in s["state"]
    ]
    starts = [s["state"]["start"] for s in states.values() if "payload" in s["state"]]
    assert starts == ["method=bi", "method=row", "method=bi"]
    assert [payload["labels"] for payload in payloads] == [["0", "1", "2"]] * 3
    used = [payload["models"][0]["scalings"]["bi-epsilon"]["epsilon"] for payload in payloads]
    assert used == [1 / 3, 1 / 3, 5.0]


def test_the_widget_holds_payload_and_selection() -> None:
    require("anywidget")
    shown = display.explorer(summarize(matrix(4, 500), title="t"))
    assert json.loads(shown.payload)["title"] == "t"
    assert shown.selection == {}
    assert shown.trait_metadata("selection", "sync")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "anywidget", None)
    display._widget_class.cache_clear()
    with pytest.raises(dc.MissingExtraError, match=r"needs anywidget.*\n.*deconfuse\[notebook\]"):
        display.explorer(summarize(matrix(4, 500), title="t"))
    display._widget_class.cache_clear()


def test_outcomes_stand_in_a_table_of_their_own_in_every_form(tmp_path: Path) -> None:
    cm = dc.ConfusionMatrix.from_counts(
        [[80, 6, 14], [5, 70, 25], [12, 9, 0]], labels=["car", "bus", "<background>"]
    ).treat_as_outcome("<background>")
    n = cm.normalize("bi")
    square = dc.ConfusionMatrix.from_counts(cm.counts, labels=cm.labels)
    for shown, alone in ((cm, square), (n, square.normalize("bi"))):
        own, other = (cells(part._repr_html_()) for part in (shown, alone))
        assert own[: len(other)] == other, "the square is what it is without outcomes"
        assert own[3:] == [
            ["true", "<background>", "samples"],
            ["car", "14 (14 %)", "100"],
            ["bus", "25 (25 %)", "100"],
            ["predicted", "<background>", "predictions"],
            ["car", "12 (12 %)", "97"],
            ["bus", "9 (11 %)", "85"],
        ]
        assert "Answers that are no class, and their share of the samples:" in matrix_text(shown)
    assert "| **car** | 14 (14 %) | 100 |" in write_table(n, "markdown")
    assert r"bus & 25 (25 \%) & 100 \\" in write_table(n, "latex")
    document = json.loads(write_table(n, "json"))
    assert document["outcome_counts"] == [[14], [25]]
    assert document["background_counts"] == [[12, 9]]
    for ending in ("md", "tex"):
        text = dc.report(cm, tmp_path / f"report.{ending}").read_text(encoding="utf-8")
        assert "14 (14" in text
        assert "9 (11" in text
    assert "no class" not in matrix_text(square)
