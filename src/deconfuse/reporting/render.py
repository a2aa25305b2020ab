"""A study as an HTML page, JSON, Markdown or LaTeX. Nothing is computed here, only written."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from html import escape
from string import Template
from typing import TYPE_CHECKING

from deconfuse._text import escape_markdown
from deconfuse._version import __version__
from deconfuse.reporting import payload as records
from deconfuse.reporting.bundle import asset, bundle
from deconfuse.reporting.payload import ReportPayload
from deconfuse.reporting.summary import summarize
from deconfuse.reporting.table import Table
from deconfuse.reporting.tables import matrix_table, outcome_tables

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.reporting.study import Study

__all__ = ["to_html", "to_json", "to_latex", "to_markdown"]

# A table for reading; the page and the JSON hold all cells.
_TABLE_CLASSES = 30


def to_html(study: Study, title: str) -> str:
    """Return one self-contained page: no network, a strict policy, text that stays text."""
    payload = summarize(study, title)
    style, script = asset("page.css"), bundle("page")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return Template(asset("page.html")).substitute(
        policy=policy,
        generator=escape(payload.generator),
        title=escape(payload.title),
        style=style,
        fallback=_fallback(payload),
        payload=_script_json(payload),
        script=script,
    )


def to_json(study: Study, title: str) -> str:
    """Return the numbers behind the page."""
    return records.to_json(summarize(study, title))


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _script_json(payload: ReportPayload) -> str:
    # Inside a script element only "<" can end it or open a comment; JSON may spell it as an escape.
    return records.to_json(payload).replace("<", "\\u003c")


def _fallback(payload: ReportPayload) -> str:
    """Return the findings as plain HTML: shown until the explorer starts, or without scripts."""
    items = "\n".join(f"<li>{escape(finding.sentence)}</li>" for finding in payload.findings)
    return (
        f"<h1>{escape(payload.title)}</h1>\n<p>{escape(payload.headline)}</p>\n"
        f"<ul>\n{items}\n</ul>\n"
        "<noscript><p>The interactive matrix needs JavaScript.</p></noscript>"
    )


def to_markdown(study: Study, title: str) -> str:
    """Return the findings and the counts as Markdown, for a pull request or a log."""
    tables = []
    for name, cm in study.matrices.items():
        counts = matrix_table(cm, most=_TABLE_CLASSES)
        tables.append(replace(counts, title=f"Counts{_of(study, name)}{_part(cm)}"))
        tables += _outcomes(study, name)
    document = replace(study.document, tables=tables)
    return (
        f"# {escape_markdown(title)}\n\n{document.to_markdown()}\ndeconfuse {__version__}."
        " True classes on rows, predicted classes on columns.\n"
    )


def to_latex(study: Study, title: str) -> str:
    """Return the bi-normalized matrices with their counts as LaTeX tables (booktabs)."""
    tables = []
    for name, cm in study.matrices.items():
        table = matrix_table(study.bi(name), notes=True, most=_TABLE_CLASSES)
        caption = f"{title}{_of(study, name)}: {table.title} Counts in brackets{_part(cm)}."
        tables.append(replace(table, title=caption).to_latex())
        tables += [beside.to_latex() for beside in _outcomes(study, name)]
    return "\n\n".join(tables) + "\n"


def _outcomes(study: Study, name: str) -> list[Table]:
    cm = study.matrices[name]
    return [
        replace(table, title=f"{table.title}{_of(study, name)}{_part(cm)}")
        for table in outcome_tables(cm, _TABLE_CLASSES)
    ]


def _of(study: Study, name: str) -> str:
    return f" of {name}" if len(study.matrices) > 1 else ""


def _part(cm: ConfusionMatrix) -> str:
    if cm.n_classes <= _TABLE_CLASSES:
        return ""
    return f", first {_TABLE_CLASSES} of {cm.n_classes:,} classes"
