"""Fold batches of events into one small state per run, and finish that into runs.

State of any split of the input merges to the state of the whole, in any order.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa

from tracestream.folds.base import Fold, RunKey
from tracestream.folds.harness import Harness
from tracestream.folds.identity import RunName, resolve
from tracestream.folds.latest import AgentLatest, Latest
from tracestream.folds.tools import ToolCounts, ToolKey, Tools, count_calls
from tracestream.folds.totals import RunTotals, Totals
from tracestream.folds.usage import AgentUsage, Usage
from tracestream.kernels.harness import Recorded
from tracestream.schema import PARTIALS

K = TypeVar("K")
V = TypeVar("V")


@dataclass(slots=True)
class Run:
    """One run, as far as it can be known without its texts.

    Attributes:
        name: Its source and id.
        totals: Its events.
        agents: The last output and input of each agent, in the order of their first exchange.
        tools: Its tool calls.
        usage: Tokens and cost of each agent; of events without one, under None.
        recorded: What it records for the harness gates; None if its format records tool calls only.
    """

    name: RunName
    totals: RunTotals
    agents: dict[str, AgentLatest] = field(default_factory=dict)
    tools: dict[ToolKey, ToolCounts] = field(default_factory=dict)
    usage: dict[str | None, AgentUsage] = field(default_factory=dict)
    recorded: Recorded | None = None

    @property
    def tool_calls(self) -> int:
        """Tool calls, counted once."""
        return count_calls(self.tools) if self.recorded is None else self.recorded.tool_calls

    @property
    def total_usage(self) -> AgentUsage:
        """Tokens and cost of all agents."""
        total = AgentUsage()
        for usage in self.usage.values():
            total = total.plus(usage)
        return total

    def add_latest(self, agent: str, latest: AgentLatest) -> None:
        """Take in the last output and input of an agent from a part of the run."""
        if agent in self.agents:
            self.agents[agent].add(latest)
        else:
            self.agents[agent] = latest

    @property
    def is_gradable(self) -> bool:
        """Whether there is a request, a response, a tool call or a budget in it, or a harness trace."""
        return (
            self.recorded is not None
            or self.totals.n_exchanges > 0
            or self.tool_calls > 0
            or self.total_usage.budget_tokens is not None
        )


class Folds:
    """All folds that grading needs.

    Args:
        keep: See Latest.
        across_sources: Merge runs of one id across sources: by the time of events, if all of a run's
            exchanges have one, else by the order of sources. Batches are TIMED_SPANS then.
        artifacts: Names of artifacts that are asked for.
    """

    def __init__(
        self,
        keep: Callable[[bytes], int],
        *,
        across_sources: bool = False,
        artifacts: Sequence[str] = (),
    ) -> None:
        self._across_sources = across_sources
        self._totals = Totals()
        self._tools = Tools()
        self._harness = Harness(artifacts)
        orders = (False, True) if across_sources else (False,)
        self._latest = [Latest(keep, by_time=by_time) for by_time in orders]
        self._usage = [Usage(by_time=by_time) for by_time in orders]
        self._folds: tuple[Fold, ...] = (
            self._totals,
            self._tools,
            self._harness,
            *self._latest,
            *self._usage,
        )

    def update(self, batch: pa.RecordBatch) -> None:
        """Take in a batch of SPANS."""
        for fold in self._folds:
            fold.update(batch)

    def partials(self) -> pa.Table:
        """Return the state as a table of PARTIALS."""
        rows = [row for fold in self._folds for row in fold.rows()]
        return pa.Table.from_pylist(rows, schema=PARTIALS)

    def merge(self, partials: pa.Table) -> None:
        """Take in the state of another split."""
        folds = {fold.part: fold for fold in self._folds}
        for row in partials.to_pylist():
            key = RunKey(row["source"], row["session_id"], row["run_id"])
            folds[row["part"]].merge(key, row)

    def finish(self) -> list[Run]:
        """Return the runs, by source order and first event; the state goes over into them."""
        # The ids of harness traces are numbers of records: in another source they are other runs.
        identities = resolve(
            self._totals.runs, across_sources=self._across_sources, apart=self._harness.runs
        )
        runs: dict[RunName, Run] = {}
        firm: set[RunName] = set()
        for key, totals in _taken(self._totals.runs):
            name, is_leftover = identities[key]
            if not is_leftover:
                firm.add(name)
            if name in runs:
                runs[name].totals.add(totals)
            else:
                runs[name] = Run(name, totals)
        for (key, tool), counts in _taken(self._tools.tools):
            tools = runs[identities[key].name].tools
            tools[tool] = tools.get(tool, ToolCounts()).plus(counts)
        for key, recorded in _taken(self._harness.runs):
            runs[identities[key].name].recorded = recorded
        for by_time, (latest, usage) in enumerate(zip(self._latest, self._usage, strict=True)):
            for (key, agent), of_agent in _taken(latest.agents):
                run = runs[identities[key].name]
                if by_time == self._is_by_time(run):
                    run.add_latest(agent, of_agent)
            for (key, user), of_user in _taken(usage.agents):
                run = runs[identities[key].name]
                if by_time == self._is_by_time(run):
                    run.usage[user] = run.usage.get(user, AgentUsage()).plus(of_user)
        for run in runs.values():
            run.agents = dict(sorted(run.agents.items(), key=lambda item: item[1].first))
        kept = (run for name, run in runs.items() if name in firm or run.is_gradable)
        return sorted(kept, key=lambda run: run.totals.first)

    def _is_by_time(self, run: Run) -> bool:
        return self._across_sources and run.totals.n_untimed == 0


def _taken(state: dict[K, V]) -> Iterator[tuple[K, V]]:
    """Yield the items of a dict and take them out: two copies of a large state are one too many."""
    while state:
        yield state.popitem()
