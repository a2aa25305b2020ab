"""Label pairs to counts: one pass in pieces, dense or sparse by what is met.

Few classes are counted in a square histogram that grows with the range of the values. Where the
range is wide, pairs are sorted and run-length encoded, so that memory follows the distinct pairs
and never the square of the number of classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from deconfuse._checks import CountMatrix, Label, LabelKind, as_label, class_names, kind_of, show
from deconfuse._columns import (
    CHUNK,
    LabelColumn,
    Vocabulary,
    WeightColumn,
    open_labels,
    open_weights,
)
from deconfuse._strangers import warn_of_strangers
from deconfuse._tally import PairTally, Tally, assemble
from deconfuse.errors import InputError

__all__ = ["PairCounts", "assemble", "count_pairs", "moved", "positions_of"]


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Class names and the matrices over them.

    ``counts`` are sums of weights (numbers of samples without weights); ``variances`` are sums of
    squared weights, or None without weights.
    """

    labels: tuple[Label, ...]
    counts: CountMatrix
    variances: CountMatrix | None


def count_pairs(
    y_true: object,
    y_pred: object,
    *,
    labels: Iterable[object] | None = None,
    sample_weight: object = None,
) -> PairCounts:
    """Count the pairs of two columns of class labels.

    See `deconfuse.ConfusionMatrix.from_predictions` for the arguments. The columns are read once,
    piece by piece; memory beyond them is a few megabytes and what the distinct pairs take.
    """
    names = None if labels is None else class_names(labels)
    true = open_labels(y_true, name="y_true")
    pred = open_labels(y_pred, name="y_pred")
    weights = None if sample_weight is None else open_weights(sample_weight, name="sample_weight")
    _check_lengths(true, pred, weights)
    vocabulary = Vocabulary()
    tally = Tally(true.size, is_weighted=weights is not None)
    for start in range(0, true.size, CHUNK):
        true_codes = true.chunk(start, vocabulary)
        pred_codes = pred.chunk(start, vocabulary)
        if true.kind != pred.kind:
            raise _different_types(true, pred)
        # Sums that overflow are found below, once, rather than in every piece.
        with np.errstate(over="ignore"):
            tally.add(true_codes, pred_codes, None if weights is None else weights.chunk(start))
    counted = _named(tally.result(), true.kind, vocabulary, names)
    if names is None:
        # Said at the line that called `ConfusionMatrix.from_predictions`.
        warn_of_strangers(counted.counts, counted.labels, true.size, stacklevel=3)
    return counted


def positions_of(values: object, labels: tuple[Label, ...], *, name: str) -> npt.NDArray[np.intp]:
    """Return the position of each value in ``labels``."""
    column = open_labels(values, name=name)
    vocabulary = Vocabulary()
    positions = np.empty(column.size, dtype=np.intp)
    kind = kind_of(labels[0])
    place = {label: position for position, label in enumerate(labels)}
    table = np.empty(0, dtype=np.intp)
    known = np.empty(0, dtype=np.intp)
    for start in range(0, column.size, CHUNK):
        codes = column.chunk(start, vocabulary)
        if column.kind in ("int", "bool"):
            distinct, codes = _factorized(codes)
            fresh: list[Any] = distinct.tolist()
            known = np.empty(0, dtype=np.intp)
        else:
            fresh = list(vocabulary)[len(known) :]
        outside = [value for value in fresh if value not in place]
        if outside or column.kind != kind:
            strange = [
                bool(value) if column.kind == "bool" else value for value in outside or fresh
            ]
            raise InputError(
                f"Values of `{name}` must be classes of the matrix, got"
                f" {show(strange)} ({column.kind}).",
                hint=f"the classes are {show(labels)} ({kind}).",
            )
        table = np.concatenate([known, [place[value] for value in fresh]]).astype(np.intp)
        known = table
        np.take(table, codes, out=positions[start : start + len(codes)])
    return positions


def _factorized(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return distinct whole numbers and the position of each value among them."""
    low, high = int(values.min()), int(values.max())
    if high - low >= CHUNK:
        return np.unique(values, return_inverse=True)
    offsets = values.astype(np.int64) - low
    seen = np.zeros(high - low + 1, dtype=np.bool_)
    seen[offsets] = True
    return np.flatnonzero(seen) + low, (np.cumsum(seen) - 1)[offsets]


def moved(matrix: CountMatrix, positions: npt.NDArray[Any], n_classes: int) -> CountMatrix:
    """Return a matrix of ``n_classes`` where class ``i`` was added to class ``positions[i]``.

    Examples
    --------
    >>> moved(np.array([[5, 1], [2, 4]]), np.array([1, 0]), 2)
    array([[4, 2],
           [1, 5]])
    >>> moved(np.array([[5, 1], [2, 4]]), np.array([0, 0]), 1)
    array([[12]])
    """
    if len(positions) == n_classes and (np.diff(positions) == 1).all():
        return matrix
    cells = sp.coo_array(matrix)
    return assemble(positions[cells.row], positions[cells.col], cells.data, n_classes)


def _named(
    tally: PairTally,
    kind: LabelKind | None,
    vocabulary: Vocabulary,
    names: tuple[Label, ...] | None,
) -> PairCounts:
    """Put class names in place of integers, in the order of the names."""
    seen: list[Label] = tally.values.tolist()
    if kind == "bool":
        seen = [bool(value) for value in seen]
    elif kind != "int":
        words = list(vocabulary)
        seen = [as_label(words[code], name="labels") for code in tally.values]
    labels = tuple(sorted(seen)) if names is None else names
    place = {label: position for position, label in enumerate(labels)}
    outside = [value for value in seen if value not in place]
    if outside or kind != kind_of(labels[0]):
        raise _outside(sorted(outside or seen), kind, labels)
    positions = np.array([place[value] for value in seen], dtype=np.intp)
    squares = tally.squares
    if squares is not None and not np.isfinite(squares.sum()):
        raise InputError(
            "`sample_weight` must have squares with a finite sum, got weights too large for that.",
            hint="divide all weights by the largest of them.",
        )
    return PairCounts(
        labels,
        moved(tally.counts, positions, len(labels)),
        None if squares is None else moved(squares, positions, len(labels)),
    )


def _check_lengths(true: LabelColumn, pred: LabelColumn, weights: WeightColumn | None) -> None:
    if true.size != pred.size:
        raise InputError(
            f"`y_true` and `y_pred` must describe the same samples, got {true.size:,} and"
            f" {pred.size:,} values.",
            hint="check for a filter applied to only one of them.",
        )
    if weights is not None and weights.size != true.size:
        raise InputError(
            f"`sample_weight` must have one weight per sample, got {weights.size:,} weights for"
            f" {true.size:,} samples.",
            hint="check for a filter applied to only one of them.",
        )
    if not true.size:
        raise InputError(
            "`y_true` and `y_pred` must have at least one sample, got none.",
            hint="an empty shard is `ConfusionMatrix.from_counts` of zeros, with its labels.",
        )


def _different_types(true: LabelColumn, pred: LabelColumn) -> InputError:
    hint = "turn one into the type of the other."
    if {true.kind, pred.kind} == {"int", "str"}:
        hint = "map the numbers to names, as in `[names[i] for i in y_pred]`, or read both as text."
    elif {true.kind, pred.kind} == {"int", "bool"}:
        hint = "turn both into bool, as in `y_pred == 1`, or both into int."
    return InputError(
        f"`y_true` and `y_pred` must be of one type, got {true.kind} and {pred.kind}.", hint=hint
    )


def _outside(values: list[Label], kind: str | None, labels: tuple[Label, ...]) -> InputError:
    wanted = kind_of(labels[0])
    if kind != wanted:
        return InputError(
            f"`labels` must be of the type of the values, got {wanted} ({show(labels)}) for"
            f" {kind} ({show(values)}).",
            hint="turn one into the type of the other.",
        )
    return InputError(
        f"Every value of `y_true` and `y_pred` must be one of `labels`, got {show(values)}.",
        hint="add the class to `labels`, or drop its samples before counting.",
    )
