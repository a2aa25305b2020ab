"""Geometric Confusion Matrices of a table that stays in its engine.

The same steps as in memory, as relational operations: principal components from streamed moments,
coordinates and cells as expressions, counts by (cell, label, prediction) as a grouping, the
minimum over cells as a join. Only matrices of classes come back.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from deconfuse.errors import GeometryWarning, InputError, warn
from deconfuse.geometry.embedding_columns import (
    Embedding,
    EmbeddingColumns,
    choose_embedding,
    read_columns,
    spread_columns,
)
from deconfuse.geometry.embeddings import check_bin_factor, check_components, check_embeddings
from deconfuse.geometry.frame_cells import PRED, TRUE, GridOptions, locate
from deconfuse.geometry.frame_overlaps import join_overlaps
from deconfuse.geometry.gcm import (
    ProjectionChoice,
    check_classes,
    check_projection,
    geometric_confusions,
    weigh_all,
)
from deconfuse.geometry.grid import BIN_FACTOR
from deconfuse.geometry.projection import fit_projection
from deconfuse.geometry.result import GeometricConfusion
from deconfuse.reading.column_names import ColumnChoice, choose_columns
from deconfuse.reading.frames import count_frame

__all__ = ["geometric_confusions_from_frame"]


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
    pca_rows: int | None = None,
    rng: np.random.Generator | int | None = None,
) -> dict[str, GeometricConfusion]:
    """Return the Geometric Confusion Matrices of all four weightings, computed in an engine.

    Parameters
    ----------
    frame : data frame
        Of pandas, Polars (eager or lazy), PyArrow, DuckDB (a relation), Dask, PySpark or Ibis.
    embedding : str or sequence of str
        One column of lists, or the columns of numbers.
    label, prediction : str
        Columns of class names, found as in `ConfusionMatrix.from_frame`.
    n_components : int
        How many principal components span the grid.
    epsilon : float, optional
        Added to every count for the weights, as in `normalize`: by default one over the number of
        classes for ``"bi"``, and nothing for the others, which need none.
    projection : {"pca", None} or Projection
        How to get from embeddings to coordinates; None uses the embeddings as they are.
    bin_factor : float
        The factor of the bin width.
    pca_rows : int, optional
        Fit the principal components to about so many rows, drawn at random; to all by default.
    rng : numpy.random.Generator or int, optional
        Draws these rows.

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
    reads the table four times: to count classes, for the moments behind the components,
    for the range of the coordinates, and for the counts by (cell, label, prediction), which it
    keeps until it has joined them. It needs memory, or space to spill, for these counts.

    Examples
    --------
    >>> import deconfuse as dc, pandas as pd
    >>> frame = pd.DataFrame({"x": [0.0, 0.1, 0.2, 1.9, 2.0, 2.1], "label": list("aaabbb"),
    ...                       "prediction": list("aababb")})
    >>> gs = dc.geometry.geometric_confusions_from_frame(frame, embedding=["x"], n_components=1)
    >>> (gs["all"].matrix / gs["all"].cell_volume * 6).round(3).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    options = GridOptions(
        check_components(n_components),
        check_bin_factor(bin_factor),
        check_projection(projection),
        _check_rows(pca_rows),
        np.random.default_rng(rng),
    )
    table = _as_frame(frame)
    schema = table.collect_schema()
    roles = choose_columns(list(schema), label=label, prediction=prediction, weight=None)
    columns = choose_embedding(schema, embedding, roles)
    if isinstance(table, nw.DataFrame):
        return _in_memory(table, columns, roles, epsilon, options)
    assert roles.prediction is not None, "asked for above"
    cm = count_frame(frame, label=roles.label, prediction=roles.prediction)
    check_classes(cm)
    keys = [_key(schema, roles.label, TRUE), _key(schema, roles.prediction, PRED)]
    points, names = spread_columns(table, columns, keys)
    located = locate(points, names, int(cm.total), options)
    for note in located.notes:
        warn(note, GeometryWarning)
    return join_overlaps(located, cm, weigh_all(cm, epsilon))


def _as_frame(frame: Any) -> nw.LazyFrame[Any] | nw.DataFrame[Any]:
    try:
        return nw.from_native(frame)
    except TypeError as error:
        raise InputError(
            "`frame` must be a data frame of pandas, Polars, PyArrow, DuckDB, Dask, PySpark or"
            f" Ibis, got {type(frame).__name__}.",
            hint="for arrays, use `geometric_confusions`.",
        ) from error


def _check_rows(pca_rows: int | None) -> int | None:
    if pca_rows is None or (isinstance(pca_rows, int) and pca_rows >= 2):
        return pca_rows
    raise InputError(
        f"`pca_rows` must be an integer of at least 2, got {pca_rows!r}.",
        hint="leave it out to use all rows.",
    )


def _key(schema: nw.Schema, column: str, name: str) -> nw.Expr:
    """Return a column of class names as integers or text, so that it can be joined by value."""
    values, dtype = nw.col(column), schema[column]
    if dtype.is_integer() or dtype == nw.Boolean:
        values = values.cast(nw.Int64())
    elif dtype.is_temporal():
        values = values.dt.to_string("%Y-%m-%d").cast(nw.String())
    else:
        # Text too: some engines have several kinds of it, and join only equal ones.
        values = values.cast(nw.String())
    return values.alias(name)


def _in_memory(
    table: nw.DataFrame[Any],
    columns: EmbeddingColumns,
    roles: ColumnChoice,
    epsilon: float | None,
    options: GridOptions,
) -> dict[str, GeometricConfusion]:
    embeddings = read_columns(table, columns)
    assert roles.prediction is not None, "asked for by the caller"
    projection = options.projection
    if projection == "pca" and options.pca_rows is not None and options.pca_rows < len(table):
        rows = options.rng.choice(len(table), options.pca_rows, replace=False)
        projection = fit_projection(check_embeddings(embeddings)[rows], options.n_components)
    return geometric_confusions(
        embeddings,
        table[roles.label].to_native(),
        table[roles.prediction].to_native(),
        n_components=options.n_components,
        epsilon=epsilon,
        projection=projection,
        bin_factor=options.bin_factor,
    )
