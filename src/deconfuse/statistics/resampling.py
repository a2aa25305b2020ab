"""How far apart chance alone puts two bi-normalized matrices: the interval of their Overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from deconfuse.scaling import scale
from deconfuse.statistics.cells import Cells, row_units
from deconfuse.statistics.conditional import NullTables, Triples
from deconfuse.statistics.sensitivity import Sensitivity
from deconfuse.statistics.uncertainty import resample

__all__ = ["Side", "chance_differences", "overlap_interval", "sampled_noise"]

FloatArray = NDArray[np.float64]

# Up to this number of classes every replicate is bi-normalized; above it, the change is linear.
_MAX_EXACT = 300
_BATCH_CELLS = 4_000_000
# How far from zero, in standard errors, a difference counts as one that may be zero.
_NEAR = 0.6


@dataclass(frozen=True, eq=False)
class Side:
    """One of two matrices under comparison.

    Attributes
    ----------
    cells : Cells
        With epsilon.
    plain : Cells
        Without.
    matrix : ndarray of shape (n_classes, n_classes)
        Bi-normalized.
    epsilon : float
    """

    cells: Cells
    plain: Cells
    matrix: FloatArray
    epsilon: float

    @cached_property
    def normalize(self) -> Callable[[FloatArray], FloatArray]:
        """Bi-normalize stacks of counts.

        Exactly for up to 300 classes, to first order around those seen for more.
        """
        if len(self.matrix) <= _MAX_EXACT:
            return lambda counts: np.asarray(
                scale(counts, epsilon=self.epsilon, throw=False).matrix
            )
        sensitivity, exposures = Sensitivity.of(self.matrix), self.exposures
        return lambda counts: np.asarray(
            self.matrix + sensitivity.change((counts - self.plain.values) / exposures)
        )

    @property
    def exposures(self) -> FloatArray:
        """How many samples a cell would have for a bi-normalized value of one."""
        return np.asarray(self.cells.values / self.matrix)

    @property
    def units(self) -> FloatArray:
        """What one effective sample of each true class weighs; a column."""
        return row_units(self.plain)


def chance_differences(
    first: Side, second: Side, tables: NullTables, n_tables: int
) -> Iterator[FloatArray]:
    """Yield stacks of differences of bi-normalized matrices of some drawn tables."""
    start = 1
    for size in _batches(n_tables, tables.n_classes**2):
        one, other = tables.dense(start, start + size)
        start += size
        yield first.normalize(one * first.units) - second.normalize(other * second.units)


def sampled_noise(
    first: Side,
    second: Side,
    triples: Triples | None,
    n_resamples: int,
    rng: np.random.Generator,
) -> Iterator[FloatArray]:
    """Yield stacks of the noise in the difference, from a bootstrap of both, or of the triples."""
    sides = (first, second)
    for size in _batches(n_resamples, first.matrix.size):
        if triples is None:
            stacks = [resample(side.plain, size, rng) for side in sides]
        else:
            stacks = _resampled_triples(triples, len(first.matrix), size, rng)
        changes = [
            side.normalize(stack) - side.matrix for stack, side in zip(stacks, sides, strict=True)
        ]
        yield changes[0] - changes[1]


def _resampled_triples(
    triples: Triples, n_classes: int, size: int, rng: np.random.Generator
) -> list[FloatArray]:
    """Return stacks of both tables when the same samples are drawn anew for both."""
    total = int(triples.counts.sum())
    draws = rng.multinomial(total, triples.counts / total, size=size)
    stacks = []
    for predicted in (triples.first, triples.second):
        keys = triples.true * n_classes + predicted
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(keys[order]) > 0])
        flat = np.zeros((size, n_classes**2))
        flat[:, keys[order][starts]] = np.add.reduceat(draws[:, order], starts, axis=1)
        stacks.append(flat.reshape(-1, n_classes, n_classes))
    return stacks


def overlap_interval(
    difference: FloatArray,
    errors: FloatArray,
    by_chance: Callable[[], Iterable[FloatArray]],
    noise: Iterable[FloatArray],
    level: float,
) -> tuple[float, float]:
    r"""Return an interval for the Overlap without noise.

    Parameters
    ----------
    difference, errors : ndarray of shape (n_classes, n_classes)
        Of the bi-normalized matrices, and its standard errors.
    by_chance : callable
        Gives stacks of differences as of equal classifiers, the same whenever it is called.
    noise : iterable of ndarray of shape (n, n_classes, n_classes)
        Noise in the difference.
    level : float

    Returns
    -------
    low, high : float

    Notes
    -----
    Noise only adds to the distance :math:`\sum |d|`: by its mean in equal classifiers where
    :math:`d = 0`, by nothing where :math:`d` is large. Which cells are which is unknown, so each
    end takes what is worse for it. The lower end takes off nothing. The upper end takes off what
    chance adds, from cells in proportion to :math:`\exp(-d^2 / 2 (0.6\,s)^2)`, with a factor such
    that equal classifiers have distance zero on average. Then both ends move by the usual multiple
    of their standard errors.
    """
    z = float(norm.ppf(0.5 + level / 2))
    chance = _mean_size(by_chance())
    width = 2 * (_NEAR * errors) ** 2

    def distance(values: FloatArray) -> FloatArray:
        return np.asarray(np.abs(values).sum(axis=(-2, -1)))

    def near(values: FloatArray) -> FloatArray:
        # Without any spread, only a difference of zero may be zero.
        far = np.where(values == 0, 0.0, np.inf)
        steps = np.divide(values**2, width, out=far, where=width > 0)
        return np.asarray((chance * np.exp(-steps)).sum(axis=(-2, -1)))

    far, close = _measured(by_chance(), distance, near)
    factor = float(far.mean() / close.mean()) if close.any() else 0.0
    moved, moved_close = _measured((difference + stack for stack in noise), distance, near)
    spread = max(float((moved - factor * moved_close).std()), float((far - factor * close).std()))
    seen = float(distance(difference))
    most = seen + z * float(moved.std())
    least = seen - factor * float(near(difference)) - z * spread
    ends = 1 - np.array([max(most, seen), min(least, seen)]) / (2.0 * len(difference))
    low, high = np.clip(ends, 0.0, 1.0)
    return float(low), float(high)


def _mean_size(stacks: Iterable[FloatArray]) -> FloatArray:
    """Return the mean absolute value of every cell over all stacks."""
    sums, count = np.zeros(()), 0
    for stack in stacks:
        sums = sums + np.abs(stack).sum(axis=0)
        count += len(stack)
    return np.asarray(sums / max(count, 1))


def _measured(
    stacks: Iterable[FloatArray], *measures: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, ...]:
    """Return what each measure says of all matrices in the stacks."""
    parts = [[measure(stack) for measure in measures] for stack in stacks]
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def _batches(n_resamples: int, n_cells: int) -> Iterator[int]:
    """Yield batch sizes that keep a stack of matrices small."""
    size = max(1, _BATCH_CELLS // n_cells)
    for start in range(0, n_resamples, size):
        yield min(size, n_resamples - start)
