"""Tell from the first record how a source is framed."""

from tracestream.framings.pending import Nuls
from tracestream.quality import SourceLedger
from tracestream.structure import BOM, Syntax, after_gap


class Choice:
    """Holds the first blocks until they tell how the source is framed.

    Args:
        ledger: Where byte-order marks are counted.
        max_held_bytes: A first value over this size makes lines of the source.

    Attributes:
        offset: Offset of the first byte held: byte-order marks and gaps before it are not.
        line: The line it is on.
    """

    def __init__(self, ledger: SourceLedger, max_held_bytes: int) -> None:
        self.offset = 0
        self.line = 1
        self._ledger = ledger
        self._nuls = Nuls()
        self._max_held = max_held_bytes
        self._held: list[bytes] = []
        self._size = 0
        self._head = b""
        self._syntax: Syntax | None = None
        self._line_ended = False

    def feed(self, block: bytes) -> str | None:
        """Return `lines`, `array` or `document` as soon as it is known."""
        if self._syntax is None:
            block = self._behind_marks(self._head + block)
            self._head = b""
            if BOM.startswith(block):
                self._head = block  # nothing, or what may become a byte-order mark
                return None
        self._held.append(block)
        self._size += len(block)
        if self._syntax is None:
            self._nuls.report(self._ledger, self.line)
            if block[:1] != b"{":
                return "array" if block[:1] == b"[" else "lines"
            self._syntax = Syntax()
        return self._follow(self._syntax, block)

    def _behind_marks(self, block: bytes) -> bytes:
        """Return what follows white space, NUL bytes and byte-order marks at the beginning of the source."""
        at = 0
        while True:
            begin, at = at, after_gap(block, at)
            self._pass(block, begin, at)
            if not block.startswith(BOM, at):
                self.offset += at
                return block[at:]
            self._nuls.report(self._ledger, self.line)
            self._ledger.add("bom", self.line, self.offset + at, "U+FEFF", dropped=len(BOM))
            at += len(BOM)

    def _pass(self, block: bytes, begin: int, end: int) -> None:
        """Count the lines of a gap, and the NUL bytes of each."""
        while (newline := block.find(b"\n", begin, end)) >= 0:
            self._nuls.see(block, self.offset, begin, newline)
            self._nuls.report(self._ledger, self.line)
            self.line += 1
            begin = newline + 1
        self._nuls.see(block, self.offset, begin, end)

    def _follow(self, syntax: Syntax, block: bytes) -> str | None:
        if not self._line_ended:
            end = block.find(b"\n")
            syntax.feed(block if end < 0 else block[:end])
            if syntax.failed or syntax.closed_at >= 0 or (end >= 0 and syntax.in_string):
                return "lines"
            self._line_ended = end >= 0
            block = block[end:] if end >= 0 else b""
        syntax.feed(block)
        size = self._size if syntax.closed_at < 0 else syntax.closed_at
        if syntax.failed or size > self._max_held:
            return "lines"
        return "document" if syntax.closed_at >= 0 else None

    def take(self) -> list[bytes]:
        """Return the blocks held."""
        self._nuls.report(self._ledger, self.line)
        held, self._held = self._held, []
        if self._head:
            held.append(self._head)
        return held
