"""An evaluation package as an EvalPort suite, and back.

Equal to the reference (praisonaiagents 1.7, ``eval/evalport.py``) wherever that gives a result, but for
what docs/decisions/0005-where-the-evalport-mapping-differs.md lists. Nothing of the caller is
changed; what is deeper than a case's metadata is shared with the document, not copied.
"""

from collections.abc import Mapping
from typing import Any

from tracestream.errors import ConfigError, EvalPortError
from tracestream.evalport.fields import dict_of, list_of, misfit
from tracestream.evalport.terms import (
    CRITERION_DESCRIPTION,
    GRADER_TYPE,
    HANDLER,
    NAMESPACE,
    SPEC_VERSION,
    VERDICT_DESCRIPTION,
    VERDICT_GRADER,
)
from tracestream.package import EvalCase, EvalPackage


def to_evalport(package: EvalPackage) -> dict[str, Any]:
    """Return a package as an EvalPort suite, a dict to be written as JSON.

    A package without cases, or with two of one name, gives a suite that no validator accepts, as
    the reference does.

    Args:
        package: The package; it stays as it is.

    Raises:
        EvalPortError: A field has no place in a suite, such as an endless timeout; `.pointer` says
            where it would stand.

    Example:
        >>> package = EvalPackage("math", cases=[EvalCase("addition", "2 + 2?", expected="4")])
        >>> to_evalport(package)["test_cases"][0]["expected_output"]
        '4'
    """
    cases = [_test_case(case, f"/test_cases/{n}") for n, case in enumerate(package.cases)]
    graders = dict.fromkeys([VERDICT_GRADER, *(each for case in cases for each in case["graders"])])
    suite: dict[str, Any] = {
        "version": SPEC_VERSION,
        "id": package.name,
        "name": package.name,
        "graders": [_grader(grader) for grader in graders],
        "test_cases": cases,
        "metadata": {
            NAMESPACE: {
                "version": package.version,
                "thresholds": dict_of(package.thresholds, f"/metadata/{NAMESPACE}/thresholds"),
                "seed": package.seed,
            }
        },
    }
    if package.description:
        suite["description"] = package.description
    return suite


def from_evalport(suite: Mapping[str, Any]) -> EvalPackage:
    """Return an EvalPort suite as a package.

    The cases of other tools' suites may stand under ``cases``, with ``name``, ``expected``,
    ``criteria`` and ``timeout_seconds``. Graders that are written out become their ids. What a package has no
    place for (tags, provider, params, weight, a file of test cases) is left out.

    ``from_evalport(to_evalport(package)).to_dict() == package.to_dict()`` holds for packages of
    which the version and each criterion is a text that is not empty, the criteria of a case are
    unique and none is the verdict grader, a timeout is of whole milliseconds or not positive, and
    the description is a text; where two packages give one suite, it is the simpler that comes back.

    Args:
        suite: The suite, as read from JSON; it stays as it is.

    Raises:
        EvalPortError: It, a case in it, or a field of one is no such thing, or a case has no input;
            `.pointer` says where.

    Example:
        >>> suite = {"id": "s", "test_cases": [{"id": "hello", "input": "Say hello", "graders": ["g"]}]}
        >>> from_evalport(suite).cases[0].criteria
        ['g']
    """
    if not isinstance(suite, Mapping):
        raise misfit(suite, "an object", "")
    key = "test_cases" if "test_cases" in suite else "cases"
    items = list_of(suite.get(key, []), f"/{key}")
    native = dict_of(
        dict_of(suite.get("metadata"), "/metadata").get(NAMESPACE), f"/metadata/{NAMESPACE}"
    )
    # The reference once wrote its documents with the package's version at the top.
    old_version = suite.get("version") if "evalport_version" in suite else None
    return EvalPackage(
        name=suite.get("name") or suite.get("id") or "suite",
        description=suite.get("description", ""),
        version=native.get("version") or old_version or "1.0.0",
        cases=[_case(item, f"/{key}/{n}") for n, item in enumerate(items)],
        thresholds=dict_of(
            native.get("thresholds") or suite.get("thresholds"),
            f"/metadata/{NAMESPACE}/thresholds",
        ),
        seed=native.get("seed", suite.get("seed")),
    )


def _grader(grader: str) -> dict[str, Any]:
    is_verdict = grader == VERDICT_GRADER
    return {
        "id": grader,
        "type": GRADER_TYPE,
        "params": {"handler": HANDLER},
        "description": VERDICT_DESCRIPTION if is_verdict else CRITERION_DESCRIPTION.format(grader),
    }


def _test_case(case: EvalCase, pointer: str) -> dict[str, Any]:
    criteria = list_of(case.criteria or [], f"{pointer}/graders")
    try:
        graders = list(dict.fromkeys([VERDICT_GRADER, *criteria]))
    except TypeError as error:
        raise EvalPortError(
            f"EvalPort: a criterion at {pointer}/graders cannot be the id of a grader\n"
            "Hint: a criterion is a text.",
            pointer=f"{pointer}/graders",
        ) from error
    item: dict[str, Any] = {"id": case.name, "input": case.input, "graders": graders}
    if case.expected is not None:
        item["expected_output"] = case.expected
    if case.metadata:
        item["metadata"] = dict_of(case.metadata, f"{pointer}/metadata")
    if case.timeout_seconds is not None:
        _write_timeout(case.timeout_seconds, item, pointer)
    return item


def _write_timeout(seconds: float, item: dict[str, Any], pointer: str) -> None:
    """Put a timeout into a test case: as milliseconds, or where those may not be, in our namespace."""
    try:
        if seconds > 0:
            item["timeout_ms"] = max(1, round(seconds * 1000))
            return
    except (TypeError, OverflowError) as error:
        raise EvalPortError(
            f"EvalPort: {pointer}/timeout_ms needs a finite number of seconds\n"
            "Hint: for a case that may take for ever, 0 is kept as it is.",
            pointer=f"{pointer}/timeout_ms",
        ) from error
    metadata = item.setdefault("metadata", {})
    native = dict_of(metadata.get(NAMESPACE), f"{pointer}/metadata/{NAMESPACE}")
    metadata[NAMESPACE] = {**native, "timeout_seconds": seconds}


def _case(item: Any, pointer: str) -> EvalCase:
    if not isinstance(item, Mapping):
        raise misfit(item, "an object", pointer)
    metadata = dict_of(item.get("metadata"), f"{pointer}/metadata")
    seconds = _take_timeout(item, metadata, pointer)
    references = list_of(item.get("graders") or item.get("criteria") or [], f"{pointer}/graders")
    graders = [each.get("id") if isinstance(each, dict) else each for each in references]
    try:
        return EvalCase(
            name=item.get("id") or item.get("name") or "case",
            input=item.get("input", ""),
            expected=item.get("expected_output", item.get("expected")),
            criteria=[grader for grader in graders if grader and grader != VERDICT_GRADER],
            metadata=metadata,
            timeout_seconds=seconds,
        )
    except ConfigError as error:  # The name has a fallback, so it is the input.
        raise EvalPortError(
            f"EvalPort: {pointer}/input is missing or empty\n"
            "Hint: a test case needs an input, a text or a list of texts.",
            pointer=f"{pointer}/input",
        ) from error


def _take_timeout(item: Mapping[str, Any], metadata: dict[str, Any], pointer: str) -> Any:
    """Return the timeout of a test case in seconds, taken out of our namespace if it stands there."""
    if "timeout_ms" in item:
        try:
            return item["timeout_ms"] / 1000.0
        except (TypeError, OverflowError) as error:
            raise misfit(item["timeout_ms"], "a number", f"{pointer}/timeout_ms") from error
    if "timeout_seconds" in item:
        return item["timeout_seconds"]
    native = metadata.get(NAMESPACE)
    if isinstance(native, Mapping) and "timeout_seconds" in native:
        others = {key: value for key, value in native.items() if key != "timeout_seconds"}
        if others:
            metadata[NAMESPACE] = others
        else:
            del metadata[NAMESPACE]
        return native["timeout_seconds"]
    return metadata.get("timeout_seconds", 30.0)
