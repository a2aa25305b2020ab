"""A comparison for people and programs: plain text, a terminal, a notebook, JSON. No arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from deconfuse._text import printable, shorten
from deconfuse.statistics.plain_values import plain_value

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group

    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.statistics.comparison import Comparison

__all__ = ["to_dict", "to_html", "to_rich", "to_text"]

_HEAD = ("true", "predicted", "first", "second", "difference", "± error", "p (Holm)")
_ROWS = 10
_WIDTH = 32
# Columns of a terminal that a class name gets before the table gives way.
_LEAST_NAME = 10
# From so many samples of a class without one error, more than a tenth of errors is unlikely: 3 / n.
_ENOUGH_WITHOUT_ERROR = 30


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
    from rich.text import Text

    summary = (Text(line) for line in _summary(comparison))
    return Group(*summary, Text("\nSurest differences"), _Cells(_rows(comparison)))


class _Cells:
    """The cells as a table, or each for itself where a terminal is too narrow for the numbers."""

    def __init__(self, rows: list[tuple[str, ...]]) -> None:
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        from rich.table import Table
        from rich.text import Text

        widths = [max(map(len, column)) for column in zip(_HEAD, *self._rows, strict=True)]
        names = sum(min(width, _LEAST_NAME) for width in widths[:2])
        if names + sum(widths[2:]) + 2 * (len(widths) - 1) > options.max_width:
            for true, pred, *numbers in self._rows:
                told = (f"{name} {value}" for name, value in zip(_HEAD[2:], numbers, strict=True))
                yield Text(f"true {true}, predicted {pred}: {', '.join(told)}")
            return
        table = Table(box=None, pad_edge=False)
        for k, name in enumerate(_HEAD):
            is_name = k < 2
            table.add_column(
                Text(name, style="dim"),
                justify="left" if is_name else "right",
                no_wrap=not is_name,
                min_width=None if is_name else widths[k],
                overflow="fold",
            )
        for row in self._rows:
            table.add_row(*(Text(value) for value in row))
        yield table


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
    """Return everything as JSON knows it; what is undefined is None."""
    values = {
        "labels": comparison.labels,
        "overlap": comparison.overlap,
        "overlap_interval": comparison.overlap_interval,
        "overlap_if_equal": comparison.overlap_if_equal,
        "p_value": comparison.p_value,
        "smallest_p_value": comparison.smallest_p_value,
        "can_tell": comparison.can_tell,
        "is_paired": comparison.is_paired,
        "level": comparison.level,
        "epsilon": comparison.first.epsilon,
        "difference": comparison.difference,
        "standard_errors": comparison.standard_errors,
        "p_values": comparison.p_values,
        "raw_p_values": comparison.raw_p_values,
        "top": [asdict(cell) for cell in comparison.top(_ROWS)],
    }
    return {name: plain_value(value) for name, value in values.items()}


def _summary(comparison: Comparison) -> list[str]:
    low, high = comparison.overlap_interval
    alpha = 1 - comparison.level
    significant = int((comparison.p_values < alpha).sum())
    # The same predictions for the same samples need no test.
    is_same = comparison.is_paired and not comparison.difference.any()
    has_power = comparison.can_tell or is_same
    smallest = ""
    if comparison.p_value < alpha:
        verdict = "The two differ in which classes they confuse"
    elif has_power:
        verdict = "No difference in which classes they confuse is shown"
    elif all(_is_surely_right(n.source) for n in (comparison.first, comparison.second)):
        verdict = "Neither of the two confuses any classes, so there is nothing to compare"
    else:
        verdict = "Too few samples to tell whether the two differ in which classes they confuse"
        smallest = f"; with these margins it could not be below {comparison.smallest_p_value:.2g}"
    pairing = "paired samples" if comparison.is_paired else "independent samples"
    return [
        f"{verdict} (p = {comparison.p_value:.3g}{smallest}, {pairing}).",
        f"Overlap {comparison.overlap:.3f}; without noise {low:.3f} to {high:.3f}"
        f" ({comparison.level:.0%}); equal classifiers would show"
        f" {comparison.overlap_if_equal:.3f}.",
        f"{significant:,} of {comparison.difference.size:,} cells differ at {alpha:.2g}, corrected"
        " for their number (Holm).",
    ]


def _is_surely_right(cm: ConfusionMatrix) -> bool:
    """Return whether there are no errors, among samples enough that there could have been some."""
    if cm.total > cm.counts.diagonal().sum():
        return False
    # What one sample of a class weighs is known from its variance.
    spread = np.asarray(cm.variances.sum(axis=1), dtype=np.float64)
    labels = np.asarray(cm.label_counts, dtype=np.float64)
    samples = np.divide(labels**2, spread, out=np.zeros_like(spread), where=spread > 0)
    return bool((samples[labels > 0] >= _ENOUGH_WITHOUT_ERROR).all())


def _rows(comparison: Comparison) -> list[tuple[str, ...]]:
    return [
        (
            shorten(printable(cell.true), _WIDTH),
            shorten(printable(cell.pred), _WIDTH),
            f"{cell.first:.4f}",
            f"{cell.second:.4f}",
            f"{cell.difference:+.4f}",
            f"{cell.standard_error:.4f}",
            "–" if math.isnan(cell.p_value) else f"{cell.p_value:.3g}",
        )
        for cell in comparison.top(_ROWS)
    ]
