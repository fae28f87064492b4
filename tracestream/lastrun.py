"""The pointer to the trace of the last completed run: a small JSON file that any program may read.

File, keys and place are those of praisonaiagents 1.7 (``trace/last_run.py``), so what either
library records, the other finds. Only the standard library is imported, as an agent's own process
records its run.
"""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracestream.errors import ConfigError
from tracestream.results import strict
from tracestream.writing import atomic_write

POINTER_VERSION = "1.0"
POINTER_NAME = "last_trace.json"
HOME = "PRAISON_HOME"
"""Environment variable: the folder of the pointer, instead of ``~/.praison``."""


def last_run_pointer_path() -> Path:
    """Return the absolute path of the pointer file, whether it exists or not.

    It is ``$PRAISON_HOME/last_trace.json``, or ``~/.praison/last_trace.json`` where that variable
    is unset or empty. A ``~`` in the variable is a name like any other: shells expand it, not we.
    A ``..`` stays: behind a link to a folder it leads elsewhere than its letters say.

    Raises:
        ConfigError: PRAISON_HOME is unset, and this user has no home folder; or it is relative,
            and the working folder is gone.
    """
    home = os.environ.get(HOME)
    try:
        folder = Path(home) if home else Path.home() / ".praison"
    except RuntimeError as error:
        raise ConfigError(
            f"this user has no home folder\nHint: set {HOME} to a folder that may be written."
        ) from error
    try:
        return (folder / POINTER_NAME).absolute()
    except FileNotFoundError as error:
        raise _nowhere(folder) from error


def record_completed_run(
    trace_path: str | os.PathLike[str], meta: Mapping[str, Any] | None = None
) -> Path:
    """Record which trace the run that has just completed wrote, and return the pointer file's path.

    The pointer is replaced whole: a reader sees the old one or the new one, however many processes
    record at once. A pointer that is a symbolic link is replaced too, not followed. Its folder is
    made if it is missing.

    Args:
        trace_path: The trace file; made absolute, links followed. It need not exist yet.
        meta: What else to keep about the run (agent, status), in values that JSON knows. It is
            copied; a float that is not finite becomes null, as JSON has no word for it.

    Raises:
        ConfigError: meta holds what JSON cannot say, or the path cannot be one, or is relative
            where the working folder is gone.
        OSError: The pointer cannot be written.

    Example:
        >>> import tempfile
        >>> os.environ["PRAISON_HOME"] = tempfile.mkdtemp()
        >>> record_completed_run("trace.jsonl", meta={"agent": "researcher"}).name
        'last_trace.json'
        >>> load_last_run_pointer()["meta"]
        {'agent': 'researcher'}
        >>> del os.environ["PRAISON_HOME"]
    """
    pointer = {
        "schema_version": POINTER_VERSION,
        "path": _absolute(trace_path),
        "recorded_at": time.time(),
        "meta": _plain(meta or {}),
    }
    target = last_run_pointer_path()
    target.parent.mkdir(parents=True, exist_ok=True)
    # ASCII: the name of a file that is no UTF-8 has its bytes as escapes that Python reads back.
    atomic_write(target, json.dumps(pointer).encode("ascii"), replaces_link=True)
    return target


def load_last_run_pointer() -> dict[str, Any] | None:
    """Return the pointer to the last completed run, or None if there is none that can be used.

    None stands for a file that is missing, unreadable, not UTF-8, not JSON or not an object, and
    for one without a text under ``path``. It never raises. Keys are ``schema_version``, ``path``,
    ``recorded_at`` (seconds since 1970) and ``meta``; only ``path`` is checked.
    """
    try:
        pointer = json.loads(last_run_pointer_path().read_bytes().decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(pointer, dict):
        return None
    path = pointer.get("path")
    return pointer if path and isinstance(path, str) else None


def _absolute(path: str | os.PathLike[str]) -> str:
    try:
        return os.path.realpath(os.fsdecode(path))
    except FileNotFoundError as error:
        raise _nowhere(path) from error
    except ValueError as error:  # a NUL, or half a surrogate pair that stands for no byte
        shown = repr(os.fsdecode(path))[:80]
        raise ConfigError(
            f"no file can have the name {shown}\nHint: give the path of the trace."
        ) from error


def _nowhere(path: str | os.PathLike[str]) -> ConfigError:
    """Return what is wrong with a relative path where the working folder has been deleted."""
    return ConfigError(
        f"the working folder is gone, so {os.fsdecode(path)[:80]!r} is nowhere\n"
        "Hint: give an absolute path, or go to a folder that is there."
    )


def _plain(meta: Mapping[str, Any]) -> Any:
    """Return a copy that holds nothing but strict JSON."""
    try:
        return strict(dict(meta))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"meta cannot be written as JSON: {str(error)[:80]}\n"
            "Hint: give texts, numbers, booleans, None, and lists and dicts of them."
        ) from error
