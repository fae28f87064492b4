"""Tokens and cost of each agent: peaks, sums, and the budget in force."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracestream.folds.base import RunKey, grouped, in_time_order, rows_of, span_at
from tracestream.folds.exact import Expansion, expand
from tracestream.spans import Span


@dataclass(slots=True)
class AgentUsage:
    """Part *usage* of PARTIALS; None where no event carries the number.

    Attributes:
        peak_context_tokens: Most tokens in the agent's context at one request.
        peak_input_tokens: Most tokens sent in one call.
        input_tokens: Tokens sent, all calls.
        output_tokens: Tokens given back, all calls.
        cost_usd: Cost of all calls, exact.
        budget_tokens: The last positive budget of its requests.
        budget_at: The request it stands in.
    """

    peak_context_tokens: int | None = None
    peak_input_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: Expansion | None = None
    budget_tokens: int | None = None
    budget_at: Span | None = None

    def plus(self, other: "AgentUsage") -> "AgentUsage":
        """Return the usage of both."""
        later = self
        if self.budget_at is None or (
            other.budget_at is not None and other.budget_at > self.budget_at
        ):
            later = other
        return AgentUsage(
            _max(self.peak_context_tokens, other.peak_context_tokens),
            _max(self.peak_input_tokens, other.peak_input_tokens),
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _cost(self.cost_usd, other.cost_usd),
            later.budget_tokens,
            later.budget_at,
        )


def _max(one: int | None, other: int | None) -> int | None:
    return max((n for n in (one, other) if n is not None), default=None)


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


def _cost(one: Expansion | None, other: Expansion | None) -> Expansion | None:
    return other if one is None else one if other is None else expand((*one, *other))


class Usage:
    """Folds batches into AgentUsage; usage of no agent is kept under None.

    Args:
        by_time: Order events by their time; those without one are left out.
    """

    def __init__(self, *, by_time: bool = False) -> None:
        self.part = "usage_by_time" if by_time else "usage"
        self.agents: dict[tuple[RunKey, str | None], AgentUsage] = {}
        self._by_time = by_time

    def update(self, batch: pa.RecordBatch) -> None:
        """Take in a batch of SPANS."""
        if self._by_time:
            # Sorting would copy the records that go along.
            batch = in_time_order(batch.drop_columns(["record"]))
        budgets = batch.column("budget_tokens")
        rows = rows_of(batch)
        values = {
            **{
                name: batch.column(name)
                for name in ("context_tokens", "input_tokens", "output_tokens")
            },
            "cost_usd": batch.column("cost_usd"),
            "budget": pc.if_else(pc.greater(budgets, 0), rows, pa.scalar(None, pa.int64())),
        }
        how = (
            ("context_tokens", "max"),
            ("input_tokens", "max"),
            ("input_tokens", "sum"),
            ("output_tokens", "sum"),
            ("cost_usd", "list"),
            ("budget", "max"),
        )
        for key, (agent,), (context, peak, input_, output, costs, row) in grouped(
            batch, ("agent",), values, how
        ):
            known_costs = [cost for cost in costs if cost is not None]
            usage = AgentUsage(
                context,
                peak,
                input_,
                output,
                expand(known_costs) if known_costs else None,
                None if row is None else budgets[row].as_py(),
                None if row is None else span_at(batch, row, by_time=self._by_time),
            )
            if usage != AgentUsage():
                self._add(key, agent or None, usage)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of PARTIALS."""
        for (key, agent), usage in self.agents.items():
            yield {
                **key._asdict(),
                **{name: getattr(usage, name) for name in AgentUsage.__dataclass_fields__},
                "part": self.part,
                "agent": agent,
                "budget_at": usage.budget_at and usage.budget_at._asdict(),
            }

    def merge(self, key: RunKey, row: dict[str, Any]) -> None:
        """Take in one row of PARTIALS."""
        values = {name: row[name] for name in AgentUsage.__dataclass_fields__}
        if values["budget_at"] is not None:
            values["budget_at"] = Span(**values["budget_at"])
        if values["cost_usd"] is not None:
            values["cost_usd"] = tuple(values["cost_usd"])
        self._add(key, row["agent"], AgentUsage(**values))

    def _add(self, key: RunKey, agent: str | None, usage: AgentUsage) -> None:
        known = self.agents.get((key, agent))
        self.agents[key, agent] = usage if known is None else known.plus(usage)
