"""Payload -> HTML page, Markdown, JSON, LaTeX. Nothing is computed here, only written down."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from string import Template

import numpy as np

from deconfuse._text import escape_latex, escape_markdown
from deconfuse.reporting.bundle import asset, bundle
from deconfuse.reporting.payload import ModelPayload, ReportPayload, to_json

__all__ = ["to_html", "to_json", "to_latex", "to_markdown"]

_TITLES = {
    "change": "What changed",
    "look_alike": "Look alike",
    "not_alike": "Confused, yet less alike",
    "over_predicted": "Over-predicted",
    "under_predicted": "Under-predicted",
    "careful": "Careful",
}
# A table for reading; the page and the JSON hold all cells.
_TABLE_CLASSES = 30


def to_html(payload: ReportPayload) -> str:
    """Return one self-contained page: no network, a strict policy, text that stays text."""
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


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _script_json(payload: ReportPayload) -> str:
    # Inside a script element only "<" can end it or open a comment; JSON may spell it as an escape.
    return to_json(payload).replace("<", "\\u003c")


def _fallback(payload: ReportPayload) -> str:
    """Return the findings as plain HTML: shown until the explorer starts, or without scripts."""
    items = "\n".join(f"<li>{escape(finding.sentence)}</li>" for finding in payload.findings)
    return (
        f"<h1>{escape(payload.title)}</h1>\n<p>{escape(payload.headline)}</p>\n"
        f"<ul>\n{items}\n</ul>\n"
        "<noscript><p>The interactive matrix needs JavaScript.</p></noscript>"
    )


def to_markdown(payload: ReportPayload) -> str:
    """Return the findings and the counts as Markdown, for a pull request or a log."""
    lines = [f"# {escape_markdown(payload.title)}", "", escape_markdown(payload.headline), ""]
    for kind in dict.fromkeys([*_TITLES, *(finding.kind for finding in payload.findings)]):
        found = [finding for finding in payload.findings if finding.kind == kind]
        if not found:
            continue
        lines += [f"## {_TITLES.get(kind, kind.replace('_', ' ').capitalize())}", ""]
        for finding in found:
            advice = f" *{escape_markdown(finding.advice)}*" if finding.advice else ""
            lines.append(f"- {escape_markdown(finding.sentence)}{advice}")
        lines.append("")
    for model in payload.models:
        lines += _markdown_counts(payload, model)
    lines.append(f"{payload.generator}. True classes on rows, predicted classes on columns.")
    return "\n".join(lines) + "\n"


def _markdown_counts(payload: ReportPayload, model: ModelPayload) -> list[str]:
    counts = _dense_counts(payload, model)
    name = f" of {escape_markdown(model.name)}" if len(payload.models) > 1 else ""
    shown = min(len(payload.labels), _TABLE_CLASSES)
    part = (
        f", first {shown} of {len(payload.labels)} classes" if shown < len(payload.labels) else ""
    )
    labels = [escape_markdown(label) for label in payload.labels[:shown]]
    lines = [f"## Counts{name}{part}", ""]
    lines.append("| true \\\\ predicted | " + " | ".join(labels) + " |")
    lines.append("|---|" + "---:|" * shown)
    for label, row in zip(labels, counts, strict=False):
        cells = " | ".join(_count_text(value) for value in row[:shown])
        lines.append(f"| **{label}** | {cells} |")
    return [*lines, ""]


def to_latex(payload: ReportPayload) -> str:
    """Return the bi-normalized matrix with its counts as a LaTeX table (booktabs)."""
    shown = min(len(payload.labels), _TABLE_CLASSES)
    part = ""
    if shown < len(payload.labels):
        part = f" The first {shown} of {len(payload.labels)} classes."
    labels = [escape_latex(label) for label in payload.labels[:shown]]
    tables = []
    for model in payload.models:
        counts = _dense_counts(payload, model)
        bi = model.scalings["bi"]
        values = bi.left.decode()[:, None] * (counts + bi.epsilon) * bi.right.decode()
        body = [
            f"{label} & "
            + " & ".join(
                # What epsilon makes of a class without samples would pass for a result.
                f"{f'{v:.3f}' if n.any() else '--'} ({_count_text(c)})"
                for v, c in zip(row[:shown], n[:shown], strict=True)
            )
            + r" \\"
            for label, row, n in zip(labels, values, counts, strict=False)
        ]
        name = f", {escape_latex(model.name)}" if len(payload.models) > 1 else ""
        absent = "" if counts[:shown].any(axis=1).all() else " --: never seen."
        tables.append(
            "\n".join(
                [
                    "% needs \\usepackage{booktabs}",
                    r"\begin{table}",
                    r"\centering",
                    rf"\caption{{{escape_latex(payload.title)}{name}: bi-normalized (every row and "
                    r"column of the whole matrix sums to 1), counts in brackets. True classes on "
                    rf"rows, predicted classes on columns.{part}{absent}}}",
                    rf"\begin{{tabular}}{{l{'r' * shown}}}",
                    r"\toprule",
                    r"true $\backslash$ predicted & " + " & ".join(labels) + r" \\",
                    r"\midrule",
                    *body,
                    r"\bottomrule",
                    r"\end{tabular}",
                    r"\end{table}",
                ]
            )
        )
    return "\n\n".join(tables) + "\n"


def _count_text(count: float) -> str:
    # Whole counts in full: they may have more digits than a ratio is worth.
    return f"{count:.0f}" if float(count).is_integer() else f"{count:.12g}"


def _dense_counts(payload: ReportPayload, model: ModelPayload) -> np.ndarray:
    n = len(payload.labels)
    counts = np.zeros(n * n)
    counts[model.cells.decode()] = model.counts.decode()
    return counts.reshape(n, n)
