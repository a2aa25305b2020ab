"""Writing files: whole or not at all, with the permissions, links and errors that people expect."""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

import deconfuse as dc
from deconfuse._files import atomic_write, write_bytes

posix = pytest.mark.skipif(os.name == "nt", reason="permissions and pipes of POSIX")


def leftovers(folder: Path) -> list[str]:
    return [name.name for name in folder.iterdir() if name.name.startswith(".deconfuse")]


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_file_that_is_overwritten_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "m.json"
    path.write_text("old")
    path.chmod(mode)
    with atomic_write(path) as stream:
        # Also while it is written: what was private must not be readable for a moment.
        (part,) = leftovers(tmp_path)
        assert stat.S_IMODE((tmp_path / part).stat().st_mode) == mode
        stream.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


@posix
def test_a_new_file_follows_the_umask_which_stays_as_it_is(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        threads = [
            threading.Thread(
                target=lambda k=k: [write_bytes(tmp_path / f"{k}.txt", b"x") for _ in range(50)]
            )
            for k in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()} == {0o640}
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "real.txt").write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "there" / "real.txt")
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "there" / "real.txt").read_text() == "new"
    assert not leftovers(tmp_path)


@posix
def test_pipes_and_devices_are_refused_and_stay(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    (tmp_path / "null.json").symlink_to("/dev/null")
    cm = dc.ConfusionMatrix.from_counts([[1, 2], [3, 4]])
    for path in (pipe, tmp_path / "null.json"):
        with pytest.raises(dc.InputError, match="cannot be written: it is a device, a pipe"):
            cm.save(path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("name", ["x\0y.json", "x" * 300 + ".json"])
def test_names_that_no_file_can_have_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(dc.InputError, match="cannot be written"):
        write_bytes(os.path.join(tmp_path, name), b"x")
    assert not leftovers(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.txt"
    path.write_text("old")

    def write() -> None:
        with atomic_write(path) as stream:
            # A device that is always full takes the place of the disk.
            full = os.open("/dev/full", os.O_WRONLY)
            os.dup2(full, stream.fileno())
            os.close(full)
            stream.write(b"new")

    with pytest.raises(OSError, match=r"m\.txt") as caught:
        write()
    assert caught.value.errno == errno.ENOSPC
    assert path.read_text() == "old"
    assert not leftovers(tmp_path)
