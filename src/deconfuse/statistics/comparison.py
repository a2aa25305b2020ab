"""`compare`: two confusion matrices of the same classes, cell by cell and as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deconfuse._checks import Label, freeze, is_finite_number
from deconfuse._shown import ShownDocument
from deconfuse._text import proportion
from deconfuse.agreement import overlap
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import DeconfuseWarning, InputError, warn
from deconfuse.normalization import Normalized, chosen_epsilon
from deconfuse.statistics.cells import (
    Correction,
    adjust,
    as_confusion,
    as_generator,
    check_at_least_one,
    check_level,
    part_of,
    two_sided,
)
from deconfuse.statistics.comparison_text import headline, to_dict
from deconfuse.statistics.conditional import Triples, triples_of
from deconfuse.statistics.deterioration import deteriorations
from deconfuse.statistics.estimate import BiEstimate, estimate_quietly
from deconfuse.statistics.margin_tests import bias_test, label_share_test, paired_bias_test
from deconfuse.statistics.outcomes import OutcomeChange, outcome_changes, right_of_all
from deconfuse.statistics.resampling import Side, Spread
from deconfuse.statistics.score_differences import RecallDifferences, ScoreDifference, Scores
from deconfuse.statistics.similarity_test import SimilarityTest, similarity_test

if TYPE_CHECKING:
    from deconfuse.reporting.document import Document

__all__ = ["CellDifference", "Comparison", "compare", "compare_normalized"]

FloatArray = NDArray[np.float64]

_SEED = 0


@dataclass(frozen=True, slots=True)
class CellDifference:
    """One cell in both matrices."""

    true: Label
    pred: Label
    first: float
    second: float
    difference: float
    standard_error: float
    p_value: float


@dataclass(frozen=True, eq=False)
class Comparison(ShownDocument):
    """How two confusion matrices differ: which is better, and what changed underneath.

    Every difference is the second minus the first.

    Attributes
    ----------
    accuracy, balanced_accuracy : ScoreDifference
        Of both matrices, with the interval and the p-value of their difference. Balanced accuracy
        is that of the classes with labels in both; NaN where there is none.
    accuracy_at_equal_shares : ScoreDifference
        The recalls of both, weighted by the same label shares. Where the label shares of the two
        differ, accuracy would tell more of the labels than of the classifiers.
    recalls : RecallDifferences
        The recall of every class in both, with intervals and corrected p-values.
    label_shares_p_value : float
        Of equal label shares. 1 for paired samples, whose labels are the same.
    bias_p_value : float
        Of equal prediction bias: given the label, both predict each class equally often.
    p_value : float
        Of equal similarity: apart from label shares and prediction bias, both confuse the same
        classes. The overall test of all cells.
    smallest_p_value : float
        The smallest ``p_value`` that samples with these margins could have given. Where it is not
        below ``1 - level``, this test cannot show any difference, see `can_tell`.
    first, second : Normalized
        The bi-normalized counts (the definition), with classes in the order of the first.
    estimates : tuple of two BiEstimate
        The bi-normalized matrices behind both, of the classes that are labels and predictions in
        both; values and differences of cells come from them.
    overlap : float
        The Overlap of ``first`` and ``second``, as it is seen: noise makes it lower than it is.
    difference : ndarray of shape (n_classes, n_classes)
        Of the estimates, second minus first; NaN for a class that is never a label or never
        predicted in one of them.
    raw_p_values : ndarray of shape (n_classes, n_classes)
        Of no difference in a cell, each for itself.
    p_values : ndarray of shape (n_classes, n_classes)
        The same, corrected for the number of cells: the chance of any false alarm is kept.
    is_paired : bool
        Whether it was used that both predictions are of the same samples.
    level : float
        Of the intervals.
    outcomes : tuple of OutcomeChange
        How the rate of every outcome differs; empty without outcomes. They enter nothing else.
    """

    accuracy: ScoreDifference
    balanced_accuracy: ScoreDifference
    accuracy_at_equal_shares: ScoreDifference
    recalls: RecallDifferences
    label_shares_p_value: float
    bias_p_value: float
    first: Normalized
    second: Normalized
    estimates: tuple[BiEstimate, BiEstimate]
    overlap: float
    difference: FloatArray
    raw_p_values: FloatArray
    p_values: FloatArray
    p_value: float
    smallest_p_value: float
    is_paired: bool
    level: float
    outcomes: tuple[OutcomeChange, ...]
    _scores: Scores = field(repr=False)
    _spread: Spread = field(repr=False)

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def labels(self) -> tuple[Label, ...]:
        """Class names in matrix order."""
        return self.first.labels

    @property
    def shared_classes(self) -> tuple[Label, ...]:
        """The classes with labels in both matrices."""
        return tuple(self.labels[k] for k in self._scores.shared)

    @property
    def is_same(self) -> bool:
        """Whether both predict the same for every one of the paired samples."""
        return self._scores.is_same

    @property
    def has_other_labels(self) -> bool:
        """Whether the label shares of the two surely differ, in classes that both have."""
        has_shared = bool(len(self._scores.shared))
        return has_shared and not self.is_paired and self.label_shares_p_value < 1 - self.level

    @property
    def accuracy_by_shares(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The accuracy of both at the label shares of the first, and at those of the second.

        Of the classes with labels in both. Where the two differ in direction, which is better
        depends on how frequent the classes are.
        """
        return self._scores.accuracy_by_shares()

    @property
    def right_of_all(self) -> ScoreDifference | None:
        """The share of all samples that are right, where an outcome is not; None without outcomes.

        Where label shares differ, classes are weighted alike on both sides. Samples count as
        independent, so that of the same samples the interval is wider than it needs to be.
        """
        return self._right_of_all(self.level)

    def _right_of_all(self, level: float) -> ScoreDifference | None:
        one, other = self.first.source, self.second.source
        if not one.outcomes and not other.outcomes:
            return None
        return right_of_all(one, other, level, equal_shares=self.has_other_labels)

    @property
    def can_tell(self) -> bool:
        """Whether the overall test of similarity could have shown any difference."""
        return self.smallest_p_value < 1 - self.level

    @property
    def standard_errors(self) -> FloatArray:
        """Standard errors of the difference of the definitions, by the delta method."""
        return self._spread.errors

    @property
    def overlap_interval(self) -> tuple[float, float]:
        """Confidence interval for the Overlap without noise, of at least the level asked for.

        It always holds the Overlap seen.
        """
        return self._spread.overlap_interval

    @property
    def overlap_if_equal(self) -> float:
        """Overlap of two classifiers that differ by label shares and prediction bias alone.

        It is what they would show on average with so many samples.
        """
        return self._spread.overlap_if_equal

    @property
    def headline(self) -> str:
        """Which of the two is better, by how much, and whether it may be chance."""
        return headline(self)

    def deteriorations(self, margin: float = 0.0) -> tuple[str, ...]:
        """Return what is certainly worse in the second matrix, one sentence each.

        Parameters
        ----------
        margin : float
            How far a score may fall, or a share of confusions may rise, without being reported.

        Returns
        -------
        tuple of str
            Empty where nothing is certainly worse.

        Notes
        -----
        Five things count, and each must be certain beyond the margin:

        - of matrices with outcomes, the share of all samples that are right fell,
        - the accuracy at the same label shares (of each class the recall, weighted alike on both
          sides) fell,
        - the balanced accuracy fell,
        - the recall of some class fell: those of which the text says so,
        - some pair of classes is confused more often: the mean of the share of one class taken for
          the other, and the reverse.

        Because all of them are shares of a true class, a changed mix of labels alone changes none.
        Scores and pairs are compared with draws in which the samples of each true class change
        sides at random (of paired samples, the two predictions), recalls are tested exactly. Two
        equal classifiers are meant to be reported with a chance of at most ``1 - level``. See
        ``python -m benchmarks gate`` for how often that happens, and how often real changes are
        found.

        Examples
        --------
        >>> import deconfuse as dc
        >>> c = dc.compare([[800, 200], [100, 900]], [[800, 200], [300, 700]])
        >>> for sentence in c.deteriorations(margin=0.02):
        ...     print(sentence)
        Accuracy at the same label shares fell: 0.850 → 0.750.
        Balanced accuracy fell: 0.850 → 0.750.
        Recall of “1” fell: 0.900 → 0.700.
        “0” and “1” are confused more often: 0.150 → 0.250.
        """
        if not is_finite_number(margin) or not 0 <= margin < 1:
            raise InputError(
                f"`margin` must be at least 0 and below 1, got {margin!r}.",
                hint="two points of accuracy are 0.02.",
            )
        spread = self._spread
        found = deteriorations(
            self.labels, self._scores, spread.triples, float(margin), self.level, spread.seed
        )
        # At a tenth of the risk, so that this adds next to nothing to the false alarms.
        whole = self._right_of_all(1 - (1 - self.level) / 5)
        if whole is None or not whole.high < -margin:
            return found
        before, after = (proportion(value, 3) for value in (whole.first, whole.second))
        return (f"Right answers of all samples fell: {before} → {after}.", *found)

    def is_worse(self, margin: float = 0.0) -> bool:
        """Return whether the second matrix is certainly worse, see `deteriorations`.

        Examples
        --------
        >>> import deconfuse as dc
        >>> dc.compare([[80, 20], [9, 91]], [[79, 21], [9, 91]]).is_worse()
        False
        """
        return bool(self.deteriorations(margin))

    def adjusted(self, correction: Correction) -> FloatArray:
        """Return the raw p-values of the cells, corrected for their number in another way.

        Parameters
        ----------
        correction : {"holm", "bh", "none"}
            ``"holm"`` keeps the chance of any false alarm, as ``p_values`` do with more power;
            ``"bh"`` (Benjamini and Hochberg) the share of false alarms among all alarms.

        Returns
        -------
        ndarray of shape (n_classes, n_classes)
        """
        return adjust(self.raw_p_values, correction)

    def top(self, k: int = 10) -> list[CellDifference]:
        """Return the ``k`` cells that differ most surely; where none does, the largest differences.

        Cells whose corrected p-value is below ``1 - level`` come first, surest first. The others
        follow by the size of their difference, which may be chance.
        """
        check_at_least_one(k, "k")
        chance = np.where(self.p_values < 1 - self.level, self.p_values, 1.0)
        order = np.lexsort((-np.abs(self.difference).ravel(), chance.ravel()))
        # A class with samples on one side only has nothing to differ from.
        order = order[~np.isnan(self.difference.ravel()[order])][:k]
        first, second = (estimate.matrix for estimate in self.estimates)
        cells = [divmod(int(place), len(self.labels)) for place in order]
        return [
            CellDifference(
                self.labels[i],
                self.labels[j],
                float(first[i, j]),
                float(second[i, j]),
                float(self.difference[i, j]),
                float(self.standard_errors[i, j]),
                float(self.p_values[i, j]),
            )
            for i, j in cells
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, dicts, numbers and strings, for JSON."""
        return to_dict(self)

    @property
    def document(self) -> Document:
        """The sentences and tables that are shown."""
        from deconfuse.reporting.document import comparison_document

        return comparison_document(self)

    def __repr__(self) -> str:
        low, high = self.overlap_interval
        return (
            f"<Comparison of {len(self.labels):,} classes: accuracy {self.accuracy.first:.3f} →"
            f" {self.accuracy.second:.3f}, Overlap {self.overlap:.3f} ({low:.3f} to {high:.3f}),"
            f" p = {self.p_value:.3g}>"
        )


def compare(
    first: ConfusionMatrix | Any,
    second: ConfusionMatrix | Any,
    *,
    paired: tuple[Any, Any, Any] | None = None,
    epsilon: float | None = None,
    level: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> Comparison:
    r"""Compare the confusion matrices of two models, or of one model on two datasets.

    First which is better: accuracy, balanced accuracy and the recall of every class. Then what
    changed underneath: label shares, prediction bias, and similarity, the bi-normalized matrices.

    Parameters
    ----------
    first, second : ConfusionMatrix or array-like of shape (n_classes, n_classes)
        Of the same classes, matched by name. Of at most 4,096 classes.
    paired : tuple (y_true, first_predictions, second_predictions), optional
        The predictions behind both matrices, when two models predicted the same samples: what both
        do alike then does not blur what they do differently.
    epsilon : float, optional
        Of the definition, whose Overlap is given; see `deconfuse.normalize`. Must be positive.
    level : float
        Level of the intervals.
    rng : numpy.random.Generator or int, optional
        Randomness of the overall test and of the interval, or its seed. By default a fixed seed, so
        that equal input gives equal output.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        When the classes differ, or ``paired`` is not what was counted.

    Warns
    -----
    DeconfuseWarning
        When ``epsilon`` weighs more than a sample of either matrix.

    Notes
    -----
    Differences of scores have Newcombe's hybrid score interval, and the p-value at which it begins
    to hold zero; the accuracy and the recalls of paired samples have Tango's interval and McNemar's
    exact test (of accuracy as a mid-p). Balanced accuracy is a mean of recalls, see
    `deconfuse.statistics.metrics.MeanShares`. An interval holds zero wherever the test does not
    rule it out.
    Label shares are compared by Pearson's :math:`X^2` with exact moments, prediction bias by the
    generalized test of Cochran, Mantel and Haenszel (true classes are the strata), for paired
    samples by that of Stuart and Maxwell.

    A cell's p-value is that of the exact test of two Poisson rates (mid-p), with the numbers of
    samples that the standard errors of the delta method stand for: in cell :math:`B`,
    :math:`n = B^2 / \mathrm{var}(B)` samples in an exposure of :math:`n / B`. For a cell above one
    half, the rest of its row is tested. So it holds for small counts too, also when one matrix has
    many more samples. These tests add ``epsilon``, but not more than one effective sample to a row:
    more would pull the matrix of fewer or lighter samples to an even one, which is no difference of
    the classifiers.

    The overall test asks whether the two differ by more than label shares and favours, which may
    differ at will. It is exact: given the sum of both tables and the margins of each, all tables
    that could have been seen have known probabilities under the null hypothesis, and the one seen
    is ranked among draws of them (see `deconfuse.statistics.conditional` and
    `deconfuse.statistics.similarity_test`). So its p-values are uniform for any number of
    classes and samples, up to ties: with very few samples it cannot become small, which
    `can_tell` says. For paired predictions the same is done with the samples on which the two
    models disagree. The smallest p-value is one over the number of draws: 0.001, with very many
    cells 0.005. Weighted counts enter as their effective numbers of samples, where the test is
    approximate. Where there is no other table to draw, however many samples there are (say each
    class is taken only for the next), the overall p-value is that of the surest cell, corrected
    for the number of cells.

    The interval of the Overlap is cautious at both ends, see
    `deconfuse.statistics.resampling.overlap_interval`. Above 300 classes drawn matrices are
    bi-normalized to first order for it.

    Examples
    --------
    >>> import deconfuse as dc
    >>> a = dc.ConfusionMatrix.from_counts([[90, 10, 2], [12, 80, 4], [1, 5, 95]])
    >>> b = dc.ConfusionMatrix.from_counts([[80, 5, 25], [4, 85, 4], [30, 6, 70]])
    >>> c = dc.compare(a, b)
    >>> c.p_value < 0.01
    True
    >>> sorted((cell.true, cell.pred) for cell in c.top(4))
    [(0, 0), (0, 2), (2, 0), (2, 2)]
    """
    level = check_level(level)
    one, other = as_confusion(first), as_confusion(second)
    hint = "count both with the same `labels`, or join classes with `merge_classes`."
    one.classes.align(other.classes, hint=hint)
    other = other.reindex(one.classes)
    added = chosen_epsilon(epsilon, one.n_classes)
    _check_positive(added)
    return compare_normalized(
        one.normalize("bi", epsilon=added),
        other.normalize("bi", epsilon=added),
        paired=paired,
        level=level,
        rng=rng,
    )


def compare_normalized(
    first: Normalized,
    second: Normalized,
    *,
    paired: tuple[Any, Any, Any] | None,
    level: float,
    rng: np.random.Generator | int | None = None,
    estimates: tuple[BiEstimate, BiEstimate] | None = None,
) -> Comparison:
    """Compare two matrices of the same classes that are bi-normalized already; see `compare`.

    So are their ``estimates``, if these are given: each of all classes that it can have.
    """
    _check_positive(first.epsilon)
    one, other = first.source, second.source
    seed = int(as_generator(_SEED if rng is None else rng).integers(2**62))
    normalized = first, second
    known = _known_to_both(one, other)
    if estimates is None:
        among = known if len(known) else None
        estimates = estimate_quietly(one, level, among), estimate_quietly(other, level, among)
    elif len(known):
        estimates = estimates[0].among(known), estimates[1].among(known)
    sides = [Side.of(n) for n in normalized]
    _warn_if_drowned(sides)
    triples = None if paired is None else triples_of(one, other, paired)
    scores = _scores(sides, triples)
    samples = [side.samples for side in sides]
    tested = _test_similarity(samples, triples, known, seed)
    labels = [_all_labels(n.source, table) for n, table in zip(normalized, samples, strict=True)]
    return Comparison(
        accuracy=scores.accuracy(level),
        balanced_accuracy=scores.balanced_accuracy(level),
        accuracy_at_equal_shares=scores.accuracy_at_equal_shares(level),
        recalls=scores.recalls(level),
        label_shares_p_value=1.0 if triples is not None else label_share_test(*labels),
        bias_p_value=(
            bias_test(*samples) if triples is None else paired_bias_test(triples, one.n_classes)
        ),
        first=normalized[0],
        second=normalized[1],
        estimates=estimates,
        overlap=overlap(normalized[0], normalized[1]),
        difference=estimates[1].matrix - estimates[0].matrix,
        raw_p_values=tested.raw,
        p_values=tested.corrected,
        p_value=tested.p_value,
        smallest_p_value=tested.smallest,
        is_paired=triples is not None,
        level=level,
        outcomes=outcome_changes(one, other, level),
        _scores=scores,
        _spread=Spread(sides[0], sides[1], triples, level, seed),
    )


def _check_positive(epsilon: float) -> None:
    if epsilon == 0:
        raise InputError(
            "`epsilon` must be positive to compare bi-normalized matrices cell by cell, got 0.",
            hint="leave it at its default; with 0 a cell without samples would pass for surely"
            " empty.",
        )


def _known_to_both(one: ConfusionMatrix, other: ConfusionMatrix) -> NDArray[np.intp]:
    """Return the classes that are labels and predictions of each other in both matrices.

    Cells are shares of what is bi-normalized, so that the same cell of other classes is another
    number.
    """
    known = np.arange(one.n_classes)
    while len(known):
        kept = [two_sided(part_of(cm, known)) for cm in (one, other)]
        both = known[np.intersect1d(kept[0], kept[1])]
        if len(both) == len(known):
            break
        known = both
    return known


def _test_similarity(
    samples: list[FloatArray], triples: Triples | None, known: NDArray[np.intp], seed: int
) -> SimilarityTest:
    """Test the similarity of the classes known to both; no p-values for the others."""
    n_classes = len(samples[0])
    if len(known) == n_classes > 1:
        return similarity_test(samples[0], samples[1], triples, seed)
    raw, corrected = np.full((2, n_classes, n_classes), np.nan)
    at = np.ix_(known, known)
    tables = [table[at] for table in samples]
    if triples is not None:
        triples = triples.among(known, n_classes)
        tables = triples.tables(len(known))
    if len(known) < 2 or not all(table.any() for table in tables):
        raw[at] = corrected[at] = 1.0
        return SimilarityTest(1.0, 1.0, raw, corrected)
    found = similarity_test(tables[0], tables[1], triples, seed)
    raw[at], corrected[at] = found.raw, found.corrected
    return replace(found, raw=raw, corrected=corrected)


def _all_labels(cm: ConfusionMatrix, samples: FloatArray) -> FloatArray:
    """Return the effective labels of each class, also of samples whose answer is no class."""
    unit = float(samples.sum()) / max(float(cm.total), 1e-300)
    return np.asarray(samples.sum(axis=1) + unit * cm.outcome_counts.sum(axis=1))


def _scores(sides: list[Side], triples: Triples | None) -> Scores:
    if triples is None:
        return Scores(sides[0].plain, sides[1].plain)
    n_classes = len(sides[0].matrix)
    agreed = np.zeros((n_classes, n_classes))
    same = triples.first == triples.second
    agreed[triples.true[same], triples.first[same]] = triples.counts[same]
    return Scores(sides[0].plain, sides[1].plain, agreed)


def _warn_if_drowned(sides: list[Side]) -> None:
    """Say it where cells are epsilon more than samples."""
    for which, side in zip(("first", "second"), sides, strict=True):
        if side.epsilon > side.plain.unit:
            warn(
                f"`epsilon` of {side.epsilon:.3g} weighs {side.epsilon / side.plain.unit:.3g} times"
                f" a sample of the {which} matrix, so what is shown of it is more epsilon than"
                " samples. P-values are computed with less. Scale the weights to a mean of one, or"
                " give a smaller `epsilon`.",
                DeconfuseWarning,
            )
