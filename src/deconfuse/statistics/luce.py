r"""Shrink counts towards Luce's similarity-choice model, as far as the counts support it.

Two classes :math:`i, j` with :math:`h` correct predictions each are confused
:math:`\eta d_i d_j \sqrt{h_i h_j}\, (e^{(u_j - u_i)/2} + e^{(u_i - u_j)/2})` times on average: both
ways together, with one similarity :math:`\eta` for all pairs, and a difficulty :math:`d` and a bias
:math:`u` per class. Around this average the total of a pair has a gamma distribution, and the share
that goes one way a beta distribution. A few pairs, the similar ones, have totals far above the
average. Difficulties, biases, spreads and the number of similar pairs are fitted to the counts;
each pair then gets its posterior mean.

Pairs that were never confused, and rarely would be, have one share of what the model expects. It is
a product of one factor of the row and one of the column, so a matrix of many classes stays sparse
plus rank one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit, gammaln, psi, softmax

from deconfuse._checks import freeze

__all__ = ["WIDE_SHAPE", "WIDE_SHARE", "PairPosterior", "ShrunkCounts", "Spread", "shrink"]

FloatArray = NDArray[np.float64]
PlaceArray = NDArray[np.intp]

# Up to this number of classes every pair is listed. Above it, those that were confused and those
# that would be expected to be confused this often.
_ALL_PAIRS = 512
_EXPECTED = 0.2
# Added to the correct predictions of a class, which may be none; it makes classes of few samples
# look a little easier than they are. That their biases are known less well makes them look harder:
# so hits also grow by this many times the variance of the bias, on the log scale. Both numbers
# leave the least bias of the separability in `python -m benchmarks estimate`.
_HITS, _UNKNOWN_BIAS = 0.4, 0.08
# No class takes all confusions of a pair, however many there are.
_SMALLEST_SHARE = 1e-12
# Fewer confusions than this make no average.
_HALF = 0.5
# Prior of a bias: normal with variance 1 / _RIDGE around -kappa log h, because a class with fewer
# test samples is predicted wrongly more often than it is missed; kappa is normal around a half.
_RIDGE = 0.5
_KAPPA = 0.5
# How many times as precise that prior may become, where class size explains all biases.
_MOST_PRECISE = 128.0
_NEWTON_STEPS, _LONGEST_SLOPE_STEP = 60, 0.5
# A small share of all pairs may be more or less similar than the others: this shape is wide.
WIDE_SHARE, WIDE_SHAPE = 0.05, 0.5
# The average similarity of similar pairs, of classes of average difficulty. With this wide shape
# they have 0.001 to 1.
_SIMILARITY = 0.3
# So many similar pairs are expected before counts are seen: one confusion does not make one.
_SIMILAR_PRIOR = 0.002
_SHARE_ROUNDS = 5
# Steps towards difficulties in each round. None in the first: pairs that are similar say nothing of
# them, and must be known.
_DIFFICULTY_STEPS = (0, 3, 3)
# By how much classes may differ in difficulty, as a standard deviation of its log: all these are as
# probable before counts are seen.
_DIFFERENCES = (np.arange(10) + 1) / 10
# Of each step towards the difficulty of a class: it moves what its pairs say of their other class.
_STEP = 0.6
# Steps of logs: the first of a search, the longest where a step may overshoot, and one too small to
# matter.
_FIRST_STEP, _LONGEST_STEP, _SMALL_STEP = 0.3, 3.0, 1e-3
# Weak normal priors, mean and standard deviation, of the log shape of pair totals and of the log
# concentration of shares.
_SHAPE_PRIOR = (np.log(0.7), 1.5)
_CONCENTRATION_PRIOR = (3.0, 2.0)


@dataclass(frozen=True, slots=True)
class Spread:
    """How the totals of pairs spread around what is expected: a mixture of gamma distributions.

    Most pairs have a fitted shape, and one in twenty a wide one. A few pairs are similar: their
    totals spread widely around a similarity of their own, however rare confusions are otherwise.

    Attributes
    ----------
    shape : float
        The larger it is, the more pairs follow the model.
    similar_share : float
        Share of all pairs that are similar.
    similar_times : float
        How many times as often as others similar pairs are confused.
    """

    shape: float
    similar_share: float
    similar_times: float

    def shrink(self, total: FloatArray, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the posterior means of totals, and the shapes that stand behind them."""
        shapes = np.array([[self.shape], [min(WIDE_SHAPE, self.shape)], [WIDE_SHAPE]])
        means = expected * np.array([[1.0], [1.0], [self.similar_times]])
        probabilities = self.probabilities(self.log_likelihoods(total, expected))
        shrunk = probabilities * means * (total + shapes) / (means + shapes)
        return shrunk.sum(axis=0), (probabilities * shapes).sum(axis=0)

    def probabilities(self, log_likelihoods: FloatArray) -> FloatArray:
        """Return how probable each part of the mixture is: ordinary, wide, similar."""
        wide = (1.0 - self.similar_share) * WIDE_SHARE
        shares = np.array([1.0 - self.similar_share - wide, wide, self.similar_share])
        return np.asarray(softmax(np.log(shares)[:, None] + log_likelihoods, axis=0))

    def log_likelihoods(self, total: FloatArray, expected: FloatArray) -> FloatArray:
        """Return those of totals in each part of the mixture, whatever the share of the part."""
        return np.array(
            [
                _log_likelihood(total, expected, self.shape),
                _log_likelihood(total, expected, WIDE_SHAPE),
                _log_likelihood(total, expected * self.similar_times, WIDE_SHAPE),
            ]
        )


@dataclass(frozen=True, slots=True, eq=False)
class ShrunkCounts:
    """Expected counts ``rows[i] * columns[j] * (1 + excess[i, j])``.

    Attributes
    ----------
    rows, columns : ndarray of shape (n_classes,)
        What a pair of classes that was never confused is expected to have.
    excess : csr_array of shape (n_classes, n_classes)
        How much more the diagonal and the listed pairs have, relative to that.
    kept : csr_array of shape (n_classes, n_classes)
        Of the variance of a count, the part that the shrunk count has; 1 on the diagonal. The rest
        is known from the other pairs.
    unlisted_kept : float
        The same of pairs that are not listed.
    level_variance : float
        Relative variance of the average similarity, which all expected totals share; also because
        biases are uncertain.
    class_variance : ndarray of shape (n_classes,)
        Of the log difficulty of each class, which its counts leave uncertain.
    spread : Spread
        Of pair totals.
    background : float
        How many times what its difficulties and biases say a pair that is not listed is expected
        to have.
    concentration : float
        Of the beta distribution of shares. The larger it is, the more they follow the model.
    similarity : float
        Of the median pair.
    """

    rows: FloatArray
    columns: FloatArray
    excess: sparse.csr_array
    kept: sparse.csr_array
    unlisted_kept: float
    level_variance: float
    class_variance: FloatArray
    spread: Spread
    background: float
    concentration: float
    similarity: float

    @property
    def hits(self) -> FloatArray:
        """Expected correct predictions of each class."""
        return np.asarray(self.rows * self.columns * (1.0 + self.excess.diagonal()))

    @property
    def least(self) -> float:
        """Pairs that were not confused are listed from this many expected in either direction."""
        return 0.0 if len(self.rows) <= _ALL_PAIRS else 0.5 * _EXPECTED * self.background

    def pairs(self, counts: sparse.csr_array) -> PairPosterior:
        """Return what is known of the similarity of each pair that was confused."""
        pairs = _confused_pairs(counts)
        return self._posterior(pairs.chosen(pairs.total > 0), self.hits)

    def _posterior(self, pairs: _Pairs, hits: FloatArray) -> PairPosterior:
        """Return the posterior of the similarity: a total, its split, and the two hits.

        To first order the relative variances of the three add up.
        """
        low, high, total = pairs.low, pairs.high, pairs.total
        expected = _expected(pairs, self.rows, self.columns)
        share = self.rows[low] * self.columns[high] / expected
        expected = expected / self.background
        there = pairs.forward + self.concentration * share
        back = pairs.backward + self.concentration * (1 - share)
        both = there + back
        # Of the root of share * (1 - share), for a beta distribution of the share.
        split = (there - back) ** 2 / (4 * there * back * (both + 1))
        scale = np.sqrt(there * back) / both / np.sqrt(hits[low] * hits[high])
        others = split + 0.25 * (1 / hits[low] + 1 / hits[high])
        shrunk, shape = self.spread.shrink(total, expected)
        return PairPosterior(
            low=low,
            high=high,
            similarity=scale * shrunk,
            relative_variance=1 / (total + shape) + others,
            similarity_alone=scale * (total + 1),
            relative_variance_alone=1 / (total + 1) + others,
        )


@dataclass(frozen=True, slots=True, eq=False)
class PairPosterior:
    """Similarities of listed pairs of classes: posterior means and relative variances.

    ``alone`` is what the counts of a pair say without those of the other pairs.
    """

    low: PlaceArray
    high: PlaceArray
    similarity: FloatArray
    relative_variance: FloatArray
    similarity_alone: FloatArray
    relative_variance_alone: FloatArray

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Listed pairs of classes, and how often the lower was taken for the higher and back."""

    low: PlaceArray
    high: PlaceArray
    forward: FloatArray
    backward: FloatArray
    n_classes: int

    @cached_property
    def total(self) -> FloatArray:
        return self.forward + self.backward

    @property
    def is_complete(self) -> bool:
        return len(self.low) == self.n_classes * (self.n_classes - 1) // 2

    def by_class(self, values: FloatArray) -> FloatArray:
        """Return the sum over the pairs of each class."""
        low, high = (np.bincount(end, values, self.n_classes) for end in (self.low, self.high))
        return np.asarray(low + high)

    def chosen(self, keep: NDArray[np.bool_]) -> _Pairs:
        return _Pairs(
            self.low[keep], self.high[keep], self.forward[keep], self.backward[keep], self.n_classes
        )


def shrink(counts: sparse.csr_array) -> ShrunkCounts:
    """Return the expected counts behind counts, which are samples or effective samples."""
    hits = counts.diagonal() + _HITS
    pairs = _confused_pairs(counts)
    bias, bias_variances, bias_level = _fit_bias(pairs, np.log(hits))
    hits *= np.exp(_UNKNOWN_BIAS * bias_variances)
    rows, columns = np.sqrt(hits) * np.exp(-bias / 2), np.sqrt(hits) * np.exp(bias / 2)
    concentration = _fit_concentration(pairs, _shares(pairs, bias))
    level = _average_similarity(float(pairs.total.sum()), _all_chances(rows, columns))
    listed = _with_expected(pairs, np.sqrt(level) * rows, np.sqrt(level) * columns)
    factors, class_variance, spread = _fit_spread(listed, rows, columns)
    rows, columns = factors * rows, factors * columns
    # With difficulties, and the average of the pairs that are not similar, others are expected.
    pairs = _with_expected(pairs, rows, columns)
    share = _shares(pairs, bias)
    expected = _expected(pairs, rows, columns)
    rest = _rest(pairs, rows, columns)
    background, unlisted_kept = _background(rest, spread)
    rows, columns = np.sqrt(background) * rows, np.sqrt(background) * columns
    shrunk, shape = spread.shrink(pairs.total, expected)
    gain = shrunk / expected / background
    there = gain * (pairs.forward / share + concentration) / (pairs.total + concentration)
    back = gain * (pairs.backward / (1 - share) + concentration) / (pairs.total + concentration)
    own = hits / (rows * columns)
    kept = np.minimum(shrunk / (pairs.total + shape), 1.0)
    places = np.arange(len(hits))
    at = (
        np.concatenate([pairs.low, pairs.high, places]),
        np.concatenate([pairs.high, pairs.low, places]),
    )
    # Both have the same places, which are sorted once.
    sources = sparse.csr_array((np.arange(len(at[0])), at), shape=counts.shape)
    excess, part_kept = (
        sparse.csr_array(
            (np.concatenate(values)[sources.data], sources.indices, sources.indptr),
            shape=counts.shape,
        )
        for values in ((there - 1, back - 1, own - 1), (kept, kept, np.ones(len(hits))))
    )
    # What two classes are similar by, if nothing is known of their pair: the product of both.
    alone = np.sqrt(rows * columns / hits)
    similarity = np.sqrt(there * back) * alone[pairs.low] * alone[pairs.high]
    return ShrunkCounts(
        rows,
        columns,
        excess,
        part_kept,
        unlisted_kept,
        _level_variance(expected, rest, spread.shape) + bias_level,
        class_variance,
        spread,
        background,
        concentration,
        _median(similarity, float(np.median(alone)) ** 2, pairs),
    )


def _shares(pairs: _Pairs, bias: FloatArray) -> FloatArray:
    """Return the share of each pair that goes from the lower to the higher class: never all."""
    share = expit(bias[pairs.high] - bias[pairs.low])
    return np.clip(share, _SMALLEST_SHARE, 1 - _SMALLEST_SHARE)


def _level_variance(expected: FloatArray, rest: tuple[float, float], shape: float) -> float:
    """Return the relative variance of the sum of all totals, which are negative binomial."""
    total = float(expected.sum()) + rest[0]
    squares = float((expected**2).sum()) + rest[1]
    return (total + squares / shape) / max(total, _HALF) ** 2


def _background(rest: tuple[float, float], spread: Spread) -> tuple[float, float]:
    """Return how much of what is expected is left for unlisted pairs, and of their variance.

    They have one factor, that of a pair with their typical expected total.
    """
    n_pairs, typical = _alike(rest)
    if not n_pairs:
        return 1.0, 1.0
    shrunk, shape = spread.shrink(np.zeros(1), np.array([typical]))
    return float(shrunk[0] / typical), float(min(shrunk[0] / shape[0], 1.0))


def _alike(rest: tuple[float, float]) -> tuple[float, float]:
    """Return how many pairs with which expected total have this sum, and this sum of squares."""
    total, squares = rest
    # Where nearly all pairs are listed, either may be what rounding leaves.
    return (total**2 / squares, squares / total) if total > 0 < squares else (0.0, 0.0)


def _all_chances(rows: FloatArray, columns: FloatArray) -> float:
    """Return how many confusions there would be if all classes were the same."""
    return float(rows.sum() * columns.sum() - rows @ columns)


def _average_similarity(confusions: float, chances: float) -> float:
    """Return the similarity with which the model expects as many confusions as there were."""
    return max(confusions, _HALF) / max(chances, _HALF**2)


def _fit_spread(
    pairs: _Pairs, rows: FloatArray, columns: FloatArray
) -> tuple[FloatArray, FloatArray, Spread]:
    """Return a factor of each class, the variance of its log, and how pairs spread around them.

    The factor is the difficulty of the class times the root of the average similarity.

    This is expectation maximization: the pairs that are probably similar count less in the average,
    in difficulties and in the shape of the others. Pairs that were never confused are not similar.
    """
    n_pairs = max(pairs.n_classes * (pairs.n_classes - 1) // 2, 1)
    seen = np.flatnonzero(pairs.total)
    # Sorted once: many pairs have the same total.
    totals, place = np.unique(np.append(pairs.total, 0.0), return_inverse=True)
    weights, share = np.ones(len(pairs.total)), _SIMILAR_PRIOR / n_pairs
    difficulty, level, shape = np.zeros(pairs.n_classes), 1.0, float(np.exp(_SHAPE_PRIOR[0]))
    for n_steps in _DIFFICULTY_STEPS:
        for _ in range(n_steps):
            factors = np.sqrt(level) * np.exp(difficulty)
            step, variance = _difficulty_step(
                pairs, (factors * rows, factors * columns), difficulty, shape, weights
            )
            difficulty = difficulty + step
        harder = np.exp(difficulty)
        sides = harder * rows, harder * columns
        chances = _expected(pairs, *sides)
        level = _average_similarity(
            float((weights * pairs.total).sum()),
            _all_chances(*sides) - float(((1.0 - weights) * chances).sum()),
        )
        n_rest, typical = _alike(_rest(pairs, *sides))
        shape = _fit_shape(
            (totals, place),
            level * np.append(chances, typical),
            np.append(weights, n_rest),
            shape,
        )
        spread = Spread(shape, share, max(_SIMILARITY / level, 1.0))
        likelihoods = spread.log_likelihoods(pairs.total[seen], level * chances[seen])
        for _ in range(_SHARE_ROUNDS):
            spread = replace(spread, similar_share=share)
            similar = spread.probabilities(likelihoods)[2]
            share = (float(similar.sum()) + _SIMILAR_PRIOR) / (n_pairs + 1)
        weights[seen] = 1.0 - similar
    return np.sqrt(level) * harder, variance, spread


def _difficulty_step(
    pairs: _Pairs,
    sides: tuple[FloatArray, FloatArray],
    difficulty: FloatArray,
    shape: float,
    weights: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the next change of the log difficulty of each class, and its variance.

    What the confusions of a class say of its difficulty is normal around it. So are difficulties
    around a mean, which stands in the average similarity of all pairs; how widely is not known, and
    the result is the average over all that may be.

    ``sides`` are the factors of rows and columns of what is expected at this difficulty.
    """
    rows, columns = sides
    expected = _expected(pairs, rows, columns)
    every = rows * columns.sum() + columns * rows.sum() - 2 * rows * columns
    # Of pairs that are not listed, which have no confusions.
    rest = 0.0 if pairs.is_complete else np.maximum(every - pairs.by_class(expected), 0.0)
    parts = weights / (1 + expected / shape)
    known = np.maximum(pairs.by_class(parts * expected) + rest, np.finfo(np.float64).tiny)
    more = (pairs.by_class(parts * (pairs.total - expected)) - rest) / known
    # Pairs that are far from what is expected would let both of their classes overshoot.
    seen = difficulty + np.minimum(more, _LONGEST_STEP)
    noise = 1 / known
    variances = _DIFFERENCES[:, None] ** 2 + noise
    precision = (1 / variances).sum(axis=1, keepdims=True)
    away = seen - (seen / variances).sum(axis=1, keepdims=True) / precision
    logs = (np.log(variances) + away**2 / variances).sum(axis=1, keepdims=True) + np.log(precision)
    chances = softmax(-0.5 * logs, axis=0)
    drawn = _DIFFERENCES[:, None] ** 2 / variances
    mean = (chances * drawn * away).sum(axis=0)
    variance = (chances * (drawn * noise + (drawn * away - mean) ** 2)).sum(axis=0)
    return _STEP * (mean - difficulty), variance


def _log_likelihood(total: FloatArray, expected: FloatArray, shape: float) -> FloatArray:
    """Return the log probability of negative binomial totals, up to a term of the total alone."""
    mixed = -shape * np.log1p(expected / shape)
    # Most pairs of many classes were never confused.
    seen = np.flatnonzero(total)
    some, mean = total[seen], expected[seen]
    mixed[seen] += gammaln(some + shape) - gammaln(shape) + some * np.log(mean / (shape + mean))
    return np.asarray(mixed)


def _median(similarity: FloatArray, level: float, pairs: _Pairs) -> float:
    """Return the median over all pairs, where those that are not listed have one value."""
    n_pairs = pairs.n_classes * (pairs.n_classes - 1) // 2
    below = np.sort(similarity[similarity < level])
    above = np.sort(similarity[similarity >= level])
    half = n_pairs // 2
    if half < len(below):
        return float(below[half])
    unlisted = n_pairs - len(similarity)
    if half < len(below) + unlisted or n_pairs == 0:
        return level
    return float(above[half - len(below) - unlisted])


def _confused_pairs(counts: sparse.csr_array) -> _Pairs:
    n_classes = counts.shape[0]
    if n_classes <= _ALL_PAIRS:
        dense = counts.toarray()
        low, high = np.triu_indices(n_classes, 1)
        return _Pairs(low, high, dense[low, high], dense[high, low], n_classes)
    upper = sparse.triu(counts, 1, format="coo")
    lower = sparse.tril(counts, -1, format="coo")
    low = np.concatenate([upper.row, lower.col]).astype(np.intp)
    high = np.concatenate([upper.col, lower.row]).astype(np.intp)
    keys, place = np.unique(low * n_classes + high, return_inverse=True)
    is_forward = np.arange(len(low)) < upper.nnz
    values = np.concatenate([upper.data, lower.data])
    forward = np.bincount(place, np.where(is_forward, values, 0.0), len(keys))
    backward = np.bincount(place, np.where(is_forward, 0.0, values), len(keys))
    return _Pairs(
        keys // n_classes,
        keys % n_classes,
        np.asarray(forward, dtype=np.float64),
        np.asarray(backward, dtype=np.float64),
        n_classes,
    )


def _with_expected(pairs: _Pairs, rows: FloatArray, columns: FloatArray) -> _Pairs:
    """List the pairs too that were not confused, but would be expected to be."""
    if pairs.is_complete:
        return pairs
    n_classes = pairs.n_classes
    order = np.argsort(-columns)
    # Either direction of such a pair is expected half as often or more.
    least = 0.5 * _EXPECTED / rows
    n_partners = np.searchsorted(-columns[order], -least, side="right")
    first = np.repeat(np.arange(n_classes), n_partners)
    starts = np.repeat(np.cumsum(n_partners) - n_partners, n_partners)
    second = order[np.arange(len(first)) - starts]
    keys = np.minimum(first, second) * n_classes + np.maximum(first, second)
    listed = pairs.low * n_classes + pairs.high
    # Sorted here: `unique` of so many is slow.
    keys = np.sort(keys[first != second])
    keys = np.setdiff1d(keys[np.diff(keys, prepend=-1) > 0], listed, assume_unique=True)
    nothing = np.zeros(len(keys))
    return _Pairs(
        np.concatenate([pairs.low, keys // n_classes]),
        np.concatenate([pairs.high, keys % n_classes]),
        np.concatenate([pairs.forward, nothing]),
        np.concatenate([pairs.backward, nothing]),
        n_classes,
    )


def _expected(pairs: _Pairs, rows: FloatArray, columns: FloatArray) -> FloatArray:
    low, high = pairs.low, pairs.high
    return np.asarray(rows[low] * columns[high] + rows[high] * columns[low])


def _rest(pairs: _Pairs, rows: FloatArray, columns: FloatArray) -> tuple[float, float]:
    """Return the sums of the expected totals of unlisted pairs, and of their squares."""
    if pairs.is_complete:
        return 0.0, 0.0
    listed = _expected(pairs, rows, columns)
    both = rows * columns
    total = _all_chances(rows, columns)
    squares = float((rows**2).sum() * (columns**2).sum() + both.sum() ** 2 - 2 * (both**2).sum())
    return max(total - float(listed.sum()), 0.0), max(squares - float((listed**2).sum()), 0.0)


def _fit_bias(pairs: _Pairs, log_hits: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return the bias of each class: a Bradley-Terry fit to the directions of confusions.

    The prior is normal around ``-kappa * log_hits``. Minimizing over kappa as well leaves a
    quadratic penalty of the biases alone.

    With it come the variance of each bias for what its own confusions say, and the relative
    variance of the average similarity because biases are not known exactly, by the delta method.
    This is large where few classes have most samples: what the many small ones are expected to have
    then hangs on the slope of bias over class size.
    """
    seen = pairs.chosen(pairs.total > 0)
    n_pairs, n_classes = len(seen.low), seen.n_classes
    signs = np.concatenate([np.ones(n_pairs), -np.ones(n_pairs)])
    places = (np.tile(np.arange(n_pairs), 2), np.concatenate([seen.high, seen.low]))
    difference = sparse.csr_array((signs, places), shape=(n_pairs, n_classes))
    transposed = sparse.csr_array(difference.T)
    size = log_hits - log_hits.mean()
    kappa, ridge = _fit_slope(seen, difference, size)
    stiffness = ridge / (ridge * float(size @ size) + 1.0)
    bias = -kappa * size
    for _ in range(_NEWTON_STEPS):
        share = expit(difference @ bias)
        kappa = _KAPPA - stiffness * float(size @ (bias + _KAPPA * size))
        gradient = transposed @ (seen.forward - seen.total * share)
        gradient -= ridge * (bias + kappa * size)
        weight = seen.total * share * (1 - share)
        operator = LinearOperator(
            (n_classes, n_classes),
            matvec=lambda v, weight=weight: (
                transposed @ (weight * (difference @ v))
                + ridge * (v - stiffness * float(size @ v) * size)
            ),
            dtype=np.float64,
        )
        own = 1.0 / (abs(transposed) @ weight + ridge)
        scales = sparse.diags_array(own)
        step, _ = cg(operator, gradient, rtol=1e-10, M=scales)
        longest = float(np.abs(step).max())
        bias = bias + step * min(1.0, _LONGEST_STEP / max(longest, _LONGEST_STEP))
        if longest < 1e-9:
            break
    rows, columns = np.exp((log_hits - bias) / 2), np.exp((log_hits + bias) / 2)
    effects = 0.5 * (columns * rows.sum() - rows * columns.sum())
    effects /= max(_all_chances(rows, columns), _HALF**2)
    moves, _ = cg(operator, effects, rtol=1e-4, M=scales)
    return np.asarray(bias), np.asarray(own), float(effects @ moves)


def _fit_slope(
    pairs: _Pairs, difference: sparse.csr_array, size: FloatArray
) -> tuple[float, float]:
    """Return the slope of biases over class size, and the precision of the prior around it.

    If class size explains all biases, the rest of those that are fitted is noise, and classes seem
    easier to tell apart than they are. So where that is more probable than not, the prior is more
    precise, by the odds. They compare two normal distributions of how much too often each class is
    predicted for its size: without other biases, and with those of the prior. The mean bias is
    free, hence one class less.
    """
    kappa, effect = _KAPPA, -(difference @ size)
    for _ in range(_NEWTON_STEPS):
        share = expit(kappa * effect)
        spread = pairs.total * share * (1 - share)
        # Sums here and below, where a product of vectors would wake the threads of NumPy's BLAS.
        step = float((effect * (pairs.forward - pairs.total * share)).sum()) + _KAPPA - kappa
        step /= float((effect**2 * spread).sum()) + 1.0
        kappa += min(max(step, -_LONGEST_SLOPE_STEP), _LONGEST_SLOPE_STEP)
        if abs(step) < 1e-9:
            break
    more = difference.T @ (pairs.forward - pairs.total * share)
    known = abs(difference).T @ spread
    # Large biases move shares by less, which level off: the mean slope of a logistic over a normal
    # variable is lower as if the prior were this much more precise (MacKay, 1992).
    wide = _RIDGE + np.pi / 4
    log_odds = (1.0 - 1.0 / len(size)) * float(np.log1p(known / wide).sum())
    log_odds = 0.5 * (log_odds - float((more**2 / (known + wide)).sum()))
    return kappa, _RIDGE * float(np.exp(np.clip(log_odds, 0.0, np.log(_MOST_PRECISE))))


def _fit_shape(
    totals: tuple[FloatArray, PlaceArray], expected: FloatArray, weights: FloatArray, start: float
) -> float:
    """Return the shape of the gamma distribution of pair totals, whose counts it mixes.

    ``totals`` are the different ones in order, and which of them each pair has.
    """
    counts, place = totals
    total, times = counts[place], np.bincount(place, weights)

    def slope(shape: float) -> float:
        gained = times * (psi(counts + shape) - psi(shape) + np.log(shape) + 1)
        mixed = expected + shape
        lost = weights * (np.log(mixed) + (total + shape) / mixed)
        return float(lost.sum() - gained.sum())

    return _most_likely(slope, _SHAPE_PRIOR, (-6.0, 6.0), start)


def _fit_concentration(pairs: _Pairs, share: FloatArray) -> float:
    """Return the concentration of the beta distribution of shares around their model."""
    several = pairs.total > 1
    forward, backward, mean = pairs.forward[several], pairs.backward[several], share[several]

    total = forward + backward

    def slope(concentration: float) -> float:
        there = concentration * mean
        back = concentration - there
        gained = mean * (psi(forward + there) - psi(there))
        gained += (1 - mean) * (psi(backward + back) - psi(back))
        return float((psi(total + concentration) - psi(concentration) - gained).sum())

    start = float(np.exp(_CONCENTRATION_PRIOR[0]))
    return _most_likely(slope, _CONCENTRATION_PRIOR, (-2.0, 8.0), start)


def _most_likely(
    slope: Callable[[float], float],
    prior: tuple[float, float],
    log_range: tuple[float, float],
    start: float,
) -> float:
    """Return the number with the least loss, of this slope, under a normal prior of its log.

    By secants in a bracket. Not by SciPy's minimizers: they take longer to import than small
    matrices to be estimated.
    """
    mean, deviation = prior

    def log_slope(log_value: float) -> float:
        value = float(np.exp(log_value))
        return value * slope(value) + (log_value - mean) / deviation**2

    low, high = log_range
    at = float(np.log(start))
    value = log_slope(at)
    step = -_FIRST_STEP * np.sign(value)
    while abs(step) > _SMALL_STEP:
        low, high = (at, high) if value < 0 else (low, at)
        if high - low < _SMALL_STEP:
            break
        moved = at + step if low < at + step < high else 0.5 * (low + high)
        fresh = log_slope(moved)
        bend = (fresh - value) / (moved - at)
        at, value = moved, fresh
        step = -value / bend if bend > 0 else -_LONGEST_STEP * np.sign(value)
    return float(np.exp(np.clip(at + step, low, high)))
