import os
import stat
import threading

import pytest

from tracestream.writing import atomic_open, atomic_write


def test_content_becomes_exactly_the_bytes(tmp_path):
    target = tmp_path / "out.json"
    atomic_write(target, b"old and longer")
    atomic_write(str(target), b"new")
    assert target.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["out.json"]


def test_nothing_is_seen_before_the_block_ends(tmp_path):
    target = tmp_path / "out.json"
    target.write_bytes(b"old")
    with atomic_open(target) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_raises_leaves_the_target_and_no_rest(tmp_path, error):
    target = tmp_path / "out.json"
    target.write_bytes(b"old")
    with pytest.raises(error), atomic_open(target) as file:
        file.write(b"half")
        raise error
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_block_that_raises_makes_no_new_target(tmp_path):
    with pytest.raises(ValueError), atomic_open(tmp_path / "out.json") as file:
        file.write(b"half")
        raise ValueError
    assert os.listdir(tmp_path) == []


def test_an_existing_target_keeps_its_permissions(tmp_path):
    target = tmp_path / "out.json"
    target.write_bytes(b"old")
    target.chmod(0o640)
    atomic_write(target, b"new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_target_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    atomic_write(tmp_path / "atomic", b"")
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_stays_and_its_file_is_written(tmp_path, exists):
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "real.json"
    if exists:
        target.write_bytes(b"old")
    link = tmp_path / "link.json"
    link.symlink_to(target)
    atomic_write(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_pipe_is_written_directly(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    atomic_write(pipe, b"through the pipe")
    reader.join()
    assert received == [b"through the pipe"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_is_written_directly():
    atomic_write("/dev/null", b"gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_an_open_descriptor_is_written_directly(tmp_path):
    """As `--out /dev/stdout > report.json` does: the file must stay the one that is open."""
    target = tmp_path / "report.json"
    with target.open("wb", buffering=0) as file:
        atomic_write(f"/dev/fd/{file.fileno()}", b"report")
        assert os.fstat(file.fileno()).st_ino == target.stat().st_ino
    assert target.read_bytes() == b"report"


@pytest.mark.parametrize("name", ["missing/out.json", "file/out.json", "folder"])
def test_a_target_that_cannot_be_written_raises_and_leaves_no_rest(tmp_path, name):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        atomic_write(tmp_path / name, b"new")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]
