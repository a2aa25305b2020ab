"""`Table`: the same rows in every form, nothing taken for markup, no digit lost."""

from __future__ import annotations

import colorsys
import io
import re
from typing import get_args
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color
from rich.console import Console

import deconfuse as dc
from deconfuse.reporting.display import matrix_text, print_matrix
from deconfuse.reporting.document import KINDS
from deconfuse.reporting.table import RAMPS, Cell, Table
from deconfuse.statistics.findings import FindingKind
from tests.reporting.studies import matrix

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


def printed(shown: object, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    console.print(shown)
    return console.file.getvalue()  # type: ignore[attr-defined]


@given(st.lists(st.tuples(NAMES, st.floats(0, 1)), min_size=1, max_size=5))
def test_every_form_has_every_row_and_no_markup_of_a_name(rows: list[tuple[str, float]]) -> None:
    table = Table(
        ("name", "value"), [(name, f"{value:.3f}") for name, value in rows], "lr", title="t"
    )
    assert len(table.to_text().splitlines()) == len(rows) + 1
    markdown = table.to_markdown().splitlines()
    assert len(markdown) == len(rows) + 2
    for line in markdown:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3
    assert table.to_latex().count("\\\\\n") == len(rows) + 1
    root = ET.fromstring(_readable(table.to_html()))
    assert len(list(root.iter("tr"))) == len(rows) + 1
    in_terminal = printed(table, 80)
    assert all(f"{value:.3f}" in in_terminal for _, value in rows)


def _readable(html: str) -> str:
    # XML has no control characters, which HTML only discourages.
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "?", html)


def test_notes_stand_below_in_html_and_in_brackets_elsewhere() -> None:
    table = Table(("", "a"), [("b", Cell("0.5", note="12"))], "lr", row_heads=True)
    assert "0.5 (12)" in table.to_text()
    assert "| **b** | 0.5 (12) |" in table.to_markdown()
    assert '0.5<br><span style="opacity:.65">12</span>' in table.to_html()


@pytest.mark.parametrize("ramp", RAMPS)
def test_ramps_have_one_hue_get_darker_and_can_be_read(ramp: str) -> None:
    backs = [Color.parse(f"color({back})").get_truecolor() for back, _ in RAMPS[ramp]]
    hues = [360 * colorsys.rgb_to_hls(*(part / 255 for part in back))[0] for back in backs]
    assert max(hues) - min(hues) <= 15
    light = [_luminance(back) for back in backs]
    assert light == sorted(light, reverse=True)
    for back, (_, ink) in zip(backs, RAMPS[ramp], strict=True):
        inked = _luminance(Color.parse(f"color({ink})").get_truecolor())
        dark, bright = sorted([inked, _luminance(back)])
        assert (bright + 0.05) / (dark + 0.05) >= 4.5


def _luminance(colour: tuple[int, int, int]) -> float:
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in colour)
    ]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("long_names", [False, True])
@pytest.mark.parametrize("n_classes", [*range(2, 26), 31, 45, 60])
def test_no_digit_is_lost_at_eighty_columns(n_classes: int, long_names: bool) -> None:
    names = [f"a class with a long name {k}" if long_names else str(k) for k in range(n_classes)]
    cm = matrix(n_classes, 5_000, names=names)
    for shown in (cm, cm.normalize("bi"), cm.normalize("all")):
        console = Console(file=io.StringIO(), width=80, highlight=False, markup=False)
        print_matrix(console, shown)
        lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
        assert max(map(len, lines)) <= 80
        # Only the middle of a long name may be left out.
        assert not re.search(r"[\d.]…", "\n".join(lines))
        if f"{n_classes} classes do not fit" not in "\n".join(lines):
            whole = {word for line in matrix_text(shown).splitlines()[1:] for word in line.split()}
            seen = {word for line in lines[1:] for word in line.split()}
            assert whole <= seen | {""} | set(lines[0].split())


def test_a_narrow_terminal_gets_a_sentence_per_row() -> None:
    table = Table(("true", "p"), [("cat", "0.123456789")] * 2, "lr")
    assert printed(table, 12).replace("\n", "").count("0.123456789") == 2
    compared = dc.compare([[80, 20], [9, 91]], [[50, 50], [9, 91]])
    wide, narrow = printed(compared, 100), printed(compared, 40)
    for number in re.findall(r"[+-]0\.\d{4}", wide):
        assert number in narrow.replace("\n", "")


def test_every_kind_of_finding_has_a_title_and_a_place() -> None:
    assert {kind.name for kind in KINDS} == set(get_args(FindingKind))
    assert len({kind.title for kind in KINDS}) == len(KINDS)
