"""Which classes are predicted too often or too rarely, apart from how frequent they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import norm

from deconfuse._checks import Label
from deconfuse.confusion import ConfusionMatrix
from deconfuse.statistics.cells import sample_unit
from deconfuse.statistics.multiplicity import holm
from deconfuse.statistics.similarity import half_width

__all__ = ["ClassBias", "Verdict", "class_biases"]

FloatArray = NDArray[np.float64]
Verdict = Literal["over", "under", "even", "never seen"]


@dataclass(frozen=True, slots=True)
class ClassBias:
    """How often one class is predicted, against how often it should be.

    Attributes
    ----------
    label : class name
    labels, predictions : float
        How often it is the true class, and how often it is predicted.
    label_share, prediction_share : float
        The same as shares of all samples.
    ratio, low, high : float
        How many times as often as it occurs it would be predicted, were all classes equally
        frequent; with its confidence interval. NaN for a class without samples.
    p_value : float
        Of a ratio of one, corrected for the number of classes (Holm).
    verdict : {"over", "under", "even", "never seen"}
        ``"even"`` also where too few samples say otherwise.
    """

    label: Label
    labels: float
    predictions: float
    label_share: float
    prediction_share: float
    ratio: float
    low: float
    high: float
    p_value: float
    verdict: Verdict


def class_biases(cm: ConfusionMatrix, level: float) -> tuple[ClassBias, ...]:
    r"""Return the bias of every class, in matrix order.

    Notes
    -----
    The ratio of class :math:`j` is a column sum of the row-normalized matrix,
    :math:`\sum_i M_{ij} / M_{i+}`. Comparing predictions with labels directly would mix in the
    label distribution: without any bias a rare class is predicted more often than it occurs,
    because the frequent classes send it more errors than it sends them. The right diagonal of the
    bi-normalization is constant exactly where all ratios are one.
    """
    labels, predictions = (
        np.asarray(sums, dtype=np.float64) for sums in (cm.label_counts, cm.prediction_counts)
    )
    total = max(float(labels.sum()), np.finfo(float).tiny)
    ratio, variance = _ratios(cm, labels)
    z = float(norm.ppf(0.5 + level / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_error = np.sqrt(variance) / ratio
        half = half_width(log_error, level)
        low, high = ratio * np.exp(-half), ratio * np.exp(half)
        # Score test on the log scale, the inverse of the interval.
        score = 2 * np.sinh(np.abs(np.log(ratio)) / 2) / log_error
        # Never predicted: as many samples of its own as z squared might have been.
        unit = sample_unit(cm)
        never = ratio == 0
        low[never] = 0.0
        high[never] = (z**2 * unit / labels)[never]
        score[never] = np.sqrt(labels / unit)[never]
    seen = labels > 0
    # Without any error there is no spread and no bias either.
    raw = np.where(np.isfinite(score), 2 * norm.sf(score), 1.0)
    for array in (ratio, low, high):
        array[~seen] = np.nan
    p_values = np.full(len(labels), np.nan)
    p_values[seen] = holm(raw[seen])
    result = []
    for index, label in enumerate(cm.labels):
        verdict: Verdict = "even"
        if not seen[index]:
            verdict = "never seen"
        elif p_values[index] < 1 - level:
            verdict = "over" if ratio[index] > 1 else "under"
        result.append(
            ClassBias(
                label=label,
                labels=float(labels[index]),
                predictions=float(predictions[index]),
                label_share=float(labels[index] / total),
                prediction_share=float(predictions[index] / total),
                ratio=float(ratio[index]),
                low=float(low[index]),
                high=float(high[index]),
                p_value=float(p_values[index]),
                verdict=verdict,
            )
        )
    return tuple(result)


def _ratios(cm: ConfusionMatrix, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the column sums of the row-normalized matrix, over classes seen, and variances.

    The variances are those of rows with one imaginary sample spread over them: a class with one
    sample would otherwise seem to be known exactly.
    """
    unit, seen = sample_unit(cm), labels > 0
    counts, variances = sparse.coo_array(cm.counts), sparse.coo_array(cm.variances)
    rows = counts.row
    ratio = np.bincount(counts.col, counts.data / labels[rows], minlength=len(labels))
    total = labels + unit
    spread = np.asarray(cm.variances.sum(axis=1), dtype=np.float64) + unit**2
    each = unit / len(labels)
    own = variances.data + each * unit
    share = (counts.data + each) / total[rows]
    filled = ((1 - 2 * share) * own + share**2 * spread[rows]) / total[rows] ** 2
    nothing = each / total
    empty = ((1 - 2 * nothing) * each * unit + nothing**2 * spread) / total**2
    variance = empty[seen].sum() + np.bincount(
        counts.col, filled - empty[rows], minlength=len(labels)
    )
    return np.asarray(ratio, dtype=np.float64), np.maximum(variance, 0.0)
