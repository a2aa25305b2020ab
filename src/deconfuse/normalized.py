"""A normalized matrix in factored form: the two diagonals, and what follows from them.

Cells, rows, columns, the largest cells and the importance weights are computed from the counts and
the diagonals. Nothing dense is built until it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse._checks import Label, is_whole_number
from deconfuse._memory import refuse_if_too_large
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.scaling import Scaling

__all__ = ["Cell", "FloatArray", "Method", "MethodName", "Normalized"]

FloatArray = NDArray[np.float64]
Method = Literal["row", "col", "all", "bi"]
MethodName = Literal["row", "col", "all", "bi", "true", "pred"]


@dataclass(frozen=True, eq=False)
class Cell:
    """One cell of a normalized matrix with its names and its count."""

    true: Label
    pred: Label
    value: float
    count: float


@dataclass(frozen=True, eq=False)
class Normalized:
    """A normalized confusion matrix in factored form: ``left (counts + epsilon) right``.

    Attributes
    ----------
    source : ConfusionMatrix
        What was normalized.
    method : {"row", "col", "all", "bi"}
    left, right : ndarray of shape (n_classes,)
        The two diagonals.
    epsilon : float
        What was added to every cell.
    scaling : Scaling or None
        For ``"bi"``: the scaling behind it, with status and residual.

    Examples
    --------
    >>> import deconfuse as dc
    >>> cm = dc.ConfusionMatrix.from_counts([[90, 10], [5, 5]], labels=["cat", "dog"])
    >>> n = cm.normalize("bi", epsilon=0.0)
    >>> round(n.cell("cat", "dog").value, 3)
    0.25
    >>> [(c.true, c.pred, c.count) for c in n.top(2, diagonal=False)]
    [('dog', 'cat', 5.0), ('cat', 'dog', 10.0)]
    """

    source: ConfusionMatrix
    method: Method
    left: FloatArray
    right: FloatArray
    epsilon: float
    scaling: Scaling | None

    def __post_init__(self) -> None:
        self.left.flags.writeable = False
        self.right.flags.writeable = False

    @property
    def labels(self) -> tuple[Label, ...]:
        """Class names in matrix order."""
        return self.source.labels

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.source.n_classes

    @cached_property
    def matrix(self) -> FloatArray | sparse.csr_array:
        """The normalized matrix, read-only; sparse where the counts are and epsilon is 0.

        Raises
        ------
        InputError
            When it would be dense and not fit into memory: ask for a cell, row, column or the top.
        """
        if self.scaling is not None:
            return self.scaling.matrix
        counts = self.source.counts
        if sparse.issparse(counts) and self.epsilon == 0.0:
            if np.isnan(self.left).any() or np.isnan(self.right).any():
                return self._dense()
            result = sparse.csr_array(
                sparse.diags_array(self.left) @ counts @ sparse.diags_array(self.right)
            )
            result.sum_duplicates()
            for part in (result.data, result.indices, result.indptr):
                part.flags.writeable = False
            return result
        return self._dense()

    def cell(self, true: Any, pred: Any) -> Cell:
        """Return one cell by the names of its classes."""
        i, j = self._index_of(true, "true"), self._index_of(pred, "pred")
        count = float(self.source.counts[i, j])
        value = self._values(np.array([i]), np.array([j]), np.array([count]))[0]
        return Cell(self.labels[i], self.labels[j], float(value), count)

    def row(self, true: Any) -> FloatArray:
        """Return the cells of one true class, over all predicted classes."""
        i = self._index_of(true, "true")
        counts = _line(self.source.counts[[i], :])
        return self._values(np.full(self.n_classes, i), np.arange(self.n_classes), counts)

    def column(self, pred: Any) -> FloatArray:
        """Return the cells of one predicted class, over all true classes."""
        j = self._index_of(pred, "pred")
        counts = _line(self.source.counts[:, [j]])
        return self._values(np.arange(self.n_classes), np.full(self.n_classes, j), counts)

    def top(self, k: int = 10, *, diagonal: bool = False) -> list[Cell]:
        """Return the ``k`` largest cells among those with a count, largest first.

        Cells that hold epsilon alone are left out: no sample is behind them.
        """
        if not is_whole_number(k) or k < 1:
            raise InputError(f"`k` must be a whole number of at least 1, got {k!r}.")
        entries = sparse.coo_array(self.source.counts)
        keep = entries.data > 0
        if not diagonal:
            keep &= entries.row != entries.col
        rows, columns, counts = entries.row[keep], entries.col[keep], entries.data[keep]
        values = self._values(rows, columns, counts.astype(np.float64))
        order = np.argsort(-values, kind="stable")[:k]
        return [
            Cell(self.labels[rows[o]], self.labels[columns[o]], float(values[o]), float(counts[o]))
            for o in order
        ]

    def weights(self, y_true: Any, y_pred: Any) -> FloatArray:
        r"""Return the importance weight of each sample, ``left[y] * right[y_hat]``.

        Parameters
        ----------
        y_true, y_pred : sequence of shape (n_samples,)
            Classes of this matrix.

        Returns
        -------
        ndarray of shape (n_samples,)

        Notes
        -----
        Normalization is importance sampling: counting the samples with these weights gives the
        normalized matrix, exactly where epsilon is 0 and up to epsilon's own part otherwise.
        Samples that had a ``sample_weight`` when they were counted keep it: multiply by it.

        Examples
        --------
        >>> import deconfuse as dc
        >>> y_true, y_pred = [0, 0, 0, 1], [0, 0, 1, 1]
        >>> n = dc.ConfusionMatrix.from_predictions(y_true, y_pred).normalize("row")
        >>> n.weights(y_true, y_pred).round(3).tolist()
        [0.333, 0.333, 0.333, 1.0]

        With sample weights:

        >>> own = np.array([2.0, 1.0, 1.0, 3.0])
        >>> cm = dc.ConfusionMatrix.from_predictions(y_true, y_pred, sample_weight=own)
        >>> n = cm.normalize("row")
        >>> both = own * n.weights(y_true, y_pred)
        >>> dc.ConfusionMatrix.from_predictions(y_true, y_pred, sample_weight=both).counts
        array([[0.75, 0.25],
               [0.  , 1.  ]])
        """
        from deconfuse.reading.sequences import positions_of

        rows = positions_of(y_true, self.source.classes, name="y_true")
        columns = positions_of(y_pred, self.source.classes, name="y_pred")
        if rows.shape != columns.shape:
            raise InputError(
                "`y_true` and `y_pred` must describe the same samples, got "
                f"{rows.size} and {columns.size} values.",
                hint="check for a filter applied to only one of them.",
            )
        if self.scaling is not None:
            weights = np.exp(self.scaling.log_left[rows] + self.scaling.log_right[columns])
            if self.scaling.vanishing.size:
                gone = sparse.csr_array(
                    (np.ones(len(self.scaling.vanishing), dtype=bool), self.scaling.vanishing.T),
                    shape=(self.n_classes, self.n_classes),
                )
                weights[np.asarray(gone[rows, columns], dtype=bool).ravel()] = 0.0
            return weights
        return self.left[rows] * self.right[columns]

    def standard_errors(self) -> FloatArray:
        """Return the standard error of every cell; see `deconfuse.statistics.uncertainty`."""
        from deconfuse.statistics.uncertainty import standard_errors

        return standard_errors(self)

    def confidence_interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper ends of an interval for every cell."""
        from deconfuse.statistics.uncertainty import confidence_interval

        return confidence_interval(self, level)

    def bootstrap(
        self, n_resamples: int = 1000, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Return normalized matrices of resampled counts, one a resample."""
        from deconfuse.statistics.uncertainty import bootstrap

        return bootstrap(self, n_resamples, rng)

    def to_pandas(self) -> Any:
        """Return the matrix as a DataFrame with true classes on rows, predicted on columns."""
        import pandas as pd

        matrix = self.matrix
        dense = np.array(matrix) if isinstance(matrix, np.ndarray) else matrix.toarray()
        index = pd.Index(self.labels, name="true")
        return pd.DataFrame(dense, index=index, columns=pd.Index(self.labels, name="predicted"))

    def _index_of(self, label: Any, name: str) -> int:
        from deconfuse.reading.sequences import positions_of

        return int(positions_of([label], self.source.classes, name=name)[0])

    def _values(self, rows: Any, columns: Any, counts: FloatArray) -> FloatArray:
        if self.scaling is None:
            return (counts + self.epsilon) * self.left[rows] * self.right[columns]
        with np.errstate(divide="ignore"):
            logs = np.log(counts + self.epsilon)
        values = np.exp(logs + self.scaling.log_left[rows] + self.scaling.log_right[columns])
        for i, j in self.scaling.vanishing:
            values[(rows == i) & (columns == j)] = 0.0
        return np.asarray(values)

    def _dense(self) -> FloatArray:
        shape = (self.n_classes, self.n_classes)
        refuse_if_too_large(shape, f"The {self.method}-normalized matrix")
        counts = self.source.counts
        dense = counts if isinstance(counts, np.ndarray) else counts.toarray()
        result: FloatArray = (dense + self.epsilon) * self.left[:, None] * self.right
        result.flags.writeable = False
        return result

    def __repr__(self) -> str:
        text = f"<Normalized {self.method!r} of {self.n_classes:,} classes"
        text += f", epsilon {self.epsilon:.3g}"
        if self.scaling is not None:
            text += f", {self.scaling.status.name.lower()}, residual {self.scaling.residual:.1g}"
        return text + ">"

    def _repr_html_(self) -> str:
        from deconfuse.reporting.display import matrix_html

        return matrix_html(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from deconfuse.reporting.display import mimebundle

        return mimebundle(self, self._repr_html_())


def _line(part: Any) -> FloatArray:
    dense = part.toarray() if sparse.issparse(part) else part
    return np.asarray(dense, dtype=np.float64).ravel()
