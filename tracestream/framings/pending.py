"""What lies between records, and a record whose end has not come yet, at bounded memory."""

from typing import NamedTuple

from tracestream.quality import SourceLedger
from tracestream.structure import BOM, GAP, after_gap, is_nul

_HEAD_BYTES = 400  # of a record over the cap, for the ledger


class Nuls:
    """Counts a run of NUL bytes, perhaps with white space among them.

    Attributes:
        at: Place of the first.
        end: Place behind the last.
        count: How many there are.
    """

    def __init__(self) -> None:
        self.at = 0
        self.end = 0
        self.count = 0

    def see(self, gap: bytes, place: int, begin: int = 0, end: int | None = None) -> None:
        """Count those between two positions of data that begins at a place."""
        end = len(gap) if end is None else end
        count = end - begin if is_nul(gap, begin, end) else gap.count(b"\0", begin, end)
        if count:
            self.end = place + gap.rfind(b"\0", begin, end) + 1
            if not self.count:
                self.at = place + gap.find(b"\0", begin, end)
        self.count += count

    def report(self, ledger: SourceLedger, line: int | None, offset: int = 0) -> None:
        """Make an entry of them, if there are any; then there are none."""
        if self.count:
            detail, dropped = f"{self.count:,} NUL bytes", self.end - self.at
            ledger.add("nul_bytes", line, offset + self.at, detail, dropped=dropped)
            self.count = 0


class Content(NamedTuple):
    """What lies between the gaps around a record.

    Attributes:
        data: The bytes; only the first ones if there are more than the cap.
        size: How many there are.
        begin: Bytes before them.
        span: All bytes, those around them included.
        tail: The white space behind them; None if there are NUL bytes, or too much to hold.
        before: NUL bytes before them.
        behind: NUL bytes behind them.
    """

    data: bytes
    size: int
    begin: int
    span: int
    tail: bytes | None
    before: Nuls
    behind: Nuls


class Taken(NamedTuple):
    """A record that is not whole yet, as it is handed on.

    Attributes:
        begin: Bytes before it.
        nuls: The NUL bytes among them.
        parts: Its bytes and what is behind them; NUL bytes as their number.
    """

    begin: int
    nuls: Nuls
    parts: list[bytes | int]


class Marks:
    """Makes entries of what is dropped before a record: byte-order marks, and NUL bytes before them.

    Args:
        ledger: Where they are counted.
        line: The line.
        offset: Offset of what places are counted from.
    """

    def __init__(self, ledger: SourceLedger, line: int, offset: int) -> None:
        self._ledger = ledger
        self.line = line
        self.offset = offset

    def see(self, place: int, before: Nuls) -> None:
        """Count a mark at a place, and the NUL bytes before it."""
        before.report(self._ledger, self.line, self.offset)
        self._ledger.add("bom", self.line, self.offset + place, "U+FEFF", dropped=len(BOM))


class Pending:
    """Collects pieces of a record; what is in the gaps around it is counted and not held.

    Args:
        cap: Most bytes of a record; of a larger one only its head is held.
        marks: Takes the byte-order marks before the record, which are then no part of it; None: there
            are none.
    """

    def __init__(self, cap: int, marks: Marks | None = None) -> None:
        self._cap = cap
        self._marks = marks
        self._reset()

    def _reset(self) -> None:
        self._parts: list[bytes] = []
        self._n_held = 0
        self._limit = self._cap
        self._begin = -1
        self._end = 0
        self._carried = b""  # the end of the last piece, if a byte-order mark may begin there
        self._before, self._behind = Nuls(), Nuls()
        self._gap: list[bytes | int] = []  # behind the record so far; of NUL bytes how many
        self.span = 0

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing but white space and NUL bytes."""
        return self._begin < 0

    @property
    def size(self) -> int:
        """Bytes of the record so far."""
        return self._end - self._begin if self._begin >= 0 else 0

    @property
    def extent(self) -> int:
        """Bytes from the beginning of the record on, what is behind it included; 0 if there is none."""
        return self.span - self._begin if self._begin >= 0 else 0

    def peek(self, n_bytes: int) -> bytes:
        """Return the first bytes of the record so far."""
        head = b""
        for part in self._parts:
            head += part[: n_bytes - len(head)]
        return head

    def add(self, data: bytes) -> None:
        """Take in the next piece."""
        at = 0
        if self._begin < 0:
            self.span -= len(self._carried)
            data, self._carried = self._carried + data, b""
            at = self._behind_gap(data)
            data = data[: len(data) - len(self._carried)]
        end = at if is_nul(data, at) else max(at, len(data.rstrip(GAP)))
        if end > at:
            self._hold_gap()
            self._hold(data[at:end])
            self._end = self.span + end
        if self._begin >= 0 and end < len(data):
            self._add_gap(data[end:], self.span + end)
        self.span += len(data) + len(self._carried)
        if self.size > self._cap:
            self.hold_head()

    def _behind_gap(self, data: bytes) -> int:
        """Return where the record begins in a piece: its length, or what is carried, if it does not."""
        at = self._skip_gap(data, 0)
        if self._marks is not None:
            while data.startswith(BOM, at):
                self._marks.see(self.span + at, self._before)
                at = self._skip_gap(data, at + len(BOM))
            if BOM.startswith(data[at : at + len(BOM)]):
                self._carried = data[at:]
                return at
        if at < len(data):
            self._begin = self.span + at
        return at

    def _skip_gap(self, data: bytes, begin: int) -> int:
        at = after_gap(data, begin)
        if at > begin:
            self._before.see(data, self.span, begin, at)
        return at

    def _add_gap(self, gap: bytes, place: int) -> None:
        self._behind.see(gap, place)
        gap = gap[
            : max(self._cap - (place - self._begin), 0)
        ]  # else, it is over the cap if it goes on
        if gap:
            self._gap.append(len(gap) if is_nul(gap) else gap)

    def _hold_gap(self) -> None:
        for part in self._gap:
            self._hold(bytes(part) if isinstance(part, int) else part)
        self._gap = []
        self._behind = Nuls()

    def _hold(self, part: bytes) -> None:
        room = self._limit - self._n_held
        if room > 0:
            self._parts.append(part[:room])
            self._n_held += min(len(part), room)

    def hold_head(self) -> None:
        """Hold no more than the head from now on: the rest is only counted."""
        self._limit = min(self._cap, _HEAD_BYTES)
        head = b""
        for part in self._parts:
            head += part[: self._limit - len(head)]
        self._parts = [head]
        self._n_held = len(head)

    def take_all(self) -> "Taken":
        """Return what is held of the record and behind it, piece by piece, and be empty."""
        taken = Taken(self._begin, self._before, [*self._parts, *self._gap])
        self._reset()
        return taken

    def take(self) -> Content:
        """Return the record, and be empty."""
        if self._carried:  # it was no mark
            self._begin, self._end = self.span - len(self._carried), self.span
            self._parts = [self._carried]
        tail: bytes | None = None
        if not self._behind.count and self.extent <= self._cap:
            tail = b"".join(part for part in self._gap if isinstance(part, bytes))
        content = Content(
            b"".join(self._parts),
            self.size,
            max(self._begin, 0),
            self.span,
            tail,
            self._before,
            self._behind,
        )
        self._reset()
        return content


class Gaps:
    """Passes over white space, NUL bytes and byte-order marks between records, however blocks are cut.

    Attributes:
        carried: The end of the last block, if a byte-order mark may begin there.
        has_newline: There was one in the gap passed over last, or so far.
    """

    def __init__(self, ledger: SourceLedger) -> None:
        self._ledger = ledger
        self._nuls = Nuls()
        self.carried = b""
        self.has_newline = False

    def skip(self, block: bytes, at: int, line: int, offset: int) -> int:
        """Return the position behind the gap; the length of the block if nothing else is there.

        Args:
            block: The block.
            at: Where the gap may begin.
            line: The number of the next record.
            offset: Offset of the block.
        """
        while True:
            begin, at = at, after_gap(block, at)
            if at > begin:
                self._nuls.see(block, offset, begin, at)
                self.has_newline |= block.find(b"\n", begin, at) >= 0
            if at == len(block):
                return at
            begins = block[at : at + len(BOM)]
            if begins == BOM:
                self._nuls.report(self._ledger, line)
                self._ledger.add("bom", line, offset + at, "U+FEFF", dropped=len(BOM))
                at += len(BOM)
            elif BOM.startswith(begins):
                self.carried = begins
                return len(block)
            else:
                self.end(line)
                return at

    def end(self, line: int) -> None:
        """Make an entry of the NUL bytes of the gap: it has ended."""
        self._nuls.report(self._ledger, line)
