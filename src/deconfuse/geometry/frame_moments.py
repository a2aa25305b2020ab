"""Moments of an embedding in a frame, by one pass of its engine.

Engines in this process hand over batches; Dask and Spark compute the moments of each partition
where it is; elsewhere they are sums that the engine aggregates. All give the same moments to
rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import combinations_with_replacement
from typing import Any

import narwhals as nw
import numpy as np

from deconfuse.errors import InputError
from deconfuse.geometry.projection import Moments
from deconfuse.reading.engine_tables import batches, can_stream, collect

__all__ = ["frame_moments", "refuse_unusable"]

# Sums asked for at once: engines that compile a query choke on thousands.
_SUMS = 256


def frame_moments(points: nw.LazyFrame[Any], names: list[str]) -> Moments:
    """Return number, mean and scatter of the rows of some columns of floats."""
    columns = points.select(*(nw.col(name) for name in names))
    # Values that are not finite show in the result, and are named from there.
    with np.errstate(invalid="ignore", over="ignore"):
        if can_stream(columns):
            moments = Moments.total(Moments.of(batch) for batch in batches(columns) if len(batch))
        elif columns.implementation.is_dask():
            moments = _by_partition(columns)
        elif columns.implementation.is_pyspark() and find_spec("pyarrow") is not None:
            moments = _by_spark_task(columns, names)
        else:
            moments = _by_sums(columns, names)
    if moments is None or moments.count < 2:
        count = 0 if moments is None else moments.count
        raise InputError(
            f"A projection must be fitted to at least two rows, got {count}.",
            hint="use more rows for it, or none in particular.",
        )
    if not np.isfinite(moments.scatter).all() or not np.isfinite(moments.mean).all():
        refuse_unusable(points, names)
    return moments


def refuse_unusable(points: nw.LazyFrame[Any], names: list[str]) -> None:
    """Raise an error that says how many values are missing or not finite, and in which column.

    ``names`` are our names of the columns, in the order of the embedding.
    """
    missing = [nw.col(name).is_null().cast(nw.Int64()).alias(f"{name}_m") for name in names]
    wrong = [(~nw.col(name).is_finite()).cast(nw.Int64()).alias(f"{name}_w") for name in names]
    flags = points.select(*missing, *wrong)
    sums = [nw.col(f"{name}_{kind}").sum() for name in names for kind in "mw"]
    found = collect(flags.select(*sums))
    for position, name in enumerate(names):
        null, bad = (int(found[f"{name}_{kind}"].to_list()[0] or 0) for kind in "mw")
        if null or bad:
            # pandas and Dask count a missing value as both.
            bad = max(bad - null, 0) if points.implementation.is_dask() else bad
            raise InputError(
                f"The embedding must be finite, got {null:,} missing and {bad:,} NaN or infinite"
                f" values in dimension {position}.",
                hint="leave these rows out, or find out where they come from.",
            )
    raise InputError(
        "The variance of the embeddings must be a finite number, got values too large for it.",
        hint="divide the embeddings by a constant; cells do not change.",
    )


def _by_partition(columns: nw.LazyFrame[Any]) -> Moments | None:
    from dask.base import compute
    from dask.delayed import delayed

    parts = columns.to_native().to_delayed()
    moments = [delayed(_of_partition)(part) for part in parts]
    found = compute(*moments)  # type: ignore[no-untyped-call]
    return Moments.total(part for part in found if part is not None)


def _of_partition(part: Any) -> Moments | None:
    values = part.to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(invalid="ignore", over="ignore"):
        return Moments.of(values) if len(values) else None


def _by_spark_task(columns: nw.LazyFrame[Any], names: list[str]) -> Moments | None:
    """Let each task reduce its rows to moments, in numpy: thousands of sums are slow to compile.

    Workers whose Python lacks numpy or pyarrow do the sums after all.
    """
    from pyspark.errors import PythonException

    width = len(names)

    # Spark sends a function inside a function by value, so workers need numpy and pyarrow alone;
    # that is also why this repeats `Moments` instead of using it.
    def reduce_rows(batches: Iterator[Any]) -> Iterator[Any]:
        import numpy as np
        import pyarrow as pa

        count, mean, scatter = 0, np.zeros(width), np.zeros((width, width))
        with np.errstate(invalid="ignore", over="ignore"):
            for batch in batches:
                if not batch.num_rows:
                    continue
                rows = np.stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])
                rows = rows.astype(np.float64, copy=False)
                centre = rows.mean(axis=1)
                rows -= centre[:, None]
                gap, total = centre - mean, count + batch.num_rows
                mean = mean + gap * (batch.num_rows / total)
                scatter += rows @ rows.T + np.outer(gap, gap) * (count * batch.num_rows / total)
                count = total
        values = [[count], [mean.tolist()], [scatter.ravel().tolist()]]
        yield pa.RecordBatch.from_arrays([pa.array(value) for value in values], names=fields)

    fields = ["rows", "mean", "scatter"]
    schema = "rows long, mean array<double>, scatter array<double>"
    try:
        parts = columns.to_native().mapInArrow(reduce_rows, schema).collect()
    except PythonException as error:
        if "ModuleNotFoundError" not in str(error):
            raise
        return _by_sums(columns, names)
    return Moments.total(
        Moments(part["rows"], np.array(part["mean"]), np.reshape(part["scatter"], (width, width)))
        for part in parts
        if part["rows"]
    )


def _by_sums(columns: nw.LazyFrame[Any], names: list[str]) -> Moments | None:
    """Let the engine add up: first means, then products of the centred columns."""
    sums = [nw.col(name).mean().alias(name) for name in names]
    first = collect(columns.select(nw.len().alias("rows"), *sums))
    count = int(first["rows"].to_list()[0])
    if not count:
        return None
    mean = np.array([first[name].to_list()[0] for name in names], dtype=np.float64)
    present = collect(columns.select(*(nw.col(name).count().alias(name) for name in names)))
    if not np.isfinite(mean).all() or any(present[name].to_list()[0] < count for name in names):
        refuse_unusable(columns, names)
    centred = columns.select(
        *(
            (nw.col(name) - float(value)).alias(name)
            for name, value in zip(names, mean, strict=True)
        )
    )
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
