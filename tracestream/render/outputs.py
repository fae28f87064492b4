"""Where a report is written: the suffix of a name decides the form.

`check_outputs` refuses what cannot be written before anything is graded, as grading may take hours.
"""

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tracestream.errors import ConfigError, InputError
from tracestream.render.csv import csv_parts
from tracestream.render.html import html_parts
from tracestream.render.json import json_parts, jsonl_parts
from tracestream.render.parquet import check_folder, write_parquet
from tracestream.report import Report
from tracestream.sources import discover, source_name
from tracestream.writing import atomic_open, for_terminal, is_stream, write_stdout

if TYPE_CHECKING:
    from tracestream.evalport.export import Export  # with what validates, it takes long to import

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
REPORT_FORMS = (*FORMS, TABLES)
LINES = (".jsonl", ".ndjson")
RESULT_FORMS = (".json", *LINES)
"""Of an EvalPort result set: one document, or a result a line with the rest of it in a file beside."""
SUITE_FORMS = (".json",)
COMPANION = ".meta.json"
"""What stands in place of the suffix in the name of that file; grading passes it over."""

OutputPath = str | os.PathLike[str]

_OURS = re.compile(
    rb'''\{"schema":"tracestream\.|\{\n  "version": "[^"]+",\n  "(?:suite_)?id": "tracestream"'''
)
"""How JSON begins that this package writes: documents, lines of runs, EvalPort documents of a corpus."""
_HEAD_BYTES = 100


class _Output(NamedTuple):
    """A place to write to.

    Attributes:
        path: As given.
        suffix: Which form.
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
    output = _checked(path, REPORT_FORMS)
    if output.suffix == TABLES:
        write_parquet(report, output.path)
        return
    parts = FORMS[output.suffix](report)
    _write(output, parts)


def write_result_set(export: "Export", path: OutputPath) -> None:
    """Write a graded corpus as an EvalPort result set, in place of what is there.

    `.json` is the document. With `.jsonl` or `.ndjson` there is one result a line, and the rest of the result
    set stands beside them: of `results.jsonl` in `results.meta.json`. The two are replaced one after the
    other. See `write_report` for the rest.

    Args:
        export: What was graded.
        path: Where to; its folder must exist.

    Raises:
        ConfigError: It cannot be written there; see `check_outputs`.
        EvalPortError: There is no valid result set.
        OSError: The disk is full, or a reader has gone.
    """
    output = _checked(path, RESULT_FORMS)
    if output.suffix not in LINES:
        _write(output, export.parts())
        return
    with atomic_open(output.path) as file:
        file.writelines(export.lines())
        with atomic_open(_companion(output).path) as beside:
            beside.write(export.companion())


def write_suite(export: "Export", path: OutputPath) -> None:
    """Write the EvalPort suite of a graded corpus: a test case a run; see `write_result_set`."""
    _write(_checked(path, SUITE_FORMS), export.suite_parts())


def _write(output: _Output, parts: Iterable[bytes]) -> None:
    if output.path == STDOUT:
        write_stdout(parts)
        return
    with atomic_open(output.path) as file:
        file.writelines(map(for_terminal, parts) if file.isatty() else parts)


def check_outputs(
    paths: Iterable[OutputPath],
    *,
    result_sets: Iterable[OutputPath] = (),
    suites: Iterable[OutputPath] = (),
    traces: Iterable[OutputPath] = (),
) -> None:
    """Raise unless all of these can be written; nothing is left there.

    Args:
        paths: Reports: files, `.parquet` folders, pipes, devices, or `-`.
        result_sets: EvalPort result sets, as `write_result_set` writes them.
        suites: EvalPort suites.
        traces: Files, folders and globs that are read; an output never takes the place of a trace.

    Raises:
        ConfigError: A suffix is unknown; a folder is missing or not writable; a file would stand
            where a folder does, or a folder of tables where something else is; two outputs have one
            place, or one lies in the other; an output would replace a trace.
    """
    places: dict[object, str] = {}
    outputs = [_checked(path, REPORT_FORMS) for path in paths]
    results = [_checked(path, RESULT_FORMS) for path in result_sets]
    outputs += [*results, *(_companion(each) for each in results if each.suffix in LINES)]
    outputs += [_checked(path, SUITE_FORMS) for path in suites]
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


def _companion(output: _Output) -> _Output:
    """Return the file beside results that are written as lines."""
    if output.folder is None:
        raise _refused(
            f"{_shown(output.path)} is no file, and results as JSON Lines have another file beside them",
            "pipes and devices take the document, .json.",
        )
    return _checked(os.path.splitext(output.path)[0] + COMPANION, RESULT_FORMS)


def _checked(path: OutputPath, forms: Sequence[str]) -> _Output:
    """Return what a path stands for.

    Args:
        path: Where to.
        forms: The suffixes that it may have.

    Raises:
        ConfigError: It cannot be written.
    """
    name = os.fsdecode(path)
    status = _status(name)
    mode = 0 if status is None else status.st_mode
    if status is not None and (name == STDOUT or (not stat.S_ISDIR(mode) and is_stream(name))):
        return _Output(
            name, _stream_suffix(name, mode, forms), (status.st_dev, status.st_ino), None
        )
    suffix = _suffix(name, forms)
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


def _suffix(name: str, forms: Sequence[str]) -> str:
    suffix = os.path.splitext(name.rstrip(os.sep))[1].lower()
    if suffix not in forms:
        what = f"the suffix {suffix!r} is unknown" if suffix else "there is no suffix"
        raise _refused(
            f"cannot tell in which form to write {_shown(name)}: {what}",
            f"it is one of {', '.join(forms)}." if len(forms) > 1 else f"it is {forms[0]}.",
        )
    return suffix


def _stream_suffix(name: str, mode: int, forms: Sequence[str]) -> str:
    suffix = _suffix(name, forms) if os.path.splitext(name)[1] else ".json"
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
    """Say whether a file is something that was written of a report."""
    try:
        with open(name, "rb") as file:
            return _OURS.match(file.read(_HEAD_BYTES)) is not None
    except OSError:
        return False


def _refused(what: str, hint: str) -> ConfigError:
    return ConfigError(f"{what}\nHint: {hint}")


def _shown(path: str) -> str:
    return repr(source_name(path))
