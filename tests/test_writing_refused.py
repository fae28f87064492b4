"""What happens when the system takes no more bytes: a full disk, a limit, folders that are closed."""

import errno
import gzip
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from tests.documents import jsonl
from tests.processes import ENV, program
from tests.reports import SUFFIXES, content, one_run
from tracestream import grade
from tracestream.writing import atomic_write

# Texts that no compression makes small: a report of it is over the limits below in every form.
NAMES = [f"{n * 2654435761 % 2**32:08x}{n * 40503 % 65521:05x}" for n in range(600)]
TRACE = jsonl(*(event for name in NAMES for event in one_run(name, f"alpha {name}", ["beta"])))
LIMIT = 16 << 10


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(TRACE)
    return path


@contextmanager
def limit(n_bytes):
    """Let this process write no file longer than so much, which fails as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# ---- no room ----


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("exists", [True, False], ids=["replaced", "new"])
def test_an_output_that_finds_no_room_is_one_sentence_and_no_file(
    trace, run, tmp_path, suffix, exists
):
    folder = tmp_path / "out"
    folder.mkdir()
    target = folder / f"report{suffix}"
    if exists:
        grade(b"").write(target)
    before = content(target) if exists else None
    with limit(LIMIT):
        code, out, err = run("grade", trace, "-o", target)
    assert (code, out) == (2, "")
    assert err == f"tracestream: error: File too large: {target}\n"
    assert os.listdir(folder) == ([target.name] if exists else [])
    assert before is None or content(target) == before


def test_outputs_before_the_one_that_finds_no_room_are_there(trace, run, tmp_path):
    one, other = tmp_path / "one.parquet", tmp_path / "other.json"
    with limit(64 << 10):
        code, _, err = run("grade", trace, "-o", one, "-o", other)
    assert code == 2
    assert err == f"tracestream: error: File too large: {other}\n"
    assert len(content(one)) == 3
    assert sorted(os.listdir(tmp_path)) == ["one.parquet", "t.jsonl"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_is_full_at_the_very_end_leaves_the_target(tmp_path, monkeypatch, call):
    target = tmp_path / "out.json"
    target.write_bytes(b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match=re.escape(f"No space left on device: '{target}'")):
        atomic_write(target, b"new")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.json"]


def test_an_error_names_the_target_and_no_hidden_file(tmp_path, monkeypatch):
    def refused(path, *_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    monkeypatch.setattr(os, "replace", refused)
    for target in (tmp_path / "out.json", tmp_path / "link.json"):
        with pytest.raises(OSError) as caught:
            atomic_write(target, b"new")
        assert caught.value.filename == str(target)


@pytest.mark.parametrize("given", ["gzip", "stdin"])
def test_a_spill_that_finds_no_room_is_one_sentence(trace, tmp_path, given):
    """Records of what cannot be read again are kept in a temporary file."""
    folder = tmp_path / "spill"
    folder.mkdir()
    packed = tmp_path / "t.jsonl.gz"
    packed.write_bytes(gzip.compress(TRACE))
    target = tmp_path / "report.json"
    with open(trace, "rb") as stdin:
        done = program(
            *("grade", packed if given == "gzip" else "-", "-o", target),
            stdin=stdin,
            env={"TMPDIR": str(folder)},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT)),
        )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"tracestream: error: File too large: {folder}\n"
    assert not target.exists()
    assert os.listdir(folder) == []


@pytest.fixture
def full_disk(tmp_path):
    """Return a function that runs a shell script where `full` is a disk of 300 kB."""
    (tmp_path / "full").mkdir()
    mount = f"mount -t tmpfs -o size=300k tmpfs {tmp_path}/full &&"
    unshare = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    if (
        not shutil.which("unshare")
        or subprocess.run([*unshare, f"{mount} true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("no disk can be mounted here")

    def run(script):
        return subprocess.run(
            [*unshare, f"{mount} {script}"],
            cwd=tmp_path,
            env={**ENV, "tracestream": f"{sys.executable} -m tracestream"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_a_full_disk_is_one_sentence_a_hint_and_no_file(trace, full_disk, tmp_path):
    trace.write_bytes(TRACE.replace(b"alpha", b"alpha " + b"long " * 40))
    done = full_disk(
        """
        dd if=/dev/zero of=full/rest bs=1k count=250 2>/dev/null
        for output in full/r.json full/r.parquet; do
            $tracestream grade t.jsonl -o $output; echo $?
        done
        $tracestream grade t.jsonl --json >full/out; echo $?
        rm full/out
        TMPDIR=full $tracestream grade - <t.jsonl; echo $?
        ls -A full
        """
    )
    assert done.stdout == "2\n" * 4 + "rest\n"
    assert done.stderr == "".join(
        f"tracestream: error: No space left on device: {where}\nHint: make room there, or {other}.\n"
        for where, other in (
            ("full/r.json", "choose another place"),
            ("full/r.parquet", "choose another place"),
            ("<stdout>", "choose another place"),
            (f"{tmp_path}/full", "name another folder in TMPDIR"),
        )
    )


# ---- folders and files that are closed ----

UNPRIVILEGED = (
    ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
)
"""Takes from root what lets it write everywhere."""


@pytest.mark.skipif(
    bool(UNPRIVILEGED) and not shutil.which("setpriv"), reason="root may write anywhere"
)
@pytest.mark.parametrize(
    ("closed", "target", "words"),
    [
        ("folder", "folder/new.json", "Permission denied"),
        ("folder", "folder/new.parquet", "Permission denied"),
        ("folder", "folder/old.json", "Permission denied"),
        ("folder/old.json", "folder/old.json", "is write-protected"),
        ("folder/old.parquet", "folder/old.parquet", "is write-protected"),
        ("folder", "link.json", "Permission denied"),
    ],
)
def test_what_is_write_protected_is_refused_before_anything_is_read(
    trace, tmp_path, monkeypatch, closed, target, words
):
    monkeypatch.chdir(tmp_path)
    os.mkdir("folder")
    grade(b"").write("folder/old.json")
    grade(b"").write("folder/old.parquet")
    os.symlink("folder/old.json", "link.json")
    before = [content(tmp_path / "folder" / name) for name in ("old.json", "old.parquet")]
    mode = os.stat(closed).st_mode
    os.chmod(closed, 0o555 if os.path.isdir(closed) else 0o444)
    done = subprocess.run(
        [*UNPRIVILEGED, sys.executable, "-m", "tracestream", "grade", "t.jsonl", "-o", target],
        env=ENV,
        capture_output=True,
        text=True,
        check=False,
    )
    os.chmod(closed, mode)
    assert (done.returncode, done.stdout) == (2, "")
    sentence, hint = done.stderr.splitlines()
    assert sentence.startswith("tracestream: error: ")
    assert words in sentence
    assert hint.startswith("Hint: ")
    assert sorted(os.listdir("folder")) == ["old.json", "old.parquet"]
    assert before == [content(tmp_path / "folder" / name) for name in ("old.json", "old.parquet")]


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("missing/r.json", "there is no folder"),
        ("missing/r.parquet", "there is no folder"),
        ("t.jsonl/r.json", "Not a directory"),
        ("folder.json", "is a folder"),
        ("new/", "there is no suffix"),
        ("new.json/", "is a folder"),
        ("file.parquet", "is no folder"),
        ("folder.json/../t.jsonl", "is read, and would be lost"),
        ("link.jsonl", "is read, and would be lost"),
        ("budgets.csv", "is read, and would be lost"),
    ],
)
def test_a_place_that_takes_no_output_is_one_sentence_and_a_hint(
    trace, run, tmp_path, monkeypatch, output, words
):
    monkeypatch.chdir(tmp_path)
    os.mkdir("folder.json")
    (tmp_path / "file.parquet").write_bytes(b"mine")
    (tmp_path / "budgets.csv").write_bytes(b"agent_name,budget_tokens\na,1\n")
    os.symlink("t.jsonl", "link.jsonl")
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    code, out, err = run("grade", "t.jsonl", "--ledger", "budgets.csv", "-o", output)
    assert (code, out) == (2, "")
    sentence, hint = err.splitlines()
    assert sentence.startswith("tracestream: error: ")
    assert words in sentence
    assert hint.startswith("Hint: ")
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert len(os.listdir(tmp_path)) == len(before) + 1


# ---- readers that go ----


def test_a_pipe_whose_reader_goes_is_one_sentence(trace, run, tmp_path):
    """Of stdout it is how `| head` ends; of another output, the report is not where it should be."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def read_a_little():
        with open(pipe, "rb", buffering=0) as file:
            file.read(1)

    reader = threading.Thread(target=read_a_little)
    reader.start()
    code, out, err = run("grade", trace, "-o", pipe)
    reader.join()
    assert (code, out) == (2, "")
    assert err == f"tracestream: error: Broken pipe: {pipe}\n"
