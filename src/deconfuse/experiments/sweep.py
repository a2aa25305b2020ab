"""Many runs, on any executor: skip what is there, write each record as it comes, go on anywhere.

Runs do not depend on each other. Workers train and measure; the one process that started the
sweep writes the records, so a run cannot be written twice. Killed at any moment, a sweep loses at
most the runs under way, and what they had trained is still in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass
from pathlib import Path

from deconfuse.errors import DeconfuseError, InputError, MissingExtraError
from deconfuse.experiments.config import RunConfig, Sampling
from deconfuse.experiments.crews import Crew, OpenCrew
from deconfuse.experiments.datasets import load_dataset
from deconfuse.experiments.records import Record, read_record, record_path, write_record
from deconfuse.experiments.runs import measure, train_run

__all__ = [
    "Places",
    "SweepError",
    "expected_cost",
    "plan_runs",
    "run_one",
    "run_sweep",
]

#: How long a run takes, relative to one on MNIST; only the time left is computed from it.
_COSTS = {"mnist": 1.0, "fashion-mnist": 1.0, "stl10": 40.0, "cifar10": 90.0}

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


#: What does one run; replaced to run something other than the paper's networks.
RunFunction = Callable[[RunConfig, Path, Path | None], str]


def plan_runs(
    datasets: Iterable[str],
    alphas: Sequence[float],
    seeds: Iterable[int],
    sampling: Sampling = "relative",
) -> list[RunConfig]:
    """List the runs of a sweep, seed by seed, each seed's balanced model before its levels.

    Examples
    --------
    >>> [run.title for run in plan_runs(["mnist"], [1.0, 0.1], range(1))]
    ['mnist, seed 0, balanced', 'mnist, seed 0, alpha 1', 'mnist, seed 0, alpha 0.1']
    """
    names = list(datasets)
    runs: dict[RunConfig, None] = {}
    for seed in seeds:
        for name in names:
            levels = [RunConfig(name, seed, alpha, sampling) for alpha in alphas]
            runs.update(dict.fromkeys([*(level.balanced for level in levels[:1]), *levels]))
    return list(runs)


def expected_cost(config: RunConfig) -> float:
    """Return how long a run should take, in units of one on MNIST."""
    return _COSTS.get(config.dataset, 1.0) * (2.0 if config.is_balanced else 1.0)


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

    Parameters
    ----------
    configs : sequence of RunConfig
        The runs.
    places : Places
        Where to read and write.
    open_crew : callable
        Opens what does the runs; called again when workers died.
    run : callable
        Does one run and returns its record as JSON.
    on_done : callable
        Told of every run that has its record, those found at the start included.

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
            if not crew.is_replaced:
                raise SweepError(
                    "The executor must live until all runs are done, but it broke, as it does when "
                    f"a worker runs out of memory ({error}); {len(missing)} runs are left.",
                    hint="start again with a new pool, of fewer workers if memory is short; "
                    "finished runs are kept.",
                ) from error
            deaths = deaths + 1 if len(missing) == before else 1
            if deaths >= _PATIENCE:
                raise SweepError(
                    f"A worker died {deaths} times in a row without finishing a run; "
                    f"{len(missing)} runs are left.",
                    hint="give it fewer --workers if memory is short; finished runs are kept.",
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
