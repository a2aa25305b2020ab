"""Compute mean and scatter of an embedding in its engine, in one or few passes."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import narwhals as nw
import numpy as np

from deconfuse.errors import InputError
from deconfuse.geometry.projection import Moments
from deconfuse.reading.engine_tables import batches, can_stream, collect

__all__ = ["frame_moments", "unusable"]

# Sums asked for at once: engines that compile a query take long over thousands.
_SUMS = 256


def frame_moments(points: nw.LazyFrame[Any], names: list[str]) -> Moments:
    """Return number, mean and scatter of the rows of some columns of floats.

    An engine in this process hands over batches, which numpy adds up; elsewhere the data stay
    where they are and the engine computes sums.
    """
    columns = points.select(*(nw.col(name) for name in names))
    # Values that are not finite show in the result.
    with np.errstate(invalid="ignore", over="ignore"):
        if can_stream(columns):
            moments = Moments.total(Moments.of(batch) for batch in batches(columns) if len(batch))
        else:
            moments = _by_sums(columns, names)
    if moments is None or not (
        np.isfinite(moments.scatter).all() and np.isfinite(moments.mean).all()
    ):
        raise unusable(points, names)
    return moments


def unusable(points: nw.LazyFrame[Any], names: list[str]) -> InputError:
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
