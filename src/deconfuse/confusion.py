"""The confusion matrix as a value: classes and counts, merged, coarsened, reordered, saved."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from deconfuse._checks import CountMatrix, Label, needs_pandas, per_class, show
from deconfuse._shown import ShownMatrix
from deconfuse.classes import Classes, ClassOptions
from deconfuse.counts import Counts, dense
from deconfuse.errors import InputError, warn
from deconfuse.reading.count_tables import (
    TableOptions,
    by_position,
    named_counts,
    named_variances,
    refuse_shares,
)

if TYPE_CHECKING:
    import pandas as pd

    from deconfuse.normalization import MethodName, Normalized
    from deconfuse.reading.column_names import Scores
    from deconfuse.reading.matrix_files import FileFormat
    from deconfuse.reporting.plots import ConfusionMatrixDisplay
    from deconfuse.statistics.metrics import PerClass

__all__ = ["ConfusionMatrix"]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ConfusionMatrix(ShownMatrix):
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
    outcomes : tuple of str
        Names of answers that are no class, such as "refused"; see `outcome_counts`.

    Notes
    -----
    Two matrices are equal when they have the same names in the same order, and the same counts,
    variances and outcomes. Equal matrices have equal hashes. A matrix of zeros is allowed: it is
    the neutral element of ``+``, as an empty shard.

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

    classes: Classes
    outcomes: tuple[str, ...]
    # Over the classes and then the outcomes.
    _cells: Counts

    def __init__(self, counts: Any, labels: Iterable[Any], variances: Any = None) -> None:
        classes = Classes.of(labels)
        counts, variances = (by_position(given, classes.names) for given in (counts, variances))
        square = Counts.trusted(named_counts(counts, classes)[0])
        if variances is not None:
            square = square.weighted(named_variances(variances, counts, classes.names))
        self._fill(classes, (), square)

    @classmethod
    def _of(
        cls, classes: Classes, cells: Counts, outcomes: tuple[str, ...] = ()
    ) -> ConfusionMatrix:
        """Make a matrix of trusted counts over the classes and then the outcomes."""
        made = object.__new__(cls)
        made._fill(classes, outcomes, cells)
        return made

    def _fill(self, classes: Classes, outcomes: tuple[str, ...], cells: Counts) -> None:
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "outcomes", outcomes)
        object.__setattr__(self, "_cells", cells)

    @cached_property
    def _square(self) -> Counts:
        return self._cells.take(np.arange(self.n_classes))

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        labels: Iterable[Any] | None = None,
        sample_weight: Any = None,
        outcomes: Iterable[str] | None = None,
        other: str | None = None,
        missing: str | None = None,
        normalize_text: bool = False,
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
            Finite, non-negative weights. Integers give integer counts. The sums of their squares
            are kept as ``variances``.
        outcomes : sequence of str, optional
            Names that are no class. As a prediction: an answer that names no class, such as
            "refused". As a label: nothing was there, such as "background".
        other : str, optional
            The outcome that takes every prediction outside ``labels``, such as free text. A label
            outside them stays an error.
        missing : str, optional
            The outcome that takes missing predictions. A missing label stays an error.
        normalize_text : bool
            Ignore case and outer spaces of text. A warning says how many spellings this changed.

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
            If no class is in both columns, or classes differ only in case or outer spaces, and
            ``labels`` are not given.

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

        A language model that answers in prose:

        >>> answers = ["cat", "I cannot tell", None, "dog"]
        >>> cm = ConfusionMatrix.from_predictions(
        ...     ["cat", "cat", "dog", "dog"], answers,
        ...     labels=["cat", "dog"], other="invalid", missing="no answer",
        ... )
        >>> cm.total, cm.n_samples, cm.outcomes, cm.outcome_counts.tolist()
        (2, 4, ('invalid', 'no answer'), [[1, 0], [0, 1]])
        """
        from deconfuse.reading.sequences import count_sequences

        options = ClassOptions.of(labels, outcomes, other, missing, normalize_text)
        return count_sequences(y_true, y_pred, sample_weight, options)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        labels: Iterable[Any] | None = None,
        *,
        variances: Any = None,
        transpose: bool = False,
        drop: Iterable[Any] = (),
    ) -> ConfusionMatrix:
        """Take a matrix that was counted elsewhere.

        Parameters
        ----------
        counts : array-like, DataFrame or sparse array of shape (n_classes, n_classes)
            True classes on rows, predicted classes on columns. A DataFrame has its class names
            in its columns and its index (or first column), which are aligned by name. A DataFrame
            whose axes are named as if predictions were on rows is refused, and so is a line called
            "total", "all" or "sum" that is the sum of the others. Fractions whose rows, columns or
            total sum to 1 or to 100 are refused too: they are shares, for `from_shares`.
        labels : sequence, optional
            Class names; by default those of the DataFrame, or 0, 1, 2 and so on. With a DataFrame
            they choose the order and may add classes that it lacks, as a crosstab does.
        variances : array-like, DataFrame or sparse array, optional
            Sum of squared weights of each cell, if the counts are weighted. A DataFrame is aligned
            by name as the counts are; it is needed where these are put in another order. Weighted
            counts may sum to anything.
        transpose : bool
            Whether predictions are on the rows of ``counts``.
        drop : sequence, optional
            Names of rows and columns to leave out, such as totals.

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
                hint="use a ConfusionMatrix as it is (`reindex` changes its classes); a Normalized"
                " has its counts in `.source` and its values in `.matrix`.",
            )
        if variances is not None and (transpose or list(drop)):
            raise InputError(
                "`variances` must come with counts that are used as they are, got `transpose` or"
                " `drop` too.",
                hint="transpose with `.T` and leave classes out with `subset` afterwards.",
            )
        asked = None if labels is None else Classes.of(labels)
        if asked is not None:
            counts, variances = (by_position(given, asked.names) for given in (counts, variances))
        matrix, classes = named_counts(counts, asked, transpose=transpose, drop=drop)
        square = Counts.trusted(matrix)
        if variances is None:
            refuse_shares(matrix)
        else:
            square = square.weighted(named_variances(variances, counts, classes.names))
        return cls._of(classes, square)

    @classmethod
    def _from_bare(cls, matrix: Any) -> ConfusionMatrix:
        """Take a bare matrix of counts or of shares, for what depends on ratios alone."""
        if isinstance(matrix, cls):
            return matrix
        cells, classes = named_counts(matrix)
        return cls._of(classes, Counts.trusted(cells))

    @classmethod
    def from_shares(
        cls, matrix: Any, labels: Iterable[Any] | None = None, *, row_totals: Any = None
    ) -> ConfusionMatrix:
        """Take a published matrix of row shares or row percentages.

        Parameters
        ----------
        matrix : array-like of shape (n_classes, n_classes)
            Rows that sum to 1 or to 100, up to rounding.
        labels : sequence, optional
            Class names; by default those of a DataFrame, or 0, 1, 2 and so on.
        row_totals : mapping, series or sequence of shape (n_classes,), optional
            Samples of each true class, by name or in matrix order. By default 1 for every class,
            with a warning: `normalize` with ``epsilon=0`` does not depend on the totals, but
            epsilon, estimates and intervals do.

        Returns
        -------
        ConfusionMatrix

        Warns
        -----
        DeconfuseWarning
            Without ``row_totals``.

        Examples
        --------
        >>> from deconfuse import ConfusionMatrix
        >>> ConfusionMatrix.from_shares([[90, 10], [50, 50]], row_totals=[200, 20]).counts
        array([[180.,  20.],
               [ 10.,  10.]])
        """
        cells, classes = named_counts(matrix, None if labels is None else Classes.of(labels))
        shares = dense(cells)
        sums = shares.sum(axis=1)
        whole = 100.0 if sums.max() > 2 else 1.0
        if not np.allclose(sums, whole, rtol=0.02):
            raise InputError(
                f"Rows of `matrix` must sum to 1 or to 100, got sums from {sums.min():g} to"
                f" {sums.max():g}.",
                hint="for counts use `from_counts`.",
            )
        found = cls(shares / sums[:, None], classes)
        if row_totals is None:
            warn(
                "Shares without `row_totals` count as one sample per class, so that epsilon and"
                " what is estimated outweigh them. Give the samples of each class, or normalize"
                " with `epsilon=0`."
            )
            return found
        totals = per_class(found.labels, row_totals, "row_totals")
        if not (np.isfinite(totals) & (totals >= 0)).all():
            got = show(totals.tolist())
            raise InputError(f"`row_totals` must be finite and not negative, got {got}.")
        return cls(found.counts * totals[:, None], classes)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        label: str = "label",
        prediction: str = "prediction",
        weight: str | None = None,
        scores: Scores | None = None,
        threshold: float | None = None,
        labels: Iterable[Any] | None = None,
        outcomes: Iterable[str] | None = None,
        other: str | None = None,
        missing: str | None = None,
        normalize_text: bool = False,
    ) -> ConfusionMatrix:
        """Count two columns of a data frame inside its own engine.

        Parameters
        ----------
        frame : data frame
            Of pandas, Polars (eager or lazy), PyArrow (a table, record batch, reader or dataset),
            DuckDB (a relation), Dask, PySpark or Ibis.
        label, prediction : str
            Columns of class names. Where a default name is absent, the usual ones are looked for
            ("y_true", "target", "y_pred", "pred" and so on), and a ``ColumnChoiceWarning`` says
            which were taken.
        weight : str, optional
            Column of sample weights, finite and non-negative.
        scores : str, sequence of str, or mapping, optional
            Take the class with the highest score as the prediction, instead of a column: the name
            of a column of lists, the columns named by their classes, or a mapping of columns to
            classes.
        threshold : float, optional
            For two classes with one column of scores: from this score on, the class of the score
            is predicted, below it the other one. ``scores={"p": "spam"}`` names the class; for
            labels 0 and 1 (or bools), ``scores="p"`` is the score of 1.
        labels, outcomes, other, missing, normalize_text
            As in `from_predictions`.

        Returns
        -------
        ConfusionMatrix
            The one that `from_predictions` gives for the same columns.

        Notes
        -----
        Only distinct pairs leave the engine, and at most 25 million of them. Lazy frames are not
        collected; Polars runs them on its streaming engine.

        Examples
        --------
        >>> import pandas as pd
        >>> from deconfuse import ConfusionMatrix
        >>> frame = pd.DataFrame({"label": ["cat", "dog"], "cat": [0.9, 0.6], "dog": [0.1, 0.4]})
        >>> ConfusionMatrix.from_frame(frame, scores=["cat", "dog"]).counts
        array([[1, 0],
               [1, 0]])
        """
        from deconfuse.reading.column_names import Columns
        from deconfuse.reading.frames import count_frame

        columns = Columns(label, prediction, weight, scores, threshold)
        options = ClassOptions.of(labels, outcomes, other, missing, normalize_text)
        return count_frame(frame, columns, options)

    @classmethod
    def from_file(
        cls,
        path: Any,
        *,
        label: str = "label",
        prediction: str = "prediction",
        weight: str | None = None,
        scores: Scores | None = None,
        threshold: float | None = None,
        where: Mapping[str, str] | None = None,
        labels: Iterable[Any] | None = None,
        outcomes: Iterable[str] | None = None,
        other: str | None = None,
        missing: str | None = None,
        normalize_text: bool = False,
        transpose: bool = False,
        drop: Iterable[Any] = (),
        max_decompressed: int | None = None,
    ) -> ConfusionMatrix:
        """Count two columns of files without loading them.

        Parameters
        ----------
        path : path, or iterable of paths
            CSV, TSV, Parquet, JSON lines or Arrow IPC; CSV and JSON plain or compressed with gzip
            or zstd. A file, a folder, a pattern such as ``"preds/*.parquet"``, or several of these.
            The content must be what the name says. A matrix that was saved with its class names is
            recognized and loaded; several of them are merged, as `+` does.
        label, prediction, weight, scores, threshold
            Columns, as in `from_frame`.
        where : mapping of str to str, optional
            Count only rows whose columns have these values as text, such as
            ``{"split": "test"}``.
        labels, outcomes, other, missing, normalize_text
            As in `from_predictions`. A matrix takes ``labels`` and ``outcomes``. Where ``labels``
            are strings, values of CSV are strings too, so that "3.10" and "4.5" can be classes.
        transpose, drop
            How to read a matrix, as in `from_counts`.
        max_decompressed : int, optional
            How many bytes each compressed file may unpack to; by default 1 GiB, or a hundred times
            its size where that is more.

        Returns
        -------
        ConfusionMatrix

        Raises
        ------
        InputError
            If a file does not exist, is empty, truncated or malformed; if a
            column is missing, or holds missing values or fractions; if no label is the class of a
            score; if a matrix has predictions on rows, totals or shares; if columns are named for a
            matrix, which has none.
        MissingExtraError
            For Arrow IPC and for zstd, if PyArrow is not installed.

        Notes
        -----
        Parquet and Arrow have types, and JSON has some. In CSV, classes are integers, bools or ISO
        dates where all values of both columns are written as such, and strings otherwise. An empty
        value is a missing one. Whole floats are integers.

        Sample files of lm-evaluation-harness are recognized: the answer that its filter extracted
        is the prediction, and ``[invalid]`` an outcome.

        Files of one set may differ in the order of their columns and in the width of their
        integers. Compressed files are unpacked to a temporary folder, which verifies their
        checksums. DuckDB spills to a temporary folder, and may neither read other files, nor load
        extensions, nor use the network.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from deconfuse import ConfusionMatrix
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "predictions.csv"
        ...     _ = path.write_text("label,prediction\\ncat,cat\\ndog,cat\\ndog,dog\\n")
        ...     ConfusionMatrix.from_file(path).counts
        array([[1, 0],
               [1, 1]])
        """
        from deconfuse.reading.column_names import Columns
        from deconfuse.reading.prediction_table import count_file

        outcomes = None if outcomes is None else list(outcomes)
        classes = ClassOptions.of(labels, outcomes, other, missing, normalize_text)
        return count_file(
            path,
            Columns(label, prediction, weight, scores, threshold, where or {}),
            classes,
            TableOptions.of(
                transpose=transpose, drop=drop, labels=classes.labels, outcomes=outcomes
            ),
            max_decompressed=max_decompressed,
        )

    @property
    def counts(self) -> CountMatrix:
        """The square of the classes: true on rows, predicted on columns."""
        return self._square.cells

    @property
    def variances(self) -> CountMatrix:
        """Sums of squared sample weights; the same object as ``counts`` without weights."""
        return self._square.variances

    @property
    def labels(self) -> tuple[Label, ...]:
        """Class names in matrix order."""
        return self.classes.names

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def is_sparse(self) -> bool:
        """Whether ``counts`` is a sparse array."""
        return self._square.is_sparse

    @property
    def is_weighted(self) -> bool:
        """Whether samples had weights, so that ``variances`` differ from ``counts``."""
        return self._square.is_weighted

    @property
    def total(self) -> int | float:
        """Sum of ``counts``: the samples whose label and prediction both name a class."""
        return self._square.total

    @property
    def n_samples(self) -> int | float:
        """Sum of everything, outcomes included."""
        return self._cells.total

    @property
    def outcome_counts(self) -> npt.NDArray[Any]:
        """Samples of each true class for which an outcome was said instead of a class.

        Shape (n_classes, n_outcomes).
        """
        return self._block(slice(None, self.n_classes), slice(self.n_classes, None))

    @property
    def background_counts(self) -> npt.NDArray[Any]:
        """What was said where the label is an outcome: nothing was there.

        Shape (n_outcomes, n_classes).
        """
        return self._block(slice(self.n_classes, None), slice(None, self.n_classes))

    def _block(self, rows: slice, columns: slice) -> npt.NDArray[Any]:
        block = self._cells.cells[rows, columns]
        return dense(block)

    @property
    def label_counts(self) -> npt.NDArray[Any]:
        """How often each class is the true one: row sums of ``counts``."""
        return self._square.sums(axis=1)

    @property
    def prediction_counts(self) -> npt.NDArray[Any]:
        """How often each class is predicted: column sums of ``counts``."""
        return self._square.sums(axis=0)

    @property
    def T(self) -> ConfusionMatrix:  # noqa: N802 - NumPy's name
        """The matrix with labels and predictions swapped."""
        return ConfusionMatrix._of(self.classes, self._cells.transpose(), self.outcomes)

    def dense(self) -> npt.NDArray[Any]:
        """Return the counts as one array, also where they are sparse."""
        return self._square.dense()

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

    @property
    def kappa(self) -> float:
        """Cohen's kappa, as scikit-learn's ``cohen_kappa_score``."""
        from deconfuse.statistics.metrics import cohen_kappa

        return cohen_kappa(self)

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
        from deconfuse.reading.sequences import positions_of

        return positions_of(labels, self.classes, name="labels")

    def normalize(
        self,
        method: Literal["row", "col", "all", "bi", "true", "pred"] = "bi",
        epsilon: float | None = None,
        *,
        throw: bool = True,
    ) -> Normalized:
        """Normalize the counts; see `deconfuse.normalize`."""
        from deconfuse.normalization import normalize

        return normalize(self, method, epsilon=epsilon, throw=throw)

    def __add__(self, other: object) -> ConfusionMatrix:
        """Merge two shards: counts of classes and outcomes of the same name add up.

        The classes are those of both; sorted if both are, else those on the left first. So
        merging shards gives the matrix of counting them at once, in any order.
        """
        if isinstance(other, (int, float)) and other == 0:
            return self
        if not isinstance(other, ConfusionMatrix):
            return NotImplemented
        classes = self.classes.union(other.classes)
        outcomes = tuple(dict.fromkeys((*self.outcomes, *other.outcomes)))
        clash = [name for name in outcomes if name in classes]
        if clash:
            raise InputError(
                f"A name must be a class or an outcome in both matrices, got {show(clash)}.",
                hint="use `treat_as_outcome` on the matrix where it is a class.",
            )
        one, two = (cm._moved(classes, outcomes) for cm in (self, other))
        return ConfusionMatrix._of(classes, one + two, outcomes)

    __radd__ = __add__

    def _moved(self, classes: Classes, outcomes: tuple[str, ...]) -> Counts:
        """Return the counts over more classes and outcomes, zeros where there are none."""
        if classes == self.classes and outcomes == self.outcomes:
            return self._cells
        beside = [len(classes) + outcomes.index(name) for name in self.outcomes]
        places = np.append(classes.positions(self.classes.names), beside).astype(np.intp)
        return self._cells.move(places, len(classes) + len(outcomes))

    def merge_classes(self, groups: Mapping[Any, Sequence[Any]]) -> ConfusionMatrix:
        """Join classes into coarser ones; classes that are in no group stay as they are.

        Parameters
        ----------
        groups : mapping of new name to sequence of names
            A group takes the place of its first member.

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
        places, classes = self.classes.group(groups)
        beside = len(classes) + np.arange(len(self.outcomes))
        size = len(classes) + len(self.outcomes)
        return ConfusionMatrix._of(
            classes, self._cells.move(np.append(places, beside), size), self.outcomes
        )

    def rename(self, names: Mapping[Any, Any]) -> ConfusionMatrix:
        """Return the same matrix with other class names.

        Examples
        --------
        >>> from deconfuse import ConfusionMatrix
        >>> ConfusionMatrix.from_counts([[5, 1], [0, 4]]).rename({0: "cat", 1: "dog"}).labels
        ('cat', 'dog')
        """
        self.classes.subset([*names], name="names")
        classes = Classes.of([names.get(label, label) for label in self.labels], name="names")
        return ConfusionMatrix._of(classes, self._cells, self.outcomes)

    def reindex(self, labels: Iterable[Any]) -> ConfusionMatrix:
        """Return the matrix over ``labels``: in their order, zeros for classes it does not have.

        Every class that has samples must be among them.

        Examples
        --------
        >>> from deconfuse import ConfusionMatrix
        >>> cm = ConfusionMatrix.from_counts([[5, 1], [0, 4]], labels=["cat", "dog"])
        >>> cm.reindex(["dog", "bee", "cat"]).counts
        array([[4, 0, 0],
               [0, 0, 0],
               [1, 0, 5]])
        """
        classes = Classes.of(labels)
        lost = [label for label in self.labels if label not in classes]
        places = self.classes.positions(lost)
        if lost and any(self._cells.sums(axis)[places].any() for axis in (0, 1)):
            raise InputError(
                f"`labels` must have every class with samples, got none of {show(lost)}.",
                hint="to leave classes out use `subset`; to join classes, `merge_classes`.",
            )
        kept = self.subset([label for label in self.labels if label in classes]) if lost else self
        return ConfusionMatrix._of(classes, kept._moved(classes, self.outcomes), self.outcomes)

    # `reorder` reads better where nothing is added.
    reorder = reindex

    def subset(self, labels: Iterable[Any]) -> ConfusionMatrix:
        """Return the matrix of some classes: samples with another label or prediction are left out.

        Examples
        --------
        >>> from deconfuse import ConfusionMatrix
        >>> cm = ConfusionMatrix.from_counts([[4, 1, 0], [2, 5, 1], [0, 0, 7]], ["a", "b", "c"])
        >>> cm.subset(["c", "b"]).counts
        array([[7, 0],
               [1, 5]])
        """
        classes = self.classes.subset(labels)
        beside = self.n_classes + np.arange(len(self.outcomes))
        places = np.append(self.classes.positions(classes), beside)
        return ConfusionMatrix._of(classes, self._cells.take(places), self.outcomes)

    def treat_as_outcome(self, name: Any) -> ConfusionMatrix:
        """Take a class that is no class, such as "background", out of the square.

        Its column says how often a true class was missed, its row what was said where nothing was
        there. Detectors' matrices and "(none)" rows become ones whose square holds classes only.

        Examples
        --------
        >>> from deconfuse import ConfusionMatrix
        >>> cm = ConfusionMatrix.from_counts(
        ...     [[8, 1, 1], [2, 6, 2], [3, 4, 0]], ["car", "bus", "background"]
        ... ).treat_as_outcome("background")
        >>> cm.labels, cm.outcome_counts.tolist(), cm.background_counts.tolist()
        (('car', 'bus'), [[1], [2]], [[3, 4]])
        """
        (label,) = self.classes.subset([name], name="name")
        kept = [other for other in self.labels if other != label]
        classes = self.classes.subset(kept)
        outcomes = (*self.outcomes, str(label))
        if outcomes.count(str(label)) > 1:
            raise InputError(f"{label!r} is an outcome already.")
        # The class goes behind all that is beside the square now.
        to = np.full(self.n_classes, len(kept) + len(outcomes) - 1)
        to[self.classes.positions(kept)] = np.arange(len(kept))
        places = np.append(to, len(kept) + np.arange(len(self.outcomes))).astype(np.intp)
        cells = self._cells.move(places, len(kept) + len(outcomes))
        return ConfusionMatrix._of(classes, cells, outcomes)

    def to_pandas(self) -> pd.DataFrame:
        """Return the counts as a DataFrame with the axes named "true" and "predicted"."""
        with needs_pandas():
            import pandas as pd

        index = pd.Index(self.labels, name="true")
        columns = pd.Index(self.labels, name="predicted")
        if self.is_sparse:
            sparse: Any = pd.DataFrame.sparse
            return cast("pd.DataFrame", sparse.from_spmatrix(self.counts, index, columns))
        return pd.DataFrame(np.array(self.counts), index, columns)

    def plot(self, method: MethodName | None = None, **options: Any) -> ConfusionMatrixDisplay:
        """Draw the counts, or their normalization, with matplotlib.

        Parameters
        ----------
        method : {"row", "col", "all", "bi"}, optional
            As in `normalize`; by default counts are drawn.
        **options
            Those of `ConfusionMatrixDisplay.from_confusion_matrix`, as ``display_labels`` or
            ``ax``.

        Returns
        -------
        ConfusionMatrixDisplay

        Examples
        --------
        >>> from deconfuse import ConfusionMatrix
        >>> cm = ConfusionMatrix.from_counts([[9, 1], [0, 4]])
        >>> display = cm.plot("bi", display_labels=["cat", "dog"])
        >>> display.figure_.clear()
        """
        from deconfuse.reporting.plots import ConfusionMatrixDisplay

        return ConfusionMatrixDisplay.from_confusion_matrix(self, normalize=method, **options)

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
        from deconfuse.reading.matrix_files import write_matrix

        write_matrix(self, path, format=format)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        format: FileFormat | None = None,
        transpose: bool = False,
        drop: Iterable[Any] = (),
        labels: Iterable[Any] | None = None,
    ) -> ConfusionMatrix:
        """Read a matrix from a file that `save` wrote, or from a CSV table with class names.

        Parameters
        ----------
        path : path
        format : {"json", "csv", "npz"}, optional
            By default the suffix of ``path``.
        transpose, drop, labels
            As in `from_counts`.

        Returns
        -------
        ConfusionMatrix

        Raises
        ------
        InputError
            If the file is damaged, cut short, of another version or no matrix.
        """
        from deconfuse.reading.matrix_files import read_matrix

        return read_matrix(path, format=format, transpose=transpose, drop=drop, labels=labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfusionMatrix):
            return NotImplemented
        return (
            self.classes == other.classes
            and self.outcomes == other.outcomes
            and self._cells == other._cells
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Through `trusted`, so that a copy in another process is read-only again.
        cells = self._cells
        variances = cells.variances if cells.is_weighted else None
        return _unpickled, (self.classes, self.outcomes, cells.cells, variances)

    def __hash__(self) -> int:
        return hash((self.classes, self._cells, self.outcomes))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.dense(), dtype=dtype, copy=True if copy is None else copy)

    def __repr__(self) -> str:
        hits = self.counts.diagonal().sum().item()
        names = show(self.labels[:5])
        more = ", ..." if self.n_classes > 5 else ""
        beside = ""
        if self.outcomes:
            beside = f", {self.n_samples - self.total:,} beside ({show(self.outcomes)})"
        return (
            f"<ConfusionMatrix of {self.n_classes:,} classes ({names}{more}):"
            f" total {self.total:,}, {hits:,} on the diagonal{beside}>"
        )


def _unpickled(
    classes: Classes, outcomes: tuple[str, ...], cells: Any, variances: Any
) -> ConfusionMatrix:
    return ConfusionMatrix._of(classes, Counts.trusted(cells, variances), outcomes)
