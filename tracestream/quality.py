"""The data-quality ledger: what could not be read as written, where, and how often.

Every departure from a clean trace is one entry: a reason, a place, and at most 80 characters. Reasons
have a class: *loss* (something is missing from the result), *doubt* (something may be), *note*
(everything was read, and this was odd). Ledgers of splits merge to the ledger of the whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tracestream.errors import DialectError, FrameError, InputError, UnknownDialectError

MAX_EXAMPLES = 5
DETAIL_CHARS = 80


class Reason(NamedTuple):
    """What a ledger entry means: its class, whether bytes dropped with it are a lost record, and in words."""

    severity: str
    skips: bool
    error: type[InputError]
    words: str


REASONS = {
    "torn_tail": Reason(
        "loss", True, FrameError, "the last record is cut off; the file may still be written"
    ),
    "malformed_record": Reason("loss", True, FrameError, "not JSON"),
    "deep_nesting": Reason("loss", True, FrameError, "nested too deep to read"),
    "oversized_record": Reason("loss", True, FrameError, "over the record size cap"),
    "truncated_array": Reason(
        "loss", True, FrameError, "the array is cut off or loses its structure"
    ),
    "truncated_stream": Reason(
        "loss",
        False,
        FrameError,
        "the compressed stream is cut off, corrupt, or needs more memory than 128 MiB",
    ),
    "unreadable_source": Reason("loss", False, InputError, "the source could not be read"),
    "trailing_data": Reason("doubt", False, FrameError, "something follows the end of the data"),
    "not_an_object": Reason("doubt", True, DialectError, "JSON, but not an object"),
    "wrong_shape": Reason("doubt", False, DialectError, "an object of another format"),
    "wrong_type": Reason(
        "doubt", False, DialectError, "a known field has another type; it counts as missing"
    ),
    "unknown_format": Reason(
        "doubt", False, UnknownDialectError, "no dialect fits the first records"
    ),
    "bom": Reason("note", False, FrameError, "byte-order mark dropped"),
    "control_character": Reason("note", False, FrameError, "raw control character inside a string"),
    "invalid_utf8": Reason("note", False, FrameError, "bytes that are no UTF-8, replaced"),
    "lone_surrogate": Reason("note", False, FrameError, "half a surrogate pair"),
    "non_finite_number": Reason(
        "note", False, FrameError, "NaN or Infinity; as a number it is missing"
    ),
    "unknown_event": Reason(
        "note", False, DialectError, "an event type this version does not know"
    ),
}


class Example(NamedTuple):
    """One place where a reason applied."""

    order: int
    offset: int
    source: str
    line: int | None
    detail: str


def excerpt(data: bytes | str) -> str:
    r"""Return the first 80 characters, with everything that does not print escaped.

    Example:
        >>> excerpt(b'{"a": "\x1b[31m\xff')
        '{"a": "\\x1b[31m\\xff'
    """
    text = (
        data
        if isinstance(data, str)
        else data[: DETAIL_CHARS * 4].decode("utf-8", "backslashreplace")
    )
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text[:DETAIL_CHARS]
    )[:DETAIL_CHARS]


@dataclass
class Entry:
    """What the ledger holds for one reason."""

    count: int = 0
    examples: list[Example] = field(default_factory=list)

    def keep(self, examples: list[Example]) -> None:
        """Keep the smallest examples by (source order, offset)."""
        self.examples = sorted([*self.examples, *examples])[:MAX_EXAMPLES]


@dataclass
class Quality:
    """A ledger.

    Args:
        raises: Raise the typed error of the first *loss* or *doubt* instead of counting it.
    """

    raises: bool = False
    records: int = 0
    skipped: int = 0
    bytes_dropped: int = 0
    entries: dict[str, Entry] = field(default_factory=dict)

    def add(self, reason: str, example: Example, *, count: int = 1, dropped: int = 0) -> None:
        """Count one departure.

        Args:
            reason: A key of REASONS.
            example: Where, and at most 80 characters of what.
            count: How many records or values it touches.
            dropped: Bytes that are in no record because of it.

        Raises:
            InputError: Of the reason's type, if this ledger raises and the class is loss or doubt.
        """
        known = REASONS[reason]
        if self.raises and known.severity != "note":
            place = (
                "" if example.line is None else f", line {example.line}, offset {example.offset}"
            )
            raise known.error(
                f"{example.source}{place}: {known.words} ({reason}): {example.detail}\n"
                "Hint: on_error='report' reads on and counts this in the quality ledger.",
                source=example.source,
                line=example.line,
                offset=example.offset,
            )
        entry = self.entries.setdefault(reason, Entry())
        entry.count += count
        if len(entry.examples) < MAX_EXAMPLES or example < entry.examples[-1]:
            entry.keep([example])
        self.skipped += count if known.skips and dropped else 0
        self.bytes_dropped += dropped

    def merge(self, other: "Quality") -> None:
        """Add what another ledger counted; the order of merging does not matter."""
        self.records += other.records
        self.skipped += other.skipped
        self.bytes_dropped += other.bytes_dropped
        for reason, entry in other.entries.items():
            mine = self.entries.setdefault(reason, Entry())
            mine.count += entry.count
            mine.keep(entry.examples)

    def count(self, *severities: str) -> int:
        """Return how many entries are of these classes."""
        return sum(e.count for r, e in self.entries.items() if REASONS[r].severity in severities)

    def to_dict(self) -> dict[str, object]:
        """Return the `quality` part of the report document; reasons in the order of REASONS."""
        return {
            "records": self.records,
            "skipped": self.skipped,
            "bytes_dropped": self.bytes_dropped,
            "reasons": {
                reason: {
                    "class": known.severity,
                    "count": self.entries[reason].count,
                    "examples": [
                        {"source": e.source, "line": e.line, "offset": e.offset, "detail": e.detail}
                        for e in self.entries[reason].examples
                    ],
                }
                for reason, known in REASONS.items()
                if reason in self.entries
            },
        }

    def sentences(self) -> Iterator[str]:
        """Yield one plain sentence a reason, losses first, with the first place it happened."""
        for severity in ("loss", "doubt", "note"):
            for reason, known in REASONS.items():
                if known.severity == severity and reason in self.entries:
                    entry = self.entries[reason]
                    first = entry.examples[0]
                    place = (
                        first.source if first.line is None else f"{first.source}, line {first.line}"
                    )
                    yield f"{severity}: {reason} x{entry.count}: {known.words} (first: {place})"


class SourceLedger:
    """The ledger as one source writes in it: the source is known, the place is set once a record.

    Args:
        quality: The ledger of the whole.
        source: Name of the source.
        order: Its place among the sources.
    """

    def __init__(self, quality: Quality, source: str, order: int) -> None:
        self._quality = quality
        self._source = source
        self._order = order
        self.line: int | None = None
        self.offset = 0

    def at(self, line: int | None, offset: int) -> None:
        """Set the place that `note` speaks of."""
        self.line = line
        self.offset = offset

    def add(
        self, reason: str, line: int | None, offset: int, detail: bytes | str, *, dropped: int = 0
    ) -> None:
        """Count one departure at a place; see Quality.add."""
        example = Example(self._order, offset, self._source, line, excerpt(detail))
        self._quality.add(reason, example, dropped=dropped)

    def note(self, reason: str, detail: bytes | str) -> None:
        """Count one departure at the place set by `at`."""
        self.add(reason, self.line, self.offset, detail)
