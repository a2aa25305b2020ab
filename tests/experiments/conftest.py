"""A data folder with small generated datasets in the real formats."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from deconfuse.experiments import datasets
from deconfuse.experiments.config import DATASETS
from deconfuse.experiments.data_files import CATALOGUE

# Workers of a sweep must be able to import the helpers by name; they inherit this path.
sys.path.insert(0, str(Path(__file__).parent))

import slices


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a data folder with a slice of every dataset, known to the catalogue."""
    folder = tmp_path / "data"
    for name in DATASETS:
        slices.write_slice(folder, name)
        monkeypatch.setitem(CATALOGUE, name, slices.slice_spec(folder, name))
    datasets._load.cache_clear()
    return folder
