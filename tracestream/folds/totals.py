"""How many events a run has, where it begins, and whether any of its exchanges carries text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracestream.folds.base import RunKey, code_of, codes, grouped, rows_of, span_at
from tracestream.schema import Kind
from tracestream.spans import Span


@dataclass(slots=True)
class RunTotals:
    """Part *run* of PARTIALS.

    Attributes:
        first: Its first event.
        n_events: Its events.
        n_exchanges: Requests and responses among them.
        n_texts: Those that carry text.
        n_untimed: Those without a time, where times are read.
    """

    first: Span
    n_events: int = 0
    n_exchanges: int = 0
    n_texts: int = 0
    n_untimed: int = 0

    def add(self, other: "RunTotals") -> None:
        """Add the totals of another part of the run."""
        self.first = min(self.first, other.first)
        self.n_events += other.n_events
        self.n_exchanges += other.n_exchanges
        self.n_texts += other.n_texts
        self.n_untimed += other.n_untimed


class Totals:
    """Folds batches into RunTotals."""

    part = "run"

    def __init__(self) -> None:
        self.runs: dict[RunKey, RunTotals] = {}

    def update(self, batch: pa.RecordBatch) -> None:
        """Take in a batch of SPANS."""
        kinds = codes(batch, "kind")
        is_exchange = pc.or_(
            pc.equal(kinds, code_of(batch, "kind", Kind.REQUEST)),
            pc.equal(kinds, code_of(batch, "kind", Kind.RESPONSE)),
        )
        is_untimed = (
            pc.is_null(batch.column("ts")) if "ts" in batch.schema.names else pa.scalar(False)
        )
        values = {
            "row": rows_of(batch),
            "exchange": pc.cast(is_exchange, pa.int64()),
            "text": pc.cast(batch.column("has_payload"), pa.int64()),
            "untimed": pc.cast(pc.and_(is_exchange, is_untimed), pa.int64()),
        }
        how = (
            ("row", "min"),
            ("row", "count"),
            ("exchange", "sum"),
            ("text", "sum"),
            ("untimed", "sum"),
        )
        for key, _, (row, *counts) in grouped(batch, (), values, how):
            self._add(key, RunTotals(span_at(batch, row), *counts))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of PARTIALS."""
        for key, run in self.runs.items():
            yield {
                **key._asdict(),
                "part": self.part,
                "first": run.first._asdict(),
                "n_events": run.n_events,
                "n_exchanges": run.n_exchanges,
                "n_texts": run.n_texts,
                "n_untimed": run.n_untimed,
            }

    def merge(self, key: RunKey, row: dict[str, Any]) -> None:
        """Take in one row of PARTIALS."""
        counts = (row[name] for name in ("n_events", "n_exchanges", "n_texts", "n_untimed"))
        self._add(key, RunTotals(Span(**row["first"]), *counts))

    def _add(self, key: RunKey, run: RunTotals) -> None:
        if key in self.runs:
            self.runs[key].add(run)
        else:
            self.runs[key] = run
