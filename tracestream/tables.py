"""The tables of a report: runs, one after another, scored and judged into rows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracestream.batches import SourceSummary
from tracestream.errors import InputError
from tracestream.folds import Run
from tracestream.folds.exact import rounded
from tracestream.folds.identity import CORPUS
from tracestream.jsontext import writable
from tracestream.ledgers import ANY_AGENT
from tracestream.quality import DETAIL_CHARS, Quality, SourceLedger, excerpt
from tracestream.schema import BUDGETS, GRADED, HANDOFFS, RECORDED, clamped
from tracestream.scoring import FIRST_SEEN, GIVEN, Scorer
from tracestream.spool import Spool
from tracestream.verdicts import UNGRADABLE, Gates, no_run_has

_SHOWN_NAMES = 8


def run_name(source: str, run_id: str | None) -> str:
    """Return the name of a run: its source, and its id if it has one, `#` and `%` in it escaped.

    Example:
        >>> run_name("a.jsonl", "50%#1")
        'a.jsonl#50%25%231'
    """
    if run_id is None:
        return source
    return f"{source}#{run_id.replace('%', '%25').replace('#', '%23')}"


class _Asked:
    """Which of the names asked for are there, and the first few of all that are.

    Args:
        names: Asked for; None and `*` name nothing.
    """

    def __init__(self, names: Iterable[str | None]) -> None:
        self._unseen = {name for name in names if name is not None and name != ANY_AGENT}
        self._first: dict[str, None] = {}

    def saw(self, *names: str) -> None:
        self._unseen.difference_update(names)
        if len(self._first) <= _SHOWN_NAMES:
            self._first.update(dict.fromkeys(names))

    def sentences(self, what: str, where: str, asked: Iterable[str | None]) -> list[str]:
        """Return a sentence for each name that was asked for and is in no run."""
        first = list(self._first)
        names = ", ".join(repr(name) for name in first[:_SHOWN_NAMES])
        shown = excerpt(names) or "none"  # names in a trace may be of any length
        more = ", ..." if len(first) > _SHOWN_NAMES or len(names) > DETAIL_CHARS else ""
        return [
            f"{where} names the {what} {name!r}, which is in no run (there: {shown}{more})"
            for name in dict.fromkeys(asked)
            if name in self._unseen
        ]


class _Names:
    """Gives each run a name that no other run has: a file may be called what another's run is.

    Only names that may come twice are held. Ids are unique in a source, and `#` in an id is escaped; so
    two names can be equal only where a source has `#` in its name, or where a name, or that of a source,
    ends like those that are made here and by `discover`: `name (2)`.

    Args:
        sources: Names of all sources; None where runs are merged across them, and any name may come twice.
    """

    def __init__(self, sources: Iterable[str] | None) -> None:
        self._with_hash = None if sources is None else {name for name in sources if "#" in name}
        self._n_named: Counter[str] = Counter()

    def unused(self, name: str, source: str) -> str:
        """Return a name that no run has yet: that given, if it is free."""
        is_alone = (
            self._with_hash is not None
            and name not in self._with_hash
            and not name.endswith(")")
            and not source.endswith(")")
        )
        return name if is_alone else self._numbered(name)

    def _numbered(self, name: str) -> str:
        self._n_named[name] += 1
        if self._n_named[name] == 1:
            return name
        return self._numbered(f"{name} ({self._n_named[name]})")


class Tables:
    """Scores and judges runs into GRADED, HANDOFFS, BUDGETS and RECORDED.

    Args:
        scorer: Scores a run.
        gates: Judge it.
        quality: The ledger: a record may turn out not to be readable a second time.
        sources: Names of all sources; None where runs are merged across them.

    Attributes:
        runs: GRADED.
        handoffs: HANDOFFS.
        budgets: BUDGETS.
        recorded: RECORDED.
        missing: The dimensions that a gate asks for and a gradable run has not, run by run, equal ones once.
    """

    def __init__(
        self, scorer: Scorer, gates: Gates, quality: Quality, sources: Iterable[str] | None
    ) -> None:
        self.runs = Spool(GRADED)
        self.handoffs = Spool(HANDOFFS)
        self.budgets = Spool(BUDGETS)
        self.recorded = Spool(RECORDED)
        self._scorer = scorer
        self._gates = gates
        self._quality = quality
        self.missing: set[frozenset[str]] = set()
        self._sources: dict[int, str] = {}
        self._names = _Names(sources)
        rows = scorer.ledger or ()
        # A row that gives the tokens used stands for itself; the agent need not be in a trace.
        self._budgeted = [row.agent_name for row in rows if row.used_tokens is None]
        self._agents = _Asked([*(scorer.chain or ()), *(scorer.budgets or ()), *self._budgeted])
        self._runs = _Asked(row.run for row in rows)

    def add_all(self, runs: list[Run], summaries: Sequence[SourceSummary]) -> None:
        """Score the runs of some sources, in order; a source without an event is one ungradable run.

        The list is emptied on the way, so that what is scored is not held twice.
        """
        runs.reverse()
        self._sources = {s.source.order: s.source.name for s in summaries}
        for summary in summaries:
            n_left = len(runs)
            while runs and runs[-1].totals.first.source == summary.source.order:
                self._add_run(runs.pop(), summary)
            if len(runs) == n_left and not summary.n_events and not summary.is_no_trace:
                source = writable(summary.source.name)
                name = self._names.unused(source, source)
                empty = "the source is empty" if not summary.n_bytes else "no event could be read"
                reason = summary.problem or empty
                row = {"run": name, "source": source, "events": 0}
                self._add_ungradable(row, summary, reason)

    def problems(self) -> list[str]:
        """Return what was asked for and cannot be answered, in words."""
        scorer = self._scorer
        unknown = [
            *self._agents.sentences("agent", "--agents", scorer.chain or ()),
            *self._agents.sentences("agent", "--budget", scorer.budgets or ()),
            *self._agents.sentences("agent", "the ledger", self._budgeted),
            *self._runs.sentences("run", "the ledger", [row.run for row in scorer.ledger or ()]),
        ]
        # Without those names there may have been nothing to score for: the one is told, not the other.
        return unknown or no_run_has(list(self.missing))

    def _add_ungradable(self, row: Mapping[str, Any], summary: SourceSummary, reason: str) -> None:
        self.runs.add(**row, dialect=summary.dialect, verdict=UNGRADABLE, reasons=[reason])

    def _add_run(self, run: Run, summary: SourceSummary) -> None:
        source = writable(summary.source.name)
        name = (
            run_name(source, run.name.run_id) if run.name.scope != CORPUS else str(run.name.run_id)
        )
        name = self._names.unused(name, source)
        row = {
            "run": name,
            "source": source,
            "run_id": run.name.run_id,
            "events": run.totals.n_events,
            "first_offset": run.totals.first.offset,
        }
        self._agents.saw(*run.agents)
        self._runs.saw(name, run.name.run_id or name)
        if not run.is_gradable:
            self._add_ungradable(row, summary, "no request, response, tool call or budget")
            return
        try:
            pairs, context, reasons, cut = self._scorer.score(run, name)
        except InputError as error:
            words = str(error).splitlines()[0]
            ledger = SourceLedger(self._quality, summary.source.name, summary.source.order)
            ledger.add("unreadable_source", None, run.totals.first.offset, words)
            self._add_ungradable(row, summary, words)
            return
        for span, mark in cut.items():
            ledger = SourceLedger(self._quality, self._sources[span.source], span.source)
            ledger.add("cut_content", span.line, span.offset, mark.strip())
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
        verdict = self._gates.judge(context, run.tool_calls, run.recorded)
        if run.recorded is not None:
            values = run.recorded._asdict()
            self.recorded.add(run=name, **{n: values[n] for n in RECORDED.names if n != "run"})
            reasons = [*(f"not judged: {words}" for words in run.recorded.refused), *reasons]
        self.missing.add(verdict.missing)
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
            over_budget=[b.agent_name for b in context.budgets if not b.within_budget] or None,
            lost_pairs=[f"{one} -> {other}" for one, other, score in pairs if score.loss] or None,
        )


def _int64(number: int | None) -> int | None:
    return None if number is None else clamped(number)


def _distinct(reasons: Sequence[str]) -> list[str]:
    """Return reasons without those that another one says with more words."""
    return [r for r in dict.fromkeys(reasons) if not any(o.startswith(f"{r}:") for o in reasons)]
