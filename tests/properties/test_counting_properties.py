"""What holds for counts of any labels: against scikit-learn, merging, chunks, forms, files."""

from __future__ import annotations

import datetime
import multiprocessing
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from deconfuse import ConfusionMatrix
from deconfuse.counts import Counts
from deconfuse.reading import tally
from deconfuse.reading.sequences import count_with_positions

pytestmark = pytest.mark.filterwarnings(
    "ignore:Classes differ only:deconfuse.errors.DeconfuseWarning"
)

KINDS: dict[str, st.SearchStrategy[Any]] = {
    "few ints": st.integers(-3, 6),
    "ints": st.integers(-(2**63), 2**63 - 1),
    "middling ints": st.integers(-(2**33), 2**33),
    "bools": st.booleans(),
    "strings": st.text(max_size=4),
    "dates": st.dates(datetime.date(2020, 1, 1), datetime.date(2020, 1, 9)),
}
# Eighths add up without rounding, so that sums in any order are equal. Many are zero, so that cells
# have samples and no weight.
WEIGHTS = st.just(0.0) | st.integers(0, 80).map(lambda eighths: eighths / 8)


@st.composite
def samples(draw: st.DrawFn, *, min_size: int = 1) -> list[tuple[Any, Any, float]]:
    """Labels, predictions and weights; all labels of one kind."""
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    pool = draw(st.lists(kind, min_size=1, max_size=8))
    one = st.tuples(st.sampled_from(pool), st.sampled_from(pool), WEIGHTS)
    return draw(st.lists(one, min_size=min_size, max_size=40))


def count(rows: list[tuple[Any, Any, float]], **options: Any) -> ConfusionMatrix:
    true, pred, _ = zip(*rows, strict=True)
    return ConfusionMatrix.from_predictions(true, pred, **options)


def weigh(rows: list[tuple[Any, Any, float]]) -> ConfusionMatrix:
    return count(rows, sample_weight=[row[2] for row in rows])


def as_array(values: Any) -> np.ndarray:
    """Return an array; of strings one of objects, since others lose zeros at the end."""
    return np.array(values, dtype=object if isinstance(values[0], str) else None)


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


# scikit-learn warns where there is one class only.
@pytest.mark.filterwarnings("ignore:A single label was found")
@given(samples())
def test_counts_and_variances_are_those_of_scikit_learn(rows: Any) -> None:
    names = sorted({*(row[0] for row in rows), *(row[1] for row in rows)})
    code = {name: position for position, name in enumerate(names)}
    true, pred = [code[row[0]] for row in rows], [code[row[1]] for row in rows]
    weights = np.array([row[2] for row in rows])
    cm = weigh(rows)
    assert cm.labels == tuple(names)
    options = {"labels": range(len(names))}
    np.testing.assert_array_equal(count(rows).counts, confusion_matrix(true, pred, **options))
    if not weights.any():
        # scikit-learn refuses weights that are all zero; here they are an empty shard.
        assert cm.total == 0
        return
    expected = confusion_matrix(true, pred, sample_weight=weights, **options)
    np.testing.assert_array_equal(cm.counts, expected)
    squares = confusion_matrix(true, pred, sample_weight=weights**2, **options)
    np.testing.assert_array_equal(cm.variances, squares)


@given(samples(min_size=2), st.data())
def test_merging_equals_counting_the_union(rows: Any, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(rows) - 1))
    assert count(rows[:cut]) + count(rows[cut:]) == count(rows)
    assert weigh(rows[:cut]) + weigh(rows[cut:]) == weigh(rows)


@given(samples(min_size=3))
def test_merging_is_commutative_and_associative(rows: Any) -> None:
    third = len(rows) // 3
    one, two, three = count(rows[:third]), weigh(rows[third : 2 * third]), weigh(rows[2 * third :])
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)


@given(samples(min_size=2), st.data())
def test_merging_in_any_order_of_classes_agrees_by_name(rows: Any, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(rows) - 1))
    one, other = count(rows[:cut]), count(rows[cut:])
    shuffled = one.reorder(data.draw(st.permutations(one.labels)))
    whole = count(rows)
    assert (shuffled + other).reorder(whole.labels) == whole
    assert (other + shuffled).reorder(whole.labels) == whole


@pytest.mark.parametrize("size", [1, 2, 7])
@given(rows=samples())
def test_the_size_of_pieces_does_not_matter(size: int, rows: Any) -> None:
    whole, heavy = count(rows), weigh(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deconfuse.reading.sequences.CHUNK", size)
        patch.setattr("deconfuse.reading.label_columns.CHUNK", size)
        assert count(rows) == whole
        assert weigh(rows) == heavy
        np.testing.assert_array_equal(
            whole.index_of([row[0] for row in rows]),
            [whole.labels.index(row[0]) for row in rows],
        )


@pytest.mark.parametrize("run", [1, 5, 1000])
@pytest.mark.parametrize("widest", [0, 3])
@given(rows=samples())
def test_histograms_and_sorted_runs_agree(widest: int, run: int, rows: Any) -> None:
    whole, heavy = count(rows), weigh(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally, "_WIDEST", widest)
        patch.setattr(tally, "_RUN", run)
        patch.setattr(tally, "_CHUNK", run)
        patch.setattr("deconfuse.reading.sequences.CHUNK", 3)
        patch.setattr("deconfuse.reading.label_columns.CHUNK", 3)
        assert count(rows) == whole
        assert weigh(rows) == heavy


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@given(rows=samples(), is_wide=st.booleans())
def test_the_number_of_threads_does_not_matter(n_threads: int, is_wide: bool, rows: Any) -> None:
    true, pred, weights = map(np.array, zip(*rows, strict=True))
    # Not as eighths: the order of these sums shows in their last digits.
    weights = weights / 3
    whole = ConfusionMatrix.from_predictions(true, pred)
    heavy = ConfusionMatrix.from_predictions(true, pred, sample_weight=weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally, "_FEWEST_ON_THREADS", 1)
        patch.setattr(tally, "n_threads", lambda: n_threads)
        if is_wide:
            patch.setattr(tally, "_WIDEST", 0)
        assert ConfusionMatrix.from_predictions(true, pred) == whole
        if not is_wide:
            again = ConfusionMatrix.from_predictions(true, pred, sample_weight=weights)
            assert again == heavy


@given(st.integers(1, 4), st.integers(0, 9))
def test_work_on_threads_is_returned_in_its_order(n_threads: int, n_items: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally, "n_threads", lambda: n_threads)
        done = tally.on_threads(lambda k: k * k, range(n_items), size=1 << 30)
    assert done == [k * k for k in range(n_items)]


@pytest.mark.parametrize("n_threads", [2, 4])
def test_the_calling_thread_works_too(n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many items as threads are begun at once, one of them here."""
    monkeypatch.setattr(tally, "n_threads", lambda: n_threads)
    together = threading.Barrier(n_threads, timeout=30)

    def meet(_: int) -> int:
        together.wait()
        return threading.get_ident()

    threads = tally.on_threads(meet, range(n_threads), size=1 << 30)
    assert len(set(threads)) == n_threads
    assert threading.get_ident() in threads


def test_an_error_on_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "n_threads", lambda: 2)

    def fail(k: int) -> int:
        raise ValueError(f"item {k}")

    with pytest.raises(ValueError, match="item"):
        tally.on_threads(fail, range(4), size=1 << 30)


@given(rows=samples(), forms=st.tuples(*[st.sampled_from([list, tuple, as_array])] * 2))
def test_two_forms_of_columns_count_alike(rows: Any, forms: Any) -> None:
    true, pred, _ = zip(*rows, strict=True)
    assert ConfusionMatrix.from_predictions(forms[0](true), forms[1](pred)) == count(rows)


@given(samples())
def test_counting_needs_nothing_private_of_scipy(rows: Any) -> None:
    whole, heavy = count(rows), weigh(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally, "coo_todense", None)
        assert count(rows) == whole
        assert weigh(rows) == heavy


@given(samples())
def test_positions_are_those_of_the_classes(rows: Any) -> None:
    true, pred, _ = zip(*rows, strict=True)
    matrix, at, others = count_with_positions(true, as_array(pred))
    assert matrix == count(rows)
    np.testing.assert_array_equal(at, matrix.index_of(true))
    np.testing.assert_array_equal(others, matrix.index_of(pred))


def test_processes_of_a_pool_use_one_thread() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(tally.n_threads) == 1


@given(samples(min_size=2), st.data())
def test_sparse_and_dense_behave_alike(rows: Any, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(rows) - 1))
    names = sorted({*(row[0] for row in rows), *(row[1] for row in rows)})
    order = data.draw(st.permutations(names))
    groups = {names[0]: names[:2]} if len(names) > 1 else {names[0]: names}

    def results() -> list[ConfusionMatrix]:
        one, other, heavy = count(rows[:cut]), count(rows[cut:]), weigh(rows)
        return [
            *(one, other, heavy, one + other, other + heavy),
            *(heavy.reorder(order), heavy.merge_classes(groups)),
            *(ConfusionMatrix.from_counts(cm.counts, cm.labels) for cm in (one, heavy)),
        ]

    expected = results()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deconfuse.counts._ALWAYS_DENSE", 0)
        found = results()
        assert any(cm.is_sparse for cm in found) or all(
            np.count_nonzero(cm.counts) >= cm.n_classes**2 // 2 for cm in expected
        )
        again = results()
        assert found == again
        assert [hash(cm) for cm in found] == [hash(cm) for cm in again]
    for cm, other in zip(expected, found, strict=True):
        assert cm.labels == other.labels
        assert cm.total == other.total
        np.testing.assert_array_equal(cm.counts, dense(other.counts))
        np.testing.assert_array_equal(cm.variances, dense(other.variances))
        np.testing.assert_array_equal(cm.label_counts, other.label_counts)
        np.testing.assert_array_equal(cm.prediction_counts, other.prediction_counts)


@given(samples(), st.data())
def test_labels_only_place_and_add_classes(rows: Any, data: st.DataObject) -> None:
    cm = count(rows)
    order = data.draw(st.permutations(cm.labels))
    assert count(rows, labels=order) == cm.reorder(order)


@given(samples())
def test_relabelling_one_to_one_only_renames(rows: Any) -> None:
    cm = count(rows)
    renamed = {name: f"class {position:02d}" for position, name in enumerate(cm.labels)}
    new = [(renamed[true], renamed[pred], weight) for true, pred, weight in rows]
    np.testing.assert_array_equal(count(new).counts, cm.counts)
    assert cm.merge_classes({renamed[name]: [name] for name in cm.labels}) == count(new)


@given(samples(), st.integers(1, 4))
def test_merging_classes_equals_counting_coarser_labels(rows: Any, n_groups: int) -> None:
    cm = weigh(rows)
    group = {name: f"group {k % n_groups}" for k, name in enumerate(cm.labels)}
    groups: dict[str, list[Any]] = {}
    for name, coarse in group.items():
        groups.setdefault(coarse, []).append(name)
    expected = weigh([(group[true], group[pred], weight) for true, pred, weight in rows])
    assert cm.merge_classes(groups).reorder(expected.labels) == expected


@given(samples())
def test_swapping_the_columns_transposes(rows: Any) -> None:
    swapped = weigh([(pred, true, weight) for true, pred, weight in rows])
    cm = weigh(rows)
    np.testing.assert_array_equal(swapped.counts, np.transpose(cm.counts))
    np.testing.assert_array_equal(swapped.label_counts, cm.prediction_counts)


@pytest.mark.parametrize("format", ["json", "csv", "npz"])
@pytest.mark.parametrize("always_dense", [0, 2048])
@given(rows=samples())
def test_files_give_back_what_was_saved(format: str, always_dense: int, rows: Any) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr("deconfuse.counts._ALWAYS_DENSE", always_dense)
        for cm in (count(rows), weigh(rows)):
            path = Path(folder) / f"matrix.{format}"
            cm.save(path)
            loaded = ConfusionMatrix.load(path)
            assert loaded == cm
            assert [type(name) for name in loaded.labels] == [type(name) for name in cm.labels]


@given(st.integers(1, 6), st.data())
def test_moving_classes_keeps_the_total(n_classes: int, data: st.DataObject) -> None:
    counts = np.arange(n_classes**2).reshape(n_classes, n_classes)
    target = data.draw(st.integers(1, 6))
    positions = np.array(
        data.draw(st.lists(st.integers(0, target - 1), min_size=n_classes, max_size=n_classes))
    )
    place = np.zeros((n_classes, target), dtype=int)
    place[np.arange(n_classes), positions] = 1
    moved = Counts.of(counts).move(positions, target)
    np.testing.assert_array_equal(moved.cells, place.T @ counts @ place)
