"""Sum pairs of label and prediction codes on several threads, in bounded memory.

Few classes are counted in a square histogram. Where there are many, pairs are sorted, so that
memory follows the distinct pairs and never the square of the number of classes. Both are done by
calls of NumPy and SciPy that let other threads run meanwhile. The result is the same whatever the
number of threads: counts are exact, and weights are summed in the order of the samples.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

try:
    # What `coo_array.toarray` calls, without a new array each time. NumPy's `add.at` is the same,
    # but slower, and stops all other threads.
    from scipy.sparse._sparsetools import coo_todense
except ImportError:
    coo_todense = None

from deconfuse._checks import CountMatrix
from deconfuse.errors import InputError

__all__ = ["PairCounts", "Tally", "distinct_integers", "n_threads", "on_threads"]

# A wider histogram than this takes more than 32 MiB; sorting pairs is as fast.
_WIDEST = 2048
# With more cells per pair of the first piece, and some to spare, there is no histogram at all.
_MOST_CELLS = 64
# Long enough to hide the cost of a call, short enough for its arrays to stay in cache.
_CHUNK = 1 << 17
# Pairs that one thread sorts at once.
_RUN = 1 << 22
# A thread counts fewer pairs than 32 bits can.
_MOST_ON_A_THREAD = 1 << 30
# Shorter pieces are not worth a thread.
_FEWEST_ON_THREADS = 1 << 19
_LARGEST_TOTAL = 2.0**63 - 2.0**40

Codes = npt.NDArray[Any]
Weights = npt.NDArray[Any]
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def n_threads() -> int:
    """Return how many threads to use: the cores of this process, at most ``OMP_NUM_THREADS``.

    In a process that another one started to share its work, one: the cores are in use already.
    """
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and processes.parent_process() is not None:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores or 1, int(asked) if asked.isdecimal() else cores or 1))


def on_threads(
    act: Callable[[_Item], _Result], items: Iterable[_Item], *, size: int
) -> list[_Result]:
    """Return what a function gives for each item, on threads where so many samples are worth it."""
    listed = list(items)
    threads = min(n_threads(), len(listed)) if size >= _FEWEST_ON_THREADS else 1
    if threads <= 1:
        return [act(item) for item in listed]
    with ThreadPoolExecutor(threads - 1) as pool:
        futures = [pool.submit(act, item) for item in listed]
        # This thread takes what is not begun, from the end. If it only waited, the others would
        # often start on one core, and the first milliseconds would pass on that alone.
        results = [
            act(item) if future.cancel() else future.result()
            for item, future in zip(reversed(listed), reversed(futures), strict=True)
        ]
    return results[::-1]


class PairCounts(NamedTuple):
    """How often each pair of codes occurs.

    ``true`` and ``pred`` are the codes that occur, in order. ``sums`` has one row per code of the
    first and one column per code of the second: sums of weights, or numbers of pairs without
    weights. ``squares`` are the sums of squared weights, None without weights.
    """

    true: npt.NDArray[Any]
    pred: npt.NDArray[Any]
    sums: CountMatrix
    squares: CountMatrix | None


class Tally:
    """Count pairs of codes below 2**31, given piece by piece.

    Examples
    --------
    >>> tally = Tally()
    >>> tally.add(np.array([0, 7, 7]), np.array([1, 7, 7]), 8)
    >>> [part.tolist() for part in tally.counts()[:3]]
    [[0, 7], [1, 7], [[1, 0], [0, 2]]]
    """

    def __init__(self) -> None:
        # Above all codes so far.
        self._bound = 0
        self._is_dense: bool | None = None
        # The histogram of the sums, and with weights that of their squares.
        self._histograms: list[npt.NDArray[Any]] = []
        self._pending: list[tuple[Codes, Codes, Weights | None]] = []
        self._runs: list[_Run] = []
        self._total = 0.0

    def add(
        self,
        true: Codes,
        pred: Codes,
        bound: int,
        weights: Weights | None = None,
        validate: Callable[[], None] | None = None,
    ) -> None:
        """Count one piece: arrays of equal length of codes from 0 to ``bound - 1``.

        ``validate`` raises an error if weights are wrong. It may run while they are added up.
        """
        if not len(true):
            return
        self._bound = max(self._bound, bound)
        if weights is not None and weights.dtype.kind == "i":
            self._total += float(weights.sum(dtype=np.float64))
        if self._is_dense is None:
            self._is_dense = bound**2 <= _MOST_CELLS * (len(true) + 256)
        if self._is_dense and self._bound <= _WIDEST:
            self._add_to_histograms(true, pred, weights, validate)
            return
        if validate is not None:
            validate()
        self._close_histograms()
        self._is_dense = False
        self._pending.append((true, pred, weights))
        if sum(len(piece[0]) for piece in self._pending) >= _RUN:
            self._settle()

    def counts(self) -> PairCounts:
        """Return what was counted."""
        # Close to the limit a float cannot tell, so a few sums below it are refused, too.
        if self._total >= _LARGEST_TOTAL:
            raise InputError(
                "`sample_weight` must add up to less than 2**63, got more (integer overflow).",
                hint="give the weights as floats.",
            )
        self._settle()
        if not self._runs and self._histograms:
            return _of_histograms(*self._histograms)
        self._close_histograms()
        if not self._runs:
            nothing = np.zeros(0, np.int64)
            return PairCounts(nothing, nothing, np.zeros((0, 0), np.int64), None)
        return _of_run(self._runs[0] if len(self._runs) == 1 else _merged(self._runs))

    def _add_to_histograms(
        self,
        true: Codes,
        pred: Codes,
        weights: Weights | None,
        validate: Callable[[], None] | None,
    ) -> None:
        if not self._histograms:
            shape = (self._bound, self._bound)
            self._histograms = [np.zeros(shape, np.int64 if weights is None else weights.dtype)]
            if weights is not None:
                self._histograms.append(np.zeros(shape))
        elif self._bound > len(self._histograms[0]):
            # Twice as wide, since new classes often come one by one.
            more = max(self._bound, 2 * len(self._histograms[0])) - len(self._histograms[0])
            self._histograms = [np.pad(cells, (0, more)) for cells in self._histograms]
        if weights is None:
            _count(self._histograms[0], true, pred)
            return
        if weights.dtype.kind == "f":
            self._histograms[0] = self._histograms[0].astype(np.float64, copy=False)

        def add_up(squared: bool) -> None:
            # The sums take less time, so what validates the weights goes with them.
            if validate is not None and not squared:
                validate()
            _add_at(self._histograms[squared], true, pred, weights, squared=squared)

        # A thread for each, not for parts: the order of a sum changes its last digits.
        on_threads(add_up, (False, True), size=len(true))
        sums = self._histograms[0]
        if len(true) > sums.size and all(len(codes) == len(sums) for codes in _used(sums)):
            return
        # Pairs of weight zero count for nothing, but their classes occur.
        zero = weights == 0
        if zero.any():
            self._add_run(_sorted_run(true[zero], pred[zero], weights[zero]))

    def _settle(self) -> None:
        """Sort what is pending."""
        if not self._pending:
            return
        true, pred, weights = (_joined(parts) for parts in zip(*self._pending, strict=True))
        self._pending = []
        for run in _sorted_runs(true, pred, weights, self._bound):
            self._add_run(run)

    def _add_run(self, run: _Run) -> None:
        self._runs.append(run)
        # Merging runs of similar size touches each pair a logarithmic number of times.
        while len(self._runs) > 1 and 2 * len(self._runs[-1].keys) >= len(self._runs[-2].keys):
            self._runs[-2:] = [_merged(self._runs[-2:])]

    def _close_histograms(self) -> None:
        """Turn the histogram into a run of pairs."""
        if not self._histograms:
            return
        sums, *squares = self._histograms
        used = np.flatnonzero(sums)
        true, pred = np.divmod(used, len(sums))
        found = [histogram.ravel()[used] for histogram in (sums, *squares)]
        self._histograms = []
        self._runs.insert(0, _Run(_keys(true, pred), found[0], found[1] if squares else None))


def _used(sums: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the rows and the columns that are not zero everywhere."""
    # Looked at once: NumPy's `any` of numbers takes longer than comparing and `any` of bools.
    is_used = sums != 0
    return np.flatnonzero(is_used.any(axis=1)), np.flatnonzero(is_used.any(axis=0))


def _of_histograms(sums: npt.NDArray[Any], squares: npt.NDArray[Any] | None = None) -> PairCounts:
    rows, columns = _used(sums)
    if len(rows) < len(sums) or len(columns) < len(sums):
        used = np.ix_(rows, columns)
        sums, squares = sums[used], None if squares is None else squares[used]
    return PairCounts(rows, columns, sums, squares)


def _of_run(run: _Run) -> PairCounts:
    true, starts = _distinct(run.keys >> 32)
    pred, columns = distinct_integers(run.keys & 0xFFFFFFFF)
    shape = len(true), len(pred)
    ends = np.append(starts, len(run.keys))
    sums, squares = (
        None if values is None else sparse.csr_array((values, columns, ends), shape=shape)
        for values in (run.sums, run.squares)
    )
    assert sums is not None
    return PairCounts(true, pred, sums, squares)


def _joined(parts: tuple[Any, ...]) -> Any:
    if len(parts) == 1 or parts[0] is None:
        return parts[0]
    return np.concatenate(parts)


def _count(cells: npt.NDArray[np.int64], true: Codes, pred: Codes) -> None:
    """Count pairs at their cells, on threads with squares of their own where there are many."""
    size = len(true)
    if size < _FEWEST_ON_THREADS:
        _add_at(cells, true, pred)
        return
    n_parts = max(n_threads(), -(-size // _MOST_ON_A_THREAD))
    ends = np.linspace(0, size, n_parts + 1).astype(int).tolist()

    def count(part: slice) -> npt.NDArray[np.int32]:
        # Half as wide as the whole, it stays in cache longer.
        own = np.zeros(cells.shape, np.int32)
        _add_at(own, true[part], pred[part])
        return own

    for own in on_threads(count, map(slice, ends[:-1], ends[1:]), size=size):
        cells += own


def _add_at(
    cells: npt.NDArray[Any],
    true: Codes,
    pred: Codes,
    weights: Weights | None = None,
    *,
    squared: bool = False,
) -> None:
    """Add weights, their squares, or one each to the cells of a square.

    Codes must be below its side: SciPy writes wherever they say.
    """
    side, size = len(cells), len(true)
    is_index = true.dtype == pred.dtype and true.dtype in (np.int32, np.int64)
    index = true.dtype if is_index else np.dtype(np.int32)
    ones = np.ones(min(size, _CHUNK) if weights is None else 0, cells.dtype)
    # In one call where no array has to be made for it: each call waits until no other thread runs
    # Python.
    is_ready = is_index and weights is not None and weights.dtype == cells.dtype and not squared
    step = max(size, 1) if is_ready else _CHUNK
    for start in range(0, size, step):
        part = slice(start, min(start + step, size))
        rows, columns = (codes[part].astype(index, copy=False) for codes in (true, pred))
        if weights is None:
            values = ones[: part.stop - start]
        elif squared:
            values = _squared(weights[part])
        else:
            values = weights[part].astype(cells.dtype, copy=False)
        if coo_todense is None:
            np.add.at(cells, (rows, columns), values)
        else:
            coo_todense(side, side, len(rows), rows, columns, values, cells.ravel(), 0)


class _Run(NamedTuple):
    """Distinct pairs as sorted keys, with their sums."""

    keys: npt.NDArray[np.int64]
    sums: npt.NDArray[Any]
    squares: npt.NDArray[np.float64] | None


def _keys(true: Codes, pred: Codes) -> npt.NDArray[np.int64]:
    keys = true.astype(np.int64)
    keys <<= 32
    keys |= pred.astype(np.int64, copy=False)
    return keys


def _distinct(
    keys: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """Return the distinct ones of sorted numbers, and where each begins."""
    is_new = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
    starts = np.flatnonzero(is_new)
    return keys[starts], starts


def _sorted_runs(true: Codes, pred: Codes, weights: Weights | None, bound: int) -> list[_Run]:
    if weights is None:
        size = min(_RUN, -(-len(true) // n_threads()))
        parts = [slice(start, start + size) for start in range(0, len(true), size)]
        return on_threads(lambda p: _sorted_run(true[p], pred[p], None), parts, size=len(true))

    def total(values: Weights) -> sparse.coo_array:
        at = [side.astype(np.int32, copy=False) for side in (true, pred)]
        return sparse.coo_array((values, (at[0], at[1])), shape=(bound, bound)).tocsr().tocoo()

    sums, squares = on_threads(total, [weights, _squared(weights)], size=len(true))
    return [_Run(_keys(sums.row, sums.col), sums.data, squares.data)]


def _sorted_run(true: Codes, pred: Codes, weights: Weights | None) -> _Run:
    """Return how often each pair occurs; with weights, which are zero, that it does."""
    keys = _keys(true, pred)
    keys.sort()
    distinct, starts = _distinct(keys)
    if weights is not None:
        return _Run(distinct, weights[: len(starts)], np.zeros(len(starts)))
    return _Run(distinct, np.diff(starts, append=len(keys)), None)


def _merged(runs: list[_Run]) -> _Run:
    keys = np.concatenate([run.keys for run in runs])
    # A stable sort merges runs that are sorted already.
    order = np.argsort(keys, kind="stable")
    keys, starts = _distinct(keys[order])

    def total(values: list[Any]) -> npt.NDArray[Any]:
        return np.add.reduceat(np.concatenate(values)[order], starts)

    squares = [run.squares for run in runs if run.squares is not None]
    return _Run(keys, total([run.sums for run in runs]), total(squares) if squares else None)


def _squared(weights: Weights) -> npt.NDArray[np.float64]:
    # Squares that overflow are found once, at the end.
    with np.errstate(over="ignore"):
        return np.square(weights, dtype=np.float64)


def distinct_integers(
    values: npt.NDArray[Any],
) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Return distinct integers in order, and the position of each value among them."""
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values) + _CHUNK or high > np.iinfo(np.int64).max:
        return np.unique(values, return_inverse=True)
    # A table over a narrow range is many times faster than sorting.
    offsets = (values - values.dtype.type(low)).astype(np.intp)
    seen = np.zeros(high - low + 1, dtype=np.bool_)
    seen[offsets] = True
    distinct = np.flatnonzero(seen) + low
    return distinct, offsets if len(distinct) == len(seen) else (np.cumsum(seen) - 1)[offsets]
