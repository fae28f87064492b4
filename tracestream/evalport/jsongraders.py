"""The graders that read an output as JSON: by a JSON Schema, or by the value at a JSONPath."""

import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import jsonschema_rs

from tracestream.evalport.faults import DUPLICATE_KEY, pointer_to, quoted
from tracestream.evalport.graders import Grade, Score, Unfit, matches, of_output, yes_or_no
from tracestream.evalport.strictjson import read_json, write_json
from tracestream.jsontext import MAX_DEPTH

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "lt": operator.lt,
    "gte": operator.ge,
    "lte": operator.le,
}

_MAX_PATH_CHARS = 1000
"""A longer path could nest deeper than the interpreter's stack goes."""
_MAX_DESCENTS = 2
"""Each `..` looks below all that the one before it found: time grows with a power of the output's size."""


class _Found(NamedTuple):
    """A value, or why there is none."""

    value: Any
    problem: str | None = None


def json_schema(params: Mapping[str, Any]) -> Grade:
    """Return a grader: the output is JSON, and a JSON Schema takes it.

    Nothing is fetched: a schema that refers to another document cannot be used. What `strict` means the spec
    does not say; it changes nothing here.

    Args:
        params: `schema`; without `$schema` it is of the draft 2020-12.

    Raises:
        Unfit: The schema cannot be used.

    Example:
        >>> from tracestream.evalport.graders import Sample
        >>> json_schema({"schema": {"required": ["status"]}})(Sample(output="{}")).reason
        'the schema refuses it: required'
    """
    try:
        check = jsonschema_rs.validator_for(params["schema"], retriever=_refuse)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        what = f"it cannot be used: {quoted(str(error).partition(chr(10))[0])}"
        hint = "it must be a whole JSON Schema that refers to no other document."
        raise Unfit("/params/schema", what, hint) from error

    def grade(output: str) -> Score:
        found = _json(output)
        if found.problem is not None:
            return yes_or_no(False, found.problem)
        error = next(check.iter_errors(found.value), None)
        if error is None:
            return yes_or_no(True, "the schema takes it")
        where = quoted(pointer_to(*error.instance_path)) + ": " if error.instance_path else ""
        return yes_or_no(False, f"the schema refuses it: {where}{error.kind.name}")

    return of_output(grade)


def _refuse(uri: str) -> Any:
    raise LookupError(f"{uri} is not fetched")


def json_path(params: Mapping[str, Any]) -> Grade:
    """Return a grader: the first value at a JSONPath (RFC 9535) in the output compares with a text.

    `eq` (the default) and `ne` compare a text with the text, and anything else with the JSON in it; `gt`, `lt`,
    `gte` and `lte` compare numbers, also those that are written as text; `contains` looks for the text in a text,
    for the JSON in it among the elements of a list, for a key of that name in an object. A path that leads to
    nothing fails, whatever the operator.

    Args:
        params: `path`, `expected`, `operator`.

    Raises:
        Unfit: The path is none, or there is no number to compare with.

    Example:
        >>> from tracestream.evalport.graders import Sample
        >>> graded = json_path({"path": "$.items[*].n", "expected": "2", "operator": "gte"})
        >>> graded(Sample(output='{"items": [{"n": 3}, {"n": 1}]}')).value
        1.0
    """
    path, expected = params["path"], params["expected"]
    name = params.get("operator", "eq")
    query = _query(path)
    if name in _ORDERS and _number(expected) is None:
        what = "it is compared as a number, and is none"
        raise Unfit("/params/expected", what, "write it as 7 or 0.5, or compare by eq.")

    def grade(output: str) -> Score:
        found = _json(output)
        if found.problem is not None:
            return yes_or_no(False, found.problem)
        first = _first(query, found.value)
        if first.problem is not None:
            return yes_or_no(False, f"{quoted(path)}: {first.problem}")
        passed = _compare(name, first.value, expected)
        shown = quoted(write_json(first.value).decode())
        return yes_or_no(
            passed, f"{shown} {'is' if passed else 'is not'} {name} {quoted(expected)}"
        )

    return of_output(grade)


def _compare(name: str, value: Any, expected: str) -> bool:
    if name in _ORDERS:
        number, bound = _number(value), _number(expected)
        return number is not None and bool(_ORDERS[name](number, bound))
    if name == "contains":
        return _contains(value, expected)
    return _equals(value, expected) is (name == "eq")


def _equals(value: Any, expected: str) -> bool:
    if isinstance(value, str):
        return value == expected
    found = _json(expected)
    return found.problem is None and _same(value, found.value)


def _contains(value: Any, expected: str) -> bool:
    if isinstance(value, list):
        return any(_equals(item, expected) for item in value)
    if isinstance(value, str | dict):
        return expected in value
    return expected in write_json(value).decode()


def _same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal: numbers by value, and true is no number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other)


def _number(value: Any) -> int | float | None:
    """Return the number that a value is, or is the text of; None if it is none."""
    if isinstance(value, str):
        value = _json(value).value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None


def _json(text: str) -> _Found:
    value, faults = read_json(text.encode())
    first = next((each for each in faults if each.code != DUPLICATE_KEY), None)
    return _Found(value) if first is None else _Found(None, first.message)


def _first(query: Any, value: Any) -> _Found:
    """Return the first value that a JSONPath leads to, in the order of RFC 9535."""
    from jsonpath import JSONPathError

    try:
        # The package takes a text for a document to parse, and cuts slices out of texts, which RFC 9535 does not.
        value = write_json(value).decode() if isinstance(value, str) else value
        ways = (each for each in query.finditer(value) if not _is_in_text(each))
        found = next(ways, None)
    except (JSONPathError, RecursionError) as error:
        return _Found(None, f"it cannot be followed: {type(error).__name__}")
    return _Found(None, "there is nothing") if found is None else _Found(found.obj)


def _is_in_text(found: Any) -> bool:
    return found.parent is not None and isinstance(found.parent.obj, str)


def _query(path: str) -> Any:
    """Return a JSONPath made ready.

    Raises:
        Unfit: It is none.
    """
    from jsonpath import JSONPathError

    hint = "it begins with $, as in $.items[0].name (RFC 9535)."
    if len(path) > _MAX_PATH_CHARS:
        what = f"it has more than {_MAX_PATH_CHARS:,} characters"
        raise Unfit("/params/path", what, hint)
    if path.count("..") > _MAX_DESCENTS:
        raise Unfit(
            "/params/path", f"it has more than {_MAX_DESCENTS} '..'", "name the keys between."
        )
    try:
        return _paths().compile(path)
    except (JSONPathError, RecursionError, ValueError, ArithmeticError) as error:
        # Not str(error): for some paths it raises.
        why = quoted(str(error.args[0])) if error.args else type(error).__name__
        raise Unfit("/params/path", f"it is no JSONPath: {why}", hint) from error


@cache
def _paths() -> Any:
    """Return what compiles JSONPaths; its regular expressions are RE2's, whose time is linear.

    Imported only where a path is: it takes a tenth of a second.
    """
    from jsonpath import JSONPathEnvironment
    from jsonpath.function_extensions import ExpressionType, FilterFunction

    class Search(FilterFunction):
        arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012
        return_type = ExpressionType.LOGICAL
        frame = "{}"

        def __call__(self, value: object, pattern: object) -> bool:
            if not isinstance(value, str) or not isinstance(pattern, str):
                return False
            try:
                return matches(self.frame.format(pattern), value)
            except ValueError:  # RFC 9535: what is no regular expression matches nothing
                return False

    class Match(Search):
        frame = r"\A(?:{})\z"

    environment = JSONPathEnvironment(strict=True)
    environment.max_recursion_depth = MAX_DEPTH + 1
    environment.function_extensions.update(search=Search(), match=Match())
    return environment
