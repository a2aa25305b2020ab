"""What the commands say, and where: results on standard output, all else on the error stream.

Text from data is text here: markup in it is not obeyed, control characters are spelled out.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.text import Text

from deconfuse._text import printable
from deconfuse.errors import DeconfuseError, DeconfuseWarning

if TYPE_CHECKING:
    from deconfuse.reporting.study import Study

__all__ = [
    "err",
    "out",
    "plain",
    "print_json",
    "say",
    "say_error",
    "show_findings",
    "show_warnings",
    "working",
]

# Wide enough that nothing is wrapped where no person looks: a file or another program.
_PIPE_WIDTH = 10_000
_MOST_OF_A_KIND = 3


def _console(*, stderr: bool) -> Console:
    stream: TextIO = sys.stderr if stderr else sys.stdout
    is_wide = not stream.isatty() and "COLUMNS" not in os.environ
    return Console(
        stderr=stderr, highlight=False, markup=False, width=_PIPE_WIDTH if is_wide else None
    )


def out() -> Console:
    """Return the console of results."""
    return _console(stderr=False)


def err() -> Console:
    """Return the console of notes, progress and errors."""
    return _console(stderr=True)


def plain() -> Console:
    """Return a console for text that goes into a file: no colours, nothing wrapped."""
    return Console(file=io.StringIO(), highlight=False, markup=False, width=_PIPE_WIDTH)


def print_json(document: Any) -> None:
    """Write one JSON document to standard output."""
    sys.stdout.write(json.dumps(document, allow_nan=False) + "\n")
    sys.stdout.flush()


def show_findings(study: Study) -> None:
    """Print the headline and the first findings of each kind; the page has all, with advice."""
    from deconfuse.reporting.document import by_kind

    console = out()
    console.print(Text(printable(study.headline), style="bold"))
    for sentence in study.document.sentences[1:]:
        console.print(Text(printable(sentence)))
    for kind, findings in by_kind(study.findings):
        for finding in findings[:_MOST_OF_A_KIND]:
            _print_item(console, printable(finding.sentence), kind.colour)
        if len(findings) > _MOST_OF_A_KIND:
            more = len(findings) - _MOST_OF_A_KIND
            console.print(Text(f"  and {more:,} more like this", style="dim"))


def _print_item(console: Console, sentence: str, colour: str) -> None:
    """Print a sentence behind a bullet, its further lines indented."""
    lines = Text(sentence).wrap(console, max(console.width - 2, 20))
    for k, line in enumerate(lines):
        mark = "• " if k == 0 else "  "
        console.print(Text.assemble((mark, colour), line), soft_wrap=True)


def say(text: str) -> None:
    """Tell the person at the terminal something that is not the result."""
    err().print(Text(printable(text), style="dim"), soft_wrap=True)


def say_error(error: DeconfuseError, spoken: Mapping[str, str] = MappingProxyType({})) -> None:
    """Tell what is wrong, and in a second line what to do.

    ``spoken`` maps the library's arguments to the options that a person types for them.
    """
    console = err()
    message = printable(_as_typed(error.message, spoken))
    console.print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)
    if error.hint:
        hint = printable(_as_typed(error.hint, spoken))
        console.print(Text.assemble(("hint: ", "bold"), hint), soft_wrap=True)


def _as_typed(text: str, spoken: Mapping[str, str]) -> str:
    """Return text with arguments, as in `id` and in id='name', under the names of options."""
    for name, option in spoken.items():
        text = text.replace(f"`{name}`", f"`{option}`")
        text = re.sub(rf"(?<![\w-]){name}=(?=['\"\d])", f"{option} ", text)
    return text


@contextmanager
def show_warnings() -> Iterator[None]:
    """Show our warnings as notes of one line, without file names and source lines."""

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, DeconfuseWarning):
            note = Text.assemble(("note: ", "bold yellow"), printable(message))
            err().print(note, soft_wrap=True)
        else:
            usual(message, category, *place, **more)

    with warnings.catch_warnings():
        usual = warnings.showwarning
        warnings.simplefilter("always", DeconfuseWarning)
        warnings.showwarning = show
        yield


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show that something takes its time, while it does."""
    console = err()
    if not console.is_terminal:
        yield
        return
    with console.status(Text(printable(text))):
        yield
