"""Run ``deconfuse normalize``: write a matrix to the terminal, a file, or a picture."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from deconfuse.cli import console
from deconfuse.cli.inputs import STANDARD, check_output, read_matrices
from deconfuse.cli.options import (
    EpsilonOption,
    FilesArgument,
    JsonOption,
    Reading,
    takes_reading,
)
from deconfuse.errors import DeconfuseWarning, InputError, warn

if TYPE_CHECKING:
    from deconfuse.normalization import Normalized

__all__ = ["normalize"]


class Method(StrEnum):
    """The normalizations, by the paper's names and scikit-learn's."""

    bi = "bi"
    row = "row"
    col = "col"
    all = "all"
    true = "true"
    pred = "pred"


class Format(StrEnum):
    """How a normalized matrix is written."""

    text = "text"
    csv = "csv"
    json = "json"
    markdown = "markdown"
    latex = "latex"


@takes_reading
def normalize(
    reading: Reading,
    files: FilesArgument,
    method: Annotated[
        Method, typer.Option("--method", "-m", help="true and pred are row and col.")
    ] = Method.bi,
    epsilon: EpsilonOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write to this file: .csv, .json, .md, .tex, or a picture (.png, .svg, .pdf)."
            " - is standard output.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            "-f",
            help="Default: by the name of --output, else text.",
            show_default=False,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Normalize a confusion matrix: by row, column, all, or both at once (bi).

    A class that never occurs has dashes in tables for reading (text, Markdown, LaTeX). CSV and JSON
    hold all numbers, also those that rest on epsilon alone; a note says which classes these are.

    [bold]Examples[/bold]

      deconfuse normalize predictions.csv

      deconfuse normalize predictions.parquet --method row --output rows.csv

      deconfuse normalize matrix.csv -o matrix.png

      cat predictions.csv | deconfuse normalize - --label y --prediction y_hat --json
    """
    if str(output) == STANDARD:
        output = None
    check_output(output, *files)
    chosen = _format(format, json, output)
    cm = read_matrices(files, reading)
    with console.working("Normalizing"):
        normalized = cm.normalize(method.value, epsilon=epsilon)
    _note_unseen(normalized)
    if chosen is not None:
        _write_table(normalized, chosen, output)
    else:
        assert output is not None
        _write_picture(normalized, output)


def _note_unseen(n: Normalized) -> None:
    """Say which rows and columns no sample is behind; where epsilon is 0, they are NaN or zero."""
    from deconfuse._checks import show

    sides = (
        (n.source.label_counts, "a true label", "row"),
        (n.source.prediction_counts, "a prediction", "column"),
    )
    for sums, what, side in sides:
        empty = [label for label, total in zip(n.labels, sums, strict=True) if total == 0]
        if empty and n.epsilon > 0:
            verb = "occurs" if len(empty) == 1 else "occur"
            warn(
                f"Cells of an empty {side} rest on epsilon alone: {show(empty)} never {verb} as"
                f" {what}.",
                DeconfuseWarning,
            )


def _format(format: Format | None, json: bool, output: Path | None) -> Format | None:
    """Return the format asked for, before anything is counted; None is a picture."""
    from deconfuse.reporting.tables import TABLE_FORMATS

    if json:
        if format not in (None, Format.json):
            raise InputError(f"Only one format can be written, got --json and --format {format}.")
        return Format.json
    if format is not None or output is None:
        return format or Format.text
    suffix = output.suffix.lower()
    if suffix in TABLE_FORMATS:
        return Format(TABLE_FORMATS[suffix])
    if suffix == ".txt":
        return Format.text

    from deconfuse.reporting.plots import picture_format

    try:
        picture_format(output)
    except InputError as error:
        raise InputError(
            f"`--output` must end in .csv, .json, .md, .tex, .txt or a picture's format, got"
            f" {str(output)!r}.",
            hint=f"for a picture, {error.hint}",
        ) from error
    return None


def _write_table(n: Normalized, format: Format, output: Path | None) -> None:
    from deconfuse._files import write_text
    from deconfuse.reporting.display import print_matrix
    from deconfuse.reporting.tables import TableFormat, write_table

    if format is Format.text and output is None:
        print_matrix(console.out(), n)
        return
    if format is Format.text:
        wide = console.plain()
        with wide.capture() as captured:
            print_matrix(wide, n)
        text = captured.get()
    else:
        text = write_table(n, cast(TableFormat, format.value))
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    write_text(output, text)
    console.say(f"wrote {output}")


def _write_picture(n: Normalized, output: Path) -> None:
    from matplotlib.figure import Figure

    from deconfuse.reporting.drawing import figure_size, label_texts
    from deconfuse.reporting.plots import ConfusionMatrixDisplay, write_figure

    # A figure of its own: pyplot would look for a window system.
    figure = Figure(figsize=figure_size(n.n_classes, label_texts(n.labels)), layout="constrained")
    ConfusionMatrixDisplay(n).plot(ax=figure.subplots())
    write_figure(figure, output)
    console.say(f"wrote {output}")
