"""Compute Geometric Confusion Matrices from embeddings, labels and predictions.

The steps: project (`projection`), divide into cells (`grid`), count and take minima (`histogram`);
here they are put together and named. Tables that do not fit in memory go another way, see
`geometry.frame_geometry`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from deconfuse.classes import ClassOptions
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import GeometryWarning, InputError, UndefinedCellsWarning, warn
from deconfuse.geometry.embeddings import check_bin_factor, check_embeddings, check_positive
from deconfuse.geometry.grid import BIN_FACTOR, Grid, IntArray, Spread, fit_grid, grid_shifts
from deconfuse.geometry.histogram import CellCounts
from deconfuse.geometry.projection import FloatArray, Projection, fit_projection
from deconfuse.geometry.result import Binning, GeometricConfusion, confusions_of
from deconfuse.normalization import Method, MethodName, Normalized, normalize
from deconfuse.reading.sequences import count_with_positions

__all__ = [
    "WEIGHTINGS",
    "GridOptions",
    "ProjectionChoice",
    "check_classes",
    "geometric_confusion",
    "geometric_confusions",
    "place_points",
    "prepare",
    "weigh_all",
]

ProjectionChoice: TypeAlias = Projection | Literal["pca"] | None
WEIGHTINGS: tuple[Method, ...] = ("row", "col", "all", "bi")
_ONE_GRID = "1 uses the paper's single grid."


@dataclass(frozen=True, eq=False)
class GridOptions:
    """How a caller wants the grid: components, factor of the bin width, way to coordinates."""

    n_components: int
    bin_factor: float
    projection: ProjectionChoice

    @classmethod
    def of(cls, n_components: object, bin_factor: object, projection: object) -> GridOptions:
        """Validate what a caller asks for."""
        choice: ProjectionChoice = "pca"
        if projection is None or isinstance(projection, Projection):
            choice = projection
        elif projection != "pca":
            message = f'`projection` must be "pca", None or a Projection, got {projection!r}.'
            raise InputError(message, hint="None uses the embeddings as they are.")
        n_components = check_positive(n_components, "n_components", "the paper uses 10.")
        return cls(n_components, check_bin_factor(bin_factor), choice)


def geometric_confusion(
    embeddings: object,
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    *,
    weighting: MethodName | Normalized = "bi",
    n_components: int = 10,
    epsilon: float | None = None,
    labels: Iterable[object] | None = None,
    projection: ProjectionChoice = "pca",
    bin_factor: float = BIN_FACTOR,
    n_shifts: int = 1,
) -> GeometricConfusion:
    r"""Return the Geometric Confusion Matrix of embedded samples.

    Parameters
    ----------
    embeddings : array-like of shape (n_samples, n_features)
        The activations of the last hidden layer, or any representation; numbers of any real
        type, torch tensors on any device.
    y_true, y_pred : array-like of shape (n_samples,)
        Labels and predictions of the same samples.
    weighting : {"bi", "row", "col", "all"} or Normalized
        Which normalization of the samples' own confusion matrix gives the weights of the
        histograms, or a normalization made elsewhere.
    n_components : int
        How many principal components span the grid.
    epsilon : float, optional
        Added to every count for the weights, as in `normalize`: by default one over the number of
        classes for ``"bi"``, and nothing for the others, which need none.
    labels : iterable, optional
        The classes and their order; all that occur, sorted, by default.
    projection : {"pca", None} or Projection
        How to get from embeddings to coordinates; None uses the embeddings as they are.
    bin_factor : float
        The factor of the bin width.
    n_shifts : int
        Average the matrix over so many grids, each moved by a share of a cell. 1 is the paper's
        single grid; 16 or more make the result depend little on where the grid starts.

    Returns
    -------
    GeometricConfusion
        The matrix, the volumes of the clusters, and what is needed to explain them.

    Raises
    ------
    InputError
        If the embeddings are not a finite two-dimensional array with one row a sample, or there
        are fewer than two points or classes.

    Warns
    -----
    GeometryWarning
        If fewer dimensions span the grid than asked for.

    Notes
    -----
    The points are projected on their first m principal components and a regular grid is laid over
    them, its cells :math:`3.5\,\sigma_k\,n^{-1/(2+m)}` wide along component k, its lower corner at
    the minimum of the points. With :math:`H_i(v)` the weights of the points of label i in cell
    v, and :math:`\hat H_j(v)` those of the points predicted as j,
    :math:`GCM_{ij} = r \sum_v \min(H_i(v), \hat H_j(v))`, r being the volume of a cell.

    Where the grid starts is arbitrary: the same embedding rotated, or a component with its sign
    flipped, starts it elsewhere and gives another matrix. ``n_shifts`` averages over starting
    points spread evenly over a cell (an averaged shifted histogram); a flipped sign is one of
    these. Volumes do not depend on the grid. ``grid``, ``n_cells``, ``shared_cells`` and
    ``shared_samples`` are those of the first grid, the paper's.

    Examples
    --------
    >>> import deconfuse as dc
    >>> points = [[0.0], [0.1], [0.2], [1.9], [2.0], [2.1]]
    >>> g = dc.geometric_confusion(
    ...     points, list("aaabbb"), list("aababb"), weighting="all", n_components=1
    ... )
    >>> g.n_cells, (g.matrix / g.cell_volume * 6).round(3).tolist()
    (2, [[2.0, 1.0], [1.0, 2.0]])
    """
    n_shifts = check_positive(n_shifts, "n_shifts", _ONE_GRID)
    options = GridOptions.of(n_components, bin_factor, projection)
    classes = _class_order(labels, weighting)
    coordinates, binning, cm = _bin(embeddings, (y_true, y_pred), classes, options)
    if isinstance(weighting, Normalized):
        if epsilon is not None:
            message = f"`epsilon` must be None where `weighting` is Normalized, got {epsilon!r}."
            raise InputError(message, hint="give epsilon to `normalize` instead.")
        normalized = weighting
    else:
        normalized = _weigh(cm, weighting, epsilon)
    results = _average(coordinates, binning, {normalized.method: normalized}, n_shifts)
    return results[normalized.method]


def geometric_confusions(
    embeddings: object,
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    *,
    n_components: int = 10,
    epsilon: float | None = None,
    labels: Iterable[object] | None = None,
    projection: ProjectionChoice = "pca",
    bin_factor: float = BIN_FACTOR,
    n_shifts: int = 1,
) -> dict[str, GeometricConfusion]:
    """Return the Geometric Confusion Matrices of all four weightings, from one pass.

    The arguments are those of `geometric_confusion`.

    Returns
    -------
    dict of str to GeometricConfusion
        Keys "row", "col", "all" and "bi"; each as `geometric_confusion` returns it.

    Examples
    --------
    >>> import deconfuse as dc
    >>> points = [[0.0], [0.1], [0.2], [1.9], [2.0], [2.1]]
    >>> gs = dc.geometric_confusions(points, list("aaabbb"), list("aababb"), n_components=1)
    >>> list(gs)
    ['row', 'col', 'all', 'bi']
    >>> (gs["row"].label_volumes / gs["row"].cell_volume).round(6).tolist()
    [1.0, 1.0]
    """
    n_shifts = check_positive(n_shifts, "n_shifts", _ONE_GRID)
    options = GridOptions.of(n_components, bin_factor, projection)
    coordinates, binning, cm = _bin(embeddings, (y_true, y_pred), labels, options)
    return _average(coordinates, binning, weigh_all(cm, epsilon), n_shifts)


def _class_order(labels: Iterable[object] | None, weighting: object) -> Iterable[object] | None:
    """Return the classes to use: those of a given normalization where there is one."""
    if not isinstance(weighting, Normalized):
        return labels
    if labels is not None and tuple(labels) != weighting.labels:
        message = "`labels` must be those of `weighting` where both are given, got others."
        raise InputError(message, hint="leave `labels` out.")
    return weighting.labels


def prepare(
    embeddings: object,
    classes: tuple[npt.ArrayLike, npt.ArrayLike],
    labels: Iterable[object] | None,
) -> tuple[npt.NDArray[np.generic], tuple[IntArray, IntArray], ConfusionMatrix]:
    """Check and count: return trusted points, both classes by position, and the counts."""
    cm, rows, columns = count_with_positions(*classes, ClassOptions.of(labels))
    check_classes(cm)
    return check_embeddings(embeddings, len(rows)), (rows, columns), cm


def check_classes(cm: ConfusionMatrix) -> None:
    """Refuse a single class."""
    if cm.n_classes < 2:
        message = f"There must be at least two classes, got one: {cm.labels[0]!r}."
        raise InputError(message, hint="overlap between classes needs two; check the labels.")


def place_points(
    grid: Grid,
    coordinates: FloatArray,
    classes: tuple[IntArray, IntArray],
    n_classes: int,
    projection: Projection | None = None,
) -> Binning:
    """Put each sample in its cell."""
    true, pred = classes
    cells, n_cells = grid.cells(coordinates)
    counts = CellCounts.of(cells, n_cells, true, pred, n_classes)
    return Binning(grid, projection, cells, true, pred, counts)


def _average(
    coordinates: FloatArray,
    binning: Binning,
    weightings: Mapping[str, Normalized],
    n_shifts: int,
) -> dict[str, GeometricConfusion]:
    """Return the matrices of one grid, or their means over a grid and its shifts."""
    results = confusions_of([binning.counts], weightings, binning)
    if n_shifts == 1:
        return results
    sums = {name: g.matrix for name, g in results.items()}
    classes, n_classes = (binning.true, binning.pred), binning.counts.n_classes
    for shares in grid_shifts(n_shifts, binning.grid.n_dimensions)[1:]:
        grid = binning.grid.shifted(shares)
        moved = place_points(grid, coordinates, classes, n_classes)
        for name, g in confusions_of([moved.counts], weightings, moved).items():
            sums[name] = sums[name] + g.matrix
    return {name: replace(g, matrix=sums[name] / n_shifts) for name, g in results.items()}


def weigh_all(cm: ConfusionMatrix, epsilon: float | None) -> dict[str, Normalized]:
    """Return the four normalizations of a confusion matrix."""
    return {name: _weigh(cm, name, epsilon) for name in WEIGHTINGS}


def _bin(
    embeddings: object,
    classes: tuple[npt.ArrayLike, npt.ArrayLike],
    labels: Iterable[object] | None,
    options: GridOptions,
) -> tuple[FloatArray, Binning, ConfusionMatrix]:
    """Check everything, count the classes, and put each sample in its cell."""
    points, positions, cm = prepare(embeddings, classes, labels)
    fitted = options.projection
    if fitted == "pca":
        fitted = fit_projection(points, options.n_components)
    if fitted is None:
        coordinates = np.asfortranarray(points, dtype=np.float64)
    else:
        coordinates = fitted.apply(points)
    grid = fit_grid(Spread.of(coordinates), options.bin_factor)
    binning = place_points(grid, coordinates, positions, cm.n_classes, fitted)
    for note in binning.notes:
        warn(note, GeometryWarning)
    return coordinates, binning, cm


def _weigh(cm: ConfusionMatrix, method: MethodName, epsilon: float | None) -> Normalized:
    if method not in get_args(MethodName):
        raise InputError(
            f'`weighting` must be "row", "col", "all", "bi" or a Normalized, got {method!r}.'
        )
    with warnings.catch_warnings():
        # A class that never occurs has no points, so its undefined weight is never used here.
        warnings.simplefilter("ignore", UndefinedCellsWarning)
        return normalize(cm, method, epsilon=epsilon)
