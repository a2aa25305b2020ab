"""How a matrix shows itself: as text, in a terminal, as static HTML, or as the live explorer.

Static HTML needs nothing but the package, survives in saved notebooks and on code hosts, and holds
no script. The live explorer, the page's own script as an anywidget, comes with the extra
``notebook``.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from deconfuse.errors import MissingExtraError
from deconfuse.normalization import Normalized
from deconfuse.reporting.tables import counts_of, describe, matrix_table, outcome_tables, top_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.reporting.payload import ReportPayload
    from deconfuse.reporting.study import Study
    from deconfuse.reporting.table import Table

__all__ = ["explorer", "matrix_html", "matrix_text", "mimebundle", "print_matrix"]

_TEXT_CLASSES, _HTML_CLASSES = 60, 25
# A table wider than the terminal is split into at most so many parts.
_PARTS = 3
_TOP = 15


def matrix_text(shown: ConfusionMatrix | Normalized) -> str:
    """Return counts or a normalized matrix as plain text.

    Examples
    --------
    >>> import deconfuse as dc
    >>> cm = dc.ConfusionMatrix.from_counts([[9, 1], [0, 4]], ["cat", "dog"])
    >>> print(matrix_text(cm))
    counts from 14 samples; true classes on rows, predicted classes on columns.
    true \\ predicted  cat  dog
    cat                 9    1
    dog                 ·    4
    """
    title, *tables = _parts(shown, width=None)
    beside = [f"{table.title}:\n{table.to_text()}" for table in _beside(shown)]
    return "\n".join([str(title), *(table.to_text() for table in tables), *beside])


def print_matrix(console: Console, shown: ConfusionMatrix | Normalized) -> None:
    """Print counts or a normalized matrix in colours, all of it where it fits."""
    from rich.text import Text

    title, *tables = _parts(shown, width=console.width)
    console.print(Text(str(title), style="bold"))
    for table in tables:
        console.print(table)
    for table in _beside(shown):
        console.print(Text(f"{table.title}:"))
        console.print(table)


def _beside(shown: ConfusionMatrix | Normalized) -> list[Table]:
    """Return the outcomes of the classes, those of the first where there are many."""
    return outcome_tables(counts_of(shown), _TEXT_CLASSES)


def _parts(shown: ConfusionMatrix | Normalized, width: int | None) -> Iterator[Any]:
    """Yield a title and tables that fit into ``width``: the matrix, or its largest errors."""
    cm = counts_of(shown)
    title = describe(shown)
    if cm.n_classes <= _TEXT_CLASSES:
        table = matrix_table(shown, short=True)
        name, *columns = table.widths
        fitting = cm.n_classes if width is None else (width - name) // (max(columns) + 1)
        if fitting * _PARTS >= cm.n_classes:
            yield title
            for start in range(1, cm.n_classes + 1, max(fitting, 1)):
                yield table.columns(start, start + fitting)
            return
    if cm.total == 0:
        yield "No samples yet."
        return
    largest = top_table(shown if isinstance(shown, Normalized) else cm.normalize("all"), _TOP)
    if not largest.rows:
        yield f"{title}\n{cm.n_classes:,} classes do not fit here, and there are no errors."
        return
    yield f"{title}\n{cm.n_classes:,} classes do not fit here, so the largest errors:"
    yield largest


def matrix_html(shown: ConfusionMatrix | Normalized) -> str:
    """Return counts or a normalized matrix, with the counts beside the ratios, as static HTML."""
    cm = counts_of(shown)
    title = f"{cm.n_classes:,} classes, {describe(shown)}"
    if cm.n_classes <= _HTML_CLASSES:
        body = matrix_table(shown, notes=isinstance(shown, Normalized)).to_html()
    elif cm.total == 0:
        body = "<p>No samples yet.</p>"
    else:
        n = shown if isinstance(shown, Normalized) else cm.normalize("bi", throw=False)
        largest = top_table(n, _TOP)
        body = "<p>No errors.</p>"
        if largest.rows:
            body = f"<p>The largest errors:</p>{largest.to_html()}"
    beside = "".join(f"<p>{table.title}:</p>{table.to_html()}" for table in _beside(shown))
    return f"<div><p><b>{escape(title)}</b></p>{body}{beside}</div>"


def mimebundle(subject: Any, html: str) -> dict[str, Any]:
    """Return what a notebook may show of a subject: the live explorer where it can run.

    Parameters
    ----------
    subject : ConfusionMatrix, Normalized, Diagnosis, Comparison or Study
    html : str
        Its static form.
    """
    static = {"text/plain": repr(subject), "text/html": html}
    if not _in_kernel() or importlib.util.find_spec("anywidget") is None:
        return static
    from deconfuse.reporting.page_payload import summarize

    study = _study(subject)
    if study is None:
        return static
    method = getattr(subject, "method", "bi")
    if isinstance(subject, Normalized) and method == "bi":
        # The page's bi is the estimate; this is the definition.
        method = "bi-epsilon"
    widget = explorer(summarize(study, "confusion matrix"), start=f"method={method}")
    live = widget._repr_mimebundle_()
    data = live[0] if isinstance(live, tuple) else live
    # The static form stays in the bundle: saved notebooks are read where no widget runs.
    return {**data, **static}


def _study(subject: Any) -> Study | None:
    """Return the study of what a notebook shows, None where there is none to show."""
    from deconfuse.reporting.study import Study
    from deconfuse.statistics.comparison import Comparison
    from deconfuse.statistics.diagnosis import Diagnosis

    if isinstance(subject, Study):
        return subject
    if isinstance(subject, Diagnosis):
        return Study.of(subject)
    if isinstance(subject, Comparison):
        # A page of two matrices would compare them again.
        return None
    if isinstance(subject, Normalized):
        # What was computed with an epsilon of its own is shown with it.
        epsilon = subject.epsilon if subject.method == "bi" else None
        return Study(subject.source, epsilon=epsilon) if subject.source.total else None
    return Study(subject) if subject.total else None


def _in_kernel() -> bool:
    # A terminal cannot show a widget; making one there would only take time.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


def explorer(payload: ReportPayload, start: str = "") -> Any:
    """Return a live matrix for a notebook cell.

    Parameters
    ----------
    payload : ReportPayload
        What to show.
    start : str
        The view to open with, as the page's address holds it: ``"method=row&order=size"``.

    Returns
    -------
    anywidget.AnyWidget
        With the traits ``payload`` (JSON; a new one replaces the picture) and ``selection``: the
        cell, row or column that the reader selected, as ``kind``, ``i`` (true class) and ``j``
        (predicted class) by position; empty when nothing is selected.

    Raises
    ------
    MissingExtraError
        If anywidget is not installed.
    """
    from deconfuse.reporting.payload import to_json

    return _widget_class()(payload=to_json(payload), start=start)


@cache
def _widget_class() -> Any:
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise MissingExtraError.of(
            "anywidget", extra="notebook", feature="The live explorer"
        ) from error

    from deconfuse.reporting.page import bundle

    class Explorer(anywidget.AnyWidget):
        _esm = bundle("widget")
        payload = traitlets.Unicode().tag(sync=True)
        start = traitlets.Unicode().tag(sync=True)
        selection = traitlets.Dict().tag(sync=True)

    return Explorer
