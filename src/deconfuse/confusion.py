"""The confusion matrix as a value: counts and class names, merged, coarsened, reordered, saved."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from deconfuse._checks import (
    CountMatrix,
    Label,
    as_count_matrix,
    class_names,
    kind_of,
    show,
)
from deconfuse._classes import coarser, reordered, union
from deconfuse._tally import prefers_sparse
from deconfuse.counting import count_pairs, moved, positions_of
from deconfuse.errors import InputError
from deconfuse.reading.matrices import by_position, is_frame, named_counts, named_variances

if TYPE_CHECKING:
    import pandas as pd

    from deconfuse.normalization import Normalized
    from deconfuse.reading.score_columns import Scores
    from deconfuse.statistics.metrics import PerClass
    from deconfuse.storage import FileFormat

__all__ = ["ConfusionMatrix"]

_INT64_MAX = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class ConfusionMatrix:
    """Counts of (true class, predicted class) pairs, with the names of the classes.

    Most people make one with `from_predictions`, `from_counts`, `from_frame` or `from_file`.

    Parameters
    ----------
    counts : array-like, DataFrame or sparse array of shape (n_classes, n_classes)
        Finite and non-negative, true classes on rows, predicted classes on columns. A DataFrame is
        aligned by its names, as in `from_counts`.
    labels : sequence of int, str, bool or date
        The class names in matrix order, distinct and of one type.
    variances : array-like, DataFrame or sparse array of shape (n_classes, n_classes), optional
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
    variances: CountMatrix

    def __init__(self, counts: Any, labels: Iterable[Any], variances: Any = None) -> None:
        names = class_names(labels)
        counts, variances = (by_position(given, names) for given in (counts, variances))
        if is_frame(counts) or is_frame(variances):
            # By name, as in `from_counts`: the order of a frame need not be that of the labels.
            if variances is not None:
                variances = named_variances(variances, counts, names)
            counts = named_counts(counts, names)[0]
        matrix = _settled(as_count_matrix(counts))
        if len(names) != matrix.shape[0]:
            raise InputError(
                f"`labels` must have one name per class, got {len(names):,} names for"
                f" {matrix.shape[0]:,} classes.",
            )
        spread = matrix
        if variances is not None and variances is not counts:
            spread = _settled(as_count_matrix(variances, name="variances"))
            if spread.shape != matrix.shape:
                raise InputError(
                    f"`variances` must have the shape of `counts`, got {spread.shape} for"
                    f" {matrix.shape}.",
                )
            if _same(spread, matrix):
                spread = matrix
        object.__setattr__(self, "counts", matrix)
        object.__setattr__(self, "labels", names)
        object.__setattr__(self, "variances", spread)

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
            classes that occur; for categoricals too, as in scikit-learn.
        sample_weight : sequence of shape (n_samples,), optional
            Finite, non-negative weights. Whole numbers give whole counts. The sums of their
            squares are kept as ``variances``.

        Returns
        -------
        ConfusionMatrix

        Raises
        ------
        InputError
            If lengths differ, nothing is given, values are missing or of mixed types (also bool
            and int), or a value is not in ``labels``.

        Warns
        -----
        DeconfuseWarning
            If no class is in both columns and ``labels`` are not given: the model may be that bad,
            but "cat" and "Cat" look the same.

        Notes
        -----
        Columns are read once, in pieces; memory beyond them follows the distinct pairs, not the
        samples and not the square of the number of classes. Whole floats count as ints and
        timestamps at midnight (of their own time zone) as dates, since tables store them so; other
        floats and times are refused.

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
            True classes on rows, predicted classes on columns. A DataFrame has its class names
            in its columns and its index (or first column), which are aligned by name; columns
            that are the text of rows, as files have them, are these classes. Axes named as if
            predictions were on rows are refused. So are totals, as a crosstab with margins has
            them: a row and a column that add up all others, whatever they are called, where that
            can be no accident; without names, only as the last of four or more. If one really is
            a class, give the bare numbers and ``labels``.
        labels : sequence, optional
            Class names; by default those of the DataFrame, or 0, 1, 2 and so on. With a DataFrame
            they choose the order and may add classes that it lacks, as a crosstab does.
        variances : array-like, DataFrame or sparse array, optional
            Sum of squared weights of each cell, if the counts are weighted. A DataFrame is aligned
            by name as the counts are; it is needed where these are put in another order.

        Returns
        -------
        ConfusionMatrix

        Examples
        --------
        >>> from deconfuse import ConfusionMatrix
        >>> ConfusionMatrix.from_counts([[5, 1], [0, 4]], labels=["cat", "dog"]).total
        10
        """
        # By their types: a data frame has its columns as attributes, whatever they are called.
        if any(isinstance(one, ConfusionMatrix) for one in (counts, getattr(counts, "source", 0))):
            raise InputError(
                f"`counts` must be a matrix of numbers, got a {type(counts).__name__}.",
                hint="use a ConfusionMatrix as it is (`reorder` changes its classes); a Normalized"
                " has its counts in `.source` and its values in `.matrix`.",
            )
        if labels is not None:
            labels = class_names(labels)
            counts, variances = (by_position(given, labels) for given in (counts, variances))
        matrix, names = named_counts(counts, labels)
        if variances is not None:
            variances = named_variances(variances, counts, names)
        return cls(matrix, names, variances)

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

        Takes frames of pandas, Polars (eager and lazy), PyArrow, DuckDB, Dask, PySpark and Ibis;
        only the distinct pairs leave the engine. With ``scores``, the prediction is the class
        with the highest score. See `deconfuse.reading.frames.count_frame` for all of it.

        Examples
        --------
        >>> import pandas as pd
        >>> from deconfuse import ConfusionMatrix
        >>> frame = pd.DataFrame({"label": ["cat", "dog"], "cat": [0.9, 0.6], "dog": [0.1, 0.4]})
        >>> ConfusionMatrix.from_frame(frame, scores=["cat", "dog"]).counts
        array([[1, 0],
               [1, 0]])
        """
        from deconfuse.reading.frames import count_frame

        return count_frame(frame, label=label, prediction=prediction, weight=weight, scores=scores)

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
        folder or several of them. Saved matrices are recognized and merged. With ``scores``, the
        prediction is the class with the highest score. See
        `deconfuse.reading.files.count_file` for all of it.
        """
        from deconfuse.reading.files import count_file

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
        return self.counts.sum().item()

    @property
    def label_counts(self) -> npt.NDArray[Any]:
        """How often each class is the true one: row sums."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def prediction_counts(self) -> npt.NDArray[Any]:
        """How often each class is predicted: column sums."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def accuracy(self) -> float:
        """Share of samples predicted right, as scikit-learn's ``accuracy_score``."""
        from deconfuse.statistics.metrics import accuracy

        return accuracy(self)

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall of the classes that have samples, as ``balanced_accuracy_score``."""
        from deconfuse.statistics.metrics import balanced_accuracy

        return balanced_accuracy(self)

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the classes that occur, as ``f1_score(..., average="macro")``."""
        from deconfuse.statistics.metrics import macro_f1

        return macro_f1(self)

    def per_class(self, level: float = 0.95) -> PerClass:
        """Return recall, precision and F1 of every class, with intervals: see `PerClass`."""
        from deconfuse.statistics.metrics import per_class

        return per_class(self, level)

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
        """Merge two shards: counts and variances of classes of the same name add up.

        The classes are those of both; sorted if both are, else those on the left first. So
        merging shards gives the matrix of counting them at once, in any order.
        """
        if isinstance(other, (int, float)) and other == 0:
            return self
        if not isinstance(other, ConfusionMatrix):
            return NotImplemented
        labels = union(self.labels, other.labels)
        total = self.total + other.total
        if isinstance(total, int) and total > _INT64_MAX:
            raise InputError(
                f"Merged counts must add up to at most 2**63 - 1, got {total:,}"
                " (integer overflow).",
                hint="count in floats: `ConfusionMatrix.from_counts(cm.counts * 1.0, cm.labels)`.",
            )
        if not np.isfinite(total):
            raise InputError("Merged counts must have a finite total, got infinity.")
        place = {value: position for position, value in enumerate(labels)}
        mine = np.array([place[value] for value in self.labels])
        theirs = np.array([place[value] for value in other.labels])
        n_classes = len(labels)
        counts = _sum(moved(self.counts, mine, n_classes), moved(other.counts, theirs, n_classes))
        if not self.is_weighted and not other.is_weighted:
            return ConfusionMatrix(counts, labels)
        variances = _sum(
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
        >>> counts = [[4, 1, 0], [2, 5, 1], [0, 0, 7]]
        >>> cm = ConfusionMatrix.from_counts(counts, ["cat", "dog", "car"])
        >>> cm.merge_classes({"animal": ["cat", "dog"]}).counts
        array([[12,  1],
               [ 0,  7]])
        """
        targets, names = coarser(self.labels, groups)
        place = {name: position for position, name in enumerate(names)}
        positions = np.array([place[name] for name in targets])
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
        names = reordered(self.labels, labels)
        order = positions_of(list(names), self.labels, name="labels")
        counts = self.counts[order][:, order]
        if not self.is_weighted:
            return ConfusionMatrix(counts, names)
        return ConfusionMatrix(counts, names, self.variances[order][:, order])

    def to_pandas(self) -> pd.DataFrame:
        """Return the counts as a DataFrame with the axes named "true" and "predicted"."""
        import pandas as pd

        index = pd.Index(self.labels, name="true")
        columns = pd.Index(self.labels, name="predicted")
        if self.is_sparse:
            sparse: Any = pd.DataFrame.sparse
            return cast("pd.DataFrame", sparse.from_spmatrix(self.counts, index, columns))
        return pd.DataFrame(np.array(self.counts), index, columns)

    def save(self, path: str | os.PathLike[str], *, format: FileFormat | None = None) -> None:
        """Write the matrix to a file, complete or not at all.

        Parameters
        ----------
        path : path
            Where to; what was there is replaced once everything is written.
        format : {"json", "csv", "npz"}, optional
            By default the suffix of ``path``. All three keep names, types, counts and variances
            exactly; CSV opens in a spreadsheet, NPZ is smallest.

        Raises
        ------
        InputError
            If the format is unknown, or the folder does not exist or cannot be written to.
        """
        from deconfuse.storage import write_matrix

        write_matrix(self, path, format=format)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, format: FileFormat | None = None
    ) -> ConfusionMatrix:
        """Read a matrix from a file that `save` wrote, or from a CSV table with class names.

        Parameters
        ----------
        path : path
        format : {"json", "csv", "npz"}, optional
            By default the suffix of ``path``.

        Returns
        -------
        ConfusionMatrix

        Raises
        ------
        InputError
            If the file is damaged, cut short, of another version or no matrix.
        """
        from deconfuse.storage import read_matrix

        return read_matrix(path, format=format)

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

    def __reduce__(self) -> tuple[type[ConfusionMatrix], tuple[Any, ...]]:
        # Through the constructor, so that a copy in another process is read-only again.
        variances = self.variances if self.is_weighted else None
        return ConfusionMatrix, (self.counts, self.labels, variances)

    def __hash__(self) -> int:
        # Cells, because sums depend on order and type; floats, since whole counts equal them.
        cells = self.counts.diagonal().astype(np.float64).tolist()
        return hash((kind_of(self.labels[0]), self.labels, tuple(cells)))

    def __repr__(self) -> str:
        hits = self.counts.diagonal().sum().item()
        names = show(self.labels[:5])
        more = ", ..." if self.n_classes > 5 else ""
        return (
            f"<ConfusionMatrix of {self.n_classes:,} classes ({names}{more}):"
            f" total {self.total:,}, {hits:,} on the diagonal>"
        )

    def _repr_html_(self) -> str:
        from deconfuse.reporting.display import matrix_html

        return matrix_html(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from deconfuse.reporting.display import mimebundle

        return mimebundle(self, self._repr_html_())


def _settled(matrix: CountMatrix) -> CountMatrix:
    """Return the matrix read-only, dense or sparse as its size asks for."""
    if isinstance(matrix, np.ndarray):
        if prefers_sparse(matrix.shape[0], int(np.count_nonzero(matrix))):
            return _settled(sp.csr_array(matrix))
        matrix.flags.writeable = False
        return matrix
    if not prefers_sparse(matrix.shape[0], matrix.nnz):
        return _settled(np.asarray(matrix.toarray()))
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def _same(one: CountMatrix, other: CountMatrix) -> bool:
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        # The form follows from the numbers, so equal matrices have equal forms.
        return type(one) is type(other) and one.shape == other.shape and bool((one == other).all())
    return (
        one.shape == other.shape
        and np.array_equal(one.indptr, other.indptr)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.data, other.data)
    )


def _sum(one: CountMatrix, other: CountMatrix) -> CountMatrix:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one + other
    return sp.csr_array(one) + sp.csr_array(other)
