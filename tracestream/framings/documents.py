"""Values that each stand on several lines, one after another, as records."""

from collections.abc import Generator, Iterator

from tracestream.framings.base import Record, Refusals
from tracestream.framings.pending import Gaps, Pending
from tracestream.quality import SourceLedger
from tracestream.structure import Brackets


class Documents:
    """Complete values one after another; one that loses its structure ends at the next line with `{` or `[`.

    Args:
        ledger: Where damage is counted.
        cap: Most bytes of a value.
        refusals: Tells whether the record yielded last was refused.
        offset: Where the first one begins.
    """

    name = "document"

    def __init__(self, ledger: SourceLedger, cap: int, refusals: Refusals, offset: int) -> None:
        self._ledger = ledger
        self._cap = cap
        self._refusals = refusals
        self._offset = offset
        self._ordinal = 1
        self._brackets: Brackets | None = None
        self._pending = Pending(cap)
        self._start = 0
        self._lost = False
        self._at_line_start = True
        self._gaps = Gaps(ledger)
        self._behind_value = False
        self._is_glued = False

    def decode(self, block: bytes) -> Iterator[Record]:
        """Yield the records that a block completes."""
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
            self._is_glued = self._behind_value and not self._gaps.has_newline
            self._gaps.has_newline = False
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
            yield from self._take()
            self._next()
            self._behind_value = True
        return end

    def _take(self) -> Iterator[Record]:
        content = self._pending.take()
        data, place = content.data, (self._ordinal, self._start)
        if content.size > self._cap:
            self._ledger.add("oversized_record", *place, data, dropped=content.size)
            return
        yield Record(data, *place)
        if self._refusals.take():
            self._ledger.add("malformed_record", *place, data, dropped=len(data))
        elif self._is_glued:
            self._ledger.add("glued_records", *place, data)

    def _drop(self, reason: str) -> None:
        """Count what is pending, if anything is."""
        content = self._pending.take()
        place = (self._ordinal, self._start)
        if content.size:
            self._ledger.add(reason, *place, content.data, dropped=content.size)
        content.behind.report(self._ledger, *place)

    def _skip(self, block: bytes, at: int) -> int:
        """Pass over what has no structure, up to the next line that begins with a bracket."""
        self._pending.hold_head()
        begin = at
        while at < len(block):
            if self._at_line_start and block[at] in b"{[":
                self._pending.add(block[begin:at])
                self._drop("malformed_record")
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
        self._behind_value = False
        self._ordinal += 1

    def flush(self) -> Iterator[Record]:
        """Count what is left at the end of the source."""
        self._gaps.end(self._ordinal)
        if self._gaps.carried:
            self._pending.add(self._gaps.carried)
            self._start = self._offset - len(self._gaps.carried)
        self._drop("malformed_record" if self._lost else "torn_tail")
        yield from ()
