"""Codes of fixed-width numpy strings, found without making a Python string of each.

A few letter columns are enough to tell the words met so far apart. They are mixed into a number
that names a slot of a table without collisions; the word in that slot is then compared letter by
letter, so that a word not met before is noticed and never mistaken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["WordTable"]

# Short arrays are not worth a table.
_FEWEST_VALUES = 1 << 13
# Beyond so many words a table without collisions is large (8 MiB here) and hard to find.
_MOST_WORDS = 2048
_MOST_BITS = 21
_ATTEMPTS = 40
# Where new words keep turning up, learning them costs more than the table saves.
_MOST_REBUILDS = 32

Coder = Callable[[Sequence[Any]], npt.NDArray[np.int64]]


@dataclass(slots=True)
class WordTable:
    """The words met so far, all as wide as the arrays they come from.

    Parameters
    ----------
    width : int
        Letters of each string of the arrays, at least one.
    coder : callable
        Gives codes to a list of Python strings, new ones too.
    """

    width: int
    coder: Coder
    letters: npt.NDArray[np.uint32] = field(init=False)
    codes: npt.NDArray[np.int64] = field(init=False)
    columns: list[int] = field(default_factory=list)
    factors: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))
    shift: np.uint32 = field(default_factory=lambda: np.uint32(31))
    slots: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(2, np.int32))
    n_rebuilds: int = 0

    def __post_init__(self) -> None:
        self.letters = np.zeros((0, self.width), np.uint32)
        self.codes = np.zeros(0, np.int64)

    def encode(self, values: npt.NDArray[np.str_]) -> npt.NDArray[np.int64]:
        """Return the code of each string."""
        if self.n_rebuilds > _MOST_REBUILDS or len(values) < _FEWEST_VALUES:
            return self.coder(values.tolist())
        letters = _letters(values, self.width)
        strange = np.ones(len(values), np.bool_)
        if len(self.codes):
            rows = self.slots.take(self._mixed(letters) >> self.shift)
            is_same = self.letters.take(rows, axis=0) == letters
            if is_same.all():
                return self.codes.take(rows)
            strange = ~is_same.all(axis=1)
        if not self._learn(sorted(set(values[strange].tolist()))):
            return self.coder(values.tolist())
        return self.encode(values)

    def _mixed(self, letters: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        mixed = letters[:, self.columns[0]] * self.factors[0]
        for column, factor in zip(self.columns[1:], self.factors[1:], strict=True):
            mixed += letters[:, column] * factor
        return mixed

    def _learn(self, words: list[str]) -> bool:
        """Add words to the table; False, from then on, where that does not work out."""
        self.n_rebuilds += 1
        if len(self.codes) + len(words) <= _MOST_WORDS and self.n_rebuilds <= _MOST_REBUILDS:
            new = _letters(np.array(words, dtype=f"U{self.width}"), self.width)
            self.letters = np.concatenate([self.letters, new])
            self.codes = np.concatenate([self.codes, self.coder(words)])
            self.columns = _telling_columns(self.letters)
            if self._spread():
                return True
        self.n_rebuilds = _MOST_REBUILDS + 1
        return False

    def _spread(self) -> bool:
        """Look for factors that give every word a slot of its own."""
        n_words = len(self.codes)
        # Any factors do that work; the seed makes a run repeatable.
        rng = np.random.default_rng(n_words)
        # With far fewer slots than squared words, some words would almost surely share one.
        fewest = max(n_words.bit_length() + 1, 2 * n_words.bit_length() - 4)
        for bits in range(fewest, _MOST_BITS + 1):
            for _ in range(_ATTEMPTS):
                self.factors = rng.integers(0, 2**32, len(self.columns), dtype=np.uint32)
                self.shift = np.uint32(32 - bits)
                taken = self._mixed(self.letters) >> self.shift
                if len(np.unique(taken)) == n_words:
                    self.slots = np.zeros(2**bits, np.int32)
                    self.slots[taken] = np.arange(n_words)
                    return True
        return False


def _letters(values: npt.NDArray[np.str_], width: int) -> npt.NDArray[np.uint32]:
    """Return strings as rows of letters, in the byte order of this machine."""
    native = np.ascontiguousarray(values, dtype=f"=U{width}")
    return native.view(np.uint32).reshape(len(values), width)


def _telling_columns(letters: npt.NDArray[np.uint32]) -> list[int]:
    """Return a few columns that tell all rows apart, those with most different letters first."""
    variety = [len(np.unique(letters[:, column])) for column in range(letters.shape[1])]
    groups = np.zeros(len(letters), np.intp)
    columns: list[int] = []
    n_groups = 0
    for column in np.argsort(variety)[::-1].tolist():
        pairs = groups * 2**32 + letters[:, column]
        distinct, finer = np.unique(pairs, return_inverse=True)
        if len(distinct) > n_groups:
            columns.append(column)
            groups, n_groups = finer, len(distinct)
        if n_groups == len(letters):
            break
    return columns
