"""Geometric Confusion Matrices from frames of every engine, against the same from arrays."""

from __future__ import annotations

import datetime
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

import deconfuse as dc
from deconfuse.geometry import frame_cells, frame_geometry
from tests.engines import Constructor
from tests.geometry.data import Samples, make_samples

DATA = make_samples(31, n_samples=400, n_classes=4, width=12, spread=1.0)


def columns_of(data: Samples, **classes: Any) -> dict[str, Any]:
    columns = {f"e {k}": data.embeddings[:, k] for k in range(data.embeddings.shape[1])}
    return columns | {"label": data.y_true, "prediction": data.y_pred} | classes


EMBEDDING = [f"e {k}" for k in range(12)]


def assert_same(
    found: dict[str, dc.GeometricConfusion], expected: dict[str, dc.GeometricConfusion]
) -> None:
    assert list(found) == list(expected)
    for name, g in expected.items():
        other = found[name]
        assert other.labels == g.labels
        assert other.weighting == name
        assert other.n_cells == g.n_cells
        assert other.notes == g.notes
        assert other.cell_volume == pytest.approx(g.cell_volume, rel=1e-9)
        np.testing.assert_allclose(other.grid.origin, g.grid.origin, rtol=1e-9)
        np.testing.assert_array_equal(other.grid.bins, g.grid.bins)
        # Summed in another order, so equal up to rounding.
        np.testing.assert_allclose(other.matrix, g.matrix, rtol=1e-9, atol=1e-12 * g.cell_volume)
        np.testing.assert_allclose(other.label_volumes, g.label_volumes, rtol=1e-9)
        np.testing.assert_allclose(other.prediction_volumes, g.prediction_volumes, rtol=1e-9)


def test_many_columns_equal_memory(constructor: Constructor) -> None:
    frame = constructor(columns_of(DATA))
    found = dc.geometry.geometric_confusions_from_frame(frame, embedding=EMBEDDING)
    assert_same(found, dc.geometric_confusions(*DATA))


def test_a_column_of_lists_equals_memory(constructor: Constructor) -> None:
    lists = pa.array(DATA.embeddings.tolist(), pa.list_(pa.float64()))
    frame = constructor({"my list": lists, "y_true": DATA.y_true, "guess": DATA.y_pred})
    found = dc.geometry.geometric_confusions_from_frame(
        frame, embedding="my list", label="y_true", prediction="guess", n_components=4, epsilon=0.1
    )
    assert_same(found, dc.geometric_confusions(*DATA, n_components=4, epsilon=0.1))


def test_coordinates_as_they_are_equal_memory(constructor: Constructor) -> None:
    # Whole numbers: many points lie exactly on each other.
    whole = np.round(DATA.embeddings[:, :3]).astype(np.int32)
    frame = constructor(columns_of(Samples(whole, DATA.y_true, DATA.y_pred)))
    found = dc.geometry.geometric_confusions_from_frame(
        frame, embedding=EMBEDDING[:3], projection=None, bin_factor=2
    )
    expected = dc.geometric_confusions(
        whole, DATA.y_true, DATA.y_pred, projection=None, bin_factor=2
    )
    assert_same(found, expected)


DATES = [datetime.date(2026, month, 1) for month in (1, 2, 3, 4)]
HOSTILE = ["a'); DROP TABLE x; --", 'b"', "<img src=x>", "naïve 🐈 \\ \n"]


@pytest.mark.parametrize("names", [HOSTILE, DATES], ids=["text", "dates"])
def test_names_of_classes_survive(constructor: Constructor, names: list[Any]) -> None:
    classes = {
        "label": pa.array([names[k] for k in DATA.y_true]),
        "prediction": pa.array([names[k] for k in DATA.y_pred]),
    }
    found = dc.geometry.geometric_confusions_from_frame(
        constructor(columns_of(DATA, **classes)), embedding=EMBEDDING, n_components=3
    )
    expected = dc.geometric_confusions(
        DATA.embeddings, *(column.to_pylist() for column in classes.values()), n_components=3
    )
    assert_same(found, expected)


def test_names_that_are_bools_survive(constructor: Constructor) -> None:
    y_true, y_pred = DATA.y_true > 1, DATA.y_pred > 1
    frame = constructor(columns_of(DATA, label=y_true, prediction=y_pred))
    found = dc.geometry.geometric_confusions_from_frame(frame, embedding=EMBEDDING, n_components=2)
    assert found["bi"].labels == (False, True)
    assert_same(found, dc.geometric_confusions(DATA.embeddings, y_true, y_pred, n_components=2))


def test_categories_are_read_as_text() -> None:
    pl = pytest.importorskip("polars")
    names = np.array(["a", "b", "c", "d"])
    frame = pl.DataFrame(
        columns_of(DATA, label=names[DATA.y_true], prediction=names[DATA.y_pred])
    ).with_columns(pl.col("label").cast(pl.Categorical), pl.col("prediction").cast(pl.Categorical))
    found = dc.geometry.geometric_confusions_from_frame(frame.lazy(), embedding=EMBEDDING)
    assert found["bi"].labels == tuple(names.tolist())


def test_lists_of_fixed_length_are_read(constructor: Constructor) -> None:
    flat = pa.array(DATA.embeddings.astype(np.float32).ravel())
    frame = constructor(
        {
            "vector": pa.FixedSizeListArray.from_arrays(flat, 12),
            "label": DATA.y_true,
            "prediction": DATA.y_pred,
        }
    )
    found = dc.geometry.geometric_confusions_from_frame(frame, embedding="vector", n_components=2)
    single = DATA.embeddings.astype(np.float32)
    assert_same(found, dc.geometric_confusions(single, *DATA[1:], n_components=2))


def test_a_projection_fitted_to_some_rows(constructor: Constructor) -> None:
    some = Samples(*(part[::2] for part in DATA))
    projection = dc.geometric_confusion(*some).projection
    found = dc.geometry.geometric_confusions_from_frame(
        constructor(columns_of(DATA)), embedding=EMBEDDING, projection=projection
    )
    assert_same(found, dc.geometric_confusions(*DATA, projection=projection))


@pytest.mark.parametrize("few", [0, 100], ids=["as many as counts need", "as points may need"])
def test_slices_add_up_to_the_whole(
    few: int, constructor: Constructor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame_geometry, "_SLICE", 200)
    monkeypatch.setattr(frame_geometry, "_FEW_SLICES", few)
    monkeypatch.setattr(frame_geometry, "_POINTS", 100)
    monkeypatch.setattr(frame_geometry, "_PIECE", 7)
    frame = constructor(columns_of(DATA))
    found = dc.geometry.geometric_confusions_from_frame(frame, embedding=EMBEDDING)
    assert_same(found, dc.geometric_confusions(*DATA))
    # Large cells: some slices have none.
    found = dc.geometry.geometric_confusions_from_frame(frame, embedding=EMBEDDING, bin_factor=20)
    assert_same(found, dc.geometric_confusions(*DATA, bin_factor=20))


def test_sums_of_the_engine_equal_memory(
    constructor: Constructor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What engines elsewhere do, on every engine, far from the origin."""
    monkeypatch.setattr(frame_cells, "_SUMS", 7)
    shifted = Samples(DATA.embeddings[:, :4] + 1e4, DATA.y_true, DATA.y_pred)
    frame = constructor(columns_of(shifted))
    points = nw.from_native(frame).lazy()
    names = EMBEDDING[:4]
    moments = frame_cells._by_sums(points.select(*names), names)
    assert moments is not None
    expected = np.cov(shifted.embeddings.T, bias=True)
    np.testing.assert_allclose(moments.covariance, expected, rtol=1e-7)


def test_more_cells_than_64_bits_can_number(constructor: Constructor) -> None:
    frame = constructor(columns_of(DATA))
    options = {"projection": None, "bin_factor": 1e-4}
    found = dc.geometry.geometric_confusions_from_frame(frame, embedding=EMBEDDING, **options)  # type: ignore[arg-type]
    assert_same(found, dc.geometric_confusions(*DATA, **options))  # type: ignore[arg-type]
    assert found["bi"].n_cells == len(DATA.y_true)


def test_fewer_dimensions_are_said(constructor: Constructor) -> None:
    few = Samples(DATA.embeddings[:, :3].copy(), DATA.y_true, DATA.y_pred)
    few.embeddings[:, 1] = 4.25
    frame = constructor(columns_of(few))
    with pytest.warns(dc.errors.GeometryWarning, match="2 components are used where 10"):
        found = dc.geometry.geometric_confusions_from_frame(frame, embedding=EMBEDDING[:3])
    with pytest.warns(dc.errors.GeometryWarning, match="2 components are used where 10"):
        expected = dc.geometric_confusions(*few)
    assert_same(found, expected)
    with pytest.warns(dc.errors.GeometryWarning, match="1 of 3 dimensions is constant"):
        dc.geometry.geometric_confusions_from_frame(frame, embedding=EMBEDDING[:3], projection=None)


def test_equal_points_share_one_cell(constructor: Constructor) -> None:
    same = Samples(np.ones((len(DATA.y_true), 2)), DATA.y_true, DATA.y_pred)
    frame = constructor(columns_of(same))
    with pytest.warns(dc.errors.GeometryWarning, match="all points are equal"):
        found = dc.geometry.geometric_confusions_from_frame(frame, embedding=EMBEDDING[:2])
    assert found["all"].n_cells == 1
    assert found["all"].cell_volume == 1.0


@pytest.mark.parametrize(("value", "projection"), [(None, "pca"), (np.inf, "pca"), (np.nan, None)])
def test_embeddings_that_are_not_finite(
    constructor: Constructor, value: float | None, projection: Any
) -> None:
    column = DATA.embeddings[:, 1].tolist()
    column[17] = value
    frame = constructor(columns_of(DATA, **{"e 1": pa.array(column, pa.float64())}))
    # An engine may notice it before we do.
    with pytest.raises(dc.InputError, match=r"must be finite, got|out of range"):
        dc.geometry.geometric_confusions_from_frame(
            frame, embedding=EMBEDDING, projection=projection
        )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.0, 0.0], "must be of one length, got 2 to 3 numbers"),
        (None, "must have a list in every row, got 1 with"),
    ],
)
def test_ragged_and_missing_lists(
    constructor: Constructor, row: list[float] | None, message: str
) -> None:
    rows: list[Any] = DATA.embeddings[:, :3].tolist()
    rows[3] = row
    frame = constructor(
        {
            "vector": pa.array(rows, pa.list_(pa.float64())),
            "label": DATA.y_true,
            "prediction": DATA.y_pred,
        }
    )
    with pytest.raises(dc.InputError, match=f"'vector' {message}"):
        dc.geometry.geometric_confusions_from_frame(frame, embedding="vector", n_components=2)


def test_refused_columns(constructor: Constructor) -> None:
    words = [f"w{k}" for k in DATA.y_true]
    frame = constructor(columns_of(DATA, words=words))

    def run(**options: Any) -> None:
        dc.geometry.geometric_confusions_from_frame(frame, **options)

    with pytest.raises(dc.InputError, match="`embedding` must be a column, got 'f 1'"):
        run(embedding=["e 0", "f 1"])
    with pytest.raises(dc.InputError, match="must name at least one column"):
        run(embedding=[])
    with pytest.raises(dc.InputError, match="must name each column once, got 'e 0' again"):
        run(embedding=["e 0", "e 1", "e 0"])
    with pytest.raises(dc.InputError, match="must not use the columns of classes, got 'label'"):
        run(embedding=["e 0", "label"])
    with pytest.raises(dc.InputError, match=r"must hold numbers, got .* in 'words'"):
        run(embedding=["e 0", "words"])
    with pytest.raises(dc.InputError, match=r"lists|list in every row"):
        run(embedding="words")
    with pytest.raises(dc.InputError, match="`projection` must be"):
        run(embedding=EMBEDDING, projection="umap")


def test_a_single_class_and_a_single_row(constructor: Constructor) -> None:
    one = {"x": [1.0, 2.0], "label": ["a", "a"], "prediction": ["a", "a"]}
    with pytest.raises(dc.InputError, match="There must be at least two classes, got one: 'a'"):
        dc.geometry.geometric_confusions_from_frame(constructor(one), embedding=["x"])
    two = {"x": [1.0], "label": ["a"], "prediction": ["b"]}
    with pytest.raises(dc.InputError, match="must hold at least two points, got 1"):
        dc.geometry.geometric_confusions_from_frame(constructor(two), embedding=["x"])


def test_a_projection_of_another_width(constructor: Constructor) -> None:
    projection = dc.geometric_confusion(*DATA, n_components=2).projection
    with pytest.raises(dc.InputError, match="takes points with 12 features, got"):
        dc.geometry.geometric_confusions_from_frame(
            constructor(columns_of(DATA)), embedding=EMBEDDING[:3], projection=projection
        )


def test_not_a_frame() -> None:
    with pytest.raises(dc.InputError, match=r"must be a data frame of .* got list"):
        dc.geometry.geometric_confusions_from_frame([1, 2], embedding=["x"])


def test_samples_stay_in_their_engine() -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        relation = connection.from_arrow(pa.table(columns_of(DATA)))
        g = dc.geometry.geometric_confusions_from_frame(relation, embedding=EMBEDDING)["bi"]
        with pytest.raises(dc.InputError, match="got a result from an engine"):
            g.shared_samples(0, 1)
        # Nothing is left behind in the caller's database.
        left = connection.sql(
            "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'deconfuse%'"
        )
        assert left.fetchall() == []
    frame = pa.table(columns_of(DATA)).to_pandas()
    g = dc.geometry.geometric_confusions_from_frame(frame, embedding=EMBEDDING)["bi"]
    expected = dc.geometric_confusion(*DATA).shared_samples(0, 1)
    np.testing.assert_array_equal(g.shared_samples(0, 1), expected)
