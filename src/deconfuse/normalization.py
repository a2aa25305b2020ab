"""`normalize`: the two diagonals of row, column, all and bi-normalization."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast, get_args

import numpy as np

from deconfuse._checks import Label, is_finite_number, show
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError, NotScalableError, UndefinedCellsWarning, warn
from deconfuse.normalized import Cell, FloatArray, Method, MethodName, Normalized
from deconfuse.scaling import Scaling, scale

__all__ = ["Cell", "Method", "MethodName", "Normalized", "normalize"]

# scikit-learn's words for the same two normalizations.
_ALIASES: dict[str, Method] = {"true": "row", "pred": "col"}


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
    cm = matrix if isinstance(matrix, ConfusionMatrix) else ConfusionMatrix.from_counts(matrix)
    kind = _check_method(method)
    added = _check_epsilon(epsilon, kind, cm.n_classes)
    if kind in ("bi", "all") and cm.total == 0 and not epsilon:
        # An epsilon that nobody asked for would be all there is to see.
        raise InputError(
            "The matrix must have a positive cell to be normalized, but all are zero.",
            hint="count some predictions first, or give an `epsilon`.",
        )
    if kind == "bi":
        return _normalize_bi(cm, added, throw)
    left, right = np.ones(cm.n_classes), np.ones(cm.n_classes)
    if kind == "row":
        left = _inverse(cm.label_counts + added * cm.n_classes, cm.labels, "row", "true label")
    elif kind == "col":
        right = _inverse(
            cm.prediction_counts + added * cm.n_classes, cm.labels, "column", "prediction"
        )
    else:
        total = float(cm.total) + added * cm.n_classes**2
        left = np.full(cm.n_classes, 1.0 / _large_enough(np.array([total]))[0])
    return Normalized(cm, kind, left, right, added, None)


def _normalize_bi(cm: ConfusionMatrix, epsilon: float, throw: bool) -> Normalized:
    solution = scale(cm.counts, epsilon=epsilon, throw=False)
    if throw and not solution.converged:
        raise _named_error(solution, cm.labels)
    return Normalized(cm, "bi", solution.left, solution.right, epsilon, solution)


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
            f"{len(rows)} classes ({show(labels[k] for k in rows)}) are only ever predicted as "
            f"{len(columns)} classes ({show(labels[k] for k in columns)})"
        )
    elif solution.vanishing.size:
        pairs = (f"{labels[i]!r} as {labels[j]!r}" for i, j in solution.vanishing.tolist())
        cells = ", ".join(list(pairs)[:5])
        reason = (
            f"it exists only as a limit in which {len(solution.vanishing)} positive cells vanish, "
            f"such as {cells}"
        )
    else:
        reason = f"{solution.status.value} (residual {solution.residual:.3g})"
    return NotScalableError(
        f"The matrix must have a bi-normalization with epsilon {solution.epsilon:g}, but {reason}.",
        solution=solution,
        hint="leave `epsilon` at its default, or give a positive one; or merge these classes.",
    )


def _check_method(method: str) -> Method:
    kind = _ALIASES.get(method, method)
    for known in get_args(Method):
        if kind == known:
            return cast(Method, known)
    raise InputError(
        f'`method` must be "row", "col", "all" or "bi" (or "true", "pred"), got {method!r}.'
    )


def _check_epsilon(epsilon: float | None, method: Method, n_classes: int) -> float:
    if epsilon is None:
        return 1.0 / n_classes if method == "bi" else 0.0
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
