"""Tables that would count wrongly: predictions on rows, totals among classes, shares as counts."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from deconfuse import ConfusionMatrix, InputError
from deconfuse.reading.count_tables import refuse_shares
from deconfuse.reading.matrix_files import read_matrix

COUNTS = [[50, 3], [4, 60]]
NAMES = ["a", "b"]


def frame_of(counts: Any, names: list[Any] = NAMES, **axes: Any) -> pd.DataFrame:
    return pd.DataFrame(counts, index=names, columns=names).rename_axis(**axes)


class TestAxes:
    @pytest.mark.parametrize(
        "corner",
        [
            "Predicted \\ True",
            "Predicted / Actual",
            "Predicted class | True class",
            "prediction",
            "y_pred",
            "y_hat",
            "pred vs. truth",
            "Classified",
            "Map \\ Reference",
        ],
    )
    def test_a_corner_that_says_predictions_on_rows(self, tmp_path: Path, corner: str) -> None:
        path = tmp_path / "t.csv"
        frame_of(COUNTS, index=corner).to_csv(path)
        for read in (ConfusionMatrix.from_file, ConfusionMatrix.load):
            with pytest.raises(InputError, match="Rows must be true classes and columns") as caught:
                read(path)
            assert "transpose=True" in str(caught.value)
        assert read_matrix(path, transpose=True).counts.tolist() == np.transpose(COUNTS).tolist()
        with pytest.raises(InputError, match="Rows must be true classes"):
            ConfusionMatrix.from_counts(pd.read_csv(path))

    @pytest.mark.parametrize(
        "corner",
        [
            "",
            "True \\ Predicted",
            "Reference",
            "Label",
            "class",
            "hats",
            "Predictions of model A",
            "Model predictions vs ground truth",
            "prediction (columns)",
            "Land cover map",
            "a / b / c",
            "predicted / predicted",
        ],
    )
    def test_any_other_corner(self, tmp_path: Path, corner: str) -> None:
        path = tmp_path / "t.csv"
        frame_of(COUNTS, index=corner).to_csv(path)
        assert ConfusionMatrix.from_file(path).counts.tolist() == COUNTS

    @pytest.mark.parametrize(
        ("rows", "columns"), [("classified", "x"), ("map", "reference"), (None, "y_true")]
    )
    def test_axis_names_of_a_frame(self, rows: str | None, columns: str) -> None:
        frame = frame_of(COUNTS, index=rows, columns=columns)
        with pytest.raises(InputError, match="Rows must be true classes"):
            ConfusionMatrix.from_counts(frame)
        turned_back = ConfusionMatrix.from_counts(frame, transpose=True)
        assert turned_back == ConfusionMatrix(np.transpose(COUNTS), NAMES)
        # The other way round it is as it must be.
        turned = frame_of(COUNTS, index=columns, columns=rows)
        assert ConfusionMatrix.from_counts(turned).counts.tolist() == COUNTS

    @pytest.mark.parametrize(
        ("rows", "columns"),
        [("label", "map"), ("model 1", "model 2"), (None, "label"), (0, 1), ("pred", "pred")],
    )
    def test_axis_names_that_say_nothing_wrong(self, rows: object, columns: object) -> None:
        frame = frame_of(COUNTS, index=rows, columns=columns)
        assert ConfusionMatrix.from_counts(frame).counts.tolist() == COUNTS


def with_sums(counts: Any) -> np.ndarray:
    inner = np.asarray(counts)
    wide = np.column_stack([inner, inner.sum(axis=1)])
    return np.vstack([wide, wide.sum(axis=0)])


class TestTotals:
    @pytest.mark.parametrize("name", ["All", "total", "SUM"])
    @pytest.mark.parametrize("place", [0, 2])
    def test_a_line_that_is_called_a_sum_and_is_one(
        self, tmp_path: Path, name: str, place: int
    ) -> None:
        order = list(NAMES)
        order.insert(place, name)
        frame = frame_of(with_sums(COUNTS), [*NAMES, name]).loc[order, order]
        frame.to_csv(tmp_path / "m.csv")
        for act in (
            lambda: ConfusionMatrix.from_counts(frame),
            lambda: ConfusionMatrix.from_counts(frame.astype(float)),
            lambda: ConfusionMatrix.from_counts(frame.astype(pd.SparseDtype("int64", 0))),
            lambda: ConfusionMatrix.from_file(tmp_path / "m.csv"),
            lambda: ConfusionMatrix.load(tmp_path / "m.csv"),
        ):
            with pytest.raises(InputError, match=f"those named '{name}' are the sums") as caught:
                act()
            assert "drop=[...]" in str(caught.value)
        assert ConfusionMatrix.from_counts(frame, drop=[name]).counts.tolist() == COUNTS
        assert read_matrix(tmp_path / "m.csv", drop=[name]).counts.tolist() == COUNTS

    def test_totals_beside_classes_that_are_numbers(self, tmp_path: Path) -> None:
        table = pd.crosstab(pd.Series([1, 2, 2]), pd.Series([1, 2, 1]), margins=True)
        with pytest.raises(InputError, match="must be of one type, got int and str"):
            ConfusionMatrix.from_counts(table)
        expected = ConfusionMatrix.from_predictions([1, 2, 2], [1, 2, 1])
        assert ConfusionMatrix.from_counts(table, drop=["All"]) == expected
        table.to_csv(tmp_path / "m.csv")
        assert read_matrix(tmp_path / "m.csv", drop=["All"]) == expected

    @pytest.mark.parametrize("side", ["row", "column"])
    def test_totals_on_one_side(self, tmp_path: Path, side: str) -> None:
        frame = frame_of(with_sums(COUNTS), [*NAMES, "All"])
        frame = frame.iloc[:, :-1] if side == "row" else frame.iloc[:-1]
        frame.to_csv(tmp_path / "m.csv")
        for act in (
            lambda: ConfusionMatrix.from_counts(frame),
            lambda: ConfusionMatrix.from_file(tmp_path / "m.csv"),
        ):
            with pytest.raises(InputError, match=f"'All' on {side}s only") as caught:
                act()
            assert "drop=[...]" in str(caught.value)
        assert read_matrix(tmp_path / "m.csv", drop=["All"]).counts.tolist() == COUNTS
        assert ConfusionMatrix.from_file(tmp_path / "m.csv", drop=["All"]).total == 117
        turned = ConfusionMatrix.from_file(tmp_path / "m.csv", drop=["All"], transpose=True)
        assert turned.counts.tolist() == np.transpose(COUNTS).tolist()

    @given(st.data())
    def test_numbers_with_given_names_are_never_refused(self, data: st.DataObject) -> None:
        size = data.draw(st.integers(2, 5))
        cells = st.lists(st.integers(0, 10**6), min_size=size, max_size=size)
        counts = with_sums(data.draw(st.lists(cells, min_size=size, max_size=size)))
        names = [*"abcde"[:size], "total"]
        for numbers in (counts, counts.tolist(), sp.csr_array(counts)):
            assert ConfusionMatrix.from_counts(numbers, names).counts.tolist() == counts.tolist()
            assert ConfusionMatrix.from_counts(numbers).counts.tolist() == counts.tolist()
        # Under another name it is a class, whatever its numbers are.
        frame = frame_of(counts, [*names[:-1], "n"])
        assert ConfusionMatrix.from_counts(frame).counts.tolist() == counts.tolist()

    def test_a_class_of_that_name_that_is_no_sum(self, tmp_path: Path) -> None:
        cm = ConfusionMatrix.from_counts([[4, 1, 0], [1, 4, 0], [1, 1, 9]], ["a", "b", "all"])
        cm.to_pandas().to_csv(tmp_path / "m.csv")
        assert ConfusionMatrix.from_file(tmp_path / "m.csv") == cm

    def test_what_deconfuse_saved_is_never_doubted(self, tmp_path: Path) -> None:
        cm = ConfusionMatrix(np.array([[1, 1], [1, 1]]), ("a", "all"))
        cm.save(tmp_path / "m.csv")
        assert ConfusionMatrix.from_file(tmp_path / "m.csv") == cm


class TestShares:
    @pytest.mark.parametrize("whole", [1, 100])
    @pytest.mark.parametrize("axis", [0, 1, None])
    def test_fractions_that_sum_to_one_or_a_hundred(self, whole: int, axis: int | None) -> None:
        counts = np.array([[50, 3, 1], [4, 60, 2], [5, 1, 70]])
        shares = counts / counts.sum(axis=axis, keepdims=True) * whole
        for numbers in (shares, shares.round(3), sp.csr_array(shares)):
            with pytest.raises(InputError, match=f"got fractions that sum to {whole} in"):
                refuse_shares(numbers)

    def test_whole_numbers_and_other_weights_are_counts(self) -> None:
        for cells in itertools.product([0, 1, 50, 100], repeat=4):
            refuse_shares(np.reshape(cells, (2, 2)))
            refuse_shares(np.reshape(cells, (2, 2)).astype(float))
        refuse_shares(np.array([[0.5, 2.0], [1.0, 3.25]]))


class TestOptions:
    def test_a_bare_matrix(self) -> None:
        read = ConfusionMatrix.from_counts
        expected = ConfusionMatrix(COUNTS, NAMES)
        assert read(with_sums(COUNTS), [*NAMES, "All"], drop=["All"]) == expected
        assert read(with_sums(COUNTS), drop=[2]).counts.tolist() == COUNTS
        assert read(sp.csr_array(COUNTS), transpose=True).counts.tolist() == [[50, 4], [3, 60]]

    @pytest.mark.parametrize("format", ["csv", "json", "npz"])
    def test_a_saved_matrix(self, tmp_path: Path, format: str) -> None:
        cm = ConfusionMatrix.from_counts([[5, 1, 6], [0, 4, 4], [5, 5, 10]], ["a", "b", "All"])
        path = tmp_path / f"m.{format}"
        cm.save(path)
        read = read_matrix(path, transpose=True, drop=["All"], labels=["b", "c", "a"])
        assert read == ConfusionMatrix([[4, 0, 1], [0, 0, 0], [0, 0, 5]], ["b", "c", "a"])

    def test_names_as_text_where_labels_are_text(self, tmp_path: Path) -> None:
        path = tmp_path / "m.csv"
        frame_of(COUNTS, [1, 2]).to_csv(path)
        assert read_matrix(path).labels == (1, 2)
        assert read_matrix(path, labels=["2", "1"]).labels == ("2", "1")
        frame_of(COUNTS, [1.0, 2.0]).to_csv(path)
        assert read_matrix(path).labels == (1, 2)

    def test_what_is_not_there_cannot_be_dropped(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="`drop` must name rows or columns, got 'All'"):
            ConfusionMatrix.from_counts(frame_of(COUNTS), drop=["All"])
        path = tmp_path / "m.csv"
        frame_of(COUNTS).to_csv(path)
        with pytest.raises(InputError, match="`drop` must be a list of names, got the string"):
            read_matrix(path, drop="All")
        with pytest.raises(InputError, match="must be one of `labels`, got 'b'"):
            read_matrix(path, labels=["a", "c"])
