"""One record a line, and what is done about a line that is none."""

from collections.abc import Iterator, Sequence

from tracestream.framings.base import Record, Refusals
from tracestream.framings.pending import Marks, Nuls, Pending
from tracestream.framings.recovery import Pieces, Rest, behind_torn, first_key
from tracestream.framings.waiting import Joining, Keyless
from tracestream.quality import SourceLedger
from tracestream.structure import GAP, Brackets, Syntax

_LONG_BYTES = 1 << 20
_LOOK_BYTES = 64 << 10
_STEP_BYTES = 256 << 10
_OPEN, _CLOSE = ord("{"), ord("}")


class Lines:
    """One record a line, without the white space around it (a CR is some); blank lines are nothing.

    A line that is refused is looked at again: for records glued together, for a whole record behind a
    torn one, for a string that goes on in the next lines.

    Args:
        ledger: Where damage is counted.
        cap: Most bytes of a record.
        refusals: Tells whether the record yielded last was refused.
        offset: Where the first line begins.
        line: Its number.
    """

    name = "lines"

    def __init__(
        self, ledger: SourceLedger, cap: int, refusals: Refusals, offset: int, line: int = 1
    ) -> None:
        self._ledger = ledger
        self._cap = cap
        self._refusals = refusals
        self._offset = offset
        self._line = line
        self._is_begun = False  # the next line cannot be taken as it stands in its block
        self._marks = Marks(ledger, line, offset)
        self._pending = Pending(cap, self._marks)
        self._pieces: Pieces | None = None  # of a line that is too long to be held
        self._limit = min(cap, _LONG_BYTES)
        self._span = 0
        self._waiting: Joining | Keyless | None = None
        self._key: bytes | None = None  # the first one of the first intact record
        self._waits_for_key = True

    def decode(self, block: bytes) -> Iterator[Record]:
        """Yield the records that a block completes."""
        lines = block.split(b"\n")
        rest = lines.pop()
        yield from self._complete(lines)
        yield from self._begin(rest)

    def flush(self) -> Iterator[Record]:
        """Yield what the last line, and lines that waited, hold."""
        yield from self._end_waiting()
        yield from self._end(whole=False)
        yield from self._end_waiting()

    def _complete(self, lines: Sequence[bytes]) -> Iterator[Record]:
        """Yield the records of lines that are whole."""
        for data in lines:
            if (
                data
                and data[0] == _OPEN
                and data[-1] == _CLOSE
                and not self._is_begun
                and len(data) <= self._cap
            ):
                record = Record(data, self._line, self._offset)
                yield record
                self._offset += len(data) + 1
                self._line += 1
                if self._key is None or self._refusals.pending:
                    yield from self._settle(Rest(record, len(data), b"", Nuls(), 0))
            elif self._waiting is not None:
                yield from self._wait(self._waiting, data)
            else:
                yield from self._more(data)
                yield from self._end(whole=True)

    def _begin(self, piece: bytes) -> Iterator[Record]:
        """Take in a piece of a line that has not ended."""
        if self._waiting is None:
            yield from self._more(piece)
        elif piece and self._waiting.hold(piece):
            yield from self._resolve(self._waiting)

    def _more(self, piece: bytes) -> Iterator[Record]:
        """Go on with the line; yield the records of one that is too long to be held."""
        step = min(self._cap, _STEP_BYTES)
        self._marks.line, self._marks.offset = self._line, self._offset
        for at in range(0, len(piece), step):
            part = piece[at : at + step]
            self._is_begun = True
            while self._pieces is None and self._pending.extent + len(part) > self._limit:
                yield from self._let_go()
            if self._pieces is None:
                self._pending.add(part)
            else:
                self._span += len(part)
                yield from self._taken(self._pieces, part)

    def _let_go(self) -> Iterator[Record]:
        """Hold the line no longer, if it has more than one record or is over the cap."""
        if self._limit < self._cap and not _closes(self._pending.peek(_LOOK_BYTES)):
            self._limit = self._cap
            return
        self._span = self._pending.span
        begin, nuls, parts = self._pending.take_all()
        nuls.report(self._ledger, self._line, self._offset)
        offset = self._offset + begin
        self._pieces = Pieces(self._ledger, self._cap, self._line, offset, self._refusals)
        for part in parts:
            if isinstance(part, bytes):
                yield from self._taken(self._pieces, part)
            else:
                for at in range(0, part, _STEP_BYTES):
                    yield from self._taken(self._pieces, bytes(min(_STEP_BYTES, part - at)))

    def _end(self, *, whole: bool) -> Iterator[Record]:
        """Yield what the line holds that has gone on so far."""
        pieces, line, offset = self._pieces, self._line, self._offset
        content = self._pending.take()
        self._offset += (content.span if pieces is None else self._span) + 1
        self._line += 1
        self._pieces = None
        self._limit = min(self._cap, _LONG_BYTES)
        self._is_begun = False
        content.before.report(self._ledger, line, offset)
        if pieces is not None:
            yield from self._finish(pieces.rest(), whole=whole)
        elif content.data and not content.data.isspace():
            record = Record(content.data, line, offset + content.begin, whole)
            yield record
            yield from self._settle(
                Rest(record, content.size, content.tail, content.behind, offset)
            )
        else:
            content.behind.report(self._ledger, line, offset)

    def _settle(self, whole: Rest) -> Iterator[Record]:
        """Learn from a record that was taken; yield the records in one that was refused."""
        record = whole.record
        if not self._refusals.take():
            if self._key is None:
                self._key = first_key(record.data)
            whole.behind.report(self._ledger, record.line, whole.base)
            return
        pieces = Pieces(self._ledger, self._cap, record.line, record.offset, self._refusals)
        pieces.known = len(record.data)
        yield from self._taken(pieces, record.data)
        rest = pieces.rest()
        if rest is None:
            whole.behind.report(self._ledger, record.line, whole.base)
        else:
            rest = whole._replace(record=rest.record, size=rest.size)
            yield from self._finish(rest, whole=record.whole)

    def _taken(self, pieces: Pieces, data: bytes) -> Iterator[Record]:
        for record in pieces.feed(data):
            yield record
            if self._key is None and not self._refusals.pending:
                self._key = first_key(record.data)

    def _finish(self, rest: Rest | None, *, whole: bool) -> Iterator[Record]:
        """Yield the records in what is left of a line, or count it, or wait for more."""
        if rest is None:
            return
        record = rest.record._replace(whole=whole)
        rest = rest._replace(record=record)
        if rest.size > self._cap:
            data, line, offset, *_ = record
            self._ledger.add("oversized_record", line, offset, data, dropped=rest.size)
        else:
            syntax = Syntax()
            if record.data[0] == _OPEN:
                syntax.feed(record.data)
            is_torn = record.data[0] == _OPEN and not syntax.failed and syntax.closed_at < 0
            if is_torn and syntax.in_string and whole and rest.tail is not None:
                self._wait_for(Joining(rest, syntax, self._cap))
                return
            if self._key is None and self._waits_for_key and _may_hold_more(record.data):
                self._wait_for(Keyless(rest, self._cap))
                return
            yield from self._recover(record, is_torn=is_torn)
        rest.behind.report(self._ledger, record.line, rest.base)

    def _recover(self, record: Record, *, is_torn: bool) -> Iterator[Record]:
        """Yield the records behind a torn one, or count it."""
        data, line, offset, whole, _ = record
        key = first_key(data) if self._key is None else self._key
        start = None if key is None else behind_torn(data, key)
        fragment = data[:start].rstrip(GAP)
        # Of a torn record that ends with an inner object, that object would be found. It is only one
        # behind a torn one if that cannot go on with it, or if it begins like it: if it is the retry.
        if start is None or (is_torn and not data.startswith(fragment, start)):
            reason = "malformed_record" if whole else "torn_tail"
            self._ledger.add(reason, line, offset, data, dropped=len(data))
            return
        self._ledger.add("torn_prefix", line, offset, fragment, dropped=len(fragment))
        between = Nuls()
        between.see(data, offset, len(fragment), start)
        between.report(self._ledger, line)
        pieces = Pieces(self._ledger, self._cap, line, offset + start, self._refusals)
        yield from self._taken(pieces, data[start:])
        rest = pieces.rest()
        if rest is not None:
            place = rest.record.offset
            self._ledger.add("malformed_record", line, place, rest.record.data, dropped=rest.size)

    def _wait_for(self, waiting: Joining | Keyless) -> None:
        self._waiting = waiting
        self._is_begun = True

    def _wait(self, waiting: Joining | Keyless, data: bytes) -> Iterator[Record]:
        """Go on waiting with a line that is whole."""
        line = b"".join([*waiting.partial, data])
        if waiting.take(line):
            yield from self._resolve(waiting)

    def _end_waiting(self) -> Iterator[Record]:
        """Wait no longer: the source has ended."""
        while self._waiting is not None:
            waiting = self._waiting
            if waiting.partial:
                waiting.take(b"".join(waiting.partial))
                if not isinstance(waiting, Joining) or not waiting.is_whole:
                    waiting.partial = [waiting.lines.pop()]
            yield from self._resolve(waiting, whole=False)

    def _resolve(self, waiting: Joining | Keyless, *, whole: bool = True) -> Iterator[Record]:
        """Yield what lines that have waited hold."""
        self._waiting = None
        self._is_begun = False
        record = waiting.first.record
        if isinstance(waiting, Keyless):
            self._key = waiting.key
            self._waits_for_key = False
            yield from self._finish(waiting.first, whole=record.whole)
        else:
            if waiting.is_whole:
                pieces = Pieces(self._ledger, self._cap, record.line, record.offset, self._refusals)
                yield from self._taken(pieces, waiting.joined())
                if pieces.n_records:
                    self._offset += sum(len(line) + 1 for line in waiting.lines)
                    self._line += len(waiting.lines)
                    yield from self._finish(pieces.rest(), whole=whole)
                    return
            data, line, offset, *_ = record
            self._ledger.add("malformed_record", line, offset, data, dropped=len(data))
        yield from self._complete(waiting.lines)
        for piece in waiting.partial:
            yield from self._begin(piece)


def _closes(head: bytes) -> bool:
    """Say whether a value ends in the first bytes of a line."""
    brackets = Brackets()
    at = brackets.advance(head, 0)
    while at >= 0 and brackets.depth and not brackets.broken:
        at = brackets.advance(head, at)
    return at >= 0 and not brackets.broken


def _may_hold_more(data: bytes) -> bool:
    """Say whether a whole record may stand behind a torn one."""
    return data.endswith(b"}") and data.find(b"{", 1) > 0
