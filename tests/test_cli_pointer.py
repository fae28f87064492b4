"""`record` and `last-trace` where the pointer, or the folder it belongs in, is not what it should be."""

import json
import os
from pathlib import Path

import pytest

from tests.documents import jsonl, tool_start
from tracestream import last_run_pointer_path, record_completed_run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRAISON_HOME", str(tmp_path / "home"))
    Path("trace.jsonl").write_bytes(jsonl(tool_start("search")))
    return tmp_path


def refused(run, *arguments):
    """What a command that cannot do it says, and the hint."""
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    words, hint = err.removeprefix("tracestream: error: ").splitlines()
    return words, hint


@pytest.mark.parametrize("below", ["", "/below"])
def test_a_home_that_is_a_file_is_named(run, folder, monkeypatch, below):
    monkeypatch.setenv("PRAISON_HOME", f"{folder}/trace.jsonl{below}")
    hint = "Hint: PRAISON_HOME has to name a folder, or a place where one can be made."
    reason = f"{folder}/trace.jsonl{below} is no folder"
    assert refused(run, "record", "trace.jsonl") == (reason, hint)
    words = f"No completed traced run found: {reason}"
    assert refused(run, "last-trace", "--json") == (words, hint)


def test_a_pointer_that_cannot_be_read_says_why(run):
    last_run_pointer_path().mkdir(parents=True)
    words, hint = refused(run, "last-trace", "--json")
    assert words == f"No completed traced run found: {last_run_pointer_path()}: Is a directory"
    assert hint == "Hint: check that it is a file, and that you may read it."


def test_a_pointer_that_may_not_be_read_says_so(run):
    record_completed_run("trace.jsonl").chmod(0)
    if os.access(last_run_pointer_path(), os.R_OK):
        pytest.skip("this user may read everything")
    words, _ = refused(run, "last-trace", "--json")
    assert words.endswith("last_trace.json: Permission denied")


def test_a_pointer_that_leads_nowhere_is_none(run):
    last_run_pointer_path().parent.mkdir()
    last_run_pointer_path().symlink_to("gone")
    words, _ = refused(run, "last-trace", "--json")
    assert words == f"No completed traced run found: there is no {last_run_pointer_path()}"


def test_a_working_folder_that_is_gone_is_said(run, folder, monkeypatch):
    record_completed_run("trace.jsonl")
    Path("gone").mkdir()
    monkeypatch.chdir("gone")
    (folder / "gone").rmdir()
    assert run("last-trace", "--json")[0] == 0  # all its paths are absolute
    monkeypatch.setenv("PRAISON_HOME", "state")
    for command in (["last-trace"], ["record", folder / "trace.jsonl"]):
        words, hint = refused(run, *command)
        assert words == "the working folder is gone, so 'state' is nowhere"
        assert hint == "Hint: give an absolute path, or go to a folder that is there."


@pytest.mark.parametrize("arguments", [[], ["--json"], ["--min-tool-calls", "0"]], ids=" ".join)
def test_no_run_is_2(run, arguments):
    code, out, err = run("last-trace", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("tracestream: error: No completed traced run found: there is no ")
    assert str(last_run_pointer_path()) in err
    last_run_pointer_path().parent.mkdir()
    last_run_pointer_path().write_bytes(b"{")
    code, out, err = run("last-trace", *arguments)
    assert (code, out) == (2, "")
    assert f"found: {last_run_pointer_path()} is no pointer\nHint: " in err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gone.jsonl", "gone.jsonl: No such file or directory"),
        ("\u202egone\x1b[2J", r"\u202egone\x1b[2J: No such file"),
        ("trace.jsonl/x", "trace.jsonl/x: Not a directory"),
        ("x\0", r"x\x00: no file can have this name"),
        ("\ud800", "no file can have this name"),
        ("x" * 5000, "File name too long"),
        ("*.jsonl", "*.jsonl: No such file"),
        ("-", "names -: No such file"),
    ],
    ids=["gone", "hostile", "below-a-file", "NUL", "half", "long", "glob", "dash"],
)
def test_a_trace_that_is_gone_is_2(run, name, words):
    Path("trace.jsonl").write_bytes(jsonl(tool_start("search")))
    last_run_pointer_path().parent.mkdir()
    last_run_pointer_path().write_text(json.dumps({"path": name}))
    code, out, err = run("last-trace", "--json")
    assert (code, out) == (2, "")
    assert err.startswith("tracestream: error: No completed traced run found: the pointer names ")
    assert words in err
    assert err.splitlines()[-1].startswith("Hint: ")
