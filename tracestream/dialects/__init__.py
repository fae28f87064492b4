"""The trace formats tracestream reads: one file each, and this table of them."""

from collections.abc import Mapping
from typing import Any

from tracestream.dialects import harness, praisonai
from tracestream.dialects.base import Dialect
from tracestream.errors import UnknownDialectError

DIALECTS: tuple[Dialect, ...] = (praisonai, harness)
"""All of them, the most specific first: the first that recognises a record has it."""


def detect(record: Mapping[str, Any]) -> Dialect | None:
    """Return the dialect that recognises a record by its keys, or None.

    Example:
        >>> detect({"event_type": "tool_start"}).name
        'praisonai'
    """
    return next((dialect for dialect in DIALECTS if dialect.sniff(record)), None)


def dialect_names() -> list[str]:
    """Return the names of all dialects."""
    return [dialect.name for dialect in DIALECTS]


def dialect_named(name: str) -> Dialect:
    """Return the dialect of a name; hyphens stand for underscores.

    Raises:
        UnknownDialectError: There is none; the message lists the names.
    """
    wanted = name.replace("-", "_")
    for dialect in DIALECTS:
        if dialect.name == wanted:
            return dialect
    raise UnknownDialectError(
        f"there is no dialect {name!r}\nHint: the dialects are {', '.join(dialect_names())}, or auto."
    )
