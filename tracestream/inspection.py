"""Say what is in traces before anything is graded: one pass, at bounded memory, no text kept.

Arrow counts events, batch by batch. Runs are found by the folds that grading uses, so they are the runs
that `grade` names and counts. A source is finished as soon as the next one begins: memory holds the
runs of the sources in one batch, and about a kilobyte for each source and run before them.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from tracestream.batches import BATCH_ROWS, BLOCK_BYTES, Progress, Scan, SourceSummary
from tracestream.folds import Folds, Run
from tracestream.folds.base import codes, rows_of
from tracestream.folds.exact import rounded
from tracestream.folds.tools import calls_by_tool
from tracestream.folds.usage import AgentUsage
from tracestream.frames import MAX_RECORD_BYTES
from tracestream.jsontext import writable
from tracestream.quality import REASONS, Example, Quality
from tracestream.schema import EVENTS, TIMED_SPANS, Kind, clamped
from tracestream.sources import SourceArg, discover
from tracestream.tables import run_name
from tracestream.version import __version__

INSPECT_SCHEMA = "tracestream.inspect/1"
FAILED_STATUS = "error"
"""A tool result with this status, or with an error text, failed."""

_RECORD = TIMED_SPANS.field("record")
_COLUMNS = pa.schema(
    [
        *(column for column in TIMED_SPANS if column.name not in (_RECORD.name, "artifacts")),
        *(EVENTS.field(name) for name in ("event_type", "status", "error")),
    ]
)
_COUNTS = (
    *("sources", "compressed", "problems", "bytes"),
    *("runs", "gradable_runs", "budget_runs", "handoffs", "handoffs_with_text"),
)


@dataclass
class Contents:
    """What events hold.

    Attributes:
        types: Events by kind and event type; "" where none is recorded.
        texts: Events by kind and whether they carry text.
        agents: Events of each agent, in the order of its first one.
        tool_calls: Calls of each tool, counted as `grade` counts them; "" where no tool is named.
        tool_errors: Results of each tool that failed.
        first_ns: The earliest time, nanoseconds since 1970; None where no event has a time.
        last_ns: The latest time.
        usage: Tokens and cost.
    """

    types: Counter[tuple[str, str]] = field(default_factory=Counter)
    texts: Counter[tuple[str, bool]] = field(default_factory=Counter)
    agents: Counter[str] = field(default_factory=Counter)
    tool_calls: Counter[str] = field(default_factory=Counter)
    tool_errors: Counter[str] = field(default_factory=Counter)
    first_ns: int | None = None
    last_ns: int | None = None
    usage: AgentUsage = field(default_factory=AgentUsage)

    def add(self, other: "Contents") -> None:
        """Add the contents of another part."""
        for name in ("types", "texts", "agents", "tool_calls", "tool_errors"):
            getattr(self, name).update(getattr(other, name))
        self.add_times(other.first_ns, other.last_ns)
        self.usage = self.usage.plus(other.usage)

    def add_times(self, *times_ns: int | None) -> None:
        """Widen the time span to these times."""
        known = [ns for ns in (self.first_ns, self.last_ns, *times_ns) if ns is not None]
        self.first_ns, self.last_ns = min(known, default=None), max(known, default=None)

    def add_run(self, run: Run) -> None:
        """Add the usage and the tool calls of a run."""
        self.usage = self.usage.plus(run.total_usage)
        self.tool_calls.update(calls_by_tool(run.tools))
        self.tool_calls[""] += run.recorded.tool_calls if run.recorded else 0

    def to_dict(self) -> dict[str, Any]:
        """Return what the document says alike of every source and of all."""
        kinds: dict[str, Counter[str]] = defaultdict(Counter)
        for (kind, event_type), n in self.types.items():
            kinds[kind][event_type] = n
        tools = self.tool_calls | self.tool_errors  # without those of no call and no error
        cost, first, last = self.usage.cost_usd, self.first_ns, self.last_ns
        return {
            "events": self.types.total(),
            "kinds": [
                {"kind": kind, "events": n, "types": _ranked(kinds[kind], "event_type", "events")}
                for kind, n in _by_count({kind: types.total() for kind, types in kinds.items()})
            ],
            "requests": self._with_text(Kind.REQUEST),
            "responses": self._with_text(Kind.RESPONSE),
            "agents": [{"agent": agent, "events": n} for agent, n in self.agents.items()],
            "tool_calls": self.tool_calls.total(),
            "tool_errors": self.tool_errors.total(),
            "tools": [
                {"tool": tool, "calls": self.tool_calls[tool], "errors": self.tool_errors[tool]}
                for tool, _ in _by_count({t: self.tool_calls[t] for t in tools if t})
            ],
            "time": {
                "first": None if first is None else time_text(first),
                "last": None if last is None else time_text(last),
                "span_s": None if first is None or last is None else (last - first) / 1e9,
            },
            "usage": {
                "input_tokens": _int64(self.usage.input_tokens),
                "output_tokens": _int64(self.usage.output_tokens),
                "cost_usd": None if cost is None else rounded(cost),
            },
        }

    def _with_text(self, kind: Kind) -> dict[str, int]:
        with_text = self.texts[kind, True]
        return {"events": with_text + self.texts[kind, False], "with_text": with_text}


def _int64(number: int | None) -> int | None:
    return None if number is None else clamped(number)


def _by_count(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _ranked(counts: Mapping[str, int], name: str, count: str) -> list[dict[str, Any]]:
    return [{name: value, count: n} for value, n in _by_count(counts)]


def time_text(ns: int) -> str:
    """Return a time as ISO 8601 in UTC, to the nanosecond, without zeros at the end.

    Example:
        >>> time_text(1_750_000_000_312_500_000)
        '2025-06-15T15:06:40.3125Z'
    """
    seconds, rest = divmod(ns, 10**9)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return text + (f".{rest:09}".rstrip("0") if rest else "") + "Z"


@dataclass
class Inspection:
    """What is in traces: totals, the quality ledger, and each source, kept as JSON.

    Attributes:
        ledger: The quality ledger.
    """

    ledger: Quality
    _contents: Contents = field(default_factory=Contents)
    _counts: Counter[str] = field(default_factory=Counter)
    _forms: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _sources: list[bytes] = field(default_factory=list)

    def add(self, source: Mapping[str, Any], contents: Contents) -> None:
        """Add a source: what the document says of it, and its contents."""
        self._contents.add(contents)
        self._forms["dialect"].update(filter(None, [source["dialect"]]))
        self._forms["framing"].update(filter(None, [source["framing"]]))
        self._counts.update(
            sources=1,
            compressed=int(source["compressed"] is True),
            problems=int(source["problem"] is not None),
            bytes=source["bytes"],
            runs=len(source["runs"]),
        )
        for run in source["runs"]:
            self._counts["gradable_runs"] += run["gradable"]
            self._counts["budget_runs"] += run["has_budget"]
            self._counts["handoffs"] += run["handoffs"]
            self._counts["handoffs_with_text"] += run["handoffs_with_text"]
        # Copied, as what orjson gives holds on to several kilobytes that it does not use.
        self._sources.append(bytes(memoryview(orjson.dumps({**source, **contents.to_dict()}))))

    @property
    def summary(self) -> dict[str, Any]:
        """The totals of all sources."""
        return {
            **{name: self._counts[name] for name in _COUNTS},
            "dialects": _ranked(self._forms["dialect"], "dialect", "sources"),
            "framings": _ranked(self._forms["framing"], "framing", "sources"),
            **self._contents.to_dict(),
        }

    def source(self, at: int) -> dict[str, Any]:
        """Return what the document says of one source; the first read is 0."""
        document: dict[str, Any] = orjson.loads(self._sources[at])
        return document

    def to_json(self) -> Iterator[bytes]:
        """Yield the document (`schemas/inspect.schema.json`) in pieces: strict JSON, one line."""
        head = {"schema": INSPECT_SCHEMA, "version": __version__, "summary": self.summary}
        yield orjson.dumps({**head, "quality": self.ledger.to_dict()})[:-1] + b',"sources":['
        yield from (b"," + source if at else source for at, source in enumerate(self._sources))
        yield b"]}\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole document."""
        document: dict[str, Any] = orjson.loads(b"".join(self.to_json()))
        return document


def inspect_traces(
    source: SourceArg,
    *,
    dialect: str = "auto",
    max_record_bytes: int = MAX_RECORD_BYTES,
    batch_rows: int = BATCH_ROWS,
    block_bytes: int = BLOCK_BYTES,
    progress: Callable[[Progress], None] | None = None,
) -> Inspection:
    """Return what is in traces, without grading them.

    Args:
        source: A path, a folder, a glob, `-`, a file object, bytes, or a list of them.
        dialect: Name of the trace format; `auto` recognises it, source by source.
        max_record_bytes: A record over this size is skipped and counted.
        batch_rows: Most events in a batch. Never changes the result.
        block_bytes: How much of a plain file is read at once, bytes. Never changes the result.
        progress: Called now and then with how far the reading is.

    Raises:
        InputError: A path does not exist, or there is nothing to read.
        ConfigError: An argument is unknown or out of range.

    Example:
        >>> inspection = inspect_traces(b'{"event_type": "tool_start", "tool_name": "search"}')
        >>> inspection.summary["tools"]
        [{'tool': 'search', 'calls': 1, 'errors': 0}]
    """
    ledger = _SourceQuality()
    scan = Scan(
        discover(source),
        _COLUMNS,
        ledger,
        dialect=dialect,
        batch_rows=batch_rows,
        block_bytes=block_bytes,
        max_record_bytes=max_record_bytes,
        progress=progress,
    )
    inspection, part, n_finished = Inspection(ledger), _Part(), 0
    for batch in scan:
        current = scan.summaries[-1].source.order
        n_before = pc.sum(pc.less(batch.column("source"), current)).as_py()
        part.update(batch.slice(0, n_before))
        if n_finished < current:
            part.finish(scan.summaries[n_finished:current], inspection, ledger)
            part, n_finished = _Part(), current
        part.update(batch.slice(n_before))
    part.finish(scan.summaries[n_finished:], inspection, ledger)
    return inspection


@dataclass
class _SourceQuality(Quality):
    """A ledger that also counts by source."""

    damage: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, reason: str, example: Example, *, count: int = 1, dropped: int = 0) -> None:
        super().add(reason, example, count=count, dropped=dropped)
        self.damage[example.order][reason] += count


class _Part:
    """Some sources: their events, counted, and folded as grading folds them."""

    def __init__(self) -> None:
        self._folds = Folds(lambda record: 0)  # never asked, as these batches hold no records
        self._contents: dict[int, Contents] = defaultdict(Contents)

    def update(self, batch: pa.RecordBatch) -> None:
        """Take in events."""
        if not batch.num_rows:
            return
        self._folds.update(batch.append_column(_RECORD, pa.nulls(batch.num_rows, _RECORD.type)))
        columns = ("source", "kind", "event_type", "agent", "has_payload")
        values = {"row": rows_of(batch), "ns": batch.column("ts").cast(pa.int64())}
        how = (("row", "min"), ("row", "count"), ("ns", "min"), ("ns", "max"))
        groups = _groups(batch, columns, values, how)
        # In the order of first rows, as agents are in the order of their first events.
        for source, kind, event_type, agent, has_text, _, n, *times_ns in sorted(
            groups, key=lambda group: group[5]
        ):
            contents = self._contents[source]
            contents.types[kind, event_type or ""] += n
            contents.texts[kind, has_text] += n
            contents.agents.update({agent: n} if agent else {})
            contents.add_times(*times_ns)
        failed = batch.filter(_is_failed_result(batch))
        for source, tool, n in _groups(
            failed, ("source", "tool"), {"row": rows_of(failed)}, [("row", "count")]
        ):
            if tool:
                self._contents[source].tool_errors[tool] += n

    def finish(
        self, summaries: Sequence[SourceSummary], inspection: Inspection, ledger: _SourceQuality
    ) -> None:
        """Add sources, read to their end, to an inspection; a document of ours is none."""
        runs: dict[int, list[Run]] = defaultdict(list)
        for run in self._folds.finish():
            runs[run.totals.first.source].append(run)
        for summary in summaries:
            order, name = summary.source.order, writable(summary.source.name)
            damage, contents = ledger.damage.pop(order, Counter()), self._contents[order]
            for run in runs[order]:
                contents.add_run(run)
            document = {
                "source": name,
                "dialect": summary.dialect,
                "framing": summary.framing,
                "compressed": _is_compressed(summary),
                "bytes": summary.n_bytes,
                "problem": _problem(summary),
                "damage": {reason: damage[reason] for reason in REASONS if damage[reason]},
                "runs": [_run_document(name, run) for run in runs[order]]
                or [_run_document(name, None)],
            }
            if not summary.is_no_trace:
                inspection.add(document, contents)


def _groups(
    batch: pa.RecordBatch,
    columns: Sequence[str],
    values: Mapping[str, pa.Array],
    how: Sequence[tuple[str, str]],
) -> Iterator[tuple[Any, ...]]:
    """Yield the values of `columns`, then the aggregates, of one group of rows after another."""
    table = pa.table({**{name: codes(batch, name) for name in columns}, **values})
    result = table.group_by(list(columns), use_threads=False).aggregate(list(how))
    found = [result.column(name).to_pylist() for name in (*columns, *map("_".join, how))]
    for at, column in enumerate(map(batch.column, columns)):
        if pa.types.is_dictionary(column.type):
            words = column.dictionary.to_pylist()
            found[at] = [None if code is None else words[code] for code in found[at]]
    return zip(*found, strict=True)


def _is_failed_result(batch: pa.RecordBatch) -> pa.Array:
    is_result = pc.equal(batch.column("kind").cast(pa.string()), Kind.TOOL_RESULT)
    has_status = pc.fill_null(pc.equal(batch.column("status"), FAILED_STATUS), False)
    has_error = pc.fill_null(pc.greater(pc.binary_length(batch.column("error")), 0), False)
    return pc.and_(is_result, pc.or_(has_status, has_error))


def _problem(summary: SourceSummary) -> str | None:
    """Return why a source gives no event, or not all of them, in the words of `grade`."""
    if summary.problem is not None or summary.n_events:
        return summary.problem and writable(summary.problem)
    return "no event could be read" if summary.n_bytes else "the source is empty"


def _is_compressed(summary: SourceSummary) -> bool | None:
    """Return whether a source is compressed; None if it is no file, or could not be read."""
    if summary.stamp is not None:
        return False
    path = summary.source.path
    return True if path and summary.n_bytes and os.path.isfile(path) else None


def _run_document(source: str, run: Run | None) -> dict[str, Any]:
    """Return what the document says of a run; None is the one of a source without any."""
    if run is None:
        return {
            **{"run": source, "run_id": None, "events": 0, "gradable": False},
            **{"agents": [], "handoffs": 0, "handoffs_with_text": 0, "has_budget": False},
        }
    agents = list(run.agents.values()) if run.totals.n_texts else []
    pairs = list(pairwise(agents))
    return {
        "run": run_name(source, run.name.run_id),
        "run_id": run.name.run_id,
        "events": run.totals.n_events,
        "gradable": run.is_gradable,
        "agents": list(run.agents),
        "handoffs": len(pairs),
        "handoffs_with_text": sum(bool(one.output and other.input) for one, other in pairs),
        "has_budget": run.total_usage.budget_tokens is not None,
    }
