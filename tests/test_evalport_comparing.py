import json

import pytest

from tests.documents import check_document
from tests.evalport import grader_result, result, result_set
from tracestream.errors import InputError
from tracestream.evalport.comparing import Comparison
from tracestream.sources import discover


def compare(old, new):
    comparison = Comparison(*(discover(json.dumps(each).encode())[0] for each in (old, new)))
    assert [found.faults for found in comparison.read()] == [[], []]
    check_document(json.loads(json.dumps(comparison.to_dict())), "evalport-diff")
    return comparison


def nothing(name, **fields):
    """A result whose one grader gave no score."""
    return result(name, passed=False, score=None, **fields)


def statuses(comparison):
    return {
        status: [each.test_case_id for each in found]
        for status, found in comparison.changes.items()
        if found
    }


def test_each_result_has_its_status():
    old = result_set(
        *(result(name) for name in ("regressed", "unscored-now", "changed", "same", "gone")),
        result("improved", passed=False),
        nothing("scored-now"),
        nothing("failed-now"),
        nothing("still-unscored"),
    )
    new = result_set(
        result("new"),
        result("same"),
        result("changed", score=0.5),
        nothing("unscored-now"),
        result("regressed", passed=False, score=0.0),
        result("improved"),
        result("scored-now"),
        result("failed-now", passed=False, score=0.0),
        nothing("still-unscored"),
    )
    comparison = compare(old, new)
    assert statuses(comparison) == {
        "regressed": ["unscored-now", "regressed"],
        "improved": ["improved", "scored-now"],
        "changed": ["changed", "failed-now"],
        "new": ["new"],
        "gone": ["gone"],
    }
    assert comparison.n_same == 2
    assert comparison.has_regressed


def test_a_set_is_the_same_as_itself():
    comparison = compare(result_set(), result_set())
    assert statuses(comparison) == {}
    assert comparison.counts()["same"] == 3
    assert not comparison.has_regressed


def test_attempts_are_paired():
    old = result_set(result("a"), result("a", attempt=2, passed=False, score=0.0))
    new = result_set(result("a", attempt=2), result("a", attempt=1), result("a", attempt=3))
    changes = compare(old, new).changes
    assert [(each.test_case_id, each.attempt) for each in changes["improved"]] == [("a", 2)]
    assert [(each.test_case_id, each.attempt) for each in changes["new"]] == [("a", 3)]
    assert compare(new, old).changes["gone"][0].attempt == 3


def test_scores_are_compared_by_grader():
    old = {**result("a"), "grader_results": [grader_result("x"), grader_result("y", 0.5)]}
    new = {
        **result("a"),
        "grader_results": [grader_result("y", 0.5), grader_result("z", None, False)],
    }
    ((change,), other) = (
        compare(result_set(old), result_set(new)).changes["changed"],
        {**old, "grader_results": old["grader_results"][::-1]},
    )
    assert list(change.scores()) == [("x", 1.0, None)]
    assert compare(result_set(old), result_set(other)).n_same == 1  # order says nothing


def test_a_score_of_zero_is_not_one_of_null():
    old = {**result("a"), "grader_results": [grader_result("x"), grader_result("y", 0.0)]}
    new = {**result("a"), "grader_results": [grader_result("x"), grader_result("y", None, False)]}
    (change,) = compare(result_set(old), result_set(new)).changes["changed"]
    assert list(change.scores()) == [("y", 0.0, None)]


def test_sets_of_different_suites_are_refused():
    with pytest.raises(InputError, match="is of the suite 's'"):
        compare(result_set(), result_set(suite_id="t"))


def test_a_grader_that_comes_twice_in_a_result_does_not_break_it():
    twice = {**result("a"), "grader_results": [grader_result("x", 0.1), grader_result("x", 0.2)]}
    comparison = compare(result_set(twice), result_set(twice))
    assert comparison.n_same == 1
