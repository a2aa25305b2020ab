"""Find what is certainly worse in the second of two matrices: scores, recalls, pairs of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.special import ndtri, xlogy

from deconfuse._checks import Label
from deconfuse._text import proportion, quoted
from deconfuse.statistics.cells import round_fairly
from deconfuse.statistics.conditional import Triples
from deconfuse.statistics.score_differences import Proportions, Scores

__all__ = ["deteriorations"]

FloatArray = NDArray[np.float64]

# Equal classifiers may be called worse as often as the level allows. Recalls are tested in both
# directions, so half of that is for recalls that fell; the other half is for scores and pairs.
_ALARMS = 0.5
_PARTS = {"scores": 0.2, "pairs": 0.8}
_DRAWS = 999
# Pairs that are looked at: those whose confusions could surprise most, whichever side has them.
_MOST_PAIRS = 2_000
# Sums in another order differ in the last digits; equal tables must stay equal.
_DIGITS = 9
# Kinds of samples that are drawn at once, to save memory.
_KINDS_AT_ONCE = 2_000
_MOST_SAMPLES = 4e8


@dataclass(frozen=True, slots=True, eq=False)
class _Draws:
    """Second tables that could have been seen if both classifiers were equal, cell by cell."""

    # Flat places of the cells that are looked at.
    cells: NDArray[np.intp]
    # Samples of both tables that could be on either side.
    total: FloatArray
    # How many are in the second table: as seen in the first column, then as drawn.
    second: FloatArray
    # Which share of the total to expect there.
    share: FloatArray
    # Samples of every true class in both tables, unless they are paired.
    labels: tuple[FloatArray, FloatArray] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Numbers of one kind that may have become worse."""

    # Sentences up to the two values.
    names: Sequence[str]
    change: Proportions
    # 1 where a rise is worse, -1 where a fall is.
    sign: int

    def told(self, is_certain: NDArray[np.bool_], margin: float, z: float) -> list[str]:
        """Return the sentences of what is certainly worse, by more than a margin if it has one."""
        before, after = self.change.values
        is_worse = is_certain & (self.sign * (after - before) > 0)
        if margin:
            low, high = self.change.limits(z)
            is_worse &= low > margin if self.sign > 0 else high < -margin
        return [
            f"{self.names[k]}: {proportion(before[k], 3)} → {proportion(after[k], 3)}."
            for k in np.flatnonzero(is_worse).tolist()
        ]


def deteriorations(
    labels: Sequence[Label],
    scores: Scores,
    triples: Triples | None,
    margin: float,
    level: float,
    seed: int,
) -> tuple[str, ...]:
    """Return what is certainly worse by more than the margin, one sentence each.

    Notes
    -----
    What counts, and how it is drawn, is told by `Comparison.deteriorations`. The largest change of
    the scores and of the pairs is kept in every draw (Westfall and Young 1993), and the two
    thresholds are set so that few enough draws exceed any of them. As draws keep the labels of both
    sides, another mix of labels is no reason.
    """
    rng = np.random.default_rng(seed)
    if not len(scores.shared):
        return ()
    pairs = _surprising_pairs(scores)
    if triples is None:
        draws = _unpaired(scores, _cells_of(pairs, len(labels)), rng)
    else:
        draws = _paired(triples, _cells_of(pairs, len(labels)), len(labels), rng)
    groups = {"scores": _scores(scores, draws), "pairs": _pairs(labels, scores, draws, pairs)}
    # The largest change of each group in every table, and its rank among all tables.
    largest = {
        kind: np.round(away.max(axis=0, initial=0.0), _DIGITS) for kind, (_, away) in groups.items()
    }
    ranks = [_at_least(values, values) / _PARTS[kind] for kind, values in largest.items()]
    bound = np.sort(np.min(ranks, axis=0))[int(_ALARMS * (1 - level) * (1 + _DRAWS) + 1e-6)]
    found = {}
    for kind, (group, away) in groups.items():
        own = _at_least(largest[kind], np.round(away[:, 0], _DIGITS)) / _PARTS[kind]
        # Up to rounding, this is the threshold in standard deviations.
        z = float(np.quantile(largest[kind], 1 - min(bound * _PARTS[kind], 1.0))) if margin else 0.0
        found[kind] = group.told(own < bound, margin, z)
    return (*found["scores"], *_recalls(labels, scores, margin, level), *found["pairs"])


def _at_least(values: FloatArray, bars: FloatArray) -> FloatArray:
    """Return the share of values that reach each bar."""
    return np.asarray(1 - np.searchsorted(np.sort(values), bars, side="left") / len(values))


def _surprising_pairs(scores: Scores) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs of classes with the most confusions, given the samples of both sides.

    Of k confusions in both matrices, all are in the second with probability e**k, if e is its share
    of the samples.
    """
    first, second = scores.first.values, scores.second.values
    both = first + second
    low, high = np.nonzero(np.triu(both + both.T, 1))
    n = [counts.sum(axis=1) for counts in (first, second)]
    is_known = np.isin(low, scores.shared) & np.isin(high, scores.shared)
    low, high = low[is_known], high[is_known]
    share = (n[1][low] + n[1][high]) / ((n[0] + n[1])[low] + (n[0] + n[1])[high])
    surprise = (both[low, high] + both[high, low]) * -np.log(share)
    kept = np.sort(np.argsort(-surprise, kind="stable")[:_MOST_PAIRS])
    return low[kept], high[kept]


def _cells_of(pairs: tuple[NDArray[np.intp], NDArray[np.intp]], n_classes: int) -> NDArray[np.intp]:
    """Return the flat places of both cells of every pair, and of all hits."""
    low, high = pairs
    places = [
        low * n_classes + high,
        high * n_classes + low,
        np.arange(n_classes) * (n_classes + 1),
    ]
    # With counts NumPy sorts; without, it hashes, which takes a hundred times as long.
    return np.unique(np.concatenate(places), return_counts=True)[0]


def _unpaired(scores: Scores, cells: NDArray[np.intp], rng: np.random.Generator) -> _Draws:
    """Draw which samples of each true class are in the second table."""
    # numpy draws from fewer than 10^9 samples; of so many, fewer tell the same.
    most = max(float(samples.sum(axis=1).max()) for samples in scores.samples)
    first, second = (
        round_fairly(samples * min(1.0, _MOST_SAMPLES / most), rng) for samples in scores.samples
    )
    n_classes = len(first)
    n = first.sum(axis=1), second.sum(axis=1)
    both = (first + second).ravel()
    seen = second.ravel()[cells]
    drawn = np.zeros((len(cells), _DRAWS), dtype=np.int64)
    row = cells // n_classes
    for i in range(n_classes):
        own = np.flatnonzero(row == i)
        colours = both[cells[own]]
        rest = both[i * n_classes : (i + 1) * n_classes].sum() - colours.sum()
        drawn[own] = rng.multivariate_hypergeometric(
            np.append(colours, rest), int(n[1][i]), size=_DRAWS, method="marginals"
        ).T[:-1]
    share = n[1] / np.maximum(n[0] + n[1], 1)
    return _Draws(
        cells,
        both[cells].astype(np.float64),
        np.column_stack([seen, drawn]).astype(np.float64),
        share[row],
        (n[0].astype(np.float64), n[1].astype(np.float64)),
    )


def _paired(
    triples: Triples, cells: NDArray[np.intp], n_classes: int, rng: np.random.Generator
) -> _Draws:
    """Draw which of two different predictions of a sample is that of the second classifier."""
    differs = triples.first != triples.second
    counts = triples.counts[differs]
    rows = triples.true[differs] * n_classes
    at = [rows + said[differs] for said in (triples.first, triples.second)]
    seen = _onto(cells, at[1]) @ counts
    total = seen + _onto(cells, at[0]) @ counts
    drawn = np.zeros((len(cells), _DRAWS))
    for start in range(0, len(counts), _KINDS_AT_ONCE):
        part = slice(start, start + _KINDS_AT_ONCE)
        stay = rng.binomial(counts[part, None], 0.5, size=(len(counts[part]), _DRAWS))
        drawn += _onto(cells, at[1][part]) @ stay
        drawn += _onto(cells, at[0][part]) @ (counts[part, None] - stay)
    second = np.column_stack([seen, drawn])
    return _Draws(cells, total, second, np.full(len(cells), 0.5))


def _onto(cells: NDArray[np.intp], places: NDArray[np.intp]) -> csr_array:
    """Return the matrix that adds up what is at some places, cell by cell."""
    row = np.searchsorted(cells, places).clip(max=len(cells) - 1)
    data = (cells[row] == places).astype(np.float64)
    shape = (len(cells), len(places))
    return csr_array(coo_array((data, (row, np.arange(len(places)))), shape=shape))


def _scores(scores: Scores, draws: _Draws) -> tuple[_Group, FloatArray]:
    """Return both scores, and how far each fell: as seen, then in every draw."""
    known = scores.shared
    every = [samples.sum(axis=1) for samples in scores.samples]
    weights = np.stack([scores.equal_shares, np.full(len(known), 1 / len(known))])
    hits = np.searchsorted(draws.cells, known * (len(every[0]) + 1))
    n = every if draws.labels is None else draws.labels
    per = [weights / np.maximum(side[known], 1e-300) for side in n]
    lost = (per[0] @ draws.total[hits])[:, None] - (per[0] + per[1]) @ draws.second[hits]
    spread = np.maximum(lost.std(axis=1, keepdims=True), 1e-12)
    away = (lost - lost[:, 1:].mean(axis=1, keepdims=True)) / spread
    is_part = len(known) < np.count_nonzero(every[0] + every[1])
    names = [
        "Accuracy at the same label shares fell",
        f"Balanced accuracy{' of the shared classes' if is_part else ''} fell",
    ]
    places = np.broadcast_to(known, weights.shape)
    return _Group(names, scores.combined(places, places, weights), -1), away


def _recalls(labels: Sequence[Label], scores: Scores, margin: float, level: float) -> Sequence[str]:
    """Return the recalls that surely fell; the margin is held by intervals for all classes."""
    known = scores.shared
    names = [f"Recall of {quoted(labels[k])} fell" for k in known]
    z = -float(ndtri((1 - level) / 2 / len(known)))
    is_certain = scores.recalls(level).differs(level)[known]
    return _Group(names, scores.recall_shares, -1).told(is_certain, margin, z)


def _pairs(
    labels: Sequence[Label],
    scores: Scores,
    draws: _Draws,
    pairs: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> tuple[_Group, FloatArray]:
    """Return all pairs, and how far each rose: as seen, then in every draw."""
    low, high = pairs
    one, other = (
        np.searchsorted(draws.cells, places)
        for places in (low * len(labels) + high, high * len(labels) + low)
    )
    total, second, expected = (
        values[one] + values[other]
        for values in (draws.total, draws.second, draws.total * draws.share)
    )
    share = np.divide(expected, total, out=np.full_like(total, 0.5), where=total > 0)
    names = [
        f"{quoted(labels[i])} and {quoted(labels[j])} are confused more often"
        for i, j in zip(low, high, strict=True)
    ]
    rows, columns = np.column_stack([low, high]), np.column_stack([high, low])
    change = scores.combined(rows, columns, np.full(rows.shape, 0.5))
    return _Group(names, change, 1), _away(total[:, None], second, share[:, None])


def _away(total: FloatArray, part: FloatArray, share: FloatArray) -> FloatArray:
    """Return how far parts of totals are above their share: the signed root of the deviance.

    Half a sample closer to the mean, so that few samples do not pass for rarer than they are.
    """
    mean = total * share
    sign = np.sign(part - mean)
    part = part - sign * np.minimum(np.abs(part - mean), 0.5)
    rest, other = total - part, total - mean
    deviance = xlogy(part, np.divide(part, mean, out=np.ones_like(part), where=mean > 0))
    deviance += xlogy(rest, np.divide(rest, other, out=np.ones_like(part), where=other > 0))
    return np.asarray(sign * np.sqrt(np.maximum(2 * deviance, 0.0)))
