"""Turn sources into Arrow batches of events: the one contract between reading and everything else.

Sources are read one after another, once, forward; a batch may span sources, and ends early where it
would hold too many bytes. Source, line and offset are added here and nowhere else.
"""

import logging
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from tracestream.blocks import Blocks, Stamp, open_blocks
from tracestream.dialects import detect, dialect_named, dialect_names
from tracestream.dialects.base import Dialect, Refused, decode_clean, parse_record
from tracestream.errors import ConfigError
from tracestream.frames import MAX_RECORD_BYTES, Frames, Record
from tracestream.quality import Quality, SourceLedger, excerpt
from tracestream.rows import Rows
from tracestream.schema import EVENTS
from tracestream.sources import Source, SourceArg, discover

BATCH_ROWS = 8192
BATCH_BYTES = 4 << 20
"""A batch with texts in it ends once its records come to this many bytes."""
BLOCK_BYTES = 1 << 20
DETECT_RECORDS = 16
DETECT_BYTES = 1 << 20

# How documents begin that are kept beside traces and are none: reports, the pointer to the last run,
# EvalPort suites and result sets.
_NO_TRACE = re.compile(
    rb"""\s*\{\s*(?:"schema"\s*:\s*"tracestream\.|"schema_version"\s*:\s*"1\.0"\s*,\s*"path"|"""
    rb""""version"\s*:\s*"1\.0\.0[^"]*"\s*,\s*"(?:id|suite_id)")"""
)

_decode = msgspec.json.Decoder().decode
_log = logging.getLogger("tracestream")


def read_batches(
    source: SourceArg,
    *,
    columns: Sequence[str] | None = None,
    dialect: str = "auto",
    batch_rows: int = BATCH_ROWS,
    block_bytes: int = BLOCK_BYTES,
    on_error: str = "report",
    max_record_bytes: int = MAX_RECORD_BYTES,
) -> pa.RecordBatchReader:
    """Return a lazy reader of the events in traces.

    Args:
        source: A path, a folder, a glob, `-`, a file object, bytes, or a list of them.
        columns: Which columns of EVENTS, in this order; None for all. Others are not decoded.
        dialect: Name of the trace format; `auto` recognises it, source by source.
        batch_rows: Most rows in a batch; one with long texts ends sooner.
        block_bytes: How much of a plain file is read at once, bytes. Never changes the result.
        on_error: `report` reads on and logs a summary (logger `tracestream`) at the end; `raise`
            raises at the first loss or doubt.
        max_record_bytes: A record over this size is skipped.

    Returns:
        Batches of the EVENTS columns asked for, in the order of sources and offsets. Open files are
        closed when the reader is exhausted or released.

    Raises:
        InputError: A path does not exist, or there is nothing to read; while reading, with
            ``on_error="raise"``, the first damage.
        ConfigError: An argument is unknown or out of range.

    Example:
        >>> event = b'{"event_type": "tool_start", "tool_name": "search"}'
        >>> read_batches(event, columns=["kind", "tool"]).read_all().to_pylist()
        [{'kind': 'tool_call', 'tool': 'search'}]
    """
    unknown = [column for column in columns or () if column not in EVENTS.names]
    if unknown:
        raise ConfigError(
            f"no column {unknown[0]!r}\nHint: the columns are {', '.join(EVENTS.names)}."
        )
    if columns is not None and len(set(columns)) < len(columns):
        raise ConfigError(f"columns are {list(columns)}\nHint: name each column once.")
    schema = (
        EVENTS
        if columns is None
        else pa.schema([EVENTS.field(c) for c in columns], EVENTS.metadata)
    )
    quality = Quality(raises=check_on_error(on_error))
    scan = Scan(
        discover(source),
        schema,
        quality,
        dialect=dialect,
        batch_rows=batch_rows,
        block_bytes=block_bytes,
        max_record_bytes=max_record_bytes,
    )
    return pa.RecordBatchReader.from_batches(schema, _logged(scan, quality))


def check_on_error(on_error: str) -> bool:
    """Return whether to raise at the first damage.

    Raises:
        ConfigError: The value is neither `report` nor `raise`.
    """
    if on_error not in ("report", "raise"):
        raise ConfigError(f"on_error is {on_error!r}\nHint: it is 'report' or 'raise'.")
    return on_error == "raise"


def _logged(scan: "Scan", quality: Quality) -> Iterator[pa.RecordBatch]:
    yield from scan
    log_damage(quality)


def log_damage(quality: Quality) -> None:
    """Log a ledger in words, if it has losses or doubts: where there is no report to hold it."""
    if quality.count("loss", "doubt"):
        for sentence in quality.sentences():
            _log.warning("%s", sentence)


@dataclass(slots=True)
class SourceSummary:
    """What became of one source.

    Attributes:
        source: The source.
        dialect: Name of its format; None if none was recognised.
        framing: `lines`, `array` or `document`.
        stamp: Set if its records can be read again by offset.
        n_bytes: Its bytes, as stored.
        n_events: Events it gave.
        problem: In words, if it could not be read or recognised.
        is_no_trace: It is a report, a pointer or an EvalPort document that lay in a folder of traces, and
            was passed over.
    """

    source: Source
    dialect: str | None = None
    framing: str | None = None
    stamp: Stamp | None = None
    n_bytes: int = 0
    n_events: int = 0
    problem: str | None = None
    is_no_trace: bool = False


class Progress(NamedTuple):
    """How far a scan is.

    Attributes:
        n_bytes: Bytes read of all sources so far, as stored.
        total_bytes: Bytes there were to read at the start; None if a source has no size.
        source: Name of the source that is read.
    """

    n_bytes: int
    total_bytes: int | None
    source: str


class Scan:
    """Iterates over the batches of sources; `summaries` says what became of each source read.

    Args:
        sources: What to read, in order.
        schema: The columns: any of EVENTS, or SPANS.
        quality: The ledger.
        dialect: Name of the format, or `auto`.
        batch_rows: Most rows in a batch.
        block_bytes: Size of a block, bytes.
        max_record_bytes: A record over this size is skipped.
        progress: Called after each block.

    Raises:
        ConfigError: A number is under 1.
        UnknownDialectError: There is no such dialect.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        schema: pa.Schema,
        quality: Quality,
        *,
        dialect: str = "auto",
        batch_rows: int = BATCH_ROWS,
        block_bytes: int = BLOCK_BYTES,
        max_record_bytes: int = MAX_RECORD_BYTES,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        counts: tuple[tuple[str, object], ...] = (
            ("batch_rows", batch_rows),
            ("block_bytes", block_bytes),
            ("max_record_bytes", max_record_bytes),
        )
        for name, value in counts:
            if not isinstance(value, int) or not 1 <= value <= sys.maxsize:
                shown = excerpt(repr(value))
                raise ConfigError(f"{name} is {shown}\nHint: give a whole number, 1 or more.")
        self.summaries: list[SourceSummary] = []
        self._sources = sources
        self._quality = quality
        self._dialect = None if dialect == "auto" else dialect_named(str(dialect))
        self._batch_rows = batch_rows
        self._block_bytes = block_bytes
        self._max_record_bytes = max_record_bytes
        self._rows = Rows(schema)
        self._progress = progress
        self._n_bytes = 0
        sizes = [source.size_bytes for source in sources]
        self._total_bytes = None if None in sizes else sum(size for size in sizes if size)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for source in self._sources:
            summary = SourceSummary(source)
            self.summaries.append(summary)
            self._quality.n_sources += 1
            yield from self._read(summary, SourceLedger(self._quality, source.name, source.order))
        if self._rows.count:
            yield self._rows.take()

    def _read(self, summary: SourceSummary, ledger: SourceLedger) -> Iterator[pa.RecordBatch]:
        blocks: Blocks | None = None
        try:
            with open_blocks(summary.source, ledger, block_bytes=self._block_bytes) as blocks:
                summary.stamp = blocks.stamp
                yield from self._read_records(self._counted(blocks, summary), summary, ledger)
        except OSError as error:
            words = error.strerror or str(error)
            summary.problem = f"unreadable: {words}"
            ledger.add("unreadable_source", None, 0, words)
        finally:
            summary.n_bytes = 0 if blocks is None or summary.is_no_trace else blocks.size_bytes
            self._n_bytes += summary.n_bytes

    def _counted(self, blocks: Blocks, summary: SourceSummary) -> Iterator[bytes]:
        for block in blocks:
            if self._progress is not None:
                n_bytes = self._n_bytes + blocks.n_bytes
                self._progress(Progress(n_bytes, self._total_bytes, summary.source.name))
            yield block

    def _read_records(
        self, plain: Iterator[bytes], summary: SourceSummary, ledger: SourceLedger
    ) -> Iterator[pa.RecordBatch]:
        head = next(plain, b"")
        if summary.source.in_folder and _NO_TRACE.match(head):
            summary.is_no_trace = True
            return
        frames = Frames(ledger, max_record_bytes=self._max_record_bytes)
        records = chain(
            (record for block in chain((head,), plain) for record in frames.decode(block)),
            # A generator, so that it is flushed only when all blocks are decoded.
            (record for _ in (0,) for record in frames.flush()),
        )
        dialect = self._dialect
        held: list[Record] = []
        if dialect is None:
            dialect, held = self._detect(records, frames, summary, ledger)
        summary.framing = frames.framing
        if dialect is None:
            return
        summary.dialect = dialect.name
        read = dialect.reader(self._rows.dialect_columns)
        rows = self._rows
        source = rows.source_value(summary.source)
        if frames.is_transcoded:
            summary.stamp = None
        keeps = summary.stamp is None
        for record in chain(held, records):
            ledger.at(record.line, record.offset)
            try:
                events = read(record.data, ledger.note)
            except Refused as refused:
                frames.reject(record, refused.reason)
                continue
            self._quality.records += 1
            for event in events:
                summary.n_events += 1
                rows.add(source, record, event, keeps)
            if rows.count >= self._batch_rows or rows.size_bytes >= BATCH_BYTES:
                yield rows.take()
        summary.framing = frames.framing

    def _detect(
        self,
        records: Iterator[Record],
        frames: Frames,
        summary: SourceSummary,
        ledger: SourceLedger,
    ) -> tuple[Dialect | None, list[Record]]:
        """Look at the first records; return the dialect and the records it has still to read."""
        held: list[Record] = []
        n_looked = n_bytes = 0
        n_before = (0, 0)
        refused_line = None
        keys: list[str] = []
        for record in records:
            # What is refused counts when it is seen that no record was found in it after all.
            if (n_looked >= DETECT_RECORDS or n_bytes >= DETECT_BYTES) and (
                record.line != refused_line
            ):
                break
            if record.line == refused_line:
                n_looked, n_bytes = n_before
            n_before = n_looked, n_bytes
            n_looked += 1
            n_bytes += len(record.data)
            refused_line = None
            try:
                value = _parse(record.data)
            except Refused as refused:
                frames.reject(record, refused.reason)
                refused_line = record.line
            else:
                held.append(record)
                found = detect(value)
                if found is not None:
                    return found, held
                keys = keys or list(value)
        self._quality.records += len(held)
        if n_looked:
            shown = (
                excerpt("first keys: " + ", ".join(keys)) if keys else "no JSON object with keys"
            )
            names = ", ".join(dialect_names())
            summary.problem = f"unknown format: {shown}; known dialects: {names}"
            first = held[0] if held else None
            ledger.add("unknown_format", first and first.line, first.offset if first else 0, shown)
        return None, []


def _parse(data: bytes) -> dict[str, Any]:
    value = decode_clean(_decode, data)
    if value is None:
        return parse_record(data, lambda reason, detail: None)
    if not isinstance(value, dict):
        raise Refused("not_an_object")
    return value
