"""`Normalized`: undefined cells, many classes, single cells, weights, errors with class names."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from scipy import sparse

import deconfuse as dc
from tests.support import require

PETS = ("cat", "dog", "fox")


def pets(counts: object) -> dc.ConfusionMatrix:
    return dc.ConfusionMatrix.from_counts(counts, labels=PETS)


def many(n_classes: int = 100_000) -> dc.ConfusionMatrix:
    rng = np.random.default_rng(0)
    y_true = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 50_000)])
    y_pred = np.where(rng.random(y_true.size) < 0.2, (y_true + 1) % n_classes, y_true)
    return dc.ConfusionMatrix.from_predictions(y_true, y_pred)


def test_default_epsilon_is_one_sample_a_row_for_bi_and_nothing_for_the_rest() -> None:
    cm = pets([[5, 1, 0], [0, 4, 1], [1, 0, 3]])
    assert cm.normalize("bi").epsilon == pytest.approx(1 / 3)
    for method in ("row", "col", "all"):
        assert cm.normalize(method).epsilon == 0.0


def test_aliases_are_scikit_learns() -> None:
    cm = pets([[5, 1, 0], [0, 4, 1], [1, 0, 3]])
    assert cm.normalize("true").method == "row"
    assert cm.normalize("pred").method == "col"


@pytest.mark.parametrize(("method", "axis"), [("row", 1), ("col", 0)])
def test_undefined_cells_are_nan_and_named(method: str, axis: int) -> None:
    counts = np.array([[5.0, 1.0, 2.0], [0.0, 0.0, 0.0], [1.0, 0.0, 3.0]])
    cm = pets(counts if axis == 1 else counts.T)
    with pytest.warns(dc.errors.UndefinedCellsWarning, match="'dog' never occurs"):
        n = cm.normalize(method)
    lines = n.matrix if axis == 1 else n.matrix.T
    assert np.isnan(lines[1]).all()
    assert np.isfinite(lines[[0, 2]]).all()


def test_an_empty_class_is_named_when_it_makes_bi_impossible() -> None:
    cm = pets([[5, 1, 2], [0, 0, 0], [1, 0, 3]])
    with pytest.raises(dc.NotScalableError, match="no sample has the true class 'dog'"):
        cm.normalize("bi", epsilon=0.0)
    never_predicted = pets([[5, 0, 2], [3, 0, 1], [1, 0, 3]])
    with pytest.raises(dc.NotScalableError, match="no sample is predicted as 'dog'"):
        never_predicted.normalize("bi", epsilon=0.0)
    assert cm.normalize("bi").scaling.converged


def test_cells_that_vanish_are_named_and_their_weights_are_zero() -> None:
    cm = pets([[5, 1, 0], [0, 4, 0], [0, 0, 3]])
    with pytest.raises(dc.NotScalableError, match="'cat' as 'dog'") as caught:
        cm.normalize("bi", epsilon=0.0)
    assert caught.value.solution.vanishing.tolist() == [[0, 1]]
    n = cm.normalize("bi", epsilon=0.0, throw=False)
    assert n.cell("cat", "dog").value == 0.0
    np.testing.assert_allclose(n.weights(["cat", "cat"], ["dog", "cat"]), [0.0, 0.2])


def test_classes_that_block_each_other_are_named() -> None:
    cm = pets([[5, 0, 0], [4, 0, 0], [1, 2, 3]])
    with pytest.raises(dc.NotScalableError, match=r"'cat', 'dog'.*only ever predicted as 1 class "):
        cm.normalize("bi", epsilon=0.0)


def test_cell_row_column_and_top_agree_with_the_matrix() -> None:
    cm = pets([[50, 10, 1], [3, 40, 7], [2, 0, 30]])
    for method in ("row", "col", "all", "bi"):
        n = cm.normalize(method)
        np.testing.assert_allclose(n.row("dog"), n.matrix[1])
        np.testing.assert_allclose(n.column("fox"), n.matrix[:, 2])
        cell = n.cell("cat", "dog")
        assert (cell.true, cell.pred, cell.count) == ("cat", "dog", 10.0)
        assert cell.value == pytest.approx(n.matrix[0, 1])
        for cell in n.top(9, diagonal=True):
            i, j = PETS.index(cell.true), PETS.index(cell.pred)
            assert cell.value == pytest.approx(n.matrix[i, j])
            assert cell.count == cm.counts[i, j]
        assert len(n.top(9, diagonal=True)) == np.count_nonzero(cm.counts)


def test_top_ranks_by_what_samples_show() -> None:
    """A cell of one sample in a rare class is the largest, and the least sure."""
    n = pets([[900, 100, 0], [80, 920, 0], [1, 0, 1]]).normalize("row")
    assert n.cell("fox", "cat").value == 0.5
    assert [(c.true, c.pred) for c in n.top(3)] == [("cat", "dog"), ("dog", "cat"), ("fox", "cat")]
    # With samples enough, the order is that of the values.
    many = pets([[900, 100, 0], [80, 920, 0], [100, 0, 100]]).normalize("row")
    assert (many.top(1)[0].true, many.top(1)[0].pred) == ("fox", "cat")


def test_top_of_weighted_samples_does_not_see_the_unit_of_weights() -> None:
    rng = np.random.default_rng(0)
    true, pred = rng.integers(0, 3, (2, 300))
    order = [
        [
            (cell.true, cell.pred)
            for cell in dc.ConfusionMatrix.from_predictions(
                true, pred, sample_weight=np.full(300, unit)
            )
            .normalize("bi", epsilon=0.0)
            .top(6)
        ]
        for unit in (1.0, 1e-6, 1e6)
    ]
    assert order[0] == order[1] == order[2]


def test_the_top_of_a_limit_is_found_at_the_cost_of_its_cells() -> None:
    """One look-up per cell: a loop over 19,900 vanishing cells would take minutes here."""
    cm = dc.ConfusionMatrix.from_counts(np.triu(np.ones((200, 200), dtype=int)))
    n = cm.normalize("bi", epsilon=0.0, throw=False)
    assert len(n.vanishing) == 19_900
    assert {cell.value for cell in n.top(30_000)} == {0.0}
    assert n.cell(0, 1).value == 0.0
    np.testing.assert_array_equal(n.weights([0, 0], [0, 1]), [1.0, 0.0])


def test_a_hundred_thousand_classes_give_single_cells_but_no_dense_matrix() -> None:
    n = many().normalize("bi")
    assert n.scaling is not None
    assert n.scaling.converged
    assert n.row(7).sum() == pytest.approx(1.0)
    assert n.column(7).sum() == pytest.approx(1.0)
    assert n.top(3)[0].value >= n.top(3)[2].value > 0
    with pytest.raises(dc.InputError, match=r"100,000x100,000, and take 74\.5 GiB"):
        _ = n.matrix


def test_many_classes_stay_sparse_where_epsilon_is_zero() -> None:
    cm = many(5_000)
    for method in ("row", "all"):
        matrix = cm.normalize(method).matrix
        assert sparse.issparse(matrix)
        assert matrix.nnz == cm.counts.nnz
        for part in (matrix.data, matrix.indices, matrix.indptr):
            with pytest.raises(ValueError, match="read-only"):
                part[0] = 7


def test_weights_need_known_classes_and_equal_lengths() -> None:
    n = pets([[5, 1, 0], [0, 4, 1], [1, 0, 3]]).normalize("bi")
    with pytest.raises(dc.InputError, match=r"y_true.*owl"):
        n.weights(["owl"], ["cat"])
    with pytest.raises(dc.InputError, match="same samples, got 2 and 1"):
        n.weights(["cat", "dog"], ["cat"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "both"}, '`method` must be "row"'),
        ({"method": "bi", "epsilon": -0.1}, "`epsilon` must be a finite number of at least 0"),
        ({"method": "row", "epsilon": float("nan")}, "`epsilon` must be a finite number"),
        ({"method": "row", "epsilon": 10**400}, r"`epsilon` must be a finite number.*000\.\.\."),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(dc.InputError, match=words):
        dc.normalize([[1, 2], [3, 4]], **options)  # type: ignore[arg-type]


def test_top_needs_a_positive_number() -> None:
    with pytest.raises(dc.InputError, match="`k` must be a whole number of at least 1"):
        dc.normalize([[1, 2], [3, 4]]).top(0)


def test_to_pandas_names_both_axes() -> None:
    frame = pets([[5, 1, 0], [0, 4, 1], [1, 0, 3]]).normalize("bi").to_pandas()
    assert (frame.index.name, frame.columns.name) == ("true", "predicted")
    np.testing.assert_allclose(frame.sum(axis=1), 1.0)


def test_repr_says_the_essentials() -> None:
    assert "converged" in repr(pets([[5, 1, 0], [0, 4, 1], [1, 0, 3]]).normalize("bi"))


@pytest.mark.parametrize("method", ["bi", "all"])
def test_an_all_zero_matrix_is_refused_unless_an_epsilon_is_given(method: str) -> None:
    empty = pets([[0] * 3] * 3)
    for epsilon in (None, 0.0):
        with pytest.raises(dc.InputError, match="must have a positive cell to be normalized"):
            empty.normalize(method, epsilon=epsilon, throw=False)
    n = empty.normalize(method, epsilon=0.5)
    np.testing.assert_allclose(n.matrix, n.matrix[0, 0])


@pytest.mark.parametrize("method", ["row", "col", "all"])
def test_totals_that_or_whose_inverse_overflow_are_refused(method: str) -> None:
    with pytest.raises(dc.InputError, match=r"must be above 5.56e-309, got .*e-310"):
        dc.normalize([[1e-310, 1e-310], [1e-310, 1e-310]], method)
    with pytest.raises(dc.InputError, match=r"must be finite, got infinity: `epsilon` is too l"):
        dc.normalize([[1, 2], [3, 4]], method, epsilon=1e308)


@pytest.mark.parametrize("method", ["row", "col", "all", "bi"])
def test_samples_with_weights_keep_them(method: str) -> None:
    rng = np.random.default_rng(3)
    true, pred = rng.integers(0, 3, (2, 60))
    own = rng.random(60)
    n = dc.ConfusionMatrix.from_predictions(true, pred, sample_weight=own).normalize(
        method, epsilon=0.0
    )
    counted = dc.ConfusionMatrix.from_predictions(
        true, pred, sample_weight=own * n.weights(true, pred)
    )
    np.testing.assert_allclose(counted.counts, n.matrix)


def test_a_class_that_is_not_there_is_named_with_its_side() -> None:
    n = pets([[5, 1, 0], [0, 4, 1], [1, 0, 3]]).normalize("bi")
    with pytest.raises(dc.InputError, match=r"Values of `true` must be classes.*got 'owl'"):
        n.cell("owl", "cat")
    with pytest.raises(dc.InputError, match=r"Values of `pred` must be classes.*got 'owl'"):
        n.column("owl")


class TestAgreement:
    def test_classes_and_data_frames_are_matched_by_name(self) -> None:
        cm = pets([[5, 1, 0], [0, 4, 1], [1, 0, 3]])
        other = cm.reorder(["fox", "cat", "dog"])
        assert dc.overlap(cm, other) == pytest.approx(1.0)
        assert dc.overlap(cm.to_pandas(), other) == pytest.approx(1.0)
        assert dc.overlap(cm, other.to_pandas()) == pytest.approx(1.0)

    @pytest.mark.parametrize("library", ["polars", "pyarrow"])
    def test_frames_of_any_library_are_matched_by_name(self, library: str) -> None:
        require(library)
        cm = pets([[5, 1, 0], [0, 4, 1], [1, 0, 3]])
        other = cm.reorder(["fox", "cat", "dog"])
        columns = {name: cm.counts[:, k] for k, name in enumerate(cm.labels)}
        module = importlib.import_module(library)
        make = module.table if library == "pyarrow" else module.DataFrame
        for frame in (make(columns), make({"": list(cm.labels)} | columns)):
            for measure, same in ((dc.overlap, 1.0), (dc.l1_distance, 0.0), (dc.kl_divergence, 0)):
                assert measure(frame, other) == pytest.approx(same, abs=1e-12)
                assert measure(other, frame) == pytest.approx(same, abs=1e-12)

    def test_tensors_of_any_kind_are_taken(self) -> None:
        require("torch")
        import torch

        counts = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        assert dc.overlap(counts, [[1, 2], [3, 4]]) == pytest.approx(1.0)
        assert dc.overlap(counts.bfloat16(), counts.to_sparse()) == pytest.approx(1.0)

    def test_repeated_sparse_cells_add_up_beyond_their_type(self) -> None:
        places = np.repeat([0, 1], [300, 10])
        counts = sparse.coo_array((np.ones(310, np.uint8), (places, places)), shape=(2, 2))
        assert dc.overlap(counts, [[300, 0], [0, 10]]) == pytest.approx(1.0)

    def test_the_largest_numbers_do_not_overflow(self) -> None:
        huge = [[1e308, 1e308], [1e308, 1e308]]
        assert dc.overlap(huge, np.ones((2, 2))) == pytest.approx(1.0)

    def test_takes_matrices_confusion_matrices_and_normalized(self) -> None:
        cm = pets([[5, 1, 0], [0, 4, 1], [1, 0, 3]])
        n = cm.normalize("all")
        assert dc.overlap(cm, n) == pytest.approx(1.0)
        assert dc.overlap(cm.counts, n) == pytest.approx(1.0)

    def test_kl_is_infinite_where_the_second_has_no_mass(self) -> None:
        assert dc.kl_divergence([[1, 1], [1, 1]], [[1, 0], [1, 1]]) == np.inf

    @pytest.mark.parametrize(
        ("a", "b", "words"),
        [
            ([[1, 2]], [[1], [2]], "same shape"),
            ([[1, np.nan]], [[1, 2]], "`a` has NaN"),
            ([[1, 2]], [[0, 0]], "`b` has none"),
            ([[1, -2]], [[1, 2]], "must not be negative"),
            ([1, 2], [1, 2], "two axes"),
            (sparse.coo_array([[1j]]), [[1]], "`a` must be numbers, got complex"),
            ([[1]], [[1j]], "`b` must be numbers, got complex"),
            ([["x"]], [[1]], "`a` must be numbers, got <U1"),
            ([[1, 2], [3]], [[1]], "`a` must be a matrix with rows of equal length"),
            ([[None, 1]], [[1, 1]], "`a` must have no missing values, got 1 None"),
            ([[1]], np.ma.masked_array([[1]], mask=True), "`b` must have no .*, got 1 masked"),
        ],
    )
    def test_bad_matrices_are_refused(self, a: object, b: object, words: str) -> None:
        with pytest.raises(dc.InputError, match=words):
            dc.overlap(a, b)


@pytest.mark.parametrize("method", ["row", "col", "all", "bi"])
def test_effective_samples_of_weighted_counts_are_kishs(method: str) -> None:
    rng = np.random.default_rng(1)
    own = np.linspace(0.5, 3.0, 200)
    y_true, y_pred = rng.choice(3, p=[0.6, 0.3, 0.1], size=(2, 200))
    cm = dc.ConfusionMatrix.from_predictions(y_true, y_pred, sample_weight=own)
    normalized = cm.normalize(method)
    weights = own * normalized.weights(y_true, y_pred)
    expected = weights.sum() ** 2 / (weights**2).sum()
    assert normalized.effective_samples == pytest.approx(expected)
    if method == "bi":
        assert dc.diagnose(cm).reliability.effective_samples == pytest.approx(expected)
