"""Measure how well Geometric Confusion Matrices agree with normalizations, whatever the grid."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deconfuse._checks import Label, needs_pandas, show
from deconfuse.agreement import overlap
from deconfuse.counts import dense
from deconfuse.errors import InputError
from deconfuse.geometry.embeddings import check_bin_factor, check_positive
from deconfuse.geometry.gcm import WEIGHTINGS, place_points, prepare, weigh_all
from deconfuse.geometry.grid import BIN_FACTOR, IntArray, Spread, fit_grid
from deconfuse.geometry.projection import FloatArray, fit_projection, read_only
from deconfuse.geometry.result import GeometricConfusion, confusions_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "GeometryAgreement",
    "GeometrySensitivity",
    "geometry_agreement",
    "geometry_sensitivity",
]


@dataclass(frozen=True, eq=False)
class GeometryAgreement:
    """How much each Geometric Confusion Matrix overlaps with each normalized matrix.

    Parameters
    ----------
    weightings : tuple of str
        Names of the rows: the weights of the Geometric Confusion Matrices.
    normalizations : tuple of str
        Names of the columns: the normalizations of the confusion matrix.
    overlap : ndarray of shape (n_weightings, n_normalizations)
        The Overlap of the two matrices, from 0 to 1.
    off_diagonal : ndarray of shape (n_weightings, n_normalizations)
        The Overlap of what is off the diagonal, on which accurate classifiers differ; NaN where
        one of the two has nothing there.
    left_out : tuple
        Classes never seen or never predicted: their cells are undefined in some normalization, so
        they are taken out of all matrices before comparing.
    """

    weightings: tuple[str, ...]
    normalizations: tuple[str, ...]
    overlap: FloatArray
    off_diagonal: FloatArray
    left_out: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        read_only(self.overlap)
        read_only(self.off_diagonal)

    @property
    def closest(self) -> dict[str, str]:
        """Return, for each weighting, the normalization that it overlaps with most."""
        best = self.overlap.argmax(axis=1)
        names = [self.normalizations[index] for index in best]
        return dict(zip(self.weightings, names, strict=True))

    def to_pandas(self) -> pd.DataFrame:
        """Return the table of Overlaps, weightings on rows and normalizations on columns."""
        with needs_pandas():
            import pandas as pd

        index = pd.Index(self.weightings, name="weighting")
        columns = pd.Index(self.normalizations, name="normalization")
        return pd.DataFrame(np.array(self.overlap), index=index, columns=columns)

    def plot(self, ax: Any = None) -> Any:
        """Draw the table as a heatmap; return the axes.

        The largest number of each row is framed.
        """
        from deconfuse.geometry.geometry_plots import plot_geometry_agreement

        return plot_geometry_agreement(self, ax=ax)

    def __str__(self) -> str:
        head = "Overlap".ljust(9) + "".join(name.rjust(8) for name in self.normalizations)
        lines = [head]
        for name, values in zip(self.weightings, self.overlap, strict=True):
            lines.append(f"GCM {name}".ljust(9) + "".join(f"{value:8.3f}" for value in values))
        if self.left_out:
            lines.append(f"Left out, never seen or never predicted: {show(self.left_out)}.")
        return "\n".join(lines)


def geometry_agreement(confusions: Mapping[str, GeometricConfusion]) -> GeometryAgreement:
    """Compare Geometric Confusion Matrices with the normalized confusion matrices.

    Parameters
    ----------
    confusions : dict of str to GeometricConfusion
        As `geometric_confusions` returns them.

    Returns
    -------
    GeometryAgreement
        A table of Overlaps, one row a weighting and one column a normalization. The paper
        claims that the largest of each row is on the diagonal.

    Raises
    ------
    InputError
        If there are no matrices, or too few classes are both seen and predicted.

    Examples
    --------
    >>> import deconfuse as dc
    >>> points = [[0.0], [0.1], [0.2], [1.9], [2.0], [2.1], [2.2]]
    >>> gs = dc.geometric_confusions(points, list("aaabbbb"), list("aababbb"), n_components=1)
    >>> print(dc.geometry.geometry_agreement(gs))
    Overlap       row     col     all      bi
    GCM row     1.000   0.958   0.929   0.955
    GCM col     0.958   1.000   0.929   0.955
    GCM all     0.929   0.929   1.000   0.903
    GCM bi      0.971   0.971   0.939   0.953
    """
    if not confusions:
        message = "There must be at least one Geometric Confusion Matrix to compare, got none."
        raise InputError(message, hint="pass what `geometric_confusions` returns.")
    gs = list(confusions.values())
    kept, left_out = _defined_classes(gs[0])
    geometric = [dense(g.matrix)[np.ix_(kept, kept)] for g in gs]
    scaled = [dense(g.normalized.matrix)[np.ix_(kept, kept)] for g in gs]
    whole = np.array([[overlap(g, n) for n in scaled] for g in geometric])
    off = np.array([[_off_diagonal_overlap(g, n) for n in scaled] for g in geometric])
    names = tuple(confusions)
    return GeometryAgreement(names, names, whole, off, left_out)


def _defined_classes(g: GeometricConfusion) -> tuple[IntArray, tuple[Label, ...]]:
    cm = g.normalized.source
    defined = (np.asarray(cm.label_counts) > 0) & (np.asarray(cm.prediction_counts) > 0)
    kept = np.flatnonzero(defined)
    if len(kept) < 2:
        message = (
            "At least two classes must be both seen and predicted to compare matrices, "
            f"got {len(kept)}."
        )
        raise InputError(message, hint="look at the predictions: nearly all are one class.")
    return kept, tuple(cm.labels[k] for k in np.flatnonzero(~defined))


def _off_diagonal_overlap(one: FloatArray, other: FloatArray) -> float:
    mask = 1.0 - np.eye(len(one))
    one, other = one * mask, other * mask
    return overlap(one, other) if one.any() and other.any() else float("nan")


@dataclass(frozen=True, eq=False)
class GeometrySensitivity:
    """How Geometric Confusion Matrices change with bin width and number of components.

    All arrays have one row a bin factor and one column a number of components; where there is a
    first axis, it runs over ``weightings``.

    Parameters
    ----------
    bin_factors : tuple of float
        The factors of the bin width; the paper's is 3.5.
    components : tuple of int
        The numbers of principal components; the paper's is 10.
    weightings : tuple of str
        The weights of the Geometric Confusion Matrices.
    n_cells : ndarray of int
        How many cells hold points.
    agreement : ndarray with a first axis
        Overlap of each matrix with its own normalization.
    off_diagonal : ndarray with a first axis
        The same off the diagonal alone.
    is_closest : ndarray of bool with a first axis
        Whether no other normalization overlaps more.
    shuffled : ndarray with a first axis
        Overlap with its own normalization of a matrix made after the embeddings were shuffled among
        the samples: what the grid alone gives. Where a cell holds one point, the two matrices are
        equal by construction, so high agreement means little where this is high too.
    to_reference : ndarray with a first axis
        Overlap of each matrix with the one of the paper's setting, or the nearest possible.
    n_samples : int
        How many points there are.
    reference : (float, int)
        The bin factor and number of components of that setting.
    """

    bin_factors: tuple[float, ...]
    components: tuple[int, ...]
    weightings: tuple[str, ...]
    n_cells: IntArray
    agreement: FloatArray
    off_diagonal: FloatArray
    is_closest: npt.NDArray[np.bool_]
    shuffled: FloatArray
    to_reference: FloatArray
    n_samples: int
    reference: tuple[float, int]

    def plot(self, weighting: str = "bi", axes: Any = None) -> Any:
        """Draw how the result depends on bin width and components; return the three axes.

        They have the Overlap with the own normalization (hollow where another is closer; dashed
        after shuffling the embeddings among the samples), the Overlap with the paper's setting,
        and the points in a cell.
        """
        from deconfuse.geometry.geometry_plots import plot_geometry_sensitivity

        return plot_geometry_sensitivity(self, weighting=weighting, axes=axes)


def geometry_sensitivity(
    embeddings: object,
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    *,
    bin_factors: Sequence[float] = (1.0, 2.0, 3.5, 5.0, 7.0, 10.0),
    components: Sequence[int] = (2, 3, 5, 10, 15, 20),
    epsilon: float | None = None,
    labels: Iterable[object] | None = None,
    rng: np.random.Generator | int | None = None,
) -> GeometrySensitivity:
    """Compute Geometric Confusion Matrices over bin widths and numbers of components.

    The other arguments are those of `geometric_confusion`.

    Parameters
    ----------
    bin_factors : sequence of float
        The factors of the bin width to try.
    components : sequence of int
        The numbers of principal components to try; those that the points do not have are left
        out.
    rng : numpy.random.Generator or int, optional
        Shuffles the embeddings among the samples, for the comparison with chance.

    Returns
    -------
    GeometrySensitivity
        Cells, agreement with the normalizations, and distance to the paper's setting.

    Raises
    ------
    InputError
        If there is nothing to try, or what `geometric_confusion` refuses.

    Examples
    --------
    >>> import deconfuse as dc
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> points = rng.normal(size=(100, 3)) + 2 * y[:, None]
    >>> guess = (points[:, 0] > 1).astype(int)
    >>> s = dc.geometry.geometry_sensitivity(
    ...     points, y, guess, bin_factors=[1, 3.5, 10], components=[1, 2], rng=0
    ... )
    >>> s.n_cells.shape, s.agreement.shape, s.reference
    ((3, 2), (4, 3, 2), (3.5, 2))
    """
    factors = tuple(check_bin_factor(factor) for factor in bin_factors)
    asked = sorted({check_positive(n, "n_components", "the paper uses 10.") for n in components})
    if not factors or not asked:
        message = "`bin_factors` and `components` must name at least one setting each, got none."
        raise InputError(message, hint="leave them out to try the usual ones.")
    points, classes, cm = prepare(embeddings, (y_true, y_pred), labels)
    projection = fit_projection(points, max(asked))
    possible = tuple(count for count in asked if count <= projection.n_components)
    # With fewer directions than the fewest asked for, those that are there are still worth a look.
    counts = possible or (projection.n_components,)
    coordinates = projection.apply(points)
    weightings = weigh_all(cm, epsilon)
    order = np.random.default_rng(rng).permutation(len(points))
    moved = classes[0][order], classes[1][order]
    grid, by_chance = {}, []
    for factor, count in itertools.product(factors, counts):
        some = coordinates[:, :count]
        lattice = fit_grid(Spread.of(some), factor)
        found = [
            confusions_of([binning.counts], weightings, binning)
            for which in (classes, moved)
            for binning in [place_points(lattice, some, which, cm.n_classes)]
        ]
        grid[factor, count] = found[0]
        by_chance.append(np.diag(geometry_agreement(found[1]).overlap))
    nearest = (
        min(factors, key=lambda factor: abs(factor - BIN_FACTOR)),
        min(counts, key=lambda count: abs(count - 10)),
    )
    return _summarize(grid, np.stack(by_chance, axis=1), nearest, len(points))


def _summarize(
    grid: Mapping[tuple[float, int], Mapping[str, GeometricConfusion]],
    by_chance: FloatArray,
    reference: tuple[float, int],
    n_samples: int,
) -> GeometrySensitivity:
    factors = tuple(dict.fromkeys(factor for factor, _ in grid))
    counts = tuple(dict.fromkeys(count for _, count in grid))
    shape = (len(factors), len(counts))
    agreements = [geometry_agreement(gs) for gs in grid.values()]
    own = np.stack([np.diag(item.overlap) for item in agreements], axis=1)
    off = np.stack([np.diag(item.off_diagonal) for item in agreements], axis=1)
    best = np.stack([item.overlap.max(axis=1) for item in agreements], axis=1)
    near = [
        [overlap(gs[name].matrix, grid[reference][name].matrix) for gs in grid.values()]
        for name in WEIGHTINGS
    ]
    cells = np.array([gs["bi"].n_cells for gs in grid.values()], dtype=np.int64)
    full = (len(WEIGHTINGS), *shape)
    return GeometrySensitivity(
        bin_factors=factors,
        components=counts,
        weightings=WEIGHTINGS,
        n_cells=cells.reshape(shape),
        agreement=own.reshape(full),
        off_diagonal=off.reshape(full),
        is_closest=(own >= best).reshape(full),
        shuffled=by_chance.reshape(full),
        to_reference=np.array(near).reshape(full),
        n_samples=n_samples,
        reference=reference,
    )
