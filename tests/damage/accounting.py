"""Laws that hold of any bytes at all: whoever reads them, nothing crashes and every byte is explained."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.damage.readings import Reading, Watched, read
from tracestream.errors import InputError

MAGIC = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ\x00")
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
UTF16 = (b"\xff\xfe", b"\xfe\xff")
BLANK = b" \t\r\n"
BETWEEN = {"lines": BLANK + b"\x0b\x0c", "document": BLANK, "array": BLANK + b"\x0b\x0c[],"}
"""Bytes that may stand between records and need no entry: white space of lines, which may follow an array."""
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)


def is_stored_as_it_is(data: bytes) -> bool:
    """Say whether offsets count the bytes of the file: neither compressed nor transcoded."""
    return not data.startswith((*MAGIC, *UTF16)) and not _SKIPPABLE.match(data)


def end_of_object(data: bytes, at: int) -> int:
    """Return where the object that begins at a position ends."""
    depth = 0
    for found in _BRACKETS.finditer(data, at):
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(found[0], 0)
        if not depth and found[0] in b"}]":
            return found.end()
    raise AssertionError(f"no object at {at}: {data[at : at + 80]!r}")


def spans_of(data: bytes, reading: Reading) -> Iterator[tuple[int, int, str]]:
    """Where each record lies that was read, and all bytes that an entry says were dropped."""
    for event in reading.events:
        yield event.offset, event.offset + event.length, "event"
    for entry in reading.entries:
        if entry.reason == "wrong_shape":
            yield entry.offset, end_of_object(data, entry.offset), "wrong_shape"
        elif entry.dropped:
            yield entry.offset, entry.offset + entry.dropped, entry.reason


def check_every_byte_is_explained(data: bytes, reading: Reading) -> None:
    """Each byte is in one record, dropped with one entry, or stands between records."""
    between = BETWEEN[reading.framing or "lines"]
    at = 0
    for begin, end, what in sorted(spans_of(data, reading)):
        assert begin >= at, f"{what} at {begin} begins before {at}, where the last one ends"
        lost = data[at:begin].strip(between)
        assert not lost, f"nothing says what became of {lost[:80]!r} before {what} at {begin}"
        at = end
    assert at <= len(data)
    assert not data[at:].strip(between), f"nothing says what became of {data[at : at + 80]!r}"


def loads(data: bytes) -> Any:
    """Return what Python's own parser reads, leniently; None for what it does not."""
    try:
        return json.loads(data.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None


def check_intact_lines_are_read(data: bytes, reading: Reading) -> None:
    """Each line that is an event is one, at its place; unless it is a part of a longer record."""
    events = {event.offset: event for event in reading.events}
    deep = {entry.offset for entry in reading.entries if entry.reason == "deep_nesting"}
    within = [(e.offset, e.offset + e.length) for e in reading.events]
    at = 0
    for number, line in enumerate(data.split(b"\n"), start=1):
        content = line.strip(BLANK)
        offset = at + len(line) - len(line.lstrip(BLANK))
        at += len(line) + 1
        value = loads(content)
        if not isinstance(value, dict) or not isinstance(value.get("event_type"), str):
            continue
        if offset in deep or any(begin < offset < end for begin, end in within):
            continue
        assert offset in events, f"line {number} is an event and was not read: {content[:80]!r}"
        assert events[offset].line == number
        assert events[offset].length == len(content)


def check_events_are_records(data: bytes, reading: Reading) -> None:
    """Each event lies where it says, and Python reads it too; each is read once."""
    for event in reading.events:
        value = loads(data[event.offset : event.offset + event.length])
        assert isinstance(value, dict)
        assert isinstance(value["event_type"], str)
    offsets = [event.offset for event in reading.events]
    assert offsets == sorted(set(offsets)), "events out of order, or twice"


def check_counts(reading: Reading) -> None:
    """The ledger's sums are those of its entries."""
    assert reading.n_dropped == sum(entry.dropped for entry in reading.entries)
    assert reading.n_records >= len(reading.events)
    assert reading.n_skipped <= len(reading.entries)


def check_raising(source: Any, reading: Reading, **options: Any) -> None:
    """Asked to raise, reading raises at a loss or a doubt, with its place, and at nothing else."""
    raised = None
    try:
        read(source, quality=Watched(raises=True), **options)
    except InputError as error:
        raised = error
    assert (raised is not None) == reading.has_damage, f"raised {raised!r}"
    if raised is not None:
        assert (raised.line, raised.offset) in {(e.line, e.offset) for e in reading.entries}
        assert "\nHint: " in str(raised)


def check_any_bytes(data: bytes, *cuts: int) -> Reading:
    """Hold every law of reading against some bytes, also cut into blocks at some places."""
    options = {"dialect": "praisonai"}
    reading = read(data, **options)
    at = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    blocks = [data[a:b] for a, b in pairwise(at)] or [b""]
    assert read(blocks, **options) == reading, "in blocks it gives something else"
    check_counts(reading)
    if is_stored_as_it_is(data):
        check_events_are_records(data, reading)
        check_every_byte_is_explained(data, reading)
        if reading.framing == "lines":
            check_intact_lines_are_read(data, reading)
    check_raising(data, reading, **options)
    return reading
