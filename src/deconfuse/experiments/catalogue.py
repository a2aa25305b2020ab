"""The paper's four datasets: their files, checksums, official places and class names.

The facts are in ``catalogue.toml``.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from deconfuse.errors import InputError

__all__ = ["CATALOGUE", "DataFile", "DatasetSpec", "Download", "dataset_spec"]


@dataclass(frozen=True, slots=True)
class DataFile:
    """One canonical file. The checksum is that of its plain content, compressed on disk or not."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Download:
    """One file to fetch from an official place: a compressed file, or an archive of several."""

    url: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.url.rsplit("/", 1)[-1]

    @property
    def is_archive(self) -> bool:
        """Whether it holds several files."""
        return ".tar" in self.name


@dataclass(frozen=True, slots=True)
class DatasetSpec:
    """What is known of one dataset before a byte of it is read.

    ``releases`` lists the sets of files that hold the whole dataset; any one of them will do.
    """

    name: str
    title: str
    architecture: Literal["small", "large-3", "large-5"]
    is_rotated: bool
    classes: tuple[str, ...]
    folder: str
    releases: tuple[tuple[DataFile, ...], ...]
    downloads: tuple[Download, ...]

    @property
    def transform(self) -> Literal["standardize", "rotate"]:
        """What is done to the images before training: rotation is the paper's, scaling ours."""
        return "rotate" if self.is_rotated else "standardize"

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files of every release."""
        return tuple(file for release in self.releases for file in release)


def _spec(name: str, facts: dict[str, Any]) -> DatasetSpec:
    return DatasetSpec(
        name=name,
        title=facts["title"],
        architecture=facts["architecture"],
        is_rotated=facts["is_rotated"],
        classes=tuple(facts["classes"]),
        folder=facts["folder"],
        releases=tuple(tuple(DataFile(*file) for file in files) for files in facts["releases"]),
        downloads=tuple(Download(*item) for item in facts["downloads"]),
    )


_FACTS = tomllib.loads(files(__package__).joinpath("catalogue.toml").read_text("utf-8"))

#: Every dataset by name.
CATALOGUE = {name: _spec(name, facts) for name, facts in _FACTS.items()}


def dataset_spec(name: str) -> DatasetSpec:
    """Return what is known of a dataset, or raise where there is none of that name."""
    if name not in CATALOGUE:
        known = ", ".join(CATALOGUE)
        raise InputError(f"`dataset` must be one of {known}, got {name!r}.")
    return CATALOGUE[name]
