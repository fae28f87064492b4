"""ContextEvaluator: handoffs and budgets of events in memory."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from tracestream.evaluators.base import Evaluator
from tracestream.kernels.budget import budget_result
from tracestream.kernels.overlap import handoff_result, score_handoff
from tracestream.results import (
    RULE,
    BudgetComplianceResult,
    ContextEvalResult,
    ContextHandoffResult,
)


class ContextEvaluator(Evaluator):
    """Scores how much of each agent's output reaches the next, and who kept to a token budget.

    Deterministic, without a model call. The scores are those of praisonaiagents 1.7, to the bit,
    wherever that gives one. Three values it stops at count as absent here: a response_content that
    is not a string, data that is not a mapping, and an agent_name that cannot be hashed.

    Args:
        trace_events: Events in the order they happened: dicts with the keys event_type, agent_name
            and data, or objects with such attributes (event_type a string or an Enum).
        agent_order: Names of the agents as they hand on; two or more for handoff scores.
        budget_ledger: Dicts with agent_name, used_tokens and budget_tokens.
        name: Name of the evaluation; None or empty becomes ``eval_{eval_id}``.
        save_results_path: Where to write the result as JSON, atomically; see `Evaluator`.
        verbose: Log what happens, at level INFO.

    Example:
        >>> evaluator = ContextEvaluator(
        ...     trace_events=[
        ...         {"event_type": "llm_response", "agent_name": "researcher",
        ...          "data": {"response_content": "Sales doubled"}},
        ...         {"event_type": "llm_request", "agent_name": "writer",
        ...          "data": {"messages": [{"role": "user", "content": "Sales doubled"}]}},
        ...     ],
        ...     agent_order=["researcher", "writer"],
        ...     budget_ledger=[{"agent_name": "writer", "used_tokens": 125, "budget_tokens": 100}],
        ... )
        >>> result = evaluator.run()
        >>> result.handoff_score, result.budget_score, result.overall_score
        (10.0, 7.5, 8.75)
    """

    def __init__(
        self,
        trace_events: list[Any] | None = None,
        agent_order: list[str] | None = None,
        budget_ledger: list[dict[str, Any]] | None = None,
        name: str | None = None,
        save_results_path: str | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(name=name, save_results_path=save_results_path, verbose=verbose)
        self.trace_events = trace_events or []
        self.agent_order = agent_order or []
        self.budget_ledger = budget_ledger or []

    def evaluate_handoff(
        self,
        events: Iterable[Any] | None = None,
        agent_order: Sequence[str] | None = None,
    ) -> list[ContextHandoffResult]:
        """Return one result per pair of neighbours in the agent order.

        Each pair is scored from the first agent's last non-empty response and the second agent's
        last non-empty messages; only these are turned into text.

        Args:
            events: Read once, in order; None takes trace_events.
            agent_order: None takes agent_order of the evaluator. Fewer than two names: no results.
        """
        events = self.trace_events if events is None else events
        order = self.agent_order if agent_order is None else agent_order
        if len(order) < 2:
            return []
        outputs, inputs = _latest(events)
        return [
            handoff_result(a, b, score_handoff(outputs.get(a), _text(inputs.get(b))))
            for a, b in pairwise(order)
        ]

    def evaluate_budget(
        self, ledger: Iterable[dict[str, Any]] | None = None
    ) -> list[BudgetComplianceResult]:
        """Return one result per entry of a ledger, in its order.

        Args:
            ledger: Dicts with agent_name, used_tokens and budget_tokens; None takes budget_ledger.
                Counts go through ``int()`` (``"8200"``, ``100.9``); None, empty and absent are 0.

        Raises:
            ValueError: A count is text that is no integer, or NaN.
            OverflowError: A count is infinite, or an overrun beyond a float.
        """
        return [
            budget_result(
                entry.get("agent_name", ""),
                int(entry.get("used_tokens") or 0),
                int(entry.get("budget_tokens") or 0),
            )
            for entry in (self.budget_ledger if ledger is None else ledger)
        ]

    def run(self, print_summary: bool = False, **kwargs: Any) -> ContextEvalResult:
        """Return the handoffs and budgets, with their means; keep and print them if asked to.

        Args:
            print_summary: Print a summary to standard output.
            **kwargs: Taken and not used, so that a suite may pass the same to every evaluator.
        """
        self._log("Starting evaluation: %s (ID: %s)", self.name, self.eval_id)
        result = ContextEvalResult(
            handoffs=self.evaluate_handoff(),
            budgets=self.evaluate_budget(),
            eval_id=self.eval_id,
            name=self.name,
        )
        self._log("Completed evaluation: %s", self.name)
        self._save(result)
        if print_summary:
            print(_summary(result))
        return result


class _Latest(NamedTuple):
    """The last non-empty response and messages of each agent."""

    outputs: dict[Hashable, str]
    inputs: dict[Hashable, Any]


def _latest(events: Iterable[Any]) -> _Latest:
    latest = _Latest({}, {})
    for event in events:
        event_type, agent, data = _fields(event)
        if not agent or not isinstance(agent, Hashable) or not hasattr(data, "get"):
            continue
        if event_type == "llm_response":
            response = data.get("response_content")
            if response and isinstance(response, str):
                latest.outputs[agent] = response
        elif event_type == "llm_request":
            messages = data.get("messages")
            if messages:
                latest.inputs[agent] = messages
    return latest


def _fields(event: Any) -> tuple[Any, Any, Any]:
    """Return event_type, agent_name and data of an event, the first as a string."""
    if not hasattr(event, "event_type"):
        return event.get("event_type"), event.get("agent_name"), event.get("data")
    event_type = event.event_type
    text = event_type.value if hasattr(event_type, "value") else str(event_type)
    return text, getattr(event, "agent_name", None), getattr(event, "data", None)


def _text(messages: Any) -> str | None:
    return None if messages is None else str(messages)


def _summary(result: ContextEvalResult) -> str:
    lines = [
        "",
        RULE,
        f"ContextEvaluator Results: {result.name}",
        RULE,
        f"Overall Score: {result.overall_score:.1f}/10",
    ]
    if result.handoffs:
        lines.append(f"Handoff Score: {result.handoff_score:.1f}/10")
    for handoff in result.handoffs:
        flag = " ⚠️ loss" if handoff.content_loss_detected else ""
        pair = f"{handoff.from_agent} → {handoff.to_agent}"
        lines.append(f"  📊 {pair}: {handoff.context_passed_score:.1f}/10{flag}")
    if result.budgets:
        lines.append(f"Budget Score: {result.budget_score:.1f}/10")
    for budget in result.budgets:
        flag = "" if budget.within_budget else " ❌ over"
        lines.append(f"  📊 {budget.agent_name}: {budget.compliance_score:.1f}/10{flag}")
    return "\n".join([*lines, RULE, ""])
