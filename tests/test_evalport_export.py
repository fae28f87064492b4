"""A graded corpus as EvalPort: valid by the reference and by us, and every number the report's."""

import gzip
import io
import json
from pathlib import Path

import pytest
from openeval.validate import validate_result_set, validate_suite

from tests.documents import graded, jsonl, request, response, schema
from tests.reports import ALL, HANDED_ON, IDLE, LOST, TOOLS, of, one_run, sample_report
from tracestream import EvalPortError, grade
from tracestream.evalport.conformance import schema as evalport_schema
from tracestream.evalport.export import GRADERS, run_result
from tracestream.evalport.merging import Summary
from tracestream.evalport.pins import check_pins, moment
from tracestream.evalport.validation import Validator, index_suite, validate_value
from tracestream.kernels.harness import N_GATES
from tracestream.sources import discover

PINNED = {"run_id": "ci-7", "started_at": "2026-09-30T00:00:00Z"}
HARNESS_RUN = {
    "tool_calls": [{"name": "search"}],
    "artifacts": ["report.md"],
    "judge_score": 6,
}


def valid(report, **pins):
    """Return the result set of a report, held to the reference and to our own rules."""
    document = report.to_evalport(**pins)
    assert validate_result_set(document).errors == []
    assert validate_value(document).faults == []
    data = b"".join(report.export(**pins).parts())
    assert json.loads(data, parse_constant=pytest.fail) == document
    suite = b"".join(report.export(**pins).suite_parts())
    assert validate_suite(json.loads(suite)).errors == []
    index, validations = index_suite(*discover(suite))
    assert [each.faults for each in validations] == [[]]
    (found,) = Validator(index=index).source(*discover(data))
    assert (found.faults, found.n_elements) == ([], len(document["results"]))
    return document


def results_of(document):
    return {result["test_case_id"]: result for result in document["results"]}


def grader(result, name):
    (found,) = [each for each in result["grader_results"] if each["grader_id"] == name]
    return found


CORPORA = {
    "all": lambda: of(*ALL),
    "gates": lambda: of(*ALL, min_score=8, min_budget=10, min_tool_calls=1, judge_threshold=5),
    "loss": lambda: of(*ALL, fail_on_content_loss=True, min_handoff=9),
    "total": lambda: of(*ALL, usage="total", budget={"*": 3}),
    "hostile": sample_report,
    "ledger": lambda: of(*ALL, ledger=[{"agent_name": "a", "budget_tokens": 0, "used_tokens": 9}]),
    "harness": lambda: grade(jsonl(HARNESS_RUN, HARNESS_RUN), judge_threshold=8),
    "corpus": lambda: grade([jsonl(*LOST), jsonl(*HANDED_ON)], run_scope="corpus"),
    "damaged": lambda: grade([jsonl(*LOST) + b'{"event', b"", b"[1]", jsonl(*ALL)]),
}


@pytest.mark.parametrize("name", CORPORA)
def test_every_number_is_the_report_s(name):
    report = CORPORA[name]()
    document, told = valid(report), graded(report)
    summary = Summary()
    for run, result in zip(told["runs"], document["results"], strict=True):
        assert result["test_case_id"] == run["run"]
        ours = result["metadata"]["tracestream"]
        assert ours == {name: run[name] for name in ours}
        assert len(ours) == 5
        context, harness = run["context"] or {}, run["harness"]
        for name, native, entries in (
            ("context_handoff", "handoff_score", "handoffs"),
            ("token_budget", "budget_score", "budgets"),
        ):
            each = grader(result, name)
            if context.get(entries):
                assert each["score"] == context[native] / 10
                assert each["metadata"] == {"openeval.raw_score": context[native]}
            else:
                assert (each["score"], each["passed"]) == (None, False)
        each = grader(result, "harness")
        assert each["score"] == (harness and harness["score"])
        assert each["passed"] == bool(harness and harness["passed"])
        scored = [each for each in result["grader_results"] if each["score"] is not None]
        assert result["passed"] == (bool(scored) and all(each["passed"] for each in scored))
        summary.add(result)
    assert document["summary"] == summary.to_dict()
    counts, total = document["summary"], told["summary"]
    assert (counts["total"], counts["skipped"]) == (total["runs"], total["ungradable"])
    assert counts["passed"] + counts["failed"] + counts["skipped"] == counts["total"]
    options = document["metadata"]["tracestream"]["options"]
    assert options == told["options"]
    for name, native in (("context_handoff", "handoff_score"), ("token_budget", "budget_score")):
        if total[native] is None:
            assert name not in counts["by_grader"]
        else:
            mean = counts["by_grader"][name]["avg_score"]
            assert mean == pytest.approx(total[native] / 10, rel=1e-15)


def test_what_a_run_comes_to():
    """The whole of it, once."""
    report = of(*LOST, *TOOLS, *IDLE)
    results = results_of(valid(report, **PINNED))
    lossy = results["<bytes>#lossy"]
    assert lossy == {
        "test_case_id": "<bytes>#lossy",
        "passed": False,
        "grader_results": [
            {
                **{"grader_id": "context_handoff", "type": "custom", "score": 0.2},
                **{"passed": False, "reason": "1 of 1 handoffs lost content"},
                "metadata": {"openeval.raw_score": 2.0},
            },
            {
                **{"grader_id": "token_budget", "type": "custom", "score": 0.5},
                **{"passed": False, "reason": "1 of 1 agents over their budget"},
                "metadata": {"openeval.raw_score": 5.0},
            },
            {
                **{"grader_id": "harness", "type": "custom", "score": 1.0},
                **{"passed": True, "reason": "4 of 4 gates passed"},
            },
        ],
        "metadata": {
            "tracestream": {
                **{"verdict": "pass", "reasons": [], "source": "<bytes>"},
                **{"run_id": "lossy", "dialect": "praisonai"},
            },
        },
    }
    idle = results["<bytes>#idle"]
    assert idle["passed"] is False
    assert {each["score"] for each in idle["grader_results"]} == {None}
    assert idle["metadata"]["openeval.aggregation_status"] == "unscored"
    assert idle["metadata"]["tracestream"]["verdict"] == "ungradable"
    tools = results["<bytes>#tools"]
    assert (tools["passed"], grader(tools, "context_handoff")["reason"]) == (
        True,
        "no handoff to score",
    )


@pytest.mark.parametrize(
    ("gate", "name", "passes"),
    [
        ({"min_handoff": 10}, "context_handoff", True),
        ({"min_handoff": 9.9}, "context_handoff", True),
        ({"min_budget": 9}, "token_budget", True),
        ({"min_tool_calls": 1}, "harness", False),
        ({"expected_schema_hash": "x"}, "harness", False),
        ({"min_score": 10}, "harness", True),
    ],
)
def test_a_gate_is_of_its_grader(gate, name, passes):
    (result,) = valid(of(*HANDED_ON, budget={"a": 100}, **gate))["results"]
    if grader(result, name)["score"] is not None:
        assert grader(result, name)["passed"] is passes


def test_a_score_under_its_gate_has_not_passed_though_nothing_was_lost():
    passing = one_run("r", "alpha beta gamma delta", ["alpha beta"], used=5)
    for gates, expected in (({}, True), ({"min_handoff": 9}, False), ({"min_handoff": 8}, True)):
        (result,) = valid(of(*passing, **gates))["results"]
        found = grader(result, "context_handoff")
        assert (found["score"], found["passed"]) == (0.8, expected)
    (result,) = valid(of(*passing, budget={"b r": 0}, min_budget=6))["results"]
    assert grader(result, "token_budget") == {
        **{"grader_id": "token_budget", "type": "custom", "score": 0.5, "passed": False},
        **{"reason": "0 of 1 agents over their budget", "metadata": {"openeval.raw_score": 5.0}},
    }


def test_a_harness_run_s_score_is_native():
    (result,) = valid(grade(jsonl(HARNESS_RUN), judge_threshold=8))["results"]
    found = grader(result, "harness")
    assert (found["score"], found["passed"]) == (1 - 1 / N_GATES, False)
    assert "metadata" not in found


def test_cost_has_what_is_recorded():
    events = [
        response("a", "x", "r", prompt_tokens=7, completion_tokens=5, cost_usd=0.25),
        response("a", "x", "s", prompt_tokens=0),
        response("a", "x", "t"),
    ]
    results = results_of(valid(of(*events)))
    cost = {"input_tokens": 7, "output_tokens": 5, "estimated_cost_usd": 0.25}
    assert results["<bytes>#r"]["metadata"]["openeval.cost"] == cost
    assert results["<bytes>#s"]["metadata"]["openeval.cost"] == {"input_tokens": 0}
    assert "openeval.cost" not in results["<bytes>#t"]["metadata"]


@pytest.mark.parametrize("data", [b"", jsonl(*IDLE), b"not a trace"])
def test_without_a_gradable_run_there_is_no_result_set(data):
    with pytest.raises(EvalPortError, match=r"no run could be graded.*\nHint: ") as caught:
        grade(data).to_evalport()
    assert caught.value.pointer == "/results"


@pytest.mark.parametrize(
    ("pins", "pointer"),
    [
        ({"run_id": ""}, "/run_id"),
        ({"run_id": "\ud800"}, "/run_id"),
        ({"run_id": 7}, "/run_id"),
        ({"started_at": ""}, "/started_at"),
        ({"started_at": "yesterday"}, "/started_at"),
        ({"started_at": "2026-09-30"}, "/started_at"),
        ({"started_at": "2026-09-30T00:00:00"}, "/started_at"),
    ],
)
def test_what_is_pinned_must_be_valid(pins, pointer):
    with pytest.raises(EvalPortError, match="\nHint: ") as caught:
        of(*ALL).to_evalport(**pins)
    assert caught.value.pointer == pointer
    with pytest.raises(EvalPortError):
        check_pins(pins.get("run_id"), pins.get("started_at"))


def test_a_run_that_has_no_name_has_no_result():
    nameless = io.BytesIO(jsonl(response("a", "x")))
    nameless.name = ""
    with pytest.raises(EvalPortError, match="\nHint: ") as caught:
        grade([jsonl(response("a", "x")), nameless]).to_evalport()
    assert caught.value.pointer == "/results/1/test_case_id"


@pytest.mark.parametrize("score", [12.0, -1.0, float("inf"), float("nan")])
def test_a_score_out_of_range_is_brought_into_it(score):
    (run,) = graded(of(*HANDED_ON))["runs"]
    context = {**run["context"], "handoff_score": score}
    usage = {"input_tokens": 1, "output_tokens": None, "cost_usd": score * float("inf")}
    result = run_result({**run, "context": context, "usage": usage}, {"min_handoff": None})
    document = of(*HANDED_ON).to_evalport()
    document["results"] = [result]
    assert validate_result_set(document).errors == []
    assert validate_value(document).faults == []
    found = grader(result, "context_handoff")
    expected = {12.0: 1.0, -1.0: 0.0, float("inf"): 1.0}.get(score)
    assert found["score"] == expected
    assert found["passed"] == (expected is not None)
    raw = {12.0: 12.0, -1.0: -1.0, float("inf"): "Infinity"}.get(score)
    assert found.get("metadata", {}).get("openeval.raw_score") == raw
    assert result["metadata"]["openeval.cost"] == {"input_tokens": 1}


def test_ids_that_repeat_in_other_files_are_other_test_cases(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "b.jsonl", "a.jsonl#good"):
        (tmp_path / name).write_bytes(jsonl(*HANDED_ON))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(jsonl(response("a", "x"))))
    document = valid(grade(["a.jsonl", "b.jsonl", "a.jsonl#good", "c.jsonl.gz"]))
    assert len(results_of(document)) == 4


# ---- the same bytes ----


def test_the_same_traces_give_the_same_bytes():
    parts = [b"".join(of(*ALL).export().parts()) for _ in range(2)]
    assert parts[0] == parts[1]
    other = of(*ALL, min_score=3).to_evalport()
    assert other["run_id"] != of(*ALL).to_evalport()["run_id"]
    assert of(*LOST).to_evalport()["run_id"] != of(*ALL).to_evalport()["run_id"]


def test_pins_are_taken_as_they_are():
    document = valid(of(*ALL), **PINNED)
    assert {name: document[name] for name in PINNED} == PINNED


@pytest.mark.parametrize("scope", ["file", "corpus"])
def test_a_result_set_starts_with_the_earliest_event(scope):
    late, early = (response("a", "x", "r", timestamp=time) for time in (1750000000.5, 1.75e9))
    untimed = response("b", "y", "s")
    sources = [jsonl(untimed, late), jsonl(late, early, late)]
    document = valid(grade(sources, run_scope=scope, batch_rows=1))
    assert document["started_at"] == "2025-06-15T15:06:40+00:00"
    assert valid(of(untimed))["started_at"] == "1970-01-01T00:00:00+00:00"


@pytest.mark.parametrize("time", [0, 1, -1, 2**63 - 1, -(2**63)])
def test_every_time_is_one_that_a_result_set_may_have(time):
    check_pins(None, moment(time))


# ---- what stands beside results in lines ----


def test_lines_and_their_companion_are_the_result_set():
    report = sample_report()
    export = report.export(**PINNED)
    lines = [json.loads(line) for line in export.lines()]
    companion = json.loads(export.companion())
    assert {**companion, "results": lines} == report.to_evalport(**PINNED)


def test_the_schema_of_the_companion_is_that_of_a_result_set_without_results():
    whole, companion = evalport_schema("resultset"), schema("evalport-companion")
    left_out = {"results", "$schema"}
    assert companion["properties"] == {
        name: rule for name, rule in whole["properties"].items() if name not in left_out
    }
    required = [name for name in whole["required"] if name != "results"]
    assert companion["required"] == [*required, "summary", "metadata"]
    assert companion["additionalProperties"] is False


def test_the_graders_are_told_in_the_documents():
    page = (Path(__file__).parents[1] / "docs" / "evalport.md").read_text("utf-8")
    assert all(f"`{name}`" in page for name in GRADERS)


def test_requests_alone_are_a_run_without_scores_but_the_harness():
    (result,) = valid(of(request("a", ["x"], "r")))["results"]
    assert [each["score"] for each in result["grader_results"]] == [None, None, 1.0]
    assert result["passed"] is True
