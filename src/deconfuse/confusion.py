"""The confusion matrix as a value: counts and class names, merged, coarsened, reordered, saved."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from deconfuse._checks import (
    CountMatrix,
    Label,
    as_count_matrix,
    as_label,
    class_names,
    kind_of,
    show,
)
from deconfuse._tally import prefers_sparse
from deconfuse.counting import count_pairs, moved, positions_of
from deconfuse.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from deconfuse.adapters.score_columns import Scores
    from deconfuse.normalization import Normalized

__all__ = ["ConfusionMatrix"]

_INT64_MAX = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConfusionMatrix:
    """Counts of (true class, predicted class) pairs, with the names of the classes.

    Most people make one with `from_predictions`, `from_counts`, `from_frame` or `from_file`.

    Parameters
    ----------
    counts : array-like or sparse array of shape (n_classes, n_classes)
        Finite and non-negative, true classes on rows, predicted classes on columns.
    labels : sequence of int, str, bool or date
        The class names in matrix order, distinct and of one type.
    variances : array-like or sparse array of shape (n_classes, n_classes), optional
        Sum of squared sample weights of each cell: the sampling variance of a weighted count.
        By default the counts themselves, as for samples that weigh one each.

    Attributes
    ----------
    counts : ndarray or csr_array
        Read-only, of int64 or float64. Dense up to 2,048 classes; above that sparse, unless half
        of the cells or more are used.
    labels : tuple
    variances : ndarray or csr_array
        Read-only; the same object as ``counts`` when no weights were given.

    Notes
    -----
    Two matrices are equal when they have the same names in the same order, and the same counts
    and variances. Equal matrices have equal hashes. A matrix of zeros is allowed: it is the
    neutral element of ``+``, as an empty shard.

    Examples
    --------
    >>> from deconfuse import ConfusionMatrix
    >>> cm = ConfusionMatrix.from_predictions(["cat", "dog", "dog"], ["cat", "cat", "dog"])
    >>> cm
    <ConfusionMatrix of 2 classes ('cat', 'dog'): total 3, 2 on the diagonal>
    >>> cm.counts
    array([[1, 0],
           [1, 1]])
    """

    counts: CountMatrix
    labels: tuple[Label, ...]
    variances: CountMatrix | None = None

    def __post_init__(self) -> None:
        counts = _canonical(as_count_matrix(self.counts))
        labels = class_names(self.labels)
        if len(labels) != counts.shape[0]:
            raise InputError(
                f"`labels` must have one name per class, got {len(labels):,} names for"
                f" {counts.shape[0]:,} classes."
            )
        variances = counts
        if self.variances is not None and self.variances is not self.counts:
            variances = _canonical(as_count_matrix(self.variances, name="variances"))
            if variances.shape != counts.shape:
                raise InputError(
                    f"`variances` must have the shape of `counts`, got {variances.shape} and"
                    f" {counts.shape}."
                )
            if _same(variances, counts):
                variances = counts
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "variances", variances)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        labels: Iterable[Any] | None = None,
        sample_weight: Any = None,
    ) -> ConfusionMatrix:
        """Count the pairs of two columns of class labels.

        Parameters
        ----------
        y_true, y_pred : sequence of shape (n_samples,)
            Labels and predictions: lists, numpy arrays, pandas or Polars series, PyArrow arrays or
            torch tensors, of ints, strings, bools, dates or categories.
        labels : sequence, optional
            The classes in the order wanted, also those that do not occur. By default the sorted
            classes that occur, for categoricals too.
        sample_weight : sequence of shape (n_samples,), optional
            Finite, non-negative weights.

        Returns
        -------
        ConfusionMatrix

        Raises
        ------
        InputError
            If lengths differ, nothing is given, values are missing or of mixed types, or a value
            is not in ``labels``.

        Examples
        --------
        >>> from deconfuse import ConfusionMatrix
        >>> cm = ConfusionMatrix.from_predictions([0, 1, 1], [0, 1, 0], labels=[1, 0])
        >>> cm.counts
        array([[1, 1],
               [0, 1]])
        """
        pairs = count_pairs(y_true, y_pred, labels=labels, sample_weight=sample_weight)
        return cls(pairs.counts, pairs.labels, pairs.variances)

    @classmethod
    def from_counts(
        cls, counts: Any, labels: Iterable[Any] | None = None, *, variances: Any = None
    ) -> ConfusionMatrix:
        """Take a matrix that was counted elsewhere.

        Parameters
        ----------
        counts : array-like, DataFrame or sparse array of shape (n_classes, n_classes)
            True classes on rows, predicted classes on columns.
        labels : sequence, optional
            Class names; by default those of the DataFrame, or 0, 1, 2 and so on.
        variances : array-like or sparse array, optional
            Sum of squared weights of each cell, if the counts are weighted.

        Returns
        -------
        ConfusionMatrix

        Examples
        --------
        >>> from deconfuse import ConfusionMatrix
        >>> ConfusionMatrix.from_counts([[5, 1], [0, 4]], labels=["cat", "dog"]).total
        10
        """
        if hasattr(counts, "columns") and hasattr(counts, "index"):
            index = class_names(counts.index, name="index of `counts`")
            columns = class_names(counts.columns, name="columns of `counts`")
            if set(index) != set(columns):
                raise InputError("The rows and columns of `counts` must name the same classes.")
            at = {value: position for position, value in enumerate(columns)}
            counts = counts.to_numpy()[:, [at[value] for value in index]]
            frame = cls(counts, index, variances)
            return frame if labels is None else frame.reorder(labels)
        matrix = as_count_matrix(counts)
        return cls(matrix, tuple(range(matrix.shape[0]) if labels is None else labels), variances)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        label: str = "label",
        prediction: str = "prediction",
        weight: str | None = None,
        scores: Scores | None = None,
    ) -> ConfusionMatrix:
        """Count two columns of a data frame inside its own engine.

        Takes frames of pandas, Polars (eager and lazy), PyArrow, DuckDB, Dask, PySpark and Ibis; only
        the distinct pairs leave the engine. With ``scores``, the prediction is the class with the
        highest score. See `deconfuse.adapters.frames.count_frame` for all of it.

        Examples
        --------
        >>> import pandas as pd
        >>> from deconfuse import ConfusionMatrix
        >>> frame = pd.DataFrame({"label": ["cat", "dog"], "cat": [0.9, 0.6], "dog": [0.1, 0.4]})
        >>> ConfusionMatrix.from_frame(frame, scores=["cat", "dog"]).counts
        array([[1, 0],
               [1, 0]])
        """
        from deconfuse.adapters.frames import count_frame

        return count_frame(
            frame, label=label, prediction=prediction, weight=weight, scores=scores
        )

    @classmethod
    def from_file(
        cls,
        path: Any,
        *,
        label: str = "label",
        prediction: str = "prediction",
        weight: str | None = None,
        scores: Scores | None = None,
    ) -> ConfusionMatrix:
        """Count two columns of files without loading them.

        Takes CSV, TSV, Parquet, JSON lines and Arrow IPC, also gzip and zstd: a path, a pattern, a
        folder or several of them. A saved matrix is recognized. With ``scores``, the prediction is
        the class with the highest score. See `deconfuse.adapters.files.count_file` for all of it.
        """
        from deconfuse.adapters.files import count_file

        return count_file(path, label=label, prediction=prediction, weight=weight, scores=scores)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.labels)

    @property
    def is_sparse(self) -> bool:
        """Whether ``counts`` is a sparse array."""
        return sp.issparse(self.counts)

    @property
    def is_weighted(self) -> bool:
        """Whether samples had weights, so that ``variances`` differ from ``counts``."""
        return self.variances is not self.counts

    @property
    def total(self) -> int | float:
        """Sum of all counts."""
        return self.counts.sum().item()  # type: ignore[no-any-return]

    @property
    def label_counts(self) -> npt.NDArray[Any]:
        """How often each class is the true one: row sums."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def prediction_counts(self) -> npt.NDArray[Any]:
        """How often each class is predicted: column sums."""
        return np.asarray(self.counts.sum(axis=0))

    def index_of(self, labels: Any) -> npt.NDArray[np.intp]:
        """Return the matrix position of each label.

        Examples
        --------
        >>> from deconfuse import ConfusionMatrix
        >>> cm = ConfusionMatrix.from_counts([[5, 1], [0, 4]], labels=["cat", "dog"])
        >>> cm.index_of(["dog", "cat", "dog"])
        array([1, 0, 1])
        """
        return positions_of(labels, self.labels, name="labels")

    def normalize(
        self,
        method: Literal["row", "col", "all", "bi", "true", "pred"] = "bi",
        epsilon: float | None = None,
        throw: bool = True,
    ) -> Normalized:
        """Normalize the counts; see `deconfuse.normalize`."""
        from deconfuse.normalization import normalize

        return normalize(self, method, epsilon=epsilon, throw=throw)

    def __add__(self, other: object) -> ConfusionMatrix:
        if isinstance(other, (int, float)) and other == 0:
            return self
        if not isinstance(other, ConfusionMatrix):
            return NotImplemented
        if kind_of(self.labels[0]) != kind_of(other.labels[0]):
            raise InputError(
                f"Merged matrices must name classes by one type, got"
                f" {show(self.labels, 2)} and {show(other.labels, 2)}.",
                hint="turn the names of one into those of the other before counting.",
            )
        total = self.total + other.total
        if isinstance(total, int) and total > _INT64_MAX:
            raise InputError(
                f"Merged counts must add up to at most 2**63 - 1, got {total:,}"
                " (integer overflow).",
                hint="merge float counts: `ConfusionMatrix.from_counts(cm.counts.astype(float), cm.labels)`.",
            )
        if not np.isfinite(total):
            raise InputError("Merged counts must have a finite total, got infinity.")
        labels = _union(self.labels, other.labels)
        place = {value: position for position, value in enumerate(labels)}
        mine = np.array([place[value] for value in self.labels])
        theirs = np.array([place[value] for value in other.labels])
        n_classes = len(labels)
        counts = _add(
            moved(self.counts, mine, n_classes), moved(other.counts, theirs, n_classes)
        )
        if not self.is_weighted and not other.is_weighted:
            return ConfusionMatrix(counts, labels)
        variances = _add(
            moved(self.variances, mine, n_classes), moved(other.variances, theirs, n_classes)
        )
        return ConfusionMatrix(counts, labels, variances)

    __radd__ = __add__

    def merge_classes(self, groups: Mapping[Any, Sequence[Any]]) -> ConfusionMatrix:
        """Join classes into coarser ones; classes that are in no group stay as they are.

        Parameters
        ----------
        groups : mapping of new name to sequence of names
            A group takes the place of its first member. A group of one renames a class.

        Returns
        -------
        ConfusionMatrix

        Examples
        --------
        >>> from deconfuse import ConfusionMatrix
        >>> cm = ConfusionMatrix.from_counts([[4, 1, 0], [2, 5, 1], [0, 0, 7]], ["cat", "dog", "car"])
        >>> cm.merge_classes({"animal": ["cat", "dog"]}).counts
        array([[12,  1],
               [ 0,  7]])
        """
        if not isinstance(groups, Mapping):
            raise InputError(
                "`groups` must map each new name to the classes it joins, got"
                f" {type(groups).__name__}.",
                hint='write it as {"animal": ["cat", "dog"]}.',
            )
        known = {value: position for position, value in enumerate(self.labels)}
        group_of: dict[Label, Label] = {}
        for raw_name, members in groups.items():
            name = as_label(raw_name, name="groups")
            for member in class_names(members, name=f"groups[{raw_name!r}]"):
                if member not in known or kind_of(member) != kind_of(self.labels[0]):
                    raise InputError(
                        f"Members of `groups` must be classes of the matrix, got {member!r}.",
                        hint=f"the classes are {show(self.labels)}.",
                    )
                if member in group_of:
                    raise InputError(
                        f"A class must be in one group only, got {member!r} in"
                        f" {group_of[member]!r} and in {name!r}."
                    )
                group_of[member] = name
        staying = set(self.labels) - set(group_of)
        collisions = [name for name in set(group_of.values()) if name in staying]
        if collisions:
            raise InputError(
                f"A group must not have the name of a class outside it, got {show(collisions)}.",
                hint="add that class to the group, or name the group otherwise.",
            )
        coarse = [group_of.get(value, value) for value in self.labels]
        names = class_names(dict.fromkeys(coarse), name="groups")
        place = {value: position for position, value in enumerate(names)}
        positions = np.array([place[value] for value in coarse])
        counts = moved(self.counts, positions, len(names))
        if not self.is_weighted:
            return ConfusionMatrix(counts, names)
        return ConfusionMatrix(counts, names, moved(self.variances, positions, len(names)))

    def reorder(self, labels: Iterable[Any]) -> ConfusionMatrix:
        """Return the same matrix with its classes in another order.

        Examples
        --------
        >>> from deconfuse import ConfusionMatrix
        >>> cm = ConfusionMatrix.from_counts([[5, 1], [0, 4]], labels=["cat", "dog"])
        >>> cm.reorder(["dog", "cat"]).counts
        array([[4, 0],
               [1, 5]])
        """
        names = class_names(labels)
        missing = [value for value in self.labels if value not in set(names)]
        unknown = [value for value in names if value not in set(self.labels)]
        if missing or unknown or kind_of(names[0]) != kind_of(self.labels[0]):
            raise InputError(
                f"`labels` must be the classes of the matrix in another order, got"
                f" {show(unknown) or 'none'} unknown and {show(missing) or 'none'} missing.",
            )
        order = self.index_of(list(names))
        if not self.is_weighted:
            return ConfusionMatrix(self.counts[order][:, order], names)
        return ConfusionMatrix(
            self.counts[order][:, order], names, self.variances[order][:, order]
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return the counts as a DataFrame with the axes named "true" and "predicted"."""
        import pandas as pd

        index = pd.Index(self.labels, name="true")
        columns = pd.Index(self.labels, name="predicted")
        if self.is_sparse:
            return pd.DataFrame.sparse.from_spmatrix(self.counts, index, columns)
        return pd.DataFrame(self.counts, index, columns)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the matrix to a file: JSON, CSV or NPZ, by the suffix of its name."""
        from deconfuse.storage import write_matrix

        write_matrix(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ConfusionMatrix:
        """Read a matrix that `save` wrote."""
        from deconfuse.storage import read_matrix

        return read_matrix(path)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfusionMatrix):
            return NotImplemented
        return (
            self.labels == other.labels
            # In Python True == 1, but a class named True is not one named 1.
            and kind_of(self.labels[0]) == kind_of(other.labels[0])
            and _same(self.counts, other.counts)
            and _same(self.variances, other.variances)
        )

    def __hash__(self) -> int:
        return hash((kind_of(self.labels[0]), self.labels, self.total))

    def __repr__(self) -> str:
        hits = self.counts.diagonal().sum().item()
        names = ", ".join(repr(value) for value in self.labels[:5])
        more = ", ..." if self.n_classes > 5 else ""
        return (
            f"<ConfusionMatrix of {self.n_classes:,} classes ({names}{more}):"
            f" total {self.total:,}, {hits:,} on the diagonal>"
        )


def _canonical(matrix: CountMatrix) -> CountMatrix:
    """Return the matrix, dense or sparse as its size asks for, read-only."""
    if sp.issparse(matrix):
        if prefers_sparse(matrix.shape[0], matrix.nnz):
            for part in (matrix.data, matrix.indices, matrix.indptr):
                part.flags.writeable = False
            return matrix
        matrix = np.asarray(matrix.toarray())
    elif prefers_sparse(matrix.shape[0], int(np.count_nonzero(matrix))):
        return _canonical(sp.csr_array(matrix))
    matrix.flags.writeable = False
    return matrix


def _same(one: CountMatrix, other: CountMatrix) -> bool:
    if one is other:
        return True
    if one.shape != other.shape or sp.issparse(one) != sp.issparse(other):
        return False
    if isinstance(one, np.ndarray):
        return bool((one == other).all())
    return one.nnz == other.nnz and (one != other).nnz == 0


def _union(mine: tuple[Label, ...], theirs: tuple[Label, ...]) -> tuple[Label, ...]:
    """Return all names: sorted if both are, else the first ones and then what the second adds."""
    if mine == theirs:
        return mine
    union = tuple(dict.fromkeys(mine + theirs))
    if _is_sorted(mine) and _is_sorted(theirs):
        return tuple(sorted(union))  # type: ignore[type-var]
    return union


def _is_sorted(names: tuple[Label, ...]) -> bool:
    return all(one < other for one, other in zip(names, names[1:], strict=False))  # type: ignore[operator]


def _add(one: CountMatrix, other: CountMatrix) -> CountMatrix:
    if sp.issparse(one) == sp.issparse(other):
        return one + other
    return sp.csr_array(one) + sp.csr_array(other)
