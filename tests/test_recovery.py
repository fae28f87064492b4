"""Records on a line that is none as a whole: glued, behind a torn one, over several lines."""

import json

import pytest

from tests.test_frames import Reading, value_of
from tracestream.framings.base import Refusals
from tracestream.framings.recovery import Pieces, behind_torn, first_key
from tracestream.framings.waiting import MAX_LINES
from tracestream.quality import Quality, SourceLedger


def record(number, **more):
    value = {"type": f"t{number}", "text": 'x, "y" \\ {[', "inner": [1, {"type": "inner"}], **more}
    return json.dumps(value).encode()


A, B, C = record(1), record(2), record(3)
OTHER = b'{"kind": 1}'


def types(reading):
    return [value.get("type") for value in reading.values]


def reasons(reading):
    return {reason: entry.count for reason, entry in reading.quality.entries.items()}


@pytest.mark.parametrize("cut", range(1, len(A)))
def test_the_retry_of_a_torn_record_is_read_once_wherever_it_was_torn(cut):
    for data, line in ((B + b"\n" + A[:cut] + A, 2), (A[:cut] + A + b"\n" + B, 1)):
        reading = Reading(data)
        assert sorted(types(reading)) == ["t1", "t2"]
        assert reasons(reading) == {"torn_prefix": 1}
        (example,) = reading.quality.entries["torn_prefix"].examples
        assert example.line == line
        assert reading.quality.bytes_dropped == cut - (A[cut - 1 : cut] == b" ")
        assert reading.quality.skipped == 1
        assert Reading(*(data[at : at + 7] for at in range(0, len(data), 7))).whole == reading.whole


@pytest.mark.parametrize("cut", range(1, len(A)))
def test_an_inner_object_of_a_torn_record_is_never_a_record(cut):
    reading = Reading(B + b"\n" + A[:cut] + b"\n" + C)
    assert types(reading) == ["t2", "t3"]
    assert reasons(reading) == {"malformed_record": 1}
    assert reasons(Reading(B + b"\n" + A[:cut])) == {"torn_tail": 1}


LINES = {
    "two": (A + B, ["t1", "t2"], {"glued_records": 1}),
    "three, blanks between": (A + b" \t" + B + b"  " + C, ["t1", "t2", "t3"], {"glued_records": 1}),
    "two lines": (A + B + b"\n" + B + C, ["t1", "t2", "t2", "t3"], {"glued_records": 2}),
    "rubbish behind": (A + b"oops\n", ["t1"], {"malformed_record": 1}),
    "rubbish between": (A + b" oops " + B, ["t1", "t2"], {"torn_prefix": 1}),
    "glued behind a torn one": (
        *(A + b"\n" + A[:30] + B + C, ["t1", "t2", "t3"]),
        {"torn_prefix": 1, "glued_records": 1},
    ),
    "torn behind a whole one": (A + B[:30] + C, ["t1", "t3"], {"torn_prefix": 1}),
    "torn twice": (A + b"\n" + A[:30] + B[:40] + C, ["t1", "t3"], {"torn_prefix": 1}),
    "torn at the end": (A + B[:30], ["t1"], {"torn_tail": 1}),
    "a prefix that is no JSON": (A + b"\nINFO: " + B, ["t1", "t2"], {"torn_prefix": 1}),
    "another first key": (OTHER + b"\n" + A[:30] + B, [None], {"torn_tail": 1}),
    "an empty first key": (
        *(b'{"": 1}\n' + A[:30] + B + b"\n", [None]),
        {"malformed_record": 1},
    ),
    "no intact record at all": (A[:30] + B, ["t2"], {"torn_prefix": 1}),
    "no intact record, many lines": (
        b"".join([A[:30] + B + b"\n"] * 3),
        ["t2"] * 3,
        {"torn_prefix": 3},
    ),
    "a byte-order mark between": (
        A + b"\xef\xbb\xbf" + B,
        ["t1", "t2"],
        {"bom": 1, "glued_records": 1},
    ),
    "NUL between": (A + b"\0\0" + B, ["t1", "t2"], {"nul_bytes": 1, "glued_records": 1}),
    "NUL behind glued ones": (A + B + b"\0\0", ["t1", "t2"], {"nul_bytes": 1, "glued_records": 1}),
    "NUL behind a torn one": (
        A + b"\n" + A[:30] + b"\0" * 99 + B,
        ["t1", "t2"],
        {"torn_prefix": 1, "nul_bytes": 1},
    ),
}


@pytest.mark.parametrize("case", LINES)
def test_what_stands_on_a_line_is_read(case):
    data, expected, damage = LINES[case]
    reading = Reading(data)
    assert types(reading) == expected
    assert reasons(reading) == damage
    for cut in range(len(data) + 1):
        assert Reading(data[:cut], data[cut:]).whole == reading.whole


def test_a_file_without_newlines_is_read_at_bounded_memory():
    n, cap = 300, 2 * len(A)
    reading = Reading(A * n, cap=cap)
    assert len(reading.records) == n
    assert reasons(reading) == {"glued_records": 1}
    assert [each.offset for each in reading.records] == [len(A) * at for at in range(n)]


def test_a_record_over_the_cap_in_a_glued_file_is_skipped_alone():
    large = record(9, pad="x" * 300)
    reading = Reading(A + large + B, cap=300)
    assert types(reading) == ["t1", "t2"]
    assert reasons(reading) == {"oversized_record": 1, "glued_records": 1}
    assert reading.quality.bytes_dropped == len(large)


def joined(n):
    """A record over so many lines."""
    return b'{"type": "long", "text": "' + b"x\r\n" * (n - 1) + b'"}'


@pytest.mark.parametrize("n", [2, 3, MAX_LINES, MAX_LINES + 1])
def test_a_string_over_a_thousand_lines_is_joined_and_no_more(n):
    reading = Reading(A + b"\n" + joined(n) + b"\n" + B)
    (place,) = (each.line for each in reading.records if value_of(each)["type"] == "t2")
    assert place == n + 2
    assert types(reading) == (["t1", "long", "t2"] if n <= MAX_LINES else ["t1", "t2"])
    if n > MAX_LINES:
        assert reading.quality.skipped == n  # the first line, then each for itself


JOINED = {
    "a torn line": (B[:40] + b"\n" + C, ["t3"], {"malformed_record": 1}),
    "a value behind it": (joined(3) + A, ["long", "t1"], {"glued_records": 1}),
    "a syntax error later": (b'{"a": "x\ny" oops}\n' + A, ["t1"], {"malformed_record": 2}),
    "a newline outside a string": (b'{"a": 1,\n"b": 2} \n' + A, ["t1"], {"malformed_record": 2}),
    "never closed": (b'{"a": "x\ny\nz', [], {"malformed_record": 2, "torn_tail": 1}),
    "closed at the end": (b'{"type": "x\ny"}', ["x\ny"], {}),
    "over the cap": (b'{"a": "' + b"x\n" * 300 + b'"}\n' + A, ["t1"], {"malformed_record": 301}),
}


@pytest.mark.parametrize("case", JOINED)
def test_lines_are_joined_only_while_a_string_is_open(case):
    data, expected, damage = JOINED[case]
    data = A + b"\n" + data if case != "over the cap" else data
    reading = Reading(data, cap=1 << 20 if case != "over the cap" else 400)
    assert types(reading) == (["t1", *expected] if case != "over the cap" else expected)
    assert reasons(reading) == damage
    for cut in range(0, len(data) + 1, 3):
        cap = 1 << 20 if case != "over the cap" else 400
        assert Reading(data[:cut], data[cut:], cap=cap).whole == reading.whole


def test_the_first_key_is_as_it_was_written():
    assert first_key(b' {"a\\"b" : 1}') == b'a\\"b'
    assert [first_key(data) for data in (b"{}", b"[1]", b"{a: 1}", b"")] == [None] * 4


def test_nothing_is_found_behind_a_torn_record_without_its_key_or_its_end():
    for data in (A[:30] + B[:-1], b'{"kind": [' + B, b"x" + B[:-1] + b"]"):
        assert behind_torn(data, b"kind") is None
    assert behind_torn(A[:30] + B, b"type") == 30


def test_a_line_beside_the_limit_of_what_is_held_is_cut_nowhere():
    # The first value does not end where a long line is first looked at; the cap is a little farther on.
    large = record(8, pad="x" * 1_000_000)
    data = large + record(9, pad="x" * 600_000) + b"\n" + A + b"\n"
    for cap in (1_100_000, 1_300_000, 1_400_000, 3_000_000):
        reading = Reading(data, cap=cap)
        assert types(reading) == ["t8", "t9", "t1"]
        assert reasons(reading) == {"glued_records": 1}
        blocks = (data[at : at + 65_536] for at in range(0, len(data), 65_536))
        assert Reading(*blocks, cap=cap).whole == reading.whole


@pytest.mark.parametrize("kind", ["glued", "an array without commas"])
def test_splitting_a_line_looks_at_each_byte_a_few_times(kind):
    n_seen = 0

    class Counted(bytes):
        def __getitem__(self, item):
            nonlocal n_seen
            part = super().__getitem__(item)
            n_seen += len(part) if isinstance(part, bytes) else 1
            return part

    ledger = SourceLedger(Quality(), "a", 0)
    pieces = Pieces(ledger, 1 << 20, 1, 0, Refusals())
    data = Counted((b"{}" if kind == "glued" else b"{}\n") * 5000)
    assert len(list(pieces.feed(data))) == 5000
    assert n_seen < 20 * len(data)
