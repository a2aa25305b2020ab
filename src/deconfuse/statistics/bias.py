"""Find classes that are predicted too often or too rarely for how frequent they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deconfuse._checks import Label
from deconfuse.confusion import ConfusionMatrix
from deconfuse.statistics.cells import holm, part_of, two_sided
from deconfuse.statistics.share_sums import ShareSums

__all__ = ["WIDE_RATIO", "ClassBias", "Verdict", "class_biases"]

FloatArray = NDArray[np.float64]
Verdict = Literal[
    "over",
    "under",
    "even",
    "unclear",
    "never seen",
    "never predicted",
    "never answered",
    "never right",
]

# A class with this many effective labels and no hit is never recognized, and not by chance.
_MANY = 10
# With enough samples a bias of one per cent is certain, and still nothing to act on.
_SLIGHT = 1.1
#: An interval whose ends are farther apart than this many times is wide.
WIDE_RATIO = 3.0


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
        How many times as often as it occurs the class would be predicted if all classes were
        equally frequent, with its confidence interval. NaN where nothing is known of it.
    p_value : float
        Of a ratio of one, corrected for the number of classes (Holm).
    verdict : Verdict
        ``"over"`` or ``"under"`` where a ratio of one is ruled out and the ratio is at least 1.1,
        or at most 1 / 1.1; ``"unclear"`` for such a ratio where one is not ruled out; ``"even"``
        in between. A class that is
        never a label (``"never seen"``), never predicted, or never recognized among ten labels or
        more (``"never right"``) has no bias, and neither has one whose samples all got an answer
        that is no class (``"never answered"``).
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

    @property
    def is_wide(self) -> bool:
        """Whether the interval spans so much that its nearer end says more than the ratio does."""
        return self.high > WIDE_RATIO * self.low


def class_biases(cm: ConfusionMatrix, level: float) -> tuple[ClassBias, ...]:
    r"""Return the bias of every class, in matrix order.

    Notes
    -----
    The ratio of class :math:`j` is a column sum of the row-normalized matrix,
    :math:`\sum_i M_{ij} / M_{i+}`. Comparing predictions with labels directly would mix in the
    label distribution: without any bias a rare class is predicted more often than it occurs,
    because the frequent classes send it more errors than it sends them. The right diagonal of the
    bi-normalization is constant exactly where all ratios are one.

    The p-value and the interval are those of a score test, with the variance that the samples would
    have if the ratio were as supposed (see `deconfuse.statistics.share_sums`). So a row of few
    samples, all of them alike, is not taken for certain. Where rows of few samples have none in a
    column, the class might be what they are mostly taken for, and "under" needs more of them.

    Classes that are never a label, never predicted or never right are left out, with their
    samples: what the others lose to "refused" or "background" is no bias between them.
    """
    labels, predictions = (
        np.asarray(sums, dtype=np.float64) for sums in (cm.label_counts, cm.prediction_counts)
    )
    total = max(float(labels.sum()), np.finfo(float).tiny)
    one_sided = (labels == 0) | (predictions == 0)
    # In effective samples, since weights may be of any size.
    enough = labels**2 >= _MANY * np.asarray(cm._square.variance_sums(1), dtype=np.float64)
    never_right = ~one_sided & enough & (cm.counts.diagonal() == 0)
    inside = np.flatnonzero(~never_right)
    numbers = np.full((4, len(labels)), np.nan)
    if len(inside):
        inside = inside[two_sided(part_of(cm, inside))]
        numbers[:, inside] = _ratios(cm, inside, level)
    numbers[:, one_sided] = np.nan
    ratio, _, _, p_values = numbers
    is_sure = p_values < 1 - level
    # The first that holds.
    conditions: dict[Verdict, NDArray[np.bool_]] = {
        "never answered": (labels == 0) & (cm.outcome_counts.sum(axis=1) > 0),
        "never seen": labels == 0,
        "never predicted": predictions == 0,
        "never right": never_right,
        "over": (ratio >= _SLIGHT) & is_sure,
        "under": (ratio <= 1 / _SLIGHT) & is_sure,
        "unclear": (ratio >= _SLIGHT) | (ratio <= 1 / _SLIGHT),
    }
    verdicts = np.select(list(conditions.values()), list(conditions), "even").tolist()
    # Plain numbers all at once: taken one by one they are most of the time of many classes.
    columns = labels, predictions, labels / total, predictions / total, *numbers
    lists = (column.tolist() for column in columns)
    return tuple(ClassBias(*row) for row in zip(cm.labels, *lists, verdicts, strict=True))


def _ratios(cm: ConfusionMatrix, inside: NDArray[np.intp], level: float) -> FloatArray:
    """Return ratio, low end, high end and p-value of some classes; NaN for those without labels."""
    sums, seen = _share_sums(cm, inside)
    result = np.full((4, len(inside)), np.nan)
    if seen.any():
        result[:3] = sums.sums, *sums.interval(level)
        # Where all samples are of one class, nothing says what the others would be taken for.
        result[3, seen] = holm(sums.p_values(1.0)[seen]) if seen.sum() > 1 else 1.0
    return result


def _share_sums(
    cm: ConfusionMatrix, inside: NDArray[np.intp]
) -> tuple[ShareSums, NDArray[np.bool_]]:
    """Return the column sums of the row-normalized matrix of some classes, and who has labels."""
    entries, n_classes = cm._square.entries, len(inside)
    place = np.full(cm.n_classes, -1)
    place[inside] = np.arange(n_classes)
    rows, columns = place[entries.row], place[entries.col]
    kept = (rows >= 0) & (columns >= 0) & (entries.data > 0)
    rows, columns, counts = rows[kept], columns[kept], entries.data[kept].astype(np.float64)
    noise = cm._square.entry_variances[kept].astype(np.float64) if cm.is_weighted else counts
    labels, spread = (np.bincount(rows, each, n_classes) for each in (counts, noise))
    seen = labels > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        row_sizes = labels**2 / spread
    share = np.minimum(counts / labels[rows], 1.0)
    sizes = row_sizes[rows]
    if cm.is_weighted:
        # Samples as effective as the variance of the share says, where it says anything.
        variance = ((1 - 2 * share) * noise + share**2 * spread[rows]) / labels[rows] ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            effective = share * (1 - share) / variance
        sizes = np.where((share < 1) & (variance > 0), effective, sizes)
    sums = ShareSums(
        columns=columns,
        hits=share * sizes,
        sizes=sizes,
        row_sizes=row_sizes[rows],
        rows=np.sort(row_sizes[seen]),
        n_columns=n_classes,
    )
    return sums, seen
