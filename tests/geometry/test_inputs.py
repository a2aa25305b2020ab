"""What is accepted as embeddings, and how anything else is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import deconfuse as dc
from deconfuse.geometry.gcm import prepare
from tests.geometry.data import make_samples
from tests.support import require

DATA = make_samples(8, n_samples=60)


def run(embeddings: object, **options: object) -> dc.GeometricConfusion:
    return dc.geometric_confusion(embeddings, DATA.y_true, DATA.y_pred, **options)  # type: ignore[arg-type]


def changed(row: int, value: float) -> np.ndarray:
    embeddings = DATA.embeddings.copy()
    embeddings[row, 2] = value
    return embeddings


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        (changed(5, np.nan), "finite, got NaN or infinity in 1 of 64 rows, first in row 5"),
        (
            changed(7, -np.inf),
            "finite, got NaN or infinity in 1 of 64 rows, first in row 7",
        ),
        (DATA.embeddings[:-1], "must have one row a sample, got 63 rows for 64 labels"),
        (
            DATA.embeddings[:, 0],
            r"two dimensions.*got shape \(64,\)\.\nHint: use .*-1, 1",
        ),
        (DATA.embeddings[:, :, None], r"must have two dimensions.*\nHint: flatten each sample"),
        (DATA.embeddings[:, :0], "must have at least one feature, got none"),
        (DATA.embeddings.astype(str), "must be real numbers, got an array of <U"),
        (DATA.embeddings.astype(complex), "must be real numbers, got an array of complex128"),
        (scipy.sparse.csr_array(DATA.embeddings), r"must be real numbers.*\nHint: make it dense"),
        ([[1.0, 2.0], [3.0]], "must be a rectangular array, got list"),
        (np.ma.masked_less(DATA.embeddings, -3), r"must not be masked, got masked values in \d+"),
    ],
)
def test_refused_embeddings(embeddings: object, message: str) -> None:
    with pytest.raises(dc.InputError, match=f"(?s){message}"):
        run(embeddings)


def test_fewer_than_two_points() -> None:
    with pytest.raises(dc.InputError, match="must hold at least two points, got 1"):
        dc.geometric_confusion([[1.0]], [0], [1])


def test_a_single_class() -> None:
    with pytest.raises(dc.InputError, match="There must be at least two classes, got one: 'cat'"):
        dc.geometric_confusion([[1.0], [2.0]], ["cat", "cat"], ["cat", "cat"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "`n_components` must be a positive integer, got 0"),
        ({"n_components": 2.5}, "`n_components` must be a positive integer, got 2.5"),
        ({"n_shifts": True}, "`n_shifts` must be a positive integer, got True"),
        ({"bin_factor": 0}, "`bin_factor` must be a positive number, got 0"),
        ({"bin_factor": np.nan}, "`bin_factor` must be a positive number, got nan"),
        ({"bin_factor": "wide"}, "`bin_factor` must be a positive number, got 'wide'"),
        ({"projection": "tsne"}, "`projection` must be \"pca\", None or a Projection, got 'tsne'"),
        ({"weighting": "both"}, r"`weighting` must be .* or a Normalized, got 'both'"),
        ({"labels": [0, 1, 2]}, "labels"),
    ],
)
def test_refused_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(dc.InputError, match=message):
        run(DATA.embeddings, **options)


def test_options_that_contradict_a_given_normalization() -> None:
    cm = dc.ConfusionMatrix.from_predictions(DATA.y_true, DATA.y_pred)
    with pytest.raises(dc.InputError, match="`epsilon` must be None where `weighting` is Normal"):
        run(DATA.embeddings, weighting=cm.normalize("bi"), epsilon=0.1)
    with pytest.raises(dc.InputError, match="`labels` must be those of `weighting`"):
        run(DATA.embeddings, weighting=cm.normalize("bi"), labels=[3, 2, 1, 0])


@pytest.mark.filterwarnings("ignore::deconfuse.errors.UndefinedCellsWarning")
def test_a_given_normalization_without_weight_for_a_pair() -> None:
    cm = dc.ConfusionMatrix.from_counts(np.diag([5, 5, 5, 0]))
    with pytest.raises(dc.InputError, match=r"finite weight for every pair .* true 3, predicted"):
        run(DATA.embeddings, weighting=cm.normalize("row"))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int64, np.uint8, np.bool_])
def test_other_number_types_are_accepted(dtype: type) -> None:
    rounded = np.clip(np.round(DATA.embeddings * 4), 0, 100).astype(dtype)
    plain = run(rounded.astype(np.float64))
    np.testing.assert_array_equal(run(rounded).matrix, plain.matrix)


def test_lists_and_frames_are_accepted() -> None:
    pd = pytest.importorskip("pandas")
    plain = run(DATA.embeddings)
    for embeddings in (DATA.embeddings.tolist(), pd.DataFrame(DATA.embeddings)):
        np.testing.assert_array_equal(run(embeddings).matrix, plain.matrix)


def test_blocks_of_memory_in_any_order_are_accepted() -> None:
    plain = run(DATA.embeddings)
    wide = np.repeat(DATA.embeddings, 2, axis=1)
    for same in (np.asfortranarray(DATA.embeddings), wide[:, ::2]):
        np.testing.assert_array_equal(run(same).matrix, plain.matrix)
        np.testing.assert_array_equal(
            run(same, projection=None).matrix, run(DATA.embeddings, projection=None).matrix
        )


def test_tensors_are_accepted() -> None:
    require("torch")
    import torch

    plain = run(DATA.embeddings)
    tensor = torch.tensor(DATA.embeddings, requires_grad=True)
    labels = torch.tensor(DATA.y_true), torch.tensor(DATA.y_pred)
    np.testing.assert_array_equal(dc.geometric_confusion(tensor, *labels).matrix, plain.matrix)
    half = torch.tensor(DATA.embeddings).to(torch.bfloat16)
    expected = run(half.float().numpy())
    np.testing.assert_array_equal(run(half).matrix, expected.matrix)
    has = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    device = next((name for name, is_there in has.items() if is_there), "cpu")
    moved = torch.tensor(DATA.embeddings, dtype=torch.float32).to(device)
    expected = run(DATA.embeddings.astype(np.float32))
    np.testing.assert_array_equal(run(moved).matrix, expected.matrix)


@pytest.mark.parametrize(
    ("y_true", "y_pred"),
    [([0, 1], [0]), ([], []), ([0, None], [0, 1]), ([0, 1], [0, None]), ([0, 1], ["a", "b"])],
)
def test_samples_are_refused_as_the_matrix_would(y_true: list[Any], y_pred: list[Any]) -> None:
    with pytest.raises(dc.InputError) as expected:
        dc.ConfusionMatrix.from_predictions(y_true, y_pred)
    with pytest.raises(dc.InputError) as found:
        dc.geometric_confusion(np.zeros((2, 1)), y_true, y_pred)
    assert str(found.value) == str(expected.value)


def test_numbers_beyond_a_table_are_coded_in_every_piece() -> None:
    # Small numbers are their own codes; a later piece has one that needs the vocabulary.
    y_true = np.concatenate([np.arange(100_000) % 3, [2**40 + 1, 2**40 + 1]])
    _, positions, cm = prepare(np.zeros((len(y_true), 1)), (y_true, y_true[::-1]), None)
    np.testing.assert_array_equal(positions[0], cm.index_of(y_true))
    np.testing.assert_array_equal(positions[1], cm.index_of(y_true[::-1]))
