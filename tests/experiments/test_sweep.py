"""Sweeps on real processes: killed, resumed, short of memory or disk, on a cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pytest
import slices
from making import make_record
from tests.support import require

from deconfuse import InputError, MissingExtraError
from deconfuse.experiments.config import RunConfig
from deconfuse.experiments.records import read_records, record_path, write_record
from deconfuse.experiments.runs import arrays_path
from deconfuse.experiments.sweep import (
    Crew,
    OpenCrew,
    Places,
    SweepError,
    dask_crew,
    local_crew,
    plan_runs,
    run_sweep,
)

require("torch")

HELPERS = str(Path(__file__).parent)
PLAN = plan_runs(["mnist"], [1.0, 0.1], range(2))


def places(data: Path) -> Places:
    return Places(data.parent / "records", data, data / "cache")


def only(pool: Executor) -> OpenCrew:
    """Return a crew that does one run at a time."""
    return lambda: nullcontext(Crew(pool, 1))


def trained(data: Path) -> list[str]:
    return (data / "trained.txt").read_text().split()


def wait_for(condition: Callable[[], bool], seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def test_plan_is_seed_by_seed_and_shares_the_balanced_model() -> None:
    plan = plan_runs(["mnist", "stl10"], [10.0, 0.1], range(2))
    assert len(plan) == 2 * 2 * 3
    assert [run.seed for run in plan] == [0] * 6 + [1] * 6
    assert [run.is_balanced for run in plan[:3]] == [True, False, False]


def test_local_processes_make_every_record_once(data: Path) -> None:
    done: list[RunConfig] = []
    made = run_sweep(
        PLAN,
        places(data),
        partial(local_crew, 2, 1),
        run=slices.run_slice,
        on_done=lambda config, record: done.append(config),
    )
    assert made == len(PLAN) == len(done) == 6
    assert Counter(trained(data)) == Counter(config.key for config in PLAN)
    records = read_records(places(data).records)
    assert {record.config for record in records} == set(PLAN)
    assert {record.versions["threads"] for record in records} == {"1"}


def test_what_is_there_is_skipped_but_reported(data: Path) -> None:
    record = make_record(PLAN[1])
    write_record(places(data).records, record)
    before = record_path(places(data).records, PLAN[1]).read_text()
    done: list[RunConfig] = []
    with ThreadPoolExecutor(1) as pool:
        made = run_sweep(
            [*PLAN[:3], PLAN[0]],
            places(data),
            only(pool),
            run=slices.run_slice,
            on_done=lambda config, record: done.append(config),
        )
    assert made == 2
    assert Counter(done) == Counter(PLAN[:3])
    assert PLAN[1].key not in trained(data)
    assert record_path(places(data).records, PLAN[1]).read_text() == before


def test_a_record_of_another_version_stops_the_sweep_before_it_starts(data: Path) -> None:
    path = write_record(places(data).records, make_record(PLAN[0]))
    path.write_text(path.read_text().replace('"schema":1', '"schema":7'))
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(InputError, match="must be a record of version 1 and"),
    ):
        run_sweep(PLAN, places(data), only(pool), run=slices.run_slice)
    assert not (data / "trained.txt").exists()


def test_trained_arrays_are_not_trained_again(data: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        run_sweep(PLAN[:1], places(data), only(pool), run=slices.run_slice)
        first = record_path(places(data).records, PLAN[0])
        text = first.read_text()
        first.unlink()
        run_sweep(PLAN[:1], places(data), only(pool), run=slices.run_slice)
    # The time that training took is in the record too: it can only be equal if it was not repeated.
    assert first.read_text() == text


KILLED = """
import sys
from functools import partial
from pathlib import Path
sys.path.insert(0, {helpers!r})
import slices
from deconfuse.experiments.sweep import Places, local_crew, plan_runs, run_sweep
if __name__ == "__main__":
    data = Path({data!r})
    plan = plan_runs(["mnist"], [1.0, 0.1], range(2))
    places = Places(data.parent / "records", data, data / "cache")
    run_sweep(plan, places, partial(local_crew, 1, 1), run=slices.run_slowly)
"""


def test_killed_and_started_again_it_goes_on_where_it_was(data: Path, tmp_path: Path) -> None:
    require("psutil")
    import psutil

    script = tmp_path / "sweep.py"
    script.write_text(KILLED.format(helpers=HELPERS, data=str(data)))
    records = places(data).records
    sweep = subprocess.Popen([sys.executable, str(script)])
    wait_for(lambda: len(list(records.glob("*/*.json"))) >= 2)
    workers = psutil.Process(sweep.pid).children(recursive=True)
    os.kill(sweep.pid, signal.SIGKILL)
    assert sweep.wait() == -signal.SIGKILL
    wait_for(lambda: not any(worker.is_running() for worker in workers))
    kept = {path: path.read_bytes() for path in records.glob("*/*.json")}
    assert 2 <= len(kept) < len(PLAN)
    read_records(records)  # every one of them is whole
    subprocess.run([sys.executable, str(script)], check=True)
    assert {record.config for record in read_records(records)} == set(PLAN)
    assert {path: path.read_bytes() for path in kept} == kept
    # At most the runs under way were done again.
    again = [key for key, times in Counter(trained(data)).items() if times > 1]
    assert len(again) <= 2


def test_a_sweep_that_stops_does_not_wait_for_the_runs_under_way(data: Path) -> None:
    from multiprocessing import active_children

    # Clusters that other tests share are children of this process, too.
    others = set(active_children())
    # The second run would take an hour; the first one fails while it is under way.
    with pytest.raises(SweepError, match="seed 0, balanced failed"):
        run_sweep(
            PLAN[:2], places(data), partial(local_crew, 2, 1), run=slices.run_and_fail_or_sleep
        )
    assert (data / "sleeping.txt").exists()
    # Ended is not yet reaped: the pool's own thread may be the one that collects the exit code.
    wait_for(lambda: set(active_children()) <= others)


def test_a_worker_that_dies_is_replaced(data: Path) -> None:
    made = run_sweep(PLAN[:3], places(data), partial(local_crew, 1, 1), run=slices.run_and_die_once)
    assert made == 3
    assert (data / "died.txt").exists()


def test_a_run_that_fails_is_named(data: Path) -> None:
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(SweepError, match="mnist, seed 0, balanced failed: ZeroDivisionError: a bug"),
    ):
        run_sweep(PLAN, places(data), only(pool), run=slices.run_and_fail)


def test_an_error_of_the_system_is_told_as_it_is(data: Path) -> None:
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(SweepError, match=r"failed: FileNotFoundError: .*weights\.pt") as error,
    ):
        run_sweep(PLAN, places(data), only(pool), run=slices.run_without_weights)
    assert "make room" not in str(error.value)


SMALL_DISK = """
import resource, sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
sys.path.insert(0, {helpers!r})
import slices
from deconfuse.experiments.sweep import Crew, Places, plan_runs, run_sweep
# A record fits, the arrays of the balanced run do not.
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
data = Path({data!r})
with ThreadPoolExecutor(1) as pool:
    run_sweep(plan_runs(["mnist"], [1.0], range(1)), Places(data.parent / "records", data,
              data / "cache"), lambda: nullcontext(Crew(pool, 1)), run=slices.run_slice)
"""


def test_a_run_whose_arrays_do_not_fit_has_its_record_all_the_same(data: Path) -> None:
    script = SMALL_DISK.format(helpers=HELPERS, data=str(data))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(read_records(places(data).records)) == 2
    assert "The arrays of mnist, seed 0, balanced must be kept in" in done.stderr
    assert "Exception ignored" not in done.stderr
    assert not arrays_path(data / "cache", PLAN[0]).exists()
    assert not list((data / "cache").rglob("*.part"))


def test_a_given_pool_that_breaks_stops_the_sweep(data: Path) -> None:
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(SweepError, match=r"died 3 times in a row .*; 3 runs are left"),
    ):
        run_sweep(PLAN[:3], places(data), only(pool), run=slices.run_and_die)


def test_missing_data_stops_the_sweep_with_what_to_run(data: Path) -> None:
    for path in (data / "mnist").iterdir():
        path.unlink()
    from deconfuse.experiments import datasets
    from deconfuse.experiments.sweep import run_one

    datasets._load.cache_clear()
    with ThreadPoolExecutor(1) as pool, pytest.raises(InputError, match="deconfuse data prepare"):
        run_sweep(PLAN, places(data), only(pool), run=run_one)


FULL_DISK = """
import resource, sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
sys.path.insert(0, {helpers!r})
from making import make_arrays, make_record
from deconfuse.experiments.sweep import Crew, Places, SweepError, plan_runs, run_sweep

plan = plan_runs(["mnist"], [1.0, 0.1], range(2))

def run(config, data, cache):
    if config == plan[2]:
        # From here on no file may grow past 500 bytes, as if the disk were full.
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
    return make_record(config).to_json()

with ThreadPoolExecutor(1) as pool:
    try:
        places, crew = Places(Path({records!r}), Path(".")), nullcontext(Crew(pool, 1))
        run_sweep(plan, places, lambda: crew, run=run)
    except SweepError as error:
        print(error)
"""


def test_a_disk_that_fills_up_keeps_what_was_finished(tmp_path: Path) -> None:
    script = FULL_DISK.format(helpers=HELPERS, records=str(tmp_path / "records"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "could not be written to" in done.stdout, done.stderr
    assert "finished runs are kept" in done.stdout
    whole = read_records(tmp_path / "records")
    assert {record.config for record in whole} <= set(PLAN[:2])
    assert [path.suffix for path in (tmp_path / "records").rglob("*.*")] == [".json"] * len(whole)


def test_missing_packages_are_named_with_what_to_install(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deconfuse.experiments.sweep import run_one

    for package in ("torch", "distributed"):
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "deconfuse.experiments.training", raising=False)
    with pytest.raises(MissingExtraError, match=r"needs torch(.|\n)*deconfuse\[experiments\]"):
        run_one(PLAN[0], data, None)
    missing = pytest.raises(MissingExtraError, match=r"needs distributed(.|\n)*deconfuse\[dask\]")
    with missing, dask_crew("tcp://127.0.0.1:9"):
        pass


@pytest.mark.dask
def test_dask_cluster_with_a_worker_killed_on_the_way(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("distributed")
    # The workers run somewhere else than the sweep, whose folders are named from where it runs.
    monkeypatch.chdir(data.parent)
    elsewhere = data.parent / "elsewhere"
    elsewhere.mkdir()
    near = places(Path(data.name))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([HELPERS, os.environ.get("PYTHONPATH", "")]),
        "OMP_NUM_THREADS": "1",
        # A lost worker's runs go to the other at once.
        "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "10s",
    }
    host = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0"]
    file = data / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    options = ["--scheduler-file", str(file), "--no-dashboard"]
    processes = [subprocess.Popen([*host, *options, "--host", "127.0.0.1"], **quiet)]  # type: ignore[call-overload]
    try:
        wait_for(lambda: file.exists() and file.stat().st_size > 0)
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1"]
        worker += ["--no-nanny", "--local-directory", str(data / "dask")]
        quiet["cwd"] = elsewhere
        processes += [subprocess.Popen([*worker, *options], **quiet) for _ in range(2)]  # type: ignore[call-overload]
        import json

        address = json.loads(file.read_text())["address"]
        from distributed import Client

        with Client(address) as client:
            client.wait_for_workers(2, timeout=60)
        killed: list[RunConfig] = []

        def kill_one(config: RunConfig, record: object) -> None:
            if not killed:
                killed.append(config)
                processes[1].kill()

        made = run_sweep(
            PLAN, near, partial(dask_crew, address), run=slices.run_slowly, on_done=kill_one
        )
        assert made == len(PLAN)
        assert processes[1].wait(timeout=60) == -signal.SIGKILL
        assert {record.config for record in read_records(places(data).records)} == set(PLAN)
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.dask
def test_no_dask_scheduler(data: Path) -> None:
    require("distributed")
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(InputError, match=r"must answer at 'tcp://127\.0\.0\.1:9'"),
    ):
        run_sweep(PLAN, places(data), partial(dask_crew, "tcp://127.0.0.1:9"), run=slices.run_slice)
