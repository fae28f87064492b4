"""Rows of a table that may be larger than memory: many are kept in a file without a name.

A report of a million runs takes a gigabyte as columns. It is written row by row and asked for a column
or a few rows at a time, so no more than that has to be in memory.
"""

import weakref
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from tracestream.spans import Spill

_BATCH_ROWS = 8192
MEMORY_BYTES = 16 << 20
"""Rows of more bytes than this, as columns, are kept in the file."""


class _Kept(NamedTuple):
    """Where a batch is in the file, column by column, so that one can be read without the others."""

    n_rows: int
    places: list[tuple[int, int]]


class Spool:
    """Rows of one schema: added one by one, read as often as asked.

    Args:
        schema: The columns; text, numbers and lists, no dictionaries.
        memory_bytes: Rows of more than this are kept in a file; see MEMORY_BYTES.
    """

    def __init__(self, schema: pa.Schema, *, memory_bytes: int = MEMORY_BYTES) -> None:
        self.schema = schema
        self._memory_bytes = memory_bytes
        self._rows: list[dict[str, Any]] = []
        self._batches: list[pa.RecordBatch | _Kept] = []
        self._n_rows = self._n_bytes = 0
        self._spill = Spill()
        self._is_kept = False
        weakref.finalize(self, self._spill.close)

    @classmethod
    def of(cls, table: pa.Table, *, memory_bytes: int = MEMORY_BYTES) -> Self:
        """Return the rows of a table.

        Example:
            >>> Spool.of(pa.table({"run": ["a", "b"]})).column("run").to_pylist()
            ['a', 'b']
        """
        spool = cls(table.schema, memory_bytes=memory_bytes)
        for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
            spool._append(batch)
        return spool

    def __len__(self) -> int:
        return self._n_rows + len(self._rows)

    @property
    def is_kept(self) -> bool:
        """Whether the rows are in the file."""
        return self._is_kept

    def add(self, **row: Any) -> None:
        """Add a row; a column that is not given is null."""
        self._rows.append(row)
        if len(self._rows) >= _BATCH_ROWS:
            self._flush()

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, some thousand at a time.

        Args:
            columns: Only these, in this order; None for all. Others are not read.
        """
        self._flush()
        names = self.schema.names if columns is None else columns
        fields = [self.schema.field(name) for name in names]
        schema = pa.schema(fields, self.schema.metadata)
        at = [self.schema.get_field_index(name) for name in names]
        for batch in self._batches:
            arrays = [self._array(batch, column) for column in at]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows as a table, all of it in memory; see `batches`."""
        fields = [self.schema.field(name) for name in columns or self.schema.names]
        schema = pa.schema(fields, self.schema.metadata)
        return pa.Table.from_batches(self.batches(columns), schema)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return one column."""
        return self.table([name]).column(0)

    def take(self, places: pa.Array, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows at some places, in the order of the places; all rows pass by once.

        Args:
            places: uint64[n], none of them twice.
            columns: Only these; None for all.

        Example:
            >>> Spool.of(pa.table({"run": ["a", "b", "c"]})).take(pa.array([2, 0])).column(0).to_pylist()
            ['c', 'a']
        """
        order = pc.sort_indices(places)
        wanted = places.take(order).to_pylist()
        found = [self.table(columns).slice(0, 0)] if not wanted else []
        begin = first = 0
        for batch in self.batches(columns) if wanted else ():
            end = begin + batch.num_rows
            last = bisect_left(wanted, end, first)
            if last > first:
                rows = pa.array([place - begin for place in wanted[first:last]], pa.int64())
                found.append(pa.Table.from_batches([batch.take(rows)]))
            begin, first = end, last
        return pa.concat_tables(found).take(pc.sort_indices(order)).combine_chunks()

    def _flush(self) -> None:
        if self._rows:
            batch = pa.RecordBatch.from_pylist(self._rows, schema=self.schema)
            self._rows = []
            self._append(batch)

    def _append(self, batch: pa.RecordBatch) -> None:
        self._n_rows += batch.num_rows
        self._n_bytes += batch.nbytes
        self._batches.append(self._keep(batch) if self._is_kept else batch)
        if not self._is_kept and self._n_bytes > self._memory_bytes:
            self._is_kept = True
            for at, held in enumerate(self._batches):
                assert isinstance(held, pa.RecordBatch)
                self._batches[at] = self._keep(held)

    def _keep(self, batch: pa.RecordBatch) -> _Kept:
        places = []
        for field, array in zip(self.schema, batch.columns, strict=True):
            alone = pa.RecordBatch.from_arrays([array], schema=pa.schema([field]))
            data = alone.serialize().to_pybytes()
            places.append((self._spill.keep(data), len(data)))
        return _Kept(batch.num_rows, places)

    def _array(self, batch: pa.RecordBatch | _Kept, column: int) -> pa.Array:
        if isinstance(batch, pa.RecordBatch):
            return batch.column(column)
        data = pa.py_buffer(self._spill.read(*batch.places[column]))
        return pa.ipc.read_record_batch(data, pa.schema([self.schema.field(column)])).column(0)
