"""Find the records on a line that is no record as a whole: glued ones, and one behind a torn one.

Every pass looks at each byte a bounded number of times: a megabyte of garbage costs a megabyte's time.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from tracestream.framings.base import Record, Refusals
from tracestream.framings.pending import Marks, Nuls, Pending
from tracestream.jsontext import is_object
from tracestream.quality import SourceLedger
from tracestream.structure import BOM, GAP, Brackets, after_gap

_FIRST_KEY = re.compile(rb'\s*+\{\s*+"((?:[^"\\]|\\.)*+)"\s*+:', re.DOTALL)
# An escaped quote or backslash, a whole string, a bracket: what moves structure. Half of a torn string is
# read as if it were outside a string, so that escapes mean what they mean there, too.
_STEP = re.compile(rb'\\["\\]|"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
_FIRST_QUOTE = re.compile(rb'(?:[^"\\]++|\\.)*+"', re.DOTALL)
_LOOK_BACK = 64
_OPENS = {b"}": b"{", b"]": b"["}


def first_key(data: bytes) -> bytes | None:
    r"""Return the first key of an object, as written; None for anything else and for an empty one.

    Example:
        >>> first_key(b' {"event_type": "tool_start"}'), first_key(b"{}")
        (b'event_type', None)
    """
    found = _FIRST_KEY.match(data)
    return found[1] if found else None


class Rest(NamedTuple):
    """What is no record at the end of a line.

    Attributes:
        record: Its bytes; only the first ones if there are more than the cap.
        size: How many there are.
        tail: The white space behind them; None if that is not held.
        behind: NUL bytes behind them.
        base: Offset that the place of these is counted from.
    """

    record: Record
    size: int
    tail: bytes | None
    behind: Nuls
    base: int


class Pieces:
    """Splits what stands on one line into records, as long as one whole value follows another.

    Args:
        ledger: Where oversized pieces, NUL bytes between pieces and the glue are counted.
        cap: Most bytes of a piece.
        line: The line.
        offset: Where it begins.
        refusals: Tells whether the piece yielded last was refused.

    Attributes:
        n_records: Pieces that were taken.
        known: Size of a first piece of which it is known that it would be refused.
    """

    def __init__(
        self, ledger: SourceLedger, cap: int, line: int, offset: int, refusals: Refusals
    ) -> None:
        self.n_records = 0
        self.known = -1
        self._ledger = ledger
        self._cap = cap
        self._line = line
        self._offset = offset  # of what is pending
        self._refusals = refusals
        self._brackets = Brackets()
        self._marks = Marks(ledger, line, offset)
        self._pending = Pending(cap, self._marks)
        self._carried = b""  # the end of what was fed last, if a byte-order mark may begin there
        self._stopped = False

    def feed(self, data: bytes) -> Iterator[Record]:
        """Yield the pieces that more of the line completes."""
        data, self._carried = self._carried + data, b""
        at = 0
        while at < len(data):
            if not self._stopped and self._pending.is_blank:
                at = self._skip_gap(data, at)
                if at == len(data):
                    return
                self._stopped = data[at] not in b"{["
            end = -1 if self._stopped else self._brackets.advance(data, at)
            if end < 0:
                self._pending.add(data[at:])
                return
            self._pending.add(data[at:end])
            at = end
            if self._brackets.broken:
                self._stopped = True
            elif not self._brackets.depth:
                yield from self._take()

    def _skip_gap(self, data: bytes, at: int) -> int:
        begin = after_gap(data, at)
        while data.startswith(BOM, begin):
            begin = after_gap(data, begin + len(BOM))
        if BOM.startswith(data[begin : begin + len(BOM)]):
            self._carried = data[begin:]
        self._marks.offset = self._offset
        self._pending.add(data[at:begin])
        return begin if not self._carried else len(data)

    def _take(self) -> Iterator[Record]:
        data, size, begin, span, _, before, _ = self._pending.take()
        before.report(self._ledger, self._line, self._offset)
        offset = self._offset + begin
        self._offset += span
        if size > self._cap:
            self._ledger.add("oversized_record", self._line, offset, data, dropped=size)
            return
        if size != self.known:
            yield Record(data, self._line, offset)
        if size == self.known or self._refusals.take():
            self._stopped = True
            self._offset = offset
            self._pending.add(data)
            return
        self.known = -1
        self.n_records += 1
        if self.n_records == 2:
            self._ledger.add("glued_records", self._line, offset, data)

    def rest(self) -> "Rest | None":
        """Return what is left at the end of the line, if anything."""
        self._pending.add(self._carried)
        content = self._pending.take()
        content.before.report(self._ledger, self._line, self._offset)
        record = Record(content.data, self._line, self._offset + content.begin)
        rest = Rest(record, content.size, content.tail, content.behind, self._offset)
        return rest if content.size else None


def behind_torn(data: bytes, key: bytes) -> int | None:
    """Return where whole records begin that follow a torn one and go on to the end of the data.

    The earliest later object start with this first key from which on one value follows another. Two passes
    look for it: one takes it that the torn record ends outside a string, the other inside one.

    Args:
        data: A line without white space around it.
        key: The first key of a record, as written.
    """
    if not data.endswith(b"}") or data.find(b'"%b"' % key, 1) < 0:
        return None
    opening = re.compile(rb'\{[ \t\r\n]*+"%b"[ \t\r\n]*+:' % re.escape(key))
    quote = _FIRST_QUOTE.match(data)
    passes = [_last_chain(data, 0, opening)]
    if quote is not None:
        passes.append(_last_chain(data, quote.end(), opening))
    for start in sorted(start for start in passes if start is not None):
        if is_object(data[start : _value_end(data, start)]):
            return start
    return None


def _last_chain(data: bytes, at: int, opening: re.Pattern[bytes]) -> int | None:
    """Return where the objects begin of which the last ends at the end of the data.

    Args:
        data: The line.
        at: A position outside strings.
        opening: How such an object begins.
    """
    stack: list[tuple[bytes, int]] = []
    # By depth: where the last object ended, and where its chain began; of none that is a value in another.
    chains: dict[int, tuple[int, int]] = {}
    last = (-1, -1)
    for found in _STEP.finditer(data, at):
        step = found[0]
        if step in (b"{", b"["):
            stack.append((step, found.start()))
        elif step in _OPENS:
            if not stack or stack[-1][0] != _OPENS[step]:
                stack.clear()
                continue
            _, begin = stack.pop()
            if begin and opening.match(data, begin):
                ended, start = chains.pop(len(stack), (-1, -1))
                is_next = 0 <= ended <= begin and after_gap(data, ended) == begin
                last = (found.end(), start if is_next else begin)
                if is_next or data[max(begin - _LOOK_BACK, 0) : begin].rstrip(GAP)[-1:] not in (
                    b":",
                    b",",
                    b"[",
                ):
                    chains[len(stack)] = last
    return last[1] if last[0] == len(data) else None


def _value_end(data: bytes, start: int) -> int:
    brackets = Brackets()
    at = brackets.advance(data, start)
    while at >= 0 and brackets.depth and not brackets.broken:
        at = brackets.advance(data, at)
    return at
