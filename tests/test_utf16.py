"""UTF-16 with a mark is read as the same text in UTF-8 is, at its own offsets."""

import codecs
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.test_frames import PRETTY_A, Reading, value_of
from tracestream.framings import utf16
from tracestream.framings.utf16 import Transcoder, encoding_of, is_undecided

MARKS = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
sources = st.lists(st.dictionaries(texts, texts, min_size=1, max_size=2), max_size=4).flatmap(
    lambda values: st.sampled_from(
        [
            "".join(json.dumps(value, ensure_ascii=False) + "\r\n" for value in values),
            json.dumps(values, ensure_ascii=False),
            "\n".join(json.dumps(value, indent=1) for value in values),
            "{oops}\n"
            + "\n".join(json.dumps(value, ensure_ascii=False) for value in values)
            + '\n{"a',
        ]
    )
)


def kept(reading):
    """Values, lines and reasons: what does not depend on the encoding."""
    places = [(value_of(each), each.line) for each in reading.records]
    damage = {reason: entry.count for reason, entry in reading.quality.entries.items()}
    return reading.framing, places, {k: v for k, v in damage.items() if k != "utf16"}


@given(sources, st.sampled_from(sorted(MARKS)), st.integers(1, 9))
def test_it_is_read_as_utf8_is(text, encoding, step):
    data = MARKS[encoding] + text.encode(encoding)
    reading = Reading(data)
    assert kept(reading) == kept(Reading(text.encode()))
    assert reading.quality.entries["utf16"].count == 1
    assert (
        Reading(*(data[at : at + step] for at in range(0, len(data), step))).whole == reading.whole
    )
    for record in reading.records:
        there = record.data.decode().encode(encoding)
        assert data[record.offset : record.offset + len(there)] == there


@pytest.mark.parametrize("encoding", MARKS)
def test_half_a_pair_and_half_a_character_become_the_replacement_character(encoding):
    half = "\ud83d".encode(encoding, "surrogatepass")
    data = MARKS[encoding] + '{"a": "'.encode(encoding) + half + '"}'.encode(encoding)
    assert Reading(data).values == [{"a": "\ufffd"}]
    assert Reading(data + b"\x00").reasons[-1][0] == "torn_tail"


def test_marks_are_told_from_what_begins_like_one():
    assert [is_undecided(head) for head in (b"", b"\xff", b"\xfe", b"\xff\xfe")] == [True] * 4
    assert [is_undecided(head) for head in (b"{", b"\xfe\xff{", b"\xff\xfe{\0")] == [False] * 3
    assert encoding_of(codecs.BOM_UTF32_LE + b"{\0\0\0") is None
    assert encoding_of(PRETTY_A) is None


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=6))
def test_a_place_is_that_of_the_same_character(parts):
    transcoder = Transcoder("utf-16-le")
    plain = b"".join(transcoder.decode(part.encode("utf-16-le")) for part in parts)
    text = "".join(parts)
    assert plain.decode() == text
    for at in range(len(text) + 1 if parts else 0):
        before = text[:at]
        place = transcoder.place(len(before.encode()))
        assert place == 2 + len(before.encode("utf-16-le"))


def test_what_is_held_for_places_is_bounded(monkeypatch):
    monkeypatch.setattr(utf16, "MAX_HELD_BYTES", 1000)
    for text in ("x" * 100, "é" * 100, "\0" * 100):
        transcoder = Transcoder("utf-16-le")
        for _ in range(200):
            transcoder.decode(text.encode("utf-16-le"))
        held = [part for part in transcoder._texts if part is not None]
        assert sum(map(len, held)) <= 1000
        n = len(text.encode())
        assert transcoder.place(199 * n) == 2 + 199 * 200
        assert transcoder.place(199 * n + len(text[:7].encode())) == 2 + 199 * 200 + 14


def test_bytes_dropped_are_those_of_the_file():
    text = '{"a": 1}\n{é\n{"b'
    data = MARKS["utf-16-le"] + text.encode("utf-16-le")
    assert Reading(data).quality.bytes_dropped == 2 + 4 + 6
