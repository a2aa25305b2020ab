"""Tests of single cells of two bi-normalized matrices, also of predictions for the same samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.statistics.cells import cells_of
from deconfuse.statistics.conditional import Triples
from deconfuse.statistics.resampling import Side
from deconfuse.statistics.sensitivity import JointNoise, Sensitivity

__all__ = ["cell_tests", "rate_test", "shared_noise", "triples_of"]

FloatArray = NDArray[np.float64]

# Two predictions that agree on nearly all samples share nearly all noise, but never all of it.
_LEAST_SPREAD = 1e-6


def cell_tests(sides: list[Side], covariance: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return the p-value and the standard error of every cell's difference.

    A cell without any spread, as the only one of a single class or one whose spread drowns in
    rounding, cannot differ by it: its p-value is one.
    """
    variances = [
        Sensitivity.of(side.matrix).variances(side.cells.variances / side.exposures**2)
        for side in sides
    ]
    together = variances[0] + variances[1]
    # For a cell above one half, the rest of its row is the rarer event.
    common = sides[0].matrix + sides[1].matrix > 1.0
    values = [np.where(common, _rest(side.matrix), side.matrix) for side in sides]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        spread = [v / value / value for v, value in zip(variances, values, strict=True)]
    is_tested = np.logical_and.reduce([np.isfinite(part) & (part > 0) for part in spread])
    spread = [np.where(is_tested, part, 1.0) for part in spread]
    gain = np.ones_like(together)
    if covariance is not None:
        shared = 2 * covariance / (values[0] * values[1])
        total = spread[0] + spread[1]
        gain = total / np.maximum(total - shared, _LEAST_SPREAD * total)
        together = np.maximum(together - 2 * covariance, 0.0)
    samples = [gain / part for part in spread]
    exposures = [n / value for n, value in zip(samples, values, strict=True)]
    return np.where(is_tested, rate_test(samples, exposures), 1.0), np.sqrt(together)


def rate_test(samples: list[FloatArray], exposures: list[FloatArray]) -> FloatArray:
    """Return two-sided mid-p values of equal rates, for numbers of samples and exposures.

    Given the sum of two Poisson numbers, the first is binomial with the share of its exposure.
    """
    # Each tail by itself: as one minus the other, a small one would be lost.
    more = _more(samples[0], samples[1], exposures[0] / (exposures[0] + exposures[1]))
    fewer = _more(samples[1], samples[0], exposures[1] / (exposures[0] + exposures[1]))
    return np.asarray(np.minimum(1.0, 2 * np.minimum(more, fewer)))


def _more(mine: FloatArray, other: FloatArray, share: FloatArray) -> FloatArray:
    """Return how likely it is to have more than mine of both, or as many, counted half."""
    return np.asarray((betainc(mine, other + 1, share) + betainc(mine + 1, other, share)) / 2)


def _rest(matrix: FloatArray) -> FloatArray:
    """Return one minus every cell, summed from the other cells where the cell is close to one."""
    rest = 1.0 - matrix
    for i, j in np.argwhere(matrix > 0.9):
        rest[i, j] = matrix[i, :j].sum() + matrix[i, j + 1 :].sum()
    return np.maximum(rest, np.finfo(float).tiny)


def triples_of(
    first: ConfusionMatrix, second: ConfusionMatrix, paired: tuple[Any, Any, Any]
) -> Triples:
    """Return the kinds of samples behind two matrices, after a look that they are behind them."""
    if not isinstance(paired, (tuple, list)) or len(paired) != 3:
        raise InputError(
            "`paired` must be the tuple (y_true, first_predictions, second_predictions).",
        )
    if first.is_weighted or second.is_weighted:
        raise InputError(
            "Paired comparison needs unweighted samples, got weighted counts.",
            hint="leave out `paired`; the weights are then taken into account as they are.",
        )
    true, one, other = (first.index_of(column) for column in paired)
    if not len(true) == len(one) == len(other):
        raise InputError(
            "`paired` must be three columns of the same samples, got"
            f" {len(true):,}, {len(one):,} and {len(other):,} values."
        )
    n_classes = first.n_classes
    keys, counts = np.unique((true * n_classes + one) * n_classes + other, return_counts=True)
    triples = Triples(
        (keys // n_classes**2).astype(np.intp),
        (keys // n_classes % n_classes).astype(np.intp),
        (keys % n_classes).astype(np.intp),
        counts.astype(np.int64),
    )
    for which, cm, predicted in (
        ("first", first, triples.first),
        ("second", second, triples.second),
    ):
        counted = np.zeros((n_classes, n_classes))
        np.add.at(counted, (triples.true, predicted), triples.counts)
        if not np.array_equal(counted, cells_of(cm, 0.0, what="Compared matrices").values):
            raise InputError(
                f"`paired` must be the predictions behind both matrices, but the {which} matrix"
                " counts others.",
                hint="make both matrices from these columns with `from_predictions`.",
            )
    return triples


def shared_noise(sides: list[Side], triples: Triples) -> FloatArray:
    """Return the covariance of every cell with the same cell of the other matrix."""
    factors = [1 / side.exposures for side in sides]
    weights = (
        triples.counts
        * factors[0][triples.true, triples.first]
        * factors[1][triples.true, triples.second]
    )
    joint = JointNoise((triples.true, triples.first, triples.second), weights, len(sides[0].matrix))
    first, second = (Sensitivity.of(side.matrix) for side in sides)
    return first.covariances(second, joint)
