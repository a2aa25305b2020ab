"""Label pairs to counts, dense or sparse by the number of classes and of pairs seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from deconfuse._checks import CountMatrix, Label, as_label, class_names, kind_of, show
from deconfuse.errors import InputError

__all__ = ["PairCounts", "assemble", "count_pairs", "prefers_sparse"]

# Up to here a dense matrix takes at most 32 MiB, and dense code is simpler and faster.
_ALWAYS_DENSE = 2048


def prefers_sparse(n_classes: int, nonzeros: int) -> bool:
    """Whether a matrix of this size is kept sparse: many classes, fewer than half the cells used."""
    return n_classes > _ALWAYS_DENSE and nonzeros < n_classes * n_classes // 2


def assemble(
    true: npt.NDArray[Any], pred: npt.NDArray[Any], values: npt.NDArray[Any], n_classes: int
) -> CountMatrix:
    """Return the matrix with ``values`` added at (true, pred), in the form its size asks for."""
    matrix = sp.coo_array((values, (true, pred)), shape=(n_classes, n_classes)).tocsr()
    matrix.sum_duplicates()
    if prefers_sparse(n_classes, matrix.nnz):
        return matrix
    return np.asarray(matrix.toarray())


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Distinct (true, predicted) pairs of class positions, how often, and their squared weights."""

    labels: tuple[Label, ...]
    true: npt.NDArray[Any]
    pred: npt.NDArray[Any]
    counts: npt.NDArray[Any]
    squares: npt.NDArray[Any] | None


def count_pairs(
    y_true: object, y_pred: object, *, labels: object = None, sample_weight: object = None
) -> PairCounts:
    """Count label pairs."""
    true_values = _column(y_true, name="y_true")
    pred_values = _column(y_pred, name="y_pred")
    if len(true_values) != len(pred_values):
        raise InputError(
            f"`y_true` and `y_pred` must describe the same samples, got {len(true_values):,} and"
            f" {len(pred_values):,} values.",
            hint="check for a filter applied to only one of them.",
        )
    if not len(true_values):
        raise InputError("`y_true` and `y_pred` must have at least one sample, got none.")
    true_kind, pred_kind = kind_of(true_values[0]), kind_of(pred_values[0])
    if true_kind != pred_kind:
        raise InputError(
            f"`y_true` and `y_pred` must be of one type, got {true_kind} and {pred_kind}.",
            hint="map one to the names of the other.",
        )
    seen = sorted(set(true_values) | set(pred_values))  # type: ignore[type-var]
    names = tuple(seen) if labels is None else class_names(labels)  # type: ignore[arg-type]
    index = {value: position for position, value in enumerate(names)}
    outside = [value for value in seen if value not in index]
    if outside:
        raise InputError(
            f"Every value must be one of `labels`, got {show(outside)} outside of them.",
            hint="add the class to `labels`, or drop its samples.",
        )
    true = np.array([index[value] for value in true_values], dtype=np.intp)
    pred = np.array([index[value] for value in pred_values], dtype=np.intp)
    if sample_weight is None:
        return PairCounts(names, true, pred, np.ones(len(true), dtype=np.int64), None)
    weights = np.asarray(sample_weight)
    if weights.shape != true.shape:
        raise InputError(
            f"`sample_weight` must have one weight per sample, got {weights.shape} for"
            f" {len(true):,} samples."
        )
    if weights.dtype.kind == "f" and not np.isfinite(weights).all():
        raise InputError("`sample_weight` must be finite.")
    if (weights < 0).any():
        raise InputError("`sample_weight` must not be negative.")
    return PairCounts(names, true, pred, weights, weights.astype(np.float64) ** 2)


def _column(values: Any, *, name: str) -> list[Label]:
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    if hasattr(values, "to_list"):
        values = values.to_list()
    elif hasattr(values, "to_pylist"):
        values = values.to_pylist()
    elif hasattr(values, "tolist"):
        values = values.tolist()
    return [as_label(value, name=name) for value in values]
