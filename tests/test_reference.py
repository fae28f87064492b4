"""Three independent scorers agree on every trace: ours, praisonaiagents, and tests/reference.py."""

import json
from contextlib import redirect_stdout
from io import StringIO
from random import Random, SystemRandom

import pytest
from hypothesis import given
from praisonaiagents.eval.context_eval import ContextEvaluator as TheirEvaluator
from praisonaiagents.trace.context_events import ContextEvent

from tests import nasty
from tests import reference as oracle
from tracestream.evaluators import ContextEvaluator

N_TRACES, N_LEDGERS, N_FRESH, BLOCK = 5_000, 2_000, 50_000, 500


def run(evaluator):
    """Return what an evaluator reports and prints; as text, since text shows every bit."""
    evaluator.eval_id = "1234abcd"
    printed = StringIO()
    with redirect_stdout(printed):
        result = evaluator.run(print_summary=True)
    return json.dumps(result.to_dict(), indent=2), printed.getvalue(), repr(evaluator)


def as_handoff_fields(handoff):
    return (
        handoff.from_agent,
        handoff.to_agent,
        handoff.passed,
        handoff.relevance,
        handoff.loss,
        handoff.summary,
        handoff.reasoning,
    )


def check_trace(events, order, ledger):
    ours = ContextEvaluator(events, order, ledger, name="n")
    assert run(ours) == run(TheirEvaluator(events, order, ledger, name="n"))
    expected = [as_handoff_fields(handoff) for handoff in oracle.grade_handoffs(events, order)]
    assert [tuple(vars(handoff).values()) for handoff in ours.evaluate_handoff()] == expected
    objects = [ContextEvent.from_dict(event) for event in events]
    assert ours.evaluate_handoff(objects) == ours.evaluate_handoff()


def check_seed(seed):
    rng = Random(seed)
    events = nasty.nasty_trace(seed)
    try:
        check_trace(events, nasty.agent_order(rng, events), nasty.ledger(rng))
    except Exception as error:
        error.add_note(f"nasty_trace seed {seed}")
        raise


@pytest.mark.parametrize("start", range(0, N_TRACES, BLOCK))
def test_equal_on_traces(start):
    for seed in range(start, start + BLOCK):
        check_seed(seed)


@pytest.mark.long
def test_equal_on_fresh_traces():
    start = SystemRandom().randrange(10**12)
    print(f"seeds {start} to {start + N_FRESH}")
    for seed in range(start, start + N_FRESH):
        check_seed(seed)


@given(nasty.traces(), nasty.ledgers())
def test_equal_on_drawn_traces(events, ledger):
    check_trace(events, oracle.first_seen_agents(events), ledger)


def test_equal_on_ledgers():
    for seed in range(N_LEDGERS):
        ledger = nasty.ledger(Random(seed))
        ours = ContextEvaluator(budget_ledger=ledger, name="n")
        assert run(ours) == run(TheirEvaluator(budget_ledger=ledger, name="n")), seed


def test_the_traces_hold_every_outcome():
    """A differential test is worth what its inputs reach."""
    outcomes = {"missing": 0, "exact": 0, "loss": 0, "full": 0, "between": 0, "no tokens": 0}
    shapes = {"several runs": 0, "ungradable": 0, "no text": 0, "budgets": 0, "tool calls": 0}
    for seed in range(1000):
        events = nasty.nasty_trace(seed)
        runs = oracle.grade_file(events)
        for graded in runs:
            for handoff in graded.handoffs or []:
                outcomes[outcome(handoff)] += 1
            shapes["ungradable"] += not graded.gradable
            shapes["no text"] += graded.handoffs is None
            shapes["budgets"] += bool(graded.budgets)
            shapes["tool calls"] += graded.tool_calls > 0
        shapes["several runs"] += len(runs) > 1
    assert min(outcomes.values()) >= 20, outcomes
    assert min(shapes.values()) >= 20, shapes


def outcome(handoff):
    if handoff.exact:
        return "exact"
    if handoff.output_tokens is None:
        return "missing"
    if handoff.output_tokens == 0:
        return "no tokens"
    if handoff.loss:
        return "loss"
    return "full" if handoff.passed == 10.0 else "between"


def test_jsonl_read_again_is_the_trace():
    for seed in range(300):
        events = nasty.nasty_trace(seed)
        lines = nasty.write_jsonl(events, seed).split(b"\n")
        assert lines.pop() == b""
        assert repr([json.loads(line) for line in lines]) == repr(events)


def test_jsonl_is_sometimes_raw_and_sometimes_escaped():
    written = [nasty.write_jsonl(nasty.nasty_trace(seed), seed) for seed in range(20)]
    assert any("日本".encode() in data for data in written)
    assert any(b"\\u65e5\\u672c" in data for data in written)


# The parts of the oracle that praisonaiagents has no twin of.


def event(kind, agent=None, **fields):
    return {"event_type": kind, "agent_name": agent, **fields}


@pytest.mark.parametrize(
    ("kinds", "n_calls"),
    [
        (["tool_start", "tool_end", "tool_start"], 2),
        (["tool_end", "tool_end"], 2),
        (["tool_call_start", "tool_call_end", "tool_start"], 2),
        (["tool_call_end", "tool_start", "tool_end"], 2),
        (["agent_start"], 0),
    ],
)
def test_oracle_counts_starts_and_ends_only_without_starts(kinds, n_calls):
    assert oracle.count_tool_calls([event(kind, tool_name="search") for kind in kinds]) == n_calls


def test_oracle_takes_ends_where_no_start_has_a_name():
    events = [event("tool_start"), event("tool_end", data={"tool_name": "search"})]
    assert oracle.count_tool_calls(events) == 1


def test_oracle_gives_session_events_to_the_only_run_of_the_session():
    events = [
        event("session_start", session_id="s"),
        event("llm_request", session_id="s", run_id="r"),
    ]
    assert [(run.run_id, len(run.events)) for run in oracle.grade_file(events)] == [("r", 2)]


def test_oracle_makes_a_run_of_session_events_beside_several_runs_only_if_gradable():
    runs = [event("llm_request", session_id="s", run_id=run_id) for run_id in ("r1", "r2")]
    idle = event("session_start", session_id="s")
    busy = event("llm_response", session_id="s")
    assert [run.run_id for run in oracle.grade_file([idle, *runs])] == ["r1", "r2"]
    assert [run.run_id for run in oracle.grade_file([busy, *runs])] == ["s", "r1", "r2"]


def test_oracle_orders_agents_by_first_exchange_with_content_or_without():
    events = [
        event("agent_start", "c"),
        event("llm_request", "b"),
        event("llm_response", "a", data=None),
        event("llm_response", "b"),
        event("llm_request", ""),
    ]
    (graded,) = oracle.grade_file(events)
    assert graded.agents == ["b", "a"]
    assert graded.handoffs is None


def test_oracle_takes_the_last_positive_budget_and_the_peak_use():
    counts = [(10, 100), (900, 0), (50, 200.0), ("9999", "9999")]
    events = [event("llm_request", "a", tokens_used=u, tokens_budget=b) for u, b in counts]
    (budget,) = oracle.grade_file(events)[0].budgets
    assert (budget.used, budget.budget, budget.within) == (900, 200, False)
