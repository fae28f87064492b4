"""Cut one large JSON object into its members, and the arrays in it that are named into their elements.

A document of gigabytes is often one object with one long array. Nothing of it is held but one member
or one element, so what is in the array can be of any number.
"""

import json
import re
from collections.abc import Callable, Collection, Generator, Iterator
from typing import NamedTuple

from tracestream.errors import FrameError
from tracestream.structure import BLANK, BOM, Brackets, after_blanks

MAX_PART_BYTES = 64 << 20

_KEY = re.compile(rb'[ \t\r\n]*("(?:[^"\\]|\\.)*")[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)
_MAX_KEY_BYTES = 4096  # of a key whose array is cut into elements, white space included
_HINT = "Hint: a validator of JSON shows what is wrong there; was the file written to its end?"


class Part(NamedTuple):
    """One member of the object, or one element of a named array.

    Attributes:
        key: The member's key; None if it has none, and so is no JSON.
        at: The element's index from 0; None: a member. A named array is first given as the member
            `[]`, then element by element.
        data: The bytes of the value, not yet parsed; empty if the part is over the cap.
        size_bytes: How many bytes the part has.
        line: 1-based physical line where the part begins.
        offset: Byte offset where the part begins.
    """

    key: str | None
    at: int | None
    data: bytes
    size_bytes: int
    line: int
    offset: int


def split_object(
    blocks: Iterator[bytes], arrays: Collection[str], *, max_part_bytes: int = MAX_PART_BYTES
) -> Iterator[Part]:
    """Yield the parts of the one object that a stream holds, in their order.

    Values are not parsed: that each is JSON, and that no key comes twice, is for the caller to see.

    Args:
        blocks: The bytes, cut anywhere.
        arrays: Keys of the object whose value, if it is an array, is given element by element.
        max_part_bytes: Of a part over this size nothing is held but its size.

    Raises:
        FrameError: There is no object, it is cut off or loses its structure, or something follows it.
            All parts before that place have been given.

    Example:
        >>> blocks = iter([b'{"id": 7, "resu', b'lts": [{"a": 1}, 2]}'])
        >>> [(part.key, part.at, part.data) for part in split_object(blocks, ["results"])]
        [('id', None, b'7'), ('results', None, b'[]'), ('results', 0, b'{"a": 1}'), ('results', 1, b'2')]
    """
    cursor = _Cursor(blocks, max_part_bytes)
    cursor.skip_mark()
    if cursor.next_byte() is None:
        raise cursor.error("there is nothing in it")
    if cursor.next_byte() != b"{":
        raise cursor.error("it is no JSON object")
    cursor.step()
    if cursor.next_byte() == b"}":
        cursor.step()
    else:
        while (yield from _member(cursor, arrays)) == b",":
            cursor.next_byte()
    if cursor.next_byte() is not None:
        raise cursor.error("something follows the end of the object")


def _member(cursor: "_Cursor", arrays: Collection[str]) -> Generator[Part, None, bytes]:
    """Yield a member, or the elements of a named array; return the byte that ends it."""
    line, offset = cursor.line, cursor.offset
    key: str | None = None

    def is_array(head: bytes) -> bool:
        nonlocal key
        found = _KEY.fullmatch(head)
        key = None if found is None else _text(found[1])
        return key in arrays

    whole, end = cursor.take(b"}", stop=is_array)
    if end != b"[":
        found = _KEY.match(whole.data)
        if found is None:
            yield Part(None, None, b"", whole.size_bytes, line, offset)
        else:
            data = whole.data[found.end() :] if whole.is_held else b""
            yield Part(_text(found[1]), None, data, whole.size_bytes, line, offset)
        return end
    yield Part(key, None, b"[]", 2, line, offset)
    yield from _elements(cursor, key)
    end = cursor.next_byte() or b""
    if end not in (b",", b"}"):
        raise cursor.error("no comma and no bracket follows the array" if end else "it is cut off")
    cursor.step()
    return end


def _elements(cursor: "_Cursor", key: str | None) -> Iterator[Part]:
    if cursor.next_byte() == b"]":
        cursor.step()
        return
    index, end = 0, b","
    while end == b",":
        cursor.next_byte()
        line, offset = cursor.line, cursor.offset
        whole, end = cursor.take(b"]")
        data = whole.data if whole.is_held else b""
        yield Part(key, index, data, whole.size_bytes, line, offset)
        index += 1


def _text(literal: bytes) -> str | None:
    try:
        text = json.loads(literal.decode("utf-8"))
    except ValueError:
        return None
    return str(text)


class _Whole(NamedTuple):
    """A part as it stands there; only its head, if it is over the cap."""

    data: bytes
    size_bytes: int
    is_held: bool = True


class _Cursor:
    """A place in the stream."""

    def __init__(self, blocks: Iterator[bytes], cap: int) -> None:
        self._blocks = blocks
        self._cap = cap
        self._block = b""
        self._at = 0
        self.offset = 0
        self.line = 1

    def error(self, message: str) -> FrameError:
        """Return the error of this place."""
        return FrameError(f"{message}\n{_HINT}", line=self.line, offset=self.offset)

    def next_byte(self) -> bytes | None:
        """Return the next byte that is no white space, and go there; None at the end."""
        while True:
            self._pass(after_blanks(self._block, self._at))
            if self._at < len(self._block):
                return self._block[self._at : self._at + 1]
            if not self._load():
                return None

    def skip_mark(self) -> None:
        """Go behind a byte-order mark."""
        for block in self._blocks:
            self._block += block
            if len(self._block) >= len(BOM) or not BOM.startswith(self._block):
                break
        if self._block.startswith(BOM):
            self._pass(len(BOM))

    def step(self) -> None:
        """Go on by the byte that was seen."""
        self._pass(self._at + 1)

    def take(
        self, closing: bytes, *, stop: Callable[[bytes], bool] | None = None
    ) -> tuple[_Whole, bytes]:
        """Take what comes before a comma, or before a closing bracket of the enclosing value.

        Args:
            closing: The bracket that closes the enclosing value.
            stop: Asked at the first opening bracket `[`, with what comes before it, whether to stop.

        Returns:
            What was taken, and the byte behind it, which is passed, too.
        """
        brackets = Brackets()
        parts: list[bytes] = []
        size = 0
        while True:
            begin = self._at
            at = brackets.advance(self._block, begin, commas=True)
            end = self._block[at - 1 : at] if at > 0 else b""
            is_end = at > 0 and not brackets.depth and (brackets.broken or end == b",")
            taken = self._block[begin : at - 1 if is_end else at if at > 0 else len(self._block)]
            size += len(taken)
            if size > self._cap:  # enough of it to know its key by
                parts, taken = [b"".join(parts)[:_MAX_KEY_BYTES]], taken[:_MAX_KEY_BYTES]
            parts.append(taken)
            self._pass(at if at > 0 else len(self._block))
            if at < 0:
                if not self._load():
                    raise self.error("it is cut off")
            elif brackets.broken and (end != closing or brackets.depth):
                raise self.error("a bracket closes what it did not open")
            elif is_end:
                return _Whole(b"".join(parts).strip(BLANK), size, size <= self._cap), end
            elif stop is not None and brackets.depth == 1:
                if end == b"[" and size <= _MAX_KEY_BYTES and stop(b"".join(parts)[:-1]):
                    return _Whole(b"", 0), end
                stop = None

    def _pass(self, at: int) -> None:
        """Go on to a position of the block."""
        self.line += self._block.count(b"\n", self._at, at)
        self.offset += at - self._at
        self._at = at

    def _load(self) -> bool:
        for block in self._blocks:
            if block:
                self._block, self._at = block, 0
                return True
        return False
