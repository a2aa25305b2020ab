"""Whether two classes are confused more than errors spread evenly over all pairs would explain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, poisson

from deconfuse.normalization import Normalized
from deconfuse.statistics.cells import sample_unit
from deconfuse.statistics.similarity import pick_cells

__all__ = ["surely_uneven"]

FloatArray = NDArray[np.float64]

# How many standard deviations of a count are looked at.
_REACH = 40.0
# Logs of counts as large as this are normal for all purposes.
_MANY = 1e6


def surely_uneven(
    normalized: Normalized, pairs: Sequence[tuple[int, int]], level: float
) -> NDArray[np.bool_]:
    r"""Return which pairs are confused more than they would be, were all pairs equally alike.

    Parameters
    ----------
    normalized : Normalized
        The bi-normalized matrix.
    pairs : sequence of (int, int)
        Positions of the classes.
    level : float
        One minus the chance of any false alarm, among all pairs of the matrix.

    Returns
    -------
    ndarray of shape (n_pairs,)

    Notes
    -----
    Were all pairs equally alike, every cell beside the diagonal of the bi-normalized matrix would
    be :math:`\beta = (n - \mathrm{tr} B) / (n (n - 1))`, and the counts of a pair Poisson numbers
    of mean :math:`\beta / (l_i r_j)` and :math:`\beta / (l_j r_i)`, epsilon taken off, with the
    factors :math:`l, r` of the normalization. The p-value is the probability of a product of the
    two at least as large as the one seen, which is what similarity is made of, times the number of
    all pairs. Unlike an interval, it holds for counts of one and two. Pairs that were found are
    left out of :math:`\beta`, and the others are looked at once more.
    """
    counts, expected, shares = _cells(normalized, pairs)
    n_classes = normalized.source.n_classes
    n_cells = n_classes * (n_classes - 1)
    rest = n_classes - _trace(normalized)
    epsilon = normalized.epsilon / sample_unit(normalized.source)
    found = np.zeros(len(pairs), dtype=bool)
    while not found.all():
        left_over = max(rest - float(shares[found].sum()), 0.0)
        even = left_over / max(n_cells - 2 * int(found.sum()), 1)
        means = np.maximum(even * expected - epsilon, 0.0)
        now = np.array(
            [
                not done and _at_least(seen, mean, epsilon) * (n_cells / 2) <= 1 - level
                for done, seen, mean in zip(found, counts, means, strict=True)
            ]
        )
        if not now.any():
            break
        found |= now
    return found


def _trace(normalized: Normalized) -> float:
    diagonal = np.asarray(normalized.source.counts.diagonal(), dtype=np.float64)
    return float((normalized.left * (diagonal + normalized.epsilon) * normalized.right).sum())


def _cells(
    normalized: Normalized, pairs: Sequence[tuple[int, int]]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return, of both cells of each pair: samples, samples in a cell of one, and the cells' sum."""
    matrix, unit = normalized.source.counts, sample_unit(normalized.source)
    both = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    rows, columns = both, both[:, ::-1]
    counts = pick_cells(matrix, (rows.ravel(), columns.ravel())).reshape(-1, 2)
    scale = normalized.left[rows] * normalized.right[columns]
    shares = ((counts + normalized.epsilon) * scale).sum(axis=1)
    return counts / unit, 1 / (scale * unit), shares


def _at_least(seen: FloatArray, means: FloatArray, epsilon: float) -> float:
    """Return the probability of a product (x + epsilon)(y + epsilon) as large as the one seen."""
    product = (seen[0] + epsilon) * (seen[1] + epsilon)
    if means.min() > _MANY:
        gap = np.log(product) - np.log(means + epsilon).sum()
        return float(norm.sf(gap / np.sqrt((1 / means).sum())))
    few, many = np.sort(means)
    spread = _REACH * (1 + np.sqrt(few))
    x = np.arange(max(0, int(few - spread)), int(few + spread) + 1)
    with np.errstate(divide="ignore"):
        # Rounding must not make the very numbers seen too small.
        needed = np.ceil(product / (x + epsilon) * (1 - 1e-12) - epsilon)
    chance = poisson.pmf(x, few) * poisson.sf(needed - 1, many)
    return float(min(chance.sum(), 1.0))
