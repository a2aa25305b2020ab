"""Project the points of a frame and find their grid cells inside its engine, by narwhals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations_with_replacement
from typing import Any

import narwhals as nw
import numpy as np
from threadpoolctl import threadpool_limits

from deconfuse.errors import InputError
from deconfuse.geometry.gcm import GridOptions
from deconfuse.geometry.grid import CODE_LIMIT, Grid, Spread, fit_grid
from deconfuse.geometry.projection import FloatArray, Moments, Projection
from deconfuse.geometry.result import Place
from deconfuse.reading.engine_batches import as_block, batches, can_stream, collect

__all__ = ["COUNT", "PRED", "TRUE", "LocatedPoints", "locate"]

# Sums asked for at once: engines that compile a query take long over thousands.
_SUMS = 256
# Names of ours for the columns of classes and of counts.
TRUE, PRED, COUNT = "true", "pred", "n"


@dataclass(frozen=True, eq=False)
class LocatedPoints(Place):
    """The cell, label and prediction of each point, not yet computed, and the grid behind them."""

    cells: nw.LazyFrame[Any]
    codes: list[str]

    def part(self, index: int, n_parts: int) -> LocatedPoints:
        """Return the points of some cells, so that each cell is in one of so many parts."""
        if n_parts == 1:
            return self
        is_in = nw.col(self.codes[0]) % n_parts == index
        return replace(self, cells=self.cells.filter(is_in))

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
        projection = Projection.from_moments(_moments(points, names), options.n_components)
    coordinates, axes = points, names
    if projection is not None:
        coordinates, axes = _project(points, names, projection)
    grid = fit_grid(_spread(coordinates, axes, points, names, total), options.bin_factor)
    cells, codes = _cells(coordinates, [axes[k] for k in grid.dimensions], grid)
    return LocatedPoints(grid, projection, cells, codes)


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
        raise _unusable(points, names)
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


def _moments(points: nw.LazyFrame[Any], names: list[str]) -> Moments:
    """Return number, mean and scatter of the rows of some columns of floats.

    An engine in this process hands over batches, which numpy adds up; elsewhere the data stay
    where they are and the engine computes sums.
    """
    columns = points.select(*(nw.col(name) for name in names))
    # Values that are not finite show in the result.
    with np.errstate(invalid="ignore", over="ignore"):
        if can_stream(columns):
            # The engine uses all cores meanwhile: threads of BLAS would wait for each other.
            with threadpool_limits(1, user_api="blas"):
                blocks = (as_block(batch) for batch in batches(columns) if len(batch))
                moments = Moments.total(Moments.of(block) for block in blocks)
        else:
            moments = _by_sums(columns, names)
    if moments is None or not (
        np.isfinite(moments.scatter).all() and np.isfinite(moments.mean).all()
    ):
        raise _unusable(points, names)
    return moments


def _unusable(points: nw.LazyFrame[Any], names: list[str]) -> InputError:
    """Return an error that says how many values are missing or not finite, and in which column.

    ``names`` are our names of the columns, in the order of the embedding.
    """
    finite = [nw.col(name).is_finite().cast(nw.Int64()).alias(name) for name in names]
    sums = [nw.col(name).sum().alias(name) for name in names]
    found = collect(points.select(*finite).select(nw.len().alias("rows"), *sums))
    total = int(found["rows"].to_list()[0])
    for position, name in enumerate(names):
        bad = total - int(found[name].to_list()[0] or 0)
        if bad:
            return InputError(
                f"The embedding must be finite, got {bad:,} missing, NaN or infinite values"
                f" in dimension {position}.",
                hint="leave these rows out, or find out where they come from.",
            )
    return InputError(
        "The variance of the embeddings must be a finite number, got values too large for it.",
        hint="divide the embeddings by a constant; cells do not change.",
    )


def _by_sums(columns: nw.LazyFrame[Any], names: list[str]) -> Moments | None:
    """Let the engine add up: first means, then products of the centred columns."""
    means = [nw.col(name).mean().alias(name) for name in names]
    present = [nw.col(name).count().alias(f"{name}_count") for name in names]
    first = collect(columns.select(nw.len().alias("rows"), *means, *present))
    count = int(first["rows"].to_list()[0])
    mean = np.array([first[name].to_list()[0] for name in names], dtype=np.float64)
    if not np.isfinite(mean).all() or any(
        first[f"{name}_count"].to_list()[0] < count for name in names
    ):
        return None
    shifts = zip(names, mean.tolist(), strict=True)
    centred = columns.select(*((nw.col(name) - value).alias(name) for name, value in shifts))
    scatter = np.empty((len(names), len(names)))
    pairs = list(combinations_with_replacement(range(len(names)), 2))
    for start in range(0, len(pairs), _SUMS):
        some = pairs[start : start + _SUMS]
        products = centred.select(
            *((nw.col(names[i]) * nw.col(names[j])).alias(f"p{i}_{j}") for i, j in some)
        )
        found = collect(products.select(*(nw.col(f"p{i}_{j}").sum() for i, j in some)))
        for i, j in some:
            scatter[i, j] = scatter[j, i] = found[f"p{i}_{j}"].to_list()[0]
    return Moments(count, mean, scatter)
