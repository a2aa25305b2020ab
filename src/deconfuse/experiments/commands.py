"""The commands ``deconfuse data`` and ``deconfuse reproduce``; they parse, call and print."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from deconfuse.errors import DeconfuseError, InputError
from deconfuse.experiments import preparation
from deconfuse.experiments.catalogue import DatasetSpec, dataset_spec
from deconfuse.experiments.config import ALPHAS, DATASETS, RunConfig
from deconfuse.experiments.datasets import DATA_VARIABLE, data_folder
from deconfuse.experiments.records import Record, record_path

__all__ = ["app", "data_app", "main", "reproduce"]

app = typer.Typer(help="The paper's datasets and experiments.", no_args_is_help=True)
data_app = typer.Typer(
    help="Get and check the paper's four datasets.", no_args_is_help=True, add_completion=False
)
app.add_typer(data_app, name="data")

_out = Console()

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
        typer.Option("--from", help="Take the files from this folder or archive instead."),
    ] = None,
    data: DataOption = None,
) -> None:
    """Bring datasets into the data folder: download them, or take them from local files.

    Every file is checked by its sha256 before it is used, and one that is there is not fetched
    again. Of several datasets, those that can be had are made ready; the exit code is 1 when one
    cannot.

    Examples:

      deconfuse data prepare --dataset mnist --dataset fashion-mnist

      deconfuse data prepare --dataset stl10 --from ~/Downloads/stl10_binary.tar.gz
    """
    folder = data_folder(data)
    specs = [dataset_spec(name) for name in dataset or DATASETS]
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


class _PoochBar:
    """What pooch asks of a progress bar, shown by rich."""

    total = 0

    def __init__(self, bar: Progress, title: str) -> None:
        self._bar = bar
        self._task = bar.add_task(title, total=None)

    def update(self, amount: int) -> None:
        self._bar.update(self._task, advance=amount, total=self.total)

    def reset(self) -> None:
        self._bar.reset(self._task)

    def close(self) -> None:
        """Leave the bar to rich."""


def _prepare_one(folder: Path, spec: DatasetSpec, source: Path | None) -> None:
    if preparation.is_complete(folder, spec):
        _out.print(f"{spec.title}: already there, and checked.")
        return
    if source is not None:
        preparation.take_from(source, folder, spec)
    else:
        with Progress(
            TextColumn("{task.description}"), BarColumn(), DownloadColumn(), console=_out
        ) as bar:
            preparation.download(folder, spec, _PoochBar(bar, spec.title))
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
def verify(dataset: DatasetOption = None, data: DataOption = None) -> None:
    """Check every file of the datasets, and say what is missing or wrong.

    The exit code is 1 when a dataset cannot be used.
    """
    folder = data_folder(data)
    table = Table("dataset", "file", "state", title=f"Data folder: {folder}")
    is_fine = True
    for spec in [dataset_spec(name) for name in dataset or DATASETS]:
        for report in preparation.verify(folder, spec):
            state = report.state if report.state != "wrong" else f"wrong: {report.problem}"
            is_fine &= report.state == "ok"
            name = report.file.name if report.path is None else report.path.name
            table.add_row(spec.title, name, state)
    _out.print(table)
    if not is_fine:
        _out.print("Run `deconfuse data prepare` to get what is missing.")
        raise typer.Exit(1)


#: Options that only say what to train and where.
_ONLY_TRAINING = (
    "dataset",
    "alpha",
    "seeds",
    "workers",
    "threads",
    "dask",
    "sampling",
    "keep_arrays",
)


@app.command()
def reproduce(
    ctx: typer.Context,
    dataset: DatasetOption = None,
    alpha: Annotated[
        list[float] | None,
        typer.Option(help=f"Repeat for several: {', '.join(f'{a:g}' for a in ALPHAS)}."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds, from 0 on.")] = 30,
    experiment: Annotated[
        int | None, typer.Option(help="1 or 2. Default: both. 2 needs no balanced models.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(help="Processes, each with its share of threads. Default: all cores."),
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of each process.")] = None,
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
    measure_again: Annotated[
        bool,
        typer.Option("--measure-again", help="First measure the runs there are once more."),
    ] = False,
    grids: Annotated[
        bool,
        typer.Option("--grids", help="First measure how runs with kept arrays depend on the grid."),
    ] = False,
    human: Annotated[
        Path | None,
        typer.Option(
            help="First compare CIFAR-10 runs with people: the file cifar10h-counts.npy.",
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
    from deconfuse.experiments import sweep
    from deconfuse.experiments.reproduction import write_results

    if experiment not in (None, 1, 2):
        raise InputError(f"`--experiment` must be 1 or 2, got {experiment}.")
    for option, number in (("--workers", workers), ("--threads", threads)):
        if number is not None and number < 1:
            raise InputError(f"`{option}` must be at least 1, got {number}.")
        if number is not None and dask is not None:
            raise InputError(
                f"Only one of `{option}` and `--dask` can be given, got both.",
                hint="a Dask cluster's workers and threads are chosen where it is started.",
            )
    if only_report:
        _refuse_training_options(ctx)
    folder = data_folder(data)
    if measure_again:
        again = sweep.measure_again(sweep.Places(results / "records", folder), folder / "cache")
        _out.print(f"Measured {again} runs again.")
    if not only_report:
        configs = _plan(dataset, alpha, seeds, experiment, sampling)
        _sweep(configs, results, folder, (workers, threads, dask), keep_arrays)
    _measure(results, folder, grids=grids, human=human)
    written = write_results(results, results / "records", folder / "cache")
    _print_verdicts(results, experiment)
    _out.print(f"Wrote {len(written)} files; read {results / 'REPRODUCTION.md'}.")


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


def _refuse_training_options(ctx: typer.Context) -> None:
    """Name an option that a report would not heed: it is of all records there are."""
    for name in _ONLY_TRAINING:
        source = ctx.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            option = f"--{name.replace('_', '-')}"
            raise InputError(
                f"`--only-report` must come without `{option}`: it trains nothing, and reports on "
                "all records there are.",
                hint="leave one of them out; for a report on some records, put them in a folder "
                "of their own and name it with --results.",
            )


def _plan(
    dataset: list[str] | None,
    alpha: list[float] | None,
    seeds: int,
    experiment: int | None,
    sampling: str,
) -> list[RunConfig]:
    from deconfuse.experiments.sweep import plan_runs

    names = [dataset_spec(name).name for name in dataset or DATASETS]
    for level in alpha or ():
        if level not in ALPHAS:
            known = ", ".join(f"{a:g}" for a in ALPHAS)
            raise InputError(f"`--alpha` must be one of {known}, got {level:g}.")
    if seeds < 1:
        raise InputError(f"`--seeds` must be at least 1, got {seeds}.")
    if sampling not in ("relative", "budget", "equal-size"):
        raise InputError(f"`--sampling` must be relative, budget or equal-size, got {sampling!r}.")
    configs = plan_runs(names, alpha or ALPHAS, range(seeds), sampling)  # type: ignore[arg-type]
    return [config for config in configs if experiment != 2 or not config.is_balanced]


def _sweep(
    configs: list[RunConfig],
    results: Path,
    data: Path,
    crew: tuple[int | None, int | None, str | None],
    keep_arrays: bool,
) -> None:
    from deconfuse.experiments import crews
    from deconfuse.experiments.sweep import Places, expected_cost, run_sweep

    workers, threads, address = crew
    places = Places(results / "records", data, data / "cache" if keep_arrays else None)
    open_crew = (
        crews.dask_crew(address)
        if address
        else crews.local_crew(workers or os.cpu_count() or 1, threads)
    )
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
        left = {c: expected_cost(c) for c in configs if not record_path(places.records, c).exists()}
        task = bar.add_task("Training", total=sum(left.values()), runs=f"0/{len(configs)}")
        done: list[RunConfig] = []

        def on_done(config: RunConfig, record: Record) -> None:
            done.append(config)
            bar.update(task, advance=left.get(config, 0.0), runs=f"{len(done)}/{len(configs)}")
            if config in left and not _out.is_terminal:
                _out.print(
                    f"{len(done)}/{len(configs)} {config.title}: balanced accuracy "
                    f"{100 * record.balanced_accuracy:.1f} % after {record.epochs} epochs"
                )

        run_sweep(configs, places, open_crew, on_done=on_done)


def _print_verdicts(results: Path, experiment: int | None) -> None:
    from deconfuse.experiments.analysis import score_records
    from deconfuse.experiments.claims import paper_claims
    from deconfuse.experiments.records import read_records
    from deconfuse.experiments.text import dataset_title

    table = Table("", "claim of the paper", "verdict", show_lines=True)
    records = read_records(results / "records")
    control = score_records(records, sampling="equal-size")
    for claim in paper_claims(score_records(records), dataset_title, control):
        if experiment in (None, claim.experiment):
            table.add_row(claim.number, claim.title, claim.verdict)
    _out.print(table)


def main() -> None:
    """Run the commands; errors are told in a line or two."""
    try:
        app()
    except DeconfuseError as error:
        Console(stderr=True).print(f"Error: {error}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)


if __name__ == "__main__":
    # Spawned workers import this module again; they must not start it.
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
