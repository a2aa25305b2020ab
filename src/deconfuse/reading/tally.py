"""Codes of labels and predictions to distinct pairs with their sums, in bounded memory.

Small codes are counted in a square histogram that grows with them. Where codes are large, pairs
are packed into one integer each, sorted and run-length encoded, so that memory follows the
distinct pairs and never the square of the number of classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deconfuse.errors import InputError

__all__ = ["PairCodes", "Tally"]

# A wider histogram than this takes more than 32 MiB; sorting pairs is as fast then.
_WIDEST = 2048
_NARROWEST = 16
# Up to so many cells, a fresh histogram per piece costs less than scattered additions.
_FEW_CELLS = 1 << 14
# Pairs gathered before they are sorted together.
_RUN = 1 << 20
_LARGEST_TOTAL = 2.0**63 - 2.0**40

Codes = npt.NDArray[Any]


class PairCodes(NamedTuple):
    """Distinct pairs of codes, in order, with their sums.

    ``sums`` are sums of weights (numbers of pairs without weights), ``squares`` are sums of
    squared weights (None without weights).
    """

    true: npt.NDArray[np.int64]
    pred: npt.NDArray[np.int64]
    sums: npt.NDArray[Any]
    squares: npt.NDArray[np.float64] | None


class Tally:
    """Count pairs of codes from 0 to 2**31 - 1, given piece by piece.

    Parameters
    ----------
    size : int
        How many pairs will come at most.
    is_weighted : bool
        Whether each piece comes with weights.

    Examples
    --------
    >>> tally = Tally(3, is_weighted=False)
    >>> tally.add(np.array([0, 7, 7]), np.array([1, 7, 7]))
    >>> [part.tolist() for part in tally.pairs()[:3]]
    [[0, 7], [1, 7], [1, 2]]
    """

    def __init__(self, size: int, *, is_weighted: bool) -> None:
        self._square: _Square | None = _Square(size, is_weighted)
        self._runs = _Runs()
        self._total = 0.0

    def add(self, true: Codes, pred: Codes, weights: npt.NDArray[Any] | None = None) -> None:
        """Count one piece: arrays of equal length, not empty."""
        if weights is not None and weights.dtype.kind == "i":
            self._total += float(weights.sum(dtype=np.float64))
        if self._square is not None:
            if self._square.reach(max(int(true.max()), int(pred.max()))):
                self._square.add(true, pred, weights)
                return
            self._spill()
        keys = (true.astype(np.int64) << 32) | pred
        squares = None if weights is None else np.square(weights, dtype=np.float64)
        self._runs.push(_Run(keys, weights, squares))

    def merge(self, other: Tally) -> None:
        """Add what another tally counted."""
        self._total += other._total
        if self._square is not None and other._square is not None:
            self._square.merge(other._square)
            return
        self._spill()
        other._spill()
        for run in (*other._runs.settled, *other._runs.pending):
            self._runs.push(run)

    def pairs(self) -> PairCodes:
        """Return what was counted."""
        # Close to the limit a float cannot tell, so a few sums below it are refused, too.
        if self._total >= _LARGEST_TOTAL:
            raise InputError(
                "`sample_weight` must add up to less than 2**63, got more (integer overflow).",
                hint="give the weights as floats.",
            )
        if self._square is not None:
            return self._square.pairs()
        run = self._runs.result()
        assert run.sums is not None
        return PairCodes(run.keys >> 32, run.keys & 0xFFFFFFFF, run.sums, run.squares)

    def _spill(self) -> None:
        """Go on with sorted runs from here."""
        if self._square is None:
            return
        counted, self._square = self._square.pairs(), None
        if len(counted.true):
            keys = (counted.true << 32) | counted.pred
            self._runs.push(_Run(keys, counted.sums, counted.squares))


class _Square:
    """A square histogram over codes from 0 to ``side - 1``."""

    def __init__(self, size: int, is_weighted: bool) -> None:
        self.side = _NARROWEST
        self.is_weighted = is_weighted
        # Half as wide cells stay in cache twice as long; no cell counts more than all pairs.
        dtype = np.int64 if is_weighted or size > np.iinfo(np.int32).max else np.int32
        self.sums: npt.NDArray[Any] = np.zeros(self.side**2, dtype)
        self.squares = np.zeros(self.side**2 if is_weighted else 0)
        # Pairs of weight zero count for nothing, but their classes occur.
        self.seen = np.zeros(self.side**2 if is_weighted else 0, np.bool_)

    def reach(self, highest: int) -> bool:
        """Grow until the highest code has a place; False where that would be too wide."""
        if highest >= _WIDEST:
            return False
        side = self.side
        while side <= highest:
            side *= 2
        if side > self.side:
            parts = (self.sums, self.squares, self.seen)
            self.sums, self.squares, self.seen = (_wider(p, self.side, side) for p in parts)
            self.side = side
        return True

    def add(self, true: Codes, pred: Codes, weights: npt.NDArray[Any] | None) -> None:
        cells = np.multiply(true, self.side, dtype=np.int64, casting="unsafe")
        np.add(cells, pred, out=cells, dtype=np.int64, casting="unsafe")
        size = len(self.sums)
        if weights is None:
            if size <= _FEW_CELLS:
                self.sums += np.bincount(cells, minlength=size).astype(self.sums.dtype)
            else:
                np.add.at(self.sums, cells, self.sums.dtype.type(1))
            return
        if weights.dtype.kind == "f" and self.sums.dtype.kind != "f":
            self.sums = self.sums.astype(np.float64)
        if weights.dtype.kind == "f" and size <= _FEW_CELLS:
            self.sums += np.bincount(cells, weights, minlength=size)
            self.squares += np.bincount(cells, np.square(weights), minlength=size)
        else:
            np.add.at(self.sums, cells, weights.astype(self.sums.dtype, copy=False))
            np.add.at(self.squares, cells, np.square(weights, dtype=np.float64))
        if not weights.all():
            self.seen[cells[weights == 0]] = True

    def merge(self, other: _Square) -> None:
        self.reach(other.side - 1)
        other.reach(self.side - 1)
        wide = np.float64 if "f" in (self.sums.dtype.kind, other.sums.dtype.kind) else np.int64
        self.sums = np.add(self.sums, other.sums, dtype=wide)
        self.squares += other.squares
        self.seen |= other.seen

    def pairs(self) -> PairCodes:
        used = self.sums != 0
        if self.is_weighted:
            used |= self.seen
        cells = np.flatnonzero(used)
        squares = self.squares[cells] if self.is_weighted else None
        sums = self.sums[cells]
        sums = sums.astype(np.int64) if sums.dtype == np.int32 else sums
        return PairCodes(cells // self.side, cells % self.side, sums, squares)


def _wider(cells: npt.NDArray[Any], old: int, side: int) -> npt.NDArray[Any]:
    if not len(cells):
        return cells
    square = np.zeros((side, side), cells.dtype)
    square[:old, :old] = cells.reshape(old, old)
    return square.ravel()


class _Run(NamedTuple):
    """Keys that each pack a pair of codes, with their sums; ``sums`` None means one each."""

    keys: npt.NDArray[np.int64]
    sums: npt.NDArray[Any] | None
    squares: npt.NDArray[np.float64] | None


class _Runs:
    """Sorted runs of distinct pairs, merged as they grow so that few are kept."""

    def __init__(self) -> None:
        self.pending: list[_Run] = []
        self.settled: list[_Run] = []
        self._n_pending = 0

    def push(self, run: _Run) -> None:
        self.pending.append(run)
        self._n_pending += len(run.keys)
        if self._n_pending >= _RUN:
            self._settle()

    def _settle(self) -> None:
        if self.pending:
            self.settled.append(_collapsed(self.pending))
            self.pending, self._n_pending = [], 0
        # Merging runs of similar size touches each pair a logarithmic number of times.
        runs = self.settled
        while len(runs) > 1 and 2 * len(runs[-1].keys) >= len(runs[-2].keys):
            runs[-2:] = [_collapsed(runs[-2:])]

    def result(self) -> _Run:
        self._settle()
        return self.settled[0] if len(self.settled) == 1 else _collapsed(self.settled)


def _collapsed(runs: list[_Run]) -> _Run:
    """Return one run with distinct keys in order and the sums of all."""
    keys = np.concatenate([run.keys for run in runs])
    if all(run.sums is None for run in runs):
        # Sorting bare keys is several times faster than carrying values through the sort.
        keys.sort()
        starts = _starts(keys)
        return _Run(keys[starts], np.diff(starts, append=len(keys)), None)
    # A stable sort merges what is sorted already.
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = _starts(keys)
    sums = [np.ones(len(run.keys), np.int64) if run.sums is None else run.sums for run in runs]
    squares = [run.squares for run in runs if run.squares is not None]
    return _Run(
        keys[starts],
        np.add.reduceat(np.concatenate(sums)[order], starts),
        np.add.reduceat(np.concatenate(squares)[order], starts) if squares else None,
    )


def _starts(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    is_first = np.empty(len(keys), np.bool_)
    is_first[0] = True
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)
