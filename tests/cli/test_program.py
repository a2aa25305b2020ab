"""The program itself: help, version, completion, exit codes, and what it loads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections import Counter
from types import ModuleType

import pytest

import deconfuse as dc
from deconfuse.cli.console import show_warnings
from tests.support import require

COMMANDS = ["demo", "report", "normalize", "diagnose", "compare", "data", "reproduce"]
PROGRAM = [sys.executable, "-c", "from deconfuse.cli import main; main()"]


def shell(*args: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *args], capture_output=True, text=True, timeout=120, **options)


def test_help_lists_every_command_and_the_exit_codes(run):
    ran = run("--help")
    assert ran.code == 0
    for command in COMMANDS:
        assert f" {command} " in ran.out
    assert "Exit codes: 0 all went well; 1 not possible" in ran.out
    assert "--install-completion" in ran.out
    assert run("-h").out == ran.out


@pytest.mark.parametrize("command", ["data", "reproduce"])
def test_the_list_of_commands_says_what_the_experiments_say(run, command):
    # Their lines are written twice, so that the list loads none of them.
    listed = " ".join(run("--help").out.replace("│", " ").split())
    line = run(command, "--help").out.splitlines()[3].strip()
    assert f" {command} {line} " in listed


def test_no_command_shows_the_help(run):
    ran = run()
    assert "Usage: deconfuse" in ran.out + ran.err


@pytest.mark.parametrize(
    "command", [[c] for c in COMMANDS[:5]] + [["reproduce"], ["data", "prepare"]]
)
def test_every_command_has_help_with_examples(run, command):
    ran = run(*command, "--help")
    assert ran.code == 0
    assert "Examples" in ran.out
    assert f"deconfuse {' '.join(command)}" in ran.out


def test_version(run):
    ran = run("--version")
    assert (ran.code, ran.out) == (0, f"deconfuse {dc.__version__}\n")


def test_an_unknown_command_is_refused(run):
    ran = run("normalise")
    assert ran.code == 2
    assert "No such command 'normalise'" in ran.err


def test_help_and_data_load_neither_torch_nor_matplotlib():
    code = (
        "import sys\n"
        "from deconfuse.cli import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit:\n    pass\n"
        "print([m for m in ('torch', 'matplotlib', 'duckdb', 'pandas') if m in sys.modules])"
    )
    for args in (["--help"], ["data", "--help"], ["reproduce", "--help"], ["normalize", "--help"]):
        ended = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True)
        assert ended.stdout.splitlines()[-1] == "[]", args


def test_without_the_extra_the_install_command_is_named():
    blocked = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('torch', 'platformdirs'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}')\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from deconfuse.cli import main\nmain(sys.argv[1:])"
    )
    args = ["data", "verify", "--dataset", "mnist"]
    environment = {key: value for key, value in os.environ.items() if key != "DECONFUSE_DATA"}
    ended = subprocess.run(
        [sys.executable, "-c", blocked, *args], capture_output=True, text=True, env=environment
    )
    assert ended.returncode == 1, ended.stderr
    assert "needs platformdirs, which is not installed." in ended.stderr
    assert 'hint: pip install "deconfuse[experiments]"' in ended.stderr
    assert "Traceback" not in ended.stderr
    helped = subprocess.run([sys.executable, "-c", blocked, "--help"], capture_output=True)
    assert helped.returncode == 0


def test_a_reader_that_leaves_is_no_error_to_tell(tmp_path):
    require(programs=("head", "sh"))
    cm = dc.ConfusionMatrix.from_counts([[1 + i * j for i in range(900)] for j in range(900)])
    cm.save(tmp_path / "m.csv")
    command = " ".join(f"'{part}'" for part in PROGRAM)
    ended = subprocess.run(
        ["sh", "-c", f"{command} normalize m.csv -m all -f csv | head -c 20"],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert ended.stdout == '"true \\ predicted (a'
    assert ended.stderr == f"m.csv: {cm.total:,} samples of 900 classes\n"


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_an_interrupt_ends_quietly_with_130():
    waiting = subprocess.Popen(
        [*PROGRAM, "normalize", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # Tests started in the background of a shell ignore interrupts, and so would their child.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        # More than a pipe holds: once it is written, the program is reading, and waits for more.
        waiting.stdin.write("label,prediction\n" + "cat,dog\n" * 100_000)
        waiting.stdin.flush()
        waiting.send_signal(signal.SIGINT)
        _, err = waiting.communicate(timeout=60)
    finally:
        waiting.kill()
    assert waiting.returncode == 130
    assert "Traceback" not in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_told_in_one_line(predictions):
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [*PROGRAM, "normalize", str(predictions), "-f", "csv"],
            stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert ended.returncode == 1
    assert "error: No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_memory_that_does_not_suffice_is_told(run, predictions, monkeypatch):
    def fail(*args, **options):
        raise MemoryError("Unable to allocate 8.00 TiB")

    monkeypatch.setattr(dc.ConfusionMatrix, "normalize", fail)
    ran = run("normalize", predictions)
    assert ran.code == 1
    assert "error: there is not enough memory. Unable to allocate 8.00 TiB" in ran.err


def test_names_that_a_terminal_cannot_show_do_not_end_the_program(tmp_path):
    (tmp_path / "p.csv").write_text("label,prediction\n猫,猫\n犬,猫\n犬,犬\n", encoding="utf-8")
    ended = shell(
        "normalize", "p.csv", cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert ended.returncode == 0
    assert r"\u732b" in ended.stdout


def test_colours_are_for_terminals_that_want_them(tmp_path, predictions):
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    coloured = shell(
        "normalize",
        str(predictions),
        env={**environment, "FORCE_COLOR": "1", "COLORTERM": "truecolor"},
    )
    assert "\x1b[38;5;" in coloured.stdout
    plain = shell(
        "normalize", str(predictions), env={**environment, "FORCE_COLOR": "1", "NO_COLOR": "1"}
    )
    assert "\x1b[38;5;" not in plain.stdout


def test_completion_knows_the_commands(tmp_path):
    ended = shell(
        env={**os.environ, "_DECONFUSE_COMPLETE": "complete_bash", "COMP_WORDS": "deconfuse n",
             "COMP_CWORD": "1"}
    )  # fmt: skip
    assert "normalize" in ended.stdout


def test_other_warnings_keep_their_usual_form():
    with pytest.warns(UserWarning, match="not ours"), show_warnings():
        warnings.warn("not ours", UserWarning, stacklevel=1)


def test_report_does_everything_once(run, predictions, monkeypatch):
    """Each file is inspected and its header read once; `scale` thrice, `diagnose` once."""
    import deconfuse.reading.prediction_table as tables
    from deconfuse import normalization
    from deconfuse.reading import files
    from deconfuse.reporting import study
    from deconfuse.statistics import estimate_intervals

    calls: Counter[str] = Counter()

    def counted(module: ModuleType, name: str) -> None:
        inner = getattr(module, name)

        def call(*args: object, **options: object) -> object:
            calls[f"{module.__name__.split('.')[-1]}.{name}"] += 1
            return inner(*args, **options)

        monkeypatch.setattr(module, name, call)

    for module, name in (
        (tables, "inspect_file"),
        (files, "_header_of"),
        (tables, "connect"),
        (tables, "make_scans"),
        (normalization, "solve"),
        (estimate_intervals, "solve"),
        (study, "diagnose"),
    ):
        counted(module, name)
    ran = run("report", predictions)
    assert ran.code == 0
    solved = {
        name: calls.pop(name, 0) for name in ("normalization.solve", "estimate_intervals.solve")
    }
    assert calls == {
        "prediction_table.inspect_file": 1,
        "files._header_of": 1,
        "prediction_table.connect": 1,
        "prediction_table.make_scans": 1,
        "study.diagnose": 1,
    }
    # At epsilon, a tenth and ten times of it; the estimate scales the matrix that it found.
    assert 1 <= solved["normalization.solve"] <= 3, solved
    assert solved["estimate_intervals.solve"] <= 1, solved
