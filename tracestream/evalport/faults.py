"""Faults of EvalPort documents: where, which rule, and what to do.

The first four codes are the spec's own (section Error Handling); the others say what it leaves open.
"""

from collections import Counter
from collections.abc import Iterable
from heapq import merge
from typing import NamedTuple

from tracestream.jsontext import writable
from tracestream.quality import DETAIL_CHARS, excerpt

SCHEMA_INVALID = "SCHEMA_INVALID"
VERSION_UNSUPPORTED = "VERSION_UNSUPPORTED"
DUPLICATE_ID = "DUPLICATE_ID"
DANGLING_REFERENCE = "DANGLING_REFERENCE"
DUPLICATE_ATTEMPT = "DUPLICATE_ATTEMPT"
RESULT_INCONSISTENT = "RESULT_INCONSISTENT"
SUITE_MISMATCH = "SUITE_MISMATCH"
KIND_UNKNOWN = "KIND_UNKNOWN"
EMPTY = "EMPTY"
NOT_JSON = "NOT_JSON"
NOT_YAML = "NOT_YAML"
NOT_UTF8 = "NOT_UTF8"
NOT_FINITE = "NOT_FINITE"
DUPLICATE_KEY = "DUPLICATE_KEY"
TOO_DEEP = "TOO_DEEP"
TOO_LARGE = "TOO_LARGE"
UNREADABLE = "UNREADABLE"

HINTS = {
    SCHEMA_INVALID: "change the value, or leave the field out where it is optional.",
    VERSION_UNSUPPORTED: "convert it to version 1 with the tool that wrote it.",
    DUPLICATE_ID: "ids name one thing; give this one another, or take it out.",
    DANGLING_REFERENCE: "define the grader in the suite's graders, or write it out here.",
    DUPLICATE_ATTEMPT: "number repeated trials of a test case 1, 2, ... in 'attempt'.",
    RESULT_INCONSISTENT: "see the spec's rules on scores that are null and on aggregation.",
    SUITE_MISMATCH: "is this the suite that was run? --suite names it.",
    KIND_UNKNOWN: "--kind says what it is: suite, resultset, testcase or grader.",
    EMPTY: "was it written to its end?",
    NOT_JSON: "was it written to its end? A JSON formatter shows the place.",
    NOT_YAML: "a YAML formatter shows the place.",
    NOT_UTF8: "save it as UTF-8.",
    NOT_FINITE: "JSON has no NaN and no Infinity; a score that is not known is null.",
    DUPLICATE_KEY: "readers differ in which of the two they take; take one out.",
    TOO_DEEP: "no level of an EvalPort document needs that.",
    TOO_LARGE: "split it, or give one test case a line (JSONL).",
    UNREADABLE: "may you read it, and is it a file?",
}
"""What to do about each, where nothing better can be said."""

UNKNOWN_FIELD = "additionalProperties"
"""The keyword of a fault that is none in a higher minor version: a field that this one does not know."""

_ALWAYS = {
    *(EMPTY, NOT_JSON, NOT_YAML, NOT_UTF8, TOO_LARGE, TOO_DEEP, UNREADABLE),
    VERSION_UNSUPPORTED,
}
"""What counts whatever version of the spec it is for."""


class Fault(NamedTuple):
    """One fault of a document.

    Attributes:
        pointer: Where, as a JSON Pointer (RFC 6901); empty: the whole document.
        code: A key of HINTS.
        message: What is wrong, in words.
        hint: What to do about it.
        line: 1-based line where the value, or what it stands in, begins; None if there are no lines.
        keyword: Of SCHEMA_INVALID: the keyword of the schema that refuses it.
    """

    pointer: str
    code: str
    message: str
    hint: str
    line: int | None = None
    keyword: str | None = None

    def place(self, source: str) -> str:
        """Return source, line, pointer and code, in this order."""
        line = "" if self.line is None else f":{self.line}"
        pointer = f" {self.pointer}" if self.pointer else ""
        return f"{source}{line}:{pointer} {self.code}"

    def sentence(self, source: str) -> str:
        """Return where, what is wrong and what to do, in one line."""
        return f"{self.place(source)}: {self.message}. Hint: {self.hint}"


def fault(
    code: str,
    pointer: str,
    message: str,
    *,
    hint: str | None = None,
    line: int | None = None,
    keyword: str | None = None,
) -> Fault:
    """Return a fault with the hint of its code, if there is no better one."""
    return Fault(pointer, code, message, hint or HINTS[code], line, keyword)


def quoted(text: str) -> str:
    r"""Return text of a document as it stands in a message: at most 80 characters, nothing that steers.

    Example:
        >>> quoted("tc\x1b[0m")
        "'tc\\x1b[0m'"
    """
    return f"'{excerpt(text)}'"


def pointer_to(*steps: str | int, base: str = "") -> str:
    """Return a JSON Pointer: a base, and the keys and indexes behind it.

    A key of more than 80 characters is cut, so that no fault holds more of a document.

    Example:
        >>> pointer_to(0, "a/b", base="/results")
        '/results/0/a~1b'
    """
    return base + "".join("/" + _step(step) for step in steps)


def _step(step: object) -> str:
    if isinstance(step, int):
        return str(step)
    text = writable(str(step))
    text = text if len(text) <= DETAIL_CHARS else text[: DETAIL_CHARS - 1] + "…"
    return text.replace("~", "~0").replace("/", "~1")


class Tally:
    """Counts the faults of one document, and holds the first of them.

    Which count is known only with the document's version: a higher minor version may have fields
    that this one does not know, and of a higher major version nothing else can be said.

    Args:
        limit: How many to hold.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._n_seen = 0
        self._held: dict[str, list[tuple[int, Fault]]] = {"always": [], "field": [], "rule": []}
        self._counts: dict[str, Counter[str]] = {name: Counter() for name in self._held}

    def add(self, faults: Iterable[Fault]) -> None:
        """Count faults."""
        for each in faults:
            name = _class_of(each)
            self._counts[name][each.code] += 1
            if len(self._held[name]) < self._limit:
                self._held[name].append((self._n_seen, each))
            self._n_seen += 1

    def finish(self, *, skip: Iterable[str] = ()) -> tuple[list[Fault], Counter[str]]:
        """Return the faults held, in the order they were found, and the count of each code.

        Args:
            skip: Classes that do not count: `field` (unknown fields), `rule` (what this version of the spec asks).
        """
        names = [name for name in self._held if name not in skip]
        found = [each for _, each in merge(*(self._held[name] for name in names))]
        return found[: self._limit], sum((self._counts[name] for name in names), Counter())


def _class_of(found: Fault) -> str:
    if found.keyword == UNKNOWN_FIELD:
        return "field"
    return "always" if found.code in _ALWAYS else "rule"
