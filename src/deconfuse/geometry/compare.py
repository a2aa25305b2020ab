"""Measure how well each Geometric Confusion Matrix agrees with each normalization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from deconfuse._checks import Label, needs_pandas, show
from deconfuse.agreement import overlap
from deconfuse.errors import InputError
from deconfuse.geometry.grid import IntArray
from deconfuse.geometry.projection import FloatArray, read_only
from deconfuse.geometry.result import GeometricConfusion
from deconfuse.normalization import Normalized

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "GeometryAgreement",
    "geometry_agreement",
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
        """Draw the table as a heatmap on ``ax``, or on a new figure; return the axes."""
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
        If this is no dict of such matrices or an empty one, or too few classes are both seen and
        predicted.

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
    if not isinstance(confusions, Mapping) or not all(
        isinstance(g, GeometricConfusion) for g in confusions.values()
    ):
        raise InputError(
            "`confusions` must be a dict of names to Geometric Confusion Matrices, got"
            f" {_kind(confusions)}.",
            hint="pass what `geometric_confusions` returns, or one of them as {name: g}.",
        )
    if not confusions:
        message = "There must be at least one Geometric Confusion Matrix to compare, got none."
        raise InputError(message, hint="pass what `geometric_confusions` returns.")
    first = next(iter(confusions.values()))
    kept, left_out = _defined_classes(first)
    normalized = {name: g.normalized for name, g in confusions.items()}
    whole, off = _overlaps(confusions, normalized, kept)
    names = tuple(confusions)
    return GeometryAgreement(names, names, whole, off, left_out)


def _kind(given: object) -> str:
    """Return what was given instead, by its type."""
    if not isinstance(given, Mapping):
        return f"one {type(given).__name__}"
    other = next(g for g in given.values() if not isinstance(g, GeometricConfusion))
    return f"{type(given).__name__} with a {type(other).__name__}"


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


def _overlaps(
    confusions: Mapping[str, GeometricConfusion],
    normalized: Mapping[str, Normalized],
    kept: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the Overlaps of all pairs, whole and off the diagonal."""
    geometric = [_part(g.matrix, kept) for g in confusions.values()]
    scaled = [_part(n.matrix, kept) for n in normalized.values()]
    whole = np.array([[overlap(g, n) for n in scaled] for g in geometric])
    off = np.array([[_off_diagonal_overlap(g, n) for n in scaled] for g in geometric])
    return whole, off


def _part(matrix: FloatArray | scipy.sparse.csr_array, kept: IntArray) -> FloatArray:
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    part: FloatArray = dense[np.ix_(kept, kept)]
    return part


def _off_diagonal_overlap(one: FloatArray, other: FloatArray) -> float:
    mask = 1.0 - np.eye(len(one))
    one, other = one * mask, other * mask
    return overlap(one, other) if one.any() and other.any() else float("nan")
