"""What lies between records, and a record whose end has not come yet, at bounded memory."""

from collections.abc import Callable
from typing import NamedTuple

from tracestream.quality import SourceLedger
from tracestream.structure import BLANK, BOM, after_blanks

_HEAD_BYTES = 400  # of a record over the cap, for the ledger


class Content(NamedTuple):
    """What lies between the white space around a record.

    Attributes:
        data: The bytes; only the first ones if there are more than the cap.
        size: How many there are.
        begin: White space before them, bytes.
        span: All bytes, white space included.
    """

    data: bytes
    size: int
    begin: int
    span: int


class Pending:
    """Collects pieces of a record; white space around it is counted and not held.

    Args:
        cap: Most bytes of a record; of a larger one only its head is held.
        on_mark: Called with the place of each byte-order mark before the record, which is then no part
            of it; None: there are none.
    """

    def __init__(self, cap: int, on_mark: Callable[[int], None] | None = None) -> None:
        self._cap = cap
        self._on_mark = on_mark
        self._reset()

    def _reset(self) -> None:
        self._parts: list[bytes] = []
        self._n_held = 0
        self._limit = self._cap
        self._begin = -1
        self._end = 0
        self._carried = b""  # the end of the last piece, if a byte-order mark may begin there
        self.span = 0

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing but white space."""
        return self._begin < 0

    def add(self, data: bytes) -> None:
        """Take in the next piece."""
        at = 0
        if self._begin < 0:
            self.span -= len(self._carried)
            data, self._carried = self._carried + data, b""
            at = self._behind_gap(data)
            data = data[: len(data) - len(self._carried)]
        n_content = len(data.rstrip(BLANK))
        if n_content > at:
            self._end = self.span + n_content
        self.span += len(data) + len(self._carried)
        room = self._limit - self._n_held
        if at < len(data) and room > 0:
            part = data[at : at + room]
            self._parts.append(part)
            self._n_held += len(part)
        if self._end - self._begin > self._cap:
            self.hold_head()

    def _behind_gap(self, data: bytes) -> int:
        """Return where the record begins in a piece: its length, or what is carried, if it does not."""
        at = after_blanks(data, 0)
        if self._on_mark is not None:
            while data.startswith(BOM, at):
                self._on_mark(self.span + at)
                at = after_blanks(data, at + len(BOM))
            if BOM.startswith(data[at : at + len(BOM)]):
                self._carried = data[at:]
                return at
        if at < len(data):
            self._begin = self.span + at
        return at

    def hold_head(self) -> None:
        """Hold no more than the head from now on: the rest is only counted."""
        self._limit = min(self._cap, _HEAD_BYTES)
        head = b""
        for part in self._parts:
            head += part[: self._limit - len(head)]
        self._parts = [head]
        self._n_held = len(head)

    def take(self) -> Content:
        """Return the record, and be empty."""
        if self._carried:  # it was no mark
            self._begin, self._end = self.span - len(self._carried), self.span
            self._parts = [self._carried]
        size = self._end - self._begin if self._begin >= 0 else 0
        content = Content(b"".join(self._parts)[:size], size, max(self._begin, 0), self.span)
        self._reset()
        return content


class Gaps:
    """Passes over white space and byte-order marks between records, however blocks are cut.

    Attributes:
        carried: The end of the last block, if a byte-order mark may begin there.
    """

    def __init__(self, ledger: SourceLedger) -> None:
        self._ledger = ledger
        self.carried = b""

    def skip(self, block: bytes, at: int, line: int, offset: int) -> int:
        """Return the position behind the gap; the length of the block if nothing else is there.

        Args:
            block: The block.
            at: Where the gap may begin.
            line: The number of the next record.
            offset: Offset of the block.
        """
        while (at := after_blanks(block, at)) < len(block):
            begins = block[at : at + len(BOM)]
            if begins == BOM:
                self._ledger.add("bom", line, offset + at, "U+FEFF", dropped=len(BOM))
                at += len(BOM)
            elif BOM.startswith(begins):
                self.carried = begins
                return len(block)
            else:
                return at
        return at
