import json
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nasty import json_values
from tracestream.jsontext import (
    MAX_DEPTH,
    MAX_DIGITS,
    has_surrogate,
    is_too_deep,
    is_truthy,
    may_hold_long_integer,
    parse,
    writable,
)

ODDITIES = {
    "clean": (
        b'{"a": [1, 2.5, "\\u00e9\\ud83d\\ude00", null]}',
        {"a": [1, 2.5, "é\U0001f600", None]},
        (),
    ),
    "space": (b' \t\r\n{"a": 1}\r\n', {"a": 1}, ()),
    "nan": (b"[NaN]", "[nan]", ("non_finite_number",)),
    "infinity": (b"[Infinity, -Infinity]", [math.inf, -math.inf], ("non_finite_number",)),
    "beyond a float": (b"[1e400, -1e400]", [math.inf, -math.inf], ("non_finite_number",)),
    "nan in a string": (b'["NaN", "1e400"]', ["NaN", "1e400"], ()),
    "too small for a float": (b"[1e-400]", [0.0], ()),
    "long integer": (b"[%s]" % (b"7" * MAX_DIGITS), [int("7" * MAX_DIGITS)], ()),
    "lone surrogate": (b'["\\ud83d"]', ["\ud83d"], ("lone_surrogate",)),
    "lone low surrogate": (b'["x\\uDE00y"]', ["x\ude00y"], ("lone_surrogate",)),
    "surrogates the wrong way round": (
        b'["\\ude00\\ud83d"]',
        ["\ude00\ud83d"],
        ("lone_surrogate",),
    ),
    "surrogate in a key": (b'{"\\ud83d": 1}', {"\ud83d": 1}, ("lone_surrogate",)),
    "backslash before a u": (b'["\\\\ud83d"]', ["\\ud83d"], ()),
    "tab": (b'["a\tb"]', ["a\tb"], ("control_character",)),
    "newline": (
        b'["a\nb\r\x00\x1f\x0b"]',
        ["a\nb\r\x00\x1f\x0b"],
        ("joined_lines", "control_character"),
    ),
    "delete": (b'["\x7f"]', ["\x7f"], ()),
    "latin 1": (b'["caf\xe9"]', ["caf\ufffd"], ("invalid_utf8",)),
    "surrogate in UTF-8": (b'["\xed\xa0\xbd"]', ["\ufffd\ufffd\ufffd"], ("invalid_utf8",)),
    "overlong": (b'["\xc0\xaf"]', ["\ufffd\ufffd"], ("invalid_utf8",)),
    "UTF-8 cut short": (b'["\xf0\x9f\x98"]', ["\ufffd"], ("invalid_utf8",)),
    "null": (b"null", None, ()),
    "the last of one key": (b'{"a": 1, "b": 2, "a": 3}', {"a": 3, "b": 2}, ()),
    "everything": (
        b'{"a": NaN, "b": "\xff\t\\ud83d"}',
        "{'a': nan, 'b': '\ufffd\\t\\ud83d'}",
        ("invalid_utf8", "control_character", "lone_surrogate", "non_finite_number"),
    ),
}


@pytest.mark.parametrize("case", ODDITIES)
def test_oddities_are_read_and_named(case):
    data, value, oddities = ODDITIES[case]
    parsed = parse(data)
    assert (str(parsed.value) if isinstance(value, str) else parsed.value, parsed.oddities) == (
        value,
        oddities,
    )


NO_JSON = {
    "nothing": b"",
    "blank": b" ",
    "cut": b'{"a": ',
    "cut string": b'{"a',
    "two values": b"{} {}",
    "comma": b"[1,]",
    "single quotes": b"{'a': 1}",
    "bad escape": b'["\\x"]',
    "byte-order mark": b"\xef\xbb\xbf{}",
    "UTF-16": "{}".encode("utf-16"),
    "UTF-16 without a mark": '{"a": 1}'.encode("utf-16-le"),
    "NUL": b"\x00\x00",
    "integer of too many digits": b"[%s]" % (b"7" * (MAX_DIGITS + 1)),
    "negative one": b"[-%s]" % (b"7" * (MAX_DIGITS + 1)),
    "no-break space": b"\xc2\xa0{}",
}


@pytest.mark.parametrize("case", NO_JSON)
def test_what_is_no_json_is_a_value_error(case):
    with pytest.raises(ValueError, match=r"."):
        parse(NO_JSON[case])


@given(json_values(), st.booleans())
def test_what_python_writes_is_read_as_python_reads_it(value, escaped):
    data = json.dumps(value, ensure_ascii=escaped).encode("utf-8", "replace")
    parsed = parse(data)
    assert str(parsed.value) == str(json.loads(data.decode()))
    assert ("lone_surrogate" in parsed.oddities) == has_surrogate(
        json.dumps(parsed.value, ensure_ascii=False)
    )
    assert set(parsed.oddities) <= {"lone_surrogate", "non_finite_number"}


@given(
    st.binary(max_size=30)
    | st.text(max_size=20).map(
        lambda text: json.dumps([text], ensure_ascii=False).encode("utf-8", "surrogatepass")
    )
)
def test_any_bytes_are_read_as_text_with_replacement_or_not_at_all(data):
    try:
        expected = str(json.loads(data.decode("utf-8", "replace"), strict=False))
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            parse(data)
    else:
        assert str(parse(data).value) == expected


def naive_depth(data):
    depth = deepest = 0
    in_string = escaped = False
    for byte in data.decode("latin-1"):
        if in_string:
            in_string = escaped or byte != '"'
            escaped = byte == "\\" and not escaped
        elif byte == '"':
            in_string = True
        elif byte in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in "]}":
            depth -= 1
    return deepest


def nested(depth, opening=b"[", closing=b"]", inside=b""):
    return opening * depth + inside + closing * depth


DEEP = {
    "arrays": lambda n: nested(n),
    "objects": lambda n: nested(n, b'{"a":', b"}", b"1"),
    "both": lambda n: nested(n // 2, b'[{"a": ', b"}]", b"[]" if n % 2 else b"0"),
    "unclosed": lambda n: b"[" * n,
    "cut": lambda n: nested(n) + b'"',
    "behind much that is flat": lambda n: (
        b'{"m": [' + b'{"c": ["]"]}, ' * 300 + b"0], " + b'"d": ' + nested(n - 1) + b"}"
    ),
    "in one of many messages": lambda n: (
        b"[" + b'{"c": "["},' * 300 + b'{"c": ' + nested(n - 2) + b"}]"
    ),
    "in the first of two equal keys": lambda n: (
        b'{"a": ' + nested(n - 1) + b', "a": [' + b"[]," * 200 + b"0]}"
    ),
    "among objects": lambda n: b'{"a": [' + b'{"b": {}}, ' * 200 + nested(n - 2) + b"]}",
    "behind escaped quotes": lambda n: (
        b'{"q": "\\"[\\\\", "w": "\\\\\\"{", "d": ' + nested(n - 1) + b"}"
    ),
    "with a lone surrogate": lambda n: b'{"s": "\\ud83d", "d": ' + nested(n - 1) + b"}",
    "with invalid UTF-8": lambda n: b'{"s": "\xff", "d": ' + nested(n - 1) + b"}",
    "a key of brackets": lambda n: b'{"' + b"[" * 300 + b'": ' + nested(n - 1) + b"}",
}


@pytest.mark.parametrize("shape", DEEP)
def test_more_levels_than_128_are_too_deep(shape):
    assert MAX_DEPTH == 128
    for depth in (6, 127, 128, 129, 130, 500):
        data = DEEP[shape](depth)
        assert naive_depth(data) == depth
        assert is_too_deep(data) == (depth > 128)


def test_brackets_in_strings_are_no_levels():
    assert not is_too_deep(b'["' + b"[{" * 1000 + b'", "\\"' + b"[" * 1000 + b'"]')


def test_depth_does_not_depend_on_the_callers_stack():
    deep, flat = nested(200_000), b"[" + b"[],{}," * 50_000 + b"0]"

    def called(levels):
        return called(levels - 1) if levels else (is_too_deep(deep), is_too_deep(flat))

    assert called(0) == called(sys.getrecursionlimit() - 200) == (True, False)


# No backslashes: outside a string there are none in JSON.
parts = [
    b"[" * 40,
    b"]" * 40,
    b'{"a":',
    b"}",
    b'"',
    b"[[]],",
    b'"]"',
    b"1",
    b",",
    b'{"a": [' * 30,
    b"]}" * 30,
]


@given(st.lists(st.sampled_from(parts), max_size=30).map(b"".join))
def test_depth_is_that_of_a_byte_by_byte_scanner(data):
    assert is_too_deep(data) == (naive_depth(data) > MAX_DEPTH)


def containers(inner):
    arrays = st.lists(inner, max_size=4).map(lambda parts: b"[" + b", ".join(parts) + b"]")
    keys = st.sampled_from([b'"a"', b'"\\u0061"', b'"["'])  # the first two are equal
    fields = st.tuples(keys, inner).map(b": ".join)
    return arrays | st.lists(fields, max_size=4).map(lambda parts: b"{" + b",".join(parts) + b"}")


pieces = [
    b"[]",
    b"{}",
    b'"[\\""',
    b"7",
    b"[" + b"{}," * 150 + b"[]]",
    nested(90),
    nested(125),
    nested(129),
]


@given(st.recursive(st.sampled_from(pieces), containers, max_leaves=9))
def test_depth_of_good_json(data):
    assert json.loads(data) is not None
    assert is_too_deep(data) == (naive_depth(data) > MAX_DEPTH)


@pytest.mark.parametrize(
    "around",
    [(b"[", b"]"), (b'{"a": -', b', "b": 7}'), (b'"', b'"'), (b"", b"")],
    ids=["array", "object", "text", "bare"],
)
def test_more_digits_in_a_row_than_python_reads_are_seen_wherever_they_are(around):
    for n_before in (0, 1, 2, 4299, 4300, 4301, 4302, 8600, 8601, 8602, 100_003):
        head, tail = b"x" * n_before + around[0], around[1] + b"x" * (n_before % 5000)
        assert not may_hold_long_integer(head + b"7" * MAX_DIGITS + tail)
        assert may_hold_long_integer(head + b"7" * (MAX_DIGITS + 1) + tail)
        assert may_hold_long_integer(head + b"7" * 3 * MAX_DIGITS + tail)
        assert not may_hold_long_integer(head + (b"7" * 4000 + b".") * 5 + tail)


@given(st.text())
def test_what_is_written_is_utf8(text):
    written = writable(text)
    written.encode()
    assert len(written) == len(text)
    assert has_surrogate(text) == (written != text)


@given(json_values(), st.sampled_from(["", " ", "\n\t\r "]))
def test_truth_is_pythons(value, space):
    data = f"{space}{json.dumps(value)}{space}".encode()
    assert is_truthy(data) == is_truthy(memoryview(data)) == bool(json.loads(data.decode()))


@pytest.mark.parametrize(
    ("data", "truth"),
    [
        (b"", False),
        (b" ", False),
        (b"[ \n]", False),
        (b"{ }", False),
        (b"0e5", False),
        (b"-0", False),
        (b"1e-400", False),
        (b"1e400", True),
        (b'"0"', True),
        (b"[0]", True),
        (b"NaN", True),
        (b"-Infinity", True),
        (b"7" * 5000, True),
        (b"0." + b"0" * 5000 + b"1", False),
    ],
)
def test_truth_of_single_values(data, truth):
    assert is_truthy(data) == truth
