"""JSON as a document must hold it: UTF-8, finite numbers, whole characters, each key once.

Python's parser passes over all of that; here each departure is a fault that names its place.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from tracestream.evalport.faults import (
    DUPLICATE_KEY,
    NOT_FINITE,
    NOT_JSON,
    NOT_UTF8,
    TOO_DEEP,
    Fault,
    fault,
    pointer_to,
    quoted,
)
from tracestream.jsontext import MAX_DEPTH, has_surrogate, is_too_deep

_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_TOO_DEEP = f"it has more than {MAX_DEPTH} levels"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
"""How text in UTF-16 begins."""


class Read(NamedTuple):
    """A value, and what was wrong with its text; the value is None where there is none."""

    value: Any
    faults: list[Fault]


class _Pairs(NamedTuple):
    """An object with everything that was written in it."""

    items: list[tuple[str, Any]]


class _Oddities:
    """What the parser met on its way and does not give back."""

    def __init__(self) -> None:
        self.repeats = False
        self.is_finite = True
        self.decode = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_float=self._number,
            parse_constant=self._constant,
        ).decode

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            self.repeats = True
        return value

    def _number(self, digits: str) -> float:
        value = float(digits)
        if math.isinf(value):
            self.is_finite = False
        return value

    def _constant(self, name: str) -> float:
        self.is_finite = False
        return float(name)


def read_json(data: bytes, pointer: str = "", line: int | None = None) -> Read:
    r"""Return the value that bytes hold, and each departure from strict JSON.

    Args:
        data: One JSON value, white space around it allowed.
        pointer: Where it stands in its document, for the faults.
        line: The line it begins on, for the faults.

    Example:
        >>> value, faults = read_json(b'{"a": 1, "b": [NaN], "a": 2}')
        >>> value["a"], [(each.code, each.pointer) for each in faults]
        (2, [('DUPLICATE_KEY', '/a'), ('NOT_FINITE', '/b/0')])
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        what = f"byte {error.start} is no UTF-8"
        return Read(None, [fault(NOT_UTF8, pointer, what, line=line)])
    if is_too_deep(data):
        return Read(None, [fault(TOO_DEEP, pointer, _TOO_DEEP, line=line)])
    oddities = _Oddities()
    try:
        value = oddities.decode(text)
    except json.JSONDecodeError as error:
        where = None if line is None else line + error.lineno - 1
        what = f"it is no JSON: {error.msg}, at character {error.pos}"
        return Read(None, [fault(NOT_JSON, pointer, what, line=where)])
    except ValueError:  # an integer of more digits than Python reads
        return Read(None, [fault(NOT_JSON, pointer, "a number has too many digits", line=line)])
    faults = list(_repeats(text, pointer, line)) if oddities.repeats else []
    if not oddities.is_finite or _ESCAPED_SURROGATE.search(text):
        faults += check_values(value, pointer, line)
    return Read(value, faults)


def write_json(value: Any, *, indent: bool = False) -> bytes:
    r"""Return a value that was read as strict JSON in UTF-8.

    Example:
        >>> write_json({"id": "é", "n": 10**30})
        b'{"id":"\xc3\xa9","n":1000000000000000000000000000000}'
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None)
    except TypeError:  # an integer of more than 64 bits
        separators = None if indent else (",", ":")
        text = json.dumps(
            value, ensure_ascii=False, indent=2 if indent else None, separators=separators
        )
        return text.encode("utf-8")


def document_parts(
    head: dict[str, Any],
    array: str,
    elements: Iterable[bytes],
    tail: Callable[[], dict[str, Any]] = dict,
) -> Iterator[bytes]:
    r"""Yield a document with a long array in pieces: its head, an element a line, then its tail.

    Args:
        head: The fields before the array, at least one.
        array: Its name.
        elements: Its elements, as JSON.
        tail: Gives the fields behind it, once all elements are written.

    Example:
        >>> print(b"".join(document_parts({"id": "s"}, "test_cases", [b"{}", b"{}"])).decode(), end="")
        {
          "id": "s",
          "test_cases": [
        {},
        {}
          ]
        }
    """
    yield write_json(head, indent=True).removesuffix(b"\n}") + f',\n  "{array}": [\n'.encode()
    separator = b""
    for element in elements:
        yield separator + element
        separator = b",\n"
    fields = tail()
    rest = b",\n" + write_json(fields, indent=True)[2:] if fields else b"\n}"
    yield b"\n  ]" + rest + b"\n"


def check_values(value: Any, pointer: str = "", line: int | None = None) -> Iterator[Fault]:
    """Yield a fault for each number that is not finite, each half character, each key that is no text.

    Args:
        value: What was parsed, or made by a program.
        pointer: Where it stands in its document.
        line: The line it begins on.
    """
    for where, found in _walk(value, pointer):
        if isinstance(found, float):
            if not math.isfinite(found):
                yield fault(NOT_FINITE, where, f"{found} is no JSON number", line=line)
        elif isinstance(found, str):
            if has_surrogate(found):
                what = "there is half of a surrogate pair in it"
                yield fault(NOT_JSON, where, what, hint="cut text between characters.", line=line)
        elif found is _Key:
            yield fault(NOT_JSON, where, "the key is no text", hint="write it as text.", line=line)
        elif found is _Deep:
            yield fault(TOO_DEEP, where, _TOO_DEEP, line=line)
        elif not isinstance(found, bool | int | list | dict | None):
            what = f"{type(found).__name__} is no JSON value"
            yield fault(NOT_JSON, where, what, hint="write it as text or a list.", line=line)


def _walk(value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    """Yield every value with its pointer, in document order, and every key that is odd."""
    pending = [(pointer, value, 1)]
    while pending:
        where, found, level = pending.pop()
        if level > MAX_DEPTH and isinstance(found, dict | list):
            yield where, _Deep
            continue
        yield where, found
        if isinstance(found, dict):
            inner = [(pointer_to(key, base=where), item, level + 1) for key, item in found.items()]
            for key, (place, _, _) in zip(found, inner, strict=True):
                if not isinstance(key, str):
                    yield place, _Key
                elif has_surrogate(key):
                    yield place, key
            pending.extend(reversed(inner))
        elif isinstance(found, list):
            inner = [(pointer_to(at, base=where), item, level + 1) for at, item in enumerate(found)]
            pending.extend(reversed(inner))


class _Key:
    """Stands for a key that is no text."""


class _Deep:
    """Stands for what is too deep to look at."""


def _repeats(text: str, pointer: str, line: int | None) -> Iterator[Fault]:
    """Yield a fault for each key that stands twice in one object."""
    pending = [(pointer, json.loads(text, object_pairs_hook=_Pairs))]
    while pending:
        where, found = pending.pop()
        inner = []
        if isinstance(found, _Pairs):
            seen = set()
            for key, item in found.items:
                place = pointer_to(key, base=where)
                if key in seen:
                    what = f"the key {quoted(key)} stands twice in one object"
                    yield fault(DUPLICATE_KEY, place, what, line=line)
                seen.add(key)
                inner.append((place, item))
        elif isinstance(found, list):
            inner = [(pointer_to(at, base=where), item) for at, item in enumerate(found)]
        pending.extend(reversed(inner))
