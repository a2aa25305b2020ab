"""A diagnosis for people: plain text, a terminal with colours, a notebook. No arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from math import exp
from typing import TYPE_CHECKING

from deconfuse._text import printable, shorten
from deconfuse.statistics.findings import Finding

if TYPE_CHECKING:
    from rich.console import Group

    from deconfuse.statistics.diagnosis import Diagnosis

__all__ = ["to_html", "to_rich", "to_text"]

_TITLES = {
    "look_alike": "These classes look alike",
    "over_predicted": "Over-predicted",
    "under_predicted": "Under-predicted",
    "not_alike": "Often confused, but not alike",
    "careful": "Take care",
}
_STYLES = {
    "look_alike": "bold red",
    "over_predicted": "bold yellow",
    "under_predicted": "bold yellow",
    "not_alike": "bold cyan",
    "careful": "bold magenta",
}
_PAIR_HEAD = ("class", "class", "similarity", "interval", "by counts", "confusions")
_BIAS_HEAD = ("class", "of labels", "of predictions", "ratio", "interval", "")
_CELL_HEAD = ("true", "predicted", "count", "against even", "similarity", "labels", "predictions")
_TEXT_COLUMNS = frozenset({"", "class", "true", "predicted"})
_ROWS = 10
_WIDTH = 32


def to_text(diagnosis: Diagnosis) -> str:
    """Return the findings and the two main tables as plain text."""
    lines = [diagnosis.headline]
    for title, findings in _sections(diagnosis.findings):
        lines += ["", title]
        for advice, group in _by_advice(findings):
            lines += [f"  - {finding.sentence}" for finding in group]
            lines.append(f"    {advice}")
    for title, head, rows in _tables(diagnosis):
        lines += ["", title, *_aligned(head, rows)]
    return "\n".join(lines)


def to_rich(diagnosis: Diagnosis) -> Group:
    """Return the same for a terminal. Names are text: nothing in them is taken for markup."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[Text | Table] = [Text(diagnosis.headline, style="bold")]
    for title, findings in _sections(diagnosis.findings):
        parts.append(Text(f"\n{title}", style=_STYLES[findings[0].kind]))
        # Two columns, so that a long sentence goes on under its first word.
        grid = Table.grid(padding=(0, 1, 0, 0))
        for advice, group in _by_advice(findings):
            for finding in group:
                grid.add_row(Text("  •"), Text(finding.sentence))
            grid.add_row(Text("  →", style="dim"), Text(advice, style="dim"))
        parts.append(grid)
    for title, head, rows in _tables(diagnosis):
        table = Table(title=Text(f"\n{title}"), title_justify="left", box=None, pad_edge=False)
        for name in head:
            is_text = name in _TEXT_COLUMNS
            table.add_column(Text(name, style="dim"), justify="left" if is_text else "right")
        for row in rows:
            table.add_row(*(Text(value) for value in row))
        parts.append(table)
    return Group(*parts)


def to_html(diagnosis: Diagnosis) -> str:
    """Return the same as HTML without scripts; names and sentences are escaped."""
    parts = [f"<p><b>{escape(diagnosis.headline)}</b></p>"]
    for title, findings in _sections(diagnosis.findings):
        parts.append(f"<p><b>{escape(title)}</b></p>")
        for advice, group in _by_advice(findings):
            items = "".join(f"<li>{escape(finding.sentence)}</li>" for finding in group)
            parts.append(f'<ul>{items}</ul><p style="opacity:.7">{escape(advice)}</p>')
    for title, head, rows in _tables(diagnosis):
        heads = "".join(f"<th>{escape(name)}</th>" for name in head)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(value)}</td>" for value in row) + "</tr>" for row in rows
        )
        parts.append(
            f"<details><summary>{escape(title)}</summary><table><thead><tr>{heads}</tr></thead>"
            f"<tbody>{body}</tbody></table></details>"
        )
    return f"<div>{''.join(parts)}</div>"


def _sections(findings: Sequence[Finding]) -> Iterable[tuple[str, list[Finding]]]:
    for kind, title in _TITLES.items():
        chosen = [finding for finding in findings if finding.kind == kind]
        if chosen:
            yield title, chosen


def _by_advice(findings: Sequence[Finding]) -> Iterable[tuple[str, list[Finding]]]:
    """Yield findings that follow each other with the same advice, which is then said once."""
    for advice, group in groupby(findings, key=lambda finding: finding.advice):
        yield advice, list(group)


def _tables(diagnosis: Diagnosis) -> Iterable[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    pairs = diagnosis.look_alikes[:_ROWS]
    if pairs:
        yield (
            "Most similar pairs, by the low end of the interval",
            _PAIR_HEAD,
            [
                (
                    _name(pair.first),
                    _name(pair.second),
                    f"{pair.similarity:.3f}",
                    f"{pair.low:.3f} to {pair.high:.3f}",
                    f"rank {pair.raw_rank}",
                    f"{pair.count:,.6g} + {pair.reverse_count:,.6g}",
                )
                for pair in pairs
            ],
        )
    biased = [bias for bias in diagnosis.biases if bias.verdict in ("over", "under")]
    biased.sort(key=lambda bias: -max(bias.ratio, 1 / bias.ratio if bias.ratio else float("inf")))
    if biased:
        yield (
            "Predictions against labels, were all classes equally frequent",
            _BIAS_HEAD,
            [
                (
                    _name(bias.label),
                    f"{bias.label_share:.1%}",
                    f"{bias.prediction_share:.1%}",
                    f"{bias.ratio:.2f}",
                    f"{bias.low:.2f} to {bias.high:.2f}",
                    bias.verdict,
                )
                for bias in biased[:_ROWS]
            ],
        )
    cells = diagnosis.attribution.top(_ROWS)
    if cells:
        yield (
            "Largest errors: how many times an even matrix, as a product of three factors",
            _CELL_HEAD,
            [
                (
                    _name(cell.true),
                    _name(cell.pred),
                    f"{cell.count:,.6g}",
                    *(
                        f"{exp(part):.3g}"
                        for part in (cell.observed, cell.similarity, cell.label, cell.prediction)
                    ),
                )
                for cell in cells
            ],
        )


def _aligned(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    # Names to the left, numbers to the right, as people read them.
    is_text = [name in _TEXT_COLUMNS for name in head]
    return [
        "  "
        + "  ".join(
            value.ljust(width) if text else value.rjust(width)
            for value, width, text in zip(row, widths, is_text, strict=True)
        ).rstrip()
        for row in [head, *rows]
    ]


def _name(label: object) -> str:
    return shorten(printable(label), _WIDTH)
