"""Read the code blocks of a Markdown page: what to run, and what it must print."""

from __future__ import annotations

import itertools
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

_TABLE = re.compile(
    r"^<!-- ([\w-]+\.md) -->\n\n(.*?)\n\n<!-- end of \1 -->$", re.MULTILINE | re.DOTALL
)
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of Python, the text it must print if the page shows one, and its line."""

    code: str
    output: str | None
    line: int


def blocks_of(page: str) -> list[Block]:
    """Return the blocks marked ``python``; ``py`` marks a sketch that is not run.

    A block marked ``text`` that follows directly is what the code before it prints.
    """
    fences = list(_FENCE.finditer(page))
    blocks = []
    for fence, after in itertools.zip_longest(fences, fences[1:]):
        if fence[1] != "python":
            continue
        shown = None
        if after is not None and after[1] == "text":
            between = page[fence.end() : after.start()]
            shown = after[2] if not between.strip() else None
        blocks.append(Block(fence[2], shown, page.count("\n", 0, fence.start()) + 1))
    return blocks


def tables_of(page: str) -> dict[str, str]:
    """Return the tables of a page that a command writes to ``docs/generated``, by file name."""
    return {found[1]: found[2] + "\n" for found in _TABLE.finditer(page)}


def with_tables(page: str, folder: Path) -> str:
    """Return the page with these tables as they are in a folder now."""

    def fresh(found: re.Match[str]) -> str:
        table = (folder / found[1]).read_text(encoding="utf-8").rstrip("\n")
        return f"<!-- {found[1]} -->\n\n{table}\n\n<!-- end of {found[1]} -->"

    return _TABLE.sub(fresh, page)


def commands_of(page: str, marks: tuple[str, ...] = ("bash", "sh")) -> list[list[str]]:
    """Return the arguments of every call of the program in the blocks of shell commands.

    Those marked ``console`` are not run: they take long, or need what a test has not.
    """
    lines = [
        line
        for fence in _FENCE.finditer(page)
        if fence[1] in marks
        for line in fence[2].splitlines()
    ]
    words = [shlex.split(line, comments=True) for line in lines]
    return [line[1:] for line in words if line[:1] == ["deconfuse"]]
