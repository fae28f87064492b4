"""Work and memory stay in proportion to what is read, whatever is in it; large records are read."""

import cProfile
import gc
import pstats
import time
import tracemalloc
from collections.abc import Iterator

import pytest

from tests.damage.instances import record
from tests.damage.readings import Watched, blocks_of, read
from tracestream import grade, read_batches

LINE = record(0) + b"\n"
TORN = b'{"event_type": "tool_start", "x": '

HOSTILE = {
    "NULs": b"\x00",
    "newlines": b"\n",
    "blanks": b" ",
    "brackets that open": b"[",
    "objects that open": b'{"a":',
    "brackets that close": b"}",
    "quotes": b'"',
    "backslashes": b"\\",
    "text": b"x",
    "an open string": b'"x ',
    "an open string a line": b'{"event_type": "x\n',
    "open strings that go on": b'{"a":"\n","b":{"c":"\n',
    "open strings in arrays": b'["\n",["\n',
    "lines in a string": b'{"a": "' + b"some text of it\n" * 60 + b"\n",
    "torn prefixes on one line": TORN,
    "torn in a string on one line": TORN + b'"',
    "torn prefixes, each with its record": TORN + record(1) + b"\n",
    "a torn prefix of many objects": TORN + b'[{"event_type": 1}, ' * 30 + record(1) + b"\n",
    "glued records": record(1),
    "glued rubbish": record(1) + b"x",
    "glued empty objects": b"{}",
    "byte-order marks": b"\xef\xbb\xbf",
    "half marks": b"\xef\xbb",
    "bad lines": b"{oops}\n",
    "NULs and marks": b"\x00\xef\xbb\xbf\n",
    "a comma": b",",
    "empty arrays": b"[],",
    "digits": b"7",
    "escapes": rb'"\u00',
    "bytes that are no UTF-8": b"\xff",
}
HEADS = {
    "lines": LINE,
    "array": b"[" + LINE,
    "document": b'{\n"event_type": "output"\n}\n',
    "nothing": b"",
}


def hostile(name: str, framing: str, size: int) -> bytes:
    """Return about so many bytes of one hostile thing, behind a healthy record."""
    piece = HOSTILE[name]
    return HEADS[framing] + piece * (size // len(piece))


OFTEN = ["NULs", "text", "brackets that open", "objects that open", "empty arrays", "glued records"]
OFTEN += [
    "an open string a line",
    "open strings that go on",
    "lines in a string",
    "byte-order marks",
]
OFTEN += ["torn in a string on one line", "torn prefixes, each with its record"]
"""What is looked at on every run; the rest with `-m long`."""
everyday = [(name, framing) for name in OFTEN for framing in ("lines", "array")]
everything = [(name, framing) for name in HOSTILE for framing in HEADS]


def n_calls(name: str, framing: str, size: int) -> int:
    """Return how many functions are called, those in C included, to read some bytes."""
    blocks = blocks_of(hostile(name, framing, size), 4096)
    profile = cProfile.Profile()
    profile.runcall(read, blocks, dialect="praisonai")
    return pstats.Stats(profile).total_calls


@pytest.mark.parametrize(("name", "framing"), everyday)
def test_the_work_is_in_proportion_to_the_bytes(name, framing):
    small, large = (n_calls(name, framing, size) for size in (4 << 10, 16 << 10))
    assert large < 5 * small + 2000, (small, large)


@pytest.mark.long
@pytest.mark.parametrize(("name", "framing"), everything)
def test_the_work_is_in_proportion_to_many_bytes(name, framing):
    small, large = (n_calls(name, framing, size) for size in (64 << 10, 256 << 10))
    assert large < 5 * small + 2000, (small, large)


def seconds(name: str, framing: str, size: int) -> float:
    """Return the processor time it takes, which shows what is copied again and again, too."""
    blocks = blocks_of(hostile(name, framing, size), 64 << 10)
    start = time.process_time()
    read(blocks, dialect="praisonai")
    return time.process_time() - start


@pytest.mark.long
@pytest.mark.parametrize(("name", "framing"), everything)
def test_the_time_is_in_proportion_to_the_bytes(name, framing):
    small, large = (
        min(seconds(name, framing, size) for _ in range(2)) for size in (256 << 10, 1 << 20)
    )
    assert large < 8 * small + 0.5, (small, large)


def peak_of(name: str, framing: str, size: int, cap: int) -> int:
    """Return the most bytes in use while some bytes are read, in blocks made one by one."""
    data = hostile(name, framing, size)

    def blocks() -> Iterator[bytes]:
        for at in range(0, len(data), cap):
            gc.collect()  # errors and the frames they hold: now, not when Python finds time for it
            yield data[at : at + cap]

    options = {"columns": ["kind"], "dialect": "praisonai", "batch_rows": 20}
    gc.freeze()  # what is there already needs no second look
    tracemalloc.start()
    try:
        for batch in read_batches(blocks(), max_record_bytes=cap, **options):
            del batch
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.unfreeze()


@pytest.mark.parametrize("name", OFTEN)
def test_memory_does_not_grow_with_the_bytes(name):
    cap = 1 << 10
    peak_of(name, "lines", cap, cap)  # what is imported and cached is there from now on
    small, large = (peak_of(name, "lines", size, cap) for size in (6 * cap, 32 * cap))
    assert large < small + 22 * cap, (small, large)


@pytest.mark.long
@pytest.mark.parametrize(("name", "framing"), everything)
def test_memory_does_not_grow_with_many_bytes(name, framing):
    cap = 64 << 10
    peak_of(name, framing, cap, cap)
    small, large = (peak_of(name, framing, size, cap) for size in (6 * cap, 32 * cap))
    assert large < small + 12 * cap, (small, large)


def lines_of(size: int) -> Iterator[bytes]:
    """Yield two healthy lines, and between them a record of a size, block by block."""
    yield LINE + b'{"event_type": "tool_start", "tool_name": "big", "x": "'
    for _ in range(size >> 20):
        yield b"y" * (1 << 20)
    yield b'"}\n' + LINE


@pytest.mark.parametrize(
    "size",
    [20 << 20, pytest.param(200 << 20, marks=pytest.mark.long)],
    ids=["20 MiB", "200 MiB"],
)
def test_a_large_record_below_the_cap_is_read(size):
    reading = read(lines_of(size))
    assert [event.tool for event in reading.events] == ["t0", "big", "t0"]
    assert not reading.entries


def test_a_record_over_the_cap_costs_itself():
    quality = Watched()
    reading = read(lines_of(20 << 20), quality=quality, max_record_bytes=10 << 20)
    assert [(event.tool, event.line) for event in reading.events] == [("t0", 1), ("t0", 3)]
    assert [entry.reason for entry in reading.entries] == ["oversized_record"]
    assert (quality.skipped, reading.entries[0].offset) == (1, len(LINE))


def test_deeply_nested_json_crashes_nothing_however_deep_the_caller_is():
    deep = b'{"event_type": "x", "data": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"

    def at_depth(n: int) -> dict:
        if n:
            return at_depth(n - 1)
        return grade(LINE + deep + LINE).ledger.to_dict()

    assert at_depth(0) == at_depth(500)
    assert list(at_depth(0)["reasons"]) == ["deep_nesting"]
