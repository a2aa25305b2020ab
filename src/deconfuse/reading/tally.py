"""Sum pairs of label and prediction codes in bounded memory.

Small codes are counted in a square histogram that grows with them. Where codes are large, pairs
are gathered and summed as sparse matrices, so that memory follows the distinct pairs and never the
square of the number of classes. Both are done by single calls of NumPy and SciPy that let other
threads run meanwhile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from deconfuse.errors import InputError

__all__ = ["PairCodes", "Tally"]

# A wider histogram than this takes more than 32 MiB; summing pairs as a sparse matrix is as fast.
_WIDEST = 2048
_NARROWEST = 16
# Up to so many cells per pair, a fresh histogram costs less than scattered additions, and no lock.
_FEW_CELLS = 8
# With more cells per pair of the first piece, and some to spare, there is no histogram at all.
_MOST_CELLS = 64
# Pairs gathered before they are summed together.
_RUN = 1 << 21
_LARGEST_TOTAL = 2.0**63 - 2.0**40

Codes = npt.NDArray[Any]


class PairCodes(NamedTuple):
    """Distinct pairs of codes, in order, with their sums.

    ``sums`` are sums of weights (numbers of pairs without weights), ``squares`` are sums of
    squared weights (None without weights).
    """

    true: npt.NDArray[Any]
    pred: npt.NDArray[Any]
    sums: npt.NDArray[Any]
    squares: npt.NDArray[np.float64] | None


class Tally:
    """Count pairs of codes below 2**31, given piece by piece.

    Parameters
    ----------
    is_weighted : bool
        Whether each piece comes with weights.

    Examples
    --------
    >>> tally = Tally(is_weighted=False)
    >>> tally.add(np.array([0, 7, 7]), np.array([1, 7, 7]), 8)
    >>> [part.tolist() for part in tally.pairs()[:3]]
    [[0, 7], [1, 7], [1, 2]]
    """

    def __init__(self, *, is_weighted: bool) -> None:
        self._square: _Square | None = _Square(is_weighted)
        self._settled: list[PairCodes] = []
        self._pending: list[PairCodes] = []
        # Above all codes so far.
        self._bound = 0
        self._total = 0.0

    def add(
        self, true: Codes, pred: Codes, bound: int, weights: npt.NDArray[Any] | None = None
    ) -> None:
        """Count one piece: arrays of equal length, not empty, of codes below ``bound``."""
        is_first, self._bound = self._bound == 0, max(self._bound, bound)
        if weights is not None and weights.dtype.kind == "i":
            self._total += float(weights.sum(dtype=np.float64))
        is_wide = self._bound > _WIDEST or (is_first and bound**2 > _MOST_CELLS * (len(true) + 256))
        if self._square is not None and not is_wide:
            self._square.add(true, pred, bound, weights)
            return
        self._settled = self._runs()
        sums = np.ones(len(true), np.int64) if weights is None else weights
        self._pending.append(PairCodes(true, pred, sums, _squared(weights)))
        if sum(len(piece.true) for piece in self._pending) >= _RUN:
            self._settle()

    def merge(self, other: Tally) -> None:
        """Add what another tally counted."""
        self._settle()
        other._settle()
        self._total += other._total
        self._bound = max(self._bound, other._bound)
        if self._square is not None and other._square is not None:
            self._square.merge(other._square)
        else:
            self._settled = [*self._runs(), *other._runs()]

    def pairs(self) -> PairCodes:
        """Return what was counted."""
        # Close to the limit a float cannot tell, so a few sums below it are refused, too.
        if self._total >= _LARGEST_TOTAL:
            raise InputError(
                "`sample_weight` must add up to less than 2**63, got more (integer overflow).",
                hint="give the weights as floats.",
            )
        self._settle()
        if self._square is not None:
            return self._square.pairs()
        return self._settled[0] if len(self._settled) == 1 else _summed(self._settled, self._bound)

    def _settle(self) -> None:
        """Sum up what is pending."""
        if not self._pending:
            return
        runs = self._settled
        runs.append(_summed(self._pending, self._bound))
        self._pending = []
        # Merging runs of similar size touches each pair a logarithmic number of times.
        while len(runs) > 1 and 2 * len(runs[-1].true) >= len(runs[-2].true):
            runs[-2:] = [_summed(runs[-2:], self._bound)]

    def _runs(self) -> list[PairCodes]:
        """Return what is settled as runs of pairs, and go on without the histogram."""
        if self._square is not None:
            counted, self._square = self._square.pairs(), None
            self._settled = [counted] if len(counted.true) else []
        return self._settled


class _Square:
    """A square histogram over codes from 0 to ``side - 1``, a power of two."""

    def __init__(self, is_weighted: bool) -> None:
        self.side = _NARROWEST
        self.is_weighted = is_weighted
        self.sums: npt.NDArray[Any] = np.zeros(self.side**2, np.int64)
        self.squares = np.zeros(self.side**2 if is_weighted else 0)
        # Pairs of weight zero count for nothing, but their classes occur.
        self.seen = np.zeros(self.side**2 if is_weighted else 0, np.bool_)
        # Fresh memory for every piece would cost as much as the counting.
        self.cells = np.empty(0, np.int64)

    def reach(self, bound: int) -> None:
        """Grow until all codes below the bound have a place."""
        side = self.side
        while side < bound:
            side *= 2
        if side > self.side:
            parts = (self.sums, self.squares, self.seen)
            self.sums, self.squares, self.seen = (_wider(p, self.side, side) for p in parts)
            self.side = side

    def add(self, true: Codes, pred: Codes, bound: int, weights: npt.NDArray[Any] | None) -> None:
        """Count one piece of codes below the bound."""
        self.reach(bound)
        if len(self.cells) < len(true):
            self.cells = np.empty(len(true), np.int64)
        cells, shift = self.cells[: len(true)], self.side.bit_length() - 1
        np.left_shift(true, shift, out=cells, dtype=np.int64, casting="unsafe")
        np.bitwise_or(cells, pred, out=cells, dtype=np.int64, casting="unsafe")
        if weights is None:
            _add(self.sums, cells, None)
            return
        if weights.dtype.kind == "f" and self.sums.dtype.kind == "i":
            self.sums = self.sums.astype(np.float64)
        _add(self.sums, cells, weights)
        _add(self.squares, cells, _squared(weights))
        if not weights.all():
            self.seen[cells[weights == 0]] = True

    def merge(self, other: _Square) -> None:
        self.reach(other.side)
        other.reach(self.side)
        self.sums = self.sums + other.sums
        self.squares += other.squares
        self.seen |= other.seen

    def pairs(self) -> PairCodes:
        used = self.sums != 0
        if self.is_weighted:
            used |= self.seen
        cells = np.flatnonzero(used)
        squares = self.squares[cells] if self.is_weighted else None
        shift = self.side.bit_length() - 1
        return PairCodes(cells >> shift, cells & (self.side - 1), self.sums[cells], squares)


def _wider(cells: npt.NDArray[Any], old: int, side: int) -> npt.NDArray[Any]:
    if not len(cells):
        return cells
    square = np.zeros((side, side), cells.dtype)
    square[:old, :old] = cells.reshape(old, old)
    return square.ravel()


def _add(
    sums: npt.NDArray[Any], cells: npt.NDArray[np.int64], weights: npt.NDArray[Any] | None
) -> None:
    """Add weights, or one each, at their cells of ``sums``."""
    # As floats, large integers would lose their last digits.
    is_exact = weights is None or weights.dtype.kind == "f"
    if is_exact and _FEW_CELLS * len(cells) >= len(sums):
        sums += np.bincount(cells, weights, minlength=len(sums)).astype(sums.dtype, copy=False)
    else:
        np.add.at(sums, cells, sums.dtype.type(1) if weights is None else weights)


def _squared(weights: npt.NDArray[Any] | None) -> npt.NDArray[np.float64] | None:
    # Squares that overflow are found once, at the end.
    with np.errstate(over="ignore"):
        return None if weights is None else np.square(weights, dtype=np.float64)


def _summed(runs: list[PairCodes], bound: int) -> PairCodes:
    """Return the distinct pairs of all runs, in order, with their sums."""
    true = np.concatenate([run.true.astype(np.int32, copy=False) for run in runs])
    pred = np.concatenate([run.pred.astype(np.int32, copy=False) for run in runs])

    def total(values: list[Any]) -> sparse.coo_array:
        pairs = (np.concatenate(values), (true, pred))
        # Sums of zero stay: pairs of weight zero count for nothing, but their classes occur.
        return sparse.coo_array(pairs, shape=(bound, bound)).tocsr().tocoo()

    sums = total([run.sums for run in runs])
    squares = [run.squares for run in runs if run.squares is not None]
    return PairCodes(sums.row, sums.col, sums.data, total(squares).data if squares else None)
