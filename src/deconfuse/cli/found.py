"""Print what was found, short enough to read while the page opens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from deconfuse._text import printable
from deconfuse.reporting.document import by_kind

if TYPE_CHECKING:
    from deconfuse.reporting.study import Study

__all__ = ["show_findings"]

_MOST_OF_A_KIND = 3


def show_findings(console: Console, study: Study) -> None:
    """Print headline and findings in short; the page has all of them, with advice."""
    console.print(Text(printable(study.headline), style="bold"))
    for kind, findings in by_kind(study.findings):
        for finding in findings[:_MOST_OF_A_KIND]:
            _point(console, printable(finding.sentence), kind.colour)
        if len(findings) > _MOST_OF_A_KIND:
            more = len(findings) - _MOST_OF_A_KIND
            console.print(Text(f"  and {more:,} more like this", style="dim"))


def _point(console: Console, sentence: str, colour: str) -> None:
    """Print a sentence behind a point; its further lines stand below its first."""
    lines = Text(sentence).wrap(console, max(console.width - 2, 20))
    for k, line in enumerate(lines):
        mark = "• " if k == 0 else "  "
        console.print(Text.assemble((mark, colour), line), soft_wrap=True)
