"""Read again the few records that are scored, by where they lie.

Grading keeps no text while it scans: only the span of the last output and the last input of each
agent. A plain file is read again at those offsets; records of a source that cannot be (stdin, a
compressed file) are kept in one append-only spill file as soon as they may win.
"""

import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO, NamedTuple

from tracestream.blocks import Stamp, stamp_of
from tracestream.errors import InputError
from tracestream.sources import Source


class Span(NamedTuple):
    """Where an event lies; spans of one corpus compare in the order of their events.

    Attributes:
        time: Nanoseconds since 1970 where events are ordered by time; 0 where by their place in files.
        source: Order of the source.
        offset: Offset of the record.
        ordinal: Which event of the record.
        length: Bytes of the record.
        line: Its line, for words.
        kept: Place of the record in the spill, if its source cannot be read again.
    """

    time: int
    source: int
    offset: int
    ordinal: int
    length: int
    line: int
    kept: int | None = None


class Spill:
    """An append-only file of records, without a name, gone with the process."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._end = 0

    def keep(self, record: bytes) -> int:
        """Append a record; return where it is.

        Raises:
            OSError: The folder for temporary files, which it names, cannot take it.
        """
        view, at = memoryview(record), self._end
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="tracestream-", buffering=0)  # noqa: SIM115
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            error.filename = error.filename or tempfile.gettempdir()
            raise
        self._end += len(record)
        return at

    def read(self, at: int, length: int) -> bytes:
        """Return a record kept before."""
        assert self._file is not None, "nothing was kept"
        return os.pread(self._file.fileno(), length, at)

    def clear(self) -> None:
        """Forget all records, and give their bytes back."""
        if self._end:
            assert self._file is not None, "something was kept"
            self._file.truncate(0)
            self._file.seek(0)
            self._end = 0

    def close(self) -> None:
        """Give the file back."""
        if self._file is not None:
            self._file.close()


class Records:
    """Reads records again by span; holds one file open at a time.

    Args:
        sources: The sources, by order.
        stamps: Stamp of each plain file as it was when it was read; may grow while it is used.
        spill: Where records of other sources were kept.
    """

    def __init__(
        self, sources: Sequence[Source], stamps: Mapping[int, Stamp], spill: Spill
    ) -> None:
        self._sources = sources
        self._stamps = stamps
        self._spill = spill
        self._open: tuple[int, IO[bytes]] | None = None

    def read(self, span: Span) -> bytes:
        """Return the bytes of the record at a span.

        Raises:
            InputError: The file has changed since it was read. One that has only grown is taken.
        """
        if span.kept is not None:
            return self._spill.read(span.kept, span.length)
        try:
            data = os.pread(self._file(span.source).fileno(), span.length, span.offset)
        except OSError as error:
            raise self.changed(span.source, str(error)) from error
        if len(data) < span.length:
            raise self.changed(span.source, "it is shorter now")
        return data

    def close(self) -> None:
        """Close what is open."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def _file(self, order: int) -> IO[bytes]:
        if self._open is not None and self._open[0] == order:
            return self._open[1]
        self.close()
        path = self._sources[order].path
        assert path is not None, "a span without a file is kept in the spill"
        file = open(path, "rb", buffering=0, opener=_without_waiting)  # noqa: SIM115
        how = _change(self._stamps[order], stamp_of(os.fstat(file.fileno())))
        if how is not None:
            file.close()
            raise self.changed(order, how)
        self._open = (order, file)
        return file

    def changed(self, order: int, how: str) -> InputError:
        """Return the error of a file that is no longer what was read."""
        name = self._sources[order].name
        return InputError(
            f"{name} changed while it was graded: {how}\nHint: grade it again when nothing writes to it.",
            source=name,
        )


def _change(then: Stamp, now: Stamp) -> str | None:
    """Say how a file is no longer what it was; None if it is, or has only grown."""
    if now[:2] != then[:2] or now.size_bytes < then.size_bytes:
        return "it was replaced or cut"
    if now.size_bytes == then.size_bytes and now.modified_ns != then.modified_ns:
        return "it was written to"
    return None


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; one that is a pipe by now has nobody to wait for."""
    return os.open(path, flags | os.O_NONBLOCK)
