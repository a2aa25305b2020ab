"""`normalize` and `Normalized`: counts between two diagonals, for row, column, all and bi.

Cells, rows, columns, the largest cells and the importance weights are computed from the counts and
the diagonals. Nothing dense is built until it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaincinv

from deconfuse._checks import Label, is_finite_number, is_whole_number, needs_pandas, show
from deconfuse._shown import ShownMatrix
from deconfuse._text import plural
from deconfuse.confusion import ConfusionMatrix
from deconfuse.counts import dense
from deconfuse.errors import (
    InputError,
    NotScalableError,
    UndefinedCellsWarning,
    warn,
)
from deconfuse.scaling import Scaling
from deconfuse.scaling.factors import Factors, scaled, scaled_matrix
from deconfuse.scaling.problem import bistochastic
from deconfuse.scaling.solve import solve

if TYPE_CHECKING:
    from deconfuse.reporting.plots import ConfusionMatrixDisplay

__all__ = ["Cell", "Method", "MethodName", "Normalized", "chosen_epsilon", "normalize"]

FloatArray = NDArray[np.float64]
Method = Literal["row", "col", "all", "bi"]
MethodName = Literal["row", "col", "all", "bi", "true", "pred"]

# scikit-learn's words for the same two normalizations.
_ALIASES: dict[str, Method] = {"true": "row", "pred": "col"}
# `top` ranks cells by the low end of a 95 % interval of their counts.
_LOW_TAIL = 0.025


@dataclass(frozen=True, eq=False)
class Cell:
    """One cell of a normalized matrix with its names and its count."""

    true: Label
    pred: Label
    value: float
    count: float


@dataclass(frozen=True, eq=False)
class Normalized(ShownMatrix):
    """A normalized confusion matrix in factored form: ``left (counts + epsilon) right``.

    Attributes
    ----------
    source : ConfusionMatrix
        What was normalized.
    method : {"row", "col", "all", "bi"}
    epsilon : float
        What was added to every cell.
    left_factors, right_factors : Factors
        The two diagonals; ``left`` and ``right`` are the same as plain numbers.
    vanishing : ndarray of shape (n_cells, 2)
        Cells that are zero although they have a count, where bi-normalization is only a limit.
    scaling : Scaling or None
        For ``"bi"``: the proof, with status and residual.

    Examples
    --------
    >>> import deconfuse as dc
    >>> cm = dc.ConfusionMatrix.from_counts([[90, 10], [5, 5]], labels=["cat", "dog"])
    >>> n = cm.normalize("bi", epsilon=0.0)
    >>> round(n.cell("cat", "dog").value, 3)
    0.25
    >>> [(c.true, c.pred, c.count) for c in n.top(2, diagonal=False)]
    [('cat', 'dog', 10.0), ('dog', 'cat', 5.0)]
    """

    source: ConfusionMatrix
    method: Method
    epsilon: float
    left_factors: Factors
    right_factors: Factors
    vanishing: NDArray[np.intp] = field(default_factory=lambda: np.empty((0, 2), dtype=np.intp))
    scaling: Scaling | None = None

    @property
    def left(self) -> FloatArray:
        """The left diagonal: one factor per true class."""
        return self.left_factors.plain

    @property
    def right(self) -> FloatArray:
        """The right diagonal: one factor per predicted class."""
        return self.right_factors.plain

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
        return scaled_matrix(
            self.source.counts, self.epsilon, self.left_factors, self.right_factors, self.vanishing
        )

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
        """Return the ``k`` largest cells as far as samples show it, surest first.

        One sample in a rare class can fill half a normalized row. Cells are therefore ranked by the
        value that they would have at the low end of a 95 % interval (Poisson) of their counts: a
        single sample ranks as 0.025 of one, ten as 4.8. Cells without a sample are left out.

        Examples
        --------
        >>> import deconfuse as dc
        >>> n = dc.normalize([[90, 10, 0], [9, 89, 0], [1, 0, 1]], "row")
        >>> [(cell.true, cell.pred, round(cell.value, 2), cell.count) for cell in n.top(3)]
        [(0, 1, 0.1, 10.0), (1, 0, 0.09, 9.0), (2, 0, 0.5, 1.0)]
        """
        if not is_whole_number(k) or k < 1:
            raise InputError(f"`k` must be a whole number of at least 1, got {k!r}.")
        entries = self.source._square.entries
        keep = entries.data > 0
        if not diagonal:
            keep &= entries.row != entries.col
        rows, columns = entries.row[keep], entries.col[keep]
        counts = entries.data[keep].astype(np.float64)
        values = self._values(rows, columns, counts)
        # Weighted samples count as the number of equal ones with the same relative error.
        n_samples = counts
        if self.source.is_weighted:
            variances = np.asarray(self.source.variances[rows, columns], dtype=np.float64).ravel()
            n_samples = 1.0 / np.maximum(variances / counts**2, 1e-12)
        sure = values * (counts / (counts + self.epsilon))
        sure *= gammaincinv(n_samples, _LOW_TAIL) / n_samples
        order = np.argsort(-sure, kind="stable")[:k]
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
        return self.weights_at(rows, columns)

    def weights_at(self, rows: Any, columns: Any) -> FloatArray:
        """Return the importance weights of samples whose classes are given by position."""
        return self._scaled(rows, columns, np.ones(len(rows)))

    @property
    def effective_samples(self) -> float:
        r"""How many equally weighted samples the importance weights are worth.

        Kish's :math:`(\sum_k w_k)^2 / \sum_k w_k^2`, for any method. A normalization is reliable
        where this stays near the number of samples; uneven classes make it fall.

        Examples
        --------
        >>> import deconfuse as dc
        >>> cm = dc.ConfusionMatrix.from_counts([[80, 10], [2, 8]])
        >>> [round(cm.normalize(method).effective_samples, 1) for method in ("all", "row", "col")]
        [100.0, 36.0, 59.0]
        """
        counts = self.source._square
        cells = counts.entries
        weights = self.weights_at(cells.row, cells.col)
        squares = float((weights**2 * counts.entry_variances).sum())
        return float((weights * cells.data).sum() ** 2 / squares) if squares > 0 else 0.0

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
        """Return normalized matrices of resampled counts, one per resample."""
        from deconfuse.statistics.uncertainty import bootstrap

        return bootstrap(self, n_resamples, rng)

    def to_pandas(self) -> Any:
        """Return the matrix as a DataFrame with true classes on rows, predicted on columns."""
        with needs_pandas():
            import pandas as pd

        cells = np.array(dense(self.matrix))
        index = pd.Index(self.labels, name="true")
        return pd.DataFrame(cells, index=index, columns=pd.Index(self.labels, name="predicted"))

    def to_markdown(self) -> str:
        """Return the matrix as a Markdown table, with true classes on rows.

        Examples
        --------
        >>> from deconfuse import ConfusionMatrix
        >>> cm = ConfusionMatrix.from_counts([[9, 1], [1, 3]], ["cat", "dog"])
        >>> print(cm.normalize("row").to_markdown())  # doctest: +ELLIPSIS
        | true \\\\ predicted | cat | dog |
        |:---|---:|---:|
        | **cat** | 0.900 | 0.100 |
        | **dog** | 0.250 | 0.750 |
        ...
        """
        from deconfuse.reporting.tables import write_table

        return write_table(self, "markdown")

    def to_latex(self) -> str:
        """Return the matrix as a LaTeX table, with true classes on rows; it needs booktabs."""
        from deconfuse.reporting.tables import write_table

        return write_table(self, "latex")

    def plot(self, **options: Any) -> ConfusionMatrixDisplay:
        """Draw the matrix with matplotlib; ``options`` are those of `ConfusionMatrixDisplay`."""
        from deconfuse.reporting.plots import ConfusionMatrixDisplay

        return ConfusionMatrixDisplay(self).plot(**options)

    def _index_of(self, label: Any, name: str) -> int:
        from deconfuse.reading.sequences import positions_of

        return int(positions_of([label], self.source.classes, name=name)[0])

    def _values(self, rows: Any, columns: Any, counts: FloatArray) -> FloatArray:
        return self._scaled(rows, columns, counts + self.epsilon)

    def _scaled(self, rows: Any, columns: Any, entries: FloatArray) -> FloatArray:
        """Return entries of the given cells between the two diagonals."""
        values = scaled(entries, self.left_factors[rows], self.right_factors[columns])
        if self.vanishing.size:
            values[np.asarray(self._vanishes[rows, columns]).ravel()] = 0.0
        return values

    @cached_property
    def _vanishes(self) -> sparse.csr_array:
        shape = (self.n_classes, self.n_classes)
        ones = np.ones(len(self.vanishing), dtype=bool)
        return sparse.csr_array((ones, tuple(self.vanishing.T)), shape=shape)

    def __repr__(self) -> str:
        text = f"<Normalized {self.method!r} of {self.n_classes:,} classes"
        text += f", epsilon {self.epsilon:.3g}"
        if self.scaling is not None:
            text += f", {self.scaling.status.name.lower()}, residual {self.scaling.residual:.1g}"
        return text + ">"


def _line(part: Any) -> FloatArray:
    return dense(part).astype(np.float64).ravel()


def normalize(
    matrix: Any,
    method: MethodName = "bi",
    epsilon: float | None = None,
    *,
    throw: bool = True,
) -> Normalized:
    r"""Normalize a confusion matrix.

    Parameters
    ----------
    matrix : ConfusionMatrix, array-like or sparse array of shape (n_classes, n_classes)
        Counts, true classes on rows, predicted classes on columns.
    method : {"row", "col", "all", "bi"}
        ``"row"`` (or ``"true"``) makes every row sum to one, as on a balanced test set; ``"col"``
        (or ``"pred"``) every column, as for balanced predictions; ``"all"`` the whole matrix;
        ``"bi"`` every row and every column at once, which leaves how alike the classes are.
    epsilon : float, optional
        Added to every cell first. By default ``1 / n_classes`` for ``"bi"`` (one imaginary sample
        spread over each row) and 0 for the others, which need none.
    throw : bool
        Raise `NotScalableError` where bi-normalization is impossible or did not converge; otherwise
        return what was reached, with its status in ``.scaling``.

    Returns
    -------
    Normalized

    Warns
    -----
    UndefinedCellsWarning
        When a row or column to be divided by is empty: its cells are NaN, not zero.

    Examples
    --------
    >>> import deconfuse as dc
    >>> counts = [[90, 10], [5, 5]]
    >>> dc.normalize(counts, "row").matrix
    array([[0.9, 0.1],
           [0.5, 0.5]])
    >>> dc.normalize(counts, "bi", epsilon=0.0).matrix.round(3)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    cm = ConfusionMatrix._from_bare(matrix)
    kind = _check_method(method)
    added = 0.0 if epsilon is None and kind != "bi" else chosen_epsilon(epsilon, cm.n_classes)
    if kind in ("bi", "all") and cm.total == 0 and not epsilon:
        # An epsilon that nobody asked for would be all there is to see.
        raise InputError(
            "The matrix must have a positive cell to be normalized, but all are zero.",
            hint="count some predictions first, or give an `epsilon`.",
        )
    if kind == "bi":
        return _normalize_bi(cm, added, throw)
    left = right = np.ones(cm.n_classes)
    if kind == "row":
        left = _inverse(cm.label_counts + added * cm.n_classes, cm.labels, "row", "true label")
    elif kind == "col":
        right = _inverse(
            cm.prediction_counts + added * cm.n_classes, cm.labels, "column", "prediction"
        )
    else:
        total = float(cm.total) + added * cm.n_classes**2
        left = np.full(cm.n_classes, 1.0 / _large_enough(np.array([total]))[0])
    return Normalized(cm, kind, added, Factors.of(left), Factors.of(right))


def _normalize_bi(cm: ConfusionMatrix, epsilon: float, throw: bool) -> Normalized:
    solution = solve(bistochastic(cm._square, epsilon))
    if throw and not solution.converged:
        raise _named_error(solution, cm.labels)
    return Normalized(
        cm, "bi", epsilon, solution.left_factors, solution.right_factors,
        solution.vanishing, solution,
    )  # fmt: skip


def _named_error(solution: Scaling, labels: tuple[Label, ...]) -> NotScalableError:
    """Say which classes make bi-normalization impossible, by name."""
    rows, columns = solution.blocking_rows.tolist(), solution.blocking_columns.tolist()
    if solution.has_empty_lines:
        never_true, never_predicted = (show(labels[k] for k in lines) for lines in (rows, columns))
        reasons = []
        if rows:
            reasons.append(f"no sample has the true class {never_true}, so its row is empty")
        if columns:
            reasons.append(f"no sample is predicted as {never_predicted}, so its column is empty")
        reason = ", and ".join(reasons)
    elif rows:
        reason = (
            f"{plural(len(rows), 'class', 'classes')} ({show(labels[k] for k in rows)}) "
            f"{'is' if len(rows) == 1 else 'are'} only ever predicted as "
            f"{plural(len(columns), 'class', 'classes')} ({show(labels[k] for k in columns)})"
        )
    elif solution.vanishing.size:
        pairs = (f"{labels[i]!r} as {labels[j]!r}" for i, j in solution.vanishing.tolist())
        cells = ", ".join(list(pairs)[:5])
        n_cells = plural(len(solution.vanishing), "positive cell becomes", "positive cells become")
        reason = f"it exists only as a limit in which {n_cells} 0, such as {cells}"
    else:
        reason = f"{solution.status.value} (residual {solution.residual:.3g})"
    return NotScalableError(
        f"The matrix must have a bi-normalization with epsilon {solution.epsilon:g}, but {reason}.",
        solution=solution,
        hint="leave `epsilon` at its default, or give a positive one; or merge these classes.",
    )


def _check_method(method: str) -> Method:
    kind = _ALIASES.get(method, method)
    if kind not in get_args(Method):
        raise InputError(
            f'`method` must be "row", "col", "all" or "bi" (or "true", "pred"), got {method!r}.'
        )
    return cast(Method, kind)


def chosen_epsilon(epsilon: float | None, n_classes: int) -> float:
    """Return the epsilon of bi-normalization, by default one over the number of classes."""
    if epsilon is None:
        return 1.0 / n_classes
    if not is_finite_number(epsilon) or epsilon < 0:
        raise InputError(
            f"`epsilon` must be a finite number of at least 0, got {show([epsilon])}.",
            hint="use 0 to add nothing, or leave it at its default.",
        )
    return float(epsilon)


def _inverse(sums: FloatArray, labels: Iterable[Label], side: str, what: str) -> FloatArray:
    """Return one over each sum, NaN where it is zero, and say which classes these are."""
    empty = sums == 0
    if empty.any():
        names = show(label for label, is_empty in zip(labels, empty, strict=True) if is_empty)
        warn(
            f"Cells of an empty {side} are undefined and NaN: {names} never occurs as a {what}.",
            UndefinedCellsWarning,
        )
    inverse = 1.0 / _large_enough(np.where(empty, 1.0, sums))
    inverse[empty] = np.nan
    return np.asarray(inverse)


def _large_enough(sums: FloatArray) -> FloatArray:
    """Return the sums, or refuse those that are infinite or whose inverse is."""
    if not np.isfinite(sums).all():
        raise InputError(
            "Totals to divide by must be finite, got infinity: `epsilon` is too large.",
            hint="`epsilon` is in samples a cell; 1 is much already.",
        )
    smallest = 1.0 / np.finfo(np.float64).max
    if sums.min() <= smallest:
        raise InputError(
            f"Totals to divide by must be above {smallest:.3g}, got {sums.min():.3g}.",
            hint="multiply all weights by one large number; normalization does not see it.",
        )
    return sums
