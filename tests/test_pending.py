"""Byte-order marks and white space between records, and records that come in pieces."""

import tracemalloc

import pytest

from tests.test_frames import PRETTY_A, PRETTY_B, VALUES, A, B, C, Reading
from tracestream.frames import Frames
from tracestream.framings import pending as pending_module
from tracestream.framings.pending import Pending
from tracestream.quality import Quality, SourceLedger
from tracestream.structure import BOM


def cut(data, step):
    return [data[at : at + step] for at in range(0, len(data), step)]


@pytest.mark.parametrize("step", [1, 2, 3, 100])
def test_a_record_in_pieces_is_held_without_the_white_space_around_it(step):
    pending = Pending(9)
    for part in cut(b" \r\n{ 12 }\t  ", step):
        pending.add(part)
    assert not pending.is_blank
    assert pending.take()[:5] == (b"{ 12 }", 6, 3, 12, b"\t  ")
    assert pending.is_blank
    assert pending.take()[:5] == (b"", 0, 0, 0, b"")


@pytest.mark.parametrize("step", [1, 7, 500])
def test_of_a_record_over_the_cap_the_head_is_held_and_the_size_is_true(step):
    pending = Pending(450)
    for part in cut(b" " + b"x" * 499 + b" ", step):
        pending.add(part)
    assert pending.take()[:5] == (b"x" * 400, 499, 1, 501, None)


@pytest.mark.parametrize(
    "data",
    {
        "lines": BOM + A + b"\n" + BOM + B + b"\r\n" + BOM + BOM + C,
        "behind blanks": b"\n " + BOM + b" " + A + b"\n" + B + b"\n" + C,
        "documents": BOM + PRETTY_A + b"\n" + BOM + B + BOM + C,
        "arrays": BOM + b"[" + A + b"]\n" + BOM + b"[" + B + b"," + C + b"]" + BOM,
    }.items(),
    ids=lambda item: item[0],
)
def test_a_byte_order_mark_before_a_record_is_dropped(data):
    shape, text = data
    for step in (1, 2, 5, len(text)):
        reading = Reading(*cut(text, step))
        assert reading.values == [VALUES["A"], VALUES["B"], VALUES["C"]]
        assert reading.quality.entries["bom"].count == text.count(BOM)
        assert set(reading.quality.entries) <= {"bom", "trailing_data", "glued_records"}, shape


@pytest.mark.parametrize(
    "around", [(b"", b"\r"), (b"   ", b""), (b"", b" " * 50), (b"\t\r ", b"\r\t")]
)
def test_white_space_around_a_record_is_not_part_of_it(around):
    before, behind = around
    record = b'{"a":12}'
    shapes = {
        "lines": before + record + behind + b"\n" + before + behind + b"\n" + record + behind,
        "array": b"[" + before + record + behind + b",\n" + before + record + behind + b"]",
    }
    for text in shapes.values():
        for step in (1, 3, len(text)):
            reading = Reading(*cut(text, step), cap=len(record))
            assert [r.data for r in reading.records] == [record, record]
            assert not reading.quality.entries
            for r in reading.records:
                assert text[r.offset : r.offset + len(r.data)] == record


def test_a_byte_order_mark_and_blanks_do_not_count_towards_the_cap():
    record = b'{"a": "' + b"n" * 500 + b'"}'
    for before in (b"", BOM, b" " + BOM + b" " * 700 + BOM):
        text = A + b"\n" + before + record + b"\n" + A
        for step in (1, 3, len(text)):
            for cap, n_read in ((len(record), 3), (len(record) - 1, 2)):
                reading = Reading(*cut(text, step), cap=cap)
                assert len(reading.records) == n_read
                offset = len(A) + 1 + len(before)
                assert ("oversized_record", 2, offset) in reading.reasons or n_read == 3


def test_half_a_byte_order_mark_is_damage():
    for step in (1, 100):
        reading = Reading(*cut(A + b"\n" + BOM[:2], step))
        assert reading.reasons == [("torn_tail", 2, len(A) + 1)]
        assert reading.quality.bytes_dropped == 2


def test_many_byte_order_marks_are_passed_over_once_each():
    reading = Reading(A + b"\n" + BOM * 100_000 + A)
    assert len(reading.records) == 2
    assert reading.quality.entries["bom"].count == 100_000


@pytest.mark.parametrize("head", [b"[" + A + b",}", PRETTY_A + b"\n x "], ids=["array", "document"])
def test_of_what_has_lost_its_structure_only_the_head_is_held(head):
    frames = Frames(SourceLedger(quality := Quality(), "a", 0), max_record_bytes=1 << 30)
    assert len(list(frames.decode(head))) == 1
    tracemalloc.start()
    for _ in range(100):
        assert not list(frames.decode(b"y" * (1 << 16)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not list(frames.flush())
    assert peak < 1 << 19
    assert quality.bytes_dropped > 100 << 16


@pytest.mark.parametrize(
    "data",
    [b"[1]\n" * 5000, PRETTY_A + b"\n" + (PRETTY_B + b"\n\n") * 5000],
    ids=["arrays", "documents"],
)
def test_what_lies_between_values_is_looked_at_once(data, monkeypatch):
    n_seen = 0
    after_gap = pending_module.after_gap

    def counted(block, at):
        nonlocal n_seen
        end = after_gap(block, at)
        n_seen += end - at + 1
        return end

    monkeypatch.setattr(pending_module, "after_gap", counted)
    assert len(Reading(data).records) in (5000, 5001)
    assert n_seen < 3 * len(data)  # in the gap, and once more in a piece of an element
