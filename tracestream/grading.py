"""Grade traces: read them once, fold them, score what won, and report.

This is the straight line of the whole program: sources -> batches -> folds -> kernels -> report.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import closing

import pyarrow as pa
import pyarrow.compute as pc

from tracestream.batches import (
    BATCH_ROWS,
    BLOCK_BYTES,
    Progress,
    Scan,
    SourceSummary,
    check_on_error,
)
from tracestream.blocks import Stamp
from tracestream.errors import ConfigError
from tracestream.folds import Folds
from tracestream.frames import MAX_RECORD_BYTES
from tracestream.jsontext import writable
from tracestream.ledgers import LedgerArg, check_budgets, read_ledger
from tracestream.quality import Quality, excerpt
from tracestream.report import Report
from tracestream.schema import TIMED_SPANS
from tracestream.scoring import PEAK, TOTAL, Scorer, Texts
from tracestream.sources import SourceArg, discover
from tracestream.spans import Records, Spill
from tracestream.tables import Tables
from tracestream.verdicts import Gates

CORPUS_SCOPE = "corpus"
_WITHOUT_ARTIFACTS = TIMED_SPANS.remove(TIMED_SPANS.get_field_index("artifacts"))


def grade(
    source: SourceArg,
    *,
    agents: Sequence[str] | None = None,
    budget: Mapping[str, int | str] | None = None,
    ledger: LedgerArg | None = None,
    usage: str | None = None,
    run_scope: str = "file",
    dialect: str = "auto",
    min_score: float | None = None,
    min_handoff: float | None = None,
    min_budget: float | None = None,
    fail_on_content_loss: bool = False,
    min_tool_calls: int = 0,
    require_artifacts: Sequence[str] = (),
    expected_schema_hash: str | None = None,
    judge_threshold: float | None = None,
    strict: bool = False,
    on_error: str = "report",
    max_record_bytes: int = MAX_RECORD_BYTES,
    batch_rows: int = BATCH_ROWS,
    block_bytes: int = BLOCK_BYTES,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Grade every run in traces, deterministically and without a model.

    Args:
        source: A path, a folder, a glob, `-`, a file object, bytes, or a list of them.
        agents: The chain of agents, in order, for every run; an agent missing from a run scores the
            neutral 5.0. None: each run's agents in the order of their first request or response.
        budget: Tokens allowed by agent; `*` for every agent not named. None takes the trace's own.
        ledger: Budgets from a file (JSON, JSONL, CSV, Parquet) or rows with `agent_name`,
            `budget_tokens` and, optionally, `used_tokens` and `run`. Not together with `budget`.
        usage: What counts as used: `peak`, the most tokens in context at once, or `total`, the sum of
            input and output. None: `peak` where the trace records it, else `total`.
        run_scope: `file`, or `corpus` to merge runs of one id across sources (rotated logs): by the
            time of their events if all requests and responses have one, else by the order of sources.
        dialect: Name of the trace format; `auto` recognises it, source by source.
        min_score: A run fails with a lower overall_score, 0..10.
        min_handoff: A run fails with a lower handoff_score, 0..10.
        min_budget: A run fails with a lower budget_score, 0..10.
        fail_on_content_loss: A run fails if a handoff lost content.
        min_tool_calls: A run fails with fewer tool calls.
        require_artifacts: A run fails if it does not record these artifacts.
        expected_schema_hash: A run fails if the hash of its tool schema is another.
        judge_threshold: A run fails with a lower recorded judge score, 0..10.
        strict: `Report.exit_code` is 1 at any damage, ungradable run, or gate without its dimension.
        on_error: `report` reads on and counts damage in the ledger; `raise` raises at the first.
        max_record_bytes: A record over this size is skipped and counted.
        batch_rows: Most events in a batch. Never changes the result.
        block_bytes: How much of a plain file is read at once, bytes. Never changes the result.
        progress: Called now and then with how far the reading is.

    Returns:
        The report. Memory goes with the runs of the largest source (with `corpus`, of all sources),
        not with the bytes read or with the number of files.

    Raises:
        InputError: A path does not exist, or there is nothing to read; with ``on_error="raise"``,
            the first damage.
        ConfigError: An argument is unknown or out of range, or a ledger makes no sense.

    Example:
        >>> events = b'''
        ... {"event_type": "llm_response", "agent_name": "a", "data": {"response_content": "final report"}}
        ... {"event_type": "llm_request", "agent_name": "b", "data": {"messages": ["the final report"]}}
        ... '''
        >>> grade(events).summary["handoff_score"]
        10.0
    """
    chain = _check_agents(agents)
    if budget is not None and ledger is not None:
        raise ConfigError(
            "both budget and ledger are given\nHint: put all budgets into the ledger."
        )
    if usage not in (None, PEAK, TOTAL):
        raise ConfigError(f"usage is {usage!r}\nHint: it is 'peak' or 'total'.")
    if run_scope not in ("file", CORPUS_SCOPE):
        raise ConfigError(f"run_scope is {run_scope!r}\nHint: it is 'file' or 'corpus'.")
    across_sources = run_scope == CORPUS_SCOPE
    budgets = None if budget is None else check_budgets(budget)
    ledger_rows = None if ledger is None else read_ledger(ledger)
    gates = Gates(
        min_score,
        min_handoff,
        min_budget,
        fail_on_content_loss,
        min_tool_calls,
        _names(require_artifacts),
        expected_schema_hash,
        judge_threshold,
    )
    quality = Quality(raises=check_on_error(on_error))
    sources = discover(source)
    with closing(Spill()) as spill:
        folds = Folds(spill.keep, across_sources=across_sources, artifacts=gates.require_artifacts)
        scan = Scan(
            sources,
            TIMED_SPANS if gates.require_artifacts else _WITHOUT_ARTIFACTS,
            quality,
            dialect=dialect,
            batch_rows=batch_rows,
            block_bytes=block_bytes,
            max_record_bytes=max_record_bytes,
            progress=progress,
        )
        stamps: dict[int, Stamp] = {}
        with closing(Records(sources, stamps, spill)) as records:
            scorer = Scorer(Texts(records, scan.summaries), chain, budgets, ledger_rows, usage)
            names = None if across_sources else [source.name for source in sources]
            tables = Tables(scorer, gates, quality, names)
            finished = _SourceBySource(scan, folds, across_sources)
            for done in finished:
                stamps.update({s.source.order: s.stamp for s in done if s.stamp is not None})
                tables.add_all(folds.finish(), done)
                stamps.clear()
                spill.clear()
    return Report(
        runs_spool=tables.runs,
        handoffs_spool=tables.handoffs,
        budgets_spool=tables.budgets,
        recorded_spool=tables.recorded,
        ledger=quality,
        gates=gates,
        options={
            "agents": chain,
            "budget": budgets,
            "ledger": None if ledger_rows is None else [row._asdict() for row in ledger_rows],
            "usage": usage,
            "run_scope": run_scope,
            "dialect": dialect,
            **vars(gates),
            "max_record_bytes": max_record_bytes,
        },
        n_events=sum(s.n_events for s in scan.summaries),
        n_bytes=sum(s.n_bytes for s in scan.summaries),
        problems=tuple(tables.problems()),
        missing=tuple(sorted(frozenset().union(*tables.missing))),
        is_strict=strict,
        earliest=finished.earliest,
        inputs=_digest(scan.summaries),
    )


class _SourceBySource:
    """Folds a scan; iterates over sources whose runs are all in the folds, with no others, to be taken out.

    Where runs are merged across sources, that is all sources, at the end. Else the sources before the
    one that the scan has reached: what is held is then the runs of one source, or of one batch.

    Attributes:
        earliest: Time of the first event that has one, nanoseconds since 1970.
    """

    def __init__(self, scan: Scan, folds: Folds, across_sources: bool) -> None:
        self.earliest: int | None = None
        self._scan = scan
        self._folds = folds
        self._across_sources = across_sources

    def __iter__(self) -> Iterator[Sequence[SourceSummary]]:
        n_done = 0
        for batch in self._scan:
            self._look_at_times(batch)
            places = batch.column("source")
            reached = places[-1].as_py()
            if reached > n_done and not self._across_sources:
                begin = places.index(reached).as_py()
                if begin:
                    self._folds.update(batch.slice(0, begin))
                yield self._scan.summaries[n_done:reached]
                n_done, batch = reached, batch.slice(begin)
            self._folds.update(batch)
        yield self._scan.summaries[n_done:]

    def _look_at_times(self, batch: pa.RecordBatch) -> None:
        time = pc.min(batch.column("ts")).value
        if time is not None and (self.earliest is None or time < self.earliest):
            self.earliest = time


def _digest(summaries: Iterable[SourceSummary]) -> str:
    """Return what tells other sources, or sources of other sizes, apart."""
    digest = hashlib.sha256()
    for summary in summaries:
        digest.update(f"{summary.source.name}\0{summary.n_bytes}\n".encode())
    return digest.hexdigest()


def _check_agents(agents: Iterable[str] | None) -> list[str] | None:
    if agents is None:
        return None
    has_no_order = isinstance(agents, str | bytes | Set) or not isinstance(agents, Iterable)
    chain = [] if has_no_order else list(agents)
    if has_no_order or not all(isinstance(agent, str) for agent in chain):
        raise ConfigError("agents must be a list of names\nHint: agents=['researcher', 'writer'].")
    if len(chain) < 2 or not all(chain):
        raise ConfigError(
            f"agents are {chain}: a handoff needs two names or more, and none empty\n"
            "Hint: leave agents out to take each run's own order."
        )
    return [writable(agent) for agent in chain]


def _names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple; one name given as a string is one name."""
    if not isinstance(names, Iterable):
        raise ConfigError(
            f"require_artifacts is {excerpt(repr(names))}\nHint: give a list of names."
        )
    return (names,) if isinstance(names, str) else tuple(names)
