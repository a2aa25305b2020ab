"""What the project says about itself is said once, or is equal everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import deconfuse

ROOT = Path(__file__).parents[2]

if not (ROOT / "pyproject.toml").exists():
    pytest.skip("needs the repository, not an installed package", allow_module_level=True)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_version_comes_from_one_place():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/deconfuse/_version.py"
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert cited[1] == deconfuse.__version__


def test_every_dependency_has_a_floor():
    # `.ci/oldest` installs exactly these floors.
    for requirement in PROJECT["project"]["dependencies"]:
        assert re.fullmatch(r"[\w.-]+>=[\w.]+", requirement), requirement


def test_the_package_is_typed_and_says_so():
    assert (ROOT / "src/deconfuse/py.typed").exists()
    assert "Typing :: Typed" in PROJECT["project"]["classifiers"]


def test_errors_name_extras_that_exist():
    extras = set(PROJECT["project"]["optional-dependencies"])
    named = {
        extra
        for path in (ROOT / "src/deconfuse").rglob("*.py")
        for extra in re.findall(r'extra="([\w-]+)"', path.read_text())
    }
    assert named
    assert named <= extras
