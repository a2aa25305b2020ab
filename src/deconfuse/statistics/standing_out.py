"""Test whether two classes are confused more than evenly spread errors would explain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import betainc, gammainc

from deconfuse.confusion import ConfusionMatrix
from deconfuse.scaling import scale
from deconfuse.statistics.cells import sample_unit
from deconfuse.statistics.similarity import pick_cells

__all__ = ["StandingOut", "standing_out"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# The trace is met to this share of the errors, which is far below their noise.
_TRACE_TOLERANCE, _MOST_FITS = 1e-4, 30
# And the shares of rows and columns to this.
_SHARE_TOLERANCE = 1e-9
# Errors that a class without any may still have with others.
_UNSEEN = 0.5
# Sweeps of the second fit, which end sooner where nothing changes any more.
_SWEEPS = 500


class StandingOut(NamedTuple):
    """Which pairs stand out, as boolean vectors.

    Attributes
    ----------
    from_all_pairs : ndarray of shape (n_pairs,)
        Confused more than if all pairs of classes were equally similar.
    from_own_errors : ndarray of shape (n_pairs,)
        Confused more than the errors of both classes with other classes explain. A class that is
        hard to recognize at all explains the first, and not this.
    """

    from_all_pairs: BoolArray
    from_own_errors: BoolArray


def standing_out(cm: ConfusionMatrix, pairs: NDArray[np.intp], level: float) -> StandingOut:
    r"""Return which pairs are confused more than errors spread evenly would explain.

    Parameters
    ----------
    cm : ConfusionMatrix
    pairs : ndarray of int of shape (n_pairs, 2)
        Positions of the classes.
    level : float
        One minus the chance of any false alarm, among all pairs of the matrix.

    Returns
    -------
    StandingOut

    Notes
    -----
    If all pairs were equally similar, every count would be a Poisson number of mean :math:`a_i b_j`
    beside the diagonal and :math:`K a_i b_i` on it: classes of any size and prediction bias, and
    one number for how well they are recognized. This is fitted by maximum likelihood, which is to
    meet the sums of rows and columns and the trace. The p-value of a pair is the probability of at
    least as many confusions in both directions together, times the number of all pairs; for a
    factor common to both directions no test has more power. In pairs that were found the counts
    are then replaced by their means, and the others are tested again.

    Then the diagonal is left free, which is quasi-independence: the errors of each class are spread
    evenly, of one class more and of another less. The errors of two classes with all others, and
    how these are spread without what was found, say how often the two would be confused; the
    number is then negative binomial, because the errors with others are a sample themselves.
    """
    unit = sample_unit(cm)
    counts = pick_cells(cm.counts, (pairs.ravel(), pairs[:, ::-1].ravel())).reshape(-1, 2) / unit
    rows, columns, hits = (
        np.asarray(sums, dtype=np.float64) / unit
        for sums in (cm.label_counts, cm.prediction_counts, cm.counts.diagonal())
    )
    limit = (1 - level) / max(cm.n_classes * (cm.n_classes - 1) / 2, 1)
    together = counts.sum(axis=1)
    found = np.zeros(len(pairs), dtype=bool)
    means = counts
    while True:
        # What was found in a pair is no sign of what is usual.
        usual = [side.copy() for side in (rows, columns)]
        for side, ends in zip(usual, (pairs, pairs[:, ::-1]), strict=True):
            np.subtract.at(side, ends, np.where(found[:, None], counts - means, 0.0))
        left, right = _even_rates(usual[0], usual[1], float(hits.sum()))
        means = left[pairs] * right[pairs[:, ::-1]]
        # The probability of a Poisson number of at least so many; fractions are in between.
        now = ~found & (together > 0) & (gammainc(together, means.sum(axis=1)) <= limit)
        if not now.any():
            break
        found |= now
    spread = _error_rates(*(np.maximum(side - hits, 0.0) + _UNSEEN for side in usual))
    others = (rows - hits)[pairs] - counts, (columns - hits)[pairs[:, ::-1]] - counts
    return StandingOut(found, _beyond(counts, others, spread, pairs) <= limit)


def _beyond(
    counts: FloatArray,
    others: tuple[FloatArray, FloatArray],
    spread: tuple[FloatArray, FloatArray],
    pairs: NDArray[np.intp],
) -> FloatArray:
    """Return the probability of so many confusions of two classes, from their other errors."""
    true, pred = (np.maximum(side, 0.0) + _UNSEEN for side in others)
    rest = np.prod([side.sum() - side[pairs].sum(axis=1) for side in spread], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = true * pred / rest[:, None]
        variance = (means**2 * (1 / true + 1 / pred)).sum(axis=1)
        mean = means.sum(axis=1)
        size = mean**2 / variance
        chance = betainc(counts.sum(axis=1), size, mean / (mean + size))
    # Without a third class there are no other errors.
    return np.where(np.isfinite(chance), chance, 1.0)


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


def _error_rates(rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return factors whose products beside the diagonal have these sums of rows and columns."""
    left, right = np.zeros(len(rows)), columns / max(columns.sum(), 1.0)
    for _ in range(_SWEEPS):
        before = left
        left = _over(rows, right.sum() - right)
        right = _over(columns, left.sum() - left)
        if np.abs(left - before).max() <= _SHARE_TOLERANCE * left.max():
            break
    return left, right


def _over(sums: FloatArray, others: FloatArray) -> FloatArray:
    return np.divide(sums, others, out=np.zeros(len(sums)), where=(sums > 0) & (others > 0))
