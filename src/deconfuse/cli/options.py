"""The options that several commands share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "EpsilonOption",
    "FileArgument",
    "FilesArgument",
    "IdOption",
    "ImageOption",
    "JsonOption",
    "LabelOption",
    "LabelsOption",
    "MissingOption",
    "OpenOption",
    "OtherOption",
    "OutcomesOption",
    "PageOption",
    "PredictionOption",
    "SamplesOption",
    "ScoresOption",
    "TitleOption",
    "UnionOption",
    "WeightOption",
]

_COLUMNS = "Columns of FILE"

_FILE_HELP = (
    "Predictions (CSV, TSV, Parquet, JSON lines, Arrow; also .gz and .zst, a folder, or a quoted"
    " pattern), or a saved matrix (CSV, JSON, NPZ). - is standard input."
)
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help=_FILE_HELP, show_default=False)]
FilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...", help=f"{_FILE_HELP} Several are added up.", show_default=False
    ),
]
LabelOption = Annotated[
    str,
    typer.Option(
        "--label",
        help="Column of true classes. Usual names (y_true, target, ...) are found by themselves.",
        rich_help_panel=_COLUMNS,
    ),
]
PredictionOption = Annotated[
    str,
    typer.Option(
        "--prediction",
        help="Column of predicted classes. Usual names (y_pred, pred, ...) are found too.",
        rich_help_panel=_COLUMNS,
    ),
]
WeightOption = Annotated[
    str | None,
    typer.Option(
        "--weight",
        help="Column of sample weights.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]
ScoresOption = Annotated[
    list[str] | None,
    typer.Option(
        "--scores",
        help="Predict the class with the highest score: a column of lists, or the columns of the"
        " classes, with commas between (cat,dog,bird) or each with a --scores of its own. Where"
        " columns have other names, p_cat=cat,p_dog=dog says their classes.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        "--labels",
        help="All classes in the order to show, with commas between (cat,dog,bird); a class of the"
        " data that is not among them is an error. Default: the classes that occur, sorted.",
        show_default=False,
    ),
]
OutcomesOption = Annotated[
    str | None,
    typer.Option(
        "--outcomes",
        help="Names that are no class, with commas between (refused,background): counted beside the"
        " matrix.",
        show_default=False,
    ),
]
OtherOption = Annotated[
    str | None,
    typer.Option(
        "--other",
        metavar="NAME",
        help="The outcome that takes every prediction outside --labels.",
        show_default=False,
    ),
]
MissingOption = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="NAME",
        help="The outcome that takes missing predictions.",
        show_default=False,
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
    typer.Option(
        "--epsilon",
        help="Added to every cell before normalizing. Default: 1 / number of classes for bi, else"
        " 0.",
        show_default=False,
    ),
]
IdOption = Annotated[
    str | None,
    typer.Option(
        "--id",
        help="Column that names a sample. Default: its row number, from 0. Where both of two files"
        " have it, they are compared sample by sample.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]
ImageOption = Annotated[
    str | None,
    typer.Option(
        "--image",
        help="Column of pictures: paths, from the folder of FILE, or whole files in Parquet.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]
SamplesOption = Annotated[
    bool, typer.Option("--samples/--no-samples", help="List the samples behind each cell.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
OpenOption = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]
TitleOption = Annotated[
    str | None,
    typer.Option("--title", help="What the page is about. Default: the name of FILE."),
]
PageOption = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        help="Where to write: .html is the interactive page, .md the findings, .json its numbers,"
        " .tex a table.",
    ),
]
