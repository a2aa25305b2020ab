"""Anybody's classifier through the paper's protocol."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.support import require

from deconfuse import InputError
from deconfuse.experiments import Dataset, Outcome, Task, load_dataset, run_protocol
from deconfuse.experiments.analysis import Question, score_records
from deconfuse.experiments.reproduction import write_results
from deconfuse.experiments.sweep import SweepError

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
        (
            lambda n: Outcome(np.where(np.arange(4) == 2, -np.inf, np.zeros((n, 4))), [[0]] * n),
            r"that are not(.|\n)*put a small number under",
        ),
        (
            lambda n: Outcome(np.zeros((n, 4)), np.full((n, 1), np.inf)),
            "finite embeddings .* that are not",
        ),
        (lambda n: (np.zeros((n, 4)), np.zeros((n, 2))), "must return an Outcome, got tuple"),
        (lambda n: Outcome(np.zeros((n, 4)), [[0]] * n, (np.nan,)), "history .* finite numbers"),
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


def never(task: Task) -> Outcome:
    raise AssertionError("nothing may be trained")


def test_a_function_that_fails_says_what_is_kept(blobs: Dataset, tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="AssertionError: nothing may be trained") as error:
        run_protocol(never, blobs, alphas=[1.0], seeds=[0])
    assert error.value.hint == "give a `folder` to keep finished runs and go on from them."
    with pytest.raises(SweepError, match="finished runs are kept"):
        run_protocol(never, blobs, folder=tmp_path, alphas=[1.0], seeds=[0])


def test_a_class_that_could_be_left_empty_is_named_before_training(blobs: Dataset) -> None:
    labels = np.array([0] * 9 + [1, 2, 3] * 2)
    tiny = Dataset("tiny", np.zeros((15, 1)), labels, np.zeros((15, 1)), labels, tuple("abcd"))
    with pytest.raises(InputError, match=r"must keep a sample in the .* set of tiny.* of its 2"):
        run_protocol(never, tiny, alphas=[0.1], seeds=range(5))


def test_another_dataset_of_the_same_name_is_refused(blobs: Dataset, tmp_path: Path) -> None:
    run_protocol(nearest_mean, blobs, folder=tmp_path, alphas=[1.0], seeds=[0])
    renamed = replace(blobs, classes=tuple("abce"))
    with pytest.raises(InputError, match=r"its classes are \('a', .*'d'\) instead of .*'e'\)"):
        run_protocol(nearest_mean, renamed, folder=tmp_path, alphas=[1.0], seeds=[0])
    fewer = replace(blobs, train_inputs=blobs.train_inputs[1:], train_labels=blobs.train_labels[1:])
    with pytest.raises(
        InputError, match=r"its training sizes are \(150, .*instead of \(149"
    ) as error:
        run_protocol(nearest_mean, fewer, folder=tmp_path, alphas=[1.0], seeds=[0])
    assert "use a new folder" in str(error.value)


def scaled(task: Task, power: float, offset: object = 0) -> Outcome:
    found = nearest_mean(task)
    return Outcome(power * np.asarray(found.scores), found.embeddings)


def test_a_partial_function_is_known_by_what_it_was_given(blobs: Dataset) -> None:
    half = partial(scaled, power=0.5)
    records = run_protocol(half, blobs, alphas=[1.0], seeds=[0])
    assert {record.config.model for record in records} == {"scaled(power=0.5)"}
    with pytest.raises(InputError, match=r"partial function only text and numbers .* got list"):
        run_protocol(partial(half, offset=[1]), blobs, alphas=[1.0], seeds=[0])


def test_records_are_not_kept_by_the_name_of_a_lambda(blobs: Dataset, tmp_path: Path) -> None:
    assert len(run_protocol(lambda task: nearest_mean(task), blobs, alphas=[1.0], seeds=[0])) == 2
    with pytest.raises(InputError, match="got a lambda"):
        run_protocol(lambda task: never(task), blobs, folder=tmp_path)


def images(name: str, **options: object) -> Dataset:
    pixels = np.random.default_rng(0).integers(0, 256, (80, 6, 6, 1), dtype=np.uint8)
    labels = np.arange(80) % 4
    return Dataset(name, pixels, labels, pixels, labels, tuple("abcd"), **options)  # type: ignore[arg-type]


def seen(dataset: Dataset) -> list[np.ndarray]:
    """Return the test sets that a training function gets."""
    sets = []

    def look(task: Task) -> Outcome:
        sets.append(task.test_inputs)
        n = len(task.test_labels)
        rng = task.rng("noise")
        return Outcome(rng.normal(size=(n, task.n_classes)), rng.normal(size=(n, 3)))

    run_protocol(look, dataset, alphas=[1.0], seeds=[0])
    return sets


def test_inputs_are_handed_on_as_they_are_whatever_the_name() -> None:
    dataset = images("mnist")
    balanced, _ = seen(dataset)
    assert np.array_equal(balanced, dataset.test_inputs)
    own = replace(dataset, train_inputs=np.zeros((80, 2)), test_inputs=np.ones((80, 2)))
    assert seen(own)[0].tolist() == [[1.0, 1.0]] * 80


def test_a_dataset_may_ask_for_the_papers_transformations() -> None:
    plain = images("mine", transform="standardize")
    standardized = seen(plain)[0]
    assert standardized.dtype == np.float32
    values = plain.train_inputs / 255.0
    expected = (plain.test_inputs / 255.0 - values.mean()) / values.std()
    np.testing.assert_allclose(standardized, expected, atol=1e-5)
    turned = seen(replace(plain, transform="rotate"))[0]
    assert not np.array_equal(turned, standardized)
    np.testing.assert_allclose(turned.sum(axis=(1, 2)), standardized.sum(axis=(1, 2)), atol=1e-3)


def test_the_papers_datasets_ask_for_them(data: Path) -> None:
    assert load_dataset("mnist", data).transform == "rotate"
    assert load_dataset("cifar10", data).transform == "standardize"
    assert seen(replace(load_dataset("mnist", data), transform="none"))[0].dtype == np.uint8


def test_the_name_of_the_papers_network_is_taken(blobs: Dataset) -> None:
    def cnn(task: Task) -> Outcome:
        return nearest_mean(task)

    assert len(run_protocol(cnn, blobs, alphas=[1.0], seeds=[0])) == 2
    with pytest.raises(InputError, match="must have another name than 'cnn'"):
        run_protocol(cnn, images("mnist"), alphas=[1.0], seeds=[0])


TOGETHER = threading.Barrier(4)


def meet(task: Task) -> Outcome:
    """Go on only once four runs are under way."""
    TOGETHER.wait(120)
    return nearest_mean(task)


@pytest.mark.dask
@pytest.mark.filterwarnings("ignore::deconfuse.errors.GeometryWarning")
def test_dask_does_many_runs_at_once(blobs: Dataset) -> None:
    require("distributed")
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 2, "processes": False}
    with (
        LocalCluster(**options, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        client.get_executor() as executor,
    ):
        records = run_protocol(meet, blobs, alphas=[1.0], seeds=range(2), executor=executor)
    assert len(records) == 4
