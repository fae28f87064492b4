"""The property of damage: k faults cost k records at most, and any corruption leaves all else as it was."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.damage.accounting import check_any_bytes
from tests.damage.frame_instances import COMPRESS
from tests.damage.instances import Part, bad, good, instance, mark, record
from tests.damage.readings import blocks_of, read
from tracestream import read_batches
from tracestream.schema import EVENTS

LF, NUL = b"\n", b"\x00"
BAD = [
    b"{oops}",
    b"{'event_type': 1}",
    b'{"event_type": "x",}',
    b'{"event_type" "x"}',
    b'{"a": tru}',
]
BAD += [
    b'{"event_type": "x"]',
    b'{"a": "\\q"}',
    b'{"a": 01}',
    b'{"event_type": "out',
    b'{"a": {"b": [',
]
GARBAGE = [
    b"# started",
    b"2026-01-01 INFO ready",
    b"Traceback (most recent call last):",
    b"oops: 7",
]
GARBAGE += [b"'", b'say "hi', b"\\", "é日".encode(), b"\xfd\xfe\xff", b"-", b'"a": 1,', b"nul"]
texts = st.text('ab "\\{}[],:é日🙂\n\t\u2028\x7f', max_size=8)
values = (
    texts | st.integers() | st.none() | st.lists(texts, max_size=2) | st.dictionaries(texts, texts)
)
fields = st.dictionaries(st.sampled_from("xyz"), values, max_size=2)


@st.composite
def events(draw, n):
    """An event of tool `t<n>`, raw or escaped."""
    event = {"event_type": "tool_start", "tool_name": f"t{n}", **draw(fields)}
    return json.dumps(event, ensure_ascii=draw(st.booleans())).encode()


@st.composite
def torn(draw, n):
    """A record without its end."""
    data = draw(events(n))
    return data[: draw(st.integers(1, len(data) - 1))].rstrip()


@st.composite
def nuls(draw):
    return bad("nul_bytes", NUL * draw(st.integers(1, 20)))


@st.composite
def faulted_line(draw, n):
    """A record on a line, or what a fault made of it: its parts."""
    kind = draw(
        st.sampled_from(["", "", "bad", "torn", "garbage", "NULs", "glued", "prefix", "blank"])
    )
    record_parts = (good(n, draw(events(n))), LF)
    if kind == "bad":
        return bad("malformed_record", draw(st.sampled_from(BAD))), LF
    if kind == "torn":
        return bad("malformed_record", draw(torn(n))), LF
    if kind == "garbage":
        return bad("malformed_record", draw(st.sampled_from(GARBAGE))), LF, *record_parts
    if kind == "NULs":
        block = draw(nuls())
        return draw(
            st.sampled_from(
                [(block, LF, *record_parts), (block, *record_parts), (record_parts[0], block, LF)]
            )
        )
    if kind == "glued":
        twin = good(n + 50, draw(events(n + 50)))
        return record_parts[0], mark("glued_records"), twin, LF
    if kind == "prefix":
        data = record_parts[0].data  # of a record that was written again, whole
        return bad(
            "torn_prefix", data[: draw(st.integers(1, len(data) - 1))].rstrip()
        ), *record_parts
    return record_parts if not kind else (b" \r\n", *record_parts)


@st.composite
def faulted_lines(draw):
    """Lines with at most one fault a record, and one record at least without any."""
    n_lines = draw(st.integers(1, 5))
    healthy = draw(st.integers(0, n_lines))
    parts = []
    for n in range(n_lines + 1):
        parts += (good(n), LF) if n == healthy else draw(faulted_line(n))
    end = draw(st.sampled_from(["", "no newline", "torn", "NULs"]))
    if end == "no newline":
        parts.pop()
    if end == "torn":
        parts.append(bad("torn_tail", draw(torn(99))))
    if end == "NULs":
        parts.append(draw(nuls()))
    if (
        end == "no newline"
        and parts[-1].__class__ is Part
        and "malformed_record" in parts[-1].reasons
    ):
        parts[-1] = bad("torn_tail", parts[-1].data)  # without its newline it may still be written
    return instance("property", "lines", *parts)


@st.composite
def faulted_array(draw):
    """An array of which elements are bad, or which is cut."""
    parts = []
    for n in range(draw(st.integers(1, 5))):
        is_bad = n > 0 and draw(st.booleans())
        element = (
            bad("malformed_record", b"{oops: [1, {}]}") if is_bad else good(n, draw(events(n)))
        )
        parts += [element, draw(st.sampled_from([b",", b", ", b",\n  "]))]
    end = draw(st.sampled_from(["]", "cut between", "cut inside"]))
    if end == "]":
        parts[-1] = b"\n]\n"
    else:
        parts.append(bad("truncated_array", b"" if end == "cut between" else draw(torn(99))))
    return instance(
        "property", "array", draw(st.sampled_from([b"[", b"\n[\n  "])), *parts, framing="array"
    )


@st.composite
def faulted_documents(draw):
    """Pretty-printed records one after another, bad ones and rubbish between, the last one torn."""
    parts = []
    for n in range(draw(st.integers(1, 4))):
        pretty = json.dumps(json.loads(draw(events(n))), indent=2).encode()
        kind = draw(st.sampled_from(["", "", "bad", "rubbish"])) if n else ""
        if kind == "bad":
            parts += [bad("malformed_record", b'{\n  "a": oops\n}'), LF]
        else:
            if kind == "rubbish":
                parts += [bad("malformed_record", b"# rubbish"), LF]
            parts += [good(n, pretty), LF]
    if draw(st.booleans()):
        parts.append(bad("torn_tail", draw(torn(99))))
    return instance("property", "documents", *parts, framing="document")


COLUMNS = [name for name in EVENTS.names if name not in ("source", "line", "offset", "length")]


def values_of(data):
    return read_batches(data, columns=COLUMNS).read_all().to_pylist()


@settings(max_examples=120)
@given(faulted_lines() | faulted_array() | faulted_documents(), st.sampled_from([None, *COMPRESS]))
def test_faults_cost_what_they_touch_and_are_entries_at_their_lines(instance, codec):
    data = instance.data if codec is None else COMPRESS[codec](instance.data)
    assert instance.compared(read(data)) == instance.expected
    healthy = b"".join(part.data + LF for part in instance.parts if part.is_record)
    assert values_of(data) == values_of(healthy)


def faulted_source(n_lines):
    return b"".join(
        record(n, x='a "quoted" {text}', y=[n, {"z": "\\"}]) + LF for n in range(n_lines)
    )


N_LINES = 12
SOURCE = faulted_source(N_LINES)
STARTS = [0]
while STARTS[-1] < len(SOURCE):
    STARTS.append(SOURCE.index(LF, STARTS[-1]) + 1)
SPLICES = [SOURCE[a:b] for a, b in [(3, 40), (60, 150), (0, STARTS[1]), (STARTS[3], STARTS[5] - 9)]]
INSERTED = [
    *BAD,
    *GARBAGE,
    *SPLICES,
    NUL * 9,
    LF,
    b'"',
    b"\\",
    b"{",
    b"}",
    b"]",
    b"\xef\xbb\xbf",
    b"\r",
    b"[" * 200,
]


@st.composite
def corruptions(draw):
    """Disjoint spans behind the first line, each with what stands there instead."""
    at = draw(st.lists(st.integers(STARTS[1], len(SOURCE)), min_size=1, max_size=3, unique=True))
    spans, end = [], 0
    for begin in sorted(at):
        length = draw(st.sampled_from([0, 0, 1, 1, 1, 7, 200]))
        if begin >= end:
            end = min(begin + length, len(SOURCE))
            instead = draw(st.sampled_from(INSERTED) | st.binary(max_size=4) | st.just(b""))
            spans.append((begin, end, instead))
    return spans


def corrupted(spans):
    parts, at = [], 0
    for begin, end, instead in spans:
        parts += [SOURCE[at:begin], instead]
        at = end
    return b"".join([*parts, SOURCE[at:]])


def untouched(spans):
    """Lines with no fault in them or in a neighbour: tool and new offset."""
    touched = {
        line
        for begin, end, _ in spans
        for line in range(N_LINES + 1)
        for first in [STARTS[line]]
        for last in [STARTS[line + 1] if line < N_LINES else first + 1]
        if begin < last and (end > first or begin == end >= first)
    }
    for line in range(N_LINES):
        if not touched & {line - 1, line, line + 1}:
            shift = sum(len(i) - (e - b) for b, e, i in spans if e <= STARTS[line])
            yield f"t{line}", STARTS[line] + shift


def check_corruption(spans, cuts):
    data = corrupted(spans)
    reading = check_any_bytes(data, *cuts)
    assert reading.framing == "lines"
    read_at = {(event.tool, event.offset) for event in reading.events}
    assert not set(untouched(spans)) - read_at


any_cuts = st.lists(st.integers(0, len(SOURCE)), max_size=4)


def test_the_first_and_the_last_line_are_touched_by_what_is_inserted_beside_them():
    assert len(list(untouched([]))) == N_LINES
    assert [tool for tool, _ in untouched([(STARTS[1], STARTS[1], b"x")])] == [
        f"t{n}" for n in range(3, 12)
    ]
    assert [tool for tool, _ in untouched([(len(SOURCE), len(SOURCE), b"x")])] == [
        f"t{n}" for n in range(11)
    ]


@settings(max_examples=150)
@given(corruptions(), any_cuts)
@example([(STARTS[4] - 1, STARTS[4], b"")], [])
@example([(STARTS[4] + 9, STARTS[4] + 10, b"\n")], [STARTS[4] + 9])
def test_whatever_is_corrupted_all_else_is_read_and_every_byte_explained(spans, cuts):
    check_corruption(spans, cuts)


@pytest.mark.long
@settings(max_examples=20_000)
@given(corruptions(), any_cuts)
def test_whatever_is_corrupted_many_times(spans, cuts):
    check_corruption(spans, cuts)


@settings(max_examples=60)
@given(
    st.sampled_from(list(COMPRESS)),
    st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 2), st.binary(max_size=3)),
        min_size=1,
        max_size=2,
    ),
    st.sampled_from([1, 100]),
)
def test_a_corrupted_compressed_source_gives_what_it_gives_whatever_the_blocks(codec, faults, size):
    data = COMPRESS[codec](SOURCE)
    for at, n_lost, instead in faults:
        data = data[:at] + instead + data[at + n_lost :]
    reading = check_any_bytes(data, *range(0, len(data), size))
    assert read(blocks_of(data, size), dialect="praisonai") == reading
