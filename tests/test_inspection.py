"""What `inspect` says of traces: counted by hand, as `grade` counts, whatever the blocks and batches."""

import gzip
import io
import json
import math
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracestream.inspection
from tests.documents import jsonl, request, response
from tracestream.dialects.base import INT64_MAX
from tracestream.folds import Folds
from tracestream.folds.usage import AgentUsage
from tracestream.grading import grade
from tracestream.inspection import Contents, inspect_traces
from tracestream.quality import REASONS
from tracestream.report import REPORT_SCHEMA

TEXT = "the quarterly revenue report covers europe and asia"


def event(kind, agent=None, **fields):
    return {"event_type": kind, "agent_name": agent, **fields}


def call(tool, **fields):
    return event("tool_call_start", "planner", data={"tool_name": tool}, **fields)


def result(tool, error=None, **fields):
    return event("tool_call_end", "planner", data={"tool_name": tool, "error": error}, **fields)


TWO_AGENTS = [
    event("session_start", timestamp=100.25),
    request("planner", [TEXT], "r1", tokens_budget=500, timestamp=100.5),
    response("planner", TEXT, "r1", prompt_tokens=40, completion_tokens=5, cost_usd=0.1),
    call("search", run_id="r1"),
    result("search", run_id="r1", error="timeout"),
    call("search", run_id="r1"),
    result("search", run_id="r1"),
    event("agent_handoff", "planner", run_id="r1", data={"to_agent": "writer"}),
    request("writer", [TEXT], "r1"),
    response("writer", "", "r1", prompt_tokens=60, completion_tokens=7, cost_usd=0.2),
    event("brand_new", "writer", run_id="r1", timestamp=102.75),
]
ACTIONS = [
    {"event_type": "tool_start", "tool_name": "read_file", "agent_name": "reader"},
    {"event_type": "tool_end", "tool_name": "read_file", "agent_name": "reader", "status": "ok"},
    {"event_type": "tool_start", "tool_name": "read_file", "agent_name": "reader"},
    {"event_type": "tool_end", "tool_name": "read_file", "agent_name": "reader", "status": "error"},
    {"event_type": "error", "tool_name": "read_file", "status": "error", "error_message": "no"},
]
ENDS_ONLY = [
    {"event_type": "tool_end", "tool_name": "a", "status": "error", "error_message": "twice told"},
    {"event_type": "tool_end", "tool_name": "b"},
    {"event_type": "tool_end", "status": "error"},
]
LEFTOVERS = [
    event("session_start", session_id="s"),
    request("planner", [TEXT], "r1", session_id="s"),
    response("planner", TEXT, "r2", session_id="s"),
    event("session_end", session_id="s"),
    event("task_start", session_id="t"),
]


def corpus(folder):
    """Write traces of many kinds into a folder."""
    folder.mkdir()
    (folder / "actions.jsonl").write_bytes(jsonl(*ACTIONS))
    (folder / "array.json").write_text(json.dumps(TWO_AGENTS, indent=2))
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "ends.jsonl.gz").write_bytes(gzip.compress(jsonl(*ENDS_ONLY), mtime=0))
    (folder / "foreign.jsonl").write_bytes(b'{"foo": 1}\n{"foo": 2}\n')
    (folder / "leftovers.jsonl").write_bytes(jsonl(*LEFTOVERS))
    damaged = jsonl(*TWO_AGENTS[:6]) + b"not json\n[1]\n" + jsonl(TWO_AGENTS[6]) + b'{"event_t'
    (folder / "pretty.json").write_text("\n".join(json.dumps(e, indent=2) for e in ACTIONS))
    (folder / "torn.jsonl").write_bytes(damaged)
    (folder / "wrong.jsonl").write_bytes(jsonl(event("llm_request", 7), event("odd\ud83d")))
    return folder


@pytest.fixture
def traces(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return corpus(tmp_path / "traces").name


def sources(inspection):
    return {source["source"]: source for source in inspection.to_dict()["sources"]}


def test_every_figure_of_a_small_trace_is_right():
    document = inspect_traces(jsonl(*TWO_AGENTS)).to_dict()
    source = document["sources"][0]
    contents = {
        "events": 11,
        "kinds": [
            {
                "kind": kind,
                "events": sum(types.values()),
                "types": [{"event_type": name, "events": n} for name, n in types.items()],
            }
            for kind, types in (
                ("request", {"llm_request": 2}),
                ("response", {"llm_response": 2}),
                ("tool_call", {"tool_call_start": 2}),
                ("tool_result", {"tool_call_end": 2}),
                ("handoff", {"agent_handoff": 1}),
                ("other", {"brand_new": 1}),
                ("run_start", {"session_start": 1}),
            )
        ],
        "requests": {"events": 2, "with_text": 2},
        "responses": {"events": 2, "with_text": 1},
        "agents": [{"agent": "planner", "events": 7}, {"agent": "writer", "events": 3}],
        "tool_calls": 2,
        "tool_errors": 1,
        "tools": [{"tool": "search", "calls": 2, "errors": 1}],
        "time": {
            "first": "1970-01-01T00:01:40.25Z",
            "last": "1970-01-01T00:01:42.75Z",
            "span_s": 2.5,
        },
        "usage": {"input_tokens": 100, "output_tokens": 12, "cost_usd": math.fsum([0.1, 0.2])},
    }
    n_bytes = len(jsonl(*TWO_AGENTS))
    run = {
        **{"run": "<bytes>#r1", "run_id": "r1", "events": 11, "gradable": True},
        **{"agents": ["planner", "writer"], "handoffs": 1, "handoffs_with_text": 1},
        "has_budget": True,
    }
    assert source == {
        "source": "<bytes>",
        "dialect": "praisonai",
        "framing": "lines",
        "compressed": None,
        "bytes": n_bytes,
        "problem": None,
        "damage": {"unknown_event": 1},
        "runs": [run],
        **contents,
    }
    assert document["summary"] == {
        **{"sources": 1, "problems": 0, "compressed": 0, "bytes": n_bytes},
        **{"runs": 1, "gradable_runs": 1, "budget_runs": 1},
        **{"handoffs": 1, "handoffs_with_text": 1},
        "dialects": [{"dialect": "praisonai", "sources": 1}],
        "framings": [{"framing": "lines", "sources": 1}],
        **contents,
    }


def test_totals_are_the_sums_of_the_sources(traces):
    document = inspect_traces(traces).to_dict()
    summary, found = document["summary"], document["sources"]
    assert summary["sources"] == len(found) == 9
    for name in ("bytes", "events", "tool_calls", "tool_errors"):
        assert summary[name] == sum(source[name] for source in found)
    for name in ("requests", "responses"):
        for part in ("events", "with_text"):
            assert summary[name][part] == sum(source[name][part] for source in found)
    for name in ("handoffs", "handoffs_with_text"):
        assert summary[name] == sum(run[name] for source in found for run in source["runs"])
    for name, key, count in (
        ("kinds", "kind", "events"),
        ("agents", "agent", "events"),
        ("tools", "tool", "calls"),
        ("tools", "tool", "errors"),
    ):
        total: Counter[str] = Counter()
        for source in found:
            total.update({entry[key]: entry[count] for entry in source[name]})
        assert {entry[key]: entry[count] for entry in summary[name]} == total
    for part, how in (("first", min), ("last", max)):
        assert summary["time"][part] == how(s["time"][part] for s in found if s["time"][part])
    for name in ("input_tokens", "output_tokens"):
        known = [s["usage"][name] for s in found if s["usage"][name] is not None]
        assert summary["usage"][name] == sum(known)
    assert summary["problems"] == sum(source["problem"] is not None for source in found) == 2
    assert summary["compressed"] == 1


def test_runs_are_those_that_grade_names_and_counts(traces):
    report = grade(traces)
    inspection = inspect_traces(traces)
    graded = [
        (run["run"], run["run_id"], run["events"], run["verdict"] != "ungradable")
        for run in report.runs_table.to_pylist()
    ]
    assert graded == [
        (run["run"], run["run_id"], run["events"], run["gradable"])
        for source in inspection.to_dict()["sources"]
        for run in source["runs"]
    ]
    assert "traces/leftovers.jsonl#t" in {name for name, *_ in graded}
    assert "traces/leftovers.jsonl#s" not in {name for name, *_ in graded}
    summary = inspection.summary
    for name in ("runs", "events", "bytes", "tool_calls", "input_tokens", "output_tokens"):
        flat = summary | summary["usage"]
        assert flat[name] == report.summary[name], name
    assert summary["gradable_runs"] == len(graded) - report.summary["ungradable"]
    assert summary["handoffs"] == report.handoffs_table.num_rows
    assert inspection.ledger.to_dict() == report.ledger.to_dict()


def test_the_chain_is_that_of_grade():
    data = jsonl(
        *(request("b", [TEXT]), response("a", TEXT), response("c", TEXT)),
        *(request("a", [TEXT]), request("d", [TEXT])),
    )
    (source,) = inspect_traces(data).to_dict()["sources"]
    (run,) = source["runs"]
    assert run["agents"] == ["b", "a", "c", "d"]
    pairs = grade(data).handoffs_table.select(["from_agent", "to_agent"]).to_pylist()
    assert [(p["from_agent"], p["to_agent"]) for p in pairs] == [("b", "a"), ("a", "c"), ("c", "d")]
    # a has an output, but c no input; c has an output, and d an input.
    assert (run["handoffs"], run["handoffs_with_text"]) == (3, 1)


def test_without_any_text_there_is_no_handoff():
    data = jsonl(request("a", []), response("a", ""), request("b", []))
    source = inspect_traces(data).source(0)
    assert [source[name]["with_text"] for name in ("requests", "responses")] == [0, 0]
    assert source["runs"][0]["agents"] == ["a", "b"]
    assert source["runs"][0]["handoffs"] == grade(data).handoffs_table.num_rows == 0


def test_agents_are_in_the_order_of_their_first_event():
    events = [event("agent_start", name) for name in ("zoe", "abe", "zoe", "mia", "abe", "", None)]
    for batch_rows in (1, 2, 100):
        agents = inspect_traces(jsonl(*events), batch_rows=batch_rows).summary["agents"]
        assert [tuple(agent.values()) for agent in agents] == [("zoe", 2), ("abe", 2), ("mia", 1)]


def test_types_and_tools_are_most_frequent_first_then_by_name():
    names = ["b", "c", "a", "c", "b", "c"]
    events = [call(name) for name in names] + [event(f"new_{name}") for name in names]
    events += [result("a", "failed")] * 9
    summary = inspect_traces(jsonl(*events)).summary
    assert [tool["tool"] for tool in summary["tools"]] == ["c", "b", "a"]
    other = next(kind for kind in summary["kinds"] if kind["kind"] == "other")
    assert [entry["event_type"] for entry in other["types"]] == ["new_c", "new_b", "new_a"]


@pytest.mark.parametrize(
    ("events", "tools"),
    [
        pytest.param(ACTIONS, {"read_file": (2, 1)}, id="status"),
        pytest.param(ENDS_ONLY, {"a": (1, 1), "b": (1, 0)}, id="ends-without-starts"),
        pytest.param([call("a"), result("b")], {"a": (1, 0)}, id="ends-beside-starts"),
        pytest.param(
            [call("a"), result("b", "x")], {"a": (1, 0), "b": (0, 1)}, id="error-beside-starts"
        ),
        pytest.param([call("a"), result("a", "")], {"a": (1, 0)}, id="empty-error"),
        pytest.param([call("a"), *ACTIONS[1:2]], {"a": (1, 0), "read_file": (1, 0)}, id="families"),
        pytest.param(
            [call("a", run_id="1"), result("a", run_id="2")], {"a": (2, 0)}, id="run-by-run"
        ),
        pytest.param([event("tool_call_start", "x")], {}, id="no-name"),
    ],
)
def test_tool_calls_are_counted_as_grade_does_and_errors_by_tool(events, tools):
    summary = inspect_traces(jsonl(*events)).summary
    assert {tool["tool"]: (tool["calls"], tool["errors"]) for tool in summary["tools"]} == tools
    assert summary["tool_calls"] == sum(calls for calls, _ in tools.values())
    assert summary["tool_calls"] == grade(jsonl(*events)).summary["tool_calls"]
    assert summary["tool_errors"] == sum(errors for _, errors in tools.values())


@settings(max_examples=60)
@given(
    batch_rows=st.integers(1, 40),
    block_bytes=st.one_of(st.integers(1, 400), st.just(1 << 20)),
)
def test_blocks_and_batches_do_not_change_a_byte(tmp_path_factory, batch_rows, block_bytes):
    folder = tmp_path_factory.getbasetemp() / "inspected"
    if not folder.exists():
        corpus(folder)
    whole = b"".join(inspect_traces(folder).to_json())
    parts = inspect_traces(folder, batch_rows=batch_rows, block_bytes=block_bytes)
    assert b"".join(parts.to_json()) == whole


def test_costs_are_summed_exactly():
    costs = [1e15, 0.1, 0.2, 0.3, -1e15, 0.7]
    events = [response("a", TEXT, str(n), cost_usd=cost) for n, cost in enumerate(costs)]
    assert sum(costs) != math.fsum(costs)
    together = inspect_traces(jsonl(*events)).summary["usage"]
    apart = inspect_traces([io.BytesIO(jsonl(event)) for event in events]).summary["usage"]
    assert together == apart
    assert together["cost_usd"] == math.fsum(costs)


def test_sums_of_tokens_stay_within_64_bits():
    usage = Contents(usage=AgentUsage(input_tokens=1 << 70)).to_dict()["usage"]
    assert usage == {"input_tokens": INT64_MAX, "output_tokens": None, "cost_usd": None}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        pytest.param("0", "1970-01-01T00:00:00Z", id="zero"),
        pytest.param("1750000000.3125", "2025-06-15T15:06:40.3125Z", id="fraction"),
        pytest.param("1.000000001", "1970-01-01T00:00:01.000000001Z", id="nanosecond"),
        pytest.param("-0.5", "1969-12-31T23:59:59.5Z", id="negative"),
        pytest.param("1e300", None, id="out-of-range"),
        pytest.param('"now"', None, id="no-number"),
        pytest.param("null", None, id="null"),
    ],
)
def test_times_are_exact_or_missing(seconds, text):
    data = b'{"event_type": "agent_start", "timestamp": %b}' % seconds.encode()
    time = inspect_traces(data).summary["time"]
    assert (time["first"], time["last"]) == (text, text)
    assert time["span_s"] == (None if text is None else 0.0)


def test_damage_is_told_by_source(traces):
    found = sources(inspect_traces(traces))
    damage = {name.removeprefix("traces/"): s["damage"] for name, s in found.items() if s["damage"]}
    assert damage == {
        "array.json": {"unknown_event": 1},
        "foreign.jsonl": {"unknown_format": 1},
        "torn.jsonl": {"torn_tail": 1, "malformed_record": 1, "not_an_object": 1},
        "wrong.jsonl": {"wrong_type": 1, "lone_surrogate": 1, "unknown_event": 1},
    }
    assert list(damage["torn.jsonl"]) == [r for r in REASONS if r in damage["torn.jsonl"]]
    total: Counter[str] = Counter()
    for reasons in damage.values():
        total.update(reasons)
    reasons = inspect_traces(traces).to_dict()["quality"]["reasons"]
    assert {reason: entry["count"] for reason, entry in reasons.items()} == total


@pytest.mark.parametrize(
    ("name", "form"),
    [
        pytest.param("actions.jsonl", ("praisonai", "lines", False, None), id="lines"),
        pytest.param("array.json", ("praisonai", "array", False, None), id="array"),
        pytest.param("pretty.json", ("praisonai", "document", False, None), id="document"),
        pytest.param("ends.jsonl.gz", ("praisonai", "lines", True, None), id="compressed"),
        pytest.param("empty.jsonl", (None, "lines", False, "the source is empty"), id="empty"),
        pytest.param("foreign.jsonl", (None, "lines", False, "unknown format"), id="foreign"),
    ],
)
def test_format_framing_compression_and_problem_of_a_source(traces, name, form):
    source = sources(inspect_traces(traces))[f"traces/{name}"]
    *known, problem = form
    assert [source[part] for part in ("dialect", "framing", "compressed")] == known
    assert (source["problem"] or "").startswith(problem or "")
    assert (source["problem"] is None) == (problem is None)


def test_documents_of_ours_in_a_folder_are_no_sources(traces):
    before = inspect_traces(traces).to_dict()
    report = b'{"schema": "%b", "runs": []}' % REPORT_SCHEMA.encode()
    Path(traces, "a_report.json").write_bytes(report)
    Path(traces, "z_report.json").write_bytes(b"".join(inspect_traces(traces).to_json()))
    after = inspect_traces(traces).to_dict()
    assert after == before


def test_sources_are_finished_as_they_are_read(monkeypatch):
    finished = []

    class Watched(Folds):
        def finish(self):
            finished.append(len(runs := super().finish()))
            return runs

    monkeypatch.setattr(tracestream.inspection, "Folds", Watched)
    files = [io.BytesIO(jsonl(*ACTIONS)) for _ in range(50)]
    assert inspect_traces(files, batch_rows=20).summary["runs"] == sum(finished) == 50
    assert max(finished) <= 5


def test_texts_are_never_held():
    data = jsonl(*(request("a", ["x" * 100_000]) for _ in range(300)))  # 30 MB
    blocks = [data[begin : begin + 65_536] for begin in range(0, len(data), 65_536)]
    inspect_traces(jsonl(request("a", [TEXT])))  # imports and caches
    tracemalloc.start()
    try:
        summary = inspect_traces(iter(blocks)).summary
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert summary["requests"] == {"events": 300, "with_text": 300}
    assert peak_bytes < 3_000_000
