"""`report`: a study as one HTML page, as JSON, Markdown or LaTeX, all of the file or nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Literal

from deconfuse._checks import Label
from deconfuse._files import write_text
from deconfuse._text import escape_markdown
from deconfuse._version import __version__
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.reporting import payload as records
from deconfuse.reporting.page_payload import summarize
from deconfuse.reporting.payload import ReportPayload
from deconfuse.reporting.samples import Samples
from deconfuse.reporting.study import Study
from deconfuse.reporting.table import Table
from deconfuse.reporting.tables import matrix_table, outcome_tables

__all__ = ["FORMATS", "asset", "bundle", "report", "to_html", "to_latex", "to_markdown"]

#: What the name of a report may end in.
FORMATS = (".html", ".htm", ".md", ".json", ".tex")
# A table for reading; the page and the JSON hold all cells.
_TABLE_CLASSES = 30
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)


def report(
    cm: Study | ConfusionMatrix | Mapping[str, ConfusionMatrix] | Any,
    path: str | os.PathLike[str],
    *,
    embeddings: Any = None,
    samples: Samples | Mapping[str, Samples] | None = None,
    title: str | None = None,
    groups: Mapping[str, Sequence[Label]] | None = None,
    paired: tuple[Any, Any, Any] | None = None,
) -> Path:
    """Write a report on one confusion matrix, or on several.

    Parameters
    ----------
    cm : Study, ConfusionMatrix, array-like, or mapping of names to matrices
        One matrix, or several by name: models, epochs or slices. Of two, such as
        ``{"before": cm_a, "after": cm_b}``, the difference is shown with what is significant.
    path : path-like
        Where to write. The ending decides: ``.html`` is one self-contained interactive page,
        ``.md`` the findings and counts, ``.json`` the numbers behind the page, ``.tex`` a table.
    embeddings : array-like of shape (n_samples, n_features), optional
        The representation of each sample; adds the geometric matrices and a scatter. Needs
        ``samples``.
    samples : Samples or mapping of names to Samples, optional
        The predictions, so that each cell lists its samples, by id and with pictures if given. With
        several matrices they are named as these are; without names they belong to the first.
    title : str, optional
        What the report is about; the file's name by default.
    groups : mapping of names to sequences of classes, optional
        Classes that belong together; a class in no group stands alone.
    paired : tuple (y_true, first_predictions, second_predictions), optional
        The predictions behind two matrices, when two models predicted the same samples: what is
        significant is then told by the pairs. See `deconfuse.compare`.

    Returns
    -------
    Path
        The file, complete; on any error there is none, or the one from before.

    Raises
    ------
    InputError
        If ``path`` is not the name of a file or its ending is unknown, the folder does not exist,
        or ``samples``, ``embeddings``, ``groups`` or ``paired`` do not belong to the matrices.

    Notes
    -----
    Equal input gives equal bytes. The page needs no network and carries counts, class names and
    diagonals; the browser computes the cells. Beyond 1,000 classes it shows the most confused ones
    and pools the others, with a search over all.

    Examples
    --------
    >>> import tempfile, deconfuse as dc
    >>> cm = dc.ConfusionMatrix.from_counts([[90, 10], [5, 25]], labels=["cat", "dog"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = dc.report(cm, f"{folder}/pets.html")
    ...     page.name, page.read_text(encoding="utf-8").startswith("<!doctype html>")
    ('pets.html', True)
    """
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise InputError(
            f"`path` must end in {', '.join(FORMATS)}, got {target.name!r}.",
            hint='the page is the ".html" one.',
        )
    if not target.parent.is_dir():
        raise InputError(
            f"`path` must lie in a folder that exists, but {str(target.parent)!r} is none.",
            hint="make the folder first.",
        )
    parts = {"embeddings": embeddings, "samples": samples, "groups": groups, "paired": paired}
    given = {name: part for name, part in parts.items() if part is not None}
    if isinstance(cm, Study) and given:
        raise InputError(
            f"A `Study` has its own parts, got {', '.join(f'`{name}`' for name in given)} too.",
            hint="give them to `Study`.",
        )
    study = cm if isinstance(cm, Study) else Study(cm, **given)
    writers = {".md": to_markdown, ".json": to_json, ".tex": to_latex}
    writer = writers.get(target.suffix.lower(), to_html)
    write_text(target, writer(study, target.stem if title is None else title))
    return target


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
        # In a script only "<" can end it or open a comment; JSON may spell it as an escape.
        payload=records.to_json(payload).replace("<", "\\u003c"),
        script=script,
    )


def to_json(study: Study, title: str) -> str:
    """Return the numbers behind the page."""
    return records.to_json(summarize(study, title))


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


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


def asset(name: str) -> str:
    """Return the text of a file of the assets folder."""
    return (files("deconfuse.reporting") / "assets" / name).read_text(encoding="utf-8")


@cache
def bundle(entry: Literal["page", "widget"]) -> str:
    """Return the explorer as one script: for the page, or as a module for anywidget.

    A browser imports no modules from ``file://``. Each module therefore becomes a function that
    returns its exports, in the order of their imports: no build step, no tool, equal text each
    time.
    """
    written: list[str] = []
    _add(entry, written, set())
    text = "".join(written)
    if entry == "widget":
        text += "export default { render: $widget.render };\n"
    return text


def _add(name: str, written: list[str], done: set[str]) -> None:
    if name in done:
        return
    done.add(name)
    if name == "css":
        written.append(f"const $css = {{ css: {json.dumps(asset('explorer.css'))} }};\n")
        return
    source = asset(f"explorer/{name}.js")
    for _, dependency in _IMPORT.findall(source):
        _add(dependency, written, done)
    exports = _EXPORT.findall(source)
    body = _IMPORT.sub(_take, source)
    body = _EXPORT.sub("", body)
    returned = f"return {{ {', '.join(exports)} }};\n"
    written.append(f"const {_variable(name)} = (() => {{\n{body}{returned}}})();\n")


def _take(match: re.Match[str]) -> str:
    names = ", ".join(name.strip() for name in match[1].split(",") if name.strip())
    return f"const {{ {names} }} = {_variable(match[2])};\n"


def _variable(name: str) -> str:
    return "$" + name.replace("-", "_")
