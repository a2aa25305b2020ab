"""Tables in Markdown, and how claims and datasets are written in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from deconfuse.experiments.analysis import Sample
from deconfuse.experiments.catalogue import CATALOGUE
from deconfuse.experiments.claims import Claim, Evidence, Support

__all__ = ["MARKS", "claim_table", "dataset_title", "markdown_table", "mean_and_interval"]

#: How tables mark what a cell says.
MARKS = {Support.YES: "✓", Support.UNCLEAR: "≈", Support.NO: "✗", Support.FEW: "·"}


def dataset_title(name: str) -> str:
    """Return what figures and tables call a dataset."""
    return CATALOGUE[name].title if name in CATALOGUE else name


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; bars in cells are escaped.

    Examples
    --------
    >>> print(markdown_table(["a", "b"], [["1", "2|3"]]))
    | a | b |
    | --- | --- |
    | 1 | 2\\|3 |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def claim_table(claim: Claim) -> str:
    """Return a claim's table and verdict in Markdown."""
    if not claim.evidence:
        return "No runs yet."
    rows = []
    for row in claim.rows:
        cells = [claim.cell(row, column) for column in claim.columns]
        counts = [cell.sample.n for cell in cells if cell is not None]
        seeds = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)}–{max(counts)}"
        rows.append([row, seeds, *(_cell(cell, claim.scale) for cell in cells)])
    table = markdown_table(["", "n", *claim.columns], rows)
    return f"Measured: {claim.measured}.\n\n{table}\n\nVerdict: **{claim.verdict}**."


def _cell(evidence: Evidence | None, scale: float) -> str:
    if evidence is None:
        return "–"
    note = f" ({evidence.note})" if evidence.note else ""
    numbers = mean_and_interval(evidence.sample, scale, "+.1f")
    return f"{numbers}{note} {MARKS[evidence.support]}"


def mean_and_interval(sample: Sample | None, scale: float = 100.0, style: str = ".1f") -> str:
    """Return a mean with its interval, or a dash where there is no run."""
    if sample is None:
        return "–"
    low, high = (scale * bound for bound in sample.interval())
    mean = f"{scale * sample.mean:{style}}"
    return mean if np.isnan(low) else f"{mean} [{low:{style}}, {high:{style}}]"
