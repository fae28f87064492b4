"""Score finished runs: which pairs, which budgets, and the texts they need, read again one by one."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from tracestream.batches import SourceSummary
from tracestream.dialects import dialect_named
from tracestream.dialects.base import Dialect, Reader, Refused
from tracestream.folds import Run
from tracestream.folds.usage import AgentUsage
from tracestream.kernels.budget import budget_result
from tracestream.kernels.overlap import HandoffScore, handoff_result, score_handoff
from tracestream.kernels.pyrepr import repr_text
from tracestream.ledgers import ANY_AGENT, LedgerRow
from tracestream.results import BudgetComplianceResult, ContextEvalResult
from tracestream.schema import clamped
from tracestream.spans import Records, Span

_DOTS = "]..."

FIRST_SEEN, GIVEN = "first-seen", "given"
PEAK, TOTAL = "peak", "total"


class Texts:
    """The texts of the few events that are scored, read again when they are needed.

    Args:
        records: Where their records are.
        summaries: By the order of sources, which dialect each is in; may grow while it is used.

    Attributes:
        cut: Those that the writer had shortened, with its mark.
    """

    def __init__(self, records: Records, summaries: Sequence[SourceSummary]) -> None:
        self._records = records
        self._summaries = summaries
        self._readers: dict[tuple[str, str], Reader] = {}
        self.cut: dict[Span, str] = {}

    def output(self, span: Span | None) -> str | None:
        """Return the text of a response."""
        return None if span is None else self._looked_at(span, self._read(span, "text"), "\n")

    def input(self, span: Span | None) -> str | None:
        """Return Python's text of the messages of a request."""
        if span is None:
            return None
        # In the text of messages, a newline inside a string is an escape.
        return self._looked_at(span, repr_text(self._read(span, "messages")), r"(?:\n|\\n)")

    def _looked_at(self, span: Span, text: str, newline: str) -> str:
        mark = self._dialect(span).cut_mark
        if mark is not None and _DOTS in text:
            found = re.search(newline + mark + newline, text)
            if found is not None:
                self.cut[span] = found[0]
        return text

    def _dialect(self, span: Span) -> Dialect:
        name = self._summaries[span.source].dialect
        assert name is not None, "a source with events has a dialect"
        return dialect_named(name)

    def _read(self, span: Span, column: str) -> Any:
        dialect = self._dialect(span)
        reader = self._readers.get((dialect.name, column))
        if reader is None:
            reader = self._readers[dialect.name, column] = dialect.reader((column,))
        try:
            rows = reader(self._records.read(span), lambda reason, detail: None)
            value = rows[span.ordinal][0]
        except (Refused, IndexError):
            value = None
        if value is None:
            raise self._records.changed(span.source, "a record is not what it was")
        return value


class Scores(NamedTuple):
    """The scores of one run.

    Attributes:
        pairs: From, to and score of each handoff, in chain order.
        context: The same and the budgets, as `ContextEvaluator` gives them.
        reasons: Why a dimension is missing or not exact, in words.
        cut: Texts that the writer had shortened: where they are, and its mark.
    """

    pairs: list[tuple[str, str, HandoffScore]]
    context: ContextEvalResult
    reasons: list[str]
    cut: dict[Span, str]


@dataclass(frozen=True)
class Scorer:
    """Scores runs, one after another.

    Args:
        texts: Where texts are read.
        chain: The agents in order, for every run; None takes each run's own.
        budgets: Tokens by agent, `*` for any; None if not given.
        ledger: Budgets in order; None if not given.
        usage: `peak`, `total`, or None for what the format records.
    """

    texts: Texts
    chain: Sequence[str] | None = None
    budgets: Mapping[str, int] | None = None
    ledger: Sequence[LedgerRow] | None = None
    usage: str | None = None

    def score(self, run: Run, name: str) -> Scores:
        """Return the scores of a run.

        Raises:
            InputError: A record cannot be read again.
        """
        self.texts.cut = {}
        pairs, why_no_handoff = self._handoffs(run)
        budgets, why_no_budget = self._budgets(run, name)
        context = ContextEvalResult([handoff_result(*pair) for pair in pairs], budgets)
        cut = self.texts.cut
        reasons = [*why_no_handoff, *why_no_budget, *_why_not_exact(run, cut)]
        return Scores(pairs, context, reasons, cut)

    def _handoffs(self, run: Run) -> tuple[list[tuple[str, str, HandoffScore]], list[str]]:
        if self.chain is not None:
            return list(self._pairs(run, self.chain)), []
        if run.recorded is not None and not run.agents:
            return [], []  # a harness trace has no agents, so nobody misses a handoff
        if len(run.agents) < 2:
            return [], [f"no handoff to score: {'one' if run.agents else 'no'} agent"]
        if not run.totals.n_texts:
            return [], ["no handoff to score: no request or response carries text"]
        return list(self._pairs(run, list(run.agents))), []

    def _pairs(self, run: Run, chain: Sequence[str]) -> Iterator[tuple[str, str, HandoffScore]]:
        for from_agent, to_agent in pairwise(chain):
            giver, taker = run.agents.get(from_agent), run.agents.get(to_agent)
            output = None if giver is None else self.texts.output(giver.output)
            input_ = None if taker is None else self.texts.input(taker.input)
            yield from_agent, to_agent, score_handoff(output, input_)

    def _budgets(self, run: Run, name: str) -> tuple[list[BudgetComplianceResult], list[str]]:
        budgets, reasons = [], []
        for agent, used, budget in self._allowances(run, name):
            if used is None and agent not in run.agents:
                continue
            if used is None:
                used = self._used(run, agent)
            if used is None:
                reasons.append(f"no budget to score for {agent}: its token usage is not recorded")
            else:
                budgets.append(budget_result(agent, used, budget))
        return budgets, reasons

    def _allowances(self, run: Run, name: str) -> Iterator[tuple[str, int | None, int]]:
        """Yield agent, tokens used if they are given, and budget."""
        if self.ledger is not None:
            places = self._places
            found = {p for key in (None, name, run.name.run_id) for p in places.get(key, ())}
            for row in map(self.ledger.__getitem__, sorted(found)):
                yield row.agent_name, row.used_tokens, row.budget_tokens
            return
        for agent in dict.fromkeys([*(self.chain or ()), *run.agents]):
            if agent not in run.agents:
                continue
            if self.budgets is not None:
                budget = self.budgets.get(agent, self.budgets.get(ANY_AGENT))
            else:
                budget = run.usage.get(agent, AgentUsage()).budget_tokens
            if budget is not None:
                yield agent, None, budget

    @cached_property
    def _places(self) -> dict[str | None, list[int]]:
        """Places of rows in the ledger by the run they name; those of every run under None."""
        places: dict[str | None, list[int]] = defaultdict(list)
        for place, row in enumerate(self.ledger or ()):
            places[row.run].append(place)
        return places

    def _used(self, run: Run, agent: str) -> int | None:
        """Return the tokens an agent used; None if its events do not say."""
        usage = run.usage.get(agent, AgentUsage())
        total = None
        if usage.input_tokens is not None or usage.output_tokens is not None:
            total = clamped((usage.input_tokens or 0) + (usage.output_tokens or 0))
        peak = (
            usage.peak_input_tokens
            if usage.peak_context_tokens is None
            else usage.peak_context_tokens
        )
        if self.usage is None:
            return total if usage.peak_context_tokens is None else peak
        return total if self.usage == TOTAL else peak


def _why_not_exact(run: Run, cut: Mapping[Span, str]) -> list[str]:
    """Say of which agents the writer shortened what is scored."""
    if not cut:
        return []
    outputs = [agent for agent, latest in run.agents.items() if latest.output in cut]
    inputs = [agent for agent, latest in run.agents.items() if latest.input in cut]
    return [
        *(f"the output of {agent} was cut by its writer: an estimate" for agent in outputs),
        *(f"the input of {agent} was cut by its writer: a lower bound" for agent in inputs),
    ]
