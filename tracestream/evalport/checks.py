"""Follow one document, entry by entry, and yield its faults."""

from collections.abc import Callable, Iterator
from typing import Any

from tracestream.evalport.conformance import (
    ARRAYS,
    document_check,
    element_check,
    fields,
    head_check,
    schema_faults,
)
from tracestream.evalport.documents import Entry
from tracestream.evalport.faults import (
    DUPLICATE_KEY,
    KIND_UNKNOWN,
    TOO_LARGE,
    Fault,
    fault,
    pointer_to,
    quoted,
)
from tracestream.evalport.rules import (
    AGGREGATION,
    CaseRules,
    ResultRules,
    SuiteIndex,
    define,
    grader_faults,
)

DECIDING = {
    "results": "resultset",
    "suite_id": "resultset",
    "run_id": "resultset",
    "started_at": "resultset",
    "test_cases": "suite",
    "test_cases_file": "suite",
    "config": "suite",
    "input": "testcase",
    "type": "grader",
}
"""Fields that only one kind of document has, and the kind: the first of them in a document decides."""

_MAX_FIELDS = 10_000


class DocumentCheck:
    """Follows one document.

    Args:
        kind: What it is; None: its fields tell (DECIDING).
        index: The suite that was run, for a result set.
        cases: Follows the test cases that are documents of their own.
        on_element: Called with each element of the long array that is without fault.

    Attributes:
        head: Its fields, without what is in its long array; None stands for what it should not have.
        n_elements: How many elements its long array had so far.
        suite: Of a suite, what results can be held against.
        is_over: Nothing more of it is worth reading.
    """

    def __init__(
        self,
        kind: str | None,
        index: SuiteIndex | None,
        cases: CaseRules,
        on_element: Callable[[Entry], None] | None = None,
    ) -> None:
        self.kind = kind
        self.head: dict[str, Any] = {}
        self.n_elements = 0
        self.suite = SuiteIndex()
        self.is_over = False
        self._is_whole = True
        self._on_element = on_element
        self._cases = cases
        self._suite_cases = CaseRules(self.suite.cases, self.suite.graders)
        self._results = ResultRules(index)
        self._graders: list[Fault] = []
        self._line: int | None = None

    def entry(self, entry: Entry) -> Iterator[Fault]:
        """Yield the faults of an entry."""
        yield from entry.faults
        if self._line is None:
            self._line = entry.line
        if entry.key is None:
            self._is_whole = self._is_whole and entry.is_sound
        elif entry.at is None:
            yield from self._field(entry.key, entry)
        elif self.kind is not None and ARRAYS.get(self.kind) == entry.key:
            yield from self._element(self.kind, f"/{entry.key}/{entry.at}", entry)

    def _field(self, key: str, entry: Entry) -> Iterator[Fault]:
        if self.kind is None:
            self.kind = DECIDING.get(key)
        if key in self.head:
            what = f"the field {quoted(key)} stands twice in the document"
            yield fault(DUPLICATE_KEY, pointer_to(key), what, line=entry.line)
        elif len(self.head) == _MAX_FIELDS:
            self.is_over = True
            what = f"it has more than {_MAX_FIELDS:,} fields"
            yield fault(TOO_LARGE, "", what, line=entry.line)
        self._is_whole = self._is_whole and entry.is_sound and not self.is_over
        is_known = self.kind is None or key in fields(self.kind)
        self.head[key] = entry.value if is_known and entry.is_sound else None
        if key == "graders" and entry.is_sound and self.kind in (None, "suite"):
            # Before the test cases, if it stands before them: then none of their references is held.
            self._graders = list(define(self.suite.graders, entry.value))

    def _element(self, kind: str, pointer: str, entry: Entry) -> Iterator[Fault]:
        self.n_elements += 1
        if not entry.is_sound:
            return
        found = list(schema_faults(element_check(kind), entry.value, pointer, entry.line))
        follow = self._suite_cases.case if kind == "suite" else self._results.result
        found += follow(entry.value, pointer, entry.line, is_valid=not found)
        yield from found
        if self._on_element is not None and not found:
            self._on_element(entry)

    def finish(self) -> Iterator[Fault]:
        """Yield what can be said only at the end."""
        if self.kind is None and {"id", "version"} <= self.head.keys():
            self.kind = "suite"  # one that lacks its test cases
        if self.kind == "suite":
            self._index_head()
            yield from self._graders
            yield from self._suite_cases.finish()
        if not self._is_whole:
            return
        if self.kind is None:
            hint = None
            if "cases" in self.head:
                hint = "is it a native package? `tracestream evalport export` makes a suite of it."
            what = "no field tells whether it is a suite, a result set, a test case or a grader"
            yield fault(KIND_UNKNOWN, "", what, hint=hint, line=self._line)
        elif self.kind in ARRAYS:
            array = ARRAYS[self.kind]
            head = {key: value for key, value in self.head.items() if key != array}
            if array in self.head:
                is_array = self.head[array] == []
                head[array] = [None] * min(self.n_elements, 1) if is_array else self.head[array]
            yield from schema_faults(head_check(self.kind), head)
            if self.kind == "resultset":
                yield from self._results.head(head)
        else:
            yield from self._small(self.kind)

    def _small(self, kind: str) -> Iterator[Fault]:
        """Yield the faults of a document that is held whole."""
        found = list(schema_faults(document_check(kind), self.head, "", self._line))
        yield from found
        if kind == "testcase":
            yield from self._cases.case(self.head, "", self._line, is_valid=not found)
        elif not found:
            yield from grader_faults(self.head, "", self._line)

    def _index_head(self) -> None:
        suite_id, metadata = self.head.get("id"), self.head.get("metadata")
        self.suite.suite_id = suite_id if isinstance(suite_id, str) else None
        policy = metadata.get(AGGREGATION) if isinstance(metadata, dict) else None
        if isinstance(policy, dict) and "strategy" in policy:
            self.suite.policy = policy
