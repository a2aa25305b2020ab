"""Raw arguments of `scale` to a `ScalingProblem`, and the errors when they cannot be one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from deconfuse._checks import as_numbers, is_finite_number, summed
from deconfuse._sources import from_torch
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.scaling.problem import FloatArray, Matrix, ScalingProblem

__all__ = ["make_problem"]

# Rounding alone moves each margin by a few units in the last place; asking for less cannot be met.
_ROUNDING_UNITS = 16.0


def make_problem(
    matrix: ArrayLike | sparse.sparray | sparse.spmatrix,
    rows: ArrayLike | None,
    columns: ArrayLike | None,
    epsilon: float,
    tolerance: float,
) -> ScalingProblem:
    """Check what a caller gave and return the problem, or say what is wrong with it."""
    checked = _check_matrix(matrix)
    if not is_finite_number(epsilon) or epsilon < 0:
        message = f"`epsilon` must be a finite number of at least 0, got {epsilon!r}."
        raise InputError(message, hint="use 0.0 to add nothing, or leave it out.")
    if not is_finite_number(tolerance) or tolerance <= 0:
        raise InputError(f"`tolerance` must be a positive number, got {tolerance!r}.")
    if epsilon == 0.0:
        _refuse_all_zero(checked)
    row_targets, column_targets = _check_margins(rows, columns, checked.shape)
    floor = _ROUNDING_UNITS * np.finfo(np.float64).eps * float(row_targets.sum(axis=-1).max())
    return ScalingProblem(
        checked, float(epsilon), row_targets, column_targets, max(tolerance, floor)
    )


def _check_matrix(matrix: Any) -> Matrix:
    """Return a float64 copy: results are read from it later, when the caller's may have changed."""
    if isinstance(matrix, ConfusionMatrix):
        matrix = matrix.counts
    if sparse.issparse(matrix):
        if matrix.dtype.kind not in "biuf":
            raise InputError(f"`matrix` must be numbers, got {matrix.dtype}.")
        csr = summed(matrix, np.float64)
        _check_entries(csr.data, csr.shape)
        return csr
    array = _as_floats(matrix, "matrix")
    if array.ndim not in (2, 3) or 0 in array.shape:
        message = (
            "`matrix` must have two axes (or three, for a stack of matrices) and at least one "
            f"row and column, got shape {array.shape}."
        )
        raise InputError(message)
    _check_entries(array, array.shape)
    return array


def _as_floats(given: object, name: str) -> FloatArray:
    return as_numbers(from_torch(given), name=name).astype(np.float64, copy=False)


def _check_entries(values: FloatArray, shape: tuple[int, ...]) -> None:
    if values.size == 0:
        return
    low, high = values.min(), values.max()
    if not (np.isfinite(low) and np.isfinite(high)):
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


def _refuse_all_zero(matrix: Matrix) -> None:
    if isinstance(matrix, np.ndarray):
        empty = np.flatnonzero(np.atleast_1d(matrix.max(axis=(-2, -1)) == 0.0)).tolist()
    else:
        empty = [] if matrix.data.any() else [0]
    if empty:
        message = "The matrix must have a positive cell, but all its cells are zero."
        if len(matrix.shape) == 3:
            shown = ", ".join(map(str, empty[:5])) + (", ..." if len(empty) > 5 else "")
            message = (
                "Every matrix of the stack must have a positive cell, but all cells are zero in"
                f" {len(empty)} of {matrix.shape[0]}, at {shown}."
            )
        raise InputError(message, hint="count some predictions first, or give an `epsilon`.")


def _check_margins(
    rows: ArrayLike | None, columns: ArrayLike | None, shape: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """Return targets of equal total; where one is not given it is uniform."""
    n_rows, n_columns = shape[-2:]
    row_targets = None if rows is None else _check_margin(rows, "rows", n_rows, shape[:-2])
    column_targets = (
        None if columns is None else _check_margin(columns, "columns", n_columns, shape[:-2])
    )
    if row_targets is None and column_targets is None:
        row_targets = np.ones(n_rows)
    if row_targets is None:
        assert column_targets is not None
        row_targets = _uniform(column_targets, n_rows)
    elif column_targets is None:
        column_targets = _uniform(row_targets, n_columns)
    assert column_targets is not None
    if row_targets.ndim != column_targets.ndim:
        row_targets = np.broadcast_to(row_targets, (*shape[:-2], n_rows))
        column_targets = np.broadcast_to(column_targets, (*shape[:-2], n_columns))
    _check_equal_totals(row_targets, column_targets)
    # Totals that differ by rounding could not both be met to the tolerance.
    share = row_targets.sum(axis=-1, keepdims=True) / column_targets.sum(axis=-1, keepdims=True)
    return row_targets, column_targets * share


def _uniform(other: FloatArray, size: int) -> FloatArray:
    """Return uniform targets with the totals of the other side."""
    return np.repeat(other.sum(axis=-1, keepdims=True) / size, size, axis=-1)


def _check_margin(given: ArrayLike, name: str, size: int, stack: tuple[int, ...]) -> FloatArray:
    target = _as_floats(given, name)
    if target.shape not in ((size,), (*stack, size)):
        each = f", or {stack[0]} rows of them, one a matrix" if stack else ""
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
