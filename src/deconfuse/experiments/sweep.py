"""Many runs, on any executor: skip what is there, write each record as it comes, go on anywhere.

Runs do not depend on each other. Workers train and measure; the one process that started the
sweep writes the records, so a run cannot be written twice. Killed at any moment, a sweep loses at
most the runs under way, and what they had trained is still in the cache.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from pathlib import Path

from deconfuse.errors import DeconfuseError, InputError, MissingExtraError
from deconfuse.experiments.config import RunConfig, Sampling
from deconfuse.experiments.datasets import load_dataset
from deconfuse.experiments.records import Record, read_record, record_path, write_record
from deconfuse.experiments.runs import measure, train_run

__all__ = [
    "Crew",
    "OpenCrew",
    "Places",
    "SweepError",
    "dask_crew",
    "local_crew",
    "plan_runs",
    "run_one",
    "run_sweep",
]

#: How often workers may die without any run finishing in between.
_PATIENCE = 3


class SweepError(DeconfuseError, RuntimeError):
    """A sweep could not go on; every record written so far stays."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where a sweep reads and writes.

    ``data`` and ``cache`` are read and written by workers, ``records`` by the sweep itself.
    Relative ones are taken from where the sweep runs, not from where a worker does.
    """

    records: Path
    data: Path
    cache: Path | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", self.data.absolute())
        if self.cache is not None:
            object.__setattr__(self, "cache", self.cache.absolute())


@dataclass(frozen=True, slots=True)
class Crew:
    """Who does the work: an executor, and how many runs it can have under way."""

    executor: Executor
    width: int


#: Opens a crew for as long as it is needed.
OpenCrew = Callable[[], AbstractContextManager[Crew]]


@contextmanager
def local_crew(workers: int, threads: int | None = None) -> Iterator[Crew]:
    """Open a crew of local processes; ``threads`` of each are an even share unless given."""
    share = threads or max(1, (os.cpu_count() or 1) // workers)
    before = set(active_children())
    # Spawned, not forked: a forked child of a process with threads may lock up.
    with (
        _environment(share),
        ProcessPoolExecutor(
            workers,
            mp_context=get_context("spawn"),
            initializer=_start_worker,
            initargs=(share, os.getpid()),
        ) as executor,
    ):
        try:
            yield Crew(executor, workers)
        except BaseException:
            # A run may take half an hour; nobody who stops a sweep wants to wait for it.
            executor.shutdown(wait=False, cancel_futures=True)
            children = set(active_children()) - before
            for child in children:
                child.terminate()
            for child in children:
                child.join(timeout=10)
            raise


@contextmanager
def dask_crew(address: str) -> Iterator[Crew]:
    """Open a crew of the workers of a Dask cluster.

    Dask gives the runs of a lost worker to another one. The data folder must be at the same
    path on every worker.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError.of("distributed", extra="dask", feature="`--dask`") from error
    try:
        client = Client(address)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(
            f"A Dask scheduler must answer at {address!r}, but none does ({error}).",
            hint="start one with `dask scheduler`, and workers with `dask worker ADDRESS`.",
        ) from error
    with client, client.get_executor(pure=False) as executor:  # type: ignore[no-untyped-call]
        workers = client.scheduler_info(n_workers=-1)["workers"]
        yield Crew(executor, max(1, sum(w["nthreads"] for w in workers.values())))


@contextmanager
def _environment(threads: int) -> Iterator[None]:
    """Set what worker processes must find when they start."""
    wanted = {
        "OMP_NUM_THREADS": str(threads),
        # Activations are megabytes that come and go each step: keep them, do not unmap them.
        "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
        "MALLOC_TRIM_THRESHOLD_": str(4 << 30),
    }
    before = dict(os.environ)
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name in wanted.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


def _start_worker(threads: int, parent: int) -> None:
    with suppress(ModuleNotFoundError):
        import torch

        torch.set_num_threads(threads)
    # A killed sweep cannot tell its workers: they see that their parent has changed.
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


#: What does one run; replaced to run something other than the paper's networks.
RunFunction = Callable[[RunConfig, Path, Path | None], str]


def plan_runs(
    datasets: Sequence[str],
    alphas: Iterable[float],
    seeds: Iterable[int],
    sampling: Sampling = "relative",
) -> list[RunConfig]:
    """List the runs of a sweep, seed by seed, each seed's balanced model before its levels."""
    levels = list(alphas)
    runs: dict[RunConfig, None] = {}
    for seed in seeds:
        for name in datasets:
            uneven = [RunConfig(name, seed, alpha, sampling) for alpha in levels]
            runs.update(dict.fromkeys([*(run.balanced for run in uneven[:1]), *uneven]))
    return list(runs)


def run_one(config: RunConfig, data: Path, cache: Path | None) -> str:
    """Train and measure one of the paper's networks, and return the record as JSON."""
    try:
        from deconfuse.experiments.training import train_cnn
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtraError.of(
            "torch", extra="experiments", feature="Training the paper's networks"
        ) from error
    arrays = train_run(train_cnn, load_dataset(config.dataset, data), config, cache)
    return measure(arrays).to_json()


def run_sweep(
    configs: Sequence[RunConfig],
    places: Places,
    open_crew: OpenCrew,
    *,
    run: RunFunction = run_one,
    on_done: Callable[[RunConfig, Record], None] = lambda config, record: None,
) -> int:
    """Do every run that has no record yet, in this order, and return how many records were made.

    ``open_crew`` is called again when workers died. ``on_done`` is told of every run that has its
    record, those found at the start included.

    Raises
    ------
    SweepError
        When a run failed, or workers keep dying, or a record cannot be written.
    InputError
        When a record that is there cannot be used.
    """
    places.records.mkdir(parents=True, exist_ok=True)
    missing: list[RunConfig] = []
    for config in dict.fromkeys(configs):
        path = record_path(places.records, config)
        if path.exists():
            on_done(config, read_record(path))
        else:
            missing.append(config)
    made, deaths = 0, 0
    while missing:
        before = len(missing)
        try:
            with open_crew() as crew:
                for config, text in _results(crew, missing, places, run):
                    record = _keep(places, config, text)
                    missing.remove(config)
                    made += 1
                    on_done(config, record)
        except BrokenExecutor as error:
            deaths = deaths + 1 if len(missing) == before else 1
            if deaths >= _PATIENCE:
                raise SweepError(
                    f"Workers died {deaths} times in a row without finishing a run, as they do "
                    f"when memory runs out ({error}); {len(missing)} runs are left.",
                    hint="start again with fewer workers; finished runs are kept.",
                ) from error
    return made


def _results(
    crew: Crew, configs: Sequence[RunConfig], places: Places, run: RunFunction
) -> Iterator[tuple[RunConfig, str]]:
    """Yield runs as they finish, with no more in flight than keeps every worker busy."""
    queue = iter(list(configs))
    flying: dict[Future[str], RunConfig] = {}

    def refill() -> None:
        while len(flying) < crew.width + 1 and (config := next(queue, None)) is not None:
            flying[crew.executor.submit(run, config, places.data, places.cache)] = config

    refill()
    try:
        while flying:
            done, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in done:
                config = flying.pop(future)
                try:
                    text = future.result()
                except (BrokenExecutor, InputError):
                    raise
                except Exception as error:
                    raise SweepError(
                        f"The run {config.title} failed: {type(error).__name__}: {error}",
                        hint="finished runs are kept; the sweep goes on from there.",
                    ) from error
                yield config, text
            refill()
    finally:
        for future in flying:
            future.cancel()


def _keep(places: Places, config: RunConfig, text: str) -> Record:
    record = Record.from_json(text, f"The record of {config.title}")
    try:
        write_record(places.records, record)
    except OSError as error:
        raise SweepError(
            f"The record of {config.title} could not be written to {places.records} ({error}).",
            hint="make room, then start the sweep again; finished runs are kept.",
        ) from error
    return record
