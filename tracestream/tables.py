"""The tables of a report: runs, one after another, scored and judged into rows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tracestream.batches import BATCH_ROWS, SourceSummary
from tracestream.errors import InputError
from tracestream.folds import Run
from tracestream.folds.exact import rounded
from tracestream.folds.identity import CORPUS
from tracestream.jsontext import writable
from tracestream.ledgers import ANY_AGENT
from tracestream.quality import Quality, SourceLedger
from tracestream.schema import BUDGETS, HANDOFFS, RUNS, clamped
from tracestream.scoring import FIRST_SEEN, GIVEN, Scorer
from tracestream.verdicts import UNGRADABLE, Gates, no_run_has


def run_name(source: str, run_id: str | None) -> str:
    """Return the name of a run: its source, and its id if it has one, `#` and `%` in it escaped.

    Example:
        >>> run_name("a.jsonl", "50%#1")
        'a.jsonl#50%25%231'
    """
    if run_id is None:
        return source
    return f"{source}#{run_id.replace('%', '%25').replace('#', '%23')}"


class _Columns:
    """Rows on their way into a table."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._rows: list[dict[str, Any]] = []
        self._batches: list[pa.RecordBatch] = []

    def add(self, **row: Any) -> None:
        self._rows.append(row)
        if len(self._rows) >= BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        self._batches.append(pa.RecordBatch.from_pylist(self._rows, schema=self._schema))
        self._rows = []

    def table(self) -> pa.Table:
        self._flush()
        return pa.Table.from_batches(self._batches, self._schema)


class Tables:
    """Scores and judges runs into RUNS, HANDOFFS and BUDGETS.

    Args:
        scorer: Scores a run.
        gates: Judge it.
        quality: The ledger: a record may turn out not to be readable a second time.

    Attributes:
        runs: RUNS.
        handoffs: HANDOFFS.
        budgets: BUDGETS.
        missing: Of each gradable run, the dimensions that a gate asks for and it has not.
    """

    def __init__(self, scorer: Scorer, gates: Gates, quality: Quality) -> None:
        self.runs = _Columns(RUNS)
        self.handoffs = _Columns(HANDOFFS)
        self.budgets = _Columns(BUDGETS)
        self._scorer = scorer
        self._gates = gates
        self._quality = quality
        self.missing: list[frozenset[str]] = []
        self._agents: dict[str, None] = {}
        self._run_names: dict[str, None] = {}
        self._n_named: Counter[str] = Counter()

    def add_all(self, runs: list[Run], summaries: Sequence[SourceSummary]) -> None:
        """Score runs in order; a source without an event is one ungradable run.

        The list is emptied on the way, so that what is scored is not held twice.
        """
        runs.reverse()
        for summary in summaries:
            n_left = len(runs)
            while runs and runs[-1].totals.first.source == summary.source.order:
                self._add_run(runs.pop(), summary)
            if len(runs) == n_left and not summary.n_events and not summary.is_ours:
                name = self._unused(writable(summary.source.name))
                empty = "the source is empty" if not summary.n_bytes else "no event could be read"
                reason = summary.problem or empty
                row = {"run": name, "source": writable(summary.source.name), "events": 0}
                self._add_ungradable(row, summary, reason)

    def problems(self) -> list[str]:
        """Return what was asked for and cannot be answered, in words."""
        rows = self._scorer.ledger or ()
        # A row that gives the tokens used stands for itself; the agent need not be in a trace.
        budgeted = [row.agent_name for row in rows if row.used_tokens is None]
        unknown = [
            *self._unknown("agent", "--agents", self._scorer.chain or (), self._agents),
            *self._unknown("agent", "--budget", self._scorer.budgets or (), self._agents),
            *self._unknown("agent", "the ledger", budgeted, self._agents),
            *self._unknown("run", "the ledger", [row.run for row in rows], self._run_names),
        ]
        # Without those names there may have been nothing to score for: the one is told, not the other.
        return unknown or no_run_has(self.missing)

    @staticmethod
    def _unknown(
        what: str, where: str, asked: Iterable[str | None], known: Mapping[str, None]
    ) -> list[str]:
        """Return a sentence for each name that was asked for and is in no run."""
        seen = ", ".join(repr(name) for name in list(known)[:8]) or "none"
        return [
            f"{where} names the {what} {name!r}, which is in no run "
            f"(there: {seen}{', ...' if len(known) > 8 else ''})"
            for name in dict.fromkeys(asked)
            if name is not None and name not in known and name != ANY_AGENT
        ]

    def _unused(self, name: str) -> str:
        """Return a name that no run has yet: a file may be called what another's run is."""
        self._n_named[name] += 1
        if self._n_named[name] == 1:
            return name
        return self._unused(f"{name} ({self._n_named[name]})")

    def _add_ungradable(self, row: Mapping[str, Any], summary: SourceSummary, reason: str) -> None:
        self.runs.add(**row, dialect=summary.dialect, verdict=UNGRADABLE, reasons=[reason])

    def _add_run(self, run: Run, summary: SourceSummary) -> None:
        source = writable(summary.source.name)
        name = (
            run_name(source, run.name.run_id) if run.name.scope != CORPUS else str(run.name.run_id)
        )
        name = self._unused(name)
        row = {
            "run": name,
            "source": source,
            "run_id": run.name.run_id,
            "events": run.totals.n_events,
            "first_offset": run.totals.first.offset,
        }
        self._agents.update(dict.fromkeys(run.agents))
        self._run_names.update(dict.fromkeys((name, run.name.run_id or name)))
        if not run.is_gradable:
            self._add_ungradable(row, summary, "no request, response, tool call or budget")
            return
        try:
            pairs, context, reasons = self._scorer.score(run, name)
        except InputError as error:
            words = str(error).splitlines()[0]
            ledger = SourceLedger(self._quality, summary.source.name, summary.source.order)
            ledger.add("unreadable_source", None, run.totals.first.offset, words)
            self._add_ungradable(row, summary, words)
            return
        chain = FIRST_SEEN if self._scorer.chain is None else GIVEN
        for from_agent, to_agent, score in pairs:
            self.handoffs.add(
                run=name,
                from_agent=from_agent,
                to_agent=to_agent,
                chain=chain,
                exact=score.exact,
                output_tokens=score.output_tokens,
                shared_tokens=score.shared_tokens,
                context_passed_score=score.passed,
                context_relevance_score=score.relevance,
                content_loss_detected=score.loss,
            )
        for entry in context.budgets:
            values = vars(entry)
            self.budgets.add(run=name, **{n: values[n] for n in BUDGETS.names if n != "run"})
        verdict = self._gates.judge(context, run.tool_calls)
        self.missing.append(verdict.missing)
        usage = run.total_usage
        self.runs.add(
            **row,
            dialect=summary.dialect,
            verdict=verdict.verdict,
            reasons=_distinct([*verdict.reasons, *reasons]),
            handoff_score=context.handoff_score if context.handoffs else None,
            budget_score=context.budget_score if context.budgets else None,
            overall_score=context.overall_score if context.handoffs or context.budgets else None,
            content_loss=context.content_loss_detected if context.handoffs else None,
            tool_calls=run.tool_calls,
            harness_score=verdict.harness.score,
            input_tokens=_int64(usage.input_tokens),
            output_tokens=_int64(usage.output_tokens),
            cost_usd=None if usage.cost_usd is None else rounded(usage.cost_usd),
        )


def _int64(number: int | None) -> int | None:
    return None if number is None else clamped(number)


def _distinct(reasons: Sequence[str]) -> list[str]:
    """Return reasons without those that another one says with more words."""
    return [r for r in dict.fromkeys(reasons) if not any(o.startswith(f"{r}:") for o in reasons)]
