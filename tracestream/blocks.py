"""Open a source as a stream of plain byte blocks, decompressed, at bounded memory.

One loop serves gzip, zstd, bzip2 and xz: their decompressors have one shape. It takes input in
constant chunks and gives output in constant steps, so that what is recovered from a cut or corrupt
stream depends on nothing but the stream, and a bomb costs no memory. Steps are joined to blocks.

A step that meets corrupt data gives nothing of what it has decompressed by then. A gzip's is taken
again byte by byte, from a copy of the state before it; the state of the others cannot be copied, so
their steps are small.
"""

import itertools
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import IO, Any, NamedTuple, Protocol, cast

from tracestream.errors import ConfigError
from tracestream.quality import SourceLedger
from tracestream.sources import Source

CHUNK_BYTES = 64 << 10
STEP_BYTES = 4 << 10
GZIP_STEP_BYTES = 64 << 10
PLAIN_BLOCK_BYTES = 256 << 10
HEAD_BYTES = 64
"""The first block is no shorter, unless the source is: enough to know what it is."""
MAX_XZ_MEMORY = 256 << 20


class Stamp(NamedTuple):
    """What tells whether a file is still the one that was read."""

    device: int
    inode: int
    size_bytes: int
    modified_ns: int


class Decompressor(Protocol):
    """The shape that all four decompressors have."""

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""

    @property
    def needs_input(self) -> bool:
        """Whether it has nothing more to give without more input."""

    @property
    def unused_data(self) -> bytes:
        """What followed the end of the member."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Take in data and return at most so many plain bytes."""


class Codec(NamedTuple):
    """A compression: how its members begin, and what undoes it."""

    magic: tuple[bytes, ...]
    start: Callable[[], Decompressor]
    error: Callable[[], type[Exception]]
    step_bytes: int = STEP_BYTES


class _Gzip:
    """One gzip member, undone by zlib: every byte before corrupt data is given, then the error."""

    def __init__(self) -> None:
        zlib = _zlib()
        self._inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._error: Exception | None = None

    @property
    def eof(self) -> bool:
        return bool(self._inflate.eof)

    @property
    def needs_input(self) -> bool:
        return self._error is None and not self._inflate.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        unused: bytes = self._inflate.unused_data
        return unused

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        if self._error is not None:
            raise self._error
        data = self._inflate.unconsumed_tail + data
        before = self._inflate.copy()
        try:
            plain: bytes = self._inflate.decompress(data, max_length)
        except _zlib_error() as error:
            self._error = error
            plain = _until_corrupt(before, data)
        return plain


def _zlib() -> ModuleType:
    return import_module("zlib_ng.zlib_ng")


def _zlib_error() -> type[Exception]:
    error: type[Exception] = _zlib().error
    return error


def _until_corrupt(inflate: Any, data: bytes) -> bytes:
    """Return what data gives byte by byte, both in and out, so that nothing is held at the error.

    One byte still is if the bits of what is corrupt end in the same stored byte as its own.
    """
    plain = bytearray()
    with suppress(_zlib_error()):
        # First nothing: some of what went in before may not be out yet.
        for piece in itertools.chain((b"",), (data[at : at + 1] for at in range(len(data)))):
            while byte := inflate.decompress(piece, 1):
                plain += byte
                piece = inflate.unconsumed_tail
    return bytes(plain)


def _zstd() -> Decompressor:
    decompressor: Decompressor = _zstd_module().ZstdDecompressor()
    return decompressor


def _zstd_error() -> type[Exception]:
    error: type[Exception] = _zstd_module().ZstdError
    return error


def _zstd_module() -> ModuleType:
    standard = sys.version_info >= (3, 14)
    return import_module("compression.zstd" if standard else "backports.zstd")


def _bz2() -> Decompressor:
    import bz2

    return bz2.BZ2Decompressor()


def _xz() -> Decompressor:
    import lzma

    return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MAX_XZ_MEMORY)


def _xz_error() -> type[Exception]:
    import lzma

    return lzma.LZMAError


CODECS = (
    Codec((b"\x1f\x8b",), _Gzip, _zlib_error, GZIP_STEP_BYTES),
    Codec(
        # A frame, or one of the sixteen skippable frames that may come before it.
        (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + n, 0x2A, 0x4D, 0x18]) for n in range(16))),
        _zstd,
        _zstd_error,
    ),
    Codec((b"BZh",), _bz2, lambda: OSError),
    Codec((b"\xfd7zXZ\x00",), _xz, _xz_error),
)
_MAGIC_BYTES = max(len(magic) for codec in CODECS for magic in codec.magic)


class Blocks:
    """An open source.

    Args:
        chunks: Its bytes, as stored.
        ledger: Where a stream that is cut off or corrupt is counted.
        file_bytes: Its size, if it is a file.

    Attributes:
        n_bytes: Bytes read so far, as stored (compressed).
        stamp: Set for a plain regular file, whose records can be read again by offset.
    """

    def __init__(self, chunks: Iterator[bytes], ledger: SourceLedger, file_bytes: int = 0) -> None:
        self.n_bytes = 0
        self._file_bytes = file_bytes
        self.stamp: Stamp | None = None
        head = b""
        while len(head) < HEAD_BYTES and (chunk := next(chunks, b"")):
            head += chunk
        stored = self._count(head, chunks)
        codec = next((codec for codec in CODECS if head.startswith(codec.magic)), None)
        self.is_compressed = codec is not None
        self._plain = (
            stored if codec is None else _joined(_decompress(_rechunk(stored), codec, ledger))
        )

    @property
    def size_bytes(self) -> int:
        """Its bytes as stored: all of a file, however far it was read, else those read so far."""
        return max(self.n_bytes, self._file_bytes)

    def __iter__(self) -> Iterator[bytes]:
        return self._plain

    def _count(self, head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in itertools.chain((head,), chunks):
            self.n_bytes += len(chunk)
            if chunk:
                yield chunk


@contextmanager
def open_blocks(
    source: Source, ledger: SourceLedger, *, block_bytes: int = 1 << 20
) -> Iterator[Blocks]:
    """Open a source for reading once, forward; it is closed at the end of the context.

    Args:
        source: What to open.
        ledger: Where a stream that is cut off or corrupt is counted.
        block_bytes: Size of a block of a plain file, bytes.

    Raises:
        OSError: The source cannot be opened or read; reading raises it too.
        ConfigError: A file object gives text, not bytes.
    """
    if source.error is not None:
        raise source.error
    if source.path is None:
        yield Blocks(_stream_chunks(source.stream or ()), ledger)
        return
    with open(source.path, "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
            raise OSError(f"{source.name} is a device")
        is_regular = stat.S_ISREG(status.st_mode)
        # No more than the file holds: a buffer of a whole block for a small file costs more than it.
        size = min(block_bytes, status.st_size + 1) if is_regular else block_bytes
        blocks = Blocks(_read_chunks(file, size), ledger, status.st_size if is_regular else 0)
        if is_regular and not blocks.is_compressed:
            blocks.stamp = stamp_of(status)
        yield blocks


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stamp of a file's status."""
    return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _read_chunks(file: IO[bytes], size: int) -> Iterator[bytes]:
    while chunk := file.read(size):
        yield chunk


def _stream_chunks(stream: IO[bytes] | Iterable[bytes]) -> Iterator[bytes]:
    is_file = hasattr(stream, "read")
    chunks = _read_chunks(cast("IO[bytes]", stream), CHUNK_BYTES) if is_file else iter(stream)
    checked = _checked(chunks)
    # A pipe gives what happens to be in it: how much is read of an unknown format must not follow.
    yield from _rechunk(checked) if is_file else checked


def _checked(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield chunks that are bytes, without empty ones."""
    for chunk in chunks:
        if not isinstance(chunk, bytes | bytearray | memoryview):
            raise ConfigError(
                f"the stream gives {type(chunk).__name__}, not bytes\n"
                "Hint: open a file in binary mode, 'rb'; give several paths as a list."
            )
        if chunk:
            yield bytes(chunk)


def _rechunk(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Cut chunks of any size into chunks of CHUNK_BYTES, so that the reader's block size is not seen."""
    held = b""
    for chunk in chunks:
        held = held + chunk if held else chunk
        whole = len(held) - len(held) % CHUNK_BYTES
        for start in range(0, whole, CHUNK_BYTES):
            yield held[start : start + CHUNK_BYTES]
        held = held[whole:]
    if held:
        yield held


def _joined(steps: Iterator[bytes]) -> Iterator[bytes]:
    """Join small steps to blocks."""
    held: list[bytes] = []
    size = 0
    for step in steps:
        held.append(step)
        size += len(step)
        if size >= PLAIN_BLOCK_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _decompress(chunks: Iterator[bytes], codec: Codec, ledger: SourceLedger) -> Iterator[bytes]:
    """Yield the plain bytes of all members, one after another, as far as they can be read."""
    offset = 0
    data = next(chunks, b"")
    while data:
        decoder = codec.start()
        while not decoder.eof:
            try:
                plain = decoder.decompress(data, codec.step_bytes)
            except (codec.error(), EOFError) as error:
                ledger.add("truncated_stream", None, offset, str(error))
                return
            data = b""
            if plain:
                offset += len(plain)
                yield plain
            elif decoder.needs_input and not decoder.eof:
                data = next(chunks, b"")
                if not data:
                    ledger.add("truncated_stream", None, offset, "the compressed data ends early")
                    return
        data = _next_member(decoder.unused_data, chunks)
        if data and not any(magic.startswith(data[: len(magic)]) for magic in codec.magic):
            dropped = len(data) + sum(len(chunk) for chunk in chunks)
            ledger.add("trailing_data", None, offset, data, dropped=dropped)
            return


def _next_member(data: bytes, chunks: Iterator[bytes]) -> bytes:
    """Return what follows a member: zero padding skipped, enough of it to recognise a member."""
    while len(data := data.lstrip(b"\x00")) < _MAGIC_BYTES:
        chunk = next(chunks, b"")
        if not chunk:
            break
        data += chunk
    return data
