"""The options that several commands share, each written once."""

from __future__ import annotations

import csv
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from deconfuse.errors import InputError

if TYPE_CHECKING:
    from deconfuse.classes import ClassOptions
    from deconfuse.reading.column_names import Columns
    from deconfuse.reading.count_tables import TableOptions

__all__ = [
    "EpsilonOption",
    "FilesArgument",
    "JsonOption",
    "OpenOption",
    "PageOption",
    "PairArgument",
    "Reading",
    "UnionOption",
    "column",
    "named",
    "takes_reading",
]


def named(option: str, help: str, *, show_default: bool = False, **more: Any) -> Any:
    """Return an option; where its default is a choice of ours, the help says it."""
    return typer.Option(option, help=help, show_default=show_default, **more)


def column(option: str, help: str, **more: Any) -> Any:
    """Return an option that names a column of the input."""
    return named(option, help, rich_help_panel="Columns of FILE", **more)


_FILE_HELP = (
    "Predictions (CSV, TSV, Parquet, JSON lines, Arrow; also .gz and .zst, a folder, or a quoted"
    " pattern), or a saved matrix (CSV, JSON, NPZ). - is standard input."
)
PairArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE [FILE2]",
        help=f"{_FILE_HELP} FILE2 is a second model to compare with.",
        show_default=False,
    ),
]
FilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...", help=f"{_FILE_HELP} Several are added up.", show_default=False
    ),
]
UnionOption = Annotated[
    bool,
    typer.Option(
        "--union",
        help="Compare over the classes of either file: a class that one of them lacks counts as"
        " never seen there.",
    ),
]
EpsilonOption = Annotated[
    float | None,
    named(
        "--epsilon",
        "Added to every cell before normalizing. Default: 1 / number of classes for bi, else 0.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
OpenOption = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]
PageOption = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        help="Where to write: .html is the interactive page, .md the findings, .json its numbers,"
        " .tex a table.",
    ),
]


@dataclass(frozen=True, slots=True)
class Reading:
    """How FILE is read: every field is an option of all commands that take a file.

    Names are those of `deconfuse.ConfusionMatrix.from_file`.
    """

    label: Annotated[
        str,
        column(
            "--label",
            "Column of true classes. Usual names (y_true, target, ...) are found too.",
            show_default=True,
        ),
    ] = "label"
    prediction: Annotated[
        str,
        column(
            "--prediction",
            "Column of predicted classes. Usual names (y_pred, pred, ...) are found too.",
            show_default=True,
        ),
    ] = "prediction"
    weight: Annotated[str | None, column("--weight", "Column of sample weights.")] = None
    scores: Annotated[
        list[str] | None,
        column(
            "--scores",
            "Predict the class with the highest score: a column of lists, or the columns of the"
            " classes, with commas between (cat,dog,bird) or each with a --scores of its own. Where"
            " columns have other names, p_cat=cat,p_dog=dog says their classes.",
        ),
    ] = None
    threshold: Annotated[
        float | None,
        column(
            "--threshold",
            "For two classes and one column of scores (--scores p=spam): from this score on, that"
            " class is predicted.",
        ),
    ] = None
    where: Annotated[
        list[str] | None,
        column(
            "--where",
            "Count only rows whose column has this value (--where split=test). May be repeated.",
            metavar="COLUMN=VALUE",
        ),
    ] = None
    labels: Annotated[
        str | None,
        named(
            "--labels",
            "All classes in the order to show, with commas between (cat,dog,bird); a class of the"
            " data that is not among them is an error. Default: the classes that occur, sorted.",
        ),
    ] = None
    outcomes: Annotated[
        str | None,
        named(
            "--outcomes",
            "Names that are no class, with commas between (refused,background): counted beside the"
            " matrix.",
        ),
    ] = None
    other: Annotated[
        str | None,
        named(
            "--other", "The outcome that takes every prediction outside --labels.", metavar="NAME"
        ),
    ] = None
    missing: Annotated[
        str | None,
        named("--missing", "The outcome that takes missing predictions.", metavar="NAME"),
    ] = None
    normalize_text: Annotated[
        bool, typer.Option("--normalize-text", help="Ignore case and outer spaces of classes.")
    ] = False
    transpose: Annotated[
        bool, typer.Option("--transpose", help="Of a matrix: predictions are on its rows.")
    ] = False
    drop: Annotated[
        str | None,
        named(
            "--drop",
            "Of a matrix: rows and columns to leave out, such as totals, with commas between.",
        ),
    ] = None
    max_decompressed: Annotated[
        int | None,
        named(
            "--max-decompressed",
            "How many bytes a compressed file may unpack to. Default: 1 GiB, or a hundred times"
            " its size.",
            metavar="BYTES",
        ),
    ] = None

    @property
    def columns(self) -> Columns:
        """Which columns of a table to count by."""
        from deconfuse.reading.column_names import Columns

        where = _assigned(self.where or [], "--where")
        return Columns(
            self.label, self.prediction, self.weight, self._scores, self.threshold, where
        )

    @property
    def classes(self) -> ClassOptions:
        """Which values of a table are classes, and which are outcomes."""
        from deconfuse.classes import ClassOptions

        labels = None if self.labels is None else _split(self.labels, "--labels")
        return ClassOptions.of(
            labels, self._outcomes, self.other, self.missing, self.normalize_text, typed=False
        )

    @property
    def matrix(self) -> TableOptions:
        """How to read a matrix; its classes are put in order when their type is known."""
        from deconfuse.reading.count_tables import TableOptions

        drop = [] if self.drop is None else _split(self.drop, "--drop")
        return TableOptions.of(transpose=self.transpose, drop=drop, outcomes=self._outcomes)

    @property
    def _outcomes(self) -> list[str] | None:
        return None if self.outcomes is None else _split(self.outcomes, "--outcomes")

    @property
    def _scores(self) -> str | list[str] | dict[str, str] | None:
        """The one column, the columns of the classes, or columns with their classes."""
        if not self.scores:
            return None
        # Given one by one, a name may have a comma in it.
        names = list(self.scores)
        if len(names) == 1:
            names = _split(names[0], "--scores")
        if all("=" in name for name in names):
            return _assigned(names, "--scores")
        return names if len(names) > 1 else names[0]


def _split(names: str, option: str) -> list[str]:
    """Return names that are separated by commas; as in CSV, a name with a comma is quoted."""
    found = [name.strip() for name in next(csv.reader([names], skipinitialspace=True), [])]
    if not found or "" in found:
        raise InputError(
            f"`{option}` must be names separated by commas, got {names!r}.",
            hint=f"as in {option} cat,dog,bird.",
        )
    return found


def _assigned(pairs: Sequence[str], option: str) -> dict[str, str]:
    """Return columns and what was written behind them, of words such as p_cat=cat."""
    found: dict[str, str] = {}
    for pair in pairs:
        column, mark, value = pair.rpartition("=")
        if not mark or not column:
            raise InputError(f"`{option}` must be COLUMN=VALUE, got {pair!r}.")
        if column in found:
            raise InputError(f"`{option}` must name each column once, got {column!r} twice.")
        found[column] = value
    return found


def takes_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Reading` in place of its parameter ``reading``."""
    own = [p for p in inspect.signature(command).parameters.values() if p.name != "reading"]
    more = [
        inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default)
        for field in fields(Reading)
    ]
    hints = {
        **get_type_hints(command, include_extras=True),
        **get_type_hints(Reading, include_extras=True),
    }
    both = [parameter.replace(annotation=hints[parameter.name]) for parameter in (*own, *more)]

    def run(*args: Any, **given: Any) -> None:
        taken = {field.name: given.pop(field.name) for field in fields(Reading)}
        command(*args, reading=Reading(**taken), **given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(both)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in both}
    return run
