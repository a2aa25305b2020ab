"""`compare`: two confusion matrices of the same classes, cell by cell and as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from deconfuse._checks import Label, show
from deconfuse.agreement import overlap
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.normalization import Normalized
from deconfuse.statistics.cells import as_confusion, cells_of, check_epsilon, check_level
from deconfuse.statistics.multiplicity import Correction, adjust
from deconfuse.statistics.resampling import (
    Side,
    Triples,
    overlap_interval,
    paired_noise,
    simulated_distances,
    unpaired_noise,
)
from deconfuse.statistics.sensitivity import JointNoise, Sensitivity

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["CellDifference", "Comparison", "cell_p_values", "compare"]

FloatArray = NDArray[np.float64]

_RESAMPLES, _FEWEST = 999, 49
# Fewer replicates where classes are many, so that a comparison takes seconds.
_MOST_CELLS = 20_000_000
_SEED = 0
# Two predictions that agree on nearly all samples share nearly all noise, but never all of it.
_LEAST_SPREAD = 1e-6


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
class Comparison:
    """How two confusion matrices differ, apart from their label and prediction frequencies.

    Attributes
    ----------
    first, second : Normalized
        The bi-normalized matrices, with classes in the order of the first.
    overlap : float
        The Overlap of both, as it is seen: noise makes it lower than it is.
    overlap_interval : (float, float)
        Confidence interval for the Overlap without noise, of at least the level asked for: it
        always reaches down to the Overlap seen.
    overlap_if_equal : float
        The Overlap that two equal classifiers would show on average with so many samples.
    difference : ndarray of shape (n_classes, n_classes)
        First minus second.
    standard_errors : ndarray of shape (n_classes, n_classes)
        Of the difference.
    raw_p_values : ndarray of shape (n_classes, n_classes)
        Of no difference in a cell, each for itself.
    p_value : float
        Of no difference in any cell: the overall test.
    is_paired : bool
        Whether it was used that both predictions are of the same samples.
    level : float
        Of the interval.
    """

    first: Normalized
    second: Normalized
    overlap: float
    overlap_interval: tuple[float, float]
    overlap_if_equal: float
    difference: FloatArray
    standard_errors: FloatArray
    raw_p_values: FloatArray
    p_value: float
    is_paired: bool
    level: float

    def __post_init__(self) -> None:
        for array in (self.difference, self.standard_errors, self.raw_p_values):
            array.flags.writeable = False

    @property
    def labels(self) -> tuple[Label, ...]:
        """Class names in matrix order."""
        return self.first.labels

    @property
    def p_values(self) -> FloatArray:
        """P-values of the cells, corrected for their number by Holm's method."""
        return self.adjusted("holm")

    def adjusted(self, correction: Correction = "holm") -> FloatArray:
        """Return the p-values of the cells, corrected for their number.

        Parameters
        ----------
        correction : {"holm", "bh", "none"}
            ``"holm"`` keeps the chance of any false alarm, ``"bh"`` (Benjamini and Hochberg) the
            share of false alarms among all alarms.

        Returns
        -------
        ndarray of shape (n_classes, n_classes)
        """
        return adjust(self.raw_p_values, correction)

    def top(self, k: int = 10) -> list[CellDifference]:
        """Return the ``k`` cells that differ most surely, surest first."""
        if k < 1:
            raise InputError(f"`k` must be at least 1, got {k!r}.")
        p_values = self.p_values
        # Corrected p-values tie at one; the raw ones and the size of the difference do not.
        order = np.lexsort((-np.abs(self.difference).ravel(), self.raw_p_values.ravel()))[:k]
        first, second = _dense(self.first), _dense(self.second)
        cells = [divmod(int(place), len(self.labels)) for place in order]
        return [
            CellDifference(
                self.labels[i],
                self.labels[j],
                float(first[i, j]),
                float(second[i, j]),
                float(self.difference[i, j]),
                float(self.standard_errors[i, j]),
                float(p_values[i, j]),
            )
            for i, j in cells
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, dicts, numbers and strings, for JSON."""
        from deconfuse.statistics.comparison_text import to_dict

        return to_dict(self)

    def __str__(self) -> str:
        from deconfuse.statistics.comparison_text import to_text

        return to_text(self)

    def __repr__(self) -> str:
        low, high = self.overlap_interval
        return (
            f"<Comparison of {len(self.labels):,} classes: Overlap {self.overlap:.3f}"
            f" ({low:.3f} to {high:.3f}), p = {self.p_value:.3g}>"
        )

    def __rich__(self) -> Group:
        from deconfuse.statistics.comparison_text import to_rich

        return to_rich(self)

    def _repr_html_(self) -> str:
        from deconfuse.statistics.comparison_text import to_html

        return to_html(self)


def compare(
    first: ConfusionMatrix | Any,
    second: ConfusionMatrix | Any,
    *,
    paired: tuple[Any, Any, Any] | None = None,
    epsilon: float | None = None,
    level: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> Comparison:
    r"""Compare the bi-normalized matrices of two models, or of one model on two datasets.

    Parameters
    ----------
    first, second : ConfusionMatrix or array-like of shape (n_classes, n_classes)
        Of the same classes, matched by name. Of at most 4,096 classes.
    paired : tuple (y_true, first_predictions, second_predictions), optional
        The predictions behind both matrices, when two models predicted the same samples: what both
        do alike then does not blur what they do differently.
    epsilon : float, optional
        Added to every cell of both; by default ``1 / n_classes``. Must be positive.
    level : float
        Level of the interval for the Overlap.
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

    Notes
    -----
    A cell's p-value is that of the exact test of two Poisson rates (mid-p), with the numbers of
    samples that the standard errors of the delta method stand for: in cell :math:`B`,
    :math:`n = B^2 / \mathrm{var}(B)` samples in an exposure of :math:`n / B`. For a cell above one
    half, the rest of its row is tested. So it holds for small counts too, also when one matrix has
    many more samples.

    The overall p-value compares the Overlap with those of matrices simulated from the fit that has
    one bi-normalized matrix for both sides and the margins of each (no three-way interaction).
    Label imbalance and prediction bias may differ between the two at will: this tests similarity
    alone. For paired predictions the samples are drawn anew instead. Above 300 classes simulated
    matrices are bi-normalized to first order.

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
    check_level(level)
    one, other = _aligned(as_confusion(first), as_confusion(second))
    added = check_epsilon(epsilon, one.n_classes)
    if added == 0:
        raise InputError(
            "`epsilon` must be positive to compare cells on the logit scale, got 0.",
            hint="leave it at its default.",
        )
    generator = np.random.default_rng(_SEED if rng is None else rng)
    normalized = [cm.normalize("bi", epsilon=added) for cm in (one, other)]
    sides = [_side(n, added) for n in normalized]
    triples = None if paired is None else _triples(one, other, paired)
    covariance = None if triples is None else _covariances(sides, triples)
    p_values, errors = _cell_tests(sides, covariance)
    difference = sides[0].matrix - sides[1].matrix
    n_resamples = int(np.clip(_MOST_CELLS // one.n_classes**2, _FEWEST, _RESAMPLES))
    noise = (
        unpaired_noise(sides[0], sides[1], n_resamples, generator)
        if triples is None
        else paired_noise(sides[0], sides[1], triples, n_resamples, generator)
    )
    distance = float(np.abs(difference).sum()) / (2 * one.n_classes)
    distances = simulated_distances(difference, noise)
    by_chance = distances[0]
    return Comparison(
        first=normalized[0],
        second=normalized[1],
        overlap=overlap(normalized[0], normalized[1]),
        overlap_interval=overlap_interval(distance, distances, level, one.n_classes),
        overlap_if_equal=float(1 - by_chance.mean()),
        difference=difference,
        standard_errors=errors,
        raw_p_values=p_values,
        p_value=float((1 + (by_chance >= distance).sum()) / (1 + n_resamples)),
        is_paired=triples is not None,
        level=float(level),
    )


def cell_p_values(
    first: ConfusionMatrix,
    second: ConfusionMatrix,
    *,
    correction: Correction = "holm",
    paired: tuple[Any, Any, Any] | None = None,
) -> FloatArray:
    """Return the corrected p-values of `compare` alone, without the resampling it does besides.

    For reports on many classes, where only the cells matter.

    Examples
    --------
    >>> import numpy as np, deconfuse as dc
    >>> a = dc.ConfusionMatrix.from_counts([[80, 20], [9, 91]])
    >>> b = dc.ConfusionMatrix.from_counts([[50, 50], [9, 91]])
    >>> bool(np.array_equal(cell_p_values(a, b), dc.compare(a, b).p_values))
    True
    """
    one, other = _aligned(first, second)
    added = check_epsilon(None, one.n_classes)
    sides = [_side(cm.normalize("bi", epsilon=added), added) for cm in (one, other)]
    covariance = None if paired is None else _covariances(sides, _triples(one, other, paired))
    return adjust(_cell_tests(sides, covariance)[0], correction)


def _aligned(
    first: ConfusionMatrix, second: ConfusionMatrix
) -> tuple[ConfusionMatrix, ConfusionMatrix]:
    """Return both with the classes of the first, in its order."""
    if first.labels == second.labels:
        return first, second
    missing = [label for label in first.labels if label not in set(second.labels)]
    extra = [label for label in second.labels if label not in set(first.labels)]
    if missing or extra:
        raise InputError(
            "Compared matrices must have the same classes, got"
            f" {show(missing) or 'none'} only in the first and {show(extra) or 'none'} only in the"
            " second.",
            hint="count both with the same `labels`, or join classes with `merge_classes`.",
        )
    return first, second.reorder(first.labels)


def _side(normalized: Normalized, epsilon: float) -> Side:
    cells = cells_of(normalized.source, epsilon, what="Compared matrices")
    if normalized.source.total == 0:
        raise InputError("Compared matrices must have samples, but one has none.")
    return Side(cells, _dense(normalized), epsilon)


def _cell_tests(sides: list[Side], covariance: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return the p-value and the standard error of every cell's difference."""
    variances = [
        Sensitivity.of(side.matrix).variances(side.cells.variances / side.exposures**2)
        for side in sides
    ]
    together = variances[0] + variances[1]
    # For a cell above one half, the rest of its row is the rarer event.
    common = sides[0].matrix + sides[1].matrix > 1.0
    values = [np.where(common, _rest(side.matrix), side.matrix) for side in sides]
    spread = [v / value**2 for v, value in zip(variances, values, strict=True)]
    gain = np.ones_like(together)
    if covariance is not None:
        shared = 2 * covariance / (values[0] * values[1])
        total = spread[0] + spread[1]
        gain = total / np.maximum(total - shared, _LEAST_SPREAD * total)
        together = np.maximum(together - 2 * covariance, 0.0)
    samples = [gain / part for part in spread]
    exposures = [n / value for n, value in zip(samples, values, strict=True)]
    return _rate_test(samples, exposures), np.sqrt(together)


def _rate_test(samples: list[FloatArray], exposures: list[FloatArray]) -> FloatArray:
    """Return two-sided mid-p values of equal rates, for numbers of samples and exposures.

    Given the sum of two Poisson numbers, the first is binomial with the share of its exposure.
    """
    total = samples[0] + samples[1]
    share = exposures[0] / (exposures[0] + exposures[1])
    at_least = betainc(samples[0], total - samples[0] + 1, share)
    more = betainc(samples[0] + 1, total - samples[0], share)
    above = (at_least + more) / 2
    return np.asarray(np.minimum(1.0, 2 * np.minimum(above, 1 - above)))


def _rest(matrix: FloatArray) -> FloatArray:
    """Return one minus every cell, summed from the other cells where the cell is close to one."""
    rest = 1.0 - matrix
    for i, j in np.argwhere(matrix > 0.9):
        rest[i, j] = matrix[i, :j].sum() + matrix[i, j + 1 :].sum()
    return np.maximum(rest, np.finfo(float).tiny)


def _triples(
    first: ConfusionMatrix, second: ConfusionMatrix, paired: tuple[Any, Any, Any]
) -> Triples:
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


def _covariances(sides: list[Side], triples: Triples) -> FloatArray:
    factors = [1 / side.exposures for side in sides]
    weights = (
        triples.counts
        * factors[0][triples.true, triples.first]
        * factors[1][triples.true, triples.second]
    )
    joint = JointNoise((triples.true, triples.first, triples.second), weights, len(sides[0].matrix))
    first, second = (Sensitivity.of(side.matrix) for side in sides)
    return first.covariances(second, joint)


def _dense(normalized: Normalized) -> FloatArray:
    matrix = normalized.matrix
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())
