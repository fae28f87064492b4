"""stdout is data, stderr is words: writing both, whatever they are connected to."""

import contextlib
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from tracestream.writing import STDOUT, naming

if TYPE_CHECKING:
    from tracestream.render.text import Line

_COLUMNS = 80
"""Cells of a terminal that does not say."""


def write_text(text: str) -> None:
    """Write text to stdout.

    Raises:
        OSError: stdout cannot be written; its file name is STDOUT.
    """
    if sys.stdout is not None:
        with naming(STDOUT):
            sys.stdout.write(text)


def write_lines(lines: "Iterable[Line]") -> None:
    """Write lines to stdout, with colour if it is a terminal that may have it.

    Raises:
        OSError: stdout cannot be written; its file name is STDOUT.
    """
    out = sys.stdout
    if out is None:
        return
    with naming(STDOUT):
        if _has_colour(out):
            from rich.console import Console
            from rich.text import Text

            console = Console(file=out, highlight=False)
            for line in lines:
                text = Text(line.text)
                text.stylize(line.style, 0, line.n_styled)
                console.print(text, soft_wrap=True)
        else:
            for line in lines:
                out.write(f"{line.text}\n")


def flush() -> None:
    """Flush stdout, so that words on stderr follow it and its errors are seen in time.

    Raises:
        OSError: stdout cannot be written; its file name is STDOUT.
    """
    if sys.stdout is not None:
        with naming(STDOUT):
            sys.stdout.flush()


def terminal_width() -> int | None:
    """Return the cells of a line if stdout is a terminal, else None."""
    out = sys.stdout
    return width_of(out) if out is not None and out.isatty() else None


def width_of(terminal: TextIO) -> int:
    """Return the cells of a line of a terminal: COLUMNS, or what it says itself."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    with contextlib.suppress(OSError, ValueError):
        return os.get_terminal_size(terminal.fileno()).columns or _COLUMNS
    return _COLUMNS


def is_ascii_only(stream: TextIO | None = None) -> bool:
    """Say whether a stream, by default stdout, may fail on text beyond ASCII."""
    encoding = getattr(stream or sys.stdout, "encoding", None) or "utf-8"
    return not encoding.lower().startswith("utf")


def say(sentence: str) -> None:
    """Write a sentence to stderr, safe for a terminal and on one line, whatever names are in it."""
    from tracestream.render.text import visible

    write_stderr(f"tracestream: {visible(sentence)}\n")


def complain(message: str) -> None:
    """Write an error message to stderr: what was wrong, then its hint on a line of its own."""
    from tracestream.render.text import visible

    sentence, mark, hint = message.rpartition("\nHint: ")
    say(f"error: {sentence if mark else message}")
    if mark:
        write_stderr(f"Hint: {visible(hint)}\n")


def write_stderr(text: str) -> None:
    """Write to stderr if that is possible; words are never a reason to fail."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()


def is_stdout(path: str) -> bool:
    """Say whether an output is what stdout is."""
    return path in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def is_closed_stdout(error: OSError) -> bool:
    """Say whether an error means that the reader of stdout has gone."""
    if not isinstance(error, BrokenPipeError):
        return False
    return error.filename == STDOUT or is_stdout(str(error.filename))


def settle() -> None:
    """Leave nothing to flush when the interpreter ends, where an error could not be handled."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError:
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)


def _has_colour(stream: TextIO) -> bool:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain
