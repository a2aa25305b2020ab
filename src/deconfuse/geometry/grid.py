"""Lay the paper's regular grid over points and number the cells that hold some.

In ten dimensions a full grid has more cells than could ever be stored, and nearly all are empty.
Only cells that hold points exist here, numbered from zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from deconfuse.errors import InputError
from deconfuse.geometry.projection import FloatArray, read_only

__all__ = ["BIN_FACTOR", "CODE_LIMIT", "Grid", "Spread", "compact_codes", "fit_grid", "grid_shifts"]

IntArray = npt.NDArray[np.int64]

BIN_FACTOR = 3.5
CODE_LIMIT = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Spread:
    """What a grid needs to know of the points: number, range and deviation per dimension."""

    count: int
    low: FloatArray
    high: FloatArray
    deviation: FloatArray

    @classmethod
    def of(cls, points: FloatArray) -> Spread:
        """Return the spread of points, of shape (n_points, n_dimensions)."""
        return cls(len(points), points.min(axis=0), points.max(axis=0), points.std(axis=0))


@dataclass(frozen=True, eq=False)
class Grid:
    r"""A regular grid of hyperrectangles over the dimensions along which points vary.

    Parameters
    ----------
    origin : ndarray of shape (n_dimensions,)
        The lower corner: the minimum of the points in each dimension.
    widths : ndarray of shape (n_dimensions,)
        The sides of a cell.
    bins : ndarray of shape (n_dimensions,)
        How many cells cover the points in each dimension.
    dimensions : ndarray of shape (n_dimensions,)
        Which columns of the points the grid divides; constant columns are left out.
    notes : tuple of str
        What had to be handled.
    """

    origin: FloatArray
    widths: FloatArray
    bins: IntArray
    dimensions: IntArray
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        for name in ("origin", "widths", "bins", "dimensions"):
            read_only(getattr(self, name))

    @property
    def n_dimensions(self) -> int:
        """Return the number of dimensions that the grid divides."""
        return len(self.widths)

    @property
    def cell_volume(self) -> float:
        """Return the volume of one cell, the paper's r: the product of its sides."""
        return float(np.prod(self.widths))

    def shifted(self, shares: FloatArray) -> Grid:
        """Return this grid moved down by a share of a cell, from 0 to 1, along each dimension."""
        return replace(self, origin=self.origin - shares * self.widths, bins=self.bins + 1)

    def positions(self, points: FloatArray) -> Iterator[IntArray]:
        """Yield, for each dimension of the grid, the bin of each point along it."""
        for index, dimension in enumerate(self.dimensions):
            steps = points[:, dimension] - self.origin[index]
            steps /= self.widths[index]
            np.floor(steps, out=steps)
            # The upper edge belongs to the last cell.
            np.clip(steps, 0, self.bins[index] - 1, out=steps)
            yield steps.astype(np.int64)

    def cells(self, points: FloatArray) -> tuple[IntArray, int]:
        """Return the cell of each point, numbered from 0, and how many cells hold points."""
        codes, limit = np.zeros(len(points), dtype=np.int64), 1
        for column, bins in zip(self.positions(points), self.bins.tolist(), strict=True):
            if limit * bins > CODE_LIMIT:
                # Renumbering what is there keeps the product of all bins out of 64 bits.
                codes, limit = compact_codes(codes)
            codes *= bins
            codes += column
            limit *= bins
        return compact_codes(codes)


def compact_codes(codes: IntArray) -> tuple[IntArray, int]:
    """Return the rank of each code among those that occur, and how many occur."""
    present, ranks = np.unique(codes, return_inverse=True)
    return ranks.astype(np.int64, copy=False), len(present)


def grid_shifts(n_shifts: int, n_dimensions: int) -> FloatArray:
    r"""Return shares of a cell by which to move a grid, spread evenly over the unit cube.

    The first row is zero. Row k is :math:`k\,(g^{-1}, \dots, g^{-d})` modulo 1, where g solves
    :math:`g^{d+1} = g + 1`: a sequence of low discrepancy, the same each time.

    Examples
    --------
    >>> grid_shifts(3, 1).round(3).tolist()
    [[0.0], [0.618], [0.236]]
    """
    base = 2.0
    for _ in range(64):
        base = (1.0 + base) ** (1.0 / (n_dimensions + 1))
    steps = base ** -np.arange(1.0, n_dimensions + 1)
    shifts: FloatArray = np.outer(np.arange(n_shifts), steps) % 1.0
    return shifts


def fit_grid(spread: Spread, bin_factor: float = BIN_FACTOR) -> Grid:
    r"""Return the paper's grid for points of a given spread, from their minimum on.

    The width along dimension k is :math:`3.5\,\sigma_k\,n^{-1/(2+m)}` (Scott 2015, equation 3.66),
    with :math:`\sigma_k` (divided by n) and n over all points and m the number of dimensions
    along which the points vary. A dimension in which all points agree puts them in one
    cell whatever its width, so it is left out, and ``notes`` says so.
    """
    varies = (spread.high > spread.low) & (spread.deviation > 0)
    dimensions = np.flatnonzero(varies)
    exponent = -1.0 / (2.0 + len(dimensions))
    widths = bin_factor * spread.deviation[varies] * float(spread.count) ** exponent
    extent = spread.high[varies] - spread.low[varies]
    bins = np.maximum(np.ceil(extent / widths), 1.0)
    if (most := float(bins.max(initial=1.0))) >= 2.0**53:
        message = (
            "A grid must have fewer than 2**53 cells along each dimension, "
            f"got {most:.3g} along dimension {int(bins.argmax())}."
        )
        raise InputError(message, hint="use a larger `bin_factor`, or look for outliers.")
    notes = _constant_notes(int((~varies).sum()), len(varies))
    grid = Grid(spread.low[varies], widths, bins.astype(np.int64), dimensions, notes)
    if not 0 < grid.cell_volume < np.inf:
        decades = float(np.log10(widths).sum())
        message = (
            "The volume of a cell must be a positive floating-point number, "
            f"got about 1e{decades:+.0f} in {grid.n_dimensions} dimensions."
        )
        raise InputError(
            message, hint="multiply the embeddings by a constant, or use a smaller `n_components`."
        )
    return grid


def _constant_notes(constant: int, total: int) -> tuple[str, ...]:
    if not constant:
        return ()
    verb = "is constant and does" if constant == 1 else "are constant and do"
    return (f"{constant} of {total} dimensions {verb} not divide the grid.",)
