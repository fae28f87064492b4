"""What the `evalport` commands share: the files they are given, and the faults in them."""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tracestream.cli import streams
from tracestream.errors import ConfigError, InputError
from tracestream.writing import atomic_open, for_terminal, write_stdout

if TYPE_CHECKING:
    from tracestream.evalport.validation import Validation
    from tracestream.sources import Source

MAX_FAULTS = 1000
"""As `tracestream.evalport.validation` has it, which is not imported for a default; a test compares them."""

Output = Annotated[
    str,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Where to write the document; - is stdout."
    ),
]
MaxFaults = Annotated[
    int,
    typer.Option(
        "--max-faults", metavar="N", min=1, help="Tell at most N faults of a file; all are counted."
    ),
]


def sources(paths: Sequence[str]) -> "list[Source]":
    """Return the files that paths and globs name, in order, each once; `-` is stdin.

    Raises:
        ConfigError: A path is a folder.
        InputError: A file does not exist.
    """
    from tracestream.sources import discover, source_name

    for path in paths:
        if os.path.isdir(path):
            raise ConfigError(
                f"{source_name(path)!r} is a folder\nHint: name files, such as '{source_name(path)}/*.json'."
            )
    return discover(list(paths))


def source(path: str) -> "Source":
    """Return the one file that a path names.

    Raises:
        ConfigError: It is a folder, or a glob that names several files.
        InputError: It does not exist.
    """
    found = sources([path])
    if len(found) > 1:
        raise ConfigError(f"{path!r} names {len(found)} files\nHint: one is taken here.")
    return found[0]


def check_output(output: str, given: "Iterable[Source]") -> None:
    """Raise if a document would take the place of one that is read.

    Raises:
        ConfigError: It would.
    """
    for each in given:
        if each.path is not None and os.path.exists(output) and os.path.samefile(output, each.path):
            raise ConfigError(
                f"{each.name} is read and would be replaced\nHint: another name for -o."
            )


def write(output: str, parts: Iterable[bytes]) -> None:
    """Write a document whole or, if that fails, not at all; to stdout as it comes.

    Raises:
        OSError: It cannot be written.
    """
    if output == "-":
        write_stdout(parts)
    else:
        with atomic_open(output) as file:
            file.writelines(map(for_terminal, parts) if file.isatty() else parts)


def refuse(found: "Validation") -> None:
    """Raise if a document that a command needs is not valid, and say its faults on stderr.

    Raises:
        InputError: It is not valid.
    """
    if found.is_valid:
        return
    for each in found.faults:
        streams.say(each.sentence(found.source))
    count = sum(found.counts.values())
    raise InputError(
        f"{found.source} is not valid: {count:,} {'fault' if count == 1 else 'faults'}\n"
        "Hint: `tracestream evalport validate` tells them as JSON, too.",
        source=found.source,
    )
