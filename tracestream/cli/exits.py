"""Exit codes, and how every way a command can end becomes one.

0 pass; 1 a verdict failed; 2 usage, unwritable output, or nothing to grade; 3 a fault of
tracestream itself; 130 Ctrl-C. A stdout that its reader closed (``| head``) ends quietly with 0.
"""

import errno
import os
import traceback
from collections.abc import Callable

from tracestream.cli import streams
from tracestream.errors import ConfigError, InputError
from tracestream.version import __version__

PASSED, FAILED, UNUSABLE, FAULT, INTERRUPTED = 0, 1, 2, 3, 130

DEBUG = "TRACESTREAM_DEBUG"
"""Environment variable: not empty, faults show their traceback."""


def exit_code(command: Callable[[], int]) -> int:
    """Return the exit code of a command; what it raises is said on stderr, without a traceback.

    Args:
        command: Returns its exit code.
    """
    try:
        code = command()
        streams.flush()
    except KeyboardInterrupt:
        streams.say("interrupted")
        code = INTERRUPTED
    except (InputError, ConfigError) as error:
        streams.complain(str(error))
        code = UNUSABLE
    except OSError as error:
        code = PASSED if streams.is_closed_stdout(error) else _refused(error)
    except MemoryError:
        _trace()
        streams.complain(
            "out of memory\nHint: give fewer files at a time, or a lower --max-record-bytes."
        )
        code = FAULT
    except Exception as error:
        code = _fault(error)
    streams.settle()
    return code


def _refused(error: OSError) -> int:
    """Say what the system refused: a full disk, a file that cannot be written."""
    _trace()
    what = "" if error.filename is None else f": {os.fsdecode(error.filename)}"
    hint = "free some space there; TMPDIR names the folder for temporary files."
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    streams.complain(f"{error.strerror or error}{what}" + (f"\nHint: {hint}" if is_full else ""))
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
    if os.environ.get(DEBUG):
        streams.write_stderr(traceback.format_exc())
