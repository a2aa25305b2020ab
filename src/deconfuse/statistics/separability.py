"""How well a classifier tells its classes apart, as one number for scikit-learn.

It is not an accuracy: it says nothing about how often a prediction is right on the data at hand
(Stehman 1997), because class shares and prediction bias, which make up much of that, are what
bi-normalization takes out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deconfuse.confusion import ConfusionMatrix
from deconfuse.statistics.estimate import estimate_quietly

__all__ = ["separability_score"]


def separability_score(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Iterable[Any] | None = None,
    sample_weight: Any = None,
) -> float:
    r"""Return how well classes are told apart: the estimated mean diagonal of the bi matrix.

    Parameters
    ----------
    y_true, y_pred : sequence of shape (n_samples,)
        Labels and predictions, as any metric of scikit-learn takes them.
    labels : sequence, optional
        The classes to count, also those that do not occur. By default those that occur.
    sample_weight : sequence of shape (n_samples,), optional
        Finite, non-negative weights.

    Returns
    -------
    float
        From 0 to 1; near ``1 / n_classes`` where predictions carry nothing about the class.

    Notes
    -----
    It is ``estimate_bi(cm).separability.value``: the mean over the classes that have samples. Its
    expected value stays nearly the same when the test set has another size or other class shares,
    and when predictions favour some classes by constant factors; accuracy changes with the second,
    balanced accuracy with the third. A single value has noise: ``estimate_bi(cm).separability`` has
    its interval, ``.low`` to ``.high``.

    Do not read it as the share of right answers; show accuracy beside it. Do not choose thresholds
    by it either: a class that is predicted only when it is certain has a pure column, so the score
    can rise while most of that class is missed.

    Examples
    --------
    >>> from deconfuse.statistics.separability import separability_score
    >>> y_true = ["cat"] * 100 + ["dog"] * 10
    >>> y_pred = ["cat"] * 90 + ["dog"] * 10 + ["cat"] * 5 + ["dog"] * 5
    >>> round(separability_score(y_true, y_pred), 3)
    0.76
    """
    counts = ConfusionMatrix.from_predictions(
        y_true, y_pred, labels=labels, sample_weight=sample_weight
    )
    return estimate_quietly(counts, 0.95).separability.value
