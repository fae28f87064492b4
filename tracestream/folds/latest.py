"""The last output and the last input of each agent: all that a handoff score needs.

The state is one small row per (run, agent), however long the conversations are: spans, no text.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracestream.folds.base import RunKey, code_of, codes, grouped, in_time_order, rows_of, span_at
from tracestream.schema import Kind
from tracestream.spans import Span


@dataclass(slots=True)
class AgentLatest:
    """Part *agent* of PARTIALS.

    Attributes:
        first: The agent's first request or response, with or without content.
        output: Its last response with text.
        input: Its last request with messages.
    """

    first: Span
    output: Span | None = None
    input: Span | None = None

    def add(self, other: "AgentLatest") -> None:
        """Take in the same agent from another part of the run."""
        self.first = min(self.first, other.first)
        self.output = _later(self.output, other.output)
        self.input = _later(self.input, other.input)


def _later(one: Span | None, other: Span | None) -> Span | None:
    if one is None or other is None:
        return one or other
    return max(one, other)


class Latest:
    """Folds batches into AgentLatest.

    Args:
        keep: Puts the record of a possible winner where it can be read again; returns its place.
            Asked only for records whose source cannot be read again.
        by_time: Order events by their time; those without one are left out.
    """

    def __init__(self, keep: Callable[[bytes], int], *, by_time: bool = False) -> None:
        self.part = "agent_by_time" if by_time else "agent"
        self.agents: dict[tuple[RunKey, str], AgentLatest] = {}
        self._keep = keep
        self._by_time = by_time

    def update(self, batch: pa.RecordBatch) -> None:
        """Take in a batch of SPANS."""
        if self._by_time:
            batch = in_time_order(batch)
        kinds = codes(batch, "kind")
        is_request = pc.equal(kinds, code_of(batch, "kind", Kind.REQUEST))
        is_response = pc.equal(kinds, code_of(batch, "kind", Kind.RESPONSE))
        has_payload = batch.column("has_payload")
        rows = rows_of(batch)
        none = pa.scalar(None, pa.int64())
        values = {
            "exchange": pc.if_else(pc.or_(is_request, is_response), rows, none),
            "output": pc.if_else(pc.and_(is_response, has_payload), rows, none),
            "input": pc.if_else(pc.and_(is_request, has_payload), rows, none),
        }
        how = (("exchange", "min"), ("output", "max"), ("input", "max"))
        for key, (agent,), (first, output, input_) in grouped(batch, ("agent",), values, how):
            if agent and first is not None:
                latest = AgentLatest(
                    span_at(batch, first, by_time=self._by_time),
                    self._span(batch, output),
                    self._span(batch, input_),
                )
                self._add(key, agent, latest)

    def _span(self, batch: pa.RecordBatch, row: int | None) -> Span | None:
        if row is None:
            return None
        return span_at(batch, row, keep=self._keep, by_time=self._by_time)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of PARTIALS."""
        for (key, agent), latest in self.agents.items():
            yield {
                **key._asdict(),
                "part": self.part,
                "agent": agent,
                "first": latest.first._asdict(),
                "output": latest.output and latest.output._asdict(),
                "input": latest.input and latest.input._asdict(),
            }

    def merge(self, key: RunKey, row: dict[str, Any]) -> None:
        """Take in one row of PARTIALS."""
        output, input_ = row["output"], row["input"]
        latest = AgentLatest(
            Span(**row["first"]), output and Span(**output), input_ and Span(**input_)
        )
        self._add(key, row["agent"], latest)

    def _add(self, key: RunKey, agent: str, latest: AgentLatest) -> None:
        known = self.agents.get((key, agent))
        if known is None:
            self.agents[key, agent] = latest
        else:
            known.add(latest)
