"""Class names as text for people: nothing in them is obeyed by a terminal, a font or a file."""

from __future__ import annotations

import math
import unicodedata

__all__ = [
    "compact_count",
    "escape_latex",
    "escape_markdown",
    "printable",
    "shorten",
    "significant",
]

_SMALLEST_DECIMAL = 1e-4
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_UNITS = ("", "k", "M", "G", "T", "P", "E")
# Joiners that shape letters and emoji; they do nothing to what stands around them.
_HARMLESS_FORMATS = frozenset("\u200c\u200d")

_MARKDOWN_MARKS = "\\`*_{}[]<>#|~$"
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    # After the end of a row these would be an argument of it.
    "[": "{[}", "*": "{*}",
}  # fmt: skip


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


def escape_markdown(text: str) -> str:
    r"""Return text that Markdown shows as it is, on one line.

    Examples
    --------
    >>> print(escape_markdown("a|b *c*"))
    a\|b \*c\*
    """
    return "".join(
        f"\\{letter}" if letter in _MARKDOWN_MARKS else letter for letter in printable(text)
    )


def escape_latex(text: str) -> str:
    r"""Return text that LaTeX shows as it is, on one line.

    Examples
    --------
    >>> print(escape_latex("50 % of a_1"))
    50 \% of a\_1
    """
    return "".join(_LATEX.get(letter, letter) for letter in printable(text))
