"""Check the datasets in the data folder; fetch them, or take them from files at hand.

A file enters the data folder only after its content was checked, and whole.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Literal

from deconfuse._files import write_bytes
from deconfuse.errors import InputError, MissingExtraError
from deconfuse.experiments.catalogue import DataFile, DatasetSpec, Download
from deconfuse.experiments.datasets import PACKINGS, find_file, read_checked

__all__ = ["FileReport", "check_file", "download", "is_complete", "take_from", "verify"]

#: What unpacking raises when the bytes are not what they should be.
_UNPACKING = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)

#: How names of archives end.
_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".txz", ".tar.xz", ".tbz2", ".tar.bz2")


@dataclass(frozen=True, slots=True)
class FileReport:
    """How one file of a dataset stands."""

    dataset: str
    file: DataFile
    state: Literal["ok", "missing", "wrong"]
    path: Path | None = None
    problem: str = ""


def verify(folder: Path, spec: DatasetSpec) -> list[FileReport]:
    """Check every file of a dataset: the first release that is there whole, else the canonical one.

    Parameters
    ----------
    folder : Path
        The data folder.
    spec : DatasetSpec
        Which dataset.
    """
    reports = [[check_file(folder, spec, file) for file in release] for release in spec.releases]
    for report in reports:
        if all(item.state == "ok" for item in report):
            return report
    # Of several incomplete releases, the one with something there is the one that was meant.
    return max(reports, key=lambda report: sum(item.state != "missing" for item in report))


def check_file(folder: Path, spec: DatasetSpec, file: DataFile) -> FileReport:
    """Check one file of a dataset, where the data folder has it."""
    path = find_file(folder, spec, file)
    if path is None:
        return FileReport(spec.name, file, "missing")
    try:
        read_checked(path, file)
    except InputError as error:
        return FileReport(spec.name, file, "wrong", path, error.message)
    return FileReport(spec.name, file, "ok", path)


def is_complete(folder: Path, spec: DatasetSpec) -> bool:
    """Return whether the data folder holds the dataset, checked."""
    return all(report.state == "ok" for report in verify(folder, spec))


def take_from(source: Path, folder: Path, spec: DatasetSpec) -> list[Path]:
    """Take a dataset's files from a folder or an archive into the data folder.

    Parameters
    ----------
    source : Path
        A folder, searched through and through, or a tar or zip archive.
    folder : Path
        The data folder.
    spec : DatasetSpec
        Which dataset.

    Returns
    -------
    list of Path
        The files as they are in the data folder, those that were there before included.

    Raises
    ------
    InputError
        When data folder and source together hold no complete release. The files that were
        right are kept, so the rest may come from another source.
    """
    if not source.exists():
        raise InputError(
            f"The source must be a folder or an archive, but {source} does not exist.",
            hint="give the folder or archive that holds the dataset's files.",
        )
    wanted = {file.name + packing: (file, packing) for file in spec.files for packing in PACKINGS}
    target = folder / spec.name
    target.mkdir(parents=True, exist_ok=True)
    reports = [check_file(folder, spec, file) for file in spec.files]
    have = {r.file.name: r.path for r in reports if r.state == "ok" and r.path is not None}
    wrong: dict[str, list[str]] = {}
    try:
        for place, read in _entries(source):
            file, packing = wanted.get(place.name, (None, ""))
            if file is None or file.name in have:
                continue
            content = read()
            problem = _problem(content, packing, file)
            if problem:
                # MNIST and Fashion-MNIST have the same file names: the right one may come later.
                wrong.setdefault(file.name, []).append(f"{place} {problem}")
                continue
            write_bytes(target / place.name, content)
            have[file.name] = target / place.name
    except (*_UNPACKING, tarfile.TarError, zipfile.BadZipFile) as error:
        raise _not_whole(source, str(error)) from error
    for release in spec.releases:
        if all(file.name in have for file in release):
            return [have[file.name] for file in release]
    raise _incomplete(source, spec, set(have), wrong)


def _incomplete(
    source: Path, spec: DatasetSpec, have: set[str], wrong: dict[str, list[str]]
) -> InputError:
    """Return the error for the release of which most was found."""
    release = max(
        spec.releases, key=lambda files: sum(f.name in have or f.name in wrong for f in files)
    )
    lacking = [file for file in release if file.name not in have]
    for file in lacking:
        if file.name in wrong:
            return InputError(
                f"{file.name} in {source} must have the sha256 {file.sha256}, "
                f"but {'; '.join(wrong[file.name])}.",
                hint=f"it is not {spec.title}'s file; get it from its official place.",
            )
    names = ", ".join(file.name for file in lacking)
    return InputError(
        f"{source} must hold all files of {spec.title}, but {names} is not in it.",
        hint="what was in it is kept; take the rest from another place, or leave --from out to "
        "download it.",
    )


def _entries(source: Path) -> Iterator[tuple[PurePath, Callable[[], bytes]]]:
    """Yield the place of each file in a folder or archive, and how to read it."""
    if source.is_dir():
        for path in _files_below(source):
            yield path.relative_to(source), path.read_bytes
    elif tarfile.is_tarfile(source):
        with tarfile.open(source) as archive:
            for member in archive:
                if member.isfile():
                    yield PurePosixPath(member.name), partial(_member, archive, member)
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as zipped:
            for entry in zipped.infolist():
                if not entry.is_dir():
                    yield PurePosixPath(entry.filename), partial(zipped.read, entry)
    elif any(source.name.lower().endswith(end) for end in _ARCHIVES):
        raise _not_whole(source, "it has no directory of files that can be read")
    else:
        yield Path(source.name), source.read_bytes


def _files_below(source: Path) -> Iterator[Path]:
    """Yield the files of a folder and its subfolders, linked ones too, each folder once."""
    seen: set[str] = set()
    for folder, subfolders, names in os.walk(source, followlinks=True):
        seen.add(os.path.realpath(folder))
        # A link to a folder above would be followed for ever.
        subfolders[:] = [
            name
            for name in sorted(subfolders)
            if os.path.realpath(os.path.join(folder, name)) not in seen
        ]
        for name in sorted(names):
            if (path := Path(folder, name)).is_file():
                yield path


def _not_whole(source: Path, problem: str) -> InputError:
    return InputError(
        f"{source} must be a whole archive, but it ends early or is damaged ({problem}).",
        hint="get it again; files that were taken from it before that are right, and kept.",
    )


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member)
    return b"" if stream is None else stream.read()


def _problem(content: bytes, packing: str, file: DataFile) -> str:
    """Return what is wrong with a file's content, or nothing."""
    try:
        if packing == ".gz":
            content = gzip.decompress(content)
        elif packing == ".xz":
            content = lzma.decompress(content)
    except _UNPACKING as error:
        return f"is not whole and cannot be unpacked ({error})"
    if len(content) != file.size:
        return f"has {len(content)} bytes instead of {file.size}"
    digest = hashlib.sha256(content).hexdigest()
    return "" if digest == file.sha256 else f"has {digest}"


def download(folder: Path, spec: DatasetSpec, progressbar: Any = False) -> list[Path]:
    """Download a dataset from its official places into the data folder, with pooch.

    A file that is there and right is not fetched again. ``progressbar`` is handed on to pooch.
    """
    try:
        import pooch
        import requests
    except ImportError as error:
        raise MissingExtraError.of(
            "pooch", extra="experiments", feature="`deconfuse data prepare`"
        ) from error
    # It would say what the progress bar says.
    pooch.get_logger().setLevel("WARNING")
    written: list[Path] = []
    for item in spec.downloads:
        if (there := _there(folder, spec, item)) is not None:
            written += there
            continue
        target = folder / spec.name
        try:
            fetched = pooch.retrieve(
                item.url,
                known_hash=f"sha256:{item.sha256}",
                fname=item.name,
                path=target,
                downloader=pooch.HTTPDownloader(timeout=30, progressbar=progressbar),
            )
        except (requests.RequestException, ValueError) as error:
            # A checksum that differs is a ValueError; what was fetched is already gone. A refusal
            # leaves its connection open.
            if isinstance(error, requests.HTTPError) and error.response is not None:
                error.response.close()
            raise InputError(
                f"{item.url} must give the canonical file, but: {error}",
                hint="try again later, or use --from with files from another place.",
            ) from error
        if item.is_archive:
            written += take_from(Path(fetched), folder, spec)
            Path(fetched).unlink()
        else:
            written.append(Path(fetched))
    return written


def _there(folder: Path, spec: DatasetSpec, item: Download) -> list[Path] | None:
    """Return the files that a download would give, when the data folder has them all, checked."""
    if item.is_archive:
        reports = verify(folder, spec)
    else:
        names = {f"{file.name}{end}": file for file in spec.files for end in PACKINGS}
        reports = [check_file(folder, spec, names[item.name])]
    paths = [report.path for report in reports if report.state == "ok" and report.path]
    return paths if len(paths) == len(reports) else None
