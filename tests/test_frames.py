import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracestream.frames import Frames, Record
from tracestream.quality import Quality, SourceLedger
from tracestream.structure import BOM

CAP = 1 << 20


def value_of(record):
    return json.loads(record.data.decode("utf-8", "replace"), strict=False)


def is_json(record):
    try:
        value_of(record)
    except ValueError:
        return False
    return True


class Reading:
    """What a source gives: its records, its framing and its ledger, as the scan would read it."""

    def __init__(self, *blocks, cap=CAP):
        self.quality = Quality()
        frames = Frames(SourceLedger(self.quality, "a", 0), max_record_bytes=cap)
        self.records = []
        for block in blocks:
            self._take(frames, frames.decode(block))
        self._take(frames, frames.flush())
        self.framing = frames.framing

    def _take(self, frames, records):
        for record in records:
            if is_json(record):
                self.records.append(record)
            else:
                frames.reject(record)

    @property
    def values(self):
        return [value_of(record) for record in self.records]

    @property
    def reasons(self):
        """Reason, line and offset of each example."""
        return [
            (reason, example.line, example.offset)
            for reason, entry in self.quality.entries.items()
            for example in entry.examples
        ]

    @property
    def whole(self):
        return self.framing, self.records, self.quality.to_dict()


A, B, C = b'{"a": 1}', b'{"b": [2, "]"]}', b'{"c": "x\\"{"}'
PRETTY_A, PRETTY_B = b'{\n  "a": 1\n}', b'{\n  "b": [\n    2,\n    "]"\n  ]\n}'
VALUES = {"A": {"a": 1}, "B": {"b": [2, "]"]}, "C": {"c": 'x"{'}, "X": {"a": "x\ny"}}

# Data, framing, records as value, line and offset, damage as reason, line and offset.
CASES = {
    "nothing": (b"", "lines", "", ""),
    "blank": (b" \r\n\t\n", "lines", "", ""),
    "one line": (A, "lines", "A 1 0", ""),
    "lines": (A + b"\n" + B + b"\n" + C + b"\n", "lines", "A 1 0, B 2 9, C 3 25", ""),
    "crlf": (A + b"\r\n" + C + b"\r\n", "lines", "A 1 0, C 2 10", ""),
    "blank lines": (b"\n \n" + A + b"\n\t\r\n\n" + C, "lines", "A 3 3, C 6 16", ""),
    "bom": (BOM + A, "lines", "A 1 3", "bom 1 0"),
    "bom alone": (BOM, "lines", "", "bom 1 0"),
    "half a bom": (BOM[:2], "lines", "", "torn_tail 1 0"),
    "torn tail": (A + b'\n{"b": [', "lines", "A 1 0", "torn_tail 2 9"),
    "whole tail": (A + b"\n" + C, "lines", "A 1 0, C 2 9", ""),
    "bad last line": (A + b"\nx\n", "lines", "A 1 0", "malformed_record 2 9"),
    "bad line": (A + b"\n{x\n" + C, "lines", "A 1 0, C 3 12", "malformed_record 2 9"),
    "bad first line": (b"# log\n" + A, "lines", "A 2 6", "malformed_record 1 0"),
    "empty array": (b"[]", "array", "", ""),
    "blank array": (b" [ \n ] \n", "array", "", ""),
    "one-line array": (b"[" + A + b"," + C + b"]", "array", "A 1 1, C 2 10", ""),
    "pretty array": (b"[\n  " + PRETTY_A + b",\n  " + C + b"\n]\n", "array", "A 1 4, C 2 20", ""),
    "bom before an array": (BOM + b"\n [" + A + b"]", "array", "A 1 6", "bom 1 0"),
    "bad element": (
        b"[" + A + b", x, " + C + b"]",
        "array",
        "A 1 1, C 3 14",
        "malformed_record 2 11",
    ),
    "comma too many": (b"[" + A + b",]", "array", "A 1 1", "malformed_record 2 10"),
    "array cut between": (b"[" + A + b", \n", "array", "A 1 1", "truncated_array 2 12"),
    "array cut behind": (b"[" + A, "array", "A 1 1", "truncated_array 2 9"),
    "array cut inside": (b"[" + A + b', {"b": [', "array", "A 1 1", "truncated_array 2 11"),
    "array cut in a string": (
        b"[" + A + b', {"b": "x, {',
        "array",
        "A 1 1",
        "truncated_array 2 11",
    ),
    "array cut in a word": (b"[" + A + b", tru", "array", "A 1 1", "truncated_array 2 11"),
    "array cut at once": (b"[", "array", "", "truncated_array 1 1"),
    "array out of shape": (
        b"[" + A + b', {"b": ]}, ' + C + b"]",
        "array",
        "A 1 1",
        "truncated_array 2 11",
    ),
    "lines behind an array": (
        *(b"[" + A + b"]\n" + C + b'\n{"b"', "array"),
        *("A 1 1, C 2 11", "trailing_data 2 11, torn_tail 3 25"),
    ),
    "array behind an array": (
        b"[" + A + b"]\n[" + C + b"]",
        "array",
        "A 1 1, C 2 12",
        "trailing_data 2 11",
    ),
    "documents": (PRETTY_A + b"\n" + PRETTY_B + b"\n", "document", "A 1 0, B 2 13", ""),
    "one document": (b"\n" + PRETTY_B, "document", "B 1 1", ""),
    "documents with cr": (
        PRETTY_A.replace(b"\n", b"\r\n") + b"\r\n" + A,
        "document",
        "A 1 0, A 2 16",
        "",
    ),
    "document cut": (PRETTY_A + b'\n{\n  "b": [', "document", "A 1 0", "torn_tail 2 13"),
    "rubbish between documents": (
        *(PRETTY_A + b"\nrubbish {\n" + PRETTY_B, "document"),
        *("A 1 0, B 3 23", "malformed_record 2 13"),
    ),
    "document out of shape": (
        *(PRETTY_A + b'\n{\n  "b": ]\n}\n' + PRETTY_B, "document"),
        *("A 1 0, B 3 26", "malformed_record 2 13"),
    ),
    "object that never closes": (
        *(b'{\n"a": 1,\n' + A, "lines"),
        *("A 3 10", "malformed_record 1 0, malformed_record 2 2"),
    ),
    "object with a syntax error": (
        *(b'{\n"a" 1}\n' + A, "lines"),
        *("A 3 9", "malformed_record 1 0, malformed_record 2 2"),
    ),
    "string over two lines": (
        *(b'{"a": "x\ny"}\n' + A, "lines"),
        *("X 1 0, A 3 13", ""),
    ),
}


def places(text):
    """What stands in the table: name, line and offset of each."""
    return [
        (name, int(line), int(offset))
        for name, line, offset in map(str.split, filter(None, text.split(", ")))
    ]


@pytest.mark.parametrize("case", CASES)
def test_framing_records_and_damage(case):
    data, framing, records, reasons = CASES[case]
    reading = Reading(data)
    assert reading.framing == framing
    expected = [(VALUES[name], line, offset) for name, line, offset in places(records)]
    assert [(value_of(each), each.line, each.offset) for each in reading.records] == expected
    assert reading.reasons == places(reasons)


def test_lines_end_at_the_newline_byte_alone():
    text = "\u2028\u2029\u0085\x0b\x0c"
    assert Reading(f'{{"a": "{text}"}}\n{{"b": 1}}'.encode()).values == [{"a": text}, {"b": 1}]


def test_elements_of_an_array_are_any_values():
    reading = Reading(b'[1, "]", [2], null]')
    assert reading.values == [1, "]", [2], None]
    assert [(each.line, each.offset) for each in reading.records] == [
        (1, 1),
        (2, 4),
        (3, 9),
        (4, 14),
    ]


@pytest.mark.parametrize("case", CASES)
def test_any_two_or_three_blocks_give_the_same(case):
    data = CASES[case][0]
    expected = Reading(data).whole
    for cut in range(len(data) + 1):
        assert Reading(data[:cut], data[cut:]).whole == expected
        assert Reading(data[:cut], data[cut : cut + 1], b"", data[cut + 1 :]).whole == expected


def pretty(value):
    return json.dumps(value, indent=2).encode()


def line(value):
    """One line; half a surrogate pair makes it no UTF-8."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


scalars = st.sampled_from(
    [None, True, 0, -1.5e-7, 10**30, "", "]", '"\\', "\n\u2028{é", "\ud83d", float("nan")]
)


def containers(inner):
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)


values = st.recursive(scalars, containers, max_leaves=6)
objects = st.lists(st.dictionaries(st.text(max_size=2), values, min_size=1, max_size=3), max_size=4)

valid = objects.flatmap(
    lambda values: st.sampled_from(
        [
            b"".join(line(value) + b"\n" for value in values),
            b"\r\n".join(map(line, values)),
            b"[" + b", ".join(map(line, values)) + b"]",
            pretty(values),
            b"\n".join(map(pretty, values)),
        ]
    )
)
fragments = st.lists(
    st.sampled_from(
        [
            *(bytes([byte]) for byte in b'[]{}":,\\\n\r\t 1e.-x\x00\xef\xbb\xbf\xff'),
            *(A, B, C, PRETTY_A, PRETTY_B, b'"a": 1.5'),
        ]
    ),
    max_size=24,
).map(b"".join)


@st.composite
def corrupted(draw):
    """A valid source with bytes removed, inserted and changed."""
    data = draw(valid)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(fragments) + data[at + draw(st.integers(0, 9)) :]
    return data


def cut(data, draw):
    at = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[a:b] for a, b in zip([0, *at], [*at, len(data)], strict=True)]


@given(valid | corrupted() | fragments, st.integers(1, 40) | st.just(CAP), st.data())
def test_any_split_into_blocks_gives_the_same(data, cap, draw):
    expected = Reading(data, cap=cap).whole
    assert Reading(*cut(data, draw), cap=cap).whole == expected
    assert Reading(*(data[at : at + 1] for at in range(len(data))), cap=cap).whole == expected


@given(valid | corrupted() | fragments)
def test_a_record_lies_where_it_says(data):
    for record in Reading(data).records:
        assert data[record.offset : record.offset + len(record.data)] == record.data


@given(objects)
def test_lines_array_and_documents_of_the_same_values_give_the_same(values):
    expected = Reading(b"".join(json.dumps(value).encode() + b"\n" for value in values)).records
    shapes = {
        "one line": json.dumps(values).encode(),
        "compact": json.dumps(values, separators=(",", ":")).encode(),
        "pretty array": pretty(values),
        "tabs": json.dumps(values, indent="\t").encode().replace(b"\n", b"\r\n"),
        "documents": b"\n".join(pretty(value) for value in values) + b"\n",
    }
    for shape, data in shapes.items():
        reading = Reading(data)
        assert not reading.quality.entries, shape
        assert [json.dumps(value) for value in reading.values] == [
            json.dumps(json.loads(record.data)) for record in expected
        ], shape


@pytest.mark.parametrize(
    ("framing", "head", "tail"),
    [
        ("lines", A + b"\n", b"\n"),
        ("array", b"[" + A + b",", b","),
        ("document", PRETTY_A + b"\n", b"\n"),
    ],
)
@pytest.mark.parametrize("giant", ["string", "nest", "blank"])
def test_an_oversized_record_is_skipped_at_bounded_memory(framing, head, tail, giant):
    cap, block, n_blocks = 10_000, 1 << 16, 8
    first, middle, last = {
        "string": (b'{"big": "', b"x" * block, b'"}'),
        "nest": (b'{"big": [0', b",[1],{}" * (block // 7), b"]}"),
        "blank": (b'{"big": ', b" " * block, b"0}"),
    }[giant]
    end = b"]" if framing == "array" else b""
    quality = Quality()
    frames = Frames(SourceLedger(quality, "a", 0), max_record_bytes=cap)
    records = list(frames.decode(head + first))
    tracemalloc.start()
    for _ in range(n_blocks):
        records += frames.decode(middle)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    records += frames.decode(last + tail + C + end)
    records += frames.flush()
    assert frames.framing == framing
    assert [json.loads(record.data) for record in records] == [VALUES["A"], VALUES["C"]]
    assert records[1].line == 3
    assert list(quality.entries) == ["oversized_record"]
    assert quality.skipped == 1
    assert quality.bytes_dropped == len(first) + n_blocks * len(middle) + len(last)
    assert quality.entries["oversized_record"].examples[0].offset == len(head)
    assert peak < 4 * block


@pytest.mark.parametrize("size", [9, 10, 11])
def test_the_size_cap_is_the_largest_size_read(size):
    data = b'{"a":%s}' % (b"1" * (size - 6))
    reading = Reading(data + b"\n", cap=10)
    assert [len(record.data) for record in reading.records] == ([size] if size <= 10 else [])
    assert reading.quality.skipped == (size > 10)


def test_a_large_array_on_one_line_is_read_element_by_element():
    element = b'{"text": "' + b'a, ]}\\"' * 20 + b'", "n": [1, {"x": []}]}'
    n = (2 << 20) // len(element)
    data = b"[" + b",".join([element] * n) + b"]"
    quality = Quality()
    frames = Frames(SourceLedger(quality, "a", 0))
    most_at_once = n_records = 0
    for at in range(0, len(data), 1 << 16):
        found = list(frames.decode(data[at : at + (1 << 16)]))
        most_at_once = max(most_at_once, len(found))
        assert all(record.data == element for record in found)
        n_records += len(found)
    assert (list(frames.flush()), n_records, most_at_once) == (
        [],
        n,
        (1 << 16) // (len(element) + 1) + 1,
    )
    assert not quality.entries


def test_a_rejected_record_is_said_with_its_reason():
    frames = Frames(SourceLedger(quality := Quality(), "a", 0))
    for record in [*frames.decode(b"7\n"), *frames.flush()]:
        frames.reject(record, "not_an_object")
    (example,) = quality.entries["not_an_object"].examples
    assert (example.line, example.offset, example.detail, quality.bytes_dropped) == (1, 0, "7", 1)


def test_a_record_that_the_end_of_an_array_cuts_counts_once():
    reading = Reading(b"[" + A + b', {"b": 1}x')
    assert reading.values == [VALUES["A"], {"b": 1}]
    assert reading.reasons == [("truncated_array", 2, 19)]
    assert reading.quality.entries["truncated_array"].count == 1
    assert reading.quality.skipped == 1


def test_only_the_last_record_may_go_on():
    assert Reading(A + b"\n" + C).records == [Record(A, 1, 0), Record(C, 2, 9, whole=False)]
