import gzip
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from praisonaiagents.eval.harness_eval import HarnessEvaluator as TheirEvaluator

from tests.documents import jsonl, request, tool_start
from tracestream import last_run_pointer_path, record_completed_run

ROOT = Path(__file__).parents[1]

START = {"event_type": "tool_start", "tool_name": "search"}
END = {"event_type": "tool_end", "tool_name": "search"}
CONTEXT_START = {"event_type": "tool_call_start", "data": {"tool_name": "read"}}
CONTEXT_END = {"event_type": "tool_call_end", "data": {"tool_name": "read"}}
OTHER = {"event_type": "llm_request", "agent_name": "a", "data": {"messages": ["x"]}}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRAISON_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def last_trace(run):
    """Record a trace of these bytes and grade it; return exit code, parsed stdout and stderr."""

    def last_trace(data, *arguments, name="trace.jsonl"):
        Path(name).write_bytes(data)
        record_completed_run(name)
        code, out, err = run("last-trace", "--json", *arguments)
        return code, json.loads(out) if out else None, err

    return last_trace


def verdict(n_calls, min_tool_calls=1):
    passed = n_calls >= min_tool_calls
    score = 1.0 if passed else 0.75
    return {"passed": passed, "score": score, "tool_call_count": n_calls}


# ---- the verdict ----


@pytest.mark.parametrize("words", [["last-trace"], ["eval", "last-trace"]], ids=" ".join)
def test_json_is_one_line_and_nothing_else(run, words):
    Path("trace.jsonl").write_bytes(jsonl(START))
    record_completed_run("trace.jsonl")
    line = '{"passed": true, "score": 1.0, "tool_call_count": 1}\n'
    assert run(*words, "--json") == (0, line, "")
    line = '{"passed": false, "score": 0.75, "tool_call_count": 1}\n'
    assert run(*words, "--json", "--min-tool-calls", "2") == (1, line, "")


@pytest.mark.parametrize(
    ("events", "n_calls"),
    [
        pytest.param([START, END], 1, id="start-and-end"),
        pytest.param([START, START, START, END], 3, id="repeated"),
        pytest.param([END, END], 2, id="ends-only"),
        pytest.param([END, END, END, START], 1, id="a-start-outweighs-ends"),
        pytest.param([CONTEXT_START, CONTEXT_END], 1, id="context-events"),
        pytest.param([CONTEXT_END, CONTEXT_END], 2, id="context-ends-only"),
        pytest.param([START, CONTEXT_END, CONTEXT_END], 3, id="families-apart"),
        pytest.param([{**START, "run_id": "r1"}, {**END, "run_id": "r2"}], 1, id="one-run-a-file"),
        pytest.param([{**START, "session_id": s} for s in "abc"], 3, id="sessions"),
        pytest.param([{"event_type": "tool_start"}, {**START, "tool_name": ""}], 0, id="no-name"),
        pytest.param([{"event_type": "tool_start"}, END], 1, id="end-beside-a-nameless-start"),
        pytest.param([OTHER], 0, id="no-tools"),
    ],
)
def test_calls_are_counted_once(last_trace, events, n_calls):
    assert last_trace(jsonl(*events)) == (0 if n_calls else 1, verdict(n_calls), "")


@pytest.mark.parametrize(
    ("records", "n_calls"),
    [
        pytest.param([{"tool_calls": 3}], 3, id="count"),
        pytest.param([{"tool_trace": [{}, {}], "files": []}], 2, id="list"),
        pytest.param([{"tool_calls": 3}, {"judge_score": 9}, {"tool_calls": ["a"]}], 4, id="sum"),
        pytest.param([{"tool_calls": 2**63 - 1}, {"tool_calls": 1}], 2**63, id="beyond-64-bits"),
        pytest.param([{"tool_calls": []}], 0, id="none"),
    ],
)
def test_of_harness_traces_it_is_the_sum_of_what_they_record(last_trace, records, n_calls):
    assert last_trace(jsonl(*records)) == (0 if n_calls else 1, verdict(n_calls), "")


def test_calls_of_a_harness_trace_that_cannot_be_counted_are_none(last_trace):
    code, out, err = last_trace(jsonl({"tool_calls": 3.5}))
    assert (code, out) == (1, verdict(0))
    assert err.startswith("tracestream: doubt: ")


ARRAY = json.dumps([START, OTHER, START]).encode()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("trace.json", ARRAY),
        ("trace.json", b"\n \t" + ARRAY),
        ("trace.json", json.dumps([START, OTHER, START], indent=2).encode()),
        ("trace.jsonl", ARRAY),
        ("trace.jsonl", jsonl(START, OTHER, START).replace(b"\n", b"\r\n\n")),
        ("trace.jsonl", jsonl(START, OTHER, START).rstrip()),
        ("trace.jsonl.gz", gzip.compress(jsonl(START, OTHER, START))),
        ("no suffix", jsonl(START, OTHER, START)),
    ],
    ids=["array", "spaces", "pretty", "misnamed", "blank-lines", "no-end", "gzip", "no-suffix"],
)
def test_every_form_of_a_trace_is_read(last_trace, name, data):
    assert last_trace(data, name=name) == (0, verdict(2), "")


@pytest.mark.parametrize("data", [b"", b" \n\n", b"[]", b"[\n]\n"], ids=["0", "blank", "[]", "[n]"])
def test_an_empty_trace_has_no_calls(last_trace, data):
    assert last_trace(data) == (1, verdict(0), "")
    assert last_trace(data, "--min-tool-calls", "0") == (0, verdict(0, 0), "")


def test_verdict_is_that_of_the_reference(last_trace):
    """The rule of the page in plain Python, then the reference's evaluator."""
    chance = random.Random(7)
    kinds = ["tool_start", "tool_end", "llm_request", "output"]
    for n in range(40):
        some = chance.choices(kinds, weights=[n % 3, 2, 1, 1], k=chance.randrange(8))
        events = [{"event_type": kind, "tool_name": chance.choice(["a", "b", ""])} for kind in some]
        counted = [
            [e for e in events if e["event_type"] == kind and e["tool_name"]] for kind in kinds[:2]
        ]
        asked = chance.randrange(4)
        theirs = TheirEvaluator(
            {"tool_calls": counted[0] or counted[1]}, min_tool_calls=asked
        ).run()
        expected = {key: getattr(theirs, key) for key in ("passed", "score", "tool_call_count")}
        data = json.dumps(events).encode() if n % 2 else jsonl(*events)
        code, out, _ = last_trace(data, "--min-tool-calls", asked)
        assert (code, out) == (0 if theirs.passed else 1, expected)


# ---- malformed, or only odd ----


@pytest.mark.parametrize(
    ("data", "place"),
    [
        pytest.param(jsonl(START) + b"{no json}\n" + jsonl(START), "line 2", id="bad-line"),
        pytest.param(jsonl(START) + b'{"event_ty', "line 2", id="torn"),
        pytest.param(ARRAY[:-20], "truncated_array", id="cut-array"),
        pytest.param(gzip.compress(jsonl(*[START] * 99))[:-9], "truncated_stream", id="cut-gzip"),
        pytest.param(jsonl(START) + b"[" * 9999 + b"]" * 9999, "deep_nesting", id="deep"),
        pytest.param(b'{"foo": 1}\n', "unknown format: first keys: foo", id="unknown-format"),
        pytest.param(b"not a trace\n", "unknown format", id="text"),
        pytest.param(b"\0\1\2\xff", "unknown format", id="binary"),
    ],
)
def test_a_malformed_trace_is_1_with_its_place_and_an_empty_stdout(run, data, place):
    Path("trace.jsonl").write_bytes(data)
    record_completed_run("trace.jsonl")
    for arguments in ([], ["--json"], ["--json", "--min-tool-calls", "0"]):
        code, out, err = run("last-trace", *arguments)
        assert (code, out) == (1, "")
        assert place in err
        assert f"tracestream: error: malformed trace {Path('trace.jsonl').resolve()}: " in err
        assert err.splitlines()[-1].startswith("Hint: ")


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        pytest.param(b'{"event_type": "output", "cost_usd": NaN}', "note", id="nan"),
        pytest.param(b'{"event_type": "brand_new"}', "note", id="unknown-event"),
        pytest.param(b'{"event_type": "tool_start", "tool_name": 7}', "doubt", id="wrong-type"),
        pytest.param(b'"text"', "doubt", id="not-an-object"),
        pytest.param(b'{"foo": 1}', "doubt", id="wrong-shape"),
    ],
)
def test_what_is_only_odd_is_told_and_does_not_fail(last_trace, record, reason):
    code, out, err = last_trace(jsonl(START) + record + b"\n")
    assert (code, out) == (0, verdict(1))
    assert err.startswith(f"tracestream: {reason}: ")


def test_a_folder_is_a_malformed_trace(run):
    record_completed_run(".")
    code, out, err = run("last-trace", "--json")
    assert (code, out) == (1, "")
    assert "unreadable: Is a directory\nHint: " in err


def test_a_trace_that_may_not_be_read_is_malformed(run):
    Path("trace.jsonl").write_bytes(jsonl(START))
    Path("trace.jsonl").chmod(0)
    if os.access("trace.jsonl", os.R_OK):
        pytest.skip("this user may read everything")
    record_completed_run("trace.jsonl")
    code, out, err = run("last-trace", "--json")
    assert (code, out) == (1, "")
    assert "unreadable: Permission denied" in err


# ---- what is asked ----


@pytest.mark.parametrize("name", ["-", "*.jsonl", "[ab].jsonl"])
def test_a_path_is_a_name_whatever_it_looks_like(last_trace, name):
    Path("a.jsonl").write_bytes(b"")
    assert last_trace(jsonl(START), name=name) == (0, verdict(1), "")


@pytest.mark.parametrize("value", ["-1", "x", "1.5", ""])
def test_a_least_number_that_is_none_is_wrong_usage(run, value):
    code, out, err = run("last-trace", "--min-tool-calls", value)
    assert (code, out) == (2, "")
    assert "'--min-tool-calls'" in err


# ---- the summary ----


@pytest.fixture
def summary(run):
    """Grade the trace that a pointer names; return the exit code and the lines."""

    def summary(data, *arguments, **pointer):
        Path("trace.jsonl").write_bytes(data)
        last_run_pointer_path().parent.mkdir(exist_ok=True)
        last_run_pointer_path().write_text(json.dumps({"path": "trace.jsonl", **pointer}))
        code, out, err = run("last-trace", *arguments)
        assert err == ""
        return code, out.splitlines()

    return summary


def test_a_summary_tells_which_run_and_why(summary):
    data = jsonl(START, CONTEXT_START, CONTEXT_START, OTHER)
    meta = {"agent": "Researcher", "status": None, "tries": [1, 2]}
    assert summary(data, "--min-tool-calls", "4", recorded_at=1762598400.123, meta=meta) == (
        1,
        [
            "trace       trace.jsonl",
            "recorded    2025-11-08 10:40:00 UTC",
            "meta        agent=Researcher, status=null, tries=[1, 2]",
            "tool calls  3: read 2, search 1",
            "",
            "fail        score 0.75; tool calls asked for: 4 or more",
        ],
    )
    assert summary(b"", "--min-tool-calls", "0") == (
        0,
        [
            "trace       trace.jsonl",
            "tool calls  0",
            "",
            "pass        score 1.0; tool calls asked for: any number",
        ],
    )


def test_a_summary_says_how_many_starts_have_no_name(summary):
    nameless = [
        {"event_type": "tool_start"},
        {**START, "tool_name": ""},
        {**START, "tool_name": None},
    ]
    _, lines = summary(jsonl(*nameless, START, {"event_type": "tool_end"}))
    assert lines[1] == "tool calls  1: search 1; starts without a tool's name: 3"


def test_a_summary_of_harness_traces_has_a_number(summary):
    _, lines = summary(jsonl({"tool_calls": 1200}, {"tool_calls": [{"name": "search"}]}))
    assert lines[1] == "tool calls  1,201"


def test_a_summary_names_the_ten_tools_called_most(summary):
    data = jsonl(*[tool_start(f"t{n:02}") for n in range(13) for _ in range(20 - n)])
    _, lines = summary(data)
    assert lines[1].startswith("tool calls  182: t00 20, t01 19, ")
    assert lines[1].endswith(", t09 11, 3 more tools")


@pytest.mark.parametrize("time", [None, "then", [1], 1e300, float("nan"), 10**400], ids=type)
@pytest.mark.parametrize("meta", [None, 7, "text", [1], {}], ids=type)
def test_a_summary_leaves_out_what_nobody_can_read(summary, time, meta):
    code, lines = summary(jsonl(START), recorded_at=time, meta=meta)
    assert code == 0
    assert [line.split()[0] for line in lines if line] == ["trace", "tool", "pass"]


def test_a_summary_is_safe_for_a_terminal(summary):
    hostile = "\x1b[2J\u202egpj\nfail  x\u200b"
    code, lines = summary(jsonl(tool_start(hostile)), meta={hostile: hostile, "long": "x" * 10_000})
    assert code == 0
    assert len(lines) == 5
    shown = r"\x1b[2J\u202egpj\nfail  x\u200b"
    assert lines[1].startswith(f"meta        {shown}={shown}, long=xxx")
    assert lines[2] == f"tool calls  1: {shown} 1"
    assert max(map(len, lines)) < 140


# ---- size and cost ----


def test_texts_are_not_decoded_and_run_ids_not_kept(last_trace, monkeypatch):
    """A trace of any size: what is kept grows with the names of tools alone."""
    from tracestream import batches
    from tracestream.folds.tools import Tools

    sizes, columns = [], []
    update, scan = Tools.update, batches.Scan.__init__

    def updated(self, batch):
        columns.append(batch.schema.names)
        update(self, batch)
        sizes.append(len(self.tools))

    def small(self, *arguments, **options):
        scan(self, *arguments, **options, batch_rows=100)

    monkeypatch.setattr(Tools, "update", updated)
    monkeypatch.setattr(batches.Scan, "__init__", small)
    events = [tool_start("search", f"r{n}") for n in range(1000)]
    assert last_trace(jsonl(*events, request("a", ["x"]))) == (0, verdict(1000), "")
    assert sizes == [100] * 10 + [0]
    assert columns[0] == ["source", "session_id", "run_id", "kind", "family", "tool", "harness"]


LIGHT = {"pyarrow", "polars", "msgspec", "orjson", "numpy"}


@pytest.mark.parametrize(
    ("command", "unwanted"),
    [
        pytest.param("--version", LIGHT | {"rich"}, id="version"),
        pytest.param("--help", LIGHT | {"rich"}, id="help"),
        pytest.param("eval --help", LIGHT | {"rich"}, id="help-of-a-group"),
        pytest.param("record trace.jsonl", LIGHT, id="record"),
        pytest.param("last-trace", {"polars", "numpy"}, id="last-trace"),
        pytest.param("last-trace --json", {"polars", "numpy", "rich"}, id="last-trace-json"),
    ],
)
def test_a_command_imports_what_it_needs(command, unwanted):
    Path("trace.jsonl").write_bytes(jsonl(START))
    record_completed_run("trace.jsonl")
    code = (
        "import sys\nfrom tracestream.cli import main\n"
        "code = main(sys.argv[1:])\nprint(*sys.modules, file=sys.stderr)\nsys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command.split()],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    loaded = set(done.stderr.split())
    assert "tracestream.cli.app" in loaded
    assert not unwanted & loaded
