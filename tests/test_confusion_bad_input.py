"""What a confusion matrix refuses to be made of, each case with its own message."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import deconfuse as dc
from deconfuse import ConfusionMatrix, InputError
from tests.support import refused

make = ConfusionMatrix.from_counts
NAMES = ["cat", "dog", "emu"]


def small() -> ConfusionMatrix:
    return make([[5, 1, 0], [2, 4, 1], [0, 0, 7]], NAMES)


@pytest.mark.parametrize("wrap", [np.array, sp.csr_array])
def test_counts_that_are_not_square(wrap: Any) -> None:
    refused(
        r"`counts` must be square, .* got shape \(2, 3\)",
        "every class a row and a column",
        lambda: make(wrap([[1, 2, 3], [4, 5, 6]])),
    )


@pytest.mark.parametrize("counts", [[1, 2], 5, np.ones((2, 2, 2))])
def test_counts_that_are_no_matrix(counts: Any) -> None:
    refused("`counts` must be square, .* got shape", "row and a column", lambda: make(counts))


def test_ragged_counts() -> None:
    refused("rows of equal length", None, lambda: make([[1, 2], [3]]))


def test_frames_without_classes() -> None:
    for empty in (pd.DataFrame(), pl.DataFrame(), pd.DataFrame({"a": [], "b": []})):
        refused("must name at least one class", None, lambda empty=empty: make(empty))


def test_no_classes() -> None:
    refused("at least one class, got an empty matrix", None, lambda: make(np.empty((0, 0))))


@pytest.mark.parametrize("wrap", [np.array, sp.csr_array])
def test_negative_counts(wrap: Any) -> None:
    refused(
        "`counts` must not be negative, got -3 as the lowest of 2 negative values",
        "differences of matrices are not counts",
        lambda: make(wrap([[1, -3], [-1, 4]])),
    )


@pytest.mark.parametrize("wrap", [np.array, sp.csr_array])
def test_missing_and_infinite_counts(wrap: Any) -> None:
    refused(
        "`counts` must have no missing values, got 1 NaN",
        "count 0",
        lambda: make(wrap([[1, np.nan], [0, 1]])),
    )
    refused(
        "`counts` must be finite, got 2 infinite",
        None,
        lambda: make(wrap([[np.inf, 0], [np.inf, 1]])),
    )


def test_masked_counts() -> None:
    counts = np.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    message, hint = "`counts` must have no missing values, got 1 masked", r"filled\(0\).* count 0"
    refused(message, hint, lambda: make(counts))
    refused(message, hint, lambda: make(list(counts)))
    refused("`variances` .* got 1 masked", hint, lambda: make(np.ones((2, 2)), variances=counts))
    assert make(np.ma.masked_array([[1, 2], [3, 4]])).total == 10


def test_counts_of_objects() -> None:
    refused("got 2 None or NaN", "count 0", lambda: make([[1, None], [None, 2]]))
    refused(
        "`counts` must be numbers, got 'x'",
        None,
        lambda: make(np.array([[1, "x"], [2, 3]], object)),
    )
    refused("`counts` must be numbers, got <U", None, lambda: make([["1", "2"], ["3", "4"]]))
    refused("`counts` must be numbers, got complex", None, lambda: make(np.eye(2) * 1j))


@pytest.mark.parametrize(
    "counts",
    [
        [[2**62, 2**62], [0, 0]],
        [[2**64, 0], [0, 1]],
        np.array([[2**63, 0], [0, 1]], dtype=np.uint64),
        sp.csr_array(np.array([[2**62, 2**62], [0, 0]])),
    ],
)
def test_counts_too_large_for_64_bits(counts: Any) -> None:
    refused(r"`counts` must add up to at most 2\*\*63 - 1", "as floats", lambda: make(counts))


@pytest.mark.parametrize("value", [2**62, np.uint64(2**63)])
def test_repeated_sparse_cells_too_large_for_64_bits(value: Any) -> None:
    counts = sp.coo_array((np.array([value, value]), ([0, 0], [0, 0])), shape=(2, 2))
    refused(r"add up to at most 2\*\*63 - 1", "floats", lambda: make(counts))


def test_sparse_counts_that_are_no_matrix() -> None:
    refused("must be square, .* got shape", "row and a column", lambda: make(sp.coo_array([1, 2])))
    refused("`counts` must be numbers, got complex", None, lambda: make(sp.coo_array([[1j]])))


def test_float_counts_without_a_finite_total() -> None:
    refused(
        "`counts` must have a finite total, got inf", None, lambda: make(np.full((2, 2), 1e308))
    )


def test_names_that_do_not_fit() -> None:
    refused(
        "one name per class, got 2 names for 3 classes", None, lambda: make(np.eye(3), ["a", "b"])
    )
    refused(
        "one name per class, got 1 names for 2", None, lambda: ConfusionMatrix(np.eye(2), ["a"])
    )
    refused(
        "`labels` must be distinct, got 'a' more than once",
        "merge",
        lambda: make(np.eye(2), ["a", "a"]),
    )
    refused(
        "`labels` must be of one type, got bool and int",
        "all names",
        lambda: make(np.eye(2), [True, 2]),
    )


def test_variances_that_do_not_fit() -> None:
    refused(
        r"`variances` must have the shape of `counts`, got \(2, 2\) for \(3, 3\)",
        None,
        lambda: make(np.eye(3), variances=np.eye(2)),
    )
    refused(
        "`variances` must not be negative", "counts", lambda: make(np.eye(2), variances=-np.eye(2))
    )


def test_variances_whose_names_do_not_fit() -> None:
    counts = small().to_pandas()
    squares = counts * 10
    for act in (
        lambda: make(counts, NAMES[::-1], variances=squares.to_numpy()),
        lambda: make(counts[["emu", "cat", "dog"]], variances=squares.to_numpy()),
        lambda: make(counts, [*NAMES, "fox"], variances=squares.to_numpy()),
    ):
        refused("`variances` must name its classes .* without names", "as a DataFrame", act)
    refused(
        "`variances` must have the rows of `counts`, got 'emu' in one of them only",
        "same samples",
        lambda: make(counts, variances=squares.iloc[:2]),
    )
    refused(
        "`variances` must have the columns of `counts`, got 'fox', 'dog' in one",
        "same samples",
        lambda: make(counts, variances=squares.rename(columns={"dog": "fox"})),
    )
    refused(
        "must have the rows of `counts`, got 'cat', 'dog', 'emu', 0, 1 and 1 more in one",
        "same samples",
        lambda: make(counts.to_numpy(), variances=squares),
    )
    refused("`variances` must not be negative", "counts", lambda: make(counts, variances=-squares))


def test_frames_whose_axes_differ() -> None:
    wide = pd.crosstab(pd.Series([1, 1, 2]), pd.Series([0, 1, 2]))
    refused("got none on rows only, 0 on columns only", "as `labels=`", lambda: make(wide))
    words = pd.crosstab(pd.Series(["b", "b", "c"]), pd.Series(["a", "b", "c"]))
    refused("got none on rows only, 'a' on columns only", "as `labels=`", lambda: make(words))

    frame = pd.DataFrame([[1, 2], [3, 4]], index=["cat", "dog"], columns=["cat", "emu"])
    refused("got 'dog' on rows only, 'emu' on columns only", "as `labels=`", lambda: make(frame))
    refused(
        "Every row and column of `counts` must be one of `labels`, got 'emu'",
        "add the class",
        lambda: make(frame, ["cat", "dog"]),
    )
    numbered = pd.DataFrame([[1, 2], [3, 4]], columns=["cat", "dog"])
    refused(
        r"must name classes by one type, got int \(0, 1\) and str \('cat', 'dog'\)",
        "set the index",
        lambda: make(numbered),
    )
    unordered = pd.DataFrame([[1, 2], [3, 4]], columns=["1", "0"])
    refused("must name classes by one type", "set the index", lambda: make(unordered))
    twice = pd.DataFrame([[1, 2], [3, 4]], index=["a", "b"], columns=["a", "a"])
    longer = pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=["a", "a", "b"])
    for frame in (twice, longer):
        refused(
            "`columns of counts` must be distinct, got 'a' more than once",
            "merge",
            lambda frame=frame: make(frame),
        )


def test_frames_with_predictions_on_rows() -> None:
    true, pred = pd.Series(["a"] * 6 + ["b"] * 4), pd.Series(["a"] * 5 + ["b"] * 5)
    table = pd.crosstab(pred.rename("predicted"), true.rename("true"))
    for frame, given in (
        (table, "got 'predicted' as the name of rows and 'true' as the name of columns"),
        (table.rename_axis(columns=None), "got 'predicted' as the name of rows"),
        (table.rename_axis(index=None), "got 'true' as the name of columns"),
        (table.rename_axis(index="y_pred", columns="y"), "got 'y_pred' as the name of rows"),
        (table.rename_axis(columns=None).reset_index(), "got 'predicted' as the name of rows"),
    ):
        refused(
            f"Rows must be true classes and columns predicted ones, {given}",
            "transpose",
            lambda frame=frame: make(frame),
        )
    for frame in (table.T, table.T.rename_axis(columns=None), table.T.rename_axis(index=None)):
        assert make(frame).label_counts.tolist() == [6, 4]
    unnamed = table.rename_axis(index=None, columns=None)
    assert make(unnamed).label_counts.tolist() == [5, 5]


def test_frames_with_missing_counts() -> None:
    frame = pd.DataFrame([[1, None], [3, 4]], index=["a", "b"], columns=["a", "b"])
    refused("no missing values, got 1 NaN", "count 0", lambda: make(frame))


def test_merging_names_of_two_types() -> None:
    refused(
        r"must name classes by one type, got str \('cat', 'dog', 'emu'\) and int \(0, 1\)",
        "rename",
        lambda: small() + make(np.eye(2)),
    )
    refused("bool .* and int", "rename", lambda: make(np.eye(2), [False, True]) + make(np.eye(2)))


def test_merging_overflows() -> None:
    large = make([[2**62, 0], [0, 2**61]])
    refused(
        r"Merged counts must add up to at most 2\*\*63 - 1, got 13,835,058,055,282,163,712",
        "count in floats",
        lambda: large + large,
    )
    floats = make(large.counts * 1.0, large.labels)
    assert (floats + floats).total == 2.0 * large.total
    huge = make(np.full((2, 2), 4e307))
    refused("Merged counts must have a finite total", None, lambda: huge + huge)


def test_sparse_merging_overflows() -> None:
    large = make(sp.csr_array(([2**62], ([0], [0])), shape=(3000, 3000)))
    refused(r"at most 2\*\*63 - 1", "floats", lambda: large + large)


@pytest.mark.parametrize(
    ("groups", "message", "hint"),
    [
        (
            {"animal": ["cat", "cow"]},
            "must be classes of the matrix, got 'cow'",
            "'cat', 'dog', 'emu'",
        ),
        ({"a": ["cat"], "b": ["cat"]}, "one group only, got 'cat' in 'a' and in 'b'", None),
        ({"a": ["cat", "cat"]}, "must be distinct, got 'cat' more than once", "merge_classes"),
        ({"dog": ["cat", "emu"]}, "name of a class outside it, got 'dog'", "add that class"),
        ({"a": []}, "must name at least one class", None),
        ({"a": "cat"}, "must be a sequence of class names, got 'cat'", "in a list"),
        ({"a": 3}, "must be a sequence of class names, got 3", "in a list"),
        ({}, "must map each new name to the classes it joins, got {}", "animal"),
        (["cat", "dog"], "must map each new name to the classes it joins, got list", "animal"),
        ({1: ["cat", "dog"]}, "one type, got groups 1 beside .*'emu'", "every class in a group"),
        ({None: ["cat"]}, "`groups` must have no missing values", "drop"),
    ],
)
def test_merging_classes(groups: Any, message: str, hint: str | None) -> None:
    refused(message, hint, lambda: small().merge_classes(groups))


def test_merging_classes_does_not_take_true_for_1() -> None:
    refused("got True", "the classes are 0, 1", lambda: make(np.eye(2)).merge_classes({5: [True]}))


@pytest.mark.parametrize(
    ("order", "message", "hint"),
    [
        (["cat", "dog", "fox"], "must have every class with samples, got none of 'emu'", "subset"),
        (["cat", "dog", "dog"], "must be distinct, got 'dog'", "merge"),
        ([0, 1, 2], "must have every class with samples, got none of 'cat', 'dog'", "subset"),
    ],
)
def test_reordering(order: Any, message: str, hint: str | None) -> None:
    refused(message, hint, lambda: small().reorder(order))


def test_counts_that_are_a_matrix_already() -> None:
    refused("got a ConfusionMatrix", "as it is", lambda: ConfusionMatrix.from_counts(small()))
    refused("got a Normalized", ".source", lambda: ConfusionMatrix.from_counts(small().normalize()))


@pytest.mark.parametrize("scale", [1, 100])
@pytest.mark.parametrize("method", ["row", "col", "all", "bi"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, pd.DataFrame])
def test_shares_are_not_counts(method: str, scale: int, kind: Any) -> None:
    shares = dc.normalize([[90, 10, 3], [5, 6, 7], [2, 8, 30]], method, epsilon=0.5).matrix * scale
    for given in (kind(shares), kind(shares.round(3))):
        for take in (ConfusionMatrix.from_counts, dc.diagnose, dc.Study):
            with pytest.raises(InputError, match=f"got fractions that sum to {scale}") as caught:
                take(given)
            assert "from_shares" in str(caught.value)
    # What depends on ratios alone takes them.
    np.testing.assert_allclose(
        dc.normalize(shares, "bi", epsilon=0.0).matrix,
        dc.normalize(shares * 7, "bi", epsilon=0.0).matrix,
    )
    assert dc.overlap(pd.DataFrame(shares), pd.DataFrame(shares)) == pytest.approx(1)


def test_whole_numbers_and_weights_may_sum_to_anything() -> None:
    even = [[60, 40], [0, 100]]
    assert ConfusionMatrix.from_counts(even).total == 200
    assert ConfusionMatrix.from_counts(np.array(even, float)).total == 200
    weights = np.array([[0.5, 0.2], [0.1, 0.2]])
    assert ConfusionMatrix.from_counts(weights, variances=weights**2).total == pytest.approx(1)
    assert ConfusionMatrix.from_counts([[0.5, 0.7], [0.1, 0.2]]).total == pytest.approx(1.5)
