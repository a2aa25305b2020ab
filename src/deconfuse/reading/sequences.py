"""Two sequences of class labels to a confusion matrix, or to positions in one."""

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
from deconfuse.reading.columns import (
    CHUNK,
    LabelColumn,
    distinct_integers,
    is_integer_array,
    open_labels,
    read_weights,
)
from deconfuse.reading.pairs import ClassOptions, PairColumn, PairSums, matrix_of
from deconfuse.reading.tally import PairCodes, Tally

__all__ = ["count_sequences", "positions_of"]

# Arrays of integers are counted in so many parts, each by a thread of its own where there are
# cores for it. The number is fixed, so that sums of weights do not depend on the cores.
_PARTS = 4
_FEWEST_IN_PARTS = 1 << 20


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
    codes = _tallied(true, pred, read)
    if codes.squares is not None and not np.isfinite(codes.squares.sum()):
        raise InputError(
            "`sample_weight` must have squares with a finite sum, got weights too large for that.",
            hint="divide all weights by the largest of them.",
        )
    columns = [_column(column, side) for column, side in ((true, codes.true), (pred, codes.pred))]
    pairs = PairSums(columns[0], columns[1], true.size, codes.sums, codes.squares)
    return matrix_of(pairs, options)


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
    bounds = np.linspace(0, true.size, _PARTS + 1).astype(int)
    if true.size < _FEWEST_IN_PARTS or not all(
        is_integer_array(c.read(0, 1)) for c in (true, pred)
    ):
        bounds = np.array([0, true.size])
    parts = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))

    def count(part: tuple[int, int]) -> Tally:
        return _counted(true, pred, read, part)

    if len(parts) == 1:
        tallies = [count(parts[0])]
    else:
        with ThreadPoolExecutor(min(n_threads(), len(parts))) as pool:
            tallies = list(pool.map(count, parts))
    first, *others = tallies
    for tally in others:
        first.merge(tally)
    return first.pairs()


def _counted(true: LabelColumn, pred: LabelColumn, read: Any, part: tuple[int, int]) -> Tally:
    start, end = part
    tally = Tally(end - start, is_weighted=read is not None)
    while start < end:
        stop = min(start + CHUNK, end)
        weights = None if read is None else read(start, stop)
        # Sums that overflow are found once, at the end.
        with np.errstate(over="ignore"):
            tally.add(true.codes(start, stop), pred.codes(start, stop), weights)
        start = stop
    return tally


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
        distinct, inverse = distinct_integers(column.codes(start, stop))
        labels = column.labels(distinct)
        outside = [label for label in labels if label not in classes]
        if outside:
            raise InputError(
                f"Values of `{name}` must be classes of the matrix, got {show(outside)}.",
                hint=f"the classes are {show(classes)} ({classes.kind}).",
            )
        np.take(classes.positions(labels), inverse, out=positions[start:stop])  # type: ignore[arg-type]
    return positions
