"""Tables that count wrongly without a word of warning: predictions on rows, sums among classes."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from deconfuse import ConfusionMatrix, InputError

COUNTS = [[50, 3], [4, 60]]


def corner_file(folder: Path, corner: str) -> Path:
    path = folder / "t.csv"
    pd.DataFrame(COUNTS, index=pd.Index(["a", "b"], name=corner), columns=["a", "b"]).to_csv(path)
    return path


class TestAxes:
    @pytest.mark.parametrize(
        "corner",
        [
            "Map \\ Reference",
            "Classified / Reference",
            "Mapped class",
            "Map class",
            "Map",
            "map_class",
            "mapClass",
            "Classification",
            "Classified data",
            "Predicted \\ True",
            "Predicted true",
            "Map vs. reference",
            "Crown map \\ Reference",
            "Label | Reference",
            "Class \\ Observed",
            "Model output / Truth",
            "Output / Target",
            "Assigned - Gold",
            "Response \\ Stimulus",
            "Land cover map \\ Ground truth",
            "Klassifikation / Referenz",
            "y_hat",
            "Predicted (rows), true (columns)",
            "rows: map; columns: reference",
        ],
    )
    def test_a_corner_that_puts_predictions_on_rows(self, tmp_path: Path, corner: str) -> None:
        path = corner_file(tmp_path, corner)
        message = "Rows must be true classes and columns predicted ones, got .* as the name of rows"
        for read in (ConfusionMatrix.from_file, ConfusionMatrix.load):
            with pytest.raises(InputError, match=message) as caught:
                read(path)
            assert "transpose the table" in str(caught.value)
        with pytest.raises(InputError, match=message):
            ConfusionMatrix.from_counts(pd.read_csv(path))

    @pytest.mark.parametrize(
        "corner",
        [
            "Reference \\ Map",
            "Reference / Classified",
            "Reference",
            "Reference map",
            "Reference classification",
            "Expected \\ Predicted",
            "Class / Prediction",
            "Stimulus \\ Response",
            "Label",
            "labels",
            "class",
            "name",
            "Land cover map",
            "Response",
            "Test",
            "classified as",
            "actual -> predicted",
            "columns: predicted",
            "True (rows), mapped (columns)",
            "remap",
            "",
            "Model",
            "Model output",
            "Model 1",
            "model_1",
            "Model: ResNet50",
            "Model|fold 3",
            "Classifier: RF",
            "Map 2020",
            "Map: Amazon",
            "outputs/run1",
        ],
    )
    def test_a_corner_that_does_not(self, tmp_path: Path, corner: str) -> None:
        path = corner_file(tmp_path, corner)
        assert ConfusionMatrix.from_file(path).counts.tolist() == COUNTS

    @pytest.mark.parametrize(
        ("rows", "columns"),
        [
            ("classified", "ref"),
            ("map", "reference"),
            ("model", "observed"),
            ("output", "label"),
            ("system", "human"),
            (None, "ref"),
            ("class", "gold"),
        ],
    )
    def test_crosstabs(self, rows: str | None, columns: str | None) -> None:
        frame = pd.DataFrame(COUNTS, index=["a", "b"], columns=["a", "b"])
        with pytest.raises(InputError, match="Rows must be true classes"):
            ConfusionMatrix.from_counts(frame.rename_axis(index=rows, columns=columns))
        # The other way round it is as it must be.
        turned = frame.rename_axis(index=columns, columns=rows)
        assert ConfusionMatrix.from_counts(turned).counts.tolist() == COUNTS

    @pytest.mark.parametrize(
        ("rows", "columns"),
        [
            ("label", "map"),
            ("model 1", "model 2"),
            (None, "label"),
            ("rater a", "rater b"),
            (0, 1),
            ("output", "col_0"),
            ("classification", "rf"),
            ("map", "col_0"),
            ("Class Output", None),
        ],
    )
    def test_names_that_say_nothing_wrong(self, rows: object, columns: object) -> None:
        frame = pd.DataFrame(COUNTS, index=["a", "b"], columns=["a", "b"])
        named = frame.rename_axis(index=rows, columns=columns)
        assert ConfusionMatrix.from_counts(named).counts.tolist() == COUNTS


def with_sums(counts: object) -> np.ndarray:
    inner = np.asarray(counts)
    wide = np.column_stack([inner, inner.sum(axis=1)])
    return np.vstack([wide, wide.sum(axis=0)])


class TestHiddenTotals:
    @pytest.mark.parametrize("name", ["Summe", "Total:", "Gesamt", "Totale", "Somme", "n", "x"])
    @pytest.mark.parametrize("place", [0, 2])
    def test_sums_by_any_name(self, tmp_path: Path, name: str, place: int) -> None:
        names = ["a", "b"]
        frame = pd.DataFrame(with_sums(COUNTS), index=[*names, name], columns=[*names, name])
        names.insert(place, name)
        frame = frame.loc[names, names].rename_axis(index="class")
        frame.to_csv(tmp_path / "m.csv")
        message = f"Rows and columns must be classes, but those named '{name}' are the sums of the"
        with pytest.raises(InputError, match=message):
            ConfusionMatrix.from_counts(frame)
        for read in (ConfusionMatrix.from_file, ConfusionMatrix.load):
            with pytest.raises(InputError, match=message) as caught:
                read(tmp_path / "m.csv")
            assert "leave out the totals" in str(caught.value)

    def test_the_way_out_for_a_class(self) -> None:
        frame = pd.DataFrame(with_sums(COUNTS), index=list("abx"), columns=list("abx"))
        with pytest.raises(InputError) as caught:
            ConfusionMatrix.from_counts(frame)
        assert "If this is a class" in str(caught.value)
        cm = ConfusionMatrix.from_counts(frame.to_numpy(), labels=["a", "b", "x"])
        assert cm.total == 468

    def test_a_code_among_numbers(self, tmp_path: Path) -> None:
        frame = pd.DataFrame(with_sums(COUNTS), index=[1, 2, 99], columns=[1, 2, 99])
        frame.to_csv(tmp_path / "m.csv")
        for act in (
            lambda: ConfusionMatrix.from_counts(frame),
            lambda: ConfusionMatrix.from_file(tmp_path / "m.csv"),
            lambda: ConfusionMatrix.from_counts(pd.read_csv(tmp_path / "m.csv")),
        ):
            with pytest.raises(InputError, match="those named 99 are the sums"):
                act()

    def test_other_names_on_rows_and_columns(self, tmp_path: Path) -> None:
        rows, columns = ["a", "b", "Column total"], ["a", "b", "Row total"]
        frame = pd.DataFrame(with_sums(COUNTS), index=rows, columns=columns)
        message = "those named 'Column total' on rows and 'Row total' on columns are the sums"
        for labels in (None, ["a", "b", "Column total", "Row total"]):
            with pytest.raises(InputError, match=message):
                ConfusionMatrix.from_counts(frame, labels)
        frame.to_csv(tmp_path / "m.csv")
        with pytest.raises(InputError, match="'Column total' on rows only, 'Row total' on"):
            ConfusionMatrix.from_file(tmp_path / "m.csv")

    @pytest.mark.parametrize("side", ["row", "column"])
    def test_sums_on_one_side(self, side: str) -> None:
        frame = pd.DataFrame(with_sums(COUNTS), index=list("abn"), columns=list("abn"))
        frame = frame.iloc[:, :-1] if side == "row" else frame.iloc[:-1]
        for labels in (None, list("abn")):
            with pytest.raises(InputError, match=f"the {side} named 'n' holds the sums of the oth"):
                ConfusionMatrix.from_counts(frame, labels)

    def test_sums_of_weights_and_of_a_sparse_frame(self) -> None:
        counts = with_sums([[0.5, 0.25], [0.1, 0.15]])
        frame = pd.DataFrame(counts, index=list("abn"), columns=list("abn"))
        with pytest.raises(InputError, match="those named 'n' are the sums"):
            ConfusionMatrix.from_counts(frame)
        thin = pd.DataFrame(with_sums(COUNTS), index=list("abn"), columns=list("abn"))
        with pytest.raises(InputError, match="those named 'n' are the sums"):
            ConfusionMatrix.from_counts(thin.astype(pd.SparseDtype("int64", 0)))

    def test_whole_numbers_kept_as_fractions(self) -> None:
        counts = with_sums([[50, 3, 2], [4, 60, 1], [2, 1, 40]])
        for numbers in (counts, counts.astype(float), sp.csr_array(counts.astype(float))):
            with pytest.raises(InputError, match="the last ones are the sums of the others"):
                ConfusionMatrix.from_counts(numbers)

    @pytest.mark.parametrize(
        ("rows", "columns", "counts"),
        [
            ("ab", "abc", [[0.2, 0, 0.2], [0.2, 0.6, 0.8]]),
            ("ab", "abc", [[1, 0, 1], [1, 3, 4]]),
            ("abc", "abc", [[1, 0.5, 0.5], [0.5, 0.5, 0], [0.5, 0, 0.5]]),
        ],
    )
    def test_fractions_agree_by_chance_as_well(
        self, rows: str, columns: str, counts: list[list[float]]
    ) -> None:
        frame = pd.DataFrame(counts, index=list(rows), columns=list(columns))
        cm = ConfusionMatrix.from_counts(frame, labels=list("abc"))
        assert cm.total == pytest.approx(np.sum(counts))

    def test_the_way_out_for_a_class_that_is_only_predicted(self) -> None:
        frame = pd.DataFrame(with_sums(COUNTS)[:2], index=list("ab"), columns=list("abn"))
        with pytest.raises(InputError, match="give it a row and a column"):
            ConfusionMatrix.from_counts(frame, labels=list("abn"))
        whole = frame.reindex(list("abn"), fill_value=0)
        assert ConfusionMatrix.from_counts(whole).total == 234

    def test_rounded_sums_that_say_so(self) -> None:
        counts = with_sums([[1 / 3, 2 / 7], [1 / 9, 5 / 7]]).round(4)
        frame = pd.DataFrame(counts, index=["a", "b", "Total"], columns=["a", "b", "Total"])
        with pytest.raises(InputError, match="those named 'Total' are the sums"):
            ConfusionMatrix.from_counts(frame)

    @pytest.mark.parametrize(
        "counts",
        [
            [[1, 1], [1, 2]],
            [[5, 5], [5, 5]],
            [[0, 0], [0, 0]],
            [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
            # By chance, among few samples or few classes.
            with_sums([[1, 0], [0, 1]]).tolist(),
            with_sums([[500, 0], [0, 0]]).tolist(),
            # Sums on one axis only: as often true as all others, not as often predicted.
            [[50, 3, 10], [4, 60, 10], [54, 63, 99]],
        ],
    )
    def test_what_is_no_sum_or_may_be_chance(self, tmp_path: Path, counts: list) -> None:
        names = [f"c{k}" for k in range(len(counts))]
        frame = pd.DataFrame(counts, index=names, columns=names)
        frame.to_csv(tmp_path / "m.csv")
        assert ConfusionMatrix.from_counts(frame).counts.tolist() == counts
        assert ConfusionMatrix.from_file(tmp_path / "m.csv").counts.tolist() == counts

    def test_few_samples_are_never_doubted(self) -> None:
        # All matrices of cells up to one: among so few samples anything can be a sum.
        for cells in itertools.product(range(2), repeat=9):
            counts = np.reshape(cells, (3, 3))
            frame = pd.DataFrame(counts, index=list("abc"), columns=list("abc"))
            assert (ConfusionMatrix.from_counts(frame).counts == counts).all()

    def test_numbers_without_names(self) -> None:
        inner = [[50, 3, 1], [4, 60, 2], [5, 1, 70]]
        for wrap in (np.array, sp.csr_array):
            with pytest.raises(InputError, match="but the last ones are the sums of the oth") as e:
                ConfusionMatrix.from_counts(wrap(with_sums(inner)))
            assert "from_counts(numbers, labels=[...])" in str(e.value)
        assert ConfusionMatrix.from_counts(with_sums(inner), range(4)).total == 4 * 196
        # Two classes and a third that is their sum: numbers alone are not enough.
        assert ConfusionMatrix.from_counts(with_sums(COUNTS)).n_classes == 3
        # A class that is never seen, or sums in another place, are no table of totals.
        assert ConfusionMatrix.from_counts(with_sums([[0, 0, 0], [4, 60, 2], [5, 1, 70]])).total
        assert ConfusionMatrix.from_counts(with_sums(inner)[::-1, ::-1]).total

    @given(st.data())
    def test_every_table_with_sums_is_refused(self, data: st.DataObject) -> None:
        size = data.draw(st.integers(2, 5))
        cells = st.lists(st.integers(5, 10**6), min_size=size, max_size=size)
        counts = data.draw(st.lists(cells, min_size=size, max_size=size))
        names = [*"abcde"[:size], "n"]
        frame = pd.DataFrame(with_sums(counts), index=names, columns=names)
        with pytest.raises(InputError, match="those named 'n' are the sums"):
            ConfusionMatrix.from_counts(frame)
        assert ConfusionMatrix.from_counts(frame.iloc[:-1, :-1]).counts.tolist() == counts
