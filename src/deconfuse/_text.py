"""Format names and numbers for people, in one style, and values of results for JSON."""

from __future__ import annotations

import datetime
import math
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = [
    "compact_count",
    "count_text",
    "escape_formulas",
    "escape_latex",
    "escape_markdown",
    "interval_parts",
    "interval_text",
    "listed",
    "percent_text",
    "plain_value",
    "plural",
    "printable",
    "proportion",
    "quoted",
    "shorten",
    "significant",
    "tell_apart",
]

_SMALLEST_DECIMAL = 1e-4
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_UNITS = ("", "k", "M", "G", "T", "P", "E")
# Joiners that shape letters and emoji; they do nothing to what stands around them.
_HARMLESS_FORMATS = frozenset("\u200c\u200d")

# Not every reader of Markdown takes a backslash before these three.
_MARKDOWN = {mark: f"\\{mark}" for mark in "\\`*_{}[]#|~$"} | {
    "<": "&lt;",
    ">": "&gt;",
    "&": "&amp;",
}
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    # After the end of a row these would be an argument of it.
    "[": "{[}", "*": "{*}",
}  # fmt: skip

# What a spreadsheet runs as a formula begins so; some skip white space, some take wide forms.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def escape_formulas(names: Sequence[Any]) -> tuple[list[Any], bool]:
    """Return the text cells of a CSV file so that no spreadsheet runs one, and whether any changed.

    Where a text begins as a formula does, it is written behind an apostrophe, and so is every text
    that begins with one: then removing one apostrophe from each gives the texts back. Numbers
    stay as they are.

    Examples
    --------
    >>> escape_formulas(["=1+1", "'70s", "cat", -7])
    (["'=1+1", "''70s", 'cat', -7], True)
    >>> escape_formulas(["'70s", "cat"])
    (["'70s", 'cat'], False)
    """
    if not any(isinstance(name, str) and name.startswith(_FORMULA) for name in names):
        return list(names), False
    marks = (*_FORMULA, "'")
    return [
        f"'{name}" if isinstance(name, str) and name.startswith(marks) else name for name in names
    ], True


def printable(value: object) -> str:
    r"""Return a value as text in which control characters are spelled out.

    Line ends, escapes that colour or move a terminal, characters that turn the direction of
    writing, and half characters are written as in Python's source.

    Examples
    --------
    >>> print(printable("red \x1b[31m\n"))
    red \x1b[31m\n
    >>> printable(7), printable("")
    ('7', "''")
    """
    text = str(value)
    if not text.strip():
        return repr(text)
    # isprintable is False for the separators and for all of category C.
    if text.isprintable():
        return text
    return "".join(_spelled(character) for character in text)


def _spelled(character: str) -> str:
    if character.isprintable() or character in _HARMLESS_FORMATS:
        return character
    if unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode("ascii")


def shorten(text: str, width: int) -> str:
    """Return text of at most ``width`` characters, with its middle left out.

    The end stays because names of one family often differ only there.

    Examples
    --------
    >>> shorten("northern mockingbird, juvenile", 15)
    'northern …enile'
    """
    if len(text) <= width:
        return text
    tail = width // 3
    return f"{text[: width - tail - 1]}…{text[len(text) - tail :]}"


def tell_apart(names: Sequence[str], width: int, among: Collection[str] | None = None) -> list[str]:
    """Return names of at most ``width`` characters that differ wherever the names do.

    Where names with the same beginning are too long, all parts in which they differ are kept.

    Examples
    --------
    >>> tell_apart(["northern mockingbird, juvenile", "northern cardinal, juvenile"], 15)
    ['…mockingbird…', '…cardinal…']
    """
    if all(len(name) <= width for name in names):
        return list(names)
    among = set(names) if among is None else among
    beginning = shorten("x" * (width + 1), width).index("…")
    shared = Counter(name[:beginning] for name in among)
    # What all names end with tells nothing.
    end = _shared_end(among)
    others = {name[: len(name) - end] for name in among}
    drawn = [
        shorten(name, width)
        if len(name) <= width or shared[name[:beginning]] == 1
        else _abridge(name[: len(name) - end], others, width, is_open=end > 0)
        for name in names
    ]
    owners: dict[str, str] = {}
    for k, (text, name) in enumerate(zip(drawn, names, strict=True)):
        if owners.setdefault(text, name) != name:
            # Still the same where there is next to no room: the place tells them apart.
            mark = f"·{k + 1}"
            drawn[k] = shorten(name, max(1, width - len(mark))) + mark
    return drawn


def _abridge(name: str, others: Collection[str], width: int, *, is_open: bool) -> str:
    """Return the parts of a name from where others turn off, as long as fit into ``width``.

    An open name has more behind its end, which an ellipsis stands for.
    """
    if is_open:
        return _abridge(name, others, width - 1, is_open=False).removesuffix("…") + "…"
    turns = sorted({_shared(name, other) for other in others if other != name})
    for whole_words in (True, False):
        # Of what several names share, the later turns say more about this one.
        while not whole_words and len(turns) > 1 and len(_parts(name, turns, 1, False)) > width:
            turns = turns[1:]
        fitting = [
            text
            for length in range(1, width + 1)
            if len(text := _parts(name, turns, length, whole_words)) <= width
        ]
        if fitting:
            # Of equally long ones the last has more letters and fewer ellipses.
            return max(reversed(fitting), key=len)
    return shorten(name, width)


def _shared_end(names: Collection[str]) -> int:
    """Return how many letters all names have in common at the end, whole words only."""
    first, *others = {name[::-1] for name in names} or {""}
    length = min((_shared(first, other) for other in others), default=0)
    while length and first[length - 1].isalnum():
        length -= 1
    return length


def _shared(one: str, other: str) -> int:
    """Return how many letters two names have in common at the beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((k for k, (a, b) in pairs if a != b), min(len(one), len(other)))


def _parts(name: str, turns: Sequence[int], length: int, whole_words: bool) -> str:
    """Return so many letters of a name from each of some places, or from the word they are in."""
    text, end = "", 0
    for turn in turns:
        # The letter at the turn tells the names apart; a space needs the one behind it.
        telling = min(len(name) - 1, turn + int(name[turn : turn + 1] == " "))
        if telling < end:
            continue
        word = 1 + max((k for k in range(turn) if not name[k].isalnum()), default=-1)
        start = max(end, word if whole_words else telling)
        stop = max(telling + 1, start + length)
        text = f"{text.rstrip()}…" if start - end > 1 else text + name[end:start]
        text += name[start:stop]
        end = min(stop, len(name))
    return text if end == len(name) else f"{text.rstrip()}…"


def compact_count(count: float) -> str:
    """Return a count in at most five characters.

    Examples
    --------
    >>> [compact_count(count) for count in (0, 712.5, 9999, 12_345, 999_999, 4.5e9, 0.25)]
    ['0', '712', '9999', '12k', '1M', '4.5G', '0.25']
    """
    if count < 10_000:
        return f"{count:.0f}" if count >= 100 or float(count).is_integer() else f"{count:.3g}"
    # Rounded before the unit is chosen, so that 999,999 is 1M and not 1000k.
    rounded = float(f"{count:.2g}" if count < 1e5 else f"{count:.3g}")
    thousands = min(int(math.log10(rounded) // 3), len(_UNITS) - 1)
    return f"{rounded / 1000.0**thousands:.3g}{_UNITS[thousands]}"


def significant(value: float, digits: int = 2) -> str:
    """Return a number with so many significant digits, zeros included, as the page writes it.

    Examples
    --------
    >>> [significant(value) for value in (2, 0.05, 0.0999, 15.7, 1234.5, 0.00012, 4.3e-6, 0)]
    ['2.0', '0.050', '0.10', '16', '1,234', '0.00012', '4.3×10⁻⁶', '0']
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:.{digits}g}"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    rounded = float(f"{mantissa}e{exponent}")
    if abs(rounded) < _SMALLEST_DECIMAL:
        short = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{short}×10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{value:,.0f}" if decimals <= 0 else f"{rounded:.{decimals}f}"


def count_text(count: float) -> str:
    """Return a number of samples, or what they weigh.

    Examples
    --------
    >>> [count_text(count) for count in (1797, 12_345_678, 712.25, 0.015)]
    ['1,797', '12,345,678', '712.25', '0.015']
    """
    if float(count).is_integer():
        return f"{count:,.0f}"
    return f"{count:,.6g}" if 1e-4 <= count < 1e6 else significant(count, 3)


def proportion(value: float, decimals: int = 2, *, signed: bool = False) -> str:
    """Return a proportion with so many decimals, or as many as tell it from 0 and from 1.

    What is as close to 0 or 1 as rounding errors are keeps the fewest. A difference of proportions
    is ``signed``: a plus stands before positive ones.

    Examples
    --------
    >>> [proportion(value) for value in (0.7123, 0.9996, 1, 0.0004)]
    ['0.71', '0.9996', '1.00', '0.0004']
    >>> proportion(0.00042, 3, signed=True), proportion(1e-16, 3, signed=True)
    ('+0.0004', '+0.000')
    """
    enough = (n for n in range(decimals, 10) if round(abs(value), n) not in (0.0, 1.0))
    places = decimals if value in (0.0, 1.0) else next(enough, decimals)
    return f"{value:{'+' if signed else ''}.{places}f}"


def percent_text(share: float) -> str:
    """Return a share in percent with two significant digits, or as many as tell it from 100 %.

    Examples
    --------
    >>> [percent_text(share) for share in (0.4151, 0.9992, 1.0, 0.00071)]
    ['42 %', '99.9 %', '100 %', '0.071 %']
    """
    return f"{significant(100 * share, _digits_from_one(share, 2))} %"


def _digits_from_one(value: float, digits: int) -> int:
    """Return how many significant digits tell a number from 1: so many, or more."""
    enough = (n for n in range(digits, 13) if float(f"{value:.{n - 1}e}") != 1.0)
    return next(enough, digits)


def interval_text(value: float, low: float, high: float) -> str:
    """Return a number with its interval, in two digits or as many as tell the three apart.

    An end that is not 1 is never written as 1, which would be no difference.

    Examples
    --------
    >>> interval_text(1.44, 1.32, 1.6), interval_text(1.501, 1.4989, 1.5031)
    ('1.4 (1.3 to 1.6)', '1.501 (1.499 to 1.503)')
    >>> interval_text(1.2, 1.0004, 1.4), interval_text(1.02, 1.0, 1 + 1e-15)
    ('1.2 (1.0004 to 1.4)', '1.02 (1.0 to 1.0)')
    """
    told, start, end = interval_parts(value, low, high)
    return f"{told} ({start} to {end})"


def interval_parts(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Return a number and both ends of its interval as `interval_text` writes them."""
    numbers = {value, low, high}
    digits = next(
        (n for n in (2, 3, 4) if len({significant(x, n) for x in numbers}) == len(numbers)), 2
    )
    told, start, end = (significant(x, _digits_from_one(x, digits)) for x in (value, low, high))
    return told, start, end


def plural(number: float, one: str, many: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> plural(1, "class", "classes"), plural(1200, "class", "classes")
    ('1 class', '1,200 classes')
    """
    return f"{count_text(number)} {one if number == 1 else many}"


def quoted(label: object, width: int = 200) -> str:
    """Return a class name as it stands in sentences.

    Examples
    --------
    >>> print(quoted("cat"))
    “cat”
    """
    return f"“{shorten(printable(label), width)}”"


def listed(items: Sequence[str], most: int, one: str, many: str) -> str:
    """Return the first of some texts as an enumeration, and how many more there are.

    Examples
    --------
    >>> letters = ["a", "b", "c"]
    >>> listed(letters, 5, "class", "classes"), listed(letters, 2, "class", "classes")
    ('a, b and c', 'a, b and 1 more class')
    """
    shown, more = list(items[:most]), len(items) - most
    if more > 0:
        shown.append(f"{more:,} more {one if more == 1 else many}")
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def escape_markdown(text: str) -> str:
    r"""Return text that Markdown shows as it is, on one line.

    Examples
    --------
    >>> print(escape_markdown("a|b *c*"))
    a\|b \*c\*
    """
    return "".join(_MARKDOWN.get(letter, letter) for letter in printable(text))


def escape_latex(text: str) -> str:
    r"""Return text that LaTeX shows as it is, on one line.

    Examples
    --------
    >>> print(escape_latex("50 % of a_1"))
    50 \% of a\_1
    """
    return "".join(_LATEX.get(letter, letter) for letter in printable(text))


def plain_value(value: Any) -> Any:
    """Return a value as JSON knows it: results by field, what is undefined or infinite as None.

    Examples
    --------
    >>> import datetime
    >>> plain_value({"p": (0.5, float("nan")), "day": datetime.date(2024, 1, 2)})
    {'p': [0.5, None], 'day': '2024-01-02'}
    """
    # What there is most of comes first.
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain_value(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # an array; without NumPy, which help needs not load
        return plain_value(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if is_dataclass(value):
        return {field.name: plain_value(getattr(value, field.name)) for field in fields(value)}
    return value
