"""`tracestream record`."""

import os
from collections.abc import Sequence
from typing import Annotated

import typer

from tracestream.cli import streams
from tracestream.cli.exits import PASSED
from tracestream.errors import ConfigError, InputError

EXAMPLES = (
    "tracestream record trace.jsonl",
    "tracestream record trace.jsonl --meta agent=researcher --meta status=ok",
)

NO_FOLDER = "Hint: PRAISON_HOME has to name a folder, or a place where one can be made."
"""What to do where the folder of the pointer is something else."""

TracePath = Annotated[
    str,
    typer.Argument(metavar="PATH", help="The trace file that the run wrote.", show_default=False),
]
Meta = Annotated[
    list[str] | None,
    typer.Option(
        "--meta", metavar="KEY=VALUE", help="What to keep about the run, as text. Repeatable."
    ),
]


def command(path: TracePath, meta: Meta = None) -> int:
    """Record which trace the last completed run wrote.

    `last-trace` grades it. Writes the path of the pointer file to stdout: last_trace.json in the
    folder that PRAISON_HOME names, else in ~/.praison. Exit code: 0, or 2 for wrong usage, a missing
    trace, or a pointer that cannot be written.
    """
    from tracestream.lastrun import record_completed_run
    from tracestream.render.text import Line, visible

    values = _values(meta or ())
    if not os.path.isfile(path):
        reason = "is no file" if os.path.exists(path) else "does not exist"
        raise InputError(f"the trace {path!r} {reason}\nHint: name the file that the run wrote.")
    try:
        pointer = str(record_completed_run(path, meta=values))
    except (FileExistsError, NotADirectoryError) as error:
        raise ConfigError(f"{os.fsdecode(error.filename)} is no folder\n{NO_FOLDER}") from error
    streams.write_lines([Line(visible(pointer, ascii_only=streams.is_ascii_only()))])
    return PASSED


def _values(given: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not key or not equals:
            raise ConfigError(f"--meta {item!r} is not KEY=VALUE\nHint: --meta agent=researcher.")
        if key in values:
            raise ConfigError(f"--meta names {key!r} twice\nHint: give each key one value.")
        values[key] = value
    return values
