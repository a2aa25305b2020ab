"""Choose the classes of a matrix: those that were named, or those of two inputs together."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from deconfuse.errors import InputError

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix

__all__ = ["in_order", "over_both", "split_names"]


def in_order(cm: ConfusionMatrix, labels: str) -> ConfusionMatrix:
    """Return a matrix over the classes that a person wrote with commas between, in their order."""
    from deconfuse._checks import show
    from deconfuse.classes import parse_label

    texts = split_names(labels, "--labels")
    names = [parse_label(text, cm.classes.kind) for text in texts]
    if None in names:
        raise InputError(
            f"`--labels` must be of the type of the classes, {cm.classes.kind}, got"
            f" {texts[names.index(None)]!r}.",
            hint=f"the data has {cm.labels[0]!r}, for instance.",
        )
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise InputError(f"`--labels` must name each class once, got {show(twice)} twice.")
    absent = [label for label in cm.labels if label not in set(names)]
    if absent:
        raise InputError(
            f"`--labels` must name every class of the data, got none of {show(absent)}.",
            hint="add them, or name them in `--outcomes` if they are no classes; `--other NAME`"
            " takes every prediction outside `--labels`.",
        )
    return cm.reindex(names)


def over_both(
    first: ConfusionMatrix, second: ConfusionMatrix
) -> tuple[ConfusionMatrix, ConfusionMatrix]:
    """Return both matrices over the classes of either."""
    classes = first.classes.union(second.classes)
    return first.reindex(classes), second.reindex(classes)


def split_names(names: str, option: str) -> list[str]:
    """Return names that a person wrote with commas between."""
    # As in CSV, a name with a comma stands in quotes.
    found = [name.strip() for name in next(csv.reader([names], skipinitialspace=True), [])]
    if not found or "" in found:
        raise InputError(
            f"`{option}` must be names with commas between, got {names!r}.",
            hint=f"as in {option} cat,dog,bird.",
        )
    return found
