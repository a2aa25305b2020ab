"""From a dataset and a configuration to the task of one run, and what comes back from it.

A task is what a training function gets: a training set, a test set, and its random streams. The
paper's networks are trained through it like anybody's own classifier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deconfuse.errors import InputError
from deconfuse.experiments.config import RunConfig, random_state
from deconfuse.experiments.sampling import (
    balanced_sizes,
    dirichlet_sizes,
    keep_samples,
    rotate_quarters,
)
from deconfuse.experiments.sets import Dataset

__all__ = [
    "PARTS",
    "Outcome",
    "Task",
    "TrainFunction",
    "balanced_accuracy",
    "draw_task",
    "set_sizes",
]

Part = Literal["train", "test"]

#: The two sets of a run.
PARTS: tuple[Part, Part] = ("train", "test")


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """The sets of one run, cut and (where the dataset asks for it) turned and standardized.

    ``rng(purpose)`` gives a generator that depends on the run and the purpose alone;
    ``shared_rng(purpose)`` one that the balanced model and all levels of a seed share, as
    the initialization of the weights must be.
    """

    config: RunConfig
    train_inputs: NDArray[Any]
    train_labels: NDArray[np.int64]
    test_inputs: NDArray[Any]
    test_labels: NDArray[np.int64]
    classes: tuple[str, ...]

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)

    def rng(self, purpose: str) -> np.random.Generator:
        """Return the generator of one purpose of this run."""
        return random_state(self.config, purpose)

    def shared_rng(self, purpose: str) -> np.random.Generator:
        """Return the generator of one purpose of all runs of this dataset and seed."""
        return random_state(self.config.balanced, purpose)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a training function returns: how the trained classifier sees the test set.

    Parameters
    ----------
    scores : array-like of shape (n_test, n_classes)
        Logits, log-probabilities or probabilities; the largest is the prediction.
    embeddings : array-like of shape (n_test, n_features)
        The representation just before the scores; without one, the scores themselves.
    history : tuple of float
        Balanced test accuracy after each epoch; empty where there are no epochs.
    """

    scores: ArrayLike
    embeddings: ArrayLike
    history: tuple[float, ...] = field(default=())


#: Trains on a task's training set and describes its test set.
TrainFunction = Callable[[Task], Outcome]


def balanced_accuracy(labels: NDArray[np.int64], predictions: NDArray[np.int64]) -> float:
    """Return the mean over classes of the share of their samples predicted right.

    Examples
    --------
    >>> balanced_accuracy(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    0.5
    """
    sizes = np.bincount(labels)
    right = np.bincount(labels[labels == predictions], minlength=len(sizes))
    return float(np.mean(right / sizes))


def draw_task(dataset: Dataset, config: RunConfig) -> Task:
    """Cut a dataset to the sets of one run.

    Parameters
    ----------
    dataset : Dataset
        Whole training and test sets.
    config : RunConfig
        Which cut; its ``dataset`` must be the dataset's name.

    Returns
    -------
    Task
        Training and test sets drawn independently of each other.

    Raises
    ------
    InputError
        If the configuration is for another dataset, or a class would be left without a sample.

    Notes
    -----
    What is done to the inputs is the dataset's ``transform``: nothing, unless the dataset says
    otherwise, as those of :func:`load_dataset` do.
    """
    if dataset.name != config.dataset:
        raise InputError(
            f"The configuration must be for the dataset {dataset.name!r}, "
            f"got one for {config.dataset!r}."
        )
    train = _draw(dataset, config, "train")
    test = _draw(dataset, config, "test")
    train_inputs, test_inputs = dataset.train_inputs[train], dataset.test_inputs[test]
    if dataset.transform == "rotate":
        train_inputs = _rotate(train_inputs, train, config, "train")
        test_inputs = _rotate(test_inputs, test, config, "test")
    if dataset.transform != "none":
        train_inputs, test_inputs = _standardize(train_inputs, test_inputs)
    return Task(
        config,
        train_inputs,
        dataset.train_labels[train],
        test_inputs,
        dataset.test_labels[test],
        dataset.classes,
    )


def set_sizes(dataset: Dataset, config: RunConfig, part: Part) -> tuple[int, ...]:
    """Return how many samples of each class a run has in its training or test set."""
    labels = dataset.train_labels if part == "train" else dataset.test_labels
    sizes = _sizes(labels, config, dataset.n_classes, random_state(config, f"{part} set"))
    for place, (before, after) in enumerate(
        zip(np.bincount(labels).tolist(), sizes.tolist(), strict=True)
    ):
        if after == 0:
            raise InputError(
                f"Every class must keep a sample in the {part} set of {config.title}, but "
                f"{dataset.classes[place]!r} keeps none of its {before}.",
                hint="give each class at least 3 samples in the training and in the test set.",
            )
    return tuple(sizes.tolist())


def _sizes(
    labels: NDArray[np.int64], config: RunConfig, n_classes: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    sizes = np.bincount(labels, minlength=n_classes)
    if config.alpha is None:
        return balanced_sizes(sizes)
    return dirichlet_sizes(sizes, config.alpha, rng, config.sampling)


def _draw(dataset: Dataset, config: RunConfig, part: Part) -> NDArray[np.int64]:
    set_sizes(dataset, config, part)
    labels = dataset.train_labels if part == "train" else dataset.test_labels
    # Sizes and samples come from one stream, one after the other.
    rng = random_state(config, f"{part} set")
    return keep_samples(labels, _sizes(labels, config, dataset.n_classes, rng), rng)


def _rotate(
    images: NDArray[Any], kept: NDArray[np.int64], config: RunConfig, part: Part
) -> NDArray[Any]:
    # One turn for each image of the whole set, so that all runs of a seed turn an image alike.
    n = max(100_000, int(kept.max()) + 1)
    quarters = random_state(config.balanced, f"{part} rotation").integers(4, size=n)
    return rotate_quarters(images, quarters[kept])


def _standardize(
    train: NDArray[np.uint8], test: NDArray[np.uint8]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    # The moments come from the 256 possible values, exactly and without a copy in floating point.
    values = np.arange(256) / 255.0
    counts = np.stack(
        [np.bincount(train[..., c].ravel(), minlength=256) for c in range(train.shape[-1])]
    )
    share = counts / counts.sum(axis=1, keepdims=True)
    mean = share @ values
    deviation = np.sqrt((share * (values - mean[:, None]) ** 2).sum(axis=1))
    if not deviation.all():
        raise InputError("Images must vary in every channel to be standardized, got a constant.")
    scale = (1.0 / (255.0 * deviation)).astype(np.float32)
    shift = (-mean / deviation).astype(np.float32)
    return train.astype(np.float32) * scale + shift, test.astype(np.float32) * scale + shift
