"""How matrices and diagnoses show themselves in a notebook: static HTML, or the live explorer.

Static HTML needs nothing but the package, survives in saved notebooks and on code hosts, and holds
no script. The live explorer comes with the extra ``notebook``.
"""

from __future__ import annotations

import importlib.util
import sys
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.normalization import Normalized

__all__ = ["matrix_html", "mimebundle", "normalized_html"]

_TABLE_CLASSES = 25
_TOP = 12
_STYLE = "font-variant-numeric:tabular-nums;border-collapse:collapse"
_CELL = "padding:3px 7px;text-align:right"
_HEAD = "padding:3px 7px;text-align:right;font-weight:600;overflow-wrap:anywhere;max-width:14em"
# Mixed over the notebook's own background, so that light and dark themes both work.
_ORANGE, _BLUE = "217,115,13", "29,99,201"
_SUMS = {
    "row": "each row sums to 1",
    "col": "each column sums to 1",
    "all": "all cells sum to 1",
    "bi": "every row and every column sums to 1",
}


def matrix_html(cm: ConfusionMatrix) -> str:
    """Return a confusion matrix as static HTML."""
    title = f"{cm.n_classes:,} classes, {cm.total:,.12g} samples"
    if cm.n_classes > _TABLE_CLASSES:
        return _page(title, "", _top_table(cm))
    counts = _dense(cm.counts)
    names = [str(label) for label in cm.labels]
    return _page(title, "counts", _heat_table(names, counts, counts, whole=True))


def normalized_html(n: Normalized) -> str:
    """Return a normalized matrix as static HTML, the counts beside the ratios."""
    title = f"{n.method}-normalized, {n.n_classes:,} classes, {n.source.total:,.12g} samples"
    note = f"{_SUMS[n.method]}; epsilon {n.epsilon:.3g}; counts below the ratios"
    if n.n_classes > _TABLE_CLASSES:
        return _page(title, note.split(";")[0], _top_table(n.source, n))
    names = [str(label) for label in n.labels]
    return _page(title, note, _heat_table(names, _dense(n.matrix), _dense(n.source.counts)))


def mimebundle(subject: Any, html: str) -> dict[str, Any]:
    """Return what a notebook may show of a subject: the live explorer where it can run.

    Parameters
    ----------
    subject : ConfusionMatrix, Normalized or Diagnosis
    html : str
        Its static form.
    """
    static = {"text/plain": repr(subject), "text/html": html}
    cm = getattr(subject, "source", subject)
    if cm.total == 0 or not _in_kernel() or importlib.util.find_spec("anywidget") is None:
        return static
    from deconfuse.reporting.summary import summarize
    from deconfuse.reporting.widget import explorer

    method = getattr(subject, "method", "bi")
    # What was computed with an epsilon of its own is shown with it.
    epsilon = getattr(subject, "epsilon", None) if method == "bi" else None
    payload = summarize(cm, title="confusion matrix", epsilon=epsilon)
    widget = explorer(payload, start=f"method={method}")
    live = widget._repr_mimebundle_()
    data = live[0] if isinstance(live, tuple) else live
    # The static form stays in the bundle: saved notebooks are read where no widget runs.
    return {**data, **static}


def _in_kernel() -> bool:
    # A terminal cannot show a widget; making one there would only take time.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


def _page(title: str, note: str, body: str) -> str:
    return (
        f"<div><p><b>{escape(title)}</b><br>"
        f'<span style="opacity:.7">true on rows, predicted on columns{"; " if note else ""}'
        f"{escape(note)}</span></p>{body}</div>"
    )


def _heat_table(
    names: list[str],
    values: NDArray[np.float64],
    counts: NDArray[np.float64],
    *,
    whole: bool = False,
) -> str:
    off = values[~np.eye(len(names), dtype=bool)]
    diagonal_top = float(np.nanmax(np.diag(values), initial=0.0)) or 1.0
    off_top = float(np.nanmax(off, initial=0.0)) or 1.0
    head = "".join(f'<th scope="col" style="{_HEAD}">{escape(name)}</th>' for name in names)
    rows = []
    for i, name in enumerate(names):
        cells = []
        for j in range(len(names)):
            color, top = (_ORANGE, diagonal_top) if i == j else (_BLUE, off_top)
            value, count = float(values[i, j]), float(counts[i, j])
            strength = 0.0 if np.isnan(value) else 0.6 * min(1.0, value / top)
            text = f"{count:,.12g}" if whole else _ratio(value, count)
            style = f"{_CELL};background:rgba({color},{strength:.3f})"
            cells.append(f'<td style="{style}">{text}</td>')
        label = f'<th scope="row" style="{_HEAD}">{escape(name)}</th>'
        rows.append(f"<tr>{label}{''.join(cells)}</tr>")
    corner = f'<th style="{_HEAD};font-weight:400">true \\ predicted</th>'
    return (
        f'<table style="{_STYLE}"><thead><tr>{corner}{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _ratio(value: float, count: float) -> str:
    shown = "never seen" if np.isnan(value) else f"{value:.3f}"
    return f'{shown}<br><span style="opacity:.65">{count:,.12g}</span>'


def _top_table(cm: ConfusionMatrix, n: Normalized | None = None) -> str:
    if cm.total == 0:
        return "<p>No samples yet.</p>"
    n = n or cm.normalize("bi", throw=False)
    rows = "".join(
        f'<tr><td style="{_CELL}">{escape(str(cell.true))}</td>'
        f'<td style="{_CELL}">{escape(str(cell.pred))}</td>'
        f'<td style="{_CELL}">{cell.value:.3f}</td><td style="{_CELL}">{cell.count:,.12g}</td></tr>'
        for cell in n.top(_TOP)
    )
    head = "".join(
        f'<th style="{_HEAD}">{escape(text)}</th>'
        for text in ("true", "predicted", n.method, "count")
    )
    return (
        f'<table style="{_STYLE}"><caption>most confused, by {escape(n.method)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _dense(matrix: Any) -> NDArray[np.float64]:
    dense = matrix.toarray() if sparse.issparse(matrix) else matrix
    return np.asarray(dense, dtype=np.float64)
