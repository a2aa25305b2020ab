"""How far to follow a direction along which a convex function falls."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deconfuse.scaling.problem import FloatArray

__all__ = ["up_to_the_minimum"]

_HALVINGS = 40
# Share of the first slope that may be left, either way, where the search ends.
_SLOPE_LEFT = 0.3


def up_to_the_minimum(
    slope_at: Callable[[FloatArray], FloatArray], longest: FloatArray, slope: FloatArray
) -> FloatArray:
    """Return lengths at which functions no longer fall steeply and do not rise steeply yet.

    Far from the solution the dual function of a scaling is nearly piecewise linear: a step that
    only has to end lower than it began may end far beyond the kink it should stop at, and the next
    one would come all the way back.

    Parameters
    ----------
    slope_at : callable
        Slopes of the functions at the lengths given, one of each.
    longest : ndarray
        Where the functions are still lower than at zero.
    slope : ndarray
        Slopes at zero, which are negative.

    Examples
    --------
    >>> up_to_the_minimum(lambda t: np.sign(t - 1.0), np.array([64.0]), np.array([-1.0]))
    array([1.])
    """
    low, high, length = np.zeros_like(longest), longest, longest
    for _ in range(_HALVINGS):
        now = slope_at(length)
        is_good = np.abs(now) <= -_SLOPE_LEFT * slope
        is_good |= (now <= 0.0) & (length == longest)
        if is_good.all():
            break
        high = np.where(now > 0.0, length, high)
        low = np.where(now > 0.0, low, length)
        length = np.where(is_good, length, 0.5 * (low + high))
    return length
