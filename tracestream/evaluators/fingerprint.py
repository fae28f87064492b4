"""A short name for the setup of a suite: scores of two setups are not to be put side by side.

The recipe is the reference's (praisonaiagents 1.7, ``eval/fingerprint.py``), so that a stored
fingerprint means the same whichever wrote it.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

_RECIPE = "evalfp1"
"""Goes into the hash and before it. Source: the reference."""

_DIGITS = 16
"""Hex digits of a SHA-256 that are kept. Source: the reference."""


def setup_fingerprint(evaluators: Iterable[Any]) -> str:
    """Return a hash of the model, the prompt, the tools and the classes of evaluators.

    Each of the first three is that of the first evaluator with an agent (or llm) that has it. The
    prompt goes in as a hash of its own. Order does not matter, for tools and classes.

    Args:
        evaluators: What a suite runs.

    Returns:
        ``evalfp1:`` and 16 hex digits, or an empty text if an agent cannot be read: a fingerprint
        never keeps a suite from running.

    Example:
        >>> setup_fingerprint([object()])
        'evalfp1:29ebe1f7cf2ab0c4'
    """
    evaluators = list(evaluators)
    try:
        agents = [getattr(each, "agent", None) or getattr(each, "llm", None) for each in evaluators]
        model = _first(agents, "llm", "model")
        named = getattr(model, "model", None) or getattr(model, "name", None) or model
        parts = {
            "version": _RECIPE,
            "model": "" if named is None else str(named),
            "prompt": _prompt_hash(_first(agents, "instructions")),
            "tools": _tool_names(_first(agents, "tools")),
            "evaluators": sorted(type(each).__name__ for each in evaluators),
            "extra": {},
        }
        return f"{_RECIPE}:{_hash(json.dumps(parts, sort_keys=True))}"
    except Exception:  # Agents are foreign objects, and may do anything when they are read.
        return ""


def _first(agents: list[Any], *fields: str) -> Any:
    """Return the first value of a field that says something, else the last one looked at."""
    value = None
    for agent in agents:
        for field in fields if agent is not None else ():
            value = value or getattr(agent, field, None)
    return value


def _prompt_hash(prompt: Any) -> str:
    if prompt is None:
        return ""
    text = prompt if isinstance(prompt, str) else json.dumps(prompt, sort_keys=True, default=str)
    return _hash(text)


def _tool_names(tools: Any) -> list[str]:
    if not tools:
        return []
    each = tools if isinstance(tools, list | tuple | set) else [tools]
    return sorted(map(_tool_name, each))


def _tool_name(tool: Any) -> str:
    name = getattr(tool, "name", None) or getattr(tool, "__name__", None)
    return str(name or (tool if isinstance(tool, str) else type(tool).__name__))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
