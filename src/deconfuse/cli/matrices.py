"""A matrix for the terminal: a coloured table, or its largest errors where it does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deconfuse._text import printable, shorten
from deconfuse.reporting.drawing import number_texts
from deconfuse.reporting.tables import SUMS, values_to_read

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.normalization import Normalized

__all__ = ["print_matrix"]

_LONGEST_NAME, _LONGEST_HEADING = 24, 6
_MOST_CLASSES = 60
_TOP = 15
# White to the darkest of each scale, as in the pictures: oranges on the diagonal, blues off it.
_ORANGE, _BLUE = ((255, 245, 235), (217, 72, 1)), ((247, 251, 255), (8, 81, 156))


def print_matrix(console: Console, shown: ConfusionMatrix | Normalized) -> None:
    """Print counts or a normalized matrix, with the names of its axes and which way it sums."""
    from deconfuse.normalization import Normalized

    if isinstance(shown, Normalized):
        added = f", epsilon {shown.epsilon:.3g}" if shown.epsilon else ""
        title = f"{shown.method}-normalized: {SUMS[shown.method]}{added}"
        cm, counts = shown.source, False
    else:
        cm, counts = shown, True
        title = "counts"
    if cm.n_classes <= _MOST_CLASSES:
        values = values_to_read(shown) if isinstance(shown, Normalized) else shown.counts
        table = _table(np.asarray(values), np.asarray(cm.counts), cm.labels, counts)
        if console.measure(table).maximum <= console.width:
            console.print(Text(f"{title}; true on rows, predicted on columns", style="bold"))
            console.print(table)
            return
    normalized = shown if isinstance(shown, Normalized) else shown.normalize("all")
    console.print(
        Text(f"{title}; {cm.n_classes:,} classes do not fit here, so the largest errors:", "bold")
    )
    console.print(_top_table(normalized))


def _table(
    values: npt.NDArray[Any], seen: npt.NDArray[Any], labels: tuple[Any, ...], counts: bool
) -> Table:
    names = [shorten(printable(label), _LONGEST_NAME) for label in labels]
    headings = names
    if max(map(len, names)) > _LONGEST_HEADING:
        # Long names stand once, at their rows; the number beside each heads its column.
        headings = [str(k) for k in range(1, len(names) + 1)]
        names = [f"{name} {k}" for name, k in zip(names, headings, strict=True)]
    table = Table(box=None, pad_edge=False, padding=(0, 0), show_header=True)
    table.add_column(Text("true \\ predicted", style="dim"), justify="right", no_wrap=True)
    for heading in headings:
        table.add_column(Text(f" {heading} "), justify="right", no_wrap=True)
    texts = number_texts(
        values.astype(np.float64), counts=counts, values_format=None, cell=float("inf")
    )
    styles = _styles(values.astype(np.float64))
    for i, name in enumerate(names):
        cells = [
            _cell(str(texts[i, j]), float(values[i, j]), seen[i, j] > 0, styles[i][j])
            for j in range(len(names))
        ]
        table.add_row(Text(f"{name} "), *cells)
    return table


def _cell(text: str, value: float, is_seen: bool, style: str) -> Text:
    """Return one cell; what no sample is behind is faint, and a dot where it is zero."""
    if is_seen or value != value:
        return Text(f" {text} ", style=style)
    return Text(" · " if value == 0 else f" {text} ", style="dim")


def _styles(values: npt.NDArray[np.float64]) -> list[list[str]]:
    on_diagonal = np.eye(len(values), dtype=bool)
    tops = [np.nanmax(values[mask], initial=0.0) or 1.0 for mask in (on_diagonal, ~on_diagonal)]
    return [
        [
            _style(value / tops[0], _ORANGE) if i == j else _style(value / tops[1], _BLUE)
            for j, value in enumerate(row)
        ]
        for i, row in enumerate(values.tolist())
    ]


def _style(share: float, scale: tuple[tuple[int, int, int], tuple[int, int, int]]) -> str:
    # Nearly empty cells keep the terminal's own colours, so that dark themes stay dark.
    if not share >= 0.04:
        return "default"
    light, dark = scale
    red, green, blue = (round(a + share * (b - a)) for a, b in zip(light, dark, strict=True))
    ink = "#ffffff" if 0.299 * red + 0.587 * green + 0.114 * blue < 140 else "#1a1a1a"
    return f"{ink} on #{red:02x}{green:02x}{blue:02x}"


def _top_table(n: Normalized) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("true", "predicted"):
        table.add_column(Text(heading, style="dim"))
    for heading in (n.method, "count"):
        table.add_column(Text(heading, style="dim"), justify="right")
    for cell in n.top(_TOP):
        table.add_row(
            Text(shorten(printable(cell.true), _LONGEST_NAME)),
            Text(shorten(printable(cell.pred), _LONGEST_NAME)),
            f"{cell.value:.3g}",
            f"{cell.count:,.12g}",
        )
    return table
