import json
import os
import stat
import threading

import pytest

from tests.documents import jsonl, response
from tracestream import InputError, grade
from tracestream.writing import atomic_open, atomic_write, for_terminal, hidden_beside


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


def test_a_link_is_replaced_if_it_is_to_be(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    atomic_write(tmp_path / "link", b"through", replaces_link=False)
    assert (tmp_path / "link").is_symlink()
    atomic_write(tmp_path / "link", b"new", replaces_link=True)
    assert not (tmp_path / "link").is_symlink()
    assert [(tmp_path / name).read_bytes() for name in ("real", "link")] == [b"through", b"new"]
    (tmp_path / "link").chmod(0o640)
    atomic_write(tmp_path / "link", b"no link", replaces_link=True)
    assert stat.S_IMODE((tmp_path / "link").stat().st_mode) == 0o640


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


def test_what_a_killed_process_leaves_is_never_read(tmp_path):
    trace = jsonl(response("a", "x"))
    rest = hidden_beside(tmp_path / "report.jsonl")
    rest.write_bytes(trace)
    hidden_beside(tmp_path / "t.parquet").mkdir()
    for folder in tmp_path.iterdir():
        if folder.is_dir():
            (folder / "t.jsonl").write_bytes(trace)
    for place in (tmp_path, tmp_path / "*", tmp_path / "**"):
        with pytest.raises(InputError):
            grade(place)
    (tmp_path / "t.jsonl").write_bytes(trace)
    assert grade(tmp_path).runs["source"].to_list() == [f"{tmp_path}/t.jsonl"]


def test_hidden_names_are_new_ones(tmp_path):
    names = {hidden_beside(tmp_path / ("x" * 255)).name for _ in range(10)}
    assert len(names) == 10
    assert all(name.startswith(".tracestream-") and name.endswith(".tmp") for name in names)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain {} ~", "plain {} ~"),
        ("\x7f\x80\x9b\u202e\u2028", r"\u007f\u0080\u009b\u202e\u2028"),
        ("é日\uffff", r"\u00e9\u65e5\uffff"),
        ("😀\U000e0041", r"\ud83d\ude00\udb40\udc41"),
        ("one\ntwo\n", "one\ntwo\n"),
    ],
)
def test_what_a_terminal_gets_is_ascii_and_the_same_json(text, shown):
    assert for_terminal(text.encode()) == shown.encode()
    if "\n" not in text:
        assert json.loads(f'"{shown}"') == text
