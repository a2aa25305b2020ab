"""Project embeddings on principal components, which are fitted to streamed moments.

`Moments` are what one pass over the points leaves behind: their number, mean and scatter. Two of
them merge exactly, so the same code serves an array read in blocks and a table read in batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import scipy.linalg

from deconfuse.errors import InputError

__all__ = ["Moments", "Projection", "fit_projection", "read_only", "row_blocks"]

FloatArray = npt.NDArray[np.float64]

# Blocks of about 16 MB in float64 stay near the cache and cost little beside the embeddings.
_BLOCK_VALUES = 2_000_000


def read_only(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Return the array after forbidding writes to it."""
    array.setflags(write=False)
    return array


def row_blocks(points: npt.NDArray[np.generic]) -> Iterator[tuple[slice, FloatArray]]:
    """Yield blocks of rows as float64, each with the slice that it came from."""
    step = max(1, _BLOCK_VALUES // max(1, points.shape[1]))
    for start in range(0, points.shape[0], step):
        rows = slice(start, min(start + step, points.shape[0]))
        # One memory order, so that equal numbers give equal sums to the last bit.
        yield rows, np.ascontiguousarray(points[rows], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Moments:
    """Number, mean and scatter (the number times the covariance) of points seen so far."""

    count: int
    mean: FloatArray
    scatter: FloatArray

    @classmethod
    def of(cls, block: FloatArray) -> Moments:
        """Return the moments of one block of points."""
        # What overflows here is infinite, and refused as such by whoever looks at the result.
        with np.errstate(over="ignore", invalid="ignore"):
            mean = block.mean(axis=0)
            centred = block - mean
            return cls(block.shape[0], mean, centred.T @ centred)

    @classmethod
    def total(cls, parts: Iterable[Moments]) -> Moments | None:
        """Return the moments of all parts together, or None where there are no parts."""
        result: Moments | None = None
        for part in parts:
            result = part if result is None else result + part
        return result

    def __add__(self, other: Moments) -> Moments:
        # Chan, Golub and LeVeque (1983): no cancellation, however far the mean is from zero.
        count = self.count + other.count
        gap = other.mean - self.mean
        mean = self.mean + gap * (other.count / count)
        between = np.outer(gap, gap) * (self.count * other.count / count)
        return Moments(count, mean, self.scatter + other.scatter + between)

    @property
    def covariance(self) -> FloatArray:
        """Return the covariance, divided by the number of points."""
        return self.scatter / self.count


@dataclass(frozen=True, eq=False)
class Projection:
    """An affine map from embeddings to a few coordinates.

    Parameters
    ----------
    mean : ndarray of shape (n_features,)
        Subtracted first.
    axes : ndarray of shape (n_features, n_components)
        Orthonormal columns, the directions of largest variance first. Each has its largest entry
        (by size) positive, so that equal points give equal coordinates.
    explained_variance : ndarray of shape (n_components,)
        Variance along each axis.
    explained_variance_ratio : ndarray of shape (n_components,)
        The same as a share of the variance of all features.
    notes : tuple of str
        What had to be handled: fewer components than asked for, and why.
    """

    mean: FloatArray
    axes: FloatArray
    explained_variance: FloatArray
    explained_variance_ratio: FloatArray
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        for name in ("mean", "axes", "explained_variance", "explained_variance_ratio"):
            array = np.array(getattr(self, name), dtype=np.float64)
            object.__setattr__(self, name, read_only(array))

    @property
    def n_features(self) -> int:
        """Return the width of the embeddings that the projection takes."""
        return int(self.axes.shape[0])

    @property
    def n_components(self) -> int:
        """Return the number of coordinates that the projection gives."""
        return int(self.axes.shape[1])

    def apply(self, points: npt.NDArray[np.generic]) -> FloatArray:
        """Return the coordinates of points, of shape (n_points, n_components)."""
        if points.ndim != 2 or points.shape[1] != self.n_features:
            message = (
                f"The projection takes points with {self.n_features} features, "
                f"got an array of shape {points.shape}."
            )
            raise InputError(message, hint="project embeddings of the layer it was fitted on.")
        # Each coordinate lies together because the grid reads them one at a time.
        projected = np.empty((self.n_components, points.shape[0]))
        for rows, block in row_blocks(points):
            projected[:, rows] = self.axes.T @ (block - self.mean).T
        return projected.T

    @classmethod
    def from_moments(cls, moments: Moments, n_components: int) -> Projection:
        """Return the principal components of the points behind some moments."""
        components = _Components.of(moments.covariance, n_components)
        return components.finish(moments.mean, moments.count, n_components)


def fit_projection(points: npt.NDArray[np.generic], n_components: int = 10) -> Projection:
    """Return the principal components of points of any real type, read in blocks.

    Where the points spread over fewer directions than asked for, ``notes`` says so.
    """
    n_points, width = points.shape
    if width > n_points:
        return _fit_wide(points, n_components)
    moments = Moments.total(Moments.of(block) for _, block in row_blocks(points))
    assert moments is not None, "checked points have rows"
    return Projection.from_moments(moments, n_components)


def _fit_wide(points: npt.NDArray[np.generic], n_components: int) -> Projection:
    """Fit from the Gram matrix of the points: smaller than their covariance where n < width."""
    whole = points.astype(np.float64)
    mean = whole.mean(axis=0)
    centred = whole - mean
    components = _Components.of(centred @ centred.T / len(whole), n_components)
    axes = centred.T @ components.axes
    lengths = np.linalg.norm(axes, axis=0)
    axes /= np.where(lengths > 0, lengths, 1.0)
    return replace(components, axes=axes).finish(mean, len(whole), n_components)


@dataclass(frozen=True)
class _Components:
    """Eigenvectors and eigenvalues, largest last, before signs and rank are settled."""

    axes: FloatArray
    variances: FloatArray
    total: float

    @classmethod
    def of(cls, matrix: FloatArray, count: int) -> _Components:
        """Return the largest of a covariance or Gram matrix."""
        if not np.isfinite(matrix).all():
            raise InputError(
                "The variance of the embeddings must be a finite number, got values too large "
                "for it.",
                hint="divide the embeddings by a constant; cells do not change.",
            )
        width = len(matrix)
        window = (max(0, width - count), width - 1)
        variances, axes = scipy.linalg.eigh(matrix, subset_by_index=window)
        return cls(axes, variances, float(np.trace(matrix)))

    def finish(self, mean: FloatArray, count: int, asked: int) -> Projection:
        width = len(mean)
        # Below this an eigenvalue is rounding, not spread: the usual threshold of a matrix rank.
        floor = np.finfo(np.float64).eps * max(width, count) * max(float(self.variances[-1]), 0.0)
        kept = self.variances[::-1] > floor
        axes, variances = self.axes[:, ::-1][:, kept], self.variances[::-1][kept]
        largest = np.abs(axes).argmax(axis=0)
        signs = np.sign(axes[largest, np.arange(axes.shape[1])])
        ratio = variances / self.total if self.total > 0 else variances
        notes = _rank_notes(asked, width, count, axes.shape[1])
        return Projection(mean, axes * signs, variances, ratio, notes)


def _rank_notes(asked: int, width: int, count: int, kept: int) -> tuple[str, ...]:
    if kept == asked:
        return ()
    if kept == 0:
        reason = "all points are equal"
    elif kept == width:
        reason = f"the embeddings have {width} dimensions"
    elif kept >= count - 1:
        reason = f"{count} points span at most {count - 1} directions"
    else:
        reason = "the points do not vary along the others"
    return (f"{kept} components are used where {asked} were asked for: {reason}.",)
