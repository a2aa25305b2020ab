"""How well a classifier tells its classes apart: the mean diagonal of the bi-normalized matrix.

It is not an accuracy: it says nothing about how often a prediction is right on the data at hand
(Stehman 1997), because class shares and prediction bias, which make up much of that, are what
bi-normalization takes out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deconfuse.confusion import ConfusionMatrix
from deconfuse.normalization import Normalized

__all__ = ["separability", "separability_score"]


def separability(matrix: ConfusionMatrix | Normalized, *, epsilon: float | None = None) -> float:
    """Return the mean diagonal of the bi-normalized matrix of counts that are there already.

    Parameters
    ----------
    matrix : ConfusionMatrix or Normalized
        Counts, or a matrix that was bi-normalized before.
    epsilon : float, optional
        Added to every cell; by default ``1 / n_classes``. Leave it out with a `Normalized`.

    Returns
    -------
    float
        From 0 to 1; ``1 / n_classes`` where predictions carry nothing about the class, up to
        noise. See `separability_score` for what moves it.

    Examples
    --------
    >>> import deconfuse as dc
    >>> from deconfuse.statistics.separability import separability
    >>> cm = dc.ConfusionMatrix.from_counts([[90, 10], [5, 5]])
    >>> round(separability(cm, epsilon=0.0), 3)
    0.75
    """
    if isinstance(matrix, Normalized):
        normalized = matrix if matrix.method == "bi" else matrix.source.normalize("bi", epsilon)
    else:
        normalized = matrix.normalize("bi", epsilon)
    counts = np.asarray(normalized.source.counts.diagonal(), dtype=np.float64) + normalized.epsilon
    # From the factors, so that a million classes need no matrix.
    return float(np.mean(counts * normalized.left * normalized.right))


def separability_score(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Iterable[Any] | None = None,
    sample_weight: Any = None,
    epsilon: float | None = None,
) -> float:
    r"""Return how well classes are told apart: the mean diagonal of the bi-normalized matrix.

    Parameters
    ----------
    y_true, y_pred : sequence of shape (n_samples,)
        Labels and predictions, as any metric of scikit-learn takes them.
    labels : sequence, optional
        The classes to count, also those that do not occur. By default those that occur.
    sample_weight : sequence of shape (n_samples,), optional
        Finite, non-negative weights.
    epsilon : float, optional
        Added to every cell before normalizing; by default ``1 / n_classes``.

    Returns
    -------
    float
        From 0 to 1; ``1 / n_classes`` where predictions carry nothing about the class, up to
        noise.

    Notes
    -----
    :math:`\frac{1}{C} \sum_i \mathrm{bi}(M + \epsilon)_{ii}`. With many samples it stays the same
    when the test set has other class shares, and when predictions favour some classes by constant
    factors; accuracy changes with both, balanced accuracy with the second. With few samples it does
    not: epsilon adds to every class about one sample, nearly all of it error, so that one
    classifier scores lower on a small test set than on a large one, lower where some classes are
    rare, and below 1 even without any error. So compare scores of test sets of one size and mix
    only. ``deconfuse.estimate_bi(cm).separability`` has nearly no such bias, and an interval.

    Do not read it as the share of right answers; show accuracy beside it. Do not choose thresholds
    by it either: a class that is predicted only when it is certain has a pure column, so the score
    can rise while most of that class is missed.

    Examples
    --------
    >>> from deconfuse.statistics.separability import separability_score
    >>> y_true = ["cat"] * 100 + ["dog"] * 10
    >>> y_pred = ["cat"] * 90 + ["dog"] * 10 + ["cat"] * 5 + ["dog"] * 5
    >>> round(separability_score(y_true, y_pred, epsilon=0.0), 3)
    0.75
    """
    counts = ConfusionMatrix.from_predictions(
        y_true, y_pred, labels=labels, sample_weight=sample_weight
    )
    return separability(counts, epsilon=epsilon)
