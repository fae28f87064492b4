"""A damaged source written down as its parts, and what reading it must give: worked out from the parts alone."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.damage.readings import Entry, Place, Reading

BOM = b"\xef\xbb\xbf"
SKIPS = {
    *("torn_tail", "malformed_record", "torn_prefix", "deep_nesting", "oversized_record"),
    *("truncated_array", "not_an_object"),
}
"""Reasons whose dropped bytes are a value or line that gave no record."""
PLACED_BY_LINE = {"glued_records", "truncated_stream"}
"""Reasons of which the specification gives the line, and not the byte in it nor how often a line has it."""


class Part(NamedTuple):
    """A run of bytes, and what is at its place.

    Attributes:
        data: The bytes.
        tool: The tool of the event that is read here; "" for none.
        reasons: Entries of the ledger here.
        dropped: Bytes that are in no record because of them.
        is_record: An object is read here, whether it gives an event or not.
        counts: It takes a number in an array or a document stream.
    """

    data: bytes
    tool: str | None = ""
    reasons: tuple[str, ...] = ()
    dropped: int = 0
    is_record: bool = False
    counts: bool = False


def record(n: int, **fields: Any) -> bytes:
    """Return the JSON of the event of tool `t<n>`."""
    return json.dumps({"event_type": "tool_start", "tool_name": f"t{n}", **fields}).encode()


def good(n: int, data: bytes | None = None) -> Part:
    """Return a record that gives the event of tool `t<n>`, and nothing else."""
    return Part(record(n) if data is None else data, f"t{n}", is_record=True, counts=True)


def odd(reasons: str, data: bytes, tool: str | None = "t1") -> Part:
    """Return a record that gives an event and entries."""
    return Part(data, tool, tuple(reasons.split()), is_record=True, counts=True)


def bad(reason: str, data: bytes) -> Part:
    """Return bytes that give an entry and no record."""
    return Part(data, reasons=(reason,), dropped=len(data), counts=reason in SKIPS)


def mark(reason: str, data: bytes = b"") -> Part:
    """Return an entry at a place; its bytes, if any, are not dropped."""
    return Part(data, reasons=(reason,))


def foreign(reason: str, data: bytes) -> Part:
    """Return an object that gives no event."""
    return Part(data, reasons=(reason,), is_record=True, counts=True)


@dataclass(frozen=True)
class Instance:
    """One damaged source.

    Attributes:
        row: The row of the table of damage: a reason, or a name of a row without one.
        name: What is special about it.
        parts: Its bytes, in order.
        framing: How it is framed.
        allowed: Reasons that the specification leaves open: they may come too, with their bytes.
        encoding: How its text is encoded, behind a byte-order mark.
        store: What makes of the parts' bytes the file; then it is not compressed a second time.
        options: For reading it.
        is_recognised: Whether its format is.
    """

    row: str
    name: str
    parts: tuple[Part, ...]
    framing: str | None = "lines"
    allowed: frozenset[str] = frozenset()
    encoding: str = "utf-8"
    store: Callable[[Sequence[bytes]], bytes] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    is_recognised: bool = True

    @property
    def plain(self) -> bytes:
        """The bytes that its parts are."""
        return b"".join(self._encoded(part) for part in self.parts)

    @property
    def data(self) -> bytes:
        """Its bytes as stored."""
        parts = [self._encoded(part) for part in self.parts]
        return b"".join(parts) if self.store is None else self.store(parts)

    def _encoded(self, part: Part) -> bytes:
        if self.encoding == "utf-8" or part.reasons == ("utf16",):
            return part.data  # a mark is its bytes
        return part.data.decode().encode(self.encoding)

    def _places(self) -> Iterator[tuple[Part, Any, int, int]]:
        """Each part with its line, its offset and its length as stored."""
        offset, line, n_values = 0, 1, 1
        for part in self.parts:
            length = len(self._encoded(part))
            at = line if self.framing == "lines" else n_values
            yield part, None if part.reasons == ("truncated_stream",) else at, offset, length
            offset += length
            line += part.data.count(b"\n")
            n_values += part.counts

    @property
    def events(self) -> list[Place]:
        return [
            Place(part.tool, line, offset, length)
            for part, line, offset, length in self._places()
            if part.is_record and part.tool != ""
        ]

    @property
    def entries(self) -> list[Entry]:
        found = [
            Entry(reason, line, offset, length if part.dropped else 0)
            for part, line, offset, length in self._places()
            for reason in part.reasons
        ]
        return sorted(found, key=lambda entry: (entry.offset, entry.reason))

    @property
    def expected(self) -> dict[str, Any]:
        """What its parts say, to compare with what `compared` makes of a reading."""
        n_skipped = sum(e.reason in SKIPS and e.dropped > 0 for e in self.entries)
        n_dropped = sum(entry.dropped for entry in self.entries)
        n_records = sum(part.is_record for part in self.parts)
        return self.compared(
            Reading(self.events, self.entries, n_records, n_skipped, n_dropped, self.framing, None)
        )

    def compared(self, reading: Reading) -> dict[str, Any]:
        """Return what the specification settles of a reading."""
        found = {
            "events": reading.events,
            "entries": self._placed(reading.entries),
            "records": reading.n_records,
        }
        if self.is_recognised:
            found["framing"] = reading.framing
        if not self.allowed and self.encoding == "utf-8":
            found |= {"skipped": reading.n_skipped, "dropped": reading.n_dropped}
        return found

    def _placed(self, entries: list[Entry]) -> list[tuple[Any, ...]]:
        """Return entries by what the specification says of them, without those it leaves open."""
        closed = [entry for entry in entries if entry.reason not in self.allowed]
        loose = {(e.reason, e.line) for e in closed if e.reason in PLACED_BY_LINE}
        # How many bytes of a transcoded source count as dropped, the specification does not say.
        exact = [
            e if self.encoding == "utf-8" else e[:3]
            for e in closed
            if e.reason not in PLACED_BY_LINE
        ]
        return [*sorted(loose), *exact]


def instance(row: str, name: str, *parts: Part | bytes, **known: Any) -> Instance:
    """Return an instance; bytes among the parts are what lies between records."""
    made = tuple(part if isinstance(part, Part) else Part(part) for part in parts)
    return Instance(row, name, made, **known)
