"""Tables of what was measured, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown(head: Sequence[object], lines: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    shown = [f"| {' | '.join(map(str, line))} |" for line in (head, *lines)]
    return "\n".join([shown[0], f"|{'---|' * len(head)}", *shown[1:]])
