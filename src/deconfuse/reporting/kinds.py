"""The kinds of findings: their order, titles and colours, for every form of output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

__all__ = ["KINDS", "Kind", "by_kind"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding: the title above such findings, and their colour in a terminal."""

    name: str
    title: str
    colour: str


#: In the order in which they are shown.
KINDS = (
    Kind("change", "What changed", "green"),
    Kind("outcome", "Answers that are no class", "blue"),
    Kind("look_alike", "Similar classes", "red"),
    Kind("not_alike", "Often confused, but less similar", "cyan"),
    Kind("over_predicted", "Over-predicted", "yellow"),
    Kind("under_predicted", "Under-predicted", "yellow"),
    Kind("careful", "Take care", "magenta"),
)


class _HasKind(Protocol):
    @property
    def kind(self) -> str: ...


Found = TypeVar("Found", bound=_HasKind)


def by_kind(findings: Sequence[Found]) -> Iterator[tuple[Kind, list[Found]]]:
    """Yield each kind that was found with its findings, known kinds first.

    Examples
    --------
    >>> from deconfuse.statistics.findings import Finding
    >>> found = [Finding(kind, 0.5, "", "", ()) for kind in ("careful", "look_alike", "careful")]
    >>> [(kind.title, len(group)) for kind, group in by_kind(found)]
    [('Similar classes', 1), ('Take care', 2)]
    """
    known = {kind.name: kind for kind in KINDS}
    for name in dict.fromkeys([*known, *(finding.kind for finding in findings)]):
        group = [finding for finding in findings if finding.kind == name]
        if group:
            yield known.get(name) or Kind(name, name.replace("_", " ").capitalize(), "blue"), group
