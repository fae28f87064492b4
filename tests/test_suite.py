"""EvalSuite by hand: verdicts, scores, names, and the way to EvalPort."""

import json
import os
from decimal import Decimal
from types import SimpleNamespace

import pytest
from openeval.validate import validate_result_set

from tracestream import (
    BudgetComplianceResult,
    ConfigError,
    ContextEvalResult,
    ContextEvaluator,
    ContextHandoffResult,
    EvalReport,
    EvalSuite,
    HarnessResult,
    report_to_evalport,
)

PINNED = {"run_id": "ci-1", "started_at": "2026-09-30T00:00:00+00:00"}


class Given:
    """An evaluator that gives what it is told to, or raises it."""

    def __init__(self, result, name=None):
        self.result = result
        self.name = name
        self.calls = []

    def run(self, **options):
        self.calls.append(options)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


class Unreadable:
    @property
    def score(self):
        raise KeyError("score")


def run(*results, **options):
    """The result of a suite over given results, or over evaluators."""
    evaluators = [each if hasattr(each, "run") else Given(each) for each in results]
    return EvalSuite(evaluators, **options).run(print_summary=False)


def handoff(score, loss=False):
    return ContextHandoffResult("a", "b", score, 7.0, loss)


def budget(score, within):
    return BudgetComplianceResult("a", 1, 1, within, score)


# ---- one case per evaluator ----


@pytest.mark.parametrize(
    ("result", "passed", "score", "error"),
    [
        (HarnessResult(passed=False, score=0.75), False, 0.75, None),
        (HarnessResult(passed=True, score=1.0), True, 1.0, None),
        (SimpleNamespace(score=7.0), True, 0.7, None),
        (SimpleNamespace(score=6.9), False, 0.69, None),
        (SimpleNamespace(score=SimpleNamespace(value=8)), True, 0.8, None),
        (SimpleNamespace(score="9.0"), True, 0.9, None),
        (SimpleNamespace(score=2, passed=True), True, 0.2, None),
        (SimpleNamespace(avg_score=9.0, passed=False), False, 0.9, None),
        (SimpleNamespace(overall_score=9.0, avg_score=1.0), True, 0.9, None),
        (SimpleNamespace(safety_score=9.0, is_safe=False), False, 0.9, None),
        (SimpleNamespace(passed=True), True, 1.0, None),
        (SimpleNamespace(passed=False), False, 0.0, None),
        ({"score": 8}, True, 0.8, None),
        ({"final_score": 8, "passed": False}, False, 0.8, None),
        ({"passed": True}, True, 1.0, None),
        (SimpleNamespace(score=None, passed=True), True, 1.0, None),
        (SimpleNamespace(score=float("nan")), False, 0.0, "Nothing was scored"),
        (SimpleNamespace(score=float("inf")), False, 0.0, "Nothing was scored"),
        ({"score": 10**400}, False, 0.0, "Nothing was scored"),
        (SimpleNamespace(score="good"), False, 0.0, "Nothing was scored"),
        (None, False, 0.0, "Nothing was scored"),
        ({}, False, 0.0, "Nothing was scored"),
        (ContextEvalResult(), False, 0.0, "Nothing was scored"),
        (ValueError("no trace"), False, 0.0, "no trace"),
        (ValueError(), False, 0.0, "ValueError"),
        (Unreadable(), False, 0.0, "'score'"),
    ],
    ids=lambda value: str(value)[:50] if type(value) is not Unreadable else "unreadable",
)
def test_a_result_becomes_a_case(result, passed, score, error):
    report = run(result)
    (case,) = report.results
    assert (case.passed, case.score, case.error) == (passed, pytest.approx(score), error)
    assert (report.total_cases, report.passed_cases, report.failed_cases) == (
        1,
        int(passed),
        int(not passed),
    )
    assert report.average_score == case.score
    assert report.all_passed is passed


@pytest.mark.parametrize(
    ("handoffs", "budgets", "passed", "criteria"),
    [
        ([handoff(10.0)], [budget(10.0, True)], True, {"handoff": 1.0, "budget": 1.0}),
        ([handoff(10.0), handoff(4.0, True)], [], False, {"handoff": 0.7}),
        ([handoff(10.0)], [budget(7.5, False)], False, {"handoff": 1.0, "budget": 0.75}),
        ([handoff(5.0)], [], True, {"handoff": 0.5}),
        ([], [budget(5.0, True)], True, {"budget": 0.5}),
    ],
    ids=["all", "loss", "over", "neutral handoff", "neutral budget"],
)
def test_a_context_result_passes_without_loss_and_with_every_budget_kept(
    handoffs, budgets, passed, criteria
):
    result = ContextEvalResult(handoffs, budgets)
    (case,) = run(result).results
    assert (case.passed, case.criteria_scores) == (passed, criteria)
    assert case.score == result.overall_score / 10


def test_other_results_have_no_criteria():
    assert run(HarnessResult(passed=True, score=1.0), {"score": 1}).results[0].criteria_scores == {}


def test_a_suite_in_a_suite_passes_if_all_of_it_did():
    inner = EvalSuite([Given({"score": 10}), Given({"score": 6})], name="inner")
    outer = run(inner, Given({"score": 9}))
    assert [(case.case_name, case.passed, case.score) for case in outer.results] == [
        ("inner", False, 0.8),
        ("Given_1", True, 0.9),
    ]


def test_cases_have_the_names_of_their_evaluators_each_once():
    names = ["a", "a", "a#2", "a", None, "", 7]
    report = run(*(Given({"score": 9}, name) for name in names), object_with_run())
    assert [case.case_name for case in report.results] == [
        *["a", "a#2", "a#2#2", "a#3"],
        *["Given_4", "Given_5", "7", "SimpleNamespace_7"],
    ]


def object_with_run():
    return SimpleNamespace(run=lambda print_summary: {"score": 9})


# ---- the whole ----


def test_the_overall_score_is_weighted_and_the_average_is_not():
    weights = {"Given_0": 3.0, "Given_3": 100}
    report = run({"score": 10}, {"score": 2}, None, ValueError("x"), score_weights=weights)
    assert report.overall_score == (10 * 3 + 2) / 4
    assert report.average_score == (1.0 + 0.2 + 0 + 0) / 4


@pytest.mark.parametrize("results", [[None], [ValueError("x")], [{"passed": True}]], ids=str)
def test_without_a_score_the_overall_score_is_zero(results):
    assert run(*results).overall_score == 0.0


def test_success_means_that_nothing_was_raised_and_not_that_all_passed():
    failed = run({"score": 1}, name="s")
    assert (failed.success, failed.all_passed, failed.errors) == (True, False, [])
    raised = run({"score": 10}, KeyError("k"), {"score": 10})
    assert (raised.success, raised.errors) == (False, ["Given_1 failed: 'k'"])
    assert list(raised.evaluator_results) == ["Given_0", "Given_2"]


def test_evaluators_are_asked_for_no_summary_of_their_own(capsys):
    evaluator = Given({"score": 1})
    run(evaluator)
    assert evaluator.calls == [{"print_summary": False}]
    assert capsys.readouterr().out == ""


def test_results_are_handed_on_as_they_are():
    result = SimpleNamespace(score=3)
    assert run(result).evaluator_results["Given_0"] is result


def test_the_result_is_a_report_that_reads_back():
    report = run(HarnessResult(passed=True, score=1.0), ValueError("x"), name="nightly")
    assert isinstance(report, EvalReport)
    assert report.package_name == report.suite_name == "nightly"
    assert 0 <= report.duration == report.end_time - report.start_time
    document = json.loads(json.dumps(report.to_dict()))
    assert document["evaluator_results"]["Given_0"]["score"] == 1.0
    again = EvalReport.from_dict(document)
    assert again.results == report.results
    assert again.to_dict() == {key: document[key] for key in again.to_dict()}


@pytest.mark.parametrize(
    "evaluators", [[], None, 7, iter(())], ids=["none", "None", "a number", "an iterator"]
)
def test_a_suite_has_evaluators(evaluators):
    with pytest.raises(ConfigError, match=r"^At least one evaluator must be provided\nHint: "):
        EvalSuite(evaluators)


def test_evaluators_can_be_run():
    with pytest.raises(ConfigError, match=r"^evaluator 1, a 'dict', has no run\(\)\nHint: "):
        EvalSuite([Given(1), {"score": 1}])
    made = EvalSuite([Given(1)])
    made.evaluators.clear()
    with pytest.raises(ConfigError, match="At least one evaluator"):
        made.run()


@pytest.mark.parametrize(
    "weight", ["2", None, float("nan"), float("-inf"), 10**400, Decimal(2), []]
)
def test_weights_are_finite_numbers(weight):
    with pytest.raises(ConfigError, match=r"^the weight of 'Given_1' is no finite number\nHint: "):
        EvalSuite([Given(1)], score_weights={"Given_0": 1, "Given_1": weight})
    with pytest.raises(ConfigError, match=r"^score_weights is a list\nHint: "):
        EvalSuite([Given(1)], score_weights=[weight])


def test_a_suite_has_a_name():
    assert EvalSuite([Given(1)]).name.startswith("eval_suite_")
    assert EvalSuite(iter([Given({"score": 7})]), name="n").run(print_summary=False).all_passed


# ---- EvalPort ----


def test_a_suite_becomes_a_result_set():
    ledger = [{"agent_name": "writer", "used_tokens": 125, "budget_tokens": 100}]
    report = run(
        ContextEvaluator(budget_ledger=ledger, name="tokens"),
        Given(HarnessResult(passed=True, score=1.0), "harness"),
        Given(ValueError("no trace"), "harness"),
        name="nightly",
    )
    document = report_to_evalport(report, **PINNED)
    assert validate_result_set(document).valid
    verdict = {"grader_id": "praisonai_verdict", "type": "custom"}
    assert document["suite_id"] == "nightly"
    assert document["results"] == [
        {
            "test_case_id": "tokens",
            "passed": False,
            "grader_results": [
                {**verdict, "score": 0.75, "passed": False},
                {"grader_id": "budget", "type": "custom", "score": 0.75, "passed": False},
            ],
        },
        {
            "test_case_id": "harness",
            "passed": True,
            "grader_results": [{**verdict, "score": 1.0, "passed": True}],
        },
        {
            "test_case_id": "harness#2",
            "passed": False,
            "grader_results": [{**verdict, "score": 0.0, "passed": False}],
            "error": {"type": "runner_error", "message": "no trace"},
        },
    ]
    assert document["summary"] == {
        "total": 3,
        "passed": 1,
        "failed": 2,
        "pass_rate": 1 / 3,
        "avg_score": 1.75 / 3,
    }


# ---- saving ----


def test_the_result_is_saved_where_the_template_says(tmp_path):
    path = tmp_path / "a" / "{name}-{timestamp}.json"
    report = run(HarnessResult(True, 1.0), {"score": 1}, name="n", save_results_path=path)
    (saved,) = os.listdir(tmp_path / "a")
    assert saved == f"n-{int(report.start_time)}.json"
    document = json.loads((tmp_path / "a" / saved).read_bytes())
    assert document == json.loads(json.dumps(report.to_dict()))


def test_a_save_that_fails_is_a_warning_and_no_error(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    report = run({"score": 9}, save_results_path=str(tmp_path / "file" / "out.json"))
    assert report.all_passed
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert os.listdir(tmp_path) == ["file"]
