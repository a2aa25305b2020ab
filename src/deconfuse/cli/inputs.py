"""What a person names on the command line, as confusion matrices."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deconfuse.cli.console import say, working
from deconfuse.errors import InputError

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix

__all__ = ["Columns", "check_output", "local_file", "name_of", "read_matrix"]

STANDARD = "-"


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a table to count by, as given on the command line."""

    label: str
    prediction: str
    weight: str | None = None
    scores: str | None = None

    @property
    def score_columns(self) -> str | list[str] | None:
        """The one column of lists, or the columns of the classes."""
        if self.scores is None or "," not in self.scores:
            return self.scores
        return [name.strip() for name in self.scores.split(",")]


def read_matrix(source: str, columns: Columns) -> ConfusionMatrix:
    """Count a file, a folder, a pattern or standard input, and say how much was read."""
    from deconfuse.confusion import ConfusionMatrix

    with working(f"Counting {name_of(source)}"), local_file(source) as path:
        cm = ConfusionMatrix.from_file(
            path,
            label=columns.label,
            prediction=columns.prediction,
            weight=columns.weight,
            scores=columns.score_columns,
        )
    weighted = ", weighted" if cm.is_weighted else ""
    say(f"{name_of(source)}: {cm.total:,.12g} samples of {cm.n_classes:,} classes{weighted}")
    return cm


@contextmanager
def local_file(source: str) -> Iterator[str]:
    """Give a path for what was named; standard input becomes a file as long as it is needed.

    Counting may read its input more than once, and tells its format by the first bytes.
    """
    if source != STANDARD:
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="deconfuse-") as folder:
        path = Path(folder, "stdin")
        with path.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        try:
            yield str(path)
        except InputError as error:
            # The person knows nothing of the file that stands for standard input.
            message = error.message.replace(f"File {str(path)!r}", "Standard input")
            raise InputError(message.replace(str(path), "-"), hint=error.hint) from error


def name_of(source: str) -> str:
    """Return what to call an input in a sentence."""
    return "standard input" if source == STANDARD else source


def check_output(output: Path | None, *sources: str) -> None:
    """Refuse to write over what is read, or into a folder that does not exist."""
    if output is None or str(output) == STANDARD:
        return
    if not output.parent.is_dir():
        raise InputError(
            f"`--output` must lie in a folder that exists, but {str(output.parent)!r} is none.",
            hint="make the folder first.",
        )
    if output.is_dir():
        raise InputError(f"`--output` must be a file, and {str(output)!r} is a folder.")
    for source in sources:
        if source != STANDARD and output.exists() and _is_same(output, Path(source)):
            raise InputError(
                f"`--output` must not be the input, got {str(output)!r} for both.",
                hint="choose another name: the predictions would be lost.",
            )


def _is_same(output: Path, source: Path) -> bool:
    return source.exists() and output.samefile(source)
