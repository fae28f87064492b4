import gzip
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import ENV, on_terminal, program
from tracestream.cli.options import TOP_ON_TERMINAL
from tracestream.render.text import cell_width

TEXT = "the quarterly revenue report covers europe and asia"


def event(kind, agent, session="s", **data):
    record = {"event_type": kind, "session_id": session, "agent_name": agent, "data": data}
    return json.dumps(record).encode() + b"\n"


HANDOFF = event("llm_response", "researcher", response_content=TEXT) + event(
    "llm_request", "writer", messages=[{"role": "user", "content": TEXT}]
)


@pytest.fixture
def traces(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(HANDOFF)
    (folder / "b.jsonl").write_bytes(HANDOFF)
    return folder


@pytest.mark.parametrize("data", [HANDOFF, gzip.compress(HANDOFF)], ids=["plain", "gzip"])
def test_a_dash_reads_stdin(data):
    done = program("grade", "-", input=data)
    assert done.returncode == 0
    assert b"pass       10.00      0       2  -#s\n" in done.stdout
    assert done.stderr == b""


@pytest.mark.parametrize(
    "arguments",
    [
        ["grade", "traces"],
        ["grade", "many.jsonl"],
        ["grade", "many.jsonl", "--json"],
        ["inspect", "traces"],
        ["inspect", "many.jsonl", "--json"],
        ["grade", "--help"],
        ["--version"],
        ["formats"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_closed_stdout_ends_quietly_with_0(traces, arguments, unbuffered):
    """As `| head` closes it: before, during or after what is written."""
    Path("many.jsonl").write_bytes(
        b"".join(event("llm_request", "a", f"s{i}", messages=["x"]) for i in range(2000))
    )
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = program(*arguments, stdout=writer, env={"PYTHONUNBUFFERED": unbuffered})
    finally:
        os.close(writer)
    assert done.returncode == 0
    assert done.stderr == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [["grade", "traces"], ["grade", "traces", "--json"], ["-h"]])
def test_a_full_stdout_is_2(traces, arguments):
    with open("/dev/full", "wb") as full:
        done = program(*arguments, stdout=full)
    assert done.returncode == 2
    assert done.stderr.startswith(b"tracestream: error: No space left on device: <stdout>\nHint: ")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_from_the_start_do_no_harm(traces, closed):
    python = f"{shlex.quote(sys.executable)} -m tracestream"
    done = subprocess.run(
        ["sh", "-c", f"{python} grade traces {closed}"],
        env=ENV,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr == b""
    if ">&-" not in closed.replace("2>&-", ""):
        assert done.stdout.endswith(b"2 runs: 2 passed, 0 failed, 0 ungradable\n")


def test_words_follow_data_where_both_go_to_one_place(traces):
    with (traces / "a.jsonl").open("ab") as file:
        file.write(b"{")
    lines = program("grade", "traces", stderr=subprocess.STDOUT).stdout.splitlines()
    assert lines[0].startswith(b"VERDICT")
    assert lines[-3] == b"2 runs: 2 passed, 0 failed, 0 ungradable"
    assert lines[-2].startswith(b"tracestream: 1 record skipped")
    assert lines[-1].startswith(b"tracestream: loss: torn_tail")


def test_words_are_no_reason_to_fail(traces):
    with (traces / "a.jsonl").open("ab") as file:
        file.write(b"{")
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = program("grade", "traces", stderr=writer)
    finally:
        os.close(writer)
    assert done.returncode == 0
    assert done.stdout.endswith(b"2 runs: 2 passed, 0 failed, 0 ungradable\n")


def test_names_beyond_ascii_survive_a_stdout_that_is_ascii(traces):
    (traces / "日本.jsonl").write_bytes(HANDOFF)
    done = program("grade", "traces", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode == 0
    assert rb"traces/\u65e5\u672c.jsonl#s" in done.stdout
    done = program("grade", "traces", env={"PYTHONIOENCODING": "utf-8"})
    assert "traces/日本.jsonl#s".encode() in done.stdout


@pytest.mark.parametrize("arguments", [["-h"], ["grade", "-h"], ["inspect", "-h"], ["formats"]])
def test_help_can_be_written_where_there_is_only_ascii(arguments):
    done = program(*arguments, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


def test_names_that_are_no_utf8_do_no_harm(traces):
    with open(os.fsencode(traces) + b"/\xff\n.jsonl", "wb") as file:
        file.write(HANDOFF)
    done = program("grade", "traces")
    assert done.returncode == 0
    assert rb"traces/%FF\n.jsonl#s" in done.stdout
    assert json.loads(program("grade", "traces", "--json").stdout)["summary"]["runs"] == 3


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_terminal_shows_colour_within_its_width(traces, columns):
    (traces / f"{'long-' * 20}.jsonl").write_bytes(HANDOFF)
    code, shown = on_terminal("grade", "traces", columns=columns)
    assert code == 0
    assert "\x1b[32mpass\x1b[0m" in shown
    plain = shown.replace("\x1b[32m", "").replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert plain.isascii() or "…" in plain
    assert "\x1b" not in plain
    assert all(cell_width(line) <= columns for line in plain.splitlines())
    assert ("…" in plain) == (columns < 200)


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"])
def test_no_colour_where_none_is_wanted(traces, env):
    code, shown = on_terminal("grade", "traces", **env)
    assert code == 0
    assert "pass       10.00      0       2  traces/a.jsonl#s\n" in shown
    assert "\x1b" not in shown


def test_a_pipe_has_no_colour_even_if_forced(traces):
    done = program("grade", "traces", env={"FORCE_COLOR": "1"})
    assert b"\x1b" not in done.stdout


def test_a_terminal_lists_the_worst_and_a_pipe_all(traces):
    Path("many.jsonl").write_bytes(
        b"".join(event("llm_request", "a", f"s{i}", messages=["x"]) for i in range(100))
    )
    _, shown = on_terminal("grade", "many.jsonl", NO_COLOR="1")
    assert shown.count("many.jsonl#s") == TOP_ON_TERMINAL
    assert "... and 70 more (70 passed); --top 100 lists all\n" in shown
    _, shown = on_terminal("grade", "many.jsonl", "--top", "100", NO_COLOR="1")
    assert shown.count("many.jsonl#s") == 100
    assert program("grade", "many.jsonl").stdout.count(b"many.jsonl#s") == 100
    cut = program("grade", "many.jsonl", "--top", "3").stdout
    assert cut.count(b"many.jsonl#s") == 3
    assert cut.endswith(b"100 runs: 100 passed, 0 failed, 0 ungradable\n")


@pytest.mark.parametrize("target", ["-", "/dev/stdout"])
def test_an_output_to_stdout_is_all_that_is_there(traces, target):
    done = program("grade", "traces", "-o", target)
    assert json.loads(done.stdout)["summary"]["runs"] == 2
    closed = subprocess.run(
        [
            "sh",
            "-c",
            f"{shlex.quote(sys.executable)} -m tracestream grade traces -o {target} | true",
        ],
        env=ENV,
        capture_output=True,
        check=False,
    )
    assert closed.stderr == b""


def test_a_name_with_line_ends_makes_no_line_of_its_own(traces):
    Path("traces/x\ntracestream: all is well\nHint: .jsonl").write_bytes(b'{"event_type": "out')
    done = program("grade", "traces")
    lines = done.stderr.splitlines()
    assert {line.split()[0] for line in lines} == {b"tracestream:"}
    assert not [line for line in lines if line.startswith(b"tracestream: all is well")]
    assert b"\\ntracestream: all is well" in done.stderr
