"""A normalized matrix as text for files: CSV, JSON, Markdown, LaTeX.

Every form says which classes are on rows, which method it is and which way it sums. The page and
its findings are written by `render`.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from deconfuse._checks import Label
from deconfuse._named_counts import CORNER
from deconfuse._text import escape_latex, escape_markdown
from deconfuse.errors import InputError
from deconfuse.normalization import Normalized

__all__ = ["SUMS", "TABLE_FORMATS", "TableFormat", "never_seen", "values_to_read", "write_table"]

TableFormat: TypeAlias = Literal["csv", "json", "markdown", "latex"]
TABLE_FORMATS: dict[str, TableFormat] = {
    ".csv": "csv",
    ".json": "json",
    ".md": "markdown",
    ".markdown": "markdown",
    ".tex": "latex",
}
SUMS = {
    "row": "each row sums to 1",
    "col": "each column sums to 1",
    "all": "all cells sum to 1",
    "bi": "each row and each column sums to 1",
}
# A table that a person reads or prints; the other formats hold any number of classes.
_MOST_PRINTED = 200


def write_table(n: Normalized, format: TableFormat) -> str:
    r"""Return a normalized matrix as text.

    Parameters
    ----------
    n : Normalized
    format : {"csv", "json", "markdown", "latex"}
        CSV has the class names in its first row and column, what it is in the corner, and all
        digits; JSON the matrix, its diagonals, counts and status; Markdown and LaTeX are tables of
        three decimals, for at most 200 classes. These two have dashes in the row of a class never
        seen, where CSV and JSON hold what epsilon makes of it, as ``n.matrix`` does.

    Returns
    -------
    str
        Ends with a line end.

    Examples
    --------
    >>> import deconfuse as dc
    >>> n = dc.ConfusionMatrix.from_counts([[3, 1], [0, 4]], ["cat", "dog"]).normalize("row")
    >>> print(write_table(n, "csv"), end="")
    "true \ predicted (row: each row sums to 1)","cat","dog"
    "cat",0.75,0.25
    "dog",0.0,1.0
    """
    return _WRITERS[format](n)


def never_seen(n: Normalized) -> npt.NDArray[np.bool_]:
    """Return which rows hold epsilon alone, because the class has no true sample."""
    return (np.asarray(n.source.label_counts) == 0) & (n.epsilon > 0)


def values_to_read(n: Normalized) -> npt.NDArray[np.float64]:
    """Return the matrix with NaN where a number would pass for a result; see `never_seen`."""
    values = np.array(_dense(n.matrix), dtype=np.float64)
    values[never_seen(n)] = np.nan
    return values


def _csv(n: Normalized) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    names = [name if isinstance(name, str) or type(name) is int else str(name) for name in n.labels]
    # The corner of counts would let it be read back as such.
    writer.writerow([f"{CORNER} ({n.method}: {SUMS[n.method]})", *names])
    for name, row in zip(names, _rows(n), strict=True):
        writer.writerow([name, *row.tolist()])
    return stream.getvalue()


def _json(n: Normalized) -> str:
    counts = n.source.counts
    document = {
        "method": n.method,
        "epsilon": n.epsilon,
        "sums": SUMS[n.method],
        "total": n.source.total,
        "labels": [_plain_label(label) for label in n.labels],
        "matrix": [_finite(row) for row in _rows(n)],
        "counts": _dense(counts).tolist(),
        "left": _finite(n.left),
        "right": _finite(n.right),
        "status": None if n.scaling is None else n.scaling.status.name.lower(),
        "residual": None if n.scaling is None else float(n.scaling.residual),
    }
    return json.dumps(document, allow_nan=False) + "\n"


def _plain_label(label: Label) -> bool | int | str:
    return label.isoformat() if isinstance(label, datetime.date) else label


def _finite(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Return numbers for JSON, which has no NaN: undefined ones are null."""
    return [value if math.isfinite(value) else None for value in values.tolist()]


def _markdown(n: Normalized) -> str:
    _refuse_to_print(n, "Markdown")
    names = [escape_markdown(str(label)) for label in n.labels]
    lines = [f"| true \\\\ predicted | {' | '.join(names)} |", "|:---|" + "---:|" * len(names)]
    for name, row in zip(names, values_to_read(n), strict=True):
        lines.append(f"| **{name}** | {' | '.join(_short(value) for value in row)} |")
    return "\n".join([*lines, "", f"{_caption(n)}", ""])


def _latex(n: Normalized) -> str:
    _refuse_to_print(n, "LaTeX")
    names = [escape_latex(str(label)) for label in n.labels]
    body = [
        f"{name} & {' & '.join(_short(value) for value in row)} \\\\"
        for name, row in zip(names, values_to_read(n), strict=True)
    ]
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape_latex(_caption(n))}}}",
            rf"\begin{{tabular}}{{l{'r' * len(names)}}}",
            r"\toprule",
            rf"true $\backslash$ predicted & {' & '.join(names)} \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _caption(n: Normalized) -> str:
    added = f", epsilon {n.epsilon:.3g}" if n.epsilon else ""
    total = f"{n.source.total:,.12g}"
    samples = f"samples weighing {total}" if n.source.is_weighted else f"{total} samples"
    return (
        f"{n.method}-normalized ({SUMS[n.method]}{added}) from {samples};"
        " true classes on rows, predicted classes on columns."
        f"{' –: never seen.' if never_seen(n).any() else ''}"
    )


def _short(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def _refuse_to_print(n: Normalized, name: str) -> None:
    if n.n_classes > _MOST_PRINTED:
        raise InputError(
            f"A {name} table must have at most {_MOST_PRINTED} classes, got {n.n_classes:,}.",
            hint="write CSV or JSON, or join classes first.",
        )


def _rows(n: Normalized) -> Iterator[npt.NDArray[np.float64]]:
    yield from _dense(n.matrix)


def _dense(matrix: Any) -> npt.NDArray[Any]:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)


_WRITERS: dict[TableFormat, Callable[[Normalized], str]] = {
    "csv": _csv,
    "json": _json,
    "markdown": _markdown,
    "latex": _latex,
}
