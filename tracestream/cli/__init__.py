"""The command line: one module a command, each a thin twin of a function of the library.

Nothing but the standard library is imported here, so that Ctrl-C and faults are handled from the
first moment on.
"""

import sys
from collections.abc import Sequence

from tracestream.cli.exits import exit_code


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; see `tracestream.cli.exits`.

    Args:
        argv: The arguments after the program's name; None: those of the process.
    """
    return exit_code(lambda: _run(sys.argv[1:] if argv is None else argv))


def _run(argv: Sequence[str]) -> int:
    from tracestream.cli.app import run

    return run(argv)
