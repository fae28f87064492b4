"""Traces as a polars LazyFrame: columns, predicate and row limit reach down to the reader."""

import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from os import stat as status_of
from threading import Lock
from typing import cast

import polars as pl
import pyarrow as pa
from polars.io.plugins import register_io_source

from tracestream.batches import BATCH_ROWS, Scan, check_on_error, log_damage
from tracestream.errors import InputError
from tracestream.quality import Quality
from tracestream.schema import EVENTS
from tracestream.sources import Source, SourceArg, discover


def scan(source: SourceArg, *, dialect: str = "auto", on_error: str = "report") -> pl.LazyFrame:
    """Return the events of traces as a lazy frame, which reads them when it is collected.

    A query decodes only the columns it uses, drops what its filters reject batch by batch, and
    stops reading after ``head(n)``. Rows come in the order of sources and offsets, always.

    Memory: a few batches (some megabytes of records each, or one record) where polars streams an
    aggregation, a filter that keeps little, or `collect_batches`; else what the result takes.
    `sink_parquet` holds a whole row group: give it ``row_group_size=1000`` where texts are long.
    A query that uses a scan twice, such as a self-join, reads twice.

    Args:
        source: A path, a folder, a glob, `-`, a file object, bytes, or a list of them. Files are
            found now, and opened when the frame is collected. What can be read only once (`-`, file
            objects, iterators of blocks, named pipes) can be collected only once.
        dialect: Name of the trace format; `auto` recognises it, source by source.
        on_error: `report` reads on and logs a summary (logger `tracestream`) when all is read;
            `raise` raises at the first loss or doubt.

    Returns:
        The columns of EVENTS: text as String, `messages` and `tool_args` as Binary, `ts` as
        Datetime("ns", "UTC"), integers as Int64. Dictionary columns are String as well. As
        Categorical they would be grouped a little faster, but have no `.str`, neither join nor
        concatenate with String columns, and every name would enter one table of the whole process.
        The rows of a batch share one copy of each distinct value all the same.

    Raises:
        InputError: A path does not exist, or there is nothing to read; when collected, a stream has
            been read before, or, with ``on_error="raise"``, the first damage.
        UnknownDialectError: There is no such dialect.
        ConfigError: `on_error` is unknown, or the source is of no kind that can be read.

    What is raised while collecting keeps its type from polars 2.0 on; polars 1 raises ComputeError,
    with the name of our type and our message in its text. A filter with a Python function in it
    needs the package `cloudpickle`; without it polars raises ComputeError.

    Example:
        >>> event = b'{"event_type": "tool_start", "agent_name": "planner", "tool_name": "search"}'
        >>> planned = scan(event).filter(pl.col("agent").str.starts_with("plan"))
        >>> planned.select("kind", "tool").collect().rows()
        [('tool_call', 'search')]
    """
    events = _Events(discover(source), dialect, on_error)
    return register_io_source(events, schema=SCHEMA, validate_schema=True)


class _Events:
    """The IO source that polars calls, once for each time a query uses the scan, on any thread."""

    def __init__(self, sources: Sequence[Source], dialect: str, on_error: str) -> None:
        self._sources = sources
        self._dialect = dialect
        self._raises = check_on_error(on_error)
        self._stream = next((source for source in sources if _is_read_once(source)), None)
        self._is_read = False
        self._lock = Lock()
        Scan(sources, EVENTS, Quality(), dialect=dialect)  # an unknown dialect is an error now

    def __call__(
        self,
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        """Return frames of some columns: those of the first `n_rows` events that fit the predicate.

        polars hands over predicate and limit and applies neither again. The limit comes first: of
        ``filter(p).head(n)`` it hands over only `p`, and drops the iterator when it has enough.
        """
        self._claim()
        columns = EVENTS.names if with_columns is None else with_columns
        tested = [] if predicate is None else predicate.meta.root_names()
        schema = pa.schema([EVENTS.field(name) for name in dict.fromkeys([*columns, *tested])])
        limits = [BATCH_ROWS, *(limit for limit in (n_rows, batch_size) if limit)]
        quality = Quality(raises=self._raises)
        events = Scan(self._sources, schema, quality, dialect=self._dialect, batch_rows=min(limits))
        return _frames(events, quality, columns, predicate, n_rows)

    def _claim(self) -> None:
        if self._stream is None:
            return
        with self._lock:
            if self._is_read:
                raise InputError(
                    f"{self._stream.name} is a stream, and has been read\n"
                    "Hint: collect it once and query that frame, or scan a file.",
                    source=self._stream.name,
                )
            self._is_read = True


def _is_read_once(source: Source) -> bool:
    if source.path is None:
        return hasattr(source.stream, "read") or isinstance(source.stream, Iterator)
    try:
        # Files found in a folder are regular ones.
        return not source.in_folder and stat.S_ISFIFO(status_of(source.path).st_mode)
    except OSError:
        return False


def _frames(
    events: Scan,
    quality: Quality,
    columns: list[str],
    predicate: pl.Expr | None,
    n_rows: int | None,
) -> Iterator[pl.DataFrame]:
    # A traceback may keep this generator alive. polars drops it half-way when it has rows enough,
    # at times only at the next call into polars: until then the file stays open.
    with closing(cast("Generator[pa.RecordBatch, None, None]", iter(events))) as batches:
        for batch in batches:
            rows = batch if n_rows is None else batch.slice(0, n_rows)
            if n_rows is not None:
                n_rows -= rows.num_rows
            if predicate is not None:
                rows = _fitting(rows, predicate)
            if rows.num_rows:
                yield _frame(rows.select(columns))
            if n_rows == 0:
                return
    log_damage(quality)


def _fitting(batch: pa.RecordBatch, predicate: pl.Expr) -> pa.RecordBatch:
    """Return the rows that fit, copied by Arrow: rows that polars filters pin their whole batch."""
    tested = _frame(batch.select(list(dict.fromkeys(predicate.meta.root_names()))))
    fits = tested.select(fits=predicate).to_series()
    if fits.len() == 1:  # one row, or a predicate without columns
        return batch if fits[0] else batch.slice(0, 0)
    return batch if fits.all(ignore_nulls=False) else batch.filter(fits.to_arrow())


def _frame(batch: pa.RecordBatch) -> pl.DataFrame:
    return pl.DataFrame([_series(name, batch.column(name)) for name in batch.schema.names])


def _series(name: str, column: pa.Array) -> pl.Series:
    if not pa.types.is_dictionary(column.type):
        return pl.Series(name, column)
    return pl.Series(name, column.dictionary).gather(pl.Series(column.indices))


SCHEMA: pl.Schema = _frame(pa.RecordBatch.from_pylist([], schema=EVENTS)).schema
"""The columns of EVENTS as polars types."""
