"""The grading of files agrees with the reference and with tests/reference.py on every trace."""

from random import Random, SystemRandom

import pytest
from praisonaiagents.eval.context_eval import ContextEvaluator as TheirEvaluator

from tests import nasty
from tests import reference as oracle
from tracestream.grading import grade

N_TRACES, N_GIVEN, N_FRESH, BLOCK = 5_000, 1_000, 20_000, 500


def writable(text):
    """Return what a report writes for a text: U+FFFD for each lone surrogate."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def their_context(events, order, ledger):
    result = TheirEvaluator(events, order, ledger).run().to_dict()
    for handoff in result["handoffs"]:
        for name in ("from_agent", "to_agent", "reasoning"):
            handoff[name] = writable(handoff[name])
    del result["eval_id"], result["name"]
    return result


def our_context(run):
    result = dict(run["context"])
    del result["eval_id"], result["name"]
    return result


def check_inferred(events, runs):
    """Compare the runs of one source, graded with inferred agent orders."""
    expected = oracle.grade_file(events)
    if not events:
        assert [run["verdict"] for run in runs] == ["ungradable"]
        return
    assert [run["run_id"] for run in runs] == [run.run_id for run in expected]
    for ours, theirs in zip(runs, expected, strict=True):
        assert (ours["verdict"] != "ungradable") is theirs.gradable
        if not theirs.gradable:
            continue
        order = theirs.agents if theirs.handoffs is not None else []
        ledger = [
            {"agent_name": b.agent, "used_tokens": b.used, "budget_tokens": b.budget}
            for b in theirs.budgets
        ]
        assert our_context(ours) == their_context(theirs.events, order, ledger)
        assert ours["harness"]["tool_call_count"] == theirs.tool_calls


def grade_seeds(folder, seeds):
    """Write a trace for each seed, grade them in one go, and compare each."""
    traces = {}
    for seed in seeds:
        path = folder / f"{seed:013d}.jsonl"
        traces[str(path)] = nasty.nasty_trace(seed)
        path.write_bytes(nasty.write_jsonl(traces[str(path)], seed))
    runs = {}
    for run in grade(folder).to_dict()["runs"]:
        runs.setdefault(run["source"], []).append(run)
    for source, events in traces.items():
        try:
            check_inferred(events, runs[source])
        except Exception as error:
            error.add_note(f"trace of {source}")
            raise


@pytest.mark.parametrize("start", range(0, N_TRACES, BLOCK))
def test_equal_on_traces(tmp_path, start):
    grade_seeds(tmp_path, range(start, start + BLOCK))


@pytest.mark.parametrize("start", range(0, N_GIVEN, BLOCK))
def test_equal_with_a_given_chain(start):
    for seed in range(start, start + BLOCK):
        rng = Random(seed)
        events = nasty.nasty_trace(seed)
        order = nasty.agent_order(rng, events)
        if len(order) < 2 or not all(order):
            continue
        runs = {run.run_id: run for run in oracle.grade_file(events)}
        for ours in grade(nasty.write_jsonl(events, seed), agents=order).to_dict()["runs"]:
            if ours["verdict"] != "ungradable":
                theirs = their_context(runs[ours["run_id"]].events, order, [])
                assert ours["context"]["handoffs"] == theirs["handoffs"], seed


def without_text(event):
    """Return an event as a writer with privacy settings leaves it."""
    data = event.get("data")
    if not isinstance(data, dict):
        return event
    kept = {k: v for k, v in data.items() if k not in ("messages", "response_content")}
    return {**event, "data": kept}


def test_runs_without_text_are_equal_with_their_chain_given():
    n_checked = 0
    for seed in range(500):
        events = list(map(without_text, nasty.nasty_trace(seed)))
        for run in oracle.grade_file(events):
            if not run.gradable or len(run.agents) < 2:
                continue
            report = grade(nasty.write_jsonl(events, seed), agents=run.agents)
            (ours,) = [r for r in report.to_dict()["runs"] if r["run_id"] == run.run_id]
            theirs = their_context(run.events, run.agents, [])
            assert ours["context"]["handoffs"] == theirs["handoffs"], seed
            n_checked += 1
    assert n_checked > 200


@pytest.mark.long
def test_equal_on_fresh_traces(tmp_path):
    start = SystemRandom().randrange(10**12)
    print(f"seeds {start} to {start + N_FRESH}")
    for first in range(start, start + N_FRESH, BLOCK):
        folder = tmp_path / str(first)
        folder.mkdir()
        grade_seeds(folder, range(first, first + BLOCK))
