"""The elements of one array, as records."""

from collections.abc import Generator, Iterator

from tracestream.framings.base import Record, Refusals
from tracestream.framings.lines import Lines
from tracestream.framings.pending import Gaps, Pending
from tracestream.framings.recovery import Pieces
from tracestream.quality import SourceLedger
from tracestream.structure import Brackets


class Array:
    """The elements of an array; what follows the array is reported, and read as lines or an array.

    Args:
        ledger: Where damage is counted.
        cap: Most bytes of an element.
        refusals: Tells whether the record yielded last was refused.
        offset: Where the array begins.
    """

    name = "array"

    def __init__(self, ledger: SourceLedger, cap: int, refusals: Refusals, offset: int) -> None:
        self._ledger = ledger
        self._cap = cap
        self._refusals = refusals
        self._offset = offset  # of the block, while one is decoded; of the next one, between
        self._element = 1
        self._state = "before"
        self._brackets = Brackets()
        self._pending = Pending(cap)
        self._start = 0
        self._gaps = Gaps(ledger)
        self._lines: Lines | None = None

    def decode(self, block: bytes) -> Iterator[Record]:
        """Yield the records that a block completes."""
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
                self._lines = Lines(
                    self._ledger, self._cap, self._refusals, self._offset + at, self._element
                )
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

    def _take(self, *, last: bool, whole: bool = True) -> Generator[Record, None, bool]:
        """Yield the element that has ended; return whether the array was found to be torn in it."""
        data, size, begin, span, _, before, behind = self._pending.take()
        before.report(self._ledger, self._element, self._start)
        offset = self._start + begin
        is_torn = False
        if size > self._cap:
            self._ledger.add("oversized_record", self._element, offset, data, dropped=size)
        elif data:
            record = Record(data, self._element, offset, whole)
            yield record
            if self._refusals.take():
                is_torn = yield from self._recover(record)
        elif not last or self._element > 1:  # else, it is an empty array
            self._ledger.add(
                "malformed_record", self._element, self._start + span, "no element", dropped=1
            )
        behind.report(self._ledger, self._element, self._start)
        self._element += 1 if size or not last or self._element > 1 else 0
        return is_torn

    def _recover(self, record: Record) -> Generator[Record, None, bool]:
        """Yield the records of an element that was refused, if a comma is missing between them."""
        data, element, offset, whole, _ = record
        pieces = Pieces(self._ledger, self._cap, element, offset, self._refusals)
        pieces.known = len(data)
        yield from pieces.feed(data)
        rest = pieces.rest()
        if rest is None:
            return False
        reason = "malformed_record" if whole else "truncated_array"
        offset = rest.record.offset
        self._ledger.add(reason, element, offset, rest.record.data, dropped=rest.size)
        return not whole

    def flush(self) -> Iterator[Record]:
        """Yield what is left at the end of the source."""
        if self._lines is not None:
            yield from self._lines.flush()
        elif self._gaps.carried:
            offset = self._offset - len(self._gaps.carried)
            self._ledger.add("trailing_data", self._element, offset, "after the closing bracket")
        self._gaps.end(self._element)
        if self._state not in ("inside", "lost"):
            return
        complete = (
            self._state == "inside" and not self._brackets.depth and not self._brackets.in_string
        )
        if complete and not self._pending.is_blank:
            is_torn = yield from self._take(last=True, whole=False)
            if is_torn:
                return
        data, size, begin, _, _, before, behind = self._pending.take()
        before.report(self._ledger, self._element, self._start)
        start = self._start + begin if size else self._offset
        self._ledger.add("truncated_array", self._element, start, data, dropped=size)
        behind.report(self._ledger, self._element, self._start)
