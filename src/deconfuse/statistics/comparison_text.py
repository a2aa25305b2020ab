"""A comparison for people and programs: plain text, a terminal, a notebook, JSON. No arithmetic."""

from __future__ import annotations

import datetime
from html import escape
from typing import TYPE_CHECKING, Any

from deconfuse._text import printable, shorten

if TYPE_CHECKING:
    from rich.console import Group

    from deconfuse.statistics.comparison import Comparison

__all__ = ["to_dict", "to_html", "to_rich", "to_text"]

_HEAD = ("true", "predicted", "first", "second", "difference", "± error", "p (Holm)")
_ROWS = 10
_WIDTH = 32


def to_text(comparison: Comparison) -> str:
    """Return the summary and the surest differences as plain text."""
    rows = [_HEAD, *_rows(comparison)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(_HEAD))]
    lines = [
        "  "
        + "  ".join(
            value.ljust(width) if k < 2 else value.rjust(width)
            for k, (value, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([*_summary(comparison), "", "Surest differences", *lines])


def to_rich(comparison: Comparison) -> Group:
    """Return the same for a terminal. Names are text: nothing in them is taken for markup."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text("\nSurest differences"), title_justify="left", box=None, pad_edge=False
    )
    for k, name in enumerate(_HEAD):
        table.add_column(Text(name, style="dim"), justify="left" if k < 2 else "right")
    for row in _rows(comparison):
        table.add_row(*(Text(value) for value in row))
    return Group(*(Text(line) for line in _summary(comparison)), table)


def to_html(comparison: Comparison) -> str:
    """Return the same as HTML without scripts; names are escaped."""
    heads = "".join(f"<th>{escape(name)}</th>" for name in _HEAD)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(value)}</td>" for value in row) + "</tr>"
        for row in _rows(comparison)
    )
    summary = "<br>".join(escape(line) for line in _summary(comparison))
    return (
        f"<div><p>{summary}</p><table><thead><tr>{heads}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """Return everything as JSON knows it."""
    return {
        "labels": [_label(label) for label in comparison.labels],
        "overlap": comparison.overlap,
        "overlap_interval": list(comparison.overlap_interval),
        "overlap_if_equal": comparison.overlap_if_equal,
        "p_value": comparison.p_value,
        "smallest_p_value": comparison.smallest_p_value,
        "can_tell": comparison.can_tell,
        "is_paired": comparison.is_paired,
        "level": comparison.level,
        "epsilon": comparison.first.epsilon,
        "difference": comparison.difference.tolist(),
        "standard_errors": comparison.standard_errors.tolist(),
        "p_values": comparison.p_values.tolist(),
        "raw_p_values": comparison.raw_p_values.tolist(),
        "top": [
            {
                "true": _label(cell.true),
                "pred": _label(cell.pred),
                "first": cell.first,
                "second": cell.second,
                "difference": cell.difference,
                "standard_error": cell.standard_error,
                "p_value": cell.p_value,
            }
            for cell in comparison.top(_ROWS)
        ],
    }


def _summary(comparison: Comparison) -> list[str]:
    low, high = comparison.overlap_interval
    alpha = 1 - comparison.level
    significant = int((comparison.p_values < alpha).sum())
    # The same predictions for the same samples need no test.
    is_same = comparison.is_paired and not comparison.difference.any()
    has_power = comparison.can_tell or is_same
    if comparison.p_value < alpha:
        verdict = "The two differ in which classes they confuse"
    elif has_power:
        verdict = "No difference in which classes they confuse is shown"
    else:
        verdict = "Too few samples to tell whether the two differ in which classes they confuse"
    pairing = "paired samples" if comparison.is_paired else "independent samples"
    smallest = (
        ""
        if has_power
        else f"; with these margins it could not be below {comparison.smallest_p_value:.2g}"
    )
    return [
        f"{verdict} (p = {comparison.p_value:.3g}{smallest}, {pairing}).",
        f"Overlap {comparison.overlap:.3f}; without noise {low:.3f} to {high:.3f}"
        f" ({comparison.level:.0%}); equal classifiers would show"
        f" {comparison.overlap_if_equal:.3f}.",
        f"{significant:,} of {comparison.difference.size:,} cells differ at {alpha:.2g}, corrected"
        " for their number (Holm).",
    ]


def _rows(comparison: Comparison) -> list[tuple[str, ...]]:
    return [
        (
            shorten(printable(cell.true), _WIDTH),
            shorten(printable(cell.pred), _WIDTH),
            f"{cell.first:.4f}",
            f"{cell.second:.4f}",
            f"{cell.difference:+.4f}",
            f"{cell.standard_error:.4f}",
            f"{cell.p_value:.3g}",
        )
        for cell in comparison.top(_ROWS)
    ]


def _label(label: Any) -> Any:
    return label.isoformat() if isinstance(label, datetime.date) else label
