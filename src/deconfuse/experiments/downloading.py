"""Fetch the datasets from their official places; what was fetched before is gone on from."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deconfuse.errors import InputError, MissingExtraError
from deconfuse.experiments.catalogue import DataFile, DatasetSpec, Download
from deconfuse.experiments.datasets import PACKINGS
from deconfuse.experiments.preparation import check_file, take_from, verify

__all__ = ["ResumingDownloader", "download"]

#: Told how many bytes have come, of how many.
Progress = Callable[[int, int], None]

#: Small, because what is in an unfinished chunk is lost when a connection breaks.
_CHUNK = 1 << 16


def download(folder: Path, spec: DatasetSpec, progress: Progress) -> list[Path]:
    """Download a dataset from its official places into the data folder.

    What was fetched before an interruption is kept and gone on from; a file that is there and
    right is not fetched again.
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
        if (there := _there(folder, spec, item)) is not None:
            written += there
            continue
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
        except InputError:
            # The downloader's own, which is a ValueError too.
            raise
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


def _there(folder: Path, spec: DatasetSpec, item: Download) -> list[Path] | None:
    """Return the files that a download would give, when the data folder has them all, checked."""
    if item.is_archive:
        reports = verify(folder, spec)
        paths = [report.path for report in reports if report.state == "ok" and report.path]
        return paths if len(paths) == len(reports) else None
    report = check_file(folder, spec, _file_of(spec, item))
    return [report.path] if report.state == "ok" and report.path is not None else None


def _file_of(spec: DatasetSpec, item: Download) -> DataFile:
    return next(file for file in spec.files for end in PACKINGS if item.name == f"{file.name}{end}")


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
            except requests.RequestException as failure:
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
