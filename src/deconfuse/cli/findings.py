"""What was found, short enough to read while the page opens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from deconfuse._text import printable

if TYPE_CHECKING:
    from deconfuse.statistics.comparison import Comparison
    from deconfuse.statistics.diagnosis import Diagnosis

__all__ = ["show_findings"]

_MOST_OF_A_KIND = 3
# In this order: what is alike, then what only seems so.
_COLOURS = {
    "look_alike": "red",
    "not_alike": "cyan",
    "over_predicted": "yellow",
    "under_predicted": "yellow",
    "careful": "magenta",
}


def show_findings(console: Console, found: Diagnosis | Comparison) -> None:
    """Print a diagnosis in short, the page has it all with advice; a comparison is short."""
    from deconfuse.statistics.diagnosis import Diagnosis

    if not isinstance(found, Diagnosis):
        console.print(found)
        return
    findings = found.findings
    console.print(Text(printable(found.headline), style="bold"))
    for kind in dict.fromkeys([*_COLOURS, *(finding.kind for finding in findings)]):
        of_kind = [finding for finding in findings if finding.kind == kind]
        for finding in of_kind[:_MOST_OF_A_KIND]:
            _point(console, printable(finding.sentence), _COLOURS.get(kind, ""))
        if len(of_kind) > _MOST_OF_A_KIND:
            more = len(of_kind) - _MOST_OF_A_KIND
            console.print(Text(f"  and {more} more like this", style="dim"))
    if not findings:
        console.print("Nothing stands out.")


def _point(console: Console, sentence: str, colour: str) -> None:
    """Print a sentence behind a point; its further lines stand below its first."""
    lines = Text(sentence).wrap(console, max(console.width - 2, 20))
    for k, line in enumerate(lines):
        mark = "• " if k == 0 else "  "
        console.print(Text.assemble((mark, colour), line), soft_wrap=True)
