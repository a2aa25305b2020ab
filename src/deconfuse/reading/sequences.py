"""Count two sequences of labels into a confusion matrix, or find their positions in one."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from deconfuse._checks import show
from deconfuse.classes import Classes
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reading.class_options import ClassOptions
from deconfuse.reading.label_codes import (
    CHUNK,
    Coded,
    LabelColumn,
    distinct_integers,
    is_integer_array,
    open_labels,
    read_weights,
)
from deconfuse.reading.pairs import PairColumn, PairSums, matrix_of
from deconfuse.reading.tally import PairCodes, Tally

__all__ = ["count_columns", "count_sequences", "positions_of"]

# Arrays of integers are counted in parts, each by a thread of its own where there are cores for it.
# Weights always have so many parts, since the order of a sum changes its last digits.
_WEIGHTED_PARTS = 4
_FEWEST_IN_PARTS = 1 << 20
# Integers and codes need no Python object per value, so that longer pieces save calls.
_LONG_CHUNK = 1 << 18


def count_sequences(
    y_true: object, y_pred: object, sample_weight: object, options: ClassOptions
) -> ConfusionMatrix:
    """Count the pairs of two columns; see `deconfuse.ConfusionMatrix.from_predictions`."""
    true, pred = open_labels(y_true, name="y_true"), open_labels(y_pred, name="y_pred")
    if true.size != pred.size:
        raise InputError(
            f"`y_true` and `y_pred` must describe the same samples, got {true.size:,} and"
            f" {pred.size:,} values.",
            hint="check for a filter applied to only one of them.",
        )
    read = None
    if sample_weight is not None:
        read = read_weights(sample_weight, true.size, name="sample_weight")
    return matrix_of(count_columns(true, pred, read), options)


def count_columns(true: LabelColumn, pred: LabelColumn, read: Any = None) -> PairSums:
    """Count the pairs of two columns of one length; ``read`` reads their weights."""
    codes = _tallied(true, pred, read)
    if codes.squares is not None and not np.isfinite(codes.squares.sum()):
        raise InputError(
            "`sample_weight` must have squares with a finite sum, got weights too large for that.",
            hint="divide all weights by the largest of them.",
        )
    columns = [_column(column, side) for column, side in ((true, codes.true), (pred, codes.pred))]
    return PairSums(columns[0], columns[1], true.size, codes.sums, codes.squares)


def _column(column: LabelColumn, codes: npt.NDArray[np.int64]) -> PairColumn:
    if not len(codes):
        return PairColumn(column.name, [], codes)
    distinct, inverse = distinct_integers(codes)
    return PairColumn(
        column.name, column.labels(distinct), inverse, column.n_missing, column.first_missing
    )


def _tallied(true: LabelColumn, pred: LabelColumn, read: Any) -> PairCodes:
    """Count all pieces; integers in parts of their own, since they need no vocabulary."""
    if not true.size:
        nothing = np.zeros(0, np.int64)
        return PairCodes(nothing, nothing, nothing, None)
    first = [column.read(0, 1) for column in (true, pred)]
    is_integer = all(map(is_integer_array, first))
    n_parts = 1
    if is_integer and true.size >= _FEWEST_IN_PARTS:
        n_parts = n_threads() if read is None else _WEIGHTED_PARTS
    bounds = np.linspace(0, true.size, n_parts + 1).astype(int).tolist()
    is_light = all(is_integer_array(piece) or isinstance(piece, Coded) for piece in first)
    chunk = _LONG_CHUNK if is_light else CHUNK

    def count(start: int, end: int) -> Tally:
        tally = Tally(is_weighted=read is not None)
        for at in range(start, end, chunk):
            stop = min(at + chunk, end)
            weights = None if read is None else read(at, stop)
            (codes, bound), (others, other_bound) = true.codes(at, stop), pred.codes(at, stop)
            tally.add(codes, others, max(bound, other_bound), weights)
        return tally

    if n_parts == 1:
        return count(0, true.size).pairs()
    with ThreadPoolExecutor(min(n_threads(), n_parts)) as pool:
        whole, *others = pool.map(count, bounds[:-1], bounds[1:])
    for tally in others:
        whole.merge(tally)
    return whole.pairs()


def n_threads() -> int:
    """Return how many threads to use: the cores of this process, at most ``OMP_NUM_THREADS``."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores or 1, int(asked) if asked.isdecimal() else cores or 1))


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
