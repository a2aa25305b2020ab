"""The commands ``deconfuse data`` and ``deconfuse reproduce``; they parse, call and print."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from deconfuse.errors import InputError
from deconfuse.experiments.config import ALPHAS, DATASETS, RunConfig
from deconfuse.experiments.data_files import (
    DATA_VARIABLE,
    DatasetSpec,
    data_folder,
    dataset_spec,
    download,
    inspect_dataset,
    is_complete,
    take_from,
)
from deconfuse.experiments.records import Record, record_path

__all__ = ["data_app", "reproduce"]

data_app = typer.Typer(
    help="Get and check the paper's four datasets.", no_args_is_help=True, add_completion=False
)

_out = Console()

_LEVELS = ", ".join(f"{alpha:g}" for alpha in ALPHAS)

DataOption = Annotated[
    Path | None,
    typer.Option("--data", help=f"The data folder. Default: ${DATA_VARIABLE}, else the cache."),
]
DatasetOption = Annotated[
    list[str] | None,
    typer.Option(help=f"Repeat for several: {', '.join(DATASETS)}. Default: all."),
]


@data_app.command()
def prepare(
    dataset: DatasetOption = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Take the files from this folder or archive instead.", exists=True
        ),
    ] = None,
    data: DataOption = None,
) -> None:
    """Bring datasets into the data folder: download them, or take them from local files.

    Every file is checked by its sha256 before it is used, and one that is there is not fetched
    again. A download that was interrupted goes on where it stopped. Of several datasets, those
    that can be had are made ready; the exit code is 1 when one cannot.

    Examples:

      deconfuse data prepare --dataset mnist --dataset fashion-mnist

      deconfuse data prepare --dataset stl10 --from ~/Downloads/stl10_binary.tar.gz
    """
    folder = data_folder(data)
    specs = [dataset_spec(name) for name in dataset or DATASETS]
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
    if is_complete(folder, spec):
        _out.print(f"{spec.title}: already there, and checked.")
        return
    if source is not None:
        take_from(source, folder, spec)
    else:
        with Progress(
            TextColumn("{task.description}"), BarColumn(), DownloadColumn(), console=_out
        ) as bar:
            task = bar.add_task(spec.title, total=None)
            download(folder, spec, lambda done, of: bar.update(task, completed=done, total=of))
    _out.print(f"{spec.title}: ready in {folder / spec.name}")


@data_app.command()
def verify(dataset: DatasetOption = None, data: DataOption = None) -> None:
    """Check every file of the datasets, and say what is missing or wrong.

    The exit code is 1 when a dataset cannot be used.
    """
    folder = data_folder(data)
    table = Table("dataset", "file", "state", title=f"Data folder: {folder}")
    is_fine = True
    for spec in [dataset_spec(name) for name in dataset or DATASETS]:
        for report in inspect_dataset(folder, spec):
            is_fine &= not report.problem
            table.add_row(spec.title, report.file.name, report.problem or "ok")
    _out.print(table)
    if not is_fine:
        _out.print("Run `deconfuse data prepare` to get what is missing.")
        raise typer.Exit(1)


def reproduce(
    ctx: typer.Context,
    dataset: DatasetOption = None,
    alpha: Annotated[
        list[float] | None,
        typer.Option(help=f"Repeat for several: {_LEVELS}. Default: all."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds, from 0 on.", min=1)] = 30,
    experiment: Annotated[
        int | None,
        typer.Option(help="1 or 2. Default: both. 2 needs no balanced models.", min=1, max=2),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(help="Processes, each with its share of threads. Default: all cores.", min=1),
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of each process.", min=1)] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on this Dask cluster instead.")
    ] = None,
    sampling: Annotated[
        str,
        typer.Option(
            help="relative; budget: the other reading of the sampling rule; equal-size: balanced "
            "controls with as many samples as relative keeps."
        ),
    ] = "relative",
    results: Annotated[
        Path, typer.Option(help="Where records, tables, figures and the text are.")
    ] = Path("results"),
    data: DataOption = None,
    keep_arrays: Annotated[
        bool, typer.Option(help="Keep scores and embeddings of every run in the data folder.")
    ] = True,
    grids: Annotated[
        bool,
        typer.Option("--grids", help="Also measure how runs with kept arrays depend on the grid."),
    ] = False,
    human: Annotated[
        Path | None,
        typer.Option(
            help="Also compare CIFAR-10 runs with people: the file cifar10h-counts.npy.",
        ),
    ] = None,
    only_report: Annotated[
        bool, typer.Option("--only-report", help="Train nothing; write text, tables and figures.")
    ] = False,
) -> None:
    """Run the paper's experiments, and say which of its claims hold.

    A run that has its record is skipped, so a sweep can be stopped and started at will.

    Examples:

      deconfuse reproduce --dataset mnist --seeds 3

      deconfuse reproduce --workers 8

      deconfuse reproduce --dask tcp://scheduler:8786
    """
    from deconfuse.experiments.reproduction import read_summary, write_results
    from deconfuse.experiments.sweep import plan_runs

    folder = data_folder(data)
    if only_report:
        _refuse(ctx, _TRAINING, "--only-report", "it trains nothing, and reports on all records.")
    else:
        if dask is not None:
            _refuse(ctx, ("workers", "threads"), "--dask", "a cluster has its own.")
        for level in alpha or ():
            if level not in ALPHAS:
                raise InputError(f"`alpha` must be one of {_LEVELS}, got {level:g}.")
        names = [dataset_spec(name).name for name in dataset or DATASETS]
        configs = [
            config
            for config in plan_runs(names, alpha or ALPHAS, range(seeds), sampling)  # type: ignore[arg-type]
            if experiment != 2 or not config.is_balanced
        ]
        _sweep(configs, results, folder, (workers, threads, dask), keep_arrays)
    _measure(results, folder, grids=grids, human=human)
    written = write_results(results, results / "records", folder / "cache")
    _out.print(Markdown(read_summary(results)))
    _out.print(f"Wrote {len(written)} files; read {results / 'REPRODUCTION.md'}.")


#: Options that only say what to train, and where.
_TRAINING = (
    *("dataset", "alpha", "seeds", "experiment", "workers", "threads", "dask", "sampling"),
    "keep_arrays",
)


def _refuse(ctx: typer.Context, names: tuple[str, ...], beside: str, why: str) -> None:
    """Raise for an option that would be ignored."""
    for name in names:
        source = ctx.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            raise InputError(
                f"`{beside}` must come without `--{name.replace('_', '-')}`: {why}",
                hint="leave one of them out.",
            )


def _measure(results: Path, data: Path, *, grids: bool, human: Path | None) -> None:
    """Measure what needs more than records: kept arrays, or people's answers."""
    from deconfuse.experiments.grids import measure_grids, read_grids, write_grids
    from deconfuse.experiments.human import compare_with_people, write_comparison
    from deconfuse.experiments.records import read_records
    from deconfuse.experiments.reproduction import GRIDS, HUMAN

    if grids:
        known = read_grids(results / GRIDS)
        found = measure_grids(read_records(results / "records"), data / "cache", known)
        write_grids(results / GRIDS, found)
        _out.print(f"Measured the grids of {len(found)} runs.")
    if human is not None:
        records = read_records(results / "records")
        write_comparison(results / HUMAN, compare_with_people(records, human, data))


def _sweep(
    configs: list[RunConfig],
    results: Path,
    data: Path,
    crew: tuple[int | None, int | None, str | None],
    keep_arrays: bool,
) -> None:
    from deconfuse.experiments import sweep

    workers, threads, address = crew
    places = sweep.Places(results / "records", data, data / "cache" if keep_arrays else None)
    if address:
        open_crew: sweep.OpenCrew = partial(sweep.dask_crew, address)
    else:
        open_crew = partial(sweep.local_crew, workers or os.cpu_count() or 1, threads)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[runs]} runs"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(elapsed_when_finished=False),
        console=_out,
        # A run may take half an hour; the speed must be taken over many.
        speed_estimate_period=24 * 3600,
    ) as bar:
        # What is there already took no time now, so it must not count towards the speed.
        left = {c for c in configs if not record_path(places.records, c).exists()}
        task = bar.add_task("Training", total=len(left), runs=f"0/{len(configs)}")
        done: list[RunConfig] = []

        def on_done(config: RunConfig, record: Record) -> None:
            done.append(config)
            bar.update(task, advance=config in left, runs=f"{len(done)}/{len(configs)}")
            if config in left and not _out.is_terminal:
                _out.print(
                    f"{len(done)}/{len(configs)} {config.title}: balanced accuracy "
                    f"{100 * record.balanced_accuracy:.1f} % after {record.epochs} epochs"
                )

        sweep.run_sweep(configs, places, open_crew, on_done=on_done)
