"""Tool calls, counted once: starts, or ends where a family of events has no start at all."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tracestream.folds.base import RunKey, code_of, codes, grouped
from tracestream.schema import Kind


class ToolCounts(NamedTuple):
    """Part *tool* of PARTIALS: calls of one tool in one family."""

    n_starts: int = 0
    n_ends: int = 0

    def plus(self, other: "ToolCounts") -> "ToolCounts":
        """Return the sum."""
        return ToolCounts(self.n_starts + other.n_starts, self.n_ends + other.n_ends)


ToolKey = tuple[str, str]
"""Family, tool."""


class Tools:
    """Folds batches into ToolCounts; events without a tool's name are no calls."""

    part = "tool"

    def __init__(self) -> None:
        self.tools: dict[tuple[RunKey, ToolKey], ToolCounts] = {}

    def update(self, batch: pa.RecordBatch) -> None:
        """Take in a batch of SPANS."""
        kinds = codes(batch, "kind")
        is_start = pc.equal(kinds, code_of(batch, "kind", Kind.TOOL_CALL))
        is_end = pc.equal(kinds, code_of(batch, "kind", Kind.TOOL_RESULT))
        values = {"start": pc.cast(is_start, pa.int64()), "end": pc.cast(is_end, pa.int64())}
        how = (("start", "sum"), ("end", "sum"))
        for key, (family, tool), counts in grouped(batch, ("family", "tool"), values, how):
            if tool and any(counts):
                self._add(key, (family or "", tool), ToolCounts(*counts))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of PARTIALS."""
        for (key, (family, tool)), counts in self.tools.items():
            yield {
                **key._asdict(),
                "part": self.part,
                "family": family,
                "tool": tool,
                **counts._asdict(),
            }

    def merge(self, key: RunKey, row: dict[str, Any]) -> None:
        """Take in one row of PARTIALS."""
        self._add(key, (row["family"], row["tool"]), ToolCounts(row["n_starts"], row["n_ends"]))

    def _add(self, key: RunKey, tool: ToolKey, counts: ToolCounts) -> None:
        known = self.tools.get((key, tool), ToolCounts())
        self.tools[key, tool] = known.plus(counts)


def calls_by_tool(tools: Mapping[ToolKey, ToolCounts]) -> Counter[str]:
    """Return the calls of each tool of a run.

    Each family is judged by itself: its starts are its calls; only if the run has none of them, its
    ends are.

    Example:
        >>> calls_by_tool({("action", "search"): ToolCounts(2, 1), ("context", "read"): ToolCounts(0, 3)})
        Counter({'read': 3, 'search': 2})
    """
    started = {family for (family, _), counts in tools.items() if counts.n_starts}
    calls: Counter[str] = Counter()
    for (family, tool), counts in tools.items():
        calls[tool] += counts.n_starts if family in started else counts.n_ends
    return +calls


def count_calls(tools: Mapping[ToolKey, ToolCounts]) -> int:
    """Return the tool calls of a run, as `calls_by_tool` counts them."""
    return calls_by_tool(tools).total()
