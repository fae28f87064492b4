"""Exit codes, and how every way a command can end becomes one.

0 pass; 1 a verdict failed; 2 usage, unwritable output, or nothing to grade; 3 a fault of
tracestream itself; 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP. A stdout that its reader closed
(``| head``) ends quietly with 0.
"""

import contextlib
import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from tracestream.cli import streams
from tracestream.errors import ConfigError, EvalPortError, InputError
from tracestream.version import __version__

PASSED, FAILED, UNUSABLE, FAULT, INTERRUPTED = 0, 1, 2, 3, 130

STOPS = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
    signal.SIGHUP: "hung up",
}
"""Signals that end a command in order, without half an output, and what is said then."""

DEBUG = "TRACESTREAM_DEBUG"
"""Environment variable: not empty, faults show their traceback."""


def exit_code(command: Callable[[], int]) -> int:
    """Return the exit code of a command; what it raises is said on stderr, without a traceback.

    Args:
        command: Returns its exit code.
    """
    with _stoppable() as stopped:
        try:
            code = _end(command)
            if stopped:
                raise KeyboardInterrupt(stopped[0])
        except KeyboardInterrupt as error:
            signum = next((n for n in STOPS if error.args == (n,)), signal.SIGINT)
            streams.say(STOPS[signum])
            code = 128 + signum
            # Python remembers an interrupt that ended a text it executed (a dataclass being made) and would
            # kill itself by SIGINT at the end; the next such text makes it forget.
            exec("")
        streams.settle()
    return code


@contextlib.contextmanager
def _stoppable() -> Iterator[list[int]]:
    """Have the signals in STOPS raise KeyboardInterrupt, except those that the caller handles.

    Yields:
        The signals that came. Python drops what is raised in a destructor, of whichever library.
    """
    before: dict[signal.Signals, Any] = {}
    stopped: list[int] = []
    unraisable = sys.unraisablehook

    def stop(signum: int, _: FrameType | None) -> None:
        stopped.append(signum)
        # While the first is on its way up, hidden files are removed: a second must not cut that short.
        if not isinstance(sys.exception(), KeyboardInterrupt):
            raise KeyboardInterrupt(signum)

    def dropped(what: "sys.UnraisableHookArgs") -> None:
        if not isinstance(what.exc_value, KeyboardInterrupt):
            unraisable(what)

    if threading.current_thread() is threading.main_thread():
        for signum in STOPS:
            # What is ignored stays ignored: `nohup`, or a shell that runs it in the background.
            if signal.getsignal(signum) in (signal.SIG_DFL, signal.default_int_handler):
                before[signum] = signal.signal(signum, stop)
        sys.unraisablehook = dropped
    try:
        yield stopped
    finally:
        sys.unraisablehook = unraisable
        for signum, handler in before.items():
            signal.signal(signum, handler)


def _end(command: Callable[[], int]) -> int:
    try:
        code = command()
        streams.flush()
        return code
    except (InputError, ConfigError, EvalPortError) as error:
        streams.complain(str(error))
        return UNUSABLE
    except OSError as error:
        return PASSED if streams.is_closed_stdout(error) else _refused(error)
    except MemoryError:
        _trace()
        streams.complain(
            "out of memory\nHint: give fewer files at a time, or a lower --max-record-bytes."
        )
        return FAULT
    except Exception as error:
        return _fault(error)


def _refused(error: OSError) -> int:
    """Say what the system refused: a full disk, a file that cannot be written."""
    import tempfile

    from tracestream.render.text import visible

    _trace()
    words = error.strerror or str(error)
    # A name may hold anything, what looks like a hint included.
    where = "" if error.filename is None else f": {visible(os.fsdecode(error.filename))}"
    hint = ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        is_spill = where and error.filename == tempfile.tempdir
        other = "name another folder in TMPDIR" if is_spill else "choose another place"
        hint = f"\nHint: make room there, or {other}."
    streams.complain(f"{words}{where}{hint}")
    return UNUSABLE


def _fault(error: Exception) -> int:
    from tracestream.quality import excerpt

    _trace()
    streams.complain(
        f"internal error: {type(error).__name__}: {excerpt(str(error))}: a fault of tracestream "
        f"{__version__}, not of the traces; please report this line ({DEBUG}=1 shows the traceback)"
    )
    return FAULT


def _trace() -> None:
    from tracestream.render.text import visible

    if os.environ.get(DEBUG):
        lines = traceback.format_exc().rstrip("\n").split("\n")
        streams.write_stderr("".join(f"{visible(line)}\n" for line in lines))
