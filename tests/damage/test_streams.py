"""Compressed sources cut or corrupted anywhere: every byte that can be recovered, and its whole records."""

import bz2
import lzma
import sys
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.damage.frame_instances import COMPRESS
from tests.damage.instances import record
from tests.damage.readings import blocks_of, read

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

HELD = {"gz": 96 << 10, "zst": 4 << 10, "bz2": 4 << 10, "xz": 4 << 10}
"""Most plain bytes that a decompressor holds when it meets corrupt data, and which are lost: a step of
ours; isal's, beside that, has decoded up to its window and its buffer ahead."""


def recoverable(codec, data):
    """All that the standard library's decompressors give, fed byte by byte: plain bytes, up to the damage."""
    start = {
        "gz": lambda: zlib.decompressobj(wbits=31),
        "zst": zstd.ZstdDecompressor,
        "bz2": bz2.BZ2Decompressor,
        "xz": lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ),
    }[codec]
    plain, decompressor = bytearray(), start()
    for at in range(len(data)):
        if decompressor.eof:
            decompressor = start()
        try:
            plain += decompressor.decompress(data[at : at + 1])
        except (zlib.error, zstd.ZstdError, OSError, lzma.LZMAError, EOFError):
            break
    return bytes(plain)


LINES = [record(n, x=f"{n**9 * 7919:x}" * (n % 20)) + b"\n" for n in range(1200)]
SOURCE = b"".join(LINES)
MEMBERS = [b"".join(LINES[a : a + 800]) for a in range(0, 1200, 800)]
STORED = {codec: b"".join(map(compress, MEMBERS)) for codec, compress in COMPRESS.items()}


def whole_lines(plain):
    """How many lines there are whole, with their end."""
    return plain.count(b"\n")


def test_the_source_is_more_than_is_held_and_all_of_it_is_read():
    assert len(MEMBERS[0]) > max(HELD.values()) + (32 << 10)
    for codec, data in STORED.items():
        assert recoverable(codec, data) == SOURCE
        assert len(read(data).events) == len(LINES)


@settings(max_examples=60)
@given(st.sampled_from(list(COMPRESS)), st.floats(0, 1), st.sampled_from([999, 70_000]))
def test_of_a_stream_that_is_cut_every_whole_record_is_read(codec, share, size):
    data = STORED[codec]
    data = data[: int(share * (len(data) - 1))]
    plain = recoverable(codec, data)
    reading = read(data, dialect="praisonai")
    read_lines = [event.line for event in reading.events]
    assert read_lines[: whole_lines(plain)] == list(range(1, whole_lines(plain) + 1))
    assert len(read_lines) <= whole_lines(plain) + 1
    assert reading.reasons <= {"truncated_stream", "torn_tail", "malformed_record"}
    assert read(blocks_of(data, size), dialect="praisonai") == reading


@settings(max_examples=60)
@given(st.sampled_from(list(COMPRESS)), st.floats(0, 1), st.integers(1, 255))
def test_of_a_corrupt_stream_every_record_before_what_was_held_is_read(codec, share, change):
    data = bytearray(STORED[codec])
    data[int(share * (len(data) - 1))] ^= change
    plain = recoverable(codec, bytes(data))
    kept = plain[: max(0, len(plain) - HELD[codec])]
    reading = read(bytes(data), dialect="praisonai")
    # A flip may give other bytes before it is noticed: only lines that are as they were must be read.
    expected = [
        n
        for n, (line, was) in enumerate(zip(kept.split(b"\n")[:-1], LINES, strict=False), start=1)
        if line + b"\n" == was
    ]
    if not data.startswith(STORED[codec][:6]):
        expected = []  # by its first bytes it is no longer compressed
    read_lines = {event.line for event in reading.events}
    assert not set(expected) - read_lines


@pytest.mark.parametrize("codec", COMPRESS)
def test_a_cut_stream_is_said_where_it_breaks_off(codec):
    data = STORED[codec][: len(STORED[codec]) // 2]
    reading = read(data)
    (cut,) = [entry for entry in reading.entries if entry.reason == "truncated_stream"]
    assert 0 <= cut.offset <= len(recoverable(codec, data))
    assert reading.has_damage
