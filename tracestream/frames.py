"""Cut a stream of bytes into records: a push decoder without I/O.

Feed blocks to `Frames.decode`, then call `Frames.flush`; both give records with line and byte offset.
The framing is chosen from the first record and kept:

- *lines*: one record a line. Cut on byte 0x0A only, never inside a string at U+2028 and the like.
- *array*: the first non-blank byte is `[`; the elements are the records, one at a time.
- *document*: the first line leaves a bracket open and what follows closes it without a syntax error:
  pretty-printed values, one after another.

A record that turns out not to be JSON is handed back with `Frames.reject` before the next one is
asked for: then, and only then, it is looked at again for records that are glued, torn or cut by a raw
newline. Whatever is skipped goes to the ledger. Memory holds one block and one record.
"""

from collections.abc import Iterator

from tracestream.framings.arrays import Array
from tracestream.framings.base import Framing, Record, Refusals
from tracestream.framings.choice import Choice
from tracestream.framings.documents import Documents
from tracestream.framings.lines import Lines
from tracestream.framings.utf16 import (
    MARK_BYTES,
    Transcoded,
    Transcoder,
    encoding_of,
    is_undecided,
    utf16_length,
)
from tracestream.quality import SourceLedger

__all__ = ["MAX_RECORD_BYTES", "Frames", "Record"]

MAX_RECORD_BYTES = 256 << 20


class Frames:
    r"""Cuts one source into records.

    Args:
        ledger: Where damage is counted.
        max_record_bytes: A record over this size is skipped, at bounded memory.

    Example:
        >>> from tracestream.quality import Quality, SourceLedger
        >>> frames = Frames(SourceLedger(Quality(), "a.jsonl", 0))
        >>> records = [*frames.decode(b'{"a": 1}\n{"a"'), *frames.decode(b': 2}\n'), *frames.flush()]
        >>> [(record.data, record.line, record.offset) for record in records]
        [(b'{"a": 1}', 1, 0), (b'{"a": 2}', 2, 9)]
    """

    def __init__(self, ledger: SourceLedger, *, max_record_bytes: int = MAX_RECORD_BYTES) -> None:
        self._ledger = ledger
        self._cap = max_record_bytes
        self._head: bytes | None = b""
        self._transcoder: Transcoder | None = None
        self._inner = ledger  # as the framing writes in it
        self._choice: Choice | None = None
        self._framing: Framing | None = None
        self._refusals = Refusals()

    @property
    def framing(self) -> str | None:
        """`lines`, `array` or `document`; None while nothing but blanks was seen."""
        return self._framing.name if self._framing else None

    @property
    def is_transcoded(self) -> bool:
        """Whether the source is UTF-16: its records do not stand in it as they are given."""
        return self._transcoder is not None

    def decode(self, block: bytes) -> Iterator[Record]:
        """Yield the records that this block completes."""
        if self._head is not None:
            self._head += block
            if is_undecided(self._head):
                return
            block = self._open()
        if self._transcoder is not None:
            yield from self._placed(self._decode(self._transcoder.decode(block)))
        else:
            yield from self._decode(block)

    def flush(self) -> Iterator[Record]:
        """Yield what is left at the end of the source."""
        if self._head is not None:
            yield from self._decode(self._open())
        if self._transcoder is not None:
            rest = self._transcoder.decode(b"", last=True)
            yield from self._placed(self._decode(rest))
            yield from self._placed(self._flush())
        else:
            yield from self._flush()

    def reject(self, record: Record, reason: str = "malformed_record") -> None:
        """Refuse a record that gives nothing; call it before asking for the next record.

        Args:
            record: The record.
            reason: Of the quality ledger. A malformed record is counted when the next one is asked for:
                there may be records in it.
        """
        if reason == "malformed_record":
            self._refusals.pending = True
        else:
            self._ledger.add(
                reason, record.line, record.offset, record.data, dropped=len(record.data)
            )

    def _open(self) -> bytes:
        """Return the first block, once it has told what the source is written in."""
        assert self._head is not None, "a source is opened once"
        head, self._head = self._head, None
        encoding = encoding_of(head)
        if encoding is not None:
            self._ledger.add("utf16", 1, 0, encoding.upper(), dropped=MARK_BYTES)
            head = head[MARK_BYTES:]
            self._transcoder = Transcoder(encoding)
            self._inner = Transcoded(self._ledger, self._transcoder)
        self._choice = Choice(self._inner, self._cap)
        return head

    def _decode(self, block: bytes) -> Iterator[Record]:
        if self._framing is not None:
            yield from self._framing.decode(block)
            return
        assert self._choice is not None, "a source is opened before it is decoded"
        name = self._choice.feed(block)
        if name is not None:
            yield from self._start(name)

    def _flush(self) -> Iterator[Record]:
        if self._framing is None:
            yield from self._start("lines")
        assert self._framing is not None
        yield from self._framing.flush()

    def _start(self, name: str) -> Iterator[Record]:
        choice = self._choice
        assert choice is not None
        blocks = choice.take()
        common = (self._inner, self._cap, self._refusals, choice.offset)
        if name == "array":
            self._framing = Array(*common)
        elif name == "document":
            self._framing = Documents(*common)
        else:
            self._framing = Lines(*common, choice.line)
        for block in blocks:
            yield from self._framing.decode(block)

    def _placed(self, records: Iterator[Record]) -> Iterator[Record]:
        """Yield records with their offsets in the source."""
        assert self._transcoder is not None
        for record in records:
            offset, length = self._transcoder.place(record.offset), utf16_length(record.data)
            yield record._replace(offset=offset, length=length)
