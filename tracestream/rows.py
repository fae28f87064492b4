"""Rows of events on their way into an Arrow batch."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tracestream.dialects.base import Row
from tracestream.frames import Record
from tracestream.jsontext import writable
from tracestream.schema import RECORD_NUMBER, check
from tracestream.sources import Source

_POSITION = ("source", "line", "offset", "length", "record")
_HEAVY = {"text", "messages", "tool_args", "error", "artifacts"}


class Rows:
    """Rows on their way into a batch.

    Args:
        schema: The columns.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._position = tuple(name for name in _POSITION if name in schema.names)
        self.dialect_columns = tuple(name for name in schema.names if name not in _POSITION)
        self._is_heavy = not _HEAVY.isdisjoint(schema.names)
        self._payload = (
            self.dialect_columns.index("has_payload") if "record" in schema.names else None
        )
        self._run_id = self.dialect_columns.index("run_id") if "run_id" in schema.names else None
        self._by_name = "source" not in schema.names or pa.types.is_dictionary(
            schema.field("source").type
        )
        self._events: list[Row] = []
        self._places: list[Row] = []
        self.size_bytes = 0

    @property
    def count(self) -> int:
        """Rows held."""
        return len(self._events)

    def source_value(self, source: Source) -> str | int:
        """Return what stands for a source in its column."""
        return writable(source.name) if self._by_name else source.order

    def add(self, source: str | int, record: Record, event: Row, keeps: bool) -> None:
        """Add one event; with `keeps`, the record of a payload goes along."""
        data = record.data
        kept = data if keeps and self._payload is not None and event[self._payload] else None
        at = self._run_id
        if at is not None and event[at] is RECORD_NUMBER:
            event = (*event[:at], str(record.line), *event[at + 1 :])
        self._events.append(event)
        self._places.append((source, record.line, record.offset, record.length or len(data), kept))
        if self._is_heavy or kept is not None:
            self.size_bytes += len(data)

    def take(self) -> pa.RecordBatch:
        """Return the rows as a batch, and be empty."""
        columns = dict(zip(_POSITION, zip(*self._places, strict=True), strict=True))
        columns.update(zip(self.dialect_columns, zip(*self._events, strict=True), strict=True))
        arrays = [_array(columns[field.name], field.type) for field in self._schema]
        n_rows = self.count
        self._events, self._places, self.size_bytes = [], [], 0
        batch = (
            pa.RecordBatch.from_arrays(arrays, schema=self._schema)
            if arrays
            else pa.record_batch([pa.nulls(n_rows)], ["none"]).select([])
        )
        check(batch, self._schema)
        return batch


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        index: dict[Any, int] = {}
        codes = [None if value is None else index.setdefault(value, len(index)) for value in values]
        return pa.DictionaryArray.from_arrays(
            pa.array(codes, pa.int32()), _array(list(index), kind.value_type)
        )
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:  # lone surrogates, which Arrow's text cannot hold
        return pa.array([None if value is None else writable(value) for value in values], kind)
