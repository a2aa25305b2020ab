"""Getting data: from folders and archives, and over a connection that breaks."""

from __future__ import annotations

import gzip
import hashlib
import io
import shutil
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from deconfuse import InputError
from deconfuse.experiments import datasets, load_dataset
from deconfuse.experiments.data_files import (
    CATALOGUE,
    DatasetSpec,
    Download,
    download,
    inspect_dataset,
    is_complete,
    take_from,
)


def pack(folder: Path, name: str, kind: str) -> Path:
    """Pack a dataset's files the way people find them."""
    if kind == "folder":
        return Path(
            shutil.copytree(folder / name, folder.parent / "found" / "deep" / name).parents[1]
        )
    path = folder.parent / f"archive.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("README.txt", "hello")
            for file in (folder / name).iterdir():
                archive.write(file, f"some/where/{file.name}")
    else:
        with tarfile.open(path, "w:gz") as tar:
            tar.add(folder / name, arcname=CATALOGUE[name].folder)
    return path


@pytest.mark.parametrize(
    ("kind", "name"), [("folder", "mnist"), ("zip", "cifar10"), ("tar.gz", "stl10")]
)
def test_take_from(kind: str, name: str, data: Path, tmp_path: Path) -> None:
    source, target = pack(data, name, kind), tmp_path / "new"
    take_from(source, target, CATALOGUE[name])
    assert {path.parent for path in target.rglob("*.*")} <= {target / name}
    assert is_complete(target, CATALOGUE[name])
    assert load_dataset(name, target).n_classes == 10


@pytest.fixture
def twins(data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a data folder with another Fashion-MNIST than MNIST, in files of the same names."""
    labels = data / "fashion-mnist" / "t10k-labels-idx1-ubyte"
    labels.write_bytes(labels.read_bytes()[:-1] + b"\x03")
    import slices

    monkeypatch.setitem(CATALOGUE, "fashion-mnist", slices.slice_spec(data, "fashion-mnist"))
    return data


#: As torchvision, Keras, and nobody in particular lay them out.
LAYOUTS = [("MNIST/raw", "FashionMNIST/raw"), ("mnist", "fashion_mnist"), ("b", "a")]


@pytest.mark.parametrize("folders", LAYOUTS)
def test_twins_with_the_same_file_names_are_told_apart_by_content(
    folders: tuple[str, str], twins: Path, tmp_path: Path
) -> None:
    source = tmp_path / "found"
    for name, folder in zip(("mnist", "fashion-mnist"), folders, strict=True):
        shutil.copytree(twins / name, source / folder)
    for name in ("mnist", "fashion-mnist"):
        take_from(source, tmp_path / "new", CATALOGUE[name])
        assert is_complete(tmp_path / "new", CATALOGUE[name])


def test_every_wrong_file_of_a_name_is_named(twins: Path, tmp_path: Path) -> None:
    (twins / "mnist" / "t10k-labels-idx1-ubyte").write_bytes(b"short")
    with pytest.raises(InputError, match=r"must hold all files of MNIST, but: ") as error:
        take_from(twins, tmp_path / "new", CATALOGUE["mnist"])
    assert "fashion-mnist/t10k-labels-idx1-ubyte must have 128 bytes with" in error.value.message
    assert "mnist/t10k-labels-idx1-ubyte must have 128 bytes" in error.value.message
    assert "got 5 bytes" in error.value.message


def test_a_dataset_may_come_from_two_places(data: Path, tmp_path: Path) -> None:
    spec, target = CATALOGUE["mnist"], tmp_path / "new"
    for place, pattern in (("one", "train*"), ("other", "t10k*")):
        (tmp_path / place).mkdir()
        for path in (data / "mnist").glob(pattern):
            shutil.copy(path, tmp_path / place)
    with pytest.raises(InputError, match="must hold all files of MNIST, but: t10k-images") as error:
        take_from(tmp_path / "one", target, spec)
    assert "take the rest from another place" in str(error.value)
    take_from(tmp_path / "other", target, spec)
    assert is_complete(target, spec)


def test_a_wrong_file_is_not_taken(data: Path, tmp_path: Path) -> None:
    path = data / "mnist" / "train-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(
        InputError, match=r"train-labels-idx1-ubyte must have 248 bytes with the sha256"
    ):
        take_from(data / "mnist", tmp_path / "new", CATALOGUE["mnist"])
    assert not (tmp_path / "new" / "mnist" / path.name).exists()


def test_a_broken_packed_file_is_not_taken(data: Path, tmp_path: Path) -> None:
    path = data / "mnist" / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match=r"idx3-ubyte\.gz must be a complete packed file"):
        take_from(data / "mnist", tmp_path / "new", CATALOGUE["mnist"])


@pytest.mark.parametrize(("kind", "keep"), [("tar.gz", -2000), ("tar.gz", 60), ("zip", -2000)])
def test_an_archive_that_ends_early(kind: str, keep: int, data: Path, tmp_path: Path) -> None:
    path = pack(data, "stl10", kind)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(
        InputError,
        match=r"must (be a whole archive|hold all files of STL-10)",
    ):
        take_from(path, tmp_path / "new", CATALOGUE["stl10"])


def test_missing_and_wrong_files_are_told_apart(data: Path) -> None:
    assert {report.problem for report in inspect_dataset(data, CATALOGUE["stl10"])} == {""}
    (data / "stl10" / "test_y.bin").unlink()
    path = data / "stl10" / "train_y.bin"
    path.write_bytes(path.read_bytes() + b"\x01")
    found = {r.file.name: r.problem for r in inspect_dataset(data, CATALOGUE["stl10"])}
    assert found["test_y.bin"] == "test_y.bin is missing."
    assert "must have 60 bytes with the sha256" in found["train_y.bin"]
    assert "got 61 bytes" in found["train_y.bin"]
    assert found["test_X.bin"] == ""
    assert not is_complete(data, CATALOGUE["stl10"])


def test_a_wrong_file_does_not_hide_a_right_one(data: Path) -> None:
    plain = data / "mnist" / "train-images-idx3-ubyte"
    assert plain.with_name(f"{plain.name}.gz").exists()
    plain.write_bytes(b"wrong")
    assert is_complete(data, CATALOGUE["mnist"])


class Server(ThreadingHTTPServer):
    """Serves bytes by name, from any byte on; can break a connection or lack a file."""

    files: dict[str, bytes]
    cut_after: int | None = None
    knows_ranges: bool = True
    asked: list[tuple[str, int]]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        content = self.server.files.get(name)
        start = 0
        if self.server.knows_ranges and (asked := self.headers.get("Range")):
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
        self.server.asked.append((name, start))
        if content is None:
            self.send_error(404)
            return
        body = content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.cut_after is not None:
            body = body[: self.server.cut_after]
            self.server.cut_after = None
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        running.files, running.asked = {}, []
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def offer(server: Server, name: str, content: bytes) -> Download:
    server.files[name] = content
    url = f"http://127.0.0.1:{server.server_port}/{name}"
    return Download(url, len(content), hashlib.sha256(content).hexdigest())


def offered(server: Server, data: Path, name: str) -> DatasetSpec:
    """Return a dataset's specification that downloads from the server."""
    if name == "mnist":
        downloads = []
        for file in CATALOGUE[name].releases[0]:
            plain = data / name / file.name
            packed = plain.with_name(plain.name + ".gz")
            content = packed.read_bytes() if packed.exists() else gzip.compress(plain.read_bytes())
            downloads.append(offer(server, packed.name, content))
    else:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w:gz") as tar:
            tar.add(data / name, arcname=CATALOGUE[name].folder)
        downloads = [offer(server, "all.tar.gz", stream.getvalue())]
    return replace(CATALOGUE[name], downloads=tuple(downloads))


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_download(name: str, data: Path, server: Server, tmp_path: Path) -> None:
    spec, target = offered(server, data, name), tmp_path / "new"
    seen: list[tuple[int, int]] = []
    download(target, spec, lambda *progress: seen.append(progress))
    assert is_complete(target, spec)
    assert not [*target.rglob("*.tar.gz"), *target.rglob("*.part")]
    assert seen[-1][0] == seen[-1][1] == spec.downloads[-1].size
    datasets._load.cache_clear()
    assert load_dataset(name, target).n_classes == 10


@pytest.mark.parametrize(("name", "knows_ranges"), [("mnist", True), ("cifar10", False)])
def test_a_broken_download_goes_on_where_it_stopped(
    name: str, knows_ranges: bool, data: Path, server: Server, tmp_path: Path
) -> None:
    """A server that does not know how to go on sends everything, which replaces the part."""
    spec = offered(server, data, name)
    server.cut_after, server.knows_ranges = 1000, knows_ranges
    with pytest.raises(InputError, match=r"the connection ended after 1000(.|\n)*run it again"):
        download(tmp_path / "new", spec)
    first = spec.downloads[0].name
    (part,) = (tmp_path / "new").rglob("*.*")
    assert (part.name, part.stat().st_size) == (f"{first}.part", 1000)
    assert not is_complete(tmp_path / "new", spec)
    server.asked.clear()
    download(tmp_path / "new", spec)
    assert server.asked[0] == (first, 1000 if knows_ranges else 0)
    assert is_complete(tmp_path / "new", spec)
    assert not part.exists()


@pytest.mark.parametrize("when", ["whole", "rest"])
def test_a_wrong_download_is_not_used(
    when: str, data: Path, server: Server, tmp_path: Path
) -> None:
    """Nor does a wrong part stay: the next attempt starts from nothing."""
    spec, target = offered(server, data, "cifar10"), tmp_path / "new"
    content = server.files["all.tar.gz"]
    if when == "whole":
        server.files["all.tar.gz"] = content[:-1] + bytes([content[-1] ^ 1])
    else:
        (target / "cifar10").mkdir(parents=True)
        (target / "cifar10" / "all.tar.gz.part").write_bytes(b"something else")
    with pytest.raises(InputError, match=r"all\.tar\.gz must give the canonical file with the sha"):
        download(target, spec)
    assert not any(path.is_file() for path in target.rglob("*"))
    server.files["all.tar.gz"] = content
    download(target, spec)
    assert is_complete(target, spec)


def test_a_file_that_is_not_on_the_server(data: Path, server: Server, tmp_path: Path) -> None:
    spec = offered(server, data, "cifar10")
    server.files.clear()
    with pytest.raises(InputError, match="must give the canonical file, but: HTTP Error 404"):
        download(tmp_path / "new", spec)


def test_what_is_there_and_right_is_not_fetched_again(
    data: Path, server: Server, tmp_path: Path
) -> None:
    spec, target = offered(server, data, "mnist"), tmp_path / "new"
    last = spec.downloads[-1].name
    content = server.files.pop(last)
    with pytest.raises(InputError, match="404"):
        download(target, spec)
    assert len(server.asked) == 4
    server.files[last] = content
    # A file that was there but is wrong is fetched like one that is not.
    (target / "mnist" / spec.downloads[0].name).write_bytes(b"wrong")
    server.asked.clear()
    download(target, spec)
    assert len(server.asked) == 2
    assert is_complete(target, spec)
    server.asked.clear()
    download(target, spec)
    assert server.asked == []


def test_an_archive_that_was_unpacked_is_not_fetched_again(data: Path, server: Server) -> None:
    spec = offered(server, data, "cifar10")
    download(data, spec)
    assert server.asked == []
