"""`Document`: sentences, findings and tables, written as text, HTML, Markdown or for a terminal.

A diagnosis and a comparison become documents here; what they say is worded in `statistics`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from deconfuse._text import (
    count_text,
    escape_markdown,
    interval_text,
    printable,
    proportion,
    significant,
    tell_apart,
)
from deconfuse.reporting.table import Table
from deconfuse.statistics.comparison_text import summary
from deconfuse.statistics.findings import biased, condition

if TYPE_CHECKING:
    from rich.console import Group

    from deconfuse.statistics.comparison import Comparison
    from deconfuse.statistics.diagnosis import Diagnosis
    from deconfuse.statistics.findings import Finding

__all__ = ["KINDS", "Document", "Kind", "by_kind", "comparison_document", "diagnosis_document"]

_ROWS = 10
_FINDINGS = 5
_NAME_WIDTH = 32
_advice = attrgetter("advice")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding: the title above such findings, and their colour in a terminal."""

    name: str
    title: str
    colour: str


#: In the order in which they are shown.
KINDS = (
    Kind("change", "What changed", "green"),
    Kind("outcome", "Answers that are no class", "blue"),
    Kind("look_alike", "Similar classes", "red"),
    Kind("not_alike", "Often confused, but less similar", "cyan"),
    Kind("over_predicted", "Over-predicted", "yellow"),
    Kind("under_predicted", "Under-predicted", "yellow"),
    Kind("careful", "Take care", "magenta"),
)


def by_kind(findings: Sequence[Finding]) -> Iterator[tuple[Kind, list[Finding]]]:
    """Yield each kind that was found with its findings.

    Examples
    --------
    >>> from deconfuse.statistics.findings import Finding
    >>> found = [Finding(kind, 0.5, "", "", ()) for kind in ("careful", "look_alike", "careful")]
    >>> [(kind.title, len(group)) for kind, group in by_kind(found)]
    [('Similar classes', 1), ('Take care', 2)]
    """
    for kind in KINDS:
        group = [finding for finding in findings if finding.kind == kind.name]
        if group:
            yield kind, group


@dataclass(frozen=True, slots=True)
class Document:
    """What was found: a few sentences, findings with advice, and tables.

    Examples
    --------
    >>> print(Document(["Two classes."], tables=[Table(["a"], [["1"]], "r", "One")]).to_text())
    Two classes.
    <BLANKLINE>
    One
      a
      1
    """

    sentences: Sequence[str]
    findings: Sequence[Finding] = ()
    tables: Sequence[Table] = ()

    def to_text(self) -> str:
        """Return plain text."""
        lines = [printable(sentence) for sentence in self.sentences]
        for kind, findings, groups in _shown(self.findings):
            lines += ["", kind.title]
            for advice, group in groups:
                lines += [f"  - {finding.sentence}" for finding in group]
                lines += [f"    {advice}"] if advice else []
            lines += [f"  {more}" for more in _more(findings)]
        for table in self.tables:
            lines += ["", table.title]
            lines += [f"  {line}" for line in table.to_text().splitlines()]
        return "\n".join(lines)

    def to_rich(self) -> Group:
        """Return something that rich prints; nothing in a name is taken for markup."""
        from rich.console import Group
        from rich.table import Table as RichTable
        from rich.text import Text

        first, *rest = (printable(sentence) for sentence in self.sentences)
        parts: list[Any] = [Text(first, style="bold"), *map(Text, rest)]
        for kind, findings, groups in _shown(self.findings):
            parts.append(Text(f"\n{kind.title}", style=f"bold {kind.colour}"))
            # Two columns, so that a long sentence continues below its first word.
            grid = RichTable.grid(padding=(0, 1, 0, 0))
            for advice, group in groups:
                for finding in group:
                    grid.add_row(Text("  •"), Text(finding.sentence))
                if advice:
                    grid.add_row(Text("  →", style="dim"), Text(advice, style="dim"))
            parts.append(grid)
            parts += [Text(f"  {more}", style="dim") for more in _more(findings)]
        for table in self.tables:
            parts += [Text(f"\n{table.title}"), table]
        return Group(*parts)

    def to_html(self) -> str:
        """Return HTML without scripts."""
        first, *rest = map(escape, self.sentences)
        parts = [f"<p><b>{first}</b>{''.join(f'<br>{line}' for line in rest)}</p>"]
        for kind, findings, groups in _shown(self.findings):
            parts.append(f"<p><b>{escape(kind.title)}</b></p>")
            for advice, group in groups:
                items = "".join(f"<li>{escape(finding.sentence)}</li>" for finding in group)
                told = f'<p style="opacity:.7">{escape(advice)}</p>' if advice else ""
                parts.append(f"<ul>{items}</ul>{told}")
            parts += [f"<p>{more}</p>" for more in _more(findings)]
        parts += [
            f"<details><summary>{escape(table.title)}</summary>{table.to_html()}</details>"
            for table in self.tables
        ]
        return f"<div>{''.join(parts)}</div>"

    def to_markdown(self) -> str:
        """Return Markdown, with the kinds of findings as headings of the second level."""
        lines: list[str] = []
        for sentence in self.sentences:
            # What follows a list without a blank line would be part of its last item.
            if lines and not (sentence.startswith("- ") and lines[-1].startswith("- ")):
                lines.append("")
            lines.append(escape_markdown(sentence))
        for kind, findings in by_kind(self.findings):
            lines += ["", f"## {kind.title}", ""]
            for finding in findings:
                advice = f" *{escape_markdown(finding.advice)}*" if finding.advice else ""
                lines.append(f"- {escape_markdown(finding.sentence)}{advice}")
        for table in self.tables:
            lines += ["", f"## {escape_markdown(table.title)}", "", table.to_markdown()]
        return "\n".join(lines) + "\n"


def _shown(
    findings: Sequence[Finding],
) -> Iterator[tuple[Kind, list[Finding], list[tuple[str, list[Finding]]]]]:
    """Yield each kind, all its findings, and the first ones grouped by their advice.

    Advice that the next group repeats is told there alone.
    """
    kinds = [
        (kind, all_of_it, [list(group) for _, group in groupby(all_of_it[:_FINDINGS], _advice)])
        for kind, all_of_it in by_kind(findings)
    ]
    for place, (kind, all_of_it, groups) in enumerate(kinds):
        told = [group[0].advice for group in groups]
        if kinds[place + 1 :] and kinds[place + 1][2][0][0].advice == told[-1]:
            told[-1] = ""
        yield kind, all_of_it, list(zip(told, groups, strict=True))


def _more(findings: Sequence[Finding]) -> list[str]:
    """Return how many findings of a kind are left out after the first ones."""
    more = len(findings) - _FINDINGS
    return [f"and {more:,} more"] if more > 0 else []


def diagnosis_document(diagnosis: Diagnosis) -> Document:
    """Return the findings of a diagnosis, its recalls, surest pairs, biases and largest errors."""
    tables = [_recalls(diagnosis), _pairs(diagnosis), _biases(diagnosis), _errors(diagnosis)]
    if diagnosis.source.n_classes == 2:
        # One pair and two errors say what the recalls say.
        tables = [tables[0], tables[2]]
    return Document(
        [diagnosis.headline], diagnosis.findings, [table for table in tables if table.rows]
    )


def _recalls(diagnosis: Diagnosis) -> Table:
    cm = diagnosis.source
    found = cm.per_class()
    hits = cm.counts.diagonal()
    order = [k for k in found.recall.value.argsort(kind="stable").tolist() if found.n[k] > 0]
    return Table(
        head=("class", "labels", "right", "recall", "predictions", "precision", "F1"),
        rows=_named(
            1,
            [
                (
                    found.labels[k],
                    count_text(found.n[k]),
                    count_text(hits[k]),
                    proportion(found.recall.value[k]),
                    count_text(found.n_predicted[k]),
                    proportion(found.precision.value[k]) if found.n_predicted[k] else "–",
                    proportion(found.f1.value[k]),
                )
                for k in order[:_ROWS]
            ],
        ),
        align="lrrrrrr",
        title=(
            f"Recalls{' where a class was named' if cm.outcomes else ''}, lowest first"
            f"{_part(len(order))}; macro F1 {proportion(cm.macro_f1)}"
            f"{'' if math.isnan(cm.kappa) else f', kappa {proportion(cm.kappa)}'}"
        ),
    )


def _part(total: int, which: str = "") -> str:
    """Say of how many the first rows are shown."""
    return f" ({_ROWS} of {total:,}{which})" if total > _ROWS else ""


def _pairs(diagnosis: Diagnosis) -> Table:
    return Table(
        head=("class", "class", "similarity", "by counts", "confusions"),
        rows=_named(
            2,
            [
                (
                    pair.first,
                    pair.second,
                    interval_text(pair.similarity, pair.low, pair.high),
                    f"rank {pair.raw_rank}",
                    f"{count_text(pair.count)} + {count_text(pair.reverse_count)}",
                )
                for pair in diagnosis.look_alikes[:_ROWS]
            ],
        ),
        align="llrrr",
        title=(
            f"Most similar pairs{_part(diagnosis.n_look_alikes, ' that can be ranked')}, with"
            " frequency and bias taken out (0: never confused, 1: confused as often as recognized),"
            " by the lower end of the interval"
        ),
    )


def _biases(diagnosis: Diagnosis) -> Table:
    over, under = biased(diagnosis.biases)
    # By the end of the interval that is nearer to no bias.
    order = sorted([*over, *under], key=lambda bias: -max(bias.low, 1 / max(bias.high, 1e-300)))
    return Table(
        head=("class", "labels", "predictions", "ratio", ""),
        rows=_named(
            1,
            [
                (
                    bias.label,
                    count_text(bias.labels),
                    count_text(bias.predictions),
                    interval_text(bias.ratio, bias.low, bias.high),
                    bias.verdict,
                )
                for bias in order[:_ROWS]
            ],
        ),
        align="lrrrl",
        title=(
            f"Predictions per label {condition(diagnosis.biases)}{_part(len(over) + len(under))}"
        ),
    )


def _errors(diagnosis: Diagnosis) -> Table:
    return Table(
        head=(
            "true",
            "predicted",
            "count",
            "times typical",
            "pair",
            "true class",
            "predicted class",
        ),
        rows=_named(
            2,
            [
                (
                    cell.true,
                    cell.pred,
                    count_text(cell.count),
                    *(
                        "–" if math.isnan(part) else significant(math.exp(part))
                        for part in (cell.observed, cell.similarity, cell.label, cell.prediction)
                    ),
                )
                for cell in diagnosis.attribution.top(_ROWS)
            ],
        ),
        align="llrrrrr",
        title=(
            "Largest errors: how many times the typical error (a geometric mean,"
            f" {significant(math.exp(diagnosis.attribution.base))} samples), as the"
            " product of a factor of the pair, of the true class and of the predicted class"
        ),
    )


def comparison_document(comparison: Comparison) -> Document:
    """Return the verdict of a comparison and the cells that differ most surely."""
    order = "largest differences first; none of them is shown to be more than chance"
    if (comparison.p_values < 1 - comparison.level).any():
        order = "surest differences first, then the largest that may be chance"
    table = Table(
        head=("true", "predicted", "first", "second", "difference", "p (corrected)"),
        rows=_named(
            2,
            [
                (
                    cell.true,
                    cell.pred,
                    f"{cell.first:.4f}",
                    f"{cell.second:.4f}",
                    f"{cell.difference:+.4f}",
                    "–" if math.isnan(cell.p_value) else f"{cell.p_value:.3g}",
                )
                for cell in comparison.top(_ROWS)
            ],
        ),
        align="llrrrr",
        title=(
            f"Bi-normalized cells, estimated, {order}. Label shares and prediction bias are taken"
            " out, so that the diagonal is not the recall"
        ),
    )
    tables = [] if comparison.is_same else [_recalls_of_both(comparison), table]
    return Document(summary(comparison), tables=[table for table in tables if table.rows])


def _signed_interval(value: float, low: float, high: float) -> str:
    told, *ends = (proportion(number, 3, signed=True) for number in (value, low, high))
    return f"{told} ({ends[0]} to {ends[1]})"


def _recalls_of_both(comparison: Comparison) -> Table:
    """Return the recalls of both, largest differences first."""
    recalls = comparison.recalls
    changes = recalls.difference.tolist()
    known = [k for k, change in enumerate(changes) if not math.isnan(change)]
    order = sorted(known, key=lambda k: -abs(changes[k]))
    return Table(
        head=("class", "first", "second", "difference", "p (corrected)"),
        rows=_named(
            1,
            [
                (
                    comparison.labels[k],
                    f"{recalls.first[k]:.3f}",
                    f"{recalls.second[k]:.3f}",
                    _signed_interval(recalls.difference[k], recalls.low[k], recalls.high[k]),
                    f"{recalls.p_values[k]:.3g}",
                )
                for k in order[:_ROWS]
            ],
        ),
        align="lrrrr",
        title=f"Recalls{_part(len(order))}, largest differences first",
    )


def _named(columns: int, rows: Sequence[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    """Return rows of which so many first columns are classes, with names that differ."""
    labels = [printable(label) for row in rows for label in row[:columns]]
    names = iter(tell_apart(labels, _NAME_WIDTH))
    return [(*islice(names, columns), *row[columns:]) for row in rows]
