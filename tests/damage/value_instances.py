"""Damage inside a record: characters, numbers, keys, types, nesting, size, and objects that are no event."""

from tests.damage.instances import Instance, bad, foreign, good, instance, odd, record

LF = b"\n"
MAX_DEPTH = 128


def raw(text: str | bytes, tool: str = "t1") -> bytes:
    """Return an event with more text behind its tool."""
    data = text.encode() if isinstance(text, str) else text
    return b'{"event_type": "tool_start", "tool_name": "' + tool.encode() + b'"' + data + b"}"


def nested(levels: int, where: str = "x") -> bytes:
    """Return an event that has so many levels of JSON, itself included."""
    return raw(f', "{where}": ' + "[" * (levels - 1) + "]" * (levels - 1))


def between(row: str, name: str, *parts, **known) -> Instance:
    """Return an instance whose parts stand between healthy lines."""
    return instance(row, name, good(0), LF, *parts, LF, good(2), LF, **known)


SEPARATORS = [
    between("line_separators", f"U+{code:04X}", good(1, raw(f', "x": "a{chr(code)}b"')))
    for code in (0x2028, 0x2029, 0x85)
]

CHARACTERS = [
    *(
        between(
            "control_character",
            f"{code:#04x}",
            odd("control_character", raw(f', "x": "{chr(code)}"')),
        )
        for code in (0x09, 0x0D, 0x0B, 0x0C, 0x1B, 0x01)
    ),
    between("control_character", "in a key", odd("control_character", raw(', "\tx": 1'))),
    between("control_character", "in the tool", odd("control_character", raw("", "t\t1"), "t\t1")),
    between(
        "control_character", "several", odd("control_character", raw(', "x": "\t\x0b", "y": "\r"'))
    ),
    between("control_character", "DEL is none", good(1, raw(', "x": "\x7f"'))),
    *(
        between("lone_surrogate", text, odd("lone_surrogate", raw(f', "x": "{text}"')))
        for text in (r"\ud83d", r"\ude00", r"\ude00\ud83d", r"\ud83d \ude00", r"\uD83D\n")
    ),
    between("lone_surrogate", "in the tool", odd("lone_surrogate", raw("", r"t\ud83d"), "t\ufffd")),
    between("lone_surrogate", "a pair is none", good(1, raw(r', "x": "\ud83d\ude00"'))),
    between("lone_surrogate", "an escaped backslash is none", good(1, raw(r', "x": "\\ud83d"'))),
    between("invalid_utf8", "Latin-1", odd("invalid_utf8", raw(b', "x": "caf\xe9"'))),
    between(
        "invalid_utf8", "in the tool", odd("invalid_utf8", raw("")[:-2] + b'\xff"}', "t1\ufffd")
    ),
    between("invalid_utf8", "half a character", odd("invalid_utf8", raw(b', "x": "\xe6\x97"'))),
    between(
        "invalid_utf8", "a surrogate in bytes", odd("invalid_utf8", raw(b', "x": "\xed\xa0\xbd"'))
    ),
    between(
        *("invalid_utf8", "with a control character"),
        odd("invalid_utf8 control_character", raw(b', "x": "\xff\t"')),
    ),
]

NUMBERS = [
    *(
        between(
            "non_finite_number",
            f"{text} in {key}",
            odd("non_finite_number", raw(f', "{key}": {text}')),
        )
        for key, text in [
            *(
                (key, text)
                for key in ("duration_ms", "unknown")
                for text in ("NaN", "Infinity", "-Infinity")
            ),
            ("duration_ms", "1e400"),
        ]
    ),
    between(
        *("non_finite_number", "in what a tool was given"),
        odd("non_finite_number", raw(', "tool_args": {"q": [NaN, Infinity]}')),
    ),
    *(
        between("long_integers", f"4,300 digits in {key}", good(1, raw(f', "{key}": {"7" * 4300}')))
        for key in ("session_id", "unknown")
    ),
    *(
        between(
            *("long_integers", f"4,301 digits in {key}"),
            bad("malformed_record", raw(f', "{key}": {"7" * 4301}')),
        )
        for key in ("session_id", "unknown", "tool_args")
    ),
    between("long_integers", "4,301 digits in a string", good(1, raw(f', "x": "{"7" * 4301}"'))),
]

TWICE = '{"event_type": "tool_start", '
KEYS = [
    between(
        "duplicate_key", "the last wins", odd("duplicate_key", raw(', "tool_name": "new"'), "new")
    ),
    between(
        *("duplicate_key", "the kind"),
        odd(
            "duplicate_key",
            b'{"event_type": "tool_end", "tool_name": "t1", "event_type": "tool_start"}',
        ),
    ),
    between("duplicate_key", "in data", odd("duplicate_key", raw(', "data": {"a": 1, "a": 2}'))),
    *(
        # Deeper than the fields that are read, the specification does not say whether it is looked for.
        between(
            "duplicate_key", f"in {where}", good(1, raw(text)), allowed=frozenset({"duplicate_key"})
        )
        for where, text in {
            "an unknown field": ', "x": {"a": 1, "a": 2}',
            "what a tool was given": ', "tool_args": {"q": [{"a": 1, "b": 2, "a": 3}]}',
        }.items()
    ),
    between(
        *("duplicate_key", "one spelled with an escape"),
        odd("duplicate_key", raw(r', "tool_n\u0061me": "new"'), "new"),
    ),
    between(
        *("duplicate_key", "a value of another type is gone"),
        odd("duplicate_key", f'{TWICE}"tool_name": 5, "tool_name": "t1"}}'.encode()),
    ),
    between(
        *("duplicate_key", "the last is null"),
        odd("duplicate_key", raw(', "tool_name": null'), None),
    ),
    between(
        *("duplicate_key", "of equal keys in two objects there is none"),
        good(1, raw(', "x": {"event_type": 1, "tool_name": 2}, "y": [{"a": 1}, {"a": 1}]')),
    ),
    between("case_of_keys", "are distinct", good(1, raw(', "Tool_Name": "T9", "EVENT_TYPE": "x"'))),
]

TYPES = [
    *(
        between(
            *("wrong_type", f"tool_name is {text}"),
            odd("wrong_type", f'{TWICE}"tool_name": {text}}}'.encode(), None),
        )
        for text in ("5", "[]", '{"a": 1}', "true")
    ),
    *(
        between("wrong_type", f"{key} is {text}", odd("wrong_type", raw(f', "{key}": {text}')))
        for key, text in {
            "data": '["not", "a", "dict"]',
            "timestamp": '"2026-01-01"',
            "tokens_used": '"12"',
            "prompt_tokens": "1.5",
            "duration_ms": "true",
        }.items()
    ),
    *(
        between("wrong_type", f"{text} is right", good(1, raw(f", {text}")))
        for text in (
            *('"data": null', '"duration_ms": null', '"tokens_used": 12.0', '"session_id": 7'),
            *('"data": {"messages": 7}', '"data": {"tool_args": "text"}'),
        )
    ),
    between("unknown_event", "is kept", odd("unknown_event", record(1, event_type="hologram"))),
    between("wrong_shape", "another format", foreign("wrong_shape", b'{"zz": 1}')),
    between("wrong_shape", "an empty object", foreign("wrong_shape", b"{}")),
    between("wrong_shape", "the kind is a number", foreign("wrong_shape", b'{"event_type": 7}')),
    *(
        between("not_an_object", text, bad("not_an_object", text.encode()))
        for text in (
            "7",
            "-0.5e3",
            '"text"',
            "null",
            "true",
            "[1, 2]",
            "[]",
            '[{"event_type": "x"}]',
        )
    ),
    instance(
        *("unknown_format", "no event at all"),
        *(foreign("unknown_format", b'{"zz": 1}'), LF),
        foreign("", b'{"zz": 2}')._replace(reasons=()),
        is_recognised=False,
    ),
]

SIZES = [
    between("deep_nesting", "129 levels", bad("deep_nesting", nested(129))),
    between("deep_nesting", "128 levels", good(1, nested(128))),
    between(
        "deep_nesting", "129 levels in a known field", bad("deep_nesting", nested(129, "tool_args"))
    ),
    between("deep_nesting", "128 levels in a known field", good(1, nested(128, "tool_args"))),
    between("deep_nesting", "100,000 levels", bad("deep_nesting", nested(100_000))),
    between("deep_nesting", "100,000 arrays", bad("deep_nesting", b"[" * 100_000 + b"]" * 100_000)),
    between("deep_nesting", "brackets in a string", good(1, raw(', "x": "' + "[{" * 500 + '"'))),
    between(
        "deep_nesting", "many brackets, not deep", good(1, raw(', "x": [' + "[]," * 500 + "0]"))
    ),
    *(
        between(
            *("oversized_record", name),
            part,
            options={"max_record_bytes": 300},
        )
        for name, part in {
            "over the cap": bad("oversized_record", raw(', "x": "' + "y" * 300 + '"')),
            "far over the cap": bad("oversized_record", raw(', "x": "' + "y" * 30_000 + '"')),
            "at the cap": good(1, raw(', "x": "' + "y" * (300 - len(raw(', "x": ""'))) + '"')),
            "not JSON": bad("oversized_record", b"y" * 301),
        }.items()
    ),
]

VALUES: list[Instance] = [*SEPARATORS, *CHARACTERS, *NUMBERS, *KEYS, *TYPES, *SIZES]
