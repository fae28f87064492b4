"""What a source gives when it is read, in a form that can be compared: events, ledger, and where each byte went."""

from typing import Any, NamedTuple

import pyarrow as pa

from tracestream.batches import Scan
from tracestream.quality import REASONS, Quality
from tracestream.schema import EVENTS
from tracestream.sources import discover

PLACE = ("tool", "line", "offset", "length")
COLUMNS = pa.schema([*(EVENTS.field(name) for name in PLACE), EVENTS.field("kind")])
"""Few, so that thousands of readings are quick; the ledger does not depend on the columns."""


class Place(NamedTuple):
    """Where an event was read."""

    tool: str | None
    line: int
    offset: int
    length: int


class Entry(NamedTuple):
    """One departure, with the bytes that are in no record because of it."""

    reason: str
    line: int | None
    offset: int
    dropped: int


class Watched(Quality):
    """A ledger that keeps every entry, not only the first examples."""

    def __init__(self, *, raises: bool = False) -> None:
        super().__init__(raises=raises)
        self.log: list[tuple[str, Entry]] = []

    def add(self, reason: str, example: Any, *, count: int = 1, dropped: int = 0) -> None:
        entry = Entry(reason, example.line, example.offset, dropped)
        self.log += [(example.source, entry)] * count
        super().add(reason, example, count=count, dropped=dropped)


class Reading(NamedTuple):
    """What a source gave."""

    events: list[Place]
    entries: list[Entry]
    n_records: int
    n_skipped: int
    n_dropped: int
    framing: str | None
    problem: str | None

    @property
    def reasons(self) -> set[str]:
        return {entry.reason for entry in self.entries}

    @property
    def has_damage(self) -> bool:
        """Whether there is a loss or a doubt."""
        return any(REASONS[reason].severity != "note" for reason in self.reasons)


def read(source: Any, *, quality: Watched | None = None, **options: Any) -> Reading:
    """Return what one source gives."""
    quality = quality or Watched()
    sources = discover(source)
    scan = Scan(sources, COLUMNS, quality, **options)
    rows = [row for batch in scan for row in batch.to_pylist()]
    (summary,) = scan.summaries
    return Reading(
        [Place(*(row[name] for name in PLACE)) for row in rows],
        sorted((entry for _, entry in quality.log), key=lambda e: (e.offset, e.reason)),
        quality.records,
        quality.skipped,
        quality.bytes_dropped,
        summary.framing,
        summary.problem,
    )


def blocks_of(data: bytes, size: int) -> list[bytes]:
    """Cut data into blocks of one size."""
    return [data[at : at + size] for at in range(0, len(data), size)] or [b""]
