"""Correct p-values for the number of tests."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from deconfuse.errors import InputError

__all__ = ["Correction", "adjust", "holm"]

FloatArray = NDArray[np.float64]
Correction = Literal["holm", "bh", "none"]


def adjust(p_values: FloatArray, correction: Correction) -> FloatArray:
    """Return p-values of any shape, corrected together; NaN stays NaN and does not count.

    Examples
    --------
    >>> adjust(np.array([0.01, 0.04, 0.03]), "holm")
    array([0.03, 0.06, 0.06])
    """
    if correction not in get_args(Correction):
        names = ", ".join(f'"{name}"' for name in get_args(Correction))
        raise InputError(f"`correction` must be one of {names}, got {correction!r}.")
    result = p_values.astype(np.float64)
    known = ~np.isnan(result)
    if correction == "holm":
        result[known] = holm(result[known])
    elif correction == "bh":
        result[known] = false_discovery_control(result[known])
    return result


def holm(p_values: FloatArray) -> FloatArray:
    """Return Holm's p-values: the chance of any false alarm is kept.

    Holm, "A simple sequentially rejective multiple test procedure", 1979.
    """
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    stepped = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    result = np.empty_like(stepped)
    result[order] = stepped
    return np.asarray(result)
