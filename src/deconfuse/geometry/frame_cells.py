"""Describe, as narwhals expressions, the grid cell of every point of a frame."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import narwhals as nw
import numpy as np

from deconfuse.errors import InputError
from deconfuse.geometry.frame_moments import frame_moments, unusable
from deconfuse.geometry.gcm import ProjectionChoice
from deconfuse.geometry.grid import CODE_LIMIT, Grid, Spread, fit_grid
from deconfuse.geometry.projection import FloatArray, Projection
from deconfuse.reading.engine_tables import collect

__all__ = ["COUNT", "PRED", "TRUE", "GridOptions", "LocatedPoints", "locate"]

# Names of ours for the columns of classes and of counts.
TRUE, PRED, COUNT = "true", "pred", "n"


@dataclass(frozen=True, eq=False)
class GridOptions:
    n_components: int
    bin_factor: float
    projection: ProjectionChoice


@dataclass(frozen=True, eq=False)
class LocatedPoints:
    """The cell, label and prediction of each point, not yet computed, and the grid behind them."""

    cells: nw.LazyFrame[Any]
    codes: list[str]
    grid: Grid
    projection: Projection | None

    @property
    def notes(self) -> tuple[str, ...]:
        return (() if self.projection is None else self.projection.notes) + self.grid.notes

    def counts(self) -> nw.LazyFrame[Any]:
        """Return how many points each (cell, label, prediction) that occurs holds."""
        return self.cells.group_by(*self.codes, TRUE, PRED).agg(nw.len().alias(COUNT))


def locate(
    points: nw.LazyFrame[Any], names: list[str], total: int, options: GridOptions
) -> LocatedPoints:
    """Project, lay the grid, and describe the cell of each point."""
    if total < 2:
        raise InputError(
            f"`frame` must hold at least two points, got {total}.",
            hint="overlap is a property of many points: pass a test set.",
        )
    projection = options.projection
    if projection == "pca":
        projection = Projection.from_moments(frame_moments(points, names), options.n_components)
    coordinates, axes = points, names
    if projection is not None:
        coordinates, axes = _project(points, names, projection)
    grid = fit_grid(_spread(coordinates, axes, points, names, total), options.bin_factor)
    cells, codes = _cells(coordinates, [axes[k] for k in grid.dimensions], grid)
    return LocatedPoints(cells, codes, grid, projection)


def _project(
    points: nw.LazyFrame[Any], names: list[str], projection: Projection
) -> tuple[nw.LazyFrame[Any], list[str]]:
    if len(names) != projection.n_features:
        raise InputError(
            f"The projection takes points with {projection.n_features} features, got {len(names)}.",
            hint="project embeddings of the layer it was fitted on.",
        )
    axes = [f"z{k}" for k in range(projection.n_components)]
    shifts = zip(names, projection.mean.tolist(), strict=True)
    centred = points.select(
        nw.col(TRUE), nw.col(PRED), *((nw.col(name) - mean).alias(name) for name, mean in shifts)
    )
    sums = []
    for axis, weights in zip(axes, projection.axes.T, strict=True):
        terms = [nw.col(name) * float(w) for name, w in zip(names, weights, strict=True)]
        sums.append(_sum(terms).alias(axis))
    return centred.select(nw.col(TRUE), nw.col(PRED), *sums), axes


def _sum(terms: list[nw.Expr]) -> nw.Expr:
    """Add terms up pairwise: engines refuse expressions nested as deep as embeddings are wide."""
    while len(terms) > 1:
        pairs = [terms[k : k + 2] for k in range(0, len(terms), 2)]
        terms = [reduce(lambda one, other: one + other, pair) for pair in pairs]
    return terms[0]


def _spread(
    coordinates: nw.LazyFrame[Any],
    axes: list[str],
    points: nw.LazyFrame[Any],
    names: list[str],
    total: int,
) -> Spread:
    if not axes:
        return Spread(total, np.empty(0), np.empty(0), np.empty(0))
    wanted = []
    for axis in axes:
        column = nw.col(axis)
        wanted += [
            column.min().alias(f"{axis}_low"),
            column.max().alias(f"{axis}_high"),
            column.std(ddof=0).alias(f"{axis}_deviation"),
            column.count().alias(f"{axis}_count"),
        ]
    found = collect(coordinates.select(*wanted))

    def values(kind: str) -> FloatArray:
        cells = [found[f"{axis}_{kind}"].to_list()[0] for axis in axes]
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)

    spread = Spread(total, values("low"), values("high"), values("deviation"))
    numbers = np.stack([spread.low, spread.high, spread.deviation])
    if not np.isfinite(numbers).all() or (values("count") != total).any():
        raise unusable(points, names)
    return spread


def _cells(
    coordinates: nw.LazyFrame[Any], axes: list[str], grid: Grid
) -> tuple[nw.LazyFrame[Any], list[str]]:
    """Return the cell of each row as one integer, or as several where 64 bits do not suffice."""
    codes: list[nw.Expr] = []
    limit = CODE_LIMIT + 1
    for k, axis in enumerate(axes):
        bins = int(grid.bins[k])
        steps = (nw.col(axis) - float(grid.origin[k])) / float(grid.widths[k])
        # The upper edge belongs to the last cell.
        position = steps.floor().clip(0.0, float(bins - 1)).cast(nw.Int64())
        if limit * bins > CODE_LIMIT:
            codes.append(position)
            limit = bins
        else:
            codes[-1] = codes[-1] * bins + position
            limit *= bins
    if not codes:
        codes.append(nw.lit(0))
    names = [f"cell{k}" for k in range(len(codes))]
    named = [code.alias(name) for code, name in zip(codes, names, strict=True)]
    return coordinates.select(nw.col(TRUE), nw.col(PRED), *named), names
