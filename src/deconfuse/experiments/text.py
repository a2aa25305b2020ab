"""Tables in Markdown and CSV, and how numbers and claims are written in them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from deconfuse.experiments.analysis import Sample
from deconfuse.experiments.claims import Claim, Evidence, Support

__all__ = [
    "MARKS",
    "claim_table",
    "claims_csv",
    "csv_text",
    "markdown_table",
    "mean_and_interval",
    "mean_range",
    "section",
]

#: How tables mark what a cell says.
MARKS = {
    Support.YES: "✓",
    Support.ZERO: "0",
    Support.UNCLEAR: "?",
    Support.NO: "✗",
    Support.FEW: "·",
}

#: A table with more columns than this is summed up by dataset; its cells are in a CSV file.
_MOST_COLUMNS = 4


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; bars in cells are escaped.

    Examples
    --------
    >>> print(markdown_table(["a", "b"], [["1", "2|3"]]))
    |a|b|
    |---|---|
    |1|2\\|3|
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "|" + "|".join(cell.replace("|", "\\|") for cell in line) + "|" for line in lines
    )


def csv_text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV; numbers with six digits."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        writer.writerow([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row])
    return stream.getvalue()


def claim_table(claim: Claim) -> str:
    """Return a claim's table in Markdown: its cells, or a summary where they are many.

    The first claim is the paper's main one and shows all of its cells.
    """
    if not claim.evidence:
        return "No runs yet."
    if len(claim.columns) > _MOST_COLUMNS and claim.number != "1":
        return _summary_table(claim)
    rows = [
        [row, *(_cell(claim.cell(row, column)) for column in claim.columns)] for row in claim.rows
    ]
    return markdown_table(["", *claim.columns], rows)


def _summary_table(claim: Claim) -> str:
    rows = []
    shown = [support for support in MARKS if any(i.support is support for i in claim.evidence)]
    groups = dict.fromkeys(item.row.split(", GCM")[0] for item in claim.evidence)
    for group in groups:
        mine = [item for item in claim.evidence if item.row.split(", GCM")[0] == group]
        counts = Counter(item.support for item in mine)
        means = [100 * item.sample.mean for item in mine]
        rows.append(
            [
                group,
                *(str(counts[support]) for support in shown),
                f"{min(means):+.1f}",
                f"{np.median(means):+.1f}",
                f"{max(means):+.1f}",
            ]
        )
    head = ["", *(support.value for support in shown), "least", "median", "most"]
    return markdown_table(head, rows)


def _cell(evidence: Evidence | None) -> str:
    if evidence is None:
        return "–"
    note = f" {evidence.note}" if evidence.note else ""
    numbers = mean_and_interval(evidence.sample, style="+.1f")
    return f"{numbers}{note} {MARKS[evidence.support]}"


def claims_csv(claims: Iterable[Claim]) -> str:
    """Return every cell of every claim as CSV, in points."""
    rows = []
    for claim in claims:
        for item in claim.evidence:
            low, high = item.sample.interval()
            numbers = [100 * number for number in (item.sample.mean, low, high)]
            support = item.support.value
            rows.append(
                [claim.number, item.row, item.column, *numbers, item.sample.n, item.note, support]
            )
    head = ["claim", "row", "column", "mean", "low", "high", "n", "best other", "verdict"]
    return csv_text(head, rows)


def mean_and_interval(sample: Sample | None, scale: float = 100.0, style: str = ".1f") -> str:
    """Return a mean and half its interval's width, or a dash where there is no run."""
    if sample is None:
        return "–"
    mean = f"{scale * sample.mean:{style}}"
    half = scale * (sample.interval()[1] - sample.mean)
    return mean if np.isnan(half) else f"{mean}±{half:{style.lstrip('+')}}"


def mean_range(samples: Sequence[Sample], style: str = ".1f") -> str:
    """Return the lowest and the highest mean, in hundredths."""
    means = [100 * sample.mean for sample in samples]
    low, high = f"{min(means):{style}}", f"{max(means):{style}}"
    return low if low == high else f"{low} to {high}"


def section(title: str, words: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a section with one table, or nothing where there are no rows."""
    return f"### {title}\n\n{words}\n\n{markdown_table(head, rows)}" if rows else ""
