"""Every engine counts the same, keeps types, and gives out distinct pairs only."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from deconfuse import ConfusionMatrix, InputError
from deconfuse.errors import ColumnChoiceWarning, DeconfuseWarning
from tests.engines import Constructor, duckdb_connection, make_constructor

DAY = datetime.date(2024, 2, 29)
NEXT = datetime.date(2024, 3, 1)


@pytest.mark.parametrize(
    ("first", "second"),
    [("cat", "dog"), (-7, 40), (False, True), (DAY, NEXT), ("ünï", "emoji 🐈 and 'quotes\"")],
)
def test_counts_and_types_are_those_of_from_predictions(
    constructor: Constructor, first: Any, second: Any
) -> None:
    true = [first, second, second, first, second]
    pred = [first, first, second, second, first]
    cm = ConfusionMatrix.from_frame(constructor({"label": true, "prediction": pred}))
    assert cm == ConfusionMatrix.from_predictions(true, pred)
    assert [type(name) for name in cm.labels] == [type(first), type(second)]
    assert cm.counts.dtype == np.int64


def test_random_columns_agree_with_from_predictions(constructor: Constructor) -> None:
    rng = np.random.default_rng(3)
    true = rng.integers(0, 30, 2000)
    pred = np.where(rng.random(2000) < 0.6, true, rng.integers(0, 40, 2000))
    weight = rng.integers(0, 8, 2000) / 4
    frame = constructor({"t": true, "p": pred, "w": weight})
    assert ConfusionMatrix.from_frame(
        frame, label="t", prediction="p"
    ) == ConfusionMatrix.from_predictions(true, pred)
    weighted = ConfusionMatrix.from_frame(frame, label="t", prediction="p", weight="w")
    expected = ConfusionMatrix.from_predictions(true, pred, sample_weight=weight)
    # Quarters add up without rounding, so the order in which an engine adds does not show.
    assert weighted == expected
    assert weighted.is_weighted


def test_one_collect_and_only_distinct_pairs_leave_the_engine(
    constructor: Constructor, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = np.arange(5000) % 3
    pred = np.arange(5000) % 2
    frame = constructor({"label": true, "prediction": pred, "w": np.ones(5000)})
    sizes: list[int] = []
    collect = nw.LazyFrame.collect

    def watched(self: Any, *args: Any, **options: Any) -> Any:
        result = collect(self, *args, **options)
        sizes.append(len(result))
        return result

    monkeypatch.setattr(nw.LazyFrame, "collect", watched)
    cm = ConfusionMatrix.from_frame(frame, weight="w")
    assert cm.total == 5000
    assert sizes == [6]


def test_dictionary_columns_are_strings(constructor: Constructor) -> None:
    true = pa.array(["b", "a", "b"]).dictionary_encode()
    cm = ConfusionMatrix.from_frame(constructor({"label": true, "prediction": ["b", "b", "c"]}))
    assert cm.labels == ("a", "b", "c")
    assert cm.counts.tolist() == [[0, 1, 0], [0, 1, 1], [0, 0, 0]]


def test_midnights_are_dates(constructor: Constructor) -> None:
    days = pa.array([datetime.datetime(2024, 2, 29), datetime.datetime(2024, 3, 1)])
    cm = ConfusionMatrix.from_frame(constructor({"label": days, "prediction": days}))
    assert cm.labels == (DAY, NEXT)


def test_usual_names_are_found_and_said(constructor: Constructor) -> None:
    frame = constructor({"id": [1, 2], "y_true": ["a", "b"], "Pred": ["a", "a"]})
    with pytest.warns(ColumnChoiceWarning, match=r"`label` from column 'y_true' and `prediction`"):
        cm = ConfusionMatrix.from_frame(frame)
    assert cm.counts.tolist() == [[1, 0], [1, 0]]


def test_column_names_are_never_code(constructor: Constructor) -> None:
    label, prediction = "la'b\"el; DROP TABLE x --", "a b`.`c (\\1) %s {0}"
    columns = {label: ["a", "b"], prediction: ["a", "a"], "true": [0, 0], "rows": [1, 1]}
    cm = ConfusionMatrix.from_frame(constructor(columns), label=label, prediction=prediction)
    assert cm.counts.tolist() == [[1, 0], [1, 0]]


def test_columns_may_have_the_names_used_inside(constructor: Constructor) -> None:
    columns = {"pred": ["a", "b"], "true": ["a", "a"], "rows": [2.0, 0.5], "best": [0.0, 1.0]}
    cm = ConfusionMatrix.from_frame(
        constructor(columns), label="pred", prediction="true", weight="rows"
    )
    assert cm.counts.tolist() == [[2.0, 0.0], [0.5, 0.0]]


def test_many_real_classes_with_one_sample_each_are_counted(constructor: Constructor) -> None:
    names = np.arange(3000)
    cm = ConfusionMatrix.from_frame(constructor({"label": names, "prediction": np.roll(names, 1)}))
    assert cm.n_classes == 3000
    assert cm.is_sparse


class TestOtherFormsOfArrow:
    TABLE = pa.table({"label": ["a", "b", "b"], "prediction": ["b", "b", "a"]})

    def test_batches_readers_and_datasets(self) -> None:
        expected = ConfusionMatrix.from_frame(self.TABLE)
        (batch,) = self.TABLE.to_batches()
        for frame in (batch, self.TABLE.to_reader(), pyarrow.dataset.dataset(self.TABLE)):
            assert ConfusionMatrix.from_frame(frame) == expected

    def test_a_dataset_of_files(self, tmp_path: Path) -> None:
        for number in range(3):
            pyarrow.parquet.write_table(self.TABLE, tmp_path / f"{number}.parquet")
        dataset = pyarrow.dataset.dataset(tmp_path)
        assert ConfusionMatrix.from_frame(dataset).counts.tolist() == [[0, 3], [3, 3]]

    def test_chunks_with_dictionaries_of_their_own(self) -> None:
        parts = [
            pa.table({"label": pa.array([x]).dictionary_encode(), "prediction": [x]}) for x in "ab"
        ]
        cm = ConfusionMatrix.from_frame(pa.concat_tables(parts))
        assert cm.counts.tolist() == [[1, 0], [0, 1]]

    @pytest.mark.skipif(not hasattr(pa, "string_view"), reason="needs PyArrow 16 or later")
    def test_views_of_strings(self) -> None:
        views = pa.table(
            {"label": pa.array(["a", "b"], pa.string_view()), "prediction": ["b", "b"]}
        )
        assert ConfusionMatrix.from_frame(views).counts.tolist() == [[0, 1], [0, 1]]


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="needs Polars with integers of 128 bits")
class TestWideIntegers:
    def frames(self, value: int) -> list[Any]:
        wide = pl.DataFrame(
            {"label": [value], "prediction": [1]}, schema_overrides={"label": pl.Int128}
        )
        query = f"SELECT CAST({value} AS HUGEINT) AS label, 1 AS prediction"
        return [wide, wide.lazy(), duckdb_connection().sql(query)]

    def test_whole_numbers_of_128_bits(self) -> None:
        for frame in self.frames(7):
            assert ConfusionMatrix.from_frame(frame).labels == (1, 7)

    def test_those_that_need_them(self) -> None:
        for frame in self.frames(2**70):
            with pytest.raises(InputError, match=f"'label' must fit in 64 bits .* got {2**70}"):
                ConfusionMatrix.from_frame(frame)


class TestLazyFramesThatFail:
    def test_files_behind_them(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="The frame could not be read: "):
            ConfusionMatrix.from_frame(pl.scan_parquet(tmp_path / "gone.parquet"))
        (tmp_path / "bad.parquet").write_bytes(b"PAR1xxxxPAR1")
        with pytest.raises(InputError, match="The frame could not be read: "):
            ConfusionMatrix.from_frame(pl.scan_parquet(tmp_path / "bad.parquet"))

    def test_errors_of_a_query(self) -> None:
        frame = duckdb_connection().sql("SELECT error('no disk') AS label, 'a' AS prediction")
        with pytest.raises(InputError, match=r"The frame could not be read: .*no disk"):
            ConfusionMatrix.from_frame(frame)


class TestScores:
    def test_columns_named_by_classes(self, constructor: Constructor) -> None:
        frame = constructor(
            {
                "label": ["cat", "dog", "dog", "owl"],
                "dog": [0.1, 0.5, 0.2, 0.2],
                "cat": [0.9, 0.5, 0.8, 0.1],
                "owl": [0.0, 0.0, 0.0, 0.7],
            }
        )
        cm = ConfusionMatrix.from_frame(frame, scores=["dog", "cat", "owl"])
        # The first of equal scores wins, as in numpy.argmax.
        assert cm == ConfusionMatrix.from_predictions(
            ["cat", "dog", "dog", "owl"], ["cat", "dog", "cat", "owl"]
        )

    def test_columns_named_by_numbers(self, constructor: Constructor) -> None:
        frame = constructor({"label": [1, 0], "0": [0.2, 0.9], "1": [0.8, 0.1], "w": [2.0, 0.5]})
        cm = ConfusionMatrix.from_frame(frame, scores=["0", "1"], weight="w")
        assert cm.labels == (0, 1)
        assert cm.counts.tolist() == [[0.5, 0.0], [0.0, 2.0]]

    def test_columns_mapped_to_classes_and_a_class_never_chosen(
        self, constructor: Constructor
    ) -> None:
        frame = constructor({"label": ["a", "b"], "p0": [3, 2], "p1": [1, 0], "p2": [0, 0]})
        cm = ConfusionMatrix.from_frame(frame, scores={"p0": "a", "p1": "b", "p2": "c"})
        assert cm.labels == ("a", "b", "c")
        assert cm.counts.tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 0]]

    def test_list_column(self, constructor: Constructor) -> None:
        rng = np.random.default_rng(5)
        scores = rng.random((40, 5))
        true = rng.integers(0, 5, 40)
        frame = constructor({"label": true, "probabilities": scores.tolist()})
        cm = ConfusionMatrix.from_frame(frame, scores="probabilities")
        assert cm == ConfusionMatrix.from_predictions(true, scores.argmax(axis=1), labels=range(5))

    def test_list_column_with_class_names(self, constructor: Constructor) -> None:
        frame = constructor({"label": ["b", "a"], "p": [[0.1, 0.9], [0.2, 0.8]]})
        cm = ConfusionMatrix.from_frame(frame, scores={"p": ["a", "b"]})
        assert cm.counts.tolist() == [[0, 1], [0, 1]]

    @pytest.mark.parametrize("bad", [None, float("nan")])
    def test_unknown_scores_are_refused(self, constructor: Constructor, bad: float | None) -> None:
        frame = constructor({"label": ["a", "b", "b"], "a": [0.1, bad, bad], "b": [0.2, 0.3, 0.4]})
        with pytest.raises(InputError, match=r"missing or NaN scores in 2 of 3 rows of 'a', 'b'"):
            ConfusionMatrix.from_frame(frame, scores=["a", "b"])

    def test_lists_of_another_length_are_refused(self, constructor: Constructor) -> None:
        frame = constructor({"label": [0, 1, 1], "p": [[0.1, 0.9], [0.5], None]})
        with pytest.raises(InputError, match=r"lists of another length in 2 of 3 rows"):
            ConfusionMatrix.from_frame(frame, scores="p")

    def test_class_names_must_be_as_many_as_scores(self, constructor: Constructor) -> None:
        frame = constructor({"label": ["a", "b"], "p": [[0.1, 0.9], [0.5, 0.5]]})
        with pytest.raises(InputError, match="3 names for lists of 2"):
            ConfusionMatrix.from_frame(frame, scores={"p": ["a", "b", "c"]})

    def test_texts_are_no_scores(self, constructor: Constructor) -> None:
        frame = constructor({"label": ["a", "b"], "a": ["0.1", "high"], "b": [0.2, 0.3]})
        with pytest.raises(InputError, match="Scores must be numbers, got String in column 'a'"):
            ConfusionMatrix.from_frame(frame, scores=["a", "b"])

    def test_lists_of_texts_are_no_scores(self, constructor: Constructor) -> None:
        frame = constructor({"label": [0, 1], "p": [["x", "y"], ["z", "w"]]})
        with pytest.raises(InputError, match="`scores` must be lists of numbers, got"):
            ConfusionMatrix.from_frame(frame, scores="p")


class TestBadInput:
    # Spark has no unsigned integers.
    @pytest.mark.parametrize(
        "engine", ["pandas", "pandas-arrow", "polars", "polars-lazy", "pyarrow", "duckdb", "ibis"]
    )
    def test_whole_numbers_beyond_64_bits(
        self, engine: str, request: pytest.FixtureRequest
    ) -> None:
        large = pa.array([2**63 + 5, 1], pa.uint64())
        frame = make_constructor(engine, request)({"label": large, "prediction": large})
        with pytest.raises(
            InputError, match=r"'label' must fit in 64 bits .* got 9223372036854775"
        ):
            ConfusionMatrix.from_frame(frame)

    @pytest.mark.parametrize("frame", [None, 3, [1, 2], {"label": [1]}, "x.csv"])
    def test_what_is_no_frame(self, frame: object) -> None:
        with pytest.raises(InputError, match="`frame` must be a data frame of pandas, Polars"):
            ConfusionMatrix.from_frame(frame)

    def test_missing_column_lists_those_there_are(self, constructor: Constructor) -> None:
        frame = constructor({"label": ["a"], "guess": ["a"]})
        with pytest.raises(InputError, match=r"must be named.*The columns are: 'label', 'guess'"):
            ConfusionMatrix.from_frame(frame)

    def test_nulls_are_counted_by_column(self, constructor: Constructor) -> None:
        frame = constructor({"label": ["a", None, "b", None], "prediction": ["a", "b", None, None]})
        with pytest.raises(InputError, match="'label' must have no missing values, got 2 among 4"):
            ConfusionMatrix.from_frame(frame)

    def test_nulls_among_integers(self, constructor: Constructor) -> None:
        frame = constructor({"label": [1, None, 2], "prediction": [1, 2, 2]})
        with pytest.raises(InputError, match="'label' must have no missing values, got 1 among 3"):
            ConfusionMatrix.from_frame(frame)

    def test_names_that_differ_in_spaces_around_them(self, constructor: Constructor) -> None:
        frame = constructor({"label": ["cat", "dog"], "prediction": ["cat ", "dog"]})
        with pytest.warns(DeconfuseWarning, match="case or outer spaces: 'cat' and 'cat '"):
            assert ConfusionMatrix.from_frame(frame).n_classes == 3
        with pytest.warns(DeconfuseWarning, match="changed 1 spelling, such as 'cat ' to 'cat'"):
            assert ConfusionMatrix.from_frame(frame, normalize_text=True).n_classes == 2

    def test_no_rows(self, constructor: Constructor) -> None:
        empty = pa.array([], pa.string())
        with pytest.raises(InputError, match="at least one sample, got none"):
            ConfusionMatrix.from_frame(constructor({"label": empty, "prediction": empty}))

    def test_floats(self, constructor: Constructor) -> None:
        frame = constructor({"label": [1.0, 2.0], "prediction": [1, 2]})
        assert ConfusionMatrix.from_frame(frame).labels == (1, 2)
        frame = constructor({"label": [1.0, 2.0], "prediction": [0.5, 2.0]})
        with pytest.raises(InputError, match=r"'prediction' must be class labels, .* 0\.5"):
            ConfusionMatrix.from_frame(frame)

    def test_lists_as_labels(self, constructor: Constructor) -> None:
        frame = constructor({"label": [[1], [2]], "prediction": [1, 2]})
        with pytest.raises(InputError, match=r"one class per sample|one-dimensional") as caught:
            ConfusionMatrix.from_frame(frame)
        assert "count one matrix per label" in str(caught.value)

    @pytest.mark.parametrize(
        ("true", "pred", "kinds"),
        [
            ([1, 2], ["1", "2"], r"got int \(as .*\) and str"),
            ([True, False], [1, 0], r"got bool \(as .*\) and int"),
            (["2024-02-29"], [DAY], r"got str \(as .*\) and date"),
        ],
    )
    def test_mixed_types(
        self, constructor: Constructor, true: list[Any], pred: list[Any], kinds: str
    ) -> None:
        with pytest.raises(InputError, match=kinds) as caught:
            ConfusionMatrix.from_frame(constructor({"label": true, "prediction": pred}))
        assert "Column 'label' and column 'prediction'" in str(caught.value)

    def test_times_of_day_are_no_dates(self, constructor: Constructor) -> None:
        times = pa.array([datetime.datetime(2024, 2, 29, 12), datetime.datetime(2024, 3, 1)])
        with pytest.raises(InputError, match="must be int, str, bool or date"):
            ConfusionMatrix.from_frame(constructor({"label": times, "prediction": times}))

    @pytest.mark.parametrize("engine", ["pyarrow", "polars"])
    def test_times_finer_than_a_microsecond_are_no_dates(self, engine: str) -> None:
        times = np.array(["2024-02-29T00:00:00.000000001", "2024-02-29"], "M8[ns]")
        frame: Any = pa.table({"label": pa.array(times), "prediction": pa.array(times)})
        if engine == "polars":
            frame = pl.from_arrow(frame)
        with pytest.raises(InputError, match=r"must be int, str, bool or date, got .*000000001"):
            ConfusionMatrix.from_frame(frame)

    def test_an_identifier_as_label_is_warned_of(self, constructor: Constructor) -> None:
        numbers = np.arange(20_000, 20_100)
        frame = constructor({"id": numbers, "prediction": numbers % 10})
        with pytest.warns(DeconfuseWarning, match="No label occurs among the predictions"):
            ConfusionMatrix.from_frame(frame, label="id")

    def test_one_column_for_two_parts(self, constructor: Constructor) -> None:
        frame = constructor({"label": ["a"], "prediction": ["a"]})
        with pytest.raises(InputError, match="`label` and `prediction` must be different columns"):
            ConfusionMatrix.from_frame(frame, prediction="label")

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([1.0, None, None], r"got 2 missing or unreadable in 'w'"),
            ([1.0, -0.5, 2.0], "must not be negative, got -0.5 in 'w'"),
            ([1.0, float("inf"), 2.0], "must be finite, got NaN, infinite or too large"),
            (["1", "2", "3"], "must be numbers, got String in column 'w'"),
        ],
    )
    def test_weights(self, constructor: Constructor, weights: list[Any], message: str) -> None:
        frame = constructor({"label": [1, 1, 2], "prediction": [1, 2, 2], "w": weights})
        with pytest.raises(InputError, match=message):
            ConfusionMatrix.from_frame(frame, weight="w")

    def test_nan_weights(self, constructor: Constructor) -> None:
        frame = constructor({"label": [1, 2], "prediction": [1, 2], "w": [1.0, float("nan")]})
        # For pandas NaN is a missing value, for the others a number.
        with pytest.raises(InputError, match=r"1 missing or unreadable|must be finite, got NaN"):
            ConfusionMatrix.from_frame(frame, weight="w")
