"""The report's tables as Parquet: a folder of runs, handoffs and budgets."""

import os
import stat
import uuid
from pathlib import Path

import pyarrow as pa

from tracestream.errors import ConfigError
from tracestream.report import Report
from tracestream.schema import PUBLISHED
from tracestream.sources import source_name

TABLES = ("runs", "handoffs", "budgets")
_ROW_GROUP_ROWS = 1 << 16


def write_parquet(report: Report, path: str | os.PathLike[str]) -> None:
    """Write `runs.parquet`, `handoffs.parquet` and `budgets.parquet` into a folder of their own.

    The folder is built hidden beside the target, flushed to disk, and then renamed. An existing one
    with nothing but such tables in it is moved aside first, and removed last. If anything fails,
    the target stays as it was.

    Args:
        report: What was graded.
        path: The folder. The folder above it must exist.

    Raises:
        ConfigError: The target exists, and is no folder or holds something else.
        OSError: It cannot be written.
    """
    target = Path(os.path.realpath(path))
    check_folder(target)
    hidden = _beside(target, "tmp")
    hidden.mkdir()
    try:
        tables = (report.runs_table, report.handoffs_table, report.budgets_table)
        for name, table in zip(TABLES, tables, strict=True):
            _write_table(table, hidden / f"{name}.parquet")
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


def _write_table(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    schema = PUBLISHED[path.stem]
    with open(path, "xb") as file:
        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for begin in range(0, table.num_rows, _ROW_GROUP_ROWS):
                # In one piece, so that the bytes do not depend on how the table was put together.
                writer.write_table(table.slice(begin, _ROW_GROUP_ROWS).combine_chunks())
        file.flush()
        os.fsync(file.fileno())


def _put(hidden: Path, target: Path) -> None:
    if not os.path.lexists(target):
        os.rename(hidden, target)
        return
    aside = _beside(target, "old")
    hidden.chmod(stat.S_IMODE(target.stat().st_mode))
    os.rename(target, aside)
    try:
        foreign = _foreign(aside)  # again, as something may have been put there since
        if foreign is not None:
            raise _refusal(target, foreign)
        os.rename(hidden, target)
    except BaseException:
        os.rename(aside, target)
        raise
    _remove(aside)


def _remove(folder: Path) -> None:
    """Remove a folder of our tables; never anything else that is in it."""
    for name in TABLES:
        (folder / f"{name}.parquet").unlink(missing_ok=True)
    folder.rmdir()


def _beside(target: Path, suffix: str) -> Path:
    return target.with_name(f".{uuid.uuid4().hex}.{suffix}")


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
