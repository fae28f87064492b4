"""Where a report is written: the suffix of a name decides the form.

`check_outputs` refuses what cannot be written before anything is graded, as grading may take hours.
"""

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tracestream.errors import ConfigError, InputError
from tracestream.render.csv import csv_parts
from tracestream.render.html import html_parts
from tracestream.render.json import json_parts, jsonl_parts
from tracestream.render.parquet import check_folder, write_parquet
from tracestream.report import Report
from tracestream.sources import discover, source_name
from tracestream.writing import atomic_open, is_stream, write_stdout

STDOUT = "-"
TABLES = ".parquet"
FORMS: dict[str, Callable[[Report], Iterator[bytes]]] = {
    ".json": json_parts,
    ".jsonl": jsonl_parts,
    ".ndjson": jsonl_parts,
    ".csv": csv_parts,
    ".html": html_parts,
}
"""What makes the bytes of each form; `.parquet` is a folder of tables."""

OutputPath = str | os.PathLike[str]

_OURS = b'{"schema":"tracestream.'
"""How JSON begins that this package writes: documents, and lines of runs."""


class _Output(NamedTuple):
    """A place to write to.

    Attributes:
        path: As given.
        suffix: Which form: a key of FORMS, or TABLES.
        place: What two names of one place have in common.
        folder: The folder it is in; None for a pipe or a device.
    """

    path: str
    suffix: str
    place: object
    folder: str | None


def write_report(report: Report, path: OutputPath) -> None:
    """Write a report in the form that the suffix of a path names, in place of what is there.

    `.json` is the report document, `.jsonl` or `.ndjson` one run a line, `.csv` the RUNS table,
    `.html` a page to look at, `.parquet` a folder with the tables runs, handoffs and budgets. Files
    and folders are built beside the target and renamed at the end. A pipe, a device or `-` (stdout)
    is written directly; without a suffix it gets the report document. Same report, same bytes.

    Args:
        report: What was graded.
        path: Where to; its folder must exist.

    Raises:
        ConfigError: It cannot be written there; see `check_outputs`.
        OSError: The disk is full, or a reader has gone.
    """
    output = _checked(path)
    if output.suffix == TABLES:
        write_parquet(report, output.path)
        return
    parts = FORMS[output.suffix](report)
    if output.path == STDOUT:
        write_stdout(parts)
        return
    with atomic_open(output.path) as file:
        for part in parts:
            file.write(part)


def check_outputs(paths: Iterable[OutputPath], *, traces: Iterable[OutputPath] = ()) -> None:
    """Raise unless a report can be written to all of these paths; nothing is left there.

    Args:
        paths: Files, `.parquet` folders, pipes, devices, or `-`.
        traces: Files, folders and globs that are read; an output never takes the place of a trace.

    Raises:
        ConfigError: A suffix is unknown; a folder is missing or not writable; a file would stand
            where a folder does, or a folder of tables where something else is; two outputs have one
            place, or one lies in the other; an output would replace a trace.
    """
    places: dict[object, str] = {}
    outputs = [_checked(path) for path in paths]
    for output in outputs:
        if output.place in places:
            other = places[output.place]
            raise _refused(
                f"{_shown(output.path)} and {_shown(other)} are the same output",
                "give each output its own name.",
            )
        places[output.place] = output.path
    for output in outputs:
        around = places.get(output.folder)
        if around is not None:
            raise _refused(
                f"{_shown(output.path)} lies in the output {_shown(around)}",
                "a .parquet folder holds its tables and nothing else.",
            )
    _check_traces(outputs, traces)


def _checked(path: OutputPath) -> _Output:
    """Return what a path stands for.

    Raises:
        ConfigError: It cannot be written.
    """
    name = os.fsdecode(path)
    status = _status(name)
    mode = 0 if status is None else status.st_mode
    if status is not None and (name == STDOUT or (not stat.S_ISDIR(mode) and is_stream(name))):
        return _Output(name, _stream_suffix(name, mode), (status.st_dev, status.st_ino), None)
    suffix = _suffix(name)
    place = os.path.realpath(name)
    folder = os.path.dirname(place)
    _check_folder(name, folder)
    if suffix == TABLES:
        check_folder(Path(place))
    elif stat.S_ISDIR(mode) or name.endswith(os.sep):
        raise _refused(f"{_shown(name)} is a folder", f"name a file in it, as report{suffix}.")
    if mode and not os.access(name, os.W_OK):
        raise _refused(f"{_shown(name)} is write-protected", "remove it or choose another name.")
    return _Output(name, suffix, place, folder)


def _status(name: str) -> os.stat_result | None:
    try:
        return os.fstat(1) if name == STDOUT else os.stat(name)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        words = getattr(error, "strerror", None) or str(error)
        raise _refused(f"cannot write {_shown(name)}: {words}", "give another path.") from error


def _suffix(name: str) -> str:
    suffix = os.path.splitext(name.rstrip(os.sep))[1].lower()
    if suffix not in FORMS and suffix != TABLES:
        what = f"the suffix {suffix!r} is unknown" if suffix else "there is no suffix"
        raise _refused(
            f"cannot tell in which form to write {_shown(name)}: {what}",
            f"it is one of {', '.join([*FORMS, TABLES])}.",
        )
    return suffix


def _stream_suffix(name: str, mode: int) -> str:
    suffix = _suffix(name) if os.path.splitext(name)[1] else ".json"
    if suffix == TABLES:
        raise _refused(
            f"{_shown(name)} is no folder, and Parquet is written as a folder of tables",
            "pipes and devices take the other forms.",
        )
    if stat.S_ISSOCK(mode) and name != STDOUT:
        raise _refused(f"{_shown(name)} is a socket", "write to a file or a pipe.")
    if name != STDOUT and not os.access(name, os.W_OK):
        raise _refused(f"{_shown(name)} is not writable", "check its permissions.")
    return suffix


def _check_folder(name: str, folder: str) -> None:
    if not os.path.isdir(folder):
        raise _refused(
            f"cannot write {_shown(name)}: there is no folder {_shown(folder)}",
            "folders are not created; make it first, or check the spelling.",
        )
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _refused(
            f"cannot write {_shown(name)}: {error.strerror or error}",
            f"the folder {_shown(folder)} must be writable.",
        ) from error


def _check_traces(outputs: Iterable[_Output], traces: Iterable[OutputPath]) -> None:
    at_risk = [o.path for o in outputs if os.path.isfile(o.path) and not _is_ours(o.path)]
    read = set(_identities(traces)) if at_risk else set()
    for name in at_risk:
        status = os.stat(name)
        if (status.st_dev, status.st_ino) in read:
            raise _refused(
                f"{_shown(name)} is read, and would be lost", "write the report to another file."
            )


def _identities(traces: Iterable[OutputPath]) -> Iterator[tuple[int, int]]:
    """Yield device and inode of every file that is read, stdin included."""
    traces = list(traces)
    files: list[str | int] = [0] if any(os.fspath(trace) == STDOUT for trace in traces) else []
    given = [trace for trace in traces if os.fspath(trace) != STDOUT]
    # What does not exist is said where it is read.
    with contextlib.suppress(InputError):
        files += [s.path for s in discover(given) if s.path is not None] if given else []
    for file in files:
        with contextlib.suppress(OSError):
            status = os.stat(file)
            yield status.st_dev, status.st_ino


def _is_ours(name: str) -> bool:
    """Say whether a file is a report document, or the run documents of one."""
    try:
        with open(name, "rb") as file:
            return file.read(len(_OURS)) == _OURS
    except OSError:
        return False


def _refused(what: str, hint: str) -> ConfigError:
    return ConfigError(f"{what}\nHint: {hint}")


def _shown(path: str) -> str:
    return repr(source_name(path))
