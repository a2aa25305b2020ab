"""Accuracy and its relatives, as scikit-learn computes them, with intervals.

They come from the counts alone. None of them is read off a bi-normalized matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from deconfuse._checks import Label, freeze, needs_pandas
from deconfuse.confusion import ConfusionMatrix
from deconfuse.statistics.cells import check_level

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Estimate",
    "Estimates",
    "MeanShares",
    "PerClass",
    "accuracy",
    "balanced_accuracy",
    "cohen_kappa",
    "effective_labels",
    "effective_samples",
    "estimate_balanced_accuracy",
    "guessing",
    "has_errors",
    "macro_f1",
    "per_class",
    "plain_scores",
    "wilson",
]

FloatArray = NDArray[np.float64]

# Student's quantile of next to no samples; beyond it an interval is everything anyway.
_FAR = 1e3


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its confidence interval.

    Attributes
    ----------
    value, low, high : float
        NaN where the matrix has no samples that the number could be estimated from.
    n : float
        How many samples of one proportion would give it this spread.
    """

    value: float
    low: float
    high: float
    n: float


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """One number per class with its confidence interval; NaN where it is undefined.

    Attributes
    ----------
    value, low, high : ndarray of shape (n_classes,)
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True, slots=True, eq=False)
class MeanShares:
    r"""Weighted means of independent shares, such as the balanced accuracy: the mean recall.

    Attributes
    ----------
    shares, n, weights : ndarray of shape (n_means, n_strata)
        The shares, the samples of each (positive), and weights that sum to one in every row.

    Notes
    -----
    The interval is Wilson's, for the number of samples with which one proportion would have the
    variance :math:`\sum_i w_i^2 r_i (1 - r_i) / n_i`. Three things keep few samples from passing
    for certain. In the variance, each share is drawn towards that of all samples with the weight of
    one sample, and what this and the few samples take from :math:`r (1 - r)` on average is given
    back. The quantile is Student's, with the degrees of freedom of Welch and Satterthwaite. And no
    end is farther out than the mean of the ends of all shares: a class of one sample moves a mean
    over ten classes by at most a tenth.
    """

    shares: FloatArray
    n: FloatArray
    weights: FloatArray

    @property
    def value(self) -> FloatArray:
        """The means."""
        # Divided, so that rounding makes no mean of ones more or less than one.
        return np.asarray((self.weights * self.shares).sum(-1) / self.weights.sum(-1))

    @property
    def samples(self) -> FloatArray:
        """How many samples of one proportion have the spread of each mean."""
        hits, misses, variances = self._spread()
        means = (self.weights * hits).sum(-1), (self.weights * misses).sum(-1)
        return np.asarray(means[0] * means[1] / variances.sum(-1))

    def limits(self, z: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the interval, so many standard deviations wide if n were large."""
        if self.n.shape[-1] == 1:
            return wilson(self.shares[..., 0], self.n[..., 0], z)
        *_, variances = self._spread()
        freedom = variances.sum(-1) ** 2 / (variances**2 / self.n).sum(-1)
        quantile = -stdtrit(freedom, ndtr(-z))
        # What is too far out to be computed comes with any sign, or as NaN.
        quantile = np.where((quantile > 0) & (quantile < _FAR), quantile, _FAR)
        low, high = wilson(self.value, self.samples, quantile)
        lows, highs = wilson(self.shares, self.n, quantile[..., None])
        return (
            np.maximum(low, (self.weights * lows).sum(-1)),
            np.minimum(high, (self.weights * highs).sum(-1)),
        )

    def _spread(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return hits and misses as the variance has them, and the variance that each adds."""
        n, every = self.n, self.n.sum(-1, keepdims=True)
        # Misses are not one minus the hits: of very many samples that would round to none.
        hits, misses = (
            (count + (count.sum(-1, keepdims=True) + 0.5) / (every + 1)) / (n + 1)
            for count in (self.shares * n, (1 - self.shares) * n)
        )
        kept = 1 - n / (n + 1) ** 2
        return hits, misses, self.weights**2 * hits * misses / n / kept


@dataclass(frozen=True, slots=True, eq=False)
class PerClass:
    """Recall, precision and F1 of every class.

    Attributes
    ----------
    labels : tuple
        Class names in matrix order.
    n : ndarray of shape (n_classes,)
        Samples of each true class (sum of weights).
    n_predicted : ndarray of shape (n_classes,)
        Samples predicted as each class.
    recall : Estimates
        Share of a class's samples that were predicted as it. NaN for a class without samples.
    precision : Estimates
        Share of a class's predictions that were right. NaN for a class that was never predicted.
    f1 : Estimates
        Harmonic mean of both. NaN for a class without samples and predictions.
    level : float
        Level of the intervals.
    """

    labels: tuple[Label, ...]
    n: FloatArray
    n_predicted: FloatArray
    recall: Estimates
    precision: Estimates
    f1: Estimates
    level: float

    def __post_init__(self) -> None:
        freeze(self)

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary per class: label, counts, and each metric with its interval."""
        columns = self._columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with one row per class, indexed by the class names."""
        with needs_pandas():
            import pandas as pd

        return pd.DataFrame(self._columns()).set_index("label")

    def _columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {
            "label": list(self.labels),
            "n": self.n.tolist(),
            "n_predicted": self.n_predicted.tolist(),
        }
        for name in ("recall", "precision", "f1"):
            estimates: Estimates = getattr(self, name)
            columns[name] = estimates.value.tolist()
            columns[f"{name}_low"] = estimates.low.tolist()
            columns[f"{name}_high"] = estimates.high.tolist()
        return columns


def accuracy(cm: ConfusionMatrix) -> float:
    """Return the share of samples that were predicted right; NaN without samples.

    Examples
    --------
    >>> import deconfuse as dc
    >>> accuracy(dc.ConfusionMatrix.from_counts([[90, 10], [5, 5]]))
    0.8636363636363636
    """
    if cm.total == 0:
        return float("nan")
    # Sums of weights are rounded, so without errors they may be on either side of one.
    return float(_hits(cm).sum() / cm.total) if has_errors(cm) else 1.0


def has_errors(cm: ConfusionMatrix) -> bool:
    """Return whether any sample was predicted as another class."""
    counts = cm.counts
    filled = np.count_nonzero(counts) if isinstance(counts, np.ndarray) else counts.count_nonzero()
    return bool(filled > np.count_nonzero(counts.diagonal()))


def balanced_accuracy(cm: ConfusionMatrix) -> float:
    """Return the mean recall of the classes that have samples; NaN without samples.

    Examples
    --------
    >>> import deconfuse as dc
    >>> balanced_accuracy(dc.ConfusionMatrix.from_counts([[90, 10], [5, 5]]))
    0.7
    """
    n = _labels(cm)
    has_samples = n > 0
    if not has_samples.any():
        return float("nan")
    return float(np.mean(_hits(cm)[has_samples] / n[has_samples]))


def macro_f1(cm: ConfusionMatrix) -> float:
    """Return the mean F1 of the classes that occur, as labels or predictions.

    Examples
    --------
    >>> import deconfuse as dc
    >>> round(macro_f1(dc.ConfusionMatrix.from_counts([[90, 10], [5, 5]])), 4)
    0.6615
    """
    both = _labels(cm) + _predictions(cm)
    occurs = both > 0
    if not occurs.any():
        return float("nan")
    return float(np.mean(2 * _hits(cm)[occurs] / both[occurs]))


def cohen_kappa(cm: ConfusionMatrix) -> float:
    """Return Cohen's kappa: accuracy beyond that of predictions made independently of the label.

    NaN where independent predictions would always be right, as with a single class.

    Examples
    --------
    >>> import deconfuse as dc
    >>> round(cohen_kappa(dc.ConfusionMatrix.from_counts([[90, 10], [5, 5]])), 4)
    0.3265
    """
    if cm.total == 0:
        return float("nan")
    by_chance = float(_labels(cm) / cm.total @ (_predictions(cm) / cm.total))
    return (accuracy(cm) - by_chance) / (1 - by_chance) if by_chance < 1 else float("nan")


def guessing(cm: ConfusionMatrix) -> tuple[float, float]:
    r"""Return the accuracy of guessing, and by how many standard deviations the matrix beats it.

    Notes
    -----
    Guessing is the same predictions given to samples at random. The hits then have the mean
    :math:`\sum_i n_i m_i / N` and a known variance (that of a trace with fixed margins); half a
    sample is taken off, since they are whole. Weighted samples count by their effective number.

    Examples
    --------
    >>> import deconfuse as dc
    >>> chance, z = guessing(dc.ConfusionMatrix.from_counts([[90, 10], [5, 5]]))
    >>> round(chance, 3), round(z, 1)
    (0.798, 3.3)
    """
    total = float(cm.total)
    effective = effective_samples(np.array([total]), np.array([cm.variances.sum()]))[0]
    unit = effective / total
    n, m, size = _labels(cm) * unit, _predictions(cm) * unit, float(effective)
    together = float(n @ m)
    variance = n @ (m * (size - n) * (size - m)) + together**2 - n**2 @ m**2
    # Of predictions that are all the same nothing is left, and rounding may make it less.
    spread = np.sqrt(max(variance, 0.0) / (size**2 * max(size - 1, 0.5)))
    beyond = float(_hits(cm).sum()) * unit - together / size
    beyond = np.sign(beyond) * max(abs(beyond) - 0.5, 0.0)
    return together / size**2, float(beyond / spread) if spread > 0 else 0.0


def plain_scores(cm: ConfusionMatrix) -> dict[str, float]:
    """Return the scores that every view and tracker has, by name.

    Examples
    --------
    >>> import deconfuse as dc
    >>> found = plain_scores(dc.ConfusionMatrix.from_counts([[90, 10], [5, 5]]))
    >>> {name: round(score, 2) for name, score in found.items()}
    {'accuracy': 0.86, 'balanced_accuracy': 0.7, 'macro_f1': 0.66, 'kappa': 0.33}
    """
    return {
        "accuracy": accuracy(cm),
        "balanced_accuracy": balanced_accuracy(cm),
        "macro_f1": macro_f1(cm),
        "kappa": cohen_kappa(cm),
    }


def estimate_balanced_accuracy(cm: ConfusionMatrix, level: float = 0.95) -> Estimate:
    """Return the balanced accuracy with an interval (see `MeanShares`).

    Examples
    --------
    >>> import deconfuse as dc
    >>> found = estimate_balanced_accuracy(dc.ConfusionMatrix.from_counts([[90, 10], [5, 5]]))
    >>> f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"
    '0.70 (0.51 to 0.85)'
    """
    check_level(level)
    n = effective_labels(cm)
    known = n > 0
    if not known.any():
        return Estimate(np.nan, np.nan, np.nan, 0.0)
    recalls = (_hits(cm)[known] / _labels(cm)[known])[None, :]
    mean = MeanShares(recalls, n[known][None, :], np.full(recalls.shape, 1 / recalls.size))
    low, high = mean.limits(float(ndtri(0.5 + level / 2)))
    return Estimate(balanced_accuracy(cm), float(low[0]), float(high[0]), float(mean.samples[0]))


def per_class(cm: ConfusionMatrix, level: float = 0.95) -> PerClass:
    r"""Return recall, precision and F1 of every class, with intervals.

    Notes
    -----
    All intervals are Wilson's. For F1 it is that of the share of hits among the samples that have
    the class as label or prediction, :math:`J = h / (h + e)`, because :math:`F_1 = 2 J / (1 + J)`.
    Weighted samples count by their effective number, :math:`(\sum w)^2 / \sum w^2`.

    Examples
    --------
    >>> import deconfuse as dc
    >>> cm = dc.ConfusionMatrix.from_counts([[90, 10], [5, 5]], labels=["cat", "dog"])
    >>> found = per_class(cm)
    >>> found.recall.value
    array([0.9, 0.5])
    >>> [record["label"] for record in found.records()]
    ['cat', 'dog']
    """
    check_level(level)
    hits, n, predicted = _hits(cm), _labels(cm), _predictions(cm)
    hit_variances = np.asarray(cm.variances.diagonal(), dtype=np.float64)
    row_variances = _row_variances(cm)
    column_variances = np.asarray(cm._square.variance_sums(0), dtype=np.float64).ravel()
    involved = n + predicted - hits
    jaccard = _shares(hits, involved, row_variances + column_variances - hit_variances, level)
    return PerClass(
        labels=cm.labels,
        n=n,
        n_predicted=predicted,
        recall=_shares(hits, n, row_variances, level),
        precision=_shares(hits, predicted, column_variances, level),
        f1=Estimates(*(2 * j / (1 + j) for j in (jaccard.value, jaccard.low, jaccard.high))),
        level=float(level),
    )


def wilson(
    share: FloatArray, n: FloatArray, z: float | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's score interval of shares seen in n samples; NaN stays NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # The ends of a share of 0 or 1 are these exactly, whatever rounding says.
    low = np.where(share == 0, 0.0, centre - half)
    return low, np.where(share == 1, 1.0, centre + half)


def effective_samples(weights: FloatArray, squares: FloatArray) -> FloatArray:
    """Return the square of the sum of weights over the sum of their squares; 0 without samples."""
    return np.divide(weights**2, squares, out=np.zeros_like(weights), where=squares > 0)


def effective_labels(cm: ConfusionMatrix) -> FloatArray:
    """Return the effective number of samples of each true class."""
    return effective_samples(_labels(cm), _row_variances(cm))


def _shares(hits: FloatArray, of: FloatArray, variances: FloatArray, level: float) -> Estimates:
    value = np.divide(hits, of, out=np.full(len(of), np.nan), where=of > 0)
    low, high = wilson(value, effective_samples(of, variances), float(ndtri(0.5 + level / 2)))
    return Estimates(value, low, high)


def _hits(cm: ConfusionMatrix) -> FloatArray:
    return np.asarray(cm.counts.diagonal(), dtype=np.float64)


def _labels(cm: ConfusionMatrix) -> FloatArray:
    return np.asarray(cm.label_counts, dtype=np.float64)


def _predictions(cm: ConfusionMatrix) -> FloatArray:
    return np.asarray(cm.prediction_counts, dtype=np.float64)


def _row_variances(cm: ConfusionMatrix) -> FloatArray:
    return np.asarray(cm._square.variance_sums(1), dtype=np.float64).ravel()
