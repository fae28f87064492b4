"""Cut a stream of bytes into records: a push decoder without I/O.

Feed blocks to `Frames.decode`, then call `Frames.flush`; both give records with line and byte offset.
The framing is chosen from the first record and kept:

- *lines*: one record a line. Cut on byte 0x0A only, never inside a string at U+2028 and the like.
- *array*: the first non-blank byte is `[`; the elements are the records, one at a time.
- *document*: the first line leaves a bracket open and what follows closes it without a syntax error:
  pretty-printed values, one after another.

A record that turns out not to be JSON is handed back with `Frames.reject` before the next one is
asked for. Whatever is skipped goes to the ledger. Memory holds one block and one record.
"""

from collections.abc import Generator, Iterator
from typing import NamedTuple, Protocol

from tracestream.pending import Gaps, Pending
from tracestream.quality import SourceLedger
from tracestream.structure import BOM, Brackets, Choice

MAX_RECORD_BYTES = 256 << 20
_OPEN, _CLOSE = ord("{"), ord("}")


class Record(NamedTuple):
    """One JSON value, not yet parsed.

    Attributes:
        data: Its bytes, perhaps with white space around.
        line: 1-based physical line; element number in an array; ordinal in a document stream.
        offset: Offset of `data` in the decompressed source.
        whole: False if the source ended where the record might go on.
    """

    data: bytes
    line: int
    offset: int
    whole: bool = True


class Framing(Protocol):
    """One way to cut a stream into records."""

    name: str
    torn: str
    n_torn: int

    def decode(self, block: bytes) -> Iterator[Record]:
        """Yield the records that a block completes."""

    def flush(self) -> Iterator[Record]:
        """Yield what is left at the end."""


class Frames:
    r"""Cuts one source into records.

    Args:
        ledger: Where damage is counted.
        max_record_bytes: A record over this size is skipped, at bounded memory.

    Example:
        >>> from tracestream.quality import Quality, SourceLedger
        >>> frames = Frames(SourceLedger(Quality(), "a.jsonl", 0))
        >>> [*frames.decode(b'{"a": 1}\n{"a"'), *frames.decode(b': 2}\n'), *frames.flush()]
        [Record(data=b'{"a": 1}', line=1, offset=0, whole=True), Record(data=b'{"a": 2}', line=2, offset=9, whole=True)]
    """

    def __init__(self, ledger: SourceLedger, *, max_record_bytes: int = MAX_RECORD_BYTES) -> None:
        self._ledger = ledger
        self._cap = max_record_bytes
        self._framing: Framing | None = None
        self._choice = Choice(ledger, max_record_bytes)

    @property
    def framing(self) -> str | None:
        """`lines`, `array` or `document`; None while nothing but blanks was seen."""
        return self._framing.name if self._framing else None

    def decode(self, block: bytes) -> Iterator[Record]:
        """Yield the records that this block completes."""
        if self._framing is None:
            name = self._choice.feed(block)
            if name is not None:
                yield from self._start(name)
        else:
            yield from self._framing.decode(block)

    def flush(self) -> Iterator[Record]:
        """Yield what is left at the end of the source."""
        if self._framing is None:
            yield from self._start("lines")
        assert self._framing is not None
        yield from self._framing.flush()

    def reject(self, record: Record, reason: str = "malformed_record") -> None:
        """Count a record that gives nothing; call it before asking for the next record.

        Args:
            record: The record.
            reason: Of the quality ledger; a malformed record that the end of the source cut is torn.
        """
        assert self._framing is not None, "there is no record before there is a framing"
        if reason == "malformed_record" and not record.whole:
            reason = self._framing.torn
            self._framing.n_torn += 1
        self._ledger.add(reason, record.line, record.offset, record.data, dropped=len(record.data))

    def _start(self, name: str) -> Iterator[Record]:
        choice = self._choice
        if name == "array":
            self._framing = _Array(self._ledger, self._cap, choice.offset)
        elif name == "document":
            self._framing = _Documents(self._ledger, self._cap, choice.offset)
        else:
            self._framing = _Lines(self._ledger, self._cap, choice.offset, choice.line)
        for block in choice.take():
            yield from self._framing.decode(block)


class _Lines:
    """One record a line, without the white space around it (a CR is some); blank lines are nothing."""

    name = "lines"
    torn = "torn_tail"

    def __init__(self, ledger: SourceLedger, cap: int, offset: int, line: int = 1) -> None:
        self._ledger = ledger
        self._cap = cap
        self._offset = offset
        self._line = line
        self._pending = Pending(cap, self._mark)
        self.n_torn = 0

    def decode(self, block: bytes) -> Iterator[Record]:
        lines = block.split(b"\n")
        rest = lines.pop()
        if lines and self._pending.span:
            self._pending.add(lines.pop(0))
            yield from self._take()
        for data in lines:
            if data and data[0] == _OPEN and data[-1] == _CLOSE and len(data) <= self._cap:
                yield Record(data, self._line, self._offset)
                self._offset += len(data) + 1
                self._line += 1
            else:
                self._pending.add(data)
                yield from self._take()
        self._pending.add(rest)

    def flush(self) -> Iterator[Record]:
        yield from self._take(whole=False)

    def _mark(self, at: int) -> None:
        self._ledger.add("bom", self._line, self._offset + at, "U+FEFF", dropped=len(BOM))

    def _take(self, *, whole: bool = True) -> Iterator[Record]:
        data, size, begin, span = self._pending.take()
        offset = self._offset + begin
        if size > self._cap:
            self._ledger.add("oversized_record", self._line, offset, data, dropped=size)
        elif data and not data.isspace():
            yield Record(data, self._line, offset, whole)
        self._offset += span + 1
        self._line += 1


class _Array:
    """The elements of an array; what follows the array is reported, and read as lines or an array."""

    name = "array"
    torn = "truncated_array"

    def __init__(self, ledger: SourceLedger, cap: int, offset: int) -> None:
        self._ledger = ledger
        self._cap = cap
        self._offset = offset  # of the block, while one is decoded; of the next one, between
        self._element = 1
        self._state = "before"
        self._brackets = Brackets()
        self._pending = Pending(cap)
        self.n_torn = 0
        self._start = 0
        self._gaps = Gaps(ledger)
        self._lines: _Lines | None = None

    def decode(self, block: bytes) -> Iterator[Record]:
        block, at = self._gaps.carried + block, 0
        self._offset -= len(self._gaps.carried)
        self._gaps.carried = b""
        while at < len(block):
            if self._lines is not None:
                yield from self._lines.decode(block[at:])
                return
            if self._state == "inside":
                at = yield from self._inside(block, at)
            elif self._state == "lost":
                self._pending.hold_head()
                self._pending.add(block[at:])
                at = len(block)
            else:
                at = self._between(block, at)
        self._offset += len(block)

    def _between(self, block: bytes, at: int) -> int:
        """Go on before the array or behind it; return the position of what begins there."""
        at = self._gaps.skip(block, at, self._element, self._offset)
        if at == len(block):
            return at
        if self._state == "after":
            self._ledger.add(
                "trailing_data", self._element, self._offset + at, "after the closing bracket"
            )
            if block[at : at + 1] != b"[":
                self._lines = _Lines(self._ledger, self._cap, self._offset + at, self._element)
                self.torn = self._lines.torn
                return at
        self._state = "inside"
        self._brackets = Brackets()
        self._start = self._offset + at + 1
        return at + 1

    def _inside(self, block: bytes, at: int) -> Generator[Record, None, int]:
        """Yield the elements that end in the block; return the position behind what was read."""
        begin = at
        while True:
            at = self._brackets.advance(block, at, commas=True)
            if at < 0:
                self._pending.add(block[begin:])
                return len(block)
            if self._brackets.broken and (block[at - 1 : at] != b"]" or self._brackets.depth):
                self._state = "lost"
                return begin
            if self._brackets.depth or not (self._brackets.broken or block[at - 1 : at] == b","):
                continue
            self._pending.add(block[begin : at - 1])
            yield from self._take(last=self._brackets.broken)
            begin = at
            self._start = self._offset + at
            if self._brackets.broken:
                self._state = "after"
                return at

    def _take(self, *, last: bool, whole: bool = True) -> Iterator[Record]:
        data, size, begin, _ = self._pending.take()
        offset = self._start + begin
        if size > self._cap:
            self._ledger.add("oversized_record", self._element, offset, data, dropped=size)
        elif data:
            yield Record(data, self._element, offset, whole)
        elif last and self._element == 1:
            return  # an empty array
        else:
            self._ledger.add(
                "malformed_record", self._element, self._start, "no element", dropped=1
            )
        self._element += 1

    def flush(self) -> Iterator[Record]:
        if self._lines is not None:
            yield from self._lines.flush()
        elif self._gaps.carried:
            offset = self._offset - len(self._gaps.carried)
            self._ledger.add("trailing_data", self._element, offset, "after the closing bracket")
        if self._state not in ("inside", "lost"):
            return
        complete = (
            self._state == "inside" and not self._brackets.depth and not self._brackets.in_string
        )
        if complete and not self._pending.is_blank:
            n_torn = self.n_torn
            yield from self._take(last=True, whole=False)
            if n_torn != self.n_torn:
                return
        data, size, begin, _ = self._pending.take()
        start = self._start + begin if size else self._offset
        self._ledger.add("truncated_array", self._element, start, data, dropped=size)


class _Documents:
    """Complete values one after another; one that loses its structure ends at the next line with `{` or `[`."""

    name = "document"
    torn = "torn_tail"

    def __init__(self, ledger: SourceLedger, cap: int, offset: int) -> None:
        self._ledger = ledger
        self._cap = cap
        self._offset = offset
        self._ordinal = 1
        self._brackets: Brackets | None = None
        self._pending = Pending(cap)
        self.n_torn = 0
        self._start = 0
        self._lost = False
        self._at_line_start = True
        self._gaps = Gaps(ledger)

    def decode(self, block: bytes) -> Iterator[Record]:
        block, at = self._gaps.carried + block, 0
        self._offset -= len(self._gaps.carried)
        self._gaps.carried = b""
        while at < len(block):
            if self._lost:
                at = self._skip(block, at)
            elif self._brackets is None:
                at = self._between(block, at)
            else:
                at = yield from self._inside(block, at)
        self._offset += len(block)

    def _between(self, block: bytes, at: int) -> int:
        at = self._gaps.skip(block, at, self._ordinal, self._offset)
        if at < len(block):
            self._start = self._offset + at
            self._lost = block[at : at + 1] not in (b"{", b"[")
            self._at_line_start = False
            self._brackets = None if self._lost else Brackets()
        return at

    def _inside(self, block: bytes, at: int) -> Generator[Record, None, int]:
        assert self._brackets is not None
        end = self._brackets.advance(block, at)
        if end < 0:
            self._pending.add(block[at:])
            return len(block)
        self._pending.add(block[at:end])
        if self._brackets.broken:
            self._lost = True
            self._at_line_start = False
        elif not self._brackets.depth:
            data, size, _, _ = self._pending.take()
            if size > self._cap:
                self._ledger.add("oversized_record", self._ordinal, self._start, data, dropped=size)
            else:
                yield Record(data, self._ordinal, self._start)
            self._next()
        return end

    def _skip(self, block: bytes, at: int) -> int:
        """Pass over what has no structure, up to the next line that begins with a bracket."""
        self._pending.hold_head()
        begin = at
        while at < len(block):
            if self._at_line_start and block[at] in b"{[":
                self._pending.add(block[begin:at])
                data, size, _, _ = self._pending.take()
                self._ledger.add("malformed_record", self._ordinal, self._start, data, dropped=size)
                self._next()
                return at
            newline = block.find(b"\n", at)
            self._at_line_start = newline >= 0
            at = newline + 1 if newline >= 0 else len(block)
        self._pending.add(block[begin:])
        return at

    def _next(self) -> None:
        self._brackets = None
        self._lost = False
        self._ordinal += 1

    def flush(self) -> Iterator[Record]:
        self._pending.add(self._gaps.carried)
        data, size, _, _ = self._pending.take()
        if size:
            start = self._start
            if self._gaps.carried:
                start = self._offset - len(self._gaps.carried)
            reason = "malformed_record" if self._lost else self.torn
            self._ledger.add(reason, self._ordinal, start, data, dropped=size)
        yield from ()
