"""Reports as result sets by hand: scores, their clamping, what is left out, what is refused."""

import copy
import json
import math
import re
from datetime import datetime, timedelta

import pytest
from openeval.validate import validate_result_set

import tracestream
from tracestream import EvalPortError, EvalReport, EvalResult, report_to_evalport

PINNED = {"run_id": "ci-1", "started_at": "2026-09-30T12:00:00+00:00"}

# The result set that the format's adapter page prints, but for who ran it and when.
PRINTED = {
    "version": "1.0.0-rc.5",
    "suite_id": "math_eval",
    **PINNED,
    "runner": {"name": "tracestream", "version": tracestream.__version__},
    "results": [
        {
            "test_case_id": "addition",
            "passed": True,
            "grader_results": [
                {"grader_id": "praisonai_verdict", "type": "custom", "score": 1.0, "passed": True}
            ],
            "actual_output": "4",
            "duration_ms": 12,
        }
    ],
    "summary": {"total": 1, "passed": 1, "failed": 0, "pass_rate": 1.0, "avg_score": 1.0},
    "metadata": {"praisonai": {"thresholds_met": {"accuracy": True}}},
}


def report(*results, average=0.5, **fields):
    return EvalReport("p", len(results), 0, 0, average, list(results), **fields)


def exported(**fields):
    """The result that a result becomes."""
    result = EvalResult(**{"case_name": "c", "passed": True, "score": 0.5, **fields})
    document = report_to_evalport(report(result))
    assert validate_result_set(document).valid
    json.dumps(document, allow_nan=False)
    return document["results"][0]


def test_the_printed_result_set_is_what_its_report_gives():
    result = EvalResult("addition", True, 1.0, actual_output="4", latency_ms=12.3)
    given = EvalReport("math_eval", 1, 1, 0, 1.0, [result], {"accuracy": True})
    assert json.dumps(report_to_evalport(given, **PINNED)) == json.dumps(PRINTED)
    assert validate_result_set(PRINTED).valid


def test_unpinned_the_run_is_new_and_now():
    documents = [
        report_to_evalport(report()),
        report_to_evalport(report(), run_id="", started_at=""),
    ]
    assert documents[0]["run_id"] != documents[1]["run_id"]
    for document in documents:
        assert re.fullmatch("[0-9a-f]{32}", document["run_id"])
        assert datetime.fromisoformat(document["started_at"]).utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("raw", "score", "kept"),
    [
        (0.25, 0.25, None),
        (1, 1.0, None),
        (-0.0, 0.0, None),
        (1.5, 1.0, 1.5),
        (-2, 0.0, -2),
        (10**300, 1.0, 10**300),
        (math.inf, 1.0, "Infinity"),
        (-math.inf, 0.0, "-Infinity"),
    ],
    ids=str,
)
def test_scores_are_brought_to_their_range_and_kept_as_they_were(raw, score, kept):
    for passed in (True, False):
        item = exported(score=raw, passed=passed, criteria_scores={"right": raw})
        metadata = {} if kept is None else {"metadata": {"openeval.raw_score": kept}}
        shape = {"type": "custom", "score": score, "passed": passed, **metadata}
        assert item["passed"] is passed
        assert item["grader_results"] == [
            {"grader_id": "praisonai_verdict", **shape},
            {"grader_id": "right", **shape},
        ]


@pytest.mark.parametrize("raw", [None, math.nan, True, False, "0.9", [], 10**400], ids=repr)
def test_what_is_no_score_is_null_and_has_not_passed(raw):
    item = exported(score=raw, criteria_scores={"right": 1.0, "kind": raw})
    assert item["passed"] is False
    assert item["grader_results"] == [
        {"grader_id": "praisonai_verdict", "type": "custom", "score": None, "passed": False},
        {"grader_id": "right", "type": "custom", "score": 1.0, "passed": True},
        {"grader_id": "kind", "type": "custom", "score": None, "passed": False},
    ]


def test_a_criterion_called_like_the_verdict_is_left_out():
    item = exported(criteria_scores={"praisonai_verdict": 0.1, "right": 0.2})
    assert [each["grader_id"] for each in item["grader_results"]] == ["praisonai_verdict", "right"]
    assert item["grader_results"][0]["score"] == 0.5


@pytest.mark.parametrize(
    ("average", "score", "kept"),
    [
        (0.5, 0.5, None),
        (1.5, 1.0, 1.5),
        (-1, 0.0, -1),
        (math.inf, 1.0, "Infinity"),
        (math.nan, None, None),
        ("high", None, None),
        (10**400, None, None),
    ],
    ids=str,
)
def test_the_average_is_brought_to_its_range_and_kept_as_it_was(average, score, kept):
    document = report_to_evalport(report(average=average))
    assert document["summary"].get("avg_score") == score
    assert document["metadata"]["praisonai"].get("average_score") == kept


@pytest.mark.parametrize(
    ("latency_ms", "duration_ms"),
    [
        *[(12.5, 12), (13.5, 14), (0, 0), (0.4, 0), (1e9, 10**9)],
        *[(each, None) for each in (None, -0.1, math.nan, math.inf, -math.inf)],
    ],
    ids=str,
)
def test_a_latency_is_whole_milliseconds_or_left_out(latency_ms, duration_ms):
    assert exported(latency_ms=latency_ms).get("duration_ms") == duration_ms


def test_outputs_errors_and_records_are_left_out_only_if_none():
    assert exported(latency_ms=None) == {
        "test_case_id": "c",
        "passed": True,
        "grader_results": [
            {"grader_id": "praisonai_verdict", "type": "custom", "score": 0.5, "passed": True}
        ],
    }
    item = exported(actual_output="", error="", record={})
    assert item["actual_output"] == ""
    assert item["error"] == {"type": "runner_error", "message": ""}
    assert item["metadata"] == {"praisonai": {"record": {}}}
    assert exported(actual_output=7)["actual_output"] == "7"
    assert exported(error=KeyError("x"))["error"]["message"] == "'x'"


def test_the_report_stays_as_it_is():
    result = EvalResult("c", True, 2.0, criteria_scores={"praisonai_verdict": 1, "a": 5}, record={})
    given = report(result, average=7, thresholds_met={"a": True})
    before = copy.deepcopy(given)
    document = report_to_evalport(given)
    document["metadata"]["praisonai"]["thresholds_met"]["b"] = False
    assert given == before


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"latency_ms": "12"}, "/results/1/duration_ms"),
        ({"criteria_scores": 7}, "/results/1/grader_results"),
    ],
    ids=str,
)
def test_what_has_no_place_in_a_result_set_is_refused_with_the_place(fields, pointer):
    given = report(EvalResult("a", True, 1.0), EvalResult("b", True, 1.0, **fields))
    with pytest.raises(EvalPortError, match="\nHint: ") as caught:
        report_to_evalport(given)
    assert caught.value.pointer == pointer


def test_thresholds_are_a_mapping_or_none():
    with pytest.raises(EvalPortError) as caught:
        report_to_evalport(report(thresholds_met="all"))
    assert caught.value.pointer == "/metadata/praisonai/thresholds_met"
    document = report_to_evalport(report(thresholds_met=None))
    assert document["metadata"] == {"praisonai": {"thresholds_met": {}}}
