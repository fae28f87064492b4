"""What a suite reads from foreign evaluators and results: names, verdicts, and what they raise."""

import json
from types import SimpleNamespace

import pytest
from praisonaiagents.eval.context_eval import ContextEvaluator as TheirContextEvaluator
from praisonaiagents.eval.harness_eval import HarnessEvaluator as TheirHarnessEvaluator
from praisonaiagents.eval.suite import EvalSuite as TheirSuite

from tracestream import (
    ContextEvalResult,
    ContextEvaluator,
    EvalSuite,
    HarnessEvaluator,
    HarnessResult,
    report_to_evalport,
)

NAN, INF = float("nan"), float("inf")
PINNED = {"run_id": "ci-1", "started_at": "2026-09-30T00:00:00+00:00"}


def giving(result, **attributes):
    """An evaluator that gives a result."""
    return SimpleNamespace(run=lambda print_summary: result, **attributes)


def run(*evaluators, **options):
    return EvalSuite(evaluators, **options).run(print_summary=False)


def case_of(result):
    (case,) = run(giving(result)).results
    return case.passed, case.score, case.error


NOTHING = (False, 0.0, "Nothing was scored")

# ---- names ----


def unnamed():
    trace = {"tool_calls": 1}
    return [
        HarnessEvaluator(trace),
        TheirHarnessEvaluator(trace),
        ContextEvaluator(budget_ledger=[{"agent_name": "a", "budget_tokens": 1}]),
        EvalSuite([HarnessEvaluator(trace)]),
        TheirSuite([TheirHarnessEvaluator(trace)]),
        HarnessEvaluator(trace, name="eval_20260930"),
        HarnessEvaluator(trace, name="eval_suite_2026"),
    ]


def test_a_name_made_up_is_none_so_equal_runs_give_equal_documents():
    reports = [run(*unnamed(), name="nightly") for _ in range(2)]
    assert [case.case_name for case in reports[0].results] == [
        *("HarnessEvaluator_0", "HarnessEvaluator_1", "ContextEvaluator_2"),
        *("EvalSuite_3", "EvalSuite_4", "eval_20260930", "eval_suite_2026"),
    ]
    documents = [json.dumps(report_to_evalport(report, **PINNED)) for report in reports]
    assert documents[0] == documents[1]


class Nameless:
    """Its name cannot be read, or cannot be written."""

    def __init__(self, name):
        self._name = name

    @property
    def name(self):
        if self._name is None:
            raise ValueError("no name yet")
        return self._name

    def run(self, print_summary):
        return {"score": 9}


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("cannot say")


def raising(error):
    def run(print_summary):
        raise error

    return SimpleNamespace(run=run)


@pytest.mark.parametrize("parallel", [False, True])
def test_what_cannot_be_read_costs_nothing_else(parallel, caplog):
    evaluators = [Nameless(None), Nameless(Mute()), raising(Mute()), giving({"score": 8})]
    report = run(*evaluators, parallel=parallel)
    assert [(case.case_name, case.passed, case.error) for case in report.results] == [
        ("Nameless_0", True, None),
        ("Nameless_1", True, None),
        ("SimpleNamespace_2", False, "Mute"),
        ("SimpleNamespace_3", True, None),
    ]
    assert report.errors == ["SimpleNamespace_2 failed: Mute"]
    with pytest.raises(RuntimeError, match="SimpleNamespace_0 failed: Mute"):
        run(raising(Mute()), parallel=parallel, fail_fast=True)


# ---- verdicts ----


class BoolOfNumPy:
    """What numpy.bool_ is to us: no bool, named like one, with a truth of its own."""

    def __init__(self, truth):
        self.truth = truth

    def __bool__(self):
        return self.truth


BoolOfNumPy.__name__ = "bool_"


@pytest.mark.parametrize("verdict", ["no", "false", "", NAN, [False], [], {}, 7, 0, None, len])
def test_a_verdict_that_is_no_boolean_is_none(verdict):
    assert case_of({"passed": verdict}) == NOTHING
    assert case_of(SimpleNamespace(passed=verdict, score=9.0)) == (True, 0.9, None)
    assert case_of(SimpleNamespace(passed=verdict, score=2.0)) == (False, 0.2, None)
    assert case_of({"passed": verdict, "all_passed": False, "score": 9.0}) == (False, 0.9, None)


@pytest.mark.parametrize("verdict", [True, False, BoolOfNumPy(True), BoolOfNumPy(False)])
def test_a_verdict_that_is_one_stands_whatever_the_score(verdict):
    assert case_of({"passed": verdict}) == (bool(verdict), float(bool(verdict)), None)
    assert case_of({"is_safe": verdict, "score": 5}) == (bool(verdict), 0.5, None)


EVENTS = [
    {
        "event_type": "llm_response",
        "agent_name": "a",
        "data": {"response_content": "sales doubled again in spring"},
    },
    {"event_type": "llm_request", "agent_name": "b", "data": {"messages": ["sales doubled"]}},
]
LEDGERS = [
    [],
    [{"agent_name": "b", "used_tokens": 125, "budget_tokens": 100}],
    [{"agent_name": "b", "used_tokens": 1, "budget_tokens": 100}],
]


@pytest.mark.parametrize("words", ["sales doubled", "other", ""])
@pytest.mark.parametrize("ledger", LEDGERS, ids=["none", "over", "kept"])
def test_a_context_result_is_judged_by_its_fields_whosever_it_is(words, ledger):
    events = [EVENTS[0], {**EVENTS[1], "data": {"messages": [words]}}]
    arguments = (events, ["a", "b"] if words else [], ledger)
    ours, theirs = (each(*arguments).run() for each in (ContextEvaluator, TheirContextEvaluator))
    assert not isinstance(theirs, ContextEvalResult)
    cases = [run(giving(result)).results[0] for result in (ours, theirs, theirs.to_dict())]
    assert cases[0] == cases[1] == cases[2]
    if not words and not ledger:
        assert (cases[0].passed, cases[0].score, cases[0].error) == NOTHING
    else:
        assert set(cases[0].criteria_scores) == {
            *(["handoff"] if words else []),
            *(["budget"] if ledger else []),
        }


def test_scores_are_read_as_the_docstring_says():
    for kind, names in (
        (lambda **fields: SimpleNamespace(**fields), OF_OBJECTS),
        (dict, OF_DICTS),
    ):
        for at, name in enumerate(names):
            later = dict.fromkeys(names[at + 1 :], 2)
            assert case_of(kind(**{name: 8}, **later)) == (True, 0.8, None), name
            assert case_of(kind(**{name: "good"}, **later)) == NOTHING, name
    assert case_of({"safety_score": 8}) == case_of(SimpleNamespace(final_score=8)) == NOTHING
    assert case_of({"score": 0.8, "score_scale": "fraction"})[1] == pytest.approx(0.08)
    fraction = SimpleNamespace(overall_score=8, score_scale="fraction")
    assert case_of(fraction)[1] == 0.8
    fraction.score = 0.7
    assert case_of(fraction)[1] == 0.7
    assert case_of(SimpleNamespace(score=20))[1] == 2.0


OF_OBJECTS = ["score", "overall_score", "avg_score", "safety_score"]
OF_DICTS = ["score", "overall_score", "avg_score", "final_score"]


def test_the_docstring_names_every_field_in_its_order():
    told = " ".join(EvalSuite.__doc__.split())
    assert f"the attributes {', '.join(OF_OBJECTS)};" in told
    assert f"the keys {', '.join(OF_DICTS)}." in told


# ---- strict JSON ----


def strictly(text):
    return json.loads(text, parse_constant=lambda name: pytest.fail(name))


def test_what_is_saved_is_strict_json_at_every_level(tmp_path):
    path = tmp_path / "saved.json"
    results = [
        HarnessEvaluator({"judge_score": "NaN"}, [NAN]),
        giving({"score": INF, "in": [{"deep": (NAN, -INF)}], "set": {1}}),
        giving({"score": 1e308}),
        giving({"score": 1e308}),
    ]
    report = run(*results, save_results_path=path)
    document = strictly(path.read_text())
    assert report.overall_score == INF
    assert document["overall_score"] is document["summary"]["overall_score"] is None
    saved = document["evaluator_results"]
    assert saved["HarnessEvaluator_0"]["judge_score"] is None
    assert saved["HarnessEvaluator_0"]["metadata"] == {"required_artifacts": [None]}
    assert saved["SimpleNamespace_1"] == {
        "score": None, "in": [{"deep": [None, None]}], "set": "{1}",
    }  # fmt: skip


def test_a_result_of_the_harness_is_strict_json_at_every_level():
    metadata = {"asked": [INF, {"in": NAN}], "n": 1}
    result = HarnessResult(True, NAN, judge_score=INF, metadata=metadata)
    document = strictly(result.to_json())
    assert (document["score"], document["judge_score"]) == (None, None)
    assert document["metadata"] == {"asked": [None, {"in": None}], "n": 1}
    assert result.metadata is metadata
