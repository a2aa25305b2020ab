"""ConfusionMatrix as a value: immutable, merged by name, coarsened, reordered, shown."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import importlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from deconfuse import ConfusionMatrix, InputError, overlap
from deconfuse.errors import DeconfuseWarning
from tests.support import require

NAMES = ["cat", "dog", "emu"]
COUNTS = [[5, 1, 0], [2, 4, 1], [0, 0, 7]]


def small() -> ConfusionMatrix:
    return ConfusionMatrix.from_counts(COUNTS, NAMES)


def weighted() -> ConfusionMatrix:
    return ConfusionMatrix.from_counts(np.array(COUNTS) / 2, NAMES, variances=np.array(COUNTS) / 4)


def many(seed: int, *, n_classes: int = 3000, is_weighted: bool = False) -> ConfusionMatrix:
    """Return a matrix that is kept sparse."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, n_classes, 4 * n_classes)
    pred = np.where(rng.random(len(true)) < 0.5, true, rng.integers(0, n_classes, len(true)))
    weights = rng.integers(1, 9, len(true)) / 8 if is_weighted else None
    return ConfusionMatrix.from_predictions(
        true, pred, labels=range(n_classes), sample_weight=weights
    )


def test_parts_of_a_small_matrix() -> None:
    cm = small()
    assert cm.labels == ("cat", "dog", "emu")
    assert cm.n_classes == 3
    assert cm.total == 20
    assert not cm.is_sparse
    np.testing.assert_array_equal(cm.label_counts, [6, 7, 7])
    np.testing.assert_array_equal(cm.prediction_counts, [7, 5, 8])


def test_the_axes_are_true_on_rows_and_predicted_on_columns() -> None:
    cm = ConfusionMatrix.from_predictions(["cat"], ["dog"])
    np.testing.assert_array_equal(cm.counts, [[0, 1], [0, 0]])
    np.testing.assert_array_equal(cm.label_counts, [1, 0])
    # What a caller does with sums stays theirs.
    cm.label_counts[:] = 7
    np.testing.assert_array_equal(cm.label_counts, [1, 0])
    np.testing.assert_array_equal(cm.prediction_counts, [0, 1])


def test_totals_are_exact() -> None:
    assert type(small().total) is int
    large = ConfusionMatrix.from_counts([[2**62, 2**61], [0, 2**61 - 1]])
    assert large.total == 2**63 - 1
    assert weighted().total == 10.0


@pytest.mark.parametrize("cm", [small(), weighted(), many(0), many(1, is_weighted=True)])
def test_nothing_can_be_changed(cm: ConfusionMatrix) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        cm.counts = cm.counts  # type: ignore[misc]
    for matrix in (cm.counts, cm.variances):
        parts = [matrix.data, matrix.indices, matrix.indptr] if cm.is_sparse else [matrix]
        for part in parts:
            with pytest.raises(ValueError, match="read-only"):
                part[0] = 0
    # Python 3.11 stumbles over its own frozen classes with slots here, with a TypeError.
    with pytest.raises((AttributeError, TypeError)):
        cm.note = "slots allow no other attributes"  # type: ignore[attr-defined]


def test_the_array_given_is_copied() -> None:
    counts = np.array(COUNTS)
    cm = ConfusionMatrix(counts, NAMES)
    counts[0, 0] = 99
    assert cm.counts[0, 0] == 5
    sparse = sp.csr_array(([1], ([0], [0])), shape=(3000, 3000))
    kept = ConfusionMatrix.from_counts(sparse)
    sparse.data[0] = 7
    assert kept.total == 1


@pytest.mark.parametrize(
    ("n_classes", "n_cells", "is_sparse"),
    [(2048, 1, False), (2049, 1, True), (2100, 2100 * 1000, True), (2100, 2100 * 1060, False)],
)
def test_form_follows_classes_and_nonzeros(n_classes: int, n_cells: int, is_sparse: bool) -> None:
    flat = np.zeros(n_classes * n_classes, dtype=np.int64)
    flat[:n_cells] = 1
    matrix = flat.reshape(n_classes, n_classes)
    one = ConfusionMatrix.from_counts(matrix)
    other = ConfusionMatrix.from_counts(sp.coo_array(matrix))
    assert one.is_sparse is is_sparse
    assert other.is_sparse is is_sparse
    assert one == other
    assert hash(one) == hash(other)


def test_sparse_counts_are_canonical() -> None:
    cells = sp.coo_array(([1, 2, 0], ([9, 9, 3], [4, 4, 3])), shape=(3000, 3000))
    cm = ConfusionMatrix.from_counts(cells)
    assert cm.counts.nnz == 1
    assert cm.counts[9, 4] == 3
    assert cm.counts.has_canonical_format


@pytest.mark.parametrize(
    "make", [small, weighted, lambda: many(0), lambda: many(1, is_weighted=True)]
)
def test_copies_and_pickles_are_equal_and_read_only(make: Any) -> None:
    cm = make()
    for other in (pickle.loads(pickle.dumps(cm)), copy.copy(cm), copy.deepcopy(cm)):
        assert other == cm
        assert other.is_weighted == cm.is_weighted
        cells = other.counts.data if other.is_sparse else other.counts
        assert not np.asarray(cells).flags.writeable


def test_equality_and_hash() -> None:
    cm = small()
    assert cm == small()
    assert hash(cm) == hash(small())
    assert cm == ConfusionMatrix.from_counts(np.array(COUNTS, dtype=float), NAMES)
    assert hash(cm) == hash(ConfusionMatrix.from_counts(np.array(COUNTS, dtype=float), NAMES))
    # Sums depend on the order in memory and on the type, equality does not.
    cells = np.random.default_rng(1).random((40, 40))
    one = ConfusionMatrix.from_counts(cells)
    other = ConfusionMatrix.from_counts(np.asfortranarray(cells))
    assert one == other
    assert hash(one) == hash(other)
    one = ConfusionMatrix.from_counts([[2**53, 1], [0, 0]])
    other = ConfusionMatrix.from_counts([[2.0**53, 1], [0, 0]])
    assert one == other
    assert hash(one) == hash(other)
    different = [
        cm.reorder(["dog", "cat", "emu"]),
        ConfusionMatrix.from_counts(COUNTS, ["cat", "dog", "fox"]),
        ConfusionMatrix.from_counts(np.array(COUNTS) + 1, NAMES),
        ConfusionMatrix.from_counts(COUNTS, NAMES, variances=np.array(COUNTS) * 2),
    ]
    assert all(cm != other for other in different)
    assert cm != COUNTS
    assert len({cm, small(), *different}) == 5


def test_the_class_true_is_not_the_class_1() -> None:
    flags = ConfusionMatrix.from_counts([[1, 2], [3, 4]], [False, True])
    numbers = ConfusionMatrix.from_counts([[1, 2], [3, 4]], [0, 1])
    assert flags != numbers
    assert hash(flags) != hash(numbers)


@pytest.mark.parametrize("seed", [0, 1])
def test_sparse_equality_looks_at_cells(seed: int) -> None:
    assert many(seed) == many(seed)
    assert many(seed) != many(seed + 2)
    assert many(seed) != many(seed, is_weighted=True)


def test_merging_aligns_by_name() -> None:
    other = ConfusionMatrix.from_counts([[1, 2], [3, 4]], ["fox", "cat"])
    merged = small() + other
    # The names of `other` are not sorted: they follow those on the left.
    assert merged.labels == ("cat", "dog", "emu", "fox")
    np.testing.assert_array_equal(
        merged.counts, [[9, 1, 0, 3], [2, 4, 1, 0], [0, 0, 7, 0], [2, 0, 0, 1]]
    )


def test_shards_add_up_with_sum() -> None:
    shards = [ConfusionMatrix.from_predictions([k, k + 1], [k, k]) for k in range(4)]
    whole = sum(shards)
    assert whole == ConfusionMatrix.from_predictions(
        [0, 1, 1, 2, 2, 3, 3, 4], [0, 0, 1, 1, 2, 2, 3, 3]
    )


def test_an_empty_shard_changes_nothing() -> None:
    empty = ConfusionMatrix.from_counts(np.zeros((3, 3), dtype=int), NAMES)
    assert empty.total == 0
    assert small() + empty == small()


def test_only_matrices_can_be_merged() -> None:
    for other in (1, "cat", COUNTS):
        with pytest.raises(TypeError, match="unsupported operand"):
            small() + other


def test_merging_turns_sparse_where_the_union_is_large() -> None:
    one = ConfusionMatrix.from_predictions(np.arange(1500), np.arange(1500))
    other = ConfusionMatrix.from_predictions(np.arange(1000, 2500), np.arange(1000, 2500))
    merged = one + other
    assert (one.is_sparse, other.is_sparse, merged.is_sparse) == (False, False, True)
    assert merged.n_classes == 2500
    np.testing.assert_array_equal(merged.label_counts, 1 + ((np.arange(2500) // 500) == 2))


def test_merging_classes_adds_their_cells() -> None:
    coarse = small().merge_classes({"bird": ["emu"], "mammal": ["cat", "dog"]})
    assert coarse.labels == ("mammal", "bird")
    np.testing.assert_array_equal(coarse.counts, [[12, 1], [0, 7]])


def test_merging_classes_keeps_others_and_variances() -> None:
    coarse = weighted().merge_classes({"mammal": ["dog", "cat"]})
    assert coarse.labels == ("mammal", "emu")
    np.testing.assert_array_equal(coarse.counts, [[6, 0.5], [0, 3.5]])
    np.testing.assert_array_equal(coarse.variances, [[3, 0.25], [0, 1.75]])


def test_a_group_may_have_the_name_of_a_member() -> None:
    assert small().merge_classes({"cat": ["cat", "dog"]}).labels == ("cat", "emu")


def test_all_classes_may_get_names_of_another_type() -> None:
    digits = ConfusionMatrix.from_counts(np.eye(4))
    named = digits.merge_classes({"even": [0, 2], "odd": [1, 3]})
    assert named.labels == ("even", "odd")
    np.testing.assert_array_equal(named.counts, [[2, 0], [0, 2]])


def test_many_sparse_classes_merge_into_few() -> None:
    cm = many(5)
    coarse = cm.merge_classes(
        {k: [name for name in range(3000) if name % 10 == k] for k in range(10)}
    )
    assert not coarse.is_sparse
    expected = cm.dense().reshape(300, 10, 300, 10).sum(axis=(0, 2))
    np.testing.assert_array_equal(coarse.counts, expected)


@pytest.mark.parametrize("make", [small, weighted])
def test_reordering_moves_rows_and_columns(make: Any) -> None:
    cm = make()
    moved = cm.reorder(["emu", "cat", "dog"])
    order = [2, 0, 1]
    np.testing.assert_array_equal(moved.counts, cm.counts[np.ix_(order, order)])
    np.testing.assert_array_equal(moved.variances, cm.variances[np.ix_(order, order)])
    assert moved.reorder(NAMES) == cm


def test_names_are_plain_python_values() -> None:
    cases: list[tuple[Any, type]] = [
        (np.array([3, 1]), int),
        (np.array(["a", "b"]), str),
        (np.array([True, False]), bool),
        (np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]"), datetime.date),
        ([1.0, 2.0], int),
    ]
    for names, kind in cases:
        cm = ConfusionMatrix.from_counts(np.eye(2), names)
        assert [type(name) for name in cm.labels] == [kind, kind]


def test_counts_without_names_are_numbered() -> None:
    assert ConfusionMatrix.from_counts(COUNTS).labels == (0, 1, 2)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.bool_, object])
def test_whole_counts_become_int64(dtype: Any) -> None:
    counts = np.array([[1, 0], [0, 1]], dtype=dtype)
    assert ConfusionMatrix.from_counts(counts).counts.dtype == np.int64


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_float_counts_become_float64(dtype: Any) -> None:
    counts = np.array([[1.5, 0], [0, 1]], dtype=dtype)
    assert ConfusionMatrix.from_counts(counts).counts.dtype == np.float64


def test_counts_from_a_tensor() -> None:
    require("torch")
    import torch

    assert ConfusionMatrix.from_counts(torch.tensor(COUNTS), NAMES) == small()
    floats = torch.tensor(COUNTS, dtype=torch.bfloat16, requires_grad=True)
    assert ConfusionMatrix.from_counts(floats, NAMES) == small()
    assert ConfusionMatrix.from_counts(torch.tensor(COUNTS).to_sparse(), NAMES) == small()
    weighted = ConfusionMatrix.from_counts(COUNTS, NAMES, variances=2 * floats)
    np.testing.assert_array_equal(weighted.variances, 2 * np.array(COUNTS))


def test_counts_from_pandas_keep_their_names_and_are_aligned() -> None:
    frame = pd.DataFrame(COUNTS, index=NAMES, columns=NAMES)
    assert ConfusionMatrix.from_counts(frame) == small()
    assert ConfusionMatrix.from_counts(frame[["emu", "cat", "dog"]]) == small()
    assert ConfusionMatrix.from_counts(small().to_pandas()) == small()
    assert ConfusionMatrix.from_counts(frame, ["emu", "dog", "cat"]) == small().reorder(
        ["emu", "dog", "cat"]
    )


def test_a_crosstab_with_absent_classes_is_completed_by_labels() -> None:
    true, pred = ["cat", "dog", "emu"], ["cat", "cat", "fox"]
    table = pd.crosstab(pd.Series(true), pd.Series(pred))
    names = ["cat", "dog", "emu", "fox"]
    cm = ConfusionMatrix.from_counts(table, labels=names)
    assert cm == ConfusionMatrix.from_predictions(true, pred, labels=names)


@pytest.mark.parametrize("names", [[0, 1, 2], ["a", "b", "c"], [False, True]])
def test_a_class_that_is_only_predicted_is_no_column_of_names(names: list[Any]) -> None:
    pairs = [(1, 0), (1, 1), (1, 1)] if len(names) == 2 else [(1, 0), (1, 1), (1, 2), (2, 0)]
    true, pred = ([names[pair[side]] for pair in pairs] for side in (0, 1))
    table = pd.crosstab(pd.Series(true), pd.Series(pred))
    assert table.shape == (len(names) - 1, len(names))
    cm = ConfusionMatrix.from_counts(table, labels=names)
    assert cm == ConfusionMatrix.from_predictions(true, pred, labels=names)


@pytest.mark.parametrize("names", [[0, 1, 2], ["a", "b", "c"], [False, True]])
def test_counts_from_a_crosstab_whose_index_became_a_column(names: list[Any]) -> None:
    true, pred = [*names, names[0]], [*names, names[1]]
    table = pd.crosstab(pd.Series(true), pd.Series(pred)).reset_index()
    assert ConfusionMatrix.from_counts(table) == ConfusionMatrix.from_predictions(true, pred)


@pytest.mark.parametrize("names", [[0, 1, 2], [30, 10, 20], [False, True]])
def test_counts_from_a_file_whose_first_line_is_text(names: list[Any], tmp_path: Path) -> None:
    size = len(names)
    frame = pd.DataFrame(np.array(COUNTS)[:size, :size], index=names, columns=names)
    expected = ConfusionMatrix.from_counts(frame)
    if 0 not in names:
        frame = frame[names[::-1]]
    frame.to_csv(tmp_path / "pandas.csv")
    expected.save(tmp_path / "saved.csv")
    for path in tmp_path.iterdir():
        read = [pd.read_csv(path, index_col=0), pd.read_csv(path)]
        # Polars has text for truth in a file, so rows and columns agree as they are.
        read += [] if size == 2 else [pl.read_csv(path)]
        for table in read:
            cm = ConfusionMatrix.from_counts(table, variances=table)
            assert cm == ConfusionMatrix(expected.counts, expected.labels, expected.counts)
            assert ConfusionMatrix.from_counts(table, names) == expected


@pytest.mark.parametrize("name", ["source", "normalize", "counts", "matrix", "columns", "index"])
def test_classes_may_have_the_names_of_attributes(name: str) -> None:
    names = ["sink", name]
    frame = pd.DataFrame([[5, 1], [2, 6]], index=names, columns=names)
    assert ConfusionMatrix.from_counts(frame).labels == ("sink", name)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_variances_from_a_frame_are_aligned_as_the_counts_are(library: str) -> None:
    columns = {"": NAMES} | {name: [row[k] for row in COUNTS] for k, name in enumerate(NAMES)}
    squares = {"": NAMES[::-1]}
    for k in (1, 2, 0):
        squares[NAMES[k]] = [10 * row[k] for row in COUNTS[::-1]]
    module = importlib.import_module(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    expected = ConfusionMatrix(COUNTS, NAMES, 10 * np.array(COUNTS))
    for names in (NAMES, NAMES[::-1], [*NAMES, "fox"]):
        cm = ConfusionMatrix.from_counts(make(columns), names, variances=make(squares))
        if "fox" in names:
            cm = ConfusionMatrix(cm.counts[:3, :3], NAMES, cm.variances[:3, :3])
        assert cm == expected.reorder(cm.labels)
    assert ConfusionMatrix.from_counts(make(columns), variances=make(squares)) == expected
    bare = ConfusionMatrix.from_counts(COUNTS, NAMES, variances=make(squares))
    assert bare == expected


def test_the_constructor_aligns_frames_by_name() -> None:
    frame = small().to_pandas()[["emu", "cat", "dog"]]
    assert ConfusionMatrix(frame, NAMES) == small()
    weighted = ConfusionMatrix(frame, NAMES[::-1], frame * 10)
    expected = ConfusionMatrix(COUNTS, NAMES, 10 * np.array(COUNTS))
    assert weighted == expected.reorder(NAMES[::-1])
    assert ConfusionMatrix(COUNTS, NAMES, frame * 10) == expected


def test_bare_variances_belong_to_a_frame_in_the_same_order() -> None:
    squares = 10 * np.array(COUNTS)
    cm = ConfusionMatrix.from_counts(small().to_pandas(), NAMES, variances=squares)
    assert cm == ConfusionMatrix(COUNTS, NAMES, squares)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_counts_from_a_table_with_a_column_of_names(library: str) -> None:
    columns = {"": NAMES} | {name: [row[k] for row in COUNTS] for k, name in enumerate(NAMES)}
    if library == "pyarrow":
        frame: Any = pa.table(columns)
    elif library == "polars":
        frame = pl.DataFrame(columns)
    else:
        frame = pd.DataFrame(columns)
    assert ConfusionMatrix.from_counts(frame) == small()


def test_counts_from_polars_without_row_names() -> None:
    frame = pl.DataFrame({name: [row[k] for row in COUNTS] for k, name in enumerate(NAMES)})
    assert ConfusionMatrix.from_counts(frame) == small()
    if hasattr(pl, "Int128"):  # Not in the first releases of Polars 1.
        assert ConfusionMatrix.from_counts(frame.cast(pl.Int128)) == small()


@pytest.mark.parametrize(
    "make", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.lil_array]
)
def test_counts_from_sparse_matrices(make: Any) -> None:
    assert ConfusionMatrix.from_counts(make(COUNTS), NAMES) == small()


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_repeated_sparse_cells_add_up_beyond_their_type(dtype: Any, form: str) -> None:
    times = 70_000
    places = np.repeat([0, 1], [times, 10])
    cells = np.ones(times + 10, dtype)
    if dtype is np.float32:
        # From here on, adding one changes nothing in this type.
        cells[0] = 2**24
    if form == "coo":
        counts: Any = sp.coo_array((cells, (places, places)), shape=(2, 2))
    else:
        make = {"csr": sp.csr_array, "csc": sp.csc_array}[form]
        counts = make((cells, places, [0, times, times + 10]), shape=(2, 2))
    before = counts.data.copy()
    np.testing.assert_array_equal(
        ConfusionMatrix.from_counts(counts).counts, np.diag([times - 1 + int(cells[0]), 10])
    )
    np.testing.assert_array_equal(counts.data, before)


def test_to_pandas_names_its_axes() -> None:
    frame = small().to_pandas()
    assert (frame.index.name, frame.columns.name) == ("true", "predicted")
    assert frame.loc["dog", "cat"] == 2
    frame.loc["dog", "cat"] = 99
    assert small().counts[1, 0] == 2


def test_to_pandas_stays_sparse() -> None:
    cm = many(7)
    frame = cm.to_pandas()
    assert frame.sparse.density < 0.01
    assert frame.to_numpy().sum() == cm.total
    assert ConfusionMatrix.from_counts(frame) == cm


def test_repr_is_short() -> None:
    assert repr(small()) == (
        "<ConfusionMatrix of 3 classes ('cat', 'dog', 'emu'): total 20, 16 on the diagonal>"
    )
    assert len(repr(many(8))) < 120
    long = ConfusionMatrix.from_counts(np.eye(2), ["x" * 500, "y\n<b>"])
    assert len(repr(long)) < 200
    assert "\n" not in repr(long)


def test_a_frame_without_names_is_taken_by_position() -> None:
    frame = pd.DataFrame([[5, 1], [2, 6]])
    for cm in (
        ConfusionMatrix(frame, ["b", "a"], frame * 2.0),
        ConfusionMatrix.from_counts(frame, labels=["b", "a"], variances=frame * 2.0),
    ):
        assert cm.labels == ("b", "a")
        assert cm.counts.tolist() == [[5, 1], [2, 6]]
        assert cm.variances.tolist() == [[10, 2], [4, 12]]
    # Here the numbers are the names.
    assert ConfusionMatrix.from_counts(frame, labels=[1, 0]).counts.tolist() == [[6, 2], [1, 5]]


def test_rectangular_frames_are_compared_by_position() -> None:
    frame = pl.DataFrame([[1, 2, 3], [4, 5, 6]])
    assert overlap(frame, frame) == pytest.approx(1.0)


def test_shares_take_totals_by_name_and_warn_without_them() -> None:
    shares = pd.DataFrame([[90, 10], [50, 50]], index=list("ab"), columns=list("ab"))
    totals = pd.Series({"b": 1000, "a": 10})
    for given in (totals, totals.to_dict(), [10, 1000]):
        found = ConfusionMatrix.from_shares(shares, row_totals=given)
        assert found.counts.tolist() == [[9, 1], [500, 500]]
    with pytest.warns(DeconfuseWarning, match="one sample per class"):
        bare = ConfusionMatrix.from_shares(shares)
    # Without epsilon the totals do not matter.
    alone, whole = (cm.normalize("bi", epsilon=0).matrix for cm in (bare, found))
    np.testing.assert_allclose(alone, whole, atol=1e-8)
    with pytest.raises(InputError, match="'a' missing and 'x' unknown"):
        ConfusionMatrix.from_shares(shares, row_totals={"x": 1, "b": 2})


def test_shares_are_checked_as_counts_are() -> None:
    named = ConfusionMatrix.from_shares(
        [[90, 10], [50, 50]], np.array(["a", "b"]), row_totals=[1, 2]
    )
    assert (named.labels, named.counts.tolist()) == (("a", "b"), [[0.9, 0.1], [1.0, 1.0]])
    for shares, labels in (
        ([[1, 0], [0, 1]], []),
        (np.zeros((0, 0)), None),
        ([[1], [0.5, 0.5]], None),
        ([[0.5, 0.5]], None),
        ([[-0.5, 1.5], [0, 1]], None),
    ):
        with pytest.raises(InputError):
            ConfusionMatrix.from_shares(shares, labels)
