import os
from pathlib import Path

import pytest

from tests.documents import jsonl, tool_start
from tracestream import last_run_pointer_path, load_last_run_pointer


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRAISON_HOME", str(tmp_path / "home"))
    Path("trace.jsonl").write_bytes(jsonl(tool_start("search")))
    return tmp_path


def test_a_trace_is_recorded_and_stdout_is_the_pointer(run, folder):
    code, out, err = run("record", "trace.jsonl")
    assert (code, out, err) == (0, f"{last_run_pointer_path()}\n", "")
    pointer = load_last_run_pointer()
    assert (pointer["path"], pointer["meta"]) == (str(folder / "trace.jsonl"), {})


def test_meta_is_text_up_to_the_first_equals_sign(run):
    given = ["agent=researcher", "query=a=b", "note=", "n=1"]
    code, _, err = run("record", "trace.jsonl", *[x for item in given for x in ("--meta", item)])
    assert (code, err) == (0, "")
    expected = {"agent": "researcher", "query": "a=b", "note": "", "n": "1"}
    assert load_last_run_pointer()["meta"] == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param([], "missing argument 'PATH'", id="nothing"),
        pytest.param(["nix.jsonl"], "the trace 'nix.jsonl' does not exist", id="missing"),
        pytest.param(["dangling"], "the trace 'dangling' does not exist", id="dangling"),
        pytest.param([""], "the trace '' does not exist", id="empty"),
        pytest.param(["-"], "the trace '-' does not exist", id="dash"),
        pytest.param(["."], "the trace '.' is no file", id="folder"),
        pytest.param(["/dev/null"], "the trace '/dev/null' is no file", id="device"),
        pytest.param(["trace.jsonl", "--meta", "agent"], "'agent' is not KEY=VALUE", id="no-value"),
        pytest.param(["trace.jsonl", "--meta", "=x"], "'=x' is not KEY=VALUE", id="no-key"),
        pytest.param(
            ["trace.jsonl", "--meta", "a=1", "--meta", "a=2"], "names 'a' twice", id="twice"
        ),
        pytest.param(["trace.jsonl", "b"], "unexpected extra argument", id="two"),
    ],
)
def test_what_cannot_be_recorded_is_wrong_usage_and_writes_nothing(run, arguments, words):
    os.symlink("gone", "dangling")
    code, out, err = run("record", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.splitlines()[-1].startswith("Hint: ")
    assert not last_run_pointer_path().exists()


def test_a_pointer_that_cannot_be_written_is_2(run):
    Path("home").write_text("no folder")
    code, out, err = run("record", "trace.jsonl")
    assert (code, out) == (2, "")
    assert err.startswith("tracestream: error: ")
    assert "home" in err


def test_names_that_are_no_utf8_do_no_harm(run, monkeypatch, folder):
    name, home = os.fsdecode(b"\xff\n.jsonl"), os.fsdecode(b"h\xff")
    Path(name).write_bytes(jsonl(tool_start("search")))
    monkeypatch.setenv("PRAISON_HOME", home)
    code, out, err = run("record", name, "--meta", "x=" + os.fsdecode(b"\xff"))
    assert (code, out, err) == (0, rf"{folder}/h\udcff/last_trace.json" + "\n", "")
    code, out, err = run("last-trace")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == rf"trace       {folder}/\udcff\n.jsonl"
