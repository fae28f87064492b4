"""Damage of lines: torn, bad, glued, joined, NULs, marks, encodings."""

from tests.damage.instances import BOM, Instance, bad, good, instance, mark, odd, record

FIRST_KEY = b'{"event_type": "tool_start", '
LF = b"\n"
NUL = b"\x00"
OPEN_LINE = FIRST_KEY + b'"tool_name": "t'


def _glued(n_records: int) -> list:
    """Records without anything between, the first two marked."""
    return [good(0), mark("glued_records"), *(good(n) for n in range(1, n_records))]


TORN = [
    instance("torn_tail", "in a key", good(0), LF, bad("torn_tail", record(1)[:20])),
    instance("torn_tail", "in a value", good(0), LF, bad("torn_tail", record(1)[:-3])),
    instance("torn_tail", "before the last bracket", good(0), LF, bad("torn_tail", record(1)[:-1])),
    instance("torn_tail", "first byte only", good(0), LF, bad("torn_tail", b"{")),
    instance(
        *("torn_tail", "in a character"),
        *(good(0), LF, bad("torn_tail", OPEN_LINE + "日".encode()[:2])),
    ),
    instance("torn_tail", "behind an escape", good(0), LF, bad("torn_tail", OPEN_LINE + b"\\")),
    instance(
        *("torn_tail", "then NULs"),
        *(good(0), LF, bad("torn_tail", record(1)[:25]), bad("nul_bytes", NUL * 300)),
    ),
    instance("torn_tail", "whole without a newline", good(0), LF, good(1)),
    instance(
        *("malformed_record", "between good ones"),
        *(good(0), LF, bad("malformed_record", b"{oops}"), LF, good(1), LF),
    ),
    instance(
        *("malformed_record", "first line"),
        *(bad("malformed_record", b"# started"), LF, good(0), LF, good(1), LF),
    ),
    instance(
        *("malformed_record", "last line, ended"),
        *(good(0), LF, bad("malformed_record", record(1)[:30]), LF),
    ),
    instance(
        *("malformed_record", "torn in a string between good ones"),
        *(good(0), LF, bad("malformed_record", record(1)[:30]), LF, good(2), LF, good(3), LF),
    ),
    instance(
        *("malformed_record", "torn outside a string between good ones"),
        *(good(0), LF, bad("malformed_record", FIRST_KEY[:-2]), LF, good(2), LF, good(3), LF),
    ),
    instance(
        *("malformed_record", "first line torn"),
        *(bad("malformed_record", FIRST_KEY + b'"data": {'), LF, good(0), LF, good(1), LF),
    ),
    instance(
        *("malformed_record", "Python's repr"),
        *(good(0), LF, bad("malformed_record", b"{'event_type': 'output'}"), LF, good(1), LF),
    ),
    instance(
        *("malformed_record", "many, with white space around"),
        *(good(0), LF, b"\t", bad("malformed_record", b"x y"), b" \r\n"),
        *(bad("malformed_record", b"]"), LF, bad("malformed_record", b"}"), LF, good(1), LF),
    ),
    instance(
        *("malformed_record", "an inner object with another first key is no record"),
        *(good(0), LF, bad("malformed_record", FIRST_KEY + b'"data": {"q": {"x": 1}'), LF, good(1)),
    ),
    instance(
        *("malformed_record", "an object behind rubbish with another first key is no record"),
        *(good(0), LF, bad("malformed_record", b'oops {"tool_name": "t9"}'), LF, good(1)),
    ),
]

PREFIXES = {
    "torn outside a string": FIRST_KEY + b'"tool_name":',
    "torn in a string": FIRST_KEY + b'"tool_na',
    "torn in the first key": b'{"eve',
    "torn behind the first bracket": b"{",
    "torn behind an escaped quote": FIRST_KEY + rb'"x": "say \"',
    "torn behind a backslash": FIRST_KEY + rb'"x": "C:' + b"\\",
    "torn behind two backslashes": FIRST_KEY + rb'"x": "C:\\',
    "torn behind inner objects": FIRST_KEY + b'"data": {"q": {"x": 1}, "y": {',
    "torn in a string of brackets": FIRST_KEY + b'"x": "}{][{',
    "torn in a string of JSON": FIRST_KEY + rb'"x": "{\"event_type\": 1}, {\"a\":',
    "two torn": FIRST_KEY + b'"x": ' + FIRST_KEY + b'"tool_',
    "torn in a character": OPEN_LINE + "日".encode()[:2],
}
INNER = record(1, data={"event_type": "inner", "tool_args": {"event_type": "x"}})

TORN_PREFIX = [
    *(
        instance(
            *("torn_prefix", name),
            *(good(0), LF, bad("torn_prefix", prefix), good(1), LF, good(2), LF),
        )
        for name, prefix in PREFIXES.items()
    ),
    instance(
        *("torn_prefix", "the record has inner objects that look like records"),
        *(good(0), LF, bad("torn_prefix", INNER[:40]), good(1, INNER), LF, good(2), LF),
    ),
    instance(
        *("torn_prefix", "on the first line"),
        *(bad("torn_prefix", record(0)[:30]), good(0), LF, good(1), LF, good(2), LF),
    ),
    instance(
        *("torn_prefix", "on the first three lines"),
        *(bad("torn_prefix", record(0)[:30]), good(0), LF),
        *(bad("torn_prefix", record(1)[:20]), good(1), LF),
        *(bad("torn_prefix", record(2)[:10]), good(2), LF, good(3), LF),
    ),
    instance(
        *("torn_prefix", "on the last line, without a newline"),
        *(good(0), LF, bad("torn_prefix", record(1)[:30]), good(1)),
    ),
    instance(
        *("torn_prefix", "with CRLF"),
        *(good(0), b"\r\n", bad("torn_prefix", record(1)[:30]), good(1), b"\r\n", good(2), b"\r\n"),
    ),
]

GLUED = [
    instance("glued_records", "a pair", good(9), LF, *_glued(2), LF, good(8), LF),
    instance("glued_records", "a pair on the first line", *_glued(2), LF, good(8), LF),
    instance("glued_records", "three", good(9), LF, *_glued(3), LF, good(8), LF),
    instance("glued_records", "a whole file", *_glued(40)),
    instance(
        *("glued_records", "a whole file over the cap of a record"),
        *_glued(40),
        options={"max_record_bytes": 150},
    ),
    instance(
        *("glued_records", "white space between"),
        *(good(9), LF, good(0), mark("glued_records"), b" \t", good(1), b" ", LF, good(8), LF),
    ),
    instance(
        *("glued_records", "the same twice"),
        *(good(9), LF, good(0), mark("glued_records"), good(0), LF, good(8), LF),
    ),
    instance(
        *("glued_records", "brackets in strings"),
        *(good(9), LF, good(0, record(0, q='}{"}{')), mark("glued_records")),
        *(good(1, record(1, q={"a": ["}{", "\\"]})), LF, good(8), LF),
    ),
    instance(
        *("glued_records", "torn at the end of the file"),
        *(good(9), LF, *_glued(3), bad("torn_tail", record(3)[:30])),
    ),
    instance(
        *("glued_records", "torn at the end of the line"),
        *(good(9), LF, *_glued(2), bad("malformed_record", record(3)[:30]), LF, good(8), LF),
    ),
]

JOINED = [
    instance(
        *("joined_lines", name),
        *(*before, odd("joined_lines", data, data[len(OPEN_LINE) - 1 : -2].decode()), LF),
        *(good(2), LF, good(3), LF),
    )
    for name, before, data in [
        ("one newline", (good(0), LF), OPEN_LINE + b'1\nx"}'),
        ("blank lines inside", (good(0), LF), OPEN_LINE + b'1\n\n \n\nend"}'),
        ("on the first line", (), OPEN_LINE + b'1\nx"}'),
        ("brackets inside", (good(0), LF), OPEN_LINE + b'\n}{\n{ "}'),
        ("an escape before the newline", (good(0), LF), OPEN_LINE + b'\xc3\xa9\n\n\xe6\x97\xa5"}'),
        ("1,000 lines", (good(0), LF), OPEN_LINE + b"\n" * 999 + b'"}'),
    ]
]
NOT_JOINED = [
    instance(
        *("joined_lines", "a syntax error: only the first line is bad"),
        *(good(0), LF, bad("malformed_record", FIRST_KEY + b'"a": "x'), LF, good(1), LF),
        *(good(2), LF),
    ),
    instance(
        *("joined_lines", "two open strings, one after another"),
        *(good(0), LF, bad("malformed_record", FIRST_KEY + b'"a": "x'), LF),
        *(bad("malformed_record", FIRST_KEY + b'"a": "y'), LF, good(1), LF, good(2), LF),
    ),
    instance(
        *("joined_lines", "a newline outside a string joins nothing"),
        *(good(0), LF, bad("malformed_record", FIRST_KEY.rstrip()), LF),
        *(bad("malformed_record", b'"tool_name": "t9"}'), LF, good(1), LF),
    ),
    instance(
        *("joined_lines", "too many lines: they are bad one by one"),
        *(good(0), LF, bad("malformed_record", OPEN_LINE), LF),
        *(part for _ in range(1001) for part in (bad("malformed_record", b"x"), LF)),
        *(bad("malformed_record", b'"}'), LF, good(1), LF),
    ),
]

NULS = [
    instance(
        *("nul_bytes", "alone on a line"),
        *(good(0), LF, bad("nul_bytes", NUL * 512), LF, good(1), LF),
    ),
    instance("nul_bytes", "before a record", good(0), LF, bad("nul_bytes", NUL * 9), good(1), LF),
    instance(
        *("nul_bytes", "after a record"),
        *(good(0), LF, good(1), bad("nul_bytes", NUL * 9), LF, good(2), LF),
    ),
    instance("nul_bytes", "before the first record", bad("nul_bytes", NUL * 9), good(0), LF),
    instance(
        *("nul_bytes", "on a line before the first record"),
        *(bad("nul_bytes", NUL * 4096), LF, good(0), LF),
    ),
    instance("nul_bytes", "at the tail", good(0), LF, good(1), LF, bad("nul_bytes", NUL * 4096)),
    instance("nul_bytes", "at the tail of a line", good(0), LF, good(1), bad("nul_bytes", NUL * 5)),
    instance(
        *("nul_bytes", "after glued records"),
        *(good(9), LF, *_glued(2), bad("nul_bytes", NUL * 9), LF, good(8), LF),
    ),
    instance(
        *("nul_bytes", "after a mark after a record"),
        *(good(9), LF, good(0), bad("bom", BOM), bad("nul_bytes", NUL * 9), LF, good(8), LF),
    ),
    instance(
        *("nul_bytes", "after another control character"),
        *(good(0), LF, b"\x0b", bad("nul_bytes", NUL * 9), LF, good(1), LF),
        allowed=frozenset({"malformed_record"}),
    ),
    instance("nul_bytes", "one", good(0), LF, bad("nul_bytes", NUL), good(1), LF),
    instance(
        *("nul_bytes", "alone in the file"),
        bad("nul_bytes", NUL * 4096),
        is_recognised=False,
    ),
    instance(
        *("nul_bytes", "in a string it is a control character"),
        *(good(0), LF, odd("control_character", OPEN_LINE + b'1\x00"}', "t1\x00"), LF, good(2)),
    ),
    instance(
        *("nul_bytes", "inside a record it is bad"),
        *(good(0), LF, bad("malformed_record", b'{"event_type": \x00"output"}'), LF, good(2)),
        allowed=frozenset({"nul_bytes"}),
    ),
]

UTF16 = {
    "lines": (good(0), LF, good(1), LF),
    "CRLF": (good(0), b"\r\n", good(1), b"\r\n"),
    "bytes of newlines and quotes in characters": (
        *(good(0), LF),
        *(good(1, record(1)[:-1] + ', "x": "\u0a0a\u0a22\u220a\u0d0a é 日 🙂"}'.encode()), LF),
        *(good(2), LF),
    ),
    "a bad line and a torn tail": (
        *(good(0), LF, bad("malformed_record", "{oops é}".encode()), LF, good(1), LF),
        bad("torn_tail", record(2)[:30]),
    ),
}

MARKS = [
    instance("bom", "at the start", bad("bom", BOM), good(0), LF, good(1), LF),
    instance(
        *("bom", "of each chunk"),
        *(bad("bom", BOM), good(0), LF, bad("bom", BOM), good(1), LF, bad("bom", BOM), good(2), LF),
    ),
    instance("bom", "with CRLF", bad("bom", BOM), good(0), b"\r\n", good(1), b"\r\n"),
    instance(
        *("bom", "in a string it is text"),
        *(good(0), LF, good(1, OPEN_LINE + b'1", "x": "' + BOM + b'"}'), LF),
    ),
    *(
        instance(
            *("utf16", f"{encoding[-2:]}, {name}"),
            *(mark("utf16", sign), *parts),
            encoding=encoding,
        )
        for name, parts in UTF16.items()
        for encoding, sign in [("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")]
    ),
]

LINES: list[Instance] = [*TORN, *TORN_PREFIX, *GLUED, *JOINED, *NOT_JOINED, *NULS, *MARKS]
