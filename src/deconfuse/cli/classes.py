"""Which classes a matrix has: those that were named, or those of two inputs together."""

from __future__ import annotations

import csv
import datetime
from typing import TYPE_CHECKING, Any

from deconfuse._checks import Label, kind_of, show
from deconfuse.errors import InputError

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix

__all__ = ["in_order", "over_both"]

_BOOLS = {"true": True, "false": False}


def in_order(cm: ConfusionMatrix, labels: str) -> ConfusionMatrix:
    """Return a matrix over the classes that a person wrote with commas between, in their order."""
    names = [_typed(name, cm.labels[0]) for name in _split(labels)]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise InputError(f"`--labels` must name each class once, got {show(twice)} twice.")
    absent = [label for label in cm.labels if label not in set(names)]
    if absent:
        raise InputError(
            f"`--labels` must name every class of the data, got none of {show(absent)}.",
            hint="add them; to join classes use `merge_classes` in Python.",
        )
    return _over(cm, names)


def over_both(
    first: ConfusionMatrix, second: ConfusionMatrix
) -> tuple[ConfusionMatrix, ConfusionMatrix]:
    """Return both matrices over the classes of either."""
    labels = (first + _empty(second.labels)).labels
    return _over(first, labels), _over(second, labels)


def _over(cm: ConfusionMatrix, labels: Any) -> ConfusionMatrix:
    return (cm + _empty(tuple(labels))).reorder(labels)


def _empty(labels: tuple[Label, ...]) -> ConfusionMatrix:
    import numpy as np
    from scipy import sparse

    from deconfuse.confusion import ConfusionMatrix

    return ConfusionMatrix(sparse.csr_array((len(labels), len(labels)), dtype=np.int64), labels)


def _split(labels: str) -> list[str]:
    # As in CSV, a name with a comma stands in quotes.
    names = [name.strip() for name in next(csv.reader([labels], skipinitialspace=True), [])]
    if not names or "" in names:
        raise InputError(
            f"`--labels` must be class names with commas between, got {labels!r}.",
            hint="as in --labels cat,dog,bird.",
        )
    return names


def _typed(name: str, example: Label) -> Label:
    """Return a name with the type of the classes that were read."""
    try:
        if isinstance(example, bool):
            return _BOOLS[name.lower()]
        if isinstance(example, int):
            return int(name)
        if isinstance(example, datetime.date):
            return datetime.date.fromisoformat(name)
    except (ValueError, KeyError) as error:
        raise InputError(
            f"`--labels` must be of the type of the classes, {kind_of(example)}, got {name!r}.",
            hint=f"the data has {example!r}, for instance.",
        ) from error
    return name
