"""Running a suite against traces: graders, verdicts, the result set."""

import gzip
import json

import pytest

from tests.documents import jsonl, read_json, response, tool_start
from tests.evalport import case, suite, write
from tests.suiteruns import contains, graded, prepared, write_bytes
from tracestream.errors import EvalPortError, InputError
from tracestream.evalport.matching import read_traces
from tracestream.evalport.pins import check_pins
from tracestream.evalport.running import SuiteRun, run_id_of
from tracestream.evalport.suites import Suite
from tracestream.sources import discover

ENDS = [
    {"event_type": "tool_end", "agent_name": "a", "data": {}, "tool_name": tool, "run_id": "r1"}
    for tool in ("search", "search", "read")
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "traces").mkdir()
    return tmp_path


def test_a_test_case_without_a_run_is_an_error_and_has_not_passed(folder):
    write_bytes("traces/t.jsonl", jsonl(response("a", "x", "r1")))
    result_set, run = graded(suite(case("missing", graders=["contains", "path"])))
    (result,) = result_set["results"]
    assert result["passed"] is False
    assert result["error"]["type"] == "runner_error"
    assert result["error"]["code"] == "no_run"
    assert [each["score"] for each in result["grader_results"]] == [None, None]
    assert result["metadata"] == {"openeval.aggregation_status": "unscored"}
    assert result_set["summary"]["skipped"] == 1
    assert dict(run.n_results) == {"no_run": 1}
    assert not run.skips


def test_expected_tools_are_graded_without_a_grader_of_that_type(folder):
    write_bytes("traces/t.jsonl", jsonl(response("a", "x", "r1"), *ENDS, tool_start("other", "r2")))
    own = {"id": "t", "type": "expected_tools", "params": {"handler": "any"}, "weight": 2}
    cases = [
        case("r1", graders=[contains("x")], expected_tools=["read", "search", "search"]),
        case("r2", graders=[contains("x", "expected_tools")], expected_tools=["other", "read"]),
    ]
    result_set, _ = graded(suite(*cases))
    first, second = result_set["results"]
    assert first["passed"]
    assert first["grader_results"][1] == {
        "grader_id": "expected_tools",
        "type": "expected_tools",
        "score": 1.0,
        "passed": True,
        "reason": "all expected tools were called",
    }
    assert [each["grader_id"] for each in second["grader_results"]] == [
        "expected_tools",
        "tracestream.expected_tools",
    ]
    assert second["grader_results"][1]["score"] == 0.5
    result_set, _ = graded(suite(case("r1", graders=[own], expected_tools=["read"])))
    assert [each["grader_id"] for each in result_set["results"][0]["grader_results"]] == ["t"]
    result_set, _ = graded(suite(case("r1", graders=[contains("x")], expected_tools=[])))
    assert len(result_set["results"][0]["grader_results"]) == 1


def test_ends_count_only_where_no_call_of_their_family_starts(folder):
    write_bytes(
        "traces/t.jsonl", jsonl(*ENDS, tool_start("search", "r1"), response("a", "x", "r1"))
    )
    result_set, _ = graded(suite(case("r1", graders=[contains("x")], expected_tools=["read"])))
    assert result_set["results"][0]["grader_results"][1]["reason"] == "not called: 'read'"


def test_types_that_are_not_run_are_left_out_of_the_verdict(folder):
    write_bytes("traces/a.jsonl", jsonl(response("a", "x")))
    kinds = ["contains", "judge", "graded", "near", "person", "own", "other", "code"]
    result_set, run = graded(
        suite(case("a", graders=kinds), case("b", graders=["person"])), "traces"
    )
    first = result_set["results"][0]
    assert first["passed"]
    assert [each["score"] for each in first["grader_results"]] == [1.0] + [None] * 7
    assert dict(run.skips) == {"unsupported_grader_type": 7}
    assert dict(run.n_results) == {"passed": 1, "no_run": 1}


POLICIES = [
    (None, ["full", "full"], True),
    (None, ["full", "none"], False),
    ({"strategy": "all"}, ["full", "none"], False),
    ({"strategy": "any"}, ["full", "none"], True),
    ({"strategy": "any"}, ["none", "half"], False),
    ({"strategy": "majority"}, ["full", "none"], False),
    ({"strategy": "majority"}, ["full", "full", "none"], True),
    ({"strategy": "majority", "threshold": 0.5}, ["full", "none"], True),
    ({"strategy": "weighted", "threshold": 0.75}, ["full", "half"], True),
    ({"strategy": "weighted", "threshold": 0.76}, ["full", "half"], False),
    ({"strategy": "weighted", "threshold": 0.8}, ["full", "full", "none"], False),
    ({"strategy": "weighted", "threshold": 0.8}, ["heavy", "none"], True),
    ({"strategy": "weighted", "threshold": 0.5}, ["full", "judge"], True),
    ({"strategy": "any"}, ["judge", "none"], False),
    ({"strategy": "weighted", "threshold": 0.0}, ["judge"], False),
]


@pytest.mark.parametrize(("policy", "graders", "passed"), POLICIES, ids=range(len(POLICIES)))
def test_the_suite_says_how_graders_make_a_verdict(folder, policy, graders, passed):
    write_bytes("traces/a.jsonl", jsonl(response("a", "x"), tool_start("one")))
    half = {"id": "half", "type": "expected_tools", "params": {"handler": "h"}}
    defined = [
        contains("x", "full"),
        contains("y", "none"),
        half,
        contains("x", "heavy", weight=4),
        {"id": "judge", "type": "llm_judge", "params": {"model": "m", "prompt": "{output}"}},
    ]
    tools = {"expected_tools": ["one", "two"]} if "half" in graders else {}
    fields = {} if policy is None else {"metadata": {"openeval.aggregation": policy}}
    document = suite(case("a", graders=graders, **tools), graders=defined, **fields)
    result_set, _ = graded(document)
    (result,) = result_set["results"]
    assert result["passed"] is passed
    assert result["metadata"].get("openeval.aggregation") == policy


def test_a_result_set_says_when_and_which_run_it_is_without_a_clock(folder):
    write_bytes("traces/a.jsonl", jsonl(response("a", "x")))
    assert graded(suite(case("a")))[0]["started_at"] == "1970-01-01T00:00:00+00:00"
    late, early = (
        {**response("a", "x"), "timestamp": 1700000000.25 + seconds} for seconds in (5, 0)
    )
    write_bytes("traces/a.jsonl", jsonl(response("a", "x"), late))
    write_bytes("traces/b.jsonl", jsonl(early, late))
    assert graded(suite(case("a")))[0]["started_at"] == "2023-11-14T22:13:20.250000+00:00"
    with prepared(suite(case("a"))) as ready:
        ids = {
            run_id_of(ready, sources, options)
            for sources in (discover("traces"), discover("traces/a.jsonl"))
            for options in ({"allow_code": False}, {"allow_code": True})
            for _ in range(2)
        }
    assert len(ids) == 4


def test_pins_must_be_what_a_result_set_can_have():
    check_pins("ci-1", "2026-01-15T10:30:00Z")
    check_pins(None, None)
    for run_id, started_at, pointer in (
        ("", None, "/run_id"),
        ("\ud800", None, "/run_id"),
        (None, "yesterday", "/started_at"),
        (None, "2026-01-15", "/started_at"),
    ):
        with pytest.raises(EvalPortError) as caught:
            check_pins(run_id, started_at)
        assert caught.value.pointer == pointer


def test_a_suite_is_read_in_every_form(folder):
    write_bytes("traces/a.jsonl", jsonl(response("a", "x")))
    lines = "\n\n".join(json.dumps(case(name, graders=["c"])) for name in ("a", "b")) + "\n"
    head = {"version": "1.0.0", "id": "s", "graders": [contains("x")]}
    write_bytes("cases.jsonl", lines.encode())
    write("by_file.json", {**head, "test_cases_file": "cases.jsonl"})
    whole = {"test_cases": [case("a", graders=["c"]), case("b", graders=["c"])], **head}
    write("late.json", whole)  # its graders come after its test cases
    write_bytes("line.jsonl", json.dumps(whole).encode() + b"\n")
    write_bytes("s.json.gz", gzip.compress(json.dumps(whole, indent=1).encode()))
    write_bytes("s.yaml", json.dumps(whole, indent=1).encode())
    found = []
    for name in ("by_file.json", "late.json", "line.jsonl", "s.json.gz", "s.yaml"):
        ready = Suite(discover(name)[0])
        assert all(each.is_valid for each in ready.check())
        with read_traces(discover("traces"), ready.wanted) as traces:
            run = SuiteRun(ready, traces, run_id="r", started_at=traces.earliest)
            found.append(read_json(b"".join(run.parts())))
    assert all(each == found[0] for each in found)
    assert dict(run.n_results) == {"passed": 1, "no_run": 1}


def test_graders_that_no_run_can_be_graded_by_are_told_with_their_place(folder):
    bad = {"id": "bad", "type": "regex", "params": {"pattern": "("}}
    unknown = {"id": "p", "type": "json_path", "params": {"path": "a", "expected": "1"}}
    code = {
        "id": "k",
        "type": "code",
        "params": {"language": "python", "source": "x", "threshold": 2},
    }
    write("suite.json", suite(case("a", graders=["bad", unknown]), graders=[bad, code]))
    faults = [
        (each.pointer, each.code)
        for found in Suite(discover("suite.json")[0]).check()
        for each in found.faults
    ]
    assert faults == [
        ("/graders/0/params/pattern", "SCHEMA_INVALID"),
        ("/graders/1/params/threshold", "SCHEMA_INVALID"),
        ("/test_cases/0/graders/1/params/path", "SCHEMA_INVALID"),
    ]
    write_bytes("cases.jsonl", b"\n" + json.dumps(case("a", graders=[bad])).encode() + b"\n")
    write("suite.json", {"version": "1.0.0", "id": "s", "test_cases_file": "cases.jsonl"})
    (found,) = [v for v in Suite(discover("suite.json")[0]).check() if not v.is_valid]
    assert found.source == "cases.jsonl"
    assert [(each.pointer, each.line) for each in found.faults] == [
        ("/graders/0/params/pattern", 2)
    ]


def test_a_suite_that_cannot_be_read_twice_is_refused(folder):
    with pytest.raises(InputError, match="only once"):
        Suite(discover(b"{}")[0])
    write_bytes("two.jsonl", (json.dumps(suite()) + "\n").encode() * 2)
    with pytest.raises(InputError, match="holds 2 suites"):
        list(Suite(discover("two.jsonl")[0]).check())
