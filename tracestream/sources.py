"""Where traces come from: turn paths, folders, globs, stdin, file objects and bytes into sources.

A named file is always read. In a folder, recursively, only files named like traces are: `*.jsonl`,
`*.ndjson`, `*.json`, `*.traj`, `*.eval`, each also with a compression suffix or a rotation number;
hidden ones, links to folders and `.meta.json` companions are passed over.
"""

import glob
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import IO, Any, cast

from tracestream.errors import ConfigError, InputError
from tracestream.jsontext import writable

SourceArg = str | os.PathLike[str] | bytes | IO[bytes] | Iterable[Any]
"""A path, a glob, `-` for stdin, a file object, bytes, blocks of bytes, or a list of any of them."""

SUFFIXES = (".jsonl", ".ndjson", ".json", ".traj", ".eval")
COMPRESSIONS = (".gz", ".zst", ".bz2", ".xz")

_TRACE_NAME = re.compile(
    r"\.(?:jsonl|ndjson|json|traj|eval)(?:\.(?:gz|zst|bz2|xz|[0-9]+))*$", re.IGNORECASE
)
_COMPANION_NAME = re.compile(r"\.meta\.json$", re.IGNORECASE)
_UNDECODABLE = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Source:
    """One place traces come from.

    Attributes:
        order: Its place among the sources, from 0.
        name: As given, relative where it was; `-` for stdin; bytes that are no UTF-8 as %XX; one that
            is there already gets a number.
        path: The file, or None.
        stream: A file object open for reading bytes, or blocks of bytes; None for a file.
        in_folder: Found in a folder rather than named.
        error: Why it cannot be opened, if discovery already knows.
        size_bytes: Its size when it was found, if it is a regular file.
    """

    order: int
    name: str
    path: str | None = None
    stream: IO[bytes] | Iterable[bytes] | None = None
    in_folder: bool = False
    error: OSError | None = None
    size_bytes: int | None = None


def discover(source: SourceArg) -> list[Source]:
    """Return the sources that an argument names, in order, each file once.

    Args:
        source: See SourceArg. Folders are searched; several paths keep the order given.

    Raises:
        InputError: A named path does not exist, a glob matches nothing, or nothing was found at all.
        ConfigError: The argument is of no kind that can be read.

    Example:
        >>> [s.name for s in discover(b'{"event_type": "tool_start"}')]
        ['<bytes>']
    """
    seen: set[tuple[int, int]] = set()
    n_named: Counter[str] = Counter()
    sources: list[Source] = []
    for found in _expand(source):
        status = _status(found)
        if status is not None:
            identity = (status.st_dev, status.st_ino)
            if identity in seen:
                continue
            seen.add(identity)
            found = replace(found, size_bytes=status.st_size)
        if found.name == "-" and n_named["-"]:
            continue
        # Runs are told apart by the name of their source: of two streams, the second is `<stream> (2)`.
        n_named[found.name] += 1
        name = found.name if n_named[found.name] == 1 else f"{found.name} ({n_named[found.name]})"
        sources.append(replace(found, order=len(sources), name=name))
    if not sources:
        raise InputError(
            f"no trace files in {_described(source)}\n"
            f"Hint: files named {' '.join('*' + s for s in SUFFIXES)} are looked for, also with "
            f"{' '.join(COMPRESSIONS)} or a rotation number behind; name other files one by one.",
        )
    return sources


def source_name(path: str) -> str:
    """Return a path as a report names it: bytes that are no UTF-8 stand as %XX; it can be written.

    Example:
        >>> source_name("a" + chr(0xDCFF) + ".jsonl")
        'a%FF.jsonl'
    """
    return writable(_UNDECODABLE.sub(lambda match: f"%{ord(match[0]) - 0xDC00:02X}", path))


def bare_name(name: str) -> str:
    """Return the name of a trace file without its folder and its suffixes.

    Example:
        >>> bare_name("traces/refund.v2.jsonl.gz")
        'refund.v2'
    """
    return _TRACE_NAME.sub("", name.rpartition("/")[2])


def _expand(source: SourceArg) -> Iterator[Source]:
    if isinstance(source, str | os.PathLike):
        yield from _expand_path(os.fsdecode(source))
    elif isinstance(source, bytes | bytearray | memoryview):
        yield Source(0, "<bytes>", stream=[bytes(source)])
    elif hasattr(source, "read"):
        name = getattr(source, "name", None)
        label = source_name(name) if isinstance(name, str) else "<stream>"
        yield Source(0, label, stream=cast("IO[bytes]", source))
    elif isinstance(source, list | tuple | set | frozenset):
        items = sorted(source, key=os.fsencode) if isinstance(source, set | frozenset) else source
        if items and all(isinstance(item, bytes) for item in items):
            yield Source(0, "<bytes>", stream=items)
        else:
            for item in items:
                yield from _expand(item)
    elif isinstance(source, Mapping):
        raise ConfigError(
            "these are events in memory, not traces to read\n"
            "Hint: ContextEvaluator(trace_events=events, agent_order=[...]) scores them."
        )
    elif isinstance(source, Iterable):
        yield Source(0, "<bytes>", stream=cast("Iterable[bytes]", source))
    else:
        raise ConfigError(
            f"cannot read traces from {type(source).__name__}\n"
            "Hint: give a path, a list of paths, a glob, a file open in binary mode, or bytes."
        )


def _stdin() -> Source:
    try:
        # Closing stdin is not ours to do, hence a duplicate that is never closed by us.
        return Source(0, "-", stream=open(0, "rb", closefd=False, buffering=0))
    except OSError as error:
        return Source(0, "-", error=error)


def _expand_path(path: str) -> Iterator[Source]:
    if path == "-":
        yield _stdin()
        return
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        if os.path.lexists(path):
            yield Source(0, source_name(path), path)  # a dangling link: exists, cannot be read
            return
        matches = glob.glob(path, recursive=True) if glob.has_magic(path) else []
        if not matches:
            raise _missing(path) from None
        for match in sorted(matches, key=_components):
            yield from _expand_path(match)
    except (NotADirectoryError, ValueError):
        raise _missing(path) from None
    except OSError as error:
        yield Source(0, source_name(path), path, error=error)
    else:
        if stat.S_ISDIR(mode):
            yield from sorted(_walk(path), key=lambda found: _components(found.path or ""))
        else:
            yield Source(0, source_name(path), path)


def _walk(root: str) -> Iterator[Source]:
    pending = [root]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    elif _is_trace(entry):
                        yield Source(0, source_name(entry.path), entry.path, in_folder=True)
        except OSError as error:
            yield Source(0, source_name(folder), folder, in_folder=True, error=error)


def _is_trace(entry: os.DirEntry[str]) -> bool:
    if not _TRACE_NAME.search(entry.name) or _COMPANION_NAME.search(entry.name):
        return False
    if not entry.is_symlink():
        return entry.is_file(follow_symlinks=False)
    try:
        return stat.S_ISREG(entry.stat().st_mode)
    except OSError:
        return True  # a dangling link: reported as unreadable when it is opened


def _status(found: Source) -> os.stat_result | None:
    """Return the status of a regular file: its size, and what tells the same file given twice."""
    if found.path is None or found.error is not None:
        return None
    try:
        status = os.stat(found.path)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _components(path: str) -> list[bytes]:
    return os.fsencode(path).split(os.fsencode(os.sep))


def _missing(path: str) -> InputError:
    kind = "nothing matches" if glob.has_magic(path) else "no such file or folder:"
    return InputError(
        f"{kind} {source_name(path)!r}\n"
        "Hint: check the spelling, and that the path is relative to the folder you are in.",
        source=source_name(path),
    )


def _described(source: SourceArg) -> str:
    if isinstance(source, str | os.PathLike):
        return repr(source_name(os.fsdecode(source)))
    if isinstance(source, list | tuple) and source:
        return ", ".join(_described(item) for item in source)
    return "what was given"
