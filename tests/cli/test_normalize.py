"""``deconfuse normalize``: every format, every way in and out, and what goes wrong."""

from __future__ import annotations

import csv
import gzip
import inspect
import io
import json

import numpy as np
import pytest

import deconfuse as dc
from deconfuse.reporting.tables import write_table
from tests.cli.conftest import HOSTILE


def test_the_table_names_its_axes_and_sums(run, predictions):
    ran = run("normalize", predictions)
    assert ran.code == 0
    assert ran.out.splitlines()[0] == (
        "bi-normalized (each row and each column sums to 1, epsilon 0.333) from 600 samples;"
        " true classes on rows, predicted classes on columns."
    )
    assert ran.out.splitlines()[1].split() == ["true", "\\", "predicted", "bus", "cat", "dog"]
    assert ran.out.splitlines()[2].split()[0] == "bus"
    assert "600 samples of 3 classes" in ran.err
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("method", ["bi", "row", "col", "all", "true", "pred"])
def test_csv_and_json_are_those_of_the_library(run, predictions, method):
    given = ("normalize", predictions, "--method", method, "--epsilon", "0.5")
    n = dc.ConfusionMatrix.from_file(predictions).normalize(method, epsilon=0.5)
    assert run(*given, "--format", "csv").out == write_table(n, "csv")
    assert run(*given, "--json").out == write_table(n, "json")


def test_undefined_cells_are_null_in_json_and_said(run, tmp_path):
    (tmp_path / "m.csv").write_text("true,a,b\na,3,1\nb,0,0\n")
    ran = run("normalize", "m.csv", "-m", "row", "--json")
    assert json.loads(ran.out)["matrix"] == [[0.75, 0.25], [None, None]]
    assert "note: Cells of an empty row are undefined and NaN: 'b'" in ran.err
    assert "–" in run("normalize", "m.csv", "-m", "row", "-f", "markdown").out
    assert "nan" in run("normalize", "m.csv", "-m", "row", "-f", "csv").out


ROWS, COLUMNS = (
    "note: Cells of an empty row rest on epsilon alone: 'c' never occurs as a true label.",
    "note: Cells of an empty column rest on epsilon alone: 'b', 'c' never occur as a prediction.",
)


@pytest.mark.parametrize("format", ["text", "markdown", "latex", "csv", "json"])
def test_a_class_never_seen_is_said_and_has_no_numbers_to_read(run, format, tmp_path):
    (tmp_path / "p.csv").write_text("label,prediction\na,a\na,a\nb,a\n")
    ran = run("normalize", "p.csv", "--labels", "a,b,c", "-f", format)
    assert ran.code == 0
    assert ROWS in ran.err
    assert COLUMNS in ran.err
    bi = dc.ConfusionMatrix.from_counts([[2, 0, 0], [1, 0, 0], [0, 0, 0]]).normalize("bi")
    if format == "json":
        np.testing.assert_array_equal(json.loads(ran.out)["matrix"], bi.matrix)
        return
    if format == "csv":
        values = [row[1:] for row in csv.reader(io.StringIO(ran.out))][1:]
        np.testing.assert_array_equal(np.array(values, float), bi.matrix)
        return
    marks = {"text": [], "markdown": ["|"] * 5, "latex": ["&"] * 3 + ["\\\\"]}[format]
    rows = {
        line.replace("*", "").replace("|", "").split()[0]: line
        for line in ran.out.splitlines()
        if line.replace("*", "").replace("|", "").split()[:1] in (["a"], ["b"], ["c"])
    }
    assert sorted(rows) == ["a", "b", "c"]
    words = [word for word in rows["c"].replace("**", "").split() if word not in set(marks)]
    assert words == ["c", "–", "–", "–"]
    # Nothing was predicted as b or c: these columns rest on epsilon alone.
    assert [rows[name].count("–") for name in "ab"] == [2, 2]
    assert "–: never seen." in ran.out


def test_zeros_of_a_class_never_seen_are_shares_of_all(run, tmp_path):
    (tmp_path / "p.csv").write_text("label,prediction\na,a\na,b\nb,b\nb,a\n")
    ran = run("normalize", "p.csv", "--labels", "a,b,c", "-m", "all", "-f", "markdown")
    assert "| **c** | 0.000 | 0.000 | 0.000 |" in ran.out
    assert "note:" not in ran.err
    assert "note:" not in run("normalize", "p.csv").err
    ran = run("normalize", "p.csv", "--labels", "a,b,c", "-m", "row", "--epsilon", "0.5")
    assert "rest on epsilon alone: 'c' never occurs as a true label" in ran.err
    assert ran.out.splitlines()[-1].split() == ["c", "–", "–", "–"]


def test_markdown_and_latex_escape_names(run, hostile):
    markdown = run("normalize", hostile, "-f", "markdown").out
    assert r"**a\|b**" in markdown
    assert "&lt;img src=x&gt;" in markdown
    assert r"\[bold\]car\[/bold\]" in markdown
    assert "\x1b" not in markdown
    heights = {line.replace(r"\|", "").count("|") for line in markdown.splitlines()[:9]}
    assert heights == {len(HOSTILE) + 2}
    latex = run("normalize", hostile, "-f", "latex").out
    assert r"50 \%\_\#" in latex
    assert r"\$x\$" in latex
    assert latex.count("\\\\\n") == len(HOSTILE) + 1
    assert "sums to 1" in latex


def test_names_from_data_are_text_in_the_terminal(run, hostile):
    ran = run("normalize", hostile)
    assert "[bold]car[/bold] 1" in ran.out
    assert r"\x1b[31mred 2" in ran.out
    assert "\x1b" not in ran.out + ran.err


def test_standard_input_and_output(run, predictions):
    data = predictions.read_bytes()
    from_file = run("normalize", predictions, "-f", "csv").out
    assert run("normalize", "-", "-o", "-", "-f", "csv", stdin=data).out == from_file
    lines = [
        json.dumps(dict(zip(("label", "prediction"), row.split(","), strict=True)))
        for row in data.decode().splitlines()[1:]
    ]
    ran = run("normalize", "-", "-f", "csv", stdin="\n".join(lines).encode())
    assert ran.out == from_file
    assert "standard input: 600 samples" in ran.err


@pytest.mark.parametrize("suffix", ["csv", "json", "md", "tex", "txt"])
def test_the_name_of_the_output_is_its_format(run, predictions, suffix, tmp_path):
    ran = run("normalize", predictions, "--output", f"out.{suffix}")
    assert ran.code == 0
    assert ran.out == ""
    format = {"md": "markdown", "tex": "latex", "txt": "text"}.get(suffix, suffix)
    printed = run("normalize", predictions, "--format", format).out
    assert (tmp_path / f"out.{suffix}").read_text() == printed
    assert f"wrote out.{suffix}" in ran.err


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_picture_is_drawn(run, hostile, suffix, start, tmp_path):
    assert run("normalize", hostile, "-o", f"out.{suffix}").code == 0
    assert (tmp_path / f"out.{suffix}").read_bytes().startswith(start)


def test_many_classes_become_a_list_of_the_largest(run, tmp_path):
    rng = np.random.default_rng(0)
    names = [f"species number {k}" for k in range(80)]
    counts = rng.poisson(0.2, (80, 80)) + 30 * np.eye(80, dtype=int)
    counts[4, 17] = 25
    dc.ConfusionMatrix.from_counts(counts, names).save(tmp_path / "many.csv")
    lines = run("normalize", "many.csv").out.splitlines()
    assert "80 classes do not fit here" in lines[1]
    assert lines[3].split("  ")[0] == "species number 4"
    assert lines[3].endswith("25")
    assert len(lines) == 18


def test_scores_named_one_by_one(run, tmp_path):
    (tmp_path / "s.csv").write_text('label,cat,"dog, big"\ncat,0.9,0.1\n"dog, big",0.2,0.8\n')
    ran = run("normalize", "s.csv", "--scores", "cat", "--scores", "dog, big", "--json")
    document = json.loads(ran.out)
    assert document["labels"] == ["cat", "dog, big"]
    assert document["counts"] == [[1, 0], [0, 1]]


def test_weights_and_scores(run, tmp_path):
    (tmp_path / "s.csv").write_text("label,cat,dog,w\ncat,0.9,0.1,2\ndog,0.6,0.4,1\ndog,0,1,1\n")
    ran = run("normalize", "s.csv", "--scores", "cat,dog", "--weight", "w", "--json")
    assert json.loads(ran.out)["counts"] == [[2.0, 0.0], [1.0, 1.0]]
    assert "s.csv: samples weighing 4 of 2 classes" in ran.err


def test_what_goes_wrong_is_told_in_two_lines(run, predictions, tmp_path):
    (tmp_path / "m.csv").write_text("true,a,b\na,3,1\nb,0,0\n")
    (tmp_path / "empty.csv").write_text("")
    cases = [
        (("normalize", "nope.csv"), 2, "error: File 'nope.csv' does not exist."),
        (("normalize", "empty.csv"), 2, "error: File 'empty.csv' is empty; it must hold"),
        (("normalize", predictions, "--label", "x"), 2, "error: `--label` must be a column, got"),
        (("normalize", predictions, "--epsilon", "-1"), 2, "error: `--epsilon` must be a finite"),
        (("normalize", "m.csv", "--epsilon", "0"), 1, "error: The matrix must have a bi-norm"),
        (("normalize", predictions, "-o", "a/b.csv"), 2, "error: `--output` must be in a folder"),
        (("normalize", predictions, "-o", tmp_path), 2, "error: `--output` must be a file, and"),
        (("normalize", predictions, "-o", predictions), 2, "error: `--output` must not be the inp"),
        (("normalize", predictions, "-o", "x.docx"), 2, "error: `--output` must end in .csv, .js"),
        (("normalize", predictions, "--json", "-f", "csv"), 2, "error: Only one format can be wr"),
    ]
    before = predictions.read_bytes()
    for args, code, message in cases:
        ran = run(*args)
        assert ran.code == code, args
        assert message in ran.err, args
        assert "Traceback" not in ran.err
        # What Python calls None, nobody can type.
        assert "None" not in ran.err, args
        assert len([line for line in ran.err.splitlines() if "samples of" not in line]) <= 2
        assert ran.out == ""
    assert predictions.read_bytes() == before


def test_standard_input_is_called_so_in_errors(run):
    ran = run("normalize", "-", stdin=b"")
    assert ran.code == 2
    assert ran.err.startswith("error: Standard input is empty; it must hold predictions")
    ran = run("normalize", "-", stdin=b"x,y\n1,2\n")
    assert ran.code == 2
    assert "deconfuse-" not in ran.err


def test_a_wrong_option_shows_the_usage(run, predictions):
    ran = run("normalize", predictions, "--method", "foo")
    assert ran.code == 2
    assert "Usage: deconfuse normalize" in ran.err
    assert "'bi', 'row', 'col', 'all'" in ran.err


def test_tables_for_print_have_a_limit(run, tmp_path):
    dc.ConfusionMatrix.from_counts(np.eye(201, dtype=int)).save(tmp_path / "m.csv")
    for name, format in (("Markdown", "markdown"), ("LaTeX", "latex")):
        ran = run("normalize", "m.csv", "-f", format)
        assert ran.code == 2
        assert f"A {name} table must have at most 200 classes, got 201." in ran.err


def test_several_files_are_added_up(run, predictions, tmp_path):
    lines = predictions.read_text().splitlines()
    for name, part in (("week-1.csv", lines[1:200]), ("week-2.csv", lines[200:])):
        (tmp_path / name).write_text("\n".join([lines[0], *part]) + "\n")
    whole = json.loads(run("normalize", predictions, "--json").out)
    parts = json.loads(run("normalize", "week-1.csv", "week-2.csv", "--json").out)
    assert parts == whole
    ran = run("diagnose", "week-1.csv", "week-2.csv", "--json")
    assert json.loads(ran.out)["total"] == 600
    twice = run("normalize", "week-1.csv", "week-1.csv")
    assert twice.code == 2
    assert "Each file must be given once, got week-1.csv more than once." in twice.err


@pytest.mark.parametrize("source", ["shards", "shards/*.csv"])
def test_a_file_of_the_input_is_not_written_over(run, predictions, tmp_path, source):
    (tmp_path / "shards").mkdir()
    shard = tmp_path / "shards" / "p.csv"
    shard.write_bytes(predictions.read_bytes())
    ran = run("normalize", source, "-o", "shards/p.csv")
    assert ran.code == 2
    assert "`--output` must not be the input" in ran.err
    assert shard.read_bytes() == predictions.read_bytes()


def test_one_column_of_scores_and_rows_by_a_column(run, tmp_path):
    (tmp_path / "s.csv").write_text("y,p,split\nspam,.9,a\nham,.5,a\nspam,.2,b\nham,.1,a\n")
    asked = ("normalize", "s.csv", "--label", "y", "--scores", "p=spam", "--json")
    ran = run(*asked, "--threshold", "0.5")
    assert json.loads(ran.out)["counts"] == [[1, 1], [1, 1]]
    ran = run(*asked, "--threshold", "0.5", "--where", "split=a")
    assert json.loads(ran.out)["counts"] == [[1, 1], [0, 1]]
    ran = run(*asked)
    assert (ran.code, "--threshold 0.5" in ran.err) == (2, True)
    ran = run(*asked, "--threshold", "0.5", "--where", "split")
    assert "`--where` must be COLUMN=VALUE, got 'split'." in ran.err


def test_tables_of_others_are_read_as_told(run, tmp_path):
    (tmp_path / "m.csv").write_text("predicted,a,b,none,All\na,5,2,1,8\nb,3,4,2,9\nnone,1,1,0,2\n")
    assert "Rows must be true classes and columns predicted ones" in run("normalize", "m.csv").err
    ran = run(
        *("normalize", "m.csv", "--transpose", "--drop", "All", "--outcomes", "none", "--json")
    )
    assert json.loads(ran.out)["counts"] == [[5, 3], [2, 4]]
    assert "14 samples of 2 classes, 5 with an outcome" in ran.err
    ran = run("normalize", "m.csv", "--transpose", "--drop", "All", "--missing", "nothing")
    assert "`--missing` must be of a table of predictions" in ran.err


def test_text_in_any_spelling(run, tmp_path):
    (tmp_path / "t.csv").write_text("label,prediction\nCat,cat\ndog, Dog \ndog,no idea\n")
    ran = run(
        *("normalize", "t.csv", "--normalize-text", "--labels", "Cat,Dog", "--other", "prose"),
        "--json",
    )
    assert json.loads(ran.out)["labels"] == ["Cat", "Dog"]
    assert json.loads(ran.out)["counts"] == [[1, 0], [0, 1]]
    assert "`normalize_text` changed" in ran.err


def test_what_a_file_may_unpack_to_can_be_raised(run, tmp_path):
    (tmp_path / "z.csv.gz").write_bytes(gzip.compress(b"label,prediction\n" + b"a,a\n" * 1000))
    assert run("normalize", "z.csv.gz", "--max-decompressed", "100").code == 2
    assert run("normalize", "z.csv.gz", "--max-decompressed", "100000").code == 0


def test_every_word_of_from_file_is_an_option(run):
    words = set(inspect.signature(dc.ConfusionMatrix.from_file).parameters) - {"path"}
    shown = run("normalize", "--help").out
    assert {word for word in words if f"--{word.replace('_', '-')}" not in shown} == set()
