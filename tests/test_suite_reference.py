"""EvalSuite against the reference's: signature, summary, score, printed words, fingerprint."""

import inspect
import random
import re
from types import SimpleNamespace

import pytest
from praisonaiagents.eval import suite as theirs
from praisonaiagents.eval.context_eval import ContextEvaluator as TheirContextEvaluator
from praisonaiagents.eval.harness_eval import HarnessEvaluator as TheirHarnessEvaluator

from tracestream import ContextEvaluator, EvalSuite, HarnessEvaluator

N = 2000
LEDGERS = [
    [],
    [{"agent_name": "a", "used_tokens": 125, "budget_tokens": 100}],
    [{"agent_name": "a", "used_tokens": 1, "budget_tokens": 3}, {"agent_name": "b"}],
]
TRACES = [{}, {"tool_calls": 2}, {"artifacts": ["a"], "judge_score": 6.5}]


class Given:
    """An evaluator that gives what it is told to, or raises it."""

    def __init__(self, result):
        self.result = result

    def run(self, print_summary=True):
        assert print_summary is False
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


class Other(Given):
    pass


RESULTS = [
    SimpleNamespace(score=7.25),
    SimpleNamespace(score="3.5"),
    SimpleNamespace(score=0.3, score_scale="fraction"),
    SimpleNamespace(score=SimpleNamespace(value=4)),
    SimpleNamespace(overall_score=0.3, score_scale="fraction"),
    SimpleNamespace(avg_score=8.1, safety_score=2),
    SimpleNamespace(safety_score=9, passed=False),
    SimpleNamespace(final_score=1),
    {"score": 3, "overall_score": 4},
    {"avg_score": 6.1},
    {"final_score": 1e-3},
    {"other": 1},
    None,
    ValueError("no trace"),
    KeyError("k"),
]


def evaluators(rng):
    """The same evaluators twice, ours and the reference's."""
    pairs = []
    for _ in range(rng.randrange(1, 6)):
        kind = rng.randrange(4)
        if kind == 0:
            ledger = rng.choice(LEDGERS)
            pairs.append(
                [each(budget_ledger=ledger) for each in (ContextEvaluator, TheirContextEvaluator)]
            )
        elif kind == 1:
            options = {"min_tool_calls": rng.randrange(4), "required_artifacts": ["a"]}
            trace = rng.choice(TRACES)
            pairs.append(
                [each(trace, **options) for each in (HarnessEvaluator, TheirHarnessEvaluator)]
            )
        else:
            pairs.append([rng.choice([Given, Other])(rng.choice(RESULTS))] * 2)
    return [list(side) for side in zip(*pairs, strict=True)]


def weights(rng):
    keys = [f"{name}_{i}" for name in ("Given", "Other", "ContextEvaluator") for i in range(5)]
    return rng.choice([None, {}, {key: rng.choice([0, 0.1, 1, 2.5, -1]) for key in keys}])


def outcome(suite):
    try:
        return suite.run(print_summary=False)
    except RuntimeError as error:
        return str(error)


def test_signatures_are_the_references():
    for name in ("__init__", "run"):
        ours, other = (getattr(each, name) for each in (EvalSuite, theirs.EvalSuite))
        assert [
            (p.name, p.kind, p.default) for p in inspect.signature(ours).parameters.values()
        ] == [(p.name, p.kind, p.default) for p in inspect.signature(other).parameters.values()]


@pytest.mark.parametrize("parallel", [False, True])
def test_summaries_are_the_references(parallel, caplog):
    rng = random.Random(20260933)
    n_stopped = 0
    for _ in range(N if not parallel else N // 10):
        ours, others = evaluators(rng)
        options = {"name": "s", "score_weights": weights(rng), "fail_fast": rng.random() < 0.2}
        made = outcome(EvalSuite(ours, parallel=parallel, **options))
        expected = outcome(theirs.EvalSuite(others, **options))
        caplog.clear()
        if isinstance(expected, str):
            # Of several that raise, in parallel any may be the first.
            assert made == expected or (parallel and made.startswith("EvalSuite stopped due to"))
            n_stopped += 1
            continue
        assert {**made.summary, "duration": 0} == {**expected.summary, "duration": 0}
        assert list(made.summary) == list(expected.summary)
        assert made.errors == expected.errors
        assert list(made.evaluator_results) == list(expected.evaluator_results)
        assert set(expected.to_dict()) <= set(made.to_dict())
    assert n_stopped > (3 if parallel else 30)


def test_the_printed_summary_is_the_references(capsys):
    rng = random.Random(20260934)
    for _ in range(100):
        ours, others = evaluators(rng)
        printed = []
        for suite in (EvalSuite(ours, "ünï"), theirs.EvalSuite(others, "ünï")):
            suite.run()
            out = capsys.readouterr().out
            printed.append(re.sub(r"(?m)^Duration: \d+\.\d\ds$", "Duration", out))
        assert printed[0] == printed[1]
        assert "\nDuration\n" in printed[0]


def named(name):
    return SimpleNamespace(name=name)


AGENTS = [
    None,
    SimpleNamespace(llm="gpt", instructions="Be kind", tools=["b", named("a"), len, 7]),
    SimpleNamespace(llm=None, model=SimpleNamespace(model="m"), instructions=["a", {"b": 1}]),
    SimpleNamespace(model=SimpleNamespace(name="n"), tools="search"),
    SimpleNamespace(llm="", instructions="", tools=[]),
    SimpleNamespace(llm=object, tools=(named(""),), instructions="\ud800"),
    "llm name",
]


@pytest.mark.parametrize("field", ["agent", "llm"])
def test_the_fingerprint_is_the_references(field):
    rng = random.Random(20260935)
    seen = set()
    for _ in range(300):
        each = [rng.choice([Given, Other])({"score": 1}) for _ in range(rng.randrange(1, 4))]
        for evaluator in each:
            setattr(evaluator, field, rng.choice(AGENTS))
        made = EvalSuite(each).run(print_summary=False).fingerprint
        assert made == theirs.EvalSuite(each).run(print_summary=False).fingerprint
        seen.add(made)
    assert len(seen) > 20
    assert "" in seen


class Hidden:
    @property
    def agent(self):
        raise ValueError("not now")

    def run(self, print_summary):
        return {"score": 9}


def test_an_agent_that_cannot_be_read_costs_the_fingerprint_alone():
    result = EvalSuite([Hidden()]).run(print_summary=False)
    assert (result.fingerprint, result.all_passed) == ("", True)
