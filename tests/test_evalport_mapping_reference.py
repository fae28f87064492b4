"""The mapping against the reference, on generated packages, foreign suites and reports.

Where the reference gives a document, ours is the same text, but for what
docs/decisions/0005-where-the-evalport-mapping-differs.md lists; each of those is done to the
reference's input or output here, and to nothing else.
"""

import copy
import json
import math
import random

import pytest
from openeval.validate import validate_result_set, validate_suite
from praisonaiagents.eval import evalport as theirs
from praisonaiagents.eval import package as their_package

import tracestream
from tracestream import (
    EvalCase,
    EvalPackage,
    EvalPortError,
    EvalReport,
    EvalResult,
    from_evalport,
    report_to_evalport,
    to_evalport,
)

N = 2000
PINNED = {"run_id": "ci-1", "started_at": "2026-09-30T00:00:00+00:00"}
NUMBERS = [0, 1, 0.5, -0.0, -3, 1.5, 7, 1e-4, math.nan, math.inf, -math.inf, True, False, 10**300]
NO_NUMBERS = [None, "0.9", "", [], {}, 10**400]
CRITERIA = ["right", "short", "right", "praisonai_verdict", "", "ünï", "a b", "openeval.x"]
NATIVE = [{}, None, {"timeout_seconds": 5}, {"timeout_seconds": 0, "owner": "us"}, {"owner": "us"}]
NATIVE += ["text", "timeout_seconds", [], 7, {"version": "3", "seed": 1}]
METADATA = [
    {"level": 1},
    {"timeout_seconds": 12},
    {"openeval.raw_score": 3},
    {"nested": {"a": [1]}},
]


def text_of(document):
    return json.dumps(document, allow_nan=True)


def some(rng, *values):
    return rng.choice(values)


def metadata(rng):
    made = dict(some(rng, {}, *METADATA))
    if rng.random() < 0.3:
        made["praisonai"] = copy.deepcopy(rng.choice(NATIVE))
    return made


def outcome(function, *arguments, **options):
    """What a function gives as text, or the class of what it raises."""
    try:
        return text_of(function(*arguments, **options))
    except Exception as error:
        return type(error)


def both(module_class, fields):
    """One object of each library from the same fields."""
    return getattr(tracestream, module_class)(**fields), getattr(their_package, module_class)(
        **fields
    )


# ---- packages ----


def package_fields(rng):
    cases = []
    for number in range(rng.randrange(4)):
        fields = {
            "name": some(rng, f"case-{number}", "same"),
            "input": some(rng, "ping", ["a", "b"]),
        }
        if rng.random() < 0.9:
            fields["timeout_seconds"] = some(rng, 30.0, 0.0015, 2.0005, None, *NUMBERS)
            fields["expected"] = some(rng, None, "", "4")
            fields["criteria"] = rng.sample(CRITERIA, rng.randrange(4))
            fields["metadata"] = some(rng, None, metadata(rng), metadata(rng))
        cases.append(fields)
    return {
        "name": some(rng, "p", "ünï"),
        "description": some(rng, "", "words", None),
        "version": some(rng, "1.0.0", "", "2"),
        "thresholds": some(rng, {}, {"accuracy": 0.9, "p95": math.inf}, None),
        "seed": some(rng, None, 0, 7),
        "cases": cases,
    }


def packages_of(fields):
    cases = [both("EvalCase", copy.deepcopy(each)) for each in fields["cases"]]
    return [
        module.EvalPackage(**{**copy.deepcopy(fields), "cases": [case[side] for case in cases]})
        for side, module in enumerate([tracestream, their_package])
    ]


def strip(case):
    """Do to a case of the reference what ours does: take the timeout out of the namespace."""
    rest = {
        key: value for key, value in case.metadata["praisonai"].items() if key != "timeout_seconds"
    }
    case.metadata = {**case.metadata, "praisonai": rest}
    if not rest:
        del case.metadata["praisonai"]


def their_reading(suite):
    package = theirs.from_evalport(suite)
    for case, item in zip(package.cases, suite.get("test_cases", suite.get("cases")), strict=True):
        native = case.metadata.get("praisonai")
        if "timeout_ms" in item or "timeout_seconds" in item or not isinstance(native, dict):
            continue
        if "timeout_seconds" in native:
            strip(case)
    return package.to_dict()


def test_packages_are_the_references_suites_and_come_back_as_its_packages():
    rng = random.Random(20260930)
    n_suites = n_valid = n_refused = 0
    for _ in range(N):
        ours, other = packages_of(package_fields(rng))
        before = copy.deepcopy(ours.to_dict())
        expected = outcome(theirs.to_evalport, other)
        made = outcome(to_evalport, ours)
        assert text_of(ours.to_dict()) == text_of(before)
        if isinstance(expected, type):
            assert made is EvalPortError
            n_refused += 1
            continue
        assert made == expected
        n_suites += 1
        suite = to_evalport(ours)
        n_valid += validate_suite(suite).valid
        kept = text_of(suite)
        read = outcome(their_reading, suite)
        if isinstance(read, type):
            assert has_a_native_that_is_no_mapping(suite)
        else:
            assert text_of(from_evalport(suite).to_dict()) == read
        assert text_of(suite) == kept
    assert min(n_suites, n_valid, n_refused) > 200, (n_suites, n_valid, n_refused)


# ---- suites of other tools ----


def foreign_suite(rng):
    suite = {}
    for key, values in {
        "version": ["1.0.0-rc.5", "3", None],
        "evalport_version": ["0.1"],
        "id": ["i", ""],
        "name": ["n", "", None],
        "description": ["words", None],
        "thresholds": [{"a": 1}, {}, None],
        "seed": [7, None],
        "metadata": [{"praisonai": native} for native in NATIVE] + [{}, None, "text", 7],
        "tags": [["a"]],
    }.items():
        if rng.random() < 0.4:
            suite[key] = copy.deepcopy(rng.choice(values))
    items = [foreign_case(rng) for _ in range(rng.randrange(4))]
    suite[some(rng, "test_cases", "test_cases", "cases")] = items
    if rng.random() < 0.03:
        suite["test_cases"] = some(rng, None, 7, "ab", {"a": 1})
    return suite


def foreign_case(rng):
    if rng.random() < 0.03:
        return some(rng, None, 7, "text", [])
    item = {"input": "ping"} if rng.random() < 0.97 else {}
    for key, values in {
        "id": ["c", "", None, 7],
        "name": ["n", "", None],
        "expected_output": ["4", None],
        "expected": ["5", None],
        "graders": [CRITERIA, [{"id": "a", "type": "human"}, {}], [], None, "ab", {"a": 1}, [None]],
        "criteria": [["a"], [], None],
        "timeout_ms": [1500, 0, -1, 0.5, True, math.nan, math.inf],
        "timeout_seconds": [9, "9", None, *NUMBERS],
        "metadata": [metadata(rng), metadata(rng), metadata(rng), None, {}],
        "weight": [2],
    }.items():
        if rng.random() < 0.4:
            item[key] = copy.deepcopy(rng.choice(values))
    if rng.random() < 0.03:
        item.update(
            some(rng, {"timeout_ms": None}, {"timeout_ms": "9"}, {"metadata": 7}, {"graders": 7})
        )
    return item


def has_a_native_that_is_no_mapping(suite):
    """Of these, the reference stops at some, and ours at none."""
    return any(
        not isinstance((item.get("metadata") or {}).get("praisonai") or {}, dict)
        for item in suite.get("test_cases", suite.get("cases"))
    )


def test_suites_of_other_tools_are_the_references_packages():
    rng = random.Random(20260931)
    n_packages = n_refused = n_more = 0
    for _ in range(N):
        suite = foreign_suite(rng)
        before = text_of(suite)
        expected = outcome(their_reading, suite)
        made = outcome(lambda suite=suite: from_evalport(suite).to_dict())
        assert text_of(suite) == before
        if not isinstance(expected, type):
            assert made == expected
            n_packages += 1
        elif made is EvalPortError:
            n_refused += 1
        else:
            assert has_a_native_that_is_no_mapping(suite)
            n_more += 1
    assert min(n_packages, n_refused) > 200, (n_packages, n_refused)
    assert n_more > 0


# ---- reports ----


def report_fields(rng):
    results = []
    for number in range(rng.randrange(4)):
        fields = {
            "case_name": f"case-{number}",
            "passed": some(rng, True, False, 1, None),
            "score": some(rng, *NUMBERS, *NO_NUMBERS),
        }
        if rng.random() < 0.9:
            fields["actual_output"] = some(rng, None, "", "4", 7)
            fields["error"] = some(rng, None, "", "boom")
            fields["latency_ms"] = some(rng, None, 12.5, *NUMBERS)
            names = rng.sample(CRITERIA, rng.randrange(4))
            scores = {name: some(rng, *NUMBERS, *NO_NUMBERS) for name in names}
            fields["criteria_scores"] = some(rng, scores, scores, None)
            fields["record"] = some(rng, None, {}, {"messages": [1]})
        results.append(fields)
    n_passed = rng.randrange(len(results) + 1)
    return {
        "package_name": some(rng, "p", ""),
        "total_cases": len(results),
        "passed_cases": n_passed,
        "failed_cases": len(results) - n_passed,
        "average_score": some(rng, *NUMBERS, *NO_NUMBERS),
        "thresholds_met": some(rng, {}, {"accuracy": True}, None),
        "results": results,
    }


def huge_to_nan(value):
    return math.nan if value == 10**400 else value


def as_listed(fields):
    """Fields of a report for the reference: what it stops at counts as what ours takes it for."""
    fields = copy.deepcopy(fields)
    fields["average_score"] = huge_to_nan(fields["average_score"])
    for result in fields["results"]:
        result["score"] = huge_to_nan(result["score"])
        scores = result.get("criteria_scores") or {}
        scores.update({name: huge_to_nan(score) for name, score in scores.items()})
        if result.get("latency_ms") == math.inf:
            result["latency_ms"] = None
    return fields


def with_named_infinities(document):
    """A result set of the reference as ours: infinite raw scores by name."""
    native = document["metadata"]["praisonai"]
    graders = [each for result in document["results"] for each in result["grader_results"]]
    holders = [(native, "average_score")]
    holders += [(each.get("metadata", {}), "openeval.raw_score") for each in graders]
    for holder, key in holders:
        if holder.get(key) in (math.inf, -math.inf):
            holder[key] = "Infinity" if holder[key] > 0 else "-Infinity"
    return document


def report_of(package, fields):
    results = [package.EvalResult(**each) for each in fields["results"]]
    return package.EvalReport(**{**fields, "results": results})


def test_reports_are_the_references_result_sets(monkeypatch):
    # It is the one thing that is ours; and looking it up 2,000 times takes seconds.
    runner = {"name": "tracestream", "version": tracestream.__version__}
    monkeypatch.setattr(theirs, "_runner_info", lambda: runner)
    rng = random.Random(20260932)
    n_valid = 0
    for _ in range(N):
        fields = report_fields(rng)
        other = theirs.report_to_evalport(report_of(their_package, as_listed(fields)), **PINNED)
        is_valid = validate_result_set(other).valid
        given = report_of(tracestream, copy.deepcopy(fields))
        document = report_to_evalport(given, **PINNED)
        assert text_of(document) == text_of(with_named_infinities(other))
        assert validate_result_set(document).valid == is_valid
        assert text_of(given.to_dict()) == text_of(report_of(tracestream, fields).to_dict())
        n_valid += is_valid
    assert n_valid > 200


@pytest.mark.parametrize(
    "fields", [{"score": 10**400}, {"latency_ms": math.inf}, {"criteria_scores": {"a": -(10**400)}}]
)
def test_the_reference_stops_at_what_is_listed(fields):
    result = {"case_name": "c", "passed": True, "score": 1.0, **fields}
    for module in (their_package, tracestream):
        report = module.EvalReport("p", 1, 1, 0, 1.0, [module.EvalResult(**result)])
        if module is their_package:
            with pytest.raises(OverflowError):
                theirs.report_to_evalport(report)
        else:
            assert validate_result_set(report_to_evalport(report)).valid


def test_the_references_suites_of_our_packages_are_read_by_either():
    """A package goes out by one library and comes in by the other."""
    ours = EvalPackage("p", cases=[EvalCase("c", "ping", criteria=["a"], timeout_seconds=1.5)])
    other = theirs.from_evalport(to_evalport(ours))
    assert other.to_dict() == ours.to_dict()
    assert from_evalport(theirs.to_evalport(other)).to_dict() == ours.to_dict()


def test_a_report_of_either_library_is_exported():
    document = report_to_evalport(
        EvalReport("p", 1, 1, 0, 1.0, [EvalResult("c", True, 1.0)]), **PINNED
    )
    result = their_package.EvalResult("c", True, 1.0)
    assert document == report_to_evalport(
        their_package.EvalReport("p", 1, 1, 0, 1.0, [result]), **PINNED
    )
