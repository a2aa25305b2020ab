"""Get the datasets into the data folder, from their official places or from files at hand.

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
from pathlib import Path
from typing import Any, Literal

from deconfuse._files import write_bytes
from deconfuse.errors import InputError, MissingExtraError
from deconfuse.experiments.catalogue import DataFile, DatasetSpec, Download
from deconfuse.experiments.datasets import PACKINGS, find_file, read_checked

__all__ = ["FileReport", "ResumingDownloader", "download", "take_from", "verify"]

#: Told how many bytes have come, of how many.
Progress = Callable[[int, int], None]

#: Small, because what is in an unfinished chunk is lost when a connection breaks.
_CHUNK = 1 << 16

#: What unpacking raises when the bytes are not what they should be.
_UNPACKING = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)


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
    reports = [[_report(folder, spec, file) for file in release] for release in spec.releases]
    for report in reports:
        if all(item.state == "ok" for item in report):
            return report
    # Of several incomplete releases, the one with something there is the one that was meant.
    return max(reports, key=lambda report: sum(item.state != "missing" for item in report))


def _report(folder: Path, spec: DatasetSpec, file: DataFile) -> FileReport:
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
        The files as they are in the data folder.

    Raises
    ------
    InputError
        When the source holds no complete release, or a file in it is not the canonical one.
    """
    if not source.exists():
        raise InputError(
            f"The source must be a folder or an archive, but {source} does not exist.",
            hint="give the folder or archive that holds the dataset's files.",
        )
    wanted = {file.name + packing: (file, packing) for file in spec.files for packing in PACKINGS}
    target = folder / spec.name
    target.mkdir(parents=True, exist_ok=True)
    taken: dict[str, Path] = {}
    try:
        for name, read in _entries(source, spec):
            file, packing = wanted.get(name, (None, ""))
            if file is None or file.name in taken:
                continue
            content = read()
            _check(content, packing, file, f"{name} in {source}")
            write_bytes(target / name, content)
            taken[file.name] = target / name
    except (*_UNPACKING, tarfile.TarError, zipfile.BadZipFile) as error:
        message = f"{source} must be a whole archive, but it ends early ({error})."
        raise InputError(message) from error
    for release in spec.releases:
        if all(file.name in taken for file in release):
            return [taken[file.name] for file in release]
    missing = [file.name for file in spec.releases[0] if file.name not in taken]
    raise InputError(
        f"{source} must hold all files of {spec.title}, but {', '.join(missing)} is not in it."
    )


def _entries(source: Path, spec: DatasetSpec) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield the name of each file of a folder or archive, and how to read it."""
    if source.is_dir():
        # The dataset's own folder first: MNIST and Fashion-MNIST have the same file names.
        paths = sorted(source.rglob("*"), key=lambda path: (spec.name not in path.parts, path))
        for path in paths:
            if path.is_file() and _belongs(path.relative_to(source), spec):
                yield path.name, path.read_bytes
    elif tarfile.is_tarfile(source):
        with tarfile.open(source) as archive:
            for member in archive:
                if member.isfile() and _belongs(Path(member.name), spec):
                    yield Path(member.name).name, partial(_member, archive, member)
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as zipped:
            for entry in zipped.infolist():
                if not entry.is_dir() and _belongs(Path(entry.filename), spec):
                    yield Path(entry.filename).name, partial(zipped.read, entry)
    else:
        yield source.name, source.read_bytes


def _belongs(path: Path, spec: DatasetSpec) -> bool:
    """Leave out files that lie in the folder of the other dataset with the same file names."""
    twins = {"mnist": "fashion-mnist", "fashion-mnist": "mnist"}
    return twins.get(spec.name) not in {part.lower() for part in path.parts[:-1]}


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member)
    return b"" if stream is None else stream.read()


def _check(content: bytes, packing: str, file: DataFile, name: str) -> None:
    try:
        if packing == ".gz":
            content = gzip.decompress(content)
        elif packing == ".xz":
            content = lzma.decompress(content)
    except _UNPACKING as error:
        raise InputError(f"{name} must be whole, but it cannot be unpacked ({error}).") from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise InputError(
            f"{name} must have the sha256 {file.sha256}, got {digest}.",
            hint="it is not the canonical file; get it from its official place.",
        )


def download(folder: Path, spec: DatasetSpec, progress: Progress) -> list[Path]:
    """Download a dataset from its official places into the data folder.

    What was fetched before an interruption is kept and gone on from.
    """
    try:
        import pooch
    except ImportError as error:
        raise MissingExtraError.of(
            "pooch", extra="experiments", feature="`deconfuse data prepare`"
        ) from error
    # It would say what the progress bar says.
    pooch.get_logger().setLevel("WARNING")
    incoming = folder / "incoming"
    incoming.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for item in spec.downloads:
        name = f"{spec.name}-{item.name}"
        try:
            fetched = Path(
                pooch.retrieve(
                    item.url,
                    known_hash=f"sha256:{item.sha256}",
                    fname=name,
                    path=incoming,
                    downloader=ResumingDownloader(incoming / f"{name}.part", item, progress),
                )
            )
        except ValueError as error:
            # pooch names the checksums; what it fetched is already gone.
            raise InputError(
                f"{item.url} must give the canonical file, but: {error}",
                hint="try again later, or use --from with files from another place.",
            ) from error
        if item.is_archive:
            written += take_from(fetched, folder, spec)
        else:
            target = folder / spec.name / item.name
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(fetched, target)
            written.append(target)
        fetched.unlink(missing_ok=True)
    return written


class ResumingDownloader:
    """A downloader for pooch that goes on where an earlier attempt was cut off.

    Parameters
    ----------
    part : Path
        Where bytes are kept until all have come.
    item : Download
        What is fetched.
    progress : callable
        Told how many bytes have come, of how many.
    attempts : int
        How often a broken connection is tried again.
    """

    def __init__(self, part: Path, item: Download, progress: Progress, attempts: int = 5) -> None:
        self.part = part
        self.item = item
        self.progress = progress
        self.attempts = attempts

    def __call__(self, url: str, output_file: Any, pooch: Any) -> None:
        """Fetch ``url`` into ``output_file``, as pooch asks."""
        import requests

        error: Exception | None = None
        for _ in range(self.attempts):
            try:
                self._fetch(url)
            except (requests.ConnectionError, requests.Timeout) as failure:
                error = failure
            except requests.exceptions.ChunkedEncodingError as failure:
                error = failure
            else:
                if self._have() >= self.item.size:
                    os.replace(self.part, output_file)
                    return
        raise InputError(
            f"{url} must give {self.item.size} bytes, but {self._have()} came"
            + (f" ({error})." if error else "."),
            hint="run the command again to go on from there, or use --from with local files.",
        )

    def _fetch(self, url: str) -> None:
        import requests

        have = self._have()
        if have > self.item.size:
            self.part.unlink()
            have = 0
        if have == self.item.size:
            return
        headers = {"Range": f"bytes={have}-"} if have else {}
        with requests.get(url, headers=headers, stream=True, timeout=30) as answer:
            if not answer.ok:
                raise InputError(
                    f"{url} must be there, but the server answered {answer.status_code} "
                    f"({answer.reason}).",
                    hint="try again later, or use --from with local files.",
                )
            # A server that ignores the range sends everything again.
            goes_on = answer.status_code == requests.codes.partial_content
            have = have if goes_on else 0
            with self.part.open("ab" if goes_on else "wb") as stream:
                for chunk in answer.iter_content(_CHUNK):
                    stream.write(chunk)
                    have += len(chunk)
                    self.progress(have, self.item.size)

    def _have(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0
