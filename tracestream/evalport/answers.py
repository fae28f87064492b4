"""What each run answered: where its final output lies, and how often it called each tool.

The final output is the last response with text, in the order of events, whichever agent gave it. State is
one small row a run, and runs are handed out as soon as their source is read.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tracestream.folds.base import RunKey, code_of, codes, grouped, rows_of, span_at
from tracestream.folds.identity import RunName, resolve
from tracestream.folds.tools import ToolCounts, ToolKey, Tools, calls_by_tool
from tracestream.schema import SPANS, Kind
from tracestream.spans import Span

COLUMNS = pa.schema(
    [
        SPANS.field(name)
        for name in (
            *("source", "line", "offset", "length", "ordinal", "session_id", "run_id"),
            *("kind", "tool", "family", "has_payload", "record"),
        )
    ]
)
"""What of SPANS is read."""


class Answer(NamedTuple):
    """One run.

    Attributes:
        name: Its source and id.
        output: Where its final output lies, if it has one.
        tools: How often it called each tool, as `calls_by_tool` counts them.
    """

    name: RunName
    output: Span | None
    tools: Counter[str]


@dataclass(slots=True)
class _Run:
    first: Span
    has_exchange: bool = False
    output: Span | None = None

    def add(self, other: "_Run") -> None:
        self.first = min(self.first, other.first)
        self.has_exchange = self.has_exchange or other.has_exchange
        if self.output is None or (other.output is not None and other.output > self.output):
            self.output = other.output


class Answers:
    """Folds batches of COLUMNS into Answers.

    Args:
        keep: Puts the record of a possible final output where it can be read again; returns its place.
            Asked only for records whose source cannot be read again.
        is_wanted: Whether anybody will ask for the output of a run with this key.
    """

    def __init__(self, keep: Callable[[bytes], int], is_wanted: Callable[[RunKey], bool]) -> None:
        self._keep = keep
        self._is_wanted = is_wanted
        self._runs: dict[RunKey, _Run] = {}
        self._tools = Tools()

    def update(self, batch: pa.RecordBatch) -> list[Answer]:
        """Take in a batch; return the runs of the sources that are over, as its last row shows."""
        kinds = codes(batch, "kind")
        is_response = pc.equal(kinds, code_of(batch, "kind", Kind.RESPONSE))
        is_request = pc.equal(kinds, code_of(batch, "kind", Kind.REQUEST))
        rows, none = rows_of(batch), pa.scalar(None, pa.int64())
        is_output = pc.and_(is_response, batch.column("has_payload"))
        values = {
            "row": rows,
            "exchange": pc.cast(pc.or_(is_request, is_response), pa.int64()),
            "output": pc.if_else(is_output, rows, none),
        }
        how = (("row", "min"), ("exchange", "max"), ("output", "max"))
        for key, _, (first, has_exchange, row) in grouped(batch, (), values, how):
            output = None if row is None or not self._is_wanted(key) else self._span(batch, row)
            run = _Run(span_at(batch, first), bool(has_exchange), output)
            if key in self._runs:
                self._runs[key].add(run)
            else:
                self._runs[key] = run
        self._tools.update(batch)
        return self.finish(before=batch.column("source")[-1].as_py())

    def finish(self, *, before: int | None = None) -> list[Answer]:
        """Return the runs of sources whose order is under a number, or all, and forget them."""
        done = {key for key in self._runs if before is None or key.source < before}
        if not done:
            return []
        identities = resolve(done)
        runs: dict[RunName, _Run] = {}
        for key, identity in identities.items():
            run = self._runs.pop(key)
            if identity.name in runs:
                runs[identity.name].add(run)
            else:
                runs[identity.name] = run
        tools: dict[RunName, dict[ToolKey, ToolCounts]] = {name: {} for name in runs}
        for key, tool in [each for each in self._tools.tools if each[0] in done]:
            of_run = tools[identities[key].name]
            of_run[tool] = of_run.get(tool, ToolCounts()).plus(self._tools.tools.pop((key, tool)))
        # As when grading: what belongs to no one run of its source is a run only if it is gradable.
        firm = {name for name, is_leftover in identities.values() if not is_leftover}
        return [
            Answer(name, run.output, calls)
            for name, run in sorted(runs.items(), key=lambda item: item[1].first)
            for calls in (calls_by_tool(tools[name]),)
            if name in firm or run.has_exchange or calls
        ]

    def _span(self, batch: pa.RecordBatch, row: int) -> Span:
        return span_at(batch, row, keep=self._keep)
