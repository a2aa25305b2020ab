"""What the difference of two bi-normalized matrices would be by chance, from simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deconfuse.scaling import scale
from deconfuse.statistics.cells import Cells
from deconfuse.statistics.sensitivity import Sensitivity

__all__ = [
    "Side",
    "Triples",
    "common_matrix",
    "overlap_interval",
    "paired_noise",
    "simulated_distances",
    "unpaired_noise",
]

FloatArray = NDArray[np.float64]

# Up to this number of classes every replicate is bi-normalized; above it, the change is linear.
_MAX_EXACT = 300
_COMMON_STEPS = 8
_LARGEST_MULTIPLE = 2.5
_BATCH_CELLS = 4_000_000
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
        if moved < 1e-6:
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
    # Chance draws from this fit and nobody reads it: a hundred-millionth of the samples is enough.
    solution = scale(
        common,
        values.sum(axis=1),
        values.sum(axis=0),
        tolerance=1e-8 * float(values.sum()),
        throw=False,
    )
    return np.asarray(solution.matrix)


def unpaired_noise(
    first: Side, second: Side, n_resamples: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield stacks of differences of bi-normalized matrices that are equal up to margins.

    Parametric bootstrap: counts are drawn from the fit of the common matrix, so that cells where
    no sample was seen vary too.
    """
    common = common_matrix(first, second)
    normalize = _normalizer(common)
    plans = []
    for side in (first, second):
        expected = fitted_counts(common, side)
        seen = float(side.cells.values.sum()) - side.epsilon * expected.size
        plans.append((side, expected, max(1, round(seen / side.cells.unit))))
    for size in _batches(n_resamples, common.size):
        draws = []
        for side, expected, n_samples in plans:
            shares = (expected / expected.sum()).ravel()
            counts = rng.multinomial(n_samples, shares, size=size) * side.cells.unit
            stack = counts.astype(np.float64).reshape(-1, *expected.shape)
            draws.append(normalize(stack, side.epsilon, expected))
        yield draws[0] - draws[1]


def paired_noise(
    first: Side, second: Side, triples: Triples, n_resamples: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield stacks of the noise in the difference when the same samples are drawn anew for both."""
    n_classes = len(first.matrix)
    total = int(triples.counts.sum())
    sides = [
        (side, predicted, _normalizer(side.matrix))
        for side, predicted in ((first, triples.first), (second, triples.second))
    ]
    for size in _batches(n_resamples, first.matrix.size):
        draws = rng.multinomial(total, triples.counts / total, size=size)
        changes = []
        for side, predicted, normalize in sides:
            keys = triples.true * n_classes + predicted
            order = np.argsort(keys, kind="stable")
            starts = np.flatnonzero(np.r_[True, np.diff(keys[order]) > 0])
            flat = np.zeros((size, n_classes**2))
            flat[:, keys[order][starts]] = np.add.reduceat(draws[:, order], starts, axis=1)
            stack = flat.reshape(-1, n_classes, n_classes)
            changes.append(normalize(stack, side.epsilon, side.cells.values) - side.matrix)
        yield changes[0] - changes[1]


def simulated_distances(difference: FloatArray, noise: Iterable[FloatArray]) -> FloatArray:
    """Return one minus the Overlap when so many times the difference is true and noise is added.

    Parameters
    ----------
    difference : ndarray of shape (n_classes, n_classes)
    noise : iterable of ndarray of shape (n, n_classes, n_classes)

    Returns
    -------
    ndarray of shape (n_multiples, n_resamples)
        For the multiples of `multiples_of`; the first is zero, noise alone.
    """
    multiples = multiples_of(len(difference))
    parts = [
        np.stack([np.abs(multiple * difference + stack).sum(axis=(1, 2)) for multiple in multiples])
        for stack in noise
    ]
    return np.asarray(np.concatenate(parts, axis=1) / (2.0 * len(difference)))


def multiples_of(n_classes: int) -> FloatArray:
    """Return the multiples of the difference seen that are tried as the true one."""
    size = 101 if n_classes <= 100 else 26 if n_classes <= 300 else 11
    return np.linspace(0.0, _LARGEST_MULTIPLE, size)


def overlap_interval(
    distance: float, distances: FloatArray, level: float, n_classes: int
) -> tuple[float, float]:
    """Return an interval for the true Overlap, by inverting a test.

    Noise makes two matrices look more different than they are, so the Overlap seen is too low and
    an interval around it would miss. Here a true difference of a multiple of the one seen is
    supposed, noise is added, and the multiples are kept for which the distance seen is not unusual.
    """
    if distance == 0:
        return 1.0, 1.0
    multiples = multiples_of(n_classes)
    tail = (1 - level) / 2
    low, high = np.quantile(distances, [tail, 1 - tail], axis=1)
    possible = multiples[(low <= distance) & (distance <= high)]
    # Noise adds distance, so the Overlap seen bounds the true one from below. The multiples alone
    # would claim more where cells are many and samples few: the difference seen is then mostly
    # noise, and no multiple of it is like the true one.
    most = max(1.0, float(possible[-1])) if possible.size else 1.0
    least = float(possible[0]) if possible.size else 0.0
    ends = np.clip(1 - distance * np.array([most, least]), 0.0, 1.0)
    return float(ends[0]), float(ends[1])


def _batches(n_resamples: int, n_cells: int) -> Iterator[int]:
    """Yield batch sizes that keep a stack of matrices small."""
    size = max(1, _BATCH_CELLS // n_cells)
    for start in range(0, n_resamples, size):
        yield min(size, n_resamples - start)


def _normalizer(matrix: FloatArray) -> Callable[[FloatArray, float, FloatArray], FloatArray]:
    """Return a function that bi-normalizes stacks of counts around an expectation.

    Exactly for up to 300 classes, to first order around ``matrix`` for more.
    """
    if len(matrix) <= _MAX_EXACT:
        return lambda counts, epsilon, expected: np.asarray(
            scale(counts, epsilon=epsilon, throw=False).matrix
        )
    sensitivity = Sensitivity.of(matrix)

    def to_first_order(counts: FloatArray, epsilon: float, expected: FloatArray) -> FloatArray:
        noise = (matrix / expected) * (counts + epsilon - expected)
        return matrix + sensitivity.change(noise)

    return to_first_order
