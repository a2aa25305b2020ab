"""What the difference of two bi-normalized matrices would be by chance, from simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deconfuse.scaling import scale
from deconfuse.statistics.cells import Cells
from deconfuse.statistics.sensitivity import Sensitivity

__all__ = ["Side", "Triples", "common_matrix", "overlap_interval", "paired_noise", "unpaired_noise"]

FloatArray = NDArray[np.float64]

# Up to this number of classes every replicate is bi-normalized; above it, the change is linear.
_MAX_EXACT = 300
_COMMON_STEPS = 8
_LARGEST_MULTIPLE = 2.5
_GRID = 101
# Good and Turing's number is spread evenly over cells that are not even, which exaggerates how much
# they vary; with this part of it, simulated matrices overlap as much as real ones do.
_UNSEEN = 0.4


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of two matrices under comparison: its cells with epsilon, and its bi-normalization."""

    cells: Cells
    matrix: FloatArray
    epsilon: float

    @property
    def exposures(self) -> FloatArray:
        """How many samples a cell would have for a bi-normalized value of one."""
        return np.asarray(self.cells.values / self.matrix)


@dataclass(frozen=True, slots=True, eq=False)
class Triples:
    """Kinds of samples (true class, first prediction, second prediction) and their numbers."""

    true: NDArray[np.intp]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    counts: NDArray[np.int64]


def common_matrix(first: Side, second: Side) -> FloatArray:
    """Return the bi-normalized matrix that both have in common, if they differ by margins alone.

    The maximum-likelihood fit of two tables without three-way interaction: for given factors the
    common cell is samples over exposures, for a given matrix the factors come from scaling it to
    the margins; a few rounds of both.
    """
    sides = (first, second)
    exposures = [side.exposures for side in sides]
    seen = sum((side.cells.values - side.epsilon) / side.cells.unit for side in sides)
    samples = _smoothed(np.asarray(seen))
    common = first.matrix
    for _ in range(_COMMON_STEPS):
        exposed = sum(e / side.cells.unit for e, side in zip(exposures, sides, strict=True))
        updated = np.asarray(scale(samples / exposed).matrix)
        moved = float(np.abs(updated - common).max())
        common = updated
        exposures = [fitted_counts(common, side) / common for side in sides]
        if moved < 1e-8:
            break
    return common


def _smoothed(counts: FloatArray) -> FloatArray:
    """Return counts with something in the cells where no sample was seen.

    Good and Turing: in another such sample the cells that are empty now would together hold as many
    samples as there are cells with one now. Counts as they are would never put a sample there, and
    so vary too little.
    """
    empty = counts < 0.5
    n_single = float(((counts >= 0.5) & (counts < 1.5)).sum())
    result = counts.copy()
    result[empty] = _UNSEEN * max(n_single, 1.0) / max(float(empty.sum()), 1.0)
    return result


def fitted_counts(common: FloatArray, side: Side) -> FloatArray:
    """Return the common matrix scaled to the margins of one side."""
    values = side.cells.values
    solution = scale(common, values.sum(axis=1), values.sum(axis=0), throw=False)
    return np.asarray(solution.matrix)


def unpaired_noise(
    first: Side, second: Side, n_resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Return differences of bi-normalized matrices when both sides are equal up to margins.

    Parametric bootstrap: counts are drawn from the fit of the common matrix, so that cells where
    no sample was seen vary too.
    """
    common = common_matrix(first, second)
    draws = []
    for side in (first, second):
        expected = fitted_counts(common, side)
        unit = side.cells.unit
        size = max(1, round(float((side.cells.values.sum() - side.epsilon * expected.size) / unit)))
        shares = (expected / expected.sum()).ravel()
        counts = rng.multinomial(size, shares, size=n_resamples).astype(np.float64) * unit
        stack = counts.reshape(-1, *expected.shape)
        draws.append(_bi_normalized(stack, side.epsilon, expected, common))
    return np.asarray(draws[0] - draws[1])


def paired_noise(
    first: Side, second: Side, triples: Triples, n_resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Return the noise in the difference when the same samples are drawn anew for both."""
    n_classes = len(first.matrix)
    total = int(triples.counts.sum())
    draws = rng.multinomial(total, triples.counts / total, size=n_resamples)
    changes = []
    for side, predicted in ((first, triples.first), (second, triples.second)):
        keys = triples.true * n_classes + predicted
        flat = np.zeros((n_resamples, n_classes**2))
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(keys[order]) > 0])
        flat[:, keys[order][starts]] = np.add.reduceat(draws[:, order], starts, axis=1)
        counts = flat.reshape(-1, n_classes, n_classes)
        matrices = _bi_normalized(counts, side.epsilon, side.cells.values, side.matrix)
        changes.append(matrices - side.matrix)
    return np.asarray(changes[0] - changes[1])


def overlap_interval(
    distance: float, difference: FloatArray, noise: FloatArray, level: float
) -> tuple[float, float]:
    """Return an interval for the true Overlap, by inverting a test.

    Noise makes two matrices look more different than they are, so the Overlap seen is too low and
    an interval around it would miss. Here a true difference of a multiple of the one seen is
    supposed, noise is added, and the multiples are kept for which the distance seen is not unusual.
    """
    if distance == 0:
        return 1.0, 1.0
    multiples = np.linspace(0.0, _LARGEST_MULTIPLE, _GRID)
    scale_factor = 2.0 * len(difference)
    distances = np.stack(
        [np.abs(multiple * difference + noise).sum(axis=(1, 2)) for multiple in multiples]
    )
    distances /= scale_factor
    tail = (1 - level) / 2
    low, high = np.quantile(distances, [tail, 1 - tail], axis=1)
    possible = multiples[(low <= distance) & (distance <= high)]
    if possible.size == 0:
        # Less different than noise alone makes them: nothing but equality is left.
        return 1.0, 1.0
    ends = 1 - distance * np.array([possible[-1], possible[0]])
    return float(np.clip(ends[0], 0.0, 1.0)), float(np.clip(ends[1], 0.0, 1.0))


def _bi_normalized(
    counts: FloatArray, epsilon: float, expected: FloatArray, matrix: FloatArray
) -> FloatArray:
    """Return bi-normalized counts: exactly for few classes, to first order for many."""
    if len(matrix) <= _MAX_EXACT:
        return np.asarray(scale(counts, epsilon=epsilon, throw=False).matrix)
    noise = (matrix / expected) * (counts + epsilon - expected)
    return matrix + Sensitivity.of(matrix).change(noise)
