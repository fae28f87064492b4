"""Whether documents are EvalPort: by our schemas, and by the rules that no schema can say.

Documents of any size are read once, forward; what is held is the head of a document, some bytes for
each id, and the first faults. We are stricter than the reference validator, never laxer: the list of
rules is in `docs/decisions/`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracestream.errors import EvalPortError
from tracestream.evalport.checks import DocumentCheck
from tracestream.evalport.documents import Document, Entry, document_of, read_documents
from tracestream.evalport.faults import UNREADABLE, Fault, Tally, fault
from tracestream.evalport.rules import (
    CaseRules,
    SuiteIndex,
    version_faults,
    version_of,
)
from tracestream.sources import Source, source_name

MAX_FAULTS = 1000


@dataclass
class Validation:
    """What validating one source gave.

    Attributes:
        source: Its name.
        kind: Of the documents in it; None where none could be told. The last one's, if they differ.
        n_documents: How many there are: more than one in JSON Lines.
        n_elements: Test cases in suites, or results in result sets.
        faults: The first faults, as many as were asked for.
        counts: How many faults there are of each code: all of them.
    """

    source: str
    kind: str | None = None
    n_documents: int = 0
    n_elements: int = 0
    faults: list[Fault] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def is_valid(self) -> bool:
        """Whether there is no fault."""
        return not self.counts

    @property
    def is_unreadable(self) -> bool:
        """Whether the source could not be opened or read."""
        return UNREADABLE in self.counts

    def add(self, faults: list[Fault], counts: Counter[str], limit: int) -> None:
        """Add faults, of which no more than the limit are held."""
        self.faults.extend(faults[: limit - len(self.faults)])
        self.counts.update(counts)

    def to_dict(self) -> dict[str, Any]:
        """Return it as strict JSON can write it."""
        return {
            "source": self.source,
            "kind": self.kind,
            "valid": self.is_valid,
            "documents": self.n_documents,
            "elements": self.n_elements,
            "counts": dict(sorted(self.counts.items())),
            "faults": [each._asdict() for each in self.faults],
        }


class Validator:
    """Validates documents, perhaps against one suite.

    Args:
        kind: What the documents are; None: each says by its fields.
        index: The suite that results are held against, as `index_suite` gives it.
        max_faults: How many faults of a source to hold; all are counted.
        on_element: Called with each result, or test case of a suite, that is without fault.

    Attributes:
        head: The fields of the last document, without what is in its long array.
        suites: Each suite of the last source, and the file that holds its test cases, if it names one.
    """

    def __init__(
        self,
        *,
        kind: str | None = None,
        index: SuiteIndex | None = None,
        max_faults: int = MAX_FAULTS,
        on_element: Callable[[Entry], None] | None = None,
    ) -> None:
        self._kind = kind
        self._index = index
        self._max_faults = max_faults
        self._on_element = on_element
        self.suites: list[tuple[SuiteIndex, str | None]] = []
        self.head: dict[str, Any] = {}

    def source(self, source: Source) -> Iterator[Validation]:
        """Yield what a source gave, and for each file of test cases that a suite in it names, another."""
        base = Path(source.path).parent if source.path is not None else Path()
        graders = None if self._index is None else self._index.graders
        yield self.documents(source.name, read_documents(source), CaseRules({}, graders))
        for index, name in self.suites:
            if name is not None:
                yield self._cases(base / name, index)

    def documents(
        self, name: str, documents: Iterable[Document], cases: CaseRules | None = None
    ) -> Validation:
        """Return what documents of one source gave.

        Args:
            name: The source.
            documents: Are read, one after another.
            cases: Follows test cases that are documents of their own.
        """
        found = Validation(name)
        # Test cases of one source are of one suite, also where each is a document of its own.
        cases = cases or CaseRules({}, None)
        self.suites = []
        for document in documents:
            check = DocumentCheck(self._kind, self._index, cases, self._on_element)
            tally = Tally(self._max_faults)
            for entry in document:
                tally.add(check.entry(entry))
                if check.is_over:
                    break
            tally.add(check.finish())
            self._add(found, check, tally)
        tally = Tally(self._max_faults)
        tally.add(cases.finish())
        found.add(*tally.finish(), self._max_faults)
        return found

    def _add(self, found: Validation, check: DocumentCheck, tally: Tally) -> None:
        version = version_of(check.head.get("version"))
        skip = {"field"} if version.is_newer else set()
        if not version.is_supported:
            tally.add(version_faults(check.head["version"]))
            skip = {"field", "rule"}
        found.add(*tally.finish(skip=skip), self._max_faults)
        self.head = check.head
        found.kind = check.kind or found.kind
        found.n_documents += 1
        found.n_elements += check.n_elements
        if check.kind == "suite":
            named = check.head.get("test_cases_file")
            self.suites.append((check.suite, named if isinstance(named, str) and named else None))

    def _cases(self, path: Path, index: SuiteIndex) -> Validation:
        source = Source(0, source_name(str(path)), str(path))
        if not path.is_file():
            found = fault(UNREADABLE, "", "it is no file, and a suite names it")
            return Validation(source.name, "testcase", 0, 0, [found], Counter({UNREADABLE: 1}))
        validator = Validator(kind="testcase", max_faults=self._max_faults)
        rules = CaseRules(index.cases, index.graders)
        return validator.documents(source.name, read_documents(source), rules)


def index_suite(
    source: Source, *, max_faults: int = MAX_FAULTS
) -> tuple[SuiteIndex, list[Validation]]:
    """Return what results are held against, and what validating the suite gave.

    Args:
        source: The file of one suite. A file of test cases that it names is read, too.
        max_faults: How many faults of a file to hold.
    """
    validator = Validator(kind="suite", max_faults=max_faults)
    validations = list(validator.source(source))
    index = validator.suites[0][0] if validator.suites else SuiteIndex()
    return index, validations


def validate_value(value: Any, *, kind: str | None = None) -> Validation:
    """Return what validating a document in memory gave; a file that it names is not opened.

    Example:
        >>> found = validate_value({"id": "tc", "input": "ping", "graders": []})
        >>> found.kind, [(each.pointer, each.message) for each in found.faults]
        ('testcase', [('/graders', 'it must have at least one element')])
    """
    return Validator(kind=kind).documents("<value>", iter((document_of(value),)))


def check_value(value: Any, kind: str) -> None:
    """Raise unless a value is a valid document of a kind.

    Raises:
        EvalPortError: It is not; the message has the first fault, `.pointer` its place.
    """
    found = validate_value(value, kind=kind)
    if found.is_valid:
        return
    first = found.faults[0]
    others = sum(found.counts.values()) - 1
    more = f" (and {others} more)" if others else ""
    where = f" {first.pointer}" if first.pointer else ""
    raise EvalPortError(
        f"not a valid EvalPort {kind}:{where} {first.code}: {first.message}{more}\nHint: {first.hint}",
        pointer=first.pointer,
    )
