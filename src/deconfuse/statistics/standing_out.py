"""Whether two classes are confused more than errors spread evenly over all pairs would explain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import norm, poisson

from deconfuse.normalization import Normalized
from deconfuse.scaling import scale
from deconfuse.statistics.cells import sample_unit
from deconfuse.statistics.similarity import pick_cells

__all__ = ["surely_uneven"]

FloatArray = NDArray[np.float64]

# How many standard deviations of a count are looked at.
_REACH = 40.0
# Logs of counts as large as this are normal for all purposes.
_MANY = 1e4
# The trace is met to this share of the errors, which is far below their noise.
_TRACE_TOLERANCE, _MOST_FITS = 1e-4, 30
# And the shares of rows and columns to this.
_SHARE_TOLERANCE = 1e-9


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
    Were all pairs equally alike, every count would be a Poisson number of mean :math:`a_i b_j`
    beside the diagonal and :math:`K a_i b_i` on it: classes of any size and favour, and one number
    for how well they are told apart. This is fitted by maximum likelihood, which is to meet the
    sums of rows and columns and the trace. The p-value of a pair is the probability of a product of
    its two counts at least as large as the one seen, which is what similarity is made of, times the
    number of all pairs. Unlike an interval, it holds for counts of one and two. In pairs that were
    found the counts are then replaced by their means, and the others are looked at once more.
    """
    unit = sample_unit(normalized.source)
    epsilon = normalized.epsilon / unit
    matrix = normalized.source.counts
    both = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    counts = pick_cells(matrix, (both.ravel(), both[:, ::-1].ravel())).reshape(-1, 2) / unit
    row_sums, column_sums = (np.asarray(matrix.sum(axis=axis)).ravel() / unit for axis in (1, 0))
    trace = float(matrix.diagonal().sum()) / unit
    n_pairs = len(row_sums) * (len(row_sums) - 1) / 2
    found = np.zeros(len(both), dtype=bool)
    means = counts
    while not found.all():
        # What was found in a pair is no sign of what is usual.
        excess = np.where(found[:, None], counts - means, 0.0)
        rows, columns = row_sums.copy(), column_sums.copy()
        np.subtract.at(rows, both, excess)
        np.subtract.at(columns, both[:, ::-1], excess)
        left, right = _even_rates(rows, columns, trace)
        means = left[both] * right[both[:, ::-1]]
        now = np.array(
            [
                not done and _at_least(seen, mean, epsilon) * n_pairs <= 1 - level
                for done, seen, mean in zip(found, counts, means, strict=True)
            ]
        )
        if not now.any():
            break
        found |= now
    return found


def _even_rates(
    rows: FloatArray, columns: FloatArray, trace: float
) -> tuple[FloatArray, FloatArray]:
    """Return the factors of the means beside the diagonal; NaN where nothing is known of a class.

    A matrix of ones with another number on its diagonal is scaled to the sums of rows and columns,
    for the number that gives the trace.
    """
    used = (rows > 0) & (columns > 0)
    total, size = float(rows[used].sum()), int(used.sum())
    factors = np.full((2, len(rows)), np.nan)
    errors = total - trace
    if size < 2 or not 0 < errors < total:
        return factors[0], factors[1]
    # A class on one side only has no diagonal; what it takes from the other side is shared out.
    shares = rows[used] / total, columns[used] / columns[used].sum()
    ratio = max((size - 1) * trace / errors, 1.0)
    for _ in range(_MOST_FITS):
        diagonal = sparse.diags_array(np.full(size, ratio - 1.0)).tocsr()
        fit = scale(
            diagonal, rows=shares[0], columns=shares[1], epsilon=1.0, tolerance=_SHARE_TOLERANCE
        )
        fitted = total - total * float(ratio * (fit.left * fit.right).sum())
        if abs(fitted - errors) <= _TRACE_TOLERANCE * errors or ratio <= 1:
            break
        # The odds of a hit go nearly as the ratio does.
        ratio = max(ratio * (fitted / errors) * ((total - errors) / (total - fitted)), 1.0)
    factors[0, used], factors[1, used] = fit.left * total, fit.right
    return factors[0], factors[1]


def _at_least(seen: FloatArray, means: FloatArray, epsilon: float) -> float:
    """Return the probability of a product (x + epsilon)(y + epsilon) as large as the one seen."""
    if np.isnan(means).any():
        return 1.0
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
