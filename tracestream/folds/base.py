"""What the folds share: the key of a run, and grouping a batch."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from tracestream.spans import Span


class Fold(Protocol):
    """Folds batches of SPANS into state that merges; each has its part of PARTIALS."""

    part: str

    def update(self, batch: pa.RecordBatch) -> None:
        """Take in a batch."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of PARTIALS."""

    def merge(self, key: "RunKey", row: dict[str, Any]) -> None:
        """Take in one row of PARTIALS."""


class RunKey(NamedTuple):
    """What an event says about its run; which run that is, `identity.py` decides at the end."""

    source: int
    session_id: str | None
    run_id: str | None


RUN_COLUMNS = ("source", "session_id", "run_id")


def codes(batch: pa.RecordBatch, column: str) -> pa.Array:
    """Return a column as integers: codes of a dictionary column, else its values."""
    array = batch.column(column)
    return array.indices if pa.types.is_dictionary(array.type) else array


def code_of(batch: pa.RecordBatch, column: str, value: str) -> int:
    """Return the code of a value in a dictionary column of this batch; -1 if it is not there."""
    code: int = batch.column(column).dictionary.index(value).as_py()
    return code


def grouped(
    batch: pa.RecordBatch,
    columns: Sequence[str],
    values: Mapping[str, pa.Array],
    how: Sequence[tuple[str, str]],
) -> Iterator[tuple[RunKey, tuple[Any, ...], tuple[Any, ...]]]:
    """Yield one group of rows after another.

    Args:
        batch: SPANS.
        columns: Dictionary columns to group by, besides the run.
        values: Integer arrays of the batch's length, nulls allowed: what is aggregated.
        how: Pairs of a key of `values` and `min`, `max`, `sum` or `count`.

    Yields:
        The run's key, the values of `columns`, and the aggregates in the order of `how`.
    """
    keys = [*RUN_COLUMNS, *columns]
    table = pa.table({**{name: codes(batch, name) for name in keys}, **values})
    result = table.group_by(keys, use_threads=False).aggregate(list(how))
    decoded = []
    for name in keys:
        array = result.column(name).to_pylist()
        column = batch.column(name)
        if pa.types.is_dictionary(column.type):
            words = column.dictionary.to_pylist()
            array = [None if code is None else words[code] for code in array]
        decoded.append(array)
    aggregates = [result.column(f"{name}_{function}").to_pylist() for name, function in how]
    for key, values_of_row in zip(
        zip(*decoded, strict=True), zip(*aggregates, strict=True), strict=True
    ):
        source, session_id, run_id, *rest = key
        # An empty id is none.
        yield RunKey(source, session_id or None, run_id or None), tuple(rest), values_of_row


def rows_of(batch: pa.RecordBatch) -> pa.Array:
    """Return the row numbers of a batch: within a batch, they are the order of events."""
    return pa.array(range(batch.num_rows), pa.int64())


def in_time_order(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows that have a time, in the order of time, then place."""
    keys = [
        ("ts", "ascending"),
        ("source", "ascending"),
        ("offset", "ascending"),
        ("ordinal", "ascending"),
    ]
    return batch.filter(pc.is_valid(batch.column("ts"))).sort_by(keys)


def span_at(
    batch: pa.RecordBatch,
    row: int,
    *,
    keep: Callable[[bytes], int] | None = None,
    by_time: bool = False,
) -> Span:
    """Return the span of a row; its time is 0 unless events are ordered by time.

    Args:
        batch: SPANS.
        row: The row.
        keep: Puts the record, if the batch has it, where it can be read again; returns its place. The
            span's length is then that of what is kept.
        by_time: Take the event's time.
    """
    source, offset, ordinal, length, line = (
        batch.column(name)[row].as_py()
        for name in ("source", "offset", "ordinal", "length", "line")
    )
    time = batch.column("ts")[row].value if by_time else 0
    kept = None
    if keep is not None and (record := batch.column("record")[row].as_py()) is not None:
        kept, length = keep(record), len(record)
    return Span(time, source, offset, ordinal, length, line, kept)
