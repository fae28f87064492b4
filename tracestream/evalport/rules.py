"""The rules of EvalPort that no schema can say: ids, references, versions, verdicts, the suite behind.

Each class follows one document, element by element, and holds a few bytes for each.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from tracestream.evalport.aggregation import WEIGHTED, vote, weighted_mean
from tracestream.evalport.conformance import is_json_schema
from tracestream.evalport.faults import (
    DANGLING_REFERENCE,
    DUPLICATE_ATTEMPT,
    DUPLICATE_ID,
    RESULT_INCONSISTENT,
    SCHEMA_INVALID,
    SUITE_MISMATCH,
    VERSION_UNSUPPORTED,
    Fault,
    fault,
    quoted,
)

AGGREGATION = "openeval.aggregation"
"""Metadata key: how verdicts of graders become one. Source: the spec's Aggregation Extension."""

_DEFAULT_POLICY = {"strategy": "all"}
_VERSION = re.compile(r"([0-9]+)\.([0-9]+)\.")
_ROUNDING = 1e-9  # a weighted mean this close to its threshold may fall on either side
_MAX_PLACES = 1000  # of references whose grader is not known yet


class Version(NamedTuple):
    """What a document's version asks of its reader."""

    is_supported: bool
    is_newer: bool


def version_of(value: Any) -> Version:
    """Return what a version asks: a higher major one is refused, a higher minor one may have new fields.

    What is no version counts as ours; the schema refuses it.

    Example:
        >>> version_of("1.0.0-rc.5"), version_of("1.2.0").is_newer, version_of("2.0.0").is_supported
        (Version(is_supported=True, is_newer=False), True, False)
    """
    found = _VERSION.match(value) if isinstance(value, str) else None
    if found is None:
        return Version(True, False)
    major, minor = (digits.lstrip("0") for digits in found.groups())  # of any length
    return Version(major in ("", "1"), major == "1" and minor != "")


def version_faults(value: Any) -> Iterator[Fault]:
    """Yield the fault of a version that cannot be read, in the words of the spec."""
    if not version_of(value).is_supported:
        what = f"Unsupported EvalPort major version: {quoted(value)[1:-1]}. Supported: 1.x"
        yield fault(VERSION_UNSUPPORTED, "/version", what)


def digest(*parts: str | int) -> int:
    """Return 16 bytes that stand for parts, so that a set of a million ids holds no texts."""
    data = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=16).digest())


class Grader(NamedTuple):
    """What results need to know of a grader."""

    type: str
    weight: float


Cases = dict[int, tuple[str | tuple[str, Grader], ...]]
"""Of each test case, by the digest of its id: its graders, named or written out."""


@dataclass
class SuiteIndex:
    """What results are held against: the suite's id, graders, policy, and the graders of each case."""

    suite_id: str | None = None
    policy: Any = field(default_factory=lambda: _DEFAULT_POLICY)
    graders: dict[str, Grader] = field(default_factory=dict)
    cases: Cases = field(default_factory=dict)


class CaseRules:
    """Follows test cases: ids that come once, graders that are defined.

    Args:
        cases: Is filled.
        graders: The suite's, perhaps not all yet; None: the suite is not known.
    """

    def __init__(self, cases: Cases, graders: dict[str, Grader] | None) -> None:
        self._cases = cases
        self._graders = graders
        self._tuples: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self._open: dict[str, list[tuple[str, int | None]]] = {}
        self._n_held = 0

    def case(
        self, value: Any, pointer: str, line: int | None, *, is_valid: bool
    ) -> Iterator[Fault]:
        """Yield the faults of one test case."""
        if not isinstance(value, dict) or not isinstance(value.get("id"), str):
            return
        known = digest(value["id"])
        if known in self._cases:
            what = f"a test case before has the id {quoted(value['id'])}, too"
            yield fault(DUPLICATE_ID, f"{pointer}/id", what, line=line)
        self._cases[known] = ()
        if not is_valid:
            return
        graders: list[str | tuple[str, Grader]] = []
        for at, grader in enumerate(value["graders"]):
            where = f"{pointer}/graders/{at}"
            if isinstance(grader, str):
                graders.append(grader)
                self._refer(grader, where, line)
            else:
                yield from grader_faults(grader, where, line)
                graders.append((grader["id"], _grader(grader)))
        # Most cases of a suite name the same graders: their tuple is held once.
        self._cases[known] = self._tuples.setdefault(tuple(graders), tuple(graders))

    def finish(self) -> Iterator[Fault]:
        """Yield a fault for each reference to a grader that is not there."""
        for name, places in self._open.items():
            if self._graders is not None and name not in self._graders:
                for pointer, line in places:
                    what = f"the suite defines no grader {quoted(name)}"
                    yield fault(DANGLING_REFERENCE, pointer, what, line=line)

    def _refer(self, name: str, pointer: str, line: int | None) -> None:
        if self._graders is None or name in self._graders:
            return
        places = self._open.setdefault(name, [])
        if not places or self._n_held < _MAX_PLACES:
            places.append((pointer, line))
            self._n_held += 1


def define(graders: dict[str, Grader], values: Any) -> Iterator[Fault]:
    """Yield the faults of a suite's graders, and fill in which there are."""
    for at, value in enumerate(values if isinstance(values, list) else ()):
        if not isinstance(value, dict) or not isinstance(value.get("id"), str):
            continue
        where = f"/graders/{at}"
        if value["id"] in graders:
            what = f"a grader before has the id {quoted(value['id'])}, too"
            yield fault(DUPLICATE_ID, f"{where}/id", what)
        graders[value["id"]] = _grader(value)
        yield from grader_faults(value, where)


def _grader(value: dict[str, Any]) -> Grader:
    weight = value.get("weight", 1.0)
    is_number = isinstance(weight, int | float)
    return Grader(str(value.get("type")), float(weight) if is_number else 1.0)


def grader_faults(value: dict[str, Any], pointer: str, line: int | None = None) -> Iterator[Fault]:
    """Yield the fault of a grader whose JSON Schema is none."""
    params = value.get("params")
    if value.get("type") == "json_schema" and isinstance(params, dict):
        found = params.get("schema")
        if isinstance(found, dict) and not is_json_schema(found):
            where = f"{pointer}/params/schema"
            what = "it is no valid JSON Schema"
            yield fault(
                SCHEMA_INVALID, where, what, hint="a validator of JSON Schema helps.", line=line
            )


class ResultRules:
    """Follows results: attempts that come once, verdicts that follow from scores, the suite behind.

    Args:
        index: The suite that was run, if it is at hand.
    """

    def __init__(self, index: SuiteIndex | None = None) -> None:
        self._index = index
        self._seen: set[int] = set()

    def head(self, head: dict[str, Any]) -> Iterator[Fault]:
        """Yield the faults of the fields before and behind the results."""
        index = self._index
        suite_id = head.get("suite_id")
        if index is None or index.suite_id is None or not isinstance(suite_id, str):
            return
        if suite_id != index.suite_id:
            what = f"the results are of the suite {quoted(suite_id)}, not {quoted(index.suite_id)}"
            yield fault(SUITE_MISMATCH, "/suite_id", what)

    def result(
        self, value: Any, pointer: str, line: int | None, *, is_valid: bool
    ) -> Iterator[Fault]:
        """Yield the faults of one result."""
        if not isinstance(value, dict) or not isinstance(value.get("test_case_id"), str):
            return
        name, attempt = value["test_case_id"], value.get("attempt", 1)
        if isinstance(attempt, float):
            # 1.0 is a whole number to JSON Schema, and none to the reference validator.
            what = "it must be written without a fraction"
            yield fault(SCHEMA_INVALID, f"{pointer}/attempt", what, line=line, keyword="type")
        elif isinstance(attempt, int):
            known = digest(name, attempt)
            if known in self._seen:
                yield _second(value, pointer, line)
            self._seen.add(known)
        if is_valid:
            yield from self._verdicts(value, pointer, line)
            yield from self._against_suite(value, pointer, line)

    def _verdicts(self, value: dict[str, Any], pointer: str, line: int | None) -> Iterator[Fault]:
        results = value["grader_results"]
        for at, each in enumerate(results):
            if each["score"] is None and each["passed"]:
                where = f"{pointer}/grader_results/{at}/passed"
                what = "a score of null is not verified, so it cannot have passed"
                yield fault(RESULT_INCONSISTENT, where, what, hint="write false.", line=line)
        if not results:
            return
        if all(each["score"] is None for each in results):
            if value["passed"]:
                what = "no grader gave a score, so the test case cannot have passed"
                yield fault(RESULT_INCONSISTENT, f"{pointer}/passed", what, line=line)
            return
        # The suite may set another policy for all its cases: without it, only the result's own is known.
        policy = value.get("metadata", {}).get(AGGREGATION)
        if policy is None and self._index is not None:
            policy = self._index.policy
        expected = None if policy is None else self._verdict(results, policy)
        if expected is not None and expected != value["passed"]:
            what = (
                f"by the strategy {quoted(policy['strategy'])} over its graders it is "
                f"{str(expected).lower()}, not {str(value['passed']).lower()}"
            )
            yield fault(RESULT_INCONSISTENT, f"{pointer}/passed", what, line=line)

    def _verdict(self, results: Sequence[dict[str, Any]], policy: dict[str, Any]) -> bool | None:
        """Return what the policy makes of grader results; None where that is not known."""
        scored = [each for each in results if each["score"] is not None]
        if policy["strategy"] == WEIGHTED:
            return self._weighted(scored, policy["threshold"])
        passed = [each["passed"] for each in scored]
        return vote(policy["strategy"], policy.get("threshold"), passed)

    def _weighted(self, scored: Sequence[dict[str, Any]], threshold: float) -> bool | None:
        if self._index is None:
            return None
        known = self._index.graders
        if any(each["grader_id"] not in known for each in scored):
            return None
        weights = [known[each["grader_id"]].weight for each in scored]
        mean = weighted_mean([each["score"] for each in scored], weights)
        if mean is None or abs(mean - threshold) < _ROUNDING:
            return None
        return mean >= threshold

    def _against_suite(
        self, value: dict[str, Any], pointer: str, line: int | None
    ) -> Iterator[Fault]:
        index = self._index
        if index is None:
            return
        graders = index.cases.get(digest(value["test_case_id"]))
        if graders is None:
            what = f"the suite has no test case {quoted(value['test_case_id'])}"
            yield fault(SUITE_MISMATCH, f"{pointer}/test_case_id", what, line=line)
            return
        types = {
            each["grader_id"]: (at, each["type"]) for at, each in enumerate(value["grader_results"])
        }
        for grader in graders:
            name, known = (grader, index.graders.get(grader)) if isinstance(grader, str) else grader
            if name not in types:
                what = f"the test case asks for the grader {quoted(name)}, which has no result"
                hint = "a grader that was skipped has a score of null."
                yield fault(SUITE_MISMATCH, f"{pointer}/grader_results", what, hint=hint, line=line)
            elif known is not None and types[name][1] != known.type:
                where = f"{pointer}/grader_results/{types[name][0]}/type"
                what = f"the grader {quoted(name)} is of the type {quoted(known.type)}"
                yield fault(SUITE_MISMATCH, where, what, line=line)


def _second(value: dict[str, Any], pointer: str, line: int | None) -> Fault:
    name = quoted(value["test_case_id"])
    if "attempt" in value:
        what = f"a result before is attempt {value['attempt']} at the test case {name}, too"
        return fault(DUPLICATE_ATTEMPT, f"{pointer}/attempt", what, line=line)
    what = f"a result before is of the test case {name}, too, and no attempt tells them apart"
    hint = "number repeated trials 1, 2, ... in 'attempt'."
    return fault(DUPLICATE_ID, f"{pointer}/test_case_id", what, hint=hint, line=line)
