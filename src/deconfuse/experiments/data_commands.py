"""The commands ``deconfuse data prepare`` and ``verify``; they parse, call and print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from deconfuse.errors import InputError
from deconfuse.experiments import preparation
from deconfuse.experiments.catalogue import CATALOGUE, DatasetSpec, dataset_spec
from deconfuse.experiments.config import DATASETS
from deconfuse.experiments.datasets import DATA_VARIABLE, data_folder
from deconfuse.experiments.downloading import download

__all__ = ["DataOption", "data_app"]

data_app = typer.Typer(
    help="Get and check the paper's four datasets.", no_args_is_help=True, add_completion=False
)

_out = Console()

DataOption = Annotated[
    Path | None,
    typer.Option("--data", help=f"The data folder. Default: ${DATA_VARIABLE}, else the cache."),
]
NamesArgument = Annotated[
    list[str] | None, typer.Argument(help=f"Which: {', '.join(CATALOGUE)}. Default: all.")
]


@data_app.command()
def prepare(
    names: NamesArgument = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Take the files from this folder or archive instead."),
    ] = None,
    data: DataOption = None,
) -> None:
    """Bring datasets into the data folder: download them, or take them from local files.

    Every file is checked by its sha256 before it is used. An interrupted download goes on where
    it was. Of several datasets, those that can be had are made ready; the exit code is 1 when one
    cannot.

    Examples:

      deconfuse data prepare mnist fashion-mnist

      deconfuse data prepare stl10 --from ~/Downloads/stl10_binary.tar.gz
    """
    folder = data_folder(data)
    specs = [dataset_spec(name) for name in names or DATASETS]
    if source is not None and not source.exists():
        raise InputError(
            f"`--from` must be a folder or an archive, but {source} does not exist.",
            hint="give the folder or archive that holds the datasets' files.",
        )
    lacking: list[str] = []
    for spec in specs:
        try:
            _prepare_one(folder, spec, source)
        except InputError as error:
            if len(specs) == 1:
                raise
            lacking.append(spec.title)
            _out.print(f"{spec.title}: not ready. {error}", markup=False, highlight=False)
    if lacking:
        _out.print(f"Not ready: {', '.join(lacking)}.")
        raise typer.Exit(1)


def _prepare_one(folder: Path, spec: DatasetSpec, source: Path | None) -> None:
    if preparation.is_complete(folder, spec):
        _out.print(f"{spec.title}: already there, and checked.")
        return
    if source is not None:
        preparation.take_from(source, folder, spec)
    else:
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=_out,
        ) as bar:
            task = bar.add_task(spec.title, total=None)
            download(folder, spec, lambda have, size: bar.update(task, completed=have, total=size))
    _refuse_files_in_the_way(folder, spec)
    _out.print(f"{spec.title}: ready in {folder / spec.name}")


def _refuse_files_in_the_way(folder: Path, spec: DatasetSpec) -> None:
    """Name a wrong file that would be found before the one that was just taken."""
    for report in preparation.verify(folder, spec):
        if report.state != "ok":
            raise InputError(
                f"{spec.title} was taken, but a wrong file stands before one of its own:"
                f" {report.problem or report.file.name}",
                hint=f"delete {report.path or report.file.name}, then run `deconfuse data verify`.",
            )


@data_app.command()
def verify(names: NamesArgument = None, data: DataOption = None) -> None:
    """Check every file of the datasets, and say what is missing or wrong.

    The exit code is 1 when a dataset cannot be used.
    """
    folder = data_folder(data)
    table = Table("dataset", "file", "state", title=f"Data folder: {folder}")
    is_fine = True
    for spec in [dataset_spec(name) for name in names or DATASETS]:
        for report in preparation.verify(folder, spec):
            state = report.state if report.state != "wrong" else f"wrong: {report.problem}"
            is_fine &= report.state == "ok"
            name = report.file.name if report.path is None else report.path.name
            table.add_row(spec.title, name, state)
    _out.print(table)
    if not is_fine:
        _out.print("Run `deconfuse data prepare` to get what is missing.")
        raise typer.Exit(1)
