import bz2
import gzip
import io
import lzma
import os
import random
import sys
import threading
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracestream import blocks as blocks_module
from tracestream.blocks import CHUNK_BYTES, HEAD_BYTES, PLAIN_BLOCK_BYTES, open_blocks
from tracestream.errors import ConfigError
from tracestream.quality import Quality, SourceLedger
from tracestream.sources import Source, discover

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

RUBBISH = b"\xff" * 99
SKIPPABLE = b"\x53\x2a\x4d\x18\x05\x00\x00\x00index"


def xz(data):
    return lzma.compress(data, preset=1)


COMPRESS = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "zst": zstd.compress,
    "bz2": bz2.compress,
    "xz": xz,
}
MAGIC = {"gz": b"\x1f\x8b", "zst": b"\x28\xb5\x2f\xfd", "bz2": b"BZh", "xz": b"\xfd7zXZ\x00"}
codecs = pytest.mark.parametrize("codec", COMPRESS)

SMALL = b"".join(
    b'{"event_type": "output", "n": %d, "x": "%x"}\n' % (n, n * n * 7919) for n in range(20)
)
# What does not compress: several chunks in, many steps out, several blocks of each codec.
LARGE = random.Random(7).randbytes(300_000).hex().encode()
# What does, as traces do: copies near and far, over several steps of each codec.
TEXT = b"".join(b'{"n": %d, "text": "%s"}\n' % (n, LARGE[n * n % 9000 :][:60]) for n in range(2300))


def read(source, **options):
    """The plain bytes of a source, and its ledger as (reason, offset, detail)."""
    if not isinstance(source, Source):
        (source,) = discover(source)
    quality = Quality()
    with open_blocks(source, SourceLedger(quality, source.name, 0), **options) as blocks:
        plain = b"".join(blocks)
    entries = quality.entries.items()
    return plain, [
        (reason, each.offset, each.detail) for reason, entry in entries for each in entry.examples
    ]


def in_chunks(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)] or [b""]


def read_all_ways(data, path):
    """What every way to read the same bytes gives; they must agree."""
    path.write_bytes(data)
    ways = [read(data), read(io.BytesIO(data)), read(str(path)), read(str(path), block_bytes=1000)]
    ways += [
        read(in_chunks(data, size)) for size in ((7, 1001) if len(data) < 9999 else (1001, 77_777))
    ]
    assert all(way == ways[0] for way in ways)
    return ways[0]


@codecs
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a"])
def test_the_content_decides_not_the_suffix(codec, name, tmp_path):
    assert read_all_ways(COMPRESS[codec](SMALL), tmp_path / name) == (SMALL, [])
    assert read_all_ways(SMALL, tmp_path / name) == (SMALL, [])


@codecs
def test_members_are_read_one_after_another(codec, tmp_path):
    compress = COMPRESS[codec]
    members = [compress(SMALL), compress(b""), compress(LARGE), compress(SMALL)]
    assert read_all_ways(b"".join(members), tmp_path / "a") == (SMALL + LARGE + SMALL, [])


@codecs
@pytest.mark.parametrize("n", [1, 5, 6, 511, 200_000])
def test_zeros_between_and_behind_members_are_padding(codec, n, tmp_path):
    member, zeros = COMPRESS[codec](SMALL), bytes(n)
    assert read_all_ways(member + zeros + member + zeros, tmp_path / "a") == (SMALL + SMALL, [])


@codecs
@pytest.mark.parametrize(
    "rubbish", [b"x", b"rubbish" * 20_000, b"\0\0BZ9", b'{"event_type": "output"}'], ids=len
)
def test_what_follows_the_last_member_is_said(codec, rubbish, tmp_path):
    stored = COMPRESS[codec](SMALL) + rubbish
    plain, ((reason, offset, detail),) = read_all_ways(stored, tmp_path / "a")
    assert (plain, reason, offset) == (SMALL, "trailing_data", len(SMALL))
    assert detail == rubbish.lstrip(b"\0")[:80].decode()


@codecs
def test_a_stream_cut_anywhere_gives_what_is_before_the_cut(codec, tmp_path):
    stored = COMPRESS[codec](SMALL)
    n_before = 0
    for cut in range(len(MAGIC[codec]), len(stored)):
        plain, reasons = read_all_ways(stored[:cut], tmp_path / "a")
        assert SMALL.startswith(plain)
        assert reasons == [("truncated_stream", len(plain), "the compressed data ends early")]
        assert len(plain) >= n_before  # never less of more
        n_before = len(plain)
    assert n_before == (0 if codec == "zst" else len(SMALL))  # a block of zstd is whole or nothing


@codecs
@pytest.mark.parametrize("cut", [1, 2, 3, 4, 5, 10])
def test_a_second_member_cut_anywhere_costs_nothing_of_the_first(codec, cut, tmp_path):
    stored = COMPRESS[codec](SMALL)
    expected = (SMALL, [("truncated_stream", len(SMALL), "the compressed data ends early")])
    assert read_all_ways(stored + stored[:cut], tmp_path / "a") == expected


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.999])
def test_a_cut_gzip_is_recovered_to_the_last_symbol(kept, tmp_path):
    stored = COMPRESS["gz"](LARGE)
    stored = stored[: int(len(stored) * kept)]
    plain, _ = read_all_ways(stored, tmp_path / "a")
    assert plain == zlib.decompressobj(31).decompress(stored)


START = {
    "gz": lambda: zlib.decompressobj(31),
    "zst": zstd.ZstdDecompressor,
    "bz2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ),
}


def byte_by_byte(codec, stored):
    """What comes out of one member before the error, fed a byte at a time and asked for one."""
    decoder, plain = START[codec](), bytearray()
    for at in range(len(stored)):
        data = stored[at : at + 1]
        try:
            while not decoder.eof and (byte := decoder.decompress(data, 1)):
                plain += byte
                data = getattr(decoder, "unconsumed_tail", b"")
        except (zlib.error, zstd.ZstdError, OSError, lzma.LZMAError):
            break
    return bytes(plain)


def corrupted(stored, place, n_bytes):
    """Change some bytes at a share of the stored ones, or so many bytes before their end."""
    at = len(stored) + place if place < 0 else 10 + int((len(stored) - 20) * place)
    return stored[:at] + bytes(b ^ 0x55 for b in stored[at : at + n_bytes]) + stored[at + n_bytes :]


@pytest.mark.parametrize("n_bytes", [1, 40])
@pytest.mark.parametrize("place", [0.0, 0.0003, 0.001, 0.1, 0.4, 0.7, 0.95, 1.0, -8, -1])
def test_of_a_corrupt_gzip_every_byte_before_the_corruption_is_given(place, n_bytes, tmp_path):
    stored = corrupted(COMPRESS["gz"](TEXT), place, n_bytes)
    plain, ((reason, offset, _),) = read_all_ways(stored, tmp_path / "a")
    assert plain == byte_by_byte("gz", stored)
    assert (reason, offset) == ("truncated_stream", len(plain))
    if place < 0:
        assert plain == TEXT  # the checksum or the length is wrong, the data is not


@pytest.mark.parametrize("n_plain", [1, 65_535, 65_536, 200_000])
@pytest.mark.parametrize("level", [0, 6])
def test_a_gzip_that_turns_to_rubbish_gives_all_before_it(level, n_plain, tmp_path):
    compressor = zlib.compressobj(level, wbits=31)
    stored = compressor.compress(TEXT[:n_plain]) + compressor.flush(zlib.Z_SYNC_FLUSH) + RUBBISH
    plain, ((_, offset, detail),) = read_all_ways(COMPRESS["gz"](SMALL) + stored, tmp_path / "a")
    assert plain == SMALL + TEXT[:n_plain]
    assert (offset, detail[-18:]) == (len(plain), "invalid block type")


@pytest.mark.parametrize("strategy", [zlib.Z_DEFAULT_STRATEGY, zlib.Z_RLE])
def test_a_small_gzip_with_any_bit_flipped_gives_the_same_in_steps_of_any_size(strategy):
    # Codes of one and two bits: what is corrupt ends in the stored byte where what is not does.
    ledger = SourceLedger(Quality(), "a", 0)
    for n in range(30, 130, 12):
        compressor = zlib.compressobj(9, wbits=31, strategy=strategy)
        plain = bytes(random.Random(n).choices(b"ab\n", (12, 3, 1), k=n))
        stored = compressor.compress(plain) + compressor.flush()
        for bit in range(80, 8 * len(stored)):
            flipped = bytearray(stored)
            flipped[bit // 8] ^= 1 << bit % 8
            expected = byte_by_byte("gz", flipped)
            for step_bytes in (1, 3, 1000):
                codec = blocks_module.CODECS[0]._replace(step_bytes=step_bytes)
                steps = blocks_module._decompress(iter([bytes(flipped)]), codec, ledger)
                assert b"".join(steps) == expected


@pytest.mark.parametrize("behind", [b"", b"\x00", RUBBISH])
def test_a_corrupt_header_of_a_later_member_is_said(behind, tmp_path):
    stored = COMPRESS["gz"](SMALL) + b"\x1f\x8b\x07" + behind
    plain, ((_, offset, detail),) = read_all_ways(stored, tmp_path / "a")
    assert (plain, offset) == (SMALL, len(SMALL))
    assert detail.endswith("unknown compression method" if behind else "ends early")


@codecs
@pytest.mark.parametrize("place", [0.01, 0.3, 0.6, 1.0, -3])
def test_of_a_corrupt_stream_no_more_is_lost_than_a_step(codec, place, tmp_path):
    stored = corrupted(COMPRESS[codec](TEXT), place, 3)
    plain, entries = read_all_ways(stored, tmp_path / "a")
    expected = byte_by_byte(codec, stored)
    assert expected.startswith(plain)
    assert len(expected) - len(plain) <= (0 if codec == "gz" else blocks_module.STEP_BYTES)
    # zstd has no checksum unless asked for: what it does not notice, nobody can.
    assert entries == [] or [entry[:2] for entry in entries] == [("truncated_stream", len(plain))]
    assert entries or codec == "zst"


@given(st.sampled_from(list(COMPRESS)), st.data())
def test_corrupt_streams_end_without_a_crash(codec, draw):
    stored = COMPRESS[codec](SMALL) * 2
    at = draw.draw(st.integers(len(MAGIC[codec]), len(stored) - 1))
    stored = (
        stored[:at] + draw.draw(st.binary(max_size=4)) + stored[at + draw.draw(st.integers(0, 4)) :]
    )
    plain, reasons = read(stored)
    assert read(in_chunks(stored, 7)) == (plain, reasons)
    assert [reason for reason, _, _ in reasons] in ([], ["truncated_stream"], ["trailing_data"])


@codecs
def test_a_compressed_nothing_is_nothing(codec, tmp_path):
    assert read_all_ways(COMPRESS[codec](b""), tmp_path / "a") == (b"", [])


def test_an_empty_file_is_nothing_whatever_its_suffix(tmp_path):
    assert read_all_ways(b"", tmp_path / "a.jsonl.gz") == (b"", [])


def test_skippable_frames_are_skipped(tmp_path):
    frame = COMPRESS["zst"](SMALL)
    expected = (SMALL + SMALL, [])
    assert (
        read_all_ways(SKIPPABLE + frame + SKIPPABLE + SKIPPABLE + frame + SKIPPABLE, tmp_path / "a")
        == expected
    )


def test_gzip_with_all_its_header_fields_is_read(tmp_path):
    with gzip.GzipFile(tmp_path / "name.jsonl", "wb", mtime=5) as file:
        file.write(SMALL)
    assert read(str(tmp_path / "name.jsonl")) == (SMALL, [])


@pytest.mark.parametrize(("codec", "n_wrong"), [("gz", 0), ("gz", 8), ("zst", 0), ("xz", 0)])
def test_a_bomb_is_read_at_small_memory(codec, n_wrong):
    size = 64 << 20
    stored = COMPRESS[codec](bytes(size))
    source = Source(0, "a", stream=[stored[: len(stored) - n_wrong] + bytes(n_wrong)])
    tracemalloc.start()
    with open_blocks(source, SourceLedger(Quality(), "a", 0)) as blocks:
        n_read = sum(map(len, blocks))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_read == size
    assert peak < (2 << 20)


def test_blocks_are_neither_tiny_nor_huge(tmp_path):
    (tmp_path / "a").write_bytes(LARGE)
    (source,) = discover(str(tmp_path / "a"))
    with open_blocks(source, SourceLedger(Quality(), "a", 0), block_bytes=10) as blocks:
        assert len(next(iter(blocks))) == -(-HEAD_BYTES // 10) * 10
        assert len(next(iter(blocks))) == 10
    with open_blocks(
        Source(0, "a", stream=[COMPRESS["gz"](LARGE)]), SourceLedger(Quality(), "a", 0)
    ) as blocks:
        sizes = [len(block) for block in blocks]
    assert max(sizes) < PLAIN_BLOCK_BYTES + blocks_module.GZIP_STEP_BYTES
    assert min(sizes[:-1]) >= PLAIN_BLOCK_BYTES


def test_stored_bytes_are_counted_as_they_are_read(tmp_path):
    stored = COMPRESS["gz"](LARGE)
    (tmp_path / "a").write_bytes(stored)
    (source,) = discover(str(tmp_path / "a"))
    with open_blocks(source, SourceLedger(Quality(), "a", 0), block_bytes=CHUNK_BYTES) as blocks:
        next(iter(blocks))
        assert 0 < blocks.n_bytes < len(stored)
        assert blocks.size_bytes == len(stored)
        assert sum(map(len, blocks)) < len(LARGE)
        assert blocks.n_bytes == len(stored)
    with open_blocks(
        Source(0, "a", stream=[b"a" * 100, b"b"]), SourceLedger(Quality(), "a", 0)
    ) as blocks:
        next(iter(blocks))
        assert blocks.n_bytes == blocks.size_bytes == 100


def test_only_plain_regular_files_have_a_stamp(tmp_path):
    (tmp_path / "a").write_bytes(SMALL)
    (tmp_path / "a.gz").write_bytes(COMPRESS["gz"](SMALL))
    stamps = []
    for source in discover([str(tmp_path / "a"), str(tmp_path / "a.gz"), SMALL]):
        with open_blocks(source, SourceLedger(Quality(), "a", 0)) as blocks:
            stamps.append(blocks.stamp)
    status = os.stat(tmp_path / "a")
    assert stamps == [
        (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns),
        None,
        None,
    ]


def test_a_named_pipe_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(SMALL,))
    writer.start()
    assert read(str(tmp_path / "pipe")) == (SMALL, [])
    writer.join()


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero"])
def test_a_device_is_not_read(path):
    with pytest.raises(OSError, match=f"{path} is a device"):
        read(path)


def test_a_folder_or_nothing_in_a_files_place_is_an_error_of_the_system(tmp_path):
    for path, error in ((tmp_path, IsADirectoryError), (tmp_path / "gone", FileNotFoundError)):
        with pytest.raises(error):
            read(Source(0, "a", str(path)))


def test_an_error_known_from_discovery_is_raised():
    with pytest.raises(PermissionError):
        read(Source(0, "a", "a", error=PermissionError("locked")))


@pytest.mark.parametrize(
    "stream",
    [io.StringIO("{}"), ["{}"], [b"{}", 7], iter([b"", None])],
    ids=["file", "list", "integer", "none"],
)
def test_a_stream_must_give_bytes(stream):
    with pytest.raises(ConfigError, match="not bytes\nHint: open a file in binary mode"):
        read(Source(0, "a", stream=stream))


def test_bytes_of_any_kind_and_empty_blocks_are_taken():
    assert read(Source(0, "a", stream=[b"", bytearray(b"{"), memoryview(b"}"), b""])) == (b"{}", [])


@codecs
def test_an_error_of_the_reader_is_no_fault_of_the_stream(codec):
    def chunks():
        yield COMPRESS[codec](LARGE)[:70_000]
        raise OSError("the disk is gone")

    quality = Quality()
    with (
        pytest.raises(OSError, match="the disk is gone"),
        open_blocks(Source(0, "a", stream=chunks()), SourceLedger(quality, "a", 0)) as blocks,
    ):
        list(blocks)
    assert not quality.entries


def test_input_reaches_a_decompressor_in_constant_chunks():
    sizes = (1, 9999, 3 * CHUNK_BYTES, 5, CHUNK_BYTES - 15, 0, 20)
    chunks = list(blocks_module._rechunk(bytes(size) for size in sizes))
    assert b"".join(chunks) == bytes(sum(sizes))
    assert set(map(len, chunks[:-1])) == {CHUNK_BYTES}


def test_blocks_come_before_the_end_of_the_source_is_read():
    n_given = 0

    def chunks():
        nonlocal n_given
        for chunk in in_chunks(COMPRESS["gz"](LARGE), 10_000):
            n_given += 1
            yield chunk

    with open_blocks(Source(0, "a", stream=chunks()), SourceLedger(Quality(), "a", 0)) as blocks:
        assert LARGE.startswith(next(iter(blocks)))
        assert n_given < len(COMPRESS["gz"](LARGE)) // 10_000
