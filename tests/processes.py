"""The command in a process of its own, its streams connected to whatever a test wants."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

_CHANGING = (
    *("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "TRACESTREAM_DEBUG"),
    *("PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8"),
)
ENV = {name: value for name, value in os.environ.items() if name not in _CHANGING}
ENV["PYTHONPATH"] = str(ROOT)
"""The environment without what changes how a process writes."""


def program(*arguments, env=None, **options):
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tracestream", *map(str, arguments)],
        env={**ENV, **(env or {})},
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=options.pop("stderr", subprocess.PIPE),
        check=False,
        timeout=60,
        **options,
    )


def on_terminal(*arguments, columns=80, stderr=False, **env):
    """Run a command on a terminal, perhaps words too; return exit code and what it shows."""
    pty = pytest.importorskip("pty")
    here, there = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tracestream", *map(str, arguments)],
        env={**ENV, "TERM": "xterm-256color", "COLUMNS": str(columns), **env},
        stdout=there,
        stderr=there if stderr else subprocess.DEVNULL,
    )
    os.close(there)
    shown = b""
    try:
        while chunk := os.read(here, 65536):
            shown += chunk
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(here)
    return process.wait(timeout=60), shown.decode().replace("\r\n", "\n")
