"""What `import deconfuse` loads, and what it must not."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import deconfuse as dc

HEAVY = ("torch", "matplotlib", "duckdb", "pandas", "polars", "pyarrow", "sklearn", "rich", "typer")

_PROBE = """
import json, sys
{code}
print(json.dumps(sorted(sys.modules)))
"""


def _loaded(code: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", _PROBE.format(code=code)], capture_output=True, text=True, check=True
    )
    return set(json.loads(run.stdout))


def test_the_package_alone_loads_nothing_heavy():
    loaded = _loaded("import deconfuse")
    assert "deconfuse" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_counting_and_normalizing_load_nothing_heavy():
    code = (
        "import deconfuse as dc\n"
        "cm = dc.ConfusionMatrix.from_predictions([0, 1, 1], [0, 1, 0])\n"
        "cm.normalize('bi').matrix\n"
    )
    assert _loaded(code).isdisjoint(set(HEAVY) - {"sklearn"})


def test_a_diagnosis_loads_no_large_part_of_scipy_that_it_does_not_need():
    loaded = _loaded(
        "import deconfuse as dc\ntext = str(dc.diagnose([[50, 9, 1], [2, 40, 4], [0, 3, 30]]))"
    )
    assert "scipy.special" in loaded
    assert loaded.isdisjoint({"scipy.stats", "scipy.optimize", "scipy.cluster"})


def test_help_loads_no_arrays():
    loaded = _loaded(
        "import contextlib\n"
        "from deconfuse.cli import main\n"
        "with contextlib.redirect_stdout(sys.stderr), contextlib.suppress(SystemExit):\n"
        "    main(['--help'])"
    )
    assert "typer" in loaded
    assert "numpy" not in loaded


def test_the_probe_sees_what_is_loaded():
    assert "matplotlib" in _loaded("import deconfuse, matplotlib")


def test_the_program_runs_as_a_module():
    run = subprocess.run(
        [sys.executable, "-m", "deconfuse", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["deconfuse", dc.__version__]


@pytest.mark.parametrize("name", dc.__all__)
def test_every_public_name_loads(name):
    assert getattr(dc, name) is not None
