"""Fields of a package, a report or a document, read as what they have to be, or refused with their place."""

from collections.abc import Mapping
from typing import Any

from tracestream.errors import EvalPortError


def dict_of(value: Any, pointer: str) -> dict[Any, Any]:
    """Return a new dict of a mapping; an empty one of None, or of anything else that is empty.

    Args:
        value: The field.
        pointer: Where it stands in the EvalPort document.

    Raises:
        EvalPortError: It is something else.

    Example:
        >>> dict_of(None, "/metadata"), dict_of({"seed": 7}, "/metadata")
        ({}, {'seed': 7})
    """
    if value and not isinstance(value, Mapping):
        raise misfit(value, "a mapping", pointer)
    return dict(value or {})


def list_of(value: Any, pointer: str) -> list[Any]:
    """Return a new list of what can be iterated over.

    Args:
        value: The field.
        pointer: Where it stands in the EvalPort document.

    Raises:
        EvalPortError: It is something else.

    Example:
        >>> list_of(("a", "b"), "/test_cases")
        ['a', 'b']
    """
    try:
        return list(value)
    except TypeError as error:
        raise misfit(value, "a list", pointer) from error


def misfit(value: Any, wanted: str, pointer: str) -> EvalPortError:
    """Return the error that a field is not what it has to be.

    Example:
        >>> print(misfit(7, "a list", "/test_cases"))
        EvalPort: /test_cases needs a list, not a value of type int
        Hint: correct that field.
    """
    return EvalPortError(
        f"EvalPort: {pointer or 'the document'} needs {wanted}, not a value of type {type(value).__name__}\n"
        "Hint: correct that field.",
        pointer=pointer,
    )
