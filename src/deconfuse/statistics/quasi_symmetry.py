r"""Test whether bias alone explains confusions that are more frequent one way.

If it does (quasi-symmetry), each of the :math:`N_{ij} = m_{ij} + m_{ji}` confusions of two classes
goes one way or the other by odds :math:`b_j / b_i`. How often each class was wrongly given and
wrongly missed is then sufficient for all :math:`b`, and given that and all :math:`N`,

.. math:: P(m) \propto \prod_{i < j} \binom{N_{ij}}{m_{ij}},

whatever the biases. The table seen is ranked among draws from this: nothing is estimated, and no
number needs to be large. Tables with the same sums differ by samples that move round circles of
classes; a confusion that lies on no circle of confusions is the same in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit, xlogy

from deconfuse.statistics.cells import gamma_tail
from deconfuse.statistics.conditional import Chain, Step

__all__ = ["bradley_terry", "symmetry_p_value"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
PlaceArray = NDArray[np.intp]

_DRAWS, _FEWEST_DRAWS, _DRAWN_PAIRS = 999, 199, 400_000
_SWEEPS, _FEWEST_SWEEPS, _MOVED_PAIRS = 60, 20, 15_000_000
# Pairs up to which tables are drawn. More of them are enough for the normal law of their sum.
_MAX_PAIRS = 5_000
# Where this share of all pairs was confused, most triangles of classes have all three sides.
_DENSE = 0.45
# Pairs put into circles one by one; circles are used again where pairs are many.
_PACKED_PAIRS = 40_000
# No circle is longer than there are pairs.
_LENGTHS = (3, 8, 32, 128, 512, 2048, _MAX_PAIRS)
_DENSE_PACKINGS = 6
_NEWTON_STEPS = 60
# Keeps steps definite, where a common shift changes nothing.
_RIDGE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Pairs of classes whose confusions could have gone another way.

    Attributes
    ----------
    low, high : ndarray of int of shape (n_pairs,)
        Their classes, numbered anew.
    forward, total : ndarray of int of shape (n_pairs,)
        Confusions of the lower as the higher, and of both ways.
    parts : ndarray of int of shape (n_classes,)
        Of each class, with which others it is linked both ways.
    """

    low: PlaceArray
    high: PlaceArray
    forward: IntArray
    total: IntArray
    parts: NDArray[np.int32]

    @property
    def n_free(self) -> int:
        """How many pairs are left when the biases have explained what they can."""
        return len(self.low) - (len(self.parts) - len(np.unique(self.parts)))


def symmetry_p_value(counts: IntArray, rng: np.random.Generator) -> float:
    """Return the p-value of quasi-symmetry; counts on the diagonal do not matter.

    It is one where no other table has the same sums, and at least one over the number of draws:
    0.001, with many pairs up to 0.005.

    Tables are ranked by their deviance from the likeliest biases, which found more than Pearson's
    statistic where most pairs were confused once or twice. Above 5,000 confused pairs the statistic
    of Farrington (1996), whose mean and variance hardly depend on the biases, is compared with a
    gamma distribution of the same mean and variance.

    Examples
    --------
    >>> import numpy as np
    >>> one_way = np.array([[0, 20, 1], [1, 0, 20], [20, 1, 0]])
    >>> symmetry_p_value(one_way, np.random.default_rng(0))
    0.001
    """
    pairs = _free_pairs(counts)
    if pairs.n_free <= 0:
        return 1.0
    share = _shares(pairs)
    if len(pairs.low) > _MAX_PAIRS:
        return _large_sample_p_value(pairs, share)
    n_draws = int(np.clip(_DRAWN_PAIRS // len(share), _FEWEST_DRAWS, _DRAWS))
    n_sweeps = int(
        np.clip(_MOVED_PAIRS // (n_draws * len(share)), _FEWEST_SWEEPS, _SWEEPS),
    )
    # One more place, which holds nothing, fills up the shorter circles.
    chain = Chain(np.append(pairs.total, 0), np.append(share, 0.5), rng)
    steps = list(_steps(pairs, chain, n_sweeps, rng))
    seen = np.append(pairs.forward, 0)
    own = _deviance(seen[:-1, None], pairs, share)
    drawn = list(chain.draws(seen, steps, n_draws))
    if not any((draws[:-1] != seen[:-1, None]).any() for draws in drawn):
        # Other tables exist, but only by moves round long one-way circles that none of ours is.
        return _large_sample_p_value(pairs, share)
    values = np.concatenate([_deviance(draws[:-1], pairs, share) for draws in drawn])
    # Sums in another order differ in the last digits; equal tables must stay equal.
    return float((1 + np.sum(values >= own - 1e-9 * (1 + own))) / (1 + n_draws))


def _free_pairs(counts: IntArray) -> _Pairs:
    """Return the pairs within classes that are linked by confusions both ways."""
    errors = counts.copy()
    np.fill_diagonal(errors, 0)
    _, parts = sparse.csgraph.connected_components(
        sparse.csr_array(errors > 0), connection="strong"
    )
    total = errors + errors.T
    low, high = np.nonzero(np.triu((total > 0) & (parts[:, None] == parts), 1))
    kept, numbered = np.unique(np.r_[low, high], return_inverse=True)
    return _Pairs(
        low=numbered[: len(low)].astype(np.intp),
        high=numbered[len(low) :].astype(np.intp),
        forward=errors[low, high],
        total=total[low, high],
        parts=parts[kept],
    )


def _shares(pairs: _Pairs) -> FloatArray:
    """Return the likeliest share of each pair that goes forward, if biases alone decide."""
    bias = bradley_terry(pairs.low, pairs.high, pairs.forward, pairs.total, len(pairs.parts))
    return np.clip(expit(bias[pairs.high] - bias[pairs.low]), 1e-12, 1 - 1e-12)


def bradley_terry(
    low: PlaceArray, high: PlaceArray, forward: NDArray[Any], total: NDArray[Any], n_classes: int
) -> FloatArray:
    """Return the likeliest biases, of mean zero, if they alone decide which way confusions go.

    ``forward`` are confusions of the lower class of each pair as the higher, ``total`` all of them.
    """

    def by_class(values: FloatArray) -> FloatArray:
        gained, lost = (np.bincount(end, values, n_classes) for end in (high, low))
        return np.asarray(gained - lost)

    bias = np.zeros(n_classes)
    for _ in range(_NEWTON_STEPS):
        share = expit(bias[high] - bias[low])
        gradient = by_class(forward - total * share)
        if np.abs(gradient).max() < 1e-9 * total.max():
            break
        weights = total * share * (1 - share)
        both = np.bincount(high, weights, n_classes) + np.bincount(low, weights, n_classes)
        # A common shift of all linked classes changes nothing.
        diagonal = np.asarray((1 + _RIDGE) * both, dtype=np.float64)

        def times(
            vector: FloatArray, weights: FloatArray = weights, diagonal: FloatArray = diagonal
        ) -> FloatArray:
            return by_class(weights * (vector[high] - vector[low])) + _RIDGE * diagonal * vector

        hessian = LinearOperator((n_classes,) * 2, matvec=times, dtype=np.float64)
        jacobi = LinearOperator(hessian.shape, matvec=lambda v, d=diagonal: v / d, dtype=np.float64)
        step, _ = cg(hessian, gradient, rtol=1e-8, maxiter=500, M=jacobi)
        largest = float(np.abs(step).max())
        bias += step * min(1.0, 2.0 / max(largest, 1e-300))
        if largest < 1e-6:
            break
    return np.asarray(bias - bias.mean())


def _deviance(forward: IntArray, pairs: _Pairs, share: FloatArray) -> FloatArray:
    """Return the deviance of each column from what biases alone would make."""
    total, mean = pairs.total[:, None], (pairs.total * share)[:, None]
    back = total - forward
    parts = xlogy(forward, forward / mean) + xlogy(back, back / (total - mean))
    return np.asarray(2 * parts.sum(axis=0))


def _large_sample_p_value(pairs: _Pairs, share: FloatArray) -> float:
    """Return the p-value of Farrington's statistic, whose moments hardly depend on the biases.

    A pair adds one on average, less what the fit takes up of it; a pair that was confused once
    always adds one.
    """
    spread = pairs.total * share * (1 - share)
    away = pairs.forward - pairs.total * share
    statistic = float((away * (away - (1 - 2 * share)) / spread).sum())
    n_classes = len(pairs.parts)
    weight = np.bincount(pairs.low, spread, n_classes) + np.bincount(pairs.high, spread, n_classes)
    # Where a class has many others, this is how much of a pair is its share in the biases.
    taken = spread / weight[pairs.low] + spread / weight[pairs.high]
    taken *= (len(share) - pairs.n_free) / taken.sum()
    varies = 1 - 1 / pairs.total
    mean = float((1 - taken * varies).sum())
    variance = 2 * pairs.n_free / len(share) * float(varies.sum())
    if variance < 1:
        return 1.0
    return gamma_tail(statistic, mean, variance)


def _steps(pairs: _Pairs, chain: Chain, n_sweeps: int, rng: np.random.Generator) -> Iterator[Step]:
    """Yield steps round circles of classes that have no pair in common."""
    n_classes, n_pairs = len(pairs.parts), len(pairs.low)
    place = np.full((n_classes, n_classes), n_pairs, dtype=np.intp)
    place[pairs.low, pairs.high] = place[pairs.high, pairs.low] = np.arange(n_pairs)
    is_dense = 2 * n_pairs >= _DENSE * n_classes * (n_classes - 1)
    most = _DENSE_PACKINGS if is_dense else n_sweeps
    n_packings = int(np.clip(_PACKED_PAIRS // n_pairs, 2, most))
    packings = [
        [_round(circles, place, chain) for circles in _packing(pairs, rng)]
        for _ in range(n_packings)
    ]
    for sweep in range(n_sweeps):
        if is_dense:
            # Quick, but no way round pairs that are on no triangle, as between two groups.
            circles = _triangles(n_classes, rng)
            is_whole = (place[circles, np.roll(circles, -1, axis=0)] < n_pairs).all(axis=0)
            yield _round(circles[:, is_whole], place, chain)
        yield from packings[sweep % n_packings]


def _round(circles: PlaceArray, place: PlaceArray, chain: Chain) -> Step:
    """Return the step round circles of classes, of shape (length, n); -1 fills up short ones."""
    following = np.roll(circles, -1, axis=0)
    # The class after the last one is the first, also where the end is filled up.
    is_last = (circles >= 0) & (following < 0)
    following = np.where(is_last, circles[0], following)
    is_pair = circles >= 0
    cells = np.where(is_pair, place[circles, following], place.max())
    signs = np.where(is_pair, np.where(circles < following, 1, -1), 0)
    return chain.step(cells, signs.astype(np.int64))


def _triangles(n_classes: int, rng: np.random.Generator) -> PlaceArray:
    """Return triangles of which no two share a side, of shape (3, n): a Latin square of classes."""
    third = n_classes // 3
    groups = rng.permutation(n_classes)[: 3 * third].reshape(3, third)
    first, second = np.divmod(np.arange(third**2), max(third, 1))
    return np.stack([groups[0][first], groups[1][second], groups[2][(first + second) % third]])


def _packing(pairs: _Pairs, rng: np.random.Generator) -> list[PlaceArray]:
    """Return circles that share no pair, triangles first, until no circle is left."""
    n_classes = len(pairs.parts)
    name = rng.permutation(n_classes)
    left: list[set[int]] = [set() for _ in range(n_classes)]
    for low, high in zip(name[pairs.low].tolist(), name[pairs.high].tolist(), strict=True):
        left[low].add(high)
        left[high].add(low)
    circles: dict[int, list[list[int]]] = {}
    for circle in (*_packed_triangles(left), *_packed_circles(left)):
        # A few lengths, so that steps are few.
        size = next(most for most in _LENGTHS if len(circle) <= most)
        circles.setdefault(size, []).append(circle + [-1] * (size - len(circle)))
    original = np.append(np.argsort(name), -1)
    return [original[np.array(group, dtype=np.intp).T] for group in circles.values()]


def _packed_triangles(left: list[set[int]]) -> Iterator[list[int]]:
    """Take triangles out of a graph."""
    for a, around in enumerate(left):
        for b in list(around):
            if b not in around:
                continue
            for c in left[b]:
                if c in around:
                    for x, y in ((a, b), (b, c), (c, a)):
                        left[x].remove(y)
                        left[y].remove(x)
                    yield [a, b, c]
                    break


def _packed_circles(left: list[set[int]]) -> Iterator[list[int]]:
    """Take circles out of a graph, by walks that end where they have been."""
    for start in range(len(left)):
        path, position = [start], {start: 0}
        while path:
            here = path[-1]
            if not left[here]:
                position.pop(path.pop())
                continue
            to = left[here].pop()
            left[to].remove(here)
            if to not in position:
                position[to] = len(path)
                path.append(to)
                continue
            yield path[position[to] :]
            for gone in path[position[to] + 1 :]:
                del position[gone]
            del path[position[to] + 1 :]
