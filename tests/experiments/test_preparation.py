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
from tests.support import require

from deconfuse import InputError
from deconfuse.experiments import datasets, load_dataset
from deconfuse.experiments.catalogue import CATALOGUE, DatasetSpec, Download
from deconfuse.experiments.preparation import download, is_complete, take_from, verify


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


@pytest.mark.parametrize("kind", ["folder", "zip", "tar.gz"])
@pytest.mark.parametrize("name", ["mnist", "cifar10", "stl10"])
def test_take_from(kind: str, name: str, data: Path, tmp_path: Path) -> None:
    source, target = pack(data, name, kind), tmp_path / "new"
    written = take_from(source, target, CATALOGUE[name])
    assert all(path.parent == target / name for path in written)
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


@pytest.mark.parametrize("kind", ["folder", "tar"])
@pytest.mark.parametrize("folders", LAYOUTS)
def test_twins_with_the_same_file_names_are_told_apart_by_content(
    folders: tuple[str, str], kind: str, twins: Path, tmp_path: Path
) -> None:
    source = tmp_path / "found"
    for name, folder in zip(("mnist", "fashion-mnist"), folders, strict=True):
        shutil.copytree(twins / name, source / folder)
    if kind == "tar":
        with tarfile.open(tmp_path / "found.tar", "w") as tar:
            tar.add(source, arcname="found")
        source = tmp_path / "found.tar"
    for name in ("mnist", "fashion-mnist"):
        take_from(source, tmp_path / "new", CATALOGUE[name])
        assert is_complete(tmp_path / "new", CATALOGUE[name])


def test_every_wrong_file_of_a_name_is_named(twins: Path, tmp_path: Path) -> None:
    (twins / "mnist" / "t10k-labels-idx1-ubyte").write_bytes(b"short")
    with pytest.raises(InputError, match=r"t10k-labels-idx1-ubyte in .* must have the sha") as e:
        take_from(twins, tmp_path / "new", CATALOGUE["mnist"])
    assert "fashion-mnist/t10k-labels-idx1-ubyte has " in e.value.message
    assert "mnist/t10k-labels-idx1-ubyte has 5 bytes instead of 128" in e.value.message


def test_a_dataset_may_come_from_two_places(data: Path, tmp_path: Path) -> None:
    spec, target = CATALOGUE["mnist"], tmp_path / "new"
    for place, pattern in (("one", "train*"), ("other", "t10k*")):
        (tmp_path / place).mkdir()
        for path in (data / "mnist").glob(pattern):
            shutil.copy(path, tmp_path / place)
    with pytest.raises(InputError, match="must hold all files of MNIST, but t10k-images") as error:
        take_from(tmp_path / "one", target, spec)
    assert "take the rest from another place" in str(error.value)
    assert len(take_from(tmp_path / "other", target, spec)) == 4
    assert is_complete(target, spec)


def test_linked_folders_are_searched_and_circles_end(data: Path, tmp_path: Path) -> None:
    source = tmp_path / "links"
    source.mkdir()
    (source / "to").symlink_to(data / "mnist", target_is_directory=True)
    (source / "round").symlink_to(source, target_is_directory=True)
    take_from(source, tmp_path / "new", CATALOGUE["mnist"])
    assert is_complete(tmp_path / "new", CATALOGUE["mnist"])


def test_a_wrong_file_is_not_taken(data: Path, tmp_path: Path) -> None:
    path = data / "mnist" / "train-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(InputError, match=r"train-labels-idx1-ubyte in .* must have the sha256"):
        take_from(data / "mnist", tmp_path / "new", CATALOGUE["mnist"])
    assert not (tmp_path / "new" / "mnist" / path.name).exists()


def test_a_broken_packed_file_is_not_taken(data: Path, tmp_path: Path) -> None:
    path = data / "mnist" / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match=r"idx3-ubyte\.gz is not whole and cannot be unpacked"):
        take_from(data / "mnist", tmp_path / "new", CATALOGUE["mnist"])


def test_what_a_source_lacks_is_named(data: Path, tmp_path: Path) -> None:
    (data / "cifar10" / "data_batch_2.bin").unlink()
    with pytest.raises(InputError, match=r"must hold all files of CIFAR-10, but data_batch_2\.bin"):
        take_from(data / "cifar10", tmp_path / "new", CATALOGUE["cifar10"])


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must be a folder or an archive, but .* does not exist"):
        take_from(tmp_path / "nothing", tmp_path, CATALOGUE["mnist"])


@pytest.mark.parametrize(("kind", "keep"), [("tar.gz", -2000), ("tar.gz", 60), ("zip", -2000)])
def test_an_archive_that_ends_early(kind: str, keep: int, data: Path, tmp_path: Path) -> None:
    path = pack(data, "stl10", kind)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match="must be a whole archive, but it ends early"):
        take_from(path, tmp_path / "new", CATALOGUE["stl10"])


def test_verify_tells_missing_and_wrong_apart(data: Path) -> None:
    assert {report.state for report in verify(data, CATALOGUE["stl10"])} == {"ok"}
    (data / "stl10" / "test_y.bin").unlink()
    path = data / "stl10" / "train_y.bin"
    path.write_bytes(path.read_bytes() + b"\x01")
    states = {report.file.name: report for report in verify(data, CATALOGUE["stl10"])}
    assert states["test_y.bin"].state == "missing"
    assert states["train_y.bin"].state == "wrong"
    assert "must hold 60 bytes, got 61" in states["train_y.bin"].problem
    assert states["test_X.bin"].state == "ok"
    assert not is_complete(data, CATALOGUE["stl10"])


class Server(ThreadingHTTPServer):
    """Serves bytes by name; can cut a connection or lack a file."""

    files: dict[str, bytes]
    cuts: int = 0
    asked: list[str]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        content = self.server.files.get(name)
        self.server.asked.append(name)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        body = content
        if self.server.cuts:
            self.server.cuts -= 1
            body = body[: len(body) // 2]
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        running.files, running.asked = {}, []
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def offer(server: Server, name: str, content: bytes, *, is_archive: bool) -> Download:
    server.files[name] = content
    url = f"http://127.0.0.1:{server.server_port}/{name}"
    return Download(url, hashlib.sha256(content).hexdigest(), len(content), is_archive)


def offered(server: Server, data: Path, name: str) -> DatasetSpec:
    """Return a dataset's specification that downloads from the server."""
    if name == "mnist":
        downloads = []
        for file in CATALOGUE[name].releases[0]:
            plain = data / name / file.name
            packed = plain.with_name(plain.name + ".gz")
            content = packed.read_bytes() if packed.exists() else gzip.compress(plain.read_bytes())
            downloads.append(offer(server, packed.name, content, is_archive=False))
    else:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w:gz") as tar:
            tar.add(data / name, arcname=CATALOGUE[name].folder)
        downloads = [offer(server, "all.tar.gz", stream.getvalue(), is_archive=True)]
    return replace(CATALOGUE[name], downloads=tuple(downloads))


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_download(name: str, data: Path, server: Server, tmp_path: Path) -> None:
    require("pooch")
    spec, target = offered(server, data, name), tmp_path / "new"
    download(target, spec)
    assert is_complete(target, spec)
    assert not list(target.rglob("*.tar.gz"))
    datasets._load.cache_clear()
    assert load_dataset(name, target).n_classes == 10


def test_a_connection_that_breaks_leaves_nothing(
    data: Path, server: Server, tmp_path: Path
) -> None:
    require("pooch")
    spec = offered(server, data, "cifar10")
    server.cuts = 1
    with pytest.raises(InputError, match="must give the canonical file"):
        download(tmp_path / "new", spec)
    assert not any(path.is_file() for path in (tmp_path / "new").rglob("*"))
    download(tmp_path / "new", spec)
    assert is_complete(tmp_path / "new", spec)


def test_a_wrong_download_is_not_used(data: Path, server: Server, tmp_path: Path) -> None:
    require("pooch")
    spec = offered(server, data, "cifar10")
    content = server.files["all.tar.gz"]
    server.files["all.tar.gz"] = content[:-1] + bytes([content[-1] ^ 1])
    with pytest.raises(InputError, match=r"all\.tar\.gz must give the canonical file, but"):
        download(tmp_path / "new", spec)
    assert not any(path.is_file() for path in (tmp_path / "new").rglob("*"))


def test_a_file_that_is_not_on_the_server(data: Path, server: Server, tmp_path: Path) -> None:
    require("pooch")
    spec = offered(server, data, "cifar10")
    server.files.clear()
    with pytest.raises(InputError, match="must give the canonical file, but: 404") as error:
        download(tmp_path / "new", spec)
    assert str(error.value).count("Hint:") == 1


def test_what_is_there_and_right_is_not_fetched_again(
    data: Path, server: Server, tmp_path: Path
) -> None:
    require("pooch")
    spec, target = offered(server, data, "mnist"), tmp_path / "new"
    last = spec.downloads[-1].name
    content = server.files.pop(last)
    with pytest.raises(InputError, match="404"):
        download(target, spec)
    assert len(server.asked) == 4
    server.files[last] = content
    # A file that was there but is wrong is fetched like one that is not.
    first = target / "mnist" / spec.downloads[0].name
    first.write_bytes(b"wrong")
    server.asked.clear()
    assert len(download(target, spec)) == 4
    assert len(server.asked) == 2
    assert is_complete(target, spec)
    server.asked.clear()
    download(target, spec)
    assert server.asked == []


def test_an_archive_that_was_unpacked_is_not_fetched_again(
    data: Path, server: Server, tmp_path: Path
) -> None:
    require("pooch")
    spec = offered(server, data, "cifar10")
    assert len(download(data, spec)) == 6
    assert server.asked == []
