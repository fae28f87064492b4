"""The report's tables as Parquet: a folder of runs, handoffs and budgets."""

import ctypes
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from tracestream.errors import ConfigError
from tracestream.report import Report
from tracestream.schema import PUBLISHED
from tracestream.sources import source_name
from tracestream.spool import Spool
from tracestream.writing import hidden_beside, naming

TABLES = ("runs", "handoffs", "budgets")
_ROW_GROUP_ROWS = 1 << 16

_HERE, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux."""


def write_parquet(report: Report, path: str | os.PathLike[str]) -> None:
    """Write `runs.parquet`, `handoffs.parquet` and `budgets.parquet` into a folder of their own.

    The folder is built hidden beside the target, flushed to disk, and then renamed. An existing one
    with nothing but such tables in it changes places with it, and is removed last. If anything
    fails, the target stays as it was.

    Args:
        report: What was graded.
        path: The folder. The folder above it must exist.

    Raises:
        ConfigError: The target exists, and is no folder or holds something else.
        OSError: It cannot be written.
    """
    target = Path(os.path.realpath(path))
    check_folder(target)
    hidden = hidden_beside(target)
    try:
        with naming(path, hidden):
            hidden.mkdir()
            spools = (report.runs_spool, report.handoffs_spool, report.budgets_spool)
            for name, spool in zip(TABLES, spools, strict=True):
                _write_table(spool, hidden / f"{name}.parquet")
            _sync(hidden)
            _put(hidden, target)
    except BaseException:
        _remove(hidden)
        raise
    _sync(target.parent)


def check_folder(target: Path) -> None:
    """Raise unless a folder of tables may be put at a path, in place of what is there.

    Raises:
        ConfigError: There is something else than a folder, or something in it that is no table of
            ours: anything but the three files, or one of them that tracestream did not write.
    """
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise ConfigError(
            f"{source_name(os.fspath(target))!r} is there, and is no folder\n"
            "Hint: Parquet is written as a folder of tables; remove the file or take another name."
        )
    foreign = _foreign(target)
    if foreign is not None:
        raise _refusal(target, foreign)


def _refusal(target: Path, foreign: str) -> ConfigError:
    return ConfigError(
        f"{source_name(os.fspath(target))!r} holds {source_name(foreign)!r}, which tracestream did "
        "not write\nHint: the whole folder would be replaced; choose another name, or remove it."
    )


def _foreign(folder: Path) -> str | None:
    """Return the name of something in a folder that is no table of ours; None if there is none."""
    return next((name for name in sorted(os.listdir(folder)) if not _is_ours(folder / name)), None)


def _is_ours(path: Path) -> bool:
    """Say whether a file is a table that `write_parquet` wrote, of whatever version."""
    import pyarrow.parquet as pq

    name = path.name.removesuffix(".parquet")
    if name not in TABLES or name == path.name or not stat.S_ISREG(os.lstat(path).st_mode):
        return False
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError):
        return False
    wrote: bytes = metadata.get(b"tracestream.schema", b"")
    return wrote.startswith(f"{name}/".encode())


def _write_table(spool: Spool, path: Path) -> None:
    import pyarrow.parquet as pq

    schema = PUBLISHED[path.stem]
    with open(path, "xb") as file:
        writer = pq.ParquetWriter(file, schema, compression="zstd")
        try:
            for group in _row_groups(spool, schema):
                writer.write_table(group)
            writer.close()
        finally:
            writer.is_open = False  # or it closes again when it is deleted, and fails aloud
        file.flush()
        os.fsync(file.fileno())


def _row_groups(spool: Spool, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows, each group in one piece, so that the bytes do not depend on how they were held."""
    group: list[pa.RecordBatch] = []
    room = _ROW_GROUP_ROWS
    for batch in spool.batches(schema.names):
        while batch.num_rows:
            part, batch = batch.slice(0, room), batch.slice(room)
            group.append(part)
            room -= part.num_rows
            if not room:
                yield pa.Table.from_batches(group, schema).combine_chunks()
                group, room = [], _ROW_GROUP_ROWS
    if group:
        yield pa.Table.from_batches(group, schema).combine_chunks()


def _put(hidden: Path, target: Path) -> None:
    if not os.path.lexists(target):
        os.rename(hidden, target)
        return
    hidden.chmod(stat.S_IMODE(target.stat().st_mode))
    _exchange(hidden, target)
    foreign = _foreign(hidden)  # again, as something may have been put there since
    if foreign is not None:
        _exchange(hidden, target)
        raise _refusal(target, foreign)
    _remove(hidden)


def _exchange(one: Path, other: Path) -> None:
    """Have two folders change places: at once, or else by way of a third name."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except AttributeError:  # not Linux
        rename = None
    if rename and not rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE):
        return
    aside = hidden_beside(other)
    try:
        os.rename(other, aside)
        os.rename(one, other)
    except BaseException:
        if not os.path.lexists(other):
            os.rename(aside, other)
        raise
    os.rename(aside, one)


def _remove(folder: Path) -> None:
    """Remove a folder of our tables, if it is there; never anything else that is in it."""
    for name in TABLES:
        (folder / f"{name}.parquet").unlink(missing_ok=True)
    if os.path.lexists(folder):
        folder.rmdir()


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
