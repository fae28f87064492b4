"""Lines that are held until what follows tells what the first of them is."""

from typing import Protocol

from tracestream.framings.recovery import Rest, first_key
from tracestream.jsontext import is_object
from tracestream.structure import GAP, Syntax

MAX_LINES = 1000
"""So many lines, the first one counted, are held to see whether a string closes."""
MAX_KEY_BYTES = 16 << 20
"""Most bytes held to see the first key of an intact record."""


class Waiting(Protocol):
    """A line that nothing can be said of yet, and those that follow it.

    Attributes:
        first: The line that waits, from where it is no record on.
        lines: Those that follow, as they are.
        partial: Pieces of the one that has not ended yet.
    """

    first: Rest
    lines: list[bytes]
    partial: list[bytes]

    def take(self, line: bytes) -> bool:
        """Take in the next line; say whether the waiting is over."""

    def hold(self, piece: bytes) -> bool:
        """Take in a piece of a line that has not ended; say whether that is too much to hold."""


class _Held:
    def __init__(self, first: Rest, max_bytes: int) -> None:
        self.first = first
        self.lines: list[bytes] = []
        self.partial: list[bytes] = []
        self._room = max_bytes - first.size - len(first.tail or b"")

    def hold(self, piece: bytes) -> bool:
        self.partial.append(piece)
        return 1 + sum(map(len, self.partial)) > self._room

    def _fits(self, line: bytes) -> bool:
        """Take in a line; say whether it can be held with the others."""
        self.lines.append(line)
        self.partial = []
        self._room -= 1 + len(line)
        return self._room >= 0

    @property
    def _is_full(self) -> bool:
        return self._room < 0 or 1 + len(self.lines) >= MAX_LINES


class Joining(_Held):
    """A string is open at the end of the first line: it may go on in the next ones.

    Attributes:
        is_whole: A value has ended, and every line before the last ended inside a string of it.
    """

    def __init__(self, first: Rest, syntax: Syntax, cap: int) -> None:
        super().__init__(first, cap)
        self.is_whole = False
        self._start = first.record.data + (first.tail or b"")
        self._syntax = syntax
        syntax.feed(first.tail or b"")

    def take(self, line: bytes) -> bool:
        """Take in the next line; say whether the string, or the value, has ended."""
        self._syntax.feed(b"\n")
        self._syntax.feed(line)
        self.is_whole = self._fits(line) and self._syntax.closed_at >= 0
        return self._is_full or self._syntax.failed or not self._syntax.in_string

    def joined(self) -> bytes:
        """Return the lines as one."""
        return b"\n".join([self._start, *self.lines])


class Keyless(_Held):
    """A whole record may stand behind a torn one; the first key of an intact one is to tell.

    Attributes:
        key: It, once it is known.
    """

    def __init__(self, first: Rest, cap: int) -> None:
        super().__init__(first, min(cap, MAX_KEY_BYTES))
        self.key: bytes | None = None

    def take(self, line: bytes) -> bool:
        """Take in the next line; say whether it is an intact record, or enough is held."""
        data = line.strip(GAP)
        if self._fits(line) and data.startswith(b"{") and is_object(data):
            self.key = first_key(data)
        return self._is_full or self.key is not None
