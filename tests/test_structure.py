import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tracestream.framings.choice import Choice
from tracestream.quality import Quality, SourceLedger
from tracestream.structure import BOM, MAX_DEPTH, Brackets, Syntax, after_blanks

pieces = st.sampled_from(
    [
        b"[",
        b"]",
        b"{",
        b"}",
        b'"',
        b"\\",
        b",",
        b":",
        b" ",
        b"\n",
        b"a",
        b"\xff",
        b'"x"',
        b'{"a":',
        b"1",
        b"null",
    ]
)
rubbish = st.lists(pieces, max_size=20).map(b"".join)

numbers = st.from_regex(rb"-?[0-9]{1,3}(\.[0-9]{1,3})?([eE][-+]?[0-9]{1,2})?", fullmatch=True)
atoms = numbers | st.sampled_from(
    [
        b"true",
        b"false",
        b"null",
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b'""',
        b'"\\""',
        b'"]\\\\"',
        b"nul",
        b"1.",
        b"-",
        b"01",
    ]
)


@st.composite
def texts(draw, depth=2):
    """JSON texts, a few of them with a syntax error."""
    shape = draw(st.integers(0, 3)) if depth else 0
    comma, colon = draw(
        st.sampled_from([(b",", b":"), (b" ,\n", b" : "), (b",", b":"), (b";", b":")])
    )
    inner = [draw(texts(depth - 1)) for _ in range(shape and draw(st.integers(0, 3)))]
    if shape == 0:
        return draw(atoms)
    if shape == 1:
        return b"[ " + comma.join(inner) + b"]"
    return b"{" + comma.join(b'"k"' + colon + value for value in inner) + b" }"


def cut(data, draw):
    at = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=6)))
    return [data[a:b] for a, b in zip([0, *at], [*at, len(data)], strict=True)]


def steps_of(blocks, *, commas):
    """Every step that Brackets takes: position, depth, broken; and how it ends."""
    brackets, steps, before = Brackets(), [], 0
    for block in blocks:
        at = 0
        while not brackets.broken and (at := brackets.advance(block, at, commas=commas)) >= 0:
            steps.append((before + at, brackets.depth, brackets.broken))
        before += len(block)
    return steps, None if brackets.broken else (brackets.depth, brackets.in_string)


def naive_steps(data, *, commas):
    """The same, one byte after another."""
    steps, open_brackets, in_string, escaped = [], [], False, False
    for at, byte in enumerate(data.decode("latin-1"), 1):
        if in_string:
            in_string = escaped or byte != '"'
            escaped = byte == "\\" and not escaped
        elif byte == '"':
            in_string = True
        elif byte in "[{":
            open_brackets.append(byte)
            if len(open_brackets) == 1:
                steps.append((at, 1, False))
        elif byte in "]}":
            if not open_brackets or open_brackets[-1] + byte not in ("[]", "{}"):
                return [*steps, (at, len(open_brackets), True)], None
            open_brackets.pop()
            if not open_brackets:
                steps.append((at, 0, False))
        elif byte == "," and commas and not open_brackets:
            steps.append((at, 0, False))
    return steps, (len(open_brackets), in_string)


@given(rubbish | texts(), st.booleans(), st.data())
def test_brackets_take_the_steps_of_a_byte_by_byte_scanner(data, commas, draw):
    expected = naive_steps(data, commas=commas)
    assert steps_of([data], commas=commas) == expected
    assert steps_of(cut(data, draw), commas=commas) == expected
    assert steps_of([data[at : at + 1] for at in range(len(data))], commas=commas) == expected


def test_kinds_of_brackets_are_told_apart_down_to_the_deepest_level_read():
    for depth, is_broken in ((MAX_DEPTH, True), (MAX_DEPTH + 1, False)):
        brackets = Brackets()
        assert brackets.advance(b"[" * depth, 0) == 1
        assert brackets.advance(b"[" * depth + b"}", 1) == (depth + 1 if is_broken else -1)
        assert (brackets.broken, brackets.depth) == (is_broken, MAX_DEPTH)


def test_levels_too_deep_to_remember_still_count():
    data = b"[" * 100_000 + b"]" * 100_000
    assert steps_of([data], commas=False) == ([(1, 1, False), (len(data), 0, False)], (0, False))


def value_end(data):
    """Where the JSON value that bytes begin with ends, by Python's parser; None if there is none."""
    text = data.decode("latin-1")
    begin = len(text) - len(text.lstrip(" \t\r\n"))
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, begin)[1]
    except ValueError:
        return None


def followed(blocks):
    syntax = Syntax()
    for block in blocks:
        syntax.feed(block)
    return syntax.failed, syntax.closed_at


# What stands behind a backslash is left to the parser, as are the bytes of a string.
unescaped = rubbish.map(lambda data: data.replace(b"\\", b"0"))
opened = st.one_of(
    texts(),
    unescaped.map(lambda data: b"{" + data),
    unescaped.map(lambda data: b'["\\"\\u00e9",' + data),
)


@given(opened.filter(lambda data: data[:1] in b"[{"), st.data())
@example(b'{"a": 1.5}', None)
@example(b'{"a": 1e5}', None)
@example(b'{"a": -Infinity}', None)
def test_syntax_ends_where_pythons_parser_does(data, draw):
    end = value_end(data)
    results = {followed([data[at : at + 1] for at in range(len(data))]), followed([data])}
    results |= {
        followed(cut(data, draw)) if draw else followed([data[:at], data[at:]])
        for at in range(len(data))
    }
    assert {closed_at for failed, closed_at in results if not failed} <= {
        -1 if end is None else end
    }
    if end is not None:
        assert results == {(False, end)}


@given(texts().filter(lambda data: data[:1] in b"[{" and value_end(data) == len(data)))
def test_syntax_does_not_fail_before_the_end_of_a_good_value(data):
    syntax = Syntax()
    for at in range(len(data)):
        syntax.feed(data[at : at + 1])
        assert not syntax.failed
        assert syntax.closed_at == (len(data) if at == len(data) - 1 else -1)


@pytest.mark.parametrize(
    "data",
    [
        b'{"a" 1}',
        b"{1}",
        b"[,]",
        b"[1 2]",
        b"[1,]",
        b'{"a":1,}',
        b'{"a":}',
        b"]",
        b"[}",
        b"[1}",
        b"{]",
        b"[nul]",
        b"[01]",
        b"[1.]",
        b"[+1]",
        b"[.5]",
        b"[--1]",
        b"[1e]",
        b"[tru\xff]",
        b"['a']",
        b"[\x0b1]",
        b"[" + b"1" * 4401 + b"]",
    ],
)
def test_what_is_no_json_fails(data):
    assert followed([data])[0]
    assert followed([data[at : at + 1] for at in range(len(data))])[0]


@pytest.mark.parametrize("cut_at", [7, 4000, 5007, 5008])
def test_white_space_is_no_part_of_a_number(cut_at):
    data = b'{"a":' + b" " * 5000 + b"123}"
    assert followed([data[:cut_at], data[cut_at:]]) == (False, len(data))


def test_nothing_but_a_word_is_looked_at_twice():
    syntax = Syntax()
    for block in (b'{"text": "', *[b"x\\\\" * 5000] * 100, b'", "n": ', *[b" " * 9999] * 100, b"1"):
        syntax.feed(block)
        assert len(syntax._rest) <= 1
    assert not syntax.failed


@pytest.mark.parametrize(
    ("data", "at", "end"),
    [(b"", 0, 0), (b"a", 0, 0), (b" \t\r\na", 0, 4), (b"a \x0b", 1, 2), (b"a  ", 1, 3)],
)
def test_blanks_are_the_white_space_of_json(data, at, end):
    assert after_blanks(data, at) == end


CHOICES = {
    "lines": (b'{"a": 1}', "lines", 0, 1, False),
    "array": (b"[1]", "array", 0, 1, False),
    "array behind a mark and blanks": (BOM + b" \n\n [1]", "array", 7, 3, True),
    "document": (b'\n{\n"a": 1}', "document", 1, 2, False),
    "document of one open line": (b'{"a": [\n]}', "document", 0, 1, False),
    "open string": (b'{"a": "\n"}', "lines", 0, 1, False),
    "syntax error": (b'{\n"a": 1,,\n}', "lines", 0, 1, False),
    "syntax error in the first line": (b'{"a" [\n]}', "lines", 0, 1, False),
    "not an object": (b"\n7", "lines", 1, 2, False),
    "two values in a line": (b'{"a": 1}{\n}', "lines", 0, 1, False),
    "blank": (b" \n", None, 2, 2, False),
    "half a value": (b'{\n"a": 1', None, 0, 1, False),
    "half a mark": (BOM[:2], None, 0, 1, False),
}


@pytest.mark.parametrize("case", CHOICES)
def test_framing_is_chosen_from_the_first_record(case):
    data, *expected = CHOICES[case]
    for size in (1, 2, 3, len(data)):
        quality = Quality()
        choice = Choice(SourceLedger(quality, "a", 0), 1000)
        found, rest = None, b""
        for at in range(0, len(data), size):
            if found is None:
                found = choice.feed(data[at : at + size])
            else:
                rest += data[at : at + size]
        assert [found, choice.offset, choice.line, quality.count("note") > 0] == expected
        assert b"".join(choice.take()) + rest == data[choice.offset :]


@pytest.mark.parametrize("size", [19, 20, 21])
def test_a_document_over_the_size_cap_is_no_document(size):
    data = b'{\n"a":' + b"1" * (size - 7) + b"}"
    for step in (1, 7, size):
        choice = Choice(SourceLedger(Quality(), "a", 0), 20)
        found = [choice.feed(data[at : at + step]) for at in range(0, size, step)]
        assert found[-1] == ("document" if size <= 20 else "lines")


def test_a_choice_holds_no_more_than_the_size_cap():
    choice = Choice(SourceLedger(Quality(), "a", 0), 1000)
    assert choice.feed(b'{\n"a": [') is None
    assert [choice.feed(b"1," * 100) for _ in range(5)] == [None, None, None, None, "lines"]


@given(st.lists(st.sampled_from([b"[" * 50, b"[", b"{", b"]", b"}", b'"[[" ', b", "]), max_size=30))
def test_brackets_beyond_the_depth_are_counted_as_before_it(parts):
    data = b"[" * (MAX_DEPTH - 3) + b"".join(parts)
    brackets, depth, at = Brackets(), 0, 0
    while at >= 0 and not brackets.broken:
        at = brackets.advance(data, at)
    if not brackets.broken:
        outside = data.replace(b'"[["', b"")
        depth = sum(outside.count(b) for b in b"[{") - sum(outside.count(b) for b in b"]}")
        assert brackets.depth == depth
