"""Two files on the command line: over which classes, and which rows are the same samples."""

from __future__ import annotations

import json

import numpy as np
import pytest

import deconfuse as dc

NAMES = np.array(["bus", "cat", "dog"])


@pytest.fixture
def models(tmp_path):
    """Two models of the same 600 samples, in files of different order, each row with its id."""
    rng = np.random.default_rng(3)
    true = rng.choice(3, 600)
    worse = np.where(rng.random(600) < 0.35, rng.choice(3, 600), true)
    better = np.where(rng.random(600) < 0.6, true, worse)
    for name, pred, order in (
        ("old.csv", worse, np.arange(600)),
        ("new.csv", better, rng.permutation(600)),
    ):
        rows = [f"photo-{k},{NAMES[true[k]]},{NAMES[pred[k]]}" for k in order]
        (tmp_path / name).write_text("\n".join(["name,label,prediction", *rows]) + "\n")
    return NAMES[true], NAMES[worse], NAMES[better]


def write(path, *rows: str) -> None:
    path.write_text("\n".join(["name,label,prediction", *rows]) + "\n")


def test_files_are_paired_by_an_id_whatever_their_order(run, models):
    ran = run("compare", "old.csv", "new.csv", "--id", "name", "--json")
    assert ran.code == 0
    assert "600 samples, predicted twice" in ran.err
    true, worse, better = models
    matrices = [dc.ConfusionMatrix.from_predictions(true, p) for p in (worse, better)]
    document, expected = json.loads(ran.out), dc.compare(*matrices, paired=models)
    np.testing.assert_allclose(document["p_values"], expected.p_values)
    assert document["overlap"] == expected.overlap
    apart = dc.compare(*matrices)
    assert expected.standard_errors[0, 0] < apart.standard_errors[0, 0]


def test_the_page_of_two_paired_files_tests_the_pairs(run, models, tmp_path):
    ran = run("report", "old.csv", "new.csv", "--id", "name", "-o", "pairs.json")
    assert ran.code == 0
    assert "600 samples, predicted twice" in ran.err
    run("report", "old.csv", "new.csv", "-o", "apart.json")
    p_values = [
        json.loads((tmp_path / name).read_text())["comparison"]["p_values"]["data"]
        for name in ("pairs.json", "apart.json")
    ]
    assert p_values[0] != p_values[1]
    without = run("report", "old.csv", "new.csv", "--id", "name", "--no-samples", "-o", "no.html")
    assert "600 samples, predicted twice" in without.err
    assert "photo-0" not in (tmp_path / "no.html").read_text()


def test_the_same_samples_without_an_id_are_noticed(run, models, tmp_path):
    noticed = "if these are the same samples, name their column of ids with --id"
    ran = run("compare", "old.csv", "new.csv")
    assert noticed in ran.err
    assert "use --against" in ran.err
    assert "independent samples" in ran.out
    told = run("report", "old.csv", "new.csv")
    assert noticed in told.err
    assert "--against" not in told.err
    assert noticed not in run("compare", "old.csv", "new.csv", "--id", "name").err
    lines = (tmp_path / "new.csv").read_text().splitlines()
    (tmp_path / "part.csv").write_text("\n".join(lines[:-1]) + "\n")
    assert noticed not in run("compare", "old.csv", "part.csv").err


def test_ids_that_do_not_pair_are_refused(run, tmp_path):
    write(tmp_path / "a.csv", "1,cat,cat", "2,dog,cat", "3,dog,dog")
    write(tmp_path / "other.csv", "1,cat,cat", "2,dog,dog", "4,dog,cat")
    write(tmp_path / "twice.csv", "1,cat,cat", "2,dog,dog", "2,dog,cat")
    write(tmp_path / "truth.csv", "1,cat,cat", "2,cat,dog", "3,dog,cat")
    write(tmp_path / "types.csv", "1,7,7", "2,8,7", "3,8,8")
    (tmp_path / "none.csv").write_text("label,prediction\ncat,cat\ndog,dog\n")
    for file, message in [
        ("other.csv", "must hold the same samples, got 1 of 3 ids only in a.csv ('3') and 1 of 3"),
        ("twice.csv", "`--id` must name each sample once, got '2' 2 times in twice.csv."),
        ("truth.csv", "1 have two: '2' is 'dog' in a.csv and 'cat' in truth.csv."),
        ("types.csv", "Both files must name classes by one type"),
        ("none.csv", "`--id` must be a column of both files, but none.csv has no 'name'."),
    ]:
        ran = run("compare", "a.csv", file, "--id", "name")
        assert ran.code == 2
        assert message in ran.err
        assert ran.out == ""
    weighted = run("compare", "a.csv", "other.csv", "--id", "name", "--weight", "name")
    assert "`--id` pairs samples that weigh one each, got `--weight` too." in weighted.err
    alone = run("compare", "a.csv", "--against", "prediction", "--id", "name")
    assert "`--id` pairs the rows of two files, got one." in alone.err


def test_a_report_names_samples_of_files_that_share_none(run, tmp_path):
    write(tmp_path / "a.csv", "1,cat,cat", "2,dog,cat", "3,dog,dog")
    write(tmp_path / "b.csv", "4,cat,cat", "5,dog,cat", "6,dog,dog")
    (tmp_path / "none.csv").write_text("label,prediction\ncat,cat\ndog,dog\n")
    ran = run("report", "a.csv", "b.csv", "--id", "name")
    assert ran.code == 0
    assert "the two share no sample: they are compared as independent samples" in ran.err
    ran = run("report", "a.csv", "none.csv", "--id", "name")
    assert ran.code == 0
    assert "none.csv has no column 'name': the two are compared as independent samples" in ran.err
    ran = run("report", "a.csv", "b.csv", "--id", "name", "--weight", "name")
    assert "weighted samples are not paired" in ran.err


def test_a_class_of_one_file_has_a_way_out(run, tmp_path):
    write(tmp_path / "a.csv", *["1,cat,cat"] * 9, "2,dog,cat", *["3,dog,dog"] * 8)
    write(tmp_path / "b.csv", *["1,cat,cat"] * 7, "2,dog,bird", *["3,dog,dog"] * 8)
    for command in ("compare", "report"):
        ran = run(command, "a.csv", "b.csv")
        assert ran.code == 2
        assert "must have the same classes, got 'bird' only in b.csv." in ran.err
        assert "hint: `--union` takes the classes of either, `--labels` those" in ran.err
    union = json.loads(run("compare", "a.csv", "b.csv", "--union", "--json").out)
    assert union["labels"] == ["bird", "cat", "dog"]
    named = json.loads(run("compare", "a.csv", "b.csv", "--labels", "dog,cat,bird", "--json").out)
    assert named["labels"] == ["dog", "cat", "bird"]
    assert run("report", "a.csv", "b.csv", "--union", "-o", "both.html").code == 0


@pytest.mark.parametrize(
    ("rows", "labels", "expected"),
    [
        (["1,2,2", "2,3,2"], "3, 2,1", [3, 2, 1]),
        (["1,true,true", "2,false,true"], "True,false", [True, False]),
        (["1,2026-01-02,2026-01-02"], "2026-01-01,2026-01-02", ["2026-01-01", "2026-01-02"]),
        (['1,"bird, left",cat', "2,cat,cat"], 'cat,"bird, left"', ["cat", "bird, left"]),
    ],
)
def test_labels_name_the_classes_and_their_order(run, tmp_path, rows, labels, expected):
    write(tmp_path / "a.csv", *rows)
    document = json.loads(run("diagnose", "a.csv", "--labels", labels, "--json").out)
    assert document["labels"] == expected


def test_labels_that_do_not_fit_are_refused(run, tmp_path):
    write(tmp_path / "a.csv", "1,2,2", "2,3,2")
    for labels, message in [
        ("2", "Every value of column 'label' must be one of `--labels`, got 3."),
        ("2,3,2", "`--labels` must be distinct, got '2' more than once."),
        ("2,,3", "`--labels` must be names separated by commas, got '2,,3'."),
        ("", "`--labels` must be names separated by commas, got ''."),
        ("two,3", "`--labels` must be of the type of the classes, int, got 'two'."),
    ]:
        ran = run("normalize", "a.csv", "--labels", labels)
        assert ran.code == 2
        assert message in ran.err


def test_two_models_in_one_table_follow_the_labels(run, tmp_path):
    (tmp_path / "both.csv").write_text("label,a,b\ncat,cat,cat\ndog,cat,dog\ndog,dog,cat\n")
    columns = ("--prediction", "a", "--against", "b", "--labels", "dog,cat")
    ran = run("compare", "both.csv", *columns, "--json")
    assert json.loads(ran.out)["labels"] == ["dog", "cat"]
