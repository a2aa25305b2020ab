"""`report` and `Samples`: files complete or absent, input refused, rows where they belong."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import deconfuse as dc
from deconfuse.reporting import page as writing
from deconfuse.reporting.samples import PageCells, Thumbnails, samples_payload
from deconfuse.reporting.study import Shown
from tests.reporting.studies import matrix, predictions
from tests.support import require


def _truncated() -> bytes:
    stream = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (40, 40), dtype=np.uint8)
    Image.fromarray(noise).save(stream, "PNG")
    return stream.getvalue()[:900]


TRUNCATED = _truncated()


def whole_page(n_classes: int) -> PageCells:
    """Return the cells of a page that shows all classes."""
    return PageCells(Shown(np.arange(n_classes), False), (), np.ones((n_classes, n_classes)))


@pytest.fixture
def cm() -> dc.ConfusionMatrix:
    return dc.ConfusionMatrix.from_counts([[90, 10], [5, 25]], labels=["cat", "dog"])


@pytest.mark.parametrize(
    ("ending", "begins"),
    [
        (".html", "<!doctype"),
        (".HTM", "<!doctype"),
        (".md", "# pets"),
        (".json", "{"),
        (".tex", "%"),
    ],
)
def test_the_ending_decides(
    cm: dc.ConfusionMatrix, tmp_path: Path, ending: str, begins: str
) -> None:
    path = dc.report(cm, tmp_path / f"pets{ending}")
    assert path.read_text(encoding="utf-8").startswith(begins)
    assert [p.name for p in tmp_path.iterdir()] == [f"pets{ending}"]


def test_an_error_leaves_the_old_file(
    cm: dc.ConfusionMatrix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.html"
    path.write_text("old")

    def broken(name: str) -> str:
        raise OSError("no such asset")

    monkeypatch.setattr(writing, "asset", broken)
    with pytest.raises(OSError, match="no such asset"):
        dc.report(cm, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_refusals(cm: dc.ConfusionMatrix, tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    other = dc.ConfusionMatrix.from_counts([[1, 0], [0, 1]], labels=["cat", "cow"])
    empty = dc.ConfusionMatrix.from_counts([[0, 0], [0, 0]])
    with pytest.raises(dc.InputError, match=r"`path` must end in \.html.* got 'a\.pdf'"):
        dc.report(cm, tmp_path / "a.pdf")
    with pytest.raises(dc.InputError, match="`path` must lie in a folder that exists"):
        dc.report(cm, tmp_path / "no" / "a.html")
    with pytest.raises(dc.InputError, match="A study needs a matrix, got none"):
        dc.report({}, page)
    with pytest.raises(dc.InputError, match=r"same classes, got 'dog' only in 'a' and 'cow'"):
        dc.report({"a": cm, "b": other}, page)
    with pytest.raises(dc.InputError, match="needs samples, but all counts of 'model' are zero"):
        dc.report(empty, page)
    assert not page.exists()


def test_refusals_of_samples(cm: dc.ConfusionMatrix, tmp_path: Path) -> None:
    with pytest.raises(dc.InputError, match="same samples, got 2 and 1 values"):
        dc.Samples([0, 1], [0])
    with pytest.raises(dc.InputError, match="`ids` must have one entry per sample, got 1 for 2"):
        dc.Samples([0, 1], [0, 1], ids=["a"])
    with pytest.raises(dc.InputError, match="`images` must have one entry per sample, got 3 for 2"):
        dc.Samples([0, 1], [0, 1], images=np.zeros((3, 4, 4)))
    with pytest.raises(dc.InputError, match="`texts` must have one entry per sample, got 1 for 2"):
        dc.Samples([0, 1], [0, 1], texts=["a"])
    for scores in (["high"], [np.nan]):
        unsure = dc.Samples(["cat"], ["cat"], scores=scores)
        with pytest.raises(dc.InputError, match="`scores` must be one number per sample"):
            dc.report(cm, tmp_path / "page.html", samples=unsure)
    page = tmp_path / "a.html"
    for which, samples in (
        ("y_pred", dc.Samples(["cat"], ["cow"])),
        ("y_true", dc.Samples(["cow"], ["cat"])),
    ):
        words = f"Values of `samples.{which}` must be classes of the matrix, got 'cow'"
        with pytest.raises(dc.InputError, match=words):
            dc.report(cm, page, samples=samples)
    many = dc.Samples(["dog"] * 6, ["cat"] * 6)
    with pytest.raises(
        dc.InputError, match="have 6 of true 'dog' predicted 'cat', where the matrix counts 5"
    ):
        dc.report(cm, page, samples=many)
    dc.report(cm, page, samples=dc.Samples(["dog"] * 5, ["cat"] * 5))


def test_series_are_looked_up_by_position(tmp_path: Path) -> None:
    require("pandas")
    import pandas as pd

    frame = pd.DataFrame({"y": list("aabbab"), "p": list("abbaab"), "id": range(6)}).iloc[::-1]
    frame = frame[frame.id != 3]
    cm = dc.ConfusionMatrix.from_predictions(frame.y, frame.p)
    samples = dc.Samples(frame.y, frame.p, ids=frame.id)
    told = samples_payload(samples, cm, whole_page(2))
    assert told.ids == ("4", "0", "1", "5", "2")


def test_a_latex_table_says_that_it_is_a_part(tmp_path: Path) -> None:
    whole = dc.report(matrix(30, 5_000), tmp_path / "whole.tex").read_text(encoding="utf-8")
    part = dc.report(matrix(31, 5_000), tmp_path / "part.tex").read_text(encoding="utf-8")
    assert "first" not in whole
    assert "Counts in brackets, first 30 of 31 classes." in part


def test_embeddings_that_are_all_equal_are_one_point(tmp_path: Path) -> None:
    true, pred = predictions(3, 60)
    cm = dc.ConfusionMatrix.from_predictions(true, pred)
    samples = dc.Samples(true, pred)
    with pytest.warns(dc.errors.GeometryWarning, match="all points are equal"):
        page = dc.report(cm, tmp_path / "a.json", samples=samples, embeddings=np.ones((60, 4)))
    assert json.loads(page.read_text(encoding="utf-8"))["geometry"]["points"]["total"] == 60


def test_half_a_character_in_a_name_is_named(tmp_path: Path) -> None:
    cm = dc.ConfusionMatrix.from_counts([[9, 1], [2, 8]], labels=["a\ud800", "b"])
    with pytest.raises(dc.InputError, match=r"can be written, got '\\ud800'"):
        dc.report(cm, tmp_path / "a.html", title="x")
    assert not list(tmp_path.iterdir())


@given(st.integers(0, 1_000), st.integers(0, 20))
def test_every_listed_row_is_in_its_cell(seed: int, per_cell: int) -> None:
    true, pred = predictions(5, 200, seed)
    cm = dc.ConfusionMatrix.from_predictions(true, pred, labels=range(5))
    samples = dc.Samples(true, pred, max_per_cell=per_cell)
    told = samples_payload(samples, cm, whole_page(5))
    assert told.rows is not None
    cells, offsets, rows = told.cells.decode(), told.offsets.decode(), told.rows.decode()
    for k, cell in enumerate(cells):
        listed = rows[offsets[k] : offsets[k + 1]]
        assert (true[listed] * 5 + pred[listed] == cell).all()
        expected = min(cm.counts.flat[cell], per_cell, 6 if cell % 6 == 0 else per_cell)
        assert len(set(listed.tolist())) == expected


def test_weighted_samples_are_only_checked_for_being_there() -> None:
    cm = dc.ConfusionMatrix.from_predictions([0, 0, 1], [0, 0, 1], sample_weight=[0.5, 0.5, 2.0])
    told = samples_payload(dc.Samples([0, 0, 1], [0, 0, 1]), cm, whole_page(2))
    assert told.rows is not None
    assert told.rows.decode().tolist() == [0, 1, 2]
    with pytest.raises(dc.InputError, match="where the matrix counts 0"):
        samples_payload(dc.Samples([0], [1]), cm, whole_page(2))


def pixels(url: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))))


def test_pictures_of_every_kind(tmp_path: Path) -> None:
    grey = np.arange(64, dtype=np.uint8).reshape(8, 8)
    file = tmp_path / "a.png"
    Image.fromarray(grey).save(file)
    rows = np.arange(3)
    _, urls = Thumbnails.of([file, file.read_bytes(), grey], 10_000).make(rows, [0, 1, 2])
    for url in urls:
        assert url.startswith("data:image/png")
        np.testing.assert_array_equal(pixels(url), grey)
    floats = np.array([np.full((4, 4), 0.0), np.full((4, 4), 16.0)])
    _, urls = Thumbnails.of(floats, 10_000).make(np.arange(2), [0, 1])
    assert [int(pixels(url).max()) for url in urls] == [0, 255]
    channels_first = np.zeros((1, 3, 6, 5), dtype=np.uint8)
    _, [url] = Thumbnails.of(channels_first, 10_000).make(np.arange(1), [0])
    assert pixels(url).shape == (6, 5, 3)
    photo = np.random.default_rng(0).integers(0, 255, (1, 300, 200, 3), dtype=np.uint8)
    _, [url] = Thumbnails.of(photo, 100_000).make(np.arange(1), [0])
    assert url.startswith("data:image/jpeg")
    assert max(pixels(url).shape) == 64


def test_pictures_stay_within_the_budget_the_first_ones_first() -> None:
    images = np.random.default_rng(0).integers(0, 255, (20, 8, 8), dtype=np.uint8)
    at, urls = Thumbnails.of(images, 1_000).make(np.arange(20), list(range(19, -1, -1)))
    assert 0 < sum(len(url) for url in urls) <= 1_000
    assert at[19] == 0
    assert (at[: 20 - len(urls)] == -1).all()


def test_the_closest_pair_gets_its_pictures_first() -> None:
    true = np.array([0] * 10 + [1] * 10 + [2] * 10)
    pred = np.array([0] * 8 + [1] * 2 + [1] * 9 + [2] + [2] * 9 + [0])
    cm = dc.ConfusionMatrix.from_predictions(true, pred)
    closeness = np.zeros((3, 3))
    closeness[1, 2] = 1.0
    images = np.random.default_rng(0).integers(0, 255, (30, 8, 8), dtype=np.uint8)
    samples = dc.Samples(true, pred, images=images, max_image_bytes=400)
    told = samples_payload(samples, cm, PageCells(Shown(np.arange(3), bucket=False), (), closeness))
    assert told.image_at is not None
    assert told.rows is not None
    assert told.rows.decode()[told.image_at.decode() == 0].tolist() == [19]


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (["no-such-file.png"], "readable pictures, but that of row 0 is not"),
        ([b"not a picture"], "readable pictures, but that of row 0 is not"),
        pytest.param([TRUNCATED], "but that of row 0 is not", id="truncated"),
        ([np.zeros(5)], "that of row 0 is ndarray of shape"),
        ([np.zeros((0, 0))], "that of row 0 is ndarray of shape"),
        (np.zeros((1, 5)), "as one array must have the shape"),
    ],
)
def test_pictures_that_are_none(images: object, words: str) -> None:
    with pytest.raises(dc.InputError, match=words):
        Thumbnails.of(images, 1_000).make(np.arange(1), [0])


def test_a_million_bytes_of_samples_are_bounded() -> None:
    true, pred = predictions(300, 200_000)
    cm = matrix(300, 200_000)
    samples = dc.Samples(
        [f"class {k}" for k in true], [f"class {k}" for k in pred], max_per_cell=10_000
    )
    told = samples_payload(samples, cm, whole_page(300))
    assert told.rows is not None
    assert told.rows.decode().size <= 120_000
