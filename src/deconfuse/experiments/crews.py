"""Choose who does the runs of a sweep: local processes, a Dask cluster, or any executor."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import active_children, get_context

from deconfuse.errors import InputError, MissingExtraError

__all__ = ["Crew", "OpenCrew", "dask_crew", "executor_crew", "local_crew"]


@dataclass(frozen=True, slots=True)
class Crew:
    """Who does the work: an executor, and how many runs it can have under way.

    ``is_replaced`` says whether opening the crew again gives another executor, once one broke.
    """

    executor: Executor
    width: int
    is_replaced: bool = True


#: Opens a crew for as long as it is needed.
OpenCrew = Callable[[], AbstractContextManager[Crew]]


def local_crew(workers: int, threads: int | None = None) -> OpenCrew:
    """Return a crew of local processes; ``threads`` of each are an even share unless given."""
    if workers < 1:
        raise InputError(f"`workers` must be at least 1, got {workers}.")
    if threads is not None and threads < 1:
        raise InputError(f"`threads` must be at least 1, got {threads}.")
    share = threads or max(1, (os.cpu_count() or 1) // workers)

    @contextmanager
    def open_crew() -> Iterator[Crew]:
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

    return open_crew


def executor_crew(executor: Executor, width: int) -> OpenCrew:
    """Return a crew around any executor, which stays open; ``width`` runs are under way at once."""

    @contextmanager
    def open_crew() -> Iterator[Crew]:
        yield Crew(executor, width, is_replaced=False)

    return open_crew


def dask_crew(address: str) -> OpenCrew:
    """Return a crew of the workers of a Dask cluster.

    Dask gives the runs of a lost worker to another one. The data folder must be at the same
    path on every worker.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError.of("distributed", extra="dask", feature="`--dask`") from error

    @contextmanager
    def open_crew() -> Iterator[Crew]:
        try:
            client = Client(address, timeout="10s")  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise InputError(
                f"A Dask scheduler must answer at {address!r}, but none does ({error}).",
                hint="start one with `dask scheduler`, and workers with `dask worker ADDRESS`.",
            ) from error
        with client, client.get_executor(pure=False) as executor:  # type: ignore[no-untyped-call]
            workers = client.scheduler_info(n_workers=-1)["workers"]
            yield Crew(executor, max(1, sum(w["nthreads"] for w in workers.values())))

    return open_crew


@contextmanager
def _environment(threads: int) -> Iterator[None]:
    """Set what worker processes must find when they start."""
    wanted = {
        "OMP_NUM_THREADS": str(threads),
        # Activations are megabytes that come and go each step: keep them, do not unmap them.
        "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
        "MALLOC_TRIM_THRESHOLD_": str(4 << 30),
    }
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


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
