"""Class names as text: nothing in them is obeyed, and nothing is lost."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from deconfuse._text import (
    compact_count,
    escape_latex,
    escape_markdown,
    printable,
    shorten,
    tell_apart,
)

ANY_TEXT = st.text(st.characters(categories=["L", "N", "P", "S", "Z", "Cc", "Cf", "Cs", "Co"]))


@given(ANY_TEXT)
def test_printable_text_has_no_control_characters_and_can_be_encoded(text):
    shown = printable(text)
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert all(c in "\u200c\u200d" for c in shown if unicodedata.category(c) == "Cf")
    shown.encode("utf-8")
    assert shown


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1))
def test_printable_text_stays_as_it_is(text):
    assert printable(text) == text


def test_what_would_turn_or_clear_a_terminal_is_spelled_out():
    assert printable("\x1b[2J\u202ea\r\n\x00") == r"\x1b[2J\u202ea\r\n\x00"
    assert printable("\ud800") == r"\ud800"
    assert printable("a\u00a0b") == "a b"
    assert printable("👩\u200d🚀") == "👩\u200d🚀"
    assert [printable(name) for name in ("", " ", None, True, 3)] == [
        "''",
        "' '",
        "None",
        "True",
        "3",
    ]


@given(ANY_TEXT, st.integers(3, 40))
def test_short_text_is_short_and_keeps_both_ends(text, width):
    short = shorten(text, width)
    assert len(short) <= width
    if len(text) <= width:
        assert short == text
    else:
        assert short.startswith(text[: width // 2])
        assert short.endswith(text[len(text) - width // 3 :])


@given(st.integers(0, 10**18))
def test_counts_are_five_characters_at_most_and_right_to_six_percent(count):
    text = compact_count(count)
    assert len(text) <= 5
    unit = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}.get(text[-1:], 1)
    value = float(text.rstrip("kMGTPE")) * unit
    assert abs(value - count) <= 0.06 * count


@given(ANY_TEXT)
def test_markdown_cells_keep_to_their_cell(text):
    escaped = escape_markdown(text)
    assert "\n" not in escaped
    assert "|" not in escaped.replace("\\\\", "").replace("\\|", "")


@given(ANY_TEXT)
def test_latex_has_no_bare_specials(text):
    rest = escape_latex(text)
    for known in (r"\textbackslash{}", r"\textasciitilde{}", r"\textasciicircum{}", r"\textless{}",
                  r"\textgreater{}", r"\textbar{}", "{[}", "{*}"):  # fmt: skip
        rest = rest.replace(known, "")
    for mark in "{}$&#_%":
        rest = rest.replace("\\" + mark, "")
    assert not set(rest) & set("\\{}$&#_%~^<>|[*\n")


WORDS = st.sampled_from(["type 2", "diabetes", "with", "without", "kidney", "disease", "1", "10"])


@given(st.lists(st.lists(WORDS, min_size=1, max_size=7).map(" ".join), max_size=40),
       st.integers(8, 40))  # fmt: skip
def test_names_that_are_cut_stay_different_and_short(names, width):
    drawn = tell_apart(names, width)
    assert all(len(text) <= width for text in drawn)
    assert len(set(zip(names, drawn, strict=True))) == len(set(names)) == len(set(drawn))
    assert [text for name, text in zip(names, drawn, strict=True) if len(name) <= width] == [
        name for name in names if len(name) <= width
    ]


def test_crossed_names_show_every_part_in_which_they_differ():
    kinds = ("other complications in", "kidney disease in")
    ends = ("full remission", "partial remission")
    names = [f"Type 2 diabetes mellitus with {kind} {end}" for kind in kinds for end in ends]
    for name, text in zip(names, tell_apart(names, 24), strict=True):
        assert ("kid" in text) == ("kidney" in name)
        assert ("full" in text) == ("full" in name)
