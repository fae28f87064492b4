"""The scoring rules written out slowly and plainly: the oracle other tests compare with.

It follows section 4 of the design sentence by sentence, imports nothing of tracestream, keeps every
text, and is never optimised. Events are parsed PraisonAI records, in file order.
"""

import re
from itertools import pairwise
from typing import Any, NamedTuple

Event = dict[str, Any]

REQUEST = "llm_request"
RESPONSE = "llm_response"
TOOL_FAMILIES = [("tool_start", "tool_end"), ("tool_call_start", "tool_call_end")]


class Handoff(NamedTuple):
    from_agent: str
    to_agent: str
    exact: bool
    output_tokens: int | None
    shared_tokens: int | None
    passed: float
    relevance: float
    loss: bool
    summary: str
    reasoning: str


class Budget(NamedTuple):
    agent: str
    used: int
    budget: int
    within: bool
    score: float
    reasoning: str


class Run(NamedTuple):
    """One run of a file; handoffs are None where the run has no handoff dimension."""

    run_id: str | None
    events: list[Event]
    gradable: bool
    agents: list[str]
    handoffs: list[Handoff] | None
    budgets: list[Budget]
    tool_calls: int


def grade_file(events: list[Event]) -> list[Run]:
    """Return the runs of one file, by first event, each with its agents in first-seen order."""
    return [grade_run(run_id, members) for run_id, members in split_runs(events)]


def grade_run(run_id: str | None, events: list[Event]) -> Run:
    agents = first_seen_agents(events)
    budgets = grade_trace_budgets(events, agents)
    return Run(
        run_id=run_id,
        events=events,
        gradable=is_gradable(events),
        agents=agents,
        handoffs=grade_handoffs(events, agents) if any(map(carries_text, events)) else None,
        budgets=budgets,
        tool_calls=count_tool_calls(events),
    )


def grade_handoffs(events: list[Event], order: list[str]) -> list[Handoff]:
    """Return one handoff per pair of neighbours in an agent order."""
    outputs: dict[str | None, str | None] = {}
    inputs: dict[str | None, str] = {}
    named = [event for event in events if agent_of(event)]
    for event in named:
        if event.get("event_type") == RESPONSE and output_of(event):
            outputs[agent_of(event)] = output_of(event)
        if event.get("event_type") == REQUEST and messages_of(event):
            inputs[agent_of(event)] = str(messages_of(event))
    return [
        grade_pair(first, second, outputs.get(first), inputs.get(second))
        for first, second in pairwise(order)
    ]


def grade_pair(first: str, second: str, out: str | None, inp: str | None) -> Handoff:
    exact, n_output, n_shared, loss, summary = False, None, None, False, ""
    if not out or not inp:
        passed, relevance = 5.0, 5.0
    elif out in inp or out[:200] in inp:
        exact, passed, relevance = True, 10.0, 9.0
    else:
        output_tokens, input_tokens = tokens(out), tokens(inp)
        n_output, n_shared = len(output_tokens), len(output_tokens & input_tokens)
        passed, relevance = min(10.0, n_shared / max(1, n_output) * 12 + 2), 7.0
    if passed < 5.0:
        loss = True
        summary = f"Only {passed / 10 * 100:.0f}% of output content found in next agent's input"
    reasoning = f"Context flow from {first} to {second}"
    return Handoff(
        first, second, exact, n_output, n_shared, passed, relevance, loss, summary, reasoning
    )


def tokens(text: str) -> set[str]:
    """Return the maximal runs of word characters that are 4 or more ASCII letters and digits."""
    words = re.split(r"\W+", text.lower())
    return {word for word in words if len(word) >= 4 and word.isascii() and word.isalnum()}


def grade_budget(agent: str, used: int, budget: int) -> Budget:
    if budget <= 0:
        return Budget(agent, used, budget, True, 5.0, "No budget defined; neutral score")
    if used <= budget:
        words = f"Within budget ({used}/{budget} tokens)"
        return Budget(agent, used, budget, True, 10.0, words)
    overrun = (used - budget) / budget
    words = f"Exceeded budget by {overrun * 100:.0f}% ({used}/{budget} tokens)"
    return Budget(agent, used, budget, False, max(1.0, 10 - overrun * 10), words)


def grade_trace_budgets(events: list[Event], agents: list[str]) -> list[Budget]:
    """Return a budget per agent that had one, its use being the peak of its requests."""
    budgets = []
    for agent in agents:
        requests = [e for e in events if e.get("event_type") == REQUEST and agent_of(e) == agent]
        allowed = [e["tokens_budget"] for e in requests if is_count(e.get("tokens_budget"))]
        used = [e["tokens_used"] for e in requests if is_count(e.get("tokens_used"))]
        positive = [int(n) for n in allowed if n > 0]
        if positive:
            budgets.append(grade_budget(agent, int(max(used, default=0)), positive[-1]))
    return budgets


def first_seen_agents(events: list[Event]) -> list[str]:
    """Return agents by their first request or response, with content or without."""
    names = [agent_of(e) for e in events if e.get("event_type") in (REQUEST, RESPONSE)]
    return list(dict.fromkeys(name for name in names if name))


def count_tool_calls(events: list[Event]) -> int:
    total = 0
    for start, end in TOOL_FAMILIES:
        starts = [e for e in events if e.get("event_type") == start and tool_of(e)]
        ends = [e for e in events if e.get("event_type") == end and tool_of(e)]
        total += len(starts or ends)
    return total


def split_runs(events: list[Event]) -> list[tuple[str | None, list[Event]]]:
    """Return (id, events) of the runs of one file, by their first event."""
    run_ids_of_session: dict[str | None, set[str]] = {}
    for event in events:
        session, run_id = name_in(event, "session_id"), name_in(event, "run_id")
        if run_id:
            run_ids_of_session.setdefault(session, set()).add(run_id)
    runs: dict[tuple[str, str | None], list[Event]] = {}
    for event in events:
        session, run_id = name_in(event, "session_id"), name_in(event, "run_id")
        run_ids = run_ids_of_session.get(session, set())
        if not run_id and len(run_ids) == 1:
            (run_id,) = run_ids
        key = ("run", run_id) if run_id else ("session", session)
        runs.setdefault(key, []).append(event)
    return [
        (name, members)
        for (kind, name), members in runs.items()
        # Beside several run ids, what is left of a session is a run only if it can be graded.
        if kind == "run" or len(run_ids_of_session.get(name, set())) < 2 or is_gradable(members)
    ]


def is_gradable(events: list[Event]) -> bool:
    exchanges = [e for e in events if e.get("event_type") in (REQUEST, RESPONSE)]
    return bool(exchanges) or count_tool_calls(events) > 0


def carries_text(event: Event) -> bool:
    if event.get("event_type") == RESPONSE:
        return bool(output_of(event))
    return event.get("event_type") == REQUEST and bool(messages_of(event))


def agent_of(event: Event) -> str | None:
    return name_in(event, "agent_name")


def tool_of(event: Event) -> str | None:
    return name_in(event, "tool_name") or name_in(data_of(event), "tool_name")


def name_in(fields: dict[str, Any], key: str) -> str | None:
    name = fields.get(key)
    return name if isinstance(name, str) and name else None


def output_of(event: Event) -> str | None:
    response = data_of(event).get("response_content")
    return response if isinstance(response, str) else None


def messages_of(event: Event) -> Any:
    return data_of(event).get("messages")


def data_of(event: Event) -> dict[str, Any]:
    data = event.get("data")
    return data if isinstance(data, dict) else {}


def is_count(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)
