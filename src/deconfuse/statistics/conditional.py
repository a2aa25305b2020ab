r"""Draw tables under the hypothesis that two classifiers differ in label shares and bias only.

Let :math:`N` be the sum of two count tables. If both have the same bi-normalized matrix, then every
sample of cell :math:`(i, j)` of :math:`N` is one of the first table with odds :math:`a_i b_j`. The
row and column sums of the first table are sufficient for all :math:`a` and :math:`b`, so given
:math:`N` and these sums the first table has a known distribution, whatever the margins and whatever
the common matrix:

.. math:: P(n) \propto \prod_{ij} \frac{1}{n_{ij}!\,(N_{ij} - n_{ij})!}.

A test against draws from it is exact: no cell needs to be large, nothing is estimated.

For two models on the same samples, favours alone would mean that the odds of "first says j, second
says k" against the reverse are the same in all true classes. Given how often each happens over all
classes, the reversals are spread over the true classes by chance (a hypergeometric draw).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.statistics.cells import cells_of

__all__ = [
    "Chain",
    "NullTables",
    "Step",
    "Triples",
    "paired_tables",
    "triples_of",
    "unpaired_tables",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Sweeps between the common start and every draw. More do not make the test more right, but more
# sharp: draws that have not forgotten the table seen resemble it. No gain was measured above this.
_SWEEPS, _FEWEST_SWEEPS = 100, 20
# Fewer sweeps of many full cells, so that they take a fraction of a second.
_MOST_MOVES = 3_000_000
_MAX_TABLE = 1_000_000
_CACHED = 20_000
_SIGNS = np.array([1, -1, -1, 1])[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class Triples:
    """Kinds of samples (true class, first prediction, second prediction) and their numbers."""

    true: NDArray[np.intp]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    counts: IntArray

    def among(self, classes: NDArray[np.intp], n_classes: int) -> Triples:
        """Return the samples with label and predictions among some classes, in their order."""
        place = np.full(n_classes, -1, dtype=np.intp)
        place[classes] = np.arange(len(classes))
        true, first, second = (place[side] for side in (self.true, self.first, self.second))
        kept = (true >= 0) & (first >= 0) & (second >= 0)
        return Triples(true[kept], first[kept], second[kept], self.counts[kept])

    def tables(self, n_classes: int) -> list[FloatArray]:
        """Return the counts of both models."""
        found = []
        for said in (self.first, self.second):
            table = np.zeros((n_classes, n_classes))
            np.add.at(table, (self.true, said), self.counts)
            found.append(table)
        return found

    @property
    def forward(self) -> FloatArray:
        """How often the first model says the lower of the two predictions, in all true classes."""
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        pair = np.unique(np.column_stack([low, high]), axis=0, return_inverse=True)[1].ravel()
        is_forward = self.counts * (self.first == low)
        return np.asarray((np.bincount(pair, is_forward) / np.bincount(pair, self.counts))[pair])

    @property
    def can_exchange(self) -> bool:
        """Whether most disagreements go either way, so that exchanging them says what chance does.

        Where all go towards one class, no other tables could be drawn.
        """
        differs, forward = self.first != self.second, self.forward
        either_way = differs & (forward > 0) & (forward < 1)
        return bool(2 * self.counts[either_way].sum() >= self.counts[differs].sum())


def triples_of(
    first: ConfusionMatrix, second: ConfusionMatrix, paired: tuple[Any, Any, Any]
) -> Triples:
    """Return the kinds of samples behind two matrices, after a look that they are behind them."""
    if not isinstance(paired, (tuple, list)) or len(paired) != 3:
        raise InputError(
            "`paired` must be the tuple (y_true, first_predictions, second_predictions).",
        )
    if first.is_weighted or second.is_weighted:
        raise InputError(
            "Paired comparison needs unweighted samples, got weighted counts.",
            hint="leave out `paired`; the weights are then taken into account as they are.",
        )
    if first.outcomes or second.outcomes:
        raise InputError(
            "Paired comparison needs predictions that are classes, got matrices with outcomes.",
            hint="leave out `paired`: right answers of all samples are compared as independent.",
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
    counted = triples.tables(n_classes)
    for which, cm, table in zip(("first", "second"), (first, second), counted, strict=True):
        if not np.array_equal(table, cells_of(cm, 0.0, what="Compared matrices").values):
            raise InputError(
                f"`paired` must be the predictions behind both matrices, but the {which} matrix"
                " counts others.",
                hint="make both matrices from these columns with `from_predictions`.",
            )
    return triples


@dataclass(frozen=True, slots=True, eq=False)
class NullTables:
    """First tables that could have been seen; the second ones are what is missing to the sum.

    Attributes
    ----------
    cells : ndarray of shape (n_cells,)
        Flat places of the cells where the sum of both tables is positive; of paired tables, those
        that hold samples on which the two models disagree.
    total : ndarray of shape (n_cells,)
        The sum.
    draws : ndarray of shape (n_cells, 1 + n_draws)
        Counts of the first table: as seen, then as drawn. Under the null hypothesis all columns are
        exchangeable.
    n_classes : int
    """

    cells: NDArray[np.intp]
    total: IntArray
    draws: IntArray
    n_classes: int


def unpaired_tables(
    first: IntArray, second: IntArray, share: FloatArray, n_draws: int, rng: np.random.Generator
) -> NullTables:
    """Draw tables with the margins and the sum of two independent ones.

    ``share`` is roughly which share of each cell is of the first table, where there are samples. It
    must depend on the margins and the sum alone.

    A Markov chain whose step moves samples round rectangles of four cells, many disjoint ones at
    once, and keeps both margins. Seen and drawn tables are exchangeable, however long the chain
    (see `Chain.draws`).
    """
    n_classes = len(first)
    sums = first + second
    cells = np.flatnonzero(sums)
    total = sums.ravel()[cells]
    moves = n_draws * len(cells) // 4
    n_sweeps = int(np.clip(_MOST_MOVES // max(moves, 1), _FEWEST_SWEEPS, _SWEEPS))
    support = sums > 0
    place = np.full(sums.shape, -1, dtype=np.intp)
    place[support] = np.arange(len(total))
    chain = Chain(total, share, rng)
    steps = [
        chain.step(place.ravel()[rectangles], _SIGNS)
        for rectangles in _rectangles(support, n_sweeps, rng)
    ]
    seen = first.ravel()[cells]
    parts = [seen[:, None], *chain.draws(seen, steps, n_draws)]
    return NullTables(cells, total, np.concatenate(parts, axis=1), n_classes)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Places where samples may move at once, none of them twice.

    Attributes
    ----------
    cells : ndarray of int of shape (n_each, n_places)
        The cells of each place.
    signs : ndarray of int of shape (n_each, n_places) or (n_each, 1)
        Which of them gain what the others lose.
    reach : ndarray of shape (n_places,)
        How far to go, beyond one sample.
    """

    cells: NDArray[np.intp]
    signs: IntArray
    reach: FloatArray


class Chain:
    """Steps that leave the distribution of the tables as it is.

    All randomness of the path (which places, how far) is drawn before and without a look at the
    tables, so the same path can be walked backwards.

    Parameters
    ----------
    total : ndarray of int of shape (n_cells,)
        The most that each cell may hold.
    share : ndarray of shape (n_cells,)
        Roughly which share of this it holds.
    rng : numpy.random.Generator
    """

    def __init__(self, total: IntArray, share: FloatArray, rng: np.random.Generator) -> None:
        self.rng, self.total = rng, total
        largest = int(total.max(initial=0))
        self.table = gammaln(np.arange(largest + 1) + 1.0) if largest <= _MAX_TABLE else None
        share = np.clip(share, 1e-6, 1 - 1e-6)
        self.precision = 1.0 / np.maximum(total * share * (1 - share), 1e-12)

    def step(self, cells: NDArray[np.intp], signs: IntArray) -> Step:
        """Return a step of a good length: about twice the spread round a place."""
        precision = (self.precision[cells] * signs**2).sum(axis=0)
        return Step(cells, signs, np.maximum(2.0 / np.sqrt(precision) - 0.5, 0.0))

    def draws(self, seen: IntArray, steps: list[Step], n_draws: int) -> Iterator[IntArray]:
        """Yield tables that are exchangeable with the one seen, some at a time.

        One chain goes from the table seen back to a start, and all draws come forth from there
        (Besag and Clifford, 1989).
        """
        start = seen[:, None].copy()
        for step in reversed(steps):
            self.move(start, step)
        # Some draws at a time: what one step touches then stays in the processor's cache.
        size = max(1, _CACHED // max(len(seen), 1))
        for done in range(0, n_draws, size):
            draws = np.repeat(start, min(size, n_draws - done), axis=1)
            for step in steps:
                self.move(draws, step)
            yield draws

    def move(self, draws: IntArray, step: Step) -> None:
        """Move samples round some places, in place (Metropolis)."""
        cells = step.cells
        shape = (cells.shape[1], draws.shape[1])
        normal = self.rng.standard_normal(shape, dtype=np.float32)
        length = (1 + np.abs(step.reach[:, None] * normal)).astype(np.int64)
        np.negative(length, out=length, where=normal < 0)
        old: IntArray = draws[cells]
        most: IntArray = self.total[cells][:, :, None]
        new: IntArray = np.asarray(old + step.signs[:, :, None] * length, dtype=np.int64)
        is_possible = ((new >= 0) & (new <= most)).all(axis=0)
        np.copyto(new, old, where=~is_possible)
        gain = self._log_ways(new, most) - self._log_ways(old, most)
        luck = self.rng.standard_exponential(shape, dtype=np.float32)
        is_taken = is_possible & (-luck < gain)
        draws[cells] = np.where(is_taken, new, old)

    def _log_ways(self, first: IntArray, total: IntArray) -> FloatArray:
        """Return the log of the probability of places, up to what their total fixes."""
        second = total - first
        if self.table is None:
            ways = gammaln(first + 1.0) + gammaln(second + 1.0)
        else:
            ways = self.table.take(first) + self.table.take(second)
        return np.asarray(-ways.sum(axis=0))


def _rectangles(
    support: NDArray[np.bool_], n_sweeps: int, rng: np.random.Generator
) -> list[NDArray[np.intp]]:
    """Return, for every sweep, disjoint rectangles of cells in the support, of shape (4, n).

    Rows are paired at random among those with two columns in common, and these columns then too. In
    every other sweep the two hits and the two confusions of the paired classes are one rectangle.
    """
    n_classes = len(support)
    weight = support.astype(np.float32)
    linked = weight @ weight.T >= 2
    np.fill_diagonal(linked, False)
    sweeps = []
    for sweep in range(n_sweeps):
        free = np.ones(n_classes, dtype=bool)
        parts = [np.empty((4, 0), dtype=np.intp)]
        for i in rng.permutation(n_classes):
            if not free[i]:
                continue
            free[i] = False
            partners = np.flatnonzero(linked[i] & free)
            if not partners.size:
                continue
            k = partners[rng.integers(partners.size)]
            free[k] = False
            common = support[i] & support[k]
            columns = rng.permutation(np.flatnonzero(common))
            if sweep % 2 and common[i] and common[k]:
                columns = np.r_[i, k, columns[(columns != i) & (columns != k)]]
            pairs = columns[: len(columns) // 2 * 2].reshape(-1, 2).T
            corners = [row * n_classes + column for row in (i, k) for column in pairs]
            parts.append(np.stack(corners))
        sweeps.append(np.concatenate(parts, axis=1))
    return sweeps


def paired_tables(
    triples: Triples, n_classes: int, n_draws: int, rng: np.random.Generator
) -> NullTables:
    """Draw tables of two models on the same samples that differ by favours alone."""
    differs = triples.first != triples.second
    # Only samples on which the two disagree can change sides; the other cells stay as they are.
    mine = (triples.true * n_classes + triples.first)[differs]
    theirs = (triples.true * n_classes + triples.second)[differs]
    cells, found = np.unique(np.concatenate([mine, theirs]), return_inverse=True)
    places = np.split(found, 2)
    counts = triples.counts[differs]
    seen, other = (
        np.bincount(place, counts, minlength=len(cells)).astype(np.int64) for place in places
    )
    draws = np.repeat(seen[:, None], 1 + n_draws, axis=1)
    for change, at_low, at_high in _reversals(triples, n_classes, n_draws, rng):
        draws[np.searchsorted(cells, at_low), 1:] += change
        draws[np.searchsorted(cells, at_high), 1:] -= change
    return NullTables(cells, seen + other, draws, n_classes)


def _reversals(
    triples: Triples, n_classes: int, n_draws: int, rng: np.random.Generator
) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Yield, for each pair of predictions, what changes in the first table and in which cells.

    The change is of shape (n_true, n_draws), the cells are those of the lower and higher class.
    """
    differs = triples.first != triples.second
    true, first, second = (x[differs] for x in (triples.true, triples.first, triples.second))
    counts = triples.counts[differs]
    low, high = np.minimum(first, second), np.maximum(first, second)
    kinds, kind = np.unique((low * n_classes + high) * n_classes + true, return_inverse=True)
    both = np.bincount(kind, counts, minlength=len(kinds)).astype(np.int64)
    forward = np.bincount(kind, counts * (first == low), minlength=len(kinds)).astype(np.int64)
    starts = np.flatnonzero(np.diff(kinds // n_classes, prepend=-1))
    for start, stop in pairwise([*starts.tolist(), len(kinds)]):
        part = slice(start, stop)
        chosen = int(forward[part].sum())
        if stop - start < 2 or chosen in (0, int(both[part].sum())):
            continue
        drawn = rng.multivariate_hypergeometric(both[part], chosen, size=n_draws).T
        lower, higher = divmod(int(kinds[start]) // n_classes, n_classes)
        rows = kinds[part] % n_classes * n_classes
        yield drawn - forward[part][:, None], rows + lower, rows + higher
