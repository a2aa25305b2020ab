"""Codes of fixed-width strings: the same as those of a dictionary, whatever the words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deconfuse import ConfusionMatrix
from deconfuse.reading import words as _words
from deconfuse.reading.label_columns import CHUNK, Vocabulary
from deconfuse.reading.words import WordTable

SIZE = 20_000


def check(values: np.ndarray, table: WordTable, vocabulary: Vocabulary) -> None:
    codes = table.encode(values)
    words = vocabulary.values
    assert [words[code] for code in codes] == values.tolist()
    assert len(set(words)) == len(words)


def table_for(width: int) -> tuple[WordTable, Vocabulary]:
    vocabulary = Vocabulary()
    return WordTable(width, vocabulary.codes), vocabulary


@pytest.mark.parametrize(
    "words",
    [
        ["a"],
        ["", "a", "aa", "aaa"],
        [f"class_{k:03d}" for k in range(100)],
        [f"{'long ' * 30}{k}" for k in range(300)],
        [f"n{k}" for k in range(2000)],
        ["😀", "é", "e\u0301", "שלום", "\U0010ffff"],
        ["ab", "ba", "bb", "aa"],
    ],
    ids=lambda words: f"{len(words)} words",
)
def test_codes_are_those_of_the_words(words: list[str]) -> None:
    rng = np.random.default_rng(0)
    values = np.array(words)[rng.integers(0, len(words), SIZE)]
    table, vocabulary = table_for(values.dtype.itemsize // 4)
    check(values, table, vocabulary)
    check(values[::-1], table, vocabulary)
    assert table.n_rebuilds == 1


def test_new_words_are_noticed_though_they_share_a_slot_or_the_telling_letters() -> None:
    table, vocabulary = table_for(3)
    check(np.repeat(np.array(["xa1", "xb1"]), SIZE), table, vocabulary)
    # Only the middle letter tells the words above apart, and here it is the same.
    check(np.repeat(np.array(["xa1", "ya1", "xa2"]), SIZE), table, vocabulary)
    assert vocabulary.values == ["xa1", "xb1", "xa2", "ya1"]


def test_words_turn_up_one_by_one() -> None:
    table, vocabulary = table_for(4)
    for k in range(2 * _words._MOST_REBUILDS):
        values = np.array([f"w{j}" for j in range(k + 1)], dtype="U4")
        check(np.resize(values, SIZE), table, vocabulary)
    assert table.n_rebuilds > _words._MOST_REBUILDS


def test_too_many_words_go_to_the_dictionary() -> None:
    words = np.array([f"{k:06d}" for k in range(5000)])
    table, vocabulary = table_for(6)
    check(words[np.random.default_rng(1).integers(0, 5000, SIZE)], table, vocabulary)
    assert len(table.codes) == 0


def test_words_without_a_table_free_of_collisions_go_to_the_dictionary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_words, "_MOST_BITS", 3)
    words = np.array([f"{k:03d}" for k in range(200)])
    table, vocabulary = table_for(3)
    check(words[np.random.default_rng(2).integers(0, 200, SIZE)], table, vocabulary)


@given(
    st.lists(st.text("ab\u00e9😀\x01", max_size=5), min_size=1, max_size=30),
    st.lists(st.text("ab\u00e9😀\x01", max_size=5), max_size=30),
)
def test_any_words(first: list[str], more: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_words, "_FEWEST_VALUES", 0)
        table, vocabulary = table_for(5)
        check(np.array(first, dtype="U5"), table, vocabulary)
        check(np.array(first + more, dtype="U5"), table, vocabulary)


@pytest.mark.parametrize("dtype", ["<U8", ">U8", "<U20"])
def test_byte_orders_widths_and_strides(dtype: str) -> None:
    rng = np.random.default_rng(3)
    names = np.array([f"name {k}" for k in range(12)])
    true, pred = names[rng.integers(0, 12, (2, 3 * CHUNK))]
    expected = ConfusionMatrix.from_predictions(true.tolist(), pred.tolist())
    assert ConfusionMatrix.from_predictions(true.astype(dtype), pred) == expected
    table = np.stack([true, pred], axis=1)
    assert ConfusionMatrix.from_predictions(table[:, 0], table[:, 1]) == expected


def test_empty_strings_only() -> None:
    cm = ConfusionMatrix.from_predictions(np.zeros(SIZE, "U0"), np.zeros(SIZE, "U3"))
    assert cm.labels == ("",)
    assert cm.total == SIZE
