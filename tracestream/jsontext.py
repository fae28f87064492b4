"""Read JSON that stricter parsers refuse, as Python's own parser reads it, and say what was odd.

msgspec reads what is clean. What it refuses and Python reads (NaN, Infinity, numbers beyond a float,
lone surrogates, control characters, invalid UTF-8) comes here, one record at a time.
"""

import json
import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

MAX_DEPTH = 128
"""Levels of JSON; a record with more is skipped."""
MAX_DIGITS = 4300
"""Digits of an integer; Python reads no longer ones."""

_CLEAR_LEVELS = 8  # how far down it is worth looking without following every bracket
_split_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_split_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode
_SPACE_BYTE = ord(" ")
_PROBE_BYTES = 64  # of a large value, to find where it begins
PLAIN = re.compile(rb'[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+)*+', re.DOTALL)
"""Plain bytes and whole strings, up to a bracket or a string that does not end."""

_DIGIT = re.compile(rb"[0-9]")
_DIGITS = re.compile(rb"[0-9]*")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_NEWLINE = re.compile(r"\r?\n")
_NO_NEWLINE = re.compile(r"[\x00-\x09\x0b-\x1f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = rb"[ \t\n\r]*"
_FALSY = re.compile(rb'%b(?:\[%b\]|\{%b\}|""|null|false|\Z)' % (_SPACE, _SPACE, _SPACE))
_NUMBER = re.compile(rb"%b[-0-9]" % _SPACE)


class Parsed(NamedTuple):
    """A JSON value, and what was odd about its text: reasons of the quality ledger, class *note*."""

    value: Any
    oddities: tuple[str, ...]


def parse(data: bytes) -> Parsed:
    """Return the value that bytes hold: text first, invalid UTF-8 replaced, then Python's parser.

    Nesting must be checked before, with `is_too_deep`. Never ``json.loads(bytes)``, which guesses encodings.

    Raises:
        ValueError: The bytes are not one JSON value, or hold an integer of over 4,300 digits.

    Example:
        >>> parse(b'[NaN, 1e400]')
        Parsed(value=[nan, inf], oddities=('non_finite_number',))
    """
    oddities = []
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        oddities.append("invalid_utf8")
    n_infinite = 0

    def constant(name: str) -> float:
        nonlocal n_infinite
        n_infinite += 1
        return float(name)

    def number(digits: str) -> float:
        value = float(digits)
        return value if math.isfinite(value) else constant(digits)

    try:
        value = json.loads(text, parse_constant=constant, parse_float=number)
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Invalid control character"):
            raise
        n_infinite = 0
        value = json.loads(text, strict=False, parse_constant=constant, parse_float=number)
        oddities += _controls(text)
    if _SURROGATE_ESCAPE.search(text) and has_surrogate(json.dumps(value, ensure_ascii=False)):
        oddities.append("lone_surrogate")
    if n_infinite:
        oddities.append("non_finite_number")
    return Parsed(value, tuple(oddities))


def repeated_key(data: bytes, inner: str = "", *, large: Iterable[Any] = ()) -> str | None:
    """Return a key that stands twice in an object, or in the object that one of its fields holds.

    Costs next to nothing on clean JSON in the usual styles (compact, or one space behind `,` and `:`):
    what is left of an object written anew is compared in length with what was there.

    Args:
        data: One JSON object.
        inner: The field to look into, too.
        large: Values in it that need not be looked at, as `msgspec.Raw`.

    Example:
        >>> repeated_key(b'{"a": 1, "data": {"b": 2, "b": 3}}', "data"), repeated_key(b'{"a": 1}')
        ('b', None)
    """
    small = data
    for value in large:
        known = bytes(value)
        at = small.find(known[:_PROBE_BYTES])
        if small.startswith(known, at):
            small = b'%b""%b' % (small[:at], small[at + len(known) :])
    try:
        fields = _split_object(small)
        if _is_as_written(small, fields):
            part = fields.get(inner)
            if part is None:
                return None
            text = bytes(part)
            if text[:1] != b"{" or _is_as_written(text, _split_object(text)):
                return None
    except (msgspec.DecodeError, RecursionError):
        pass
    return _repeated(data.decode("utf-8", "replace"), inner)


def _is_as_written(data: bytes, fields: dict[str, msgspec.Raw]) -> bool:
    """Say whether an object has the length that its fields have when they are written in its style."""
    n_spaces = 2 * len(fields) - 1 if data[data.find(b":") + 1] == _SPACE_BYTE else 0
    if len(data) - len(_encode(fields)) == n_spaces:
        return True
    if not data[-2:-1].isspace():
        return False
    plain = msgspec.json.format(data, indent=-1)
    return len(plain) == len(_encode(_split_object(plain)))


class _Pairs(list[tuple[str, Any]]):
    """An object with every key it was written with."""


def _repeated(text: str, inner: str) -> str | None:
    pairs = json.loads(text, strict=False, object_pairs_hook=_Pairs)
    inside = dict(pairs).get(inner)
    for level in (pairs, inside):
        if isinstance(level, _Pairs):
            seen: set[str] = set()
            for key, _ in level:
                if key in seen:
                    return key
                seen.add(key)
    return None


def _controls(text: str) -> list[str]:
    """Return which raw control characters are inside strings: newlines, others, or both."""
    return [
        reason
        for reason, others in (("joined_lines", _NO_NEWLINE), ("control_character", _NEWLINE))
        if not _is_strict(others.sub(" ", text))
    ]


def _is_strict(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


def is_object(data: bytes) -> bool:
    """Say whether bytes are one JSON object as Python reads it, of at most MAX_DEPTH levels.

    Example:
        >>> is_object(b'{"a": NaN}'), is_object(b"[]"), is_object(b'{"a": 1}{')
        (True, False, False)
    """
    if is_too_deep(data):
        return False
    try:
        return isinstance(parse(data).value, dict)
    except ValueError:
        return False


def is_too_deep(data: bytes) -> bool:
    """Say whether a record has more than MAX_DEPTH brackets open at once, outside strings.

    Parsers' own limits shrink with the caller's stack, so this constant is ours. Only a record with more
    than MAX_DEPTH opening brackets costs more than counting them.

    Example:
        >>> is_too_deep(b"[" * 129 + b"]" * 129), is_too_deep(b'["' + b"[" * 129 + b'"]')
        (True, False)
    """
    n_open = data.count(b"[") + data.count(b"{")
    return not _is_shallow(data, n_open, MAX_DEPTH) and _follow(data)


def _is_shallow(data: bytes | msgspec.Raw, n_open: int, levels: int) -> bool:
    """Say whether a value clearly has at most so many levels.

    A value cannot be deeper than it has opening brackets. Of an array of objects, no element can have
    more than all have less one for each of the others: so a long conversation needs no closer look.

    Args:
        data: Clean JSON.
        n_open: Its opening brackets, or more.
        levels: The levels it may have.
    """
    if n_open <= levels or len(memoryview(data)) <= levels:
        return True
    if levels <= MAX_DEPTH - _CLEAR_LEVELS:
        return False
    try:
        if memoryview(data)[0] == ord("["):
            parts = _split_array(data)
            n_others = sum(memoryview(part)[0] in b"{[" for part in parts) - 1
            return all(
                _is_shallow(part, n_open - 1 - max(n_others, 0), levels - 1) for part in parts
            )
        fields = _split_object(data)
    except (msgspec.DecodeError, RecursionError):
        return False
    n_seen = sum(len(key) + len(memoryview(part)) for key, part in fields.items())
    # Of a key that came twice only the last value is there; the other might have been deep.
    if len(memoryview(data)) - n_seen > levels:
        return False
    return all(_is_shallow(part, n_open - 1, levels - 1) for part in fields.values())


def _follow(data: bytes) -> bool:
    """Say the same by following every bracket outside strings, up to the first that is too deep."""
    depth = at = 0
    while True:
        found = PLAIN.match(data, at)
        assert found is not None, "the pattern matches nothing, too"
        at = found.end() + 1
        if at > len(data) or data[at - 1] == ord('"'):  # a string without an end
            return False
        depth += 1 if data[at - 1] in b"[{" else -1
        if depth > MAX_DEPTH:
            return True


def may_hold_long_integer(data: bytes) -> bool:
    """Say whether there are more digits in a row than Python reads as an integer; text counts, too.

    Looks at one byte in MAX_DIGITS, so the cost does not show.

    Example:
        >>> may_hold_long_integer(b"[" + b"7" * 4301 + b"]"), may_hold_long_integer(b"[7, 8]")
        (True, False)
    """
    for found in _DIGIT.finditer(data[:: MAX_DIGITS + 1]):
        at = found.start() * (MAX_DIGITS + 1)
        before = data[max(0, at - MAX_DIGITS) : at]
        n_before = len(before) - len(before.rstrip(b"0123456789"))
        digits = _DIGITS.match(data, at, at + MAX_DIGITS + 1)
        if digits is not None and n_before + len(digits[0]) > MAX_DIGITS:
            return True
    return False


def has_surrogate(text: str) -> bool:
    """Say whether a text holds half a surrogate pair, which no UTF-8 can hold."""
    return _SURROGATE.search(text) is not None


def writable(text: str) -> str:
    r"""Return a text with U+FFFD for each lone surrogate.

    Example:
        >>> writable("cut \ud83d here")
        'cut � here'
    """
    return _SURROGATE.sub("\ufffd", text)


def is_truthy(data: bytes | bytearray | memoryview) -> bool:
    """Return whether the value that JSON bytes hold counts as true in Python.

    Only the first bytes of a list, object or string are looked at, so the cost does not grow with
    the value; a number is read whole, as ``1e-400`` is zero.

    Args:
        data: One JSON value, white space around it allowed. Nothing, or white space alone, holds no
            value and is false. That the rest of the bytes are JSON is not checked.

    Returns:
        False for ``[]``, ``{}``, ``""``, ``null``, ``false`` and every zero, else true.

    Raises:
        ValueError: The bytes begin as a number and are none.

    Example:
        >>> [is_truthy(text) for text in (b"[ ]", b" -0.0", b"null", b'"0"', b"[[]]")]
        [False, False, False, True, True]
    """
    if _NUMBER.match(data):
        return float(bytes(data)) != 0.0
    return _FALSY.match(data) is None
