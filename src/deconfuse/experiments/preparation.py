"""Fill the data folder: download the datasets, or take them from files at hand.

A file enters the data folder only after its content was checked, and whole. A download that was
interrupted goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.client import HTTPException
from pathlib import Path, PurePath, PurePosixPath
from urllib.request import Request, urlopen

from deconfuse._files import write_bytes
from deconfuse.errors import InputError
from deconfuse.experiments.catalogue import DatasetSpec, Download
from deconfuse.experiments.datasets import (
    BROKEN_PACKING,
    PACKINGS,
    check_file,
    inspect_dataset,
    unpack_checked,
)

__all__ = ["download", "is_complete", "take_from"]

_CHUNK = 1 << 20


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
    wanted = {file.name + packing: (file, packing) for file in spec.files for packing in PACKINGS}
    target = folder / spec.name
    target.mkdir(parents=True, exist_ok=True)
    have = {file.name for file in spec.files if not check_file(folder, spec, file).problem}
    wrong: dict[str, list[str]] = {}
    try:
        for place, read in _entries(source, spec, set(wanted)):
            file, packing = wanted.get(place.name, (None, ""))
            if file is None or file.name in have:
                continue
            content = read()
            try:
                unpack_checked(content, packing, file, str(place))
            except InputError as error:
                # MNIST and Fashion-MNIST have the same file names: the right one may come later.
                wrong.setdefault(file.name, []).append(error.message)
                continue
            write_bytes(target / place.name, content)
            have.add(file.name)
    except (*BROKEN_PACKING, tarfile.TarError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{source} must be a whole archive, but it ends early or is damaged ({error}).",
            hint="get it again; files that were taken from it before that are right, and kept.",
        ) from error
    if any(all(file.name in have for file in release) for release in spec.releases):
        return
    # Of several releases, name what lacks of the one of which most was found.
    lacking = min(
        ([file.name for file in release if file.name not in have] for release in spec.releases),
        key=lambda names: sum(name not in wrong for name in names),
    )
    problems = [problem for name in lacking for problem in wrong.get(name, [f"{name} is missing."])]
    raise InputError(
        f"{source} must hold all files of {spec.title}, but: {' '.join(problems)}",
        hint="the right files are kept; take the rest from another place, or leave --from out to "
        "download it.",
    )


def _entries(
    source: Path, spec: DatasetSpec, wanted: set[str]
) -> Iterator[tuple[PurePath, Callable[[], bytes]]]:
    """Yield the place of each file in a folder or archive, and how to read it."""
    if source.is_dir():
        for path in sorted(path for path in source.rglob("*") if path.is_file()):
            yield path.relative_to(source), path.read_bytes
    elif source.is_file() and tarfile.is_tarfile(source):
        with tarfile.open(source) as archive:
            for member in archive:
                if (stream := archive.extractfile(member)) is not None:
                    yield PurePosixPath(member.name), stream.read
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as zipped:
            for entry in zipped.infolist():
                yield PurePosixPath(entry.filename), partial(zipped.read, entry)
    elif source.is_file() and source.name in wanted:
        yield Path(source.name), source.read_bytes
    else:
        raise InputError(
            f"`--from` must be a folder, a whole tar or zip archive, or a file of {spec.title}, "
            f"but {source} is none of them.",
            hint="give the folder or archive that holds the dataset's files.",
        )


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
    files = {file.name + packing: file for file in spec.files for packing in PACKINGS}
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
