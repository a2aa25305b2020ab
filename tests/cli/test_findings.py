"""``report``, ``diagnose``, ``compare`` and ``demo``: from a file to what was found."""

from __future__ import annotations

import base64
import json
import random
import subprocess
import sys

import numpy as np
import pytest

import deconfuse as dc
from deconfuse.cli import commands


@pytest.fixture
def better(tmp_path, predictions):
    """The same samples by a model that tells cats from dogs."""
    lines = predictions.read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    path = tmp_path / "better.csv"
    fixed = [f"{true},{true if 'bus' not in (true, pred) else pred}" for true, pred in rows]
    path.write_text("\n".join([lines[0], *fixed]) + "\n")
    return path


def test_diagnose_says_what_looks_alike(run, predictions):
    ran = run("diagnose", predictions)
    assert ran.code == 0
    assert "“cat” and “dog” are similar" in ran.out
    assert "3 classes, 600 samples" in ran.out


def test_diagnose_as_json_is_what_the_library_says(run, predictions):
    document = json.loads(run("diagnose", predictions, "--json", "--level", "0.9").out)
    found = dc.diagnose(dc.ConfusionMatrix.from_file(predictions), level=0.9)
    assert document == json.loads(json.dumps(found.to_dict()))
    assert document["look_alikes"][0]["first"] == "cat"


def test_diagnose_shows_names_as_text(run, hostile):
    ran = run("diagnose", hostile)
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "[bold]car[/bold]" in ran.out


def test_report_writes_a_page_and_says_what_it_found(run, predictions, tmp_path):
    ran = run("report", predictions)
    assert ran.code == 0
    assert "“cat” and “dog” are similar" in ran.out
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<title>predictions</title>" in page
    assert f"open {(tmp_path / 'report.html').as_uri()}" in ran.err


def test_findings_hang_below_their_points_in_a_narrow_terminal(run, predictions, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    lines = run("report", predictions).out.splitlines()
    assert max(map(len, lines)) <= 60
    points = [k for k, line in enumerate(lines) if line.startswith("• ")]
    assert points
    assert all(line.startswith(("• ", "  ")) for line in lines[points[0] :])
    assert lines[points[0] + 1].startswith("  ")


def test_report_takes_title_output_and_standard_input(run, predictions, tmp_path):
    ran = run(
        "report", "-", "-o", "pets.html", "--title", "Pets <v3>", stdin=predictions.read_bytes()
    )
    assert ran.code == 0
    assert "<title>Pets &lt;v3&gt;</title>" in (tmp_path / "pets.html").read_text()


def test_report_as_json_names_the_page(run, predictions):
    document = json.loads(run("report", predictions, "--json").out)
    assert document["path"] == "report.html"
    assert document["title"] == "predictions"
    assert document["findings"][0]["kind"] == "look_alike"


def test_report_on_two_files_compares_them(run, predictions, better, tmp_path):
    ran = run("report", predictions, better, "-o", "change.html")
    assert ran.code == 0
    assert ran.out.startswith("“better” is better than “predictions”: accuracy")
    assert "“cat” taken for “dog”" in ran.out
    assert "<title>predictions and better</title>" in (tmp_path / "change.html").read_text()


def test_report_lists_the_samples_behind_cells(run, predictions, tmp_path):
    lines = predictions.read_text().splitlines()
    rows = [f"{line},photo-{k}.jpg" for k, line in enumerate(lines[1:])]
    (tmp_path / "named.csv").write_text("\n".join([f"{lines[0]},file", *rows]) + "\n")
    assert run("report", "named.csv", "--id", "file").code == 0
    with_ids = (tmp_path / "report.html").read_text()
    assert "photo-0.jpg" in with_ids
    assert run("report", "named.csv", "--no-samples").code == 0
    without = (tmp_path / "report.html").read_text()
    assert "photo-0.jpg" not in without
    assert '"samples":null' in without
    ran = run("report", "named.csv", "--image", "file")
    assert ran.code == 2
    assert "error: `images` must be readable pictures" in ran.err
    assert (tmp_path / "report.html").read_text() == without


def test_report_shows_texts_and_counts_answers_that_are_no_class(run, tmp_path):
    rows = ["yes,yes,so?", "no,yes,not?", "no,no,well", "yes,I cannot say,=1+1", "no,,empty"]
    (tmp_path / "answers.csv").write_text("\n".join(["label,prediction,question", *rows]) + "\n")
    outcomes = ("--labels", "yes,no", "--other", "invalid", "--missing", "no answer")
    ran = run("report", "answers.csv", "--text", "question", *outcomes, "-o", "page.json")
    assert ran.code == 0, ran.err
    page = json.loads((tmp_path / "page.json").read_text())
    assert page["outcomes"] == ["invalid", "no answer"]
    assert sorted(page["samples"]["texts"]) == ["=1+1", "empty", "not?", "so?", "well"]
    assert page["models"][0]["n_samples"] == 5
    assert page["models"][0]["total"] == 3


def test_report_shows_the_most_confident_texts_first(run, tmp_path):
    rng = random.Random(0)
    rows = [(rng.choice(["cat", "dog"]), round(rng.random(), 6)) for _ in range(80)]
    lines = [f"{label},{cat},{1 - cat},said {k}" for k, (label, cat) in enumerate(rows)]
    (tmp_path / "scored.csv").write_text("\n".join(["label,cat,dog,question", *lines]) + "\n")
    ran = run("report", "scored.csv", "--scores", "cat,dog", "--text", "question", "-o", "p.json")
    assert ran.code == 0, ran.err
    samples = json.loads((tmp_path / "p.json").read_text())["samples"]
    starts = np.frombuffer(base64.b64decode(samples["offsets"]["data"]), "<u4")
    cells = np.frombuffer(base64.b64decode(samples["cells"]["data"]), "<u4").tolist()
    assert cells == [0, 1, 2, 3]
    for cell, start, stop in zip(cells, starts[:-1], starts[1:], strict=True):
        true, pred = ("cat", "dog")[cell // 2], ("cat", "dog")[cell % 2]
        inside = [
            (max(cat, 1 - cat), k)
            for k, (label, cat) in enumerate(rows)
            if label == true and (cat >= 0.5) == (pred == "cat")
        ]
        best = sorted(inside, key=lambda found: (-found[0], found[1]))
        assert samples["texts"][start:stop] == [f"said {k}" for _, k in best[: stop - start]]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ("report", "m.csv", "--text", "no"),
            "`--text` must be a column of predictions, but m.csv",
        ),
        (("report", "p.csv", "--no-samples", "--text", "no"), "`--text` is about the samples"),
        (("normalize", "m.csv", "--weight", "w"), "`--weight` must be of a table of predictions"),
        (("diagnose", "m.csv", "--label", "y"), "which has no column 'y'"),
        (("normalize", "m.csv", "--label", "y", "--prediction", "p"), "no column 'y', 'p'"),
        (("report", "m.csv", "--id", "no"), "`--id` must be a column of predictions, but m.csv"),
        (("report", "m.csv", "--image", "no"), "m.csv holds a matrix, which has no column 'no'"),
        (("report", "m.csv", "--weight", "no"), "the file holds a matrix, which has no column"),
        (("report", "p.csv", "--no-samples", "--id", "no"), "`--id` is about the samples behind"),
        (("report", "p.csv", "--no-samples", "--image", "no"), "got `--no-samples` too"),
        (("report", "p.csv", "--union"), "`--union` takes the classes of two files, got one"),
        (("report", "p.csv", "q.csv", "--no-samples", "--image", "no"), "`--image` is about the"),
        (("report", "m.csv", "p.csv", "--image", "no"), "`--image` must be a column of predict"),
        (
            ("report", "p.csv", "q.csv", "--no-samples", "--id", "no"),
            "`--id` must be a column, but neither p.csv nor q.csv has 'no'",
        ),
        (("report", "m.csv", "n.csv", "--id", "no"), "neither m.csv nor n.csv has 'no'"),
        (("compare", "m.csv", "n.csv", "--weight", "w"), "`--weight` must be of a table of"),
        (("report", "m.csv", "n.csv", "--label", "y"), "`--label` must be of a table of"),
    ],
)
def test_options_that_cannot_apply_are_refused(run, predictions, tmp_path, args, message):
    for name in ("p.csv", "q.csv"):
        (tmp_path / name).write_text(predictions.read_text())
    for name in ("m.csv", "n.csv"):
        dc.ConfusionMatrix.from_file(predictions).save(tmp_path / name)
    ran = run(*args)
    assert ran.code == 2
    assert message in ran.err
    assert "hint: leave " in ran.err
    assert not (tmp_path / "report.html").exists()


def test_columns_of_one_of_two_files_may_be_named(run, predictions, tmp_path):
    lines = predictions.read_text().splitlines()
    (tmp_path / "p.csv").write_text("\n".join(["y,p", *lines[1:]]) + "\n")
    dc.ConfusionMatrix.from_file(predictions).save(tmp_path / "m.csv")
    for command in ("compare", "report"):
        for files in (("m.csv", "p.csv"), ("p.csv", "m.csv")):
            ran = run(command, *files, "--label", "y", "--prediction", "p")
            assert ran.code == 0
            assert "m.csv holds a matrix: the columns named are those of the other file" in ran.err
    piped = run(
        "compare", "-", "p.csv", "--label", "y", "--prediction", "p",
        stdin=(tmp_path / "m.csv").read_bytes(),
    )  # fmt: skip
    assert piped.code == 0
    assert "standard input holds a matrix" in piped.err


def test_report_with_embeddings_shows_the_geometry(run, predictions, hostile, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "latent.npy", rng.normal(size=(600, 5)))
    np.save(tmp_path / "short.npy", rng.normal(size=(599, 5)))
    (tmp_path / "bad.npy").write_text("no array")
    assert run("report", predictions, "--embeddings", "latent.npy").code == 0
    assert '"geometry":{' in (tmp_path / "report.html").read_text()
    for args, message in [
        ((predictions, "--embeddings", "short.npy"), "`--embeddings` must have one row a sample"),
        ((predictions, "--embeddings", "bad.npy"), "must be an array of numbers saved by numpy"),
        ((predictions, "--embeddings", "none.npy"), "must be an array of numbers saved by numpy"),
        ((hostile, "--embeddings", "latent.npy"), "needs the predictions of each row"),
    ]:
        ran = run("report", *args)
        assert ran.code == 2
        assert message in ran.err


def test_columns_that_were_found_are_said_once(run, predictions, tmp_path):
    text = predictions.read_text().replace("label,prediction", "target,y_pred")
    (tmp_path / "other.csv").write_text(text)
    note = "note: Read `label` from column 'target' and `prediction` from"
    assert run("report", "other.csv").err.count(note) == 1
    named = run("normalize", "other.csv", "--label", "target", "--prediction", "y_pred")
    assert "note:" not in named.err


def test_report_opens_the_page_when_asked(run, predictions, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(commands.typer, "launch", opened.append)
    run("report", predictions)
    assert opened == []
    run("report", predictions, "--open")
    assert opened == [(tmp_path / "report.html").as_uri()]


def test_compare_tells_what_changed(run, predictions, better):
    ran = run("compare", predictions, better)
    assert ran.code == 0
    assert ran.out.startswith("The second is better than the first: accuracy")
    document = json.loads(run("compare", predictions, better, "--json").out)
    expected = dc.compare(*map(dc.ConfusionMatrix.from_file, (predictions, better)))
    assert document["overlap"] == expected.overlap
    np.testing.assert_allclose(document["p_values"], expected.p_values)


def test_two_models_in_one_table_are_compared_by_their_rows(run, predictions, better, tmp_path):
    first, second = (path.read_text().splitlines() for path in (predictions, better))
    rows = [f"{a},{b.split(',')[1]}" for a, b in zip(first[1:], second[1:], strict=True)]
    (tmp_path / "both.csv").write_text("\n".join(["label,old,new", *rows]) + "\n")
    ran = run("compare", "both.csv", "--prediction", "old", "--against", "new")
    assert ran.code == 0
    assert "paired samples" in ran.out
    assert "600 samples, predicted twice" in ran.err
    unpaired = run("compare", predictions, better)
    assert "independent samples" in unpaired.out
    wrong = run("compare", "both.csv", "--prediction", "old", "--against", "new", "--weight", "old")
    assert wrong.code == 2
    assert "error: `--against` compares two columns of predictions" in wrong.err


def test_what_cannot_be_compared_is_refused(run, predictions, hostile):
    for args, message in [
        ((predictions,), "error: Two models are compared: give FILE_B, or a second column"),
        ((predictions, hostile, "--against", "b"), "error: Two models are compared: give FILE_B"),
        ((predictions, predictions), "error: The two files must differ"),
        (("-", "-"), "error: The two files must differ, got '-' twice."),
        ((predictions, hostile), "error: Both matrices must have the same classes"),
        ((predictions, "nope.csv"), "error: File 'nope.csv' does not exist."),
    ]:
        ran = run("compare", *args)
        assert ran.code == 2
        assert message in ran.err
        assert ran.out == ""


def test_a_page_is_complete_or_absent(run, predictions, tmp_path):
    assert run("report", predictions, "-o", "no/where.html").code == 2
    assert run("report", "nope.csv").code == 2
    ran = run("report", predictions, "-o", "page.docx")
    assert ran.code == 2
    # Before anything is counted.
    assert ran.err.startswith("error: `--output` (-o) must end in .html, .htm, .md, .json, .tex")
    assert "hint: the page is the .html one." in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["predictions.csv"]


def test_errors_speak_of_options_and_not_of_arguments(run, predictions):
    for args, message in [
        (("report", predictions, "--id", "nme"), "error: `--id` must be a column, got 'nme'."),
        (("compare", predictions, "--against", "b"), "error: `--against` must be a column"),
        (("diagnose", predictions, "--epsilon", "-1"), "error: `--epsilon` must be a finite"),
        (("diagnose", predictions, "--level", "7"), "error: `--level` must be above 0"),
        (("diagnose", predictions, "--label", "x"), "hint: name the right one with `--label`."),
    ]:
        ran = run(*args)
        assert ran.code == 2
        assert message in ran.err
    table = predictions.with_name("two.csv")
    table.write_text("y_true,target,prediction\ncat,cat,cat\n")
    assert "say which, as in --label 'y_true'." in run("diagnose", table).err


def test_the_demo_leaves_a_page_and_tells_its_story(run, tmp_path):
    ran = run("demo", "--picture", "four.png")
    assert ran.code == 0
    assert (tmp_path / "deconfuse-demo.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "four.png").read_bytes().startswith(b"\x89PNG")
    assert "The largest error: a 3 read as 2" in ran.out
    assert "Most similar: 3 and 9, similarity 0.22, though by counts this pair has" in ran.out
    assert "Less similar: 0 and 6, similarity 0.046, though by counts" in ran.out
    assert "“0” and “6” are often confused (rank 3 by count: 1 and 42 confusions)" in ran.out
    assert "“2” is over-predicted" in ran.out
    told = [
        ran.out.index(words) for words in ("are similar:", "are often confused (", "is over-pre")
    ]
    assert told == sorted(told)
    assert f"open {(tmp_path / 'deconfuse-demo.html').as_uri()}" in ran.err


def test_the_demo_refuses_what_it_cannot_write_before_it_trains(run, tmp_path):
    for args in (("-o", "no/demo.html"), ("--picture", "four.docx"), ("--picture", "no/four.png")):
        assert run("demo", *args).code == 2
    assert list(tmp_path.iterdir()) == []


def test_it_runs_as_a_program_from_an_empty_folder(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-W", "error::deconfuse.DeconfuseWarning", "-c",
         "from deconfuse.cli import main; main()", "demo", "--json"],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["deconfuse-demo.html"]
    document = json.loads(ended.stdout)
    assert document["path"] == "deconfuse-demo.html"
    first = document["look_alikes"][0]
    assert {first["first"], first["second"]} == {3, 9}
    apart = [found["classes"] for found in document["findings"] if found["kind"] == "not_alike"]
    assert [0, 6] in apart


def test_the_gate_fails_where_the_second_is_certainly_worse(run, predictions, better):
    worse = run("compare", better, predictions, "--fail-if-worse", "--margin", "0.02")
    assert worse.code == 3
    assert "Accuracy at the same label shares fell: 0.96" in worse.err
    assert run("compare", better, predictions).code == 0
    assert run("compare", predictions, better, "--fail-if-worse").code == 0
    assert run("compare", better, predictions, "--fail-if-worse", "--margin", "0.9").code == 0
    alone = run("compare", better, predictions, "--margin", "0.02")
    assert alone.code == 2
    assert "`--margin` is how much worse the second may be" in alone.err
