"""Count two sequences of labels into a confusion matrix, or find their positions in one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from deconfuse._checks import show
from deconfuse.classes import Classes, ClassOptions
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reading.label_columns import (
    CHUNK,
    Coded,
    LabelColumn,
    WeightColumn,
    open_labels,
    open_weights,
)
from deconfuse.reading.pairs import CodedColumn, PairSums, matrix_and_places, matrix_of
from deconfuse.reading.tally import PairCounts, Tally, distinct_integers, on_threads

__all__ = ["count_columns", "count_sequences", "count_with_positions", "positions_of"]

# Categories of another library are read in longer pieces: its own call costs the most.
_LONG_CHUNK = 1 << 18
# Weights of so many samples are read at once.
_WEIGHTS = 1 << 21


def count_sequences(
    y_true: object, y_pred: object, sample_weight: object, options: ClassOptions
) -> ConfusionMatrix:
    """Count the pairs of two columns; see `deconfuse.ConfusionMatrix.from_predictions`."""
    true, pred = _opened(y_true, y_pred)
    weights = None
    if sample_weight is not None:
        weights = open_weights(sample_weight, true.size, name="sample_weight")
    return matrix_of(count_columns(true, pred, weights), options)


def count_with_positions(
    y_true: object,
    y_pred: object,
    options: ClassOptions = ClassOptions(),  # noqa: B008 - frozen
) -> tuple[ConfusionMatrix, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Count two columns and return the row and the column of every sample, in one pass.

    Outcomes follow the classes, in the order of ``matrix.outcomes``.

    Examples
    --------
    >>> matrix, rows, columns = count_with_positions(["dog", "cat"], ["cat", "cat"])
    >>> matrix.labels, rows.tolist(), columns.tolist()
    (('cat', 'dog'), [1, 0], [0, 0])
    """
    true, pred = _opened(y_true, y_pred)
    pieces: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []
    counts = _tallied(true, pred, None, pieces)
    matrix, places = matrix_and_places(_pair_sums(true, pred, counts), options)
    positions = []
    for side, codes in enumerate((counts.true, counts.pred)):
        table = np.zeros(int(codes[-1]) + 1, np.intp)
        table[codes] = places[side]
        positions.append(np.concatenate([table[piece[side]] for piece in pieces]))
    return matrix, positions[0], positions[1]


def _opened(y_true: object, y_pred: object) -> tuple[LabelColumn, LabelColumn]:
    true, pred = open_labels(y_true, name="y_true"), open_labels(y_pred, name="y_pred")
    if true.size != pred.size:
        raise InputError(
            f"`y_true` and `y_pred` must describe the same samples, got {true.size:,} and"
            f" {pred.size:,} values.",
            hint="check for a filter applied to only one of them.",
        )
    return true, pred


def count_columns(
    true: LabelColumn, pred: LabelColumn, weights: WeightColumn | None = None
) -> PairSums:
    """Count the pairs of two columns of one length."""
    return _pair_sums(true, pred, _tallied(true, pred, weights))


def _pair_sums(true: LabelColumn, pred: LabelColumn, counts: PairCounts) -> PairSums:
    """Return what was counted under the values that the codes stand for."""
    if counts.squares is not None and not np.isfinite(counts.squares.sum()):
        raise InputError(
            "`sample_weight` must have squares with a finite sum, got weights too large for that.",
            hint="divide all weights by the largest of them.",
        )
    columns = [
        CodedColumn(
            column.name,
            column.labels(codes),
            n_missing=column.n_missing,
            first_missing=column.first_missing,
        )
        for column, codes in ((true, counts.true), (pred, counts.pred))
    ]
    return PairSums(columns[0], columns[1], true.size, counts.sums, counts.squares)


def _tallied(
    true: LabelColumn,
    pred: LabelColumn,
    weights: WeightColumn | None,
    pieces: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] | None = None,
) -> PairCounts:
    """Count all pieces, and gather their codes in ``pieces`` if asked to.

    Small integers are their own codes, so that they are one piece.
    """
    tally, size = Tally(), true.size
    on_threads(LabelColumn.use_values_as_codes, (true, pred), size=size)
    step = CHUNK
    if true.own is not None and pred.own is not None:
        step = size if weights is None or weights.is_ready else _WEIGHTS
    elif size and isinstance(true.column.read(0, 1), Coded):
        step = _LONG_CHUNK
    for start in range(0, size, max(step, 1)):
        stop = min(start + step, size)
        (codes, bound), (others, other_bound) = true.codes(start, stop), pred.codes(start, stop)
        weighed, validate = (None, None) if weights is None else weights.read(start, stop)
        tally.add(codes, others, max(bound, other_bound), weighed, validate)
        if pieces is not None:
            pieces.append((codes, others))
    return tally.counts()


def positions_of(values: object, classes: Classes, *, name: str) -> npt.NDArray[np.intp]:
    """Return the position of each value among the classes."""
    column = open_labels(values, name=name)
    positions = np.empty(column.size, dtype=np.intp)
    for start in range(0, column.size, CHUNK):
        stop = min(start + CHUNK, column.size)
        distinct, inverse = distinct_integers(column.codes(start, stop)[0])
        labels = column.labels(distinct)
        outside = [label for label in labels if label not in classes]
        if outside:
            raise InputError(
                f"Values of `{name}` must be classes of the matrix, got {show(outside)}.",
                hint=f"the classes are {show(classes)} ({classes.kind}).",
            )
        np.take(classes.positions(labels), inverse, out=positions[start:stop])  # type: ignore[arg-type]
    return positions
