"""Measure how far chance alone puts two bi-normalized matrices apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from deconfuse.counts import dense
from deconfuse.errors import InputError
from deconfuse.normalization import Normalized
from deconfuse.scaling import scale
from deconfuse.statistics.cells import Cells, cells_of, row_units, whole_samples
from deconfuse.statistics.conditional import Triples
from deconfuse.statistics.null_fit import fit_null
from deconfuse.statistics.sensitivity import JointNoise, Sensitivity
from deconfuse.statistics.uncertainty import resample

__all__ = ["Side", "Spread", "overlap_interval"]

FloatArray = NDArray[np.float64]

# Up to this number of classes every replicate is bi-normalized; above it, the change is linear.
_MAX_EXACT = 300
_BATCH_CELLS = 4_000_000
# Resamples for the interval of the Overlap, fewer where cells are many.
_RESAMPLES, _FEWEST_RESAMPLES, _RESAMPLED_CELLS = 199, 9, 400_000
# Cells of noise that are kept in memory instead of being drawn again.
_KEPT_CELLS = 20_000_000
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

    @classmethod
    def of(cls, normalized: Normalized) -> Side:
        """Return a bi-normalized matrix as tests take it."""
        cells, plain = (
            cells_of(normalized.source, epsilon, what="Compared matrices")
            for epsilon in (normalized.epsilon, 0.0)
        )
        if normalized.source.total == 0:
            raise InputError("Compared matrices must have samples, but one has none.")
        return cls(cells, plain, dense(normalized.matrix), normalized.epsilon)

    @cached_property
    def normalize(self) -> Callable[[FloatArray], FloatArray]:
        """Bi-normalize stacks of counts.

        Exactly for up to 300 classes, to first order around those seen for more.
        """
        if len(self.matrix) <= _MAX_EXACT:
            return lambda counts: np.asarray(
                scale(counts, epsilon=self.epsilon, throw=False).matrix
            )
        exposures = self.exposures
        return lambda counts: np.asarray(
            self.matrix + self.sensitivity.change((counts - self.plain.values) / exposures)
        )

    def resampled(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return a stack of resampled tables, with a few samples in cells that had none.

        Resamples of a table without errors have none, and would pass for certain. So epsilon, which
        stands for what is not known, is drawn as well: the samples that it stands for.
        """
        unit = self.plain.unit
        rare = rng.poisson(self.epsilon / unit, size=(size, *self.matrix.shape))
        return resample(self.plain, size, rng) + unit * rare

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """How the matrix moves when the counts do."""
        return Sensitivity(self.matrix)

    @property
    def exposures(self) -> FloatArray:
        """How many samples a cell would have for a bi-normalized value of one."""
        return np.asarray(self.cells.values / self.matrix)

    @property
    def samples(self) -> FloatArray:
        """Effective numbers of samples, cell by cell."""
        return np.asarray(self.plain.values / row_units(self.plain))


@dataclass(frozen=True, eq=False)
class Spread:
    """Noise in the difference of two bi-normalized matrices, computed when it is asked for.

    Attributes
    ----------
    first, second : Side
    triples : Triples, optional
        Of paired samples.
    level : float
        Of the interval.
    seed : int
        Of the resamples.
    """

    first: Side
    second: Side
    triples: Triples | None
    level: float
    seed: int
    _kept: dict[str, list[FloatArray]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def errors(self) -> FloatArray:
        """Standard errors of the difference of every cell, by the delta method."""
        variances = [
            side.sensitivity.variances(side.cells.variances / side.exposures**2)
            for side in (self.first, self.second)
        ]
        together = variances[0] + variances[1]
        if self.triples is not None:
            together = np.maximum(together - 2 * self._covariances(self.triples), 0.0)
        errors = np.sqrt(together)
        errors.flags.writeable = False
        return errors

    @cached_property
    def overlap_interval(self) -> tuple[float, float]:
        """Confidence interval for the Overlap without noise."""
        return overlap_interval(
            self.second.matrix - self.first.matrix,
            self.errors,
            lambda: self._stacks("chance"),
            lambda: self._stacks("noise"),
            self.level,
        )

    @cached_property
    def overlap_if_equal(self) -> float:
        """Overlap that chance alone would leave."""
        stacks = self._stacks("chance")
        distances = np.concatenate([np.abs(stack).sum(axis=(1, 2)) for stack in stacks])
        return float(1 - distances.mean() / (2 * len(self.first.matrix)))

    def _stacks(self, kind: Literal["chance", "noise"]) -> Iterator[FloatArray]:
        """Yield stacks of differences by chance, or of noise: the same ones at every call."""
        if self._n_resamples * self.first.matrix.size > _KEPT_CELLS:
            yield from self._drawn(kind)
            return
        if kind not in self._kept:
            self._kept[kind] = list(self._drawn(kind))
        yield from self._kept[kind]

    @property
    def _n_resamples(self) -> int:
        budget = _RESAMPLED_CELLS // self.first.matrix.size
        return int(np.clip(budget, _FEWEST_RESAMPLES, _RESAMPLES))

    def _drawn(self, kind: Literal["chance", "noise"]) -> Iterator[FloatArray]:
        rng = np.random.default_rng([self.seed, kind == "noise"])
        first, second = self.first, self.second
        tables = self._resampled if kind == "noise" else self._equal
        for size in _batches(self._n_resamples, first.matrix.size):
            one, other = tables(size, rng)
            difference = second.normalize(other) - first.normalize(one)
            yield difference if kind == "chance" else difference - (second.matrix - first.matrix)

    def _resampled(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return stacks of both tables, resampled."""
        if self.triples is None:
            return self.first.resampled(size, rng), self.second.resampled(size, rng)
        return _resampled_triples(self.triples, len(self.first.matrix), size, rng)

    def _equal(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return stacks of both tables as of classifiers that differ by their margins alone.

        Every sample of both tables, or every disagreement of paired ones, changes sides with the
        probability that is fitted to it. A cell that one of the tables lacks may then be drawn,
        as it may not in a resample of this table. Where most disagreements cannot change
        sides, as when they are towards one class, paired samples count as independent ones.
        """
        n_classes = len(self.first.matrix)
        shape = (size, n_classes, n_classes)
        if self.triples is not None and self.triples.can_exchange:
            return _exchanged_triples(self.triples, shape, rng)
        one, other = (whole_samples(side.plain, rng) for side in (self.first, self.second))
        fit = fit_null(one, other)
        total = fit.total.astype(np.int64)
        drawn = rng.binomial(total, fit.share, size=(size, len(total)))
        stacks = []
        for part, side in ((drawn, self.first), (total - drawn, self.second)):
            flat = np.zeros((size, n_classes**2))
            flat[:, fit.cells] = part
            stacks.append(flat.reshape(shape) * row_units(side.plain))
        return stacks[0], stacks[1]

    def _covariances(self, triples: Triples) -> FloatArray:
        """Return the covariance of every cell with the same cell of the other matrix."""
        weights = (
            triples.counts
            / self.first.exposures[triples.true, triples.first]
            / self.second.exposures[triples.true, triples.second]
        )
        places = (triples.true, triples.first, triples.second)
        joint = JointNoise(places, weights, len(self.first.matrix))
        return self.first.sensitivity.covariances(self.second.sensitivity, joint)


def _resampled_triples(
    triples: Triples, n_classes: int, size: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return stacks of both tables when the same samples are drawn anew for both."""
    total = int(triples.counts.sum())
    draws = rng.multinomial(total, triples.counts / total, size=size)
    shape = (size, n_classes, n_classes)
    one = _tables(draws, triples.true * n_classes + triples.first, shape)
    return one, _tables(draws, triples.true * n_classes + triples.second, shape)


def _exchanged_triples(
    triples: Triples, shape: tuple[int, int, int], rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return stacks of both tables when disagreements change sides."""
    n_classes = shape[1]
    low = np.minimum(triples.first, triples.second)
    high = np.maximum(triples.first, triples.second)
    drawn = rng.binomial(triples.counts, triples.forward, size=(shape[0], len(low)))
    rest = triples.counts - drawn
    at_low, at_high = (triples.true * n_classes + x for x in (low, high))
    one = _tables(drawn, at_low, shape) + _tables(rest, at_high, shape)
    return one, _tables(drawn, at_high, shape) + _tables(rest, at_low, shape)


def _tables(draws: NDArray[np.int64], keys: NDArray[np.intp], shape: tuple[int, ...]) -> FloatArray:
    """Return tables of numbers of samples whose cells are known by their flat places."""
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(keys[order]) > 0])
    flat = np.zeros((shape[0], shape[1] * shape[2]))
    flat[:, keys[order][starts]] = np.add.reduceat(draws[:, order], starts, axis=1)
    return flat.reshape(shape)


def overlap_interval(
    difference: FloatArray,
    errors: FloatArray,
    by_chance: Callable[[], Iterable[FloatArray]],
    noise: Callable[[], Iterable[FloatArray]],
    level: float,
) -> tuple[float, float]:
    r"""Return the ends of an interval for the Overlap without noise.

    Parameters
    ----------
    difference, errors : ndarray of shape (n_classes, n_classes)
        Of the bi-normalized matrices, and its standard errors.
    by_chance : callable
        Gives stacks of differences as of equal classifiers, the same whenever it is called.
    noise : callable
        Gives stacks of noise in the difference.
    level : float

    Notes
    -----
    Noise only adds to the distance :math:`\sum |d|`: by its mean in equal classifiers where
    :math:`d = 0`, by nothing where :math:`d` is large. Which cells are which is unknown, so each
    end takes what is worse for it. The lower end takes off nothing. The upper end takes off what
    chance adds, from cells in proportion to :math:`\exp(-d^2 / 2 (0.6\,s)^2)`, with a factor such
    that equal classifiers have distance zero on average. Then both ends move by the usual multiple
    of their standard errors.
    """
    z = float(ndtri(0.5 + level / 2))
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
    moved, moved_close = _measured((difference + stack for stack in noise()), distance, near)
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
