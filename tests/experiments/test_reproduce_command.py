"""The commands, as a person types them."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest
from making import make_record
from tests.support import require
from typer.testing import CliRunner

from deconfuse.cli.app import app
from deconfuse.experiments import sweep
from deconfuse.experiments.records import read_records, write_record
from deconfuse.experiments.sweep import plan_runs

RUNNER = CliRunner()


def test_prepare_from_and_verify(data: Path, tmp_path: Path) -> None:
    target = str(tmp_path / "new")
    lacking = RUNNER.invoke(app, ["data", "verify", "--dataset", "mnist", "--data", target])
    assert lacking.exit_code == 1
    assert "missing" in lacking.output
    assert "deconfuse data prepare" in lacking.output
    taken = RUNNER.invoke(
        app, ["data", "prepare", "--dataset", "mnist", "--from", str(data), "--data", target]
    )
    assert taken.exit_code == 0, taken.output
    assert "MNIST: ready" in taken.output
    fine = RUNNER.invoke(app, ["data", "verify", "--dataset", "mnist", "--data", target])
    assert fine.exit_code == 0
    again = RUNNER.invoke(
        app, ["data", "prepare", "--dataset", "mnist", "--from", str(data), "--data", target]
    )
    assert "already there, and checked" in again.output


def test_of_several_datasets_those_that_are_there_are_taken(data: Path, tmp_path: Path) -> None:
    for path in (data / "cifar10").iterdir():
        path.unlink()
    arguments = ["data", "prepare", "--from", str(data), "--data", str(tmp_path / "new")]
    result = RUNNER.invoke(app, arguments)
    assert result.exit_code == 1
    assert "STL-10: ready" in result.output
    assert "must hold all files of CIFAR-10" in " ".join(result.output.split())
    assert "Not ready: CIFAR-10." in result.output


def test_a_place_that_is_not_there_is_named_once(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["data", "prepare", "--from", str(tmp_path / "nowhere")])
    assert result.exit_code == 2
    # The box around the message wraps where the path is long.
    assert "does not exist" in " ".join(result.output.replace("│", "").split())


def test_verify_names_a_wrong_file(data: Path) -> None:
    path = data / "mnist" / "train-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes() + b"x")
    result = RUNNER.invoke(app, ["data", "verify", "--dataset", "mnist", "--data", str(data)])
    assert result.exit_code == 1
    assert "wrong" in result.output


def test_reproduce_from_data_to_text(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("torch")
    # The slice is known to this process only, so the runs stay in it.
    with ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(sweep, "local_crew", lambda *_: nullcontext(sweep.Crew(pool, 1)))
        results = tmp_path / "results"
        options = ["--data", str(data), "--results", str(results), "--no-keep-arrays"]
        arguments = ["reproduce", "--dataset", "mnist", "--alpha", "1", "--seeds", "2", *options]
        result = RUNNER.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "4/4 mnist, seed 1, alpha 1" in result.output
    assert "not decided" in result.output
    assert len(read_records(results / "records")) == 4
    assert "# What became of the paper's claims" in (results / "REPRODUCTION.md").read_text()
    assert not (data / "cache").exists()


def test_only_report_trains_nothing(tmp_path: Path) -> None:
    for config in plan_runs(["mnist"], [1.0, 0.1], range(3)):
        write_record(tmp_path / "records", make_record(config))
    options = ["--only-report", "--data", str(tmp_path)]
    result = RUNNER.invoke(app, ["reproduce", *options, "--results", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "figures" / "overlap.png").stat().st_size > 10_000


def test_experiment_2_needs_no_balanced_models(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[bool] = []

    def fake(configs: list, *_: object, **__: object) -> int:  # type: ignore[type-arg]
        asked.extend(config.is_balanced for config in configs)
        for config in configs:
            write_record(tmp_path / "records", make_record(config))
        return 0

    monkeypatch.setattr(sweep, "run_sweep", fake)
    arguments = ["reproduce", "--experiment", "2", "--seeds", "1", "--dataset", "mnist"]
    result = RUNNER.invoke(app, [*arguments, "--results", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert asked == [False] * 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dataset", "imagenet"], "`--dataset` must be one of mnist, fashion-mnist"),
        (["--alpha", "0.5"], "`--alpha` must be one of 10, 3, 1, 0.3, 0.1, got 0.5"),
        (["--seeds", "0"], "Invalid value for '--seeds'"),
        (["--workers", "0"], "Invalid value for '--workers'"),
        (["--threads", "-1"], "Invalid value for '--threads'"),
        (["--sampling", "odd"], "`--sampling` must be one of balanced, relative, budget"),
        (["--workers", "2", "--dask", "x"], "`--dask` must come without `--workers`"),
        (["--only-report", "--seeds", "30"], "must come without `--seeds`"),
        (["--only-report", "--no-keep-arrays"], "must come without `--keep-arrays`"),
    ],
)
def test_bad_options(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["reproduce", *arguments, "--results", str(tmp_path)])
    assert result.exit_code == 2
    # Colours, and lines in a box around what Typer finds itself.
    plain = re.sub(r"\x1b\[[0-9;]*m|[│\n]", " ", result.output)
    assert message in " ".join(plain.split())


def test_errors_are_a_line_or_two_without_a_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "deconfuse", "reproduce"]
    options = ["--dataset", "mnist", "--seeds", "1", "--data", str(tmp_path)]
    done = subprocess.run(
        [*command, *options, "--results", str(tmp_path / "r")], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "error: MNIST must be in the data folder" in done.stderr
    assert "deconfuse data prepare --dataset mnist" in done.stderr
