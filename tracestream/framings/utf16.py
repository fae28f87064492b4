"""UTF-16 with a byte-order mark, as a shell's redirection writes it, as a stream of UTF-8."""

import codecs
from bisect import bisect_right

from tracestream.quality import SourceLedger

MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
MARK_BYTES = 2
MAX_HELD_BYTES = 32 << 20
"""So much text beyond ASCII is held for places; farther back, in one giant record, they are near enough."""
_UTF32_LE = codecs.BOM_UTF32_LE
"""It begins like the mark of UTF-16."""


def is_undecided(head: bytes) -> bool:
    """Say whether the first bytes of a source do not tell yet whether it is UTF-16."""
    return len(head) < len(_UTF32_LE) and (
        any(mark.startswith(head) for mark in MARKS) or _UTF32_LE.startswith(head)
    )


def encoding_of(head: bytes) -> str | None:
    r"""Return which UTF-16 a source is, by its first bytes; None for anything else.

    Example:
        >>> encoding_of(b"\xff\xfe{\x00"), encoding_of(b'{"a"')
        ('utf-16-le', None)
    """
    return None if head.startswith(_UTF32_LE) else MARKS.get(head[:2])


def utf16_length(plain: bytes) -> int:
    """Return how many bytes a text in UTF-8 takes in UTF-16; half a character at its end takes none."""
    return len(plain.decode("utf-8", "ignore").encode("utf-16-le"))


class Transcoder:
    """Turns blocks of UTF-16 behind its mark into UTF-8, and knows where in the source each byte was.

    Half a surrogate pair and half a character at the end become U+FFFD.

    Args:
        encoding: `utf-16-le` or `utf-16-be`.
    """

    def __init__(self, encoding: str) -> None:
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        # Runs of text whose places may still be asked for: where each begins here, and there, and its
        # bytes; None if it is ASCII, or so long ago that its places are no longer told exactly.
        self._starts: list[int] = []
        self._sources: list[int] = []
        self._texts: list[bytes | None] = []
        self._n_held = 0
        self._end = 0
        self._source_end = MARK_BYTES
        self._is_linear = False

    def decode(self, block: bytes, *, last: bool = False) -> bytes:
        """Return the text of a block as UTF-8."""
        text = self._decoder.decode(block, last)
        plain = text.encode()
        is_ascii = text.isascii()
        if not (is_ascii and self._texts and self._texts[-1] is None and self._is_linear):
            self._starts.append(self._end)
            self._sources.append(self._source_end)
            self._texts.append(None if is_ascii else plain)
            self._n_held += 0 if is_ascii else len(plain)
        self._is_linear = is_ascii
        self._end += len(plain)
        self._source_end += len(text.encode("utf-16-le"))
        self._let_go()
        return plain

    def _let_go(self) -> None:
        at = 0
        while self._n_held > MAX_HELD_BYTES and at < len(self._texts):
            self._n_held -= len(self._texts[at] or b"")
            self._texts[at] = None
            at += 1

    def place(self, offset: int) -> int:
        """Return the offset in the source of a byte of the UTF-8; offsets asked for never go down."""
        at = max(bisect_right(self._starts, offset) - 1, 0)
        self._n_held -= sum(len(text) for text in self._texts[:at] if text is not None)
        del self._starts[:at], self._sources[:at], self._texts[:at]
        text, n_before = self._texts[0], max(offset - self._starts[0], 0)
        if text is not None:
            return self._sources[0] + utf16_length(text[:n_before])
        ends = self._sources[1] if len(self._sources) > 1 else self._source_end
        return min(self._sources[0] + 2 * n_before, ends)


class Transcoded(SourceLedger):
    """A source's ledger that is written to with offsets of the UTF-8.

    Args:
        ledger: The ledger with offsets of the source.
        transcoder: Knows one by the other.
    """

    def __init__(self, ledger: SourceLedger, transcoder: Transcoder) -> None:
        self._ledger = ledger
        self._transcoder = transcoder

    def add(
        self, reason: str, line: int | None, offset: int, detail: bytes | str, *, dropped: int = 0
    ) -> None:
        """Count one departure at a place of the UTF-8."""
        if reason == "bom":
            dropped = MARK_BYTES
        elif isinstance(detail, bytes) and len(detail) == dropped:
            dropped = utf16_length(detail)
        else:  # NUL bytes, or a giant
            dropped *= 2
        self._ledger.add(reason, line, self._transcoder.place(offset), detail, dropped=dropped)
