"""A training and a test set with their labels: what a study starts from, checked once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from deconfuse.errors import InputError
from deconfuse.experiments.config import check_name

__all__ = ["Dataset", "Transform"]

#: ``none``: handed on as they are. ``standardize``: images in bytes, scaled to [0, 1] and
#: standardized for each channel by the run's own training set. ``rotate``: turned by quarters
#: drawn once for each image of a seed, then standardized.
Transform = Literal["none", "standardize", "rotate"]


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Inputs and labels of a training and a test set.

    Parameters
    ----------
    name : str
        What records, folders and figures call it; a plain name.
    train_inputs, test_inputs : array-like of shape (n, ...)
        One row a sample; images are ``(n, height, width, channels)``. Data frames and lists
        become arrays.
    train_labels, test_labels : array-like of shape (n,)
        Classes as whole numbers from 0.
    classes : sequence of str
        The classes' names, in the order of their numbers; numbers become text.
    transform : {"none", "standardize", "rotate"}
        What each run does to the inputs before it trains. ``"none"`` hands them on as they are.
        The other two are for images in bytes; :func:`load_dataset` sets them. Use
        ``dataclasses.replace(dataset, transform="none")`` to have the paper's images as they are.

    Examples
    --------
    >>> inputs, labels = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    >>> Dataset("mine", inputs, labels, inputs, labels, ("no", "yes")).n_classes
    2
    """

    name: str
    train_inputs: NDArray[Any]
    train_labels: NDArray[np.int64]
    test_inputs: NDArray[Any]
    test_labels: NDArray[np.int64]
    classes: tuple[str, ...]
    transform: Transform = field(default="none", kw_only=True)

    def __post_init__(self) -> None:
        check_name(self.name, "name")
        object.__setattr__(self, "classes", _class_names(self.classes))
        if self.transform not in get_args(Transform):
            options = ", ".join(get_args(Transform))
            raise InputError(f"`transform` must be one of {options}, got {self.transform!r}.")
        for part in ("train", "test"):
            inputs = _as_array(getattr(self, f"{part}_inputs"), f"{part}_inputs")
            labels = _as_array(getattr(self, f"{part}_labels"), f"{part}_labels")
            if len(inputs) != len(labels):
                raise InputError(
                    f"`{part}_inputs` and `{part}_labels` must describe the same samples, "
                    f"got {len(inputs)} and {len(labels)}."
                )
            if self.transform != "none":
                _check_images(inputs, f"{part}_inputs")
            object.__setattr__(self, f"{part}_inputs", inputs)
            object.__setattr__(
                self, f"{part}_labels", _class_numbers(labels, f"{part}_labels", self.n_classes)
            )

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)


def _check_images(inputs: NDArray[Any], what: str) -> None:
    """Raise unless inputs are images that the paper's transformations can be done to."""
    if inputs.dtype != np.uint8 or inputs.ndim != 4:
        raise InputError(
            f"`{what}` must be images in bytes of shape (n, height, width, channels) to be "
            f"standardized, got {inputs.dtype} of shape {inputs.shape}.",
            hint='give uint8 images, or prepare the inputs yourself and use transform="none".',
        )


def _as_array(values: object, what: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"`{what}` must be an array with one row a sample, but it cannot become one ({error})."
        ) from error
    if array.ndim == 0:
        raise InputError(
            f"`{what}` must be an array with one row a sample, got {type(values).__name__}.",
            hint="make a sparse matrix dense with .toarray().",
        )
    return array


def _class_names(values: Iterable[object]) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"`classes` must be a sequence of names, got {values!r:.100}.")
    names = list(values)
    for name in names:
        if not isinstance(name, str | int | float | np.number | np.bool_):
            raise InputError(f"`classes` must be names (text or numbers), got {name!r:.100}.")
    # Those of NumPy print alike but cannot be written to a record.
    classes = tuple(str(name) for name in names)
    if len(classes) < 2:
        raise InputError(f"`classes` must name at least two classes, got {len(classes)}.")
    twice = [name for name in dict.fromkeys(classes) if classes.count(name) > 1]
    if twice:
        raise InputError(
            f"`classes` must be distinct names, got {twice[0]!r} {classes.count(twice[0])} times."
        )
    return classes


def _class_numbers(labels: NDArray[Any], what: str, n_classes: int) -> NDArray[np.int64]:
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise InputError(
            f"`{what}` must be one whole number a sample, got {labels.dtype} "
            f"of shape {labels.shape}.",
            hint="number the classes from 0, in the order of `classes`.",
        )
    found = np.unique(labels)
    if not np.array_equal(found, np.arange(n_classes)):
        raise InputError(
            f"`{what}` must have every class from 0 to {n_classes - 1} and "
            f"no other, got {found[:20].tolist()}."
        )
    return labels.astype(np.int64, copy=False)
