"""Standard errors, confidence intervals and bootstrap of normalized confusion matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from deconfuse._checks import is_whole_number
from deconfuse._memory import refuse_if_too_large
from deconfuse.counts import dense
from deconfuse.errors import DeconfuseWarning, InputError, warn
from deconfuse.reading.tally import on_threads
from deconfuse.scaling import ScalingStatus, scale
from deconfuse.statistics.cells import Cells, as_generator, cells_of, check_level
from deconfuse.statistics.sensitivity import FewCells, Sensitivity

if TYPE_CHECKING:
    from deconfuse.normalization import Normalized

__all__ = ["bootstrap", "confidence_interval", "score_interval", "standard_errors"]

FloatArray = NDArray[np.float64]

# Resamples scaled at once: enough to pay for the stack, small enough for the cache.
_BATCH_CELLS = 2_000_000
# Cells of which a handful of arrays fits into the cache of a core.
_CACHED_CELLS = 16_000


def standard_errors(normalized: Normalized) -> FloatArray:
    r"""Return the standard error of every cell of a normalized matrix.

    Parameters
    ----------
    normalized : Normalized
        Of at most 4,096 classes.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        NaN where the cell itself is.

    Notes
    -----
    For row, column and all normalization :math:`p = a / A` with :math:`A` the sum of its row, its
    column or all cells, and :math:`v` the variances:

    .. math:: \mathrm{var}(p) = \frac{(1 - p)^2 v + p^2 (V - v)}{A^2},

    which is :math:`p (1 - p) / A` for unweighted samples. For bi-normalization the delta method of
    `deconfuse.statistics.sensitivity`.

    All samples are taken as drawn at random. Row and bi-normalization do not depend on how many
    there are of each true class, so their errors hold for a fixed number of each, too. Those of
    column and all normalization are then too large: such a cell varies by :math:`v (1 - r)` instead
    of :math:`v`, where :math:`r` is its share of the row. For all normalization the exact answer is
    that of the row, errors and intervals alike, times the fixed share of the row.

    A cell where these formulas give zero, because no sample says how it varies, gets the variance
    of one imaginary sample spread over a row: small, but not certain.

    Examples
    --------
    >>> import deconfuse as dc
    >>> dc.normalize([[90, 10], [20, 80]], "row").standard_errors().round(3)
    array([[0.03, 0.03],
           [0.04, 0.04]])
    """
    values, variances, _ = _moments(normalized)
    errors = np.sqrt(variances)
    errors[np.isnan(values)] = np.nan
    return errors


def confidence_interval(
    normalized: Normalized, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    r"""Return the lower and upper ends of a confidence interval for every cell.

    Parameters
    ----------
    normalized : Normalized
        Of at most 4,096 classes.
    level : float
        The share of such intervals that hold the true value.

    Returns
    -------
    low, high : ndarray of shape (n_classes, n_classes)
        Between 0 and 1. NaN where the cell itself is.

    Notes
    -----
    Wilson's score interval with the effective number of samples
    :math:`n = p (1 - p) / \mathrm{var}(p)` that the standard error stands for. It is symmetric
    around :math:`p` on the logit scale, with half width
    :math:`2 \operatorname{arsinh}(z\,\mathrm{se}(\operatorname{logit} p) / 2)`, and exactly
    Wilson's for row, column and all normalization of unweighted counts. Where no sample was seen it
    reaches up to what :math:`z^2 \approx 4` samples would make, as it should.

    Examples
    --------
    >>> import deconfuse as dc
    >>> low, high = dc.normalize([[90, 10], [20, 80]], "row").confidence_interval()
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([[0.826, 0.055], [0.133, 0.711]], [[0.945, 0.174], [0.289, 0.867]])
    """
    values, variances, certainty = _moments(normalized)
    low, high = score_interval(values, variances, certainty, check_level(level))
    # Epsilon alone is no evidence: where nothing was seen, nothing is ruled out from below.
    low *= dense(normalized.source.counts) > 0
    return low, high


def score_interval(
    values: FloatArray, variances: FloatArray, samples: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of Wilson's intervals for shares from 0 to 1 with these variances.

    ``samples`` are effective numbers of them, which count where a share is exactly 0 or 1.
    """
    z = float(ndtri(0.5 + level / 2))
    low, high = np.empty((2, *values.shape))
    # In parts that stay in the cache, which takes half the time for a large matrix.
    step = max(1, _CACHED_CELLS // max(1, values[:1].size))

    def fill(start: int) -> None:
        part = slice(start, start + step)
        ends = low[part], high[part]
        _fill_score_interval(ends, values[part], variances[part], samples[part], z)

    on_threads(fill, range(0, len(values), step), size=values.size)
    return low, high


def _fill_score_interval(
    ends: tuple[FloatArray, FloatArray],
    values: FloatArray,
    variances: FloatArray,
    samples: FloatArray,
    z: float,
) -> None:
    low, high = ends
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # In place, since making an array takes as long as a step with it.
        spread = 1 - values
        spread *= values
        # One over the number of samples.
        ratio = variances / spread
        certain = ~((spread > 0) & (variances > 0))
        if certain.any():
            ratio[certain] = 1 / samples[certain]
        half = np.maximum(spread, 0, out=spread)
        half += z**2 / 4 * ratio
        half *= ratio
        np.sqrt(half, out=half)
        half *= z
        ratio *= z**2
        np.multiply(ratio, 0.5, out=high)
        high += values
        high += half
        ratio += 1
        high /= ratio
        np.minimum(high, 1.0, out=high)
        # The product of both ends is known; their difference would lose the digits of the lower.
        ratio *= high
        np.maximum(ratio, np.finfo(np.float64).tiny, out=ratio)
        np.square(values, out=low)
        low /= ratio
    np.minimum(low, values, out=low)
    np.maximum(high, np.minimum(values, 1.0, out=half), out=high)


def bootstrap(
    normalized: Normalized, n_resamples: int = 1000, rng: np.random.Generator | int | None = None
) -> FloatArray:
    """Return the normalized matrices of resampled counts.

    Parameters
    ----------
    normalized : Normalized
        What to resample: as many samples, drawn from its cells with their shares.
    n_resamples : int
        How many.
    rng : numpy.random.Generator or int, optional
        Where the randomness comes from, or its seed.

    Returns
    -------
    ndarray of shape (n_resamples, n_classes, n_classes)
        With the same epsilon. NaN where a resample has no such normalization: an empty row or
        column, or for epsilon 0 zeros that do not allow it.

    Warns
    -----
    DeconfuseWarning
        When some resamples have no bi-normalization.

    Notes
    -----
    Weighted counts are resampled with their effective number of samples: the mean and
    the variance of each resampled cell are its count and its variance.

    Examples
    --------
    >>> import deconfuse as dc
    >>> draws = dc.normalize([[90, 10], [20, 80]], "row").bootstrap(500, rng=0)
    >>> draws.shape
    (500, 2, 2)
    >>> draws.std(axis=0).round(2)
    array([[0.03, 0.03],
           [0.04, 0.04]])
    """
    if not is_whole_number(n_resamples) or n_resamples < 1:
        raise InputError(
            f"`n_resamples` must be a whole number of at least 1, got {n_resamples!r}."
        )
    generator = as_generator(rng)
    shape = (n_resamples, normalized.n_classes, normalized.n_classes)
    refuse_if_too_large(shape, "The resamples together")
    cells = cells_of(normalized.source, 0.0, what="A bootstrap")
    result = np.empty(shape)
    batch = max(1, _BATCH_CELLS // cells.values.size)
    failed = 0
    for start in range(0, n_resamples, batch):
        stop = min(start + batch, n_resamples)
        counts = resample(cells, stop - start, generator)
        result[start:stop], lost = _normalize_stack(counts, normalized)
        failed += lost
    if failed:
        warn(
            f"{failed:,} of {n_resamples:,} resamples have no bi-normalization with epsilon"
            f" {normalized.epsilon:g}; their cells are NaN.",
            DeconfuseWarning,
        )
    return result


def resample(cells: Cells, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """Return resampled counts of cells without epsilon, of shape (n_resamples, n, n)."""
    values, variances = cells.values, cells.variances
    some = variances > 0
    weight = np.divide(variances, values, out=np.ones_like(values), where=some)
    effective = np.where(some, values / weight, 0.0).ravel()
    total = effective.sum()
    if total == 0:
        raise InputError(
            "The matrix must have samples to be resampled, but all counts are zero.",
            hint="count some predictions first.",
        )
    n_samples = max(1, round(float(total)))
    draws = rng.multinomial(n_samples, effective / total, size=n_resamples)
    scaled = draws.reshape(n_resamples, *values.shape) * weight
    # Effective numbers need not be whole; the mean of a cell is its count nevertheless.
    return np.asarray(scaled * (float(total) / n_samples))


def _normalize_stack(counts: FloatArray, normalized: Normalized) -> tuple[FloatArray, int]:
    """Return the normalized matrices of a stack of counts, and how many have none."""
    if normalized.method == "bi":
        solution = scale(counts, epsilon=normalized.epsilon, throw=False)
        good = np.array([status is ScalingStatus.CONVERGED for status in solution.statuses])
        matrices = np.array(solution.matrix)
        matrices[~good] = np.nan
        return matrices, int((~good).sum())
    axes = (1, 2) if normalized.method == "all" else (2 if normalized.method == "row" else 1,)
    values = counts + normalized.epsilon
    sums = values.sum(axis=axes, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sums > 0, values / sums, np.nan), 0


def _moments(normalized: Normalized) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return values, variances, and effective samples for cells at 0 or 1."""
    cells = cells_of(normalized.source, normalized.epsilon, what="A matrix with standard errors")
    moments = _bi_moments if normalized.method == "bi" else _ratio_moments
    return moments(normalized, cells)


def _ratio_moments(
    normalized: Normalized, cells: Cells
) -> tuple[FloatArray, FloatArray, FloatArray]:
    axis = {"row": 1, "col": 0, "all": None}[normalized.method]
    total = cells.values.sum(axis=axis, keepdims=True)
    total_variance = cells.variances.sum(axis=axis, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = cells.values / total
        variance = _ratio_variance(share, cells.variances, total_variance, total)
        imagined = np.maximum(cells.variances, cells.unit / normalized.n_classes)
        imagined_total = imagined.sum(axis=axis, keepdims=True)
        floor = _ratio_variance(share, imagined, imagined_total, total)
        samples = np.broadcast_to(total**2 / total_variance, share.shape)
    return share, np.where(variance > 0, variance, floor), samples


def _ratio_variance(
    share: FloatArray, variance: FloatArray, total_variance: FloatArray, total: FloatArray
) -> FloatArray:
    rest = np.maximum(total_variance - variance, 0.0)
    return np.asarray(((1 - share) ** 2 * variance + share**2 * rest) / total**2)


def _bi_moments(normalized: Normalized, cells: Cells) -> tuple[FloatArray, FloatArray, FloatArray]:
    scaling = normalized.scaling
    if scaling is None or not scaling.converged:
        raise InputError(
            "Standard errors need a bi-normalization that converged, got status"
            f" {'none' if scaling is None else scaling.status.name}.",
            hint="leave `epsilon` at its default, or give a positive one.",
        )
    # A cell alone in its row and column is one, but for rounding.
    matrix = dense(scaling.matrix)
    if matrix.max() > 1.0 - 1e-12:
        matrix = np.where(matrix > 1.0 - 1e-12, 1.0, matrix)
    # Factors may span more decades than floats have; the products that matter do not.
    logs = scaling.log_left, scaling.log_right
    few = None
    if max(np.abs(side).max() for side in logs) < 150.0:
        left, right = (np.exp(side) for side in logs)
        noise = np.multiply.outer(left**2, right**2)
        counts = normalized.source._square.entries
        few = FewCells.if_faster(counts, left, right, normalized.epsilon)
    else:
        noise = np.exp(2.0 * np.minimum(np.add.outer(*logs), 300.0))
    noise *= cells.variances
    variance = Sensitivity(matrix, few).variances(noise)
    samples = cells.values if cells.unit == 1.0 else cells.values / cells.unit
    is_certain = (variance == 0) | (cells.values == 0) | (matrix == 1.0)
    certain = np.unravel_index(np.flatnonzero(is_certain), matrix.shape)
    if certain[0].size:
        samples = samples.copy()
        factors = np.exp(np.minimum(logs[0][certain[0]] + logs[1][certain[1]], 300.0))
        imagined = factors**2 * (cells.unit / normalized.n_classes)
        empty = cells.values[certain] == 0
        variance[certain] = np.where(empty, imagined, np.maximum(variance[certain], imagined))
        with np.errstate(divide="ignore"):
            samples[certain] = np.where(empty, 1.0 / (factors * cells.unit), samples[certain])
    return matrix, variance, samples
