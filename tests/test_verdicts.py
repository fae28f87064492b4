"""Every gate, with and without its dimension, passed and failed; and the words for it."""

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.documents import graded, jsonl, request, response, tool_start
from tracestream import ConfigError, grade
from tracestream.results import (
    BudgetComplianceResult,
    ContextEvalResult,
    ContextHandoffResult,
)
from tracestream.verdicts import Gates, no_run_has

SCORE, HANDOFF, BUDGET = "nothing to score", "no handoff to score", "no budget to score"


def context(handoffs=(), budgets=()):
    return ContextEvalResult(
        [ContextHandoffResult(f"a{n}", f"b{n}", s, 7.0, s < 5) for n, s in enumerate(handoffs)],
        [BudgetComplianceResult("a", 1, 1, s == 10, s) for s in budgets],
    )


BOTH, HANDOFFS, BUDGETS = context([6.0], [8.0]), context([6.0]), context([], [8.0])
LOST, NEITHER = context([4.0, 10.0, 2.0]), context()
# gates, context, tool calls, verdict, reasons, missing
TABLE = {
    "nothing asked": ({}, BOTH, 0, "pass", [], []),
    "nothing asked, loss": ({}, LOST, 0, "pass", [], []),
    "nothing asked, nothing there": ({}, NEITHER, 0, "pass", [], []),
    "score reached": ({"min_score": 7}, BOTH, 0, "pass", [], []),
    "score missed": ({"min_score": 7.1}, BOTH, 0, "fail", ["overall_score 7.0 < 7.1"], []),
    "score of handoffs alone": ({"min_score": 6}, HANDOFFS, 0, "pass", [], []),
    "score of handoffs alone missed": (
        {"min_score": 6.5},
        HANDOFFS,
        0,
        "fail",
        ["overall_score 6.0 < 6.5"],
        [],
    ),
    "score of budgets alone": ({"min_score": 8}, BUDGETS, 0, "pass", [], []),
    "score without any": ({"min_score": 1}, NEITHER, 0, "pass", [SCORE], [SCORE]),
    "handoff reached": ({"min_handoff": 6}, BOTH, 0, "pass", [], []),
    "handoff missed": ({"min_handoff": 9}, BOTH, 0, "fail", ["handoff_score 6.0 < 9.0"], []),
    "handoff without any": ({"min_handoff": 1}, BUDGETS, 0, "pass", [HANDOFF], [HANDOFF]),
    "budget reached": ({"min_budget": 8}, BOTH, 0, "pass", [], []),
    "budget missed": ({"min_budget": 10}, BOTH, 0, "fail", ["budget_score 8.0 < 10.0"], []),
    "budget without any": ({"min_budget": 1}, HANDOFFS, 0, "pass", [BUDGET], [BUDGET]),
    "no loss": ({"fail_on_content_loss": True}, BOTH, 0, "pass", [], []),
    "loss": (
        {"fail_on_content_loss": True},
        LOST,
        0,
        "fail",
        ["content lost: a0 -> b0", "content lost: a2 -> b2"],
        [],
    ),
    "loss without handoffs": (
        {"fail_on_content_loss": True},
        BUDGETS,
        0,
        "pass",
        [HANDOFF],
        [HANDOFF],
    ),
    "calls reached": ({"min_tool_calls": 2}, NEITHER, 2, "pass", [], []),
    "calls missed": ({"min_tool_calls": 3}, NEITHER, 2, "fail", ["tool_calls 2 < 3"], []),
    "no call is none": ({"min_tool_calls": 1}, NEITHER, 0, "fail", ["tool_calls 0 < 1"], []),
    "artifacts": (
        {"require_artifacts": ("plan.md", "x")},
        BOTH,
        0,
        "fail",
        ["this trace records no artifacts"],
        [],
    ),
    "schema": (
        {"expected_schema_hash": "abc"},
        BOTH,
        0,
        "fail",
        ["this trace records no tool schema"],
        [],
    ),
    "judge": (
        {"judge_threshold": 7},
        BOTH,
        0,
        "fail",
        ["this trace records no judge score"],
        [],
    ),
    "a judge threshold of 0 asks": (
        {"judge_threshold": 0},
        BOTH,
        0,
        "fail",
        ["this trace records no judge score"],
        [],
    ),
    "failures before what is missing, each once": (
        {"min_score": 5, "min_handoff": 5, "fail_on_content_loss": True, "min_budget": 9},
        BUDGETS,
        0,
        "fail",
        ["budget_score 8.0 < 9.0", HANDOFF],
        [HANDOFF],
    ),
    "a failed gate beside a missing dimension": (
        {"min_budget": 1, "min_tool_calls": 1},
        HANDOFFS,
        0,
        "fail",
        ["tool_calls 0 < 1", BUDGET],
        [BUDGET],
    ),
}


@pytest.mark.parametrize(
    ("gates", "result", "tool_calls", "verdict", "reasons", "missing"), TABLE.values(), ids=TABLE
)
def test_verdict(gates, result, tool_calls, verdict, reasons, missing):
    judged = Gates(**gates).judge(result, tool_calls)
    assert (judged.verdict, judged.reasons) == (verdict, reasons)
    assert judged.missing == frozenset(missing)


@pytest.mark.parametrize(
    ("gates", "score"),
    [
        ({}, 1.0),
        ({"min_tool_calls": 1}, 0.75),
        ({"min_tool_calls": 1, "judge_threshold": 5}, 0.5),
        ({"min_tool_calls": 1, "judge_threshold": 5, "expected_schema_hash": "a"}, 0.25),
        ({"min_score": 10, "fail_on_content_loss": True}, 1.0),
    ],
)
def test_the_harness_score_is_of_its_own_four_gates(gates, score):
    harness = Gates(**gates).judge(LOST, 0).harness
    assert (harness.score, harness.passed) == (score, score == 1.0)


# ---- words ----


@pytest.mark.parametrize(
    ("score", "least", "words"),
    [
        (6.1, 8.0, "overall_score 6.1 < 8.0"),
        (6.1234, 8, "overall_score 6.1 < 8.0"),
        (7.96, 8.0, "overall_score 7.96 < 8.0"),
        (7.949, 7.95, "overall_score 7.9 < 7.95"),
        (7.96, 7.97, "overall_score 7.96 < 7.97"),
        (math.nextafter(8, 0), 8.0, "overall_score 7.999999999999999 < 8.0"),
        (9.99, 10, "overall_score 9.99 < 10.0"),
        (2.0, 2.0000001, "overall_score 2.0 < 2.0000001"),
    ],
)
def test_a_reason_never_says_that_a_number_is_less_than_itself(score, least, words):
    assert Gates(min_score=least).judge(context([score]), 0).reasons == [words]


@given(st.floats(0, 10), st.floats(0, 10))
def test_what_a_reason_says_is_true_as_printed(score, least):
    judged = Gates(min_score=least).judge(context([score]), 0)
    assert (judged.verdict == "fail") is (score < least)
    for reason in judged.reasons:
        said, bound = reason.removeprefix("overall_score ").split(" < ")
        assert float(said) < float(bound) == least


# ---- over all runs ----


@pytest.mark.parametrize(
    ("missing", "sentences"),
    [
        ([], []),
        ([[]], []),
        ([[HANDOFF], []], []),
        ([[HANDOFF], [BUDGET]], []),
        ([[HANDOFF, BUDGET], [BUDGET]], ["no budget to score in any run"]),
        (
            [[HANDOFF, BUDGET, SCORE]],
            [f"{words} in any run" for words in (SCORE, HANDOFF, BUDGET)],
        ),
    ],
)
def test_a_dimension_that_no_run_has_is_a_sentence(missing, sentences):
    assert no_run_has([frozenset(words) for words in missing]) == sentences


# ---- arguments ----

SCORES = ["min_score", "min_handoff", "min_budget", "judge_threshold"]


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -0.1, 10.1, "8", True, [], 10**400, Decimal("NaN"), 1j],
    ids=lambda value: repr(value)[:10],
)
def test_a_score_that_is_none_is_refused(name, value):
    with pytest.raises(ConfigError, match=f"^{name} is .*\nHint: scores go from 0 to 10"):
        grade(b"", **{name: value})


@pytest.mark.parametrize("value", [-1, 1.0, "3", True, None, 1 << 60, Fraction(3)], ids=repr)
def test_a_number_of_calls_that_is_none_is_refused(value):
    with pytest.raises(ConfigError, match=r"^min_tool_calls is .*\nHint: a whole number"):
        grade(b"", min_tool_calls=value)


@pytest.mark.parametrize("value", [["plan.md", ""], "", [None], [3], 5, None], ids=repr)
def test_artifacts_that_are_no_names_are_refused(value):
    with pytest.raises(ConfigError, match="require_artifacts"):
        grade(b"", require_artifacts=value)


def test_one_artifact_may_be_given_by_its_name():
    options = graded(grade(b"", require_artifacts="plan.md"))["options"]
    assert options["require_artifacts"] == ["plan.md"]


@pytest.mark.parametrize("value", [5, b"abc", True], ids=repr)
def test_a_hash_that_is_no_text_is_refused(value):
    with pytest.raises(ConfigError, match=r"^expected_schema_hash is "):
        grade(b"", expected_schema_hash=value)


@pytest.mark.parametrize("value", ["no", None, 2, []], ids=repr)
def test_a_flag_that_is_none_is_refused(value):
    with pytest.raises(ConfigError, match=r"^fail_on_content_loss is "):
        grade(b"", fail_on_content_loss=value)


class Float(float):
    """As numpy's float64: a float, and no plain one."""


@Integral.register
class Int:
    """As numpy's int64: an integer, and no int."""

    def __int__(self):
        return 3

    def __ge__(self, other):
        return int(self) >= other

    def __le__(self, other):
        return int(self) <= other


@pytest.mark.parametrize("least", [3, Float(3), Fraction(3)], ids=repr)
def test_numbers_of_other_libraries_are_numbers(least):
    """What is written is plain, so that the same bound gives the same bytes."""
    trace = jsonl(response("a", "x"), tool_start("search"))
    plain = grade(trace, min_tool_calls=3, **dict.fromkeys(SCORES, 3.0))
    other = grade(trace, min_tool_calls=Int(), **dict.fromkeys(SCORES, least))
    assert other.to_json() == plain.to_json()
    assert graded(plain)["options"]["min_tool_calls"] == 3


def test_minus_zero_is_zero():
    assert str(Gates(min_score=-0.0).min_score) == "0.0"


def test_names_with_half_a_surrogate_pair_can_be_written():
    names = {"require_artifacts": ["\ud800"], "expected_schema_hash": "\udc00"}
    trace = jsonl(response("a", "x"), request("b", ["x"]))
    report = grade(trace, agents=["a", "b\udcff"], budget={"a\udcff": 5}, **names)
    options = graded(report)["options"]
    assert options["agents"] == ["a", "b\ufffd"]
    assert options["budget"] == {"a\ufffd": 5}
    assert options["require_artifacts"] == [options["expected_schema_hash"]] == ["\ufffd"]


def test_an_empty_hash_is_refused():
    with pytest.raises(ConfigError, match=r"\(--expect-schema-hash\) is empty\nHint: "):
        Gates(expected_schema_hash="")
