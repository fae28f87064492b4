"""Follow the structure of JSON through blocks of bytes.

All scanners are resumable: each byte is looked at once, however the bytes are cut into blocks.
"""

import re

from tracestream.jsontext import MAX_DEPTH, PLAIN

BOM = b"\xef\xbb\xbf"
BLANK = b" \t\r\n"
"""White space as JSON knows it."""
GAP = BLANK + b"\0"
"""What may lie between records: a crash on a journaling file system leaves blocks of NUL."""

_CLOSES = {ord("}"): ord("{"), ord("]"): ord("[")}
_QUOTE, _BACKSLASH, _COMMA = ord('"'), ord("\\"), ord(",")
_OPENING = b"{["

# Like PLAIN, stopping at commas too: what separates the elements of an array.
_PLAIN_TO_COMMA = re.compile(
    rb'[^",\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^",\[\]{}]*+)*+', re.DOTALL
)
# Inside a string: everything but its end.
_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)

_OPEN_RUN = re.compile(rb"[\[{]*+")
_SPACE = re.compile(rb"[ \t\r\n]*+")
_GAP = re.compile(rb"[ \t\r\n\0]*+")
_NULS = bytes(4096)  # compared by the thousand: there may be gigabytes


def after_blanks(data: bytes, at: int) -> int:
    """Return the position of the first byte from a position on that is no white space."""
    found = _SPACE.match(data, at)
    assert found is not None, "the pattern matches nothing, too"
    return found.end()


def after_gap(data: bytes, at: int) -> int:
    """Return the position of the first byte from a position on that is neither white space nor NUL."""
    while True:
        while data.startswith(_NULS, at):
            at += len(_NULS)
        found = _GAP.match(data, at, at + len(_NULS))
        assert found is not None, "the pattern matches nothing, too"
        if found.end() < at + len(_NULS):
            return found.end()
        at = found.end()


def is_nul(data: bytes, begin: int = 0, end: int | None = None) -> bool:
    """Say whether there is nothing but NUL between two positions, and something."""
    end = len(data) if end is None else end
    while end - begin > len(_NULS):
        if not data.startswith(_NULS, begin):
            return False
        begin += len(_NULS)
    return begin < end and data.startswith(_NULS[: end - begin], begin)


class Brackets:
    """Counts brackets outside strings.

    Attributes:
        depth: Brackets open now.
        in_string: The bytes seen so far end inside a string.
        broken: A bracket was closed by one of the other kind, or closed nothing.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.in_string = False
        self.broken = False
        self._escaped = False
        self._kinds = bytearray()

    def advance(self, data: bytes, at: int, *, commas: bool = False) -> int:
        """Go on from a position to just behind the next step of structure.

        A step is: a bracket that opens the first level, a bracket that closes back to no level, with
        ``commas`` a comma outside all brackets, or a break of structure.

        Returns:
            The position behind the step, or -1 if the data ends first.
        """
        end = len(data)
        while True:
            if self.in_string:
                if self._escaped and at < end:
                    at += 1
                    self._escaped = False
                found = _STRING.match(data, at)
                assert found is not None, "the pattern matches nothing, too"
                at = found.end()
                if at == end:
                    return -1
                self._escaped = data[at] == _BACKSLASH
                at += 1
                if self._escaped:
                    return -1
                self.in_string = False
            pattern = _PLAIN_TO_COMMA if commas and not self.depth else PLAIN
            found = pattern.match(data, at)
            assert found is not None, "the pattern matches nothing, too"
            at = found.end()
            if at == end:
                return -1
            byte = data[at]
            at += 1
            if byte == _QUOTE:
                self.in_string = True
            elif byte == _COMMA:
                return at
            elif byte in _OPENING:
                self.depth += 1
                if self.depth <= MAX_DEPTH:
                    self._kinds.append(byte)
                if self.depth == 1:
                    return at
                if self.depth > MAX_DEPTH:  # a bomb: its brackets are counted in one go
                    run = _OPEN_RUN.match(data, at)
                    assert run is not None, "the pattern matches nothing, too"
                    self.depth += run.end() - at
                    at = run.end()
            else:
                if not self._close(byte):
                    self.broken = True
                    return at
                if not self.depth:
                    return at

    def _close(self, byte: int) -> bool:
        if not self.depth:
            return False
        if self.depth <= MAX_DEPTH and self._kinds.pop() != _CLOSES[byte]:
            return False
        self.depth -= 1
        return True


_TOKEN = re.compile(
    rb"""[ \t\r\n]*+(?:
        (?P<open>[\[{])|(?P<close>[\]}])|(?P<colon>:)|(?P<comma>,)|(?P<string>")|(?P<scalar>[-+.0-9A-Za-z]++)
    )""",
    re.VERBOSE,
)
_SCALAR = re.compile(
    rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|-?Infinity|NaN|true|false|null"
)

# What may come next, and which tokens are that.
_VALUE = frozenset({"open", "string", "scalar"})
_EXPECTED = {
    "value": _VALUE,
    "value or end": _VALUE | {"close"},
    "key": frozenset({"string"}),
    "key or end": frozenset({"string", "close"}),
    "colon": frozenset({"colon"}),
    "comma or end": frozenset({"comma", "close"}),
}
_LONGEST_SCALAR = 4400  # a number of more digits than Python reads is a syntax error here


class Syntax:
    """Checks that the bytes seen so far begin a JSON value, without building it.

    Attributes:
        closed_at: Position, counted over all data, just behind the value once it has ended.
        failed: What was seen cannot begin a JSON value.
        in_string: The bytes seen so far end inside a string.
    """

    def __init__(self) -> None:
        self.closed_at = -1
        self.failed = False
        self._seen = 0
        self._rest = b""
        self._kinds = bytearray()
        self._expected = "value"
        self.in_string = False

    def feed(self, data: bytes) -> None:
        """Look at the next bytes."""
        self._seen -= len(self._rest)
        data = self._rest + data
        at = 0
        while self.closed_at < 0 and not self.failed:
            if self.in_string:
                found = _STRING.match(data, at)
                assert found is not None, "the pattern matches nothing, too"
                at = found.end()
                if at >= len(data) or data[at] == _BACKSLASH:
                    break
                at += 1
                self.in_string = False
                self._after_string(at)
                continue
            found = _TOKEN.match(data, at)
            if found is None:
                at = after_blanks(data, at)
                self.failed = at < len(data)
                break
            token = found.lastgroup or ""
            if token == "scalar":
                at = found.start(token)
                if found.end() == len(data) and found.end() - at <= _LONGEST_SCALAR:
                    break  # it may go on
                self.failed = found.end() - at > _LONGEST_SCALAR or not _SCALAR.fullmatch(
                    found[token]
                )
            at = found.end()
            self._take(token, data[at - 1], at)
        self._seen += len(data)
        self._rest = data[at:]

    def _take(self, token: str, byte: int, at: int) -> None:
        if token not in _EXPECTED[self._expected]:
            self.failed = True
        elif token == "open":
            self._kinds.append(byte)
            self._expected = "key or end" if byte == ord("{") else "value or end"
        elif token == "close":
            if self._kinds.pop() != _CLOSES[byte]:
                self.failed = True
            self._value_ended(at)
        elif token == "string":
            self.in_string = True
        elif token == "scalar":
            self._value_ended(at)
        elif token == "colon":
            self._expected = "value"
        else:
            self._expected = "key" if self._kinds[-1] == ord("{") else "value"

    def _after_string(self, at: int) -> None:
        if self._expected in ("key", "key or end"):
            self._expected = "colon"
        else:
            self._value_ended(at)

    def _value_ended(self, at: int) -> None:
        self._expected = "comma or end"
        if not self._kinds:
            self.closed_at = self._seen + at
