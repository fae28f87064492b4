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
    "torn_prefix": Reason(
        "loss", True, FrameError, "half a record before a whole one on the same line"
    ),
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
    "cut_content": Reason(
        "doubt", False, DialectError, "the writer shortened a text that is scored"
    ),
    "glued_records": Reason("note", False, FrameError, "records without a newline between them"),
    "joined_lines": Reason("note", False, FrameError, "a raw newline inside a string"),
    "nul_bytes": Reason("note", False, FrameError, "NUL bytes around records dropped"),
    "utf16": Reason("note", False, FrameError, "UTF-16, read as UTF-8"),
    "bom": Reason("note", False, FrameError, "byte-order mark dropped"),
    "control_character": Reason("note", False, FrameError, "raw control character inside a string"),
    "invalid_utf8": Reason("note", False, FrameError, "bytes that are no UTF-8, replaced"),
    "lone_surrogate": Reason("note", False, FrameError, "half a surrogate pair"),
    "non_finite_number": Reason(
        "note", False, FrameError, "NaN or Infinity; as a number it is missing"
    ),
    "duplicate_key": Reason("note", False, FrameError, "a key twice in one object; the last wins"),
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

    Attributes:
        records: JSON objects read.
        skipped: Values or lines that gave no record.
        bytes_dropped: Bytes that are in no record.
        entries: What was counted, by reason.
        n_sources: Sources looked at.
        damaged: Those of which something was skipped, by their order.
    """

    raises: bool = False
    records: int = 0
    skipped: int = 0
    bytes_dropped: int = 0
    entries: dict[str, Entry] = field(default_factory=dict)
    n_sources: int = 0
    damaged: set[int] = field(default_factory=set)

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
        if known.skips and dropped:
            self.skipped += count
            self.damaged.add(example.order)
        self.bytes_dropped += dropped

    def merge(self, other: "Quality") -> None:
        """Add what another ledger counted; the order of merging does not matter."""
        self.records += other.records
        self.skipped += other.skipped
        self.bytes_dropped += other.bytes_dropped
        self.n_sources += other.n_sources
        self.damaged |= other.damaged
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

    def headline(self) -> str | None:
        """Return how much was skipped, in a sentence; None if nothing was.

        Example:
            >>> quality = Quality(n_sources=40)
            >>> quality.add("torn_tail", Example(3, 0, "a.jsonl", 1, "{"), dropped=1)
            >>> quality.headline()
            '1 record skipped in 1 of 40 files: torn_tail x1'
        """
        if not self.skipped:
            return None
        reasons = (
            f"{reason} x{self.entries[reason].count}"
            for reason, known in REASONS.items()
            if known.skips and reason in self.entries
        )
        n_files = max(self.n_sources, len(self.damaged))
        return (
            f"{_counted(self.skipped, 'record')} skipped in {len(self.damaged):,} of "
            f"{_counted(n_files, 'file')}: {', '.join(reasons)}"
        )

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


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


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
