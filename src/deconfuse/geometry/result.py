"""What a geometric comparison returns: the matrix, the volumes, and what explains them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from deconfuse._checks import Label
from deconfuse.classes import Classes
from deconfuse.errors import InputError
from deconfuse.geometry.grid import Grid, IntArray
from deconfuse.geometry.histogram import (
    CellCounts,
    PairOfClasses,
    SharedCell,
    minimum_overlaps,
    rank_samples,
    shared_cells,
)
from deconfuse.geometry.projection import FloatArray, Projection, read_only
from deconfuse.normalization import Normalized
from deconfuse.reading.sequences import positions_of

__all__ = ["Binning", "GeometricConfusion", "Place", "confusions_of"]


@dataclass(frozen=True, eq=False)
class Place:
    """The grid that points are counted on, and the projection that leads there."""

    grid: Grid
    projection: Projection | None

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what projection and grid had to handle."""
        return (() if self.projection is None else self.projection.notes) + self.grid.notes


@dataclass(frozen=True, eq=False)
class Binning(Place):
    """Where each sample went: its cell and its two classes, as positions in ``labels``."""

    cells: IntArray
    true: IntArray
    pred: IntArray
    counts: CellCounts

    def __post_init__(self) -> None:
        for array in (self.cells, self.true, self.pred):
            read_only(array)


@dataclass(frozen=True, eq=False)
class GeometricConfusion:
    r"""How much the clusters of labels and of predictions overlap, under one weighting.

    Parameters
    ----------
    matrix : ndarray of shape (n_classes, n_classes), or csr_array where the classes are many
        The overlap of label cluster i (row) and prediction cluster j (column):
        :math:`r \sum_v \min(H_i(v), \hat H_j(v))`, or its mean over several grids.
    cell_volume : float
        The volume r of a grid cell.
    label_volumes, prediction_volumes : ndarray of shape (n_classes,)
        The volume of each cluster's weighted histogram.
    n_cells : int
        How many cells hold points.
    labels : tuple
        Class names, in matrix order.
    weighting : str
        The normalization whose weights were used.
    normalized : Normalized
        Its diagonals: a point weighs ``left[true] * right[pred]``.
    grid : Grid
        Lower corner, cell sides and number of bins a dimension.
    projection : Projection or None
        The principal components, with the variance that they explain; None where the coordinates
        were used as given.
    binning : Binning or None
        The cell of each sample; None where the points stayed in an engine.
    notes : tuple of str
        What had to be handled: fewer components than asked for, constant dimensions.

    Notes
    -----
    Lemma 2 of the paper: the volume of a cluster is r times the sum of its points' weights. So with
    ``"row"`` weights every label cluster has volume r, with ``"col"`` weights every
    prediction cluster, with ``"bi"`` weights both (up to epsilon). ``matrix / cell_volume`` is on
    the scale of the normalized confusion matrix.
    """

    matrix: FloatArray | scipy.sparse.csr_array
    cell_volume: float
    label_volumes: FloatArray
    prediction_volumes: FloatArray
    n_cells: int
    labels: tuple[Label, ...]
    weighting: str
    normalized: Normalized
    grid: Grid
    projection: Projection | None = None
    binning: Binning | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        values = self.matrix.data if scipy.sparse.issparse(self.matrix) else self.matrix
        for array in (values, self.label_volumes, self.prediction_volumes):
            read_only(np.asarray(array))

    def shared_samples(self, true: Any, pred: Any, limit: int | None = None) -> IntArray:
        """Return the samples that make two clusters overlap, the most telling first.

        Parameters
        ----------
        true, pred : class names
            The label cluster and the prediction cluster.
        limit : int, optional
            Return at most so many.

        Returns
        -------
        ndarray of int
            Positions in the arrays given. They are the samples with the label ``true`` or the
            prediction ``pred`` in cells where both occur: cells with more overlap first,
            within a cell the samples that have both first.

        Examples
        --------
        >>> import deconfuse as dc
        >>> points = [[0.0], [0.1], [0.2], [1.9], [2.0], [2.1]]
        >>> g = dc.geometric_confusion(points, list("aaabbb"), list("aababb"), n_components=1)
        >>> g.shared_samples("a", "b").tolist()
        [2, 0, 1]
        """
        binning, pair = self._pair(true, pred)
        cells = shared_cells(binning.counts, pair)
        samples = rank_samples(cells, binning.cells, binning.true, binning.pred, pair)
        return samples if limit is None else samples[:limit]

    def shared_cells(self, true: Any, pred: Any) -> list[SharedCell]:
        """Return the cells in which two clusters overlap, those with the most overlap first.

        Parameters
        ----------
        true, pred : class names
            The label cluster and the prediction cluster.

        Returns
        -------
        list of SharedCell
            Number, share of the overlap, both heights and number of samples of each cell.

        Examples
        --------
        >>> import deconfuse as dc
        >>> points = [[0.0], [0.1], [0.2], [1.9], [2.0], [2.1]]
        >>> g = dc.geometric_confusion(
        ...     points, list("aaabbb"), list("aababb"), weighting="row", n_components=1
        ... )
        >>> [(cell.cell, cell.share, cell.n_samples) for cell in g.shared_cells("a", "b")]
        [(0, 1.0, 3)]
        """
        binning, pair = self._pair(true, pred)
        return shared_cells(binning.counts, pair)

    def _pair(self, true: Any, pred: Any) -> tuple[Binning, PairOfClasses]:
        if self.binning is None:
            message = "The cell of each sample must be in memory, got a result from an engine."
            raise InputError(message, hint="use `geometric_confusion` on the samples in question.")
        row, column = (
            int(positions_of([value], Classes.of(self.labels), name=name)[0])
            for value, name in ((true, "true"), (pred, "pred"))
        )
        amounts = _pair_amounts(self.binning.counts, self.normalized)
        return self.binning, PairOfClasses(row, column, amounts)

    def __repr__(self) -> str:
        return (
            f"<GeometricConfusion {self.weighting!r} of {len(self.labels):,} classes, "
            f"{self.n_cells:,} cells in {self.grid.n_dimensions} dimensions>"
        )


def confusions_of(
    slices: Iterable[CellCounts], weightings: Mapping[str, Normalized], place: Place
) -> dict[str, GeometricConfusion]:
    """Return one Geometric Confusion Matrix per weighting.

    ``slices`` are the counts by cell, each cell in one of them; ``place`` is where they were
    counted.
    """
    sparse = any(item.source.is_sparse for item in weightings.values())
    n_cells = 0
    overlaps: list[Any] = [0.0] * len(weightings)
    labels, predictions = overlaps.copy(), overlaps.copy()
    for counts in slices:
        n_cells += counts.n_cells
        amounts = [_pair_amounts(counts, item) for item in weightings.values()]
        for k, overlap in enumerate(minimum_overlaps(counts, amounts, sparse=sparse)):
            overlaps[k] = overlaps[k] + overlap
            labels[k] = labels[k] + counts.label_table.totals(amounts[k])
            predictions[k] = predictions[k] + counts.prediction_table.totals(amounts[k])
        # Before the next slice is made.
        del counts, amounts
    volume = place.grid.cell_volume
    return {
        name: GeometricConfusion(
            matrix=overlaps[k] * volume,
            cell_volume=volume,
            label_volumes=volume * labels[k],
            prediction_volumes=volume * predictions[k],
            n_cells=n_cells,
            labels=item.labels,
            weighting=name,
            normalized=item,
            grid=place.grid,
            projection=place.projection,
            binning=place if isinstance(place, Binning) else None,
            notes=place.notes,
        )
        for k, (name, item) in enumerate(weightings.items())
    }


def _pair_amounts(counts: CellCounts, normalized: Normalized) -> FloatArray:
    """Return the weight of each row of the counts: that of its classes times its points."""
    true, pred, index = counts.pairs
    amounts: FloatArray = _weights(normalized, true, pred)[index] * counts.count
    return amounts


def _weights(normalized: Normalized, true: Any, pred: Any) -> FloatArray:
    """Return the weight of a point of each pair of classes, given by position."""
    weights = normalized.weights_at(true, pred)
    bad = np.flatnonzero(~np.isfinite(weights))
    if len(bad):
        names = normalized.labels
        message = (
            "`weighting` must have a finite weight for every pair of classes that occurs, got none "
            f"for true {names[true[bad[0]]]!r}, predicted {names[pred[bad[0]]]!r}."
        )
        raise InputError(message, hint="normalize with an epsilon above 0.")
    return weights
