"""Native packages and suites as files hold them: one made of the other, each held to its schema."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tracestream.errors import EvalPortError
from tracestream.evalport.conformance import PACKAGE, document_check, schema_faults
from tracestream.evalport.documents import read_values
from tracestream.evalport.faults import Fault
from tracestream.evalport.mapping import from_evalport, to_evalport
from tracestream.evalport.validation import Validation, check_value, validate_value
from tracestream.package import EvalPackage
from tracestream.sources import Source


class Imported(NamedTuple):
    """A native package as `EvalPackage.to_dict` gives it, and what validating its suite gave."""

    package: dict[str, Any]
    suite: Validation


def read_package(source: Source) -> dict[str, Any]:
    """Return the valid EvalPort suite of a native package in a file.

    Args:
        source: JSON or YAML in the shape of `EvalPackage.to_dict`.

    Raises:
        EvalPortError: It cannot be read, is no package, or no valid suite can be made of it: without
            cases, with two of one name, with a timeout that has no end.
    """
    value = _value(source)
    _refuse(source, schema_faults(document_check(PACKAGE), value))
    suite = to_evalport(EvalPackage.from_dict(value))
    check_value(suite, "suite")
    return suite


def read_suite(source: Source) -> Imported:
    """Return the native package of an EvalPort suite in a file.

    Suites that are not valid by the spec are read as far as `from_evalport` can: cases under `cases`,
    graders that are not defined, no version.

    Args:
        source: JSON or YAML. A file of test cases that the suite names is read, too.

    Raises:
        EvalPortError: It cannot be read, is no suite, or a field of it has no place in a package.
    """
    value = _value(source)
    named = value.get("test_cases_file")
    suite = value
    if isinstance(named, str) and "test_cases" not in value:
        suite = {**value, "test_cases": _cases(source, named)}
        del suite["test_cases_file"]
    elif "test_cases" not in value and "cases" not in value:
        raise EvalPortError(
            f"{source.name} has no test cases\nHint: is it an EvalPort suite?",
            pointer="/test_cases",
        )
    package = from_evalport(suite).to_dict()
    _refuse(source, schema_faults(document_check(PACKAGE), package))
    return Imported(package, validate_value(suite, kind="suite"))


def _value(source: Source) -> dict[str, Any]:
    values = []
    for value, faults in read_values(source):
        _refuse(source, faults)
        values.append(value)
    if len(values) > 1:
        raise EvalPortError(f"{source.name} has more than one document\nHint: one document a file.")
    return dict(values[0])


def _cases(suite: Source, name: str) -> list[Any]:
    base = Path(suite.path).parent if suite.path is not None else Path()
    source = Source(0, str(base / name), str(base / name))
    cases = []
    for value, faults in read_values(source):
        _refuse(source, faults)
        cases.append(value)
    return cases


def _refuse(source: Source, faults: Iterable[Fault]) -> None:
    """Raise the first of some faults."""
    found = list(faults)
    if found:
        first = found[0]
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise EvalPortError(
            f"{first.place(source.name)}: {first.message}{more}\nHint: {first.hint}",
            pointer=first.pointer,
        )
