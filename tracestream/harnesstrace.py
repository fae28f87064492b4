"""What a harness trace says, field by field, as Python values.

The rules are the reference's (praisonaiagents 1.7, ``eval/harness_eval.py``), oddities included:
where a value cannot be counted, named or judged, they raise what Python raises.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

CALLS = ("tool_calls", "tool_trace", "tools")
"""Fields that hold the tool calls: the first that is true in Python counts."""
ARTIFACTS = ("artifacts", "files", "outputs")
"""Fields that hold what the run left: likewise."""
SCHEMA = "tool_schema"
JUDGE = "judge_score"

_NAMES = ("path", "name", "file", "filename", "artifact")
"""Keys of a structured artifact, in the order in which its name is looked for."""
_HASH_DIGITS = 16


def first_true(trace: Mapping[str, Any], fields: Iterable[str]) -> Any:
    """Return the first of some fields that is true in Python; None if none is.

    Example:
        >>> first_true({"tool_calls": [], "tools": 2}, CALLS)
        2
    """
    return next(filter(None, map(trace.get, fields)), None)


def count_calls(calls: Any) -> int:
    """Return how many tool calls a value stands for.

    Args:
        calls: An integer is a count (negative: 0; True: 1); of anything else its items are counted,
            a text's characters and a dict's keys too. None is 0.

    Raises:
        TypeError: It is no integer and has no items, such as 3.0.

    Example:
        >>> count_calls([{"name": "read"}, {"name": "write"}]), count_calls(10**30) > 2
        (2, True)
    """
    if calls is None:
        return 0
    if isinstance(calls, int):
        return max(0, int(calls))
    return sum(1 for _ in calls)


def artifact_names(artifacts: Any) -> Iterable[str]:
    """Return the names of artifacts, one after another; None holds none.

    Args:
        artifacts: Names or structured entries in a list, or as the values of a dict.

    Raises:
        TypeError: It has no items.

    Example:
        >>> list(artifact_names(["a.txt", {"path": "b.txt", "size": 3}]))
        ['a.txt', 'b.txt']
    """
    if isinstance(artifacts, dict):
        artifacts = artifacts.values()
    return () if artifacts is None else map(artifact_name, artifacts)


def artifact_name(artifact: Any) -> str:
    """Return the name of one artifact: a structured entry's path or name, else its text in Python."""
    if isinstance(artifact, dict):
        return str(first_true(artifact, _NAMES) or artifact)
    return str(artifact)


def schema_hash(tool_schema: Any) -> str | None:
    """Return the first 16 hex digits of the SHA-256 of a tool schema; None if it is false in Python.

    The text that is hashed is what ``json`` writes with its own separators and ASCII escapes, keys
    sorted: any other writer gives another hash. If JSON cannot hold it, its keys are hashed.

    Example:
        >>> schema_hash({"read": {}})
        'af9a9b9eedfb4704'
    """
    if not tool_schema:
        return None
    try:
        text = json.dumps(tool_schema, sort_keys=True, default=str)
    except (TypeError, ValueError):
        text = str(sorted(tool_schema.keys()))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:_HASH_DIGITS]
