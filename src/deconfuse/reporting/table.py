"""`Table`: rows of text, written for a terminal, a notebook, Markdown, LaTeX or plain text.

Cells are text from data: each writer escapes them, so that no name is taken for markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from deconfuse._text import escape_latex, escape_markdown, printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions

__all__ = ["RAMPS", "Cell", "Table"]

#: Colours of a 256-colour terminal from weak to strong, each with a readable ink: one hue per
#: ramp, and each step darker than the one before.
RAMPS = {
    "hit": ((223, 16), (215, 16), (208, 16), (202, 16), (166, 16), (130, 231)),
    "error": ((153, 16), (111, 16), (75, 16), (68, 16), (33, 16), (26, 231), (25, 231)),
}
# Mixed over the background of a notebook, so that light and dark themes both work.
_RGB = {"hit": "217,115,13", "error": "29,99,201"}
# Weaker cells keep the colours of the terminal, so that dark themes stay dark.
_WEAKEST = 0.04
# Columns of a terminal that a text column keeps before the table is given up for a list.
_LEAST_TEXT = 10
_TABLE_STYLE = "font-variant-numeric:tabular-nums;border-collapse:collapse"
_CELL_STYLE = "padding:3px 7px;text-align:"
_HEAD_STYLE = "font-weight:600;overflow-wrap:anywhere;max-width:14em;" + _CELL_STYLE


@dataclass(frozen=True, slots=True)
class Cell:
    """One coloured cell of a matrix.

    ``note`` stands below the text in HTML and in brackets elsewhere. ``strength``, from 0 to 1, is
    how much of the colour of ``hue`` the cell has. A faint cell has no sample behind it.
    """

    text: str
    note: str = ""
    hue: Literal["hit", "error"] = "error"
    strength: float = 0.0
    faint: bool = False

    def __str__(self) -> str:
        return f"{self.text} ({self.note})" if self.note else self.text


@dataclass(frozen=True, slots=True)
class Table:
    """A head and rows of text, to be written in any form.

    Parameters
    ----------
    head : sequence of str
        One heading per column.
    rows : sequence of rows
        Each a sequence of `str` or `Cell`, one per column.
    align : str
        One letter per column: ``"l"`` for text, ``"r"`` for numbers.
    title : str
        What the table shows: the caption in LaTeX, left to the caller elsewhere.
    row_heads : bool
        Whether the first column names the rows.

    Examples
    --------
    >>> table = Table(("class", "recall"), [("cat|dog", "0.90")], "lr")
    >>> print(table.to_text())
    class    recall
    cat|dog    0.90
    >>> print(table.to_markdown())
    | class | recall |
    |:---|---:|
    | cat\\|dog | 0.90 |
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    align: str
    title: str = ""
    row_heads: bool = False

    @property
    def widths(self) -> list[int]:
        """Characters that each column needs."""
        return [max(map(len, column)) for column in zip(*self._lines(), strict=True)]

    @property
    def is_coloured(self) -> bool:
        """Whether the cells have colours, as those of a matrix."""
        return any(isinstance(cell, Cell) for row in self.rows for cell in row)

    def columns(self, start: int, stop: int) -> Table:
        """Return the first column with the columns from ``start`` to ``stop``."""
        return replace(
            self,
            head=[self.head[0], *self.head[start:stop]],
            rows=[[row[0], *row[start:stop]] for row in self.rows],
            align=self.align[0] + self.align[start:stop],
        )

    def to_text(self) -> str:
        """Return aligned columns."""
        widths = self.widths
        return "\n".join(
            "  ".join(
                text.ljust(width) if side == "l" else text.rjust(width)
                for text, width, side in zip(line, widths, self.align, strict=True)
            ).rstrip()
            for line in self._lines()
        )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        """Yield what rich prints: a table, or a list where that would lose digits.

        Text may wrap, numbers may not.
        """
        from rich.table import Table as RichTable
        from rich.text import Text

        widths = self.widths
        least = [
            min(width, _LEAST_TEXT) if side == "l" and not self.is_coloured else width
            for width, side in zip(widths, self.align, strict=True)
        ]
        # Colours reach from cell to cell, so coloured tables have their space inside the cells.
        gap = 0 if self.is_coloured else 1
        if sum(least) + (2 * gap or 1) * (len(least) - 1) > options.max_width:
            for row in self.rows:
                words = (
                    f"{name} {cell}".strip() for name, cell in zip(self.head, row, strict=True)
                )
                yield Text(printable(", ".join(words)))
            return
        shown = RichTable(box=None, pad_edge=False, padding=(0, gap))
        for name, side, width in zip(self.head, self.align, widths, strict=True):
            shown.add_column(
                Text(name and printable(name), style="dim"),
                justify="left" if side == "l" else "right",
                no_wrap=side == "r" or self.is_coloured,
                min_width=None if side == "l" else width + 1 - gap,
                overflow="fold",
            )
        for row in self.rows:
            shown.add_row(*map(_rich_cell, row, widths))
        yield shown

    def to_html(self) -> str:
        """Return a table element with inline styles, for notebooks."""
        head = "".join(
            f'<th scope="col" style="{_HEAD_STYLE}{_side(side)}">{escape(text)}</th>'
            for text, side in zip(self.head, self.align, strict=True)
        )
        body = "".join(f"<tr>{''.join(self._html_row(row))}</tr>" for row in self.rows)
        return (
            f'<table style="{_TABLE_STYLE}"><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table>"
        )

    def to_markdown(self) -> str:
        """Return a table of GitHub's Markdown."""
        mark = "**" if self.row_heads else ""
        rule = "".join(":---|" if side == "l" else "---:|" for side in self.align)
        lines = [
            f"| {mark if k else ''}{escape_markdown(first)}{mark if k else ''} | "
            + " | ".join(map(escape_markdown, rest))
            + " |"
            for k, (first, *rest) in enumerate(self._lines())
        ]
        return "\n".join([lines[0], f"|{rule}", *lines[1:]])

    def to_latex(self) -> str:
        """Return a floating table of the package booktabs, with the title as its caption."""
        head, *body = (" & ".join(map(escape_latex, line)) + r" \\" for line in self._lines())
        return "\n".join(
            [
                r"% needs \usepackage{booktabs}",
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{escape_latex(self.title)}}}",
                rf"\begin{{tabular}}{{{self.align}}}",
                r"\toprule",
                head,
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
            ]
        )

    def _lines(self) -> Iterator[list[str]]:
        for row in (self.head, *self.rows):
            yield [str(cell) and printable(str(cell)) for cell in row]

    def _html_row(self, row: Sequence[str | Cell]) -> Iterator[str]:
        for k, (cell, side) in enumerate(zip(row, self.align, strict=True)):
            if self.row_heads and k == 0:
                style = f"{_HEAD_STYLE}{_side(side)}"
                yield f'<th scope="row" style="{style}">{escape(str(cell))}</th>'
            elif isinstance(cell, Cell):
                fade = ";opacity:.55" if cell.faint else ""
                shade = f"background:rgba({_RGB[cell.hue]},{0.6 * cell.strength:.3f})"
                note = f'<br><span style="opacity:.65">{escape(cell.note)}</span>'
                yield (
                    f'<td style="{_CELL_STYLE}{_side(side)};{shade}{fade}">'
                    f"{escape(cell.text)}{note if cell.note else ''}</td>"
                )
            else:
                yield f'<td style="{_CELL_STYLE}{_side(side)}">{escape(cell)}</td>'


def _side(letter: str) -> str:
    return "left" if letter == "l" else "right"


def _rich_cell(cell: str | Cell, width: int) -> Any:
    from rich.text import Text

    if not isinstance(cell, Cell):
        return Text(cell and printable(cell))
    style = "dim" if cell.faint else "default"
    if cell.strength >= _WEAKEST and not cell.faint:
        ramp = RAMPS[cell.hue]
        back, ink = ramp[min(int(cell.strength * len(ramp)), len(ramp) - 1)]
        style = f"color({ink}) on color({back})"
    return Text(printable(str(cell)).rjust(width + 1), style=style)
