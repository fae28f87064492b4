"""Damage of arrays, documents and compressed streams, and what is no damage there."""

import bz2
import gzip
import json
import lzma
import sys
import zlib
from collections.abc import Sequence

from tests.damage.instances import BOM, Instance, Part, bad, good, instance, mark, odd, record

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LF, NUL = b"\n", b"\x00"
COMPRESS = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "zst": zstd.compress,
    "bz2": bz2.compress,
    "xz": lambda data: lzma.compress(data, preset=1),
}


def pretty(n: int, newline: str = "\n") -> Part:
    """Return a record over several lines."""
    data = json.dumps(json.loads(record(n, x={"a": [1, "]"], "b": {}})), indent=2)
    return good(n, data.replace("\n", newline).encode())


def array(row: str, name: str, *parts: Part | bytes, **known) -> Instance:
    return instance(row, name, *parts, framing="array", **known)


def document(row: str, name: str, *parts: Part | bytes, **known) -> Instance:
    return instance(row, name, *parts, framing="document", **known)


PLAIN = [
    instance("blanks", "CRLF", good(0), b"\r\n", good(1), b"\r\n"),
    instance("blanks", "blank lines", LF, LF, good(0), b"\n\n\n", good(1), b"\n\n"),
    instance(
        *("blanks", "white-space lines"),
        *(b" \t\n", good(0), b"\n   \n\t\r\n", good(1), b"\r\n \t"),
    ),
    instance("blanks", "white space around records", b"  ", good(0), b"\t \n\t", good(1), b" \r\n"),
    instance("blanks", "nothing", is_recognised=False),
    instance("blanks", "blanks alone", b"\n \r\n\t", is_recognised=False),
    array("arrays", "one line", b"[", good(0), b",", good(1), b", ", good(2), b"]"),
    array("arrays", "pretty", b"[\n  ", pretty(0), b",\n  ", pretty(1), b"\n]\n"),
    array("arrays", "white space before it", b" \n\t [", good(0), b",", good(1), b"]"),
    array("arrays", "a mark before it", bad("bom", BOM), b"\n[", good(0), b",", good(1), b"]"),
    array(
        "arrays",
        "over the cap of a record",
        *(b"[", good(0), b",", good(1), b",", good(2), b",", good(3), b"]"),
        options={"max_record_bytes": 150},
    ),
    array(
        *("arrays", "brackets and commas in strings"),
        *(b"[", good(0, record(0, q="],[")), b",", good(1, record(1, q='},"{')), b"]"),
    ),
    document("documents", "one after another", pretty(0), LF, pretty(1), LF),
    document("documents", "one", pretty(0)),
    document("documents", "CRLF", pretty(0, "\r\n"), b"\r\n", pretty(1, "\r\n"), b"\r\n"),
    document(
        *("glued_records", "documents"),
        *(pretty(0), mark("glued_records"), pretty(1), mark("glued_records"), pretty(2)),
    ),
    document("documents", "then one line", pretty(0), LF, good(1), LF, pretty(2), LF),
    document(
        "documents", "blank lines before and between", b"\n \n", pretty(0), b"\n\n\n", pretty(1)
    ),
    document("documents", "a mark before", bad("bom", BOM), pretty(0), LF, pretty(1), LF),
]

ARRAYS = [
    array("truncated_array", "no end", b"[", good(0), b",", good(1), bad("truncated_array", b"")),
    array(
        "truncated_array",
        "cut in an element",
        b"[",
        good(0),
        b", ",
        bad("truncated_array", record(1)[:30]),
    ),
    array(
        *("truncated_array", "cut in a string with brackets"),
        *(b"[", good(0), b", ", bad("truncated_array", record(1, q="}],[{")[:-4])),
    ),
    array(
        "truncated_array", "cut behind a comma", b"[", good(0), b",\n", bad("truncated_array", b"")
    ),
    array(
        *("malformed_element", "between good ones"),
        *(b"[", good(0), b", ", bad("malformed_record", b"{oops}"), b", ", good(1), b"]"),
    ),
    array(
        *("malformed_element", "a word"),
        *(b"[", good(0), b", ", bad("malformed_record", b"oops"), b",\n", good(1), b"\n]"),
    ),
    array(
        *("malformed_element", "the first"),
        *(b"[", bad("malformed_record", b"{oops: [1, {}]}"), b", ", good(1), b"]"),
    ),
    array(
        *("malformed_element", "structure is lost: the rest is truncated_array"),
        *(b"[", good(0), b", ", bad("truncated_array", b'{"a": ]}, ' + record(1) + b"]")),
    ),
    array(
        "not_an_object",
        "an element",
        b"[",
        good(0),
        b", ",
        bad("not_an_object", b"7"),
        b", ",
        good(1),
        b"]",
    ),
    array(
        *("deep_nesting", "an element"),
        *(b"[", good(0), b", ", bad("deep_nesting", b"[" * 200 + b"]" * 200), b", ", good(1), b"]"),
    ),
    array(
        *("oversized_record", "an element"),
        *(
            b"[",
            good(0),
            b", ",
            bad("oversized_record", record(1, q="y" * 900)),
            b", ",
            good(2),
            b"]",
        ),
        options={"max_record_bytes": 300},
    ),
    array(
        "joined_lines",
        "an element",
        b"[",
        odd("joined_lines", record(1, q="X").replace(b"X", LF)),
        b"]",
    ),
    array(
        "duplicate_key",
        "in an element",
        b"[",
        odd("duplicate_key", record(1)[:-1] + b', "tool_name": "b"}', "b"),
        b"]",
    ),
    array(
        "trailing_data",
        "lines",
        b"[",
        good(0),
        b"]\n",
        mark("trailing_data"),
        good(1),
        LF,
        good(2),
        LF,
    ),
    array(
        *("trailing_data", "lines, one of them bad, the last torn"),
        *(
            b"[",
            good(0),
            b"]\n",
            mark("trailing_data"),
            good(1),
            LF,
            bad("malformed_record", b"x"),
            LF,
        ),
        bad("torn_tail", record(2)[:30]),
    ),
    array(
        "trailing_data",
        "an array",
        b"[",
        good(0),
        b"]\n",
        mark("trailing_data"),
        b"[",
        good(1),
        b",",
        good(2),
        b"]",
    ),
    array(
        *("nul_bytes", "behind an array"),
        *(b"[", good(0), b",", good(1), b"]\n", bad("nul_bytes", NUL * 512)),
        allowed=frozenset({"trailing_data"}),
    ),
    document(
        "torn_tail", "a document", pretty(0), LF, bad("torn_tail", pretty(1).data[:60].rstrip())
    ),
    document(
        "malformed_record",
        "a document",
        pretty(0),
        LF,
        bad("malformed_record", b'{\n "a": oops\n}'),
        LF,
        pretty(1),
    ),
    document(
        "nul_bytes", "behind documents", pretty(0), LF, pretty(1), LF, bad("nul_bytes", NUL * 512)
    ),
]


def each_compressed(codec: str):
    """Return what stores every part as a member or frame of its own."""
    return lambda parts: b"".join(COMPRESS[codec](part) for part in parts)


def cut_gzip(n_lost: int):
    """Return what stores parts uncompressed inside a gzip, and loses bytes at the end."""

    def store(parts: Sequence[bytes]) -> bytes:
        compressor = zlib.compressobj(0, wbits=31)
        data = compressor.compress(b"".join(parts)) + compressor.flush()
        return data[: len(data) - 8 - n_lost]  # behind the data is a checksum of 8 bytes

    return store


def cut_zstd(parts: Sequence[bytes]) -> bytes:
    """Store all but the last part in blocks of its own, and cut in the block of the last."""
    compressor = zstd.ZstdCompressor()
    whole = b"".join(compressor.compress(part, compressor.FLUSH_BLOCK) for part in parts[:-1])
    last = compressor.compress(parts[-1], compressor.FLUSH_FRAME)
    return whole + last[: len(last) // 2]


def _corrupt(parts: Sequence[bytes]) -> bytes:
    """Store all parts in a gzip, and behind them a block of a kind that does not exist.

    What a decompressor has decoded ahead when it meets corrupt data is lost; see `test_streams.HELD`.
    """
    compressor = zlib.compressobj(wbits=31)
    return compressor.compress(b"".join(parts)) + compressor.flush(zlib.Z_FULL_FLUSH) + b"\xff" * 99


LOST = Part(b"", reasons=("truncated_stream",))
STREAMS = [
    *(
        instance(
            "members",
            f"{codec}: several",
            good(0),
            LF,
            good(1),
            LF,
            good(2),
            LF,
            store=each_compressed(codec),
        )
        for codec in COMPRESS
    ),
    instance(
        *("members", "a record over two of them"),
        *(good(0), LF, good(1), LF),
        store=lambda parts: b"".join(
            COMPRESS["gz"](piece) for part in parts for piece in (part[:9], part[9:]) if piece
        ),
    ),
    instance(
        "members",
        "zero padding behind",
        good(0),
        LF,
        good(1),
        LF,
        store=lambda parts: COMPRESS["gz"](b"".join(parts)) + NUL * 512,
    ),
    array("members", "an array", b"[", good(0), b",", good(1), b"]", store=each_compressed("gz")),
    instance(
        "truncated_stream",
        "gz: only the checksum is lost",
        good(0),
        LF,
        good(1),
        LF,
        LOST,
        store=cut_gzip(0),
    ),
    instance(
        "truncated_stream",
        "gz: cut between records",
        good(0),
        LF,
        LOST,
        Part(LF),
        store=cut_gzip(1),
    ),
    instance(
        "truncated_stream",
        "gz: cut in a record",
        good(0),
        LF,
        bad("torn_tail", record(1)[:40]),
        LOST,
        Part(b"12345"),
        store=cut_gzip(5),
    ),
    instance(
        "truncated_stream",
        "zst: cut in the last block",
        good(0),
        LF,
        good(1),
        LF,
        LOST,
        Part(record(2)),
        store=cut_zstd,
    ),
    instance(
        *("truncated_stream", "gz: corrupt, farther on than is decoded ahead"),
        *(good(0), LF, good(1), LF, b" " * 200_000, LOST),
        store=_corrupt,
    ),
    array(
        "truncated_stream",
        "gz: an array",
        b"[",
        good(0),
        b",",
        bad("truncated_array", b""),
        LOST,
        Part(b" "),
        store=cut_gzip(1),
    ),
]

FRAMES: list[Instance] = [*PLAIN, *ARRAYS, *STREAMS]
