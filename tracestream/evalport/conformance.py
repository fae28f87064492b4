"""The JSON Schemas of EvalPort documents, and what they refuse as faults.

The schemas are ours, written from the spec; `schemas/evalport/` holds the same files. A suite and a
result set are checked in parts: the head, in which the long array stands empty, and each element.
"""

import json
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from typing import Any

import jsonschema_rs

from tracestream.evalport.faults import (
    SCHEMA_INVALID,
    UNKNOWN_FIELD,
    Fault,
    fault,
    pointer_to,
    quoted,
)

KINDS = ("suite", "resultset", "testcase", "grader")
"""Kinds of EvalPort documents, each with a schema of that name."""

PACKAGE = "package"
"""A native package: no EvalPort document, and checked the same way."""

ARRAYS = {"suite": "test_cases", "resultset": "results"}
"""The array of a document that may be long, by its kind."""

_WORDS = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "object": "an object",
    "array": "a list",
    "boolean": "true or false",
    "null": "null",
}
_SCORE_HINT = "bring it to 0..1 and keep the native one in metadata, as 'openeval.raw_score'."
_DRAFTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
)


@cache
def schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a kind of document."""
    file = resources.files("tracestream.evalport").joinpath("schemas", f"{kind}.schema.json")
    value: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return value


@cache
def document_check(kind: str) -> jsonschema_rs.Draft202012Validator:
    """Return the check of a whole document."""
    return _compiled(schema(kind))


@cache
def head_check(kind: str) -> jsonschema_rs.Draft202012Validator:
    """Return the check of a document whose long array has no elements that matter."""
    whole = schema(kind)
    array = ARRAYS.get(kind)
    if array is None:
        return document_check(kind)
    without = {name: rule for name, rule in whole["properties"][array].items() if name != "items"}
    return _compiled({**whole, "properties": {**whole["properties"], array: without}})


@cache
def element_check(kind: str) -> jsonschema_rs.Draft202012Validator:
    """Return the check of an element of a document's long array."""
    whole = schema(kind)
    items = whole["properties"][ARRAYS[kind]]["items"]
    return _compiled({"$id": whole["$id"], "$defs": whole["$defs"], **items})


def fields(kind: str) -> frozenset[str]:
    """Return the names of the fields that a kind of document has."""
    return frozenset(schema(kind)["properties"])


def is_json_schema(value: dict[str, Any]) -> bool:
    """Say whether a value is a JSON Schema, as far as that can be told without fetching anything.

    Example:
        >>> is_json_schema({"type": "object"}), is_json_schema({"type": "thing"})
        (True, False)
    """
    draft = value.get("$schema", _DRAFTS[0])
    if not isinstance(draft, str) or draft.rstrip("#") not in _DRAFTS:
        return isinstance(draft, str)
    return jsonschema_rs.meta.is_valid(value)


def schema_faults(
    check: jsonschema_rs.Draft202012Validator,
    value: Any,
    pointer: str = "",
    line: int | None = None,
) -> Iterator[Fault]:
    """Yield what a schema refuses in a value.

    Args:
        check: Of `document_check`, `head_check` or `element_check`.
        value: Finite numbers and whole characters only, as `check_values` sees to.
        pointer: Where the value stands in its document.
        line: The line it begins on.

    Example:
        >>> grader = {"id": "g", "type": "contains", "params": {"substring": 7}}
        >>> [(f.pointer, f.message) for f in schema_faults(document_check("grader"), grader)]
        [('/params/substring', 'it must be text, not a whole number')]
    """
    if check.is_valid(value):
        return
    for error in check.iter_errors(value):
        where = pointer_to(*error.instance_path, base=pointer)
        kind: Any = error.kind
        if kind.name == UNKNOWN_FIELD:
            for name in kind.unexpected:
                yield fault(
                    SCHEMA_INVALID,
                    pointer_to(name, base=where),
                    f"EvalPort knows no field {quoted(name)} here",
                    hint="what it has no field for goes into 'metadata'.",
                    line=line,
                    keyword=UNKNOWN_FIELD,
                )
        else:
            message, hint = _say(error, kind)
            if error.instance_path[-1:] == ["score"]:
                hint = _SCORE_HINT
            yield fault(
                SCHEMA_INVALID, where, message, hint=hint, line=line, keyword=str(kind.name)
            )


def _say(error: jsonschema_rs.ValidationError, kind: Any) -> tuple[str, str | None]:
    """Return what is wrong in words, and what to do about it."""
    say = _SENTENCES.get(kind.name)
    return ("its schema refuses it", None) if say is None else say(kind, error.instance)


def _type(kind: Any, instance: Any) -> tuple[str, str | None]:
    wanted = [_WORDS[name] for name in sorted(kind.types, key=list(_WORDS).index)]
    hint = "leave the field out if there is nothing to say." if instance is None else None
    return f"it must be {' or '.join(wanted)}, not {kind_of(instance)}", hint


def kind_of(value: Any) -> str:
    """Return what JSON value it is, in words."""
    if isinstance(value, float):
        return "a fraction"
    names = {str: "string", bool: "boolean", int: "integer", dict: "object", list: "array"}
    return _WORDS[names.get(type(value), "null")]


def _options(kind: Any, instance: Any) -> tuple[str, str | None]:
    return "it must be " + " or ".join(quoted(str(option)) for option in kind.options), None


def _pattern(kind: Any, instance: Any) -> tuple[str, str | None]:
    return f"it must be {_patterns()[kind.pattern]}", None


_SENTENCES: dict[str, Callable[[Any, Any], tuple[str, str | None]]] = {
    "type": _type,
    "required": lambda kind, _: (f"the field {quoted(kind.property)} is missing", "add it."),
    "minLength": lambda kind, _: ("it must not be empty", None),
    "minItems": lambda kind, _: ("it must have at least one element", None),
    "minimum": lambda kind, _: (f"it must be {kind.limit} or more", None),
    "maximum": lambda kind, _: (f"it must be {kind.limit} or less", None),
    "enum": _options,
    "pattern": _pattern,
    "format": lambda kind, _: (
        "it must be a date and time as RFC 3339 writes it",
        "such as 2026-01-15T10:30:00Z.",
    ),
    "falseSchema": lambda kind, _: (
        "it has no place beside 'test_cases_file'",
        "keep the test cases here, or in the file.",
    ),
}
"""A schema's keyword, and what a value that it refuses is told."""


@cache
def _patterns() -> dict[str, str]:
    """Return what each pattern of the schemas asks for, which stands beside it as its description."""
    found = {}
    pending: list[Any] = [schema(kind) for kind in (*KINDS, PACKAGE)]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if "pattern" in value and isinstance(value["pattern"], str):
                found[value["pattern"]] = value["description"]
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return found


def _compiled(value: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    known = [(schema(kind)["$id"], schema(kind)) for kind in KINDS]
    return jsonschema_rs.Draft202012Validator(
        value, registry=jsonschema_rs.Registry(known), validate_formats=True
    )
