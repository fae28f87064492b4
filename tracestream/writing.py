"""Writing a file so that a reader sees the old content or the new, never half of it."""

import os
import stat
import sys
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_OPEN_FILES = ("/dev/fd/", "/dev/std", "/proc/")
"""Names that stand for open files; `/dev/shm` is a folder like any other."""


@contextmanager
def atomic_open(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a binary file whose bytes become the content of ``path`` when the block ends.

    The bytes go to a hidden file beside the target, which is flushed to disk and then renamed over
    it. If the block raises, the target stays as it was and the hidden file is removed. An existing
    target keeps its permissions; a symbolic link stays, and the file it names is written.

    A target that is no regular file (a pipe, a device), or a name like ``/dev/stdout`` that stands
    for an open file, is written directly.

    Args:
        path: The target. Its folder must exist.

    Raises:
        OSError: The target cannot be written.

    Example:
        >>> import tempfile
        >>> target = Path(tempfile.mkdtemp(), "report.json")
        >>> with atomic_open(target) as file:
        ...     _ = file.write(b"{}")
        >>> target.read_bytes()
        b'{}'
    """
    mode = _mode(path)
    if _is_stream(path, mode):
        try:
            with open(path, "wb") as stream:
                yield stream
        except OSError as error:
            error.filename = error.filename or os.fspath(path)
            raise
        return
    target = Path(os.path.realpath(path))
    hidden = target.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        with open(hidden, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            hidden.chmod(stat.S_IMODE(mode))
        os.replace(hidden, target)
    except BaseException:
        if os.path.lexists(hidden):
            hidden.unlink()
        raise


def atomic_write(path: str | os.PathLike[str], data: bytes) -> None:
    """Make ``data`` the whole content of ``path``, as `atomic_open` does.

    Args:
        path: The target. Its folder must exist.
        data: The new content.

    Raises:
        OSError: The target cannot be written.
    """
    with atomic_open(path) as file:
        file.write(data)


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Return whether `atomic_open` writes a target directly: a pipe, a device, an open file's name.

    Example:
        >>> is_stream("/dev/null"), is_stream("no such file")
        (True, False)
    """
    return _is_stream(path, _mode(path))


def _mode(path: str | os.PathLike[str]) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _is_stream(path: str | os.PathLike[str], mode: int | None) -> bool:
    if mode is None:
        return False
    # /dev/stdout redirected to a file is a regular file, and renaming over it would lose what
    # else the process prints.
    return not stat.S_ISREG(mode) or os.path.abspath(path).startswith(_OPEN_FILES)


STDOUT = "<stdout>"
"""Stands as the file name in an OSError of writing to stdout."""


def write_stdout(parts: Iterable[bytes]) -> None:
    """Write a document to stdout, part by part, whatever encoding stdout has for text.

    Args:
        parts: Pieces of UTF-8, none of which ends inside a character.

    Raises:
        OSError: stdout cannot be written; its file name is STDOUT.
    """
    out = sys.stdout
    if out is None:
        return
    binary = getattr(out, "buffer", None)  # there is none in a notebook
    try:
        out.flush()
        for part in parts:
            if binary is None:
                out.write(part.decode())
            else:
                binary.write(part)
        out.flush()
    except OSError as error:
        error.filename = error.filename or STDOUT
        raise
