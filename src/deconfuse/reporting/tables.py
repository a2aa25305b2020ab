"""A matrix as a `Table` to read, or as CSV and JSON for programs.

Every form says which classes are on rows, which normalization it is and which way it sums.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from deconfuse._text import escape_formulas, plain_value, printable, tell_apart
from deconfuse.confusion import ConfusionMatrix
from deconfuse.counts import dense
from deconfuse.errors import InputError
from deconfuse.normalization import Normalized
from deconfuse.reading.count_tables import CORNER
from deconfuse.reporting.beside import Beside, share_text
from deconfuse.reporting.drawing import number_texts
from deconfuse.reporting.table import Cell, Table

__all__ = [
    "SUMS",
    "TABLE_FORMATS",
    "TableFormat",
    "counts_of",
    "describe",
    "matrix_table",
    "outcome_tables",
    "top_table",
    "values_to_read",
    "write_table",
]

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
# Beyond, a table that is read or printed is of no use; CSV and JSON hold any number of classes.
_MOST_PRINTED = 200
_LONGEST_NAME = 24


def counts_of(shown: ConfusionMatrix | Normalized) -> ConfusionMatrix:
    """Return a matrix of counts itself, or what a normalized one was made from."""
    return shown.source if isinstance(shown, Normalized) else shown


def describe(shown: ConfusionMatrix | Normalized) -> str:
    """Return what a matrix holds, in one sentence."""
    what, absent = "counts", ""
    cm = counts_of(shown)
    if isinstance(shown, Normalized):
        added = f", epsilon {shown.epsilon:.3g}" if shown.epsilon else ""
        what = f"{shown.method}-normalized ({SUMS[shown.method]}{added})"
        undefined = np.isnan([*shown.left, *shown.right]).any() or np.any(never_seen(shown))
        absent = " –: never seen." if undefined else ""
    total = f"{cm.total:,.12g}"
    samples = f"samples weighing {total}" if cm.is_weighted else f"{total} samples"
    return f"{what} from {samples}; true classes on rows, predicted classes on columns.{absent}"


def matrix_table(
    shown: ConfusionMatrix | Normalized,
    *,
    short: bool = False,
    notes: bool = False,
    most: int | None = None,
) -> Table:
    """Return a matrix as a table of coloured cells.

    Parameters
    ----------
    shown : ConfusionMatrix or Normalized
    short : bool
        Write as few characters as tell the values apart, for a terminal: long names stand only at
        the rows, and a dot is a zero.
    notes : bool
        Write the counts beside the ratios.
    most : int, optional
        Show no more than the first so many classes.
    """
    cm = counts_of(shown)
    part = slice(most)
    counts = dense(cm.counts[part][:, part])
    is_counts = not isinstance(shown, Normalized)
    values = counts.astype(np.float64)
    if isinstance(shown, Normalized):
        values = values_to_read(shown, most)
    if short:
        digits = ".12g" if is_counts else None
        texts = number_texts(values, counts=False, values_format=digits, cell=float("inf"))
        texts[(counts == 0) & (values == 0)] = "·"
    else:
        write = full_count if is_counts else _ratio
        texts = np.array([write(value) for value in values.flat]).reshape(values.shape)
    diagonal = np.eye(len(values), dtype=bool)
    tops = [np.nanmax(values[mask], initial=0.0) or 1.0 for mask in (~diagonal, diagonal)]
    names = [printable(label) for label in cm.labels[part]]
    heads = names
    if short:
        names = heads = tell_apart(names, _LONGEST_NAME)
        if max(map(len, names)) > max(map(len, texts.flat)) + 2:
            # Long names stand once, at their rows; the number beside each heads its column.
            heads = [str(k) for k in range(1, len(names) + 1)]
            names = [f"{name} {k}" for name, k in zip(names, heads, strict=True)]
    rows: list[list[str | Cell]] = [
        [
            name,
            *(
                Cell(
                    text=str(texts[i, j]),
                    note=full_count(counts[i, j]) if notes else "",
                    hue="hit" if i == j else "error",
                    strength=float(np.nan_to_num(values[i, j] / tops[int(i == j)])),
                    faint=bool(counts[i, j] == 0),
                )
                for j in range(len(names))
            ),
        ]
        for i, name in enumerate(names)
    ]
    return Table(
        [CORNER, *heads], rows, "l" + "r" * len(names), title=describe(shown), row_heads=True
    )


def outcome_tables(cm: ConfusionMatrix, most: int | None = None) -> list[Table]:
    """Return the answers that are no class, as counts and shares per class, apart from the matrix.

    Examples
    --------
    >>> import deconfuse as dc
    >>> cm = dc.ConfusionMatrix.from_counts(
    ...     [[80, 6, 14], [5, 70, 25], [12, 9, 0]], labels=["car", "bus", "background"]
    ... ).treat_as_outcome("background")
    >>> for table in outcome_tables(cm):
    ...     print(table.title)
    ...     print(table.to_text())
    Answers that are no class, and their share of the samples
    true  background  samples
    car    14 (14 %)      100
    bus    25 (25 %)      100
    Labels that are no class, and their share of the predictions
    predicted  background  predictions
    car         12 (12 %)           97
    bus          9 (11 %)           85
    """
    return [
        Table(
            (side, *map(printable, beside.names), of),
            [
                (
                    printable(label),
                    *(
                        f"{full_count(count)} ({share_text(share)})"
                        for count, share in zip(beside.counts[k], beside.shares[k], strict=True)
                    ),
                    full_count(beside.totals[k]),
                )
                for k, label in enumerate(cm.labels[:most])
            ],
            "l" + "r" * (len(beside.names) + 1),
            title=f"{what} that are no class, and their share of the {of}",
            row_heads=True,
        )
        for what, side, of, beside in (
            ("Answers", "true", "samples", Beside.answers(cm)),
            ("Labels", "predicted", "predictions", Beside.backgrounds(cm)),
        )
        if beside.names
    ]


def top_table(n: Normalized, k: int) -> Table:
    """Return the ``k`` largest errors of a normalized matrix."""
    cells = n.top(k)
    names = tell_apart(
        [printable(x) for cell in cells for x in (cell.true, cell.pred)], _LONGEST_NAME
    )
    rows = [
        (true, pred, f"{cell.value:.3g}", full_count(cell.count))
        for true, pred, cell in zip(names[::2], names[1::2], cells, strict=True)
    ]
    return Table(("true", "predicted", n.method, "count"), rows, "llrr")


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


def never_seen(n: Normalized) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which rows and which columns hold epsilon alone, because nothing was counted there."""
    rows, columns = n.source.label_counts, n.source.prediction_counts
    return (rows == 0) & (n.epsilon > 0), (columns == 0) & (n.epsilon > 0)


def values_to_read(n: Normalized, most: int | None = None) -> npt.NDArray[np.float64]:
    """Return the matrix with NaN where a number would pass for a result; see `never_seen`.

    Of very many classes, only the first ``most``, without building the whole matrix.
    """
    part = slice(most)
    if most is None or most >= n.n_classes:
        values = np.array(dense(n.matrix), dtype=np.float64)
    else:
        counts = dense(n.source.counts[part][:, part])
        values = n.left[part, None] * (counts + n.epsilon) * n.right[part]
    rows, columns = never_seen(n)
    values[rows[part]] = np.nan
    values[:, columns[part]] = np.nan
    return values


def full_count(count: float) -> str:
    """Return a count with all its digits."""
    return f"{count:,.0f}" if float(count).is_integer() else f"{count:,.12g}"


def _ratio(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def _csv(n: Normalized) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    names = [name if isinstance(name, str) or type(name) is int else str(name) for name in n.labels]
    names, is_escaped = escape_formulas(names)
    # The corner of counts would let it be read back as such.
    writer.writerow([f"{CORNER} ({n.method}: {SUMS[n.method]}{'; escaped' * is_escaped})", *names])
    for name, row in zip(names, dense(n.matrix), strict=True):
        writer.writerow([name, *row.tolist()])
    return stream.getvalue()


def _json(n: Normalized) -> str:
    document = {
        "method": n.method,
        "epsilon": n.epsilon,
        "sums": SUMS[n.method],
        "total": n.source.total,
        "labels": n.labels,
        "matrix": dense(n.matrix),
        "counts": dense(n.source.counts),
        "left": n.left,
        "right": n.right,
        "status": None if n.scaling is None else n.scaling.status.name.lower(),
        "residual": None if n.scaling is None else float(n.scaling.residual),
        "outcomes": n.source.outcomes,
        "outcome_counts": n.source.outcome_counts,
        "background_counts": n.source.background_counts,
    }
    return json.dumps(plain_value(document), allow_nan=False) + "\n"


def _markdown(n: Normalized) -> str:
    tables = [_printed(n, "Markdown"), *outcome_tables(n.source)]
    return "\n".join(f"{table.to_markdown()}\n\n{table.title}\n" for table in tables)


def _latex(n: Normalized) -> str:
    tables = [_printed(n, "LaTeX"), *outcome_tables(n.source)]
    return "\n".join(f"{table.to_latex()}\n" for table in tables)


def _printed(n: Normalized, name: str) -> Table:
    if n.n_classes > _MOST_PRINTED:
        raise InputError(
            f"A {name} table must have at most {_MOST_PRINTED} classes, got {n.n_classes:,}.",
            hint="write CSV or JSON, or join classes first.",
        )
    return matrix_table(n)


_WRITERS: dict[TableFormat, Callable[[Normalized], str]] = {
    "csv": _csv,
    "json": _json,
    "markdown": _markdown,
    "latex": _latex,
}
