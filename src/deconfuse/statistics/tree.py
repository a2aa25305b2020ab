"""Cluster classes into a tree by similarity, and order them so that similar ones are adjacent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deconfuse._checks import Label, is_whole_number, read_only
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.statistics.cells import MAX_DENSE_CLASSES, as_confusion, check_some_samples
from deconfuse.statistics.estimate import BiEstimate, estimate_quietly

__all__ = ["Hierarchy", "hierarchy"]

FloatArray = NDArray[np.float64]

# Optimal leaf ordering takes time with the cube of the classes: half a second for a thousand.
_MAX_OPTIMAL = 400


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A tree of classes by similarity.

    Attributes
    ----------
    labels : tuple
        Class names in matrix order.
    linkage : ndarray of shape (n_classes - 1, 4)
        As `scipy.cluster.hierarchy` takes it.
    distances : ndarray
        Condensed distances between the classes, minus the log of their similarity.
    """

    labels: tuple[Label, ...]
    linkage: FloatArray
    distances: FloatArray

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Matrix positions in an order that puts similar classes side by side.

        Of all orders that the tree allows, the one with the smallest distances between neighbours,
        up to 400 classes; above that, one that the tree allows.
        """
        from scipy.cluster.hierarchy import leaves_list, optimal_leaf_ordering

        tree = self.linkage
        if len(self.labels) <= _MAX_OPTIMAL:
            tree = optimal_leaf_ordering(tree, self.distances)
        return read_only(np.asarray(leaves_list(tree), dtype=np.intp))

    @property
    def ordered_labels(self) -> tuple[Label, ...]:
        """Class names in `order`."""
        return tuple(self.labels[index] for index in self.order)

    def groups(self, n_groups: int) -> list[tuple[Label, ...]]:
        """Cut the tree into that many groups of classes, largest first."""
        if not is_whole_number(n_groups) or not 1 <= n_groups <= len(self.labels):
            raise InputError(f"`n_groups` must be from 1 to {len(self.labels)}, got {n_groups!r}.")
        from scipy.cluster.hierarchy import fcluster

        members: dict[int, list[Label]] = {}
        codes = fcluster(self.linkage, n_groups, criterion="maxclust")
        for label, code in zip(self.labels, codes.tolist(), strict=True):
            members.setdefault(code, []).append(label)
        return sorted((tuple(names) for names in members.values()), key=len, reverse=True)


def hierarchy(cm: ConfusionMatrix | BiEstimate | Any) -> Hierarchy:
    r"""Return the classes of a confusion matrix as a tree by similarity.

    Parameters
    ----------
    cm : ConfusionMatrix, BiEstimate or array-like of shape (n_classes, n_classes)
        Of at most 4,096 classes; counts, or the estimate of such counts.

    Returns
    -------
    Hierarchy

    Notes
    -----
    Average linkage of the distances :math:`-\log \eta_{ij}`, with :math:`\eta` the similarity of
    Luce's model as `estimate_bi` estimates it, and as Shepard relates similarity to distance. Class
    sizes and prediction bias cancel in :math:`\eta`, so with many samples the tree stays what it is
    when the test set changes; a tree of raw counts follows the large classes. Pairs more similar
    than a class to itself have distance zero. A class without an estimate has the largest distance
    to all others.

    Examples
    --------
    >>> import deconfuse as dc
    >>> cm = dc.ConfusionMatrix.from_counts(
    ...     [[90, 2, 8, 1], [1, 50, 1, 9], [7, 2, 80, 1], [1, 6, 1, 60]],
    ...     labels=["cat", "car", "dog", "bus"],
    ... )
    >>> tree = dc.statistics.hierarchy(cm)
    >>> tree.groups(2)
    [('cat', 'dog'), ('car', 'bus')]
    """
    if isinstance(cm, BiEstimate):
        estimate = cm
    else:
        counts = as_confusion(cm)
        check_some_samples(counts, "A hierarchy")
        estimate = estimate_quietly(counts, 0.95)
    n_classes = len(estimate.labels)
    if n_classes < 2:
        raise InputError("A hierarchy needs at least two classes, got one.")
    if n_classes > MAX_DENSE_CLASSES:
        raise InputError(
            f"A hierarchy must have at most {MAX_DENSE_CLASSES:,} classes, got {n_classes:,}.",
            hint="merge classes with `merge_classes`.",
        )
    from scipy.cluster.hierarchy import linkage

    condensed = estimate.distances()
    np.maximum(condensed, 0.0, out=condensed)
    largest = np.fmax.reduce(condensed, initial=0.0)
    np.copyto(condensed, largest, where=np.isnan(condensed))
    return Hierarchy(estimate.labels, linkage(condensed, "average"), condensed)
