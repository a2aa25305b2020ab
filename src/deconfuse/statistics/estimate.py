"""`estimate_bi`: the bi-normalized matrix behind the samples, with intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse._checks import Label, needs_pandas, read_only, show
from deconfuse._memory import refuse_if_too_large
from deconfuse._text import proportion
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError, UndefinedCellsWarning, warn
from deconfuse.statistics.cells import (
    MAX_DENSE_CLASSES,
    as_confusion,
    check_level,
    check_some_samples,
    steady_variances,
    two_sided,
)
from deconfuse.statistics.estimate_intervals import Balanced, balance
from deconfuse.statistics.luce import PairPosterior, ShrunkCounts, shrink
from deconfuse.statistics.sensitivity import Chosen

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "BiEstimate",
    "EstimateFactors",
    "EstimatedCell",
    "EstimatedScore",
    "estimate_bi",
    "estimate_quietly",
    "separability_score",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EstimatedScore:
    """A number between 0 and 1 with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class EstimatedCell:
    """One cell of the estimate with its names, its interval and its count; NaN if not known."""

    true: Label
    pred: Label
    value: float
    low: float
    high: float
    count: float


@dataclass(frozen=True, slots=True, eq=False)
class EstimateFactors:
    """What turns counts into the estimate, one number per class; NaN for classes without one.

    Attributes
    ----------
    left, right : ndarray of shape (n_classes,)
        The estimate is ``left[i] * expected[i, j] * right[j]``, with expected counts.
    rows, columns : ndarray of shape (n_classes,)
        Classes ``i`` and ``j`` are expected to have ``rows[i] * columns[j]`` confusions if they are
        as similar as their difficulties say; times ``shrunk.background``, which is 1 up to 512
        classes.
    unit : ndarray of shape (n_classes,)
        What one effective sample of each true class weighs; 1 without weights.
    hits : ndarray of shape (n_classes,)
        How many correct predictions each class is expected to have.
    """

    left: FloatArray
    right: FloatArray
    rows: FloatArray
    columns: FloatArray
    unit: FloatArray
    hits: FloatArray


@dataclass(frozen=True, eq=False)
class BiEstimate:
    """The estimated bi-normalized matrix behind a confusion matrix.

    Attributes
    ----------
    source : ConfusionMatrix
        What it was estimated from.
    level : float
        The level of all intervals.
    """

    source: ConfusionMatrix
    level: float
    _classes: NDArray[np.intp]
    _balanced: Balanced
    _unit: FloatArray
    # Of the classes that have samples, the share that has an estimate.
    _share: float

    @property
    def labels(self) -> tuple[Label, ...]:
        """Class names in matrix order."""
        return self.source.labels

    @cached_property
    def matrix(self) -> FloatArray:
        """The estimate, read-only; NaN in rows and columns of classes without an estimate.

        Raises
        ------
        InputError
            When it would not fit into memory: ask for a cell, a row or the diagonal.
        """
        refuse_if_too_large(self.source.counts.shape, "The estimated matrix")
        return self._spread(self._balanced.matrix)

    @cached_property
    def diagonal(self) -> FloatArray:
        """The diagonal of the estimate: how well each class is told from the others."""
        return self._spread_vector(self._balanced.diagonal)

    @property
    def low(self) -> FloatArray:
        """Lower ends of the intervals of all cells; at most 4,096 classes."""
        return self._interval[0]

    @property
    def high(self) -> FloatArray:
        """Upper ends of the intervals of all cells; at most 4,096 classes."""
        return self._interval[1]

    @cached_property
    def separability(self) -> EstimatedScore:
        """The mean diagonal of the estimate over the classes that have samples.

        A class that is never predicted counts as 0: it is never told from the others.
        """
        known = self._balanced.separability(self.level)
        return EstimatedScore(*(self._share * number for number in known))

    @cached_property
    def factors(self) -> EstimateFactors:
        """What turns counts into the estimate, one number per class."""
        balanced, model = self._balanced, self.shrunk
        return EstimateFactors(
            *(
                self._spread_vector(values)
                for values in (
                    balanced.left / model.rows / self._unit,
                    balanced.right / model.columns,
                    model.rows * self._unit,
                    model.columns,
                    self._unit,
                    model.hits * self._unit,
                )
            )
        )

    @property
    def shrunk(self) -> ShrunkCounts:
        """The expected counts of the classes that have an estimate, before bi-normalization."""
        return self._balanced.shrunk

    def within(self, part: ConfusionMatrix) -> BiEstimate:
        """Return this estimate over ``part``, the counts between the classes that have one."""
        every = np.arange(part.n_classes)
        return BiEstimate(part, self.level, every, self._balanced, self._unit, 1.0)

    def among(self, classes: NDArray[np.intp]) -> BiEstimate:
        """Return the estimate of the classes at these positions alone, without all others."""
        if not np.array_equal(classes, self._classes):
            return estimate_quietly(self.source, self.level, classes)
        return self if self._share == 1.0 else replace(self, _share=1.0)

    @cached_property
    def confused_pairs(self) -> PairPosterior:
        """The pairs of classes that were confused, by position, with their similarity."""
        known = self.shrunk.pairs(self._balanced.counts)
        return replace(known, low=self._classes[known.low], high=self._classes[known.high])

    def distances(self) -> FloatArray:
        """Return minus the logarithm of the similarity of each pair, in SciPy's condensed form.

        NaN for pairs of classes without an estimate.
        """
        # Factors of rows and columns cancel: what is left are the diagonal and the listed pairs.
        n_classes, excess = len(self.labels), sparse.coo_array(self.shrunk.excess)
        own = self._spread_vector(0.5 * np.log1p(self.shrunk.excess.diagonal()))
        apart = np.empty(n_classes * (n_classes - 1) // 2)
        end = 0
        for k in range(n_classes - 1):
            start, end = end, end + n_classes - 1 - k
            np.add(own[k], own[k + 1 :], out=apart[start:end])
        rows, columns = self._classes[excess.row], self._classes[excess.col]
        beside = rows != columns
        first, second = np.minimum(rows, columns)[beside], np.maximum(rows, columns)[beside]
        places = first * n_classes - first * (first + 1) // 2 + second - first - 1
        np.subtract.at(apart, places, 0.5 * np.log1p(excess.data[beside]))
        return apart

    def cell(self, true: Any, pred: Any) -> EstimatedCell:
        """Return one cell by the names of its classes, with its interval and its count."""
        i, j = self.source.index_of([true, pred]).tolist()
        row, column = (np.flatnonzero(self._classes == place) for place in (i, j))
        low = high = float("nan")
        if len(row) and len(column):
            low, high = self._balanced.interval(int(row[0]), int(column[0]), self.level)
        value, count = float(self._row(i)[j]), float(self.source.counts[i, j])
        return EstimatedCell(self.labels[i], self.labels[j], value, low, high, count)

    def intervals_at(
        self, rows: NDArray[np.intp], columns: NDArray[np.intp]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the intervals of some cells, given by position; see `low`."""
        place = np.full(len(self.labels), -1)
        place[self._classes] = np.arange(len(self._classes))
        known = (place[rows] >= 0) & (place[columns] >= 0)
        ends = np.full((2, len(rows)), np.nan)
        cells = place[rows[known]], place[columns[known]]
        chosen = Chosen(len(self._classes), cells)
        ends[:, known] = self._balanced.intervals(self.level, chosen)
        return ends[0], ends[1]

    def row(self, true: Any) -> FloatArray:
        """Return the cells of one true class, over all predicted classes."""
        return self._row(int(self.source.index_of([true])[0]))

    def pooled(self, inside: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray, float]:
        """Return what classes exchange with a group: into it, from it, and within it per class.

        Parameters
        ----------
        inside : ndarray of bool of shape (n_classes,)
            The classes of the group.
        """
        part = inside[self._classes].astype(np.float64)
        into, source = self._balanced.times(part), self._balanced.transposed_times(part)
        within = float(into @ part) / max(float(part.sum()), 1.0)
        return self._spread_vector(into), self._spread_vector(source), within

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per cell: true, predicted, count, estimate, low, high."""
        with needs_pandas():
            import pandas as pd

        names = pd.MultiIndex.from_product([self.labels] * 2, names=["true", "predicted"])
        columns = {
            "count": sparse.csr_array(self.source.counts).toarray(),
            "estimate": self.matrix,
            "low": self.low,
            "high": self.high,
        }
        flat = {name: np.asarray(values).ravel() for name, values in columns.items()}
        return pd.DataFrame(flat, index=names).reset_index()

    @cached_property
    def _interval(self) -> tuple[FloatArray, FloatArray]:
        if len(self.labels) > MAX_DENSE_CLASSES:
            raise InputError(
                f"Intervals of all cells need at most {MAX_DENSE_CLASSES:,} classes, got"
                f" {len(self.labels):,}.",
                hint="`cell` has an interval for any number of classes, and so has `separability`.",
            )
        low, high = self._balanced.intervals(self.level, Chosen(len(self._classes)))
        return self._spread(low), self._spread(high)

    def _row(self, position: int) -> FloatArray:
        result = np.full(len(self.labels), np.nan)
        known = np.flatnonzero(self._classes == position)
        if known.size:
            result[self._classes] = self._balanced.row(int(known[0]))
        return result

    def _spread_vector(self, known: FloatArray) -> FloatArray:
        result = np.full(len(self.labels), np.nan)
        result[self._classes] = known
        return read_only(result)

    def _spread(self, known: FloatArray) -> FloatArray:
        """Return a matrix of all classes from one of those that have an estimate."""
        if len(known) == len(self.labels):
            return read_only(known)
        result = np.full((len(self.labels), len(self.labels)), np.nan)
        result[np.ix_(self._classes, self._classes)] = known
        return read_only(result)

    def __repr__(self) -> str:
        score = self.separability
        value, low, high = (proportion(one, 3) for one in (score.value, score.low, score.high))
        return (
            f"<BiEstimate of {len(self.labels):,} classes: separability {value} ({low} to {high} at"
            f" level {self.level:g})>"
        )


def estimate_bi(cm: ConfusionMatrix | Any, level: float = 0.95) -> BiEstimate:
    r"""Estimate the bi-normalized matrix behind the samples.

    `normalize` with ``"bi"`` shows the counts that were seen, plus a constant epsilon. This
    function asks what more samples of the same classifier would show.

    Parameters
    ----------
    cm : ConfusionMatrix or array-like of shape (n_classes, n_classes)
        Counts, true classes on rows, predicted classes on columns; also weighted or sparse.
    level : float
        The share of intervals that contain the true value.

    Returns
    -------
    BiEstimate

    Raises
    ------
    InputError
        When there are no samples.

    Warns
    -----
    UndefinedCellsWarning
        When a class is never a label, or never predicted: its row and column are NaN, and its
        samples are left out. So such a class changes no other cell.

    Notes
    -----
    Counts are shrunk towards Luce's similarity-choice model, then bi-normalized exactly. With
    :math:`h` correct predictions of a class (plus 0.4, since there may be none), the confusions
    :math:`s = m_{ij} + m_{ji}` of two classes are expected to be

    .. math:: \mu = \eta\, d_i d_j \sqrt{h_i h_j}\, 2 \cosh\frac{u_j - u_i}{2}

    with a difficulty :math:`d` per class from its confusions with all others, a bias :math:`u`
    from the directions of all confusions, and :math:`\eta` such that all ordinary pairs together
    have as many as were seen. Difficulties are normal on the log scale, averaged over how widely
    they may spread. Where class size probably explains all biases, they are held close to that. The
    estimated total of the pair is
    :math:`\mu (s + k) / (\mu + k)`, of which the share
    :math:`(m_{ij} + q \pi) / (s + q)` goes from :math:`i` to :math:`j`, where
    :math:`\pi = 1 / (1 + e^{u_i - u_j})`. A pair whose total contradicts those of all others is
    shrunk by less: one pair in twenty may have :math:`k = 1/2`, and a fitted share of all pairs
    is similar, with :math:`k = 1/2` around :math:`\eta = 0.3`. The shape :math:`k` (negative
    binomial), this share and the concentration :math:`q` (beta-binomial) are fitted by maximum
    likelihood with weak priors. So pairs are pooled as far as they are alike, and with more
    samples the estimate becomes ``normalize(cm, "bi", epsilon=0)``.

    An interval of an error cell is Wilson's around the count that was seen, scaled as the estimate
    is, and extended to the estimate where that lies outside. So shrinkage narrows the factors of
    rows and columns, but never rules out a cell that is larger than its peers. On the diagonal, and
    for the separability, it is that of a beta distribution with the mean and the variance of what
    is known: of the variance of a count, a shrunk one keeps the part :math:`\mu / (\mu + k)`, and
    the uncertainty of the difficulty of its class and of :math:`\eta`, also by that of the biases,
    is added. Variances are those of the delta method. Weighted samples count as effective samples
    of their true class.

    Examples
    --------
    >>> import deconfuse as dc
    >>> estimate = dc.estimate_bi([[48, 2, 0], [3, 46, 1], [0, 1, 49]])
    >>> estimate.matrix.round(3)
    array([[0.952, 0.041, 0.007],
           [0.041, 0.939, 0.02 ],
           [0.007, 0.02 , 0.973]])
    >>> float(estimate.low[0, 2].round(3)), float(estimate.high[0, 2].round(3))
    (0.0, 0.09)
    >>> estimate
    <BiEstimate of 3 classes: separability 0.955 (0.916 to 0.982 at level 0.95)>
    """
    matrix = as_confusion(cm)
    check_some_samples(matrix, "An estimate")
    estimate = estimate_quietly(matrix, check_level(level))
    absent = np.flatnonzero(np.isnan(estimate.diagonal))
    if len(absent):
        warn(
            "Classes that are never a label, or never predicted, have no estimate and are NaN:"
            f" {show(matrix.labels[k] for k in absent)}.",
            UndefinedCellsWarning,
        )
    return estimate


def estimate_quietly(
    cm: ConfusionMatrix, level: float, classes: NDArray[np.intp] | None = None
) -> BiEstimate:
    """Return the estimate of a matrix that has samples; classes without one are not named.

    ``classes`` are positions of classes that are labels and predictions of each other; the others
    get no estimate, and their samples have no part in it. By default all such classes.
    """
    share = 1.0
    if classes is None:
        classes = two_sided(cm)
        share = len(classes) / len(_labelled_classes(sparse.csr_array(cm._square.entries)))
    counts, uneven, unit = _effective(cm, classes)
    balanced = balance(shrink(counts), counts, uneven)
    return BiEstimate(cm, level, classes, balanced, unit, share)


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
    It is ``estimate_bi(cm).separability.value``: the mean over the classes that have samples, in
    which a class that is never predicted counts as 0. Its expected value stays nearly the same when
    the test set has another size or other class shares, and when predictions favour some classes by
    constant factors; accuracy changes with the second, balanced accuracy with the third. A single
    value has noise: ``estimate_bi(cm).separability`` has its interval, ``.low`` to ``.high``. What
    bias is left is at most 0.03 for all simulated classifiers of ``python -m benchmarks estimate``,
    and 0.05 on samples of a real matrix of 100 classes whose pairs were mostly seen one way only.

    It is not an accuracy: it says nothing about how often a prediction is right on the data at hand
    (Stehman 1997), because class shares and prediction bias, which make up much of that, are what
    bi-normalization takes out. Show accuracy beside it. Do not choose thresholds by it either: a
    class that is predicted only when it is certain has a pure column, so the score can rise while
    most of that class is missed.

    Examples
    --------
    >>> from deconfuse.statistics import separability_score
    >>> y_true = ["cat"] * 100 + ["dog"] * 10
    >>> y_pred = ["cat"] * 90 + ["dog"] * 10 + ["cat"] * 5 + ["dog"] * 5
    >>> round(separability_score(y_true, y_pred), 3)
    0.761
    """
    counts = ConfusionMatrix.from_predictions(
        y_true, y_pred, labels=labels, sample_weight=sample_weight
    )
    return estimate_quietly(counts, 0.95).separability.value


def _labelled_classes(counts: sparse.csr_array) -> NDArray[np.intp]:
    """Return the classes that have samples which were predicted as one of these classes.

    If there are none, as for one class that is always taken for another, these are all classes.
    """
    every = np.arange(counts.shape[0])
    classes = every
    while not (has_samples := np.asarray(counts.sum(axis=1)) > 0).all():
        classes = classes[has_samples]
        counts = counts[has_samples][:, has_samples]
    return classes if len(classes) else every


def _effective(
    cm: ConfusionMatrix, classes: NDArray[np.intp]
) -> tuple[sparse.csr_array, sparse.csr_array, FloatArray]:
    """Return effective samples, by how much more than theirs the cells vary, and their weights.

    A row is divided by what one effective sample of its class weighs, which bi-normalization does
    not see. Where the weights in a cell differ from those of its row, the cell varies more or less
    than its effective samples, which the second matrix says: 0 means as much.
    """
    counts = sparse.csr_array(cm._square.entries, dtype=np.float64)[classes][:, classes]
    unit = np.ones(len(classes))
    if not cm.is_weighted:
        return counts, sparse.csr_array(counts.shape), unit
    variances = steady_variances(cm)[classes][:, classes]
    sums, noise = (np.asarray(part.sum(axis=1)) for part in (counts, variances))
    np.divide(noise, sums, out=unit, where=sums > 0)
    samples = sparse.csr_array(sparse.diags_array(1 / unit) @ counts)
    varies = sparse.csr_array(sparse.diags_array(1 / unit**2) @ variances)
    places = samples.nonzero()
    uneven = np.divide(*(np.asarray(part[places]).ravel() for part in (varies, samples))) - 1.0
    return samples, sparse.csr_array((uneven, places), shape=counts.shape), unit
