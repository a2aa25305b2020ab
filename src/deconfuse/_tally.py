"""Pairs of integers to distinct pairs with their sums, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from deconfuse._checks import CountMatrix
from deconfuse.errors import InputError

__all__ = ["PairTally", "Tally", "assemble", "prefers_sparse"]

# Up to here a dense matrix takes at most 32 MiB, and dense code is simpler and faster.
_ALWAYS_DENSE = 2048

# A wider histogram than this would take more than 32 MiB; sorting pairs is as fast then.
_WIDEST = 2048
# Up to so many cells, a fresh histogram for each piece costs less than scattered additions.
_FEW_CELLS = 1 << 14
# Pairs gathered before they are sorted together.
_RUN = 1 << 20
_INT32 = np.iinfo(np.int32)
_INT64_MIN, _INT64_MAX = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)


class PairTally(NamedTuple):
    """The distinct values met, in order, and the matrices over them.

    ``counts`` are sums of weights (numbers of pairs without weights), ``squares`` are sums of
    squared weights (None without weights).
    """

    values: npt.NDArray[np.int64]
    counts: CountMatrix
    squares: CountMatrix | None


class _Pairs(NamedTuple):
    """Distinct pairs of values, with their sums."""

    true: npt.NDArray[np.int64]
    pred: npt.NDArray[np.int64]
    counts: npt.NDArray[Any]
    squares: npt.NDArray[np.float64] | None


def prefers_sparse(n_classes: int, nonzeros: int) -> bool:
    """Whether a matrix is kept sparse: many classes, and fewer than half of the cells in use."""
    return n_classes > _ALWAYS_DENSE and nonzeros < n_classes * n_classes // 2


def assemble(
    true: npt.NDArray[Any], pred: npt.NDArray[Any], values: npt.NDArray[Any], n_classes: int
) -> CountMatrix:
    """Return the matrix with ``values`` added at (true, pred), dense or sparse by its size.

    Examples
    --------
    >>> assemble(np.array([0, 1, 1]), np.array([0, 0, 0]), np.array([5, 1, 2]), 2)
    array([[5, 0],
           [3, 0]])
    """
    if n_classes <= _ALWAYS_DENSE:
        cells = np.zeros(n_classes * n_classes, dtype=values.dtype)
        np.add.at(cells, true * n_classes + pred, values)
        return cells.reshape(n_classes, n_classes)
    matrix = sp.coo_array((values, (true, pred)), shape=(n_classes, n_classes)).tocsr()
    if prefers_sparse(n_classes, matrix.nnz):
        return matrix
    return np.asarray(matrix.toarray())


class Tally:
    """Counts pairs of integers given piece by piece.

    Parameters
    ----------
    size : int
        How many pairs will come; few pairs are not worth a wide histogram.
    is_weighted : bool
        Whether each piece comes with weights.
    """

    def __init__(self, size: int, *, is_weighted: bool) -> None:
        self._is_weighted = is_weighted
        self._widest = min(_WIDEST, max(64, int((8 * size) ** 0.5)))
        # Half as wide cells stay in cache twice as long; no cell can count more than all pairs.
        counts = np.zeros(0, np.int32 if size <= _INT32.max else np.int64)
        self._square: _Square | None = _Square(is_weighted, counts)
        self._runs = _Runs(is_weighted)
        self._total = 0

    def add(
        self,
        true: npt.NDArray[Any],
        pred: npt.NDArray[Any],
        weights: npt.NDArray[Any] | None = None,
    ) -> None:
        """Count one piece: arrays of equal length, not empty."""
        if weights is not None and weights.dtype == np.int64:
            # The float sum is close enough to tell whether the other one could wrap around.
            is_safe = weights.sum(dtype=np.float64) < 2**62
            self._total += int(weights.sum()) if is_safe else sum(weights.tolist())
            if self._total > _INT64_MAX:
                raise InputError(
                    "`sample_weight` must add up to at most 2**63 - 1, got more"
                    " (integer overflow).",
                    hint="give the weights as floats.",
                )
        if self._square is not None:
            if self._square.holds(true, pred) or self._square.reach(true, pred, self._widest):
                self._square.add(true, pred, weights)
                return
            if self._square.side:
                self._runs.adopt(self._square.pairs())
            self._square = None
        self._runs.add(true, pred, weights)

    def result(self) -> PairTally:
        """Return what was counted."""
        return self._runs.result() if self._square is None else self._square.result()


@dataclass(slots=True)
class _Square:
    """A square histogram over the values from ``low`` to ``low + side - 1``."""

    is_weighted: bool
    counts: npt.NDArray[Any]
    low: int = 0
    side: int = 0
    sums: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.int64))
    squares: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    buffer: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def holds(self, true: npt.NDArray[Any], pred: npt.NDArray[Any]) -> bool:
        """Whether all values have a place, told at once for the usual classes from 0 on."""
        # Read as unsigned, negative numbers are huge: the highest value tells about the lowest.
        return self.low == 0 and all(
            int(values.view(f"u{values.dtype.itemsize}").max()) < self.side
            for values in (true, pred)
        )

    def reach(self, true: npt.NDArray[Any], pred: npt.NDArray[Any], widest: int) -> bool:
        """Grow to have a place for these values; False where that would be too wide."""
        low = min(int(true.min()), int(pred.min()))
        high = max(int(true.max()), int(pred.max()))
        if self.side:
            low, high = min(low, self.low), max(high, self.low + self.side - 1)
        if low >= 0 and high < 2 * (high - low + 1) and high < widest:
            low = 0
        side = high - low + 1
        if side > widest:
            return False
        if side == self.side:
            return True
        if self.side:
            # At least double, so that values that drift move the histogram a few times only.
            side = max(side, min(2 * self.side, widest))
            if low < self.low and low != 0:
                low = max(high - side + 1, _INT64_MIN)
        shift = self.low - low
        self.counts = _moved(self.counts, self.side, side, shift)
        if self.is_weighted:
            self.sums = _moved(self.sums, self.side, side, shift)
            self.squares = _moved(self.squares, self.side, side, shift)
        self.low, self.side = low, side
        return True

    def add(
        self, true: npt.NDArray[Any], pred: npt.NDArray[Any], weights: npt.NDArray[Any] | None
    ) -> None:
        if len(self.buffer) < len(true):
            self.buffer = np.empty(len(true), np.int64)
        cells = self.buffer[: len(true)]
        np.multiply(true, self.side, out=cells, dtype=np.int64)
        np.add(cells, pred, out=cells, dtype=np.int64)
        if self.low:
            # Far from zero the numbers above wrap around 2**64; so does this one, which makes up
            # for it.
            offset = self.low * (self.side + 1)
            cells -= (offset + 2**63) % 2**64 - 2**63
        if len(self.counts) <= _FEW_CELLS:
            self.counts += np.bincount(cells, minlength=len(self.counts)).astype(self.counts.dtype)
        else:
            np.add.at(self.counts, cells, self.counts.dtype.type(1))
        if weights is not None:
            if weights.dtype.kind == "f" and self.sums.dtype.kind != "f":
                self.sums = self.sums.astype(np.float64)
            np.add.at(self.sums, cells, weights.astype(self.sums.dtype, copy=False))
            np.add.at(self.squares, cells, np.square(weights, dtype=np.float64))

    def result(self) -> PairTally:
        used = self.counts.reshape(self.side, self.side) != 0
        seen = np.flatnonzero(used.any(axis=0) | used.any(axis=1))
        parts = (self.sums, self.squares) if self.is_weighted else (self.counts,)
        counts, *squares = (self._block(part, seen) for part in parts)
        return PairTally(seen + self.low, counts, squares[0] if squares else None)

    def _block(self, cells: npt.NDArray[Any], seen: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        matrix = cells.reshape(self.side, self.side)
        if len(seen) < self.side:
            matrix = matrix[np.ix_(seen, seen)]
        return matrix.astype(np.float64 if cells.dtype.kind == "f" else np.int64)

    def pairs(self) -> _Pairs:
        used = np.flatnonzero(self.counts)
        true, pred = used // self.side + self.low, used % self.side + self.low
        if not self.is_weighted:
            return _Pairs(true, pred, self.counts[used].astype(np.int64), None)
        return _Pairs(true, pred, self.sums[used], self.squares[used])


def _moved(cells: npt.NDArray[Any], old: int, side: int, shift: int) -> npt.NDArray[Any]:
    square = np.zeros((side, side), cells.dtype)
    square[shift : shift + old, shift : shift + old] = cells.reshape(old, old)
    return square.ravel()


class _Run(NamedTuple):
    """Keys that each pack a pair of codes, with their sums; ``counts`` None means one each."""

    keys: npt.NDArray[np.int64]
    counts: npt.NDArray[Any] | None
    squares: npt.NDArray[np.float64] | None


@dataclass(slots=True)
class _Runs:
    """Sorted runs of distinct pairs, merged as they grow so that few are kept.

    A pair of 32-bit values makes one 64-bit key, so that one sort orders pairs. Wider values are
    first replaced by their codes in ``wide``.
    """

    is_weighted: bool
    pending: list[_Run] = field(default_factory=list)
    n_pending: int = 0
    runs: list[_Run] = field(default_factory=list)
    wide: dict[int, int] | None = None

    def add(
        self, true: npt.NDArray[Any], pred: npt.NDArray[Any], weights: npt.NDArray[Any] | None
    ) -> None:
        squares = None if weights is None else np.square(weights, dtype=np.float64)
        self._push(true, pred, weights, squares)

    def adopt(self, pairs: _Pairs) -> None:
        """Go on from pairs that were counted before."""
        self._push(*pairs)

    def _push(
        self,
        true: npt.NDArray[Any],
        pred: npt.NDArray[Any],
        counts: npt.NDArray[Any] | None,
        squares: npt.NDArray[np.float64] | None,
    ) -> None:
        # Making keys may settle what is pending, so it comes first.
        keys = self._keys(true, pred)
        self.pending.append(_Run(keys, counts, squares))
        self.n_pending += len(true)
        if self.n_pending >= _RUN:
            self._settle()

    def _keys(self, true: npt.NDArray[Any], pred: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        if self.wide is None:
            low = min(int(true.min()), int(pred.min()))
            high = max(int(true.max()), int(pred.max()))
            if low < _INT32.min or high > _INT32.max:
                self._widen()
        if self.wide is not None:
            true, pred = self._codes(true), self._codes(pred)
        return (true.astype(np.int64) << 32) | (pred.astype(np.int64) & 0xFFFFFFFF)

    def _widen(self) -> None:
        """Put codes in place of the values met so far."""
        self.wide = {}
        self._settle()
        rows = [_Run(self._keys(*_unpacked(run.keys)), *run[1:]) for run in self.runs]
        self.runs = [_collapsed([run]) for run in rows]

    def _codes(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        assert self.wide is not None
        distinct, inverse = np.unique(values, return_inverse=True)
        codes = [self.wide.setdefault(value, len(self.wide)) for value in distinct.tolist()]
        return np.array(codes, np.int64)[inverse]

    def _settle(self) -> None:
        if self.pending:
            self.runs.append(_collapsed(self.pending))
            self.pending, self.n_pending = [], 0
        # Merging runs of like size only touches each pair a logarithmic number of times.
        while len(self.runs) > 1 and 2 * len(self.runs[-1].keys) >= len(self.runs[-2].keys):
            self.runs[-2:] = [_collapsed(self.runs[-2:])]

    def result(self) -> PairTally:
        self._settle()
        run = _collapsed(self.runs)
        assert run.counts is not None
        true, pred = _unpacked(run.keys)
        distinct = np.union1d(true, pred)
        true, pred = np.searchsorted(distinct, true), np.searchsorted(distinct, pred)
        counts = assemble(true, pred, run.counts, len(distinct))
        squares = None
        if run.squares is not None:
            squares = assemble(true, pred, run.squares, len(distinct))
        if self.wide is None:
            return PairTally(distinct, counts, squares)
        values = np.array(list(self.wide), np.int64)
        order = np.argsort(values)
        return PairTally(
            values[order],
            counts[order][:, order],
            None if squares is None else squares[order][:, order],
        )


def _unpacked(keys: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    return keys >> 32, (keys & 0xFFFFFFFF).astype(np.uint32).view(np.int32).astype(np.int64)


def _collapsed(runs: list[_Run]) -> _Run:
    """Return one run with distinct keys in order and the sums of all."""
    keys = np.concatenate([run.keys for run in runs])
    if all(run.counts is None for run in runs):
        # Sorting bare keys is several times faster than carrying values through the sort.
        keys.sort()
        starts = _starts(keys)
        return _Run(keys[starts], np.diff(starts, append=len(keys)), None)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = _starts(keys)
    counts = [
        np.ones(len(run.keys), np.int64) if run.counts is None else run.counts for run in runs
    ]
    squares = [run.squares for run in runs if run.squares is not None]
    return _Run(
        keys[starts],
        np.add.reduceat(np.concatenate(counts)[order], starts),
        np.add.reduceat(np.concatenate(squares)[order], starts) if squares else None,
    )


def _starts(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    is_first = np.empty(len(keys), np.bool_)
    is_first[0] = True
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)
