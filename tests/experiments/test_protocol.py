"""Anybody's classifier through the paper's protocol."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from deconfuse import InputError
from deconfuse.experiments import Dataset, Outcome, Task, run_protocol
from deconfuse.experiments.analysis import Question, score_records
from deconfuse.experiments.reproduction import write_results

CENTRES = np.array([[0.0, 0], [2, 0], [0, 2], [2, 2]])


@pytest.fixture
def blobs() -> Dataset:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 150)
    points = [CENTRES[labels] + rng.normal(size=(600, 2)) for _ in range(2)]
    return Dataset("blobs", points[0], labels, points[1], labels, tuple("abcd"))


def nearest_mean(task: Task) -> Outcome:
    """Score by the distance to each class's mean, and by how frequent the class is."""
    means = np.stack([task.train_inputs[task.train_labels == c].mean(axis=0) for c in range(4)])
    share = np.bincount(task.train_labels) / len(task.train_labels)
    distances = ((task.test_inputs[:, None] - means) ** 2).sum(axis=2)
    return Outcome(np.log(share) - distances / 2, task.test_inputs)


def test_a_classifier_goes_through_both_experiments(blobs: Dataset, tmp_path: Path) -> None:
    records = run_protocol(
        nearest_mean, blobs, folder=tmp_path / "records", alphas=[1.0, 0.1], seeds=range(3)
    )
    assert len(records) == 3 * 3
    scores = score_records(records)
    for target in ("balanced", "gcm bi"):
        sample = scores.sample(Question("blobs", 0.1, target, "bi", "overlap"))
        assert sample is not None
        assert sample.n == 3
        assert sample.mean > 0.6
    write_results(tmp_path, tmp_path / "records")
    assert "blobs" in (tmp_path / "REPRODUCTION.md").read_text()


def test_what_is_there_is_not_run_again(blobs: Dataset, tmp_path: Path) -> None:
    calls = []

    def counted(task: Task) -> Outcome:
        calls.append(task.config)
        return nearest_mean(task)

    first = run_protocol(counted, blobs, folder=tmp_path, alphas=[1.0], seeds=[0])
    again = run_protocol(counted, blobs, folder=tmp_path, alphas=[1.0, 0.1], seeds=[0])
    assert len(calls) == 3
    assert [r.to_json() for r in first] == [r.to_json() for r in again[:2]]


# Filters of warnings are shared by threads, so one run can undo those of another.
@pytest.mark.filterwarnings("ignore::deconfuse.errors.GeometryWarning")
def test_an_executor_gives_the_same(blobs: Dataset) -> None:
    alone = run_protocol(nearest_mean, blobs, alphas=[0.3], seeds=range(4))
    with ThreadPoolExecutor(3) as pool:
        together = run_protocol(nearest_mean, blobs, alphas=[0.3], seeds=range(4), executor=pool)
    for one, other in zip(alone, together, strict=True):
        assert one.config == other.config
        assert np.array_equal(one.matrix, other.matrix)


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (
            lambda n: Outcome(np.zeros((n, 3)), np.zeros((n, 2))),
            r"finite scores of shape \(\d+, 4\)",
        ),
        (lambda n: Outcome(np.full((n, 4), np.nan), np.zeros((n, 2))), "finite scores"),
        (lambda n: Outcome(np.zeros((n, 4)), np.zeros(n)), r"finite embeddings of shape"),
        (lambda n: Outcome(np.zeros((n, 4)), np.zeros((n - 1, 2))), "finite embeddings of shape"),
    ],
)
def test_a_training_function_that_returns_something_else(
    outcome: object, message: str, blobs: Dataset
) -> None:
    def broken(task: Task) -> Outcome:
        return outcome(len(task.test_labels))  # type: ignore[operator, no-any-return]

    with pytest.raises(InputError, match=message):
        run_protocol(broken, blobs, alphas=[1.0], seeds=[0])


def test_nothing_to_run(blobs: Dataset) -> None:
    with pytest.raises(InputError, match="There must be at least one level and one seed, got none"):
        run_protocol(nearest_mean, blobs, alphas=[], seeds=[0])
