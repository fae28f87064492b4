"""A suite as it is run: its graders made ready, its test cases read as often as they are asked for."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tracestream.errors import InputError
from tracestream.evalport.codegrader import code
from tracestream.evalport.documents import read_documents
from tracestream.evalport.faults import SCHEMA_INVALID, Tally, fault
from tracestream.evalport.graders import (
    EXPECTED_TOOLS,
    Grade,
    Unfit,
    contains,
    exact_match,
    expected_tools,
    regex,
    unsupported,
)
from tracestream.evalport.jsongraders import json_path, json_schema
from tracestream.evalport.rules import AGGREGATION, digest
from tracestream.evalport.validation import MAX_FAULTS, Validation, Validator
from tracestream.sources import Source, source_name

_PREPARE = {
    "exact_match": exact_match,
    "contains": contains,
    "regex": regex,
    "json_schema": json_schema,
    "json_path": json_path,
    EXPECTED_TOOLS: expected_tools,
}
"""What makes a grader of each type ready; `code` is apart, as it has to be allowed."""

_NEEDS = {
    "human": "it needs a person",
    "semantic_similarity": "it needs a model",
    "llm_judge": "it needs a model",
    "model graded": "it needs a model",
}
_RUN_ID = "run_id"


class Grader(NamedTuple):
    """A grader made ready.

    Attributes:
        id: As the suite has it.
        type: As the suite has it.
        weight: What its score counts for where scores are weighted.
        grade: Gives the score of a sample.
    """

    id: str
    type: str
    weight: float
    grade: Grade


class Case(NamedTuple):
    """A test case.

    Attributes:
        value: The document.
        graders: Its graders, made ready; with one for its `expected_tools`, if it names none of that type.
    """

    value: dict[str, Any]
    graders: list[Grader]

    @property
    def keys(self) -> list[str]:
        """What its runs may be called: its id; else its `metadata.run_id`."""
        other = self.value.get("metadata", {}).get(_RUN_ID)
        return [self.value["id"], *([other] if isinstance(other, str) else ())]


class Suite:
    """A suite; `check` first.

    Args:
        source: The file.
        allow_code: Run graders of the type `code`.

    Attributes:
        id: Its id.
        policy: What its metadata say of aggregation, if they do.
        wanted: A digest of each of its cases' keys.

    Raises:
        InputError: The source can be read only once.
    """

    def __init__(self, source: Source, *, allow_code: bool = False) -> None:
        if source.path is None or not os.path.isfile(source.path):
            raise InputError(
                f"{source.name} can be read only once, and a suite is read before the traces and after them\n"
                "Hint: write it to a file first.",
                source=source.name,
            )
        self._source = source
        self._allow_code = allow_code
        self._cases_source = source
        self._graders: dict[str, Grader] = {}
        self.id = ""
        self.policy: dict[str, Any] | None = None
        self.wanted: set[int] = set()

    def check(self, *, max_faults: int = MAX_FAULTS) -> Iterator[Validation]:
        """Yield what validating the suite gave, file by file; stop at one that is not valid.

        Args:
            max_faults: How many faults of a file to hold.

        Raises:
            InputError: The file holds several suites.
        """
        validator = Validator(kind="suite", max_faults=max_faults)
        for found in validator.source(self._source):
            yield found
            if found.kind == "suite" and found.n_documents > 1:
                raise InputError(
                    f"{found.source} holds {found.n_documents} suites\nHint: one is run at a time.",
                    source=found.source,
                )
        head = validator.head
        self.id = head["id"]
        self.policy = head.get("metadata", {}).get(AGGREGATION)
        if "test_cases_file" in head:
            path = str(Path(self._source.path or "").parent / head["test_cases_file"])
            self._cases_source = Source(0, source_name(path), path)
        found, tally = Validation(self._source.name, "suite"), Tally(max_faults)
        for at, value in enumerate(head.get("graders", ())):
            ready = self._try(value, f"/graders/{at}", None, tally)
            if ready is not None:
                self._graders[ready.id] = ready
        found.add(*tally.finish(), max_faults)
        yield found
        yield self._check_cases(max_faults)

    def cases(self) -> Iterator[Case]:
        """Yield the test cases, in order, after a check without faults."""
        for _, value, _ in self._values():
            graders = [
                self._graders[each] if isinstance(each, str) else self._ready(each)
                for each in value["graders"]
            ]
            if value.get(EXPECTED_TOOLS) and all(each.type != EXPECTED_TOOLS for each in graders):
                is_taken = any(each.id == EXPECTED_TOOLS for each in graders)
                name = f"tracestream.{EXPECTED_TOOLS}" if is_taken else EXPECTED_TOOLS
                graders.append(Grader(name, EXPECTED_TOOLS, 1.0, expected_tools({})))
            yield Case(value, graders)

    def _check_cases(self, max_faults: int) -> Validation:
        found, tally = Validation(self._cases_source.name, "testcase"), Tally(max_faults)
        for place, value, line in self._values():
            for at, grader in enumerate(value["graders"]):
                if isinstance(grader, dict):
                    self._try(grader, f"{place}/graders/{at}", line, tally)
            self.wanted.update(map(digest, Case(value, []).keys))
        found.add(*tally.finish(), max_faults)
        return found

    def _values(self) -> Iterator[tuple[str, dict[str, Any], int | None]]:
        """Yield where each test case stands, the test case, and its line."""
        is_apart = self._cases_source is not self._source
        for document in read_documents(self._cases_source):
            if is_apart:
                entries = list(document)
                yield "", {str(each.key): each.value for each in entries}, entries[0].line
                continue
            for entry in document:
                if entry.key == "test_cases" and entry.at is not None:
                    yield f"/test_cases/{entry.at}", entry.value, entry.line

    def _try(
        self, value: dict[str, Any], pointer: str, line: int | None, tally: Tally
    ) -> Grader | None:
        try:
            return self._ready(value)
        except Unfit as error:
            where = pointer + error.pointer
            tally.add([fault(SCHEMA_INVALID, where, error.message, hint=error.hint, line=line)])
            return None

    def _ready(self, value: dict[str, Any]) -> Grader:
        """Return a grader made ready.

        Raises:
            Unfit: Its parameters are good for no run.
        """
        kind, params = value["type"], value.get("params", {})
        if kind == "code":
            grade = code(params, is_allowed=self._allow_code)
        elif kind in _PREPARE:
            grade = _PREPARE[kind](params)
        else:
            grade = unsupported(kind, _NEEDS.get(kind, "no handler of it is known"))
        return Grader(value["id"], kind, value.get("weight", 1.0), grade)
