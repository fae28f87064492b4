"""From recorded JSON bytes to the text Python's ``str()`` gives for the value.

The seed matches one agent's output against ``str(messages)`` of the next agent's parsed request.
The value of the bytes is, by definition, ``json.loads(text, strict=False)`` of their UTF-8 text,
invalid bytes replaced. msgspec reads most of them faster and to an equal value; what it declines
(NaN, Infinity, numbers beyond a float, lone surrogates, control characters, invalid UTF-8) the
standard library reads. Tests hold the two equal on all that msgspec accepts.
"""

from typing import Any

import msgspec

from tracestream.jsontext import parse

_decode = msgspec.json.Decoder().decode


def repr_text(messages: bytes | bytearray | memoryview) -> str:
    """Return ``str()`` of the value that JSON bytes hold; a top-level string is itself.

    Args:
        messages: One JSON value as recorded, white space around it allowed. Duplicate keys: the
            last wins, at the place of the first. Integers are exact, up to Python's 4,300 digits.

    Returns:
        The text; never null. Memory: the value, and the text.

    Raises:
        ValueError: The bytes are not one JSON value, or hold an integer of over 4,300 digits.
        RecursionError: The value is nested some hundreds of levels deep, or more.

    Example:
        >>> repr_text(b'[{"role": "user", "content": null}]')
        "[{'role': 'user', 'content': None}]"
        >>> repr_text(b'"as it is"')
        'as it is'
        >>> repr_text(b'[NaN, 1e400]')
        '[nan, inf]'
    """
    return str(_value(messages))


def _value(messages: bytes | bytearray | memoryview) -> Any:
    try:
        return _decode(messages)
    except msgspec.DecodeError:
        return parse(bytes(messages)).value
