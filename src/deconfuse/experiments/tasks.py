"""From a dataset and a configuration to the task of one run, and what comes back from it.

A task is what a training function gets: a training set, a test set, and its random streams. Class
sizes, the samples kept and rotations are drawn here. The paper's networks are trained through a
task like any other classifier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deconfuse.errors import InputError
from deconfuse.experiments.config import RunConfig, random_state
from deconfuse.experiments.datasets import Dataset

if TYPE_CHECKING:
    from deconfuse.experiments.config import Sampling

__all__ = [
    "PARTS",
    "Outcome",
    "Task",
    "TrainFunction",
    "balanced_accuracy",
    "dirichlet_sizes",
    "draw_task",
    "keep_samples",
    "rotate_quarters",
    "set_sizes",
]

#: The share of every class that is kept whatever the draw.
_FLOOR = 0.2


def dirichlet_sizes(
    sizes: NDArray[np.int64], alpha: float, rng: np.random.Generator, sampling: Sampling
) -> NDArray[np.int64]:
    r"""Draw how many samples of each class are kept: at least a fifth of it, at most all of it.

    Notes
    -----
    With :math:`p \sim \mathrm{Dirichlet}(\alpha, \dots, \alpha)` and class sizes :math:`s_c`:

    - ``relative`` keeps :math:`0.2 s_c + 0.8 s_c p_c / \max p`: the most likely class is whole.
    - ``budget`` deals the remaining four fifths of *all* samples out by :math:`p`, and a class
      takes no more than it has: :math:`0.2 s_c + \min(0.8 s_c,\ 0.8 p_c \sum_k s_k)`.
    - ``equal-size`` keeps equally many of every class, in all as many as ``relative`` keeps: the
      control that tells the effect of fewer samples from that of uneven classes.

    Examples
    --------
    >>> dirichlet_sizes(np.full(4, 1000), 0.3, np.random.default_rng(0), "relative")
    array([ 515,  200, 1000,  468])
    """
    share = rng.dirichlet(np.full(len(sizes), alpha))
    if sampling == "budget":
        rest = np.minimum(sizes, share * sizes.sum())
    else:
        rest = sizes * (share / share.max())
    kept: NDArray[np.int64] = np.floor(_FLOOR * sizes + (1 - _FLOOR) * rest + 0.5).astype(np.int64)
    if sampling == "equal-size":
        return np.full_like(sizes, min(kept.sum() // len(sizes), sizes.min()))
    return kept


def keep_samples(
    labels: NDArray[np.int64], sizes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Choose that many samples of each class at random, and return their indices in order."""
    kept = [
        rng.permutation(np.flatnonzero(labels == label))[:size] for label, size in enumerate(sizes)
    ]
    return np.sort(np.concatenate(kept))


def rotate_quarters(images: NDArray[Any], quarters: NDArray[np.int64]) -> NDArray[Any]:
    """Turn each square image, ``(n, side, side, channels)``, by its number of quarter turns."""
    if images.shape[1] != images.shape[2]:
        raise InputError(f"Images must be square to be turned, got shape {images.shape[1:]}.")
    turned = np.empty_like(images)
    for quarter in range(4):
        chosen = quarters == quarter
        turned[chosen] = np.rot90(images[chosen], quarter, axes=(1, 2))
    return turned


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
    (train, _), (test, _) = (_draw(dataset, config, part) for part in PARTS)
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
    return _draw(dataset, config, part)[1]


def _draw(
    dataset: Dataset, config: RunConfig, part: Part
) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Return which samples a run has in its training or test set, and how many of each class."""
    labels = dataset.train_labels if part == "train" else dataset.test_labels
    there = np.bincount(labels, minlength=dataset.n_classes)
    # Sizes and samples come from one stream, one after the other.
    rng = random_state(config, f"{part} set")
    if config.alpha is None:
        sizes = np.full_like(there, there.min())
    else:
        sizes = dirichlet_sizes(there, config.alpha, rng, config.sampling)
    if not sizes.all():
        place = int(np.argmin(sizes))
        raise InputError(
            f"Every class must keep a sample in the {part} set of {config.title}, but "
            f"{dataset.classes[place]!r} keeps none of its {there[place]}.",
            hint="give each class at least 3 samples in the training and in the test set.",
        )
    return keep_samples(labels, sizes, rng), tuple(sizes.tolist())


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
