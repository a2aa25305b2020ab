"""The files of the paper's four datasets: what they are, whether they are right, how to get them.

Names, sizes, checksums and official places are in ``catalogue.toml``. A file is used, and enters
the data folder, only after its content was checked. A download that was interrupted goes on where
it stopped.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import tarfile
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException
from importlib.resources import files as resources
from itertools import chain, product
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Literal
from urllib.request import Request, urlopen

from deconfuse._files import write_bytes
from deconfuse.errors import InputError, MissingExtraError

__all__ = [
    "CATALOGUE",
    "DATA_VARIABLE",
    "DataFile",
    "DatasetSpec",
    "Download",
    "FileReport",
    "data_folder",
    "dataset_spec",
    "dataset_title",
    "download",
    "inspect_dataset",
    "is_complete",
    "take_from",
]

_CHUNK = 1 << 20


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
    ``transform`` is done to the images before training: rotation is the paper's, scaling ours.
    """

    name: str
    title: str
    architecture: Literal["small", "large-3", "large-5"]
    transform: Literal["standardize", "rotate"]
    classes: tuple[str, ...]
    folder: str
    releases: tuple[tuple[DataFile, ...], ...]
    downloads: tuple[Download, ...]


def _spec(name: str, facts: dict[str, Any]) -> DatasetSpec:
    read = {
        "classes": tuple(facts["classes"]),
        "releases": tuple(tuple(DataFile(*file) for file in some) for some in facts["releases"]),
        "downloads": tuple(Download(*item) for item in facts["downloads"]),
    }
    return DatasetSpec(**{**facts, **read, "name": name})


_FACTS = tomllib.loads(resources(__package__).joinpath("catalogue.toml").read_text("utf-8"))

#: Every dataset by name.
CATALOGUE = {name: _spec(name, facts) for name, facts in _FACTS.items()}


def dataset_spec(name: str) -> DatasetSpec:
    """Return what is known of a dataset, or raise where there is none of that name."""
    if name not in CATALOGUE:
        known = ", ".join(CATALOGUE)
        raise InputError(f"`dataset` must be one of {known}, got {name!r}.")
    return CATALOGUE[name]


def dataset_title(name: str) -> str:
    """Return what figures and tables call a dataset."""
    return CATALOGUE[name].title if name in CATALOGUE else name


#: The environment variable that names the data folder.
DATA_VARIABLE = "DECONFUSE_DATA"

#: How a file may be packed, as the end of its name, and how to unpack it.
_PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
}

#: What unpacking raises when the bytes are not what they should be.
_BROKEN_PACKING = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the data folder: the one given, else ``$DECONFUSE_DATA``, else the user's cache."""
    if folder is not None:
        return Path(folder).expanduser()
    named = os.environ.get(DATA_VARIABLE)
    if named:
        return Path(named).expanduser()
    try:
        from platformdirs import user_cache_path
    except ImportError as error:
        raise MissingExtraError.of(
            "platformdirs", extra="experiments", feature="The default data folder"
        ) from error
    return user_cache_path("deconfuse", appauthor=False) / "data"


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file of a dataset in the data folder: its content, or what is wrong with it."""

    file: DataFile
    content: bytes = b""
    problem: str = ""

    @property
    def is_missing(self) -> bool:
        """Whether there is no file at all."""
        return self.problem == f"{self.file.name} is missing."


def inspect_dataset(folder: Path, spec: DatasetSpec) -> list[FileReport]:
    """Read every file of the first release that is there whole, else of the one that was meant."""
    found = []
    for release in spec.releases:
        found.append([check_file(folder, spec, file) for file in release])
        if not any(report.problem for report in found[-1]):
            return found[-1]
    # Of several incomplete releases, the one with something there.
    return max(found, key=lambda reports: sum(not report.is_missing for report in reports))


def check_file(folder: Path, spec: DatasetSpec, file: DataFile) -> FileReport:
    """Read one file of a dataset wherever the data folder has it right, plain or packed."""
    report = FileReport(file, problem=f"{file.name} is missing.")
    places = dict.fromkeys((spec.name, f"{spec.name}/{spec.folder}", spec.folder))
    for place, packing in product(places, _PACKINGS):
        path = folder / place / (file.name + packing)
        if path.is_file():
            report = unpack(path.read_bytes(), packing, file, path)
            if not report.problem:
                break
    return report


def unpack(content: bytes, packing: str, file: DataFile, path: PurePath) -> FileReport:
    """Return the plain content of a file if its checksum is right."""
    try:
        plain = _PACKINGS[packing](content)
    except _BROKEN_PACKING as error:
        problem = f"{path} must be a complete packed file, but it cannot be unpacked ({error})."
        return FileReport(file, problem=problem)
    digest = hashlib.sha256(plain).hexdigest()
    if digest == file.sha256:
        return FileReport(file, plain)
    problem = (
        f"{path} must have {file.size} bytes with the sha256 {file.sha256}, "
        f"got {len(plain)} bytes with {digest}."
    )
    return FileReport(file, problem=problem)


def is_complete(folder: Path, spec: DatasetSpec) -> bool:
    """Return whether the data folder holds the dataset, checked."""
    return not any(report.problem for report in inspect_dataset(folder, spec))


def take_from(source: Path, folder: Path, spec: DatasetSpec) -> None:
    """Take a dataset's files from a folder, an archive or a single file into the data folder.

    Raises
    ------
    InputError
        When data folder and source together hold no complete release. The files that were
        right are kept, so the rest may come from another source.
    """
    files = chain(*spec.releases)
    wanted = {file.name + packing: (file, packing) for file, packing in product(files, _PACKINGS)}
    target = folder / spec.name
    target.mkdir(parents=True, exist_ok=True)
    wrong = []
    try:
        for place, read in _entries(source):
            file, packing = wanted.get(place.name, (None, ""))
            if file is None or not check_file(folder, spec, file).problem:
                continue
            content = read()
            if problem := unpack(content, packing, file, place).problem:
                # MNIST and Fashion-MNIST have the same file names: the right one may come later.
                wrong.append(problem)
            else:
                write_bytes(target / place.name, content)
    except (*_BROKEN_PACKING, tarfile.TarError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{source} must be a whole archive, but it ends early or is damaged ({error}).",
            hint="get it again; files that were taken from it before that are right, and kept.",
        ) from error
    lacking = [report.problem for report in inspect_dataset(folder, spec) if report.problem]
    if lacking:
        raise InputError(
            f"{source} must hold all files of {spec.title}, but: {' '.join([*lacking, *wrong])}",
            hint="the right files are kept; take the rest from another place, or leave --from out "
            "to download it.",
        )


def _entries(source: Path) -> Iterator[tuple[PurePath, Callable[[], bytes]]]:
    """Yield the place of each file in a folder or archive, or of a file itself; and how to read."""
    if source.is_dir():
        for path in sorted(path for path in source.rglob("*") if path.is_file()):
            yield path.relative_to(source), path.read_bytes
    elif tarfile.is_tarfile(source):
        with tarfile.open(source) as archive:
            for member in archive:
                if (stream := archive.extractfile(member)) is not None:
                    yield PurePosixPath(member.name), stream.read
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as zipped:
            for entry in zipped.infolist():
                yield PurePosixPath(entry.filename), partial(zipped.read, entry)
    else:
        yield Path(source.name), source.read_bytes


def download(
    folder: Path, spec: DatasetSpec, progress: Callable[[int, int], None] = lambda done, of: None
) -> None:
    """Download what the data folder lacks of a dataset from its official places.

    Bytes are gathered in a file that ends in ``.part``. It stays when the download is interrupted,
    and the next call asks the server for the rest. It is used only when its checksum is right, and
    removed when it is not. ``progress`` is told how many bytes there are, and of how many.
    """
    target = folder / spec.name
    target.mkdir(parents=True, exist_ok=True)
    files = {f"{file.name}.gz": file for file in spec.releases[0]}
    for item in spec.downloads:
        if item.is_archive:
            is_there = is_complete(folder, spec)
        else:
            is_there = not check_file(folder, spec, files[item.name]).problem
        if is_there:
            continue
        part = target / f"{item.name}.part"
        _fetch(item, part, progress)
        if item.is_archive:
            take_from(part, folder, spec)
            part.unlink()
        else:
            os.replace(part, target / item.name)


def _fetch(item: Download, part: Path, progress: Callable[[int, int], None]) -> None:
    """Bring all bytes of a download into ``part``, checked."""
    done = part.stat().st_size if part.exists() else 0
    again = f"run it again to go on from there, or use --from with files that you have ({part})."
    if done < item.size:
        request = Request(item.url, headers={"Range": f"bytes={done}-"} if done else {})
        try:
            with urlopen(request, timeout=30) as response:
                # 206: the server sends the rest. Otherwise it sends everything.
                is_rest = done > 0 and response.status == 206
                done = done if is_rest else 0
                with part.open("ab" if is_rest else "wb") as stream:
                    while chunk := response.read(_CHUNK):
                        stream.write(chunk)
                        done += len(chunk)
                        progress(done, item.size)
        except (OSError, HTTPException) as error:
            raise InputError(
                f"{item.url} must give the canonical file, but: {error}", hint=again
            ) from error
    if done < item.size:
        raise InputError(
            f"{item.url} must give {item.size} bytes, but the connection ended after {done}.",
            hint=again,
        )
    with part.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != item.sha256:
        part.unlink()
        raise InputError(
            f"{item.url} must give the canonical file with the sha256 {item.sha256}, got {digest}.",
            hint="try again later, or use --from with files from another place.",
        )
