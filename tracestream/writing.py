"""Writing a file so that a reader sees the old content or the new, never half of it."""

import os
import re
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
def atomic_open(path: str | os.PathLike[str], *, replaces_link: bool = False) -> Iterator[BinaryIO]:
    """Yield a binary file whose bytes become the content of ``path`` when the block ends.

    The bytes go to a hidden file beside the target, which is flushed to disk and then renamed over
    it. If the block raises, the target stays as it was and the hidden file is removed. An existing
    target keeps its permissions; a symbolic link stays, and the file it names is written. Only a
    process that is killed outright leaves the hidden file, which nothing reads.

    A target that is no regular file (a pipe, a device), or a name like ``/dev/stdout`` that stands
    for an open file, is written directly.

    Args:
        path: The target. Its folder must exist.
        replaces_link: A target that is a symbolic link is replaced, wherever it leads.

    Raises:
        OSError: The target, which it names, cannot be written.

    Example:
        >>> import tempfile
        >>> target = Path(tempfile.mkdtemp(), "report.json")
        >>> with atomic_open(target) as file:
        ...     _ = file.write(b"{}")
        >>> target.read_bytes()
        b'{}'
    """
    is_replaced = replaces_link and os.path.islink(path)
    mode = None if is_replaced else _mode(path)
    if _is_stream(path, mode):
        with naming(path), open(path, "wb") as stream:
            try:
                yield stream
            except BaseException:
                _abandon(stream)
                raise
        return
    target = Path(path if is_replaced else os.path.realpath(path))
    hidden = hidden_beside(target)
    try:
        with naming(path, hidden):
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


def _abandon(stream: BinaryIO) -> None:
    """Let nothing more be written to a stream: closing it would wait for a reader that does not read."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def atomic_write(path: str | os.PathLike[str], data: bytes, *, replaces_link: bool = False) -> None:
    """Make ``data`` the whole content of ``path``, as `atomic_open` does.

    Args:
        path: The target. Its folder must exist.
        data: The new content.
        replaces_link: As in `atomic_open`.

    Raises:
        OSError: The target cannot be written.
    """
    with atomic_open(path, replaces_link=replaces_link) as file:
        file.write(data)


def hidden_beside(target: Path) -> Path:
    """Return a new name in the folder of a target for what is not whole yet.

    Grading passes it over, as it does every hidden name.
    """
    return target.with_name(f".tracestream-{uuid.uuid4().hex}.tmp")


@contextmanager
def naming(path: str | os.PathLike[str], hidden: Path | None = None) -> Iterator[None]:
    """Have an error of the system say what is written, where it says nothing.

    Args:
        path: What is written, as its user knows it.
        hidden: Where it is built; a name that begins so means nothing to a user.
    """
    try:
        yield
    except OSError as error:
        where = error.filename
        is_ours = hidden is not None and str(where).startswith(str(hidden))
        if error.errno is not None and (where is None or is_ours):
            error.filename = os.fspath(path)
        raise


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
    with naming(STDOUT):
        out.flush()
        for part in map(for_terminal, parts) if out.isatty() else parts:
            if binary is None:
                out.write(part.decode())
            else:
                binary.write(part)
        out.flush()


def for_terminal(part: bytes) -> bytes:
    r"""Return a piece of JSON in ASCII: the same document, and nothing in it steers a terminal.

    JSON escapes some control characters and leaves others, and all that reorders or hides text.

    Example:
        >>> print(for_terminal('["é\x9b2J\u202e😀"]'.encode()).decode())
        ["\u00e9\u009b2J\u202e\ud83d\ude00"]
    """
    return _NOT_ASCII.sub(_escaped, part.decode()).encode("ascii")


_NOT_ASCII = re.compile(r"[^\n -~]")


def _escaped(character: re.Match[str]) -> str:
    units = character[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
