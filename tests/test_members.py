import json

import pytest

from tracestream.errors import FrameError
from tracestream.members import split_object

DOCUMENT = (
    '\ufeff \n{"id": "a\\"]}b", "n": -1.5e3, "empty": [], "results" \t: [ {"a": [1, "]"]},\n'
    '  "x,y", null ,[[]], "\\\\" ], "res\\u0075lts2": {"results": [1]},\n "té": "ü",\n'
    ' "test_cases": [],\n "results": 7 }\n\n'
).encode()
EXPECTED = [
    ("id", None, '"a\\"]}b"', 2),
    ("n", None, "-1.5e3", 2),
    ("empty", None, "[]", 2),
    ("results", None, "[]", 2),
    ("results", 0, '{"a": [1, "]"]}', 2),
    ("results", 1, '"x,y"', 3),
    ("results", 2, "null", 3),
    ("results", 3, "[[]]", 3),
    ("results", 4, '"\\\\"', 3),
    ("results2", None, '{"results": [1]}', 3),
    ("té", None, '"ü"', 4),
    ("test_cases", None, "[]", 5),
    ("results", None, "7", 6),
]
ARRAYS = ["results", "test_cases"]


def parts(*blocks, **options):
    """The parts of a stream, and the error that ends it."""
    found = []
    try:
        for part in split_object(iter(blocks), ARRAYS, **options):
            found.append(part)
    except FrameError as error:
        return found, error
    return found, None


def told(found):
    return [(part.key, part.at, part.data.decode(), part.line) for part in found]


def test_members_and_elements_come_in_order():
    found, error = parts(DOCUMENT)
    assert error is None
    assert told(found) == EXPECTED
    for part in found:
        begin = DOCUMENT[part.offset :].decode()
        assert begin.startswith('"') or part.at is not None
        assert part.at is None or begin.startswith(part.data.decode())


@pytest.mark.parametrize("size", range(1, 6))
def test_blocks_of_any_size_give_the_same(size):
    whole = parts(DOCUMENT)[0]
    blocks = [DOCUMENT[at : at + size] for at in range(0, len(DOCUMENT), size)]
    assert parts(*blocks) == (whole, None)


def test_a_cut_anywhere_gives_the_same():
    whole = parts(DOCUMENT)[0]
    for cut in range(len(DOCUMENT) + 1):
        assert parts(DOCUMENT[:cut], b"", DOCUMENT[cut:]) == (whole, None)


def test_a_document_that_ends_early_gives_what_was_whole_and_an_error():
    end = DOCUMENT.rstrip()
    for cut in range(len(end)):
        found, error = parts(end[:cut])
        assert error is not None, cut
        assert told(found) == EXPECTED[: len(found)]


def test_values_are_the_ones_a_parser_finds():
    found, _ = parts(DOCUMENT)
    value = json.loads(DOCUMENT.decode("utf-8-sig"))
    fields = {part.key: json.loads(part.data) for part in found if part.at is None}
    assert fields == {**value, "results": 7}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "there is nothing in it"),
        (b" \n ", "there is nothing in it"),
        (b"[1]", "it is no JSON object"),
        (b'{"a": 1} x', "something follows the end of the object"),
        (b'{"a": 1}{"b": 2}', "something follows the end of the object"),
        (b'{"a": 1]', "a bracket closes what it did not open"),
        (b'{"a": [1}}', "a bracket closes what it did not open"),
        (b'{"results": [1}]', "a bracket closes what it did not open"),
        (b'{"results": [1] 2}', "no comma and no bracket follows the array"),
        (b'{"results": [1]', "it is cut off"),
        (b'{"results": [1', "it is cut off"),
        (b'{"a": "x', "it is cut off"),
    ],
)
def test_what_has_no_structure_says_what_is_wrong(data, message):
    for blocks in ((data,), [data[at : at + 1] for at in range(len(data))]):
        _, error = parts(*blocks)
        assert str(error).startswith(f"{message}\nHint: ")


@pytest.mark.parametrize("data", [b'{1, "a": 2}', b'{, "a": 2}', b'{"b" 1, "a": 2}'])
def test_what_is_no_member_has_no_key(data):
    found, error = parts(data)
    assert error is None
    assert told(found) == [(None, None, "", 1), ("a", None, "2", 1)]


def test_a_missing_element_is_empty():
    found, _ = parts(b'{"results": [1,,2,]}')
    assert [part.data for part in found] == [b"[]", b"1", b"", b"2", b""]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_part_over_the_cap_is_counted_and_not_held(size):
    long = b'"' + b"x" * 300 + b'"'
    data = b'{"long": %b, "results": [%b, 1], "a": 2}' % (long, long)
    blocks = [data[at : at + size] for at in range(0, len(data), size)]
    found, error = parts(*blocks, max_part_bytes=100)
    assert error is None
    assert [(part.key, part.at, part.data) for part in found] == [
        ("long", None, b""),
        ("results", None, b"[]"),
        ("results", 0, b""),
        ("results", 1, b"1"),
        ("a", None, b"2"),
    ]
    assert [part.size_bytes > 100 for part in found] == [True, False, True, False, False]


def test_memory_holds_one_element():
    import tracemalloc

    def blocks():
        yield b'{"results": ['
        for _ in range(200):
            yield b'{"text": "%b"},' % (b"x" * 100_000)
        yield b"1]}"

    tracemalloc.start()
    count = sum(1 for _ in split_object(blocks(), ARRAYS))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 202
    assert peak < 2_000_000
