import json

import pytest

from tests import evalport
from tests.evalport import grader_result, result, result_set, suite
from tracestream.evalport.rules import Version, version_of
from tracestream.evalport.validation import Validator, index_suite, validate_value
from tracestream.sources import Source


def faults(value, **options):
    return [(each.code, each.pointer) for each in validate_value(value, **options).faults]


def against(path, value):
    """The faults of a document held against the suite in a file."""
    index, validations = index_suite(Source(0, "suite", str(path)))
    assert [each.faults for each in validations if each.faults] == []
    data = json.dumps(value).encode()
    (found,) = Validator(index=index).source(Source(0, "a.json", stream=[data]))
    return [(each.code, each.pointer) for each in found.faults]


@pytest.fixture
def suite_file(tmp_path):
    return evalport.write(tmp_path / "suite.json", suite())


def orders(document):
    """A document with its fields in the order given, and the other way round."""
    return document, dict(reversed(document.items()))


def test_ids_of_test_cases_come_once():
    for document in orders(suite(*(evalport.case(name) for name in "aba"))):
        assert faults(document) == [("DUPLICATE_ID", "/test_cases/2/id")]


def test_ids_of_graders_come_once_in_a_suite():
    graders = [*evalport.GRADERS, {"id": "exact", "type": "human"}]
    for document in orders(suite(graders=graders)):
        assert faults(document) == [("DUPLICATE_ID", f"/graders/{len(graders) - 1}/id")]
    inline = {"id": "exact", "type": "human"}  # of this test case alone
    assert faults(suite(evalport.case(graders=["exact", inline]))) == []


def test_graders_that_are_named_are_defined():
    cases = (
        evalport.case("a", graders=["exact", "x"]),
        evalport.case("b", graders=["x"]),
    )
    for document in orders(suite(*cases)):
        assert faults(document) == [
            ("DANGLING_REFERENCE", "/test_cases/0/graders/1"),
            ("DANGLING_REFERENCE", "/test_cases/1/graders/0"),
        ]
    lone = suite()
    del lone["graders"]
    assert len(faults(lone)) == 3
    assert faults(cases[0]) == []  # no suite, so nobody knows


def test_duplicate_ids_are_seen_in_faulty_test_cases_too():
    document = suite(evalport.case("a", weight=-1), evalport.case("a"))
    assert faults(document) == [
        ("SCHEMA_INVALID", "/test_cases/0/weight"),
        ("DUPLICATE_ID", "/test_cases/1/id"),
    ]


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        ((1, 2, 3), []),
        ((1, 2, 1), [("DUPLICATE_ATTEMPT", "/results/2/attempt")]),
        ((None, None), [("DUPLICATE_ID", "/results/1/test_case_id")]),
        ((None, 1), [("DUPLICATE_ATTEMPT", "/results/1/attempt")]),
        ((None, 2), []),
    ],
)
def test_each_attempt_comes_once(attempts, expected):
    results = [result("a", attempt=attempt) for attempt in attempts]
    assert faults(result_set(*results, result("b", attempt=1))) == expected


def test_a_null_score_has_not_passed():
    one = grader_result(score=None, passed=True)
    document = result_set({**result("a"), "grader_results": [grader_result(), one]})
    assert faults(document) == [("RESULT_INCONSISTENT", "/results/0/grader_results/1/passed")]
    nothing = {**result("a"), "grader_results": [grader_result(score=None, passed=False)]}
    assert faults(result_set(nothing)) == [("RESULT_INCONSISTENT", "/results/0/passed")]
    assert faults(result_set({**nothing, "passed": False})) == []


VERDICTS = [
    ({"strategy": "all"}, [True, True], True),
    ({"strategy": "all"}, [True, False], False),
    ({"strategy": "all"}, [True, None], True),
    ({"strategy": "any"}, [False, True], True),
    ({"strategy": "any"}, [False, None], False),
    ({"strategy": "majority"}, [True, False], False),
    ({"strategy": "majority"}, [True, True, False], True),
    ({"strategy": "majority"}, [True, None, None], True),
    ({"strategy": "majority", "threshold": 0.5}, [True, False], True),
    ({"strategy": "majority", "threshold": 0.7}, [True, True, False], False),
]


@pytest.mark.parametrize(("policy", "passed", "expected"), VERDICTS)
def test_a_verdict_follows_from_the_policy_that_the_result_names(policy, passed, expected):
    graders = [
        grader_result(score=None if each is None else 0.5, passed=bool(each)) for each in passed
    ]
    metadata = {"openeval.aggregation": policy}
    one = {**result("a", metadata=metadata), "grader_results": graders}
    assert faults(result_set({**one, "passed": expected})) == []
    wrong = result_set({**one, "passed": not expected})
    assert faults(wrong) == [("RESULT_INCONSISTENT", "/results/0/passed")]
    del one["metadata"]  # another policy may stand in the suite
    assert faults(result_set({**one, "passed": expected})) == []
    assert faults(result_set({**one, "passed": not expected})) == []


def test_a_suite_gives_the_policy_and_the_weights(tmp_path):
    cases = evalport.case("a", graders=["exact", "own"])
    graders = [grader_result(score=0.0, passed=False), grader_result("own", 1.0, True, "custom")]
    one = {**result("a", passed=False), "grader_results": graders}

    def told(policy, passed):
        metadata = {} if policy is None else {"openeval.aggregation": policy}
        path = evalport.write(tmp_path / "suite.json", suite(cases, metadata=metadata))
        return against(path, result_set({**one, "passed": passed}))

    wrong = [("RESULT_INCONSISTENT", "/results/0/passed")]
    assert (told(None, False), told(None, True)) == ([], wrong)
    assert (told({"strategy": "any"}, True), told({"strategy": "any"}, False)) == ([], wrong)
    # `own` has the weight 3, so the mean is 0.75.
    assert told({"strategy": "weighted", "threshold": 0.7}, True) == []
    assert told({"strategy": "weighted", "threshold": 0.7}, False) == wrong
    assert told({"strategy": "weighted", "threshold": 0.8}, False) == []


def test_results_are_those_of_the_suite(suite_file):
    assert against(suite_file, result_set()) == []
    assert against(suite_file, result_set(suite_id="t")) == [("SUITE_MISMATCH", "/suite_id")]
    assert against(suite_file, result_set(result("x"))) == [
        ("SUITE_MISMATCH", "/results/0/test_case_id")
    ]
    other = {**result("a"), "grader_results": [grader_result("near", kind="semantic_similarity")]}
    assert against(suite_file, result_set(other)) == [
        ("SUITE_MISMATCH", "/results/0/grader_results")
    ]
    retyped = {**result("a"), "grader_results": [grader_result(kind="human")]}
    assert against(suite_file, result_set(retyped)) == [
        ("SUITE_MISMATCH", "/results/0/grader_results/0/type")
    ]


def test_graders_written_out_in_a_test_case_have_results_too(tmp_path):
    inline = {"id": "mine", "type": "human"}
    document = suite(evalport.case("a", graders=[inline]))
    path = evalport.write(tmp_path / "suite.json", document)
    mine = {**result("a"), "grader_results": [grader_result("mine", kind="human")]}
    assert against(path, result_set(mine)) == []
    assert against(path, result_set(result("a"))) == [
        ("SUITE_MISMATCH", "/results/0/grader_results")
    ]


def test_test_cases_are_held_against_a_suite(suite_file):
    assert against(suite_file, evalport.case("x")) == []
    assert against(suite_file, evalport.case("x", graders=["y"])) == [
        ("DANGLING_REFERENCE", "/graders/0")
    ]


def test_a_file_of_test_cases_that_a_suite_names_is_validated_with_it(tmp_path):
    document = suite(test_cases_file="cases.jsonl")
    del document["test_cases"]
    path = evalport.write(tmp_path / "suite.json", document)
    lines = [evalport.case("a"), evalport.case("a", graders=["x"])]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    first, second = Validator().source(Source(0, "suite.json", str(path)))
    assert first.is_valid
    assert second.source == str(tmp_path / "cases.jsonl")
    assert [(each.code, each.pointer, each.line) for each in second.faults] == [
        ("DUPLICATE_ID", "/id", 2),
        ("DANGLING_REFERENCE", "/graders/0", 2),
    ]
    (tmp_path / "cases.jsonl").write_text(json.dumps(lines[0]))
    assert against(path, result_set(result("a"))) == []
    assert against(path, result_set(result("b"))) == [("SUITE_MISMATCH", "/results/0/test_case_id")]
    (tmp_path / "cases.jsonl").unlink()
    _, missing = Validator().source(Source(0, "suite.json", str(path)))
    assert missing.is_unreadable


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.0.0", (True, False)),
        ("0.9.0", (True, False)),
        ("1.1.0-beta", (True, True)),
        ("1.0.7", (True, False)),
        ("2.0.0", (False, False)),
        ("10.0.0", (False, False)),
        ("1" * 6000 + ".0.0", (False, False)),
        ("none", (True, False)),
        (None, (True, False)),
    ],
)
def test_what_a_version_asks(version, expected):
    assert version_of(version) == Version(*expected)
