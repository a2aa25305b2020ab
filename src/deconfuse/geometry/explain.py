"""Find the cells and samples that make a label and a prediction cluster overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfuse.geometry.grid import IntArray
from deconfuse.geometry.histogram import CellCounts, ClusterTable
from deconfuse.geometry.projection import FloatArray

__all__ = ["PairOfClasses", "SharedCell", "rank_samples", "shared_cells"]


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
