"""Count points by cell, and add up the minimum of weighted histograms over cells.

One sort yields the counts; every weighting is then a reweighting of these. The overlap of a label
cluster with a prediction cluster sums minima over cells, and a cell contributes only to the
pairs of a label and a prediction that both occur in it. So the cost follows the points, where
the formula read literally costs cells times classes squared. The same counts say which cells and
samples make two clusters overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse

from deconfuse.geometry.grid import IntArray, compact_codes
from deconfuse.geometry.projection import FloatArray

__all__ = [
    "CellCounts",
    "ClusterTable",
    "PairOfClasses",
    "SharedCell",
    "minimum_overlaps",
    "rank_samples",
    "shared_cells",
]

# Pairs handled at a time: some ten temporary vectors of this length stay in the cache.
_CHUNK_PAIRS = 1 << 17
# From here on one outer minimum of a single cell beats listing its pairs.
_OUTER_PAIRS = 1 << 11


@dataclass(frozen=True, eq=False)
class ClusterTable:
    """The cells of one family of clusters (labels or predictions), sorted by cell.

    ``entry`` says to which (cell, class) each row of the counts belongs, ``offsets`` where each
    cell begins.
    """

    cell: IntArray
    group: IntArray
    offsets: IntArray
    entry: IntArray
    n_classes: int

    @classmethod
    def of(cls, cell: IntArray, group: IntArray, n_cells: int, n_classes: int) -> ClusterTable:
        """Return the table of the (cell, class) pairs that occur."""
        present, entry = np.unique(cell * n_classes + group, return_inverse=True)
        cells = present // n_classes
        offsets = np.searchsorted(cells, np.arange(n_cells + 1)).astype(np.int64)
        return cls(cells, present % n_classes, offsets, entry, n_classes)

    def heights(self, amounts: FloatArray) -> FloatArray:
        """Return the height of each bar: amounts of the rows of the counts, added up."""
        sums = np.bincount(self.entry, weights=amounts, minlength=len(self.cell))
        return sums.astype(np.float64, copy=False)

    def totals(self, amounts: FloatArray) -> FloatArray:
        """Return the heights of all bars of each class, added up."""
        sums = np.bincount(self.group, weights=self.heights(amounts), minlength=self.n_classes)
        return sums.astype(np.float64, copy=False)

    @property
    def sizes(self) -> IntArray:
        """Return how many classes each cell holds."""
        return np.diff(self.offsets)


@dataclass(frozen=True, eq=False)
class CellCounts:
    """How many points each (cell, true class, predicted class) that occurs holds."""

    cell: IntArray
    true: IntArray
    pred: IntArray
    count: IntArray
    n_cells: int
    n_classes: int

    @classmethod
    def of(
        cls, cells: IntArray, n_cells: int, true: IntArray, pred: IntArray, n_classes: int
    ) -> CellCounts:
        """Count points, given as three integers each."""
        pairs, n_pairs = true * n_classes + pred, n_classes * n_classes
        seen = None
        if n_cells * n_pairs >= 2**63:
            seen = np.unique(pairs)
            pairs, n_pairs = compact_codes(pairs)
        present, count = np.unique(cells * n_pairs + pairs, return_counts=True)
        pair = present % n_pairs
        if seen is not None:
            pair = seen[pair]
        return cls(
            present // n_pairs, pair // n_classes, pair % n_classes, count, n_cells, n_classes
        )

    @cached_property
    def label_table(self) -> ClusterTable:
        """Return the cells of the label clusters."""
        return ClusterTable.of(self.cell, self.true, self.n_cells, self.n_classes)

    @cached_property
    def prediction_table(self) -> ClusterTable:
        """Return the cells of the prediction clusters."""
        return ClusterTable.of(self.cell, self.pred, self.n_cells, self.n_classes)

    @property
    def n_pairs(self) -> int:
        """Return how many minima one overlap matrix takes."""
        return int((self.label_table.sizes * self.prediction_table.sizes).sum())

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the distinct (true, pred) pairs, and which of them each row of the counts is."""
        present, index = np.unique(self.true * self.n_classes + self.pred, return_inverse=True)
        return present // self.n_classes, present % self.n_classes, index


def minimum_overlaps(
    counts: CellCounts, amounts: list[FloatArray], *, sparse: bool = False
) -> list[FloatArray | scipy.sparse.csr_array]:
    r"""Return :math:`\sum_v \min(H_i(v), \hat H_j(v))` for several weightings at once.

    ``amounts`` has the weight of each row of ``counts``, once a weighting; each gives a matrix with
    true classes on rows, sparse where the classes are too many for a dense one.
    """
    labels, predictions = counts.label_table, counts.prediction_table
    label_heights = np.stack([labels.heights(amount) for amount in amounts])
    prediction_heights = np.stack([predictions.heights(amount) for amount in amounts])
    sums = _SparseSums(counts.n_classes) if sparse else _DenseSums(counts.n_classes, len(amounts))
    is_large = labels.sizes * predictions.sizes > _OUTER_PAIRS
    for left, right in _pair_chunks(labels, predictions, is_large):
        minima = np.minimum(label_heights[:, left], prediction_heights[:, right])
        sums.add(labels.group[left], predictions.group[right], minima)
    for cell in np.flatnonzero(is_large):
        rows = slice(labels.offsets[cell], labels.offsets[cell + 1])
        columns = slice(predictions.offsets[cell], predictions.offsets[cell + 1])
        minima = np.minimum(label_heights[:, rows, None], prediction_heights[:, None, columns])
        sums.add_block(labels.group[rows], predictions.group[columns], minima)
    return sums.finish()


def _pair_chunks(
    labels: ClusterTable,
    predictions: ClusterTable,
    is_large: npt.NDArray[np.bool_],
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield, in bounded chunks, the entries of both tables that share a (not large) cell."""
    partners = np.where(is_large, 0, predictions.sizes)[labels.cell]
    ends = np.cumsum(partners)
    first_partner = predictions.offsets[labels.cell]
    start = 0
    while start < len(partners):
        done = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, done + _CHUNK_PAIRS, side="right"))
        stop = max(stop, start + 1)
        repeats = partners[start:stop]
        left = np.repeat(np.arange(start, stop), repeats)
        shift = first_partner[start:stop] - (ends[start:stop] - repeats - done)
        right = np.arange(len(left)) + np.repeat(shift, repeats)
        if len(left):
            yield left, right
        start = stop


class _DenseSums:
    """Sums by (true, pred) in dense matrices."""

    def __init__(self, n_classes: int, n_matrices: int) -> None:
        self._n_classes = n_classes
        self._totals = np.zeros((n_matrices, n_classes, n_classes))

    def add(self, true: IntArray, pred: IntArray, minima: FloatArray) -> None:
        keys = true * self._n_classes + pred
        flat = self._totals.reshape(len(self._totals), -1)
        for total, values in zip(flat, minima, strict=True):
            if len(total) <= 4 * len(keys):
                np.add(total, np.bincount(keys, values, minlength=len(total)), out=total)
            else:
                np.add.at(total, keys, values)

    def add_block(self, true: IntArray, pred: IntArray, minima: FloatArray) -> None:
        # Within one cell each class occurs once, so no position is written twice.
        self._totals[:, true[:, None], pred[None, :]] += minima

    def finish(self) -> list[FloatArray | scipy.sparse.csr_array]:
        return list(self._totals)


class _SparseSums:
    """Sums by (true, pred) that keep only the pairs which occur."""

    def __init__(self, n_classes: int) -> None:
        self._n_classes = n_classes
        self._keys: list[IntArray] = []
        self._values: list[FloatArray] = []

    def add(self, true: IntArray, pred: IntArray, minima: FloatArray) -> None:
        keys, ranks = np.unique(true * self._n_classes + pred, return_inverse=True)
        sums = [np.bincount(ranks, weights=values, minlength=len(keys)) for values in minima]
        self._keys.append(keys)
        self._values.append(np.stack(sums))
        # Merging now and then bounds memory by the result, not by the number of chunks.
        if sum(map(len, self._keys)) > 4 * len(self._keys[0]) + 1_000_000:
            self._merge()

    def add_block(self, true: IntArray, pred: IntArray, minima: FloatArray) -> None:
        rows, columns = np.repeat(true, len(pred)), np.tile(pred, len(true))
        self.add(rows, columns, minima.reshape(len(minima), -1))

    def _merge(self) -> None:
        keys, ranks = np.unique(np.concatenate(self._keys), return_inverse=True)
        values = np.concatenate(self._values, axis=1)
        sums = [np.bincount(ranks, weights=row, minlength=len(keys)) for row in values]
        self._keys, self._values = [keys], [np.stack(sums)]

    def finish(self) -> list[FloatArray | scipy.sparse.csr_array]:
        self._merge()
        shape = (self._n_classes, self._n_classes)
        position = np.divmod(self._keys[0], self._n_classes)
        return [
            scipy.sparse.csr_array((values, position), shape=shape) for values in self._values[0]
        ]


@dataclass(frozen=True)
class SharedCell:
    """One cell in which a label and a prediction both occur.

    Parameters
    ----------
    cell : int
        Its number, as in ``binning.cells``.
    share : float
        The part of the pair's overlap that this cell makes; all parts add up to one.
    label_height, prediction_height : float
        The heights of the two bars; the lower one counts.
    n_samples : int
        Samples of the label, or predicted so, in the cell.
    """

    cell: int
    share: float
    label_height: float
    prediction_height: float
    n_samples: int


@dataclass(frozen=True)
class PairOfClasses:
    """A true and a predicted class by position, and the weight of each row of the counts."""

    true: int
    pred: int
    amounts: FloatArray


def shared_cells(counts: CellCounts, pair: PairOfClasses) -> list[SharedCell]:
    """Return the cells that hold both clusters, those with the most overlap first."""
    label_cells, label_heights = _bars(counts.label_table, pair.true, pair.amounts)
    pred_cells, pred_heights = _bars(counts.prediction_table, pair.pred, pair.amounts)
    cells, left, right = np.intersect1d(
        label_cells, pred_cells, assume_unique=True, return_indices=True
    )
    lower, upper = label_heights[left], pred_heights[right]
    minima = np.minimum(lower, upper)
    total = float(minima.sum())
    of_pair = (counts.true == pair.true) | (counts.pred == pair.pred)
    samples = np.bincount(
        counts.cell[of_pair], weights=counts.count[of_pair], minlength=counts.n_cells
    )
    return [
        SharedCell(
            int(cells[k]),
            float(minima[k]) / total if total > 0 else 0.0,
            float(lower[k]),
            float(upper[k]),
            int(samples[cells[k]]),
        )
        for k in np.lexsort((cells, -minima))
    ]


def rank_samples(
    shared: list[SharedCell], cells: IntArray, true: IntArray, pred: IntArray, pair: PairOfClasses
) -> IntArray:
    """Return the samples of the pair in its shared cells, most telling first.

    Cells with more overlap come first. Within a cell the confused samples (true and predicted class
    both those of the pair) come before the ones beside them; then the order of the samples.
    """
    place = np.full(int(cells.max()) + 1, len(shared), dtype=np.int64)
    place[[item.cell for item in shared]] = np.arange(len(shared))
    is_true, is_pred = true == pair.true, pred == pair.pred
    candidates = np.flatnonzero((is_true | is_pred) & (place[cells] < len(shared)))
    confused = is_true[candidates] & is_pred[candidates]
    order = np.lexsort((candidates, ~confused, place[cells[candidates]]))
    return candidates[order]


def _bars(table: ClusterTable, group: int, amounts: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the cells of one cluster and the heights of its bars."""
    mine = table.group == group
    return table.cell[mine], table.heights(amounts)[mine]
