"""Counts by cell in an engine to overlaps: weigh, group by either class, join on the cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse

from deconfuse.confusion import ConfusionMatrix
from deconfuse.geometry.frame_cells import COUNT, PRED, TRUE, LocatedCounts
from deconfuse.geometry.projection import FloatArray
from deconfuse.geometry.result import GeometricConfusion
from deconfuse.normalization import Normalized
from deconfuse.reading.engine_tables import collect, kept, small_table

__all__ = ["join_overlaps"]


def join_overlaps(
    located: LocatedCounts, cm: ConfusionMatrix, weightings: Mapping[str, Normalized]
) -> dict[str, GeometricConfusion]:
    """Compute the counts once, and from them the number of cells and all overlaps."""
    codes, order = located.codes, list(weightings)
    with kept(located.counts) as counts:
        cells = counts.select(*(nw.col(code) for code in codes)).unique(subset=codes)
        n_cells = int(collect(cells.select(nw.len().alias("cells")))["cells"].to_list()[0])
        amounts = _weighted(counts, cm, weightings)
        sums = [nw.col(f"a{k}").sum() for k in range(len(order))]
        labels = amounts.group_by(*codes, "i").agg(*sums)
        bars = [nw.col(f"a{k}").alias(f"b{k}") for k in range(len(order))]
        others = amounts.group_by(*codes, "j").agg(*sums)
        others = others.select(*(nw.col(code) for code in codes), nw.col("j"), *bars)
        pairs = labels.join(others, on=codes, how="inner").select(
            nw.col("i"),
            nw.col("j"),
            *(nw.min_horizontal(f"a{k}", f"b{k}").alias(f"m{k}") for k in range(len(order))),
        )
        minima = [nw.col(f"m{k}").sum() for k in range(len(order))]
        found = collect(pairs.group_by("i", "j").agg(*minima))
    position = (found["i"].to_numpy().astype(np.int64), found["j"].to_numpy().astype(np.int64))
    return {
        name: _result(located, weightings[name], n_cells, (found[f"m{k}"].to_numpy(), position))
        for k, name in enumerate(order)
    }


def _weighted(
    counts: nw.LazyFrame[Any], cm: ConfusionMatrix, weightings: Mapping[str, Normalized]
) -> nw.LazyFrame[Any]:
    """Return cell, classes by position, and the weight of each group under every weighting."""
    schema = counts.collect_schema()
    for key, place, side in ((TRUE, "i", "left"), (PRED, "j", "right")):
        columns: dict[str, list[Any]] = {"name": _names(cm), place: list(range(cm.n_classes))}
        for k, item in enumerate(weightings.values()):
            # A class without points has no weight, and no row that would ask for it.
            factors = np.nan_to_num(getattr(item, side))
            columns[f"{side}{k}"] = factors.tolist()
        table = small_table(counts, columns)
        table = table.with_columns(nw.col("name").cast(schema[key])).rename({"name": key})
        counts = counts.join(table, on=key, how="inner")
    return counts.with_columns(
        *(
            (nw.col(COUNT).cast(nw.Float64()) * nw.col(f"left{k}") * nw.col(f"right{k}")).alias(
                f"a{k}"
            )
            for k in range(len(weightings))
        )
    )


def _result(
    located: LocatedCounts,
    normalized: Normalized,
    n_cells: int,
    overlaps: tuple[Any, tuple[Any, Any]],
) -> GeometricConfusion:
    cm, volume = normalized.source, located.grid.cell_volume
    shape = (cm.n_classes, cm.n_classes)
    matrix = scipy.sparse.csr_array(overlaps, shape=shape) * volume
    entries = scipy.sparse.coo_array(cm.counts)
    names = cm.labels
    weights = entries.data * normalized.weights(
        [names[k] for k in entries.row], [names[k] for k in entries.col]
    )
    return GeometricConfusion(
        matrix=matrix if cm.is_sparse else matrix.toarray(),
        cell_volume=volume,
        # Lemma 2: the volume of a cluster is r times the sum of its points' weights.
        label_volumes=volume * _totals(entries.row, weights, cm.n_classes),
        prediction_volumes=volume * _totals(entries.col, weights, cm.n_classes),
        n_cells=n_cells,
        labels=names,
        weighting=normalized.method,
        normalized=normalized,
        grid=located.grid,
        projection=located.projection,
        notes=located.notes,
    )


def _totals(groups: Any, weights: FloatArray, n_classes: int) -> FloatArray:
    totals = np.bincount(groups, weights, minlength=n_classes)
    return totals.astype(np.float64, copy=False)


def _names(cm: ConfusionMatrix) -> list[int] | list[str]:
    """Return the class names as `_key` writes them."""
    if isinstance(cm.labels[0], int):
        return [int(name) for name in cm.labels]  # type: ignore[arg-type]
    return [str(name) for name in cm.labels]
