"""Samples behind cells, and two models on the same rows, read from files."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

import deconfuse as dc
from deconfuse.errors import InputError
from deconfuse.reading.column_names import Columns
from deconfuse.reading.prediction_table import PredictionTable, Rows, TwoModels, open_table


def read_samples(path, scores=None, *, label="label", prediction="prediction", **options) -> Rows:
    with opened(path, has_scores=scores is not None) as predictions:
        return predictions.rows(Columns(label, prediction, scores=scores), **options)


def read_two_models(path, *, label: str, first: str, second: str) -> TwoModels:
    with opened(path) as predictions:
        return predictions.models(second, Columns(label, first))


def opened(path, **options) -> PredictionTable:
    predictions = open_table(path, **options)
    assert isinstance(predictions, PredictionTable)
    return predictions


def table(n_rows: int = 3_000, seed: int = 0) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 4, n_rows)
    pred = np.where(rng.random(n_rows) < 0.7, true, rng.integers(0, 4, n_rows))
    other = np.where(rng.random(n_rows) < 0.8, true, rng.integers(0, 4, n_rows))
    return {
        "key": [f"sample {k}" for k in range(n_rows)],
        "label": true.tolist(),
        "prediction": pred.tolist(),
        "other": other.tolist(),
    }


def write(columns: dict[str, list], path):
    names, rows = list(columns), zip(*columns.values(), strict=True)
    if path.suffix == ".csv":
        lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    elif path.suffix == ".jsonl":
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
        path.write_text("\n".join(lines) + "\n")
    else:
        import pyarrow.parquet as pq

        pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_the_first_rows_of_every_cell_are_found(tmp_path, suffix):
    columns = table()
    path = write(columns, tmp_path / f"p.{suffix}")
    samples = read_samples(path)
    named = read_samples(path, id="key")
    pairs = list(zip(columns["label"], columns["prediction"], strict=True))
    expected = []
    for cell in set(pairs):
        expected += [row for row, pair in enumerate(pairs) if pair == cell][:12]
    assert sorted(samples.ids) == sorted(expected)
    assert [pairs[row] for row in samples.ids] == list(
        zip(samples.y_true.tolist(), samples.y_pred.tolist(), strict=True)
    )
    assert named.ids == [f"sample {row}" for row in samples.ids]
    assert set(dc.ConfusionMatrix.from_file(path).labels) == set(samples.y_true.tolist())


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_all_rows_come_in_their_order(tmp_path, suffix):
    columns = table(20_000)
    samples = read_samples(write(columns, tmp_path / f"p.{suffix}"), per_cell=None)
    assert samples.ids == list(range(20_000))
    assert samples.y_true.tolist() == columns["label"]
    assert samples.y_pred.tolist() == columns["prediction"]


def test_rows_are_numbered_over_all_files(tmp_path):
    first = write(table(40, seed=1), tmp_path / "a.csv")
    second = write({**table(40, seed=2), "label": ["7"] * 40}, tmp_path / "b.csv")
    samples = read_samples([first, second])
    last = [row for row, true in zip(samples.ids, samples.y_true, strict=True) if true == 7]
    assert min(last) == 40


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_of_several_layouts_keep_their_order(tmp_path, suffix):
    columns = table(900)
    paths = []
    for number in range(3):
        part = {name: values[300 * number :][:300] for name, values in columns.items()}
        if number == 1:
            # Other columns in the middle, which one query cannot read along with the rest.
            part = {"extra": [0.5] * 300, **part}
        paths.append(write(part, tmp_path / f"p{number}.{suffix}"))
    samples = read_samples(paths, id="key", per_cell=None)
    assert samples.ids == columns["key"]
    assert dc.ConfusionMatrix.from_file(paths).total == 900


def test_a_matrix_has_no_samples(tmp_path):
    dc.ConfusionMatrix.from_counts([[3, 1], [0, 2]], ["a", "b"]).save(tmp_path / "m.csv")
    assert isinstance(open_table(tmp_path / "m.csv"), dc.ConfusionMatrix)


def test_scores_give_the_prediction_of_a_sample(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("label,cat,dog\ncat,0.9,0.1\ndog,0.6,0.4\ndog,0.2,0.8\n")
    samples = read_samples(path, scores=["cat", "dog"])
    assert samples.y_pred.tolist() == ["cat", "cat", "dog"]
    assert samples.ids == [0, 1, 2]


def picture(path, shade: int) -> bytes:
    Image.fromarray(np.full((8, 8), shade, np.uint8)).save(path)
    return path.read_bytes()


def test_pictures_are_found_beside_the_table(tmp_path, monkeypatch):
    (tmp_path / "images").mkdir()
    for k in range(3):
        picture(tmp_path / "images" / f"{k}.png", 80 * k)
    path = tmp_path / "p.csv"
    rows = [f"images/{k}.png,{k % 2},{k % 2}" for k in range(2)]
    path.write_text("\n".join(["file,label,prediction", *rows, "images/2.png,0,1"]) + "\n")
    monkeypatch.chdir("/")
    samples = read_samples(path, image="file")
    cm = dc.ConfusionMatrix.from_file(path)
    page = dc.report(
        cm,
        tmp_path / "page.html",
        samples=dc.Samples(samples.y_true, samples.y_pred, ids=samples.ids, images=samples.images),
    )
    assert "data:image/png;base64," in page.read_text()


@pytest.mark.parametrize("nested", [False, True])
def test_pictures_can_be_whole_files_in_parquet(tmp_path, nested):
    content = [picture(tmp_path / f"{k}.png", 100 * k) for k in range(2)]
    images = [{"bytes": data, "path": "x.png"} for data in content] if nested else content
    path = write(
        {"label": ["a", "b"], "prediction": ["a", "a"], "image": images}, tmp_path / "p.parquet"
    )
    samples = read_samples(path, image="image")
    assert samples.images == content


def test_what_cannot_be_shown_is_refused(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("name,label,prediction\na,0,0\n,1,1\n")
    with pytest.raises(InputError, match="'name' must have no missing values, got 1 among the 2"):
        read_samples(path, id="name")
    with pytest.raises(InputError, match="`image` must be a column, got 'picture'"):
        read_samples(path, image="picture")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_two_models_are_read_row_by_row(tmp_path, suffix):
    columns = table()
    path = write(columns, tmp_path / f"p.{suffix}")
    models = read_two_models(path, label="label", first="prediction", second="other")
    names = ("label", "prediction", "other")
    expected = sorted(zip(*(columns[name] for name in names), strict=True))
    assert sorted(zip(models.y_true, models.first, models.second, strict=True)) == expected
    first, second = models.matrices()
    assert first == dc.ConfusionMatrix.from_file(path)
    assert second == dc.ConfusionMatrix.from_file(path, prediction="other")
    paired = dc.compare(first, second, paired=(models.y_true, models.first, models.second))
    assert paired.is_paired


def test_a_class_that_one_model_never_predicts_is_a_class_of_both(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("label,a,b\nx,x,x\ny,x,y\n")
    first, second = read_two_models(path, label="label", first="a", second="b").matrices()
    assert first.labels == second.labels == ("x", "y")


@pytest.mark.parametrize(
    ("text", "against", "message"),
    [
        ("label,a,b\n1,1,1\n", "a", "must have columns of their own, got 'a' for both"),
        ("label,a,b\n1,1,1\n", "c", "`against` must be a column, got 'c'"),
        ("label,a,b\n1,1,\n2,2,2\n", "b", "missing values"),
        ("label,a,b\n1,1,x\n2,2,1\n", "b", "must be of one type, got"),
    ],
)
def test_what_cannot_be_paired_is_refused(tmp_path, text, against, message):
    path = tmp_path / "p.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_two_models(path, label="label", first="a", second=against)
