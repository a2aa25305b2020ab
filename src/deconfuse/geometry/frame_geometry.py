"""Geometric Confusion Matrices of a table that stays in its engine.

The engine does what grows with the width of the embedding, by narwhals expressions: moments,
ranges, coordinates and cells. The cells come out in parts of bounded size: of an engine in this
process one by one, to be counted here, of others counted by (cell, label, prediction). Overlaps
are added up by the same code as in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import GeometryWarning, InputError, warn
from deconfuse.geometry.embeddings import (
    Embedding,
    choose_embedding,
    read_columns,
    spread_columns,
)
from deconfuse.geometry.frame_cells import COUNT, PRED, TRUE, LocatedPoints, locate
from deconfuse.geometry.gcm import (
    GridOptions,
    ProjectionChoice,
    check_classes,
    geometric_confusions,
    weigh_all,
)
from deconfuse.geometry.grid import BIN_FACTOR, IntArray, compact_codes
from deconfuse.geometry.histogram import CellCounts
from deconfuse.geometry.result import GeometricConfusion, confusions_of
from deconfuse.reading.column_names import Columns, choose_columns
from deconfuse.reading.engine_batches import batches, can_stream, collect
from deconfuse.reading.frames import count_frame

__all__ = ["geometric_confusions_from_frame"]

# Points that are taken out of an engine of this process at once: 24 bytes each, or a little more.
_POINTS = 20_000_000
# Points that are counted at once: their arrays stay so small that memory is used again.
_PIECE = 1_000_000
# An odd number without a pattern (2**64 over the golden ratio): products have all digits mixed.
_MIXING = np.uint64(0x9E3779B97F4A7C15)
# Counts by cell that are taken out of another engine at once.
_SLICE = 5_000_000
# With as many counts as points there would be so many slices. Up to this number the engine is not
# asked how many counts there are, which takes as long as a slice.
_FEW_SLICES = 4


def geometric_confusions_from_frame(
    frame: Any,
    *,
    embedding: Embedding,
    label: str = "label",
    prediction: str = "prediction",
    n_components: int = 10,
    epsilon: float | None = None,
    projection: ProjectionChoice = "pca",
    bin_factor: float = BIN_FACTOR,
) -> dict[str, GeometricConfusion]:
    """Return the Geometric Confusion Matrices of all four weightings, computed in an engine.

    The other arguments are those of `geometric_confusion`.

    Parameters
    ----------
    frame : data frame
        Of pandas, Polars (eager or lazy), PyArrow, DuckDB (a relation), Dask, PySpark or Ibis.
    embedding : str or sequence of str
        One column of lists, or the columns of numbers.
    label, prediction : str
        Columns of class names, found as in `ConfusionMatrix.from_frame`.

    Returns
    -------
    dict of str to GeometricConfusion
        As `geometric_confusions` returns them. From an engine they have no ``binning``: the cells
        of the samples stay where the samples are.

    Raises
    ------
    InputError
        If a column is missing, holds missing or infinite numbers or something else than numbers, or
        lists have different lengths, or there are fewer than two rows or classes.

    Notes
    -----
    A frame in memory (pandas, PyArrow, Polars) is computed with in memory. Otherwise the engine
    reads the table four times: to count classes, for the moments behind the components, for
    the range of the coordinates, and for the cells. DuckDB and lazy Polars do the last once per
    twenty million points. Other engines count by (cell, label, prediction), once per five million
    points; of more than twenty million points they first find out how many such counts there are,
    and then do it once per five million counts.
    To save the pass for the moments, give the ``projection`` of a `GeometricConfusion` of a
    sample of the rows.

    Examples
    --------
    >>> import deconfuse as dc, pandas as pd
    >>> frame = pd.DataFrame({"x": [0.0, 0.1, 0.2, 1.9, 2.0, 2.1], "label": list("aaabbb"),
    ...                       "prediction": list("aababb")})
    >>> gs = dc.geometry.geometric_confusions_from_frame(frame, embedding=["x"], n_components=1)
    >>> (gs["all"].matrix / gs["all"].cell_volume * 6).round(3).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    options = GridOptions.of(n_components, bin_factor, projection)
    try:
        table = nw.from_native(frame)
    except TypeError as error:
        raise InputError(
            "`frame` must be a data frame of pandas, Polars, PyArrow, DuckDB, Dask, PySpark or"
            f" Ibis, got {type(frame).__name__}.",
            hint="for arrays, use `geometric_confusions`.",
        ) from error
    schema = table.collect_schema()
    roles = choose_columns(list(schema), Columns(label, prediction))
    columns = choose_embedding(schema, embedding, roles)
    assert roles.prediction is not None, "asked for above"
    if isinstance(table, nw.DataFrame):
        return geometric_confusions(
            read_columns(table, columns),
            table[roles.label].to_native(),
            table[roles.prediction].to_native(),
            n_components=n_components,
            epsilon=epsilon,
            projection=projection,
            bin_factor=bin_factor,
        )
    cm = count_frame(frame, Columns(roles.label, roles.prediction))
    check_classes(cm)
    keys = [nw.col(roles.label).alias(TRUE), nw.col(roles.prediction).alias(PRED)]
    points, names = spread_columns(table, columns, keys)
    located = locate(points, names, int(cm.total), options)
    for note in located.notes:
        warn(note, GeometryWarning)
    return confusions_of(_slices(located, cm), weigh_all(cm, epsilon), located)


def _slices(located: LocatedPoints, cm: ConfusionMatrix) -> Iterator[CellCounts]:
    """Yield the counts by cell, label and prediction; a cell is in one slice only."""
    if can_stream(located.cells):
        n_parts = -(-int(cm.total) // _POINTS)
        for index in range(n_parts):
            yield from _counted_here(located.part(index, n_parts), cm, int(cm.total) // n_parts)
        return
    n_slices = -(-int(cm.total) // _SLICE)
    if n_slices > _FEW_SLICES:
        n_groups = collect(located.counts().select(nw.len().alias(COUNT)))[COUNT].to_list()[0]
        n_slices = -(-int(n_groups) // _SLICE)
    for index in range(n_slices):
        # Nothing of a slice is kept here while the engine makes the next.
        yield _counted_there(located.part(index, n_slices), cm)


def _counted_there(located: LocatedPoints, cm: ConfusionMatrix) -> CellCounts:
    """Take the counts that an engine makes."""
    found = collect(located.counts())
    cells, n_cells = _numbered([found[name].to_numpy() for name in located.codes])
    true, pred = (cm.index_of(found[name].to_native()) for name in (TRUE, PRED))
    count = found[COUNT].to_numpy().astype(np.int64)
    return CellCounts(cells, true, pred, count, n_cells, cm.n_classes)


def _counted_here(located: LocatedPoints, cm: ConfusionMatrix, size: int) -> Iterator[CellCounts]:
    """Count about ``size`` points that the engine hands over in batches."""
    pieces: list[list[IntArray]] = [[] for _ in range(1 + size // _PIECE)]
    for batch in batches(located.cells):
        codes = [batch[name].to_numpy().astype(np.int64, copy=False) for name in located.codes]
        true, pred = (cm.index_of(batch[name].to_native()) for name in (TRUE, PRED))
        # Cells that lie together have codes that lie together, so their digits are mixed.
        mixed = codes[0].view(np.uint64) * _MIXING >> np.uint64(48)
        piece = mixed.astype(np.uint16) % np.uint16(len(pieces))
        order = np.argsort(piece, kind="stable")
        points = np.stack([*codes, true, pred])[:, order]
        ends = np.cumsum(np.bincount(piece, minlength=len(pieces)))
        for found, part in zip(pieces, np.split(points, ends[:-1], axis=1), strict=True):
            found.append(part)
    # Without a batch, no piece has anything.
    while pieces and pieces[-1]:
        *codes, true, pred = np.concatenate(pieces.pop(), axis=1)
        cells, n_cells = _numbered(codes)
        yield CellCounts.of(cells, n_cells, true, pred, cm.n_classes)


def _numbered(codes: Sequence[npt.NDArray[Any]]) -> tuple[IntArray, int]:
    """Number the cells that some codes of each point describe together."""
    cells, n_cells = compact_codes(codes[0].astype(np.int64, copy=False))
    for code in codes[1:]:
        others, n_others = compact_codes(code.astype(np.int64, copy=False))
        cells, n_cells = compact_codes(cells * n_others + others)
    return cells, n_cells
