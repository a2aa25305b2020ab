"""The question of a scaling: a matrix, what is added to its cells, and the margins asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from deconfuse._checks import as_numbers, from_torch, is_finite_number, summed
from deconfuse.confusion import ConfusionMatrix
from deconfuse.counts import Counts, nonzero_cells
from deconfuse.errors import InputError
from deconfuse.scaling.factors import Factors, FloatArray, Matrix, scaled

__all__ = ["DEFAULT_TOLERANCE", "ScalingProblem", "bistochastic", "make_problem"]

DEFAULT_TOLERANCE = 1e-10
# Rounding alone moves margins by a few units in the last place; asking for less cannot be met.
_SMALLEST_TOLERANCE = 16.0 * float(np.finfo(np.float64).eps)
# Up to this many rows a dense matrix stays dense, and above that many a sparse one sparse.
_DENSE_ROWS, _SPARSE_ROWS = 500, 2048
# Between them sparse products win if at most this share of the cells is not zero: the smaller one
# of a dense matrix, whose cells have to be found first.
_FEW_OF_DENSE, _FEW_OF_SPARSE = 0.1, 0.5


@dataclass(frozen=True, eq=False)
class ScalingProblem:
    """A non-negative matrix (or a stack of them), epsilon, and the margins to reach.

    Attributes
    ----------
    matrix : ndarray of shape (..., n_rows, n_columns) or csr_array
        Entries: of a dense matrix with epsilon, of a sparse one without.
    epsilon : float
        Added to every cell; it stays a rank-one part of a sparse matrix.
    rows, columns : ndarray
        Target margins, of equal total; for a stack with its own targets, one row per matrix.
    tolerance : float
        Largest error accepted, relative to the margins (see `measure`).
    extremes : tuple of float
        Smallest and largest cell with epsilon, zeros that stay zeros included.
    """

    matrix: Matrix
    epsilon: float
    rows: FloatArray
    columns: FloatArray
    tolerance: float
    extremes: tuple[float, float]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.matrix.shape)

    @property
    def is_sparse(self) -> bool:
        return not isinstance(self.matrix, np.ndarray)

    @property
    def rank_one(self) -> float:
        """The epsilon that is not in the entries of the matrix."""
        return self.epsilon if self.is_sparse else 0.0

    @property
    def has_zeros(self) -> bool:
        return self.extremes[0] == 0.0

    @cached_property
    def spans_many_decades(self) -> bool:
        """Whether products of factors and entries could leave the floating-point range."""
        low, high = self.extremes
        if low == 0.0:
            stored = self.matrix if isinstance(self.matrix, np.ndarray) else self.matrix.data
            low = float(np.min(stored, where=stored > 0, initial=high))
        return high > 1e100 or low < 1e-100

    @cached_property
    def row_weights(self) -> FloatArray:
        """What an error of each row sum counts (see `measure`)."""
        return _weights(self.rows)

    @cached_property
    def column_weights(self) -> FloatArray:
        """What an error of each column sum counts."""
        return self.row_weights if self.columns is self.rows else _weights(self.columns)

    def members(self) -> Iterator[ScalingProblem]:
        """Yield the question of each matrix of a stack."""
        assert isinstance(self.matrix, np.ndarray)
        count = self.shape[0]
        rows = np.broadcast_to(self.rows, (count, self.shape[1]))
        columns = np.broadcast_to(self.columns, (count, self.shape[2]))
        for matrix, u, v in zip(self.matrix, rows, columns, strict=True):
            extremes = float(matrix.min()), float(matrix.max())
            yield replace(self, matrix=matrix, rows=u, columns=v, extremes=extremes)

    def transposed(self) -> ScalingProblem:
        """Return the same question with rows and columns swapped."""
        matrix = self.matrix
        flipped = matrix.T if isinstance(matrix, np.ndarray) else sparse.csr_array(matrix.T)
        return replace(self, matrix=flipped, rows=self.columns, columns=self.rows)

    def dense(self) -> ScalingProblem:
        """Return the question of a sparse matrix about a dense one."""
        return replace(self, matrix=sparse.csr_array(self.matrix).toarray() + self.epsilon)

    def measure(self, left: Factors, right: Factors) -> tuple[FloatArray, FloatArray]:
        """Return how far the margins are from their targets, for each matrix.

        Returns
        -------
        residuals : ndarray of shape (n_matrices,)
            The L1 distance of both margins to their targets, added.
        errors : ndarray of shape (n_matrices,)
            The same relative to the total or, where targets differ, to each target: with n rows, a
            gap counts 1/total or 1/(n target), whichever is more.
        """
        row_sums, column_sums = self.margins(left, right)
        row_gaps, column_gaps = np.abs(row_sums - self.rows), np.abs(column_sums - self.columns)
        row_errors, column_errors = row_gaps * self.row_weights, column_gaps * self.column_weights
        # Unlike `sum`, `reduce` is a single call, which is what a small matrix costs.
        residuals = np.add.reduce(row_gaps, axis=-1) + np.add.reduce(column_gaps, axis=-1)
        errors = np.add.reduce(row_errors, axis=-1) + np.add.reduce(column_errors, axis=-1)
        return residuals.reshape(-1), errors.reshape(-1)

    def margins(self, left: Factors, right: Factors) -> tuple[FloatArray, FloatArray]:
        """Return row and column sums of the scaled matrix, without building a large one."""
        matrix = self.matrix
        if left.is_narrow and right.is_narrow and not self.spans_many_decades:
            x, y = left.plain, right.plain
            if not isinstance(matrix, np.ndarray):
                row_sums, column_sums = matrix @ y, matrix.T @ x
                row_sums += self.epsilon * y.sum()
                column_sums += self.epsilon * x.sum()
            elif matrix.ndim == 2:
                row_sums, column_sums = matrix.dot(y), x.dot(matrix)
            else:
                row_sums = (matrix @ y[..., None])[..., 0]
                column_sums = (x[..., None, :] @ matrix)[..., 0, :]
            return x * row_sums, y * column_sums
        if isinstance(matrix, np.ndarray):
            cells = scaled(matrix, left[..., None], right[..., None, :])
            return cells.sum(axis=-1), cells.sum(axis=-2)
        entries = matrix.tocoo()
        cells = scaled(entries.data, left[entries.row], right[entries.col])
        row_sums = np.bincount(entries.row, cells, self.shape[0]).astype(np.float64)
        column_sums = np.bincount(entries.col, cells, self.shape[1]).astype(np.float64)
        if self.epsilon:
            epsilon = np.full(1, self.epsilon)
            row_sums += scaled(epsilon, left, right.total())
            column_sums += scaled(epsilon, left.total(), right)
        return row_sums, column_sums


def _weights(targets: FloatArray) -> FloatArray:
    total = np.add.reduce(targets, axis=-1, keepdims=True)
    return np.asarray(1.0 / np.minimum(total, targets.shape[-1] * targets))


def bistochastic(counts: Counts | sparse.csr_array, epsilon: float) -> ScalingProblem:
    """Return the question of bi-normalization: trusted counts, every row and column to one."""
    matrix = counts.cells if isinstance(counts, Counts) else counts
    if isinstance(counts, Counts) and isinstance(matrix, np.ndarray):
        # What the counts have found is not looked for again.
        if epsilon > 0.0 and _has_few(matrix, counts.n_entries):
            matrix = sparse.csr_array(counts.entries)
    elif epsilon > 0.0:
        matrix = _in_quicker_form(matrix)
    if not isinstance(matrix, np.ndarray):
        matrix = matrix.astype(np.float64)
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    ones = np.ones(matrix.shape[0])
    return _problem(matrix, epsilon, (ones, ones), _extremes(values), DEFAULT_TOLERANCE)


def make_problem(
    matrix: ArrayLike | sparse.sparray | sparse.spmatrix,
    rows: ArrayLike | None,
    columns: ArrayLike | None,
    epsilon: float,
    tolerance: float,
) -> ScalingProblem:
    """Check what a caller gave and return the problem, or say what is wrong with it."""
    if not is_finite_number(epsilon) or epsilon < 0:
        message = f"`epsilon` must be a finite number of at least 0, got {epsilon!r}."
        raise InputError(message, hint="use 0.0 to add nothing, or leave it out.")
    if not is_finite_number(tolerance) or tolerance <= 0:
        raise InputError(f"`tolerance` must be a positive number, got {tolerance!r}.")
    checked, extremes = _check_matrix(matrix)
    margins = _check_margins(rows, columns, checked.shape)
    if epsilon > 0.0 and checked.ndim == 2:
        checked = _in_quicker_form(checked)
    problem = _problem(checked, float(epsilon), margins, extremes, tolerance)
    if epsilon == 0.0:
        _refuse_all_zero(problem)
    return problem


def _problem(
    matrix: Matrix,
    epsilon: float,
    margins: tuple[FloatArray, FloatArray],
    extremes: tuple[Any, Any],
    tolerance: float,
) -> ScalingProblem:
    """Return the problem of trusted parts, among them the smallest and largest stored entry.

    A dense matrix is copied, since results are read from it when the caller's may have changed.
    """
    low, high = extremes
    if isinstance(matrix, np.ndarray):
        matrix = np.add(matrix, epsilon, dtype=np.float64, order="C")
    elif matrix.nnz < matrix.shape[0] * matrix.shape[1]:
        low = min(low, 0.0)
    return ScalingProblem(
        matrix, epsilon, *margins, max(float(tolerance), _SMALLEST_TOLERANCE),
        (float(low) + epsilon, float(high) + epsilon),
    )  # fmt: skip


def _in_quicker_form(matrix: Matrix) -> Matrix:
    """Return a matrix as sparse or as dense: as it is scaled sooner with epsilon in every cell."""
    n_rows, n_columns = matrix.shape
    if isinstance(matrix, np.ndarray):
        if not _has_few(matrix, int(np.count_nonzero(matrix))):
            return matrix
        return sparse.csr_array(nonzero_cells(matrix)).astype(np.float64)
    is_full = matrix.nnz > _FEW_OF_SPARSE * n_rows * n_columns
    return matrix.toarray() if is_full and n_rows <= _SPARSE_ROWS else matrix


def _has_few(matrix: FloatArray, n_entries: int) -> bool:
    return len(matrix) > _DENSE_ROWS and n_entries <= _FEW_OF_DENSE * matrix.size


def _check_matrix(matrix: Any) -> tuple[Matrix, tuple[Any, Any]]:
    """Return a matrix of numbers, with its smallest and largest entry."""
    if isinstance(matrix, ConfusionMatrix):
        matrix = matrix.counts
    if sparse.issparse(matrix):
        if matrix.dtype.kind not in "biuf":
            raise InputError(f"`matrix` must be numbers, got {matrix.dtype}.")
        csr = summed(matrix, np.float64)
        return csr, _check_entries(csr.data, csr.shape)
    array = _as_array(matrix, "matrix")
    if array.ndim not in (2, 3) or 0 in array.shape:
        message = (
            "`matrix` must have two axes (or three, for a stack of matrices) and at least one "
            f"row and column, got shape {array.shape}."
        )
        raise InputError(message)
    return array, _check_entries(array, array.shape)


def _as_array(given: Any, name: str) -> Any:
    if type(given) is np.ndarray and given.dtype.kind in "biuf":
        return given
    return as_numbers(from_torch(given), name=name)


def _extremes(values: FloatArray) -> tuple[Any, Any]:
    return (values.min(), values.max()) if values.size else (0.0, 0.0)


def _check_entries(values: FloatArray, shape: tuple[int, ...]) -> tuple[Any, Any]:
    low, high = _extremes(values)
    if not (isfinite(low) and isfinite(high)):
        count = int((~np.isfinite(values)).sum())
        message = f"`matrix` must hold finite numbers, got {count} NaN or infinite cells."
        raise InputError(message, hint="count the predictions again without missing values.")
    if low < 0:
        count = int((values < 0).sum())
        message = (
            f"`matrix` must not hold negative cells, got {count} of them, the lowest {low:g}, "
            f"in a matrix of shape {tuple(shape)}."
        )
        raise InputError(message)
    return low, high


def _refuse_all_zero(problem: ScalingProblem) -> None:
    if len(problem.shape) == 3:
        assert isinstance(problem.matrix, np.ndarray)
        empty = np.flatnonzero(problem.matrix.max(axis=(-2, -1)) == 0.0).tolist()
        if not empty:
            return
        shown = ", ".join(map(str, empty[:5])) + (", ..." if len(empty) > 5 else "")
        message = (
            "Every matrix of the stack must have a positive cell, but all cells are zero in"
            f" {len(empty)} of {problem.shape[0]}, at {shown}."
        )
    elif problem.extremes[1] == 0.0:
        message = "The matrix must have a positive cell, but all its cells are zero."
    else:
        return
    raise InputError(message, hint="count some predictions first, or give an `epsilon`.")


def _check_margins(
    rows: ArrayLike | None, columns: ArrayLike | None, shape: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """Return targets of equal total; where one is not given it is uniform."""
    *stack, n_rows, n_columns = shape
    if rows is None:
        if columns is None:
            ones = np.ones(n_rows)
            return ones, ones if n_rows == n_columns else np.full(n_columns, n_rows / n_columns)
        column_targets = _check_margin(columns, "columns", n_columns, stack)
        row_targets = _uniform(column_targets, n_rows)
    else:
        row_targets = _check_margin(rows, "rows", n_rows, stack)
        if columns is None:
            column_targets = _uniform(row_targets, n_columns)
        else:
            column_targets = _check_margin(columns, "columns", n_columns, stack)
    if row_targets.ndim != column_targets.ndim:
        row_targets = np.broadcast_to(row_targets, (*stack, n_rows))
        column_targets = np.broadcast_to(column_targets, (*stack, n_columns))
    _check_equal_totals(row_targets, column_targets)
    # Totals that differ by rounding could not both be met.
    share = row_targets.sum(axis=-1, keepdims=True) / column_targets.sum(axis=-1, keepdims=True)
    return row_targets, column_targets * share


def _uniform(other: FloatArray, size: int) -> FloatArray:
    """Return uniform targets with the totals of the other side."""
    return np.repeat(other.sum(axis=-1, keepdims=True) / size, size, axis=-1)


def _check_margin(given: ArrayLike, name: str, size: int, stack: list[int]) -> FloatArray:
    target = np.array(_as_array(given, name), dtype=np.float64)
    if target.shape not in ((size,), (*stack, size)):
        each = f", or {stack[0]} rows of them, one per matrix" if stack else ""
        raise InputError(
            f"`{name}` must have one target for each of the {size} {name}{each}, "
            f"got shape {target.shape}."
        )
    bad = ~(np.isfinite(target) & (target > 0))
    if bad.any():
        place = tuple(np.argwhere(bad)[0].tolist())
        message = (
            f"`{name}` must be positive and finite, got {target[place]:g} at index "
            f"{place[0] if len(place) == 1 else place} ({int(bad.sum())} such targets in all)."
        )
        raise InputError(message, hint=f"leave out the {name} that should be empty.")
    return target


def _check_equal_totals(rows: FloatArray, columns: FloatArray) -> None:
    row_totals, column_totals = np.atleast_1d(rows.sum(axis=-1), columns.sum(axis=-1))
    differ = np.flatnonzero(~np.isclose(row_totals, column_totals, rtol=1e-9, atol=0.0))
    if differ.size:
        first = differ[0]
        where = f" for matrix {first} of the stack" if row_totals.size > 1 else ""
        message = (
            "`rows` and `columns` must have equal totals, since both count the same mass, got "
            f"{row_totals[first]:.12g} and {column_totals[first]:.12g}{where}."
        )
        raise InputError(message, hint="multiply one of them so that the totals agree.")
